"""Loops measured with torch and with empty kernels: products, workloads, copies, launches.

Each function takes a `Gpu` and yields the rows of one kind of the document. The kernels that
measure roofs stand in the lesson, where they are read. Sizes shrink with PROFLAB_DEMO=small. What
may not enter: a count of FLOPs or bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from proflab.lesson.cuda.device import Gpu
from proflab.lesson.demo import demo_size

NOTHING = 'extern "C" __global__ void nothing() {}'


def gemm(gpu: Gpu) -> Iterator[dict]:
    """Measure rows of kind gemm: square products of growing size, in each of the card's dtypes."""
    torch = gpu.torch
    for dtype in gpu.dtypes():
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"  # float32 means float32
        kind = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
        for n in demo_size(full=[128, 256, 512, 1024, 2048, 4096, 8192], small=[64, 128]):
            inputs = [torch.randn(2, n, n, device=gpu.device).to(kind) for _ in range(3)]

            def launch(number: int, inputs=inputs) -> Any:
                left, right = inputs[number % 3]
                return left @ right

            yield gpu.row({"m": n, "k": n, "n": n, "dtype": dtype}, launch)
    torch.backends.cuda.matmul.allow_tf32 = False


def workloads(gpu: Gpu, table: dict, fused_chain: str) -> Iterator[dict]:
    """Measure rows of kind workload, by torch; the one named "chain, fused" by its kernel.

    table: name → (function of torch.nn.functional and tensors, their shapes, their dtype).
    """
    for name, (function, shapes, dtype) in table.items():
        if name == "chain, fused":
            launch = _chain_launch(gpu, fused_chain, shapes[0][0])
        else:
            launch = _torch_launch(gpu, function, shapes, dtype)
        yield gpu.row({"name": name, "dtype": dtype}, launch)


def _chain_launch(gpu: Gpu, source: str, elements: int) -> Any:
    kernel = gpu.cupy.RawKernel(source, "chain")
    inputs = [gpu.cupy.full(elements, value, dtype="float32") for value in (0.25, 0.75)]
    out = gpu.cupy.empty(elements, dtype="float32")
    return lambda number: kernel((elements // 256,), (256,), (out, inputs[number % 2]))


def _torch_launch(gpu: Gpu, function: Any, shapes: list, dtype: str) -> Any:
    torch = gpu.torch
    kind = getattr(torch, dtype)
    sets = [[torch.randn(s, device=gpu.device) * 0.05 for s in shapes] for _ in range(2)]
    sets = [[x.to(kind) for x in inputs] for inputs in sets]  # small: float16 ends at 65,504
    return lambda number: function(torch.nn.functional, *sets[number % 2])


def copies(gpu: Gpu) -> Iterator[dict]:
    """Measure rows of kind copy: to the card and back, from pinned and from pageable memory."""
    torch = gpu.torch
    for size in [2**power for power in demo_size(full=(12, 16, 20, 24, 28), small=(12, 16))]:
        there = torch.zeros(size, dtype=torch.uint8, device=gpu.device)
        for pinned in (False, True):
            here = torch.zeros(size, dtype=torch.uint8)
            here = here.pin_memory() if pinned else here
            for direction, ends in {"to": (there, here), "from": (here, there)}.items():

                def launch(number: int, ends=ends) -> None:
                    ends[0].copy_(ends[1], non_blocking=True)

                what = {"bytes": size, "direction": direction, "pinned": pinned}
                yield gpu.row(what, launch, flush=False)


def crossover(gpu: Gpu) -> Iterator[dict]:
    """Measure rows of kind crossover: a product on CPU, on GPU, and with the copies too."""
    torch = gpu.torch
    for n in demo_size(full=[16, 32, 64, 128, 256, 512, 1024, 2048, 4096], small=[16, 64]):
        here = np.ones((2, n, n), dtype="float32")
        host, there = torch.from_numpy(here), torch.ones(2, n, n, device=gpu.device)

        def cpu(number: int, ab=here) -> Any:
            return ab[0] @ ab[1]

        def alone(number: int, ab=there) -> Any:
            return ab[0] @ ab[1]

        def whole(number: int, ab=host) -> Any:
            left, right = ab.to(gpu.device)
            return (left @ right).cpu()

        yield gpu.host_row({"n": n, "where": "cpu"}, cpu, repeats=10)
        yield gpu.row({"n": n, "where": "gpu"}, alone)
        yield gpu.row({"n": n, "where": "gpu and copies"}, whole)


def launches(gpu: Gpu) -> Iterator[dict]:
    """Measure rows of kind launch: an empty kernel, one by one and recorded as a graph."""
    nothing = gpu.cupy.RawKernel(NOTHING, "nothing")
    nothing((1,), (32,), ())  # compiled before it is recorded
    for count in (1, 10, 100, 1000):

        def one_by_one(number: int, count=count) -> None:
            for _ in range(count):
                nothing((1,), (32,), ())
            gpu.wait()

        yield gpu.host_row({"launches": count, "graph": False}, one_by_one)
        stream = gpu.cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for _ in range(count):
                nothing((1,), (32,), ())
            graph = stream.end_capture()

        def at_once(number: int, graph=graph, stream=stream) -> None:
            graph.launch(stream=stream)
            gpu.wait()

        yield gpu.host_row({"launches": count, "graph": True}, at_once)
