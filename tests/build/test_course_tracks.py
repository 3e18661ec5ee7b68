"""The course's own tracks: they fit their hours, run to their end and refer to nothing unseen."""

import json
import math

import pytest
from chosen import chosen
from cohort.run import ROOT
from handed_in import WHOLE, filled, graded
from whole_lessons import whole_lesson

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import KNOWN
from proflab_course.build.make import make
from proflab_course.build.measures import docstrings
from proflab_course.build.prepare import prepare
from proflab_course.build.trial import Trial, execute
from proflab_course.cli import main
from proflab_course.course.address import Address
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_notebook
from proflab_course.course.sections import sections
from proflab_course.tracks.mentions import asks_for_given, link_mentions, mentioned_in_code
from proflab_course.tracks.read import Tracks

SHORT = ("evening", "week", "weeks3", "weeks3-serving")


def test_the_course_declares_minutes_for_its_lessons_and_for_no_others():
    assert list(Tracks.read(ROOT).times) == Course(ROOT).lessons()


class Plans(dict):
    """The course's tracks, each read when it is asked for."""

    def __missing__(self, name):
        self[name] = prepare(Course(ROOT), track=name)
        return self[name]


@pytest.fixture(scope="module")
def plans():
    return Plans()


@pytest.mark.whole
@pytest.mark.parametrize("name", SHORT)
def test_every_name_that_a_cell_uses_is_defined_above_it_or_called_later(plans, name):
    for lesson in plans[name].lessons:
        everywhere: set[str] = set()
        for cell in lesson.named("given", "exercise", "setup", "free"):
            everywhere |= bound_names(cell.statements())
        above: set[str] = set()
        for cell in lesson.cells:
            nodes = cell.statements()
            own = bound_names(nodes)
            known = above | own | KNOWN
            if cell.role in ("given", "exercise", "setup", "free"):
                known |= everywhere
            assert not used_names(nodes) - known, cell.where
            above |= own


@pytest.mark.whole
@pytest.mark.parametrize("name", SHORT)
def test_no_guess_waits_for_a_demo_that_is_not_there(plans, name):
    for lesson in plans[name].lessons:
        answered: set[str] = set()
        for cell in reversed(lesson.cells):
            if cell.role == "demo":
                answered |= used_names(cell.statements())
            assert "guess" not in cell.tags or bound_names(cell.statements()) <= answered


@pytest.mark.proves
@pytest.mark.parametrize("name", chosen(SHORT, {"evening"}))
def test_nothing_refers_to_what_the_class_never_saw(plans, name):
    plan = plans[name]
    before = [cell.source for lesson in plan.lessons for cell in lesson.named("text")]
    for lesson in plan.lessons:
        link_mentions(lesson, plan)  # a mention that is left would be linked now
        assert [*mentioned_in_code(lesson, plan), *asks_for_given(lesson, plan)] == []
    assert [c.source for lesson in plan.lessons for c in lesson.named("text")] == before


@pytest.mark.whole
def test_no_lesson_of_the_default_sends_its_reader_to_its_own_page():
    plan, address = prepare(Course(ROOT)), Address.read(ROOT)
    for name, taken in plan.taken.items():
        text = "\n".join(cell.source for cell in taken.lesson.named("text"))
        assert "This class takes" not in text and address.whole_lesson(name) not in text
        assert "whole lesson" not in text.lower(), name
    given = {name for taken in plan.taken.values() for name in taken.given}
    left_out = {n for name in plan.taken for n in plan.tracks.left_out(plan.track, name)}
    idle = {"generation_flops", "prefix_hits"}  # optional ones that no cell uses
    assert given == left_out - idle and idle < left_out


@pytest.mark.parametrize("name", chosen(SHORT, {"evening"}))
def test_the_tracks_fit_into_their_hours(plans, name):
    plan = plans[name]
    minutes = sum(s.minutes or 0 for lesson in plan.lessons for s in sections(lesson))
    assert 0.6 <= minutes / (60 * plan.track.hours) <= 1


@pytest.mark.whole
@pytest.mark.parametrize("name", ["term", "capstone", "all"])
def test_the_hours_of_a_whole_track_are_its_lessons_rounded_up(plans, name):
    plan = plans[name]
    minutes = sum(s.minutes or 0 for each in plan.taken.values() for s in sections(each.lesson))
    assert plan.track.hours == math.ceil(minutes / 60)


def shown(plan):
    """Return a track's exercises, with their docstrings, and its demo cells."""
    return {
        (lesson.name, cell.name, cell.role, *docstrings(cell))
        for lesson in plan.lessons
        for cell in lesson.named("exercise", "demo")
    }


@pytest.mark.whole
def test_one_track_has_all_that_any_other_shows(plans):
    everything = shown(plans["all"])
    for name in Tracks.read(ROOT).tracks:
        assert shown(plans[name]) <= everything, name


@pytest.fixture(scope="module")
def three_weeks(plans, tmp_path_factory):
    """Lessons 02 and 08 of the track, made in a folder: (plan, folder)."""
    work = tmp_path_factory.mktemp("weeks3")
    plans["weeks3"].wanted = ["02_flops", "08_benchmarking"]
    assert not make(plans["weeks3"], work, "static")
    return plans["weeks3"], work


@pytest.mark.whole
def test_lessons_of_three_weeks_run_solved_and_empty(three_weeks):
    plan, work = three_weeks
    trials = []
    for name in plan.wanted:
        folder = work / "release" / name
        release = read_notebook(folder / f"{name}.ipynb", name).notebook
        trials.append(Trial(plan.taken[name].lesson, release, folder))
    list(execute([run for trial in trials for run in trial.runs], 2))
    assert [mistake for trial in trials for mistake in trial.mistakes()] == []


@pytest.mark.whole
def test_a_whole_lesson_handed_in_to_three_weeks_earns_its_points(three_weeks):
    plan, work = three_weeks
    name = "02_flops"
    handed_in = filled(
        read_notebook(whole_lesson(name).release(name), name),
        next(lesson for lesson in plan.whole if lesson.name == name),
    )
    source = read_notebook(work / f"source/{name}/{name}.ipynb", name).notebook
    found = graded(handed_in, source, work / "release" / name)
    points = {cell.name: cell.points for cell in plan.taken[name].lesson.named("test")}
    assert found == (points, [], [WHOLE])


@pytest.mark.whole
@pytest.mark.parametrize("disguised", [False, True])
def test_three_weeks_handed_in_to_the_whole_lesson_earns_what_was_written(three_weeks, disguised):
    plan, work = three_weeks
    name, whole = "02_flops", whole_lesson("02_flops")
    release = read_notebook(work / f"release/{name}/{name}.ipynb", name)
    handed_in = filled(release, next(lesson for lesson in plan.whole if lesson.name == name))
    for cell in release.named("given") if disguised else ():
        if cell.name in plan.taken[name].given:
            cell.node.source = cell.source.partition("\n")[2]
            cell.node.metadata = {"nbgrader": {**cell.nbgrader, "locked": False, "solution": True}}
    scores, _, [note] = graded(
        handed_in, read_notebook(whole.source(name), name).notebook, whole.release(name).parent
    )
    written = {cell.name: cell.points for cell in plan.taken[name].lesson.named("test")}
    assert {test: points for test, points in scores.items() if points} == written
    assert note.startswith("a shorter track's notebook was handed in: linear_flops, ")


@pytest.mark.soak
@pytest.mark.parametrize("name", SHORT)
def test_a_whole_track_runs_solved_and_empty(tmp_path, monkeypatch, name):
    monkeypatch.chdir(ROOT)
    assert main(["build", "--track", name, "-o", str(tmp_path / "tree")]) == 0
    for path in (tmp_path / "tree/release").glob("*/lesson.json"):
        assert json.loads(path.read_text())["track"]["track"]
