"""Keep in essays/log.jsonl who marks which essay, and each mark that was read: none is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proflab_course.course.journal import Journal

FOLDER = "essays"
FILE = "log.jsonl"


@dataclass(frozen=True)
class Mark:
    """Hold the items that a marker gave an essay, and the comment."""

    items: frozenset[int]
    comment: str = ""


@dataclass
class Marking:
    """Hold what the log says of a lesson.

    dealt: the markers of each student, in order; marks: by student (or anchor) and marker, the
    last of each; written: the marks that the gradebook got, by student. shown: the digest of the
    essay that stands in the tables, by student; texts: of the one that was marked, as `marks`.
    """

    dealt: dict[str, list[str]] = field(default_factory=dict)
    marks: dict[str, dict[str, Mark]] = field(default_factory=dict)
    written: dict[str, list[float]] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    def outdated(self, student: str, digest: str) -> set[str]:
        """Return the markers whose mark is of another essay than the one with this digest.

        Without a digest, in logs and gradebooks of older releases, it is of the same.
        """
        texts = self.texts.get(student, {}).items()
        return {name for name, marked in texts if marked and digest and marked != digest}

    def is_another(self, student: str, digest: str) -> bool:
        """Return True if tables show another essay of a student than the one with this digest."""
        return bool(digest) and self.shown.get(student, digest) != digest

    @property
    def names(self) -> list[str]:
        """Return all markers, in the order in which they came."""
        return [*dict.fromkeys(name for names in self.dealt.values() for name in names)]


class EssayLog(Journal):
    """Read and extend the log of a course."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / FOLDER / FILE, "proflab essays")

    def marking(self, lesson: str) -> Marking:
        """Return what the log says of a lesson."""
        found = Marking()
        for event in self.events():
            if event.get("lesson") == lesson:
                _apply(event, found)
        return found


# In the words of deal.py, settle.py and essays_command.py, which stand in the logs of courses.
def _apply(event: dict[str, Any], found: Marking) -> None:
    student = str(event.get("student"))
    if event.get("event") == "dealt":
        found.dealt[student] = [str(name) for name in event.get("to", [])]
    elif event.get("event") == "marked":
        items = frozenset(int(item) for item in event.get("items", []))
        mark = Mark(items, str(event.get("comment", "")))
        found.marks.setdefault(student, {})[str(event.get("by"))] = mark
        found.texts.setdefault(student, {})[str(event.get("by"))] = str(event.get("essay", ""))
    elif event.get("event") == "shown":
        found.shown[student] = str(event.get("essay", ""))
    elif event.get("event") == "written":
        found.written.setdefault(student, []).append(float(event.get("mark", 0.0)))
