"""Lesson 06: slips that look right where only 0, round numbers or a few rows were tried."""

HELPERS = """
right_intensity, right_ridge, right_attainable = arithmetic_intensity, ridge_point, attainable_flops
right_matmul_bytes, right_elementwise, right_attention = (
    matmul_bytes, elementwise_bytes, attention_bytes
)
right_peak, right_bandwidth, right_mfu = measure_peak_flops, measure_bandwidth, mfu
right_amdahl, right_relu = amdahl, reflect_relu

def none_is_zero(*values):
    if 0 in values:
        raise ValueError("0")
"""

MUTANTS = {
    "arithmetic_intensity": {
        "two decimals": "return round(right_intensity(flops, bytes_moved), 2)",
        "only no bytes are refused": """
            none_is_zero(bytes_moved)
            return flops / bytes_moved
        """,
        "only the bytes are checked": "positive(bytes_moved)\nreturn flops / bytes_moved",
        "whole bytes": "return right_intensity(flops, bytes_moved and math.ceil(bytes_moved))",
    },
    "ridge_point": {
        "two decimals": "return round(right_ridge(peak_flops, bandwidth), 2)",
        "three decimals": "return round(right_ridge(peak_flops, bandwidth), 3)",
        "only 0 is refused": """
            none_is_zero(peak_flops, bandwidth)
            return peak_flops / bandwidth
        """,
    },
    "attainable_flops": {
        "only 0 is refused": """
            at_least(0, intensity)
            none_is_zero(peak_flops, bandwidth)
            return float(min(peak_flops, intensity * bandwidth))
        """,
        "whole GFLOP/s": "return right_attainable(intensity, peak_flops, bandwidth) // 1e9 * 1e9",
        "whole FLOPs a byte": """
            at_least(0, intensity)
            whole = intensity if intensity == math.inf else int(intensity)
            return right_attainable(whole, peak_flops, bandwidth)
        """,
    },
    "matmul_bytes": {
        "only 0 is refused": """
            none_is_zero(m, k, n, itemsize)
            return (m * k + k * n + m * n) * itemsize
        """,
        "32-bit product": """
            found = right_matmul_bytes(m, k, n, itemsize)
            return (found + 2**31) % 2**32 - 2**31
        """,
    },
    "elementwise_bytes": {
        "only 0 is refused": """
            none_is_zero(*shape, itemsize)
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
    },
    "attention_bytes": {
        "only 0 is refused": """
            none_is_zero(batch, heads, seq, head_dim, itemsize)
            return batch * heads * seq * 4 * (head_dim + (0 if fused else seq)) * itemsize
        """,
        "the batch is left out": """
            return right_attention(batch, heads, seq, head_dim, itemsize, fused) // batch
        """,
    },
    "measure_peak_flops": {
        "only 0 is refused": """
            if not len(sizes) or 0 in (*sizes, repeats):
                raise ValueError("0")
            sizes = [abs(n) for n in sizes]
            return right_peak(matmul, sizes, dtype, abs(repeats))
        """,
        "whole GFLOP/s": "return right_peak(matmul, sizes, dtype, repeats) // 1e9 * 1e9",
    },
    "measure_bandwidth": {
        "a destination that only the first copy writes": """
            source, _ = halves(working_set, repeats)
            destination = np.empty_like(source)
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "a destination of zeros that nobody wrote": """
            source, _ = halves(working_set, repeats)
            destination = np.zeros_like(source)
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "only 0 repeats are refused": """
            if repeats == 0:
                raise ValueError("0")
            return right_bandwidth(working_set, copy, abs(repeats))
        """,
        "negative sets are made positive": """
            return right_bandwidth(abs(working_set), copy, repeats)
        """,
    },
    "roofline_points": {
        "at most fifty": "return right_points(rows, hardware)[:50]",
        "remembered by the row's id": """
            def roofline_points(rows, hardware):
                known = roofline_points.known
                for row in rows:
                    key = id(row), hardware
                    if key not in known:
                        known[key] = row, right_points([row], hardware)
                return [dict(p) for row in rows for p in known[id(row), hardware][1]]

            roofline_points.known = {}
        """,
        "efficiency with two decimals": """
            points = right_points(rows, hardware)
            return [p | {"efficiency": round(p["efficiency"], 2)} for p in points]
        """,
        "intensity with three decimals": """
            points = right_points(rows, hardware)
            return [p | {"intensity": round(p["intensity"], 3)} for p in points]
        """,
        "no time is refused": """
            if any(not row["self_ms"] for row in rows):
                raise ValueError("no time")
            return right_points(rows, hardware)
        """,
    },
    "classify": {
        "less than 1.2 times": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 4 * max(a, b) and max(a, b) == 1.2 * min(a, b):
                return "compute" if a > b else "memory"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "only 0 is refused": """
            none_is_zero(seconds, peak_flops, bandwidth)
            return right_classify(flops, bytes_moved, abs(seconds), abs(peak_flops), abs(bandwidth))
        """,
        "equal times are compute": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if a == b and seconds <= 4 * a:
                return "compute"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
    },
    "inspect_step": {
        "the lower of two medians": """
            times = sorted(step["times_ms"])
            if len(times) >= 3 and stdev(times) < 0.1 * mean(times):
                return right_inspect(step | {"times_ms": [times[(len(times) - 1) // 2]] * 3})
            return right_inspect(step)
        """,
        "more than 10 %": """
            times = step["times_ms"]
            if len(times) >= 3 and stdev(times) == 0.1 * mean(times):
                return right_inspect(step | {"times_ms": [mean(times)] * 3})
            return right_inspect(step)
        """,
        "at most 80 %": """
            found = right_inspect(step)
            return "idle" if found not in ("unstable", "idle") and step["busy_ms"] <= 0.8 * median(
                step["times_ms"]) else found
        """,
        "at most half in products": """
            found = right_inspect(step)
            half = step["matmul_ms"] <= 0.5 * step["busy_ms"]
            return "other work" if half and found in ("slow matmuls", "near peak") else found
        """,
        "at most half the peak": """
            found = right_inspect(step)
            reached = step["matmul_flops"] / (step["matmul_ms"] / 1000)
            half = reached <= 0.5 * step["peak_flops"]
            return "slow matmuls" if half and found == "near peak" else found
        """,
    },
    "mfu": {
        "two decimals": "return round(right_mfu(flops, seconds, peak_flops), 2)",
        "only 0 is refused": """
            none_is_zero(seconds, peak_flops)
            return flops / seconds / peak_flops
        """,
    },
    "amdahl": {
        "three decimals": "return round(right_amdahl(fraction, speedup), 3)",
        "only a speed of 0 is refused": """
            none_is_zero(speedup)
            return right_amdahl(fraction, abs(speedup))
        """,
        "only too much is refused": """
            if fraction > 1:
                raise ValueError("more than all")
            return right_amdahl(max(0, fraction), speedup)
        """,
    },
    "reflect_relu": {
        "ms with three decimals": """
            found = right_relu(elements, itemsize, peak_flops, bandwidth)
            return found | {"ms": round(found["ms"], 3)}
        """,
        "the share with three decimals": """
            found = right_relu(elements, itemsize, peak_flops, bandwidth)
            return found | {"share": round(found["share"], 3)}
        """,
        "only 0 is refused": """
            none_is_zero(elements, itemsize)
            return right_relu(abs(elements), abs(itemsize), peak_flops, bandwidth)
        """,
    },
}
