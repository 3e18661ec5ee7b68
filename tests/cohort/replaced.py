"""What test cells put in the place of a notebook's functions and classes, and how they are called.

A right solution may call a given function by the names of its own signature, so whatever stands
for it has to take these, too.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any

from proflab_course.build.in_process import made
from proflab_course.cases.reader import TestCell

_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_Call = tuple[tuple, dict[str, None]]


def refused(original: Callable, stand_in: Callable) -> list[str]:
    """Return the ways to call a function or class that what stands for it does not take.

    Of a class these are its constructor and its public methods.

    >>> refused(lambda model, shape: 0, lambda model, size: 0)
    ['(model=, shape=)']
    >>> refused(lambda model, shape=(): 0, lambda *args, **options: 0)
    []
    """
    if not inspect.isclass(original) or not inspect.isclass(stand_in):
        return _refused(original, stand_in)
    found = _refused(original, stand_in)
    for name, method in vars(original).items():
        if callable(method) and not name.startswith("_"):
            calls = _refused(method, getattr(stand_in, name, None))
            found += [f".{name}{call}" for call in calls]
    return found


def _refused(original: Callable, stand_in: Callable | None) -> list[str]:
    if stand_in is None:
        return [" is not there"]
    taken = inspect.signature(stand_in)
    return [_written(call) for call in _calls(original) if not _takes(taken, call)]


def _calls(function: Callable) -> list[_Call]:
    """Return calls with all arguments by position, by name, and with as few as may be."""
    parameters = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    first = tuple(p.name for p in parameters if p.kind == p.POSITIONAL_ONLY)
    by_name = {p.name: None for p in parameters if p.kind != p.POSITIONAL_ONLY}
    in_place = tuple(p.name for p in parameters if p.kind == _EITHER)
    only_named = {p.name: None for p in parameters if p.kind == p.KEYWORD_ONLY}
    needed = {p.name for p in parameters if p.default is p.empty}
    least = {name: None for name in by_name if name in needed}
    return [
        (first + in_place, only_named),
        (first, by_name),
        (tuple(name for name in first if name in needed), least),
    ]


def _takes(signature: inspect.Signature, call: _Call) -> bool:
    try:
        signature.bind(*call[0], **call[1])
    except TypeError:
        return False
    return True


def _written(call: _Call) -> str:
    return f"({', '.join([*call[0], *(f'{name}=' for name in call[1])])})"


def unlike(lesson: Any) -> list[list]:
    """Return [test cell, name, calls] for each stand-in that refuses a call of the original.

    The lesson's test cells are executed in this process, but for its races and logs.
    """
    originals = {name: value for name, value in lesson.scope.items() if callable(value)}
    own = {cell.name or "cell" for cell in lesson.cells}
    found: dict[tuple[str, str], list[str]] = {}
    now = ""

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_filename not in own or frame.f_globals is not lesson.scope:
            return
        for name in _globals_of(code) & originals.keys():
            stand_in = lesson.scope.get(name)
            if callable(stand_in) and stand_in is not originals[name]:
                found[now, name] = refused(originals[name], stand_in)

    for cells in lesson.tests.values():
        for cell in cells:
            now = cell.name
            sys.setprofile(watch)
            try:
                _execute(cell, lesson.scope)
            finally:
                sys.setprofile(None)
            lesson.scope.update(originals)
    return [[*place, calls] for place, calls in found.items()]


@cache
def _globals_of(code: CodeType) -> set[str]:
    read = ("LOAD_GLOBAL", "LOAD_NAME")
    return {step.argval for step in dis.get_instructions(code) if step.opname in read}


def _execute(cell: TestCell, scope: dict[str, Any]) -> None:
    for block in cell.blocks:
        doubles = dict(block.doubles)
        for index, (step, answer) in enumerate(zip(block.steps, block.answers, strict=True)):
            if index in doubles:
                scope[doubles[index].name] = made(doubles[index], scope)
            elif answer is None:
                exec(step.code, scope)
            elif answer.held is None:
                _evaluate(step.code, scope)


def _evaluate(code: str, scope: dict[str, Any]) -> None:
    try:
        eval(code, scope)
    except Exception:  # as a case may want
        return
