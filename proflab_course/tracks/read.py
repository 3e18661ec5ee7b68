"""Read a course's tracks: which exercises a class writes in the time that it has.

modules/tracks.toml declares them, with each lesson's needs and minutes of writing. An instructor's
private/tracks.toml adds tracks, replaces some by name, and says with `use` which one the course
takes. What is wrong within these files is found here; whether they fit the lessons is the audit's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from proflab_course.course.layout import LESSON_NAME, CourseError
from proflab_course.course.toml_table import (
    Amount,
    Must,
    Texts,
    read_table,
    read_toml,
    typed,
)
from proflab_course.tracks.times import LessonTimes, read_times

PUBLIC, PRIVATE = "modules/tracks.toml", "private/tracks.toml"
DEFAULT = "term"
Weight = Literal["points", "minutes"]
WEIGHTS = get_args(Weight)
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_Names = Annotated[list[str], Must("a list of names in quotes")]


@dataclass(frozen=True)
class Track:
    """Declare what a class writes and sees.

    exercises: those to write, by lesson; a lesson without any is not in the track.
    show: the sections that stay without an exercise to write, by lesson; essays: the lessons whose
    essay is written; summary: whether lessons keep their Summary.
    whole: declared by what it leaves out, so that every section and essay stays.
    weight: what a lesson counts by in a grade of all lessons, its points or its minutes.
    like: the track that this one has all of, but for lessons that it leaves out, and adds to.
    plan: which lessons are taken in each week or day, by its name; none where it is not planned.
    """

    name: str
    title: str
    text: str
    hours: float
    exercises: Mapping[str, tuple[str, ...]]
    show: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    essays: frozenset[str] = frozenset()
    summary: bool = True
    whole: bool = False
    file: str = PUBLIC
    weight: str = WEIGHTS[0]
    like: str = ""
    plan: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def lessons(self) -> list[str]:
        """The lessons in which something is to be written, in course order."""
        return sorted(name for name, wanted in self.exercises.items() if wanted)


@dataclass(frozen=True)
class _Entry:
    """Hold what a track's table may say besides exercises by lesson; see `Track`.

    except_: the exercises that it leaves out, by lesson.
    """

    title: str
    text: str
    hours: Amount
    summary: bool = True
    essays: _Names = field(default_factory=list)
    show: dict[str, _Names] = field(default_factory=dict)
    plan: dict[str, Texts] = field(default_factory=dict)
    except_: dict[str, _Names] | None = None
    like: str | None = None
    weight: Weight = "points"


@dataclass(frozen=True)
class _Public:
    """Hold what modules/tracks.toml may say; private/tracks.toml has `use` in place of `limits`."""

    lesson: dict[str, dict[str, Any]] = field(default_factory=dict)
    track: dict[str, dict[str, Any]] = field(default_factory=dict)
    limits: bool = False
    self_study: bool = False


@dataclass(frozen=True)
class _Private:
    lesson: dict[str, dict[str, Any]] = field(default_factory=dict)
    track: dict[str, dict[str, Any]] = field(default_factory=dict)
    use: str = DEFAULT


@dataclass(frozen=True)
class Tracks:
    """All tracks by name, the lessons' times, and the name of the track that the course takes.

    self_study: whether the course's public release tells the answers to concept questions.
    """

    tracks: Mapping[str, Track]
    times: Mapping[str, LessonTimes]
    use: str
    self_study: bool = False

    @classmethod
    def read(cls, root: Path) -> Tracks | None:
        """Return the tracks of the course at `root`; None where it declares none."""
        public, private = read_toml(root, PUBLIC), read_toml(root, PRIVATE)
        if public is None and private is None:
            return None
        if public is None:
            raise CourseError(f"{PRIVATE} needs {PUBLIC}, with the minutes of every exercise")
        own = read_table(_Private, private or {}, PRIVATE)
        files: dict[str, _Public | _Private] = {
            PUBLIC: read_table(_Public, public, PUBLIC),
            PRIVATE: own,
        }
        limited = {file: getattr(found, "limits", False) for file, found in files.items()}
        times = {
            name: read_times(name, entry, file, limited[file])
            for file, found in files.items()
            for name, entry in found.lesson.items()
        }
        times = dict(sorted(times.items()))
        tracks: dict[str, Track] = {}
        for file, found in files.items():
            for name, entry in found.track.items():
                tracks[name] = _track(name, entry, times, file, tracks)
        if own.use not in tracks:
            file = PRIVATE if "use" in (private or {}) else PUBLIC
            raise CourseError(f"{file} declares no track {own.use!r} ({_listed(tracks)})")
        _refuse(_not_nested(tracks))
        return cls(tracks, times, own.use, getattr(files[PUBLIC], "self_study", False))

    def track(self, name: str | None = None) -> Track:
        """Return a track by name, or the course's own; CourseError if there is no such track."""
        if name is None:
            return self.tracks[self.use]
        if name not in self.tracks:
            raise CourseError(f"there is no track {name!r} ({_listed(self.tracks)})")
        return self.tracks[name]

    def with_all(self, lessons: Iterable[str]) -> Track:
        """Return the course's own track or, where it lacks some of these lessons, one like it.

        A track that is made to be `like` the course's own and adds lessons to it is taken in its
        place when such a lesson is asked for by name.
        """
        own = self.track()
        missing = [name for name in lessons if not self.has(own, name)]
        more = [track for track in self.tracks.values() if missing and track.like == own.name]
        fitting = (track for track in more if all(self.has(track, name) for name in missing))
        return next(fitting, own)

    def with_lessons(self, exercises: Mapping[str, Iterable[str]]) -> Tracks:
        """Return the tracks with the lessons that no table lists, a course's own as a rule.

        exercises: those of every lesson of the course. A lesson without a table is whole in each
        track that is declared by what it leaves out, and its writing takes 0 minutes.
        """
        new = {name: tuple(each) for name, each in exercises.items() if name not in self.times}
        times = {
            name: LessonTimes(dict.fromkeys(each, 0), listed=False) for name, each in new.items()
        }
        tracks = {
            name: replace(
                track, exercises={**track.exercises, **new}, essays=track.essays | new.keys()
            )
            if track.whole
            else track
            for name, track in self.tracks.items()
        }
        return replace(self, tracks=tracks, times=dict(sorted({**self.times, **times}.items())))

    def left_out(self, track: Track, lesson: str) -> list[str]:
        """Return the exercises of a lesson that are not written in a track."""
        written = track.exercises.get(lesson, ())
        return [name for name in self.times[lesson].minutes if name not in written]

    def takes_all_of(self, track: Track, lesson: str) -> bool:
        """Return True if a track has the lesson as it is written, without anything left out."""
        return track.whole and not self.left_out(track, lesson)

    def has(self, track: Track, lesson: str) -> bool:
        """Return True if a track has a lesson; one without a table is in each that is whole."""
        return lesson in track.lessons or (track.whole and lesson not in self.times)

    def minutes(self, track: Track, lesson: str) -> int:
        """Return the minutes of writing in a lesson of a track, with those of its essay."""
        if lesson not in self.times:
            return 0
        essay = self.times[lesson].essay if lesson in track.essays else 0
        return self.writing(track, lesson) + essay

    def is_published(self, track: Track) -> bool:
        """Return True for the course's public default: the lessons that its address has."""
        return track.name == DEFAULT and track.file == PUBLIC

    def more(self, track: Track, lesson: str) -> list[str]:
        """Return the exercises that the published lesson has and a track has not."""
        full = self.tracks.get(DEFAULT)
        if full is None or not self.is_published(full):
            return self.left_out(track, lesson)
        written = track.exercises.get(lesson, ())
        return [name for name in full.exercises.get(lesson, ()) if name not in written]

    def writing(self, track: Track, lesson: str) -> int:
        """Return the minutes of writing in a lesson of a track, its essay apart."""
        return sum(self.times[lesson].minutes[name] for name in track.exercises.get(lesson, ()))


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _track(
    name: str,
    entry: dict[str, Any],
    times: Mapping[str, LessonTimes],
    file: str,
    above: Mapping[str, Track],
) -> Track:
    where = f"{file}, track {name}"
    if not _NAME.fullmatch(name):
        raise CourseError(f"{where}: its name may have small letters, digits, - and _ only")
    chosen = {key: value for key, value in entry.items() if LESSON_NAME.fullmatch(key)}
    settings = {key: value for key, value in entry.items() if key not in chosen}
    said = read_table(_Entry, settings, where)
    if (said.except_ is None) == (not chosen):
        what = "lists exercises by lesson or what it leaves out (`except = {}`)"
        raise CourseError(f"{where}: a track {what}, one of the two")
    if said.like is not None and (said.like not in above or said.except_ is not None):
        raise CourseError(f"{where}: `like` names a track above, and exercises are added to it")
    exercises = _exercises(where, chosen if said.except_ is None else said.except_, times)
    if said.except_ is not None:
        exercises = {
            lesson: tuple(e for e in each.minutes if e not in exercises.get(lesson, ()))
            for lesson, each in times.items()
        }
    essays = [_lesson(where, given, times) for given in said.essays]
    if said.like is not None:
        more = _more(above[said.like], said, exercises, essays, times, name, file)
        return replace(more, plan=_plan(where, said.plan, more.lessons))
    plan = _plan(where, said.plan, [name for name in times if exercises.get(name)])
    show = {_lesson(where, given, times): tuple(each) for given, each in said.show.items()}
    for lesson in (*show, *essays):
        if not exercises.get(lesson):
            raise CourseError(f"{where}: no exercise of {lesson} is in it, so it shows none of it")
    return Track(
        name,
        said.title,
        said.text,
        said.hours,
        exercises,
        show,
        frozenset(essays if said.except_ is None else times),
        said.summary,
        said.except_ is not None,
        file,
        said.weight,
        plan=plan,
    )


def _plan(
    where: str, plan: dict[str, list[str]], lessons: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return a plan with whole names; it has each lesson once, in the order of the course."""
    names = {name[:2]: name for name in lessons}
    listed = [each for part in plan.values() for each in part]
    if plan and listed != sorted(names):
        told = f"each of its lessons once, in order ({', '.join(sorted(names))})"
        raise CourseError(f'{where}: plan names {told}, as in plan = {{ "Week 1" = ["01", "02"] }}')
    return {when: tuple(names[number] for number in part) for when, part in plan.items()}


def _more(
    like: Track,
    said: _Entry,
    added: dict[str, tuple[str, ...]],
    essays: Iterable[str],
    times: Mapping[str, LessonTimes],
    name: str,
    file: str,
) -> Track:
    """Return a track that has all of another one, and these exercises and essays besides.

    A lesson without an exercise in `added` is left out.
    """
    exercises = dict(like.exercises)
    for lesson, names in added.items():
        both = {*names, *exercises.get(lesson, ())} if names else set()
        exercises[lesson] = tuple(each for each in times[lesson].minutes if each in both)
    gone = {lesson for lesson, names in added.items() if not names}
    return replace(
        like,
        name=name,
        title=said.title,
        text=said.text,
        hours=said.hours,
        exercises=exercises,
        show={lesson: names for lesson, names in like.show.items() if lesson not in gone},
        essays=(like.essays - gone) | frozenset(essays),
        file=file,
        like=like.name,
    )


def _exercises(
    where: str, chosen: dict[str, Any], times: Mapping[str, LessonTimes]
) -> dict[str, tuple[str, ...]]:
    """Return the exercises named by lesson, in the lesson's order."""
    found = {}
    for given, names in chosen.items():
        lesson = _lesson(where, given, times)
        known = times[lesson].minutes
        for name in typed(_Names, names, f"{where}: {given}"):
            if name not in known:
                raise CourseError(f"{where}: {lesson} has no exercise {name} ({_listed(known)})")
        found[lesson] = tuple(name for name in known if name in names)
    return found


def _lesson(where: str, given: str, times: Mapping[str, LessonTimes]) -> str:
    """Return the name of the lesson that is meant by 01_parameters or 01."""
    meant = [name for name in times if given in (name, name[:2])]
    if len(meant) != 1:
        raise CourseError(f"{where}: there is no lesson {given} ({_listed(times)})")
    return meant[0]


def _not_nested(tracks: Mapping[str, Track]) -> Iterator[str]:
    """Yield what a public track has and the next one has not; private ones need not nest.

    Tracks that are made to be like another one stand side by side: the next is the one below them.
    """
    public = [track for track in tracks.values() if track.file == PUBLIC]
    for place, less in enumerate(public):
        more = next((track for track in public[place + 1 :] if not track.like), less)
        for lesson, names in less.exercises.items():
            for name in (each for each in names if each not in more.exercises.get(lesson, ())):
                yield f"{PUBLIC}: track {less.name} has {name}, and {more.name} below it has not"


def _refuse(mistakes: Iterable[str]) -> None:
    if found := list(mistakes):
        raise CourseError("\n".join(found))


def _listed(names: Iterable[str]) -> str:
    return "there is " + (", ".join(names) or "none")
