"""The page of the blueprint: each objective, and what tries whether it was reached.

It is a table of specifications, made of the lessons and tracks.toml: objectives by exercises,
cases, concept questions, items of the essay, and points, for each lesson and for each track.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from taken import Lessons, read_lessons

from proflab_course.build.concepts import for_track
from proflab_course.course.concepts import Concept, read_concepts
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson
from proflab_course.tracks.objectives import LEAST_CASES, Objective, essay_items, objectives
from proflab_course.tracks.read import Track

_PAGE = """\
# Blueprint

What a course promises and what its grade rests on should be the same. This page sets one beside
the other. Its rows are the objectives that each lesson states in its first cell, and its columns
are what tries whether a student has reached them. The build makes the page. It refuses a lesson
with an objective that has no exercise or fewer than {least} cases, and an exercise that serves no
objective.

- **Exercises** earn points by their **cases**: *visible* ones, which students run, + *hidden* ones.
- **Questions** are the lesson's concept questions. They earn nothing unless you
  [say so](instructors.md#concept-questions).
- **Essay** counts the items of the essay's mark scheme, one point each. Where a scheme has larger
  items, the essay stands in a line of its own.

An exercise, a question and an item each stand with the one objective that they serve most, so the
points of a lesson add up; they are those of the whole lesson. Below the exercises stands how many
of these points each track has. *Read* means that students read about the objective and are given
the code, and *none* that the track leaves it out.

## All tracks

{tracks}

{lessons}
"""


@dataclass(frozen=True)
class _Read:
    """A lesson as it is written, with its objectives in the whole lesson and in each track."""

    lesson: Lesson
    whole: list[Objective]
    tracks: dict[str, list[Objective]]

    @property
    def rest(self) -> float:
        """Return the points of an essay whose scheme has no items of one point."""
        by_hand = sum(cell.points for cell in self.lesson.named("manual"))
        return 0 if essay_items(self.lesson) else by_hand


def blueprint_page(course: Course) -> str:
    """Return the page's Markdown."""
    read = read_lessons(course.root)
    found = [_read(read, name, read_concepts(course, name)) for name in read.whole]
    return _PAGE.format(
        least={3: "three"}.get(LEAST_CASES, LEAST_CASES),
        tracks="\n".join(_overview(found, read.public)),
        lessons="\n\n".join("\n".join(_section(each, read.public)) for each in found if each.whole),
    )


def _read(read: Lessons, name: str, concepts: list[Concept]) -> _Read:
    lesson, times = read.whole[name], read.tracks.times[name]
    whole, found = objectives(lesson, times, concepts), {}
    for track in (each for each in read.public if name in each.lessons):
        taken = read.taken[track.name, name]
        asked = for_track(concepts, lesson, taken)
        found[track.name] = objectives(lesson, times, asked, taken)
    return _Read(lesson, whole, found)


def _overview(found: list[_Read], public: Iterable[Track]) -> Iterator[str]:
    """Yield the table of tracks: how much each has of everything."""
    yield "| track | objectives | exercises | cases | questions | essay | points |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for track in public:
        rows = [each for read in found for each in read.tracks.get(track.name, ())]
        essays = sum(read.rest for read in found if read.lesson.name in track.essays)
        by_hand = sum(len(each.items) for each in rows) + essays
        cells = (
            f"**{track.title}**",
            f"{sum(bool(each.exercises) for each in rows)}",
            f"{sum(len(each.exercises) for each in rows)}",
            f"{sum(each.cases for each in rows):,}",
            f"{sum(len(each.questions) for each in rows)}",
            f"{by_hand:g}",
            f"{sum(each.points for each in rows):,g}",
        )
        yield f"| {' | '.join(cells)} |"


def _section(read: _Read, public: Iterable[Track]) -> Iterator[str]:
    """Yield a lesson's heading and its table, which fits a phone."""
    title = read.lesson.cells[0].source.splitlines()[0].removeprefix("# ")
    yield from (f"## {title}", "", "```{container} blueprint", "")
    yield "| objective | cases | questions | essay | points |"
    yield "|---|--:|--:|--:|--:|"
    for number, each in enumerate(read.whole):
        names = ", ".join(f"`{name}`" for name in each.exercises)
        cells = (
            f"**{each.text}**<br>{names}<br>{_in_tracks(read, number, public)}",
            f"{each.visible} + {each.hidden}",
            f"{len(each.questions) or '–'}",
            f"{len(each.items) or '–'}",
            f"{each.points:g}",
        )
        yield f"| {' | '.join(cells)} |"
    if read.rest:
        yield f"| *the essay* | | | {read.rest:g} | |"
    yield from ("", "```")


def _in_tracks(read: _Read, number: int, public: Iterable[Track]) -> str:
    """Return the points that each track has for an objective; tracks with as many are together."""
    names: dict[str, list[str]] = {}
    for track in public:
        found = read.tracks.get(track.name)
        names.setdefault(_points(found[number]) if found else "none", []).append(track.name)
    return "; ".join(f"{', '.join(of)}: {points}" for points, of in names.items())


def _points(each: Objective) -> str:
    if each.exercises:
        return f"{each.points:g}"
    return "read" if each.is_taught else "none"
