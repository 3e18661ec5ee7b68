"""A block's statements are sent together: what comes back is what it was one by one."""

from __future__ import annotations

import pytest

from proflab_course.cases.case import Step
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunBlock, RunCell, Submission
from proflab_course.grading.run.connection import Connection

HERE = Submission("someone")
# Real time is generous: a busy machine decides nothing.
LIMITS = Limits(statement_seconds=0.5, wall_factor=300.0)


@pytest.fixture
def requests(monkeypatch) -> list[dict]:
    """Return the requests to students' processes, as they are sent."""
    seen: list[dict] = []
    real = Connection._request

    def note(self, request):
        seen.append(request)
        return real(self, request)

    monkeypatch.setattr(Connection, "_request", note)
    return seen


def block(*codes: str, hidden: bool = False, kind: str = "value") -> RunBlock:
    return RunBlock(hidden, tuple(Step(kind, code) for code in codes), cell=1)


def states(result, item: int = -1) -> list[str]:
    return [reply.state for reply in result.replies[item]]


def statements_of(request: dict) -> list[tuple[str, str]]:
    return [(request["do"], request["code"]), *request["then"]]


def test_no_request_holds_more_than_a_block_or_says_what_is_expected(runner, requests):
    hidden = RunBlock(True, (Step("setup", "x = 3"), Step("raises", "f(x)")), late=True)
    other = RunBlock(True, (Step("value", "f(4)"), Step("value", "x")), late=True)
    result = runner.run(HERE, (RunCell("x, f = 0, abs"), hidden, other, RunCell("print(x)")))
    assert [reply.value for reply in result.replies[1]] == [None, 3]
    assert [reply.value for reply in result.replies[2]] == [4, 0]  # the notebook's own x
    asked = [statements_of(r) for r in requests if r["do"] not in ("cell", "snapshot")]
    for request in asked:
        codes = {code for _, code in request}
        assert codes <= {"x = 3", "f(x)"} or codes <= {"f(4)", "x"}
    assert {kind for request in asked for kind, _ in request} == {"setup", "value"}


def test_each_statement_keeps_its_own_outputs(runner):
    result = runner.run(HERE, (block("print('a') or 1", "2", "print('b') or 3"),))
    texts = ["".join(o["text"] for o in reply.outputs) for reply in result.replies[0]]
    assert texts == ["a\n", "", "b\n"]
    assert [reply.value for reply in result.replies[0]] == [1, 2, 3]


@pytest.mark.parametrize("hidden", [False, True])
def test_a_process_that_dies_in_the_middle_leaves_what_it_had_answered(runner, hidden):
    codes = ("1", "2", "__import__('os')._exit(3)", "4")
    result = runner.run(HERE, (block(*codes, hidden=hidden),))
    assert states(result) == ["value", "value", "lost", "lost"]
    assert result.status == "process died"
    assert "ended" in result.replies[0][2].message


@pytest.mark.whole
def test_a_loop_in_the_middle_costs_itself_and_what_follows(runner):
    codes = ("1", "[0 for _ in iter(int, 1)]", "3")
    result = runner.run(HERE, (block(*codes), RunCell("print('end')")))
    assert states(result, 0) == ["value", "lost", "lost"]
    assert result.replies[1][0].outputs[0]["text"] == "end\n"


def test_behind_a_set_up_that_raised_nothing_is_executed(runner):
    steps = (Step("setup", "1 / 0"), Step("value", "log.append(1)"))
    plan = (RunCell("log = []"), RunBlock(False, steps, cell=1), RunCell("print(log)"))
    result = runner.run(HERE, plan)
    assert states(result, 1) == ["raised", "lost"]
    assert result.replies[2][0].outputs[0]["text"] == "[]\n"


def test_behind_an_interrupt_of_its_own_a_block_goes_on(runner, requests):
    plan = (RunCell("def stop(): raise KeyboardInterrupt"), block("stop()", "2", "3"))
    result = runner.run(HERE, plan)
    assert states(result) == ["raised", "value", "value"]
    assert len(requests) >= 3


def test_after_a_statement_that_took_a_while_the_process_waits(runner, requests):
    slow = "__import__('time').sleep(0.2) or 1"
    result = runner.run(HERE, (block(slow, slow, "3"),))
    assert states(result) == ["value"] * 3
    assert [len(statements_of(request)) for request in requests] == [3, 2, 1]
