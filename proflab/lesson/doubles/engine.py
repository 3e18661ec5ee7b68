"""Stand-ins for what the engine offers: things with parameters, an op that no list knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Weights:
    """A model in all that counts here, and no Module: named tensors, yielded as they were given.

    `Weights(wte=t, head=t)` yields `t` twice, which a Module does only where it is asked to. Both
    methods take what a Module's take.

    >>> from proflab import Tensor
    >>> head = Tensor([1.0])
    >>> [name for name, _ in Weights(wte=head, head=head).named_parameters()]
    ['wte', 'head']
    """

    def __init__(self, **named: Any) -> None:
        self._named = named

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield every tensor, as often as it was given."""
        yield from self._named.values()

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """Yield (name, tensor) for every name, also where two share one, unless told not to."""
        seen: set[int] = set()
        for name, tensor in self._named.items():
            if not (remove_duplicate and id(tensor) in seen):
                yield f"{prefix}.{name}" if prefix else name, tensor
            seen.add(id(tensor))


class OnlyParameters:
    """Anything with `.parameters()`, and with nothing else.

    >>> list(OnlyParameters("weight", "bias").parameters())
    ['weight', 'bias']
    """

    def __init__(self, *tensors: Any) -> None:
        self._tensors = tensors

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield every tensor, as often as it was given."""
        yield from self._tensors


def unknown_op(name: str) -> Callable[[Any], Any]:
    """Return a function of one tensor that dispatch sees as an op `name`, which no list has.

    >>> from proflab import Tensor, dispatch
    >>> with dispatch.hook(lambda call: (print(call.op), call())[1]):
    ...     result = unknown_op("spectral")(Tensor([1.0]))
    spectral
    """
    from proflab import dispatch
    from proflab.meta import MetaArray

    class Unknown(dispatch.Op):
        def shape(self, x: Any) -> MetaArray:
            return MetaArray(x.shape, x.dtype)

        def forward(self, x: Any) -> Any:
            return x.copy()

    op = Unknown()
    op.name = name
    return lambda tensor: dispatch.apply(op, (tensor,))


def recomputed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `function` of one tensor, so that it keeps nothing and runs again in backward.

    >>> from proflab import Tensor, dispatch
    >>> y = recomputed(lambda x: x.exp())(Tensor([0.0], requires_grad=True))
    >>> with dispatch.hook(lambda call: (print(call.phase, call.op), call())[1]):
    ...     y.backward()
    forward exp
    backward exp
    """
    from proflab import autograd, enable_grad

    class Recomputed(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with enable_grad():
                y = function(x)
            return autograd.grad(y, [x], grad)[0]

    return Recomputed.apply


def refuses(word: str, function: Callable, *arguments: Any) -> bool | str:
    """Return True if the function raises a NotImplementedError naming `word`, else what it did.

    One without a message comes from an exercise that is still to be written, and is passed on.

    >>> def rule(op):
    ...     raise NotImplementedError(f"no rule for {op}")
    >>> refuses("fft", rule, "fft"), refuses("sort", rule, "fft"), refuses("fft", len, [])
    (True, 'the message does not name sort', 'nothing was raised')
    """
    try:
        function(*arguments)
    except NotImplementedError as error:
        if not str(error):
            raise
        return word in str(error) or f"the message does not name {word}"
    return "nothing was raised"


def errors(function: Callable, arguments: Iterable[tuple]) -> list[str]:
    """Return the name of the error that each function(*arguments) raises, or what it returned.

    A NotImplementedError without a message comes from an exercise that is still to be written, and
    is passed on.

    >>> errors(int, [("x",), ("4",)])
    ['ValueError', 'no error, but 4']
    """
    found = []
    for given in arguments:
        try:
            found.append(f"no error, but {function(*given)!r}"[:80])
        except Exception as error:
            if isinstance(error, NotImplementedError) and not str(error):
                raise
            found.append(type(error).__name__)
    return found
