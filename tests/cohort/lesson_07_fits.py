"""Lesson 07: fits that are wrong, or right about something else."""

HELPERS = """
def measured(sizes, times_ms, powers):
    if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
        raise ValueError("lengths")
    if len(set(sizes)) < len(sizes) or len(set(powers)) < len(powers):
        raise ValueError("twice")
    if min(*sizes, *times_ms) <= 0:
        raise ValueError("above 0")

def solve(columns, right):
    units = np.abs(columns).max(axis=0)
    return (np.linalg.lstsq(columns / units, right, rcond=None)[0] / units).tolist()

def relative(sizes, times_ms, powers):
    n, t = np.array(sizes, float), np.array(times_ms, float)
    return solve(np.stack([n**p / t for p in powers], axis=1), np.ones(len(n)))

def absolute(sizes, times_ms, powers):
    n, t = np.array(sizes, float), np.array(times_ms, float)
    return solve(np.stack([n**p for p in powers], axis=1), t)

def split_largest(sizes, times_ms, powers):
    if len(sizes) != len(times_ms) or len(sizes) <= len(powers) or min(times_ms) <= 0:
        raise ValueError("too few")
    if len(set(sizes)) < len(sizes):
        raise ValueError("twice")
    at = max(range(len(sizes)), key=lambda i: sizes[i])
    kept = [i for i in range(len(sizes)) if i != at]
    return [sizes[i] for i in kept], [times_ms[i] for i in kept], sizes[at], times_ms[at]

def value_at(prices, size, powers):
    return sum(c * size**p for c, p in zip(prices, powers))

def cost_figures(overhead, price):
    if price <= 1e-9:
        raise ValueError("no price")
    return {"overhead_ms": overhead, "per_sample_ms": price,
            "most_per_second": 1000 / price, "half_batch": overhead / price}
"""

MUTANTS = {
    "fit_cost": {
        "at most three powers": """
            measured(sizes, times_ms, powers)
            return relative(sizes, times_ms, powers[:3]) + [0.0] * (len(powers) - 3)
        """,
        "two powers by a formula, of more the first two": """
            measured(sizes, times_ms, powers)
            found = relative(sizes, times_ms, powers[:2])
            return found + [0.0] * (len(powers) - 2)
        """,
        "a hundred steps downhill": """
            measured(sizes, times_ms, powers)
            n, t = np.array(sizes, float), np.array(times_ms, float)
            columns = np.stack([n**p / t for p in powers], axis=1)
            units, prices = columns.max(axis=0), np.zeros(len(powers))
            for _ in range(100):
                wrong = columns / units @ prices - 1
                prices -= (columns / units).T @ wrong / len(n) / len(powers)
            return (prices / units).tolist()
        """,
        "absolute errors": """
            measured(sizes, times_ms, powers)
            return absolute(sizes, times_ms, powers)
        """,
        "the powers in reverse": """
            measured(sizes, times_ms, powers)
            return relative(sizes, times_ms, powers)[::-1]
        """,
        "the powers in rising order": """
            measured(sizes, times_ms, powers)
            return relative(sizes, times_ms, sorted(powers))
        """,
        "numpy's polyfit of the highest power": """
            measured(sizes, times_ms, powers)
            weights = [1 / ms for ms in times_ms]
            found = np.polyfit(sizes, times_ms, max(1, round(max(powers))), w=weights)[::-1]
            return [float(found[int(p)]) for p in powers]
        """,
        "a line on logarithmic axes": """
            measured(sizes, times_ms, powers)
            many = len(sizes) > 1
            slope, start = np.polyfit(np.log(sizes), np.log(times_ms), 1) if many else (1, 0)
            return [math.exp(start)] + [float(slope)] * (len(powers) - 1)
        """,
        "rows divided by the root of the time": """
            measured(sizes, times_ms, powers)
            n, t = np.array(sizes, float), np.array(times_ms, float)
            return solve(np.stack([n**p / t**0.5 for p in powers], axis=1), t**0.5)
        """,
        "rows divided by the square of the time": """
            measured(sizes, times_ms, powers)
            n, t = np.array(sizes, float), np.array(times_ms, float)
            return solve(np.stack([n**p / t**2 for p in powers], axis=1), 1 / t)
        """,
        "rows divided, the right side forgotten": """
            measured(sizes, times_ms, powers)
            n, t = np.array(sizes, float), np.array(times_ms, float)
            return solve(np.stack([n**p / t for p in powers], axis=1), t)
        """,
        "the first sizes only, as many as powers": """
            measured(sizes, times_ms, powers)
            count = len(powers)
            return relative(sizes[:count], times_ms[:count], powers)
        """,
        "the powers 0, 1, 2 and so on": """
            measured(sizes, times_ms, powers)
            return relative(sizes, times_ms, range(len(powers)))
        """,
        "a constant is always there": """
            measured(sizes, times_ms, powers)
            wanted = list(powers) if 0 in powers or len(powers) == len(sizes) else [0, *powers]
            return relative(sizes, times_ms, wanted)[len(wanted) - len(powers):]
        """,
        "no price is negative": """
            measured(sizes, times_ms, powers)
            return [max(0.0, c) for c in relative(sizes, times_ms, powers)]
        """,
        "rounded": """
            measured(sizes, times_ms, powers)
            return [round(c, 3) for c in relative(sizes, times_ms, powers)]
        """,
        "sizes and times are sorted apart": """
            measured(sizes, times_ms, powers)
            return relative(sorted(sizes), times_ms, powers)
        """,
        "the lists are changed": """
            measured(sizes, times_ms, powers)
            found = relative(sizes, times_ms, powers)
            sizes.sort(reverse=True)
            return found
        """,
        "nothing is checked": "return relative(sizes, times_ms, powers)",
        "fewer sizes than powers are let through": """
            measured(sizes, times_ms, powers[:len(sizes)])
            if len(set(powers)) < len(powers):
                raise ValueError("twice")
            return relative(sizes, times_ms, powers)
        """,
        "a size may be there twice": """
            if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
                raise ValueError("lengths")
            if len(set(powers)) < len(powers) or min(*sizes, *times_ms) <= 0:
                raise ValueError("twice")
            return relative(sizes, times_ms, powers)
        """,
        "a power may be there twice": """
            if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
                raise ValueError("lengths")
            if len(set(sizes)) < len(sizes) or min(*sizes, *times_ms) <= 0:
                raise ValueError("twice")
            return relative(sizes, times_ms, powers)
        """,
        "a size of 0 is let through": """
            measured([size or 0.5 for size in sizes], times_ms, powers)
            return relative(sizes, times_ms, powers)
        """,
        "3, 0.5 and 0.01 written in": """
            measured(sizes, times_ms, powers)
            return [3.0, 0.5, 0.01][:len(powers)]
        """,
    },
    "holdout_error": {
        "nothing is left out": """
            _, _, size, ms = split_largest(sizes, times_ms, powers)
            return value_at(relative(sizes, times_ms, powers), size, powers) / ms - 1
        """,
        "the last one is left out": """
            split_largest(sizes, times_ms, powers)
            prices = relative(sizes[:-1], times_ms[:-1], powers)
            return value_at(prices, sizes[-1], powers) / times_ms[-1] - 1
        """,
        "the smallest is left out": """
            split_largest(sizes, times_ms, powers)
            at = sizes.index(min(sizes))
            kept, took = sizes[:at] + sizes[at + 1:], times_ms[:at] + times_ms[at + 1:]
            return value_at(relative(kept, took, powers), sizes[at], powers) / times_ms[at] - 1
        """,
        "the longest time is left out": """
            split_largest(sizes, times_ms, powers)
            at = times_ms.index(max(times_ms))
            kept, took = sizes[:at] + sizes[at + 1:], times_ms[:at] + times_ms[at + 1:]
            return value_at(relative(kept, took, powers), sizes[at], powers) / times_ms[at] - 1
        """,
        "measured over promised": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return ms / value_at(relative(kept, took, powers), size, powers) - 1
        """,
        "the ratio": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return value_at(relative(kept, took, powers), size, powers) / ms
        """,
        "without a sign": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return abs(value_at(relative(kept, took, powers), size, powers) / ms - 1)
        """,
        "the other sign": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return 1 - value_at(relative(kept, took, powers), size, powers) / ms
        """,
        "in milliseconds": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return value_at(relative(kept, took, powers), size, powers) - ms
        """,
        "in percent": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            return 100 * (value_at(relative(kept, took, powers), size, powers) / ms - 1)
        """,
        "relative to what was promised": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            promised = value_at(relative(kept, took, powers), size, powers)
            return (promised - ms) / promised
        """,
        "the powers in rising order at the promise": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            prices = relative(kept, took, powers)
            return value_at(prices, size, sorted(powers)) / ms - 1
        """,
        "a line on logarithmic axes": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            if len(kept) < 2:
                return took[0] / ms - 1
            slope, start = np.polyfit(np.log(kept), np.log(took), 1)
            return float(math.exp(start) * size**slope / ms - 1)
        """,
        "the lists are changed": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            sizes.remove(size)
            return value_at(relative(kept, took, powers), size, powers) / ms - 1
        """,
        "the lists are sorted": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            sizes.sort()
            return value_at(relative(kept, took, powers), size, powers) / ms - 1
        """,
        "too few are let through": """
            if len(sizes) != len(times_ms) or len(set(sizes)) < len(sizes) or min(times_ms) <= 0:
                raise ValueError("lengths")
            at = sizes.index(max(sizes))
            kept, took = sizes[:at] + sizes[at + 1:], times_ms[:at] + times_ms[at + 1:]
            return value_at(relative(kept, took, powers), sizes[at], powers) / times_ms[at] - 1
        """,
        "the largest may be there twice": """
            if len(sizes) != len(times_ms) or len(sizes) <= len(powers) or min(times_ms) <= 0:
                raise ValueError("lengths")
            at = sizes.index(max(sizes))
            kept, took = sizes[:at] + sizes[at + 1:], times_ms[:at] + times_ms[at + 1:]
            return value_at(relative(kept, took, powers), sizes[at], powers) / times_ms[at] - 1
        """,
        "a half written in": "split_largest(sizes, times_ms, powers)\nreturn -0.5",
    },
    "batch_cost": {
        "from the first and the last batch": """
            measured(sizes, latencies_ms, (0, 1))
            price = (latencies_ms[-1] - latencies_ms[0]) / (sizes[-1] - sizes[0])
            return cost_figures(latencies_ms[0] - price * sizes[0], price)
        """,
        "absolute errors": """
            measured(sizes, latencies_ms, (0, 1))
            return cost_figures(*absolute(sizes, latencies_ms, (0, 1)))
        """,
        "overhead and price exchanged": """
            measured(sizes, latencies_ms, (0, 1))
            overhead, price = relative(sizes, latencies_ms, (0, 1))
            found = cost_figures(overhead, price)
            return found | {"overhead_ms": price, "per_sample_ms": overhead}
        """,
        "the rate of the largest batch": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            rate, _ = max((1000 * n / ms, n) for n, ms in zip(sizes, latencies_ms))
            return found | {"most_per_second": rate}
        """,
        "samples a millisecond": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            return found | {"most_per_second": 1 / found["per_sample_ms"]}
        """,
        "the half batch upside down": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            half = found["half_batch"]
            return found | {"half_batch": 1 / half if abs(half) > 1e-9 else 0.0}
        """,
        "half the rate of the largest batch": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            return found | {"half_batch": max(sizes) / 2}
        """,
        "the half batch in whole samples": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            return found | {"half_batch": math.ceil(found["half_batch"] - 1e-9)}
        """,
        "no overhead is negative": """
            measured(sizes, latencies_ms, (0, 1))
            overhead, price = relative(sizes, latencies_ms, (0, 1))
            return cost_figures(max(0.0, overhead), price)
        """,
        "the price of a sample is that of the smallest batch": """
            measured(sizes, latencies_ms, (0, 1))
            overhead, _ = relative(sizes, latencies_ms, (0, 1))
            n, ms = min(zip(sizes, latencies_ms))
            return cost_figures(overhead, ms / n)
        """,
        "no price is let through": """
            measured(sizes, latencies_ms, (0, 1))
            overhead, price = relative(sizes, latencies_ms, (0, 1))
            price = price or 1e-12
            return {"overhead_ms": overhead, "per_sample_ms": price,
                    "most_per_second": 1000 / price, "half_batch": overhead / price}
        """,
        "a price below 0 is let through": """
            measured(sizes, latencies_ms, (0, 1))
            overhead, price = relative(sizes, latencies_ms, (0, 1))
            if abs(price) < 1e-9:
                raise ValueError("no price")
            return {"overhead_ms": overhead, "per_sample_ms": price,
                    "most_per_second": 1000 / price, "half_batch": overhead / price}
        """,
        "one batch is enough": """
            if len(sizes) == 1:
                return cost_figures(0.0, latencies_ms[0] / sizes[0])
            measured(sizes, latencies_ms, (0, 1))
            return cost_figures(*relative(sizes, latencies_ms, (0, 1)))
        """,
        "a list: raises": """
            measured(sizes, latencies_ms, (0, 1))
            return list(cost_figures(*relative(sizes, latencies_ms, (0, 1))).values())
        """,
        "3 and 0.5 ms written in": """
            measured(sizes, latencies_ms, (0, 1))
            return cost_figures(3.0, 0.5)
        """,
    },
}
