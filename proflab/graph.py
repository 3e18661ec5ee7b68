"""The graph that a forward pass leaves behind: its nodes, and whether any are recorded.

A node is left by each op whose result needs a gradient. It holds what the op's backward will read
and where its gradients go, but never an input that backward does not need: that is what lets an
activation be freed during the forward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ContextDecorator, contextmanager
from itertools import count

from proflab.meta import MetaArray
from proflab.tensor import wrap

enabled = True  # are nodes being recorded? changed by no_grad and enable_grad
packers: list[tuple[Callable, Callable]] = []  # the (pack, unpack) pairs of saved_tensors
_order = count()


class Node:
    """One op in the graph: how to turn the gradient of its result into those of its inputs.

    need:    for each input, is a gradient asked for
    specs:   for each input its (shape, dtype)
    edges:   for each input the (node, output number) that made it, the leaf tensor, or None
    outputs: (shape, dtype) of each result; None where there is one result
    path:    the module in which it was made, such as "blocks.3.attn.qkv"
    """

    __slots__ = (
        "op", "attributes", "need", "specs", "edges", "kept", "unpack", "outputs", "order", "path",
    )  # fmt: skip

    def __init__(self, op, attributes, need, inputs, arrays, kept, outputs, path):
        self.op = op
        self.attributes = attributes
        self.need = need
        self.specs = [(a.shape, a.dtype) for a in arrays]
        self.edges = [
            None if not t.requires_grad else t if t.node is None else (t.node, t.index)
            for t in inputs
        ]
        self.kept = kept  # None when a backward pass has freed it
        self.unpack = None
        self.outputs = outputs
        self.order = next(_order)  # of two nodes the later one can never feed the earlier
        self.path = path
        if packers:
            pack, self.unpack = packers[-1]
            self.kept = [k if k is None else pack(wrap(k)) for k in kept]

    @property
    def saved(self) -> list:
        """The arrays that `op.save_for_backward` returned, in its order."""
        if self.unpack is None:
            return self.kept
        return [k if k is None else self.unpack(k).array for k in self.kept]

    def shape(self, i: int) -> tuple[int, ...]:
        """Return the shape of the op's i-th input."""
        return self.specs[i][0]

    def run_backward(self, grad) -> tuple:
        """Return an array for each input, its gradient; None where none is needed.

        grad: the gradient of the result; a list of them where there are many results.
        """
        if self.kept is None:
            raise RuntimeError(
                f"{self.op.name}: backward a second time through a graph that the first time freed "
                f"(inputs {', '.join(str(shape) for shape, _ in self.specs)}); "
                "pass retain_graph=True the first time"
            )
        some = next(g for g in grad if g is not None) if self.outputs else grad
        if type(some) is MetaArray and not self.op.transparent:  # a Function's ops are to be seen
            specs = zip(self.specs, self.need, strict=True)
            return tuple([MetaArray(*spec) if need else None for spec, need in specs])
        return self.op.backward(self, grad, **self.attributes)


@contextmanager
def saved_tensors(pack: Callable, unpack: Callable) -> Iterator[None]:
    """See, and replace, every tensor that the ops inside keep for backward.

    pack(tensor) is called once for each tensor kept; what it returns is held in its stead.
    unpack(that) is called in backward and returns the tensor. `tensor.storage` tells which of
    them share memory (with each other, or with a parameter).

    >>> x = Tensor([0.0, 1.0], requires_grad=True)
    >>> with proflab.saved_tensors(lambda t: print("kept:", t) or t, lambda t: t):
    ...     y = x.exp()  # its slope is exp(x), the result
    kept: Tensor([1.    , 2.7183])
    """
    packers.append((pack, unpack))
    try:
        yield
    finally:
        packers.pop()


class _GradMode(ContextDecorator):
    """Switch the recording of nodes for a while; also usable as a decorator."""

    value = True

    def __init__(self) -> None:
        self.previous: list[bool] = []

    def __enter__(self):
        global enabled
        self.previous.append(enabled)
        enabled = self.value
        return self

    def __exit__(self, *exc):
        global enabled
        enabled = self.previous.pop()


class no_grad(_GradMode):
    """`with no_grad():` records nothing, so nothing is kept for backward.

    >>> x = Tensor([1.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * 2
    >>> y.requires_grad, (x * 2).requires_grad
    (False, True)
    """

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
    """Return True if an op run now is recorded for backward."""
    return enabled
