"""The page about the term tells of all lessons, of each student, and of what waits."""

import csv
import html
import re

import pytest
from grading_course import LESSON, copy_course, grade

from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.grading.records.gradebook import Book
from proflab_course.report.lesson_page import StudentLine, Summary
from proflab_course.report.term_page import TermStudent, read_term, render_term, trend


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """One lesson is graded; a student who handed in nothing is known."""
    course = copy_course(
        tmp_path_factory.mktemp("term"), ["complete", "forgets_biases", "half_done", "not_json"]
    )
    grade(course)
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_student("absent")
        gradebook.find_grade("essay_parameters", LESSON, LESSON, "complete").manual_score = 7
    return course


def test_students_and_lessons(course):
    term = read_term(course)
    (lesson,) = term.lessons
    points = {s.name: s.points for s in term.students}
    wrong = points.pop("forgets_biases")
    assert points == {"absent": [None], "complete": [107], "half_done": [47], "not_json": [0]}
    assert (lesson.name, lesson.count, lesson.most) == (LESSON, 4, 110)
    assert lesson.median == (47 + wrong[0]) / 2
    assert term.waiting == [(LESSON, "forgets_biases")]
    assert [(student, status) for _, student, status, _ in term.unusual] == [
        ("not_json", "not a notebook")
    ]


def test_the_exercises_that_most_failed_come_first(course):
    hardest = read_term(course).hardest
    assert hardest and all(e.passed < e.attempted for e in hardest)
    assert [e.rate for e in hardest] == sorted(e.rate for e in hardest)


def test_the_page_says_what_waits_and_stands_alone(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    assert main(["report"]) == 0
    page = (course.root / "reports" / "term.html").read_text()
    assert not re.search(r"(src|href)=|@import|url\(", page)
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))
    assert "absent – – – nothing handed in" in text and "complete 107 107 97" in text
    assert "01_parameters, not_json : not a notebook , 01_parameters.ipynb is cut off" in text
    assert main(["report", "--public"]) == 2
    assert "--public needs a lesson" in capsys.readouterr().err


def test_names_stand_beside_ids_unless_they_are_not_wanted(course):
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_student("complete", first_name="Ada", last_name="<b>King")
    pages = [render_term(read_term(course, ids)) for ids in (False, True)]
    assert "Ada &lt;b&gt;King (complete)" in pages[0]
    assert "King" not in pages[1] and ">complete<" in pages[1]


def test_names_are_escaped():
    from proflab_course.report.term_page import Term

    page = render_term(Term(students=[TermStudent("<script>x</script>", [])]))
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_before_anything_is_graded_it_says_so(tmp_path):
    with pytest.raises(
        CourseError, match="nothing is graded yet: run `proflab grade LESSON` first"
    ):
        read_term(copy_course(tmp_path, []).__class__(tmp_path / "elsewhere"))
    with pytest.raises(CourseError, match="no lesson is graded yet"):
        (tmp_path / "new").mkdir()
        read_term(copy_course(tmp_path / "new", []))


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([100, 120, 90], ""),
        ([100, 100, 104, 98], "steady"),
        ([50, 60, 90, 100], "↗ +40 %"),
        ([110, 100, 70, 60, 50], "↘ -50 %"),
    ],
)
def test_the_trend_compares_later_lessons_with_earlier_ones(shares, said):
    assert trend(shares) == said


def test_the_table_of_the_term_has_weights_names_and_who_is_missing(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_student("complete", first_name="=Ann", last_name="Lee")
    assert main(["export", "term", "--csv", "all.csv"]) == 0
    with open("all.csv", newline="", encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    lesson = f"{LESSON} (of 110, weight 100.0 %)"
    assert rows["complete"]["name"] == "'=Ann Lee" and rows["complete"][lesson] == "107"
    assert rows["complete"]["percent"] == "97.27" and rows["complete"]["still to mark"] == ""
    assert rows["forgets_biases"]["still to mark"] == "1 essay"
    assert [rows["absent"][name] for name in (lesson, "still to mark")] == ["", "nothing handed in"]
    assert main(["export", "term", "--csv", "all.csv", "--ids"]) == 0
    assert "Lee" not in (course.root / "all.csv").read_text("utf-8")
    assert main(["export", "01", "--csv", "all.csv"]) == 2
    assert "proflab export term --csv" in capsys.readouterr().err


def test_hand_ins_to_look_at_are_ordered_by_what_they_cost():
    def one(name, status, score):
        return StudentLine(name, score, 0.0, 0.0, status, "", False, {}, [])

    students = [one("a", "tampered", 90.0), one("b", "tampered", 10.0), one("c", "unreadable", 0.0)]
    summary = Summary(LESSON, False, 100.0, students, [], [], [])
    assert [student.name for student in summary.unusual] == ["c", "b", "a"]
