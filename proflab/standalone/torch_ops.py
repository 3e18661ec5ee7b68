"""Record any model of torch as lesson 05 records one of the engine: `my_profiler.py table`.

torch's dispatcher shows each op; its FLOPs and bytes are what the student's `op_flops`,
`op_elementwise` and `op_bytes` say of it. torch is imported when it is asked for, and its tensors
may be real or meta. What may not enter: a formula.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from proflab import Tensor
from proflab.meta import MetaArray
from proflab.standalone.aten import flops_of, products
from proflab.tensor import wrap

# torch's ops under the engine's names, where the lessons' tables have them under another one.
_NAMES = {
    "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul", "addmm": "linear",
    "convolution": "conv2d", "convolution_backward": "matmul", "_softmax": "softmax",
    "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm", "index_select": "gather",
    "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm",
    "native_group_norm": "group_norm", "_unsafe_view": "reshape",
}  # fmt: skip
# Ops that only move or make elements, as those do that take no tensor.
_MOVES = {
    "copy", "_to_copy", "clone", "cat", "stack", "zeros", "ones", "zero", "fill", "full", "empty",
    "empty_like", "zeros_like", "ones_like", "new_zeros", "new_empty", "select_backward",
    "slice_backward", "constant_pad_nd", "embedding_dense_backward", "mkldnn_rnn_layer",
    "mkldnn_rnn_layer_backward", "_cudnn_rnn", "resize", "arange", "scalar_tensor", "repeat",
}  # fmt: skip
_BY_SIZE = {1: "uint8", 2: "float16", 4: "float32", 8: "float64", 16: "complex128"}
_HERE = str(Path(__file__).parent)


def record_torch(
    names: dict[str, Any], work: Callable[[], Any], on_torch_line: Callable[[str], bool]
) -> list[dict]:
    """Return the rows of one call of work(), one for each op of torch that it dispatches.

    A row has the keys of lesson 05's op_facts, and line, ms and cpu_ms. The line is that of the
    program outside of torch; in the backward pass, where it is known, the line whose gradient is
    computed. cpu_ms is what all threads of this process took meanwhile.
    on_torch_line: says whether a file is torch's own.
    """
    import torch

    rows: list[dict] = []
    lines: dict[int, str] = {}

    def note(func: Any, values: list[Any], result: Any, times: dict[str, float]) -> None:
        node = torch._C._current_autograd_node()
        if node is None:
            line = _line(sys._getframe(2), on_torch_line)
            # The number of the node that this op has left; in backward that node asks for its line.
            lines[torch.autograd._get_sequence_nr() - 1] = line
        else:
            line = lines.get(node._sequence_nr(), "")
        phase = "forward" if node is None else "backward"
        rows.append(facts_of(names, func, values, result) | {"phase": phase, "line": line} | times)

    _watch(work, note)
    return rows


def time_torch(work: Callable[[], Any]) -> list[dict[str, float]]:
    """Return ms and cpu_ms of each op that one call of work() dispatches, as in `record_torch`."""
    times: list[dict[str, float]] = []
    _watch(work, lambda func, values, result, took: times.append(took))
    return times


def _watch(work: Callable[[], Any], note: Callable[..., None]) -> None:
    """Call work(), and note each op that torch dispatches: its arguments, result and times."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            cpu, start = time.process_time_ns(), time.perf_counter_ns()
            result = func(*args, **kwargs)
            ms = (time.perf_counter_ns() - start) / 1e6
            took = {"ms": ms, "cpu_ms": (time.process_time_ns() - cpu) / 1e6}
            note(func, [*args, *kwargs.values()], result, took)
            return result

    with Watch():
        work()


def facts_of(names: dict[str, Any], func: Any, values: list[Any], result: Any) -> dict[str, Any]:
    """Return a call of torch's dispatcher as lesson 05's op_facts would have it."""
    import torch

    name = func.overloadpacket.__name__
    tensors = list(tensors_in(values))
    results = list(tensors_in(result)) or tensors[:1]
    roots: dict[int, MetaArray] = {}
    inputs = [_shown(tensor, roots) for tensor in tensors]
    new = {} if func._schema.is_mutable else roots  # an op in place writes, a view does not
    outputs = [_shown(tensor, new) for tensor in results]
    op = _NAMES.get(name, name.removeprefix("_foreach_").strip("_"))
    if name == "embedding":
        inputs.reverse()  # the engine's has the table last
    call = SimpleNamespace(
        op="clone" if name.rstrip("_") in _MOVES or not inputs else op,
        inputs=tuple(inputs), attributes={"training": True}, phase="forward", module_path="",
        grad=None, saved=[],
    )  # fmt: skip
    out = outputs[0].shape if outputs else ()
    shapes = [_shapes(value, torch) for value in values]
    found = products(name, shapes, values, out)
    if name.startswith("_scaled_dot_product_"):
        call.op, call.inputs = "scaled_dot_product_attention", call.inputs[:3]
    read, written = names["op_bytes"](call, tuple(outputs)) if outputs else (0, 0)
    return {
        "op": name,
        "module": "",
        "input_shapes": [tuple(t.shape) for t in tensors],
        "output_shape": out,
        "dtype": str(results[0].dtype).removeprefix("torch.") if results else None,
        "matmul_flops": flops_of(names["op_flops"], found),
        "elementwise_flops": names["op_elementwise"](call, out) if written else 0,
        "bytes_read": read,
        "bytes_written": written,
    }


def tensors_in(values: Any) -> Iterator[Any]:
    """Yield the tensors of torch in a value: itself, or what is in its lists, tuples and dicts."""
    if isinstance(values, (list, tuple, dict)):
        for value in values.values() if isinstance(values, dict) else values:
            yield from tensors_in(value)
    elif hasattr(values, "untyped_storage"):
        yield values


def _shapes(value: Any, torch: Any) -> Any:
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        return [tuple(tensor.shape) for tensor in value]
    return tuple(value.shape) if isinstance(value, torch.Tensor) else ()


def _shown(tensor: Any, roots: dict[int, MetaArray]) -> Tensor:
    """Return a tensor of torch as a meta tensor of the engine, with the memory that it shares."""
    try:
        storage, shape = tensor.untyped_storage(), tuple(tensor.shape)
    except RuntimeError:
        raise ValueError("table counts dense tensors, and here is a sparse or nested one") from None
    if storage._cdata not in roots:
        roots[storage._cdata] = MetaArray((storage.nbytes(),), np.dtype("uint8"))
    dtype = np.dtype(_BY_SIZE[tensor.element_size()])
    return wrap(MetaArray(shape, dtype, None, roots[storage._cdata]))


def _line(frame: Any, on_torch_line: Callable[[str], bool]) -> str:
    """Return the innermost line of the program, "" where this tool itself asked torch."""
    while frame is not None and not frame.f_code.co_filename.startswith(_HERE):
        file = frame.f_code.co_filename
        if not (file.startswith("<") or on_torch_line(file)):
            return f"{Path(file).name} line {frame.f_lineno}"
        frame = frame.f_back
    return ""


def counted_by_torch(work: Callable[[], Any]) -> Counter:
    """Return op → FLOPs of one call of work() as torch's own FlopCounterMode has them."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        work()
    counts = counter.get_flop_counts().get("Global", {})
    return Counter({str(op).rpartition(".")[2]: count for op, count in counts.items()})
