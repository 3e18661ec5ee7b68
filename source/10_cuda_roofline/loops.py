"""Measure what a lesson launches: FMAs, streams, products, workloads, copies, launches, trials.

Each function takes a `Gpu` and yields the rows of one kind of the document. The kernels that
measure roofs stand in the lesson, where they are read; a loop is given their source. Sizes shrink
with PROFLAB_DEMO=small. What may not enter: a count of FLOPs; a trial alone says what it claims.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from string import Template
from typing import Any

import numpy as np
from workloads import FUSED_CHAIN, TABLE

from proflab.lesson.cuda.device import Gpu
from proflab.lesson.cuda.sheets import multiprocessor
from proflab.lesson.demo import demo_size

SWEEP = Template("""
extern "C" __global__ void fmas_each(float4 *out, const float4 *in, float x, float y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = __ldcg(in + i);
    #pragma unroll 16
    for (int k = 0; k < $fmas; k++) {
        v.x = fmaf(v.x, x, y); v.y = fmaf(v.y, x, y); v.z = fmaf(v.z, x, y); v.w = fmaf(v.w, x, y);
    }
    __stcg(out + i, v);
}
""")
NOTHING = 'extern "C" __global__ void nothing() {}'


def fma(gpu: Gpu, source: Callable[[int], str]) -> Iterator[dict]:
    """Measure rows of kind fma: few and many threads a multiprocessor, 1 to 8 accumulators.

    source: from the number of accumulators to CUDA C with an entry `fma_chains`.
    """
    x, y = np.float32(0.999), np.float32(0.001)
    for per_multiprocessor in (128, 1024):
        threads = gpu.card["multiprocessors"] * per_multiprocessor
        out = gpu.cupy.empty(threads, dtype="float32")
        for accumulators in (1, 2, 4, 8):
            kernel = gpu.cupy.RawKernel(source(accumulators), "fma_chains")
            turns = 2**18 // accumulators
            what = {"threads": threads, "fmas": turns, "accumulators": accumulators}

            def launch(i: int, kernel=kernel, out=out, turns=turns) -> None:
                kernel((out.size // 128,), (128,), (out, x, y, np.int32(turns)))

            yield gpu.row({**what, "dtype": "float32"}, launch, flush=False)


def stream(gpu: Gpu, source: Callable[[str], str]) -> Iterator[dict]:
    """Measure rows of kind stream: a copy of every size, scale and triad at the largest.

    source: from a kernel's name to CUDA C with an entry `stream`. The three largest rows move the
    same number of bytes, at least 48 times the L2 cache, so that hardly any of them is still there.
    """
    l2 = gpu.card["l2_bytes"]
    top = 3 * 2 ** demo_size(full=max(28, (16 * l2).bit_length()), small=23)
    plan = [("copy", 2**power) for power in range(18, top.bit_length())]
    for name, size in [*plan, ("copy", top), ("scale", top), ("triad", top)]:
        reads = 2 if name == "triad" else 1
        elements = size // (4 * (reads + 1))
        buffers = [gpu.cupy.ones(elements, dtype="float32") for _ in range(3)]
        kernel = gpu.cupy.RawKernel(source(name), "stream")
        blocks, passes = 8 * gpu.card["multiprocessors"], max(1, top // size)
        numbers = np.float32(0.5), np.int32(elements // 4), np.int32(passes)

        def launch(i: int, kernel=kernel, blocks=blocks, arguments=(*buffers, *numbers)) -> None:
            kernel((blocks,), (256,), arguments)

        what = {"kernel": name, "elements": elements, "reads": reads, "writes": 1}
        yield gpu.row({**what, "itemsize": 4, "passes": passes}, launch, flush=False)


def in_flight(gpu: Gpu, source: Callable[[str], str]) -> Iterator[dict]:
    """Measure rows of kind in_flight: a triad by few and many threads on each multiprocessor.

    source: from a kernel's name to CUDA C with an entry `stream`.
    """
    elements = 2 ** demo_size(full=26, small=12)
    buffers = [gpu.cupy.ones(elements, dtype="float32") for _ in range(3)]
    kernel = gpu.cupy.RawKernel(source("triad"), "stream")
    numbers = np.float32(0.5), np.int32(elements // 4), np.int32(1)
    room = multiprocessor(gpu.card)["threads"]
    plan = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
    for threads in [threads for threads in plan if threads <= room]:
        each = 1 + (threads > 1024)  # blocks, none of which has more than 1,024 threads
        blocks, size = gpu.card["multiprocessors"] * each, threads // each

        def launch(i: int, blocks=blocks, size=size) -> None:
            kernel((blocks,), (size,), (*buffers, *numbers))

        what = {"kernel": "triad", "elements": elements, "reads": 2, "writes": 1, "itemsize": 4}
        yield gpu.row({**what, "passes": 1, "threads": threads}, launch, flush=False)


def sweep(gpu: Gpu) -> Iterator[dict]:
    """Measure rows of kind sweep: from 1 to 1,024 FMAs for each float that is read and written.

    Each kernel runs for a while before it is timed, so that the watts read are its own.
    """
    elements = 2 ** demo_size(full=26, small=20)
    here, there = (gpu.cupy.ones(elements, dtype="float32") for _ in range(2))
    x, y, n = np.float32(0.999), np.float32(0.001), np.int32(elements // 4)
    for fmas in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        kernel = gpu.cupy.RawKernel(SWEEP.substitute(fmas=fmas), "fmas_each")

        def launch(i: int, kernel=kernel) -> None:
            kernel((elements // 1024,), (256,), (there, here, x, y, n))

        began = time.perf_counter()
        while time.perf_counter() - began < demo_size(full=0.5, small=0.0):
            launch(0)
            gpu.wait()
        yield gpu.row({"elements": elements, "fmas": fmas, "itemsize": 4}, launch)


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


def workloads(gpu: Gpu, table: dict = TABLE) -> Iterator[dict]:
    """Measure rows of kind workload, by torch; the one named "chain, fused" by its kernel.

    table: name → (function of torch.nn.functional and tensors, their shapes, their dtype).
    """
    for name, (function, shapes, dtype) in table.items():
        if name == "chain, fused":
            launch = _chain_launch(gpu, FUSED_CHAIN, shapes[0][0])
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


def trials(
    gpu: Gpu, source: Callable[[str], str], product_flops: Callable[[int, int, int], int]
) -> Iterator[dict]:
    """Measure rows of kind trial: a product as it should be, and five ways to a wrong number.

    source: from a stream kernel's name to its CUDA C. product_flops: the FLOPs of a product.
    """
    n = demo_size(full=2048, small=128)
    work = {"dtype": "float32", "flops": product_flops(n, n, n), "bytes": 12 * n * n}
    inputs = [gpu.torch.randn(2, n, n, device=gpu.device) for _ in range(3)]

    def product(i: int) -> Any:
        return inputs[i % 3][0] @ inputs[i % 3][1]

    kept = product(0)
    yield gpu.both_row({"name": "as it should be", **work}, product)
    yield gpu.both_row({"name": "no synchronize", **work}, product, synchronize=False)
    yield gpu.both_row({"name": "cached result", **work}, lambda i: kept)
    tiny = gpu.torch.randn(2, 16, 16, device=gpu.device)
    few = {"dtype": "float32", "flops": product_flops(16, 16, 16), "bytes": 12 * 16 * 16}
    yield gpu.both_row({"name": "tiny product", **few}, lambda i: tiny[0] @ tiny[1])
    fresh = source("scale") + f"// never compiled before: {np.random.rand()}"
    for name, elements, passes in (("fresh kernel", 2**24, 1), ("warm cache", 2**17, 512)):
        here, there = (gpu.cupy.ones(elements, dtype="float32") for _ in range(2))
        numbers = np.float32(0.5), np.int32(elements // 4), np.int32(passes)
        kernel = gpu.cupy.RawKernel(fresh, "stream")

        def scale(i: int, kernel=kernel, arguments=(there, here, here, *numbers)) -> None:
            kernel((8 * gpu.card["multiprocessors"],), (256,), arguments)

        moved = {"flops": elements * passes, "bytes": 8 * elements * passes}
        yield gpu.both_row({"name": name, "dtype": "float32", **moved}, scale)
