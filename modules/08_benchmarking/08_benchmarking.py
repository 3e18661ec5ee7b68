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
# # 08 · Which one is better, and who says so?
#
# ![Four versions of one classifier: speed-up with interval, a gate's verdict, bytes and accuracy. int8 is slower; the pruned one, hollow, is beaten by the baseline.](suite.png) <!-- with pareto -->
#
# "2.8× faster." "Fits on one card." "The new version is slower."
# Each of these sentences compares two things and decides something: what is shipped, what is bought, whose change is taken back.
# Most rest on one run of each; a coin would have done as well.
# In this lesson you write the rules that decide, find out how often each rule is wrong, and then use them on a classifier in four versions and on two tables made up after published reports. <!-- with pareto, audit_speedups -->
# In this lesson you write rules that decide, and find out how often each rule is wrong. <!-- with gate, without pareto -->
# In the end your profiler can stop a slow change before it is merged. <!-- with gate -->
#
# **You will be able to**
#
# - compare two programs so that noise and drift rarely decide, and say how sure you are;
# - tell what users wait from what the program takes, and compute the energy of a run;
# - judge several versions by several goals, and audit a published table.
#
# **You need** lesson 03, and from lesson 01 the bytes of a model. <!-- with quantize -->
# **You need** lesson 03. <!-- without quantize -->
# In every exercise arguments stay as they are, and a tuple may stand for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import statistics

import demos  # what only this lesson draws: a file beside this notebook
import numpy as np
from built import confidence_interval, measurement_warnings

from proflab import no_grad
from proflab.lesson import doubles, expect, expect_table, guesses, noise, plot
from proflab.lesson.demo import demo_size

# %% [markdown]
# ## 1 · Take turns
#
# A machine changes while you measure: it warms up, its clock falls, a neighbour starts a job.
# Anyone who measures all calls of A and then all of B measures that change as well.
# Suppose that each call takes 1 ms longer than the one before.
# Two *equal* programs, ten calls each, then differ by 10 ms if they run as AAAA…BBBB.
# In turns, ABAB…, B always comes one call later, which is 1 ms.
# *Mirrored* order, AB BA AB BA, cancels a steady drift and a period of two calls; against a period of four (a timer, garbage collection) draw the order of each round at random.


# %% nbgrader={"grade": false, "grade_id": "run_order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def run_order(names, rounds):
    """Return the order in which to call programs, each once a round, as a list of names.

    names: a list of strings, no two alike; at least one. The list stays as it is.
    rounds: an even int, at least 2. Rounds 1, 3, 5 … go through the names forwards, rounds
    2, 4, 6 … backwards.
    Raises ValueError for no names, for a name that is there twice, and for rounds that are odd or
    below 2.

    >>> run_order(["old", "new"], 2)
    ['old', 'new', 'new', 'old']
    """
    ### BEGIN SOLUTION
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{names} is not a list of different names")
    if rounds < 2 or rounds % 2:
        raise ValueError(f"rounds must be even and at least 2, not {rounds}")
    return [*names, *reversed(names)] * (rounds // 2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_run_order", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    run_order,
    (
        "three programs, two rounds",
        (["a", "b", "c"], 2),
        ["a", "b", "c", "c", "b", "a"],
        {"each round goes forwards": ["a", "b", "c", "a", "b", "c"]},
    ),
    ("two programs, four rounds", (["slow", "fast"], 4), ["slow", "fast", "fast", "slow"] * 2),
    ("the same programs, two rounds", (["slow", "fast"], 2), ["slow", "fast", "fast", "slow"]),
    ("thirty rounds", (["q", "p"], 30), ["q", "p", "p", "q"] * 15),
)
names, turns = ["d", "b", "c", "a"], {}
for place, name in enumerate(run_order(names=names, rounds=6)):
    turns[name] = turns.get(name, 0) + place
expect("a steady drift adds the same to each program", turns, {"a": 69, "b": 69, "c": 69, "d": 69})
expect("twenty programs", run_order([str(n) for n in range(20)], 2)[19:21], ["19", "19"])
expect("the names stay as they are", names, ["d", "b", "c", "a"])
### BEGIN HIDDEN TESTS
expect(
    "every second round goes backwards",
    run_order(["x", "y", "z", "w"], 2),
    ["x", "y", "z", "w", "w", "z", "y", "x"],
)
expect("six rounds of two", run_order(["q", "p"], 6), ["q", "p", "p", "q"] * 3)
expect("names are not sorted", run_order(["m", "a", "z"], 2), ["m", "a", "z", "z", "a", "m"])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_run_order_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    run_order,
    ("one program, two rounds", (["a"], 2), ["a", "a"]),
    (
        "an odd number of rounds; no rounds, or fewer; no names; one name twice",
        [(["a", "b"], 3), (["a", "b"], 0), (["a", "b"], -2), ([], 2), (["a", "b", "a"], 2)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    run_order,
    ("one program, four rounds", (["q"], 4), ["q", "q", "q", "q"]),
    ("names that differ in a letter's case", (["a", "A"], 2), ["a", "A", "A", "a"]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_drift", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Two equal programs in three orders, on a machine that is disturbed in three ways.
orders = {
    "AAAA…BBBB": ["A"] * 10 + ["B"] * 10,
    "ABAB…": ["A", "B"] * 10,
    "mirrored": run_order(["A", "B"], 10),
}
for disturbance, more_ms in demos.DISTURBANCES.items():
    print(disturbance)
    for name, order in orders.items():
        print(f"    {name:<10} B takes {demos.gap(order, more_ms):4.1f} ms more than A")

# %% [markdown]
# ## 2 · Compare without a bell curve
#
# Lesson 03 compares two intervals of medians and sees a difference only if they do not overlap.
# That rule is safe and nearly blind.
# A *rank test* asks more of the same data.
# Write down, for each pair of a time from a and a time from b, whether a's is the larger one.
# Count those pairs, a tie as one half: that is U ([Mann and Whitney 1947](https://doi.org/10.1214/aoms/1177730491)).
#
#     a = 1, 2, 3     b = 4, 5, 6     none of the 9 pairs has a > b, so U = 0
#
# If a and b come from one program, the labels mean nothing: each choice of 3 of the 6 times could just as well have been a.
# There are 20 such choices.
# Half of all pairs, 4.5, would be balanced; U = 0 is 4.5 away from that, and so is U = 9.
# Two of the 20 choices are that far from the middle, so p = 2/20 = 0.1.
# The *p-value* is the probability of a result at least as extreme as yours, if nothing but chance is at work.
#
# The test can be counted by *rank sums*.
# Sort all n + m times and number them from 1; equal times share the mean of their numbers, the *mid-rank*.
# If R is the sum of a's ranks, U = R − n(n + 1)/2.
# So count: in how many ways do n of the n + m ranks have each sum?
#
# **Predict.** One program is 3 % faster than another; its times spread by 6 %, and each is called 20 times.
# In how many of 100 such experiments do lesson 03's intervals *not* overlap?

# %% tags=["guess"]
guess_overlap_power = None  # your guess: experiments of 100 in which the intervals are apart

# %% [markdown]
# <details><summary>Hint 1: must you look at every choice?</summary>
#
# 20 of 40 ranks can be chosen in 137,846,528,820 ways, but their sums take fewer than 800 values.
# Let the ranks come one by one.
# What must you know about the choices made so far?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# A table: in how many ways do k of the ranks seen so far have the sum s?
# Each new rank is left out, or adds itself to a choice of k − 1.
# Twice a mid-rank is a whole number, so with doubled ranks no rounding disturbs a comparison.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "rank_test", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rank_test(a, b):
    """Return the exact rank test of two lists of times, two-sided, as a dict.

    a, b: lists of numbers in any order, 1 to 20 each, not necessarily as many; ties are allowed.
    The dict's keys:
        u: a float, the pairs in which a's time is the larger one; a tie counts one half
        p: of all choices of len(a) of the times, the share whose u is at least as far from
            len(a) * len(b) / 2 as this u is; with ties, by mid-ranks
        smaller: 1 - u / (len(a) * len(b)), the share of pairs in which a's time is smaller
    Raises ValueError for an empty list, for more than 20 times on a side, and for NaN.

    >>> rank_test([1, 3], [2, 4])
    {'u': 1.0, 'p': 0.6666666666666666, 'smaller': 0.75}
    """
    ### BEGIN SOLUTION
    n, m = len(a), len(b)
    if not (1 <= n <= 20 and 1 <= m <= 20):
        raise ValueError(f"each side needs 1 to 20 times, not {n} and {m}")
    pooled = [*a, *b]
    if any(math.isnan(ms) for ms in pooled):
        raise ValueError("NaN is no time: it has no rank")
    doubled = [sum((y < x) + (y <= x) for y in pooled) + 1 for x in pooled]
    ways = [{0: 1}] + [{} for _ in range(n)]
    for rank in doubled:
        for size in range(n - 1, -1, -1):
            for total, count in ways[size].items():
                ways[size + 1][total + rank] = ways[size + 1].get(total + rank, 0) + count
    seen, middle = sum(doubled[:n]), n * (n + m + 1)
    far = sum(c for total, c in ways[n].items() if abs(total - middle) >= abs(seen - middle))
    u = (seen - n * (n + 1)) / 2
    return {"u": u, "p": far / math.comb(n + m, n), "smaller": 1 - u / (n * m)}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_rank_test", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
a, b = [2.0, 9.5, 1.0], [9.5, 2.0, 7.0]
expect_table(
    rank_test,
    ("three and three, apart", ([1, 2, 3], [4, 5, 6]), {"u": 0.0, "p": 0.1, "smaller": 1.0}),
    (
        "five and five, apart",
        ([5, 1, 3, 2, 4], [9, 7, 10, 6, 8]),
        {"u": 0.0, "p": 2 / 252, "smaller": 1.0},
        {
            "one-sided": {"u": 0.0, "p": 1 / 252, "smaller": 1.0},
            "this result itself is left out": {"u": 0.0, "p": 0.0, "smaller": 1.0},
        },
    ),
    ("a is slower", ([7, 9], [1, 8]), {"u": 3.0, "p": 2 / 3, "smaller": 0.25}),
    ("two and four", ([2, 3], [4, 1, 5, 6]), {"u": 2.0, "p": 8 / 15, "smaller": 0.75}),
    ("with ties", ([1, 2, 2, 3], [2, 3, 4, 4]), {"u": 2.5, "p": 0.2, "smaller": 0.84375}),
    (
        "ties, and choices that do not lie evenly",
        ([5, 6], [4, 4, 4, 5]),
        {"u": 7.5, "p": 2 / 15, "smaller": 0.0625},
        {"twice the smaller tail": {"u": 7.5, "p": 4 / 15, "smaller": 0.0625}},
    ),
    ("unsorted, with ties", (a, b), {"u": 3.0, "p": 0.8, "smaller": 2 / 3}),
)
expect("the lists stay as they are", [a, b], [[2.0, 9.5, 1.0], [9.5, 2.0, 7.0]])
### BEGIN HIDDEN TESTS
expect_table(
    rank_test,
    # vary: 9 in 9..99
    ("four and three, apart", ([8, 9, 7, 6], [1, 2, 3]), {"u": 12.0, "p": 2 / 35, "smaller": 0.0}),
    ("ties count one half", ([4, 4, 6], [4, 5]), {"u": 3.0, "p": 1.0, "smaller": 0.5}),
    (
        "with ties the choices need not lie evenly",
        ([1], [2, 2]),
        {"u": 0.0, "p": 1 / 3, "smaller": 1.0},
    ),
    ("equal lists", ([1, 2, 3], [3, 2, 1]), {"u": 4.5, "p": 1.0, "smaller": 0.5}),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_rank_test_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
before = [61.0, 48.2, 47.9, 48.5, 48.1, 47.8, 48.4, 49.0, 48.0, 48.3]  # lesson 03's essay
after = [59.2, 46.9, 47.2, 47.0, 46.8, 47.1, 47.3, 46.7, 71.5, 47.0]
found = rank_test(a=before, b=after)
expect("the times of lesson 03's essay", found, {"u": 81.0, "p": 3278 / 184756, "smaller": 0.19})
expect("the first ten with themselves", rank_test(before, before)["p"], 1.0)
first, second = [float(n) for n in range(20)], [n + 3.5 for n in range(20)]
expect("20 and 20", rank_test(first, second)["p"], 0.0859140199857)
expect_table(
    rank_test,
    ("one and one", ([3], [4]), {"u": 0.0, "p": 1.0, "smaller": 1.0}),
    ("all the same", ([1, 1], [1, 1]), {"u": 2.0, "p": 1.0, "smaller": 0.5}),
)
### BEGIN HIDDEN TESTS
found = rank_test([float(n * n) for n in range(20)], [10.0 * n for n in range(20)])
expect("20 and 20, with ties", [found["u"], found["p"]], [209.0, 0.81495615351], rel=1e-7)
# vary: 1.5 in 1.0..2.25, 4 in 4..5, 10 in 9..11, 7 in 6..8, 13 in 12..16
expect(
    "20 and 6",
    rank_test([n * 1.5 for n in range(20)], [4, 1, 10, 7, 13, 2])["p"],
    0.04585848933675,
    rel=1e-7,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_rank_test_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    rank_test,
    (
        "no times; more than 20; NaN on either side",
        [
            ([], [1]),
            ([1], []),
            ([1], list(range(21))),
            (list(range(21)), [1]),
            ([1, math.nan], [3, 4]),
            ([3, 4], [1, math.nan]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    rank_test,
    ("one and two", ([3], [1, 2]), {"u": 2.0, "p": 2 / 3, "smaller": 0.0}),
    # vary: 0.5 in 0.1..0.9
    ("20 and one", ([0.5] * 20, [1.0]), {"u": 0.0, "p": 1 / 21, "smaller": 1.0}),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_rules", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# How often two rules see a gain of 3 %, and one that is not there.
rng, trials = np.random.default_rng(3), demo_size(150, 20)
found = {"intervals apart": [0, 0], "rank test, p below 5 %": [0, 0]}
for column, gain in enumerate((1.03, 1.0)):
    for _ in range(trials):
        slow, fast = (100 * np.exp(rng.normal(0, 0.06, (2, 20))) * [[gain], [1]]).tolist()
        (low, high), (other_low, other_high) = confidence_interval(slow), confidence_interval(fast)
        found["intervals apart"][column] += low > other_high or other_low > high
        found["rank test, p below 5 %"][column] += rank_test(slow, fast)["p"] < 0.05
for rule, (gains, alarms) in found.items():
    print(f"{rule:<24} sees 3 % in {gains / trials:6.1%}, false alarms {alarms / trials:6.1%}")
apart = 100 * found["intervals apart"][0] / trials
guesses.compare("experiments of 100 with intervals apart", guess_overlap_power, round(apart))

# %% [markdown]
# Both rules promise at most 5 % false alarms.
# The first gives almost none, and misses most gains.
# ([Schenker and Gentleman 2001](https://doi.org/10.1198/000313001317097960): two 95 % intervals that just touch correspond to a p of about 0.006.)
# And in lesson 03's essay the mean said "slower"; the ranks say that "after" is faster, p = 0.018.
# Yet these calls came in two blocks: section 3 says why you may not conclude it.
#
# A small p says that *something* differs, not how much.
# For that you need an interval of the speed-up.
#
# ## 3 · Pairs
#
# A neighbour's job slows down A and B alike, if they run one right after the other.
# So compare within each round: the ratio before/after of round 1, of round 2, and so on.
# A disturbance of both cancels in the ratio, and lesson 03's interval, taken of the *ratios*, says how large the speed-up is.
# With 30 and 24 ms in one round and 50 and 40 ms in a busy one, both ratios are 1.25.


# %% nbgrader={"grade": false, "grade_id": "speedup_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def speedup_interval(before, after, confidence=0.95):
    """Return the speed-up from paired times, and an interval for its median, as a dict.

    before, after: lists of times above 0; those at one place are of one round.
    confidence: above 0 and below 1.
    The dict's keys: speedup, the median of the ratios before / after (above 1: after is faster),
    and low, high, the confidence_interval of these ratios.
    Raises ValueError for lists of different lengths, for a time that is not above 0, as NaN is not,
    and where confidence_interval does: for too few pairs, and for a confidence out of range.

    >>> speedup_interval([2, 4, 6, 8, 10, 12], [2] * 6)
    {'speedup': 3.5, 'low': 1.0, 'high': 6.0}
    """
    ### BEGIN SOLUTION
    if len(before) != len(after) or not all(ms > 0 for ms in [*before, *after]):
        raise ValueError("before and after need as many times, all above 0")
    ratios = [old / new for old, new in zip(before, after, strict=True)]
    low, high = confidence_interval(ratios, confidence)
    return {"speedup": statistics.median(ratios), "low": low, "high": high}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_speedup_interval", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
before, after = [100, 110, 120, 130, 140, 150], [96, 105.6, 115.2, 124.8, 134.4, 144]
seven, eight = [12.0, 10.0, 30.0, 8.0, 9.0, 40.0, 7.0], [8.0, 8.0, 10.0, 8.0, 12.0, 16.0, 4.0]
expect_table(
    speedup_interval,
    (
        "4 % less in each round",
        (before, after),
        {"speedup": 25 / 24, "low": 25 / 24, "high": 25 / 24},
        {"after / before": {"speedup": 0.96, "low": 0.96, "high": 0.96}},
    ),
    (
        "seven rounds",
        (seven, eight),
        {"speedup": 1.5, "low": 0.75, "high": 3.0},
        {"the ratio of the medians": {"speedup": 1.25, "low": 0.75, "high": 3.0}},
    ),
    ("seven rounds, 80 %", (seven, eight, 0.8), {"speedup": 1.5, "low": 1.0, "high": 2.5}),
    (
        "an even number of rounds",
        ([8, 3, 7, 4, 6, 5], [2] * 6),
        {"speedup": 2.75, "low": 1.5, "high": 4.0},
        {
            "the lower of the two in the middle": {"speedup": 2.5, "low": 1.5, "high": 4.0},
            "the upper of the two in the middle": {"speedup": 3.0, "low": 1.5, "high": 4.0},
        },
    ),
    (
        "a thousand times slower",
        ([0.003] * 6, [3.5, 3, 3, 3, 3, 3]),
        {"speedup": 1e-3, "low": 3 / 3500, "high": 1e-3},
    ),
    ("forty rounds", ([3] * 40, [2] * 40), {"speedup": 1.5, "low": 1.5, "high": 1.5}),
)
found = speedup_interval(before=seven, after=eight, confidence=0.7)
expect("less sure, by their names", found, {"speedup": 1.5, "low": 1.0, "high": 2.5})
expect("the lists stay as they are", [seven[:2], eight[:2]], [[12.0, 10.0], [8.0, 8.0]])
### BEGIN HIDDEN TESTS
# vary: 6.0 in 5.55..6.45, 9.0 in 8.55..9.45, 7.0 in 6.55..7.45
before, after = [6.0, 5.0, 9.0, 2.0, 8.0, 3.0, 7.0, 10.0], [4.0, 5.0, 6.0, 4.0, 2.0, 4.0, 4.0, 4.0]
expect(
    "eight rounds have a median between two",
    speedup_interval(before, after),
    {"speedup": 1.5, "low": 0.5, "high": 4.0},
)
# vary: 0.7 in 0.467..0.85
expect(
    "less sure, a narrower interval",
    speedup_interval(before, after, 0.7),
    {"speedup": 1.5, "low": 1.0, "high": 1.75},
)
expect(
    "two different times in the middle",
    speedup_interval([9, 1, 8, 2, 7, 3], [3] * 6)["speedup"],
    5 / 3,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_speedup_interval_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
seven = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
expect_table(
    speedup_interval,
    (
        "too few pairs; a time is missing; whatever else is refused",
        [
            ([2.0] * 5, [1.0] * 5),
            ([2.0] * 7, [1.0] * 6),
            ([2.0] * 6, [1.0] * 7),
            ([math.nan] + [2.0] * 6, seven),
            ([2.0] * 7, [math.nan] * 7),
            ([0] + [2.0] * 6, [1.0] * 7),
            ([2.0] * 6, [1.0] * 5 + [-1.0]),
            (seven, seven, 0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    speedup_interval,
    ("six pairs are enough", ([2, 4] * 3, [1] * 6), {"speedup": 3.0, "low": 2.0, "high": 4.0}),
    # vary: 5.0 in 3.33..7.5
    ("six equal pairs", ([5.0] * 6, [2.0] * 6), {"speedup": 2.5, "low": 2.5, "high": 2.5}),
    # vary: 4.0 in 2.67..6.0
    ("five pairs, 90 %", ([5.0] * 5, [4.0] * 5, 0.9), {"speedup": 1.25, "low": 1.25, "high": 1.25}),
)
### END HIDDEN TESTS

# %% [markdown]
# In the first example the times spread by 50 %.
# The medians' intervals, 100 to 150 and 96 to 144, overlap almost entirely, and the rank test says p = 0.70. <!-- with section 2 -->
# The medians' intervals, 100 to 150 and 96 to 144, overlap almost entirely. <!-- without section 2 -->
# So lesson 03's rule sees nothing, and neither does a *rank test*, which looks only at the order of the times: its *p-value*, the probability of a result at least as extreme by chance alone, is 0.70. <!-- without section 2 -->
#
# How often is each rule wrong on a real machine?
# The next cell times *one* program, and gives its calls the names A and B afterwards: the first twelve and the next twelve, or in turns.
# (*Mirrored* turns, AB BA AB BA, also cancel a steady drift.) <!-- without section 1 -->
# So every difference found is false.

# %% nbgrader={"grade": false, "grade_id": "demo_alarms", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# How often each of six rules finds a difference between a program and itself.
rounds, trials = 12, demo_size(200, 20)
with no_grad():
    series = demos.time_calls(*demos.lenet(), count=2 * rounds * trials)
rules = run_order, confidence_interval, rank_test, speedup_interval
alarms = demos.count_alarms(series, rounds, *rules)
shares = {rule: 100 * count / trials for rule, count in alarms.items()}
may = f"a rule at 5 % may alarm {trials * 0.05:.0f} times"
print(f"{trials} experiments with two equal programs; {may}")
noise.show_load()
title = "How often each rule finds a difference between equal programs"
plot.bars(shares, unit="false alarms", title=title, show="{:.1f} %".format)

# %% [markdown]
# The rank test kept its promise on invented numbers. <!-- with section 2 -->
# On calls in blocks it cannot: neighbouring calls resemble each other, because what slows down one slows down the next. <!-- with section 2 -->
# On calls in blocks the rank test alarms too often: neighbouring calls resemble each other, because what slows down one slows down the next. <!-- without section 2 -->
# No formula that ignores their order repairs that; taking turns does.
# Real calls often have a period of two: ABAB suffers from it, AB BA does not.
#
# ## 4 · A gate
#
# A *gate* is a check that runs on each change and stops a slow one.
# Two decisions belong to people: which change is too small to matter (the *tolerance*: 0.05 stands for 5 %), and how often a false alarm may ring.
# The gate does the rest with an interval of the speed-up.
#
# - It lies within 1/(1 + tolerance) … 1 + tolerance, both ends included: "same".
# - If not, and all of it lies above 1: "faster"; all of it below 1: "slower".
# - Otherwise "unclear": more rounds may decide. An interval that merely holds 1 does not show that nothing changed.
#
# Some gates say "faster" only if all of the interval lies beyond the tolerance.
# This one need not: once 1 is excluded there is a gain, and only its size is open.
#
# **Predict.** A suite has 40 benchmarks, each tested at 5 %.
# Nothing has changed.
# In how many of 100 nights does at least one of them report a change?

# %% tags=["guess"]
guess_false_nights = None  # your guess: nights of 100 with a false alarm

# %% [markdown]
# The [Bonferroni correction](https://en.wikipedia.org/wiki/Bonferroni_correction) divides the 5 % by the number of comparisons.
# Each gate of the suite then uses an interval of 1 − 0.05/40 = 99.875 %.


# %% nbgrader={"grade": false, "grade_id": "gate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gate(before, after, tolerance, comparisons=1):
    """Return the verdict on a change: "same", "faster", "slower" or "unclear".

    before, after: paired times, as for speedup_interval.
    tolerance: at least 0, a share: 0.05 for 5 %.
    comparisons: int, at least 1: how many gates share the 5 % of false alarms.
    By the interval of speedup_interval at 1 - 0.05 / comparisons: "same" where it lies within
    1 / (1 + tolerance) and 1 + tolerance, both included; else "faster" where all of it is above 1,
    "slower" where all of it is below 1; else "unclear".
    Raises ValueError for a tolerance or comparisons out of range, as NaN is, and where
    speedup_interval does.

    >>> gate([4.0] * 6, [3.0] * 6, tolerance=0.1)
    'faster'
    """
    ### BEGIN SOLUTION
    if not (tolerance >= 0 and comparisons >= 1):
        raise ValueError(f"no gate has the tolerance {tolerance} and {comparisons} comparisons")
    found = speedup_interval(before, after, 1 - 0.05 / comparisons)
    if 1 / (1 + tolerance) <= found["low"] and found["high"] <= 1 + tolerance:
        return "same"
    if found["low"] > 1:
        return "faster"
    return "slower" if found["high"] < 1 else "unclear"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gate", "locked": true, "points": 6.5, "schema_version": 3, "solution": false, "task": false}
before, after = [100, 110, 120, 130, 140, 150], [96, 105.6, 115.2, 124.8, 134.4, 144]
mixed = [4.0, 5.0, 3.0, 5.0, 4.5, 3.5]
expect_table(
    gate,
    ("4 % faster, tolerance 2 %", (before, after, 0.02), "faster"),
    ("4 % faster, tolerance 5 %", (before, after, 0.05), "same"),
    ("4 % slower, tolerance 2 %", (after, before, 0.02), "slower"),
    ("4 % slower, tolerance 5 %", (after, before, 0.05), "same"),
    ("around 1, but wide", ([4.0] * 6, mixed, 0.1), "unclear", {"it merely holds 1": "same"}),
    (
        "above 1, reaching out of the tolerance",
        ([4.0] * 6, [3.9, 3.0, 3.0, 3.0, 3.0, 3.0], 0.1),
        "faster",
    ),
    (
        "below 1, reaching out of the tolerance",
        ([3.9, 3.0, 3.0, 3.0, 3.0, 3.0], [4.0] * 6, 0.1),
        "slower",
    ),
)
expect("the lists stay as they are", mixed, [4.0, 5.0, 3.0, 5.0, 4.5, 3.5])
### BEGIN HIDDEN TESTS
# vary: 4.0 in 3.5..5.0, 9.0 in 6.0..20.0
steady, other = [4.0] * 9, [9.0] + [3.0] * 8
expect(
    "one round of many does not make it unclear",
    [gate(steady, other, 0.05), gate(other, steady, 0.05), gate(steady, steady, 0.05)],
    ["faster", "slower", "same"],
)
near = [101, 102, 103, 104, 103, 102, 101]
expect(
    "a slow-down within the tolerance is the same, and beyond it is one",
    [gate([100.0] * 7, near, tolerance) for tolerance in (0.05, 0.041, 0.03)],
    ["same", "same", "slower"],
)
# vary: 2.0 in 1.5..3.0, 6.0 in 5.0..9.0
odd = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 6.0]
expect(
    "the interval decides, not the median",
    [gate([4.0] * 7, odd, 0.1), gate(odd, [4.0] * 7, 0.1)],
    ["unclear", "unclear"],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gate_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    gate,
    ("exactly the tolerance", ([5.0] * 6, [4.0] * 6, 0.25), "same"),
    ("exactly the tolerance, slower", ([4.0] * 6, [5.0] * 6, 0.25), "same"),
    ("from 1 upwards is not above 1", ([4.0] * 6, [4.0, 2.0, 2.0, 2.0, 2.0, 2.0], 0.5), "unclear"),
    ("up to 1 is not below 1", ([4.0] * 6, [4.0, 8.0, 8.0, 8.0, 8.0, 8.0], 0.5), "unclear"),
    ("equal to the last bit, no tolerance", ([4.0, 5.0] * 3, [4.0, 5.0] * 3, 0), "same"),
    ("beyond 1 / (1 + tolerance)", ([10.0] * 60, [12.2] * 60, 0.2), "slower"),
    ("0.3 % faster, tolerance 0.2 %", ([100.3] * 6, [100.0] * 6, 0.002), "faster"),
)
nine = [1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 5.0]
found = gate(before=[4.0] * 9, after=nine, tolerance=0.5, comparisons=10)
expect("nine rounds, ten comparisons, by their names", found, "unclear")
### BEGIN HIDDEN TESTS
slow, slower = [gate([10.0] * 6, [13.0] * 6, tolerance) for tolerance in (0.28, 0.31)]
expect(
    "the lower bound is 1 / (1 + tolerance), not 1 - tolerance", [slow, slower], ["slower", "same"]
)
gains = [gate([3.0001] * 6, [3.0] * 6, tolerance) for tolerance in (0, 0.0001, 0.00002)]
expect("any gain beyond the tolerance is one", gains, ["faster", "same", "faster"])
wide = [gate([3.0] * 6, [1.0] * 6, tolerance) for tolerance in (2, 1.9)]
expect("a tolerance above 1", wide, ["same", "faster"])
expect("of nine rounds one may differ", gate([4.0] * 9, nine, 0.5), "faster")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gate_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
ten = [4.0] * 10
expect_table(
    gate,
    (
        "too few rounds; whatever else is refused",
        [
            (ten, ten, 0.05, 26),
            (ten, ten, 0.05, 0),
            (ten, [3.0] * 10, -0.1),
            (ten, [3.0] * 10, math.nan),
            (ten, [*ten[1:], math.nan], 0.1),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3.0 in 2.5..3.4, 4.0 in 3.9..6.0
third = [3.0] * 11, [4.0] * 11
expect(
    "eleven rounds are enough for 40 comparisons",
    [gate(*third, 0.05, 40), gate(*third[::-1], 0.05, 40)],
    ["slower", "faster"],
)
# vary: 2.0 in 1.4..3.0, 5.0 in 4.5..9.0
ten = [2.0] * 9 + [5.0]
expect(
    "of ten rounds one may differ, but not if three gates share the 5 %",
    [gate([4.0] * 10, ten, 0.05, comparisons) for comparisons in (1, 3)],
    ["faster", "unclear"],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_nights", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# The nights that alarm, the rounds that many comparisons need, and what they then see.
guesses.compare("nights of 100 with a false alarm", guess_false_nights, round(100 * (1 - 0.95**40)))
for comparisons in (1, 3, 40, 1000):
    rounds = 1
    while 2 / 2**rounds > 0.05 / comparisons:  # all ratios on one side, by chance
        rounds += 1
    print(f"{comparisons:>5} comparisons: each gate needs at least {rounds} rounds")
print("times that spread by 3 %, tolerance 5 %, of 1,000 experiments each:")
rng = np.random.default_rng(11)
for rounds, comparisons in ((12, 1), (12, 40), (40, 40)):
    said = [demos.verdicts(gate, rng, gain, rounds, comparisons) for gain in (1.0, 1.05)]
    unclear, seen = said[0].count("unclear") / 1000, said[1].count("faster") / 1000
    found = f"equal programs unclear {unclear:.0%}, a gain of 5 % seen {seen:.0%}"
    print(f"{rounds} rounds, {comparisons:>2} comparisons: {found}")

# %% [markdown]
# The correction has its price: eleven rounds (twelve, in mirrored order) are enough for an interval to *exist*, from the lowest to the highest ratio, but with it most gains of 5 % are missed.
# Forty rounds find them.
#
# ## 5 · Repeat the run, not the call
#
# Start a program anew, and it is faster or slower than last time, in all its calls: its memory lies elsewhere, for example ([Mytkowicz and others 2009](https://doi.org/10.1145/1508244.1508275); [Kalibera and Jones 2013](https://doi.org/10.1145/2464157.2464160)).
# More calls in *one* run make an interval narrower, but not truer.
# Take one number from each of several fresh runs, its median, and the interval of these numbers.
# Six runs are the least for 95 %.
#
# **Predict.** Lesson 03's interval is made from 300 consecutive calls of LeNet-5.
# It promises 95 %.
# In what share of such windows does it hold the median of all calls?

# %% tags=["guess"]
guess_window_coverage = None  # your guess, in percent


# %% nbgrader={"grade": false, "grade_id": "runs_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def runs_interval(runs, confidence=0.95):
    """Return the interval (low, high) of the median, from the times of several fresh runs.

    runs: a list of lists of times, one list for each run of the program; they may differ in length.
    confidence: above 0 and below 1.
    Takes the median of each run, and of these the confidence_interval.
    Raises ValueError for a run without times, for NaN in a run, and where confidence_interval does:
    below 6 runs at 95 %, while at a lower confidence fewer may be enough.

    >>> runs_interval([[2, 9, 3], [4], [5], [1], [6], [7]])
    (1, 7)
    """
    ### BEGIN SOLUTION
    if any(len(run) == 0 for run in runs):
        raise ValueError("each run needs at least one time")
    if any(math.isnan(ms) for run in runs for ms in run):
        raise ValueError("NaN is no time: a run that has one has no median")
    return confidence_interval([statistics.median(run) for run in runs], confidence)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_runs_interval", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
runs = [[m - 0.25, m, m + 0.25] for m in (10, 11, 9, 10.5, 10, 9.5)]
lengths = [[4.0], [8.0, 2.0], [9.0, 3.0, 1.0], [7.0], [6.0, 6.0, 6.0, 0.5], [2.0, 1.0]]
expect_table(
    runs_interval,
    ("six runs of three calls", (runs,), (9.0, 11.0), {"the calls are pooled": (9.5, 10.5)}),
    ("a slow call in each run", ([[m, m, m, 50.0 * m] for m in (1, 2, 3, 4, 5, 6)],), (1.0, 6.0)),
    ("runs of several lengths", (lengths,), (1.5, 7.0)),
    ("six runs, 60 %", (runs, 0.6), (9.5, 10.5)),
    ("times far below 1", ([[n / 7000] for n in range(1, 7)],), (1 / 7000, 6 / 7000)),
    ("forty runs", ([[float(n)] * 3 for n in range(1, 41)],), (14.0, 27.0)),
)
found = runs_interval(runs=[[1.0], [2.0], [4.0]], confidence=0.7)
expect("three runs are enough for 70 %", found, (1.0, 4.0))
expect("the runs stay as they are", lengths[2], [9.0, 3.0, 1.0])
### BEGIN HIDDEN TESTS
# vary: 20 in 13..30, 29 in 19..43, 24 in 16..36, 23 in 15..34, 26 in 17..39
many = [
    [float(m), m + 8.0, m - 8.0, m + 1.0, m - 1.0] for m in (20, 27, 22, 29, 24, 21, 28, 23, 26)
]
expect("of nine runs the second and the eighth count", runs_interval(many), (21.0, 28.0))
# vary: 0.8 in 0.55..0.82
expect("less sure, a narrower interval", runs_interval(many, confidence=0.8), (22.0, 27.0))
# vary: 9.0 in 6.0..13.5
expect(
    "one time is its run's median",
    runs_interval([[3.0], [1.0], [4.0], [1.5], [9.0], [2.0]]),
    (1.0, 9.0),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_runs_interval_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
runs = [[2.0, 1.0], [3.0], [7.0], [5.0], [4.0], [6.0]]
expect_table(
    runs_interval,
    (
        "five runs are too few, however long; an empty run, one with NaN",
        [
            ([[1.0, 2.0] * 50] * 5,),
            ([[math.nan, 2.0, 3.0], *runs],),
            ([[2.0, 3.0, math.nan], *runs],),
            ([*runs, [math.nan]],),
            ([*runs, []],),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    runs_interval,
    # vary: 2.0 in 1.33..3.0, 1.0 in 0.667..1.0, 7.0 in 6.3..7.7
    (
        "six runs are enough for 95 %",
        ([[2.0, 1.0], [3.0], [7.0], [5.0], [4.0], [6.0]],),
        (1.5, 7.0),
    ),
    # vary: 1.0 in 0.667..1.0, 4.0 in 2.67..6.0
    ("five runs, 90 %", ([[1.0], [5.0], [2.0], [4.0], [3.0]], 0.9), (1.0, 5.0)),
    # vary: 1.0 in 0.667..1.0, 4.0 in 2.67..6.0
    ("two runs, 50 %", ([[1.0, 4.0], [3.0]], 0.5), (2.5, 3.0)),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_coverage", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# In how many windows of consecutive calls the interval holds what it promises.
with no_grad():
    series = np.array(demos.time_calls(*demos.lenet(), count=demo_size(6000, 900)))
runs = {"in order": series, "shuffled": np.random.default_rng(1).permutation(series)}
held = demos.windows_held(runs, (30, 100, 300), confidence_interval)
recorded = demos.recorded_calls()
if recorded is not None:
    shares = demos.windows_held({"": recorded}, (30, 100, 300), confidence_interval)
    shares = ", ".join(f"{share:.0f} % for {window}" for window, share in shares.items())
    print(f"lesson 03's recorded calls, in order: {shares}")
noise.show_load()
in_order = held["300 calls, in order"]
guesses.compare("windows of 300 that hold the median", guess_window_coverage, in_order, unit="%")
title = "How often the 95 % interval of a window holds the run's median"
plot.bars(held, unit="windows", title=title, show="{:.0f} %".format)

# %% [markdown]
# The shuffled calls are the same calls without the likeness of neighbours: the promise holds.
# In order, in four recorded runs, windows of 30 calls held the median in 22 to 57 %, windows of 300 in 5 to 35 %.
#
# **Days apart.** A result that you keep needs its *environment*, or next month nobody knows what changed.
#
# - Another machine, number of threads, *seed* or version of a library: the times do not compare.
# - A *governor* other than "performance" changes the clock with the load, and other programs that take more than 0.1 of the processors slow yours: the times are doubtful.
#
# What nobody noted may have changed, too.

# %% nbgrader={"grade": false, "grade_id": "environment", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gate_doubles as fake  # in test cells: a file beside this notebook

HERE = {"machine": "a laptop", "threads": 1, "seed": 8, "versions": {"numpy": "2.3.5"}}
HERE |= {"governor": "performance", "load": 0.02}


# %% nbgrader={"grade": false, "grade_id": "compare_results", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compare_results(before, after, tolerance):
    """Return the verdict on two stored results, and what speaks against it, as a dict.

    before, after: dicts with "times", as for gate, and "environment", a dict with the keys of
        HERE, each None where it is not known; load is the share of the processors that other
        programs took.
    The dict's keys, the first two lists of strings:
        differs: of "machine", "threads", "seed", "versions", in this order, those that are not
            equal in both environments, or not known in one
        doubtful: "governor" if it is not "performance" in both, then "load" if it is above 0.1
            or not known in one
        verdict: "not compared" if anything differs, whatever the times are; else gate's
    Raises ValueError where gate does.

    >>> days = [{"times": [ms] * 6, "environment": HERE} for ms in (4.0, 3.0)]
    >>> compare_results(*days, tolerance=0.1)["verdict"]
    'faster'
    """
    ### BEGIN SOLUTION
    both = [before["environment"], after["environment"]]
    differs = []
    for key in ("machine", "threads", "seed", "versions"):
        old, new = (environment[key] for environment in both)
        if old is None or new is None or old != new:
            differs.append(key)
    doubtful = ["governor"] if any(e["governor"] != "performance" for e in both) else []
    if any(e["load"] is None or e["load"] > 0.1 for e in both):
        doubtful.append("load")
    if differs:
        verdict = "not compared"
    else:
        verdict = gate(before["times"], after["times"], tolerance)
    return {"differs": differs, "doubtful": doubtful, "verdict": verdict}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_compare_results", "locked": true, "points": 4.5, "schema_version": 3, "solution": false, "task": false}
def compared_results(one, other, times=(5.0,) * 6):  # what is not as HERE, in each
    before = {"times": [8.0] * 6, "environment": HERE | one}
    after = {"times": list(times), "environment": HERE | other}
    found = doubles.using(compare_results, gate=fake.by_medians)(before, after, tolerance=0.05)
    return found["differs"], found["doubtful"], found["verdict"]


expect_table(
    compared_results,
    ("one environment, of seed 0", ({"seed": 0}, {"seed": 0}), ([], [], "faster")),
    (
        "a new version of numpy, another seed, two threads, an unknown load",
        ({"versions": {"numpy": "2.2.0"}, "seed": 7, "threads": 2}, {"load": None}),
        (["threads", "seed", "versions"], ["load"], "not compared"),
    ),
    (
        "a library that was not there before",
        ({}, {"versions": {"numpy": "2.3.5", "torch": "2.9.1"}}),
        (["versions"], [], "not compared"),
    ),
    (
        "threads that nobody noted, in both",
        ({"threads": None}, {"threads": None}),
        (["threads"], [], "not compared"),
    ),
    (
        "the governor saves power; a load of 0.1 is allowed",
        ({"governor": "powersave", "load": 0.1}, {}),
        ([], ["governor"], "faster"),
    ),
    (
        "both days a busy machine that saves power",
        ({"governor": "powersave", "load": 0.5}, {"governor": "powersave", "load": 0.5}),
        ([], ["governor", "load"], "faster"),
    ),
    (
        "the first day busy; on the second no governor is known",
        ({"load": 0.15}, {"governor": None}),
        ([], ["governor", "load"], "faster"),
    ),
    (
        "times of another machine are not looked at",
        ({"machine": "a server"}, {}, []),
        (["machine"], [], "not compared"),
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    compared_results,
    # vary: 2 in 2..16
    ("another number of threads", ({}, {"threads": 2}), (["threads"], [], "not compared")),
    # vary: 0.5 in 0.11..0.9
    ("a busy machine, and then a quiet one", ({"load": 0.5}, {}), ([], ["load"], "faster")),
    # vary: 0.3 in 0.11..0.9
    (
        "what is doubtful is said also where nothing is compared",
        ({"governor": "ondemand"}, {"machine": None, "load": 0.3}),
        (["machine"], ["governor", "load"], "not compared"),
    ),
    ("no load on a quiet machine is known", ({"load": 0.0}, {}), ([], [], "faster")),
    ("slower is the gate's word", ({}, {}, [10.0] * 6), ([], [], "slower")),
    ("a change that does not matter", ({}, {}, [8.1] * 6), ([], [], "same")),
)
# viva: old = {'times': [5.0] * 6, 'environment': HERE};
#     compare_results(old, old | {'environment': HERE | {'seed': 1}}, 0.1)['verdict']
# viva: old = {'times': [5.0] * 6, 'environment': HERE};
#     compare_results(old, old | {'environment': HERE | {'load': None}}, 0.1)['doubtful']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_compare_results_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
judged = doubles.using(compare_results, gate=fake.by_medians)
eight, five = ({"times": [ms] * 6, "environment": dict(HERE)} for ms in (8.0, 5.0))
expect_table(
    judged,
    (
        "twelve rounds",
        ({**eight, "times": [6.0, 4.0] * 6}, {**five, "times": [3.0, 2.0] * 6}, 0.1),
        {"differs": [], "doubtful": [], "verdict": "faster"},
    ),
    (
        "one environment, but lists of different lengths; a tolerance below 0",
        [({**eight, "times": [8.0] * 7}, five, 0.1), (eight, five, -0.1)],
        ValueError,
    ),
)
expect(
    "the results stay as they are",
    [eight["times"], eight["environment"] == HERE],
    [[8.0] * 6, True],
)
### BEGIN HIDDEN TESTS
expect_table(
    judged,
    # vary: 9.0 in 8.5..12.0
    (
        "the tolerance is the gate's",
        ({**eight, "times": [9.0] * 6}, eight, 0.9),
        {"differs": [], "doubtful": [], "verdict": "same"},
    ),
    (
        "the later result comes second",
        (five, eight, 0.1),
        {"differs": [], "doubtful": [], "verdict": "slower"},
    ),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_days", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws LeNet-5 on recorded days and on yours, and compares each result with the one before.
with no_grad():
    days = demos.days(seed=8, rounds=demo_size(12, 6))
noise.show_load()
for before, after in zip(days, days[1:], strict=False):
    after |= compare_results(before, after, tolerance=0.05)
    print(demos.told(before, after))
demos.over_days(days, title="LeNet-5 over days: lines join what may be compared")

# %% [markdown]
# One machine was "slower" and then "faster" within a minute: the load says why.
#
# **Optional.** A median hides the tail.
# An interval for p99 needs more calls than most people make: compute how many.


# %% nbgrader={"grade": false, "grade_id": "percentile_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def percentile_interval(times, percent, confidence=0.95):
    """Return the interval (low, high) of a percentile of independent times. (Optional.)

    times: a list in any order. percent: above 0 and below 100. confidence: above 0 and below 1.
    Each time is below the true percentile with probability percent / 100. Returns the l-th and the
    h-th smallest time: l is the largest rank, h the smallest, with which the percentile lies below
    the l-th with a probability of at most (1 - confidence) / 2, and above the h-th likewise.
    Raises ValueError where there is no such rank, for a number out of range, and for NaN.

    >>> percentile_interval(range(1, 21), 50)
    (6, 15)
    """
    ### BEGIN SOLUTION
    if not 0 < percent < 100 or not 0 < confidence < 1:
        raise ValueError("percent and confidence lie between 0 and 100, and between 0 and 1")
    if any(math.isnan(time) for time in times):
        raise ValueError("NaN is no time: it has no rank")
    n, tail, share = len(times), (1 - confidence) / 2, percent / 100
    odds = [
        math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(share)
            + (n - k) * math.log(1 - share)
        )
        for k in range(n + 1)
    ]
    low = sum(total <= tail for total in np.cumsum(odds))  # ranks l with P(fewer than l) <= tail
    high = n + 1 - sum(total <= tail for total in np.cumsum(odds[::-1]))
    if low < 1 or high > n:
        raise ValueError(f"{n} times are too few for this percentile")
    ordered = sorted(times)
    return ordered[low - 1], ordered[high - 1]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_percentile_interval", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
ranked = [float(n) for n in range(1000, 0, -1)]
expect_table(
    percentile_interval,
    ("p99 of 1,000", (ranked, 99), (983.0, 997.0)),
    ("p95 of 100", (ranked[-100:], 95), (90.0, 100.0)),
    ("p50 of 10, as in lesson 03", (ranked[-10:], 50), (2.0, 9.0)),
    ("p99 of 368", (ranked[-368:], 99), (360.0, 368.0)),
    ("p99 and p1 of 367, p50 of none", (ranked[-367:], 99), ValueError),
)
expect("p1 of 368", percentile_interval(ranked[-368:], 1), (1.0, 9.0))
expect("p50 of 20, 80 %", percentile_interval(ranked[-20:], 50, 0.8), (7.0, 14.0))
expect("the times stay as they are", ranked[:3], [1000.0, 999.0, 998.0])
### BEGIN HIDDEN TESTS
expect(
    "400 calls place p99 between ranks 392 and 400",
    percentile_interval(ranked[-400:], 99),
    (392.0, 400.0),
)
expect(
    "the median of 100 lies between ranks 40 and 61",
    percentile_interval(ranked[-100:], 50),
    (40.0, 61.0),
)
expect("p5 mirrors p95", percentile_interval(ranked[-100:], 5), (1.0, 11.0))
### END HIDDEN TESTS

# %% [markdown]
# **Take a break here.** What follows needs only `run_order`, `speedup_interval` and `gate`.

# %% [markdown]
# ## 6 · What a user waits for
#
# Load tests often send a request, wait for the answer, and send the next.
# If one answer takes a second, the test sends nothing in that second, and notes *one* slow request.
# Real users arrive all the same, queue up, and wait.
# Gil Tene named this mistake [coordinated omission](https://www.youtube.com/watch?v=lJ8ydIuPFeU).
#
# The cure: give each request a time at which it *should* arrive, and measure from there.
# With one server, first come first served: if requests arrive at 0, 10 and 20 ms and need 5, 25 and 5 ms, they end at 5, 35 and 40 ms.
# The third waits for the second; the users see 5, 25 and 20 ms.
#
# **Predict.** 1,000 requests arrive, one every 20 ms.
# Each needs 10 ms, except for one that takes 1,000 ms.
# The 99th percentile of the *service* times is 10 ms.
# What is that of the times that users wait?

# %% tags=["guess"]
guess_users_p99 = None  # your guess, in ms

# %% [markdown]
# <details><summary>Hint 1: when does the server begin with a request?</summary>
#
# Draw the example on a timeline: a mark for each arrival, and a bar for the work on it.
# A bar begins at its mark, or where the bar before it ends.
# Which of the two?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# Keep one number, the time at which the server becomes free.
# Each request moves it.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "response_times", "locked": false, "schema_version": 3, "solution": true, "task": false}
def response_times(arrivals_ms, service_ms):
    """Return how long each request takes from its arrival to its answer, in ms, as a list.

    arrivals_ms: when each request arrives, numbers of any sign that do not fall; several may
    arrive at once.
    service_ms: how long the server works on each, numbers above 0.
    One server takes them in their order, one at a time; a request waits until those before it are
    answered, and an idle server waits for the next request.
    Raises ValueError for no requests, lists of different lengths, arrivals that fall, and a service
    time that is not above 0, as NaN is not.

    >>> response_times([0, 4, 30], [10, 10, 10])
    [10, 16, 10]
    """
    ### BEGIN SOLUTION
    if not len(arrivals_ms) or len(arrivals_ms) != len(service_ms):
        raise ValueError("each request needs an arrival and a service time")
    if not all(service > 0 for service in service_ms):
        raise ValueError("the server works on each request for more than 0 ms")
    if not all(a <= b for a, b in zip(arrivals_ms, arrivals_ms[1:], strict=False)):
        raise ValueError("arrivals must not fall")
    waits, free = [], -math.inf
    for arrival, service in zip(arrivals_ms, service_ms, strict=True):
        free = max(free, arrival) + service
        waits.append(free - arrival)
    return waits
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_response_times", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
arrivals, work = [0, 10, 20, 30], [5, 25, 5, 5]
expect_table(
    response_times,
    (
        "one slow request",
        (arrivals, work),
        [5.0, 25.0, 20.0, 15.0],
        {
            "the service times": [5.0, 25.0, 5.0, 5.0],
            "the waits alone": [0.0, 0.0, 15.0, 10.0],
            "times of the answers, not from the arrival": [5.0, 35.0, 40.0, 45.0],
        },
    ),
    ("idle time is not saved up", ([0, 100, 105], [10, 10, 10]), [10.0, 10.0, 15.0]),
    ("three at once", ([7, 7, 7], [4, 2, 1]), [4.0, 6.0, 7.0]),
    ("an overloaded server", ([0, 1, 2, 3], [3, 3, 3, 3]), [3.0, 5.0, 7.0, 9.0]),
    ("a gap between two bursts", ([0, 0, 50, 50], [20] * 4), [20.0, 40.0, 20.0, 40.0]),
    ("parts of a ms", ([0.001, 0.002], [1 / 300, 0.0005]), [1 / 300, 1 / 300 - 0.0005]),
    ("forty requests", (list(range(40)), [2] * 40), np.arange(2.0, 42.0)),
)
expect("the lists stay as they are", [arrivals, work], [[0, 10, 20, 30], [5, 25, 5, 5]])
### BEGIN HIDDEN TESTS
# vary: 10 in 8..24
expect(
    "the queue empties, and the server waits again",
    response_times([0, 1, 2, 40, 41], [10, 1, 1, 5, 5]),
    [10.0, 10.0, 10.0, 5.0, 9.0],
)
expect(
    "a request that comes just in time does not wait",
    response_times([0, 8, 16], [8, 8, 8]),
    [8.0, 8.0, 8.0],
)
# vary: 1000 in 800..1_200
slow = response_times([20 * n for n in range(100)], [1000 if n == 40 else 10 for n in range(100)])
expect(
    "users behind a slow request wait, too",
    [max(slow), sum(ms > 10 for ms in slow), slow[-1]],
    [1000.0, 60, 410.0],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_response_times_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
found = response_times(arrivals_ms=[1000.5, 1001.0], service_ms=[2.0, 0.5])
expect("the first comes late, by their names", found, [2.0, 2.0])
expect_table(
    response_times,
    ("arrivals as above, other work", ([0, 10, 20, 30], [30, 1, 1, 1]), [30.0, 21.0, 12.0, 3.0]),
    ("arrivals below 0", ([-30, -20, 5], [15, 1, 1]), [15.0, 6.0, 1.0]),
)
### BEGIN HIDDEN TESTS
expect_table(
    response_times,
    # vary: 3 in 2..9
    ("a late start is no waiting time", ([500], [3]), [3.0]),
    # vary: 4 in 4..8
    ("all arrive below 0", ([-10, -10, -1], [4, 4, 4]), [4.0, 8.0, 4.0]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_response_times_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    response_times,
    (
        "no requests; one is missing; arrivals that fall; no work, or less, or NaN",
        [
            ([], []),
            ([0], [1, 2]),
            ([0, 5], [1]),
            ([5, 4], [1, 1]),
            ([0, 5], [1, 0]),
            ([0, 5], [-1, 1]),
            ([0, 5], [1, math.nan]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    response_times,
    # vary: 2 in 2..9
    ("three that follow each other without a gap", ([0, 7, 8], [7, 1, 2]), [7.0, 1.0, 2.0]),
    # vary: 6 in 3..30, 5 in 3..40
    ("two at once, and one much later", ([2, 2, 90], [6, 6, 5]), [6.0, 12.0, 5.0]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_users", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# What the server measures of 1,000 requests, and what their users wait.
service = [1000 if number == 400 else 10 for number in range(1000)]
users = response_times([20 * number for number in range(1000)], service)
p99 = [float(np.percentile(times, 99)) for times in (service, users)]
guesses.compare("p99 of what users wait", guess_users_p99, round(p99[1], 1), unit="ms")
longer = sum(ms > 10 for ms in users)
print(f"p99 of the service times {p99[0]:.1f} ms; longer than 10 ms wait {longer} of 1,000")
lines = {"service": list(enumerate(service)), "users wait": list(enumerate(users))}
plot.curves(lines, x="request", y="ms", title="One slow request, and those that came after it")

# %% [markdown]
# ## 7 · Smaller numbers
#
# The course brings a classifier of handwritten digits: three linear layers, 17,226 parameters, trained on [scikit-learn's digits](https://scikit-learn.org/stable/modules/generated/sklearn.datasets.load_digits.html), with 360 images that it has not seen.
#
# *Quantization* stores each weight in one byte, as an int8 q from −127 to 127 with weight ≈ q · scale.
# *Symmetric* means that 0 stays 0.
# The largest magnitude decides the scale: max |w| / 127.
# For the weights 1, −0.5 and 0.25 the scale is 1/127, and q is 127, −64 (−63.5, rounded to the even number; many libraries round half away from zero) and 32 (31.75).
# One scale for a whole matrix wastes most of the range in rows of small weights; one for each row costs four bytes a row.


# %% nbgrader={"grade": false, "grade_id": "quantize", "locked": false, "schema_version": 3, "solution": true, "task": false}
def quantize(weights, axis=None):
    """Return the weights as int8 and their scale: a tuple (q, scale), weights ≈ q * scale.

    weights: an array of finite floats, not empty, or nested lists of them.
    axis: None for one scale, a float; or an axis along which the largest magnitude is taken, which
    scale keeps with length 1: for a matrix, axis=1 gives a scale of shape (rows, 1).
    scale is the largest magnitude / 127, and 1 where that is 0. q is weights / scale, rounded (half
    to even), from -127 to 127, an array of dtype int8 in the shape of the weights.
    Raises ValueError for no weights, for NaN and for infinity. Computes in float64.

    >>> q, scale = quantize([254.0, -3.0])
    >>> q.tolist(), scale
    ([127, -2], 2.0)
    """
    ### BEGIN SOLUTION
    weights = np.asarray(weights, np.float64)
    if not weights.size or not np.isfinite(weights).all():
        raise ValueError("weights must be finite, and there must be some")
    scale = np.abs(weights).max(axis=axis, keepdims=axis is not None) / 127
    scale = np.where(scale == 0, 1.0, scale)
    q = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return q, (float(scale) if axis is None else scale)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_quantize", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
weights = np.array([[1, -0.5, 0.25], [0.02, 0.01, -0.04]])
q, scale = quantize(weights)
expect("one scale: q", q.tolist(), [[127, -64, 32], [3, 1, -5]])
expect("one scale", scale, 1 / 127)
expect("int8", str(q.dtype), "int8")
expect("halves go to even numbers", quantize([127, 0.5, 1.5, -2.5])[0].tolist(), [127, 0, 2, -2])
tiny, scale = quantize([-2e-9, -1e-9] * 20)
expect("forty tiny weights, all below 0", tiny[:2].tolist(), [-127, -64])
expect("their scale", scale, 2e-9 / 127)
expect("the weights stay as they are", weights.tolist(), [[1.0, -0.5, 0.25], [0.02, 0.01, -0.04]])
### BEGIN HIDDEN TESTS
# vary: 3.0 in 2.46..4.5, 254.0 in 185.0..311.0, 100.0 in 66.7..150.0
q, scale = quantize(np.array([3.0, -254.0, 100.0], np.float32))
expect("the largest magnitude decides, whatever its sign", scale, 2.0)
expect("numbers in float32", q.tolist(), [2, -127, 50])
# vary: 0.25 in 0.05..0.9
expect("weights of one magnitude", quantize([0.25, -0.25])[0].tolist(), [127, -127])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_quantize_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
weights = [[1, -0.5, 0.25], [0.02, 0.01, -0.04]]
q, scale = quantize(weights, axis=1)
expect("a scale for each row: q", q.tolist(), [[127, -64, 32], [64, 32, -127]])
expect("the rows' scales", scale.tolist(), [[1 / 127], [0.04 / 127]])
error = float(np.abs(q * scale - weights)[1].max())
expect("the worst error of the second row, by its own scale", error, 0.02 / 127, rel=1e-6)
q, scale = quantize(weights, axis=0)
expect("a scale for each column: q", q.tolist(), [[127, -127, 127], [3, 3, -20]])
expect("the columns' scales", scale.shape, (1, 3))
zeros = np.array([[0.0, 0.0], [0.0, 254.0]], np.float32)
found = quantize(weights=zeros, axis=1)[1].tolist()
expect("a row of zeros has the scale 1", found, [[1.0], [2.0]])
expect("all zeros", quantize(np.zeros(3))[1], 1.0)
### BEGIN HIDDEN TESTS
cube = np.arange(-12, 12).reshape(2, 3, 4) / 8
q, scale = quantize(cube, axis=2)
expect("the last axis of three", q[1, 2].tolist(), [92, 104, 115, 127])
expect("its scales keep the axis with length 1", scale.shape, (2, 3, 1))
# vary: 4.0 in 2.67..6.0, 2.0 in 1.33..3.0
expect(
    "the axis counts from the end, too",
    quantize([[4.0, 2.0], [1.0, 1.0]], -1)[0].tolist(),
    [[127, 64], [127, 127]],
)
expect(
    "a column of zeros has the scale 1",
    quantize([[0.0, 127.0], [0.0, 63.5]], 0)[1].tolist(),
    [[1.0, 1.0]],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_quantize_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    quantize,
    ("not a number; infinite", [([1.0, float("nan")],), ([1.0, float("-inf")],)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 3.0 in 1.5..9.0
expect("one weight", quantize([-3.0])[0].tolist(), [-127])
# vary: 6.35 in 4.23..9.52
expect("one weight in a matrix has a scale", quantize([[6.35]], 1)[1].tolist(), [[0.05]])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_quantized", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# The classifier's accuracy with weights in float32 and in int8.
from proflab.lesson.digits import accuracy

digits = demos.load_digits()
print(f"float32: {accuracy(digits, digits.weights):.1%} of {len(digits.labels)} images right")
for name, axis in {"one scale a matrix": None, "one scale a row": 1}.items():
    parts = [quantize(weight, axis) for weight in digits.weights]
    approximate = [q * scale for q, scale in parts]
    off = np.concatenate(
        [(a - w).ravel() for a, w in zip(approximate, digits.weights, strict=True)]
    )
    right = accuracy(digits, approximate)
    print(f"int8, {name}: {right:.1%} right, weights off by {np.abs(off).mean():.5f} on average")

# %% [markdown]
# About a quarter of the bytes, and as good.
# *Pruning* sets the weights nearest to zero to exactly zero.
# A zero in a dense array takes as many bytes as any number; only a sparse format leaves it out, and pays with an index for each number that stays.
#
# A suite in section 8 claims that pruning shrank 400 MB to 40.
# How many weights can be left?


# %% nbgrader={"grade": false, "grade_id": "sparse_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sparse_bytes(shape, nonzeros, itemsize=4):
    """Return the bytes of a matrix in CSR format, an int.

    shape: (rows, columns), each at least 1. nonzeros: int, 0 to rows * columns.
    itemsize: bytes of a number, at least 1.
    CSR keeps each nonzero number, its column in 4 bytes, and for each row the place at which it
    begins, in 4 bytes, with one more for the end.
    Raises ValueError for an argument out of range.

    >>> sparse_bytes((2, 3), 4)
    44
    """
    ### BEGIN SOLUTION
    rows, columns = shape
    if min(rows, columns, itemsize) < 1 or not 0 <= nonzeros <= rows * columns:
        raise ValueError(f"no matrix of {rows} × {columns} has {nonzeros} nonzeros")
    return nonzeros * (itemsize + 4) + (rows + 1) * 4
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_sparse_bytes", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    sparse_bytes,
    ("half of 1,000²", ((1000, 1000), 500_000), 4_004_004),
    ("a tenth of 1,000²", ((1000, 1000), 100_000), 804_004),
    ("a tenth of 400 MB", ((10_000, 10_000), 10_000_000), 80_040_004),
    ("a twentieth of 400 MB", ((10_000, 10_000), 5_000_000), 40_040_004),
    ("wide, in bytes of one", ((2, 50), 30, 1), 162),
    ("nothing is left", ((3, 4), 0), 16),
    ("all is left", ((2, 5), 10), 92),
    (
        "more than all, or below 0; no rows, no columns; no bytes",
        [((3, 4), 13), ((3, 4), -1), ((0, 4), 0), ((3, 0), 0), ((3, 4), 2, 0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("all of it", sparse_bytes((3, 4), 12), 112)
# vary: 128 in 85..192, 819 in 546..1_228
expect("rows and columns differ", sparse_bytes((128, 64), 819), 7068)
# vary: 10 in 8..20, 7 in 3..30
expect("numbers of eight bytes", sparse_bytes((10, 5), 7, itemsize=8), 128)
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · Better in what?
#
# A version can be smaller and slower, or faster and worse.
# Where goals conflict there is no best version, but nobody needs a version that another one *beats*, being at least as good in every goal and better in one.
# The rest is the [Pareto front](https://en.wikipedia.org/wiki/Pareto_front).
# A suite (made up) reports
#
# | version | ms | MB | accuracy |
# |---|---|---|---|
# | baseline | 100 | 400 | 75.0 % |
# | quantized | 25 | 100 | 74.5 % |
# | pruned | 30 | 40 | 73.8 % |
# | cached | 20 | 450 | 75.0 % |
#
# By time and accuracy, "cached" beats all others: it is the fastest, and nobody is more accurate.


# %% [markdown]
# <details><summary>Hint 1: who beats whom?</summary>
#
# Write a small function that takes two rows and says whether the first beats the second.
# What does it say of two equal rows, and of two rows of which each is better in something?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# A row stays if that function says no for every other row.
# To handle `larger` like `smaller`, turn its sign around.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "pareto", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pareto(rows, smaller, larger=()):
    """Return the names of the rows that no other row beats, in their order, as a list.

    rows: a list of dicts with "name" and numbers, at least one; no two of one name.
    smaller, larger: lists or tuples of keys; of these values less is better, or more is.
    One row beats another if it is at least as good in all these keys and better in at least one.
    So rows that are equal in all of them do not beat each other.
    Raises ValueError for no rows, for no keys at all, and for a key that a row does not have.

    >>> pareto([{"name": "old", "ms": 5}, {"name": "new", "ms": 3}], ["ms"])
    ['new']
    """
    ### BEGIN SOLUTION
    keys = [*smaller, *larger]
    if not rows or not keys or any(key not in row for row in rows for key in keys):
        raise ValueError(f"there must be rows, and keys that each row has, not {keys}")
    costs = [[row[k] for k in smaller] + [-row[k] for k in larger] for row in rows]

    def beaten(mine):
        return any(
            other != mine and all(o <= m for o, m in zip(other, mine, strict=True))
            for other in costs
        )

    return [row["name"] for row, cost in zip(rows, costs, strict=True) if not beaten(cost)]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_pareto", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
names = ("name", "ms", "mb", "accuracy")
table = [
    ("baseline", 100, 400, 75.0),
    ("quantized", 25, 100, 74.5),
    ("pruned", 30, 40, 73.8),
    ("cached", 20, 450, 75.0),
]
table = [dict(zip(names, row, strict=True)) for row in table]
close = [{"name": "b", "s": 2.0003}, {"name": "a", "s": 2.0004}, {"name": "c", "s": 2.0003}]
expect_table(
    pareto,
    (
        "three goals",
        (table, ["ms", "mb"], ["accuracy"]),
        ["baseline", "quantized", "pruned", "cached"],
    ),
    ("time and accuracy", (table, ("ms",), ("accuracy",)), ["cached"]),
    ("memory and accuracy", (table, ["mb"], ["accuracy"]), ["baseline", "quantized", "pruned"]),
    ("time and memory", (table, ["ms", "mb"]), ["quantized", "pruned", "cached"]),
    ("accuracy alone: equal rows stay", (table, [], ["accuracy"]), ["baseline", "cached"]),
    ("worse by a ten-thousandth", (close, ["s"]), ["b", "c"]),
    ("forty rows", ([{"name": str(n), "s": n} for n in range(40)], ["s"]), ["0"]),
)
expect("the rows stay as they are", [row["name"] for row in table][::3], ["baseline", "cached"])
### BEGIN HIDDEN TESTS
rows = [
    {"name": n, "x": x, "y": y, "z": z}
    for n, x, y, z in [
        ("p", 1, 9, 3),
        ("q", 2, 8, 3),
        ("r", 2, 9, 3),
        ("s", 3, 1, -2),
        ("t", 3, 1, 0),
    ]
]
expect_table(
    pareto,
    ("better in one goal and equal in the other beats", (rows, ["x", "y"]), ["p", "q", "s", "t"]),
    ("a third goal decides between equals", (rows, ["x", "y"], ["z"]), ["p", "q", "t"]),
    ("more is better, also of negative numbers", (rows[3:], (), ("z",)), ["t"]),
    ("the last row may win alone", (rows, ["y"], ["x"]), ["s", "t"]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_pareto_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
twins = [
    {"name": "b", "s": 2, "j": 5},
    {"name": "a", "s": 2, "j": 5},
    {"name": "c", "s": 2, "j": 6},
]
found = pareto(rows=twins, smaller=["s"], larger=["j"])
expect("more of j, the arguments by their names", found, ["c"])
expect_table(
    pareto,
    ("equal in all, or worse in one", (twins, ["s", "j"]), ["b", "a"]),
    ("one row", (twins[2:], ["j"]), ["c"]),
    (
        "no goals; a goal that no row has, or not every row",
        [(twins, [], []), (twins, ["s"], ["accuracy"]), ([*twins, {"name": "d", "s": 3}], ["j"])],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
pair = [{"name": "z", "k": 0.125}, {"name": "y", "k": 0.1251}]
expect_table(
    pareto,
    ("a pair that differs in the fourth digit", (pair, ["k"]), ["z"]),
    ("the same pair, if more is better", (pair, (), ["k"]), ["y"]),
)
### END HIDDEN TESTS

# %% [markdown]
# Now your own suite.
# *Quantized* computes in int8, with sums in int32.
# *Pruned* has half of its weights at zero.
# *Cached* looks each image up in a dict of images that it has already named.
# Each call names the 360 test images, on one thread.
#
# **Predict.** The picture at the top shows what the suite says of the cache.
# How many times as fast as the baseline is the cached version on 360 images that it has never seen?

# %% tags=["guess"]
guess_new_images = None  # your guess: 2 for twice as fast, 0.5 for half as fast

# %% nbgrader={"grade": false, "grade_id": "demo_suite", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Four versions of one classifier in mirrored order: speed, verdict, bytes, accuracy, front.
digits = demos.load_digits()
versions = demos.versions(digits, quantize)
ms = demos.time_versions(versions, digits, lambda names: run_order(names, demo_size(20, 8)))
noise.show_load()
for name, times in ms.items():
    noise.tell(name, times, "ms", interval=confidence_interval, warn=measurement_warnings)
suite = demos.compared(versions, digits, ms, speedup_interval, gate)
for row in suite:
    print("{name:<10}{bytes:8,} bytes{accuracy:6.1f} % right, {verdict}".format(**row))
front = pareto(suite, ["ms", "bytes"], ["accuracy"])
new = speedup_interval(ms["baseline"], ms["new images"], 0.95)
new = noise.Measured(new["speedup"], new["low"], new["high"], noise.is_busy())
guesses.compare("the cache on new images", guess_new_images, new, unit="times")
demos.intervals(suite, front, "Four versions of one classifier, and what the gate says")

# %% [markdown]
# Three surprises. int8 is slower: numpy multiplies float32 by BLAS and integers by a plain loop.
# The pruned version takes as long as before, since zeros are multiplied like other numbers.
# And the cache wins because this benchmark always asks for the same images.
# On new ones it calculates as much as the baseline and looks each image up besides.
# Before you believe a speed-up, ask which inputs were repeated.
#
# And a front takes numbers at face value: a row may stand on it by a microsecond of noise.
# Read it with the verdicts.

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# from torch.utils import benchmark
# x = torch.randn(256, 256)
# found = []
# for code in ("x @ x", "x.T @ x"):
#     timer = benchmark.Timer(code, globals={"x": x}, label="product", description=code)
#     found.append(timer.blocked_autorange())
# benchmark.Compare(found).print()
# ```
#
# [`torch.utils.benchmark`](https://docs.pytorch.org/docs/stable/benchmark_utils.html) chooses the calls a sample, sets the threads to one, synchronizes a GPU, and prints medians as a table.
# It gives no interval of the ratio: order and repetition remain your part.

# %% [markdown]
# ## 9 · What a run costs
#
# Power is in watts, energy in joules: one watt for one second.
# A sensor gives power at some moments, not evenly spaced.
# Join them by straight lines: between 50 W at second 0 and 250 W at second 1 lie 150 W · 1 s = 150 J.
# Mean power times time is wrong if the samples are unevenly spaced.
# An idle machine draws power, too; take it off if you ask what *your* run added.
#
# **Optional.** Add up the energy of a run.


# %% nbgrader={"grade": false, "grade_id": "energy_joules", "locked": false, "schema_version": 3, "solution": true, "task": false}
def energy_joules(samples, idle_watts=0.0):
    """Return the energy of a run in joules, a float, from samples of its power. (Optional.)

    samples: (second, watts) pairs, at least two; seconds, of any sign, rise; watts are not below 0.
    idle_watts: at least 0; what the machine draws without the run, subtracted for all of it.
    Between two samples the power runs in a straight line. The result may be negative, where the
    samples lie below idle_watts.
    Raises ValueError for fewer than two samples, for seconds that do not rise, for negative power,
    and for NaN.

    >>> energy_joules([(0, 100), (3, 200)])
    450.0
    """
    ### BEGIN SOLUTION
    seconds, watts = [second for second, _ in samples], [power for _, power in samples]
    if len(samples) < 2 or any(not power >= 0 for power in [idle_watts, *watts]):
        raise ValueError("energy needs two samples or more, of power that is not negative")
    steps = [
        (seconds[at + 1] - seconds[at], watts[at], watts[at + 1]) for at in range(len(watts) - 1)
    ]
    if any(not step > 0 for step, *_ in steps):  # as NaN is not
        raise ValueError("the samples' seconds must rise")
    return float(sum(step * ((one + two) / 2 - idle_watts) for step, one, two in steps))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_energy_joules", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
run = [(0, 50), (1, 250), (2, 250), (4, 50)]
expect_table(
    energy_joules,
    (
        "four samples",
        (run,),
        700.0,
        {
            "mean power by time, or each sample held since the one before": 600.0,
            "each sample held until the next": 800.0,
        },
    ),
    ("over 50 W when idle", (run, 50), 500.0),
    ("it does not begin at 0", ([(10.5, 8.0), (11.0, 4.0)], 2.0), 2.0),
    ("it begins below 0", ([(-3, 2.0), (-1, 4.0), (0, 4.0)], 1.0), 7.0),
    ("below idle power", ([(0, 10), (2, 20)], 20), -10.0),
    ("a seventh of a second", ([(0, 0.001), (1 / 7, 0.002)],), 0.0015 / 7),
    ("forty samples", ([(n, 2 * n) for n in range(40)],), 1521.0),
)
expect("the samples stay as they are", run, [(0, 50), (1, 250), (2, 250), (4, 50)])
### BEGIN HIDDEN TESTS
# vary: 100 in 66..150, 0.5 in 0.333..0.75, 300 in 200..450, 3.5 in 3.15..3.85
expect(
    "unevenly spaced samples", energy_joules([(0, 100), (0.5, 300), (3.5, 300), (4, 100)]), 1100.0
)
# vary: 80 in 60..120, 30.0 in 10.0..50.0
expect("idle power counts for the whole run", energy_joules([(5, 80), (15, 80)], 30.0), 500.0)
# vary: 400 in 266..600
expect("a spike between two samples of nothing", energy_joules([(0, 0), (1, 400), (2, 0)]), 400.0)
# vary: 3 in 2..9, 7 in 2..14, 2 in 2..9
expect("the energy is not rounded", energy_joules([(0, 1 / 3), (1 / 7, 2 / 3)]), 1 / 14)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_energy_joules_2", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
found = energy_joules(samples=[[0, 0], [2, 6], [3, 0]], idle_watts=0)
expect("lists as samples, the arguments by their names", found, 9.0)
expect_table(
    energy_joules,
    ("two samples are enough", ([(1, 0), (3, 0)],), 0.0),
    (
        "one sample, no samples; whatever else is refused",
        [
            ([(0, 50)],),
            ([(0, 5), (0, 5), (1, 5)],),
            ([(0, -5), (1, 5)],),
            ([(0, 5), (1, -5)],),
            ([(2, 5), (1, 5)],),
            ([(0, 5), (math.nan, 5), (2, 5)],),
            ([(0, 5), (1, math.nan), (2, 5)],),
            ([(0, 5), (1, 5)], math.nan),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    energy_joules,
    # vary: 2 in 2..9
    ("no power at all, over 10 W", ([(0, 0), (2, 0)], 10), -20.0),
    # vary: 3 in 2..9
    ("a sample of nothing at the end", ([(2, 3), (4, 0)],), 3.0),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_energy", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# The carbon of 700 J, and the power of this machine while it names digits.
digits = demos.load_digits()
baseline = demos.versions(digits, quantize)["baseline"]
grams = 700 * 1.2 / 3.6e6 * 400  # J by the centre's overhead (PUE), to kWh, by g of CO2 a kWh
print(f"700 J, a PUE of 1.2, a grid of 400 g/kWh: {grams:.3f} g of CO2")
record = demos.watch_power(lambda: baseline.classify(digits.images), demo_size(3.0, 0.3))
print(record.source)
if record.samples:
    joules = energy_joules(record.samples, record.idle_watts)
    each = 1000 * joules / record.calls
    print(f"{joules:.1f} J over {record.idle_watts:.0f} W idle: {each:.3f} mJ a call")
demos.power(record, example=[(0, 50), (1, 250), (2, 250), (4, 50)])

# %% [markdown]
# The cell reads [RAPL](https://www.kernel.org/doc/html/latest/power/powercap/powercap.html), the energy counter of Intel's and AMD's processors, or else a GPU's own sensor by NVML.
# Where neither can be read, it draws an example.
#
# ## Reflect
#
# A report on training ResNet-50 (made up after such reports) has this table, and below it "2.8× speedup, 74 % faster":
#
# | version | speedup | minutes an epoch |
# |---|---|---|
# | baseline | 1.0× | 120 |
# | + 8 *loader workers* | 1.4× | 86 |
# | + mixed precision | 1.9× | 45 |
# | + batch 32 → 128 | 2.3× | 37 |
# | + torch.compile | 2.8× | 31 |
#
# Does each row agree with itself?
# Printed numbers are rounded: 1.4 stands for anything from 1.35 to 1.45, and 86 min for 85.5 to 86.5.
# From 120 min, 86.5 and 85.5 min are speed-ups of 1.387 and 1.404: these overlap with 1.35 … 1.45, so the row holds.


# %% nbgrader={"grade": false, "grade_id": "audit_speedups", "locked": false, "schema_version": 3, "solution": true, "task": false}
def audit_speedups(rows, base):
    """Return for each row of a published table whether its speed-up and its minutes agree.

    rows: (name, claimed, minutes) tuples, at least one. claimed: the speed-up over base, above 0,
    rounded to one decimal, so up to 0.05 off. minutes: at least 1, rounded to whole minutes, so up
    to 0.5 off.
    base: the minutes of the baseline, above 0, exact.
    Returns a list of dicts: name; minutes, which the claimed speed-up gives; speedup, over the
    base, which the printed minutes give; step, the speed-up of the printed minutes over those of
    the row before (of the first row: over base); holds, True if some speed-up and some minutes
    within the rounding agree (bounds included).
    Raises ValueError for no rows and for a number out of range.

    >>> audit_speedups([("cached", 2.0, 40)], base=80)[0]["holds"]
    True
    """
    ### BEGIN SOLUTION
    if not rows or base <= 0 or any(claimed <= 0 or minutes < 1 for _, claimed, minutes in rows):
        raise ValueError("there must be rows, speed-ups above 0, and a minute at least")
    found, last = [], base
    for name, claimed, minutes in rows:
        slowest, fastest = base / (minutes + 0.5), base / (minutes - 0.5)
        row = {"name": name, "minutes": base / claimed, "speedup": base / minutes}
        row["step"] = last / minutes
        row["holds"] = slowest <= claimed + 0.05 and fastest >= claimed - 0.05
        found.append(row)
        last = minutes
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_audit_speedups", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
table = [
    ("workers", 1.4, 86),
    ("mixed precision", 1.9, 45),
    ("batch", 2.3, 37),
    ("compile", 2.8, 31),
]
found = audit_speedups(rows=table, base=120)
expect("names", [row["name"] for row in found], ["workers", "mixed precision", "batch", "compile"])
expect(
    "minutes by the claim",
    [row["minutes"] for row in found],
    [120 / 1.4, 120 / 1.9, 120 / 2.3, 120 / 2.8],
)
expect(
    "speed-up by the minutes",
    [row["speedup"] for row in found],
    [120 / 86, 120 / 45, 120 / 37, 120 / 31],
)
expect("each step", [row["step"] for row in found], [120 / 86, 86 / 45, 45 / 37, 37 / 31])
expect("which rows hold", [row["holds"] for row in found], [True, False, False, False])
expect_table(
    lambda rows, base: [row["holds"] for row in audit_speedups(rows, base)],
    (
        "within the rounding of both, or not",
        ([("a", 1.5, 67), ("b", 1.5, 70), ("c", 1.5, 69), ("d", 1.5, 64), ("e", 2.0, 48)], 100),
        [True, False, True, False, False],
    ),
    (
        "twenty times slower than the base, or not",
        ([("a", 0.1, 39), ("b", 0.2, 39)], 2),
        [True, False],
    ),
)
expect("the rows stay as they are", [table[0], len(table)], [("workers", 1.4, 86), 4])
### BEGIN HIDDEN TESTS
found = audit_speedups([("x", 2.0, 100), ("y", 4.0, 61), ("z", 3.5, 59)], base=210.0)
expect(
    "speed-ups are over the base, steps over the row before",
    [[row["speedup"], row["step"]] for row in found],
    [[2.1, 2.1], [210 / 61, 100 / 61], [210 / 59, 61 / 59]],
)
expect(
    "a row may fail between two that hold", [row["holds"] for row in found], [False, False, True]
)
expect(
    "few minutes are rounded coarsely",
    [row["holds"] for row in audit_speedups([("a", 3.8, 3), ("b", 2.7, 3)], 10)],
    [True, False],
)
# vary: 1.2 in 1.1..1.5
expect(
    "a claim that is too small fails, too", audit_speedups([("a", 1.2, 50)], 100)[0]["holds"], False
)
expect("slower than the base", audit_speedups([("a", 0.5, 41)], 20)[0]["holds"], True)
# viva: audit_speedups([('cached', 2.0, 40)], base=80)[0]['minutes']
# viva: audit_speedups([('a', 2.0, 40), ('b', 4.0, 25)], base=100)[1]['step']
# viva: audit_speedups([('a', 2.0, 40), ('b', 4.0, 25)], base=100)[1]['speedup']
# viva: audit_speedups([('a', 2.5, 30), ('b', 4.0, 12)], base=60)[0]['minutes']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_audit_speedups_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    audit_speedups,
    (
        "no change",
        ([("same", 1.0, 120)], 120),
        [{"name": "same", "minutes": 120.0, "speedup": 1.0, "step": 1.0, "holds": True}],
    ),
    (
        "the upper bound of the claim is included",
        ([("a", 0.45, 2)], 1.25),
        [{"name": "a", "minutes": 1.25 / 0.45, "speedup": 0.625, "step": 0.625, "holds": True}],
    ),
    (
        "one minute is enough",
        ([("a", 8.0, 1)], 8),
        [{"name": "a", "minutes": 1.0, "speedup": 8.0, "step": 8.0, "holds": True}],
    ),
    (
        "no rows; no speed-up, no minutes, or fewer; no base",
        [
            ([], 120),
            ([("a", 0, 50)], 120),
            ([("a", 1.2, 0)], 120),
            ([("a", 1.2, 50), ("b", 2, -3)], 120),
            ([("a", 1.2, 50)], 0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda rows, base: [row["holds"] for row in audit_speedups(rows, base)],
    # vary: 90 in 60..135
    ("twenty rows", ([("r", 1.0, 90)] * 20, 90), [True] * 20),
    ("claims over one minute", ([("a", 10.0, 1), ("b", 30.0, 1)], 10.0), [True, False]),
)
# vary: 7 in 2..14, 30 in 20..45
found = audit_speedups([("a", 1.5, 7), ("b", 0.4, 30)], base=10.5)
expect("half a minute is in the base", [row["step"] for row in found], [1.5, 7 / 30])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_slip", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Which slip could have made the printed minutes.
claims, printed = [1.0, 1.4, 1.9, 2.3, 2.8], [120, 86, 45, 37, 31]
print("what the claims give:", ", ".join(f"{120 / claim:.1f}" for claim in claims))
wrong = 120 / 1.4 / 1.9  # 1.9 over the baseline, taken for a step over the row before
later = [wrong * 1.9 / claim for claim in claims[2:]]
print("with one slip:       ", ", ".join(f"{value:.1f}" for value in [120, 120 / 1.4, *later]))
over = [86 / claim for claim in claims[2:]]  # these three over the loader's row
print("over the second row: ", ", ".join(f"{value:.1f}" for value in [120, 86, *over]))
print("printed:             ", ", ".join(map(str, printed)))
less = f"31 of 120 min is {120 / 31:.2f} times as fast, {1 - 31 / 120:.0%} less time"
print(f"{less}; 2.8 times as fast would be {1 - 1 / 2.8:.0%} less")
print(f"workers and mixed precision: {120 / 1.9:.0f} min if 1.9 is over the baseline, else 45")

# %% [markdown]
# Two stories fit these minutes.
# One slip: mixed precision's 1.9, meant over the baseline, was applied to the 86 min that already had the loader's 1.4, and everything below inherits it.
# Or 1.9, 2.3 and 2.8 are over the *loader's* row: then the minutes are right, the whole is 3.87 times as fast, and "74 %" less *time* is right, too.
# The table cannot decide; one epoch timed with workers and mixed precision would: 63 or 45 minutes.
#
# **Optional.** A second report (made up, too) fine-tunes LLaMA-7B on a card of 40 GB: in float32 it takes 52 GB, in float16 26 GB, with checkpointing and accumulation 18 GB, with flash attention 14 GB.
# Ordinary full fine-tuning holds weights and gradients.
# How much is that, in GB of 10⁹ bytes, and in those of 1024³ that most tools print?


# %% nbgrader={"grade": false, "grade_id": "audit_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def audit_memory(parameters, rows, gb=10**9):
    """Return for each row whether the memory claimed holds what each parameter needs. (Optional.)

    parameters: int, at least 1.
    rows: (name, bytes_per_parameter, claimed_gb) tuples, at least one; bytes above 0; claimed_gb at
    least 0, rounded to whole GB, so up to 0.5 off.
    gb: how many bytes a GB has, in rows and in the result: 10**9 or 1024**3.
    Returns a list of dicts: name; floor_gb, the GB that the parameters take at least; holds, True
    unless the claim is below that by more than its rounding.
    Raises ValueError for no rows, for a number out of range, and for another gb.

    >>> audit_memory(10**9, [("float32", 4, 3)])
    [{'name': 'float32', 'floor_gb': 4.0, 'holds': False}]
    """
    ### BEGIN SOLUTION
    if not rows or parameters < 1 or any(size <= 0 or claim < 0 for _, size, claim in rows):
        raise ValueError("there must be rows, parameters, and bytes for each of them")
    if gb not in (10**9, 1024**3):
        raise ValueError(f"a GB has 10**9 or 1024**3 bytes, not {gb}")
    floors = [parameters * size / gb for _, size, _ in rows]
    return [
        {"name": name, "floor_gb": floor, "holds": floor <= claimed + 0.5}
        for (name, _, claimed), floor in zip(rows, floors, strict=True)
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_audit_memory", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
llama = 6_738_415_616
rows = [
    ("float32", 8, 52),
    ("float16", 4, 26),
    ("checkpointing", 4, 18),
    ("flash attention", 4, 14),
    ("Adam", 16, 108),
]
found = audit_memory(llama, rows)
expect(
    "GB of weights and gradients; with Adam",
    [row["floor_gb"] for row in found],
    [53.907324928, 26.953662464, 26.953662464, 26.953662464, 107.814649856],
)
expect("which claims hold", [row["holds"] for row in found], [False, False, False, False, True])
expect_table(
    audit_memory,
    (
        "within the rounding",
        (10**9, [("a", 0.5, 0), ("b", 2.6, 2), ("c", 3.5, 3)]),
        [
            {"name": "a", "floor_gb": 0.5, "holds": True},
            {"name": "b", "floor_gb": 2.6, "holds": False},
            {"name": "c", "floor_gb": 3.5, "holds": True},
        ],
    ),
    (
        "one parameter, and a claim of nothing",
        (1, [("a", 2, 0)]),
        [{"name": "a", "floor_gb": 2e-9, "holds": True}],
    ),
)
found = audit_memory(llama, rows=rows[:3], gb=1024**3)
expect(
    "in GB of 1024³ bytes",
    [row["floor_gb"] for row in found],
    [6_738_415_616 / 2**27, 6_738_415_616 / 2**28, 6_738_415_616 / 2**28],
    mistakes={"the unit is ignored": [53.907324928, 26.953662464, 26.953662464]},
)
expect("there the first two hold", [row["holds"] for row in found], [True, True, False])
expect_table(
    audit_memory,
    (
        "a GB of another size; a claim below 0",
        [(10, [("a", 8, 52)], 1000), (10, [("a", 8, -1)])],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    audit_memory,
    (
        "half a byte for each parameter",
        (3 * 10**9, [("4 bits", 0.5, 1)]),
        [{"name": "4 bits", "floor_gb": 1.5, "holds": True}],
    ),
    # vary: 1000 in 666..1_500, 4 in 2..9
    (
        "a floor far below a GB",
        (1000, [("tiny", 4, 0)]),
        [{"name": "tiny", "floor_gb": 4e-6, "holds": True}],
    ),
    (
        "the unit decides",
        (10**10, [("bytes", 1, 9)], 1024**3),
        [{"name": "bytes", "floor_gb": 10**10 / 1024**3, "holds": True}],
    ),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_units", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# The claims of the second report, in both kinds of GB.
reports = [("float32", 8, 52), ("float16", 4, 26), ("checkpointing", 4, 18)]
for unit, gb in (("10⁹", 10**9), ("1024³", 1024**3)):
    for row in audit_memory(6_738_415_616, reports, gb):
        verdict = "holds" if row["holds"] else "does not hold"
        print(f"GB of {unit} bytes, {row['name']}: at least {row['floor_gb']:.1f}, {verdict}")
bare = [13_015_864_320 * size / 1e9 for size in (4, 2)]
print("the bare weights of LLaMA-13B: {:.1f} and {:.1f} GB of 10⁹ bytes".format(*bare))

# %% [markdown]
# The unit decides about the first two rows, and the report does not say which it means; or it took another model's bare weights.

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# Audit one published benchmark of your choice: a table in a paper, a README, a vendor's page.
# Give the link.
#
# 1. What was held equal between the versions (inputs, batch, machine, threads, warm-up), and what was not, or is not said?
# 2. Which rule decided that one is better: one run, a mean, an interval? What would that rule do with two equal programs? Support it with a number from this lesson.
# 3. Check its arithmetic with a function of yours. Which measurement would change your mind, and below which difference would you claim nothing?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_benchmarking", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# Open the link.
#
# - *1 point:* The link opens, and holds the table quoted.
# - *1 point:* Three conditions that were equal.
# - *1 point:* Two that were not, or are not said.
# - *1 point:* One of these could make the result alone, and in which direction.
# - *1 point:* The rule that decided is named: one run, a mean, an interval, or none.
# - *1 point:* Its false alarms or misses as a number, with the cell that printed it (`demo_alarms`, `demo_rules`, `demo_nights`); a number of the lesson that does not fit the rule does not count.
# - *1 point:* A row of the table computed again by a named function, both numbers shown.
# - *1 point:* The verdict respects rounding and names the unit.
# - *1 point:* A measurement whose outcome would change the writer's mind, with versions, order, and rounds or runs.
# - *1 point:* The difference below which nothing would be claimed.
#
# **A good answer (10).** A README's “1.3×”, one run each, in blocks: 28 to 52 % false alarms.
#
# **A poor answer (3: items 1, 2 and 5).** A link to the table, three conditions that were equal, “they took one run, so 87 % of nights are false alarms”.
# (87 % belongs to forty gates, so not item 6.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can say whether a change made a program faster, and how sure you are.
(
    "Half of a classifier's weights are set to zero. Your gate on its speed, after 24 rounds:"
    f" {gate(*demos.times_of_pruned(run_order, rounds=24), tolerance=0.05)}."
)

# %% [markdown]
# ## Summary
#
# - Take turns in mirrored order, or draw the order of each round; compare within rounds; give the speed-up with an interval. <!-- with speedup_interval -->
# - A rank test sees gains that overlapping intervals hide; neither survives calls that come in blocks. <!-- with rank_test -->
# - "No difference found" is not "no difference": say which change would have been too small to matter. <!-- with gate -->
# - More calls make an interval narrower; only fresh runs make it truer. Divide the 5 % among all comparisons. <!-- with runs_interval -->
#
# | symptom | cause | cure |
# |---|---|---|
# | equal programs differ | drift, order | mirrored order, pairs | <!-- with speedup_interval -->
# | each start gives another result | one run | at least six fresh runs | <!-- with runs_interval -->
# | the suite alarms every night | many comparisons | 5 % divided among them, more rounds | <!-- with gate -->
# | users complain, p99 is fine | waiting is not measured | times from the scheduled arrival | <!-- with response_times -->
# | fewer bytes, no gain | the library does not use them | measure on the target | <!-- with quantize -->
#
# Assemble your profiler again: `python my_profiler_alone.py compare "python old.py" "python new.py"` runs two commands in mirrored order, and `gate` with `--json` tells a CI whether to stop. <!-- with gate -->
#
# **Next.** You can now tell whether a change helped. <!-- with lesson 09 -->
# Lesson 09 makes changes that do. <!-- with lesson 09 -->
