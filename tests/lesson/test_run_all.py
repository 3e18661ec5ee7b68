"""Run All goes to the end, errors are one sentence, the last cell says where the student is."""

import dataclasses
from types import SimpleNamespace

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell
from run_all import NAME, SOLUTIONS, filled, kinds, released, run_all, shown

from proflab.checks import expect
from proflab.lesson import guesses
from proflab.lesson import run_all as hooks
from proflab.lesson.kernel_record import KernelRecord, TestRun
from proflab.lesson.outline import Exercise, LessonCell, Outline
from proflab.lesson.progress import MIME, measure


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return released(tmp_path_factory.mktemp("course")) / NAME


@pytest.fixture(scope="module")
def nothing(folder):
    return run_all(folder, filled(folder))


@pytest.fixture(scope="module")
def everything(folder):
    notebook = filled(folder, **SOLUTIONS)
    guess = next(cell for cell in notebook.cells if cell.source.startswith("guess_field"))
    guess.source = "guess_field = 10_000"
    return run_all(folder, notebook)


def test_a_milestone_that_cannot_be_shown_stops_nothing():
    milestone = ("You can divide.", "1 / 0")
    outline = Outline("01_going_on", {"area": Exercise("area", tests={"test_area": 5})}, {})
    record = KernelRecord(dataclasses.replace(outline, milestone=milestone))
    assert measure(record, record.outline).milestone == []
    record.tests["test_area"] = TestRun("passed")
    sentence, instead = measure(record, record.outline).milestone
    assert sentence == "You can divide." and "ZeroDivisionError" in instead


@pytest.fixture(scope="module")
def left_out(folder):
    """One exercise is left out."""
    return run_all(folder, filled(folder, **LEFT_OUT))


LEFT_OUT = {name: text for name, text in SOLUTIONS.items() if name != "area"}


def test_nothing_written(nothing):
    assert set(kinds(nothing).values()) == {"NotImplementedError"}
    assert shown(nothing["test_area"]) == "`area` is not written yet: section 1"
    assert shown(nothing["demo_field"]) == "`area` is not written yet: section 1"
    assert shown(nothing["demo_squares"]) == "`squares` is not written yet: section 2"
    table = shown(nothing["where_am_i"])
    assert "⬜ area       section 1   0 of 40 points  not written yet" in table
    assert "So far 0 of 100 points" in table and "You can" not in table
    assert "Next: write `area` (section 1, 10 min)." in table


def test_everything_written(everything):
    assert kinds(everything) == {}
    table = shown(everything["where_am_i"])
    assert "✅ count_ops  section 2  30 of 30 points  passes its visible checks" in table
    assert "So far 100 of 100 points" in table
    assert "\nYou can count ops of anything.\n0 ops in 9 m²" in table
    assert "the essay (Reflect, 10 points by hand), then Restart Kernel" in table
    assert "the field: 10,800 m²; you guessed 10,000 m², 7.4 % too low" in table


def test_one_left_out_is_named_by_all_that_need_it(left_out):
    sentence = "`area` is not written yet: section 1"
    for name in ("test_area", "demo_field", "test_squares", "demo_squares", "demo_ops"):
        assert shown(left_out[name]) == sentence, name
    assert shown(left_out["test_count_ops"]) == "✅ one addition: 1"
    table = shown(left_out["where_am_i"])
    assert "⬜ squares    section 2   0 of 30 points  `area` is not written yet" in table
    assert "So far 30 of 100 points" in table and "Next: write `area`" in table


def test_the_output_carries_the_table_as_data(left_out):
    (output,) = left_out["where_am_i"].outputs
    rows = {row["name"]: row for row in output.data[MIME]["rows"]}
    assert rows["area"]["state"] == "not written" and rows["squares"]["state"] == "waits"
    assert rows["count_ops"]["earned"] == 30


HOOKED = """
def count_ops(action):
    sizes = {}

    def hook(call):
        result = call()
        sizes[call.op] += result.size
        return result

    with dispatch.hook(hook):
        action()
    return len(sizes)
"""
NESTED = "def squares(sides):\n    return [half(side) for side in sides]\n\n\n" + (
    "def half(side):\n    return squares([side, side])"
)


@pytest.mark.whole
def test_an_exception_is_a_sentence_and_the_students_own_lines(folder):
    wrong = {**SOLUTIONS, "count_ops": HOOKED, "squares": NESTED}
    notebook = filled(folder, **{**wrong, "area": "def area(width, height):\n    return width"})
    cells = run_all(folder, notebook)
    assert shown(cells["test_count_ops"]).splitlines() == [
        "`count_ops` (section 2) raised KeyError: 'add'",
        "    line 10 in count_ops:  action()",
        "    line 6 in hook:  sizes[call.op] += result.size",
    ]
    deep = shown(cells["test_squares"]).splitlines()
    assert deep[0].startswith("`squares` (section 2) raised RecursionError") and len(deep) == 6
    assert "calls before" in deep[1]
    assert shown(cells["test_area"]).startswith("❌ three by four: got 3, expected 12")
    table = shown(cells["where_am_i"])
    assert "❌ area       section 1   0 of 40 points  three by four: got 3, expected 12" in table
    assert "❌ count_ops  section 2   0 of 30 points  KeyError: 'add'" in table
    assert "Next: mend `area` (section 1); the cell below it" in table


SLIPS = {
    "def area(width):\n    return width": (
        "`area` (section 1) has lost a parameter or has another one (area() takes 1 positional "
        "argument but 2 were given): give it those that its docstring names"
    ),
    "def area(width, height):\n    return math.prod([width, height])": (
        "`area` (section 1) uses `math`, which nothing imports: write `import math` into its cell"
    ),
    "def area(width, height):\n    return input('width? ')": (
        "`area` (section 1) raised RuntimeError: nobody answers input() where a notebook is "
        "graded: take an argument instead"
    ),
    "class Refused(ValueError):\n    pass\n\n\ndef area(width, height):\n    raise Refused('no')": (
        "`area` (section 1) raised Refused: no"
    ),
    "def area(width, height):\n    return width * height\n\n\narea = area(3, 4)": (
        "`area` is no longer your function but of type int: run its cell again (section 1), "
        "and give the result another name"
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("wrong", SLIPS)
def test_a_slip_of_beginners_is_told_in_one_sentence(folder, wrong):
    cells = run_all(folder, filled(folder, area=wrong))
    assert shown(cells["test_area"]).splitlines()[0] == SLIPS[wrong]
    assert "Traceback" not in shown(cells["test_area"])


@pytest.mark.whole
def test_a_demo_that_a_wrong_function_breaks_names_it(folder):
    notebook = filled(folder, **{**SOLUTIONS, "squares": "def squares(sides):\n    pass"})
    cells = run_all(folder, notebook)
    assert kinds(cells)["demo_squares"] == "AttributeError"
    assert shown(cells["demo_squares"]).splitlines() == [
        "AttributeError: 'NoneType' object has no attribute 'max'",
        "This cell needs `squares`, which does not pass its checks: section 2.",
        '    line 1 of this cell:  print("the largest:", squares([4, 5]).max())',
    ]
    assert "line 1 of this cell" in shown(cells["test_squares_2"])


def test_a_wrong_function_judges_no_guess(folder):
    notebook = filled(folder, **{**SOLUTIONS, "area": "def area(width, height):\n    return width"})
    guess = next(cell for cell in notebook.cells if cell.source.startswith("guess_field"))
    guess.source = "guess_field = 10_000"
    cells = run_all(folder, notebook)
    said = (
        "the field: 90 m², but `area` does not pass its checks: your guess is judged when it does"
    )
    assert shown(cells["demo_field"]) == said
    assert said in shown(cells["where_am_i"])
    (output,) = cells["demo_field"].outputs
    assert output.data[guesses.MIME]["failing"] == ["area"]


@pytest.mark.whole
def test_a_guess_is_judged_though_refusals_are_not_written(folder):
    trusting = "def area(width, height):\n    return width * height"
    notebook = filled(folder, **{**SOLUTIONS, "area": trusting})
    guess = next(cell for cell in notebook.cells if cell.source.startswith("guess_field"))
    guess.source = "guess_field = 10_000"
    cells = run_all(folder, notebook)
    assert "❌ a negative side: expected ValueError" in shown(cells["test_area"])
    said = "the field: 10,800 m²; you guessed 10,000 m², 7.4 % too low"
    assert shown(cells["demo_field"]) == said
    table = shown(cells["where_am_i"])
    assert said in table and "❌ area       section 1   0 of 40 points" in table


@pytest.mark.parametrize(
    ("rows", "is_wrong"),
    [
        ("('a value', (6, 3), (2, 0)), ('a refusal', [(1, 1), (1, 2)], ValueError)", False),
        ("('a value', (6, 3), (2, 1)), ('a refusal', (1, 1), ValueError)", True),
        ("('a refusal', (1, 1), ValueError), ('a value', (1, 0), 0)", True),
    ],
)
def test_a_table_whose_refusals_alone_fail_has_no_wrong_value(rows, is_wrong):
    with pytest.raises(Exception) as caught:
        eval(f"expect.expect_table(divmod, {rows})", {"expect": expect})
    cell = LessonCell("test_divide", "test")
    record = KernelRecord(Outline("01_x", {}, {}))
    record.tests["test_divide"] = hooks._ended(caught.value, "", "", record.outline, cell)
    assert record.is_wrong(Exercise("divide", tests={"test_divide": 1.0})) is is_wrong


def test_a_kernel_that_forgot_the_cells_above_says_so(folder):
    notebook = filled(folder, **SOLUTIONS)
    notebook.cells = [
        cell for cell in notebook.cells if cell.id not in ("Field", "imports", "test_area")
    ]
    needs = "import proflab.lesson\nfrom proflab.lesson import expect\nfrom proflab import dispatch"
    notebook.cells.insert(2, new_code_cell(needs, id="own"))
    cells = run_all(folder, notebook)
    above = "run the cells above first (Run › Run All Above Selected Cell)"
    assert shown(cells["test_count_ops"]) == f"NameError: name 'Tensor' is not defined: {above}"
    assert shown(cells["demo_ops"]) == f"NameError: name 'Field' is not defined: {above}"


def test_a_cell_that_was_left_out_is_named(folder):
    cells = run_all(folder, filled(folder, **{**SOLUTIONS, "squares": "# later"}))
    for name in ("test_squares", "demo_squares"):
        assert shown(cells[name]) == "`squares` is not defined, so run its cell first: section 2"


@pytest.mark.whole
def test_a_students_own_cell_stops_as_it_always_does(folder):
    notebook = filled(folder, **SOLUTIONS)
    notebook.cells.insert(-1, new_code_cell("width = 3\nwidth / 0", id="own"))
    with pytest.raises(CellExecutionError):
        run_all(folder, notebook)
    cells = {cell.id: cell for cell in notebook.cells}
    assert "Traceback (most recent call last)" in shown(cells["own"])
    assert not cells["where_am_i"].outputs


@pytest.mark.whole
def test_a_students_own_call_of_an_exercise_is_told_in_a_sentence(folder):
    notebook = filled(folder, **LEFT_OUT)
    notebook.cells.insert(-1, new_code_cell("area(2, 3)", id="own"))
    notebook.cells.insert(-1, new_code_cell("print('on')", id="after"))
    cells = run_all(folder, notebook)
    assert shown(cells["own"]) == "`area` is not written yet: section 1"
    assert shown(cells["after"]) == "on"


@pytest.mark.whole
def test_an_exercise_that_was_changed_must_be_tested_again(folder):
    notebook = filled(folder, **SOLUTIONS)
    again = new_code_cell("def area(width, height):\n    return 0", id="again")
    notebook.cells.insert(-1, again)
    table = shown(run_all(folder, notebook)["where_am_i"])
    assert "⬜ area       section 1   0 of 40 points  its test cells are still to be run" in table
    assert "Next: run the cells of `area`" in table


@pytest.mark.parametrize("text", ["", "[]", '{"lesson": "x", "exercises": [], "cells": []}'])
def test_a_damaged_lesson_json_is_as_none(tmp_path, text):
    (tmp_path / "lesson.json").write_text(text)
    assert Outline.read(tmp_path) is None


@pytest.mark.whole
def test_without_lesson_json_the_notebook_still_goes_on(folder, tmp_path):
    alone = tmp_path / NAME
    alone.mkdir()
    cells = run_all(alone, filled(folder, **LEFT_OUT))
    assert shown(cells["test_area"]) == "`area` is not written yet"
    assert "proflab check" in shown(cells["where_am_i"])


def test_a_progress_bar_is_not_red(folder):
    notebook = filled(folder)
    bar = "from proflab.lesson.demo import progress_bar\nprint(list(progress_bar(range(3))))"
    notebook.cells = [*notebook.cells[:3], new_code_cell(bar, id="bar")]
    outputs = run_all(folder, notebook)["bar"].outputs
    assert {output.name for output in outputs} == {"stdout"}
    assert "[0, 1, 2]" in "".join(output.text for output in outputs)


def test_an_optional_exercise_is_shown_and_asked_of_nobody():
    exercises = [
        Exercise("extra", "1", 10, {"test_extra": 0.0}),
        Exercise("due", "", None, {"t": 5}),
    ]
    record = KernelRecord(Outline("01_x", {each.name: each for each in exercises}, {}, (0, "")))
    record.tests["t"] = TestRun("failed", "❌ a case: got 1, expected 2")
    progress = measure(record, record.outline)
    assert progress.text().splitlines()[:2] == [
        "⬜ extra  section 1  optional         its test cells are still to be run",
        "❌ due                 0 of 5 points  a case: got 1, expected 2",
    ]
    assert progress.next == "Next: mend `due`; the cell below it says what was expected."
    record.tests["t"] = TestRun("passed")
    assert measure(record, record.outline).next.startswith(
        "Next: Restart Kernel and Run All Cells, and hand in."
    )


def test_the_hooks_are_installed_once(folder):
    notebook = filled(folder, **SOLUTIONS)
    twice = "import importlib, proflab.lesson\nimportlib.reload(proflab.lesson)\n"
    count = "len([f for f in get_ipython().events.callbacks['post_run_cell'] if 'proflab' in "
    notebook.cells = [
        *notebook.cells[:3],
        new_code_cell(twice + count + "type(f.__self__).__module__])", id="count"),
    ]
    assert shown(run_all(folder, notebook)["count"]) == "1"


def test_a_browsers_kernel_is_told_that_a_cell_went_well_and_shows_its_sentence(capsys):
    """pyodide_kernel keeps what is to be shown, and takes what it kept for a failure."""
    shell = SimpleNamespace(_last_traceback={"ename": "CaseFailed", "traceback": ["one", "two"]})
    hooks._show_now(shell)
    assert shell._last_traceback is None and capsys.readouterr().err == "one\ntwo\n"
    elsewhere = SimpleNamespace(_last_traceback=["shown already"])  # as ipykernel's
    hooks._show_now(elsewhere)
    assert elsewhere._last_traceback == ["shown already"] and capsys.readouterr().err == ""
