"""The one point that every operation passes, and the hook by which a profiler watches it.

An `Op` stands once, in ops/: its shape rule, its forward, what it keeps, its backward. `apply` runs
it on data or on meta tensors and records it for backward. Nothing here, or in ops/, may count
anything: events carry shapes, dtypes and storages; what they cost is for the observer to work out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from proflab import graph
from proflab.meta import Array, MetaArray
from proflab.tensor import Tensor, wrap

OPS: dict[str, Op] = {}  # every op by its name
hooks: tuple[Callable, ...] = ()  # the active hooks, outermost first
modules: list = []  # (module, name), outermost first; nn.Module keeps both, while hooks are active
tracer = None  # told of what the engine does without passing here (lesson/race/trace.py)
paths: dict[int, str] = {}  # name of each module called so far, inside the outermost one


class Op:
    """One operation. Arrays in, arrays out; a tensor never gets in here.

    shape:    the result's MetaArray from inputs of which some are meta
    forward:  the result's ndarray from ndarrays
    save_for_backward: the arrays that backward will read, None for each that it will not
    backward: for each input its gradient, or None; `node.saved` holds the arrays saved for it

    All four get the op's attributes (what is not a tensor) as keyword arguments.
    """

    name = ""
    kind = ""  # the file of ops/ in which it stands; lesson/race/cost.py asks for it
    view = False  # the result looks at the input's memory; all others return contiguous arrays
    suppress_warnings = False  # may produce inf or nan; silence numpy's warning, as torch does
    extras = False  # forward and shape return (result, *more), all of which may be saved
    many = False  # forward and shape return a list of results
    transparent = False  # no event of its own: its backward is made of ops that are (Function)

    def shape(self, *inputs, **attributes):
        raise NotImplementedError(f"{self.name}: no shape rule")

    def forward(self, *inputs, **attributes):
        raise NotImplementedError(f"{self.name}: no forward")

    def save_for_backward(self, need: list[bool], out, *inputs, **attributes) -> tuple:
        return ()

    def backward(self, node: graph.Node, grad, *_, **attributes) -> tuple:
        raise NotImplementedError(f"{self.name}: no backward")


def register(cls: type[Op]) -> Op:
    """Replace an op's class by its only instance, and list it in OPS. A class decorator."""
    op = cls()
    if not op.name or op.name in OPS:
        raise ValueError(f"an op needs a name of its own, not {op.name!r}")
    op.kind = cls.__module__.rpartition(".")[2]
    OPS[op.name] = op
    return op


def apply(op, inputs: tuple[Tensor, ...], **attributes):  # mypy takes an Op for its class
    """Run one op on tensors: a Tensor, or a tuple of them for an op with many results."""
    if hooks:
        return _observe(Call(op, inputs, attributes, module_path()))
    return _run(op, inputs, attributes)


def _run(op: Op, inputs: tuple[Tensor, ...], attributes: dict):
    """Compute an op's result, and leave a node behind if it needs a gradient."""
    try:
        arrays = [t.array for t in inputs]
    except AttributeError:
        kinds = ", ".join(type(t).__name__ for t in inputs)
        raise TypeError(f"{op.name}: takes tensors, not ({kinds})") from None
    result = compute(op, arrays, attributes)
    out = result[0] if op.extras else result
    if op.many:
        outs = [contiguous(op, a) for a in out]
        node = _node(op, inputs, attributes, arrays, result, outs[0]) if outs else None
        if node is not None:
            node.outputs = [(a.shape, a.dtype) for a in outs]
        return tuple(wrap(a, node is not None, node, i) for i, a in enumerate(outs))
    if type(out) is not np.ndarray or not out.flags.c_contiguous:
        out = contiguous(op, out)
        result = (out, *result[1:]) if op.extras else out
    node = _node(op, inputs, attributes, arrays, result, out)
    return wrap(out, node is not None, node)


def compute(op: Op, arrays: list, attributes: dict):
    """Return what an op's forward gives, or its shape rule where an array is meta."""
    rule = op.shape if MetaArray in map(type, arrays) else op.forward
    try:
        if op.suppress_warnings:
            with np.errstate(all="ignore"):
                return rule(*arrays, **attributes)
        return rule(*arrays, **attributes)
    except (ValueError, TypeError, IndexError) as error:
        raise _explain(op, arrays, attributes, error) from error


def contiguous(op: Op, array: Array) -> Array:
    """Return an op's result as it is handed out: an array, row-major unless the op is a view.

    numpy keeps a transposed input's layout and turns results without dimensions into scalars; one
    simple law about memory is what makes meta tensors tell the truth about it.
    """
    if type(array) is MetaArray:
        return array
    if not isinstance(array, np.ndarray):
        return np.asarray(array)
    return array if op.view or array.flags.c_contiguous else np.ascontiguousarray(array)


def _node(op, inputs, attributes, arrays, result, out) -> graph.Node | None:
    if not graph.enabled:
        return None
    need = [t.requires_grad for t in inputs]
    # An integer or boolean result has no gradient, whatever it was computed from.
    if True not in need or out.dtype.kind != "f":
        return None
    kept = op.save_for_backward(need, result, *arrays, **attributes)
    return graph.Node(op, attributes, need, inputs, arrays, kept, None, module_path())


def _explain(op: Op, arrays: list, attributes: dict, error: Exception) -> Exception:
    """Return the error as one sentence with the op's name and its inputs' shapes."""
    sentence = str(error)
    if not any(type(a) is MetaArray for a in arrays):
        try:  # our shape rule says it in our words; numpy's are about numpy's arguments
            op.shape(*(MetaArray(a.shape, a.dtype) for a in arrays), **attributes)
        except (ValueError, TypeError, IndexError) as ours:
            error, sentence = ours, str(ours)
    shapes = ", ".join(str(a.shape) for a in arrays)
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"{op.name}: {sentence.rstrip('.')} (input shapes: {shapes})")


class Call:
    """One op about to run, as a hook sees it. Calling it runs the op and returns the result.

    op:          its name, a key of OPS
    inputs:      its tensors. In backward: meta tensors of the forward's inputs, `requires_grad`
                 True for those whose gradient is about to be computed
    attributes:  what is not a tensor: stride, equation, dim, a number added …
    module_path: the innermost module being called, such as "blocks.3.attn.qkv"; "" for the
                 outermost one, or outside any
    phase:       "forward" or "backward", by which of the op's two functions runs
    grad:        in backward, the gradient of the result; a list where there are many results
    saved:       in backward, the tensors that the op kept in the forward pass and reads now

    In forward the result is a Tensor (a tuple of them for split and unbind), in backward a tuple
    with a Tensor or None for each input.
    """

    grad: Tensor | list[Tensor | None] | None = None  # of a forward call, as is _node
    _node: graph.Node | None = None

    def __init__(self, op: Op, inputs: tuple[Tensor, ...], attributes: dict, module_path: str):
        self.op = op.name
        self.inputs = inputs
        self.attributes = attributes
        self.module_path = module_path
        self.phase = "forward"
        self._op = op
        self._inner: Callable | None = None  # runs instead: a hook further inside, or backward

    def __call__(self):
        inner = self._inner
        return _run(self._op, self.inputs, self.attributes) if inner is None else inner()

    @property
    def saved(self) -> list[Tensor]:
        kept = [] if self._node is None or self._node.kept is None else self._node.saved
        return [wrap(array) for array in kept if array is not None]

    def __repr__(self) -> str:
        shapes = ", ".join(str(t.shape) for t in self.inputs)
        return f"<{self.phase} {self.op}({shapes}) {self.attributes} in {self.module_path!r}>"


@contextmanager
def hook(h: Callable[[Call], object]) -> Iterator[None]:
    """Wrap every op inside: h(call) must return call(). Hooks nest, the last is innermost.

    >>> def h(call):
    ...     print(call.phase, call.op, [t.shape for t in call.inputs])
    ...     return call()
    >>> with dispatch.hook(h):
    ...     nn.Linear(3, 2)(Tensor.meta((4, 3))).sum().backward()
    forward linear [(4, 3), (2, 3), (2,)]
    forward sum [(4, 2)]
    backward sum [(4, 2)]
    backward linear [(4, 3), (2, 3), (2,)]
    """
    global hooks
    before = hooks
    hooks = (*before, h)
    try:
        yield
    finally:
        hooks = before


def _observe(call: Call):
    """Run an op inside the active hooks; what a hook itself computes is not observed."""
    global hooks
    active, hooks = hooks, ()
    try:
        if len(active) > 1:
            for h in active[:0:-1]:  # all get the same call: each is linked to the next inside
                call._inner = partial(_inside, h, call, call._inner)
        result = active[0](call)
    finally:
        hooks = active
    return _forgotten(active[0], call) if result is None else result


def _inside(h: Callable, call: Call, inner: Callable | None):
    """Run a call within another hook: there, running the call is this."""
    call._inner = inner
    result = h(call)
    return _forgotten(h, call) if result is None else result


def _forgotten(h: Callable, call: Call):
    raise TypeError(f"the hook {h!r} returned nothing for {call.op}: it must return call()")


def apply_backward(node: graph.Node, grad) -> tuple:
    """Run one node's backward, inside the active hooks: arrays, None where none is needed."""
    if not hooks or node.op.transparent:
        return node.run_backward(grad)
    specs = zip(node.specs, node.need, strict=True)
    inputs = tuple([wrap(MetaArray(shape, dtype), need) for (shape, dtype), need in specs])
    seen = _tensors(grad) if node.outputs else wrap(grad)
    call = Call(node.op, inputs, node.attributes, node.path)
    call.phase, call.grad, call._node = "backward", seen, node
    call._inner = lambda: tuple(_tensors(node.run_backward(grad)))
    grads = _observe(call)
    return tuple([None if g is None else g.array for g in grads])


def _tensors(arrays) -> list[Tensor | None]:
    return [None if array is None else wrap(array) for array in arrays]


def module_path() -> str:
    """Return the name of the innermost module being called inside the outermost one."""
    return modules[-1][1] if modules else ""
