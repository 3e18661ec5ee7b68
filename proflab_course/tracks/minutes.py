"""Work out how many minutes each section of a lesson takes, and write them into its heading.

A section takes the writing of its exercises and the essay, as modules/tracks.toml estimates them,
and the reading of its text. A lesson without a table there types its minutes itself.
"""

from __future__ import annotations

import re

from nbformat import NotebookNode

from proflab_course.course.notebook import Lesson
from proflab_course.course.sections import Section, prose_words, sections, split_at_headings
from proflab_course.tracks.read import Track, Tracks

WORDS_A_MINUTE = 50  # of a section's text, its guesses, pictures and running cells included
_UNTIMED = ("", "Summary")
_TYPED = re.compile(r" *· *\d+ min\b")  # what a heading says already


def write_minutes(lesson: Lesson, tracks: Tracks, track: Track) -> None:
    """Write into the heading of each section, but the Summary, the minutes that a track needs."""
    if not tracks.times[lesson.name].listed:
        return
    parts = {section.heading: section for section in sections(split_at_headings(lesson))}
    for section in sections(lesson):
        if (place := section.place) is None or section.name in _UNTIMED:
            continue
        minutes = section_minutes(lesson, parts[section.heading], tracks, track)
        lines = place.source.split("\n")
        lines[section.line] = _TYPED.sub("", lines[section.line]) + f" · {minutes} min"
        place.node.source = "\n".join(lines)


def section_minutes(lesson: Lesson, section: Section, tracks: Tracks, track: Track) -> int:
    """Return the minutes that a section takes in a track, to the next five: writing and reading."""
    times = tracks.times[lesson.name]
    written = {name: times.minutes[name] for name in track.exercises.get(lesson.name, ())}
    minutes: float = sum(written.get(cell.name, 0) for cell in section.cells)
    minutes += times.essay if any(cell.role == "manual" for cell in section.cells) else 0
    part = NotebookNode(cells=[cell.node for cell in section.cells])
    minutes += prose_words(Lesson(lesson.name, lesson.place, part)) / WORDS_A_MINUTE
    return max(5, 5 * round(minutes / 5))
