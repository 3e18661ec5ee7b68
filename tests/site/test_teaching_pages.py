"""The pages for teachers that the site's build makes: what they say is what the lessons have."""

import re

import pytest
from cohort.run import ROOT
from lesson_demos import module_at

from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module
from proflab_course.tracks.objectives import stated_objectives
from proflab_course.tracks.read import Tracks

COURSE = Course(ROOT)
LESSONS = {name: read_module(COURSE.module(name), name) for name in COURSE.lessons()}


@pytest.fixture(scope="module")
def blueprint():
    return module_at(ROOT / "docs/site/blueprint.py").blueprint_page(COURSE)


def rows(page, heading):
    """The cells of each row of the tables below a heading."""
    part = page.partition(f"## {heading}\n")[2].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|") and "--" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.proves("the blueprint has each objective")
@pytest.mark.parametrize("name", LESSONS)
def test_the_blueprint_has_each_objective_with_its_exercises_and_points(blueprint, name):
    lesson = LESSONS[name]
    title = lesson.cells[0].source.splitlines()[0].removeprefix("# ")
    stated = stated_objectives(lesson.cells[0].source)
    found = rows(blueprint, title)[1:][: len(stated)]
    assert [row[0].partition("<br>")[0].strip("*") for row in found] == stated
    listed = [name for row in found for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(cell.name for cell in lesson.named("exercise"))
    points = sum(float(row[4]) for row in found)
    assert points == sum(cell.points for cell in lesson.named("test"))


def test_the_blueprint_says_what_a_track_leaves_out(blueprint):
    found = [row[0] for row in rows(blueprint, "04 · Where do the bytes go?")]
    [leaks] = [cell for cell in found if cell.startswith("**measure what code")]
    [kept] = [cell for cell in found if cell.startswith("**count what a model")]
    assert re.search(r"weeks3\b[^;]*: none", leaks) and re.search(r"weeks3\b[^;]*: \d", kept)
    assert ": read" in blueprint


def test_the_page_for_lectures_says_hours_and_minutes_of_each_lesson():
    page = module_at(ROOT / "docs/site/lectures.py").lectures_page(COURSE)
    times = re.findall(r"^(\d+) h (\d\d) in all\.$", page, re.M)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(times) == page.count("\n## ") > 10
    assert times == re.findall(r"\| (\d+)\sh\s(\d\d) \|", readme)


def test_the_blueprints_first_table_has_every_track(blueprint):
    titles = [row[0].strip("*") for row in rows(blueprint, "All tracks")[1:]]
    assert titles == [track.title for track in Tracks.read(ROOT).tracks.values()]
