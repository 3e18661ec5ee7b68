"""Lesson 10: wrong places under the roofs, and wrong verdicts on trials.

Most are the solution with one thing changed, a keyword of `placed_with` or `mistakes_with`.
"""

HELPERS = """
def placed_with(workload, ceilings, dtype=None, level="dram", limit=4, ridge=1.2, check=True,
                efficiency=None, seconds=1e3):
    work = [workload["flops"], workload["bytes"], workload["ms"]]
    if check and (min(work) <= 0 or workload["dtype"] not in ceilings["flops"]):
        raise ValueError("workload")
    peak, bandwidth = ceilings["flops"][dtype or workload["dtype"]], ceilings["bandwidth"][level]
    computing, moving, time = work[0] / peak, work[1] / bandwidth, work[2] / seconds
    longer, shorter = max(computing, moving), min(computing, moving)
    wall = "compute" if computing > moving else "memory"
    if limit and time > limit * longer:
        wall = "overhead"
    elif longer <= ridge * shorter:
        wall = "ridge"
    return {
        "intensity": work[0] / work[1], "achieved": work[0] / time, "attainable": work[0] / longer,
        "efficiency": longer / time if efficiency is None else efficiency(longer / time),
        "wall": wall,
    }

def mistakes_with(document, host=None, first=2, short=10, roof=1.1, reduce="median", order=None,
                  whole="median", join=": ", zero=True, every=True):
    roofs, found = ceilings(document), []
    for row in document["rows"].get("trial", []):
        ms = events_to_ms(row["events"], reduce)
        if whole == "median":
            middle = float(np.median(row["host_ms"]))
        else:
            middle = whole(row["host_ms"])
        above = ms == 0 if zero else False
        if ms > 0:
            above = place({**row, "ms": ms}, roofs)["efficiency"] > roof
        reasons = {
            "not synchronized": middle < ms if host is None else host(row, middle, ms),
            "first call": row["host_ms"][0] > first * middle,
            "too short": ms < short * document["empty_ms"],
            "above the roof": above,
        }
        names = [name for name in order or reasons if reasons[name]]
        found += [row["name"] + join + name for name in (names if every else names[:1])]
    return found
"""

MUTANTS = {
    "place": {
        "bytes a FLOP": """
            placed = placed_with(workload, roofs)
            return {**placed, "intensity": 1 / placed["intensity"]}
        """,
        "float32's ceiling for all": "return placed_with(workload, roofs, dtype='float32')",
        "the highest ceiling": """
            top = max(roofs["flops"], key=roofs["flops"].get)
            return placed_with(workload, roofs, dtype=top)
        """,
        "the cache's slope": """
            level = "l2" if "l2" in roofs["bandwidth"] else "dram"
            return placed_with(workload, roofs, level=level)
        """,
        "the steepest slope": """
            level = max(roofs["bandwidth"], key=roofs["bandwidth"].get)
            return placed_with(workload, roofs, level=level)
        """,
        "the flattest slope": """
            level = min(roofs["bandwidth"], key=roofs["bandwidth"].get)
            return placed_with(workload, roofs, level=level)
        """,
        "the peak is attainable": """
            placed = placed_with(workload, roofs)
            peak = roofs["flops"][workload["dtype"]]
            return {**placed, "attainable": peak, "efficiency": placed["achieved"] / peak}
        """,
        "the slope without the ceiling": """
            placed = placed_with(workload, roofs)
            slope = placed["intensity"] * roofs["bandwidth"]["dram"]
            return {**placed, "attainable": slope, "efficiency": placed["achieved"] / slope}
        """,
        "the higher of slope and ceiling": """
            placed = placed_with(workload, roofs)
            top = max(placed["intensity"] * roofs["bandwidth"]["dram"],
                      roofs["flops"][workload["dtype"]])
            return {**placed, "attainable": top, "efficiency": placed["achieved"] / top}
        """,
        "computing and moving one after the other": """
            placed = placed_with(workload, roofs)
            both = (workload["flops"] / roofs["flops"][workload["dtype"]]
                    + workload["bytes"] / roofs["bandwidth"]["dram"])
            top = workload["flops"] / both
            return {**placed, "attainable": top, "efficiency": placed["achieved"] / top}
        """,
        "ms taken for seconds": "return placed_with(workload, roofs, seconds=1.0)",
        "ms taken for µs": "return placed_with(workload, roofs, seconds=1e6)",
        "efficiency of the peak": """
            placed = placed_with(workload, roofs)
            share = placed["achieved"] / roofs["flops"][workload["dtype"]]
            return {**placed, "efficiency": share}
        """,
        "percent": "return placed_with(workload, roofs, efficiency=lambda e: 100 * e)",
        "efficiency is at most 1": """
            return placed_with(workload, roofs, efficiency=lambda e: min(1.0, e))
        """,
        "efficiency upside down": """
            return placed_with(workload, roofs, efficiency=lambda e: 1 / e)
        """,
        "memory and compute mixed up": """
            placed = placed_with(workload, roofs)
            other = {"memory": "compute", "compute": "memory"}
            return {**placed, "wall": other.get(placed["wall"], placed["wall"])}
        """,
        "no overhead": "return placed_with(workload, roofs, limit=None)",
        "overhead from 2 times on": "return placed_with(workload, roofs, limit=2)",
        "overhead from 10 times on": "return placed_with(workload, roofs, limit=10)",
        "overhead from 3 times on": "return placed_with(workload, roofs, limit=3)",
        "overhead from 5 times on": "return placed_with(workload, roofs, limit=5)",
        "no ridge": "return placed_with(workload, roofs, ridge=0)",
        "only the very ridge": "return placed_with(workload, roofs, ridge=1.000001)",
        "a wide ridge": "return placed_with(workload, roofs, ridge=2)",
        "a ridge of 30 %": "return placed_with(workload, roofs, ridge=1.3)",
        "a ridge of 10 %": "return placed_with(workload, roofs, ridge=1.1)",
        "the ridge on one side": """
            placed = placed_with(workload, roofs)
            left = (workload["flops"] / roofs["flops"][workload["dtype"]]
                    < workload["bytes"] / roofs["bandwidth"]["dram"])
            return {**placed, "wall": "memory" if placed["wall"] == "ridge" and left
                    else placed["wall"]}
        """,
        "the ridge before overhead": """
            placed = placed_with(workload, roofs)
            near = placed_with(workload, roofs, limit=None)["wall"]
            return {**placed, "wall": "ridge" if near == "ridge" else placed["wall"]}
        """,
        "overhead only at the memory's wall": """
            placed = placed_with(workload, roofs)
            near = placed_with(workload, roofs, limit=None)["wall"]
            return {**placed, "wall": near if near == "compute" else placed["wall"]}
        """,
        "overhead only at the compute wall": """
            placed = placed_with(workload, roofs)
            near = placed_with(workload, roofs, limit=None)["wall"]
            return {**placed, "wall": near if near == "memory" else placed["wall"]}
        """,
        "the ridge by the efficiency": """
            placed = placed_with(workload, roofs, ridge=0)
            near = placed["efficiency"] >= 0.9 and placed["wall"] != "overhead"
            return {**placed, "wall": "ridge" if near else placed["wall"]}
        """,
        "memory below an intensity of 10": """
            placed = placed_with(workload, roofs)
            if placed["wall"] in ("memory", "compute"):
                placed["wall"] = "memory" if placed["intensity"] < 10 else "compute"
            return placed
        """,
        "achieved a ms": """
            placed = placed_with(workload, roofs)
            return {**placed, "achieved": placed["achieved"] / 1e3}
        """,
        "bandwidth achieved": """
            placed = placed_with(workload, roofs)
            return {**placed, "achieved": placed["achieved"] / placed["intensity"]}
        """,
        "walls in capitals": """
            placed = placed_with(workload, roofs)
            return {**placed, "wall": placed["wall"].upper()}
        """,
        "float32 for a type without a ceiling": """
            known = workload["dtype"] if workload["dtype"] in roofs["flops"] else "float32"
            return placed_with({**workload, "dtype": known}, roofs)
        """,
        "a KeyError for it": """
            if min(workload["flops"], workload["bytes"], workload["ms"]) <= 0:
                raise ValueError("workload")
            return placed_with(workload, roofs, check=False)
        """,
        "no FLOPs are let through": """
            if workload["flops"] == 0:
                return placed_with({**workload, "flops": 1e-9}, roofs)
            return placed_with(workload, roofs)
        """,
        "no bytes are let through": """
            if workload["bytes"] == 0:
                return placed_with({**workload, "bytes": 1e-9}, roofs)
            return placed_with(workload, roofs)
        """,
        "no time is let through": """
            if workload["ms"] == 0:
                return placed_with({**workload, "ms": 1e-9}, roofs)
            return placed_with(workload, roofs)
        """,
        "two negative numbers are let through": """
            if workload["flops"] < 0 and workload["bytes"] < 0:
                workload = {**workload, "flops": -workload["flops"], "bytes": -workload["bytes"]}
            return placed_with(workload, roofs)
        """,
    },
    "gpu_mistakes": {
        "the host is never asked": "return mistakes_with(document, host=lambda row, h, ms: False)",
        "the host's shortest": """
            return mistakes_with(document, host=lambda row, h, ms: min(row["host_ms"]) < ms)
        """,
        "the host's mean": """
            return mistakes_with(document, whole=lambda times: sum(times) / len(times))
        """,
        "the host's first": "return mistakes_with(document, whole=lambda times: times[0])",
        "warm-up dropped from the host's": """
            return mistakes_with(document, whole=lambda times: float(
                np.median(times[math.ceil(len(times) / 5):])))
        """,
        "the host's half": "return mistakes_with(document, host=lambda row, h, ms: h < ms / 2)",
        "the host differs at all": """
            return mistakes_with(document, host=lambda row, h, ms: h != ms)
        """,
        "the host is longer": "return mistakes_with(document, host=lambda row, h, ms: h > ms)",
        "equal is not synchronized": """
            return mistakes_with(document, host=lambda row, h, ms: h <= ms)
        """,
        "the best event": "return mistakes_with(document, reduce='best')",
        "all events, warm-up too": """
            middle = lambda row: float(np.median([b - a for a, b in row["events"]]))
            rows = [{**row, "events": [[0, middle(row)]] * 2}
                    for row in document["rows"].get("trial", [])]
            return mistakes_with({**document, "rows": {**document["rows"], "trial": rows}})
        """,
        "a first call 10 times as long": "return mistakes_with(document, first=10)",
        "a first call longer at all": "return mistakes_with(document, first=1)",
        "a first call 1.5 times as long": "return mistakes_with(document, first=1.5)",
        "a first call 3 times as long": "return mistakes_with(document, first=3)",
        "a first call twice the median of the rest": """
            roofs, found = ceilings(document), []
            for row in document["rows"].get("trial", []):
                rest = float(np.median(row["host_ms"][1:]))
                one = {**document, "rows": {**document["rows"], "trial": [row]}}
                texts = [t for t in mistakes_with(one) if not t.endswith("first call")]
                if row["host_ms"][0] > 2 * rest:
                    at = sum(t.endswith("synchronized") for t in texts)
                    texts.insert(at, row["name"] + ": first call")
                found += texts
            return found
        """,
        "any call of the host's is shorter": """
            return mistakes_with(document, host=lambda row, h, ms: any(
                t < ms for t in row["host_ms"]))
        """,
        "all calls of the host's are shorter": """
            return mistakes_with(document, host=lambda row, h, ms: max(row["host_ms"]) < ms)
        """,
        "above the peak of any type": """
            top = max(ceilings(document)["flops"].values())
            texts = [t for t in mistakes_with(document) if not t.endswith("roof")]
            for row in document["rows"].get("trial", []):
                ms = events_to_ms(row["events"], "median")
                if not ms or row["flops"] / ms * 1e3 > 1.1 * top:
                    texts.append(row["name"] + ": above the roof")
            return texts
        """,
        "float32's roof for all": """
            roofs = ceilings(document)
            first = next(iter(roofs["flops"]))
            known = "float32" if "float32" in roofs["flops"] else first
            rows = [{**row, "dtype": known} for row in document["rows"].get("trial", [])]
            return mistakes_with({**document, "rows": {**document["rows"], "trial": rows}})
        """,
        "the longest call, wherever it is": """
            rows = [{**row, "host_ms": sorted(row["host_ms"], reverse=True)}
                    for row in document["rows"].get("trial", [])]
            return mistakes_with({**document, "rows": {**document["rows"], "trial": rows}})
        """,
        "the first call by the device's clock": """
            roofs, found = ceilings(document), mistakes_with(document)
            found = [text for text in found if not text.endswith("first call")]
            for row in document["rows"].get("trial", []):
                lengths = [b - a for a, b in row["events"]]
                if lengths[0] > 2 * np.median(lengths):
                    found.append(row["name"] + ": first call")
            return found
        """,
        "too short is 100 times": "return mistakes_with(document, short=100)",
        "too short is once": "return mistakes_with(document, short=1)",
        "too short is never": "return mistakes_with(document, short=0)",
        "an empty measurement always takes 4 µs": """
            return mistakes_with({**document, "empty_ms": 0.004})
        """,
        "the host's time is too short": """
            found = mistakes_with(document, short=0)
            for row in document["rows"].get("trial", []):
                if np.median(row["host_ms"]) < 10 * document["empty_ms"]:
                    found.append(row["name"] + ": too short")
            return found
        """,
        "above the roof is never": "return mistakes_with(document, roof=1e99, zero=False)",
        "at the roof is above it": "return mistakes_with(document, roof=0.99)",
        "above the roof at once": "return mistakes_with(document, roof=1.0)",
        "above the roof from twice on": "return mistakes_with(document, roof=2.0)",
        "above the peak, whatever the bytes": """
            roofs, found = ceilings(document), []
            for text in mistakes_with(document):
                row = next(r for r in document["rows"]["trial"] if text.startswith(r["name"]))
                ms = events_to_ms(row["events"], "median")
                rate = row["flops"] / ms * 1e3 if ms else math.inf
                if text.endswith("roof") and rate <= 1.1 * roofs["flops"][row["dtype"]]:
                    continue
                found.append(text)
            return found
        """,
        "no time at all is not above the roof": "return mistakes_with(document, zero=False)",
        "no time at all is an error": """
            roofs = ceilings(document)
            for row in document["rows"].get("trial", []):
                place({**row, "ms": events_to_ms(row["events"], "median")}, roofs)
            return mistakes_with(document)
        """,
        "one reason is enough": "return mistakes_with(document, every=False)",
        "sorted by reason": """
            return mistakes_with(document, order=(
                "above the roof", "first call", "not synchronized", "too short"))
        """,
        "sorted by name": "return sorted(mistakes_with(document))",
        "reasons together": """
            found = {}
            for text in mistakes_with(document):
                name, reason = text.split(": ")
                found.setdefault(name, []).append(reason)
            return [f"{name}: {', '.join(reasons)}" for name, reasons in found.items()]
        """,
        "names alone": """
            return list(dict.fromkeys(text.split(":")[0] for text in mistakes_with(document)))
        """,
        "without a colon": "return mistakes_with(document, join=' ')",
        "reasons first": """
            return [": ".join(reversed(text.split(": "))) for text in mistakes_with(document)]
        """,
        "by the trials' names": """
            wrong = {"early": "not synchronized", "cold": "first call", "short": "too short",
                     "kept": "too short", "warm": "above the roof", "over": "above the roof"}
            return [f"{row['name']}: {wrong[row['name']]}" for row in
                    document["rows"].get("trial", []) if row["name"] in wrong]
        """,
        "no trials are an error": """
            if not document["rows"].get("trial"):
                raise ValueError("no trials")
            return mistakes_with(document)
        """,
        "without roofs nothing is above them": """
            try:
                return mistakes_with(document)
            except ValueError:
                return []
        """,
    },
}
