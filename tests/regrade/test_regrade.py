"""A question about a verdict goes to an assistant and its answer onto the page; none is lost."""

import csv
import io
import os
import re
import signal
import subprocess
import sys
import time
from html import unescape
from urllib.parse import unquote

import pytest
from archives import zipped
from grading_course import LESSON, command, copy_course, grade, hand_in, solved

from proflab_classroom.marking.request_log import Log
from proflab_course.cli import main
from proflab_course.report.lesson_page import read_summary, render

WRONG = "def linear_parameters(in_features, out_features, bias=True):\n    return 0"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with two students."""
    course = copy_course(tmp_path, [])
    for name in ("amy", "bob"):
        (course.root / "submitted" / name / LESSON).mkdir(parents=True)
    monkeypatch.chdir(course.root)
    return course


def table(*rows, header=("student", "lesson", "exercise", "question")):
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


def collect(course, *rows, name="class.csv"):
    path = course.root / name
    path.write_text(table(*rows), encoding="utf-8")
    return main(["regrade", "collect", str(path)])


def requests(course):
    return [
        (r.student, r.exercise, r.question, r.answer) for r in Log(course.root).requests().values()
    ]


def sheet(course, name):
    path = course.root / "regrades" / f"{name}.csv"
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def answered(course, name, answers):
    """An assistant writes answers, by questions, into the table."""
    rows = sheet(course, name)
    for row in rows:
        row["answer"] = answers.get(row["question"], row["answer"])
    with (course.root / "regrades" / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


# ── from page to page ────────────────────────────────────────────────────────────────────────


def page_of(course, student, *words):
    done = command(course, "nbgrader", "generate_feedback", LESSON, *words)
    assert done.returncode == 0, done.stderr
    return (course.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text("utf-8")


def offered(page):
    """The table that a page offers, and its file's name."""
    address = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)"', page)[1]
    name = re.search(r'download="([^"]*)"', page)[1]
    return list(csv.DictReader(io.StringIO(unquote(unescape(address))))), name


@pytest.mark.proves
def test_from_the_page_to_an_assistant_and_back(course):
    hand_in(course, "amy", solved(linear_parameters=WRONG))
    hand_in(course, "bob", solved())
    grade(course)
    page = page_of(course, "amy", "--student", "amy")
    rows, name = offered(page)
    exercises = [row["exercise"] for row in rows]
    assert exercises[0] == "linear_parameters" and "essay" in exercises
    assert page.count('href="#ask"') > 5 and "What you asked" not in page
    asked = {"linear_parameters": "Zero is right,\nis it not? <b>", "essay": "=1+1"}
    for row in rows:
        row["question"] = asked.get(row["exercise"], "")
    text = table(*(row.values() for row in rows))
    (course.root / "submitted/amy" / LESSON / name).write_text(text, encoding="utf-8")
    assert main(["regrade", "collect"]) == 0
    assert main(["regrade", "share", "tia"]) == 0
    first, essay = sheet(course, "tia")
    assert (first["student"], first["exercise"]) == ("amy", "linear_parameters")
    assert first["failed"].startswith("test_linear_parameters: ")
    assert (essay["exercise"], essay["question"]) == ("essay_parameters", "'=1+1")
    page = page_of(course, "amy", "--student", "amy", "--force")
    assert "Zero is right,\nis it not? &lt;b&gt;" in page and page.count("Not yet answered.") == 2
    waiting = "questions about verdicts wait for an answer"
    assert f"2 {waiting}" in render(read_summary(course, LESSON))
    answered(course, "tia", {first["question"]: "No: <i>count</i> the weights."})
    assert main(["regrade", "answer"]) == 0
    assert "1 question about a verdict waits" in render(read_summary(course, LESSON))
    assert "about a verdict" not in render(read_summary(course, LESSON, public=True))
    page = page_of(course, "amy", "--force")
    assert "<b>Answer.</b> No: &lt;i&gt;count&lt;/i&gt; the weights." in page
    assert page.count("Not yet answered.") == 1
    other = (course.root / "feedback/bob" / LESSON / f"{LESSON}.html").read_text("utf-8")
    assert "What you asked" not in other and "count the weights" not in other


@pytest.mark.whole
@pytest.mark.parametrize(
    ("chosen", "shown"), [("false", ""), ('"Post it <b>there</b>."', "Post it &lt;b&gt;there")]
)
def test_the_course_says_where_to_ask_or_takes_no_questions(course, chosen, shown):
    (course.root / "private").mkdir()
    (course.root / "private/course.toml").write_text(f"[course]\nregrade = {chosen}\n")
    hand_in(course, "amy", solved())
    grade(course)
    page = page_of(course, "amy")
    assert ("data:text/csv" in page) == ("Ask about a verdict" in page) == bool(shown)
    assert shown in page


# ── what is taken ────────────────────────────────────────────────────────────────────────────


def test_a_question_is_taken_once(course, capsys):
    rows = [("amy", "1", "linear_parameters", "Why?"), ("bob", LESSON, "essay", "Why  not?")]
    assert collect(course, *rows) == 0
    text = Log(course.root).path.read_bytes()
    assert collect(course, *reversed(rows), ("bob", "01", "essay_parameters", "Why not?")) == 0
    assert "0 questions taken, 2 known already" in capsys.readouterr().out
    assert Log(course.root).path.read_bytes() == text
    assert collect(course, ("amy", "01", "linear_parameters", "And why this?")) == 0
    assert len(requests(course)) == 3


def test_a_question_about_no_exercise_is_one_about_the_lesson(course):
    assert collect(course, ("amy", "01", "lineer", "Why?"), ("amy", "01", "", "What?")) == 0
    assert [about for _, about, _, _ in requests(course)] == ["the lesson", "the lesson"]


def test_a_test_cells_name_is_its_exercises(course):
    assert collect(course, ("amy", "01", "test_linear_parameters", "Why?")) == 0
    assert requests(course) == [("amy", "linear_parameters", "Why?", "")]


def test_in_ones_own_table_the_folder_says_who_asks(course):
    own = course.root / "submitted/bob" / LESSON / "questions.csv"
    own.write_text(table(("amy", "01", "linear_parameters", "Whose?")))
    other = course.root / "submitted/bob" / LESSON / "data.csv"
    other.write_text("x,y\n1,2\n")
    assert main(["regrade", "collect"]) == 0
    assert requests(course) == [("bob", "linear_parameters", "Whose?", "")]


def test_a_platforms_archive_holds_students_own_tables(course, capsys):
    (course.root / "submitted/amy-lee" / LESSON).mkdir(parents=True)
    text = table(("", "01", "linear_parameters", "Why?"))
    files = {
        "Amy Lee_4711_assignsubmission_file/questions-01_parameters.csv": text,
        "Bob_4712_assignsubmission_file/questions.xlsx": "PK",
        "Cyd_4713_assignsubmission_file/questions.csv": text,
    }
    (course.root / "archive.zip").write_bytes(zipped(files))
    assert main(["regrade", "collect", "archive.zip"]) == 1
    assert requests(course) == [("amy-lee", "linear_parameters", "Why?", "")]
    said = capsys.readouterr().out
    assert "questions.xlsx: is no CSV" in said and "no student is known as 'cyd'" in said


def test_a_table_that_is_wrong_throughout_is_one_line(course, capsys):
    rows = [(f"who{n}", "01", "linear_parameters", "Why?") for n in range(450)]
    assert collect(course, *rows, ("amy", "01", "linear_parameters", "Why?")) == 1
    said = capsys.readouterr().out.splitlines()
    [told] = [line for line in said if line.startswith("not taken")]
    assert (
        "class.csv, line 2: no student is known as 'who0'; nor 449 more lines of it: 3, 4" in told
    )
    assert len(said) == 3 and len(requests(course)) == 1


HOSTILE = {
    "a formula": ("amy", "01", "linear_parameters", "=cmd|' /C calc'!A0"),
    "a path for a student": ("../../etc", "01", "linear_parameters", "Why?"),
    "a path for a lesson": ("amy", "../01_parameters", "linear_parameters", "Why?"),
    "no such lesson": ("amy", "77", "linear_parameters", "Why?"),
    "an unknown student": ("eve", "01", "linear_parameters", "Why?"),
    "a script": ("amy", "01", "linear_parameters", "<script>ran = 1</script>"),
    "control characters": ("amy", "01", "linear_parameters", "a\x1b[2Jb\x07"),
    "a long question": ("amy", "01", "linear_parameters", "x" * 100_000),
}
REFUSED = ("a path for a student", "no such lesson", "an unknown student")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows(course, capsys, name):
    refused = name in REFUSED
    assert collect(course, HOSTILE[name]) == refused
    said = capsys.readouterr().out
    assert ("not taken: " in said) == refused and len(requests(course)) == (not refused)
    assert len(said) < 700 and "\x1b" not in said
    if not refused:
        assert main(["regrade", "share", "tia"]) == 0
        (row,) = sheet(course, "tia")
        assert row["question"][0] not in "=+-@\t\r" and len(row["question"]) < 4_100
        assert "\x1b" not in row["question"] and "\x07" not in row["question"]


def test_a_flood_of_questions_is_cut_and_told(course, capsys):
    assert collect(course, *(("amy", "01", "", f"Why {n}?") for n in range(60))) == 1
    assert len(requests(course)) == 50
    said = capsys.readouterr().out
    assert "line 52: amy asks more than 50 questions; nor 9 more lines of it: 53, 54" in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "lacks columns student, lesson"),
        (b"\xff\xfe\xff", "not in UTF-8"),
        (b"a,b\n1,2\n", "lacks columns student, lesson"),
        (b'student,lesson,exercise,question\n"' + b"x" * 200_000 + b'"\n', "not a CSV"),
        (b"x" * (17 * 1024**2), "larger than 16 MB"),
    ],
    ids=["empty", "no Unicode", "other columns", "an endless cell", "large"],
)
def test_a_table_that_is_none_is_told_in_a_sentence(course, capsys, data, said):
    (course.root / "class.csv").write_bytes(data)
    assert main(["regrade", "collect", "class.csv"]) == 2
    assert said in capsys.readouterr().err


def test_a_students_hostile_file_stops_no_other_student(course, capsys):
    place = course.root / "submitted"
    (place / "amy" / LESSON / "questions.csv").write_bytes(b"\xff\xff" * 9)
    (place / "amy" / LESSON / "large.csv").write_bytes(b"x" * (2 * 1024**2))
    (place / "amy" / LESSON / "link.csv").symlink_to("/etc/passwd")
    (place / "amy" / LESSON / "folder.csv").mkdir()
    (place / "bob" / LESSON / "questions.csv").write_text(table(("", "01", "", "Why?")))
    assert main(["regrade", "collect"]) == 1
    assert requests(course) == [("bob", "the lesson", "Why?", "")]
    said = capsys.readouterr().out
    assert "questions.csv: it is not in UTF-8" in said and "large.csv: is too large" in said


# ── assistants ───────────────────────────────────────────────────────────────────────────────


def test_requests_are_dealt_evenly_and_stay_where_they_are(course):
    for name in "abcd":
        (course.root / "submitted" / name).mkdir()
    assert collect(course, *((name, "01", "", f"{n}?") for name in "abcd" for n in range(2))) == 0
    assert main(["regrade", "share", "tia", "uli"]) == 0
    shares = {name: [row["student"] for row in sheet(course, name)] for name in ("tia", "uli")}
    assert shares == {"tia": ["a", "a", "c", "c"], "uli": ["b", "b", "d", "d"]}
    text = Log(course.root).path.read_bytes()
    assert main(["regrade", "share", "tia", "uli"]) == 0
    assert Log(course.root).path.read_bytes() == text


def test_what_an_assistant_has_typed_outlasts_a_new_table(course):
    collect(course, ("amy", "01", "", "One?"))
    main(["regrade", "share", "tia"])
    answered(course, "tia", {"One?": "=typed, not read yet"})
    collect(course, ("amy", "01", "", "Two?"))
    assert main(["regrade", "share", "tia"]) == 0
    typed = {row["question"]: row["answer"] for row in sheet(course, "tia")}
    assert typed == {"One?": "'=typed, not read yet", "Two?": ""}
    assert main(["regrade", "answer"]) == 0
    assert {answer for *_, answer in requests(course)} == {"=typed, not read yet", ""}


def test_an_answer_is_read_once_and_may_change(course, capsys):
    collect(course, ("amy", "01", "", "One?"))
    main(["regrade", "share", "tia"])
    for answer in ("first", "first", "second", "first"):
        answered(course, "tia", {"One?": answer})
        assert main(["regrade", "answer", "regrades/tia.csv"]) == 0
    (request,) = Log(course.root).requests().values()
    assert request.answers == [("first", "tia"), ("second", "tia"), ("first", "tia")]
    assert f"nbgrader generate_feedback {LESSON} --force" in capsys.readouterr().out
    main(["regrade", "list", "--open"])
    assert capsys.readouterr().out == "1 question, 0 without an answer\n"


def test_an_answer_to_no_request_is_told_and_never_overwritten(course, capsys):
    collect(course, ("amy", "01", "", "One?"))
    main(["regrade", "share", "tia"])
    path = course.root / "regrades/tia.csv"
    path.write_text("request;answer\nq0;Yes\n")
    assert main(["regrade", "answer"]) == 1
    assert "there is no request 'q0'" in capsys.readouterr().out
    assert main(["regrade", "share", "tia"]) == 2
    assert "there is no request 'q0': correct it" in capsys.readouterr().err
    assert path.read_text() == "request;answer\nq0;Yes\n"


@pytest.mark.parametrize("name", ["../tia", "=tia", ""])
def test_an_assistants_name_is_a_files(course, capsys, name):
    assert main(["regrade", "share", name]) == 2
    assert "cannot be the name of a file" in capsys.readouterr().err


# ── killed ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_killed_at_any_byte_of_the_log_nothing_is_lost(course):
    rows = [("amy", "01", "", "Één?"), ("bob", "01", "linear_parameters", "Two?")]
    collect(course, *rows)
    main(["regrade", "share", "tia"])
    answered(course, "tia", {"Één?": "Yes"})
    main(["regrade", "answer"])
    log = Log(course.root)
    whole, wanted = log.path.read_bytes(), requests(course)
    for length in range(0, len(whole), 7):
        log.path.write_bytes(whole[:length])
        before = set(requests(course))
        collect(course, *rows)
        assert {r[:3] for r in before} <= {r[:3] for r in requests(course)}
        for request in Log(course.root).requests().values():
            if not request.to:
                main(["regrade", "share", "tia"])
        answered(course, "tia", {"Één?": "Yes"})
        main(["regrade", "answer"])
        assert sorted(requests(course)) == sorted(wanted) and log.broken() == 0, length


@pytest.mark.whole
def test_killed_while_it_runs_it_takes_everything_the_next_time(course):
    rows = [("amy" if n % 2 else "bob", "01", "", f"{n}? {'x' * 3_000}") for n in range(90)]
    (course.root / "class.csv").write_text(table(*rows))
    words = [sys.executable, "-m", "proflab_course.cli", "regrade", "collect", "class.csv"]
    seen = 0
    for wait in (0.0, 0.02, 0.1):
        process = subprocess.Popen(words, cwd=course.root, stdout=subprocess.DEVNULL)
        while process.poll() is None and not Log(course.root).path.exists():
            time.sleep(0.001)
        time.sleep(wait)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        taken = len(requests(course))
        assert taken >= seen
        seen = taken
    assert main(["regrade", "collect", "class.csv"]) == 0
    assert len(requests(course)) == 90 and Log(course.root).broken() == 0


def test_a_changed_line_of_the_log_is_told(course, capsys):
    collect(course, ("amy", "01", "", "One?"))
    collect(course, ("amy", "01", "", "Two?"))
    path = Log(course.root).path
    path.write_text(path.read_text().replace("One?", "Oh!?"))
    capsys.readouterr()
    collect(course, ("amy", "01", "", "Two?"))
    assert "regrades/log.jsonl, line 2, does not follow" in capsys.readouterr().out


def test_a_question_about_what_another_track_leaves_out_is_asked_once(course, monkeypatch):
    rows = [("amy", "01", "linear_parameters", "Why?"), ("bob", "01", "essay", "Why so?")]
    collect(course, *rows)
    path = course.source(LESSON)
    text = path.read_text()
    path.write_text(
        text.replace('"linear_parameters"', '"other"').replace('"essay_parameters"', '"other_2"')
    )
    assert collect(course, *rows, ("amy", "01", "linear_parameters", "And now?")) == 0
    assert [question for _, _, question, _ in requests(course)] == ["Why?", "Why so?", "And now?"]
