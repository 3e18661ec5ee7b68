"""The threads of the library that multiplies numpy's matrices: how many, and how to set them.

threadpoolctl finds the library and speaks to it. Where it is not installed (a profiler in one file
needs numpy alone) or does not know numpy's library (Apple's Accelerate), the threads are said to be
unknown. What may not enter: anything that multiplies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proflab.lesson.words import many

if TYPE_CHECKING:
    from threadpoolctl import LibController

# What libraries are called by those who make them, by threadpoolctl's names for them.
_NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def blas_threads() -> int | None:
    """Return on how many threads numpy multiplies matrices, or None where that is not known."""
    library = _library()
    return None if library is None else library.num_threads


def threads_in_words(threads: int | None) -> str:
    """Return "1 thread", "2 threads", or, for None, that their number is not known."""
    return many(threads, "thread") if threads else "threads unknown"


def blas_name() -> str | None:
    """Return the library's name, version and the processor that it was tuned for, if it says so.

    As in "OpenBLAS 0.3.31 (Haswell)"; None where the library is not known.
    """
    library = _library()
    if library is None:
        return None
    version = re.search(r"\d+(\.\d+){1,2}", library.version or "")
    tuned_for = getattr(library, "architecture", None)
    name = _NAMES.get(library.internal_api, library.internal_api)
    return name + (f" {version[0]}" if version else "") + (f" ({tuned_for})" if tuned_for else "")


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Have numpy multiply matrices on `count` threads under `with`, where that can be set.

    Raises ValueError for a count below 1.

    >>> with on_threads(1):
    ...     product = np.ones((2, 3)) @ np.ones((3, 2))
    >>> product.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    if count < 1:
        raise ValueError(f"threads must be at least 1, not {count}")
    library = _library()
    if library is None:
        yield
        return
    before = library.num_threads
    library.set_num_threads(count)
    try:
        yield
    finally:
        library.set_num_threads(before)


@cache
def _library() -> LibController | None:
    """Return numpy's BLAS among the libraries that this process has loaded, or None.

    Wheels of numpy bring their own, beside numpy; scipy's may be loaded as well.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    package = Path(np.__file__).parent
    beside = (package.parent / "numpy.libs", package / ".dylibs")
    own = [library for library in found if Path(library.filepath).parent in beside]
    return next(iter(own + found), None)
