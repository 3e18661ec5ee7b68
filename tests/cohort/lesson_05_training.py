"""Lesson 05, mutants of training, overhead and comparisons."""

MUTANTS = {
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
        "gradients are thrown away: raises": """
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
        "one output is expected: raises": """
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
        "process_time: raises": """
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
        "a dict of dicts: raises": """
            return {row["name"]: row for row in right_compare(models, inputs)}
        """,
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
