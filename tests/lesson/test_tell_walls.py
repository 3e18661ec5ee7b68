"""Sentences about roofs and walls: each outcome of what was measured has its own."""

import pytest

from proflab.lesson import tell_walls
from proflab.lesson.hardware import Cache


def point(name, share, efficiency=0.5, intensity=10.0, speed=1e9):
    return {
        "name": name, "share": share, "efficiency": efficiency,
        "intensity": intensity, "flops_per_second": speed,
    }  # fmt: skip


def row(op, module, ms, wall, share, flops=12, moved=8):
    return {
        "op": op, "module": module, "self_ms": ms, "wall": wall, "share": share,
        "matmul_flops": 0, "elementwise_flops": flops, "bytes_read": moved, "bytes_written": 0,
    }  # fmt: skip


def test_things_are_counted_in_one_or_many():
    said = [tell_walls.counted(n, "token") for n in (0, 1, 2, 4096)]
    assert said == ["0 tokens", "1 token", "2 tokens", "4,096 tokens"]


def test_bests_are_set_against_that_of_the_first():
    rates = {"a": (1e9, 1e9, 4e9), "b": (1e9, 1e9, 2e9), "c": (1e9, 5e9, 10e9)}
    assert tell_walls.against_first(rates) == (
        "b: 0.5 times the best of a\nc: 2.5 times the best of a"
    )
    assert tell_walls.against_first({"a": (1e9, 1e9, 1e9)}) == ""


def test_a_drop_is_claimed_only_beyond_the_spread():
    cache, clear = Cache(2, 2**20), {2**19: (8e9, 8e9, 9e9), 2**22: (1e9, 2e9, 3e9)}
    first, second = tell_walls.levels(clear, [cache], 2.4e-7).splitlines()
    assert first == "one thread; a copy of 8 bytes takes 240 ns, which is the call"
    assert second == "L2, 1 MB      in it    8.0 GB/s, beyond    2.0 GB/s: a drop"
    noisy = clear | {2**22: (1e9, 2e9, 8.5e9)}
    assert tell_walls.levels(noisy, [cache], 1e-7).endswith("GB/s: no drop beyond the spread")
    assert tell_walls.levels(clear, [], 1e-7).endswith("read them off the steps")


@pytest.mark.parametrize(
    "two, said",
    [
        ((18e9, 19e9, 20e9), "2.00 times one thread's best, more than the spread"),
        ((9e9, 10e9, 11e9), "1.10 times one thread's best, no more than the spread"),
        ((4e9, 9e9, 15e9), "1.50 times one thread's best, no more than the spread"),
        ((5e9, 5e9, 5e9), "0.50 times one thread's best, no more than the spread"),
    ],
)
def test_more_threads_gain_only_beyond_the_spread(two, said):
    rates = {"1 thread": (8e9, 9e9, 10e9), "2 threads": two}
    lines = tell_walls.by_threads(rates, 2**27).splitlines()
    assert lines[0] == (
        "working set 128 MB; one thread: best 10 GB/s, the worst of the rounds 20% below"
    )
    assert lines[1] == f"2 threads: {said} of the rounds"
    assert tell_walls.by_threads({"1 thread": rates["1 thread"]}, 2**27) == lines[0]


def test_extremes_are_found_each_by_its_own_figure():
    points = [point("a", 0.5, 0.4), point("b x", 0.2, 1.9), point("c", 0.1, 0.00123)]
    assert tell_walls.extremes(points).splitlines() == [
        "most time: a, 50%, at 40% of its roof",
        "nearest to its roof: b x, 190%",
        "furthest below: c, 0.12%",
        "without a place: 20.0% of the time, in operations that only move or look",
    ]
    # What is left by rounding alone is nothing, and not less.
    assert "without a place: 0.0%" in tell_walls.extremes([point("a", 1.0 + 1e-9)])


def test_an_op_is_set_against_the_rest():
    points = [
        point("conv2d a", 0.6, 0.3, 12.0, 3e9), point("conv2d b", 0.2, 0.7, 166.0, 5e9),
        point("add", 0.1, 0.9, 0.1, 7e9),
    ]  # fmt: skip
    assert tell_walls.against_rest(points, "conv2d", "convolutions").splitlines() == [
        "convolutions: 12 to 166 FLOPs a byte, at 30% to 70% of their roof",
        "everything else: 20% of the time, 20.0% of the FLOPs",
    ]


def test_additions_at_one_wall_are_said_together():
    rows = [
        (16, 2e-6, 1e-9, "overhead"), (64, 2e-6, 1e-8, "overhead"),
        (4096, 3e-6, 1e-6, "memory"), (16384, 9e-5, 1e-6, "overhead"),
    ]  # fmt: skip
    assert tell_walls.additions(rows, 2.5).splitlines() == [
        "overhead: additions of 16 to 64 numbers",
        "memory: additions of 4,096 to 4,096 numbers",
        "overhead: additions of 16,384 to 16,384 numbers",
        "the smallest takes 2.0 µs: 500,000 a second",
        "the largest: 2.50 times as long with a new result as into an old one",
    ]


def test_verdicts_stand_in_a_table_longest_first_without_the_short_ones():
    rows = [
        row("add", "", 3.0, "memory", 0.3), row("linear", "fc", 5.0, "compute", 0.5),
        row("view", "", 2.0, "overhead", 0.2, 0, 0), row("mul", "", 0.1, "memory", 0.02),
    ]  # fmt: skip
    assert [line.split() for line in tell_walls.verdicts("GPT-2", rows).splitlines()] == [
        ["GPT-2", "ms", "FLOPs/byte", "wall"],
        ["linear", "fc", "5.00", "1.5", "compute"],
        ["add", "3.00", "1.5", "memory"],
        ["view", "2.00", "–", "overhead"],
    ]


def test_a_step_is_said_with_its_figures():
    figures = {"times_ms": [90.0, 100.0, 130.0], "busy_ms": 80.0, "matmul_ms": 60.0}
    figures |= {"matmul_flops": 3e9, "peak_flops": 100e9}
    assert tell_walls.step("GPT-2", "near peak", figures) == (
        "GPT-2      near peak     median 100 ms, 80% in operations, of which 75% in products,"
        " at 50% of the peak"
    )


def test_law_and_clock_are_compared_where_there_are_threads():
    lines = tell_walls.threads({1: (60.0, 40.0), 4: (30.0, 50.0)}, 2.5, 1.43).splitlines()
    assert lines == [
        "GPT-2: ms on one thread and on 4",
        "products       60.0     30.0",
        "all else       40.0     50.0",
        "with endless threads for the products: 2.50 times as fast",
        "products 2.00 times as fast; so the whole 1.43 times, says the law,"
        " and 1.25, says the clock",
    ]
    alone = tell_walls.threads({1: (60.0, 40.0)}, 2.5, 1.0).splitlines()
    assert alone[0] == "GPT-2: ms on one thread" and len(alone) == 5
    assert alone[-1] == "there is one thread only, or its number cannot be set"
