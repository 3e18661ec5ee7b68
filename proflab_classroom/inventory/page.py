"""Make a page about the inventory: each item before and after, and what the class has gained.

No name or id enters it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from proflab_classroom.inventory.answers import Half, read_halves
from proflab_classroom.inventory.gain import (
    LEAST_FOR_GAIN,
    RESAMPLES,
    bootstrap_interval,
    gain_of_means,
    holm,
    mcnemar,
    mean_of_gains,
)
from proflab_classroom.inventory.items import (
    NAME,
    SURE,
    InventoryItem,
    asked,
    form_for,
    of_form,
    read_inventory,
)
from proflab_classroom.items.figures import LEAST_FOR_R, Figures, figures_of
from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.secret import PLACE as SECRET
from proflab_course.course.settings import SETTINGS, read_settings
from proflab_course.course.words import figure
from proflab_course.report.lesson_page import environment
from proflab_course.tracks.read import Tracks

WHEN = ("before", "after")


@dataclass(frozen=True)
class HalfFigures(Figures):
    """Hold what a class answered to one item in one half; an open item is not right.

    counts: of students with the item in their form, "" for those who left it open. r: with the
    score of the rest of the form. sure_right, sure_wrong: mean confidence, 1 to 4.
    """

    sure_right: float | None = None
    sure_wrong: float | None = None


@dataclass(frozen=True)
class ItemRow:
    """Hold an item with its figures before and after."""

    item: InventoryItem
    before: HalfFigures
    after: HalfFigures


@dataclass(frozen=True)
class PairRow:
    """Hold how many changed from wrong to right in a pair, and back; p by McNemar, then Holm."""

    pair: int
    rule: str
    gained: int
    lost: int
    p: float
    adjusted: float


@dataclass(frozen=True)
class Gain:
    """Hold what students with both halves have gained, in shares, each with a 95 % interval."""

    of_means: float
    of_means_interval: tuple[float, float]
    of_students: float
    of_students_interval: tuple[float, float]


@dataclass
class InventoryReport:
    """Hold all of the page; means of scores are in percent, and of students with both halves.

    halves: how many there are by name; both: how many students have both, in the two forms.
    other_form: halves in another form than the student's; twice: students who took one form twice.
    left_out: numbers of the pairs whose lessons the class did not have.
    """

    items: list[ItemRow] = field(default_factory=list)
    pairs: list[PairRow] = field(default_factory=list)
    halves: dict[str, int] = field(default_factory=dict)
    means: dict[str, float | None] = field(default_factory=dict)
    both: int = 0
    one: int = 0
    other_form: int = 0
    twice: int = 0
    left_out: list[int] = field(default_factory=list)
    sure: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    gain: Gain | None = None
    paired_means: tuple[float, float] | None = None


def lessons_had(course: Course) -> list[str] | None:
    """Return the lessons that a class has: `[course] lessons`, or else those of its track.

    None if neither says: then it had all of them.
    """
    chosen = read_settings(course.root).lessons
    if chosen is not None:
        return list(chosen)
    tracks = Tracks.read(course.root)
    return list(tracks.track().lessons) if tracks else None


def read_report(course: Course) -> InventoryReport:
    """Return what the graded halves say. Raises CourseError if there are none."""
    items = read_inventory(course)
    halves = read_halves(course, items)
    if not halves:
        how = f"run `proflab build {NAME}`, collect and grade 00_inventory"
        raise CourseError(f"nobody's answers to the inventory are graded yet: {how}")
    had = lessons_had(course)
    kept = items if had is None else asked(items, had)
    if not kept:
        raise CourseError(f"{SETTINGS}: the inventory asks nothing about the class's lessons")
    report = summarise(kept, halves)
    report.left_out = sorted({each.pair for each in items} - {each.pair for each in kept})
    if (course.root / SECRET).exists():  # else no list was made, and any form is the right one
        report.other_form = sum(
            each.form != form_for(course.root, each.student, each.half) for each in halves
        )
    return report


def summarise(items: Sequence[InventoryItem], halves: Iterable[Half]) -> InventoryReport:
    """Return the figures of these items; halves: of a class, a student's at most one of each."""
    by_half: dict[str, dict[str, Half]] = {when: {} for when in WHEN}
    for half in halves:
        by_half[half.half][half.student] = half
    report = InventoryReport(halves={when: len(each) for when, each in by_half.items()})
    for item in items:
        figures = [_answers(item, items, by_half[when].values()) for when in WHEN]
        report.items.append(ItemRow(item, *figures))
    for when in WHEN:
        scores = [score(items, half) for half in by_half[when].values()]
        report.means[when] = statistics.fmean(scores) if scores else None
        report.sure[when] = _confidence(items, by_half[when].values())
    before, after = by_half["before"], by_half["after"]
    both = sorted(before.keys() & after.keys())
    paired = [each for each in both if before[each].form != after[each].form]
    report.twice = len(both) - len(paired)
    report.both, report.one = len(paired), len(before.keys() ^ after.keys())
    if len(paired) >= LEAST_FOR_GAIN:
        pre = np.array([score(items, before[each]) for each in paired])
        post = np.array([score(items, after[each]) for each in paired])
        report.paired_means = float(pre.mean()), float(post.mean())
        report.gain = Gain(
            float(gain_of_means(pre, post)),
            bootstrap_interval(gain_of_means, pre, post),
            float(mean_of_gains(pre, post)),
            bootstrap_interval(mean_of_gains, pre, post),
        )
        report.pairs = _pairs(items, [(before[each], after[each]) for each in paired])
    return report


def score(items: Iterable[InventoryItem], half: Half) -> float:
    """Return the percentage of a half's items that are right; of these items, open ones wrong."""
    own = of_form(items, half.form)
    return 100 * sum(half.letters.get(item.id) == item.key for item in own) / len(own)


def _answers(
    item: InventoryItem, items: Sequence[InventoryItem], halves: Iterable[Half]
) -> HalfFigures:
    """Return the figures of an item in one half."""
    theirs = [half for half in halves if half.form == item.form]
    others = [each for each in of_form(items, item.form) if each is not item]
    chosen = [
        (half.letters.get(item.id, ""), score(others, half) if others else 0.0) for half in theirs
    ]
    found = figures_of(chosen, item.key, (*LETTERS, ""))
    return HalfFigures(found.counts, found.key, found.r, *_confidence([item], theirs))


def _confidence(
    items: Sequence[InventoryItem], halves: Iterable[Half]
) -> tuple[float | None, float | None]:
    """Return the mean confidence of right and of wrong answers; None where there are none."""
    said: dict[bool, list[int]] = {True: [], False: []}
    for half in halves:
        for item in of_form(items, half.form):
            if item.id in half.letters and item.id in half.sure:
                said[half.letters[item.id] == item.key].append(half.sure[item.id])
    right, wrong = (statistics.fmean(each) if each else None for each in said.values())
    return right, wrong


def _pairs(items: Sequence[InventoryItem], halves: Sequence[tuple[Half, Half]]) -> list[PairRow]:
    """Return for each pair of items the changes of students with both halves, tested."""
    by_place = {(item.pair, item.form): item for item in items}
    found: list[tuple[int, int, int]] = []
    for pair in sorted({item.pair for item in items}):
        changes = []
        for two in halves:
            own = [(half, by_place[pair, half.form]) for half in two]
            changes.append(tuple(half.letters.get(item.id) == item.key for half, item in own))
        found.append((pair, changes.count((False, True)), changes.count((True, False))))
    p = [mcnemar(gained, lost) for _, gained, lost in found]
    return [
        PairRow(pair, by_place[pair, 1].rule, gained, lost, value, adjusted)
        for (pair, gained, lost), value, adjusted in zip(found, p, holm(p), strict=True)
    ]


# ── the page ─────────────────────────────────────────────────────────────────────────────────

# inventory.html.j2 draws with these, 340 wide, its grid from 22 on: change both together.
_LEFT, _RIGHT = 34.0, 318.0  # of 0 % and 100 % in the picture
_ROW, _LABEL, _TOP = 26, 25, 30  # heights of an item, of a pair's name, and above them all


@dataclass(frozen=True)
class Dot:
    """Hold a dot of the picture with its interval; places from the left and the top."""

    when: str
    x: float
    low: float
    high: float
    y: float


@dataclass(frozen=True)
class Line:
    """Hold an item's line in the picture; label: of its pair, above the first of them."""

    name: str
    y: float
    marks: tuple[Dot, ...]
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """Hold the picture of all items, made for 340 px of width."""

    lines: list[Line]
    height: float
    ticks: list[tuple[int, float]]
    guessing: float


def picture_of(rows: Sequence[ItemRow]) -> Picture:
    """Return where everything lies in the picture of items before and after."""

    def place(share: float) -> float:
        return _LEFT + share * (_RIGHT - _LEFT)

    lines: list[Line] = []
    y, pair = float(_TOP), 0
    for row in rows:
        label = ""
        if row.item.pair != pair:
            pair, label = row.item.pair, f"{row.item.pair} · {row.item.rule}"
            y += _LABEL
        marks = []
        for when, below in zip(WHEN, (-4, 4), strict=True):  # before stands above after
            figures: HalfFigures = getattr(row, when)
            if figures.p is not None:
                low, high = map(place, figures.interval)
                marks.append(Dot(when, place(figures.p), low, high, y + below))
        lines.append(Line(row.item.letter, y, tuple(marks), label))
        y += _ROW
    ticks = [(percent, place(percent / 100)) for percent in (0, 25, 50, 75, 100)]
    return Picture(lines, y + 4, ticks, place(0.25))


def _percent(share: float | None) -> str:
    return "–" if share is None or math.isnan(share) else f"{100 * share:.0f}\N{NO-BREAK SPACE}%"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else figure(value, 3)


def render_inventory(report: InventoryReport) -> str:
    """Return the page as HTML that needs no other file."""
    template = environment("proflab_classroom.inventory").get_template("inventory.html.j2")
    return template.render(
        s=report,
        picture=picture_of(report.items),
        percent=_percent,
        number=figure,
        p=_p,
        least=LEAST_FOR_GAIN,
        least_r=LEAST_FOR_R,
        resamples=RESAMPLES,
        letters=LETTERS,
        most_sure=SURE[-1],
    )
