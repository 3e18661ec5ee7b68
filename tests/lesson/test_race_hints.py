"""What a race says of a program that is right: which line can still fall, and when none can."""

import math

import numpy as np
import pytest
from race_tapes import solved_op_facts

import proflab
from proflab.checks import expect
from proflab.lesson.race import show, traced
from proflab.lesson.race.hints import texts
from proflab.lesson.race.judge import judge
from proflab.nn import functional as F

ROWS = {"x": (1024, 512), "gain": (512,), "bias": (512,)}
FIVE = {**dict.fromkeys("abcd", (512, 512)), "x": (512, 8)}


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


def by_hand(x, gain, bias):
    x = x.to(np.float64)
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) / (variance + 1e-5).sqrt() * gain + bias
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return (0.5 * y * (1 + inner.tanh())).to(np.float32)


def norm_fused(x, gain, bias):
    y = F.layer_norm(x, (x.shape[-1],), gain, bias)
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return 0.5 * y * (1 + inner.tanh())


def both_fused(x, gain, bias):
    y = F.layer_norm(x, (x.shape[-1],), gain, bias)
    return F.gelu(y, approximate="tanh")


def left_to_right(a, b, c, d, x):
    return (a @ b + c @ d) @ x


def half_mended(a, b, c, d, x):
    long = a @ b @ x
    return long + c @ (d @ x)


def from_the_right(a, b, c, d, x):
    return a @ (b @ x) + c @ (d @ x)


def said(program, given, op_facts, floor=None, lines=True, **shapes):
    tape = traced(program, **shapes)
    handed = tape if lines else list(tape)
    found = judge(handed, traced(given, **shapes), op_facts, "DESK", floor=floor)
    return texts(found, (lambda at: show.line_of(tape, at)) if lines else None)


def test_the_line_that_is_farthest_above_its_own_floor_is_named(op_facts):
    first, second = said(by_hand, by_hand, op_facts, **ROWS)
    assert first.endswith("return (0.5 * y * (1 + inner.tanh())).to(np.float32)")
    assert second == "it computes in float64: x = x.to(np.float64)"
    [only] = said(norm_fused, by_hand, op_facts, **ROWS)
    assert only.startswith("can still fall: ") and "% of the cost, bytes of 2 × mul" in only
    assert only.endswith("inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)")


def test_what_is_large_and_at_its_floor_is_not_named(op_facts):
    """A norm that reads its input once is half of what is left, and cannot fall."""

    def one_more(x, gain, bias):
        y = F.layer_norm(x, (x.shape[-1],), gain, bias)
        small = y[:256] * 2
        return proflab.cat([small, y[256:]], 0)

    for hint in said(one_more, by_hand, op_facts, **ROWS):
        assert "layer_norm" not in hint


@pytest.mark.parametrize("program", [left_to_right, half_mended])
def test_products_are_named_where_nothing_else_is_left(program, op_facts):
    [only] = said(program, left_to_right, op_facts, **FIVE)
    assert "of the cost is FLOPs of products" in only and "can there be fewer" in only
    if program is half_mended:
        assert only.endswith("long = a @ b @ x")


def test_where_nothing_is_left_it_is_said(op_facts):
    assert said(from_the_right, left_to_right, op_facts, **FIVE) == [
        "nothing is left that is worth a tenth of the cost: the rest is inputs to read, results to "
        "write and products"
    ]


def test_a_program_within_a_tenth_of_the_floor_has_nothing_left(op_facts):
    shown = said(both_fused, by_hand, op_facts, **ROWS)
    assert shown[0].startswith("can still fall: ")  # y is written, and read again
    near = said(both_fused, by_hand, op_facts, floor=0.8, **ROWS)
    assert near[0].startswith("nothing is left that is worth a tenth of the cost")


def on_lines_of_their_own(*steps):
    """Return a program that does each of these steps to x, each in a line of its own."""
    body = "".join(f"    x = {step}\n" for step in steps)
    scope = {"F": F}
    exec(compile(f"def many(x):\n{body}    return x\n", "many.py", "exec"), scope)
    return scope["many"]


def test_an_op_on_many_lines_is_named_where_none_of_them_is_a_tenth(op_facts):
    """Of thirty equal passes none is a tenth of the cost, and one could do it all."""
    many = on_lines_of_their_own(*[f"x * {n}.0" for n in range(1, 31)])
    assert said(many, lambda x: x + 0, op_facts, x=(512, 512)) == [
        "can still fall: 97 % of the cost, bytes of 30 × mul, on all lines together"
    ]


def test_an_op_on_many_lines_is_named_beside_a_line_that_is_worth_far_less(op_facts):
    many = on_lines_of_their_own(*[f"x * {n}.0" for n in range(1, 9)])
    line, kind = said(many, lambda x: x + 0, op_facts, x=(512, 512))
    assert line.endswith("bytes of 1 × mul: line 3")
    assert kind == "can still fall: 88 % of the cost, bytes of 8 × mul, on all lines together"
    two = on_lines_of_their_own("x * 2.0", "x.exp()", "x * 3.0", "x.sin()")
    assert not [hint for hint in said(two, lambda x: x + 0, op_facts, x=(512, 512))
                if "together" in hint]  # fmt: skip


def test_where_all_is_scattered_nobody_is_told_that_nothing_is_left(op_facts):
    ops = "x.exp()", "x.sin()", "x.cos()", "x.tanh()", "x.sqrt()", "x.log()", "x.abs()", "-x"
    ops += "x + 2.0", "x * 2.0", "x - 2.0", "x / 2.0", "F.relu(x)", "x.sigmoid()"
    [only] = said(on_lines_of_their_own(*ops), lambda x: x + 0, op_facts, x=(512, 512))
    assert only.startswith("can still fall: 91 % of the cost, but no line and no kind of op ")


def test_without_lines_equal_ops_stand_for_one(op_facts):
    """The grader has no lines: a hidden case's feedback names ops."""
    [only] = said(norm_fused, by_hand, op_facts, lines=False, **ROWS)
    assert only.startswith("can still fall: ") and only.endswith("bytes of 3 × mul")


def test_what_is_borrowed_from_earlier_lessons_is_on_the_line_that_calls_it(op_facts):
    def borrows(x, gain, bias):
        y = F.layer_norm(x, (512,), gain, bias)
        return twice(y)

    scope = {"__name__": "built"}
    exec(compile("def twice(x):\n    return x * 2 * 2\n", "built.py", "exec"), scope)
    twice = scope["twice"]
    [hint] = said(borrows, by_hand, op_facts, **ROWS)
    assert hint.endswith("return twice(y)")


# ── between memories, and with gradients ─────────────────────────────────────────────────────


def test_a_refused_program_is_shown_with_what_fills_the_memory(op_facts, monkeypatch):
    def held(x):
        kept = x.clone()
        wide = kept @ kept.T
        out = proflab.zeros(64, 64)
        out[:] = wide * 2
        return out

    def fits(x):
        out = proflab.zeros(64, 64)
        for low in range(0, 64, 16):
            out[low : low + 16] = x[low : low + 16].clone() @ x.clone().T
        return out

    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    tape = traced(held, x=(64, 32))
    with pytest.raises(expect.CaseFailed) as failed:
        expect.expect_faster("small", tape, like=fits, machine="DESK", full=1, fast=20_000)
    lines = str(failed.value).splitlines()
    assert lines[0].startswith("❌ small: out of memory: 24,576 bytes live at operation")
    assert lines[1:] == [
        "   at: wide = kept @ kept.T",
        "        16,384 bytes: wide = kept @ kept.T",
        "         8,192 bytes: kept = x.clone()",
    ]


def test_what_backward_runs_again_is_named_and_a_backward_is_on_its_forward_s_line(op_facts):
    class Again(proflab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp().sin()

        @staticmethod
        def backward(ctx, grad):
            [x] = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with proflab.enable_grad():
                x.exp().sin().backward(grad)
            return x.grad

    def step(again):
        def program(x):
            x.requires_grad_()
            made = Again.apply(x) if again else x.exp().sin()
            made.square().mean().backward()
            return [x.grad]

        return program

    wide = {"x": (512, 512)}
    tape = traced(step(True), training=True, **wide)
    found = judge(tape, traced(step(True), training=True, **wide), op_facts, "DESK")
    assert "of the cost, what backward runs again (1 × exp, 1 × sin" in texts(found)[0]
    once = traced(step(False), training=True, **wide)
    found = judge(once, tape.traced_with(step(True)), op_facts, "DESK")
    [hint] = texts(found, lambda at: show.line_of(once, at))
    assert "runs again" not in hint
    assert hint.endswith("made = Again.apply(x) if again else x.exp().sin()")


def in_turn(x, w):
    kept, y = x, x
    for _ in range(40):
        y = (y @ w).tanh()
        kept = proflab.cat([kept, y])
    return kept


def in_a_room(x, w):
    kept, y = proflab.zeros(41, 64), x
    kept[:1] = x
    for place in range(1, 41):
        y = (y @ w).tanh()
        kept[place : place + 1] = y
    return kept


def at_once(x, w):
    return proflab.stack([F.relu(x @ w) for _ in range(41)])[:, 0]


def test_products_that_wait_for_each_other_are_not_what_can_fall(op_facts):
    shapes = {"x": (1, 64), "w": (64, 64)}
    first, *_ = said(in_turn, in_turn, op_facts, **shapes)
    assert "× cat" in first and first.endswith("kept = proflab.cat([kept, y])")
    first, *_ = said(at_once, at_once, op_facts, **shapes)
    assert "overhead of 41 × matmul" in first
    told = said(in_a_room, in_turn, op_facts, **shapes)
    assert not any("× matmul" in each for each in told)
