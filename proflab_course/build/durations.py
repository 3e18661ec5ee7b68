"""Write into a slow demo cell's first line about how long it takes, from what a benchmark recorded.

The record is docs/figures/demos.json, made by benchmarks/bench_demos.py; without it nothing is
written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

RECORD = Path("docs/figures/demos.json")
SAID = 5.0  # seconds above which a cell says its time
# A line of the table that benchmarks/bench_demos.py prints and records.
_ROW = re.compile(r"^(\d\d_\w+) +(\w+) +([\d.]+)$", re.MULTILINE)
_SAYS_TIME = re.compile(r"^#.*\b\d+ (?:s|min|seconds|minutes)\b")
_STEPS = {5: "5 s", 10: "10 s", 20: "20 s", 30: "30 s", 60: "1 min", 120: "2 min", 300: "5 min"}

Durations = Mapping[tuple[str, str], float]


def read_durations(root: Path) -> dict[tuple[str, str], float]:
    """Return (lesson, demo cell) → seconds, as recorded; empty where nothing is."""
    path = root / RECORD
    if not path.is_file():
        return {}
    try:
        table = json.loads(path.read_text(encoding="utf-8"))["table"]
        rows = _ROW.findall(table)
    except (ValueError, KeyError, TypeError):
        raise CourseError(f"{path} is no record of a benchmark: record it again") from None
    return {(lesson, cell): float(seconds) for lesson, cell, seconds in rows}


def tell_durations(lesson: Lesson, facts: Facts) -> Lesson:
    """Have each slow demo cell of a lesson say about how long it takes."""
    stamp_durations(lesson, facts.durations)
    return lesson


def stamp_durations(lesson: Lesson, durations: Durations) -> None:
    """Write it behind the first line, where that is a comment, else above it.

    Only into a demo cell that takes more than 5 s and does not say so itself.
    """
    for cell in lesson.named("demo"):
        seconds = durations.get((lesson.name, cell.name), 0.0)
        first, _, rest = cell.source.partition("\n")
        if seconds <= SAID or first.startswith("%%") or _SAYS_TIME.search(first):
            continue
        takes = f"Takes {about(seconds)}."
        if first.startswith("#"):
            cell.node.source = f"{first.rstrip(' .:')}. {takes}\n{rest}"
        else:
            cell.node.source = f"# {takes}\n{cell.source}"


def about(seconds: float) -> str:
    """Return a time in a step that another run on such a machine gives, too.

    >>> about(6.2), about(13.0), about(55.0), about(1000.0)
    ('about 5 s', 'about 10 s', 'about 1 min', 'about 5 min')
    """
    step = min(_STEPS, key=lambda step: max(step / seconds, seconds / step))
    return f"about {_STEPS[step]}"
