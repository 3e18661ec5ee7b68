"""Lesson 08, second half: what students get wrong about queues, energy and audits; helpers."""

HELPERS = """
def judged(found, tolerance):
    if 1 / (1 + tolerance) <= found["low"] and found["high"] <= 1 + tolerance:
        return "same"
    return "faster" if found["low"] > 1 else "slower" if found["high"] < 1 else "unclear"

def require_six(runs):
    if len(runs) < 6:
        raise ValueError("six runs")

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
"""

MUTANTS = {
    "response_times": {
        "service times": "some_requests(arrivals_ms, service_ms)\nreturn list(service_ms)",
        "the wait alone": """
            some_requests(arrivals_ms, service_ms)
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                start = max(free, arrival)
                found.append(start - arrival)
                free = start + service
            return found
        """,
        "only the request before is waited for": """
            some_requests(arrivals_ms, service_ms)
            found, end = [], -math.inf
            for at, (arrival, service) in enumerate(zip(arrivals_ms, service_ms)):
                found.append(max(end, arrival) + service - arrival)
                end = arrival + service
            return found
        """,
        "idle time is saved up": """
            some_requests(arrivals_ms, service_ms)
            free, found = arrivals_ms[0], []
            for arrival, service in zip(arrivals_ms, service_ms):
                free += service
                found.append(max(free - arrival, service))
            return found
        """,
        "the time of the answer": """
            some_requests(arrivals_ms, service_ms)
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free)
            return found
        """,
        "the clock begins at 0 for all": """
            some_requests(arrivals_ms, service_ms)
            free, found = 0, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free += service
                found.append(free - arrival)
            return found
        """,
        "as many servers as requests at once": """
            some_requests(arrivals_ms, service_ms)
            free, found, last = -math.inf, [], None
            for arrival, service in zip(arrivals_ms, service_ms):
                start = arrival if arrival == last else max(free, arrival)
                free, last = max(free, start + service), arrival
                found.append(start + service - arrival)
            return found
        """,
        "the shortest first": """
            some_requests(arrivals_ms, service_ms)
            jobs = sorted(zip(arrivals_ms, service_ms))
            free, found = -math.inf, []
            for arrival, service in jobs:
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "arrivals may fall": """
            if not arrivals_ms or len(arrivals_ms) != len(service_ms) or min(service_ms) <= 0:
                raise ValueError("requests")
            free, found = -math.inf, []
            for arrival, service in sorted(zip(arrivals_ms, service_ms), key=lambda job: job[0]):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "arrivals at once are refused": """
            some_requests(arrivals_ms, service_ms)
            if len(set(arrivals_ms)) < len(arrivals_ms):
                raise ValueError("at once")
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "no work is allowed": """
            if not arrivals_ms or len(arrivals_ms) != len(service_ms) or min(service_ms) < 0:
                raise ValueError("requests")
            some_requests(arrivals_ms, [1] * len(arrivals_ms))
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
    },
    "energy_joules": {
        "left rectangles": """
            some_samples(samples, idle_watts)
            return float(
                sum((b[0] - a[0]) * (a[1] - idle_watts) for a, b in zip(samples, samples[1:]))
            )
        """,
        "right rectangles": """
            some_samples(samples, idle_watts)
            return float(
                sum((b[0] - a[0]) * (b[1] - idle_watts) for a, b in zip(samples, samples[1:]))
            )
        """,
        "mean power by time": """
            some_samples(samples, idle_watts)
            mean = sum(w for _, w in samples) / len(samples)
            return (mean - idle_watts) * (samples[-1][0] - samples[0][0])
        """,
        "idle power once": """
            some_samples(samples, idle_watts)
            return area(samples, 0) - idle_watts
        """,
        "idle power is ignored": """
            some_samples(samples, idle_watts)
            return area(samples, 0)
        """,
        "idle power from second 0": """
            some_samples(samples, idle_watts)
            whole = area(samples, 0)
            return whole - idle_watts * samples[-1][0]
        """,
        "never below 0": """
            some_samples(samples, idle_watts)
            whole = area(samples, idle_watts)
            return max(0.0, whole)
        """,
        "watts and seconds swapped": """
            some_samples(samples, idle_watts)
            return sum(
                (b[1] - a[1]) * ((a[0] + b[0]) / 2 - idle_watts)
                for a, b in zip(samples, samples[1:])
            )
        """,
        "one sample has no energy": """
            if not samples:
                raise ValueError("none")
            if len(samples) == 1:
                return 0.0
            some_samples(samples, idle_watts)
            return area(samples, idle_watts)
        """,
        "sorted by time": """
            found = sorted(samples)
            some_samples([(at, w) for at, (_, w) in enumerate(samples)], idle_watts)
            if any_nan(second for second, _ in samples):
                raise ValueError("seconds")
            return area(found, idle_watts)
        """,
        "in watt-hours": """
            some_samples(samples, idle_watts)
            whole = area(samples, idle_watts)
            return whole / 3600
        """,
    },
    "audit_speedups": {
        "claims are taken for steps": """
            some_claims(rows, base)
            found, last, claimed_all = audited(rows, base, within(base)), base, 1
            for row, (_, claimed, _) in zip(found, rows):
                last /= claimed
                row["minutes"] = last
            return found
        """,
        "no rounding": """
            some_claims(rows, base)
            return audited(
                rows, base, lambda c, m: round(base / m, 1) == c and round(base / c) == m
            )
        """,
        "exactly equal": """
            some_claims(rows, base)
            return audited(rows, base, lambda c, m: base / c == m)
        """,
        "only the claim is rounded": """
            some_claims(rows, base)
            return audited(rows, base, lambda c, m: abs(base / m - c) <= 0.05)
        """,
        "only the minutes are rounded": """
            some_claims(rows, base)
            return audited(rows, base, lambda c, m: abs(base / c - m) <= 0.5)
        """,
        "ten percent are near enough": """
            some_claims(rows, base)
            return audited(rows, base, lambda c, m: abs(base / m / c - 1) <= 0.1)
        """,
        "a claim may be too small": """
            some_claims(rows, base)
            return audited(rows, base, lambda c, m: base / (m - 0.5) >= c - 0.05)
        """,
        "steps over the base": """
            some_claims(rows, base)
            return [row | {"step": row["speedup"]} for row in audited(rows, base, within(base))]
        """,
        "steps by the claims": """
            some_claims(rows, base)
            found, last = audited(rows, base, within(base)), 1.0
            for row, (_, claimed, _) in zip(found, rows):
                row["step"], last = claimed / last, claimed
            return found
        """,
        "the first step is 1": """
            some_claims(rows, base)
            found = audited(rows, base, within(base))
            found[0]["step"] = 1.0
            return found
        """,
        "printed minutes": """
            some_claims(rows, base)
            return [
                row | {"minutes": m}
                for row, (_, _, m) in zip(audited(rows, base, within(base)), rows)
            ]
        """,
        "rounded": """
            some_claims(rows, base)
            return [
                row | {"speedup": round(row["speedup"], 2)}
                for row in audited(rows, base, within(base))
            ]
        """,
        "nothing is checked": "return audited(rows, base, within(base))",
    },
    "audit_memory": {
        "GB of 1024³": """
            if not rows or parameters < 1 or any(b <= 0 or claim < 0 for _, b, claim in rows):
                raise ValueError("rows")
            if gb not in (10**9, 1024**3):
                raise ValueError("unit")
            floors = [parameters * b / 1024**3 for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, gb: f <= gb + 0.5)
        """,
        "no rounding": """
            if not rows or parameters < 1 or any(b <= 0 or claim < 0 for _, b, claim in rows):
                raise ValueError("rows")
            floors = [parameters * b / gb for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, gb: f <= gb)
        """,
        "the other way round": """
            if not rows or parameters < 1 or any(b <= 0 or claim < 0 for _, b, claim in rows):
                raise ValueError("rows")
            floors = [parameters * b / gb for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, gb: f >= gb - 0.5)
        """,
        "nothing is checked": """
            floors = [parameters * b / gb for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, gb: f <= gb + 0.5)
        """,
    },
}
