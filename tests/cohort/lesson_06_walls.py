"""Lesson 06: what students get wrong of which wall a computation, or a step, is at."""

HELPERS = """
right_classify, right_inspect = classify, inspect_step

def checked(flops, moved, seconds, peak, bandwidth):
    if flops < 0 or moved < 0 or seconds <= 0 or peak <= 0 or bandwidth <= 0:
        raise ValueError("range")
    return flops / peak, moved / bandwidth
"""

MUTANTS = {
    "classify": {
        "never overhead": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if max(a, b) <= 1.2 * min(a, b):
                return "ridge"
            return "compute" if a > b else "memory"
        """,
        "overhead by the sum": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds > 4 * (a + b):
                return "overhead"
            return right_classify(flops, bytes_moved, min(seconds, max(a, b)) or 1.0,
                                  peak_flops, bandwidth)
        """,
        "overhead by the shorter": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds > 4 * min(a, b):
                return "overhead"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead by computing alone": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds > 4 * a:
                return "overhead"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead from twice on": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds > 2 * max(a, b):
                return "overhead"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead from ten times on": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 10 * max(a, b):
                seconds = min(seconds, max(a, b))
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead at four times": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds >= 4 * max(a, b):
                return "overhead"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead above a millisecond": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds - max(a, b) > 1e-3:
                return "overhead"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "ridge before overhead": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if min(a, b) and max(a, b) <= 1.2 * min(a, b):
                return "ridge"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "never ridge": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds > 4 * max(a, b):
                return "overhead"
            return "compute" if a > b else "memory"
        """,
        "within 20 % of the longer": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 4 * max(a, b) and min(a, b) >= 0.8 * max(a, b):
                return "ridge"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "an intensity within 20 % of the ridge": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 4 * max(a, b) and b and abs(a / b - 1) <= 0.2:
                return "ridge"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "a fifth of a factor e": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 4 * max(a, b) and a and b and abs(math.log(a / b)) <= 0.2:
                return "ridge"
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "overhead from five times on": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds <= 5 * max(a, b):
                seconds = min(seconds, max(a, b))
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "within 10 %": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            a, b = flops / peak_flops, bytes_moved / bandwidth
            if wall == "ridge" and max(a, b) > 1.1 * min(a, b):
                return "compute" if a > b else "memory"
            return wall
        """,
        "ridge on one side": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            a, b = flops / peak_flops, bytes_moved / bandwidth
            return "memory" if wall == "ridge" and b > a else wall
        """,
        "ridge on the other side": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            a, b = flops / peak_flops, bytes_moved / bandwidth
            return "compute" if wall == "ridge" and b < a else wall
        """,
        "compute and memory exchanged": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            return {"compute": "memory", "memory": "compute"}.get(wall, wall)
        """,
        "always memory below 10 FLOPs a byte": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if wall in ("compute", "memory"):
                return "memory" if flops < 10 * bytes_moved else "compute"
            return wall
        """,
        "more FLOPs than bytes": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if wall in ("compute", "memory"):
                return "compute" if flops > bytes_moved else "memory"
            return wall
        """,
        "faster than the roof is refused": """
            a, b = checked(flops, bytes_moved, seconds, peak_flops, bandwidth)
            if seconds < max(a, b):
                raise ValueError("faster than the roof")
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "milliseconds for seconds": """
            return right_classify(flops, bytes_moved, seconds / 1000, peak_flops, bandwidth)
        """,
        "no FLOPs are refused": """
            if flops <= 0:
                raise ValueError
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "no bytes are refused": """
            if bytes_moved <= 0:
                raise ValueError
            return right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "other words": """
            wall = right_classify(flops, bytes_moved, seconds, peak_flops, bandwidth)
            return {"compute": "compute-bound", "memory": "memory-bound"}.get(wall, wall)
        """,
        "nothing is checked": """
            a, b = flops / peak_flops, bytes_moved / bandwidth
            if seconds > 4 * max(a, b):
                return "overhead"
            if max(a, b) <= 1.2 * min(a, b):
                return "ridge"
            return "compute" if a > b else "memory"
        """,
        "counts are not checked": """
            if min(seconds, peak_flops, bandwidth) <= 0:
                raise ValueError
            return right_classify(abs(flops), abs(bytes_moved), seconds, peak_flops, bandwidth)
        """,
        "roofs are not checked": """
            if min(flops, bytes_moved) < 0 or seconds <= 0:
                raise ValueError
            a, b = flops / peak_flops, bytes_moved / bandwidth
            return "overhead" if seconds > 4 * max(a, b) else right_classify(
                flops, bytes_moved, seconds, peak_flops, bandwidth)
        """,
        "time is not checked": """
            return right_classify(flops, bytes_moved, abs(seconds) or 1.0, peak_flops, bandwidth)
        """,
    },
    "inspect_step": {
        "never unstable": """
            times = step["times_ms"]
            return right_inspect(step | {"times_ms": [median(times)] * len(times)})
        """,
        "the population's deviation": """
            times = step["times_ms"]
            if len(times) > 2 and np.std(times) < 0.1 * mean(times):
                return right_inspect(step | {"times_ms": [median(times)] * 3})
            return right_inspect(step)
        """,
        "the deviation against the median": """
            times = step["times_ms"]
            if len(times) > 2 and stdev(times) >= 0.1 * median(times):
                return "unstable"
            return right_inspect(step)
        """,
        "busy against the mean": """
            times = step["times_ms"]
            if len(times) > 2 and stdev(times) < 0.1 * mean(times):
                return right_inspect(step | {"times_ms": [mean(times)] * 3})
            return right_inspect(step)
        """,
        "matmuls asked first": """
            if step["matmul_ms"] < 0.5 * step["busy_ms"]:
                return "other work"
            return right_inspect(step)
        """,
        "idle asked first": """
            if step["times_ms"] and step["busy_ms"] < 0.8 * median(step["times_ms"]):
                return "idle"
            return right_inspect(step)
        """,
        "matmuls against the whole step": """
            times = step["times_ms"]
            if len(times) > 2 and stdev(times) < 0.1 * mean(times):
                middle = median(times)
                if 0.8 * middle <= step["busy_ms"] and step["matmul_ms"] < 0.5 * middle:
                    return "other work"
            return right_inspect(step)
        """,
        "matmuls' FLOP/s over the busy time": """
            return right_inspect(step | {
                "matmul_flops": step["matmul_flops"] * step["matmul_ms"] / step["busy_ms"]
            })
        """,
        "milliseconds for seconds": """
            return right_inspect(step | {"matmul_flops": step["matmul_flops"] / 1000})
        """,
        "busy when half is": """
            busy = step["busy_ms"]
            times = step["times_ms"]
            if len(times) > 2 and busy >= 0.5 * median(times):
                busy = max(busy, 0.8 * median(times))
            answer = right_inspect(step | {"busy_ms": busy})
            return answer
        """,
        "any number of runs": """
            times = list(step["times_ms"])
            return right_inspect(step | {"times_ms": times + [100.0] * (3 - len(times))})
        """,
        "always near peak": """
            return "near peak"
        """,
    },
}
