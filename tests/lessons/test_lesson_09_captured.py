"""Lesson 09's recorded graphs: what is a node, what it reads, how many bytes each tensor has."""

from __future__ import annotations

import numpy as np
import pytest
from lesson_demos import beside

from proflab import Tensor, example_input, meta, models, nn
from proflab.nn import functional as F


@pytest.fixture(scope="module")
def captured():
    return beside("09_optimization", "captured").captured


class Model(nn.Module):
    """Has views of all and of a part, a square, a buffer, and a constant of its own."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)
        self.register_buffer("mask", Tensor(np.ones((1, 3), np.float32)))

    def forward(self, x):
        left, right = self.fc(x).chunk(2, -1)
        both = left * right.reshape(3, -1).T.reshape(-1, 3) + self.mask
        twice = both.reshape(-1) * both.reshape(-1)
        return twice.softmax(-1) * Tensor(2.0)


def test_nodes_their_inputs_and_kinds(captured):
    graph, sizes = captured(Model(), Tensor(np.ones((3, 4), np.float32)))
    by_name = {name: (inputs, kind) for name, inputs, kind in graph}
    assert by_name["linear"] == (["x", "fc.weight", "fc.bias"], "product")
    assert by_name["mul"][1] == "elementwise" and by_name["add"][0][1] == "mask"
    assert by_name["mul_2"] == (["add"], "elementwise")  # it reads one tensor, twice
    assert by_name["softmax"] == (["mul_2"], "reduction")
    assert by_name["mul_3"][0] == ["softmax", "constant"]
    first = by_name["mul"][0][0]
    assert first == "part of linear" and sizes[first] == 36 and sizes["linear"] == 72


def test_no_node_reads_what_comes_later_and_sizes_are_complete(captured):
    for name, shape in (("small", (1, 16)),):
        with meta():
            model = models.gpt2(name).eval()
        graph, sizes = captured(model, example_input(model, shape))
        names = [node for node, _, _ in graph]
        assert len(set(names)) == len(names) > 100
        for at, (_, inputs, _) in enumerate(graph):
            assert not set(inputs) & set(names[at:]) and set(inputs) <= set(sizes)
        assert set(names) <= set(sizes) and sizes["blocks.3.mlp.fc.weight"] == 4 * 768 * 3072


def test_data_and_meta_give_the_same_graph(captured):
    with meta():
        empty = models.LeNet5().eval()
    full = models.LeNet5().eval()
    shape = (2, 1, 32, 32)
    assert captured(full, example_input(full, shape)) == captured(
        empty, example_input(empty, shape)
    )


def test_memory_that_is_let_go_is_not_taken_for_another_tensor(captured):
    def many(x):
        for _ in range(50):
            x = F.relu(x + 1.0)
        return x

    graph, _ = captured(nn.Identity(), Tensor([1.0]))
    assert graph == []
    model = type("Many", (nn.Module,), {"forward": lambda self, x: many(x)})()
    graph, _ = captured(model, Tensor(np.ones(1000, np.float32)))
    reads = [inputs[0] for _, inputs, _ in graph]
    assert reads == ["x", *(name for name, _, _ in graph[:-1])]
