"""Hidden cases with other inputs: drawn by a seed, expected by the lesson's own solution."""

import ast
import re

import nbformat
import pytest
from mini_course import FIRST, SECOND, make_course

from proflab_course.build.command import build, check
from proflab_course.cli import main
from proflab_course.course.layout import CourseError

OLD = 'expect("a long thin one", area(long_side, 2), 15_838)'
VARIED = '# vary: 9 in 10..99, 4 in 2..8\nexpect("höher", area(9, 4 + 4), 72)'

BETWEEN = '# vary: 9 in 10..99\nexpect_between("höher", area(9, 8), 71, 73)'


def course_of(place, case=VARIED):
    return make_course(place, {"01_first": FIRST.replace(OLD, case), "02_second": SECOND})


def case_of(course, step="source"):
    node = nbformat.read(getattr(course, step)("01_first"), as_version=4)
    (line,) = re.findall(r'^expect\("höher".*$', "\n".join(c.source for c in node.cells), re.M)
    call = ast.parse(line).body[0].value
    return line, [a.value for a in ast.walk(call.args[1]) if isinstance(a, ast.Constant)], call


@pytest.mark.whole
def test_without_a_seed_nothing_changes(tmp_path):
    course = course_of(tmp_path)
    build(course, ["01"])
    assert case_of(course)[0] == VARIED.splitlines()[1]


@pytest.mark.whole
def test_a_seed_draws_inputs_and_the_solution_says_what_to_expect(tmp_path, monkeypatch, capsys):
    course = course_of(tmp_path)
    monkeypatch.chdir(course.root)
    before = course.module("01_first").read_bytes()
    assert main(["build", "01", "--seed", "7"]) == 0
    line, (width, *heights), call = case_of(course)
    assert 10 <= width <= 99 and 2 <= heights[0] <= 8 and heights[0] == heights[1]
    assert ast.literal_eval(call.args[2]) == width * 2 * heights[0]
    assert course.module("01_first").read_bytes() == before
    assert "höher" not in course.release("01_first").read_text()
    assert check(course, ["01"], "static", seed=7) == []
    assert check(course, ["01"], "static", seed=8) != []
    build(course, ["01"], "static", seed=8)
    assert case_of(course)[0] != line
    build(course, ["01"], "static", seed=7)
    assert case_of(course)[0] == line


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (VARIED.replace("10..99", "many"), "'9 in many' is not clear; write it as"),
        (VARIED.replace("9 in", "5 in"), "5 is not in the case"),
        (VARIED.replace("72)", '72, mistakes={"a": 1})'), "may name no mistakes"),
        (
            VARIED.replace("10..99", "-9..-5"),
            "no plain value for 'höher' .ValueError: a side",
        ),
        (BETWEEN, "must stand above a hidden `expect`"),
    ],
)
def test_what_cannot_vary_is_said(tmp_path, case, said):
    with pytest.raises(CourseError, match=f"test_area.*{said}"):
        build(course_of(tmp_path, case), ["01"], "static", seed=1)
    assert not (tmp_path / "source").exists()
