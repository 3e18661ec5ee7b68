"""Feedback and report can be read by those who listen to pages, enlarge them or see few colours."""

import re

import pytest
from bs4 import BeautifulSoup
from grading_course import LESSON, command, copy_course, grade


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("everybody"), ["forgets_biases"])
    grade(course, full=True)
    for words in (["nbgrader", "generate_feedback", LESSON], ["proflab", "report", LESSON]):
        done = command(course, *words)
        assert done.returncode == 0, done.stderr
    feedback = course.root / "feedback" / "forgets_biases" / LESSON / f"{LESSON}.html"
    return {
        "feedback": feedback.read_text("utf-8"),
        "report": (course.root / "reports" / f"{LESSON}.html").read_text("utf-8"),
    }


@pytest.mark.proves
@pytest.mark.parametrize("name", ["feedback", "report"])
def test_the_structure_of_a_page(pages, name):
    page = BeautifulSoup(pages[name], "html.parser")
    assert page.html["lang"] == "en"
    assert page.title.text
    levels = [int(heading.name[1]) for heading in page.find_all(re.compile("^h[1-6]$"))]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False)), (
        levels
    )
    for picture in page.select("img, [role=img]"):
        words = picture.get("alt") or picture.get("aria-label")
        assert words and not words.startswith("No description")
    ids = [each["id"] for each in page.select("[id]")]
    assert len(ids) == len(set(ids))
    for link in page.select("a[href^='#']"):
        assert link["href"][1:] in ids
    # The course's own tables; those of a student's markdown have no scope.
    assert all(cell.get("scope") for cell in page.select("table:not(.cell table) th"))


def luminance(colour):
    """The relative luminance of #rrggbb, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("name", ["feedback", "report"])
def test_text_stands_out(pages, name):
    roots = re.findall(r":root \{([^}]*)\}", pages[name])
    schemes = [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root)) for root in roots]
    schemes = [colours for colours in schemes if "ink" in colours]
    assert schemes
    for colours in schemes:
        for text in ("ink", "soft", "good", "bad"):
            for ground in (colours.get("page", "#ffffff"), colours["pale"]):
                low, high = sorted([luminance(colours[text]), luminance(ground)])
                assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)
