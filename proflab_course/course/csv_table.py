"""Read a CSV as platforms and spreadsheets write it: any delimiter, line end and byte order."""

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
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
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
        """Yield each further row's line, and its cells by the header's names."""
        for line, row in zip(self.lines[1:], self.rows[1:], strict=True):
            yield line, dict(zip(self.header, row, strict=False))


def read_csv(path: Path, most_bytes: int | None = None) -> CsvTable:
    """Return the table that a CSV holds.

    Raises CourseError if the file cannot be read, is larger than most_bytes, is not in Unicode, or
    is not a CSV.
    """
    text = _text(path, most_bytes)
    if excel := re.match(r"sep=(.)\r?\n", text):
        text = text[excel.end() :]
    first = text.lstrip("\r\n").partition("\n")[0]
    try:
        cells = {each: next(csv.reader([first], delimiter=each), []) for each in _DELIMITERS}
        delimiter = max(cells, key=lambda each: len(cells[each]))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        problem = f"{path} is not a CSV that can be read ({error})"
        raise CourseError(f"{problem}: export it again") from None
    kept = [(line, row) for line, row in rows if any(cell.strip() for cell in row)]
    return CsvTable([row for _, row in kept], [line for line, _ in kept], delimiter)


def harmless(cell: str, is_text: bool = False) -> str:
    """Return the cell so that no spreadsheet runs it as a formula; is_text: or reads a number.

    >>> harmless("=HYPERLINK(0)"), harmless("-3.5")
    ("'=HYPERLINK(0)", '-3.5')
    """
    number = re.fullmatch(r"[+-]?[\d.,]+|-", cell) and not is_text
    return f"'{cell}" if cell.startswith(_FORMULA) and not number else cell


def csv_text(rows: Iterable[Iterable[object]], line_end: str = "\r\n", delimiter: str = ",") -> str:
    """Return rows as a CSV; its cells are as they are given, see `harmless`.

    >>> csv_text([["a", 1], ["b, c", ""]], line_end="\\n")
    'a,1\\n"b, c",\\n'
    """
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue()


def as_typed(cell: str) -> str:
    """Return a cell's text without the apostrophe that `harmless` put before it.

    >>> as_typed("'=3"), as_typed("'tis")
    ('=3', "'tis")
    """
    text = cell.strip()
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text


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
