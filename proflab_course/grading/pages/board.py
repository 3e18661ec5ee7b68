"""Make the board of a lesson's races: the class's lowest costs, and what stands just above one.

It rests on the costs that a grading keeps with its cases, at the sizes that students see; hidden
sizes are left out, and so is a program that fails at any of them. It gives no points.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab_course.course.words import few
from proflab_course.grading.submissions.read_guesses import ALIAS, Guess

SAME = 1.001  # costs within 0.1 % share a place
_LOWEST, _JUST_ABOVE = 5, 3  # places that are shown: the first ones, and those before one's own
_FEW_NAMES = 4
_BINS = 50  # of the picture, on the way from the given program to full marks

Name = tuple[str, str]  # of a race: its test cell and its label


@dataclass(frozen=True)
class Rank:
    """Hold a place that hand-ins share: its number, the lowest cost there, and whose it is."""

    number: int
    cost: float
    students: tuple[str, ...]

    def who(self, names: Mapping[str, str]) -> str:
        """Return the names that are shown with a place, the first of many; "" without any."""
        # In the order of the names themselves: that of the ids would tell whose an alias is.
        named = sorted(names[student] for student in self.students if names.get(student))
        return few(named, _FEW_NAMES)


@dataclass(frozen=True)
class Board:
    """Hold the class in one race: places from the lowest cost on, and the shares of the way.

    solution: what the lesson's own solution costs, if its build says so
    """

    name: Name
    costs: dict[str, float]
    shares: list[float] = field(default_factory=list)
    solution: float | None = None

    @property
    def places(self) -> list[Rank]:
        """Return the places in order; costs within 0.1 % of the lowest of a place share it."""
        found: list[Rank] = []
        taken: list[list[str]] = []
        for student, cost in sorted(self.costs.items(), key=lambda item: (item[1], item[0])):
            if not found or cost > found[-1].cost * SAME:
                found.append(Rank(1 + sum(map(len, taken)), cost, ()))
                taken.append([])
            taken[-1].append(student)
        pairs = zip(found, taken, strict=True)
        return [Rank(place.number, place.cost, tuple(students)) for place, students in pairs]

    @property
    def lowest(self) -> list[Rank]:
        """Return the first five places."""
        return self.places[:_LOWEST]

    @property
    def better(self) -> int:
        """Return how many programs cost less than the lesson's own solution."""
        if self.solution is None:
            return 0
        return sum(cost * SAME < self.solution for cost in self.costs.values())

    @property
    def full(self) -> int:
        """Return how many programs earn full marks."""
        return sum(share == 1 for share in self.shares)

    @property
    def strip(self) -> list[tuple[float, int]]:
        """Return the class's shares as the picture shows them: (share, how many), rising."""
        bins: dict[int, int] = defaultdict(int)
        for share in self.shares:
            bins[int(share * _BINS)] += 1
        return [(number / _BINS, bins[number]) for number in sorted(bins)]

    def around(self, student: str, names: Mapping[str, str]) -> str:
        """Return the costs just above a student's, theirs, and their place; "" without one."""
        places = self.places
        at = next((n for n, place in enumerate(places) if student in place.students), None)
        if at is None:
            return ""
        above = [_told(place, names) for place in reversed(places[max(0, at - _JUST_ABOVE) : at])]
        others = len(places[at].students) - 1
        shared = f", shared with {others} more" if others else ""
        you = (
            f"you {shown_cost(self.costs[student])}, place {places[at].number} of {len(self.costs)}"
        )
        return " — ".join(filter(None, (" · ".join(above), f"{you}{shared}")))


def boards(
    cases: Mapping[str, Iterable[Any]], solutions: Mapping[Name, float] | None = None
) -> dict[Name, Board]:
    """Return the board of each race for which a hand-in has a cost, in the order of the lesson.

    cases: each student's CaseResults. Gradings of older releases have no costs.
    """
    found: dict[Name, Board] = {}
    for student, theirs in cases.items():
        for case in _placed(theirs):
            name = (case.cell, case.label)
            board = found.setdefault(name, Board(name, {}, [], (solutions or {}).get(name)))
            board.costs[student] = case.cost
            board.shares.append(case.share)
    return found


def _placed(cases: Iterable[Any]) -> Iterator[Any]:
    """Yield the visible races of a hand-in whose programs are right at every size."""
    cases = list(cases)
    failed = {case.cell for case in cases if not case.passed}
    for case in cases:
        if case.cost is not None and not case.hidden and case.cell not in failed:
            yield case


def names_shown(
    choice: str, aliases: Mapping[str, str], people: Mapping[str, str]
) -> dict[str, str] | None:
    """Return the names that a class sees on the board by student; None for no board at all.

    choice: the course's `board` (settings.py). people: names by id, which stands for an empty one
    """
    if choice == "off":
        return None
    if choice == "names":
        return {student: name.strip() or student for student, name in people.items()}
    return dict(aliases) if choice == "aliases" else {}


def aliases_in(guesses: Mapping[str, Iterable[Guess]]) -> dict[str, str]:
    """Return the aliases that students have written into their notebooks, by student."""
    return {
        student: str(each.answer)
        for student, theirs in guesses.items()
        for each in theirs
        if each.what == ALIAS
    }


def shown_cost(cost: float) -> str:
    """Return a cost as text: four digits, or all before the point.

    >>> shown_cost(1.73914), shown_cost(262144.0)
    ('1.739', '262,144')
    """
    return f"{cost:,.4g}" if cost < 1000 else f"{cost:,.0f}"


def _told(place: Rank, names: Mapping[str, str]) -> str:
    who = place.who(names)
    return f"{shown_cost(place.cost)} ({who})" if who else shown_cost(place.cost)
