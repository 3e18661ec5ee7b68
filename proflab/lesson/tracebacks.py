"""Whose memory it is: from a traceback of tracemalloc to the function that a student wrote.

Goes into an assembled profiler with the package. What may not enter: anything that compares.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import tracemalloc
from pathlib import Path

import numpy as np

import proflab

_LIBRARIES = tuple(str(Path(module.__file__ or "").parent) + os.sep for module in (os, np, proflab))


def own_function(traceback: tracemalloc.Traceback) -> str | None:
    """Return the name of a traceback's innermost function not in a library, or None.

    Libraries are Python's own, what is installed beside it, numpy and proflab. What runs outside of
    any function is "<module>".
    """
    for frame in reversed(traceback):
        if not frame.filename.startswith((*_LIBRARIES, "<frozen")):
            return function_at(frame.filename, frame.lineno)
    return None


def function_at(filename: str, line: int) -> str:
    """Return the name of the function that has this line of this file, the innermost one."""
    around = [span for span in _functions(filename) if span[0] <= line <= span[1]]
    return max(around)[2] if around else "<module>"


@functools.cache
def _functions(filename: str) -> list[tuple[int, int, str]]:
    """Return each function of a file: its first line, its last, and its name."""
    kinds = ast.FunctionDef, ast.AsyncFunctionDef
    nodes = ast.walk(ast.parse("".join(linecache.getlines(filename))))
    return [(n.lineno, n.end_lineno or n.lineno, n.name) for n in nodes if isinstance(n, kinds)]
