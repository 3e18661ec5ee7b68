"""judge_case: what an answer says of the reply that came back."""

from __future__ import annotations

from proflab_course.cases.raises import judge_raised
from proflab_course.cases.reader import split
from proflab_course.cases.value import judge_value
from proflab_course.grading.judge_case import judge_case
from proflab_course.grading.plan import Reply

CELL = """
expect("ten to five", count(x), 55)
expect_between("a time", latency(y), 1, 2 * 2)
expect_raises("no size", lambda: make(-1), ValueError)
expect("again", count(x), np.float64(55.0), abs=0.5, mistakes={"the bias is left out": 50})
"""


def test_answers_judge_values_and_exceptions():
    exact, between, raises, loose = (answer for _, answer in split(CELL, "t").answers)
    assert judge_value(exact, 55).passed and not judge_value(exact, 54).passed
    assert judge_value(between, 4).passed and not judge_value(between, 4.1).passed
    assert judge_value(loose, 55.4).passed
    assert judge_value(loose, 50).diagnosis == "the bias is left out"
    assert judge_raised(raises, ["SizeError", "ValueError", "Exception"], "no").passed
    assert not judge_raised(raises, ["NotImplementedError", "RuntimeError"], "").passed
    assert judge_value(raises, 3).reason == "expected ValueError, but nothing was raised (got 3)"
    assert judge_raised(exact, ["TypeError"], "no").reason == "TypeError: no"
    assert judge_raised(exact, ["KeyError"], "").reason == "KeyError"


def test_a_reply_is_judged_by_its_state():
    exact = split(CELL, "t").answers[0][1]
    assert judge_case(exact, Reply("value", value=55)).passed
    raised = Reply("raised", raised=["KeyError"], message="x")
    assert judge_case(exact, raised).reason == "KeyError: x"
    assert judge_case(exact, Reply("refused", message="no plain data")).reason == "no plain data"
    assert judge_case(exact, Reply("lost")).reason == "nothing came back"
