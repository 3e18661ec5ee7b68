"""Lesson 05: right profiles of passes in unusual style, which must keep all points."""

ALTERNATES = {
    "find_bottleneck": {
        "by the ridge": """
            if flops < 0 or bytes_moved < 0 or (flops, bytes_moved) == (0, 0):
                raise ValueError("no work")
            if not hardware:
                return
            ridge = hardware.peak_flops / hardware.bandwidth
            return "compute" if flops >= ridge * bytes_moved else "memory"
        """,
        "two times": """
            if min(flops, bytes_moved) < 0 or max(flops, bytes_moved) == 0:
                raise ValueError("no work")
            if hardware is not None:
                times = {"compute": flops / hardware.peak_flops}
                times["memory"] = bytes_moved / hardware.bandwidth
                return max(times, key=times.get)
        """,
    },
    "profile_forward_pass": {
        "recorded first, counted from the rows": """
            runs = Still(model) if isinstance(model, Tensor) else model
            with OpRecorder() as recorder:
                runs(x)
            moved = sum(column(recorder.rows, "bytes_read"))
            moved += sum(column(recorder.rows, "bytes_written"))
            work = sum(column(recorder.rows, "elementwise_flops"))
            flops = sum(column(recorder.rows, "matmul_flops"))
            work += flops
            flops = model.numel() if isinstance(model, Tensor) else flops
            memory = measure_memory(runs, x)
            ms = measure_latency(runs, x, warmup=warmup, iterations=iterations)
            found = dict(parameters=count_parameters(model), flops=flops, latency_ms=ms)
            found["peak_memory_mb"] = memory["peak_memory_mb"]
            found["gflops_per_second"] = flops / 1e9 / (ms / 1e3)
            found["bottleneck"] = None
            if moved:
                found["bottleneck"] = find_bottleneck(work, moved, hardware)
            return found
        """,
        "each_op for the bytes": """
            runs = model if not isinstance(model, Tensor) else Still(model)
            work, bytes_moved = work_and_traffic(each_op(op_facts, lambda: runs(x)))
            ms = measure_latency(runs, x, warmup, iterations)
            flops = count_flops(model, x, False)
            limit = find_bottleneck(work, bytes_moved, hardware) if bytes_moved else None
            return {
                "bottleneck": limit,
                "flops": flops, "latency_ms": ms, "gflops_per_second": 1e-6 * flops / ms,
                "parameters": count_parameters(model),
                "peak_memory_mb": measure_memory(runs, x).get("peak_memory_mb"),
            }
        """,
    },
    "profile_layer": {
        "by keyword": """
            x = example_input(layer, input_shape)
            return profile_forward_pass(hardware=hardware, model=layer, x=x)
        """,
        "an input made first": """
            if min(input_shape) < 1:
                raise ValueError(f"{input_shape} is no shape")
            inputs = example_input(layer, tuple(input_shape), meta=False)
            return dict(profile_forward_pass(layer, inputs, hardware))
        """,
    },
    "profile_backward_pass": {
        "by .backward(), with the old .grad put back": """
            parameters = {id(p): p for p in model.parameters()}.values()

            def step(x):
                before = [(p, p.grad) for p in parameters]
                for p in parameters:
                    p.grad = None
                try:
                    outputs = [t for t in tensors_in(model(x)) if t.requires_grad]
                    if outputs:
                        total = outputs[0].sum()
                        for t in outputs[1:]:
                            total = total + t.sum()
                        total.backward()
                    return sum(p.grad.nbytes for p in parameters if p.grad is not None)
                finally:
                    for p, grad in before:
                        p.grad = grad

            sizes = []
            rows = rows_of(lambda: sizes.append(step(x)))
            gradient_mb = sizes[0] / 1024**2
            forward_mb = measure_memory(model, x)["peak_memory_mb"]
            flops = sum(column(rows, "matmul_flops"))
            moved = sum(column(rows, "bytes_read") + column(rows, "bytes_written"))
            work = flops + sum(column(rows, "elementwise_flops"))
            ms = measure_latency(step, x, warmup, iterations)
            result = {"forward_memory_mb": forward_mb, "gradient_memory_mb": gradient_mb}
            result["total_memory_mb"] = forward_mb + gradient_mb
            result["optimizer_memory_estimates"] = {
                name: optimizer_memory_mb(model, name)
                for name in ("sgd", "momentum", "adam", "adamw")
            }
            result |= {"flops": flops, "latency_ms": ms, "gflops_per_second": flops / ms / 1e6}
            result["bottleneck"] = find_bottleneck(work, moved, hardware) if moved else None
            return result
        """,
        "FLOPs by lesson 02": """
            wanted = []
            for p in model.parameters():
                if p.requires_grad and not any(p is q for q in wanted):
                    wanted.append(p)

            def both(x):
                parts = [t.sum() for t in tensors_in(model(x)) if t.requires_grad]
                return autograd.grad(sum(parts[1:], parts[0]), wanted) if parts else []

            ms = measure_latency(both, x, warmup, iterations)
            gradients = [g for g in both(x) if g is not None]
            work, moved = work_and_traffic(each_op(op_facts, lambda: both(x)))
            flops = sum(f["matmul_flops"] for f in each_op(op_facts, lambda: both(x)))
            memory = measure_memory(model, x)["peak_memory_mb"]
            size = sum(g.numel() * g.itemsize for g in gradients) / MB
            return {
                "forward_memory_mb": memory, "gradient_memory_mb": size,
                "total_memory_mb": memory + size, "flops": flops, "latency_ms": ms,
                "gflops_per_second": flops / (ms / 1000) / 1e9,
                "bottleneck": find_bottleneck(work, moved, hardware) if moved > 0 else None,
                "optimizer_memory_estimates": dict(
                    sgd=0.0, momentum=optimizer_memory_mb(model, "momentum"),
                    adam=optimizer_memory_mb(model, "adam"),
                    adamw=optimizer_memory_mb(model, "adamw"),
                ),
            }
        """,
    },
    "profiling_overhead": {
        "nanoseconds, numpy's median": """
            if rounds <= 0:
                raise ValueError("rounds")
            table = np.zeros((rounds + 1, 2))
            for row in table:
                for i, function in enumerate((fn, profiled)):
                    begun = time.perf_counter_ns()
                    function()
                    row[i] = time.perf_counter_ns() - begun
            plain, watched = np.median(table[1:], axis=0)
            return watched / plain
        """,
        "timeit": """
            if rounds < 1:
                raise ValueError("rounds")
            fn(), profiled()
            plain, watched = [], []
            for _ in range(rounds):
                plain.append(timeit.timeit(fn, number=1))
                watched.append(timeit.timeit(profiled, number=1))
            return statistics.median(watched) / statistics.median(plain)
        """,
        "sorted lists": """
            if rounds < 1:
                raise ValueError("rounds")

            def clocked(function):
                start = time.monotonic()
                function()
                return time.monotonic() - start

            pairs = [(clocked(fn), clocked(profiled)) for _ in range(1 + rounds)][1:]

            def middle(values):
                values = sorted(values)
                return (values[(rounds - 1) // 2] + values[rounds // 2]) / 2

            return middle(b for _, b in pairs) / middle(a for a, _ in pairs)
        """,
    },
    "compare_architectures": {
        "profile_layer": """
            if not models or set(models) != set(inputs):
                raise ValueError("names")
            rows = []
            for name in models:
                row = profile_layer(models[name], inputs[name])
                row.pop("bottleneck")
                rows.append({**row, "name": name})
            return rows
        """,
        "key by key": """
            if sorted(models) != sorted(inputs) or len(models) < 1:
                raise ValueError("names")
            keys = ["parameters", "flops", "latency_ms", "peak_memory_mb", "gflops_per_second"]

            def row(name, model):
                found = profile_forward_pass(model, example_input(model, inputs[name]), None)
                return dict({"name": name}, **{key: found[key] for key in keys})

            return [row(*item) for item in models.items()]
        """,
    },
}
