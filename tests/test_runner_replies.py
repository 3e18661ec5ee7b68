"""Whatever a student's process sends is read without harm, and bounded."""

import json
import time

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proflab.grading import replies
from proflab.grading.replies import (
    BadReply,
    cut_outputs,
    output_size,
    parse_message,
    parse_value,
    read_reply,
)
from proflab.plain import NotPlain, dumps

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


@given(message=st.dictionaries(st.sampled_from(["raised", "message", "refused", "x"]), JSON),
       outputs=OUTPUTS | JSON, blob=st.binary(max_size=40),
       kind=st.sampled_from(["cell", "setup", "value", "raises"]))  # fmt: skip
def test_any_reply_is_read_and_its_outputs_can_be_stored(message, outputs, blob, kind):
    reply = read_reply(message | {"outputs": outputs}, blob, kind)
    assert reply.state in ("done", "value", "refused", "raised")
    stored = [nbformat.from_dict(output) for output in cut_outputs(reply.outputs, 10_000)]
    cell = nbformat.v4.new_code_cell(outputs=stored)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_bad_reply(body):
    try:
        assert isinstance(parse_message(body), dict)
    except BadReply:
        pass


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8))  # fmt: skip
def test_plain_data_passes(value):
    try:
        blob = dumps(value)
    except NotPlain:
        return
    assert parse_value(blob) == value


def colliding_keys() -> bytes:
    items = ",".join(f'[["i","{hex(k * (2**61 - 1))}"],null]' for k in range(200_000))
    return f'["d",[{items}]]'.encode()


@pytest.mark.parametrize(
    "blob",
    [
        b"[" * 300_000 + b"]" * 300_000,
        b'["l",[' + b"[]," * 9_000_000 + b"[]]]",
        colliding_keys(),
        b'["i","0x' + b"f" * 10_000_000 + b'"]',
        b'["l",["i","-0x' + b"f" * 1000 + b'"]]',
        b'["a","<f8",[100000000000],""]',
        b'["a","<f8",[0,4611686018427387904],""]',
        b'["t",[["d",[[["l",[]],1]]]]]',
        b'"' + b"\\ud800" * 10 + b'"x',
        b"",
    ],
)
def test_what_costs_too_much_or_makes_no_sense_is_refused_soon(blob):
    started = time.process_time()
    with pytest.raises(NotPlain):
        parse_value(blob)
    assert time.process_time() - started < 20


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
