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
# ![Three steps of ResNet-50 on a V100: host, kernels, copies, and what an idle card waited for. With the loader in the loop: data. With four workers a step takes 127 ms, another, whose host launches slowly, 163.](timelines.png) <!-- with gap_causes -->
#
# **You need no graphics card, and no torch.** All that is graded works on *documents*, files of measurements.
# Without a card you read those beside this notebook: four that others measured on V100s, two of processors, and one of section 4's times that is *constructed*: a script made its numbers from assumptions. <!-- with section 4 -->
# Without a card you read those beside this notebook: what others measured on V100s. <!-- without section 4 -->
# With torch and a card, the same cells measure yours; Colab lends a T4 (*Runtime*).
#
# Lists of quick wins promise: mixed precision 1.5–2×, loader workers up to 1.5×, `torch.compile` 1.1–1.5×, pinned memory 1.1×.
# Multiplied, that is up to 5 times.
# On your run they may give 1.05, because the card waited for something else.
# You write functions that read this off traces, for a lab. <!-- with section 4 -->
# You write functions that read this off traces. <!-- with gpu_busy, without section 4 -->
#
# **You will be able to**
#
# - say for how long a card idles, and what the host did meanwhile;
# - find the op that time belongs to, and the layer that memory belongs to;
# - report improvements so that each gets its due, and predict what a second card brings.
#
# **You need** `training_flops` (lesson 02), pairs and intervals (lesson 08), and that a launch only queues a kernel (lesson 10). <!-- with section 4 -->
# **You need** one fact about GPUs: a launch only queues a kernel, and the program goes on. <!-- without section 4 -->
#
# Arguments stay as they are, and a tuple does for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import numpy as np
import trace_doubles as fake  # beside this notebook, as the next
import train_document
from built import count_flops, speedup_interval, speedup_steps, training_flops

from proflab import meta, models
from proflab.lesson import cuda, expect, expect_between, expect_table, guesses

# %% nbgrader={"grade": false, "grade_id": "record", "locked": true, "schema_version": 3, "solution": false, "task": false}
MEASURED = ("v100_loader.json", "v100_workers.json", "v100_pair.json", "v100_step.json")
record = cuda.Record(*MEASURED, "constructed_train.json", form=train_document)
anywhere = cuda.Record("cpu_train.json", form=train_document, processor=True)
processor_lab = cuda.Record("cpu_lab.json", form=train_document, own=False)  # a small network's

from built import conv2d_flops, fit_cost  # for what is measured below

# %% nbgrader={"grade": false, "grade_id": "demo_document", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints where the rows of each kind are from.
for each in (record, anywhere):
    for document in each.documents:
        for kind, rows in document["rows"].items():
            print(each.title(f"{len(rows):>2} {kind}", *rows))

# %% [markdown]
# `train.py`, beside this notebook, trains ResNet-18, with switches (`workers`, `pin`, `amp`, `channels_last`, `compile`, `checkpoint`, `fused_optimizer`) and three planted faults: each step reads the loss with `.item()`, sends the class weights of the loss to the card, and crops or pads its images to another size.
# The next cell profiles it on a card; with torch alone, a small network on the processor; else it prints a line for each kind.

# %% nbgrader={"grade": false, "grade_id": "device_traces", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# Measures traces and allocations on a card; prints a line a kind where there is none.
from measures import MEASURES  # beside this notebook, as train.py; imports torch when needed

for kind in ("trace", "memory"):
    record.measure(kind, MEASURES[kind])
anywhere.measure("profile", MEASURES["profile"])  # with torch and no card, on the processor

# %% [markdown]
# ## 1 · Is the card at work?
#
# `nvidia-smi` says 98 % when hardly a moment passes without *some* kernel.
# A trace says which one ran when: [torch.profiler](https://docs.pytorch.org/docs/stable/profiler.html) writes it as a list of events with a start `ts` and a duration `dur`, in µs:
#
#     {"cat": "kernel", "name": "clamp", "ts": 115, "dur": 25, "args": {"stream": 7, "correlation": 2}}
#
# A *stream* is a queue on the card.
# Kernels of one stream run one after another; kernels of two streams can overlap.
# So durations must not be summed: with kernels from 0 to 10 and, on another stream, from 5 to 12, the card is busy for 12 µs and not for 17.
# Time without a kernel is a *gap*.
# A copy is no kernel.
#
# **Predict.** In the first trace, ResNet-50 on a V100, the program loads its images itself, between two steps.
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

    >>> gpu_busy([fake.kernel("k", 3, 4)], window=(0, 10))["gaps"]
    [(0, 3), (7, 10)]
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
expect("idle: the rest", found["idle"], 23.0, mistakes={"the durations are summed": 18.0})
short = [fake.kernel("b", 3, 2), fake.kernel("d", 14, 1, stream=20), fake.kernel("a", 1, 9)]
touching = [fake.kernel("a", 0, 4), fake.kernel("b", 4, 6), fake.kernel("c", 11, 2)]
parts = [fake.kernel("a", 0.001, 2.203), fake.kernel("b", 3.0074512, 0.5)]
expect_table(
    lambda events, window: gpu_busy(events, window)["gaps"],
    ("gaps of two streams", (work, (0, 40)), [(12.0, 20.0), (25.0, 40.0)]),
    ("unsorted, one inside another", (short, (0, 15)), [(0.0, 1.0), (10.0, 14.0)]),
    ("no gap between two that touch", (touching, (0, 13)), [(10.0, 11.0)]),
    ("parts of a µs", (parts, (0.0, 4.0)), [(0.0, 0.001), (2.204, 3.0074512), (3.5074512, 4.0)]),
)
expect("the same events, another window", gpu_busy(work, (0, 30))["idle"], 13.0)
expect("the events stay as they are", [event["ts"] for event in short], [3, 14, 1])
### BEGIN HIDDEN TESTS
# vary: 5 in 3..9, 9 in 5..15
many = [
    fake.kernel("k", at, us, stream=at % 3)
    for at, us in ((50, 5), (7, 9), (0, 12), (30, 8), (36, 2), (33, 3))
]
expect(
    "kernels of all streams, in any order, are one union",
    gpu_busy(many, (0, 60)),
    {"busy": 29.0, "idle": 31.0, "gaps": [(16.0, 30.0), (38.0, 50.0), (55.0, 60.0)]},
)
# vary: 7e-4 in 4.67e-4..0.00105
fine = [fake.kernel("a", 10.0015, 0.0007), fake.kernel("b", 10.0029, 0.0007)]
expect(
    "a gap may be shorter than a µs",
    gpu_busy(fine, (10.0, 10.01)),
    {"busy": 0.0014, "idle": 0.0086, "gaps": [(10, 10.0015), (10.0022, 10.0029), (10.0036, 10.01)]},
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_busy_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
work = [fake.kernel("a", 0, 10), fake.kernel("b", 5, 7, stream=13), fake.kernel("c", 20, 5)]
expect_table(
    lambda window: gpu_busy(work, window)["gaps"],
    ("the window cuts two kernels", ((8, 11),), []),
    ("it begins before them", ((-5, 15),), [(-5.0, 0.0), (12.0, 15.0)]),
    ("it lies in a gap", ((13, 16),), [(13.0, 16.0)]),
)
expect("only what lies in the window is busy", gpu_busy(work, (8, 11))["busy"], 3.0)
others = [
    fake.op("conv2d", 2, 30),
    fake.launch(4, 1, 5),
    fake.kernel("HtoD", 6, 4, 5, cat="gpu_memcpy"),
    fake.kernel("step", 7, 20, cat="gpu_user_annotation"),
    fake.kernel("a", 10, 8),
]
found = gpu_busy(fake.trace(*others)["traceEvents"])
expect(
    "the whole trace, from the first event to the last", found["gaps"], [(2.0, 10.0), (18.0, 32.0)]
)
expect("only kernels are work", found["busy"], 8.0)
expect("no kernel at all", gpu_busy(others[:2])["gaps"], [(2.0, 32.0)])
often = [fake.kernel("k", 3 * n, 2) for n in range(40)]
expect("forty kernels", gpu_busy(often)["busy"], 80.0)
### BEGIN HIDDEN TESTS
# vary: 10 in 6..15
many = [fake.kernel("k", at, us, stream=at) for at, us in ((50, 5), (7, 9), (0, 12), (30, 10))]
expect(
    "a kernel counts as far as it lies in the window",
    gpu_busy(many, (34, 52)),
    {"busy": 8.0, "idle": 10.0, "gaps": [(40.0, 50.0)]},
)
# vary: 2.25 in 1.1..4.9, 7.0 in 3.0..9.0
late = [
    fake.kernel("a", 12.5, 2.25),
    fake.op("relu", 9.5, 1.0),
    fake.kernel("HtoD", 13.0, 7.0, cat="gpu_memcpy"),
]
expect(
    "without a window the trace is as long as all of its events",
    gpu_busy(late),
    {"busy": 2.25, "idle": 8.25, "gaps": [(9.5, 12.5), (14.75, 20.0)]},
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_busy_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
work = [fake.kernel("a", 0, 10), fake.kernel("b", 20, 5)]
expect_table(
    gpu_busy,
    (
        "a window without length; whatever else is refused",
        [(work, (4, 4)), (work, (9, 4)), ([],)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("the shortest window has a length", gpu_busy(work, (4, 5))["busy"], 1.0)
expect("no kernel is no mistake", gpu_busy([], (3, 7))["gaps"], [(3.0, 7.0)])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_idle", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints for how long the card is busy in each trace, and compares your guess.
idle = []
for row in record.rows("trace"):
    found = gpu_busy(row["trace"]["traceEvents"])
    busy, whole = found["busy"] / 1e3, (found["busy"] + found["idle"]) / 1e3
    idle.append(100 * (1 - busy / whole))
    said = f"{len(found['gaps'])} gaps" if busy else "no kernel in this trace"
    print(f"{row['name']:<19}{busy:6.1f} of {whole:5.1f} ms busy, {said}")
what, source = "time without a kernel", record.source(record.rows("trace")[0])
guesses.compare(what, guess_gpu_idle, idle[0], unit="%", document=source)

# %% [markdown]
# ## 2 · What did the host do meanwhile?
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
# The rest, such as Python between two ops, is "other".
# (Section 8 adds a fifth cause.) <!-- with section 8 -->
#
# **Predict.** In the first trace loading takes 44 of a step's 149 ms; in the second, four workers load meanwhile.
# How many times as fast is its median step?

# %% tags=["guess"]
guess_gpu_workers = None  # your guess: how many times as fast?


# %% nbgrader={"grade": false, "grade_id": "gap_causes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gap_causes(gap, host, causes=("data", "copy", "sync", "launch")):
    """Return the µs of a gap by what the host did meanwhile, as a dict.

    gap: (start, end). host: (cause, start, end) tuples in any order, each cause one of causes. They
        may overlap, even within one cause, and reach beyond the gap.
    causes: names. The dict has these keys and "other". Where causes overlap, time goes to the first
        of them in this order; where there is none, to "other". So all sum to the gap.
    Raises ValueError for a gap that does not end after its start, and for another cause, wherever
    it lies.

    >>> gap_causes((12, 20), [("data", 10, 18), ("launch", 17, 20)])["data"]
    6
    """
    ### BEGIN SOLUTION
    start, end = gap
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
tiny = [("copy", 0.0002504, 0.0003), ("sync", 0.0001, 0.0002703)]
many = [(keys[at % 4], at, at + 1) for at in range(40)]
expect("the keys", sorted(gap_causes((0, 1), [])), ["copy", "data", "launch", "other", "sync"])
expect_table(
    lambda gap, host: [gap_causes(gap, host)[cause] for cause in keys],
    ("a wait, data, then nothing", ((25, 40), host), [8.0, 0.0, 5.0, 0.0, 2.0]),
    ("data, then a launch", ((12, 20), host), [6.0, 0.0, 0.0, 2.0, 0.0]),
    ("before what the host did", ((5, 9), host), [0.0, 0.0, 0.0, 0.0, 4.0]),
    ("after it", ((38, 45), host), [0.0, 0.0, 0.0, 0.0, 7.0]),
    ("an idle host", ((0, 8.5), []), [0.0, 0.0, 0.0, 0.0, 8.5]),
    ("forty spans, one after another", ((0, 40), many), [10.0, 10.0, 10.0, 10.0, 0.0]),
    ("parts of a µs", ((0, 0.0004), tiny), [0.0, 0.0000496, 0.0001504, 0.0, 0.0002]),
    rel=1e-9,
)
### BEGIN HIDDEN TESTS
busy = [("sync", 12.5, 30.0), ("copy", 5.0, 14.0), ("launch", 0.0, 6.0), ("copy", 28.0, 29.0)]
# vary: 2.0 in 1.33..3.0
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
# vary: 7.00047 in 7.00042..7.0008 by 0.00001
expect(
    "times are not rounded",
    gap_causes((7.0001, 7.0009), [("data", 7.0004, 7.00047)]),
    {"data": 0.00007, "copy": 0.0, "sync": 0.0, "launch": 0.0, "other": 0.00073},
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gap_causes_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
keys = ("data", "copy", "sync", "launch", "other")
at_once = [("launch", 0, 10), ("sync", 2, 10), ("copy", 4, 10), ("data", 6, 10)]
twice = [("data", 9, 90), ("sync", 30, 40), ("data", 3, 6), ("data", 1, 5), ("copy", 0, 8)]
around = [("launch", -50, 50), ("sync", 3, 4)]
expect_table(
    lambda gap, host: [gap_causes(gap, host)[cause] for cause in keys],
    (
        "all four at once, by their order",
        ((0, 12), at_once),
        [4.0, 2.0, 2.0, 2.0, 2.0],
        {"each cause gets all of its time": [4.0, 6.0, 8.0, 10.0, 2.0]},
    ),
    ("two loaders at once, unsorted", ((0, 10), twice), [6.0, 3.0, 0.0, 0.0, 1.0]),
    ("one goes on around another", ((0, 10), around), [0.0, 0.0, 1.0, 9.0, 0.0]),
    ("the same list, another gap", ((2, 4), twice), [2.0, 0.0, 0.0, 0.0, 0.0]),
)
sums = [*at_once, ("communication", 1, 7)]
expect(
    "a fifth cause, in an order of its own",
    gap_causes((0, 12), sums, ("sync", "communication", "launch", "copy", "data")),
    {"sync": 8.0, "communication": 1.0, "launch": 1.0, "copy": 0.0, "data": 0.0, "other": 2.0},
)
gap_causes((2, 4), twice)
expect("the list stays as it is", twice[:2], [("data", 9, 90), ("sync", 30, 40)])
### BEGIN HIDDEN TESTS
# vary: 8 in 2..16
expect("a host that did nothing leaves it all to other", gap_causes((0, 8), [])["other"], 8.0)
apart = [("data", 0, 1), ("data", 2, 3), ("data", 4, 5), ("launch", 0, 5)]
# vary: 6 in 6..20
expect(
    "a cause may come and go",
    gap_causes((0, 6), apart),
    {"data": 3.0, "copy": 0.0, "sync": 0.0, "launch": 2.0, "other": 1.0},
)
# vary: 9 in 6..9
nested = [("sync", 0, 9), ("sync", 2, 4), ("copy", 3, 5)]
expect("a cause inside itself counts once", gap_causes((1, 10), nested)["sync"], 6.0)
# vary: 6 in 6..20
found = gap_causes((0, 6), [("send", 1, 5), ("load", 0, 3)], causes=["load", "send"])
expect("causes have any names", found, {"load": 3.0, "send": 2.0, "other": 1.0})
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gap_causes_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
busy_host = [("data", 9, 90), ("sync", 30, 40)]
expect_table(
    gap_causes,
    (
        "a gap without length; other is no cause; whatever else is refused",
        [((5, 5), busy_host), ((0, 5), [("other", 0, 1)]), ((0, 5), [("nap", 8, 9)])],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("a short gap has a cause", gap_causes((9, 9.5), busy_host)["data"], 0.5)
expect("a known cause may lie elsewhere", gap_causes((0, 5), busy_host)["other"], 5.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_causes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints each step's gaps by cause, compares your guess, and draws the first two traces.
import demos  # beside this notebook: what only this lesson draws

for row in record.rows("trace"):
    spans = cuda.timeline.host_spans(row["trace"])
    for name, *window in cuda.timeline.step_spans(row["trace"]):
        gaps = gpu_busy(row["trace"]["traceEvents"], window)["gaps"]
        causes = (gap_causes(*each) for each in cuda.timeline.with_host(gaps, spans))
        step = f"step {name.split('#')[1]}, {(window[1] - window[0]) / 1e3:.0f} ms"
        print(f"{row['name']:<19}{step:<17}{demos.summed(causes)}")
two = record.rows("trace")[:2]
faster = demos.median_step(two[0]) / demos.median_step(two[1])
what, source = "four workers: times as fast", record.source(two[1])
guesses.compare(what, guess_gpu_workers, faster, document=source)
why = [demos.waits(row["trace"], gpu_busy, gap_causes) for row in two]
demos.streams(two, why, title=record.title("Two runs", *two))

# %% [markdown]
# While the host loads for 44 ms, the card still has 12 ms of work: only 32 ms are lost.
# Without them a step is 1.28 times as fast.
# Two steps are slow for other reasons.
# In step 5 one `cudaMemcpyAsync` takes 40 ms: a copy from pageable memory waits for what was queued before, probably before the recording.
# In step 9 all host work takes longer; the trace does not tell why.
#
# An `.item()` is harder to see: *while* the host waits, the card works; then the queue is empty, and the card stands still.

# %% [markdown]
# ## 3 · Which op is it?
#
#     host    |----------- conv2d, 40 -----------|   |-- relu, 12 --|
#                 |-- cudnn_convolution, 30 --|            |
#                            | launch 1                    | launch 2
#     card                       |-------------- gemm, 90 --------------||-- clamp, 25 --|
#
# Ops contain ops.
# An op's time without the ops inside it is its *self* time: 10 of the 40 µs of `conv2d`.
# The kernel `gemm` belongs to the innermost op that launched it, `cudnn_convolution`.
# A launch and its kernel carry the same number, the *correlation*.
#
# **Predict.** Lesson 02 counts: more than 99.9 % of the FLOPs of ResNet-50 are in convolutions.
# What share of the card's time do they take in a real step, forward and backward?

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
    """Return torch.profiler's table, from the trace that it exports: a list of dicts.

    trace: a dict with "traceEvents", dicts in any order. Those with a dur and these cats count:
        "cpu_op", "user_annotation": an op on the host's thread (pid, tid), inside any that runs
            there when it starts; of two that start together, the shorter is inside.
        "cuda_runtime", "cuda_driver": a call on that thread, no op; args.correlation.
        "kernel", "gpu_memcpy", "gpu_memset": work on the card; args.correlation is its call's.
    Returns a row for each name, sorted: name; cpu_us, its ops' durations, but, as in torch, not of
    one alone directly inside an op of its name; self_cpu_us, without ops directly inside;
    self_gpu_us, work of calls directly inside. Work without call or op has its own row, with CPU
    times 0.

    >>> ops_table(fake.trace(fake.op("linear", 0, 9), fake.op("addmm", 2, 5)))[1]["self_cpu_us"]
    4
    """
    ### BEGIN SOLUTION
    events = [event for event in trace["traceEvents"] if "dur" in event]
    rows, stacks, callers, inside = {}, {}, {}, {}

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
                inside.setdefault(id(stack[-1]), [stack[-1]]).append(event)
            stack.append(event)
    for around, *ops in inside.values():
        if [op["name"] for op in ops] == [around["name"]]:  # it calls itself: one op
            row(around["name"])["cpu_us"] -= ops[0]["dur"]
    for event in events:
        if event["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"):
            name = callers.get(event["args"]["correlation"], event["name"])
            row(name)["self_gpu_us"] += event["dur"]
    return [rows[name] for name in sorted(rows)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ops_table", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
host = [
    fake.op("conv2d", 0, 40),
    fake.op("cudnn_convolution", 5, 30),
    fake.launch(20, 5, 1),
    fake.op("relu", 45, 12),
    fake.launch(50, 4, 2),
]
read = fake.launch(65, 100, 3, name="cudaMemcpyAsync")  # waits 75 µs for the kernels, copies
gemm, clamp = fake.kernel("implicit_gemm", 25, 90, 1), fake.kernel("clamp", 115, 25, 2)
copied = fake.kernel("Memcpy DtoH", 140, 20, 3, cat="gpu_memcpy")
given = fake.trace(*reversed(host), copied, clamp, read, gemm)
rows = ops_table(given)
found = [row["name"] for row in rows]
expect("a row a name, sorted", found, ["Memcpy DtoH", "conv2d", "cudnn_convolution", "relu"])
expect("cpu_us: the durations", [row["cpu_us"] for row in rows], [0.0, 40.0, 30.0, 12.0])
expect(
    "self_cpu_us: without what is inside",
    [row["self_cpu_us"] for row in rows],
    [0.0, 10.0, 30.0, 12.0],
    mistakes={"all of an op's time is its own": [0.0, 40.0, 30.0, 12.0]},
)
expect(
    "self_gpu_us: of the innermost op",
    [row["self_gpu_us"] for row in rows],
    [20.0, 0.0, 90.0, 25.0],
    mistakes={"of the outermost op": [20.0, 90.0, 0.0, 25.0]},
)
again = [fake.op("relu", 210, 4), fake.kernel("clamp", 250, 50, 4), fake.launch(212, 1, 4)]
relu = ops_table(fake.trace(clamp, *again, *host))[2]
expect(
    "one op twice", relu, {"name": "relu", "cpu_us": 16.0, "self_cpu_us": 16.0, "self_gpu_us": 75.0}
)
often = [fake.kernel("clamp", at, 2.06253121, 2) for at in range(200, 1000, 20)]
found = ops_table(fake.trace(*host, *often))[2]["self_gpu_us"]
expect("forty kernels of one call", found, 82.5012484)
expect("no events", ops_table(fake.trace()), [])
expect(
    "the trace stays as it is",
    given == fake.trace(*reversed(host), copied, clamp, read, gemm),
    True,
)
### BEGIN HIDDEN TESTS
# vary: 8 in 7..10, 4 in 3..6
deep = [
    fake.op("linear", 100, 50),
    fake.op("addmm", 104, 40),
    fake.op("copy_", 106, 8),
    fake.op("copy_", 120, 4),
    fake.launch(121, 2, 12),
    fake.launch(130, 9, 11),
]
# vary: 300 in 200..450, 7 in 6..9
ran = [fake.kernel("gemm", 200, 300, 11), fake.kernel("elementwise", 180, 7, 12)]
keys = "name", "cpu_us", "self_cpu_us", "self_gpu_us"
expect(
    "a kernel belongs to the innermost op, and each op only loses what is directly inside",
    [[row[key] for key in keys] for row in ops_table(fake.trace(*ran, *deep))],
    [["addmm", 40.0, 28.0, 300.0], ["copy_", 12.0, 12.0, 7.0], ["linear", 50.0, 10.0, 0.0]],
)
# vary: 40 in 20..40, 4 in 2..9
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
    [[row[key] for key in keys] for row in ops_table(fake.trace(*queue))],
    [["a", 10.0, 10.0, 40.0], ["b", 10.0, 10.0, 4.0]],
)
# viva: ops_table(fake.trace(fake.op('linear', 0, 9), fake.op('addmm', 2, 5)))[1]['self_cpu_us']
# viva: ops_table(fake.trace(fake.op('linear', 0, 9), fake.op('addmm', 2, 5)))[1]['cpu_us']
# viva: [r['name'] for r in ops_table(fake.trace(fake.op('relu', 0, 9), fake.op('add', 20, 5)))]
# viva: [r['cpu_us'] for r in ops_table(fake.trace(fake.op('a', 0, 9), fake.op('a', 2, 5),
#     fake.op('b', 20, 6)))]
# viva: ops_table(fake.trace(fake.op('a', 0, 9), fake.launch(3, 1, 7), fake.kernel('k', 12, 5,
#     7)))[0]['self_gpu_us']
# viva: [r['self_cpu_us'] for r in ops_table(fake.trace(fake.op('a', 0, 9), fake.op('b', 1, 6),
#     fake.op('c', 2, 3)))]
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_ops_table_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def own(key, *events):
    return {row["name"]: row[f"self_{key}_us"] for row in ops_table(fake.trace(*events))}


threads = [
    fake.op("forward", 0, 50),
    fake.op("backward", 9, 30, tid=2),
    fake.launch(20, 1, 8),
    fake.launch(22, 1, 9, tid=2),
    fake.kernel("k", 60, 5, 9),
    fake.kernel("k", 65, 3, 8),
]
expect(
    "two threads: no op is inside the other",
    own("cpu", *threads),
    {"backward": 30.0, "forward": 50.0},
)
expect("each thread launches its own", own("gpu", *threads), {"backward": 5.0, "forward": 3.0})
other = [fake.op("a", 0, 9), fake.op("b", 1, 4) | {"pid": 77}, fake.launch(2, 1, 3) | {"pid": 77}]
found = own("cpu", *other, fake.kernel("k", 9, 2, 3))
expect("the same tid in two processes", found, {"a": 9.0, "b": 4.0})
marked = [
    fake.op("step", 0, 90, cat="user_annotation"),
    fake.op("add_", 10, 5),
    fake.launch(14, 1, 1),
    fake.kernel("add", 50, 6, 1),
    fake.launch(40, 1, 2, name="cuLaunchKernel"),
    fake.kernel("triton", 60, 8, 2),
    fake.kernel("step", 50, 18, cat="gpu_user_annotation"),
]
expect(
    "your own marks are ops, their shadow no work", own("gpu", *marked), {"add_": 6.0, "step": 8.0}
)
together = [fake.op("in", 0, 5), fake.op("out", 0, 9)]
expect("two start together", own("cpu", *together), {"in": 5.0, "out": 4.0})
itself = [fake.op("div", 20, 9), fake.op("div", 22, 5)]
not_alone = [fake.op("to", 40, 9), fake.op("to", 42, 1), fake.op("copy_", 44, 3)]
expect(
    "total and self: an op that calls itself, one that calls others, too",
    [[row["cpu_us"], row["self_cpu_us"]] for row in ops_table(fake.trace(*itself, *not_alone))],
    [[3.0, 3.0], [9.0, 9.0], [10.0, 6.0]],
    mistakes={"an op that calls itself counts twice": [[3.0, 3.0], [14.0, 9.0], [10.0, 6.0]]},
)
digits = [fake.op("relu", 4473694477302.693, 8.25), fake.op("clamp_min", 4473694477304.193, 6.751)]
found = own("cpu", *digits)["relu"]
expect("rounded: it ends 0.001 µs after its parent", found, 1.499, rel=1e-6)
side = [
    fake.op("a", 0, 10),
    fake.op("b", 10, 10),
    fake.kernel("zero", 30, 2, 5, cat="gpu_memset"),
    fake.launch(10, 2, 5),
]
found = [own("cpu", *side), own("gpu", *side)]
expect("one after another, a memset", found, [{"a": 10.0, "b": 10.0}, {"a": 0.0, "b": 2.0}])
### BEGIN HIDDEN TESTS
keys = "name", "cpu_us", "self_cpu_us", "self_gpu_us"
# vary: 9 in 9..18
within = [
    fake.op("item", 0, 9),
    fake.op("item", 2, 5),
    fake.op("item", 3, 5, tid=4),
    fake.launch(4, 1, 6, tid=4, name="cudaMemcpyAsync"),
    fake.kernel("DtoH", 5, 2, 6, cat="gpu_memcpy"),
]
expect(
    "an op that calls itself is one op, on each thread",
    [[row[key] for key in keys] for row in ops_table(fake.trace(*within))],
    [["item", 14.0, 14.0, 2.0]],
)
# vary: 20 in 17..30
again = [fake.op("div", 0, 20), fake.op("div", 2, 15), fake.op("div", 3, 9), fake.op("mul", 5, 4)]
expect(
    "it may call itself twice",
    [[row[key] for key in keys] for row in ops_table(fake.trace(*again))],
    [["div", 20.0, 16.0, 0.0], ["mul", 4.0, 4.0, 0.0]],
)
# vary: 9 in 3..9, 4 in 2..9
many = [
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
    [[row[key] for key in keys] for row in ops_table(fake.trace(*many))],
    [
        ["lost", 0.0, 0.0, 1.0],
        ["x", 100.0, 100.0, 4.0],
        ["y", 100.0, 50.0, 9.0],
        ["z", 50.0, 50.0, 0.0],
    ],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the nine ops that take most of the card's time, and compares your guess.
row = record.rows("trace")[-1]
table = sorted(ops_table(row["trace"]), key=lambda op: -op["self_gpu_us"])
whole = sum(op["self_gpu_us"] for op in table)
wide = max(len(op["name"]) for op in table[:9])
print(f"{record.title(row['name'], row)}, in µs")
print(f"{'':<{wide}}{'CPU':>10}{'self CPU':>10}{'self GPU':>10}")
for op in table[:9]:
    times = "".join(f"{op[key]:>10,.0f}" for key in ("cpu_us", "self_cpu_us", "self_gpu_us"))
    print(f"{op['name']:<{wide}}{times}{op['self_gpu_us'] / whole:>6.0%}")
share = 100 * sum(op["self_gpu_us"] for op in table if "conv" in op["name"]) / whole
what, source = "convolutions' share of the card's time", record.source(row)
guesses.compare(what, guess_gpu_conv_share, share, unit="%", document=source)

# %% nbgrader={"grade": false, "grade_id": "demo_torchs_table", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints your table of a trace of a processor, beside torch's own table of it.
[row] = anywhere.rows("profile")
table = {op["name"]: op for op in ops_table(row["trace"])}
print(
    f"{anywhere.title('Two steps')}, in µs\n{'':<34}{'CPU':>9}{'torch':>9}{'self':>9}{'torch':>9}"
)
shared = [name for name in row["table"] if name in table]
for name in sorted(shared, key=lambda name: -table[name]["self_cpu_us"])[:7]:
    own, total = row["table"][name]
    mine = table[name]["cpu_us"], table[name]["self_cpu_us"]
    print(f"{name[:33]:<34}{mine[0]:>9,.0f}{total:>9,.0f}{mine[1]:>9,.0f}{own:>9,.0f}")
off = (abs(table[name]["cpu_us"] - row["table"][name][1]) > 1 for name in shared)
print(f"of {len(shared)} names {sum(off)} differ in CPU time")

# %% [markdown]
# Batch normalization and ReLU have next to no FLOPs and many bytes: lesson 10's memory wall; `torch.compile` fuses them.
# SGD (`add_`, `mul_`) launches 483 kernels, 3 a tensor: 1.3 ms on the card, 21 ms of the host.
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
# `ops_table(json.load(open("trace.json")))` is your own table of the same trace.
# The profiler hides its own cost, and what is not torch.
# In a long run record few steps, with `schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)`.

# %% [markdown]
# ## 4 · The lab
#
# 1. **As written**, three faults included.
# 2. **Data loading.** `DataLoader(num_workers=4)` decodes images in other processes. From `pin_memory=True` the card fetches batches itself: `.to(device, non_blocking=True)` returns at once.
# 3. **AMP**, mixed precision: `torch.autocast` runs products and convolutions in float16 on the tensor cores; weights stay float32. `torch.amp.GradScaler` multiplies the loss and divides the gradients.
# 4. **Channels-last**: images as N × H × W × C, as tensor cores read them.
# 5. **Checkpointing** (lesson 04), for a batch twice as large.
# 6. **torch.compile, one shape.** It fuses ops into fewer kernels; mode `reduce-overhead` replays a CUDA graph, `max-autotune` tries several kernels for each op. By default torch compiles the second shape for all sizes; with `dynamic=False`, as in `train.py`, each new one needs *recompilation*; after eight it gives up. So the changing shapes go here.
# 7. **All that helped**, without `.item()` and the transfer, and with a fused optimizer: one kernel for many weights, and the GradScaler no longer waits.
#
# Each part is compared with an earlier one in pairs, and stays if its interval lies above 1 and the loss falls as before.
#
# **Predict** (*constructed*).
# How much of the logarithm of the total speed-up, from "as written" to "all that helped", does AMP give?

# %% tags=["guess"]
guess_gpu_amp_share = None  # your guess, in percent

# %% nbgrader={"grade": false, "grade_id": "device_lab", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# Measures the lab's parts on a card, or some of them with torch on the processor, in minutes.
from measures import MEASURES

for kind in ("step", "compile", "allreduce"):
    record.measure(kind, MEASURES[kind])
for kind in ("pairwise", "loss", "loader"):
    anywhere.measure(kind, MEASURES[kind])

# %% nbgrader={"grade": false, "grade_id": "demo_parts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the parts of the lab, each with its interval against an earlier one.
import demos

for run, rows in (record, record.rows("step")), (processor_lab, processor_lab.rows("step")):
    print(run.title("The parts", *rows))
    before = {None: {}}
    for row in rows:
        rate, loss = row["batch"] / row["ms"], row["losses"][-1]
        print(f"{row['name']:<18}{1e3 * rate:6.0f} images/s, last loss {loss:.3f}")
        before[row["name"]] = row["switches"]
        if row["pairs"]:
            print(f"{'':<18}changes:", demos.changed(before[row["against"]], row["switches"]))
            gain = speedup_interval(*zip(*row["pairs"], strict=True))
            span = f"{gain['speedup']:.3f} times ({gain['low']:.3f} to {gain['high']:.3f})"
            print(f"{'':<18}{span} as fast as {row['against']!r}")

# %% [markdown]
# The second list was measured on a processor: only channels-last gains there, and less than AMP costs.
# Checkpoints cost another forward pass: out they go.
# The others make a series: if its steps are 2×, 2× and 1.1×, what did each give?
# Factors multiply, so their *logarithms* add: 0.69 + 0.69 + 0.10 = 1.48, and each 2× gets 47 %.
# `step_report` is lesson 07's `speedup_steps` for images a second.


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

    >>> rows = [{"name": "32", "batch": 32, "ms": 40}, {"name": "64", "batch": 64, "ms": 50}]
    >>> step_report(rows)[1]["step"]
    1.6
    """
    ### BEGIN SOLUTION
    if min((min(row["batch"], row["ms"]) for row in rows), default=0) <= 0:
        raise ValueError("there must be two rows, with batches and times above 0")
    steps = speedup_steps({number: row["ms"] / row["batch"] for number, row in enumerate(rows)})
    gains = [{"step": 1.0, "total": 1.0, "share": 0.0}, *steps]
    return [
        {**gain, "name": row["name"], "images_per_s": 1e3 * row["batch"] / row["ms"]}
        for row, gain in zip(rows, gains, strict=True)
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_step_report", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
times = {"as written": 400, "loader": 290, "AMP": 170, "channels-last": 150, "compile": 136}
lab = [{"name": name, "batch": 64, "ms": ms} for name, ms in times.items()]
found = step_report(lab)
expect(
    "the first row",
    found[0],
    {"name": "as written", "images_per_s": 160.0, "step": 1.0, "total": 1.0, "share": 0.0},
)
expect(
    "images a second", [row["images_per_s"] for row in found[:3]], [160.0, 64e3 / 290, 64e3 / 170]
)
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
down = [{"name": "a", "batch": 8, "ms": 10}, {"name": "b", "batch": 8, "ms": 20}]
expect("the last slower than the first", step_report(down)[1]["share"], 1.0)
expect("the rows stay as they are", down[1], {"name": "b", "batch": 8, "ms": 20})
### BEGIN HIDDEN TESTS
lab[3]["ms"] = 180.0
slower = [row["share"] for row in step_report(lab)]
expect("one that made it slower", slower, [0.0, 0.298091, 0.495066, -0.052983, 0.259825], rel=1e-5)
# vary: 24 in 16..64
same = [{"name": "a", "batch": 8, "ms": 10}, {"name": "b", "batch": 24, "ms": 10}]
expect("as many ms, more images", step_report(same)[1]["step"], 3.0)
# vary: 80 in 70..90, 160 in 130..200, 30 in 20..40
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
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_step_report_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
slow, fast = {"name": "slow", "batch": 32, "ms": 40.0}, {"name": "fast", "batch": 128, "ms": 130.0}
expect_table(
    step_report,
    (
        "one row, no row; no way; no time, less than none; no images, fewer",
        [
            ([slow],),
            ([],),
            ([slow, fast, slow],),
            ([slow, {**fast, "ms": 0}],),
            ([{**slow, "batch": 0}, fast],),
            ([{**row, "batch": -8} for row in (slow, fast)],),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("two rows are enough", step_report([slow, {**fast, "ms": 96}])[1]["total"], 5 / 3)
expect("in this order, too", step_report([fast, slow])[1]["total"], 13 / 16)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_report", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the way from the program as written to all that helped, step by step.
import demos

report = step_report(demos.kept(record.rows("step")))  # without what did not help
for row in report:
    gains = f"step {row['step']:.3f}, total {row['total']:.3f}, {row['share']:.0%} of the way"
    print(f"{row['name']:<18}{row['images_per_s']:6.0f} images/s, {gains}")
half = demos.first_with(record.rows("step"), "amp")
share = 100 * next(row["share"] for row in report if row["name"] == half)
what, source = "AMP's share of the way", record.source(record.rows("step")[-1])
guesses.compare(what, guess_gpu_amp_share, share, unit="%", document=source)
demos.waterfall(report, title=record.title("The lab", *record.rows("step")))

# %% nbgrader={"grade": false, "grade_id": "demo_losses", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the loss in float32 and in mixed precision; on a card without scaling, too.
import demos

rows = anywhere.rows("loss")
demos.losses(rows, title=anywhere.title(f"{len(rows[0]['losses'])} steps", *rows))

# %% [markdown]
# The curve is float32's.
# (A processor's AMP takes bfloat16; in float16, without scaling, small gradients become 0.)
#
# A table of steps hides that order matters: with a starved card, mixed precision gives nothing.
# So measure all four combinations: 200 ms with neither change, 120 and 150 with one, 70 with both.
# Alone they give 1.67 and 1.33, so 2.22 if they were independent; it is 2.86.


# %% nbgrader={"grade": false, "grade_id": "interaction", "locked": false, "schema_version": 3, "solution": true, "task": false}
def interaction(base, a, b, both):
    """Return the speed-up of two changes together, over the product of what each gives alone.

    base: ms of a step without either. a, b: with one of them. both: with both. All above 0, at one
    batch. Above 1, they help each other; below 1, one is in the other's way.
    Raises ValueError for a time that is not above 0.

    >>> interaction(120, 60, 40, 10)
    2.0
    """
    ### BEGIN SOLUTION
    if min(base, a, b, both) <= 0:
        raise ValueError("times must be above 0")
    return (base / both) / ((base / a) * (base / b))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_interaction", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    interaction,
    (
        "better together",
        (200, 120, 150, 70),
        9 / 7,
        {"upside down": 7 / 9, "milliseconds are added": 1.0},
    ),
    ("one in the other's way", (100.0, 50.0, 40.0, 40.0), 0.5),
    ("independent, one makes it slower", (60, 75, 40, 50), 1.0),
    ("far below 1", (0.0007, 0.0003, 0.0011, 0.0009), 0.00033 / 0.00063),
)
expect("by name", interaction(both=1, b=2, a=3, base=5), 1.2)
expect_table(
    interaction,
    ("no time", [(200, 0, 150, 70), (9, 2, 3, 0)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 90 in 90..120, 60 in 50..60, 45 in 40..45, 36 in 36..40
expect("together they may give less than the product", interaction(90, 60, 45, 36), 5 / 6)
# vary: 100 in 90..120, 80 in 70..85, 50 in 45..60
expect("together they may lose what each one gains", interaction(100, 80, 50, 100), 0.4)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_pairwise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what two changes give alone and together.
import demos

ms = {row["name"]: row["ms"] for row in anywhere.rows("pairwise")}
print(anywhere.title("A step", *anywhere.rows("pairwise")))
print("times as fast:", ", ".join(f"{name} {ms['neither'] / ms[name]:.2f}" for name in ms))
four = interaction(ms["neither"], ms["mixed precision"], ms["channels-last"], ms["both"])
print(f"interaction {four:.2f} (above 1: together more than the product of both)")

# %% nbgrader={"grade": false, "grade_id": "demo_compile", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what compiling costs, and draws after how many steps it has paid.
import demos

rows = record.rows("compile")
for run, each in (record, rows), (processor_lab, processor_lab.rows("compile")):
    print(run.title("torch.compile", *each))
    for row in each:
        print(f"{row['name']:<28}{row['compile_s']:5.0f} s to compile, {row['ms']:.0f} ms a step")
demos.break_even(rows, title=record.title("Since the start of the run", *rows))

# %% nbgrader={"grade": false, "grade_id": "demo_loader", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws images a second of the loader alone, by its workers.
import demos

rows = anywhere.rows("loader")
demos.loader(rows, title=anywhere.title("The loader alone", *rows))

# %% [markdown]
# If the loader alone is slower than the card, nothing else helps.
# Compiling has paid where a line crosses 0.

# %% [markdown]
# **Now mend a loop yourself.** In each step `slow_epoch` reads a number back, sends the classes' weights, gives the network another length, and reads its clips itself.
# Copies wait, too, unless pinned and `non_blocking`.
# `counted_loop` plays torch and a card, and counts.


# %% nbgrader={"grade": false, "grade_id": "slow_epoch", "locked": true, "schema_version": 3, "solution": false, "task": false}
from functools import partial

from counted_loop import count_waits, on_torch  # beside this notebook


def slow_epoch(torch, model, optimizer, clips, device, batch=4):
    """Train once on all clips, in their order, and return the loss of each step, as floats."""
    losses = []
    batches = torch.utils.data.DataLoader(clips, batch_size=batch, collate_fn=clips.pad)
    for x, y in batches:  # arrays: clips, with zeros behind up to the longest of them; classes
        x, y = torch.as_tensor(x, device=device), torch.as_tensor(y, device=device)
        weights = torch.tensor(clips.weights).to(device)
        loss = torch.nn.functional.cross_entropy(model(x), y, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# <details><summary>Hint 1: what must be in the loop?</summary>
#
# What changes from batch to batch, and nothing else.
# Who needs the number of a loss before the epoch ends?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# `clips.pad(samples, length)` pads to a length: `partial` makes a function of it that workers can call.
# `pin_memory=True` pins tensors, not arrays, so say `to=torch.as_tensor`.
# A tensor that is kept needs no graph: `detach`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "train_epoch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_epoch(torch, model, optimizer, clips, device, batch=4):
    """Train as slow_epoch does, but let the card wait for nothing; return the same losses.

    torch: torch, or what plays it. model: on the device; zeros behind a clip do not change what it
        returns. clips: clips[n], weights, longest (a length), pad(samples, length, to).
    The batches, their order, the losses (a list of floats) and the trained network are those of
    slow_epoch, but for rounding. Yet
    - no tensor is read from the card before the last step;
    - besides batches (x and y), one tensor is sent to it;
    - after the first step copies to it are from pinned memory, and non_blocking;
    - all batches are as long as the longest clip;
    - processes of the DataLoader read the clips, this one none, not before the loop either.

    >>> count_waits(train_epoch, clips=8)["lengths"]
    [36]
    """
    ### BEGIN SOLUTION
    losses, weights = [], torch.tensor(clips.weights).to(device)
    padded = partial(clips.pad, length=clips.longest, to=torch.as_tensor)
    how = {"batch_size": batch, "collate_fn": padded, "num_workers": 2, "pin_memory": True}
    for x, y in torch.utils.data.DataLoader(clips, **how):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(x), y, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_train_epoch", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
found = count_waits(train_epoch, clips=24, batch=4)
expect(
    "the losses of six steps",
    found["losses"],
    [0.963754, 1.180446, 1.239090, 0.458163, 0.935789, 0.464561],
    abs=1e-4,
)
expect("weights after them", found["weights"], [0.152336, -0.131233, 0.218410], abs=1e-4)
expect("read from the card before the last step", found["read_backs"], 0)
expect_between("sent to the card: x and y of six batches, one more", found["sent"], 1, 13)
expect(
    "copies to the card that are waited for",
    found["copy_waits"],
    0,
    mistakes={"is their memory pinned, and are they non_blocking, both?": 10},
)
### BEGIN HIDDEN TESTS
from counted_loop import count_waits as counted

other = counted(train_epoch, 22, 5, 30, 3)
expect("other clips", other["losses"], [1.057085, 1.093028, 1.019967, 1.033115, 0.928698], abs=1e-4)
expect("they train the same network", other["weights"], [-0.185392, -0.071805, -0.232451], abs=1e-4)
expect("no number is read while steps are still to come", other["read_backs"], 0)
expect_between("what does not change is sent once", other["sent"], 1, 11)
# about: a copy from pageable memory waits, and so does one that is not non_blocking
expect("copies are queued from pinned memory, and not waited for", other["copy_waits"], 0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_train_epoch_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
found = count_waits(train_epoch, clips=15, batch=4, seed=1)  # the last batch has three
expect(
    "the losses of 15 clips",
    found["losses"],
    [1.361486, 1.770237, 0.726354, 1.535306],
    abs=1e-4,
)
expect("weights after them", found["weights"], [0.111986, -0.006907, -0.013360], abs=1e-4)
expect("lengths of batches", found["lengths"], [39])
expect("clips read in this process", found["read_here"], 0)
### BEGIN HIDDEN TESTS
from counted_loop import count_waits as counted

third = counted(train_epoch, 19, 3, 70, 8)
expect(
    "longer clips",
    third["losses"],
    [1.028046, 0.971418, 0.791693, 0.531290, 1.105321, 1.208735, 0.922625],
    abs=1e-4,
)
expect("they train the same network", third["weights"], [-0.011518, -0.381649, -0.124946], abs=1e-4)
expect("all batches have one length, whatever it is", third["lengths"], [70])
expect("workers read every clip", third["read_here"], 0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "device_loop", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# Prints what both loops make the card wait for, and runs them on torch where it is installed.
for loop in (slow_epoch, train_epoch):
    found = count_waits(loop)
    kinds = ("read_backs", "sent", "copy_waits", "lengths", "read_here")
    print(f"{loop.__name__:<12}", ", ".join(f"{kind} {found[kind]}" for kind in kinds))
print(on_torch(slow_epoch, train_epoch))

# %% [markdown]
# **Take a break here.**
#
# ## 5 · Where is the memory?
#
# "CUDA out of memory" names the allocation that failed, rarely the one to blame.
# After `torch.cuda.memory._record_memory_history()` torch notes each allocation with its stack; [`_dump_snapshot`](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html) saves them for a page that draws them.
# Our documents keep address, bytes, and who asked (`frame`: a line, or an op). torch's allocator *reserves* segments from the driver, hands out blocks in multiples of 512 bytes, and keeps what is given back.
#
# **Predict.** When a step has ended, weights and optimizer state are left.
# What share of the step's peak is that, in a real step on one of two V100s?

# %% tags=["guess"]
guess_gpu_memory_left = None  # your guess, in percent of the peak


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

    >>> memory_peak([fake.alloc(1, 700, "a"), fake.free(1), fake.alloc(1, 300, "b")])["by_frame"]
    {'a': 1024}
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
KB = 1024
step = [
    fake.alloc(1, 100 * KB, "conv1"),
    fake.alloc(2, 50 * KB, "relu"),
    fake.alloc(3, 200 * KB, "conv2"),
    fake.free(2),
    fake.alloc(4, 120 * KB, "adam"),
    fake.free(3),
    fake.alloc(5, 40 * KB, "relu"),
]
found = memory_peak(step)
expect("the peak of a step", found["peak"], 430_080, mistakes={"all allocations": 522_240})
expect("whose it was", found["by_frame"], {"conv1": 102_400, "conv2": 204_800, "adam": 122_880})
expect("what is left", found["left"], 266_240)
odd = [fake.alloc(9, 1, "bias"), fake.alloc(8, 513, "bias"), fake.alloc(7, 512, "loss")]
expect("multiples of 512", memory_peak(odd)["by_frame"], {"bias": 1536, "loss": 512})
pages = [fake.alloc(n, 1500, "page") for n in range(40)] + [fake.free(n) for n in range(39)]
expect("each block is rounded, not their sum", memory_peak(pages)["peak"], 61_440)
reused = [fake.alloc(1, 1024, "a"), fake.free(1), fake.alloc(1, 512, "b"), fake.alloc(2, 512, "c")]
expect("one address twice; the peak twice", memory_peak(reused)["by_frame"], {"a": 1024})
older = [fake.free(77), fake.alloc(1, 900, "a"), fake.alloc(2, 9, "a"), fake.free(77), fake.free(2)]
expect("older blocks are freed", memory_peak(older)["left"], 1024)
expect("the history stays as it is", [event["size"] for event in odd], [1, 513, 512])
### BEGIN HIDDEN TESTS
# vary: 5000 in 3_333..7_500
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
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_memory_peak_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    memory_peak,
    (
        "no history, nothing allocated; a block without bytes; a negative size",
        [
            ([],),
            ([fake.alloc(1, 0, "a"), fake.alloc(2, 9, "a")],),
            ([fake.alloc(1, 9, "a"), fake.alloc(2, -600, "a")],),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("a block of one byte is a block", memory_peak([fake.alloc(1, 1, "a")])["peak"], 512)
# vary: 2000 in 1_333..3_000
expect("it may be the last", memory_peak([fake.free(5), fake.alloc(5, 2000, "b")])["left"], 2048)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints whose memory the peak is, compares your guess, and draws what is allocated.
import demos

for row in record.rows("memory"):
    found = memory_peak(row["history"])
    most = sorted(found["by_frame"].items(), key=lambda pair: -pair[1])[:5]
    owners = ", ".join(f"{frame} {size / 2**20:,.0f}" for frame, size in most)
    reserved = f" ({row['reserved'] / 2**20:,.0f} reserved)" if "reserved" in row else ""
    print(f"{row['name']}: at most {found['peak'] / 2**20:,.0f} MB{reserved}; in it {owners}")
left, source = 100 * found["left"] / found["peak"], record.source(row)
guesses.compare("left, of the peak", guess_gpu_memory_left, left, unit="%", document=source)
demos.allocations(record.rows("memory"), title=record.title("Allocated", *record.rows("memory")))

# %% [markdown]
# Here the peak ends the backward pass: the blocks of `mm` are gradients, and one compiled op frees nothing before its end.
# No checkpoint (lesson 04) lowers the memory that was there before the step.
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

    >>> largest_hole([fake.segment((3, "inactive"), (5, "active_allocated"))])["largest"]
    3
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
expect_table(largest_hole, ("no segments", ([],), ValueError))
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9, 2 in 2..9
pending = [fake.segment((4, "active_pending_free"), (2, "inactive"))]
expect(
    "a block whose free is pending is not free yet",
    largest_hole(pending),
    {"reserved": 6, "free": 2, "largest": 2},
)
# vary: 10 in 6..15, 40 in 26..60, 20 in 13..30
expect(
    "the largest free block is in one segment",
    largest_hole(
        [*full, fake.segment((10, "inactive"), (40, "active_allocated"), (20, "inactive"))]
    ),
    {"reserved": 100, "free": 30, "largest": 20},
)
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · How near to the peak?
#
# *Model FLOPs utilization*, MFU ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311)), is the share of the card's peak that training uses.
# It counts the FLOPs that training *needs*; *hardware FLOPs utilization* (*HFU*) counts what is computed.
# A step of ResNet-18 with 256 images needs 2.73 · 10¹² FLOPs; in 400 ms on a card of 65 TFLOP/s, that is 2.73 / 26 = 10.5 %.
#
# **Predict.** A V100's data sheet promises 15.7 TFLOP/s in float32.
# What is the MFU of the run with four workers?

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

    >>> share = training_mfu(models.LeNet5(), (8, 1, 32, 32), 1.0, 1e11, recompute=True)
    >>> round(share["mfu"], 4), round(share["hfu"], 4)
    (0.1811, 0.2478)
    """
    ### BEGIN SOLUTION
    if min(step_ms, peak_flops) <= 0:
        raise ValueError("the time of a step and the peak must be above 0")
    needed = training_flops(model, shape, per_sample=False)
    computed = needed + (count_flops(model, shape, per_sample=False) if recompute else 0)
    most = peak_flops * step_ms / 1e3
    return {"mfu": needed / most, "hfu": computed / most}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_mfu", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
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
again = training_mfu(resnet, images, 400, 65e12, recompute=True)
expect(
    "the forward pass runs again",
    again["hfu"],
    3_654_799_065_088 / 26e12,
    mistakes={"the whole step runs again": 2 * 2_725_993_512_960 / 26e12},
)
expect("training needs no more for that", again["mfu"], 2_725_993_512_960 / 26e12)
lenet = training_mfu(models.LeNet5(), (8, 1, 32, 32), 0.5, 1e12)
expect("LeNet-5, 8 images", lenet["mfu"], 0.0362227, rel=1e-5)
wrong = training_mfu(models.LeNet5(), (8, 1, 32, 32), 0.0005, 1e12)
expect("a share above 1 comes back as it is", wrong["mfu"], 36.2227, rel=1e-5)
### BEGIN HIDDEN TESTS
with meta():
    gpt = models.gpt2("small")
# vary: 2 in 2..9, 96 in 64..144, 20.0 in 13.3..30.0, 9.89e14 in 6.59e14..1.48e15
found = training_mfu(gpt, (2, 96), 20.0, 9.89e14, True)
expect(
    "a Transformer's tokens and batch count as they are",
    found,
    {"mfu": 0.00729764, "hfu": 0.00973019},
    rel=1e-5,
)
# vary: 7.5 in 5.0..11.0, 3e10 in 2e10..4e10
few = training_mfu(models.LeNet5(), (3, 1, 32, 32), 7.5, 3e10)
expect(
    "three images of LeNet-5, on a slow card",
    few,
    {"mfu": 0.030185592, "hfu": 0.030185592},
    rel=1e-5,
)
# viva: training_mfu(models.LeNet5(), (8, 1, 32, 32), 1.0, 1e11, recompute=True)['mfu']
# viva: training_mfu(models.LeNet5(), (8, 1, 32, 32), 1.0, 1e11, recompute=True)['hfu']
# viva: training_mfu(models.LeNet5(), (2, 1, 32, 32), 0.5, 1e11)['hfu']
# viva: training_mfu(models.LeNet5(), (4, 1, 32, 32), 2.0, 1e10)['mfu']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_training_mfu_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
lenet, shape = models.LeNet5(), (8, 1, 32, 32)
expect_table(
    training_mfu,
    (
        "no time, less than none; no peak, below 0; both below 0",
        [
            (lenet, shape, -4, 1000000000000.0),
            (lenet, shape, 4, -1000000000000.0),
            (lenet, shape, -4, -1000000000000.0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 0.001 in 6.67e-4..0.0015, 1e15 in 6.67e14..1.5e15
expect("a short time is one", training_mfu(lenet, shape, 0.001, 1e15)["mfu"], 0.018111, rel=1e-4)
# vary: 1e6 in 6.67e5..1.5e6
expect("a low peak is one", training_mfu(lenet, shape, 1e6, 1.0)["mfu"], 18111.36, rel=1e-3)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_mfu", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the utilization of each run and of the lab's parts, and compares your guess.
import demos

known = [row for row in record.rows("trace") if "model" in row]
shares = []
for row in [*record.rows("step"), *known]:
    with meta():
        model = getattr(models, row.get("model", "resnet18"))()
    ms, shape = row.get("ms") or demos.median_step(row), (row["batch"], 3, 224, 224)
    peak = cuda.sheets.data_sheet(record.source(row)["card"])[row.get("dtype", "float16")]
    again = row.get("switches", {}).get("checkpoint", False)
    shares.append(training_mfu(model, shape, ms, peak, again))
    said = f"MFU {shares[-1]['mfu']:6.1%}, HFU {shares[-1]['hfu']:6.1%}"
    print(record.title(f"{row['name']:<19}{said}", row))
what, share, source = "MFU of the last run", 100 * shares[-1]["mfu"], record.source(row)
guesses.compare(what, guess_gpu_mfu, share, unit="%", document=source)

# %% [markdown]
# (`train.py` recomputes blocks alone: its HFU is 1.7 % less.)
# The next cell divides your `conv2d_flops` by the times of your `ops_table`.

# %% nbgrader={"grade": false, "grade_id": "demo_convolutions", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what each forward convolution of a real step achieves, below its roof or above.
import demos

row = record.rows("trace")[-1]
trace, layers = demos.by_shape(row["trace"])
for op in ops_table(trace):
    if layer := layers.get(op["name"]):
        how = layer["kernel"][0], layer["kernel"][2:], layer["stride"], layer["padding"]
        layer["us"] = op["self_gpu_us"]
        layer["flops"] = layer["times"] * conv2d_flops(layer["images"], *how)
flops, us = (sum(layer[key] for layer in layers.values()) for key in ("flops", "us"))
print(f"{flops / 1e9:.0f} GFLOP in {us / 1e3:.1f} ms: {flops / max(us, 1) / 1e6:.1f} TFLOP/s")
sheet, dtype = cuda.sheets.data_sheet(record.source(row)["card"]), row.get("dtype", "float32")
demos.convolutions(layers, sheet, dtype, title=record.title("Forward convolutions", row))

# %% [markdown]
# Four are above the roof: is the roof wrong, or the count?
# Their kernels are called `…winograd…`: [this algorithm](https://arxiv.org/abs/1509.09308) multiplies 2.25 times less often (for tiles of 2 × 2) than the textbook that you count by.
#
# Never measure on zeros, which switch few transistors: [an A100](https://www.thonking.ai/p/strangely-matrix-multiplications) (comments of the first listing) reaches 295 TFLOP/s on zeros, 257 on random numbers.

# %% [markdown]
# ## 7 · The ring
#
# Cards that compute different images with the same weights must sum their gradients: an *all-reduce*.
# If one *rank* (a process with a card) gathers everything, its link is the bottleneck.
# In a *ring* ([Patarasuk and Yuan 2009](https://doi.org/10.1016/j.jpdc.2008.09.002)) each rank cuts its array into n parts and sends one at a time to its neighbour:
#
# ![Four ranks in a circle pass parts on in three steps of reduce-scatter; the parts grow by each neighbour's numbers, until each rank holds one that is summed over all four.](ring.png)
#
# *Reduce-scatter*: the neighbour adds its own numbers and passes the part on; after n − 1 steps each rank has one part summed over all ranks.
# *All-gather*: these sums go round once.
# Each rank sends 2(n − 1) parts, each 1/n of the array: of 3,360 bytes on 8 ranks, 5,880.
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
    """Return the sum of all ranks' arrays on every rank, by a ring, as a dict.

    arrays: n one-dimensional numpy arrays of one length and dtype, one a rank. Each is cut into n
        parts, the first length % n one longer. In each step every rank sends a part to the next
        rank, the last to rank 0.
    Reduce-scatter: rank r first sends its part r, then what it has just received, with its own
    numbers added. All-gather, after n - 1 steps: it sends its whole sum, then each sum received.
    Returns a dict: results, an array for each rank, no two of the same memory; sent, the bytes that
    each rank sent (ints); steps, their number.
    Raises ValueError for no arrays, and where lengths or dtypes differ.

    >>> ring_allreduce([np.arange(6), np.ones(6, int), np.ones(6, int)])["sent"]
    [64, 64, 64]
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
expect("the dtype stays", [str(each.dtype) for each in found["results"]], ["float32"] * 4)
few = ring_allreduce([np.array([rank], np.int8) for rank in range(3)])["results"]
expect("more ranks than numbers", few, [[3], [3], [3]])
found["results"][0][:] = -1
expect("each rank has an array of its own", found["results"][1], np.arange(10) * 1111.0)
expect("the arrays stay as they are", ranks[2], np.arange(10) * 100.0)
one = ring_allreduce([np.array([5.0, 7.0])])["results"]
expect("1 rank", one, [[5.0, 7.0]])
parts = ring_allreduce([np.array([0.0001234, 7.0]), np.array([0.0000011, 0.5])])["results"]
expect("not rounded", parts, [[0.0001245, 7.5]] * 2, rel=1e-9)
### BEGIN HIDDEN TESTS
five = [np.arange(13, dtype=np.float64) * (rank + 1) - rank for rank in range(5)]
found = ring_allreduce(five)
expect(
    "all numbers of all ranks are summed once", found["results"], [np.arange(13) * 15.0 - 10.0] * 5
)
expect("what a rank got stays its own", five[4][:3], [-4.0, 1.0, 6.0])
small = ring_allreduce([np.array([rank, 1], np.int8) for rank in range(2)])["results"]
expect("small integers stay small", [str(each.dtype) for each in small], ["int8", "int8"])
# viva: ring_allreduce([np.arange(6), np.ones(6, int), np.ones(6, int)])['sent']
# viva: ring_allreduce([np.arange(4.0)] * 4)['steps']
# viva: ring_allreduce([np.arange(3.0), np.ones(3)])['results'][1]
# viva: ring_allreduce([np.ones(7, np.float32)] * 3)['sent']
# viva: ring_allreduce([np.ones(5)] * 2)['sent']
# viva: ring_allreduce([np.full(2, n) for n in (1.0, 2.0, 4.0)])['results'][0]
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_ring_allreduce_2", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
four = ring_allreduce([np.arange(10, dtype=np.float32)] * 4)
expect(
    "4 ranks of 10 floats: bytes sent",
    four["sent"],
    [60, 64, 60, 56],
    mistakes={"whole arrays are sent": [240, 240, 240, 240]},
)
expect("their steps", four["steps"], 6)
eight = ring_allreduce([np.full(840, 2.0**rank, np.float32) for rank in range(8)])
expect("8 ranks of 840 floats", eight["sent"], [5880] * 8)
expect("their 14 steps", eight["steps"], 14)
few = ring_allreduce([np.array([rank], np.int8) for rank in range(3)])
expect("3 ranks of a byte", few["sent"], [2, 1, 1])
one = ring_allreduce([np.array([5.0, 7.0])])
expect("1 rank sends nothing", one["sent"], [0])
expect("and has no steps", one["steps"], 0)
large = ring_allreduce([np.full(4, x, np.float32) for x in (1e8, 1, -1e8, 1)])["results"]
expect("float32 forgets a 1 beside 10⁸: the order of the sums", large, [[1.0, 0.0, 1.0, 0.0]] * 4)
### BEGIN HIDDEN TESTS
# vary: 13 in 11..30
five = ring_allreduce([np.full(13, rank, np.float64) for rank in range(5)])
expect(
    "parts may differ by one number",
    [five["sent"], five["steps"]],
    [[160, 168, 176, 168, 160], 8],
)
six = ring_allreduce([np.full(9, rank, np.int16) for rank in range(6)])
expect("6 ranks of 18 bytes", [six["sent"], six["steps"]], [[28, 30, 32, 32, 30, 28], 10])
order = ring_allreduce([np.full(3, x, np.float32) for x in (1e8, -1e8, 1)])["results"]
expect(
    "a part is summed in the order of the ring, from the rank of its number on",
    order,
    [[1.0, 0.0, 0.0]] * 3,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_ring_allreduce_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    ring_allreduce,
    (
        "no ranks; other lengths; other types",
        [([],), ([np.ones(3), np.ones(1)],), ([np.ones(3), np.ones(3, int)],)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("two ranks may be alike", ring_allreduce([np.ones(3)] * 2)["results"], [[2.0] * 3] * 2)
expect("an array may be empty", ring_allreduce([np.ones(0)] * 2)["sent"], [0, 0])
### END HIDDEN TESTS

# %% [markdown]
# Each step has a *latency*, whatever it carries, and each byte takes 1/bandwidth.
# A *tree* takes few steps with whole arrays, a ring many with small parts.
# (NCCL's trees are pipelined: they send parts.)
# (From here on, a MB is 10⁶ bytes and a GB 10⁹.)
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

    >>> allreduce_ms(4 * 10**6, 4, latency_us=500, gb_per_s=1, algorithm="ring")
    9.0
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


# %% nbgrader={"grade": true, "grade_id": "test_allreduce_ms", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
resnet18 = 46_758_048  # bytes of its gradients
expect_table(
    allreduce_ms,
    (
        "8 ranks, 10 µs, 25 GB/s, ring",
        (resnet18, 8, 10, 25, "ring"),
        3.41306336,
        {
            "whole arrays in each step, or bits for bytes": 26.32450688,
            "only half of the way": 1.70653168,
        },
    ),
    ("8 ranks, tree", (resnet18, 8, 10, 25, "tree"), 11.28193152),
    ("5 ranks, tree: 6 steps", (8000, 5, 20, 10, "tree"), 0.1248),
    ("64 ranks, 1 KB: latency", (1000, 64, 10, 25, "ring"), 1.26007875),
    ("one rank, no latency, no bytes", (0, 1, 0, 9, "ring"), 0.0),
)
named = {"gb_per_s": 4, "algorithm": "ring", "latency_us": 0.5, "ranks": 2, "size": 100}
expect("by name", allreduce_ms(**named), 0.001025)
expect_table(
    allreduce_ms,
    (
        "another algorithm; bytes, latency below 0; no rank, no bandwidth",
        [
            (9, 1, 10, 25, None),
            (-9, 8, 10, 25, "tree"),
            (9, 8, -1, 25, "tree"),
            (9, 0, 10, 25, "ring"),
            (9, -2, 10, 25, "ring"),
            (9, 8, 10, 0, "ring"),
            (9, 8, 10, -1, "ring"),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 20 in 13..30
expect("a ring of 5 has 8 steps of a fifth each", allreduce_ms(10**7, 5, 20, 10, "ring"), 1.76)
# vary: 20 in 13..30
expect("a tree of 5 has 3 steps each way", allreduce_ms(10**7, 5, 20, 10, "tree"), 6.12)
# vary: 100 in 66..150
expect("a tree of 17 has 5 steps each way", allreduce_ms(0, 17, 100, 1, "tree"), 1.0)
# vary: 6e6 in 4e6..9e6, 3 in 2..9, 2 in 2..9
expect("no latency: only bytes", allreduce_ms(6e6, 3, 0, 2, "ring"), 4.0)
# vary: 6 in 2..12, 10 in 6..15
expect("no bytes: only latency", allreduce_ms(0, 6, 10, 9, "tree"), 0.06)
expect("one rank sends nothing", allreduce_ms(9, 1, 10, 25, "tree"), 0.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_ranks", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints a ring's and a tree's times from 2 to 512 ranks, for many bytes and for few.
for ranks in (2, 8, 64, 512):
    for size in (46_758_048, 1000):
        ring, tree = (allreduce_ms(size, ranks, 10, 25, how) for how in ("ring", "tree"))
        print(f"{ranks:>4} ranks, {size:>10,} bytes: ring {ring:5.2f} ms, tree {tree:5.2f} ms")
answer = allreduce_ms(46_758_048, 64, 10, 25, "ring")
guesses.compare("all-reduce on 64 ranks", guess_gpu_ring_64, answer, unit="ms")

# %% nbgrader={"grade": false, "grade_id": "demo_two_processes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Fits the model to all-reduces of two V100s, and to those of two processes here; draws both.
import demos
import two_processes

there = record.rows("allreduce")
here = two_processes.measure([2**power for power in range(10, 24, 2)])  # on this machine
for rows in (there, here):
    times = [float(np.median(row["ms"])) for row in rows]
    fixed, each = fit_cost([row["bytes"] for row in rows], times, (0, 1))  # lesson 07
    each = max(each, 1e-12)  # where noise is larger than what the bytes cost
    link = max(fixed, 0) * 500, 1e-6 / each  # two steps; half of the array in each
    print(f"{rows[0]['backend']}: {link[0]:.1f} µs of latency a step, {link[1]:.2f} GB/s")
    model = allreduce_ms(rows[-1]["bytes"], 2, *link, "ring")
    print(f"the largest array: {model:.2f} ms by the model, {times[-1]:.2f} ms measured")
demos.bus_bandwidth([*there, *here], title=record.title("Two processes here, and NCCL's", *there))

# %% [markdown]
# *Bus bandwidth* is what each link carried, 2(n − 1)/n · bytes / time ([nccl-tests](https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md)).
# The link decides more than the algorithm (published rates, each way):
#
# | link | GB/s | 46.8 MB, ring of 8, no latency |
# |---|---|---|
# | 10 Gbit Ethernet | 1.25 | 65 ms |
# | PCIe 3.0 × 16 | 15.75 | 5.2 ms |
# | NVLink 4 (H100) | 450 | 0.18 ms |
#
# `nvidia-smi topo -m` says what data between two cards crosses: NVLink (`NV4`), PCIe switches (`PIX`, `PXB`) or both processors (`SYS`).

# %% [markdown]
# ## 8 · Behind the backward pass
#
# The last layer's gradients are ready first.
# Their all-reduce can run while the backward pass goes on; only what lasts longer is *exposed*.
# But each all-reduce pays latency, so gradients are gathered in *buckets*, of 25 · 1024² bytes in [`DistributedDataParallel`](https://docs.pytorch.org/docs/stable/notes/ddp.html) (`bucket_cap_mb`; the first has 1024², so that it starts early).
# Ten layers of 2 ms and 10 MB on 8 ranks, all at once after the pass: 20 + 7.14 ms.
# In five buckets of 20 MB, each sent when it is full, only the last one's 1.54 ms are exposed.
#
# <details><summary>Hint: two clocks</summary>
#
# When is the next gradient there, and when is the link free?
# A bucket leaves at the later of both.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "overlapped", "locked": false, "schema_version": 3, "solution": true, "task": false}
def overlapped(layers, bucket, reduce_ms):
    """Return how much of the all-reduces the backward pass hides, as a dict.

    layers: (backward_ms, size) tuples in forward order; size: bytes of gradients. The backward
        pass takes the last layer first.
    bucket: bytes. Gradients go into a bucket when their layer's backward has ended. Once it holds
        this much it is sent, and the next begins. What is left at the end is sent, unless empty.
    reduce_ms: bytes to an all-reduce's ms. One runs at a time, at once or when the one
        before has ended; the pass does not wait.
    Returns a dict: step_ms, until all has ended; exposed_ms, its part after the pass; buckets in
    order, dicts of bytes, start_ms, end_ms.
    Raises ValueError for no layers, a bucket not above 0, a negative time or size.

    >>> overlapped([(2, 10), (3, 10)], 10, lambda size: 4)["exposed_ms"]
    6
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


# %% nbgrader={"grade": true, "grade_id": "test_overlapped", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def cost(size):
    return 0.14 + size * 7e-8  # 0.14 ms, and 0.07 ms for each 10⁶ bytes


ten = [(2.0, 10**7)] * 10
found = overlapped(ten, 10**9, cost)
expect("one bucket for all leaves after the pass", found["buckets"][0]["start_ms"], 20.0)
expect("the step ends with it", found["step_ms"], 27.14)
found = [overlapped(ten, size * 10**6, cost)["exposed_ms"] for size in (100, 50, 25, 20, 10)]
expect(
    "exposed: buckets of 100, 50, 25, 20, 10 MB",
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
expect(
    "one all-reduce at a time", [each["start_ms"] for each in slow["buckets"][:3]], [2.0, 5.0, 8.0]
)
expect("the last one ends the step", slow["step_ms"], 32.0)
uneven = [(4, 1), (1, 6), (5, 0), (3, 2), (2, 7)]  # the backward pass begins with (2, 7)
sent = overlapped(uneven, 8, lambda size: size)["buckets"]
expect("from the last layer on", [each["bytes"] for each in sent], [9, 7])
expect("the layers stay as they are", uneven[:2], [(4, 1), (1, 6)])
### BEGIN HIDDEN TESTS
thin = [(0.1, 10**5)] * 200
sizes = 10**5, 10**6, 5 * 10**6
# vary: 0.7 in 0.467..0.85
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
# vary: 8 in 2..16
found = overlapped(uneven, 8, lambda size: size)
expect("what two uneven buckets expose", found["exposed_ms"], 7.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_overlapped_2", "locked": true, "points": 3.5, "schema_version": 3, "solution": false, "task": false}
first = overlapped([(9, 0), (1, 5)], 5, lambda size: size)
expect("all of it hidden", first["exposed_ms"], 0.0)
expect("the step is the pass", first["step_ms"], 10.0)
left = overlapped([(9, 0), (1, 5)], 6, lambda size: size)["buckets"]
expect("too little for a bucket", left, [{"bytes": 5, "start_ms": 10.0, "end_ms": 15.0}])
none = overlapped([(0.5, 3), (0, 4)], 4, lambda size: size / 7000)
expect("a layer of 0 ms", [each["start_ms"] for each in none["buckets"]], [0.0, 0.5])
expect("not rounded", none["exposed_ms"], 3 / 7000, rel=1e-9)
alike = overlapped([(1, 3), (1, 3)], 3, lambda size: 1)
expect("free just when the next is full", alike["buckets"][1]["start_ms"], 2.0)
empty = overlapped([(3, 0)], 6, lambda size: 9 + size)
expect("no gradients, no bucket", empty["buckets"], [])
expect("and only the pass", empty["step_ms"], 3.0)
### BEGIN HIDDEN TESTS
# vary: 9 in 5..12
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
# vary: 1.5 in 1.0..2.25
quick = overlapped([(2.5, 4), (1.5, 4), (1.0, 4)], 4, lambda size: 0.25)
expect(
    "an all-reduce that finds the link free starts at once",
    [each["start_ms"] for each in quick["buckets"]],
    [1.0, 2.5, 5.0],
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_overlapped_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
def cost(size):
    return 1.0


alike = [(2.0, 10**7)] * 10
expect_table(
    lambda layers, bucket: overlapped(layers, bucket, cost),
    (
        "no layers; no bucket, one below 0; a negative time; a negative size",
        [([], 10), (alike, -10), ([(-1, 5), (2, 5)], 10), ([(1, 5), (2, -5)], 10)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("the smallest bucket is one byte", len(overlapped(alike, 1, cost)["buckets"]), 10)
expect("no time is a time", overlapped([(0, 5)], 5, cost)["step_ms"], 1.0)
### END HIDDEN TESTS

# %% [markdown]
# **Predict.** On two V100s, 404 gradients are summed one by one, on a stream of their own: 60 of a step's 346 ms.
# What share of that hides behind other kernels?

# %% tags=["guess"]
guess_gpu_hidden = None  # your guess, in percent

# %% nbgrader={"grade": false, "grade_id": "demo_communication", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the gaps between other kernels with a fifth cause, and compares your guess.
import demos

order = ("communication", "data", "copy", "sync", "launch")
for row in record.rows("trace"):
    events, sums = row["trace"]["traceEvents"], cuda.timeline.collectives(row["trace"])
    spans = sorted([*cuda.timeline.host_spans(row["trace"]), *sums], key=lambda span: span[1])
    gaps = gpu_busy([e for e in events if not cuda.timeline.is_collective(e)])["gaps"]
    causes = [gap_causes(*each, order) for each in cuda.timeline.with_host(gaps, spans)]
    called = sum(event["name"] == "nccl:all_reduce" for event in events)
    print(f"{row['name']:<19}{called} all-reduces, {len(sums)} run; {demos.summed(causes)}")
    if sums:
        ran = sum(end - start for _, start, end in sums)
        hidden = 100 - 100 * sum(each["communication"] for each in causes) / ran
        what, source = "hidden, of the all-reduces", record.source(row)
        guesses.compare(what, guess_gpu_hidden, hidden, unit="%", document=source)

# %% [markdown]
# The backward pass is one compiled op, and calls all 404 after its last product.
# In the other trace `DistributedDataParallel` calls 5.
# (Its run has one rank and sends nothing, so its times do not compare.)

# %% nbgrader={"grade": false, "grade_id": "demo_overlap", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Compares your buckets with DDP's own, prints what five sizes expose, and draws one.
import demos

layers = demos.layers_of(models.resnet50, 66)  # a backward pass of 66 ms, of 161 tensors


def exposed(bucket, *link, layers=layers):
    return overlapped(layers, bucket, lambda size: allreduce_ms(size, *link, "ring"))


nvlink, ethernet = (2, 2.6, 17.8), (8, 500, 1.25)  # ranks, µs, GB/s: as fitted; 10 Gbit
yours = exposed(1024**2, *nvlink)["buckets"][:1]  # the first, then the others
yours += exposed(25 * 1024**2, *nvlink, layers=layers[:-2])["buckets"]
print("yours:", [each["bytes"] for each in yours], "DDP's:", demos.sent(record.rows("trace")))
for mb in (0.001, 1, 5, 25, 1000):
    found = (exposed(mb * 1e6, *link)["exposed_ms"] for link in (nvlink, ethernet))
    print(
        f"buckets of {mb} MB: {next(found):.2f} ms exposed by NVLink, {next(found):.1f} by Ethernet"
    )
demos.overlap(exposed(25e6, *ethernet), layers, title="161 tensors, 25 MB, Ethernet")

# %% [markdown]
# **Now choose the cuts yourself.** ResNet-50's 161 gradients on 8 ranks, 20 ms of backward: 41.4 ms one by one, 38.0 all at once.
# Scored as in lesson 06, section 7.
#
# <details><summary>Hint 1: which bucket is always exposed?</summary>The last one. What should it hold?</details>
#
# <details><summary>Hint 2: the best of all</summary>
#
# Let f(j) be the earliest end of the sums of the first j gradients.
# Let the last bucket hold gradients i … j − 1.
# Write f(j) with f(i).
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "gradients", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson import expect_cheaper
from proflab.lesson.race import WORKLOADS

gradients = WORKLOADS["resnet50"]  # (backward_ms, bytes) of each, the last layer's first


def slow_buckets(layers, alpha_ms, ms_per_byte):
    """Return where buckets end: at each gradient."""
    return list(range(len(layers)))


# %% nbgrader={"grade": false, "grade_id": "buckets", "locked": false, "schema_version": 3, "solution": true, "task": false}
def buckets(layers, alpha_ms, ms_per_byte):
    """Return where to end buckets, so that the step ends early: a list of indices of layers.

    layers: (backward_ms, bytes) in the order of the backward pass. A bucket is sent when the
        backward of the layer at its end is done, and holds what has come since the one before. The
        last index, len(layers) - 1, is always an end. The order of the list says nothing.
    An all-reduce takes alpha_ms + bytes · ms_per_byte. One runs at a time, as in overlapped; the
    step ends when the backward pass and the last of them have.

    >>> buckets([(9, 10)], 1.0, 0.5)
    [0]
    """
    ### BEGIN SOLUTION
    there, size, ends, begins = [0.0], [0], [0.0], [0]
    for count, (ms, each) in enumerate(layers, start=1):
        there, size = [*there, there[-1] + ms], [*size, size[-1] + each]
        # The first `count` gradients end earliest if their last bucket begins behind the best i.
        end, begin = min(
            (max(ends[i], there[-1]) + alpha_ms + (size[-1] - size[i]) * ms_per_byte, i)
            for i in range(count)
        )
        ends, begins = [*ends, end], [*begins, begin]
    cuts, left = [], len(layers)
    while left:
        cuts.append(left - 1)
        left = begins[left]
    return cuts[::-1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_buckets", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_cheaper(
    "ResNet-50, 8 ranks, 10 µs, 10 GB/s",
    buckets(gradients, 0.14, 1.75e-7),
    rule="buckets",
    layers="resnet50",
    alpha_ms=0.14,
    ms_per_byte=1.75e-7,
    given=41.35068,
    full=20.31,
)
### BEGIN HIDDEN TESTS
# about: where an all-reduce starts slowly, few buckets are better
expect_cheaper(
    "the same, with 3.6 times the latency",
    buckets(gradients, 0.5, 1.75e-7),
    rule="buckets",
    layers="resnet50",
    alpha_ms=0.5,
    ms_per_byte=1.75e-7,
    given=98.95068,
    full=22.1,
)
# about: a bucket that leaves as soon as the link is free may hold up a larger one
expect_cheaper(
    "twelve layers, small and large in turn",
    buckets([(0.5, 500_000), (3.0, 10_000_000)] * 6, 2.0, 3e-7),
    rule="buckets",
    layers=[(0.5, 500_000), (3.0, 10_000_000)] * 6,
    alpha_ms=2.0,
    ms_per_byte=3e-7,
    given=44.25,
    full=30.5,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_buckets", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws where your buckets stand between one by one and the least that a step can take.
from proflab.lesson import race

link = {"alpha_ms": 0.14, "ms_per_byte": 1.75e-7}
least = sum(ms for ms, _ in gradients) + 0.14 + 1.75e-7 * gradients[-1][1]
drawn = buckets(gradients, **link)
race.plan_picture(drawn, "buckets", full=20.31, floor=least, layers="resnet50", **link)

# %% [markdown]
# Where gradients are accumulated, `with model.no_sync():` around all batches but the last saves their all-reduces.
#
# **Optional.** Speed-ups of 1.9, 3.4 and 5.4 on 2, 4 and 8 cards: is a part serial (Amdahl), or does overhead grow?


# %% nbgrader={"grade": false, "grade_id": "serial_share", "locked": false, "schema_version": 3, "solution": true, "task": false}
def serial_share(speedup, workers):
    """Return the serial share that would explain a speed-up, by Karp and Flatt. (Optional.)

    By Amdahl, 1/speedup is share + (1 - share) / workers. If it grows with the workers, it is
    overhead. speedup: above 0; workers: at least 2. Raises ValueError for a number out of range.

    >>> serial_share(2.0, 3)
    0.25
    """
    ### BEGIN SOLUTION
    if workers < 2 or speedup <= 0:
        raise ValueError("there must be 2 workers, and a speed-up above 0")
    return (1 / speedup - 1 / workers) / (1 - 1 / workers)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_serial_share", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect_table(
    serial_share,
    ("1.9 times on 2 workers", (1.9, 2), 1 / 19),
    ("1.9 times on 4", (1.9, 4), 7 / 19),
    ("3.4 times on 4: it grows", (3.4, 4), 1 / 17),
    ("6 times on 8", (6.0, 8), 1 / 21),
    ("more than all", (5, 4), -1 / 15),
    ("slower than one", (0.8, 5), 1.3125),
    ("one worker; no speed-up, one below 0", [(1.0, 1), (-1, 4)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 16 in 4..64
expect("as many times as fast as there are workers leaves nothing", serial_share(16, 16), 0.0)
expect("no gain means that all is serial", serial_share(1.0, 5), 1.0)
expect("half of the workers' gain", serial_share(4, 8), 1 / 7)
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

    >>> sharded_bytes(1000, 10, stage=3)
    1600.0
    """
    ### BEGIN SOLUTION
    if min(parameters, ranks) < 1 or stage not in (0, 1, 2, 3):
        raise ValueError("parameters and ranks must be at least 1, the stage 0, 1, 2 or 3")
    divided = (0, 12, 14, 16)[stage]
    return float(parameters * (16 - divided + divided / ranks))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_sharded_bytes", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect_table(
    sharded_bytes,
    ("7.5 · 10⁹ parameters, nothing divided", (7.5e9, 64, 0), 120e9),
    ("the optimizer's state on 64 ranks", (7.5e9, 64, 1), 31.40625e9),
    ("the gradients, too", (7.5e9, 64, 2), 16.640625e9),
    ("and the weights", (7.5e9, 64, 3), 1.875e9),
    ("one rank holds all", (10, 1, 3), 160.0),
    (
        "no ranks, no parameters; another stage",
        [(1000, 0, 1), (0, 4, 1), (1000, 4, -1), (1000, 4, 4)],
        ValueError,
    ),
)
expect("a float, not rounded", sharded_bytes(3, 7, 3), 48 / 7)
### BEGIN HIDDEN TESTS
# vary: 8 in 2..16, 4 in 2..9
expect(
    "each stage divides one thing more",
    [sharded_bytes(8, 4, stage) for stage in (1, 2, 3)],
    [56.0, 44.0, 32.0],
)
# vary: 7 in 2..14
expect(
    "ranks need not divide the parameters",
    [sharded_bytes(7, 3, stage) for stage in (0, 1, 2, 3)],
    [112.0, 56.0, 140 / 3, 112 / 3],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "device_save", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# Saves what was measured on a card or on the processor.
record.save()
anywhere.save()

# %% [markdown]
# ## 9 · Which tool for what?
#
# | tool | shows, for example | does not see |
# |---|---|---|
# | `nvidia-smi` | ‡ `58C 69W / 70W 4310MiB / 15360MiB 98%` | which kernels, how much of the card they use |
# | torch.profiler | † `aten::mkldnn_convolution`, self CPU 13.2 ms of 40.0 | what is not torch; what a kernel waits for |
# | Nsight Systems, `nsys profile` | ‡ one timeline of all processes, CUDA, NCCL, and your NVTX ranges | inside a kernel |
# | Nsight Compute, `ncu -k regex:gemm` | ‡ of one kernel: compute 41 %, memory 88 % of peak | overlap: it runs a kernel many times, alone |
# | memory snapshot | ‡ at the peak, `conv1` holds 392 MB | what CUDA and NCCL hold themselves |
# | `py-spy dump --pid 4242` | † `MaxPool2d.forward`, called by `train (train.py)` | the card: `.item()` looks busy |
# | `perf stat -p 4242` | † 0.28 processors used, 757 context switches a second: it waits | Python's lines, the card |
#
# († Recorded: `train.py` with a worker, on a processor, torch 2.13. ‡ Made up.)
# Go from coarse to fine.
#
# ## Reflect
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
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# The numbers are those of the constructed document; a notebook that ran on a card prints its own.
#
# - *1 point:* The document is named: constructed, or card and date.
# - *1 point:* From 320 to 932 images/s, 2.91 times in all, with the batches (`demo_parts`).
# - *1 point:* A step as a ratio with its interval: 1.375 (1.362 to 1.396) for the first (`demo_parts`).
# - *1 point:* Each change's share of the way, in logarithms, 29, 42, 8, 11 and 10 % (`demo_report`).
# - *1 point:* The first step's cause: of 51 ms idle in a step of 149 ms, 33 are data, on the V100 that was traced (`demo_causes`).
# - *1 point:* Another step's cause, by op, bytes or frame; or that a step switches two things, as “compile, one shape” does (`demo_parts`).
# - *1 point:* Checkpointing did not help, 0.880, and why: another forward pass.
# - *1 point:* An interaction computed, 2.67 on the CPU that was measured, and what it means (`demo_pairwise`).
# - *1 point:* The MFU, 15.3 % of 65 TFLOP/s, and HFU is not taken for it (`demo_mfu`).
# - *1 point:* A second card: the exposed ms against the step, on a named link (`allreduce_ms`, `overlapped`).
#
# **A good answer (10).** A table of five rows with intervals and causes, and two paragraphs.
#
# **A poor answer (1: item 2).** A list of what was switched on, “320 to 932 images/s, 2.9 times as fast on a T4, batch 128”, without intervals, causes or “constructed”.
# ### END SOLUTION

# %% tags=["milestone"]
# You can say of any trace for how long the card idled, and what it waited for.
"; ".join(
    f"{row['name']}: {found['busy'] / (found['busy'] + found['idle']):.0%} busy, "
    f"longest gap {(gap[1] - gap[0]) / 1e3:.1f} ms, mostly {max(causes, key=causes.get)}"
    for row in record.rows("trace")
    for found in [gpu_busy(row["trace"]["traceEvents"])]
    for gap in [max(found["gaps"], key=lambda gap: gap[1] - gap[0])]
    for _, host in cuda.timeline.with_host([gap], cuda.timeline.host_spans(row["trace"]))
    for causes in [gap_causes(gap, host)]
)

# %% [markdown]
# ## Summary
#
# - A gap on the card has its cause on the host: data, copy, sync, or launches. <!-- with gap_causes -->
# - Steps multiply: report ratios with intervals, and shares in logarithms. Order and pairs matter. <!-- with section 4 -->
# - MFU counts what training needs; recomputing raises only HFU. <!-- with training_mfu -->
# - In a ring each rank sends nearly twice the array. Buckets weigh latency against overlap. <!-- with ring_allreduce -->
#
# | what you see | the wall | what to do |
# |---|---|---|
# | long gaps, data | loader | workers, decoded files, pinned memory | <!-- with gap_causes -->
# | gaps after each `.item()`, copies | waiting | log every 100 steps, `non_blocking=True` | <!-- with gap_causes -->
# | many short gaps, launches | overhead | larger batch, `torch.compile`, CUDA graphs | <!-- with gap_causes -->
# | no gaps, elementwise ops on top | memory | mixed precision, fusion, channels-last | <!-- with ops_table -->
# | no gaps, products on top | compute | tensor cores, fewer FLOPs, another card | <!-- with ops_table -->
# | recompilations | compiler | `dynamic` left alone, `mark_dynamic`, one shape | <!-- with section 4 -->
# | exposed all-reduce | link | buckets, `no_sync`, a faster link, larger batch | <!-- with allreduce_ms -->
#
# **Next.** Lesson 12: what a token costs. <!-- with lesson 12 -->
# `proflab assemble` joins your functions in one file. <!-- with lesson 12 -->
# **Next.** `proflab assemble` joins your functions in one file. <!-- without lesson 12 -->
