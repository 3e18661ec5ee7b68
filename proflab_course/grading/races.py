"""Race the tapes of a hand-in: run and count them in a process that runs no student code, ever.

A tape is plain data that came out of a student's process: a proposal for a program. The runner
that executes hand-ins executes one more, made by the grader, with the same confinement and limits:
its files are the tapes and the course's own `built.py`, its code is `judge` of proflab.lesson.race.
What comes back is what the engine found; the verdict is reached here (`verdict.py`).

A plan is plain data, too: it is simulated here, for that runs nothing of anybody's. A work log is
checked where tapes are raced, for it brings a tape for each of its steps.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proflab.checks.values import NotPlainData, dumps, loads
from proflab.lesson.race.plans import judge_plan
from proflab_course.course.layout import CourseError
from proflab_course.course.test_cells import Answer, PlanRace, Race, Step
from proflab_course.grading import work_limit
from proflab_course.grading.answer_key import Key
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.plan import Plan, Result, RunBlock, RunCell, Runner, Submission
from proflab_course.grading.run.student_files import gather_files

METADATA = "proflab_races"  # of the source notebook: the given programs' tapes
COSTS = "proflab_race_costs"  # of the source notebook: what the lesson's solutions cost
_SECONDS = 0.4  # as if the slowest race took this long in the solved notebook
_LOG_SECONDS = 3.0  # and the longest work log
_BUILT = "built.py"
_SETUP = """
from built import op_facts
from proflab.checks.values import loads
from proflab.lesson.race.judge import judge

def raced(path):
    with open(path, "rb") as file:
        job = loads(file.read())
    return judge(job["tape"], job["given"], op_facts, job["machine"], **job["options"])
"""
_LOG_SETUP = """
from built import gate, op_facts, speedup_interval
from proflab.checks.values import loads
from proflab.lesson.race.check_log import check_log

def raced(path):
    with open(path, "rb") as file:
        job = loads(file.read())
    own = {"op_facts": op_facts, "speedup_interval": speedup_interval, "gate": gate}
    return check_log(job["log"], job["tape"], job["given"], own, job["machine"], **job["options"])
"""

Name = tuple[str, str]  # of a case: its test cell and its label
Raced = Mapping[Name, Mapping[str, Any]]


@dataclass(frozen=True)
class Taped:
    """A tape that came back for a race."""

    name: Name
    race: Race
    tape: Any


def taped(aligned: Aligned, key: Key, result: Result, places: list[int]) -> Iterator[Taped]:
    """Yield the tape of each race that a notebook's replies hold."""
    for name, answer, value in _raced(aligned, key, result, places):
        if answer.race is not None:
            yield Taped(name, answer.race, value)


def simulated(aligned: Aligned, key: Key, result: Result, places: list[int]) -> Raced:
    """Return what each plan that a notebook's replies hold is worth, as `judge_plan` says it.

    Raises TooMuchWork where the grader's time for this hand-in is used up.
    """
    found = {}
    for name, answer, value in _raced(aligned, key, result, places):
        if (plan := answer.plan) is not None:
            work_limit.check()
            found[name] = judge_plan(value, plan.rule, plan.parameters, plan.given)
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
            known = answer is not None and (answer.race or answer.plan or answer.log)
            if known and reply.state == "value":
                yield (cell.grade_id, answer.label), answer, reply.value


def races_of(key: Key) -> dict[Name, Race]:
    """Return the lesson's races by test cell and label."""
    return {name: each.race for name, each in _cases(key) if each.race is not None}


def plans_of(key: Key) -> dict[Name, PlanRace]:
    """Return the lesson's races of plans by test cell and label."""
    return {name: each.plan for name, each in _cases(key) if each.plan is not None}


def _cases(key: Key) -> Iterator[tuple[Name, Answer]]:
    for cell, test in key.tests.items():
        for _, answer in test.answers:
            yield (cell, answer.label), answer


def given_tapes(key: Key) -> dict[Name, Any]:
    """Return the tapes of the given programs, which the build has put into the source notebook.

    Raises CourseError where one is missing, for its lesson was built without being executed.
    """
    if "races" not in key.derived:
        found = {(cell, label): text for cell, label, text in key.metadata.get(METADATA, ())}
        if missing := races_of(key).keys() - found.keys():
            raise CourseError(
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


def as_metadata(tapes: Mapping[Name, Any]) -> list[list[str]]:
    """Return the given programs' tapes as the source notebook keeps them."""
    return [[*name, dumps(tape).decode()] for name, tape in tapes.items()]


def race(
    tapes: list[Taped],
    given: Mapping[Name, Any],
    runner: Runner,
    submission: Submission,
    salt: str,
) -> dict[Name, dict[str, Any]]:
    """Return what each tape is worth, as `judge` says it. Raises CourseError without built.py.

    salt: what the numbers that are drawn depend on besides; unknown to students' code
    """
    jobs = {
        each.name: {
            "tape": each.tape, "given": given[each.name], "machine": each.race.machine,
            "options": each.race.options | {"salt": salt},
        }
        for each in tapes
    }  # fmt: skip
    return run_apart(jobs, _SETUP, _SECONDS, runner, submission)


def check_logs(
    aligned: Aligned,
    key: Key,
    result: Result,
    places: list[int],
    runner: Runner,
    submission: Submission,
    given: Mapping[Name, Any] | None = None,
) -> dict[Name, dict[str, Any]]:
    """Return what `check_log` finds in the work log of each case of `expect_log`.

    A log is read once, however many cases ask about it. given: the races' given programs; the
    source's, if not said. Raises CourseError where none is the log's, and without built.py.
    """
    races, jobs = races_of(key), {}
    same: dict[Name, Name] = {}
    first: dict[str, Name] = {}
    for name, answer, value in _raced(aligned, key, result, places):
        if (case := answer.log) is None:
            continue
        taped_as = (race for race, each in races.items() if each.given == case.given)
        if (known := next(taped_as, None)) is None:
            raise CourseError(f"{name[1]!r}: no race of this lesson is against {case.given}")
        log, tape = value if isinstance(value, list) and len(value) == 2 else (None, None)
        digest = hashlib.sha256(repr([case.given, case.machine, case.options]).encode())
        try:
            digest.update(dumps([log, tape]))
        except NotPlainData:
            log = None
        same[name] = first.setdefault(digest.hexdigest(), name)
        if same[name] == name:
            jobs[name] = {
                "log": log, "tape": tape, "machine": case.machine,
                "given": (given or given_tapes(key))[known],
                "options": case.options | {"salt": key.fingerprint},
            }  # fmt: skip
    found = run_apart(jobs, _LOG_SETUP, _LOG_SECONDS, runner, submission) if jobs else {}
    return {name: found[other] for name, other in same.items()}


def run_apart(
    jobs: Mapping[Name, dict[str, Any]],
    setup: str,
    seconds: float,
    runner: Runner,
    submission: Submission,
) -> dict[Name, dict[str, Any]]:
    """Return what `raced`, which the set-up defines, returns for each job, in a process of its own.

    Raises CourseError without the course's own built.py.
    """
    built = gather_files(submission).get(_BUILT)
    if built is None or b"op_facts" not in built:
        raise CourseError("a race is counted by op_facts of an earlier lesson, in built.py")
    files, found = {_BUILT: built}, {}
    asked: list[Name] = []
    for name, job in jobs.items():
        try:
            files[f"{len(asked)}.tape"] = dumps(job)
            asked.append(name)
        except NotPlainData as error:  # too deep, for one
            found[name] = {"refused": str(error)}
    plan: Plan = (RunCell(setup, given=True),)
    steps = [Step("value", f"raced({f'{number}.tape'!r})") for number in range(len(asked))]
    plan += tuple(RunBlock(False, (step,), seconds=seconds) for step in steps)
    result = runner.run(Submission(f"{submission.name}, raced", files=files), plan)
    for name, [reply] in zip(asked, result.replies[1:], strict=True):
        if reply.state == "value":
            found[name] = reply.value
        else:
            found[name] = {"refused": f"it cannot be run here ({_why(reply)})"}
    return found


def _why(reply: Any) -> str:
    return reply.message or (reply.raised or ["nothing came back"])[0]
