"""One notebook, graded: what earns points, what does not, and what its graded copy shows."""

import json

import nbformat
import pytest
from grading_course import (
    ROOT,
    cell,
    release,
    solved,
    source,
    warm_runner,
    without_metadata,
)
from nbformat.v4 import new_code_cell

from proflab_course.course.layout import CourseError
from proflab_course.grading import failed_setup
from proflab_course.grading.answer_key import make_key, read_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Reply, Result
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import NOT_TRIED

KEY = make_key("01_parameters", source())
HELPFUL = """
def linear_parameters(in_features, out_features, bias=True):
    import sys
    print("computing", in_features)
    print("a warning", file=sys.stderr)
    if min(in_features, out_features) < 1:
        raise ValueError("sizes must be at least 1")
    return in_features * out_features + (out_features if bias else 0)
"""


def graded(notebook, **options):
    return grade_notebook(notebook, KEY, full=False, **{"runner": warm_runner()} | options)


def test_the_source_earns_everything_and_the_release_nothing():
    assert graded(source()).score == KEY.max_score == 100
    empty = graded(release())
    assert empty.score == 0
    # An exercise is not written yet; a concept question is open.
    assert {name for _, name, _ in empty.errors} == {"NotImplementedError", "ValueError"}


def test_a_source_that_nbgrader_cannot_use_is_one_sentence(tmp_path):
    notebook = source()
    cell(notebook, "test_linear_parameters").metadata.nbgrader.points = "many"
    nbformat.write(notebook, path := tmp_path / "01_parameters.ipynb")
    with pytest.raises(CourseError, match="01_parameters.ipynb is unusable .*run `proflab build`"):
        read_key(path)


def test_a_test_cell_is_all_or_nothing_and_every_case_is_judged():
    visible_only = "def linear_parameters(i, o, bias=True):\n    return {2: 8}.get(o, 0)"
    result = graded(solved(linear_parameters=visible_only))
    assert result.scores["test_linear_parameters"] == 0
    cases = [c for c in result.cases if c.cell == "test_linear_parameters"]
    assert [c.passed for c in cases[:2]] == [True, False]
    assert len(cases) == len(KEY.tests["test_linear_parameters"].answers)


def test_what_would_fail_honest_work_does_not():
    notebook = solved(linear_parameters=HELPFUL)
    notebook.cells.insert(4, new_code_cell("1 / 0"))
    notebook.cells.insert(4, new_code_cell("%timeit -n1 -r1 sum(range(3))"))
    result = graded(notebook)
    assert (result.score, result.status, result.sentence) == (100, "graded", "")


def test_outputs_are_those_of_a_run():
    notebook = solved(linear_parameters=HELPFUL)
    notebook.cells.insert(4, new_code_cell("print('seen')\n6 * 7"))
    result = graded(notebook)
    nbformat.validate(result.notebook)
    outputs = result.notebook.cells[4].outputs
    assert outputs[0].text == "seen\n"
    assert outputs[1].data["text/plain"] == "42"
    tested = cell(result.notebook, "test_linear_parameters").outputs
    text = "".join(o.text for o in tested if o.output_type == "stream" and o.name == "stdout")
    assert "✅ 768 → 3072: 2,362,368" in text


def test_a_failed_case_says_why_in_the_graded_notebook():
    no_bias = "def linear_parameters(i, o, bias=True):\n    return i * o"
    outputs = cell(graded(solved(linear_parameters=no_bias)).notebook, "test_linear_parameters")
    error = next(o for o in outputs.outputs if o.output_type == "error")
    assert "❌ 768 → 3072: got 2,359,296, expected 2,362,368 (3,072 too few)" in error.traceback[1]
    assert "is a term left out, such as a bias?" in error.traceback[1]


def test_a_process_that_ends_keeps_what_was_earned_before():
    notebook = solved()
    place = notebook.cells.index(cell(notebook, "conv2d_parameters"))
    notebook.cells.insert(place, new_code_cell("import os; os._exit(1)"))
    result = graded(notebook)
    assert result.status == "process died"
    assert result.scores["test_linear_parameters"] == 6
    assert result.scores["test_conv2d_parameters"] == 0


@pytest.mark.whole
def test_an_endless_loop_costs_its_own_points_only():
    notebook = solved(linear_parameters="def linear_parameters(*_):\n    while True: pass")
    limits = Limits(cell_seconds=0.3, notebook_seconds=60, wall_factor=100)
    result = graded(notebook, runner=SubprocessRunner(limits))
    assert result.status == "timed out"
    assert result.scores["test_linear_parameters"] == 0
    assert result.scores["test_conv2d_parameters"] == 6


def test_lost_metadata_costs_nothing():
    result = graded(without_metadata(solved()))
    assert (result.score, result.status) == (100, "metadata recovered")


@pytest.mark.whole
def test_demo_cells_run_only_when_asked():
    shown = cell(graded(solved()).notebook, "demo_linear")
    assert (shown.outputs, shown.execution_count) == ([], None)


@pytest.mark.whole
def test_full_runs_demo_cells_and_keeps_their_pictures():
    folder = ROOT / "release" / "01_parameters"  # the lesson's pictures are drawn by its demos.py
    result = grade_notebook(solved(), KEY, folder, full=True)
    shown = [o.get("data", {}) for o in cell(result.notebook, "demo_linear").outputs]
    assert any("data:image/png" in data.get("text/html", "") for data in shown)
    assert result.errors == []


@pytest.mark.parametrize("text, waits", [(None, False), ("An answer.", True)])
def test_an_unanswered_essay_waits_for_nobody(text, waits):
    notebook = solved()
    if text:
        cell(notebook, "essay_parameters").source = text
    assert (graded(notebook).unanswered == []) is waits


SETUP = """
expect("three", area(3), 9)
surface = area(-1)
half = surface / 2
{}expect("four", area(4), 16)
"""
AREA = "def area(side):\n    return side**2"
WRONG_AREA = "def area(side):\n    return [0, 1, 2, 9, 16][side] if side > 0 else [][0]"


def with_setup(hidden, setup=SETUP):
    """A lesson of one exercise, in whose test cell all but the first line may be hidden."""
    block = "### BEGIN HIDDEN TESTS\n{}### END HIDDEN TESTS\n" if hidden else "{}"
    first, rest = setup.strip().split("\n", 1)
    cells = [
        new_code_cell("from proflab.lesson import expect"),
        marked("area", AREA, solution=True),
        marked("test_area", f"{first}\n{block.format(rest.format('') + chr(10))}", 100),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def judged(notebook, key):
    return grade_notebook(notebook, key, runner=warm_runner())


def wrong(key, code):
    """A hand-in for that lesson."""
    notebook = nbformat.from_dict(key)
    notebook.cells[1].source = code
    return notebook


@pytest.mark.parametrize("hidden", [False, True])
def test_behind_set_up_that_raises_nothing_is_reached(hidden):
    key = with_setup(hidden)
    assert judged(key, key).score == 100
    result = judged(wrong(key, WRONG_AREA), key)
    assert result.score == 0
    verdicts = [(case.label, case.passed, case.reason) for case in result.cases]
    assert verdicts == [("three", True, ""), ("four", False, "not reached: IndexError")]
    text = json.dumps(result.notebook.cells[2].outputs, ensure_ascii=False)
    assert "❌ `surface = area(-1)` ended with IndexError: list index out of range" in text
    assert "four" in text and "not reached" in text and "half" not in text
    assert ("[][0]" in text) is not hidden  # the student's own line, where they may see it
    assert ("your `area` raised IndexError" in text) is hidden


@pytest.mark.parametrize("slow", [0, 1])
def test_where_time_ran_out_the_rest_says_so_and_set_up_is_not_blamed(slow):
    """The first case ran out of time, or the first statement of the set-up."""

    class Slow:
        def run(self, submission, plan):
            late = Reply("lost", message="a cell used more than 5 CPU seconds")
            block = [Reply("value", value=9)] * slow + [late]
            block += [Reply("lost", message=NOT_TRIED)] * (4 - len(block))
            return Result(replies=[[Reply("done")], [Reply("done")], block])

    key = with_setup(False)
    result = grade_notebook(key, key, runner=Slow())
    assert result.score == 0
    text = json.dumps(result.notebook.cells[2].outputs, ensure_ascii=False)
    if slow == 0:
        assert [case.reason for case in result.cases][1] == NOT_TRIED
        assert "surface" not in text
    else:
        said = "not reached: a cell used more than 5 CPU seconds"
        assert [case.reason for case in result.cases] == ["", said]
        assert "`surface = area(-1)` ended with a cell used more than 5 CPU seconds" in text


def test_hidden_set_up_that_raises_ends_its_block_and_no_other():
    source = "expect('three', area(3), 9)\n{}### BEGIN HIDDEN TESTS\narea(-1)\n"
    source += "expect('four', area(4), 16)\n### END HIDDEN TESTS\nexpect('two', area(2), 4)\n"
    source += "### BEGIN HIDDEN TESTS\nexpect('one', area(1), 1)\n### END HIDDEN TESTS"
    key = with_setup(False)
    key.cells[2].source = source.format("")
    result = judged(wrong(key, WRONG_AREA.replace("2, 9", "4, 9")), key)
    assert {c.label: c.passed for c in result.cases} == {
        "three": True,
        "four": False,
        "two": True,
        "one": True,
    }
    reasons = {case.label: case.reason for case in result.cases if not case.passed}
    assert reasons["four"] == "not reached: IndexError"
    key.cells[2].source = source.format("area(-1)\n")
    result = judged(wrong(key, WRONG_AREA), key)
    assert [c.label for c in result.cases if c.reason == "not reached: IndexError"] == [
        "four",
        "two",
        "one",
    ]


TOLD = {
    "surface = area(-1)": "your `area` raised {}",
    "area(-1)": "your `area` raised {}",
    "sizes = [area(n) for n in (3, -1)]": "a step that uses your `area` raised {}",
    "surface = area(3)\nlarger = surface + area(-1)": "a step that uses your `area` raised {}",
    "surface = area(3)\nsurface[0]": "a step that uses your `area` raised TypeError",
    "from math import sqrt\nsqrt(area(3) - 10)": "a step that uses your `area` raised ValueError",
    "area = 3\nround(area, [])": "what prepares the case raised TypeError",
}


@pytest.mark.parametrize("statements", TOLD)
@pytest.mark.parametrize(
    "raised", ["ValueError('secret', side)", "type(f's{side}', (KeyError,), {})"]
)
def test_of_hidden_set_up_it_is_told_whose_it_is_and_which_of_pythons_errors(statements, raised):
    key = with_setup(True, f"expect('three', area(3), 9)\n{statements}\nexpect('four', 4, 4)")
    code = f"def area(side):\n    if side < 0: raise {raised}\n    return side**2"
    outputs = judged(wrong(key, code), key).notebook.cells[2].outputs
    [label] = [
        o.metadata.proflab.hidden.label
        for o in outputs
        if "proflab" in o.get("metadata", {}) and "reached" not in o.metadata.proflab.hidden
    ]
    assert label == TOLD[statements].format("ValueError" if "secret" in raised else "KeyError")
    error = json.dumps([o for o in outputs if o.output_type == "error"])
    assert label in error and "secret" not in error and "s-1" not in error


def test_whose_a_failed_set_up_is_is_worked_out_once_for_the_class(monkeypatch):
    key = make_key("small", with_setup(True, "expect('three', area(3), 9)\nsurface = area(-1)"))
    parsed, parse = [], failed_setup._parsed
    monkeypatch.setattr(failed_setup, "_parsed", lambda code: parsed.append(code) or parse(code))
    first = judged(wrong(with_setup(True), WRONG_AREA), key)
    once = list(parsed)
    assert once and judged(wrong(with_setup(True), WRONG_AREA), key).cases == first.cases
    assert parsed == once


def marked(name, source, points=0, solution=False):
    """A cell with nbgrader's metadata."""
    flags = {"grade": bool(points), "locked": bool(points), "points": points, "solution": solution}
    marks = {"grade_id": name, "schema_version": 3, "task": False, **flags}
    return new_code_cell(source, metadata={"nbgrader": marks})
