"""The assistants' page: its commands, in order, lead two assistants through a week of a class."""

import csv
import re
import shlex
from html import unescape
from urllib.parse import unquote

import pytest
from archives import zipped
from essay_class import ESSAY, STUDENTS, fill, rows_of
from grading_course import LESSON, ROOT, command, copied

from proflab_course.grading.records.gradebook import Book

pytestmark = pytest.mark.whole("essays/test_essays.py")
PAGE = (ROOT / "docs" / "assistants.md").read_text("utf-8")
ANCHORS = {"good answer": set(range(1, 11)), "poor answer": {10}}
ODD, ASKS = STUDENTS[3], STUDENTS[5]
# What would take a minute for the whole class, and is the same for two of it.
LESS = {"viva": ["--student", ODD, "--student", ASKS], "generate_feedback": ["--student", ASKS]}


def commands():
    """The page's commands, of lesson 01 in place of 07."""
    for block in re.findall(r"^```sh by-class\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            yield line.replace("07_scaling", LESSON).replace("07", "01")


@pytest.fixture(scope="module")
def week(graded, tmp_path_factory):
    """What each command of the page said, in a course whose people did what the page asks for."""
    course = copied(graded, tmp_path_factory.mktemp("week"))
    for name in ("tests", "modules"):
        (course.root / name).symlink_to(ROOT / name)
    prepare(course)
    said = {}
    for line in commands():
        words = shlex.split(line)
        name = next((each for each in LESS if each in words and "--marks" not in words), "")
        done = command(course, *words, *LESS.get(name, []))
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        said[line] = done.stdout
        if between := MEANWHILE.get(line):
            between(course, said)
    return course, said


def prepare(course):
    """Pack what the class has handed in."""
    (course.root / "downloaded").mkdir()
    notebooks = {
        f"{student}/{LESSON}.ipynb": path.read_bytes()
        for student in STUDENTS
        for path in (course.root / "submitted" / student).rglob("*.ipynb")
    }
    (course.root / "downloaded/01.zip").write_bytes(zipped(notebooks))


def ask(course, said):
    """A student writes a question into the table of the page of feedback, and hands it in."""
    page = (course.root / "feedback" / ASKS / LESSON / f"{LESSON}.html").read_text("utf-8")
    [(name, table)] = re.findall(r'download="([^"]*)" href="data:text/csv[^,]*,([^"]*)"', page)
    rows = [*csv.DictReader(unquote(unescape(table)).lstrip("\ufeff").splitlines())]
    rows[0]["question"] = "Why is a bias counted?"
    with (course.root / "submitted" / ASKS / LESSON / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def mark(course, said):
    """Both mark the anchors, then the essays; they differ on one."""
    for name, wrong in (("anna", set()), ("ben", {9})):
        own = [row["hand-in"] for row in rows_of(course, name)][2:]
        items = {s: {1, 2} | ({3} if (s, name) == (ODD, "ben") else set()) for s in own}
        fill(course, name, {**ANCHORS, "poor answer": {10} | wrong, **items})
    done = command(course, "proflab", "essays", "01")
    assert done.returncode == 0, done.stderr
    said["proflab essays 01"] = done.stdout
    decided = rows_of(course, "decide")
    path = course.root / "essays" / LESSON / "decide.csv"
    for row in decided:
        row |= {
            head: str(int(head[0] in "12" and head[1] == ":")) for head in row if head[0].isdigit()
        }
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, decided[0])
        table.writeheader()
        table.writerows(decided)


def answer(course, said):
    """The assistant who has got the question writes an answer."""
    for name in ("anna", "ben"):
        path = course.root / "regrades" / f"{name}.csv"
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            row["answer"] = "A bias is a parameter, too: one for each output."
        if rows:
            with path.open("w", newline="", encoding="utf-8") as file:
                table = csv.DictWriter(file, rows[0])
                table.writeheader()
                table.writerows(rows)


def talk(course, said):
    """Two students were asked: one has three of four, the other one has to come again."""
    text = f"student,q1,q2,q3,q4\n{ODD},1,1,1,0\n{ASKS},1,0,,0\n"
    (course.root / "viva.csv").write_text(text)


MEANWHILE = {
    "proflab essays 01 --between anna,ben --overlap 10": mark,
    f"nbgrader generate_feedback {LESSON} --force": ask,
    "proflab regrade share anna ben": answer,
    "proflab viva 01": talk,
}


def test_a_command_inside_a_sentence_is_one_of_those(week):
    """build/test_printed_commands.py runs these of each other page."""
    _, said = week
    inside = re.findall(r"`((?:proflab|nbgrader) \w+ [^`]+)`", PAGE.replace("07", "01"))
    assert inside and {" ".join(each.split()) for each in inside} <= said.keys()


def test_the_class_is_collected_and_graded(week):
    course, said = week
    assert "12 unchanged" in said["proflab collect downloaded/01.zip 01"]
    assert (
        "12 of 13 have not changed" in said["proflab grade 01"]
        or "13 of 13" in said["proflab grade 01"]
    )
    assert (course.root / f"reports/{LESSON}.html").exists()


def test_ten_essays_are_in_both_tables_and_the_anchors_calibrate(week):
    course, said = week
    anna, ben = ({row["hand-in"] for row in rows_of(course, name)[2:]} for name in ("anna", "ben"))
    assert len(anna & ben) == 10 and anna | ben == set(STUDENTS)
    told = said["proflab essays 01"]
    assert "ben on the poor answer: otherwise than the scheme in item 9" in told
    assert f"markers differ on {ODD}" in told and "0.00" in told


def test_the_decision_counts_and_both_marks_are_kept(week):
    course, _ = week
    done = command(course, "proflab", "essays", "01")
    assert done.returncode == 0 and "12 of 12 essays settled" in done.stdout
    with Book(course.gradebook) as book:
        marks = {s: e.mark for s, e in book.essays(LESSON, ESSAY).items()}
    assert marks[ODD] == 2 and set(marks.values()) == {2}
    log = (course.root / "essays/log.jsonl").read_text()
    assert '"items": [1, 2, 3]' in log


def test_the_answer_stands_on_the_page_that_the_student_gets(week):
    course, said = week
    assert "1 question" in said["proflab regrade collect"]
    [feedback] = (course.root / "feedback" / ASKS / LESSON).glob("*.html")
    done = command(course, "nbgrader", "generate_feedback", LESSON, "--force", "--student", ASKS)
    assert done.returncode == 0, done.stderr
    assert "A bias is a parameter, too: one for each output." in feedback.read_text("utf-8")


def test_sheets_have_keys_apart_and_marks_come_back(week):
    course, said = week
    folder = course.root / "viva" / LESSON
    sheet, key = ((folder / f"{ASKS}{end}.html").read_text("utf-8") for end in ("", ".key"))
    assert (
        sheet.count('class="question"') == 4 and 'class="key"' not in sheet and 'class="key"' in key
    )
    marked = said["proflab viva 01 --marks viva.csv"]
    assert f"1 of 2 have three questions of four or more; another sheet for {ASKS}" in marked
    report = command(course, "proflab", "report", "01", "-o", "again.html")
    assert report.returncode == 0
    assert "viva 3 of 4" in (course.root / "again.html").read_text("utf-8")
