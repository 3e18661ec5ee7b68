"""Lesson 03: right statistics, intervals, warnings and choices in unusual style."""

ALTERNATES = {
    "latency_statistics": {
        "by hand": """
            n = len(times_ms)
            if not n:
                raise ValueError("no times")
            ordered = sorted(times_ms)
            def percentile(p):
                place = p * (n - 1) / 100
                low = math.floor(place)
                high = math.ceil(place)
                return ordered[low] + (place - low) * (ordered[high] - ordered[low])
            mean = sum(ordered) / n
            squares = sum((t - mean) ** 2 for t in ordered)
            return dict(
                p99=percentile(99), p95=percentile(95), p50=percentile(50), max=ordered[-1],
                min=ordered[0], std=math.sqrt(squares / (n - 1)) if n > 1 else 0.0,
                median=percentile(50), mean=mean,
            )
        """,
        "numpy": """
            times = np.asarray(times_ms, dtype=float)
            if times.size < 1:
                raise ValueError("no times")
            found = {name: getattr(times, name)() for name in ("mean", "min", "max")}
            found["std"] = times.std(ddof=1) if times.size > 1 else 0
            found["median"] = np.median(times)
            return found | {f"p{p}": np.quantile(times, p / 100) for p in (50, 95, 99)}
        """,
        "statistics": """
            if not times_ms:
                raise ValueError("no times")
            cuts = [times_ms[0]] * 99
            if len(times_ms) > 1:
                cuts = statistics.quantiles(times_ms, n=100, method="inclusive")
            return {
                "mean": statistics.mean(times_ms),
                "median": statistics.median(times_ms),
                "std": statistics.stdev(times_ms) if len(times_ms) > 1 else 0.0,
                "min": min(times_ms),
                "max": max(times_ms),
                "p50": cuts[49],
                "p95": cuts[94],
                "p99": cuts[98],
            }
        """,
    },
    "confidence_interval": {
        "from the middle outwards": """
            if confidence <= 0 or confidence >= 1:
                raise ValueError("confidence")
            n, times = len(times_ms), sorted(times_ms)
            if any(ms != ms for ms in times):
                raise ValueError("NaN")
            for rank in range(n // 2, 0, -1):
                held = sum(math.comb(n, heads) for heads in range(rank, n - rank + 1))
                if held / 2**n >= confidence:
                    return (times[rank - 1], times[n - rank])
            raise ValueError("too few")
        """,
        "fractions": """
            from fractions import Fraction
            n = len(times_ms)
            if not 0 < confidence < 1 or np.isnan(times_ms).any():
                raise ValueError("confidence, or NaN")
            below = [Fraction(0)]
            for k in range(n):
                below.append(below[-1] + Fraction(math.comb(n, k), 2**n))
            fine = [l for l in range(1, (n + 1) // 2 + 1) if 1 - 2 * below[l] >= confidence]
            if not fine:
                raise ValueError("too few")
            ordered = np.sort(times_ms)
            return [ordered[fine[-1] - 1], ordered[-fine[-1]]]
        """,
        "by tails, with logarithms": """
            n = len(times_ms)
            if not 0 < confidence < 1 or sum(times_ms) != sum(times_ms):
                raise ValueError("confidence, or NaN")
            def chance(k):
                both = math.lgamma(k + 1) + math.lgamma(n - k + 1)
                return math.exp(math.lgamma(n + 1) - both - n * math.log(2))
            tail, rank = 0.0, 0
            while 2 * rank < n and 2 * (tail + chance(rank)) <= 1 - confidence + 1e-12:
                tail += chance(rank)
                rank += 1
            if rank == 0:
                raise ValueError("too few")
            ordered = sorted(times_ms)
            return ordered[rank - 1], ordered[-rank]
        """,
        "the distribution by folding": """
            if not 0 < confidence < 1 or any(map(math.isnan, times_ms)):
                raise ValueError("confidence, or NaN")
            n, chances = len(times_ms), np.ones(1)
            for _ in range(n):
                chances = np.convolve(chances, [0.5, 0.5])
            ordered, best = sorted(times_ms), None
            for l in range(1, n // 2 + 1):
                if chances[l : n + 1 - l].sum() >= confidence - 1e-12:
                    best = ordered[l - 1], ordered[n - l]
            if best is None:
                raise ValueError("too few")
            return best
        """,
    },
    "measurement_warnings": {
        "one after the other": """
            if resolution_ms <= 0 or not len(times_ms):
                raise ValueError("arguments")
            times, found = np.array(times_ms), []
            if len(times) > 1 and times.std(ddof=1) / times.mean() >= 0.1:
                found.append("spread")
            if np.abs(times[[times.argmin(), times.argmax()]] / times.mean() - 1).max() >= 0.5:
                found.append("outliers")
            third = len(times) // 3
            if third:
                before, after = np.median(times[:third]), np.median(times[-third:])
                if max(before, after) - min(before, after) > before / 10:
                    found.append("drift")
            if np.median(times) / resolution_ms < 100:
                found.append("too_short")
            return found
        """,
        "a generator": """
            if not times_ms or not resolution_ms > 0:
                raise ValueError("arguments")
            def found():
                mean, n = statistics.fmean(times_ms), len(times_ms)
                if n > 1 and 10 * statistics.stdev(times_ms) >= mean:
                    yield "spread"
                if any(2 * abs(t - mean) >= mean for t in times_ms):
                    yield "outliers"
                if n > 2:
                    third = n // 3
                    a = statistics.median(times_ms[:third])
                    b = statistics.median(times_ms[-third:])
                    if abs(b / a - 1) > 0.1:
                        yield "drift"
                if statistics.median(times_ms) < resolution_ms * 100:
                    yield "too_short"
            return tuple(found())
        """,
    },
    "throughput": {
        "seconds first": """
            seconds = latency_ms / 1000
            if not (batch_size > 0 and seconds > 0):
                raise ValueError("arguments")
            return batch_size / seconds
        """,
        "numpy": """
            if min(batch_size, latency_ms) <= 0:
                raise ValueError("arguments")
            return np.float64(batch_size) / latency_ms * 1e3
        """,
        "a lambda": """
            throughput = lambda n, ms: (n * 1000) / ms if n >= 1 and ms > 0 else int("no")
        """,
    },
    "best_batch": {
        "sort keys": """
            matched(sizes, latencies_ms)
            rows = [(n, ms, 1000 * n / ms) for n, ms in zip(sizes, latencies_ms)]
            if rule == "latency":
                rows.sort(key=lambda row: (row[1], row[0]))
            elif rule == "throughput":
                rows.sort(key=lambda row: (-row[2], row[0]))
            elif rule == "efficiency":
                top = max(row[2] for row in rows)
                rows = sorted(row for row in rows if row[2] >= 0.9 * top)
            else:
                raise ValueError(rule)
            return rows[0][0]
        """,
        "numpy": """
            matched(sizes, latencies_ms)
            order = np.argsort(sizes, kind="stable")
            n, ms = np.array(sizes)[order], np.array(latencies_ms)[order]
            rates = 1000 * n / ms
            if rule not in ("throughput", "latency", "efficiency"):
                raise ValueError("rule")
            good = {
                "throughput": rates == rates.max(),
                "latency": ms == ms.min(),
                "efficiency": rates >= 0.9 * rates.max(),
            }[rule]
            return n[good][0]
        """,
        "match": """
            matched(sizes, latencies_ms)
            rate = {n: throughput(n, ms) for n, ms in zip(sizes, latencies_ms)}
            match rule:
                case "throughput":
                    return min(n for n in sizes if rate[n] == max(rate.values()))
                case "latency":
                    fastest = min(latencies_ms)
                    return min(n for n, ms in zip(sizes, latencies_ms) if ms == fastest)
                case "efficiency":
                    return min(n for n in sizes if rate[n] / max(rate.values()) >= 0.9)
            raise ValueError(f"no rule {rule}")
        """,
    },
}
