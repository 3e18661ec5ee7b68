"""What a set of drafts, a student's code for each exercise of a lesson, scores."""

from __future__ import annotations

from cohort.run import Solved, judge_all, points

from proflab_course.viva.entries import whole_code


def scores(lesson: Solved, drafts: dict[str, str]) -> tuple[float, float]:
    """Return the points by visible cases alone, and those of the grade."""
    assert drafts.keys() == lesson.solutions.keys()
    codes = {name: whole_code(name, code, lesson.solutions[name]) for name, code in drafts.items()}
    cases = judge_all(lesson, codes)
    return points([case for case in cases if not case.hidden], lesson), points(cases, lesson)


def unseen(lesson: Solved, drafts: dict[str, str]) -> dict[str, set[str]]:
    """Return the test cells that lose points by hidden cases alone, by exercise.

    Each exercise is judged by itself, in a lesson that is right but for it.
    """
    found = {}
    for name, code in drafts.items():
        cases = judge_all(lesson, {name: whole_code(name, code, lesson.solutions[name])})
        failed = [case for case in cases if not case.passed]
        lost = {case.cell for case in failed} - {case.cell for case in failed if not case.hidden}
        if lost:
            found[name] = lost
    return found
