"""Print the table of a model of torch, with or without data: `my_profiler.py table FILE:FUNCTION`.

The student's functions count each op, say how long a declared machine needs at least, and which
wall an op is at. torch is imported when it is asked for. What may not enter: a formula.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from proflab.lesson.blas import threads_in_words
from proflab.lesson.hardware import Hardware
from proflab.lesson.words import many, shortened
from proflab.standalone.arguments import above_zero, positive
from proflab.standalone.tables import add_up, print_table
from proflab.standalone.torch_ops import counted_by_torch, record_torch, tensors_in, time_torch
from proflab.standalone.zoo import OWN, made_by

# What is called here, and the lesson in which it is written.
NEEDED_FOR_TORCH = {
    "op_flops": "02_flops",
    "op_bytes": "05_profiler",
    "op_elementwise": "05_profiler",
    "classify": "06_roofline",
    "predict_ms": "07_scaling",
}
_WIDE = 36  # characters of shapes in a table
_TIMES = ("ms", "cpu_ms")
_COUNTS = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written", *_TIMES, "least_ms")
# Why FlopCounterMode (torch 2.13) has another number for an op.
_WHY = {
    "convolution_backward": "it leaves out that channels are in groups",
    "_scaled_dot_product_flash_attention_for_cpu": "it has no rule for attention on a processor",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "the same of its gradient",
    "mkldnn_rnn_layer": "it has no rule for a fused layer of an LSTM",
    "mkldnn_rnn_layer_backward": "the same of its gradient",
    "mv": "it has no rule for a matrix times a vector",
    "dot": "it has no rule for a product of two vectors",
}


def torch_table(names: dict[str, Any], file: str, arguments: Sequence[str]) -> int:
    """Print the table that the arguments ask for; return 0.

    Raises ValueError, with a sentence, for what is no model of torch or where torch is not there.
    """
    given = _parser(file).parse_args(arguments[1:])
    if (given.peak is None) != (given.bandwidth is None):
        raise ValueError("a declared machine has both: give --peak and --bandwidth")
    torch = _torch(given.threads)
    path, _, function = given.model.rpartition(":")
    with torch.device("meta") if given.meta else nullcontext():
        model, inputs = _made(torch, Path(path), function)
    work = _pass(torch, model, inputs, given.train)
    timed = {t.device.type for t in [*model.parameters(), *inputs]} == {"cpu"}
    others: set[int] = set()

    def note(*event: Any) -> None:
        others.add(threading.get_ident())
        sys.setprofile(None)  # one call of a thread says that there is one

    threading.setprofile(note)  # called by each thread that the model starts
    try:
        has_gradient = work()  # what happens only once, happens here
    except Exception as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{given.model} raises {type(error).__name__}: {said}") from None
    finally:
        threading.setprofile(None)
    if given.train and not has_gradient:
        raise ValueError("nothing that it returns has a gradient: leave out --train")
    folder = str(Path(torch.__file__).parent)
    rows = record_torch(names, work, lambda file: file.startswith(folder))
    none = dict.fromkeys(_TIMES, 0.0)
    times = _middle(rows, work, given.passes - 1) if timed else [none] * len(rows)
    rows = [row | took for row, took in zip(rows, times, strict=True)]
    machine = Hardware(given.peak, given.bandwidth, "declared") if given.peak else None
    for row in rows:
        row["least_ms"] = names["predict_ms"]([row], machine, 0) if machine else 0.0
    _print_head(given, model, rows, timed)
    _print_rows(names, rows, given.top, machine, timed)
    if others:
        print("\nit starts threads: what torch does there stands in no row, nor in FlopCounterMode")
    _print_checked(rows, work)
    return 0


def _parser(file: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{file} table",
        description="Print the ops of any model of torch: calls, shapes, FLOPs, bytes, line, share "
        "of the time and, on a machine that you declare, the wall. It needs no card, and on meta "
        "no memory either. The function takes nothing and returns the model and its input, or a "
        "tuple of inputs.",
    )
    add = parser.add_argument
    add("model", metavar=OWN, help="where the model is made")
    add("--train", action="store_true", help="forward and backward pass")
    add("--meta", action="store_true", help="make it without data: shapes, no times")
    add("--peak", type=above_zero, metavar="FLOP/s", help="of the declared machine, as 19.5e12")
    add("--bandwidth", type=above_zero, metavar="B/s", help="of the declared machine")
    add("--passes", type=positive, default=5, metavar="N", help="how often (5)")
    add("--threads", type=positive, default=1, metavar="N", help="of torch (1)")
    add("--top", type=positive, default=15, metavar="N", help="rows to print (15)")
    return parser


def _torch(threads: int) -> Any:
    try:
        import torch
    except ImportError:
        raise ValueError(
            "table needs torch: run it in the environment of your model (it needs numpy, too)"
        ) from None
    torch.set_num_threads(threads)
    return torch


def _made(torch: Any, path: Path, function: str) -> tuple[Any, tuple]:
    made, _ = made_by(path, function)
    model, inputs = made if isinstance(made, tuple) and len(made) == 2 else (None, ())
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    if not isinstance(model, torch.nn.Module) or not any(map(torch.is_tensor, inputs)):
        must = "must return a model of torch and its input, a tensor or a tuple with one"
        raise ValueError(f"{path}:{function} {must}")
    return model, tuple(value for value in inputs if torch.is_tensor(value))


def _pass(torch: Any, model: Any, inputs: tuple, train: bool) -> Callable[[], bool]:
    """Return a function that runs a forward pass, or that and the backward pass, if there is one.

    It returns whether a result has a gradient.
    """
    model.train(train)

    def run() -> bool:
        torch.manual_seed(0)  # what throws dice takes the same way in each pass
        with torch.set_grad_enabled(train):
            results = [t for t in tensors_in(model(*inputs)) if t.requires_grad]
        if train and results:
            torch.autograd.backward([t.sum() for t in results])
            model.zero_grad()
        return bool(results)

    return run


def _middle(rows: list[dict], work: Callable[[], Any], more: int) -> list[dict[str, float]]:
    """Return each op's median times in this pass and so many more; this one's if they differ."""
    passes = [rows, *(time_torch(work) for _ in range(more))]
    if any(len(times) != len(rows) for times in passes):
        passes = [rows]
    return [
        {key: median(took[key] for took in times) for key in _TIMES}
        for times in zip(*passes, strict=True)
    ]


def _print_head(given: argparse.Namespace, model: Any, rows: list[dict], timed: bool) -> None:
    what = "a training step" if given.train else "a forward pass"
    sizes = {p.untyped_storage()._cdata: p.untyped_storage().nbytes() for p in model.parameters()}
    held = sum(sizes.values()) / 2**20
    flops = sum(row["matmul_flops"] for row in rows)
    print(f"{given.model}: {what}, {many(len(rows), 'op')}, {flops:,} FLOPs of its products")
    print(f"parameters: {held:,.2f} MB held, shared ones once")
    if timed:
        total, cpu = (sum(row[key] for row in rows) for key in _TIMES)
        passes = "1 pass" if given.passes == 1 else f"{given.passes} passes"
        on = f"torch on {threads_in_words(given.threads)}, {passes}"
        print(f"{total:,.3f} ms in ops, CPU time {cpu:,.3f} ms; {on}")
    else:
        print("nothing is timed: it has no data, or it runs on a card (then read a trace of it)")


def _print_rows(
    names: dict[str, Any], rows: list[dict], most: int, machine: Hardware | None, timed: bool
) -> None:
    """Print alike ops in one row, those of most time (or least time, or FLOPs) first."""
    key = "ms" if timed else "least_ms" if machine else "matmul_flops"
    each = (row | {"calls": 1} for row in rows)
    groups = add_up(each, ("op", "phase", "input_shapes", "line"), (*_COUNTS, "calls"))
    groups.sort(key=lambda row: -row[key])
    total = sum(row[key] for row in groups) or 1
    head = ("op", "calls", "shapes", "FLOPs", "bytes", *(["ms", "CPU, ms"] if timed else []))
    head += ("at least, ms", "wall") if machine else ()
    cells = []
    for row in groups[:most]:
        flops = row["matmul_flops"] + row["elementwise_flops"]
        moved = row["bytes_read"] + row["bytes_written"]
        shapes = ", ".join("×".join(map(str, shape)) for shape in row["input_shapes"] if shape)
        more = [f"{row[kind]:,.3f}" for kind in _TIMES] if timed else []
        if machine:
            seconds = row["ms" if timed else "least_ms"] / 1000
            wall = "–"
            if seconds > 0 and (flops or moved):
                roofs = (machine.peak_flops, machine.bandwidth)
                wall = names["classify"](flops, moved, seconds, *roofs)
            more += [f"{row['least_ms']:,.4f}", wall]
        share = f"{row[key] / total:.1%}"
        name = row["op"] + (" ←" if row["phase"] == "backward" else "")
        counts = (f"{row['calls']:,}", shortened(shapes, _WIDE), f"{flops:,}", f"{moved:,}")
        cells.append((name, *counts, *more, share, row["line"] or "–"))
    shared = "FLOPs" if key == "matmul_flops" else "time"
    print_table([(*head, f"share of {shared}", "line"), *cells])
    if len(groups) > most:
        print(f"{many(len(groups) - most, 'row')} more: --top {len(groups)}")


def _print_checked(rows: list[dict], work: Callable[[], Any]) -> None:
    """Say whether torch's own counter agrees, and of which ops it does not."""
    try:
        theirs = counted_by_torch(work)
    except Exception as error:  # it watches modules, too, and not those inside torch.func
        print(f"\ntorch's FlopCounterMode fails here: {' '.join(str(error).split())}")
        return
    ours: Counter = Counter()
    for row in rows:
        ours[row["op"]] += row["matmul_flops"]
    other = [op for op in sorted({*ours, *theirs}) if ours[op] != theirs[op]]
    if not other:
        print(f"\ntorch's FlopCounterMode agrees: {sum(theirs.values()):,}")
        return
    print(f"\ntorch's FlopCounterMode has {sum(theirs.values()):,}, for it differs in")
    for op in other:
        why = f": {_WHY[op]}" if op in _WHY else ""
        print(f"  {op}, {theirs[op]:,} where here are {ours[op]:,}{why}")
