"""The page for lecture and lab: what to ask, to show and to let students do in each lesson."""

from __future__ import annotations

import re
from collections.abc import Iterator

from taken import read_lessons

from proflab_classroom.questions.concepts_file import Concept, read_concepts
from proflab_course.build.map_cell import purpose_of
from proflab_course.build.stamp import LAST_CELL
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_notebook
from proflab_course.course.prose import paragraphs
from proflab_course.course.sections import Section, sections, split_at_headings
from proflab_course.tracks.read import Tracks
from proflab_course.tracks.times import LessonTimes

_PREDICT = re.compile(r"^\*\*(?:Predict|Guess)[^*]*\*\*,?\s*")
_PAGE = """\
# Lecture and lab

What to do with each lesson in a lecture and in a lab, section by section. The build makes this page
of the lessons as the track *{track}* has them.

- **Predict**: put the question, let everybody write a number down, and only then show the answer.
  `proflab questions 02 --guesses` makes a page for phones that collects the numbers.
- **Show** is what the section's demo cells draw or print; the [slides](slides.md) have pictures.
- **Ask** names the concept questions that belong here. `proflab questions 02` makes pages for two
  rounds of votes, with the keys on a page of its own.
- **Lab** lists what students write, and how many minutes that takes.

{lessons}
"""


def lectures_page(course: Course) -> str:
    """Return the page's Markdown."""
    read = read_lessons(course.root)
    track = read.tracks.track()
    parts = [
        "\n".join(_lesson(course, read.of(track, name), read.tracks)) for name in track.lessons
    ]
    return _PAGE.format(track=track.title, lessons="\n\n".join(parts))


def _lesson(course: Course, lesson: Lesson, tracks: Tracks) -> Iterator[str]:
    """Yield the lines of a lesson: its time, and a table of its sections."""
    title = lesson.cells[0].source.splitlines()[0].removeprefix("# ")
    times, concepts = tracks.times[lesson.name], read_concepts(course, lesson.name)
    found = [section for section in sections(split_at_headings(lesson)) if section.heading]
    # As students see them: with the minutes of what features add, such as concept questions.
    built = sections(read_notebook(course.release(lesson.name), lesson.name))
    minutes = sum(section.minutes or 0 for section in built)
    yield from (f"## {title}", "", f"{minutes // 60} h {minutes % 60:02} in all.", "")
    # site.css: on a phone its columns stand one below another.
    yield from ("```{container} lecture", "")
    yield "| section | predict | show | ask | lab |"
    yield "|---|---|---|---|---|"
    for section in found:
        cells = (
            _name(section),
            "<br>".join(_predictions(section)),
            ";<br>".join(_demos(section)),
            ", ".join(_questions(section, concepts)),
            ";<br>".join(_exercises(section, times)),
        )
        if any(cells[1:]):
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') or '–' for cell in cells)} |"
    yield from ("", "```")


def _name(section: Section) -> str:
    parts = [part.strip() for part in section.heading.split("·")]
    kept = [part for part in parts if not re.fullmatch(r"\d+ min", part)]
    return " · ".join(kept)


def _predictions(section: Section) -> Iterator[str]:
    """Yield what a section asks its readers to predict."""
    for cell in section.cells:
        if cell.role == "text":
            for part in paragraphs(cell.source):
                if _PREDICT.match(part):
                    yield " ".join(_PREDICT.sub("", part).split())


def _demos(section: Section) -> Iterator[str]:
    """Yield what the demo cells of a section say that they show."""
    for cell in section.cells:
        first = cell.source.split("\n", 1)[0]
        if cell.role == "demo" and cell.name != LAST_CELL and first.startswith("# "):
            yield first.removeprefix("# ").rstrip(".")


def _questions(section: Section, concepts: list[Concept]) -> Iterator[str]:
    names = {cell.name for cell in section.cells}
    for concept in concepts:
        if concept.after in names:
            yield concept.number


def _exercises(section: Section, times: LessonTimes) -> Iterator[str]:
    for cell in section.cells:
        if cell.role == "exercise":
            purpose = times.purposes.get(cell.name) or purpose_of(cell)
            yield f"`{cell.name}`, {times.minutes[cell.name]} min: {purpose}"
