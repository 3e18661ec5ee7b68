"""Plans as data: what each rule's simulator counts, and the sentence for what is no plan."""

import itertools

import numpy as np
import pytest
from pace import at_most

from proflab import meta, models
from proflab.checks import expect
from proflab.lesson import race
from proflab.lesson.race.judge import share_of
from proflab.lesson.race.plans import RULES, WORKLOADS, given_cost, judge_plan

CACHE = {"n": 32, "lines": 32, "line": 8}
BUCKETS = {"layers": "resnet18", "alpha_ms": 0.14, "ms_per_byte": 1.75e-7}
LOADER = {"load_ms": "images48", "workers": 4, "room": 8, "step_ms": 9}
SMALL = {"n": 2, "lines": 2, "line": 2}
ROWS = list(itertools.product(range(2), repeat=3))
FOUR = {"layers": [(2, 100), (3, 300), (1, 100), (4, 500)], "alpha_ms": 1, "ms_per_byte": 0.01}
SIX = {"load_ms": [10, 20, 10, 10, 40, 10], "workers": 2, "room": 3, "step_ms": 5}


def blocked(n, i_tile, j_tile, order):
    """Every (i, j, k), tile by tile of C; inside a tile in `order`, such as "kij"."""
    found = []
    for i, j in itertools.product(range(0, n, i_tile), range(0, n, j_tile)):
        axes = {"i": range(i, i + i_tile), "j": range(j, j + j_tile), "k": range(n)}
        rows = np.array(list(itertools.product(*(axes[name] for name in order))))
        found.append(rows[:, [order.index(name) for name in "ijk"]])
    return np.concatenate(found)


def by_size(least):
    """Cuts of ResNet-18's gradients wherever a bucket has this many bytes."""
    cuts, waiting = [], 0
    for at, (_, size) in enumerate(WORKLOADS["resnet18"]):
        waiting += size
        if waiting >= least or at == 61:
            cuts.append(at)
            waiting = 0
    return cuts


def cost(rule, parameters, plan):
    return judge_plan(plan, rule, parameters, given_cost(rule, parameters))["ms"]


def refused(rule, parameters, plan):
    return judge_plan(plan, rule, parameters, 1e9)["refused"]


# ── what is counted ──────────────────────────────────────────────────────────────────────────


def test_the_order_of_a_product():
    assert given_cost("cache", CACHE) == 33_024
    assert cost("cache", CACHE, blocked(32, 32, 32, "ikj")) == 4_352
    assert cost("cache", CACHE, blocked(32, 8, 16, "kij")) == 896
    assert given_cost("cache", {"n": 32, "lines": 64, "line": 4}) == 8_704


@pytest.mark.whole
def test_tiles_of_eight():
    rows = [
        (i + a, j + b, k + c)
        for i, j, k in itertools.product(range(0, 32, 8), repeat=3)
        for a, b, c in itertools.product(range(8), repeat=3)
    ]
    assert cost("cache", CACHE, rows) == 1_152
    assert cost("cache", CACHE, np.array(rows, np.uint8)) == 1_152


def test_a_cache_by_hand():
    # Lines: A 0, 1 and B 2, 3 and C 4, 5. With room for one line, each of 24 uses is a miss.
    assert cost("cache", SMALL | {"lines": 1}, ROWS) == 24
    # With room for three, ikj misses 0, 2, 4; 3 (0 goes back to its place); 1, 2, 5; 3.
    assert cost("cache", SMALL | {"lines": 3}, blocked(2, 2, 2, "ikj")) == 8
    assert given_cost("cache", SMALL | {"lines": 6}) == 6


def test_buckets_of_gradients():
    assert sum(size for _, size in WORKLOADS["resnet18"]) == 4 * 11_689_512
    assert given_cost("buckets", BUCKETS) == pytest.approx(18.100, abs=5e-4)
    for least, ms in ((25e6, 14.914), (10e6, 12.825), (1e6, 12.224), (1e9, 20.323)):
        assert cost("buckets", BUCKETS, by_size(least)) == pytest.approx(ms, abs=5e-4)


def test_the_gradients_of_resnet50_are_the_models():
    with meta():
        sizes = [4 * p.numel() for p in models.resnet50().parameters()]
    assert sorted(size for _, size in WORKLOADS["resnet50"]) == sorted(sizes)
    assert [size for _, size in WORKLOADS["resnet50"]][:2] == [4_000, 8_192_000]
    assert sum(ms for ms, _ in WORKLOADS["resnet50"]) == pytest.approx(20)


def test_no_random_search_finds_the_best_buckets_of_161_gradients():
    """Of 100,000 random plans, many with few cuts and many with many, none is within 2 %."""
    layers, rng = WORKLOADS["resnet50"], np.random.default_rng(0)
    best = np.inf
    for part in np.repeat([0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7], 2):
        cuts = rng.random((5_000, len(layers))) < part
        cuts[:, -1] = True
        now, free, waiting = 0.0, np.zeros(len(cuts)), np.zeros(len(cuts))
        for (ms, size), cut in zip(layers, cuts.T, strict=True):
            now, waiting = now + ms, waiting + size
            sent = np.maximum(now, free) + 0.14 + waiting * 1.75e-7
            free, waiting = np.where(cut, sent, free), np.where(cut, 0.0, waiting)
        best = min(best, float(np.maximum(now, free).min()))
    cuts = [0, 1, 6, 10, 18, 27, 48, 83, 127, 160]
    assert cost("buckets", BUCKETS | {"layers": "resnet50"}, cuts) == pytest.approx(
        20.302, abs=5e-4
    )
    assert best > 1.02 * 20.302


def test_buckets_by_hand():
    # Gradients are there at 2, 5, 6, 10; sending takes 1 and a ms for 100 bytes.
    assert given_cost("buckets", FOUR) == 10 + 1 + 5 + 1  # 4, 9, 11, 17
    assert cost("buckets", FOUR, [1, 3]) == max(10, 5 + 5) + 7
    assert cost("buckets", FOUR, [3]) == 10 + 11
    assert cost("buckets", FOUR, np.array([3, 2])) == max(10, 6 + 6) + 6


def test_buckets_are_a_set_of_ends():
    """Neither their order nor one that stands twice says anything new: one rule for both."""
    for plan in ([1, 3], [3, 1], [1, 3, 3], [3, 1, 1, 3], np.array([3, 1], np.uint8)):
        assert cost("buckets", FOUR, plan) == cost("buckets", FOUR, [1, 3])


def test_owners_of_batches():
    assert given_cost("loader", LOADER) == 768
    assert cost("loader", LOADER, [0] * 48) == 2_039
    free, taken, now, owners = [0.0] * 4, [], 0.0, []
    for batch, ms in enumerate(WORKLOADS["images48"]):
        owner = free.index(min(free))
        start = max(free[owner], taken[batch - 8] if batch >= 8 else 0.0)
        free[owner] = start + ms
        taken.append(max(now, free[owner]))
        now = taken[-1] + 9
        owners.append(owner)
    assert cost("loader", LOADER, owners) == now == 617


def test_owners_by_hand():
    # Batches are there at 10, 20, 20, 30, 60, 40: batch 3 waits for room until 10, and so on.
    assert given_cost("loader", SIX) == 60 + 5 + 5
    # All by one worker: 10, 30, 40, 50, 90, 100.
    assert cost("loader", SIX, [1] * 6) == 105
    # The other worker waits for room until batch 0 is taken, at 10, and has its own at 50.
    assert cost("loader", SIX | {"load_ms": [10, 10, 10, 40]}, [0, 0, 0, 1]) == 50 + 5


# ── what is said ─────────────────────────────────────────────────────────────────────────────


def test_what_is_left_and_which_mistakes_are_named():
    found = judge_plan([61], "buckets", BUCKETS, 18.1)
    assert found["mistake"].startswith("nothing overlaps: the only bucket is full")
    assert "8.323 ms after the end of backward" in found["largest"]
    found = judge_plan([0] * 48, "loader", LOADER, 768)
    assert found["mistake"] == "one worker does it all"
    assert found["largest"].startswith("steps wait 1,607 ms, longest for batch ")
    found = judge_plan(blocked(32, 32, 32, "ikj"), "cache", CACHE, 33_024)
    assert found["largest"] == "largest: 94 %, 4,096 misses of B, whose lines are 128"
    assert share_of(found, 914) == pytest.approx(0.56, abs=0.01)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (None, "an order is a list or an array of (i, j, k), not None"),
        ("order", "an order is a list or an array of (i, j, k), not 'order'"),
        (ROWS[:7], "an order of 2 × 2 × 2 has 8 rows (i, j, k), not 7"),
        (np.array(5), "an order of 2 × 2 × 2 has 8 rows (i, j, k), not 0"),
        ([0] * 8, "a row (i, j, k) is a list, not 0"),
        ([(0, 0)] * 8, "a row is (i, j, k), not [0, 0]"),
        (np.zeros((8, 2), int), "an order has shape (8, 3), not (8, 2)"),
        (np.full((8, 3), np.nan), "an order holds whole numbers, not float64"),
        ([*ROWS[:7], (1, 1, 1.0)], "a row (i, j, k) holds whole numbers, not 1"),
        ([*ROWS[:7], (1, 1, float("nan"))], "a row (i, j, k) holds whole numbers, not nan"),
        ([*ROWS[:7], (1, 1, True)], "a row (i, j, k) holds whole numbers, not True"),
        (np.ones((8, 3), bool), "an order holds whole numbers, not bool"),
        ([*ROWS[:7], (1, 1, 10**70)], "lies outside 2 × 2 × 2"),
        (np.array(ROWS, np.uint64) - np.uint64(1), "lies outside 2 × 2 × 2"),
        (
            [*ROWS[:7], (0, 0, 0)],
            "every (i, j, k) once: (0, 0, 0) stands more than once, (1, 1, 1) nowhere",
        ),
    ],
)
def test_what_is_no_order(plan, sentence):
    assert sentence in refused("cache", SMALL, plan)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (None, "a list of cuts is a list, not None"),
        ([], "the last gradient, 3, is never sent"),
        ([0, 1], "the last gradient, 3, is never sent"),
        ([4], "the gradients are 0 to 3; there is no 4"),
        ([-1], "there is no -1"),
        ([3.0], "holds whole numbers, not 3"),
        ([True, 3], "holds whole numbers, not True"),
        ([10**70, 3], "there is no"),
        (np.zeros(10_000_000, "int8"), "and so no 10,000,000 buckets"),
        (np.array([[3]]), "not an array of shape (1, 1)"),
    ],
)
def test_what_are_no_buckets(plan, sentence):
    assert sentence in refused("buckets", FOUR, plan)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (None, "a list of workers is a list, not None"),
        ([0] * 5, "there are 6 batches, and 5 have a worker"),
        ([2] * 6, "the workers are 0 to 1; there is no 2"),
        ([-1] * 6, "there is no -1"),
        ([0.0] * 6, "holds whole numbers, not 0"),
        ([False] * 6, "holds whole numbers, not False"),
        (np.zeros(6), "holds whole numbers, not float64"),
    ],
)
def test_what_are_no_owners(plan, sentence):
    assert sentence in refused("loader", SIX, plan)


def test_a_plan_is_judged_in_less_than_a_second():
    with at_most(paces=60):
        judge_plan(RULES["cache"].given(**CACHE), "cache", CACHE, 33_024)
        refused("cache", CACHE, [(0, 0, 0)] * 1_000_000)


def test_a_rule_has_a_limit_for_its_own_size():
    assert "too large" in refused("cache", CACHE | {"n": 500}, [])


# ── in a notebook ────────────────────────────────────────────────────────────────────────────


def test_a_notebook_shows_the_cost_and_keeps_the_share(capsys, monkeypatch):
    monkeypatch.setattr(expect, "shares", {})

    def show(plan):
        expect.expect_cheaper("four", plan, rule="buckets", **FOUR, given=17, full=15)
        return capsys.readouterr().out

    assert show([3]) == (
        "🏁 four: 17 → 21 ms of a step: 0 % of the way\n"
        "   11 ms after the end of backward; the all-reduces, 1, take 1 ms to start and 10 ms for "
        "their bytes; none runs for 10 ms; nothing overlaps: the only bucket is full when backward "
        "has ended\n"
    )
    assert expect.shares[""]["four"] == 0
    assert show((1, 3)).startswith("🏁 four: 17 → 17 ms of a step: 0 %")
    with pytest.raises(expect.CaseFailed, match="❌ four: the last gradient, 3, is never sent"):
        show([1])
    with pytest.raises(expect.CaseFailed, match="a value of type set is not plain data"):
        show({3})


def test_the_picture_says_where_a_plan_stands():
    drawn = race.plan_picture(by_size(10e6), "buckets", full=12.16, floor=12.15, **BUCKETS)
    assert "ms of a step" in drawn.alt
    assert "given 18.1, yours 12.82, full marks 12.16, floor 12.15" in drawn.alt
    with pytest.raises(race.Refused, match="the last gradient, 61, is never sent"):
        race.plan_picture([1], "buckets", full=12.16, **BUCKETS)
