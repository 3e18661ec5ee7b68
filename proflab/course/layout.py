"""Where things lie in a course: the folders of the design, found from the course's root."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LESSON_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


class CourseError(Exception):
    """Bad input to a command: one sentence that names the file or argument, and what to do."""


@dataclass(frozen=True)
class Course:
    """A course's root folder and the paths in it."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course that `start` (the working directory) lies in; CourseError if there is none."""
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "jupyter_config.py").exists() and (
                (folder / "modules").is_dir() or (folder / "source").is_dir()
            ):
                return cls(folder)
        raise CourseError(
            f"{start} is not in a course: go to the folder that holds jupyter_config.py and source/"
        )

    def module(self, lesson: str) -> Path:
        """The lesson's text: modules/LESSON/LESSON.py."""
        return self.root / "modules" / lesson / f"{lesson}.py"

    def source(self, lesson: str) -> Path:
        """The instructor's notebook."""
        return self.root / "source" / lesson / f"{lesson}.ipynb"

    def release(self, lesson: str) -> Path:
        """The student's notebook."""
        return self.root / "release" / lesson / f"{lesson}.ipynb"

    @property
    def gradebook(self) -> Path:
        """nbgrader's database."""
        return self.root / "gradebook.db"

    def lessons(self, folder: str = "modules") -> list[str]:
        """The names of the lessons in `folder`, in course order."""
        place = self.root / folder
        found = place.iterdir() if place.is_dir() else ()
        return sorted(p.name for p in found if p.is_dir() and LESSON_NAME.fullmatch(p.name))
