"""What a lesson's cells import besides expect: plots, doubles, the size of demo cells."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cohort.run import ROOT
from lesson_demos import module_at
from matplotlib.colors import to_hex
from matplotlib.text import Text
from PIL import Image

from proflab.lesson import plot
from proflab.lesson.demo import demo_size
from proflab.lesson.doubles import OnlyParameters, Weights

COUNTS = {"a<b>": 10, "c": 2_360_000}
PICTURES = {
    "bars": lambda: plot.bars(COUNTS),
    "bars, guessed": lambda: plot.bars(COUNTS, guess={"c": 1e6, "a<b>": None, "z": 1}),
    "bars, logarithmic": lambda: plot.bars({"a": 1, "b": 10**9}, log=True, guess={"b": -3.0}),
    "no bars": lambda: plot.bars({}),
    "curves": lambda: plot.curves({"a": [(1, 1), (10, 100)]}, x="n", y="count", log="xy"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_and_described(name):
    picture = PICTURES[name]()
    bundle = picture._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/html"].startswith('<img alt="') and "data:image/png" in bundle["text/html"]
    assert bundle["text/plain"] == picture.alt != ""
    assert picture.png()[:8] == b"\x89PNG\r\n\x1a\n"


def test_labels_of_lines_that_end_together_stand_apart_and_many_points_have_no_marks():
    many = [(x, 10) for x in range(1000)]
    axes = plot.curves({"a": many, "b": many, "c": [(999, 900)]}, x="n", y="ms").figure.axes[0]
    a, b, c = (text.xyann[1] for text in axes.texts)
    assert abs(a - b) >= 10 and min(a, b) == 0 == c
    assert [line.get_marker() for line in axes.lines] == ["", "", "D"]


GROUNDS = {
    "data-jp-theme-light='true'": "#ffffff",
    "data-jp-theme-light='false'": "#111111",
    "theme='dark'": "#383838",
    "class='vscode-dark'": "#1f1f1f",
}


@pytest.mark.whole
def test_on_a_dark_page_a_pictures_white_goes_and_its_ink_is_light(tmp_path):
    chromium = module_at(ROOT / "docs" / "site" / "chromium.py")
    if chromium.find() is None:
        pytest.skip("needs Chromium: make system")
    drawn, size = PICTURES["bars"]()._repr_mimebundle_()["text/html"], 120
    style = f"height: {size}px; overflow: hidden; background:"
    boxes = [
        f"<div {mark} style='{style} {ground}'>{drawn}</div>" for mark, ground in GROUNDS.items()
    ]
    page, shown = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(f"<body style='margin: 0'>{''.join(boxes)}", encoding="utf-8")
    chromium.show(chromium.find(), page, [f"--screenshot={shown}", "--window-size=500,700"], 60)
    with Image.open(shown) as screen:
        for place, ground in enumerate(GROUNDS.values()):
            box = screen.convert("L").crop((0, place * size, 400, (place + 1) * size))
            grey, (darkest, lightest) = int(ground[1:3], 16), box.getextrema()
            assert box.getpixel((2, 2)) == grey
            assert lightest > 200 and darkest < 60  # ink and ground are far apart


def test_the_description_holds_the_numbers_and_no_markup():
    picture = plot.bars(COUNTS, title="Two")
    point = "The largest is c, 2.36 M, and 236,000 times the smallest, a<b>"
    assert picture.alt == f"Two (parameters). {point}. a<b> 10; c 2.36 M"
    assert "a&lt;b&gt; 10" in picture._repr_mimebundle_()["text/html"]


def test_no_comma_in_a_picture_can_be_taken_for_a_decimal_sign():
    picture = plot.curves({"a of 2,048": [(1024, 1), (5120, 2)]}, x="f(1,2)", y="n")
    assert picture.png()
    shown = {text.get_text() for text in picture.figure.findobj(Text)}
    assert {"a of 2\u202f048", "f(1,2)", "2\u202f000"} <= shown
    assert "a of 2,048" in picture.alt  # a voice reads it as one number


@pytest.mark.parametrize("log", [False, True])
def test_only_numbers_are_drawn_as_guesses_and_inside_the_axes(log):
    guess = {"a": 5_000, "b": "many", "c": None, "d": float("nan"), "e": True}
    picture = plot.bars(dict.fromkeys(guess, 10), log=log, guess=guess)
    axes = picture.figure.axes[0]
    [drawn] = [line for line in axes.lines if line.get_label() == "your guess"]
    assert list(drawn.get_xdata()) == [5_000] and axes.get_xlim()[1] > 5_000
    assert picture.png()


@pytest.mark.parametrize(
    "count, text",
    [
        (0, "0"),
        (37, "37"),
        (9408, "9.41 K"),
        (999_700, "1 M"),
        (2_360_000, "2.36 M"),
        (1_557_611_200, "1.56 B"),
    ],
)
def test_short_counts(count, text):
    assert plot.short(count) == text


def colours(picture):
    """Return the colour of each name in a picture's legend."""
    handles, labels = picture.figure.axes[0].get_legend_handles_labels()
    found = [getattr(h, "get_color", None) or h.patches[0].get_facecolor for h in handles]
    return {n: to_hex(colour()) for n, colour in zip(labels, found, strict=True)}


def test_an_op_has_one_colour_whatever_its_rank():
    first = plot.shares({"a": {"linear": 5, "gelu": 3, "mine": 1}}, unit="ms")
    second = plot.shares({"a": {"softmax": 9, "gelu": 4, "conv2d": 2, "linear": 1}}, unit="ms")
    for picture in (first, second):
        for name, colour in colours(picture).items():
            assert colour == plot.OP_COLOURS.get(name, colour).lower(), name
    assert len(set(colours(second).values())) == 4
    assert colours(first)["mine"] not in {plot.OP_COLOURS[n].lower() for n in ("linear", "gelu")}


def test_flops_and_bytes_are_counted_in_g_and_parameters_in_b():
    both = {"parameters": {"a": 2e9}, "FLOPs, one image": {"a": 3e9}, "x": {"a": 4e9}}
    alt = plot.shares(both, unit="parameters or FLOPs").alt
    assert "parameters, 2 B" in alt and "one image, 3 G" in alt and "x, 4 B" in alt
    assert "x 5 G" in plot.bars({"x": 5e9}, unit="bytes read").alt
    assert "x 5 B" in plot.bars({"x": 5e9}).alt


def test_the_description_of_a_line_names_its_extremes():
    points = [(10, 10.0), (20, 1000.0), (30, 4.0), (40, 900.0)]
    alt = plot.curves({"a": points}, x="n", y="ms").alt
    said = "a goes up and down from 10 at 10 to 900 at 40, lowest 4 at 30, highest 1 K at 20"
    assert alt == f"Lines: ms against n. {said}"
    short = plot.curves({"a": points[:2]}, x="n", y="ms").alt
    assert short.endswith("a rises from 10 at 10 to 1 K at 20")


def test_matplotlib_is_imported_only_to_draw():
    code = "import proflab.lesson.plot, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.whole
def test_pyplot_is_never_needed():
    code = (
        "from proflab.lesson import plot; import sys; plot.bars({'a': 1}).png();"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_doubles_yield_what_they_were_given():
    a, b = object(), object()
    tied = Weights(first=a, second=b, third=a)
    assert list(tied.parameters()) == [a, b, a]
    assert list(tied.named_parameters()) == [("first", a), ("second", b), ("third", a)]
    assert list(OnlyParameters(a, a).parameters()) == [a, a]
    assert not hasattr(OnlyParameters(), "named_parameters")


def test_demo_cells_shrink_when_asked(monkeypatch):
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    assert demo_size(full=[1, 2], small=[1]) == [1, 2]
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    assert demo_size(full=[1, 2], small=[1]) == [1]
