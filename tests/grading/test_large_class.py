"""A large class: what one hand-in more costs where nothing has changed, and on the page of results.

Counted in files, queries and bytes: those do not depend on how busy the machine is.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest
from grading_course import LESSON, copy_course, grade, solved, source
from sample_class import EXPECTED
from sqlalchemy import event
from sqlalchemy.engine import Engine

from proflab_course.cli import main
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.command import grade_class
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.resume import all_known
from proflab_course.grading.run.later_runner import LaterRunner
from proflab_course.report.lesson_page import render, summarise

NAMES = [f"student_{number:02}" for number in range(9)]
_opened: list[str] | None = None


def _note(name, arguments):
    if name == "open" and _opened is not None:
        _opened.append(str(arguments[0]))


sys.addaudithook(_note)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Nine hand-ins that are alike, graded."""
    course = copy_course(tmp_path_factory.mktemp("large"), [])
    for name in NAMES:
        folder = course.root / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        (folder / f"{LESSON}.ipynb").write_text(json.dumps(solved()), encoding="utf-8")
    assert {row.score for row in grade(course).values()} == {100}
    return course


class NoRunner:
    """Executes nothing, for there is nothing to execute."""

    def run(self, submission, plan):
        """Fail: nothing has changed."""
        raise AssertionError(f"{submission.name} was executed again")

    def close(self):
        """Do nothing."""


def cost_of(course, students, monkeypatch):
    """Files opened, statements of SQL, and JSON texts parsed to find these unchanged."""
    global _opened
    queries, parsed = [], []
    loads = json.loads
    with monkeypatch.context() as patch:
        patch.setattr(json, "loads", lambda *a, **k: parsed.append(1) or loads(*a, **k))
        event.listen(Engine, "before_cursor_execute", lambda *a: queries.append(a[2]))
        _opened = []
        try:
            rows = grade_class(course, LESSON, NoRunner(), students, progress=False)
            opened = _opened
        finally:
            _opened = None
    assert [row.student for row in rows] == students
    assert not any(row.fresh for row in rows)
    return len(opened), len(queries), len(parsed)


@pytest.mark.proves("a hand-in that is unchanged is not graded again")
def test_an_unchanged_hand_in_is_read_and_nothing_more(course, monkeypatch):
    few, all_ = (cost_of(course, names, monkeypatch) for names in (NAMES[:4], NAMES))
    files, queries, parsed = (b - a for a, b in zip(few, all_, strict=True))
    assert 0 < files <= 7 * 5
    assert queries == 0 and parsed == 0


def test_no_sandbox_starts_where_nothing_has_changed(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    made = []
    monkeypatch.setattr(
        "proflab_course.grading.command.make_runner", lambda *a: made.append(a) or NoRunner()
    )
    assert main(["grade", LESSON]) == 0
    assert not made and "9 of 9 have not changed" in capsys.readouterr().out
    monkeypatch.setattr("proflab_course.grading.command.grade_class", lambda *a, **k: [])
    assert main(["grade", LESSON, "--regrade"]) == 0
    assert len(made) == 1


def test_who_is_new_is_not_known(course, tmp_path):
    assert all_known(course, LESSON, None)
    assert all_known(course, LESSON, [NAMES[0]])
    assert not all_known(course, LESSON, [*NAMES, "new"])
    assert not all_known(copy_course(tmp_path, []), "02_flops", ["new"])
    (tmp_path / "gradebook.db").write_bytes(b"no database")
    assert not all_known(type(course)(tmp_path), LESSON, None)


def test_a_runner_is_made_for_the_first_plan_and_once():
    made = []

    class Runner:
        def run(self, submission, plan):
            return submission, plan

        def close(self):
            made.append("closed")

    later = LaterRunner(lambda: made.append("made") or Runner())
    LaterRunner(lambda: 1 / 0).close()
    assert [later.run("me", n) for n in (1, 2)] == [("me", 1), ("me", 2)]
    later.close()
    assert made == ["made", "closed"]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """Outcomes and points of hand-ins that are wrong in several ways, and the lesson's key."""
    names = [n for n in EXPECTED if n in ("complete", "forgets_biases", "half_done", "not_json")]
    course = copy_course(tmp_path_factory.mktemp("sample"), names)
    grade(course)
    with Book(course.gradebook) as book:
        return make_key(LESSON, source()), book.outcomes(LESSON), book.scores(LESSON)


def page_of(sample, count, change=lambda outcome: outcome, public=False):
    """The page of a class in which the sample's hand-ins come again and again."""
    key, outcomes, scores = sample
    kinds = list(outcomes)
    names = {f"student_{number:04}": kinds[number % len(kinds)] for number in range(count)}
    many = {name: replace(change(outcomes[kind]), student=name) for name, kind in names.items()}
    points = {name: scores[kind] for name, kind in names.items()}
    return render(summarise(key, many, points, list(names), public))


def all_wrong(outcome):
    """Every case failed, with the longest reasons, and a long sentence."""
    cases = [replace(c, passed=False, reason="r" * 400, diagnosis="d" * 200) for c in outcome.cases]
    return replace(outcome, cases=cases, status="timed out", sentence="s" * 1_500)


def test_the_page_of_five_hundred_has_at_most_500_kb(sample):
    page = page_of(sample, 500)
    assert len(page.encode()) <= 310_000
    assert page.count('<th scope="row">') == 500
    assert "the first failed case of a test cell stands for all of them" in page
    assert len(page_of(sample, 500, all_wrong).encode()) <= 500_000


def test_the_page_of_a_small_class_lists_every_failed_case(sample):
    page, (_, outcomes, _) = page_of(sample, 8), sample
    failed = [c for o in outcomes.values() for c in o.cases if not c.passed]
    wrong = [c for c in failed if "NotImplementedError" not in c.reason]
    assert page.count("<li><code>test_") == 2 * len(wrong) > 10
    assert "stands for all of them" not in page


def test_the_page_costs_no_query_a_student(course):
    queries = []
    with Book(course.gradebook) as book:
        event.listen(book.gradebook.engine, "before_cursor_execute", lambda *a: queries.append(a))
        assert len(book.outcomes(LESSON)) == len(book.scores(LESSON)) == 9
        assert len(queries) == 5
        assert set(book.outcomes(LESSON, NAMES[3])) == {NAMES[3]}
