"""Judge the tapes, plans and work logs of a hand-in, without any student code.

A tape is plain data that came out of a student's process: a proposal for a program. It is read,
counted and run in a process of the grader's own (`apart.py`), which gets it as it came; the verdict
is reached in this one (`judge_case.py`). What is the same for a whole class, the given programs'
costs and results, is worked out once a grading, and how long that takes is the measure of how long
a hand-in's tapes may take.

A plan is plain data, too: it is simulated here, for that runs nothing of anybody's. A work log is
checked where tapes are raced, for it brings a tape for each of its steps.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from proflab.checks.values import dumps, loads
from proflab_course.cases.case import Answer, Step
from proflab_course.cases.log import LogCase
from proflab_course.cases.plan import PlanRace
from proflab_course.cases.race import Race
from proflab_course.course.layout import CourseError
from proflab_course.grading import work_limit
from proflab_course.grading.answer_key import Key
from proflab_course.grading.apart import run_apart
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.plan import Result, RunBlock, Runner, Submission

METADATA = "proflab_races"  # of the source notebook: the given programs' tapes
COSTS = "proflab_race_costs"  # of the source notebook: what the lesson's solutions cost
SALT = "salt"  # in a key's derived values: what the drawn inputs depend on; unknown to students
# As if a tape, a log, and what is known of a race took at least this long, in CPU seconds.
_TAPE_SECONDS, _LOG_SECONDS, _KNOWN_SECONDS = 0.4, 2.0, 2.0
_TOGETHER = 5  # races that one process works out: their results are a reply's plain data
_SETUP = """
import gc

gc.disable()  # tapes and walks are large and without cycles, and the process ends soon
from built import op_facts
from proflab.lesson.race.jobs import Jobs, what_is_known
"""
_JOBS = """
import built
judge = Jobs("jobs", vars(built)).judge
"""
_knowing = threading.Lock()  # what is known is worked out by one thread, for all

Name = tuple[str, str]  # of a case: its test cell and its label
Raced = Mapping[Name, Mapping[str, Any]]
Judged = dict[tuple[Name, bytes], dict[str, Any]]  # what a case's tape or log is worth


class NotTraced(CourseError):
    """A lesson was built without being executed: its races lack the given programs' tapes."""


def simulated(
    aligned: Aligned, key: Key, result: Result, places: list[int]
) -> dict[Name, dict[str, Any]]:
    """Return what each plan, or other value that is no tape, of a notebook's replies is worth.

    Raises TooMuchWork where the grader's time for this hand-in is used up.
    """
    found = {}
    for name, answer, value in _raced(aligned, key, result, places):
        if answer.held is not None and not answer.held.traced:
            work_limit.check()
            found[name] = answer.held.worked_out(value)
    return found


def _raced(
    aligned: Aligned, key: Key, result: Result, places: list[int]
) -> Iterator[tuple[Name, Answer, Any]]:
    """Yield each tape, plan or log that a notebook's replies hold, with its case."""
    seen: Counter[int] = Counter()
    for place, replies in zip(places, result.replies, strict=False):
        cell = aligned.slots[place].key
        if cell is None or cell.kind != "test":
            continue
        block = key.tests[cell.grade_id].blocks[seen[place]]
        seen[place] += 1
        for answer, reply in zip(block.answers, replies, strict=True):
            if answer is not None and answer.held is not None and reply.state == "value":
                yield (cell.grade_id, answer.label), answer, reply.value


def races_of(key: Key) -> dict[Name, Race]:
    """Return the lesson's races by test cell and label."""
    return {name: each.held for name, each in _cases(key) if isinstance(each.held, Race)}


def plans_of(key: Key) -> dict[Name, PlanRace]:
    """Return the lesson's races of plans by test cell and label."""
    return {name: each.held for name, each in _cases(key) if isinstance(each.held, PlanRace)}


def _cases(key: Key) -> Iterator[tuple[Name, Answer]]:
    for cell, test in key.tests.items():
        for _, answer in test.answers:
            yield (cell, answer.label), answer


def given_tapes(key: Key) -> dict[Name, Any]:
    """Return the tapes of the given programs, which the build has put into the source notebook.

    Raises NotTraced where one is missing.
    """
    if "races" not in key.derived:
        found = {(cell, label): text for cell, label, text in key.metadata.get(METADATA, ())}
        if missing := races_of(key).keys() - found.keys():
            raise NotTraced(
                f"{key.name}: the given program of {min(missing)[1]!r} has not been traced: run "
                f"`proflab build {key.name}`"
            )
        key.derived["races"] = {name: loads(text.encode()) for name, text in found.items()}
    return key.derived["races"]


def solution_costs(key: Key) -> dict[Name, float]:
    """Return what the lesson's own solutions cost; nothing for a lesson of an older build."""
    return {(cell, label): cost for cell, label, cost in key.metadata.get(COSTS, ())}


def given_block(key: Key) -> RunBlock:
    """Return the statements that trace the given programs, at the end of the solved notebook."""
    return RunBlock(False, tuple(Step("value", r.given) for r in races_of(key).values()))


def salt_of(secret: bytes, lesson: str) -> str:
    """Return what the inputs drawn for a lesson's races depend on, the same in each grading."""
    return hmac.new(secret, f"races\0{lesson}".encode(), hashlib.sha256).hexdigest()


def as_metadata(tapes: Mapping[Name, Any]) -> list[list[str]]:
    """Return the given programs' tapes as the source notebook keeps them."""
    return [[*name, dumps(tape).decode()] for name, tape in tapes.items()]


@dataclass(frozen=True)
class Job:
    """Hold a tape or a work log that a hand-in has for one case; given: the race that it is about.

    value: in the reply format. salt: what the drawn inputs depend on
    """

    name: Name
    case: Race | LogCase
    value: bytes
    given: Name
    salt: str

    @cached_property
    def place(self) -> bytes:
        """Return where what is known of its race is kept."""
        case = self.case
        about = [self.given, self.salt, case.machine, case.options, isinstance(case, LogCase)]
        return pickle.dumps(about)


def judge_jobs(
    aligned: Aligned,
    key: Key,
    result: Result,
    places: list[int],
    runner: Runner,
    submission: Submission,
    given: Mapping[Name, Any] | None = None,
    judged: Judged | None = None,
) -> dict[Name, dict[str, Any]]:
    """Return what each tape and each work log among a notebook's replies is worth.

    As `judge` and `check_log` say it. given: the given programs' tapes; the source's, if not said.
    judged: what is known already of this hand-in, and gets what is found.
    Raises CourseError where a log is about no race of the lesson, and without built.py; and
    GraderFailed where judging did not come to its end.
    """
    judged = {} if judged is None else judged
    every = list(_jobs(aligned, key, result, places))
    if jobs := [job for job in every if (job.name, job.value) not in judged]:
        judged |= _judged(jobs, key, runner, submission, given)
    return {job.name: judged[job.name, job.value] for job in every}


def _judged(
    jobs: list[Job],
    key: Key,
    runner: Runner,
    submission: Submission,
    given: Mapping[Name, Any] | None,
) -> Judged:
    """Judge jobs in one process of the grader's own."""
    known = _known(jobs, key, given or given_tapes(key), runner, submission)
    places_of = {place: number for number, place in enumerate(known)}
    asked: list[dict[str, Any]] = []
    first: dict[bytes, int] = {}  # five cases ask about one log: it is read once
    numbers = []
    for job in jobs:
        about = {
            "known": places_of[job.place], "machine": job.case.machine, "value": job.value,
            "options": job.case.options, "log": isinstance(job.case, LogCase),
        }  # fmt: skip
        numbers.append(first.setdefault(pickle.dumps(about), len(asked)))
        if numbers[-1] == len(asked):
            asked.append(about)
    # What is pickled is the grader's own; a hand-in's tape is in it as bytes that `loads` reads.
    files = {
        "jobs": pickle.dumps(asked),
        "jobs.known": b"".join(data for data, _ in known.values()),
    }
    took = [seconds for _, seconds in known.values()]
    least = (_LOG_SECONDS if each["log"] else _TAPE_SECONDS for each in asked)
    calls = [
        (f"judge({number})", max(seconds, took[each["known"]]))
        for number, (each, seconds) in enumerate(zip(asked, least, strict=True))
    ]
    replies = run_apart(_SETUP + _JOBS, calls, files, runner, submission)
    return {(job.name, job.value): replies[n].value for job, n in zip(jobs, numbers, strict=True)}


def _jobs(aligned: Aligned, key: Key, result: Result, places: list[int]) -> Iterator[Job]:
    # A build, or a single notebook, is of no class: what is drawn need not be the same again.
    races, salt = races_of(key), key.derived.setdefault(SALT, secrets.token_hex(16))
    for name, answer, value in _raced(aligned, key, result, places):
        if isinstance(race := answer.held, Race):
            yield Job(name, race, value, name, salt)
        elif isinstance(log := answer.held, LogCase):
            known = next((other for other, each in races.items() if each.given == log.given), None)
            if known is None:
                where = f"{key.name}, cell {name[0]}, {name[1]!r}"
                raise CourseError(f"{where}: no race of this lesson is against {log.given}")
            yield Job(name, log, value, known, salt)


def _known(
    jobs: list[Job],
    key: Key,
    given: Mapping[Name, Any],
    runner: Runner,
    submission: Submission,
) -> dict[bytes, tuple[bytes, float]]:
    """Return what is known of these jobs' races, pickled, and the CPU seconds it took, by place.

    It is kept with the key, so that the first hand-in's grading works it out for all.
    """
    with _knowing:
        kept = key.derived.setdefault("known", {})
        missing = list({job.place: job for job in jobs if job.place not in kept}.values())
        for start in range(0, len(missing), _TOGETHER):
            some = missing[start : start + _TOGETHER]
            files = {
                f"known{number}": pickle.dumps(_about(job, given[job.given]))
                for number, job in enumerate(some)
            }
            calls = [(f"what_is_known({name!r}, op_facts)", _KNOWN_SECONDS) for name in files]
            replies = run_apart(_SETUP, calls, files, runner, submission)
            for job, reply in zip(some, replies, strict=True):
                kept[job.place] = pickle.dumps(reply.value), reply.seconds
    return {job.place: kept[job.place] for job in jobs}


def _about(job: Job, given: Any) -> dict[str, Any]:
    """Return what `what_is_known` reads."""
    options, is_log = job.case.options | {"salt": job.salt}, isinstance(job.case, LogCase)
    options.pop("one_by_one", None)  # asked of a log, not of the given program
    return {"given": given, "machine": job.case.machine, "options": options, "rows": is_log}
