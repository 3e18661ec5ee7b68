"""Lesson 07: kinds of mistakes that many exercises share, and the rarer ones of each."""

from cohort.kinds import HELPERS, kinds, merged  # noqa: F401

_OTHERS = {
    "local_exponents": {
        "a size may be there twice": """
            if len(sizes) < 2 or len(sizes) != len(values) or min(*sizes, *values) <= 0:
                raise ValueError("sizes")
            if list(sizes) != sorted(sizes):
                raise ValueError("order")
            points = list(zip(sizes, values))
            return [
                math.log(d / b) / math.log(c / a) if a != c else 0.0
                for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "at least three sizes": """
            if len(sizes) < 3:
                raise ValueError("three")
            rising(sizes, values)
            points = list(zip(sizes, values))
            return [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
        """,
        "small exponents are none": """
            rising(sizes, values)
            points = list(zip(sizes, values))
            found = [
                math.log(d / b) / math.log(c / a) for (a, b), (c, d) in zip(points, points[1:])
            ]
            return [p if abs(p) > 0.01 else 0.0 for p in found]
        """,
    },
    "fit_cost": {
        "sizes as an array of whole numbers": """
            measured(sizes, times_ms, powers)
            n, t = np.array(sizes), np.array(times_ms, float)
            return solve(np.stack([n**p / t for p in powers], axis=1), np.ones(len(n)))
        """,
        "powers below 0 are refused": """
            measured(sizes, times_ms, powers)
            if min(powers) < 0:
                raise ValueError("powers")
            return relative(sizes, times_ms, powers)
        """,
        "as many sizes as powers are too few": """
            measured(sizes, times_ms, powers)
            if len(sizes) == len(powers):
                raise ValueError("few")
            return relative(sizes, times_ms, powers)
        """,
        "a time of 0 is let through": """
            measured(sizes, [ms or 1.0 for ms in times_ms], powers)
            return relative(sizes, [ms or 1e-12 for ms in times_ms], powers)
        """,
        "a time too many is let through": """
            measured(sizes, times_ms[:len(sizes)], powers)
            return relative(sizes, times_ms[:len(sizes)], powers)
        """,
    },
    "holdout_error": {
        "the largest as a whole number of numpy's": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            prices = relative(kept, took, powers)
            return float(sum(c * np.array(size) ** p for c, p in zip(prices, powers)) / ms - 1)
        """,
        "only the largest's time is checked": """
            if len(sizes) != len(times_ms) or times_ms[sizes.index(max(sizes))] <= 0:
                raise ValueError("times")
            times = [abs(ms) or 1e-9 for ms in times_ms]
            kept, took, size, ms = split_largest(sizes, times, powers)
            return value_at(relative(kept, took, powers), size, powers) / ms - 1
        """,
        "errors below 1 % are none": """
            kept, took, size, ms = split_largest(sizes, times_ms, powers)
            error = value_at(relative(kept, took, powers), size, powers) / ms - 1
            return error if abs(error) > 0.01 else 0.0
        """,
    },
    "batch_cost": {
        "an overhead below 0 is 0 in one of two keys": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            return found | {"overhead_ms": max(0.0, found["overhead_ms"])}
        """,
        "a half batch below 0 is 0": """
            measured(sizes, latencies_ms, (0, 1))
            found = cost_figures(*relative(sizes, latencies_ms, (0, 1)))
            return found | {"half_batch": max(0.0, found["half_batch"])}
        """,
    },
    "predict_ms": {
        "times below a microsecond are none": """
            some_rows(rows, overhead_ms)
            total = 0.0
            for flops, moved in map(work_of, rows):
                ms = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
                total += (ms if ms >= 1e-3 else 0.0) + (overhead_ms if flops or moved else 0.0)
            return total
        """,
        "an overhead below 0 counts only where an op costs something": """
            some_rows(rows, 0)
            work = [pair for pair in map(work_of, rows) if any(pair)]
            some_rows(rows, overhead_ms if work else 0)
            return float(sum(
                1000 * max(f / hardware.peak_flops, m / hardware.bandwidth) + overhead_ms
                for f, m in work
            ))
        """,
    },
    "matmul_addresses": {
        "any word of three letters": """
            if n < 1 or len(set(order)) != 3 or len(order) != 3 or (tile is not None and tile < 1):
                raise ValueError("range")
            letters = order if set(order) == set("ijk") else "ijk"
            return walk(n, letters, tile or n)
        """,
        "no negative tiles are tiles of all": """
            tile = product(n, order, tile if tile is None or tile >= 0 else None)
            return walk(n, order, tile)
        """,
        "at most 16 × 16": """
            tile = product(n, order, tile)
            if n > 16:
                raise ValueError("large")
            return walk(n, order, tile)
        """,
    },
    "cache_misses": {
        "lines of one number are refused": """
            a_cache(line - 1, lines)
            return kept([a // line for a in addresses], lines)
        """,
        "a cache of one line is refused": """
            a_cache(line, lines - 1)
            return kept([a // line for a in addresses], lines)
        """,
        "a cache of one number misses always": """
            a_cache(line, lines)
            if line * lines == 1:
                return len(addresses)
            return kept([a // line for a in addresses], lines)
        """,
        "nothing is checked without addresses": """
            if not addresses:
                return 0
            a_cache(line, lines)
            return kept([a // line for a in addresses], lines)
        """,
    },
    "traffic_bound": {
        "a negative capacity is let through": """
            all_positive(n, abs(capacity))
            return max(0.0, 2 * n**3 / math.sqrt(abs(capacity)) - 2 * capacity)
        """,
        "1 is refused": """
            all_positive(n - 1, capacity - 1)
            return max(0.0, 2 * n**3 / math.sqrt(capacity) - 2 * capacity)
        """,
    },
    "set_misses": {
        "ways are not checked": """
            a_cache(line, sets)
            groups = [[a // line for a in addresses if a // line % sets == s] for s in range(sets)]
            return sum(kept(group, max(ways, 1)) for group in groups)
        """,
        "one way is refused": """
            a_cache(line, sets, ways - 1)
            groups = [[a // line for a in addresses if a // line % sets == s] for s in range(sets)]
            return sum(kept(group, ways) for group in groups)
        """,
    },
    "speedup_steps": {
        "at least three programs": """
            times = some_times(seconds)
            if len(times) < 3:
                raise ValueError("three")
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "slower in the end is refused": """
            times = some_times(seconds)
            if times[-1] > times[0]:
                raise ValueError("slower")
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "a time of 0 in the middle is let through": """
            some_times({k: v for k, v in seconds.items() if v})
            times = [t or 1e-9 for t in seconds.values()]
            if not (list(seconds.values())[0] and list(seconds.values())[-1]):
                raise ValueError("0")
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "more than a thousandfold is refused": """
            times = some_times(seconds)
            if max(times) / min(times) > 1000:
                raise ValueError("too good")
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
    },
    "reflect_crossover_tokens": {
        "shares above one half are refused": """
            a_share(d_model, share)
            if share > 0.5:
                raise ValueError("share")
            return 6 * d_model * share / (1 - share)
        """,
        "a share below 0 is let through": """
            a_share(d_model, abs(share))
            return 6 * d_model * share / (1 - share)
        """,
        "a width of 1 is refused": """
            a_share(d_model - 1, share)
            return 6 * d_model * share / (1 - share)
        """,
    },
}

_SEVERAL = (
    "local_exponents",
    "fit_cost",
    "holdout_error",
    "batch_cost",
    "predict_ms",
    "matmul_addresses",
    "cache_misses",
    "traffic_bound",
    "set_misses",
    "reflect_crossover_tokens",
)
MUTANTS = merged(
    _OTHERS,
    kinds(
        floats=(
            "local_exponents",
            "fit_cost",
            "holdout_error",
            "batch_cost",
            "predict_ms",
            "traffic_bound",
            "speedup_steps",
            "reflect_crossover_tokens",
        ),
        kept=[name for name in _SEVERAL if name != "set_misses"],
        containers={
            "local_exponents": ("sizes", "values"),
            "fit_cost": ("sizes", "times_ms"),
            "holdout_error": ("sizes", "times_ms"),
            "batch_cost": ("sizes", "latencies_ms"),
            "predict_ms": ("rows",),
            "cache_misses": ("addresses",),
            "set_misses": ("addresses",),
            "speedup_steps": ("seconds",),
        },
        named=[name for name in _SEVERAL if name != "set_misses"],
        long={
            "local_exponents": "sizes",
            "fit_cost": "sizes",
            "holdout_error": "sizes",
            "predict_ms": "rows",
            "cache_misses": "addresses",
            "set_misses": "addresses",
            "speedup_steps": "seconds",
        },
    ),
)
