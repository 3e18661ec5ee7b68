"""Kernels in Triton's language: NumPy's stand-in is strict, and Triton itself agrees with it.

The interpreter's tests need torch and Triton, which `make test` does without: `make test-torch`.
"""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from cohort.run import entries, solved
from lesson_demos import beside

from proflab.lesson.cuda import rows as doubles
from proflab_classroom.viva.entries import whole_code

tl = doubles.tl
RIGHT = {
    "the course's solution": solved("lesson_10").solutions["softmax_row"],
    **entries("lesson_10", "ALTERNATES")["softmax_row"],
}


def kernel(entry: str):
    """Return a right kernel as a notebook has it: Triton reads its source."""
    code = whole_code("softmax_row", RIGHT[entry], RIGHT["the course's solution"])
    linecache.cache[entry] = (len(code), None, code.splitlines(keepends=True), entry)
    scope = dict(solved("lesson_10").scope)
    exec(compile(code, entry, "exec"), scope)
    return scope["softmax_row"]


def by_rows(body, x=((1.0, 2.0, 3.0), (4.0, 5.0, 6.0)), block=4):
    """Launch a kernel of a line or two for these rows."""
    return doubles.by_rows(body, x, block)


# ── the stand-in ─────────────────────────────────────────────────────────────────────────────


def test_numbers_are_float32_and_what_is_not_written_is_nan():
    def first(out, x, columns, block):
        tl.store(out + tl.program_id(0) * columns, tl.load(x + tl.program_id(0) * columns) / 3)

    found = by_rows(first)
    assert found["out"][0][0] == float(np.float32(1) / np.float32(3))
    assert np.isnan(found["out"])[:, 1:].all()
    assert (found["read"], found["written"]) == (8, 8)


def test_a_mask_leaves_numbers_out_of_the_count_and_undefined():
    def masked(out, x, columns, block):
        place = tl.arange(0, block)
        row = tl.load(x + place, mask=place < 2)
        tl.store(out + place, row, mask=(place < columns) & (tl.program_id(0) == 0))

    found = by_rows(masked)
    assert found["out"][0][:2] == [1.0, 2.0] and np.isnan(found["out"][0][2])
    assert (found["read"], found["written"]) == (16, 12)


def _beyond(out, x, columns, block):
    tl.load(x + tl.arange(0, 8))


def _before(out, x, columns, block):
    tl.store(out - 1, 0.0)


def _into_x(out, x, columns, block):
    tl.store(x, 0.0)


def _twice(out, x, columns, block):
    tl.store(out, 0.0)


def _not_compiled(out, x, columns, block):
    tl.arange(0, columns)


def _three(out, x, columns, block):
    tl.arange(0, 3)


def _numpy(out, x, columns, block):
    np.exp(tl.load(x))


def _numpys_operator(out, x, columns, block):
    np.ones(4) * tl.arange(0, block)


def _iterated(out, x, columns, block):
    sum(tl.arange(0, block))


def _truth(out, x, columns, block):
    if tl.arange(0, block) < columns:
        pass


def _a_list(out, x, columns, block):
    tl.load(x + [0, 1])


def _half_a_place(out, x, columns, block):
    tl.load(x + columns / 2)


def _no_pointer(out, x, columns, block):
    tl.load(columns)


def _another(out, x, columns, block):
    tl.sort(tl.arange(0, block))


@pytest.mark.parametrize(
    "body, problem, message",
    [
        (_beyond, IndexError, "reads element 6 of x, which has 6: mask"),
        (_before, IndexError, "writes element -1 of out"),
        (_into_x, ValueError, "writes into x: only out is written"),
        (_twice, ValueError, "element 0 of out is written twice"),
        (_not_compiled, TypeError, "known when the kernel is compiled"),
        (_three, ValueError, "a power of two, not 3"),
        (_numpy, TypeError, "Triton has no np.exp: take what `tl` has"),
        (_numpys_operator, TypeError, "Triton has no np.multiply"),
        (_iterated, TypeError, "not iterable"),
        (_truth, TypeError, "many truth values: take tl.where"),
        (_a_list, TypeError, "not with a list"),
        (_half_a_place, TypeError, "whole numbers"),
        (_no_pointer, TypeError, "take a pointer"),
        (_another, AttributeError, "tl.sort is not among .*: .*program_id, arange, load, store"),
    ],
)
def test_what_a_card_would_let_pass_or_triton_refuse_is_said(body, problem, message):
    with pytest.raises(problem, match=message):
        by_rows(body)


def test_a_kernel_that_nobody_launched_says_how_to():
    with pytest.raises(RuntimeError, match=r"by_rows\(kernel, x, block\)"):
        solved("lesson_10").scope["softmax_row"](None, None, 4, 4)


def test_a_kernel_may_stand_in_a_notebook_that_imported_triton():
    scope = {"tl": None}
    exec("def one(out, x, columns, block):\n    tl.store(out + tl.program_id(0), 1.0)", scope)
    assert by_rows(scope["one"], x=[[0.0], [0.0]])["out"] == [[1.0], [1.0]]


def test_without_triton_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    said = beside("10_cuda_roofline", "on_triton").compare(
        kernel("the course's solution"), [], 1, []
    )
    assert "Triton is not installed here" in said and "pip install" in said


# ── Triton's own interpreter ─────────────────────────────────────────────────────────────────


@pytest.mark.torch
@pytest.mark.parametrize("shape, block", [((3, 5), 8), ((4, 64), 64), ((2, 1), 16)])
@pytest.mark.parametrize("entry", RIGHT)
def test_triton_computes_what_the_stand_in_does(entry, shape, block, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: run `make test-torch`")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton", reason="Triton is made for Linux alone")
    x = 200 * np.random.default_rng(3).normal(size=shape).astype(np.float32)
    launch = beside("10_cuda_roofline", "on_triton").launcher(kernel(entry), on_card=False)
    theirs = launch(torch.tensor(x), block)
    assert torch.allclose(theirs, torch.softmax(torch.tensor(x), -1), rtol=1e-5, atol=1e-30)
    ops = beside("10_cuda_roofline", "on_triton")._one_by_one(torch.tensor(x))
    assert torch.allclose(ops, theirs, rtol=1e-5, atol=1e-30)  # what a card times beside it
    ours = doubles.by_rows(kernel(entry), x, block)["out"]
    assert np.allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-30)
