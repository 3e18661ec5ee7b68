"""The course's pictures: one style for all, safe for the colour-blind, readable in print.

Each function takes rows (plain dicts and numbers) and returns a `Picture`: a figure that shows
itself in a notebook and carries a description for those who cannot see it. matplotlib is
imported inside, so that importing a lesson's tools costs nothing. What may not enter: a formula.
"""

from __future__ import annotations

import base64
import html
import io
import logging
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from proflab.checks.diagnose import is_number
from proflab.lesson.alt_text import bars_in_words, lines_in_words, parts_in_words

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# Okabe and Ito's colours: told apart by the colour-blind, and light to dark in print.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
# One colour an op, or kind of op, in all lessons; what is not here takes a colour that is left.
OP_COLOURS = {
    "conv2d": COLOURS[0], "convolutions": COLOURS[0], "convolution": COLOURS[0],
    "linear": COLOURS[1], "linear layers": COLOURS[1],
    "matmul": COLOURS[2], "attention": COLOURS[2], "scaled_dot_product_attention": COLOURS[2],
    "gelu": COLOURS[3], "relu": COLOURS[3], "activations": COLOURS[3],
    "layer_norm": COLOURS[4], "batch_norm": COLOURS[4], "norms": COLOURS[4],
    "softmax": COLOURS[5], "embedding": COLOURS[7], "add": COLOURS[6], "others": "#b0b0b0",
}  # fmt: skip
INK, QUIET, FAINT = "#222222", "#6b6b6b", "#d9d9d9"

STYLE: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titlepad": 12.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.axisbelow": True,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    # White, which a dark page takes away (_IN_THE_DARK); what knows no themes shows it.
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}

_DARK = (COLOURS[0], COLOURS[2], COLOURS[7])  # a number on these is white

# By the marks of a dark page in JupyterLab, Colab and VS Code: the white of a picture goes and its
# ink becomes light, while hues stay. Until then a lesson's own picture is a card (docs/pictures).
_IN_THE_DARK = (
    "<style>:is([data-jp-theme-light=false], [theme=dark], .vscode-dark) "
    ":is(img.proflab, .jp-RenderedMarkdown img) "
    "{ filter: invert(1) hue-rotate(180deg); mix-blend-mode: screen; }</style>"
)

_MARKED, _LINE = 60, 12.0  # points that are marked, at most; the height of a label

# The comma of 1,024, in pictures and on slides (docs/site/slides.py): to many readers a comma is
# the decimal sign.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_THIN_SPACE = "\u202f"

# A label beside a mark, on white, so that no grid line runs through it.
BESIDE = {
    "textcoords": "offset points",
    "va": "center",
    "bbox": {"fc": "white", "ec": "none", "pad": 0.5},
}


@dataclass
class Picture:
    """A matplotlib figure, and `alt`, the sentences that stand for it where it cannot be seen."""

    figure: Any
    alt: str

    def png(self, dpi: float = 160) -> bytes:
        """Return the picture as a PNG file."""
        import matplotlib

        target = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            _set_thousands_apart(self.figure)
            self.figure.savefig(target, format="png", dpi=dpi, bbox_inches="tight")
        return target.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        # As HTML, for what shows an image/png alone drops its description.
        data = self.png()
        # Drawn at twice the size at which it is shown, to be sharp on any screen.
        width, height = (int.from_bytes(data[at : at + 4]) // 2 for at in (16, 20))
        source = f"data:image/png;base64,{base64.b64encode(data).decode()}"
        size = f'width="{width}" height="{height}"'
        # _IN_THE_DARK tells the course's pictures by this class.
        image = f'<img alt="{html.escape(self.alt)}" class="proflab" {size} src="{source}">'
        return {"text/html": image + _IN_THE_DARK, "text/plain": self.alt}


def with_thin_spaces(text: str) -> str:
    """Return a text in which a thin space groups thousands, and no comma.

    >>> with_thin_spaces("1,024.5 of f(1,2)")
    '1\\u202f024.5 of f(1,2)'
    """
    return _THOUSANDS.sub(_THIN_SPACE, text)


def _set_thousands_apart(figure: Any) -> None:
    """Group thousands by thin spaces in all that a figure says; its axes say it when drawn."""
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter

    for axis in (each for axes in figure.axes for each in (axes.xaxis, axes.yaxis)):
        shown = axis.get_major_formatter()
        if isinstance(shown, FuncFormatter):
            axis.set_major_formatter(lambda n, at, shown=shown: with_thin_spaces(shown(n, at)))
    for text in figure.findobj(Text):
        text.set_text(with_thin_spaces(text.get_text()))


def figure_class() -> Any:
    """Return matplotlib's Figure, without its warning that it looks for fonts.

    In a browser it looks for them in each tab, and a warning stands on red.
    """
    log = logging.getLogger("matplotlib.font_manager")
    log.disabled = True
    try:
        from matplotlib.figure import Figure
    finally:
        log.disabled = False
    return Figure


@contextmanager
def canvas(width: float, height: float, alt: str) -> Iterator[tuple[Picture, Any]]:
    """Return an empty picture of so many inches, and its axes, in the course's style."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = figure_class()(figsize=(width, height), layout="constrained")
        yield Picture(figure, alt), figure.add_subplot()


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: an op's own; to others, in order, those that are left.

    >>> colours_of(["wte", "gelu", "head"]) == {
    ...     "wte": COLOURS[0], "gelu": COLOURS[3], "head": COLOURS[1]}
    True
    """
    names = list(dict.fromkeys(names))
    taken = {OP_COLOURS.get(name) for name in names}
    left = iter([c for c in COLOURS if c not in taken] or COLOURS)
    return {name: OP_COLOURS.get(name) or next(left, QUIET) for name in names}


def short(count: float, giga: str = "B") -> str:
    """Return a count as it fits beside a bar: 37 · 9.4 K · 2.36 M · 1.56 B · 3.2 T.

    giga: "G" for FLOPs and bytes; parameters and numbers have billions.
    """
    for size, unit in ((1e12, " T"), (1e9, f" {giga}"), (1e6, " M"), (1e3, " K")):
        if abs(count) >= 0.9995 * size:  # what three digits make 1,000 of is 1 of the next
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"


def on_axis(number: float) -> str:
    """Return where something is on an axis: 1,024 and 0.016 as they are, millions in short.

    >>> on_axis(1024.0), on_axis(0.016), on_axis(2.5e6)
    ('1,024', '0.016', '2.5 M')
    """
    return f"{number:,.6g}" if abs(number) < 1e6 else short(number)


def _short_for(unit: str, row: str = "") -> Callable[[float], str]:
    """Return `short` with the letter that is usual for what is counted: a row's name may say it."""
    what = row if re.search("FLOP|byte|parameter", row) else unit
    giga = re.search("FLOP|byte", what) and "parameter" not in what
    return partial(short, giga="G" if giga else "B")


def bars(
    counts: dict[str, float],
    *,
    unit: str = "parameters",
    title: str = "",
    log: bool = False,
    show: Callable[[float], str] | None = None,
    guess: dict[str, float | None] | None = None,
) -> Picture:
    """Draw horizontal bars, one a name, the first on top, with its number.

    `guess` maps a name to what was predicted, drawn as an open diamond. `log` gives a logarithmic
    axis, on which a bar's length would mean nothing: dots instead.
    """
    show = show or _short_for(unit)
    names, values = list(map(str, counts)), list(counts.values())
    # A reader may have guessed in words.
    guesses = {names.index(n): g for n, g in (guess or {}).items() if n in names and is_number(g)}
    said = "; ".join(f"{n} {show(v)}" for n, v in zip(names, values, strict=True))
    point = bars_in_words(dict(zip(names, values, strict=True)), show)
    alt = ". ".join(filter(None, [f"{title or 'Bars'} ({unit})", point, said]))
    with canvas(7.5, 0.9 + 0.3 * len(names), alt) as (picture, axes):
        if log:
            axes.scatter(values, range(len(names)), c=[COLOURS[0]] * len(names), s=60, zorder=3)
            axes.set_xscale("log")
            shown = [*values, *(g for g in guesses.values() if g > 0)]
            axes.set_xlim(min(shown) / 3, max(shown) * 20)  # room for the numbers beside
            axes.grid(axis="y")
        else:
            lengths = [float(value) for value in values]  # numpy's integers may have but 32 bits
            axes.barh(range(len(names)), lengths, color=COLOURS[0], height=0.72)
            axes.set_xlim(0, 1.16 * max([*values, *guesses.values()], default=1))  # the same
        for at, number in enumerate(values):
            gap = (8 if log else 4, 0)
            axes.annotate(show(number), (number, at), gap, **BESIDE)
        if guesses:
            diamond = {"mfc": "white", "mec": INK, "ms": 8, "zorder": 4, "label": "your guess"}
            axes.plot(list(guesses.values()), list(guesses), "D", **diamond)
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False)
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda number, _: (short if log else show)(number))
        axes.set(xlabel=unit, ylim=(len(names) - 0.4, -0.6))
        axes.set_title(title)
        axes.grid(axis="x")
    return picture


def shares(
    models: dict[str, dict[str, float]],
    *,
    unit: str,
    title: str = "",
    show: Callable[[float], str] | None = None,
) -> Picture:
    """Draw a bar a model, all of one length, divided by its parts' shares; totals at the right.

    `models` maps a model's name to its parts and their counts; a part that is missing is 0.
    """
    kinds = list(dict.fromkeys(kind for parts in models.values() for kind in parts))
    totals = {model: sum(parts.values()) for model, parts in models.items()}
    shown = {model: (show or _short_for(unit, model))(total) for model, total in totals.items()}
    said = "; ".join(
        f"{model}, {shown[model]}: "
        + ", ".join(f"{kind} {count / totals[model]:.1%}" for kind, count in parts.items())
        for model, parts in models.items()
    )
    alt = f"{title or 'Shares'} (of all {unit}). {parts_in_words(models)}. {said}"
    with canvas(8.0, 1.2 + 0.36 * len(models), alt) as (picture, axes):
        left = [0.0] * len(models)
        for kind, colour in colours_of(kinds).items():
            widths = [parts.get(kind, 0) / totals[model] for model, parts in models.items()]
            axes.barh(range(len(models)), widths, left=left, color=colour, height=0.72, label=kind)
            for row, width in enumerate(widths):
                if width >= 0.06:
                    axes.text(
                        left[row] + width / 2, row, f"{width:.0%}", ha="center", va="center",
                        color="white" if colour in _DARK else INK,
                    )  # fmt: skip
                left[row] += width
        for row, total in enumerate(shown.values()):
            axes.text(1.01, row, total, va="center")
        axes.set_yticks(range(len(models)), list(models))
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:.0%}")
        axes.set(xlim=(0, 1), ylim=(len(models) - 0.4, -0.6), xlabel=f"share of all {unit}")
        axes.set_title(title)
        axes.spines["left"].set_visible(False)
        beside = max(1.11, 1.03 + 0.016 * max(map(len, shown.values())))
        axes.legend(loc="upper left", bbox_to_anchor=(beside, 1.02), frameon=False)
    return picture


def _apart(axes: Any, places: Sequence[tuple[float, float]]) -> list[float]:
    """Return by how many points labels go up from their places, lest one cover another."""
    axes.autoscale_view()
    heights = [axes.transData.transform(place)[1] * 72 / axes.figure.dpi for place in places]
    up, free = [0.0] * len(places), -math.inf
    for index in sorted(range(len(places)), key=heights.__getitem__):
        up[index] = max(0.0, free - heights[index])
        free = heights[index] + up[index] + _LINE
    return up


def curves(
    series: dict[str, Sequence[tuple[float, float]]],
    *,
    x: str,
    y: str,
    title: str = "",
    log: str = "",
    show: Callable[[float], str] = short,
) -> Picture:
    """Draw lines through (x, y) points, each named at its end; `log` may be "x", "y" or "xy"."""
    said = lines_in_words(series, show, on_axis, log)
    with canvas(7.5, 3.8, f"{title or 'Lines'}: {y} against {x}. {said}") as (picture, axes):
        for index, points in enumerate(series.values()):
            # Of many points, marks would make a band.
            marker = "osD^v"[index % 5] if len(points) <= _MARKED else ""
            colour = COLOURS[index % len(COLOURS)]
            axes.plot(*zip(*points, strict=True), ms=5, color=colour, marker=marker)
        if "x" in log:
            axes.set_xscale("log")
        if "y" in log:
            axes.set_yscale("log")
        ends = [points[-1] for points in series.values()]
        for name, end, up in zip(series, ends, _apart(axes, ends), strict=True):
            axes.annotate(name, end, (8, up), **BESIDE)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.yaxis.set_major_formatter(lambda number, _: show(number))
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(title)
        axes.grid()
    return picture
