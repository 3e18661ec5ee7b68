"""Serve the known solutions beside; executed after the solved lesson."""

import contextlib
import copy
import os
import statistics
import timeit
from collections import Counter
from pathlib import Path

from proflab.lesson.recording import Still, columns, dtype_name
from proflab.lesson.tensor_memory import present

right_op_bytes, right_op_facts = op_bytes, op_facts
right_record, right_top, right_trace, right_hot = (
    record,
    top_operations,
    chrome_trace,
    hot_functions,
)


def reading(call):
    return call.inputs if call.phase == "forward" else present(call.grad) + call.saved


def moved(call, result, read, made, table=True):
    written = sum(n for m, n in made.items() if m not in read)
    if not written:
        return 0, 0
    if table and call.phase == "forward" and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written


def sized(tensors):
    return {i: t.nbytes for i, t in enumerate(tensors)}


def changed(call, result, **new):
    return right_op_facts(call, result) | new


def checked(rows, n, by):
    if not rows or n < 1 or by not in MEASURES:
        raise ValueError("no")
    return "self_ms" if by == "ms" else by


def tops(rows, n, key, ms="self_ms", total=None, name=row_name):
    total = sum(row[key] for row in rows) if total is None else total
    groups = {}
    for row in rows:
        group = groups.setdefault(name(row), {"name": name(row), "ms": 0.0, "share": 0.0})
        group["ms"] += row[ms]
        group["share"] += row[key] / total if total else 0.0
    return sorted(groups.values(), key=lambda group: -group["share"])[:n]


def traced(rows, order=lambda row: (row["start_ms"], row["depth"]), **new):
    if not rows:
        return right_trace(rows)
    events = []
    for row in sorted(rows, key=order):
        event = right_trace([row])["traceEvents"][0]
        events.append(event | {key: make(row, event) for key, make in new.items()})
    return {"traceEvents": events}


right_bottleneck, right_forward, right_layer = find_bottleneck, profile_forward_pass, profile_layer
right_backward, right_overhead = profile_backward_pass, profiling_overhead
right_compare = compare_architectures


def recording(call, rows, clock):
    start = clock()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = clock()
        rows.depth -= 1
    add_row(rows, start, end, op_facts(call, result))
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


right_self_times, right_rows, right_samples = self_times, rows_at_ridge, samples_needed


def holds(around, one):
    return around[0] <= one[0] and one[1] <= around[1]


def nested(spans, order, ended=lambda end, start: end <= start):
    own, running = [float(end - start) for start, end in spans], []
    for i in order:
        start, end = spans[i]
        while running and ended(spans[running[-1]][1], start):
            running.pop()
        if running:
            own[running[-1]] -= end - start
        running.append(i)
    return own


def sorted_right(spans):
    return sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1]))


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


def right_triage(run, disk_rate):
    host = [run["user_s"], run["sys_s"], run["bytes_read"]]
    if not run["real_s"] > 0 or not disk_rate > 0:
        raise ValueError("nothing ran")
    if (run["gpu_busy"] or 0) >= 0.8:
        return "gpu"
    if None in host:
        return None
    rest = run["real_s"] - host[0] - host[1]
    if rest <= 0.2 * run["real_s"]:
        return "cpu"
    return "disk" if host[2] / disk_rate >= rest / 2 else "waiting"
