"""The picture of a race: names at its marks, a direction, and this session's tries as a trail."""

import pytest
from race_tapes import solved_op_facts

from proflab import stack
from proflab.checks import expect
from proflab.lesson import race
from proflab.lesson.race import show, traced, trail
from proflab.nn import functional as F

SHAPES = {"x": (64, 32, 64), "w": (64, 64, 64), "b": (64, 64)}
FOUR = {"layers": [(2, 100), (3, 300), (1, 100), (4, 500)], "alpha_ms": 1, "ms_per_byte": 0.01}


def slow(x, w, b):
    return stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def looped(x, w, b):
    return F.relu(stack([x[e] @ w[e] for e in range(64)]) + b[:, None])


def batched(x, w, b):
    return F.relu(x @ w + b[:, None])


@pytest.fixture(autouse=True)
def session(monkeypatch):
    monkeypatch.setattr(trail, "_tries", {})
    monkeypatch.setattr(expect, "shares", {})
    monkeypatch.setitem(show.counting, "op_facts", solved_op_facts())


def run(program, **shapes):
    tape = traced(program, **(shapes or SHAPES))
    expect.expect_faster("experts", tape, like=slow, machine="T4", full=0.02872)


def drawn(program, **options):
    return race.picture(slow, program, "T4", 0.02872, **options, **SHAPES)


def texts_of(picture):
    [axes] = picture.figure.axes
    return [text.get_text() for text in axes.texts]


def test_all_tries_of_the_session_stand_in_order():
    run(slow), run(looped), run(looped), run(batched)
    shown = drawn(batched)
    assert "Your tries, in order: 0.9814, 0.3514, 0.02816." in shown.alt
    assert texts_of(shown)[-3:] == ["try 1: 0.9814", "try 2: 0.3514", "yours 0.02816"]


def test_a_floor_that_the_race_says_stands_in_the_picture():
    assert "floor 0.0116." in drawn(batched).alt
    assert "floor 0.02." in drawn(batched, floor=0.02).alt


def test_a_wrong_try_leaves_no_mark_and_another_size_is_another_race():
    with pytest.raises(expect.CaseFailed):
        run(lambda x, w, b: x @ w)
    run(looped, x=(64, 8, 8), w=(64, 8, 8), b=(64, 8))
    assert "in order" not in drawn(batched).alt


def test_a_program_that_the_machine_refuses_now_is_not_yours():
    run(looped)
    refused = drawn(lambda x, w, b: x.zero_())
    assert "yours" not in refused.alt and texts_of(refused)[-1] == "try 1: 0.3514"


def test_a_program_that_is_not_judged_yet_is_the_last_of_the_trail():
    run(looped)
    assert "in order: 0.3514, 0.02816" in drawn(batched).alt


def test_of_many_tries_the_last_are_drawn_by_their_numbers():
    for n in range(1, 31):
        trail.note(trail.plan_race_of("buckets", FOUR), 17 + n)
    shown = race.plan_picture([3], "buckets", full=15, **FOUR)
    assert texts_of(shown)[-2:] == ["try 30: 47", "yours 21"]
    assert sum("try" in text for text in texts_of(shown)) == 11


def test_names_stand_at_the_marks_and_no_two_meet():
    shown = drawn(batched, best=0.0284)
    [axes] = shown.figure.axes
    assert axes.get_legend() is None
    names = {text.get_text().split("\n")[0]: text for text in axes.texts}
    assert {"given", "full marks", "best known", "floor"} <= names.keys()
    shown.figure.canvas.draw()
    boxes = [names[name].get_window_extent() for name in ("full marks", "best known", "floor")]
    assert not any(a.overlaps(b) for at, a in enumerate(boxes) for b in boxes[:at])


def test_the_axis_says_where_it_is_cheaper_and_the_floor_alone_is_a_bound():
    shown = drawn(batched, best=0.024)
    [axes] = shown.figure.axes
    left, right = axes.get_xlim()
    assert left < right and axes.get_xlabel().startswith("← cheaper")
    assert "cheaper to the left" in shown.alt and "best known 0.024" in shown.alt
    [shaded] = axes.patches  # only what no program can reach
    assert shaded.get_x() + shaded.get_width() == pytest.approx(0.0116, rel=1e-3)


def test_a_plan_has_a_trail_too():
    for plan in ([3], [0, 1, 2, 3], [1, 3]):
        expect.expect_cheaper("four", plan, rule="buckets", **FOUR, given=17, full=15)
    shown = race.plan_picture([2, 3], "buckets", full=15, **FOUR)
    assert "Your tries, in order: 21, 17, 18." in shown.alt  # two of 17 are one
