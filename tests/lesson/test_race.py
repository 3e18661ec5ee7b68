"""Races: a tape computes what its program does; what it costs; what is refused."""

import copy
import math
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from engine_cases import CASES, Maker

import proflab
from proflab import Tensor, autograd, cat, dispatch, models, stack
from proflab.checks import expect
from proflab.checks.values import dumps, loads
from proflab.lesson.outline import Exercise, Outline
from proflab.lesson.progress import measure
from proflab.lesson.race import Refused, show, traced
from proflab.lesson.race.cost import MACHINES, MOVES, _least_flops, cost
from proflab.lesson.race.judge import draw, judge, mistake, share_of
from proflab.lesson.race.replay import walk
from proflab.lesson.race.tape import RANDOM, SCHEMA, check, inputs_of
from proflab.lesson.race.trace import Tracer
from proflab.lesson.run_all import Record, TestRun
from proflab.meta import MetaArray
from proflab.nn import functional as F
from proflab.tensor import wrap

DESK, T4 = MACHINES["DESK"], MACHINES["T4"]
# What they compute depends on data, so they cannot be traced.
BY_DATA = {"index by mask", "chunk one used of no rows"}


@pytest.fixture(scope="module")
def op_facts():
    """Lesson 05's, as the course has solved it."""
    import importlib.util

    place = Path(__file__).parents[2] / "source" / "06_roofline" / "built.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_MINE", "off")
        spec = importlib.util.spec_from_file_location("built_of_06", place)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "built_of_06", module)
        spec.loader.exec_module(module)
    return module.op_facts


def crossed(tape):
    """A tape as the grader gets it."""
    tape = loads(dumps(tape))
    check(tape)
    return tape


def step(function, names):
    """A program that returns a result, its sum's gradients, and 0 where there is none."""

    def program(**tensors):
        leaves = [tensors[name].requires_grad_() for name in names]
        out = function(proflab, *leaves)
        if not out.requires_grad:
            return [out]
        (out * out).sum().backward()
        return [out.detach()] + [x.grad for x in leaves if x.grad is not None]

    return program


@pytest.mark.parametrize("name", CASES)
def test_a_tape_computes_what_its_program_does_forward_and_backward(name):
    for seed in range(3):
        arrays, function = CASES[name](Maker(seed))
        arrays = [np.asarray(a, "float32") for a in arrays]
        names = [f"x{n}" for n in range(len(arrays))]
        program = step(function, names)
        shapes = {n: a.shape for n, a in zip(names, arrays, strict=True)}
        try:
            tape = crossed(traced(program, training=True, **shapes))
        except ValueError as refused:
            assert name in BY_DATA and "depends on data" in str(refused)
            return
        inputs = dict(zip(names, arrays, strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = walk(tape, {n: a.copy() for n, a in inputs.items()}).results
            real = program(**{n: Tensor(a.copy()) for n, a in inputs.items()})
        assert len(made) == len(real)
        for got, want in zip(made, real, strict=True):
            np.testing.assert_array_equal(got, want.numpy())


def of_model(model, run, *, training=False, **inputs):
    """A model's tape and its own results on the same data."""
    tape = crossed(traced(run, model=model, training=training, **{
        name: (str(a.dtype), a.shape) for name, a in inputs.items()
    }))  # fmt: skip
    proflab.manual_seed(3)
    real = model() if training else model().eval()
    arrays = {n: p.array.copy() for n, p in (*real.named_parameters(), *real.named_buffers())}
    arrays |= {name: a.copy() for name, a in inputs.items()}
    with autograd.set_grad_enabled(training):
        want = run(real, **{name: Tensor(a.copy(), dtype=a.dtype) for name, a in inputs.items()})
    want = [want] if isinstance(want, Tensor) else want
    return walk(tape, arrays).results, [t.numpy() for t in want]


def loss_and_gradients(model, x):
    loss = model(x).square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (models.LeNet5, (2, 1, 32, 32)),
        (lambda: models.VisionTransformer(32, 8, 24, 2, 3, 10), (2, 3, 32, 32)),
    ],
    ids=["LeNet-5", "ViT"],
)
@pytest.mark.parametrize("training", [False, True])
def test_a_model_and_its_training_step_replay_without_a_difference(model, shape, training):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    run = loss_and_gradients if training else (lambda model, x: model(x))
    made, real = of_model(model, run, training=training, x=x)
    assert all(np.array_equal(got, want) for got, want in zip(made, real, strict=True))


def test_generation_is_traced_with_and_without_a_cache():
    tokens = np.arange(10).reshape(2, 5) % 7
    for cache in (True, False):
        run = lambda model, tokens: model.generate(tokens, 4, use_cache=cache)  # noqa: E731, B023
        made, real = of_model(lambda: models.GPT2(16, 12, 8, 2, 2), run, tokens=tokens)
        assert np.array_equal(made[0], real[0])


def test_a_function_of_ones_own_is_traced_by_what_it_computes():
    class Cube(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x

    def program(x):
        x.requires_grad_()
        Cube.apply(x).sum().backward()
        return x.grad

    tape = crossed(traced(program, training=True, x=(3,)))
    x = np.float32([1, 2, -3])
    assert walk(tape, {"x": x}).results[0].tolist() == [3.0, 12.0, 27.0]


def test_writes_fills_and_places_in_place_are_on_the_tape():
    places = Tensor([2, 0])

    def program(x):
        out = proflab.zeros(4, 3)
        out[1:3] = x
        out[0] = 0.5
        out[:, 1] += 2
        out[places] = out[places] * 10
        last = out[3]
        last += proflab.full((3,), 7.0)
        out.mul_(2)
        return out

    x = np.float32([[1, 2, 3], [4, 5, 6]])
    made = walk(crossed(traced(program, x=(2, 3))), {"x": x}).results[0]
    assert made.tolist() == program(Tensor(x)).tolist()


def test_a_tensor_is_taken_apart_into_as_many_parts_as_one_likes():
    tape = crossed(traced(lambda x: stack(x.unbind(0)[::-1]), x=(100, 2)))
    x = np.arange(200, dtype="float32").reshape(100, 2)
    assert np.array_equal(walk(tape, {"x": x}).results[0], x[::-1])
    many = [
        ["in", "x", (1,), "float32"],
        ["op", "split", [0], {"sizes": (0,) * 10**5, "dim": 0}, None],
    ]
    with pytest.raises(Refused, match="at most 100,000 values"):
        check([*many, ["out", [0]]])


# ── what it costs ────────────────────────────────────────────────────────────────────────────


def _chain(n, m):
    return {**{name: (n, n) for name in "abcd"}, "x": (n, m)}


def _experts(x, w, b):
    return stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def _norm(x, g, b):
    x = x.to(np.float64)
    mean = x.mean(-1, keepdim=True)
    var = ((x - mean) ** 2).mean(-1, keepdim=True)
    y = (x - mean) / (var + 1e-5).sqrt() * g + b
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    return (0.5 * y * (1 + inner.tanh())).to(np.float32)


def _fused(x, g, b):
    return F.gelu(F.layer_norm(x, (x.shape[-1],), g, b), approximate="tanh")


def _distances(x, y):
    return ((x[:, None] - y[None]) ** 2).sum(-1)


def _one_product(x, y):
    ones = [proflab.ones(t.shape[0], 1) for t in (x, y)]
    squares = [(t * t).sum(-1, keepdim=True) for t in (x, y)]
    return cat([x, squares[0], ones[0]], 1) @ cat([y * -2, ones[1], squares[1]], 1).T


_EXPERTS = {"x": (64, 32, 64), "w": (64, 64, 64), "b": (64, 64)}
_ROWS = {"x": (1024, 512), "g": (512,), "b": (512,)}
_POINTS = {"x": (512, 64), "y": (1024, 64)}
PRICES = [
    (lambda a, b, c, d, x: (a @ b + c @ d) @ x, _chain(1024, 8), DESK, 44.654),
    (lambda a, b, c, d, x: a @ b @ x + c @ d @ x, _chain(1024, 8), DESK, 43.837),
    (lambda a, b, c, d, x: a @ (b @ x) + c @ (d @ x), _chain(1024, 8), DESK, 1.739),
    (lambda a, b, c, d, x: (a @ b + c @ d) @ x, _chain(300, 3), DESK, 1.2447),
    (_experts, _EXPERTS, T4, 0.9814),
    (lambda x, w, b: F.relu(x @ w + b[:, None]), _EXPERTS, T4, 0.02816),
    (_norm, _ROWS, DESK, 14.800),
    (_fused, _ROWS, DESK, 0.849),
    (_distances, _POINTS, DESK, 53.951),
    (_one_product, _POINTS, DESK, 0.984),
]


@pytest.mark.parametrize(("program", "shapes", "machine", "ms"), PRICES)
def test_costs_are_those_worked_out_for_the_tasks(program, shapes, machine, ms, op_facts):
    tape = crossed(traced(program, **shapes))
    assert cost(tape, machine, op_facts).ms == pytest.approx(ms, rel=5e-4)


def test_the_scale_is_logarithmic_and_stops_at_full_marks():
    found = {"given": 0.9814, "ms": 0.3514}
    assert share_of(found, 0.0282) == pytest.approx(0.29, abs=0.005)
    assert share_of(found | {"ms": 0.02}, 0.0282) == 1
    assert share_of(found | {"ms": 0.9814}, 0.0282) == 0


def test_a_write_is_free_only_where_the_op_before_could_have_written_there(op_facts):
    def moved(program, n=1000):
        rows = cost(crossed(traced(program, x=(n,))), DESK, op_facts).rows
        return sum(row["bytes_read"] + row["bytes_written"] for row in rows)

    def added(x):
        y = x * 1
        y += x
        return y

    def copied(x):
        y = x * 1
        z = x * 2
        proflab.zeros(1)
        y.copy_(z)
        return y + z

    assert moved(added) == moved(lambda x: x * 1 + x) == 20_000
    assert moved(copied) == moved(lambda x: x * 1 + x * 2) + 8_000


def test_live_bytes_are_a_property_of_the_program(op_facts):
    def peak(program):
        return cost(crossed(traced(program, x=(1000,))), DESK, op_facts).peak_bytes

    assert peak(lambda x: x.exp().exp().exp()) == 12_000  # x, one read, one written

    def kept(x):
        names = [x.exp() for _ in range(5)]  # held by Python, used by nothing
        return names[-1]

    assert peak(kept) == 8_000
    assert peak(lambda x: sum([x.exp() for _ in range(5)])) > 20_000
    with pytest.raises(Refused, match="out of memory: .* bytes live at operation"):
        peak(lambda x: x[:, None] * proflab.ones(1, 10**6))


def test_with_two_memories_only_what_passes_between_them_costs(op_facts):
    def tiled(x):
        out = proflab.zeros(64, 8)
        for i in range(0, 64, 16):
            out[i : i + 16] = x[i : i + 16].clone().exp() * 2
        return out

    tape = crossed(traced(tiled, x=(64, 8)))
    paid = cost(tape, DESK, op_facts, fast=2_000)
    assert (paid.ms, paid.peak_bytes <= 2_000) == (2 * 64 * 8 * 4, True)
    with pytest.raises(Refused, match="exp reads an input from the slow memory: load it first"):
        cost(crossed(traced(lambda x: x.exp(), x=(64, 8))), DESK, op_facts, fast=10**6)
    with pytest.raises(Refused, match="out of memory"):
        cost(tape, DESK, op_facts, fast=600)


def test_no_op_but_a_view_or_a_move_is_free_of_flops(op_facts):
    unpaid = {}

    def watch(call):
        result = call()
        op = dispatch.OPS.get(call.op)
        paid = op is not None and not op.view and call.op not in MOVES
        if paid and all(t.numel() for t in call.inputs):
            try:
                row = op_facts(call, result)
            except NotImplementedError:  # lesson 02 has no rule: a race refuses such an op
                return result
            flops = row["matmul_flops"] + max(row["elementwise_flops"], _least_flops(call, result))
            if flops < result.numel():
                unpaid[call.op] = (flops, [t.shape for t in call.inputs])
        return result

    for build in CASES.values():
        for seed in range(3):
            arrays, function = build(Maker(seed))
            with dispatch.hook(watch), np.errstate(all="ignore"):
                function(proflab, *(Tensor(np.asarray(a, "float32")) for a in arrays))
    assert not unpaid
    image = {"x": (1, 1, 256, 256)}
    pooled = cost(
        crossed(traced(lambda x: F.avg_pool2d(x, 31, stride=1, padding=15), **image)),
        DESK,
        op_facts,
    )
    assert pooled.rows[0]["elementwise_flops"] == 31 * 31 * 256 * 256


# ── what cannot be traced ────────────────────────────────────────────────────────────────────

KEPT = []


def _cached(x):
    KEPT.append(x.exp())
    return KEPT[0]


def _frozen(x):
    table = Tensor([1.0, 2.0, 3.0, 4.0])
    y = x + table
    table[0] = 5.0
    return y + table


REFUSED = [
    (lambda x: x * x.sum().item(), "asks for numbers while it is traced .item: a meta tensor"),
    (lambda x: x if x.sum() > 0 else -x, "asks for numbers"),
    (lambda x: Tensor(x.numpy() * 2), "asks for numbers"),
    (lambda x: [x for _ in range(10) if float(x[0]) > 0], "asks for numbers"),
    (lambda x: Tensor.meta((4,)), "comes from nowhere"),
    (lambda x: wrap(MetaArray((4,), np.dtype("float32"))), "comes from nowhere"),
    (_frozen, "a constant of shape .. may not be written to"),
    (lambda x: 3.0, "Tensors are raced"),
]


@pytest.mark.parametrize(("program", "sentence"), REFUSED)
def test_a_program_that_cannot_be_traced_is_refused_with_a_sentence(program, sentence):
    with pytest.raises(Refused, match=sentence):
        traced(program, x=(4,))


def test_a_result_of_an_earlier_trace_comes_from_nowhere():
    traced(_cached, x=(4,))
    with pytest.raises(Refused, match="comes from nowhere"):
        traced(_cached, x=(4,))


def test_the_tracer_leaves_the_engine_as_it_was():
    with pytest.raises(ZeroDivisionError):
        traced(lambda x: 1 / 0, x=(4,))
    assert dispatch.tracer is None and dispatch.hooks == ()
    with Tracer() as tracer:
        assert proflab.zeros(3).is_meta
    assert not proflab.zeros(3).is_meta and len(tracer.tape) == 1


# ── the schema ───────────────────────────────────────────────────────────────────────────────


def test_every_op_has_its_row():
    assert {*SCHEMA} == {*dispatch.OPS}
    assert all(name in dispatch.OPS for name in (*RANDOM, *MOVES))


X = ["in", "x", (4, 4), "float32"]


def on_x(*lines):
    return [X, *lines, ["out", [1]]]


BAD = [
    ([], "without a result"),
    ([X], "without a result"),
    (on_x(["op", "relu", [0], {}, None])[:-1], "without a result"),
    (on_x(["answer", 100]), "no instruction 'answer'"),
    (on_x(["op", "free", [0], {}, None]), "no operation 'free'"),
    (on_x(["op", "relu", [7], {}, None]), "an operand that is not there"),
    (on_x(["op", "relu", [True], {}, None]), "an operand that is not there"),
    (on_x(["op", "relu", [0], {"alpha": 1}, None]), "relu: attributes"),
    (on_x(["op", "relu", [0, 0], {}, None]), "relu: 2 operands"),
    (on_x(["op", "getitem", [0], {"index": (True,)}, None]), "index is no index"),
    (on_x(["op", "einsum", [0], {"equation": "__import__('os')"}, None]), "is no equation"),
    (on_x(["op", "sum", [0], {"dim": (0.5,), "keepdim": False}, None]), "dim is no ints"),
    (on_x(["op", "to", [0], {"dtype": {"%dtype": "object"}}, None]), "dtype is no dtype"),
    (on_x(["op", "dropout", [0], {"p": 0.5}, None]), "dropout is random"),
    (on_x(["op", "relu", [0], {}, [1]]), "a flag for each operand"),
    (on_x(["vjp", 0, [0]]), "backward of no operation"),
    (on_x(["fill", (25_000_000_000,), "float32", 0]), "at most 2 GB"),
    (on_x(["fill", (-1,), "float32", 0]), "a fill has a shape"),
    (on_x(["const", np.zeros(300_000, "float32")]), "at most 1 MB of constants"),
    (on_x(*[["op", "relu", [0], {}, None]] * 10_001), "at most 10,000 operations"),
]


@pytest.mark.parametrize(("tape", "sentence"), BAD)
def test_what_is_no_tape_is_refused_before_anything_runs(tape, sentence):
    with pytest.raises(Refused, match=sentence):
        check(tape)


def test_a_tape_traced_at_other_shapes_does_not_fit(op_facts):
    given = crossed(traced(lambda x: x.exp() * 1, x=(4, 4)))
    small = crossed(traced(lambda x: x.exp(), x=(1, 1)))
    assert "other inputs" in judge(small, given, op_facts, "DESK")["refused"]


def test_mutated_tapes_are_refused_or_run_and_nothing_else(op_facts):
    dice = random.Random(5)
    odd = [
        None, True, -1, 0, 1, 2**40, 1e308, math.nan, "x", (), (1, 2), [0], {}, np.zeros(3),
        {"%slice": (0, 2, 1)}, {"%slice": ("a",)}, {"%ellipsis": True}, {"%dtype": "object"},
        {"%dtype": "float64"}, "ij,jk->ik", (0, 1), (3, 3), 2, "float16",
    ]  # fmt: skip

    def mutated(value):
        if dice.random() < 0.02:
            return dice.choice(odd)
        if isinstance(value, dict):
            return {key: mutated(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(mutated, value))
        return value

    def trained(x, w):
        w.requires_grad_()
        y = F.layer_norm(x @ w, (4,)).relu()
        y[0] = 0.0
        (stack([y, x[:, 0:4]]).softmax(-1).sum(1).exp() * 2).mean().backward()
        return w.grad

    tapes = [[*traced(trained, training=True, x=(4, 4), w=(4, 4))]]
    for name in CASES:
        arrays, function = CASES[name](Maker(1))
        names = [f"x{n}" for n in range(len(arrays))]
        shapes = {n: a.shape for n, a in zip(names, arrays, strict=True)}
        if name not in BY_DATA:
            tapes.append([*traced(step(function, names), training=True, **shapes)])
    run = refused = 0
    for number in range(2_500):
        bad = mutated(copy.deepcopy(tapes[number % len(tapes)]))
        try:
            check(bad)
            if sum(math.prod(shape) for _, shape, _ in inputs_of(bad)) < 10**6:
                cost(bad, DESK, op_facts)
                walk(bad, draw(inputs_of(bad), 1, "normal", {}))
                run += 1
        except Refused:
            refused += 1
    assert run > 200 and refused > 1_000


# ── right, wrong, and known numbers ──────────────────────────────────────────────────────────


def _square(x):
    return (x @ x) @ x[:, :2]


def _from_right(x):
    return x @ (x @ x[:, :2])


def test_the_order_of_the_verdict_is_refused_slow_wrong_and_then_a_share(op_facts):
    given = traced(_square, x=(64, 64))

    def found(program, **options):
        tape = loads(dumps(traced(program, x=(64, 64))))
        return judge(tape, loads(dumps(given)), op_facts, "DESK", **options)

    assert found(_from_right)["error"] < 2e-6 and not found(_from_right)["wrong"]
    assert "off by" in found(lambda x: x[:, :2].clone())["wrong"]
    assert "shapes (64, 64)" in found(lambda x: x.clone())["wrong"]
    half = found(lambda x: _from_right(x.half()).float(), run_slow=True)
    assert "where 0.00002 is allowed" in half["wrong"]
    slow = found(lambda x: _square(x) + 0)
    assert slow["error"] is None and slow["ms"] > slow["given"]  # not run on data
    assert "input x may not be written to" in found(lambda x: x.zero_())["refused"]
    assert found(_from_right, floor=1.0)["floor"] == 1.0


def test_numbers_are_drawn_by_the_tape_so_that_no_tape_can_know_them(op_facts):
    given = loads(dumps(traced(_square, x=(64, 64))))
    inputs = inputs_of(given)
    assert inputs == [("x", (64, 64), "float32")]
    fixed = draw(inputs, 1, "normal", {})["x"]
    assert np.array_equal(fixed, draw(inputs, 1, "normal", {})["x"])
    result = walk(given, {"x": fixed}).results[0]
    known = Tensor(result)
    tape = loads(dumps(traced(lambda x: known * 1 + 0 * x[:, :2], x=(64, 64))))
    assert "off by" in judge(tape, given, op_facts, "DESK")["wrong"]
    once = judge(loads(dumps(traced(_from_right, x=(64, 64)))), given, op_facts, "DESK")
    assert all(
        once == judge(loads(dumps(traced(_from_right, x=(64, 64)))), given, op_facts, "DESK")
        for _ in range(3)
    )


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (lambda x: (x.to(np.float64) @ x.to(np.float64)).float(), "it computes in float64"),
        (lambda x: x @ x + (x @ x).exp(), "matmul is computed twice, on the same operands"),
        (lambda x: stack([x[i] * 2 for i in range(300)]), "301 ops of 5 µs: the machine waits"),
        (lambda x: (x @ x).exp(), ""),
    ],
)
def test_what_betrays_a_mistake_is_said(program, sentence, op_facts):
    tape = crossed(traced(program, x=(700, 700)))
    said = mistake(tape, cost(tape, DESK, op_facts), DESK)
    assert said.startswith(sentence) and bool(said) == bool(sentence)


def test_a_tape_that_was_lucky_in_the_notebook_is_not_in_the_grader(op_facts):
    given = loads(dumps(traced(_square, x=(64, 64))))

    def lucky(shift):
        sign = lambda x: (x[:1, :1] > shift) & (x[1:2, :1] > 0)  # noqa: E731
        return loads(dumps(traced(lambda x: _from_right(x) * sign(x), x=(64, 64))))

    def wrong(tape, salt=""):
        return judge(tape, given, op_facts, "DESK", run_slow=True, salt=salt)["wrong"]

    found = next(tape for tape in map(lucky, np.arange(500) * 1e-9) if not wrong(tape))
    assert sum(bool(wrong(found, salt)) for salt in "abcdef") >= 4


# ── in a notebook ────────────────────────────────────────────────────────────────────────────


def test_a_notebook_shows_costs_and_the_largest_that_remains(op_facts, capsys, monkeypatch):
    monkeypatch.setattr(expect, "shares", {})

    def race(program):
        tape = traced(program, **_EXPERTS)
        expect.expect_faster("64 experts", tape, like=_experts, machine="T4", full=0.02872)
        return capsys.readouterr().out

    looped = lambda x, w, b: F.relu(stack([x[e] @ w[e] for e in range(64)]) + b[:, None])  # noqa: E731
    assert race(looped) == "🏁 64 experts: same results\n"
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    first, second = race(looped).splitlines()
    assert first == "🏁 64 experts: same results; 0.98144 → 0.35144 ms on T4: 29 % of the way"
    waits = "67 ops of 5 µs: the machine waits for the program"
    assert second.startswith(f"   largest: 93 %, 64 × matmul, overhead; {waits}: looped = lambda")
    assert expect.shares[""]["64 experts"] == pytest.approx(0.29, abs=0.01)
    assert race(lambda x, w, b: F.relu(x @ w + b[:, None])).endswith("100 % of the way\n")
    with pytest.raises(
        expect.CaseFailed, match="❌ 64 experts: off by .* where 0.00002 is allowed"
    ):
        race(lambda x, w, b: x @ w)
    with pytest.raises(TypeError, match="takes what `traced"):
        expect.expect_faster("a", [1], like=_experts, machine="T4", full=1.0)


def test_the_last_cell_counts_a_share_of_the_points():
    outline = Outline("06_x", {"f": Exercise("f", tests={"test_f": 4, "test_f_2": 2})}, {})
    record = Record(outline)
    record.tests |= {"test_f": TestRun("passed", share=0.29), "test_f_2": TestRun("passed")}
    progress = measure(record)
    [row] = progress.rows
    assert (row.state, row.earned) == ("passed", 3.16)
    assert "29 % of the way, by the visible races" in progress.text()


def test_the_table_and_the_picture_show_where_a_program_stands(op_facts, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", op_facts)
    fast = lambda x, w, b: F.relu(x @ w + b[:, None])  # noqa: E731
    text = show.table(_experts, fast, "T4", **_EXPERTS)
    assert "given: 0.9814 ms on T4, 193 ops" in text and "yours: 0.02816 ms on T4, 3 ops" in text
    assert "100%  overhead  return stack([F.relu(x[e] @ w[e] + b[e])" in text
    drawn = show.picture(_experts, fast, "T4", 0.02872, **_EXPERTS)
    assert "given 0.9814 ms, yours 0.02816 ms, full marks 0.02872 ms, floor 0.0116 ms" in drawn.alt
