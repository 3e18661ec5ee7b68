"""Reverse-mode automatic differentiation: the graph of nodes, and the walk back through it.

A node is left behind by each op whose result needs a gradient. It holds what the op's backward
will read and where its gradients go, but never an input that backward does not need: that is what
lets an activation be freed during the forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from itertools import count

import numpy as np

from proflab import dispatch
from proflab.shapes import MetaArray
from proflab.tensor import Tensor, wrap

enabled = True  # are nodes being recorded? changed by no_grad and enable_grad
packers: list[tuple[Callable, Callable]] = []  # the (pack, unpack) pairs of saved_tensors
_order = count()


class Node:
    """One op in the graph: how to turn the gradient of its result into those of its inputs.

    need: for each input, is a gradient asked for. specs: each input's (shape, dtype).
    edges: for each input the (node, output number) that made it, the leaf tensor, or None.
    """

    __slots__ = (
        "op", "attributes", "need", "specs", "edges", "kept", "unpack", "outputs", "order", "path",
    )  # fmt: skip

    def __init__(self, op, attributes, need, inputs, arrays, kept, outputs):
        self.op = op
        self.attributes = attributes
        self.need = need
        self.specs = [(a.shape, a.dtype) for a in arrays]
        self.edges = [
            None if not t.requires_grad else t if t.node is None else (t.node, t.index)
            for t in inputs
        ]
        self.kept = kept
        self.unpack = None
        self.outputs = outputs  # (shape, dtype) of each result, or None where there is one result
        self.order = next(_order)
        self.path = dispatch.module_path()
        if packers:
            pack, self.unpack = packers[-1]
            self.kept = [k if k is None else pack(wrap(k)) for k in kept]

    @property
    def saved(self) -> list:
        """The arrays that `op.keep` kept, in its order."""
        if self.unpack is None:
            return self.kept
        return [k if k is None else self.unpack(k).array for k in self.kept]

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of the op's i-th input."""
        return self.specs[i][0]


def run_backward(node: Node, grad) -> tuple:
    """Arrays with the gradients of a node's inputs; None where none is needed."""
    if node.kept is None:
        raise RuntimeError(
            f"{node.op.name}: backward a second time through a graph that the first time freed "
            f"(inputs {', '.join(str(shape) for shape, _ in node.specs)}); "
            "pass retain_graph=True the first time"
        )
    some = next(g for g in grad if g is not None) if node.outputs else grad
    if type(some) is MetaArray and not node.op.transparent:
        return tuple(
            MetaArray(*spec) if n else None for spec, n in zip(node.specs, node.need, strict=True)
        )
    return node.op.backward(node, grad, **node.attributes)


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs=None,
) -> None:
    """Add to `.grad` of every leaf that this tensor was computed from.

    gradient: what to start from, of this tensor's shape; 1 if left out, for one element only.
    """
    if create_graph:
        raise NotImplementedError("backward: create_graph=True is not there: no second derivatives")
    if self.node is None and not self.requires_grad:
        raise RuntimeError(f"backward: a tensor of shape {self.shape} that requires no gradient")
    if gradient is None:
        if self.numel() != 1:
            raise RuntimeError(
                f"backward: a tensor of shape {self.shape} is no scalar: pass the gradient to "
                "start from"
            )
        start = MetaArray(self.shape, self.dtype) if self.is_meta else np.ones_like(self.array)
    else:
        start = gradient.array
        if start.shape != self.shape:
            raise ValueError(
                f"backward: the gradient's shape {start.shape} is not the tensor's {self.shape}"
            )
    wanted = None if inputs is None else {id(t) for t in inputs}
    if self.node is None:
        _accumulate(self, start, None)
        return
    pending: dict[Node, object] = {}
    _deliver((self.node, self.index), start, None, pending, wanted)
    with no_grad(), np.errstate(all="ignore"):
        for node in sorted(_reachable(self.node), key=lambda n: n.order, reverse=True):
            grad = pending.pop(node, None)
            if grad is None:
                continue
            grads = dispatch.backward(node, grad)
            if not retain_graph:
                node.kept = None
            for edge, g in zip(node.edges, grads, strict=True):
                if edge is not None and g is not None:
                    # What a Function of one's own returns may be in use elsewhere: no source.
                    source = None if node.op.transparent else grad
                    _deliver(edge, g, source, pending, wanted)


def _reachable(root: Node) -> set[Node]:
    seen, todo = {root}, [root]
    while todo:
        for edge in todo.pop().edges:
            if type(edge) is tuple and edge[0] not in seen:
                seen.add(edge[0])
                todo.append(edge[0])
    return seen


def _deliver(edge, grad, source, pending: dict, wanted: set | None) -> None:
    """Bring a gradient to the node, or the leaf, that an edge leads to."""
    if isinstance(edge, Tensor):
        if wanted is None or id(edge) in wanted:
            _accumulate(edge, grad, source)
        return
    node, index = edge
    if node.outputs is None:
        pending[node] = add(pending[node], grad) if node in pending else grad
    else:
        slots = pending.setdefault(node, [None] * len(node.outputs))
        slots[index] = grad if slots[index] is None else add(slots[index], grad)


def add(a, b):
    """The sum of two gradients, real or meta."""
    return a if type(a) is MetaArray else b if type(b) is MetaArray else a + b


def _accumulate(leaf: Tensor, grad, source) -> None:
    if leaf.grad is not None and type(leaf.grad.array) is np.ndarray:
        leaf.grad.array += grad
    elif leaf.grad is not None:
        leaf.grad = wrap(add(leaf.grad.array, grad))
    elif type(grad) is MetaArray:
        leaf.grad = wrap(grad)
    else:
        # Two leaves must not share one array: someone may scale a .grad in place.
        shared = source is None or grad is source or grad.base is not None
        leaf.grad = wrap(grad.copy() if shared else grad)


class _GradMode(ContextDecorator):
    """Switch the recording of nodes for a while; also usable as a decorator."""

    value = True

    def __init__(self):
        self.previous: list[bool] = []

    def __enter__(self):
        global enabled
        self.previous.append(enabled)
        enabled = self.value
        return self

    def __exit__(self, *exc):
        global enabled
        enabled = self.previous.pop()
        return False


class no_grad(_GradMode):
    """`with no_grad():` records nothing, so nothing is kept for backward."""

    value = False


class enable_grad(_GradMode):
    """Record again, inside `no_grad`."""


class set_grad_enabled(_GradMode):
    """Record, or not, by a flag; acts at once and, as a context, until it ends."""

    def __init__(self, mode: bool):
        global enabled
        self.value = mode
        self.previous = [enabled]
        enabled = mode

    def __enter__(self):
        return self


def is_grad_enabled() -> bool:
    """Is an op run now recorded for backward?"""
    return enabled


@contextmanager
def saved_tensors(pack: Callable, unpack: Callable) -> Iterator[None]:
    """See, and replace, every tensor that the ops inside keep for backward.

    pack(tensor) is called once for each tensor kept; what it returns is held in its stead.
    unpack(that) is called in backward and returns the tensor. `tensor.storage` tells which of
    them share memory (with each other, or with a parameter).
    """
    packers.append((pack, unpack))
    try:
        yield
    finally:
        packers.pop()


def grad(outputs, inputs, grad_outputs=None, retain_graph: bool | None = None) -> tuple:
    """Gradients of one output with respect to `inputs`, which keep their `.grad` as it is."""
    output = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    if isinstance(grad_outputs, (tuple, list)):
        grad_outputs = grad_outputs[0]
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if any(t.node is not None for t in inputs):
        raise NotImplementedError("grad: only gradients of leaf tensors can be asked for")
    before = [t.grad for t in inputs]
    for t in inputs:
        t.grad = None
    try:
        backward(output, grad_outputs, retain_graph, inputs=inputs)
        return tuple(t.grad for t in inputs)
    finally:
        for t, g in zip(inputs, before, strict=True):
            t.grad = g


def __getattr__(name: str):
    if name == "Function":  # torch has it here; it stands in a file of its own
        from proflab.function import Function

        return Function
    raise AttributeError(f"proflab.autograd has no {name!r}; docs/torch.md lists what it has")
