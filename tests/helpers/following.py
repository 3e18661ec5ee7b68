"""Which files of the packages Python enters, for the tests of docs/architecture.md."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = tuple(f"{ROOT}/proflab{end}/" for end in ("", "_course", "_classroom"))


def follow(seen: list[str]) -> None:
    """From now on, add each file of which this process enters a function, the first one first."""

    def trace(frame, event, argument):
        path = frame.f_code.co_filename
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or class
        if function and path.startswith(PACKAGES):
            if (name := path.removeprefix(f"{ROOT}/")) not in seen:
                seen.append(name)

    threading.settrace(trace)
    sys.settrace(trace)


@contextmanager
def executed() -> Iterator[list[str]]:
    """List the files that this process enters within."""
    seen: list[str] = []
    before = sys.gettrace()
    follow(seen)
    try:
        yield seen
    finally:
        sys.settrace(before)
        threading.settrace(before)
