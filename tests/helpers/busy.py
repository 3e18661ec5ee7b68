"""Keeps all cores busy with other work while something is graded."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10**6))\n"


@contextlib.contextmanager
def busy_cores(each: int = 2) -> Iterator[None]:
    """So many processes a core that never wait; they end with the block, or with this process."""
    count = each * len(os.sched_getaffinity(0))
    spinners = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
        for spinner in spinners:
            spinner.wait()
