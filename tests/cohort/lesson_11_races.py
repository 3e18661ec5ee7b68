"""Lesson 11: what students hand in for the buckets of gradients.

`STEPS` are ideas on the way, each with its share at the visible case: valid, and not yet all.
"""

HELPERS = """
def by_size(layers, least):
    found, waiting = [], 0
    for at, (_, size) in enumerate(layers):
        waiting += size
        if waiting >= least or at == len(layers) - 1:
            found.append(at)
            waiting = 0
    return found


def step_of(cuts, layers, alpha_ms, ms_per_byte):
    now = free = waiting = 0
    for at, (ms, size) in enumerate(layers):
        now, waiting = now + ms, waiting + size
        if at in cuts:
            free, waiting = max(now, free) + alpha_ms + waiting * ms_per_byte, 0
    return max(now, free)
"""

STEPS = {
    "buckets": {
        "as it is given": (0.0, "return slow_buckets(layers, alpha_ms, ms_per_byte)"),
        "all in one": (0.12, "return [len(layers) - 1]"),
        "two halves": (0.31, "return [len(layers) // 2, len(layers) - 1]"),
        "torch's 25 MB": (0.74, "return by_size(layers, 25e6)"),
        "10 MB": (0.96, "return by_size(layers, 10e6)"),
        "5 MB": (0.95, "return by_size(layers, 5e6)"),
        "eight to a bucket": (
            0.78,
            """
            last = len(layers) - 1
            return [at for at in range(len(layers)) if at % 8 == 7 or at == last]
            """,
        ),
        "buckets of equal bytes, the best number of them": (
            0.96,
            """
            whole = sum(size for _, size in layers)
            plans = [by_size(layers, whole / parts) for parts in range(1, 17)]
            return min(plans, key=lambda cuts: step_of(cuts, layers, alpha_ms, ms_per_byte))
            """,
        ),
        "where bytes take as long as latency": (
            0.77,
            "return by_size(layers, alpha_ms / ms_per_byte)",
        ),
        "as soon as the link is free": (
            0.96,
            """
            now = free = waiting = 0
            cuts = []
            for at, (ms, size) in enumerate(layers):
                now, waiting = now + ms, waiting + size
                if free <= now or at == len(layers) - 1:
                    free = max(now, free) + alpha_ms + waiting * ms_per_byte
                    waiting = 0
                    cuts.append(at)
            return cuts
            """,
        ),
    },
}

WRONG = {
    "buckets": {
        "where buckets begin": """
            cuts = by_size(layers, 10e6)
            return [0] + [cut + 1 for cut in cuts[:-1]]
        """,
        "counted from 1": "return [cut + 1 for cut in by_size(layers, 10e6)]",
        "the end of the last one is left out": "return by_size(layers, 10e6)[:-1]",
        "only full buckets": """
            found, waiting = [], 0
            for at, (_, size) in enumerate(layers):
                waiting += size
                if waiting >= 10e6:
                    found.append(at)
                    waiting = 0
            return found
        """,
        "the last end counted from behind": "return [*by_size(layers, 10e6)[:-1], -1]",
        "how many gradients each one holds": """
            ends = [-1, *by_size(layers, 10e6)]
            return [after - before for before, after in zip(ends, ends[1:])]
        """,
        "the gradients of each": """
            ends = [-1, *by_size(layers, 10e6)]
            return [list(range(a + 1, b + 1)) for a, b in zip(ends, ends[1:])]
        """,
        "bytes of each": """
            return [sum(size for _, size in layers)]
        """,
        "a mark for each gradient": """
            cuts = by_size(layers, 10e6)
            return [at in cuts for at in range(len(layers))]
        """,
        "a number of the bucket for each gradient": """
            cuts, number, found = by_size(layers, 10e6), 0, []
            for at in range(len(layers)):
                found.append(number)
                number += at in cuts
            return found
        """,
        "in forward order": """
            last = len(layers) - 1
            return sorted(last - cut for cut in by_size(layers[::-1], 10e6))[1:]
        """,
        "floats": "return [float(cut) for cut in by_size(layers, 10e6)]",
        "an array of floats": "return np.array(by_size(layers, 10e6)) / 1",
        "a set": "return set(by_size(layers, 10e6))",
        "a generator": "return (cut for cut in by_size(layers, 10e6))",
        "nothing": "return None",
        "no buckets": "return []",
        "the step's time": """
            return step_of(by_size(layers, 10e6), layers, alpha_ms, ms_per_byte)
        """,
        "the time beside the cuts": """
            cuts = by_size(layers, 10e6)
            return step_of(cuts, layers, alpha_ms, ms_per_byte), cuts
        """,
    },
}

MUTANTS = {
    name: {**{sentence: body for sentence, (_, body) in STEPS[name].items()}, **WRONG[name]}
    for name in STEPS
}

ALTERNATES = {
    "buckets": {
        "recursion with a cache, from the end": """
            import functools
            import sys

            count = len(layers)
            there, sums = [0], [0]
            for ms, size in layers:
                there.append(there[-1] + ms)
                sums.append(sums[-1] + size)

            @functools.cache
            def best(j):
                if j == 0:
                    return 0.0, ()
                found = []
                for i in range(j):
                    end, cuts = best(i)
                    took = alpha_ms + (sums[j] - sums[i]) * ms_per_byte
                    found.append((max(end, there[j]) + took, (*cuts, j - 1)))
                return min(found)

            return best(count)[1]
        """,
        "an array, from the last bucket to the first": """
            there = np.concatenate([[0.0], np.cumsum([ms for ms, _ in layers])])
            sums = np.concatenate([[0], np.cumsum([size for _, size in layers])])
            ends, came = np.zeros(len(there)), np.zeros(len(there), int)
            for j in range(1, len(there)):
                took = alpha_ms + (sums[j] - sums[:j]) * ms_per_byte
                all_ends = np.maximum(ends[:j], there[j]) + took
                came[j] = all_ends.argmin()
                ends[j] = all_ends[came[j]]
            cuts, j = [], len(there) - 1
            while j:
                cuts.append(j - 1)
                j = came[j]
            return np.array(cuts, np.uint8)
        """,
        "each end twice, the last ones first": """
            there, sums, best = [0.0], [0], [(0.0, [])]
            for ms, size in layers:
                there.append(there[-1] + ms)
                sums.append(sums[-1] + size)
                j = len(best)
                best.append(
                    min(
                        (
                            max(end, there[j]) + alpha_ms + (sums[j] - sums[i]) * ms_per_byte,
                            [j - 1, j - 1, *cuts],
                        )
                        for i, (end, cuts) in enumerate(best)
                    )
                )
            return best[-1][1]
        """,
    },
}
