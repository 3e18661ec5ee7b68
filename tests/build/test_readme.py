"""The README: its numbers, its example and its picture are of today, and its doors open."""

import doctest
import json
import math
import re
import runpy
import shutil

import pytest
from cohort.attacks import ATTACKS
from cohort.attacks.files import FILE_ATTACKS
from cohort.run import entries, lessons
from grading_course import LESSON, command, copy_course, grade
from mini_course import ROOT
from PIL import Image, ImageChops, ImageStat
from test_docs import PAGES

from proflab_course.course.address import Address
from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.tracks.read import Tracks

COURSE = Course(ROOT)
README = (ROOT / "README.md").read_text("utf-8")
NUMBERS = re.search(r"^\| \d+ lessons \|.*$", README, re.MULTILINE)[0]
AGAIN = "run: make demo && python docs/pictures/readme.py"
PICTURES = [ROOT / f"docs/pictures/{name}.png" for name in ("readme", "readme-dark")]


def record(name):
    """Return the table that a benchmark recorded."""
    return json.loads((ROOT / f"docs/figures/{name}.json").read_text("utf-8"))["table"]


def test_it_opens_the_first_lesson_by_the_address_in_pyproject():
    assert Address.read(ROOT).links(COURSE.lessons()[0]) in README


def test_it_opens_with_numbers_a_picture_and_two_commands():
    first_screen = "\n".join(README.splitlines()[:20])
    assert NUMBERS in first_screen
    assert "make demo" in first_screen and "make test" in first_screen
    assert re.search("<picture><source .*dark.*><img alt=.{20,} src=.*></picture>", first_screen)
    named = sorted(re.findall(r"docs/pictures/[\w-]+\.png", first_screen), key=len)
    assert [ROOT / name for name in named] == PICTURES


def test_it_is_short():
    assert len(README.splitlines()) <= 95 and len(README.split()) <= 1_126


def test_it_links_to_every_document():
    assert [name for name in PAGES[1:] if f"({name}" not in README] == []


# ── the row of numbers ───────────────────────────────────────────────────────────────────────


def test_it_counts_the_lessons_and_the_hours_of_the_shortest_and_the_longest_track():
    assert f"| {len(counted(COURSE.lessons('release')))} lessons |" in NUMBERS
    hours = [track.hours for track in Tracks.read(ROOT).tracks.values()]
    assert f"| {min(hours)} to {max(hours)} hours |" in NUMBERS


def test_the_times_of_its_lessons_add_up_to_the_terms_hours():
    times = re.findall(r"\| (\d+)\sh\s(\d\d) \|", README)
    assert len(times) == len(counted(COURSE.lessons("release")))
    minutes = sum(60 * int(hours) + int(rest) for hours, rest in times)
    assert math.ceil(minutes / 60) == Tracks.read(ROOT).tracks["term"].hours


@pytest.mark.parametrize("page", ["README.md", "docs/instructors.md"])
def test_a_page_that_says_the_hours_of_tracks_says_them_as_they_are(page):
    text = " ".join((ROOT / page).read_text("utf-8").split())
    tracks = Tracks.read(ROOT).tracks
    names = {"evening": "an evening", "week": "a week", "weeks3": "three weeks", "term": "a term"}
    for track, name in (names | {"all": "everything"}).items():
        said = re.findall(rf"\b{name} \((\d+)[ h]*\)", text)
        assert said == [str(tracks[track].hours)], (page, name)


def test_it_counts_wrong_and_unusual_solutions_and_attacks_in_round_numbers_below():
    there = {"attacks": len(ATTACKS) + len(FILE_ATTACKS)}
    for kind, name in (("wrong solutions", "MUTANTS"), ("unusual right solutions", "ALTERNATES")):
        there[kind] = sum(len(each) for n in lessons() for each in entries(n, name).values())
    for kind, number in there.items():
        [said] = re.findall(rf"([\d,]+)\+ {kind}\b", " ".join(README.split()))
        least = int(said.replace(",", ""))
        assert least <= number < 1.1 * least, (kind, number)


def test_the_time_to_grade_a_hand_in_is_the_recorded_one():
    ours, stock = (
        float(re.search(rf"^  {name} .*? s +(\d+) ms", record("grading"), re.MULTILINE)[1])
        for name in ("proflab grade --jobs 1", "nbgrader autograde")
    )
    assert f"| {ours / 1000:.2f} s of CPU |" in NUMBERS
    assert f"nbgrader: {stock / 1000:.1f}\u00a0s" in README  # a unit stays with its number


def test_the_cells_that_run_in_a_browser_are_the_recorded_ones():
    cells, ran = re.search(r"^all +(\d+) +(\d+)", record("browser"), re.MULTILINE).groups()
    assert f"| {ran} of {cells} cells |" in NUMBERS


# ── the example and the picture ──────────────────────────────────────────────────────────────


def test_every_number_of_its_example_is_true():
    [block] = re.findall(r"^```python\n(.*?)^```$", README, re.M | re.S)
    test = doctest.DocTestParser().get_doctest(block, {}, "README.md", "README.md", 0)
    lines: list[str] = []
    result = doctest.DocTestRunner().run(test, out=lines.append)
    assert result.attempted >= 5 and not result.failed, "".join(lines)


@pytest.mark.whole
def test_its_pictures_are_of_todays_lesson_and_class(tmp_path):
    """Drawn anew they say the same, word by word, and look alike (letters differ by system)."""
    pytest.importorskip("browsing")  # skips where there is no Chromium
    course = copy_course(tmp_path)
    shutil.copytree(ROOT / "modules" / LESSON, tmp_path / "modules" / LESSON)  # concept questions
    grade(course)
    done = command(course, "proflab", "report", LESSON)
    assert done.returncode == 0, done.stderr
    script = runpy.run_path(str(ROOT / "docs/pictures/readme.py"))
    assert list(script["TARGETS"].values()) == PICTURES
    drawn = {scheme: tmp_path / f"{scheme}.png" for scheme in script["TARGETS"]}
    script["draw"](course.root / f"reports/{LESSON}.html", drawn)
    for scheme, target in script["TARGETS"].items():
        with Image.open(target) as then, Image.open(drawn[scheme]) as now:
            assert then.text[script["WORDS"]] == now.text[script["WORDS"]], AGAIN
            small = [each.convert("L").resize((96, 64)) for each in (then, now)]
            assert then.size == now.size
            assert ImageStat.Stat(ImageChops.difference(*small)).mean[0] < 6, AGAIN
            light = ImageStat.Stat(small[0]).mean[0]
            assert (light > 200) is (scheme == "light") and (light < 60) is (scheme == "dark")
