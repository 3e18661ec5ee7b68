"""A CUDA device made of a processor: kernels compiled by g++, torch played by proflab, a scripted
clock. What runs on a card cannot be run here; that it asks for the right things can be.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import proflab

CARD = {
    "name": "a processor",
    "compute_capability": [8, 0],
    "multiprocessors": 2,
    "l2_bytes": 2**20,
    "memory_bytes": 2**30,
}
GXX = shutil.which("g++")
# What a kernel finds on a card: its place among the threads, and loads of four floats.
SHIM = """
#include <math.h>
#define __global__
struct float4 { float x, y, z, w; };
struct Place { int x; };
static Place blockIdx, threadIdx, blockDim, gridDim;
static float4 __ldcg(const float4 *at) { return *at; }
static void __stcg(float4 *at, float4 value) { *at = value; }
"""
# One thread after the other: no kernel of the course lets threads wait for one another.
RUN = """
extern "C" void run_all(int grid, int block%s) {
    gridDim.x = grid, blockDim.x = block;
    for (blockIdx.x = 0; blockIdx.x < grid; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < block; threadIdx.x++) %s(%s);
}
"""


def parameters(source: str, name: str) -> list[tuple[str, str]]:
    """(type, name) of a kernel's parameters; a pointer's type ends in *."""
    inside = re.search(rf"void\s+{name}\s*\((.*?)\)\s*{{", source, re.S)[1]
    found = (re.fullmatch(r"\s*(.*?)(\*?)(\w+)\s*", part, re.S) for part in inside.split(","))
    return [(m[1].strip() + m[2], m[3]) for m in found if m] if inside.strip() else []


@cache
def compiled(source: str, name: str):
    """The kernel as a function of (grid, block, *arguments) on the processor."""
    wanted = parameters(source, name)
    declared = "".join(f", {kind} {each}" for kind, each in wanted)
    text = SHIM + source + RUN % (declared, name, ", ".join(each for _, each in wanted))
    with tempfile.TemporaryDirectory() as folder:
        path, library = Path(folder, "kernel.cc"), Path(folder, "kernel.so")
        path.write_text(text)
        command = [GXX, "-O1", "-w", "-shared", "-fPIC", str(path), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(library)).run_all


class RawKernel:
    """cupy.RawKernel, strict: the number of arguments and their types must be the source's."""

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self.wanted = parameters(source, name)

    def __call__(self, grid: tuple, block: tuple, arguments: tuple) -> None:
        assert len(grid) == len(block) == 1 and grid[0] >= 1 and 1 <= block[0] <= 1024
        assert len(arguments) == len(self.wanted), (self.name, self.wanted)
        passed = []
        for (kind, name), argument in zip(self.wanted, arguments, strict=True):
            if kind.endswith("*"):
                assert argument.dtype == np.float32, name
                passed.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                # A Python number would be passed with eight bytes.
                assert type(argument) is {"int": np.int32, "float": np.float32}[kind], name
                kinds = {"int": ctypes.c_int, "float": ctypes.c_float}
                passed.append(kinds[kind](argument.item()))
        if GXX:
            compiled(self.source, self.name)(grid[0], block[0], *passed)


class Stream:
    """cupy.cuda.Stream as far as a graph needs it."""

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking  # the default stream cannot be captured

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        pass

    def begin_capture(self) -> None:
        pass

    def end_capture(self):
        return SimpleNamespace(launch=lambda stream: None)


def fake_cupy() -> SimpleNamespace:
    """What the lesson uses of cupy, on numpy's arrays."""
    return SimpleNamespace(
        empty=np.empty,
        ones=np.ones,
        full=np.full,
        RawKernel=RawKernel,
        cuda=SimpleNamespace(Stream=Stream),
    )


class Bytes:
    """A tensor of bytes that can be copied."""

    def __init__(self, size: int, dtype, device: str = "cpu") -> None:
        assert dtype == "uint8"
        self.array, self.pinned = np.zeros(size, np.uint8), False

    def pin_memory(self):
        self.pinned = True
        return self

    def copy_(self, other, non_blocking: bool = False) -> None:
        assert non_blocking
        self.array[:] = other.array


class FakeTorch:
    """torch, played by proflab, which has its names."""

    uint8 = "uint8"
    bfloat16 = proflab.float16
    nn = proflab.nn
    zeros = staticmethod(Bytes)

    def __init__(self) -> None:
        self.backends = SimpleNamespace(
            cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False))
        )

    def __getattr__(self, name: str):
        return getattr(proflab, name)


class FakeBackend:
    """A device with a queue and a host with a clock, both scripted, in ms.

    work(ms) is a launch: the host takes 0.01 ms to queue it, the device ms to do it when it comes
    to it. empty is what two marks in a row are apart on the device.
    """

    module = None

    def __init__(self, empty: float = 0.002, flush: float = 0.5) -> None:
        self.now = self.done = 0.0
        self.empty, self.flush_ms, self.log = empty, flush, []

    def card(self) -> dict:
        return CARD

    def work(self, ms: float) -> None:
        self.log.append("work")
        self.now += 0.01
        self.done = max(self.done, self.now) + ms

    def mark(self) -> float:
        self.now += 0.001
        self.done = max(self.done, self.now) + self.empty
        self.log.append("mark")
        return self.done

    def between(self, first: float, second: float) -> float:
        assert self.now >= second, "nobody waited for this event"
        return second - first

    def wait(self) -> None:
        self.now = max(self.now, self.done) + 0.005
        self.log.append("wait")

    def flush(self) -> None:
        self.log.append("flush")
        self.now += 0.01
        self.done = max(self.done, self.now) + self.flush_ms

    def free(self) -> None:
        self.log.append("free")

    def clock(self) -> float:
        self.now += 0.0005
        return self.now / 1e3


def fake_gpu():
    """A Gpu whose cupy and torch are the ones above, with a scripted clock."""
    from proflab.lesson.cuda import Gpu

    class OnCpu(Gpu):
        cupy, torch = fake_cupy(), FakeTorch()

    backend = FakeBackend()
    return OnCpu(backend, clock=backend.clock, device="cpu")
