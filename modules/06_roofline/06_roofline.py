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
# # 06 · Which wall are you at?
#
# ![A roof of two straight lines, rising with the FLOPs a byte and then flat, and below it the operations of GPT-2 as marks. Linear layers lie close under the flat part, additions and layer norms far to the left under the slope.](roof.png)
#
# At the end of this lesson you draw this picture for your own machine: its two roofs, which you have measured, and every operation of a model below them, which your own profiler has recorded.
#
# **You will be able to**
#
# - say what a computation can reach at best, from its FLOPs and its bytes alone;
# - measure the two roofs of a machine, and say for how many threads they hold;
# - tell which of three walls an operation is at: computing, memory, or everything else;
# - say what a faster part would do for the whole, before anybody builds it.
#
# **You need** lessons 02, 03 and 05: FLOPs, times, and a recorder that has both.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time
from functools import cache
from statistics import mean, median, stdev

import numpy as np
from built import OpRecorder, matmul_flops, reflect_6nd

from proflab import Tensor, no_grad
from proflab.lesson import doubles, expect, expect_raises, measuring, plot
from proflab.lesson import plot_walls as draw
from proflab.lesson import tell_walls as tell
from proflab.lesson.demo import demo_size
from proflab.lesson.doubles.noted import noting_copies, noting_kinds
from proflab.lesson.hardware import Hardware, this_machine
from proflab.lesson.recorded import alike, median_rows, products_and_rest, recorded_passes

# %% [markdown]
# ## 1 · Two walls make a roof
#
# A processor computes, and it moves numbers between its memory and itself. Both can go on at once, so a computation takes at least the longer of two times:
#
#     time  ≥  max( FLOPs / peak ,  bytes / bandwidth )
#
# `peak` is the most FLOPs that it can do in a second, `bandwidth` the most bytes that it can move. Which of the two times is longer depends on one number of the computation, its *arithmetic intensity*: FLOPs for each byte moved.
#
# **Predict.** A ReLU of float32 numbers reads four bytes, writes four, and does one FLOP. What is its intensity? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "arithmetic_intensity", "locked": false, "schema_version": 3, "solution": true, "task": false}
def arithmetic_intensity(flops, bytes_moved):
    """FLOPs for each byte that is moved.

    flops: at least 0. bytes_moved: above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if flops < 0 or bytes_moved <= 0:
        raise ValueError(f"no computation does {flops} FLOPs on {bytes_moved} bytes")
    return flops / bytes_moved
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_arithmetic_intensity", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU on a million float32", arithmetic_intensity(1_000_000, 8_000_000), 0.125,
       mistakes={"bytes for each FLOP": 8.0, "FLOPs for each number": 0.5})  # fmt: skip
expect("4,096³ in float32", arithmetic_intensity(2 * 4096**3, 3 * 4 * 4096**2), 4096 / 6)
few = [arithmetic_intensity(0, 9), arithmetic_intensity(3, 0.5)]
expect("no FLOPs; half a byte", few, [0.0, 6.0])
expect_raises("nothing moved", lambda: arithmetic_intensity(5, 0), ValueError)
expect_raises("negative FLOPs", lambda: arithmetic_intensity(-1, 8), ValueError)
expect_raises("both negative", lambda: arithmetic_intensity(-8, -1), ValueError)
### BEGIN HIDDEN TESTS
expect("data only moved", arithmetic_intensity(0, 4096), 0.0)
expect("no rounding", arithmetic_intensity(10**12 + 1, 10**9), 1000.000000001)
expect("a quarter of a byte", arithmetic_intensity(3, 0.25), 12.0)
expect_raises("less than no FLOPs", lambda: arithmetic_intensity(-0.5, 8), ValueError)
expect_raises("negative bytes", lambda: arithmetic_intensity(8, -1), ValueError)
expect_raises("neither is positive", lambda: arithmetic_intensity(-7, -9), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# At some intensity both times are equal: there the two walls meet, at the *ridge*. A computation with less is waiting for memory on that machine, however well it is written; one with more could keep it computing.
#
# **Predict.** An NVIDIA A100 does 312 TFLOP/s with its tensor cores and moves 2 TB/s (data sheet, 80 GB, rounded). At how many FLOPs a byte is its ridge? Of how many ReLUs in a row, fused into one pass over the data? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "ridge_point", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ridge_point(peak_flops, bandwidth):
    """The intensity, in FLOPs a byte, at which a machine computes as long as it moves.

    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"roofs must be positive, not {peak_flops} and {bandwidth}")
    return peak_flops / bandwidth
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ridge_point", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("A100", ridge_point(312e12, 2e12), 156.0, mistakes={"upside down": 1 / 156})
expect("T4, one core", [ridge_point(65e12, 0.32e12), ridge_point(3, 7)], [203.125, 3 / 7])
expect_raises("no bandwidth", lambda: ridge_point(1e12, 0), ValueError)
expect_raises("no peak", lambda: ridge_point(0, 1e9), ValueError)
expect_raises("both negative", lambda: ridge_point(-2e12, -1e12), ValueError)
### BEGIN HIDDEN TESTS
expect("H100", ridge_point(989e12, 3.35e12), 989 / 3.35)
expect("below one", ridge_point(3, 8), 0.375)
expect_raises("a negative peak", lambda: ridge_point(-1, 1e9), ValueError)
expect_raises("two negative roofs", lambda: ridge_point(-3, -1), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# 156, often quoted as 150. Divide the first line by the time and you have the most FLOP/s that a computation of intensity I can reach: the peak, or I · bandwidth, whichever is *less*. Against the intensity, on logarithmic axes, that is a slope and a ceiling: the *roofline* (Williams, Waterman and Patterson, 2009).
#
# **Predict.** What can the ReLU reach on that A100, in percent of its peak? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "attainable_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attainable_flops(intensity, peak_flops, bandwidth):
    """The most FLOP/s that a computation of this intensity can reach on a machine.

    intensity: FLOPs a byte, at least 0; math.inf for one that moves nothing.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"no roof of {peak_flops} and {bandwidth} at an intensity of {intensity}")
    return float(min(peak_flops, intensity * bandwidth))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attainable_flops", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU on an A100", attainable_flops(0.125, 312e12, 2e12), 0.25e12)
expect("far right", attainable_flops(1000, 312e12, 2e12), 312e12, mistakes={"no ceiling": 2e15})
none = [attainable_flops(at, 6e9, 4.0004e9) for at in (math.inf, 0, 1.25)]
expect("nothing moved; nothing computed; between", none, [6e9, 0.0, 5.0005e9])
expect("just left of the ridge", attainable_flops(155, 312e12, 2e12), 310e12)
expect_raises("a negative intensity", lambda: attainable_flops(-1, 312e12, 2e12), ValueError)
expect_raises("no peak", lambda: attainable_flops(1, 0, 1e9), ValueError)
expect_raises("negative roofs", lambda: attainable_flops(1, -1e9, -1e9), ValueError)
### BEGIN HIDDEN TESTS
expect("near the ridge", attainable_flops(153.5, 312e12, 2e12), 307e12)
on_a_core = [attainable_flops(at, 2e11, 3.2e10) for at in (0, 6.25, 6.5, math.inf)]
expect("only moved, on the ridge, right of it, nothing moved", on_a_core, [0.0, 2e11, 2e11, 2e11])
expect("a ridge below one", attainable_flops(0.5, 3e9, 8e9), 3e9)
expect_raises("a peak of 0", lambda: attainable_flops(2, 0, 1e9), ValueError)
expect_raises("no bandwidth", lambda: attainable_flops(1, 1e9, 0), ValueError)
expect_raises("two negative roofs", lambda: attainable_flops(9, -3e9, -2e9), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_roofs", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
sheets = {"A100 (2020)": (312e12, 2.0e12), "H100 (2022)": (989e12, 3.35e12)}
sheets |= {"V100 (2017)": (125e12, 0.9e12), "T4 (2018)": (65e12, 0.32e12)}
for name, sheet in sheets.items():
    print(f"{name}: ridge at {ridge_point(*sheet):.0f} FLOPs a byte")
peak, bandwidth = np.divide(sheets["H100 (2022)"], sheets["V100 (2017)"])
print(f"from V100 to H100: peak {peak:.1f} times, bandwidth {bandwidth:.1f} times")
at = [2.0**k for k in range(-3, 13)]
lines = {name: [(i, attainable_flops(i, *sheet)) for i in at] for name, sheet in sheets.items()}
draw.at_best(lines, title="Four data sheets, 16-bit tensor cores")

# %% [markdown]
# These are the vendor's figures, for 16-bit numbers in dense matrices. The peak grew faster than the bandwidth, and so the ridge moved right: what was limited by computing on the older card is limited by memory on the newer one.
#
# ## 2 · Bytes
#
# FLOPs you can count. Bytes too, if you say which:
#
# - **Unique bytes**: what goes in and what comes out, each number once. Less cannot be moved.
# - **Bytes touched**: what the instructions ask for. A product of n × n matrices, written as three loops, asks for 2 n³ numbers. Most of these come from a cache, or are kept in registers.
#
# What passes between the processor and its memory lies between the two, and no shape tells it. Williams and his co-authors count the traffic between the caches and main memory, which has to be measured. This course counts unique bytes: they give the highest intensity that a computation can have, and so a bound that holds for every way to write it.
#
# **Predict.** By what factor do twice as large matrices change the intensity of their product? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "matmul_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_bytes(m, k, n, itemsize):
    """The unique bytes of a matrix product, (m, k) times (k, n): two matrices read, one written.

    m, k, n: ints, at least 1. itemsize: bytes of a number, at least 1. Returns an int.
    Raises ValueError for an argument below 1.
    """
    ### BEGIN SOLUTION
    if min(m, k, n, itemsize) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k}, {n} and {itemsize}")
    return (m * k + k * n + m * n) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_matmul_bytes", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
expect("2 × 3 times 3 × 4, float32", matmul_bytes(2, 3, 4, 4), 104,
       mistakes={"numbers, not bytes": 26, "the result is not counted": 72,
                 "the result is read, too": 136, "bytes touched, not unique ones": 224})  # fmt: skip
expect("GPT-2, 32 × 512 tokens", matmul_bytes(16_384, 768, 3072, 4), 261_095_424)
expect("float16, more than 2⁶³", matmul_bytes(10**10, 1, 10**10, 2), 2 * 10**20 + 4 * 10**10)
expect_raises("no rows", lambda: matmul_bytes(0, 3, 4, 4), ValueError)
expect_raises("two negative sizes", lambda: matmul_bytes(-2, 3, -4, 4), ValueError)
expect_raises("no bytes a number", lambda: matmul_bytes(2, 3, 4, 0), ValueError)
### BEGIN HIDDEN TESTS
expect("one token", matmul_bytes(1, 768, 3072, 2), 4_726_272)
expect("a column times a row", matmul_bytes(50, 1, 70, 8), 28_960)
expect("sizes of 10¹⁰", matmul_bytes(10**10, 10**10, 1, 2), 2 * 10**20 + 4 * 10**10)
expect_raises("no k", lambda: matmul_bytes(2, 0, 4, 4), ValueError)
expect_raises("no bytes", lambda: matmul_bytes(2, 3, 4, 0), ValueError)
expect_raises("three negative sizes", lambda: matmul_bytes(-2, -3, -4, 4), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tiles", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# A tile of t × t results needs t rows of the one matrix and t columns of the other, all n long.
n, tiles = 4096, [2**k for k in range(13)]
touched = {t: ((n // t) ** 2 * 2 * t * n + n * n) * 4 for t in tiles}
flops, unique = matmul_flops(n, n, n), matmul_bytes(n, n, n, 4)
lines = {"unique bytes": [(t, arithmetic_intensity(flops, unique)) for t in tiles]}
lines["tile by tile"] = [(t, arithmetic_intensity(flops, touched[t])) for t in tiles]
draw.tiles(lines, title="4,096³ in float32: what is kept, need not be fetched")

# %% [markdown]
# With tiles of one number, each number of the result fetches a row and a column: a quarter of a FLOP a byte, and every processor waits. A tile of 64 × 64, which fits into the nearest cache, has 64 times that. This is why a tuned library is so much faster than three loops, and why its intensity comes close to the unique one where it matters.
#
# Elementwise operations have nothing to keep: each number is read once, used once, written once.
#
# **Predict.** Which has the higher intensity: a GELU, which lesson 02 counts as 8 FLOPs, or the sum of two tensors? Do they lie left or right of the ridge? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "elementwise_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def elementwise_bytes(shape, inputs, itemsize):
    """The unique bytes of an elementwise op: its inputs are read, and one result written.

    shape: a tuple of ints, at least 1, of the result and of each input; () is a single number.
    inputs: how many tensors are read, at least 0. itemsize: bytes of a number, at least 1.
    Returns an int. Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if any(size < 1 for size in shape) or inputs < 0 or itemsize < 1:
        raise ValueError(f"{inputs} inputs of {shape} and {itemsize} bytes cannot be")
    return (inputs + 1) * math.prod(shape) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_elementwise_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU, float32", elementwise_bytes((8, 16), 1, 4), 1_024, mistakes={"read only": 512})
expect("a sum of two", elementwise_bytes((8, 16), 2, 4), 1_536)
expect("three of float16", elementwise_bytes((2, 3, 10**9), 3, 2), 48 * 10**9)
small = [elementwise_bytes((), 1, 8), elementwise_bytes((7,), 0, 1)]
expect("a single number; nothing read", small, [16, 7])
expect_raises("a size of 0", lambda: elementwise_bytes((3, 0), 1, 4), ValueError)
expect_raises("two negative sizes", lambda: elementwise_bytes((-3, -2), 1, 4), ValueError)
expect_raises("less than no input", lambda: elementwise_bytes((3,), -1, 4), ValueError)
### BEGIN HIDDEN TESTS
expect("a billion", elementwise_bytes((10**9,), 1, 4), 8 * 10**9)
expect("three read, float16", elementwise_bytes((2, 3, 5, 7), 3, 2), 1_680)
expect("a single number of four bytes", elementwise_bytes((), 2, 4), 12)
expect("zeros of one byte: nothing is read", elementwise_bytes((5, 5), 0, 1), 25)
expect_raises("all sizes negative", lambda: elementwise_bytes((-1, -1), 1, 4), ValueError)
expect_raises("inputs below 0", lambda: elementwise_bytes((3,), -2, 4), ValueError)
expect_raises("no bytes", lambda: elementwise_bytes((3,), 1, 0), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_intensity", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
work = {"add, two tensors": (1, elementwise_bytes((1,), 2, 4))}
work |= {"ReLU": (1, elementwise_bytes((1,), 1, 4)), "GELU": (8, elementwise_bytes((1,), 1, 4))}
for n in (1, 128, 4096):
    linear = matmul_flops(n, 768, 3072), matmul_bytes(n, 768, 3072, 4)
    work[f"768 → 3,072, {tell.counted(n, 'token')}"] = linear
values = {name: arithmetic_intensity(*pair) for name, pair in work.items()}
plot.bars(values, unit="FLOPs a byte", title="Work for each byte, float32", log=True)

# %% [markdown]
# One and the same linear layer stands at the left with one token, as when GPT-2 writes, and far to the right with thousands, as when it is trained. To write one token, all weights are read for two FLOPs each: no processor of today is busy with that.
#
# **Optional: attention, kept in pieces.** Attention makes scores of s × s for each head, takes their softmax, and mixes the values with it. Done one after another, the scores are written to memory and read, and so are their softmaxes. FlashAttention (Dao et al. 2022) does all three on tiles that stay in the cache: the scores are never anywhere else.


# %% nbgrader={"grade": false, "grade_id": "attention_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_bytes(batch, heads, seq, head_dim, itemsize, fused):
    """The bytes that attention moves between query, key, value and output; optional, no points.

    batch, heads, seq (tokens), head_dim (width of a head), itemsize: ints, at least 1.
    fused: whether scores stay in the cache. If not, they are written by the first product and read
        by the softmax, whose results are written, and read by the second product.
    Query, key and value, each (batch, heads, seq, head_dim), are read once, which is the least (a
    fused kernel reads keys and values anew for each tile of queries), and an output of that shape
    is written. Returns an int. Raises ValueError for an argument below 1.
    """
    ### BEGIN SOLUTION
    if min(batch, heads, seq, head_dim, itemsize) < 1:
        raise ValueError("batch, heads, seq, head_dim and itemsize must be at least 1")
    row = 4 * head_dim + (0 if fused else 4 * seq)
    return batch * heads * seq * row * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_bytes", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect("one head, fused", attention_bytes(1, 1, 8, 4, 4, True), 512)
expect("one head, not fused", attention_bytes(1, 1, 8, 4, 4, fused=False), 1_536,
       mistakes={"scores once written, once read": 1_024, "no output": 1_408})  # fmt: skip
expect("two texts, three heads, float16", attention_bytes(2, 3, 8, 4, 2, False), 4_608)
expect_raises("no tokens", lambda: attention_bytes(1, 1, 0, 4, 4, True), ValueError)
expect_raises("two negative sizes", lambda: attention_bytes(-1, -1, 8, 4, 4, True), ValueError)
### BEGIN HIDDEN TESTS
expect("GPT-2, fused", attention_bytes(2, 12, 1024, 64, 4, True), 25_165_824)
expect("GPT-2, not fused", attention_bytes(2, 12, 1024, 64, 2, False), 213_909_504)
expect_raises("no heads", lambda: attention_bytes(1, 0, 8, 4, 4, False), ValueError)
expect_raises("negative heads", lambda: attention_bytes(1, -2, -8, 4, 4, True), ValueError)
expect_raises("no bytes", lambda: attention_bytes(1, 1, 8, 4, 0, True), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_fused", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
lines = {"fused": [], "not fused": []}
for seq in (2**k for k in range(5, 15)):
    work = 2 * 12 * matmul_flops(seq, 64, seq)
    for name, points in lines.items():
        moved = attention_bytes(1, 12, seq, 64, 2, fused=name == "fused")
        points.append((seq, arithmetic_intensity(work, moved)))
title = "Attention, 12 heads of 64, 16-bit numbers"
plot.curves(lines, x="tokens", y="FLOPs a byte", log="xy", title=title)

# %% [markdown]
# Not fused, attention stays below head_dim / itemsize = 32 FLOPs a byte at any length, left of every ridge in the first plot. Same FLOPs, same result: what changed is where the scores are kept.
#
# ## 3 · The ceiling, measured
#
# A data sheet's peak is for all cores, at a clock that the processor may not hold, with instructions that your program may not use. So **roofs are measured, never assumed**: with the best program for the purpose. For the ceiling that is a product of matrices large enough that call and start cost nothing, and small enough that you need not wait: 2 n³ FLOPs, over the time.
#
# A roof is what a machine *can* do. Whatever else happens meanwhile only makes a product slower, never faster, so the *best* of many calls is nearest to the roof. (For what a user waits, lesson 03's median was right: another question.) First calls fetch code and memory and start threads: they are not timed, in case there is only one more. (The test's `doubles.Matmul` is a product of scripted speed, on lesson 03's scripted clock: it takes 2 · m · k · n FLOPs over the next of its speeds, and keeps what it was asked for in `calls` and `amounts`.)
#
# **Predict.** Your machine, float32, all cores: 10, 100 or 1,000 GFLOP/s? In float64? In float16, which is half the bytes? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "measure_peak_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_peak_flops(matmul=np.matmul, sizes=(384, 512, 768, 1024), dtype=np.float32, repeats=20):
    """The most FLOP/s that a matrix product reaches: the best of all timed calls.

    matmul: called as matmul(a, b) or matmul(a, b, out=c), with arrays of n rows and n columns.
    sizes: a list or tuple of the n to try, in this order; ints, at least 1. dtype: of all arrays.
    repeats: int, at least 1. Of each n, one product is not timed; then `repeats` are, one by one.
    Returns a float, FLOP/s. Raises ValueError for no sizes, and for a size or repeats below 1.
    """
    ### BEGIN SOLUTION
    if not len(sizes) or min(*sizes, repeats) < 1:
        raise ValueError(f"sizes and repeats must be at least 1, not {sizes} and {repeats}")
    best = 0.0
    for n in sizes:
        left, right, out = (np.ones((n, n), dtype) for _ in range(3))
        matmul(left, right, out=out)
        for _ in range(repeats):
            start = time.perf_counter()
            matmul(left, right, out=out)
            best = max(best, matmul_flops(n, n, n) / (time.perf_counter() - start))
    return best
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_measure_peak_flops", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
product = doubles.Matmul(clock, per_second=[1e8, 4e9, 5e9, 2e9])
best = clock.run(measure_peak_flops, product, sizes=[100], repeats=3)
expect("the best of three", best, 5e9, rel=1e-3,
       mistakes={"the mean, not the best": 11e9 / 3, "multiply-adds": 2.5e9,
                 "FLOPs over the sum of the times": 3 / (1 / 4e9 + 1 / 5e9 + 1 / 2e9)})  # fmt: skip
expect("one is not timed", product.calls, 4)
product = doubles.Matmul(clock, per_second=[1e8, 4e9, 1e8, 3e9])
best = clock.run(measure_peak_flops, product, sizes=[100, 200], repeats=1)
expect("the best of two sizes", best, 4e9, rel=1e-3,
       mistakes={"the last size": 3e9, "each size's first call is timed": 1e8})  # fmt: skip
expect("what was asked for", product.amounts, [2_000_000] * 2 + [16_000_000] * 2)
slower = doubles.Matmul(clock, per_second=[9e9, 8e9, 7e9, 6e9, 5e9, 4e9, 3e9])
best = clock.run(measure_peak_flops, slower, sizes=[60, 40], repeats=2)
expect("ever slower, the largest size first", best, 8e9, rel=1e-3)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
slower = doubles.Matmul(watch, per_second=[9e9, 8e9, 7e9, 6e9])
best = watch.run(measure_peak_flops, slower, (100,), np.float32, 3)
expect("slower from call to call", best, 8e9, rel=1e-3)
faster = doubles.Matmul(watch, per_second=[1e8, 6e9, 7e9, 8e9, 9e9])
expect("ever faster", watch.run(measure_peak_flops, faster, sizes=(100,), repeats=4), 9e9, rel=1e-3)
three = doubles.Matmul(watch, per_second=[1e7, 2e9, 3e9, 1e7, 5e9, 4e9, 1e7, 1e9, 2e9])
best = watch.run(measure_peak_flops, three, sizes=[150, 60, 100], repeats=2)
expect("the size in the middle", best, 5e9, rel=1e-3)
expect("nine calls", three.amounts, [6_750_000] * 3 + [432_000] * 3 + [2_000_000] * 3)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_peak_flops_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock, seen = doubles.Clock(), []
product = noting_kinds(doubles.Matmul(clock, per_second=[1e9]), seen)
speed = clock.run(measure_peak_flops, product, sizes=[30], dtype=np.float16, repeats=1)
expect("in float16", seen, [[((30, 30), "float16")]] * 2)
expect("its speed", speed, 1e9, rel=1e-3)
expect_raises("no sizes", lambda: measure_peak_flops(np.matmul, sizes=[]), ValueError)
expect_raises("no repeats", lambda: measure_peak_flops(np.matmul, [8], repeats=0), ValueError)
expect_raises("a negative size", lambda: measure_peak_flops(np.matmul, [8, -8]), ValueError)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
product = doubles.Matmul(watch, per_second=[2e9])
noted = []
speed = watch.run(measure_peak_flops, noting_kinds(product, noted), (20, 10), "float64", 2)
expect("sizes in float64", noted, [[((20, 20), "float64")]] * 3 + [[((10, 10), "float64")]] * 3)
expect("their speed", speed, 2e9, rel=1e-3)
expect_raises("a size of 0", lambda: measure_peak_flops(np.matmul, [8, 0]), ValueError)
expect_raises("below 0", lambda: measure_peak_flops(np.matmul, [8], repeats=-1), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_peak", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
def peak(dtype, threads, sizes):
    with measuring.on_threads(threads):
        return measure_peak_flops(sizes=sizes, dtype=dtype, repeats=demo_size(8, 2))


large, small = demo_size((512, 1024), (128,)), (64, 96)
cases = [(dtype, n, large) for dtype in ("float32", "float64") for n in measuring.thread_counts()]
cases += [("float16", 1, small), ("int32", 1, small)]
names = [f"{dtype}, {measuring.called(n)}" for dtype, n, _ in cases]
peaks = measuring.in_turns(peak, dict(zip(names, cases, strict=True)))
print(this_machine().sentences())
print(tell.against_first(peaks))
draw.ranges(peaks, unit="FLOP/s", title="Products of matrices: best of each round")

# %% [markdown]
# The spread between rounds is what the machine's other work, and its clock, do to a best. It is often larger with several threads: all wait for the last one, and the one whose core is wanted by another program is the last. If more threads are slower than one here, something else is running. numpy hands float32 and float64 to a library (BLAS) that keeps tiles in registers and does eight or sixteen numbers in one instruction. For float16 and integers there is no such library: a plain loop runs instead. Half the bytes do not help a program that was never limited by bytes.
#
# ## 4 · The slope, measured
#
# For the slope, the purest program is a copy: no FLOPs, each byte read once and written once. It shows how fast its *working set* is, all memory that it goes through again and again. One that fits into a cache stays there after the first copy; only one that is several times larger than the last cache shows main memory.
#
# Four ways to measure something else:
#
# - **Untouched memory.** `np.empty` and `np.zeros` reserve addresses; the system finds memory when a page is first written. Read before that, all pages are one and the same page of zeros, which is in the cache: a source must have been written. And a destination that is written for the first time measures the system.
# - **Bytes counted once.** A copy moves each byte twice, in and out. (Some tables say "copy: 10 GB/s" and mean 20.)
# - **Bytes that nobody counts.** To write a number, a processor first reads the 64 bytes around it (*write allocate*): a plain copy of n bytes moves 3 n on the bus. Special instructions avoid that. The STREAM benchmark (McCalpin) counts 2 n either way, and so do we: it is what the program asked for, and the additions and layer norms that will stand under this roof write as plainly as a copy.
# - **One core.** `np.copyto` runs on one thread, as all of numpy's elementwise work does. One core may not saturate the memory. Then there are two slopes, and a picture must say which it shows.
#
# **Predict.** How many times faster is a copy that stays in a cache than one in main memory? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "measure_bandwidth", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_bandwidth(working_set, copy=np.copyto, repeats=20):
    """The most bytes that a copy reads and writes in a second: the best of all timed calls.

    working_set: bytes of source and destination together, a multiple of 16; half for each.
    copy: called as copy(destination, source), with one-dimensional arrays of the same size and
        dtype. Both have been written before, with numbers that are not all 0.
    repeats: int, at least 1. One copy is not timed; then `repeats` are, one by one.
    Returns a float, bytes/s. Raises ValueError for a working_set below 16, or repeats below 1.
    """
    ### BEGIN SOLUTION
    if working_set < 16 or repeats < 1:
        raise ValueError(f"no copy of {working_set} bytes, {repeats} times")
    read = np.ones(working_set // 16)
    written = np.full_like(read, 2.0)
    copy(written, read)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        copy(written, read)
        times.append(time.perf_counter() - start)
    return 2 * read.nbytes / min(times)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_measure_bandwidth", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
memory = doubles.Copy(clock, per_second=[1e9, 16e9, 32e9, 8e9])
best = clock.run(measure_bandwidth, 2**20, memory, repeats=3)
expect("the best of three", best, 32e9, rel=1e-3,
       mistakes={"only what is read, or written, is counted": 16e9,
                 "the mean, not the best": 56e9 / 3, "in units of 1024³": 32e9 / 1024**3,
                 "the working set is read and written": 64e9})  # fmt: skip
expect("one is not timed, and all are as large", memory.amounts, [2**20] * 4)
slower = doubles.Copy(clock, per_second=[9e9, 8e9, 7e9])
expect("ever slower", clock.run(measure_bandwidth, 48_000, slower, 2), 8e9, rel=1e-3)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
slower = doubles.Copy(watch, per_second=[9e9, 8e9, 7e9, 6e9])
best = watch.run(measure_bandwidth, 2**22, slower, 3)
expect("slower from copy to copy", best, 8e9, rel=1e-3)
faster = doubles.Copy(watch, per_second=[2e9, 6e9, 7e9, 8e9, 9e9])
expect("ever faster", watch.run(measure_bandwidth, 48_000, faster, 4), 9e9, rel=1e-3)
expect("five calls", faster.amounts, [48_000] * 5)
small = doubles.Copy(watch, per_second=[1e6, 2e6])
expect("the smallest, once", watch.run(measure_bandwidth, 16, small, 1), 2e6, rel=1e-3)
expect("its bytes", small.amounts, [16, 16])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_bandwidth_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock, seen = doubles.Clock(), []
copy = noting_copies(doubles.Copy(clock, per_second=[1e9]), seen)
clock.run(measure_bandwidth, 5 * 2**24, copy, repeats=1)  # 80 MB: new memory, all 0
expect("half the bytes each, alike, apart", [s[:3] for s in seen], [[5 * 2**23, True, True]] * 2)
expect("source and destination were written", [s[3:] for s in seen], [[True, True]] * 2)
expect_raises("no repeats", lambda: measure_bandwidth(2**14, np.copyto, 0), ValueError)
expect_raises("negative repeats", lambda: measure_bandwidth(2**14, np.copyto, -1), ValueError)
expect_raises("nothing to copy", lambda: measure_bandwidth(0), ValueError)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
memory = doubles.Copy(watch, per_second=[4e9])
noted = []
speed = watch.run(measure_bandwidth, 9 * 2**23, noting_copies(memory, noted), repeats=2)
expect("larger than many caches", noted, [[9 * 2**22, True, True, True, True]] * 3)
expect("its speed", speed, 4e9, rel=1e-6)
expect_raises("too little to copy", lambda: measure_bandwidth(8), ValueError)
expect_raises("negative bytes", lambda: measure_bandwidth(-(2**20)), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_sweep", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
sizes = [2**k for k in range(12, demo_size(29, 24))]
# The smaller the set, the more often: a round of each takes about as long.
often = [max(3, min(2000, demo_size(2**28, 2**23) // size)) for size in sizes]
cases = {size: (size, np.copyto, repeats) for size, repeats in zip(sizes, often, strict=True)}
rates = measuring.in_turns(measure_bandwidth, cases)
call = 16 / measure_bandwidth(16, repeats=2000)  # seconds: 8 bytes are read, and 8 written
caches = this_machine().caches
print(tell.levels(rates, caches, call))
draw.levels(rates, caches, call)

# %% [markdown]
# Where the curve rises, at the left, it is not memory that you see: to call a copy and to get it going takes longer than to copy a few kilobytes. That hides how fast the nearest cache is, and it is the third wall of section 6. Where a drop is smaller than the spread, the machine was too busy for an answer: close what runs, or measure longer.
#
# Now main memory, by one thread and by more: `measuring.copy_on(n)` copies n pieces side by side, which numpy allows, for it lets other threads run while it copies.

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
size = measuring.beyond_caches(this_machine().caches, demo_size(2**29, 2**26))
copies = {tell.counted(n, "thread"): measuring.copy_on(n) for n in measuring.thread_counts()}
cases = {name: (size, copy, demo_size(5, 2)) for name, copy in copies.items()}
rates = measuring.in_turns(measure_bandwidth, cases)
print(tell.by_threads(rates, size))
draw.ranges(rates, unit="B/s", title="Main memory: best of each round")

# %% [markdown]
# What you see is what *this* copy reaches on *this* many threads, here and now; `benchmarks/bench_roofs.py` in the repository puts it beside a compiled STREAM. Write threads, working set, best or median, and the date beside every roof.
#
# ## 5 · Your operations under your roof
#
# A point for each operation: its intensity across, the FLOP/s that it reached up. The distance to the roof above it is what could be gained without changing what is computed. All that is needed is in the rows of lesson 05's recorder. FLOPs are here *all* FLOPs of an operation, of products and elementwise ones: under the slope a layer norm must not count as nothing.
#
# **Predict.** Which of GPT-2's operations is nearest to its roof, which takes the most time, and which is furthest below? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "roofline_points", "locked": false, "schema_version": 3, "solution": true, "task": false}
def roofline_points(rows, hardware):
    """The place of each recorded row under a machine's roof.

    rows: a list of dicts with at least op, module (strings), self_ms (what the op took itself),
        matmul_flops, elementwise_flops, bytes_read and bytes_written.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    Returns a list of dicts, in the order of the rows:
        name: op and module with a space between, or op alone where module is "".
        intensity: all FLOPs of the row for each byte read or written.
        flops_per_second: what it reached. attainable: what the roof allows at its intensity.
        efficiency: the former over the latter; above 1 where the data came from a cache.
    A row without any FLOPs, bytes or time has no place on logarithmic axes and is left out.
    """
    ### BEGIN SOLUTION
    points = []
    for row in rows:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved = row["bytes_read"] + row["bytes_written"]
        if not (flops and moved and row["self_ms"]):
            continue
        intensity = arithmetic_intensity(flops, moved)
        reached = flops / (row["self_ms"] / 1000)
        attainable = attainable_flops(intensity, hardware.peak_flops, hardware.bandwidth)
        points.append({
            "name": f"{row['op']} {row['module']}".strip(),
            "intensity": intensity,
            "flops_per_second": reached,
            "attainable": attainable,
            "efficiency": reached / attainable,
        })  # fmt: skip
    return points
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_roofline_points", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=100e9, bandwidth=10e9, name="a small one")
product = doubles.forward_row("linear", "mlp.fc", 5.0, 400_000_000, 0, 3_000_000, 1_000_000)
expect("a product, right of the ridge", roofline_points([product], machine), [
    {"name": "linear mlp.fc", "intensity": 100.0, "flops_per_second": 80e9,
     "attainable": 100e9, "efficiency": 0.8},
])  # fmt: skip
addition = doubles.forward_row("add", "", 2.0, 0, 1_000_000, 8_000_000, 4_000_000)
[point] = roofline_points([addition], machine)
expect("an addition: its name", point["name"], "add")
expect("its intensity", point["intensity"], 1 / 12, mistakes={"only what is read": 1 / 8})
expect("its speed", point["flops_per_second"], 0.5e9, mistakes={"seconds for milliseconds": 0.5e6})
expect("its efficiency", point["efficiency"], 0.6, mistakes={"of the peak": 0.005})
cached = doubles.forward_row("exp", "m", 0.5, 100, 3_000_000, 4_000_000, 4_000_000)
cached["phase"] = "backward"
points = roofline_points([cached, product, cached], Hardware(60e9, 8e9))
expect("in order, also twice", [p["name"][:3] for p in points], ["exp", "lin", "exp"])
expect("backward, both kinds of FLOPs", points[0]["intensity"], 3_000_100 / 8e6)
expect("another machine, a cache", [p["efficiency"] for p in points[:2]], [2.0, 4 / 3])
### BEGIN HIDDEN TESTS
other = Hardware(peak_flops=6e9, bandwidth=4e9)
both = doubles.forward_row("conv2d", "stem", 0.5, 900_000, 100_000, 600_000, 200_000)
cached = doubles.forward_row("mul", "", 0.25, 0, 1_000_000, 4_000_000, 4_000_000)
points = roofline_points([both, cached, product, addition, both], other)
names = [p["name"].split()[0] for p in points]
expect("the order of the rows, also twice", names, ["conv2d", "mul", "linear", "add", "conv2d"])
figures = [points[0][key] for key in ("intensity", "attainable", "efficiency")]
expect("both kinds of FLOPs, left of the ridge", figures, [1.25, 5e9, 0.4])
expect("faster than main memory", points[1]["efficiency"], 8.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_roofline_points_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=100e9, bandwidth=10e9)
view = doubles.forward_row("reshape", "", 0.01, 0, 0, 0, 0)
inside = doubles.forward_row("softmax", "attn", 1.0, 0, 5_000_000, 20_000_000, 20_000_000, ms=4.0)
points = roofline_points([view, inside], machine)
expect("a view is left out", [p["name"] for p in points], ["softmax attn"])
quick, free = inside | {"self_ms": 0.0}, inside | {"bytes_read": 0, "bytes_written": 0}
expect("no time, no bytes", roofline_points([quick, free], machine), [])
drawn = doubles.forward_row("rand", "", 1.0, 0, 6_000, 0, 24_000) | {"depth": 1}
found = roofline_points([drawn] * 60, machine)
expect("sixty that only write", [p["intensity"] for p in found], [0.25] * 60)
expect("its own time alone", points[0]["flops_per_second"], 5e9,
       mistakes={"with what ran inside": 1.25e9})  # fmt: skip
expect("no rows", roofline_points([], machine), [])
### BEGIN HIDDEN TESTS
moved = doubles.forward_row("cat", "head", 1.0, 0, 0, 4_000, 4_000)
region = doubles.forward_row("region", "data loading", 0.0, 0, 0, 0, 0, ms=9.0)
too_short = doubles.forward_row("add", "", 0.0, 0, 8, 64, 32)
counted = doubles.forward_row("norm", "", 1.0, 0, 8, 0, 0)
rest = roofline_points([moved, region, too_short, counted, inside, view], machine)
expect("what else is left out", [p["name"] for p in rest], ["softmax attn"])
made = doubles.forward_row("rand", "", 1.0, 0, 6_000, 0, 24_000)
summed = doubles.forward_row("sum", "", 1.0, 0, 6_000, 24_000, 0)
backward, before = summed | {"phase": "backward", "depth": 2}, dict(summed)
points = [
    [p["intensity"], p["attainable"]] for p in roofline_points([made, summed, backward], machine)
]
expect("written only, read only, and back", points, [[0.25, 2.5e9]] * 3)
expect("rows stay as they are", summed == before, True)
summed["self_ms"] = 4.0
expect("a row that has changed", roofline_points([summed], machine)[0]["flops_per_second"], 1.5e6)
long = doubles.forward_row("linear", "", 2000.0, 10**15, 0, 10**12, 0)
expect("two seconds", roofline_points([long], machine)[0]["efficiency"], 5000.0)
### END HIDDEN TESTS

# %% [markdown]
# Now the real thing, on one thread: so the roof is the same for all operations, and products need not wait for one another. `roofs` measures both roofs, once; `measured_rows` runs a model a few times under your recorder, and takes the median of each operation's time; `alike` adds up operations that are the same in all blocks, so that twelve blocks are one point. The thin roof is that of all threads.


# %% nbgrader={"grade": false, "grade_id": "measured_rows", "locked": true, "schema_version": 3, "solution": false, "task": false}
@cache
def roofs():
    """This machine's roofs as you measure them, once: on one thread, and on all."""
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**29, 2**26))
    found = []
    for threads in measuring.thread_counts():
        with measuring.on_threads(threads):
            peak = measure_peak_flops(sizes=demo_size((384, 512, 1024), (128,)))
        bandwidth = measure_bandwidth(size, measuring.copy_on(threads), repeats=demo_size(20, 3))
        found.append(Hardware(peak, bandwidth, measuring.called(threads), "measured here"))
    return found


@cache
def passes_of(name, threads):
    """Forward passes of "GPT-2" or "ResNet-18", each recorded: a list of (ms, rows)."""
    return recorded_passes(name, OpRecorder, threads)


def measured_rows(name, threads=1):
    """The rows of a pass, each with the median of its times."""
    return median_rows(passes_of(name, threads))


def points_of(name):
    """A model's operations under one thread's roof, each with its share of the time."""
    rows, roof = alike(measured_rows(name)), roofs()[0]
    return [p | {"share": row["share"]} for row in rows for p in roofline_points([row], roof)]


# %% nbgrader={"grade": false, "grade_id": "demo_gpt2", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
points = points_of("GPT-2")
print(this_machine().sentences())
print(tell.extremes(points))
title = f"GPT-2 small, one text, {demo_size(128, 32)} tokens"
draw.operations(points, roofs(), title)

# %% nbgrader={"grade": false, "grade_id": "demo_resnet", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
points = points_of("ResNet-18")
print(tell.against_rest(points, "conv2d", "convolutions"))
draw.operations(points, roofs(), "ResNet-18, one image")

# %% [markdown]
# A point *above* the slope is no mistake: its data came from a cache, where the operation before had left it. And the thin roof is not for everybody: numpy multiplies matrices on all threads, but does all elementwise work on one, which can use neither all of the memory nor all of the arithmetic.
#
# ## 6 · The third wall
#
# Many points are far below both walls. The roofline says that they could be faster, not why they are not. What takes the time of small operations is neither computing nor memory: an interpreter that reads the next line, checks of types and shapes, a result to be allocated, a call; on a GPU also the *launch* of a kernel. Each costs time for every operation, however small it is. Several machines that train together add *communication*: to average G bytes of gradients over n machines in a ring, each sends 2 (n − 1) / n · G bytes over a link that is slower than each card's own memory, and all wait for the last one.
#
# So there are three walls, and a rule of thumb finds the one that an operation is at. With T the larger of FLOPs / peak and bytes / bandwidth: when it takes more than 4 · T, neither wall explains it. Otherwise it is at the wall whose time is longer, or, when the two are within 20 % of one another, at the ridge.
#
# **Predict.** You add two tensors of 1,000 float32. At how many of these a second does your machine arrive? At which wall is it? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "classify", "locked": false, "schema_version": 3, "solution": true, "task": false}
def classify(flops, bytes_moved, seconds, peak_flops, bandwidth):
    """The wall that a measured computation is at.

    flops, bytes_moved: at least 0. seconds: what it took, above 0.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    Of flops / peak_flops and bytes_moved / bandwidth, T is the longer time. Returns
        "overhead" when it took more than 4 · T, else
        "ridge" when T is at most 1.2 times the shorter time, else
        "compute" or "memory", by which time is T.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if min(flops, bytes_moved) < 0 or min(seconds, peak_flops, bandwidth) <= 0:
        raise ValueError("seconds and roofs are positive, FLOPs and bytes not negative")
    computing, moving = flops / peak_flops, bytes_moved / bandwidth
    longer, shorter = max(computing, moving), min(computing, moving)
    if seconds > 4 * longer:
        return "overhead"
    if longer <= 1.2 * shorter:
        return "ridge"
    return "compute" if computing > moving else "memory"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_classify", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
peak, bandwidth = 200e9, 20e9
product = classify(2 * 1024**3, 3 * 4 * 1024**2, 0.013, peak, bandwidth)
expect("a product of 1,024³, near the peak", product, "compute")
expect("a ReLU on 10⁷ numbers", classify(10**7, 8 * 10**7, 0.0045, peak, bandwidth), "memory")
expect("it takes a second", classify(10**7, 8 * 10**7, 1.0, peak, bandwidth), "overhead")
expect("11 FLOPs a byte", classify(11 * 10**8, 10**8, 0.006, peak, bandwidth), "ridge")
thousand = classify(1000 * 64, 1000 * 64 * 12, 0.003, peak, bandwidth)
expect("a thousand additions of 64 numbers", thousand, "overhead")
times = [classify(32, 8, ms, 2.0, 2.0) for ms in (3.0, 64.0, 64.1)]  # 16 s, and 4 s
expect("faster, four times, a little more", times, ["compute", "compute", "overhead"])
near = [classify(f, b, 20.0, 1.0, 1.0) for f, b in ((5, 6), (6, 5), (10, 12.1), (12.1, 10))]
expect("1.2 times, and a little more", near, ["ridge", "ridge", "memory", "compute"])
expect("at the ridge, but slow", classify(6, 5, 24.1, 1.0, 1.0), "overhead")
### BEGIN HIDDEN TESTS
expect("four times, to the dot", classify(2**30, 0, 4.0, 2**30, 2**30), "compute")
expect("a little over", classify(2**30, 0, 4.001, 2**30, 2**30), "overhead")
expect("four times the longer, not the shorter", classify(10, 30, 41.0, 1.0, 1.0), "memory")
walls = [classify(f, b, 120.0, 1.0, 1.0) for f, b in ((100, 119), (119, 100), (100, 100))]
expect("within 20 %", walls, ["ridge", "ridge", "ridge"])
walls = [classify(f, b, 150.0, 1.0, 1.0) for f, b in ((100, 121), (121, 100))]
expect("not within", walls, ["memory", "compute"])
walls = [classify(f, b, 500.0, 1.0, 1.0) for f, b in ((100, 117), (117, 100))]
expect("slow near the ridge", walls, ["overhead", "overhead"])
expect("faster than the roof", classify(10**7, 8 * 10**7, 0.0009, peak, bandwidth), "memory")
expect("five FLOPs a byte", classify(5 * 10**8, 10**8, 0.006, peak, bandwidth), "memory")
expect("roofs apart", classify(600, 10, 40.0, 20.0, 1.0), "compute")
expect("without a FLOP", classify(0, 8 * 10**7, 0.005, peak, bandwidth), "memory")
expect("nothing at all", classify(0, 0, 1e-6, peak, bandwidth), "overhead")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_classify_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("computed only", classify(10**9, 0, 0.006, 200e9, 20e9), "compute")
expect_raises("no time", lambda: classify(1, 1, 0.0, 1.0, 1.0), ValueError)
expect("moved only", classify(0, 10**9, 0.06, 200e9, 20e9), "memory")
expect_raises("negative FLOPs", lambda: classify(-1, 1, 1.0, 1.0, 1.0), ValueError)
expect_raises("negative time", lambda: classify(1, 1, -1.0, 1.0, 1.0), ValueError)
expect_raises("roofs below 0", lambda: classify(1, 1, 1.0, -1.0, -1.0), ValueError)
### BEGIN HIDDEN TESTS
expect("data-sheet figures", classify(312 * 10**9, 10**9, 0.0012, 312e12, 2e12), "compute")
expect_raises("negative bytes", lambda: classify(1, -1, 1.0, 1.0, 1.0), ValueError)
expect_raises("less than no time", lambda: classify(1, 1, -2.0, 1.0, 1.0), ValueError)
expect_raises("no peak", lambda: classify(1, 1, 1.0, 0.0, 1.0), ValueError)
expect_raises("no bandwidth", lambda: classify(1, 1, 1.0, 1.0, 0.0), ValueError)
expect_raises("both roofs below 0", lambda: classify(1, 1, 1.0, -2.0, -1.0), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_tiny", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
roof, rows = roofs()[0], []
for count in (2**k for k in range(4, demo_size(25, 15), 2)):
    x, y = (Tensor(np.ones(count, np.float32)) for _ in range(2))
    with no_grad():
        repeats = max(5, min(500, 2**26 // count))
        seconds = measuring.best_time(lambda x=x, y=y: x + y, repeats)
    moved = elementwise_bytes((count,), 2, 4)
    least = max(count / roof.peak_flops, moved / roof.bandwidth)
    wall = classify(count, moved, seconds, roof.peak_flops, roof.bandwidth)
    rows.append((count, seconds, least, wall))
print(tell.additions(rows, again=measuring.new_over_old(count)))
draw.additions(rows)

# %% [markdown]
# Far to the left the line is flat: an addition of 16 numbers takes as long as one of 1,000. A thousand of these in a row would be one in the middle of the plot, which takes no longer than a few. Batching, fusing and compiling all do that: the same work in fewer, larger operations. Far to the right, part of the distance is the result: new memory each time, which the system first has to find (section 4).
#
# And the operations of a real step? Each gets its verdict, and their times add up.


# %% nbgrader={"grade": false, "grade_id": "demo_verdicts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
roof, judged = roofs()[0], {}
for name in ("GPT-2", "ResNet-18"):
    judged[name] = alike(measured_rows(name))
    for row in judged[name]:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved, seconds = row["bytes_read"] + row["bytes_written"], row["self_ms"] / 1000
        row["wall"] = classify(flops, moved, seconds, roof.peak_flops, roof.bandwidth)
    print(tell.verdicts(name, judged[name]))
draw.time_by_wall(judged)

# %% [markdown]
# Read "overhead" as: neither wall explains it. In small operations it is the call. In large ones look closer. A convolution of proflab first copies all windows into one matrix, for a 3 × 3 kernel each number up to nine times, and then multiplies: bytes that are touched, and not among the unique ones. A GELU takes several passes, an exponential in one of them: many more instructions than the 8 FLOPs of our convention. The verdict says where to look, not what you will find.
#
# **Optional: four questions, in this order.** Before anybody optimizes: Is the step *stable*? If not, no comparison means anything (lesson 03). Is the machine *busy*? If not, look at what it waits for: data, the interpreter, other machines. Is the busy time in *matrix products*? If not, fuse or avoid the rest. Are these *near the peak*? If not, their shapes are too small or too narrow. And if all are: less work, or a faster machine.


# %% nbgrader={"grade": false, "grade_id": "inspect_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def inspect_step(step):
    """The first of four questions to which a step's answer is no; optional, no points.

    step: a dict with
        times_ms: what the step took, in each of at least 3 runs
        busy_ms: how much of a step of median time was spent in operations
        matmul_ms, matmul_flops: how much of that in matrix products, and their FLOPs
        peak_flops: the roof, FLOP/s
    Returns "unstable" when the times' standard deviation (n − 1) is at least 10 % of their mean,
    else "idle" when busy_ms is under 80 % of their median, else "other work" when matmul_ms is under
    50 % of busy_ms, else "slow matmuls" when these reach under 50 % of the peak, else "near peak".
    Raises ValueError for fewer than 3 times.
    """
    ### BEGIN SOLUTION
    times = step["times_ms"]
    if len(times) < 3:
        raise ValueError(f"{len(times)} times do not show whether a step is stable")
    if stdev(times) >= 0.1 * mean(times):
        return "unstable"
    if step["busy_ms"] < 0.8 * median(times):
        return "idle"
    if step["matmul_ms"] < 0.5 * step["busy_ms"]:
        return "other work"
    reached = step["matmul_flops"] / (step["matmul_ms"] / 1000)
    return "slow matmuls" if reached < 0.5 * step["peak_flops"] else "near peak"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_inspect_step", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
fine = {"times_ms": [100.0, 101.0, 99.0], "busy_ms": 95.0, "matmul_ms": 80.0}
fine |= {"matmul_flops": 12 * 10**9, "peak_flops": 200e9}
expect("as it should be", inspect_step(fine), "near peak")
expect("few FLOPs for the time", inspect_step(fine | {"matmul_flops": 4 * 10**9}), "slow matmuls")
expect("little in products", inspect_step(fine | {"matmul_ms": 40.0}), "other work")
expect("waiting", inspect_step(fine | {"busy_ms": 60.0}), "idle")
expect("up and down", inspect_step(fine | {"times_ms": [80.0, 100.0, 130.0]}), "unstable")
expect_raises("too few runs", lambda: inspect_step(fine | {"times_ms": [1.0, 1.0]}), ValueError)
found = [inspect_step(fine | {"times_ms": [100.0 - d, 100.0, 100.0 + d]}) for d in (10.0, 9.9)]
expect("10 %, and less", found, ["unstable", "near peak"])
skewed = fine | {"times_ms": [100.0, 100.0, 110.0, 121.0]}  # their median is 105
found = [inspect_step(skewed | {"busy_ms": ms}) for ms in (84.0, 83.9)]
expect("80 % of the median, and less", found, ["near peak", "idle"])
found = [inspect_step(fine | {"matmul_ms": ms}) for ms in (47.5, 47.4)]
expect("half of what is busy, and less", found, ["near peak", "other work"])
half = fine | {"matmul_ms": 62.5}
found = [inspect_step(half | {"matmul_flops": n * 10**7}) for n in (625, 624)]
expect("half the peak, and less", found, ["near peak", "slow matmuls"])
several = fine | {"matmul_ms": 9.0, "busy_ms": 20.0}
found = [inspect_step(several | {"times_ms": [100.0, 100.0, last]}) for last in (130.0, 101.0)]
expect("the first no counts", found, ["unstable", "idle"])
### BEGIN HIDDEN TESTS
bad = {"times_ms": [50.0, 100.0, 150.0], "busy_ms": 10.0, "matmul_ms": 1.0}
bad |= {"matmul_flops": 1, "peak_flops": 1e12}
order = [bad, bad | {"times_ms": [100.0] * 3}, bad | {"times_ms": [100.0] * 3, "busy_ms": 90.0}]
answers = [inspect_step(step) for step in order]
expect("the first no of several", answers, ["unstable", "idle", "other work"])
answers = [inspect_step(fine | {"times_ms": [100.0 - d, 100.0, 100.0 + d]}) for d in (10.1, 9.8)]
expect("on both sides of 10 %", answers, ["unstable", "near peak"])
skewed = {"times_ms": [100.0, 100.0, 100.0, 100.0, 123.0], "busy_ms": 81.0, "matmul_ms": 60.0}
expect("of the median", inspect_step(fine | skewed), "near peak")
expect("busy, no more", inspect_step(fine | {"busy_ms": 79.0}), "idle")
answers = [inspect_step(fine | {"matmul_ms": ms}) for ms in (47.0, 48.0)]
expect("on both sides of a half", answers, ["other work", "near peak"])
answers = [inspect_step(fine | {"matmul_flops": f * 10**8}) for f in (79, 81)]
expect("on both sides of half the peak", answers, ["slow matmuls", "near peak"])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_inspect", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
for name in ("GPT-2", "ResNet-18"):
    rows = measured_rows(name)
    products, rest = products_and_rest(rows)
    step = {"times_ms": [ms for ms, _ in passes_of(name, 1)], "busy_ms": products + rest}
    step |= {"matmul_ms": products, "matmul_flops": sum(row["matmul_flops"] for row in rows)}
    step["peak_flops"] = roofs()[0].peak_flops
    print(tell.step(name, inspect_step(step), step))

# %% [markdown]
# ## Reflect
#
# How much of a machine does a program use? For training large models that is asked as *model FLOPs utilization*: the FLOPs that the model needs, over the time, over the peak.
#
# **Predict.** What share of its peak does an accelerator reach when it trains a large language model? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "mfu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mfu(flops, seconds, peak_flops):
    """Model FLOPs utilization: the share of a machine's peak that a computation reached, 0 to 1.

    flops: at least 0. seconds, peak_flops (FLOP/s): above 0. Returns a float.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if flops < 0 or seconds <= 0 or peak_flops <= 0:
        raise ValueError(f"no use of {peak_flops} FLOP/s by {flops} FLOPs in {seconds} s")
    return flops / seconds / peak_flops
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_mfu", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("half of it", mfu(156e12, 1.0, 312e12), 0.5,
       mistakes={"in percent": 50.0, "upside down": 2.0})  # fmt: skip
expect("in two seconds", mfu(156e12, 2.0, 312e12), 0.25, mistakes={"the time as a factor": 1.0})
expect("nothing done, and too much", [mfu(0, 3.0, 1e12), mfu(10, 3, 3)], [0.0, 10 / 9])
expect_raises("no time", lambda: mfu(1e12, 0, 312e12), ValueError)
expect_raises("negative FLOPs", lambda: mfu(-1, 1, 1), ValueError)
expect_raises("negative time and peak", lambda: mfu(1, -1, -1), ValueError)
### BEGIN HIDDEN TESTS
expect("a ReLU at 900 GB/s", mfu(10**9, 8e9 / 900e9, 100e12), 0.001125)
expect("no FLOPs", mfu(0, 7.0, 2e12), 0.0)
expect("more than the peak: a figure is wrong", mfu(3, 1, 2), 1.5)
expect_raises("FLOPs below 0", lambda: mfu(-2, 1, 1), ValueError)
expect_raises("no peak", lambda: mfu(1, 1, 0), ValueError)
expect_raises("two negative ones", lambda: mfu(3, -1, -2), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# The paper on PaLM (Chowdhery et al. 2022, appendix B) introduced the term and gives its own figures: 540.35 billion parameters, 118 layers, 48 heads of 256, texts of 2,048 tokens; 238,300 tokens a second on 6,144 TPU v4 of 275 TFLOP/s each; an MFU of 46.2 % with attention, 45.7 % without. You have all that is needed to check it.

# %% nbgrader={"grade": false, "grade_id": "demo_palm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
tokens, machines = 238_300, 6144 * 275e12
without = reflect_6nd(540_350_000_000, tokens)
between = tokens * 118 * 3 * 2 * matmul_flops(1, 48 * 256, 2048)
print(f"without attention {mfu(without, 1.0, machines):.1%}, the paper says 45.7 %")
print(f"with attention    {mfu(without + between, 1.0, machines):.1%}, the paper says 46.2 %")

# %% [markdown]
# It holds. Now the whole: a part of a program that takes `fraction` of its time becomes `speedup` times as fast. How much faster is the program (Amdahl 1967)?
#
# **Predict.** 70 % of a step is matrix products. A new card does these at twice the speed. And one that does them in no time at all? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "amdahl", "locked": false, "schema_version": 3, "solution": true, "task": false}
def amdahl(fraction, speedup):
    """How many times as fast a program is when a part of it is.

    fraction: of the time before, 0 to 1, that the part took. speedup: of the part, above 0; below 1
        it is slower, and math.inf is a part that takes no time any more.
    Returns a float, math.inf where nothing is left. Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if not 0 <= fraction <= 1 or speedup <= 0:
        raise ValueError(f"no part is {fraction} of the time and {speedup} times as fast")
    left = 1 - fraction + fraction / speedup
    return 1 / left if left else math.inf
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_amdahl", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect("70 % at twice the speed", amdahl(0.7, 2), 1 / 0.65,
       mistakes={"the time that is left": 0.65, "the average speed": 1.7,
                 "the other part": 1 / 0.85})  # fmt: skip
expect("and in no time", amdahl(0.7, math.inf), 1 / 0.3)
expect("none of it, half of it slower", [amdahl(0, 9), amdahl(0.5, 0.5)], [1.0, 1 / 1.5])
expect("all of it", [amdahl(1, 8), amdahl(1, math.inf)], [8.0, math.inf])
expect_raises("70 is no fraction", lambda: amdahl(70, 2), ValueError)
expect_raises("a negative fraction", lambda: amdahl(-0.1, 2), ValueError)
expect_raises("no speed", lambda: amdahl(0.5, 0), ValueError)
### BEGIN HIDDEN TESTS
expect("5 % at 100 times", amdahl(0.05, 100), 1 / 0.9505)
expect("no part at all", amdahl(0, math.inf), 1.0)
expect("the whole program", [amdahl(1, 3), amdahl(1.0, math.inf)], [3.0, math.inf])
expect("a quarter of it, slower", amdahl(0.25, 0.5), 0.8)
expect_raises("less than no part", lambda: amdahl(-2, 2), ValueError)
expect_raises("a speed of 0", lambda: amdahl(0.9, 0), ValueError)
expect_raises("a negative speed", lambda: amdahl(0.5, -2), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_amdahl", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
at, lines = [2.0**k for k in range(8)], {}
for part in (0.5, 0.7, 0.9, 0.95):
    lines[f"{part:.0%}"] = [(speedup, amdahl(part, speedup)) for speedup in at]
draw.speedups(lines, x="how many times as fast the part is")

# %% [markdown]
# Does the law hold on your machine? All threads for the products, one for the rest, as numpy has it: from what each product gained, your function predicts what the whole should gain.

# %% nbgrader={"grade": false, "grade_id": "demo_threads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
took = {n: products_and_rest(measured_rows("GPT-2", n)) for n in measuring.thread_counts()}
(products, rest), (faster, _) = took[1], took[max(took)]
share = products / (products + rest)
print(tell.threads(took, amdahl(share, math.inf), amdahl(share, products / faster)))

# %% [markdown]
# The last one takes a sheet of paper: the time of an elementwise operation on a machine, and what share of the machine's peak it is worth.


# %% nbgrader={"grade": false, "grade_id": "reflect_relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_relu(elements, itemsize, peak_flops, bandwidth):
    """A ReLU, one FLOP an element, that does nothing but what its wall demands.

    elements, itemsize (bytes of a number): ints, at least 1. peak_flops: FLOP/s. bandwidth: bytes/s.
    Both above 0. The result is a new tensor.
    Returns a dict: ms, the least time that it takes, and share, its FLOP/s as a share of the peak.
    Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    moved = elementwise_bytes((elements,), 1, itemsize)
    intensity = arithmetic_intensity(elements, moved)
    seconds = elements / attainable_flops(intensity, peak_flops, bandwidth)
    return {"ms": seconds * 1000, "share": mfu(elements, seconds, peak_flops)}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_relu", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
relu = reflect_relu(10**9, 4, 100e12, 900e9)
expect("10⁹ float32, 900 GB/s: ms", relu["ms"], 80 / 9, mistakes={"read only": 40 / 9})
expect("its share of 100 TFLOP/s", relu["share"], 0.001125, mistakes={"in percent": 0.1125})
expect("limited by computing", reflect_relu(7_000, 1, 3e6, 9e6), {"ms": 7 / 3, "share": 1.0})
expect_raises("nothing", lambda: reflect_relu(0, 4, 100e12, 900e9), ValueError)
expect_raises("two negative sizes", lambda: reflect_relu(-2, -4, 100e12, 900e9), ValueError)
### BEGIN HIDDEN TESTS
expect("another machine", reflect_relu(6_000, 4, 3e6, 8e6), {"ms": 6.0, "share": 1 / 3})
expect("it computes too slowly", reflect_relu(6_000, 1, 2e6, 8e6), {"ms": 3.0, "share": 1.0})
expect_raises("no bytes", lambda: reflect_relu(5, 0, 100e12, 900e9), ValueError)
expect_raises("no bandwidth", lambda: reflect_relu(5, 4, 100e12, 0), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# 8.89 ms, and 0.11 % of a machine that does 100 TFLOP/s. A profiler that shows such a card as "98 % busy" is right: it is busy waiting.
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). You are asked to make GPT-2 small faster on one thread of your machine, for one text of 128 tokens, and offered one of three: twice the peak, twice the bandwidth, or half the time of each operation that is at the third wall.
#
# 1. What are your roofs, for how many threads, and how sure are you of them?
# 2. Which share of the time is spent at which wall? What does each of the three offers give at most, by Amdahl's law? Show the calculation.
# 3. Name one operation whose verdict you do not believe, or that lies above a roof, and say what you would measure next.

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_roofline", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Figures differ from machine to machine: what counts is that they are the student's own, and consistent with one another. *3 points:* both roofs with units, threads, dtype and working set, with the spread of the rounds, and best (not median) named as such. *4 points:* shares of the time by wall that sum to 1, from `classify` on recorded rows; three calls of `amdahl` with these shares and a speedup of 2 (operations at the ridge need both roofs: 1 point for saying so); the best of the three chosen by these numbers. *3 points:* one operation named with its intensity and efficiency; a reason that fits (in a cache, one thread, several passes or an expensive function, write allocate, another count of FLOPs); a measurement that would decide it. Up to 2 points off for figures without a unit or a calculation.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A computation takes at least the longer of FLOPs / peak and bytes / bandwidth. Which one it is, its FLOPs a byte say, against the machine's ridge.
# - Unique bytes give a bound that holds for every program; bytes touched are many more, and caches stand between the two.
# - Roofs are measured: best of many, for a number of threads, a type, a working set. A machine has several.
# - The third wall is everything else: calls, launches, the interpreter, communication. It costs for each operation, not for its size.
# - What a faster part does for the whole is a line of arithmetic. Do it before you build the part.
#
# **Next.** You have a profiler: `proflab assemble release -o my_profiler.py --standalone` makes it one file, which runs with numpy alone, `python my_profiler.py gpt2-small --batch 1 --tokens 128`, and writes a report with this roofline in it. Lesson 10 draws the same picture for a GPU.
