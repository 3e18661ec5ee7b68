"""Doubles that a hidden test declares: what is split off, and what may not be written."""

from __future__ import annotations

import pytest

from proflab_course.cases.case import GrammarError, Step
from proflab_course.cases.hidden_doubles import DoubleRegistry
from proflab_course.cases.reader import split

HIDDEN = "### BEGIN HIDDEN TESTS\n{}\n### END HIDDEN TESTS"
MEASURE = """
clock = doubles.Clock(tick_ns=10 * 10)
model = doubles.Model(clock, [4.25, 5.25], cold_ms=(91.5,))
expect("median", clock.run(measure_latency, model, 7), 4.75, rel=1e-6)
expect("calls", model.calls, 13)
expect_between("readings", clock.readings, 20, 30)
""".strip()


def hidden(code):
    return split(HIDDEN.format(code), "test_f").blocks[0]


def test_a_hidden_declaration_leaves_a_stub_and_its_script_here():
    block = hidden(MEASURE)
    assert block.steps == (
        Step("setup", "clock = doubles.Clock.held('clock')"),
        Step("setup", "model = doubles.Model.held('model')"),
        Step("value", "clock.run(measure_latency, model, 7)"),
        Step("lookup", "model.calls"),
        Step("lookup", "clock.readings"),
    )
    (first, clock), (second, model) = block.doubles
    assert (first, second) == (0, 1)
    assert (clock.kind, clock.given, clock.of) == ("Clock", {"tick_ns": 100}, {})
    assert model.given == {"ms": [4.25, 5.25], "cold_ms": (91.5,)}
    assert model.of == {"clock": "clock"}


def test_a_visible_declaration_is_code_as_any_other():
    block = split(MEASURE, "test_f").blocks[0]
    assert block.doubles == ()
    assert block.steps[1] == Step(
        "setup", "model = doubles.Model(clock, [4.25, 5.25], cold_ms=(91.5,))"
    )
    assert block.steps[3] == Step("value", "model.calls")


def test_positions_are_those_of_the_steps():
    block = hidden(f"x = 1\n{MEASURE}\nother = doubles.Copy(clock, per_second=[1e9])")
    assert [place for place, _ in block.doubles] == [1, 2, 6]
    assert block.steps[6].code == "other = doubles.Copy.held('other')"


def test_a_world_answers_what_stubs_ask_and_nothing_else():
    registry = DoubleRegistry()
    for _, double in hidden(MEASURE).doubles:
        registry.declare(double)
    before = registry.get("clock.read")("monotonic")
    registry.get("model.call")()
    assert registry.get("clock.read")("monotonic") - before == 91_500_000
    assert registry.look_up("model.calls") == 1
    for name in ("model.calls", "model._times", "model.__init__", "other.call", "clock", "."):
        assert registry.get(name) is None


@pytest.mark.parametrize(
    "code, sentence",
    [
        ("c = doubles.Clock(tick_ns=0)", "no clock has a tick of 0 ns"),
        ("c = doubles.Clock(ticks=3)", "unexpected keyword argument 'ticks'"),
        ("c = doubles.Clock(*[1])", "arguments are written out"),
        ("c = doubles.Clock(**{})", "arguments are written out"),
        ("c = doubles.Clock(len([1]))", "literals, arithmetic, math and np only"),
        ("m = doubles.Model([1])", "this double cannot be made"),
        ("m = doubles.Model(clock, [])", "literals, arithmetic, math and np only"),
        ("m = doubles.Model(5, [1], [2])", "this double cannot be made"),
        ("c = doubles.Clock()\nc = doubles.Clock()", "a double called c already"),
        ("c, d = doubles.Clock(), 1", "`doubles.Clock` would tell the student its script"),
        ("def f():\n    return doubles.Clock()", "would tell the student its script"),
        ("expect('b', doubles.Clock(5).run(f), 1)", "would tell the student its script"),
        ("c = doubles.Clock()\nexpect('b', [c.readings], [1])", "must be a case's whole actual"),
        ("c = doubles.Clock()\nn = c.readings", "must be a case's whole actual"),
        ("c = doubles.Clock()\nexpect_raises('b', lambda: c.readings, ValueError)", "must be a"),
    ],
)
def test_what_would_tell_a_script_gets_a_sentence(code, sentence):
    with pytest.raises(GrammarError) as raised:
        hidden(f"{code}\nexpect('a', f(), 1)")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("cell test_f, line ")
