"""Puts other functions in the place of those of `time`, wherever somebody holds them.

`from time import perf_counter`, `def f(clock=perf_counter)` or a class attribute keep the function
itself, so that to replace it in the module is not enough: every dict, list, closure and default
argument that holds it is found by asking the garbage collector. Threads other than the one that
replaces go on reading real clocks.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import timeit
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Replacement:
    """Called like the clock that it stands for. No function, so that no class binds it."""

    __slots__ = ("_original", "_stand_in", "_thread")

    def __init__(self, original: Callable, stand_in: Callable) -> None:
        self._original, self._stand_in = original, stand_in
        self._thread = threading.get_ident()

    def __call__(self, *args: Any) -> Any:
        """Return the stand-in's answer, or, in another thread, the real one."""
        mine = threading.get_ident() == self._thread
        return (self._stand_in if mine else self._original)(*args)


@contextmanager
def clocks_replaced(clocks: dict[str, Callable], function: Callable) -> Iterator[None]:
    """Let `clocks` stand for the functions of `time` of these names, within.

    function: what is about to run; the names that it sees are searched in any case.
    """
    known = [vars(time), vars(timeit), *_namespaces(function)]
    pairs = [(vars(time)[name], clock) for name, clock in clocks.items() if name in vars(time)]
    replacements = [(original, _Replacement(original, clock)) for original, clock in pairs]
    del pairs  # else its tuples would be holders of the clocks, to be searched
    _exchange(replacements, known)
    try:
        yield
    finally:
        _exchange([(new, old) for old, new in replacements], known)


def _namespaces(function: Callable) -> list[dict]:
    """Return the globals of what runs and of the notebook: the collector may not track them."""
    found = [getattr(function, "__globals__", None), vars(sys.modules["__main__"])]
    return [names for names in found if names is not None]


def _exchange(pairs: list[tuple[Any, Any]], known: list[dict]) -> None:
    """Put the second of each pair wherever the first is held."""
    new = {id(old): new for old, new in pairs}
    for holder in known:
        _exchange_in_dict(holder, new)
    for function in (timeit.timeit, timeit.repeat, timeit.Timer.__init__):
        _exchange_in_function(function, new)
    holders = gc.get_referrers(*(old for old, _ in pairs))
    for holder in holders:
        _exchange_in(holder, new)
    # No tuple of defaults can be changed: the function that has it gets another one.
    defaults = [holder for holder in holders if isinstance(holder, tuple)]
    for function in gc.get_referrers(*defaults):
        if isinstance(function, types.FunctionType):
            _exchange_in_function(function, new)


def _exchange_in(holder: Any, new: dict[int, Any]) -> None:
    match holder:
        case dict():
            if not _of_the_library(holder):
                _exchange_in_dict(holder, new)
        case list():
            holder[:] = [new.get(id(item), item) for item in holder]
        case types.CellType():
            holder.cell_contents = new.get(id(holder.cell_contents), holder.cell_contents)
        case tuple() | types.FrameType() | types.ModuleType() | _Replacement():
            pass  # a replacement keeps the real clock, for other threads
        case _:
            if isinstance(names := getattr(holder, "__dict__", None), dict):
                _exchange_in_dict(names, new)


def _exchange_in_dict(holder: dict, new: dict[int, Any]) -> None:
    held = [(key, new[id(value)]) for key, value in holder.items() if id(value) in new]
    owner = _class_of(holder) if held else None
    for key, value in held:
        if owner is None:
            holder[key] = value
        else:
            setattr(owner, key, value)


def _exchange_in_function(function: Any, new: dict[int, Any]) -> None:
    if function.__defaults__:
        function.__defaults__ = tuple(new.get(id(v), v) for v in function.__defaults__)


def _class_of(names: dict) -> type | None:
    """Return the class whose attributes these are; writing past it leaves its cache stale."""
    if "__module__" not in names or "__name__" in names:
        return None
    users = [user for user in gc.get_referrers(names) if isinstance(user, type)]
    return users[0] if users else None


def _of_the_library(names: dict) -> bool:
    """Return True for a standard module's names: none of them measures for a student."""
    name = names.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in sys.stdlib_module_names
