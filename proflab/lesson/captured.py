"""The graph of a forward pass: which op reads which tensor, as it was recorded.

What may not enter: what a node costs, and how nodes may be put together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proflab import Tensor, dispatch, no_grad
from proflab.lesson.tensor_memory import memory_of, present

Node = tuple[str, list[str], str]  # name, inputs, kind

_KINDS = {
    "elementwise": "activation arithmetic comparison convert pointwise random where",
    "product": "attention conv einsum linear matmul",
    "reduction": "loss norm reduce",
}
_KIND_OF = {file: kind for kind, files in _KINDS.items() for file in files.split()}
_NOT_ELEMENTWISE = {"softmax": "reduction", "log_softmax": "reduction"}


def captured(model: Any, *inputs: Tensor) -> tuple[list[Node], dict[str, int]]:
    """Return the graph of model(*inputs), and the bytes of each tensor in it, by its name.

    The graph has a node (name, inputs, kind) for each op, in the order in which they ran; inputs
    are names of nodes, of parameters ("fc.weight"), or "x", "x_2", … for what was given, and
    "constant" for other tensors; kind is "elementwise", "reduction", "product" or "other". An op
    whose result only looks at its input's memory is no node: who reads it reads the input.

    >>> from proflab import nn
    >>> model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    >>> graph, sizes = captured(model, Tensor([[1.0, 2.0, 3.0]]))
    >>> graph[0]
    ('linear', ['x', '0.weight', '0.bias'], 'product')
    >>> graph[1], sizes["x"], sizes["relu"]
    (('relu', ['linear'], 'elementwise'), 12, 8)
    """
    seen = _Names()
    for tensor in inputs:
        seen.add("x", tensor)
    for name, parameter in getattr(model, "named_parameters", lambda: ())():
        seen.add(name, parameter)
    graph: list[Node] = []

    def note(call: dispatch.Call) -> Any:
        result = call()
        read = [seen.name_of(tensor) for tensor in call.inputs]
        for tensor in present(result):
            if not seen.knows(tensor):  # else it is a view
                graph.append((seen.add(call.op, tensor), read, kind_of(call.op)))
        return result

    with no_grad(), dispatch.hook(note):
        model(*inputs)
    used = {tensor for name, read, _ in graph for tensor in (name, *read)}
    return graph, {name: size for name, size in seen.sizes() if name in used}


def kind_of(op: str) -> str:
    """Return the kind of an op: "elementwise", "reduction", "product" or "other"."""
    known = dispatch.OPS.get(op)
    return _NOT_ELEMENTWISE.get(op) or _KIND_OF.get(known.kind if known else "", "other")


class _Names:
    """The tensors met so far, each with a name of its own. They are held, so that none is freed and
    its memory given to another."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._held: dict[str, Tensor] = {}

    def knows(self, tensor: Tensor) -> bool:
        """Return True if a tensor in this memory has been met."""
        return memory_of(tensor) in self._names

    def name_of(self, tensor: Tensor) -> str:
        """Return the name of the tensor; one that was never met is a constant."""
        return self._names.get(memory_of(tensor)) or self.add("constant", tensor)

    def add(self, wanted: str, tensor: Tensor) -> str:
        """Return the name that the tensor has, or now gets: the one wanted, or that with a number.

        Two parameters in one memory have the first one's name.
        """
        if self.knows(tensor):
            return self._names[memory_of(tensor)]
        name, number = wanted, 1
        while name in self._held:
            number += 1
            name = f"{wanted}_{number}"
        self._names[memory_of(tensor)], self._held[name] = name, tensor
        return name

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Yield each name and its tensor's bytes."""
        for name, tensor in self._held.items():
            yield name, tensor.nbytes
