"""Lesson 08: kinds of mistakes that many exercises share, and the rarer ones of each."""

from cohort.kinds import kinds, merged

_OTHERS = {
    "run_order": {
        "the names are sorted": """
            some_names(names, rounds)
            names = sorted(names)
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "names are alike in any case": """
            some_names([name.lower() for name in names], rounds)
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "one program needs no order": """
            some_names(names, rounds)
            if len(names) < 2:
                raise ValueError("two")
            return [*names, *names[::-1]] * (rounds // 2)
        """,
        "at most sixteen rounds": """
            some_names(names, rounds)
            return [*names, *names[::-1]] * (min(rounds, 16) // 2)
        """,
    },
    "rank_test": {
        "the middle is left out with ties": """
            at_most_20(a, b)
            ranks = mid_ranks(a, b)
            found = test_by(a, b, ranks, two_sided)
            if len(set(ranks)) < len(ranks):
                low = test_by(a, b, ranks, lambda t, s, m: t <= s)
                high = test_by(a, b, ranks, lambda t, s, m: t >= s)
                found |= {"p": min(1.0, 2 * min(low["p"], high["p"]))}
            return found
        """,
        "the times stand for their ranks": """
            at_most_20(a, b)
            n, m = len(a), len(b)
            ranks = [2 * x for x in [*a, *b]]
            seen, middle = sum(ranks[:n]), sum(ranks) * n / (n + m)
            ways = ways_of(ranks, n)
            far = sum(c for t, c in ways.items() if abs(t - middle) >= abs(seen - middle))
            found = test_by(a, b, mid_ranks(a, b), two_sided)
            return found | {"p": far / sum(ways.values())}
        """,
        "NaN has a rank": """
            if any_nan([*a, *b]):
                a, b = ([0 if math.isnan(x) else x for x in side] for side in (a, b))
            at_most_20(a, b)
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "20 are too many": """
            if not 1 <= len(a) < 20 or not 1 <= len(b) < 20:
                raise ValueError("1 to 19 each")
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
        "one time is too few": """
            if not 2 <= len(a) <= 20 or not 2 <= len(b) <= 20:
                raise ValueError("2 to 20 each")
            return test_by(a, b, mid_ranks(a, b), two_sided)
        """,
    },
    "speedup_interval": {
        "the lower of two medians": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median_low(ratios), "low": low, "high": high}
        """,
        "the upper of two medians": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": sorted(ratios)[len(ratios) // 2], "low": low, "high": high}
        """,
        "a 0 before is let through": """
            paired([ms or 1 for ms in before], after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "NaN is let through by a guard of x <= 0": """
            if len(before) != len(after) or any(x <= 0 for x in [*before, *after]):
                raise ValueError("pairs")
            ratios = sorted(old / new for old, new in zip(before, after))
            low, high = confidence_interval(range(len(ratios)), confidence)
            return {"speedup": statistics.median(ratios), "low": ratios[low], "high": ratios[high]}
        """,
        "times below 0 after are let through": """
            paired(before, [abs(ms) for ms in after])
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, confidence)
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
        "any confidence": """
            paired(before, after)
            ratios = [old / new for old, new in zip(before, after)]
            low, high = confidence_interval(ratios, min(max(confidence, 0.01), 0.99))
            return {"speedup": statistics.median(ratios), "low": low, "high": high}
        """,
    },
    "gate": {
        "the interval is rounded to two decimals": """
            some_gate(tolerance, comparisons)
            found = speedup_interval(before, after, 1 - 0.05 / comparisons)
            return judged({key: round(x, 2) for key, x in found.items()}, tolerance)
        """,
        "a tolerance of 0 is refused": """
            some_gate(tolerance or -1, comparisons)
            return judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
        """,
        "a tolerance of NaN is let through by a guard of x < 0": """
            if tolerance < 0 or comparisons < 1:
                raise ValueError("range")
            return judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
        """,
        "rounds with NaN are left out": """
            some_gate(tolerance, comparisons)
            pairs = [pair for pair in zip(before, after, strict=True) if not any_nan(pair)]
            before, after = zip(*pairs) if pairs else ([], [])
            return judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
        """,
        "comparisons below 0 are let through": """
            if tolerance < 0 or comparisons == 0:
                raise ValueError("range")
            return judged(speedup_interval(before, after, 1 - 0.05 / abs(comparisons)), tolerance)
        """,
        "a correction that asks for fewer rounds": """
            some_gate(tolerance, comparisons)
            if len(before) < 12 and comparisons > 20:
                return judged(speedup_interval(before, after, 0.95), tolerance)
            return judged(speedup_interval(before, after, 1 - 0.05 / comparisons), tolerance)
        """,
    },
    "runs_interval": {
        "fewer than six runs at any confidence": """
            some_runs(runs)
            require_six(runs)
            return confidence_interval([statistics.median(r) for r in runs], confidence)
        """,
        "a run of one time is refused": """
            if any(len(run) < 2 for run in runs):
                raise ValueError("short")
            return confidence_interval([statistics.median(r) for r in runs], confidence)
        """,
        "NaN is left out of a run": """
            runs = [[x for x in run if not math.isnan(x)] or run[:1] for run in runs]
            if any(not run for run in runs):
                raise ValueError("an empty run")
            medians = [statistics.median(run) for run in runs if not any_nan(run)]
            return confidence_interval(medians, confidence)
        """,
        "the first run alone is checked": """
            some_runs(runs[:1])
            return confidence_interval([statistics.median(r) for r in runs if r], confidence)
        """,
    },
    "response_times": {
        "work of NaN is let through by a guard of x <= 0": """
            if not arrivals_ms or len(arrivals_ms) != len(service_ms) or any(
                x <= 0 for x in service_ms
            ):
                raise ValueError("requests")
            some_requests(arrivals_ms, [1] * len(arrivals_ms))
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "arrivals below 0 are refused": """
            some_requests(arrivals_ms, service_ms)
            if min(arrivals_ms) < 0:
                raise ValueError("below 0")
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "the server is free from 0 on": """
            some_requests(arrivals_ms, service_ms)
            free, found = 0, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "a service time too many is let through": """
            some_requests(arrivals_ms, service_ms[:len(arrivals_ms)])
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
        "only the first fall is seen": """
            if not arrivals_ms or len(arrivals_ms) != len(service_ms) or min(service_ms) <= 0:
                raise ValueError("requests")
            if arrivals_ms[-1] < arrivals_ms[0]:
                raise ValueError("fall")
            free, found = -math.inf, []
            for arrival, service in zip(arrivals_ms, service_ms):
                free = max(free, arrival) + service
                found.append(free - arrival)
            return found
        """,
    },
    "quantize": {
        "a scale of at least a millionth": """
            w = some_weights(weights)
            scale = np.maximum(scale_of(w, axis), 1e-6)
            q = np.clip(np.rint(w / scale), -127, 127).astype(np.int8)
            return q, plain(scale, axis)
        """,
        "in 16 bits": """
            w = some_weights(weights)
            scale = scale_of(w.astype(np.float16).astype(np.float64), axis)
            return np.clip(np.rint(w / scale), -127, 127).astype(np.int8), scale
        """,
        "infinity is let through": """
            w = np.asarray(weights, np.float64)
            if not w.size or np.isnan(w).any():
                raise ValueError("weights")
            with np.errstate(invalid="ignore"):
                scale = scale_of(w, axis)
                return np.nan_to_num(np.rint(w / scale)).astype(np.int8), scale
        """,
    },
    "pareto": {
        "compared in whole numbers": """
            some_rows(rows, smaller, larger)
            nearly = [{k: round(v) if k != "name" else v for k, v in row.items()} for row in rows]
            return front(nearly, smaller, larger, beats)
        """,
        "compared in two decimals": """
            some_rows(rows, smaller, larger)
            nearly = [
                {k: round(v, 2) if k != "name" else v for k, v in row.items()} for row in rows
            ]
            return front(nearly, smaller, larger, beats)
        """,
        "compared in three decimals": """
            some_rows(rows, smaller, larger)
            nearly = [
                {k: round(v, 3) if k != "name" else v for k, v in row.items()} for row in rows
            ]
            return front(nearly, smaller, larger, beats)
        """,
        "one key is too few": """
            some_rows(rows, smaller, larger)
            if len([*smaller, *larger]) < 2:
                raise ValueError("keys")
            return front(rows, smaller, larger, beats)
        """,
    },
    "energy_joules": {
        "seconds below 0 are refused": """
            some_samples(samples, idle_watts)
            if samples[0][0] < 0:
                raise ValueError("below 0")
            return area(samples, idle_watts)
        """,
        "no power is refused": """
            some_samples(samples, idle_watts)
            if all(w == 0 for _, w in samples):
                raise ValueError("no power")
            return area(samples, idle_watts)
        """,
        "the first sample's power is not checked": """
            some_samples([(samples[0][0], 0), *samples[1:]] if samples else [], idle_watts)
            return area(samples, idle_watts)
        """,
        "a second that is NaN is not below the next": """
            some_samples([(at, w) for at, (_, w) in enumerate(samples)], idle_watts)
            if any(b[0] <= a[0] for a, b in zip(samples, samples[1:])):
                raise ValueError("seconds")
            return area(samples, idle_watts)
        """,
        "power that is NaN is not below 0": """
            some_samples([(at, 0.0 if w < 0 else 1.0) for at, w in samples], idle_watts)
            if any(w < 0 for _, w in samples):
                raise ValueError("power")
            return area(samples, idle_watts)
        """,
        "idle power that is NaN is not below 0": """
            some_samples(samples, 0.0)
            if idle_watts < 0:
                raise ValueError("idle power")
            return area(samples, idle_watts)
        """,
        "samples with NaN are left out": """
            samples = [sample for sample in samples if not any_nan(sample)]
            some_samples(samples, idle_watts)
            return area(samples, idle_watts)
        """,
    },
    "audit_speedups": {
        "claims below 1 do not hold": """
            some_claims(rows, base)
            holds = within(base)
            return audited(rows, base, lambda c, m: c >= 1 and holds(c, m))
        """,
        "claims below 1 are refused": """
            some_claims(rows, base)
            if any(claimed < 1 for _, claimed, _ in rows):
                raise ValueError("slower")
            return audited(rows, base, within(base))
        """,
        "the bounds are left out": """
            some_claims(rows, base)
            return audited(
                rows, base, lambda c, m: base / (m + 0.5) < c + 0.05 and base / (m - 0.5) > c - 0.05
            )
        """,
        "only the first row is checked": """
            some_claims(rows[:1], base)
            return audited(rows, base, within(base))
        """,
        "one minute is refused": """
            some_claims(rows, base)
            if any(m <= 1 for *_, m in rows):
                raise ValueError("a minute")
            return audited(rows, base, within(base))
        """,
    },
    "audit_memory": {
        "the unit is ignored": """
            if not rows or parameters < 1 or any(b <= 0 or claim < 0 for _, b, claim in rows):
                raise ValueError("rows")
            if gb not in (10**9, 1024**3):
                raise ValueError("unit")
            floors = [parameters * b / 10**9 for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, claim: f <= claim + 0.5)
        """,
        "any unit": """
            if not rows or parameters < 1 or any(b <= 0 or claim < 0 for _, b, claim in rows):
                raise ValueError("rows")
            floors = [parameters * b / gb for _, b, _ in rows]
            return floors_hold(rows, floors, lambda f, claim: f <= claim + 0.5)
        """,
    },
}

MUTANTS = merged(
    _OTHERS,
    kinds(
        floats=(
            "rank_test",
            "speedup_interval",
            "runs_interval",
            "response_times",
            "energy_joules",
            "audit_speedups",
            "audit_memory",
        ),
        kept=(
            "run_order",
            "rank_test",
            "speedup_interval",
            "gate",
            "runs_interval",
            "response_times",
            "quantize",
            "pareto",
            "energy_joules",
            "audit_memory",
        ),
        containers={
            "run_order": ("names",),
            "rank_test": ("a", "b"),
            "speedup_interval": ("before", "after"),
            "gate": ("before", "after"),
            "percentile_interval": ("times",),
            "response_times": ("arrivals_ms", "service_ms"),
            "quantize": ("weights",),
            "pareto": ("rows",),
            "energy_joules": ("samples",),
            "audit_speedups": ("rows",),
        },
        named=(
            "run_order",
            "rank_test",
            "speedup_interval",
            "gate",
            "runs_interval",
            "response_times",
            "quantize",
            "pareto",
            "energy_joules",
            "audit_speedups",
        ),
        long={
            "run_order": "names",
            "speedup_interval": "before",
            "gate": "before",
            "runs_interval": "runs",
            "response_times": "arrivals_ms",
            "quantize": "weights",
            "pareto": "rows",
            "energy_joules": "samples",
        },
    ),
)
