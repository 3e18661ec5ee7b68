"""A thousand hand-ins: the last is as cheap as the tenth, and memory stays flat."""

import os
import sys
from pathlib import Path
from statistics import median

import pytest
from sandboxes import needs_sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from bench_grading import watch_growth  # noqa: E402
from classes import KINDS, make_class  # noqa: E402

pytestmark = [pytest.mark.soak, needs_sandbox]
COUNT = int(os.environ.get("PROFLAB_SOAK_CLASS", "1000"))


def test_a_thousand_hand_ins_are_graded_as_cheaply_as_ten(tmp_path):
    lesson = "01_parameters"
    course = make_class(tmp_path / "course", lesson, COUNT, KINDS, demo=False, stock=False)
    rows = watch_growth(course, lesson, COUNT, steps=10)
    own = [memory for _, _, memory, _ in rows]
    everything = [memory for _, _, _, memory in rows]
    assert len(rows) >= 8
    assert max(own) < own[0] + 60
    assert max(everything[1:]) < everything[1] + 150
    # Others may use the machine, too: half of the time against half of the time, with room.
    seconds = [each for _, each, _, _ in rows]
    half = len(seconds) // 2
    assert median(seconds[half:]) < 2 * median(seconds[:half])
