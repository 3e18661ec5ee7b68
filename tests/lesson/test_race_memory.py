"""Races whose wall is memory: two memories, a limit of bytes, and what the notebook shows."""

import math
import re
from functools import cache, partial

import pytest
from cohort.attacks.racing import MEMORY_ATTACKS
from race_tapes import crossed, solved_op_facts

import proflab
from proflab import Tensor, autograd, dispatch, nn
from proflab.checks import expect
from proflab.checks.values import dumps, loads
from proflab.lesson import race
from proflab.lesson.race import Refused, show, traced, trail
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.hints import texts
from proflab.lesson.race.judge import judge, share_of, told

DESK = MACHINES["DESK"]


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


# ── two memories ─────────────────────────────────────────────────────────────────────────────


def tiled(q, k, v, *, rows, keys, causal=False, thrifty=False, parts=1):
    """Attention by tiles; thrifty: in place, with V's columns loaded in so many parts."""
    seq, width = q.shape
    out, step = proflab.zeros(seq, width), width // parts
    for low in range(0, seq, rows):
        mine = q[low : low + rows].clone()
        mine *= 1 / math.sqrt(width)
        count, top = len(mine), None
        total, mixed = proflab.zeros(count, 1), proflab.zeros(count, width)
        for start in range(0, min(seq, low + rows) if causal else seq, keys):
            scores = mine @ k[start : start + keys].clone().T
            if causal and start + keys > low + 1:
                places = range(low, low + count), range(start, start + scores.shape[1])
                scores.masked_fill_(Tensor([[j > i for j in places[1]] for i in places[0]]), -1e9)
            new = scores.max(-1, keepdim=True)[0]
            if top is not None:
                new = proflab.maximum(top, new)
                shrink = (top - new).exp()
                total *= shrink
                mixed *= shrink
            if thrifty:
                scores -= new
                scores.exp_()
            else:
                scores = (scores - new).exp()
            total += scores.sum(-1, keepdim=True)
            for at in range(0, width, step):
                values = v[start : start + keys, at : at + step].clone()
                mixed[:, at : at + step] += scores @ values
            top = new
        mixed /= total
        out[low : low + rows] = mixed
    return out


HEAD = dict.fromkeys("qkv", (256, 32))
LONG = dict.fromkeys("qkv", (320, 32))
TILES = [
    ({"rows": 16, "keys": 16}, HEAD, 32_768, 1_114_112),
    ({"rows": 32, "keys": 32}, HEAD, 32_768, 589_824),
    ({"rows": 64, "keys": 8, "thrifty": True}, HEAD, 32_768, 327_680),
    ({"rows": 86, "keys": 8, "thrifty": True, "parts": 2}, HEAD, 32_768, 262_144),
    ({"rows": 16, "keys": 16, "causal": True}, HEAD, 32_768, 622_592),
    ({"rows": 64, "keys": 8, "causal": True, "thrifty": True}, HEAD, 32_768, 229_376),
    ({"rows": 86, "keys": 8, "causal": True, "thrifty": True, "parts": 2}, HEAD, 32_768, 198_656),
    ({"rows": 80, "keys": 8, "thrifty": True}, LONG, 40_960, 409_600),
    ({"rows": 107, "keys": 8, "thrifty": True, "parts": 2}, LONG, 40_960, 327_680),
]


@pytest.mark.whole
@pytest.mark.parametrize(("way", "shapes", "fast", "moved"), TILES)
def test_tiles_move_the_bytes_worked_out_for_them(way, shapes, fast, moved, op_facts):
    paid = cost(crossed(traced(partial(tiled, **way), **shapes)), DESK, op_facts, fast=fast)
    assert (paid.ms, paid.peak_bytes <= fast) == (moved, True)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("way", "live"),
    [
        ({"rows": 64, "keys": 32}, 37_376),
        ({"rows": 86, "keys": 8, "thrifty": True}, 37_488),
        ({"rows": 128, "keys": 8, "thrifty": True, "parts": 4}, 42_240),
    ],
)
def test_a_tile_that_does_not_fit_is_refused(way, live, op_facts):
    tape = crossed(traced(partial(tiled, **way), **HEAD))
    sentence = f"{live:,} bytes live at operation .*, the fast memory has 32,768"
    with pytest.raises(Refused, match=sentence):
        cost(tape, DESK, op_facts, fast=32_768)


def _stored(x, rows):
    out = proflab.zeros(*x.shape)
    for low in range(0, len(x), rows):
        out[low : low + rows] = x[low : low + rows].clone() * 2
    return out


def _read_back(x):
    out = _stored(x, 8)
    out += 1
    return out


def _copied(x):
    out = _stored(x, 8)
    return [out, out.clone()]


LOAD, STORED = "from the slow memory: load it first", "reads what was stored: keep it instead"
SLOW = [
    (lambda x: x.exp(), f"exp reads an input {LOAD}"),
    (lambda x: x[:4].T.exp(), f"exp reads an input {LOAD}"),
    (lambda x: x.T.reshape(-1) * 1, f"reshape reads an input {LOAD}"),  # no view: a copy
    (lambda x: x.double(), f"to reads an input {LOAD}"),
    (lambda x: proflab.cat([x, x]), f"cat reads an input {LOAD}"),
    (lambda x: x[Tensor([1, 0])], f"index reads an input {LOAD}"),
    (lambda x: proflab.zeros(64, 8).copy_(x), f"a write reads an input {LOAD}"),
    (_read_back, f"add {STORED}"),
    (_copied, f"clone {STORED}"),
    (lambda x: x.zero_(), "the input x may not be written to"),
    (lambda x: proflab.zeros(2**27), "bytes of inputs and results"),
]


@pytest.mark.parametrize(("program", "sentence"), SLOW)
def test_nothing_but_a_load_reads_the_slow_memory(program, sentence, op_facts):
    with pytest.raises(Refused, match=sentence):
        cost(crossed(traced(program, x=(64, 8))), DESK, op_facts, fast=100_000, memory=10**8)


def test_what_makes_a_result_pays_for_its_store(op_facts):
    def moved(program, **options):
        tape = crossed(traced(program, x=(64, 8)))
        return cost(tape, DESK, op_facts, fast=10_000, **options).ms

    size = 64 * 8 * 4
    assert moved(lambda x: _stored(x, 16)) == 2 * size
    assert moved(lambda x: x.clone() * 2) == 2 * size  # the product lies in the slow memory
    assert moved(lambda x: proflab.cat([x[:32].clone(), x[32:].clone()])) == 2 * size
    assert moved(lambda x: x[:, None].expand(-1, 3, -1).clone()[:, 0] * 1) == 4 * size
    with_state = moved(lambda x: x.copy_(x.clone() * 2), state=("x",))
    assert with_state == 2 * size


def test_backward_has_no_place_in_two_memories(op_facts):
    def trained(x):
        y = x.clone().requires_grad_()
        (y * y).sum().backward()
        return y.grad

    with pytest.raises(Refused, match="backward has no place in two memories"):
        cost(crossed(traced(trained, training=True, x=(4, 4))), DESK, op_facts, fast=10_000)


# ── a limit of bytes ─────────────────────────────────────────────────────────────────────────


class _Again(autograd.Function):
    """A block that keeps its input and runs again for its backward."""

    @staticmethod
    def forward(ctx, block, x, *parameters):
        ctx.block, ctx.parameters = block, parameters
        ctx.save_for_backward(x)
        with proflab.no_grad():
            return block(x)

    @staticmethod
    def backward(ctx, grad):
        (kept,) = ctx.saved_tensors
        x = kept.detach().requires_grad_(ctx.needs_input_grad[1])
        with proflab.enable_grad():
            y = ctx.block(x)
        found = autograd.grad(y, [x] * x.requires_grad + [*ctx.parameters], grad)
        return (None, *[None] * (not x.requires_grad), *found)


def _blocks(width, count):
    def make():
        parts = lambda: (nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),  # noqa: E731
                         nn.Linear(4 * width, width))  # fmt: skip
        return nn.Sequential(*[nn.Sequential(*parts()) for _ in range(count)])

    return make


@cache
def _step(again, width=64, count=8, rows=256):
    """The tape of a training step in which some blocks, by their numbers, run again."""

    def program(model, x):
        for number, block in enumerate(model):
            if number in again:
                x = _Again.apply(block, x, *block.parameters())
            else:
                x = block(x)
        loss = x.square().mean()
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters())]

    make = _blocks(width, count)
    return crossed(traced(program, model=make, training=True, x=(rows, width)))


STEPS = [
    ((64, 8, 256), range(8), 7.766, 3_043_844),
    ((64, 8, 256), range(3), 6.495, 4_940_036),
    ((64, 8, 256), (), 5.732, 6_715_652),
    ((64, 8, 256), range(5, 8), 6.495, 5_666_564),
    ((96, 12, 128), range(12), 11.920, 7_730_948),
    ((96, 12, 128), range(4), 9.851, 8_101_764),
    ((96, 12, 128), (), 8.817, 9_875_332),
]


@pytest.mark.parametrize(("sizes", "again", "ms", "live"), STEPS)
def test_a_step_costs_and_holds_what_was_worked_out(sizes, again, ms, live, op_facts):
    paid = cost(_step(tuple(again), *sizes), DESK, op_facts)
    assert (paid.ms, paid.peak_bytes) == (pytest.approx(ms, abs=5e-4), live)


def test_what_does_not_fit_is_refused_and_the_last_blocks_are_told_why(op_facts):
    def refused(again):
        with pytest.raises(Refused) as error:
            cost(_step(again), DESK, op_facts, memory=5_000_000)
        return str(error.value)

    needed_first = "; backward needs the last layers first, when all that is kept is still alive"
    of = "the machine has 5,000,000"
    last, none = refused((5, 6, 7)), refused(())
    assert last.startswith("out of memory: 5,666,564 bytes live")
    assert last.endswith(of + needed_first)
    assert none.startswith("out of memory: 6,715,652 bytes live") and none.endswith(of)
    assert refused((0, 1)).endswith(of)


@pytest.mark.whole
def test_a_step_that_fits_is_right_to_the_tolerance_and_not_called_repetitive(op_facts):
    found = judge(_step((0, 1, 2)), _step(tuple(range(8))), op_facts, "DESK", memory=5_000_000)
    assert not found["wrong"] and found["error"] < 2e-5 and len(found["hints"]) < 2


# ── in a notebook ────────────────────────────────────────────────────────────────────────────

given = partial(tiled, rows=16, keys=16)
better = partial(tiled, rows=32, keys=32)


@pytest.mark.whole
def test_a_race_between_memories_says_what_is_loaded_how_often(op_facts, capsys, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    tape = traced(better, **HEAD)
    expect.expect_faster("one head", tape, like=given, machine="DESK", full=267_387, fast=32_768)
    first, second, third = capsys.readouterr().out.splitlines()
    way = "1,114,112 → 589,824 bytes between the memories: 45 % of the way"
    assert first == f"🏁 one head: same results; {way}"
    assert second.startswith(
        "   can still fall: 39 % of the bytes, 64 × load k: scores = mine @ k["
    )
    assert third == "   k and v are loaded 8 times over"
    big = traced(partial(tiled, rows=128, keys=8), **HEAD)
    with pytest.raises(expect.CaseFailed, match="❌ one head: out of memory: .*the fast memory"):
        expect.expect_faster("one head", big, like=given, machine="DESK", full=1.0, fast=32_768)


@pytest.mark.whole
def test_the_table_and_the_picture_of_two_memories(op_facts, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    text = show.table(given, better, "DESK", fast=32_768, **HEAD)
    assert "given: 1,114,112 bytes between the memories, 544 moves; at the peak" in text
    assert "of 32,768 bytes live" in text
    assert "     256     524,288    47%  scores = mine @ k[start : start + keys]" in text
    drawn = trail.picture(given, better, "DESK", 267_387, fast=32_768, **HEAD)
    assert "yours 589,824, full marks 267,387, floor 131,072" in drawn.alt
    big = partial(tiled, rows=256, keys=8)
    assert "yours: refused, out of memory" in show.table(given, big, "DESK", fast=32_768, **HEAD)
    assert "yours" not in trail.picture(given, big, "DESK", 1e5, fast=32_768, **HEAD).alt


@pytest.mark.whole
def test_a_cost_in_bytes_is_told_as_bytes(op_facts):
    tape = crossed(traced(better, **HEAD))
    found = judge(tape, crossed(traced(given, **HEAD)), op_facts, "DESK", fast=32_768)
    assert told(found, "DESK", 267_387, 32_768).startswith("1,114,112 → 589,824 bytes")
    assert texts(found)[-1] == "k and v are loaded 8 times over" and found["floor"] == 131_072


# ── attacks ──────────────────────────────────────────────────────────────────────────────────


def _by_rows(x, w):
    out = proflab.zeros(64, 8)
    for row in range(64):
        out[row : row + 1] = x[row : row + 1].clone() @ w.clone()
    return out


@pytest.mark.parametrize("attack", MEMORY_ATTACKS, ids=lambda a: a.name)
def test_no_attack_moves_less_than_its_program(attack, op_facts, monkeypatch):
    """The student's process is this one; what it patches is put back before the tape is judged."""
    shapes = {"x": (64, 8), "w": (8, 8)}
    base, name = crossed(traced(_by_rows, **shapes)), attack.cell
    patched = type(dispatch.OPS["clone"])
    monkeypatch.setattr(patched, "view", patched.view)
    monkeypatch.setitem(race.cost.MACHINES, "DESK", DESK)
    scope = {"proflab": proflab, "race": race, "traced": traced}
    try:
        exec(attack.cell, scope)
        sent = loads(dumps(scope["traced"](scope.get("doubled"), **shapes).with_lines()))
        tape = sent["tape"] if isinstance(sent, dict) else sent
    except Exception as error:  # what a student sees at once
        assert re.search(attack.says, f"{type(error).__name__}: {error}"), name
        return
    finally:
        monkeypatch.undo()
    found = judge(tape, base, op_facts, "DESK", fast=4_096)
    wrong = found.get("refused") or found["wrong"]
    said = wrong or told(found, "DESK", 4_608, 4_096)
    assert re.search(attack.says, said), said
    assert (0 if wrong else share_of(found, 4_608)) == pytest.approx(attack.worth)
