"""Tell what minutes a lesson took students, and correct the estimates in tracks.toml by them.

Students write them into a cell at the lesson's end. Only a lesson's total is known, so that the
minutes of its exercises and of its essay are scaled by one factor.
"""

from __future__ import annotations

import difflib
import re
import statistics
from collections.abc import Iterable
from pathlib import Path

from proflab_course.course.features import counted
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.course.sections import sections
from proflab_course.grading.records.opened import graded_book
from proflab_course.grading.submissions.read_guesses import TOOK, Guess
from proflab_course.tracks.read import PUBLIC, Track, Tracks

_MAPPED = re.compile(r"\| (\d+) \| (?:[\d.]+|optional) \|$", re.MULTILINE)  # build/map_cell.py
LEAST = 5  # answers without which a lesson keeps its estimates


def minutes_taken(hand_ins: Iterable[Iterable[Guess]]) -> list[float]:
    """Return the minutes that students have written down, in rising order."""
    taken = (guess.answer for guesses in hand_ins for guess in guesses if guess.what == TOOK)
    return sorted(minutes for minutes in taken if isinstance(minutes, (int, float)))


def quartiles(minutes: list[float]) -> tuple[float, float, float]:
    """Return the first quartile, the median and the third one; of a single value, it three times.

    >>> quartiles([60, 80, 90, 100, 200])
    (80.0, 90.0, 100.0)
    """
    if len(minutes) < 2:
        return minutes[0], minutes[0], minutes[0]
    low, middle, high = statistics.quantiles(minutes, n=4, method="inclusive")
    return low, middle, high


def minutes_patch(course: Course) -> tuple[str, list[str]]:
    """Return a patch of modules/tracks.toml by the class's minutes, and a sentence a lesson.

    Raises CourseError where no lesson has enough answers.
    """
    tracks = Tracks.read(course.root)
    if tracks is None:
        raise CourseError(f"there are no minutes to correct: the course has no {PUBLIC}")
    track, lessons = tracks.track(), counted(course.lessons("source"))
    before = (course.root / PUBLIC).read_text(encoding="utf-8")
    after, told = before, []
    with graded_book(course) as book:
        for name in (each for each in lessons if tracks.has(track, each)):
            outcomes = book.outcomes(name).values()
            taken = minutes_taken(outcome.guesses for outcome in outcomes)
            estimate = estimated(tracks, track, name, course.source(name))
            if len(taken) < LEAST or not estimate:
                told.append(f"{name}: {len(taken)} of {len(outcomes)} students say their minutes")
                continue
            if name not in tracks.times:
                median = f"a median of {statistics.median(taken):.0f} minutes"
                told.append(f"{name}: {median}; its own text says {estimate}: correct it there")
                continue
            if tracks.times[name].measured == len(taken):
                told.append(f"{name}: corrected already by {len(taken)} students")
                continue
            if mapped_minutes(course, name) not in (None, tracks.writing(track, name)):
                # A factor of headings before a correction would correct once more.
                told.append(f"{name}: its headings are older than {PUBLIC}: run `proflab build`")
                continue
            factor = statistics.median(taken) / estimate
            after = scaled(after, track, name, factor, len(taken))
            what = f"a median of {statistics.median(taken):.0f} minutes, {estimate} estimated"
            told.append(f"{name}: {what}, from {len(taken)} students")
    if after == before:
        told.append(f"no lesson has minutes of {LEAST} students and more: nothing to correct")
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, f"a/{PUBLIC}", f"b/{PUBLIC}")), told


def estimated(tracks: Tracks, track: Track, lesson: str, source: Path) -> int:
    """Return the minutes that a lesson's headings say; where they say none, those of writing."""
    found = sections(read_notebook(source, lesson))
    return sum(section.minutes or 0 for section in found) or tracks.minutes(track, lesson)


def mapped_minutes(course: Course, lesson: str) -> int | None:
    """Return the minutes of writing in the map that the build has made; None without such a map."""
    cells = read_notebook(course.source(lesson), lesson).cells
    found = [m for cell in cells if "map" in cell.tags for m in _MAPPED.findall(cell.source)]
    return sum(map(int, found)) if found else None


def scaled(text: str, track: Track, lesson: str, factor: float, students: int) -> str:
    """Return tracks.toml with the minutes of what a track has of a lesson times a factor."""
    written = {*track.exercises.get(lesson, ()), *(["essay"] if lesson in track.essays else [])}
    lines, here = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            here = line.strip() in (f"[lesson.{lesson}]", f"[lesson.{lesson}.minutes]")
        match = re.fullmatch(r"(\w+)( *= *)(\d+)(.*\n?)", line, re.DOTALL)
        if here and match and match[1] == "measured":
            continue
        if here and match and match[1] in written:
            minutes = max(1, round(int(match[3]) * factor))
            line = f"{match[1]}{match[2]}{minutes}{match[4]}"
        lines.append(line)
        if line.strip() == f"[lesson.{lesson}]":
            lines.append(f"measured = {students}\n")
    return "".join(lines)
