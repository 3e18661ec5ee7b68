"""values: what counts as plain data, and the format in which it crosses a process boundary."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proflab.checks import values
from proflab.checks.compare import compare
from proflab.checks.values import MAX_BYTES, MAX_DEPTH, NotPlainData, dumps, loads, to_plain_data

NUMBERS = st.integers() | st.floats() | st.complex_numbers()
SCALARS = st.none() | st.booleans() | NUMBERS | st.text()
ARRAYS = hnp.arrays(
    hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.floating_dtypes()
    | hnp.complex_number_dtypes(),
    hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3),
)
VALUES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("expected", ["tiled", ["b", "a"], {"a": 1}, ("a", ["b"]), [["a"]]])
def test_numpy_s_strings_are_strings(expected):
    def as_numpy(value):
        if isinstance(value, dict):
            return {np.str_(key): item for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(map(as_numpy, value))
        return np.str_(value)

    plain = to_plain_data(as_numpy(expected))
    assert same(plain, expected)
    assert loads(dumps(as_numpy(expected))) == expected
    assert compare(as_numpy(expected), expected).passed


def test_an_array_without_dimensions_that_holds_text_is_its_text():
    assert same(to_plain_data(np.array("tiled")), "tiled")
    names = np.array(["b", "a"])
    assert same(to_plain_data(list(names[[1, 0]])), ["a", "b"])
    with pytest.raises(NotPlainData, match="dtype <U1 holds no numbers"):
        to_plain_data(names)


class Key(list):
    """A list that can be a key, until it is plain."""

    __hash__ = object.__hash__


def same(left, right) -> bool:
    """Equal to the bit and in type, NaN included; of arrays also the dtype (not its byte order)."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        kind = left.dtype.newbyteorder("=")
        native = left.astype(kind), right.astype(right.dtype.newbyteorder("="))
        return native[0].dtype == native[1].dtype and native[0].tobytes() == native[1].tobytes()
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(map(same, left.values(), right.values()))
    if isinstance(left, float):
        return left.hex() == right.hex()
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    return left == right


@pytest.mark.whole
@given(VALUES)
def test_what_is_dumped_is_loaded(value):
    assert same(loads(dumps(value)), to_plain_data(value))


@given(VALUES)
def test_plain_changes_nothing_that_is_plain_already(value):
    once = to_plain_data(value)
    assert same(to_plain_data(once), once)


@given(st.binary(max_size=200))
def test_bytes_of_a_stranger_raise_nothing_but_not_plain(data):
    try:
        loads(data)
    except NotPlainData:
        pass


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats()
        | st.integers()
        | st.text(max_size=5)
        | st.sampled_from(["i", "f", "c", "l", "t", "d", "a", "0x1", "<f8", "<i4", "O", "AAAA"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=12,
    )
)
def test_json_of_a_stranger_raises_nothing_but_not_plain(data):
    try:
        loads(json.dumps(data).encode())
    except NotPlainData:
        pass


@pytest.mark.parametrize(
    "data",
    [
        '["f", "0x1p99999999"]',
        '["c", "0x1p99999999", "0x1"]',
        '["a", "<f8", [0, 1000000000000000000000000000000], ""]',
        '["a", "<f8", [-1], ""]',
        '["a", "(2,,)f4", [1], ""]',
        '["a", "f4,f4", [1], "AAAAAAAAAAA="]',
        '["a", "<f3", [1], "AAAA"]',
        '["a", "|O", [1], "AAAAAAAAAAA="]',
        '["a", "<f8", [true], "AAAAAAAAAAA="]',
        '["a", "<f8", [2], "AAAAAAAAAAA="]',
        '["d", [[["l", []], null]]]',
        '["d", [[["a", "<f8", [0], ""], null]]]',
        '["i", "twelve"]',
        "[" * 100_000,
        "12",
        "NaN",
        "\xff",
        "",
    ],
)
def test_replies_that_are_not_in_the_format_are_refused(data):
    with pytest.raises(NotPlainData):
        loads(data.encode("latin-1"))


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.complex64(1 + 2j), 1 + 2j),
        (np.longdouble(0.25), 0.25),
        (np.clongdouble(1 + 2j), 1 + 2j),
        (np.array(3), 3),
        (np.float16(2), 2.0),
        (range, None),
    ],
)
def test_numpy_scalars_become_numbers(value, expected):
    if expected is None:
        with pytest.raises(NotPlainData):
            to_plain_data(value)
    else:
        assert same(to_plain_data(value), expected)
        assert same(loads(dumps(value)), expected)


@pytest.mark.parametrize(
    "value, sentence",
    [
        ({1, 2}, "a value of type set is not plain data"),
        (iter([]), "list_iterator"),
        (b"bytes", "bytes"),
        (ValueError("no"), "ValueError"),
        (np.array([object()]), "dtype object holds no numbers"),
        (np.array(["text"]), "holds no numbers"),
        (np.datetime64("2020-01-01"), "holds no numbers"),
        (np.zeros(2, dtype="f4,i4"), "holds no numbers"),
        ({(1, Key([3])): 0}, "not hashable"),
        ({Key([3]): 0}, "cannot be a dictionary key"),
        ([[[[[[[[[1]]]]]]]]], "nested more than 8 levels deep"),
        ("x" * (MAX_BYTES // 4 + 1), "larger than 16 MB"),
        (np.zeros(MAX_BYTES + 1, np.int8), "larger than 16 MB"),
        ([0] * (MAX_BYTES // 60), "larger than 16 MB"),  # their places alone take less
        ([1 << 1_000] * (MAX_BYTES // 180), "larger than 16 MB"),
    ],
)
def test_what_is_not_plain_gets_a_sentence(value, sentence):
    with pytest.raises(NotPlainData, match=sentence):
        to_plain_data(value)


def test_huge_ints():
    assert loads(dumps(-(2**1_000))) == -(2**1_000)
    with pytest.raises(NotPlainData, match="an integer of more than 1,000 bits"):
        loads(dumps(-(2**50_000)))
    with pytest.raises(NotPlainData, match="larger than 16 MB"):
        to_plain_data(1 << (8 * MAX_BYTES + 8))


def test_limits_are_reached_but_not_passed():
    nested = 1
    for _ in range(MAX_DEPTH):
        nested = [nested]
    assert loads(dumps(nested)) == nested
    assert to_plain_data("x" * (MAX_BYTES // 4 - 2)) == "x" * (MAX_BYTES // 4 - 2)


def test_a_list_in_itself_ends():
    loop: list = []
    loop.append(loop)
    wide = [loop] * 100
    for _ in range(6):
        wide = [wide] * 100
    for value in (loop, wide):
        with pytest.raises(NotPlainData):
            to_plain_data(value)


class Liar:
    """An object that claims to be whatever one wishes."""

    __class__ = int

    def __eq__(self, other):
        return True

    def __int__(self):
        return 55

    __index__ = __int__

    def __array__(self, dtype=None, copy=None):
        return np.array(55)


class LyingList(list):
    def __iter__(self):
        return iter([55])

    def __len__(self):
        return 1

    def __eq__(self, other):
        return True


class LyingDict(dict):
    def items(self):
        return [("right", 1)]

    def __iter__(self):
        return iter(["right"])

    __getitem__ = get = lambda self, key, default=None: 1


class LyingArray(np.ndarray):
    def __array_function__(self, *args):
        return True

    def __array_ufunc__(self, *args, **kwargs):
        return np.array(True)

    def __array__(self, dtype=None, copy=None):
        return np.array([55.0])

    def tolist(self):
        return [55.0]


class LyingInt(int):
    def __pos__(self):
        return 55

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class LyingFloat(np.float64):
    def __array__(self, dtype=None, copy=None):
        return np.array(55.0)

    def item(self):
        return 55.0


class LyingStr(str):
    def __str__(self):
        return "right"


def test_an_object_gets_no_say_in_what_it_is():
    with pytest.raises(NotPlainData):
        to_plain_data(Liar())
    assert same(to_plain_data(LyingList([1, 2])), [1, 2])
    assert same(to_plain_data(LyingDict(wrong=2)), {"wrong": 2})
    assert same(to_plain_data(LyingInt(3)), 3)
    assert same(to_plain_data([LyingInt(3)]), [3])
    assert same(to_plain_data(LyingStr("wrong")), "wrong")
    assert same(to_plain_data(LyingFloat(1.5)), 1.5)
    array = to_plain_data(np.array([1.0, 2.0]).view(LyingArray))
    assert type(array) is np.ndarray and array.tolist() == [1.0, 2.0]


def test_an_array_is_copied():
    mine = np.zeros(2)
    theirs = to_plain_data(mine)
    mine[0] = 1
    assert theirs.tolist() == [0.0, 0.0]


def test_nan_and_infinities_survive():
    assert math.isnan(loads(dumps(math.nan)))
    assert loads(dumps([math.inf, -math.inf, -0.0])) == [math.inf, -math.inf, 0.0]
    assert math.copysign(1, loads(dumps(-0.0))) == -1


def test_a_value_is_walked_through_once_each_way(monkeypatch):
    tape = [["in", "x", (2, 3), "float32"], ["op", "sum", [0], {"dim": None}, None], ["out", [1]]]
    for name in ("to_plain_data", "_plain"):
        monkeypatch.setattr(values, name, lambda *_: pytest.fail("it was walked through again"))
    assert loads(dumps(tape)) == tape
