# ---
# jupyter:
#   accelerator: GPU
#   colab:
#     gpuType: T4
#     provenance: []
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 · What did the card wait for?
#
# ![Three timelines of training steps, with rows for host, kernels and copies. Starved: hardly any kernels, while the host waits for data. Synchronous: a gap after each wait. Good: the row of kernels is full.](timelines.png)
#
# **You need no graphics card, and no torch.** All that is graded works on a *document*, a file of measurements: traces, allocations, times of training steps.
# Without a card you read the one beside this notebook.
# It is *constructed*: a script made its numbers from assumptions.
# No card was measured for it, nor for the picture.
# With torch and a card, the same cells measure yours.
# Colab lends a T4: *Runtime → Change runtime type*.
#
# Lists of quick wins promise: mixed precision 1.5–2×, loader workers 1.2–1.5×, `torch.compile` 1.1–1.5×, pinned memory 1.1×.
# Multiplied, that is 2.2 to 5 times.
# On your run they may give 1.05, because the card was waiting for something else.
# A trace shows it.
# You write the functions that read traces, and use them in a lab: six runs of one program, and a report that gives each change its cause and its due.
#
# **You will be able to**
#
# - say for how long a card idles, and what the host did meanwhile;
# - find the op that time belongs to, and the layer that memory belongs to;
# - report improvements so that each gets its due, and predict what a second card brings.
#
# **You need** lesson 02 for `training_flops`, lesson 08 for pairs and intervals, and from lesson 10 that a launch only queues a kernel.
# Take two sittings.
# Throughout, arguments stay as they are, and a tuple does for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import numpy as np
import trace_doubles as fake  # beside this notebook, as the next
import train_document
from built import count_flops, fit_cost, speedup_interval, training_flops

from proflab import meta, models
from proflab.lesson import cuda, expect, expect_raises, guesses

# %% nbgrader={"grade": false, "grade_id": "record", "locked": true, "schema_version": 3, "solution": false, "task": false}
record = cuda.Record("constructed_train.json", form=train_document)

# %% nbgrader={"grade": false, "grade_id": "demo_document", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
print(f"{record.title('The document')}. {record.document.get('note', record.document['command'])}")

# %% [markdown]
# `train.py`, beside this notebook, trains ResNet-18, with switches (`workers`, `pin`, `amp`, `channels_last`, `compile`, `checkpoint`, `fused_optimizer`) and three planted faults: each step reads the loss with `.item()`, each step sends the class weights of the loss to the card, and each step crops or pads its images to another size.
# On a card the next cell runs it under torch's profiler.
# Without one it prints a line for each kind, and the document stays as it is.
# It shows what such runs look like, not what a T4 does.

# %% nbgrader={"grade": false, "grade_id": "device_traces", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
from measures import MEASURES  # beside this notebook, as train.py; imports torch when needed

for kind in ("trace", "memory"):
    record.measure(kind, MEASURES[kind])

# %% [markdown]
# ## 1 · Is the card at work? · 30 min
#
# `nvidia-smi` says 98 % when hardly a moment passes without *some* kernel.
# A trace says which one ran when.
# [torch.profiler](https://docs.pytorch.org/docs/stable/profiler.html) writes it as a list of events with a start `ts` and a duration `dur`, in µs:
#
#     {"cat": "kernel", "name": "clamp", "ts": 115, "dur": 25, "args": {"stream": 7, "correlation": 2}}
#
# A *stream* is a queue on the card.
# Kernels of one stream run one after another; kernels of two streams can overlap. So durations must not be summed: with kernels from 0 to 10 and, on another stream, from 5 to 12, the card is busy for 12 µs and not for 17.
# A time in which no kernel runs is a *gap*.
# A copy is no kernel: the bus is at work, the card's arithmetic is not.
#
# **Predict.** In the trace "starved" the program loads its images itself, between two steps.
# For what share of the time does no kernel run?

# %% tags=["guess"]
guess_gpu_idle = None  # your guess, in percent of the time


# %% nbgrader={"grade": false, "grade_id": "gpu_busy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpu_busy(events, window=None):
    """Return for how long at least one kernel ran, and the gaps in which none did, in µs.

    events: a trace's events, in any order. Those of cat "kernel" are the kernels, on whichever
        stream. Events without a dur count for nothing.
    window: (start, end), outside of which nothing counts; None for the whole trace, from the first
        start to the last end of all events with a dur, of whichever cat.
    Returns a dict: busy; idle, the rest of the window; gaps, (start, end) pairs in order. Without a
    kernel the whole window is one gap. Kernels last longer than 0 µs.
    Raises ValueError for a window not ending after its start, and for None if no event has a dur.
    """
    ### BEGIN SOLUTION
    timed = [(e["ts"], e["ts"] + e["dur"], e.get("cat")) for e in events if "dur" in e]
    if window is None and timed:
        window = min(left for left, *_ in timed), max(right for _, right, _ in timed)
    if window is None or window[1] <= window[0]:
        raise ValueError(f"{window} is no window: it must end after its start")
    start, end = window
    at, gaps = start, []
    for left, right in [*sorted(e[:2] for e in timed if e[2] == "kernel"), (end, end)]:
        if min(left, end) > at:
            gaps.append((at, min(left, end)))
        at = max(at, min(right, end))
    idle = sum(right - left for left, right in gaps)
    return {"busy": end - start - idle, "idle": idle, "gaps": gaps}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gpu_busy", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
work = [fake.kernel("a", 0, 10), fake.kernel("b", 5, 7, stream=13), fake.kernel("c", 20, 5)]
found = gpu_busy(work, (0, 40))
expect("busy once, not twice", found["busy"], 17.0, mistakes={"the durations are summed": 22.0})
expect("two streams", found, {"busy": 17.0, "idle": 23.0, "gaps": [(12.0, 20.0), (25.0, 40.0)]})
short = [fake.kernel("b", 3, 2), fake.kernel("d", 14, 1, stream=20), fake.kernel("a", 1, 9)]
expect("unsorted, one inside another", gpu_busy(short, (0, 15))["gaps"], [(0.0, 1.0), (10.0, 14.0)])
touching = [fake.kernel("a", 0, 4), fake.kernel("b", 4, 6), fake.kernel("c", 11, 2)]
expect("no gap between two that touch", gpu_busy(touching, (0, 13))["gaps"], [(10.0, 11.0)])
parts = [fake.kernel("a", 0.001, 2.203), fake.kernel("b", 3.0074, 0.5)]
expect(
    "parts of a µs",
    gpu_busy(parts, (0.0, 4.0)),
    {"busy": 2.703, "idle": 1.297, "gaps": [(0.0, 0.001), (2.204, 3.0074), (3.5074, 4.0)]},
)
again = [gpu_busy(work, (0, 30))["idle"], [event["ts"] for event in short]]
expect("the same events, another window; they stay", again, [13.0, [3, 14, 1]])
### BEGIN HIDDEN TESTS
many = [
    fake.kernel("k", at, us, stream=at % 3)
    for at, us in ((50, 5), (7, 9), (0, 12), (30, 8), (36, 2), (33, 3))
]
expect(
    "kernels of all streams, in any order, are one union",
    gpu_busy(many, (0, 60)),
    {"busy": 29.0, "idle": 31.0, "gaps": [(16.0, 30.0), (38.0, 50.0), (55.0, 60.0)]},
)
fine = [fake.kernel("a", 10.0015, 0.0007), fake.kernel("b", 10.0029, 0.0007)]
expect(
    "a gap may be shorter than a µs",
    gpu_busy(fine, (10.0, 10.01)),
    {"busy": 0.0014, "idle": 0.0086, "gaps": [(10, 10.0015), (10.0022, 10.0029), (10.0036, 10.01)]},
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_busy_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
work = [fake.kernel("a", 0, 10), fake.kernel("b", 5, 7, stream=13), fake.kernel("c", 20, 5)]
cut = [gpu_busy(work, window) for window in ((8, 11), (-5, 15), (13, 16))]
expect(
    "the window cuts kernels, begins before them, lies in a gap",
    [[found["busy"], found["gaps"]] for found in cut],
    [[3.0, []], [12.0, [(-5.0, 0.0), (12.0, 15.0)]], [0.0, [(13.0, 16.0)]]],
)
others = [
    fake.op("conv2d", 2, 30),
    fake.launch(4, 1, 5),
    fake.memcpy("HtoD", 6, 4, 5),
    fake.gpu_annotation("step", 7, 20),
    fake.kernel("a", 10, 8),
]
found = gpu_busy(fake.trace(*others)["traceEvents"])
expect(
    "the whole trace; only kernels are work",
    found,
    {"busy": 8.0, "idle": 22.0, "gaps": [(2.0, 10.0), (18.0, 32.0)]},
)
expect("no kernel at all", gpu_busy(others[:2])["gaps"], [(2.0, 32.0)])
expect_raises("a window without length", lambda: gpu_busy(work, (4, 4)), ValueError)
expect_raises("a window that ends before its start", lambda: gpu_busy(work, (9, 4)), ValueError)
expect_raises("nothing to take a window from", lambda: gpu_busy([]), ValueError)
### BEGIN HIDDEN TESTS
many = [fake.kernel("k", at, us, stream=at) for at, us in ((50, 5), (7, 9), (0, 12), (30, 10))]
expect(
    "a kernel counts as far as it lies in the window",
    gpu_busy(many, (34, 52)),
    {"busy": 8.0, "idle": 10.0, "gaps": [(40.0, 50.0)]},
)
late = [fake.kernel("a", 12.5, 2.25), fake.op("relu", 9.5, 1.0), fake.memcpy("HtoD", 13.0, 7.0)]
expect(
    "without a window the trace is as long as all of its events",
    gpu_busy(late),
    {"busy": 2.25, "idle": 8.25, "gaps": [(9.5, 12.5), (14.75, 20.0)]},
)
expect_raises("a window must have a length", lambda: gpu_busy(many, (60, 0)), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_idle", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
idle = {}
for row in record.rows("trace"):
    found = gpu_busy(row["trace"]["traceEvents"])
    busy, whole = found["busy"] / 1e3, (found["busy"] + found["idle"]) / 1e3
    idle[row["name"]] = 100 * (1 - busy / whole)
    said = f"{len(found['gaps'])} gaps" if busy else "no kernel in this trace"
    print(f"{row['name']:<12} {busy:5.1f} of {whole:5.1f} ms busy, {said}")
guesses.compare(
    "time without a kernel, starved",
    guess_gpu_idle,
    idle["starved"],
    unit="%",
    document=record.document,
)

# %% [markdown]
# ## 2 · What did the host do meanwhile? · 35 min
#
# The cause of a gap lies with the *host*, the Python program that should have queued the next kernel.
# Four things keep it from that:
#
# | cause | in torch's trace | the host |
# |---|---|---|
# | data | `enumerate(DataLoader)…__next__` | waits for a batch |
# | copy | `cudaMemcpyAsync` | sends a batch to the card |
# | sync | `cudaStreamSynchronize`, the copy of an `.item()` | waits until the queue is empty |
# | launch | `cudaLaunchKernel`, torch's ops | queues kernels more slowly than the card runs them |
#
# Where two of them overlap, the one higher up in the table gets the time.
# A gap from 12 to 20, data from 10 to 18 and a launch from 17 to 20: data gets 6 µs, the launch 2.
# What is left over, Python between two ops, say, is "other".


# %% nbgrader={"grade": false, "grade_id": "gap_causes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gap_causes(gap, host):
    """Return the µs of a gap by what the host did meanwhile, as a dict.

    gap: (start, end). host: (cause, start, end) tuples in any order, each cause "data", "copy",
        "sync" or "launch". They may overlap, even within one cause, and reach beyond the gap.
    The dict has these four keys and "other". Where causes overlap, time goes to the first of them
    in this order; where there is none, to "other". So the five sum to the gap.
    Raises ValueError for a gap that does not end after its start, and for another cause, wherever
    it lies.
    """
    ### BEGIN SOLUTION
    (start, end), causes = gap, ("data", "copy", "sync", "launch")
    if end <= start or {cause for cause, *_ in host} - set(causes):
        raise ValueError(f"{gap} must end after its start, and each cause be one of {causes}")
    near = [each for each in host if each[1] < end and each[2] > start]
    inside = {time for _, *times in near for time in times if start < time < end}
    found = dict.fromkeys((*causes, "other"), 0)
    cuts = sorted({start, end} | inside)
    for left, right in zip(cuts, cuts[1:], strict=False):
        there = {cause for cause, begun, done in near if begun <= left and right <= done}
        found[next((cause for cause in causes if cause in there), "other")] += right - left
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gap_causes", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
keys = ("data", "copy", "sync", "launch", "other")
host = [("data", 10, 18), ("launch", 17, 20), ("sync", 25, 31), ("data", 30, 38)]
around = [("launch", -50, 50), ("sync", 3, 4)]


def causes(gap, host):
    found = gap_causes(gap, host)
    return [found[cause] for cause in keys]


expect("the keys", sorted(gap_causes((0, 1), [])), ["copy", "data", "launch", "other", "sync"])
expect("data, then a launch", causes((12, 20), host), [6.0, 0.0, 0.0, 2.0, 0.0])
expect("a wait, data, then nothing", causes((25, 40), host), [8.0, 0.0, 5.0, 0.0, 2.0])
at_once = [("launch", 0, 10), ("sync", 2, 10), ("copy", 4, 10), ("data", 6, 10)]
expect("all four at once, by their order", causes((0, 12), at_once), [4.0, 2.0, 2.0, 2.0, 2.0])
expect("one goes on around another", causes((0, 10), around), [0.0, 0.0, 1.0, 9.0, 0.0])
expect("before, after", [causes(gap, host)[4] for gap in ((5, 9), (38, 45))], [4.0, 7.0])
tiny = [("copy", 0.0002504, 0.0003), ("sync", 0.0001, 0.0002703)]
expect(
    "parts of a µs",
    causes((0, 0.0004), tiny),
    [0.0, 0.0000496, 0.0001504, 0.0, 0.0002],
    rel=1e-9,
)
### BEGIN HIDDEN TESTS
busy = [("sync", 12.5, 30.0), ("copy", 5.0, 14.0), ("launch", 0.0, 6.0), ("copy", 28.0, 29.0)]
expect(
    "each instant goes to one cause",
    gap_causes((2.0, 40.0), busy),
    {"data": 0.0, "copy": 10.0, "sync": 15.0, "launch": 3.0, "other": 10.0},
)
expect(
    "what ends before the gap, or begins after it, is no cause",
    gap_causes((31, 33), busy),
    {"data": 0.0, "copy": 0.0, "sync": 0.0, "launch": 0.0, "other": 2.0},
)
expect(
    "times are not rounded",
    gap_causes((7.0001, 7.0009), [("data", 7.0004, 7.00047)]),
    {"data": 0.00007, "copy": 0.0, "sync": 0.0, "launch": 0.0, "other": 0.00073},
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gap_causes_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
keys = ("data", "copy", "sync", "launch", "other")


def causes(gap, host):
    found = gap_causes(gap, host)
    return [found[cause] for cause in keys]


twice = [("data", 9, 90), ("sync", 30, 40), ("data", 3, 6), ("data", 1, 5), ("copy", 0, 8)]
expect("two loaders at once, unsorted", causes((0, 10), twice), [6.0, 3.0, 0.0, 0.0, 1.0])
expect("the list stays", [causes((2, 4), twice)[0], twice[1]], [2.0, ("sync", 30, 40)])
expect("an idle host", causes((0, 8.5), []), [0.0, 0.0, 0.0, 0.0, 8.5])
many = [(keys[at % 4], at, at + 1) for at in range(40)]
expect("forty spans, one after another", causes((0, 40), many), [10.0, 10.0, 10.0, 10.0, 0.0])
expect_raises("a gap without length", lambda: gap_causes((5, 5), twice), ValueError)
expect_raises("a gap that ends before its start", lambda: gap_causes((5, 4), twice), ValueError)
expect_raises("other is no cause", lambda: gap_causes((0, 5), [("other", 0, 1)]), ValueError)
expect_raises("another cause elsewhere", lambda: gap_causes((0, 5), [("nap", 8, 9)]), ValueError)
### BEGIN HIDDEN TESTS
expect("a host that did nothing leaves it all to other", gap_causes((0, 8), [])["other"], 8.0)
apart = [("data", 0, 1), ("data", 2, 3), ("data", 4, 5), ("launch", 0, 5)]
expect(
    "a cause may come and go",
    gap_causes((0, 6), apart),
    {"data": 3.0, "copy": 0.0, "sync": 0.0, "launch": 2.0, "other": 1.0},
)
expect_raises("a gap ends after its start", lambda: gap_causes((9, 5), apart), ValueError)
expect_raises("a cause is one of four", lambda: gap_causes((0, 5), [("Data", 0, 1)]), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_causes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos  # beside this notebook: what only this lesson draws

for row in record.rows("trace"):
    causes, gaps = {}, gpu_busy(row["trace"]["traceEvents"])["gaps"]
    for gap, host in cuda.timeline.with_host(gaps, cuda.timeline.host_spans(row["trace"])):
        for cause, us in gap_causes(gap, host).items():
            causes[cause] = causes.get(cause, 0) + us / 1e3
    print(f"{row['name']:<12}", ", ".join(f"{cause} {ms:.2f} ms" for cause, ms in causes.items()))
demos.streams(record.rows("trace"), title=record.title("Three runs"))

# %% [markdown]
# A starved card has long gaps of data.
# Launch-bound code, not shown here, has very many short gaps of launches.
# An `.item()` is harder to see: *while* the host waits, the card works, and there is no gap. But then the queue is empty, so whatever the host does next, the card stands still: here it writes the loss down ("other") and copies the next batch.
# In the good run the host is far ahead.
# It queues three steps and then waits, and the card is hardly ever without work.

# %% [markdown]
# ## 3 · Which op is it? · 45 min
#
#     host    |----------- conv2d, 40 -----------|   |-- relu, 12 --|
#                 |-- cudnn_convolution, 30 --|            |
#                            | launch 1                    | launch 2
#     card                       |-------------- gemm, 90 --------------||-- clamp, 25 --|
#
# Ops contain ops.
# What an op does itself is its *self* time: 10 of the 40 µs of `conv2d`.
# The kernel `gemm` belongs to the innermost op that launched it, `cudnn_convolution`.
# Times alone do not show this: while `clamp` runs, no op does.
# But a launch and its kernel carry the same number, the *correlation*.
#
# **Predict.** Lesson 02 counts: more than 99.9 % of the FLOPs of ResNet-18 are in convolutions.
# What share of the card's time do they take in the good trace, forward and backward?

# %% tags=["guess"]
guess_gpu_conv_share = None  # your guess, in percent of the card's time

# %% [markdown]
# <details><summary>Hint 1: which op runs right now?</summary>
#
# Go through the host's events in the order of their start.
# When does an op stop being the innermost one?
# And on two threads?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# A stack for each thread.
# At each event first take off what has ended.
# An op takes its duration off the self time of the top, and goes on the stack; a call notes the top's name under its correlation.
# Events on the card come last.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ops_table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ops_table(trace):
    """Return torch.profiler's table, made from the trace that it exports: a list of dicts.

    trace: a dict; its "traceEvents" are dicts in any order. Those with a dur and these cats count:
        "cpu_op", "user_annotation": an op on the host's thread (pid, tid). What starts while
            another op of its thread runs is inside that op (by the start: ends are rounded);
            of two that start together the longer is the outer one.
        "cuda_runtime", "cuda_driver": a call of CUDA on that thread, no op; args.correlation.
        "kernel", "gpu_memcpy", "gpu_memset": work on the card; args.correlation is its call's.
    Returns a row for each name, sorted by name: name; cpu_us, the durations of all its ops (torch
    leaves out one inside another of its name); self_cpu_us, without the ops directly inside;
    self_gpu_us, the work, which belongs to the innermost op in which its call started. Work
    without call or op gets a row of its own name, with CPU times of 0.
    """
    ### BEGIN SOLUTION
    events = [event for event in trace["traceEvents"] if "dur" in event]
    rows, stacks, callers = {}, {}, {}

    def row(name):
        zeros = dict.fromkeys(("cpu_us", "self_cpu_us", "self_gpu_us"), 0)
        return rows.setdefault(name, {"name": name, **zeros})

    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        stack = stacks.setdefault((event["pid"], event["tid"]), [])
        while stack and stack[-1]["ts"] + stack[-1]["dur"] <= event["ts"]:
            stack.pop()
        if event["cat"] in ("cuda_runtime", "cuda_driver") and stack:
            callers[event["args"]["correlation"]] = stack[-1]["name"]
        elif event["cat"] in ("cpu_op", "user_annotation"):
            row(event["name"])["cpu_us"] += event["dur"]
            row(event["name"])["self_cpu_us"] += event["dur"]
            if stack:
                row(stack[-1]["name"])["self_cpu_us"] -= event["dur"]
            stack.append(event)
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            name = callers.get(event["args"]["correlation"], event["name"])
            row(name)["self_gpu_us"] += event["dur"]
    return [rows[name] for name in sorted(rows)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ops_table", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
host = [
    fake.op("conv2d", 0, 40),
    fake.op("cudnn_convolution", 5, 30),
    fake.launch(20, 5, 1),
    fake.op("relu", 45, 12),
    fake.launch(50, 4, 2),
]
read = fake.launch(65, 100, 3, name="cudaMemcpyAsync")  # waits 75 µs for the kernels, copies
device = [
    fake.kernel("implicit_gemm", 25, 90, 1),
    fake.kernel("clamp", 115, 25, 2),
    fake.memcpy("Memcpy DtoH", 140, 20, 3),
]


def table(*events):
    keys = "name", "cpu_us", "self_cpu_us", "self_gpu_us"
    return [[row[key] for key in keys] for row in ops_table(fake.trace(*events))]


expect(
    "a copy that no op called",
    ops_table(fake.trace(*host, read, *device))[0],
    {"name": "Memcpy DtoH", "cpu_us": 0.0, "self_cpu_us": 0.0, "self_gpu_us": 20.0},
)
expect(
    "a convolution, a ReLU, a copy",
    table(*host, read, *device),
    [
        ["Memcpy DtoH", 0.0, 0.0, 20.0],
        ["conv2d", 40.0, 10.0, 0.0],
        ["cudnn_convolution", 30.0, 30.0, 90.0],
        ["relu", 12.0, 12.0, 25.0],
    ],
)
again = [fake.op("relu", 210, 4), fake.kernel("clamp", 250, 50, 4), fake.launch(212, 1, 4)]
found = table(*reversed(device), *again, *reversed(host))
expect(
    "unsorted; one op twice; a copy whose call was not recorded",
    found,
    [
        ["Memcpy DtoH", 0.0, 0.0, 20.0],
        ["conv2d", 40.0, 10.0, 0.0],
        ["cudnn_convolution", 30.0, 30.0, 90.0],
        ["relu", 16.0, 16.0, 75.0],
    ],
)
both = [fake.op("in", 0, 5), fake.op("out", 0, 9), fake.launch(0, 1, 1), fake.launch(2, 1, 2)]
both += [fake.kernel("k", 20, 4, 2), fake.kernel("k", 30, 2, 2), fake.kernel("k", 40, 1.0625, 2)]
expect(
    "two that start together; three kernels of one call",
    table(*both),
    [["in", 5.0, 5.0, 7.0625], ["out", 9.0, 4.0, 0.0]],
)
given = fake.trace(*host)
before = len(given["traceEvents"]), [event["name"] for event in given["traceEvents"]]
ops_table(given)
after = len(given["traceEvents"]), [event["name"] for event in given["traceEvents"]]
expect("the trace stays as it is", after == before, True)
expect(
    "on a CPU; no events",
    [table(*host)[:2], table()],
    [[["conv2d", 40.0, 10.0, 0.0], ["cudnn_convolution", 30.0, 30.0, 0.0]], []],
)
### BEGIN HIDDEN TESTS
deep = [
    fake.op("linear", 100, 50),
    fake.op("addmm", 104, 40),
    fake.op("copy_", 106, 8),
    fake.op("copy_", 120, 4),
    fake.launch(121, 2, 12),
    fake.launch(130, 9, 11),
]
ran = [fake.kernel("gemm", 200, 300, 11), fake.kernel("elementwise", 180, 7, 12)]
expect(
    "a kernel belongs to the innermost op, and each op only loses what is directly inside",
    table(*ran, *deep),
    [["addmm", 40.0, 28.0, 300.0], ["copy_", 12.0, 12.0, 7.0], ["linear", 50.0, 10.0, 0.0]],
)
queue = [
    fake.op("a", 0, 10),
    fake.launch(1, 1, 1),
    fake.op("b", 10, 10),
    fake.launch(11, 1, 2),
    fake.kernel("k", 12, 40, 1),
    fake.kernel("k", 52, 4, 2),
]
expect(
    "a queued kernel belongs to who launched it, not to who runs when it runs",
    table(*queue),
    [["a", 10.0, 10.0, 40.0], ["b", 10.0, 10.0, 4.0]],
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_ops_table_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def table(*events):
    keys = "name", "cpu_us", "self_cpu_us", "self_gpu_us"
    return [[row[key] for key in keys] for row in ops_table(fake.trace(*events))]


both = [
    fake.op("forward", 0, 50),
    fake.op("backward", 9, 30, tid=2),
    fake.launch(20, 1, 8),
    fake.launch(22, 1, 9, tid=2),
    fake.kernel("k", 60, 5, 9),
    fake.kernel("k", 65, 3, 8),
]
expect("two threads", table(*both), [["backward", 30.0, 30.0, 5.0], ["forward", 50.0, 50.0, 3.0]])
marked = [
    fake.annotation("step", 0, 90),
    fake.op("add_", 10, 5),
    fake.op("copy_", 11, 2),
    fake.launch(14, 1, 1),
    fake.kernel("add", 50, 6, 1),
    fake.kernel("triton", 60, 8, 2),
    fake.launch(40, 1, 2, name="cuLaunchKernel"),
    fake.gpu_annotation("step", 50, 18),
]
expect(
    "your own marks are ops; their shadow on the device is no work",
    table(*marked),
    [["add_", 5.0, 3.0, 6.0], ["copy_", 2.0, 2.0, 0.0], ["step", 90.0, 85.0, 8.0]],
)
digits = [fake.op("relu", 4473694477302.693, 8.25), fake.op("clamp_min", 4473694477304.193, 6.751)]
expect(
    "rounded: one ends 0.001 µs after its parent",
    [row[1:3] for row in table(*digits)],
    [[6.751, 6.751], [8.25, 1.499]],
    rel=1e-6,
)
side = [
    fake.op("a", 0, 10),
    fake.op("b", 10, 10),
    fake.memset("zero", 30, 2, 5),
    fake.launch(10, 2, 5),
]
twice = [fake.op("item", 0, 9), fake.op("item", 2, 5)]
expect("an op inside one of its name counts, too", table(*twice), [["item", 14.0, 9.0, 0.0]])
other = [fake.op("a", 0, 9), fake.op("b", 1, 4) | {"pid": 77}, fake.launch(2, 1, 3) | {"pid": 77}]
found = table(*other, fake.kernel("k", 9, 2, 3))
expect("the same tid in two processes", found, [["a", 9.0, 9.0, 0.0], ["b", 4.0, 4.0, 2.0]])
expect("one after another", table(*side), [["a", 10.0, 10.0, 0.0], ["b", 10.0, 10.0, 2.0]])
### BEGIN HIDDEN TESTS
own = [
    fake.op("item", 0, 9),
    fake.op("item", 2, 5),
    fake.op("item", 3, 5, tid=4),
    fake.launch(4, 1, 6, tid=4, name="cudaMemcpyAsync"),
    fake.memcpy("DtoH", 5, 2, 6),
]
expect("an op inside its own name counts each time", table(*own), [["item", 19.0, 14.0, 2.0]])
threads = [
    fake.op("x", 0, 100),
    fake.op("y", 1, 100, tid=3),
    fake.op("z", 2, 50, tid=3),
    fake.launch(60, 2, 31, tid=3),
    fake.launch(3, 2, 30),
    fake.kernel("k", 70, 9, 31),
    fake.kernel("k", 79, 4, 30),
    fake.kernel("lost", 90, 1, 77),
]
expect(
    "each thread has a stack of its own",
    table(*threads),
    [
        ["lost", 0.0, 0.0, 1.0],
        ["x", 100.0, 100.0, 4.0],
        ["y", 100.0, 50.0, 9.0],
        ["z", 50.0, 50.0, 0.0],
    ],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
row = record.rows("trace")[-1]
table = sorted(ops_table(row["trace"]), key=lambda op: -op["self_gpu_us"])
whole = sum(op["self_gpu_us"] for op in table)
print(f"{record.title(row['name'])}, in µs\n{'':<34}{'CPU':>10}{'self CPU':>10}{'self GPU':>10}")
for op in table[:9]:
    times = "".join(f"{op[key]:>10,.0f}" for key in ("cpu_us", "self_cpu_us", "self_gpu_us"))
    print(f"{op['name']:<34}{times}{op['self_gpu_us'] / whole:>6.0%}")
share = 100 * sum(op["self_gpu_us"] for op in table if "conv" in op["name"]) / whole
guesses.compare(
    "convolutions' share of the card's time",
    guess_gpu_conv_share,
    share,
    unit="%",
    document=record.document,
)

# %% [markdown]
# Batch normalization and ReLU have next to no FLOPs and many bytes: lesson 10's memory wall; `torch.compile` fuses them.
#
# ### In torch
#
# ```python
# import torch
# from torch.profiler import profile
# model, images = torch.nn.Conv2d(3, 8, 3), torch.randn(16, 3, 32, 32)
# with profile() as recorded:
#     model(images).relu().sum().backward()
# recorded.export_chrome_trace("trace.json")
# print(recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))
# ```
#
# [torch.profiler](https://docs.pytorch.org/docs/stable/profiler.html) shows every op and kernel; `ops_table(json.load(open("trace.json")))` is your own table of the same trace.
# On a card, torch's table also has rows for the calls of CUDA.
# It hides its own cost, large for short ops, and all that is not torch.
# In a long run record few steps, with `schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)`.
# [Perfetto](https://ui.perfetto.dev) draws the files.

# %% [markdown]
# ## 4 · Where is the memory? · 30 min
#
# "CUDA out of memory" names the allocation that failed, which is rarely the one to blame.
# After `torch.cuda.memory._record_memory_history()` torch notes each allocation with its stack; [`_dump_snapshot`](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html) saves them for a page that draws them.
# Our document keeps the address, the bytes, and the layer that asked (`frame`). torch's allocator *reserves* segments from the driver, hands out blocks in multiples of 512 bytes, and keeps what is given back.
#
# **Predict.** *Checkpointing* (lesson 04) drops most activations in the forward pass, and computes them again when the backward pass needs them.
# By how many percent does it lower the peak of ResNet-18, with a checkpoint for each of its eight blocks?

# %% tags=["guess"]
guess_gpu_checkpoint = None  # your guess: by how many percent is the peak lower?


# %% nbgrader={"grade": false, "grade_id": "memory_peak", "locked": false, "schema_version": 3, "solution": true, "task": false}
def memory_peak(history):
    """Return from a history of allocations the largest amount allocated, and whose it was.

    history: dicts in the order of time. {"action": "alloc", "addr", "size", "frame"} is a block at
        the address addr for size bytes, 1 or more; it takes a multiple of 512, for 513 bytes 1,024.
        {"action": "free", "addr"} gives it back, and the address may be used again. A free of an
        address that holds no block (it is older than the recording) changes nothing.
    Returns a dict, in bytes: peak; by_frame, what each frame had when the peak was first reached,
    without those that had nothing; left, what is allocated at the end.
    Raises ValueError if nothing is allocated in it, or a size is below 1.
    """
    ### BEGIN SOLUTION
    live, peak, at_peak = {}, 0, {}
    for event in history:
        if event["action"] == "free":
            live.pop(event["addr"], None)
            continue
        if event["size"] < 1:
            raise ValueError(f"a block has at least 1 byte, not {event['size']}")
        live[event["addr"]] = event["frame"], math.ceil(event["size"] / 512) * 512
        now = sum(size for _, size in live.values())
        if now > peak:
            peak, at_peak = now, dict(live)
    if not peak:
        raise ValueError("the history allocates nothing")
    by_frame = {}
    for frame, size in at_peak.values():
        by_frame[frame] = by_frame.get(frame, 0) + size
    return {"peak": peak, "by_frame": by_frame, "left": sum(size for _, size in live.values())}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_memory_peak", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
step = [
    fake.alloc(1, 102_400, "conv1"),
    fake.alloc(2, 51_200, "relu"),  # 100 KB, 50 KB
    fake.alloc(3, 204_800, "conv2"),
    fake.free(2),
    fake.alloc(4, 122_880, "adam"),
    fake.free(3),
    fake.alloc(5, 40_960, "relu"),
]
expect(
    "one step",
    memory_peak(step),
    {
        "peak": 430_080,
        "left": 266_240,
        "by_frame": {"conv1": 102_400, "conv2": 204_800, "adam": 122_880},
    },
)
odd = [fake.alloc(9, 1, "bias"), fake.alloc(8, 513, "bias"), fake.alloc(7, 512, "loss")]
expect(
    "multiples of 512",
    memory_peak(odd),
    {"peak": 2048, "by_frame": {"bias": 1536, "loss": 512}, "left": 2048},
)
reused = [fake.alloc(1, 1024, "a"), fake.free(1), fake.alloc(1, 512, "b"), fake.alloc(2, 512, "c")]
again = [memory_peak(odd)["left"], [event["size"] for event in odd]]
expect("the history stays as it is", again, [2048, [1, 513, 512]])
pages = [fake.alloc(n, 1500, "page") for n in range(40)] + [fake.free(n) for n in range(39)]
found = memory_peak(pages)
expect("no sum is rounded again", [found["peak"], found["left"]], [61_440, 1536])
expect("one address twice; the peak twice", memory_peak(reused)["by_frame"], {"a": 1024})
older = [fake.free(77), fake.alloc(1, 900, "a"), fake.alloc(2, 9, "a"), fake.free(77), fake.free(2)]
expect("older blocks are freed", memory_peak(older)["left"], 1024)
expect_raises("nothing is allocated", lambda: memory_peak([fake.free(3)]), ValueError)
older[1] = fake.alloc(1, 0, "a")
expect_raises("a block without bytes", lambda: memory_peak(older), ValueError)
older[1] = fake.alloc(1, -600, "a")
expect_raises("a negative size", lambda: memory_peak(older), ValueError)
expect_raises("no history", lambda: memory_peak([]), ValueError)
### BEGIN HIDDEN TESTS
turns = [
    fake.alloc(1, 5000, "x"),
    fake.alloc(2, 700, "y"),
    fake.free(1),
    fake.alloc(1, 300, "z"),
    fake.alloc(3, 5000, "x"),
    fake.free(2),
    fake.free(3),
    fake.alloc(2, 1, "x"),
]
expect(
    "blocks count as the allocator rounds them, by the frame that holds them at the peak",
    memory_peak(turns),
    {"peak": 6656, "by_frame": {"x": 5120, "y": 1024, "z": 512}, "left": 1024},
)
same = [fake.alloc(n, 512 * n, "layer") for n in (1, 2, 3)] + [fake.free(2), fake.free(2)]
expect(
    "a block can be given back once",
    memory_peak(same),
    {"peak": 3072, "by_frame": {"layer": 3072}, "left": 2048},
)
less = [fake.alloc(1, -5, "a"), fake.alloc(2, 5, "a")]
expect_raises("no block has a negative size", lambda: memory_peak(less), ValueError)
gone = [fake.free(1), fake.free(2)]
expect_raises("a history without a block has no peak", lambda: memory_peak(gone), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

peaks = {row["name"]: memory_peak(row["history"]) for row in record.rows("memory")}
for name, found in peaks.items():
    most = sorted(found["by_frame"].items(), key=lambda pair: -pair[1])[:4]
    owners = ", ".join(f"{frame} {size / 2**20:.0f}" for frame, size in most)
    print(f"{name:<12}{found['peak'] / 2**20:>7,.0f} MB at the peak; in it {owners}")
lower = 100 * (1 - peaks["checkpoint"]["peak"] / peaks["plain"]["peak"])
guesses.compare(
    "how much lower checkpoints make the peak",
    guess_gpu_checkpoint,
    lower,
    unit="%",
    document=record.document,
)
demos.allocations(record.rows("memory"), title=record.title("What is allocated"))

# %% [markdown]
# Without checkpoints, the peak is where the forward pass ends, and activations make it.
# So a smaller type or batch helps.
#
# **Optional.** An allocation can fail although enough is free, in pieces that are each too small.
# `torch.cuda.memory._snapshot()["segments"]` lists the pieces.


# %% nbgrader={"grade": false, "grade_id": "largest_hole", "locked": false, "schema_version": 3, "solution": true, "task": false}
def largest_hole(segments):
    """Return how much of the reserved memory is free, and in how large a piece. (Optional.)

    segments: what was reserved, dicts with total_size and blocks, a list of dicts with size and
    state. Blocks whose state is "inactive" are free. Raises ValueError for no segments.
    Returns a dict, in bytes: reserved, the sum of total_size, which is that of all blocks;
    free; largest, the largest free block, or 0 if there is none.
    """
    ### BEGIN SOLUTION
    if not segments:
        raise ValueError("there must be segments")
    blocks = [block for segment in segments for block in segment["blocks"]]
    free = [block["size"] for block in blocks if block["state"] == "inactive"]
    reserved = sum(segment["total_size"] for segment in segments)
    return {"reserved": reserved, "free": sum(free), "largest": max(free, default=0)}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_largest_hole", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
holes = [
    fake.segment((8, "inactive"), (4, "active_allocated"), (8, "inactive")),
    fake.segment((6, "active_allocated"), (8, "inactive"), (6, "active_pending_free")),
]
expect("24 free, in pieces of 8", largest_hole(holes), {"reserved": 40, "free": 24, "largest": 8})
full = [fake.segment((30, "active_allocated"))]
expect("nothing free", largest_hole(full), {"reserved": 30, "free": 0, "largest": 0})
sizes = [fake.segment((5, "inactive"), (9, "inactive")), fake.segment((7, "inactive"))]
expect("pieces of three sizes", largest_hole(sizes), {"reserved": 21, "free": 21, "largest": 9})
expect_raises("no segments", lambda: largest_hole([]), ValueError)
### BEGIN HIDDEN TESTS
pending = [fake.segment((4, "active_pending_free"), (2, "inactive"))]
expect(
    "a block whose free is pending is not free yet",
    largest_hole(pending),
    {"reserved": 6, "free": 2, "largest": 2},
)
expect(
    "the largest free block is in one segment",
    largest_hole(
        [*full, fake.segment((10, "inactive"), (40, "active_allocated"), (20, "inactive"))]
    ),
    {"reserved": 100, "free": 30, "largest": 20},
)
### END HIDDEN TESTS

# %% [markdown]
# **Take a break here.** What follows needs only lessons 02 and 08, and the four causes of section 2.
#
# ## 5 · The lab · 60 min
#
# 1. **As written**, three faults included. Profile it: sections 1 to 4.
# 2. **Data loading.** `DataLoader(num_workers=4)` decodes images in other processes. `pin_memory=True` puts batches where the card can fetch them by itself, so that `.to(device, non_blocking=True)` returns at once.
# 3. **AMP, channels-last.** AMP is mixed precision: `torch.autocast` runs products and convolutions in float16 on the tensor cores; weights stay float32. Small gradients would become 0, so `torch.amp.GradScaler` multiplies the loss and divides the gradients. *channels-last* stores images as N × H × W × C, as tensor cores read them.
# 4. **Checkpointing**, for a batch twice as large.
# 5. **torch.compile, one shape.** It fuses ops into fewer kernels. Mode `reduce-overhead` replays a CUDA graph instead of launching one by one; `max-autotune` tries several kernels for each op. By default torch compiles the second shape for all sizes; with `dynamic=False`, as in `train.py`, each new shape needs *recompilation* (`TORCH_LOGS=recompiles` says why), and after eight torch gives up. So the changing shapes go here.
# 6. **All that helped**, without `.item()` and the transfer, and with a fused optimizer: one kernel for many weights, and the GradScaler no longer waits for the card in each step.
#
# Each part is compared with an earlier one in pairs, and stays if its interval lies above 1 and the loss falls as before.
#
# **Predict.** How much of the logarithm of the total speed-up, from "as written" to "all that helped", do AMP and channels-last give together?

# %% tags=["guess"]
guess_gpu_amp_share = None  # your guess, in percent

# %% nbgrader={"grade": false, "grade_id": "device_lab", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
from measures import MEASURES

for kind in ("step", "pairwise", "loss", "compile", "loader", "power"):
    record.measure(kind, MEASURES[kind])

# %% nbgrader={"grade": false, "grade_id": "demo_parts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

print(record.title("The six parts"))
before = {None: {}}
for row in record.rows("step"):
    rate, peak, loss = row["batch"] / row["ms"], row["peak_bytes"] / 2**20, row["losses"][-1]
    print(f"{row['name']:<18}{1e3 * rate:6.0f} images/s{peak:7,.0f} MB, last loss {loss:.3f}")
    before[row["name"]] = row["switches"]
    if row["pairs"]:
        print(f"{'':<18}changes:", demos.changed(before[row["against"]], row["switches"]))
        gain = speedup_interval(*zip(*row["pairs"], strict=True))
        span = f"{gain['speedup']:.3f} times ({gain['low']:.3f} to {gain['high']:.3f})"
        print(f"{'':<18}{span} as fast as {row['against']!r}")

# %% [markdown]
# Checkpoints cost another forward pass, and a batch of 128 already kept the card busy: out they go.
# The other parts make a series.
# If its steps are 2×, 2× and 1.1×, what did each give?
# The milliseconds saved favour whichever came first.
# Factors multiply, so their *logarithms* add: 0.69 + 0.69 + 0.10 = 1.48, and each 2× gets 47 %.


# %% nbgrader={"grade": false, "grade_id": "step_report", "locked": false, "schema_version": 3, "solution": true, "task": false}
def step_report(rows):
    """Return the report of a series of improvements, a list of dicts, one for each row.

    rows: dicts in the order of the improvements, at least two: name; batch, the images of a
        training step; ms, the time of a step.
    The dicts' keys: name; images_per_s; step, how many times as many images a second as the row
    before; total, as the first row; share, ln(step) / ln(the last total). In the first row step
    and total are 1 and share is 0.
    Raises ValueError for fewer than two rows, for a batch or a time that is not above 0, and where
    the last row is as fast as the first, so that there is nothing to share.
    """
    ### BEGIN SOLUTION
    if len(rows) < 2 or min(min(row["batch"], row["ms"]) for row in rows) <= 0:
        raise ValueError("there must be two rows, with batches and times above 0")
    rates = [row["batch"] / row["ms"] * 1e3 for row in rows]
    if rates[0] == rates[-1]:
        raise ValueError("the last row is as fast as the first")
    report, way = [], math.log(rates[-1] / rates[0])
    for row, rate, before in zip(rows, rates, [rates[0], *rates], strict=False):
        gains = {"step": rate / before, "total": rate / rates[0]}
        share = math.log(rate / before) / way
        report.append({"name": row["name"], "images_per_s": rate, **gains, "share": share})
    return report
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_step_report", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
times = {"as written": 400, "loader": 290, "AMP": 170, "channels-last": 150, "compile": 136}
lab = [{"name": name, "batch": 64, "ms": ms} for name, ms in times.items()]
found = step_report(lab)
expect(
    "the first row",
    found[0],
    {"name": "as written", "images_per_s": 160.0, "step": 1.0, "total": 1.0, "share": 0.0},
)
expect("the third", [found[2]["name"], found[2]["images_per_s"]], ["AMP", 64e3 / 170])
expect("steps", [row["step"] for row in found], [1.0, 400 / 290, 290 / 170, 170 / 150, 150 / 136])
expect("over the first", [row["total"] for row in found[2:]], [40 / 17, 40 / 15, 400 / 136])
expect(
    "shares of the way",
    [row["share"] for row in found],
    [0.0, 0.298091, 0.495066, 0.116020, 0.090822],
    rel=1e-5,
    mistakes={"of the ms saved": [0.0, 110 / 264, 120 / 264, 20 / 264, 14 / 264]},
)
larger = [{"name": "32", "batch": 32, "ms": 40.0}, {"name": "128", "batch": 128, "ms": 130.0}]
expect("a larger batch", step_report(larger)[1]["step"], 16 / 13, mistakes={"by the ms": 4 / 13})
lab[3]["ms"] = 180.0
slower = [row["share"] for row in step_report(lab)]
expect("one that made it slower", slower, [0.0, 0.298091, 0.495066, -0.052983, 0.259825], rel=1e-5)
down = [{"name": "a", "batch": 8, "ms": 10}, {"name": "b", "batch": 8, "ms": 20}]
found = [[row["total"], row["share"]] for row in step_report(down)]
expect("the last slower than the first", found, [[1.0, 0.0], [0.5, 1.0]])
same = [{"name": "a", "batch": 8, "ms": 10}, {"name": "b", "batch": 24, "ms": 10}]
expect("as many ms, more images", step_report(same)[1]["step"], 3.0)
again = [step_report(same)[1]["total"], same[1]]
expect("the rows stay as they are", again, [3.0, {"name": "b", "batch": 24, "ms": 10}])
expect_raises("one row", lambda: step_report(larger[:1]), ValueError)
expect_raises("no way", lambda: step_report([larger[0], lab[1], larger[0]]), ValueError)
lab[1]["ms"], larger[0]["batch"] = 0, 0
expect_raises("no time", lambda: step_report(lab), ValueError)
expect_raises("no images", lambda: step_report(larger), ValueError)
larger[0]["batch"] = -32
expect_raises("images below 0", lambda: step_report(larger), ValueError)
### BEGIN HIDDEN TESTS
mixed = [
    {"name": "a", "batch": 16, "ms": 80},
    {"name": "b", "batch": 48, "ms": 160},
    {"name": "c", "batch": 48, "ms": 30},
]
found = step_report(mixed)
expect(
    "a step is in images a second, whatever the batch",
    [row["step"] for row in found],
    [1.0, 1.5, 16 / 3],
)
expect(
    "shares of the way sum to 1",
    [row["share"] for row in found],
    [0.0, math.log(1.5) / math.log(8), math.log(16 / 3) / math.log(8)],
)
down = step_report(mixed[::-1])
expect(
    "a series may end slower than it began",
    [down[2]["total"], down[1]["share"]],
    [0.125, math.log(16 / 3) / math.log(8)],
)
expect_raises(
    "a time is above 0", lambda: step_report([mixed[0], {**mixed[1], "ms": -3}]), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_report", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

report = step_report(demos.kept(record.rows("step")))  # without what did not help
for row in report:
    gains = f"step {row['step']:.3f}, total {row['total']:.3f}, {row['share']:.0%} of the way"
    print(f"{row['name']:<18}{row['images_per_s']:6.0f} images/s, {gains}")
half = demos.first_with(record.rows("step"), "amp")
share = 100 * next(row["share"] for row in report if row["name"] == half)
guesses.compare(
    "share of AMP and channels-last", guess_gpu_amp_share, share, unit="%", document=record.document
)
demos.waterfall(report, title=record.title("The lab"))

# %% nbgrader={"grade": false, "grade_id": "demo_losses", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

demos.losses(record.rows("loss"), title=record.title("200 steps"))

# %% [markdown]
# Without scaling, small gradients become 0 in float16, and learning stalls.
# With it the curve is float32's, up to rounding: "as before".
#
# A table of steps hides that order matters: with a starved card, mixed precision gives nothing until the loader is fixed.
# So measure two changes in all four combinations: 200 ms with neither, 120 and 150 with one, 70 with both.
# Alone they give 1.67 and 1.33, so 2.22 together, if they were independent.
# It is 2.86.


# %% nbgrader={"grade": false, "grade_id": "interaction", "locked": false, "schema_version": 3, "solution": true, "task": false}
def interaction(base, a, b, both):
    """Return the speed-up of two changes together, over the product of what each gives alone.

    base: ms of a step without either. a, b: with one of them. both: with both. All above 0, at one
    batch. Above 1, they help each other; below 1, one is in the other's way.
    Raises ValueError for a time that is not above 0.
    """
    ### BEGIN SOLUTION
    if min(base, a, b, both) <= 0:
        raise ValueError("times must be above 0")
    return (base / both) / ((base / a) * (base / b))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_interaction", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect(
    "better together",
    interaction(200, 120, 150, 70),
    9 / 7,
    mistakes={"upside down": 7 / 9, "milliseconds are added": 1.0},
)
expect("one in the other's way", interaction(100.0, 50.0, 40.0, 40.0), 0.5)
expect("far below 1", interaction(0.0007, 0.0003, 0.0011, 0.0009), 0.00033 / 0.00063)
expect("by name", interaction(both=1, b=2, a=3, base=5), 1.2)
expect("independent, one makes it slower", interaction(60, 75, 40, 50), 1.0)
expect_raises("no time", lambda: interaction(200, 0, 150, 70), ValueError)
expect_raises("a negative time", lambda: interaction(200, 120, 150, -70), ValueError)
expect_raises("no time without either", lambda: interaction(0, 2, 3, 4), ValueError)
expect_raises("no time with the second", lambda: interaction(9, 2, 0, 4), ValueError)
### BEGIN HIDDEN TESTS
expect("together they may give less than the product", interaction(90, 60, 45, 36), 5 / 6)
expect("together they may lose what each one gains", interaction(100, 80, 50, 100), 0.4)
expect_raises("two negative times are no times", lambda: interaction(-9, -3, 3, 1), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_pairwise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

ms = {row["name"]: row["ms"] for row in record.rows("pairwise")}
print("times as fast:", ", ".join(f"{name} {ms['neither'] / ms[name]:.2f}" for name in ms))
four = interaction(ms["neither"], ms["mixed precision"], ms["channels-last"], ms["both"])
print(f"interaction {four:.2f} (above 1: together more than the product of both)")

way = math.log(step_report(demos.kept(record.rows("step")))[-1]["total"])
for name in ("mixed precision", "channels-last"):
    print(f"{name} alone: {math.log(ms['neither'] / ms[name]) / way:.0%} of the lab's way")

# %% nbgrader={"grade": false, "grade_id": "demo_compile", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

for row in record.rows("compile"):
    print(f"{row['name']:<24}{row['compile_s']:5.0f} s to compile, {row['ms']:.0f} ms a step")
demos.break_even(record.rows("compile"), title=record.title("Since the start of the run"))

# %% nbgrader={"grade": false, "grade_id": "demo_loader", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

demos.loader(record.rows("loader"), title=record.title("The loader alone"))

# %% [markdown]
# If the loader alone delivers fewer images than the card computes, nothing else helps.
# And workers help only as far as processors and disk do.
# In the plot before, compiling has paid where a line crosses 0: after some 2,000 steps, with `max-autotune` 6,000, with many shapes 4,000, and where each is compiled never.

# %% [markdown]
# ## 6 · How near to the peak? · 20 min
#
# Three times as fast: is that fast?
# *Model FLOPs utilization*, MFU ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311)), is the share of the card's peak that training uses.
# It counts the FLOPs that training *needs*; *hardware FLOPs utilization* (*HFU*) counts what is computed.
# A step of ResNet-18 with 256 images needs 2.73 · 10¹² FLOPs; in 400 ms on a card of 65 TFLOP/s, that is 2.73 / 26 = 10.5 %.
# With checkpoints everywhere it computes 3.65 · 10¹²: an HFU of 14.1 %, for the same images.
#
# **Predict.** What is the MFU of "all that helped", against the float16 peak?

# %% tags=["guess"]
guess_gpu_mfu = None  # your guess, in percent of the peak


# %% nbgrader={"grade": false, "grade_id": "training_mfu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_mfu(model, shape, step_ms, peak_flops, recompute=False):
    """Return which share of a card's peak a training step uses, as a dict of two floats.

    model: any that training_flops takes; shape: of a whole batch, all of whose samples count
        (per_sample=False). step_ms: a step's time. A share above 1 comes back as it is.
    peak_flops: the card's, in FLOP/s. recompute: whether the step runs the forward pass twice.
    The dict's keys: mfu, by the FLOPs that training needs; hfu, by those that the step computes.
    Raises ValueError for a time or a peak that is not above 0.
    """
    ### BEGIN SOLUTION
    if min(step_ms, peak_flops) <= 0:
        raise ValueError("the time of a step and the peak must be above 0")
    needed = training_flops(model, shape, per_sample=False)
    computed = needed + (count_flops(model, shape, per_sample=False) if recompute else 0)
    most = peak_flops * step_ms / 1e3
    return {"mfu": needed / most, "hfu": computed / most}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_mfu", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
with meta():
    resnet = models.resnet18()
images = (256, 3, 224, 224)
found = training_mfu(resnet, images, 400, 65e12)
expect(
    "ResNet-18, 256 images in 400 ms",
    found["mfu"],
    2_725_993_512_960 / 26e12,
    mistakes={"one image": 10_648_412_160 / 26e12, "3 × forward": 0.1071698714},
)
expect("nothing is computed twice", found["hfu"], 2_725_993_512_960 / 26e12)
expect(
    "the forward pass runs again",
    training_mfu(resnet, images, 400, 65e12, recompute=True),
    {"mfu": 2_725_993_512_960 / 26e12, "hfu": 3_654_799_065_088 / 26e12},
)
lenet = training_mfu(models.LeNet5(), (8, 1, 32, 32), 0.5, 1e12)
expect("LeNet-5, 8 images", lenet, {"mfu": 0.0362227, "hfu": 0.0362227}, rel=1e-5)
wrong = training_mfu(models.LeNet5(), (8, 1, 32, 32), 0.0005, 1e12)
expect("a share above 1 comes back as it is", wrong["mfu"], 36.2227, rel=1e-5)
expect_raises("no time", lambda: training_mfu(resnet, images, 0, 65e12), ValueError)
expect_raises("no peak", lambda: training_mfu(resnet, images, 400, 0.0), ValueError)
expect_raises("a time below 0", lambda: training_mfu(resnet, images, -400, 65e12), ValueError)
expect_raises("a peak below 0", lambda: training_mfu(resnet, images, 400, -65e12), ValueError)
expect_raises("both below 0", lambda: training_mfu(resnet, images, -1, -65e12), ValueError)
### BEGIN HIDDEN TESTS
with meta():
    gpt = models.gpt2("small")
found = training_mfu(gpt, (2, 96), 20.0, 9.89e14, True)
expect(
    "a Transformer's tokens and batch count as they are",
    found,
    {"mfu": 0.00729764, "hfu": 0.00973019},
    rel=1e-5,
)
few = training_mfu(models.LeNet5(), (3, 1, 32, 32), 7.5, 3e10)
expect(
    "three images of LeNet-5, on a slow card",
    few,
    {"mfu": 0.030185592, "hfu": 0.030185592},
    rel=1e-5,
)
expect_raises("a time is above 0", lambda: training_mfu(gpt, (2, 96), -0.5, 1e12), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_mfu", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
with meta():
    resnet = models.resnet18()
peak = cuda.sheets.data_sheet(record.document["card"]["name"])["float16"]
for row in record.rows("step"):
    shape = row["batch"], 3, 224, 224
    share = training_mfu(resnet, shape, row["ms"], peak, row["switches"]["checkpoint"])
    print(f"{row['name']:<18}MFU {share['mfu']:6.1%}, HFU {share['hfu']:6.1%}")
guesses.compare(
    "MFU of all that helped", guess_gpu_mfu, 100 * share["mfu"], unit="%", document=record.document
)
for row in record.rows("power"):
    rate = 2 * row["n"] ** 3 / row["ms"] / 1e9
    print(f"product of {row['name']:<8}{rate:5.1f} TFLOP/s, {row['watts']} W, {row['sm_mhz']} MHz")

# %% [markdown]
# (`train.py` recomputes blocks alone: its HFU is 1.7 % less.)
# The last lines show one product on different numbers.
# Zeros switch few transistors, so the card keeps its clock: never benchmark on zeros.
# [On an A100](https://www.thonking.ai/p/strangely-matrix-multiplications), in the comments of the first Python listing: 295 TFLOP/s on zeros, 257 on random numbers.

# %% [markdown]
# ## 7 · The ring · 45 min
#
# Several cards compute different images with the same weights.
# Then they must sum their gradients: an *all-reduce*.
# If one *rank* (a process with a card) gathers everything, its link is the bottleneck.
# In a *ring* ([Patarasuk and Yuan 2009](https://doi.org/10.1016/j.jpdc.2008.09.002)) each rank cuts its array into n parts and sends one at a time to its neighbour:
#
# ![Four ranks in a circle in three steps of reduce-scatter. In each step every rank passes one part on, and the part grows by the neighbour's numbers, until each rank holds one part that is summed over all four.](ring.png)
#
# *Reduce-scatter*: the neighbour adds its own numbers and passes the part on; after n − 1 steps each rank has one part summed over all ranks.
# *All-gather*: these sums go round once.
# Each rank sends 2(n − 1) parts, each 1/n of the array: of 3,360 bytes on 8 ranks, 5,880.
# One that gathers everything receives 23,520.
#
# <details><summary>Hint 1: which part leaves rank r in step t?</summary>
#
# Of four ranks, rank 1 first sends part 1, then what rank 0 has just sent.
# Which one was that?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# A list of parts for each rank.
# In each step note what everyone sends, and only then deliver, or a part travels twice.
# A part's number is a difference modulo n.
# In the second half, parts replace instead of being added.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "ring_allreduce", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ring_allreduce(arrays):
    """Return the sum of all ranks' arrays on every rank, by the ring algorithm, as a dict.

    arrays: one-dimensional numpy arrays, one for each of n ranks, all of one length and dtype; they
        stay as they are. Each is cut into n parts; the first length % n parts are one longer.
    In each step every rank sends one part to the next rank, the last one to rank 0.
    Reduce-scatter: rank r first sends its part r, and from then on the part that it has just
    received, with its own numbers added. After n - 1 steps each rank has one whole sum.
    All-gather: it sends that sum, and from then on the sum that it has just received.
    Returns a dict: results, an array for each rank, no two of the same memory; sent, the bytes that
    each rank sent (ints); steps, how many there were.
    Raises ValueError for no arrays, and where lengths or dtypes differ.
    """
    ### BEGIN SOLUTION
    if not arrays or len({(array.shape, array.dtype) for array in arrays}) > 1:
        raise ValueError("there must be arrays, all of one length and dtype")
    n = len(arrays)
    held = [np.array_split(array.copy(), n) for array in arrays]
    sent = [0] * n
    for step in range(2 * (n - 1)):
        moved = []
        for rank in range(n):
            part = (rank - step) % n if step < n - 1 else (rank + 1 - (step - n + 1)) % n
            moved.append((part, held[rank][part].copy()))
            sent[rank] += moved[-1][1].nbytes
        for rank, (part, data) in enumerate(moved):
            there = held[(rank + 1) % n]
            there[part] = there[part] + data if step < n - 1 else data
    return {"results": [np.concatenate(each) for each in held], "sent": sent, "steps": 2 * (n - 1)}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ring_allreduce", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
ranks = [np.arange(10, dtype=np.float32) * 10**rank for rank in range(4)]
found = ring_allreduce(ranks)
expect("the keys", sorted(found), ["results", "sent", "steps"])
expect("each rank has the sum", found["results"], [np.arange(10) * 1111.0] * 4)
expect("the arrays stay as they are", ranks[2], np.arange(10) * 100.0)
large = ring_allreduce([np.full(4, x, np.float32) for x in (1e8, 1, -1e8, 1)])["results"]
expect("float32 forgets a 1 beside 10⁸: the order of the sums", large, [[1.0, 0.0, 1.0, 0.0]] * 4)
few = ring_allreduce([np.array([rank], np.int8) for rank in range(3)])
expect("more ranks than numbers", few["results"], [[3], [3], [3]])
kinds = [str(result.dtype) for result in [*found["results"], *few["results"]]]
expect("the dtype stays", kinds, ["float32"] * 4 + ["int8"] * 3)
found["results"][0][:] = -1
expect("each rank has an array of its own", found["results"][1], np.arange(10) * 1111.0)
parts = ring_allreduce([np.array([0.0001234, 7.0]), np.array([0.0000011, 0.5])])["results"]
expect("not rounded", parts, [[0.0001245, 7.5]] * 2, rel=1e-9)
### BEGIN HIDDEN TESTS
five = [np.arange(13, dtype=np.float64) * (rank + 1) - rank for rank in range(5)]
found = ring_allreduce(five)
expect(
    "all numbers of all ranks are summed once", found["results"], [np.arange(13) * 15.0 - 10.0] * 5
)
order = ring_allreduce([np.full(3, x, np.float32) for x in (1e8, -1e8, 1)])["results"]
expect(
    "a part is summed in the order of the ring, from the rank of its number on",
    order,
    [[1.0, 0.0, 0.0]] * 3,
)
expect("what a rank got stays its own", five[4][:3], [-4.0, 1.0, 6.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_ring_allreduce_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
found = ring_allreduce([np.arange(10, dtype=np.float32)] * 4)
expect(
    "4 ranks of 10 floats",
    [found["sent"], found["steps"]],
    [[60, 64, 60, 56], 6],
    mistakes={"whole arrays are sent": [[240, 240, 240, 240], 6]},
)
eight = ring_allreduce([np.full(840, 2.0**rank, np.float32) for rank in range(8)])
expect("8 ranks of 840 floats", [eight["sent"], eight["steps"]], [[5880] * 8, 14])
one = ring_allreduce([np.array([5.0, 7.0])])
expect("1 rank", one, {"results": [[5.0, 7.0]], "sent": [0], "steps": 0})
few = ring_allreduce([np.array([rank], np.int8) for rank in range(3)])
expect("3 ranks of a byte", [few["sent"], few["steps"]], [[2, 1, 1], 4])
expect_raises("no ranks", lambda: ring_allreduce([]), ValueError)
expect_raises("other lengths", lambda: ring_allreduce([np.ones(3), np.ones(1)]), ValueError)
expect_raises("other types", lambda: ring_allreduce([np.ones(3), np.ones(3, int)]), ValueError)
### BEGIN HIDDEN TESTS
five = ring_allreduce([np.full(13, rank, np.float64) for rank in range(5)])
expect(
    "parts may differ by one number",
    [five["sent"], five["steps"]],
    [[160, 168, 176, 168, 160], 8],
)
six = ring_allreduce([np.full(9, rank, np.int16) for rank in range(6)])
expect("6 ranks of 18 bytes", [six["sent"], six["steps"]], [[28, 30, 32, 32, 30, 28], 10])
expect_raises(
    "dtypes must not differ",
    lambda: ring_allreduce([np.ones(2), np.ones(2, np.float32)]),
    ValueError,
)
### END HIDDEN TESTS

# %% [markdown]
# Each step has a *latency*, whatever it carries, and each byte takes 1/bandwidth.
# A *tree* takes few steps with whole arrays (NCCL's work in pieces, and move twice the bytes), a ring many with small parts.
# (Links are sold in powers of ten: from here on, a MB is 10⁶ bytes and a GB 10⁹.)
#
# **Predict.** The gradients of ResNet-18, 46.8 MB, take 3.4 ms on a ring of 8 ranks (10 µs a step, 25 GB/s).
# How long do they take on 64 ranks?

# %% tags=["guess"]
guess_gpu_ring_64 = None  # your guess, in ms


# %% nbgrader={"grade": false, "grade_id": "allreduce_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def allreduce_ms(size, ranks, latency_us, gb_per_s, algorithm):
    """Return how long an all-reduce takes by the model of latency and bandwidth, in ms.

    size: bytes on each rank, at least 0. ranks: n, at least 1; one rank takes 0 ms. latency_us: of
    each step, at least 0. gb_per_s: 10**9 bytes a second that a rank sends, above 0.
    algorithm: "ring", 2(n - 1) steps, each with 1/n of the bytes; or "tree", ⌈log2 n⌉ steps to one
    rank and as many back, each with all bytes. A step takes its latency plus bytes / bandwidth.
    Raises ValueError for another algorithm and for a number out of range.
    """
    ### BEGIN SOLUTION
    if size < 0 or ranks < 1 or latency_us < 0 or gb_per_s <= 0:
        raise ValueError("bytes, ranks, latency and bandwidth must not be below their least")
    steps = {"ring": 2 * (ranks - 1), "tree": 2 * math.ceil(math.log2(ranks))}
    if algorithm not in steps:
        raise ValueError(f"the algorithms are ring and tree, not {algorithm!r}")
    part = size / ranks if algorithm == "ring" else size
    return steps[algorithm] * (latency_us / 1e3 + part / (gb_per_s * 1e6))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_allreduce_ms", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
resnet18, link = 46_758_048, (10, 25)  # bytes of its gradients; µs, GB/s
expect(
    "8 ranks, ring",
    allreduce_ms(resnet18, 8, *link, "ring"),
    3.41306336,
    mistakes={
        "whole arrays in each step, or bits for bytes": 26.32450688,
        "only half of the way": 1.70653168,
    },
)
expect("8 ranks, tree", allreduce_ms(resnet18, 8, *link, "tree"), 11.28193152)
five = [allreduce_ms(8000, 5, 20, 10, how) for how in ("ring", "tree")]
expect("5 ranks: 8 steps, and 6", five, [0.16128, 0.1248])
named = {"gb_per_s": 4, "algorithm": "ring", "latency_us": 0.5, "ranks": 2, "size": 100}
expect("by name", allreduce_ms(**named), 0.001025)
some = (1000, 64, 10, 25), (0, 6, 10, 9), (6e6, 3, 0, 2), (9, 1, 10, 25)
found = [[allreduce_ms(*each, how) for how in ("ring", "tree")] for each in some]
expect(
    "1 KB on 64 ranks; no bytes; no latency; 1 rank",
    found,
    [[1.26007875, 0.12048], [0.1, 0.06], [4.0, 12.0], [0.0, 0.0]],
)
expect_raises("another algorithm", lambda: allreduce_ms(9, 8, *link, "star"), ValueError)
expect_raises("a capital letter", lambda: allreduce_ms(9, 8, *link, "Tree"), ValueError)
expect_raises("one rank, no algorithm", lambda: allreduce_ms(9, 1, *link, None), ValueError)
expect_raises("no ranks", lambda: allreduce_ms(9, 0, *link, "ring"), ValueError)
expect_raises("no bandwidth", lambda: allreduce_ms(9, 8, 10, 0, "ring"), ValueError)
expect_raises("negative bytes", lambda: allreduce_ms(-9, 8, *link, "tree"), ValueError)
expect_raises("ranks below 0", lambda: allreduce_ms(9, -2, *link, "ring"), ValueError)
expect_raises("negative bandwidth", lambda: allreduce_ms(9, 8, 10, -1, "ring"), ValueError)
expect_raises("negative latency", lambda: allreduce_ms(9, 8, -1, 25, "tree"), ValueError)
### BEGIN HIDDEN TESTS
expect("a ring of 5 has 8 steps of a fifth each", allreduce_ms(10**7, 5, 20, 10, "ring"), 1.76)
expect("a tree of 5 has 3 steps each way", allreduce_ms(10**7, 5, 20, 10, "tree"), 6.12)
expect("a tree of 17 has 5 steps each way", allreduce_ms(0, 17, 100, 1, "tree"), 1.0)
expect_raises("capitals are no algorithm", lambda: allreduce_ms(9, 8, *link, "Ring"), ValueError)
expect_raises("1 rank needs an algorithm, too", lambda: allreduce_ms(9, 1, *link, ""), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_ranks", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
for ranks in (2, 8, 64, 512):
    for size in (46_758_048, 1000):
        ring, tree = (allreduce_ms(size, ranks, 10, 25, how) for how in ("ring", "tree"))
        print(f"{ranks:>4} ranks, {size:>10,} bytes: ring {ring:5.2f} ms, tree {tree:5.2f} ms")
answer = allreduce_ms(46_758_048, 64, 10, 25, "ring")
guesses.compare("all-reduce on 64 ranks", guess_gpu_ring_64, answer, unit="ms")

# %% nbgrader={"grade": false, "grade_id": "demo_two_processes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos
import two_processes

rows = two_processes.measure([2**power for power in range(10, 24, 2)])  # on this machine
times = [float(np.median(row["ms"])) for row in rows]
fixed, each = fit_cost([row["bytes"] for row in rows], times, (0, 1))  # lesson 07
each = max(each, 1e-12)  # where noise is larger than what the bytes cost
link = max(fixed, 0) * 500, 1e-6 / each  # two steps; half of the array in each
print(f"{rows[0]['backend']}: {link[0]:.0f} µs of latency a step, {link[1]:.2f} GB/s")
model = allreduce_ms(rows[-1]["bytes"], 2, *link, "ring")
print(f"the largest array: {model:.2f} ms by the model, {times[-1]:.2f} ms measured")
demos.bus_bandwidth(rows, title="An all-reduce between two processes here")

# %% [markdown]
# *Bus bandwidth* is what each link carried, 2(n − 1)/n · bytes / time ([nccl-tests](https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md)).
# The link decides more than the algorithm.
# Published rates, not measured here, each way:
#
# | link | GB/s | 46.8 MB, ring of 8, no latency |
# |---|---|---|
# | 10 Gbit Ethernet | 1.25 | 65 ms |
# | PCIe 3.0 × 16 | 15.75 | 5.2 ms |
# | NVLink 4 (H100) | 450 | 0.18 ms |
#
# A server with two processors has two *NUMA nodes*, each with its own memory and PCIe slots.
# `nvidia-smi topo -m` says for each pair of cards whether data crosses between nodes (`SYS`), stays in one (`NODE`, `PHB`), or passes only PCIe switches (`PIX`, `PXB`) or NVLink (`NV4`).
# A loader on the wrong node sends each batch across; `numactl --cpunodebind=0 --membind=0 python train.py` keeps it at home.

# %% [markdown]
# ## 8 · Behind the backward pass · 45 min
#
# The last layer's gradients are ready first.
# Their all-reduce can run while the backward pass goes on; only what lasts longer is *exposed*.
# But one all-reduce for each tensor pays latency each time.
# So gradients are gathered in *buckets*, of 25 · 1024² bytes in [`DistributedDataParallel`](https://docs.pytorch.org/docs/stable/notes/ddp.html) (`bucket_cap_mb`; the first has 1024², so that it starts early).
# Ten layers of 2 ms and 10 MB on 8 ranks, all at once after the pass: 20 + 7.14 ms.
# In five buckets of 20 MB, each sent when it is full, only the last one's 1.54 ms are exposed.
#
# <details><summary>Hint 1: what are the two clocks?</summary>When is the next gradient there? When is the link free again? Which of them decides when a bucket leaves?</details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# A loop over the layers in reverse moves the first clock and fills the bucket.
# A bucket that leaves starts at the later of both clocks and moves the second one.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "overlapped", "locked": false, "schema_version": 3, "solution": true, "task": false}
def overlapped(layers, bucket, reduce_ms):
    """Return which part of the all-reduces the backward pass hides, as a dict.

    layers: (backward_ms, size) tuples in forward order; size is the bytes of the layer's gradients,
        0 if it has none. The backward pass takes the last layer first.
    bucket: bytes, above 0. A layer's gradients go into a bucket when its backward has ended. When
        it holds at least this much it is sent, and a new one begins. What is left when the pass
        has ended is sent, unless it is empty.
    reduce_ms: a function; reduce_ms(size) is the ms of an all-reduce of size bytes. One runs at a
        time: it starts at once, or when the one before has ended. The pass does not wait for it.
    Returns a dict: step_ms, from the start of the pass until it and the last all-reduce have ended;
    exposed_ms, the part after the pass; buckets, dicts of bytes, start_ms and end_ms in order.
    Raises ValueError for no layers, for a bucket that is not above 0, for a negative time or size.
    """
    ### BEGIN SOLUTION
    if not layers or bucket <= 0 or min(min(layer) for layer in layers) < 0:
        raise ValueError("there must be layers and a bucket, with times and bytes of at least 0")
    now = free = waiting = 0
    buckets = []
    for left, (ms, size) in zip(range(len(layers) - 1, -1, -1), reversed(layers), strict=True):
        now, waiting = now + ms, waiting + size
        if waiting >= bucket or waiting and not left:
            start = max(now, free)
            free = start + reduce_ms(waiting)
            buckets.append({"bytes": waiting, "start_ms": start, "end_ms": free})
            waiting = 0
    step = max(now, free)
    return {"step_ms": step, "exposed_ms": step - now, "buckets": buckets}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_overlapped", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def cost(size):
    return 0.14 + size * 7e-8  # 0.14 ms, and 0.07 ms for each 10⁶ bytes


ten = [(2.0, 10**7)] * 10
found = overlapped(ten, 10**9, cost)
expect(
    "one bucket for all",
    found,
    {
        "step_ms": 27.14,
        "exposed_ms": 7.14,
        "buckets": [{"bytes": 10**8, "start_ms": 20.0, "end_ms": 27.14}],
    },
)
found = [overlapped(ten, size * 10**6, cost)["exposed_ms"] for size in (100, 50, 25, 20, 10)]
expect(
    "buckets of 100, 50, 25, 20, 10 MB",
    found,
    [7.14, 3.64, 1.08, 1.54, 0.84],
    mistakes={
        "a bucket is never more than full": [7.14, 3.64, 1.54, 1.54, 0.84],
        "all after the backward pass": [7.14, 7.28, 7.56, 7.7, 8.4],
    },
)
sizes = [each["bytes"] for each in overlapped(ten, 25 * 10**6, cost)["buckets"]]
expect("what 25 MB buckets hold", sizes, [30_000_000, 30_000_000, 30_000_000, 10_000_000])
slow = overlapped(ten, 10**7, lambda size: 3)
expect("one at a time", [slow["step_ms"], slow["buckets"][1]["start_ms"]], [32.0, 5.0])
again = [overlapped(ten, 10**9, cost)["step_ms"], len(ten)]
expect("the layers stay", again, [27.14, 10])
expect_raises("no layers", lambda: overlapped([], 10, cost), ValueError)
expect_raises("no bucket", lambda: overlapped(ten, 0, cost), ValueError)
expect_raises("a bucket below 0", lambda: overlapped(ten, -10, cost), ValueError)
expect_raises("a negative time", lambda: overlapped([(-1, 5), (2, 5)], 10, cost), ValueError)
expect_raises("a negative size", lambda: overlapped([(1, 5), (2, -5)], 10, cost), ValueError)
### BEGIN HIDDEN TESTS
thin = [(0.1, 10**5)] * 200
sizes = 10**5, 10**6, 5 * 10**6
found = [overlapped(thin, size, lambda size: 0.7 + size * 7e-8)["step_ms"] for size in sizes]
expect("many small all-reduces pay their latency", found, [141.5, 20.77, 21.05])
found = overlapped(ten[:7], 3 * 10**7, lambda size: size / 10**7)
expect(
    "what is left is sent when the pass has ended",
    found["buckets"],
    [
        {"bytes": 3 * 10**7, "start_ms": 6.0, "end_ms": 9.0},
        {"bytes": 3 * 10**7, "start_ms": 12.0, "end_ms": 15.0},
        {"bytes": 10**7, "start_ms": 15.0, "end_ms": 16.0},
    ],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_overlapped_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
uneven = [(4, 1), (1, 6), (5, 0), (3, 2), (2, 7)]  # the backward pass begins with (2, 7)
found = overlapped(uneven, 8, lambda size: size)
expect(
    "from the last layer on",
    found,
    {
        "step_ms": 22.0,
        "exposed_ms": 7.0,
        "buckets": [
            {"bytes": 9, "start_ms": 5.0, "end_ms": 14.0},
            {"bytes": 7, "start_ms": 15.0, "end_ms": 22.0},
        ],
    },
)
first = overlapped([(9, 0), (1, 5)], 5, lambda size: size)
expect(
    "all of it hidden",
    first,
    {"step_ms": 10.0, "exposed_ms": 0.0, "buckets": [{"bytes": 5, "start_ms": 1.0, "end_ms": 6.0}]},
)
left = overlapped([(9, 0), (1, 5)], 6, lambda size: size)
expect(
    "too little for a bucket",
    left,
    {
        "step_ms": 15.0,
        "exposed_ms": 5.0,
        "buckets": [{"bytes": 5, "start_ms": 10.0, "end_ms": 15.0}],
    },
)
none = overlapped([(0.5, 3), (0, 4)], 4, lambda size: size / 1000)
expect("a layer of 0 ms", [each["start_ms"] for each in none["buckets"]], [0.0, 0.5])
expect("not rounded", [none["step_ms"], none["exposed_ms"]], [0.503, 0.003], rel=1e-9)
alike = overlapped([(1, 3), (1, 3)], 3, lambda size: 1)
expect("free just when the next is full", alike["buckets"][1]["start_ms"], 2.0)
expect(
    "no gradients",
    overlapped([(3, 0)], 6, lambda size: 9 + size),
    {"step_ms": 3.0, "exposed_ms": 0.0, "buckets": []},
)
### BEGIN HIDDEN TESTS
found = overlapped([(5, 3), (0, 4), (1, 9), (2, 2)], 4, lambda size: 2 * size)
expect(
    "a layer that alone fills a bucket is not divided",
    found,
    {
        "step_ms": 39.0,
        "exposed_ms": 31.0,
        "buckets": [
            {"bytes": 11, "start_ms": 3.0, "end_ms": 25.0},
            {"bytes": 4, "start_ms": 25.0, "end_ms": 33.0},
            {"bytes": 3, "start_ms": 33.0, "end_ms": 39.0},
        ],
    },
)
quick = overlapped([(2.5, 4), (1.5, 4), (1.0, 4)], 4, lambda size: 0.25)
expect(
    "an all-reduce that finds the link free starts at once",
    [each["start_ms"] for each in quick["buckets"]],
    [1.0, 2.5, 5.0],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_overlap", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
import demos

with meta():
    sizes = [4 * math.prod(tensor.shape) for tensor in models.resnet18().parameters()]
layers = [(90 / len(sizes), size) for size in sizes]  # a backward pass of 90 ms


def link(size):
    return allreduce_ms(size, 8, 500, 1.25, "ring")  # 10 Gbit Ethernet, 0.5 ms a step


for mb in (0.001, 1, 5, 25, 100):
    found = overlapped(layers, mb * 1e6, link)
    print(f"buckets of {mb} MB: {len(found['buckets'])}, with {found['exposed_ms']:.1f} ms exposed")
demos.overlap(overlapped(layers, 5e6, link), layers, title="62 tensors in buckets of 5 MB")

# %% [markdown]
# If gradients are accumulated over several batches, only the last one needs the sum: `with model.no_sync():` around the others saves their all-reduces.
#
# **Optional.** Speed-ups of 1.9, 3.4 and 5.4 on 2, 4 and 8 cards: is a part serial (Amdahl), or does overhead grow?


# %% nbgrader={"grade": false, "grade_id": "serial_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def serial_share(speedup, workers):
    """Return the serial share that would explain a speed-up, by Karp and Flatt. (Optional.)

    By Amdahl, 1/speedup is share + (1 - share) / workers. If it grows with the workers, it is
    overhead. speedup: above 0; workers: at least 2. Raises ValueError for a number out of range.
    """
    ### BEGIN SOLUTION
    if workers < 2 or speedup <= 0:
        raise ValueError("there must be 2 workers, and a speed-up above 0")
    return (1 / speedup - 1 / workers) / (1 - 1 / workers)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_serial_share", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
found = [serial_share(*each) for each in ((1.9, 2), (3.4, 4), (5.4, 8), (3.5, 4), (6.0, 8))]
expect("overhead, which grows; a serial part", found, [1 / 19, 1 / 17, 13 / 189, 1 / 21, 1 / 21])
expect_raises("one worker", lambda: serial_share(1.0, 1), ValueError)
expect_raises("a speed-up below 0", lambda: serial_share(-1, 4), ValueError)
expect("slower than one", [serial_share(0.8, 5), serial_share(1, 3)], [1.3125, 1.0])
expect("more than all", serial_share(5, 4), -1 / 15)
expect_raises("no speed-up", lambda: serial_share(0, 4), ValueError)
### BEGIN HIDDEN TESTS
expect("as many times as fast as there are workers leaves nothing", serial_share(16, 16), 0.0)
expect("no gain means that all is serial", serial_share(1.0, 5), 1.0)
### END HIDDEN TESTS

# %% [markdown]
# **Optional.** Every rank holds the same training state.
# [ZeRO](https://arxiv.org/abs/1910.02054) divides it in three stages; torch's `fully_shard` (FSDP2) offers 2 and 3.


# %% nbgrader={"grade": false, "grade_id": "sharded_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sharded_bytes(parameters, ranks, stage):
    """Return the bytes of training state on each rank, for Adam in mixed precision. (Optional.)

    A parameter has a weight and a gradient of 2 bytes each, and 12 bytes of optimizer state (the
    weight in float32, two moments). Stage 0: every rank holds all; 1: the optimizer's state is
    divided among the ranks; 2: the gradients too; 3: the weights too. Returns a float.
    Raises ValueError for parameters or ranks below 1 and for another stage.
    """
    ### BEGIN SOLUTION
    if min(parameters, ranks) < 1 or stage not in (0, 1, 2, 3):
        raise ValueError("parameters and ranks must be at least 1, the stage 0, 1, 2 or 3")
    divided = (0, 12, 14, 16)[stage]
    return float(parameters * (16 - divided + divided / ranks))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_sharded_bytes", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
found = [sharded_bytes(7.5e9, 64, stage) / 1e9 for stage in range(4)]
expect("7.5 · 10⁹ parameters on 64 ranks, in GB", found, [120.0, 31.40625, 16.640625, 1.875])
expect_raises("no ranks", lambda: sharded_bytes(1000, 0, 1), ValueError)
expect_raises("no parameters", lambda: sharded_bytes(0, 4, 1), ValueError)
expect_raises("a stage below 0", lambda: sharded_bytes(1000, 4, -1), ValueError)
expect("one rank holds all", [sharded_bytes(10, 1, stage) for stage in (0, 3)], [160.0, 160.0])
expect("a float", isinstance(sharded_bytes(16, 2, 0), float), True)
expect_raises("another stage", lambda: sharded_bytes(1000, 4, 4), ValueError)
### BEGIN HIDDEN TESTS
expect(
    "each stage divides one thing more",
    [sharded_bytes(8, 4, stage) for stage in (1, 2, 3)],
    [56.0, 44.0, 32.0],
)
expect(
    "ranks need not divide the parameters",
    [sharded_bytes(7, 3, stage) for stage in (0, 1, 2, 3)],
    [112.0, 56.0, 140 / 3, 112 / 3],
)
expect_raises("parameters are at least 1", lambda: sharded_bytes(-7, 4, 1), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "device_save", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.save()

# %% [markdown]
# ## 9 · Which tool for what? · 10 min
#
# | tool | shows, for example | does not see |
# |---|---|---|
# | `nvidia-smi` | `58C 69W / 70W 4310MiB / 15360MiB 98%` | which kernels, how much of the card they use |
# | torch.profiler | † `aten::mkldnn_convolution`, self CPU 13.2 ms of 40.0 | what is not torch; what a kernel waits for |
# | TensorBoard, `SummaryWriter` | losses and images/s of many runs as curves | what nobody logged |
# | Nsight Systems, `nsys profile` | one timeline of all processes, CUDA, NCCL, and your NVTX ranges | inside a kernel |
# | Nsight Compute, `ncu -k regex:gemm` | of one kernel: compute 41 %, memory 88 % of peak | overlap: it runs a kernel many times, alone |
# | memory snapshot | at the peak, `conv1` holds 392 MB | what CUDA and NCCL hold themselves |
# | `py-spy dump --pid 4242` | † `MaxPool2d.forward`, called by `train (train.py)` | the card: `.item()` looks busy |
# | `perf stat -p 4242` | † 0.28 processors used, 757 context switches a second: it waits | Python's lines, the card |
#
# († Recorded: `train.py` with a worker, on a processor, torch 2.13. The others are made up.)
# Go from coarse to fine: images/s, gaps, ops, one kernel.
#
# ## Reflect · 45 min
#
# **Essay** (10 points, read by a person; 200 to 300 words in the next cell; add cells to calculate).
# Write the lab's report from the document that your notebook used, and say which one that was.
#
# 1. From where to where, in images/s? One change as a ratio with its interval; each change's share of the way.
# 2. What was the loader's fault, in idle time, and what another change's cause: which op, which bytes?
# 3. What did not help, and why? Do two changes depend on each other?
# 4. How near to the peak is the run now? What would a second card bring, on a link of your choice?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_gpu_training", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** One point for each statement that is there.
# *3 points:* (1) the document is named: constructed, or card and date; (2) images/s before and after; (3) at least one change as a ratio with its interval.
# *3 points:* (4) the loader's cause, with the idle time by cause; (5) another change's cause, with a measured op or bytes; (6) shares of the way, in logarithms.
# *2 points:* (7) checkpointing did not help, and why; (8) an interaction calculated.
# *2 points:* (9) the MFU, with its peak; (10) a second card by allreduce_ms or overlapped, on a named link.
# A figure of the constructed document that is called a measurement does not count.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A gap on the card has its cause on the host: data, copy, sync, or launches.
# - Steps multiply: report ratios with intervals, and shares in logarithms. Order and pairs matter.
# - MFU counts what training needs; recomputing raises only HFU.
# - In a ring each rank sends nearly twice the array, however many there are. Buckets weigh latency against overlap.
#
# | what you see | the wall | what to do |
# |---|---|---|
# | long gaps, data | loader | workers, decoded files, pinned memory |
# | gaps after each `.item()`, copies | waiting | log every 100 steps, `non_blocking=True` |
# | many short gaps, launches | overhead | larger batch, `torch.compile`, CUDA graphs |
# | no gaps, elementwise ops on top | memory | mixed precision, fusion, channels-last |
# | no gaps, products on top | compute | tensor cores, fewer FLOPs, another card |
# | recompilations | compiler | `dynamic` left alone, `mark_dynamic`, one shape |
# | exposed all-reduce | link | buckets, `no_sync`, a faster link, larger batch |
#
# **Next.** This was the last lesson.
# `proflab assemble` makes one file of all that you wrote: your own profiler.
