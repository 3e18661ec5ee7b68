"""The process in which entries are judged: it holds solved lessons, and forks for each request.

A test runner is large, and what a fork takes grows with the process: 50 ms of CPU for one of
700 MB, 7 ms for one of 90. So the runner starts a Python of its own for this, once, and asks.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import IO, Any

TESTS = Path(__file__).parents[1]
# As it is now: what a test may set meanwhile is not for this process. More threads only spin.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": str(TESTS)}


@cache
def _process() -> IO[str]:
    """Start the process; return the channel to it, at whose end it ends."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = [sys.executable, "-m", "cohort.judging", str(theirs.fileno())]
        process = subprocess.Popen(
            words, cwd=TESTS, env=ENVIRONMENT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        channel = ours.makefile("rw", encoding="utf-8")
    atexit.register(process.wait)
    atexit.register(channel.close)  # first
    return channel


def judged(what: str, lesson: str, *arguments: Any) -> list:
    """Return what run.py's `what`, or `MODULE.NAME`, finds in a fork of the solved `lesson_NN`.

    Raises RuntimeError if it raises: then the entry's own code is at fault.
    """
    channel = _process()
    print(json.dumps([what, lesson, *arguments]), file=channel, flush=True)
    answer = json.loads(channel.readline())
    if "found" not in answer:
        raise RuntimeError(f"the entry's own code is at fault:\n{answer['raised']}")
    return answer["found"]


class _Notebook:
    """Stands for `__main__`, as the notebook does where it is graded: its names are the scope."""

    def __init__(self, scope: dict[str, Any]) -> None:
        self.__dict__ = scope


def _serve(channel: IO[str]) -> None:
    from cohort import replaced, run, variants

    modules = {"replaced": replaced, "run": run, "variants": variants}
    for line in channel:
        what, lesson, *arguments = json.loads(line)
        module, _, name = what.rpartition(".")
        solved = run.solved(lesson)
        find = getattr(modules[module or "run"], name)
        print(_in_fork(find, solved, *arguments), file=channel, flush=True)


def _in_fork(find: Callable[..., list], lesson: Any, *arguments: Any) -> str:
    """Return as JSON what `find` finds in a forked child: nothing that it does is left here."""
    scope = lesson.scope

    def say() -> str:
        sys.modules["__main__"] = _Notebook(scope)  # frozen, so that clocks must find it by name
        gc.freeze()  # as the grader does: a scripted clock looks through what is made from here on
        try:
            # Some entries print, and some import what lies beside a hand-in.
            with redirect_stdout(io.StringIO()), lesson.beside():
                return json.dumps({"found": find(lesson, *arguments)})
        except BaseException:
            return json.dumps({"raised": traceback.format_exc()})

    return said_by_fork(say) or json.dumps({"raised": "its process ended"})


def said_by_fork(say: Callable[[], str]) -> str:
    """Return the text that `say` returns in a forked child; "" if the child ends before."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answer = say()
        with os.fdopen(writer, "w", encoding="utf-8") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as sock:
        _serve(sock.makefile("rw", encoding="utf-8"))
