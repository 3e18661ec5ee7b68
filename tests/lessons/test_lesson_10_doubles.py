"""Doubles of a GPU: small documents, and lines of C run in Python."""

from __future__ import annotations

import pytest
from lesson_demos import beside

doubles = beside("10_cuda_roofline", "kernel_doubles")
documents = beside("10_cuda_roofline", "roofline_document")


def test_documents_for_test_cells_are_documents():
    rows = {"fma": [doubles.fma([2.0, 1.0], 1, 1, 1)], "gemm": [doubles.gemm([2.0, 1.0], 1, 2, 3)]}
    documents.check(doubles.document(**rows))
    assert doubles.document(99, empty_ms=0.5)["card"]["l2_bytes"] == 99
    assert doubles.events(2.0, 0.5) == [[1.0, 3.0], [3.25, 3.75]]


def test_lines_run_in_order_and_only_what_they_assign_comes_back():
    text = "t = a + 2; a = fmaf(t, b, -1 * c);\n  d=(a-b)*c ;"
    assert doubles.run_lines(text, a=1.0, b=4.0, c=3.0) == {"t": 3.0, "a": 9.0, "d": 15.0}


@pytest.mark.parametrize(
    "text, problem",
    [
        ("a = b", "ends in a semicolon"),
        ("a = b; c", "ends in a semicolon"),
        ("a == b;", "not of the form"),
        ("a = b = c;", "not of the form"),
        ("a[0] = b;", "not of the form"),
        ("float a = b;", "not of the form"),
        ("a += b;", "not of the form"),
        ("for (;;) a = b;", "not of the form"),
        ("a = sin(b);", "more than names, numbers"),
        ("a = fmaf(b, b);", "more than names, numbers"),
        ("a = b / 2;", "more than names, numbers"),
        ("a = 'b';", "more than names, numbers"),
        ("a = __import__('os').name;", "more than names, numbers"),
        ("a = z;", "nothing gives z a value"),
        (7, "a text, not a int"),
        (None, "a text, not a NoneType"),
    ],
)
def test_what_is_no_line_of_a_kernel_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        doubles.run_lines(text, b=1.0, c=2.0)


def test_lines_are_looked_through():
    side_by_side = "a0 = fmaf(a0, x, y); a1 = fmaf(a1, x, y);"
    one_chain = "a0 = fmaf(a0, x, y); a1 = fmaf(a0, x, y); a0 = a1 + 1; a0 = fmaf(a0, x, y);"
    assert doubles.names_read(side_by_side) == ["a0", "a1", "x", "y"]
    assert (doubles.count_fmaf(side_by_side), doubles.chain_length(side_by_side)) == (2, 1)
    assert (doubles.count_fmaf(one_chain), doubles.chain_length(one_chain)) == (3, 3)
    assert doubles.chain_length("a = 1;") == 0
