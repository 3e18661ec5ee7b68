"""Write each marker's table, one row an essay and one column an item, and read it back.

A table is written anew whenever essays are dealt; what a marker has typed into it stays. Its first
two rows are the answers on which markers calibrate: no mark is taken before both are marked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proflab_classroom.marking.essay_log import FOLDER, Mark, Marking
from proflab_course.course.csv_table import read_csv
from proflab_course.course.files import replace_file
from proflab_course.course.hand_table import NO, YES, HandTable, write_table
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.rubric import Rubric
from proflab_course.course.words import shortened
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.records.queries import EssayMark

WHO = "hand-in"
DECIDE = "decide"  # the instructor's own table; no marker can be called so
_MOST_BYTES = 64 * 1024**2
_MOST_ESSAY = 8_000  # characters; the rest is cut
_MOST_COMMENT = 4_000
_BRIEF = 70  # characters of an item at the head of its column
# The number with which a heading of `_heads` begins.
_ITEM = re.compile(r"\s*(\d{1,3})(?:\D|$)")
# What an answer to calibrate on earns, which no marker may read before marking it.
_OF_ITEMS = re.compile(r"\s*\((?:[^()]*\b[Ii]tems?\b[^()]*)\)$")


@dataclass
class Entered:
    """Hold what a table has: complete marks by hand-in, and what was not taken, with the reason.

    typed: each row's cells as they are, by hand-in, and essays: the text beside them, if any. lost:
    of what was not taken, the rows that a table written anew would not have.
    """

    marks: dict[str, Mark] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    typed: dict[str, dict[str, str]] = field(default_factory=dict)
    essays: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


def folder(course: Course, lesson: str) -> Path:
    """Return where the tables of a lesson lie."""
    return course.root / FOLDER / lesson


def sheet_path(course: Course, lesson: str, name: str) -> Path:
    """Return the path of a marker's table."""
    return folder(course, lesson) / f"{name}.csv"


def read_sheet(path: Path, rubric: Rubric, known: Collection[str], calibrated: bool) -> Entered:
    """Return what stands in a table; known: the hand-ins that it may have.

    calibrated: the two answers must be marked before any essay counts.

    Raises CourseError, one sentence, if the file is no table with a column for each item.
    """
    table = HandTable(path.name, read_csv(path, _MOST_BYTES))
    columns = _item_columns(path, table, len(rubric.items))
    found, anchors = Entered(), set(rubric.anchor_marks)
    for row in table.rows((WHO,), found.lost):
        who = row[WHO]
        if who not in known and who not in anchors:
            found.lost[row.where] = f"there is no essay of {readable(who)[:60]!r}"
            continue
        values = {n: row[name].casefold() for n, name in columns.items()}
        comment = _comment(row["comment"])
        found.typed[who] = {str(n): value for n, value in values.items()} | {"comment": comment}
        found.essays[who] = row["essay"]
        empty = [str(n) for n, value in values.items() if not value]
        # Half of a row is a slip of a marker's; in decide.csv, what is to be decided begins empty.
        begun = calibrated and len(empty) < len(values)
        if reason := _not_a_mark(who, values, empty if begun else []):
            found.refused[row.where] = reason
        elif not empty:
            items = frozenset(n for n, value in values.items() if value in YES)
            found.marks[who] = Mark(items, comment)
    if calibrated and (missing := [name for name in anchors if name not in found.marks]):
        if essays := [name for name in found.marks if name not in anchors]:
            count = "1 essay is" if len(essays) == 1 else f"{len(essays)} essays are"
            found.refused[path.name] = (
                f"{count} marked, but not the {' and the '.join(sorted(missing))} in the first "
                f"lines: mark first what all markers have in common"
            )
        found.marks = {name: found.marks[name] for name in found.marks if name in anchors}
    found.refused = found.lost | found.refused
    return found


def _not_a_mark(who: str, values: dict[int, str], missing: list[str]) -> str:
    """Return why a row is no mark; "" for one that is. missing: the items that should have one."""
    wrong = [(n, value) for n, value in values.items() if value and value not in YES + NO]
    if wrong:
        number, value = wrong[0]
        return f"item {number} is 0 or 1, not {readable(value)[:20]!r}"
    if missing:
        what = "item" if len(missing) == 1 else "items"
        return f"{what} {', '.join(missing)} of {who} have no mark: write 0 or 1"
    return ""


def write_sheet(
    course: Course, rubric: Rubric, name: str, marking: Marking, essays: Mapping[str, EssayMark]
) -> tuple[Path, int]:
    """Write a marker's table; return its path and how many essays it has.

    What was typed about an essay that its student has replaced since is left out: the log has it.

    Raises CourseError for a row of an older table that would be lost.
    """
    path = sheet_path(course, rubric.lesson, name)
    entered = _entered(path, rubric, {*essays, *marking.dealt}, calibrated=True)
    typed = entered.typed
    dealt = [s for s, names in marking.dealt.items() if name in names and s in essays]
    students = [*dealt, *(s for s in typed if s in essays and s not in dealt)]
    anchors = [f"{anchor.kind} answer" for anchor in rubric.anchors]
    rows = [
        [*_anchor_row(rubric, anchor), *_values(rubric, typed.get(anchor))] for anchor in anchors
    ]
    for student in students:
        digest = essays[student].digest
        old = name in marking.outdated(student, digest)
        mark = marking.marks.get(student, {}).get(name)
        cells = _cells_of(None if old else mark, rubric)
        put_back = old and is_of_another(course, rubric, entered, student)
        if not marking.is_another(student, digest) and not put_back:
            cells = typed.get(student) or cells
        rows.append([*_essay_row(course, rubric, student), *_values(rubric, cells)])
    # The second to the fifth column are for reading alone: `read_sheet` passes over them.
    header = [WHO, "file", "words", "numbers", "essay", *_heads(rubric), "comment"]
    write_table(path, [header, *rows])
    return path, len(students)


def write_decisions(
    course: Course,
    rubric: Rubric,
    marking: Marking,
    differing: Iterable[str],
    replaced: Collection[str],
) -> Path:
    """Write the instructor's table of the essays on which markers differ, and return its path.

    What they agree on is filled in, and what differs is left empty; decisions that were typed stay,
    but for those about essays that were replaced.
    """
    path = sheet_path(course, rubric.lesson, DECIDE)
    entered = _entered(path, rubric, {*marking.marks, *marking.dealt}, calibrated=False)
    typed = {who: cells for who, cells in entered.typed.items() if who not in replaced}
    rows = []
    for student in [*dict.fromkeys([*typed, *differing])]:
        marks = {name: mark for name, mark in marking.marks.get(student, {}).items() if name}
        told = [f"{name}: {_listed(mark)}" for name, mark in marks.items()]
        cells = typed.get(student)
        if not cells:
            sets = [mark.items for mark in marks.values()]
            common, any_ = frozenset.intersection(*sets), frozenset.union(*sets)
            values = range(1, len(rubric.items) + 1)
            cells = {str(n): "1" if n in common else "" if n in any_ else "0" for n in values}
        rows.append([student, _place(rubric, student), "\n".join(told), *_values(rubric, cells)])
    write_table(path, [[WHO, "file", "markers", *_heads(rubric), "comment"], *rows])
    return path


def write_scheme(course: Course, rubric: Rubric) -> Path:
    """Write the question and the items for markers, without what the two answers earn."""
    items = "\n".join(f"{n}. {text}" for n, text in enumerate(rubric.items, 1))
    text = (
        f"# {rubric.lesson}: the essay\n\n{rubric.question}\n\n## {len(rubric.items)} items, "
        f"one point each\n\n{rubric.head}\n\n{items}\n"
    )
    path = folder(course, rubric.lesson) / "scheme.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, text.encode())
    return path


def essay_in(course: Course, rubric: Rubric, student: str) -> tuple[str, str]:
    """Return the text of a graded hand-in's essay, and what grading has noted of its numbers."""
    path = course.root / _place(rubric, student)
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return "", ""
    for cell in cells:
        metadata = cell.get("metadata", {})
        if metadata.get("nbgrader", {}).get("grade_id") == rubric.cell:
            return readable("".join(cell["source"])), metadata.get("proflab", {}).get("numbers", "")
    return "", ""


def is_of_another(course: Course, rubric: Rubric, entered: Entered, student: str) -> bool:
    """Return True if a row shows another essay than the graded one, as a table put back does."""
    text = entered.essays.get(student, "").split()
    return bool(text) and text != _essay_row(course, rubric, student)[-1].split()


def _place(rubric: Rubric, student: str) -> str:
    return f"autograded/{student}/{rubric.lesson}/{rubric.lesson}.ipynb"


def _essay_row(course: Course, rubric: Rubric, student: str) -> list[str]:
    text, numbers = essay_in(course, rubric, student)
    words = str(len(text.split()))
    if len(text) > _MOST_ESSAY:
        text = f"{text[:_MOST_ESSAY]} … (cut: open the file)"
    return [student, _place(rubric, student), words, numbers, text]


def _anchor_row(rubric: Rubric, name: str) -> list[str]:
    anchor = next(each for each in rubric.anchors if f"{each.kind} answer" == name)
    text = _OF_ITEMS.sub("", anchor.text)
    return [name, "to calibrate on: in outline", str(len(text.split())), "", text]


def _heads(rubric: Rubric) -> list[str]:
    texts = (text.replace("`", "").replace("*", "") for text in rubric.items)
    brief = (shortened(text, _BRIEF) for text in texts)
    return [f"{number}: {text}" for number, text in enumerate(brief, 1)]


def _values(rubric: Rubric, cells: dict[str, str] | None) -> list[str]:
    cells = cells or {}
    numbers = map(str, range(1, len(rubric.items) + 1))
    return [*(cells.get(n, "") for n in numbers), cells.get("comment", "")]


def _cells_of(mark: Mark | None, rubric: Rubric) -> dict[str, str]:
    """Return a mark as a table has it, such as one that was given in formgrader."""
    if mark is None:
        return {}
    numbers = range(1, len(rubric.items) + 1)
    return {str(n): str(int(n in mark.items)) for n in numbers} | {"comment": mark.comment}


def _listed(mark: Mark) -> str:
    items = ", ".join(map(str, sorted(mark.items))) or "none"
    return f"{len(mark.items)} ({items})" + (f" “{mark.comment}”" if mark.comment else "")


def _entered(path: Path, rubric: Rubric, known: Collection[str], calibrated: bool) -> Entered:
    """Return what stands in a table that is to be written anew.

    Raises CourseError for one that would be lost, because there is no such hand-in.
    """
    if not path.exists():
        return Entered()
    sheet = read_sheet(path, rubric, known, calibrated)
    for where, reason in sheet.lost.items():
        raise CourseError(f"{where}: {reason}: correct it, because the table is written anew")
    return sheet


def _item_columns(path: Path, table: HandTable, count: int) -> dict[int, str]:
    """Return the names of the items' columns by number."""
    found: dict[int, str] = {}
    for name in table.header:
        if match := _ITEM.match(name):
            number = int(match[1])
            if number in found:
                raise CourseError(f"{path}, line 1: item {number} has two columns: keep one")
            found[number] = name
    missing = [str(n) for n in range(1, count + 1) if n not in found]
    if WHO not in table.header or missing:
        raise CourseError(
            f"{path}, line 1: it needs the columns {WHO} and 1 to {count}, as "
            f"`proflab essays LESSON --between NAMES` writes them"
        )
    return {number: name for number, name in sorted(found.items()) if 1 <= number <= count}


def _comment(text: str) -> str:
    text = readable(text).replace("\x1b", "")
    return text if len(text) <= _MOST_COMMENT else f"{text[:_MOST_COMMENT]} … (cut)"
