"""Lesson 13: good work logs and forged ones, written by somebody who has read the check, differ."""

import random
import statistics
import time
from functools import cache

import numpy as np
import pytest
from cohort.run import solved
from step_programs import (
    BY_NUMBERS,
    CHOSEN,
    IDEAS,
    STEEPER,
    after,
    by_erf,
    by_erf_at_last,
    by_halves,
    by_its_number,
    by_parts,
    copied,
    faster,
    gelu,
    in_half,
    in_letters,
    inside,
    left,
    looser,
    scope,
    slow,
    spelled,
    turned_round,
)

from proflab.checks.values import dumps, loads
from proflab.lesson.race import WorkLog, counted, log, show, traced
from proflab.lesson.race.check_log import RULES, checked
from proflab.lesson.race.known import known_of
from proflab.lesson.race.replay import walk

SHAPES, DRAWS = {"tokens": ("int64", (8, 64))}, {"tokens": 192, "weight": "fan-in"}
FLOOR = 1.034


# ── logs ──


@cache
def tape_of(program):
    return traced(program, model=scope()["make_model"], **SHAPES)


def cost_of(program):
    tape = tape_of(program)
    return counted(tape, "DESK").ms, sum(row["ms"] > 0 for row in counted(tape, "DESK").rows)


def by_count(old, new):
    """The times of a machine on which the count is right, and noisy."""
    return noisy(cost_of(old)[0]), noisy(cost_of(new)[0])


def by_ops(old, new):
    """The times of a machine on which overhead is all."""
    return noisy(cost_of(old)[1] / 20), noisy(cost_of(new)[1] / 20)


def by_halves_of_a_float(old, new):
    """The times of numpy, which has no fast product in float16."""
    return noisy(4.3), noisy(65.5 if new.__name__.endswith("attention") else 4.3 / 2)


def by_products(old, new):
    """The times of a machine that multiplies slowly: few of a program's products can fall."""
    return noisy(1.1), noisy(1.0)


def by_no_clock(old, new):
    """The times of a clock that does not move."""
    return [1e-9] * 12, [1e-9] * 12


def equal_at_last(old, new):
    return by_count(new if new is faster else old, new)


def in_whole_ms(old, new):
    return tuple([max(1.0, round(ms)) for ms in each] for each in by_count(old, new))


def noisy(ms):
    return [ms * _noise.uniform(0.97, 1.03) for _ in range(12)]


_noise = random.Random(13)


def made(steps, times=by_count, stop="`found = F.linear` is left, {times:.2f} times the floor"):
    """A log of these steps, as it crosses; each is a program, what names its cost, and more."""
    built = solved("lesson_13").built
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log, "timed_pairs", lambda old, new, methods: times(*kept[-1:], now))
        patch.setattr(log, "methods_of", lambda program: vars(built))
        patch.setattr(log, "calling", lambda *a, **k: None)
        patch.setattr(log, "traced", lambda program, **made: tape_of(program))
        work, kept = WorkLog(slow, "DESK", floor=FLOOR, model=scope()["make_model"], **SHAPES), []
        kept.append(slow)
        for number, (program, because, more) in enumerate(steps):
            now = program
            said = {"change": f"change {number}", "guess_ms": 3.0, "because": because, **more}
            work.step(program=program, **said)
            if not said.get("rejected"):
                kept.append(program)
        work.stop(stop.format(times=cost_of(faster)[0] / FLOOR, ms=cost_of(faster)[0] - FLOOR))
        return loads(dumps(work.data()))


@cache
def known():
    op_facts = solved("lesson_13").built.op_facts
    return known_of(list(tape_of(slow)), op_facts, "DESK", draws=DRAWS, floor=FLOOR, rows=True)


def found(data, handed=faster):
    functions = vars(solved("lesson_13").built)
    tape = loads(dumps(list(tape_of(handed))))
    result = checked(data, tape, known(), functions, "DESK", one_by_one=True)
    return {rule: result[rule] for rule in RULES if result[rule]}


@pytest.fixture(autouse=True)
def counting(monkeypatch):
    monkeypatch.setitem(show.counting, "op_facts", solved("lesson_13").built.op_facts)


def step(program, because, **more):
    return program, because, more


def idea(program=by_halves, because="linear", rejected="twice as many ops cost more", **more):
    return step(program, because, rejected=rejected, **more)


ALL = step(left("attention", "gelu", "last", "lowrank"), "linear, by overhead")
ONE = step(left("gelu", "last", "lowrank"), "div and matmul of scores")
REST = step(faster, "mul and add of GELU")
ATTEND_FIRST = step(left("samples", "gelu", "last", "lowrank"), "div of scores")
GELU_FIRST = step(left("samples", "attention", "last", "lowrank"), "mul of GELU")
SMALL = [
    step(left("last", "lowrank"), "mul of GELU"),
    step(left("lowrank"), "linear: logits of places that nobody asks for"),
    step(faster, "linear, which multiplies two weights first", instead="the low rank is left"),
]
USUAL = [ALL, ONE, REST, idea()]
IN_HALF = idea(inside(scaled_dot_product_attention=in_half), "linear", "float16 is slow here")
OF_HALF = idea(after(lambda y: y.to(np.float16), inside(scaled_dot_product_attention=by_parts)))
GOOD = {
    "as it should be": (USUAL, {}),
    "the idea first": ([idea(), ALL, ONE, REST], {}),
    "the idea in between": ([ALL, idea(), ONE, REST], {}),
    "attention first": ([ATTEND_FIRST, step(ONE[0], "linear, by overhead"), REST, idea()], {}),
    "GELU first": ([GELU_FIRST, step(left("attention", "last", "lowrank"), "linear"),
                    step(left("last", "lowrank"), "div"), SMALL[1], SMALL[2], idea()], {}),
    "five steps": ([ALL, ONE, *SMALL, idea()], {}),
    "two ideas": ([*USUAL, idea(inside(gelu=by_erf), rejected="its results are wrong")], {}),
    "the other formula of GELU": ([ALL, ONE, REST, idea(inside(gelu=by_erf))], {}),
    "half precision": ([ALL, ONE, REST, IN_HALF], {}),
    "half precision is measured": ([ALL, ONE, REST, IN_HALF], {"times": by_halves_of_a_float}),
    "half of the bytes for results": ([ALL, ONE, REST, OF_HALF], {}),
    "copies in another order": ([ALL, ONE, REST, idea(
        inside(scaled_dot_product_attention=copied))], {}),
    "softmax by itself": ([ALL, ONE, REST, idea(
        inside(scaled_dot_product_attention=by_parts))], {}),
    "an idea about less than a hundredth": ([ALL, ONE, REST, idea(
        inside(gelu=by_erf_at_last))], {}),
    "a dearer idea": ([idea(left(*CHOSEN, "heads")), ALL, ONE, REST], {}),
    "the gap in ms": (USUAL, {"stop": "linear is left, {ms:.2f} ms above the floor"}),
    "numbers besides": (USUAL, {"stop": "linear, 13 × 5 µs of 2.24 ms, 56 %: {times:.3f} times"}),
    "a line in backquotes": ([step(ALL[0], "`x + 0.044715 * x**3` costs most"), ONE, REST, idea()],
                             {}),
    "another cost once": ([step(ALL[0], "the loop", instead="it is easy to see"), *USUAL[1:]], {}),
    "overhead is all": (USUAL, {"times": by_ops}),
    "products are all": (USUAL, {"times": by_products}),
    "a step that is measured the same": (USUAL, {"times": equal_at_last}),
    "a clock of whole ms": (USUAL, {"times": in_whole_ms}),
    "a clock that stands still": (USUAL, {"times": by_no_clock}),
    "a word that is an op's name, too": ([
        step(GELU_FIRST[0], "linear is larger and has to stay; mul of GELU can fall"),
        step(left("attention", "last", "lowrank"), "linear"), step(left("last", "lowrank"), "div"),
        SMALL[1], SMALL[2], idea()], {}),
    "one op's copies go last": ([ALL, ONE, step(inside(scaled_dot_product_attention=copied),
                                 "mul"), step(faster, "clone"), idea()], {}),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", GOOD)
def test_a_good_log_holds_in_all(name):
    steps, options = GOOD[name]
    assert found(made(steps, **options)) == {}


@pytest.mark.whole
@pytest.mark.parametrize("name", IDEAS)
def test_an_honest_idea_is_one(name):
    assert found(made([ALL, ONE, REST, idea(IDEAS[name])])) == {}


# ── forged by somebody who has read the check ──

TIMES_ONE = after(lambda y: y * 1.0)
PLUS_NONE = after(lambda y: y + 0.0, TIMES_ONE)
FLIPPED = after(lambda y: y.flip(0).flip(0))


def through_exp(x, **more):
    return gelu(x.clamp(min=-50).exp().log() + 0 * x, **more)


def there_and_back(x, **more):
    return gelu((x * 2 - x) * 1, **more)


def turned(x, **more):
    return gelu(x.neg().neg(), **more)


def taken_back(x, **more):
    return gelu(x.transpose(0, 1).clone().transpose(0, 1), **more)


def sums(model, tokens):
    return model.words(tokens).sum(1) @ model.head.weight.T


def same_times(data):
    one, other = data["steps"][1:3]
    for key in ("before", "after", "speedup", "low", "high", "verdict"):
        other[key] = one[key]


def told_by(times):
    """Steps with these times for each of them, and what lesson 08 says of them."""
    built = solved("lesson_13").built

    def spoil(data):
        for number, row in enumerate(data["steps"]):
            before, after = times(number)
            row |= {"before": before, "after": after, **built.speedup_interval(before, after)}
            row["verdict"] = built.gate(before, after, 0.05)

    return spoil


def invented(number):
    return [20 + (n + number) / 10 for n in range(12)], [2 + n / 50 for n in range(12)]


def modest(number):
    return noisy(5.5 if number < 3 else 0.9), noisy(1.0)


def by_one_ratio(number):
    before = noisy(10.0)
    return before, [ms / 1.7 for ms in before]


EVERY = "linear embedding add mul div pow tanh exp sum matmul cat gelu layer_norm sub"
FORGED = {
    "the program twice": ([ALL, step(after(lambda y: y), "linear"), REST, idea()], None,
                          "costs no less than"),
    "the program, with a product by one, and with a zero": (
        [step(PLUS_NONE, "linear and mul"), step(TIMES_ONE, "add"), step(faster, "mul"), idea()],
        None, "1 of the 3 kept steps go 5%"),
    "most at once, then two small ops": (
        [step(left("last", "lowrank"), "linear and mul"), step(PLUS_NONE, "linear"),
         step(faster, "linear", instead="it is what is left"), idea()], None, "2 of the 3 kept"),
    "exponents and logarithms": (
        [ALL, step(inside(gelu=through_exp), "div and matmul"), step(faster, "exp and log"),
         idea()], None, "2 of the 3 kept"),
    "twice the number less the number": (
        [ALL, step(inside(gelu=there_and_back), "div and matmul"), step(faster, "mul"), idea()],
        None, "2 of the 3 kept"),
    "signs that change twice": (
        [ALL, step(inside(gelu=turned), "div and matmul"), step(faster, "neg"), idea()], None,
        "2 of the 3 kept"),
    "copies that nobody needs": (
        [ALL, step(inside(gelu=taken_back), "div and matmul"), step(faster, "clone"), idea()],
        None, "2 of the 3 kept"),
    "the idea is the program and a product by one": (
        [ALL, ONE, REST, idea(TIMES_ONE)], None, "it is step 3, 'faster' to 1%"),
    "the idea is the program, turned and turned back": (
        [ALL, ONE, REST, idea(FLIPPED)], None, "it is step 3, 'faster' to 1%"),
    "the idea is the program and one op": (
        [ALL, ONE, REST, idea(after(lambda y: y * 2))], None, "it is step 3, 'faster' to 1%"),
    "the idea is the program, an op more and a copy less": (
        [ALL, ONE, step(after(lambda y: y.clone()), "mul and add of GELU"), step(faster, "clone"),
         idea(after(lambda y: y * 2))], None, "to 1% of the cost"),
    "the idea is a step and one op": (
        [ALL, ONE, REST, idea(after(lambda y: y - 1, ONE[0]), "mul")], None, "it is step 2"),
    "the idea is the given program and a zero": (
        [ALL, ONE, REST, idea(after(lambda y: y + 0.0, slow), "linear")], None,
        "it is the given program to 1%"),
    "the idea is the given program twice": (
        [ALL, ONE, REST, idea(after(lambda y: y + 0 * y.exp(), slow), "linear")], None,
        "it is the given program"),
    "the idea is the program with another constant": (
        [ALL, ONE, REST, idea(inside(layer_norm=looser))], None, "it is step 3, 'faster' to 1%"),
    "the idea is a step with other constants": (
        [ALL, ONE, step(BY_NUMBERS, "linear"),
         step(faster, "mul and add of GELU"), idea(STEEPER)], None, "it is step 3"),
    "the idea is the program with its last place by number": (
        [ALL, ONE, REST, idea(spelled("__getitem__", by_its_number))], None, "it is step 3"),
    "the idea is the program with sums the other way round": (
        [ALL, ONE, REST, idea(spelled("__add__", turned_round))], None, "it is step 3"),
    "the idea is a step in other letters": (
        [ALL, ONE, step(in_letters("...i,oi->...o"), "mul and add of GELU"),
         step(faster, "einsum"), idea(in_letters("...a,ba->...b"))], None, "it is step 3"),
    "the idea answers for one text": (
        [ALL, ONE, REST, idea(after(lambda y: y[:1]))], None, "other shapes"),
    "the idea is no model": ([ALL, ONE, REST, idea(sums)], None, "less than any right program"),
    "the times of the step before": (USUAL, same_times, "has the times of step 2"),
    "ten times faster each time": (USUAL, told_by(invented), "no machine does that"),
    "five times faster each time": (USUAL, told_by(modest), "all kept steps together"),
    "one ratio for all pairs": (USUAL, told_by(by_one_ratio), "no clock gives"),
    "one sentence for all": (
        [step(program, "linear, div and mul", change="it was slow") for program, *_ in USUAL[:3]]
        + [idea()], None, "word for word"),
    "each step names all costs": (
        [step(program, EVERY) for program, *_ in USUAL[:3]] + [idea()], None, "name those"),
    "the stop tells all numbers": (
        USUAL, lambda data: data.update(stop="linear " + " ".join(
            f"{1.02**n:.2f}" for n in range(100))), "more than 20 numbers"),
    "everything in one step": ([step(faster, "linear"), idea()], None, "of the 1 kept steps"),
    "a step names an op by a word of its sentence alone": (
        [step(GELU_FIRST[0], "GELU takes eight ops to make one number"),
         step(left("last", "lowrank"), "linear and div"), SMALL[1], SMALL[2], idea()], None,
        "the largest costs of the given program are"),
    "a step names what it leaves alone": (
        [ALL, step(ONE[0], "linear and mul"), REST, idea()], None, "fell by less than a tenth"),
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_log_loses_points_by_a_sentence(name):
    steps, spoil, sentence = FORGED[name]
    data = made(steps)
    if spoil is not None:
        spoil(data)
    told = " ".join(found(data).values())
    assert sentence in told


def test_a_check_takes_no_longer_than_some_runs_of_the_given_program():
    data, inputs = made(USUAL), next(known().examples())[0]
    known().as_data()  # the class's: what is expected is not worked out again

    def seconds(call):
        began = time.thread_time()
        call()
        return time.thread_time() - began

    runs = statistics.median(seconds(lambda: walk(list(tape_of(slow)), inputs)) for _ in range(5))
    ratio = statistics.median(seconds(lambda: found(data)) for _ in range(3)) / runs
    print(f"a check takes as long as {ratio:.1f} runs of the given program")
    assert ratio < 20
