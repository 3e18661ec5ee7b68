"""Render the pieces of a page in a limited process, with limits for each piece and each page.

A page takes a limited time, whatever a student wrote. If a piece cannot be rendered, the page shows
its text as written, with a note.
"""

from __future__ import annotations

import atexit
import functools
import time
from collections.abc import Iterable

from proflab_course.grading.limited_process import Answer, LimitedProcesses, TooMuchToRead
from proflab_course.grading.limits import PAGE_SECONDS, PIECE_SECONDS
from proflab_course.grading.pages.inert import note
from proflab_course.grading.pages.markup import Piece, as_written, to_html

MOST_BYTES = 32 * 1024**2  # of a page's pieces together
_MOST_TAGS = 50_000  # of a page: more would keep a browser busy
_TOO_SLOW = "This took too long or too much memory to be laid out"
_PAGE_SLOW = "The page took too long: from here on it is not laid out"
_PAGE_FULL = "The page would be too large with this: it is not laid out"


class Inert(str):
    """HTML that has passed the filter."""

    __slots__ = ()


class Renderer:
    """Renders the pieces of pages, one page after the other."""

    def __init__(self) -> None:
        self._processes = LimitedProcesses({"html": _answer_html})

    def page(self, pieces: Iterable[Piece]) -> list[Inert]:
        """Return the pieces of one page as HTML; raise nothing for their contents."""
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
            answer, _ = self._processes.call("html", piece.as_dict(), seconds=seconds)
        except TooMuchToRead:
            budget.seconds -= seconds
            return as_written(piece, _TOO_SLOW)
        budget.seconds -= answer["seconds"]
        if answer["error"]:
            return as_written(piece, f"This could not be laid out ({answer['error']})")
        return answer["html"]

    def close(self) -> None:
        """End the process."""
        self._processes.close()


def _answer_html(piece: dict) -> Answer:
    """Return a piece as HTML, or the name of the error; in the process."""
    begun = time.process_time()
    html, error = "", ""
    try:
        html = to_html(Piece(**piece))
    except MemoryError:
        raise  # the process may not be able to free its memory
    except Exception as raised:
        error = type(raised).__name__
    return {"html": html, "error": error, "seconds": time.process_time() - begun}, []


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
def shared_renderer() -> Renderer:
    """Return the renderer that all pages of this process share."""
    renderer = Renderer()
    atexit.register(renderer.close)
    return renderer
