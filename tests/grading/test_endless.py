"""Code that does not end costs its exercise; the rest is graded, within a time that is limited.

In the sandbox every kind of loop is tried at every place; without one a single kind is, for limits
and sessions are the same code. `make soak` tries them all there, too. Of the lesson's test cells
the first of three exercises are kept: the one that does not end, one that calls it, and another.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
import sample_class
from grading_course import cells_of, shortened, solved, source
from nbformat.v4 import new_code_cell
from sandboxes import needs_sandbox

from proflab_course.cases.case import Step
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Reply, Result, RunBlock, RunCell, Submission
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.suspects import Suspects
from proflab_course.grading.run.time_allowance import (
    LEAST_SHARE,
    NOT_TRIED,
    TOO_LARGE,
    Allowance,
    run_through,
)

KEPT = ("test_linear_parameters", "test_attention_parameters", "test_gpt2_parameters")
KEY = shortened(make_key("01_parameters", source()), KEPT)
HERE = Submission("someone")
# Real time is generous: only CPU seconds, and rest, may decide on a busy machine.
LIMITS = Limits(
    cell_seconds=0.5, notebook_seconds=60.0, wall_factor=300.0, idle_seconds=0.5, stuck_seconds=20.0
)
STUBBORN = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
NAPPING = STUBBORN.replace("while True: pass", "__import__('time').sleep(99)")
LOOPS = {
    "a loop": "while True: pass",
    "a loop that catches what stops it": STUBBORN,
    "a nap": "import time; time.sleep(10**6)",
    "a nap that catches what stops it": STUBBORN.replace(
        "pass\n", "__import__('time').sleep(99)\n"
    ),
    "a call that cannot be interrupted": "sum(range(10**12))",
}


each_loop = pytest.mark.parametrize(
    "loop, runner",
    [pytest.param(loop, "sandbox", marks=needs_sandbox) for loop in LOOPS]
    + [
        pytest.param(loop, "plain", marks=() if LOOPS[loop] == STUBBORN else pytest.mark.soak)
        for loop in LOOPS
    ],
    indirect=["runner"],
)


def defined(body: str, condition: str = "True") -> str:
    """A first exercise that does this, under a condition."""
    lines = body.replace("\n", "\n        ")
    return f"def linear_parameters(a, b, bias=True):\n    if {condition}:\n        {lines}\n"


def scores(notebook, runner):
    graded = grade_notebook(cells_of(KEY, notebook), KEY, None, False, runner, HERE)
    return graded.status, graded.scores, graded


@pytest.fixture(scope="module")
def without_exercise():
    """The points that are left where the first exercise raises."""
    return scores(solved(linear_parameters=defined("raise ImportError")), SubprocessRunner(LIMITS))[
        1
    ]


@pytest.mark.whole
@each_loop
def test_an_endless_exercise_costs_what_one_that_raises_costs(loop, runner, without_exercise):
    status, left, _ = scores(solved(linear_parameters=defined(LOOPS[loop])), runner)
    assert status == "timed out"
    assert sum(left.values()) == KEY.cell("test_gpt2_parameters").points
    assert left == without_exercise


@pytest.mark.whole
@each_loop
def test_an_endless_cell_costs_itself(loop, runner):
    notebook = solved()
    notebook.cells.insert(3, new_code_cell(f"print('here')\n{LOOPS[loop]}"))
    status, left, graded = scores(notebook, runner)
    assert (status, sum(left.values())) == ("timed out", KEY.max_score)
    assert graded.notebook.cells[3].outputs[-1]["output_type"] == "error"


@each_loop
def test_one_that_is_endless_for_hidden_input_alone_costs_its_test(loop, runner):
    body = textwrap.indent(LOOPS[loop], " " * 8)
    define = RunCell(f"def double(n):\n    if n == 2:\n{body}\n    return 2 * n")
    steps = [Step("value", f"double({n})") for n in (1, 2, 3)]
    blocks = [RunBlock(True, tuple(steps), cell=n) for n in (1, 2)]
    blocks += [RunBlock(True, (steps[0],), cell=1), RunBlock(True, (steps[0],), cell=3)]
    result = runner.run(HERE, (define, *blocks))
    states = [[reply.state for reply in replies] for replies in result.replies[1:]]
    assert states == [["value", "lost", "lost"]] * 2 + [["lost"], ["value"]]
    assert (result.status, result.again) == ("timed out", False)


BUSY = """import time
    until = time.process_time() + {}
    while time.process_time() < until: pass
"""


@pytest.mark.whole
def test_a_loop_leaves_a_slow_exercise_its_time(runner, without_exercise):
    gpt2 = textwrap.dedent(sample_class.COMPLETE["gpt2_parameters"]).strip()
    first, rest = gpt2.split("\n", 1)
    slow = f"{first}\n    {BUSY.format(0.15)}{rest}"
    loop = defined(LOOPS["a loop"])
    _, left, _ = scores(solved(linear_parameters=loop, gpt2_parameters=slow), runner)
    assert left == without_exercise


@pytest.mark.whole
def test_an_exercise_that_is_slow_for_ever_costs_itself(runner, without_exercise):
    slow = defined(f"{BUSY.format(0.35)}    return 1".replace("\n    ", "\n"))
    status, left, graded = scores(solved(linear_parameters=slow), runner)
    assert status == "timed out"
    assert left == without_exercise


@pytest.mark.whole
def test_a_value_that_takes_long_and_is_too_large_ends_its_test_and_nothing_else(
    runner, without_exercise
):
    body = f"{BUSY.format(0.25)}    return [0] * (2 * 10**6)".replace("\n    ", "\n")
    _, left, graded = scores(solved(linear_parameters=defined(body)), runner)
    assert left == without_exercise
    reasons = [c.reason for c in graded.cases if c.cell == "test_linear_parameters"]
    assert reasons[0] == "the value is larger than 16 MB"
    assert set(reasons[1:]) == {TOO_LARGE}


@pytest.mark.whole
def test_the_rest_of_its_test_is_not_tried_and_says_so(runner):
    _, _, graded = scores(solved(linear_parameters=defined(LOOPS["a loop"])), runner)
    reasons = [c.reason for c in graded.cases if c.cell == "test_linear_parameters"]
    assert "0.5 CPU seconds" in reasons[0]
    assert set(reasons[1:]) == {NOT_TRIED}
    sentence = "a cell used more than 0.5 CPU seconds (test_linear_parameters)"
    assert graded.sentence.startswith(sentence)


def test_what_stands_before_a_killed_cell_is_there_in_the_next_session(runner):
    before = RunCell("x = [1]")
    steps = (Step("value", "x"), Step("value", "stuck()"), Step("value", "x"))
    stuck = RunCell(f"def stuck():\n{textwrap.indent(STUBBORN, ' ' * 4)}")
    hidden = RunBlock(True, (Step("setup", "x.append(2)"), Step("value", "x")), cell=9)
    test, again = RunBlock(False, steps, cell=1), RunBlock(True, steps[:1], cell=1)
    after = RunCell("x.append(3)\nprint(x)")
    result = runner.run(HERE, (before, hidden, stuck, test, again, after, hidden))
    states = [[reply.state for reply in replies] for replies in result.replies]
    assert states[3:5] == [["value", "lost", "lost"], ["lost"]]
    assert result.replies[1][1].value == [1, 2]
    assert result.replies[5][0].outputs[0]["text"] == "[1, 3]\n"
    assert result.replies[6][1].value == [1, 3, 2]
    assert (result.status, result.again) == ("timed out", False)


@pytest.mark.whole
def test_the_reason_for_a_stopped_test_is_kept_after_another_session(runner):
    body = f"{BUSY.format(0.25)}    return [0] * 10**7"
    large = RunCell(f"def large():\n    {body}\ndef stuck(): sum(range(10**12))")
    steps = (Step("value", "large()"), Step("value", "1"))
    stuck = RunBlock(False, (Step("value", "stuck()"),), cell=2)
    result = runner.run(HERE, (large, RunBlock(False, steps, cell=1), stuck, RunCell("print(1)")))
    said = [reply.message for reply in result.replies[1]]
    assert said == ["the value is larger than 16 MB", TOO_LARGE]
    assert result.replies[3][0].outputs[0]["text"] == "1\n"


@pytest.mark.whole
def test_code_that_does_not_end_has_a_limit_in_all():
    cells = [RunCell("while True: pass")] * 60
    runner = SubprocessRunner(replace(LIMITS, stuck_seconds=2.0))
    kept = RunBlock(True, (Step("value", "1"),), cell=1)
    result = runner.run(HERE, (kept, *cells, RunCell("print('end')"), kept))
    assert result.replies[-2][0].message == "code that did not end took more than 2 seconds in all"
    assert result.replies[0][0].value == 1
    assert result.replies[-1][0].state == "lost"


CALLS = tuple(
    RunCell(f"def {name}(): return {body}")
    for name, body in {"loop": "...", "near": "loop()", "uses_it": "near()", "other": "1"}.items()
)
TESTS = [
    RunBlock(False, (Step("value", code),), cell=n)
    for n, code in enumerate(("loop()", "[uses_it() for _ in range(3)]", "other()", "loophole()"))
]


def test_what_uses_a_function_that_ran_out_of_time_has_less_of_it():
    allowance = Allowance(Limits(stuck_seconds=10.0))
    allowance.begin((*CALLS, *TESTS))
    assert [allowance.share(test) for test in TESTS] == [1.0] * 4
    assert allowance.charge(2.0, TESTS[0], "loop()")
    assert [allowance.share(test) for test in TESTS] == [LEAST_SHARE, LEAST_SHARE, 0.8, 0.8]
    assert allowance.stopped(TESTS[0]) == NOT_TRIED and not allowance.stopped(TESTS[1])


def test_what_is_left_is_shared_out():
    allowance = Allowance(Limits(stuck_seconds=10.0))
    allowance.begin((RunCell("while True: pass"), TESTS[2]))
    shares = []
    while allowance.charge(2.0, RunCell("while True: pass"), "while True: pass"):
        shares.append(allowance.share(TESTS[2]))
    assert shares == [0.8, 0.6, 0.4, 0.2]
    allowance.renew()
    assert allowance.left == 5.0


def test_functions_that_the_lesson_gives_are_not_suspected():
    given = RunCell("def make_model(): ...", given=True)
    suspects = Suspects((given, *CALLS, *TESTS))
    suspects.note(TESTS[1], "make_model()")
    assert suspects.names == {"uses_it"}
    assert [test for test in TESTS if suspects.concern(test)] == [TESTS[1]]


def test_a_method_that_is_stuck_makes_its_class_a_suspect_and_no_other():
    timer = "class Timer:\n    def __init__(self): ...\n    def stop(self): ..."
    tracker = "class Tracker:\n    def __init__(self): ...\n    def stop(self): ..."
    cells = [RunCell(text) for text in (timer, tracker, "report = lambda: Timer().stop()")]
    names = "Timer()", "Tracker()", "report()"
    tests = [RunBlock(True, (Step("setup", f"t = {n}"), Step("value", "t.stop()"))) for n in names]
    suspects = Suspects((*cells, *tests))
    suspects.note(tests[0], "t.stop()")
    assert suspects.names == {"Timer"}
    assert [suspects.concern(test) for test in tests] == [True, False, True]


def test_a_test_cell_has_a_limit_of_its_own():
    allowance = Allowance(Limits(statement_seconds=2.0))
    allowance.begin((*CALLS, *TESTS))
    assert [allowance.overdrawn(TESTS[0], 1.9) for _ in range(6)] == [0.0] * 5 + [10.0]
    assert not allowance.overdrawn(TESTS[1], 1.9)
    allowance.charge(2.0, TESTS[0], "loop()")
    assert allowance.overdrawn(TESTS[1], 1.9)
    allowance.begin((*CALLS, *TESTS))  # what is executed again counts once
    assert not allowance.overdrawn(TESTS[0], 1.9)


def test_what_takes_long_in_the_solved_notebook_may_take_longer():
    limits = Limits(cell_seconds=15.0, statement_seconds=2.0, time_factor=50.0)
    block = RunBlock(False, ())
    assert limits.cpu_seconds(block) == 2.0
    assert limits.cpu_seconds(replace(block, seconds=0.03)) == 2.0
    assert limits.cpu_seconds(replace(block, seconds=0.3)) == 15.0
    assert limits.cpu_seconds(RunCell("", seconds=0.1)) == 15.0
    assert limits.cpu_seconds(RunCell("", seconds=1.0)) == 50.0
    assert limits.test_seconds(block) == 10.0


def test_turns_go_on_until_one_gets_through():
    sessions = iter([Result(again=True), Result(again=True), Result("timed out", "slow")])
    result = run_through((), lambda allowance: next(sessions), Allowance(LIMITS))
    assert result.sentence == "slow"
    assert next(sessions, None) is None


def test_a_reply_that_came_after_the_limit_counts_for_nothing(runner):
    late = "def late():\n  try:\n    while True: pass\n  except KeyboardInterrupt:\n    return 7"
    result = runner.run(HERE, (RunCell(late), RunBlock(False, (Step("value", "late()"),), cell=1)))
    assert result.replies[1] == [Reply("lost", message="a cell used more than 0.5 CPU seconds")]
