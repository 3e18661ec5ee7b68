"""Read the steps of a work log as a stranger wrote them, and what their texts name.

Of a step's program `check_log.py` finds out the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab.lesson.race.cost import Cost
from proflab.lesson.race.known import Row
from proflab.lesson.race.tape import Refused

PAIRS = 12  # of times, for each step
MOST_STEPS, MOST_TEXT = 30, 1_000
LARGEST = 1e12  # of the numbers in a log
SAME = 1e-3  # relative: what a program costs
_MOST_TAPE = 4 * 1024**2  # characters of a tape as text
_WORDS = 3  # that make a reason
_LEAST_QUOTED = 4  # characters
_QUOTED = re.compile(r"`([^`]{4,200})`")


@dataclass
class Step:
    """One row: what its writer says, and, once counted, what its program costs.

    tape: None where it is refused, for the reason in `wrong`; groups: ms by op, by op and shapes,
    and by line; ops: how many cost something; kinds: of the results; does: ms by op, shapes and
    attributes, without the ops that change no number, and empty where nobody has looked
    """

    row: dict[str, Any]
    name: str
    kept: bool
    tape: list | None = None
    wrong: str = ""
    ms: float = 0.0
    groups: list[dict[Any, float]] = field(default_factory=list)
    ops: int = 0
    kinds: list[tuple] = field(default_factory=list)
    does: dict[Any, float] = field(default_factory=dict)
    paid: Cost | None = None

    @property
    def working_ms(self) -> float:
        """Return what the program costs without the ops that change no number."""
        return math.fsum(self.does.values()) or self.ms


def read_steps(data: Any) -> list[Step]:
    """Return the rows of a log. Raises Refused, with a sentence, for what is none."""
    known = isinstance(data, dict) and isinstance(data.get("steps"), list)
    if not known or not (data.get("stop") is None or _is_text(data["stop"])):
        raise Refused("this is no work log: log.step and log.stop write one")
    rows = data["steps"]
    if not rows:
        raise Refused("the work log has no step")
    if len(rows) > MOST_STEPS:
        raise Refused(f"a work log has at most {MOST_STEPS} steps")
    found = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not {*_KINDS} <= {*row}:
            raise Refused(f"step {number} is no row of log.step")
        for key, (fits, what) in _KINDS.items():
            if not fits(row[key]):
                raise Refused(f"step {number}: {key} is no {what}")
        name = f"step {number}, {row['program'][:40]!r}"
        found.append(Step(row, name, not row["rejected"].strip()))
    return found


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= MOST_TEXT


def _is_positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < LARGEST


def _is_times(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple)) and len(value) == PAIRS and all(map(_is_positive, value))
    )


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(type(number) is int for number in value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_TEXT and all(map(_is_text, value))


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("program", "change", "because", "instead", "rejected", "verdict"),
        (_is_text, f"text of at most {MOST_TEXT:,} characters"),
    ),
    **dict.fromkeys(
        ("guess_ms", "counted_ms", "speedup", "low", "high"),
        (_is_positive, f"number above 0 and below {LARGEST:,.0f}"),
    ),
    **dict.fromkeys(("before", "after"), (_is_times, f"list of {PAIRS} times in ms")),
    "tape": (lambda v: type(v) is str and len(v) <= _MOST_TAPE, "tape, written as text"),
    "lines": (_is_lines, "list of line numbers"),
    "texts": (_is_texts, "list of lines"),
}


def lines_of(numbers: Any, texts: Any, length: int) -> list[str]:
    """Return the text of the line that made each instruction, as far as it is known."""
    known = _is_lines(numbers) and _is_texts(texts) and len(numbers) == length
    if not known or not all(0 <= number < len(texts) for number in numbers):
        return [""] * length
    return [texts[number] for number in numbers]


def groups_of(rows: list[Row], lines: list[str]) -> list[dict[Any, float]]:
    """Return ms by op, by op and shapes, and by line of the program."""
    found: list[dict[Any, float]] = [{}, {}, {}]
    for op, shapes, at, ms in rows:
        for group, name in zip(found, (op, (op, shapes), lines[at]), strict=True):
            group[name] = group.get(name, 0.0) + ms
    return found


# ── what a text names ────────────────────────────────────────────────────────────────────────


def is_reason(text: str) -> bool:
    """Return True for a sentence: text of at least so many words."""
    return len(re.findall(r"\w+", text)) >= _WORDS


def top(group: Mapping[Any, float], count: int) -> list:
    """Return the names of the groups that cost as much as the one in this place."""
    ordered = sorted(group.values(), reverse=True)[:count]
    least = ordered[-1] * (1 - SAME) if ordered else math.inf
    names = [name for name, ms in group.items() if ms >= least > 0]
    return sorted(names, key=lambda name: -group[name])


def named(text: str, step: Step, count: int) -> list[tuple[int, Any]]:
    """Return which of a program's largest groups a text names: by op, or by `part of a line`.

    Groups are made by op, by op and shapes, and by line; the largest of each count. Each comes as
    its place in `step.groups` and its name; an op that is named counts as one of the first kind.
    """
    if not step.groups:
        return []
    by_op, by_shape, by_line = (top(group, count) for group in step.groups)
    said = ops_in(text, step)
    ops = dict.fromkeys([*by_op, *(name for name, _ in by_shape)])
    found: list[tuple[int, Any]] = [(0, op) for op in ops if op in said]
    quoted = (" ".join(part.split()) for part in _QUOTED.findall(text))
    parts = [part.removesuffix("…") for part in quoted]  # a table cuts a long line
    for line in by_line:
        if any(len(part) >= _LEAST_QUOTED and part in " ".join(line.split()) for part in parts):
            found.append((2, line))
    return found


def ops_in(text: str, step: Step) -> list[str]:
    """Return the ops of a program that a text names."""
    ops, said = step.groups[0] if step.groups else (), text.lower()
    return [op for op in ops if re.search(rf"\b{op.replace('_', '[_ ]?')}\b", said)]
