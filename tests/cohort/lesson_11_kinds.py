"""Lesson 11: kinds of mistakes that many exercises share.

Results that are rounded or kept from an earlier call, arguments that are changed, limits that are
checked on one side alone.
"""

from cohort.around import KEPT, around, rounded
from cohort.lesson_11_memory import HOLE, PEAK
from cohort.lesson_11_overlap import OVERLAP, SHARDED, SHARE
from cohort.lesson_11_ranks import COST, RING
from cohort.lesson_11_reports import INTERACTION, MFU, REPORT
from cohort.lesson_11_traces import BUSY, CAUSES, TABLE

MUTANTS = {
    "gpu_busy": around(
        "gpu_busy(events, window=None)",
        BUSY,
        {
            "kept from an earlier call with these events": KEPT,
            "rounded to two decimals": rounded(2),
            "rounded to four decimals": rounded(4),
            "rounded to six decimals": rounded(6),
            "at most twenty events": "return right(events[:20], window)",
            "gaps below a µs are left out": """
                found = right(CALL)
                return found | {"gaps": [(a, b) for a, b in found["gaps"] if b - a >= 1]}
            """,
            "the events are sorted": """
                events.sort(key=lambda event: event.get("ts", 0))
                return right(CALL)
            """,
            "a window the other way round": """
                return right(events, window and tuple(sorted(window)))
            """,
        },
    ),
    "gap_causes": around(
        "gap_causes(gap, host, causes=None)",
        'causes = causes or ["data", "copy", "sync", "launch"]\n' + CAUSES,
        {
            "kept from an earlier call with this gap": KEPT,
            "rounded to three decimals": rounded(3),
            "host is sorted": """
                host.sort()
                return right(CALL)
            """,
            "a host that did nothing is refused": """
                if not host:
                    raise ValueError("host")
                return right(CALL)
            """,
            "at most eight spans": "return right(gap, host[:8], causes)",
            "only known names are causes": """
                known = ("communication", "data", "copy", "sync", "launch")
                if causes and any(cause not in known for cause in causes):
                    raise ValueError("causes")
                return right(CALL)
            """,
            "what lies elsewhere is not looked at": """
                near = [each for each in host if each[1] < gap[1] and each[2] > gap[0]]
                return right(gap, near, causes)
            """,
        },
    ),
    "ops_table": around(
        "ops_table(trace)",
        TABLE,
        {
            "rounded to three decimals": rounded(3),
            "rounded to four decimals": rounded(4),
            "rounded to six decimals": rounded(6),
            "at most twenty events": """
                return right({"traceEvents": trace["traceEvents"][:20]})
            """,
            "the second kernel of a call is lost": """
                seen, events = set(), []
                for event in trace["traceEvents"]:
                    number = event.get("args", {}).get("correlation")
                    card = event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
                    if card and number in seen:
                        continue
                    if card:
                        seen.add(number)
                    events.append(event)
                return right({"traceEvents": events})
            """,
            "threads told apart by tid alone": """
                host = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
                return right({"traceEvents": [
                    event | ({"pid": 1} if event.get("cat") in host else {})
                    for event in trace["traceEvents"]
                ]})
            """,
            "threads told apart by pid alone": """
                host = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")
                return right({"traceEvents": [
                    event | ({"tid": 1} if event.get("cat") in host else {})
                    for event in trace["traceEvents"]
                ]})
            """,
            "the events are sorted in the trace": """
                trace["traceEvents"].sort(key=lambda event: event.get("ts", 0))
                trace["traceEvents"] = [e for e in trace["traceEvents"] if "dur" in e]
                return right(CALL)
            """,
        },
    ),
    "memory_peak": around(
        "memory_peak(history)",
        PEAK,
        {
            "sums are rounded to pages": """
                found = right(CALL)
                return found | {"peak": -(-found["peak"] // 4096) * 4096}
            """,
            "the history is used up": """
                found = right(CALL)
                history.clear()
                return found
            """,
            "sizes are rounded in the history": """
                for event in history:
                    if event.get("size"):
                        event["size"] = -(-event["size"] // 512) * 512
                return right(CALL)
            """,
            "only a size of 0 is refused": """
                return right([event | {"size": abs(event["size"])} for event in history])
            """,
        },
    ),
    "largest_hole": around(
        "largest_hole(segments)",
        HOLE,
        {
            "rounded to pages": """
                found = right(CALL)
                return found | {"free": -(-found["free"] // 512) * 512}
            """,
        },
    ),
    "step_report": around(
        "step_report(rows)",
        REPORT,
        {
            "rounded to three decimals": rounded(3),
            "equal ms are no improvement": """
                if rows[0]["ms"] == rows[-1]["ms"]:
                    raise ValueError("no way")
                return right(CALL)
            """,
            "a last row that is slower is refused": """
                found = right(CALL)
                if found[-1]["total"] < 1:
                    raise ValueError("slower")
                return found
            """,
            "keys are added to the rows": """
                found = right(CALL)
                for row, other in zip(rows, found):
                    row.update(other)
                return found
            """,
            "only a batch of 0 is refused": """
                return right([row | {"batch": abs(row["batch"])} for row in rows])
            """,
        },
    ),
    "interaction": around(
        "interaction(base, a, b, both)",
        INTERACTION,
        {
            "rounded to three decimals": rounded(3),
            "kept from an earlier call with this base": KEPT,
            "only both may not be 0": """
                if min(base, a, b) <= 0 < both:
                    return 1.0
                return right(CALL)
            """,
        },
    ),
    "training_mfu": around(
        "training_mfu(model, shape, step_ms, peak_flops, recompute=False)",
        MFU,
        {
            "rounded to three decimals": rounded(3),
            "kept from an earlier call with this shape": KEPT.replace("repr(FIRST)", "repr(shape)"),
            "never above 1": "return {key: min(1.0, share) for key, share in right(CALL).items()}",
            "only a time of 0 is refused": """
                return right(model, shape, abs(step_ms), peak_flops, recompute)
            """,
            "only a peak of 0 is refused": """
                return right(model, shape, step_ms, abs(peak_flops), recompute)
            """,
        },
    ),
    "ring_allreduce": around(
        "ring_allreduce(arrays)",
        RING,
        {
            "rounded to four decimals": """
                found = right(CALL)
                return found | {"results": [np.round(each, 4) for each in found["results"]]}
            """,
            "one array for all ranks": """
                found = right(CALL)
                return found | {"results": found["results"][:1] * len(arrays)}
            """,
        },
    ),
    "allreduce_ms": around(
        "allreduce_ms(size, ranks, latency_us, gb_per_s, algorithm)",
        COST,
        {
            "rounded to three decimals": rounded(3),
            "kept from an earlier call with this size": KEPT,
            "ranks below 0 are fine": """
                return right(size, abs(ranks), latency_us, gb_per_s, algorithm)
            """,
            "a bandwidth below 0 is fine": """
                return right(size, ranks, latency_us, abs(gb_per_s), algorithm)
            """,
            "the next power of two": """
                if algorithm == "tree":
                    ranks = 2 ** math.floor(math.log2(ranks)) if ranks > 0 else ranks
                return right(size, ranks, latency_us, gb_per_s, algorithm)
            """,
        },
    ),
    "overlapped": around(
        "overlapped(layers, bucket, reduce_ms)",
        OVERLAP,
        {
            "rounded to two decimals": rounded(2),
            "rounded to three decimals": rounded(3),
            "the layers are used up": """
                found = right(CALL)
                layers.clear()
                return found
            """,
            "a bucket below 0 is fine": "return right(layers, abs(bucket), reduce_ms)",
            "a layer takes some time": """
                return right([(max(ms, 1e-3) if ms >= 0 else ms, size) for ms, size in layers],
                             bucket, reduce_ms)
            """,
        },
    ),
    "serial_share": around(
        "serial_share(speedup, workers)",
        SHARE,
        {
            "never below 0": "return max(0.0, right(CALL))",
            "kept from an earlier call with this speed-up": KEPT,
            "a speed-up below 0 is fine": "return right(abs(speedup), workers)",
            "rounded to three decimals": rounded(3),
        },
    ),
    "sharded_bytes": around(
        "sharded_bytes(parameters, ranks, stage)",
        SHARDED,
        {
            "stages counted from the end": """
                return right(parameters, ranks, stage % 4 if stage < 0 else stage)
            """,
            "an int": "return int(right(CALL))",
            "rounded to two decimals": rounded(2),
            "no parameters need nothing": "return right(CALL) if parameters else 0.0",
        },
    ),
}
