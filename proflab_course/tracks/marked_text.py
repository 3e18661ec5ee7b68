"""Take a lesson's text with what its lines say they rest on (`course/passages.py`)."""

from __future__ import annotations

import copy

from proflab.lesson.outline import place_of
from proflab_course.course import passages
from proflab_course.course.notebook import Lesson
from proflab_course.course.prose import join_sentences
from proflab_course.course.words import listed
from proflab_course.tracks.read import Track, Tracks


def whole_text(lesson: Lesson, holds: passages.Holds = lambda name: True) -> Lesson:
    """Return the lesson with the lines that stay of its marked text; all other cells are its own.

    holds: as for `passages.resolve`.
    """
    made = with_marks(lesson)
    for cell, whole in zip(made.notebook.cells, lesson.notebook.cells, strict=True):
        if cell is not whole:
            cell.source = join_sentences(passages.resolve(cell.source, holds))
    return made


def with_marks(lesson: Lesson) -> Lesson:
    """Return the lesson with copies of its marked text cells that hold their text as written."""
    if not any(passages.KEY in cell.metadata for cell in lesson.notebook.cells):
        return lesson
    notebook = copy.copy(lesson.notebook)
    notebook.cells = list(lesson.notebook.cells)
    for number, cell in enumerate(notebook.cells):
        if passages.KEY in cell.metadata:
            notebook.cells[number] = marked = copy.deepcopy(cell)
            marked.source = marked.metadata.pop(passages.KEY)
    return Lesson(lesson.name, lesson.place, notebook)


def in_track(lesson: str, tracks: Tracks, track: Track, name: str) -> bool:
    """Return True if a track has what a line of the lesson names: all of it but other lessons."""
    kind, *named = name.split(" ")
    if kind == "lesson":
        number, *exercise = named
        there = [each for each in tracks.times if each[:2] == number and tracks.has(track, each)]
        return any(set(exercise) <= {*track.exercises.get(each, ())} for each in there)
    return kind != "essay" or lesson in track.essays


def places(names: list[str]) -> str:
    """Return sections as a sentence lists them.

    >>> places(["3", "4", "7"]), places(["Reflect"])
    ('sections 3, 4 and 7', 'Reflect')
    """
    numbered = [name for name in names if name[:1].isdigit()]
    others = [name for name in names if not name[:1].isdigit()]
    many = len(numbered) > 1
    there = f"sections {listed(numbered)}" if many else "".join(map(place_of, numbered))
    return " and ".join(filter(None, (there, *others)))
