"""Lesson 10: wrong roofs; most are the solution with one thing changed, by `roofs_with`."""

HELPERS = """
def roofs_with(document, reduce="best", fma=2, gemm=2, passes=True, l2=0.5, dram=4, largest=True,
               pick=max, kinds=("fma", "gemm", "stream"), drop_writes=False, itemsize=None,
               seconds=1e3, size=None, closed=True, working=None, same_type=None, need=True,
               warm=False):
    roofs = {"flops": {}, "bandwidth": {}}
    rows = document["rows"]
    def put(kind, name, amount, row):
        if warm:
            ms = min(end - start for start, end in row["events"])
        else:
            ms = events_to_ms(row["events"], reduce)
        rate = amount / ms * seconds
        roofs[kind][name] = pick(rate, roofs[kind][name]) if name in roofs[kind] else rate
    for row in rows.get("fma", []) if "fma" in kinds else []:
        work = row["threads"] * row["fmas"] * row["accumulators"]
        put("flops", same_type or row["dtype"], fma * work, row)
    for row in rows.get("gemm", []) if "gemm" in kinds else []:
        put("flops", same_type or row["dtype"], gemm * row["m"] * row["k"] * row["n"], row)
    def moves(row):
        buffers = row["reads"] + (0 if drop_writes else row["writes"])
        return row["elements"] * buffers * (itemsize or row["itemsize"])
    def works(row):
        return working(row, moves(row)) if working else moves(row)
    most = max((works(row) for row in rows.get("stream", [])), default=0)
    for row in rows.get("stream", []):
        total = moves(row) * row["passes"] if passes else moves(row)
        share = works(row) / (size or document["card"]["l2_bytes"])
        if share < l2 or closed and share == l2:
            put("bandwidth", "l2", total, row)
        elif (not largest or works(row) == most) and (share > dram or closed and share == dram):
            put("bandwidth", "dram", total, row)
    if need and (not roofs["flops"] or "dram" not in roofs["bandwidth"]):
        raise ValueError("no roof")
    return roofs
"""

MUTANTS = {
    "ceilings": {
        "the median": "return roofs_with(document, reduce='median')",
        "warm-up counts": "return roofs_with(document, warm=True)",
        "the median for bandwidth": """
            flops = roofs_with(document)["flops"]
            return {"flops": flops, "bandwidth": roofs_with(document, reduce="median")["bandwidth"]}
        """,
        "the median for FLOPs": """
            bandwidth = roofs_with(document)["bandwidth"]
            return {"flops": roofs_with(document, reduce="median")["flops"], "bandwidth": bandwidth}
        """,
        "warm-up counts for bandwidth": """
            flops = roofs_with(document)["flops"]
            return {"flops": flops, "bandwidth": roofs_with(document, warm=True)["bandwidth"]}
        """,
        "warm-up counts for FLOPs": """
            bandwidth = roofs_with(document)["bandwidth"]
            return {"flops": roofs_with(document, warm=True)["flops"], "bandwidth": bandwidth}
        """,
        "all rows of a type at once": """
            roofs = roofs_with(document)
            for name in roofs["flops"]:
                rows = [r for r in document["rows"].get("gemm", []) if r["dtype"] == name]
                if rows:
                    work = sum(2 * r["m"] * r["k"] * r["n"] for r in rows)
                    ms = sum(events_to_ms(r["events"], "best") for r in rows)
                    roofs["flops"][name] = work / ms * 1e3
            return roofs
        """,
        "float64 is left out": """
            roofs = roofs_with(document)
            known = ("float32", "tf32", "float16", "bfloat16")
            return {**roofs, "flops": {k: v for k, v in roofs["flops"].items() if k in known}}
        """,
        "rounded": """
            roofs = roofs_with(document)
            return {kind: {k: round(v / 1e12, 1) * 1e12 for k, v in part.items()}
                    for kind, part in roofs.items()}
        """,
        "an FMA is one": "return roofs_with(document, fma=1)",
        "a product's multiply-adds": "return roofs_with(document, gemm=1)",
        "the last row": "return roofs_with(document, pick=lambda new, old: new)",
        "the first row": "return roofs_with(document, pick=lambda new, old: old)",
        "the slowest row": "return roofs_with(document, pick=min)",
        "the sum of all rows": "return roofs_with(document, pick=lambda new, old: new + old)",
        "the mean of two rows": "return roofs_with(document, pick=lambda a, b: (a + b) / 2)",
        "FMAs alone": """
            rest = {k: v for k, v in document["rows"].items() if k != "gemm"}
            return roofs_with({**document, "rows": rest}, need="gemm" not in document["rows"])
        """,
        "products alone": """
            rest = {k: v for k, v in document["rows"].items() if k != "fma"}
            return roofs_with({**document, "rows": rest}, need="fma" not in document["rows"])
        """,
        "FMAs before products": """
            return roofs_with({**document, "rows": {**document["rows"], "gemm": [
                row for row in document["rows"].get("gemm", []) if row["dtype"] not in
                [other["dtype"] for other in document["rows"].get("fma", [])]]}})
        """,
        "one type for all": "return roofs_with(document, same_type='float32')",
        "passes are forgotten": "return roofs_with(document, passes=False)",
        "a float has four bytes": "return roofs_with(document, itemsize=4)",
        "the writes are forgotten": "return roofs_with(document, drop_writes=True)",
        "per ms": "return roofs_with(document, seconds=1.0)",
        "ms taken for µs": "return roofs_with(document, seconds=1e6)",
        "one buffer decides the level": """
            return roofs_with(
                document, working=lambda row, moved: row["elements"] * row["itemsize"])
        """,
        "all passes decide the level": """
            return roofs_with(document, working=lambda row, moved: moved * row["passes"])
        """,
        "passes decide the level": """
            return roofs_with(
                document, working=lambda row, moved: 0 if row["passes"] > 1 else 10**15)
        """,
        "all that fits is in the cache": "return roofs_with(document, l2=1)",
        "any row of four times the cache is memory": """
            return roofs_with(document, largest=False)
        """,
        "any row of ten times the cache is memory": """
            return roofs_with(document, largest=False, dram=10)
        """,
        "the largest is memory, however small it is": "return roofs_with(document, l2=0, dram=0)",
        "the largest is memory, if it is no cache": "return roofs_with(document, dram=0.5)",
        "the largest by its elements": """
            rows = document["rows"].get("stream", [])
            most = max((row["elements"] for row in rows), default=0)
            l2 = document["card"]["l2_bytes"]
            return roofs_with(document, working=lambda row, moved:
                moved if moved <= l2 / 2 else 4 * l2 if row["elements"] == most
                and moved >= 4 * l2 else l2)
        """,
        "of the largest rows the first": """
            rows = document["rows"].get("stream", [])
            sizes = [r["elements"] * (r["reads"] + r["writes"]) * r["itemsize"] for r in rows]
            keep = [r for n, r in enumerate(rows) if sizes[n] < max(sizes) or
                    sizes.index(sizes[n]) == n]
            return roofs_with({**document, "rows": {**document["rows"], "stream": keep}})
        """,
        "just above the cache is memory": "return roofs_with(document, dram=1)",
        "twice the cache is memory": "return roofs_with(document, dram=2)",
        "a quarter of the cache": "return roofs_with(document, l2=0.25)",
        "eight times the cache": "return roofs_with(document, dram=8)",
        "ten times the cache": "return roofs_with(document, dram=10)",
        "borders are open": "return roofs_with(document, closed=False)",
        "every card has 4 MiB": "return roofs_with(document, size=4 * 1024**2)",
        "the largest is memory, all else the cache": """
            sizes = [row["elements"] for row in document["rows"].get("stream", [])]
            return roofs_with(document, working=lambda row, moved:
                10**15 if row["elements"] == max(sizes) else 0)
        """,
        "copies alone": """
            rows = [row for row in document["rows"].get("stream", []) if row["kernel"] == "copy"]
            return roofs_with({**document, "rows": {**document["rows"], "stream": rows}})
        """,
        "a level that is missing is 0": """
            roofs = roofs_with(document)
            return {**roofs, "bandwidth": {"l2": 0.0, **roofs["bandwidth"]}}
        """,
        "TFLOP/s": """
            roofs = roofs_with(document)
            return {**roofs, "flops": {k: v / 1e12 for k, v in roofs["flops"].items()}}
        """,
        "GiB/s": """
            roofs = roofs_with(document)
            return {**roofs, "bandwidth": {
                k: v / 1.073741824 for k, v in roofs["bandwidth"].items()}}
        """,
        "all in one dict": """
            roofs = roofs_with(document)
            return roofs["flops"] | roofs["bandwidth"]
        """,
        "no memory is let through": "return roofs_with(document, need=False)",
        "no peak is let through": """
            roofs = roofs_with(document, need=False)
            if "dram" not in roofs["bandwidth"]:
                raise ValueError("no memory")
            return roofs
        """,
        "any bandwidth is enough": """
            roofs = roofs_with(document, need=False)
            if not roofs["bandwidth"] or not roofs["flops"]:
                raise ValueError("nothing")
            return roofs
        """,
        "all kinds must be there": """
            if set(document["rows"]) != {"fma", "gemm", "stream"}:
                raise ValueError("kinds")
            return roofs_with(document)
        """,
        "times by hand, the first dropped": """
            rows = {kind: [{**row, "events": [row["events"][0]] + row["events"][1:2] * 0
                + [[0, min(b - a for a, b in row["events"][1:])]]} for row in rows]
                for kind, rows in document["rows"].items()}
            return roofs_with({**document, "rows": rows}, warm=True)
        """,
    },
}
