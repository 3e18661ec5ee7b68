"""The page of tracks: its tables and its graph are what modules/tracks.toml declares."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from cohort.run import ROOT
from lesson_demos import module_at

from proflab_course.course.layout import Course
from proflab_course.tracks.read import Tracks

PAGE = module_at(ROOT / "docs/site/tracks.py")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def page():
    """The course's page and its graph."""
    return PAGE.tracks_page(Course(ROOT))


def test_the_page_names_each_track_and_each_exercise_of_a_short_one(page):
    text, _ = page
    for track in Tracks.read(ROOT).tracks.values():
        assert f"**{track.title}**, `{track.name}`: {track.text}" in text
        for names in track.exercises.values() if not track.whole else ():
            assert all(f"`{name}`" in text for name in names)
    assert "| 02, section 8; 08, section 3 |" in text  # what lesson 11 needs
    # The term adds to three weeks, not to the variant of these that stands between the two.
    assert "| `gpu_busy`, `gap_causes` | – | + `ops_table`, " in text


def test_a_plan_has_each_lesson_of_its_track_once_with_its_time(page):
    text, _ = page
    planned = [track for track in Tracks.read(ROOT).tracks.values() if track.plan]
    assert [track.name for track in planned] == ["week", "weeks3", "weeks3-serving", "term"]
    for track in planned:
        plan = text.partition(f"### {track.title}\n")[2].partition("##")[0]
        assert re.findall(r"\[(\d\d) ", plan) == [name[:2] for name in track.lessons]
        minutes = [
            60 * int(h) + int(m) for h, m in re.findall(r"\| (\d+) h (\d\d) \|$", plan, re.M)
        ]
        assert len(minutes) == len(track.plan)
        assert 0.7 * track.hours < sum(minutes) / 60 <= track.hours


def test_the_graph_has_a_box_for_each_lesson_and_no_arrow_through_one(page):
    _, graph = page
    boxes, arrows = shapes(graph)
    assert sorted(boxes) == [name.replace("_", " ") for name in Course(ROOT).lessons()]
    ends = {(x + 150, y + 17) for x, y in boxes.values()} | {(x, y + 17) for x, y in boxes.values()}
    for points in arrows:
        assert {points[0], points[-1]} <= ends
        between = points[1:-1]
        assert not {(x, y) for x, y in between if (x, y) in ends} or len(points) == 4


def test_an_arrow_goes_round_what_stands_between_and_a_detour_is_not_drawn():
    chain = {"01_a": [], "02_b": ["01_a"], "03_c": ["02_b", "01_a"]}
    _, arrows = shapes(PAGE.graph(chain))
    assert len(arrows) == 2
    apart = {"01_a": [], "02_b": ["01_a"], "03_c": [], "04_d": ["02_b", "03_c"]}
    boxes, arrows = shapes(PAGE.graph(apart))
    [long_one] = [points for points in arrows if len(points) > 4]
    assert len(arrows) == 3 and long_one[0] == (boxes["03 c"][0] + 150, boxes["03 c"][1] + 17)
    column = [y for name, (x, y) in boxes.items() if x == boxes["02 b"][0]]
    assert not any(y < at < y + 34 for y in column for x, at in long_one if x == boxes["02 b"][0])


def shapes(graph):
    """Return box → its corner, and each arrow's points."""
    root = ElementTree.fromstring(graph)
    corners = [(float(r.get("x")), float(r.get("y"))) for r in root.iter(f"{SVG}rect")]
    labels = [text.text for text in root.iter(f"{SVG}text")]
    paths = [path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke")]
    pairs = [re.findall(r"(-?[\d.]+) (-?[\d.]+)", path) for path in paths]
    arrows = [[(float(x), float(y)) for x, y in each] for each in pairs]
    return dict(zip(labels, corners, strict=True)), arrows
