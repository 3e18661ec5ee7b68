"""The page of results tells the class's figures, and the public one keeps what is private."""

import os
import re
import shutil

import pytest
from grading_course import (
    LESSON,
    cell,
    command,
    copy_course,
    grade,
    graded_class,
    hand_in,
    solved,
    source,
)
from page_text import text_of

from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import CaseResult
from proflab_course.grading.records.gradebook import Book, Outcome
from proflab_course.report.lesson_page import (
    StudentLine,
    histogram,
    read_summary,
    render,
    summarise,
)


@pytest.fixture(scope="module")
def course(once, tmp_path_factory):
    shared, _ = graded_class(once)
    course = Course(shutil.copytree(shared.root, tmp_path_factory.mktemp("report") / "course"))
    hand_in(course, "<i>odd & name", solved())
    grade(course, jobs=2)
    return course


@pytest.mark.proves
def test_the_figures_are_those_of_the_gradebook(course):
    summary = read_summary(course, LESSON)
    scores = {s.name: s.score for s in summary.students}
    assert scores["complete"] == 100
    assert scores["half_done"] == 47
    assert sum(summary.bins) == 17
    assert summary.bins[-1] == 11
    assert summary.statuses == {
        "graded": 11,
        "renamed": 3,
        "metadata recovered": 1,
        "not a notebook": 1,
        "older release": 1,
    }
    rates = {e.name: (e.passed, e.attempted) for e in summary.exercises}
    assert rates["linear_parameters"] == (14, 15)
    assert sum(e.points for e in summary.exercises) == 100


@pytest.mark.whole
def test_an_exercise_that_nobody_wrote_was_not_attempted(course):
    exercises = {e.name: e for e in read_summary(course, LESSON).exercises}
    marks = [s.marks for s in read_summary(course, LESSON).students]
    for name, exercise in exercises.items():
        assert exercise.attempted == sum(m[name] is not None for m in marks)
    assert exercises["gpt2_parameters"].attempted < exercises["linear_parameters"].attempted == 15


def test_misconceptions_are_counted_over_the_class(course):
    found = {
        (m.exercise, m.sentence): m.students for m in read_summary(course, LESSON).misconceptions
    }
    assert found["linear_parameters", "is a term left out, such as a bias?"] == ["forgets_biases"]
    megabyte = "10⁶ bytes, where a MB here is 1024² bytes?"
    assert found["parameter_memory_mb", megabyte] == ["other_megabyte"]


def test_what_needs_a_person_is_listed(course):
    text = text_of(render(read_summary(course, LESSON)))
    assert "not_json : not a notebook , 01_parameters.ipynb is cut off" in text
    assert "older_release : older release , an older release of the lesson, unchanged" in text
    assert "wrong_date : graded , timestamp.txt says '03.12.2026'" in text
    assert "13 essays wait for a mark: browser_copy, complete, forgets_biases" in text


def test_an_exercise_that_is_not_written_is_no_mistake(course):
    students = {s.name: s for s in read_summary(course, LESSON).students}
    assert set(students["empty"].marks.values()) == {None}
    assert students["empty"].failed == []
    assert students["half_done"].marks["linear_parameters"] is True


def test_the_public_page_has_no_names_and_no_hidden_cases(course):
    page = text_of(render(read_summary(course, LESSON, public=True)))
    for name in ("complete", "forgets_biases", "odd & name", "not_json"):
        assert not re.search(rf"\b{re.escape(name)}\b", page)
    for test in make_key(LESSON, source()).tests.values():
        for hidden, answer in test.answers:
            assert not hidden or f"· {answer.label} " not in page
    assert "submission 17" in page


def test_no_order_on_the_public_page_tells_who_is_who(course):
    with Book(course.gradebook) as book:
        outcomes, scores = book.outcomes(LESSON), book.scores(LESSON)
    # The same hand-ins, of other people and graded in another order.
    others = dict(zip(sorted(outcomes), sorted(outcomes, reverse=True), strict=True))
    of_others = [{others[name]: by[name] for name in sorted(by)} for by in (outcomes, scores)]
    key = make_key(LESSON, source())
    one = summarise(key, outcomes, scores, [], public=True)
    assert render(one) == render(summarise(key, *of_others, [], public=True))


def test_a_misconception_that_a_hidden_case_alone_shows_is_not_on_the_public_page():
    case = CaseResult("test_linear_parameters", "wide", True, False, "got 1", "a term left out?")
    outcome = Outcome("ann", LESSON, "graded", "", "", [case])
    scores = {"ann": {"auto": 1.0, "manual": 0.0, "penalty": 0.0, "needs_manual": False}}
    for public, found in ((False, ["a term left out?"]), (True, [])):
        summary = summarise(make_key(LESSON, source()), {"ann": outcome}, scores, [], public)
        assert [each.sentence for each in summary.misconceptions] == found


def test_equal_points_stand_on_the_public_page_in_no_order_of_names():
    """Else a class list and a friend's line tell whose the lines beside it are."""
    key = make_key(LESSON, source())

    def lines(*students):
        """The marks line by line, where the two failed different exercises."""
        failed = dict(zip(students, ("linear_parameters", "gpt2_parameters"), strict=True))
        outcomes = {
            name: Outcome(name, LESSON, "graded", "", "", [
                CaseResult(f"test_{each}", "one", False, each != wrong)
                for each in ("linear_parameters", "gpt2_parameters")
            ])
            for name, wrong in sorted(failed.items())
        }  # fmt: skip
        score = {"auto": 90.0, "manual": 0.0, "penalty": 0.0, "needs_manual": False}
        page = summarise(key, outcomes, dict.fromkeys(outcomes, score), [], public=True)
        return [each.marks for each in page.students]

    assert lines("ann", "bob") == lines("bob", "ann")


@pytest.mark.parametrize("what", ["penalty", "manual"])
def test_equal_points_for_code_stand_on_the_public_page_in_no_order_of_names(what):
    """A line also shows what lateness takes off, and the points of the essay."""
    key, outcome = make_key(LESSON, source()), Outcome("", LESSON, "graded", "", "", [])
    score = {"auto": 100.0, "manual": 0.0, "penalty": 0.0, "needs_manual": False}

    def lines(**points):
        scores = {name: score | {what: each} for name, each in points.items()}
        page = summarise(key, dict.fromkeys(sorted(scores), outcome), scores, [], public=True)
        return [getattr(each, what) for each in page.students]

    assert lines(ann=3.0, bob=5.0) == lines(ann=5.0, bob=3.0)


def test_names_are_escaped_and_the_page_stands_alone(course):
    page = render(read_summary(course, LESSON))
    assert "<i>odd" not in page
    assert "&lt;i&gt;odd &amp; name" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)


def test_full_marks_are_in_the_last_bin():
    assert histogram([0, 9.9, 10, 99, 100], 100) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 2]


def test_in_a_large_class_a_line_has_the_first_failed_case_of_three_cells():
    cases = ("a", "first"), ("a", "second"), ("b", "third"), ("c", "fourth"), ("d", "fifth")
    failed = [CaseResult(f"test_{name}", label, False, False) for name, label in cases]
    line = StudentLine("ann", 0, 0, 0, "graded", "", False, {}, failed)
    assert [each.label for each in line.first_failed(True)] == ["first", "third", "fourth"]
    assert line.first_failed(False) == failed


def test_a_page_is_replaced_whole_or_not_at_all(course, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.html"
    page.write_text("the former")
    monkeypatch.chdir(course.root)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, os.strerror(28))))
        assert main(["report", "01", "-o", str(page)]) == 2
    assert "page.html cannot be written: the disk is full: make room" in capsys.readouterr().err
    assert page.read_text() == "the former" and list(tmp_path.iterdir()) == [page]
    link = tmp_path / "link.html"
    link.symlink_to(page)
    assert main(["report", "01", "-o", str(link)]) == 0
    assert link.is_symlink() and "results" in page.read_text("utf-8")


def test_the_command_names_its_file_or_says_what_to_do(course, tmp_path):
    done = command(course, "proflab", "report", "01", "-o", str(tmp_path / "page.html"))
    assert done.stdout == f"Report: {tmp_path / 'page.html'}\n"
    assert "01_parameters: results" in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(CourseError, match="run `proflab grade 01_parameters` first"):
        read_summary(copy_course(tmp_path, []), LESSON)


def test_names_stand_beside_ids_and_never_on_the_public_page(tmp_path, monkeypatch):
    course = copy_course(tmp_path, ["forgets_biases"])
    grade(course)
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.update_or_create_student("forgets_biases", first_name="Ada", last_name="<i>King")
        rows.update_or_create_student("s9", last_name="Absent")
    monkeypatch.chdir(course.root)
    pages = {}
    for option in ("", "--ids", "--public"):
        assert main(["report", LESSON, "-o", "page.html", *filter(None, [option])]) == 0
        pages[option] = text_of((course.root / "page.html").read_text())
    assert pages[""].count("Ada <i>King (forgets_biases)") >= 2
    assert "Absent (s9)" in pages[""]
    assert "King" not in pages["--ids"] and "forgets_biases" in pages["--ids"]
    assert not re.search("King|Absent|forgets_biases|s9", pages["--public"])


def test_what_a_person_must_decide_comes_first(tmp_path):
    course = copy_course(tmp_path, [])
    hand_in(course, "amy", solved(linear_parameters="def linear_parameters(*_):\n    return 8"))
    changed = solved()
    cell(changed, "test_linear_parameters").source = "pass"
    hand_in(course, "ben", changed)
    hand_in(course, "zoe", b"{")
    grade(course)
    summary = read_summary(course, LESSON)
    assert [(s.name, s.urgency) for s in summary.unusual] == [("zoe", 0), ("ben", 1)]
    text = text_of(render(summary))
    assert "1 to decide" in text
    first, second = "No points until you decide: zoe :", "Check the points: ben :"
    assert text.index(first) < text.index(second)
