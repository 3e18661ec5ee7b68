"""Lesson 09: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "diagnose": {
        "grouped by itertools": """
            if not rows or not any(row["self_ms"] for row in rows):
                raise ValueError("no time")

            def gain(row):
                flops, moved = work_and_traffic([row])
                seconds = max(flops / hardware.peak_flops, moved / hardware.bandwidth)
                return max(row["self_ms"] - seconds * 1e3, 0)

            total = math.fsum(row["self_ms"] for row in rows)
            first = {}
            for at, row in enumerate(rows):
                first.setdefault(row_name(row), at)
            by_name = sorted(rows, key=lambda row: first[row_name(row)])
            found = []
            for name, group in itertools.groupby(by_name, key=row_name):
                group = list(group)
                left = total - math.fsum(map(gain, group))
                share = math.fsum(row["self_ms"] for row in group) / total
                best = math.inf if left <= 0 else total / left
                found.append(dict(name=name, share=share, best=best))
            found.sort(key=lambda each: each["best"], reverse=True)
            return found
        """,
        "arrays in numpy": """
            ms = np.array([row["self_ms"] for row in rows], float)
            if ms.sum() == 0:
                raise ValueError("no time")
            work = np.array([work_and_traffic([row]) for row in rows], float)
            roofs = 1e3 * (work / [hardware.peak_flops, hardware.bandwidth]).max(axis=1)
            names = np.array([row_name(row) for row in rows])
            least = np.minimum(ms, roofs)
            result = []
            for name in dict.fromkeys(names.tolist()):
                mine = names == name
                rest = np.where(mine, least, ms).sum()
                best = float(ms.sum() / rest) if rest else math.inf
                share = float(ms[mine].sum() / ms.sum())
                result.append({"best": best, "share": share, "name": name})
            result.sort(key=lambda row: row["best"], reverse=True)
            return result
        """,
        "an insertion at a time": """
            whole = 0
            table = {}
            for row in rows:
                whole += row["self_ms"]
                work = work_and_traffic([row])
                at_roof = max(work[0] / hardware.peak_flops, work[1] / hardware.bandwidth) * 1000
                here = table.setdefault(row_name(row), [0, 0])
                here[0] += row["self_ms"]
                here[1] += at_roof if at_roof < row["self_ms"] else row["self_ms"]
            if whole == 0:
                raise ValueError("nothing took time")
            out = []
            for name, (ms, roof) in table.items():
                faster = whole - ms + roof
                best = float("inf") if faster == 0 else whole / faster
                entry = {"name": name, "share": ms / whole, "best": best}
                at = len(out)
                while at and out[at - 1]["best"] < best:
                    at -= 1
                out.insert(at, entry)
            return out
        """,
    },
    "simulate_loader": {
        "an event at a time": """
            if len(load_ms) == 0 or any(ms <= 0 for ms in load_ms) or step_ms <= 0:
                raise ValueError("times")
            if workers < 0 or prefetch < 1:
                raise ValueError("workers")
            if not workers:
                wait = sum(load_ms)
                return dict(total_ms=wait + step_ms * len(load_ms), wait_ms=wait)
            asked = {at: 0 for at in range(min(len(load_ms), workers * prefetch))}
            done = {}
            clock = waited = 0
            for at in range(len(load_ms)):
                for number in sorted(set(asked) - set(done)):
                    before = done.get(number - workers, 0)
                    done[number] = max(before, asked[number]) + load_ms[number]
                waited += max(0, done[at] - clock)
                clock = max(clock, done[at])
                if len(asked) < len(load_ms):
                    asked[len(asked)] = clock
                clock += step_ms
            return dict(total_ms=clock, wait_ms=waited)
        """,
        "in floats": """
            if len(load_ms) == 0 or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
                raise ValueError("times")
            now, waited, free, taken = 0.0, 0.0, [0.0] * workers, [0.0] * (workers * prefetch)
            for at, ms in enumerate(load_ms):
                ready = now + ms
                if workers:
                    ready = free[at % workers] = max(free[at % workers], taken[at]) + ms
                taken.append(max(now, ready))
                waited += taken[-1] - now
                now = taken[-1] + step_ms
            return {"total_ms": float(now), "wait_ms": float(waited)}
        """,
        "by recursion": """
            from functools import cache

            n = len(load_ms)
            if n < 1 or not all(x > 0 for x in [*load_ms, step_ms, workers + 1, prefetch]):
                raise ValueError("range")

            @cache
            def loaded(i):
                if i < 0:
                    return 0
                if workers == 0:
                    return (taken(i - 1) + step_ms if i else 0) + load_ms[i]
                asked = taken(i - workers * prefetch)
                return max(loaded(i - workers), asked) + load_ms[i]

            @cache
            def taken(i):
                return max(loaded(i), taken(i - 1) + step_ms if i else 0) if i >= 0 else 0

            end = taken(n - 1) + step_ms
            return {"wait_ms": end - n * step_ms, "total_ms": end}
        """,
        "queues": """
            from collections import deque

            if not list(load_ms) or min(load_ms) <= 0 or min(workers + 1, step_ms, prefetch) <= 0:
                raise ValueError("range")
            if workers == 0:
                return {"total_ms": sum(ms + step_ms for ms in load_ms), "wait_ms": sum(load_ms)}
            if prefetch < 1:
                raise ValueError("prefetch")
            coming, queues = deque(load_ms), [deque() for _ in range(workers)]
            free, sent, now, wait = [0] * workers, 0, 0, 0

            def send(moment):
                nonlocal sent
                if coming:
                    worker = sent % workers
                    free[worker] = max(free[worker], moment) + coming.popleft()
                    queues[worker].append(free[worker])
                    sent += 1

            for _ in range(workers * prefetch):
                send(0)
            for at in range(len(load_ms)):
                ready = queues[at % workers].popleft()
                if ready > now:
                    wait, now = wait + ready - now, ready
                send(now)
                now += step_ms
            return {"total_ms": now, "wait_ms": wait}
        """,
    },
    "half_gradients": {
        "by comparing with infinity": """
            if scale <= 0:
                raise ValueError("the scale")
            with np.errstate(all="ignore"):
                scaled = np.multiply(gradients, np.float32(scale), dtype=np.float32)
                half = np.array(scaled, np.float16)
            back = np.array(half, np.float32)
            if np.isinf(back).any() or (back != back).any():
                return None
            back /= np.float32(scale)
            return back
        """,
        "overflow found by an exception": """
            if not scale > 0:
                raise ValueError("the scale")
            try:
                with np.errstate(over="raise", invalid="raise"):
                    scaled = gradients * np.float32(scale)
                    if not np.isfinite(scaled).all():
                        return None
                    half = scaled.astype(np.float16)
            except FloatingPointError:
                return None
            if not np.isfinite(half).all():
                return None
            return np.divide(half, np.float32(scale), dtype=np.float32)
        """,
        "the sum tells": """
            if not scale > 0:
                raise ValueError("the scale")
            with np.errstate(all="ignore"):
                half = np.asarray(gradients * np.float32(scale), dtype="e")
                fine = np.isfinite(half.astype(np.float64).sum())
            return np.float32(1) * half.astype("f") / np.float32(scale) if fine else None
        """,
    },
    "scale_after": {
        "runs of good steps": """
            if not scale > 0 or not growth > 1 or backoff <= 0 or backoff >= 1 or interval < 1:
                raise ValueError("range")
            result = []
            for bad, run in itertools.groupby(overflows, key=bool):
                for number, _ in enumerate(run, start=1):
                    if bad:
                        scale = scale * backoff
                    elif number % interval == 0:
                        scale = scale * growth
                    result.append(scale)
            return result
        """,
        "a generator": """
            if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
                raise ValueError("range")

            def scales(now, left):
                for overflow in overflows:
                    left = interval if overflow else left - 1
                    now = now * backoff if overflow else now
                    if not left:
                        now, left = now * growth, interval
                    yield now

            return list(scales(scale, interval))
        """,
        "accumulated": """
            if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
                raise ValueError("range")

            def after(state, overflow):
                now, good = state
                if overflow:
                    return now * backoff, 0
                return (now * growth, 0) if good + 1 == interval else (now, good + 1)

            states = itertools.accumulate(overflows, after, initial=(scale, 0))
            return [now for now, _ in states][1:]
        """,
    },
    "accumulate": {
        "gradients are divided at the end": """
            if not batches or not all(len(x) for x, _ in batches):
                raise ValueError("batches")
            for p in model.parameters():
                p.grad = None
            samples, total = 0, 0.0
            for x, y in batches:
                summed = loss(model(x), y) * len(x)
                summed.backward()
                samples, total = samples + len(x), total + float(summed)
            for p in model.parameters():
                p.grad = p.grad / samples
            return total / samples
        """,
        "backward from a weight": """
            count = sum(x.shape[0] for x, _ in batches)
            if not batches or 0 in [x.shape[0] for x, _ in batches]:
                raise ValueError("batches")
            model.zero_grad()
            found = []
            for x, y in batches:
                share = x.shape[0] / count
                mean = loss(model(x), y)
                mean.backward(Tensor(np.full(mean.shape, share, np.float32)))
                found.append(mean.item() * share)
            return math.fsum(found)
        """,
        "old gradients are set aside": """
            batches = list(batches)
            if not batches or min(len(x) for x, _ in batches) == 0:
                raise ValueError("batches")
            total = sum(len(x) for x, _ in batches)
            sums = {}
            result = 0.0
            for x, y in batches:
                for p in model.parameters():
                    p.grad = None
                value = loss(model(x), y)
                value.backward()
                for p in model.parameters():
                    part = p.grad * (len(x) / total)
                    sums[id(p)] = sums[id(p)] + part if id(p) in sums else part
                result += float(value) * len(x) / total
            for p in model.parameters():
                p.grad = sums[id(p)]
            return result
        """,
    },
}
