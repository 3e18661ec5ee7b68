"""Carry out the grader's jobs, where no student code has ever run: judge tapes and work logs.

The grader writes two files, which it alone has made: what is known of each race, the same for a
whole class, and a hand-in's jobs. The tapes and logs in these are as they came from the student's
process; they are read here for the first time. All of one hand-in share a budget; looking closer at
the steps of a log has another.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from proflab.checks.values import NotPlainData, loads
from proflab.lesson.race import show
from proflab.lesson.race.check_log import checked
from proflab.lesson.race.hints import texts
from proflab.lesson.race.judge import Budget, judged
from proflab.lesson.race.known import Known, known_of
from proflab.lesson.race.steps import lines_of
from proflab.lesson.race.trace import Tape
from proflab.lesson.words import shortened


def what_is_known(path: str, op_facts: Callable) -> dict[str, Any]:
    """Return what is known of a race, as plain data.

    path: a file that holds "given", its tape; "machine", "options" and "rows", as known_of has them
    """
    with open(path, "rb") as file:
        job = pickle.load(file)
    options = {"rows": job["rows"], **job["options"]}
    return known_of(job["given"], op_facts, job["machine"], **options).as_data()


class Jobs:
    """Judge the tapes and logs in a file, one after the other.

    functions: op_facts and, for logs, speedup_interval and gate, by name
    """

    def __init__(self, path: str, functions: Mapping[str, Callable]) -> None:
        with open(path, "rb") as file:
            self._jobs = pickle.load(file)
        with open(f"{path}.known", "rb") as file:
            races = 1 + max(job["known"] for job in self._jobs)  # one after the other in the file
            self._known = [Known(**pickle.load(file)) for _ in range(races)]
        self._functions = functions
        self._budget = Budget(*(self._known[job["known"]] for job in self._jobs))

    def judge(self, number: int) -> dict[str, Any]:
        """Return what `judge` or `check_log` says of the job with this number."""
        job = self._jobs[number]
        known, options = self._known[job["known"]], job["options"] | {"budget": self._budget}
        try:
            value = loads(job["value"])
        except NotPlainData as error:
            return {"refused": str(error)}
        if not job["log"]:
            return _raced(value, known, self._functions["op_facts"], job["machine"], **options)
        log, tape = value if isinstance(value, list) and len(value) == 2 else (None, None)
        return checked(log, tape, known, self._functions, job["machine"], **options)


def _raced(value: Any, *about: Any, **options: Any) -> dict[str, Any]:
    """Return what `judged` does of a tape with its lines, with these in each sentence.

    value: as `Tape.with_lines` returns it, or a tape alone, or anything else. The lines are a
    student's word as the tape is: nothing but sentences for the same student is made of them.
    """
    said = value if isinstance(value, dict) else {"tape": value}
    made: Any = said.get("tape")
    length = len(made) if isinstance(made, list) else 0
    lines = lines_of(said.get("lines"), said.get("texts"), length)
    if not any(lines):
        return judged(made, *about, **options)
    tape = Tape(made)
    tape.lines = [*zip(lines, said["lines"], strict=True)]  # by which hints.py puts costs together
    found = judged(tape, *about, **options)

    def line_of(at: int) -> str:  # a stranger's may hold a line's end, or what no file can hold
        return "".join(c if c.isprintable() else " " for c in shortened(lines[at], show.WIDTH))

    if "refused" in found:
        return found | {"refused": show.refusal(tape, found, line_of)}
    return found | {"hints": [{"told": text, "at": None} for text in texts(found, line_of)]}
