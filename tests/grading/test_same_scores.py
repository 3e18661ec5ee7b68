"""The same work gets the same points: whatever the number of jobs, however busy the machine."""

import pytest
from busy import busy_cores
from mutant_classes import first_mutants, grade_with, make_course
from sandboxes import needs_sandbox

pytestmark = [needs_sandbox, pytest.mark.whole("grading/test_cluster.py")]


def test_one_job_in_peace_and_four_on_busy_cores_agree(tmp_path):
    mutants = first_mutants()[:2]  # a hand-in more than jobs: one job grades a second
    calm = grade_with(make_course(tmp_path / "calm", mutants), 1)
    with busy_cores(1):
        busy = grade_with(make_course(tmp_path / "busy", mutants), 4)
    assert calm == busy
    scores = {student: score for student, score, _ in calm[0]}
    assert scores["complete"] == 100
    assert max(scores["mutant_000"], scores["mutant_001"]) < 100
