"""Say how often two markers agree on an item: the share of equal marks, and Cohen's κ.

Cohen (1960), A coefficient of agreement for nominal scales: (equal - chance) / (1 - chance).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from proflab_classroom.marking.essay_log import Marking


@dataclass(frozen=True)
class Agreement:
    """Hold two markers' agreement on one item, over `count` essays; kappa: None where undefined."""

    item: int
    count: int
    equal: float
    kappa: float | None


def cohens_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Return Cohen's κ of pairs of marks; None if chance alone would give equality.

    >>> cohens_kappa([(True, True), (True, False), (False, False), (False, False)])
    0.5
    """
    count = len(pairs)
    if not count:
        return None
    equal = sum(a == b for a, b in pairs)
    first, second = (sum(pair[side] for pair in pairs) for side in (0, 1))
    chance = first * second + (count - first) * (count - second)  # times count²
    if chance == count * count:
        return None
    return (equal * count - chance) / (count * count - chance)


def both_marked(marking: Marking, first: str, second: str, anchors: set[str]) -> list[str]:
    """Return the essays that both have marked, without the anchors.

    One that was replaced between the two marks is none: each has read another text.
    """
    found = []
    for student, by in marking.marks.items():
        of_first = marking.texts.get(student, {}).get(first, "")
        same = second not in marking.outdated(student, of_first)
        if student not in anchors and {first, second} <= by.keys() and same:
            found.append(student)
    return found


def agreements(
    marking: Marking, items: int, anchors: set[str]
) -> Iterator[tuple[str, str, list[Agreement]]]:
    """Yield each pair of markers with their agreement per item, where both have marked any."""
    for first, second in combinations(marking.names, 2):
        common = both_marked(marking, first, second, anchors)
        if not common:
            continue
        found = []
        for item in range(1, items + 1):
            marks = [marking.marks[student] for student in common]
            pairs = [(item in by[first].items, item in by[second].items) for by in marks]
            equal = sum(a == b for a, b in pairs) / len(pairs)
            found.append(Agreement(item, len(pairs), equal, cohens_kappa(pairs)))
        yield first, second, found
