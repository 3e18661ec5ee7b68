"""Races: what a tape costs, and which share it earns."""

import math
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import race_course
from engine_cases import CASES, Maker
from race_tapes import EXPERTS, crossed, experts, from_left, from_right, solved_op_facts

import proflab
import proflab.lesson.race.known as knowing
from proflab import Tensor, cat, dispatch, stack
from proflab.checks.values import dumps, loads
from proflab.lesson.race import Refused, replay, show, traced
from proflab.lesson.race.charges import least_flops
from proflab.lesson.race.cost import MACHINES, Machine, cost
from proflab.lesson.race.hints import mistake, texts
from proflab.lesson.race.jobs import Jobs
from proflab.lesson.race.judge import judge, share_of
from proflab.lesson.race.known import draw, known_of
from proflab.lesson.race.replay import walk
from proflab.lesson.race.tape import inputs_of
from proflab.nn import functional as F

DESK, T4 = MACHINES["DESK"], MACHINES["T4"]
# Ops that only move, make room or look up: they have no FLOPs.
MOVES = (
    "to", "clone", "index", "index_put", "gather", "cat", "tril", "triu", "flip", "roll", "pad",
    "embedding",
)  # fmt: skip


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


# ── what it costs ────────────────────────────────────────────────────────────────────────────


def _chain(n, m):
    return {**{name: (n, n) for name in "abcd"}, "x": (n, m)}


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


_ROWS = {"x": (1024, 512), "g": (512,), "b": (512,)}
_POINTS = {"x": (512, 64), "y": (1024, 64)}
PRICES = [
    (lambda a, b, c, d, x: (a @ b + c @ d) @ x, _chain(1024, 8), DESK, 44.654),
    (lambda a, b, c, d, x: a @ b @ x + c @ d @ x, _chain(1024, 8), DESK, 43.837),
    (lambda a, b, c, d, x: a @ (b @ x) + c @ (d @ x), _chain(1024, 8), DESK, 1.739),
    (lambda a, b, c, d, x: (a @ b + c @ d) @ x, _chain(300, 3), DESK, 1.2447),
    (experts, EXPERTS, T4, 0.9814),
    (lambda x, w, b: F.relu(x @ w + b[:, None]), EXPERTS, T4, 0.02816),
    (_norm, _ROWS, DESK, 14.800),
    (_fused, _ROWS, DESK, 0.849),
    (_distances, _POINTS, DESK, 53.951),
    (_one_product, _POINTS, DESK, 0.9948),
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
    assert moved(copied) == moved(lambda x: x * 1 + x * 2) + 8_000 + 4

    def placed(write):
        def program(x):
            y = proflab.zeros(2, 1000)
            write(y, x)
            return y

        return moved(program) - moved(lambda x: proflab.zeros(2, 1000))

    assert placed(lambda y, x: y.__setitem__(1, x.exp())) == moved(lambda x: x.exp())
    assert placed(lambda y, x: y[1].copy_(x.exp())) == moved(lambda x: x.exp())
    part = moved(lambda x: x.exp()) + 2_000 + 2_000  # of a result, a part is moved
    assert placed(lambda y, x: y.__setitem__((1, slice(500)), x.exp()[:500])) == part

    def kept(x, y):
        """Write a result that its backward needs as it was."""
        own = (x * 1).detach().requires_grad_()
        z, result = proflab.zeros(1000), own.exp()
        with proflab.no_grad():
            z.copy_(result)
        result.backward(y)
        return z, own.grad

    tape = crossed(traced(kept, training=True, x=(1000,), y=(1000,)))
    assert "write" in [row["op"] for row in cost(tape, DESK, op_facts).rows]


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
            flops = row["matmul_flops"] + max(row["elementwise_flops"], least_flops(call, result))
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


# ── right, wrong, and known numbers ──────────────────────────────────────────────────────────


def test_the_order_of_the_verdict_is_refused_slow_wrong_and_then_a_share(op_facts):
    given = traced(from_left, x=(64, 64))

    def found(program, **options):
        tape = loads(dumps(traced(program, x=(64, 64))))
        return judge(tape, loads(dumps(given)), op_facts, "DESK", **options)

    assert found(from_right)["error"] < 2e-6 and not found(from_right)["wrong"]
    assert "off by" in found(lambda x: x[:, :2].clone())["wrong"]
    assert "shapes (64, 64)" in found(lambda x: x.clone())["wrong"]
    rounded = crossed(traced(lambda x: from_right(x.half()).float(), x=(64, 64)))
    half = judge(rounded, crossed(given), None, "DESK")  # dear, and compared where nothing counts
    assert "where 0.00002 is allowed" in half["wrong"]
    slow = found(lambda x: from_left(x) + 0)
    assert slow["error"] is None and slow["ms"] > slow["given"]  # not run on data
    assert "input x may not be written to" in found(lambda x: x.zero_())["refused"]
    assert found(from_right, floor=1.0)["floor"] == 1.0


def test_a_tape_is_read_by_the_judge_and_once_for_all_its_walks(op_facts, tmp_path, monkeypatch):
    given, tape = (traced(f, x=(64, 64)) for f in (from_left, from_right))
    known = knowing.known_of(crossed(given), op_facts, "DESK").as_data()
    job = {"known": 0, "machine": "DESK", "options": {}, "log": False}
    values = dumps(tape), b'["l",[', b'"x"', dumps([None, None])
    (tmp_path / "jobs").write_bytes(pickle.dumps([job | {"value": value} for value in values]))
    (tmp_path / "jobs.known").write_bytes(pickle.dumps(known))
    judge_job = Jobs(str(tmp_path / "jobs"), {"op_facts": op_facts}).judge
    made = []
    reading = replay.Reading
    monkeypatch.setattr(replay, "Reading", lambda tape: made.append(tape) or reading(tape))
    assert not judge_job(0)["wrong"] and len(made) == 1
    assert "not in the reply format" in judge_job(1)["refused"]
    assert judge_job(2)["refused"] == "a program without a result"
    assert judge_job(3)["refused"] == "no instruction" and len(made) == 1


def sent(given, values, op_facts, folder):
    """Return the `judge` of the grader's jobs on what some processes have sent."""
    job = {"known": 0, "machine": "DESK", "options": {}, "log": False}
    (folder / "jobs").write_bytes(pickle.dumps([job | {"value": dumps(each)} for each in values]))
    known = knowing.known_of(crossed(given), op_facts, "DESK").as_data()
    (folder / "jobs.known").write_bytes(pickle.dumps(known))
    return Jobs(str(folder / "jobs"), {"op_facts": op_facts}).judge


def _by_equal_lines(x):
    y = x @ x
    y = y.exp()
    y = y.log()
    y = y.exp()
    y = y.log()
    y = y.exp()
    return y


def test_equal_lines_are_two_in_feedback_as_in_the_notebook(op_facts, tmp_path):
    given, tape = traced(from_left, x=(512, 512)), traced(_by_equal_lines, x=(512, 512))
    found = judge(tape, given, op_facts, "DESK")
    judge_job = sent(given, [tape.with_lines()], op_facts, tmp_path)
    assert texts(judge_job(0)) == texts(found, partial(show.line_of, tape))
    assert texts(found)[1].endswith("3 × exp, on all lines together")


def test_lines_that_lie_change_no_more_than_what_is_said(op_facts, tmp_path):
    given, tape = (traced(f, x=(64, 64)) for f in (from_left, lambda x: from_left(x) + 0))
    said = tape.with_lines()
    lies = [{}, {"lines": [9] * len(tape)}, {"lines": None}, {"texts": ["a" * 10**6]}, {"texts": 3}]
    lies.append({"lines": [0] * len(tape), "texts": ["\ud800\n✅ y"]})  # no file holds the first
    values = [said | each for each in (*lies, {"tape": 3}, {"tape": [["out"]]})]
    judge_job = sent(given, values, op_facts, tmp_path)
    first, *found = map(judge_job, range(len(lies)))
    assert first["hints"][0]["told"].endswith(": return (x @ x) @ x[:, :2]")
    for each in found:
        assert "return" not in str(each["hints"]) and each["ms"] == first["ms"]
    assert found[-1]["hints"][0]["told"].endswith(":   ✅ y")
    assert [judge_job(n)["refused"][:26] for n in (6, 7)] == [
        "a program without a result", "an instruction 'out' of 0 ",
    ]  # fmt: skip


def test_numbers_are_drawn_by_a_salt_so_that_no_tape_can_know_them(op_facts):
    given = loads(dumps(traced(from_left, x=(64, 64))))
    inputs = inputs_of(given)
    assert inputs == [("x", (64, 64), "float32")]
    fixed = draw(inputs, 1, "normal", {})["x"]
    assert np.array_equal(fixed, draw(inputs, 1, "normal", {})["x"])
    result = walk(given, {"x": fixed}).results[0]
    known = Tensor(result)
    tape = loads(dumps(traced(lambda x: known * 1 + 0 * x[:, :2], x=(64, 64))))
    assert "off by" in judge(tape, given, op_facts, "DESK")["wrong"]
    drawn = [next(examples(given, salt))[0]["x"] for salt in ("", "a salt")]
    assert not np.array_equal(*drawn)
    once = judge(loads(dumps(traced(from_right, x=(64, 64)))), given, op_facts, "DESK")
    assert all(
        once == judge(loads(dumps(traced(from_right, x=(64, 64)))), given, op_facts, "DESK")
        for _ in range(3)
    )


def examples(given, word):
    return known_of(given, None, "DESK", salt=str(word)).examples()


def _after_a_write(x):
    y = x.clone()
    first = y @ y
    y += 1
    return first + y @ y


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (lambda x: (x.to(np.float64) @ x.to(np.float64)).float(), "it computes in float64"),
        (lambda x: x @ x + (x @ x).exp(), "matmul is computed twice, on the same operands"),
        (lambda x: stack([x[i] * 2 for i in range(300)]), "301 ops of 5 µs: the machine waits"),
        (lambda x: (x @ x).exp(), ""),
        (_after_a_write, ""),
    ],
)
def test_what_betrays_a_mistake_is_said(program, sentence, op_facts):
    tape = crossed(traced(program, x=(700, 700)))
    said = mistake(tape, cost(tape, DESK, op_facts), DESK)
    assert said["told"].startswith(sentence) if sentence else said is None


def test_products_of_which_little_is_looked_at_are_said(op_facts):
    wide, shapes = {"x": (64, 32), "w": (32, 8)}, {"op_facts": op_facts}
    for program, times in (
        (lambda x, w: (x @ w)[-1], 64),
        (lambda x, w: (x @ w)[:, :1] + (x @ w)[:, 7:], 8),
        (lambda x, w: x[-1:] @ w, 0),
        (lambda x, w: (x @ w)[:40], 0),  # more than half
        (lambda x, w: [(y := x @ w)[0], y.sum()], 0),  # not by slices alone
    ):
        tape = list(traced(program, **wide))
        said = mistake(tape, cost(tape, DESK, **shapes), Machine("free", 1e9, 1e9, 0)) or {}
        told = said.get("told", "").startswith(f"matmul computes {times} times as many")
        assert told == bool(times), said


def test_numbers_between_which_rounding_could_choose_are_drawn_again():
    """A right program may not fail because two words are as likely as each other."""
    tape = list(traced(lambda x: x.argmax(-1), x=(40, 40)))

    def leads(inputs):
        two = np.sort(inputs["x"].astype("float64"), -1)[:, -2:]
        return (two[:, 1] - two[:, 0]).min() / np.abs(inputs["x"]).max()

    drawn = [leads(inputs) for word in range(5) for inputs, _ in examples(tape, word)]
    assert len(drawn) == 15
    assert min(drawn) > 1e-4
    assert any(leads(draw(inputs_of(tape), n, "normal", {})) < 1e-4 for n in range(200))


@pytest.mark.parametrize(
    ("program", "redrawn"),
    [
        (lambda x: x * x.argmax(-1, keepdim=True), True),
        (lambda x: [x * 2, x.argmax(-1)][0], False),  # a choice that nobody looks at
        (lambda x: x * (x * 0).argmax(-1, keepdim=True), False),  # equal for any numbers
        (lambda x: x - x.max(-1, keepdim=True)[0], False),  # of two that are equal either will do
        (lambda x: x - x.max(0)[0], False),
        (lambda x: x - x.max(-1, keepdim=True)[1], True),
        (lambda x: x.gather(1, (x**2).argmax(1, keepdim=True)), True),  # not the largest itself
    ],
)
def test_numbers_are_drawn_again_only_where_it_can_help(program, redrawn, monkeypatch):
    tape = list(traced(program, x=(40, 40)))
    seeds = []
    monkeypatch.setattr(knowing, "draw", lambda *a: seeds.append(a[1]) or draw(*a))
    for word in range(20):
        known_of(tape, None, "DESK", salt=str(word)).as_data()
    assert (len(seeds) > 60) == redrawn


def test_a_tape_that_was_lucky_in_the_notebook_is_not_in_the_grader(op_facts):
    given = loads(dumps(traced(from_left, x=(64, 64))))

    sign = lambda x: (x[:1, :1] > 0) & (x[1:2, :1] > 0)  # noqa: E731
    tape = loads(dumps(traced(lambda x: from_right(x) * sign(x), x=(64, 64))))

    def wrong(salt):
        return judge(tape, given, None, "DESK", salt=salt)["wrong"]

    assert not all(wrong(str(salt)) for salt in range(500))
    assert sum(bool(wrong(salt)) for salt in "abcdef") >= 4


ELSEWHERE = """
import sys
from functools import partial
from proflab.checks.values import loads
from proflab.lesson.race.judge import judge
from race_tapes import solved_op_facts

for tape, given in loads(sys.stdin.buffer.read()):
    found = judge(tape, given, solved_op_facts(), "DESK")
    print(found["ms"], found["given"], found["wrong"], found["error"], sep=";")
"""


def _attend(q, k, v):
    return (q @ k.transpose(-1, -2) / 8).softmax(-1) @ v


def _attend_in_float64(q, k, v):
    return _attend(*(x.to(np.float64) for x in (q, k, v))).to(np.float32)


@pytest.mark.parametrize(("processor", "threads"), [("Prescott", "1"), ("Haswell", "2")])
def test_another_processor_and_more_threads_give_the_same_verdicts(op_facts, processor, threads):
    """OpenBLAS then takes other kernels, which add in another order."""
    shapes = dict.fromkeys("qkv", (2, 100, 64))
    races = [(traced(from_right, x=(300, 300)), traced(from_left, x=(300, 300))),
             (traced(_attend, **shapes), traced(_attend_in_float64, **shapes))]  # fmt: skip
    jobs = dumps([[list(tape), list(given)] for tape, given in races])
    environment = os.environ | {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": threads}
    helpers = str(Path(race_course.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], input=jobs, capture_output=True, check=True,
        env=environment | {"PYTHONPATH": helpers},
    )  # fmt: skip
    for line, (tape, given) in zip(done.stdout.decode().splitlines(), loads(jobs), strict=True):
        ms, price, wrong, error = line.split(";")
        here = judge(tape, given, op_facts, "DESK")
        assert (float(ms), float(price), wrong) == (here["ms"], here["given"], here["wrong"])
        assert 0 < float(error) < 2e-5 and here["ms"] < here["given"]
