# ---
# jupyter:
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
# # 09 · Measure, diagnose, fix, measure
#
# ![Three bars, from 1 to about nine times as fast: what a step gains when its loading, then its attention, then its list of losses is fixed, with intervals; a diamond says what a fix gives alone.](waterfall.png) <!-- with section 7 -->
#
# Beside this notebook is a training script, `slow_training.py`: correct, and it wastes most of its time.
# A list of quick wins does not know your program.
# Your profiler does.
# You find out where the script loses its time and what each fix can give at most, write the fast parts, and put them together: this picture, for your own machine. <!-- with accumulate -->
# You find out where the script loses its time and what each fix can give at most, write its attention anew, and see what all fixes give together: this picture, for your own machine. <!-- with section 7, without accumulate -->
#
# **You will be able to**
#
# - tell from a profile what is worth fixing, and what the whole can gain;
# - explain what fusion and tiles save, what hides loading, and how training survives 16 bits; <!-- with simulate_loader, half_gradients -->
# - explain what fusion and tiles save; <!-- with through_tiles, without simulate_loader -->
# - explain what fusion saves; <!-- without through_tiles -->
# - make a step faster within the memory that there is, and say with an interval what each fix gave. <!-- with accumulate -->
# - make a step faster, and say with an interval what each fix gave. <!-- without accumulate -->
#
# **You need** lessons 04 to 06 and 08, and attention from lesson 02. <!-- with lesson 04, lesson 08 -->
# **You need** lessons 05 and 06, and attention from lesson 02. <!-- without lesson 04 -->
# Arguments stay as they are, and a tuple does for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import itertools
import math

import numpy as np
from built import find_leak, rows_of, run_order, saved_activations, speedup_interval
from slow_training import batches, begin, slow_step

from proflab import Tensor, nn
from proflab.lesson import doubles, expect, expect_table, guesses, noise

# %% [markdown]
# ## 1 · Where would it pay?
#
# Amdahl's law (lesson 06) says what the whole gains if a part becomes faster. <!-- with lesson 06 amdahl -->
# If a part becomes faster, the whole gains at most that part's share of the time: this is *Amdahl's law*. <!-- without lesson 06 amdahl -->
# But how much faster *can* the part become?
# No op beats its roof: it takes at least FLOPs/peak, and at least bytes/bandwidth.
# Suppose that a step of 100 ms spends
#
# - 40 ms on loading data, without any FLOPs;
# - 50 ms on a linear layer, with 4.5 · 10⁹ FLOPs and 10⁷ bytes;
# - 10 ms on a GELU, with 8 · 10⁶ FLOPs and 1.6 · 10⁷ bytes,
#
# on a machine with 10¹¹ FLOP/s and 10¹⁰ bytes/s.
# At its roof the linear layer takes 45 ms: at best the whole becomes 100/95 = 1.05 times as fast.
# The GELU would take 1.6 ms: 100/91.6 = 1.09.
# Loading need not take any of the training's time: 100/60 = 1.67.
# So the largest share is the worst target.
#
# **Predict.** Open `slow_training.py` and read `slow_step`.
# What share of a step's time does it spend on loading data?

# %% tags=["guess"]
guess_loading_share = None  # your guess, in percent


# %% nbgrader={"grade": false, "grade_id": "rows_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import demos
from built import measurement_warnings

from proflab.lesson.hardware import Hardware
from proflab.lesson.recording import columns, row_name, work_and_traffic


# %% nbgrader={"grade": false, "grade_id": "diagnose", "locked": false, "schema_version": 3, "solution": true, "task": false}
def diagnose(rows, hardware):
    """Return for each name how much faster the whole would be if that name ran at its roof.

    rows: dicts of lesson 05's recorder. row_name(row) is a row's name, row["self_ms"]
        its time, and work_and_traffic([row]) its FLOPs and bytes.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    At its roof a row takes the larger of FLOPs / peak_flops and bytes / bandwidth, but never longer
    than it took.
    Returns a list of dicts: name; share, the name's part of all self_ms; best, the sum of all
    self_ms over what it would be with this name's rows at their roofs (math.inf if that is 0). The
    largest best comes first; equal ones stay in the order in which the names first occur.
    Raises ValueError if all self_ms are 0.

    >>> act, add = doubles.forward_row("relu", "act", 3.0), doubles.forward_row("add", "m", 1.0)
    >>> diagnose([act, add], Hardware(peak_flops=1e9, bandwidth=1e9))[0]
    {'name': 'relu', 'share': 0.75, 'best': 4.0}
    """
    ### BEGIN SOLUTION
    total = sum(row["self_ms"] for row in rows)
    if not total:
        raise ValueError("there is no time to divide: no rows, or none that took any")
    spent, saved = {}, {}
    for row in rows:
        flops, moved = work_and_traffic([row])
        roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
        name = row_name(row)
        spent[name] = spent.get(name, 0.0) + row["self_ms"]
        saved[name] = saved.get(name, 0.0) + max(0.0, row["self_ms"] - roof)
    found = [
        {
            "name": name,
            "share": ms / total,
            "best": total / (total - saved[name]) if total > saved[name] else math.inf,
        }
        for name, ms in spent.items()
    ]
    return sorted(found, key=lambda row: row["best"], reverse=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_diagnose", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
row, machine = doubles.forward_row, Hardware(peak_flops=100e9, bandwidth=10e9)
products = {"matmul_flops": 4_000_000_000, "elementwise_flops": 500_000_000}
step = [
    row("linear", "fc", 50.0, **products, bytes_read=6_000_000, bytes_written=4_000_000),
    row("region", "loading", 40.0),
    row("gelu", "act", 10.0, elementwise_flops=8_000_000, bytes_read=16_000_000),
]
found = diagnose(step, machine)
expect(
    "shares, in the order of the best",
    columns(found, "name", "share"),
    [["loading", 0.4], ["gelu", 0.1], ["linear", 0.5]],
    mistakes={"the largest share first": [["linear", 0.5], ["loading", 0.4], ["gelu", 0.1]]},
)
expect(
    "best",
    [each["best"] for each in found],
    [100 / 60, 100 / 91.6, 100 / 95],
    mistakes={
        "as if each name took no time": [100 / 50, 100 / 60, 100 / 90],
        "without the bytes": [100 / 60, 100 / 90.08, 100 / 95],
    },
)
many = [row("region", f"part {n}", 1.0) for n in range(39)]
many = diagnose([row("relu", "m", 1.0, bytes_written=20_000_000), *many], machine)
expect("forty names, one at its roof", [len(many), many[-1]["best"]], [40, 1.0])
twice = [
    row("add", "m", self_ms=4.0, ms=9.0),
    row("relu", "m", 3.0, bytes_read=5_000_000, bytes_written=5_000_000),
    row("relu", "m", 4.0, elementwise_flops=200_000_000),
    row("mul", "m", 4.0),
    row("relu", "m", 1.0, bytes_written=20_000_000) | {"phase": "backward"},
]
close = [
    row("exp", "m", 0.125003),
    row("sum", "m", 0.125103),
    row("add", "m", 0.749894, elementwise_flops=74_900_000),
]
given = [dict(each) for each in twice]
expect_table(
    lambda rows, hardware: columns(diagnose(rows, hardware), "name", "share", "best"),
    (
        "rows of one name, some faster than the roof; equal ones in their order",
        (twice, machine),
        [["add", 0.25, 16 / 12], ["relu", 0.5, 16 / 12], ["mul", 0.25, 16 / 12]],
    ),
    (
        "the same rows on another machine",
        (twice, Hardware(peak_flops=100e9, bandwidth=4e9)),
        [["add", 0.25, 4 / 3], ["mul", 0.25, 4 / 3], ["relu", 0.5, 16 / 13.5]],
    ),
    (
        "close together, and far below 1 ms",
        (close, machine),
        [
            ["sum", 0.125103, 1 / 0.874897],
            ["exp", 0.125003, 1 / 0.874997],
            ["add", 0.749894, 1 / 0.999106],
        ],
    ),
    (
        "nothing would be left",
        ([row("region", "loading", 40.0)], machine),
        [["loading", 1.0, math.inf]],
    ),
    rel=1e-9,
)
expect("the rows stay as they are", twice == given, True)
### BEGIN HIDDEN TESTS
# vary: 2e12 in 1.8e12..2.2e12, 500e9 in 4.5e11..5.5e11
card = Hardware(peak_flops=2e12, bandwidth=500e9)
# vary: 300000000 in 250_000_000..350_000_000, 200000000 in 150_000_000..250_000_000
rows = doubles.made_up(
    "op phase ms self_ms matmul_flops elementwise_flops bytes_read bytes_written",
    ("softmax", "forward", 8.0, 8.0, 0, 40_000_000, 300_000_000, 200_000_000),
    ("matmul", "forward", 20.0, 20.0, 30_000_000_000, 0, 50_000_000, 50_000_000),
    ("softmax", "backward", 12.0, 12.0, 0, 60_000_000, 700_000_000, 300_000_000),
    ("region optimizer", "region", 50.0, 10.0, 0, 0, 0, 0),
)
expect(
    "a name's rows count together, each with its own roof",
    columns(diagnose(rows, card), "name", "best"),
    [["softmax", 50 / 33], ["optimizer", 50 / 40], ["matmul", 50 / 45]],
)
expect("a row has three keys", sorted(diagnose(rows, card)[2]), ["best", "name", "share"])
expect("self_ms counts, not ms", columns(diagnose(rows, card), "share"), [[0.4], [0.2], [0.4]])
# viva: r = doubles.forward_row; diagnose([r('add', '', 3.0), r('exp', '', 1.0)], Hardware(1e9,
#     1e9))[0]['best']
# viva: r = doubles.forward_row; diagnose([r('add', '', 3.0), r('exp', '', 1.0)], Hardware(1e9,
#     1e9))[1]['share']
# viva: r = doubles.forward_row; [d['name'] for d in diagnose([r('add', '', 1.0), r('exp', '',
#     3.0)], Hardware(9.0, 9.0))]
# viva: r = doubles.forward_row('add', '', 4.0, 0, 0, 1000, 0); diagnose([r], Hardware(1e9,
#     1e6))[0]['best']
# viva: r = doubles.forward_row('add', '', 4.0, 900, 100, 2, 3); diagnose([r], Hardware(5e5,
#     1e6))[0]['best']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_diagnose_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
row, machine = doubles.forward_row, Hardware(peak_flops=100e9, bandwidth=10e9)
expect_table(
    lambda rows: diagnose(rows, machine),
    ("no rows; no time", [([],), ([row("gelu", "act", 0.0, bytes_read=8)],)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 2.5 in 2.0..3.0
waits = [doubles.forward_row("region", kind, 2.5) for kind in ("reading", "decoding")]
card = Hardware(peak_flops=2e12, bandwidth=500e9)
expect(
    "two names that wait: each alone leaves the other",
    columns(diagnose(waits, card), "name", "best"),
    [["reading", 2.0], ["decoding", 2.0]],
)
waits.append(doubles.forward_row("relu", "act", 5.0, bytes_written=500_000_000))
expect(
    "a name that runs twice as long as at its roof",
    columns(diagnose(waits, card), "name", "best"),
    [["relu", 10 / 6], ["reading", 10 / 7.5], ["decoding", 10 / 7.5]],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_slow", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# What your diagnosis says of the slow script, and which function's memory stays after a step.
noise.show_load()
found = demos.diagnosed(diagnose, demos.slow_runs(rows_of), demos.roofs())
for name, share, best in columns(found[:8], "name", "share", "best"):
    print(f"{name:<16}{share:6.1%} of the time; best: {noise.shown(best, '× as fast')}")
share = next(row["share"] for row in found if row["name"] == "data loading")
guesses.compare("loading's share", guess_loading_share, round(100 * share), unit="%")
model, state = begin()
batch = next(batches(state["images"].names, 32, seed=1))
leak = find_leak(lambda: slow_step(model, batch, state), demos.demo_size(4, 2))
print(f"a step leaves {leak['bytes_per_step'] / 1024**2:.1f} MB, allocated in {leak['function']}")

# %% [markdown]
# Two of the three bottlenecks show in the rows, the third in the last line: memory that grows has no row, and kills the process hours later.
# Read `best` with care: it takes every op as given.
# An op at its roof may still be superfluous: several of these rows belong to one attention.
#
# ## 2 · Feed the model
#
# While the main program loads a batch, the model waits; while the model computes, nothing is loaded.
# *Workers*, separate threads or processes, load the next batches meanwhile. torch's `DataLoader` has by default a simple rule: worker w of W loads the batches w, w + W, w + 2W and so on.
# Each worker may be `prefetch` (torch: `prefetch_factor`) batches ahead of the main program, which takes them in order.
#
# Eight batches of 30 ms each, with steps of 10 ms: without workers, 8 · 40 = 320 ms.
# One worker delivers a batch every 30 ms, and the last step follows: 8 · 30 + 10 = 250.
# With three workers there is a batch for every step, after the first 30 ms: 30 + 8 · 10 = 110.
# So you need ⌈load time/step time⌉ workers, and *prefetching* evens out slow and fast batches.
#
# <details><summary>Hint 1: what must be true before a worker begins a batch?</summary>
#
# Draw a timeline for each of two workers, and below them one for the main program.
# Three moments matter for a batch: when it is asked for, when its worker is free, when the main program comes to take it.
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# One loop over the batches in order.
# Keep when each worker becomes free and when each batch was taken.
# The batch W · prefetch places earlier tells when this one was asked for.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "simulate_loader", "locked": false, "schema_version": 3, "solution": true, "task": false}
def simulate_loader(load_ms, step_ms, workers, prefetch=2):
    """Return how long an epoch takes, and how long the training waits for data, as a dict.

    load_ms: the ms that each batch takes to load. step_ms: those of a step. Above 0.
    workers: at least 0; with 0 the main program loads each batch itself, before its step.
    prefetch: at least 1.
    Worker w of W loads batch w and each W-th after it, in order, one at a time, once asked for:
    the first W * prefetch batches at the start, one more each time that the main program
    takes one. It takes them in order, each as soon as it is loaded and the step before has ended.
    Keys: total_ms, until the last step ends; wait_ms, in which no step runs.
    Numbers out of range raise ValueError.

    >>> simulate_loader([30, 30], 10, workers=1)
    {'total_ms': 70, 'wait_ms': 50}
    """
    ### BEGIN SOLUTION
    if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
        raise ValueError("an epoch has batches, each with a time above 0; prefetch is at least 1")
    if workers == 0:
        return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}
    now = wait = 0
    free, taken = [0] * workers, []
    for number, ms in enumerate(load_ms):
        ahead = number - workers * prefetch
        asked = taken[ahead] if ahead >= 0 else 0
        worker = number % workers
        free[worker] = max(free[worker], asked) + ms
        taken.append(max(now, free[worker]))
        wait += taken[-1] - now
        now = taken[-1] + step_ms
    return {"total_ms": now, "wait_ms": wait}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_simulate_loader", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
even, tiny = [30] * 8, [0.0101237, 0.0202003, 0.0100001]
late = [60] * 90 + [900] + [60] * 9
expect_table(
    simulate_loader,
    ("one batch, one worker", ([30], 10, 1), {"total_ms": 40.0, "wait_ms": 30.0}),
    ("no workers", (even, 10, 0), {"total_ms": 320.0, "wait_ms": 240.0}),
    (
        "one worker",
        (even, 10, 1),
        {"total_ms": 250.0, "wait_ms": 170.0},
        {"only the first wait": {"total_ms": 250.0, "wait_ms": 30.0}},
    ),
    ("two workers", (even, 10, 2), {"total_ms": 140.0, "wait_ms": 60.0}),
    ("three workers", (even, 10, 3), {"total_ms": 110.0, "wait_ms": 30.0}),
    ("twelve workers, a slow batch late", (late, 5, 12), {"total_ms": 1370.0, "wait_ms": 870.0}),
    ("slow steps", ([10, 10, 10], 50, 1), {"total_ms": 160.0, "wait_ms": 10.0}),
    ("far below 1 ms", (tiny, 0.0050009, 1), {"total_ms": 0.045325, "wait_ms": 0.0303223}),
    rel=1e-9,
)
### BEGIN HIDDEN TESTS
expect_table(
    simulate_loader,
    # vary: 40 in 25..49, 4 in 2..9
    (
        "each worker has its own batches: none takes over another's",
        ([9, 40, 9, 9, 40, 9, 9, 40, 9], 4, 3, 3),
        {"total_ms": 128.0, "wait_ms": 92.0},
    ),
    # vary: 7 in 7..48, 90 in 49..112, 3 in 2..9
    (
        "without workers each load is waited for",
        ([5, 7, 90], 3, 0),
        {"total_ms": 111.0, "wait_ms": 102.0},
    ),
    # vary: 0.5 in 0.333..0.75, 0.25 in 0.167..0.375, 0.125 in 0.0833..0.188
    (
        "times need not be whole numbers",
        ([0.5, 0.25], 0.125, 1),
        {"total_ms": 0.875, "wait_ms": 0.625},
    ),
    # vary: 0.0010037 in 0.0009..0.0015 by 0.0000001
    (
        "times are not rounded",
        ([0.0010037, 0.0020011], 0.000501, 1),
        {"total_ms": 0.0035058, "wait_ms": 0.0025038},
    ),
    rel=1e-9,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_simulate_loader_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
uneven, long = [8] * 8 + [60] + [8] * 7, [8] * 40 + [400] + [8] * 7
expect_table(
    simulate_loader,
    (
        "a slower batch, sixteen in advance",
        (long, 10, 2, 16),
        {"total_ms": 640.0, "wait_ms": 160.0},
    ),
    ("two in advance, by default", (uneven, 10, 2), {"total_ms": 188.0, "wait_ms": 28.0}),
    ("four in advance", (uneven, 10, 2, 4), {"total_ms": 172.0, "wait_ms": 12.0}),
    (
        "a slow batch holds up its worker",
        ([10, 50] * 3, 5, 2, 4),
        {"total_ms": 155.0, "wait_ms": 125.0},
    ),
    ("asked for late", ([1, 1, 40, 1], 20, 1, 1), {"total_ms": 101.0, "wait_ms": 21.0}),
    ("other steps, the same batches", (uneven, 45, 2), {"total_ms": 728.0, "wait_ms": 8.0}),
)
named = simulate_loader(prefetch=1, workers=2, step_ms=10, load_ms=uneven)
expect("one in advance, by name", named, {"total_ms": 208.0, "wait_ms": 48.0})
expect("the list stays as it is", uneven, [8] * 8 + [60] + [8] * 7)
### BEGIN HIDDEN TESTS
expect_table(
    simulate_loader,
    # vary: 6 in 5..7, 70 in 40..87, 9 in 2..18
    (
        "prefetch counts for each worker",
        ([6, 6, 70] + [6] * 6, 9, 2, 3),
        {"total_ms": 139.0, "wait_ms": 58.0},
    ),
    # vary: 12 in 7..12, 40 in 28..49, 15 in 13..22
    (
        "with one batch in advance a worker idles while the step runs",
        ([12, 12, 12, 12, 40, 12], 15, 1, 1),
        {"total_ms": 127.0, "wait_ms": 37.0},
    ),
    # vary: 9 in 9..14, 20 in 15..29, 6 in 2..12
    (
        "an epoch of 160 batches",
        ([7, 9, 8, 20] * 40, 6, 2, 3),
        {"total_ms": 1166.0, "wait_ms": 206.0},
    ),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_simulate_loader_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    simulate_loader,
    (
        "no batches; no time; workers below 0; prefetch below 1, also without workers",
        [
            ([], 10, 2),
            ([30, 0], 10, 2),
            ([30], 0, 2),
            ([30], 10, -1),
            ([30], 10, 1, 0),
            ([30], 10, 0, -1),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    simulate_loader,
    # vary: 7 in 2..14, 9 in 2..18
    ("more workers than batches", ([7, 9], 1, 8), {"total_ms": 10.0, "wait_ms": 8.0}),
    # vary: 25 in 16..37, 5 in 2..10
    ("one batch", ([25], 5, 3), {"total_ms": 30.0, "wait_ms": 25.0}),
    # vary: 4 in 4..9
    ("one batch more than may be asked for", ([4, 4], 3, 1, 1), {"total_ms": 11.0, "wait_ms": 5.0}),
)
### END HIDDEN TESTS

# %% [markdown]
# Does the rule hold for real workers?
# The next cell runs what your function predicts; a step sleeps for a quarter of the loading time.
# The batches are the script's PNG files, then large blocks that zlib decompresses.
#
# **Predict.** By what factor do two threads shorten an epoch of PNG files, compared with none?

# %% tags=["guess"]
guess_two_threads = None  # your guess: a factor

# %% nbgrader={"grade": false, "grade_id": "demo_loader", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Epochs with none, one and two loading threads, as your function predicts them and as they are.
noise.show_load()
count, gains, how = demos.demo_size(24, 6), {}, {"warn": measurement_warnings}
for kind in ("png", "zlib"):
    loads, totals = demos.load_times(count, kind), []
    step = sum(loads) / count / 4
    for workers in (0, 1, 2):
        said = simulate_loader(loads, step, workers)["total_ms"]
        seen = [demos.run_loader(workers, step, count, kind) for _ in range(demos.demo_size(5, 2))]
        what = f"{kind}, threads: {workers}; {said:.0f} ms predicted, measured"
        totals.append(noise.tell(what, [run["total_ms"] for run in seen], "ms", **how))
    gains[kind] = totals[0] / totals[2]
demos.tell_on_one_processor(step, count, **how)
guesses.compare("two threads for PNG files", guess_two_threads, gains["png"], unit="times as fast")
demos.timeline(seen[-1]["spans"], title="zlib: two threads load, the main program takes steps")

# %% [markdown]
# Workers must not hold each other up.
# Threads that run Python do: in the usual build of Python they share one interpreter, whose lock lets one of them run at a time.
# `decode` is Python code, so a second thread gains nothing; torch's workers are processes for this reason.
# C code such as zlib's releases the lock, and the prediction comes true if processors are free.
# On one processor (`taskset -c 0`), a second thread gains nothing.
#
# Turn by turn is a poor plan if some batches are slow: behind each of them, fast ones wait for the same worker.
# Give them out yourself.
# `images48` has 48 batches of 20 to 120 ms, and there are four workers.
# Turn by turn takes 768 ms; no plan can beat 507.5 ms, a quarter of the sum.
# Your plan is scored as in lesson 06, section 7.

# %% nbgrader={"grade": false, "grade_id": "loader_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson import expect_cheaper, race

images48 = race.WORKLOADS["images48"]


def turn_by_turn(load_ms, workers, room, step_ms):
    """Return the worker of each batch, as torch's loader chooses it."""
    return [batch % workers for batch in range(len(load_ms))]


# %% nbgrader={"grade": false, "grade_id": "loader_plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def loader_plan(load_ms, workers, room, step_ms):
    """Return which worker loads each batch, so that the epoch ends as early as possible.

    load_ms: the ms that each batch takes to load. workers: at least 1. step_ms: those of a step.
    room: how many batches may be loading or waiting at once.
    A worker loads its batches in order, one at a time. Batch i is begun when its worker is free and
    batch i - room has been taken. The main program takes the batches in order, each as soon as it
    is loaded and the step before has ended.
    Returns a list of ints, from 0 to workers - 1.

    >>> loader_plan([20], workers=1, room=1, step_ms=9)
    [0]
    """
    ### BEGIN SOLUTION
    free, taken, owners, now = [0.0] * workers, [], [], 0.0
    for batch, ms in enumerate(load_ms):
        worker = free.index(min(free))
        begun = max(free[worker], taken[batch - room] if batch >= room else 0.0)
        free[worker] = begun + ms
        taken.append(max(now, free[worker]))
        now = taken[-1] + step_ms
        owners.append(worker)
    return owners
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_loader_plan", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_cheaper(
    "48 batches, four workers",
    loader_plan(images48, 4, 8, 9),
    rule="loader",
    load_ms="images48",
    workers=4,
    room=8,
    step_ms=9,
    given=768,
    full=629.3,
    best=600,
)
### BEGIN HIDDEN TESTS
# about: a batch goes to the worker that is free first, whatever the loads
expect_cheaper(
    "20 batches, two workers",
    loader_plan(
        [40, 10, 60, 10, 50, 10, 10, 10, 70, 10] + [30, 10, 20, 10, 90, 10, 10, 10, 40, 10], 2, 5, 7
    ),
    rule="loader",
    load_ms=[40, 10, 60, 10, 50, 10, 10, 10, 70, 10, 30, 10, 20, 10, 90, 10, 10, 10, 40, 10],
    workers=2,
    room=5,
    step_ms=7,
    given=434,
    full=315.2,
)
expect_cheaper(
    "15 batches, three workers",
    loader_plan([60, 12, 18, 12, 60, 12, 60, 12, 18, 12, 60, 12, 60, 12, 18], 3, 7, 6),
    rule="loader",
    load_ms=[60, 12, 18, 12, 60, 12, 60, 12, 18, 12, 60, 12, 60, 12, 18],
    workers=3,
    room=7,
    step_ms=6,
    given=222,
    full=183.6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_plan", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Two epochs of the 48 batches: turn by turn, and by your plan.
plans = {"turn by turn": turn_by_turn, "your plan": loader_plan}
for name, plan in plans.items():
    spans = demos.planned(plan(images48, 4, 8, 9), images48, 8, 9)
    print(f"{name}: {spans[-1][3]:,.0f} ms, of which the steps take {48 * 9} ms")
demos.timeline(spans, title="Your plan: 48 batches, four workers")

# %% [markdown]
# The file format matters as much.
# The same images can be a file each; one array; one *memory-mapped file*, of which the system reads the pages that you touch; or compressed.
# A file that was read before is *warm*: the system keeps its pages in memory.
# *Cold* means from the disk.

# %% nbgrader={"grade": false, "grade_id": "demo_formats", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# File formats: what reading all images takes, and reading one.
noise.show_load()
print(f"{'times in ms':<18}{'MB':>8}{'all, cold':>11}{'all, warm':>11}{'one image':>11}")
for row in demos.formats(demos.demo_size(1500, 60)):
    row["cold_ms"] = "not told" if row["cold_ms"] is None else f"{row['cold_ms']:.1f}"
    print("{format:<18}{mb:8.2f}{cold_ms:>11}{warm_ms:11.1f}{one_ms:11.3f}".format(**row))
if row["format"].endswith("tmpfs"):  # the last row, on Linux
    print("(tmpfs is memory that looks like a disk: nothing in it is cold)")

# %% [markdown]
# For shuffled training, one array mapped into memory is hard to beat: an image costs only its own pages.

# %% nbgrader={"grade": false, "grade_id": "demo_loaders", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# What each option of a loader changes, who measured what of it, and two worker processes here.
print("\n".join(demos.loaders()))

# %% [markdown]
# ## 3 · Half the bits
#
# float16 halves the bytes, and a GPU's tensor cores multiply it several times as fast.
# It has 1 bit for the sign, 5 for the exponent and 10 for the fraction.
# Its largest number is 65,504, its smallest normal one 6.10 · 10⁻⁵; below that the steps are 2⁻²⁴ = 5.96 · 10⁻⁸, and anything up to half a step becomes 0.
# The cure is *loss scaling* ([Micikevicius et al. 2018](https://arxiv.org/abs/1710.03740)).
# Multiply the loss by a scale, and backward multiplies each gradient by it.
# Divide in float32, where small numbers survive.
# A gradient of 2⁻²⁵ becomes 0; at scale 1,024 it is 2⁻¹⁵, exact, and after the division 2⁻²⁵ again.
# At too large a scale, gradients overflow to infinity: then this step must be skipped.
# This is the method of T4 and V100: bfloat16, with float32's exponents, needs no scale.


# %% nbgrader={"grade": false, "grade_id": "half_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def half_gradients(gradients, scale):
    """Return gradients as they come out of a backward pass in float16 with a scaled loss, or None.

    gradients: a float32 array of any shape. It stays as it is.
    scale: a number above 0, by which the loss, and so each gradient, is multiplied.
    Multiplies by scale in float32, rounds to float16, goes back to float32, and divides by scale.
    Returns a float32 array of the same shape; None if any scaled gradient is infinite or NaN in
    float16. Warns of nothing. Raises ValueError for a scale that is not above 0.

    >>> half_gradients(np.array([2.0**-25, 0.5], np.float32), 1).tolist()
    [0.0, 0.5]
    """
    ### BEGIN SOLUTION
    if not scale > 0:
        raise ValueError(f"the scale must be above 0, not {scale}")
    scale = np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (gradients * scale).astype(np.float16)
    if not np.isfinite(half).all():
        return None
    return half.astype(np.float32) / scale
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_half_gradients", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def halved(gradients, scale):
    return half_gradients(gradients, scale).tolist()


tiny = np.array([2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)], np.float32)
large = np.array([[0.5, 0.25], [-0.1, 3.0]], np.float32)
expect_table(
    halved,
    ("the loss as it is", (tiny, 1), [2.0**-20, 2.0**-24, 0.0, 0.0]),
    (
        "scaled by 1,024",
        (tiny, 1024),
        [2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)],
        {
            "divided in float16": [2.0**-20, 2.0**-24, 0.0, 0.0],
            "not multiplied": [2.0**-30, 2.0**-34, 0.0, 0.0],
            "not divided": [2.0**-10, 2.0**-14, 2.0**-15, -(2.0**-16)],
        },
    ),
    ("2**16 is a scale, though no float16", (tiny[2:], 2**16), [2.0**-25, -(2.0**-26)]),
    ("rounded to 11 bits", (large, 2.0**10), [[0.5, 0.25], [-0.0999755859375, 3.0]]),
)
expect(
    "the array stays as it is",
    tiny.tolist(),
    [2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)],
    mistakes={"changed in place": [2.0**-10, 2.0**-14, 2.0**-15, -(2.0**-16)]},
)
expect("the type", str(half_gradients(large, 2.0**10).dtype), "float32")
### BEGIN HIDDEN TESTS
wide = np.array([[3.0e-6, -7.0e-8, 1.0e-3]], np.float32)
# vary: 1000 in 900..1_000
expect(
    "a scale that is no power of two",
    half_gradients(wide, 1000).tolist(),
    [[3.000259312e-06, -6.997585444e-08, 1.0e-03]],
    rel=1e-6,
)
expect(
    "below the smallest normal number bits are lost",
    half_gradients(np.array([1.0e-7], np.float32), 1).tolist(),
    [2.0**-23],
)
zeros = np.zeros((2, 1), np.float32)
# vary: 65536 in 43_690..98_304
expect("zeros stay zeros", half_gradients(zeros, 65536).tolist(), [[0.0], [0.0]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_half_gradients_2", "locked": true, "points": 3.5, "schema_version": 3, "solution": false, "task": false}
border, none = np.array([65519.0, -65520.0], np.float32), np.zeros((0, 3), np.float32)
expect_table(
    lambda gradients, scale: doubles.quietly(half_gradients, gradients, scale),
    ("3.0 at 2**17 is too large, without a warning", (np.float32([[0.5], [3.0]]), 2**17), None),
    ("65,520 is too large", (border, 1), None),
    ("not a number", (np.float32([1.0, np.nan]), 2), None),
)
expect("65,519 is rounded to the largest", half_gradients(border[:1], 1).tolist(), [65504.0])
expect("no gradients", np.shape(half_gradients(none, 8)), (0, 3))
### BEGIN HIDDEN TESTS
expect_table(
    half_gradients,
    ("infinity stays an overflow at any scale", (np.float32([np.inf, 1.0]), 2.0**-10), None),
    # vary: 65536 in 43_690..98_304
    ("what overflows float32 overflows float16", (np.float32([1.0e38]), 65536), None),
)
other = half_gradients(np.float32([2.0**-24 * 1.5, 32768.0]), 1)
expect("between two steps, and the largest power of two", other.tolist(), [2.0**-23, 32768.0])
least = half_gradients(np.float32([-65519.0]), 1)
expect("-65,519 is rounded to the lowest", least.tolist(), [-65504.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_half_gradients_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
half = np.float32([0.5, -3.0])
expect_table(half_gradients, ("a scale of 0, or below", [(half, 0), (half, -2)], ValueError))
### BEGIN HIDDEN TESTS
coarse = half_gradients(np.float32([3.0, 1.0]), 2.0**-26)
expect("at a scale of 2**-26 the steps are 4", coarse.tolist(), [4.0, 0.0])
# vary: 0.25 in 0.167..0.375
expect("a scale below 1", half_gradients(np.float32([8.0, 1.5]), 0.25).tolist(), [8.0, 1.5])
### END HIDDEN TESTS

# %% [markdown]
# Which scale?
# Nobody knows, and it changes.
# So start high, halve it whenever a step overflowed, and double it after many good steps in a row: that is `scale_after`.


# %% nbgrader={"grade": false, "grade_id": "scale_after", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scale_after(overflows, scale=2**16, growth=2, backoff=0.5, interval=2000):
    """Return the loss scale after each step, as a list of numbers.

    overflows: for each step, in order, True (or 1) if a gradient overflowed; may be empty.
    scale: before the first step, above 0. growth: above 1. backoff: above 0 and below 1.
    interval: int, at least 1.
    A step that overflows multiplies the scale by backoff. The last of `interval` steps in a row
    without overflow multiplies it by growth. After either, counting begins anew at 0.
    Numbers out of range raise ValueError.

    >>> scale_after([1, 0, 0], scale=64, interval=2)
    [32.0, 32.0, 64.0]
    """
    ### BEGIN SOLUTION
    if scale <= 0 or growth <= 1 or not 0 < backoff < 1 or interval < 1:
        raise ValueError("scale above 0, growth above 1, backoff between 0 and 1, interval from 1")
    scales, good = [], 0
    for overflow in overflows:
        good = 0 if overflow else good + 1
        if overflow:
            scale *= backoff
        elif good == interval:
            scale, good = scale * growth, 0
        scales.append(scale)
    return scales
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_scale_after", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
steps = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]
expect_table(
    scale_after,
    (
        "eleven steps, interval 3",
        (steps, 64, 2, 0.5, 3),
        [32.0, 16.0, 16.0, 16.0, 32.0, 32.0, 32.0, 16.0, 16.0, 16.0, 32.0],
        {
            "counting goes on after an overflow": [32.0, 16.0, 16.0, 16.0]
            + [32.0, 32.0, 32.0, 16.0, 32.0, 32.0, 32.0]
        },
    ),
    (
        "it grows again and again",
        ([False] * 6, 1, 4, 0.5, 2),
        [1.0, 4.0, 4.0, 16.0, 16.0, 64.0],
    ),
    ("at every step", ([0, 0, 1, 0], 8.0, 2, 0.25, 1), [16.0, 32.0, 8.0, 16.0]),
    ("no steps", ([],), []),
    ("not rounded", ([1, 0, 1], 0.3, 1.1, 0.123457, 1), [0.0370371, 0.04074081, 0.00502973818]),
    rel=1e-8,
)
expect("2,000 good steps", scale_after([0] * 2000)[-2:], [65536.0, 131072.0])
expect("the same steps, another interval", scale_after(steps, interval=1000)[-1], 8192.0)
expect("the steps stay as they are", steps, [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0])
### BEGIN HIDDEN TESTS
expect_table(
    scale_after,
    # vary: 64 in 42..96
    (
        "an overflow on the last step of an interval",
        ([0, 0, 1, 0, 0, 0, 0], 64, 2, 0.5, 3),
        [64.0, 64.0, 32.0, 32.0, 32.0, 64.0, 64.0],
    ),
    # vary: 100 in 66..150, 3 in 2..9
    (
        "good steps before an overflow do not count after it",
        ([0, 1, 0, 0], 100, 3, 0.1, 2),
        [100.0, 10.0, 10.0, 30.0],
    ),
    (
        "growth takes effect at the interval's last step",
        ([0] * 5, 10, 10, 0.5, 5),
        [10.0, 10.0, 10.0, 10.0, 100.0],
    ),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_scale_after_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    scale_after,
    (
        "a scale of 0, or below; growth 1; backoff 1, 0, or below; interval 0",
        [
            ([1], 0),
            ([1], -2),
            ([1], 8, 1),
            ([1], 8, 2, 1),
            ([1], 8, 2, 0),
            ([1], 8, 2, -0.5),
            ([1], 8, 2, 0.5, 0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    scale_after,
    ("a scale may fall below 1", ([True, True], 1), [0.5, 0.25]),
    # vary: 4 in 3..9
    ("one good step is not enough for two", ([0], 4, 2, 0.5, 2), [4.0]),
    # vary: 8 in 2..16
    ("the least growth and backoff that may be", ([1, 0], 8, 1.5, 0.125, 1), [1.0, 1.5]),
)
### END HIDDEN TESTS

# %% [markdown]
# After 1, float16's next number is 1.00098.
# A weight of 1 that gains 0.0001 at each step stays 1 forever; therefore *master weights* are kept in float32.
# And long sums should be in float32, even if their terms are not.
#
# **Predict.** Add 0.01 again and again, in float16 throughout.
# Where does the sum stop growing?

# %% tags=["guess"]
guess_half_sum = None  # your guess: the largest sum

# %% nbgrader={"grade": false, "grade_id": "demo_halves", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# A sum in float16 that stops growing, and sums whose terms and total are of two types.
half, terms, hundredth = np.float16(0), 0, np.float16(0.01)
while half + hundredth > half:
    half, terms = half + hundredth, terms + 1
guesses.compare("where the sum stops", guess_half_sum, float(half))
print(f"it stops after {terms:,} terms; now 1,000 times 0.01, and 1 + 100 times 0.0001:")
for term, total in ((np.float32, np.float32), (np.float16, np.float16), (np.float16, np.float32)):
    parts = np.full(1000, 0.01, term), np.array([1] + [1e-4] * 100, term)
    sums = " and ".join(f"{part.cumsum(dtype=total)[-1]:.5g}" for part in parts)
    print(f"    {sums}, terms of {term.__name__}, added up in {total.__name__}")

# %% nbgrader={"grade": false, "grade_id": "demo_half_training", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# One training in float32, and in float16 with and without a scaled loss.
import half_bits

noise.show_load()
print(f"float16 products take numpy {half_bits.product_ratio():.0f} times as long as float32 ones")
half_bits.draw(half_bits.half_training(half_gradients, scale_after, demos.demo_size(300, 20)))

# %% [markdown]
# In float16 the loss stands still at first: the lower layers get zeros, until the upper ones make larger gradients.
# With a scale that grows until something overflows, the curve is that of float32.
# A cross ends the training that skipped no step: infinity reached the weights, and then each loss is NaN.
#
# **When not.** A scale saves gradients, not the forward pass: 300² is 90,000, and an infinite loss stays infinite.
# Ops with large results, such as squares, exponentials and sums, stay in float32.
# Find out which by counting what is no longer finite.


# %% nbgrader={"grade": false, "grade_id": "single_ops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def single_ops(ops, x):
    """Return which ops of a loss have to run in float32, as (name, count) pairs, in their order.

    ops: (name, function) pairs; each function gets what the op before returned, the first one x,
        and returns an array or a numpy number of the same dtype. x: a float32 array; it stays as
        it is.
    Each op first runs in float16, on what it gets rounded to float16. If all of the result is
    finite, it goes on with that. Otherwise the op runs in float32, on what it gets, unrounded, and
    goes on with this result; count, an int, is how many entries were infinite or NaN in float16.
    Warns of nothing.

    >>> single_ops([("square", np.square), ("root", np.sqrt)], np.array([2.0, 300.0], np.float32))
    [('square', 1), ('root', 1)]
    """
    ### BEGIN SOLUTION
    found = []
    with np.errstate(all="ignore"):
        for name, op in ops:
            half = op(x.astype(np.float16))
            bad = int(np.sum(~np.isfinite(half)))
            if bad:
                found.append((name, bad))
                half = op(x.astype(np.float32))
            x = half
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_single_ops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def on(numbers, **ops):  # what single_ops says of such ops on these numbers
    return doubles.quietly(single_ops, list(ops.items()), np.array(numbers, np.float32))


expect_table(
    lambda numbers, ops: on(numbers, **ops),
    ("small numbers", ([0.5, -3.0], {"square": np.square, "mean": np.mean}), []),
    (
        "a mean of squares",
        ([1.0, 300.0, -400.0], {"square": np.square, "mean": np.mean}),
        [("square", 2), ("mean", 1)],
        {"the mean gets what was lost already": [("square", 2)]},
    ),
    (
        "only the sum is too large",
        ([1000.0] * 100, {"double": lambda v: v * 2, "sum": np.sum}),
        [("sum", 1)],
    ),
    (
        "back in float16 after the logarithm",
        ([12.0, 20.0, 1.0], {"exp": np.exp, "log": np.log, "square": np.square}),
        [("exp", 2), ("log", 2)],
    ),
    (
        "NaN counts, too: infinity over infinity",
        ([12.0, 12.0], {"exp": np.exp, "normalize": lambda v: v / v.sum()}),
        [("exp", 2), ("normalize", 2)],
    ),
    (
        "2,049 is 2,048 in float16, and the next op gets that result",
        ([2049.0], {"less": lambda v: v - 1, "times": lambda v: v * 32}),
        [],
    ),
    (
        "e¹⁰⁰ is too large for float32, too",
        ([100.0], {"exp": np.exp, "log": np.log, "half": lambda v: v / 2}),
        [("exp", 1), ("log", 1), ("half", 1)],
    ),
)
squares = np.array([1.0, 300.0], np.float32)
twice = single_ops(ops=[("square in place", lambda v: np.square(v, out=v))] * 2, x=squares)
expect(
    "one op twice, and the numbers stay as they are",
    [twice, squares.tolist()],
    [[("square in place", 1), ("square in place", 1)], [1.0, 300.0]],
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda numbers, ops: on(numbers, **ops),
    ("a number that float16 cannot hold", ([1e5, 2.0], {"minus": np.negative}), [("minus", 1)]),
    # vary: 700.0 in 300.0..900.0
    ("a cube of one of three", ([2.0, 700.0, 3.0], {"cube": lambda v: v**3}), [("cube", 1)]),
    (
        "what runs in float32 gets the numbers unrounded",
        (
            [2049.0],
            {"times": lambda v: v * 64, "less": lambda v: v - 131_136, "twice": lambda v: v * 2},
        ),
        [("times", 1), ("less", 1)],
    ),
    # vary: 400 in 300..900
    (
        "subtracting the largest first is a cure",
        ([12.0, 400, 3.0], {"less": lambda v: v - v.max(), "exp": np.exp, "sum": np.sum}),
        [],
    ),
    # vary: 4 in 2..90
    (
        "two ops of one kind are told apart by their names",
        ([50.0] * 4, {"first": np.square, "second": np.square}),
        [("second", 4)],
    ),
)
# viva: single_ops([('square', np.square)], np.array([100.0, 300.0, 500.0], np.float32))
# viva: single_ops([('exp', np.exp), ('log', np.log)], np.array([2.0, 30.0], np.float32))
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_single", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Which ops of two losses on real digits need float32, each loss as it is and with a cure.
for name, (ops, x) in demos.losses(demos.digit_images()).items():
    half, single = demos.run_in(np.float16, ops, x), demos.run_in(np.float32, ops, x)
    kept = ", ".join(f"{op} ({count:,} not finite)" for op, count in single_ops(ops, x)) or "none"
    print(f"{name}: {half:.5g} in float16, {single:.5g} in float32")
    print(f"    keep in float32: {kept}")

# %% [markdown]
# So torch's autocast runs sums, losses and exponentials in float32; keeping numbers small is cheaper.
#
# ## 4 · A large batch in small pieces
#
# The batch that trains best may not fit into memory.
# *Accumulation* runs small batches one after the other, so that only one graph exists at a time, and adds up their gradients; then the optimizer steps once.
# One batch has three samples, whose gradients are 1, 2 and 3; another has one sample, with 10.
# The mean of the means is (2 + 10)/2 = 6; the mean over all four is 4.
# Weight each batch by its share of the samples.


# %% nbgrader={"grade": false, "grade_id": "accumulate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def accumulate(model, loss, batches):
    """Leave in `.grad` the gradients of the mean loss over all samples; return that loss, a float.

    model: a Module. It is called with x, once for each batch, in order; only its gradients change.
    loss: loss(model(x), y) is a scalar Tensor, the mean over the samples of the batch.
    batches: a list of pairs (x, y), at least one; len(x) is the number of samples, at least 1 and
        not the same in each batch.
    Gradients from before are dropped. Each batch has a backward pass of its own, before
    the next forward pass.
    Raises ValueError for no batches and for a batch without samples.

    >>> one, model = Tensor([[1.0]]), nn.Linear(1, 1)
    >>> pairs = [(Tensor([[1.0], [2.0]]), 6 * one), (Tensor([[3.0]]), 3 * one)]
    >>> accumulate(model, lambda output, y: 0 * output.mean() + y.mean(), pairs)
    5.0
    """
    ### BEGIN SOLUTION
    sizes = [len(x) for x, _ in batches]
    if not sizes or min(sizes) < 1:
        raise ValueError("there must be batches, each with samples")
    model.zero_grad()
    mean = 0.0
    for (x, y), size in zip(batches, sizes, strict=True):
        part = loss(model(x), y) * (size / sum(sizes))
        part.backward()
        mean += part.item()
    return mean
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_accumulate", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def one_weight(value):
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data = Tensor([[value]])
    return layer.eval()


def mean_of(output, y):
    return (output * y).mean()


def pairs(*batches):
    return [(Tensor([[value] for value in batch]), Tensor([[1.0]])) for batch in batches]


layer, batches = one_weight(2.0), pairs([1.0, 2.0, 3.0], [10.0])
expect(
    "the mean loss",
    accumulate(layer, mean_of, batches),
    8.0,
    rel=1e-6,
    mistakes={"the mean of means": 12.0, "the last batch": 20.0},
)
expect(
    "its gradient",
    layer.weight.grad.item(),
    4.0,
    rel=1e-6,
    mistakes={"the mean of means": 6.0, "the sum of means": 12.0, "the last batch": 10.0},
)
accumulate(layer, mean_of, batches)
expect("old gradients do not count", layer.weight.grad.item(), 4.0, rel=1e-6)
expect("one batch", accumulate(layer, mean_of, pairs([3.0, 5.0])), 8.0, rel=1e-6)
small = pairs([0.001], [0.0013, 0.0017])
expect("far below 1", accumulate(layer, mean_of, small), 0.008 / 3, rel=1e-5)
### BEGIN HIDDEN TESTS
# vary: 0.5 in 0.333..0.75
two = nn.Sequential(one_weight(3.0), one_weight(0.5))
# vary: 2.0 in 1.33..3.0, 4.0 in 2.67..6.0, 6.0 in 4.0..9.0, 5.0 in 3.33..7.5
squares = [
    (Tensor([[1.0], [2.0]]), Tensor([[0.0], [1.0]])),
    (Tensor([[4.0]]), Tensor([[2.0]])),
    (Tensor([[2.0], [0.0], [6.0], [1.0]]), Tensor([[1.0], [5.0], [4.0], [0.0]])),
]
found = accumulate(two, lambda output, y: ((output - y) ** 2).mean(), squares)
expect("the loss of seven samples in three batches", found, 78.5 / 7, rel=1e-6)
expect(
    "the gradients of two layers",
    [p.grad.item() for p in two.parameters()],
    [57 / 7, 342 / 7],
    rel=1e-6,
)
layer = one_weight(1.0)
# vary: 7.0 in 4.67..10.5, 6 in 2..12
accumulate(layer, mean_of, pairs([7.0], [1.0] * 6))
expect("a small batch counts less than a large one", layer.weight.grad.item(), 13 / 7, rel=1e-6)
# viva: b = [(Tensor([[1.0], [2.0]]), 6), (Tensor([[3.0]]), 3)]; accumulate(nn.Linear(1, 1),
#     lambda o, y: 0 * o.mean() + y, b)
# viva: b = [(Tensor([[1.0]]), 8), (Tensor([[3.0]] * 3), 4)]; accumulate(nn.Linear(1, 1), lambda
#     o, y: 0 * o.mean() + y, b)
# viva: b = [(Tensor([[1.0]] * 4), 5), (Tensor([[3.0]]), 2)]; accumulate(nn.Linear(1, 1), lambda
#     o, y: 0 * o.mean() + y, b)
# viva: b = [(Tensor([[2.0]] * 3), 7)]; accumulate(nn.Linear(1, 1), lambda o, y: 0 * o.mean() + y,
#     b)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_accumulate_2", "locked": true, "points": 3.5, "schema_version": 3, "solution": false, "task": false}
single = nn.Linear(1, 1, bias=False).eval()
single.weight.data = Tensor([[2.0]])
logged, one = doubles.Logged(single), Tensor([[1.0]])
batches = [(Tensor([[1.0]]), one), (Tensor([[2.0], [4.0]]), one), (Tensor([[5.0]]), one)]
rows = rows_of(lambda: accumulate(logged, lambda output, y: (output * y).mean(), batches))
order = [x.numpy().ravel().tolist() for x in logged.seen]
expect("the model is called in order, once a batch", order, [[1.0], [2.0, 4.0], [5.0]])
phases = [phase for phase, _ in itertools.groupby(row["phase"] for row in rows)]
expect(
    "a backward pass follows each forward pass",
    phases.count("backward"),
    3,
    mistakes={"one backward pass at the end": 1},
)
expect("the weights stay as they are", single.weight.item(), 2.0)
expect("so does the mode", single.training, False)
expect("and the batches", [x.tolist() for x, _ in batches], [[[1.0]], [[2.0], [4.0]], [[5.0]]])
### BEGIN HIDDEN TESTS
target = Tensor([[3.0]])
# vary: 6.0 in 4.0..9.0, 8.0 in 5.33..12.0
twice = [(Tensor([[6.0], [7.0]]), target), (Tensor([[8.0]]), target)]
accumulate(doubles.Logged(single), lambda output, y: (output - y).mean(), twice)
expect("another loss leaves the weights alone, too", single.weight.item(), 2.0)
expect("targets stay as they are", target.tolist(), [[3.0]])
expect("its gradient is the mean of x", single.weight.grad.item(), 7.0, rel=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_accumulate_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
layer, some = nn.Linear(1, 1), (Tensor([[1.0]]), Tensor([[1.0]]))
empty = Tensor(np.zeros((0, 1), np.float32)), Tensor([[1.0]])
expect_table(
    lambda *batches: accumulate(layer, lambda output, y: (output * y).mean(), list(batches)),
    ("no batches; a batch without samples", [(), (some, empty), (empty, some)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3.0 in 2.0..4.5, 0.5 in 0.333..0.75
layer.weight.data, layer.bias.data = Tensor([[-3.0]]), Tensor([0.5])
expect("one sample", accumulate(layer, lambda output, y: output.mean(), [some]), -2.5)
expect("the gradient of a bias", layer.bias.grad.item(), 1.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_accumulate", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# What a batch in pieces keeps for its backward pass.
from proflab import meta, models

with meta():
    resnet = models.resnet18()
for size in (8, 2):
    kept = saved_activations(resnet, (size, 3, 224, 224)) / 1024**2
    print(f"ResNet-18, {size} images: {kept:.1f} MB are saved for backward")

# %% [markdown]
# Where accumulation is not enough, lesson 04's `checkpointed` keeps only a segment's input, and runs the segment once more on the way back.
# That costs time, so run again no more than you must.
# This race is counted as in lesson 06, on a machine with little memory.
# If all eight blocks are recomputed, a step holds 3.0 MB at its peak and costs 7.77 ms.
# If none does, it costs 5.73 ms and holds 6.7 MB: with 5 MB it is refused.
#
# <details><summary>Hint 1: which blocks?</summary>
#
# Draw what is kept, block by block, when backward begins.
# Which block does it need first, and what else is still there?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# The smallest number of blocks for which `held_bytes` fits; `checkpointed` for these alone.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "recompute_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import checkpointed, op_facts

import proflab
from proflab.lesson import expect_faster

race.count_with(op_facts)


def blocks(count, width):
    """Return a function that makes a model of so many blocks."""

    def block():
        up, down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        return nn.Sequential(nn.LayerNorm(width), up, nn.GELU(), down)

    return lambda: nn.Sequential(*[block() for _ in range(count)])


def slow_recompute(model, x):
    """Return the loss and the gradients of a step that runs each block again."""
    loss = checkpointed(list(model), 1)(x).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def held_bytes(model, x, again):
    """Return about how many bytes are alive when backward begins, if so many blocks run again.

    A recomputed block keeps its input; any other keeps its input and 9 tensors of that size. The
    weights, x and 5 such tensors, which the first backward ops need, are always there.
    """
    weights = sum(p.nbytes for p in model.parameters())
    return weights + x.nbytes * (10 * len(list(model)) - 9 * again + 6)


# %% nbgrader={"grade": false, "grade_id": "recompute", "locked": false, "schema_version": 3, "solution": true, "task": false}
def recompute(model, x, memory):
    """Return the mean of the squares of model(x), and its gradients, at the least cost on DESK.

    model: a Sequential of blocks, as `blocks` makes them. x: (rows, width).
    memory: the bytes of the machine; a step that has more alive at once is refused. Alive are x,
        the parameters, what is kept for backward, and what an op reads and writes.
    Returns a list: the loss, then the gradient of each parameter, in the order of
    model.parameters().

    >>> len(recompute(nn.Sequential(nn.Linear(2, 2)), proflab.ones(1, 2), memory=10**6))
    3
    """
    ### BEGIN SOLUTION
    layers = list(model)
    fits = (n for n in range(len(layers)) if held_bytes(model, x, n) <= memory)
    again = next(fits, len(layers))
    if again:
        x = checkpointed(layers[:again], 1)(x)
    for layer in layers[again:]:
        x = layer(x)
    loss = x.square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_recompute", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def in_5_mb(model, x):
    return recompute(model, x, memory=5_000_000)


# The floor, if nothing runs again: six products a block, 48 in all, of 2 × 256 × 64 × 256 FLOPs,
# or 0.0839 ms; and 5 µs for each of them, of 8 norms and of 8 GELUs: 4.027 + 64 × 0.005 ms.
expect_faster(
    "eight blocks in 5 MB",
    race.traced(in_5_mb, model=blocks(8, 64), training=True, x=(256, 64)),
    like=slow_recompute,
    machine="DESK",
    full=6.625,
    floor=4.346,
    memory=5_000_000,
    within=0.0001,
)


### BEGIN HIDDEN TESTS
def in_640_kb(model, x):
    return recompute(model, x, memory=640_000)


def in_530_kb(model, x):
    return recompute(model, x, memory=530_000)


# about: the blocks that backward needs last are those to run again
expect_faster(
    "twelve narrow blocks in 640 kB",
    race.traced(in_640_kb, model=blocks(12, 24), training=True, x=(60, 24)),
    like=slow_recompute,
    machine="DESK",
    full=1.178,
    memory=640_000,
    within=0.0001,
)
expect_faster(
    "four blocks in 530 kB",
    race.traced(in_530_kb, model=blocks(4, 32), training=True, x=(100, 32)),
    like=slow_recompute,
    machine="DESK",
    full=0.6251,
    memory=530_000,
    within=0.0001,
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_recompute_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def in_1_mb(model, x):
    return recompute(model, x, memory=1_000_000)


expect_faster(
    "five blocks in 1 MB, which need no more",
    race.traced(in_1_mb, model=blocks(5, 32), training=True, x=(100, 32)),
    like=slow_recompute,
    machine="DESK",
    full=0.6485,
    memory=1_000_000,
    within=0.0001,
)


### BEGIN HIDDEN TESTS
def in_380_kb(model, x):
    return recompute(model, x, memory=380_000)


def in_800_kb(model, x):
    return recompute(model, x, memory=800_000)


# about: as many blocks run again as have to, on a small machine and on a large one
expect_faster(
    "six narrow blocks in 380 kB",
    race.traced(in_380_kb, model=blocks(6, 24), training=True, x=(60, 24)),
    like=slow_recompute,
    machine="DESK",
    full=0.5838,
    memory=380_000,
    within=0.0001,
)
expect_faster(
    "three blocks in 800 kB",
    race.traced(in_800_kb, model=blocks(3, 48), training=True, x=(120, 48)),
    like=slow_recompute,
    machine="DESK",
    full=0.9203,
    memory=800_000,
    within=0.0001,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_recompute", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line of the two steps costs, and how much of 5 MB they hold at the peak.
eight, limit = {"model": blocks(8, 64), "training": True, "x": (256, 64)}, 5_000_000
mine = lambda model, x: recompute(model, x, limit)  # noqa: E731
print(race.table(slow_recompute, mine, "DESK", memory=limit, **eight))

# %% [markdown]
# **Optional.** Segments may be longer than one layer.
# With 16 layers of 1 MB and four segments, four inputs stay, and a segment that runs once more keeps 4 MB, its input included: 4 + 3 = 7 MB, not 16.


# %% nbgrader={"grade": false, "grade_id": "checkpoint_plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_plan(kept, inputs):
    """Return where to begin segments so that the peak is lowest, as a dict. (Optional.)

    kept: for each layer, in order, the bytes that it keeps for backward, its own input included.
    inputs: for each layer the bytes of its input, at most those kept, above 0.
    Segments are runs of layers, together all of them. All segments' inputs stay. Backward runs each
    segment once more, which then keeps what its layers keep; its own input is there already.
    The peak: the sum of the segments' inputs, plus the most that one keeps without its own input.
    Keys: peak, in bytes; starts, the list of the segments' first layers, from 0 (of any best plan).
    Raises ValueError for no layers, and for lists of different lengths.

    >>> checkpoint_plan([5, 5, 5], [1, 1, 1])
    {'peak': 7, 'starts': [0, 1, 2]}
    """
    ### BEGIN SOLUTION
    layers = len(kept)
    if not layers or layers != len(inputs):
        raise ValueError("each layer needs the bytes that it keeps, and those of its input")
    sums = [0, *itertools.accumulate(kept)]

    def size(first, end):
        return sums[end] - sums[first] - inputs[first]

    best = {"peak": math.inf}
    spans = [(a, b) for a in range(layers) for b in range(a + 1, layers + 1)]
    for most in sorted({size(*span) for span in spans}):
        least = [(0, [])] + [(math.inf, [])] * layers  # the inputs' sum, and starts, for a prefix
        for first, end in sorted(spans, key=lambda span: span[1]):
            cost = least[first][0] + inputs[first]
            if size(first, end) <= most and cost < least[end][0]:
                least[end] = cost, [*least[first][1], first]
        if least[-1][0] + most < best["peak"]:
            best = {"peak": least[-1][0] + most, "starts": least[-1][1]}
    return best
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_checkpoint_plan", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
kept, inputs, sizes = [3, 9, 4], [1, 2, 1], [8, 8, 2, 2, 1, 1]
expect_table(
    checkpoint_plan,
    ("16 equal layers", ([1] * 16, [1] * 16), {"peak": 7, "starts": [0, 4, 8, 12]}),
    ("large layers first", (sizes, sizes), {"peak": 18, "starts": [0, 2]}),
    (
        "six blocks with small inputs",
        ([34] * 6, [1] * 6),
        {"peak": 39, "starts": [0, 1, 2, 3, 4, 5]},
    ),
    ("three unlike layers", (kept, inputs), {"peak": 11, "starts": [0, 1, 2]}),
    ("one layer", ([5], [2]), {"peak": 5, "starts": [0]}),
    ("no layers, or an input is missing", [([], []), ([5, 5], [2])], ValueError),
)
expect("the lists stay as they are", [kept, inputs], [[3, 9, 4], [1, 2, 1]])
### BEGIN HIDDEN TESTS
# vary: 11 in 10..13
expect(
    "an equal split is not the best where layers differ",
    checkpoint_plan([4, 4, 3, 11, 2, 7], [4, 4, 2, 2, 2, 4]),
    {"peak": 17, "starts": [0, 3, 4]},
)
expect("36 layers need about two roots of memory", checkpoint_plan([1] * 36, [1] * 36)["peak"], 11)
### END HIDDEN TESTS

# %% [markdown]
# **Take a break here.** What follows needs only what section 1 printed.
#
# ## 5 · Fewer trips to memory
#
# An elementwise op computes next to nothing.
# Its time goes into reading its inputs and writing its result (lesson 06).
# Behind a linear layer, a bias, GELU, dropout and addition each read what the one before wrote.
# *Fusion* computes the chain in one pass and keeps what lies between in registers.
#
# Take tensors of 400 bytes, a bias of 4 and a dropout mask of 100 bytes, and a layer norm at the end.
# One by one: 804 + 800 + 900 + 1,200 + 800 = 4,504 bytes.
# With the first four in one group, which reads x, bias, mask and the tensor to add, 904 bytes, and writes 400, and then the norm with 800: 2,104 bytes, 2.14 times fewer.
# A tensor that two nodes read must be written, and a reduction needs a whole row before its first result.
# So the rule of this lesson: an elementwise node joins the group of an input that nobody else reads.
# In a diamond, where b and c read a, and d reads both, the groups are [a], [b, d] and [c].
#
# <details><summary>Hint 1: who reads a tensor?</summary>
#
# Draw the diamond.
# Write at each arrow how many arrows leave the same node.
# Which arrows may disappear inside a group?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# First count users.
# Then go through the nodes in order, with a dict from each name to its group, a list.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "graph_helper", "locked": true, "schema_version": 3, "solution": false, "task": false}
def graph_of(*lines, **kinds):
    """Return a graph from lines "name: its inputs"; kinds says which are not elementwise."""
    nodes = [line.split(": ") for line in lines]
    return [(name, inputs.split(), kinds.get(name, "elementwise")) for name, inputs in nodes]


chain = graph_of(
    "bias: x b", "gelu: bias", "drop: gelu mask", "add: drop y", "norm: add", norm="reduction"
)
diamond = graph_of("a: x", "b: a", "c: a", "d: b c")


# %% nbgrader={"grade": false, "grade_id": "fuse", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fuse(graph):
    """Return the nodes of a graph in groups, each to be computed in one pass over memory.

    graph: a list of nodes (name, inputs, kind) in the order of computation. name: of the tensor
        computed. inputs: names of tensors computed before or from outside, such as weights. kind:
        "elementwise" or another word.
    An elementwise node joins the group of its first input that a node computes and no other node
    reads (reading a tensor twice makes no second user). Any other node begins a group, which later
    nodes may join.
    Returns lists of names in the graph's order; the groups in that of their first nodes.
    Raises ValueError also for a name that is there twice, and for an input that only the node
    itself or a later one computes.

    >>> fuse(graph_of("fc: x w", "act: fc", "sum: act", fc="product", sum="reduction"))
    [['fc', 'act'], ['sum']]
    """
    ### BEGIN SOLUTION
    names = [name for name, _, _ in graph]
    if not graph or len(set(names)) < len(names):
        raise ValueError("a graph has nodes, and no two of one name")
    users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
    groups = {}
    for at, (name, inputs, kind) in enumerate(graph):
        if set(inputs) & set(names[at:]):
            raise ValueError(f"{name} reads what is computed only later")
        alone = [tensor for tensor in inputs if users.get(tensor) == 1]
        groups[name] = groups[alone[0]] if kind == "elementwise" and alone else []
        groups[name].append(name)
    return [group for name, group in groups.items() if group[0] == name]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fuse", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
dense = graph_of("fc: x w", "y: fc b", "z: y w2", fc="product", z="product")
shuffled = graph_of("fc: x", "moved: fc", "act: moved", moved="shuffle")
alone = graph_of("p: x", "q: x", "r: p q", "s: p", s="reduction")
expect_table(
    fuse,
    ("a chain, and a norm", (chain,), [["bias", "gelu", "drop", "add"], ["norm"]]),
    ("a diamond", (diamond,), [["a"], ["b", "d"], ["c"]]),
    (
        "the first input decides",
        (graph_of("a: x", "b: a", "c: a", "d: c b"),),
        [["a"], ["b"], ["c", "d"]],
    ),
    ("a product's group may be joined", (dense,), [["fc", "y"], ["z"]]),
    ("and a reduction's", (graph_of("n: x", "act: n", n="reduction"),), [["n", "act"]]),
    ("another word is not elementwise", (shuffled,), [["fc"], ["moved", "act"]]),
    ("the first that nobody else reads", (alone,), [["p"], ["q", "r"], ["s"]]),
)
### BEGIN HIDDEN TESTS
block = graph_of(
    "qkv: x w",
    "biased: qkv b",
    "att: biased",
    "out: att w2",
    "res: x out",
    "norm: res",
    "act: norm",
    "fc: act w3",
    "sum: fc res",
    "half: sum",
    norm="reduction",
    **dict.fromkeys(["qkv", "att", "out", "fc"], "product"),
)
expect(
    "elementwise nodes join products and reductions, never the reverse",
    fuse(block),
    [["qkv", "biased"], ["att"], ["out", "res"], ["norm", "act"], ["fc", "sum", "half"]],
)
chains = graph_of("a: x", "b: y", "c: a", "d: b", "e: c", "f: d e", e="reduction")
expect(
    "groups of interleaved chains keep the graph's order",
    fuse(chains),
    [["a", "c"], ["b", "d", "f"], ["e"]],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_fuse_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
long = graph_of("n0: x", *[f"n{at}: n{at - 1}" for at in range(1, 40)])
stays = graph_of("one: y x", "another: one w")
expect_table(
    fuse,
    ("a square reads twice, but is one user", (graph_of("r: x", "s: r r"),), [["r", "s"]]),
    ("what they share comes from outside", (graph_of("y: x x", "z: x"),), [["y"], ["z"]]),
    ("w, from outside, counts for nothing", (graph_of("a: x", "b: w a"),), [["a", "b"]]),
    (
        "only the last of four inputs may be joined",
        (graph_of("p: x", "q: p", "r: p", "s: x w p q"),),
        [["p"], ["q", "s"], ["r"]],
    ),
    ("names in no order of the alphabet", (stays,), [["one", "another"]]),
)
expect("a chain of forty", [len(group) for group in fuse(long)], [40])
expect(
    "the graph stays as it is",
    stays,
    [("one", ["y", "x"], "elementwise"), ("another", ["one", "w"], "elementwise")],
)
### BEGIN HIDDEN TESTS
expect(
    "a tensor with two users keeps its group to itself",
    fuse(graph_of("a: x", "b: a x", "c: b a", a="product")),
    [["a"], ["b", "c"]],
)
expect(
    "a node that reads a tensor twice, and another, is still one user",
    fuse(graph_of("u: x", "v: y", "w: v v u", "z: w w w")),
    [["u"], ["v", "w", "z"]],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_fuse_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    fuse,
    (
        "no nodes; a name twice; an input computed later; a node that reads itself",
        [([],), (graph_of("a: x", "a: x"),), (graph_of("b: a", "a: x"),), (graph_of("a: x a"),)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    fuse,
    ("one node", (graph_of("a: x"),), [["a"]]),
    ("one product", (graph_of("a: x w", a="product"),), [["a"]]),
    ("two nodes that read nothing of each other", (graph_of("a: x", "b: x"),), [["a"], ["b"]]),
)
### END HIDDEN TESTS


# %% [markdown]
# `graph_bytes` counts what that saves: each group reads once what comes from outside it, and writes what others need.


# %% nbgrader={"grade": false, "grade_id": "graph_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def graph_bytes(graph, sizes, groups):
    """Return the bytes that a graph moves between memory and processor, computed in these groups.

    graph: as for fuse. sizes: a dict, the bytes of each tensor, computed or from outside, by name.
    groups: lists of names, each node of the graph in exactly one.
    Each group reads each tensor that one of its nodes reads and none of its nodes computes, once;
    and writes, once, each tensor that it computes and that a node of another group reads, or that
    no node reads.
    Raises ValueError if a node is in no group or in two, if a group has a name of no node, and if
    sizes lacks a tensor.

    >>> graph_bytes(graph_of("a: x", "b: a"), {"x": 8, "a": 4, "b": 2}, [["a"], ["b"]])
    18
    """
    ### BEGIN SOLUTION
    names = [name for name, _, _ in graph]
    if sorted(name for group in groups for name in group) != sorted(names):
        raise ValueError("each node belongs to exactly one group")
    missing = {tensor for name, inputs, _ in graph for tensor in (name, *inputs)} - set(sizes)
    if missing:
        raise ValueError(f"sizes lacks {sorted(missing)}")
    total = 0
    for group in map(set, groups):
        read = {tensor for name, inputs, _ in graph if name in group for tensor in inputs}
        inside = {t for name, inputs, _ in graph if name in group for t in inputs}
        outside = {t for name, inputs, _ in graph if name not in group for t in inputs}
        written = {name for name in group if name in outside or name not in inside}
        total += sum(sizes[tensor] for tensor in (read - group)) + sum(map(sizes.get, written))
    return total
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_graph_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
sizes = dict.fromkeys("x y bias gelu drop add norm".split(), 400) | {"b": 4, "mask": 100}
same = dict.fromkeys("abcdx", 100)
both, unlike = graph_of("r: x", "s: r x", "t: r x x"), {"r": 1, "s": 10, "t": 100, "x": 1000}
expect_table(
    graph_bytes,
    (
        "each node alone",
        (chain, sizes, [["bias"], ["gelu"], ["drop"], ["add"], ["norm"]]),
        4504,
        {"only read": 2504, "only written": 2000},
    ),
    (
        "in two groups",
        (chain, sizes, [["bias", "gelu", "drop", "add"], ["norm"]]),
        2104,
        {
            "what stays inside is written, or read, too": 3304,
            "the last output is missing": 1704,
        },
    ),
    ("a diamond, node by node", (diamond, same, [["a"], ["b"], ["c"], ["d"]]), 900),
    ("in three groups, in any order", (diamond, same, [["c"], ["d", "b"], ["a"]]), 700),
    ("in one group", (diamond, same, [["a", "b", "c", "d"]]), 200),
    ("each group reads x once", (both, unlike, [["r", "s"], ["t"]]), 2112),
    ("r stays in its group", (both, unlike, [["r", "s", "t"]]), 1110),
)
### BEGIN HIDDEN TESTS
block = graph_of("fc: x w", "act: fc b", "out: act w2", "res: out x", fc="product", out="product")
# vary: 4 in 2..9, 8 in 2..16, 16 in 10..24, 32 in 21..48, 64 in 42..96
weights = dict(x=1, w=2, b=4, fc=8, act=16, w2=32, out=64, res=128)
expect(
    "each node of a block alone",
    graph_bytes(block, weights, [["fc"], ["act"], ["out"], ["res"]]),
    11 + 28 + 112 + 193,
)
expect(
    "a tensor read by two groups is read twice, and written once",
    graph_bytes(block, weights, [["fc", "act"], ["out", "res"]]),
    23 + 177,
)
expect(
    "nobody reads the last output, and it is written",
    graph_bytes(block, weights, [["fc", "act", "out", "res"]]),
    167,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_graph_bytes_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
both, sizes = graph_of("r: x", "s: r x", "t: r x x"), {"r": 1, "s": 10, "t": 100, "x": 1000}
groups, inner = [["r"], ["s", "t"]], {"r": 1, "s": 10, "t": 100}
expect("r is written, and read once", graph_bytes(both, sizes, groups), 1001 + 1111)
expect("the groups stay as they are", groups, [["r"], ["s", "t"]])
expect("so do the sizes", sizes, {"r": 1, "s": 10, "t": 100, "x": 1000})
expect("and the graph", both[1], ("s", ["r", "x"], "elementwise"))
expect_table(
    graph_bytes,
    (
        "t is in no group; s is in two; x is no node; no size of x",
        [
            (both, sizes, [["r"], ["s"]]),
            (both, sizes, [["r", "s"], ["s", "t"]]),
            (both, sizes, [["r", "s", "t", "x"]]),
            (both, inner, [["r", "s", "t"]]),
            (both, {}, [["r", "s", "t"]]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 5 in 2..10, 7 in 2..14, 3 in 2..9
expect(
    "two outputs of one group",
    graph_bytes(graph_of("u: x", "v: x"), dict(u=5, v=7, x=3), [["u", "v"]]),
    15,
)
# vary: 1000 in 666..1_500, 5 in 2..10
expect(
    "read inside and outside its group, a tensor is written",
    graph_bytes(diamond, dict(a=1, b=10, c=100, d=1000, x=5), [["a", "b"], ["c", "d"]]),
    16 + 1011,
)
### END HIDDEN TESTS

# %% [markdown]
# The next cell groups a recorded block of GPT-2 small, and counts its bytes before and after.
# Then it times four ops in numpy, which cannot fuse, but can go through a large array in pieces that stay in the cache.
#
# **Predict.** The chain on 16 million numbers, in pieces of 65,536: how many times as fast as on whole arrays?

# %% tags=["guess"]
guess_pieces = None  # your guess: 1 for as fast

# %% nbgrader={"grade": false, "grade_id": "demo_fused", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# The bytes of a recorded block before and after fusion, and four ops in pieces on this machine.
from captured import captured

from proflab import example_input, meta, models

with meta():
    block = models.gpt2("small").blocks[0].eval()
graph, sizes = captured(block, example_input(block, (1, 512, 768)))
ways = [[name] for name, _, _ in graph], fuse(graph)
moved = [graph_bytes(graph, sizes, groups) / 1024**2 for groups in ways]
print(f"{len(ways[0])} nodes: {moved[0]:.1f} MB; in {len(ways[1])} groups: {moved[1]:.1f} MB")
noise.show_load()
ms = demos.in_blocks([None, 2**20, 2**16, 2**13, 2**10])
guesses.compare("in pieces", guess_pieces, ms[None] / ms[2**16], unit="times as fast")
demos.draw_pieces(ms)

# %% [markdown]
# Large pieces do not fit into the cache; small ones cost the interpreter's time.
# A compiler avoids both: it writes one loop.
#
# The slow script's `attend` is such a chain: thirteen ops write scores to memory, in float64.
# Make it fast on `T4`.
# This is a warm-up with few points: one name is all it takes, and a race sees what a program costs, not who wrote what is behind the name.

# %% nbgrader={"grade": false, "grade_id": "attend_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
from slow_training import attend as slow_attend

from proflab.nn import functional as F


# %% nbgrader={"grade": false, "grade_id": "attend", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attend(q, k, v):
    """Return what the slow script's attention returns, at the least cost on T4.

    q, k, v: (batch, heads, tokens, width).

    >>> attend(*[proflab.ones(1, 1, 2, 4)] * 3).shape
    (1, 1, 2, 4)
    """
    ### BEGIN SOLUTION
    return F.scaled_dot_product_attention(q, k, v)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attend", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# The floor is one op, 0.005 ms, with two products of 2 × 2 × 4 × 256 × 256 × 64 FLOPs: 0.01657 ms.
expect_faster(
    "two texts, four heads, 256 tokens",
    race.traced(attend, q=(2, 4, 256, 64), k=(2, 4, 256, 64), v=(2, 4, 256, 64)),
    like=slow_attend,
    machine="T4",
    full=0.02233,
    floor=0.02157,
)
### BEGIN HIDDEN TESTS
# about: scores that are never written cost nothing, and float64 has twice the bytes
expect_faster(
    "three heads, 400 tokens",
    race.traced(attend, q=(1, 3, 400, 32), k=(1, 3, 400, 32), v=(1, 3, 400, 32)),
    like=slow_attend,
    machine="T4",
    full=0.01314,
)
expect_faster(
    "a batch of the script's images",
    race.traced(attend, q=(32, 4, 64, 4), k=(32, 4, 64, 4), v=(32, 4, 64, 4)),
    like=slow_attend,
    machine="T4",
    full=0.006771,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_attend", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line costs, of the script's attention and of yours.
heads = dict.fromkeys("qkv", (2, 4, 256, 64))
print(race.table(slow_attend, attend, "T4", **heads))

# %% [markdown]
# ## 6 · Attention in tiles
#
# Fusion stops at the softmax, which needs the largest score and the sum of a whole row.
# But maximum and sum can be gathered block by block ([Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867)).
# Of a block keep, for each row, its *highest* score, the *total* of exp(score − highest), and the *values* weighted by the same numbers.
# To merge two blocks, bring the one with the lower highest score to the other's scale.
# Merge highest 2, total 1.5, values 1 with 5, 1 and 4: the first shrinks by e⁻³, so the total is 1.5 · e⁻³ + 1 = 1.0747 and the values are 1 · e⁻³ + 4 = 4.0498.
# At the end, values/total is the output: 3.768.


# %% nbgrader={"grade": false, "grade_id": "merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge(one, two):
    """Return the partial softmax over two blocks of keys together, from those over each.

    one, two: tuples (highest, total, values) of arrays of one floating type: highest (rows,), the
        largest score of each row in the block; total (rows,), the sum of exp(score - highest);
        values (rows, width), the sum of exp(score - highest) * value. They stay as they are.
    Returns such a tuple of the same type. A row whose scores in a block are all masked has highest
    -inf, total 0 and values 0 there, and the result has what the other block has. Warns of nothing,
    and nothing overflows, however far apart the scores are.

    >>> part = np.array([0.0]), np.array([1.0]), np.array([[2.0]])
    >>> merge(part, part)
    (array([0.]), array([2.]), array([[4.]]))
    """
    ### BEGIN SOLUTION
    highest = np.maximum(one[0], two[0])
    base = np.where(np.isneginf(highest), 0, highest).astype(highest.dtype)
    first, second = np.exp(one[0] - base), np.exp(two[0] - base)
    total = one[1] * first + two[1] * second
    return highest, total, one[2] * first[:, None] + two[2] * second[:, None]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_merge", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def part(highest, total, values):
    return tuple(np.array(item, np.float32) for item in (highest, total, values))


def merged(one, two):
    return [item.tolist() for item in doubles.quietly(merge, one, two)]


low, high = part([2], [1.5], [[1]]), part([5], [1], [[4]])
below, above = part([-200], [1], [[1]]), part([200], [2], [[6]])
one, two = part([0, 1], [2, 3], [[1, 2], [3, 4]]), part([0, 2], [1, 1], [[5, 6], [7, 8]])
expect_table(
    merged,
    (
        "the second is higher",
        (low, high),
        [[5.0], [1 + 1.5 * math.exp(-3)], [[4 + math.exp(-3)]]],
        {"the first is not rescaled": [[5.0], [2.5], [[5.0]]]},
    ),
    (
        "the first is higher",
        (high, low),
        [[5.0], [1 + 1.5 * math.exp(-3)], [[4 + math.exp(-3)]]],
    ),
    (
        "row by row",
        (one, two),
        [
            [0.0, 2.0],
            [3.0, 1 + 3 * math.exp(-1)],
            [[6.0, 8.0], [7 + 3 * math.exp(-1), 8 + 4 * math.exp(-1)]],
        ],
    ),
    ("scores far apart", (below, above), [[200.0], [2.0], [[6.0]]]),
    ("both far below 0", (below, below), [[-200.0], [2.0], [[2.0]]]),
    rel=1e-6,
)
expect("the arguments stay as they are", [low[2].tolist(), high[1].tolist()], [[[1.0]], [1.0]])
### BEGIN HIDDEN TESTS
parts = [part([h, 3 - h], [1 + h, 2], [[h, 1], [2, h]]) for h in (0, 4, 1)]
one, two = merge(merge(parts[0], parts[1]), parts[2]), merge(parts[0], merge(parts[1], parts[2]))
expect(
    "it does not matter which two are merged first",
    [float(np.abs(a - b).max()) < 1e-6 for a, b in zip(one, two, strict=True)],
    [True] * 3,
)
# vary: 2 in 2..9, 999 in 995..999, 4 in 2..9
expect(
    "scores of 1,000 do not overflow",
    merged(part([1000], [1], [[2]]), part([999], [1], [[4]])),
    [[1000.0], [1 + math.exp(-1)], [[2 + 4 * math.exp(-1)]]],
    rel=1e-6,
)
# viva: a, b = [[np.array([n]), np.array([2.0]), np.array([[m]])] for n, m in ((0.0, 3.0), (0.0,
#     5.0))]; merge(a, b)[2]
# viva: a, b = [[np.array([n]), np.array([m]), np.array([[1.0]])] for n, m in ((3.0, 3.0), (3.0,
#     5.0))]; merge(a, b)[1]
# viva: a, b = [[np.array([n]), np.array([2.0]), np.array([[4.0]])] for n in (1.0, 2.0)]; merge(a,
#     b)[1]
# viva: a, b = [[np.array([n]), np.array([2.0]), np.array([[4.0]])] for n in (9.0, 2.0)]; merge(a,
#     b)[0]
# viva: a, b = [[np.array([n]), np.array([2.0]), np.array([[4.0]])] for n in (-50.0, 50.0)];
#     merge(a, b)[2]
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_merge_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def block(highest, total, values, dtype="float32"):
    return tuple(np.array(item, dtype) for item in (highest, total, values))


def joined(one, two):
    return [item.tolist() for item in doubles.quietly(merge, one, two)]


full, nothing = block([2], [1.5], [[1]]), block([-math.inf], [0], [[0]])
one, two = block([-math.inf, 1], [0, 2], [[0], [3]]), block([0, -math.inf], [1, 0], [[5], [0]])
small = [block([highest], [0.001], [[1e-5]], "float64") for highest in (0.1, 0.2)]
expect_table(
    joined,
    ("nothing in the first block", (nothing, full), [[2.0], [1.5], [[1.0]]]),
    ("nothing in the second block", (full, nothing), [[2.0], [1.5], [[1.0]]]),
    ("nothing in either", (nothing, nothing), [[-math.inf], [0.0], [[0.0]]]),
    ("a masked row beside one that is not", (one, two), [[0.0, 1.0], [1.0, 2.0], [[5.0], [3.0]]]),
    rel=1e-6,
)
expect(
    "float64 keeps its digits",
    joined(*small)[1],
    [0.001 * (1 + math.exp(-0.1))],
    rel=1e-12,
)
expect("float64 stays float64", [str(item.dtype) for item in merge(*small)], ["float64"] * 3)
expect("float32 stays float32", [str(item.dtype) for item in merge(full, full)], ["float32"] * 3)
### BEGIN HIDDEN TESTS
full = block([-math.inf, 1], [0, 2], [[0], [3]]), block([-math.inf, -math.inf], [0, 0], [[0], [0]])
expect(
    "one row without scores, another with",
    joined(*full),
    [[-math.inf, 1.0], [0.0, 2.0], [[0.0], [3.0]]],
)
# vary: 0.7 in 0.467..0.85, 3 in 2..9, 0.1 in 0.0667..0.15, 0.2 in 0.16..0.3
exact = [block([highest], [0.7], [[highest / 3]], "float64") for highest in (0.1, 0.2)]
expect(
    "other blocks in float64 keep their digits, too",
    joined(*exact),
    [[0.2], [0.7 * (1 + math.exp(-0.1))], [[(math.exp(-0.1) + 2) / 30]]],
    rel=1e-12,
)
### END HIDDEN TESTS

# %% [markdown]
# [FlashAttention](https://arxiv.org/abs/2205.14135) builds on this.
# A tile of queries stays in fast memory while the keys and values pass by.
# No score ever goes to memory.
#
# The machine of this race has *two memories*.
# Q, K, V and the result lie in the slow one: `k[0:16].clone()` loads rows, `out[0:16] = rows` stores them, and no other operation may touch them.
# All else lives in the fast memory, which has as many bytes as q; a program that needs more is refused.
# The cost is the bytes that pass between the two.
# As in every race, a causal program may skip what its rows do not see; lessons 02 and 05 count all pairs.
# A tensor lives from the operation that makes it to the last that reads it; in-place operations, such as `scores -= highest` or `scores.exp_()`, make no new tensor.
#
# **Predict.** Q, K, V and the output of one head, 256 × 32 each, are 32,768 numbers, and lesson 06 counted each once. <!-- with lesson 06 attention_bytes -->
# **Predict.** Q, K, V and the output of one head, 256 × 32 each, are 32,768 numbers. <!-- without lesson 06 attention_bytes -->
# How many does `slow_tiles` move, with tiles of 16 rows?

# %% tags=["guess"]
guess_tiled_numbers = None  # your guess: numbers loaded and stored


# %% nbgrader={"grade": false, "grade_id": "tiles_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
def slow_tiles(q, k, v, causal=False):
    """Return the attention of one head by tiles of 16 rows. causal: row i sees the keys 0 to i."""
    tokens, width = q.shape
    out = proflab.zeros(tokens, width)
    for low in range(0, tokens, 16):
        queries = q[low : low + 16].clone() / math.sqrt(width)
        places = proflab.arange(low, low + len(queries))[:, None]
        highest, total = proflab.full((len(queries), 1), -math.inf), proflab.zeros(len(queries), 1)
        mixed = proflab.zeros(len(queries), width)
        for start in range(0, low + 16 if causal else tokens, 16):
            keys, values = k[start : start + 16].clone(), v[start : start + 16].clone()
            scores = queries @ keys.T
            if causal:
                later = proflab.arange(start, start + len(keys)) > places
                scores = scores.masked_fill(later, -math.inf)
            new = proflab.maximum(highest, scores.max(-1, keepdim=True)[0])
            shrink, weights = (highest - new).exp(), (scores - new).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            mixed, highest = mixed * shrink + weights @ values, new
        out[low : low + 16] = mixed / total
    return out


def slow_causal_tiles(q, k, v):
    return slow_tiles(q, k, v, causal=True)


# %% [markdown]
# <details><summary>Hint 1: what passes most often?</summary>
#
# What fills the fast memory, so that a tile of queries cannot be larger?
# Which of these tensors could lie where another one was?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# The same two loops: many queries, few keys.
# Scores, total and mixed are changed in place.
# `weights @ values` is as large as mixed; half of its columns at a time are half as large.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "through_tiles", "locked": false, "schema_version": 3, "solution": true, "task": false}
def through_tiles(q, k, v, causal=False):
    """Return what slow_tiles returns, with the fewest bytes between the two memories.

    q, k, v: (tokens, width); width is even, and at least 32. They, and the tensor that is returned,
        lie in the slow memory: `clone` of a part of q, k or v loads it, and
        `out[low:high] = rows` stores rows. Nothing else may read q, k or v, and nothing out.
    causal: row i sees the keys 0 to i.
    All other tensors lie in the fast memory, which has as many bytes as q; it may never hold more.

    >>> through_tiles(*[proflab.ones(3, 32)] * 3).sum().item()
    96.0
    """
    ### BEGIN SOLUTION
    tokens, width = q.shape
    size, out = -(-tokens // 3), proflab.zeros(tokens, width)
    for low in range(0, tokens, size):
        queries = q[low : low + size].clone()
        queries /= math.sqrt(width)
        count = len(queries)
        places = proflab.arange(low, low + count)[:, None]
        highest, total = proflab.full((count, 1), -math.inf), proflab.zeros(count, 1)
        mixed = proflab.zeros(count, width)
        last = low + count if causal else tokens
        for start in range(0, last, 8):
            end = min(start + 8, last)
            scores = queries @ k[start:end].clone().T
            if causal and end > low:
                scores.masked_fill_(proflab.arange(start, end) > places, -math.inf)
            new = proflab.maximum(highest, scores.max(-1, keepdim=True)[0])
            highest -= new
            highest.exp_()
            total *= highest
            mixed *= highest
            highest = new
            scores -= new
            scores.exp_()
            total += scores.sum(-1, keepdim=True)
            for half in (slice(0, width // 2), slice(width // 2, width)):
                mixed[:, half] += scores @ v[start:end, half].clone()
        mixed /= total
        out[low : low + size] = mixed
    return out
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_through_tiles", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "256 tokens",
    race.traced(through_tiles, q=(256, 32), k=(256, 32), v=(256, 32)),
    like=slow_tiles,
    machine="DESK",
    full=267_400,
    best=249_856,
    fast=32_768,
)
### BEGIN HIDDEN TESTS
# about: keys and values pass once for each tile of queries
expect_faster(
    "112 wide tokens",
    race.traced(through_tiles, q=(112, 64), k=(112, 64), v=(112, 64)),
    like=slow_tiles,
    machine="DESK",
    full=234_000,
    fast=28_672,
)
expect_faster(
    "192 wider tokens",
    race.traced(through_tiles, q=(192, 48), k=(192, 48), v=(192, 48)),
    like=slow_tiles,
    machine="DESK",
    full=300_800,
    fast=36_864,
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_through_tiles_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def causal_tiles(q, k, v):
    return through_tiles(q, k, v, causal=True)


expect_faster(
    "144 tokens, causal",
    race.traced(causal_tiles, q=(144, 48), k=(144, 48), v=(144, 48)),
    like=slow_causal_tiles,
    machine="DESK",
    full=169_200,
    fast=27_648,
)
### BEGIN HIDDEN TESTS
# about: keys that no row of a tile sees are not loaded
expect_faster(
    "120 tokens, causal",
    race.traced(causal_tiles, q=(120, 56), k=(120, 56), v=(120, 56)),
    like=slow_causal_tiles,
    machine="DESK",
    full=164_500,
    fast=26_880,
)
expect_faster(
    "96 wide tokens, causal",
    race.traced(causal_tiles, q=(96, 64), k=(96, 64), v=(96, 64)),
    like=slow_causal_tiles,
    machine="DESK",
    full=150_400,
    fast=24_576,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_through_tiles_3", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "130 tokens",
    race.traced(through_tiles, q=(130, 48), k=(130, 48), v=(130, 48)),
    like=slow_tiles,
    machine="DESK",
    full=203_700,
    fast=24_960,
)
### BEGIN HIDDEN TESTS
# about: the last tile may be shorter
expect_faster(
    "110 tokens",
    race.traced(through_tiles, q=(110, 56), k=(110, 56), v=(110, 56)),
    like=slow_tiles,
    machine="DESK",
    full=201_100,
    fast=24_640,
)
expect_faster(
    "100 wide tokens",
    race.traced(through_tiles, q=(100, 64), k=(100, 64), v=(100, 64)),
    like=slow_tiles,
    machine="DESK",
    full=208_900,
    fast=25_600,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tiles", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the bytes that each line moves; draws where you are on the way to each number once.
head = dict.fromkeys("qkv", (256, 32))
guesses.compare("numbers moved", guess_tiled_numbers, 278_528)
print(race.table(slow_tiles, through_tiles, "DESK", fast=32_768, **head))
race.picture(slow_tiles, through_tiles, "DESK", 267_400, best=249_856, fast=32_768, **head)

# %% [markdown]
# Larger tiles of *queries* save traffic, since keys and values pass once for each of them.
# Queries in three tiles fit; in two they cannot: half of q and as large an output leave no byte for a key.
#
# ## 7 · The slow script
#
# Name the three bottlenecks of `slow_training.py`, and the lines that cause them, from what section 1 printed.
# The next cell is the step without the three, with your `attend` in it.
# Compare losses first: five steps on the same batches give the same losses, within 10⁻⁵.

# %% nbgrader={"grade": false, "grade_id": "step_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab import stack


def fixed_step(model, batch, state):
    """Train on one batch as slow_step does, without its three faults; return the same loss."""
    images, known = state["images"], state.setdefault("known", {})
    for name in batch:
        if name not in known:  # each file is read and decoded once, not in each epoch
            known[name] = images.tokens(Tensor(images.read(name)))
    inputs = stack([known[name] for name in batch])
    labels = Tensor([images.label(name) for name in batch])
    state["optimizer"].zero_grad()
    loss = F.cross_entropy(model(inputs, attend), labels)  # your attention
    loss.backward()
    state["optimizer"].step()
    state["losses"].append(loss.item())  # a number, which keeps no graph alive
    return state["losses"][-1]


# %% nbgrader={"grade": false, "grade_id": "demo_waterfall", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# The fixed step beside the slow one: the same losses, and what each fix gives, and all of them.
print(f"five losses differ by at most {demos.largest_difference(fixed_step):.0e}")
noise.show_load()
found = demos.time_fixes(fixed_step, demos.demo_size(12, 2), run_order, speedup_interval)
for row in found:
    print("{name:<20}{speedup:5.2f}× as fast ({low:.2f} to {high:.2f})".format(**row))
demos.waterfall(found, title="One training step, and what each fix gave")

# %% [markdown]
# The loader gives about what its row promised; the attention more, since most of its ops are gone, or less, since the fused op takes time.
# The third fix gives memory, and on the cover time, too: from 7.70× to 9.14×, since kept memory must be found anew at each step.
# Savings add up: fixes of 1.4× and 1.8× save 29 and 44 % of the time, together 73 %: 3.7×, more than their product.
# On the cover, loading alone gives 1.50×, attention alone 3.03×, and both 7.70×.
#
# In lesson 08 a cache gained nothing on images that it had never seen; here each epoch needs the same images again. <!-- with lesson 08 pareto -->
# Each epoch needs the same images again. <!-- without lesson 08 pareto -->
# But the first epoch gains less (the last row), and the decoded images must fit: here 0.4 MB, for ImageNet some 190 GB.
#
# **Quick wins, confronted.** A guide lists mixed precision (1.5 to 2× "in five minutes"), loader workers, `torch.compile` and *pinned memory*.
# On this script the first would be a loss (section 3), the second gains nothing from threads, the third is section 5's fusion, and the fourth needs a GPU to copy to. <!-- with section 3 -->
# On this script the first would be a loss, the second gains nothing from threads, the third is section 5's fusion, and the fourth needs a GPU to copy to. <!-- without section 3 -->
# None finds a leak.
#
# | symptom | cause | cure | what to expect | measured in |
# |---|---|---|---|---|
# | "data loading" leads `diagnose` | loading in the main program | workers; decoded data kept, if it fits | at most `best`, from the second epoch on | 1, 2, 7 | <!-- with section 2 -->
# | "data loading" leads `diagnose` | loading in the main program | workers; decoded data kept, if it fits | at most `best`, from the second epoch on | 1, 7 | <!-- without section 2 -->
# | more workers change nothing | one lock, one disk, or loading keeps up already | another format, processes | step time is the floor | 2 | <!-- with section 2 -->
# | losses are flat, or NaN, in 16 bits | gradients below 6 · 10⁻⁸, or above 65,504 | loss scaling, master weights | the float32 curve again | 3 | <!-- with section 3 -->
# | out of memory at the batch you want | activations of the whole batch | accumulation, checkpoints | peak of the largest piece | 4 | <!-- with section 4 -->
# | elementwise ops near their roof | one trip to memory for each op | fusion | bytes before/after | 5 | <!-- with section 5 -->
# | attention's bytes grow with s² | scores in memory | tiles, fused attention | about 2sd · s/block | 6 | <!-- with section 6 -->
# | memory grows step by step | graphs kept in a list | `float(loss)` | no crash, and what the waterfall shows | 1, 7 |

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# model, x, y = torch.nn.Linear(64, 10), torch.randn(32, 64), torch.randint(10, (32,))
# optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
# with torch.autocast("cpu", dtype=torch.float16):
#     loss = torch.nn.functional.cross_entropy(model(x), y)
# scaler.scale(loss).backward()
# scaler.step(optimizer)  # skipped if a gradient overflowed
# scaler.update()
# ```
#
# [`torch.amp`](https://docs.pytorch.org/docs/stable/amp.html) chooses the type of each op, scales the loss, and follows the rule of `scale_after`. <!-- with section 3 -->
# [`torch.amp`](https://docs.pytorch.org/docs/stable/amp.html) chooses the type of each op, scales the loss, and skips a step whose gradients overflowed. <!-- without section 3 -->
# Where generation slows down with length, it is a KV cache that helps: lesson 12. <!-- with lesson 12 -->
# Where generation slows down with length, it is a KV cache that helps. <!-- without lesson 12 -->
# For the rest: `DataLoader(num_workers=…, pin_memory=True)`, `torch.utils.checkpoint`, `torch.compile`, and `scaled_dot_product_attention`.

# %% [markdown]
# ## Reflect
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
#
# 1. Take each of the three fixes. Which number told you about it, and from which tool?
# 2. What did `diagnose` promise for it, and what did the waterfall give, with its interval? Where they differ: why?
# 3. Which quick win of the list would you try first on your own program, and which measurement would talk you out of it?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_optimization", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
#
# - *1 point:* Loading: its region's share (`demo_slow`).
# - *1 point:* Attention: its rows' share, or their bytes and float64.
# - *1 point:* The leak: the bytes that a step leaves, by `find_leak`.
# - *1 point:* The first fix: what `diagnose` promised, and what was measured, with its interval (`demo_waterfall`).
# - *1 point:* The second fix: the same.
# - *1 point:* A difference is explained: ops that vanish have no roof; each fix changes what is left; noise.
# - *1 point:* The third fix is reported as it came out, whatever that was, and its aim is memory, which `diagnose` does not promise in time.
# - *1 point:* A quick win, with a reason in the writer's own program.
# - *1 point:* A measurement that would talk the writer out of it.
# - *1 point:* Same batches and equal losses are said.
#
# **A good answer (10).** A table of three rows (share, promised, measured with interval), and “the third gave 1.29×, which `diagnose` does not promise; it was there for the memory”.
#
# **A poor answer (2: items 1 and 10).** “Loading was 60 % (print_top_operations) and I fixed it; now it is 4 times as fast, with the same losses on the same batches.”
# (Item 4 lacks promise and interval.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can find what slows a program down, fix it, and say how much that gave.
(
    "In six pairs the step with your attention is"
    f" {noise.shown(demos.speedup(fixed_step, run_order, speedup_interval), 'times')}"
    " as fast as the slow one, and learns the same."
)

# %% [markdown]
# ## Summary
#
# - Measure, name the part, compute what it can give at most, fix it, measure again in pairs. <!-- with diagnose -->
# - The largest share is not the best target; what runs at its roof may be superfluous. <!-- with diagnose -->
# - float16 loses small gradients silently: scale the loss, skip what overflows, keep weights and sums in float32. <!-- with half_gradients -->
# - A fix that changes what is learned is no fix: compare losses first, time second. <!-- with section 7 -->
#
# **Next.** Lesson 10 repeats the roofline on a GPU; lesson 11 asks what a training run there waits for. <!-- with lesson 10, lesson 11 -->
# **Next.** Lesson 11 asks what a training run on a GPU waits for. <!-- with lesson 11, without lesson 10 -->
# **Next.** Lesson 12 asks what a token of a served model costs. <!-- with lesson 12, without lesson 11 -->
