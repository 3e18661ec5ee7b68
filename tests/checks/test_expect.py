"""expect: what a student sees, and who gets a say."""

from __future__ import annotations

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from proflab.lesson import expect, expect_between, expect_raises


class Agreeable:
    """Equal to everything, and an int if you ask it."""

    __class__ = int

    def __eq__(self, other):
        return True

    def __repr__(self):
        raise RuntimeError("no")


def test_a_passed_case_prints_a_line(capsys):
    expect("Linear 128→64, one sample", 16_384, 16_384)
    expect_between("median", 4.5, 4.0, 5.2)
    expect_raises("negative size", lambda: int("x"), ValueError)
    expect("an unknown op is named", True, True)
    assert capsys.readouterr().out == (
        "✅ Linear 128→64, one sample: 16,384\n✅ median: 4.5\n✅ negative size: ValueError\n"
        "✅ an unknown op is named\n"
    )


def test_a_failed_case_says_what_was_got_and_why():
    with pytest.raises(AssertionError) as raised:
        expect("FLOPs of Linear 128→64", 8_192, 16_384)
    assert str(raised.value) == (
        "❌ FLOPs of Linear 128→64: got 8,192, expected 16,384 (half of it)\n"
        "   is a factor of 2 left out (a multiply-add is two FLOPs)?"
    )


def test_where_no_flops_are_counted_half_is_half():
    with pytest.raises(AssertionError) as raised:
        expect("one number in, four out", 4, 8, mistakes={"no bias": 7})
    assert str(raised.value) == "❌ one number in, four out: got 4, expected 8 (half of it)"


def test_a_mistake_of_the_lesson_is_named():
    with pytest.raises(AssertionError, match="tied weights are counted twice"):
        expect("GPT-2", 163, 124, mistakes={"tied weights are counted twice": 163})


def test_tolerances():
    expect("close", 1.0, 1.05, rel=0.05)
    expect("near", 1.0, 1.05, abs=0.06)
    with pytest.raises(AssertionError):
        expect("far", 1.0, 1.05, abs=0.04)


def test_between_fails():
    with pytest.raises(AssertionError, match="expected a number from 4 to 5.2"):
        expect_between("median", 5.3, 4.0, 5.2)


def test_raises_fails():
    with pytest.raises(AssertionError, match=r"nothing was raised \(got 8\)"):
        expect_raises("negative size", lambda: 8, ValueError)
    with pytest.raises(AssertionError, match="but TypeError was raised: no"):
        expect_raises("negative size", lambda: _raise(TypeError("no")), ValueError)


def test_an_exercise_to_be_written_stays_one():
    with pytest.raises(NotImplementedError):
        expect_raises("negative size", lambda: _raise(NotImplementedError()), ValueError)
    expect_raises("no rule", lambda: _raise(NotImplementedError("gelu")), NotImplementedError)


def test_an_interrupt_is_not_caught():
    with pytest.raises(KeyboardInterrupt):
        expect_raises("negative size", lambda: _raise(KeyboardInterrupt()), ValueError)


def test_an_object_with_its_own_eq_gets_no_say():
    with pytest.raises(AssertionError, match="a value of type Agreeable is not plain data"):
        expect("any", Agreeable(), 55)
    with pytest.raises(AssertionError):
        expect_between("any", Agreeable(), 0, 100)
    with pytest.raises(AssertionError, match="nothing was raised"):
        expect_raises("any", Agreeable, ValueError)


def test_a_subclass_that_cannot_be_shown_still_passes(capsys):
    class Shy(int):
        def __format__(self, spec):
            raise RuntimeError("no")

        __repr__ = __str__ = __format__

    expect("shy", Shy(5), 5)
    assert capsys.readouterr().out == "✅ shy: 5\n"


def test_an_error_that_cannot_be_printed_is_still_an_error():
    class Mute(ValueError):
        def __str__(self):
            raise RuntimeError("no")

    expect_raises("mute", lambda: _raise(Mute()), ValueError)


def test_jupyter_shows_a_failure_as_its_sentence_alone():
    notebook = new_notebook(
        cells=[
            new_code_cell("from proflab.lesson import expect"),
            new_code_cell("expect('the batch', 5, 6)"),
            new_code_cell("expect('the batch', 5 / 0, 6)"),
        ]
    )
    NotebookClient(notebook, allow_errors=True).execute()
    failed, raised = (cell.outputs[0] for cell in notebook.cells[1:])
    assert failed.traceback[0] == "❌ the batch: got 5, expected 6"
    assert "expect.py" not in "".join(failed.traceback)
    assert raised.ename == "ZeroDivisionError"
    assert "Traceback" in "".join(raised.traceback)


def _raise(error):
    raise error
