"""Hold what a class takes of a course: each lesson as its track has it, beside the whole course.

The passes and audits of this folder are called with it, as a part of what the build knows
(`build/facts.py`). Here nothing is taken: `apply.py` does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from proflab.lesson.names import bound_names
from proflab_course.course.address import Address
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson
from proflab_course.tracks.read import Track, Tracks


@dataclass(frozen=True)
class Taken:
    """A lesson as a track has it: its cells, and where it is less than the whole lesson.

    given: the exercises that are not written and whose code is there; more: those that the
    published lesson has students write and this one has not.
    gone: the names of the sections that are not there; partial: it is not the whole lesson.
    title: of a track that is not the published one; empty for that one and for a whole lesson.
    """

    lesson: Lesson
    given: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    partial: bool = False
    title: str = ""


@dataclass(frozen=True)
class Tree:
    """Hold what a class sees: each lesson of its track, and all of the course as written."""

    taken: Mapping[str, Taken]
    whole: Mapping[str, Lesson]
    address: Address

    @classmethod
    def of(cls, taken: Iterable[Taken], whole: Iterable[Lesson], address: Address) -> Tree:
        """Return the tree of these lessons."""
        by_name = {each.lesson.name: each for each in taken}
        return cls(by_name, {lesson.name: lesson for lesson in whole}, address)

    @cached_property
    def defined(self) -> Mapping[str, set[str]]:
        """Return the names that each whole lesson's exercises and given cells define."""
        return {name: _defined(lesson) for name, lesson in self.whole.items()}

    @cached_property
    def exercises(self) -> Mapping[str, str]:
        """Return each exercise of the whole lessons with its lesson."""
        return {
            cell.name: name
            for name, lesson in self.whole.items()
            for cell in lesson.named("exercise")
        }

    @cached_property
    def taken_defines(self) -> set[str]:
        """Return the names that the track's own lessons define."""
        return set().union(*(_defined(taken.lesson) for taken in self.taken.values()))

    @cached_property
    def is_whole(self) -> bool:
        """True if the tree holds all of the course, so that no mention leads out of it."""
        partial = any(taken.partial for taken in self.taken.values())
        return not partial and len(self.taken) == len(self.whole)


@dataclass
class TrackFacts:
    """Hold a course and the track of its class.

    taken: the track's lessons; whole: all of the course, as they are written. track: None, as are
    tracks, where the course declares none.
    """

    course: Course
    whole: list[Lesson]
    taken: dict[str, Taken] = field(default_factory=dict)
    track: Track | None = None
    tracks: Tracks | None = None

    @cached_property
    def tree(self) -> Tree:
        """Return what the class sees of the course, once all its lessons are taken."""
        return Tree.of(self.taken.values(), self.whole, self.address)

    @cached_property
    def address(self) -> Address:
        """Return where the course is published."""
        return Address.read(self.course.root)

    def as_written(self, name: str) -> Lesson:
        """Return a lesson with all that its track leaves out."""
        return next(lesson for lesson in self.whole if lesson.name == name)


def _defined(lesson: Lesson) -> set[str]:
    cells = lesson.named("exercise", "given")
    return {name for cell in cells for name in bound_names(cell.statements())}
