"""Minutes that students write down: asked in each lesson, reported, a patch of the estimates."""

import os
import subprocess

import nbformat
import pytest
from grading_course import take_warm_runner
from mini_course import make_course
from shop_course import declare_privately, make_shop

from proflab_course.build.command import build
from proflab_course.cli import main
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.records.gradebook import Book, Outcome
from proflab_course.grading.submissions.read_guesses import Guess, read_guesses
from proflab_course.report.minutes import minutes_patch
from proflab_course.tracks.read import Tracks

ANSWERS = ("40", "60", "50 # with the essay", "80", "70", "None", "'long'", "2 h")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Lesson 01 of a day, graded; five of eight students have said their minutes."""
    course = make_shop(tmp_path_factory.mktemp("day"))
    declare_privately(course, 'use = "day"')
    build(course, audit="static")
    for number, answer in enumerate(ANSWERS):
        notebook = nbformat.read(course.release("01_shop"), 4)
        [asked] = [cell for cell in notebook.cells if "minutes_01" in cell.source]
        asked.source = asked.source.partition("=")[0] + f"= {answer}"
        path = course.root / f"submitted/s{number}/01_shop/01_shop.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.environ["PATH"])  # whoever opens a gradebook changes it
        patch.chdir(course.root)
        take_warm_runner(patch)
        assert main(["grade", "01", "--no-sandbox"]) == 0
        assert main(["report", "01"]) == main(["report"]) == 0
    return course


@pytest.mark.proves("minutes that students wrote are shown")
def test_the_pages_show_median_and_quartiles(course):
    page = (course.root / "reports/01_shop.html").read_text()
    took = "60 min (half of them from 50 to 70)"
    assert f"By 5 of 8 students, the lesson took a median of {took}." in page
    assert f"<code>01_shop</code>: {took}" in (course.root / "reports/term.html").read_text()


def test_a_patch_scales_what_the_track_counts(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    assert main(["report", "--minutes"]) == 0
    said = capsys.readouterr()
    assert "01_shop: a median of 60 minutes, 35 estimated, from 5 students" in said.err
    assert "02_cart: 0 of 0 students say their minutes" in said.err
    subprocess.run(["git", "apply", "-"], input=said.out, text=True, check=True)
    times = Tracks.read(course.root).times["01_shop"]
    assert dict(times.minutes) == {"tax": 17, "total": 26, "mean": 5, "discount": 5}
    assert (times.essay, times.measured) == (17, 5)
    assert main(["report", "--minutes"]) == 0  # before the lesson is built anew
    again = capsys.readouterr()
    assert again.out == "" and "01_shop: corrected already by 5 students" in again.err
    key = read_key(course.source("01_shop"))
    with Book(course.gradebook) as book:  # a sixth student, still before the lesson is built anew
        took = [Guess("the lesson took", None, 90.0)]
        book.write(key, Outcome("late", "01_shop", "graded", "", "", guesses=took), None)
    assert main(["report", "--minutes"]) == 0
    again = capsys.readouterr()
    assert again.out == "" and "01_shop: its headings are older than modules/" in again.err
    build(course, audit="static")
    assert main(["report", "--minutes"]) == 0
    assert "01_shop: a median of 65 minutes, 55 estimated, from 6" in capsys.readouterr().err


def test_a_lesson_that_types_its_minutes_itself_is_told_and_the_others_are_patched(tmp_path):
    course = make_course(tmp_path)
    path = course.root / "modules/tracks.toml"
    path.write_text(
        '[track.term]\ntitle = "All"\ntext = "All."\nhours = 2\nexcept = {}\n'
        "[lesson.02_second.minutes]\nvolume = 10\n"
    )
    build(course, audit="static")
    took = [Guess("the lesson took", None, 90.0)]
    for lesson in course.lessons("source"):
        key = read_key(course.source(lesson))
        with Book(course.gradebook) as book:
            book.register(key)
            for student in "abcde":
                book.write(key, Outcome(student, lesson, "graded", "", "", guesses=took), None)
    patch, told = minutes_patch(course)
    assert told[0] == ("01_first: a median of 90 minutes; its own text says 35: correct it there")
    assert "+measured = 5" in patch or "+volume = " in patch


@pytest.mark.parametrize(
    ("source", "minutes"),
    [
        ("minutes_05 = 140", 140),
        ("# So many?\nminutes_05 = 95.5  # about\n", 95.5),
        ("minutes_05 = None", None),
        ("minutes_05 = 0", None),
        ("minutes_05 = -3", None),
        ("minutes_05 = 99999", None),
        ("minutes_05 = 60 + 60", None),
        ("x = minutes_05 = 5", None),
        (["minutes_05", " = 7"], 7),
        (7, None),
    ],
)
def test_a_plain_number_counts_and_nothing_else(source, minutes):
    found = [] if minutes is None else [Guess("the lesson took", None, minutes, "min")]
    assert read_guesses([{"source": source}]) == found
