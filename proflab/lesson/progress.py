"""Show where a student is in a lesson: each exercise, the points so far, what to do next.

The last cell of every lesson shows it, of what has been run in its kernel, and stores the functions
that pass in mine.py; `proflab check` shows the same table in a terminal. Beside the text the cell's
output carries the table as data, under a MIME type of its own.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import asdict, dataclass, field
from functools import partial

from proflab.lesson import guesses, mine
from proflab.lesson.concepts import answered_line
from proflab.lesson.imports import imports_sentence
from proflab.lesson.kernel_record import KernelRecord, current_record
from proflab.lesson.outline import Exercise, Outline, place_of
from proflab.lesson.words import many

MIME = "application/vnd.proflab.progress+json"
_MARKS = {"passed": "✅", "failed": "❌", "not written": "⬜", "waits": "⬜", "not run": "⬜"}


@dataclass
class Row:
    """One exercise in the table.

    state: as in `kernel_record.TestRun`, or "not run"; earned, points: of its test cells.
    is_wrong: as `KernelRecord.is_wrong`, so that no guess is judged by it.
    """

    name: str
    section: str
    state: str
    sentence: str
    earned: float
    points: float
    is_wrong: bool = False


@dataclass
class Progress:
    """A lesson's table, with what stands below it."""

    lesson: str
    rows: list[Row]
    next: str
    guesses: list[str] = field(default_factory=list)
    stored: str = ""
    track: str = ""
    milestone: list[str] = field(default_factory=list)
    concepts: str = ""
    imports: str = ""

    def text(self) -> str:
        """Return the table as text."""
        width = max((len(row.name) for row in self.rows), default=0)
        places = [place_of(row.section) for row in self.rows]
        room = max(map(len, places), default=0)
        lines = [
            f"{_MARKS[row.state]} {row.name:<{width}}  {place:<{room}}  {_line(row)}".rstrip()
            for row, place in zip(self.rows, places, strict=True)
        ]
        earned, points = (
            sum(getattr(row, name) for row in self.rows) for name in ("earned", "points")
        )
        lines += ["", f"So far {earned:g} of {points:g} points by the visible checks."]
        lines += [said for said in (self.concepts, self.imports) if said]
        lines += [self.track, self.next] if self.track else [self.next]
        if self.guesses:
            lines += ["", "Your guesses:", *(f"  {sentence}" for sentence in self.guesses)]
        lines += ["", *self.milestone] if self.milestone else []
        lines += ["", self.stored] if self.stored else []
        # JupyterLab would break a longer line inside of a word.
        fold = partial(textwrap.fill, width=100, subsequent_indent="    ", break_on_hyphens=False)
        return "\n".join(map(fold, "\n".join(lines).split("\n")))


def _line(row: Row) -> str:
    points = f"{row.earned:g} of {row.points:g}" if row.points else "optional"
    words = {"passed": "passes its visible checks", "not written": "not written yet"}
    words |= {"not run": "its test cells are still to be run"}
    raced = row.sentence if row.state == "passed" else ""
    said = raced or words.get(row.state) or row.sentence.removeprefix("❌ ")
    return f"{points:>8} points  {said}" if row.points else f"{points:>8}         {said}"


def show() -> None:
    """Show where the student is, and store the functions that pass."""
    record = current_record()
    if record is None or record.outline is None:
        print("In its folder, run by Jupyter, this cell says where you are: so does proflab check.")
        return
    from IPython.display import display

    progress = measure(record, record.outline)
    passing = [row.name for row in progress.rows if row.state == "passed"]
    failing = [row.name for row in progress.rows if row.state not in ("passed", "not run")]
    path = mine.place(record.folder)
    progress.stored = mine.store(record.codes(), record.outline, passing, path, failing)
    # proflab_course/check/execute.py makes a Progress of these fields again.
    display({"text/plain": progress.text(), MIME: asdict(progress)}, raw=True)


def measure(record: KernelRecord, outline: Outline) -> Progress:
    """Return the table of what has been run."""
    rows = []
    for exercise in outline.exercises.values():
        run = record.state(exercise)
        passed = {
            test: record.tests[test]
            for test in exercise.tests
            if test in record.tests and record.tests[test].state == "passed"
        }
        shares = {test: 1.0 if r.share is None else r.share for test, r in passed.items()}
        earned = round(sum(exercise.tests[test] * share for test, share in shares.items()), 2)
        raced = [shares[test] for test, r in passed.items() if r.share is not None]
        sentence = run.sentence
        if run.state == "passed" and raced:
            sentence = f"{100 * sum(raced) / len(raced):.0f} % of the way, by the visible races"
        rows.append(
            Row(
                exercise.name,
                exercise.section,
                run.state,
                sentence,
                earned,
                exercise.points,
                record.is_wrong(exercise),
            )
        )
    ahead, asked = _next(rows, outline), guesses.sentences()
    reached = _milestone(rows, outline)
    return Progress(
        outline.lesson,
        rows,
        ahead,
        asked,
        track=_track(outline),
        milestone=reached,
        concepts=answered_line(record).replace("concept", "Concept", 1),
        imports=imports_sentence(record.own_codes(), record.folder),
    )


def _milestone(rows: list[Row], outline: Outline) -> list[str]:
    """Return what can be done now that all passes, and what that gives in this notebook."""
    sentence, expression = outline.milestone
    if not sentence or any(row.state != "passed" for row in rows if row.points):
        return []
    try:
        return [sentence, str(eval(expression, vars(sys.modules["__main__"])))]
    except Exception as error:  # a name that the student uses for something else, say
        return [sentence, f"(Showing it raised {type(error).__name__}: restart and run all cells.)"]


def _track(outline: Outline) -> str:
    """Return a sentence on what a class's track leaves out of the lesson, and what it gives."""
    more = f"The whole lesson has {many(outline.more, 'exercise')} more." if outline.more else ""
    given = f"Given: {', '.join(outline.given)}." if outline.given else ""
    track = f"Track: {outline.track}." if outline.track else ""
    return " ".join(filter(None, (track, given, more)))


def _next(rows: list[Row], outline: Outline) -> str:
    """Return what to do next: the first exercise with points that does not pass."""
    row = next((row for row in rows if row.points and row.state != "passed"), None)
    if row is None:
        points, section = outline.essay
        where = ", ".join(filter(None, [place_of(section), f"{points:g} points by hand"]))
        essay = f"the essay ({where}), then " if points else ""
        return (
            f"Next: {essay}Restart Kernel and Run All Cells, and hand in. "
            "Hidden cases, with other inputs, count there."
        )
    exercise = outline.exercises[row.name]
    where = _where(exercise, row.state == "not written")
    if row.state == "not written":
        return f"Next: write `{row.name}`{where}."
    if row.state == "failed":
        return f"Next: mend `{row.name}`{where}; the cell below it says what was expected."
    return f"Next: run the cells of `{row.name}`{where}; Run All Cells runs them all."


def _where(exercise: Exercise, with_minutes: bool) -> str:
    """Return section and, for what is still to be written, minutes."""
    parts = [exercise.place] if exercise.place else []
    parts += [f"{exercise.minutes} min"] if exercise.minutes and with_minutes else []
    return f" ({', '.join(parts)})" if parts else ""
