"""The threads of the library that multiplies numpy's matrices: how many, and how to set them.

What may not enter: anything that multiplies. Libraries other than OpenBLAS and MKL are not known
here, and are said to be so.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

# What the function is called that says the number of threads, in builds that are about.
_GETTERS = (
    "scipy_openblas_get_num_threads64_",
    "scipy_openblas_get_num_threads",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
    "MKL_Get_Max_Threads",
)
_SETTERS = {"MKL_Get_Max_Threads": "MKL_Set_Num_Threads"}
_NAMES = re.compile(r"openblas|mkl_rt", re.IGNORECASE)


def blas_threads() -> int | None:
    """How many threads a matrix product of numpy's takes, or None where that is not known."""
    found = _library()
    return None if found is None else int(getattr(*found)())


def blas_name() -> str | None:
    """The library's name, its version and the processor that it was tuned for, if it says so."""
    found = _library()
    if found is None:
        return None
    library, getter = found
    if getter not in _SETTERS:
        config = getattr(library, getter.replace("num_threads", "config"), None)
        core = getattr(library, getter.replace("num_threads", "corename"), None)
        if config and core:
            config.restype = core.restype = ctypes.c_char_p
            version = re.search(r"\d+\.\d+\.\d+", config().decode())
            return f"OpenBLAS {version[0] if version else ''} ({core().decode()})"
        return "OpenBLAS"
    return "MKL"


@contextmanager
def with_blas_threads(count: int) -> Iterator[None]:
    """Within, numpy multiplies matrices on `count` threads.

    Raises ValueError for a count below 1, and RuntimeError where the number cannot be set.
    """
    if count < 1:
        raise ValueError(f"threads must be at least 1, not {count}")
    found = _library()
    if found is None:
        raise RuntimeError("numpy multiplies here with a library whose threads cannot be set")
    library, getter = found
    before = int(getattr(library, getter)())
    setter = getattr(library, _SETTERS.get(getter, getter.replace("get_num", "set_num")))
    setter(count)
    try:
        yield
    finally:
        setter(before)


@cache
def _library() -> tuple[ctypes.CDLL, str] | None:
    """numpy's BLAS as it is loaded already, and the name of its getter."""
    for path in _loaded():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for getter in _GETTERS:
            if hasattr(library, getter):
                return library, getter
    return None


def _loaded(maps: Path = Path("/proc/self/maps")) -> Iterator[Path]:
    """Files that may be numpy's BLAS: beside numpy, as its wheels have it, and loaded ones."""
    package = Path(np.__file__).parent
    for folder in (package.parent / "numpy.libs", package / ".dylibs"):
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if _NAMES.search(path.name))
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return
    files = {line.split(maxsplit=5)[5] for line in lines if line.count(" ") >= 5 and "/" in line}
    yield from sorted(Path(name) for name in files if _NAMES.search(Path(name).name))
