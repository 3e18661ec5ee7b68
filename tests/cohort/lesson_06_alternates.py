"""Lesson 06: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "arithmetic_intensity": {
        "a lambda": """
            arithmetic_intensity = lambda flops, bytes_moved: (
                flops / bytes_moved if flops >= 0 and bytes_moved > 0 else float("no")
            )
        """,
        "numpy": """
            if np.less(flops, 0) or np.less_equal(bytes_moved, 0):
                raise ValueError("range")
            return np.divide(flops, bytes_moved)
        """,
    },
    "ridge_point": {
        "in TFLOP/s and TB/s": """
            if not (peak_flops > 0 and bandwidth > 0):
                raise ValueError("roofs")
            return (peak_flops / 1e12) / (bandwidth / 1e12)
        """,
        "a fraction": """
            from fractions import Fraction
            if peak_flops <= 0 or bandwidth <= 0:
                raise ValueError("roofs")
            return float(Fraction(peak_flops) / Fraction(bandwidth))
        """,
    },
    "attainable_flops": {
        "by the ridge": """
            if intensity < 0:
                raise ValueError("intensity")
            if intensity >= ridge_point(peak_flops, bandwidth):
                return peak_flops
            return intensity * bandwidth
        """,
        "by the times of one FLOP": """
            if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
                raise ValueError("range")
            if intensity == 0:
                return 0
            return 1 / max(1 / peak_flops, 1 / intensity / bandwidth)
        """,
        "numpy": """
            for roof in (peak_flops, bandwidth):
                if not roof > 0:
                    raise ValueError(roof)
            if not intensity >= 0:
                raise ValueError(intensity)
            return np.minimum(np.float64(peak_flops), np.multiply(intensity, bandwidth))
        """,
    },
    "matmul_bytes": {
        "a loop over the pairs": """
            if not all(size >= 1 for size in (m, k, n, itemsize)):
                raise ValueError("size")
            return itemsize * sum(a * b for a, b in ((m, k), (k, n), (m, n)))
        """,
        "half the surface of a box": """
            from itertools import combinations
            if min([m, k, n, itemsize]) <= 0:
                raise ValueError("size")
            return sum(math.prod(pair) for pair in combinations((m, k, n), 2)) * itemsize
        """,
    },
    "elementwise_bytes": {
        "a loop": """
            count = 1
            for size in shape:
                if size <= 0:
                    raise ValueError("size")
                count *= size
            if inputs < 0 or itemsize <= 0:
                raise ValueError("range")
            return count * itemsize * inputs + count * itemsize
        """,
        "numpy": """
            sizes = np.array(shape, dtype=np.int64)
            if (sizes < 1).any() or inputs < 0 or itemsize < 1:
                raise ValueError("range")
            return math.prod(sizes.tolist()) * (1 + inputs) * itemsize
        """,
    },
    "attention_bytes": {
        "tensor by tensor": """
            if any(size < 1 for size in (batch, heads, seq, head_dim, itemsize)):
                raise ValueError("size")
            row, scores = (batch, heads, seq, head_dim), (batch, heads, seq, seq)
            moved = [row] * 4
            if not fused:
                moved.extend([scores] * 4)
            return sum(math.prod(shape) for shape in moved) * itemsize
        """,
        "op by op": """
            if min(batch, heads, seq, head_dim, itemsize) < 1:
                raise ValueError("size")
            if fused:
                return elementwise_bytes((batch, heads, seq, head_dim), 3, itemsize)
            head = matmul_bytes(seq, head_dim, seq, itemsize)
            head += elementwise_bytes((seq, seq), 1, itemsize)
            return batch * heads * (head + matmul_bytes(seq, seq, head_dim, itemsize))
        """,
    },
    "measure_peak_flops": {
        "perf_counter_ns, without out": """
            from time import perf_counter_ns
            if len(sizes) == 0 or repeats < 1 or any(n < 1 for n in sizes):
                raise ValueError("range")
            speeds = []
            for n in sizes:
                a = np.random.default_rng(0).random((n, n)).astype(dtype)
                matmul(a, a)
                for _ in range(repeats):
                    start = perf_counter_ns()
                    matmul(a, a)
                    stop = perf_counter_ns()
                    speeds.append(2 * n**3 / (stop - start) * 1e9)
            return max(speeds)
        """,
        "timeit": """
            import timeit
            if not sizes or min(sizes) < 1 or repeats < 1:
                raise ValueError("range")
            def of(n):
                a, b = np.full((2, n, n), 0.5, dtype)
                c = np.zeros((n, n), dtype)
                multiply = lambda: matmul(a, b, out=c)
                multiply()
                return 2 * n * n * n / min(timeit.repeat(multiply, number=1, repeat=repeats))
            return max(map(of, sizes))
        """,
        "all times first": """
            if repeats < 1:
                raise ValueError("repeats")
            if not list(sizes):
                raise ValueError("sizes")
            times = {}
            for n in sizes:
                if n < 1:
                    raise ValueError("size")
                rng = np.random.default_rng(n)
                a, b = (rng.standard_normal((n, n)).astype(dtype) for _ in "ab")
                for _ in range(repeats + 1):
                    start = time.monotonic()
                    matmul(a, b)
                    times.setdefault(n, []).append(time.monotonic() - start)
            return max(matmul_flops(n, n, n) / min(ts[1:]) for n, ts in times.items())
        """,
        "a stopwatch of its own": """
            class Watch:
                def __enter__(self):
                    self.start = time.perf_counter()
                    return self
                def __exit__(self, *_):
                    self.seconds = time.perf_counter() - self.start
            if min((*sizes, repeats), default=0) < 1 or not len(sizes):
                raise ValueError("range")
            best = -math.inf
            for n in sizes:
                left, right = np.eye(n, dtype=dtype), np.eye(n, dtype=dtype)
                matmul(left, right)
                for _ in range(repeats):
                    with Watch() as watch:
                        matmul(left, right)
                    best = max(best, 2.0 * n**3 / watch.seconds)
            return best
        """,
    },
    "measure_bandwidth": {
        "bytes, perf_counter_ns": """
            if working_set < 16:
                raise ValueError("set")
            if repeats < 1:
                raise ValueError("repeats")
            source = np.full(working_set // 2, 7, np.uint8)
            destination = np.full_like(source, 9)
            copy(destination, source)
            best = 0
            for _ in range(repeats):
                start = time.perf_counter_ns()
                copy(destination, source)
                took = time.perf_counter_ns() - start
                best = max(best, (source.nbytes + destination.nbytes) / took)
            return best * 1e9
        """,
        "timeit, float32": """
            from timeit import Timer
            if working_set < 16 or repeats <= 0:
                raise ValueError("range")
            a = np.arange(working_set // 8, dtype=np.float32)
            b = a + 1
            timer = Timer(lambda: copy(b, a))
            timer.timeit(1)
            return working_set / min(timer.repeat(repeats, 1))
        """,
        "one block in two halves": """
            if working_set < 16 or repeats < 1:
                raise ValueError("range")
            block = np.random.default_rng(1).integers(1, 9, working_set // 8)
            destination, source = np.split(block, 2)
            speeds = []
            for call in range(1 + repeats):
                start = time.monotonic_ns()
                copy(destination, source)
                took = time.monotonic_ns() - start
                if call:
                    speeds.append(block.nbytes * 1e9 / took)
            return max(speeds)
        """,
    },
    "roofline_points": {
        "a comprehension": """
            def place(row):
                flops, moved = flops_of(row), bytes_of(row)
                at, speed = flops / moved, flops * 1000 / row["self_ms"]
                roof = min(hardware.peak_flops, at * hardware.bandwidth)
                name = " ".join(filter(None, (row["op"], row["module"])))
                return dict(name=name, intensity=at, flops_per_second=speed, attainable=roof,
                            efficiency=speed / roof)
            flops_of = lambda row: row["matmul_flops"] + row["elementwise_flops"]
            bytes_of = lambda row: row["bytes_read"] + row["bytes_written"]
            return [place(r) for r in rows if flops_of(r) > 0 < bytes_of(r) and r["self_ms"] > 0]
        """,
        "numpy": """
            get = lambda *keys: np.array([sum(row[k] for k in keys) for row in rows], dtype=float)
            flops = get("matmul_flops", "elementwise_flops")
            moved = get("bytes_read", "bytes_written")
            seconds = get("self_ms") * 1e-3
            result = []
            for i in np.flatnonzero((flops != 0) & (moved != 0) & (seconds != 0)):
                intensity, speed = flops[i] / moved[i], flops[i] / seconds[i]
                roof = np.minimum(hardware.peak_flops, intensity * hardware.bandwidth)
                op, module = rows[i]["op"], rows[i]["module"]
                result.append({
                    "efficiency": speed / roof, "attainable": roof, "flops_per_second": speed,
                    "intensity": intensity, "name": f"{op} {module}" if module else op,
                })
            return result
        """,
        "a generator": """
            def places():
                for row in rows:
                    try:
                        flops = row["matmul_flops"] + row["elementwise_flops"]
                        intensity = flops / (row["bytes_read"] + row["bytes_written"])
                        speed = flops / row["self_ms"] * 1e3
                    except ZeroDivisionError:
                        continue
                    if flops:
                        roof = attainable_flops(intensity, hardware.peak_flops, hardware.bandwidth)
                        name = (row["op"] + " " + row["module"]).rstrip()
                        yield {"name": name, "intensity": intensity, "flops_per_second": speed,
                               "attainable": roof, "efficiency": speed / roof}
            return list(places())
        """,
    },
    "classify": {
        "a table": """
            if flops < 0 or bytes_moved < 0 or seconds <= 0 or peak_flops <= 0 or bandwidth <= 0:
                raise ValueError("range")
            walls = {"compute": flops / peak_flops, "memory": bytes_moved / bandwidth}
            (_, short), (wall, long) = sorted(walls.items(), key=lambda item: item[1])
            if seconds / 4 > long:
                return "overhead"
            return "ridge" if long <= short * 1.2 else wall
        """,
        "by FLOP/s and intensity": """
            for value, low in ((flops, 0), (bytes_moved, 0)):
                if value < low:
                    raise ValueError("counts")
            for value in (seconds, peak_flops, bandwidth):
                if not value > 0:
                    raise ValueError("roofs")
            computing, moving = flops / peak_flops, bytes_moved / bandwidth
            if max(computing, moving) * 4 < seconds:
                return "overhead"
            if moving == 0:
                return "compute"
            ratio = computing / moving
            if 1 / 1.2 <= ratio <= 1.2:
                return "ridge"
            return "compute" if ratio > 1 else "memory"
        """,
        "match": """
            counts, others = (flops, bytes_moved), (seconds, peak_flops, bandwidth)
            if any(count < 0 for count in counts) or any(other <= 0 for other in others):
                raise ValueError("range")
            times = np.array([flops / peak_flops, bytes_moved / bandwidth])
            overhead, ridge = seconds > 4 * times.max(), times.max() <= 1.2 * times.min()
            match bool(overhead), bool(ridge), int(times.argmax()):
                case True, _, _:
                    return "overhead"
                case False, True, _:
                    return "ridge"
                case _, _, 0:
                    return "compute"
            return "memory"
        """,
    },
    "inspect_step": {
        "numpy": """
            times = np.asarray(step["times_ms"], dtype=float)
            if times.size < 3:
                raise ValueError("runs")
            reached = step["matmul_flops"] / step["matmul_ms"] * 1000
            answers = {
                "unstable": times.std(ddof=1) / times.mean() >= 0.1,
                "idle": step["busy_ms"] / np.median(times) < 0.8,
                "other work": step["matmul_ms"] / step["busy_ms"] < 0.5,
                "slow matmuls": reached / step["peak_flops"] < 0.5,
                "near peak": True,
            }
            return next(name for name, found in answers.items() if found)
        """,
        "by hand": """
            times = sorted(step["times_ms"])
            n = len(times)
            if n < 3:
                raise ValueError("runs")
            mean_ms = sum(times) / n
            variance = sum((t - mean_ms) ** 2 for t in times) / (n - 1)
            middle = (times[n // 2] + times[(n - 1) // 2]) / 2
            if variance**0.5 >= mean_ms / 10:
                return "unstable"
            if step["busy_ms"] * 5 < middle * 4:
                return "idle"
            if 2 * step["matmul_ms"] < step["busy_ms"]:
                return "other work"
            if mfu(step["matmul_flops"], step["matmul_ms"] / 1e3, step["peak_flops"]) < 0.5:
                return "slow matmuls"
            return "near peak"
        """,
    },
    "mfu": {
        "the ideal time over the time": """
            if seconds <= 0 or peak_flops <= 0 or flops < 0:
                raise ValueError("range")
            ideal = flops / peak_flops
            return ideal / seconds
        """,
        "numpy": """
            if not (np.array([seconds, peak_flops]) > 0).all() or flops < 0:
                raise ValueError("range")
            return np.float64(flops) / (seconds * peak_flops)
        """,
    },
    "amdahl": {
        "old time over new": """
            if fraction < 0 or fraction > 1 or not speedup > 0:
                raise ValueError("range")
            new = (1 - fraction) + fraction / speedup
            if new == 0:
                return float("inf")
            return 1.0 / new
        """,
        "one fraction": """
            if not (0 <= fraction <= 1 and speedup > 0):
                raise ValueError("range")
            if speedup == math.inf:
                return math.inf if fraction == 1 else 1 / (1 - fraction)
            return speedup / (speedup * (1 - fraction) + fraction)
        """,
        "try": """
            if not 0.0 <= fraction <= 1.0:
                raise ValueError("fraction")
            if speedup <= 0:
                raise ValueError("speedup")
            try:
                return (1 - fraction + fraction / speedup) ** -1
            except ZeroDivisionError:
                return math.inf
        """,
    },
    "reflect_relu": {
        "by the times": """
            moved = elementwise_bytes((elements,), inputs=1, itemsize=itemsize)
            if peak_flops <= 0 or bandwidth <= 0:
                raise ValueError("roofs")
            seconds = max(moved / bandwidth, elements / peak_flops)
            return {"share": elements / peak_flops / seconds, "ms": 1e3 * seconds}
        """,
        "by the roof": """
            if elements < 1 or itemsize < 1:
                raise ValueError("sizes")
            reached = attainable_flops(1 / (2 * itemsize), peak_flops, bandwidth)
            return dict(ms=elements / reached * 1000, share=reached / peak_flops)
        """,
    },
}
