"""Read a table that people fill in: each of its rows, or one sentence with the file and the line.

Extensions, votes, and marks are such tables. Their first line names the columns; columns that
nobody asks for are their author's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.csv_table import CsvTable, as_typed, read_csv
from proflab_course.course.layout import CourseError

_MOST_SHOWN = 40


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

    def rows(self, key: Collection[str] = ()) -> Iterator[Row]:
        """Yield the rows below the first; key: the columns that no two lines have in common.

        A line that only repeats the first one is left out, as where two tables were put together.
        Raises CourseError for a cell beyond the last column, and for a second line of one key.
        """
        seen: dict[tuple[str, ...], int] = {}
        for line, cells in zip(self.table.lines[1:], self.table.rows[1:], strict=True):
            typed = [as_typed(cell).strip() for cell in cells]
            if [cell.lower() for cell in typed] == self.header:
                continue
            where = f"{self.place}, line {line}"
            if beyond := [cell for cell in typed[len(self.header) :] if cell]:
                what = f"{beyond[0][:_MOST_SHOWN]!r} stands beyond the last column"
                raise CourseError(f"{where}: {what}: put a text with a comma into quotes")
            row = Row(where, line, dict(zip(self.header, typed, strict=False)))
            about = tuple(row[name] for name in key)
            if key and about in seen:
                what = f"{' and '.join(about)} stand" if len(key) > 1 else f"{about[0]} stands"
                raise CourseError(f"{where}: {what} in line {seen[about]} already: keep one line")
            seen[about] = line
            yield row
