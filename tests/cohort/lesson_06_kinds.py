"""Lesson 06: 64-bit sizes, answers kept from another call, tiny times, arguments written to."""

COUNTS = ("matmul_bytes", "elementwise_bytes", "attention_bytes")
PURE = (
    *COUNTS,
    "arithmetic_intensity",
    "ridge_point",
    "attainable_flops",
    "classify",
    "mfu",
    "amdahl",
    "reflect_relu",
)
OF_LISTS = ("measure_peak_flops", "measure_bandwidth", "roofline_points", "inspect_step")

HELPERS = "KEPT = {}\n" + "".join(f"solved_{name} = {name}\n" for name in (*PURE, *OF_LISTS))


def _result(name: str, changed: str) -> str:
    """The right solution, with `found` changed before it is returned."""
    solution = f"found = solved_{name}(*args, **kwargs)"
    return f"def {name}(*args, **kwargs):\n    {solution}\n    return {changed}"


def _kept(name: str) -> str:
    """The right solution, that remembers its results by the first argument alone."""
    return f"""
def {name}(*args, **kwargs):
    key = "{name}", *args[:1], *list(kwargs.values())[:not args]
    if key not in KEPT:
        KEPT[key] = solved_{name}(*args, **kwargs)
    return KEPT[key]
"""


WRAPPED = {name: {"kept by the first argument": _kept(name)} for name in PURE}
for name in COUNTS:
    WRAPPED[name] |= {
        "a float": _result(name, "float(found)"),
        "64-bit overflow of the result": _result(name, "(found + 2**63) % 2**64 - 2**63"),
    }

OTHERS = {
    "reflect_relu": {
        "bytes in 64 bits": """
            solved_reflect_relu(elements, itemsize, peak_flops, bandwidth)
            moved = int(np.prod([2, elements, itemsize]))
            seconds = max(moved / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "times in whole µs": """
            found = solved_reflect_relu(elements, itemsize, peak_flops, bandwidth)
            ms = max(1e-3, round(found["ms"], 3))
            return {"ms": ms, "share": elements / ms * 1000 / peak_flops}
        """,
    },
    "measure_peak_flops": {
        "calls below 1 µs are left out": """
            roof_checked(sizes, repeats)
            best = 0.0
            for n in sizes:
                a, b = square(n, dtype)
                matmul(a, b)
                for _ in range(repeats):
                    best = max(best, 2 * n**3 / max(1e-6, timed(lambda: matmul(a, b))))
            return best
        """,
        "sizes are sorted in place": """
            if isinstance(sizes, list):
                sizes.sort()
            return solved_measure_peak_flops(matmul, sizes, dtype, repeats)
        """,
        "sizes are emptied": """
            found = solved_measure_peak_flops(matmul, sizes, dtype, repeats)
            if isinstance(sizes, list):
                sizes.clear()
            return found
        """,
    },
    "measure_bandwidth": {
        "copies below 1 µs are left out": """
            source, destination = halves(working_set, repeats)
            copy(destination, source)
            return 2 * source.nbytes / max(1e-6, best_copy(copy, destination, source, repeats))
        """,
    },
    "roofline_points": {
        "points below 1 µs are left out": """
            return solved_roofline_points([r for r in rows if r["self_ms"] >= 1e-3], hardware)
        """,
        "times in whole µs": """
            rows = [row | {"self_ms": round(row["self_ms"], 3)} for row in rows]
            return solved_roofline_points(rows, hardware)
        """,
        "times are turned into seconds in place": """
            found = solved_roofline_points(rows, hardware)
            for row in rows:
                row["self_ms"] /= 1000
            return found
        """,
    },
    "classify": {
        "below 1 µs all is overhead": """
            wall = solved_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            return "overhead" if seconds < 1e-6 else wall
        """,
        "times in whole µs": """
            solved_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            seconds = max(1e-6, round(seconds, 6))
            return solved_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
    },
    "inspect_step": {
        "times in whole µs": """
            times = [round(ms, 3) or 1e-3 for ms in step["times_ms"]]
            return solved_inspect_step(step | {"times_ms": times})
        """,
        "a step below 1 µs is idle": """
            found = solved_inspect_step(step)
            return "idle" if median(step["times_ms"]) < 1e-3 else found
        """,
        "times are sorted in place": """
            step["times_ms"].sort()
            return solved_inspect_step(step)
        """,
        "at most ten times": """
            return solved_inspect_step(step | {"times_ms": step["times_ms"][:10]})
        """,
        "at least four times": """
            if len(step["times_ms"]) < 4:
                raise ValueError("runs")
            return solved_inspect_step(step)
        """,
        "two times are enough": """
            if len(step["times_ms"]) < 2:
                raise ValueError("runs")
            return solved_inspect_step(step | {"times_ms": step["times_ms"] * 2})
        """,
    },
    "mfu": {
        "times in whole µs": """
            solved_mfu(flops, seconds, peak_flops)
            return solved_mfu(flops, max(1e-6, round(seconds, 6)), peak_flops)
        """,
    },
    "amdahl": {
        "a large speedup is infinite": """
            solved_amdahl(fraction, speedup)
            return solved_amdahl(fraction, math.inf if speedup > 1e12 else speedup)
        """,
        "nearly nothing left is nothing": """
            solved_amdahl(fraction, speedup)
            left = 1 - fraction + fraction / speedup
            return 1 / left if left > 1e-9 else math.inf
        """,
        "nearly the whole is the whole": """
            solved_amdahl(fraction, speedup)
            return solved_amdahl(1 if fraction > 0.999999 else fraction, speedup)
        """,
    },
}
MUTANTS = {name: WRAPPED.get(name, {}) | OTHERS.get(name, {}) for name in (*PURE, *OF_LISTS)}
