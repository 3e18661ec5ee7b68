"""Render the pieces of a page in a separate process, with limits for each piece and each page.

A page takes a limited time, whatever a student wrote. If a piece cannot be rendered, the page shows
its text as written, with a note.
"""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Iterable

from proflab_course.grading.limits import PAGE_SECONDS, PIECE_SECONDS, RENDER_START_SECONDS
from proflab_course.grading.pages.inert import note
from proflab_course.grading.pages.markup import Piece, as_written

MOST_BYTES = 32 * 1024**2  # of a page's pieces together
_MOST_TAGS = 50_000  # of a page: more would keep a browser busy
_TOO_SLOW = "This took too long or too much memory to be laid out"
_PAGE_SLOW = "The page took too long: from here on it is not laid out"
_PAGE_FULL = "The page would be too large with this: it is not laid out"
_COMMAND = "from proflab_course.grading.pages.render_process import main; main()"


class CannotRender(RuntimeError):
    """The process that renders pages does not start."""


class Inert(str):
    """HTML that has passed the filter."""

    __slots__ = ()


class RenderProcess:
    """A process that renders pieces, started when first needed and after each death."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None
        self.lock = threading.Lock()

    def page(self, pieces: Iterable[Piece]) -> list[Inert]:
        """Return the pieces of one page as HTML; raise nothing for their contents."""
        with self.lock:
            budget = Budget()
            return [self.one(piece, budget) for piece in pieces]

    def one(self, piece: Piece, budget: Budget) -> Inert:
        """Return one piece as HTML within the page's budget, else its text or a note."""
        if budget.seconds > 0:
            shown = self.laid_out(piece, budget)
        else:
            shown = as_written(piece, _PAGE_SLOW)
        for instead in (as_written(piece, _PAGE_FULL), note(_PAGE_FULL)):
            if budget.holds(shown):
                break
            shown = instead
        budget.take(shown)
        return Inert(shown)

    def laid_out(self, piece: Piece, budget: Budget) -> str:
        """Return what the process answers, or the text as written where it fails."""
        seconds = min(PIECE_SECONDS, budget.seconds)
        try:
            answer = self.ask({"piece": piece.as_dict(), "seconds": seconds})
        except (OSError, ValueError):
            self.close()
            budget.seconds -= seconds + RENDER_START_SECONDS
            return as_written(piece, _TOO_SLOW)
        budget.seconds -= answer["seconds"]
        if answer["html"] is None:
            return as_written(piece, f"This could not be laid out ({answer['error']})")
        return answer["html"]

    def ask(self, request: dict) -> dict:
        """Return the answer to a request; raise ValueError if the process died."""
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self) -> None:
        """Start the process; raise OSError if it does not start."""
        self.process = subprocess.Popen(
            # -P: without the current folder, in which a module of a student's may lie.
            [sys.executable, "-P", "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if self.process.stdout.readline() != b"ready\n":
            self.close()
            raise CannotRender("the process that lays out pages does not start: `proflab doctor`")

    def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


class Budget:
    """The remaining budget of a page: CPU seconds, bytes, and tags."""

    def __init__(self) -> None:
        self.seconds, self.size, self.tags = PAGE_SECONDS, MOST_BYTES, _MOST_TAGS

    def take(self, shown: str) -> None:
        """Subtract a rendered piece."""
        self.size -= len(shown)
        self.tags -= shown.count("<")

    def holds(self, shown: str) -> bool:
        """Return True if the budget has room for this much."""
        return len(shown) <= self.size and shown.count("<") <= self.tags


@functools.cache
def shared_renderer() -> RenderProcess:
    """Return the renderer that all pages of this process share."""
    renderer = RenderProcess()
    atexit.register(renderer.close)
    return renderer
