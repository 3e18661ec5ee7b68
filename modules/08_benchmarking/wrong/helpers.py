"""Serve the known solutions beside; executed after the solved lesson."""

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


def judged(found, tolerance):
    if 1 / (1 + tolerance) <= found["low"] and found["high"] <= 1 + tolerance:
        return "same"
    return "faster" if found["low"] > 1 else "slower" if found["high"] < 1 else "unclear"


def require_six(runs):
    if len(runs) < 6:
        raise ValueError("six runs")


def apart(before, after, key):
    return before["environment"][key] != after["environment"][key]


def unequal(before, after, key):
    return before["environment"][key] is None or apart(before, after, key)


def doubts(before, after, too_busy):
    both = [each["environment"]["governor"] for each in (before, after)]
    return ["governor"] * (both != ["performance"] * 2) + ["load"] * too_busy


def judged_results(before, after, tolerance, differs=None):
    keys = ("machine", "threads", "seed", "versions")
    if differs is None:
        differs = [key for key in keys if unequal(before, after, key)]
    loads = [each["environment"]["load"] for each in (before, after)]
    found = {"differs": differs, "verdict": "not compared"}
    found["doubtful"] = doubts(before, after, None in loads or max(loads) > 0.1)
    if not differs:
        found["verdict"] = gate(before["times"], after["times"], tolerance)
    return found


def some_percentile(times, percent, confidence):
    if not times or not 0 < percent < 100 or not 0 < confidence < 1 or any_nan(times):
        raise ValueError("range")


def by_ranks(times, percent, confidence):
    n, p, tail = len(times), percent / 100, (1 - confidence) / 2
    pmf = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    low = max((l for l in range(1, n + 1) if sum(pmf[:l]) <= tail), default=0)
    high = min((h for h in range(1, n + 1) if sum(pmf[h:]) <= tail), default=0)
    if not low or not high:
        raise ValueError("few")
    ordered = sorted(times)
    return ordered[low - 1], ordered[high - 1]


def some_requests(arrivals, service):
    if not len(arrivals) or len(arrivals) != len(service) or not all(x > 0 for x in service):
        raise ValueError("requests")
    if any(b < a for a, b in zip(arrivals, arrivals[1:])):
        raise ValueError("fall")


def some_weights(weights):
    weights = np.asarray(weights, np.float64)
    if not weights.size or not np.isfinite(weights).all():
        raise ValueError("weights")
    return weights


def scale_of(weights, axis, largest=127):
    scale = np.abs(weights).max(axis=axis, keepdims=axis is not None) / largest
    scale = np.where(scale == 0, 1.0, scale)
    return float(scale) if axis is None else scale


def some_rows(rows, smaller, larger):
    keys = [*smaller, *larger]
    if not rows or not keys or any(key not in row for row in rows for key in keys):
        raise ValueError("rows and keys")


def front(rows, smaller, larger, beats):
    def cost(row):
        return [row[k] for k in smaller] + [-row[k] for k in larger]

    def beaten(row):
        return any(other is not row and beats(cost(other), cost(row)) for other in rows)

    return [row["name"] for row in rows if not beaten(row)]


def beats(other, mine):
    return other != mine and all(x <= y for x, y in zip(other, mine))


def plain(scale, axis):
    return float(scale) if axis is None else scale


def area(samples, idle):
    pairs = zip(samples, samples[1:])
    return sum((b[0] - a[0]) * ((a[1] + b[1]) / 2 - idle) for a, b in pairs)


def floors_hold(rows, floors, holds):
    return [
        {"name": name, "floor_gb": floor, "holds": holds(floor, gb)}
        for (name, _, gb), floor in zip(rows, floors)
    ]


def some_samples(samples, idle):
    if len(samples) < 2 or not idle >= 0 or any(not w >= 0 for _, w in samples):
        raise ValueError("samples")
    if any(not b[0] > a[0] for a, b in zip(samples, samples[1:])):
        raise ValueError("seconds")


def some_claims(rows, base):
    if not rows or base <= 0 or any(c <= 0 or m < 1 for _, c, m in rows):
        raise ValueError("rows")


def audited(rows, base, holds, **other):
    found, last = [], base
    for name, claimed, minutes in rows:
        row = {"name": name, "minutes": base / claimed, "speedup": base / minutes}
        row |= {"step": last / minutes, "holds": holds(claimed, minutes)}
        found.append(row)
        last = minutes
    return found


def within(base):
    return lambda c, m: base / (m + 0.5) <= c + 0.05 and base / (m - 0.5) >= c - 0.05


solved_speedup_interval, solved_gate, solved_response_times = speedup_interval, gate, response_times
solved_sparse_bytes, solved_percentile_interval = sparse_bytes, percentile_interval
solved_audit_speedups, solved_audit_memory = audit_speedups, audit_memory


import copy as _copy


def each_number(value, change):
    """Return the value with each of its floats changed."""
    if isinstance(value, dict):
        return {key: each_number(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(each_number(item, change) for item in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.vectorize(change)(value)
    return change(float(value)) if isinstance(value, float) else value


def spoil(argument):
    """Change an argument as careless code does."""
    if isinstance(argument, list):
        argument.append(argument.pop(0)) if len(set(map(repr, argument))) > 1 else argument.clear()
    elif isinstance(argument, dict):
        argument.popitem()
    elif isinstance(argument, np.ndarray):
        argument[...] = 0
