"""Work logs in the grader: checked apart from student code, whatever the student's process says."""

import hashlib
import re
import sys
from types import SimpleNamespace

import nbformat
import pytest
from grading_course import warm_runner
from log_course import LESSON, course_in, handed, source, support

from proflab import stack
from proflab.checks.values import dumps
from proflab.lesson.race import show, traced
from proflab.lesson.race.check_log import RULES
from proflab.lesson.race.log import MIME
from proflab_course.build.in_process import run_cell
from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.command import grade_class
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.races import METADATA

SOLVED = next(c.source for c in source().cells if c.source.startswith("def work_log"))


@pytest.fixture(scope="module")
def key():
    return make_key(LESSON, source())


def graded(key, **functions):
    notebook = handed(**functions)
    return grade_notebook(notebook, key, folder=support(), full=False, runner=warm_runner())


def lost(result):
    return {case.label.split()[0]: case.reason for case in result.cases if not case.passed}


def test_a_consistent_log_earns_its_points_and_an_unwritten_one_none(key):
    result = graded(key)
    assert result.scores == {
        "test_rows": 75, "test_work_log": 5, "test_work_log_2": 5, "test_work_log_3": 5,
        "test_work_log_4": 5, "test_work_log_5": 5,
    }, [case for case in result.cases if not case.passed]  # fmt: skip
    printed = str([cell.outputs for cell in result.notebook.cells if cell.cell_type == "code"])
    assert all(f": {sentence}" in printed for sentence in RULES.values()) and "'op'" not in printed
    stub = graded(key, work_log="def work_log(log):\n    raise NotImplementedError")
    empty = graded(key, work_log="def work_log(log):\n    pass")
    assert stub.score == empty.score == 75


def test_a_rule_that_does_not_hold_costs_its_own_points(key):
    for gap in ("", ", 2.1 times the floor"):
        result = graded(key, work_log=SOLVED.replace(", 2.0 times the floor", gap))
        assert result.score == 95 and "tells no gap, or a wrong one: " in lost(result)["stop"]


FORGED = {
    "counts": ("data['steps'][0]['counted_ms'] = 0.05", {"costs"}, "its row says 0.05"),
    "times": ("data['steps'][1]['speedup'] = 20.0", {"times"}, "speedup is 20"),
    "NaN": ("data['steps'][0]['low'] = float('nan')", None, "low is no number above 0"),
    "a tape": ("data['steps'][2]['tape'] = data['steps'][0]['tape']", {"costs", "order"}, "costs"),
    "no log": ("data = 100", None, "this is no work log"),
    "deep": ("data = [[[[[[[[[data]]]]]]]]]", None, "nested more than"),
    "huge": ("data['stop'] = 'x' * 2_000_000", None, "this is no work log"),
    "huge steps": ("data['steps'] *= 10_000", None, "(at most 30 steps|larger than)"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_log_loses_points_by_a_sentence_and_nothing_else(name, key):
    line, rules, sentence = FORGED[name]
    forged = f"""{SOLVED}
old = log.data
def data(work_log=None):
    data = old(work_log)
    {line}
    return data
log.data = data
"""
    result = graded(key, work_log=forged)
    failed = lost(result)
    assert result.scores["test_rows"] == 75 and result.status == "graded"
    assert {*failed} >= (rules or {"costs", "times", "order", "largest", "stop"})
    assert re.search(sentence, str(failed))


def test_nothing_of_the_students_process_decides(key):
    patched = (
        SOLVED
        + """
import built
from proflab.lesson.race import check_log
check_log.check_log = lambda *a, **k: dict.fromkeys(check_log.RULES, "")
check_log.compared = lambda *a: (0.0, "")
built.speedup_interval = speedup_interval = lambda a, b: {"speedup": 9.0, "low": 8.0, "high": 10.0}
built.gate = gate = lambda *a: "faster"
race.count_with(lambda call, result: op_facts(call, result) | {"bytes_read": 10**9})
"""
    )
    result = graded(key, work_log=patched)
    assert {"costs", "times"} <= {*lost(result)} and result.scores["test_rows"] == 75


def test_the_students_own_times_are_graded_and_nothing_is_measured_again(key, tmp_path):
    course = course_in(tmp_path)
    folder = course.root / "submitted" / "ada" / LESSON
    folder.mkdir(parents=True)
    slower = SOLVED + "\nfrom proflab.lesson.race import log as made\nmade.timed_pairs = None\n"
    notebook = handed(work_log=slower)
    times = [[2.0 + n / 100 for n in range(12)], [1.0] * 12]
    steps = [{"digest": digest, "before": times[0], "after": times[1]} for digest in digests()] + [
        {"digest": "no", "before": [1.0], "after": None},
        {"digest": "0" * 64, "before": "x"},
    ]
    cell = notebook.cells[-1] if notebook.cells[-1].cell_type == "code" else notebook.cells[1]
    cell.outputs = [
        nbformat.v4.new_output("display_data", {MIME: step, "text/plain": ""}) for step in steps
    ]
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")
    [row] = grade_class(course, LESSON, warm_runner(), progress=False)
    assert (row.status, row.score) == ("graded", 100)


def digests():
    """What the steps of the solution are known by."""
    scope = {"stack": stack}
    exec(
        next(
            c.source
            for c in source().cells
            if "def rows" in c.source and "def slow" not in c.source
        ),
        scope,
    )
    exec(
        next(c.source for c in source().cells if "def slow_rows" in c.source).partition("log =")[0],
        scope,
    )
    found = []

    def step(program, change, guess, because, rejected=""):
        tape = traced(program, x=(16, 8), b=(8,))
        found.append((list(tape), not rejected))

    exec(SOLVED, scope)
    scope["work_log"](SimpleNamespace(step=step, stop=lambda text: None))
    before = list(traced(scope["slow_rows"], x=(16, 8), b=(8,)))
    for tape, kept in found:
        yield hashlib.sha256(dumps([before, tape])).hexdigest()
        before = tape if kept else before


def test_a_log_is_about_a_program_that_is_raced(key):
    notebook = source()
    for cell in notebook.cells:
        if 'rule="costs"' in cell.source:
            cell.source = cell.source.replace("x=(16, 8)", "x=(17, 8)")
    other = make_key(LESSON, notebook)
    assert METADATA in notebook.metadata
    said = f"{LESSON}, cell test_work_log, '.*': no race of this lesson is against"
    with pytest.raises(CourseError, match=said):
        graded(other)


CASE = 'expect_log("a", log.data(), traced(f, x=(8, 8)), rule="costs", like=slow, machine="DESK")'


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (CASE.replace("costs", "speed"), "rule of costs, times, order, largest, stop"),
        (CASE.replace("DESK", "CRAY"), "machine is one of DESK, T4"),
        (CASE.replace("traced(f, x=(8, 8))", "tape"), "is a call of traced"),
        (CASE.replace("log.data(), ", ""), "takes a label, a log and"),
        (CASE.replace(', rule="costs"', ""), "expect_log needs rule="),
        (CASE.replace("like=slow", "like=slow, full=1"), "takes no argument full"),
    ],
)
def test_the_grammar_of_a_log(source, sentence):
    with pytest.raises(GrammarError, match=sentence):
        split(source, "test_f")


def test_a_log_crosses_as_code_without_its_rule():
    [block] = split(CASE, "test_f").blocks
    assert block.steps[0].code == "[log.data(), traced(f, x=(8, 8))]"
    assert block.answers[0].held.given == "traced(slow, x=(8, 8))"
    assert not split(CASE, "test_f").is_race


def test_a_cohort_judges_a_log_in_its_own_process(functions_of_lesson):
    [case] = run_cell(functions_of_lesson["test"], functions_of_lesson["scope"])
    assert case.passed and case.label == "stop hold"


@pytest.fixture
def functions_of_lesson(key, monkeypatch):
    monkeypatch.syspath_prepend(support())
    monkeypatch.delitem(sys.modules, "built", raising=False)
    monkeypatch.setenv("PROFLAB_MINE", "off")
    monkeypatch.setattr(show, "counting", {})
    scope = {"__name__": "a_notebook"}
    for cell in source().cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about.get("grade_id", "").startswith(
            ("log_imports", "slow_programs", "rows", "work_log")
        ):
            exec(cell.source, scope)
    yield {"test": key.tests["test_work_log_5"], "scope": scope}
    sys.modules.pop("built", None)
