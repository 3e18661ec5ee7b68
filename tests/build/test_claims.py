"""Examples in docstrings hold in the solved lesson, and its milestone is shown within its time."""

import pytest
from mini_course import FIRST, changed, code, make_course
from mini_course import read_lesson as read

from proflab.lesson.outline import Outline
from proflab_course.build import claims
from proflab_course.build.claims import milestone_in, take_milestone
from proflab_course.build.command import build
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import read_notebook

SUMMARY = '"""The area of a circle."""'
MILESTONE = "# You can measure any field,\n# round ones, too.\n{}"


def with_example(lines: str, milestone: str = "f'{circle(area(2, 1)):.2f} m²'") -> str:
    """The first lesson with an example in a docstring, and with a milestone."""
    text = changed(SUMMARY, f'"""The area of a circle.\n\n{lines}\n    """')
    end = "# %% [markdown]\n# Why do circles win?"
    assert end in text
    return text.replace(end, code(MILESTONE.format(milestone), tags=("milestone",)) + "\n" + end)


HOLDS = "    >>> [circle(0),\n    ...  2]\n    [0.0,   2]"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("claims"), {"01_first": with_example(HOLDS)})
    build(course, audit="static")
    return course


@pytest.mark.proves
def test_an_example_reaches_students_with_the_docstring(built):
    release = read_notebook(built.release("01_first"), "01_first")
    (stub,) = (cell.source for cell in release.cells if cell.name == "circle")
    assert HOLDS in stub and "NotImplementedError" in stub


def test_a_milestone_goes_into_the_outline_and_out_of_the_notebooks(built):
    sentence, expression = Outline.read(built.release("01_first").parent).milestone
    assert sentence == "You can measure any field, round ones, too."
    assert expression == "f'{circle(area(2, 1)):.2f} m²'"
    for path in (built.source("01_first"), built.release("01_first")):
        assert "You can measure" not in path.read_text()


def refused(folder, text: str) -> str:
    with pytest.raises(CourseError) as error:
        build(make_course(folder, {"01_first": text}))
    return str(error.value)


def test_an_example_and_a_milestone_that_do_not_hold_are_refused(tmp_path):
    told = refused(tmp_path, with_example("    >>> circle(0)\n    1.0", "area(3, -1)"))
    example, milestone = told.splitlines()
    assert "cell circle: the example in its docstring does not hold: circle(0)" in example
    assert example.endswith("Expected: 1.0 Got: 0.0")
    assert milestone.endswith("the milestone raises ValueError: a side is negative")


@pytest.mark.whole
def test_a_milestone_takes_no_long_time(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MILESTONE_SECONDS", -1)
    assert "CPU time at most" in refused(tmp_path, with_example(HOLDS))


@pytest.mark.parametrize(
    "text", ["'no comment'", "# Two.\n1\n2", "# A statement.\nx = 1", "# None."]
)
def test_a_milestone_is_a_sentence_and_an_expression(tmp_path, text):
    lesson = read(tmp_path, FIRST + code(text, tags=("milestone",)))
    with pytest.raises(CourseError, match="`# You can …`, and below it one expression"):
        take_milestone(lesson)


def test_a_lesson_has_one_milestone_and_only_with_all_of_its_names(tmp_path):
    twice = code("# You can.\narea(1, 2)", tags=("milestone",))
    with pytest.raises(CourseError, match="a lesson has one milestone"):
        take_milestone(read(tmp_path, FIRST + twice + twice))
    lesson = read(tmp_path, FIRST + twice)
    milestone = take_milestone(lesson)
    assert not lesson.named("milestone") and milestone_in(lesson, milestone) == milestone
    other = read(tmp_path, FIRST.replace("def area", "def region").replace('"area"', '"region"'))
    assert not milestone_in(other, milestone).sentence
