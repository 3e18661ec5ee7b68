"""Say in words what a picture shows: what its lines do, where they cross, which bar is largest.

A reader who cannot see a curve should get its point first and its numbers after that. All is
computed from the data that is drawn. What may not enter: matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

Point = tuple[float, float]
Show = Callable[[float], str]

_LEVEL = 0.05  # of its height: a line that changes by less stays level
_RIPPLE = 0.05  # of its own change: what a line may fall while it is said to rise
_NEAR = 0.1  # of its own change: what still counts as its begin, or as its end
_LONG = 0.4  # of its width: how long a line must stay there for that to be worth saying
_MOST_CROSSINGS = 3


def lines_in_words(
    series: Mapping[str, Sequence[Point]], show: Show, show_x: Show, log: str = ""
) -> str:
    """Return what each line does, and where lines cross. log: "x", "y" or "xy", as the axes are.

    >>> up, down = [(1, 1), (2, 2), (3, 3)], [(1, 3), (2, 2), (3, 1)]
    >>> lines_in_words({"up": up, "down": down}, "{:g}".format, "{:g}".format)
    'up rises from 1 at 1 to 3 at 3; down falls from 3 at 1 to 1 at 3. up passes down near 2'
    """
    drawn = {name: _drawn(points, log) for name, points in series.items()}
    drawn = {name: points for name, points in drawn.items() if points}
    said = "; ".join(
        f"{name} {line_in_words(points, show, show_x, log)}".strip()
        for name, points in drawn.items()
    )
    crossings = list(_crossings(drawn, show_x, log))
    return ". ".join([said, *crossings[:_MOST_CROSSINGS]])


def line_in_words(points: Sequence[Point], show: Show, show_x: Show, log: str = "") -> str:
    """Return what one line does: it rises, falls, stays level, turns once, or goes up and down.

    >>> line_in_words([(1, 10), (20, 1000), (300, 10)], "{:,.0f}".format, "{:g}".format)
    'rises from 10 at 1 to 1,000 at 20, then falls to 10 at 300'
    >>> line_in_words([(1, 5), (2, 5), (3, 5.1), (4, 5), (5, 90)], "{:g}".format, "{:g}".format)
    'stays near 5 up to 4, then rises to 90 at 5'
    """
    points = _drawn(points, log)
    if not points:
        return ""

    def at(place: int) -> str:
        return f"{show(points[place][1])} at {show_x(points[place][0])}"

    heights, last = [_scaled(y, "y" in log) for _, y in points], len(points) - 1
    if last == 0:
        return f"is {at(0)}"
    if _is_level([y for _, y in points], "y" in log):
        ends = f"from {show_x(points[0][0])} to {show_x(points[-1][0])}"
        least, most = (show(find(y for _, y in points)) for find in (min, max))
        told = f"at {least}" if least == most else f"between {least} and {most}"
        return f"stays {told} {ends}"
    for sign, verb, back in ((1, "rises", "falls"), (-1, "falls", "rises")):
        way = [sign * height for height in heights]
        if _climbs(way):
            return _one_way(points, way, verb, show, show_x, log)
        top = way.index(max(way))
        if 0 < top < last and _climbs(way[: top + 1]) and _climbs(way[top:][::-1]):
            return f"{verb} from {at(0)} to {at(top)}, then {back} to {at(last)}"
    low, high = heights.index(min(heights)), heights.index(max(heights))
    return f"goes up and down from {at(0)} to {at(last)}, lowest {at(low)}, highest {at(high)}"


def bars_in_words(values: Mapping[str, float], show: Show) -> str:
    """Return which bar is the largest, and how many times the smallest; "" for fewer than two.

    >>> bars_in_words({"a": 2, "b": 8, "c": 4}, "{:g}".format)
    'The largest is b, 8, and 4 times the smallest, a'
    """
    known = {name: value for name, value in values.items() if math.isfinite(value)}
    if len(known) < 2 or len(set(known.values())) == 1:
        return ""
    most, least = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    said = f"The largest is {most}, {show(known[most])}"
    if known[least] <= 0:
        return f"{said}, and {least} the smallest"
    ratio = known[most] / known[least]
    times = f"{ratio:,.0f}" if ratio >= 1000 else f"{ratio:.3g}"
    return f"{said}, and {times} times the smallest, {least}"


def parts_in_words(models: Mapping[str, Mapping[str, float]]) -> str:
    """Return of what most of each bar is made.

    >>> parts_in_words({"A": {"conv": 9, "linear": 1}, "B": {"conv": 1, "linear": 2}})
    'The largest part is conv in A, and linear in B'
    """
    largest: dict[str, list[str]] = {}
    for model, parts in models.items():
        if parts:
            largest.setdefault(max(parts, key=parts.__getitem__), []).append(model)
    if len(largest) == 1 and len(models) > 1:
        return f"The largest part of each is {next(iter(largest))}"
    return "The largest part is " + ", and ".join(
        f"{part} in {', '.join(of)}" for part, of in largest.items()
    )


# ── what a line does ─────────────────────────────────────────────────────────────────────────


def _drawn(points: Sequence[Point], log: str) -> list[Point]:
    """Return the points that a picture shows, from left to right."""
    least = [0.0 if axis in log else -math.inf for axis in "xy"]
    return sorted(
        (float(x), float(y))
        for x, y in points
        if least[0] < x < math.inf and least[1] < y < math.inf
    )


def _scaled(value: float, log: bool) -> float:
    """Return where a value stands on an axis."""
    return math.log10(value) if log else value


def _is_level(values: Sequence[float], log: bool) -> bool:
    low, high = min(values), max(values)
    if log:
        return low > 0 and high <= low * (1 + 2 * _LEVEL)
    return high - low <= _LEVEL * max(abs(low), abs(high))


def _climbs(way: Sequence[float]) -> bool:
    """Return True if values rise, but for ripples, from their lowest to their highest."""
    ripple = _RIPPLE * (max(way) - min(way))
    highest = way[0]
    for height in way:
        if height < highest - ripple:
            return False
        highest = max(highest, height)
    return way[0] <= min(way) + ripple and way[-1] >= max(way) - ripple


def _one_way(
    points: Sequence[Point], way: Sequence[float], verb: str, show: Show, show_x: Show, log: str
) -> str:
    """Return what a line does that rises or falls all the way, perhaps with a level part."""
    change, places = way[-1] - way[0], [_scaled(x, "x" in log) for x, _ in points]
    width = places[-1] - places[0] or 1.0
    begin = max(n for n, height in enumerate(way) if height - way[0] <= _NEAR * change)
    end = min(n for n, height in enumerate(way) if way[-1] - height <= _NEAR * change)
    (x, y), (last_x, last_y) = points[0], points[-1]
    if places[begin] - places[0] >= _LONG * width:
        stay = f"stays near {show(y)} up to {show_x(points[begin][0])}"
        return f"{stay}, then {verb} to {show(last_y)} at {show_x(last_x)}"
    start = f"{verb} from {show(y)} at {show_x(x)} to"
    if places[-1] - places[end] >= _LONG * width:
        turn = f"{start} {show(points[end][1])} at {show_x(points[end][0])}"
        return f"{turn}, then stays near it, {show(last_y)} at {show_x(last_x)}"
    return f"{start} {show(last_y)} at {show_x(last_x)}"


# ── where lines cross ────────────────────────────────────────────────────────────────────────


def _crossings(drawn: Mapping[str, list[Point]], show_x: Show, log: str) -> Iterator[str]:
    """Yield a sentence for each two lines that cross once, and for two lines that never do."""
    for (one, first), (other, second) in combinations(drawn.items(), 2):
        places = sorted({x for x, _ in (*first, *second)})
        both = [
            x
            for x in places
            if max(first[0][0], second[0][0]) <= x <= min(first[-1][0], second[-1][0])
        ]
        above = [_height(first, x, log) - _height(second, x, log) for x in both]
        apart = [(x, d) for x, d in zip(both, above, strict=True) if d]
        turns = [(a, b) for a, b in zip(apart, apart[1:], strict=False) if a[1] * b[1] < 0]
        if not _differ(first, second, [d for _, d in apart], log):
            continue
        if len(turns) == 1:
            higher, lower = (one, other) if turns[0][1][1] > 0 else (other, one)
            yield f"{higher} passes {lower} near {show_x(_between(*turns[0], log))}"
        elif not turns and len(both) > 1 and len(drawn) == 2:
            higher, lower = (one, other) if apart[0][1] > 0 else (other, one)
            if len(apart) == len(both):
                yield f"{higher} lies above {lower} throughout"
            else:
                yield f"{higher} is nowhere below {lower}"


def _differ(first: list[Point], second: list[Point], apart: list[float], log: str) -> bool:
    """Say whether two lines are far enough from each other that a reader sees two."""
    heights = [_scaled(y, "y" in log) for _, y in (*first, *second)]
    level = _is_level([y for _, y in (*first, *second)], "y" in log)
    return not level and max(map(abs, apart), default=0.0) > _LEVEL * (max(heights) - min(heights))


def _height(points: Sequence[Point], x: float, log: str) -> float:
    """Return where a line stands at x, between its points, on the axis as it is drawn."""
    for (x1, y1), (x2, y2) in zip(points, points[1:], strict=False):
        if x1 <= x <= x2:
            left, right = _scaled(x1, "x" in log), _scaled(x2, "x" in log)
            part = (_scaled(x, "x" in log) - left) / (right - left or 1.0)  # or: of one x
            low, high = _scaled(y1, "y" in log), _scaled(y2, "y" in log)
            return low + part * (high - low)
    return _scaled(points[0][1], "y" in log)


def _between(before: Point, after: Point, log: str) -> float:
    """Return the x at which a difference is 0; before, after: (x, difference) on both sides."""
    left, right = _scaled(before[0], "x" in log), _scaled(after[0], "x" in log)
    place = left + (right - left) * before[1] / (before[1] - after[1])
    return 10**place if "x" in log else place
