"""What a lesson's cells import besides expect: plots, doubles, the size of demo cells."""

from __future__ import annotations

import subprocess
import sys

import pytest

from proflab.lesson import plot
from proflab.lesson.demo import demo_size
from proflab.lesson.doubles import OnlyParameters, Weights

ROWS = [{"name": "a<b>", "count": 10, "kind": "x"}, {"name": "c", "count": 2_360_000, "kind": "y"}]
PICTURES = {
    "bars": lambda: plot.bars(ROWS),
    "bars, grouped": lambda: plot.bars(ROWS, group="kind", guess={"c": 1e6, "a<b>": None, "z": 1}),
    "bars, logarithmic": lambda: plot.bars({"a": 1, "b": 10**9}, log=True, guess={"b": -3.0}),
    "no bars": lambda: plot.bars([]),
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


def test_the_description_holds_the_numbers_and_no_markup():
    picture = plot.bars(ROWS, title="Two")
    assert picture.alt == "Two (parameters): a<b> 10; c 2.36 M"
    assert "a&lt;b&gt; 10" in picture._repr_mimebundle_()["text/html"]


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
    [(0, "0"), (37, "37"), (9408, "9.41 K"), (2_360_000, "2.36 M"), (1_557_611_200, "1.56 B")],
)
def test_short_counts(count, text):
    assert plot.short(count) == text


def test_matplotlib_is_imported_only_to_draw():
    code = "import proflab.lesson.plot, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


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
