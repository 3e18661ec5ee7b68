"""The map below a lesson's title: where it stands, what is built in it, what it takes and earns."""

import re

import pytest
from cohort.run import ROOT
from mini_course import FIRST, SECOND, changed, make_course
from shop_course import TRACKS, make_shop

from proflab_course.build.command import build
from proflab_course.build.facts import Facts
from proflab_course.build.map_cell import LINES, MAP_TAG
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_notebook


def map_of(plan: Facts, name: str) -> str:
    """Return the text of a lesson's map, which stands below its title."""
    cell = plan.taken[name].lesson.cells[1]
    assert cell.tags == [MAP_TAG]
    return cell.source


NEEDS = "How large is it? ![a plane](plane.svg)\n#\n# **You need** a ruler.\n#\n# After it."


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    first = changed("How large is it? ![a plane](plane.svg)", NEEDS)
    root = tmp_path_factory.mktemp("map")
    course = make_course(root, {"01_first": first, "02_second": SECOND})
    build(course, audit="static")
    return course


def test_a_lesson_without_a_table_has_a_map_too(built):
    text = map_of(prepare(built), "01_first")
    assert text.startswith("**Where you are.** **01 first** → 02 second\n")
    assert "| you will build | what for | points |" in text
    assert "The area of a rectangle | 60 |" in text and "The area of a circle | 40 |" in text
    assert "About 35 min · 100 points and 10 for the essay." in text
    assert text.count("raise ValueError with a sentence of yours") == 1
    second = map_of(prepare(built), "02_second")
    assert "**You have** `area` (01): from `built.py`" in second  # no cell uses circle, its import
    assert "ValueError" not in second  # no case asks for one


def test_what_its_author_wrote_moves_into_it(built):
    first = read_notebook(built.release("01_first"), "01_first")
    assert "\n\n**You need** a ruler.\n\n" in first.cells[1].source
    assert "You need" not in first.cells[0].source and "After it." in first.cells[0].source


def test_its_links_lead_to_the_cells_with_the_sections(built):
    cells = {c.node.id: c for c in read_notebook(built.release("01_first"), "01_first").cells}
    text = next(c.source for c in cells.values() if c.tags == [MAP_TAG])
    links = dict(re.findall(r"\[`(\w+)`\]\(#cell-id=([\w-]+)\)", text))
    assert cells[links["area"]].source.startswith("## 1 · Rectangles")
    assert cells[links["circle"]].source.startswith("## 2 · Circles")


def test_minutes_and_words_of_the_table(tmp_path):
    table = TRACKS.replace(
        "[lesson.02_cart]", '[lesson.01_shop.for]\ntax = "what the state | takes"\n[lesson.02_cart]'
    )
    assert table != TRACKS
    text = map_of(prepare(make_shop(tmp_path, table)), "01_shop")
    assert "| you will build | what for | min | points |" in text
    assert r" what the state \| takes |" in text and "the mean of the prices | " in text
    assert "The break is after section 2." in text


def test_what_the_default_gives_is_not_to_be_built(tmp_path):
    less = TRACKS.replace("except = {}", 'except = { 01_shop = ["mean"] }')
    text = map_of(prepare(make_shop(tmp_path, less)), "01_shop")
    line = "**You will not build** `mean`: it is given, in a folded cell that you may read."
    assert line in text and "[`mean`]" not in text


def test_the_first_line_tells_the_track(tmp_path):
    text = map_of(prepare(make_shop(tmp_path), track="hour"), "01_shop")
    assert text.startswith("This class takes the track *An hour*")
    assert "`tax`" not in text  # its section is gone
    assert "Its sections keep the numbers of the whole lesson." in text


@pytest.mark.whole
def test_a_lesson_says_what_wrong_arguments_raise_only_where_an_exercise_raises_it():
    for track, asked in (("evening", False), ("week", True)):
        text = map_of(prepare(Course(ROOT), track=track), "05_profiler")
        assert ("raise ValueError with a sentence of yours" in text) is asked, track


def test_many_exercises_share_lines_by_their_sections(tmp_path):
    area = FIRST[FIRST.index('# %% nbgrader={"grade": false, "grade_id": "area"') :]
    area = area[: area.index("# %% [markdown]\n# ## 2")]
    more = "".join(
        re.sub(r"\barea\b|(?<=_)area\b", f"area_{n}", area.split("# %% tags")[0]) for n in range(15)
    )
    more = more.replace("first_", "more_")
    course = make_course(
        tmp_path,
        {"01_first": changed("# %% [markdown]\n# ## 2", more + "\n# %% [markdown]\n# ## 2")},
    )
    text = map_of(prepare(course), "01_first")
    assert sum(bool(line) for line in text.splitlines()) <= LINES
    assert re.search(r"\[`area_0`\]\(#cell-id=([\w-]+)\), \[`area_1`\]\(#cell-id=\1\)", text)


@pytest.mark.whole
def test_the_maps_of_this_course_are_short():
    for track, more in (
        (None, 0),
        ("all", 1),
    ):  # 07: a section more
        for lesson in prepare(Course(ROOT), track=track).lessons:
            [text] = [cell.source for cell in lesson.cells if MAP_TAG in cell.tags]
            assert sum(bool(line) for line in text.splitlines()) <= LINES + more, lesson.name
