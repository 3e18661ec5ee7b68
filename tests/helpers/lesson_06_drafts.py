"""Drafts of lesson 06's exercises, by a student who reads docstrings and visible cases alone.

FIRST was written from the docstrings, in a hurry. SECOND is FIRST after one round of repairs of
what did not work; what a draft passes over, it may still pass over.
"""

FIRST = {
    "arithmetic_intensity": """
        if bytes_moved == 0:
            raise ValueError("nothing moves")
        return flops / bytes_moved
    """,
    "ridge_point": """
        if not peak_flops or not bandwidth:
            raise ValueError("roofs must be above 0")
        return peak_flops / bandwidth
    """,
    "attainable_flops": """
        if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
            raise ValueError("out of range")
        return min(peak_flops, intensity * bandwidth)
    """,
    "matmul_bytes": """
        if m < 1 or k < 1 or n < 1:
            raise ValueError("sizes must be at least 1")
        return (m * k + k * n + m * n) * itemsize
    """,
    "elementwise_bytes": """
        if min(shape) < 1:
            raise ValueError("sizes must be at least 1")
        return (inputs + 1) * math.prod(shape) * itemsize
    """,
    "attention_bytes": """
        if min(batch, heads, seq, head_dim) < 1:
            raise ValueError("sizes must be at least 1")
        numbers = 4 * seq * head_dim
        if not fused:
            numbers += 2 * seq * seq
        return batch * heads * numbers * itemsize
    """,
    "measure_peak_flops": """
        if len(sizes) == 0 or repeats < 1:
            raise ValueError("sizes or repeats")
        best = 0.0
        for n in sizes:
            if n < 1:
                raise ValueError("a size below 1")
            a, b = np.ones((n, n)), np.ones((n, n))
            matmul(a, b)
            start = time.perf_counter()
            for _ in range(repeats):
                matmul(a, b)
            seconds = (time.perf_counter() - start) / repeats
            best = max(best, 2 * n**3 / seconds)
        return best
    """,
    "measure_bandwidth": """
        if working_set < 16 or repeats < 1:
            raise ValueError("working_set or repeats")
        source = np.ones(working_set // 16)
        destination = np.zeros(working_set // 16)
        copy(destination, source)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            copy(destination, source)
            times.append(time.perf_counter() - start)
        return source.nbytes / min(times)
    """,
    "roofline_points": """
        points = []
        for row in rows:
            flops = row["matmul_flops"] + row["elementwise_flops"]
            moved = row["bytes_read"] + row["bytes_written"]
            if flops == 0 or moved == 0:
                continue
            intensity = flops / moved
            reached = flops / row["self_ms"]
            attainable = attainable_flops(intensity, hardware.peak_flops, hardware.bandwidth)
            points.append({
                "name": row["op"] + " " + row["module"], "intensity": intensity,
                "flops_per_second": reached, "attainable": attainable,
                "efficiency": reached / attainable,
            })
        return points
    """,
    "classify": """
        if flops < 0 or bytes_moved < 0 or seconds <= 0:
            raise ValueError("out of range")
        computing, moving = flops / peak_flops, bytes_moved / bandwidth
        longer, shorter = max(computing, moving), min(computing, moving)
        if seconds > 4 * longer:
            return "overhead"
        if longer / shorter <= 1.2:
            return "ridge"
        return "compute" if computing > moving else "memory"
    """,
    "inspect_step": """
        times = step["times_ms"]
        if len(times) < 3:
            raise ValueError("at least 3 times")
        if stdev(times) > 0.1 * mean(times):
            return "unstable"
        if step["busy_ms"] < 0.8 * median(times):
            return "idle"
        if step["matmul_ms"] < 0.5 * step["busy_ms"]:
            return "other work"
        reached = step["matmul_flops"] / (step["matmul_ms"] / 1000)
        return "slow matmuls" if reached < 0.5 * step["peak_flops"] else "near peak"
    """,
    "write_allocate": """
        if min(copy, one_in, two_in) < 0:
            raise ValueError("out of range")
        return "plain" if one_in > 0.9 * copy else "non-temporal"
    """,
    "chain": """
        return a @ (b @ x) + c @ d @ x
    """,
    "experts": """
        rows = proflab.stack([x[e] @ w[e] for e in range(len(x))])
        return F.relu(rows + b)
    """,
    "fewer_passes": """
        return slow_passes(x, gain, bias)
    """,
    "mfu": """
        if seconds <= 0 or peak_flops <= 0:
            raise ValueError("out of range")
        return min(flops / seconds / peak_flops, 1.0)
    """,
    "amdahl": """
        if fraction < 0 or fraction > 1 or speedup <= 0:
            raise ValueError("out of range")
        return 1 / (1 - fraction + fraction / speedup)
    """,
    "reflect_relu": """
        if elements < 1 or itemsize < 1:
            raise ValueError("out of range")
        seconds = 2 * elements * itemsize / bandwidth
        return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
    """,
}

SECOND = FIRST | {
    "arithmetic_intensity": """
        if flops < 0 or bytes_moved <= 0:
            raise ValueError("out of range")
        return flops / bytes_moved
    """,
    "ridge_point": """
        if peak_flops <= 0 or bandwidth <= 0:
            raise ValueError("roofs must be above 0")
        return peak_flops / bandwidth
    """,
    "matmul_bytes": """
        if min(m, k, n, itemsize) < 1:
            raise ValueError("sizes must be at least 1")
        return (m * k + k * n + m * n) * itemsize
    """,
    "elementwise_bytes": """
        if any(size < 1 for size in shape) or inputs < 0:
            raise ValueError("out of range")
        return (inputs + 1) * math.prod(shape) * itemsize
    """,
    "attention_bytes": """
        if min(batch, heads, seq, head_dim) < 1:
            raise ValueError("sizes must be at least 1")
        numbers = 4 * seq * head_dim
        if not fused:
            numbers += 4 * seq * seq
        return batch * heads * numbers * itemsize
    """,
    "measure_peak_flops": """
        if len(sizes) == 0 or repeats < 1:
            raise ValueError("sizes or repeats")
        best = 0.0
        for n in sizes:
            if n < 1:
                raise ValueError("a size below 1")
            a, b = np.ones((n, n), dtype), np.ones((n, n), dtype)
            matmul(a, b)
            for _ in range(repeats):
                start = time.perf_counter()
                matmul(a, b)
                best = max(best, 2 * n**3 / (time.perf_counter() - start))
        return best
    """,
    "measure_bandwidth": """
        if working_set < 16 or repeats < 1:
            raise ValueError("working_set or repeats")
        source, destination = np.ones(working_set // 16), np.ones(working_set // 16)
        copy(destination, source)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            copy(destination, source)
            times.append(time.perf_counter() - start)
        return 2 * source.nbytes / min(times)
    """,
    "roofline_points": """
        points = []
        for row in rows:
            flops = row["matmul_flops"] + row["elementwise_flops"]
            moved = row["bytes_read"] + row["bytes_written"]
            if flops == 0 or moved == 0 or row["self_ms"] == 0:
                continue
            intensity = flops / moved
            reached = flops / (row["self_ms"] / 1000)
            attainable = attainable_flops(intensity, hardware.peak_flops, hardware.bandwidth)
            points.append({
                "name": (row["op"] + " " + row["module"]).strip(), "intensity": intensity,
                "flops_per_second": reached, "attainable": attainable,
                "efficiency": reached / attainable,
            })
        return points
    """,
    "classify": """
        if flops < 0 or bytes_moved < 0 or seconds <= 0 or peak_flops <= 0:
            raise ValueError("out of range")
        computing, moving = flops / peak_flops, bytes_moved / bandwidth
        longer, shorter = max(computing, moving), min(computing, moving)
        if seconds > 4 * longer:
            return "overhead"
        if longer <= 1.2 * shorter:
            return "ridge"
        return "compute" if computing > moving else "memory"
    """,
    "inspect_step": """
        times = step["times_ms"]
        if len(times) < 3:
            raise ValueError("at least 3 times")
        if stdev(times) >= 0.1 * mean(times):
            return "unstable"
        if step["busy_ms"] < 0.8 * median(times):
            return "idle"
        if step["matmul_ms"] < 0.5 * step["busy_ms"]:
            return "other work"
        reached = step["matmul_flops"] / (step["matmul_ms"] / 1000)
        return "slow matmuls" if reached < 0.5 * step["peak_flops"] else "near peak"
    """,
    "chain": """
        return a @ (b @ x) + c @ (d @ x)
    """,
    "experts": """
        rows = proflab.stack([x[e] @ w[e] for e in range(len(x))])
        return F.relu(rows + b.reshape(len(x), 1, -1))
    """,
    "fewer_passes": """
        return F.gelu(F.layer_norm(x, x.shape[-1:], gain, bias), approximate="tanh")
    """,
    "mfu": """
        if flops < 0 or seconds <= 0 or peak_flops <= 0:
            raise ValueError("out of range")
        return flops / seconds / peak_flops
    """,
    "amdahl": """
        if fraction < 0 or fraction > 1 or speedup <= 0:
            raise ValueError("out of range")
        left = 1 - fraction + fraction / speedup
        return 1 / left if left else math.inf
    """,
    "reflect_relu": """
        if elements < 1 or itemsize < 1:
            raise ValueError("out of range")
        seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
        return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
    """,
}
