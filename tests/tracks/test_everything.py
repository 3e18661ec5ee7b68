"""What ships is executed, also what only another track than the default has students write.

`make test` builds the default track, with all of its cells. Here are the exercises, the examples in
their docstrings and the demo cells that it gives as code or leaves out; `proflab build --check
--track all` tries the rest of them as students get them.
"""

import pytest
from linked_course import ROOT
from shop_course import SHOP, declare_privately, make_shop

from proflab_course.build.claims import Claims, Milestone
from proflab_course.build.make import make
from proflab_course.build.measures import docstrings
from proflab_course.build.prepare import prepare
from proflab_course.build.trial import Run, execute
from proflab_course.cli import main
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.match_cells import align
from proflab_course.tracks.read import DEFAULT, Tracks

pytestmark = pytest.mark.whole("build/test_course_tracks.py")

EVERYTHING = "all"


def shown(plan):
    """Return a track's exercises, with their docstrings, and its demo cells."""
    return {
        (lesson.name, cell.name, cell.role, *docstrings(cell))
        for lesson in plan.lessons
        for cell in lesson.named("exercise", "demo")
    }


@pytest.fixture(scope="module")
def plans():
    return {name: prepare(Course(ROOT), track=name) for name in Tracks.read(ROOT).tracks}


def test_one_track_has_all_that_any_other_shows(plans):
    everything = shown(plans[EVERYTHING])
    for name, plan in plans.items():
        assert shown(plan) <= everything, name


def more_than_default():
    tracks = Tracks.read(ROOT)
    default, most = tracks.track(DEFAULT), tracks.track(EVERYTHING)
    return [n for n in most.lessons if most.exercises[n] != default.exercises.get(n)]


@pytest.fixture(scope="module")
def made(plans, tmp_path_factory):
    """The lessons that the default track shortens, whole: (plan, folder)."""
    plan, work = plans[EVERYTHING], tmp_path_factory.mktemp("everything")
    plan.wanted = more_than_default()
    assert not make(plan, work, "static")
    return plan, work


@pytest.mark.parametrize("name", more_than_default())
def test_each_exercise_is_solved_and_each_example_holds(made, name):
    plan, work = made
    lesson = plan.taken[name].lesson
    key, claims = make_key(name, lesson.notebook), Claims(lesson, Milestone())
    whole = not Tracks.read(ROOT).track(DEFAULT).exercises.get(name)  # then its demo cells, too
    [run] = execute(
        [Run(align(lesson.notebook, key), key, work / "release" / name, whole, claims)], 1
    )
    solved = run.conclude()
    assert solved.errors == [] and solved.score == key.max_score
    assert claims.examples and [*claims.mistakes(run.last_replies)] == []


def test_a_check_of_a_track_finds_an_example_that_the_class_is_given(tmp_path, monkeypatch, capsys):
    wrong = '"""Return the mean of the prices.\n\n    >>> mean([1, 3])\n    3.0\n    """'
    lesson = SHOP.replace('"""Return the mean of the prices."""', wrong)
    course = make_shop(tmp_path, lesson=lesson)
    declare_privately(course, 'use = "hour"')
    monkeypatch.chdir(course.root)
    assert main(["build"]) == 0
    before = {path: path.read_bytes() for path in course.root.rglob("*.ipynb")}
    assert main(["build", "--check", "--track", "hour"]) == 0
    assert main(["build", "--check", "--track", "term", "01"]) == 2
    told = capsys.readouterr()
    assert "track hour: 01_shop can be built" in told.out
    assert "cell mean: the example in its docstring does not hold" in told.err
    assert {path: path.read_bytes() for path in course.root.rglob("*.ipynb")} == before
