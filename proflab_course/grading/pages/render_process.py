"""Render pieces of pages in a process with limited time and memory.

render.py starts it. Until its input ends, it answers each request, a line of JSON, with a line of
JSON. A piece that takes too long ends the process.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import sys
import time
from typing import Any

from proflab_course.grading.limits import RENDER_MEMORY, RENDER_WALL_FACTOR
from proflab_course.grading.pages.markup import Piece, to_html


def main() -> None:
    """Answer requests `{"piece": …, "seconds": …}` by `{"html": …, "seconds": …}`."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (RENDER_MEMORY, RENDER_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints would be taken for an answer.
    sys.stdout = sys.stderr
    answers.write(b"ready\n")
    answers.flush()
    for line in requests:
        request = json.loads(line)
        answers.write(json.dumps(_answer_request(request)).encode() + b"\n")
        answers.flush()


def _answer_request(request: dict) -> dict:
    """Lay out one piece within its limit; after an error "html" is null and "error" its name."""
    begun = time.process_time()
    _limit_seconds(request["seconds"])
    try:
        result: dict[str, Any] = {"html": to_html(Piece(**request["piece"])), "error": ""}
    except Exception as error:
        result = {"html": None, "error": type(error).__name__}
    finally:
        _limit_seconds(0)
    return result | {"seconds": time.process_time() - begun}


def _limit_seconds(seconds: float) -> None:
    """Have the kernel end this process after so much CPU time, or too much real time; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * RENDER_WALL_FACTOR)


if __name__ == "__main__":
    main()
