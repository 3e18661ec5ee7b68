"""Hold what the build knows while it makes lessons: every pass and audit is called with it.

Here nothing is made. `prepare.py` fills it in, `passes.py` lists what uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from proflab.lesson.names import bound_names
from proflab_course.assemble.gather import Collection, gather
from proflab_course.build import draw
from proflab_course.build.claims import Milestone
from proflab_course.build.durations import Durations, read_durations
from proflab_course.build.measures import Measured
from proflab_course.build.policy import Policy
from proflab_course.course.notebook import Lesson
from proflab_course.tracks.taken import TrackFacts


@dataclass
class Facts(TrackFacts):
    """All lessons of a track, the names of those to be made, and what their course has decided.

    published: whether the track is the one whose lessons the public address has.
    figures: what the lessons to be made ask of their readers, before the build adds to them, and
    too_much: sentences on what is above the limits.
    public: whether this is the course's own release/, where no class's settings are.
    lock: whether a demo cell waits for its reader's guess. own_numbers: whether hidden cases have
    other numbers for each student, which grading draws. key: what hidden cases of a class and the
    order of options are drawn from, None if they are as written; secret: what a lesson's draw.py
    draws from.
    work: the folder in which source/ and release/ are made; released: students' notebooks in it.
    kept: what a feature has read, by a name of its own. notes: sentences for the instructor, which
    stop nothing.
    """

    wanted: list[str] = field(default_factory=list)
    published: bool = True
    milestones: dict[str, Milestone] = field(default_factory=dict)
    figures: dict[str, list[Measured]] = field(default_factory=dict)
    too_much: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    policy: Policy | None = None
    public: bool = False
    lock: bool = False
    own_numbers: bool = False
    key: bytes | None = None
    secret: bytes | None = None
    work: Path = Path()
    released: dict[str, Lesson] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def is_published(self, name: str) -> bool:
        """Say whether the public address has this lesson: nothing of it is drawn for this class."""
        return self.published and not (self.place(name) / draw.FILE).exists()

    @property
    def lessons(self) -> list[Lesson]:
        """Return the track's lessons."""
        return [taken.lesson for taken in self.taken.values()]

    @property
    def chosen(self) -> list[Lesson]:
        """Return the lessons that are to be made."""
        return [lesson for lesson in self.lessons if lesson.name in self.wanted]

    @cached_property
    def durations(self) -> Durations:
        """Return how long demo cells take."""
        return read_durations(self.course.root)

    @cached_property
    def builders(self) -> dict[str, str]:
        """Return what lessons build, each name with its lesson."""
        found: dict[str, str] = {}
        for lesson in self.whole:
            for cell in lesson.named("exercise", "given"):
                for name in bound_names(cell.statements()):
                    found.setdefault(name, lesson.name)  # a later lesson only imports it
        return found

    def lesson(self, name: str) -> Lesson:
        """Return a lesson as its track has it, and as it is written before one is taken."""
        return self.taken[name].lesson if name in self.taken else self.as_written(name)

    def put(self, lesson: Lesson) -> None:
        """Have a lesson stand in the place of what `lesson` returned."""
        if lesson.name in self.taken:
            taken = self.taken[lesson.name]
            self.taken[lesson.name] = replace(taken, lesson=lesson)
        else:
            self.whole = [lesson if each.name == lesson.name else each for each in self.whole]

    def place(self, name: str) -> Path:
        """Return the folder in modules/ of a lesson."""
        return self.course.module(name).parent

    def source(self, name: str) -> Path:
        """Return the folder in which a lesson's source is made."""
        return self.work / "source" / name

    def release(self, name: str) -> Path:
        """Return the folder in which a lesson's release is made."""
        return self.work / "release" / name

    def before(self, name: str) -> list[Lesson]:
        """Return the lessons before this one, whole: built.py has the same code in every track."""
        return [lesson for lesson in self.whole if lesson.name < name]

    def built(self, name: str) -> Collection:
        """Return what the lessons before this one have built."""
        if name not in self._built:
            self._built[name] = gather(self.before(name))
        return self._built[name]

    @cached_property
    def _built(self) -> dict[str, Collection]:
        return {}


Pass = Callable[[Lesson, Facts], Lesson]
Audit = Callable[[Lesson, Facts], Iterable[str]]
