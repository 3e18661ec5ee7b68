"""Records a forward pass as a graph of ops, in the form that lesson 09's `fuse` takes.

What may not enter: which nodes belong together.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from proflab import Tensor, dispatch, no_grad
from proflab.lesson.tensor_memory import each_op, memory_of, present

_ELEMENTWISE = ("arithmetic", "pointwise", "where", "comparison", "activation", "convert", "random")
_PRODUCTS = ("matmul", "linear", "conv", "attention", "einsum")
_REDUCTIONS = ("reduce", "norm", "loss")


def captured(model: Any, x: Tensor) -> tuple[list[tuple[str, list[str], str]], dict[str, int]]:
    """Return the graph of model(x), a forward pass without gradients, and each tensor's bytes.

    The graph is a list of nodes (name, inputs, kind) in the order of computation; kind is
    "elementwise", "product", "reduction" or "other". The second result maps names to bytes, also
    those of x, of parameters and of other tensors from outside.

    A view is no node: who reads it reads the tensor that it looks at. A view of a part, such as a
    third of what a layer gives, counts as a tensor from outside with the bytes of the part. All of
    it also holds on meta.

    >>> from proflab import nn
    >>> layer = nn.Sequential(nn.Linear(4, 2, bias=False), nn.ReLU())
    >>> graph, sizes = captured(layer, Tensor([[1.0, 2.0, 3.0, 4.0]]))
    >>> graph
    [('linear', ['x', '0.weight'], 'product'), ('relu', ['linear'], 'elementwise')]
    >>> sizes
    {'x': 16, '0.weight': 32, 'linear': 8, 'relu': 8}
    """
    graph = _Graph(model, x)
    with no_grad():
        each_op(graph.add, lambda: model(x))
    return graph.nodes, graph.sizes


class _Graph:
    """The nodes so far, and the name of the tensor that each piece of memory belongs to."""

    def __init__(self, model: Any, x: Tensor) -> None:
        self.nodes: list[tuple[str, list[str], str]] = []
        self.sizes: dict[str, int] = {}
        self._names = {memory_of(p): name for name, p in model.named_parameters()}
        self._names |= {memory_of(b): name for name, b in model.named_buffers()}
        self._names[memory_of(x)] = "x"
        self._whole: dict[str, int] = {}  # how many elements a node's tensor has
        self._counts: Counter[str] = Counter()
        self._held: list[Any] = []  # nothing may take the place of memory that is let go

    def add(self, call: dispatch.Call, result: Any) -> None:
        """Add an op that has run, unless its result looks at what one of its inputs holds."""
        results = present(result)
        self._held += [*call.inputs, *results]
        if {memory_of(t) for t in results} <= {memory_of(t) for t in call.inputs}:
            return
        inputs = [self._name(tensor) for tensor in call.inputs]
        name = self._unique(call.op)
        for tensor in results:
            self._names[memory_of(tensor)] = name
        self._whole[name] = max(tensor.numel() for tensor in results)
        self.sizes[name] = sum(map(_bytes, results))
        self.nodes.append((name, list(dict.fromkeys(inputs)), _kind(call)))

    def _name(self, tensor: Tensor) -> str:
        """Return the name of what an op reads; a part of a tensor has a name of its own."""
        name = self._names.setdefault(memory_of(tensor), "")
        if not name:
            name = self._names[memory_of(tensor)] = self._unique("constant")
        if tensor.numel() < self._whole.get(name, 0):
            name = self._unique(f"part of {name}")
        self.sizes.setdefault(name, _bytes(tensor))
        return name

    def _unique(self, name: str) -> str:
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name}_{self._counts[name]}"


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.dtype.itemsize


def _kind(call: dispatch.Call) -> str:
    kind = dispatch.OPS[call.op].kind
    if call.op in ("softmax", "log_softmax", "logsumexp") or kind in _REDUCTIONS:
        return "reduction"
    return "elementwise" if kind in _ELEMENTWISE else "product" if kind in _PRODUCTS else "other"
