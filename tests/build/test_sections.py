"""Time and points: typed in no heading, summed by the build, written where readers look first."""

import nbformat
import pytest
from mini_course import FIRST, HEADER, changed, essay, given, graded, make_course, markdown
from mini_course import read_lesson as read

from proflab_course.build.command import build
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import CourseError
from proflab_course.course.sections import sections, stamp_headings, total_line


def stamped(tmp_path, source: str) -> str:
    """Return all text of a lesson of this source, as the build leaves it."""
    plan = prepare(make_course(tmp_path, {"01_first": source}))
    return "\n".join(c.source for c in plan.lessons[0].cells if c.node.cell_type == "markdown")


def test_headings_and_title_get_what_the_cells_below_earn(tmp_path):
    text = stamped(tmp_path, changed("## Reflect", "## Reflect · 20 min"))
    assert "## 1 · Rectangles · 10 min · 60 points\n" in text
    assert "## 2 · Circles · 25 min · 40 points\n" in text
    assert "## Reflect · 20 min · 10 points by hand\n" in text
    assert "[Open in Colab](" in text.split("About 55 min · 100 points and 10 for the essay")[0]


def test_a_heading_without_minutes_stays_as_it_is(tmp_path):
    bare = FIRST.replace(" · 10 min", "").replace(" · 25 min", "")
    text = stamped(tmp_path, bare)
    assert "## 1 · Rectangles\n" in text and "About" not in text and "0 points" not in text


def test_a_section_without_points_gets_none(tmp_path):
    text = stamped(tmp_path, FIRST + markdown("## Summary · 5 min\n\nAll in all."))
    assert text.rstrip().endswith("## Summary · 5 min\n\nAll in all.")


def test_points_of_tests_and_by_hand_are_told_apart(tmp_path):
    lesson = "\n".join(
        [
            HEADER,
            markdown("# 01 · T"),
            markdown("## 1 · Both · 120 min"),
            given("from proflab.lesson import expect", "imports"),
            graded('expect("a", 1, 1)', "test_a", 1),
            essay("essay", "Ten."),
            markdown("```\n## no heading · 5 min\n```\n\n## 2 · Hours · 70 min"),
        ]
    )
    text = stamped(tmp_path, lesson)
    assert "## 1 · Both · 120 min · 1 point and 10 by hand" in text
    assert "## no heading · 5 min\n" in text and text.endswith("## 2 · Hours · 70 min")
    assert "About 3 h 10 min · 1 point and 10 for the essay" in text


def test_the_title_follows_the_points_that_there_are(tmp_path):
    text = changed('"points": 60', '"points": 2.5')
    assert "About 35 min · 42.5 points and 10 for the essay" in stamped(tmp_path, text)
    without_essay = text[: text.index("# %% [markdown] nbgrader")]
    assert "About 35 min · 42.5 points.\n" in stamped(tmp_path, without_essay)
    assert "About 2 h · 100 points" in stamped(tmp_path, changed(" · 10 min", " · 95 min"))


def test_points_are_typed_nowhere(tmp_path):
    with pytest.raises(CourseError, match="01_first.py, .*types its points; leave them to the b"):
        stamped(tmp_path, changed("Rectangles · 10 min", "Rectangles · 10 min · 60 points"))
    with pytest.raises(CourseError, match="types its points"):
        stamped(tmp_path, changed("Rectangles · 10 min", "Rectangles · 10 min · 2.5 points"))


def test_sections_know_their_number_and_their_cells(tmp_path):
    lesson = read(tmp_path, FIRST)
    names = [
        (s.name, s.minutes, [c.name for c in s.cells if c.role == "exercise"])
        for s in sections(lesson)
    ]
    assert names == [
        ("", None, []),
        ("1", 10, ["area"]),
        ("2", 25, ["circle"]),
        ("Reflect", None, []),
    ]
    stamp_headings(lesson)
    assert [section.minutes for section in sections(lesson)] == [None, 10, 25, None]
    assert total_line(lesson).startswith("About 35 min · 100 points")


def test_students_see_them(tmp_path):
    course = make_course(tmp_path)
    build(course, ["1"], audit="static")
    release = nbformat.read(course.release("01_first"), as_version=4)
    assert "About 35 min · 100 points and 10 for the essay" in release.cells[1].source
    assert any("25 min · 40 points" in cell.source for cell in release.cells)
