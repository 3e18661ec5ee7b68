"""Find the hidden cases of a lesson that prove no more than its visible ones tell.

A student who copies the answers of the visible cases gets no points for it. So no hidden case asks
what a visible one has answered, and each cell has hidden cases whose values no visible case shows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from proflab.lesson.names import bound_names, used_names
from proflab_course.cases.case import Answer
from proflab_course.cases.reader import TestCell, split_cell
from proflab_course.cases.value import judge_value
from proflab_course.course.notebook import Lesson

LEAST = 2  # hidden cases of a cell with a value that no visible case shows


@dataclass(frozen=True)
class _AskedCase:
    """A case with what it asks: its code, and the set-up that this rests on."""

    hidden: bool
    answer: Answer
    question: tuple[str, ...]


def evidence_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each hidden case that asks what a visible one has answered."""
    for place, name, cases, shown in _tested(lesson):
        for case in cases:
            same = (each for each in shown if each.question == case.question)
            if case.hidden and any(_answers(each.answer, case.answer) for each in same):
                asked = f"`{case.question[0]}` is what a visible case asks, with the same answer"
                yield f"{place}, cell {name}: {asked}: give {case.answer.label!r} other inputs"


def evidence_notes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each cell with too few hidden cases of a value of their own."""
    for name, count in new_values(lesson).items():
        if count < LEAST:
            cases = "1 hidden case has" if count == 1 else f"{count} hidden cases have"
            what = f"{cases} a value that no visible case shows; write {LEAST} at least"
            yield f"{lesson.place}, cell {name}: {what}"


def new_values(lesson: Lesson) -> dict[str, int]:
    """Return for each test cell how many hidden cases have a value that no visible case shows."""
    return {
        name: sum(
            case.hidden
            and case.answer.call != "expect_raises"
            and not any(_answers(each.answer, case.answer) for each in shown)
            for case in cases
        )
        for _, name, cases, shown in _tested(lesson)
    }


def copied(lesson: Lesson) -> dict[str, list[tuple[bool, Answer, bool]]]:
    """Return for each test cell what passes if each case gets the best of the visible answers.

    (hidden, answer, passed) of each case: no copy of visible answers passes more.
    """
    return {
        name: [
            (case.hidden, case.answer, any(_answers(each.answer, case.answer) for each in shown))
            for case in cases
        ]
        for _, name, cases, shown in _tested(lesson)
    }


def _tested(lesson: Lesson) -> Iterator[tuple[str, str, list[_AskedCase], list[_AskedCase]]]:
    """Yield for each test cell: place, name, its cases, and the visible ones of its exercise."""
    for tests in lesson.tests.values():
        cells = {cell.name: list(_cases(split_cell(cell))) for cell in tests}
        shown = [case for cases in cells.values() for case in cases if not case.hidden]
        for name, cases in cells.items():
            yield lesson.place, name, cases, shown


def _cases(test: TestCell) -> Iterator[_AskedCase]:
    known: dict[str, tuple[str, ...]] = {}  # what each name comes from; "": what binds none
    for block in test.blocks:
        bound = dict(known)
        for step, answer in zip(block.steps, block.answers, strict=True):
            nodes = ast.parse(step.code).body
            names = ["", *sorted(used_names(nodes))]
            origin = [code for name in names for code in bound.get(name, ())]
            question = tuple(dict.fromkeys((step.code, *origin)))
            if answer is not None:
                yield _AskedCase(block.hidden, answer, question)
            elif binds := bound_names(nodes):
                bound |= dict.fromkeys(binds, question)
            else:
                bound[""] = (*bound.get("", ()), step.code)
        if not block.hidden:
            known = bound


def _answers(shown: Answer, hidden: Answer) -> bool:
    """Return True if the value that a visible case shows passes a hidden one."""
    if shown.held is not None or hidden.held is not None:
        return False  # a tape of other shapes answers nothing, nor does a plan of other numbers
    if "expect_raises" in (shown.call, hidden.call):
        return shown.call == hidden.call and shown.exception == hidden.exception
    values = [shown.expected]
    if shown.call == "expect_between":
        values = [shown.low, (shown.low + shown.high) / 2, shown.high]
    return any(judge_value(hidden, value).passed for value in values)
