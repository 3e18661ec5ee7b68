"""Start a worker in an ordinary process: `subprocess_worker.py FD OUTPUT MODE [RESOURCE LIMIT …]`.

FD: the descriptor of its socket; OUTPUT: the bytes that a cell may print; MODE: one of %xmode.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Serve requests in the working directory, by the program's arguments."""
    sys.path.insert(0, HERE)
    import worker
    from channel import Channel

    sys.path.remove(HERE)
    worker.hide_programs()
    descriptor, output, mode, *limits = sys.argv[1:]
    _set_limits([*limits, str(resource.RLIMIT_CORE), "0"])
    from proflab.checks.values import (  # before the student's folder: it may hold a proflab.py
        dumps,
        loads,
    )

    worker.prepare(os.getcwd())
    gc.freeze()  # a scripted clock searches only the objects that are made from here on
    channel = Channel(socket.socket(fileno=int(descriptor)))
    student_side = worker.Worker(dumps, loads, int(output))
    student_side.shell.InteractiveTB.set_mode(mode)
    student_side.serve(channel)


def _set_limits(pairs: list[str]) -> None:
    """Set resource limits: a list of (resource, limit, resource, limit, …)."""
    for kind, most in zip(pairs[::2], pairs[1::2], strict=True):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(int(kind), (int(most), int(most)))


if __name__ == "__main__":
    main()
