"""Starts a worker in an ordinary subprocess: `subprocess_worker.py FD [RESOURCE LIMIT …]`."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    """Serve on the socket whose descriptor is the first argument, in the working directory."""
    sys.path.insert(0, HERE)
    import worker
    from channel import Channel

    sys.path.remove(HERE)
    worker.hide_programs()
    _set_limits([*sys.argv[2:], str(resource.RLIMIT_CORE), "0"])
    from proflab.checks.values import (  # before the folder, whose proflab.py is not ours
        dumps,
        loads,
    )

    worker.prepare(os.getcwd())
    gc.freeze()  # a scripted clock looks only through what is made from here on
    worker.Worker(dumps, loads).serve(Channel(socket.socket(fileno=int(sys.argv[1]))))


def _set_limits(pairs: list[str]) -> None:
    """Set resource limits: a list of (resource, limit, resource, limit, …)."""
    for kind, most in zip(pairs[::2], pairs[1::2], strict=True):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(int(kind), (int(most), int(most)))


if __name__ == "__main__":
    main()
