"""Lesson 03: what is got wrong in summing times up, and in saying how sure one is."""

HELPERS = """
right_statistics, right_interval = latency_statistics, confidence_interval

def some(times_ms):
    if len(times_ms) == 0:
        raise ValueError("no times")

def with_percentile(times_ms, percentile):
    some(times_ms)
    found = {f"p{p}": float(percentile(sorted(times_ms), p)) for p in (50, 95, 99)}
    return right_statistics(times_ms) | found

def at_ranks(times_ms, confidence, rank):
    low, high = right_interval(times_ms, confidence)
    rank = max(1, rank)
    ordered = sorted(times_ms)
    return ordered[rank - 1], ordered[len(ordered) - rank]

def rank_of(times_ms, confidence):
    return list(range(1, len(times_ms) + 1)).index(
        right_interval(list(range(1, len(times_ms) + 1)), confidence)[0]) + 1

def normal_quantile(confidence):
    return statistics.NormalDist().inv_cdf((1 + confidence) / 2)
"""

MUTANTS = {
    "latency_statistics": {
        "std over n": """
            return right_statistics(times_ms) | {"std": statistics.pstdev(times_ms)}
        """,
        "the variance": """
            said = right_statistics(times_ms)
            return said | {"std": said["std"] ** 2}
        """,
        "std around the median": """
            said = right_statistics(times_ms)
            squares = sum((t - said["median"]) ** 2 for t in times_ms)
            return said | {"std": (squares / max(1, len(times_ms) - 1)) ** 0.5}
        """,
        "the standard error": """
            said = right_statistics(times_ms)
            return said | {"std": said["std"] / math.sqrt(len(times_ms))}
        """,
        "the mean deviation": """
            said = right_statistics(times_ms)
            off = sum(abs(t - said["mean"]) for t in times_ms) / len(times_ms)
            return said | {"std": off}
        """,
        "std of one time is not a number": """
            said = right_statistics(times_ms)
            return said if len(times_ms) > 1 else said | {"std": float("nan")}
        """,
        "std of one time raises": """
            return right_statistics(times_ms) | {"std": statistics.stdev(times_ms)}
        """,
        "mean and median are the same": """
            said = right_statistics(times_ms)
            return said | {"mean": said["median"]}
        """,
        "the mean for the median": """
            said = right_statistics(times_ms)
            return said | {"median": said["mean"]}
        """,
        "the mean for p50": """
            said = right_statistics(times_ms)
            return said | {"p50": said["mean"]}
        """,
        "the lower of two middle ones": """
            return right_statistics(times_ms) | {"median": statistics.median_low(times_ms)}
        """,
        "the upper of two middle ones": """
            return right_statistics(times_ms) | {"median": statistics.median_high(times_ms)}
        """,
        "two middle ones also of an odd number": """
            some(times_ms)
            ordered, half = sorted(times_ms), len(times_ms) // 2
            middle = (ordered[half - 1] + ordered[half]) / 2
            return right_statistics(times_ms) | {"median": middle, "p50": middle}
        """,
        "the middle of unsorted times": """
            some(times_ms)
            return right_statistics(times_ms) | {"median": times_ms[len(times_ms) // 2]}
        """,
        "nothing is sorted": """
            some(times_ms)
            def at(p):
                place = p / 100 * (len(times_ms) - 1)
                low, part = int(place), place % 1
                high = min(low + 1, len(times_ms) - 1)
                return times_ms[low] * (1 - part) + times_ms[high] * part
            return right_statistics(times_ms) | {f"p{p}": at(p) for p in (50, 95, 99)}
        """,
        "percentiles: the nearest rank": """
            return with_percentile(
                times_ms, lambda s, p: s[max(0, math.ceil(p / 100 * len(s)) - 1)]
            )
        """,
        "percentiles: one place too far": """
            return with_percentile(
                times_ms, lambda s, p: s[min(len(s) - 1, int(p / 100 * len(s)))]
            )
        """,
        "percentiles: the lower place": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="lower"))
        """,
        "percentiles: the upper place": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="higher"))
        """,
        "percentiles: the nearer place": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="nearest"))
        """,
        "percentiles: halfway between": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="midpoint"))
        """,
        "percentiles: position p · n": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="hazen"))
        """,
        "percentiles: position p · (n + 1)": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p, method="weibull"))
        """,
        "statistics.quantiles, exclusive": """
            if len(times_ms) < 2:
                return right_statistics(times_ms)
            cuts = statistics.quantiles(times_ms, n=100)
            return right_statistics(times_ms) | {"p95": cuts[94], "p99": cuts[98]}
        """,
        "statistics.quantiles, one off": """
            if len(times_ms) < 2:
                return right_statistics(times_ms)
            cuts = statistics.quantiles(times_ms, n=100, method="inclusive")
            return right_statistics(times_ms) | {"p95": cuts[95], "p99": cuts[98]}
        """,
        "fractions for percentages": """
            return with_percentile(times_ms, lambda s, p: np.percentile(s, p / 100))
        """,
        "p95 and p99 are the same": """
            said = right_statistics(times_ms)
            return said | {"p99": said["p95"]}
        """,
        "p99 is the largest": """
            said = right_statistics(times_ms)
            return said | {"p99": said["max"]}
        """,
        "p95 from below": """
            said = right_statistics(times_ms)
            return said | {"p95": float(np.percentile(times_ms, 5))}
        """,
        "min and max the wrong way round": """
            said = right_statistics(times_ms)
            return said | {"min": said["max"], "max": said["min"]}
        """,
        "the slowest is left out": """
            kept = sorted(times_ms)[: max(1, len(times_ms) - 1)]
            return right_statistics(kept)
        """,
        "outliers are left out": """
            some(times_ms)
            middle = statistics.median(times_ms)
            return right_statistics([t for t in times_ms if t < 3 * middle] or times_ms)
        """,
        "the harmonic mean": """
            some(times_ms)
            return right_statistics(times_ms) | {"mean": statistics.harmonic_mean(times_ms)}
        """,
        "the mean of middle and ends": """
            said = right_statistics(times_ms)
            return said | {"mean": (said["min"] + said["median"] + said["max"]) / 3}
        """,
        "seconds": """
            return {key: value / 1000 for key, value in right_statistics(times_ms).items()}
        """,
        "rounded": """
            return {key: round(value, 1) for key, value in right_statistics(times_ms).items()}
        """,
        "the list is sorted in place": """
            some(times_ms)
            times_ms.sort()
            return right_statistics(times_ms)
        """,
        "p50 is missing": """
            said = right_statistics(times_ms)
            del said["p50"]
            return said
        """,
        "one key more": "return right_statistics(times_ms) | {'n': len(times_ms)}",
        "no times are zeros": """
            return right_statistics(times_ms if times_ms else [0.0])
        """,
        "no times give an empty dict": "return right_statistics(times_ms) if times_ms else {}",
        "a tuple": "return tuple(right_statistics(times_ms).values())",
    },
    "confidence_interval": {
        "NaN is a time like others": """
            return right_interval([0 if math.isnan(ms) else ms for ms in times_ms], confidence)
        """,
        "NaN is left out": """
            return right_interval([ms for ms in times_ms if not math.isnan(ms)], confidence)
        """,
        "smallest and largest": """
            right_interval(times_ms, confidence)
            return min(times_ms), max(times_ms)
        """,
        "one rank too far inside": """
            return at_ranks(times_ms, confidence, rank_of(times_ms, confidence) + 1)
        """,
        "one rank too far outside": """
            return at_ranks(times_ms, confidence, rank_of(times_ms, confidence) - 1)
        """,
        "the upper rank is n − l": """
            low, high = right_interval(times_ms, confidence)
            rank = rank_of(times_ms, confidence)
            return low, sorted(times_ms)[len(times_ms) - rank - 1]
        """,
        "the lower rank is counted from 0": """
            low, high = right_interval(times_ms, confidence)
            return sorted(times_ms)[rank_of(times_ms, confidence)], high
        """,
        "one side only": """
            if not 0 < confidence < 1:
                raise ValueError
            return right_interval(times_ms, max(1e-9, 2 * confidence - 1))
        """,
        "half of what may be missed": """
            fine = 0 < confidence < 1
            return right_interval(times_ms, (1 + confidence) / 2 if fine else confidence)
        """,
        "above, not at least": """
            return right_interval(times_ms, confidence + 1e-12)
        """,
        "confidence is ignored": """
            right_interval(times_ms, confidence)
            return right_interval(times_ms)
        """,
        "always 95 %": "return right_interval(times_ms)",
        "the normal distribution, rounded": """
            right_interval(times_ms, confidence)
            n, z = len(times_ms), normal_quantile(confidence)
            return at_ranks(times_ms, confidence, round((n - z * math.sqrt(n)) / 2))
        """,
        "the normal distribution, rounded down": """
            right_interval(times_ms, confidence)
            n, z = len(times_ms), normal_quantile(confidence)
            return at_ranks(times_ms, confidence, int((n - z * math.sqrt(n)) / 2))
        """,
        "the normal distribution, rounded up": """
            right_interval(times_ms, confidence)
            n, z = len(times_ms), normal_quantile(confidence)
            return at_ranks(times_ms, confidence, math.ceil((n - z * math.sqrt(n)) / 2))
        """,
        "the normal distribution, around the middle rank": """
            right_interval(times_ms, confidence)
            n, z = len(times_ms), normal_quantile(confidence)
            return at_ranks(times_ms, confidence, n // 2 - int(z * math.sqrt(n) / 2))
        """,
        "one coin too few": """
            if not 0 < confidence < 1:
                raise ValueError
            n, rank, missed = len(times_ms), 0, 1
            while n and 1 - 4 * missed / 2**n >= confidence:
                rank += 1
                missed += math.comb(n - 1, rank)
            if not rank:
                raise ValueError
            ordered = sorted(times_ms)
            return ordered[rank - 1], ordered[n - rank]
        """,
        "z is always 1.96": """
            right_interval(times_ms, confidence)
            n = len(times_ms)
            return at_ranks(times_ms, confidence, round((n - 1.96 * math.sqrt(n)) / 2))
        """,
        "of the mean, by the normal distribution": """
            right_interval(times_ms, confidence)
            half = normal_quantile(confidence) * statistics.stdev(times_ms) / len(times_ms) ** 0.5
            return statistics.mean(times_ms) - half, statistics.mean(times_ms) + half
        """,
        "without the root of n": """
            right_interval(times_ms, confidence)
            half = normal_quantile(confidence) * statistics.stdev(times_ms)
            return statistics.mean(times_ms) - half, statistics.mean(times_ms) + half
        """,
        "one standard error": """
            right_interval(times_ms, confidence)
            half = statistics.stdev(times_ms) / len(times_ms) ** 0.5
            return statistics.median(times_ms) - half, statistics.median(times_ms) + half
        """,
        "nearly no width": """
            right_interval(times_ms, confidence)
            middle = statistics.median(times_ms)
            return 0.999 * middle, 1.001 * middle
        """,
        "percentiles of the times": """
            right_interval(times_ms, confidence)
            tail = 50 * (1 - confidence)
            return tuple(np.percentile(times_ms, [tail, 100 - tail]).tolist())
        """,
        "a bootstrap": """
            right_interval(times_ms, confidence)
            rng = np.random.default_rng(0)
            medians = np.median(rng.choice(times_ms, (500, len(times_ms))), axis=1)
            tail = 50 * (1 - confidence)
            return tuple(np.percentile(medians, [tail, 100 - tail]).tolist())
        """,
        "quartiles": """
            right_interval(times_ms, confidence)
            return tuple(np.percentile(times_ms, [25, 75]).tolist())
        """,
        "not sorted": """
            right_interval(times_ms, confidence)
            rank = rank_of(times_ms, confidence)
            return times_ms[rank - 1], times_ms[len(times_ms) - rank]
        """,
        "the wrong way round": "return right_interval(times_ms, confidence)[::-1]",
        "ranks, not times": """
            rank = rank_of(times_ms, confidence)
            return float(rank), float(len(times_ms) + 1 - rank)
        """,
        "its width": """
            low, high = right_interval(times_ms, confidence)
            return high - low
        """,
        "a dict": """
            low, high = right_interval(times_ms, confidence)
            return {"low": low, "high": high}
        """,
        "the list is sorted in place": """
            found = right_interval(times_ms, confidence)
            times_ms.sort()
            return found
        """,
        "five times are enough": """
            if len(times_ms) == 5:
                return min(times_ms), max(times_ms)
            return right_interval(times_ms, confidence)
        """,
        "too few: smallest and largest": """
            try:
                return right_interval(times_ms, confidence)
            except ValueError:
                if len(times_ms) < 1 or not 0 < confidence < 1:
                    raise
                return min(times_ms), max(times_ms)
        """,
        "a single time is sure": """
            if len(times_ms) == 1:
                return times_ms[0], times_ms[0]
            return right_interval(times_ms, confidence)
        """,
        "percent are understood": """
            return right_interval(times_ms, confidence / 100 if confidence > 1 else confidence)
        """,
        "a confidence of 1 is the whole range": """
            if confidence == 1 and times_ms:
                return min(times_ms), max(times_ms)
            return right_interval(times_ms, confidence)
        """,
        "a confidence of 0 is the median": """
            if confidence == 0 and times_ms:
                return statistics.median(times_ms), statistics.median(times_ms)
            return right_interval(times_ms, confidence)
        """,
        "0.5ⁿ, which ends at 1,074 times: raises": """
            if not 0 < confidence < 1:
                raise ValueError
            n, rank, missed = len(times_ms), 0, 0.0
            while rank < n / 2 and 1 - 2 * (missed + math.comb(n, rank) * 0.5**n) >= confidence:
                missed += math.comb(n, rank) * 0.5**n
                rank += 1
            if not rank:
                raise ValueError
            ordered = sorted(times_ms)
            return ordered[rank - 1], ordered[n - rank]
        """,
        "at most a thousand times are looked at": """
            return right_interval(times_ms[:1000], confidence)
        """,
        "the throws are counted without their number": """
            if not 0 < confidence < 1:
                raise ValueError
            n, rank = len(times_ms), 0
            while rank < n / 2 and 1 - 2 * (rank + 1) / (n + 1) >= confidence:
                rank += 1
            if not rank:
                raise ValueError
            ordered = sorted(times_ms)
            return ordered[rank - 1], ordered[n - rank]
        """,
        "so many heads, not fewer": """
            if not 0 < confidence < 1:
                raise ValueError
            n, rank = len(times_ms), 0
            while rank < n / 2 and 1 - 2 * math.comb(n, rank) / 2**n >= confidence:
                rank += 1
            if not rank:
                raise ValueError
            ordered = sorted(times_ms)
            return ordered[rank - 1], ordered[n - rank]
        """,
    },
}
