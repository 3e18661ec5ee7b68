"""Drafts of lesson 05's exercises, by a student who reads docstrings and visible cases alone.

FIRST was written from the docstrings, in a hurry. SECOND is FIRST after one round of repairs of
what did not work; what a draft passes over, it may still pass over.
"""

FIRST = {
    "op_bytes": """
        def size(tensors):
            return sum(t.nbytes for t in tensors)
        written = size(tensors_in(result))
        if call.phase == "backward":
            return size([*tensors_in(call.grad), *call.saved]), written
        read = size(call.inputs)
        if call.op in TABLES:
            read += written - call.inputs[TABLES[call.op]].nbytes
        return (read, written) if written else (0, 0)
    """,
    "op_facts": """
        read, written = op_bytes(call, result)
        shapes = [t.shape for t in call.inputs]
        if call.phase == "forward":
            flops = op_flops(call.op, shapes, call.attributes)
        else:
            wanted = [t.requires_grad for t in call.inputs]
            flops = gradient_flops(call.op, shapes, call.attributes, wanted)
        first = tensors_in(result)[0]
        return {
            "op": call.op, "module": call.module_path, "phase": call.phase,
            "input_shapes": shapes, "output_shape": first.shape, "dtype": str(first.dtype),
            "matmul_flops": flops, "elementwise_flops": op_elementwise(call, first.shape),
            "bytes_read": read, "bytes_written": written,
        }
    """,
    "self_times": """
        own = []
        for start, end in spans:
            if end < start:
                raise ValueError("a span ends before it starts")
            inside = [s for s in spans if start <= s[0] and s[1] <= end and s != (start, end)]
            own.append(float(end - start - sum(e - s for s, e in inside)))
        return own
    """,
    "record": """
        rows.depth += 1
        start = time.perf_counter_ns()
        result = call()
        end = time.perf_counter_ns()
        rows.depth -= 1
        add_row(rows, start, end, op_facts(call, result))
        return result
    """,
    "top_operations": """
        if not rows or n < 1 or by not in MEASURES:
            raise ValueError("rows, n or by")
        sums, times = {}, {}
        for row in rows:
            name = row_name(row)
            sums[name] = sums.get(name, 0) + row[by]
            times[name] = times.get(name, 0) + row["self_ms"]
        total = sum(sums.values())
        names = sorted(sums, key=sums.get, reverse=True)[:n]
        return [{"name": x, "ms": times[x], "share": sums[x] / total} for x in names]
    """,
    "chrome_trace": """
        if not rows:
            raise ValueError("no rows")
        events = []
        for row in sorted(rows, key=lambda row: row["start_ms"]):
            events.append({
                "name": row_name(row), "cat": row["phase"], "ph": "X",
                "ts": row["start_ms"] * 1000, "dur": row["ms"] * 1000, "pid": 1, "tid": 1,
                "args": {key: row[key] for key in ARGS},
            })
        return {"traceEvents": events}
    """,
    "find_bottleneck": """
        if hardware is None:
            return None
        if flops < 0 or bytes_moved < 0 or flops == bytes_moved == 0:
            raise ValueError("nothing, or less than nothing")
        slower = flops / hardware.peak_flops > bytes_moved / hardware.bandwidth
        return "compute" if slower else "memory"
    """,
    "rows_at_ridge": """
        if in_features < 1 or out_features < 1 or itemsize < 1:
            raise ValueError("sizes")
        n = 1
        while True:
            flops = 2 * n * in_features * out_features
            numbers = n * in_features + in_features * out_features + n * out_features
            if find_bottleneck(flops, itemsize * numbers, hardware) == "compute":
                return n
            n += 1
            if n > 1000:
                return None
    """,
    "samples_needed": """
        if not 0 < share < 1:
            raise ValueError("share")
        return round(1.96**2 * share * (1 - share) / error**2)
    """,
    "profile_forward_pass": """
        rows = rows_of(lambda: as_model(model)(x))
        latency = measure_latency(model, x, warmup, iterations)
        flops = count_flops(model, x.shape)
        moved = sum(row["bytes_read"] + row["bytes_written"] for row in rows)
        return {
            "parameters": count_parameters(model), "flops": flops, "latency_ms": latency,
            "peak_memory_mb": measure_memory(model, x.shape)["peak_memory_mb"],
            "gflops_per_second": flops / (latency / 1000) / 1e9,
            "bottleneck": find_bottleneck(flops, moved, hardware),
        }
    """,
    "profile_layer": """
        return profile_forward_pass(layer, example_input(layer, input_shape), hardware)
    """,
    "profile_backward_pass": """
        def step(x):
            output = model(x)
            output.sum().backward()
        rows = rows_of(lambda: step(x))
        gradients = sum(p.grad.nbytes for p in model.parameters()) / MB
        forward = measure_memory(model, x)["peak_memory_mb"]
        latency = measure_latency(step, x, warmup, iterations)
        flops = sum(row["matmul_flops"] for row in rows)
        names = ("sgd", "momentum", "adam", "adamw")
        return {
            "forward_memory_mb": forward, "gradient_memory_mb": gradients,
            "total_memory_mb": forward + gradients,
            "optimizer_memory_estimates": {n: optimizer_memory_mb(model, n) for n in names},
            "flops": flops, "latency_ms": latency, "gflops_per_second": flops / latency / 1e6,
            "bottleneck": find_bottleneck(*work_and_traffic(rows), hardware),
        }
    """,
    "hot_functions": """
        if n < 1 or by not in ("calls", "tottime", "cumtime") or not stats.stats:
            raise ValueError("n, by or stats")
        found = []
        for (file, line, name), (calls, _, tottime, cumtime, _) in stats.stats.items():
            function = name if file == "~" else f"{file.split('/')[-1]}:{line}({name})"
            found.append({"function": function, "calls": calls})
            found[-1] |= {"tottime": tottime, "cumtime": cumtime}
        return sorted(found, key=lambda row: row[by], reverse=True)[:n]
    """,
    "profiling_overhead": """
        if rounds < 1:
            raise ValueError("rounds must be at least 1")
        def seconds(function):
            start = time.perf_counter()
            function()
            return time.perf_counter() - start
        seconds(fn), seconds(profiled)
        plain = [seconds(fn) for _ in range(rounds)]
        watched = [seconds(profiled) for _ in range(rounds)]
        return statistics.median(watched) / statistics.median(plain)
    """,
    "compare_architectures": """
        if not models or set(models) != set(inputs):
            raise ValueError("models and inputs must have the same names")
        table = []
        for name, model in models.items():
            row = profile_forward_pass(model, inputs[name], None)
            table.append({"name": name} | row)
        return table
    """,
    "triage": """
        if run["gpu_busy"] and run["gpu_busy"] > 0.8:
            return "gpu"
        worked = (run["user_s"] or 0) + (run["sys_s"] or 0)
        if worked >= 0.8 * run["real_s"]:
            return "cpu"
        reading = (run["bytes_read"] or 0) / disk_rate
        return "disk" if reading > (run["real_s"] - worked) / 2 else "waiting"
    """,
}

SECOND = FIRST | {
    "op_bytes": """
        inputs = call.inputs
        if call.phase == "backward":
            inputs = [*tensors_in(call.grad), *call.saved]
        read, new = bytes_by_memory(inputs), bytes_by_memory(tensors_in(result))
        written = sum(size for memory, size in new.items() if memory not in read)
        if written == 0:
            return 0, 0
        if call.phase == "forward" and call.op in TABLES:
            read[memory_of(inputs[TABLES[call.op]])] = written
        return sum(read.values()), written
    """,
    "op_facts": """
        read, written = op_bytes(call, result)
        shapes = [t.shape for t in call.inputs]
        if call.phase == "forward":
            flops = op_flops(call.op, shapes, call.attributes)
            first = tensors_in(result)[0]
        else:
            wanted = [t.requires_grad for t in call.inputs]
            flops = gradient_flops(call.op, shapes, call.attributes, wanted)
            first = tensors_in(call.grad)[0]
        return {
            "op": call.op, "module": call.module_path, "phase": call.phase,
            "input_shapes": shapes, "output_shape": first.shape, "dtype": str(first.dtype),
            "matmul_flops": flops, "elementwise_flops": op_elementwise(call, first.shape),
            "bytes_read": read, "bytes_written": written,
        }
    """,
    "self_times": """
        own, running = [float(end - start) for start, end in spans], []
        if any(time < 0 for time in own):
            raise ValueError("a span ends before it starts")
        for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1])):
            while running and spans[running[-1]][1] <= spans[i][0]:
                running.pop()
            if running:
                if spans[i][1] > spans[running[-1]][1]:
                    raise ValueError("two spans cross")
                own[running[-1]] -= spans[i][1] - spans[i][0]
            running.append(i)
        return own
    """,
    "record": """
        rows.depth += 1
        try:
            start = time.perf_counter_ns()
            result = call()
            end = time.perf_counter_ns()
        finally:
            rows.depth -= 1
        add_row(rows, start, end, op_facts(call, result))
        return result
    """,
    "top_operations": """
        if not rows or n < 1 or by not in MEASURES:
            raise ValueError("rows, n or by")
        key, sums, times = "self_ms" if by == "ms" else by, {}, {}
        for row in rows:
            name = row_name(row)
            sums[name] = sums.get(name, 0) + row[key]
            times[name] = times.get(name, 0) + row["self_ms"]
        total = sum(sums.values())
        names = sorted(sums, key=sums.get, reverse=True)[:n]
        return [
            {"name": x, "ms": times[x], "share": sums[x] / total if total else 0.0} for x in names
        ]
    """,
    "chrome_trace": """
        if not rows:
            raise ValueError("no rows")
        events = []
        for row in sorted(rows, key=lambda row: (row["start_ms"], row["depth"])):
            events.append({
                "name": row_name(row), "cat": row["phase"], "ph": "X",
                "ts": row["start_ms"] * 1000, "dur": row["ms"] * 1000, "pid": 1, "tid": 1,
                "args": {key: row[key] for key in ARGS},
            })
        return {"traceEvents": events}
    """,
    "find_bottleneck": """
        if flops < 0 or bytes_moved < 0 or flops == bytes_moved == 0:
            raise ValueError("nothing, or less than nothing")
        if hardware is None:
            return None
        slower = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
        return "compute" if slower else "memory"
    """,
    "rows_at_ridge": """
        if in_features < 1 or out_features < 1 or itemsize < 1:
            raise ValueError("sizes")
        work = 2 * in_features * out_features / hardware.peak_flops
        moved = itemsize * (in_features + out_features) / hardware.bandwidth
        if work <= moved:
            return None
        weights = itemsize * in_features * out_features / hardware.bandwidth
        return math.ceil(weights / (work - moved))
    """,
    "samples_needed": """
        if not 0 < share < 1 or not 0 < error < 1:
            raise ValueError("share or error")
        return math.ceil(1.96**2 * share * (1 - share) / error**2)
    """,
    "profile_forward_pass": """
        callable_model = as_model(model)
        rows = rows_of(lambda: callable_model(x))
        latency = measure_latency(callable_model, x, warmup, iterations)
        flops = count_flops(model, x.shape, per_sample=False)
        work, moved = work_and_traffic(rows)
        return {
            "parameters": count_parameters(model), "flops": flops, "latency_ms": latency,
            "peak_memory_mb": measure_memory(callable_model, x.shape)["peak_memory_mb"],
            "gflops_per_second": flops / (latency / 1000) / 1e9,
            "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
        }
    """,
    "profile_backward_pass": """
        trained = [p for p in model.parameters() if p.requires_grad]
        def step(x):
            outputs = [t for t in tensors_in(model(x)) if t.requires_grad]
            if not outputs or not trained:
                return []
            return autograd.grad(sum(t.sum() for t in outputs), trained)
        with OpRecorder() as recorder:
            found = step(x)
        rows = recorder.rows
        gradients = sum(g.nbytes for g in found if g is not None) / MB
        forward = measure_memory(model, x)["peak_memory_mb"]
        latency = measure_latency(step, x, warmup, iterations)
        flops = sum(row["matmul_flops"] for row in rows)
        names = ("sgd", "momentum", "adam", "adamw")
        work, moved = work_and_traffic(rows)
        return {
            "forward_memory_mb": forward, "gradient_memory_mb": gradients,
            "total_memory_mb": forward + gradients,
            "optimizer_memory_estimates": {n: optimizer_memory_mb(model, n) for n in names},
            "flops": flops, "latency_ms": latency, "gflops_per_second": flops / latency / 1e6,
            "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
        }
    """,
    "hot_functions": """
        if n < 1 or by not in ("calls", "tottime", "cumtime") or not stats.stats:
            raise ValueError("n, by or stats")
        found = []
        for (file, line, name), (_, calls, tottime, cumtime, _) in stats.stats.items():
            function = name if file == "~" else f"{file.split('/')[-1]}:{line}({name})"
            found.append({"function": function, "calls": calls})
            found[-1] |= {"tottime": tottime, "cumtime": cumtime}
        return sorted(found, key=lambda row: row[by], reverse=True)[:n]
    """,
    "profiling_overhead": """
        if rounds < 1:
            raise ValueError("rounds must be at least 1")
        def seconds(function):
            start = time.perf_counter()
            function()
            return time.perf_counter() - start
        pairs = [(seconds(fn), seconds(profiled)) for _ in range(rounds + 1)][1:]
        plain, watched = zip(*pairs)
        return statistics.median(watched) / statistics.median(plain)
    """,
    "compare_architectures": """
        if not models or set(models) != set(inputs):
            raise ValueError("models and inputs must have the same names")
        table = []
        for name, model in models.items():
            row = profile_forward_pass(model, example_input(model, inputs[name]), None)
            del row["bottleneck"]
            table.append({"name": name} | row)
        return table
    """,
    "triage": """
        if run["real_s"] <= 0 or disk_rate <= 0:
            raise ValueError("real_s and disk_rate must be above 0")
        if run["gpu_busy"] is not None and run["gpu_busy"] >= 0.8:
            return "gpu"
        if run["user_s"] is None or run["sys_s"] is None or run["bytes_read"] is None:
            return None
        worked = run["user_s"] + run["sys_s"]
        if worked / run["real_s"] >= 0.8:
            return "cpu"
        return "disk" if run["bytes_read"] / disk_rate * 2 >= run["real_s"] - worked else "waiting"
    """,
}
