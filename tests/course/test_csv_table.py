"""Tables of the course: nothing in them becomes a formula, and they are read back as written."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proflab_course.course import csv_table
from proflab_course.course.csv_table import Foreign, as_typed, csv_text, harmless, read_csv

# What Excel takes for the end of a cell, by country and setting; a line's end always is one.
SEPARATORS = ",;\t|"
FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-][\d., ]*(e[+-]?\d+)?([)\]}].*)?", re.DOTALL)
ATTACKS = [
    "=cmd|' /C calc'!A0", "x;=1+1", "x,@SUM(1)", "x\t+cmd|0", "x|=1+1", "x\n=1+1", "x\r=1+1",
    "\uff1d1+1", "x; \uff20SUM(A1)", "\n\n-A1", ' "=1+1"', 'x;"=1+1"', "\ufeff=1", "-1;=A1", "-A1",
    "'=1", "x;\u02bc=1", "'",
]  # fmt: skip
texts = st.text("=+-@\uff1d \t\r\n,;|'\u02bc\"A1)e.", max_size=16)


def cells_in(text: str, separator: str) -> list[str]:
    """Split a CSV as Excel does: a quote that does not begin a cell quotes nothing."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return [cell for row in rows for cell in row]


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("written", SEPARATORS)
@given(cells=st.lists(texts, min_size=1, max_size=3))
def test_no_cell_is_a_formula_whatever_separates_cells(written, separator, cells):
    text = csv_text([["a", *cells], ["b", *cells]], delimiter=written)
    for cell in cells_in(text, separator):
        shown = cell.strip(' "\ufeff')
        assert not shown.startswith(FORMULA) or NUMBER.fullmatch(shown), (cell, text)


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_are_read_back_as_they_were(tmp_path, attack):
    path = tmp_path / "table.csv"
    path.write_bytes(csv_text([["who", "said"], ["ann", attack]]).encode())
    [(_, record)] = read_csv(path).records()
    assert record["said"] == attack.strip()
    for separator in SEPARATORS:
        live = [c for c in cells_in(path.read_text("utf-8"), separator) if c.startswith(FORMULA)]
        assert all(NUMBER.fullmatch(cell) for cell in live)


@given(texts)
def test_what_is_written_is_read_back(text):
    assert as_typed(harmless(text)) == text


ORDINARY = ["x[:, -1]", "('+', '-')", "a, b; c", "(1, -2)", "-3.5", "-", "-3,5", "O'=x", "a = -b"]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text):
    assert harmless(text) == text == as_typed(text)


def test_numbers_and_other_programs_cells_stay():
    assert csv_text([[-3, Foreign("- good start"), "-x"]], line_end="\n") == "-3,- good start,'-x\n"


def test_all_tables_are_written_by_one_function():
    root = Path(csv_table.__file__).parents[1]
    writers = re.compile(r"csv\.(writer|DictWriter)|\bto_csv\b")
    found = [p.name for p in root.rglob("*.py") if writers.search(p.read_text("utf-8"))]
    assert found == ["csv_table.py"]
