"""Write and read tables that people fill in: a row, or a sentence with the file and the line.

Extensions, votes, marks, and questions with their answers are such tables. Their first line names
the columns; columns that nobody asks for are their author's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.csv_table import CsvTable, as_typed, csv_text, read_csv
from proflab_course.course.files import replace_file
from proflab_course.course.layout import CourseError

_MOST_SHOWN = 40
# A mark that is typed as 1 or 0, and what spreadsheets make of it.
YES, NO = ("1", "1.0", "1,0", "x", "true"), ("0", "0.0", "0,0", "false")


@dataclass(frozen=True)
class Row:
    """Hold a row's cells by the names of their columns, and the place of its line."""

    where: str
    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """Return a cell's text; "" where the table has no such column, or the row no such cell."""
        return self.cells.get(column, "")


@dataclass(frozen=True)
class HandTable:
    """A table whose first line has been read; `place` names its file in messages."""

    place: str
    table: CsvTable

    @classmethod
    def read(
        cls,
        path: Path,
        needed: Collection[str],
        place: str = "",
        known: Collection[str] = (),
        most_bytes: int | None = None,
    ) -> HandTable:
        """Read a CSV that must have some columns, and may have those that are known.

        place: what messages call it, by default its path.

        Raises CourseError if it cannot be read, lacks a column or has two of one name.
        """
        found = cls(place or str(path), read_csv(path, most_bytes))
        first = f"{found.place}, line {found.table.lines[0] if found.table.lines else 1}"
        counts = Counter(found.header)
        for name in needed:
            if not counts[name]:
                listed = ", ".join(needed)
                raise CourseError(f"{first}: the column {name} is missing; it needs {listed}")
        for name in (*needed, *known):
            if counts[name] > 1:
                raise CourseError(f"{first}: two columns are called {name}: rename one")
        return found

    @property
    def header(self) -> list[str]:
        """The names of the columns, in small letters."""
        return self.table.header

    def rows(
        self, key: Collection[str] = (), refused: dict[str, str] | None = None
    ) -> Iterator[Row]:
        """Yield the rows below the first; key: the columns that no two lines have in common.

        A line that only repeats the first one, or its beginning, is left out, as where two tables
        were put together. A line is not clear that has a cell beyond the last column, or a key that
        stands in another line: `refused` gets the reason by the line's place, and of two lines with
        one key neither is taken. Without `refused`, CourseError is raised.
        """
        places: dict[tuple[str, ...], int] = {}
        rows: list[tuple[tuple[str, ...], Row]] = []
        unclear: set[tuple[str, ...]] = set()
        for row, beyond in self._typed_rows():
            about = tuple(row[name] for name in key)
            reason = ""
            if beyond:
                reason = f"{beyond!r} stands beyond the last column: put a text with a comma into "
                reason += "quotes"
            elif key and about in places:
                what = f"{' and '.join(about)} stand{'' if len(key) > 1 else 's'}"
                reason = f"{what} in line {places[about]} already: keep one line"
                unclear.add(about)
            if not reason:
                places[about] = row.line
                rows.append((about, row))
            elif refused is None:
                raise CourseError(f"{row.where}: {reason}")
            else:
                refused[row.where] = reason
        yield from (row for about, row in rows if about not in unclear)

    def _typed_rows(self) -> Iterator[tuple[Row, str]]:
        """Yield each row as it was typed, and the first cell beyond the last column."""
        for line, cells in zip(self.table.lines[1:], self.table.rows[1:], strict=True):
            typed = [as_typed(cell).strip() for cell in cells]
            names = [cell.lower() for cell in typed if cell]
            first = list(filter(None, self.header))
            if names == first or (len(names) > 1 and names == first[: len(names)]):
                continue
            beyond = next((cell for cell in typed[len(self.header) :] if cell), "")
            named = dict(zip(self.header, typed, strict=False))
            yield Row(f"{self.place}, line {line}", line, named), beyond[:_MOST_SHOWN]


def write_table(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write a table for people, whole or not at all, as spreadsheets read it in any script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the mark in front Excel takes a CSV to be in the machine's old encoding.
    replace_file(path, b"\xef\xbb\xbf" + csv_text(rows).encode("utf-8", "replace"))
