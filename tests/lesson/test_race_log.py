"""Work logs: good ones and forged ones told apart, hostile ones refused, and what a step shows."""

import copy
import itertools
import json
import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from race_tapes import solved_built

from proflab import cat, stack
from proflab.checks import expect
from proflab.checks.values import dumps, loads
from proflab.lesson import race
from proflab.lesson.kernel_record import KernelRecord
from proflab.lesson.race import Refused, WorkLog, log, show, traced
from proflab.lesson.race import check_log as check_log_module
from proflab.lesson.race.check_log import RULES, check_log
from proflab.nn import functional as F

SHAPES = {"x": (8, 5, 6), "w": (8, 6, 7), "b": (8, 7)}
STOP = "the `x @ w` of one matmul is a third of what is left, 3.00 times the floor"


def slow(x, w, b):
    return stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def later(x, w, b):
    products = stack([x[e] @ w[e] for e in range(x.shape[0])])
    return F.relu(products + b[:, None])


def faster(x, w, b):
    products = x @ w
    return F.relu(products + b[:, None])


def joined(x, w, b):
    halves = [x[:4] @ w[:4], x[4:] @ w[4:]]
    return F.relu(cat(halves) + b[:, None])


def without_bias(x, w, b):
    return F.relu(x @ w)


def minus_bias(x, w, b):
    return F.relu((x @ w) - b[:, None])


def turned(x, w, b):
    return faster(x, w, b).mT


def twice(x, w, b):
    return slow(x, w, b) + 0 * slow(x, w, b)


def in_one_line(x, w, b):
    return F.relu(stack([x[expert] @ w[expert] + b[expert] for expert in range(x.shape[0])]))


LONG = "return F.relu(stack([x[expert] @ w[expert] + b[expert] for expert in range(x.shape[0])]))"


def twelve(before, after):
    return [before + 0.01 * n for n in range(12)], [after + 0.01 * n for n in range(12)]


TIMES = twelve(3.0, 1.0)
FIRST = (later, {"change": "one ReLU", "because": "matmul, add and relu: 25 ops of 5 µs"})
LAST = (faster, {"change": "one product", "because": "8 × matmul of 5 µs: overhead"})
IDEA = (joined, {"change": "two products", "because": "matmul takes most of it",
                 "rejected": "one product for all is cheaper still"})  # fmt: skip


@pytest.fixture(scope="module")
def functions():
    built = solved_built("09_optimization")
    return {name: getattr(built, name) for name in ("op_facts", "speedup_interval", "gate")}


def made(functions, *steps, times=TIMES, stop=STOP, guess=None, floor=None):
    """The log of these steps as plain data, as it crosses; no clock decides."""
    work = WorkLog(slow, "T4", floor=floor, **SHAPES)
    guesses = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(show.counting, "op_facts", functions["op_facts"])
        patch.setattr(log, "timed_pairs", lambda *a, **k: times)
        patch.setattr(log, "methods_of", lambda program: functions)
        for program, said in steps:
            told = {"guess_ms": guess(program) if guess else 0.1 / next(guesses)}
            work.step(program, **{**told, **said})
        if stop is not None:
            work.stop(stop)
        return loads(dumps(work.data()))


def found(functions, data, handed=faster, **options):
    tapes = [loads(dumps(traced(each, **SHAPES))) for each in (handed, slow)]
    return check_log(data, *tapes, functions, "T4", **options)


def wrong(result):
    return {rule: result[rule] for rule in RULES if result[rule]}


def ms_of(functions, program):
    return race.cost.cost(
        list(traced(program, **SHAPES)), race.MACHINES["T4"], functions["op_facts"]
    ).ms


# ── twenty good ones ─────────────────────────────────────────────────────────────────────────

wrapped = SimpleNamespace(program=lambda x, w, b: faster(x, w, b))
SLOW_TIMES, SAME, UNCLEAR = twelve(1, 2), twelve(1.0, 1.0), ([1.0, 2.0] * 6, [2.0, 1.0] * 6)
GOOD = {
    "as it should be": ((FIRST, IDEA, LAST), {}),
    "the idea first": ((IDEA, FIRST, LAST), {}),
    "the idea last": ((FIRST, LAST, IDEA), {}),
    "one step and one idea": ((LAST, IDEA), {}),
    "three steps": ((FIRST, (joined, {**IDEA[1], "rejected": ""}), LAST,
                     (twice, {**IDEA[1], "because": "add or matmul"})), {}),
    "an idea that is wrong": ((FIRST, LAST, (without_bias, IDEA[1])), {}),
    "an idea that is dearer than the given program": ((FIRST, (twice, IDEA[1]), LAST), {}),
    "another cost, with a reason": ((FIRST, IDEA, (faster, {
        **LAST[1], "change": "x", "because": "stack", "instead": "it is in the way"})), {}),
    "a part of the line": ((FIRST, IDEA, (faster, {
        **LAST[1], "change": "x", "because": "`stack([x[e]  @ w[e]` is 85 %"})), {}),
    "the whole of a long line": (((in_one_line, FIRST[1]), IDEA, (faster, {
        **LAST[1], "change": "x", "because": f"`{LONG}` is all of it"})), {}),
    "a long line as a table cuts it": (((in_one_line, FIRST[1]), IDEA, (faster, {
        **LAST[1], "change": "x", "because": f"`{LONG[:69]}…` is all of it"})), {}),
    "the op in the change": ((FIRST, IDEA, (faster, {
        "change": "one MatMul", "because": "overhead"})), {}),
    "the gap in ms": ((FIRST, IDEA, LAST), {"stop": "matmul: 0.01 ms above the floor"}),
    "the gap to one per cent": ((FIRST, IDEA, LAST), {"stop": "relu, 2.98 times the floor"}),
    "numbers besides": ((FIRST, IDEA, LAST), {"stop": "3 ops of 5 µs, add 33 %, gap 3.0 (1,000)"}),
    "the line in the stop": ((FIRST, IDEA, LAST), {"stop": "`products + b` is 67 %, 3.0 ×"}),
    "measured slower": ((FIRST, IDEA, LAST), {"times": SLOW_TIMES}),
    "measured the same": ((FIRST, IDEA, LAST), {"times": SAME}),
    "measured unclear": ((FIRST, IDEA, LAST), {"times": UNCLEAR}),
    "whole numbers of ms": ((FIRST, IDEA, LAST), {"times": ([3] * 12, [1, 2] * 6)}),
    "guesses far off": ((FIRST, IDEA, LAST), {"guess": lambda program: 1e6}),
    "another program not kept": ((FIRST, (slow, IDEA[1]), LAST), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_good_log_is_consistent(name, functions):
    steps, options = GOOD[name]
    result = found(functions, made(functions, *steps, **options))
    assert wrong(result) == {}


@pytest.mark.parametrize(
    ("stop", "sentence", "times"),
    [
        ("relu, 1.5 times the floor", "", 1.5),
        ("relu, 1,500 times the floor", "", 1_500),
        ("relu, 2.98 times the floor", "", 1.5),  # of bytes alone, as logs of earlier years have it
        ("relu, 2.2 times the floor", "1.5 times the floor", 1.5),
    ],
)
def test_a_stop_tells_the_gap_to_the_floor_that_its_race_says(
    stop, sentence, times, functions, capsys
):
    floor = ms_of(functions, faster) / times
    data = made(functions, FIRST, IDEA, LAST, stop=stop, floor=floor)
    assert f"{times:,} times the floor of {floor:.4g} ms" in capsys.readouterr().out
    told = found(functions, data, floor=floor)["stop"]
    assert sentence in told and bool(sentence) == bool(told)


def test_rounded_rows_and_a_wrapper_of_the_last_program_are_consistent(functions):
    data = made(functions, FIRST, IDEA, LAST)
    for row in data["steps"]:
        row["counted_ms"] = float(f"{row['counted_ms']:.4g}")
    assert wrong(found(functions, data, wrapped.program)) == {}


# ── twenty forged ones ───────────────────────────────────────────────────────────────────────


def tape_of(program, **shapes):
    return dumps(traced(program, **{**SHAPES, **shapes})).decode()


def change(step, **values):
    return lambda data: data["steps"][step].update(values)


def all_kept(data):
    data["steps"][1]["rejected"] = ""
    data["steps"].pop(1)


FORGED = {
    "half of the count": (change(0, counted_ms=0.0275), "costs", "it costs 0.055032 ms"),
    "a wrong program": (change(2, tape=tape_of(minus_bias)), "costs", "kept and wrong: off by"),
    "another result": (change(2, tape=tape_of(turned)), "costs", "results of shapes"),
    "a tape of other inputs": (change(0, tape=tape_of(slow, x=(8, 9, 6))), "costs", "other inputs"),
    "no tape": (change(0, tape="[]"), "costs", "not in the reply format"),
    "an empty tape": (change(0, tape='["l",[]]'), "costs", "without a result"),
    "an unknown op": (change(0, tape=tape_of(faster).replace("matmul", "free")), "costs", "'free'"),
    "a speed-up": (change(0, speedup=30.0), "times", "speedup is 30, and its pairs give"),
    "a lower end": (change(0, low=2.9), "times", "low is 2.9"),
    "an upper end": (change(1, high=99.0), "times", "high is 99"),
    "a verdict": (change(2, verdict="same"), "times", "is 'same', and its pairs give 'faster'"),
    "times that were changed": (change(0, after=[9.0] * 12), "times", "speedup is"),
    "a step that costs more": (
        lambda data: data["steps"].insert(0, data["steps"].pop()), "order",
        "step 2, 'later' is kept and costs no less than step 1, 'faster'"),
    "another last program": (lambda data: data["steps"].pop(), "order", "handed in"),
    "every step kept": (all_kept, "order", "every step is kept"),
    "no reason": (change(1, rejected="no"), "order", "say why in a sentence"),
    "no step kept": (lambda d: [r.update(rejected="it was no use") for r in d["steps"]], "order",
                     "no step is kept"),
    "another cost without a reason": (change(2, because="stack", change="x"), "largest",
                                      "the largest cost of step 1, 'later' is matmul"),
    "a quote of nothing": (change(2, because="`    ` and `   …`", change="x"), "largest",
                           "the largest cost of step 1, 'later' is matmul"),
    "no stop": (lambda data: data.update(stop=None), "stop", "has no stop"),
    "a stop about nothing": (lambda data: data.update(stop="good enough, 3.00"), "stop",
                             "none of the two largest"),
    "a gap that is 2 % off": (lambda data: data.update(stop="matmul, 2.93 times"), "stop",
                              "2.998 times the floor, or 0.01001 ms"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_log_is_told_by_a_sentence(name, functions):
    spoil, rule, sentence = FORGED[name]
    data = made(functions, FIRST, IDEA, LAST)
    spoil(data)
    result = found(functions, data)
    assert sentence in result[rule], wrong(result)


DEEP: list = []
for _ in range(6):
    DEEP = [DEEP]
HOSTILE = {
    "nothing": None,
    "a number": 3,
    "a list": [1, 2],
    "no steps": {"steps": [], "stop": ""},
    "steps as text": {"steps": "abc", "stop": ""},
    "many steps": {"steps": [{}] * 100_000, "stop": ""},
    "rows that are none": {"steps": [None, 1, "x"], "stop": ""},
    "a stop of another kind": {"steps": [{}], "stop": 3},
    "a long stop": {"steps": [{}], "stop": "x" * 10**6},
    "deep": {"steps": DEEP, "stop": ""},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_log_gets_one_sentence(name, functions):
    result = found(functions, HOSTILE[name], one_by_one=True)
    assert len({result[rule] for rule in RULES}) == 1 and result["costs"]
    assert "\n" not in result["costs"] and len(result["costs"]) < 200


VALUES = [
    None, True, -1.0, 0, math.nan, math.inf, -math.inf, 10**300, "x" * 2_000, b"x".hex() * 2_000,
    [], [math.nan] * 12, [0.0] * 12, [1.0] * 11, [True] * 12, ["1"] * 12, {}, DEEP, 1j, [10**300],
    "[" * 900, '["l",[["l",["in"]]]]', '["a","<f8",[99999999999],""]',
    '["i","0x' + "f" * 500 + '"]',
]  # fmt: skip


@pytest.mark.parametrize(
    "key",
    ["program", "change", "because", "instead", "rejected", "guess_ms", "counted_ms", "speedup",
     "low", "high", "verdict", "before", "after", "tape", "lines", "texts"],
)  # fmt: skip
def test_a_hostile_value_gets_one_sentence_in_short_time(key, functions):
    good = made(functions, FIRST, IDEA, LAST)
    began = time.process_time()
    for value in VALUES:
        data = copy.deepcopy(good)
        data["steps"][0][key] = value
        for one_by_one in (True, False):
            result = found(functions, data, one_by_one=one_by_one)
            assert all(isinstance(result[rule], str) and len(result[rule]) < 400 for rule in RULES)
        harmless = key in ("lines", "texts", "instead", "because", "guess_ms")
        assert wrong(result) or harmless or isinstance(value, str), (value, result)
    del good["steps"][0][key]
    assert "step 1 is no row" in found(functions, good)["costs"]
    assert time.process_time() - began < 20


def test_a_last_program_without_a_cost_gets_a_sentence(functions):
    def biases(x, w, b):
        return b[:, None].expand(8, 5, 7)

    data = made(functions, FIRST, IDEA, LAST)
    data["steps"][2]["tape"] = tape_of(biases)
    result = found(functions, data, biases, one_by_one=True)
    assert result["order"] == "step 3, 'faster' is kept, and nothing that it does costs anything"


def test_a_log_is_checked_where_numpys_integers_have_32_bits(functions, monkeypatch):
    arange = np.arange

    def narrow(*ends, dtype=np.int32):
        return arange(*ends, dtype=dtype)

    data = made(functions, FIRST, IDEA, LAST)
    expected = found(functions, data, one_by_one=True)
    monkeypatch.setattr(np, "arange", narrow)
    assert found(functions, data, one_by_one=True) == expected


def test_lines_that_lie_change_nothing_but_what_may_be_named(functions):
    data = made(functions, FIRST, IDEA, LAST)
    for lines in ([10**9], [-1] * 5, list(range(9999))):
        data["steps"][0]["lines"] = lines
        assert wrong(found(functions, data)) == {}


def test_a_long_line_is_kept_whole_and_shown_cut(functions, capsys):
    data = made(functions, (in_one_line, FIRST[1]), IDEA, LAST)
    assert LONG in data["steps"][0]["texts"]
    assert f" % this line: {LONG[:69]}…\n" in capsys.readouterr().out


def test_a_log_that_is_noted_again_shows_one_line_for_what_is_as_it_was(functions, capsys):
    work = WorkLog(slow, "T4", **SHAPES)

    def noted(log):
        for program, said in (FIRST, IDEA, LAST):
            log.step(program, guess_ms=0.1, **said)
        log.stop(STOP)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(show.counting, "op_facts", functions["op_facts"])
        patch.setattr(log, "timed_pairs", lambda *a, **k: TIMES)
        patch.setattr(log, "methods_of", lambda program: functions)
        first = work.data(noted), capsys.readouterr().out
        again = work.data(noted), capsys.readouterr().out
        work.step(joined, guess_ms=0.1, **IDEA[1])
        assert "you guessed" in capsys.readouterr().out  # in a cell of its own it is shown whole
    assert first[0] == again[0]
    kept = [row["largest"]["of"] for row in first[0]["steps"]]  # beside what a step is seen
    assert kept == ["the given program", "later", "later"]
    assert first[1].count("you guessed") == 3 and "stopped at" in first[1]
    lines = again[1].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["later", "joined", "faster"]
    assert all(line.endswith(" ms, as it was") for line in lines)


def test_a_tape_is_counted_once_and_its_rows_may_be_changed(functions, monkeypatch):
    asked, facts = [], functions["op_facts"]

    def watched(call, result):
        asked.append(call.op)
        return facts(call, result)

    monkeypatch.setitem(show.counting, "op_facts", watched)
    first = race.counted(traced(slow, **SHAPES), "T4")
    rows, before = copy.deepcopy(first.rows), len(asked)
    first.rows.pop()["ms"] = first.rows[0]["ms"] = 0.0
    assert race.counted(traced(slow, **SHAPES), "T4").rows == rows
    assert len(asked) == before
    assert race.counted(traced(faster, **SHAPES), "T4").ms < math.fsum(row["ms"] for row in rows)


def test_a_machine_that_is_not_declared_is_said_with_those_that_are(functions, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    with pytest.raises(ValueError, match="no machine 'desk': take one of DESK, T4"):
        race.table(slow, faster, "desk", **SHAPES)


# ── in the notebook ──────────────────────────────────────────────────────────────────────────


def test_expect_log_says_what_each_rule_found(functions, capsys, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    monkeypatch.setattr(check_log_module, "methods_of", lambda program: functions)
    data = made(functions, FIRST, IDEA, LAST)
    options = {"like": slow, "machine": "T4"}
    capsys.readouterr()
    expect.expect_log("sums", data, traced(faster, **SHAPES), rule="times", **options)
    assert capsys.readouterr().out == f"✅ sums: {RULES['times']}\n"
    with pytest.raises(expect.CaseFailed, match="last step that is kept is not the program"):
        expect.expect_log("end", data, traced(joined, **SHAPES), rule="order", **options)


def test_five_cases_about_one_log_check_it_once(functions, monkeypatch):
    asked, check = [], check_log_module.checked
    monkeypatch.setattr(check_log_module, "checked", lambda *a, **k: asked.append(a) or check(*a))
    monkeypatch.setattr(check_log_module, "methods_of", lambda program: functions)
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    data, options = made(functions, FIRST, IDEA, LAST), {"like": slow, "machine": "T4"}
    for rule in RULES:
        expect.expect_log(rule, data, traced(faster, **SHAPES), rule=rule, **options)
    assert len(asked) == 1
    data["steps"][0]["counted_ms"] *= 2
    with pytest.raises(expect.CaseFailed, match="its row says"):
        expect.expect_log("costs", data, traced(faster, **SHAPES), rule="costs", **options)


def test_a_step_is_counted_beside_others_by_the_op_facts_of_now(functions, capsys, monkeypatch):
    monkeypatch.setattr(log, "timed_pairs", lambda *a: TIMES)
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    work = WorkLog(slow, "T4", **SHAPES)
    work.step(later, guess_ms=1.0, **FIRST[1])
    corrected = {"relu": {"bytes_read": 10**9}}
    race.count_with(lambda c, out: functions["op_facts"](c, out) | corrected.get(c.op, {}))
    work.step(later, guess_ms=1.0, **FIRST[1])
    assert [row["largest"]["op"] for row in work.data()["steps"]] == ["relu"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"guess_ms": None}, "guess before you look"),
        ({"guess_ms": "3"}, "a number of ms above 0"),
        ({"guess_ms": math.nan}, "a number of ms above 0"),
        ({"guess_ms": True}, "a number of ms above 0"),
        ({"guess_ms": 10**20}, "a number of ms above 0 and below 1,000,000,000,000, not 1000000"),
        ({"change": ""}, "change is a sentence"),
        ({"because": 3}, "because is a sentence"),
        ({"rejected": "x" * 2_000}, "rejected has at most 1,000 characters"),
        ({"rejected": True}, "rejected is a sentence"),
        ({"program": lambda x, w, b: x}, "function of its own"),
    ],
)
def test_a_step_refuses_what_no_row_may_hold(values, sentence, functions, monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    work = WorkLog(slow, "T4", **SHAPES)
    said = {"program": later, "change": "a", "because": "b", "guess_ms": 1.0, **values}
    with pytest.raises(ValueError, match=sentence):
        work.step(**said)
    with pytest.raises(Refused, match="asks for numbers"):
        work.step(**{**said, "program": _asks, "change": "a", "because": "b", "guess_ms": 1.0,
                     "rejected": ""})  # fmt: skip
    with pytest.raises(NotImplementedError, match="no step yet"):
        work.data()


def _asks(x, w, b):
    return x * x.sum().item()


def test_a_step_that_is_run_again_replaces_its_row_and_is_timed_once(
    functions, monkeypatch, tmp_path
):  # noqa: E501
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    monkeypatch.setattr(log, "methods_of", lambda program: functions)
    monkeypatch.setattr(log, "current_record", lambda: KernelRecord(folder=tmp_path))
    asked = []

    def timed(before, after, methods):
        asked.append((before, after))
        return TIMES

    monkeypatch.setattr(log, "timed_pairs", timed)
    for run in range(3):  # a kernel each
        if run == 2:  # without the file: from the saved notebook's outputs
            kept = json.loads((tmp_path / log.FILE).read_text().splitlines()[0])
            cells = [{"outputs": [{"data": {log.MIME: kept}}]}, {}]
            (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
            (tmp_path / log.FILE).unlink()
        work = WorkLog(slow, "T4", **SHAPES)
        for guess in (0.1, 0.2):
            work.step(program=later, guess_ms=guess, **FIRST[1])
        [row] = work.data()["steps"]
        assert row["guess_ms"] == 0.2 and row["before"] == TIMES[0]
    assert len(asked) == 1
    assert "later" in work.table() and "2.9" in work.table()
