"""Tell whether the student's code or the test caused a set-up error, without revealing the code.

About hidden set-up, feedback contains only names of exercises and of Python's own exceptions.
Messages, values and names of other classes are chosen by the student's code and could contain the
arguments of a hidden case.
"""

from __future__ import annotations

import ast
import builtins
from functools import cache

from proflab.lesson.names import bound_names, used_names
from proflab_course.cases.reader import TestCell
from proflab_course.course.words import listed
from proflab_course.grading.answer_key import Key
from proflab_course.grading.plan import Reply

NOT_REACHED = "not reached"


def exception_name(reply: Reply) -> str:
    """Return the name of the exception's nearest class that is built into Python."""
    kinds = (name for name in reply.raised if _is_exception(getattr(builtins, name, None)))
    return next(kinds, "Exception")


def _is_exception(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseException)


def prepare(key: Key) -> None:
    """Work out which part each sentence would name, in the thread that may parse (the first)."""
    for test in key.tests.values():
        for block, each in enumerate(test.blocks):
            for step, answer in enumerate(each.answers):
                if answer is None:
                    key.derived["blamed", test.name, block, step] = _blamed(key, test, block, step)


def sentence_of(reply: Reply, key: Key, test: TestCell, block: int, step: int) -> str:
    """Return the sentence for a student about the set-up statement that raised.

    block, step: its place in the test cell.
    """
    if not reply.raised:
        return "what prepares the case did not come to its end"
    place = ("blamed", test.name, block, step)
    if place not in key.derived:  # the same for every student of the class
        key.derived[place] = _blamed(key, test, block, step)
    return f"{key.derived[place]} raised {exception_name(reply)}"


def _blamed(key: Key, test: TestCell, block: int, step: int) -> str:
    """Return the name of the part that raised, for a sentence to the student."""
    origins = _origins(key, test, block, step)
    statement = _parsed(test.blocks[block].steps[step].code)[0]
    call = _only_call(statement)
    called = getattr(call.func, "id", "") if call else ""
    if call and called in _exercises(key) and not _arguments_used(call) & origins.keys():
        return f"your `{called}`"
    names = sorted({f"`{name}`" for n in used_names([statement]) for name in origins.get(n, ())})
    return f"a step that uses your {listed(names)}" if names else "what prepares the case"


def _exercises(key: Key) -> set[str]:
    return {cell.grade_id for cell in key.cells if cell.kind == "solution"}


def _origins(key: Key, test: TestCell, block: int, step: int) -> dict[str, set[str]]:
    """Return, for each name known before the statement, the exercises that its value depends on."""
    if "origins" not in key.derived:
        key.derived["origins"] = _lesson_origins(key)
    origins = dict(key.derived["origins"])
    for number, other in enumerate(test.blocks[: block + 1]):
        if other.hidden and number < block:
            continue  # it ran in a copy of its own
        steps = other.steps[:step] if number == block else other.steps
        for each, answer in zip(steps, other.answers, strict=False):
            if answer is None:
                _follow(each.code, origins)
    return origins


def _lesson_origins(key: Key) -> dict[str, set[str]]:
    """Return the same for the names of the lesson's locked cells, and its exercises."""
    exercises = {name: {name} for name in _exercises(key)}
    origins = dict(exercises)
    for cell in key.cells:
        if cell.kind == "locked" and cell.master.cell_type == "code":
            _follow(cell.master.source, origins)
    return origins | exercises


def _follow(code: str, origins: dict[str, set[str]]) -> None:
    """Update `origins` for the names that these statements bind."""
    for used, bound in _names_in(code):
        found = {name for n in used for name in origins.get(n, ())}
        for name in bound:
            origins.pop(name, None)
        if found:
            origins |= dict.fromkeys(bound, found)


@cache  # each set-up statement follows all of those before it
def _names_in(code: str) -> list[tuple[set[str], set[str]]]:
    """Return, for each statement, the names that it uses and those that it binds."""
    return [(used_names([each]), bound_names([each])) for each in _parsed(code)]


def _parsed(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError:  # a cell with a magic
        return []


def _only_call(statement: ast.stmt) -> ast.Call | None:
    """Return the call if the statement is only that, or assigns its result."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    return value if isinstance(value, ast.Call) else None


def _arguments_used(call: ast.Call) -> set[str]:
    return used_names([*call.args, *(k.value for k in call.keywords)])
