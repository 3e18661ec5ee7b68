"""Where a cell of the student's failed, it is named as the cause of what follows, and once."""

from types import SimpleNamespace

import pytest
from grading_course import cell, solved, source, warm_runner
from nbformat.v4 import new_code_cell

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.broken_cells import BrokenCells
from proflab_course.grading.grade_notebook import CaseResult, grade_notebook
from proflab_course.grading.match_cells import Aligned, Slot
from proflab_course.report.failed_cases import causes_once

KEY = make_key("01_parameters", source())
KINDS = {"a hidden case": True, "a visible case": False}


def failed_with(notebook):
    graded = grade_notebook(notebook, KEY, full=False, runner=warm_runner())
    return [case for case in graded.cases if not case.passed]


@pytest.mark.parametrize(
    "start, error",
    [
        ("<<<<<<< HEAD\n", "SyntaxError: invalid syntax (line 1)"),
    ],
)
def test_all_that_lacks_a_function_names_the_cell_that_should_define_it(start, error):
    code = start + cell(solved(), "linear_parameters").source
    failed = failed_with(solved(linear_parameters=code))
    reason = f"the cell of linear_parameters ended with {error}"
    assert {case.reason.removeprefix("not reached: ") for case in failed} == {reason}
    assert len({case.cell for case in failed}) > 2  # also of exercises that use it
    [once] = causes_once(failed)
    assert (once.label, once.reason) == (f"{len(failed)} cases", reason)


def test_what_stands_for_hidden_and_visible_cases_is_no_hidden_case():
    reason = "the cell of f ended with SyntaxError: invalid syntax"
    cases = [CaseResult("test_f", name, hidden, False, reason) for name, hidden in KINDS.items()]
    assert [(case.label, case.hidden) for case in causes_once(cases)] == [("2 cases", False)]
    assert causes_once(cases[:1]) == cases[:1] and cases[0].hidden


def test_a_helper_in_a_cell_of_the_students_own_is_named():
    code = "def linear_parameters(*sizes, **options):\n    return helper(*sizes)"
    notebook = solved(linear_parameters=code)
    notebook.cells.insert(1, new_code_cell("def helper(a, b=:\n    return a * b"))
    reasons = {c.reason for c in failed_with(notebook) if c.cell == "test_linear_parameters"}
    assert reasons == {"the cell of helper ended with SyntaxError: invalid syntax (line 1)"}


def test_an_error_that_is_not_for_lack_of_a_name_keeps_its_own_reason():
    code = cell(solved(), "linear_parameters").source + "\n\nprint(1 / 0)"
    assert failed_with(solved(linear_parameters=code)) == []
    wrong = "def linear_parameters(*sizes):\n    raise KeyError('x')\n\nprint(1 / 0)"
    reasons = {case.reason for case in failed_with(solved(linear_parameters=wrong))}
    assert not any("the cell of" in reason for reason in reasons)


def test_a_given_cell_between_them_leads_back_to_the_students():
    given = next(c for c in KEY.cells if c.kind == "locked" and c.released.cell_type == "code")
    slots = [Slot(new_code_cell("def f(:"), None), Slot(new_code_cell("model = f()"), given)]
    syntax, name = "invalid syntax (<x>, line 1)", "name 'f' is not defined"
    errors = [("SyntaxError", syntax), ("NameError", name)]
    outputs = [{"output_type": "error", "ename": kind, "evalue": text} for kind, text in errors]
    replies = {n: [[SimpleNamespace(outputs=[output])]] for n, output in enumerate(outputs)}
    broken = BrokenCells(Aligned(slots), replies)
    lacking = SimpleNamespace(raised=["NameError"], message="name 'model' is not defined")
    assert broken.cause(lacking) == "the cell of f ended with SyntaxError: invalid syntax (line 1)"
    other = SimpleNamespace(raised=["NameError"], message="name 'other' is not defined")
    assert broken.cause(other) == ""
