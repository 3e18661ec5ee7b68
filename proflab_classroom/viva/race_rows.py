"""Ask about a race: three questions with options and a key, computed from the student's own tapes.

How much is the last change worth on the other machine? Which operation is the largest at twice the
batch? Where does the program still lose most beside the course's own, and what is that worth? Code
of the student runs in the sandbox as for a grade; its tapes are counted where races are, in a
process without it.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from proflab_classroom.viva.questions import SheetQuestion
from proflab_course.cases.case import Step
from proflab_course.cases.log import LogCase
from proflab_course.cases.race import WITH_LINES, Race
from proflab_course.grading.answer_key import Key
from proflab_course.grading.apart import run_apart
from proflab_course.grading.grade_notebook import make_plan, solved_slots
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.limits import SOLVED_SECONDS
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.plan import RunBlock, Runner, Submission
from proflab_course.grading.races import Name, given_tapes

_APART = 1.05  # two options are at least so many times apart
_ENOUGH = 1.02  # a loss of less is none
_MOST_OPTIONS = 4
_SECONDS = 1.0  # as if the facts of the lesson's own program took so long: the limit follows
_SETUP = """
import pickle
from built import op_facts
from proflab.lesson.race.facts import facts

def asked():
    with open("job", "rb") as file:
        return facts(pickle.load(file), op_facts)
"""


def race_rows(
    aligned: Aligned, key: Key, runner: Runner, submission: Submission
) -> list[SheetQuestion]:
    """Return rows on the lesson's race that has most points; none without a race.

    A question is left out where its answer cannot be computed or two options are too near. Raises
    NotTraced for a lesson that was built without being executed, and GraderFailed where counting or
    the lesson's own program did not come to its end.
    """
    asked = _asked(key)
    if asked is None:
        return []
    name, race, code, log = asked
    given = given_tapes(key)[name]
    # Once for a class: the lesson's own program is everybody's, but where each has another race.
    if "viva" not in key.derived:
        own = Submission("the solved notebook", None, submission.support, files=submission.files)
        best = _values(Aligned(solved_slots(key)), key, [code], runner, own)[0]
        if best is None:
            raise GraderFailed(f"the lesson's own program for {name[1]!r} did not come to its end")
        key.derived["viva"] = best
    steps = [code, twice(code), log or "None"]
    tape, larger, written = _values(aligned, key, steps, runner, submission)
    options = race.options
    job = {
        "given": given, "tape": tape, "twice": larger, "log": written,
        "best": key.derived["viva"], "machine": race.machine,
        "options": {each: options[each] for each in ("state", "fast") if each in options},
    }  # fmt: skip
    # A process without student code unpickles it, and the grader's gets plain data back.
    files = {"job": pickle.dumps(job)}
    [reply] = run_apart(_SETUP, [("asked()", _SECONDS)], files, runner, submission)
    return questions(reply.value)


def questions(found: Mapping[str, Any]) -> list[SheetQuestion]:
    """Return the rows that the facts of a race allow, as `proflab.lesson.race.facts` says them."""
    return [row for row in (_gain(found), _largest(found), _left(found)) if row is not None]


def twice(code: str) -> str:
    """Return the call of `traced` at twice the batch, the first size of the first input.

    >>> twice("traced(f, model=make, x=(8, 64), y=('int64', (8,)))")
    "traced(f, model=make, x=(16, 64), y=('int64', (16,)))"
    """
    tree = ast.parse(code, mode="eval")
    shapes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Tuple)
        and all(isinstance(e, ast.Constant) and isinstance(e.value, int) for e in node.elts)
    ]
    sizes = [shape.elts[0].value for shape in shapes if shape.elts]  # type: ignore[attr-defined]
    for shape in shapes:
        if shape.elts and shape.elts[0].value == sizes[0]:  # type: ignore[attr-defined]
            shape.elts[0] = ast.Constant(2 * sizes[0])
    return ast.unparse(tree)


def _asked(key: Key) -> tuple[Name, Race, str, str] | None:
    """Return the race that is asked about: its case, what traces it, and the code of its log."""
    races: list[tuple[float, Name, Race, str]] = []
    logs: list[tuple[LogCase, str]] = []
    for test in key.tests.values():
        for block in test.blocks:
            for step, answer in zip(block.steps, block.answers, strict=True):
                if answer is None:
                    continue
                held = answer.held
                if isinstance(held, Race) and not block.hidden:
                    code = step.code.removesuffix(WITH_LINES)
                    races.append((test.points, (test.name, answer.label), held, code))
                if isinstance(held, LogCase):
                    logs.append((held, step.code))
    if not races:
        return None
    _, name, race, code = max(races, key=lambda each: each[0])
    about = (written for case, written in logs if case.given == race.given)
    log = next((ast.unparse(_first_item(written)) for written in about), "")
    return name, race, code, log


def _first_item(code: str) -> ast.expr:
    """Return the log of a case's `[log, tape]`."""
    made = ast.parse(code, mode="eval").body
    assert isinstance(made, ast.List)
    return made.elts[0]


def _values(
    aligned: Aligned, key: Key, codes: Iterable[str], runner: Runner, submission: Submission
) -> list[Any]:
    """Return what expressions yield at the end of a notebook; None for one that yields nothing."""
    slots = [slot for slot in aligned.slots if slot.key is None or slot.key.kind != "test"]
    plan, _ = make_plan(Aligned(slots), key, full=False)
    block = RunBlock(False, tuple(Step("value", code) for code in codes), seconds=SOLVED_SECONDS)
    plan = (*(replace(item, seconds=SOLVED_SECONDS) for item in plan), block)
    replies = runner.run(submission, plan).replies
    if len(replies) < len(plan):
        return [None] * len(block.steps)
    return [reply.value if reply.state == "value" else None for reply in replies[-1]]


# ── one question each ────────────────────────────────────────────────────────────────────────


def _row(name: str, stem: str, options: tuple[str, ...], key: int, note: str = "") -> SheetQuestion:
    return SheetQuestion(name, stem, options, key, note=note, kind="race")


def _gain(found: Mapping[str, Any]) -> SheetQuestion | None:
    own, other, free = found.get("gains", (0, 0, 0))
    made = _numbers(other, [own, free, own * own, 1 / other if other else 0])
    if made is None:
        return None
    change = " ".join(found["change"].split())[:80]
    what = f"The last change, {change!r}, made" if change else "Beside the given one,"
    is_faster = "your program" if change else "your program is"
    stem = (
        f"{what} {is_faster} {_times(own)} as fast on {found['machine']}. "
        f"How many times as fast on the {found['other']}?"
    )
    return _row("gain", stem, *made, f"without overhead it would be {_times(free)}")


def _largest(found: Mapping[str, Any]) -> SheetQuestion | None:
    costs = found.get("twice", {})
    names = sorted(costs, key=lambda op: -costs[op])[:_MOST_OPTIONS]
    if len(names) < 2 or costs[names[0]] < _APART * costs[names[1]]:
        return None
    once = found.get("once", {})
    before = max(once, key=lambda op: once[op]) if once else "not known"
    options = tuple(sorted(names))
    stem = (
        f"At twice the batch, which operation of your program costs most on {found['machine']}, "
        "all its calls together?"
    )
    return _row("largest", stem, options, options.index(names[0]), f"now it is {before}")


def _left(found: Mapping[str, Any]) -> SheetQuestion | None:
    left = {op: gain for op, gain in found.get("left", {}).items() if gain > _ENOUGH}
    names = sorted(left, key=lambda op: -left[op])[:_MOST_OPTIONS]
    if not names:
        return _best_step(found)
    if len(names) > 1 and left[names[0]] < 1 + _APART * (left[names[1]] - 1):
        return None
    worth = left[names[0]]
    made = {f"{op}, {_times(left[op])}" for op in names}
    made |= {f"{names[0]}, {_times(gain)}" for gain in (worth * worth, 1 + 3 * (worth - 1))}
    key = f"{names[0]}, {_times(worth)}"
    options = tuple(sorted([key, *sorted(made - {key})[: _MOST_OPTIONS - 1]]))
    stem = (
        "Beside the course's own program yours still loses in some operations. In which most, and "
        f"how many times as fast would it be on {found['machine']} without that loss?"
    )
    return _row("left", stem, options, options.index(key))


def _best_step(found: Mapping[str, Any]) -> SheetQuestion | None:
    """Return the question of a program that loses nothing: which step was worth most?"""
    steps = sorted(found.get("steps", ()), key=lambda step: -step[1])[:_MOST_OPTIONS]
    changes = [" ".join(change.split())[:80] for change, _ in steps]
    if len({*changes}) < max(2, len(changes)) or steps[0][1] < _APART * steps[1][1]:
        return None
    options = tuple(sorted(changes))
    stem = (
        f"Which of your steps made the program faster by the largest factor on {found['machine']}?"
    )
    note = f"{_times(steps[0][1])}; the next one {_times(steps[1][1])}"
    return _row("left", stem, options, options.index(changes[0]), note)


def _numbers(right: float, others: Iterable[float]) -> tuple[tuple[str, ...], int] | None:
    """Return options, in order, of which no two are near each other, and the key's place."""
    chosen = [right]
    for number in others:
        apart = all(max(number, c) >= _APART * min(number, c) > 0 for c in chosen)
        if apart and len(chosen) < _MOST_OPTIONS and number < 1e6:
            chosen.append(number)
    if len(chosen) < 3:
        return None
    options = tuple(map(_times, sorted(chosen)))
    return (options, options.index(_times(right))) if len({*options}) == len(options) else None


def _times(factor: float) -> str:
    return f"{factor:.3g} times"
