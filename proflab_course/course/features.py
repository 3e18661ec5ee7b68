"""Find the features of a course, and say what a feature may offer to the commands.

A feature is whole in a folder of its own: the viva, the marking of essays. The commands that build,
grade, report and export know none of them by name; they ask each for its part. A feature is a
subclass of `Feature` that an entry point of the group "proflab.features" names, and it may be of
another project. Nothing of it is imported before a command asks.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from proflab_course.course.layout import Course, CourseError

GROUP = "proflab.features"
_PROJECT = "proflab"
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Command:
    """Name the module of a command, which has add_arguments and run, and say what it does."""

    module: str
    summary: str


@dataclass(frozen=True)
class Column:
    """Describe what `proflab export LESSON --NAME` writes into a column of its own.

    called: what messages call it; word: what the column's name contains; summary: the option's
    help. points: course, lesson, and whether a percent is asked for, to points by student; it
    raises CourseError if there are none.
    """

    name: str
    called: str
    word: str
    summary: str
    points: Callable[[Course, str, bool], Mapping[str, float]]


@dataclass(frozen=True)
class Survey:
    """Describe what is asked beside the lessons; `build`, `report` and `export` take its name.

    lessons: those that are graded for it; they earn nothing, and no term counts them. build and
    export: are called with the course and the command's arguments, and say what they have written.
    page: returns the report as HTML.
    """

    name: str
    lessons: Sequence[str]
    build: Callable[[Course, argparse.Namespace], None]
    page: Callable[[Course], str]
    export: Callable[[Course, argparse.Namespace], None]


@dataclass(frozen=True)
class Results:
    """Say which page about a graded lesson is made; public: it names no student."""

    course: Course
    lesson: str
    public: bool = False


@dataclass(frozen=True)
class Panel:
    """Hold what a feature puts on the page about a lesson.

    section: HTML, and above: the heading over which it stands. beside: words for the lines of
    students. waits: what waits for a person, and command: what shows it.
    """

    section: str = ""
    # The two headings of report.html.j2 over which it leaves room.
    above: Literal["Misconceptions", "Predictions"] = "Predictions"
    beside: Mapping[str, str] = field(default_factory=dict)
    waits: str = ""
    command: str = ""


@dataclass(frozen=True)
class StudentPage:
    """Say whose page of feedback is made; lines: the names of what its table lists."""

    root: Path
    lesson: str
    student: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Said:
    """Hold what a feature puts on a student's page, as HTML.

    above and below: the graded notebook; beside: the head of each graded cell.
    """

    above: str = ""
    below: str = ""
    beside: str = ""


def _nothing(lesson: Any, facts: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Building:
    """Hold what a feature adds to `proflab build`.

    All are called with a lesson and the build's facts (`build/facts.py`); `build/passes.py` says
    when. passes: return the lesson with what the feature adds. written and released: audits, of
    each lesson as it is written and of what students get of it. outline: fields of its lesson.json;
    metadata: of its notebook in source/.
    """

    passes: Sequence[Callable[[Any, Any], Any]] = ()
    written: Sequence[Callable[[Any, Any], Iterable[str]]] = ()
    released: Sequence[Callable[[Any, Any], Iterable[str]]] = ()
    outline: Callable[[Any, Any], Mapping[str, Any]] = _nothing
    metadata: Callable[[Any, Any], Mapping[str, Any]] = _nothing


class Feature:
    """Offer nothing; a feature overrides what it has."""

    commands: Mapping[str, Command] = {}

    def building(self) -> Building | None:
        """Return what is added to each lesson that is built."""
        return None

    def columns(self) -> Sequence[Column]:
        """Return what can be exported of a lesson beside its grades."""
        return ()

    def surveys(self) -> Sequence[Survey]:
        """Return what is asked beside the lessons."""
        return ()

    def panel(self, results: Results) -> Panel | None:
        """Return what stands on the page about a lesson."""
        return None

    def add_pages(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options by which `proflab report` makes a page of this feature instead."""

    def page(
        self, course: Course, lesson: str | None, arguments: argparse.Namespace
    ) -> tuple[str, str] | None:
        """Return the name and the text of the page that the options ask for.

        lesson: None where the command names none, for the whole term.
        """
        return None

    def feedback(self, page: StudentPage) -> Said | None:
        """Return what stands on a student's page of feedback."""
        return None

    def scheme(self, root: Path, lesson: str, cell: Any) -> str | None:
        """Return what formgrader shows above an answer that a person marks, as HTML.

        cell: the answer's cell of the graded notebook.
        """
        return None


@cache
def features() -> tuple[Feature, ...]:
    """Return all features, in the order of their names.

    Raises CourseError for one that cannot be loaded; one whose package is not there is none.
    """
    found = (_load(name, place) for name, place in sorted(_places().items()))
    return tuple(feature for feature in found if feature is not None)


def commands() -> dict[str, Command]:
    """Return the commands of all features by name."""
    return {name: each for feature in features() for name, each in feature.commands.items()}


def buildings() -> list[Building]:
    """Return what features add to the build."""
    found = (feature.building() for feature in features())
    return [each for each in found if each is not None]


def surveys() -> list[Survey]:
    """Return what features ask beside the lessons."""
    return [each for feature in features() for each in feature.surveys()]


def survey_named(name: str | None) -> Survey | None:
    """Return the survey of this name; None if there is none."""
    return next((each for each in surveys() if each.name == name), None)


def survey_of(lesson: str) -> Survey | None:
    """Return the survey that a lesson is graded for; None for others."""
    return next((each for each in surveys() if lesson in each.lessons), None)


def counted(lessons: Iterable[str]) -> list[str]:
    """Return the lessons that count in a term: all but those of surveys."""
    return [lesson for lesson in lessons if survey_of(lesson) is None]


def panels(results: Results) -> list[Panel]:
    """Return what features put on the page about a lesson."""
    found = (feature.panel(results) for feature in features())
    return [each for each in found if each is not None]


def said(page: StudentPage) -> list[Said]:
    """Return what features put on a student's page of feedback."""
    found = (feature.feedback(page) for feature in features())
    return [each for each in found if each is not None]


def _places() -> dict[str, str]:
    """Return "module:class" of each feature by name.

    A checkout says in its pyproject.toml which are its own, so that what a `git pull` has brought
    is there before anybody installs again.
    """
    from importlib.metadata import entry_points

    own = _places_in_checkout()
    points = [
        point
        for point in entry_points(group=GROUP)
        if not (own and point.dist is not None and point.dist.name == _PROJECT)
    ]
    return {point.name: point.value for point in points} | own


def _places_in_checkout() -> dict[str, str]:
    import tomllib

    try:
        project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        if project["name"] != _PROJECT:
            return {}
    except (OSError, ValueError, KeyError):
        return {}  # installed: there is no pyproject.toml beside the package
    if str(_ROOT) not in sys.path:
        sys.path.append(str(_ROOT))  # an environment may know the packages of an older checkout
    return project.get("entry-points", {}).get(GROUP, {})


def _load(name: str, place: str) -> Feature | None:
    module, _, attribute = place.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError) as error:
        # Its whole package was taken away, which is allowed; what is wrong inside of one is told.
        if isinstance(error, ImportError) and error.name == module.partition(".")[0]:
            return None
        problem = f"the feature {name} ({place}) cannot be loaded: {error}"
        raise CourseError(f"{problem}: install its package again, or remove it") from None
