"""What ships is executed, also what only another track than the default has students write.

`make test` builds the default track, with all of its cells. Here are the exercises, the examples in
their docstrings and the demo cells that it gives as code or leaves out; `proflab build --check
--track all` tries the rest of them as students get them. That no other track has more than `all`
is shown in build/test_course_tracks.py, which reads them all.
"""

import pytest
from linked_course import ROOT
from shop_course import SHOP, declare_privately, make_shop

from proflab_course.build.claims import Claims, Milestone
from proflab_course.build.make import make
from proflab_course.build.prepare import prepare
from proflab_course.build.trial import Run, execute
from proflab_course.cli import main
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.match_cells import align
from proflab_course.tracks.read import DEFAULT, Tracks

pytestmark = pytest.mark.whole("build/test_course_tracks.py")

EVERYTHING = "all"


def more_than_default():
    tracks = Tracks.read(ROOT)
    default, most = tracks.track(DEFAULT), tracks.track(EVERYTHING)
    return [n for n in most.lessons if most.exercises[n] != default.exercises.get(n)]


def tried_by_default(lesson):
    """The test cells that `proflab build --check` executes in the default track, too."""
    written = Tracks.read(ROOT).track(DEFAULT).exercises.get(lesson.name, ())
    return [cell.node for name in written for cell in lesson.tests[name]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The lessons that the default track shortens, whole: (plan, folder)."""
    work = tmp_path_factory.mktemp("everything")
    plan = prepare(Course(ROOT), track=EVERYTHING)
    plan.wanted = more_than_default()
    assert not make(plan, work, "static")
    return plan, work


@pytest.mark.parametrize("name", more_than_default())
def test_each_exercise_is_solved_and_each_example_holds(made, name):
    plan, work = made
    lesson = plan.taken[name].lesson
    tried = tried_by_default(lesson)
    lesson.notebook.cells = [cell for cell in lesson.notebook.cells if cell not in tried]
    key, claims = make_key(name, lesson.notebook), Claims(lesson, Milestone())
    whole = not Tracks.read(ROOT).track(DEFAULT).exercises.get(name)  # then its demo cells, too
    [run] = execute(
        [Run(align(lesson.notebook, key), key, work / "release" / name, whole, claims)], 1
    )
    solved = run.conclude()
    assert solved.errors == [] and solved.score == key.max_score > 0
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
