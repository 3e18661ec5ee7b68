"""Lesson 11: what students get wrong about traces: busy time, causes of gaps, ops."""

from cohort.edits import edited

BUSY = """
timed = [e for e in events if "dur" in e]
if window is None:
    if not timed:
        raise ValueError("no window")
    window = (min(e["ts"] for e in timed), max(e["ts"] + e["dur"] for e in timed))
start, end = window
if end <= start:
    raise ValueError("window")
spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in timed if e["cat"] == "kernel")
merged = []
for left, right in spans:
    left, right = max(left, start), min(right, end)
    if right <= left:
        continue
    if merged and left <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], right)
    else:
        merged.append([left, right])
busy = sum(right - left for left, right in merged)
edges = [start, *(time for span in merged for time in span), end]
gaps = [(a, b) for a, b in zip(edges[::2], edges[1::2]) if b > a]
return {"busy": busy, "idle": end - start - busy, "gaps": gaps}
"""

CAUSES = """
(start, end), order = gap, list(causes)
if end <= start:
    raise ValueError("gap")
if any(cause not in order for cause, *_ in host):
    raise ValueError("cause")
free = [(start, end)]
found = {}
for cause in order:
    found[cause] = 0
    for name, left, right in host:
        if name != cause:
            continue
        rest = []
        for a, b in free:
            low, high = max(a, left), min(b, right)
            if high <= low:
                rest.append((a, b))
                continue
            found[cause] += high - low
            rest += [piece for piece in ((a, low), (high, b)) if piece[1] > piece[0]]
        free = rest
found["other"] = sum(b - a for a, b in free)
return found
"""

TABLE = """
events = [e for e in trace["traceEvents"] if "dur" in e]
ops = [e for e in events if e["cat"] in ("cpu_op", "user_annotation")]
calls = [e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")]
work = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
rows = {}

def row(name):
    return rows.setdefault(
        name, {"name": name, "cpu_us": 0, "self_cpu_us": 0, "self_gpu_us": 0})

def ends(e):
    return e["ts"] + e["dur"]

def around(e):
    found = None
    for op in ordered:
        if op is e:
            break
        if (op["pid"], op["tid"]) == (e["pid"], e["tid"]) and op["ts"] <= e["ts"] < ends(op):
            found = op
    return found

ordered = sorted(ops, key=lambda e: (e["ts"], -e["dur"]))
for op in ordered:
    row(op["name"])["cpu_us"] += op["dur"]
    row(op["name"])["self_cpu_us"] += op["dur"]
    parent = around(op)
    if parent is not None:
        row(parent["name"])["self_cpu_us"] -= op["dur"]
    siblings = [other for other in ordered if around(other) is parent]
    if parent is not None and parent["name"] == op["name"] and len(siblings) == 1:
        row(op["name"])["cpu_us"] -= op["dur"]
callers = {}
for call in calls:
    op = around(call)
    if op is not None:
        callers[call["args"]["correlation"]] = op["name"]
for e in work:
    name = callers.get(e["args"]["correlation"], e["name"])
    row(name)["self_gpu_us"] += e["dur"]
return sorted(rows.values(), key=lambda r: r["name"])
"""

MUTANTS = {
    "gpu_busy": edited(
        BUSY,
        {
            "the durations are summed": (
                "    if merged and left <= merged[-1][1]:\n"
                "        merged[-1][1] = max(merged[-1][1], right)\n"
                "    else:\n"
                "        merged.append([left, right])\n",
                "    merged.append([left, right])\n",
            ),
            "only one stream": (
                'if e["cat"] == "kernel")',
                'if e["cat"] == "kernel" and e["args"]["stream"] == 7)',
            ),
            "the window begins with the first kernel": (
                "start, end = window\n",
                'start, end = window\nkernels = [e["ts"] for e in timed if e["cat"] == "kernel"]\n'
                "start = max([start, min(kernels, default=start)])\n",
            ),
            "the window ends with the last kernel": (
                "edges = [start, *(time for span in merged for time in span), end]",
                "end = merged[-1][1] if merged else end\n"
                "edges = [start, *(time for span in merged for time in span), end]",
            ),
            "without a window, that of the kernels alone": (
                'timed = [e for e in events if "dur" in e]',
                'timed = [e for e in events if e.get("cat") == "kernel"]',
            ),
            "copies are work": (
                'if e["cat"] == "kernel")',
                'if e["cat"] in ("kernel", "gpu_memcpy"))',
            ),
            "all that has a stream is work": (
                'if e["cat"] == "kernel")',
                'if "stream" in e.get("args", {}))',
            ),
            "ops of the host are work": (
                'if e["cat"] == "kernel")',
                'if e["cat"] in ("kernel", "cpu_op"))',
            ),
            "the end of the last one counts, not the latest": (
                "merged[-1][1] = max(merged[-1][1], right)",
                "merged[-1][1] = right",
            ),
            "unsorted": (
                'spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in timed '
                'if e["cat"] == "kernel")',
                'spans = [(e["ts"], e["ts"] + e["dur"]) for e in timed if e["cat"] == "kernel"]',
            ),
            "the window cuts nothing": (
                "left, right = max(left, start), min(right, end)",
                "left, right = left, right",
            ),
            "the window cuts only the start": ("min(right, end)\n", "right\n"),
            "the window cuts only the end": ("max(left, start), ", "left, "),
            "kernels that reach out of the window are left out": (
                "    left, right = max(left, start), min(right, end)\n    if right <= left:",
                "    if left < start or right > end:",
            ),
            "two that touch have a gap without length": (
                "if merged and left <= merged",
                "if merged and left < merged",
                " if b > a]",
                "]",
            ),
            "the gap before the first kernel is missing": (
                "edges = [start, *(time for span in merged for time in span), end]",
                "edges = [time for span in merged for time in span][1:] + [end]",
            ),
            "the gap after the last kernel is missing": (
                "edges = [start, *(time for span in merged for time in span), end]",
                "edges = ([start] + [time for span in merged for time in span])[:-1]",
            ),
            "gaps are lengths": ("gaps = [(a, b) for", "gaps = [b - a for"),
            "gaps are start and length": ("gaps = [(a, b) for", "gaps = [(a, b - a) for"),
            "idle is the number of gaps": ('"idle": end - start - busy', '"idle": len(gaps)'),
            "busy as a share": ('{"busy": busy,', '{"busy": busy / (end - start),'),
            "in ms": (
                '{"busy": busy, "idle": end - start - busy',
                '{"busy": busy / 1e3, "idle": (end - start - busy) / 1e3',
            ),
            "an empty window is allowed": ("if end <= start:", "if end < start:"),
            "a window is not checked": ("if end <= start:", "if False:"),
            "without events the window is empty": (
                '        raise ValueError("no window")',
                '        return {"busy": 0, "idle": 0, "gaps": []}',
            ),
            "dur is the end": (
                'spans = sorted((e["ts"], e["ts"] + e["dur"])',
                'spans = sorted((e["ts"], e["dur"])',
            ),
        },
    ),
    "gap_causes": edited(
        CAUSES,
        {
            "the order is reversed": ("for cause in order:", "for cause in order[::-1]:"),
            "the order of the alphabet": ("for cause in order:", "for cause in sorted(order):"),
            "copy and data change places": (
                "order = gap, list(causes)",
                "order = gap, [causes[1], causes[0], *causes[2:]]",
            ),
            "sync and copy change places": (
                "order = gap, list(causes)",
                "order = gap, [causes[0], causes[2], causes[1], *causes[3:]]",
            ),
            "launch before sync": (
                "order = gap, list(causes)",
                "order = gap, [*causes[:2], *causes[:1:-1]]",
            ),
            "causes is not read": (
                "order = gap, list(causes)",
                'order = gap, ["data", "copy", "sync", "launch"]',
            ),
            "causes is read, its order not": (
                "(start, end), order = gap, list(causes)",
                '(start, end), known = gap, ["data", "copy", "sync", "launch"]\n'
                "order = [c for c in known if c in causes] + [c for c in causes if c not in known]",
            ),
            "a fifth cause has no key of its own": (
                'found["other"] = sum(b - a for a, b in free)',
                'found["other"] = sum(b - a for a, b in free)\n'
                'found["other"] += found.pop("communication", 0)',
            ),
            "each cause gets all of its time": (
                "        free = rest\n",
                "",
                'found["other"] = sum(b - a for a, b in free)',
                'found["other"] = max(end - start - sum(found.values()), 0)',
            ),
            "the whole gap goes to the first cause": (
                'found["other"] = sum(b - a for a, b in free)\nreturn found',
                'found["other"] = sum(b - a for a, b in free)\n'
                "first = next((c for c in found if found[c]), 'other')\n"
                "return dict.fromkeys(found, 0) | {first: end - start}",
            ),
            "the whole gap goes to the longest cause": (
                'found["other"] = sum(b - a for a, b in free)\nreturn found',
                'found["other"] = sum(b - a for a, b in free)\n'
                "first = max(found, key=found.get)\n"
                "return dict.fromkeys(found, 0) | {first: end - start}",
            ),
            "the whole gap goes to who began last before it": (
                'found["other"] = sum(b - a for a, b in free)\nreturn found',
                "begun = [h for h in host if h[1] <= start < h[2]]\n"
                "cause = max(begun, key=lambda h: h[1])[0] if begun else 'other'\n"
                "return dict.fromkeys([*order, 'other'], 0) | {cause: end - start}",
            ),
            "spans are not cut at the gap's end": (
                "low, high = max(a, left), min(b, right)",
                "low, high = max(a, left), right",
            ),
            "spans are not cut at the gap's start": (
                "low, high = max(a, left), min(b, right)",
                "low, high = left, min(b, right)",
            ),
            "only spans that lie in the gap": (
                "        if name != cause:",
                "        if name != cause or left < start or right > end:",
            ),
            "only the first span of each cause": (
                "        free = rest\n",
                "        free = rest\n        if found[cause]:\n            break\n",
            ),
            "what is left before a span is lost": ("((a, low), (high, b))", "((high, b),)"),
            "what is left after a span is lost": ("((a, low), (high, b))", "((a, low),)"),
            "other is missing": ('found["other"] = sum(b - a for a, b in free)\n', ""),
            "other is what no launch covers": (
                'found["other"] = sum(b - a for a, b in free)',
                'found["other"] = end - start - found["launch"]',
            ),
            "causes without time are left out": (
                "return found",
                "return {c: us for c, us in found.items() if us}",
            ),
            "shares, not µs": (
                "return found",
                "return {c: us / (end - start) for c, us in found.items()}",
            ),
            "in ms": ("return found", "return {c: us / 1e3 for c, us in found.items()}"),
            "an unknown cause is other": (
                "if any(cause not in order for cause, *_ in host):",
                "if False:",
            ),
            "other is a known cause": (
                "if any(cause not in order for",
                'if any(cause not in [*order, "other"] for',
            ),
            "a gap without length": ("if end <= start:", "if end < start:"),
            "a gap is not checked": ("if end <= start:", "if False:"),
            "the host is taken as sorted": (
                "        if name != cause:",
                "        if left >= end:\n            break\n        if name != cause:",
            ),
            "the host's list is emptied": ("return found", "host.clear()\nreturn found"),
        },
    ),
    "ops_table": edited(
        TABLE,
        {
            "kernels go to the outermost op": (
                "            found = op\n",
                "            found = found or op\n",
            ),
            "kernels go to the op that runs when they do": (
                'name = callers.get(e["args"]["correlation"], e["name"])',
                'there = [op for op in ordered if op["ts"] <= e["ts"] < ends(op)]\n'
                '    name = there[-1]["name"] if there else e["name"]',
            ),
            "self is total": (
                '        row(parent["name"])["self_cpu_us"] -= op["dur"]\n',
                "        pass\n",
            ),
            "all that is inside is taken off, not only what is directly": (
                '        row(parent["name"])["self_cpu_us"] -= op["dur"]\n',
                "        pass\n"
                "    for outer in ordered:\n"
                '        if outer is not op and outer["tid"] == op["tid"] and '
                'outer["ts"] <= op["ts"] < ends(outer) and outer["dur"] > op["dur"]:\n'
                '            row(outer["name"])["self_cpu_us"] -= op["dur"]\n',
            ),
            "threads are not told apart": (
                '(op["pid"], op["tid"]) == (e["pid"], e["tid"]) and ',
                "",
            ),
            "calls are ops": (
                'ops = [e for e in events if e["cat"] in ("cpu_op", "user_annotation")]',
                'ops = [e for e in events if e["cat"] in ("cpu_op", "user_annotation", '
                '"cuda_runtime")]',
            ),
            "calls take off self time": (
                "callers[call",
                'row(op["name"])["self_cpu_us"] -= call["dur"]\n        callers[call',
            ),
            "annotations are no ops": (
                'e["cat"] in ("cpu_op", "user_annotation")]',
                'e["cat"] == "cpu_op"]',
            ),
            "the driver's calls are not seen": (
                'e["cat"] in ("cuda_runtime", "cuda_driver")]',
                'e["cat"] == "cuda_runtime"]',
            ),
            "copies are no work": (
                '"kernel", "gpu_memcpy", "gpu_memset"',
                '"kernel", "gpu_memset"',
            ),
            "memsets are no work": (
                '"kernel", "gpu_memcpy", "gpu_memset"',
                '"kernel", "gpu_memcpy"',
            ),
            "the shadow of an annotation is work": (
                '"kernel", "gpu_memcpy", "gpu_memset")]',
                '"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")]',
                'e["args"]["correlation"], e',
                'e["args"].get("correlation"), e',
            ),
            "work without an op is lost": (
                '    name = callers.get(e["args"]["correlation"], e["name"])\n',
                '    name = callers.get(e["args"]["correlation"])\n    if name is None:\n'
                "        continue\n",
            ),
            "each kernel has a row of its own": (
                'name = callers.get(e["args"]["correlation"], e["name"])',
                'name = e["name"]',
            ),
            "one name twice counts once": (
                '    row(op["name"])["cpu_us"] += op["dur"]\n',
                '    row(op["name"])["cpu_us"] = op["dur"]\n',
            ),
            "work is set, not added": (
                'row(name)["self_gpu_us"] += e["dur"]',
                'row(name)["self_gpu_us"] = e["dur"]',
            ),
            "in the order of the trace": (
                'return sorted(rows.values(), key=lambda r: r["name"])',
                "return list(rows.values())",
            ),
            "the longest first": ('key=lambda r: r["name"])', 'key=lambda r: -r["cpu_us"])'),
            "nested by the end, too": (
                'op["ts"] <= e["ts"] < ends(op)',
                'op["ts"] <= e["ts"] and ends(e) <= ends(op)',
            ),
            "what begins at the end is inside": ('e["ts"] < ends(op)', 'e["ts"] <= ends(op)'),
            "the trace is taken as sorted": (
                'ordered = sorted(ops, key=lambda e: (e["ts"], -e["dur"]))',
                "ordered = ops",
            ),
            "in ms": (
                '    row(op["name"])["cpu_us"] += op["dur"]\n',
                '    row(op["name"])["cpu_us"] += op["dur"] / 1e3\n',
            ),
            "the time of the call is the card's": (
                "callers[call",
                'row(op["name"])["self_gpu_us"] += call["dur"]\n        callers[call',
            ),
            "the innermost is the shortest op of all threads": (
                "    found = None\n    for op in ordered:\n",
                '    there = [o for o in ordered if o is not e and o["ts"] <= e["ts"] < ends(o)]\n'
                '    return min(there, key=lambda o: o["dur"], default=None)\n'
                "    for op in ordered:\n",
            ),
            "an op that calls itself counts twice": (" and len(siblings) == 1:", " and False:"),
            "of one name only the outermost counts": (" and len(siblings) == 1:", ":"),
            "an op that calls itself loses its self time, too": (
                '        row(op["name"])["cpu_us"] -= op["dur"]\n',
                '        row(op["name"])["cpu_us"] -= op["dur"]\n'
                '        row(op["name"])["self_cpu_us"] -= op["dur"]\n',
            ),
            "an only op inside any other adds nothing": (
                'parent["name"] == op["name"] and len',
                "len",
            ),
            "events without a dur are read: raises": (
                'events = [e for e in trace["traceEvents"] if "dur" in e]',
                'events = trace["traceEvents"]',
            ),
        },
    ),
}
