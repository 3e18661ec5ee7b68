"""`proflab viva` over a class in the sandbox: sheets, keys, index; no hand-in stops it."""

import csv
import os
import re

import pytest
from viva_class import LESSON, make_course

from proflab_classroom.viva import execute
from proflab_course.cli import main
from proflab_course.grading.run.sandbox_runner import SandboxError
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

ENDLESS = "def fence(w, h):\n    while True:\n        pass"
HUGE = "def box(w, h, d):\n    return [0] * 10**8"
EXITS = "import os\ndef tiles(length, size):\n    os._exit(0)"
MARKUP = (
    "def rectangle(width, height):\n"
    "    # <script>alert(1)</script> </code>{{ 7 * 7 }}\n"
    "    return width * height"
)
CLASS = {
    "ada": {},
    "ben": {"fence": "def fence(a, b):\n    return a + a + b + b", "rectangle": MARKUP},
    "cy": {"fence": ENDLESS, "box": HUGE, "tiles": EXITS},
    "dee": {"box": None, "fence": None},
    "eve": None,
}
WORDS = [
    "viva",
    "1",
    "--jobs",
    "1",
    *(["--no-sandbox"] if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") else []),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("viva"), CLASS)
    (course.root / "private" / "secret").write_bytes(bytes(32))
    (course.root / "submitted" / "finn" / LESSON).mkdir(parents=True)
    (course.root / "submitted" / "finn" / LESSON / f"{LESSON}.ipynb").write_text("no notebook")
    before = os.getcwd()
    os.chdir(course.root)
    assert main(WORDS) == 0
    yield course
    os.chdir(before)


def page(course, name, folder="viva"):
    return (course.root / folder / LESSON / name).read_text()


def index(course, folder="viva"):
    rows = csv.DictReader(page(course, "index.csv", folder).splitlines())
    return {row["student"]: row for row in rows}


@pytest.mark.proves("a viva has a sheet and a key for each student")
def test_each_student_has_a_sheet_and_a_key(course):
    assert set(index(course)) == {*CLASS, "finn"}
    assert index(course)["ada"]["kinds"] == "value tell change tell"
    for student in (*CLASS, "finn"):
        assert page(course, f"{student}.html")
        assert page(course, f"{student}.key.html")


def test_the_key_is_on_the_key_page_alone(course):
    assert 'class="key"' in page(course, "ada.key.html")
    sheet = page(course, "ada.html")
    assert 'class="key"' not in sheet
    assert "The other one:" not in sheet
    assert "yours" not in re.sub(r"does yours", "", re.sub(r"<style>.*</style>", "", sheet))


def test_students_with_different_code_get_different_sheets(course):
    digests = [index(course)[name]["digest"] for name in ("ada", "ben", "cy", "dee")]
    assert len(set(digests)) == 4


def test_what_does_not_end_is_huge_or_exits_gives_fewer_questions_and_stops_nobody(course):
    row = index(course)["cy"]
    assert set(row["exercises"].split()) <= {"rectangle"}
    assert "questions could be made from this hand-in" in page(course, "cy.html")
    assert len(index(course)["dee"]["exercises"].split()) >= 2
    assert index(course)["eve"]["exercises"] == ""
    assert "There is nothing to ask" in page(course, "finn.html")


def test_a_students_text_is_text_and_the_page_fetches_nothing(course):
    for ending in ("html", "key.html"):
        text = page(course, f"ben.{ending}")
        assert "<script" not in text
        if "rectangle" in index(course)["ben"]["exercises"]:
            assert "&lt;script&gt;" in text
            assert "{{ 7 * 7 }}" in text
        assert not re.search(r"\b(?:src|href)=|url\(", text)


@pytest.mark.whole
def test_the_same_seed_gives_the_same_bytes_also_without_the_cache(course):
    for path in (course.root / ".cache" / "viva").iterdir():
        path.unlink()
    words = [*WORDS, "--student", "ada", "--student", "ben"]
    assert main([*words, "-o", "again"]) == 0
    assert main([*words, "-o", "other", "--seed", "2"]) == 0
    for student in ("ada", "ben"):
        for ending in ("html", "key.html"):
            name = f"{student}.{ending}"
            assert page(course, name, "again") == page(course, name)
    assert index(course, "other")["ada"]["digest"] != index(course)["ada"]["digest"]


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets the sandbox fail at the calls of a submission of this name."""

    def at(name):
        class Runner:
            def __init__(self, isolation, jobs, limits):
                self.inner = SubprocessRunner(limits)

            def run(self, submission, plan):
                if submission.name == name:
                    raise SandboxError("its warm process ended")
                return self.inner.run(submission, plan)

            def close(self):
                self.inner.close()

        monkeypatch.setattr(execute, "make_runner", Runner)

    return at


@pytest.mark.whole
def test_where_the_sandbox_fails_the_student_is_named_and_the_others_have_sheets(
    course, failing, capsys
):
    failing("ben")
    students = ["--student", "ada", "--student", "ben"]
    assert main([*WORDS, *students, "-o", "broken"]) == 1
    said = capsys.readouterr().out
    assert (
        "  ben: it cannot be asked about (the sandbox failed: its warm process ended): run" in said
    )
    assert index(course, "broken")["ben"]["exercises"] == ""
    assert page(course, "ada.html", "broken") == page(course, "ada.html")
    log = (course.root / "grading.log").read_text()
    assert f"{LESSON} 'ben'" in log and "GraderFailed" in log


def test_where_it_fails_at_the_lesson_s_own_solutions_no_sheet_is_written(course, failing, capsys):
    for path in (course.root / ".cache" / "viva").iterdir():
        path.unlink()
    failing("the lesson")
    for words in (["-o", "none"], ["-o", "none", "--gift"]):
        assert main([*WORDS, *words]) == 2
        said = capsys.readouterr().err
        assert f"{LESSON}: the sandbox failed: its warm process ended; that is no student" in said
    assert not (course.root / "none").exists()
