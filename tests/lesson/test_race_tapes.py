"""Tapes: one computes what its program does; what cannot be traced, and what is none."""

import copy
import math
import random
import warnings

import numpy as np
import pytest
from engine_cases import CASES, Maker
from race_tapes import crossed, solved_op_facts, step

import proflab
from proflab import Tensor, autograd, dispatch, models, stack
from proflab.lesson.race import Refused, traced
from proflab.lesson.race.cost import MACHINES, cost
from proflab.lesson.race.judge import judge
from proflab.lesson.race.known import draw
from proflab.lesson.race.replay import walk
from proflab.lesson.race.tape import RANDOM, SCHEMA, check, inputs_of
from proflab.lesson.race.trace import Tracer
from proflab.meta import MetaArray
from proflab.nn import functional as F
from proflab.tensor import wrap

DESK = MACHINES["DESK"]
# What they compute depends on data, so they cannot be traced.
BY_DATA = {"index by mask", "chunk one used of no rows"}


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


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
        out += 1
        out.copy_(proflab.zeros(4, 3))  # made as `out` was, which holds ones by now
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
    (lambda x: 3.0, "returns a result of type float: return Tensors"),
]


@pytest.mark.parametrize(("program", "sentence"), REFUSED)
def test_a_program_that_cannot_be_traced_is_refused_with_a_sentence(program, sentence):
    with pytest.raises(Refused, match=sentence):
        traced(program, x=(4,))


def _renamed(a):
    return a


def _early(x):
    if x.shape[0] > 2:
        return None
    return x


def _deep(x):
    def product(a):
        return a @ a.reshape(2, 2)

    return product(x) + 1


def _long(x):
    for _ in range(10_001):
        x = x + 1
    return x


class _Silent(Exception):
    def __str__(self):
        raise ValueError("no text")


def _silent(x):
    raise _Silent


def _wordy(x):
    raise ValueError("two\nlines " + "and more " * 1000)


def _executed(x):
    exec("def inner(a):\n    return a @ None\ninner(x)", {"x": x})


class _InATestCell:  # whose text no file has
    exec("def program(y):\n    return y")


# What a student reads: a sentence that says what to do, and the lines of the program.
TOLD = [
    (_renamed, "argument 'x': its parameters have to be x", ["def _renamed(a):"]),
    (_early, "return Tensors", ["def _early(x):"]),
    (_deep, "`_deep` raised ValueError: ", ["return product(x) + 1", "return a @ a.reshape(2, 2)"]),
    (_frozen, "make it by zeros, ones or full", ["table[0] = 5.0"]),
    (_silent, "`_silent` raised ", ["raise _Silent"]),
    (_wordy, "raised ValueError: two lines and more", ["raise ValueError("]),
    (_executed, "a tensor of shape (4,) and NoneType", ["exec("]),
    (_InATestCell.program, "its parameters have to be x", []),
    (_long, "at most 10,000 operations, this one 10,003", ["def _long(x):"]),
    (lambda x: F.dropout(x, 0.5), "dropout is random", ["(lambda x: F.dropout(x, 0.5), "]),
    (lambda x: x.item(), "it may know shapes only", ["(lambda x: x.item(), "]),
    (lambda x: x + None, "raised TypeError: ", ["(lambda x: x + None, "]),
    (lambda x: [x, 2], "of type int: return Tensors", ["(lambda x: [x, 2], "]),
    (lambda x: Tensor.meta((4,)), "comes from nowhere", ["(lambda x: Tensor.meta((4,)), "]),
]


@pytest.mark.parametrize(("program", "sentence", "lines"), TOLD)
def test_what_stops_a_trace_is_told_with_the_programs_lines_alone(program, sentence, lines):
    with pytest.raises(Refused) as caught:
        traced(program, x=(4,))
    first, *others = str(caught.value).splitlines()
    assert sentence in first and len(first) < 400 and len(others) == len(lines)
    for shown, line in zip(others, lines, strict=True):
        where, text = shown.split(":  ", 1)
        assert where.startswith("    line ") and text.startswith(line)


def test_a_program_that_is_still_to_be_written_says_so():
    def stub(x):
        raise NotImplementedError

    with pytest.raises(NotImplementedError) as caught:
        traced(stub, x=(4,))
    assert type(caught.value) is NotImplementedError


def test_an_op_that_nothing_counts_is_told_with_its_instruction(op_facts):
    def without(call, result):
        if call.op == "exp":
            raise NotImplementedError("op_flops has no rule for exp")
        return op_facts(call, result)

    tape = traced(lambda x: (x + 1).exp(), x=(4,))
    found = judge(tape, traced(lambda x: x + x + x, x=(4,)), without, "DESK")
    assert found["refused"] == "op_flops has no rule for exp: use another op"
    assert found["at"] == 2  # whose line a notebook shows


def test_a_result_of_an_earlier_trace_comes_from_nowhere():
    traced(_cached, x=(4,))
    with pytest.raises(Refused, match="comes from nowhere"):
        traced(_cached, x=(4,))


def test_a_shape_may_be_one_size():
    assert traced(lambda x: x, x=4)[0] == ["in", "x", (4,), "float32"]


def test_the_tracer_leaves_the_engine_as_it_was():
    with pytest.raises(Refused, match="raised ZeroDivisionError: division by zero"):
        traced(lambda x: 1 / 0, x=(4,))
    assert dispatch.tracer is None and dispatch.hooks == ()
    with Tracer() as tracer:
        assert proflab.zeros(3).is_meta
    assert not proflab.zeros(3).is_meta and len(tracer.tape) == 1


# ── the schema ───────────────────────────────────────────────────────────────────────────────


def test_every_op_has_its_row():
    assert {*SCHEMA} == {*dispatch.OPS}
    assert all(name in dispatch.OPS for name in RANDOM)


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
    (on_x(*[["op", "relu", [0], {}, None]] * 10_001), "at most 10,000 operations, this one 10,003"),
]


@pytest.mark.parametrize(("tape", "sentence"), BAD)
def test_what_is_no_tape_is_refused_before_anything_runs(tape, sentence):
    with pytest.raises(Refused, match=sentence):
        check(tape)


def test_a_tape_traced_at_other_shapes_does_not_fit(op_facts):
    given = crossed(traced(lambda x: x.exp() * 1, x=(4, 4)))
    small = crossed(traced(lambda x: x.exp(), x=(1, 1)))
    assert "other inputs" in judge(small, given, op_facts, "DESK")["refused"]


@pytest.mark.whole
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
