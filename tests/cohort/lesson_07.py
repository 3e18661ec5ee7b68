"""Lesson 07: what students get wrong about growth, fits, predictions and speed-ups.

What goes wrong in fits, with caches, on the ladder and in races stands in files beside; so do right
ones."""

from cohort import lesson_07_races as races
from cohort.kinds import HELPERS as KINDS_HELPERS
from cohort.kinds import merged
from cohort.lesson_07_alternates import ALTERNATES as OTHERS
from cohort.lesson_07_caches import HELPERS as CACHES_HELPERS
from cohort.lesson_07_caches import MUTANTS as CACHES
from cohort.lesson_07_fits import HELPERS as FITS_HELPERS
from cohort.lesson_07_fits import MUTANTS as FITS
from cohort.lesson_07_kinds import MUTANTS as KINDS
from cohort.lesson_07_steps import HELPERS as STEPS_HELPERS
from cohort.lesson_07_steps import MUTANTS as STEPS

HELPERS = (
    """
def rising(sizes, values):
    if len(sizes) < 2 or len(sizes) != len(values) or min(*sizes, *values) <= 0:
        raise ValueError("sizes and values")
    if any(b <= a for a, b in zip(sizes, sizes[1:])):
        raise ValueError("they do not rise")

def some_rows(rows, overhead_ms):
    if not rows or overhead_ms < 0:
        raise ValueError("rows")

def work_of(row):
    return row["matmul_flops"] + row["elementwise_flops"], row["bytes_read"] + row["bytes_written"]
"""
    + FITS_HELPERS
    + CACHES_HELPERS
    + STEPS_HELPERS
    + KINDS_HELPERS
    + races.HELPERS
)

_MUTANTS = {
    "local_exponents": {
        "one exponent from the ends": """
            rising(sizes, values)
            p = math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0])
            return [p] * (len(sizes) - 1)
        """,
        "differences instead of logarithms": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [(d - b) / (c - a) for (a, b), (c, d) in zip(points, points[1:])]
        """,
        "relative differences": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [(d / b - 1) / (c / a - 1) for (a, b), (c, d) in zip(points, points[1:])]
        """,
        "upside down": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [
                math.log(c / a) / math.log(d / b) if d != b else 0.0
                for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "sizes always double": """
            rising(sizes, values)
            return [math.log2(b / a) for a, b in zip(values, values[1:])]
        """,
        "each against the first": """
            rising(sizes, values)
            return [
                math.log(v / values[0]) / math.log(s / sizes[0])
                for s, v in list(zip(sizes, values))[1:]
            ]
        """,
        "one too many, the first is 0": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [0.0] + [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "numpy's gradient": """
            rising(sizes, values)
            return np.gradient(np.log(values), np.log(sizes)).tolist()[1:]
        """,
        "a fit through all points": """
            rising(sizes, values)
            return [float(np.polyfit(np.log(sizes), np.log(values), 1)[0])] * (len(sizes) - 1)
        """,
        "rounded": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [
                round(math.log(d / b) / math.log(c / a), 3)
                for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "never below 0": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [
                max(0.0, math.log(d / b) / math.log(c / a))
                for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "nothing is checked": """
            points = list(zip(sizes, values))
            return [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "the lengths are not checked": """
            count = min(len(sizes), len(values))
            rising(sizes[:count], values[:count])
            points = list(zip(sizes, values))
            return [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "sizes may fall": """
            if len(sizes) < 2 or len(sizes) != len(values) or min(*sizes, *values) <= 0:
                raise ValueError("sizes")
            points = list(zip(sizes, values))
            return [
                math.log(d / b) / math.log(c / a) if a != c else 1 / 0
                for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "sizes are put in order": """
            points = sorted(zip(sizes, values))
            rising([s for s, _ in points], [v for _, v in points])
            return [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "the first example's answer written in": """
            rising(sizes, values)
            return [math.log2(1.6), math.log2(2.25), math.log2(3)]
        """,
    },
    **FITS,
    "predict_ms": {
        "the sum of both times": """
            some_rows(rows, overhead_ms)
            total = 0.0
            for flops, moved in map(work_of, rows):
                if flops or moved:
                    both = flops / hardware.peak_flops + moved / hardware.bandwidth
                    total += 1000 * both + overhead_ms
            return total
        """,
        "the longer time of the whole": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            flops, moved = (sum(pair[at] for pair in work) for at in (0, 1))
            longer = max(flops / hardware.peak_flops, moved / hardware.bandwidth)
            return 1000 * longer + overhead_ms * len(work)
        """,
        "one overhead for all": """
            some_rows(rows, overhead_ms)
            work = list(map(work_of, rows))
            times = [max(f / hardware.peak_flops, m / hardware.bandwidth) for f, m in work]
            return 1000 * sum(times) + (overhead_ms if any(times) else 0.0)
        """,
        "views have an overhead": """
            some_rows(rows, overhead_ms)
            work = list(map(work_of, rows))
            times = [max(f / hardware.peak_flops, m / hardware.bandwidth) for f, m in work]
            return 1000 * sum(times) + overhead_ms * len(rows)
        """,
        "in seconds": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return sum(
                max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms for f, m in work
            )
        """,
        "the overhead in seconds": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return 1000 * sum(
                max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms for f, m in work
            )
        """,
        "FLOPs of products alone": """
            some_rows(rows, overhead_ms)
            total = 0.0
            for row in rows:
                flops, moved = work_of(row)
                if flops or moved:
                    computing = row["matmul_flops"] / hardware.peak_flops
                    total += 1000 * max(computing, moved / hardware.bandwidth) + overhead_ms
            return total
        """,
        "only what is read": """
            some_rows(rows, overhead_ms)
            total = 0.0
            for row in rows:
                flops, moved = work_of(row)
                if flops or moved:
                    moving = row["bytes_read"] / hardware.bandwidth
                    total += 1000 * max(flops / hardware.peak_flops, moving) + overhead_ms
            return total
        """,
        "an overhead that is hidden behind the work": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return float(sum(
                max(1000 * f / hardware.peak_flops, 1000 * m / hardware.bandwidth, overhead_ms)
                for f, m in work
            ))
        """,
        "the shorter time": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return sum(
                1000 * min(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            )
        """,
        "ops without FLOPs cost nothing": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if pair[0]]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "ops without bytes cost nothing": """
            some_rows(rows, overhead_ms)
            work = [pair for pair in map(work_of, rows) if pair[1]]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "views by their name": """
            some_rows(rows, overhead_ms)
            work = [work_of(row) for row in rows if row["op"] not in ("reshape", "permute", "add")]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "the measured time where there is one": """
            some_rows(rows, overhead_ms)
            total = 0.0
            for row in rows:
                flops, moved = work_of(row)
                if flops or moved:
                    least = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
                    total += max(least, row.get("self_ms", 0.0)) + overhead_ms
            return total
        """,
        "no rows take no time": """
            if overhead_ms < 0:
                raise ValueError("overhead")
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "any overhead": """
            some_rows(rows, 0)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "an overhead of 0 is refused": """
            some_rows(rows, overhead_ms or -1)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
        "GPT-2 medium written in": """
            some_rows(rows, overhead_ms)
            return 6.0196410625 if overhead_ms else 4.4346410625
        """,
    },
    **CACHES,
    **STEPS,
}
MUTANTS = merged(_MUTANTS, KINDS) | races.MUTANTS
ALTERNATES = OTHERS | races.ALTERNATES
