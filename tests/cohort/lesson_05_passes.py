"""Lesson 05, mutants of whole passes: bottlenecks, forward, backward, overhead, comparisons."""

HELPERS = """
right_bottleneck, right_forward, right_layer = find_bottleneck, profile_forward_pass, profile_layer
right_backward, right_overhead = profile_backward_pass, profiling_overhead
right_compare = compare_architectures

def recording(call, rows, clock):
    first, start = len(rows), clock()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = clock()
        rows.depth -= 1
    add_row(rows, first, start, end, op_facts(call, result))
    return result

def forward_with(model, x, hardware, warmup, iterations, **new):
    found = right_forward(model, x, hardware, warmup, iterations)
    found |= {key: make(found) for key, make in new.items()}
    return found

def moved_by(model, x, keys=("bytes_read", "bytes_written")):
    runs = Still(model) if isinstance(model, Tensor) else model
    return sum(row[key] for row in rows_of(lambda: runs(x)) for key in keys)

def work_of(model, x):
    runs = Still(model) if isinstance(model, Tensor) else model
    return work_and_traffic(rows_of(lambda: runs(x)))[0]

def backward_with(model, x, hardware, warmup, iterations, **new):
    found = right_backward(model, x, hardware, warmup, iterations)
    found |= {key: make(found) for key, make in new.items()}
    return found | {"total_memory_mb": found["forward_memory_mb"] + found["gradient_memory_mb"]}

def gradients_of(model, x):
    for p in model.parameters():
        p.grad = None
    sum(t.sum() for t in tensors_in(model(x)) if t.requires_grad).backward()
    return {id(p): p.grad for p in model.parameters() if p.grad is not None}

def in_turns(fn, profiled, rounds, sum_up=statistics.median, drop=1, clock=time.perf_counter):
    if rounds < 1:
        raise ValueError("rounds")
    times = [[], []]
    for _ in range(rounds + drop):
        for function, taken in zip((fn, profiled), times):
            start = clock()
            function()
            taken.append(clock() - start)
    return sum_up(times[1][drop:]) / sum_up(times[0][drop:])
"""

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
        "divides by the bytes": """
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
        "the input's shape is enough": """
            return right_forward(
                model, example_input(model, x.shape), hardware, warmup, iterations
            )
        """,
        "bottleneck is missing": """
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
        "an empty dict": "right_layer(layer, input_shape, hardware)\nreturn {}",
        "the bias is forgotten": """
            found = right_layer(layer, input_shape, hardware)
            return found | {"parameters": layer.weight.numel()}
        """,
        "shapes are made whole": """
            return right_layer(layer, tuple(max(1, int(n)) for n in input_shape), hardware)
        """,
    },
    "profile_backward_pass": {
        "parameters for gradients": """
            size = sum(p.nbytes for p in {id(p): p for p in model.parameters()}.values()) / MB
            return backward_with(
                model, x, hardware, warmup, iterations, gradient_memory_mb=lambda f: size
            )
        """,
        "trained parameters for gradients": """
            size = optimizer_memory_mb(model, "momentum")
            return backward_with(
                model, x, hardware, warmup, iterations, gradient_memory_mb=lambda f: size
            )
        """,
        "no gradients": """
            return backward_with(
                model, x, hardware, warmup, iterations, gradient_memory_mb=lambda f: 0.0
            )
        """,
        "four bytes each": """
            trained = any(p.requires_grad for p in model.parameters())
            grads = gradients_of(copy.deepcopy(model), x).values() if trained else ()
            size = 4 * sum(g.numel() for g in grads) / MB
            return backward_with(
                model, x, hardware, warmup, iterations, gradient_memory_mb=lambda f: size
            )
        """,
        "10⁶ bytes": """
            return backward_with(
                model, x, hardware, warmup, iterations,
                gradient_memory_mb=lambda f: f["gradient_memory_mb"] * 1.048576,
            )
        """,
        "gradients are left behind": """
            found = right_backward(model, x, hardware, warmup, iterations)
            if any(p.requires_grad for p in model.parameters()):
                gradients_of(model, x)
            return found
        """,
        "gradients are thrown away": """
            found = right_backward(model, x, hardware, warmup, iterations)
            for p in model.parameters():
                p.grad = None
            return found
        """,
        "gradients add up to those that are there": """
            found = right_backward(model, x, hardware, warmup, iterations)
            for p in model.parameters():
                if p.grad is not None:
                    p.grad = p.grad + p.grad
            return found
        """,
        "activations for the forward pass": """
            size = measure_memory(model, x)["activation_memory_mb"]
            return backward_with(
                model, x, hardware, warmup, iterations, forward_memory_mb=lambda f: size
            )
        """,
        "parameters for the forward pass": """
            size = measure_memory(model, x)["parameter_memory_mb"]
            return backward_with(
                model, x, hardware, warmup, iterations, forward_memory_mb=lambda f: size
            )
        """,
        "the optimizer is in the total": """
            found = right_backward(model, x, hardware, warmup, iterations)
            more = found["optimizer_memory_estimates"]["adam"]
            return found | {"total_memory_mb": found["total_memory_mb"] + more}
        """,
        "Adam once": """
            found = right_backward(model, x, hardware, warmup, iterations)
            estimates = found["optimizer_memory_estimates"]
            estimates["adam"] = estimates["momentum"]
            return found
        """,
        "estimates from the gradients": """
            found = right_backward(model, x, hardware, warmup, iterations)
            size = found["gradient_memory_mb"]
            estimates = {"sgd": 0.0, "momentum": size, "adam": 2 * size, "adamw": 2 * size}
            return found | {"optimizer_memory_estimates": estimates}
        """,
        "SGD with a state": """
            found = right_backward(model, x, hardware, warmup, iterations)
            estimates = found["optimizer_memory_estimates"]
            estimates["sgd"] = estimates["momentum"]
            return found
        """,
        "momentum is missing": """
            found = right_backward(model, x, hardware, warmup, iterations)
            estimates = dict(found["optimizer_memory_estimates"])
            del estimates["momentum"]
            return found | {"optimizer_memory_estimates": estimates}
        """,
        "FLOPs of the forward pass": """
            flops = count_flops(model, x, per_sample=False)
            return backward_with(
                model, x, hardware, warmup, iterations, flops=lambda f: flops,
                gflops_per_second=lambda f: flops / (f["latency_ms"] * 1e6),
            )
        """,
        "three times forward": """
            flops = 3 * count_flops(model, x, per_sample=False)
            return backward_with(
                model, x, hardware, warmup, iterations, flops=lambda f: flops
            )
        """,
        "FLOPs of one sample": """
            return backward_with(
                model, x, hardware, warmup, iterations,
                flops=lambda f: f["flops"] // x.shape[0],
            )
        """,
        "the forward pass is timed": """
            took = measure_latency(model, x, warmup, iterations)
            return backward_with(
                model, x, hardware, warmup, iterations, latency_ms=lambda f: took,
                gflops_per_second=lambda f: f["flops"] / (took * 1e6),
            )
        """,
        "the backward pass is timed": """
            took = measure_latency(model, x, warmup, iterations)
            return backward_with(
                model, x, hardware, warmup, iterations,
                latency_ms=lambda f: f["latency_ms"] - took,
            )
        """,
        "the rate with the forward time": """
            took = measure_latency(model, x, warmup, iterations)
            return backward_with(
                model, x, hardware, warmup, iterations,
                gflops_per_second=lambda f: f["flops"] / (took * 1e6),
            )
        """,
        "the first output alone": """
            trained = [p for p in model.parameters() if p.requires_grad]
            output = tensors_in(model(x))[0]
            grads = autograd.grad(output.sum(), trained) if output.requires_grad else ()
            size = sum(g.nbytes for g in grads if g is not None) / MB
            return backward_with(
                model, x, hardware, warmup, iterations, gradient_memory_mb=lambda f: size
            )
        """,
        "products alone for the bottleneck": """
            def bottleneck(found):
                trained = [p for p in model.parameters() if p.requires_grad]
                total = lambda: sum(t.sum() for t in tensors_in(model(x)) if t.requires_grad)
                if not trained:
                    return right_backward(model, x, hardware, 0, 1)["bottleneck"]
                rows = rows_of(lambda: autograd.grad(total(), trained))
                return find_bottleneck(found["flops"], work_and_traffic(rows)[1], hardware)

            return backward_with(
                model, x, hardware, warmup, iterations, bottleneck=bottleneck
            )
        """,
        "bytes of the forward pass": """
            limit = lambda f: find_bottleneck(f["flops"], moved_by(model, x), hardware)
            return backward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "the forward pass's bottleneck": """
            limit = lambda f: right_forward(model, x, hardware, 0, 1)["bottleneck"]
            return backward_with(model, x, hardware, warmup, iterations, bottleneck=limit)
        """,
        "all frozen is an error": """
            if not any(p.requires_grad for p in model.parameters()):
                raise ValueError("nothing to train")
            return right_backward(model, x, hardware, warmup, iterations)
        """,
        "one output is expected": """
            model(x).sum()
            return right_backward(model, x, hardware, warmup, iterations)
        """,
    },
    "profiling_overhead": {
        "the overhead alone": "return right_overhead(fn, profiled, rounds) - 1",
        "the wrong way round": "return 1 / right_overhead(fn, profiled, rounds)",
        "means": "return in_turns(fn, profiled, rounds, statistics.mean)",
        "the fastest of each": "return in_turns(fn, profiled, rounds, min)",
        "sums": "return in_turns(fn, profiled, rounds, sum)",
        "one after the other": """
            if rounds < 1:
                raise ValueError("rounds")
            took = []
            for function in (fn, profiled):
                times = []
                for _ in range(rounds + 1):
                    start = time.perf_counter()
                    function()
                    times.append(time.perf_counter() - start)
                took.append(statistics.median(times[1:]))
            return took[1] / took[0]
        """,
        "no warm-up": "return in_turns(fn, profiled, rounds, drop=0)",
        "the warm-up is one of the rounds": """
            if rounds == 1:
                return in_turns(fn, profiled, 1, drop=0)
            return in_turns(fn, profiled, rounds - 1)
        """,
        "only the first one warms up": """
            if rounds < 1:
                raise ValueError("rounds")
            fn()
            return in_turns(fn, profiled, rounds, drop=0)
        """,
        "median of the ratios": """
            if rounds < 1:
                raise ValueError("rounds")
            ratios = []
            for _ in range(rounds + 1):
                pair = []
                for function in (fn, profiled):
                    start = time.perf_counter()
                    function()
                    pair.append(time.perf_counter() - start)
                ratios.append(pair[1] / pair[0])
            return statistics.median(ratios[1:])
        """,
        "time.time": "return in_turns(fn, profiled, rounds, clock=time.time)",
        "process_time": """
            return in_turns(fn, profiled, rounds, clock=lambda: time.process_time() or 1)
        """,
        "rounds are not used": """
            if rounds < 1:
                raise ValueError("rounds")
            return in_turns(fn, profiled, 11)
        """,
        "ten rounds by default": "return in_turns(fn, profiled, rounds - (rounds == 11))",
        "no check": "return in_turns(fn, profiled, rounds) if rounds > 0 else 1.0",
        "none is refused, fewer are not": """
            return in_turns(fn, profiled, rounds) if rounds >= 0 else 1.0
        """,
        "each is called twice in a round": """
            return in_turns(lambda: (fn(), fn()), lambda: (profiled(), profiled()), rounds)
        """,
        "a difference": """
            ratio = right_overhead(fn, profiled, rounds)
            start = time.perf_counter()
            fn()
            return (ratio - 1) * (time.perf_counter() - start)
        """,
        "percent": "return 100 * right_overhead(fn, profiled, rounds)",
        "the profiled one first": """
            if rounds < 1:
                raise ValueError("rounds")
            return 1 / in_turns(profiled, fn, rounds)
        """,
    },
    "compare_architectures": {
        "in the order of the inputs": """
            right_compare(models, inputs)
            rows = {row["name"]: row for row in right_compare(models, inputs)}
            return [rows[name] for name in inputs]
        """,
        "sorted by name": "return sorted(right_compare(models, inputs), key=lambda r: r['name'])",
        "by position, not by name": """
            right_compare(models, inputs)
            shapes = dict(zip(models, inputs.values()))
            return right_compare(models, shapes)
        """,
        "one sample": """
            right_compare(models, inputs)
            one = {k: (1, *v[1:]) if isinstance(v, tuple) else v for k, v in inputs.items()}
            return right_compare(models, one)
        """,
        "the first one's time for all": """
            rows = right_compare(models, inputs)
            return [row | {"latency_ms": rows[0]["latency_ms"]} for row in rows]
        """,
        "bottleneck is there, too": """
            return [row | {"bottleneck": None} for row in right_compare(models, inputs)]
        """,
        "a dict of dicts": "return {row['name']: row for row in right_compare(models, inputs)}",
        "the name is missing": """
            return [{k: v for k, v in row.items() if k != "name"}
                    for row in right_compare(models, inputs)]
        """,
        "an input too many is nothing": """
            return right_compare(models, {name: inputs[name] for name in models if name in inputs})
        """,
        "what has no input is left out": """
            there = {name: model for name, model in models.items() if name in inputs}
            return right_compare(there, inputs)
        """,
        "a name that is missing is a KeyError": """
            if not models:
                raise ValueError("no models")
            if models.keys() - inputs.keys():
                raise KeyError("a name")
            return right_compare(models, inputs)
        """,
        "no models are no error": "return right_compare(models, inputs) if models else []",
        "as many is the same": """
            if len(models) == len(inputs):
                inputs = dict(zip(models, inputs.values())) if set(models) - set(inputs) else inputs
            return right_compare(models, inputs)
        """,
        "FLOPs of one sample": """
            rows = right_compare(models, inputs)
            return [row | {"flops": count_flops(models[row["name"]], inputs[row["name"]])}
                    for row in rows]
        """,
        "FLOP/s": """
            return [row | {"gflops_per_second": 1e9 * row["gflops_per_second"]}
                    for row in right_compare(models, inputs)]
        """,
        "seconds": """
            return [row | {"latency_ms": row["latency_ms"] / 1000}
                    for row in right_compare(models, inputs)]
        """,
        "a single run, cold": """
            rows = right_compare(models, inputs)
            return [
                row | {"latency_ms": 900.0 if row["latency_ms"] > 20 else row["latency_ms"]}
                for row in rows
            ]
        """,
        "activations for MB": """
            return [
                row | {"peak_memory_mb": measure_memory(
                    models[row["name"]], inputs[row["name"]])["activation_memory_mb"]}
                for row in right_compare(models, inputs)
            ]
        """,
    },
}
