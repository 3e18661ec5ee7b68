"""Pin the threads of matrix products: two that wait for each other can make 2 ms into 463.

threadpoolctl sets them while a program runs. Where it is not there, a library takes the number from
its environment as it is loaded, so the command is started anew. What may not enter: a measurement.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from proflab.lesson.blas import blas_threads

# How the libraries that multiply matrices are told their threads.
VARIABLES = [
    f"{library}_NUM_THREADS" for library in ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR")
] + ["VECLIB_MAXIMUM_THREADS"]


def with_threads(threads: int) -> dict[str, str]:
    """Return this process's environment, with the threads of a process that it starts."""
    return os.environ | dict.fromkeys(VARIABLES, str(threads))


def begin_anew(words: Sequence[str], threads: int) -> int | None:
    """Run this very command with so many threads and return its exit status; None if need not be.

    words: the command's. It need not where the number can be set in this process, where it was
    started with it, and where another program asks, which has numpy already.
    """
    if blas_threads() is not None or threads_here() == threads or list(words) != sys.argv[1:]:
        return None
    process = subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env=with_threads(threads))
    while True:
        with suppress(KeyboardInterrupt):  # Ctrl-C reaches it, too: it says what is to be said
            status = process.wait()
            return status if status >= 0 else 128 - status  # a signal's, as shells have it


def threads_here() -> int | None:
    """Return the threads of matrix products that this process has, None where nobody knows."""
    told = {os.environ.get(name) for name in VARIABLES}
    number = told.pop() if len(told) == 1 else None
    return blas_threads() or (int(number) if number and number.isdecimal() else None)
