"""Print a progress bar for `proflab grade`, then a table of scores and outcomes."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proflab_course.course.words import shortened
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grader_errors import NOT_GRADED
from proflab_course.grading.submissions.find import Work

if TYPE_CHECKING:
    from proflab_course.grading.command import Done

_NOTHING = {"auto": 0.0, "penalty": 0.0}  # of a student whose result was never written


@dataclass(frozen=True)
class ResultRow:
    """One line of the table that `proflab grade` prints; `penalty` is what lateness takes off."""

    student: str
    score: float
    max_score: float
    status: str
    sentence: str
    fresh: bool
    penalty: float = 0.0


def progress_bar(items: Iterable[Done], total: int, show: bool) -> Iterator[Done]:
    """Yield `items` with a bar on a terminal that shows counts of outcomes and the time left."""
    from tqdm import tqdm

    counts: Counter[str] = Counter()
    # Directly on the terminal, because stdout is filtered of the control characters of a bar.
    out, hidden = sys.__stderr__, not (show and total) or None
    with tqdm(total=total, unit="submission", disable=hidden, file=out) as bar:
        for item in items:
            yield item
            counts[item.status] += 1
            shown = ", ".join(f"{n} {status}" for status, n in counts.items())
            bar.set_postfix_str(shown, refresh=False)  # `update` draws it at intervals
            bar.update()


def make_rows(
    book, key: Key, works: list[Work], fresh: set[str], nowhere: Mapping[str, str]
) -> list[ResultRow]:
    """Return the table's rows from the gradebook.

    nowhere: the reason for each student whose result could not be written; an earlier result of
    theirs remains in the gradebook.
    """
    outcomes, scores = book.standings(key.name), book.scores(key.name)
    rows = []
    for student in (work.student for work in works):
        earned = scores.get(student, _NOTHING)
        if student in nowhere:
            score, status, sentence = 0.0, NOT_GRADED, nowhere[student]
        else:
            outcome = outcomes[student]
            score, status, sentence = earned["auto"], outcome.status, outcome.sentence
        about = status, sentence, student in fresh, earned["penalty"]
        rows.append(ResultRow(student, score, key.max_score, *about))
    return rows


def print_table(rows: list[ResultRow]) -> None:
    """Print scores and outcomes, one line a student."""
    if not rows:
        print("Nothing was handed in for this lesson: put hand-ins into submitted/STUDENT/LESSON/.")
        return
    width = max(len(row.student) for row in rows)
    points = [_written_score(row) for row in rows]
    wide = max(map(len, points))
    space = max(20, shutil.get_terminal_size((100, 20)).columns - width - wide - 23)
    for row, score in zip(rows, points, strict=True):
        sentence = shortened(row.sentence, space)
        print(f"{row.student:<{width}}  {score:<{wide}}  {row.status:<18}  {sentence}".rstrip())
    old = sum(not row.fresh for row in rows)
    if old:
        print(
            f"({old} of {len(rows)} have not changed since they were graded; --regrade grades all)"
        )


def _written_score(row: ResultRow) -> str:
    """Return the points for code as they were earned, and what lateness takes off."""
    late = f", late: −{row.penalty:g}" if row.penalty else ""
    return f"{row.score:5g} / {row.max_score:g}{late}"
