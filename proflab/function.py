"""Function: an operation with a forward and a backward of one's own, as torch has it.

It is no op and passes no dispatch itself: what its forward and backward compute on tensors does,
op by op, so that a hook misses nothing of it.
"""

from __future__ import annotations

from proflab import autograd
from proflab.tensor import Tensor, wrap


class Context:
    """What forward hands to backward."""

    def __init__(self, need: tuple[bool, ...]):
        self.needs_input_grad = need
        self._saved: tuple = ()
        self._unpack = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors; seen by `saved_tensors` like those that ops keep."""
        self._saved = tensors
        if autograd.packers:
            pack, self._unpack = autograd.packers[-1]
            self._saved = tuple(t if t is None else pack(t.detach()) for t in tensors)

    @property
    def saved_tensors(self) -> tuple:
        if self._unpack is None:
            return self._saved
        return tuple(t if t is None else self._unpack(t) for t in self._saved)


class _Rule:
    """Stands in a node where ops have their Op: calls the Function's own backward."""

    transparent = True

    def __init__(self, function: type, ctx: Context, places: list[int]):
        self.name, self.function, self.ctx, self.places = function.__name__, function, ctx, places

    def backward(self, node, grad) -> tuple:
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

    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
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
        with autograd.no_grad():
            result = cls.forward(ctx, *inputs)
        if not (autograd.enabled and any(need)):
            return result
        places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]
        tensors = [inputs[i] for i in places]
        many = isinstance(result, tuple)
        outs = result if many else (result,)
        outputs = [(t.shape, t.dtype) for t in outs] if many else None
        node = autograd.Node(
            _Rule(cls, ctx, places), {}, [need[i] for i in places], tensors,
            [t.array for t in tensors], (), outputs,
        )  # fmt: skip
        fresh = tuple(
            wrap(t.array, True, node, i) if t.dtype.kind == "f" else t for i, t in enumerate(outs)
        )
        return fresh if many else fresh[0]
