"""Limit what a lesson asks of its reader: the rules for `measures`, and who is held to them.

Held to them is what a course with `limits = true` in modules/tracks.toml releases by default. Of a
class's own track, and of lessons that this file does not list, it is only told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proflab_course.build.measures import Measured, measured
from proflab_course.course.notebook import Lesson
from proflab_course.course.sections import sections
from proflab_course.tracks.read import DEFAULT

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts


@dataclass(frozen=True)
class Rule:
    """Say how much of something there may be, what that is, and what to do about more."""

    limit: int
    what: str
    advice: str


# RULES says what each limits; docs/write-a-lesson.md tells authors the same numbers.
CASES, WIDTH, HELPERS, ATTRIBUTES, POINTS = 8, 100, 12, 8, 8
ERROR_ROWS, ERROR_POINTS, DOC_WORDS = 1, 3, 130
DEMO_LINES, GIVEN_LINES, EXERCISES, OPTIONAL = 15, 45, 10, 3
WORDS, IMPORTS = 3_000, 8
# The first lessons teach what a function is to refuse; the later ones only remind of it.
_TEACH_ERRORS = ("01_parameters", "02_flops", "03_latency")
# What lessons of this course may have instead; a test refuses an entry without need.
LONGER = {
    **{(lesson, "error rows"): 4 for lesson in _TEACH_ERRORS},
    **{(lesson, "error points"): 12 for lesson in _TEACH_ERRORS},
    ("04_memory", "error rows"): 2,  # one is an error that `find_leak` lets pass
    ("05_profiler", "helpers"): 16,
    ("06_roofline", "exercises"): 13,  # ten of them are of a line or two
    ("08_benchmarking", "exercises"): 11,  # two of them are of a line
    ("09_optimization", "exercises"): 11,  # one of them is of a line
    ("12_serving", "words"): 3_250,  # in two sittings
}

RULES = {
    "words": Rule(WORDS, "words of prose", "write less"),
    "imports": Rule(IMPORTS, "lines of imports", "the others go into the cells that need them"),
    "helpers": Rule(HELPERS, "names imported from proflab.lesson", "need fewer"),
    "attributes": Rule(ATTRIBUTES, "names behind a helper's dot", "need fewer outside of demos"),
    "exercises": Rule(EXERCISES, "exercises with points", "let the track leave some out"),
    "optional": Rule(OPTIONAL, "optional exercises", "let the track leave some out"),
    "cases": Rule(CASES, "visible cases", "hide those that few wrong solutions need"),
    "points": Rule(POINTS, "points", "make two cells of it"),
    "error rows": Rule(ERROR_ROWS, "visible cases of errors", "put several tuples into a row"),
    "errors apart": Rule(
        0,
        "cases of errors are not in the exercise's last cell, or there with others",
        "from 8 points on they have that cell for themselves, with 0.5 or 2 points",
    ),
    "error points": Rule(ERROR_POINTS, "points for errors", "ideas earn them"),
    "doc words": Rule(DOC_WORDS, "words in docstrings, the example apart", "write less"),
    "no example": Rule(0, "no example in its docstring", "write one (`>>> …` and its value)"),
    "example asked": Rule(0, "the example is the first visible case", "take other arguments"),
    "demo lines": Rule(DEMO_LINES, "lines in a demo cell", "demos.py may have the others"),
    "says nothing": Rule(0, "the first line does not say what a demo shows", "make it a comment"),
    "given lines": Rule(GIVEN_LINES, "lines in a given cell", "make two cells of it, or a file"),
    "width": Rule(WIDTH, "characters in a line", "break it"),
}


def asks_too_much(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Measure a lesson; yield what is too much, if it is limited and in the default track.

    A lesson that is not held to the limits has a note for its author.
    """
    figures = facts.figures[lesson.name] = measured(lesson, facts.place(lesson.name))
    yield from untimed_sections(lesson)
    limited = facts.tracks is not None and facts.tracks.times[lesson.name].limited
    if limited and facts.track is not None and facts.track.name == DEFAULT:
        yield from limit_mistakes(lesson, figures)
    else:
        facts.notes += limit_notes(lesson, figures)


def limit_mistakes(lesson: Lesson, figures: Iterable[Measured]) -> Iterator[str]:
    """Yield a sentence for each place at which a lesson, not yet stamped, is above a rule.

    figures: what is `measured` of it.
    """
    for cell in lesson.cells:
        if cell.node.cell_type == "code" and "# fmt: skip" in cell.source:
            yield f"{cell.where}: `# fmt: skip`; let the formatter lay it out"
    yield from excess_lines(lesson.name, figures)


def limit_notes(lesson: Lesson, figures: Iterable[Measured]) -> Iterator[str]:
    """Yield one sentence on the rules that a lesson is above and not held to, if there are any."""
    most: dict[str, int] = {}
    for each in above(lesson.name, figures):
        most[each.rule] = max(each.amount, most.get(each.rule, 0))
    told = [
        f"{amount:,} {RULES[rule].what} ({_limit(lesson.name, rule):,})"
        if RULES[rule].limit
        else RULES[rule].what
        for rule, amount in most.items()
    ]
    if told:
        what = "goes beyond the limits of this course's lessons"
        yield f"{lesson.place} {what}: {', '.join(told)}"


def untimed_sections(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each section with an exercise that says no minutes, where others do."""
    found = sections(lesson)
    if all(section.minutes is None for section in found):
        return
    for section in found:
        if section.minutes is None and any(cell.role == "exercise" for cell in section.cells):
            place = section.place.where if section.place else lesson.place
            heading = f"`{section.heading}`" if section.heading else "the part before all headings"
            yield f"{place}: {heading} has an exercise and says no minutes (`## … · 15 min`)"


def above(name: str, figures: Iterable[Measured]) -> Iterator[Measured]:
    """Yield the figures of a lesson that are above a rule, in the order of the rules."""
    by_rule: defaultdict[str, list[Measured]] = defaultdict(list)
    for each in figures:
        by_rule[each.rule].append(each)
    for rule in RULES:
        yield from (each for each in by_rule[rule] if each.amount > _limit(name, rule))


def _limit(name: str, rule: str) -> int:
    return LONGER.get((name, rule), RULES[rule].limit)


def _sentence(name: str, each: Measured) -> str:
    rule = RULES[each.rule]
    shown = f" (`{each.shown}…`)" if each.rule == "width" else f" ({each.shown})" * bool(each.shown)
    if not rule.limit:
        return f"{each.where}: {rule.what}: {rule.advice}"
    at_most = f"{each.amount:,} {rule.what}, {_limit(name, each.rule):,} at most"
    return f"{each.where}: {at_most}{shown}: {rule.advice}"


_COLUMNS = {
    "words": "words",
    "exercises": "exercises",
    "optional": "°",
    "cases": "visible cases",
    "most": "most a cell",
    "error points": "points for errors",
    "width": "widest line",
    "helpers": "helper names",
    "attributes": "behind a dot",
    "lines": "lines of code",
}


def sizes_table(figures: Mapping[str, Iterable[Measured]]) -> str:
    """Return a table with a row for each lesson: what it asks of its reader.

    figures: those of `measured`, by lesson.
    """
    rows = [["lesson", *_COLUMNS.values()]]
    for name, found in figures.items():
        amounts: defaultdict[str, list[int]] = defaultdict(lambda: [0])
        for each in found:
            amounts[each.rule].append(each.amount)
        values = {rule: max(amounts[rule]) for rule in _COLUMNS}
        values |= {"cases": sum(amounts["cases"]), "most": max(amounts["cases"])}
        rows.append([name, *(f"{value:,}" for value in values.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.rjust, row[1:], widths[1:])) for row in rows)
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {line}" for row, line in zip(rows, lines, strict=True)
    )


def excess_lines(name: str, figures: Iterable[Measured]) -> Iterator[str]:
    """Yield a line for each place of a lesson that is above a rule."""
    for each in above(name, figures):
        yield _sentence(name, each)
