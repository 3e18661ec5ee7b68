"""Make a lesson as a track has it: what is not written there becomes given code, or goes.

It works on the cells as read, before minutes and points are stamped. Sections keep their numbers,
exercises their names and points, so that a track's notebook is a part of the whole lesson's.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.outline import Outline, place_of
from proflab.lesson.statements import KNOWN
from proflab_course.course import passages
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import (
    GIVEN_TAG,
    GUESS_TAG,
    SOLUTION,
    Cell,
    Lesson,
    demos_imports,
    nbgrader_marks,
    set_cell_ids,
)
from proflab_course.course.prose import join_sentences, paragraphs
from proflab_course.course.sections import (
    BREAK,
    Section,
    heading_lines,
    sections,
    split_at_headings,
)
from proflab_course.tracks.marked_text import in_track, places, whole_text, with_marks
from proflab_course.tracks.minutes import write_minutes
from proflab_course.tracks.read import PUBLIC, Track, Tracks
from proflab_course.tracks.taken import Taken, TrackFacts

SUMMARY = "Summary"
GIVEN_HERE = "Given here, from "  # build/edition.py knows the sentence by it
GIVEN_FROM = "# Given: lesson "
# How paragraphs in modules/ begin that ask for a guess, or offer what need not be done.
_QUESTIONS = ("**Predict.**", "**Guess.**")
_OPTIONAL = ("**Optional.**", "**Optional: ")
_HINT = re.compile(r"<details>\s*<summary>Hint.*?</details>\s*", re.DOTALL)
_DEFINE = ("exercise", "given", "setup")


def read_tracks(root: Path, lessons: Iterable[Lesson]) -> Tracks | None:
    """Return the tracks of the course at `root` with all its lessons; None where it declares none.

    lessons: all of the course. Raises CourseError with a line for each place where they differ.
    """
    lessons, tracks = list(lessons), Tracks.read(root)
    if tracks is None:
        return None
    exercises = {each.name: [cell.name for cell in each.named("exercise")] for each in lessons}
    tracks = tracks.with_lessons(exercises)
    if mistakes := list(_mistakes(tracks, lessons)):
        raise CourseError("\n".join(mistakes))
    return tracks


def _mistakes(tracks: Tracks, lessons: Iterable[Lesson]) -> Iterator[str]:
    """Yield a sentence for each place where the tracks and the course's lessons differ.

    A table for a lesson that the course does not have, or no longer, is no mistake.
    """
    known = {lesson.name: lesson for lesson in lessons}
    for name, lesson in known.items():
        listed = list(tracks.times[name].minutes)
        exercises = [cell.name for cell in lesson.named("exercise")]
        for exercise in (each for each in exercises if each not in listed):
            yield f"{PUBLIC} gives no minutes for {exercise}, an exercise of {name}"
        for exercise in (each for each in listed if each not in exercises):
            yield f"{PUBLIC} gives minutes for {exercise}, which {name} does not have"
        yield from _typed_minutes(lesson) if tracks.times[name].listed else ()
        if set(listed) == set(exercises) and listed != exercises:
            yield f"{PUBLIC} lists the exercises of {name} in another order than the lesson"
    for track in tracks.tracks.values():
        where = f"{track.file}, track {track.name}"
        for name in (name for name in track.show if name in known):
            there = {section.name for section in sections(split_at_headings(known[name]))}
            for shown in (each for each in track.show[name] if each not in there):
                yield f"{where}: {name} has no section {shown!r} to show"
        for name in sorted(track.essays & known.keys()) if not track.whole else ():
            if not known[name].named("manual"):
                yield f"{where}: {name} has no essay"


def _typed_minutes(lesson: Lesson) -> Iterator[str]:
    for section in sections(lesson):
        if (place := section.place) is not None and section.minutes is not None:
            what = f"the heading `{section.heading}` types its minutes"
            yield f"{place.where}: {what}; the build computes them from {PUBLIC}"


def take_track(lesson: Lesson, facts: TrackFacts) -> Lesson:
    """Take of a lesson, as it is written, what the class's track has of it."""
    if facts.track is None or facts.tracks is None:
        taken = Taken(whole_text(lesson))
    else:
        taken = apply_track(lesson, facts.tracks, facts.track)
    facts.taken[lesson.name] = taken
    return taken.lesson


def apply_track(lesson: Lesson, tracks: Tracks, track: Track) -> Taken:
    """Return a lesson as a track has it.

    The cells of exercises that stay, their tests and the essay are the same objects in both
    lessons: `vary_cases` changes them for both. All other cells are copies.
    """
    if tracks.takes_all_of(track, lesson.name):
        lesson = whole_text(lesson, partial(in_track, lesson.name, tracks, track))
        write_minutes(lesson, tracks, track)
        return Taken(lesson)
    work = _Work(split_at_headings(with_marks(lesson)), tracks, track)
    work.choose()
    work.add_needed()
    work.trim_text()
    notebook = copy.copy(lesson.notebook)
    notebook.metadata = copy.deepcopy(lesson.notebook.metadata)
    notebook.cells = list(work.cells())
    taken = Lesson(lesson.name, lesson.place, notebook)
    write_minutes(taken, tracks, track)
    set_cell_ids(notebook)
    return Taken(
        taken,
        tuple(work.given_exercises()),
        tuple(s.name for s in work.sections if s.name and not work.stays(s)),
        tuple(tracks.more(track, lesson.name)),
        True,
        "" if tracks.is_published(track) else track.title,
    )


class _Work:
    """One lesson on its way into a track; `kept` holds the numbers of the cells that stay."""

    def __init__(self, lesson: Lesson, tracks: Tracks, track: Track) -> None:
        self.lesson, self.track, self.tracks = lesson, track, tracks
        self.all = lesson.cells
        self.sections = sections(lesson)
        # By identity, for two cells may have the same text.
        self.section_of = {id(c.node): s for s in self.sections for c in s.cells}
        self.written = set(track.exercises.get(lesson.name, ()))
        self.exercises = list(tracks.times[lesson.name].minutes)
        self.bound = [bound_names(cell.statements()) for cell in self.all]
        self.used = [used_names(cell.statements()) - KNOWN for cell in self.all]
        self.kept: set[int] = set()
        self.needed: set[int] = set()  # those that stay although their section goes

    def stays(self, section: Section) -> bool:
        """Return True if a section is in the track."""
        name, lesson = section.name, self.lesson.name
        if self.track.whole or not name:
            return True
        if name == SUMMARY:
            return self.track.summary
        if lesson in self.track.essays and any(c.role == "manual" for c in section.cells):
            return True
        return name in self.track.show.get(lesson, ()) or any(
            cell.role == "exercise" and cell.name in self.written for cell in section.cells
        )

    def choose(self) -> None:
        """Keep the cells of sections that stay, tests of what is given and idle guesses apart."""
        for number, cell in enumerate(self.all):
            if self.stays(self._section(number)) and self._is_for_track(cell):
                self.kept.add(number)
            elif cell.role == "manual":
                self._drop_task(number)
        for number in sorted(self.kept):
            if self._is_idle(number):
                self._drop_optional(number)
        # A guess goes with the demo cell that answers it, wherever in the lesson the two stand.
        asked: set[str] = set()
        for number, cell in enumerate(self.all):
            if number in self.kept and cell.role == "demo":
                asked |= self.used[number]
        for number, cell in enumerate(self.all):
            if GUESS_TAG not in cell.tags:
                continue
            if not self.bound[number] & asked:
                self._drop_guess(number)
            elif number not in self.kept:
                self._keep_guess(number)

    def add_needed(self) -> None:
        """Keep the definitions of sections that go which a cell that stays needs, step by step."""
        ahead = sorted(self.kept)
        while ahead:
            number = ahead.pop()
            for name in sorted(self.used[number] - self.bound[number]):
                provider = self._provider(name, number)
                if provider is not None:
                    self.kept.add(provider)
                    self.needed.add(provider)
                    ahead.append(provider)

    def trim_text(self) -> None:
        """Take out what rests on what is not there: lines, hints, and a short track's breaks."""
        for number in sorted(self.kept):
            cell = self.all[number]
            if cell.role == "text":
                if passages.is_marked(cell.source):
                    cell.node.source = passages.resolve(cell.source, self._holds)
                cell.node.source = join_sentences(cell.source)  # as written, if a part was marked
                if not self.track.whole:
                    kept = (p for p in paragraphs(cell.source) if not p.startswith(BREAK))
                    cell.node.source = "\n\n".join(kept)
            elif cell.role == "exercise" and cell.name not in self.written:
                for above in self._introduction(number):
                    above.node.source = _HINT.sub("", above.source).strip()
        self.kept = {n for n in self.kept if self.all[n].source.strip()}

    def cells(self) -> Iterator[NotebookNode]:
        """Yield the track's cells in order, a line of text above what is given in one place."""
        for number, cell in enumerate(self.all):
            if number not in self.kept:
                continue
            if number in self.needed:
                before = max((n for n in self.kept if n < number), default=-1)
                if before not in self.needed:
                    yield nbformat.v4.new_markdown_cell(self._given_line(number))
                yield self._given(cell, number)
            elif cell.role == "exercise" and cell.name not in self.written:
                yield self._given(cell, number)
            else:
                yield cell.node

    def given_exercises(self) -> Iterator[str]:
        """Yield the exercises whose code is given."""
        for number in sorted(self.kept):
            cell = self.all[number]
            if cell.role == "exercise" and cell.name not in self.written:
                yield cell.name

    # ── one rule each ──

    def _holds(self, name: str) -> bool:
        """Return True if the track has what a line of text names."""
        kind, _, rest = name.partition(" ")
        if kind in ("lesson", "essay"):
            return in_track(self.lesson.name, self.tracks, self.track, name)
        if kind == "section":
            return any(s.name == rest and self.stays(s) for s in self.sections)
        if name in self.exercises:
            return name in self.written
        return any(self.all[number].name == name for number in self.kept)

    def _section(self, number: int) -> Section:
        return self.section_of[id(self.all[number].node)]

    def _is_for_track(self, cell: Cell) -> bool:
        if cell.role == "test":
            return exercise_of(cell.name, self.exercises) in self.written
        return cell.role != "manual" or self.lesson.name in self.track.essays

    def _is_idle(self, number: int) -> bool:
        """Return True for an optional exercise that is not written and that no cell uses.

        In a short track, demo cells go with it that show nothing else of the student's own; and an
        exercise with points goes, too, if no cell that stays uses it.
        """
        cell = self.all[number]
        if cell.role != "exercise" or cell.name in self.written:
            return False
        tests = (c for c in self.all if exercise_of(c.name, self.exercises) == cell.name)
        users = {n for n in self.kept if n != number and cell.name in self.used[n]}
        if any(test.points for test in tests):
            return not (users or self.track.whole)
        return users <= self._going_with(cell.name)

    def _going_with(self, name: str) -> set[int]:
        """Return the demo cells that go with an optional exercise; a whole track keeps them."""
        users = {n for n in self.kept if self.all[n].role == "demo" and name in self.used[n]}
        return set() if self.track.whole else {n for n in users if not self.used[n] & self.written}

    def _drop_optional(self, number: int) -> None:
        """Drop an exercise, and the paragraph above it that says it is optional."""
        self.kept -= {number, *self._going_with(self.all[number].name)}
        for above in self._introduction(number):
            kept = (p for p in paragraphs(above.source) if not p.startswith(_OPTIONAL))
            above.node.source = "\n\n".join(kept)

    def _provider(self, name: str, user: int) -> int | None:
        """Return the cell that has to come back for a name; None where one that stays binds it."""
        binds = [n for n, names in enumerate(self.bound) if name in names and self._offers(n, name)]
        if any(n in self.kept for n in binds if n <= user):
            return None
        # As in a notebook that is run from top to bottom, the last one above decides.
        before = [n for n in binds if n < user]
        if before:
            return before[-1]
        if any(n in self.kept for n in binds):  # a function that is called only further down
            return None
        return binds[0] if binds else None

    def _offers(self, number: int, name: str) -> bool:
        """Return True if later cells may use a name from this cell."""
        cell = self.all[number]
        if cell.role == "demo":
            return name in bound_names(demos_imports(cell.statements()))
        return cell.role in _DEFINE or (number in self.kept and cell.role == "free")

    def _given(self, cell: Cell, number: int) -> NotebookNode:
        """Return a cell that defines something as given code: locked, folded, without marks."""
        lines = [line for line in cell.source.splitlines() if line.strip() not in SOLUTION]
        if cell.role == "demo":  # only what it imports for demo cells below it
            lines = list(map(ast.unparse, demos_imports(cell.statements())))
        place = place_of(self._section(number).name)
        source = f"{GIVEN_FROM}{self.lesson.name[:2]}, {place}.\n" + "\n".join(lines).strip()
        tags = ["demo"] if cell.role == "demo" else [GIVEN_TAG]
        nbgrader = nbgrader_marks(cell.name, locked=True)
        # Colab folds a cell by the first of these, JupyterLab by the second.
        metadata = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": tags}
        return nbformat.v4.new_code_cell(source, metadata={**metadata, "nbgrader": nbgrader})

    def _given_line(self, first: int) -> str:
        """Return the text above a run of given cells: the sections that they come from."""
        names: list[str] = []
        for number in (n for n in sorted(self.kept) if n >= first):
            if number not in self.needed:
                break
            names.append(self._section(number).name)
        return f"{GIVEN_HERE}{places(list(dict.fromkeys(names)))} of the whole lesson."

    def _drop_task(self, number: int) -> None:
        """Drop the text between an essay that nobody writes and the last cell of code above it."""
        for above in range(number - 1, -1, -1):
            cell = self.all[above]
            if cell.role != "text" or any(heading_lines(cell)):
                return
            self.kept.discard(above)

    def _drop_guess(self, number: int) -> None:
        """Drop a guess that no demo cell answers, and the question above it."""
        self.kept.discard(number)
        text = self._question(number)
        if text is not None:
            node = self.all[text].node
            node.source = "\n\n".join(p for p in paragraphs(node.source) if not _asks(p))
            if not node.source.strip():
                self.kept.discard(text)

    def _keep_guess(self, number: int) -> None:
        """Keep a guess that a demo cell of the track answers, with nothing but its question."""
        self.kept.add(number)
        text = self._question(number)
        if text is not None and text not in self.kept:
            node = self.all[text].node
            node.source = "\n\n".join(p for p in paragraphs(node.source) if _asks(p))
            self.kept.add(text)

    def _introduction(self, number: int) -> Iterator[Cell]:
        """Yield the text cells between an exercise and the last test or demo cell above it."""
        for above in range(number - 1, -1, -1):
            if self.all[above].role in ("exercise", "test", "demo"):
                return
            if self.all[above].role == "text":
                yield self.all[above]

    def _question(self, number: int) -> int | None:
        """Return the cell with the question of a guess: the nearest one above that asks."""
        for above in range(number - 1, -1, -1):
            cell = self.all[above]
            if GUESS_TAG in cell.tags:
                return None
            if cell.role == "text" and any(map(_asks, paragraphs(cell.source))):
                return above
        return None


def _asks(paragraph: str) -> bool:
    return paragraph.lstrip().startswith(_QUESTIONS)


# ── what a reader learns of it ────────────────────────────────────────────────────────────────


def with_track(outline: Outline, taken: Taken) -> Outline:
    """Return a lesson's outline with what its track leaves out, if it does."""
    return replace(outline, track=taken.title, given=taken.given, more=len(taken.more))


def track_points(track: Track, tracks: Tracks, lessons: Iterable[Lesson]) -> float:
    """Return the points that a track's test cells earn, without those given by hand."""
    return sum(
        cell.points
        for lesson in lessons
        for cell in lesson.named("test")
        if exercise_of(cell.name, tracks.times[lesson.name].minutes)
        in track.exercises.get(lesson.name, ())
    )
