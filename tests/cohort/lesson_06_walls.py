"""Lesson 06: what students get wrong of what stands under a roof, and of what follows."""

HELPERS = """
right_points, right_classify, right_inspect = roofline_points, classify, inspect_step

def point(row, hardware, **other):
    [found] = right_points([row], hardware)
    return found | other

def drawn(rows):
    return [
        row for row in rows
        if row["matmul_flops"] + row["elementwise_flops"]
        and row["bytes_read"] + row["bytes_written"] and row["self_ms"]
    ]

def checked(flops, moved, seconds, peak, bandwidth):
    if flops < 0 or moved < 0 or seconds <= 0 or peak <= 0 or bandwidth <= 0:
        raise ValueError("range")
    return flops / peak, moved / bandwidth
"""

MUTANTS = {
    "roofline_points": {
        "products only": """
            rows = [row | {"elementwise_flops": 0} for row in rows if row["matmul_flops"]]
            return right_points(rows, hardware)
        """,
        "elementwise FLOPs are not counted": """
            return right_points([row | {"elementwise_flops": 0} for row in rows], hardware)
        """,
        "products are not counted": """
            return right_points([row | {"matmul_flops": 0} for row in rows], hardware)
        """,
        "only what is read": """
            return right_points([row | {"bytes_written": 0} for row in rows], hardware)
        """,
        "only what is written": """
            return right_points([row | {"bytes_read": 0} for row in rows], hardware)
        """,
        "the time of what ran inside, too": """
            return right_points([row | {"self_ms": row["ms"]} for row in rows], hardware)
        """,
        "seconds for milliseconds": """
            points = right_points(rows, hardware)
            for p in points:
                p["flops_per_second"] /= 1000
                p["efficiency"] /= 1000
            return points
        """,
        "microseconds": """
            points = right_points(rows, hardware)
            for p in points:
                p["flops_per_second"] *= 1000
                p["efficiency"] *= 1000
            return points
        """,
        "efficiency of the peak": """
            peak = hardware.peak_flops
            return [
                point(row, hardware, efficiency=p["flops_per_second"] / peak)
                for row, p in zip(drawn(rows), right_points(rows, hardware))
            ]
        """,
        "attainable is the peak": """
            return [p | {"attainable": hardware.peak_flops} for p in right_points(rows, hardware)]
        """,
        "attainable has no ceiling": """
            return [
                p | {"attainable": p["intensity"] * hardware.bandwidth,
                     "efficiency": p["flops_per_second"] / p["intensity"] / hardware.bandwidth}
                for p in right_points(rows, hardware)
            ]
        """,
        "efficiency upside down": """
            points = right_points(rows, hardware)
            return [p | {"efficiency": 1 / p["efficiency"]} for p in points]
        """,
        "efficiency in percent": """
            points = right_points(rows, hardware)
            return [p | {"efficiency": 100 * p["efficiency"]} for p in points]
        """,
        "efficiency is cut off at 1": """
            points = right_points(rows, hardware)
            return [p | {"efficiency": min(1.0, p["efficiency"])} for p in points]
        """,
        "intensity upside down": """
            points = right_points(rows, hardware)
            return [p | {"intensity": 1 / p["intensity"]} for p in points]
        """,
        "the module alone": """
            points = right_points(rows, hardware)
            return [p | {"name": p["name"].split()[-1]} for p in points]
        """,
        "the op alone": """
            points = right_points(rows, hardware)
            return [p | {"name": p["name"].split()[0]} for p in points]
        """,
        "a space at the end": """
            points = right_points(rows, hardware)
            return [p | {"name": " ".join((p["name"].split() + [""])[:2])} for p in points]
        """,
        "the largest first": """
            return sorted(right_points(rows, hardware), key=lambda p: -p["flops_per_second"])
        """,
        "each name once": """
            return list({p["name"]: p for p in right_points(rows, hardware)}.values())
        """,
        "rows without FLOPs are kept": """
            points = []
            for row in rows:
                moved = row["bytes_read"] + row["bytes_written"]
                if moved and row["self_ms"]:
                    full = row if row in drawn(rows) else row | {"elementwise_flops": 1}
                    points.append(point(full, hardware))
            return points
        """,
        "rows without bytes are kept": """
            rows = [row | {"bytes_read": row["bytes_read"] or 1} for row in rows]
            return right_points(rows, hardware)
        """,
        "rows without time are kept": """
            return right_points([r | {"self_ms": r["self_ms"] or 1e-3} for r in rows], hardware)
        """,
        "rows without products are left out": """
            return right_points([row for row in rows if row["matmul_flops"]], hardware)
        """,
        "rows that only read are left out": """
            rows = [row for row in rows if row["bytes_read"] and row["bytes_written"]]
            return right_points(rows, hardware)
        """,
        "rows without a module are left out": """
            return right_points([row for row in rows if row["module"]], hardware)
        """,
        "rounded": """
            points = right_points(rows, hardware)
            return [p | {"intensity": round(p["intensity"], 2)} for p in points]
        """,
        "backward rows are left out": """
            return right_points([r for r in rows if r["phase"] == "forward"], hardware)
        """,
        "rows inside others are left out": """
            return right_points([row for row in rows if not row["depth"]], hardware)
        """,
        "points above the roof are left out": """
            return [p for p in right_points(rows, hardware) if p["efficiency"] <= 1]
        """,
        "the first row only": "return right_points(rows[:1], hardware)",
        "rows are written to": """
            for row in rows:
                row["flops"] = row["matmul_flops"] + row["elementwise_flops"]
            return right_points(rows, hardware)
        """,
        "one roof for all machines": """
            return right_points(rows, Hardware(100e9, 10e9))
        """,
        "GB are 1024³": """
            units = Hardware(hardware.peak_flops, hardware.bandwidth * 1.024**3)
            return right_points(rows, units)
        """,
        "one dict for all": """
            shared, points = {}, []
            for p in right_points(rows, hardware):
                shared.update(p)
                points.append(shared)
            return points
        """,
    },
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
    "mfu": {
        "upside down": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return peak_flops * seconds / (flops or 1)
        """,
        "in percent": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return 100 * flops / seconds / peak_flops
        """,
        "the time as a factor": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops * seconds / peak_flops
        """,
        "the time is left out": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops / peak_flops
        """,
        "cut off at 1": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return min(1.0, flops / seconds / peak_flops)
        """,
        "rounded": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return round(flops / seconds / peak_flops, 3)
        """,
        "whole numbers": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops // (seconds * peak_flops)
        """,
        "nothing is checked": "return flops / seconds / peak_flops",
        "no FLOPs are refused": """
            positive(flops, seconds, peak_flops)
            return flops / seconds / peak_flops
        """,
        "the result is checked": """
            if not seconds or not peak_flops or flops / seconds / peak_flops < 0:
                raise ValueError
            return flops / seconds / peak_flops
        """,
    },
    "amdahl": {
        "the time that is left": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 - fraction + fraction / speedup
        """,
        "the average speed": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 - fraction + fraction * speedup
        """,
        "the other part": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            left = fraction + (1 - fraction) / speedup
            return 1 / left if left else math.inf
        """,
        "the part's own speedup": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup
        """,
        "the rest is forgotten": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup / fraction if fraction else 1.0
        """,
        "Gustafson's law": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup - (1 - fraction) * (speedup - 1)
        """,
        "rounded": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return round(1 / left, 2) if left else math.inf
        """,
        "division by zero": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 / (1 - fraction + fraction / speedup)
        """,
        "slower parts are refused": """
            if not 0 <= fraction <= 1 or speedup < 1:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "a fraction in percent is let through": """
            if fraction < 0 or speedup <= 0:
                raise ValueError
            fraction = fraction / 100 if fraction > 1 else fraction
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "all of it is refused": """
            if not 0 <= fraction < 1 or speedup <= 0:
                raise ValueError
            return 1 / (1 - fraction + fraction / speedup)
        """,
        "nothing of it is refused": """
            if not 0 < fraction <= 1 or speedup <= 0:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "speed is not checked": """
            if not 0 <= fraction <= 1:
                raise ValueError
            left = 1 - fraction + fraction / (speedup or 1e-9)
            return 1 / left if left else math.inf
        """,
    },
    "reflect_relu": {
        "read only": """
            of_shape((elements,), 1, itemsize)
            seconds = max(elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "seconds": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds, "share": elements / seconds / peak_flops}
        """,
        "in percent": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": 100 * elements / seconds / peak_flops}
        """,
        "memory is the only wall": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = 2 * elements * itemsize / bandwidth
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "both walls one after another": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = 2 * elements * itemsize / bandwidth + elements / peak_flops
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "float32 always": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(8 * elements / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "two FLOPs an element": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, 2 * elements / peak_flops)
            return {"ms": seconds * 1000, "share": 2 * elements / seconds / peak_flops}
        """,
        "rounded": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": round(seconds * 1000, 2), "share": elements / seconds / peak_flops}
        """,
        "the share of the time": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": seconds * bandwidth / peak_flops}
        """,
        "sizes are not checked": """
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops) or 1.0
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
    },
}
