"""Lesson 03: what is got wrong in counting samples a second, and in choosing a batch by it."""

HELPERS = """
right_best = best_batch

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
