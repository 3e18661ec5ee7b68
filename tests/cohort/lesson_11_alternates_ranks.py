"""Lesson 11: right solutions in unusual style, of rings, their cost, overlap and sharding."""

from cohort.lesson_11_overlap import OVERLAP, SHARDED, SHARE
from cohort.lesson_11_ranks import COST, RING

ALTERNATES = {
    "ring_allreduce": {
        "two loops": RING,
        "delivered at once: nobody sends on what it has just got": """
            n = len(arrays)
            if not n or len({(a.shape, a.dtype) for a in arrays}) != 1:
                raise ValueError("arrays")
            parts = [[p.copy() for p in np.array_split(a, n)] for a in arrays]
            sent = [0] * n
            for t in range(2 * (n - 1)):
                for r in range(n):
                    k = (r - t + t // n) % n if t < n - 1 else (r - t) % n
                    sent[r] += parts[r][k].nbytes
                    there = parts[(r + 1) % n]
                    there[k] = there[k] + parts[r][k] if t < n - 1 else parts[r][k].copy()
            whole = [np.concatenate(p) for p in parts]
            return {"results": whole, "sent": sent, "steps": 2 * (n - 1)}
        """,
        "a matrix of parts that is rolled": """
            if len(arrays) == 0:
                raise ValueError("no ranks")
            if len({a.dtype for a in arrays}) > 1 or len({len(a) for a in arrays}) > 1:
                raise ValueError("differ")
            n, ranks = len(arrays), range(len(arrays))
            split = [np.array_split(array, n) for array in arrays]
            parts = {(r, k): split[r][k].copy() for r in ranks for k in ranks}
            sent, steps = {r: 0 for r in ranks}, 0
            while steps < 2 * (n - 1):
                gather = steps >= n - 1
                flying = {r: (r - steps + (n if gather else 0)) % n for r in ranks}
                mail = {r: parts[r, flying[r]] for r in ranks}
                for r in ranks:
                    sent[r] += mail[r].nbytes
                    key = ((r + 1) % n, flying[r])
                    parts[key] = mail[r] if gather else parts[key] + mail[r]
                steps += 1
            whole = [np.concatenate([parts[r, k] for k in ranks]) for r in ranks]
            return {"steps": steps, "sent": list(sent.values()), "results": whole}
        """,
        "what comes from the left": """
            n = len(arrays)
            if not n or len({a.size for a in arrays}) > 1 or len({a.dtype for a in arrays}) > 1:
                raise ValueError("arrays")
            sizes = [len(arrays[0]) // n + (k < len(arrays[0]) % n) for k in range(n)]
            edges = np.cumsum([0, *sizes])
            state, sent = [a.copy() for a in arrays], np.zeros(n, int)
            cut = lambda k: slice(edges[k % n], edges[k % n + 1])
            for step in range(2 * n - 2):
                old = [s.copy() for s in state]
                for r in range(n):
                    left = (r - 1) % n
                    k = left - step if step < n - 1 else left + 1 - (step - n + 1)
                    if step < n - 1:
                        state[r][cut(k)] += old[left][cut(k)]
                    else:
                        state[r][cut(k)] = old[left][cut(k)]
                    sent[left] += old[left][cut(k)].nbytes
            return {"results": state, "sent": sent.tolist(), "steps": 2 * n - 2}
        """,
    },
    "allreduce_ms": {
        "steps and what each carries": COST,
        "in seconds first": """
            if algorithm not in ("ring", "tree"):
                raise ValueError(algorithm)
            if min(size, latency_us) < 0 or ranks <= 0 or gb_per_s <= 0:
                raise ValueError("range")
            a, rate = latency_us * 1e-6, gb_per_s * 10**9
            if algorithm == "tree":
                return 2e3 * (ranks - 1).bit_length() * (a + size / rate)
            return 1e3 * (2 * (ranks - 1) * a + 2 * (ranks - 1) / ranks * size / rate)
        """,
        "a tree by doubling": """
            if size < 0 or ranks < 1 or latency_us < 0 or not gb_per_s > 0:
                raise ValueError("range")
            ms = lambda n: latency_us / 1000 + n / gb_per_s / 1e6
            if algorithm == "ring":
                return sum(ms(size / ranks) for _ in range(2 * ranks - 2))
            if algorithm != "tree":
                raise ValueError(algorithm)
            total, reached = 0.0, 1
            while reached < ranks:
                reached *= 2
                total += 2 * ms(size)
            return total
        """,
    },
    "overlapped": {
        "buckets first, then the link": OVERLAP,
        "in floats from the start": """
            if len(layers) < 1 or bucket <= 0:
                raise ValueError("layers, bucket")
            if min(min(ms, size) for ms, size in layers) < 0:
                raise ValueError("negative")
            total = sum(ms for ms, _ in layers)
            rest, clock, done, sends = list(layers), 0.0, 0.0, []
            pending = 0
            while rest:
                ms, size = rest.pop()
                clock += ms
                pending += size
                if pending and (pending >= bucket or not rest):
                    begin = clock if done <= clock else done
                    done = begin + reduce_ms(pending)
                    sends.append(dict(bytes=pending, start_ms=begin, end_ms=done))
                    pending = 0
            late = max(done - clock, 0.0)
            return dict(step_ms=clock + late, exposed_ms=late, buckets=sends)
        """,
        "recursion from the last layer": """
            if not layers or not bucket > 0 or any(n < 0 for layer in layers for n in layer):
                raise ValueError("range")

            def from_here(left, now, held, free):
                if not left:
                    return now, ([(held, max(now, free))] if held else [])
                ms, size = left[-1]
                now, held = now + ms, held + size
                if held < bucket:
                    return from_here(left[:-1], now, held, free)
                start = max(now, free)
                end, rest = from_here(left[:-1], now, 0, start + reduce_ms(held))
                return end, [(held, start), *rest]

            pass_ms, sends = from_here(list(layers), 0, 0, 0)
            buckets = [{"bytes": b, "start_ms": s, "end_ms": s + reduce_ms(b)} for b, s in sends]
            step = max([pass_ms, *(each["end_ms"] for each in buckets)])
            return {"step_ms": step, "exposed_ms": step - pass_ms, "buckets": buckets}
        """,
    },
    "serial_share": {
        "as Karp and Flatt write it": SHARE,
        "without fractions in fractions": """
            if not workers >= 2 or not speedup > 0:
                raise ValueError("range")
            return (workers / speedup - 1) / (workers - 1)
        """,
        "Amdahl's law solved by numpy": """
            if workers < 2 or speedup <= 0:
                raise ValueError("range")
            return float(np.linalg.solve([[1 - 1 / workers]], [1 / speedup - 1 / workers])[0])
        """,
    },
    "sharded_bytes": {
        "each by its stage": SHARDED,
        "a table": """
            table = {0: (16, 0), 1: (4, 12), 2: (2, 14), 3: (0, 16)}
            if stage not in table or parameters <= 0 or ranks <= 0:
                raise ValueError("range")
            whole, divided = table[stage]
            return parameters * (whole + divided / ranks) * 1.0
        """,
        "a list of three things, each with its first stage": """
            if stage not in range(4) or min(parameters, ranks) < 1:
                raise ValueError("range")
            things = [(3, 2), (2, 2), (1, 12)]
            shares = [size / ranks if stage >= first else size for first, size in things]
            return float(sum(shares) * parameters)
        """,
    },
}
