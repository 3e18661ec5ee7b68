"""What an endless loop adds to a class, and what a large class costs in which nothing has changed.

In CPU seconds of all processes, which a busy machine changes little, and with room for that little.
"""

import sys
from pathlib import Path

import pytest
from sandboxes import needs_sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from bench_class import LOOPS, grade_once, run_on_graded  # noqa: E402

pytestmark = [pytest.mark.soak, needs_sandbox]


@pytest.fixture(scope="module")
def without():
    """A class of 52 without a loop."""
    return grade_once(52, "")[0].cpu


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_adds_at_most_half_a_minute_to_a_class(loop, without):
    took, points = grade_once(52, LOOPS[loop])
    assert took.cpu - without < 30.0
    assert points == 82.0


def test_a_thousand_unchanged_hand_ins_take_three_seconds():
    took, _ = run_on_graded(1_000, "grade")
    assert took.cpu < 3.0


def test_the_page_of_five_hundred_takes_five_seconds_and_500_kb():
    took, written = run_on_graded(500, "report")
    assert took.cpu < 5.0
    assert 0 < written < 500_000
