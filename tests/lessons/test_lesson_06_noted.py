"""What doubles note of the arrays that they are given."""

import numpy as np
from lesson_demos import beside

noted = beside("06_roofline", "noted")
noting_copies, noting_kinds = noted.noting_copies, noted.noting_kinds


def test_a_product_notes_each_kind_once_and_multiplies():
    seen, out = [], np.zeros((2, 2))
    product = noting_kinds(np.matmul, seen)
    twos = np.full((2, 2), 2.0)
    assert (product(twos, twos) == 8).all() and product(twos, twos, out=out) is out
    product(twos, np.ones((2, 1), np.float32))
    same = [((2, 2), "float64")]
    assert seen == [same, same, [((2, 1), "float32"), *same]]


def test_what_is_noted_of_a_copy_has_a_name():
    seen = []
    noting_copies(np.copyto, seen)(np.zeros(2), np.ones(2))
    names = ["bytes", "alike", "apart", "source_written", "destination_written"]
    assert list(seen[0]) == names and seen[0]["bytes"] == 16


def test_a_copy_notes_what_its_arrays_are_and_copies():
    seen = []
    copy = noting_copies(np.copyto, seen)
    source, destination = np.arange(4.0), np.zeros(4)
    copy(destination, source)
    assert (source == destination).all()
    copy(np.zeros(4, np.float32), source)
    copy(np.zeros((2, 4)), source)
    copy(np.ones((2, 2)), np.zeros((2, 2)))
    copy(source[:], source)
    assert [list(each.values()) for each in seen] == [
        [32, True, True, True, False],
        [32, False, True, True, False],
        [32, False, True, True, False],
        [32, False, True, False, True],
        [32, True, False, True, True],
    ]
