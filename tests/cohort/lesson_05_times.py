"""Lesson 05: wrong and right self times, rows at the ridge, and numbers of samples."""

from cohort.edits import edited

HELPERS = """
right_self_times, right_rows, right_samples = self_times, rows_at_ridge, samples_needed

def holds(around, one):
    return around[0] <= one[0] and one[1] <= around[1]

def nested(spans, order, ended=lambda end, start: end <= start):
    own, running = [float(end - start) for start, end in spans], []
    for i in order:
        start, end = spans[i]
        while running and ended(spans[running[-1]][1], start):
            running.pop()
        if running:
            own[running[-1]] -= end - start
        running.append(i)
    return own

def sorted_right(spans):
    return sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))
"""

_STACK = """
    own, running = [], []
    for start, end in spans:
        if end < start:
            raise ValueError("the wrong way round")
        own.append(float(end - start))
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1])):
        start, end = spans[i]
        while running and spans[running[-1]][1] <= start:
            running.pop()
        if running:
            if end > spans[running[-1]][1]:
                raise ValueError("they cross")
            own[running[-1]] -= end - start
        running.append(i)
    return own
"""

_ROWS = """
    if min(in_features, out_features, itemsize) < 1:
        raise ValueError("no layer")
    weights = in_features * out_features
    work = 2 * weights / hardware.peak_flops
    moved = itemsize * (in_features + out_features) / hardware.bandwidth
    if work - moved <= 0:
        return None
    return math.ceil(itemsize * weights / hardware.bandwidth / (work - moved))
"""

_SAMPLES = """
    if share <= 0 or share >= 1 or error <= 0 or error >= 1:
        raise ValueError("between 0 and 1")
    return math.ceil(share * (1 - share) * (1.96 / error) ** 2)
"""

MUTANTS = {
    "self_times": {
        "what ran inside is not taken off": """
            right_self_times(spans)
            return [float(end - start) for start, end in spans]
        """,
        "also what is deeper is taken off": """
            right_self_times(spans)
            own = []
            for i, (start, end) in enumerate(spans):
                inside = [s for j, s in enumerate(spans) if j != i and holds((start, end), s)]
                own.append(float(end - start - sum(e - b for b, e in inside)))
            return own
        """,
        "their own times are taken off": """
            own, found = right_self_times(spans), []
            parents = nested(spans, sorted_right(spans))
            for i, (start, end) in enumerate(spans):
                inside = [
                    j for j, s in enumerate(spans)
                    if j != i and holds((start, end), s) and (s != (start, end) or j > i)
                    and not any(
                        k not in (i, j) and holds((start, end), o) and holds(o, s)
                        and o not in (s, (start, end))
                        for k, o in enumerate(spans)
                    )
                ]
                found.append(float(end - start - sum(own[j] for j in inside)))
            return found
        """,
        "what stands before it in the list, also apart, is taken off": """
            right_self_times(spans)
            own = []
            for i, (start, end) in enumerate(spans):
                own.append(float(end - start - sum(e - s for s, e in spans[:i] if e <= end)))
            return own
        """,
        "the rows before it, as a recorder has them": """
            right_self_times(spans)
            own, open_ = [], []
            for start, end in spans:
                inside = [s for s in open_ if s[0] >= start]
                open_ = [s for s in open_ if s[0] < start] + [(start, end)]
                own.append(float(end - start - sum(e - s for s, e in inside)))
            return own
        """,
        "no time is refused": """
            if any(end == start for start, end in spans):
                raise ValueError("nothing took no time")
            return right_self_times(spans)
        """,
        "what takes no time is left out": """
            return [t for t, (s, e) in zip(right_self_times(spans), spans) if s != e]
        """,
        "no spans are an error": """
            if not spans:
                raise ValueError("no spans")
            return right_self_times(spans)
        """,
        "two decimals": "return [round(t, 2) for t in right_self_times(spans)]",
        "whole numbers": "return [float(int(t)) for t in right_self_times(spans)]",
        "ns are made ms": "return [t / 1e6 for t in right_self_times(spans)]",
        "whole microseconds": """
            return right_self_times([(s // 1000 * 1000, e // 1000 * 1000) for s, e in spans])
        """,
        "one of a kind": """
            found = dict(zip(spans, right_self_times(spans)))
            return [found[span] for span in spans]
        """,
        "only what is strictly inside": """
            right_self_times(spans)
            own = [float(end - start) for start, end in spans]
            for i, (start, end) in enumerate(spans):
                around = [j for j, (s, e) in enumerate(spans) if s < start and end < e]
                if around:
                    own[min(around, key=lambda j: spans[j][1] - spans[j][0])] -= end - start
            return own
        """,
        "equal ones hold each other": """
            own = right_self_times(spans)
            return [0.0 if spans.count(s) > 1 and s[0] < s[1] else t for s, t in zip(spans, own)]
        """,
        "the outermost pays for all": """
            right_self_times(spans)
            own = [float(end - start) for start, end in spans]
            for i, one in enumerate(spans):
                around = [j for j, s in enumerate(spans) if j != i and holds(s, one)
                          and (s != one or j < i)]
                if around:
                    own[max(around, key=lambda j: (spans[j][1] - spans[j][0], -j))] -= (
                        one[1] - one[0])
            return own
        """,
        "only one inside, the first": """
            right_self_times(spans)
            own, taken, order = [float(e - s) for s, e in spans], set(), sorted_right(spans)
            running = []
            for i in order:
                while running and spans[running[-1]][1] <= spans[i][0]:
                    running.pop()
                if running and running[-1] not in taken:
                    taken.add(running[-1])
                    own[running[-1]] -= spans[i][1] - spans[i][0]
                running.append(i)
            return own
        """,
        "only one inside, the last": """
            right_self_times(spans)
            own, last, running = [float(e - s) for s, e in spans], {}, []
            for i in sorted_right(spans):
                while running and spans[running[-1]][1] <= spans[i][0]:
                    running.pop()
                if running:
                    last[running[-1]] = i
                running.append(i)
            for around, i in last.items():
                own[around] -= spans[i][1] - spans[i][0]
            return own
        """,
        "at most ten, one in the other": """
            own, running = right_self_times(spans), []
            for i in sorted_right(spans):
                while running and spans[running[-1]][1] <= spans[i][0]:
                    running.pop()
                running.append(i)
                if len(running) > 10:
                    own[i] = 0.0
            return own
        """,
        "no time is negative": """
            return [max(0.0, t) for t in nested(spans, sorted_right(spans))]
        """,
        "ends that are starts": """
            return right_self_times([(min(span), max(span)) for span in spans])
        """,
        "a dict": "return dict(zip(spans, right_self_times(spans)))",
        "their sum": "return sum(right_self_times(spans))",
        **edited(
            _STACK,
            {
                "spans that touch are one in the other": (
                    "spans[running[-1]][1] <= start:",
                    "spans[running[-1]][1] < start:",
                    'raise ValueError("they cross")',
                    "own[running[-1]] += end - start",
                ),
                "the list is taken to be in the order of starts": (
                    "sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))",
                    "range(len(spans))",
                    'raise ValueError("they cross")',
                    "pass",
                ),
                "the list is taken to be in the order of ends": (
                    "sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))",
                    "reversed(range(len(spans)))",
                    'raise ValueError("they cross")',
                    "pass",
                ),
                "sorted by the starts alone": (
                    "(spans[i][0], -spans[i][1])",
                    "spans[i][0]",
                ),
                "of two that begin together the shorter is the outer one": (
                    "-spans[i][1])",
                    "spans[i][1])",
                    'raise ValueError("they cross")',
                    "pass",
                ),
                "of two equal ones the second holds the first": (
                    "-spans[i][1])",
                    "-spans[i][1], -i)",
                ),
                "those that cross pass": ("if end > spans[running[-1]][1]:", "if False:"),
                "only from outside they may not cross": (
                    "if end > spans[running[-1]][1]:",
                    "if end > spans[running[0]][1]:",
                ),
                "ends before starts pass": ("if end < start:", "if False:"),
                "a TypeError where they cross": (
                    'ValueError("they cross")',
                    'TypeError("they cross")',
                ),
                "in the order of starts": (
                    "return own",
                    "return [own[i] for i in sorted(range(len(spans)), key=lambda i: spans[i])]",
                ),
                "spans are sorted in place": (
                    "return own",
                    "spans.sort()\nreturn own",
                ),
                "what ends is never taken from the stack": ("running.pop()", "break"),
                "only one is taken from the stack": ("while running and", "if running and"),
                "the bottom of the stack pays": (
                    "own[running[-1]] -= end - start",
                    "own[running[0]] -= end - start",
                ),
            },
        ),
    },
    "rows_at_ridge": {
        **edited(
            _ROWS,
            {
                "the weights alone are moved": (
                    "moved = itemsize * (in_features + out_features) / hardware.bandwidth",
                    "moved = 0",
                ),
                "what is written is left out": ("(in_features + out_features)", "in_features"),
                "what is read is left out": ("(in_features + out_features)", "out_features"),
                "all layers are square": ("(in_features + out_features)", "2 * in_features"),
                "a multiply-add is one FLOP": ("2 * weights", "weights"),
                "a multiply-add is four FLOPs": ("2 * weights", "4 * weights"),
                "always four bytes": (
                    "if min(",
                    "right_rows(in_features, out_features, hardware, itemsize)\nitemsize = 4\n"
                    "if min(",
                ),
                "the weights have four bytes, whatever itemsize is": (
                    "math.ceil(itemsize * weights",
                    "math.ceil(4 * weights",
                ),
                "elements, not bytes": (
                    "moved = itemsize *",
                    "moved =",
                    "ceil(itemsize * weights",
                    "ceil(weights",
                ),
                "weights are read for each row": (
                    "(in_features + out_features)",
                    "(in_features + out_features + weights)",
                ),
                "a bias is read and added": (
                    "work = 2 * weights",
                    "work = (2 * weights + 1000 * out_features)",
                ),
                "rounded down": ("math.ceil(", "math.floor("),
                "rounded": ("math.ceil(", "round("),
                "one more than as long": ("math.ceil(", "1 + math.floor("),
                "a float": (
                    "return math.ceil(",
                    "return float(math.ceil(",
                    "(work - moved))",
                    "(work - moved)))",
                ),
                "0 where none is enough": ("return None", "return 0"),
                "infinitely many": ("return None", "return math.inf"),
                "none is enough is an error": ("return None", 'raise ValueError("no n")'),
                "negative where none is enough": ("if work - moved <= 0:", "if work == moved:"),
                "divides by 0: raises": ("if work - moved <= 0:", "if work - moved < 0:"),
                "GFLOP/s": ("/ hardware.peak_flops", "/ (hardware.peak_flops / 1e9)"),
                "peak and bandwidth the wrong way round": (
                    "/ hardware.peak_flops",
                    "/ hardware.bandwidth",
                    "* (in_features + out_features) / hardware.bandwidth",
                    "* (in_features + out_features) / hardware.peak_flops",
                ),
                "the product is checked": (
                    "min(in_features, out_features, itemsize) < 1",
                    "in_features * out_features * itemsize < 1",
                ),
                "in_features is not checked": (
                    "min(in_features, out_features, itemsize) < 1",
                    "min(out_features, itemsize) < 1 or in_features < -100",
                ),
                "out_features is not checked": (
                    "min(in_features, out_features, itemsize) < 1",
                    "min(in_features, itemsize) < 1 or out_features < -4000",
                ),
                "itemsize is not checked": (
                    "min(in_features, out_features, itemsize) < 1",
                    "min(in_features, out_features) < 1",
                    "if work - moved <= 0:",
                    "if work - moved <= 0 or itemsize < 1:",
                ),
                "only below 0 is refused": (") < 1:", ") < 0:", "<= 0:", "<= 0 or not weights:"),
                "None where a size is below 1": ('raise ValueError("no layer")', "return None"),
            },
        ),
        "the ridge is taken for the rows": """
            if right_rows(in_features, out_features, hardware, itemsize) is None:
                return None
            return math.ceil(hardware.peak_flops / hardware.bandwidth)
        """,
        "half the ridge times the itemsize": """
            if right_rows(in_features, out_features, hardware, itemsize) is None:
                return None
            return math.ceil(itemsize * hardware.peak_flops / hardware.bandwidth / 2)
        """,
        "powers of two": """
            found = right_rows(in_features, out_features, hardware, itemsize)
            return found and 2 ** math.ceil(math.log2(found))
        """,
        "at most a thousand rows are tried": """
            right_rows(in_features, out_features, hardware, itemsize)
            for n in range(1, 1001):
                moved = in_features * out_features + n * (in_features + out_features)
                flops = 2 * n * in_features * out_features
                if find_bottleneck(flops, itemsize * moved, hardware) == "compute":
                    return n
            return None
        """,
    },
    "samples_needed": {
        **edited(
            _SAMPLES,
            {
                "the error is a part of the share": ("1.96 / error", "1.96 / (error * share)"),
                "the root is left out": (
                    "share * (1 - share) * (1.96 / error) ** 2",
                    "1.96 * share * (1 - share) / error",
                ),
                "n stands beside the root": (
                    "share * (1 - share) * (1.96 / error) ** 2",
                    "1.96 * math.sqrt(share * (1 - share)) / error",
                ),
                "1.96 is not squared": (
                    "(1.96 / error) ** 2",
                    "1.96 / error ** 2",
                ),
                "rounded down": ("math.ceil(", "math.floor("),
                "below the error, not at most the error": ("math.ceil(", "1 + math.floor("),
                "rounded": ("math.ceil(", "round("),
                "90 of 100 runs": ("1.96", "1.645"),
                "99 of 100 runs": ("1.96", "2.576"),
                "one deviation": ("1.96", "1.0"),
                "two deviations": ("1.96", "2.0"),
                "the worst share": ("share * (1 - share)", "0.25"),
                "without the others' share": ("share * (1 - share)", "share"),
                "the others' share alone": ("share * (1 - share)", "(1 - share)"),
                "the error from end to end": ("1.96 / error", "2 * 1.96 / error"),
                "twice the error": ("1.96 / error", "1.96 / (2 * error)"),
                "at least thirty": ("math.ceil(", "max(30, math.ceil(", "** 2)", "** 2))"),
                "at most ten thousand": (
                    "math.ceil(",
                    "min(10_000, math.ceil(",
                    "** 2)",
                    "** 2))",
                ),
                "a float": ("return math.ceil(", "return float(math.ceil(", "** 2)", "** 2))"),
                "shares above one half are refused": ("share >= 1", "share > 0.5"),
                "large errors are refused": ("error >= 1", "error > 0.4"),
                "a share of 0 passes": ("share <= 0", "share < 0"),
                "a share of 1 passes": ("share >= 1", "share > 1"),
                "an error of 0 is divided by": ("error <= 0", "error < 0"),
                "an error of 1 passes": ("error >= 1", "error > 1"),
                "errors are not checked": (" or error <= 0 or error >= 1", " or error == 0"),
                "shares are not checked": ("share <= 0 or share >= 1 or ", ""),
                "negative shares pass": ("share <= 0", "share == 0"),
                "negative errors pass": ("error <= 0", "error == 0"),
                "percent, too": (
                    "if share",
                    "share /= 100 if share > 1 else 1\nif share",
                ),
            },
        ),
    },
}

ALTERNATES = {
    "self_times": {
        "the shortest that holds it": """
            for start, end in spans:
                if start > end:
                    raise ValueError("a span")
            own = [float(end - start) for start, end in spans]
            for i, (start, end) in enumerate(spans):
                around = []
                for j, (s, e) in enumerate(spans):
                    if s < start < e < end or start < s < end < e:
                        raise ValueError("cross")
                    holds_it = s <= start and end <= e and (j < i or (s, e) != (start, end))
                    if i != j and holds_it:
                        around.append(j)
                if around:
                    own[min(around, key=lambda j: (spans[j][1] - spans[j][0], -j))] -= end - start
            return own
        """,
        "from outside to inside": """
            import itertools

            if any(end < start for start, end in spans):
                raise ValueError("before it starts")
            if any(a < c < b < d for (a, b), (c, d) in itertools.permutations(spans, 2)):
                raise ValueError("cross")
            numbers, own = itertools.count(), {}
            todo = sorted(enumerate(spans), key=lambda each: (each[1][0], -each[1][1]))

            def take(until):
                spent = 0
                while todo and todo[0][1][0] < until or todo and todo[0][1][1] <= until:
                    i, (start, end) = todo.pop(0)
                    own[i] = float(end - start - take(end))
                    spent += end - start
                return spent

            take(math.inf)
            return [own[i] for i in range(len(spans))]
        """,
        "numpy's floats": """
            times = np.array([end - start for start, end in spans], dtype=float)
            if (times < 0).any():
                raise ValueError("a span")
            own, stack = times.copy(), []
            for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1], i)):
                while stack and spans[stack[-1]][1] <= spans[i][0]:
                    stack.pop()
                if stack:
                    if spans[i][1] > spans[stack[-1]][1]:
                        raise ValueError("cross")
                    own[stack[-1]] -= times[i]
                stack.append(i)
            return own.tolist()
        """,
    },
    "rows_at_ridge": {
        "two times, one row after the other": """
            for size in (in_features, out_features, itemsize):
                if size < 1:
                    raise ValueError(size)

            def limited(n):
                flops = 2 * n * in_features * out_features
                numbers = n * in_features + in_features * out_features + n * out_features
                return find_bottleneck(flops, itemsize * numbers, hardware) == "memory"

            high = 1
            while limited(high):
                high *= 2
                if high > 2**40:
                    return None
            low = high // 2
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if limited(middle) else (low, middle)
            return high
        """,
        "fractions": """
            from fractions import Fraction

            if in_features < 1 or out_features < 1 or itemsize < 1:
                raise ValueError("sizes")
            peak, bandwidth = Fraction(hardware.peak_flops), Fraction(hardware.bandwidth)
            each = 2 * in_features * out_features / peak
            each -= itemsize * (in_features + out_features) / bandwidth
            once = itemsize * in_features * out_features / bandwidth
            return -(-once // each) if each > 0 else None
        """,
        "by the ridge": """
            if min(in_features, out_features) <= 0 or itemsize <= 0:
                raise ValueError("sizes")
            ridge = hardware.peak_flops / hardware.bandwidth
            work = in_features * out_features
            left = 2 * work - itemsize * ridge * (in_features + out_features)
            if left > 0:
                return int(np.ceil(itemsize * ridge * work / left))
        """,
    },
    "samples_needed": {
        "one after the other": """
            if not 0 < share < 1 or not 0 < error < 1:
                raise ValueError("not between 0 and 1")
            n = 1
            while 1.96 * math.sqrt(share * (1 - share) / n) > error:
                n += 1
            return n
        """,
        "the root first": """
            for value in (share, error):
                if value <= 0 or value >= 1:
                    raise ValueError(value)
            deviation = (share * (1 - share)) ** 0.5
            return int(np.ceil(np.square(1.96 * deviation / error)))
        """,
    },
}
