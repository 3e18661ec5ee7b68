"""Whatever a student's process sends is read without harm, and bounded."""

import json

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pace import at_most

from proflab.checks.compare import compare
from proflab.checks.values import NotPlainData, dumps
from proflab_course.grading.limits import MAX_VALUE
from proflab_course.grading.run import replies
from proflab_course.grading.run.replies import (
    BadReply,
    cut_outputs,
    output_size,
    parse_message,
    parse_value,
    read_reply,
    start_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
KINDS = ("stream", "error", "display_data", "execute_result", "bogus")
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {"output_type": st.sampled_from(KINDS)},
        optional={
            "name": st.sampled_from(["stdout", "stderr", "x"]) | JSON,
            "text": JSON,
            "ename": JSON,
            "evalue": JSON,
            "traceback": JSON,
            "data": st.dictionaries(
                st.sampled_from(["text/plain", "application/json", "image/png"]) | st.text(), JSON
            ),
            "execution_count": JSON,
        },
    ),
    max_size=5,
)


@pytest.mark.whole
@settings(deadline=None)
@given(
    message=st.dictionaries(st.sampled_from(["raised", "message", "refused", "x"]), JSON),
    outputs=OUTPUTS | JSON,
    blob=st.binary(max_size=40),
    kind=st.sampled_from(["cell", "setup", "value", "raises", "tape"]),
)
def test_any_reply_is_read_and_its_outputs_can_be_stored(message, outputs, blob, kind):
    reply = read_reply(message | {"outputs": outputs}, blob, kind)
    assert reply.state in ("done", "value", "refused", "raised")
    stored = [nbformat.from_dict(output) for output in cut_outputs(reply.outputs, 10_000)]
    cell = nbformat.v4.new_code_cell(outputs=stored)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()


def test_a_tape_is_not_read_before_the_judge_and_has_the_limits_of_a_value():
    tape = dumps([["in", "x", (2, 3), "float32"], ["out", [0]]])
    assert read_reply({}, tape, "tape").value == tape
    assert read_reply({}, b"[" * 99, "tape").value == b"[" * 99  # what it holds, the judge sees
    for blob in (b'"' + b"x" * MAX_VALUE, b'["l",[' + b"[]," * 9_000_000 + b"[]]]", b'"\xc3\xa9"'):
        reply = read_reply({}, blob, "tape")
        assert reply.state == "refused" and reply.value is None


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_bad_reply(body):
    try:
        assert isinstance(parse_message(body), dict)
    except BadReply:
        pass


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=8,
    )
)
def test_plain_data_passes(value):
    try:
        blob = dumps(value)
    except NotPlainData:
        return
    assert parse_value(blob) == value


def colliding_keys() -> bytes:
    items = ",".join(f'[["i","{hex(k * (2**61 - 1))}"],null]' for k in range(200_000))
    return f'["d",[{items}]]'.encode()


def escaped(blob: bytes) -> bytes:
    """The same JSON with its tags written as no one writes them."""
    return blob.replace(b'"d"', b'"\\u0064"').replace(b'"i"', b'"\\u0069"')


# Made in their tests: they are large.
COSTLY = {
    "deep": lambda: b"[" * 300_000 + b"]" * 300_000,
    "wide lists": lambda: b'["l",[' + b"[]," * 9_000_000 + b"[]]]",
    "colliding keys": lambda: colliding_keys(),
    "a huge integer": lambda: b'["i","0x' + b"f" * 10_000_000 + b'"]',
    "a negative integer": lambda: b'["l",[["i","-0x' + b"f" * 1000 + b'"]]]',
    "colliding keys, escaped": lambda: escaped(colliding_keys()),
    "a huge integer, escaped": lambda: escaped(b'["i","0x' + b"f" * 10_000_000 + b'"]'),
    "an empty array of 130 million rows": lambda: b'["a","<f8",[2,130000000,0],""]',
    "a list with an empty array": lambda: b'["l",[["a","|b1",[130000000,0],""]]]',
    "a million axes": lambda: b'["a","|b1",[' + b"0," * 1_000_000 + b'0],""]',
    "a million texts": lambda: b'["l",[' + b'"",' * 1_000_000 + b'""]]',
    "an axis of a hundred billion": lambda: b'["a","<f8",[100000000000],""]',
    "an axis that overflows": lambda: b'["a","<f8",[0,4611686018427387904],""]',
    "a list as a key": lambda: b'["t",[["d",[[["l",[]],1]]]]]',
    "lone surrogates": lambda: b'"' + b"\\ud800" * 10 + b'"x',
    "nothing": lambda: b"",
}


@pytest.mark.whole
@pytest.mark.parametrize("name", COSTLY)
def test_what_costs_too_much_or_makes_no_sense_is_refused_soon(name):
    blob = COSTLY[name]()
    with at_most(paces=300), pytest.raises(NotPlainData):
        parse_value(blob)


def deep_and_wide(depth: int, wide: int) -> str:
    return "x" if depth == 0 else [deep_and_wide(depth - 1, wide)] * wide


LARGE = {
    "arrays": lambda: [np.zeros(1)] * 30_000,
    "many axes": lambda: np.zeros((2,) * 20),
    "a cube of seven axes": lambda: np.zeros((7,) * 7),
    "zeros": lambda: [0] * 250_000,
    "a large dict": lambda: {f"{n}": n for n in range(100_000)},
    "a long text": lambda: "x" * 4_000_000,
    "deep and wide": lambda: deep_and_wide(5, 10),
    "a long key": lambda: {"x" * 1_000_000: 1},
    "integer keys": lambda: {n: n for n in range(2_000)},
    "large integers": lambda: [2**1_000] * 50_000,
}


@pytest.mark.whole
@pytest.mark.parametrize("name", LARGE)
def test_a_large_value_is_compared_and_shown_soon(name):
    value = parse_value(dumps(LARGE[name]()))
    with at_most(paces=300):
        for expected in (1, 0.5, "x", [1, 2], {"a": 1}, None):
            verdict = compare(value, expected)
            assert not verdict.passed
            assert len(verdict.reason) < 2_000


@pytest.mark.parametrize("most", [-5, 0, 1, 3, 4, 5, 100, 10_000])
@pytest.mark.parametrize("string", ["", "x" * 1000, "\x00" * 1000, "\ud800é" * 1000])
def test_a_texts_beginning_fits(string, most):
    start = start_of(string, most)
    assert string.startswith(start)
    assert not start or output_size(start) <= most


def test_every_byte_of_an_output_counts():
    keys = {"x" * 99 + str(n): "" for n in range(10)}
    for output in (
        {"output_type": "display_data", "data": keys, "metadata": {}},
        {"output_type": "error", "ename": "", "evalue": "", "traceback": [""] * 300},
        {"output_type": "stream", "name": "stdout", "text": "\x00" * 1000},
    ):
        assert output_size(output) >= len(json.dumps(output)) - 2
        cut = cut_outputs([output] * 50, 5_000)
        assert sum(map(output_size, cut)) < 5_300


def test_outputs_are_cut_where_they_exceed_their_share():
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 5000}
    picture = {"output_type": "display_data", "data": {"image/png": "y" * 5000}, "metadata": {}}
    kept = cut_outputs([stream, picture, stream], 6000)
    assert kept[0] == stream
    assert "was cut" in kept[1]["text"] and kept[1]["name"] == "stderr"
    assert len(kept) == 2
    assert "was cut" in cut_outputs([stream], 1000)[0]["text"]
    assert output_size(cut_outputs([stream], 1000)[0]) < 1200


def test_json_outputs_pass_unless_they_are_deep():
    deep: dict = {}
    inner = deep
    for _ in range(100):
        inner["x"] = inner = {}
    data = {"application/json": {"a": [1]}, "application/vnd.x+json": deep, "text/plain": "t"}
    read = replies.read_output(
        {"output_type": "display_data", "data": json.loads(json.dumps(data))}
    )
    assert read["data"] == {"application/json": {"a": [1]}, "text/plain": "t"}


@pytest.mark.parametrize("forged", ["9", -1, 1e300, float("nan"), True, [1], None, 10**400])
def test_a_forged_time_is_none(forged):
    assert read_reply({"seconds": forged}, b"", "setup").seconds == 0.0
    assert read_reply({"seconds": 0.25}, b"", "setup").seconds == 0.25
