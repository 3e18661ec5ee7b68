"""Keep a work log: a row of plain data for each step from a slow program to a fast one.

    log = race.WorkLog(slow, "DESK", model=make_model, tokens=("int64", (8, 64)))  # locked

    log.step(program=step_1, change="all texts at once", guess_ms=13.0,  # in a cell for each step
             because="matmul: 1,536 ops of 5 µs are 7.7 of 25.0 ms")
    log.stop("`linear` is 17 % of what is left, 4.2 times the floor; no op fuses it with the norm")

A row is what its writer says, and what is filled in: the count, the largest cost before, and twelve
pairs of times with lesson 08's verdict. Times are measured once. They lie in the cell's output and
in a file beside the notebook, so a restart and Run All find them again, as long as neither of the
two programs has changed. `check_log.py` says whether a log is consistent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from proflab.checks.values import dumps
from proflab.lesson.kernel_record import current_record, kernel_shell, saved_output_data
from proflab.lesson.mine import place
from proflab.lesson.race import show
from proflab.lesson.race.check_log import TOLERANCE, methods_of
from proflab.lesson.race.cost import MACHINES, Cost
from proflab.lesson.race.known import Draws, digest_of, floor_of, row_of
from proflab.lesson.race.pairs import Pairs, calling, speedup_of, timed_pairs
from proflab.lesson.race.steps import LARGEST, MOST_STEPS, MOST_TEXT, PAIRS, groups_of
from proflab.lesson.race.tape import Refused
from proflab.lesson.race.trace import Tape, traced
from proflab.lesson.words import shortened

MIME = "application/vnd.proflab.step+json"  # grading/submissions/read_steps.py reads it
FILE = Path(".proflab", "steps.jsonl")  # grading/command.py takes it over from hand-ins


class WorkLog:
    """Keep a log of the steps from a given program to a faster one, on one declared machine.

    slow: the given program. machine: as in expect_faster; so are draws, state, within and floor.
    model, training, shapes: as in `traced`.
    """

    def __init__(self, slow: Callable, machine: str, *, draws: Draws | None = None,
                 state: tuple[str, ...] = (), within: float | None = None,
                 floor: float | None = None, model: Callable | None = None, training: bool = False,
                 **shapes: Any) -> None:  # fmt: skip
        self.slow, self.machine, self._floor = slow, machine, floor
        self._made = {"model": model, "training": training, **shapes}
        self._options: dict[str, Any] = {"draws": draws or {}, "state": state}
        self._options |= {} if within is None else {"within": within}
        self._rows: dict[str, dict[str, Any]] = {}  # by the program's name
        self._programs: dict[str, _Traced] = {}
        self._stop: str | None = None
        self._times: dict[str, Pairs] = {}
        self._shown: dict[str, str] = {}  # by the program's name, the stop under ""
        self._again = False

    def step(self, program: Callable, change: str, guess_ms: float, because: str,
             instead: str = "", rejected: str = "") -> None:  # fmt: skip
        """Note a step, count and measure it beside the last one that was kept, and show the row.

        program: a function of its own for each step; running its cell again replaces the row.
        change: what was changed. guess_ms: what the count will say, guessed before it says so.
        because: the diagnosis; it names the largest cost before, by its op or by a part of its line
        between backquotes. instead: why this step is about another cost. rejected: why the step is
        not kept; empty for one that is.
        Raises Refused, a ValueError, for a guess that is out of range, for texts that are missing
        and for a program that cannot be traced.
        """
        name = getattr(program, "__name__", "")
        self._look_over(name, change, guess_ms, because, instead, rejected)
        new = self._traced(program)
        counted_ms = new.paid.ms
        old_name, old = self._before(name)
        methods = methods_of(program)
        before, after = self._timed(old, new, methods)
        row = {
            "program": name, "change": change, "because": because, "instead": instead,
            "rejected": rejected, "guess_ms": float(guess_ms), "counted_ms": counted_ms,
            "largest": {"of": old_name, **old.largest},
            "before": before, "after": after, **speedup_of(before, after, methods),
            "verdict": methods["gate"](before, after, TOLERANCE) if "gate" in methods else "",
            "tape": dumps(new.tape).decode(), **new.tape.by_line(),
        }  # fmt: skip
        self._rows[name], self._programs[name] = row, new
        self._show(row)

    def stop(self, text: str) -> None:
        """Note why no further step would pay: which cost is the largest now, and the gap.

        text: names one of the two largest costs that are left, as `because` does, and the gap to
        the floor, in ms or as cost / floor, to 1 %. Raises Refused for an empty text.
        """
        if not isinstance(text, str) or not text.strip() or len(text) > MOST_TEXT:
            raise Refused(f"the stop is a text of at most {MOST_TEXT:,} characters")
        self._stop = text
        _, last = self._before("")
        ms, floor = last.paid.ms, self.floor
        told = (
            f"stopped at {ms:,.4g} ms on {self.machine}, {ms / floor:,.4g} times the floor of "
            f"{floor:,.4g} ms\n   largest: {_told(last.largest)}"
        )
        if not self._is_known("", told):
            print(told)

    def data(self, work_log: Callable | None = None) -> dict[str, Any]:
        """Return the log as plain data, for expect_log.

        work_log: a function that takes the log and notes its steps, which is called first; of what
        was shown before, a line is shown. Raises NotImplementedError where there is no step yet.
        """
        if work_log is not None:
            self._again = True
            try:
                work_log(self)
            finally:
                self._again = False
        if not self._rows:
            raise NotImplementedError("the work log has no step yet")
        return {"steps": list(self._rows.values()), "stop": self._stop} | self._given.tape.by_line()

    def table(self) -> str:
        """Return the log as text, a line for each step."""
        head = f"{'step':<16} {'guess':>8} {'ms':>8} {'measured':>22}  kept  change"
        return "\n".join([head, *map(_line, self._rows.values())])

    @cached_property
    def _given(self) -> _Traced:
        return self._traced(self.slow)

    def _traced(self, program: Callable) -> _Traced:
        return _Traced(program, traced(program, **self._made), self.machine)

    @property
    def floor(self) -> float:
        """Return the ms that no program goes below, as the race has it."""
        return self._floor or floor_of(self._given.tape, MACHINES[self.machine])

    def _look_over(self, name: str, change: Any, guess_ms: Any, because: Any, *others: Any) -> None:
        """Raise Refused for what no row may hold."""
        if guess_ms is None:
            raise Refused("guess before you look: guess_ms is the ms that you expect")
        is_number = isinstance(guess_ms, (int, float)) and not isinstance(guess_ms, bool)
        if not (is_number and 0 < guess_ms < LARGEST):
            what = f"guess_ms is a number of ms above 0 and below {LARGEST:,.0f}"
            raise Refused(f"{what}, not {guess_ms!r}")
        if name in ("", "<lambda>"):
            raise Refused("each step has a function of its own, with a name")
        texts = dict(zip(("instead", "rejected"), others, strict=True))
        for what, text in {"change": change, "because": because, **texts}.items():
            if not isinstance(text, str) or not (text.strip() or what in texts):
                raise Refused(f"{what} is a sentence")
            if len(text) > MOST_TEXT:
                raise Refused(f"{what} has at most {MOST_TEXT:,} characters")
        if name not in self._rows and len(self._rows) >= MOST_STEPS:
            raise Refused(f"a work log has at most {MOST_STEPS} steps")

    def _before(self, name: str) -> tuple[str, _Traced]:
        """Return the last program that was kept before a step: its name, and itself."""
        found = "the given program"
        for other, row in self._rows.items():
            if other == name:
                break
            if not row["rejected"].strip():
                found = other
        return found, self._programs.get(found) or self._given

    def _timed(self, old: _Traced, new: _Traced, methods: Mapping[str, Callable]) -> Pairs:
        """Return twelve pairs of times, those of an earlier run of the same two programs."""
        # Kept times are found by it: should tapes be written otherwise, all are measured again.
        digest = digest_of([old.tape, new.tape])
        if digest not in self._times:
            self._times |= dict(_kept())
        if digest not in self._times:
            draws = self._options["draws"]
            calls = [calling(each.program, draws, **self._made) for each in (old, new)]
            self._times[digest] = timed_pairs(calls[0], calls[1], methods)
            _keep(digest, self._times[digest])
        self._digest = digest
        return self._times[digest]

    def _is_known(self, name: str, told: str) -> bool:
        """Say whether a log that is noted again has shown this before."""
        known = self._again and self._shown.get(name) == told
        self._shown[name] = told
        return known

    def _show(self, row: dict[str, Any]) -> None:
        top = row["largest"]
        text = "\n".join([
            f"{row['program']}: {row['counted_ms']:,.4g} ms counted on {self.machine}, you guessed "
            f"{row['guess_ms']:,.4g}",
            f"   measured {row['speedup']:,.3g} times as fast as {top['of']} (95 % between "
            f"{row['low']:,.3g} and {row['high']:,.3g}): {row['verdict']}",
            f"   largest before: {_told(top)}",
        ])  # fmt: skip
        if self._is_known(row["program"], text):
            text = f"{row['program']}: {row['counted_ms']:,.4g} ms, as it was"
        if kernel_shell() is None:
            print(text)
            return
        from IPython.display import display

        kept = {key: row[key] for key in row if key not in ("tape", "lines", "texts")}
        display({"text/plain": text, MIME: {"digest": self._digest, **kept}}, raw=True)


@dataclass(frozen=True)
class _Traced:
    """Hold a program and its tape, with what a log needs of it several times."""

    program: Callable
    tape: Tape
    machine: str

    @property
    def paid(self) -> Cost:  # `count_with` may name another op_facts by now
        return show.counted(self.tape, self.machine)

    @property
    def largest(self) -> dict[str, Any]:
        """Return the op and the line on which the program spends most, each with its share."""
        if not (paid := self.paid).ms:
            return {"op": "nothing", "line": "", "share": 0.0, "line_share": 0.0}
        rows = [row_of(row) for row in paid.rows]
        said = self.tape.by_line()
        by_op, _, by_line = groups_of(rows, [said["texts"][number] for number in said["lines"]])
        op, line = (max(group, key=lambda name: group[name]) for group in (by_op, by_line))
        shares = {"share": by_op[op] / paid.ms, "line_share": by_line[line] / paid.ms}
        return {"op": op, "line": line, **shares}


def _told(top: Mapping[str, Any]) -> str:
    by_op, by_line = (f"{100 * top[key]:.0f} %" for key in ("share", "line_share"))
    line = shortened(top["line"], show.WIDTH)
    return f"{by_op} is {top['op']}; {by_line} this line: {line}"


def _line(row: dict[str, Any]) -> str:
    measured = f"{row['speedup']:,.3g} ({row['low']:,.3g}–{row['high']:,.3g})"
    kept = "no" if row["rejected"].strip() else "yes"
    numbers = f"{row['guess_ms']:>8,.4g} {row['counted_ms']:>8,.4g} {measured:>22}"
    return f"{row['program'][:16]:<16} {numbers}  {kept:<4}  {row['change'][:60]}"


# ── times that were measured before ──────────────────────────────────────────────────────────


def _keep(digest: str, times: Pairs) -> None:
    """Add times to the file beside the notebook; there is none where instructors work."""
    record = current_record()
    if record is None or place(record.folder) is None:
        return
    with suppress(OSError):  # a folder that cannot be written: the cell's output remains
        path = record.folder / FILE
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            line = {"digest": digest, "before": times[0], "after": times[1]}
            file.write(f"{json.dumps(line)}\n")


def _kept() -> Iterator[tuple[str, Pairs]]:
    """Yield the times in saved notebooks' outputs, then those in the file, by digest."""
    record = current_record()
    folder = record.folder if record is not None else Path.cwd()  # as in the grader
    for found in saved_output_data(folder, MIME) if record is not None else ():
        yield from _times_in(found)
    with suppress(OSError, ValueError):
        for line in (folder / FILE).read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                yield from _times_in(json.loads(line))


def _times_in(found: Any) -> Iterator[tuple[str, Pairs]]:
    if not isinstance(found, dict) or not isinstance(found.get("digest"), str):
        return
    before, after = found.get("before"), found.get("after")
    if not (isinstance(before, list) and isinstance(after, list)):
        return
    if len(before) == len(after) == PAIRS and all(type(ms) is float for ms in before + after):
        if min(before + after) > 0:
            yield found["digest"], (before, after)
