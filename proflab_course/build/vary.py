"""`proflab build --seed N`: other inputs in hidden cases where a lesson says which may change.

Above a hidden case, a comment names numbers in it and from where others are drawn:

    # vary: 768 in 2..2_000, 3072 in 2..5_000
    expect("a wide layer", linear_parameters(768, 3072), 2_362_368)

With a seed, each stands for another whole number of its range, the same one for the same seed, and
the expected value is what the lesson's own solution returns. Without one, nothing changes.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import HIDDEN, Cell, Lesson
from proflab_course.course.test_cells import split
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import make_plan
from proflab_course.grading.match_cells import align
from proflab_course.grading.plan import Reply, RunBlock, Submission
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

_VARY = re.compile(r"#\s*vary:\s*(.*)")
_RANGE = re.compile(r"(-?\d[\d_]*)\s+in\s+(-?\d[\d_]*)\.\.(-?\d[\d_]*)")
_EXAMPLE = "write it as `# vary: 768 in 2..2_000`"


@dataclass(frozen=True)
class _Case:
    """A hidden case that varies: its label, and the ranges of numbers in it."""

    line: int
    label: str
    ranges: dict[int, tuple[int, int]]


def vary_cases(lesson: Lesson, seed: int | None, folder: Path) -> int:
    """Change the lesson's hidden cases by the seed, and return how many have been drawn.

    folder: holds its built.py and files. Without a seed, only look whether each `# vary:` is clear.

    Raises CourseError for a comment that is not clear, for a case that cannot vary, and where the
    solution returns no plain value.
    """
    cells = [cell for cell in lesson.named("test") if "vary:" in cell.source]
    if seed is None:
        for cell in cells:
            list(_cases(cell))
        return 0
    varied = {cell.name: _draw(cell, seed) for cell in cells}
    if not varied:
        return 0
    replies = _replies(lesson, folder)
    for cell in lesson.named("test"):
        for label in sorted(varied.get(cell.name, ())):
            cell.node.source = _expecting(cell, label, replies[cell.name, label])
    return sum(map(len, varied.values()))


def drawn_sentence(lesson: Lesson, drawn: int) -> str:
    """Return what a seed has come to: how many of the lesson's hidden cases it has drawn."""
    tests = [split(cell.source, cell.name) for cell in lesson.named("test")]
    hidden = sum(hidden for test in tests for hidden, _ in test.answers)
    told = f"{lesson.name}: {drawn} of {hidden} hidden cases drawn"
    return told if drawn else f"{told}: write cases of your own into private/{lesson.name}.py"


def _draw(cell: Cell, seed: int) -> set[str]:
    """Put the drawn numbers into the cell; return the labels of the cases that have them."""
    labels = set()
    for case in reversed(list(_cases(cell))):  # from below, so that lines keep their numbers
        dice = random.Random(f"{seed} {cell.name} {case.label}")
        drawn = {old: dice.randint(*limits) for old, limits in case.ranges.items()}
        actual = _call(cell, case.label).args[1]
        there = {node.value for node in ast.walk(actual) if isinstance(node, ast.Constant)}
        if absent := [old for old in case.ranges if old not in there]:
            raise CourseError(f"{cell.where}, line {case.line}: {absent[0]} is not in the case")
        places = [
            (node, repr(drawn[node.value]))
            for node in ast.walk(actual)
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value in drawn
        ]
        cell.node.source = _replaced(cell.source, places)
        labels.add(case.label)
    return labels


def _cases(cell: Cell) -> Iterator[_Case]:
    lines, hidden = cell.source.splitlines(), False
    calls = {node.lineno: node.value for node in cell.statements() if isinstance(node, ast.Expr)}
    for number, line in enumerate(lines, start=1):
        hidden = (hidden or line.strip() == HIDDEN[0]) and line.strip() != HIDDEN[1]
        if not (match := _VARY.fullmatch(line.strip())):
            continue
        where = f"{cell.where}, line {number}"
        ranges = {}
        for part in match[1].split(","):
            if not (found := _RANGE.fullmatch(part.strip())):
                raise CourseError(f"{where}: {part.strip()!r} is not clear; {_EXAMPLE}")
            old, low, high = (int(text.replace("_", "")) for text in found.groups())
            ranges[old] = (min(low, high), max(low, high))
        below = number + 1
        while below <= len(lines) and lines[below - 1].strip().startswith("#"):
            below += 1
        call = calls.get(below)
        name = getattr(getattr(call, "func", None), "id", "")
        if not hidden or name != "expect" or not isinstance(call, ast.Call) or len(call.args) != 3:
            raise CourseError(f"{where}: `# vary:` must stand above a hidden `expect` of 3 values")
        if any(keyword.arg == "mistakes" for keyword in call.keywords):
            raise CourseError(f"{where}: a case that varies may name no mistakes")
        yield _Case(number, ast.literal_eval(call.args[0]), ranges)


def _call(cell: Cell, label: str) -> ast.Call:
    """Return the case of this label."""
    for node in cell.statements():
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and call.args:
            if getattr(call.args[0], "value", None) == label:
                return call
    raise CourseError(f"{cell.where}: there is no case {label!r}")


def _replies(lesson: Lesson, folder: Path) -> dict[tuple[str, str], Reply]:
    """Return the solution's reply to each case, by test cell and label."""
    key = make_key(lesson.name, lesson.notebook)
    aligned = align(lesson.notebook, key)
    plan, places = make_plan(aligned, key, full=False)
    result = SubprocessRunner().run(Submission("notebook", None, folder), plan)
    found, seen = {}, dict.fromkeys(places, 0)
    for item, place, replies in zip(plan, places, result.replies, strict=True):
        if isinstance(item, RunBlock) and (cell := aligned.slots[place].key) is not None:
            name = cell.grade_id
            block = key.tests[name].blocks[seen[place]]
            for answer, reply in zip(block.answers, replies, strict=True):
                if answer is not None:
                    found[name, answer.label] = reply
        seen[place] += 1
    return found


def _expecting(cell: Cell, label: str, reply: Reply) -> str:
    """Return the cell's text with the solution's value as the one that the case expects."""
    try:
        if reply.state != "value":
            raise ValueError(reply.message or (reply.raised or ["nothing"])[0])
        literal = repr(reply.value)
        ast.literal_eval(literal)
    except (ValueError, SyntaxError) as error:
        raise CourseError(
            f"{cell.where}: with this seed the solution gives no plain value for {label!r} "
            f"({error}): make the ranges of `# vary:` narrower"
        ) from None
    return _replaced(cell.source, [(_call(cell, label).args[2], literal)])


def _replaced(source: str, places: Sequence[tuple[ast.expr, str]]) -> str:
    """Return the source with each node's text replaced, from the last to the first."""
    lines = source.encode().splitlines(keepends=True)  # ast counts columns in bytes
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = source.encode()
    for node, new in sorted(places, key=lambda p: (p[0].lineno, p[0].col_offset), reverse=True):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        text = text[:begin] + new.encode() + text[end:]
    return text.decode()
