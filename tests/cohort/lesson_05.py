"""Lesson 05: what students, and known profilers, get wrong in recording and in reading rows.

Here are the helpers of all, and the mutants of the recorder; the others stand in files beside, by
topic, slips of every exercise in lesson_05_slips.py, and so do the right ones.
"""

from cohort import (
    lesson_05_ops,
    lesson_05_passes,
    lesson_05_rows,
    lesson_05_times,
    lesson_05_training,
)
from cohort import lesson_05_slips as slips
from cohort.kinds import remembers
from cohort.lesson_05_alternates import ALTERNATES  # noqa: F401

HELPERS = """
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
    record, top_operations, chrome_trace, hot_functions
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
"""
HELPERS += lesson_05_times.HELPERS + slips.HELPERS

MUTANTS = {
    **lesson_05_ops.MUTANTS,
    "record": {
        "time.time": "return recording(call, rows, clock=time.time_ns)",
        "process_time": "return recording(call, rows, clock=time.process_time_ns)",
        "the depth is lost when an op fails": """
            start = time.perf_counter_ns()
            rows.depth += 1
            result = call()
            end = time.perf_counter_ns()
            rows.depth -= 1
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "only of an Exception": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            except Exception:
                rows.depth -= 1
                raise
            end = time.perf_counter_ns()
            rows.depth -= 1
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "errors are swallowed": """
            try:
                return right_record(call, rows)
            except ValueError:
                return call.inputs[0]
        """,
        "failed ops get a row": """
            count = len(rows)
            try:
                return right_record(call, rows)
            except BaseException:
                rows.append({"op": call.op, "module": "", "ms": 0.0, "self_ms": 0.0, "depth": 0})
                raise
        """,
        "nothing is returned": "right_record(call, rows)",
        "called twice": """
            right_record(call, rows)
            return call()
        """,
        "a copy is returned": """
            result = right_record(call, rows)
            return result + 1 if isinstance(result, Tensor) and call.phase == "forward" else result
        """,
        "its own work counts": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
            finally:
                rows.depth -= 1
            facts = op_facts(call, result)
            add_row(rows, start, time.perf_counter_ns(), facts)
            return result
        """,
        "put down while it is deeper": """
            start = time.perf_counter_ns()
            rows.depth += 1
            try:
                result = call()
                add_row(rows, start, time.perf_counter_ns(), op_facts(call, result))
            finally:
                rows.depth -= 1
            return result
        """,
        "the facts are asked for before the call, while the clock runs": """
            start = time.perf_counter_ns()
            if call.op == "clone":
                op_facts(call, call.inputs[0])
            rows.depth += 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth -= 1
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "only forward": """
            if call.phase == "backward":
                return call()
            return right_record(call, rows)
        """,
        "views are left out": """
            result = right_record(call, rows)
            if rows[-1]["bytes_written"] == 0:
                rows.pop()
            return result
        """,
        "no depth while it runs": """
            start = time.perf_counter_ns()
            result = call()
            add_row(rows, start, time.perf_counter_ns(), op_facts(call, result))
            return result
        """,
        "start and end are one reading": """
            rows.depth += 1
            try:
                result = call()
            finally:
                start = end = time.perf_counter_ns()
                rows.depth -= 1
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "the row is put before those of its inside": """
            count = len(rows)
            result = right_record(call, rows)
            rows.insert(count, rows.pop())
            return result
        """,
        "depth set, not put back": """
            start = time.perf_counter_ns()
            rows.depth = 1
            try:
                result = call()
            finally:
                end = time.perf_counter_ns()
                rows.depth = 0
            add_row(rows, start, end, op_facts(call, result))
            return result
        """,
        "the result is kept alive": """
            def record(call, rows):
                result = right_record(call, rows)
                record.kept.append(result)
                return result

            record.kept = []
        """,
        "the call is kept in the row": """
            result = right_record(call, rows)
            rows[-1]["call"] = call
            return result
        """,
        "milliseconds that start anew": """
            result = right_record(call, rows)
            rows[-1]["start_ms"] = sum(row["ms"] for row in rows[:-1])
            return result
        """,
        "whole milliseconds": """
            result = right_record(call, rows)
            rows[-1]["ms"] = float(round(rows[-1]["ms"]))
            return result
        """,
        "a list of one's own": """
            def record(call, rows):
                result = right_record(call, rows)
                record.rows.append(rows.pop())
                return result

            record.rows = []
        """,
    },
    **lesson_05_times.MUTANTS,
    **lesson_05_rows.MUTANTS,
    **lesson_05_passes.MUTANTS,
    **lesson_05_training.MUTANTS,
}
for exercise, codes in slips.MUTANTS.items():
    MUTANTS[exercise] |= codes
for exercise in ("profiling_overhead", "profile_backward_pass", "compare_architectures"):
    MUTANTS[exercise] |= remembers(exercise)
