"""Hundreds of kills at random moments, and after each storm the state of an undisturbed run."""

import os
import random
import time

import pytest
from grading_course import copy_course
from killing import all_end, files, finish, kill_within, left_over, tables
from sandboxes import needs_sandbox

pytestmark = [pytest.mark.soak, needs_sandbox]
KILLS = int(os.environ.get("PROFLAB_SOAK_KILLS", "240"))
STORMS = max(1, KILLS // 6)
JOBS = ("--jobs", "2")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A class graded in peace, and the seconds that it took."""
    course = copy_course(tmp_path_factory.mktemp("undisturbed"))
    began = time.monotonic()
    finish(course, *JOBS)
    return course, time.monotonic() - began


@pytest.mark.parametrize("storm", range(STORMS))
def test_whatever_a_storm_of_kills_hits_a_rerun_mends(storm, undisturbed, tmp_path):
    peaceful, seconds = undisturbed
    rng = random.Random(storm)
    course = copy_course(tmp_path)
    if storm % 2:
        course.gradebook.unlink()  # it is hit while the gradebook is made, too
    family = []
    for _ in range(6):
        words = ["--regrade"] if rng.random() < 0.3 else []
        family += kill_within(course, seconds, rng, *JOBS, *words)
    finish(course, *JOBS)
    assert tables(course.gradebook) == tables(peaceful.gradebook)
    assert files(course) == files(peaceful)
    assert left_over(course) == []
    assert all_end(family)
