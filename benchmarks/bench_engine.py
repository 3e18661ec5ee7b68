"""The engine beside torch: both in this process, with as many threads, taking turns.

    python benchmarks/bench_engine.py            # what torch is needed for is skipped without it
    python benchmarks/bench_engine.py gpt2 count # only the parts whose names contain one of these

Each figure is the median of several rounds, in each of which both run once, so that a disturbance
meets both. Times are CPU seconds of this process, of all its threads: what others do beside it
counts less. The last column is what the course promises; where two kinds of processor were measured
and differ, it names them.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
THREADS = int(os.environ.get("OMP_NUM_THREADS", CORES))
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, str(THREADS))
# It would choose the kernels of numpy's products of matrices, not of torch's: half the speed.
os.environ.pop("OPENBLAS_CORETYPE", None)

import numpy as np  # noqa: E402
from record import recording  # noqa: E402

import proflab  # noqa: E402
from proflab import Tensor, models  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
else:
    torch.set_num_threads(THREADS)
    sys.path.insert(0, os.path.dirname(__file__))
    import torch_models


def seconds(run: Callable) -> float:
    """Return the CPU seconds of all threads."""
    start = time.process_time()
    run()
    return time.process_time() - start


def side_by_side(ours: Callable, theirs: Callable, rounds: int) -> tuple[float, float]:
    """Return the median seconds of each, after one discarded round."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds + 1)][1:]
    a, b = zip(*pairs, strict=True)
    return median(a), median(b)


def row(what: str, ours: float, theirs: float, unit: str, promise: str) -> None:
    scale = {"ms": 1e3, "µs": 1e6}[unit]
    print(
        f"{what:<38}{ours * scale:>10.2f}{theirs * scale:>10.2f} {unit}"
        f"{ours / theirs:>8.2f}×   {promise}",
        flush=True,
    )


def pair_of_models(name: str):
    """Make the same model in both libraries, with the same weights."""
    mine = {"gpt2": models.gpt2, "resnet18": models.resnet18}[name]()
    theirs = getattr(torch_models, name)()
    with torch.no_grad():
        for p, q in zip(mine.parameters(), theirs.parameters(), strict=True):
            assert p.shape == tuple(q.shape), (p.shape, q.shape)
            q.copy_(torch.from_numpy(p.array))
    return mine, theirs


def bench_model(name: str, shape: tuple, forward: str, training: str, rounds: int) -> None:
    mine, theirs = pair_of_models(name)
    x = proflab.example_input(mine, shape)
    y = torch.from_numpy(x.numpy())
    mine.eval(), theirs.eval()
    with proflab.no_grad(), torch.no_grad():
        a, b = mine(x).numpy(), theirs(y).numpy()
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)
        times = side_by_side(lambda: mine(x), lambda: theirs(y), rounds)
    row(f"{name} {shape} forward", *times, "ms", forward)
    mine.train(), theirs.train()

    def step(model, x):
        for p in model.parameters():
            p.grad = None
        model(x).sum().backward()

    times = side_by_side(lambda: step(mine, x), lambda: step(theirs, y), max(3, rounds // 2))
    row(f"{name} {shape} forward+backward", *times, "ms", training)


def bench_small_ops() -> None:
    """Time one op on 16 elements, less numpy's own call; 2,000 calls a sample."""
    calls = 2000
    a, b = np.ones(16, np.float32), np.ones(16, np.float32)

    def many(run):
        def loop():
            for _ in range(calls):
                run()

        return loop

    for what, grad in (("", False), (" with gradient", True)):
        x, y = Tensor(a, requires_grad=grad), Tensor(b, requires_grad=grad)
        for name, ours, theirs in (
            ("x + y", lambda x=x, y=y: x + y, lambda: a + b),
            ("x * y", lambda x=x, y=y: x * y, lambda: a * b),
            ("x.exp()", lambda x=x: x.exp(), lambda: np.exp(a)),
            ("x.reshape(4, 4)", lambda x=x: x.reshape(4, 4), lambda: a.reshape(4, 4)),
        ):
            mine, numpys = side_by_side(many(ours), many(theirs), 15)
            over = (mine - numpys) / calls
            print(
                f"{name + what:<38}{mine / calls * 1e6:>10.2f}{numpys / calls * 1e6:>10.2f} µs"
                f"{over * 1e6:>7.2f} µs over  < 5 µs over",
                flush=True,
            )


def events(model, shape: tuple) -> int:
    """Count the ops of a pass on meta tensors, through a hook that reads every shape."""
    count = 0

    def h(call):
        nonlocal count
        count += len([t.shape for t in call.inputs]) > 0
        return call()

    with proflab.dispatch.hook(h):
        model(proflab.example_input(model, shape, meta=True))
    return count


def bench_counting() -> None:
    """Time watching a pass on meta tensors, beside torch's own counter on its meta tensors.

    (What is counted stands in lesson 02; its rules cost about a microsecond an op more.)
    """
    cases = (("resnet18", (1, 3, 224, 224), "< 5 ms"), ("gpt2", (1, 128), "< 15 ms"))
    for name, shape, promise in cases:
        with proflab.meta():
            mine = {"gpt2": models.gpt2, "resnet18": models.resnet18}[name]()
        if torch is None:
            time_ours = median(seconds(lambda m=mine, s=shape: events(m, s)) for _ in range(15))
            print(f"{'watch ' + name:<38}{time_ours * 1e3:>10.2f} ms   {promise}")
            continue
        from torch.utils.flop_counter import FlopCounterMode

        with torch.device("meta"):
            theirs = getattr(torch_models, name)()
            kind = torch.long if name == "gpt2" else torch.float32
            y = torch.empty(shape, dtype=kind)

        def count_theirs(theirs=theirs, y=y):
            with FlopCounterMode(display=False):
                theirs(y)

        times = side_by_side(lambda m=mine, s=shape: events(m, s), count_theirs, 15)
        row(f"watch {name} {shape} on meta", *times, "ms", f"{promise}, < 0.20×")

    def gpt3():
        with proflab.meta():
            model = models.GPT2(50257, 2048, 12288, 96, 96)
        events(model, (1, 2048))

    times = [seconds(gpt3) for _ in range(8)][1:]
    print(f"{'build and watch GPT-3 on meta':<38}{median(times) * 1e3:>10.2f} ms   < 100 ms")
    if not os.path.exists("/proc/self/status"):
        print("resident memory: skipped, there is no /proc here")
        return
    code = (
        "import proflab\n"
        "with proflab.meta(): m = proflab.models.{}\n"
        "m(proflab.example_input(m, (1, 1024), meta=True))\n"
        "print(next(s for s in open('/proc/self/status') if s.startswith('VmHWM')).split()[1])"
    )
    for name, make, promise in (
        ("GPT-3", "GPT2(50257, 2048, 12288, 96, 96)", "< 100 MB"),
        ("GPT-2 XL", "gpt2('xl')", "< 200 MB"),
    ):
        out = subprocess.run(
            [sys.executable, "-c", code.format(make)], capture_output=True, text=True, check=True
        )
        print(
            f"{name + ' on meta, resident at most':<38}{int(out.stdout) / 1024:>10.1f} MB   "
            f"{promise}"
        )


PARTS = {
    "small ops": bench_small_ops,
    "count": bench_counting,
    "gpt2": lambda: bench_model("gpt2", (1, 128), "≤ 1.1×", "≤ 3× (aim 2×)", 9),
    "resnet18 batch 1": lambda: bench_model(
        "resnet18", (1, 3, 224, 224), "≤ 1.2× (aim 1×)", "≤ 2× (aim 1.2×)", 15
    ),
    "resnet18 batch 8": lambda: bench_model(
        "resnet18",
        (8, 3, 224, 224),
        "one thread: ≤ 1× (EPYC), ≤ 1.4× (Xeon)",
        "one thread: ≤ 1.2× (EPYC), ≤ 1.4× (Xeon)",
        21,
    ),
}


def main(wanted: list[str]) -> None:
    beside = "numpy only" if torch is None else f"torch {torch.__version__}"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{THREADS} threads, numpy {np.__version__}, {beside}{load}")
    print(f"{'':<38}{'proflab':>10}{'torch':>10}")
    for name, part in PARTS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        if torch is None and name not in ("small ops", "count"):
            print(f"{name:<38}skipped: torch is not installed")
            continue
        gc.collect()
        part()


if __name__ == "__main__":
    with recording(__file__, "Engine: beside torch"):
        main(sys.argv[1:])
