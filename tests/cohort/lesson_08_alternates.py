"""Lesson 08: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "run_order": {
        "round by round": """
            if len(names) == 0 or len(names) != len({*names}) or rounds <= 0 or rounds % 2 == 1:
                raise ValueError("names and rounds")
            order = []
            for number in range(rounds):
                order.extend(names if number % 2 == 0 else names[::-1])
            return order
        """,
        "places and strings of numpy's": """
            if not names or len(set(names)) < len(names) or rounds < 2 or rounds % 2:
                raise ValueError("names and rounds")
            there = np.arange(len(names))
            return list(np.array(names)[np.tile([*there, *there[::-1]], rounds // 2)])
        """,
        "recursion, as a tuple": """
            if not names or len(set(names)) < len(names) or rounds < 2 or rounds % 2:
                raise ValueError("names and rounds")
            pair = tuple(names) + tuple(names)[::-1]
            return pair if rounds == 2 else pair + tuple(run_order(names, rounds - 2))
        """,
    },
    "rank_test": {
        "polynomials in numpy": """
            n, m = len(a), len(b)
            if min(n, m) < 1 or max(n, m) > 20:
                raise ValueError("1 to 20 each")
            pooled = np.array([*a, *b], float)
            if np.isnan(pooled).any():
                raise ValueError("NaN")
            ranks = (pooled[:, None] > pooled).sum(1) + (pooled[:, None] >= pooled).sum(1) + 1
            ways = np.zeros((n + 1, int(ranks.sum()) + 1), np.int64)
            ways[0, 0] = 1
            for rank in ranks:
                ways[1:, rank:] += ways[:-1, :-rank].copy()
            sums, middle, seen = np.arange(ways.shape[1]), n * (n + m + 1), ranks[:n].sum()
            far = ways[n][abs(sums - middle) >= abs(seen - middle)].sum()
            u = sum((x > y) + 0.5 * (x == y) for x in a for y in b)
            return {"u": float(u), "p": far / ways[n].sum(), "smaller": 1 - u / n / m}
        """,
        "memory of a recursive count, in fractions": """
            from fractions import Fraction
            from functools import cache

            if not 0 < len(a) < 21 or not 0 < len(b) < 21 or any(x != x for x in [*a, *b]):
                raise ValueError("1 to 20 each, without NaN")
            order = sorted([*a, *b])
            last = {x: at + 1 for at, x in enumerate(order)}
            rank = {x: Fraction(last[x] - order.count(x) + 1 + last[x], 2) for x in last}
            ranks = tuple(rank[x] for x in order)
            n, m = len(a), len(b)

            @cache
            def sums(at, left):
                if left == 0:
                    return {Fraction(0): 1}
                if len(ranks) - at < left:
                    return {}
                found = dict(sums(at + 1, left))
                for total, count in sums(at + 1, left - 1).items():
                    found[total + ranks[at]] = found.get(total + ranks[at], 0) + count
                return found

            u = sum(rank[x] for x in a) - Fraction(n * (n + 1), 2)
            table = {total - Fraction(n * (n + 1), 2): count for total, count in sums(0, n).items()}
            gap = abs(u - Fraction(n * m, 2))
            far = sum(c for v, c in table.items() if abs(v - Fraction(n * m, 2)) >= gap)
            return {
                "smaller": float(1 - u / (n * m)),
                "u": float(u),
                "p": far / sum(table.values()),
            }
        """,
    },
    "speedup_interval": {
        "numpy": """
            old, new = np.asarray(before, float), np.asarray(after, float)
            if old.shape != new.shape or not ((old > 0).all() and (new > 0).all()):
                raise ValueError("pairs")
            ratios = old / new
            low, high = confidence_interval(list(ratios), confidence)
            return {"speedup": np.median(ratios), "low": low, "high": high}
        """,
        "a comprehension, keys in another order": """
            times = [*before, *after]
            if len(after) != len(before) or any(math.isnan(ms) or ms <= 0 for ms in times):
                raise ValueError("pairs")
            ratios = sorted(before[at] / after[at] for at in range(len(before)))
            low, high = confidence_interval(ratios, confidence)
            half = len(ratios) // 2
            return {"high": high, "low": low, "speedup": (ratios[half] + ratios[~half]) / 2}
        """,
    },
    "gate": {
        "by cases": """
            if tolerance < 0 or comparisons < 1 or math.isnan(tolerance):
                raise ValueError("out of range")
            found = speedup_interval(before, after, confidence=1 - 0.05 / comparisons)
            inside = found["low"] * (1 + tolerance) >= 1 and found["high"] <= 1 + tolerance
            match (inside, found["low"] > 1, found["high"] < 1):
                case (True, _, _):
                    return "same"
                case (_, True, _):
                    return "faster"
                case (_, _, True):
                    return "slower"
            return "unclear"
        """,
        "the ratios themselves": """
            if comparisons <= 0 or not tolerance >= 0 or len(before) != len(after):
                raise ValueError("out of range")
            if not all(x > 0 for x in before) or not all(x > 0 for x in after):
                raise ValueError("times")
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, (comparisons - 0.05) / comparisons)
            if not (low < 1 / (1 + tolerance) or high > 1 + tolerance):
                return "same"
            return ["unclear", "faster", "slower"][(low > 1) + 2 * (high < 1)]
        """,
    },
    "runs_interval": {
        "numpy": """
            if any(len(run) < 1 for run in runs):
                raise ValueError("an empty run")
            if np.isnan(np.concatenate([np.asarray(run, float) for run in runs] or [[]])).any():
                raise ValueError("NaN")
            return confidence_interval([float(np.median(run)) for run in runs], confidence)
        """,
        "sorted by hand, as a list": """
            medians = []
            for run in runs:
                ordered = sorted(run)
                if not ordered or sum(ordered) != sum(ordered):
                    raise ValueError("an empty run, or NaN")
                half = len(ordered) // 2
                medians.append((ordered[half] + ordered[-half - 1]) / 2)
            return list(confidence_interval(medians, confidence))
        """,
    },
    "percentile_interval": {
        "sums of exact terms": """
            if not times or not 0 < percent < 100 or not 0 < confidence < 1:
                raise ValueError("range")
            if sum(times) != sum(times):
                raise ValueError("NaN")
            from fractions import Fraction
            n, p, tail = len(times), Fraction(percent) / 100, (1 - Fraction(str(confidence))) / 2
            low = high = 0
            below = Fraction(0)
            for k in range(n + 1):
                below += math.comb(n, k) * p**k * (1 - p) ** (n - k)
                if below <= tail:
                    low = k + 1
                if not high and 1 - below <= tail:
                    high = k + 1
            if low < 1 or high > n:
                raise ValueError("few")
            ordered = sorted(times)
            return ordered[low - 1], ordered[high - 1]
        """,
        "floats, rank by rank": """
            if not 0 < percent < 100 or not 0 < confidence < 1 or not times:
                raise ValueError("range")
            if np.isnan(times).any():
                raise ValueError("NaN")
            n, p = len(times), percent / 100
            logs = [
                math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                for k in range(n + 1)
            ]
            pmf = [
                math.exp(c + k * math.log(p) + (n - k) * math.log1p(-p)) for k, c in enumerate(logs)
            ]
            tail, ordered = (1 - confidence) / 2, sorted(times)
            low = [r for r in range(1, n + 1) if math.fsum(pmf[:r]) <= tail]
            high = [r for r in range(1, n + 1) if math.fsum(pmf[r:]) <= tail]
            if not low or not high:
                raise ValueError("few")
            return ordered[low[-1] - 1], ordered[high[0] - 1]
        """,
    },
    "response_times": {
        "by the longest sum behind": """
            n = len(arrivals_ms)
            if n == 0 or n != len(service_ms) or any(not s > 0 for s in service_ms):
                raise ValueError("requests")
            if any(arrivals_ms[at] > arrivals_ms[at + 1] for at in range(n - 1)):
                raise ValueError("arrivals fall")
            ends = [
                max(arrivals_ms[first] + sum(service_ms[first : at + 1]) for first in range(at + 1))
                for at in range(n)
            ]
            return [end - arrival for end, arrival in zip(ends, arrivals_ms)]
        """,
        "in floats": """
            if not len(arrivals_ms) or len(arrivals_ms) != len(service_ms):
                raise ValueError("requests")
            if not np.min(service_ms) > 0:
                raise ValueError("work")
            if list(arrivals_ms) != sorted(arrivals_ms):
                raise ValueError("arrivals fall")
            free, found = float("-inf"), []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, float(arrival)) + service
                found.append(free - arrival)
            return found
        """,
        "accumulate": """
            import itertools

            jobs = list(zip(arrivals_ms, service_ms))
            if not jobs or len(arrivals_ms) != len(service_ms):
                raise ValueError("requests")
            if not all(service > 0 for service in service_ms):
                raise ValueError("work")
            if any(b < a for a, b in itertools.pairwise(arrivals_ms)):
                raise ValueError("arrivals fall")
            ends = itertools.accumulate(
                jobs, lambda t, job: max(t, job[0]) + job[1], initial=-math.inf
            )
            return np.array(list(ends)[1:]) - np.array(arrivals_ms)
        """,
    },
    "quantize": {
        "row by row": """
            array = np.array(weights, dtype=np.float64)
            if array.size == 0 or not np.all(np.isfinite(array)):
                raise ValueError("weights")
            top = (
                np.max(np.abs(array))
                if axis is None
                else np.max(np.abs(array), axis, keepdims=True)
            )
            scale = top / 127 + (top == 0)
            q = np.round(array / scale).clip(-127, 127)
            return q.astype("int8"), scale
        """,
        "a list, the scale as an array of numpy": """
            array = np.asarray(weights, np.float64)
            if not array.size or np.isnan(array).any() or np.isinf(array).any():
                raise ValueError("weights")
            scale = (
                np.maximum(
                    array.max(axis=axis, keepdims=True), -array.min(axis=axis, keepdims=True)
                )
                / 127
            )
            scale[scale == 0] = 1
            q = np.around(array / scale).astype(np.int8)
            return [q, scale.item() if axis is None else scale]
        """,
    },
    "sparse_bytes": {
        "built up": """
            if shape[0] < 1 or shape[1] < 1 or itemsize < 1:
                raise ValueError("range")
            if nonzeros < 0 or nonzeros > math.prod(shape):
                raise ValueError("nonzeros")
            return sum([nonzeros * itemsize, nonzeros * 4, shape[0] * 4, 4])
        """,
        "numpy": """
            if min(*shape, itemsize) < 1 or not 0 <= nonzeros <= shape[0] * shape[1]:
                raise ValueError("range")
            return np.int64(nonzeros) * (itemsize + 4) + 4 * shape[0] + 4
        """,
    },
    "pareto": {
        "a loop over pairs": """
            if len(rows) == 0 or len(smaller) + len(larger) == 0:
                raise ValueError("rows and keys")
            for row in rows:
                for key in (*smaller, *larger):
                    if key not in row:
                        raise ValueError(key)
            kept = []
            for row in rows:
                for other in rows:
                    good = all(other[k] <= row[k] for k in smaller) and all(
                        other[k] >= row[k] for k in larger
                    )
                    better = any(other[k] < row[k] for k in smaller) or any(
                        other[k] > row[k] for k in larger
                    )
                    if good and better:
                        break
                else:
                    kept.append(row["name"])
            return kept
        """,
        "numpy": """
            if not rows or not list(smaller) + list(larger):
                raise ValueError("rows and keys")
            try:
                cost = np.array(
                    [[r[k] for k in smaller] + [-r[k] for k in larger] for r in rows], float
                )
            except KeyError as error:
                raise ValueError(str(error)) from error
            less = (cost[:, None] <= cost[None]).all(-1) & (cost[:, None] < cost[None]).any(-1)
            return [row["name"] for row, beaten in zip(rows, less.any(0)) if not beaten]
        """,
    },
    "energy_joules": {
        "numpy": """
            table = np.array(samples, float)
            if (
                len(table) < 2
                or np.isnan(table).any()
                or math.isnan(idle_watts)
                or (table[:, 1] < 0).any()
                or (np.diff(table[:, 0]) <= 0).any()
                or idle_watts < 0
            ):
                raise ValueError("samples")
            return np.diff(table[:, 0]) @ (table[1:, 1] + table[:-1, 1]) / 2 - idle_watts * np.ptp(
                table[:, 0]
            )
        """,
        "a running total": """
            if not idle_watts >= 0:
                raise ValueError("idle")
            total, last, count = 0.0, None, 0
            for second, watts in samples:
                if not watts >= 0 or math.isnan(second) or last and second <= last[0]:
                    raise ValueError("samples")
                if last:
                    total += (watts + last[1] - 2 * idle_watts) * (second - last[0]) / 2
                last, count = (second, watts), count + 1
            if count < 2:
                raise ValueError("two samples")
            return total
        """,
    },
    "audit_speedups": {
        "ranges that overlap": """
            if not rows or base <= 0:
                raise ValueError("rows")
            found = []
            for at, (name, claimed, minutes) in enumerate(rows):
                if claimed <= 0 or minutes < 1:
                    raise ValueError(name)
                before = rows[at - 1][2] if at else base
                low = max(base / (minutes + 0.5), claimed - 0.05)
                high = min(base / (minutes - 0.5), claimed + 0.05)
                found.append(dict(name=name, minutes=base / claimed, speedup=base / minutes,
                                  step=before / minutes, holds=low <= high))
            return found
        """,
        "in minutes": """
            if len(rows) == 0 or base <= 0 or min(min(c for _, c, _ in rows), 1) <= 0:
                raise ValueError("rows")
            if min(m for _, _, m in rows) < 1:
                raise ValueError("minutes")

            def holds(c, m):
                longest = base / (c - 0.05) if c > 0.05 else math.inf
                return m - 0.5 <= longest and base / (c + 0.05) <= m + 0.5

            lasts = [base] + [m for _, _, m in rows]
            return [
                {
                    "holds": holds(c, m),
                    "step": last / m,
                    "speedup": base / m,
                    "minutes": base / c,
                    "name": name,
                }
                for (name, c, m), last in zip(rows, lasts)
            ]
        """,
    },
    "audit_memory": {
        "a loop": """
            if parameters < 1 or len(rows) == 0 or gb != 10**9 and gb != 2**30:
                raise ValueError("range")
            found = []
            for name, size, claimed in rows:
                if size <= 0 or claimed < 0:
                    raise ValueError(name)
                floor = size * parameters / gb
                found.append({"name": name, "floor_gb": floor, "holds": not floor - claimed > 0.5})
            return found
        """,
        "numpy": """
            sizes = np.array([row[1] for row in rows], float)
            claims = np.array([row[2] for row in rows], float)
            if not len(rows) or parameters < 1 or (sizes <= 0).any() or (claims < 0).any():
                raise ValueError("range")
            if gb not in (1e9, 1024**3):
                raise ValueError("unit")
            floors = sizes * parameters / gb
            return [
                {"name": row[0], "floor_gb": float(f), "holds": bool(f <= c + 0.5)}
                for row, f, c in zip(rows, floors, claims)
            ]
        """,
    },
}
