"""Reverse-mode automatic differentiation: the walk back through the graph, and ops of one's own.

`backward` visits the nodes from the last to the first and hands each one's gradient to
`dispatch.apply_backward`, so that a hook sees backward op by op, as it sees forward.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from proflab import dispatch, graph
from proflab.graph import Node, enable_grad, no_grad, packers, set_grad_enabled  # noqa: F401
from proflab.meta import MetaArray
from proflab.tensor import Tensor, wrap


def backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs=None) -> None:  # fmt: skip
    """Add to `.grad` of every leaf that this tensor was computed from.

    gradient:     what to start from, of this tensor's shape; 1 if left out, for one element only
    retain_graph: True to allow another backward through the same graph
    inputs:       the only leaf, or leaves, to add to; all if left out

    >>> w, x = Tensor([[1.0, 2.0]], requires_grad=True), Tensor([[3.0], [4.0]])
    >>> (w @ x).backward()
    >>> w.grad
    Tensor([[3., 4.]])
    """
    if create_graph:
        raise NotImplementedError("backward: create_graph=True is not there: no second derivatives")
    if self.node is None and not self.requires_grad:
        raise RuntimeError(f"backward: a tensor of shape {self.shape} that requires no gradient")
    start = _start(self, gradient)
    inputs = [inputs] if isinstance(inputs, Tensor) else inputs  # whose rows a loop would take
    wanted = None if inputs is None else {id(t) for t in inputs}
    if self.node is None:
        _accumulate(self, start, None)
        return
    pending: dict[Node, object] = {}
    _deliver((self.node, self.index), start, None, pending, wanted)
    with no_grad(), np.errstate(all="ignore"):  # inf and nan without a warning, as in torch
        for node in sorted(_reachable(self.node), key=lambda n: n.order, reverse=True):
            grad = pending.pop(node, None)  # whole by now: what its result went into is newer
            if grad is None:
                continue
            grads = dispatch.apply_backward(node, grad)
            if not retain_graph:
                node.kept = None  # so memory falls as backward goes, which lesson 04 draws
            for edge, g in zip(node.edges, grads, strict=True):
                if edge is not None and g is not None:
                    # What a Function of one's own returns may be in use elsewhere: no source.
                    source = None if node.op.transparent else grad
                    _deliver(edge, g, source, pending, wanted)


setattr(Tensor, backward.__name__, backward)


def _start(tensor: Tensor, gradient: Tensor | None):
    """Return the array to start from: the given gradient's, or 1 for a tensor of one element."""
    if gradient is None:
        if tensor.numel() != 1:
            raise RuntimeError(f"backward: {tensor.shape} is no scalar's shape: pass a gradient")
        array = tensor.array
        return MetaArray(array.shape, array.dtype) if tensor.is_meta else np.ones_like(array)
    shape = gradient.shape if isinstance(gradient, Tensor) else f"a {type(gradient).__name__}"
    if shape != tensor.shape:
        raise ValueError(f"backward: the gradient is {shape}, not a Tensor of {tensor.shape}")
    return gradient.array


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
        pending[node] = _add(pending[node], grad) if node in pending else grad
    else:  # a place for each result; None stays where backward brings nothing to one
        slots = pending.setdefault(node, [None] * len(node.outputs))
        slots[index] = grad if slots[index] is None else _add(slots[index], grad)


def _add(a, b):
    """Return the sum of two gradients, real or meta."""
    if dispatch.tracer:
        return dispatch.tracer.add(a, b)
    return a if type(a) is MetaArray else b if type(b) is MetaArray else a + b


def _accumulate(leaf: Tensor, grad, source) -> None:
    if leaf.grad is not None and type(leaf.grad.array) is np.ndarray:
        leaf.grad.array += grad
    elif leaf.grad is not None:
        leaf.grad = wrap(_add(leaf.grad.array, grad))
    elif type(grad) is MetaArray:
        leaf.grad = wrap(grad)
    else:
        # Two leaves must not share one array: someone may scale a .grad in place.
        shared = source is None or grad is source or grad.base is not None
        leaf.grad = wrap(grad.copy() if shared else grad)


def grad(outputs, inputs, grad_outputs=None, retain_graph: bool | None = None) -> tuple:
    """Return the gradients of one output for `inputs`, which keep their `.grad` as it is.

    Raises TypeError where one of them is no Tensor, such as a loss that is still 0.
    """
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    if len(outputs) != 1:
        raise ValueError(f"grad takes one output, not {len(outputs)}: add them up first")
    [output] = outputs
    if isinstance(grad_outputs, (tuple, list)):
        grad_outputs = grad_outputs[0]
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for given in (output, *inputs):
        if not isinstance(given, Tensor):
            raise TypeError(f"grad needs a Tensor, not an object of type {type(given).__name__}")
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


class Context:
    """State that a Function's forward saves for its backward."""

    def __init__(self, need: tuple[bool, ...]):
        self.needs_input_grad = need
        self._saved: tuple = ()
        self._unpack: Callable | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors; seen by `saved_tensors` like those that ops keep."""
        self._saved = tensors
        if packers:
            pack, self._unpack = packers[-1]
            self._saved = tuple(t if t is None else pack(t.detach()) for t in tensors)

    @property
    def saved_tensors(self) -> tuple:
        if self._unpack is None:
            return self._saved
        return tuple(t if t is None else self._unpack(t) for t in self._saved)


class _FunctionOp:
    """Stands in a node where ops have their Op: calls the Function's own backward."""

    transparent = True

    def __init__(self, function: type[Function], ctx: Context, places: list[int]):
        self.name, self.function, self.ctx, self.places = function.__name__, function, ctx, places

    def backward(self, node: Node, grad) -> tuple:
        # grad: (…) of each result → one of its own shape for each input that is a tensor, or None
        given = grad if node.outputs else [grad]
        grads = self.function.backward(self.ctx, *(g if g is None else wrap(g) for g in given))
        grads = grads if isinstance(grads, tuple) else (grads,)
        if len(grads) < len(self.ctx.needs_input_grad):
            raise RuntimeError(
                f"{self.name}: backward returned {len(grads)} gradients for "
                f"{len(self.ctx.needs_input_grad)} inputs"
            )
        return tuple(None if grads[i] is None else grads[i].array for i in self.places)


class Function:
    """Subclass with static methods forward(ctx, *inputs) and backward(ctx, *grads); use apply.

    It passes no dispatch itself: what its forward and backward compute does, op by op, so that a
    hook misses nothing of it.

    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = Tensor([1.0, 5.0], requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """

    @staticmethod
    def forward(ctx: Context, *inputs):
        raise NotImplementedError("a Function needs a forward")

    @staticmethod
    def backward(ctx: Context, *grads):
        raise NotImplementedError("a Function needs a backward")

    @classmethod
    def apply(cls, *inputs):
        """Run forward outside the graph, and put one node for all of it into the graph."""
        need = tuple(isinstance(x, Tensor) and x.requires_grad for x in inputs)
        ctx = Context(need)
        with no_grad():
            result = cls.forward(ctx, *inputs)
        if not (graph.enabled and any(need)):
            return result
        places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        tensors = [inputs[i] for i in places]
        many = isinstance(result, tuple)
        outs = result if many else (result,)
        node = Node(
            _FunctionOp(cls, ctx, places), {}, [need[i] for i in places], tensors,
            [t.array for t in tensors], (), [(t.shape, t.dtype) for t in outs] if many else None,
            dispatch.module_path(),
        )  # fmt: skip
        fresh = tuple(
            wrap(t.array, True, node, i) if t.dtype.kind == "f" else t for i, t in enumerate(outs)
        )
        return fresh if many else fresh[0]


def __getattr__(name: str):
    raise AttributeError(f"proflab.autograd has no {name!r}; docs/torch.md lists what it has")
