# ---
# jupyter:
#   accelerator: GPU
#   colab:
#     gpuType: T4
#     provenance: []
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10 · The same picture on a GPU
#
# ![A roofline on two logarithmic axes: a slope for the memory, a dotted one for the cache, two ceilings. Under it lie an elementwise chain, softmax, layer norm, two forms of attention, a Transformer block, and products of growing matrices, which climb the slope to the ceilings.](roofs.png)
#
# At the end of this lesson you draw this picture of a graphics card: the roofs from kernels whose lines you wrote, and under them what a Transformer is made of. The one above was drawn from a *constructed* document, numbers that a script made from a data sheet. No card was measured for it.
#
# **You will be able to**
#
# - write the lines of a kernel that does one thing, and say what it computed and moved;
# - time a device by its own clock, and tell a measurement from a mistake;
# - place any workload under the roofs of a card, and say which wall it is at;
# - say from which size on a GPU is worth the way to it.
#
# **You need** lesson 02. A roof is explained again in section 5, shorter than in lesson 06.
#
# **With a card or without.** On Colab, *Runtime → Change runtime type → T4 GPU*: then the device cells measure. Anywhere else they say in one line that there is no CUDA device, and every plot shows the constructed document beside this notebook. What is graded are functions of such a document: no card is needed for that, neither by you nor by whoever grades.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import re
from string import Template

import numpy as np
from built import ELEMENTWISE, elementwise_flops, matmul_flops, op_flops  # yours, of lesson 02

import proflab
from proflab import Tensor, dispatch, meta, models
from proflab.lesson import cuda, expect, expect_raises
from proflab.lesson.cuda import doubles as fake
from proflab.lesson.demo import demo_size
from proflab.nn import functional as F

# %% nbgrader={"grade": false, "grade_id": "record", "locked": true, "schema_version": 3, "solution": false, "task": false}
record = cuda.Record("constructed_t4.json")

# %% nbgrader={"grade": false, "grade_id": "demo_document", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
document = record.document
for name in ("constructed", "note", "command", "date", "driver", "card"):
    print(f"{name}: {document.get(name)}")
for name, value in document.get("model", {}).items():
    print(f"  assumed: {name} = {value:g}")
print({kind: len(rows) for kind, rows in document["rows"].items()})

# %% [markdown]
# This is what the plots below draw until a card has been measured: figures of a data sheet, times factors that somebody assumed. It shows what such a document looks like. It does not show what a T4 does. The device cells below make a measured one; so does, on a card, `python docs/gpu/record.py` in the course's repository, which runs them all.
#
# ## 1 · A kernel that only computes
#
# A *kernel* is a C function that a GPU runs once for each *thread*. Threads come in blocks, blocks are dealt out to *multiprocessors* (a T4 has 40), and there 32 threads at a time, a *warp*, take the same step. The step that counts is the *FMA*, a · b + c: two FLOPs in one instruction, and what data sheets count.
#
# An FMA's result is ready about four cycles later. A *chain* of them, each taking the result of the one before, waits most of the time. A multiprocessor fills the waiting with other warps, or with other chains of the same thread, each in an accumulator of its own:
#
# ![Two rows of boxes over sixteen cycles. One accumulator: a box every fourth cycle, the rest empty. Four accumulators in four colours: a box in every cycle.](chains.png)
#
# Three things make the loop below honest. The compiler must not know the numbers: x, y and the first values come in at run time. The accumulators must start from different values, or it makes one of them all. And something must be stored, or it removes the loop.

# %% nbgrader={"grade": false, "grade_id": "fma_kernel", "locked": true, "schema_version": 3, "solution": false, "task": false}
GPU_FMA = Template("""
extern "C" __global__ void fma_chains(float *out, float x, float y, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // which of all threads this one is
    float $seeds;
    #pragma unroll 8
    for (int turn = 0; turn < turns; turn++) {
        $lines
    }
    out[i] = $total;
}
""")


def gpu_fma_source(lines):
    """The kernel around your lines, with an accumulator for each, that starts from its own value."""
    names = sorted(set(re.findall(r"\ba\d+\b", lines)))
    seeds = ", ".join(f"{name} = x + i + {number}" for number, name in enumerate(names))
    return GPU_FMA.substitute(seeds=seeds, lines=lines, total=" + ".join(names))


# %% [markdown]
# **Predict.** A T4's multiprocessor starts 64 FMAs in a cycle. There are 128 threads on it, with one accumulator each, and a result takes four cycles: which share of the peak is that? With two accumulators? With 1,024 threads? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "fma_lines", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fma_lines(accumulators):
    """The body of the loop: one FMA for each accumulator, none of which waits for another.

    accumulators: int, at least 1; they are called a0, a1, a2, … in the kernel.
    Returns a text of C, one statement an accumulator: it takes fmaf(itself, x, y), which is
    itself · x + y. "name = expression;", each with its semicolon. Raises ValueError below 1.
    """
    ### BEGIN SOLUTION
    if accumulators < 1:
        raise ValueError(f"there must be at least 1 accumulator, not {accumulators}")
    return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fma_lines", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
lines = fma_lines(3)
after = fake.run_lines(lines, a0=1.0, a1=2.0, a2=3.0, x=10.0, y=0.5)  # run by Python
expect("three accumulators", after, {"a0": 10.5, "a1": 20.5, "a2": 30.5})
expect("FMAs", fake.count_fmaf(lines), 3)
expect("none waits for another", fake.chain_length(lines), 1)
eleven = fake.run_lines(fma_lines(11), **{f"a{n}": n for n in range(11)}, x=2.0, y=1.0)
expect("eleven accumulators", [eleven[f"a{n}"] for n in range(11)], np.arange(11) * 2.0 + 1.0)
expect("what they read", fake.names_read(fma_lines(2)), ["a0", "a1", "x", "y"])
expect_raises("no accumulator", lambda: fma_lines(0), ValueError)
expect_raises("fewer than none", lambda: fma_lines(-1), ValueError)
### BEGIN HIDDEN TESTS
one = fake.run_lines(fma_lines(1), a0=3.0, x=2.0, y=7.0)
expect("one", one, {"a0": 13.0})
values = {f"a{n}": float(n) for n in range(12)}
twelve = fake.run_lines(fma_lines(12), **values, x=3.0, y=-1.0)
expect("twelve", [twelve.get(f"a{n}") for n in range(12)], np.arange(12) * 3.0 - 1.0)
expect("no others", len(twelve), 12)
shape = [fake.count_fmaf(fma_lines(12)), fake.chain_length(fma_lines(12))]
expect("twelve FMAs, side by side", shape, [12, 1])
expect("what one reads", fake.names_read(fma_lines(1)), ["a0", "x", "y"])
expect_raises("far fewer than none", lambda: fma_lines(-5), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "fma_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fma_flops(threads, fmas, accumulators) -> int:
    """The FLOPs of a launch of FMA chains; an FMA is a multiplication and an addition.

    threads: of all blocks together. accumulators: chains of each thread. fmas: of each chain.
    All are ints, at least 1. Returns an int. Raises ValueError when one is below 1.
    """
    ### BEGIN SOLUTION
    if min(threads, fmas, accumulators) < 1:
        raise ValueError(f"all must be at least 1, not {threads}, {fmas} and {accumulators}")
    return 2 * threads * fmas * accumulators
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fma_flops", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
expect("one FMA", fma_flops(1, 1, 1), 2, mistakes={"an FMA is one operation": 1})
expect("40 multiprocessors", fma_flops(40 * 1024, 32_768, 8), 21_474_836_480)
expect("more than 2⁶³, every digit", fma_flops(10**9 + 7, 10**9 + 9, 6), 12_000_000_192_000_000_756)
expect_raises("no threads", lambda: fma_flops(0, 5, 5), ValueError)
expect_raises("no accumulator", lambda: fma_flops(4, 5, 0), ValueError)
expect_raises("two negative", lambda: fma_flops(-4, -5, 2), ValueError)
### BEGIN HIDDEN TESTS
expect("three sizes", fma_flops(3, 5, 7), 210)
expect("every digit", fma_flops(10**9 + 9, 10**10 + 1, 7), 140_000_001_274_000_000_126)
expect_raises("no FMAs", lambda: fma_flops(4, 0, 2), ValueError)
expect_raises("fewer than no FMAs", lambda: fma_flops(4, -5, 2), ValueError)
expect_raises("fewer accumulators than none", lambda: fma_flops(-4, 5, -2), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# The device cell launches your lines with 1 to 8 accumulators, on multiprocessors that hold few threads and many. `gpu.row` queues 25 launches and notes when each began and ended; section 3 shows how.


# %% nbgrader={"grade": false, "grade_id": "gpu_fma", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gpu_fma(gpu):
    """Rows of kind fma: few and many threads a multiprocessor, one and several accumulators."""
    x, y = np.float32(0.999), np.float32(0.001)
    for per_multiprocessor in (128, 1024):
        threads = gpu.card["multiprocessors"] * per_multiprocessor
        out = gpu.cupy.empty(threads, dtype="float32")
        for accumulators in (1, 2, 4, 8):
            kernel = gpu.cupy.RawKernel(gpu_fma_source(fma_lines(accumulators)), "fma_chains")
            turns = 2**18 // accumulators
            what = {"threads": threads, "fmas": turns, "accumulators": accumulators}

            def launch(i, kernel=kernel, out=out, turns=turns):
                kernel((out.size // 128,), (128,), (out, x, y, np.int32(turns)))

            yield gpu.row({**what, "dtype": "float32"}, launch, flush=False)


# %% nbgrader={"grade": false, "grade_id": "device_fma", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("fma", gpu_fma)

# %% [markdown]
# ## 2 · A kernel that only moves
#
# Memory is measured by kernels that do next to nothing with much data. McCalpin's STREAM, which set the custom, has four: *copy* a = b, *scale* a = s · b, *add* a = b + c, *triad* a = b + s · c. Add moves as much as triad, so three are enough here. Each thread takes 16 bytes at once, a `float4`: fewer, wider requests. `__ldcg` reads past the small cache of each multiprocessor (L1), so that what is measured is the *L2 cache*, which all share, or, when the buffers are far larger than it, the card's *memory*: HBM on the large cards, GDDR on a T4, "dram" in the document.
#
# **Predict.** A copy and a triad over buffers of 64 million floats: how many bytes does each move? Which takes longer, and by what factor, if the memory is the only limit? *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "stream_kernel", "locked": true, "schema_version": 3, "solution": false, "task": false}
GPU_STREAM = Template("""
extern "C" __global__ void stream(float4 *out, const float4 *in, const float4 *in2,
                                  float s, int n, int passes) {
    int first = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (int pass = 0; pass < passes; pass++)
        for (int i = first; i < n; i += all) {
            float4 A, B = __ldcg(in + i)$second;
            $lanes
            __stcg(out + i, A);
        }
}
""")


def gpu_stream_source(line):
    """The kernel around your line, which is done to each of the four floats of a float4."""
    third = bool(re.search(r"\bc\b", line))
    lane = "{ float a, b = B.$p" + (", c = C.$p" if third else "") + "; $line A.$p = a; }"
    lanes = " ".join(Template(lane).substitute(p=p, line=line) for p in "xyzw")
    return GPU_STREAM.substitute(second=", C = __ldcg(in2 + i)" if third else "", lanes=lanes)


# %% nbgrader={"grade": false, "grade_id": "stream_line", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream_line(kernel):
    """The line of C that one float of a stream kernel needs.

    kernel: "copy", a = b; "scale", a = s · b; or "triad", a = b + s · c. All four are floats.
    Returns a text, "a = expression;" with its semicolon, that reads nothing else than is said.
    Raises ValueError for any other name, "add" too.
    """
    ### BEGIN SOLUTION
    lines = {"copy": "a = b;", "scale": "a = s * b;", "triad": "a = b + s * c;"}
    if kernel not in lines:
        raise ValueError(f"the kernels are {', '.join(lines)}, not {kernel!r}")
    return lines[kernel]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_stream_line", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
values = {"b": 5.0, "c": 7.0, "s": 3.0}
results = [fake.run_lines(stream_line(name), **values) for name in ("copy", "scale", "triad")]
expect("copy, scale, triad", results, [{"a": 5.0}, {"a": 15.0}, {"a": 26.0}])
read = [fake.names_read(stream_line(name)) for name in ("copy", "scale")]
expect("what copy and scale read", read, [["b"], ["b", "s"]])
expect_raises("add", lambda: stream_line("add"), ValueError)
expect_raises("a capital letter", lambda: stream_line("Copy"), ValueError)
expect_raises("nearly a kernel", lambda: stream_line("triads "), ValueError)
expect_raises("spaces", lambda: stream_line(" copy "), ValueError)
### BEGIN HIDDEN TESTS
others = {"b": -2.0, "c": 0.5, "s": 4.0}
results = [fake.run_lines(stream_line(k), **others) for k in ("copy", "scale", "triad")]
expect("all three", results, [{"a": -2.0}, {"a": -8.0}, {"a": 0.0}])
read = [fake.names_read(stream_line(kernel)) for kernel in ("scale", "triad")]
expect("what they read", read, [["b", "s"], ["b", "c", "s"]])
expect_raises("no kernel", lambda: stream_line("sort"), ValueError)
expect_raises("capitals", lambda: stream_line("SCALE"), ValueError)
expect_raises("no name", lambda: stream_line(""), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "stream_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream_bytes(elements, reads, writes, itemsize) -> int:
    """The bytes that one pass of a streaming kernel moves.

    elements: numbers in each buffer, at least 1. itemsize: bytes of a number, at least 1.
    reads, writes: how many buffers are read, and written; at least 0, and not both 0.
    All are ints. Returns an int. Raises ValueError for what is not as said.
    """
    ### BEGIN SOLUTION
    if min(elements, itemsize, reads + writes) < 1 or min(reads, writes) < 0:
        raise ValueError("elements, itemsize and buffers must be at least 1, and none negative")
    return elements * (reads + writes) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_stream_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect(
    "copy, 64 Mi floats",
    stream_bytes(2**26, 1, 1, 4),
    536_870_912,
    mistakes={"the write is left out": 268_435_456},
)
expect("triad", stream_bytes(2**26, 2, 1, 4), 805_306_368)
expect("two written, numbers of 8 bytes", stream_bytes(7, 3, 2, 8), 280)
expect("a sum only reads", stream_bytes(77, 1, 0, 4), 308)
expect(
    "more than 2⁶³, every digit", stream_bytes(10**15 + 3, 10**3, 1, 16), 16_016_000_000_000_048_048
)
expect_raises("moves nothing", lambda: stream_bytes(10, 0, 0, 4), ValueError)
expect_raises("no elements", lambda: stream_bytes(0, 1, 1, 4), ValueError)
expect_raises("no size", lambda: stream_bytes(10, 1, 1, 0), ValueError)
expect_raises("fewer than no writes", lambda: stream_bytes(10, 3, -1, 4), ValueError)
expect_raises("fewer than no elements", lambda: stream_bytes(-10, 1, 1, 4), ValueError)
expect_raises("two negative", lambda: stream_bytes(-10, 1, 1, -4), ValueError)
### BEGIN HIDDEN TESTS
expect("four read, two written, halves", stream_bytes(1000, 4, 2, 2), 12_000)
expect("a sum of doubles", stream_bytes(77, 1, 0, 8), 616)
expect("a fill only writes", stream_bytes(77, 0, 1, 8), 616)
expect("every digit", stream_bytes(10**18 + 1, 10, 1, 8), 88_000_000_000_000_000_088)
expect_raises("fewer elements", lambda: stream_bytes(-2, 1, 2, 4), ValueError)
expect_raises("a negative size", lambda: stream_bytes(10, 1, 1, -4), ValueError)
expect_raises("fewer than no reads", lambda: stream_bytes(10, -1, 3, 4), ValueError)
expect_raises("both below 0", lambda: stream_bytes(10, -1, -1, 4), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# The device cell copies buffers from 256 KiB to 512 MiB, read and written together. The small ones would be done too soon to be timed, so the kernel goes over them many times (`passes`). The other two kernels run at the largest size only. And between moving and computing lies a third kernel, which reads a float, does so many FMAs with it and writes it back.


# %% nbgrader={"grade": false, "grade_id": "gpu_stream", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gpu_stream(gpu):
    """Rows of kind stream: a copy of every size, scale and triad at the largest."""
    top = demo_size(full=29, small=24)
    plan = [("copy", 2**power) for power in range(18, top + 1)]
    for name, size in [*plan, ("scale", 2**top), ("triad", 2**top)]:
        reads = 2 if name == "triad" else 1
        elements = size // (4 * (reads + 1)) // 4 * 4  # a whole number of float4
        buffers = [gpu.cupy.ones(elements, dtype="float32") for _ in range(3)]
        kernel = gpu.cupy.RawKernel(gpu_stream_source(stream_line(name)), "stream")
        blocks, passes = 8 * gpu.card["multiprocessors"], max(1, 2**top // size)
        numbers = np.float32(0.5), np.int32(elements // 4), np.int32(passes)

        def launch(i, kernel=kernel, blocks=blocks, arguments=(*buffers, *numbers)):
            kernel((blocks,), (256,), arguments)

        what = {"kernel": name, "elements": elements, "reads": reads, "writes": 1}
        yield gpu.row({**what, "itemsize": 4, "passes": passes}, launch, flush=False)


GPU_SWEEP = Template("""
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


def gpu_sweep(gpu):
    """Rows of kind sweep: from 1 to 1,024 FMAs for each float that is read and written."""
    elements = 2 ** demo_size(full=26, small=20)
    here, there = (gpu.cupy.ones(elements, dtype="float32") for _ in range(2))
    x, y, n = np.float32(0.999), np.float32(0.001), np.int32(elements // 4)
    for fmas in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        kernel = gpu.cupy.RawKernel(GPU_SWEEP.substitute(fmas=fmas), "fmas_each")

        def launch(i, kernel=kernel):
            kernel((elements // 1024,), (256,), (there, here, x, y, n))

        yield gpu.row({"elements": elements, "fmas": fmas, "itemsize": 4}, launch)


# %% nbgrader={"grade": false, "grade_id": "device_stream", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("stream", gpu_stream)
record.measure("sweep", gpu_sweep)

# %% [markdown]
# ## 3 · The device's own clock
#
# A launch only *queues* a kernel. The host goes on at once, and a clock that it stops then has measured the queueing. It could wait for the device (`torch.cuda.synchronize()`), but then its time has the way there and back in it. Better: *events*. An event is queued like a kernel, and the device notes the time when its turn comes.
#
# ![Two lines of time, host above and device below. The host queues flush, start, kernel, end, in short steps, and waits. The device flushes its cache, passes the start event, runs the kernel, passes the end event. The time from start to end is what is wanted.](events.png)
#
# `gpu.row` queues everything before it waits, so that the device never idles between an event and the kernel after it. Where it matters it writes over the L2 cache before each launch, outside the events; and each launch may get inputs of its own.
#
# The first calls are different: the kernel is compiled, memory is fetched, the clock is still low. A rule that looks at the times to say which ones to drop chooses the result. Ours only counts.
#
# **Predict.** Of twelve pairs the first fifth, rounded up, is dropped: how many is that? Which is better for a roof, the best or the median of the rest, and which for a workload? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "events_to_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def events_to_ms(events, reduce) -> float:
    """One time, in ms, from the event pairs of a measurement.

    events: a list of pairs (start, end) in ms, in the order in which they were taken. The first
        fifth of them, rounded up to a whole number, is warm-up and left out, whatever it shows.
    reduce: "best", the shortest of the rest, or "median" (of two in the middle, their mean).
    Raises ValueError for any other reduce, when nothing is left, and when any pair, warm-up
    included, ends before it starts. A pair may be 0 ms long.
    """
    ### BEGIN SOLUTION
    lengths = [end - start for start, end in events]
    kept = lengths[math.ceil(len(lengths) / 5) :]
    if reduce not in ("best", "median") or not kept or min(lengths) < 0:
        raise ValueError(f"no {reduce!r} of {len(events)} event pairs: see what events_to_ms takes")
    return min(kept) if reduce == "best" else float(np.median(kept))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_events_to_ms", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
events = fake.events(9.0, 2.0, 2.5, 2.25, 3.5)  # pairs of these lengths
expect("as they look", events[:2], [[1.0, 10.0], [10.25, 12.25]])
expect("median", events_to_ms(events, "median"), 2.375, mistakes={"warm-up is in it": 2.5})
expect("best", events_to_ms(events, "best"), 2.0)
six = fake.events(0.5, 0.75, 7.0, 3.0, 5.125, 4.0)
expect("two of six are dropped, fast as they are", events_to_ms(six, "best"), 3.0)
expect("their median", events_to_ms(six, "median"), 4.5625)
six.append([90.0, 90.0])
expect("a seventh, of 0 ms", events_to_ms(six, "median"), 4.0)
expect("the best is 0", events_to_ms(six, "best"), 0.0)
expect_raises("the mean", lambda: events_to_ms(events, "mean"), ValueError)
expect_raises("one pair", lambda: events_to_ms(events[:1], "best"), ValueError)
back = [[5.0, 4.0], [6.0, 7.0], [8.0, 9.0]]
expect_raises("warm-up backwards", lambda: events_to_ms(back, "median"), ValueError)
### BEGIN HIDDEN TESTS
five = fake.events(0.125, 3.0, 4.0, 5.0, 7.0)
expect("one of five is dropped", events_to_ms(five, "best"), 3.0)
expect("also when it is fast", events_to_ms(five, "median"), 4.5)
twelve = fake.events(1.0, 1.0, 1.0, 6.0, 2.0, 4.0, 3.0, 9.0, 8.0, 7.0, 5.0, 10.0)
both = [events_to_ms(twelve, "best"), events_to_ms(twelve, "median")]
expect("three of twelve", both, [2.0, 6.0])
expect("tuples", events_to_ms([(1, 5), (7, 9), (10, 13)], "median"), 2.5)
expect("two pairs", events_to_ms([[0.0, 1.0], [4.0, 4.5]], "best"), 0.5)
expect("what was given stays", five[2], [4.625, 8.625])
expect_raises("none", lambda: events_to_ms([], "median"), ValueError)
expect_raises("the longest", lambda: events_to_ms(twelve, "max"), ValueError)
late = [[5.0, 6.0], [6.0, 7.0], [8.0, 7.5], [9.5, 10.0]]
expect_raises("backwards", lambda: events_to_ms(late, "median"), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_events", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
row = record.rows("fma")[-1]
lengths = [(number, end - start) for number, (start, end) in enumerate(row["events"], start=1)]
warm = math.ceil(len(lengths) / 5)
lines = {"warm-up": lengths[:warm], "counted": lengths[warm:]}
best, median = (events_to_ms(row["events"], how) for how in ("best", "median"))
conditions = f"{row['sm_mhz'] or '?'} MHz, {row['watts'] or '?'} W, {row['celsius'] or '?'} °C"
print(f"best {best:.3f} ms, median {median:.3f} ms, first {lengths[0][1]:.3f} ms; {conditions}")
cuda.picture.lines(lines, x="launch", y="ms", title=record.title("One kernel, many times"))

# %% nbgrader={"grade": false, "grade_id": "demo_fma", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
chains = {}
for row in record.rows("fma"):
    name = f"{row['threads'] // record.document['card']['multiprocessors']} threads"
    flops = fma_flops(row["threads"], row["fmas"], row["accumulators"])
    rate = flops / events_to_ms(row["events"], "best") / 1e9
    chains.setdefault(name, []).append((row["accumulators"], rate))
for name, points in chains.items():
    rates = [rate for _, rate in points]
    print(f"{name}: one accumulator reaches {rates[0] / max(rates):.0%} of the best")
title = record.title("FMA chains, by threads on a multiprocessor")
cuda.picture.lines(chains, x="accumulators of each thread", y="TFLOP/s", title=title)

# %% [markdown]
# Where threads are few, only accumulators can fill the waiting; many warps fill it by themselves. A kernel measured with few threads and one accumulator tells of slow code, not of a roof.
#
# **Clock, power, heat.** The same kernel is slower on a hot card. A T4 may draw 70 W, and under a heavy load it lowers its clock to keep to that. So each row has the clock of the multiprocessors, the power and the temperature, read by NVML *while* the device was at work. `nvidia-smi` shows the same sensors:
#
# | it says | it means |
# |---|---|
# | `CUDA Version: 13.0` | the newest CUDA that this *driver* can run, not what is installed |
# | `Temp`, `Perf` | °C; the state from P0, at work, to P12, asleep. An idle card shows a low clock |
# | `Pwr:Usage/Cap` | if the two are equal under load, the card is slowed by its power limit |
# | `Memory-Usage` | what processes have reserved. torch and CuPy keep what was freed, so it does not fall |
# | `GPU-Util 100%` | in the last sample some kernel was running *all the time*. One thread is enough for that: it is not the share of the card that works |
#
# `nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv -l 1` prints the three beside a run. Clocks can be fixed by an administrator (`nvidia-smi -lgc`), on Colab not: there, say what they were.
#
# ## 4 · Roofs
#
# Now the roofs: for each data type the most FLOPs a second that anything reached, for each level of memory the most bytes. The best of many, because a roof asks what the card *can*. That a buffer is larger than the cache is not enough to be beyond it: of a buffer of twice L2 a good part may still be found there.
#
# FP32 can be had from your FMAs. Tensor cores only show in matrix products, which the next device cell runs in each type that the card has: FP16 from the V100 on, and so on a T4; TF32 and BF16 from the A100 on.

# %% nbgrader={"grade": false, "grade_id": "device_gemm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("gemm", cuda.loops.gemm)

# %% [markdown]
# **Predict.** A T4 has 40 multiprocessors with 64 FMA units each and runs at up to 1.59 GHz. Which peak is that in FP32? Will the FMA kernel or the matrix product come closer to it? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "ceilings", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ceilings(document) -> dict:
    """The roofs in a document: {"flops": {dtype: FLOP/s}, "bandwidth": {level: bytes/s}}.

    document: its card.l2_bytes and, in its rows, the lists stream, fma and gemm; any may be missing.
        fma has threads, fmas, accumulators, dtype; gemm has m, k, n, dtype. All rows have events.
        stream has elements, reads, writes, itemsize, and passes, how often all that was moved.
    A roof is the best that any row reached, by the best of its event pairs. A stream row measures
    "l2" if one pass moves at most half of l2_bytes, "dram" if at least four times l2_bytes, and
    in between no level. What no row measures has no key.
    Raises ValueError for a document without any peak or without "dram".
    """
    ### BEGIN SOLUTION
    rows, roofs = document["rows"], {"flops": {}, "bandwidth": {}}

    def raise_roof(kind, name, amount, row):
        rate = amount / events_to_ms(row["events"], "best") * 1e3
        roofs[kind][name] = max(rate, roofs[kind].get(name, 0))

    for row in rows.get("fma", []):
        flops = fma_flops(row["threads"], row["fmas"], row["accumulators"])
        raise_roof("flops", row["dtype"], flops, row)
    for row in rows.get("gemm", []):
        raise_roof("flops", row["dtype"], matmul_flops(row["m"], row["k"], row["n"]), row)
    for row in rows.get("stream", []):
        moved = stream_bytes(*(row[key] for key in ("elements", "reads", "writes", "itemsize")))
        share = moved / document["card"]["l2_bytes"]
        if share <= 0.5 or share >= 4:
            raise_roof("bandwidth", "l2" if share <= 0.5 else "dram", row["passes"] * moved, row)
    if not roofs["flops"] or "dram" not in roofs["bandwidth"]:
        raise ValueError("no roof without both a peak and the memory's bandwidth")
    return roofs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ceilings", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
copy = fake.stream([9.0, 0.5, 0.25, 0.5], elements=4_000_000)  # 32 MB
cached = fake.stream([1.0, 0.5, 0.5], elements=125_000, passes=512)
chains = fake.fma([0.5, 2.0, 1.0, 4.0], threads=1000, fmas=1000, accumulators=500)
product = fake.gemm([8.0, 0.5, 0.75], 1000, 1000, 1000, dtype="float16")
document = fake.document(4_000_000, stream=[copy, cached], fma=[chains], gemm=[product])
expect(
    "a stream row",
    {k: v for k, v in copy.items() if k != "events"},
    {"kernel": "copy", "elements": 4_000_000, "reads": 1, "writes": 1, "itemsize": 4, "passes": 1},
)
found = ceilings(document)
expect("by data type", found["flops"], {"float32": 1e12, "float16": 4e12})
expect("by level", found["bandwidth"], {"dram": 128e9, "l2": 1024e9})
document["rows"]["gemm"].append(fake.gemm([1.0, 0.75], 900, 500, 800, dtype="tf32"))
expect("a row more", ceilings(document)["flops"]["tf32"], 9.6e11)
nothing = fake.document(4_000_000, fma=[chains])
expect_raises("no memory", lambda: ceilings(nothing), ValueError)
slow, fast, last = (fake.stream([0.125, ms], 4_800_000, reads=2) for ms in (2.0, 0.5, 1.0))
between = [fake.stream([9.0, 0.015625], n, passes=40) for n in (63_000, 126_000, 499_000)]
works = [fake.gemm([0.5, ms], 1000, 700, 300) for ms in (4.0, 1.0, 2.0)]
doubles = fake.fma([9.0, 1.0], threads=100, fmas=50, accumulators=4, dtype="float64")
some = fake.fma([9.0, 1.0], threads=100, fmas=50, accumulators=4)
rows = {"stream": [slow, fast, last, *between], "gemm": works, "fma": [doubles, some]}
found = ceilings(fake.document(1_000_000, **rows))
expect("the best row of each type", found["flops"], {"float32": 4.2e11, "float64": 4e7})
expect("three sizes of neither level", found["bandwidth"], {"dram": 115.2e9})
borders = [fake.stream([9.0, 1.0], n, passes=500) for n in (62_500, 500_000)]
found = ceilings(fake.document(1_000_000, stream=borders, gemm=works))
expect("half of it, four times it", found["bandwidth"], {"l2": 250e9, "dram": 2e12})
### BEGIN HIDDEN TESTS
triad = fake.stream([0.25, 0.5, 1.0], elements=8_000_000, reads=2, kernel="triad")
fast = [fake.stream([4.0, 0.03125], elements=n, passes=9) for n in (126_000, 255_000, 999_999)]
small = fake.gemm([1.0, 0.5, 0.125], 200, 100, 400)
large = fake.gemm([1.0, 4.0, 8.0], 3000, 2000, 1000)
rows = {"stream": [triad, *fast, copy], "gemm": [product, large, small], "fma": [chains]}
mixed = ceilings(fake.document(2_000_000, **rows))
expect("the best of all rows", mixed["flops"], {"float16": 4e12, "float32": 3e12})
expect("three others of neither level", mixed["bandwidth"], {"dram": 192e9})
small_one = fake.stream([1.0, 0.5, 0.75], elements=5_000, reads=2, passes=1000)
edges = [fake.stream([9.0, 1.0], elements=n, passes=250) for n in (125_000, 1_000_000)]
level = fake.document(2_000_000, stream=[*edges, small_one], gemm=[small])
expect("just at the borders", ceilings(level)["bandwidth"], {"l2": 250e9, "dram": 2e12})
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_ceilings_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
wide = fake.stream([2.0, 1.0, 1.0], elements=1_000_000, reads=3, writes=2, itemsize=8)
halves = fake.gemm([2.0, 1.0], 100, 100, 100, dtype="bfloat16")
found = ceilings(fake.document(100_000, stream=[wide], gemm=[halves]))
expect("another itemsize", found, {"flops": {"bfloat16": 2e9}, "bandwidth": {"dram": 40e9}})
exact = ceilings(fake.document(100_000, stream=[wide], gemm=[fake.gemm([2.0, 1.0], 7, 11, 13)]))
expect("every digit", exact["flops"], {"float32": 2_002_000.0})
again = fake.stream([0.5, 2.0, 1.0], elements=1_000_000, passes=3, kernel="triad")
found = ceilings(fake.document(2_000_000, stream=[again], gemm=[halves]))
expect("passes of a large buffer", found["bandwidth"], {"dram": 24e9})
small = fake.stream([9.0, 2.0], elements=100_000)
no_peak = fake.document(2_000_000, stream=[again])
only_cache = fake.document(2_000_000, stream=[small], gemm=[halves])
expect_raises("no peak", lambda: ceilings(no_peak), ValueError)
expect_raises("cache only", lambda: ceilings(only_cache), ValueError)
### BEGIN HIDDEN TESTS
twice = fake.fma([9.0, 2.0, 1.0], 640, 1000, 8, dtype="float64")
other = fake.fma([9.0, 2.0, 4.0], 640, 4000, 2, dtype="float32")
moved = fake.stream([9.0, 2.0, 1.0], elements=2_000_000, passes=5)
found = ceilings(fake.document(3_000_000, fma=[other, twice], stream=[moved]))
expect("five passes of a large buffer", found["bandwidth"], {"dram": 80e9})
expect("each type its own", found["flops"], {"float32": 5.12e9, "float64": 10.24e9})
warm = fake.gemm([0.5, 1.0, 2.0], 1000, 500, 200)
found = ceilings(fake.document(2_000_000, gemm=[warm], stream=[moved]))
expect("warm-up is no roof", found["flops"], {"float32": 2e11})
cache = fake.stream([9.0, 2.0], elements=100_000)
unfinished = fake.document(2_000_000, stream=[moved], fma=[])
in_cache = fake.document(2_000_000, stream=[cache], gemm=[warm])
expect_raises("an empty list of peaks", lambda: ceilings(unfinished), ValueError)
expect_raises("no memory, only its cache", lambda: ceilings(in_cache), ValueError)
empty = fake.document(2_000_000, stream=[], fma=[], gemm=[])
expect_raises("nothing", lambda: ceilings(empty), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_working_set", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
sizes = []
for row in record.rows("stream"):
    moved = stream_bytes(*(row[key] for key in ("elements", "reads", "writes", "itemsize")))
    rate = row["passes"] * moved / events_to_ms(row["events"], "best") / 1e6
    if row["kernel"] == "copy":
        sizes.append((moved / 2**20, rate))
    if row["kernel"] != "copy" or row["passes"] == 1:
        print(f"{row['kernel']:<6}{moved / 2**20:>6.0f} MiB{rate:>8.0f} GB/s")
marks = {"size of L2": record.document["card"]["l2_bytes"] / 2**20}
title = record.title("A copy, by size")
cuda.picture.lines(
    {"copy": sizes}, x="MiB, both buffers", y="GB/s", log="x", title=title, marks=marks
)

# %% nbgrader={"grade": false, "grade_id": "demo_gemm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
products = {}
for row in record.rows("gemm"):
    rate = matmul_flops(row["m"], row["k"], row["n"]) / events_to_ms(row["events"], "best") / 1e9
    products.setdefault(row["dtype"], []).append((row["n"], rate))
title, x = record.title("Matrix products"), "n, for n × n times n × n"
cuda.picture.lines(products, x=x, y="TFLOP/s", log="xy", title=title)

# %% nbgrader={"grade": false, "grade_id": "demo_roofs", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
cuda.print_ratios(record.document, ceilings(record.document))

# %% [markdown]
# A roof above its data sheet is a mistake, far below it is one too, or a card that was hot. (Of the constructed document the ratios only show what was assumed.) That 40 · 64 · 2 · 1.59 GHz is what the data sheet calls 8.1 TFLOP/s can be checked on paper.
#
# ## 5 · Under the roofs
#
# A kernel needs its FLOPs and its bytes. At FLOPs a *byte* (its *intensity*) below the *ridge*, peak over bandwidth, the bytes take longer, and no code gets above intensity · bandwidth. Beyond it the peak is the limit. The sweep of FMAs for each float draws all of that: each doubling is twice the intensity, until the ceiling is reached.
#
# **Predict.** At 1 FMA for each float, 8 bytes go and come for 2 FLOPs. With how many FMAs does a card of 8 TFLOP/s and 320 GB/s reach its ridge? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "place", "locked": false, "schema_version": 3, "solution": true, "task": false}
def place(workload, ceilings) -> dict:
    """Where a workload stands under the roofs.

    workload: dict with flops, bytes, ms (all above 0) and dtype. ceilings: a dict as the function
        of this name returns it; the roof is made of "dram" and the workload's dtype.
    Returns a dict of intensity (FLOPs a byte), achieved and attainable (FLOP/s), efficiency
    (achieved / attainable) and wall. For the wall, compare flops / peak and bytes / bandwidth:
        "overhead" if the workload takes over 4 times the longer of the two; else "ridge" if the
        longer is at most 1.2 times the shorter; else "compute" or "memory", by which is longer.
    Raises ValueError for a number that is not above 0, and a dtype that has no ceiling.
    """
    ### BEGIN SOLUTION
    flops, moved, seconds = workload["flops"], workload["bytes"], workload["ms"] / 1e3
    if min(flops, moved, seconds) <= 0 or workload["dtype"] not in ceilings["flops"]:
        raise ValueError(f"flops, bytes and ms must be above 0, and {workload['dtype']!r} measured")
    computing = flops / ceilings["flops"][workload["dtype"]]
    moving = moved / ceilings["bandwidth"]["dram"]
    longer, shorter = max(computing, moving), min(computing, moving)
    wall = "compute" if computing > moving else "memory"
    wall = "overhead" if seconds > 4 * longer else "ridge" if longer <= 1.2 * shorter else wall
    rates = {"achieved": flops / seconds, "attainable": flops / longer}
    return {"intensity": flops / moved, **rates, "efficiency": longer / seconds, "wall": wall}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_place", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
roofs = {"flops": {"float32": 8e12, "float16": 40e12}, "bandwidth": {"dram": 400e9, "l2": 1e12}}
moved = {"flops": 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 2.0}
placed = place(moved, roofs)
expect(
    "left of the ridge",
    placed,
    {"intensity": 2.5, "achieved": 5e11, "attainable": 1e12, "efficiency": 0.5, "wall": "memory"},
)
large = {"flops": 16 * 10**9, "bytes": 10**8, "dtype": "float32", "ms": 4.0}
expect("right of it", [place(large, roofs)[k] for k in ("attainable", "wall")], [8e12, "compute"])
expect("the same in float16", place({**large, "dtype": "float16"}, roofs)["wall"], "overhead")
too_good = {"flops": 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 0.5}
expect("above the roof", place(too_good, roofs)["efficiency"], 2.0)
low = {**roofs, "bandwidth": {"dram": 4e11, "l2": 1e10}}
expect("a slow cache", place(moved, low)["attainable"], 1e12)
few = place({"flops": 3, "bytes": 7 * 10**6, "dtype": "float32", "ms": 16.0}, roofs)
expect("every digit", [few["intensity"], few["efficiency"]], [3 / 7e6, 17.5 / 16_000])
### BEGIN HIDDEN TESTS
half = {"flops": 8 * 10**10, "bytes": 16 * 10**8, "dtype": "float16", "ms": 5.0}
expect("float16", place(half, roofs), {
    "intensity": 50.0, "achieved": 1.6e13, "attainable": 2e13, "efficiency": 0.8, "wall": "memory"
})  # fmt: skip
dense = {"flops": 8 * 10**12, "bytes": 10**9, "dtype": "float16", "ms": 250.0}
expect("dense", place(dense, roofs), {
    "intensity": 8e3, "achieved": 3.2e13, "attainable": 4e13, "efficiency": 0.8, "wall": "compute"
})  # fmt: skip
too_fast = {"flops": 16 * 10**10, "bytes": 10**8, "dtype": "float16", "ms": 1.0}
expect("four times the roof", place(too_fast, roofs)["efficiency"], 4.0)
thin = place({"flops": 10**6, "bytes": 3 * 10**9, "dtype": "float16", "ms": 9.0}, roofs)
expect("three thousand bytes a FLOP", thin["intensity"], 1 / 3000)
expect("no cache", place(moved, {**roofs, "bandwidth": {"dram": 4e11}})["wall"], "memory")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_place_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
roofs = {"flops": {"float32": 8e12}, "bandwidth": {"dram": 4e11}}
at = {"flops": 8 * 10**9, "bytes": 4 * 10**8, "dtype": "float32"}
expect("at the ridge", place({**at, "ms": 1.25}, roofs)["wall"], "ridge")
seconds = [(6, 5, 24), (6, 5, 25), (6, 4.75, 7), (5, 5.75, 6), (9, 1, 35), (1, 9, 35), (1, 9, 37)]
works = [{"flops": 8e12 * c, "bytes": 4e11 * b, "ms": 1e3 * s} for c, b, s in seconds]
expect("FLOPs and bytes take these seconds, the workload those", [
    place({**work, "dtype": "float32"}, roofs)["wall"] for work in works
], ["ridge", "overhead", "compute", "ridge", "compute", "memory", "overhead"])  # fmt: skip
odd = {"type": {"dtype": "int8"}, "zero": {"flops": 0}, "less": {"flops": -1, "bytes": -1}}
odd |= {"flops": {"flops": -1}, "bytes": {"bytes": -1}, "none": {"bytes": 0}}
at["ms"] = 2.0
expect_raises("no such type", lambda: place({**at, **odd["type"]}, roofs), ValueError)
expect_raises("no FLOPs", lambda: place({**at, **odd["zero"]}, roofs), ValueError)
expect_raises("no bytes", lambda: place({**at, **odd["none"]}, roofs), ValueError)
expect_raises("no time", lambda: place({**at, "ms": 0.0}, roofs), ValueError)
expect_raises("FLOPs below 0", lambda: place({**at, **odd["flops"]}, roofs), ValueError)
expect_raises("bytes below 0", lambda: place({**at, **odd["bytes"]}, roofs), ValueError)
expect_raises("both below 0", lambda: place({**at, **odd["less"]}, roofs), ValueError)
expect_raises("a time below 0", lambda: place({**at, "ms": -2.0}, roofs), ValueError)
### BEGIN HIDDEN TESTS
card = {"flops": {"float32": 1e12, "tf32": 5e12}, "bandwidth": {"l2": 9e12, "dram": 1e11}}
cases = [
    (10**10, 10**8, 10.5), (10**10, 10**8, 41.0), (10**10, 9 * 10**8, 11.0),
    (9 * 10**9, 10**9, 11.0), (10**10, 8 * 10**8, 11.0), (8 * 10**9, 10**9, 39.0),
    (8 * 10**9, 10**9, 41.0), (10**6, 10**9, 9.0), (10**10, 9 * 10**8, 50.0),
]  # fmt: skip
works = [{"flops": f, "bytes": b, "ms": ms, "dtype": "float32"} for f, b, ms in cases]
walls = [place(work, card)["wall"] for work in works]
expect("nine walls", walls, [
    "compute", "overhead", "ridge", "ridge", "compute", "memory", "overhead", "memory", "overhead"
])  # fmt: skip
sums = {"flops": 12 * 10**12, "bytes": 10**12, "dtype": "float32"}
both = [place({**sums, "ms": ms}, card)["wall"] for ms in (48_000, 48_001)]
expect("just at both borders, and above one", both, ["ridge", "overhead"])
type_of = {"flops": 10**9, "bytes": 10**8, "ms": 1.0, "dtype": "tf32"}
expect("the type's own ceiling", place(type_of, card)["attainable"], 1e12)
expect_raises("a time of 0", lambda: place({**type_of, "ms": 0}, card), ValueError)
expect_raises("0 FLOPs", lambda: place({**type_of, "flops": 0.0}, card), ValueError)
expect_raises("0 bytes", lambda: place({**type_of, "bytes": 0.0}, card), ValueError)
expect_raises("negative", lambda: place({**type_of, "flops": -9, "ms": -1.0}, card), ValueError)
expect_raises("the name's end", lambda: place({**type_of, "dtype": "float"}, card), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_sweep", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
roofs, sweep = ceilings(record.document), []
for row in record.rows("sweep"):
    flops = fma_flops(row["elements"], row["fmas"], 1)
    moved = stream_bytes(row["elements"], 1, 1, row["itemsize"])
    ms = events_to_ms(row["events"], "best")
    spot = place({"flops": flops, "bytes": moved, "ms": ms, "dtype": "float32"}, roofs)
    sweep.append((spot["intensity"], spot["achieved"]))
    print(f"{row['fmas']:>5} FMAs: {spot['efficiency']:>4.0%} of the roof, {spot['wall']}")
title = record.title("1 to 1,024 FMAs for each float")
cuda.picture.roofline(roofs, {"FMAs": sweep}, title=title, dtypes=["float32"])

# %% [markdown]
# Slope, knee and flat, from one kernel. Now for what models do. Each workload below is one function that works on proflab's tensors and on torch's. On meta tensors of proflab a hook counts it, with your rules of lesson 02: products by `op_flops`, and where there are none, elementwise work. Each op reads its inputs and writes its result, as torch's kernels do; views move nothing. A *fused* kernel reads what comes in and writes what goes out, once. A workload's time is the median: not what the card can, but what one gets.


# %% nbgrader={"grade": false, "grade_id": "gpu_workloads", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gpu_chain(F, x):
    """Four elementwise ops."""
    return F.relu(x * 0.5 + 1.0) * x


def gpu_naive(F, q, k, v):
    """Attention as it is written down: scores, softmax, mix."""
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    return F.softmax(scores, dim=-1) @ v


def gpu_fused(F, q, k, v):
    """The same in one kernel."""
    return F.scaled_dot_product_attention(q, k, v)


def gpu_block(F, x, qkv, out, up, down):
    """A block of GPT-2, heads of 64, by its four matrices."""
    b, s, d = x.shape
    three = F.linear(F.layer_norm(x, (d,)), qkv).split(d, dim=-1)
    heads = (part.reshape(b, s, d // 64, 64).transpose(1, 2) for part in three)
    mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
    x = x + F.linear(mixed.transpose(1, 2).reshape(b, s, d), out)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,)), up)), down)


GPU_CHAIN = """
extern "C" __global__ void chain(float *out, const float *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fmaxf(in[i] * 0.5f + 1.0f, 0.0f) * in[i];
}
"""  # the same as gpu_chain, fused

GPT2_BLOCK = [(2304, 768), (768, 768), (3072, 768), (768, 3072)]
GPU_WORKLOADS = {  # name: what it does, shapes of its inputs, data type
    "chain": (gpu_chain, [(2**26,)], "float32"),
    "chain, fused": (gpu_chain, [(2**26,)], "float32"),
    "softmax": (lambda F, x: F.softmax(x, dim=-1), [(2**14, 4096)], "float32"),
    "layer norm": (lambda F, x: F.layer_norm(x, x.shape[-1:]), [(2**14, 4096)], "float32"),
    "attention": (gpu_naive, [(8, 12, 1024, 64)] * 3, "float16"),
    "attention, fused": (gpu_fused, [(8, 12, 1024, 64)] * 3, "float16"),
    "Transformer block": (gpu_block, [(8, 1024, 768), *GPT2_BLOCK], "float16"),
}


def gpu_counts(function, shapes, dtype, fused=False):
    """FLOPs and bytes of a workload, as a dict, from meta tensors of proflab."""
    count = {"products": 0, "elementwise": 0, "bytes": 0}

    def size(*tensors):
        return sum(t.numel() * np.dtype(t.dtype).itemsize for t in tensors)

    def add(call):
        result = call()
        count["products"] += op_flops(call.op, [t.shape for t in call.inputs], call.attributes)
        if call.op in ELEMENTWISE:
            count["elementwise"] += elementwise_flops(call.op, result.shape)
        if not dispatch.OPS[call.op].view:
            count["bytes"] += size(*call.inputs, result)
        return result

    inputs = [Tensor.meta(shape, dtype) for shape in shapes]
    with proflab.no_grad(), dispatch.hook(add):
        result = function(F, *inputs)
    moved = size(*inputs, result) if fused else count["bytes"]
    return {"flops": count["products"] or count["elementwise"], "bytes": moved}


# %% nbgrader={"grade": false, "grade_id": "demo_counts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
for name, work in GPU_WORKLOADS.items():
    flops, moved = gpu_counts(*work, fused=name == "chain, fused").values()
    shown = f"{flops / 1e9:>9.3f} GFLOP{moved / 1e6:>9.1f} MB{flops / moved:>9.2f} FLOP a byte"
    print(f"{name:<18}{shown}")

# %% nbgrader={"grade": false, "grade_id": "device_workloads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("workload", lambda gpu: cuda.loops.workloads(gpu, GPU_WORKLOADS, GPU_CHAIN))

# %% [markdown]
# **Predict.** Which of the seven are left of the ridge? What does fusing do to a point in the picture: does it move up, to the right, or both? *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "demo_workloads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
roofs, spots = ceilings(record.document), {}
for row in record.rows("workload"):
    count = gpu_counts(*GPU_WORKLOADS[row["name"]], fused=row["name"] == "chain, fused")
    spot = place(
        {**count, "dtype": row["dtype"], "ms": events_to_ms(row["events"], "median")}, roofs
    )
    spots[row["name"]] = [(spot["intensity"], spot["achieved"])]
    print(f"{row['name']:<18}{spot['efficiency']:>5.0%} of the roof, {spot['wall']}")
for row in record.rows("gemm"):
    shapes = [(row["m"], row["k"]), (row["k"], row["n"])]
    dtype = "float16" if row["dtype"] in ("float16", "bfloat16") else "float32"
    count = gpu_counts(lambda F, a, b: a @ b, shapes, dtype)
    spot = place(
        {**count, "dtype": row["dtype"], "ms": events_to_ms(row["events"], "median")}, roofs
    )
    spots.setdefault(f"products, {row['dtype']}", []).append((spot["intensity"], spot["achieved"]))
cuda.picture.roofline(roofs, spots, title=record.title("A Transformer's parts"))

# %% [markdown]
# Efficiency says how close code is to what its FLOPs and bytes allow; the wall says what would help. At the memory's wall only fewer bytes do: fusing, smaller types. The naive attention writes its scores to memory and reads them back three times: 8 · 12 · 1,024² numbers, as scores, scaled, and as softmax. The fused one keeps them on the multiprocessor: the same FLOPs, a twenty-fifth of the bytes.
#
# ## 6 · Is it worth the way?
#
# Data must get to the card, and a kernel must be launched. Copies go through the bus; from *pinned* memory, which the system does not move, the card fetches by itself, while *pageable* memory is first copied to a pinned buffer. A launch costs some microseconds, however small the work. A *CUDA graph* records many launches once and starts all of them by one call.

# %% nbgrader={"grade": false, "grade_id": "device_ways", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("copy", cuda.loops.copies)
record.measure("crossover", cuda.loops.crossover)
record.measure("launch", cuda.loops.launches)

# %% nbgrader={"grade": false, "grade_id": "demo_copies", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
rates = {}
for row in record.rows("copy"):
    name = f"{row['direction']} the card, {'pinned' if row['pinned'] else 'pageable'}"
    rate = row["bytes"] / events_to_ms(row["events"], "median") / 1e6  # GB/s
    rates.setdefault(name, []).append((row["bytes"] / 2**10, rate))
for direction in ("to", "from"):
    pinned, pageable = (rates[f"{direction} the card, {how}"][-1] for how in ("pinned", "pageable"))
    print(
        f"{direction} the card, {pinned[0] / 1024:g} MiB: pinned {pinned[1] / pageable[1]:.1f} times as fast"
    )
cuda.picture.lines(rates, x="KiB at once", y="GB/s", log="xy", title=record.title("Copies"))

# %% [markdown]
# Below some size the CPU is done before the GPU has begun, above it the GPU wins. Times grow by powers of the size, so between two sizes that were measured, a straight line is drawn through the *logarithms*: the crossing in log–log.
#
# **Predict.** Products of n × n matrices: from which n on does the GPU win? From which if matrices must be copied to it and the result back? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "crossover", "locked": false, "schema_version": 3, "solution": true, "task": false}
def crossover(sizes, cpu_ms, gpu_ms):
    """The size from which on the GPU is not slower, up to the largest that was measured.

    sizes: numbers above 0, each larger than the one before; at least two. cpu_ms, gpu_ms: the
        times for each, as many, above 0. All three are lists or arrays.
    Between the last size at which the GPU is slower and the one after it, log(time) of both is
    taken as a straight line in log(size); the crossing of these lines is returned, a float.
    None where there is no such size: the GPU is never slower, or still is at the last one.
    Raises ValueError for what is not as said.
    """
    ### BEGIN SOLUTION
    if not 2 <= len(sizes) == len(cpu_ms) == len(gpu_ms) or min(*sizes, *cpu_ms, *gpu_ms) <= 0:
        raise ValueError("two sizes or more are needed, a time of each for each, all above 0")
    if any(b <= a for a, b in zip(sizes, sizes[1:], strict=False)):
        raise ValueError(f"each size must be larger than the one before: {sizes}")
    ahead = [math.log(cpu / gpu) for cpu, gpu in zip(cpu_ms, gpu_ms, strict=True)]
    last = max((at for at, lead in enumerate(ahead) if lead < 0), default=None)
    if last is None or last == len(sizes) - 1:
        return None
    share = ahead[last] / (ahead[last] - ahead[last + 1])
    return float(sizes[last] * (sizes[last + 1] / sizes[last]) ** share)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_crossover", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
expect(
    "halfway in log",
    crossover([100, 400], [1, 16], [4, 4]),
    200.0,
    mistakes={"a straight line through the sizes": 160.0, "in the middle": 250.0},
)
expect("at a size", crossover([10, 100, 1000], [1, 5, 90], [5, 5, 5]), 100.0)
expect("never slower", crossover([10, 100], [5, 9], [5, 1]), None)
expect("still slower", crossover([10, 100], [1, 2], [3, 3]), None)
twice = crossover([1, 2, 4, 8], [1, 4, 1, 4], [2, 2, 2, 2])
expect("the last of two crossings", twice, 4 * math.sqrt(2))
expect("ahead only for a while", crossover([1, 2, 4], [1, 4, 1], [2, 2, 2]), None)
### BEGIN HIDDEN TESTS
twice = crossover([2, 4, 8, 16, 32], [1, 4, 1, 2, 16], [2, 1, 4, 8, 4])
expect("the last of several", twice, 16 * math.sqrt(2), rel=1e-9)
expect("ahead at one size", crossover([2, 4, 8], [1, 4, 1], [2, 1, 4]), None)
curve = crossover([64, 512], [0.5, 32.0], [1.0, 4.0])
expect("both grow", curve, 64 * 8**0.25, rel=1e-9)
expect("equal, slower, equal", crossover([1, 2, 3], [4.0, 1.0, 4.0], [4.0, 2.0, 4.0]), 3.0)
expect("equal at all", crossover([1, 2], [4.0, 1.0], [4.0, 1.0]), None)
expect("sizes that are no ints", crossover([0.5, 2.0], [1.0, 9.0], [3.0, 3.0]), 1.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_crossover_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect("arrays", crossover(np.array([1, 4]), np.array([1, 4]), np.array([2, 2])), 2.0)
expect_raises("one size", lambda: crossover([4], [1.0], [2.0]), ValueError)
expect_raises("a size more", lambda: crossover([1, 2, 3], [1, 4], [2, 2]), ValueError)
expect_raises("a CPU's time more", lambda: crossover([1, 2], [1, 4, 9], [2, 2]), ValueError)
expect_raises("a GPU's time more", lambda: crossover([1, 2], [1, 4], [2, 2, 2]), ValueError)
expect_raises("not ordered", lambda: crossover([4, 1], [1, 4], [2, 2]), ValueError)
expect_raises("a size twice", lambda: crossover([1, 4, 4], [1, 3, 3], [2, 2, 2]), ValueError)
expect_raises("a size of 0", lambda: crossover([0, 4], [1, 4], [2, 2]), ValueError)
expect_raises("a size below 0", lambda: crossover([-4, 4], [1, 4], [2, 2]), ValueError)
expect_raises("no CPU time", lambda: crossover([1, 4], [0, 4], [2, 2]), ValueError)
expect_raises("a negative one", lambda: crossover([1, 4], [-1, 4], [2, 2]), ValueError)
expect_raises("no GPU time", lambda: crossover([1, 4], [1, 4], [2, 0]), ValueError)
expect_raises("a GPU time below 0", lambda: crossover([1, 4], [1, 4], [2, -2]), ValueError)
### BEGIN HIDDEN TESTS
expect_raises("the smallest last", lambda: crossover([2, 4, 1], [1, 3, 4], [2, 2, 2]), ValueError)
expect_raises("a size twice, early", lambda: crossover([1, 1, 4], [1, 1, 4], [2, 2, 2]), ValueError)
expect_raises("no time", lambda: crossover([1, 4], [1.0, 0.0], [2, 2]), ValueError)
expect_raises("a negative time", lambda: crossover([1, 4], [1, 4], [-2, 2]), ValueError)
expect_raises("two negative times", lambda: crossover([1, 4], [-1, 4], [-2, 2]), ValueError)
expect_raises("no sizes", lambda: crossover([], [], []), ValueError)
expect_raises("both have more", lambda: crossover([1, 4], [1, 4, 9], [2, 2, 2]), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_crossover", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
lines = {}
for row in record.rows("crossover"):
    times = row.get("host_ms") or []
    ms = float(np.median(times)) if times else events_to_ms(row["events"], "median")
    lines.setdefault(row["where"], []).append((row["n"], ms))
sizes, cpu = zip(*lines["cpu"], strict=True)
for where in ("gpu", "gpu and copies"):
    there = [ms for _, ms in lines[where]]
    ratio = max(a / b for a, b in zip(cpu, there, strict=True))
    size = crossover(sizes, cpu, there)
    when = f"worth it from n = {size:.0f} on" if size else "no size from which it is worth it"
    print(f"{where}: {when}; at best {ratio:.1f} times faster")
title, x = record.title("CPU or GPU"), "n, for n × n times n × n"
cuda.picture.lines(lines, x=x, y="ms", log="xy", title=title)

# %% [markdown]
# ## 7 · Measurements that lie
#
# Five ways to get a wrong number, and a sixth that is right. The device cell makes each and notes what the host's clock said (`host_ms`) and what the device's did (`events`).


# %% nbgrader={"grade": false, "grade_id": "gpu_trials", "locked": true, "schema_version": 3, "solution": false, "task": false}
def gpu_trials(gpu):
    """Rows of kind trial: one right measurement, and five that are not."""
    cp, torch = gpu.cupy, gpu.torch
    n = demo_size(full=2048, small=128)
    work = {"dtype": "float32", "flops": matmul_flops(n, n, n), "bytes": 12 * n * n}
    inputs = [torch.randn(2, n, n, device=gpu.device) for _ in range(3)]

    def product(i):
        return inputs[i % 3][0] @ inputs[i % 3][1]

    product(0)
    yield gpu.both_row({"name": "as it should be", **work}, product)
    yield gpu.both_row({"name": "no synchronize", **work}, product, synchronize=False)
    kept = product(0)
    yield gpu.both_row({"name": "cached result", **work}, lambda i: kept)
    tiny = torch.randn(2, 16, 16, device=gpu.device)
    few = {"dtype": "float32", "flops": matmul_flops(16, 16, 16), "bytes": 12 * 16 * 16}
    yield gpu.both_row({"name": "tiny product", **few}, lambda i: tiny[0] @ tiny[1])
    source = (
        gpu_stream_source(stream_line("scale")) + f"// never compiled before: {np.random.rand()}"
    )
    for name, elements, passes in (("fresh kernel", 2**24, 1), ("warm cache", 2**17, 512)):
        here, there = (cp.ones(elements, dtype="float32") for _ in range(2))
        numbers = np.float32(0.5), np.int32(elements // 4), np.int32(passes)
        kernel = cp.RawKernel(source, "stream")

        def scale(i, kernel=kernel, arguments=(there, here, here, *numbers)):
            kernel((8 * gpu.card["multiprocessors"],), (256,), arguments)

        moved = {"flops": elements * passes, "bytes": 8 * elements * passes}
        yield gpu.both_row({"name": name, "dtype": "float32", **moved}, scale)


# %% nbgrader={"grade": false, "grade_id": "device_trials", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.measure("trial", gpu_trials)

# %% [markdown]
# **Predict.** The result was kept in a variable and the product never computed again. What do the events show, and what would a page report that divides its FLOPs by that? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "gpu_mistakes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpu_mistakes(document) -> list[str]:
    """Which of a document's trials are invalid, and why: a list of texts "name: reason".

    document: as for ceilings, with empty_ms, and in its rows the list trial (may be missing), of
        name, dtype, flops, bytes, events and host_ms, the host's time of each call, in ms.
    The trials come in their order, and for each these reasons in this order. "It" is the median
    of its events by events_to_ms; the median of host_ms is taken of all.
        "not synchronized"  the median of host_ms is shorter than it
        "first call"        host_ms begins with more than twice the median of host_ms
        "too short"         it is less than 10 times empty_ms
        "above the roof"    it is achieved by more than 1.1 times what is attainable
    Where it is 0, nothing was timed: place refuses that, and here it is "above the roof".
    A document without trials has none that is invalid: []. Raises as ceilings does, also then.
    """
    ### BEGIN SOLUTION
    roofs, found = ceilings(document), []
    for row in document["rows"].get("trial", []):
        ms, host = events_to_ms(row["events"], "median"), float(np.median(row["host_ms"]))
        reasons = {
            "not synchronized": host < ms,
            "first call": row["host_ms"][0] > 2 * host,
            "too short": ms < 10 * document["empty_ms"],
            "above the roof": ms == 0 or place({**row, "ms": ms}, roofs)["efficiency"] > 1.1,
        }
        found += [f"{row['name']}: {reason}" for reason, holds in reasons.items() if holds]
    return found
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_gpu_mistakes", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
copy = fake.stream([1.0, 0.5, 0.5], elements=8_000_000)  # 128 GB/s
product = fake.gemm([4.0, 2.0, 2.0], 1000, 1000, 1000)  # 1 TFLOP/s
roofs = {"stream": [copy], "gemm": [product]}
work = {"flops": 2 * 10**9, "bytes": 12 * 10**6}
right = fake.trial("right", [2.5, 2.25, 2.25], [3.0, 2.0, 2.125], **work)
early = fake.trial("early", [0.02, 0.01, 0.01], [2.0, 2.0, 2.0], **work)
cold = fake.trial("cold", [90.0, 2.5, 2.5], [80.0, 2.0, 2.0], **work)
document = fake.document(**roofs, trial=[right, early, cold])
expect("two of three", gpu_mistakes(document), ["early: not synchronized", "cold: first call"])
kept = fake.trial("kept", [0.02, 0.02, 0.02], [0.005, 0.005, 0.005], **work)
warm = fake.trial("warm", [0.5, 0.5, 0.5], [0.25, 0.25, 0.25], 10**7, 8 * 10**7)
short = fake.trial("short", [0.05, 0.05, 0.05], [0.02, 0.02, 0.02], 10**6, 10**5)
found = gpu_mistakes(fake.document(**roofs, trial=[warm, short, right, kept]))
expect(
    "four reasons",
    found,
    ["warm: above the roof", "short: too short", "kept: too short", "kept: above the roof"],
)
finer = gpu_mistakes(fake.document(**roofs, trial=[short, kept], empty_ms=0.001))
expect("a finer clock", finer, ["kept: too short", "kept: above the roof"])
gone = fake.trial("gone", [0.5, 0.5], [0.0, 0.0], **work)
found = gpu_mistakes(fake.document(**roofs, trial=[gone]))
expect("nothing was timed", found, ["gone: too short", "gone: above the roof"])
document["rows"]["trial"].pop(1)
expect("a trial less", gpu_mistakes(document), ["cold: first call"])
expect("no trials", gpu_mistakes(fake.document(**roofs)), [])
expect_raises("no roofs", lambda: gpu_mistakes(fake.document(gemm=[product])), ValueError)
### BEGIN HIDDEN TESTS
slower = fake.stream([9.0, 1.0, 1.0], elements=4_000_000)  # 32 GB/s
weaker = fake.gemm([4.0, 1.0, 1.0], 1000, 500, 500)  # 0.5 TFLOP/s
under = {"gemm": [weaker], "stream": [slower]}
work = {"flops": 2 * 10**9, "bytes": 24 * 10**6}
fine = fake.trial("fine", [5.0, 4.5, 4.5], [6.0, 4.0, 4.25], **work)
none = fake.trial("none", [0.04, 0.02, 0.02], [0.015, 0.015, 0.015], **work)
full = fake.trial("full", [1.0, 1.0, 1.0], [0.5, 0.5, 0.5], 10**7, 4 * 10**7)
brief = fake.trial("brief", [0.2, 0.2, 0.2], [0.0625, 0.0625, 0.0625], 10**6, 10**5)
uneven = fake.trial("uneven", [2.5, 5.0, 5.0], [6.0, 4.0, 4.0], **work)
rest = fake.trial("rest", [9.0, 4.5, 5.5], [6.0, 4.0, 4.0], **work)
spread = fake.trial("spread", [7.0, 7.0, 7.0, 7.0], [18.0, 1.0, 4.0, 4.0], **work)
trials = [full, uneven, brief, rest, none, fine, spread]
found = gpu_mistakes(fake.document(**under, trial=trials, empty_ms=0.0078125))
expect(
    "seven trials",
    found,
    ["full: above the roof", "brief: too short", "none: too short", "none: above the roof"],
)
found = gpu_mistakes(fake.document(**under, trial=trials, empty_ms=0.002))
expect(
    "a clock that is finer",
    found,
    ["full: above the roof", "none: too short", "none: above the roof"],
)
expect("an empty list of trials", gpu_mistakes(fake.document(**under, trial=[])), [])
trial = fake.document(gemm=[weaker], trial=[fine])
expect_raises("no bandwidth", lambda: gpu_mistakes(trial), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_mistakes_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
half = fake.gemm([9.0, 1.0], 1000, 1000, 1000, dtype="float16")  # 2 TFLOP/s
single = fake.gemm([9.0, 2.0], 1000, 1000, 1000)  # 1 TFLOP/s
copy = fake.stream([1.0, 0.5, 0.5], elements=8_000_000)
work = {"flops": 2 * 10**9, "bytes": 10**6, "dtype": "float16"}


def told(host_ms, ms, work=work, empty_ms=0.004):
    one = fake.trial("it", host_ms, ms, **work)
    roofs = {"gemm": [half, single], "stream": [copy]}
    return gpu_mistakes(fake.document(**roofs, trial=[one], empty_ms=empty_ms))


ten, clock = {"flops": 10**6, "bytes": 10**6}, 1 / 256
expect("just at the roof", told([1.5, 1.25], [9.0, 1.0]), [])
expect(
    "5 % above, 14 % above",
    [told([1, 1], [9.0, ms]) for ms in (0.953125, 0.875)],
    [[], ["it: above the roof"]],
)
expect(
    "float32's roof", told([1, 1], [9.0, 1.0], {**work, "dtype": "float32"}), ["it: above the roof"]
)
expect(
    "by the bytes",
    told([1, 1], [9.0, 1.0], {"flops": 10**9, "bytes": 2 * 10**8}),
    ["it: above the roof"],
)
expect("the clocks agree", told([1, 1], [7.0, 1.0]), [])
expect("10 times an empty one", told([1, 1], [2.0, 10 * clock], ten, clock), [])
expect("9 times", told([1, 1], [2.0, 9 * clock], ten, clock), ["it: too short"])
expect("host: the two in the middle", told([2.5, 1.5, 3.0, 1.0], [9.0, 1.75]), [])
expect("these, longer by events", told([2.5, 1.5, 3.0, 1.0], [9.0, 2.25]), ["it: not synchronized"])
expect("longer by a little", told([1.0, 1.0006, 1.0007], [9.0, 1.0008]), ["it: not synchronized"])
expect(
    "just twice, and more",
    [told([ms, 1, 1, 1], [9.0, 1.0]) for ms in (2, 2.25)],
    [[], ["it: first call"]],
)
expect("two slow calls of five", told([5, 1, 2.25, 2.5, 3], [9.0, 1.0]), [])
expect("three slow at the start", told([3, 2.5, 2, 1, 1.25, 1.25], [9.0, 1.0]), [])
expect("slow, but not the first", told([1, 9, 1, 1], [9.0, 1.0]), [])
expect("one call is too short", told([1.5, 0.5, 1.5, 1.5], [9.0, 1.0]), [])
expect("by both clocks", told([6, 2, 1, 1], [9.0, 5.0]), ["it: not synchronized", "it: first call"])
### BEGIN HIDDEN TESTS
near = fake.trial("near", [1.0, 1.0, 1.0], [7.0, 0.9375, 0.9375], **work)
above = fake.trial("above", [1.0, 1.0, 1.0], [7.0, 0.875, 0.875], **work)
twice = fake.trial("twice", [2.0, 1.0, 1.0], [1.0, 1.0, 1.0], 10**9, 10**6)
worse = fake.trial("worse", [0.9, 0.25, 0.4, 0.375], [1.0, 0.5, 0.5, 0.5], **work)
ramp = fake.trial("ramp", [3.0, 3.0, 9.0, 3.0, 3.0], [9.0, 2.5, 2.5, 4.0, 2.5], **work)
rows = {"gemm": [half, single], "stream": [copy], "trial": [near, above, twice, worse, ramp]}
expect(
    "borders",
    gpu_mistakes(fake.document(**rows)),
    [
        "above: above the roof",
        "worse: not synchronized",
        "worse: first call",
        "worse: above the roof",
    ],
)
gone = fake.trial("gone", [0.5, 0.5], [0.0, 0.0], **work)
edge = fake.trial("edge", [2.15, 1.0, 1.1], [2.0, 0.0390625, 0.0390625], 10**6, 10**6)
little = fake.document(gemm=[half, single], stream=[copy], trial=[edge, gone], empty_ms=1 / 256)
expect("nothing was timed", gpu_mistakes(little), ["gone: too short", "gone: above the roof"])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_trials", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
found = gpu_mistakes(record.document)
print(record.title("TFLOP/s, claimed"))
print(f"{'':<16}{'by the host':>12}{'by events':>12}")
for row in record.rows("trial"):
    reasons = [text.split(": ")[1] for text in found if text.startswith(f"{row['name']}:")]
    host, device = np.median(row["host_ms"]), events_to_ms(row["events"], "median")
    rates = [row["flops"] / max(ms, 1e-6) / 1e9 for ms in (host, device)]
    shown = f"{rates[0]:>12,.3f}{rates[1]:>12,.3f}"
    print(f"{row['name']:<16}{shown}   {', '.join(reasons) or 'valid'}")

# %% [markdown]
# Each of these has been published. What protects you: two clocks that agree, a time far above what an empty measurement takes, several sizes, and a roof that nothing may pass.
#
# On a card, the next cell keeps what was measured in `recorded.json`, and shows it against the data sheet. Download the file: beside the notebook, it takes the constructed one's place.

# %% nbgrader={"grade": false, "grade_id": "device_save", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
record.save()

# %% [markdown]
# ## Reflect
#
# Two figures that are often repeated: a launch costs about **1 ms**, and a matrix product is **267 times** faster on a GPU. Both can be tested.


# %% nbgrader={"grade": false, "grade_id": "reflect_launch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_launch(counts, total_ms) -> float:
    """What one launch costs, in µs: the slope of the straight line through all measurements.

    counts: how many launches, one number for each measurement. total_ms: how long they took
    together. The line is that of least squares, so that what each measurement costs once
    (waiting, say) is no part of the slope.
    Raises ValueError when lengths differ, for fewer than two, and when all counts are equal.
    """
    ### BEGIN SOLUTION
    if len(counts) != len(total_ms) or len(set(counts)) < 2:
        raise ValueError("a slope needs a time for each count, and two counts that differ")
    return float(np.polyfit(counts, total_ms, 1)[0]) * 1e3
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_launch", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect(
    "two counts",
    reflect_launch([1, 101], [0.5, 1.0]),
    5.0,
    rel=1e-6,
    mistakes={"what it costs once is in it": 9.90099},
)
expect("three, not on a line", reflect_launch([20, 0, 40], [4.0, 1.0, 4.5]), 87.5, rel=1e-6)
expect("every digit", reflect_launch([0, 512], [0.0, 1.0]), 1.953125, rel=1e-6)
expect_raises("one count", lambda: reflect_launch([7, 7], [1.0, 2.0]), ValueError)
expect_raises("more counts", lambda: reflect_launch([1, 2, 3], [1.0, 2.0]), ValueError)
expect_raises("more times", lambda: reflect_launch([1, 2], [1.0, 2.0, 4.0]), ValueError)
### BEGIN HIDDEN TESTS
expect("not on a line", reflect_launch([0, 10, 20], [1.0, 4.0, 4.0]), 150.0, rel=1e-6)
expect("in any order", reflect_launch([1000, 10, 100], [2.25, 0.27, 0.45]), 2.0, rel=1e-6)
expect("far apart", reflect_launch([1, 2, 1000], [0.0, 1.0, 4.0]), 3.5060075, rel=1e-6)
expect_raises("lengths differ", lambda: reflect_launch([5, 6, 7, 8], [1.0, 2.0, 3.0]), ValueError)
expect_raises("one", lambda: reflect_launch([5], [1.0]), ValueError)
expect_raises("none", lambda: reflect_launch([], []), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# A speed-up is a statement about two sides. The GPU ran at its peak at most. So the CPU, if it was slower by so many times, ran at a share of *its* peak that cannot have been larger than one can work out.


# %% nbgrader={"grade": false, "grade_id": "reflect_speedup", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_speedup(speedup, gpu_peak, cpu_peak) -> float:
    """The largest share of its own peak at which the CPU can have run, 0 to 1.

    speedup: how many times faster the GPU was on the same work, whatever the GPU's efficiency.
    gpu_peak, cpu_peak: FLOP/s. All above 0; ValueError otherwise.
    """
    ### BEGIN SOLUTION
    if min(speedup, gpu_peak, cpu_peak) <= 0:
        raise ValueError("a speed-up and two peaks must be above 0")
    return min(1.0, gpu_peak / speedup / cpu_peak)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_speedup", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("100 times, peaks of 1 to 20", reflect_speedup(100, 8e12, 4e11), 0.2)
expect("possible for a CPU at its peak", reflect_speedup(5, 8e12, 4e11), 1.0)
expect("a GPU that is slower", reflect_speedup(0.5, 1e12, 4e12), 0.5)
expect("every digit", reflect_speedup(300, 1e13, 9e11), 1 / 27)
expect_raises("no speed-up", lambda: reflect_speedup(0, 8e12, 4e11), ValueError)
expect_raises("a negative speed-up", lambda: reflect_speedup(-3, 8e12, 4e11), ValueError)
expect_raises("no GPU", lambda: reflect_speedup(3, 0.0, 4e11), ValueError)
expect_raises("a negative CPU", lambda: reflect_speedup(3, 8e12, -4e11), ValueError)
expect_raises("two negative", lambda: reflect_speedup(-3, -8e12, 4e11), ValueError)
### BEGIN HIDDEN TESTS
expect("267 times", reflect_speedup(267, 19.5e12, 1.5e12), 13 / 267, rel=1e-9)
expect("slower", reflect_speedup(0.5, 1e12, 1e12), 1.0)
expect("a small GPU", reflect_speedup(8, 1e12, 2e12), 0.0625)
expect_raises("no CPU", lambda: reflect_speedup(3, 1e12, 0.0), ValueError)
expect_raises("a negative peak", lambda: reflect_speedup(3, -1e12, 1e12), ValueError)
expect_raises("negative peaks", lambda: reflect_speedup(3, -1e12, -1e12), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_published", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
costs = {}
for row in record.rows("launch"):
    point = row["launches"], float(np.median(row["host_ms"]))
    costs.setdefault("a graph" if row["graph"] else "one by one", []).append(point)
kernels = []


def seen(call):
    kernels.extend([call.op] if not dispatch.OPS[call.op].view else [])
    return call()


with meta():
    model = models.gpt2("small")
with proflab.no_grad(), dispatch.hook(seen):
    model(Tensor.meta((1, 128), "int64"))
n = len(kernels)
print(f"a forward pass of GPT-2 small: {n} kernels, {n} ms of launches at 1 ms each")
for name, points in costs.items():
    cost = reflect_launch(*zip(*points, strict=True))
    print(
        f"{name}: {cost:.2f} µs a launch, {n * cost / 1e3:.2f} ms; 1 ms is {1e3 / cost:.0f} times that"
    )
rows = [row for row in record.rows("crossover") if row["where"] == "cpu"]
cpu = max(matmul_flops(*[row["n"]] * 3) / min(row["host_ms"]) * 1e3 for row in rows)
gpu = ceilings(record.document)["flops"]["float32"]
share = reflect_speedup(267, gpu, cpu)
print(f"267 times: the CPU, up to {cpu / 1e9:.0f} GFLOP/s here, ran at {share:.0%} of that at most")
title = record.title("Launches of a kernel that does nothing")
cuda.picture.lines(costs, x="launches", y="ms", log="xy", title=title)

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). A page says: "We timed `c = a @ b` with `time.time()` before and after, on a T4. The GPU is 267 times faster than the CPU. Launching a kernel costs about 1 ms, so use large batches." Answer from the document that your notebook drew, and say which one that was.
#
# 1. What has the page timed? Which of the reasons of section 7 would show that, and how?
# 2. What does a launch cost by the document? What would 1 ms a launch mean for a forward pass of GPT-2 small, and what may the page have taken for a launch?
# 3. At what share of its peak did the CPU run at most, if 267 is right? What may it have run? What do you write beside a speed-up of your own?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_gpu", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** *3 points:* the queueing, for nothing waits for the device: the host's clock shows less than the events ("not synchronized"); with the first call in it, compilation or loading ("first call"); perhaps both, and which of them can be told by trying a size eight times as large: queueing takes the same. *4 points:* slope of the launches, from reflect_launch, in µs, with the document named (constructed, or card and date); the number of kernels times 1 ms against times that; a graph's cost; what may have been taken for a launch: the first call, a copy, an allocation, a synchronization, or a launch and the whole wait. *3 points:* reflect_speedup with the document's peaks, calculated: the CPU at a small part of its peak, so a Python loop, one thread, a library without BLAS, another data type, or a time that is wrong on the GPU's side (1.). Beside a speed-up: both codes, sizes, data types and devices, threads, with copies or without, how each was timed, clock and date. Up to 2 points off for figures without a unit or a calculation, or for calling the constructed document a measurement.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A launch queues. Only an event, or a clock read after waiting, says how long something took.
# - A roof is measured by a kernel that does one thing, by the best of many; a workload by the median, on fresh inputs, from a cold cache.
# - Few threads need several accumulators; many hide the waiting by themselves.
# - Left of the ridge, bytes decide: fuse, and use smaller types. Right of it, use the tensor cores.
# - Nothing is above a roof. What seems to be was not computed.
# - A speed-up is a statement about the slower side.
#
# **Next.** Lesson 11 makes a training run on a GPU two to three times faster, and finds out where its time went.
