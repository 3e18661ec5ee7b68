"""Trace a program of Tensors: run it on inputs without data, and note each thing that it does.

A hook sees every op, forward and backward. Four places of the engine compute without passing
dispatch; they tell `dispatch.tracer`: fills, writes, `x[i] = …`, and sums of
gradients. Nothing here is trusted: whatever comes out is checked and run elsewhere.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

import proflab
from proflab import Tensor, dispatch, graph
from proflab.lesson.lines_shown import lines_of
from proflab.lesson.race.steps import MOST_TEXT
from proflab.lesson.race.tape import Refused, check, encode
from proflab.lesson.words import shortened
from proflab.meta import MetaArray, Storage
from proflab.ops.views import expand
from proflab.tensor import wrap

_ENGINE = os.path.dirname(proflab.__file__)  # frames of its files are not the program's


class Tape(list):
    """The instructions, as `traced` returns them; `lines`: the (file, line) that made each.

    traced_with: traces another program with the same inputs
    """

    lines: list[tuple[str, int]]
    traced_with: Callable[[Callable], Tape]

    def by_line(self) -> dict[str, Any]:
        """Return the lines that made the instructions: their texts, and each one's place there.

        It is plain data, which steps.py reads (`lines_of`). Equal lines in two places are two, for
        hints.py sets each beside a floor of its own.
        """
        places = {place: number for number, place in enumerate(dict.fromkeys(self.lines))}
        numbers = [places[place] for place in self.lines]
        numbers += [0] * (len(self) - len(numbers))  # of the results, which no line makes
        return {"lines": numbers, "texts": [line_at(*place)[:MOST_TEXT] for place in places]}

    def with_lines(self) -> dict[str, Any]:
        """Return the tape as a race sends it to the grader (cases/race.py), for jobs.py."""
        return {"tape": [*self], **self.by_line()}


class Tracer:
    """Notes what the ops inside `with Tracer() as tracer:` do, in `tracer.tape`."""

    def __init__(self) -> None:
        self.tape, self.tape.lines = Tape(), []
        self._ids: dict[int, int] = {}  # value numbers by the identity of their arrays
        self._made: list[int] = []  # the instruction that made each value
        self._alive: list[Any] = []  # so that no other array gets an identity
        self._nodes: dict[int, int] = {}
        self._constants: set[Storage] = set()

    def __enter__(self) -> Tracer:
        self._before = dispatch.tracer
        dispatch.tracer = self  # type: ignore[assignment]
        self._hook = dispatch.hook(self._watch)
        self._hook.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hook.__exit__(None, None, None)
        dispatch.tracer = self._before

    def input(self, name: str, tensor: Tensor) -> None:
        """Note that a meta tensor is an input."""
        self._note(["in", name, tensor.shape, str(tensor.dtype)])
        self._new(tensor.array)

    def number(self, array: Any) -> int:
        """Return an array's number; one with elements becomes a constant. Raises Refused."""
        if id(array) in self._ids:
            return self._ids[id(array)]
        if type(array) is MetaArray:
            raise Refused(
                f"a tensor of shape {array.shape} comes from nowhere: only inputs, constants and "
                "results of operations can be traced"
            )
        self._constants.add(Storage(array))
        if array.ndim:
            self._note(["const", np.array(array)])
        else:  # as plain data, an array without dimensions is a number and has no dtype
            self._note(["fill", (), str(array.dtype), array.item()])
        return self._new(array)

    # what the engine tells

    def make(self, make: Callable, shape: tuple, dtype: Any, value: Any) -> Any:
        """Return the array of a new tensor: a fill where all its elements are one value."""
        if value is None:
            return make(shape, dtype)
        value = value.item() if isinstance(value, (np.generic, Tensor)) else value
        array = MetaArray(tuple(shape), np.dtype(dtype))
        self._note(["fill", array.shape, str(array.dtype), value])
        self._new(array)
        return array

    def write(self, tensor: Tensor, out: Tensor) -> Tensor:
        """Note that a result is written into a tensor's memory; return the tensor."""
        if not tensor.is_meta:
            if out.is_meta or tensor.storage in self._constants:
                raise Refused(
                    f"a constant of shape {tensor.shape} may not be written to: make it by zeros, "
                    "ones or full"
                )
            np.copyto(tensor.numpy(), out.numpy(), casting="same_kind")
            return tensor
        if not out.is_meta and out.numel() == 1:
            out = wrap(self.make(np.full, tensor.shape, tensor.dtype, out.item()))
        out = out if out.shape == tensor.shape else expand(out, tensor.shape)
        target, source = self.number(tensor.array), self.number(out.array)
        places = [self.tape[self._made[number]] for number in (target, source)]
        if places[0][:2] != ["op", "getitem"] or places[0] != places[1]:  # so x[i] += … ends
            self._note(["write", target, source])
        return tensor

    def add(self, a: Any, b: Any) -> Any:
        """Return the sum of two gradients' arrays."""
        operands = [self.number(a), self.number(b)]
        self._note(["op", "add", operands, {}, None])
        out = MetaArray(a.shape, a.dtype)
        self._new(out)
        return out

    def finish(self, results: Any) -> None:
        """Note what the program returns. Raises Refused for what is no Tensor, or no tape."""
        every = results or [results]  # an empty list is none, either
        if kinds := [type(each).__name__ for each in every if not isinstance(each, Tensor)]:
            raise Refused(f"the program returns a result of type {kinds[0]}: return Tensors")
        self.tape.append(["out", [self.number(tensor.array) for tensor in results]])
        check(self.tape)

    # what passes dispatch

    def _watch(self, call: dispatch.Call) -> Any:
        if call.phase == "backward":
            return self._watch_backward(call)
        result = call()
        outs = [result] if isinstance(result, Tensor) else list(result)
        if not any(t.is_meta for t in outs):
            return result  # of constants alone: a constant
        operands = [self.number(t.array) for t in call.inputs]
        need = None
        if (node := outs[0].node) is not None:
            need = [bool(t.requires_grad) for t in call.inputs]
            self._nodes[id(node)] = len(self.tape)
            self._alive.append(node)
        self._note(["op", call.op, operands, encode(call.attributes), need])
        for tensor in outs:
            self._new(tensor.array)
        return result

    def _watch_backward(self, call: dispatch.Call) -> Any:
        grads = [call.grad] if isinstance(call.grad, Tensor) else call.grad or []
        for grad in grads:  # the first one, of a loss, is no op's result: it is 1
            if grad is not None and grad.is_meta and id(grad.array) not in self._ids:
                if grad.numel() == 1:
                    self._note(["fill", grad.shape, str(grad.dtype), 1])
                    self._new(grad.array)
        numbers = [None if g is None else self.number(g.array) for g in grads]
        result = call()
        at = self._nodes.get(id(call._node))
        if at is None:
            raise Refused(f"backward of {call.op}, which was not traced")
        self._note(["vjp", at, numbers])
        for grad in result:
            if grad is not None:
                self._new(grad.array)
        return result

    def _note(self, line: list) -> None:
        self.tape.append(line)
        self.tape.lines.append(_line_of_program())

    def _new(self, array: Any) -> int:
        number = len(self._made)
        self._ids[id(array)] = number
        self._made.append(len(self.tape) - 1)
        self._alive.append(array)
        return number


def line_at(file: str, number: int) -> str:
    """Return the line of a program at a place of `Tape.lines`, as a student may quote it."""
    return linecache.getline(file, number).strip() or f"line {number}"


def _line_of_program() -> tuple[str, int]:
    """Return the file and line of the innermost frame of the program's own, or of a file beside it.

    Neither the package, nor what a lesson borrows from earlier ones, built.py, nor Python's library
    is the student's to change.
    """
    frame = sys._getframe(2)
    while frame.f_back is not None and not _is_own(frame):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _is_own(frame: FrameType) -> bool:
    """Return True for a frame of the program's own, or of a file beside it."""
    name, borrowed = frame.f_code.co_filename, frame.f_globals.get("__name__") == "built"
    return not (borrowed or name.startswith(_ENGINE) or name.endswith("contextlib.py"))


def traced(program: Callable, *, model: Callable | None = None, training: bool = False,
           **shapes: Any) -> Tape:  # fmt: skip
    """Run a program on inputs of these shapes, without data, and return what it does as a tape.

    shapes: by argument; a shape, or one size, means float32, ("int64", shape) another dtype
    model: makes a module, which is made without data and passed as `model`; its parameters and
        buffers are inputs
    training: record gradients, so that the program may call backward

    Raises Refused, a ValueError, where the program cannot be run on these inputs, asks for data, or
    does what no tape can hold; its message has the program's line.

    >>> traced(lambda x: x @ x, x=(8, 8))[1:]
    [['op', 'matmul', [0, 0], {}, None], ['out', [1]]]
    """
    given: dict[str, Any] = {}
    if model is not None:
        with proflab.meta():
            given["model"] = model()
        if not training:
            given["model"].eval()
            for parameter in given["model"].parameters():
                parameter.requires_grad = False
    with Tracer() as tracer, graph.set_grad_enabled(training):
        if model is not None:
            for each in (given["model"].named_parameters(), given["model"].named_buffers()):
                for name, tensor in each:
                    tracer.input(name, tensor)
        for name, spec in shapes.items():
            typed = not isinstance(spec, int) and spec and isinstance(spec[0], str)
            dtype, shape = spec if typed else ("float32", spec)
            given[name] = Tensor.meta(shape, dtype)
            tracer.input(name, given[name])
        try:
            results = program(**given)
            tracer.finish(results if isinstance(results, (list, tuple)) else [results])
        except Exception as error:
            if type(error) is NotImplementedError and not error.args:
                raise  # it is still to be written
            raise _refused(error, program, tracer.tape, ", ".join(given)) from error
    tracer.tape.traced_with = partial(traced, model=model, training=training, **shapes)
    return tracer.tape


def _refused(error: Exception, program: Callable, tape: Tape, names: str) -> Refused:
    """Return what stops a trace as a sentence on what to do, with the program's lines below it.

    Of an exception in a student's process the grader gets the message alone
    (grading/judge_case.py), so all is said there. names: of the arguments that the program gets
    """
    name, code = getattr(program, "__name__", "the program"), getattr(program, "__code__", None)
    own = [step for step in traceback.walk_tb(error.__traceback__) if _is_own(step[0])]
    *_, raised = traceback.format_exception_only(error)  # also where str(error) raises
    told = shortened(" ".join(raised.split()), 300)
    if isinstance(error, Refused):
        told = str(error)
    elif "has no data" in told:  # as proflab/tensor.py and ops/ say it
        told = f"the program asks for numbers while it is traced ({error}): it may know shapes only"
    else:
        mend = "correct it here" if own else f"its parameters have to be {names}"
        told = f"`{name}` raised {told}: {mend}"
    lines, place = list(lines_of(own)), None
    if isinstance(error, Refused) and error.at is not None:
        place = tape.lines[error.at]
    elif code is not None:
        place = code.co_filename, code.co_firstlineno
    if not lines and place is not None and (text := linecache.getline(*place).strip()):
        lines = [f"    line {place[1]}:  {text}"]
    return Refused("\n".join([told, *lines]))
