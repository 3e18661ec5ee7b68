"""Lesson 09: kinds of mistakes that many exercises share.

Kinds: results that are rounded or kept from an earlier call, arguments that are changed, limits
that are checked on one side alone.
"""

from cohort.around import KEPT, around, rounded
from cohort.lesson_09_graphs import FUSE, GRAPH_BYTES
from cohort.lesson_09_halves import HALF_GRADIENTS, SCALE_AFTER
from cohort.lesson_09_loader import ACCUMULATE, SIMULATE_LOADER
from cohort.lesson_09_tiles import MERGE

DIAGNOSE = """
total = sum(row["self_ms"] for row in rows)
if not total:
    raise ValueError("no time")
spent, left = {}, {}
for row in rows:
    flops, moved = work_and_traffic([row])
    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
    name = row_name(row)
    spent[name] = spent.get(name, 0.0) + row["self_ms"]
    left[name] = left.get(name, 0.0) + min(row["self_ms"], roof)
found = []
for name in spent:
    rest = total - spent[name] + left[name]
    best = total / rest if rest > 0 else math.inf
    found.append({"name": name, "share": spent[name] / total, "best": best})
return sorted(found, key=lambda row: -row["best"])
"""

MUTANTS = {
    "diagnose": around(
        "diagnose(rows, hardware)",
        DIAGNOSE,
        {
            "kept from an earlier call with these rows": KEPT,
            "rounded to four decimals": rounded(4),
            "times rounded to ms": """
                rows = [row | {"self_ms": float(round(row["self_ms"]))} for row in rows]
                return right(CALL)
            """,
            "sorted by best to two decimals": """
                found = {row["name"]: row for row in right(CALL)}
                found = [found[name] for name in dict.fromkeys(map(row_name, rows))]
                return sorted(found, key=lambda row: -round(row["best"], 2))
            """,
            "the first ten names alone": "return right(CALL)[:10]",
            "ends at a name that is at its roof": """
                return [each for each in right(CALL) if each["best"] > 1]
            """,
            "never more than a thousand times as fast": """
                return [each | {"best": min(1000.0, each["best"])} for each in right(CALL)]
            """,
            "rows without work are taken out of the list": """
                found = right(CALL)
                rows[:] = [row for row in rows if row["matmul_flops"]]
                return found
            """,
        },
    ),
    "simulate_loader": around(
        "simulate_loader(load_ms, step_ms, workers, prefetch=2)",
        SIMULATE_LOADER,
        {
            "kept from an earlier call with these loads": KEPT,
            "rounded to four decimals": rounded(4),
            "rounded to whole ms": "return {k: round(v) for k, v in right(CALL).items()}",
            "prefetch is 4 by default": """
                return right(load_ms, step_ms, workers, 4 if prefetch == 2 else prefetch)
            """,
            "at most eight workers": "return right(load_ms, step_ms, min(workers, 8), prefetch)",
            "at most eight in advance": "return right(load_ms, step_ms, workers, min(prefetch, 8))",
            "ends at the first step that does not wait, and takes the rest to be like it": """
                found = right(CALL)
                for end in range(workers * prefetch + 1, len(load_ms)):
                    before, then = (right(load_ms[:n], step_ms, workers, prefetch)
                                    for n in (end, end + 1))
                    if before["wait_ms"] == then["wait_ms"]:
                        total = before["total_ms"] + (len(load_ms) - end) * step_ms
                        return {"total_ms": total, "wait_ms": before["wait_ms"]}
                return found
            """,
            "by a formula, as if all batches were like the average one": """
                found, mean = right(CALL), sum(load_ms) / len(load_ms)
                if workers == 0:
                    return found
                total = load_ms[0] + step_ms + (len(load_ms) - 1) * max(step_ms, mean / workers)
                return {"total_ms": total, "wait_ms": total - len(load_ms) * step_ms}
            """,
            "at most a hundred batches": """
                load_ms = load_ms[:100]
                return right(CALL)
            """,
            "loads are sorted in place": """
                found = right(CALL)
                load_ms.sort(reverse=True)
                return found
            """,
            "prefetch does not matter without workers": """
                return right(load_ms, step_ms, workers, prefetch if workers else 1)
            """,
        },
    ),
    "half_gradients": around(
        "half_gradients(gradients, scale)",
        HALF_GRADIENTS,
        {
            "kept from an earlier call with these gradients": KEPT,
            "warnings from numpy": """
                half = (gradients * np.float32(scale)).astype(np.float16)
                return right(CALL) if np.isfinite(half).all() else None
            """,
            "the scale in the type of halves": """
                scale = np.float16(scale)
                return right(gradients, np.float32(1) if np.isinf(scale) else scale)
            """,
            "65,504 is a limit, not what is rounded to: raises": """
                too_large = np.abs(gradients * np.float32(scale)) > 65504
                return None if too_large.any() else right(CALL)
            """,
            "no gradients are an overflow": "return right(CALL) if gradients.size else None",
            "rounded to eight decimals": """
                found = right(CALL)
                return None if found is None else found.round(8)
            """,
        },
    ),
    "scale_after": around(
        "scale_after(overflows, scale=2**16, growth=2, backoff=0.5, interval=2000)",
        SCALE_AFTER,
        {
            "kept from an earlier call with these steps": KEPT,
            "rounded to four decimals": rounded(4),
            "never below 1": "return [max(1, item) for item in right(CALL)]",
            "never above 2**16": "return [min(2**16, item) for item in right(CALL)]",
            "the steps are used up": """
                found = right(CALL)
                overflows.clear()
                return found
            """,
            "a scale below 0 is fine": """
                return right(overflows, abs(scale), growth, backoff, interval)
            """,
            "a backoff below 0 is fine": """
                return right(overflows, scale, growth, abs(backoff), interval)
            """,
        },
    ),
    "accumulate": around(
        "accumulate(model, loss, batches)",
        ACCUMULATE,
        {
            "rounded to four decimals": rounded(4),
            "the model is left in training mode": """
                model.train()
                return right(CALL)
            """,
            "the weights move, too": """
                found = right(CALL)
                for parameter in model.parameters():
                    parameter.data = parameter.data - 0.1 * parameter.grad
                return found
            """,
            "the batches are used up": """
                found = right(CALL)
                batches.clear()
                return found
            """,
            "the largest batch first": """
                return right(model, loss, sorted(batches, key=lambda pair: -len(pair[0])))
            """,
        },
    ),
    "fuse": around(
        "fuse(graph)",
        FUSE,
        {
            "the graph is sorted": """
                found = right(CALL)
                graph.sort()
                return found
            """,
            "its nodes' inputs are sorted": """
                found = right(CALL)
                for _, inputs, _ in graph:
                    inputs.sort(reverse=True)
                return found
            """,
            "inputs beyond the third are not looked at": """
                cut = [(name, inputs[:3], kind) for name, inputs, kind in graph]
                return right(graph) and right(cut)
            """,
            "groups of ten at most": """
                found = right(CALL)
                return [group[at : at + 10] for group in found for at in range(0, len(group), 10)]
            """,
            "only products and reductions stand alone": """
                kinds = ("product", "reduction")
                return right([(n, i, k if k in kinds else "elementwise") for n, i, k in graph])
            """,
            "a node may read itself": """
                return right([(n, [i for i in inputs if i != n], k) for n, inputs, k in graph])
            """,
        },
    ),
    "graph_bytes": around(
        "graph_bytes(graph, sizes, groups)",
        GRAPH_BYTES,
        {
            "kept from an earlier call with this graph": KEPT,
            "groups are used up": """
                found = right(CALL)
                groups.clear()
                return found
            """,
            "sizes lose what was counted": """
                found = right(CALL)
                sizes.clear()
                return found
            """,
            "no size is 0 bytes": """
                return right(graph, {n: 0 for _, i, _ in graph for n in i} | sizes, groups)
            """,
        },
    ),
    "merge": around(
        "merge(one, two)",
        MERGE,
        {
            "kept from an earlier call with this block": KEPT,
            "rounded to four decimals": "return tuple(np.round(item, 4) for item in right(CALL))",
            "in float32 inside": """
                found = right(*(tuple(x.astype(np.float32) for x in part) for part in (one, two)))
                return tuple(item.astype(one[0].dtype) for item in found)
            """,
            "warnings from numpy": """
                np.exp(one[0] - np.maximum(one[0], two[0]))
                np.exp(two[0] - one[0])
                return right(CALL)
            """,
            "one masked row masks its neighbours": """
                found = right(CALL)
                if np.isneginf(one[0]).any() and not np.isneginf(one[0]).all():
                    return two
                return found
            """,
        },
    ),
}
