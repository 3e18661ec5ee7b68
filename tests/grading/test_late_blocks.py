"""Hidden blocks that share a copy of the notebook: which may, and that nobody loses by it."""

import nbformat
import pytest
from cohort.run import ROOT
from grading_course import LESSON, solved, source
from nbformat.v4 import new_code_cell

from proflab_course.cases.case import Step
from proflab_course.grading import late_blocks
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.defined_names import MAX_SCANNED
from proflab_course.grading.grade_notebook import grade_notebook, make_plan
from proflab_course.grading.limits import Limits
from proflab_course.grading.match_cells import align
from proflab_course.grading.plan import RunBlock, RunCell, Submission
from proflab_course.grading.run.cluster_messages import Task, pack_task, unpack_task
from proflab_course.grading.run.session import Session
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import NOT_TRIED

HERE = Submission("someone")
HIDE = "### BEGIN HIDDEN TESTS\n{}\n### END HIDDEN TESTS"
AREA = "def area(side):\n    return side**2"
VOLUME = "def volume(side):\n    return side * area(side)"


def marked(name, text, points=0):
    flags = {"grade": bool(points), "locked": bool(points), "points": points}
    marks = {"grade_id": name, "schema_version": 3, "task": False, "solution": not points, **flags}
    return new_code_cell(text, metadata={"nbgrader": marks})


def lesson(area_hidden="expect('four', area(4), 16)", volume_visible=""):
    """A lesson of two exercises, each with a visible and a hidden block."""
    volume_hidden = HIDE.format("cube = volume(3)\nexpect('three', cube, 27)")
    area_visible = "side = 2\nexpect('two', area(side), 4)\n"
    volume_visible += "\nexpect('two', volume(2), 8)\n"
    cells = [
        new_code_cell("from proflab.lesson import expect"),
        marked("area", AREA),
        marked("test_area", area_visible + HIDE.format(area_hidden), 50),
        marked("volume", VOLUME),
        marked("test_volume", volume_visible + volume_hidden, 50),
    ]
    return nbformat.v4.new_notebook(cells=cells)


def handed(lesson, *more, **exercises):
    """A hand-in for it, with cells of the student's own at its end."""
    notebook = nbformat.from_dict(lesson)
    for cell in notebook.cells[1:]:
        cell.source = exercises.get(cell.metadata.nbgrader.grade_id, cell.source)
    notebook.cells += [new_code_cell(text) for text in more]
    return notebook


def late(notebook, lesson):
    """Which hidden blocks may wait, of `area` and `volume`."""
    key = make_key("small", lesson)
    plan, _ = make_plan(align(notebook, key), key, full=False)
    return [item.late for item in plan if isinstance(item, RunBlock) and item.hidden]


@pytest.fixture
def copies(monkeypatch):
    """The number of copies that were made of notebooks' processes."""
    made, make = [], Session._snapshot
    monkeypatch.setattr(Session, "_snapshot", lambda self: made.append(1) or make(self))
    return made


class CountingRunner(SubprocessRunner):
    def __init__(self):
        super().__init__(Limits(wall_factor=300.0))
        self.plans = []

    def run(self, submission, plan):
        self.plans.append(plan)
        return super().run(submission, plan)


def test_those_that_read_nothing_which_is_bound_again_may_wait():
    assert late(handed(lesson()), lesson()) == [True, True]
    assert late(handed(lesson(), "area(3)\nprint(volume(2) == 8)"), lesson()) == [True, True]


@pytest.mark.parametrize(
    "text",
    [
        "def area(side):\n    return 0",
        "area = volume",
        "if True:\n    area = None",
        "from math import pi as area",
        "from shapes import *",
        "exec('area' + '=' + '0')",
        "globals()['ar' 'ea'] = 0",
        "%run more.py",
        "%reset -f",
    ],
)
def test_a_students_later_cell_that_may_bind_them_again_keeps_them_in_place(text):
    assert late(handed(lesson(), text), lesson())[0] is False


def test_so_does_a_later_test():
    reads_side = lesson("expect('side', area(side), 4)", "side = 5")
    assert late(handed(reads_side), reads_side) == [False, True]


@pytest.mark.parametrize(
    "text, may_wait",
    [
        ("def fill():\n    area = 4\n    return area", True),
        ("class Room:\n    area = 4", True),
        ("def fill():\n    global area\n    area = None", False),
        ("for area in (1, 2):\n    pass\narea = 3", False),
    ],
)
def test_a_name_of_a_functions_own_is_another(text, may_wait):
    assert late(handed(lesson(), text), lesson())[0] is may_wait


def test_of_many_long_cells_few_are_split_into_tokens_and_each_once(monkeypatch):
    read = []
    monkeypatch.setattr(late_blocks, "defined_names", lambda text: read.append(text) or set())
    fill = f"def fill():\n    area = volume = 4\n    volume = {{}}\n{' ' * (MAX_SCANNED // 5)}"
    assert late(handed(lesson(), *map(fill.format, range(9))), lesson()) == [False, False]
    assert len({*read}) == len(read) == 4


def test_what_a_hidden_block_binds_is_not_there_for_the_next(copies):
    binds_both = lesson("area = volume = lambda side: 16\nexpect('four', area(4), 16)")
    assert late(handed(binds_both), binds_both) == [True, True]
    runner = CountingRunner()
    result = grade_notebook(handed(binds_both), make_key("small", binds_both), runner=runner)
    assert result.score == 100 and (len(copies), len(runner.plans)) == (1, 1)


@pytest.mark.parametrize(
    "lesson_name", sorted(path.parent.name for path in ROOT.glob("source/*/*.ipynb"))
)
def test_no_lesson_needs_a_copy_for_one_block_alone(lesson_name):
    """A copy takes as long as ten cells: give a name that a later cell binds again to one only."""
    path = ROOT / "source" / lesson_name / f"{lesson_name}.ipynb"
    key = make_key(lesson_name, nbformat.read(path, 4))
    plan, _ = make_plan(align(nbformat.read(path, 4), key), key, full=False)
    blocks = [item for item in plan if isinstance(item, RunBlock) and item.hidden]
    alone = [block.steps[0].code for block in blocks if not block.late]
    assert blocks and not alone


def test_a_right_hand_in_has_one_copy_and_is_executed_once(copies):
    key = make_key(LESSON, source())
    runner = CountingRunner()
    assert grade_notebook(solved(), key, full=False, runner=runner).score == 100
    assert (len(copies), len(runner.plans)) == (1, 1)
    hidden = [x for x in runner.plans[0] if isinstance(x, RunBlock) and x.hidden]
    assert hidden and all(item.late for item in hidden)


STATEFUL = "SIDES = [4]\n\ndef area(side):\n    return side**2 if side in (2, 3, *SIDES) else 0"


def test_what_fails_for_what_a_later_cell_changed_counts_as_it_is_at_its_place(copies):
    runner = CountingRunner()
    notebook = handed(lesson(), "SIDES.clear()", area=STATEFUL)
    result = grade_notebook(notebook, make_key("small", lesson()), runner=runner)
    assert result.score == 100 and result.status == "graded"
    assert len(runner.plans) == 2 and len(copies) == 2
    looked = [item for item in runner.plans[1] if isinstance(item, RunBlock) and item.hidden]
    assert [(item.late, "area(4)" in item.steps[0].code) for item in looked] == [(False, True)]


@pytest.mark.parametrize(
    "area, runs",
    [("def area(side):\n    return 4", 2), ("def area(side):\n    return 0", 1)],
    ids=["the hidden case alone", "a visible case, too"],
)
def test_a_hidden_block_is_looked_at_again_only_if_it_alone_costs_points(area, runs):
    runner = CountingRunner()
    result = grade_notebook(handed(lesson(), area=area), make_key("small", lesson()), runner=runner)
    assert result.scores["test_area"] == 0
    assert [c.passed for c in result.cases if c.cell == "test_area"] == [runs == 2, False]
    assert len(runner.plans) == runs
    runner = CountingRunner()
    key = make_key("small", lesson()).with_partial_credit()
    assert grade_notebook(handed(lesson(), area=area), key, runner=runner).score < 100
    assert len(runner.plans) == 2  # there, each case counts


def waiting(code, kind="value"):
    return RunBlock(True, (Step(kind, code),), cell=hash(code), late=True)


def replies(result):
    return [[reply.state, reply.value] for [reply] in result.replies]


def test_they_share_a_copy_which_ends_with_one_of_them_for_itself_alone(copies):
    plan = (RunCell("import os\nx = 1"), waiting("x"), waiting("os._exit(3)"), waiting("x + 1"))
    result = SubprocessRunner().run(HERE, plan)
    assert replies(result)[1:] == [["value", 1], ["lost", None], ["value", 2]]
    assert result.status == "process died"
    assert len(copies) == 3  # each after the one before it ended


def test_a_notebook_that_ends_itself_does_not_take_those_before_it_along(copies):
    plan = (RunCell("import os\nx = 1"), waiting("x"), RunCell("os._exit(3)"), waiting("x + 1"))
    result = SubprocessRunner().run(HERE, plan)
    assert [state for state, _ in replies(result)] == ["done", "value", "lost", "lost"]
    assert result.status == "process died"
    assert len(copies) == 1


DEAF = {  # what does not end, and what interrupts do to it
    "it catches them": "while True:\n    try:\n        while True: pass\n"
    "    except KeyboardInterrupt: pass",
    "it does not hear them": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "while True: pass",
}


@pytest.mark.parametrize("deaf", DEAF.values(), ids=DEAF)
def test_one_without_an_end_costs_itself(copies, deaf):
    limits = Limits(cell_seconds=0.9, statement_seconds=0.3, wall_factor=900.0)
    plan = (RunCell("x = 1"), waiting("x"), waiting(deaf, "setup"), waiting("x + 1"))
    result = SubprocessRunner(limits).run(HERE, plan)
    assert replies(result)[1:] == [["value", 1], ["lost", None], ["value", 2]]
    assert (result.status, result.sentence) == ("timed out", "a hidden case ran out of time")
    assert "0.3 CPU seconds" in result.replies[2][0].message


def test_another_of_the_same_test_is_not_tried_then():
    limits = Limits(cell_seconds=0.9, statement_seconds=0.3, wall_factor=900.0)
    deaf = RunBlock(True, (Step("setup", DEAF["it does not hear them"]),), cell=1, late=True)
    result = SubprocessRunner(limits).run(HERE, (RunCell("x = 1"), deaf, deaf, waiting("x")))
    assert result.status == "timed out" and result.replies[3][0].value == 1
    [first], [second] = result.replies[1:3]
    assert "0.3 CPU seconds" in first.message and second.message == NOT_TRIED


def test_one_that_an_interrupt_ends_costs_itself():
    limits = Limits(cell_seconds=0.9, statement_seconds=0.3, wall_factor=900.0)
    heard = waiting("while True: pass", "setup")
    result = SubprocessRunner(limits).run(HERE, (RunCell("x = 1"), heard, waiting("x + 1")))
    assert replies(result)[1:] == [["lost", None], ["value", 2]]


def test_another_machine_learns_which_may_wait():
    plan = (RunCell("x = 1"), waiting("x"))
    task = Task(plan, {}, Limits(), "none", "1")
    assert unpack_task(pack_task(task)).plan == plan
