"""Tables of votes by letter in two rounds: read back as counts, whatever is in them, and shown."""

import html
import re

import pytest
from concept_class import with_concepts
from grading_course import LESSON, copy_course

from proflab_classroom.questions.rounds_page import read_rounds_page, render_rounds
from proflab_classroom.questions.votes import read_rounds
from proflab_course.cli import main
from proflab_course.course.layout import CourseError

IDS = ("07_1", "07_2", "07_A1")
HEAD = "question,round,A,B,C,D\n"
FIRST = {"A": 9, "B": 3, "C": 20, "D": 8}


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "07_1,1,9,3,20,8\n",
        "\ufeffQuestion;Round;A;B;C;D\r\n07_1;1;9;3;20;8\r\n",
        (HEAD + "07_1,1,9,3,20,8\n").encode("utf-16"),
        "sep=;\nquestion;round;a;b;c;d\n 7.1 ; 1 ; 9 ; 3 ; 20 ; 8 \n",
        HEAD + "07_2,1,,,,\n\n07_1,1,9,3,20,8\n07_1,2,,,,\n,,,,,\n",
        HEAD + HEAD + "concept_07_1,1,9,3,20,8\n",
        "round\tname\tquestion\tD\tC\tB\tA\tE\n1\tAnn\t07.1\t8\t20\t3\t9\t7\n",
        HEAD.replace(",round", "") + "07_1,9,3,20,8\n",
        HEAD + "07_2,2,0,0,0,0\n07_1,1,9,3,20,8\n",
    ],
    ids=["plain", "Excel", "UTF-16", "sep", "empty lines", "twice", "other order", "one", "zeros"],
)
def test_odd_tables_are_read(table, text):
    assert read_rounds([table(text)], IDS) == {"07_1": {1: FIRST}}


def test_two_tables_without_a_round_are_the_two_rounds(table):
    head = HEAD.replace(",round", "")
    one, two = table(head + "07_A1,9,3,20,8\n"), table(head + "07_a1,1,,38,1\n", "second.csv")
    second = {"A": 1, "B": 0, "C": 38, "D": 1}
    assert read_rounds([one, two], IDS) == {"07_A1": {1: FIRST, 2: second}}


def test_two_rooms_add_up(table):
    one, two = table(HEAD + "07_1,1,9,3,20,8\n"), table(HEAD + "07_1,1,1,1,1,1\n", "room.csv")
    assert read_rounds([one, two], IDS) == {"07_1": {1: {"A": 10, "B": 4, "C": 21, "D": 9}}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "votes.csv, line 1: the column question is missing; it needs question, a, b, c, d"),
        ("question,round,A,B,C\n07_1,1,1,1,1\n", "line 1: the column d is missing"),
        (HEAD + "07_1,,9,3,20,8\n", "line 2: the round is missing; write 1 or 2"),
        (HEAD + "07_1,3,9,3,20,8\n", "line 2: the round is 1 or 2, not '3'"),
        (HEAD + "07_1,first,9,3,20,8\n", "line 2: the round is 1 or 2, not 'first'"),
        (HEAD + "07_1,1,1,1,1,1\n07_9,1,1,1,1,1\n", "line 3: there is no question '07_9'; there"),
        (HEAD + ",1,1,1,1,1\n", "line 2: there is no question without a name"),
        (HEAD + "07_1,1,-9,3,20,8\n", "line 2: the count '-9' is no number of votes"),
        (HEAD + "07_1,1,=9,3,20,8\n", "line 2: the count '=9' is no number of votes"),
        (HEAD + "07_1,1,9.5,3,20,8\n", "line 2: the count '9.5' is no number"),
        (HEAD + "07_1,1,22 %,3,20,8\n", "line 2: the count '22 %' is no number"),
        (HEAD + "07_1,1,1e9,3,20,8\n", "line 2: the count '1e9' is no number"),
        (HEAD + f"07_1,1,{'9' * 400},3,20,8\n", "is no number of votes"),
        (HEAD + "07_1,1,٣,3,20,8\n", "is no number of votes"),
        (HEAD + "07_1,1,999999,3,20,8\n", "line 2 has more than 100,000 votes"),
        (HEAD + "07_1,1,1,1,1,1\n07_1,1,2,2,2,2\n", "round 1 of 07_1 stands in line 2 already"),
        (b"PK\x03\x04\xff\xfe" + bytes(range(256)), "not in UTF-8"),
        ("question,round,A,B,C,D\n" + "x" * (9 * 1024**2), "larger than 8 MB"),
        (HEAD + '07_1,1,"' + "x" * 200_000 + '"\n', "not a CSV"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_a_table_with_a_mistake_is_told_in_a_sentence(table, text, said):
    path = table(text)
    with pytest.raises(CourseError, match=re.escape(said)) as error:
        read_rounds([path], IDS)
    assert str(path) in str(error.value) and len(str(error.value)) < 400 + len(str(path))


def test_of_three_tables_without_a_round_none_is_clear(table):
    one = table(HEAD.replace(",round", "") + "07_1,9,3,20,8\n")
    with pytest.raises(CourseError, match="line 1: the column round is missing, and of 3 tables"):
        read_rounds([one, one, one], IDS)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return with_concepts(copy_course(tmp_path_factory.mktemp("rounds"), []))


def test_the_gain_is_that_of_the_right_letter_of_the_class(course, table):
    votes = "01_1,1,9,3,20,8\n01_1,2,2,1,35,2\n01_2,1,0,0,40,0\n01_2,2,1,0,39,0\n01_A,1,20,5,9,9\n"
    found = {v.asked.id: v for v in read_rounds_page(course, LESSON, [table(HEAD + votes)]).voted}
    assert found["01_1"].rounds[1].p == 0.5 and found["01_1"].rounds[2].p == 0.875
    assert found["01_1"].gain == "gain 0.75" and found["01_1"].advice == ""
    assert "nothing could be gained" in found["01_2"].gain
    assert found["01_A"].gain == "" and found["01_A"].advice.startswith("Below 30 %")


def test_a_loss_is_a_gain_below_zero(course, table):
    votes = table(HEAD + "01_A,1,5,5,0,0\n01_A,2,10,0,0,0\n")
    (voted,) = read_rounds_page(course, LESSON, [votes]).voted
    assert voted.gain == "gain −1.00"


def test_the_command_draws_both_rounds_and_nobody_is_named(course, table, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    text = "name,question,round,A,B,C,D\n<script>Ann,01_1,1,9,3,20,8\nBob,1.1,2,2,1,35,2\n"
    assert main(["report", "1", "--votes", str(table(text)), "-o", "page.html"]) == 0
    page = (course.root / "page.html").read_text(encoding="utf-8")
    shown = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))
    assert "C 1,280 ✓ 50 % (20) 88 % (35)" in shown
    assert "Round 1: 20 of 40 right, 50 % (35 to 65 %); round 2: 35 of 40 right, 88 %" in shown
    assert "gain 0.75" in shown and "Ann" not in page and "<script" not in page
    assert page.count('class="fill"') == 8
    assert main(["report", "1", "--votes", str(table(HEAD)), "-o", "page.html"]) == 2
    assert "holds no vote: fill in the columns A, B, C and D" in capsys.readouterr().err


def test_what_is_voted_on_a_lesson_without_questions_is_told(table, tmp_path):
    course = copy_course(tmp_path, [])
    with pytest.raises(CourseError, match="has no concept questions to vote on"):
        read_rounds_page(course, LESSON, [table(HEAD)])


def test_nothing_is_drawn_where_nothing_was_voted(course, table):
    page = render_rounds(read_rounds_page(course, LESSON, [table(HEAD + "01_2,2,1,0,3,0\n")]))
    assert page.count("<section>") == 1 and "Round 2: 3 of 4 right" in page
