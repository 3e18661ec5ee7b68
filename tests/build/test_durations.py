"""Slow demo cells say about how long they take, and show progress."""

from __future__ import annotations

import ast
import json

import pytest
from cohort.run import ROOT
from mini_course import FIRST, make_course

from proflab_course.build.command import build
from proflab_course.build.durations import RECORD, read_durations, stamp_durations
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_module, read_notebook

COURSE = Course(ROOT)
SHOW_PROGRESS = {"rounds", "progress_bar", "in_turns", "tqdm"}


def record(root, table):
    path = root / RECORD
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"table": table}))


def test_a_slow_demo_says_so_in_its_first_line_and_a_quick_one_nothing(tmp_path):
    course = make_course(tmp_path, {"01_first": FIRST})
    rows = ["lesson    demo cell   seconds", "01_first  first_demo     18.4"]
    record(tmp_path, "\n".join([*rows, "01_first  first_guess     4.9", "02_x  first_shown  99.0"]))
    build(course, audit="static")
    for path in (course.source("01_first"), course.release("01_first")):
        cells = {cell.name: cell.source for cell in read_notebook(path, "01_first").cells}
        assert cells["first_demo"].startswith("# Takes about 20 s.\nfor side in")
        assert not any("# Takes" in text for name, text in cells.items() if name != "first_demo")
    assert "Takes" not in course.module("01_first").read_text()


def test_the_time_stands_behind_what_a_demo_says_that_it_shows(tmp_path):
    course = make_course(tmp_path)
    for name in course.lessons():
        lesson = read_module(course.module(name), name)
        for first, after in (
            ("# Draws areas.", "# Draws areas. Takes about 20 s."),
            ("# Draws areas", "# Draws areas. Takes about 20 s."),
            ("# Draws areas, in about 20 s.", "# Draws areas, in about 20 s."),
        ):
            for cell in lesson.named("demo"):
                cell.node.source = f"{first}\nprint()"
                stamp_durations(lesson, {(name, cell.name): 18.4})
                assert cell.source == f"{after}\nprint()"


def test_a_file_that_is_no_record_is_named(tmp_path):
    record(tmp_path, ["rows"])
    with pytest.raises(CourseError, match=r"demos\.json is no record of a benchmark"):
        read_durations(tmp_path)
    assert read_durations(tmp_path / "elsewhere") == {}


def progresses(lesson: str, cell: ast.Module) -> bool:
    """Return True if a demo cell shows progress, itself or in its functions of demos.py."""
    path = COURSE.module(lesson).parent / "demos.py"
    nodes = ast.parse(path.read_text("utf-8")).body if path.exists() else []
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    ahead, seen = [cell], set()
    for node in ahead:
        parts = list(ast.walk(node))
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
        if names & SHOW_PROGRESS:
            return True
        ahead += [functions[name] for name in names & functions.keys() - seen]
        seen |= names
    return False


def test_progress_is_found_in_a_cell_and_in_what_it_calls():
    assert progresses("03_latency", ast.parse("import demos\ndemos.coverage({}, [], 3)"))
    assert progresses("03_latency", ast.parse("for _ in rounds(40, 6): pass"))
    assert not progresses("03_latency", ast.parse("demos.lenet()"))


@pytest.mark.parametrize("name", COURSE.lessons())
def test_a_cell_of_more_than_half_a_minute_shows_progress(name):
    durations = read_durations(ROOT)
    for cell in read_module(COURSE.module(name), name).named("demo"):
        # Machines differ: only what took twice as long when it was recorded is certainly slow.
        if durations.get((name, cell.name), 0.0) > 2 * 30:
            assert progresses(name, ast.parse(cell.code)), f"{name}, {cell.name}"


def test_what_is_recorded_is_a_demo_cell_of_its_lesson():
    recorded = read_durations(ROOT)
    known = {(n, c.name) for n in COURSE.lessons() for c in read_module(COURSE.module(n), n).cells}
    assert not recorded.keys() - known
