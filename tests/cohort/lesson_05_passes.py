"""Lesson 05, mutants of a forward pass: its bottleneck, its profile, a layer's."""

MUTANTS = {
    "find_bottleneck": {
        "the wrong way round": """
            names = {"compute": "memory", "memory": "compute"}
            return names.get(right_bottleneck(flops, bytes_moved, hardware))
        """,
        "more FLOPs than bytes": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            return right and ("compute" if flops >= bytes_moved else "memory")
        """,
        "at the ridge it is memory": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            if right and flops / hardware.peak_flops == bytes_moved / hardware.bandwidth:
                return "memory"
            return right
        """,
        "a ridge of 10 for all machines": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            return right and ("compute" if flops >= 10 * bytes_moved else "memory")
        """,
        "GFLOP/s by bytes": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            slow = right and flops / (hardware.peak_flops / 1e9) >= bytes_moved / hardware.bandwidth
            return right and ("compute" if slow else "memory")
        """,
        "multiply-adds": """
            right_bottleneck(flops, bytes_moved, hardware)
            return right_bottleneck(flops // 2, max(bytes_moved, 1), hardware)
        """,
        "always memory": "return right_bottleneck(flops, bytes_moved, hardware) and 'memory'",
        "divides by the bytes: raises": """
            if hardware is None:
                return right_bottleneck(flops, bytes_moved, hardware)
            right_bottleneck(flops, bytes_moved, hardware)
            ridge = hardware.peak_flops / hardware.bandwidth
            return "compute" if flops / bytes_moved >= ridge else "memory"
        """,
        "no machine is an error": """
            if hardware is None:
                raise ValueError("no machine")
            return right_bottleneck(flops, bytes_moved, hardware)
        """,
        "no machine, no check": """
            return hardware and right_bottleneck(flops, bytes_moved, hardware)
        """,
        "negative numbers pass": """
            if flops < 0 or bytes_moved < 0:
                return "memory"
            return right_bottleneck(flops, bytes_moved, hardware)
        """,
        "no work passes": """
            if flops == bytes_moved == 0:
                return hardware and "memory"
            return right_bottleneck(flops, bytes_moved, hardware)
        """,
        "neither may be 0": """
            if flops == 0 or bytes_moved == 0:
                raise ValueError("no work")
            return right_bottleneck(flops, bytes_moved, hardware)
        """,
        "near the ridge it is both": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            if right is None or not bytes_moved:
                return right
            part = flops / bytes_moved * hardware.bandwidth / hardware.peak_flops
            return "ridge" if 0.8 < part < 1.25 else right
        """,
    },
    "profile_forward_pass": {
        "FLOPs of one sample by the time of all": """
            flops = count_flops(model, x)
            rate = lambda found: flops / (found["latency_ms"] * 1e6)
            return forward_with(
                model, x, hardware, warmup, iterations,
                flops=lambda found: flops, gflops_per_second=rate,
            )
        """,
        "the rate alone is of one sample": """
            rate = lambda found: count_flops(model, x) / (found["latency_ms"] * 1e6)
            return forward_with(
                model, x, hardware, warmup, iterations, gflops_per_second=rate
            )
        """,
        "seconds for ms": """
            return forward_with(
                model, x, hardware, warmup, iterations,
                latency_ms=lambda found: found["latency_ms"] / 1000,
            )
        """,
        "10⁶ FLOPs a second": """
            return forward_with(
                model, x, hardware, warmup, iterations,
                gflops_per_second=lambda found: 1000 * found["gflops_per_second"],
            )
        """,
        "one run": """
            runs = Still(model) if isinstance(model, Tensor) else model
            start = time.perf_counter()
            runs(x)
            took = (time.perf_counter() - start) * 1000
            found = right_forward(model, x, hardware, warmup, iterations)
            return found | {
                "latency_ms": took, "gflops_per_second": found["flops"] / (took * 1e6 or 1)
            }
        """,
        "the mean": """
            runs, times = Still(model) if isinstance(model, Tensor) else model, []
            for i in range(warmup + iterations):
                start = time.perf_counter()
                runs(x)
                times.append((time.perf_counter() - start) * 1000)
            took = statistics.mean(times[warmup:])
            found = right_forward(model, x, hardware, 0, 1)
            return found | {
                "latency_ms": took, "gflops_per_second": found["flops"] / (took * 1e6)
            }
        """,
        "warm-up and iterations are not passed on": """
            right_forward(model, x, hardware, warmup, iterations)
            return right_forward(model, x, hardware)
        """,
        "a hundred iterations": """
            iterations = 100 if iterations == 10 else iterations
            return right_forward(model, x, hardware, warmup, iterations)
        """,
        "no warm-up": "return right_forward(model, x, hardware, 0, iterations)",
        "timed while it is recorded": """
            rows = rows_of(lambda: measure_latency(
                Still(model) if isinstance(model, Tensor) else model, x, warmup, iterations))
            moved = sum(row["bytes_read"] + row["bytes_written"] for row in rows)
            found = right_forward(model, x, hardware, warmup, iterations)
            limit = find_bottleneck(found["flops"], moved, hardware) if moved else None
            return found | {"bottleneck": limit}
        """,
        "bytes that are read alone": """
            limit = lambda f: find_bottleneck(
                work_of(model, x), moved_by(model, x, ["bytes_read"]), hardware
            ) if moved_by(model, x) else None
            return forward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "bytes of the parameters alone": """
            moved = 4 * count_parameters(model)
            work = work_of(model, x)
            limit = lambda f: find_bottleneck(work, moved, hardware) if moved and work else None
            return forward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "bytes of parameters, input and output": """
            runs = Still(model) if isinstance(model, Tensor) else model
            moved = 4 * count_parameters(model) + x.nbytes + tensors_in(runs(x))[0].nbytes
            limit = lambda f: find_bottleneck(work_of(model, x), moved, hardware)
            return forward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "products alone for the bottleneck": """
            limit = lambda f: find_bottleneck(f["flops"], moved_by(model, x), hardware)
            return forward_with(
                model, x, hardware, warmup, iterations,
                bottleneck=lambda f: limit(f) if moved_by(model, x) else None,
            )
        """,
        "elementwise work counts in the FLOPs": """
            runs = Still(model) if isinstance(model, Tensor) else model
            more = sum(row["elementwise_flops"] for row in rows_of(lambda: runs(x)))
            return forward_with(
                model, x, hardware, warmup, iterations, flops=lambda f: f["flops"] + more
            )
        """,
        "FLOPs of one sample for the bottleneck": """
            limit = lambda f: find_bottleneck(count_flops(model, x), moved_by(model, x), hardware)
            return forward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "the activations for the peak": """
            runs = Still(model) if isinstance(model, Tensor) else model
            peak = lambda f: measure_memory(runs, x)["activation_memory_mb"]
            return forward_with(model, x, hardware, warmup, iterations, peak_memory_mb=peak)
        """,
        "the peak without parameters": """
            runs = Still(model) if isinstance(model, Tensor) else model
            found = measure_memory(runs, x)
            peak = lambda f: found["peak_memory_mb"] - found["parameter_memory_mb"]
            return forward_with(model, x, hardware, warmup, iterations, peak_memory_mb=peak)
        """,
        "parameters and activations for the peak": """
            runs = Still(model) if isinstance(model, Tensor) else model
            found = measure_memory(runs, x)
            peak = lambda f: found["activation_memory_mb"] + found["parameter_memory_mb"]
            return forward_with(model, x, hardware, warmup, iterations, peak_memory_mb=peak)
        """,
        "a supposed machine": """
            return right_forward(model, x, hardware or Hardware(1e11, 1e10), warmup, iterations)
        """,
        "the model is put into eval": """
            if hasattr(model, "eval"):
                model.eval()
            return right_forward(model, x, hardware, warmup, iterations)
        """,
        "gradients are left": """
            found = right_forward(model, x, hardware, warmup, iterations)
            if not isinstance(model, Tensor) and model(x).requires_grad:
                model(x).sum().backward()
            return found
        """,
        "a bare Tensor is no model": """
            if isinstance(model, Tensor):
                raise ValueError("no model")
            return right_forward(model, x, hardware, warmup, iterations)
        """,
        "unknown ops are nothing": """
            try:
                return right_forward(model, x, hardware, warmup, iterations)
            except NotImplementedError:
                return {}
        """,
        "the input's shape is enough: raises": """
            return right_forward(
                model, example_input(model, x.shape), hardware, warmup, iterations
            )
        """,
        "bottleneck is missing: raises": """
            found = right_forward(model, x, hardware, warmup, iterations)
            del found["bottleneck"]
            return found
        """,
    },
    "profile_layer": {
        "one sample": """
            return profile_forward_pass(
                layer, example_input(layer, (1, *input_shape[1:])), hardware
            ) if min(input_shape) > 0 else right_layer(layer, input_shape)
        """,
        "no machine is passed on": "return right_layer(layer, input_shape)",
        "a supposed machine": """
            return right_layer(layer, input_shape, hardware or Hardware(1e11, 1e10))
        """,
        "random floats for tokens": """
            return profile_forward_pass(layer, Tensor(np.random.rand(*input_shape)), hardware)
        """,
        "on meta": """
            x = example_input(layer, input_shape, meta=True)
            return {"flops": count_flops(layer, x, False)}
        """,
        "the batch is left out of the FLOPs": """
            found = right_layer(layer, input_shape, hardware)
            return found | {"flops": count_flops(layer, input_shape)}
        """,
        "not run": """
            found = right_layer(layer, input_shape, hardware)
            return found | {"latency_ms": 0.0}
        """,
        "an empty dict: raises": "right_layer(layer, input_shape, hardware)\nreturn {}",
        "the bias is forgotten": """
            found = right_layer(layer, input_shape, hardware)
            return found | {"parameters": layer.weight.numel()}
        """,
        "shapes are made whole": """
            return right_layer(layer, tuple(max(1, int(n)) for n in input_shape), hardware)
        """,
    },
}
