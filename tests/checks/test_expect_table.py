"""expect_table: what a student sees of a table of cases, in any order of good and bad rows."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from proflab.lesson import expect_table


def test_each_row_that_passes_has_a_short_line(capsys):
    expect_table(
        lambda *given: given[0] if len(given) == 1 else given,
        ("a number", (2_362_368,), 2_362_368),
        ("a bool needs no more words", (True,), True),
        ("a long one", tuple(range(40)), list(range(40))),
        ("four numbers", (1, 2, 3, 4), [1, 2, 3, 4], {"in reverse": [4, 3, 2, 1]}),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["✅ a number: 2,362,368", "✅ a bool needs no more words"]
    assert lines[2] == "✅ a long one: (0, 1, 2, 3, 4, 5, 6, 7, …) (40 items)"
    assert lines[3:] == ["✅ four numbers: (1, 2, 3, 4)"]


def test_all_rows_are_tried_and_the_good_ones_come_first(capsys):
    with pytest.raises(AssertionError) as raised:
        expect_table(
            lambda a, b: a + b,
            ("a first sum", (1, 1), 19, {"a number is left out": 2}),
            ("a second", (1, 2), 3),
            ("a third", (2, 2), [4]),
            ("a fourth", (3, 2), 5),
        )
    assert capsys.readouterr().out == "✅ a second: 3\n✅ a fourth: 5\n"
    first, hint, third = str(raised.value).splitlines()
    assert first.startswith("❌ a first sum: got 2, expected 19")
    assert hint == "   a number is left out"
    assert third == "❌ a third: got 4, expected [4]"


def test_each_of_several_tuples_has_to_raise(capsys):
    row = ("no number", [("x",), ("1",), ("y",), ("2",)], ValueError)
    expect_table(int, ("text", [("x",), ("y",)], ValueError), ("one", ("z",), ValueError))
    assert capsys.readouterr().out == "✅ text: ValueError\n✅ one: ValueError\n"
    with pytest.raises(AssertionError) as raised:
        expect_table(int, row)
    assert str(raised.value).splitlines() == [
        "❌ no number (2 of 4): expected ValueError, but nothing was raised (got 1)",
        "❌ no number (4 of 4): expected ValueError, but nothing was raised (got 2)",
    ]
    with pytest.raises(AssertionError, match="expected KeyError, but ValueError was raised"):
        expect_table(int, ("no number", ("x",), KeyError))


def test_a_tolerance_is_for_every_row():
    rows = ("near", (1.0, 1), 1.04), ("nearer", (2.0, 1), 2.04)
    expect_table(lambda a, b: a * b, *rows, abs=0.05)
    expect_table(lambda a, b: a * b, *rows, rel=0.05)
    with pytest.raises(AssertionError, match="❌ near: got 1, expected 1.04"):
        expect_table(lambda a, b: a * b, *rows, rel=0.03)


def test_what_the_function_raises_is_passed_on_once_all_rows_are_told(capsys):
    with pytest.raises(ZeroDivisionError) as raised:
        expect_table(
            divmod,
            ("by 0", (1, 0), (0, 0)),
            ("by 2", (4, 2), (2, 0)),
            ("wrong", (4, 3), "1"),
            ("text", ("a", 2), (0, 0)),
        )
    assert capsys.readouterr().out.splitlines() == [
        "✅ by 2: (2, 0)",
        f"❌ by 0: ZeroDivisionError: {raised.value}",
        "❌ wrong: got (1, 1), expected '1'",
        "❌ text: TypeError: unsupported operand type(s) for divmod(): 'str' and 'int'",
    ]


@pytest.mark.parametrize("row", [("a sum", (1,), 1), ("none", (0,), ValueError)])
def test_an_exercise_to_be_written_stays_one(row, capsys):
    def stub(size):
        raise NotImplementedError()

    with pytest.raises(NotImplementedError):
        expect_table(stub, row)
    assert capsys.readouterr().out == ""
    expect_table(stub, ("no rule", (1,), NotImplementedError))


def test_an_interrupt_is_not_caught():
    def stopped(size):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        expect_table(stopped, ("a", (1,), 1))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "at least one row, (label, arguments, result)"),
        ([("a", (1,), 1), ("b", (2,))], "row 2 of expect_table: write (label"),
        ([["a", (1,), 1]], "row 1 of expect_table: write (label"),
        ([("a", 1, 1)], "row 1 of expect_table ('a'): the arguments are a tuple, (x,) for one"),
        ([("a", [(1,)], 1)], "row 1 of expect_table ('a'): the arguments are a tuple"),
        ([("a", [(1,), 2], ValueError)], "a list of tuples where each has to raise"),
    ],
)
def test_a_row_of_another_form_is_named_before_anything_is_called(rows, sentence):
    called = []
    with pytest.raises(TypeError) as raised:
        expect_table(called.append, *rows)
    assert sentence in str(raised.value)
    assert called == []


def test_a_notebook_shows_a_failed_table_and_a_stub_as_their_sentences_alone(tmp_path):
    cells = [
        "from proflab.lesson import expect_table",
        "def area(a, b):\n    raise NotImplementedError()",
        "expect_table(area, ('one', (1, 1), 1), ('none', (0, 0), ValueError))",
        "expect_table(max, ('one', (1, 1), 1), ('two', (1, 2), 'b'))",
    ]
    notebook = new_notebook(cells=[new_code_cell(text) for text in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, allow_errors=True, resources=resources).execute()
    (stub,), (passed, failed) = (cell.outputs for cell in notebook.cells[2:])
    assert stub.ename == "NotImplementedError" and "`area`" in "".join(stub.traceback)
    assert "expect.py" not in "".join(stub.traceback)
    assert passed.text == "✅ one: 1\n"
    assert failed.traceback == ["❌ two: got 2, expected 'b'"]
