"""Lesson 11: right solutions in unusual style, which must keep every point."""

from cohort.lesson_11_alternates_ranks import ALTERNATES as RANKS
from cohort.lesson_11_loop import ALTERNATES as LOOP
from cohort.lesson_11_memory import HOLE, PEAK
from cohort.lesson_11_reports import INTERACTION, MFU, REPORT
from cohort.lesson_11_traces import BUSY, CAUSES, TABLE

ALTERNATES = (
    {
        "gpu_busy": {
            "merged spans": BUSY,
            "a sweep over starts and ends": """
            timed = [e for e in events if "dur" in e]
            if window is None:
                ends = [t for e in timed for t in (e["ts"], e["ts"] + e["dur"])]
                window = (min(ends), max(ends)) if ends else (0, 0)
            start, end = window
            if not start < end:
                raise ValueError("window")
            marks = []
            for e in timed:
                if e.get("cat") == "kernel":
                    marks += [(e["ts"], 1), (e["ts"] + e["dur"], -1)]
            gaps, running, since = [], 0, start
            for time, change in sorted(marks, key=lambda m: (m[0], -m[1])):
                if running == 0 and change == 1:
                    low, high = max(since, start), min(time, end)
                    if high > low:
                        gaps.append((low, high))
                running += change
                if running == 0:
                    since = time
            if end > max(since, start):
                gaps.append((max(since, start), end))
            idle = sum(b - a for a, b in gaps)
            return {"busy": end - start - idle, "idle": idle, "gaps": gaps}
        """,
            "numpy's running maximum, gaps as lists": """
            timed = [(e["ts"], e["ts"] + e["dur"], e["cat"]) for e in events if "dur" in e]
            if window is None:
                if not timed:
                    raise ValueError("nothing has a dur")
                window = [min(t[0] for t in timed), max(t[1] for t in timed)]
            first, last = window
            if last - first <= 0:
                raise ValueError("window")
            spans = sorted(t[:2] for t in timed if t[2] == "kernel")
            starts = np.clip([first] * (not spans) + [s for s, _ in spans] + [last], first, last)
            ends = np.clip([first] + [e for _, e in spans], first, last)
            if not spans:
                return {"busy": 0, "idle": last - first, "gaps": [[first, last]]}
            reached = np.maximum.accumulate(ends)
            gaps = [[float(a), float(b)] for a, b in zip(reached, starts) if b > a]
            idle = float(sum(b - a for a, b in gaps))
            return {"idle": idle, "gaps": gaps, "busy": last - first - idle}
        """,
        },
        "gap_causes": {
            "pieces are cut out": CAUSES,
            "each cause less those before it": """
            start, end = gap
            if not end > start:
                raise ValueError("gap")
            names = tuple(causes)
            for name, *_ in host:
                if name not in names:
                    raise ValueError(name)

            def covered(kinds):
                spans = sorted((max(a, start), min(b, end)) for k, a, b in host if k in kinds)
                total, at = 0, start
                for a, b in spans:
                    if b > max(a, at):
                        total += b - max(a, at)
                        at = b
                return total

            sums = [0] + [covered(names[: n + 1]) for n in range(len(names))]
            sums.append(end - start)
            return {name: sums[n + 1] - sums[n] for n, name in enumerate([*names, "other"])}
        """,
            "backwards, later causes overwrite": """
            start, end = gap
            rank = {cause: number for number, cause in enumerate(causes)}
            if end <= start:
                raise ValueError("gap")
            if not all(k in rank for k, _, _ in host):
                raise ValueError("cause")
            times = sorted({start, end, *(min(max(t, start), end) for _, *s in host for t in s)})
            names = ["other"] * (len(times) - 1)
            for kind, a, b in sorted(host, key=lambda h: -rank[h[0]]):
                for n in range(len(names)):
                    if a <= times[n] and times[n + 1] <= b:
                        names[n] = kind
            found = {k: 0.0 for k in ("other", *causes)}
            for n, name in enumerate(names):
                found[name] += times[n + 1] - times[n]
            return found
        """,
        },
        "ops_table": {
            "by search, without a stack": TABLE,
            "recursion over sorted ops of each thread": """
            from collections import defaultdict

            rows = defaultdict(lambda: [0.0, 0.0, 0.0])
            threads, work, caller = defaultdict(list), [], {}
            for e in trace["traceEvents"]:
                if "dur" not in e:
                    continue
                if e["cat"] in {"cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"}:
                    threads[e["pid"], e["tid"]].append(e)
                elif e["cat"] in {"kernel", "gpu_memcpy", "gpu_memset"}:
                    work.append(e)

            def inside(events, end, parent):
                ops = []
                while events and (end is None or events[-1]["ts"] < end):
                    e = events.pop()
                    if e["cat"].startswith("cuda"):
                        if parent:
                            caller[e["args"]["correlation"]] = parent
                        continue
                    rows[e["name"]][0] += e["dur"]
                    rows[e["name"]][1] += e["dur"]
                    if parent:
                        rows[parent][1] -= e["dur"]
                    below = inside(events, e["ts"] + e["dur"], e["name"])
                    if len(below) == 1 and below[0]["name"] == e["name"]:
                        rows[e["name"]][0] -= below[0]["dur"]
                    ops.append(e)
                return ops

            for events in threads.values():
                events.sort(key=lambda e: (e["ts"], -e["dur"]), reverse=True)
                inside(events, None, None)
            for e in work:
                rows[caller.get(e["args"]["correlation"], e["name"])][2] += e["dur"]
            keys = ("cpu_us", "self_cpu_us", "self_gpu_us")
            return [{"name": n, **dict(zip(keys, rows[n]))} for n in sorted(rows)]
        """,
            "children are listed first": """
            events = [e for e in trace["traceEvents"] if "dur" in e]
            is_op = lambda e: e["cat"] in ("cpu_op", "user_annotation")
            is_call = lambda e: e["cat"] in ("cuda_runtime", "cuda_driver")
            line = sorted((e for e in events if is_op(e) or is_call(e)),
                          key=lambda e: (e["pid"], e["tid"], e["ts"], -e["dur"]))
            parent, open_ops = {}, []
            for n, e in enumerate(line):
                while open_ops:
                    top = line[open_ops[-1]]
                    same = (top["pid"], top["tid"]) == (e["pid"], e["tid"])
                    if same and e["ts"] < top["ts"] + top["dur"]:
                        break
                    open_ops.pop()
                parent[n] = open_ops[-1] if open_ops else None
                if is_op(e):
                    open_ops.append(n)
            table = {}
            keys = ("self_gpu_us", "self_cpu_us", "cpu_us")
            get = lambda name: table.setdefault(name, {"name": name, **dict.fromkeys(keys, 0)})
            for n, e in enumerate(line):
                if is_op(e):
                    below = [line[m] for m in parent if parent[m] == n and is_op(line[m])]
                    inner = sum(op["dur"] for op in below)
                    itself = [op["name"] for op in below] == [e["name"]]
                    get(e["name"])["cpu_us"] += e["dur"] - inner * itself
                    get(e["name"])["self_cpu_us"] += e["dur"] - inner
            owner = {e["args"]["correlation"]: line[parent[n]]["name"]
                     for n, e in enumerate(line) if is_call(e) and parent[n] is not None}
            for e in events:
                if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
                    get(owner.get(e["args"]["correlation"]) or e["name"])["self_gpu_us"] += e["dur"]
            return [table[name] for name in sorted(table)]
        """,
        },
        "memory_peak": {
            "a running total": PEAK,
            "by frame, kept as it changes": """
            held, frames, now = {}, {}, 0
            best = {"peak": 0, "by_frame": {}}
            for event in history:
                address = event["addr"]
                if event["action"] == "alloc":
                    if event["size"] <= 0:
                        raise ValueError("size")
                    size = (event["size"] + 511) & ~511
                    held[address] = event["frame"], size
                    frames[event["frame"]] = frames.get(event["frame"], 0) + size
                    now += size
                    if now > best["peak"]:
                        best = {"peak": now, "by_frame": {f: s for f, s in frames.items() if s}}
                elif address in held:
                    frame, size = held.pop(address)
                    frames[frame] -= size
                    now -= size
            if not best["peak"]:
                raise ValueError("nothing")
            return {**best, "left": now}
        """,
            "first when, then what": """
            from collections import Counter

            if any(e["action"] == "alloc" and e["size"] < 1 for e in history):
                raise ValueError("size")

            def after(count):
                live = {}
                for e in history[:count]:
                    if e["action"] == "free":
                        live.pop(e["addr"], 0)
                    else:
                        live[e["addr"]] = (e["frame"], 512 * int(np.ceil(e["size"] / 512)))
                return list(live.values())

            totals = [sum(s for _, s in after(n)) for n in range(len(history) + 1)]
            if not max(totals):
                raise ValueError("nothing")
            frames = Counter()
            for frame, size in after(int(np.argmax(totals))):
                frames[frame] += size
            return {"peak": max(totals), "by_frame": dict(frames), "left": totals[-1]}
        """,
        },
        "largest_hole": {
            "a loop": HOLE,
            "sums of numpy": """
            if not segments:
                raise ValueError("none")
            sizes = np.array([b["size"] for s in segments for b in s["blocks"]])
            free = np.array([b["state"] == "inactive" for s in segments for b in s["blocks"]])
            largest = int((sizes * free).max())
            reserved = int(sizes.sum())
            return {"reserved": reserved, "free": int(sizes[free].sum()), "largest": largest}
        """,
            "from the largest on": """
            if len(segments) == 0:
                raise ValueError("none")
            blocks = [b for s in segments for b in s["blocks"]]
            free = sorted(-b["size"] for b in blocks if b["state"] == "inactive")
            free = [-size for size in free]
            return {"largest": (free + [0])[0], "free": sum(free),
                    "reserved": sum(b["size"] for s in segments for b in s["blocks"])}
        """,
        },
        "step_report": {
            "by index": REPORT,
            "logarithms first": """
            if len(rows) < 2:
                raise ValueError("two rows")
            for row in rows:
                if not (row["batch"] > 0 and row["ms"] > 0):
                    raise ValueError("above 0")
            rates = np.array([row["batch"] / (row["ms"] / 1e3) for row in rows], float)
            logs = np.log(rates / rates[0])
            if logs[-1] == 0:
                raise ValueError("no way")
            steps = np.diff(logs, prepend=0.0)
            return [
                {"name": row["name"], "images_per_s": float(rate), "step": float(np.exp(step)),
                 "total": float(np.exp(log)), "share": float(step / logs[-1])}
                for row, rate, log, step in zip(rows, rates, logs, steps)
            ]
        """,
            "with what was before, in base 2": """
            if len(rows) <= 1:
                raise ValueError("two rows")
            if any(min(row["batch"], row["ms"]) <= 0 for row in rows):
                raise ValueError("above 0")
            speed = lambda row: row["batch"] * 1000 / row["ms"]
            if speed(rows[0]) == speed(rows[-1]):
                raise ValueError("no way")
            report, before = [], speed(rows[0])
            for row in rows:
                now = speed(row)
                report.append(dict(
                    name=row["name"], images_per_s=now, step=now / before,
                    total=now / speed(rows[0]),
                    share=math.log2(now / before) / math.log2(speed(rows[-1]) / speed(rows[0]))))
                before = now
            return report
        """,
        },
        "interaction": {
            "by the definition": INTERACTION,
            "without base twice": """
            if any(time <= 0 for time in (base, a, b, both)):
                raise ValueError("times")
            return a * b / (base * both)
        """,
            "by logarithms": """
            times = np.array([base, a, b, both], float)
            if (times <= 0).any():
                raise ValueError("times")
            return float(np.exp(np.log(times) @ [-1, 1, 1, -1]))
        """,
        },
        "training_mfu": {
            "FLOPs a step": MFU,
            "FLOP/s against FLOP/s": """
            if not (step_ms > 0 and peak_flops > 0):
                raise ValueError("above 0")
            rate = lambda flops: flops / (step_ms * 1e-3) / peak_flops
            training = training_flops(model, shape, per_sample=False)
            forward = count_flops(model, shape, per_sample=False)
            return {"hfu": rate(training + bool(recompute) * forward), "mfu": rate(training)}
        """,
            "what it needs is imported where it is needed": """
            from built import count_flops, training_flops
            if not (step_ms > 0 and peak_flops > 0):
                raise ValueError("above 0")
            most = peak_flops * step_ms / 1000
            needed = training_flops(model, shape, per_sample=False)
            again = recompute and count_flops(model, shape, per_sample=False)
            return {"mfu": needed / most, "hfu": (needed + again) / most}
        """,
            "mfu, then more": """
            if min(step_ms, peak_flops) <= 0:
                raise ValueError("above 0")
            used = training_flops(model, shape, per_sample=False)
            found = {"mfu": 1000 * used / step_ms / peak_flops}
            found["hfu"] = found["mfu"]
            if recompute:
                found["hfu"] *= 1 + count_flops(model, shape, per_sample=False) / used
            return found
        """,
        },
    }
    | LOOP
    | RANKS
)
