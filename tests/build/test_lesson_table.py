"""README's table of lessons, which the site shows, too: their minutes, and what they need."""

import runpy

import pytest
from mini_course import ROOT, SECOND, make_course

from proflab_course.course.layout import Course

TABLE = runpy.run_path(str(ROOT / "docs/lesson_table.py"))


def test_minutes_are_those_of_the_headings_and_needs_those_of_the_imports(tmp_path):
    assert TABLE["columns"](make_course(tmp_path)) == {
        "01_first": ("0\xa0h\xa035", "–"),
        "02_second": ("0\xa0h\xa000", "01"),
    }
    longer = SECOND + "\n# %% [markdown]\n# ## 1 · Boxes · 65 min\n"
    third = SECOND.replace("from built import area, circle\n", "from built import volume\n")
    course = make_course(tmp_path / "more", {"01_first": longer, "02_second": third})
    assert TABLE["columns"](course)["02_second"][1] == "01"
    assert TABLE["columns"](course)["01_first"] == ("1\xa0h\xa005", "–")


@pytest.mark.whole
def test_the_table_in_the_readme_is_the_one_that_the_lessons_make():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert TABLE["table"](Course(ROOT), readme) in readme, "run python docs/lesson_table.py"
