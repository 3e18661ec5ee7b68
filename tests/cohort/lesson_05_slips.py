"""Lesson 05: slips that look right on round numbers, odd counts and few rows."""

HELPERS = """
def cut(row, digits, *keys):
    return row | {key: round(row[key], digits) for key in keys}

def without_data(x):
    return Tensor.meta(x.shape, x.dtype)

def on_meta_too(model, x, hardware, warmup, iterations):
    found = right_forward(model, x, hardware, warmup, 1)
    runs = Still(model) if isinstance(model, Tensor) else model
    took = measure_latency(runs, without_data(x), warmup, iterations)
    rate = found["flops"] / (took * 1e6) if took else 0.0
    return found | {"latency_ms": took, "gflops_per_second": rate}

def lower(times):
    return sorted(times)[(len(times) - 1) // 2]

def timed_by(middle, function, x, warmup, iterations):
    if iterations < 1 or warmup < 0:
        raise ValueError("iterations")
    times = []
    for _ in range(warmup + iterations):
        start = time.perf_counter_ns()
        function(x)
        times.append((time.perf_counter_ns() - start) / 1e6)
    return middle(times[warmup:])
"""

MUTANTS = {
    "op_bytes": {
        "32-bit sums": """
            read, written = right_op_bytes(call, result)
            return tuple(int(n) for n in np.array([read, written]).astype(np.int32))
        """,
        "nothing moves in backward": """
            return right_op_bytes(call, result) if call.phase == "forward" else (0, 0)
        """,
    },
    "op_facts": {
        "of several results the last": """
            if call.phase == "backward" or not isinstance(result, (list, tuple)):
                return right_op_facts(call, result)
            last = present(result)[-1]
            return changed(call, result, output_shape=last.shape, dtype=dtype_name(last.dtype))
        """,
        "of several gradients the first input's": """
            if call.phase == "forward":
                return right_op_facts(call, result)
            return changed(call, result, output_shape=call.inputs[0].shape)
        """,
        "a forward's rule for the ops of a Function's backward only": """
            facts = right_op_facts(call, result)
            if call.phase == "forward" and call.op == "matmul" and call.module_path == "":
                facts["matmul_flops"] = 0 if call.inputs[0].requires_grad is False else facts[
                    "matmul_flops"]
            return facts
        """,
    },
    "record": {
        "an op without a rule is left out": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            with contextlib.suppress(NotImplementedError):
                add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "three decimals": """
            result = right_record(call, rows)
            rows.append(cut(rows.pop(), 3, "start_ms", "ms", "self_ms"))
            return result
        """,
        "fifty rows": """
            result = right_record(call, rows)
            del rows[50:]
            return result
        """,
        "an op that took no time is left out": """
            result = right_record(call, rows)
            if not rows[-1]["ms"]:
                rows.pop()
            return result
        """,
    },
    "top_operations": {
        "equal shares by ms": """
            key = checked(rows, n, by)
            found = tops(rows, len(rows), key)
            return sorted(found, key=lambda group: (-group["share"], -group["ms"]))[:n]
        """,
        "equal shares by name": """
            key = checked(rows, n, by)
            found = tops(rows, len(rows), key)
            return sorted(found, key=lambda group: (-group["share"], group["name"]))[:n]
        """,
        "rows are sorted in place": """
            key = checked(rows, n, by)
            found = tops(list(rows), n, key)
            rows.sort(key=lambda row: -row[key])
            return found
        """,
        "shares with two decimals": """
            return [cut(g, 2, "share") for g in right_top(rows, n, by)]
        """,
        "shares with three decimals": """
            return [cut(g, 3, "share") for g in right_top(rows, n, by)]
        """,
        "ms with three decimals": "return [cut(g, 3, 'ms') for g in right_top(rows, n, by)]",
        "any key of a row": """
            if not rows or n < 1 or by not in rows[0]:
                raise ValueError("no")
            return tops(rows, n, "self_ms" if by == "ms" else by)
        """,
        "backward is left out": """
            there = [row for row in rows if row["phase"] != "backward"]
            return right_top(there or rows, n, by)
        """,
        "at most fifty": "return right_top(rows, n, by)[:50]",
        "only 0 is refused": """
            return right_top(rows, abs(n), by)
        """,
    },
    "chrome_trace": {
        "whole microseconds": """
            whole = lambda key: lambda r, e: float(int(1000 * r[key]))
            return traced(rows, ts=whole("start_ms"), dur=whole("ms"))
        """,
        "three decimals of a microsecond": """
            fine = lambda key: lambda r, e: round(1000 * r[key], 3)
            return traced(rows, ts=fine("start_ms"), dur=fine("ms"))
        """,
        "four decimals of a microsecond": """
            fine = lambda key: lambda r, e: round(1000 * r[key], 4)
            return traced(rows, ts=fine("start_ms"), dur=fine("ms"))
        """,
        "backward is left out": """
            there = [row for row in rows if row["phase"] != "backward"]
            return right_trace(there if rows else rows)
        """,
        "at most fifty": """
            return {"traceEvents": right_trace(rows)["traceEvents"][:50]}
        """,
        "no length is refused": """
            if any(row["ms"] <= 0 for row in rows):
                raise ValueError("no length")
            return right_trace(rows)
        """,
        "no length is left out": """
            return right_trace([row for row in rows if row["ms"] > 0])
        """,
        "at least a microsecond": """
            return traced(rows, dur=lambda r, e: max(1.0, e["dur"]))
        """,
    },
    "find_bottleneck": {
        "whole FLOPs a byte": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            if right is None or not bytes_moved:
                return right
            ridge = hardware.peak_flops / hardware.bandwidth
            return "compute" if flops // bytes_moved >= ridge else "memory"
        """,
        "rounded FLOPs a byte": """
            right = right_bottleneck(flops, bytes_moved, hardware)
            if right is None or not bytes_moved:
                return right
            ridge = hardware.peak_flops / hardware.bandwidth
            return "compute" if round(flops / bytes_moved) >= round(ridge) else "memory"
        """,
        "the sum is checked": """
            if flops + bytes_moved <= 0:
                raise ValueError("no work")
            if hardware is None:
                return None
            slow = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
            return "compute" if slow else "memory"
        """,
        "the product is checked": """
            if flops * bytes_moved < 0 or flops == bytes_moved == 0:
                raise ValueError("no work")
            if hardware is None:
                return None
            slow = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
            return "compute" if slow else "memory"
        """,
    },
    "profile_forward_pass": {
        "two decimals": """
            found = right_forward(model, x, hardware, warmup, iterations)
            return cut(found, 2, "latency_ms", "gflops_per_second", "peak_memory_mb")
        """,
        "three decimals": """
            found = right_forward(model, x, hardware, warmup, iterations)
            return cut(found, 3, "latency_ms", "gflops_per_second")
        """,
        "six decimals": """
            found = right_forward(model, x, hardware, warmup, iterations)
            return cut(found, 6, "latency_ms", "gflops_per_second")
        """,
        "memory with two decimals": """
            found = right_forward(model, x, hardware, warmup, iterations)
            return cut(found, 2, "peak_memory_mb")
        """,
        "trainable parameters": """
            found = right_forward(model, x, hardware, warmup, iterations)
            return found | {"parameters": count_parameters(model, trainable_only=True)}
        """,
        "timed on meta": "return on_meta_too(model, x, hardware, warmup, iterations)",
        "all on meta but the memory: raises": """
            found = right_forward(model, without_data(x), hardware, warmup, iterations)
            runs = Still(model) if isinstance(model, Tensor) else model
            return found | {"peak_memory_mb": measure_memory(runs, x)["peak_memory_mb"]}
        """,
        "the lower of two medians": """
            runs = Still(model) if isinstance(model, Tensor) else model
            took = timed_by(lower, runs, x, warmup, iterations)
            found = right_forward(model, x, hardware, 0, 1)
            return found | {
                "latency_ms": took, "gflops_per_second": found["flops"] / (took * 1e6)
            }
        """,
        "put into training": """
            if hasattr(model, "train"):
                model.train()
            return right_forward(model, x, hardware, warmup, iterations)
        """,
    },
    "profile_layer": {
        "timed on meta": """
            x = example_input(layer, input_shape)
            return on_meta_too(layer, x, hardware, 3, 10)
        """,
        "an input on meta": """
            x = example_input(layer, input_shape, meta=True)
            return profile_forward_pass(layer, x, hardware)
        """,
        "a batch of 0 is one of 1": """
            return right_layer(layer, (max(1, input_shape[0]), *input_shape[1:]), hardware)
        """,
    },
    "profile_backward_pass": {
        "warm-up and iterations are not passed on": """
            right_backward(model, x, hardware, 0, 1)
            return right_backward(model, x, hardware)
        """,
        "warm-up is not passed on": """
            return right_backward(model, x, hardware, iterations=iterations)
        """,
        "iterations are not passed on": "return right_backward(model, x, hardware, warmup)",
        "timed once": "return right_backward(model, x, hardware, 0, 1)",
        "ten iterations by default": """
            iterations = 10 if iterations == 5 else iterations
            return right_backward(model, x, hardware, warmup, iterations)
        """,
        "put into eval, and left so": """
            model.eval()
            return right_backward(model, x, hardware, warmup, iterations)
        """,
        "two decimals": """
            found = right_backward(model, x, hardware, warmup, iterations)
            return cut(found, 2, "latency_ms", "gflops_per_second", "gradient_memory_mb")
        """,
        "three decimals": """
            found = right_backward(model, x, hardware, warmup, iterations)
            return cut(found, 3, "latency_ms", "gflops_per_second")
        """,
        "four decimals": """
            found = right_backward(model, x, hardware, warmup, iterations)
            return cut(found, 4, "latency_ms", "gflops_per_second", "gradient_memory_mb")
        """,
    },
    "hot_functions": {
        "equal ones by tottime": """
            found = right_hot(stats, len(stats.stats), by) if n >= 1 else right_hot(stats, n, by)
            return sorted(found, key=lambda row: (-row[by], -row["tottime"], row["calls"]))[:n]
        """,
        "two decimals": """
            return [cut(row, 2, "tottime", "cumtime") for row in right_hot(stats, n, by)]
        """,
        "six decimals": """
            return [cut(row, 6, "tottime", "cumtime") for row in right_hot(stats, n, by)]
        """,
        "any key of a row": """
            if by == "function":
                right_hot(stats, n, "calls")
                return sorted(right_hot(stats, 10**6), key=lambda r: r[by], reverse=True)[:n]
            return right_hot(stats, n, by)
        """,
        "at most fifty": "return right_hot(stats, n, by)[:50]",
        "functions that took no time are left out": """
            return [row for row in right_hot(stats, n, by) if row["tottime"] > 0]
        """,
    },
    "profiling_overhead": {
        "the lower of two medians": "return in_turns(fn, profiled, rounds, lower)",
        "the upper of two medians": """
            return in_turns(fn, profiled, rounds, statistics.median_high)
        """,
        "two decimals": "return round(right_overhead(fn, profiled, rounds), 2)",
        "three decimals": "return round(right_overhead(fn, profiled, rounds), 3)",
        "six decimals": "return round(right_overhead(fn, profiled, rounds), 6)",
    },
    "compare_architectures": {
        "two decimals": """
            return [cut(row, 2, "latency_ms", "peak_memory_mb", "gflops_per_second")
                    for row in right_compare(models, inputs)]
        """,
        "three decimals": """
            return [cut(row, 3, "latency_ms", "gflops_per_second")
                    for row in right_compare(models, inputs)]
        """,
        "four decimals": """
            return [cut(row, 4, "latency_ms", "peak_memory_mb", "gflops_per_second")
                    for row in right_compare(models, inputs)]
        """,
        "the inputs are used up": """
            found = right_compare(models, inputs)
            for name in models:
                inputs.pop(name)
            return found
        """,
        "trainable parameters": """
            return [row | {"parameters": count_parameters(models[row["name"]], True)}
                    for row in right_compare(models, inputs)]
        """,
        "put into eval": """
            for model in models.values():
                model.eval()
            return right_compare(models, inputs)
        """,
        "inputs on meta": """
            right_compare(models, inputs)
            there = {name: example_input(model, inputs[name], meta=True)
                     for name, model in models.items()}
            return right_compare(models, there)
        """,
    },
}
