"""The picture of a student's own profiler, on the page for teachers, is of today's page."""

import runpy
import sys

import pytest
from assembled import course_profiler, names_of
from cohort.run import ROOT
from PIL import Image, ImageStat

from proflab.standalone import main

PICTURE = ROOT / "docs/pictures/profiler.png"
AGAIN = "run: python docs/pictures/profiler.py"


def brightness(half):
    return ImageStat.Stat(half.convert("L")).mean[0]


@pytest.mark.whole
def test_it_shows_todays_page_in_the_light_and_in_the_dark(once, tmp_path, monkeypatch):
    """Drawn anew of another model: times are the machine's, but words and looks are the page's."""
    pytest.importorskip("browsing")  # skips where there is no Chromium
    page, drawn = tmp_path / "page.html", tmp_path / "drawn.png"
    words = ["mlp", "--passes", "1", "-o", str(page)]
    assert main(names_of(course_profiler(once)), {}, words) == 0
    monkeypatch.setattr(sys, "path", [str(PICTURE.parent), *sys.path])
    runpy.run_path(str(PICTURE.with_suffix(".py")))["draw"](page, drawn)
    with Image.open(PICTURE) as then, Image.open(drawn) as now:
        assert then.text == now.text, AGAIN
        assert then.size == now.size, AGAIN
        width, height = then.size
        for picture in then, now:
            assert brightness(picture.crop((0, 0, width // 2, height))) > 200
            assert brightness(picture.crop((width // 2, 0, width, height))) < 90
    assert PICTURE.stat().st_size < 80_000  # a clone takes it along


def test_the_page_for_teachers_shows_it():
    text = (ROOT / "docs/teaching.md").read_text("utf-8")
    assert text.count("](pictures/profiler.png)") == 1 and PICTURE.exists()
