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
# ![A roof of two straight lines, rising with the FLOPs a byte and then flat, and below it the operations of GPT-2 as marks, larger where more time is spent. Linear layers lie close under the flat part; additions, far to the left, close under the slope; layer norms, softmax and GELU far below it.](roof.png) <!-- with section 5 -->
#
# *GPT-2 small, one text of 128 tokens, on one thread of an AMD EPYC with two processors: medians of 9 passes, recorded in November 2026.* <!-- with section 5 -->
#
# Somebody offers you a card with twice the FLOP/s.
# Will your model run twice as fast?
# Often not: many operations wait for memory, and faster arithmetic does not help them.
# This lesson tells you which ones, before you spend the money. <!-- with classify -->
# At its end you draw this picture for your own machine: its roofs, measured by you, and a model's operations, recorded by your profiler. <!-- with section 5 -->
#
# **You will be able to**
#
# - say what a computation can reach at best, from its FLOPs and its bytes alone;
# - measure the two roofs of a machine, and tell which of three walls an operation is at;
# - say what a faster part would do for the whole, before anybody builds it;
# - make a program faster by order, batches and fusion. <!-- with fewer_passes -->
# - make a program faster by order and batches. <!-- without fewer_passes -->
#
# **You need** lesson 02 for FLOPs, lesson 03 for times, and lesson 05 for bytes and the recorder.
# Arguments stay as they are.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

import demos  # what only this lesson records and draws: a file beside this notebook
import numpy as np
from built import OpRecorder, matmul_flops, reflect_6nd

from proflab.lesson import demo, doubles, expect, expect_table, guesses, measuring
from proflab.lesson.hardware import Hardware, this_machine

# %% [markdown]
# ## 1 · Two walls make a roof
#
# A processor computes, and it moves numbers between its memory and itself.
# It can do both at once, so a computation takes at least the longer of two times:
#
#     time  ≥  max( FLOPs / peak ,  bytes / bandwidth )
#
# `peak` is the most FLOPs that the processor can do in a second, `bandwidth` the most bytes that it can move.
# Which time is longer depends on one number, the *arithmetic intensity* of the computation: its FLOPs for each byte moved.
# The sum of two float32 tensors does 1 FLOP a number and moves 12 bytes, two reads and one write: its intensity is 1/12.


# %% nbgrader={"grade": false, "grade_id": "arithmetic_intensity", "locked": false, "schema_version": 3, "solution": true, "task": false}
def arithmetic_intensity(flops, bytes_moved):
    """Return the FLOPs that a computation does for each byte that it moves, a float.

    flops: at least 0. bytes_moved: above 0.

    >>> arithmetic_intensity(300, 24)
    12.5
    """
    ### BEGIN SOLUTION
    if flops < 0 or bytes_moved <= 0:
        raise ValueError(f"no computation does {flops} FLOPs on {bytes_moved} bytes")
    return flops / bytes_moved
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_arithmetic_intensity", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect(
    "a ReLU on a million float32",
    arithmetic_intensity(1_000_000, 8_000_000),
    0.125,
    mistakes={"bytes for each FLOP": 8.0, "FLOPs for each number": 0.5},
)
expect("a product of 4,096³", arithmetic_intensity(2 * 4096**3, 3 * 4 * 4096**2), 4096 / 6)
expect("as many FLOPs, other bytes", arithmetic_intensity(flops=10**6, bytes_moved=3), 10**6 / 3)
expect("very few", arithmetic_intensity(1, 81_000_000), 1 / 81_000_000)
### BEGIN HIDDEN TESTS
expect("the result is not rounded", arithmetic_intensity(10**12 + 1, 10**9), 1000.000000001)
# vary: 7 in 2..14, 9000000000 in 6_000_000_000..13_500_000_000
expect("nor is a small one", arithmetic_intensity(7, 9_000_000_000), 7 / 9e9)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_arithmetic_intensity_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    arithmetic_intensity,
    ("no FLOPs", (0, 9), 0.0),
    ("half a byte", (3, 0.5), 6.0),
    (
        "nothing moved; FLOPs or bytes below 0",
        [(5, 0), (0, 0), (-1, 8), (0, -1), (-2, -4)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 4096 in 2_730..6_144, 2 in 2..9
found = [arithmetic_intensity(flops, 4096) for flops in (0, 2)]
expect("data that is only moved has intensity 0", found, [0.0, 2**-11])
# vary: 3 in 2..9, 0.25 in 0.167..0.375
expect("less than a byte may be moved", arithmetic_intensity(3, 0.25), 12.0)
### END HIDDEN TESTS

# %% [markdown]
# At some intensity the two times are equal.
# There the two walls meet, at the machine's *ridge*.
# A computation with less intensity waits for memory on that machine, however well it is written; one with more can keep the machine computing.


# %% nbgrader={"grade": false, "grade_id": "ridge_point", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ridge_point(peak_flops, bandwidth):
    """Return the FLOPs a byte at which a machine computes as long as it moves, a float.

    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.

    >>> ridge_point(200e9, 20e9)
    10.0
    """
    ### BEGIN SOLUTION
    if peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"roofs must be positive, not {peak_flops} and {bandwidth}")
    return peak_flops / bandwidth
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ridge_point", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("A100", ridge_point(312e12, 2e12), 156.0, mistakes={"upside down": 1 / 156})
expect_table(
    ridge_point,
    ("a T4", (65e12, 0.32e12), 203.125),
    ("a toy", (3, 7), 3 / 7),
    ("a peak of 3, a bandwidth of 8,000", (3, 8000), 3 / 8000),
    (
        "no bandwidth, no peak; one below 0, both",
        [(1e12, 0), (0, 1e9), (-2e12, 1e12), (2e12, -1e12), (-2e12, -1e12)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 9.89e14 in 6.59e14..1.48e15, 3.35e12 in 2.23e12..5.02e12
expect("the ridge is the peak over the bandwidth", ridge_point(989e12, 3.35e12), 989 / 3.35)
# vary: 3 in 2..7, 8 in 8..16
expect("a ridge may be below 1", ridge_point(3, 8), 0.375)
### END HIDDEN TESTS

# %% [markdown]
# An NVIDIA A100 does 312 TFLOP/s with its *tensor cores* (matrix units) and moves 2 TB/s (data sheet, 80 GB, rounded), so its ridge is at 156 FLOPs a byte.
#
# Divide the FLOPs of a computation by the time above, and you have the most FLOP/s that it can reach: the peak, or intensity · bandwidth, whichever is *less*.
# Drawn against the intensity, on logarithmic axes, this is a slope and a ceiling: the *roofline* ([Williams, Waterman and Patterson 2009](https://doi.org/10.1145/1498765.1498785)).
#
# **Predict.** A ReLU of float32 numbers reads four bytes, writes four, and does one FLOP.
# What part of an A100's peak can it reach, in percent?

# %% tags=["guess"]
guess_relu_peak = None  # your guess, in percent


# %% nbgrader={"grade": false, "grade_id": "attainable_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attainable_flops(intensity, peak_flops, bandwidth):
    """Return the most FLOP/s that a computation of this intensity can reach on a machine, a float.

    intensity: FLOPs a byte, at least 0; math.inf for a computation that moves nothing.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.

    >>> attainable_flops(4, 200e9, 20e9)
    80000000000.0
    """
    ### BEGIN SOLUTION
    if intensity < 0 or peak_flops <= 0 or bandwidth <= 0:
        raise ValueError(f"no roof of {peak_flops} and {bandwidth} at an intensity of {intensity}")
    return float(min(peak_flops, intensity * bandwidth))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attainable_flops", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU on an A100", attainable_flops(0.125, 312e12, 2e12), 0.25e12)
expect("at 155 of another machine", attainable_flops(155, peak_flops=9e9, bandwidth=5e6), 775e6)
expect_table(
    attainable_flops,
    ("far right", (1000, 312e12, 2e12), 312e12, {"no ceiling": 2e15}),
    ("just left of the ridge", (155, 312e12, 2e12), 310e12),
    ("nothing moved", (math.inf, 6e9, 4.0004e9), 6e9),
    ("nothing computed", (0, 6e9, 4.0004e9), 0.0),
    ("an intensity of 1.25", (1.25, 6e9, 4.0004e9), 5.0005e9),
)
### BEGIN HIDDEN TESTS
expect(
    "just left of the ridge, the bandwidth is the limit",
    attainable_flops(153.5, 312e12, 2e12),
    307e12,
)
on_a_core = [attainable_flops(at, 2e11, 3.2e10) for at in (0, 6.25, 6.5, math.inf)]
expect("each part of the roof has its own limit", on_a_core, [0.0, 2e11, 2e11, 2e11])
expect(
    "the peak is the limit at any intensity above the ridge", attainable_flops(0.5, 3e9, 8e9), 3e9
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_attainable_flops_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    attainable_flops,
    ("any intensity above the ridge", (1, 2e9, 5e9), 2e9),
    (
        "an intensity below 0; no peak, no bandwidth; roofs below 0",
        [
            (-1, 312e12, 2e12),
            (-math.inf, 2e9, 2e9),
            (1, 0, 1e9),
            (1, 3e9, 0),
            (1, -1e9, 1e9),
            (1, 1e9, -1e9),
            (1, -1e9, -1e9),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("nothing is computed at an intensity of 0", attainable_flops(0, 7e9, 3e9), 0.0)
# vary: 7e9 in 4.7e9..1e10
expect("a small intensity is in range", attainable_flops(2**-20, 7e9, 2.0**30), 1024.0)
# vary: 0.75 in 0.5..0.875, 4e9 in 2.67e9..6e9
expect("an intensity need not be whole", attainable_flops(0.75, 7e9, 4e9), 3e9)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_roofs", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the roofs of four graphics cards.
sheets = {"A100 (2020)": (312e12, 2.0e12), "H100 (2022)": (989e12, 3.35e12)}
sheets |= {"V100 (2017)": (125e12, 0.9e12), "T4 (2018)": (65e12, 0.32e12)}
lines = {}
for name, sheet in sheets.items():
    ridge = ridge_point(*sheet)
    print(f"{name}: ridge at {ridge:.0f} FLOPs a byte")
    lines[name] = [(at, attainable_flops(at, *sheet)) for at in (0.125, ridge, 4096)]
peak, bandwidth = np.divide(sheets["H100 (2022)"], sheets["V100 (2017)"])
print(f"from V100 to H100: peak {peak:.1f} times, bandwidth {bandwidth:.1f} times")
relu = 100 * attainable_flops(arithmetic_intensity(1, 8), 312e12, 2e12) / 312e12
guesses.compare("a ReLU on an A100", guess_relu_peak, relu, unit="% of the peak")
demos.lines(lines, "FLOPs a byte", "FLOP/s at best", "Four data sheets, 16-bit", demos.flops)

# %% [markdown]
# The peak grew faster than the bandwidth, so the ridge moved to the right: what was limited by computing on the older card is limited by memory on the newer one.
#
# ## 2 · Bytes
#
# Bytes can be counted, too, if you say which:
#
# - **Unique bytes**: everything that goes in and comes out, each number once. No program can move less.
# - **Bytes touched**: everything that the instructions ask for. A product of n × n matrices, written as three loops, asks for 2 n³ numbers. Most of them come from a cache or a register.
#
# The bytes that really pass between processor and memory lie between the two, and no shape tells you how many they are.
# This course counts unique bytes.
# They give the highest intensity that a computation can have, and so an upper bound that holds for every way to write it.
#
# **Predict.** Two matrices of n × n are multiplied.
# Then n doubles.
# By what factor does the intensity of the product change?

# %% tags=["guess"]
guess_twice_n = None  # your guess: a factor


# %% nbgrader={"grade": false, "grade_id": "matmul_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_bytes(m, k, n, itemsize):
    """Return the unique bytes of a matrix product, an int: two matrices are read, one is written.

    The matrices are (m, k) and (k, n), and their product is (m, n).
    m, k, n: ints, at least 1. itemsize: bytes of a number, at least 1.

    >>> matmul_bytes(2, 2, 2, 4)
    48
    """
    ### BEGIN SOLUTION
    if min(m, k, n, itemsize) < 1:
        raise ValueError(f"sizes must be at least 1, not {m}, {k}, {n} and {itemsize}")
    return (m * k + k * n + m * n) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_matmul_bytes", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect(
    "2 × 3 times 3 × 4, float32",
    matmul_bytes(2, 3, 4, 4),
    104,
    mistakes={
        "numbers, not bytes": 26,
        "the result is not counted": 72,
        "the result is read, too": 136,
        "bytes touched, not unique ones": 224,
    },
)
expect("GPT-2, 32 × 512 tokens", matmul_bytes(16_384, 768, 3072, 4), 261_095_424)
expect("float16, more than 2⁶³", matmul_bytes(10**10, 1, 10**10, 2), 2 * 10**20 + 4 * 10**10)
expect("2 × 5 times 5 × 4", matmul_bytes(m=2, k=5, n=4, itemsize=1), 38)
### BEGIN HIDDEN TESTS
# vary: 768 in 512..1_152, 3072 in 2_048..4_608, 2 in 2..9
expect("a single row still needs all weights", matmul_bytes(1, 768, 3072, 2), 4_726_272)
expect(
    "the result counts, even if it is larger than both inputs", matmul_bytes(50, 1, 70, 8), 28_960
)
expect("large counts are exact", matmul_bytes(10**10, 10**10, 1, 2), 2 * 10**20 + 4 * 10**10)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_matmul_bytes_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    matmul_bytes,
    ("1 × 1 times 1 × 1, bytes", (1, 1, 1, 1), 3),
    (
        "a size of 0; sizes below 0; no bytes a number, or fewer",
        [(0, 3, 4, 2), (2, 0, 4, 4), (-2, 3, 4, 4), (-2, 3, -4, 4), (2, 3, 5, 0), (2, 3, 4, -4)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9
expect("one number times one row", matmul_bytes(1, 1, 3, 1), 7)
# vary: 5 in 2..10, 8 in 2..16
expect("one column times one number", matmul_bytes(5, 1, 1, 8), 88)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tiles", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws a product's intensity by the size of its tiles.
# A tile of t × t results needs t rows of the one matrix and t columns of the other, all n long.
n, tiles = 4096, [2**k for k in range(13)]
touched = {t: ((n // t) ** 2 * 2 * t * n + n * n) * 4 for t in tiles}
flops, unique = matmul_flops(n, n, n), matmul_bytes(n, n, n, 4)
lines = {"unique bytes": [(t, arithmetic_intensity(flops, unique)) for t in tiles]}
lines["tile by tile"] = [(t, arithmetic_intensity(flops, touched[t])) for t in tiles]
twice = arithmetic_intensity(matmul_flops(*[2 * n] * 3), matmul_bytes(*[2 * n] * 3, 4))
factor = twice / arithmetic_intensity(flops, unique)
guesses.compare("intensity of a product of twice the n", guess_twice_n, factor, unit="times")
demos.lines(lines, "rows and columns of a tile", "FLOPs a byte", "4,096³ in float32, tile by tile")


# %% [markdown]
# With tiles of one number, each number of the result fetches a row and a column: a quarter of a FLOP a byte, and every processor waits.
# A tile of 64 × 64 fits into the nearest cache and has 64 times that intensity.
#
# Elementwise operations have nothing to keep: each number is read once, used once, and written once.


# %% nbgrader={"grade": false, "grade_id": "elementwise_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def elementwise_bytes(shape, inputs, itemsize):
    """Return the unique bytes of an elementwise op, an int: inputs are read, one result is written.

    shape: a tuple of ints, at least 1, of the result and of each input; () is a single number.
    inputs: how many tensors are read, at least 0. itemsize: bytes of a number, at least 1.

    >>> elementwise_bytes((3, 5), 2, 4)
    180
    """
    ### BEGIN SOLUTION
    if any(size < 1 for size in shape) or inputs < 0 or itemsize < 1:
        raise ValueError(f"{inputs} inputs of {shape} and {itemsize} bytes cannot be")
    return (inputs + 1) * math.prod(shape) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_elementwise_bytes", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("a ReLU, float32", elementwise_bytes((8, 16), 1, 4), 1_024, mistakes={"read only": 512})
expect("a sum of two", elementwise_bytes((8, 16), 2, 4), 1_536)
expect("three inputs in float16", elementwise_bytes((2, 3, 10**9), 3, 2), 48 * 10**9)
expect("more than 2⁶³", elementwise_bytes((10**10, 10**9), 2, itemsize=4), 12 * 10**19)
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9
expect(
    "a billion numbers are read and written once each", elementwise_bytes((10**9,), 1, 4), 8 * 10**9
)
# vary: 2 in 2..9, 3 in 2..9, 5 in 2..10, 7 in 2..14
expect("every input is read once", elementwise_bytes((2, 3, 5, 7), 3, 2), 1_680)
expect(
    "a count beyond 64 bits is exact",
    elementwise_bytes((3 * 10**9, 7 * 10**9 + 1), 1, 2),
    84 * 10**18 + 12 * 10**9,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_elementwise_bytes_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    elementwise_bytes,
    ("a single number", ((), 1, 8), 16),
    ("nothing read", ((7,), 0, 1), 7),
    ("sizes of 1", ((1, 5, 1), 2, 4), 60),
    (
        "a size of 0, two below 0; inputs below 0; no bytes a number, or fewer",
        [
            ((3, 0), 1, 4),
            ((-3, -2), 1, 4),
            ((3,), -1, 4),
            ((3,), -3, 4),
            ((4,), 1, 0),
            ((3,), 1, -4),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 4 in 2..9
expect("the shape () is a single number", elementwise_bytes((), 2, 4), 12)
# vary: 5 in 2..10
expect("without inputs only the result counts", elementwise_bytes((5, 5), 0, 1), 25)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_intensity", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the work for each byte of six operations.
work = {"add, two tensors": (1, elementwise_bytes((1,), 2, 4))}
work |= {"ReLU": (1, elementwise_bytes((1,), 1, 4)), "GELU": (8, elementwise_bytes((1,), 1, 4))}
for n in (1, 128, 4096):
    shape = n, 768, 3072
    work[f"768 → 3,072, tokens: {n:,}"] = matmul_flops(*shape), matmul_bytes(*shape, 4)
values = {name: arithmetic_intensity(*pair) for name, pair in work.items()}
demos.plot.bars(values, unit="FLOPs a byte", title="Work for each byte, float32", log=True)


# %% [markdown]
# A GELU, 8 FLOPs by lesson 02, does more for each byte than a sum, and is still left of every ridge above.
# The same linear layer stands at the left with one token, as when GPT-2 writes, and far to the right with thousands, as when it is trained.
# To write one token, the processor reads every weight for two FLOPs.
#
# **Optional: fused attention.** Attention makes scores of s × s for each head, takes their softmax, and mixes the values with the result.
# Done one after another, the scores are written to memory and read again, and so are the softmaxes.
# A *fused* operation does several steps in one pass over the data.
# FlashAttention ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)) does all three on tiles that stay in the cache, so the scores never reach memory.
# Counting Q, K and V once gives a lower bound: a real kernel reads K and V again for each tile of queries.
# For one head of 64, 1,024 tokens and tiles of 128 that makes 1,179,648 numbers instead of 262,144.


# %% nbgrader={"grade": false, "grade_id": "attention_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_bytes(batch, heads, seq, head_dim, itemsize, fused):
    """Return the bytes that attention moves at least, an int; optional, no points.

    batch, heads, seq (tokens), head_dim (width of a head), itemsize: ints, at least 1.
    fused: True if scores stay in the cache. If not, they are written by the first product and read
        by the softmax, whose results are written, and read by the second product.
    Query, key and value, each (batch, heads, seq, head_dim), are read once, and an output of that
    shape is written.

    >>> attention_bytes(1, 1, 2, 4, 4, fused=True)
    128
    """
    ### BEGIN SOLUTION
    if min(batch, heads, seq, head_dim, itemsize) < 1:
        raise ValueError("batch, heads, seq, head_dim and itemsize must be at least 1")
    row = 4 * head_dim + (0 if fused else 4 * seq)
    return batch * heads * seq * row * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_attention_bytes", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect("one head, fused", attention_bytes(1, 1, 8, 4, 4, True), 512)
expect(
    "one head, not fused",
    attention_bytes(1, 1, 8, 4, 4, fused=False),
    1_536,
    mistakes={"scores once written, once read": 1_024, "no output": 1_408},
)
expect("two texts, three heads, float16", attention_bytes(2, 3, 8, 4, 2, False), 4_608)
expect_table(
    attention_bytes,
    ("more than 2⁶³", (1, 1, 10**10, 1, 1, False), 4 * 10**20 + 4 * 10**10),
    (
        "0 tokens, 0 bytes; no texts, no heads; no width; two sizes below 0",
        [
            (1, 1, 0, 4, 4, True),
            (1, 1, 8, 3, 0, True),
            (0, 1, 8, 4, 4, True),
            (1, 0, 8, 4, 4, True),
            (1, 1, 8, 0, 4, True),
            (-1, -1, 8, 4, 4, True),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9, 12 in 8..18, 1024 in 682..1_536, 64 in 42..96, 4 in 2..9
expect(
    "fused, only Q, K, V and the output move", attention_bytes(2, 12, 1024, 64, 4, True), 25_165_824
)
# vary: 2 in 2..9, 12 in 8..18, 1024 in 682..1_536, 64 in 42..96
expect(
    "not fused, scores and softmaxes are written and read",
    attention_bytes(2, 12, 1024, 64, 2, False),
    213_909_504,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_fused", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws attention's intensity by its length, fused and not.
lines = {"fused": [], "not fused": []}
for seq in (2**k for k in range(5, 15)):
    work = 2 * 12 * matmul_flops(seq, 64, seq)
    for name, points in lines.items():
        moved = attention_bytes(1, 12, seq, 64, 2, fused=name == "fused")
        points.append((seq, arithmetic_intensity(work, moved)))
demos.plot.curves(
    lines, x="tokens", y="FLOPs a byte", log="xy", title="Attention, heads of 64, 16 bits"
)

# %% [markdown]
# Unfused attention stays below head_dim / itemsize = 32 FLOPs a byte at any length, left of every ridge in the first plot. <!-- with attention_bytes -->
#
# ## 3 · The ceiling, measured
#
# A data sheet's peak assumes all cores, a clock that the processor may not hold, and instructions that your program may not use.
# So **roofs are measured, never assumed**, each with the best program for its purpose.
# For the ceiling that is a product of matrices, large enough that the call costs nothing in comparison: 2 n³ FLOPs, divided by the time.
#
# A roof is what a machine *can* do.
# Whatever else runs makes a product slower, never faster, so the *best* of many calls is nearest to the roof.
# (Lesson 03's median answers another question: how long a user waits.)
# The first call for each size is not timed: it fetches code and memory and starts threads.
# In the test cell, `doubles.Matmul` is a product of scripted speed on lesson 03's scripted clock; its `amounts` lists the FLOPs of each call.
#
# **Predict.** How many GFLOP/s does your machine reach in float32, on all of its threads?
# Is float16, with half the bytes, twice as fast?

# %% tags=["guess"]
guess_peak = None  # your guess for float32, in GFLOP/s


# %% nbgrader={"grade": false, "grade_id": "measure_peak_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_peak_flops(matmul=np.matmul, sizes=(384, 512, 768, 1024), dtype=np.float32, repeats=20):
    """Return the most FLOP/s that a matrix product reaches, a float: the best of all timed calls.

    matmul: called as matmul(a, b) or matmul(a, b, out=c), with arrays of n rows and n columns.
    sizes: a list or tuple of the n to try, at least one of them, in this order; ints, at least 1.
        It stays as it is. dtype: of all arrays.
    repeats: int, at least 1. For each n, one product is not timed; then `repeats` are, one by one.

    >>> measure_peak_flops(sizes=[64, 128], repeats=3) > 1e8
    True
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


# %% nbgrader={"grade": true, "grade_id": "test_measure_peak_flops", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
product = doubles.Matmul(clock, per_second=[1e8, 4e9, 5e9, 2e9])
best = clock.run(measure_peak_flops, product, sizes=[100], repeats=3)
expect(
    "the best of three",
    best,
    5e9,
    rel=1e-3,
    mistakes={
        "the mean, not the best": 11e9 / 3,
        "multiply-adds": 2.5e9,
        "FLOPs over the sum of the times": 3 / (1 / 4e9 + 1 / 5e9 + 1 / 2e9),
    },
)
expect("one call is not timed", product.calls, 4)
product = doubles.Matmul(clock, per_second=[1e8, 4e9, 1e8, 3e9])
best = clock.run(measure_peak_flops, product, sizes=[100, 200], repeats=1)
expect(
    "the best of two sizes",
    best,
    4e9,
    rel=1e-3,
    mistakes={"the last size": 3e9, "each size's first call is timed": 1e8},
)
expect("the FLOPs of each call", product.amounts, [2_000_000] * 2 + [16_000_000] * 2)
slower = doubles.Matmul(clock, per_second=[9e9, 8e9, 7e9, 6e9, 5e9, 4e9, 3e9])
best = clock.run(measure_peak_flops, slower, sizes=[60, 40], repeats=2)
expect("each call slower than the one before, the largest size first", best, 8e9, rel=1e-3)
expect("there, too, all six calls are made", slower.calls, 6)
quick = doubles.Matmul(clock, per_second=[1e9, 2.5e11, 1e9, 5e11])
best = clock.run(measure_peak_flops, quick, [50, 50], repeats=1)
expect("calls below 1 µs", best, 5e11, rel=1e-3, mistakes={"times in whole µs": 2.5e11})
alone = doubles.Matmul(clock, per_second=[1e7, 2e7])
best = clock.run(measure_peak_flops, alone, [1], repeats=1)
expect("one number, one repeat", best, 2e7, rel=1e-3)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
# vary: 9e9 in 8.55e9..1.1e10, 8e9 in 7.55e9..8.45e9
slower = doubles.Matmul(watch, per_second=[9e9, 8e9, 7e9, 6e9])
# vary: 100 in 66..150, 3 in 2..9
best = watch.run(measure_peak_flops, slower, (100,), np.float32, 3)
expect("the first timed call may be the best", best, 8e9, rel=1e-3)
# vary: 1e8 in 8.2e7..1.5e8, 6e9 in 4e9..6.45e9, 7e9 in 6.55e9..7.45e9, 8e9 in 7.55e9..8.45e9
# vary: 9e9 in 8.55e9..1.1e10
faster = doubles.Matmul(watch, per_second=[1e8, 6e9, 7e9, 8e9, 9e9])
# vary: 100 in 66..150, 4 in 2..9
expect(
    "the last timed call may be the best",
    watch.run(measure_peak_flops, faster, sizes=(100,), repeats=4),
    9e9,
    rel=1e-3,
)
# vary: 1e7 in 8.2e6..1.5e7, 5e9 in 4.55e9..6.12e9
three = doubles.Matmul(watch, per_second=[1e7, 2e9, 3e9, 1e7, 5e9, 4e9, 1e7, 1e9, 2e9])
best = watch.run(measure_peak_flops, three, sizes=[150, 60, 100], repeats=2)
expect("any of the sizes may be the best", best, 5e9, rel=1e-3)
expect(
    "one untimed call and `repeats` timed ones for each size, in order",
    three.amounts,
    [6_750_000] * 3 + [432_000] * 3 + [2_000_000] * 3,
)
# viva: c = doubles.Clock(); m = doubles.Matmul(c, [1e8, 4e9, 5e9, 2e9]);
#     c.run(measure_peak_flops, m, [100], repeats=3)
# viva: c = doubles.Clock(); m = doubles.Matmul(c, [9e9, 8e9, 7e9]); c.run(measure_peak_flops, m,
#     [60], repeats=2)
# viva: c = doubles.Clock(); m = doubles.Matmul(c, [1e8, 4e9, 1e8, 3e9]);
#     c.run(measure_peak_flops, m, [50, 60], repeats=1)
# viva: c = doubles.Clock(); m = doubles.Matmul(c, [1e9]); c.run(measure_peak_flops, m, [9, 7],
#     repeats=4); m.calls
# viva: c = doubles.Clock(); m = doubles.Matmul(c, [1e9]); c.run(measure_peak_flops, m, [5, 3],
#     repeats=1); m.amounts
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_peak_flops_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
from noted import noting_kinds

clock, seen = doubles.Clock(), []
product = noting_kinds(doubles.Matmul(clock, per_second=[1e9]), seen)
speed = clock.run(measure_peak_flops, product, sizes=[30], dtype=np.float16, repeats=1)
expect("arrays in float16", seen, [[((30, 30), "float16")]] * 2)
expect("the speed in float16", speed, 1e9, rel=1e-3)
product, sizes = doubles.Matmul(clock, per_second=[3e9]), [40, 10, 20]
clock.run(measure_peak_flops, product, sizes, repeats=1)
expect("in the order given", product.amounts[::2], [128_000, 2_000, 16_000])
expect("the list stays as it is", sizes, [40, 10, 20])
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
# vary: 2e9 in 1.33e9..3e9
product = doubles.Matmul(watch, per_second=[2e9])
noted = []
speed = watch.run(measure_peak_flops, noting_kinds(product, noted), (20, 10), "float64", 2)
expect(
    "all arrays have the size and the dtype asked for",
    noted,
    [[((20, 20), "float64")]] * 3 + [[((10, 10), "float64")]] * 3,
)
expect("the speed does not depend on the dtype's name", speed, 2e9, rel=1e-3)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_peak_flops_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *arguments: measure_peak_flops(np.matmul, *arguments),
    (
        "no sizes; a size of 0 or below; no repeats, fewer",
        [([],), ((),), ([8, 0],), ([8, -8],), ([8], np.float32, 0), ([8], np.float32, -1)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
# vary: 1e6 in 6.67e5..1.5e6, 5e6 in 3.33e6..7.5e6
alone = doubles.Matmul(watch, per_second=[1e6, 5e6])
best = watch.run(measure_peak_flops, alone, (1,), repeats=1)
expect("a product of one number has a speed", best, 5e6, rel=1e-3)
# vary: 1e6 in 6.67e5..1.5e6, 4e6 in 2.67e6..6e6
two = doubles.Matmul(watch, per_second=[1e6, 4e6])
# vary: 2 in 2..9
best = watch.run(measure_peak_flops, two, (2, 1), repeats=1)
expect("sizes may be small, the smallest last", best, 4e6, rel=1e-3)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_peak", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what products reach in four dtypes, on one thread and on all.
peaks = demos.peaks(measure_peak_flops)
print(this_machine().sentences())
for name, (low, _, best) in peaks.items():
    print(f"{name}: best {best / 1e9:.3g} GFLOP/s, worst round {1 - low / best:.0%} below")
all_threads = f"float32, {measuring.called(measuring.thread_counts()[-1])}"
guesses.compare("float32, all threads", guess_peak, peaks[all_threads][2] / 1e9, unit="GFLOP/s")
guess = (all_threads, demos.number(guess_peak) * 1e9)
demos.ranges(peaks, unit="FLOP/s", title="Products of matrices: best of each round", guess=guess)

# %% [markdown]
# The spread between rounds shows what the machine's other work, and its changing clock, do to a best.
# With several threads it is often larger, since all of them wait for the slowest. numpy hands float32 and float64 to *BLAS*, a library that keeps tiles in registers and computes eight or sixteen numbers with one instruction.
# For float16 and integers a plain loop runs instead.
#
# **Take a break here.** What follows needs only `elementwise_bytes`, `arithmetic_intensity`, `attainable_flops` and `measure_peak_flops`.
#
# ## 4 · The slope, measured
#
# For the slope, the purest program is a copy: no FLOPs, each byte read once and written once.
# Its *working set* is all the memory that it goes through again and again.
# A working set that fits into a cache stays there after the first copy; only one several times larger than the last cache shows main memory.
#
# Four ways to measure something else by mistake:
#
# - **Untouched memory.** `np.empty` and `np.zeros` only reserve addresses; the system finds memory when a page is first written. Until then all pages are one and the same page of zeros, which is in the cache. So write to both arrays before you measure.
# - **Bytes counted once.** A copy moves each byte twice, in and out.
# - **Bytes that nobody counts.** To write a number, a processor first reads the 64 bytes around it (*write allocate*): a plain copy of n bytes moves 3 n on the bus. *Non-temporal stores* avoid that. The C library makes numpy's copies. For large arrays it switches to these stores, and then a copy is faster than any addition. numpy's arithmetic writes plainly, so the slope for its operations is measured with `np.multiply(source, 1, out=destination)`, and the copy's slope is a second one. We count 2 n for both, as [STREAM](https://www.cs.virginia.edu/stream/ref.html) does.
# - **One core.** numpy's copies and elementwise operations run on one thread, which may not saturate the memory. Then there are two slopes, and a picture must say which it shows.
#
# **Predict.** How many times faster is a copy that stays in a cache than one in main memory?

# %% tags=["guess"]
guess_cache = None  # your guess: how many times?


# %% [markdown]
# <details><summary>Hint 1: what has happened to both arrays before the clock starts?</summary>Think of the page of zeros, and of what each array holds.</details>
#
# <details><summary>Hint 2: the shape of the answer</summary>Two float64 arrays of working_set / 16 numbers, filled with something other than 0; one copy that is not timed; then each copy timed alone. Both arrays' bytes, over the shortest time.</details>


# %% nbgrader={"grade": false, "grade_id": "measure_bandwidth", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_bandwidth(working_set, copy=np.copyto, repeats=20):
    """Return the most bytes/s that a copy reads and writes, a float: those of the best timed call.

    working_set: bytes of source and destination together, a multiple of 16; half for each.
    copy: called as copy(destination, source), with one-dimensional arrays of the same size and
        dtype. Fill both before the first copy, with numbers that are not all 0.
    repeats: int, at least 1. One copy is not timed; then `repeats` are, one by one.
    Raises ValueError for a working_set below 16.

    >>> measure_bandwidth(2**20, repeats=3) > 1e7
    True
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


# %% nbgrader={"grade": true, "grade_id": "test_measure_bandwidth", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
memory = doubles.Copy(clock, per_second=[1e9, 16e9, 32e9, 8e9])
best = clock.run(measure_bandwidth, 2**20, memory, repeats=3)
expect(
    "the best of three",
    best,
    32e9,
    rel=1e-3,
    mistakes={
        "only what is read, or written, is counted": 16e9,
        "the mean, not the best": 56e9 / 3,
        "in units of 1024³": 32e9 / 1024**3,
        "the working set is read and written": 64e9,
    },
)
expect("one copy is not timed, and all are as large", memory.amounts, [2**20] * 4)
slower = doubles.Copy(clock, per_second=[9e9, 8e9, 7e9])
expect("ever slower copies", clock.run(measure_bandwidth, 48_000, slower, 2), 8e9, rel=1e-3)
quick = doubles.Copy(clock, per_second=[1e9, 96e9, 80e9])
best = clock.run(measure_bandwidth, working_set=48_000, copy=quick, repeats=2)
expect("copies below 1 µs", best, 96e9, rel=1e-3, mistakes={"times in whole µs": 48e9})
small = doubles.Copy(clock, per_second=[1e6, 4e6])
expect("16 bytes", clock.run(measure_bandwidth, 16, small, 1), 4e6, rel=1e-3)
expect("two copies of 16 bytes", small.amounts, [16, 16])
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
# vary: 9e9 in 8.55e9..1.1e10, 8e9 in 7.55e9..8.45e9
slower = doubles.Copy(watch, per_second=[9e9, 8e9, 7e9, 6e9])
# vary: 3 in 2..9
best = watch.run(measure_bandwidth, 2**22, slower, 3)
expect("the first timed copy may be the best", best, 8e9, rel=1e-3)
# vary: 2e9 in 1.64e9..3e9, 9e9 in 8.55e9..1.1e10
faster = doubles.Copy(watch, per_second=[2e9, 6e9, 7e9, 8e9, 9e9])
expect(
    "the last timed copy may be the best",
    watch.run(measure_bandwidth, 48_000, faster, 4),
    9e9,
    rel=1e-3,
)
expect("one untimed copy and `repeats` timed ones", faster.amounts, [48_000] * 5)
# vary: 1e6 in 6.67e5..1.5e6, 2e6 in 1.33e6..3e6
small = doubles.Copy(watch, per_second=[1e6, 2e6])
expect(
    "the smallest working set has one number in each array",
    watch.run(measure_bandwidth, 16, small, 1),
    2e6,
    rel=1e-3,
)
expect("source and destination together fill the working set", small.amounts, [16, 16])
beat = doubles.Clock()
# vary: 8e6 in 5.33e6..1.2e7
pair = doubles.Copy(beat, per_second=[1e6, 8e6])
best = beat.run(measure_bandwidth, 32, pair, 1)
expect("two numbers in each array are enough", best, 8e6, rel=1e-3)
# viva: c = doubles.Clock(); m = doubles.Copy(c, [1e9, 16e9, 32e9, 8e9]); c.run(measure_bandwidth,
#     2**20, m, 3) / 1e9
# viva: c = doubles.Clock(); m = doubles.Copy(c, [9e9, 8e9, 7e9]); c.run(measure_bandwidth,
#     48_000, m, 2) / 1e9
# viva: c = doubles.Clock(); m = doubles.Copy(c, [1e9, 4e9]); c.run(measure_bandwidth, 16_000, m,
#     1) / 1e9
# viva: c = doubles.Clock(); m = doubles.Copy(c, [4e9]); c.run(measure_bandwidth, 320, m, 3);
#     m.amounts
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_bandwidth_2", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
from noted import noting_copies

clock, seen = doubles.Clock(), []
copy = noting_copies(doubles.Copy(clock, per_second=[1e9]), seen)
clock.run(measure_bandwidth, 5 * 2**24, copy, repeats=1)  # 80 MB: new memory, all 0
expect("half of the bytes each", [each["bytes"] for each in seen], [5 * 2**23] * 2)
expect("of one size and dtype", [each["alike"] for each in seen], [True, True])
expect("no memory in common", [each["apart"] for each in seen], [True, True])
expect("the source was written", [each["source_written"] for each in seen], [True, True])
expect("the destination, too", [each["destination_written"] for each in seen], [True, True])
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
# vary: 4e9 in 2.67e9..6e9
memory = doubles.Copy(watch, per_second=[4e9])
noted = []
speed = watch.run(measure_bandwidth, 9 * 2**23, noting_copies(memory, noted), repeats=2)
both = [[each["source_written"], each["destination_written"]] for each in noted]
expect("both arrays have been written, at any size", both, [[True, True]] * 3)
half = [each["bytes"] for each in noted if each["alike"] and each["apart"]]
expect("two arrays of half the working set each, at any size", half, [9 * 2**22] * 3)
expect("the speed of a large copy", speed, 4e9, rel=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_bandwidth_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    measure_bandwidth,
    (
        "no repeats, fewer; nothing to copy, too little",
        [(2**14, np.copyto, 0), (2**14, np.copyto, -1), (0,), (15,), (-(2**14),)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
watch = doubles.Clock()
small = doubles.Copy(watch, per_second=[1e6, 8e6])
watch.run(measure_bandwidth, 32, small, 1)
expect("both of the arrays count", small.amounts, [32, 32])
again = doubles.Copy(watch, per_second=[1e6, 2e6, 3e6])
watch.run(measure_bandwidth, 48, again, 2)
expect("each copy is of all bytes", again.amounts, [48, 48, 48])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_sweep", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what copies of 4 kB to 256 MB reach.
from proflab.lesson import noise

noise.show_load()
# demo_size(full, small) is full; only where the course tests itself, it is small.
sizes = [2**k for k in range(12, demo.demo_size(29, 24))]
# The smaller the set, the more often: a round of each takes about as long.
often = [max(3, min(2000, demo.demo_size(2**28, 2**23) // size)) for size in sizes]
cases = {size: (size, np.copyto, repeats) for size, repeats in zip(sizes, often, strict=True)}
rates = measuring.in_turns(measure_bandwidth, cases)
call = 16 / measure_bandwidth(16, repeats=2000)  # seconds: 8 bytes are read, and 8 written
caches = this_machine().caches
print(demos.drops(rates, caches, call))
medians = [middle for _, middle, _ in rates.values()]
guesses.compare("cache over main memory", guess_cache, max(medians) / medians[-1], unit="times")
demos.sweep(rates, caches, call)

# %% [markdown]
# Where the curve rises, at the left, you do not see memory: to call a copy takes longer than to copy a few kilobytes.
# Where a drop is smaller than the spread, the machine was too busy for an answer: close other programs, or measure longer.
#
# Now main memory, by both programs, on one thread and on more: `measuring.copy_on(n, copy)` works on n pieces side by side, since numpy lets other threads run meanwhile.

# %% nbgrader={"grade": false, "grade_id": "demo_memory", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what two programs reach in main memory, on one thread and on all.
from proflab.lesson import noise

noise.show_load()
size = measuring.beyond_caches(this_machine().caches, demo.demo_size(2**29, 2**26))
cases = {}
for way, copy in {"multiply by 1": demos.times_one, "np.copyto": np.copyto}.items():
    for n in measuring.thread_counts():
        name = f"{way}, {measuring.called(n)}"
        cases[name] = (size, measuring.copy_on(n, copy), demo.demo_size(5, 2))
rates = measuring.in_turns(measure_bandwidth, cases)
(_, first, _), *_ = rates.values()
for name, (low, middle, high) in rates.items():
    print(f"{name}: {middle / first:.2f} times the first ({low / first:.2f} to {high / first:.2f})")
demos.ranges(rates, unit="B/s", title="Main memory: best of each round")


# %% [markdown]
# Write threads, working set, best or median, and the date beside every roof.
#
# **Optional: which stores does a copy use?** Compare it with programs that store plainly: x · 1 moves 3 n where we count 2 n, x + y 4 n where we count 3 n.


# %% nbgrader={"grade": false, "grade_id": "write_allocate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def write_allocate(copy, one_in, two_in):
    """Return which stores a copy used, "plain" or "non-temporal"; optional, no points.

    copy, one_in, two_in: rates above 0, all in one unit, of the copy and of two programs that read
        one and two arrays and store plainly. They count the arrays' bytes, not what a store reads.
    On one bus one_in and two_in reach 2/3 and 3/4 of the rate of a copy by non-temporal stores,
    1 and 9/8 of that of a plain one. The answer is the nearer pair, by the sum of the two absolute
    differences; "plain" if both are equally near.

    >>> write_allocate(20, 20, 22)
    'plain'
    """
    ### BEGIN SOLUTION
    if min(copy, one_in, two_in) <= 0:
        raise ValueError(f"rates must be above 0, not {copy}, {one_in} and {two_in}")
    one, two = one_in / copy, two_in / copy
    past = abs(one - 2 / 3) + abs(two - 3 / 4)
    return "non-temporal" if past < abs(one - 1) + abs(two - 9 / 8) else "plain"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_write_allocate", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect_table(
    write_allocate,
    ("past the caches", (25.7, 16.5, 19.2), "non-temporal"),
    ("plainly", (7.2, 7.2, 7.9), "plain"),
    ("near 9/8, near 3/4", (100, 84, 85), "non-temporal"),
    ("near 2/3, near 9/8", (100, 74, 105), "plain"),
    ("between 2/3 and 1, near 9/8", (100, 82, 102), "plain"),
    ("at 2/3, near 9/8", (100, 67, 109), "non-temporal"),
    ("below 2/3, above 9/8", (100, 50, 120), "plain"),
    ("rates not above 0", [(0, 1, 1), (1, 0, 1), (1, 1, -1), (-1, -1, 1)], ValueError),
)
### BEGIN HIDDEN TESTS
found = [write_allocate(3e10, 2e10, 2.25e10), write_allocate(2e10, 2e10, 2.25e10)]
expect("the unit does not matter", found, ["non-temporal", "plain"])
found = [write_allocate(8, each, 9 * each / 8) for each in (5, 6.5, 7, 12)]
expect("the pair that is nearer decides", found, ["non-temporal", "non-temporal", "plain", "plain"])
found = [write_allocate(10, 9.5, 7), write_allocate(10, 7, 10.9), write_allocate(10, 6.8, 11.6)]
expect("both ratios count alike", found, ["non-temporal", "plain", "plain"])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_stores", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints which stores np.copyto uses here.
from proflab.lesson import noise

noise.show_load()
rates = demos.stream_rates()
print("copy {:.1f}, x · 1 {:.1f}, x + y {:.1f} GB/s".format(*(rate / 1e9 for rate in rates)))
print(f"by these rates, the copy's stores are {write_allocate(*rates)}")

# %% [markdown]
# ## 5 · Your operations under your roof
#
# Each operation becomes a point: its intensity across, the FLOP/s that it reached up.
# The distance to the roof is what could be gained without changing what is computed.
# The rows of lesson 05's recorder hold everything that you need.
# Here *all* FLOPs of an operation count, those of matrix products and elementwise ones.


# %% nbgrader={"grade": false, "grade_id": "roofline_points", "locked": false, "schema_version": 3, "solution": true, "task": false}
def roofline_points(rows, hardware):
    """Return the place of each recorded row under a machine's roof, a list of dicts in their order.

    rows: a list of dicts with at least op, module (strings), self_ms (what the op took itself),
        matmul_flops, elementwise_flops, bytes_read and bytes_written. Leave them as they are.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    The keys of a result:
        name: op and module with a space between, or op alone where module is "".
        intensity: all FLOPs of the row for each byte read or written.
        flops_per_second: what it reached. attainable: what the roof allows at its intensity.
        efficiency: the former over the latter; above 1 where the data came from a cache.
    A row without FLOPs, bytes or time has no place on logarithmic axes and is left out.

    >>> row = doubles.forward_row("gelu", "", 1.0, 0, 10**6, 4 * 10**6, 4 * 10**6)
    >>> roofline_points([row], Hardware(1e11, 1e10))[0]["efficiency"]
    0.8
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
        points.append(
            {
                "name": f"{row['op']} {row['module']}".strip(),
                "intensity": intensity,
                "flops_per_second": reached,
                "attainable": attainable,
                "efficiency": reached / attainable,
            }
        )
    return points
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_roofline_points", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
small = Hardware(peak_flops=100e9, bandwidth=10e9, name="a small one")
product = doubles.forward_row("linear", "mlp.fc", 5.0, 400_000_000, 0, 3_000_000, 1_000_000)
expect(
    "a product, right of the ridge",
    roofline_points([product], small),
    [
        {
            "name": "linear mlp.fc",
            "intensity": 100.0,
            "flops_per_second": 80e9,
            "attainable": 100e9,
            "efficiency": 0.8,
        },
    ],
)
addition = doubles.forward_row("add", "", 2.0, 0, 1_000_000, 8_000_000, 4_000_000)
[point] = roofline_points([addition], small)
expect("an addition: its name", point["name"], "add")
expect("its intensity", point["intensity"], 1 / 12, mistakes={"only what is read": 1 / 8})
expect("its speed", point["flops_per_second"], 0.5e9, mistakes={"seconds for milliseconds": 0.5e6})
expect("the roof above it", point["attainable"], 10e9 / 12, mistakes={"the peak": 100e9})
expect("its efficiency", point["efficiency"], 0.6, mistakes={"of the peak": 0.005})
cached = doubles.forward_row("exp", "m", 0.00075, 100, 3_000, 4_000, 4_000)
cached["phase"] = "backward"
[point] = roofline_points([cached], hardware=Hardware(60e9, 8e9))
expect("a backward row with both kinds of FLOPs", point["intensity"], 3_100 / 8_000)
expect("0.75 µs on another machine, from its cache", point["efficiency"], 4 / 3)
### BEGIN HIDDEN TESTS
# vary: 4e-4 in 2.67e-4..6e-4
short = addition | {"self_ms": 0.0004}
[point] = roofline_points([short], hardware=small)
expect("a time of less than a microsecond counts as it is", point["efficiency"], 3000.0)
# vary: 4e9 in 2.67e9..6e9
other = Hardware(peak_flops=6e9, bandwidth=4e9)
# vary: 0.5 in 0.333..0.75, 900000 in 600_000..1_350_000, 100000 in 66_666..150_000
# vary: 600000 in 400_000..900_000, 200000 in 133_333..300_000
both = doubles.forward_row("conv2d", "stem", 0.5, 900_000, 100_000, 600_000, 200_000)
# vary: 0.25 in 0.167..0.375, 4000000 in 2_666_666..6_000_000
cached = doubles.forward_row("mul", "", 0.25, 0, 1_000_000, 4_000_000, 4_000_000)
points = roofline_points([both, cached, product, addition, both], other)
names = [p["name"].split()[0] for p in points]
expect("results come in the order of the rows", names, ["conv2d", "mul", "linear", "add", "conv2d"])
figures = [points[0][key] for key in ("intensity", "attainable", "efficiency")]
expect("both kinds of FLOPs count, left of the ridge, too", figures, [1.25, 5e9, 0.4])
expect("an efficiency may be above 1", points[1]["efficiency"], 8.0)
# viva: r = doubles.forward_row('add', 'm', 5.0, 40, 10, 30, 20); roofline_points([r],
#     Hardware(1e5, 1e4))[0]['intensity']
# viva: r = doubles.forward_row('exp', '', 2.0, 0, 90, 80, 40); roofline_points([r], Hardware(1e6,
#     1e5))[0]['efficiency']
# viva: r = doubles.forward_row('add', 'm', 2.0, 0, 60, 80, 40); roofline_points([r],
#     Hardware(1e6, 1e5))[0]['attainable']
# viva: r = doubles.forward_row('add', '', 4.0, 9, 60, 80, 40); roofline_points([r],
#     Hardware(10.0, 1e5))[0]['attainable']
# viva: r = doubles.forward_row('add', '', 2.0, 0, 0, 80, 40); len(roofline_points([r],
#     Hardware(1e6, 1e5)))
# viva: r = doubles.forward_row('gelu', 'act', 2.0, 5, 7, 8, 4); roofline_points([r],
#     Hardware(1e6, 1e5))[0]['name']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_roofline_points_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=100e9, bandwidth=10e9)
view = doubles.forward_row("reshape", "", 0.01, 0, 0, 0, 0)
inside = doubles.forward_row("softmax", "attn", 1.0, 0, 5_000_000, 20_000_000, 20_000_000, ms=4.0)
points = roofline_points([view, inside], machine)
expect("a view is left out", [p["name"] for p in points], ["softmax attn"])
quick, free = inside | {"self_ms": 0.0}, inside | {"bytes_read": 0, "bytes_written": 0}
expect("no time, or no bytes", roofline_points([quick, free], machine), [])
exp = inside | {"op": "exp", "elementwise_flops": 9_000_000}
twice = roofline_points([inside, quick, exp, inside], machine)
expect("rows in order", [p["name"] for p in twice], ["softmax attn", "exp attn", "softmax attn"])
drawn = doubles.forward_row("rand", "", 1.0, 0, 6_000, 0, 24_000) | {"depth": 1}
found = roofline_points([drawn] * 60, machine)
expect("sixty rows that only write", [p["intensity"] for p in found], [0.25] * 60)
expect(
    "the op's own time",
    points[0]["flops_per_second"],
    5e9,
    mistakes={"with what ran inside": 1.25e9},
)
before = view | {"op": "softmax", "module": "attn", "self_ms": 2.0, "ms": 4.0}
before |= {"elementwise_flops": 5_000_000, "bytes_read": 20_000_000, "bytes_written": 20_000_000}
inside["self_ms"] = 2.0
[point] = roofline_points([inside], machine)
expect("the same row, changed since", point["flops_per_second"], 2.5e9)
[point] = roofline_points([inside], Hardware(10e9, 1e9))
expect("the same row on another machine", point["attainable"], 125e6)
expect("the row stays as it is", inside == before, True)
### BEGIN HIDDEN TESTS
expect("without rows there are no points", roofline_points([], machine), [])
moved = doubles.forward_row("cat", "head", 1.0, 0, 0, 4_000, 4_000)
region = doubles.forward_row("region", "data loading", 0.0, 0, 0, 0, 0, ms=9.0)
too_short = doubles.forward_row("add", "", 0.0, 0, 8, 64, 32)
counted = doubles.forward_row("norm", "", 1.0, 0, 8, 0, 0)
rest = roofline_points([moved, region, too_short, counted, inside, view], machine)
expect(
    "a row without FLOPs, bytes or time is left out, whatever it is",
    [p["name"] for p in rest],
    ["softmax attn"],
)
made = doubles.forward_row("rand", "", 1.0, 0, 6_000, 0, 24_000)
summed = doubles.forward_row("sum", "", 1.0, 0, 6_000, 24_000, 0)
backward, before = summed | {"phase": "backward", "depth": 2}, dict(summed)
points = [
    [p["intensity"], p["attainable"]] for p in roofline_points([made, summed, backward], machine)
]
expect("rows that only write, or only read, have a place", points, [[0.25, 2.5e9]] * 3)
expect("the rows are not changed", summed == before, True)
# vary: 4.0 in 2.67..6.0
summed["self_ms"] = 4.0
expect(
    "a row is read anew at each call",
    roofline_points([summed], machine)[0]["flops_per_second"],
    1.5e6,
)
# vary: 2000.0 in 1330.0..3000.0
long = doubles.forward_row("linear", "", 2000.0, 10**15, 0, 10**12, 0)
expect("times are in ms, also long ones", roofline_points([long], machine)[0]["efficiency"], 5000.0)
### END HIDDEN TESTS

# %% [markdown]
# Now the real thing, on one thread, so that all operations stand under one roof.
# `demos.measured_roofs` measures this machine with `measure_peak_flops` and `measure_bandwidth`; the thin roofs are those of np.copyto and of all threads.
# `demos.recorded_rows` runs a model a few times under your recorder and takes the median of each operation's time; operations that are the same in all blocks make one point.
#
# **Predict.** Which kind of operation takes most of GPT-2's time: linear, matmul (between tokens), softmax, gelu, layer_norm or add?

# %% tags=["guess"]
guess_busiest = None  # your guess: one of these words, in quotes

# %% nbgrader={"grade": false, "grade_id": "demo_gpt2", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws GPT-2's operations under your roofs.
from proflab.lesson import noise

noise.show_load()
rows = demos.recorded_rows("GPT-2", OpRecorder)
roofs = demos.measured_roofs(measure_peak_flops, measure_bandwidth)
points = demos.points_with_shares(rows, roofline_points, roofs[0])
busiest = max(points, key=lambda p: p["share"])
nearest, furthest = (pick(points, key=lambda p: p["efficiency"]) for pick in (max, min))
for what, p in (("most time", busiest), ("nearest", nearest), ("furthest below", furthest)):
    print(f"{what}: {p['name']}, {p['share']:.1%} of the time, {p['efficiency']:.1%} of its roof")
guesses.compare("GPT-2's busiest kind of operation", guess_busiest, busiest["name"].split()[0])
demos.operations(points, roofs, demos.title_of("GPT-2", rows))

# %% nbgrader={"grade": false, "grade_id": "demo_resnet", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws ResNet-18's operations under your roofs.
from proflab.lesson import noise

noise.show_load()
rows = demos.recorded_rows("ResNet-18", OpRecorder)
roofs = demos.measured_roofs(measure_peak_flops, measure_bandwidth)
points = demos.points_with_shares(rows, roofline_points, roofs[0])
own = [(p["share"], p["efficiency"]) for p in points if p["name"].startswith("conv2d")]
shares, reached = zip(*own, strict=True)
print(f"conv2d: {sum(shares):.0%} of the time, {min(reached):.0%} to {max(reached):.0%} of roofs")
demos.operations(points, roofs, demos.title_of("ResNet-18", rows))

# %% [markdown]
# A point *above* the slope is no mistake: its data came from a cache, where the operation before had left it.
# And most operations cannot use the roof of all threads: numpy multiplies matrices on all of them, but does everything else on one.
#
# ## 6 · The third wall
#
# Many points are far below both walls.
# The roofline does not say why.
# Small operations spend their time on neither computing nor memory: the interpreter reads the next line, types and shapes are checked, memory for the result is found, a function is called; on a GPU, a *kernel* (a program that runs there) is launched.
#
# So there are three walls, and a rule of thumb finds the one that an operation is at.
# Let T be the larger of FLOPs / peak and bytes / bandwidth.
# If the operation takes more than 4 · T, neither wall explains it.
# Otherwise it is at the wall whose time is longer, or at the ridge if the two times are within 20 % of each other.
#
# **Predict.** How many additions of two tensors of 1,000 float32 numbers does your machine do in a second?

# %% tags=["guess"]
guess_small_additions = None  # your guess: additions in a second


# %% nbgrader={"grade": false, "grade_id": "classify", "locked": false, "schema_version": 3, "solution": true, "task": false}
def classify(flops, bytes_moved, seconds, peak_flops, bandwidth):
    """Return the wall that a measured computation is at, a string.

    flops, bytes_moved: at least 0. seconds: what it took, above 0.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    Of flops / peak_flops and bytes_moved / bandwidth, T is the longer time. The wall is
        "overhead" when it took more than 4 · T, else
        "ridge" when T is at most 1.2 times the shorter time, else
        "compute" or "memory", by which time is T.

    >>> classify(10**9, 10**6, 0.01, 200e9, 20e9)
    'compute'
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


# %% nbgrader={"grade": true, "grade_id": "test_classify", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    classify,
    ("a product of 1,024³", (2 * 1024**3, 12 * 1024**2, 0.013, 2e11, 2e10), "compute"),
    ("a ReLU on 10⁷ numbers", (10**7, 8 * 10**7, 0.0045, 2e11, 2e10), "memory"),
    ("the same ReLU in a second", (10**7, 8 * 10**7, 1.0, 2e11, 2e10), "overhead"),
    ("faster than T, which is 16", (32, 8, 3.0, 2.0, 2.0), "compute"),
    ("4 · T", (32, 8, 64.0, 2.0, 2.0), "compute"),
    ("a little more than 4 · T", (32, 8, 64.1, 2.0, 2.0), "overhead"),
    ("at the ridge, but slow", (6, 5, 24.1, 1.0, 1.0), "overhead"),
)
equal = classify(10**9, 10**8, seconds=0.006, peak_flops=2e11, bandwidth=2e10)
expect("at 10 FLOPs a byte, which is the ridge", equal, "ridge")
### BEGIN HIDDEN TESTS
peak, bandwidth = 200e9, 20e9
expect("exactly 4 · T is not overhead", classify(2**30, 1, 4.0, 2**30, 2**30), "compute")
expect("a little over 4 · T is overhead", classify(2**30, 1, 4.001, 2**30, 2**30), "overhead")
# vary: 10 in 6..15, 30 in 20..35
expect("T is the longer of the two times", classify(10, 30, 41.0, 1.0, 1.0), "memory")
walls = [classify(f, b, 120.0, 1.0, 1.0) for f, b in ((100, 119), (119, 100), (100, 100))]
expect("times within 20 % of each other are at the ridge", walls, ["ridge", "ridge", "ridge"])
walls = [classify(f, b, 150.0, 1.0, 1.0) for f, b in ((100, 121), (121, 100))]
expect("times further apart are at the longer one's wall", walls, ["memory", "compute"])
walls = [classify(f, b, 500.0, 1.0, 1.0) for f, b in ((100, 117), (117, 100))]
expect("overhead comes before the ridge", walls, ["overhead", "overhead"])
# vary: 8 in 4..16, 9e-4 in 6e-4..0.00135
expect("a time below T is no error", classify(10**7, 8 * 10**7, 0.0009, peak, bandwidth), "memory")
# vary: 5 in 4..6, 0.006 in 0.005..0.008
expect(
    "left of the ridge the wall is memory",
    classify(5 * 10**8, 10**8, 0.006, peak, bandwidth),
    "memory",
)
# vary: 600 in 500..700, 10 in 8..12
expect(
    "the intensity is compared with this machine's ridge",
    classify(600, 10, 40.0, 20.0, 1.0),
    "compute",
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_classify_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    classify,
    ("computed only", (8, 0, 9.0, 1.0, 1.0), "compute"),
    ("moved only", (0, 8, 9.0, 1.0, 1.0), "memory"),
    ("nothing at all", (0, 0, 9.0, 1.0, 1.0), "overhead"),
    ("times 1.2 apart", (5, 6, 20.0, 1.0, 1.0), "ridge"),
    ("a little more, less computing", (10, 12.1, 20.0, 1.0, 1.0), "memory"),
    ("a little more, less moving", (12.1, 10, 20.0, 1.0, 1.0), "compute"),
    ("more FLOPs than bytes, left of the ridge", (9, 8, 30.0, 5.0, 1.0), "memory"),
    ("within a nanosecond", (2000, 80, 0.2e-9, 1e13, 1e12), "compute"),
)
### BEGIN HIDDEN TESTS
# vary: 312 in 280..400, 0.0012 in 0.001..0.0014
expect(
    "right of the ridge the wall is computing",
    classify(312 * 10**9, 10**9, 0.0012, 312e12, 2e12),
    "compute",
)
walls = [classify(f, 8, 30.0, 2.0, 1.0) for f in (8, 16, 31, 90)]
expect("each roof divides its own number", walls, ["memory", "ridge", "compute", "compute"])
expect(
    "four times a fifth of a nanosecond are less than 0.9",
    classify(2000, 80, 0.9e-9, 1e13, 1e12),
    "overhead",
)
expect("equal times are at the ridge, whatever their unit", classify(16, 8, 8.0, 2.0, 1.0), "ridge")
walls = [classify(6, b, seconds, 1.0, 1.0) for b, seconds in ((3, 24.0), (3, 24.1), (30, 24.1))]
expect("what took longer than T", walls, ["compute", "overhead", "memory"])
peak, bandwidth = 200e9, 20e9
expect(
    "data that is only moved is at the memory wall",
    classify(0, 8 * 10**7, 0.005, peak, bandwidth),
    "memory",
)
expect(
    "nothing computed and nothing moved is overhead",
    classify(0, 0, 1e-6, peak, bandwidth),
    "overhead",
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_classify_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    classify,
    (
        "FLOPs or bytes below 0; no time, or below 0; whatever else is refused",
        [
            (-1, 1, 1, 1, 1),
            (1, -1, 1, 1, 1),
            (1, 1, 0.0, 1, 1),
            (1, 1, -1, 1, 1),
            (1, 1, 1, 0.0, 1),
            (1, 1, 1, -1, 1),
            (1, 1, 1, 1, 0.0),
            (1, 1, 1, 1, -1),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect(
    "bytes without FLOPs are in range, and may wait for something else",
    [classify(0, 3, seconds, 7.0, 1.0) for seconds in (3.5, 13.0, 3.0)],
    ["memory", "overhead", "memory"],
)
expect(
    "FLOPs without bytes are in range, and may wait for something else",
    [classify(7, 0, seconds, 2.0, 1.0) for seconds in (15.0, 3.5)],
    ["overhead", "compute"],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tiny", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what additions of two tensors take, by their size, and the least by the roof.
from proflab.lesson import noise

noise.show_load()
roof, least = demos.measured_roofs(measure_peak_flops, measure_bandwidth)[0], {}
large = demo.demo_size((250_000, 10**6, 4 * 10**6, 32 * 10**6), ())
took = {n: demos.addition_seconds(n) for n in (16, 250, 1000, 4000, 16_000, *large)}
for n, seconds in took.items():
    moved = elementwise_bytes((n,), 2, 4)
    least[n] = max(n / roof.peak_flops, moved / roof.bandwidth)
    wall = classify(n, moved, seconds, roof.peak_flops, roof.bandwidth)
    figures = f"{seconds * 1e6:10,.1f} µs, by the roof {least[n] * 1e6:10,.3f}"
    print(f"{n:>11,} numbers: {figures}: {wall}")
in_a_second = 1 / took[1000]
guesses.compare("additions of 1,000 numbers", guess_small_additions, in_a_second, unit="a second")
demos.additions({"measured": took, "the roof's time": least}, guess_small_additions)

# %% [markdown]
# At the left the line is flat: to add 16 numbers takes as long as to add 1,000.
# A thousand such additions could be a single one from the middle of the plot, which takes as long as a few of them.
# That is what batching, fusing and compiling do.
# At the far right, part of the distance to the roof is the result: new memory each time, which the system first has to find (section 4).
#
# Now the operations of whole models: each gets its verdict, and their times add up.

# %% nbgrader={"grade": false, "grade_id": "demo_verdicts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints and draws the wall of each operation of two models.
roof, judged = demos.measured_roofs(measure_peak_flops, measure_bandwidth)[0], {}
for name in ("GPT-2", "ResNet-18"):
    judged[name] = demos.alike(demos.recorded_rows(name, OpRecorder))
    print(f"{name:<56}{'ms':>8}{'FLOPs/byte':>12}  wall")
    for row in sorted(judged[name], key=lambda row: -row["self_ms"]):
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved, ms = row["bytes_read"] + row["bytes_written"], row["self_ms"]
        row["wall"] = classify(flops, moved, ms / 1000, roof.peak_flops, roof.bandwidth)
        intensity = f"{arithmetic_intensity(flops, moved):.1f}" if moved else "–"
        if row["share"] > 0.02:
            print(f"  {row['label']:<54}{ms:>8.2f}{intensity:>12}  {row['wall']}")
demos.time_by_wall(judged)

# %% [markdown]
# Read "overhead" as "neither wall explains it".
# For a small operation the reason is the call.
# For a large one, look closer.
# A convolution of proflab first copies all windows into one matrix, each number up to nine times for a 3 × 3 kernel: bytes that are touched, but not unique.
# A GELU takes several passes over its data, one of them for an exponential, which is far more than the 8 FLOPs of our convention.
# And the ceiling drawn here is that of a product, with vector instructions (*SIMD*) and fused multiply-adds (*FMA*).
# An operation without them, such as GELU, has a lower ceiling of its own, and is called "overhead" even where it has reached it.
#
# | what you see | wall | what helps |
# |---|---|---|
# | near the ceiling | compute | fewer FLOPs; 16-bit numbers, where the hardware has them; more cores |
# | near the slope | memory | fusing, so that data is read once; larger batches; smaller dtypes |
# | small, and far below both | overhead | fewer and larger operations: batch, fuse, compile |
# | large, and far below both | overhead | look for hidden passes and copies; write into old memory (`out=`) |

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# layer, x = torch.nn.Linear(768, 3072), torch.rand(128, 768)
# with torch.no_grad(), torch.profiler.profile(with_flops=True) as recording:
#     layer(x)
# print(recording.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))
# ```
#
# The [profiler](https://docs.pytorch.org/docs/stable/profiler.html) shows each operation's time and the FLOPs of matrix products; it hides bytes and roofs.
# For a GPU, [Nsight Compute](https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#roofline-charts) draws a roofline from measured traffic: `ncu --set roofline python train.py`.

# %% [markdown]
# **Four questions, in this order,** before you optimize.
# Is the step *stable*?
# If not, no comparison means anything.
# Is the machine *busy*?
# If not, find out what it waits for.
# Is the busy time in *matrix products*?
# If not, fuse or avoid the rest.
# Are these *near the peak*?
# If not, their shapes are too small or too narrow.
# If all answers are yes, you need less work or a faster machine.

# %% nbgrader={"grade": false, "grade_id": "inspect_imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
from statistics import mean, median, stdev


# %% nbgrader={"grade": false, "grade_id": "inspect_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def inspect_step(step):
    """Return the first of four questions to which a step's answer is no, a string.

    step: a dict, which stays as it is, with
        times_ms: what the step took, in each of at least 3 runs
        busy_ms: how much of a step of median time was spent in operations
        matmul_ms, matmul_flops: how much of that in matrix products, and their FLOPs
        peak_flops: the roof, FLOP/s
    The answer is "unstable" when the times' standard deviation (n − 1) is at least 10 %
    of their mean, else "idle" when busy_ms is under 80 % of their median, else "other work" when
    matmul_ms is under 50 % of busy_ms, else "slow matmuls" when these reach under 50 % of the peak,
    else "near peak". Raises ValueError for fewer than 3 times.

    >>> step = {"times_ms": [10, 10, 10], "busy_ms": 5, "matmul_ms": 4, "matmul_flops": 10**6}
    >>> inspect_step(step | {"peak_flops": 1e9})
    'idle'
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


# %% nbgrader={"grade": true, "grade_id": "test_inspect_step", "locked": true, "points": 4.5, "schema_version": 3, "solution": false, "task": false}
fine = {"times_ms": [100.0, 101.0, 99.0], "busy_ms": 95.0, "matmul_ms": 80.0}
fine |= {"matmul_flops": 12 * 10**9, "peak_flops": 200e9}
times = [100.0] * 12 + [130.0, 80.0] * 14
shaky = {"times_ms": list(times), "busy_ms": 20.0, "matmul_ms": 9.0}
quick = {"times_ms": [4e-4, 4.1e-4, 3.9e-4], "busy_ms": 3.9e-4, "matmul_ms": 3e-4}
quick |= {"matmul_flops": 40_000, "peak_flops": 2e11}
expect_table(
    lambda changes: inspect_step(fine | changes),
    ("as it should be", ({},), "near peak"),
    ("few FLOPs for the time", ({"matmul_flops": 4 * 10**9},), "slow matmuls"),
    ("little in products", ({"matmul_ms": 40.0},), "other work"),
    ("waiting", ({"busy_ms": 60.0},), "idle"),
    ("waiting, and little in products", ({"busy_ms": 20.0, "matmul_ms": 9.0},), "idle"),
    ("forty times, up and down; waiting, too", (shaky,), "unstable"),
    ("a step below 1 µs", (quick,), "near peak"),
)
expect("the times stay as they are", shaky["times_ms"] == times, True)
### BEGIN HIDDEN TESTS
# vary: 50.0 in 35.0..65.0
bad = {"times_ms": [50.0, 100.0, 150.0], "busy_ms": 10.0, "matmul_ms": 1.0}
bad |= {"matmul_flops": 1, "peak_flops": 1e12}
order = [bad, bad | {"times_ms": [100.0] * 3}, bad | {"times_ms": [100.0] * 3, "busy_ms": 90.0}]
answers = [inspect_step(step) for step in order]
expect("the first no decides", answers, ["unstable", "idle", "other work"])
answers = [inspect_step(fine | {"times_ms": [100.0 - d, 100.0, 100.0 + d]}) for d in (10.1, 9.8)]
expect("a spread from 10 % on is unstable", answers, ["unstable", "near peak"])
# vary: 60.0 in 45.0..80.0
skewed = {"times_ms": [100.0, 100.0, 100.0, 100.0, 123.0], "busy_ms": 81.0, "matmul_ms": 60.0}
expect(
    "busy time is compared with the median, not the mean", inspect_step(fine | skewed), "near peak"
)
expect("a machine busy for less than 80 % is idle", inspect_step(fine | {"busy_ms": 79.0}), "idle")
answers = [inspect_step(fine | {"matmul_ms": ms}) for ms in (47.0, 48.0)]
expect("less than half in products is other work", answers, ["other work", "near peak"])
answers = [inspect_step(fine | {"matmul_flops": f * 10**8}) for f in (79, 81)]
expect("less than half the peak is slow", answers, ["slow matmuls", "near peak"])
# viva: inspect_step(dict(times_ms=[10, 10, 10], busy_ms=5, matmul_ms=4, matmul_flops=9000,
#     peak_flops=1e6))
# viva: inspect_step(dict(times_ms=[10, 10, 10], busy_ms=9, matmul_ms=4, matmul_flops=9000,
#     peak_flops=1e6))
# viva: inspect_step(dict(times_ms=[10, 10, 10], busy_ms=9, matmul_ms=8, matmul_flops=900,
#     peak_flops=1e6))
# viva: inspect_step(dict(times_ms=[10, 10, 10], busy_ms=9, matmul_ms=8, matmul_flops=7000,
#     peak_flops=1e6))
# viva: inspect_step(dict(times_ms=[10, 18, 10], busy_ms=5, matmul_ms=4, matmul_flops=9000,
#     peak_flops=1e6))
# viva: inspect_step(dict(times_ms=[10, 11, 10], busy_ms=7, matmul_ms=2, matmul_flops=9000,
#     peak_flops=1e6))
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_inspect_step_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
sound = {"times_ms": [100.0] * 3, "busy_ms": 95.0, "matmul_ms": 62.5}
sound |= {"matmul_flops": 10**10, "peak_flops": 2e11}
skewed = [100.0, 100.0, 110.0, 122.3]  # 10 % of the median are 10.5, of the mean 10.8
expect_table(
    lambda changes: inspect_step(sound | changes),
    ("a deviation of 10 %", ({"times_ms": [90.0, 100.0, 110.0]},), "unstable"),
    ("a little less", ({"times_ms": [90.1, 100.0, 109.9]},), "near peak"),
    ("10.6, busy for 80 % of the median", ({"times_ms": skewed, "busy_ms": 84.0},), "near peak"),
    ("busy for a little less", ({"times_ms": skewed, "busy_ms": 83.9},), "idle"),
    ("products for half of the busy time", ({"matmul_ms": 47.5},), "near peak"),
    ("for a little less", ({"matmul_ms": 47.4},), "other work"),
    ("products at half the peak", ({"matmul_flops": 625 * 10**7},), "near peak"),
    ("a little below", ({"matmul_flops": 624 * 10**7},), "slow matmuls"),
)
### BEGIN HIDDEN TESTS
slow, fast = [90.0, 90.0, 106.2], [104.0, 104.0, 86.3]  # medians below and above the mean
found = [inspect_step(sound | {"times_ms": times, "busy_ms": 90.0}) for times in (slow, fast)]
expect("the deviation is compared with the mean, not the median", found, ["near peak", "unstable"])
fifty = [90.0, 94.0, 92.0, 88.0, 91.0] * 10
busy = sound | {"times_ms": list(fifty), "busy_ms": 74.0, "matmul_ms": 36.0, "peak_flops": 1e11}
steps = [busy, busy | {"matmul_ms": 70.0}, busy | {"matmul_ms": 70.0, "peak_flops": 1e12}]
verdicts = [inspect_step(each) for each in steps]
expect("fifty times have a median, too", verdicts, ["other work", "near peak", "slow matmuls"])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_inspect_step_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
good = {"busy_ms": 95.0, "matmul_ms": 62.5, "matmul_flops": 10**10, "peak_flops": 2e11}
expect_table(
    lambda times: inspect_step(good | {"times_ms": times}),
    ("fewer than three times", [([1.0, 1.0],), ([1.0],), ([],)], ValueError),
)
### BEGIN HIDDEN TESTS
three = good | {"busy_ms": 74.0}
verdicts = [inspect_step(three | {"times_ms": [low, 93.0, 94.0]}) for low in (90.0, 60.0)]
expect("three of them suffice", verdicts, ["idle", "unstable"])
verdicts = [inspect_step(three | {"times_ms": [91.0, last, 92.0]}) for last in (93.0, 93e3, 92.0)]
expect("the three times alone decide", verdicts, ["near peak", "unstable", "near peak"])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_inspect", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the first no of two models.
roof = demos.measured_roofs(measure_peak_flops, measure_bandwidth)[0]
for name in ("GPT-2", "ResNet-18"):
    step = demos.recorded_step(name, OpRecorder) | {"peak_flops": roof.peak_flops}
    reached = step["matmul_flops"] / step["matmul_ms"] * 1000 / roof.peak_flops
    share = step["matmul_ms"] / step["busy_ms"]
    products = f"products: {share:.0%} of the time, {reached:.0%} of the peak"
    print(f"{name}: {inspect_step(step)}; {products}")


# %% [markdown]
# ## 7 · Slow programs, made faster
#
# Write three slow functions again, so that they return the same. <!-- with fewer_passes -->
# Write two slow functions again, so that they return the same; a third is given. <!-- without fewer_passes -->
# No clock decides: your function is *traced*, run without data while each operation is noted.
# On a declared machine, an operation costs max(FLOPs / peak, bytes / bandwidth) + 5 µs.
# `DESK`, a desktop core, has 100 GFLOP/s and 10 GB/s; `T4`, NVIDIA's card, 8.1 TFLOP/s and 320 GB/s.
# Both are models without a cache.
# Your share of the points is log(given / yours) ÷ log(given / full): if 4× is full marks, 2× earns half.
# Where clock and count differ below, which of three usual reasons is it: caches, new arrays, threads?

# %% nbgrader={"grade": false, "grade_id": "race_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import op_facts

import proflab
from proflab.lesson import expect_faster, race
from proflab.nn import functional as F

# What is counted: views are free, and filling a tensor is not. A number that does not lie beside
# the one before it costs a cache line of 64 bytes, and so does each of a sort's n log2 n
# comparisons; only products, which copy first, are spared. Causal attention has the pairs that are
# seen; lessons 02 and 05 count all.
# DESK ranks large changes as a processor does: of 163 pairs of this course's programs that differ
# by more than 1.5 times, 159 come in the same order by CPU time. Within 1.5 times, do not trust it.
race.count_with(op_facts)


def slow_chain(a, b, c, d, x):
    """Return (ab + cd)x."""
    return (a @ b + c @ d) @ x


def slow_experts(x, w, b):
    """Return the ReLU of x[e] @ w[e] + b[e] for each expert e."""
    return proflab.stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def slow_passes(x, gain, bias):
    """Return the GELU, by tanh, of the rows of x after a layer norm."""
    x = x.to(np.float64)
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) / (variance + 1e-5).sqrt() * gain + bias
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return (0.5 * y * (1 + inner.tanh())).to(np.float32)


# %% nbgrader={"grade": false, "grade_id": "chain", "locked": false, "schema_version": 3, "solution": true, "task": false}
def chain(a, b, c, d, x):
    """Return what slow_chain does, (n, m), at the least cost on DESK.

    >>> chain(*[proflab.full((1, 1), 2.0)] * 5)
    Tensor([[16.]])

    a, b, c, d: (n, n). x: (n, m), of few columns.
    """
    ### BEGIN SOLUTION
    return a @ (b @ x) + c @ (d @ x)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_chain", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "matrices of 512",
    race.traced(chain, a=(512, 512), b=(512, 512), c=(512, 512), d=(512, 512), x=(512, 8)),
    like=slow_chain,
    machine="DESK",
    full=0.4717,
)
### BEGIN HIDDEN TESTS
# about: the order of the products decides, whatever their sizes
expect_faster(
    "smaller ones, three columns",
    race.traced(chain, a=(300, 300), b=(300, 300), c=(300, 300), d=(300, 300), x=(300, 3)),
    like=slow_chain,
    machine="DESK",
    full=0.1764,
)
expect_faster(
    "small ones, sixteen columns",
    race.traced(chain, a=(200, 200), b=(200, 200), c=(200, 200), d=(200, 200), x=(200, 16)),
    like=slow_chain,
    machine="DESK",
    full=0.1051,
)
# viva: chain(*[proflab.full((1, 1), n) for n in (2.0, 3.0, 4.0, 5.0, 6.0)]).tolist()
# viva: chain(*[proflab.full((2, 2), n) for n in (1.0, 2.0, 3.0, 1.0)], proflab.ones(2, 1)).tolist()
# viva: a = proflab.Tensor([[1.0, 2.0], [0.0, 1.0]]); chain(a, a, a, a, proflab.full((2, 1),
#     3.0)).tolist()
# viva: a, b = proflab.eye(2) * 2, proflab.ones(2, 2); chain(a, b, b, a, proflab.Tensor([[1.0],
#     [3.0]])).tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_chain_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
square = (512, 512)
print(race.measure(slow_chain, chain, a=square, b=square, c=square, d=square, x=(512, 8)))


# %% nbgrader={"grade": false, "grade_id": "experts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def experts(x, w, b):
    """Return what slow_experts does, (experts, rows, out), at the least cost on T4.

    >>> experts(proflab.ones(1, 1, 1), proflab.ones(1, 1, 1), proflab.ones(1, 1))
    Tensor([[[2.]]])

    x: (experts, rows, in). w: (experts, in, out). b: (experts, out).
    """
    ### BEGIN SOLUTION
    return F.relu(x @ w + b[:, None])
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_experts", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "64 experts",
    race.traced(experts, x=(64, 32, 64), w=(64, 64, 64), b=(64, 64)),
    like=slow_experts,
    machine="T4",
    full=0.02872,
)
### BEGIN HIDDEN TESTS
# about: one batched product has the overhead of one operation, for any number of experts
expect_faster(
    "nine experts",
    race.traced(experts, x=(9, 40, 24), w=(9, 24, 24), b=(9, 24)),
    like=slow_experts,
    machine="T4",
    full=0.01603,
)
expect_faster(
    "experts with more outputs than inputs",
    race.traced(experts, x=(16, 5, 12), w=(16, 12, 48), b=(16, 48)),
    like=slow_experts,
    machine="T4",
    full=0.01568,
)
# viva: experts(proflab.ones(1, 1, 2), proflab.full((1, 2, 1), 3.0), proflab.full((1, 1),
#     -2.0)).tolist()
# viva: experts(proflab.full((1, 1, 2), 5.0), proflab.full((1, 2, 3), 2.0), proflab.ones(1,
#     3)).tolist()
# viva: experts(proflab.ones(2, 1, 1), proflab.ones(2, 1, 1), proflab.Tensor([[4.0],
#     [-3.0]])).tolist()
# viva: experts(proflab.ones(1, 2, 1), proflab.Tensor([[[4.0, -6.0]]]), proflab.Tensor([[1.0,
#     9.0]])).tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_experts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line costs, of the given program and of yours.
print(race.table(slow_experts, experts, "T4", x=(64, 32, 64), w=(64, 64, 64), b=(64, 64)))

# %% nbgrader={"grade": false, "grade_id": "demo_experts_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
print(race.measure(slow_experts, experts, "T4", x=(64, 32, 64), w=(64, 64, 64), b=(64, 64)))


# %% nbgrader={"grade": false, "grade_id": "fewer_passes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fewer_passes(x, gain, bias):
    """Return what slow_passes does, (rows, width), at the least cost on DESK.

    >>> fewer_passes(proflab.ones(1, 2), proflab.ones(2), proflab.zeros(2))
    Tensor([[0., 0.]])

    x: (rows, width). gain, bias: (width,).
    """
    ### BEGIN SOLUTION
    y = F.layer_norm(x, (x.shape[-1],), gain, bias)
    return F.gelu(y, approximate="tanh")
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fewer_passes", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# slow_passes has GELU by tanh; GELU by erf differs by up to 0.0005, which is more than rounding.
expect_faster(
    "1,024 rows of 512",
    race.traced(fewer_passes, x=(1024, 512), gain=(512,), bias=(512,)),
    like=slow_passes,
    machine="DESK",
    full=0.8663,
)
### BEGIN HIDDEN TESTS
# about: each operation is a pass over memory, and float64 has twice the bytes
expect_faster(
    "wider rows",
    race.traced(fewer_passes, x=(333, 768), gain=(768,), bias=(768,)),
    like=slow_passes,
    machine="DESK",
    full=0.4282,
)
expect_faster(
    "a few short rows",
    race.traced(fewer_passes, x=(70, 96), gain=(96,), bias=(96,)),
    like=slow_passes,
    machine="DESK",
    full=0.02125,
)
# viva: fewer_passes(proflab.Tensor([[1.0, 3.0]]), proflab.ones(2), proflab.zeros(2)).tolist()
# viva: fewer_passes(proflab.Tensor([[1.0, 7.0]]), proflab.full((2,), 2.0),
#     proflab.ones(2)).tolist()
# viva: fewer_passes(proflab.ones(1, 2), proflab.ones(2), proflab.full((2,), 10.0)).tolist()
# viva: fewer_passes(proflab.Tensor([[0.0, 4.0, 8.0]]), proflab.ones(3), proflab.full((3,),
#     9.0)).tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_fewer_passes_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
print(race.measure(slow_passes, fewer_passes, x=(1024, 512), gain=(512,), bias=(512,)))

# %% [markdown]
# ## Reflect
#
# How much of a machine does a program use?
# For training large models the answer is called *model FLOPs utilization* (*MFU*): the FLOPs that the model needs, divided by the time and by the peak.


# %% nbgrader={"grade": false, "grade_id": "mfu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mfu(flops, seconds, peak_flops):
    """Return the model FLOPs utilization: the share of a machine's peak that was reached, 0 to 1.

    flops: at least 0. seconds, peak_flops (FLOP/s): above 0.

    >>> mfu(10**12, 4, 10**12)
    0.25
    """
    ### BEGIN SOLUTION
    if flops < 0 or seconds <= 0 or peak_flops <= 0:
        raise ValueError(f"no use of {peak_flops} FLOP/s by {flops} FLOPs in {seconds} s")
    return flops / seconds / peak_flops
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_mfu", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect(
    "half of it", mfu(156e12, 1.0, 312e12), 0.5, mistakes={"in percent": 50.0, "upside down": 2.0}
)
expect("in two seconds", mfu(156e12, 2.0, 312e12), 0.25, mistakes={"the time as a factor": 1.0})
expect_table(
    mfu,
    ("nothing done", (0, 3.0, 1e12), 0.0),
    ("more than there is", (10, 3, 3), 10 / 9),
    ("in 0.3 µs", (60_000, 3e-7, 1e12), 0.2),
    (
        "no time, no peak; FLOPs below 0, two below 0",
        [(1e12, 0, 312e12), (2, 1, 0), (-1, 1, 1), (1, -1, -1)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 8e9 in 5.33e9..1.2e10, 9e11 in 6e11..1.35e12, 1e14 in 6.67e13..1.5e14
expect("the share is FLOPs over time over peak", mfu(10**9, 8e9 / 900e9, 100e12), 0.001125)
# vary: 7.0 in 4.7..9.9, 2e12 in 1.4e12..2.9e12
expect("without FLOPs the share is 0", mfu(0, 7.0, 2e12), 0.0)
# vary: 3 in 10..19, 2 in 2..9
expect("a share above 1 is passed on: a figure is wrong", mfu(3, 1, 2), 1.5)
### END HIDDEN TESTS

# %% [markdown]
# The paper on PaLM ([Chowdhery et al. 2022](https://arxiv.org/abs/2204.02311), appendix B) introduced the term and gives its own figures: 540.35 billion parameters, 118 layers, 48 heads of 256, texts of 2,048 tokens; 238,300 tokens a second on 6,144 TPU v4 of 275 TFLOP/s each; an MFU of 46.2 % with attention, 45.7 % without.

# %% nbgrader={"grade": false, "grade_id": "demo_palm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints the MFU of PaLM beside the paper's.
tokens, machines = 238_300, 6144 * 275e12
without = reflect_6nd(540_350_000_000, tokens)
between = tokens * 118 * 3 * 2 * matmul_flops(1, 48 * 256, 2048)
print(f"without attention {mfu(without, 1.0, machines):.1%}, the paper says 45.7 %")
print(f"with attention    {mfu(without + between, 1.0, machines):.1%}, the paper says 46.2 %")

# %% [markdown]
# It holds.
# Now the whole program: a part that takes `fraction` of its time becomes `speedup` times as fast.
# How many times as fast is the program ([Amdahl 1967](https://doi.org/10.1145/1465482.1465560))?
#
# **Predict.** 70 % of a step is matrix products, and a new card does these in no time at all.
# How many times as fast is the step?

# %% tags=["guess"]
guess_amdahl = None  # your guess: how many times?


# %% nbgrader={"grade": false, "grade_id": "amdahl", "locked": false, "schema_version": 3, "solution": true, "task": false}
def amdahl(fraction, speedup):
    """Return how many times as fast a program is when a part of it is, a float.

    fraction: of the time before, 0 to 1, that the part took. speedup: of the part, above 0; below 1
        it is slower, and math.inf is a part that takes no time any more.
    The result is math.inf where no time is left.

    >>> amdahl(0.75, 3)
    2.0
    """
    ### BEGIN SOLUTION
    if not 0 <= fraction <= 1 or speedup <= 0:
        raise ValueError(f"no part is {fraction} of the time and {speedup} times as fast")
    left = 1 - fraction + fraction / speedup
    return 1 / left if left else math.inf
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_amdahl", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect(
    "70 % at twice the speed",
    amdahl(0.7, 2),
    1 / 0.65,
    mistakes={"the time that is left": 0.65, "the average speed": 1.7, "the other part": 1 / 0.85},
)
expect_table(
    amdahl,
    ("and in no time", (0.7, math.inf), 1 / 0.3),
    ("none of it", (0, 9), 1.0),
    ("half of it, slower", (0.5, 0.5), 1 / 1.5),
    ("nearly all, in no time", (1 - 2**-30, math.inf), 2.0**30),
)
expect("all of it, in nearly no time", amdahl(fraction=1, speedup=2.0**50), 2.0**50)
### BEGIN HIDDEN TESTS
# vary: 0.05 in 0.0333..0.075, 100 in 66..150
expect("a small part gains little, however fast", amdahl(0.05, 100), 1 / 0.9505)
expect("a part of 0 changes nothing", amdahl(0, math.inf), 1.0)
# vary: 0.25 in 0.167..0.375, 0.5 in 0.333..0.75
expect("a slower part makes the program slower", amdahl(0.25, 0.5), 0.8)
expect("a large speedup is not an infinite one", amdahl(1, 4.0**30), 2.0**60)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_amdahl_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    amdahl,
    ("all of it at 8 times the speed", (1, 8), 8.0),
    ("all of it in no time", (1, math.inf), math.inf),
    (
        "70 and 1.1 are no fractions, −0.1 is none; no speed, and less",
        [(70, 2), (1.1, 2), (-0.1, 2), (0.5, 0), (0.5, -1), (0, 0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect(
    "the whole program gains the full speedup",
    [amdahl(1, 3), amdahl(1.0, math.inf)],
    [3.0, math.inf],
)
# vary: 0.25 in 0.167..0.375
expect("or what a slower one costs", amdahl(1, 0.25), 0.25)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_amdahl", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the speed of the whole by that of a part.
at, lines = [2.0**k for k in range(8)], {}
for part in (0.5, 0.7, 0.9, 0.95):
    lines[f"{part:.0%}"] = [(speedup, amdahl(part, speedup)) for speedup in at]
guesses.compare("70 % in no time", guess_amdahl, amdahl(0.7, math.inf), unit="times as fast")
guess = (at[-1], demos.number(guess_amdahl))
demos.lines(lines, "speedup of a part of the time", "of the whole", "Amdahl's law", guess=guess)

# %% [markdown]
# Does the law hold on your machine?
# From the gain of the products on all threads, your function predicts the gain of the whole.

# %% nbgrader={"grade": false, "grade_id": "demo_threads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what the law says of GPT-2 on all threads, and what the clock says.
from proflab.lesson import noise

noise.show_load()
rows = {n: demos.recorded_rows("GPT-2", OpRecorder, n) for n in measuring.thread_counts()}
took = {n: demos.products_and_rest(recorded) for n, recorded in rows.items()}
for n, (products, rest) in took.items():
    print(f"GPT-2 on {measuring.called(n)}: products {products:.1f} ms, the rest {rest:.1f} ms")
(products, rest), (after, rest_after) = took[1], took[max(took)]
law = amdahl(products / (products + rest), products / after)
clock = (products + rest) / (after + rest_after)
if len(took) > 1:
    print(f"The products ran at {products / after:.2f} times their speed on one thread.")
    print(f"By the law the whole should run at {law:.2f} times its speed; measured: {clock:.2f}.")

# %% [markdown]
# How long does a ReLU take, and what share of the peak is that? <!-- with reflect_relu -->
# The same for a ReLU: its least time, and its share of the peak. <!-- with essay, without reflect_relu -->


# %% nbgrader={"grade": false, "grade_id": "reflect_relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_relu(elements, itemsize, peak_flops, bandwidth):
    """Return what a ReLU, one FLOP an element, takes if it does only what its wall demands: a dict.

    elements, itemsize (bytes of a number): ints, at least 1. The ReLU writes a new tensor.
    peak_flops: FLOP/s. bandwidth: bytes/s. Both above 0.
    The dict's keys are ms, the least time, and share, its FLOP/s as a share of the peak, 0 to 1.

    >>> reflect_relu(1000, 4, 1e9, 1e9)
    {'ms': 0.008, 'share': 0.125}
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
expect("7,000 of 2 bytes", reflect_relu(7_000, 2, 1e11, 7e10), {"ms": 4e-4, "share": 0.175})
huge = reflect_relu(elements=3 * 10**18, itemsize=4, peak_flops=1e14, bandwidth=8e11)
expect("more than 2⁶³ bytes", huge, {"ms": 3e10, "share": 0.001})
expect_table(
    reflect_relu,
    (
        "nothing, less than nothing; no roofs",
        [(0, 4, 1e14, 9e11), (-2, -4, 1e14, 9e11), (5, 4, 0, 9e11), (6, 4, 1e14, 0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 6000 in 4_000..9_000, 4 in 4..9, 3e6 in 3e6..4.5e6, 8e6 in 5.33e6..1.2e7
expect(
    "the memory wall sets the time where it is the longer one",
    reflect_relu(6_000, 4, 3e6, 8e6),
    {"ms": 6.0, "share": 1 / 3},
)
# vary: 6000 in 4_000..9_000, 2e6 in 1.33e6..3e6
expect(
    "the peak sets the time on a machine that computes slowly",
    reflect_relu(6_000, 1, 2e6, 8e6),
    {"ms": 3.0, "share": 1.0},
)
### END HIDDEN TESTS

# %% [markdown]
# 8.89 ms, and 0.11 % of a machine that does 100 TFLOP/s.
# A profiler that shows such a card as "98 % busy" is right: it is busy waiting.
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# You are asked to make GPT-2 small faster on one thread of your machine, for one text of 128 tokens.
# You are offered one of three: twice the peak, twice the bandwidth, or half the time of each operation that is at the third wall.
#
# 1. What are your roofs, for how many threads, and how sure are you of them?
# 2. What share of the time is spent at which wall? What does each of the three offers gain at most, by Amdahl's law? Show the calculation; `demos.alike(demos.recorded_rows("GPT-2", OpRecorder))` gives you the rows.
# 3. Name one operation whose verdict you do not believe, or that lies above a roof, and say what you would measure next.

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_roofline", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# All numbers are the student's own; check that the shares of item 4 sum to 1 and that item 5 follows from them.
#
# - *1 point:* Both roofs, with units.
# - *1 point:* With the threads, the dtype and the working set (`demo_peak`, `demo_sweep`).
# - *1 point:* The best of the rounds, called so, and their spread.
# - *1 point:* The shares of the time by wall, from `classify` on recorded rows, which sum to 1 (`demo_verdicts`).
# - *1 point:* Three calls of `amdahl` with these shares and 2.
# - *1 point:* What is at the ridge needs both roofs.
# - *1 point:* The offer is chosen by these numbers.
# - *1 point:* One operation, with its intensity and its efficiency.
# - *1 point:* A reason that fits: a cache, one thread, several passes, write allocate, another count of FLOPs.
# - *1 point:* A measurement that would decide it.
#
# **A good answer (10).** Shares of 0.81, 0.12 and 0.07, gains of 1.68, 1.06 and 1.04, and an operation that is measured again with a smaller working set.
#
# **A poor answer (1: item 9).** “GPT-2 is memory-bound, so twice the bandwidth. My bandwidth is 12 GB/s, and GELU is slow because it takes several passes.”
# (No intensity, so not item 8; one roof, so not item 1.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can say what limits an operation, on any machine whose two roofs you have measured.
(
    "The ridge of this machine, as you measure it, is at"
    f" {ridge_point(measure_peak_flops(sizes=[1024], repeats=3), measure_bandwidth(2**27)):.1f}"
    " FLOPs a byte. A GELU has 1, a product of 4,096³ has 683."
)

# %% [markdown]
# ## Summary
#
# - A computation takes at least the longer of FLOPs / peak and bytes / bandwidth. Its FLOPs a byte, compared with the machine's ridge, say which. <!-- with attainable_flops -->
# - Unique bytes give a bound that holds for every program. Many more bytes are touched, and caches stand between the two. <!-- with matmul_bytes -->
# - Roofs are measured: the best of many, for a number of threads, a dtype, a working set. A machine has several. <!-- with measure_bandwidth -->
# - The third wall is everything else: calls, launches, the interpreter, communication. Its cost depends on how many operations there are, not on their size. <!-- with classify -->
# - One line of arithmetic says what a faster part does for the whole. Do it before you build the part. <!-- with amdahl -->
#
# **Next.** You have a profiler: `proflab assemble release -o my_profiler_alone.py --standalone` makes one file of it, which runs with numpy alone.
# `python my_profiler_alone.py gpt2-small --batch 1 --tokens 128` writes a report with this roofline in it.
# Lesson 07 asks what happens when a model grows. <!-- with lesson 07, without lesson 10 -->
# Lesson 09 makes a slow training step faster. <!-- with lesson 09, without lesson 07 -->
# Lesson 10 draws the same picture for a GPU. <!-- with lesson 10 -->
