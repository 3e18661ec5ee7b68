"""Find the folders and lessons of a course from its root."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Sorted by name, lessons are in course order; `name[:2]` is a lesson's number everywhere.
LESSON_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


class CourseError(Exception):
    """Bad input to a command, as one sentence that names the file or argument and a remedy."""


@dataclass(frozen=True)
class Course:
    """A course's root folder and the paths in it."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """Return the course that contains `start` (the working directory); CourseError if none."""
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            # nbgrader and formgrader read the course's settings from this file.
            if (folder / "jupyter_config.py").exists() and (
                (folder / "modules").is_dir() or (folder / "source").is_dir()
            ):
                return cls(folder)
        raise CourseError(
            f"{start} is not in a course: go to the folder that holds jupyter_config.py and source/"
        )

    def module(self, lesson: str) -> Path:
        """Return the path of the lesson's text: modules/LESSON/LESSON.py."""
        return self.root / "modules" / lesson / f"{lesson}.py"

    def source(self, lesson: str) -> Path:
        """Return the path of the instructor's notebook."""
        return self.root / "source" / lesson / f"{lesson}.ipynb"

    def release(self, lesson: str) -> Path:
        """Return the path of the student's notebook."""
        return self.root / "release" / lesson / f"{lesson}.ipynb"

    def graded_folder(self, student: str, lesson: str) -> Path:
        """Return the folder of a graded hand-in: autograded/STUDENT/LESSON."""
        return self.root / "autograded" / student / lesson

    @property
    def gradebook(self) -> Path:
        """nbgrader's database; CourseError if the course's settings name another."""
        from proflab_course.course.database import other_database

        path = self.root / "gradebook.db"
        if refused := other_database(path):
            raise CourseError(refused)
        return path

    def lessons(self, folder: str = "modules") -> list[str]:
        """Return the names of the lessons in `folder`, in course order."""
        place = self.root / folder
        found = place.iterdir() if place.is_dir() else ()
        return sorted(p.name for p in found if p.is_dir() and LESSON_NAME.fullmatch(p.name))

    def lesson(self, given: str, *folders: str) -> str:
        """Return the name of the lesson meant by 01_parameters, 01, 1, or a path to it.

        Raises CourseError if it means no lesson in these folders (modules), or more than one.
        """
        folders = folders or ("modules",)
        names = sorted({name for folder in folders for name in self.lessons(folder)})
        text = Path(given).stem
        if text in names:
            return text
        meant = [name for name in names if text.isdecimal() and int(name[:2]) == int(text)]
        if len(meant) > 1:
            raise CourseError(f"lesson {given!r} may be {' or '.join(meant)}: give the name")
        if not meant:
            there = ", ".join(names) or "none yet: run `proflab build`"
            where = " or ".join(f"{folder}/" for folder in folders)
            raise CourseError(f"there is no lesson {given!r} in {where} (there is {there})")
        return meant[0]


# nbgrader tells its exporters the address of the database, and no folder of the course
# (grading/pages/feedback.py, grading/pages/overview.py).
def root_of(db_url: str) -> Path:
    """Return the folder of a course from the address of its gradebook.

    >>> root_of("sqlite:////home/ann/course/gradebook.db?timeout=60").as_posix()
    '/home/ann/course'
    """
    return Path(db_url.removeprefix("sqlite:///").partition("?")[0]).parent
