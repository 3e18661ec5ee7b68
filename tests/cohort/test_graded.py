"""The cohort through the sandboxed grader: the same verdicts as where the cohort judges itself."""

from __future__ import annotations

import pytest
from chosen import chosen
from sandboxes import needs_sandbox

from cohort.graded import all_entries, failed_in_the_cohort, failed_in_the_grader
from cohort.run import lessons
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = needs_sandbox
# One in so many is graded, too; `make soak` grades all right ones and a fifth of the wrong ones.
RIGHT_TO_ONE, WRONG_TO_ONE = 10, 200
each_lesson = pytest.mark.parametrize("lesson", lessons())


@pytest.fixture(scope="module")
def runner():
    """One warm sandbox for all lessons."""
    with SandboxRunner() as made:
        yield made


def lost_by_right_work(entries, runner):
    """Return what the grader holds against right solutions: nothing."""
    found = {}
    for entry in entries:
        failed, reasons = failed_in_the_grader(entry, runner)
        if failed or reasons:
            found[str(entry)] = reasons
    return found


def disagreements(entries, runner):
    """Return the wrong solutions of which grader and cohort find different test cells at fault.

    Where it is chance which cells are hit, some cell must be.
    """
    found = {}
    for entry in entries:
        failed, reasons = failed_in_the_grader(entry, runner)
        expected = failed_in_the_cohort(entry)
        chance = entry.chance and failed and expected
        if failed != expected and not chance:
            found[str(entry)] = (sorted(failed), sorted(expected), reasons)
    return found


@pytest.mark.whole
@each_lesson
def test_a_tenth_of_the_right_solutions_keeps_all_points_in_the_grader(lesson, runner):
    due = all_entries(lesson, "ALTERNATES")[::RIGHT_TO_ONE]
    assert lost_by_right_work(due, runner) == {}


def test_what_is_imported_inside_a_function_is_there_for_both(runner):
    entries = [e for e in all_entries("lesson_11", "ALTERNATES") if "from built import" in e.code]
    assert entries
    assert lost_by_right_work(entries, runner) == {}
    assert [failed_in_the_cohort(entry) for entry in entries] == [set()] * len(entries)


@pytest.mark.parametrize("lesson", chosen(lessons(), lessons()[1:12:4]))
def test_the_grader_and_the_cohort_agree_on_some_wrong_solutions(lesson, runner):
    assert disagreements(all_entries(lesson, "MUTANTS")[::WRONG_TO_ONE], runner) == {}


@pytest.mark.soak
@each_lesson
def test_every_right_solution_keeps_all_points_in_the_grader(lesson, runner):
    assert lost_by_right_work(all_entries(lesson, "ALTERNATES"), runner) == {}


@pytest.mark.soak
@each_lesson
def test_the_grader_and_the_cohort_agree_on_a_fifth_of_the_wrong_solutions(lesson, runner):
    assert disagreements(all_entries(lesson, "MUTANTS")[::5], runner) == {}
