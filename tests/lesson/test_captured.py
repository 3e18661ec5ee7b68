"""The graph of a recorded pass: names, inputs, kinds, sizes; views are no nodes."""

from __future__ import annotations

import numpy as np
import pytest

from proflab import Tensor, dispatch, example_input, models, nn, stack
from proflab.lesson.captured import captured, kind_of
from proflab.nn import functional as F


class Attend(nn.Module):
    """One head of attention, composed of ops."""

    def __init__(self) -> None:
        self.qkv = nn.Linear(4, 12)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).reshape(2, 3, 3, 4).permute(2, 0, 1, 3).unbind(0)
        weights = (q @ k.transpose(-2, -1) / 2).softmax(-1)
        return x + F.gelu(weights @ v)


def test_views_are_read_through():
    graph, sizes = captured(Attend(), Tensor(np.ones((2, 3, 4), np.float32)))
    assert graph == [
        ("linear", ["x", "qkv.weight", "qkv.bias"], "product"),
        ("matmul", ["linear", "linear"], "product"),
        ("div", ["matmul"], "elementwise"),
        ("softmax", ["div"], "reduction"),
        ("matmul_2", ["softmax", "linear"], "product"),
        ("gelu", ["matmul_2"], "elementwise"),
        ("add", ["x", "gelu"], "elementwise"),
    ]
    floats = {name: size // 4 for name, size in sizes.items()}
    assert floats == {
        "x": 24, "qkv.weight": 48, "qkv.bias": 12, "linear": 72, "matmul": 18, "div": 18,
        "softmax": 18, "matmul_2": 24, "gelu": 24, "add": 24,
    }  # fmt: skip


def test_a_block_of_gpt2():
    block = models.gpt2("small").blocks[0].eval()
    graph, sizes = captured(block, example_input(block, (1, 16, 768)))
    names = [name for name, _, _ in graph]
    assert len(set(names)) == len(names) and set(names) <= set(sizes)
    assert all(tensor in sizes for _, inputs, _ in graph for tensor in inputs)
    assert [kind for _, _, kind in graph if kind == "reduction"] != []
    at = {name: place for place, name in enumerate(names)}
    assert all(at.get(t, -1) < at[name] for name, inputs, _ in graph for t in inputs)
    assert sizes["x"] == 16 * 768 * 4


def test_meta_tensors_tied_weights_several_inputs_and_constants():
    class Odd(nn.Module):
        def __init__(self) -> None:
            self.one, self.two = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
            self.two.weight = self.one.weight

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.two(self.one(x) * y) + Tensor([1.0, 2.0, 3.0])

    odd = Odd()
    inputs = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones((2, 3), np.float32))
    graph, sizes = captured(odd, *inputs)
    assert [inputs for _, inputs, _ in graph] == [
        ["x", "one.weight"], ["linear", "x_2"], ["mul", "one.weight"], ["linear_2", "constant"],
    ]  # fmt: skip
    assert sizes["constant"] == 12
    graph, sizes = captured(nn.ReLU(), Tensor.meta((10**6, 10**6)))
    assert graph == [("relu", ["x"], "elementwise")] and sizes["relu"] == 4 * 10**12


def test_ops_with_several_results_have_a_node_for_each_that_is_new():
    def model(x: Tensor) -> Tensor:
        first, second = x.split(2)
        return stack([first.exp(), second.exp()])

    graph, _ = captured(model, Tensor(np.ones(4, np.float32)))
    assert [inputs for _, inputs, _ in graph] == [["x"], ["x"], ["exp", "exp_2"]]


@pytest.mark.parametrize("op", sorted(dispatch.OPS))
def test_every_op_has_a_kind(op):
    assert kind_of(op) in ("elementwise", "reduction", "product", "other")


def test_kinds():
    kinds = {"gelu": "elementwise", "add": "elementwise", "dropout": "elementwise"}
    kinds |= {"softmax": "reduction", "layer_norm": "reduction", "sum": "reduction"}
    kinds |= {"linear": "product", "scaled_dot_product_attention": "product", "conv2d": "product"}
    kinds |= {"cat": "other", "embedding": "other", "an op of one's own": "other"}
    assert {op: kind_of(op) for op in kinds} == kinds
