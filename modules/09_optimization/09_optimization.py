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
# Placeholder of the opening.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import itertools
import math

import numpy as np
import slow_training
from built import OpRecorder, rows_of, speedup_interval

from proflab import Tensor, nn, no_grad
from proflab.lesson import doubles, expect, expect_between, expect_raises, guesses, plot
from proflab.lesson.demo import demo_size
from proflab.lesson.doubles import profiled
from proflab.lesson.hardware import Hardware
from proflab.lesson.recording import column, columns, row_name, work_and_traffic

# %% [markdown]
# ## 1 · Where would it pay? · 20 min


# %% nbgrader={"grade": false, "grade_id": "diagnose", "locked": false, "schema_version": 3, "solution": true, "task": false}
def diagnose(rows, hardware):
    """Return, for each name, how much faster all would be if that name ran at its roof.

    rows: a list of dicts as lesson 05's recorder makes them, at least one. Used are row_name(row),
        self_ms, and work_and_traffic([row]), which returns the row's FLOPs and bytes.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    At its roof a row takes the larger of its FLOPs / peak_flops and its bytes / bandwidth, and
    never longer than it took. A row without FLOPs and bytes takes no time there.
    Returns a list of dicts: name; share, the name's part of the sum of all self_ms; best, that sum
    over what it would be with all rows of this name at their roofs (math.inf if that is 0). The
    largest best comes first; equal ones stay in the order in which the names first occur.
    Raises ValueError for no rows, and if all self_ms are 0.
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
        {"name": name, "share": ms / total,
         "best": total / (total - saved[name]) if total > saved[name] else math.inf}
        for name, ms in spent.items()
    ]  # fmt: skip
    return sorted(found, key=lambda row: row["best"], reverse=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_diagnose", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=100e9, bandwidth=10e9)
kinds = "op phase ms self_ms matmul_flops elementwise_flops bytes_read bytes_written"
step = profiled.made_up(kinds,
    ("linear", "forward", 50.0, 50.0, 4_000_000_000, 500_000_000, 6_000_000, 4_000_000),
    ("region loading", "region", 40.0, 40.0, 0, 0, 0, 0),
    ("gelu", "forward", 10.0, 10.0, 0, 8_000_000, 8_000_000, 8_000_000))  # fmt: skip
found = diagnose(step, machine)
expect("the order", column(found, "name"), ["loading", "gelu", "linear"],
    mistakes={"the largest share first": ["linear", "loading", "gelu"]})  # fmt: skip
expect("shares", column(found, "share"), [0.4, 0.1, 0.5])
expect("best", column(found, "best"), [100 / 60, 100 / 91.6, 100 / 95],
    mistakes={"as if each name took no time": [100 / 60, 100 / 90, 100 / 50],
    "without the bytes": [100 / 60, 100 / 90.08, 100 / 95]})  # fmt: skip
expect("the keys", sorted(found[0]), ["best", "name", "share"])
twice = profiled.made_up(kinds,
    ("add", "forward", 9.0, 2.0, 0, 0, 0, 0), ("relu", "forward", 3.0, 3.0, 0, 0, 5_000_000, 5_000_000),
    ("relu", "forward", 2.0, 2.0, 0, 300_000_000, 0, 0), ("mul", "forward", 2.0, 2.0, 0, 0, 0, 0),
    ("relu", "backward", 1.0, 1.0, 0, 0, 0, 20_000_000))  # fmt: skip
expect("rows of one name, some faster than the roof; equal ones in their order",
    columns(diagnose(twice, machine), "name", "share", "best"),
    [["add", 0.2, 1.25], ["relu", 0.6, 1.25], ["mul", 0.2, 1.25]])  # fmt: skip
expect("nothing would be left", diagnose(step[1:2], machine), [{"name": "loading", "share": 1.0, "best": math.inf}])
expect_raises("no rows", lambda: diagnose([], machine), ValueError)
idle = profiled.made_up(kinds, ("relu", "forward", 0.0, 0.0, 5, 0, 0, 0))
expect_raises("no time", lambda: diagnose(idle, machine), ValueError)
### BEGIN HIDDEN TESTS
card = Hardware(peak_flops=2e12, bandwidth=500e9)
rows = profiled.made_up(kinds,
    ("softmax", "forward", 8.0, 8.0, 0, 40_000_000, 300_000_000, 200_000_000),
    ("matmul", "forward", 20.0, 20.0, 30_000_000_000, 0, 50_000_000, 50_000_000),
    ("softmax", "backward", 12.0, 12.0, 0, 60_000_000, 700_000_000, 300_000_000),
    ("region optimizer", "region", 50.0, 10.0, 0, 0, 0, 0))  # fmt: skip
expect("a name's rows count together, each with its own roof",
    columns(diagnose(rows, card), "name", "best"),
    [["softmax", 50 / 33], ["optimizer", 50 / 40], ["matmul", 50 / 45]])  # fmt: skip
expect("self_ms counts, not ms", column(diagnose(rows, card), "share"), [0.4, 0.2, 0.4])
expect_raises("there must be rows", lambda: diagnose([], card), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Feed the model · 40 min


# %% nbgrader={"grade": false, "grade_id": "simulate_loader", "locked": false, "schema_version": 3, "solution": true, "task": false}
def simulate_loader(load_ms, step_ms, workers, prefetch=2):
    """Return how long an epoch takes and how much of that the training waits for data, as a dict.

    load_ms: for each batch, in order, the ms to load it, numbers above 0; at least one.
    step_ms: the ms of a training step on one batch, a number above 0.
    workers: int, at least 0. With 0, the main program loads each batch itself, before its step.
    prefetch: int, at least 1.
    With W workers, worker w loads the batches w, w + W, w + 2W, …, in this order, one at a time.
    It may begin a batch once that is asked for: the first W * prefetch batches at the start, and one
    more each time that the main program takes a batch (the next that was not asked for). The main
    program takes the batches in order, each as soon as it is loaded and the step before has ended.
    Keys: total_ms, until the last step ends; wait_ms, in which the main program takes no step.
    Raises ValueError for no batches and for a number out of range.
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


# %% nbgrader={"grade": true, "grade_id": "test_simulate_loader", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
def timing(*arguments):
    found = simulate_loader(*arguments)
    return [found["total_ms"], found["wait_ms"]]


even, uneven = [30] * 8, [8] * 8 + [60] + [8] * 7
expect("the keys", simulate_loader([30], 10, 1), {"total_ms": 40, "wait_ms": 30})
expect("no workers", timing(even, 10, 0), [320, 240])
expect("one worker", timing(even, 10, 1), [250, 170], mistakes={"the first batch alone is waited for": [110, 30]})
expect("two workers", timing(even, 10, 2), [140, 60])
expect("three and four workers", [timing(even, 10, 3), timing(even, 10, 4)], [[110, 30]] * 2)
expect("one slow batch", timing(uneven, 10, 2), [188, 28])
expect("one slow batch, prefetch 1 and 4", [timing(uneven, 10, 2, 1), timing(uneven, 10, 2, 4)],
    [[208, 48], [172, 12]])  # fmt: skip
expect("a slow batch holds up its worker's next, whatever the other has to do",
    timing([10, 50, 10, 10, 10, 10], 5, 2, 4), [75, 45])  # fmt: skip
expect("a batch that is asked for late", timing([1, 1, 40, 1], 20, 1, 1), [101, 21])
expect("slow steps", timing([10, 10, 10], 50, 1), [160, 10])
expect("more workers than batches", timing([7, 9], 1, 8), [10, 8])
expect("times that are no whole numbers", timing([0.5, 0.25], 0.125, 1), [0.875, 0.625])
loads = [3, 4]
expect("the list stays as it is", [timing(loads, 1, 1), loads], [[8, 6], [3, 4]])
expect_raises("no batches", lambda: timing([], 10, 2), ValueError)
expect_raises("a batch that takes no time", lambda: timing([30, 0], 10, 2), ValueError)
expect_raises("no step", lambda: timing([30], 0, 2), ValueError)
expect_raises("workers below 0", lambda: timing([30], 10, -1), ValueError)
expect_raises("prefetch 0", lambda: timing([30], 10, 1, 0), ValueError)
### BEGIN HIDDEN TESTS
expect("each worker has its own batches: none takes over another's",
    timing([90, 5, 5, 5, 5, 5, 5], 4, 3, 2), [118, 90])  # fmt: skip
expect("prefetch counts for each worker", timing([6, 6, 70, 6, 6, 6, 6, 6, 6], 9, 2, 3), [139, 58])
expect("with one batch in advance a worker idles while the step runs",
    timing([12, 12, 12, 12, 40, 12], 15, 1, 1), [127, 37])  # fmt: skip
expect("without workers each load is waited for", timing([5, 7, 90], 3, 0), [111, 102])
expect("one batch", timing([25], 5, 3), [30, 25])
expect_raises("negative loading time", lambda: timing([5, -5], 10, 2), ValueError)
expect_raises("a negative step", lambda: timing([5], -1, 0), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Half the bits · 40 min


# %% nbgrader={"grade": false, "grade_id": "half_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def half_gradients(gradients, scale):
    """Return gradients as they come out of a backward pass in float16 with a scaled loss, or None.

    gradients: a float32 array of any shape. It stays as it is.
    scale: a number above 0, by which the loss, and so each gradient, was multiplied.
    Multiplies by scale in float32, rounds to float16, goes back to float32, and divides by scale.
    Returns a float32 array of the same shape; None if any scaled gradient is infinite or NaN in
    float16. Warns of nothing. Raises ValueError for a scale that is not above 0.
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


# %% nbgrader={"grade": true, "grade_id": "test_half_gradients", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
tiny = np.array([2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)], np.float32)
expect("the loss as it is", half_gradients(tiny, 1).tolist(), [2.0**-20, 2.0**-24, 0.0, 0.0])
expect("scaled by 1,024", half_gradients(tiny, 1024).tolist(), [2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)],
    mistakes={"divided in float16": [2.0**-20, 2.0**-24, 0.0, 0.0],
    "not divided": [2.0**-10, 2.0**-14, 2.0**-15, -(2.0**-16)]})  # fmt: skip
expect("the array stays as it is", tiny.tolist(), [2.0**-20, 2.0**-24, 2.0**-25, -(2.0**-26)])
half = np.array([[0.5, 0.25], [-0.1, 3.0]], np.float32)
expect("too large at 2**17", half_gradients(half, 2**17), None)
expect("rounded to 11 bits", half_gradients(half, 2.0**10).tolist(), [[0.5, 0.25], [-0.0999755859375, 3.0]])
expect("shape and type", [half_gradients(half, 8).shape, str(half_gradients(half, 8).dtype)], [(2, 2), "float32"])
expect("65,504 is the largest", half_gradients(np.array([65504.0, 1.0], np.float32), 1).tolist(), [65504.0, 1.0])
expect("one too large, and negative", half_gradients(np.array([1.0, -70000.0], np.float32), 1), None)
expect("not a number", half_gradients(np.array([1.0, np.nan], np.float32), 2), None)
expect_raises("a scale of 0", lambda: half_gradients(half, 0), ValueError)
expect_raises("a negative scale", lambda: half_gradients(half, -2), ValueError)
### BEGIN HIDDEN TESTS
wide = np.array([[3.0e-6, -7.0e-8, 1.0e-3]], np.float32)
expect("a scale that is no power of two", half_gradients(wide, 1000).tolist(),
    [[3.000259312e-06, -6.997585444e-08, 1.0e-03]], rel=1e-6)  # fmt: skip
expect("below the smallest normal number bits are lost",
    half_gradients(np.array([1.0e-7], np.float32), 1).tolist(), [2.0**-23])  # fmt: skip
expect("zeros stay zeros", half_gradients(np.zeros((2, 1), np.float32), 65536).tolist(), [[0.0], [0.0]])
expect("infinity stays an overflow at any scale",
    half_gradients(np.array([np.inf, 1.0], np.float32), 2.0**-10), None)  # fmt: skip
expect("what overflows float32 overflows float16",
    half_gradients(np.array([1.0e38], np.float32), 65536), None)  # fmt: skip
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "scale_after", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scale_after(overflows, scale=2**16, growth=2, backoff=0.5, interval=2000):
    """Return the loss scale after each step, as a list of numbers.

    overflows: for each step, in order, True (or 1) if a gradient overflowed; may be empty.
    scale: before the first step, above 0. growth: above 1. backoff: above 0 and below 1.
    interval: int, at least 1.
    A step that overflows multiplies the scale by backoff. The last of `interval` steps in a row
    without overflow multiplies it by growth. After either, counting begins anew at 0.
    Raises ValueError for a number out of range.
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


# %% nbgrader={"grade": true, "grade_id": "test_scale_after", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
steps = [1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0]
expect("eleven steps, interval 3", scale_after(steps, interval=3), [32768.0, 16384.0, 16384.0, 16384.0, 32768.0, 32768.0, 32768.0, 16384.0, 16384.0, 16384.0, 32768.0],
    mistakes={"an overflow does not restart the count": [32768.0, 16384.0, 16384.0, 16384.0, 32768.0, 32768.0, 32768.0, 16384.0, 32768.0, 32768.0, 32768.0]})  # fmt: skip
expect("it grows again and again", scale_after([False] * 6, 1, 4, 0.5, 2), [1.0, 4.0, 4.0, 16.0, 16.0, 64.0])
expect("at every step", scale_after([0, 0, 1, 0], 8.0, 2, 0.25, 1), [16.0, 32.0, 8.0, 16.0])
expect("below 1", scale_after([True, True], scale=1), [0.5, 0.25])
expect("2,000 good steps", scale_after([0] * 2000)[-2:], [65536.0, 131072.0])
expect("no steps", scale_after([]), [])
expect_raises("a scale of 0", lambda: scale_after([1], 0), ValueError)
expect_raises("growth 1", lambda: scale_after([1], growth=1), ValueError)
expect_raises("backoff 1", lambda: scale_after([1], backoff=1), ValueError)
expect_raises("backoff 0", lambda: scale_after([1], backoff=0), ValueError)
expect_raises("interval 0", lambda: scale_after([1], interval=0), ValueError)
### BEGIN HIDDEN TESTS
expect("an overflow on the last step of an interval",
    scale_after([0, 0, 1, 0, 0, 0, 0], 64, 2, 0.5, 3), [64.0, 64.0, 32.0, 32.0, 32.0, 64.0, 64.0])  # fmt: skip
expect("good steps before an overflow do not count after it",
    scale_after([0, 1, 0, 0], 100, 3, 0.1, 2), [100.0, 10.0, 10.0, 30.0])  # fmt: skip
expect("growth takes effect at the interval's last step",
    scale_after([0] * 5, 10, 10, 0.5, 5), [10.0, 10.0, 10.0, 10.0, 100.0])  # fmt: skip
expect_raises("a scale is positive", lambda: scale_after([], -8), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · A large batch in small pieces · 20 min


# %% nbgrader={"grade": false, "grade_id": "accumulate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def accumulate(model, loss, batches):
    """Leave in `.grad` the gradients of the mean loss over all samples; return that loss, a float.

    model: a Module. It is called with x, once for each batch, in order; nothing else of it changes.
    loss: loss(model(x), y) is a scalar Tensor, the mean over the samples of the batch.
    batches: a list of pairs (x, y), at least one; len(x) is the number of samples, at least 1 and
        not the same in each batch.
    Gradients that are there before do not count. Each batch has a backward pass of its own, before
    the next forward pass, so that only one graph exists at a time.
    Raises ValueError for no batches and for a batch without samples.
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


# %% nbgrader={"grade": true, "grade_id": "test_accumulate", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def weight(value):
    layer = nn.Linear(1, 1, bias=False)
    layer.weight.data = Tensor([[value]])
    return layer


def mean_of(output, y):
    return (output * y).mean()


def pairs(*batches):
    return [(Tensor([[value] for value in batch]), Tensor([[1.0]])) for batch in batches]


layer, batches = weight(2.0), pairs([1.0, 2.0, 3.0], [10.0])
expect("the mean loss", accumulate(layer, mean_of, batches), 8.0, rel=1e-6,
    mistakes={"the mean of means": 12.0, "the last batch": 20.0})  # fmt: skip
expect("its gradient", layer.weight.grad.tolist(), [[4.0]], rel=1e-6,
    mistakes={"the mean of means": [[6.0]], "the sum of means": [[12.0]], "the last batch": [[10.0]]})  # fmt: skip
accumulate(layer, mean_of, batches)
expect("old gradients do not count", layer.weight.grad.tolist(), [[4.0]], rel=1e-6)
rows = rows_of(lambda: accumulate(layer, mean_of, pairs([1.0], [2.0, 4.0], [5.0])))
phases = [phase for phase, _ in itertools.groupby(column(rows, "phase"))]
expect("a backward pass follows each forward pass", phases.count("backward"), 3,
    mistakes={"one backward pass at the end": 1})  # fmt: skip
expect("the model is called once for each batch", [(row["op"], row["phase"]) for row in rows].count(("linear", "forward")), 3)
expect("one batch", [accumulate(layer, mean_of, pairs([3.0, 5.0])), layer.weight.grad.item()], [8.0, 4.0], rel=1e-6)
expect_raises("no batches", lambda: accumulate(layer, mean_of, []), ValueError)
### BEGIN HIDDEN TESTS
two = nn.Sequential(weight(3.0), weight(0.5))
squares = [(Tensor([[1.0], [2.0]]), Tensor([[0.0], [1.0]])), (Tensor([[4.0]]), Tensor([[2.0]])),
    (Tensor([[2.0], [0.0], [6.0], [1.0]]), Tensor([[1.0], [5.0], [4.0], [0.0]]))]  # fmt: skip
found = accumulate(two, lambda output, y: ((output - y) ** 2).mean(), squares)
expect("the loss of seven samples in three batches", found, 78.5 / 7, rel=1e-6)
expect("the gradients of two layers", [p.grad.item() for p in two.parameters()], [57 / 7, 342 / 7], rel=1e-6)
layer = weight(1.0)
accumulate(layer, mean_of, pairs([7.0], [1.0] * 6))
expect("a small batch counts less than a large one", layer.weight.grad.item(), 13 / 7, rel=1e-6)
empty = [(Tensor(np.zeros((0, 1), np.float32)), Tensor([[1.0]]))]
expect_raises("a batch has samples", lambda: accumulate(layer, mean_of, pairs([1.0]) + empty), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# **Optional.** checkpoint_plan


# %% nbgrader={"grade": false, "grade_id": "checkpoint_plan", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpoint_plan(kept, inputs):
    """Return where to begin segments so that the peak is the least, as a dict. (Optional.)

    kept: for each layer, in order, the bytes that it keeps for backward, its own input included.
    inputs: for each layer the bytes of its input, at most those kept, above 0.
    Segments are runs of layers that together are all layers. The inputs of all segments stay until
    the backward pass. It runs each segment once more, which then keeps what its layers keep; its
    own input is there already. So the peak is the sum of the segments' inputs, plus the largest
    that a segment keeps without its own input.
    Keys: peak, in bytes; starts, a list of the segments' first layers, from 0 (of several plans with
    the least peak, any one).
    Raises ValueError for no layers, and for lists of different lengths.
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
expect("16 equal layers", checkpoint_plan([1] * 16, [1] * 16), {"peak": 7, "starts": [0, 4, 8, 12]})
sizes = [8, 8, 2, 2, 1, 1]
expect("large layers first", checkpoint_plan(sizes, sizes), {"peak": 18, "starts": [0, 2]})
expect("six blocks with small inputs", checkpoint_plan([34] * 6, [1] * 6), {"peak": 39, "starts": [0, 1, 2, 3, 4, 5]})
expect("one layer", checkpoint_plan([5], [2]), {"peak": 5, "starts": [0]})
expect_raises("no layers", lambda: checkpoint_plan([], []), ValueError)
expect_raises("an input is missing", lambda: checkpoint_plan([5, 5], [2]), ValueError)
### BEGIN HIDDEN TESTS
expect("an equal split is not the best where layers differ",
    checkpoint_plan([9, 1, 1, 1, 9, 9], [3, 1, 1, 1, 1, 3]), {"peak": 16, "starts": [0, 1, 4, 5]})  # fmt: skip
expect("100 layers need about two roots of memory", checkpoint_plan([1] * 100, [1] * 100)["peak"], 19)
### END HIDDEN TESTS

# %% [markdown]
# **Take a break here.** What follows needs nothing of the above.
#
# ## 5 · Fewer trips to memory · 40 min


# %% nbgrader={"grade": false, "grade_id": "fuse", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fuse(graph):
    """Return the nodes of a graph in groups, each to be computed in one pass over memory.

    graph: a list of nodes (name, inputs, kind), in the order of computation; at least one. name: of
        the tensor that the node computes, no two alike. inputs: names of what it reads: of nodes
        before it, or of tensors from outside, such as weights. kind: "elementwise" or another word.
    A node of kind "elementwise" joins the group of the first of its inputs that a node computed and
    that no other node reads. (Reading a tensor twice makes no second user.) Every other node begins
    a group of its own, "product" and "reduction" for example; such a group may be joined.
    Returns a list of lists of names, each in the order of the graph; the groups in the order of
    their first nodes.
    Raises ValueError for no nodes, a name that is there twice, and an input computed only later.
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


# %% nbgrader={"grade": true, "grade_id": "test_fuse", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
chain = [("bias", ["x", "b"], "elementwise"), ("gelu", ["bias"], "elementwise"), ("drop", ["gelu", "mask"], "elementwise"),
    ("add", ["drop", "x"], "elementwise"), ("norm", ["add"], "reduction")]  # fmt: skip
expect("a chain, and a norm", fuse(chain), [["bias", "gelu", "drop", "add"], ["norm"]],
    mistakes={"the norm is no elementwise op": [["bias", "gelu", "drop", "add", "norm"]]})  # fmt: skip
diamond = [("a", ["x"], "elementwise"), ("b", ["a"], "elementwise"), ("c", ["a"], "elementwise"),
    ("d", ["b", "c"], "elementwise")]  # fmt: skip
expect("a diamond", fuse(diamond), [["a"], ["b", "d"], ["c"]], mistakes={"a has two users": [["a", "b", "c", "d"]],
    "the groups' order": [["a"], ["c"], ["b", "d"]]})  # fmt: skip
turned = [*diamond[:3], ("d", ["c", "b"], "elementwise")]
expect("the first input decides", fuse(turned), [["a"], ["b"], ["c", "d"]])
expect("a product's group may be joined", fuse([("fc", ["x", "w"], "product"), ("y", ["fc", "b"], "elementwise"),
    ("z", ["y", "w2"], "product")]), [["fc", "y"], ["z"]])  # fmt: skip
expect("a square reads twice, but is one user", fuse([("r", ["x"], "elementwise"), ("s", ["r", "r"], "elementwise")]), [["r", "s"]])
expect("the first that nobody else reads", fuse([("p", ["x"], "elementwise"), ("q", ["x"], "elementwise"),
    ("r", ["p", "q"], "elementwise"), ("s", ["p"], "reduction")]), [["p"], ["q", "r"], ["s"]])  # fmt: skip
expect("one node, from outside alone", fuse([("y", ["x", "x"], "elementwise")]), [["y"]])
expect("two that share an input from outside", fuse([("y", ["x"], "elementwise"), ("z", ["x"], "elementwise")]), [["y"], ["z"]])
expect("the graph stays as it is", diamond[3], ("d", ["b", "c"], "elementwise"))
expect_raises("no nodes", lambda: fuse([]), ValueError)
expect_raises("a name twice", lambda: fuse([diamond[0], diamond[0]]), ValueError)
expect_raises("an input computed later", lambda: fuse([diamond[1], diamond[0]]), ValueError)
### BEGIN HIDDEN TESTS
block = [("qkv", ["x", "w"], "product"), ("biased", ["qkv", "b"], "elementwise"), ("att", ["biased"], "product"),
    ("out", ["att", "w2"], "product"), ("res", ["x", "out"], "elementwise"), ("norm", ["res"], "reduction"),
    ("act", ["norm"], "elementwise"), ("fc", ["act", "w3"], "product"), ("sum", ["fc", "res"], "elementwise"),
    ("half", ["sum"], "elementwise")]  # fmt: skip
expect("elementwise nodes join products and reductions, never the reverse", fuse(block),
    [["qkv", "biased"], ["att"], ["out", "res"], ["norm", "act"], ["fc", "sum", "half"]])  # fmt: skip
expect("groups of interleaved chains keep the graph's order", fuse([("a", ["x"], "elementwise"), ("b", ["y"], "elementwise"),
    ("c", ["a"], "elementwise"), ("d", ["b"], "elementwise"), ("e", ["c"], "reduction"), ("f", ["d", "e"], "elementwise")]),
    [["a", "c"], ["b", "d", "f"], ["e"]])  # fmt: skip
expect("a tensor with two users keeps its group to itself", fuse([("a", ["x"], "product"), ("b", ["a", "x"], "elementwise"),
    ("c", ["b", "a"], "elementwise")]), [["a"], ["b", "c"]])  # fmt: skip
expect_raises("names are unique", lambda: fuse([("a", [], "product"), ("a", ["a"], "elementwise")]), ValueError)
expect_raises("a node cannot read itself", lambda: fuse([("a", ["a"], "elementwise")]), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "graph_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def graph_bytes(graph, sizes, groups):
    """Return the bytes that a graph moves between memory and processor, computed in these groups.

    graph: as for fuse. sizes: a dict, the bytes of each tensor, computed or from outside, by name.
    groups: lists of names, each node of the graph in exactly one.
    Each group reads each tensor that one of its nodes reads and none of its nodes computes, once;
    and writes, once, each tensor that it computes and that a node of another group reads, or nobody.
    Raises ValueError if a node is in no group or in two, if a group has a name of no node, and if
    sizes lacks a tensor.
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


# %% nbgrader={"grade": true, "grade_id": "test_graph_bytes", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
chain = [("bias", ["x", "b"], "elementwise"), ("gelu", ["bias"], "elementwise"), ("drop", ["gelu", "mask"], "elementwise"),
    ("add", ["drop", "y"], "elementwise"), ("norm", ["add"], "reduction")]  # fmt: skip
sizes = dict.fromkeys(["x", "y", "bias", "gelu", "drop", "add", "norm"], 400) | {"b": 4, "mask": 100}
single = [["bias"], ["gelu"], ["drop"], ["add"], ["norm"]]
expect("each node alone", graph_bytes(chain, sizes, single), 4504, mistakes={"nothing is written": 2504, "nothing is read": 2000})
expect("in two groups", graph_bytes(chain, sizes, [["bias", "gelu", "drop", "add"], ["norm"]]), 2104,
    mistakes={"what stays inside is written, too": 3304, "what stays inside is read, too": 3304, "the last output is missing": 1704})  # fmt: skip
diamond = [("a", ["x"], "elementwise"), ("b", ["a"], "elementwise"), ("c", ["a"], "elementwise"), ("d", ["b", "c"], "elementwise")]
same = dict.fromkeys("abcdx", 100)
found = [graph_bytes(diamond, same, groups) for groups in ([["a"], ["b"], ["c"], ["d"]], [["a"], ["b", "d"], ["c"]], [["a", "b", "c", "d"]])]
expect("a diamond in four groups, three, and one", found, [900, 700, 200])
both = [("r", ["x"], "elementwise"), ("s", ["r", "x"], "elementwise"), ("t", ["r", "x", "x"], "elementwise")]
expect("read once by a group, and by each group", [graph_bytes(both, dict(r=1, s=10, t=100, x=1000), groups)
    for groups in ([["r", "s"], ["t"]], [["r", "s", "t"]])], [2112, 1110])  # fmt: skip
expect("a list of groups, in any order", graph_bytes(diamond, same, [["c"], ["d", "b"], ["a"]]), 700)
expect_raises("a node in no group", lambda: graph_bytes(diamond, same, [["a", "b"], ["c"]]), ValueError)
expect_raises("a node in two groups", lambda: graph_bytes(diamond, same, [["a", "b"], ["b", "c", "d"]]), ValueError)
expect_raises("a name of no node", lambda: graph_bytes(diamond, same, [["a", "b", "c", "d", "x"]]), ValueError)
expect_raises("a size is missing", lambda: graph_bytes(diamond, dict.fromkeys("abcd", 1), [["a", "b", "c", "d"]]), ValueError)
### BEGIN HIDDEN TESTS
block = [("fc", ["x", "w"], "product"), ("act", ["fc", "b"], "elementwise"), ("out", ["act", "w2"], "product"), ("res", ["out", "x"], "elementwise")]
weights = dict(x=1, w=2, b=4, fc=8, act=16, w2=32, out=64, res=128)
expect("each node of a block alone", graph_bytes(block, weights, [["fc"], ["act"], ["out"], ["res"]]), 11 + 28 + 112 + 193)
expect("a tensor read by two groups is read twice, and written once", graph_bytes(block, weights, [["fc", "act"], ["out", "res"]]), 23 + 177)
expect("nobody reads the last output, and it is written", graph_bytes(block, weights, [["fc", "act", "out", "res"]]), 167)
expect("two outputs of one group", graph_bytes([("u", ["x"], "elementwise"), ("v", ["x"], "elementwise")], dict(u=5, v=7, x=3), [["u", "v"]]), 15)
expect("read inside and outside its group, a tensor is written", graph_bytes(diamond, dict(a=1, b=10, c=100, d=1000, x=5), [["a", "b"], ["c", "d"]]), 16 + 1011)
expect_raises("sizes must cover what nodes compute", lambda: graph_bytes(block, {"x": 1}, [["fc", "act", "out", "res"]]), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Attention in tiles · 60 min


# %% nbgrader={"grade": false, "grade_id": "merge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge(one, two):
    """Return the partial softmax over two blocks of keys together, from those over each.

    one, two: tuples (highest, total, values), arrays of one floating type: highest (rows,), the largest
        score of each row in the block; total (rows,), the sum of exp(score - highest); values
        (rows, width), the sum of exp(score - highest) * value. They stay as they are.
    Returns such a tuple of the same type. A row without scores in a block (all are masked) has highest -inf,
    total 0 and values 0 there, and is then what it is in the other block. Warns of nothing, and
    nothing overflows, however far apart the scores are.
    """
    ### BEGIN SOLUTION
    highest = np.maximum(one[0], two[0])
    base = np.where(np.isneginf(highest), 0, highest).astype(highest.dtype)
    first, second = np.exp(one[0] - base), np.exp(two[0] - base)
    total = one[1] * first + two[1] * second
    return highest, total, one[2] * first[:, None] + two[2] * second[:, None]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_merge", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def part(highest, total, values):
    return tuple(np.array(item, np.float32) for item in (highest, total, values))


def listed(found):
    return [item.tolist() for item in found]


low, high = part([2], [1.5], [[1]]), part([5], [1], [[4]])
right = [[5.0], [1 + 1.5 * math.exp(-3)], [[4 + math.exp(-3)]]]
expect("the second is higher", listed(merge(low, high)), right, rel=1e-6,
    mistakes={"the first is not rescaled": [[5.0], [2.5], [[5.0]]]})  # fmt: skip
expect("the first is higher", listed(merge(high, low)), right, rel=1e-6)
expect("the arguments stay as they are", listed(low) + listed(high), [[2.0], [1.5], [[1.0]], [5.0], [1.0], [[4.0]]])
two_rows = merge(part([0, 1], [2, 3], [[1, 2], [3, 4]]), part([0, 2], [1, 1], [[5, 6], [7, 8]]))
expect("row by row", listed(two_rows), [[0.0, 2.0], [3.0, 1 + 3 * math.exp(-1)],
    [[6.0, 8.0], [7 + 3 * math.exp(-1), 8 + 4 * math.exp(-1)]]], rel=1e-6)  # fmt: skip
nothing = part([-math.inf], [0], [[0]])
expect("nothing in the first block", listed(merge(nothing, low)), [[2.0], [1.5], [[1.0]]])
expect("nothing in the second block", listed(merge(low, nothing)), [[2.0], [1.5], [[1.0]]])
expect("nothing in either", listed(merge(nothing, nothing)), [[-math.inf], [0.0], [[0.0]]])
far = merge(part([-200], [1], [[1]]), part([200], [2], [[6]]))
expect("scores far apart", listed(far), [[200.0], [2.0], [[6.0]]])
expect("both far below 0", listed(merge(part([-200], [1], [[1]]), part([-200], [2], [[6]]))), [[-200.0], [3.0], [[7.0]]])
expect("float32 stays float32", [str(item.dtype) for item in far], ["float32"] * 3)
### BEGIN HIDDEN TESTS
parts = [part([h, 3 - h], [1 + h, 2], [[h, 1], [2, h]]) for h in (0, 4, 1)]
expect("it does not matter which two are merged first",
    [np.abs(a - b).max() < 1e-6 for a, b in zip(merge(merge(parts[0], parts[1]), parts[2]), merge(parts[0], merge(parts[1], parts[2])), strict=True)],
    [True] * 3)  # fmt: skip
some = merge(part([-math.inf, 1], [0, 2], [[0], [3]]), part([-math.inf, -math.inf], [0, 0], [[0], [0]]))
expect("one row without scores, another with", listed(some), [[-math.inf, 1.0], [0.0, 2.0], [[0.0], [3.0]]])
expect("scores of 1,000 do not overflow", listed(merge(part([1000], [1], [[2]]), part([999], [1], [[4]]))),
    [[1000.0], [1 + math.exp(-1)], [[2 + 4 * math.exp(-1)]]], rel=1e-6)  # fmt: skip
double = [np.array(item) for item in ([1.0], [1.0], [[2.0]])]
expect("float64 stays float64", [str(item.dtype) for item in merge(tuple(double), tuple(double))], ["float64"] * 3)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "tiled_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def tiled_attention(memory, block_q, block_k, causal=False):
    """Compute softmax(Q Kᵀ / √width) V tile by tile and store it in `memory` as "o"; return nothing.

    memory: has seq and width, ints; load(name, low, high) returns the rows low to high - 1 of "q",
        "k" or "v", an array (high - low, width); store("o", low, rows) puts rows there, from row low
        on. At most block_q rows of q and o and block_k rows of k and v pass at a time.
    block_q, block_k: ints, at least 1; seq need not be a multiple of either.
    causal: row i sees the keys 0 to i. A tile that is masked altogether is not loaded.
    The rows of q come in tiles of block_q from row 0; each tile is loaded once, and with it once
    each tile of block_k rows of k and of v that it needs. No array of scores is larger than
    (block_q, block_k). Raises ValueError for blocks below 1.
    """
    ### BEGIN SOLUTION
    if min(block_q, block_k) < 1:
        raise ValueError(f"a tile has at least a row, not {block_q} and {block_k}")
    for low in range(0, memory.seq, block_q):
        high = min(low + block_q, memory.seq)
        q = memory.load("q", low, high)
        whole = (np.full(len(q), -np.inf, q.dtype), np.zeros(len(q), q.dtype), np.zeros_like(q))
        for start in range(0, high if causal else memory.seq, block_k):
            end = min(start + block_k, memory.seq)
            scores = q @ memory.load("k", start, end).T / math.sqrt(memory.width)
            if causal:
                seen = np.arange(low, high)[:, None] >= np.arange(start, end)
                scores = np.where(seen, scores, -np.inf).astype(q.dtype)
            highest = scores.max(axis=1)
            base = np.where(np.isneginf(highest), 0, highest).astype(q.dtype)
            weights = np.exp(scores - base[:, None])
            tile = highest, weights.sum(axis=1), weights @ memory.load("v", start, end)
            whole = merge(whole, tile)
        memory.store("o", low, whole[2] / whole[1][:, None])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_tiled_attention", "locked": true, "points": 16, "schema_version": 3, "solution": false, "task": false}
attend = doubles.using(tiled_attention, merge=doubles.exact_merge)


def run(memory, causal=False):
    attend(memory, memory.block_q, memory.block_k, causal=causal)
    return memory


plain = run(doubles.SlowMemory(64, 8, 16, 16))
expect_between("64 rows in tiles of 16: the error", plain.error(), 0, 1e-6)
expect("numbers moved", plain.moved, 2 * 64 * 8 * (1 + 4), mistakes={"k and v are loaded once for all": 4 * 64 * 8})
expect_between("the largest array of scores", plain.largest_scores, 1, 16 * 16)
masked = run(doubles.SlowMemory(64, 8, 16, 16), causal=True)
expect_between("causal: the error", masked.error(causal=True), 0, 1e-6)
expect("causal: tiles that are all masked are not loaded", masked.moved, 2 * 64 * 8 + 2 * 8 * (16 + 32 + 48 + 64),
    mistakes={"all tiles are loaded": 5120})  # fmt: skip
short = [run(doubles.SlowMemory(100, 8, 32, 16), causal) for causal in (False, True)]
expect_between("100 rows, tiles of 32 and 16: the error", short[0].error(), 0, 1e-6)
expect_between("and causal", short[1].error(causal=True), 0, 1e-6)
expect("numbers moved, not causal and causal", [memory.moved for memory in short], [8000, 6272])
narrow = [run(doubles.SlowMemory(21, 4, 4, 10), causal) for causal in (False, True)]
expect_between("tiles of more keys than queries: the larger error", max(narrow[0].error(), narrow[1].error(True)), 0, 1e-6)
expect("numbers moved here", [memory.moved for memory in narrow], [1176, 2 * 21 * 4 + 8 * (10 + 10 + 20 + 20 + 20 + 21)])
expect_between("numbers up to 100: the error", run(doubles.SlowMemory(40, 16, 16, 8, largest=100.0)).error(), 0, 1e-3)
whole = run(doubles.SlowMemory(12, 4, 32, 32))
expect_between("one tile that is larger than all: the error", whole.error(), 0, 1e-6)
expect_raises("tiles of 0 queries", lambda: attend(doubles.SlowMemory(8, 4, 8, 8), 0, 8), ValueError)
expect_raises("tiles of 0 keys", lambda: attend(doubles.SlowMemory(8, 4, 8, 8), 8, 0), ValueError)
### BEGIN HIDDEN TESTS
uneven = [run(doubles.SlowMemory(53, 6, 7, 19, seed=5), causal) for causal in (False, True)]
expect_between("a length that neither tile divides", uneven[0].error(), 0, 1e-6)
expect_between("masks at the borders of unequal tiles", uneven[1].error(causal=True), 0, 1e-6)
expect("what is moved when neither tile divides the length", [memory.moved for memory in uneven],
    [2 * 53 * 6 * 9, 2 * 53 * 6 + 12 * (19 + 19 + 38 + 38 + 38 + 53 + 53 + 53)])  # fmt: skip
expect_between("scores stay in their tiles", uneven[1].largest_scores, 1, 7 * 19)
wide = run(doubles.SlowMemory(96, 32, 32, 16, largest=100.0, seed=2), causal=True)
expect_between("numbers up to 100, causal, in float32", wide.error(causal=True), 0, 1e-3)
exact = run(doubles.SlowMemory(30, 5, 8, 4, dtype="float64", seed=3))
expect_between("in float64", exact.error(), 0, 1e-12)
expect_raises("negative tiles", lambda: attend(doubles.SlowMemory(8, 4, 8, 8), -8, 8), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · One token at a time · optional · 25 min
#
# **Optional.** generation


# %% nbgrader={"grade": false, "grade_id": "generation_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generation_flops(layers, d, vocab, prompt, new, cached):
    """Return the FLOPs of the matrix products of a decoder that generates tokens. (Optional.)

    layers, d, vocab: of a GPT-2: its blocks, its width, the words that it knows. prompt: tokens at
        the start; new: tokens to generate. All are ints, at least 1.
    The first pass has the prompt's tokens, and gives the first new token; each later pass gives one
    more. cached: True if keys and values of earlier tokens are kept, so that each later pass has
    the newest token alone; else it has all tokens so far.
    A pass of n tokens that look at t (themselves included): in each block 24 * n * d**2 for the
    projections and the feed-forward part, 4 * n * t * d for scores and mix; and 2 * n * d * vocab.
    Raises ValueError for a number below 1.
    """
    ### BEGIN SOLUTION
    if min(layers, d, vocab, prompt, new) < 1:
        raise ValueError("sizes and tokens are at least 1")

    def one_pass(tokens, seen):
        block = 24 * tokens * d**2 + 4 * tokens * seen * d
        return layers * block + 2 * tokens * d * vocab

    lengths = range(prompt + 1, prompt + new)
    later = [one_pass(1 if cached else length, length) for length in lengths]
    return one_pass(prompt, prompt) + sum(later)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_generation_flops", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect("GPT-2 small, 32 and 32 tokens, no cache", generation_flops(12, 768, 50257, 32, 32, False), 378_299_523_072)
expect("with a cache", generation_flops(12, 768, 50257, 32, 32, True), 15_657_638_400)
expect("one new token needs no cache", generation_flops(2, 8, 10, 5, 1, True), generation_flops(2, 8, 10, 5, 1, False) * 1)
expect_raises("no new token", lambda: generation_flops(2, 8, 10, 5, 0, True), ValueError)
expect_raises("no prompt", lambda: generation_flops(2, 8, 10, 0, 5, True), ValueError)
### BEGIN HIDDEN TESTS
expect("without a cache every pass begins at the first token", generation_flops(1, 2, 3, 1, 3, False), 6 * (96 + 12) + 8 * (1 + 4 + 9))
expect("with a cache each pass looks at all tokens so far", generation_flops(1, 2, 3, 1, 3, True), 3 * (96 + 12) + 8 * (1 + 2 + 3))
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "paged_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def paged_tokens(lengths, page):
    """Return for how many tokens caches reserve memory, page by page, an int. (Optional.)

    lengths: the tokens of each sequence, ints, at least 1; at least one. page: tokens of a page, at
    least 1. A sequence has as many whole pages as its tokens need, of its own.
    Raises ValueError for no sequences, and for a number below 1.
    """
    ### BEGIN SOLUTION
    if not lengths or min(lengths) < 1 or page < 1:
        raise ValueError("there must be sequences with tokens, and pages")
    return sum(-(-length // page) * page for length in lengths)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_paged_tokens", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
lengths = [13, 250, 1900, 40, 700]
expect("2,048 each", paged_tokens(lengths, 2048), 10_240)
expect("pages of 16, and of 1", [paged_tokens(lengths, 16), paged_tokens(lengths, 1)], [2928, 2903])
expect_raises("no sequences", lambda: paged_tokens([], 16), ValueError)
expect_raises("no page", lambda: paged_tokens(lengths, 0), ValueError)
### BEGIN HIDDEN TESTS
expect("a full page needs no second one", paged_tokens([32, 16, 17], 16), 80)
expect_raises("a sequence has tokens", lambda: paged_tokens([4, 0], 16), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · The slow script · 50 min
#
# (fixed_step: to be agreed in the interface)
