"""Tables that people fill in: a row, or a sentence with the file and the line."""

import pytest

from proflab_course.course.hand_table import HandTable
from proflab_course.course.layout import CourseError

HEAD = "Student,Mark\n"


def table(tmp_path, text):
    path = tmp_path / "marks.csv"
    path.write_text(text, encoding="utf-8")
    return HandTable.read(path, ("student", "mark"), "marks.csv", known=("note",))


def rows(tmp_path, text):
    return [(row.line, dict(row.cells)) for row in table(tmp_path, text).rows(key=("student",))]


@pytest.mark.parametrize("text", [HEAD, f"\ufeff{HEAD}", HEAD.replace(",", ";"), f"\n{HEAD}"])
def test_rows_have_their_lines_and_cells_as_they_were_typed(tmp_path, text):
    first = text.count("\n")
    delimiter = ";" if ";" in text else ","
    body = f"ann{delimiter} 1 \n\n'=b{delimiter}0\n".replace(",", delimiter)
    assert rows(tmp_path, text + body) == [
        (first + 1, {"student": "ann", "mark": "1"}),
        (first + 3, {"student": "=b", "mark": "0"}),
    ]


@pytest.mark.parametrize("again", ["student,mark", "Student, MARK", "student,mark,,"])
def test_a_first_line_that_is_there_again_is_no_row(tmp_path, again):
    assert len(rows(tmp_path, f"{HEAD}ann,1\n{again}\nben,0\n")) == 2
    assert len(rows(tmp_path, f"Student,Mark,Note\nann,1,\n{again}\nben,0,\n")) == 2


def test_an_absent_cell_or_column_is_empty(tmp_path):
    [row] = table(tmp_path, f"{HEAD}ann\n").rows()
    assert (row["mark"], row["note"]) == ("", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "marks.csv, line 1: the column student is missing; it needs student, mark"),
        ("\nStudent,Marc\n", "marks.csv, line 2: the column mark is missing; it needs student"),
        ("student,mark,Mark\n", "marks.csv, line 1: two columns are called mark: rename one"),
        ("student,mark,note,note\n", "marks.csv, line 1: two columns are called note: rename one"),
        (f"{HEAD}ann,1,0\n", "marks.csv, line 2: '0' stands beyond the last column: put a text"),
        (f"{HEAD}ann,1\nben,1\nann,0\n", "marks.csv, line 4: ann stands in line 2 already: keep"),
    ],
)
def test_what_is_not_clear_is_one_sentence_with_file_and_line(tmp_path, text, said):
    with pytest.raises(CourseError) as error:
        rows(tmp_path, text)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_without_an_error_what_is_not_clear_is_named_and_neither_of_two_lines_counts(tmp_path):
    refused = {}
    found = table(tmp_path, f"{HEAD}ann,1\nben,1\nann,0\ncem,1,0\ndan,0\n")
    taken = [row["student"] for row in found.rows(("student",), refused)]
    assert taken == ["ben", "dan"]
    assert refused.keys() == {"marks.csv, line 4", "marks.csv, line 5"}
    assert refused["marks.csv, line 4"] == "ann stands in line 2 already: keep one line"
    assert refused["marks.csv, line 5"].startswith("'0' stands beyond the last column: put a text")
