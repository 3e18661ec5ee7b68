"""Lesson 10: rounded results, borders on the wrong side, sizes and lengths that nobody tried."""

from cohort.kinds import remembers

WRAPPED = (
    "fma_flops", "stream_bytes", "events_to_ms", "ceilings", "place", "crossover", "gpu_mistakes",
    "reflect_launch", "reflect_speedup", "fma_lines", "stream_line",
)  # fmt: skip
HELPERS = "KEPT = {}\n" + "".join(f"solved_{name} = {name}\n" for name in WRAPPED)
HELPERS += """
def rounded(value, digits):
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    return round(value, digits) if isinstance(value, float) else value
"""


def _result(name: str, changed: str) -> str:
    """The right solution, with `found` changed before it is returned."""
    solution = f"found = solved_{name}(*args, **kwargs)"
    return f"def {name}(*args, **kwargs):\n    {solution}\n    return {changed}"


def _counts(name: str) -> dict[str, str]:
    return {
        "a float": _result(name, "float(found)"),
        "32-bit overflow": _result(name, "(found + 2**31) % 2**32 - 2**31"),
        "64-bit overflow": _result(name, "(found + 2**63) % 2**64 - 2**63"),
    }


def _rounded(name: str) -> dict[str, str]:
    return {
        f"{text} decimals": _result(name, f"rounded(found, {digits})")
        for text, digits in (("no", 0), ("two", 2), ("three", 3))
    }


MUTANTS = {
    "fma_lines": {
        "fewer than none are turned round": "return solved_fma_lines(abs(accumulators))",
        "none are one": "return solved_fma_lines(accumulators or 1)",
    },
    "fma_flops": _counts("fma_flops")
    | {
        "0 alone is refused": """
            if 0 in (threads, fmas, accumulators):
                raise ValueError
            return 2 * threads * fmas * accumulators
        """,
        "nothing to do is 0": """
            if min(threads, fmas, accumulators) < 0:
                raise ValueError
            return 2 * threads * fmas * accumulators
        """,
    },
    "stream_line": {
        "STREAM's add, too": """
            return "a = b + c;" if kernel == "add" else solved_stream_line(kernel)
        """,
        "add is a triad": """
            return solved_stream_line("triad" if kernel == "add" else kernel)
        """,
        "spaces around the name are dropped": "return solved_stream_line(kernel.strip())",
        "a KeyError": """
            return {"copy": "a = b;", "scale": "a = s * b;", "triad": "a = b + s * c;"}[kernel]
        """,
    },
    "stream_bytes": _counts("stream_bytes")
    | {
        "negative elements are let through": """
            if elements == 0 or min(itemsize, reads + writes) < 1 or min(reads, writes) < 0:
                raise ValueError
            return elements * (reads + writes) * itemsize
        """,
        "no elements are no bytes": """
            if elements < 0 or min(itemsize, reads + writes) < 1 or min(reads, writes) < 0:
                raise ValueError
            return elements * (reads + writes) * itemsize
        """,
        "an itemsize of 0 is let through": """
            if itemsize == 0:
                return 0
            return solved_stream_bytes(elements, reads, writes, itemsize)
        """,
        "a negative itemsize is turned round": """
            return solved_stream_bytes(elements, reads, writes, abs(itemsize))
        """,
    },
    "events_to_ms": _rounded("events_to_ms")
    | {
        "a length of 0 is refused": """
            if min((end - start for start, end in events), default=0) <= 0:
                raise ValueError
            return solved_events_to_ms(events, reduce)
        """,
        "a length of 0 is no measurement": """
            events = [pair for pair in events if pair[0] != pair[1]]
            return solved_events_to_ms(events, reduce)
        """,
        "whole µs": "return int(1000 * solved_events_to_ms(events, reduce)) / 1000",
        "the mean as well": """
            if reduce == "mean":
                kept = [end - start for start, end in events][math.ceil(len(events) / 5) :]
                return sum(kept) / len(kept)
            return solved_events_to_ms(events, reduce)
        """,
        "any word with an m is the median": """
            return solved_events_to_ms(events, "median" if "m" in reduce else reduce)
        """,
        "lists are known by their id": """
            key = id(events), reduce
            if key not in KEPT:
                KEPT[key] = solved_events_to_ms(events, reduce)
            return KEPT[key]
        """,
    },
    "ceilings": {
        "GFLOP/s, cut": _result("ceilings", "{k: {n: float(int(r / 1e9) * 10**9)"
                                " for n, r in d.items()} for k, d in found.items()}"),
        "three digits": _result("ceilings", "{k: {n: float(f'{r:.3g}')"
                                " for n, r in d.items()} for k, d in found.items()}"),
        "documents are known by their id": """
            if id(document) not in KEPT:
                KEPT[id(document)] = solved_ceilings(document)
            return KEPT[id(document)]
        """,
        "lists that are missing are an error: raises": """
            for kind in ("fma", "gemm", "stream"):
                document["rows"][kind]
            return solved_ceilings(document)
        """,
        "half of the cache is no level": """
            rows = document["rows"]
            half = document["card"]["l2_bytes"] / 2
            keep = [r for r in rows.get("stream", []) if stream_bytes(
                r["elements"], r["reads"], r["writes"], r["itemsize"]) != half]
            return solved_ceilings({**document, "rows": {**rows, "stream": keep}})
        """,
        "four times the cache is no level": """
            rows = document["rows"]
            four = document["card"]["l2_bytes"] * 4
            keep = [r for r in rows.get("stream", []) if stream_bytes(
                r["elements"], r["reads"], r["writes"], r["itemsize"]) != four]
            return solved_ceilings({**document, "rows": {**rows, "stream": keep}})
        """,
    },
    "place": _rounded("place")
    | {
        "overhead at 4 times": "return placed_with(workload, ceilings, limit=4 - 1e-12)",
        "no ridge at 1.2 times": "return placed_with(workload, ceilings, ridge=1.2 - 1e-12)",
        "0 alone is refused": """
            if 0 in (workload["flops"], workload["bytes"], workload["ms"]):
                raise ValueError
            return placed_with(workload, ceilings, check=workload["dtype"] not in ceilings["flops"])
        """,
        **{
            f"{what} may be negative": f"""
            if workload["{key}"] == 0:
                raise ValueError
            if workload["{key}"] < 0:
                return placed_with(workload, ceilings, check=False)
            return solved_place(workload, ceilings)
        """
            for what, key in (("FLOPs", "flops"), ("bytes", "bytes"), ("a time", "ms"))
        },
        "no time is all overhead": """
            if workload["ms"] == 0:
                return {**solved_place({**workload, "ms": 1.0}, ceilings), "wall": "overhead"}
            return solved_place(workload, ceilings)
        """,
    },
    "crossover": {
        "two decimals": _result("crossover", "found and round(found, 2)"),
        "three decimals": _result("crossover", "found and round(found, 3)"),
        **{
            f"more {what} than the others": f"""
            n = min(len(sizes), len(cpu_ms), len(gpu_ms))
            if len({name}) > n:
                {name} = {name}[:n]
            return solved_crossover(sizes, cpu_ms, gpu_ms)
        """
            for what, name in (
                ("sizes", "sizes"), ("times of the CPU", "cpu_ms"), ("times of the GPU", "gpu_ms")
            )
        },
        **{
            f"{what} may be negative": f"""
            return solved_crossover(sizes, cpu_ms, gpu_ms) if min({name}) >= 0 else None
        """
            for what, name in (("sizes", "sizes"), ("the CPU's times", "cpu_ms"),
                               ("the GPU's times", "gpu_ms"))
        },
        **{
            f"{what} may be 0": f"""
            return None if 0 in list({name}) else solved_crossover(sizes, cpu_ms, gpu_ms)
        """
            for what, name in (("the CPU's times", "cpu_ms"), ("the GPU's times", "gpu_ms"))
        },
        "a size twice at the end": """
            if len(sizes) > 2 and sizes[-1] == sizes[-2]:
                sizes, cpu_ms, gpu_ms = sizes[:-1], cpu_ms[:-1], gpu_ms[:-1]
            return solved_crossover(sizes, cpu_ms, gpu_ms)
        """,
    },
    "gpu_mistakes": {
        "a first call of just twice": """
            return mistakes_with(document, first=2 - 1e-12)
        """,
        "too short at 10 times": "return mistakes_with(document, short=10 + 1e-9)",
        "the lower median of the host's": """
            return mistakes_with(document, whole=lambda t: sorted(t)[(len(t) - 1) // 2])
        """,
        "the upper median of the host's": """
            return mistakes_with(document, whole=lambda t: sorted(t)[len(t) // 2])
        """,
        "three decimals": """
            return mistakes_with(document, whole=lambda t: round(float(np.median(t)), 3))
        """,
        "documents are known by their id": """
            if id(document) not in KEPT:
                KEPT[id(document)] = solved_gpu_mistakes(document)
            return KEPT[id(document)]
        """,
        "no trials without roofs are nothing": """
            return solved_gpu_mistakes(document) if document["rows"].get("trial") else []
        """,
        "None where nothing is found": "return solved_gpu_mistakes(document) or None",
        "a set": "return sorted(set(solved_gpu_mistakes(document)))",
    },
    "reflect_launch": _rounded("reflect_launch")
    | {
        "more times than counts": """
            return solved_reflect_launch(counts, total_ms[: len(counts)])
        """,
        "more counts than times": """
            return solved_reflect_launch(counts[: len(total_ms)], total_ms)
        """,
        "equal counts are free": """
            return 0.0 if len(set(counts)) == 1 else solved_reflect_launch(counts, total_ms)
        """,
        "ms": _result("reflect_launch", "found / 1000"),
    },
    "reflect_speedup": _rounded("reflect_speedup")
    | {
        **{
            f"{what} may be negative": f"""
            if {name} < 0:
                return 1.0
            return solved_reflect_speedup(speedup, gpu_peak, cpu_peak)
        """
            for what, name in (("a speed-up", "speedup"), ("the GPU's peak", "gpu_peak"),
                               ("the CPU's peak", "cpu_peak"))
        },
        "the GPU's peak may be 0": """
            if gpu_peak == 0:
                return 0.0
            return solved_reflect_speedup(speedup, gpu_peak, cpu_peak)
        """,
        "percent": _result("reflect_speedup", "100 * found"),
    },
}  # fmt: skip
MUTANTS["reflect_launch"] |= remembers("reflect_launch")
