"""Run a lesson's code cells in this Python, or in one that is made to lack what a browser's lacks.

    python bare_python.py [--bare] FOLDER…      # each has cells.json, and what the cells import

Only proflab is imported, so that any Python can run this which has what students have. Prints a
line of JSON for each folder: `cells`, `cases` (how many hold), `said` (what a cell says that cannot
run here) and `failed`, cells with their tracebacks.

What `hide` hides: psutil and threadpoolctl, threads and processes, what Unix has and a browser has
not, and clocks' ticks. Arrays of Python's integers have 32 bits, as on a processor of 32 bits; only
functions of numpy are changed, not its arrays' methods.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import linecache
import os
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from types import ModuleType

# As in Firefox and Safari; in Chromium steps are shorter, and process_time stands still, too.
TICKS = {"perf_counter": 1e-3, "monotonic": 1e-3, "time": 1e-3, "process_time": 1e9}
NO_MODULES = ("psutil", "threadpoolctl", "fcntl", "grp", "pwd", "resource", "termios")
NOT_IN_OS = ("forkpty", "posix_spawn", "preadv", "sched_getaffinity")


def hide() -> None:
    """Hide it, once and for all in this process; libraries look at the real system before that."""
    import matplotlib.pyplot  # noqa: F401
    import numpy as np
    import tqdm  # noqa: F401

    for name in NO_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in NOT_IN_OS:
        vars(os).pop(name, None)
    sys.platform = "emscripten"
    threading.Thread.start = refuse(RuntimeError, "can't start new thread")  # type: ignore
    message = "emscripten does not support processes."
    os.fork = refuse(OSError, 138, message)  # type: ignore[assignment]
    subprocess.Popen.__init__ = refuse(OSError, 138, message)  # type: ignore[method-assign]
    os.cpu_count = lambda: None
    for name, tick in TICKS.items():
        setattr(time, name, ticking(getattr(time, name), tick))
    time.get_clock_info = clock_info(time.get_clock_info)
    np.int_ = np.intp = np.int32
    for names, change in ((MADE, as_made), (REDUCED, as_reduced), (INDICES, as_indexed)):
        for name in names:
            place = (names[name],) if names is INDICES else ()
            changed = change(getattr(np, name), *place)
            # A traceback of memory has it for a part of numpy, which it stands for.
            changed.__code__ = changed.__code__.replace(co_filename=np.__file__)
            setattr(np, name, changed)


def refuse(kind: type[Exception], *arguments: object):
    """Return a function that raises this."""

    def refused(*_: object, **__: object) -> None:
        raise kind(*arguments)

    return refused


def ticking(clock, tick: float):
    """Return a clock that shows whole ticks of the clock."""
    return lambda: clock() // tick * tick


def clock_info(real):
    """Return time.get_clock_info for clocks that tick."""

    def get_clock_info(name: str):
        found = real(name)
        found.resolution = max(found.resolution, TICKS.get(name, 0))
        return found

    return get_clock_info


# ── integers of 32 bits ──────────────────────────────────────────────────────────────────────

MADE = (
    "array", "asarray", "arange", "full", "zeros", "ones", "empty", "argmax", "argmin", "argsort",
    "bincount", "searchsorted", "digitize", "nonzero", "flatnonzero", "argwhere", "indices",
    "unravel_index", "ravel_multi_index", "where", "tril_indices", "triu_indices", "unique",
)  # fmt: skip
REDUCED = ("sum", "prod", "cumsum", "cumprod", "dot", "diff")
INDICES = {"bincount": 0, "choose": 0, "put": 1, "repeat": 1, "take": 1}  # refused, if of 64 bits


def as_made(function):
    """Return a function of numpy whose integers have 32 bits where no type is named."""
    import numpy as np

    @functools.wraps(function)
    def made(*arguments, **options):
        named, given = types_in(arguments, options)
        result = function(*arguments, **options)
        if named or np.dtype(np.int64) in given:
            return result
        return narrow(result)

    return made


def as_reduced(function):
    """Return a function that computes in 32 bits what is of Python's integers, and so overflows."""
    import numpy as np

    @functools.wraps(function)
    def reduced(*arguments, **options):
        named, given = types_in(arguments, options)
        result = function(*arguments, **options)
        scalar = isinstance(result, np.integer)
        if named or np.dtype(np.int64) in given or getattr(result, "dtype", None) != np.int64:
            return result
        return result.astype(np.int32) if scalar or isinstance(result, np.ndarray) else result

    return reduced


def as_indexed(function, place: int):
    """Return a function that refuses arrays of int64 as indices, as numpy does on 32 bits."""
    import numpy as np

    @functools.wraps(function)
    def indexed(*arguments, **options):
        given = arguments[place] if len(arguments) > place else None
        if getattr(given, "dtype", None) == np.int64 and np.ndim(given):
            kinds = "dtype('int64') to dtype('int32') according to the rule 'safe'"
            raise TypeError(f"Cannot cast array data from {kinds}")
        return function(*arguments, **options)

    return indexed


def types_in(arguments: tuple, options: dict):
    """Return if a dtype is named, and the types of all arrays given; `int` is not a name."""
    import numpy as np

    values = [*arguments, *options.values()]
    named = any(
        isinstance(value, (str, np.dtype)) or (isinstance(value, type) and value is not int)
        for value in values
    )
    flat = [v for value in values for v in (value if isinstance(value, (list, tuple)) else [value])]
    return named, {v.dtype for v in flat if isinstance(v, (np.ndarray, np.generic))}


def narrow(value):
    """Return arrays of integers with 32 bits where all of them fit."""
    import numpy as np

    if isinstance(value, tuple):
        return tuple(map(narrow, value))
    if getattr(value, "dtype", None) != np.int64:
        return value
    limits = np.iinfo(np.int32)
    fits = not np.size(value) or (value.min() >= limits.min and value.max() <= limits.max)
    return value.astype(np.int32) if fits else value


# ── cells ────────────────────────────────────────────────────────────────────────────────────


def run_cells(folder: Path) -> dict:
    """Run the code cells of folder/cells.json, one after the other, all the same if one raises."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.modules["__main__"] = ModuleType("__main__")  # where a notebook's names are
    names = vars(sys.modules["__main__"])
    found: dict = {"cells": 0, "cases": 0, "said": [], "failed": []}
    began = time.monotonic()
    for number, cell in enumerate(json.loads(Path("cells.json").read_text("utf-8"))):
        file = f"<cell {number} {cell['name']}>"
        code = cell["code"]
        linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
        out, trouble = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                run_cell(code, file, names)
            except BaseException as error:
                trouble = error
        found["cells"] += trouble is None
        found["cases"] += sum(line.startswith("✅") for line in out.getvalue().splitlines())
        if sentence := why_not(cell["name"], trouble):
            found["said"].append([cell["name"], sentence])
        elif trouble is not None:
            told = "".join(traceback.format_exception(trouble)[-4:])
            found["failed"].append([cell["name"], told])
    return found | {"lesson": folder.name, "seconds": round(time.monotonic() - began, 1)}


def why_not(name: str, trouble: BaseException | None) -> str:
    """Return what a notebook shows of a cell that cannot run here; empty for any other trouble."""
    from proflab.lesson import machine

    if isinstance(trouble, machine.NotHere):
        return str(trouble)
    of_clock = name.startswith("demo_") and isinstance(trouble, (ZeroDivisionError, ValueError))
    return machine.too_coarse() if of_clock else ""


def run_cell(code: str, file: str, names: dict) -> None:
    """Run a cell; what its last line gives is shown, as a notebook does."""
    import ast

    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), file, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), file, "eval"), names)
        for way in ("_repr_html_", "_repr_png_", "_repr_svg_", "__repr__"):
            if hasattr(value, way):
                getattr(value, way)()
                break


def main(arguments: list[str]) -> None:
    """Run each folder's cells in a process of its own, or the only one's in this process."""
    os.environ |= {"PROFLAB_DEMO": "small", "PROFLAB_MINE": "off", "MPLBACKEND": "Agg"}
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    folders = [Path(word).resolve() for word in arguments if word != "--bare"]
    if len(folders) == 1:
        if "--bare" in arguments:
            hide()
        print(json.dumps(run_cells(folders[0])), flush=True)
    else:
        for folder in folders:
            options = ["--bare"] * ("--bare" in arguments)
            subprocess.run([sys.executable, __file__, *options, str(folder)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
