"""Four models of torch under the `table` of an assembled profiler, and under three other tools.

    python benchmarks/bench_torch_table.py

Each is a training step on a processor, on one thread. FLOPs are those of the step's products: as
the lessons' functions count them, as FlopCounterMode does, and as torch.profiler(with_flops=True)
does. A bare step's CPU time is the median of several rounds; in each round the same steps run bare
and under each tool, in turns, and a tool's factor is the median of its rounds' CPU times over the
bare ones, without what the tool does before and after the steps. What takes most time is an op with
its shapes and its line, an op, and a function of Python, in the round of least time, for other work
only ever adds. Without torch and pyinstrument it says so and measures nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from record import recording
from solutions import assembled

try:
    import torch
    from pyinstrument import Profiler
    from torch import nn
    from torch.profiler import ProfilerActivity, profile
except ImportError:
    raise SystemExit(print("torch or pyinstrument is not here: nothing is measured")) from None

from proflab.standalone.torch_ops import counted_by_torch, record_torch, time_torch

STEPS, ROUNDS = 5, 9


class Transformer(nn.Module):
    """Two encoder layers, and an output that shares the weight of the embedding."""

    def __init__(self, words: int = 2000, width: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 512, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(width, words, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, x):
        return self.output(self.layers(self.embedding(x)))


class Product(torch.autograd.Function):
    """x @ w.T with a backward pass of its own."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.T

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w, grad.T @ x


class OwnProduct(nn.Module):
    """Three of these products, with ReLUs between."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(width, width) / width**0.5 for _ in range(3)])

    def forward(self, x):
        for weight in self.weights:
            x = Product.apply(x, weight).relu()
        return x


def gru():
    """Return two layers over 32 steps of a batch of 16."""
    return nn.GRU(64, 128, num_layers=2), torch.randn(32, 16, 64)


def tied():
    """Return a transformer with one weight for embedding and output, and 8 texts of 64 tokens."""
    return Transformer(), torch.randint(0, 2000, (8, 64))


def grouped():
    """Return convolutions in 8 groups with products of 1 × 1 between, and 8 images."""
    layers = [nn.Conv2d(3, 64, 3, padding=1), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Conv2d(64, 64, 3, padding=1, groups=8), nn.ReLU(), nn.Conv2d(64, 64, 1)]
    return nn.Sequential(*layers), torch.randn(8, 3, 32, 32)


def own_function():
    """Return three products by a custom autograd function, and 256 rows."""
    return OwnProduct(), torch.randn(256, 512)


MODELS = {
    "GRU, two layers": gru,
    "transformer, tied weights": tied,
    "grouped convolutions": grouped,
    "custom autograd function": own_function,
}


def training_step(model: nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Return a function that runs forward and backward."""
    model.train()

    def step() -> None:
        result = model(x)
        (result[0] if isinstance(result, tuple) else result).sum().backward()
        model.zero_grad()

    return step


def by_table(names: dict, step: Callable[[], None]) -> tuple[int, str]:
    """Return FLOPs and the op of most time as `table` has them."""
    folder = str(Path(torch.__file__).parent)
    rows = record_torch(names, step, lambda file: file.startswith(folder))
    passes = ([took["cpu_ms"] for took in time_torch(step)] for _ in range(STEPS * ROUNDS))
    times = min(passes, key=sum)
    sums: dict[tuple, float] = {}
    for row, ms in zip(rows, times, strict=True):
        shapes = ", ".join("×".join(map(str, shape)) for shape in row["input_shapes"][:2])
        key = row["op"], shapes, row["line"] or "a line of torch's"
        sums[key] = sums.get(key, 0.0) + ms
    op, shapes, line = max(sums, key=sums.__getitem__)
    share = sums[op, shapes, line] / sum(times)
    flops = sum(row["matmul_flops"] for row in rows)
    return flops, f"{op} of {shapes}, {line}: {share:.0%}"


def by_torch(step: Callable[[], None]) -> tuple[int, str]:
    """Return FLOPs and the op of most time as torch.profiler has them."""

    def profiled() -> list:
        with profile(activities=[ProfilerActivity.CPU], with_flops=True) as run:
            repeat(step)
        return run.key_averages()

    def total(rows: list) -> float:
        return sum(row.self_cpu_time_total for row in rows)

    rows = min((profiled() for _ in range(ROUNDS)), key=total)
    top = max(rows, key=lambda row: row.self_cpu_time_total)
    said = f"{top.key}: {top.self_cpu_time_total / total(rows):.0%}"
    return sum(row.flops for row in rows) // STEPS, said


def by_pyinstrument(step: Callable[[], None]) -> str:
    """Return the function of most time as pyinstrument has it."""
    roots = []
    for _ in range(ROUNDS):
        with Profiler(interval=0.0005) as run:
            repeat(step)
        roots.append(run.last_session.root_frame())
    root = min(roots, key=lambda frame: frame.time)
    sums: dict[str, float] = {}
    for frame in every(root):
        if not frame.children:  # what a function does itself is such a frame below it
            function = frame.parent.function if frame.is_synthetic else frame.function
            sums[function] = sums.get(function, 0.0) + frame.time
    top = max(sums, key=sums.__getitem__)
    return f"{top}: {sums[top] / root.time:.0%}"


def repeat(step: Callable[[], None]) -> float:
    """Run a few steps; return the CPU ms of one."""
    start = time.process_time()
    for _ in range(STEPS):
        step()
    return (time.process_time() - start) / STEPS * 1000


def under_table(step: Callable[[], None]) -> float:
    """Return the CPU ms of a step while `table` times it."""
    return repeat(lambda: time_torch(step))


def under_torch(step: Callable[[], None]) -> float:
    """Return the CPU ms of a step while torch.profiler records it."""
    with profile(activities=[ProfilerActivity.CPU], with_flops=True):
        return repeat(step)


def under_pyinstrument(step: Callable[[], None]) -> float:
    """Return the CPU ms of a step while pyinstrument samples it."""
    with Profiler(interval=0.0005):
        return repeat(step)


def costs(step: Callable[[], None]) -> tuple[float, list[float]]:
    """Return the CPU ms of a bare step, and by how much each tool makes it longer, as a factor."""
    ways = (repeat, under_table, under_torch, under_pyinstrument)
    rounds = []
    for number in range(ROUNDS):
        order = ways if number % 2 else ways[::-1]
        took = {way: way(step) for way in order}
        rounds.append([took[way] for way in ways])
    factors = [median(row[i] / row[0] for row in rounds) for i in range(1, len(ways))]
    return median(row[0] for row in rounds), factors


def every(frame) -> Iterator:
    """Yield a frame of pyinstrument's and all below it."""
    yield frame
    for child in frame.children:
        yield from every(child)


def main(names: dict) -> None:
    """Print a row of numbers for each model, and below them what takes most time."""
    torch.set_num_threads(1)
    print(f"{'':<28}{'million FLOPs of its products':^42}{'CPU time of a step':^50}")
    print(f"{'':<70}{'bare, ms':>10}{'times under':>14}")
    heads = (
        "table",
        "FlopCounterMode",
        "torch.profiler",
        "",
        "table",
        "torch.profiler",
        "pyinstrument",
    )
    widths = (10, 17, 16, 9, 9, 16, 14)
    line = "".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True))
    print(f"{'a training step':<28}{line}")
    most = []
    for title, make in MODELS.items():
        torch.manual_seed(0)
        step = training_step(*make())
        step()
        flops, said = by_table(names, step)
        counted = sum(counted_by_torch(step).values())
        theirs, their_said = by_torch(step)
        bare, factors = costs(step)
        counts = (f"{number / 1e6:,.1f}" for number in (flops, counted, theirs))
        times = (f"{bare:,.1f}", *(f"{factor:.2f}×" for factor in factors))
        cells = zip((*counts, *times), widths, strict=True)
        print(f"{title:<28}" + "".join(f"{cell:>{width}}" for cell, width in cells))
        tools = ("table", said), ("torch.profiler", their_said)
        tools += (("pyinstrument", by_pyinstrument(step)),)
        most += [f"\n{title}: most time in", *(f"  {tool:<16}{what}" for tool, what in tools)]
    print("\n".join(most))


if __name__ == "__main__":
    with recording(__file__, "Four models of torch under four tools"):
        print(f"torch {torch.__version__}, one thread\n")
        main(assembled(7))
