"""Lesson 03: what is got wrong in judging a measurement by its own times."""

HELPERS = """
right_warnings = measurement_warnings

def warned(times_ms, resolution_ms, **other):
    right = right_warnings(times_ms, resolution_ms)
    checks = {code: code in right for code in ("spread", "outliers", "drift", "too_short")}
    return [code for code, holds in (checks | other).items() if holds]

def thirds(times_ms):
    n = max(1, len(times_ms) // 3)
    return times_ms[:n], times_ms[-n:]
"""

MUTANTS = {
    "measurement_warnings": {
        "no warnings": "right_warnings(times_ms, resolution_ms)\nreturn []",
        "all warnings": """
            right_warnings(times_ms, resolution_ms)
            return ["spread", "outliers", "drift", "too_short"]
        """,
        "in the order of the alphabet": "return sorted(right_warnings(times_ms, resolution_ms))",
        "in the other order": "return right_warnings(times_ms, resolution_ms)[::-1]",
        "the first one only": "return right_warnings(times_ms, resolution_ms)[:1]",
        "sentences": """
            return [f"{code}!" for code in right_warnings(times_ms, resolution_ms)]
        """,
        "a text": "return ', '.join(right_warnings(times_ms, resolution_ms))",
        "a hyphen": """
            return [c.replace("_", "-") for c in right_warnings(times_ms, resolution_ms)]
        """,
        "spread over n": """
            some(times_ms)
            wide = statistics.pstdev(times_ms) >= 0.1 * statistics.mean(times_ms)
            return warned(times_ms, resolution_ms, spread=wide)
        """,
        "spread above, not at 10 %": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, spread=said["std"] > 0.1 * said["mean"])
        """,
        "spread at 20 %": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, spread=said["std"] >= 0.2 * said["mean"])
        """,
        "spread at 5 %": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, spread=said["std"] >= 0.05 * said["mean"])
        """,
        "spread against the median": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, spread=said["std"] >= 0.1 * said["p50"])
        """,
        "spread in ms": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, spread=said["std"] >= 0.1)
        """,
        "spread as a range": """
            said = right_statistics(times_ms)
            wide = said["max"] - said["min"] >= 0.1 * said["mean"]
            return warned(times_ms, resolution_ms, spread=wide)
        """,
        "outliers above only": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, outliers=said["max"] >= 1.5 * said["mean"])
        """,
        "outliers below only": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, outliers=said["min"] <= 0.5 * said["mean"])
        """,
        "outliers beyond, not at 50 %": """
            said = right_statistics(times_ms)
            far = said["max"] > 1.5 * said["mean"] or said["min"] < 0.5 * said["mean"]
            return warned(times_ms, resolution_ms, outliers=far)
        """,
        "outliers at twice and half the mean": """
            said = right_statistics(times_ms)
            far = said["max"] >= 2 * said["mean"] or said["min"] <= said["mean"] / 2
            return warned(times_ms, resolution_ms, outliers=far)
        """,
        "outliers off the median": """
            said = right_statistics(times_ms)
            far = said["max"] >= 1.5 * said["p50"] or said["min"] <= said["p50"] / 2
            return warned(times_ms, resolution_ms, outliers=far)
        """,
        "outliers by three standard deviations": """
            said = right_statistics(times_ms)
            far = any(abs(t - said["mean"]) > 3 * said["std"] for t in times_ms)
            return warned(times_ms, resolution_ms, outliers=far)
        """,
        "outliers need both": """
            said = right_statistics(times_ms)
            far = said["max"] >= 1.5 * said["mean"] and said["min"] <= said["mean"] / 2
            return warned(times_ms, resolution_ms, outliers=far)
        """,
        "drift upwards only": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=last > 1.1 * first)
        """,
        "drift downwards only": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=last < 0.9 * first)
        """,
        "drift of means": """
            some(times_ms)
            first, last = map(statistics.mean, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1 * first)
        """,
        "drift of halves": """
            some(times_ms)
            n = max(1, len(times_ms) // 2)
            first, last = statistics.median(times_ms[:n]), statistics.median(times_ms[-n:])
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1 * first)
        """,
        "drift from the first to the last time": """
            some(times_ms)
            first, last = times_ms[0], times_ms[-1]
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1 * first)
        """,
        "drift to the middle third": """
            some(times_ms)
            n = max(1, len(times_ms) // 3)
            middle = times_ms[n : 2 * n] or times_ms
            first, last = statistics.median(times_ms[:n]), statistics.median(middle)
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1 * first)
        """,
        "drift of sorted times": """
            some(times_ms)
            first, last = map(statistics.median, thirds(sorted(times_ms)))
            return warned(times_ms, resolution_ms, drift=last > 1.1 * first)
        """,
        "drift against the median of all": """
            some(times_ms)
            first, middle = statistics.median(thirds(times_ms)[0]), statistics.median(times_ms)
            return warned(times_ms, resolution_ms, drift=abs(middle - first) > 0.1 * first)
        """,
        "drift in ms": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1)
        """,
        "drift at 5 %": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.05 * first)
        """,
        "drift at 15 %": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.15 * first)
        """,
        "drift against the last third": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            return warned(times_ms, resolution_ms, drift=abs(last - first) > 0.1 * last)
        """,
        "two times have thirds": """
            some(times_ms)
            if len(times_ms) < 3:
                raise ValueError("too few for thirds")
            return right_warnings(times_ms, resolution_ms)
        """,
        "thirds of nothing: raises": """
            some(times_ms)
            n = len(times_ms) // 3
            statistics.median(times_ms[:n])
            return right_warnings(times_ms, resolution_ms)
        """,
        "sorted in place": """
            found = right_warnings(times_ms, resolution_ms)
            times_ms.sort()
            return found
        """,
        "too short at 10 steps": """
            said = right_statistics(times_ms)
            short = said["median"] < 10 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short at 1,000 steps": """
            said = right_statistics(times_ms)
            short = said["median"] < 1000 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "100 steps are too short": """
            said = right_statistics(times_ms)
            short = said["median"] <= 100 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short: the fastest": """
            said = right_statistics(times_ms)
            short = said["min"] < 100 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short: the slowest": """
            said = right_statistics(times_ms)
            short = said["max"] < 100 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short: the mean": """
            said = right_statistics(times_ms)
            short = said["mean"] < 100 * resolution_ms
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short: the step in seconds": """
            said = right_statistics(times_ms)
            short = said["median"] < 100 * resolution_ms / 1000
            return warned(times_ms, resolution_ms, too_short=short)
        """,
        "too short: below a step": """
            said = right_statistics(times_ms)
            return warned(times_ms, resolution_ms, too_short=said["median"] < resolution_ms)
        """,
        "no times are fine": "return right_warnings(times_ms, resolution_ms) if times_ms else []",
        "a step of 0 is let through": """
            return right_warnings(times_ms, resolution_ms or 1e-9)
        """,
        "a negative step is let through": """
            return right_warnings(times_ms, abs(resolution_ms))
        """,
    },
}
