"""Races: what an op is charged beyond lesson 05's row of facts, for that is what it does."""

import numpy as np
import pytest
from race_tapes import crossed, solved_op_facts

import proflab
from proflab import Tensor
from proflab.lesson.race import traced
from proflab.lesson.race.cost import MACHINES, cost
from proflab.nn import functional as F

DESK = MACHINES["DESK"]
NUMBERS = 1024 * 512
ADD = 12 * NUMBERS  # bytes: two are read, one is written


@pytest.fixture(scope="module")
def rows():
    """Return a function for the rows of a program's ops; x and y are 1,024 × 512 if not said."""
    facts = solved_op_facts()

    def rows(program, **shapes):
        shapes = shapes or {"x": (1024, 512), "y": (1024, 512)}
        return cost(crossed(traced(program, **shapes)), DESK, facts).rows

    return rows


def _moved(rows):
    return sum(row["moved"] for row in rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_whole_powers_are_products_forward_and_backward(dtype):
    numbers = np.random.default_rng(0).standard_normal(4096).astype(dtype)
    x = Tensor(numbers, dtype=dtype).requires_grad_()
    cubes = numbers * numbers * numbers
    assert np.array_equal((x**3).detach().numpy(), cubes)
    assert np.array_equal((x**-2).detach().numpy(), 1 / (numbers * numbers))
    (x**4).sum().backward()
    assert np.array_equal(x.grad.numpy(), 4 * cubes)
    assert np.array_equal((Tensor(np.arange(-3, 4)) ** 3).numpy(), np.arange(-3, 4) ** 3)


def test_a_power_has_the_flops_of_its_products(rows):
    flops = [rows(lambda x, y, k=k: x**k)[0]["flops"] for k in (2, 3, -2, 0.5)]
    assert flops == [NUMBERS, 2 * NUMBERS, 2 * NUMBERS, NUMBERS]


def test_numbers_that_do_not_lie_side_by_side_are_fetched_by_lines(rows):
    transposed = 64 * NUMBERS + 4 * NUMBERS
    assert _moved(rows(lambda x, y: x.T.clone())) == transposed  # 5.7 times an add
    assert _moved(rows(lambda x, y: x.T.reshape(-1))) == transposed
    assert _moved(rows(lambda x, y: proflab.einsum("ij->ji", x))) == transposed
    assert _moved(rows(lambda x, y: x[:, ::2].clone())) == (8 + 4) * NUMBERS // 2
    assert _moved(rows(lambda x, y: x[:, 3].clone())) == (64 + 4) * 1024
    spread = rows(lambda x, y: y * x[:, 3:4].expand(1024, 512))
    assert _moved(spread) == ADD + 60 * 1024

    def into_a_column(x, y):
        z = x * 1
        z[:, 0] = y[0, 0]
        return z

    assert _moved(rows(into_a_column)) == 8 * NUMBERS + (4 + 64) * 1024


def test_what_lies_by_rows_costs_what_it_did(rows):
    assert _moved(rows(lambda x, y: x + y)) == ADD
    assert _moved(rows(lambda x, y: x[5:9] * 2)) == 8 * 4 * 512
    assert _moved(rows(lambda x, y: x[:, 16:32].clone())) == 8 * 16 * 1024
    assert (
        _moved(rows(lambda x, y: x + (y[0] * 1).expand(1024, 512))) == 8 * (NUMBERS + 512) + 4 * 512
    )
    product = {"x": (64, 32), "y": (48, 32)}
    by_rows = rows(lambda x, y: F.linear(x, y), **product)
    assert _moved(rows(lambda x, y: x @ y.T, **product)) == _moved(by_rows)


def test_a_product_in_float64_takes_twice_the_flops(rows):
    *_, wide = rows(lambda x, y: x.to(np.float64) @ y.to(np.float64).T)
    assert wide["flops"] == 2 * rows(lambda x, y: x @ y.T)[-1]["flops"]


def test_a_sort_looks_numbers_up_n_log_n_times(rows):
    [row] = rows(lambda x, y: x.argsort(-1))
    assert row["flops"] == 9 * NUMBERS  # log2 of 512
    assert row["moved"] > 40 * ADD


def test_an_einsum_that_is_no_matrix_product_passes_once(rows):
    [row] = rows(lambda x, y: proflab.einsum("ij,ij->i", x, y))
    assert row["moved"] == 4 * (2 * NUMBERS + 1024)  # no product is written before it is summed
    one = rows(lambda x, y: proflab.einsum("ij,ij->ij", x, y))
    assert _moved(one) == ADD


@pytest.mark.parametrize(
    "equation",
    ["ij,ij->i", "ij,ij->j", "ij,ji->ij", "ij,ji->", "ki,ki->ik", "km,jn->jkmn", "ij,km->"],
)
def test_such_an_einsum_gives_what_numpy_gives(equation):
    rng = np.random.default_rng(1)
    sizes = dict(zip("ijkmn", (3, 3, 4, 2, 5), strict=True))
    arrays = [rng.random([sizes[x] for x in part]) for part in equation.split("->")[0].split(",")]
    found = proflab.einsum(equation, *map(Tensor, arrays)).numpy()
    assert np.allclose(found, np.einsum(equation, *arrays), rtol=1e-6)


def test_fills_and_constants_write_their_bytes_and_a_number_is_none(rows):
    filled = rows(lambda x: x + proflab.ones(1024), x=(1024,))
    assert [row["op"] for row in filled] == ["fill", "add"]
    assert filled[0]["ms"] == pytest.approx(4 * 1024 / 10e9 * 1e3 + 0.005)
    constant = rows(lambda x: x + Tensor(np.arange(1024.0, dtype="float32")), x=(1024,))
    assert _moved(constant) == _moved(filled)
    assert _moved(rows(lambda x: x + Tensor(3.0), x=(1024,))) == 8 * 1024 + 4

    def cleared(x):
        x = x * 1
        x[:512] = 0
        return x

    assert _moved(rows(cleared, x=(1024,))) == 8 * 1024 + 4 * 512


def test_causal_attention_has_the_pairs_that_are_seen(rows):
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def by_halves(q, k, v):
        middle = q.shape[-2] // 2
        seen = proflab.ones(middle, q.shape[-2], dtype=bool).tril(middle)
        first = attention(q[..., :middle, :], k[..., :middle, :], v[..., :middle, :])
        second = F.scaled_dot_product_attention(q[..., middle:, :], k, v, seen)
        return proflab.cat([first, second], -2)

    heads = dict.fromkeys("qkv", (1, 8, 256, 64))
    [row] = rows(attention, **heads)
    pairs = 8 * 256 * 257 // 2
    assert row["matmul_flops"] == 4 * 64 * pairs
    assert row["elementwise_flops"] == 5 * pairs
    [more] = rows(attention, q=(1, 1, 2, 4), k=(1, 1, 5, 4), v=(1, 1, 5, 4))
    assert more["matmul_flops"] == 4 * 4 * (1 + 2)
    assert sum(row["ms"] for row in rows(by_halves, **heads)) > row["ms"]


def test_backward_of_causal_attention_has_them_too():
    def step(causal):
        def program(q, k, v):
            q.requires_grad_()
            F.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()
            return q.grad

        tape = crossed(traced(program, training=True, **dict.fromkeys("qkv", (1, 2, 8, 4))))
        rows = cost(tape, DESK, solved_op_facts()).rows
        [found] = [
            row["matmul_flops"]
            for row in rows
            if row["phase"] == "backward" and "attention" in row["op"]
        ]
        return found

    assert step(causal=True) / step(causal=False) == pytest.approx(9 / 16)  # 36 of 64 pairs
