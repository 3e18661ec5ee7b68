"""The report on concept questions: p, interval, r, letters and slips, and the table of answers."""

import csv
from statistics import correlation

import pytest
from concept_class import answer, simulated, with_concepts
from grading_course import LESSON, copy_course, grade
from page_text import text_of

from proflab_classroom.questions.asked import asked_concepts
from proflab_classroom.questions.concept_items import answers_csv, concept_items
from proflab_course.cli import main
from proflab_course.grading.records.gradebook import Book
from proflab_course.report.lesson_page import read_summary, render

GIVEN = {"complete": {"01_1": "B", "01_2": "A", "01_A": "B"}, "half_done": {"01_1": "A"}}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("items"), ["complete", "half_done"])
    grade(course)
    return with_concepts(course)


@pytest.fixture(scope="module")
def answered(course):
    answer(course, GIVEN)
    return course


def test_a_class_that_answered_none_notices_nothing(tmp_path):
    course = copy_course(tmp_path, ["empty"])
    grade(course)
    assert "Concept questions" not in render(read_summary(course, LESSON))
    with_concepts(course)
    assert "Concept questions" not in render(read_summary(course, LESSON))


def test_the_page_shows_p_and_the_share_of_each_letter_with_its_slip(answered):
    text = text_of(render(read_summary(answered, LESSON)))
    assert "2 answers, p 0.50 (0.09 to 0.91), r –" in text
    assert "1 answer, p 1.00 (0.21 to 1.00), r –" in text
    assert "B 73,856 · groups are ignored 50 %" in text and "C 1,280 ✓ 50 %" in text
    assert "nearly all are right" not in text  # one answer says nothing


def test_the_public_page_has_neither_names_nor_keys(answered):
    text = text_of(render(read_summary(answered, LESSON, public=True)))
    assert "2 answers, p 0.50" in text
    assert "✓ 50 %" not in text and "1,280" not in text and "groups are ignored" not in text
    assert "half_done" not in text


def test_figures_of_a_simulated_class_are_those_of_an_independent_computation(answered):
    answers, points = simulated(300)
    asked = asked_concepts(answered, LESSON)
    sharp, easy, blunt = concept_items(asked, answers, points)
    right = [float(answers[name]["01_1"] == "B") for name in answers]
    assert sharp.item.p == pytest.approx(sum(right) / 300)
    assert sharp.item.r == pytest.approx(correlation(right, list(points.values())), abs=1e-9)
    assert sharp.item.r > 0.35 and not sharp.item.flags
    assert easy.item.flags == ["nearly all are right: it tells nothing"]
    assert blunt.item.flags == ["ask the question again, or mend it"]
    shares = [sharp.percent(option) for option in sharp.asked.options]
    assert sum(shares) == pytest.approx(100) and shares[2] == pytest.approx(100 * sum(right) / 300)


def test_an_answer_without_points_is_left_out(answered):
    asked = asked_concepts(answered, LESSON)
    (first, *_) = concept_items(asked, {"ann": {"01_1": "B"}, "bob": {"01_1": "B"}}, {"ann": 50.0})
    assert first.item.n == 1


def test_equal_points_stand_in_the_public_table_in_no_order_of_names(answered, monkeypatch):
    """Else a class list tells whose a line without an id is."""

    def table(**letters):
        points = dict.fromkeys(letters, {"auto": 50.0})
        theirs = {name: {"01_1": letter} for name, letter in sorted(letters.items())}
        monkeypatch.setattr(
            "proflab_classroom.questions.concept_items.read_answers", lambda *_: theirs
        )
        monkeypatch.setattr(Book, "scores", lambda *_: points)
        return answers_csv(answered, LESSON, public=True)

    assert table(ann="A", bob="B") == table(ann="B", bob="A")


def read(path):
    return list(csv.reader(path.open(newline="", encoding="utf-8")))


def test_the_table_has_the_letters_that_the_class_saw(answered, monkeypatch, capsys):
    monkeypatch.chdir(answered.root)
    assert main(["report", "1", "--csv"]) == 0
    assert "Table: " in capsys.readouterr().out
    assert read(answered.root / "reports" / f"{LESSON}.concepts.csv") == [
        ["student", "points", "01_1", "01_2", "01_A"],
        ["(key)", "", "C", "C", "B"],
        ["complete", "100", "C", "C", "B"],
        ["half_done", "47", "B", "", ""],
    ]
    assert main(["report", "1", "--csv", "--public"]) == 0
    public = read(answered.root / "reports" / f"{LESSON}.public.concepts.csv")
    assert [row[0] for row in public[2:]] == ["submission 1", "submission 2"]
    assert main(["report", "--csv"]) == 2
    assert "report LESSON --csv" in capsys.readouterr().err


def test_no_order_of_the_public_table_tells_who_is_who(answered, monkeypatch):
    equal = dict.fromkeys(GIVEN, {"auto": 50.0})
    monkeypatch.setattr(Book, "scores", lambda book, lesson: equal)
    rows = answers_csv(answered, LESSON, public=True).splitlines()[2:]
    assert rows == ["submission 1,50,B,,", "submission 2,50,C,C,B"]


def test_a_table_without_answers_is_told(tmp_path, monkeypatch, capsys):
    course = copy_course(tmp_path, [])
    monkeypatch.chdir(course.root)
    assert main(["report", "1", "--csv"]) == 2
    assert "has no concept questions" in capsys.readouterr().err
    with_concepts(course)
    assert main(["report", "1", "--csv"]) == 2
    assert "no graded answer to a concept question" in capsys.readouterr().err
