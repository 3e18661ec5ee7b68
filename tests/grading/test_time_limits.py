"""Limits of time come from what the solved notebook takes, and from options."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import pytest
from grading_course import copy_course, solved, source

from proflab_course.cases.case import Step
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook, make_plan, measure_solved
from proflab_course.grading.limit_options import add_limits, chosen_limits
from proflab_course.grading.limits import Limits, SolvedTimes, make_limits
from proflab_course.grading.match_cells import align
from proflab_course.grading.plan import Reply, Result, RunBlock, RunCell, Submission, statements
from proflab_course.grading.records.nbgrader_plugin import SandboxedExecute
from proflab_course.grading.run import connection
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import Allowance

SLOW = "test_conv2d_parameters"


class ScriptedRunner:
    """Answers every statement; `slow` says which of a plan's items takes how many seconds."""

    def __init__(self, slow, status="timed out"):
        self.slow, self.status, self.plans = slow, status, []

    def run(self, submission, plan):
        """Keep the plan; all statements are done, and none fails."""
        self.plans.append((submission.name, plan))
        replies = [
            [Reply("done", seconds=self.slow(item, number)) for number, _ in each(item)]
            for item in plan
        ]
        return Result(self.status, "", replies, hidden_sent=True)


def each(item):
    """An item's statements, numbered."""
    return enumerate(statements(item))


def takes(item, number):
    """Half a second for the second statement of the slow test."""
    return 0.5 if "conv2d_parameters" in str(item) and isinstance(item, RunBlock) and number else 0


def test_a_hand_in_that_ran_out_of_time_is_executed_with_what_the_solved_notebook_takes():
    key, runner = make_key("01_parameters", source()), ScriptedRunner(takes)
    grade_notebook(solved(), key, None, False, runner)
    names = [name for name, _ in runner.plans]
    assert names == ["notebook", "the solved notebook", "notebook"]
    first, roomy, second = (plan for _, plan in runner.plans)
    assert {item.seconds for item in first if isinstance(item, RunBlock)} == {None}
    assert {item.seconds for item in roomy} == {1.0}
    slow = [item for item in second if item.seconds]
    assert {item.seconds for item in slow} == {0.5}
    assert all("conv2d_parameters" in str(item.steps) for item in slow)
    assert all(Limits().cpu_seconds(item) == 25.0 for item in slow)
    # It is known now: the next has the time from the start.
    grade_notebook(solved(), key, None, False, runner)
    assert runner.plans[3:] == [("notebook", second)]


def test_nothing_is_measured_where_nothing_runs_out_of_time():
    key, runner = make_key("01_parameters", source()), ScriptedRunner(takes, "finished")
    grade_notebook(solved(), key, None, False, runner)
    assert len(runner.plans) == 1


def test_nothing_is_executed_again_where_the_solutions_are_fast():
    key, runner = make_key("01_parameters", source()), ScriptedRunner(lambda *_: 0.01)
    grade_notebook(solved(), key, None, False, runner)
    assert len(runner.plans) == 2


def test_it_is_measured_once_by_many_threads():
    times, measured = SolvedTimes(), []

    def measure():
        measured.append(1)
        return {("test_a", 0): 0.3, ("test_a", 1): 0.001}

    assert times.of("test_a") is None
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: times.ensure(measure), range(20)))
    assert len(measured) == 1
    assert [times.of("test_a", n) for n in range(3)] == [0.3, 0.0, 0.0]


def test_the_solved_notebook_is_timed_and_a_partial_key_shares_its_times():
    key = make_key("01_parameters", source())
    measured = measure_solved(key, None, False, SubprocessRunner())
    assert {name for name, _ in measured} >= set(key.tests)
    assert 0.0 < sum(measured.values()) < 60.0
    key.times.ensure(lambda: {(SLOW, 0): 7.0})
    assert key.with_partial_credit().times.of(SLOW) == 7.0


def test_a_reply_says_what_it_took():
    block = RunBlock(False, (Step("value", "sum(range(3_000_000))"), Step("value", "1")))
    [[slow, fast]] = SubprocessRunner().run(Submission("me"), (block,)).replies
    assert slow.seconds > 3 * fast.seconds >= 0.0


def test_a_plan_tells_given_cells_from_students_own():
    key = make_key("01_parameters", source())
    plan, _ = make_plan(align(solved(), key), key, full=False)
    cells = [item for item in plan if isinstance(item, RunCell)]
    assert any(cell.given for cell in cells) or not any(c.kind == "locked" for c in key.cells)
    assert not any(cell.given for cell in cells if "def linear_parameters" in cell.code)


def parsed(*words):
    """The options of the command line."""
    parser = argparse.ArgumentParser()
    add_limits(parser)
    return parser.parse_args(words)


def test_options_set_the_limits(tmp_path):
    course = copy_course(tmp_path, [])
    assert chosen_limits(course, parsed()) == Limits() == make_limits()
    words = ("--cell-seconds", "30", "--case-seconds", "3", "--time-factor", "9")
    given = chosen_limits(course, parsed(*words))
    assert (given.cell_seconds, given.statement_seconds, given.time_factor) == (30.0, 3.0, 9.0)
    assert (given.idle_seconds, given.notebook_seconds) == (10.0, 180.0)


def test_the_configuration_sets_them_for_nbgrader_and_for_proflab(tmp_path):
    course = copy_course(tmp_path, [])
    path = course.root / "jupyter_config.py"
    path.write_text(path.read_text() + "\nc.SandboxedExecute.case_seconds = 4\n")
    assert chosen_limits(course, parsed()).statement_seconds == 4.0
    assert chosen_limits(course, parsed("--case-seconds", "6")).statement_seconds == 6.0
    assert SandboxedExecute(case_seconds=4.0).limits() == make_limits(case_seconds=4.0)
    assert SandboxedExecute().limits() == Limits()
    path.write_text("c = get_config()\nc.SandboxedExecute.time_factor = 'many'\n")
    with pytest.raises(CourseError, match="SandboxedExecute.time_factor must be a number from 0.1"):
        chosen_limits(course, parsed())
    path.unlink()
    assert chosen_limits(course, parsed()) == Limits()


class ScriptedBody:
    """Processes that use so many CPU seconds each second, on a clock that this test moves."""

    def __init__(self, speed, rests):
        self.speed, self.rests, self.now = speed, rests, 0.0

    def usage(self, enough):
        """Return (CPU seconds, bytes)."""
        return self.speed * self.now, 0

    def resting(self):
        """Return True if none of them wants to run."""
        return self.rests

    def starved(self):
        """Return True if memory ran out."""
        return False


@pytest.mark.parametrize(
    "speed, rests, why, again",
    [
        (1.0, False, "a cell used more than 15 CPU seconds", False),
        (4.0, False, "a cell used more than 15 CPU seconds", False),
        (0.0, True, "a cell did nothing for more than 5 seconds", False),
        (0.11, True, "a cell did nothing for more than 5 seconds", False),
        (0.01, False, "a cell did not end within 150 seconds", True),
    ],
    ids=["it computes", "on four cores", "it sleeps", "it naps", "others have the processors"],
)
def test_only_what_other_processes_kept_waiting_is_executed_again(
    speed, rests, why, again, monkeypatch
):
    body = ScriptedBody(speed, rests)
    monkeypatch.setattr(connection.time, "monotonic", lambda: body.now)
    monitor, excess = connection.LimitMonitor(body, Allowance(Limits())), None
    monitor.start()
    while excess is None:
        body.now += 0.1
        excess = monitor.excess()
    assert (str(excess).split(" (")[0], excess.hit_wall) == (why, again)
    assert body.now < 2 * Limits().notebook_seconds
