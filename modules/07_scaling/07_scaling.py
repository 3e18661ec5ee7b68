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
# # 07 · What happens when it grows?
#
# ![Measured against predicted times of three models. Open marks, by FLOPs and bytes alone, lie above the diagonal; filled ones, corrected by one recorded pass, nearer to it. In the opening picture, median errors after one recorded pass are LeNet-5 16%, ResNet-18 20%, GPT-2 small 29%; at worst -53% and +38%.](diagonal.png) <!-- with predict_ms -->
#
# A program runs in a second today.
# Next year it gets ten times as much data.
# Will it need ten seconds or a hundred?
#
# The lesson has two parts, and each can be done alone. <!-- with predict_ms, cache_misses -->
# *Prediction* fits costs, tests the fits, and predicts a model that you would rather not load; you draw this picture for your machine. <!-- with fit_cost -->
# *Prediction* says how long a model takes that you would rather not load; you draw this picture for your machine. <!-- with predict_ms, without fit_cost -->
# *Locality*, after the break, asks why a library multiplies two matrices so much faster than three loops: you simulate a cache and count. <!-- with order -->
# *Locality* asks why the same products take longer in another order: you simulate a cache and count. <!-- with cache_misses, without order -->
#
# **You will be able to**
#
# - say by which power a cost grows, and why that power changes;
# - predict a model from its shapes and two roofs, fit a cost to measurements, and test the fit; <!-- with fit_cost -->
# - predict a model from its shapes and two roofs; <!-- without fit_cost -->
# - explain a speed-up as a product of causes, and count the cache misses behind one; <!-- with section 9 -->
# - explain a speed-up by the cache misses behind it; <!-- without section 9 -->
# - find an order that costs less.
#
# **You need** an op's FLOPs and bytes (lesson 05, section 1), the two roofs of lesson 06, and logarithms.
#
# Arguments stay as they are, and a tuple may stand for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import itertools
import math

import numpy as np
from built import count_flops, count_parameters, measure_latency, saved_activations

from proflab import example_input, meta, models, no_grad
from proflab.lesson import doubles, expect, expect_table, guesses, noise, plot
from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware

# %% [markdown]
# **Part one: prediction**
#
# ## 1 · By which power does it grow?
#
# If a cost goes from v₁ to v₂ while the size goes from s₁ to s₂, then
#
#     v₂ / v₁ = (s₂ / s₁)ᵖ        so        p = ln(v₂ / v₁) / ln(s₂ / s₁)
#
# A text of 128 tokens takes 2 ms and one of 256 tokens takes 4.5 ms: 2.25 times the time for twice the size, and p = ln 2.25 / ln 2 = 1.17.
# It is a *local exponent*, the slope on two logarithmic axes: a cost such as 3 + 0.5 n + 0.01 n² has another one everywhere, near 0 where the constant dominates and near 2 where the square does.
#
# **Predict.** "Attention is quadratic in the length of the text."
# A block of GPT-2 small has attention and a feed-forward part.
# By which power do its FLOPs grow from 512 to 1,024 tokens?

# %% tags=["guess"]
guess_block_exponent = None  # your guess: the exponent between 512 and 1,024 tokens


# %% nbgrader={"grade": false, "grade_id": "local_exponents", "locked": false, "schema_version": 3, "solution": true, "task": false}
def local_exponents(sizes, values):
    """Return the power by which a cost grows, between each size and the next.

    sizes: a list of numbers above 0, each larger than the one before; at least two.
    values: the cost at each size, numbers above 0.
    Returns a list of floats, one fewer than there are sizes: ln(v2 / v1) / ln(s2 / s1). A cost that
    stays the same has the exponent 0, and one that falls has a negative one.
    Raises ValueError for fewer than two sizes, and for sizes that do not rise.

    >>> local_exponents([1, 2, 4], [3, 6, 24])
    [1.0, 2.0]
    """
    ### BEGIN SOLUTION
    if len(sizes) < 2 or len(sizes) != len(values):
        raise ValueError(f"{len(sizes)} sizes and {len(values)} values give no exponent")
    if min(*sizes, *values) <= 0:
        raise ValueError("sizes and values must be above 0")
    points = list(zip(sizes, values, strict=True))
    if any(small >= large for small, large in itertools.pairwise(sizes)):
        raise ValueError(f"sizes must rise, and {sizes} do not")
    return [
        math.log(v2 / v1) / math.log(s2 / s1) for (s1, v1), (s2, v2) in itertools.pairwise(points)
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_local_exponents", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    local_exponents,
    (
        "from 64 to 512 tokens",
        ([64, 128, 256, 512], [1.25, 2, 4.5, 13.5]),
        [math.log2(1.6), math.log2(2.25), math.log2(3)],
        {
            "one exponent, from the first to the last": [math.log(10.8) / math.log(8)] * 3,
            "slopes without logarithms": [0.01171875, 0.01953125, 0.03515625],
        },
    ),
    ("sizes that do not double", ([10, 30, 300], [7, 63, 63_000]), [2.0, 3.0]),
    ("a cost that stays the same, then falls", ([1, 2, 8], [5, 5, 1.25]), [0.0, -1.0]),
    ("the same sizes, other values", ([1, 2, 8], [3, 12, 12]), [2.0, 0.0]),
    ("a cost that hardly grows", ([10, 20], [0.003, 0.003003]), [math.log2(1.001)]),
    ("forty sizes", (list(range(1, 41)), [n * n for n in range(1, 41)]), [2.0] * 39),
)
sizes, values = [2, 4, 8], [3.0, 6.0, 6.0]
found = local_exponents(sizes=sizes, values=values)
expect("the arguments by their names", found, [1.0, 0.0])
expect("the arguments stay as they are", [sizes, values], [[2, 4, 8], [3.0, 6.0, 6.0]])
### BEGIN HIDDEN TESTS
# vary: 0.5 in 0.333..0.75, 1.5 in 1.0..2.25, 0.25 in 0.167..0.375, 6.75 in 4.5..10.1
expect("other sizes, not whole numbers", local_exponents([0.5, 1.5], [0.25, 6.75]), [3.0])
# vary: 24 in 16..36, 4 in 2..9
block = [24 * s * 768**2 + 4 * s**2 * 768 for s in (128, 256, 512)]
found = local_exponents([128, 256, 512], block)
expect(
    "the exponent of a sum of powers rises with the size",
    found,
    [1.0384741478, 1.0740005814],
    rel=1e-8,
)
expect("a cost that halves each time", local_exponents([1, 2, 4], [8.0, 4.0, 2.0]), [-1.0, -1.0])
expect(
    "an exponent close to 0 is not rounded",
    local_exponents([2, 5, 9], [1.0, 1.001, 1.002]),
    [0.0010908113531, 0.001698749545],
)
# vary: 4 in 4..5, 8.0 in 6.2..11.6, 16.0 in 12.4..19.6, 2.0 in 1.55..2.9
expect(
    "the same sizes with other values", local_exponents([1, 2, 4], [8.0, 16.0, 2.0]), [1.0, -3.0]
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_local_exponents_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    local_exponents,
    (
        "a value is missing, or one too many; sizes that fall, and a size twice",
        [([1, 2, 3], [1.0, 2.0]), ([1, 4, 2], [1.0, 2.0, 4.0]), ([1, 8, 8], [1.0, 2.0, 3.0])],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    local_exponents,
    ("two sizes have one exponent", ([5, 10], [3.0, 24.0]), [3.0]),
    # vary: 0.001 in 6.67e-4..0.0015, 0.004 in 0.00267..0.006
    ("sizes and values may be far below 1", ([0.001, 0.004], [0.002, 0.004]), [0.5]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_block", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the exponent of a block's FLOPs from 128 to 32,768 tokens, and your guess.
with meta():
    block = models.transformers.Block(768, heads=12, causal=True)
tokens = [2**k for k in range(7, 16)]
exponents = local_exponents(tokens, [count_flops(block, (1, n, 768)) for n in tokens])
guesses.compare("exponent from 512 to 1,024 tokens", guess_block_exponent, round(exponents[2], 3))
lines = {"FLOPs": list(zip(tokens[1:], exponents, strict=True))}
lines |= {"your guess": [(1024, guess_block_exponent)]} if guess_block_exponent else {}
title = "A block of GPT-2 small: the exponent of its FLOPs, from half as many tokens"
plot.curves(lines, x="tokens", y="local exponent", log="x", title=title)

# %% [markdown]
# At the 1,024 tokens for which GPT-2 was built its block is still nearly linear: 24·s·d² FLOPs of linear layers stand beside 4·s²·d of attention.

# %% nbgrader={"grade": false, "grade_id": "demo_growth", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints by which power four costs of three models grow; the last one is measured.
from demos import growing, on_threads

print(f"{'from → to':<36}{'parameters':>11}{'FLOPs':>7}{'saved':>7}{'ms':>7}")
for name, sizes, make, shape in growing():
    costs = {"parameters": [], "FLOPs": [], "saved": [], "ms": []}
    for model, x in ((make(n).eval(), shape(n)) for n in sizes):
        costs["parameters"].append(count_parameters(model))
        costs["FLOPs"].append(count_flops(model, x))
        costs["saved"].append(saved_activations(model, x))
        with no_grad(), on_threads(1):
            costs["ms"].append(measure_latency(model, example_input(model, x), 1, 5))
    powers = [local_exponents(sizes, values)[0] for values in costs.values()]
    print(f"{name:<36}" + "{:>11.2f}{:>7.2f}{:>7.2f}{:>7.2f}".format(*powers))
noise.show_load()

# %% [markdown]
# No single count says how time grows.
# With its s × s scores, what the block saves for its backward pass turns quadratic long before its FLOPs do.
#
# ## 2 · A cost as a sum of powers
#
# You often know which powers a program has: a call costs the same each time (n⁰), a linear layer is paid by the token (n¹), attention by the pair of tokens (n²).
# What you do not know are the prices c:
#
#     time(n) = c₀ · n⁰ + c₁ · n¹ + c₂ · n²
#
# Measure a few sizes and choose the prices that fit best.
# *Least squares* make the sum of squared errors small.
# With errors in milliseconds, 5 % of a second outweighs a whole measurement of 10 ms, and the small sizes, which alone know c₀, count for nothing.
# So make the *relative* errors small: divide each equation by its measured time t.
#
#     c₀ · 1/t + c₁ · n/t + c₂ · n²/t  ≈  1            one such equation for each measurement
#
# With 9 ms at n = 10 and 17 ms at n = 20, and the powers 0 and 1: c₀/9 + c₁ · 10/9 = 1 and c₀/17 + c₁ · 20/17 = 1, so c₁ = 0.8 and c₀ = 1.
#
# **Predict.** A popular shortcut is a straight line on logarithmic axes, that is one power, c · nᵖ.
# Draw it through the FLOPs of GPT-2's block at 64, 128, 256 and 512 tokens, and read off 8,192.
# Which part of the true number does the line promise?

# %% tags=["guess"]
guess_line_promises = None  # your guess: promised FLOPs / true FLOPs at 8,192 tokens

# %% [markdown]
# <details><summary>Hint 1: what are the unknowns?</summary>
#
# The prices.
# Each measurement is a row, each power a column.
#
# </details>
#
# <details><summary>Hint 2: who solves it?</summary>
#
# `np.linalg.lstsq(matrix, right, rcond=None)` returns a tuple.
# Its first item holds the unknowns that bring `matrix @ unknowns` closest to `right`.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "fit_cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fit_cost(sizes, times_ms, powers):
    """Return the prices c of a cost that is the sum of c · n**power over all powers.

    sizes: a list of numbers above 0, no two alike, in any order.
    times_ms: the time at each size, numbers above 0.
    powers: a list or tuple of numbers, no two alike, in any order; at least one.
    Returns a list of floats, one for each power, in the order of `powers`: those that make the sum
    of the squared relative errors, (fitted - measured) / measured, least. A price may be negative.
    Raises ValueError for no powers, for fewer sizes than powers, and for a size or a power that is
    there twice.

    >>> [round(price, 3) for price in fit_cost([10, 20], [9, 17], (0, 1))]
    [1.0, 0.8]
    """
    ### BEGIN SOLUTION
    if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
        raise ValueError(f"{len(sizes)} sizes do not fit {len(powers)} powers")
    if len(set(sizes)) < len(sizes) or len(set(powers)) < len(powers):
        raise ValueError("no size and no power may be there twice")
    if min(*sizes, *times_ms) <= 0:
        raise ValueError("sizes and times must be above 0")
    n, times = np.array(sizes, float), np.array(times_ms, float)
    columns = np.stack([n**power / times for power in powers], axis=1)
    units = columns.max(axis=0)  # columns of about one size, so that large powers stay exact
    prices, *_ = np.linalg.lstsq(columns / units, np.ones(len(n)), rcond=None)
    return (prices / units).tolist()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fit_cost", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
sizes, times = [10, 20, 40, 80], [9, 17, 39, 107]
expect_table(
    fit_cost,
    ("three powers", (sizes, times, (0, 1, 2)), [3, 0.5, 0.01], {"in reverse": [0.01, 0.5, 3]}),
    (
        "two, by relative errors",
        (sizes, times, (0, 1)),
        [-2.681218067, 1.103345222],
        {"errors in milliseconds, not relative ones": [-10.47826087, 1.42608696]},
    ),
    ("in any order", ([40, 10, 20], [64, 7, 19], [2, 0]), [0.0385609493, 3.1861920173]),
    (
        "small prices",
        ([1000, 2000, 4000], [0.0123, 0.0223, 0.0456], (0, 1)),
        [1.3335093078e-3, 1.0827035962e-5],
    ),
    rel=1e-6,
)
expect("the arguments stay as they are", [sizes, times], [[10, 20, 40, 80], [9, 17, 39, 107]])
### BEGIN HIDDEN TESTS
found = fit_cost([5, 2, 11, 7], [157.0, 25.0, 745.0, 305.0], (2, 0, 1))
expect("the prices are in the order of the powers", found, [6.0, -3.0, 2.0], rel=1e-6)
found = fit_cost([1, 8, 32, 64], [5, 12, 35, 65], (0, 1))
expect("small times count as much as large ones", found, [4.06905712517, 0.96461963023], rel=1e-6)
expect(
    "four powers through four points",
    fit_cost([1, 2, 3, 4], [10.0, 26.0, 58.0, 112.0], (3, 2, 1, 0)),
    [1.0, 2.0, 3.0, 4.0],
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_fit_cost_2", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
expect_table(
    fit_cost,
    ("a square root alone", ([4, 9], [6, 10], [0.5]), [3.1491712707]),
    (
        "as many sizes as powers: four",
        ([1, 2, 3, 4], [7.5, 24, 60.5, 126], [0, 3, 1, 2]),
        [2, 1.5, 3, 1],
    ),
    ("a power below 0", ([1, 2, 4], [10, 8, 10], (-1, 1)), [8, 2]),
    ("forty sizes", ([*range(1, 41)], [3 + 0.5 * n for n in range(1, 41)], (0, 1)), [3, 0.5]),
    rel=1e-6,
)
found = fit_cost(sizes=[4], times_ms=[8], powers=(1,))
expect("one size, one power, by their names", found, [2], rel=1e-6)
### BEGIN HIDDEN TESTS
# vary: 128 in 110..213, 1024 in 769..1_279, 512 in 407..767, 10.0 in 6.67..15.0
# vary: 300.0 in 223.0..395.0
found = fit_cost([128, 1024, 512], [10.0, 300.0, 90.0], (1,))
expect("one price for three measurements", found, [0.1053729564], rel=1e-6)
# vary: 12 in 12..15, 24 in 22..29, 7 in 7..8, 11 in 10..11, 19 in 16..21
found = fit_cost([3, 6, 12, 24], [5, 7, 11, 19], (-0.5, 1))
expect("a power may be below 0", found, [4.8230610516, 0.7814833894], rel=1e-6)
expect_table(
    fit_cost,
    # vary: 7 in 2..14, 3.5 in 2.33..5.25, 0.5 in 0.333..0.75
    ("one point gives one price", ([7], [3.5], (0.5,)), [1.3228756555]),
    # vary: 9 in 9..11
    ("a third point is fitted, too", ([3, 8, 9], [2, 5, 7], (1,)), [0.6785815782]),
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_fit_cost_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    fit_cost,
    (
        "too few sizes; no powers; whatever else is refused",
        [
            ([1, 2], [1, 2], (0, 1, 2)),
            ([1, 2], [1, 2], (1, 1)),
            ([4, 4], [1, 2], (0, 1)),
            ([0, 2], [1, 2], (0,)),
            ([1, 2], [0, 2], (0,)),
            ([3, 5], [1, 2, 3], (1,)),
        ],
        ValueError,
    ),
    rel=1e-6,
)
### BEGIN HIDDEN TESTS
expect_table(
    fit_cost,
    ("two points give two prices", ([3, 8], [2, 5], (2, 1)), [-0.0083333333, 0.6916666667]),
    # vary: 6 in 6..7, 9 in 8..11
    ("three points, two prices", ([1, 2, 4], [5, 6, 9], (0, 1)), [3.5881188119, 1.3128712871]),
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_extrapolate", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints which part of the FLOPs at 8,192 tokens three fits of short texts promise.
with meta():
    block = models.transformers.Block(768, heads=12, causal=True)
near, far = [64, 128, 256, 512], 8192
*flops, true = (count_flops(block, (1, n, 768)) for n in [*near, far])
for powers in ((0, 1), (0, 1, 2)):
    prices = fit_cost(near, flops, powers)
    promised = sum(c * far**power for c, power in zip(prices, powers, strict=True))
    print(f"powers {powers}: {promised / true:.3f} of the true FLOPs at {far:,} tokens")
line = math.exp(np.polyval(np.polyfit(np.log(near), np.log(flops), 1), math.log(far)))
guesses.compare("part that the line promises", guess_line_promises, round(line / true, 3))

# %% [markdown]
# All three pass the four points within three percent, and two of them promise less than half of what comes.
#
# ## 3 · May you believe it?
#
# With enough powers a curve passes through all the points that made it.
# Ask it for a point that it has not seen: leave out the largest size, fit the rest, and compare.
#
# With 8 ms at n = 10 and 13 ms at 20, the powers 0 and 1 promise 3 + 0.5 · 40 = 23 ms at 40.
# If 46 ms are measured there, the error is 23/46 − 1 = −0.5.


# %% nbgrader={"grade": false, "grade_id": "holdout_error", "locked": false, "schema_version": 3, "solution": true, "task": false}
def holdout_error(sizes, times_ms, powers):
    """Return how far a fit that has not seen the largest size is off there.

    sizes, times_ms, powers: as for fit_cost; but the largest size, wherever it stands in the list,
    is left out of the fit, so that one size more than there are powers is needed.
    Returns a float, promised time / measured time - 1, both at the largest size: negative where
    the fit promises too little. The lists stay as they are.
    Raises ValueError as fit_cost does, and where too few sizes are left.

    >>> round(holdout_error([1, 2, 4], [2, 3, 4], (0, 1)), 6)
    0.25
    """
    ### BEGIN SOLUTION
    if len(sizes) != len(times_ms) or len(sizes) <= len(powers):
        raise ValueError(f"{len(sizes)} sizes leave too few for {len(powers)} powers")
    *kept, (largest, measured) = sorted(zip(sizes, times_ms, strict=True))
    if measured <= 0 or any(largest == size for size, _ in kept):
        raise ValueError("times must be above 0, and no size may be there twice")
    prices = fit_cost([size for size, _ in kept], [ms for _, ms in kept], powers)
    promised = sum(c * largest**power for c, power in zip(prices, powers, strict=True))
    return promised / measured - 1
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_holdout_error", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
shuffled, took = [40, 10, 20], [46.0, 8.0, 13.0]
expect_table(
    holdout_error,
    (
        "it bends upwards",
        ([10, 20, 40], [8.0, 13.0, 46.0], (0, 1)),
        -0.5,
        {
            "measured over promised": 1.0,
            "the ratio, without - 1": 0.5,
            "in percent": -50.0,
            "relative to what was promised": -1.0,
        },
    ),
    ("the largest need not take the longest", ([1, 2, 4], [2.0, 4.0, 3.0], (1,)), 5 / 3),
    ("the largest first, the powers in reverse", (shuffled, took, (1, 0)), -0.5),
    ("0.4 % too little", ([10, 20, 40], [8.0, 13.0, 23.1], (0, 1)), 23 / 23.1 - 1),
    (
        "a square that the fit does not know",
        ([10, 20, 40, 80], [9, 17, 39, 107], (0, 1)),
        -0.3037193991,
        {"the largest size was not left out": -0.2001271053},
    ),
    rel=1e-6,
)
found = holdout_error(sizes=[3, 9], times_ms=[6.0, 12.0], powers=(1,))
expect("two sizes, one power, by their names", found, 0.5, rel=1e-6)
found = holdout_error([10, 20, 40, 80], [9, 17, 39, 107], (0, 1, 2))
expect("the right powers", found, 0.0, abs=1e-6)
expect("the lists stay as they are", [shuffled, took], [[40, 10, 20], [46.0, 8.0, 13.0]])
### BEGIN HIDDEN TESTS
# vary: 3 in 3..4, 30 in 30..37, 6 in 5..8, 11.0 in 8.75..13.7, 29.0 in 23.6..29.4
found = holdout_error([3, 30, 6], [11.0, 29.0, 17.0], (1, 0))
expect("the largest size in the middle, the powers in reverse", found, 65 / 29 - 1, rel=1e-6)
expect(
    "a promise that is too high is positive",
    holdout_error([2, 5], [8.0, 10.0], (2,)),
    4.0,
    rel=1e-6,
)
# vary: 4 in 4..5, 10 in 10..11, 12.5 in 12.2..15.3
found = holdout_error([1, 2, 4], [10, 8, 12.5], (-1, 1))
expect("one of the powers is below 0", found, -0.2, rel=1e-6)
# vary: 164 in 109..246
found = holdout_error([*range(1, 41)], [n + 1 for n in range(1, 40)] + [164], (0, 1))
expect("the last of forty sizes is left out", found, -0.75, rel=1e-6)
kept, took = [7, 3, 5], [50.0, 6.0, 12.0]
expect("three sizes, two powers", holdout_error(kept, took, (0, 1)), -0.64, rel=1e-6)
expect("the same sizes with other times", holdout_error(kept, [12, 4, 8], (0, 1)), 0.0, abs=1e-6)
expect("neither list is changed", [kept, took], [[7, 3, 5], [50.0, 6.0, 12.0]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_holdout_error_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    holdout_error,
    (
        "nothing is left to fit; the largest twice; whatever else is refused",
        [([10, 20], [8, 13], (0, 1)), ([1, 4, 4], [1, 4, 5], (0,)), ([1, 2, 4], [0, 2, 4], (0, 1))],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
found = holdout_error([80, 64, 8, 32, 1], [90.0, 65.0, 12.0, 35.0, 5.0], (0, 1))
expect("three measurements and more", found, -0.0973485829, rel=1e-6)
found = holdout_error(sizes=[1, 8, 32, 64], times_ms=[5, 12, 35, 65], powers=(0, 1))
expect("lesson 03's batches, from the three smaller ones", found, 0.0233936752, rel=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_holdout", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints how far four fits are off at the largest size, which they have not seen.
from demos import on_threads

block = models.transformers.Block(768, heads=12, causal=True).eval()
lengths = demo_size([64, 128, 256, 512, 1024], [8, 16, 32, 64])
taken = {n: [] for n in lengths}
with no_grad(), on_threads(1):
    for n in [*lengths, *reversed(lengths)]:  # there and back, so that a steady drift cancels
        x = example_input(block, (1, n, 768))
        taken[n].append(measure_latency(block, x, warmup=1, iterations=5))
noise.show_load()
times = [noise.tell(f"{n:,} tokens", taken[n], "ms") for n in lengths]
for powers in ((1,), (0, 1), (1, 2), (0, 1, 2)):
    error = holdout_error(lengths, times, powers)
    print(f"powers {powers}: {error:+.0%} at {lengths[-1]:,} tokens, from the smaller ones")

# %% [markdown]
# More powers are not always better: a price that the data cannot know is chosen by the noise.
# Take the powers that the program has.
# If the held-out size disagrees, first repeat the measurements in turns, as the cell above does.
#
# ## 4 · What a batch shares
#
# For the latency of batches (lesson 03) the prices have names: c₀ is the *overhead*, paid once a batch, and c₁ is the price of one more sample.
#
# - No batch, however large, gives more than 1 / c₁ samples a second.
# - A batch of c₀ / c₁ samples reaches half of that rate. This *half batch* is Hockney's n½.
#
# `batch_cost` fits both prices and returns all four figures.
#
# **Predict.** How many images are n½ of LeNet-5 on your machine?

# %% tags=["guess"]
guess_half_batch = None  # your guess: images


# %% nbgrader={"grade": false, "grade_id": "batch_cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_cost(sizes, latencies_ms):
    """Return what a batch costs, as a sum of an overhead and a price for each sample.

    sizes: batch sizes, as for fit_cost, at least two. latencies_ms: of a whole batch, each above 0.
    Returns a dict of floats:
        overhead_ms, per_sample_ms: fitted as in fit_cost, with the powers 0 and 1.
        most_per_second: the samples a second that no batch exceeds, by this fit.
        half_batch: the batch that reaches half of it; negative where the overhead is.
    Raises ValueError as fit_cost does, and where the price of a sample is not above 0.

    >>> round(batch_cost([1, 3], [4.0, 6.0])["half_batch"], 6)
    3.0
    """
    ### BEGIN SOLUTION
    overhead, price = fit_cost(sizes, latencies_ms, (0, 1))
    if price <= 0:
        raise ValueError("the latency does not grow with the batch, so a sample has no price")
    return {
        "overhead_ms": overhead,
        "per_sample_ms": price,
        "most_per_second": 1000 / price,
        "half_batch": overhead / price,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_batch_cost", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
found = batch_cost([2, 10, 50], [4.0, 8.0, 28.0])
expect(
    "no batch gives more a second",
    found["most_per_second"],
    2000.0,
    rel=1e-6,
    mistakes={"the rate of the largest batch": 50_000 / 28},
)
expect("half of it", found["half_batch"], 6.0, rel=1e-6, mistakes={"upside down": 1 / 6})
figures = ("overhead_ms", "per_sample_ms", "most_per_second", "half_batch")
expect_table(
    lambda sizes, ms: [batch_cost(sizes, ms)[figure] for figure in figures],
    ("not rounded", ([3, 7], [1.234, 2.01]), [0.652, 0.194, 1000 / 0.194, 3.360824742268]),
    ("a negative overhead", ([1, 2], [1.0, 3.0]), [-1.0, 2.0, 500.0, -0.5]),
    ("one batch; a sample has no price", [([8], [3.0]), ([1, 2], [5.0, 3.0])], ValueError),
    rel=1e-6,
)
sizes, taken = [4, 2], [7.0, 5.0]
found = batch_cost(sizes=sizes, latencies_ms=taken)["half_batch"]
expect("the arguments by their names", found, 3.0, rel=1e-6)
expect("the lists stay as they are", [sizes, taken], [[4, 2], [7.0, 5.0]])
### BEGIN HIDDEN TESTS
found = batch_cost([256, 16], [66.0, 6.0])
expect(
    "the order of the batches does not matter",
    [found["overhead_ms"], found["most_per_second"], found["half_batch"]],
    [2.0, 4000.0, 8.0],
    rel=1e-6,
)
expect(
    "no overhead, no half batch",
    batch_cost([3, 9, 5], [6.0, 18.0, 10.0])["half_batch"],
    0.0,
    abs=1e-6,
)
# vary: 3 in 2..3, 1.0 in 0.667..1.0, 7.0 in 5.0..10.5
expect(
    "an overhead below 0 is not cut off",
    batch_cost([1, 3], [1.0, 7.0])["overhead_ms"],
    -2.0,
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_batch_cost_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
found = batch_cost([1, 8, 32, 64], [5, 12, 35, 65])
expect(
    "lesson 03's batches: the overhead",
    found["overhead_ms"],
    4.069057125,
    rel=1e-6,
    mistakes={"errors in milliseconds, not relative ones": 4.28615543},
)
expect(
    "the price of a sample",
    found["per_sample_ms"],
    0.9646196302,
    rel=1e-6,
    mistakes={"from the first and the last batch alone": 60 / 63},
)
expect("half the rate", found["half_batch"], 4.218302, rel=1e-6)
### BEGIN HIDDEN TESTS
# vary: 4 in 4..5, 16 in 12..19, 64 in 44..72, 256 in 169..319, 2.1 in 1.6..2.46
found = batch_cost([1, 4, 16, 64, 256], [2.1, 2.9, 6.4, 22.5, 81.0])
expect("the price is fitted to all batches", found["per_sample_ms"], 0.3091444686, rel=1e-6)
expect("and so is the overhead", found["overhead_ms"], 1.7329604590, rel=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_batches", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws LeNet-5's time by its batch, the fitted line, the half batch, and your guess.
from demos import batches, timed_batches

sizes = demo_size((1, 2, 4, 8, 16, 32, 64, 128), (1, 4, 16))
measured, rounds = timed_batches(measure_latency, sizes)
cost = batch_cost(sizes, list(measured.values()))
shared = f"{cost['overhead_ms']:.3f} ms a batch and {cost['per_sample_ms']:.4f} ms an image"
print(f"{shared}, so at most {cost['most_per_second']:,.0f} images a second")
half = noise.tell("half batch", [batch_cost(sizes, ms)["half_batch"] for ms in rounds], "images")
noise.show_load()
guesses.compare("half batch of LeNet-5", guess_half_batch, half, "images")
batches(measured, cost, guess_half_batch)

# %% [markdown]
# ## 5 · Predict a model without loading it
#
# **Predict.** GPT-2 XL has 1.6 billion parameters in float32.
# An NVIDIA T4 does 8.1 TFLOP/s in float32 and reads 320 GB/s (NVIDIA's product brief; its data sheet says 300).
# Each operation costs 5 µs of overhead.
# How many ms does a text of one token take?

# %% tags=["guess"]
guess_xl_one_token = None  # your guess: ms

# %% [markdown]
# A model that you have not loaded has no measurements, but it has shapes.
# Lesson 05's `op_facts` says what each operation computes and moves, on *meta* tensors too, where 6 GB of weights are recorded in a tenth of a second.
# Lesson 06 says how long that takes at least.
# And each operation costs an *overhead*: the call, the checks, the launch:
#
#     time  ≈  Σ ( max( FLOPs / peak ,  bytes / bandwidth )  +  overhead )
#
# With 10⁶ FLOPs and 2 · 10⁶ bytes, 10⁹ FLOP/s, 10⁹ B/s and an overhead of 0.5 ms, an operation takes 2.5 ms.
# A view, such as a reshape, costs nothing.
# The overhead is added, because numpy runs one operation after the other; a GPU's full queue would hide it.


# %% nbgrader={"grade": false, "grade_id": "predict_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_ms(rows, hardware, overhead_ms):
    """Return how many ms these operations take on a machine, one after another.

    rows: a list of dicts, as lesson 05's op_facts and recorder make them; used are matmul_flops,
        elementwise_flops, bytes_read and bytes_written, and no time that a row may have.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s.
    overhead_ms: what each operation costs besides, at least 0.
    An operation takes the longer of all its FLOPs at the peak and all its bytes at the bandwidth,
    and the overhead on top. A row without any FLOPs and bytes costs nothing, not even overhead.
    Returns a float. Raises ValueError for no rows, and for an overhead below 0.

    >>> add = doubles.forward_row("add", "", 9.0, 0, 10**6, bytes_read=8 * 10**6, bytes_written=0)
    >>> predict_ms([add], Hardware(peak_flops=1e9, bandwidth=2e9), overhead_ms=0.5)
    4.5
    """
    ### BEGIN SOLUTION
    if not len(rows) or overhead_ms < 0:
        raise ValueError(f"{len(rows)} rows with an overhead of {overhead_ms} ms have no time")
    total = 0.0
    for row in rows:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved = row["bytes_read"] + row["bytes_written"]
        if flops or moved:
            seconds = max(flops / hardware.peak_flops, moved / hardware.bandwidth)
            total += 1000 * seconds + overhead_ms
    return total
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_predict_ms", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=1e9, bandwidth=2e9, name="a small one")


def op(matmul=0, elementwise=0, read=0, written=0):
    return doubles.forward_row("op", "", 9.0, matmul, elementwise, read, written)


product = op(matmul=3_000_000, elementwise=1_000_000, read=1_000_000, written=1_000_000)
addition = op(elementwise=500_000, read=4_000_000, written=2_000_000)
tiny, two = op(elementwise=137, read=8, written=4), [product, addition]
expect_table(
    predict_ms,
    (
        "it computes for 4 ms and moves for 1",
        ([product], machine, 0.0),
        4.0,
        {"both times, one after the other": 5.0, "products only": 3.0, "in s": 0.004},
    ),
    (
        "it moves for 3 ms",
        ([addition], machine, 0.0),
        3.0,
        {"only what is read": 2.0, "it computes, whatever it moves": 0.5},
    ),
    (
        "one after another",
        (two, machine, 0.0),
        7.0,
        {"the longer time of the whole, not of each": 4.5},
    ),
    ("sixty tiny operations", ([tiny] * 60, machine, 0.0), 0.00822),
)
used = [row["bytes_read"] for row in two]
expect("the rows stay as they are", used, [1_000_000, 4_000_000])
### BEGIN HIDDEN TESTS
other = Hardware(peak_flops=4e12, bandwidth=1e11)
conv = op(matmul=10**10, elementwise=2 * 10**9, read=10**7, written=10**7)
# vary: 3 in 2..9
norm = op(elementwise=10**8, read=3 * 10**8, written=10**8)
expect("both kinds of FLOPs count on another machine", predict_ms([conv], other, 0.0), 3.0)
# vary: 3 in 2..9
expect("both kinds of bytes count on another machine", predict_ms([norm] * 3, other, 0.0), 12.0)
expect("a small time is not rounded", predict_ms([tiny], other, 0.0), 1.2e-7)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_predict_ms_2", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=1e9, bandwidth=2e9)


def row(matmul=0, elementwise=0, read=0, written=0):
    return doubles.forward_row("op", "", 9.0, matmul, elementwise, read, written)


product = row(matmul=3_000_000, elementwise=1_000_000, read=1_000_000, written=1_000_000)
addition = row(elementwise=500_000, read=4_000_000, written=2_000_000)
copy, made, view = row(read=1_000_000, written=1_000_000), row(elementwise=7000), row()
expect_table(
    predict_ms,
    (
        "an overhead for each",
        ([product, addition], machine, 0.5),
        8.0,
        {"one overhead for all": 7.5, "in s": 1007.0},
    ),
    ("a view costs nothing", ([view, product], machine, 0.5), 4.5),
    ("a copy has no FLOPs", ([copy], machine, 0.25), 1.25),
    ("numbers that are made have no bytes", ([made], machine, 0.25), 0.257),
    ("an overhead of 0", ([copy, view], machine, 0), 1.0),
)
found = predict_ms(rows=[view], hardware=machine, overhead_ms=0.5)
expect("a view alone, the arguments by their names", found, 0.0)
### BEGIN HIDDEN TESTS
# vary: 4e12 in 2.67e12..6e12, 1e11 in 6.67e10..1.5e11
other = Hardware(peak_flops=4e12, bandwidth=1e11)
# vary: 2 in 2..9
conv = row(matmul=10**10, elementwise=2 * 10**9, read=10**7, written=10**7)
# vary: 3 in 2..9
norm = row(elementwise=10**8, read=3 * 10**8, written=10**8)
# vary: 50 in 33..75, 0.01 in 0.00667..0.015
expect(
    "a long pass pays the overhead for each operation",
    predict_ms([conv, norm] * 50, other, 0.01),
    351.0,
)
# vary: 1.0 in 0.667..1.0
expect("the order of the rows does not matter", predict_ms([norm, view, conv], other, 1.0), 9.0)
back = conv | {"phase": "backward", "self_ms": 77.0, "ms": 80.0, "depth": 3}
# vary: 0.5 in 0.333..0.75
expect("times in a row, its phase and its depth are not used", predict_ms([back], other, 0.5), 3.5)
expect("views alone take no time", predict_ms([view, view], other, 3.0), 0.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "rows_on_meta", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import OpRecorder, measure_bandwidth, measure_peak_flops, op_facts
from demos import on_threads

from proflab.lesson.tensor_memory import each_op

T4 = Hardware(peak_flops=8.1e12, bandwidth=320e9, name="T4", source="NVIDIA's product brief")


def rows_on_meta(make, input_shape):
    """Return op_facts of each op of a forward pass of make(), in order; nothing is computed."""
    with meta(), no_grad():
        model = make().eval()
        return each_op(op_facts, lambda: model(example_input(model, input_shape, meta=True)))


def op_factors(rows, hardware, overhead_ms):
    """Return {op: measured / predicted} of recorded rows: how far each kind is from its bound."""
    took, least = {}, {}
    for row in rows:
        if bound := predict_ms([row], hardware, overhead_ms):
            took[row["op"]] = took.get(row["op"], 0.0) + row["self_ms"]
            least[row["op"]] = least.get(row["op"], 0.0) + bound
    return {op: took[op] / least[op] for op in least}


def predict_corrected_ms(rows, hardware, overhead_ms, factors):
    """Return predict_ms, each row times the factor of its kind of op, 1 where there is none."""
    bounds = [(row["op"], predict_ms([row], hardware, overhead_ms)) for row in rows]
    return sum(bound * factors.get(op, 1.0) for op, bound in bounds)


# %% nbgrader={"grade": true, "grade_id": "test_predict_ms_3", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
small = rows_on_meta(lambda: models.gpt2("medium"), (1, 1))
expect(
    "GPT-2 medium on a T4, one token",
    predict_ms(small, T4, 0.005),
    6.0196410625,
    rel=1e-8,
    mistakes={"one overhead for all": 4.4396410625, "views have an overhead": 7.2196410625},
)
expect("the same with nothing but its two roofs", predict_ms(small, T4, 0), 4.4346410625, rel=1e-8)
### BEGIN HIDDEN TESTS
long = rows_on_meta(lambda: models.gpt2("xl"), (1, 1024))
expect(
    "a text of 1,024 tokens is limited by computing",
    predict_ms(long, T4, 0.005),
    551.571497758,
    rel=1e-8,
)
images = rows_on_meta(models.resnet18, (2, 3, 64, 64))
other = Hardware(peak_flops=2e11, bandwidth=1e10)
expect(
    "ResNet-18, two images, a slower machine", predict_ms(images, other, 0.02), 8.29947652, rel=1e-6
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_predict_ms_4", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
slow = Hardware(peak_flops=1e9, bandwidth=2e9)
copy = doubles.forward_row("clone", "", 9.0, 0, 0, bytes_read=1_000_000, bytes_written=1_000_000)
reshaped = doubles.forward_row("reshape", "", 9.0, 0, 0, bytes_read=0, bytes_written=0)
expect_table(
    predict_ms,
    ("no rows; an overhead below 0", [([], slow, 0.1), ([reshaped], slow, -1)], ValueError),
)
### BEGIN HIDDEN TESTS
expect_table(
    predict_ms,
    ("two copies without overhead", ([copy, copy], slow, 0), 2.0),
    # vary: 0.125 in 0.0833..0.188
    ("two copies and a view", ([copy, reshaped, copy], slow, 0.125), 2.25),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_xl", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints the predicted times of GPT-2 XL on a T4, and what its weights alone take.
for tokens in (1, 32, 1024):
    rows = rows_on_meta(lambda: models.gpt2("xl"), (1, tokens))
    products = sum(row["matmul_flops"] for row in rows) / T4.peak_flops * 1000
    took = predict_ms(rows, T4, 0.005)
    print(f"{tokens:>5,} tokens: {took:7.3f} ms; products at the peak {products:7.3f} ms")
with meta():
    weights = 4 * count_parameters(models.gpt2("xl")) / T4.bandwidth
print(f"the weights alone, read once: {1000 * weights:.3f} ms")
kept = 1000 * (2 * 48 * 1600 * 1024 * 4) / T4.bandwidth  # a key and a value of 1,600 a block
print(f"keys and values of 1,024 tokens: {kept:.1f} ms for one user, {32 * kept:.1f} ms for 32")

# %% nbgrader={"grade": false, "grade_id": "demo_xl_guess", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Compares your guess with the predicted time of one token.
one = predict_ms(rows_on_meta(lambda: models.gpt2("xl"), (1, 1)), T4, 0.005)
guesses.compare("GPT-2 XL on a T4, one token", guess_xl_one_token, round(one, 1), "ms")

# %% [markdown]
# One token takes 22.6 ms: 19.5 to read the weights once, and 0.4 for FLOPs.
# So 32 tokens cost hardly more than one, and so do 32 users who have just begun (23.8 ms).
# With 1,024 tokens behind each, reading keys and values (the *KV cache*) takes 62.9 ms more.
# Beside 6.2 GB of weights, 32 such caches (20.1 GB) do not fit on a T4: lesson 12. <!-- with lesson 12 -->
# Beside 6.2 GB of weights, 32 such caches (20.1 GB) do not fit on a T4. <!-- without lesson 12 -->
#
# Test it on three models at five sizes, on one thread.
# A GELU may go over its data several times: so the cell also records one size of each model, takes the factor between measured and predicted for each kind of operation, and carries it to the other four sizes.

# %% nbgrader={"grade": false, "grade_id": "demo_predicted", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws predicted against measured times of three models, five sizes each; predicts GPT-2 XL here.
from demos import diagonal, models_at_sizes, own_machine, prediction_lines, recorded_rows

with no_grad(), on_threads(1):
    mine, points = own_machine(measure_peak_flops, measure_bandwidth, measure_latency), []
    for name, model, make, shapes in models_at_sizes():
        factors = op_factors(recorded_rows(OpRecorder, model, shapes[2]), *mine)
        for shape in shapes:
            rows, x = rows_on_meta(make, shape), example_input(model, shape)
            both = predict_ms(rows, *mine), predict_corrected_ms(rows, *mine, factors)
            points.append((name, *both, measure_latency(model, x, warmup=1, iterations=5)))
xl = rows_on_meta(lambda: models.gpt2("xl"), (1, 128))
noise.show_load()
print(prediction_lines(points, predict_ms(xl, *mine), predict_corrected_ms(xl, *mine, factors)))
diagonal(points)

# %% [markdown]
# An open mark below the diagonal had its data in a cache.
# One recorded pass brings the prediction nearer, but a factor measured at one size drifts with the size: record one close to the size that you ask about.
# In the opening picture, median errors after one recorded pass are LeNet-5 16%, ResNet-18 20%, GPT-2 small 29%; at worst -53% and +38%.
# Your profiler (`proflab assemble release -o my_profiler_alone.py --standalone`) does the same: `python my_profiler_alone.py gpt2-small --at 256 512 1024`.
#
# **Take a break here.**
#
# **Part two: locality**, for which lesson 06's idea of a cache is enough
#
# ## 6 · The same product, six ways
#
# Three nested loops multiply two n × n matrices: for each i, j and k, add A[i, k] · B[k, j] to C[i, j].
# All six orders of the loops do the same FLOPs on the same numbers, yet some take many times as long.
# They differ in the *order of the addresses*.
#
# Memory is one long row of numbers; matrices are stored row by row (*row-major*).
# Here A begins at address 0, B at n², C at 2 n², so A[i, k] is at i·n + k.
# The processor fetches *cache lines* of 64 bytes: a walk along a row uses all of a line, one down a column one number of each.
#
# ![The walks of the innermost loop. Loop j: A stands still, B and C along a row. Loop k: A along a row, B down a column, C stands still. Loop i: A and C down a column, B stands still.](walks.png)
#
# *Tiles* change the order, too: cut all three loops into blocks of t, and finish one block of t × t × t before the next begins.
# `matmul_addresses` lists the addresses of such a product, with tiles or without.
#
# **Predict.** Matrices of 32 × 32, a cache of 32 lines of 8 numbers. <!-- with section 6 -->
# **Predict.** Three nested loops multiply two matrices of 32 × 32: for each i, j and k, they add A[i, k] · B[k, j] to C[i, j]. <!-- without section 6 -->
# The loops can be nested in six orders, with the same FLOPs. <!-- without section 6 -->
# Matrices are stored row by row, and memory is fetched in *cache lines* of 8 neighbouring numbers; the cache holds 32 of them. <!-- without section 6 -->
# How many times as many lines does the worst of the six orders fetch as the best?

# %% tags=["guess"]
guess_worst_order = None  # your guess: misses of the worst order / misses of the best


# %% nbgrader={"grade": false, "grade_id": "matmul_addresses", "locked": false, "schema_version": 3, "solution": true, "task": false}
def matmul_addresses(n, order, tile=None):
    """Return the addresses that C += A · B touches, for three n × n matrices, in order.

    A is stored at 0, B at n², C at 2 n², all row-major; an address counts numbers.
    order: the loops from the outermost to the innermost, a permutation of "ijk". For each
        multiply-add come the addresses of A[i, k], B[k, j] and C[i, j], in this order.
    tile: the side of blocks, an int; None: no blocks. The blocks of i are the outermost loop, then
        those of j, then those of k; inside each block the loops run in `order`. Where tile does not
        divide n, a loop's last block is shorter.
    Returns a list of 3 n³ ints. Raises ValueError for n or tile below 1, and another order.

    >>> matmul_addresses(2, "ikj")[:6]
    [0, 4, 8, 0, 5, 9]
    """
    ### BEGIN SOLUTION
    tile = n if tile is None else tile
    if min(n, tile) < 1 or sorted(order) != ["i", "j", "k"]:
        raise ValueError(f"no product of {n} × {n} in the order {order!r} and tiles of {tile}")
    addresses = []
    for starts in itertools.product(range(0, n, tile), repeat=3):
        ranges = {
            name: range(start, min(start + tile, n))
            for name, start in zip("ijk", starts, strict=True)
        }
        for values in itertools.product(*(ranges[name] for name in order)):
            at = dict(zip(order, values, strict=True))
            i, j, k = at["i"], at["j"], at["k"]
            addresses += [i * n + k, n * n + k * n + j, 2 * n * n + i * n + j]
    return addresses
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_matmul_addresses", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
expect(
    "2 × 2, ijk",
    matmul_addresses(2, "ijk"),
    [0, 4, 8, 1, 6, 8, 0, 5, 9, 1, 7, 9, 2, 4, 10, 3, 6, 10, 2, 5, 11, 3, 7, 11],
)
expect(
    "2 × 2, ijk: those of B",
    matmul_addresses(2, "ijk")[1::3],
    [4, 6, 5, 7, 4, 6, 5, 7],
    mistakes={"B is walked as if it were transposed": [4, 5, 6, 7, 4, 5, 6, 7]},
)
expect(
    "2 × 2, kij",
    matmul_addresses(2, "kij"),
    [0, 4, 8, 0, 5, 9, 2, 4, 10, 2, 5, 11, 1, 6, 8, 1, 7, 9, 3, 6, 10, 3, 7, 11],
)
expect(
    "3 × 3, jki: down the columns",
    matmul_addresses(3, "jki")[:12],
    [0, 9, 18, 3, 9, 21, 6, 9, 24, 1, 12, 18],
)
expect("20 × 20: the last one", matmul_addresses(n=20, order="jik")[-3:], [399, 799, 1199])
expect_table(
    matmul_addresses,
    ("two numbers and their product", (1, "kji"), [0, 1, 2]),
    ("no matrix; no order of i, j and k", [(0, "ijk"), (2, "iij"), (2, "ijx")], ValueError),
)
### BEGIN HIDDEN TESTS
expect(
    "the order ikj, 3 × 3",
    matmul_addresses(3, "ikj")[:15],
    [0, 9, 18, 0, 10, 19, 0, 11, 20, 1, 12, 18, 1, 13, 19],
)
expect(
    "the order jik, 3 × 3",
    matmul_addresses(3, "jik")[6:18],
    [2, 15, 18, 3, 9, 21, 4, 12, 21, 5, 15, 21],
)
# vary: 4 in 2..9
expect("the order kji, at its end", matmul_addresses(4, "kji")[-6:], [11, 31, 43, 15, 31, 47])
# vary: 7 in 2..14
expect("three addresses for each multiply-add", len(matmul_addresses(7, "jki")), 3 * 7**3)
# vary: 5 in 4..10
expect("each number of A is used n times", matmul_addresses(5, "kij").count(13), 5)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_matmul_addresses_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
tiled = matmul_addresses(4, "ikj", tile=2)
expect(
    "the first block of 2 × 2 × 2, ikj",
    tiled[:24],
    [0, 16, 32, 0, 17, 33, 1, 20, 32, 1, 21, 33, 4, 16, 36, 4, 17, 37, 5, 20, 36, 5, 21, 37],
)
expect(
    "the blocks of k come before those of j",
    tiled[24:30],
    [2, 24, 32, 2, 25, 33],
    mistakes={"the blocks follow the order of the loops": [0, 18, 34, 0, 19, 35]},
)
expect("the blocks of j come before those of i", tiled[48:54], [0, 18, 34, 0, 19, 35])
short = matmul_addresses(3, "ijk", 2)
expect("a shorter last block", short[24:36], [2, 15, 18, 2, 16, 19, 5, 15, 21, 5, 16, 22])
three = matmul_addresses(5, "ijk", 3)
expect("two blocks of 3 and 2", three[81:87], [3, 40, 50, 4, 45, 50])
whole = matmul_addresses(2, "jki", 5)
expect("one tile for all of it", whole[:12], [0, 4, 8, 2, 4, 10, 1, 6, 8, 3, 6, 10])
expect_table(matmul_addresses, ("tiles of nothing", [(4, "ijk", 0), (4, "ijk", -2)], ValueError))
### BEGIN HIDDEN TESTS
blocks = matmul_addresses(4, "jki", tile=2)
expect(
    "inside a block the loops run in the given order",
    blocks[:12],
    [0, 16, 32, 4, 16, 36, 1, 20, 32, 5, 20, 36],
)
expect("the last block is that of the last rows and columns", blocks[-6:], [11, 31, 43, 15, 31, 47])
expect(
    "tiles of 1 run in the order ijk, whatever the order",
    matmul_addresses(3, "kji", 1)[:12],
    [0, 9, 18, 1, 12, 18, 2, 15, 18, 0, 10, 19],
)
uneven = matmul_addresses(5, "kij", tile=3)
expect(
    "short blocks in all three loops",
    [uneven[81:87], uneven[-3:]],
    [[3, 40, 50, 3, 41, 51], [24, 49, 74]],
)
expect("no multiply-add is lost where tiles do not divide n", len(uneven), 375)
expect(
    "tiles or not: the same numbers, as often",
    sorted(uneven) == sorted(matmul_addresses(5, "kji")),
    True,
)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · A cache of your own
#
# A cache holds a few lines.
# If a number's line is there, that is a *hit*; otherwise a *miss*: the line is fetched, and if the cache is full, another one has to go.
# The usual rule is *LRU*: the least recently used line goes.
# A hit makes its line the most recent one again.
#
# With 2 lines of 4 numbers, the addresses 0, 1, 2, 8, 9, 0 are in the lines 0, 0, 0, 2, 2, 0: a miss, two hits, a miss, and two hits, since line 0 is still there.
#
# A trap: walk again and again through slightly more than fits, and *everything* is a miss, for LRU throws out each line just before it is needed.
#
# <details><summary>Hint 1: what does the cache have to remember?</summary>
#
# Which lines are there, and in which order they were last used.
# Play 0, 8, 0, 16, 0, 8 with two lines of 8 on paper: after the fourth address, which two lines are there, and which one is older?
#
# </details>
#
# <details><summary>Hint 2: a structure that fits</summary>
#
# Python's dict keeps its keys in the order in which they were inserted.
# A key that is deleted and inserted again moves to the end, and `next(iter(d))` is the oldest.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "cache_misses", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cache_misses(addresses, line, lines):
    """Return how many lines are fetched when these addresses are asked for, one by one.

    addresses: a list of ints, at least 0, which count numbers; an empty one has no misses.
    line: how many numbers a line holds: line 0 the first `line` numbers, line 1 those behind them.
    lines: how many lines the cache holds. It is empty at first and may hold any lines (it is
        *fully associative*); when it is full, the least recently used line goes.
    Returns an int. Raises ValueError for line or lines below 1.

    >>> cache_misses([0, 3, 4, 0], line=4, lines=2)
    2
    """
    ### BEGIN SOLUTION
    if min(line, lines) < 1:
        raise ValueError(f"a cache of {lines} lines of {line} holds nothing")
    held, misses = {}, 0
    for address in addresses:
        wanted = address // line
        if wanted in held:
            del held[wanted]
        else:
            misses += 1
            if len(held) == lines:
                del held[next(iter(held))]
        held[wanted] = True  # the most recent one is the last
    return misses
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_cache_misses", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
rows = [32 * i + j for i in range(32) for j in range(32)]
expect_table(
    cache_misses,
    ("the example", ([0, 1, 2, 8, 9, 0], 4, 2), 2, {"each number is a line": 6}),
    ("lines begin at multiples of their length", ([3, 4, 5, 7, 8], 4, 4), 3),
    ("lines of one number", ([7, 8, 7, 9, 8, 7], 1, 2), 5),
    ("a cache of one number", ([3, 3, 4, 3], 1, 1), 3),
    ("32 × 32 along the rows", (rows, 8, 32), 128),
    ("no addresses", ([], 8, 8), 0),
)
found = cache_misses(addresses=[0, 9, 1], line=8, lines=3)
expect("the arguments by their names", found, 2)
expect("the addresses stay as they are", rows == list(range(1024)), True)
### BEGIN HIDDEN TESTS
# vary: 8 in 7..8, 4 in 2..9
expect("a cache of one line", cache_misses([9, 8, 1, 9, 1, 0, 8], 4, 1), 5)
expect("large addresses", cache_misses([10**12, 10**12 + 7, 10**12 + 8, 10**12], 8, 2), 2)
# vary: 50 in 33..75, 16 in 10..24
expect("lines of three numbers", cache_misses([*range(50), 0, 49], 3, 16), 18)
expect("a line that holds all of it", cache_misses(list(range(99)), 99, 1), 1)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_cache_misses_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
twice = list(range(64)) * 2
expect_table(
    cache_misses,
    (
        "a hit makes its line recent",
        ([0, 8, 0, 16, 0, 8], 8, 2),
        4,
        {"the line that came first goes first (FIFO)": 5},
    ),
    ("64 numbers twice, and they fit", (twice, 8, 8), 8),
    (
        "a line too few: LRU's cliff",
        (twice, 8, 7),
        16,
        {"a line more than there are": 8, "the newest line goes, not the oldest": 9},
    ),
    ("used often, and long ago", ([0, 0, 0, 8, 16, 0], 8, 2), 4, {"the rarest line goes": 3}),
)
### BEGIN HIDDEN TESTS
# vary: 8 in 6..11, 16 in 13..19, 24 in 21..29, 3 in 2..9
expect("a line that was used goes last", cache_misses([0, 8, 16, 0, 24, 8, 0], 8, 3), 5)
# vary: 4 in 2..9, 3 in 2..9
expect("used twice, then let go", cache_misses([5, 5, 9, 13, 5, 17, 9], 4, 3), 5)
# vary: 47 in 31..70
back = [*range(48), *range(47, -1, -1)]
expect("there and back again: what is near is still there", cache_misses(back, 4, 5), 19)
# vary: 4 in 2..9
expect("the same addresses with more room", cache_misses(back, 4, 12), 12)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_cache_misses_3", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
columns = [32 * i + j for j in range(32) for i in range(32)]
eight = [(i, j, k) for i in range(8) for j in range(8) for k in range(8)]
ijk = [a for i, j, k in eight for a in (8 * i + k, 64 + 8 * k + j, 128 + 8 * i + j)]
ikj = [a for i, k, j in eight for a in (8 * i + k, 64 + 8 * k + j, 128 + 8 * i + j)]
jki = [a for j, k, i in eight for a in (8 * i + k, 64 + 8 * k + j, 128 + 8 * i + j)]
expect_table(
    cache_misses,
    ("down the columns, 32 lines", (columns, 8, 32), 128),
    ("down the columns, 31 lines", (columns, 8, 31), 1024),
    ("a product of 8 × 8 in the order ijk", (ijk, 4, 8), 552),
    ("in the order ikj", (ikj, 4, 8), 160),
    ("in the order jki", (jki, 4, 8), 1088),
    ("ikj, and all of it fits", (ikj, 4, 48), 48),
)
### BEGIN HIDDEN TESTS
space = [(i, j, k) for i in range(32) for j in range(32) for k in range(32)]
trace = [a for i, j, k in space for a in (32 * i + k, 1024 + 32 * k + j, 2048 + 32 * i + j)]
# vary: 8 in 2..16, 32 in 21..48
expect("a product in the order ijk", cache_misses(trace, 8, 32), 33_024)
trace = [a for i, k, j in space for a in (32 * i + k, 1024 + 32 * k + j, 2048 + 32 * i + j)]
# vary: 8 in 2..16
expect("a product in the order ikj", cache_misses(trace, 8, 32), 4_352)
# vary: 8 in 7..16
expect("all of it fits: each line is fetched once", cache_misses(trace, 8, 500), 384)
trace = [a for j, k, i in space for a in (32 * i + k, 1024 + 32 * k + j, 2048 + 32 * i + j)]
# vary: 8 in 2..16
expect("a product in the order jki", cache_misses(trace, 8, 32), 66_560)
trace = [a for k in range(64) for a in (k, 1024 + 32 * (k % 32), 2048)]
# vary: 8 in 2..16, 40 in 36..60
expect("a row, a column, and one number", cache_misses(trace, 8, 40), 41)
# vary: 8 in 2..16
expect("with too few lines for the column", cache_misses(trace, 8, 20), 73)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_cache_misses_4", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    cache_misses,
    (
        "no lines; a cache that holds nothing, and no addresses",
        [([0], 4, 0), ([], 0, 4)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    cache_misses,
    ("one address, one miss", ([77], 3, 5), 1),
    ("seven lines of three", (list(range(21)), 3, 2), 7),
    ("all in one line, but for one", ([4, 5, 6, 7, 8], 4, 3), 2),
    ("nothing is asked for", ([], 1, 1), 0),
)
### END HIDDEN TESTS

# %% [markdown]
# Do your misses predict seconds?
# The cell compares them with the seconds of a C program (MIT's course 6.172, [lecture 1](https://ocw.mit.edu/courses/6-172-performance-engineering-of-software-systems-fall-2018/resources/mit6_172f18_lec1/), slide "Performance of Different Orders"), and with seconds here, where numpy runs the innermost loop.

# %% nbgrader={"grade": false, "grade_id": "demo_orders", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the misses of six orders beside seconds in C and seconds here.
from demos import IN_C, order_lines, orders, timed_order

n = demo_size(2048, 100)
misses = {order: cache_misses(matmul_addresses(32, order), 8, 32) for order in IN_C}
here = {order: timed_order(order, n, steps=2) for order in IN_C}
print(order_lines(misses, here, n, steps=2))
noise.show_load()
ratio = round(misses["jki"] / misses["ikj"], 1)
guesses.compare("worst order / best order", guess_worst_order, ratio)
orders(misses, IN_C, here, n, steps=2)

# %% [markdown]
# The innermost loop decides: along rows (j), half and half (k), down columns (i).
# The steps differ in size: a processor has several caches, guesses regular walks, and fetches ahead.
#
# **What does a miss cost?** In a *pointer chase* each number read is the address of the next, so nothing can be fetched ahead: a step takes the *latency* of the memory.
# Independent reads overlap.
#
# **Predict.** How many nanoseconds longer does a step take that goes to main memory than one in the nearest cache?

# %% tags=["guess"]
guess_miss_ns = None  # your guess: ns

# %% nbgrader={"grade": false, "grade_id": "demo_chase", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws ns a read by the size of the array: one read after another, and independent ones.
from demos import chase

nearest, farthest, apart, lines = chase(demo_size(28, 18), demo_size(2**18, 2**14))
latency, bandwidth = farthest - nearest, measure_bandwidth(demo_size(2**28, 2**24), repeats=5)
noise.tell("a step of the chase in the nearest cache", nearest, "ns")
noise.tell("a step beyond all caches", farthest, "ns")
noise.show_load()
print(f"independent reads beyond all: {apart:.1f} ns each, so {latency / apart:.0f} at a time")
flying, little = latency * 1e-9 * bandwidth, f"{latency:.0f} ns × {bandwidth / 1e9:.1f} GB/s"
print(f"{little} = {flying:,.0f} bytes, {flying / 64:.0f} lines, in flight")
guesses.compare("what main memory adds to a step", guess_miss_ns, latency, "ns")
plot.curves(lines, x="KB", y="ns a read", log="xy", title="Reads at random places, by working set")

# %% [markdown]
# The interpreter takes the first tens of nanoseconds of a step.
# The rest is the wait for memory and, at random places, for the look-up of each page's address (the *TLB*, a table of recent ones, is small).
# *Little's law* connects latency with lesson 06's bandwidth: under way = latency × throughput, as in any queue.
# A memory of 100 ns that is to deliver 20 GB/s must have 2,000 bytes, 31 lines, in flight; one line at a time gives 0.6 GB/s.
# Where the cell finds more: no core has so many misses of its own under way, but a stream is *prefetched*.
#
# ## 8 · The least that must move
#
# The best order fetches 4,352 lines, and 384 would do if all fitted.
# [Hong and Kung](https://doi.org/10.1145/800076.802486) showed in 1981 that there is a floor for every order of the multiply-adds.
# Its sharpest form ([2019](https://arxiv.org/abs/1702.02017)) is, for a cache of M numbers,
#
#     numbers moved  ≥  2 n³ / √M − 2 M
#
# For n = 100 and M = 400 that is 2 · 10⁶ / 20 − 800 = 99,200 numbers: `traffic_bound(100, 400)`.
# Moving each matrix once gives another bound, 3 n²; the larger one holds.


# %% nbgrader={"grade": false, "grade_id": "traffic_bound", "locked": false, "schema_version": 3, "solution": true, "task": false}
def traffic_bound(n, capacity):
    """Return a lower bound on the numbers that an n × n product moves between memory and cache.

    n: int, at least 1. capacity: how many numbers (not bytes, not lines) the cache holds, an int,
        at least 1.
    It holds for every order of the multiply-adds: 2 n³ / √capacity - 2 capacity, a float, or 0.0
    where that is negative and says nothing.
    Raises ValueError for an argument below 1.

    >>> traffic_bound(100, 100)
    199800.0
    """
    ### BEGIN SOLUTION
    if min(n, capacity) < 1:
        raise ValueError(f"n and capacity must be at least 1, not {n} and {capacity}")
    return max(0.0, 2 * n**3 / math.sqrt(capacity) - 2 * capacity)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_traffic_bound", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    traffic_bound,
    (
        "32 × 32, a cache of 256 numbers",
        (32, 256),
        3584.0,
        {"what is in the cache is not taken off": 4096.0, "in lines": 448.0},
    ),
    ("100 × 100, 400 numbers", (100, 400), 99_200.0),
    (
        "a large cache",
        (10, 1000),
        0.0,
        {"a negative bound": 2000 / math.sqrt(1000) - 2000, "each number once": 300.0},
    ),
    ("no rounding: 5 × 5, 7 numbers", (5, 7), 250 / math.sqrt(7) - 14),
    ("4,096 × 4,096", (4096, 2**15), 2**37 / math.sqrt(2**15) - 2**16),
    ("the least that there is", (1, 1), 0.0),
    ("nothing below 1", (32, -1), ValueError),
)
expect("the arguments by their names", traffic_bound(n=32, capacity=64), 8064.0)
### BEGIN HIDDEN TESTS
# vary: 7 in 2..14
expect("a cache of one number", traffic_bound(7, 1), 684.0)
expect(
    "four times the cache, half the traffic, less what it holds", traffic_bound(64, 1024), 14_336.0
)
# vary: 11 in 7..16, 50 in 33..75
expect("the bound is not rounded", traffic_bound(11, 50), 2662 / math.sqrt(50) - 100)
expect(
    "where the bound reaches 0",
    [traffic_bound(1, 1), traffic_bound(4, 16), traffic_bound(3, 10**6)],
    [0.0, 0.0, 0.0],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tiles_lines", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the lines that a product fetches in tiles, beside the bound.
found = {"ikj": cache_misses(matmul_addresses(32, "ikj"), 8, 32)}
for tile in (4, 8, 16):
    found[f"tiles of {tile}"] = cache_misses(matmul_addresses(32, "ikj", tile), 8, 32)
bound, least = traffic_bound(32, 256) / 8, min(found.values())
print(f"no order moves fewer than {bound:.0f} lines; the best tile, {least / bound:.2f} times that")
found |= {"bound for any order": bound, "each line once": 3 * 32 * 32 / 8}
title = "32 × 32, a cache of 32 lines of 8"
plot.bars(found, unit="lines fetched", title=title, show="{:,.0f}".format)

# %% [markdown]
# Three tiles of 8 × 8 fill 192 of the 256 numbers; three of 16 × 16 do not fit.
# But a tile need not be a cube, and any order of the multiply-adds is allowed.
# Find an order that fetches fewer lines; it is scored as in lesson 06, section 7.
#
# <details><summary>Hint 1: what is fetched most?</summary>
#
# Count A, B and C apart: tiles of 8 fetch each line of A and of B four times, of C once.
#
# </details>
#
# <details><summary>Hint 2: what can stay?</summary>
#
# A block of C, while k runs from 0 to n.
# A high block spares lines of B, a wide one lines of A.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "scaling_orders", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson import expect_cheaper


def slow_order(n, lines, line):
    """Return every (i, j, k) below n once, (n³, 3), in the order ijk."""
    return np.indices((n, n, n)).reshape(3, -1).T


# %% nbgrader={"grade": false, "grade_id": "order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def order(n, lines, line):
    """Return every (i, j, k) below n once, (n³, 3), in an order that fetches few lines.

    In this order multiply-adds C[i, j] += A[i, k] · B[k, j] run, stored and touched as in
    matmul_addresses. The cache holds `lines` lines of `line` numbers, as in cache_misses.
    n is a multiple of line, which is at least 2; lines is at least 3.
    Returns an array or a list of whole numbers, within a second.

    >>> len(order(4, 8, 2))
    64
    """
    ### BEGIN SOLUTION
    # A block of C stays while k runs, beside a column of A and two rows of B as high and wide.
    fit = [
        (rows, columns)
        for rows, columns in itertools.product(range(1, n + 1), range(line, n + 1, line))
        if rows + (rows + 2) * columns // line <= lines
    ]
    rows, columns = min(
        fit or [(1, line)],
        key=lambda block: math.ceil(n / block[0]) + math.ceil(n / block[1]),
    )
    return [
        (i, j, k)
        for top, left in itertools.product(range(0, n, rows), range(0, n, columns))
        for k in range(n)
        for i in range(top, min(top + rows, n))
        for j in range(left, min(left + columns, n))
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_order", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_cheaper(
    "32 × 32, a cache of 32 lines of 8",
    order(32, 32, 8),
    rule="cache",
    n=32,
    lines=32,
    line=8,
    given=33_024,
    full=914,
    best=819,
)
### BEGIN HIDDEN TESTS
# about: a smaller cache has room for another block
expect_cheaper(
    "fewer lines",
    order(32, 24, 8),
    rule="cache",
    n=32,
    lines=24,
    line=8,
    given=36_992,
    full=1044,
)
# about: what fits follows from the number of lines and their length
expect_cheaper(
    "a smaller product, a smaller cache",
    order(20, 24, 4),
    rule="cache",
    n=20,
    lines=24,
    line=4,
    given=8200,
    full=816,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_order_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_cheaper(
    "30 × 30, a cache of 36 lines of 3",
    order(30, 36, 3),
    rule="cache",
    n=30,
    lines=36,
    line=3,
    given=36_300,
    full=2754,
)
### BEGIN HIDDEN TESTS
expect_cheaper(
    "more lines, and shorter ones",
    order(32, 64, 4),
    rule="cache",
    n=32,
    lines=64,
    line=4,
    given=8704,
    full=1567,
)
expect_cheaper(
    "sizes that are no powers of two",
    order(30, 44, 5),
    rule="cache",
    n=30,
    lines=44,
    line=5,
    given=5760,
    full=1285,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_order", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws where your order stands between the one that is given and the bound.
from proflab.lesson import race

cache = {"n": 32, "lines": 32, "line": 8}
bound = traffic_bound(32, 256) / 8
race.plan_picture(order(**cache), "cache", full=914, best=819, floor=bound, **cache)

# %% [markdown]
# **Optional: why sizes of 2ᵏ are slow.** A real cache is *set-associative*: a line may stand only in one *set* of a few *ways*, its number modulo the number of sets.
# A column of a matrix with rows of 64 numbers jumps 8 lines at each step: with 8 sets, all its lines want the same one.


# %% nbgrader={"grade": false, "grade_id": "set_misses", "locked": false, "schema_version": 3, "solution": true, "task": false}
def set_misses(addresses, line, sets, ways):
    """Return how many lines a set-associative cache fetches; optional, no points.

    addresses, line: as for cache_misses. A line may stand only in the set of its own number modulo
    `sets`. Each set holds `ways` lines; when it is full, its least recently used one goes.
    Returns an int. Raises ValueError for line, sets or ways below 1.

    >>> set_misses([0, 16, 0], line=8, sets=2, ways=1)
    3
    """
    ### BEGIN SOLUTION
    if min(line, sets, ways) < 1:
        raise ValueError(f"a cache of {sets} sets of {ways} lines of {line} holds nothing")
    groups = [[] for _ in range(sets)]
    for address in addresses:
        groups[address // line % sets].append(address)
    return sum(cache_misses(group, line, ways) for group in groups)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_set_misses", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
column = [64 * i for i in range(64)] * 2
expect_table(
    set_misses,
    ("a column twice, rows of 64", (column, 8, 8, 8), 128),
    ("one set is fully associative", (column, 8, 1, 64), 64),
    ("rows of 72", ([72 * i for i in range(64)] * 2, 8, 8, 8), 64),
    ("each set has its own oldest line", ([0, 8, 16, 24, 24, 0, 32, 16, 0, 8], 8, 2, 2), 7),
    ("one way", ([0, 16, 0, 8, 0], 8, 2, 1), 4),
    ("no sets, no ways", ([0], 8, 8, 0), ValueError),
)
expect("the addresses stay as they are", column == [64 * i for i in range(64)] * 2, True)
### BEGIN HIDDEN TESTS
expect("sets that are no power of two", set_misses([3 * i for i in range(40)] * 2, 4, 3, 5), 60)
# vary: 8 in 2..16
expect(
    "rows of 65 are spread over the sets", set_misses([65 * i for i in range(64)] * 2, 8, 8, 8), 64
)
# vary: 5 in 4..5, 13 in 11..16, 8 in 2..16
found = set_misses(addresses=[5, 6, 5, 13, 5], line=1, sets=8, ways=1)
expect("one way of one number", found, 4)
expect("no addresses, no misses", set_misses([], 8, 8, 8), 0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_sets", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints times and misses down the columns at a power of two and beside it.
from demos import seconds_of_order

for n in demo_size((2000, 2048, 2100), (60, 64, 70)):
    took = seconds_of_order("jki", n, steps=2) / n**3 * 1e9
    walk = [n * i for i in range(256)] * 2
    lost = set_misses(walk, 8, 64, 12) / len(walk)
    print(
        f"n = {n:,}: {took:.1f} ns a multiply-add down the columns; "
        f"of two walks down 256 rows, a cache of 64 × 12 lines misses {lost:.0%}"
    )
noise.show_load()

# %% [markdown]
# ## 9 · A ladder of causes
#
# "100 times faster" is a product of steps.
# If a program takes 12 s, then 6 s, then 2 s, its steps are 2 and 3, and the whole is 6.
# Seconds mislead: the first step saved 6 of 10 s only because it came first.
# Speed-ups multiply, so their *logarithms* add: ln 2 / ln 6 = 39 % of the way, and ln 3 / ln 6 = 61 %.


# %% nbgrader={"grade": false, "grade_id": "speedup_steps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def speedup_steps(seconds):
    """Return the steps of a series of improvements, from the first program to the last.

    seconds: a dict from a program's name to its time, above 0, in the order in which the programs
        were made; at least two.
    Returns a list of dicts, one for each program but the first:
        name: of the program. step: how many times as fast as the one before it.
        total: how many times as fast as the first one.
        share: its part of the way in logarithms, ln(step) / ln(the last total). Shares sum to 1,
            and a step that made it slower has a negative one.
    Raises ValueError for fewer than two programs, and where the last takes as long as the first, so
    that there is no way to share.

    >>> speedup_steps({"loops": 12.0, "tiles": 3.0})[0]["step"]
    4.0
    """
    ### BEGIN SOLUTION
    names, times = list(seconds), list(seconds.values())
    if len(times) < 2 or min(times) <= 0 or times[0] == times[-1]:
        raise ValueError(f"{seconds} are no steps: give two times or more, the last another one")
    way = math.log(times[0] / times[-1])
    return [
        {
            "name": name,
            "step": before / after,
            "total": times[0] / after,
            "share": math.log(before / after) / way,
        }
        for name, before, after in zip(names[1:], times, times[1:], strict=False)
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_speedup_steps", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
ladder = {"loops": 12.0, "tiles": 6.0, "threads": 2.0}
rows = speedup_steps(ladder)
expect("the programs but the first", [row["name"] for row in rows], ["tiles", "threads"])
expect(
    "each over the one before",
    [row["step"] for row in rows],
    [2.0, 3.0],
    mistakes={"upside down": [0.5, 1 / 3], "over the first": [2.0, 6.0]},
)
expect("each over the first", [row["total"] for row in rows], [2.0, 6.0])
expect("a step of 0.1 %", speedup_steps({"a": 1000, "b": 999, "c": 10})[0]["step"], 1000 / 999)
forty = speedup_steps({f"version {n}": 2.0**-n for n in range(41)})
expect("forty steps", [row["step"] for row in forty], [2.0] * 40)
expect("their last total", forty[-1]["total"], 2.0**40)
slower = speedup_steps({"x": 1, "y": 4})
expect("slower in the end", slower, [{"name": "y", "step": 0.25, "total": 0.25, "share": 1.0}])
expect("the times stay as they are", ladder, {"loops": 12.0, "tiles": 6.0, "threads": 2.0})
### BEGIN HIDDEN TESTS
# vary: 0.1 in 0.0667..0.15
ladder = speedup_steps({"slow": 1000.0, "z": 100.0, "b": 10.0, "m": 0.1})
expect(
    "programs keep the order in which they were made",
    [row["name"] for row in ladder],
    ["z", "b", "m"],
)
expect("each step over the program before it", [row["step"] for row in ladder], [10.0, 10.0, 100.0])
expect("totals multiply the steps", [row["total"] for row in ladder], [10.0, 100.0, 10_000.0])
# vary: 7 in 2..14, 3 in 2..9
expect("a step is not rounded", speedup_steps({"a": 7, "b": 3, "c": 1})[0]["step"], 7 / 3)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_speedup_steps_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda seconds: [row["share"] for row in speedup_steps(seconds)],
    (
        "shares of the way",
        ({"loops": 12.0, "tiles": 6.0, "threads": 2.0},),
        [math.log(2) / math.log(6), math.log(3) / math.log(6)],
        {"shares of the seconds": [0.6, 0.4], "shares of the sum of the steps": [0.4, 0.6]},
    ),
    (
        "a step back, none, one ahead",
        ({"a": 8.0, "b": 16.0, "c": 16.0, "d": 2.0},),
        [-0.5, 0.0, 1.5],
    ),
    (
        "a step of 0.1 %",
        ({"a": 1000, "b": 999, "c": 10},),
        [2.1725588700886e-4, math.log(99.9) / math.log(100)],
    ),
    ("forty steps", ({f"version {n}": 2.0**-n for n in range(41)},), [0.025] * 40),
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda seconds: [row["share"] for row in speedup_steps(seconds)],
    # vary: 0.1 in 0.0667..0.15
    (
        "shares are of the logarithm of the whole",
        ({"slow": 1000.0, "z": 100.0, "b": 10.0, "m": 0.1},),
        [0.25, 0.25, 0.5],
    ),
    ("one step is the whole way", ({"a": 3.0, "b": 7.0},), [1.0]),
    ("half the way each", ({"a": 9, "b": 3, "c": 1},), [0.5, 0.5]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_speedup_steps_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    speedup_steps,
    (
        "a time of 0 in the middle; back where it began",
        [({"a": 2.0, "b": 0.0, "c": 1.0},), ({"a": 3.0, "b": 1.0, "c": 3.0},)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda seconds: [row["total"] for row in speedup_steps(seconds)],
    # vary: 0.0013 in 8.67e-4..0.00195, 9e-4 in 6e-4..0.00135
    ("two programs make one step", ({"p": 0.0013, "q": 0.0009},), [13 / 9]),
    ("slower, then faster, but slower in the end", ({"p": 1, "q": 5, "r": 2},), [0.2, 0.5]),
)
### END HIDDEN TESTS

# %% [markdown]
# **Predict.** How many times as fast as three Python loops does numpy's library (BLAS) multiply two 256 × 256 matrices here, on all threads?
# MIT's ladder (lecture 1) comes first.

# %% tags=["guess"]
guess_blas_speedup = None  # your guess: times as fast

# %% nbgrader={"grade": false, "grade_id": "demo_mit", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws MIT's ladder: which share of the way from Python to tuned C each version is.
from demos import MIT_LADDER, ladder

rows = speedup_steps(MIT_LADDER)
whole = f"{rows[-1]['total']:,.0f} times as fast in all"
print(f"{whole} (the slide says 30,272; its seconds are rounded)")
ladder(rows, title="MIT 6.172: from Python to tuned C")

# %% nbgrader={"grade": false, "grade_id": "demo_ladder", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the same ladder on this machine, from three Python loops to BLAS on all threads.
from demos import ladder, timed_ladder

n = demo_size(256, 24)
seconds = timed_ladder(n, rounds=demo_size(3, 2))
rows = speedup_steps(seconds)
for row in rows:
    print(f"{row['name']:<25} {row['step']:>8.2f} times, in all {row['total']:>9,.1f} times")
loops, *_, blas = seconds.values()
whole = noise.tell("BLAS over three Python loops", loops / blas, "times")
noise.show_load()
guesses.compare("BLAS over three Python loops", guess_blas_speedup, whole, "times")
ladder(rows, title=f"Here, {n} × {n}")

# %% [markdown]
# Five causes (interpreter, order, tiles, SIMD, threads) stand behind such ladders, and each can be counted:
#
# | cause | what there is less of | count it by |
# |---|---|---|
# | interpreter | steps of Python: n³ lines, then n² calls, n calls, one call | calls |
# | order, tiles | lines fetched, for the same loops | `cache_misses`, `traffic_bound` |
# | SIMD | instructions: one adds 8 or 16 numbers at once | the width of a register |
# | threads | work for each core | cores |
#
# The order of two Python loops hardly matters, for the interpreter hides the cache; in C it was worth a factor of 6.5.
#
# ### In torch
#
# A feed-forward layer of GPT-3 on torch's meta tensors, for 2,048 tokens:
#
# ```python
# import torch
# from torch.utils.flop_counter import FlopCounterMode
#
# with torch.device("meta"):
#     layer, x = torch.nn.Linear(12_288, 49_152), torch.empty(2048, 12_288)
# with FlopCounterMode(display=False) as counter:
#     layer(x)
# print(f"{counter.get_total_flops():,} FLOPs")
# ```
#
# It hides bytes and overhead: [`FlopCounterMode`](https://docs.pytorch.org/docs/stable/generated/torch.utils.flop_counter.FlopCounterMode.html) counts products alone, which were 0.4 of the 22.6 ms above.
#
# ### What to do about it
#
# | symptom | wall | cure |
# |---|---|---|
# | time does not change with the size (exponent near 0) | overhead | larger batches up to a few n½; fewer, fused operations |
# | exponent near 1, far below the peak | memory | fewer bytes: smaller types, fusion, caching |
# | exponent rises with the length of the text | attention's n² | windows or sparse attention; split long texts |
# | slow along columns, or beyond a certain size | cache lines | exchange the loops, cut tiles |
# | slow at powers of two alone | sets of a cache | *padding*: rows a little longer |
#
# ## 10 · Another order, less to do
#
# Another order may need fewer additions and multiplications: with n × n matrices and one column x, (AB)x grows as n³, A(Bx) as n².
#
# Make two slow programs faster, as in lesson 06, section 7, on `DESK` (100 GFLOP/s, 10 GB/s, 5 µs an operation).
# Write beside each line the size of its result.
# `path` is a warm-up: only brackets change.

# %% nbgrader={"grade": false, "grade_id": "scaling_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import op_facts

import proflab
from proflab.lesson import expect_faster, race

race.count_with(op_facts)


def slow_path(a, b, c, d):
    """Return the sum of a[i, j, k] b[k, l] c[l, m] d[j, n] over j, k and l, for all i, m and n."""
    return (a @ b @ c).mT @ d


def slow_distances(x, y):
    """Return the squared distance of each row of x from each row of y."""
    gaps = x[:, None] - y
    return (gaps * gaps).sum(-1)


# %% nbgrader={"grade": false, "grade_id": "path", "locked": false, "schema_version": 3, "solution": true, "task": false}
def path(a, b, c, d):
    """Return what slow_path does, (i, m, n), at the least cost on DESK.

    a: (i, j, k). b: (k, l). c: (l, m). d: (j, n). m and n are small.

    >>> path(*[proflab.ones(*s) for s in ((1, 2, 2), (2, 2), (2, 1), (2, 1))])
    Tensor([[[8.]]])
    """
    ### BEGIN SOLUTION
    return (a @ (b @ c)).mT @ d
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_path", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "sizes of 96, and 8",
    race.traced(path, a=(96, 96, 96), b=(96, 96), c=(96, 8), d=(96, 8)),
    like=slow_path,
    machine="DESK",
    full=0.444,
)
### BEGIN HIDDEN TESTS
# about: the order of the products decides, whatever the sizes
expect_faster(
    "sizes of 64, and 8",
    race.traced(path, a=(64, 64, 64), b=(64, 64), c=(64, 8), d=(64, 8)),
    like=slow_path,
    machine="DESK",
    full=0.1532,
)
expect_faster(
    "all sizes differ but two",
    race.traced(path, a=(50, 70, 70), b=(70, 90), c=(90, 6), d=(70, 6)),
    like=slow_path,
    machine="DESK",
    full=0.1364,
)
# viva: path(*[proflab.ones(*s) for s in ((1, 2, 2), (2, 2), (2, 1), (2, 1))]).tolist()
# viva: path(*[proflab.full(s, 2.0) for s in ((1, 2, 3), (3, 2), (2, 1), (2, 2))]).tolist()
# viva: path(*[proflab.full(s, 3.0) for s in ((1, 1, 1), (1, 4), (4, 2), (1, 1))]).tolist()
# viva: path(*[proflab.full(s, 1.0) for s in ((2, 3, 1), (1, 5), (5, 1), (3, 1))]).tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_path_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
print(race.measure(slow_path, path, a=(96, 96, 96), b=(96, 96), c=(96, 8), d=(96, 8)))

# %% [markdown]
# <details><summary>Hint 1: where is a product of matrices in a distance?</summary>
#
# (p − q)² = p² − 2pq + q²
#
# </details>
#
# <details><summary>Hint 2: and beyond full marks?</summary>
#
# Passes over large results.
# A product sums over columns: append a column to each factor.
# Which pair adds |x|²?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "distances", "locked": false, "schema_version": 3, "solution": true, "task": false}
def distances(x, y):
    """Return what slow_distances does, (rows, others), at the least cost on DESK.

    x: (rows, width). y: (others, width). Errors up to 0.00002 of the largest distance are allowed:
    distances of close rows lose digits by cancellation.

    >>> distances(proflab.zeros(1, 2), proflab.ones(3, 2))
    Tensor([[2., 2., 2.]])
    """
    ### BEGIN SOLUTION
    xx, yy = (proflab.square(each).sum(1, keepdim=True) for each in (x, y))
    return xx + yy.mT - 2 * (x @ y.mT)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_distances", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "256 rows and 512 others",
    race.traced(distances, x=(256, 64), y=(512, 64)),
    like=slow_distances,
    machine="DESK",
    full=0.5936,
    best=0.2694,
    floor=0.1727,
)
### BEGIN HIDDEN TESTS
# about: nothing with a number for each pair of rows and each column is made
expect_faster(
    "many rows, few others",
    race.traced(distances, x=(700, 20), y=(130, 20)),
    like=slow_distances,
    machine="DESK",
    full=0.3285,
)
expect_faster(
    "few rows, many others",
    race.traced(distances, x=(150, 40), y=(600, 40)),
    like=slow_distances,
    machine="DESK",
    full=0.3719,
)
# viva: distances(proflab.zeros(1, 2), proflab.ones(3, 2)).tolist()
# viva: distances(proflab.Tensor([[1.0, 2.0]]), proflab.Tensor([[4.0, 6.0], [1.0, 3.0]])).tolist()
# viva: distances(proflab.Tensor([[1.0], [5.0]]), proflab.Tensor([[2.0], [7.0]])).tolist()
# viva: distances(proflab.full((1, 4), 3.0), proflab.ones(2, 4)).tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_distances", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line costs, of the given program and of yours.
print(race.table(slow_distances, distances, "DESK", x=(256, 64), y=(512, 64)))

# %% nbgrader={"grade": false, "grade_id": "demo_distances_measured", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times both programs on this machine, and prints the speed-up beside the counted one.
print(race.measure(slow_distances, distances, x=(256, 64), y=(512, 64)))

# %% [markdown]
# ## Reflect
#
# From which length on does attention deserve its reputation?
# A block does 24·s·d² FLOPs in its linear layers and 4·s²·d in the scores and the mix, masked pairs included.
# At which s is the second part a given share of both?


# %% nbgrader={"grade": false, "grade_id": "reflect_crossover_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_crossover_tokens(d_model, share=0.5):
    """Return the tokens at which scores and mix are this share of a Transformer block's FLOPs.

    All pairs of tokens count, also those that a causal mask hides.
    d_model: int, at least 1. share: of 24·s·d² + 4·s²·d, the part 4·s²·d; above 0 and below 1.
    Returns a float, not rounded. Raises ValueError for an argument out of range.

    >>> reflect_crossover_tokens(1024)
    6144.0
    """
    ### BEGIN SOLUTION
    if d_model < 1 or not 0 < share < 1:
        raise ValueError(f"no length of a text has the share {share} at a width of {d_model}")
    return 6 * d_model * share / (1 - share)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_crossover_tokens", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    reflect_crossover_tokens,
    (
        "GPT-2 small, half of the FLOPs",
        (768,),
        4608.0,
        {
            "the feed-forward part is forgotten": 1536.0,
            "multiply-adds beside FLOPs, or only the pairs that a causal mask keeps": 9216.0,
        },
    ),
    ("a tenth of them", (768, 0.1), 512.0, {"a tenth of the linear part": 460.8}),
    ("GPT-3, three tenths", (12_288, 0.3), 73_728 * 3 / 7),
    ("three quarters", (768, 0.75), 13_824.0),
    ("a thousandth", (1024, 0.001), 6144 / 999),
    ("no share of this kind; no width", [(768, 0), (768, -0.5), (768, 1), (0,)], ValueError),
)
found = reflect_crossover_tokens(d_model=1, share=0.9)
expect("a width of 1, the arguments by their names", found, 54.0)
### BEGIN HIDDEN TESTS
# vary: 1600 in 1_066..2_400
expect("a wider model has its half later", reflect_crossover_tokens(1600), 9600.0)
# vary: 1024 in 682..1_536
expect("a fifth of the FLOPs", reflect_crossover_tokens(1024, 0.2), 1536.0)
# vary: 100 in 66..150
expect("four fifths of the FLOPs", reflect_crossover_tokens(100, 0.8), 2400.0)
# vary: 7 in 2..14
expect("a length is not rounded", reflect_crossover_tokens(7, 1e-4), 42 / 9999)
expect_table(
    reflect_crossover_tokens,
    ("a width of 1, a third of the FLOPs", (1, 1 / 3), 3.0),
    # vary: 2 in 2..9, 0.99 in 0.95..0.995
    ("nearly all of it", (2, 0.99), 1188.0),
)
### END HIDDEN TESTS

# %% [markdown]
# The wider the model, the later attention matters; what grew is the length:

# %% nbgrader={"grade": false, "grade_id": "demo_long_texts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints the share of attention in a block of GPT-3's width at 128,000 tokens.
tokens, width = 128_000, 12_288  # GPT-3's width
for pairs, count in (("all pairs of tokens", 4), ("only the pairs that a causal mask keeps", 2)):
    attention, linear = count * tokens**2 * width, 24 * tokens * width**2
    print(f"{tokens:,} tokens, {pairs}: {attention / (attention + linear):.0%} of a block's FLOPs")

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). "PyTorch is 100 times faster than our loops," says a colleague, and wants to rewrite everything.
#
# 1. Which of the five causes is how much of the factor on your machine? Give your ladder with its shares.
# 2. Which causes can be counted by cache misses, and which cannot? Support one of each with a number from your own functions.
# 3. Your colleague's program works on matrices of 8 × 8. Which of your steps would remain, and how would you find out before rewriting it?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_scaling", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# The numbers are the student's own.
#
# - *1 point:* A ladder with seconds, size and threads (`demo_ladder`).
# - *1 point:* Shares in logarithms that sum to 1 (`speedup_steps`).
# - *1 point:* Each step has one of the five causes.
# - *1 point:* One step is said to hold two: interpreter and SIMD in a dot product.
# - *1 point:* Order or tiles, with a number of `cache_misses`.
# - *1 point:* A cause that misses cannot count, with a number: calls, the width of a register, or cores.
# - *1 point:* Why a measured step is smaller than its ratio of misses: prefetching, several caches, or the interpreter in front.
# - *1 point:* At 8 × 8, three matrices of 512 bytes in float64 fit into the nearest cache.
# - *1 point:* So a call costs more than the product: order, tiles and threads do not remain.
# - *1 point:* A test before rewriting: the ladder at n = 8, a fit with the power 0, or n½.
#
# **A good answer (10).** A table of six programs with seconds, shares and causes, and the ladder again at n = 8.
#
# **A poor answer (1: item 9).** “BLAS is written in assembler and uses caches well. With small matrices the call costs more than the product, so it will not help.”
# (No test.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can predict a model that fits no machine of yours, and count why the order of loops matters.
"GPT-3 on a T4 that could hold its 700 GB: at least {:.1f} s a token. ".format(
    predict_ms(rows_on_meta(lambda: models.GPT2(50_257, 2048, 12_288, 96, 96), (1, 1)), T4, 0.005)
    / 1000
) + "A product down the columns misses {:.1f} times as often as along the rows.".format(
    cache_misses(matmul_addresses(32, "jki"), 8, 32)
    / cache_misses(matmul_addresses(32, "ikj"), 8, 32)
)

# %% [markdown]
# ## Summary
#
# - A local exponent says by which power a cost grows. It changes with the size, because costs are sums. <!-- with local_exponents -->
# - Fit the powers that the program has, with relative errors, and test the fit on a size that it has not seen. <!-- with fit_cost -->
# - Shapes, two roofs and an overhead bound a model's time; a pass recorded at a similar size makes that a prediction. <!-- with predict_ms -->
# - The same FLOPs in another order fetch fifteen times as many lines, and another order of products needs fewer FLOPs. <!-- with path -->
# - The same FLOPs in another order fetch fifteen times as many lines. <!-- with cache_misses, without path -->
# - Speed-ups multiply: share them in logarithms. <!-- with section 9 -->
#
# **Next.** Lesson 08 asks which of two programs is faster, and how sure you may be. <!-- with lesson 08 -->
