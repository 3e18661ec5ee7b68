"""Check the notes: what `proflab build` tells an instructor and does not refuse."""

import datetime

import pytest
from mini_course import FIRST, SECOND, changed, make_course, markdown, write_lesson

from proflab_course.build.class_tree import extension_notes
from proflab_course.build.command import build
from proflab_course.cli import main

FILE = "modules/01_first/01_first.py"


def notes_of(course, lesson="1") -> list[str]:
    found = []
    build(course, [lesson], audit="static", notes=found)
    other = ("hidden case", "goes beyond the limits")
    return [note for note in found if not any(part in note for part in other)]


def test_the_command_prints_its_notes(tmp_path, monkeypatch, capsys):
    course = make_course(tmp_path)
    monkeypatch.chdir(course.root)
    assert main(["build", "2", "--audit", "static"]) == 0
    note = "note: modules/02_second/02_second.py, cell test_volume: 1 hidden case has a value"
    assert note in capsys.readouterr().out


def test_a_seed_says_how_many_cases_it_has_drawn(tmp_path, monkeypatch, capsys):
    case = '# vary: 7 in 10..99\nexpect("one that varies", area(7, 4), 28)'
    first = changed('expect("a long thin one", area(long_side, 2), 15_838)', case)
    course = make_course(tmp_path, {"01_first": first, "02_second": SECOND})
    monkeypatch.chdir(course.root)
    assert main(["build", "--seed", "3", "--audit", "static"]) == 0
    said = capsys.readouterr().out
    assert (
        "note: 01_first: 1 of 1 hidden cases drawn, and 1 of errors, bounds or races stay\n" in said
    )
    what = "02_second: 0 of 1 hidden cases drawn: write cases of your own into private/02_second.py"
    assert f"note: {what}\n" in said


def notes_where_it_was_handed_in(course, text):
    """Return the notes on another text of a lesson that was handed in; before, there is none."""
    write_lesson(course.root, "01_first", text)
    assert notes_of(course) == []  # nobody has handed it in
    write_lesson(course.root, "01_first", FIRST)
    build(course, audit="static")
    (course.root / "submitted/ann/01_first").mkdir(parents=True)
    write_lesson(course.root, "01_first", text)
    return notes_of(course)


def test_a_name_that_was_given_and_is_not_any_more_is_noted(tmp_path):
    course = make_course(tmp_path)
    assert notes_of(course) == []
    (note,) = notes_where_it_was_handed_in(
        course, changed("class Sheet:\n    sides = 2", "pages = 2")
    )
    assert note.startswith(f"{FILE}: the release before this one gave Sheet, which its hand-ins")


def test_a_test_cell_that_lost_points_is_noted(tmp_path):
    """Hand-ins of the former release keep their points by the former source."""
    course = make_course(tmp_path)
    build(course, audit="static")
    fewer = FIRST.replace('"points": 20', '"points": 10', 1).replace(
        '"points": 20', '"points": 30', 1
    )
    (note,) = notes_where_it_was_handed_in(course, fewer)
    assert "test_circle had more points in the release before this one" in note
    assert note.endswith("grade its hand-ins by its own source/")


def test_text_that_names_an_exercise_that_was_taken_out_is_noted(tmp_path):
    text = markdown("A disc is a `circle(r)`, an `area`, and a `radius`.")
    course = make_course(tmp_path, {"01_first": f"{FIRST}\n{text}"})
    build(course, audit="static")
    begin = FIRST.index("# %%", FIRST.index("A rope around a field."))
    end = FIRST.index("# %%", FIRST.index('"radius 0"'))
    write_lesson(course.root, "01_first", f"{FIRST[:begin]}{FIRST[end:]}\n{text}")
    (named,) = notes_of(course)
    assert "it names `circle`, which no cell defines any more" in named


@pytest.mark.parametrize("days", [1, -1])
def test_a_tree_names_who_may_still_hand_in_what_it_solves(tmp_path, monkeypatch, capsys, days):
    course = make_course(tmp_path / "course")
    build(course, audit="static")
    due = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    line = f"anna,01_first,{due:%Y-%m-%d %H:%M:%S} UTC,"
    (course.root / "extensions.csv").write_text(f"student,lesson,due,days\n{line}\nbob,*,,2\n")
    monkeypatch.chdir(course.root)
    arguments = ["build", "--through", "2", "--audit", "static", "-o", str(tmp_path / "tree")]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    note = "note: 01_first: built.py of 02_second has its solutions, and an extension gives more"
    assert (f"{note} time to anna\n" in said) == (days > 0)


@pytest.mark.parametrize("days", [1, -1])
def test_a_tree_says_that_a_lesson_which_it_solves_is_not_yet_due(tmp_path, capsys, days):
    course = make_course(tmp_path)
    due = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    (course.root / "private").mkdir()
    dates = f'zone = "UTC"\ndue = {{ 01 = "{due:%Y-%m-%d %H:%M}" }}\n'
    (course.root / "private/dates.toml").write_text(dates)
    (course.root / "extensions.csv").write_text("student,lesson,days\nbob,*,2\n")
    notes = "\n".join(extension_notes(course, ["01_first", "02_second"]))
    note = "01_first: built.py of 02_second has its solutions, and it is due only on"
    assert (f"{note} {due:%Y-%m-%d %H:%M} UTC" in notes) == (days > 0)
    assert "gives more time to bob" in notes


def test_a_tree_up_to_a_lesson_that_there_is_not_is_refused(tmp_path, monkeypatch, capsys):
    course = make_course(tmp_path / "course")
    monkeypatch.chdir(course.root)
    assert main(["build", "--through", "44", "-o", str(tmp_path / "tree")]) != 0
    said = capsys.readouterr().err
    assert "--through 44: modules/ holds no lesson 44: its last one is 02_second" in said
    assert not (tmp_path / "tree").exists()
