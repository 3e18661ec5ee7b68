"""Lesson 06: what students get wrong of an operation's place under a roof."""

HELPERS = """
from proflab.lesson.hardware import Hardware

right_points = roofline_points

def placed(row, hardware, **other):
    [found] = right_points([row], hardware)
    return found | other

def rows_drawn(rows):
    return [
        row for row in rows
        if row["matmul_flops"] + row["elementwise_flops"]
        and row["bytes_read"] + row["bytes_written"] and row["self_ms"]
    ]
"""

MUTANTS = {
    "roofline_points": {
        "products only": """
            rows = [row | {"elementwise_flops": 0} for row in rows if row["matmul_flops"]]
            return right_points(rows, hardware)
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
                placed(row, hardware, efficiency=p["flops_per_second"] / peak)
                for row, p in zip(rows_drawn(rows), right_points(rows, hardware))
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
                    full = row if row in rows_drawn(rows) else row | {"elementwise_flops": 1}
                    points.append(placed(full, hardware))
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
}
