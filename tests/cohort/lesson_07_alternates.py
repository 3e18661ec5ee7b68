"""Lesson 07: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "local_exponents": {
        "numpy": """
            s, v = np.asarray(sizes, float), np.asarray(values, float)
            if s.shape != v.shape or s.size < 2 or (s <= 0).any() or (v <= 0).any():
                raise ValueError("sizes and values")
            if (np.diff(s) <= 0).any():
                raise ValueError("order")
            return np.diff(np.log(v)) / np.diff(np.log(s))
        """,
        "logarithms of 10, in a loop": """
            if len(sizes) != len(values) or len(sizes) < 2:
                raise ValueError("lengths")
            if any(x <= 0 for x in [*sizes, *values]) or sorted(set(sizes)) != list(sizes):
                raise ValueError("range")
            found = []
            for at in range(1, len(sizes)):
                rise = math.log10(values[at]) - math.log10(values[at - 1])
                found.append(rise / (math.log10(sizes[at]) - math.log10(sizes[at - 1])))
            return found
        """,
    },
    "fit_cost": {
        "normal equations": """
            if not powers or len(set(powers)) != len(powers) or len(set(sizes)) != len(sizes):
                raise ValueError("twice")
            if len(sizes) != len(times_ms) or len(sizes) < len(powers):
                raise ValueError("lengths")
            if min(sizes) <= 0 or min(times_ms) <= 0:
                raise ValueError("range")
            m = np.array([[n**p / t for p in powers] for n, t in zip(sizes, times_ms)], float)
            return np.linalg.solve(m.T @ m, m.T @ np.ones(len(sizes)))
        """,
        "weights, by the pseudoinverse": """
            if len(powers) == 0 or len(sizes) < len(powers) or len(sizes) != len(times_ms):
                raise ValueError("lengths")
            for values in (sizes, powers):
                if len({*values}) < len(values):
                    raise ValueError("twice")
            if any(x <= 0 for x in (*sizes, *times_ms)):
                raise ValueError("range")
            n, t = np.array(sizes, float)[:, None], np.array(times_ms, float)
            w = np.diag(1 / t)
            return [float(c) for c in np.linalg.pinv(w @ n ** np.array(powers, float)) @ (w @ t)]
        """,
        "lstsq without another thought": """
            measured(sizes, times_ms, powers)
            rows = [[n**p / t for p in powers] for n, t in zip(sizes, times_ms)]
            return list(np.linalg.lstsq(rows, np.ones(len(rows)), rcond=None)[0])
        """,
    },
    "holdout_error": {
        "by index": """
            if len(sizes) != len(times_ms) or len(sizes) < len(powers) + 1:
                raise ValueError("lengths")
            if len(set(sizes)) < len(sizes) or min(times_ms) <= 0:
                raise ValueError("range")
            at = int(np.argmax(sizes))
            rest = [i for i in range(len(sizes)) if i != at]
            c = fit_cost([sizes[i] for i in rest], [times_ms[i] for i in rest], powers)
            return float(np.dot(c, [sizes[at]**p for p in powers])) / times_ms[at] - 1
        """,
        "copies that lose one": """
            if len(sizes) != len(times_ms) or sizes.count(max(sizes, default=0)) != 1:
                raise ValueError("lengths")
            sizes, times_ms = list(sizes), list(times_ms)
            at = sizes.index(max(sizes))
            size, ms = sizes.pop(at), times_ms.pop(at)
            if ms <= 0:
                raise ValueError("time")
            prices = fit_cost(sizes, times_ms, powers)
            return np.float64(sum(c * size**p for c, p in zip(prices, powers)) - ms) / ms
        """,
    },
    "batch_cost": {
        "normal equations of two unknowns": """
            if len(sizes) != len(latencies_ms) or len(set(sizes)) < max(2, len(sizes)):
                raise ValueError("sizes")
            if min(*sizes, *latencies_ms) <= 0:
                raise ValueError("range")
            w = [1 / t**2 for t in latencies_ms]
            n = sum(a * b for a, b in zip(w, sizes)) / sum(w)
            t = sum(a * b for a, b in zip(w, latencies_ms)) / sum(w)
            price = sum(a * (b - n) * (c - t) for a, b, c in zip(w, sizes, latencies_ms))
            price /= sum(a * (b - n)**2 for a, b in zip(w, sizes))
            if price <= 0:
                raise ValueError("price")
            start = t - price * n
            return dict(half_batch=start / price, most_per_second=1e3 / price,
                        per_sample_ms=price, overhead_ms=start)
        """,
        "numpy numbers": """
            c = np.array(fit_cost(sizes, latencies_ms, [1, 0]))
            if not c[0] > 0:
                raise ValueError("price")
            return {"half_batch": c[1] / c[0], "most_per_second": np.divide(1000, c[0]),
                    "overhead_ms": c[1], "per_sample_ms": c[0]}
        """,
    },
    "predict_ms": {
        "numpy": """
            if len(rows) == 0 or overhead_ms < 0:
                raise ValueError("rows")
            keys = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")
            work = np.array([[row[key] for key in keys] for row in rows], float)
            flops, moved = work[:, :2].sum(1), work[:, 2:].sum(1)
            busy = (flops + moved) > 0
            times = np.maximum(flops / hardware.peak_flops, moved / hardware.bandwidth)
            return np.sum(times * 1000) + overhead_ms * np.count_nonzero(busy)
        """,
        "recursion on the first row": """
            if overhead_ms < 0 or not rows:
                raise ValueError("rows")
            total = 0
            for row in rows:
                ms = max((row["matmul_flops"] + row["elementwise_flops"]) / hardware.peak_flops,
                         (row["bytes_read"] + row["bytes_written"]) / hardware.bandwidth) * 1e3
                total += ms + overhead_ms if ms else 0
            return float(total)
        """,
    },
    "matmul_addresses": {
        "six loops, the order by a key": """
            if n < 1 or "".join(sorted(order)) != "ijk" or (tile is not None and tile < 1):
                raise ValueError("range")
            t, found = tile or n, []
            for i0 in range(0, n, t):
                for j0 in range(0, n, t):
                    for k0 in range(0, n, t):
                        block = [(i, j, k) for i in range(i0, min(i0 + t, n))
                                 for j in range(j0, min(j0 + t, n))
                                 for k in range(k0, min(k0 + t, n))]
                        block.sort(key=lambda at: [at["ijk".index(name)] for name in order])
                        for i, j, k in block:
                            found.extend((i * n + k, n * (n + k) + j, n * (2 * n + i) + j))
            return found
        """,
        "numpy's axes": """
            if n < 1 or len(order) != 3 or set(order) != {"i", "j", "k"}:
                raise ValueError("order")
            if tile is not None and tile < 1:
                raise ValueError("tile")
            t = n if tile is None else tile
            starts, found = range(0, n, t), []
            for i0 in starts:
                for j0 in starts:
                    for k0 in starts:
                        low = dict(i=i0, j=j0, k=k0)
                        grids = np.meshgrid(
                            *(np.arange(low[o], min(low[o] + t, n)) for o in order), indexing="ij")
                        at = dict(zip(order, (g.ravel() for g in grids)))
                        i, j, k = at["i"], at["j"], at["k"]
                        rows = (i * n + k, n * n + k * n + j, 2 * n * n + i * n + j)
                        found.append(np.stack(rows, 1).ravel())
            return np.concatenate(found).tolist()
        """,
    },
    "cache_misses": {
        "an OrderedDict": """
            from collections import OrderedDict
            if line < 1 or lines < 1:
                raise ValueError("range")
            held, misses = OrderedDict(), 0
            for address in addresses:
                wanted = address // line
                misses += wanted not in held
                held[wanted] = None
                held.move_to_end(wanted)
                if len(held) > lines:
                    held.popitem(last=False)
            return misses
        """,
        "a list, the newest first": """
            if not (line >= 1 and lines >= 1):
                raise ValueError("range")
            held, misses = [], 0
            for wanted in (address // line for address in addresses):
                if wanted in held:
                    held.remove(wanted)
                else:
                    misses += 1
                held = [wanted, *held][:lines]
            return misses
        """,
        "when each line was last used": """
            if line <= 0 or lines <= 0:
                raise ValueError("range")
            used, misses = {}, 0
            for now, address in enumerate(addresses):
                if address // line not in used:
                    misses += 1
                    if len(used) == lines:
                        used.pop(min(used, key=used.get))
                used[address // line] = now
            return np.int64(misses)
        """,
    },
    "traffic_bound": {
        "a power": """
            if n < 1 or capacity < 1:
                raise ValueError("range")
            return max(2 * (n**3 * capacity**-0.5 - capacity), 0.0)
        """,
        "numpy": """
            if min(n, capacity) <= 0:
                raise ValueError("range")
            return np.maximum(0, 2 * float(n)**3 / np.sqrt(capacity) - 2 * capacity)
        """,
    },
    "set_misses": {
        "one dict for all sets": """
            if min(line, sets, ways) <= 0:
                raise ValueError("range")
            held, misses = {}, 0
            for address in addresses:
                wanted = address // line
                own = held.setdefault(wanted % sets, [])
                if wanted in own:
                    own.remove(wanted)
                else:
                    misses += 1
                own.append(wanted)
                del own[:-ways]
            return misses
        """,
        "a mask for each set": """
            if line < 1 or sets < 1 or ways < 1:
                raise ValueError("range")
            asked = np.array(addresses, dtype=np.int64) // line
            groups = [asked[asked % sets == s].tolist() for s in range(sets)]
            return sum(cache_misses(group, 1, ways) for group in groups)
        """,
    },
    "speedup_steps": {
        "a loop with a memory": """
            times = [*seconds.values()]
            if len(times) < 2 or any(t <= 0 for t in times) or times[0] == times[-1]:
                raise ValueError("times")
            rows, first, before = [], times[0], times[0]
            for name, now in list(seconds.items())[1:]:
                rows.append({"share": math.log(now / before, times[-1] / first),
                             "total": first / now, "step": before / now, "name": name})
                before = now
            return rows
        """,
        "numpy": """
            t = np.array(list(seconds.values()), float)
            if t.size < 2 or t.min() <= 0 or t[0] == t[-1]:
                raise ValueError("times")
            logs = np.log(t[:-1]) - np.log(t[1:])
            share = logs / (np.log(t[0]) - np.log(t[-1]))
            names = [*seconds][1:]
            return [dict(name=n, step=a, total=b, share=c)
                    for n, a, b, c in zip(names, t[:-1] / t[1:], t[0] / t[1:], share)]
        """,
    },
    "reflect_crossover_tokens": {
        "odds": """
            if not d_model >= 1 or share <= 0 or share >= 1:
                raise ValueError("range")
            return 6 * d_model / (1 / share - 1)
        """,
        "from the FLOPs of one token": """
            if d_model < 1 or not (0 < share < 1):
                raise ValueError("range")
            linear, pair = 24 * d_model**2, 4 * d_model
            return np.float64(linear * share / (pair * (1 - share)))
        """,
    },
}
