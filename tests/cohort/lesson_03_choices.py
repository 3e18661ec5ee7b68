"""Lesson 03: what is got wrong in judging a measurement, and in choosing a batch by it."""

HELPERS = """
right_warnings, right_best = measurement_warnings, best_batch

def warned(times_ms, resolution_ms, **other):
    right = right_warnings(times_ms, resolution_ms)
    checks = {code: code in right for code in ("spread", "outliers", "drift", "too_short")}
    return [code for code, holds in (checks | other).items() if holds]

def thirds(times_ms):
    n = max(1, len(times_ms) // 3)
    return times_ms[:n], times_ms[-n:]

def matched(sizes, latencies_ms):
    if len(sizes) == 0 or len(sizes) != len(latencies_ms):
        raise ValueError("lengths")
    if min(sizes) < 1 or min(latencies_ms) <= 0:
        raise ValueError("range")

def ruled(sizes, latencies_ms, rule, **rules):
    best = right_best(sizes, latencies_ms, rule)
    return rules[rule]() if rule in rules else best

def reaching(share, sizes, latencies_ms):
    top = best_rate(sizes, latencies_ms)
    return [n for n, ms in zip(sizes, latencies_ms) if throughput(n, ms) >= share * top]

def pairs_of(sizes, latencies_ms, choose, key):
    return choose(zip(sizes, latencies_ms), key=key)[0]

def best_rate(sizes, latencies_ms):
    return max(throughput(n, ms) for n, ms in zip(sizes, latencies_ms))
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
        "thirds of nothing": """
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
    "throughput": {
        "milliseconds for seconds": "return batch_size / latency_ms",
        "the batch is left out": "return 1000 / latency_ms",
        "the other way round": "return latency_ms / batch_size",
        "ms a sample, in seconds": "return 1000 * latency_ms / batch_size",
        "whole samples": """
            if batch_size < 1 or latency_ms <= 0:
                raise ValueError
            return 1000 * batch_size // latency_ms
        """,
        "rounded": """
            if batch_size < 1 or latency_ms <= 0:
                raise ValueError
            return round(1000 * batch_size / latency_ms)
        """,
        "no check": "return 1000 * batch_size / latency_ms",
        "only the time is checked": """
            if latency_ms <= 0:
                raise ValueError
            return 1000 * batch_size / latency_ms
        """,
        "only the batch is checked": """
            if batch_size < 1:
                raise ValueError
            return 1000 * batch_size / latency_ms
        """,
        "only the quotient is checked": """
            if latency_ms == 0 or batch_size / latency_ms <= 0:
                raise ValueError
            return 1000 * batch_size / latency_ms
        """,
        "a negative time is let through": """
            if batch_size < 1 or latency_ms == 0:
                raise ValueError
            return 1000 * batch_size / abs(latency_ms)
        """,
        "no time is infinitely fast": """
            if batch_size < 1 or latency_ms < 0:
                raise ValueError
            return 1000 * batch_size / latency_ms if latency_ms else math.inf
        """,
        "minutes": """
            if batch_size < 1 or latency_ms <= 0:
                raise ValueError
            return 60_000 * batch_size / latency_ms
        """,
    },
    "best_batch": {
        "always the largest": """
            return ruled(sizes, latencies_ms, rule, throughput=lambda: max(sizes))
        """,
        "always the smallest": """
            right_best(sizes, latencies_ms, rule)
            return min(sizes)
        """,
        "always the first": "right_best(sizes, latencies_ms, rule)\nreturn sizes[0]",
        "always the last": "right_best(sizes, latencies_ms, rule)\nreturn sizes[-1]",
        "the rule is ignored": "return right_best(sizes, latencies_ms, 'throughput')",
        "latency: the smallest batch": """
            return ruled(sizes, latencies_ms, rule, latency=lambda: min(sizes))
        """,
        "latency: ms a sample": """
            def least():
                return pairs_of(sizes, latencies_ms, min, lambda p: p[1] / p[0])
            return ruled(sizes, latencies_ms, rule, latency=least)
        """,
        "latency: the longest": """
            def longest():
                return pairs_of(sizes, latencies_ms, max, lambda p: p[1])
            return ruled(sizes, latencies_ms, rule, latency=longest)
        """,
        "latency: the time, not the batch": """
            return ruled(sizes, latencies_ms, rule, latency=lambda: min(latencies_ms))
        """,
        "latency: of two as fast the larger": """
            def larger():
                return pairs_of(sizes, latencies_ms, min, lambda p: (p[1], -p[0]))
            return ruled(sizes, latencies_ms, rule, latency=larger)
        """,
        "latency: of two as fast the first": """
            def first():
                return pairs_of(sizes, latencies_ms, min, lambda p: p[1])
            return ruled(sizes, latencies_ms, rule, latency=first)
        """,
        "throughput: the least": """
            def least():
                return pairs_of(sizes, latencies_ms, min, lambda p: p[0] / p[1])
            return ruled(sizes, latencies_ms, rule, throughput=least)
        """,
        "throughput: of two as good the larger": """
            def larger():
                return pairs_of(sizes, latencies_ms, max, lambda p: (p[0] / p[1], p[0]))
            return ruled(sizes, latencies_ms, rule, throughput=larger)
        """,
        "throughput: of two as good the first": """
            def first():
                return pairs_of(sizes, latencies_ms, max, lambda p: p[0] / p[1])
            return ruled(sizes, latencies_ms, rule, throughput=first)
        """,
        "throughput: the rate, not the batch": """
            return ruled(
                sizes, latencies_ms, rule, throughput=lambda: best_rate(sizes, latencies_ms)
            )
        """,
        "throughput: its place": """
            best = right_best(sizes, latencies_ms, rule)
            return sizes.index(best)
        """,
        "efficiency: the largest that reaches it": """
            def largest():
                return max(reaching(0.9, sizes, latencies_ms))
            return ruled(sizes, latencies_ms, rule, efficiency=largest)
        """,
        "efficiency: the first that reaches it": """
            def first():
                return reaching(0.9, sizes, latencies_ms)[0]
            return ruled(sizes, latencies_ms, rule, efficiency=first)
        """,
        "efficiency: above, not at 90 %": """
            def above():
                return min(reaching(0.9 + 1e-9, sizes, latencies_ms))
            return ruled(sizes, latencies_ms, rule, efficiency=above)
        """,
        "efficiency: nearest to 90 %": """
            def nearest():
                top = best_rate(sizes, latencies_ms)
                pairs = zip(sizes, latencies_ms)
                return min(pairs, key=lambda p: abs(throughput(*p) / top - 0.9))[0]
            return ruled(sizes, latencies_ms, rule, efficiency=nearest)
        """,
        "efficiency: 80 %": """
            def eighty():
                return min(reaching(0.8, sizes, latencies_ms))
            return ruled(sizes, latencies_ms, rule, efficiency=eighty)
        """,
        "efficiency: 89 %": """
            def less():
                return min(reaching(0.89, sizes, latencies_ms))
            return ruled(sizes, latencies_ms, rule, efficiency=less)
        """,
        "efficiency: 95 %": """
            def most():
                return min(reaching(0.95, sizes, latencies_ms))
            return ruled(sizes, latencies_ms, rule, efficiency=most)
        """,
        "efficiency: 90 % of the largest batch's": """
            def largest():
                top = throughput(*max(zip(sizes, latencies_ms)))
                pairs = zip(sizes, latencies_ms)
                return min(n for n, ms in pairs if throughput(n, ms) >= 0.9 * top)
            return ruled(sizes, latencies_ms, rule, efficiency=largest)
        """,
        "efficiency: the shortest time that reaches it": """
            def shortest():
                top = best_rate(sizes, latencies_ms)
                pairs = zip(sizes, latencies_ms)
                return min((ms, n) for n, ms in pairs if throughput(n, ms) >= 0.9 * top)[1]
            return ruled(sizes, latencies_ms, rule, efficiency=shortest)
        """,
        "efficiency: the most samples a second": """
            return ruled(
                sizes, latencies_ms, rule,
                efficiency=lambda: right_best(sizes, latencies_ms, "throughput"),
            )
        """,
        "an unknown rule is efficiency": """
            known = rule in ("throughput", "latency")
            return right_best(sizes, latencies_ms, rule if known else "efficiency")
        """,
        "an unknown rule is None": """
            if rule not in ("throughput", "latency", "efficiency"):
                return None
            return right_best(sizes, latencies_ms, rule)
        """,
        "KeyError for a rule": """
            {"throughput": 1, "latency": 2, "efficiency": 3}[rule]
            return right_best(sizes, latencies_ms, rule)
        """,
        "capitals are the same": "return right_best(sizes, latencies_ms, rule.lower())",
        "longer lists are cut": """
            n = min(len(sizes), len(latencies_ms))
            return right_best(sizes[:n], latencies_ms[:n], rule)
        """,
        "more times than sizes": """
            return right_best(sizes, latencies_ms[: len(sizes)], rule)
        """,
        "no sizes are None": """
            return right_best(sizes, latencies_ms, rule) if sizes else None
        """,
        "the list is sorted in place": """
            best = right_best(sizes, latencies_ms, rule)
            sizes.sort()
            return best
        """,
        "sizes sorted without their times": """
            return right_best(sorted(sizes), latencies_ms, rule)
        """,
        "times are not checked": """
            if len(sizes) == 0 or len(sizes) != len(latencies_ms):
                raise ValueError
            kept = [(n, ms) for n, ms in zip(sizes, latencies_ms) if ms > 0]
            return right_best([n for n, _ in kept], [ms for _, ms in kept], rule)
        """,
        "sizes are not checked": """
            if len(sizes) == 0 or len(sizes) != len(latencies_ms):
                raise ValueError
            return right_best([max(1, n) for n in sizes], latencies_ms, rule)
        """,
    },
}
