"""Make what lesson 05's test cells profile: layers of scripted time, one that is trained in parts,
calls that make calls, rows of one's own. What may not enter: what should come out.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from proflab import Function, Tensor, dispatch, example_input, nn
from proflab.lesson.recording import Rows, columns
from proflab.lesson.tensor_memory import each_op


class Paced(nn.Module):
    """A layer that takes as long as `pace` says: `Paced(pace, nn.ReLU())`."""

    def __init__(self, pace: Callable[[Any], Any], inner: nn.Module) -> None:
        self.pace, self.inner = pace, inner

    def forward(self, x: Tensor) -> Tensor:
        """Return what the layer makes of x, after one call of pace."""
        self.pace(x)
        return self.inner(x)


class PacedBack(Paced):
    """The same, and its backward pass calls `pace` once more."""

    def forward(self, x: Tensor) -> Tensor:
        """Return what the layer makes of x."""
        return _Wait.apply(self.inner(x), self.pace)


class _Wait(Function):
    """Calls pace, forward and backward, and hands on what came in."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, pace: Callable[[Any], Any]) -> Tensor:
        ctx.pace = pace
        pace(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        ctx.pace(grad)
        return grad, None


class Product(Function):
    """a @ b, whose own backward makes the gradient of a with a product, and none of b."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        """Return the product."""
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        """Return the gradient of a, and None."""
        return grad @ ctx.saved_tensors[1].T, None


class Partly(nn.Module):
    """Some of its parameters are frozen, some unused, one is used under two names; its output is a
    dict of tensors, of which one is detached, and a number. Inputs: (rows, 256), float32.
    """

    def __init__(self) -> None:
        self.frozen, self.used = nn.Linear(256, 256, bias=False), nn.Linear(256, 256, bias=False)
        self.spare, self.head = nn.Linear(256, 512), nn.Linear(256, 128, bias=False).double()
        self.again, self.side = self.used, nn.Linear(256, 64, bias=False)
        self.frozen.weight.requires_grad = False

    def forward(self, x: Tensor) -> dict:
        """Return logits in float64, two hidden layers, a length."""
        x = self.again(self.used(self.frozen(x)))
        return {"logits": self.head(x.double()), "hidden": [x.detach(), self.side(x)], "length": 4}


class Around:
    """A call that takes as long as `pace` says and makes others meanwhile, as nothing in the engine
    does yet. Code that asks for its properties calls `wait` first.
    """

    inputs, attributes, module_path, phase = (Tensor([1.0]),), {}, "", "forward"

    def __init__(
        self, pace: Callable[[], Any], *inside: Around, wait: Callable[[], Any] = lambda: None
    ) -> None:
        self.pace, self.inside, self.wait = pace, inside, wait

    @property
    def op(self) -> str:
        """Return the op's name, after a wait."""
        self.wait()
        return "clone"

    def __call__(self) -> Tensor:
        """Let its time pass, and record each call inside."""
        self.pace()
        for call in self.inside:
            call.recorded(self.record, self.rows)
        return self.inputs[0].clone()

    def recorded(self, record: Callable, rows: Rows) -> None:
        """Let record(call, rows) run it, and what is inside."""
        self.record, self.rows = record, rows
        record(self, rows)


def recorded(record: Callable, call: Around) -> list[list]:
    """Return [start_ms, ms, first, depth] of each row that record(call, rows) adds.

    first is what add_row was given, as Before("record") notes it.
    """
    rows = Rows()
    call.recorded(record, rows)
    return columns(rows, "start_ms", "ms", "first", "depth")


def on_the_way_back(look: Callable, *functions: Callable) -> list[list]:
    """Return look(call, result) of each backward op but the first: a list a function.

    function(x, y, z) gets tensors of the shapes (2, 3), (2, 3) and (3,), and returns a number.
    """
    found = []
    for function in functions:
        inputs = [example_input(nn.ReLU(), s).requires_grad_() for s in ((2, 3), (2, 3), (3,))]
        number = function(*inputs)
        found.append(each_op(look, number.backward)[1:])
    return found


def interrupted(call: Any) -> Any:
    """Raise KeyboardInterrupt as a hook, so that code that runs an op is interrupted."""
    raise KeyboardInterrupt


def made_up(keys: str, *rows: tuple) -> list[dict]:
    """Return rows for trying things out, from values for these keys, of which the first is op.

    "region loading" is a region called "loading", and "module a.b" a module; "m" is the module of
    all others. What is not among the keys is 0, but phase is "forward".
    """
    names = "start_ms ms self_ms depth matmul_flops elementwise_flops bytes_read bytes_written"
    made = []
    for row in rows:
        values = dict.fromkeys(names.split(), 0) | dict(zip(keys.split(), row, strict=True))
        op, _, module = values["op"].partition(" ")
        made.append({"phase": "forward"} | values | {"op": op, "module": module or "m"})
    return made


def kept_alive(run: Callable, function: Callable) -> bool:
    """Return True if an op's result is still alive after run(function, it), and nobody asked."""
    results = []
    run(function, lambda: results.append(weakref.ref(Tensor([1.0]).exp())))
    return results[0]() is not None


def after_failures(run: Callable, recorder: Callable, x: Tensor) -> list[list]:
    """Return [error, rows, depth] of a recorder in which an op failed, and of one after Ctrl-C.

    x: a Tensor that cannot be multiplied with itself, x @ x.
    """
    found = []
    for hook, op in ((lambda call: call(), lambda: x @ x), (interrupted, x.exp)):
        with recorder() as recording:
            try:
                run(dispatch.hook(hook)(op))
                error = "nothing was raised"
            except (ValueError, KeyboardInterrupt) as raised:
                error = type(raised).__name__
        found.append([error, len(recording.rows), recording.rows.depth])
    return found
