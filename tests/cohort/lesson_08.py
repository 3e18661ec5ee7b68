"""Lesson 08: what students get wrong about pairs, gates and fresh runs.

What goes wrong with ranks, versions, queues and audits stands in files beside; so do right ones.
"""

from cohort.kinds import HELPERS as KINDS_HELPERS
from cohort.kinds import merged
from cohort.lesson_08_alternates import ALTERNATES  # noqa: F401
from cohort.lesson_08_fronts import MUTANTS as FRONTS
from cohort.lesson_08_kinds import MUTANTS as KINDS
from cohort.lesson_08_ranks import MUTANTS as RANKS
from cohort.lesson_08_versions import HELPERS as VERSIONS_HELPERS
from cohort.lesson_08_versions import MUTANTS as VERSIONS

HELPERS = (
    """
import itertools

def some_names(names, rounds):
    if not names or len(set(names)) < len(names) or rounds < 2 or rounds % 2:
        raise ValueError("names and rounds")

def at_most_20(a, b):
    if not 1 <= len(a) <= 20 or not 1 <= len(b) <= 20 or any_nan([*a, *b]):
        raise ValueError("1 to 20 each")

def any_nan(times):
    return any(math.isnan(time) for time in times)

def mid_ranks(a, b):
    pooled = [*a, *b]
    return [sum((y < x) + (y <= x) for y in pooled) + 1 for x in pooled]

def ways_of(ranks, n):
    ways = [{0: 1}] + [{} for _ in range(n)]
    for rank in ranks:
        for k in range(n - 1, -1, -1):
            for total, count in ways[k].items():
                ways[k + 1][total + rank] = ways[k + 1].get(total + rank, 0) + count
    return ways[n]

def test_by(a, b, ranks, extreme):
    n, m = len(a), len(b)
    seen, middle = sum(ranks[:n]), n * (n + m + 1)
    ways = ways_of(ranks, n)
    chosen = sum(count for total, count in ways.items() if extreme(total, seen, middle))
    p = chosen / sum(ways.values())
    u = (seen - n * (n + 1)) / 2
    return {"u": u, "p": p, "smaller": 1 - u / (n * m)}

def two_sided(total, seen, middle):
    return abs(total - middle) >= abs(seen - middle)

def paired(before, after):
    if len(before) != len(after) or not all(x > 0 for x in [*before, *after]):
        raise ValueError("pairs")

def some_runs(runs):
    if any(not run or any_nan(run) for run in runs):
        raise ValueError("an empty run")

def some_gate(tolerance, comparisons):
    if not tolerance >= 0 or not comparisons >= 1:
        raise ValueError("out of range")
"""
    + VERSIONS_HELPERS
    + KINDS_HELPERS
)

_MUTANTS = RANKS | {
    "speedup_interval": {
        "after / before": """
            paired(before, after)
            ratios = [new / old for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "the ratio of the medians": """
            paired(before, after)
            low, high = confidence_interval([o / n for o, n in zip(before, after)], confidence)
            speedup = statistics.median(before) / statistics.median(after)
            return {"speedup": speedup, "low": low, "high": high}
        """,
        "the mean of the ratios": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.mean(ratios), "low": low, "high": high}
        """,
        "the interval of differences": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval([o - n for o, n in zip(before, after)], confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "the ratio of two intervals": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            (a, b), (c, d) = (confidence_interval(x, confidence) for x in (before, after))
            return {"speedup": statistics.median(ratios), "low": a / d, "high": b / c}
        """,
        "sorted first": """
            paired(before, after)
            ratios = [old / new for old, new in zip(sorted(before), sorted(after))]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "smallest and largest": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
        """,
        "always 95 %": """
            paired(before, after)
            if not 0 < confidence < 1:
                raise ValueError("confidence")
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "a time without a partner is dropped": """
            if any(x <= 0 for x in [*before, *after]):
                raise ValueError("times")
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "times are not checked": """
            if len(before) != len(after):
                raise ValueError("pairs")
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "five pairs are enough": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            if len(ratios) == 5:
                return {
                    "speedup": statistics.median(ratios),
                    "low": min(ratios),
                    "high": max(ratios),
                }
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "a gain in percent": """
            paired(before, after)
            ratios = [100 * (old / new - 1) for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
    },
    "gate": {
        "the point decides": """
            some_gate(tolerance, comparisons)
            ratio = speedup_interval(before, after, 1 - 0.05 / comparisons)["speedup"]
            if 1 / (1 + tolerance) <= ratio <= 1 + tolerance:
                return "same"
            return "faster" if ratio > 1 else "slower"
        """,
        "same when it merely holds 1": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            if found["low"] > 1 + tolerance or 1 < found["low"] and found["high"] > 1 + tolerance:
                return "faster"
            if (
                found["high"] < 1 / (1 + tolerance)
                or found["high"] < 1
                and found["low"] < 1 / (1 + tolerance)
            ):
                return "slower"
            return "same"
        """,
        "no correction": """
            some_gate(tolerance, comparisons)
            return judged(speedup_interval(before, after), tolerance)
        """,
        "the correction the wrong way": """
            some_gate(tolerance, comparisons)
            return judged(speedup_interval(before, after, 0.95 / comparisons), tolerance)
        """,
        "confidence to the power of comparisons": """
            some_gate(tolerance, comparisons)
            return judged(speedup_interval(before, after, 0.95**comparisons), tolerance)
        """,
        "1 - tolerance below": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            if 1 - tolerance <= found["low"] and found["high"] <= 1 + tolerance:
                return "same"
            return "faster" if found["low"] > 1 else "slower" if found["high"] < 1 else "unclear"
        """,
        "faster comes before same": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            if found["low"] > 1 or found["high"] < 1:
                return "faster" if found["low"] > 1 else "slower"
            return (
                "same"
                if found["low"] >= 1 / (1 + tolerance) and found["high"] <= 1 + tolerance
                else "unclear"
            )
        """,
        "faster only beyond the tolerance": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            low, high = 1 / (1 + tolerance), 1 + tolerance
            if low <= found["low"] and found["high"] <= high:
                return "same"
            return (
                "faster" if found["low"] > high else "slower" if found["high"] < low else "unclear"
            )
        """,
        "the bounds are left out": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            if 1 / (1 + tolerance) < found["low"] and found["high"] < 1 + tolerance:
                return "same"
            return "faster" if found["low"] > 1 else "slower" if found["high"] < 1 else "unclear"
        """,
        "1 itself is above 1": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            if 1 / (1 + tolerance) <= found["low"] and found["high"] <= 1 + tolerance:
                return "same"
            return "faster" if found["low"] >= 1 else "slower" if found["high"] <= 1 else "unclear"
        """,
        "faster and slower confused": """
            some_gate(tolerance, comparisons)
            found = judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
            return {"faster": "slower", "slower": "faster"}.get(found, found)
        """,
        "nothing is checked": """
            return judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
        """,
        "never unclear": """
            some_gate(tolerance, comparisons)
            found = judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
            return "slower" if found == "unclear" else found
        """,
    },
    "runs_interval": {
        "pooled": """
            some_runs(runs)
            require_six(runs)
            return confidence_interval([t for r in runs for t in r], confidence)
        """,
        "means": """
            some_runs(runs)
            return confidence_interval([sum(r) / len(r) for r in runs], confidence)
        """,
        "the best of each run": """
            some_runs(runs)
            return confidence_interval([min(r) for r in runs], confidence)
        """,
        "allowed with three runs": """
            some_runs(runs)
            medians = [statistics.median(run) for run in runs]
            if 3 <= len(medians) < 6:
                return min(medians), max(medians)
            return confidence_interval(medians, confidence)
        """,
        "the first of each run": """
            some_runs(runs)
            return confidence_interval([r[0] for r in runs], confidence)
        """,
        "the lower median": """
            some_runs(runs)
            return confidence_interval([sorted(r)[(len(r) - 1) // 2] for r in runs], confidence)
        """,
        "the middle of the unsorted run": """
            some_runs(runs)
            return confidence_interval([r[len(r) // 2] for r in runs], confidence)
        """,
        "always 95 %": """
            some_runs(runs)
            if not 0 < confidence < 1:
                raise ValueError("confidence")
            return confidence_interval([statistics.median(r) for r in runs])
        """,
        "empty runs are skipped": """
            return confidence_interval([statistics.median(r) for r in runs if r], confidence)
        """,
        "smallest and largest run": """
            some_runs(runs)
            confidence_interval([0.0] * len(runs), confidence)
            medians = [statistics.median(r) for r in runs]
            return min(medians), max(medians)
        """,
        "runs are sorted in place": """
            some_runs(runs)
            for run in runs:
                run.sort()
            return confidence_interval([statistics.median(r) for r in runs], confidence)
        """,
    },
    "percentile_interval": {
        "the median's ranks": "return confidence_interval(times, confidence)",
        "the percentile twice": """
            some_percentile(times, percent, confidence)
            value = float(np.percentile(times, percent))
            return value, value
        """,
        "the whole of alpha in each tail": """
            some_percentile(times, percent, confidence)
            return by_ranks(times, percent, 2 * confidence - 1)
        """,
        "the normal approximation": """
            some_percentile(times, percent, confidence)
            n, p = len(times), percent / 100
            half = 1.96 * math.sqrt(n * p * (1 - p))
            low, high = math.floor(n * p - half), math.ceil(n * p + half)
            if low < 1 or high > n:
                raise ValueError("few")
            return sorted(times)[low - 1], sorted(times)[high - 1]
        """,
        "one rank too far out above": """
            some_percentile(times, percent, confidence)
            low, high = by_ranks(times, percent, confidence)
            ordered = sorted(times)
            return low, ordered[min(ordered.index(high) + 1, len(ordered) - 1)]
        """,
    },
    **FRONTS,
    **VERSIONS,
}
MUTANTS = merged(_MUTANTS, KINDS)
