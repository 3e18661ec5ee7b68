"""What a tape does is known before it is run: none that hides its work keeps the judge busy."""

import time

import numpy as np
import pytest
from engine_cases import CASES, Maker
from odd_programs import ODD, tape_of, wide
from race_tapes import crossed, solved_op_facts

import proflab
import proflab.lesson.race.judge as judging
from proflab import Tensor, dispatch, ones, zeros
from proflab.checks.values import dumps
from proflab.lesson.race import traced
from proflab.lesson.race.check_log import check_log
from proflab.lesson.race.cost import MACHINES, Machine, cost
from proflab.lesson.race.judge import Budget, judge, judged
from proflab.lesson.race.known import draw, known_of
from proflab.lesson.race.replay import walk
from proflab.lesson.race.tape import RANDOM, SCHEMA, inputs_of
from proflab.nn import functional as F

ROOMY = Machine("roomy", 1e12, 1e12, 0, 1 << 40)
DESK = MACHINES["DESK"]


@pytest.fixture(scope="module")
def op_facts():
    return solved_op_facts()


def seconds_of(tape, counted, tries=2):
    """The least CPU time of some runs on data."""
    inputs = draw(inputs_of(tape), 1, "normal", {"i": 1000})
    taken = []
    for _ in range(tries):
        own = {name: array.copy() for name, array in inputs.items()}
        began = time.process_time()
        walk(tape, own, counted=counted)
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.whole
@pytest.mark.parametrize("name", ODD)
def test_the_work_of_an_op_with_odd_attributes_is_bounded_by_its_count(name, op_facts):
    """A busy machine makes CPU time longer, but not five times."""
    tape = crossed(tape_of(name))
    paid = cost(tape, ROOMY, op_facts)
    assert seconds_of(tape, paid.walk) < 5 * paid.work + 0.02


def test_no_op_is_left_out_of_the_odd_programs_and_the_engine_s_cases():
    seen = {line[1] for name in ODD for line in tape_of(name) if line[0] == "op"}

    def watch(call):
        seen.add(call.op)
        return call()

    for build in CASES.values():
        for seed in range(3):
            arrays, function = build(Maker(seed))
            with dispatch.hook(watch), np.errstate(all="ignore"):
                function(proflab, *(Tensor(np.asarray(a, "float32")) for a in arrays))
    refused = {*RANDOM, "nonzero"}  # by any tape
    assert {*SCHEMA} - seen - refused == set()


def _plain(x):
    return (x @ x) @ x[:, :2]


def _hidden(x):
    """The product of three from the right, and a window of a million places beside it."""
    busy = F.avg_pool2d(wide(x, 1, 1, 1000, 1000), 1000)
    return x @ (x @ x[:, :2]) + 0 * busy.reshape(1, 1)


def test_a_tape_that_does_more_than_its_cost_shows_is_refused_before_it_is_run(
    op_facts, monkeypatch
):
    given, tape = (crossed(traced(f, x=(700, 700))) for f in (_plain, _hidden))
    assert cost(tape, DESK, op_facts).ms < cost(given, DESK, op_facts).ms  # cheap on the machine
    monkeypatch.setattr(judging, "_errors", lambda *_: pytest.fail("it was run"))
    found = judge(tape, given, op_facts, "DESK")
    assert "it does far more than its cost shows" in found["refused"]


@pytest.mark.parametrize("end", ["a causal mask", "a write"])
def test_a_tensor_of_more_numbers_than_there_are_is_refused_and_keeps_nobody_busy(end, op_facts):
    """Views cost nothing, so a few lines have any size; a failure would be the grader's own."""
    many = (1, 1 << 40, 8) if end == "a causal mask" else (1 << 40,) * 30
    tape = crossed(traced(_plain, x=(64, 64)))[:1]
    tape += [["op", "sum", [0], {"dim": None, "keepdim": False}, None]]
    tape += [["op", "expand", [1], {"shape": many}, None]]
    if end == "a write":
        tape += [["write", 2, 2], ["out", [0]]]
    else:
        how = {"is_causal": True, "scale": None}
        tape += [["op", "scaled_dot_product_attention", [2, 2, 2], how, None], ["out", [3]]]
    given = crossed(traced(_plain, x=(64, 64)))
    assert judge(tape, given, op_facts, "DESK")["refused"]


def test_all_tapes_of_a_hand_in_share_one_budget(op_facts):
    given = crossed(traced(_plain, x=(64, 64)))
    tape = crossed(traced(lambda x: x @ (x @ x[:, :2]), x=(64, 64)))
    known = known_of(given, op_facts, "DESK")
    budget = Budget(known)
    assert not judged(tape, known, op_facts, "DESK", budget=budget)["wrong"]
    budget.spend(budget.seconds)
    assert "0 s are left" in judged(tape, known, op_facts, "DESK", budget=budget)["refused"]


@pytest.mark.whole
def test_a_log_of_many_long_programs_is_refused_by_their_count(op_facts, monkeypatch):
    def slow(x):
        return sum([x[i] for i in range(x.shape[0])])

    def long(x):
        return sum([x[i % 8] for i in range(1000)])

    given, step = (traced(f, x=(64, 64)) for f in (slow, long))
    row = {
        **dict.fromkeys(("program", "change", "because", "instead", "rejected", "verdict"), "x"),
        **dict.fromkeys(("guess_ms", "counted_ms", "speedup", "low", "high"), 1.0),
        "counted_ms": cost(list(step), DESK, op_facts).ms,
        "before": [1.0] * 12, "after": [1.0] * 12, "tape": dumps(list(step)).decode(),
        "lines": [0] * len(step), "texts": ["x"],
    }  # fmt: skip
    counted = []
    monkeypatch.setattr(
        "proflab.lesson.race.check_log.cost", lambda *a, **k: counted.append(a) or cost(*a, **k)
    )
    own = {
        "op_facts": op_facts,
        "speedup_interval": lambda before, after: dict(speedup=1.0, low=1.0, high=1.0),
        "gate": lambda *_: "x",
    }
    data = {"steps": [row] * 30, "stop": "x", "lines": [], "texts": []}
    found = check_log(data, list(step), list(given), own, "DESK")
    assert 0 < len(counted) < 30
    assert "it does far more than its cost shows" in found["costs"]


# ── live bytes and types ─────────────────────────────────────────────────────────────────────


def test_what_backward_keeps_is_alive_wherever_it_is_written(op_facts):
    """A write may not hide an array that an op keeps for its backward."""

    def program(hide):
        def step(x):
            x.requires_grad_()
            made, place = x, zeros(1000)
            for _ in range(8):
                made = made.exp()
                if hide:
                    place[:] = made.detach()
            made.sum().backward()
            return [x.grad]

        return crossed(traced(step, x=(1000,), training=True))

    open_, hidden = (cost(program(hide), DESK, op_facts) for hide in (False, True))
    assert hidden.peak_bytes >= open_.peak_bytes
    assert hidden.ms > open_.ms  # each copy is paid for


def test_what_no_backward_asks_for_is_let_go(op_facts):
    """The count says so, and the run does the same."""

    def forward_only(x):
        x.requires_grad_()
        made = x
        for _ in range(20):
            made = made.exp()
        return [made.detach() * 0 + ones(1)]

    tape = crossed(traced(forward_only, x=(1000,), training=True))
    paid = cost(tape, DESK, op_facts)
    assert paid.peak_bytes < 20_000
    left = walk(tape, {"x": np.zeros(1000, "float32")}, counted=paid.walk)
    assert not left.nodes


def test_results_of_another_type_are_wrong(op_facts):
    given = crossed(traced(_plain, x=(400, 400)))
    wider = crossed(traced(lambda x: (x @ (x @ x[:, :2])).to(np.float64), x=(400, 400)))
    found = judge(wider, given, op_facts, "DESK")
    assert found["wrong"] == "results of types float64 where float32 are expected"
