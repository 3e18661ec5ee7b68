"""Read and write CSV: any delimiter, line end and byte order; no cell becomes a formula.

All tables of the course are written by `csv_text`. A spreadsheet whose list separator is another
one splits a line inside its cells, too, so a formula is made text wherever a cell could begin.
Our own readers take back what was put before it (`CsvTable.records`).
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import CourseError

_DELIMITERS = ",;\t|"
# What a spreadsheet passes over where a cell begins, and what begins a formula there; some take the
# full-width forms for the others.
_SKIPPED = r"[ \"\x00-\x08\x0b\x0c\x0e-\x1f\xa0\u200b\u3000\ufeff]*"
_FORMULA = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"
_NUMBER = r"-[\d., ]*(?:e[+-]?\d+)?"  # a negative one begins as a formula does
# Where a cell can begin, which numbers are no formula there, and what makes a formula text. Inside
# a cell they are those after which a bracket closes that has not been opened, as in x[:, -1], and
# the mark is not the apostrophe of keyboards, which may be the writer's own: ('+', '-').
_PLACES = (("^", rf"{_NUMBER}(?![\s\S])", "'"), (r"[,;\t|\r\n]", rf"{_NUMBER}[)\]}}]", "\u02bc"))
# Patterns that a browser understands, too: the page for phones writes a table.
LIVE = [
    (rf"({start}{_SKIPPED})(?!{number})(?={mark}*{_FORMULA})", mark)
    for start, number, mark in _PLACES
]
_MARKED = [
    re.compile(rf"({start}{_SKIPPED}){mark}(?={mark}*{_FORMULA})") for start, _, mark in _PLACES
]
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class CsvTable:
    """The rows of a CSV that are not empty, the line on which each ends, and the delimiter."""

    rows: list[list[str]]
    lines: list[int]
    delimiter: str

    @property
    def header(self) -> list[str]:
        """Return the first row's names in lower case; empty for a table without rows."""
        return [name.strip().lower() for name in self.rows[0]] if self.rows else []

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield each further row's line, and its cells as typed, by the header's names."""
        for line, row in zip(self.lines[1:], self.rows[1:], strict=True):
            texts = (as_typed(cell).strip() for cell in row)
            yield line, dict(zip(self.header, texts, strict=False))


def read_csv(path: Path, most_bytes: int | None = None) -> CsvTable:
    """Return the table that a CSV holds.

    Raises CourseError if the file cannot be read, is larger than most_bytes, is not in Unicode, or
    is not a CSV.
    """
    text = _text(path, most_bytes)
    # Excel's own first line, which is no row of the table.
    if excel := re.match(r"sep=(.)\r?\n", text):
        text = text[excel.end() :]
    first = text.lstrip("\r\n").partition("\n")[0]
    try:
        cells = {each: next(csv.reader([first], delimiter=each), []) for each in _DELIMITERS}
        # Which separator a spreadsheet writes depends on its language: the right one divides most.
        delimiter = max(cells, key=lambda each: len(cells[each]))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        problem = f"{path} is not a CSV that can be read ({error})"
        raise CourseError(f"{problem}: export it again") from None
    kept = [(line, row) for line, row in rows if any(cell.strip() for cell in row)]
    return CsvTable([row for _, row in kept], [line for line, _ in kept], delimiter)


# By such cells platforms find their columns, and Moodle its rows (export/platform_files.py).
class Foreign(str):
    """A cell that another program has written, which stays as it is."""


def harmless(text: str) -> str:
    """Return the text so that no spreadsheet runs it, or a part of it, as a formula.

    >>> harmless("=HYPERLINK(0)"), harmless("-3.5")
    ("'=HYPERLINK(0)", '-3.5')
    """
    for live, mark in LIVE:
        text = re.sub(live, rf"\1{mark}", text)
    return text


def csv_text(rows: Iterable[Iterable[object]], line_end: str = "\r\n", delimiter: str = ",") -> str:
    """Return rows as a CSV; texts that are not `Foreign` are made `harmless`, and numbers stay.

    >>> csv_text([["a", 1], ["=b, c", ""]], line_end="\\n")
    'a,1\\n"\\'=b, c",\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end)
    writer.writerows(map(_written, row) for row in rows)
    return text.getvalue()


def _written(cell: object) -> object:
    return harmless(cell) if isinstance(cell, str) and not isinstance(cell, Foreign) else cell


def as_typed(cell: str) -> str:
    """Return the text from which `harmless` made this cell.

    >>> as_typed("'=3"), as_typed("'tis")
    ('=3', "'tis")
    """
    for marked in _MARKED:
        cell = marked.sub(r"\1", cell)
    return cell


def _text(path: Path, most_bytes: int | None) -> str:
    try:
        if most_bytes is not None and path.stat().st_size > most_bytes:
            raise CourseError(f"{path} is larger than {most_bytes // 1024**2} MB: is it a table?")
        data = path.read_bytes()
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"{path} is not in UTF-8: save or export it as CSV in UTF-8") from None
    return text if "\n" in text else text.replace("\r", "\n")  # an old spreadsheet's line ends
