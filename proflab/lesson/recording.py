"""Give lesson 05's recorder its parts, beside what its students write: when it records, a list
for rows, what rows are called. What may not enter: what an op costs, and what a row says of it.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, ClassVar

from proflab import Tensor, dispatch, nn

dtype_name = functools.cache(str)  # asking numpy takes long: once is enough

# Ops that move, choose or compare elements, and matrix products: no elementwise FLOPs.
_NO_ELEMENTWISE = """
    matmul einsum to clone reshape permute expand getitem index index_put embedding gather
    scatter_add nonzero cat split pad tril triu flip roll where masked_fill argsort
    """.split()
_KINDS = dict.fromkeys(_NO_ELEMENTWISE) | {
    "linear": "bias", "conv2d": "bias", "scaled_dot_product_attention": "softmax",
}  # fmt: skip

# The facts of a region, but for its name.
_REGION: dict[str, Any] = {
    "op": "region", "phase": "region", "input_shapes": [], "output_shape": None, "dtype": None,
    "matmul_flops": 0, "elementwise_flops": 0, "bytes_read": 0, "bytes_written": 0,
}  # fmt: skip


def elementwise_kind(call: dispatch.Call) -> str | None:
    """Return the name of an op's elementwise work: bias, softmax, …; None where it has none."""
    kind = _KINDS.get(call.op, call.op)
    if kind == "bias":
        return kind if len(call.inputs) == 3 else None
    if kind == "batch_norm" and call.attributes["training"]:
        return "batch_norm_train"
    return kind


class Rows(list):
    """The rows of a recording, in the order in which they ended.

    start: what time.perf_counter_ns() showed when the recording began.
    depth: how many things are running now, one inside the other, in the thread that asks.
    """

    __slots__ = ("_depths", "_timed", "start")

    def __init__(self) -> None:
        super().__init__()
        self.start = time.perf_counter_ns()
        self._depths: dict[int, int] = {}
        self._timed: list[tuple[int, dict, tuple[int, int]]] = []

    @property
    def depth(self) -> int:
        return self._depths.get(get_ident(), 0)

    @depth.setter
    def depth(self, depth: int) -> None:
        self._depths[get_ident()] = depth

    def add(self, row: dict, start: float, end: float) -> None:
        """Append the row of something that ran in this thread, and note its span.

        start, end: in ns; rounded in the span, so that no fraction of one makes two cross.
        """
        self.append(row)
        self._timed.append((get_ident(), row, (round(start), round(end))))

    def by_thread(self) -> list[tuple[list[dict], list[tuple[int, int]]]]:
        """Return the rows of each thread and their spans, (start, end) in whole ns."""
        threads: dict[int, tuple[list[dict], list[tuple[int, int]]]] = {}
        for thread, row, span in self._timed:
            rows, spans = threads.setdefault(thread, ([], []))
            rows.append(row)
            spans.append(span)
        return list(threads.values())


class Recorder:
    """`with` it, `watch(call)` runs every op, and each region that ends calls `end_region`.

    Both are a subclass's, and add to `rows`; so is `finish`, which is called at the end. Entered
    again, it begins anew. What is inside may raise: what was recorded until then is there.
    """

    active: ClassVar[list[Recorder]] = []  # those that are recording now

    def __init__(self) -> None:
        self.rows = Rows()

    def __enter__(self) -> Any:
        self.rows = Rows()
        self._hook = dispatch.hook(self.watch)
        self._hook.__enter__()
        Recorder.active.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        Recorder.active.remove(self)
        self._hook.__exit__(None, None, None)
        self.finish()

    def watch(self, call: dispatch.Call) -> Any:
        """Run one op, as a hook of dispatch: a subclass's must return call()."""
        return call()

    def end_region(self, first: int, start: int, end: int, facts: dict) -> None:
        """Handle the end of a region that began at row `first`; times are in ns."""

    def finish(self) -> None:
        """Handle the end of the recording, also where what was inside has raised."""


@contextmanager
def region(name: str) -> Iterator[None]:
    """Add a row of op "region", `with region("data loading"):`, to every recording around it.

    Its module is the name; it is there also when what is inside raises. Outside it does nothing.
    """
    begun = [(recorder, len(recorder.rows)) for recorder in Recorder.active]
    for recorder, _ in begun:
        recorder.rows.depth += 1
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        end = time.perf_counter_ns()
        for recorder, first in begun:
            recorder.rows.depth -= 1
            recorder.end_region(first, start, end, _REGION | {"module": name})


def column(rows: Iterable[dict], key: str) -> list:
    """Return what each of the rows has for a key."""
    return [row[key] for row in rows]


def columns(rows: Iterable[dict], *keys: str) -> list[list]:
    """Return what each of the rows has for these keys: a list for each row."""
    return [[row[key] for key in keys] for row in rows]


def row_name(row: dict) -> str:
    """Return what a row is called: its op, or the name that a region or module has."""
    return row["module"] if row["op"] in ("region", "module") else row["op"]


def work_and_traffic(rows: Sequence[dict]) -> tuple[int, int]:
    """Return these rows' FLOPs, of products and elementwise, and bytes, read and written."""
    flops = sum(row["matmul_flops"] + row["elementwise_flops"] for row in rows)
    return flops, sum(row["bytes_read"] + row["bytes_written"] for row in rows)


class Still(nn.Module):
    """A bare Tensor as a model: it gives itself back, whatever comes in."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def forward(self, x: Any) -> Tensor:
        """Return the tensor; x is left alone."""
        return self.tensor


def as_model(model: Any) -> Any:
    """Return the model, or Still(model) where it is a bare Tensor."""
    return Still(model) if isinstance(model, Tensor) else model
