"""Tables of guesses from a lecture: read back as counts, whatever is in them, and shown."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from proflab.lesson.guesses import MIME
from proflab_classroom.questions.votes import Vote, read_votes
from proflab_classroom.questions.votes_page import read_lecture, render_lecture
from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError

LESSON, NAMES = "01_parameters", ("guess_linear", "guess_decimal")


def test_a_row_a_guess(table):
    text = (
        "question;guess;count\r\nguess_linear;2,000;3\r\nguess_linear;;\r\nguess_decimal;'-1;\r\n"
    )
    assert read_votes([table(text)], NAMES) == [
        Vote("guess_linear", "2,000", 3),
        Vote("guess_decimal", "-1"),
    ]


def test_a_row_a_person_as_a_form_exports_it(table):
    text = 'Time,Name,guess_linear,guess_decimal\n9:00,=Ann,5,\n9:01,Bob,"2,000",3\n'
    assert read_votes([table(text)], NAMES) == [
        Vote("guess_linear", "5"),
        Vote("guess_linear", "2,000"),
        Vote("guess_decimal", "3"),
    ]


def test_tables_of_many_phones_may_stand_one_below_the_other(table):
    one = 'question,guess,count\nguess_linear,"7",1\n'
    votes = read_votes([table(one + one), table(one, "other.csv")], NAMES)
    assert votes == 3 * [Vote("guess_linear", "7")]
    form = "Time,guess_linear\n9:00,7\n"
    assert read_votes([table(form + form)], NAMES) == 2 * [Vote("guess_linear", "7")]
    assert read_votes([table("guess_linear\n7\n" * 2)], NAMES) == 2 * [Vote("guess_linear", "7")]
    turned = "question,count,guess\nguess_linear,1,7\n"
    with pytest.raises(CourseError, match="line 3: there is no question 'question'"):
        read_votes([table(one + turned)], NAMES)


def test_votes_of_many_tables_are_limited_together(table):
    files = [table(f"question,guess,count\nguess_linear,7,{n}\n", f"{n}.csv") for n in (9, 99_990)]
    assert sum(vote.count for vote in read_votes(files, NAMES)) == 99_999
    with pytest.raises(CourseError, match=r"9\.csv has more than 100,000 votes"):
        read_votes([*files, files[0]], NAMES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has neither columns"),
        ("name,vote\na,1\n", "has neither columns question and guess, nor one of guess_"),
        ("guess_linear,guess_linear\n1,2\n", "two columns are called guess_linear: rename one"),
        ("question,guess\nguess_other,1\n", "line 2: there is no question 'guess_other'"),
        ("question,guess,count\nguess_linear,1,-3\n", "'-3' is no number of votes"),
        ("question,guess,count\nguess_linear,1,1e9\n", "'1e9' is no number of votes"),
        ("question,guess,count\nguess_linear,1,999999\n", "more than 100,000 votes"),
        (b"\xff\xff\xff", "not in UTF-8"),
        ("question,guess\nguess_linear," + '"' + "x" * 200_000 + '"\n', "not a CSV"),
        ("x" * (9 * 1024**2), "larger than 8 MB"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_table_that_is_none_is_told_in_a_sentence(table, text, said):
    with pytest.raises(CourseError, match=re.escape(said)) as error:
        read_votes([table(text)], NAMES)
    assert len(str(error.value)) < 400


def lecture(*paths, **options):
    return read_lecture(Course.find(), LESSON, paths, **options)


def test_counts_stand_beside_the_answer(table):
    text = "question,guess,count,answer\nguess_linear,1_000_000,2,2000000\nguess_linear,4e6,2,\n"
    (voted,) = lecture(table(text + "guess_linear,many,3,\n")).voted
    found = voted.prediction
    assert (found.made, voted.unread, voted.right) == (4, 3, "2,000,000")
    assert found.quartiles == [0.5, 1.25, 2.0]


def test_answers_are_read_from_a_notebook_that_was_run(table, tmp_path):
    record = {"what": "AlexNet's convolutions", "guess": None, "answer": 5, "unit": "%"}
    output = new_output("display_data", {"text/plain": "", MIME: record})
    path = tmp_path / "mine.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("x", outputs=[output])]), path)
    votes = table("question,guess\nguess_alexnet_convolutions,50 %\n")
    (voted,) = lecture(votes, answers=path).voted
    assert voted.right == "5 %" and voted.prediction.ratios == [10]
    (voted,) = lecture(votes).voted
    assert voted.right == "" and voted.prediction.median == "50"


def test_nothing_of_a_table_is_run_and_nobody_is_named(table):
    hostile = "<script>ran=1</script>"
    text = f"name,question,guess,answer\n{hostile},guess_most_work,{hostile},{hostile}\n"
    page = render_lecture(read_lecture(Course.find(), "02_flops", [table(text)]))
    assert "<script" not in page and "default-src 'none'" in page


def test_the_command_writes_the_page(table, tmp_path, capsys):
    votes = table("question,guess,count,answer\nguess_linear,1,2,5\n")
    page = tmp_path / "page.html"
    assert main(["report", "1", "--votes", str(votes), "-o", str(page)]) == 0
    assert "2 guesses, median 1; over the answer 0.2" in page.read_text(encoding="utf-8")
    assert main(["report", "--votes", str(votes)]) == 2
    assert "votes are about a lesson" in capsys.readouterr().err
    table("question,guess\nguess_linear,\n")
    assert main(["report", "1", "--votes", str(votes), "-o", str(page)]) == 2
    assert "holds no guess" in capsys.readouterr().err
    assert main(["report", "1", "--answers", "mine.ipynb", "-o", str(page)]) == 2
    assert "--answers belongs to --votes" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", "1", "--csv", "--votes", str(votes)])
    assert "--votes: not allowed with argument --csv" in capsys.readouterr().err
