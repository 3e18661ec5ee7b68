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
# ![Two rooflines on logarithmic axes, of an A100 and an H200; below them measured kernels of growing intensity, coloured by wall: memory on the slopes, compute on the ceilings, both at the ridges.](roofs.png) <!-- with place -->
#
# **Without a graphics card** you get all exercises, all points and all plots: they work on *documents*, files of measurements.
# `cards.json` holds what others measured on cards from the V100 to the H200.
# `constructed_t4.json` is *constructed*: a script made its numbers from a data sheet.
# No card was measured for it; the two in the picture were.
# **With a card**, the same cells measure yours.
# Colab lends one: *Runtime → Change runtime type → T4 GPU*.
#
# A GPU multiplies matrices 267 times faster than a CPU, it is said, and launching a kernel costs 1 ms.
# Such numbers are easy to get: stop the clock before the GPU is done, or give the CPU a slow program.
# Here you see what is wrong with that, and how fast a card *could* be. <!-- with place -->
#
# **You will be able to**
#
# - write the lines of a kernel, say what it computed and moved, and what the hardware makes of it;
# - time a device by its own clock, and tell a measurement from a mistake;
# - place work under the roofs of a card, say what would make it faster, what it costs in joules, and when a GPU is worth it.
#
# **You need** the FLOPs of a matrix product (lesson 02), and no more C than you can guess.
#
# In all exercises, arguments stay as they are, and a tuple does for a list.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
from string import Template

import demos  # what only this lesson draws and counts: a file beside this notebook
import kernel_doubles as fake  # what test cells use: small documents, and C that Python runs

# %% nbgrader={"grade": false, "grade_id": "record", "locked": true, "schema_version": 3, "solution": false, "task": false}
import loops  # what the device cells launch
import numpy as np
import roofline_document
from built import ELEMENTWISE, elementwise_flops, matmul_flops, op_flops  # from lesson 02

from proflab.lesson import cuda, expect, expect_raises, expect_table, guesses

record = cuda.Record("constructed_t4.json", form=roofline_document)  # on a card: your own
cards = cuda.Record("cards.json", form=roofline_document, own=False)  # measured by others

# %% nbgrader={"grade": false, "grade_id": "demo_document", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints what the documents are, and what was assumed for one.
for name, each in {"First document": record, "Second document": cards}.items():
    document = each.document
    print(f"{each.title(name)}. {document.get('note', document['command'])}")
    for what, value in document.get("model", {}).items():
        print(f"  assumed: {what} = {value:g}")

# %% [markdown]
# Each title says what it shows: the first document does not show what a T4 does.
# Cells with `record.measure` measure your card; without one each prints a line.
#
# ## 1 · A kernel that only computes
#
# A *kernel* is a C function that a GPU runs once for each *thread*.
# Threads come in blocks, each of which runs on one of the card's *multiprocessors* (a T4 has 40).
# There 32 threads at a time, a *warp*, take the same step.
# The step that data sheets count is the *FMA* (fused multiply-add), a · b + c: two FLOPs in one instruction.
#
# An FMA's result is ready about four cycles later.
# In a *chain* each FMA takes the result of the one before, so a chain mostly waits.
# A multiprocessor fills that time with other warps, or with other chains of the same thread, each with an *accumulator* (a variable) of its own:
#
# ![Two rows of boxes over sixteen cycles. One accumulator: a box every fourth cycle, the rest empty. Four accumulators in four colours: a box in every cycle.](chains.png)
#
# A compiler leaves out what nobody needs, so the kernel stores the sum of all accumulators.

# %% nbgrader={"grade": false, "grade_id": "fma_kernel", "locked": true, "schema_version": 3, "solution": false, "task": false}
GPU_FMA = Template("""
extern "C" __global__ void fma_chains(float *out, float x, float y, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // the number of this thread
    float $seeds;
    #pragma unroll 8
    for (int turn = 0; turn < turns; turn++) {
        $lines
    }
    out[i] = $total;
}
""")

# %% [markdown]
# **Predict** (*constructed*).
# Each multiprocessor of a T4 can start 64 FMAs in a cycle, and a result takes four cycles.
# A multiprocessor runs 128 threads with one accumulator each.
# What share of its peak does it reach?

# %% tags=["guess"]
guess_gpu_one_chain = None  # your guess, in percent of the peak


# %% nbgrader={"grade": false, "grade_id": "fma_lines", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fma_lines(accumulators):
    """Return the body of the loop: one FMA for each accumulator, none waiting for another.

    accumulators: int, at least 1. In the kernel they are called a0, a1, a2, …
    Returns a string of C with one statement for each accumulator, "name = expression;". It sets
    the accumulator to fmaf(accumulator, x, y), which is accumulator · x + y.
    Raises ValueError when accumulators is below 1.

    >>> fake.run_lines(fma_lines(2), a0=1.0, a1=2.0, x=10.0, y=0.5)  # Python runs the C
    {'a0': 10.5, 'a1': 20.5}
    """
    ### BEGIN SOLUTION
    if accumulators < 1:
        raise ValueError(f"there must be at least 1 accumulator, not {accumulators}")
    return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fma_lines", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
lines = fma_lines(3)
after = fake.run_lines(lines, a0=1.0, a1=2.0, a2=3.0, x=10.0, y=0.5)
expect("three accumulators", after, {"a0": 10.5, "a1": 20.5, "a2": 30.5})
expect("three FMAs", lines.count("fmaf"), 3)
expect("none of them waits for another", fake.chain_length(lines), 1)
eleven = fake.run_lines(fma_lines(11), **{f"a{n}": n for n in range(11)}, x=2.0, y=1.0)
expect("eleven accumulators", [eleven[f"a{n}"] for n in range(11)], np.arange(11) * 2.0 + 1.0)
alone = fake.run_lines(fma_lines(1), a0=1.0, x=10.0, y=0.5)
expect("a single accumulator", alone, {"a0": 10.5})
expect_table(fma_lines, ("no accumulators, or fewer", [(0,), (-1,)], ValueError))
### BEGIN HIDDEN TESTS
# vary: 3.0 in 2.0..4.5, 2.0 in 1.33..3.0, 7.0 in 4.67..10.5
one = fake.run_lines(fma_lines(1), a0=3.0, x=2.0, y=7.0)
expect("one accumulator is a0", one, {"a0": 13.0})
values = {f"a{n}": float(n) for n in range(12)}
twelve = fake.run_lines(fma_lines(12), **values, x=3.0, y=-1.0)
shown = [twelve.get(f"a{n}") for n in range(12)]
expect("each accumulator becomes itself · x + y", shown, np.arange(12) * 3.0 - 1.0)
expect("nothing but the accumulators is assigned", len(twelve), 12)
shape = [fake.count_fmaf(fma_lines(12)), fake.chain_length(fma_lines(12))]
expect("twelve FMAs run side by side, not in a chain", shape, [12, 1])
expect(
    "two FMAs read their accumulators, x and y",
    fake.names_read(fma_lines(2)),
    ["a0", "a1", "x", "y"],
)
expect("an FMA reads its own accumulator alone", fake.names_read(fma_lines(1)), ["a0", "x", "y"])
# viva: fake.run_lines(fma_lines(2), a0=1.0, a1=2.0, x=10.0, y=0.5)
# viva: fake.run_lines(fma_lines(3), a0=1.0, a1=2.0, a2=4.0, x=3.0, y=1.0)['a2']
# viva: fake.run_lines(fma_lines(1), a0=5.0, x=2.0, y=7.0)
# viva: fma_lines(4).count('fmaf')
# viva: fake.chain_length(fma_lines(3))
# viva: fma_lines(12).count('a1')
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "fma_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fma_flops(threads, fmas, accumulators) -> int:
    """Return the FLOPs of a launch of FMA chains; an FMA is a multiplication and an addition.

    threads: how many there are in all blocks together. accumulators: the chains of each thread.
    fmas: the FMAs of each chain. All are ints, at least 1. Returns an int.
    Raises ValueError when one of them is below 1.

    >>> fma_flops(threads=64, fmas=10, accumulators=2)
    2560
    """
    ### BEGIN SOLUTION
    if min(threads, fmas, accumulators) < 1:
        raise ValueError(f"all must be at least 1, not {threads}, {fmas} and {accumulators}")
    return 2 * threads * fmas * accumulators
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_fma_flops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("one FMA", fma_flops(1, 1, 1), 2, mistakes={"an FMA is one operation": 1})
expect("by name", fma_flops(accumulators=3, threads=128, fmas=5), 3840)
expect("40 multiprocessors", fma_flops(40 * 1024, 32_768, 8), 21_474_836_480)
expect("beyond 2⁶³, every digit", fma_flops(10**9 + 7, 10**9 + 9, 6), 12_000_000_192_000_000_756)
expect_table(
    fma_flops,
    (
        "no threads, no FMAs, no accumulators; two negative numbers",
        [(0, 5, 5), (4, 0, 5), (4, 5, 0), (-4, -5, 2)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 5 in 2..10, 7 in 2..14
expect("threads, FMAs and accumulators are multiplied", fma_flops(3, 5, 7), 210)
large = fma_flops(10**9 + 9, 10**10 + 1, 7)
expect("a large count keeps every digit", large, 140_000_001_274_000_000_126)
### END HIDDEN TESTS

# %% [markdown]
# `fma_flops` counts what a launch of such chains computes.
# On a card, the next cell launches your lines, in few threads and in many.

# %% nbgrader={"grade": false, "grade_id": "device_fma", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: measures the FMA chains.
record.measure("fma", lambda gpu: loops.fma(gpu, demos.chains(GPU_FMA, fma_lines)))

# %% [markdown]
# ## 2 · A kernel that only moves
#
# To measure memory, do next to nothing with a lot of data.
# The usual benchmark, [STREAM](https://www.cs.virginia.edu/stream/ref.html), has four kernels: *copy* a = b, *scale* a = s · b, *add* a = b + c, and *triad* a = b + s · c.
# Add moves what triad moves; we leave it out.
#
# `stream_line` gives the line of C of such a kernel, and `stream_bytes` counts what one pass moves.
#
# Each thread takes four floats at once, a `float4`.
# `__ldcg` reads past the small cache of each multiprocessor (L1).
# So we measure the *L2 cache*, which all multiprocessors share, or, with far larger buffers, the card's *memory* ("dram" in the document).
#
# **Predict.** How many times as fast does an H200 read from its L2 cache as from its memory?

# %% tags=["guess"]
guess_gpu_l2 = None  # your guess: how many times as fast?

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


# %% nbgrader={"grade": false, "grade_id": "stream_line", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream_line(kernel):
    """Return the line of C that a stream kernel does to one float.

    kernel: "copy", a = b; "scale", a = s · b; or "triad", a = b + s · c. All four are floats.
    Returns a string, "a = expression;", that reads only what its kernel needs.
    Raises ValueError for any other name, "add" too.

    >>> fake.run_lines(stream_line("scale"), b=2.0, s=4.0)  # Python runs the C
    {'a': 8.0}
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
expect_table(
    stream_line,
    ("add, a name with spaces, a capital letter", [("add",), (" copy ",), ("Copy",)], ValueError),
)
### BEGIN HIDDEN TESTS
others = {"b": -2.0, "c": 0.5, "s": 4.0}
results = [fake.run_lines(stream_line(k), **others) for k in ("copy", "scale", "triad")]
expect("each kernel computes its a, signs too", results, [{"a": -2.0}, {"a": -8.0}, {"a": 0.0}])
read = [fake.names_read(stream_line(kernel)) for kernel in ("scale", "triad")]
expect("a kernel reads only what it needs", read, [["b", "s"], ["b", "c", "s"]])
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "stream_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def stream_bytes(elements, reads, writes, itemsize) -> int:
    """Return the bytes that one pass of a streaming kernel moves, an int.

    elements: numbers in each buffer, at least 1. itemsize: bytes of a number, at least 1.
    reads, writes: how many buffers are read, and written; at least 0, and not both 0.
    All are ints. Raises ValueError when one is smaller than that, or reads and writes are both 0.

    >>> stream_bytes(1000, reads=1, writes=1, itemsize=4)
    8000
    """
    ### BEGIN SOLUTION
    if min(elements, itemsize, reads + writes) < 1 or min(reads, writes) < 0:
        raise ValueError("elements, itemsize and buffers must be at least 1, and none negative")
    return elements * (reads + writes) * itemsize
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_stream_bytes", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
copy = stream_bytes(2**26, 1, 1, 4)
expect("a copy", copy, 536_870_912, mistakes={"the write is left out": 268_435_456})
others = [stream_bytes(2**26, 2, 1, 4), stream_bytes(7, 3, 2, 8), stream_bytes(77, 1, 0, 4)]
expect("a triad; two buffers written; a sum, which only reads", others, [805_306_368, 280, 308])
large = stream_bytes(10**15 + 3, 10**3, 1, 16)
expect("more than 2⁶³, every digit", large, 16_016_000_000_000_048_048)
expect_table(
    stream_bytes,
    (
        "a kernel moves something; no elements, no bytes; one below 0; two below 0",
        [
            (10, 0, 0, 4),
            (0, 1, 1, 4),
            (10, 1, 1, 0),
            (10, 3, -1, 4),
            (2, 1, 1, -4),
            (-10, 1, 1, 4),
            (-10, 1, 1, -4),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 1000 in 666..1_500, 4 in 2..9, 2 in 2..9
expect("all buffers count, read or written", stream_bytes(1000, 4, 2, 2), 12_000)
# vary: 77 in 51..115
expect("a double has eight bytes", stream_bytes(77, 1, 0, 8), 616)
# vary: 77 in 51..115, 8 in 2..16
expect("a fill only writes", stream_bytes(77, 0, 1, 8), 616)
large = stream_bytes(10**18 + 1, 10, 1, 8)
expect("a large count keeps every digit", large, 88_000_000_000_000_000_088)
### END HIDDEN TESTS

# %% [markdown]
# The next cell copies buffers of many sizes.
# A small copy is over too soon to be timed, so the kernel makes many `passes`.
# The *sweep*, between moving and computing, reads a float, does 1 to 1,024 FMAs with it, and writes it back.

# %% nbgrader={"grade": false, "grade_id": "device_stream", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: measures the stream kernels, a triad by few and many threads, and the sweep.
kernels = demos.streams(GPU_STREAM, stream_line)
record.measure("stream", lambda gpu: loops.stream(gpu, kernels))
record.measure("in_flight", lambda gpu: loops.in_flight(gpu, kernels))
record.measure("sweep", loops.sweep)

# %% [markdown]
# ### A kernel in Python
#
# **Optional.** In [Triton](https://triton-lang.org/), a *program* computes with blocks of numbers: `x + column` is a block of pointers, and a *mask* says which count.
# As three kernels (subtract the row's maximum, exponentiate, divide by the sum), a softmax makes three trips to memory.
# One kernel that keeps its row makes one.

# %% nbgrader={"grade": false, "grade_id": "triton", "locked": true, "schema_version": 3, "solution": false, "task": false}
# by_rows runs a kernel in NumPy and counts its bytes; tl stands for triton.language.
from proflab.lesson.cuda.rows import by_rows, tl


# %% nbgrader={"grade": false, "grade_id": "softmax_row", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_row(out, x, columns, block: tl.constexpr):
    """Write the softmax of one row, as a Triton kernel, launched once for each row. (Optional.)

    out, x: pointers to the first float32 of two matrices of one shape, row after row.
    columns: the length of a row. block: a power of two, at least `columns`.
    A row's softmax is e to each number less the row's largest, over the sum of these powers.
    Programs run in any order. Each number of the row is read once and written once, and nothing
    else; what a load's mask leaves out is `other`, or undefined. Only `out` is written.
    `tl` has program_id(0), which is the row's number, arange(0, block), load(pointer, mask=,
    other=), store(pointer, value, mask=), max, sum, exp and where(condition, then, otherwise).

    >>> by_rows(softmax_row, [[2.0, 2.0]], block=4)
    {'out': [[0.5, 0.5]], 'read': 8, 'written': 8}
    """
    ### BEGIN SOLUTION
    column = tl.arange(0, block)
    inside = column < columns
    place = tl.program_id(0) * columns + column
    row = tl.load(x + place, mask=inside, other=float("-inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + place, powers / tl.sum(powers, axis=0), mask=inside)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_softmax_row", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
logs = [[math.log(n) for n in row] for row in ([1, 2, 5], [6, 1, 1])]
expect_table(
    lambda x, block: by_rows(softmax_row, x, block)["out"],
    ("a row that fills its block", ([[0.0] * 4], 4), [[0.25] * 4]),
    ("rows of three, blocks of four", (logs, 4), [[0.125, 0.25, 0.625], [0.75, 0.125, 0.125]]),
    ("blocks of sixteen", (logs, 16), [[0.125, 0.25, 0.625], [0.75, 0.125, 0.125]]),
    ("large numbers", ([[900.0, 900.0, 0.0]], 4), [[0.5, 0.5, 0.0]]),
    (
        "far below 0",
        ([[-900.0] * 3], 4),
        [[1 / 3] * 3],
        {"what lies beyond the row, as zeros, is in the maximum": [[0.0] * 3]},
    ),
    ("rows of one number", ([[3.0], [-4.0]], 1), [[1.0], [1.0]]),
    rel=1e-6,
)
moved = by_rows(softmax_row, logs, 8)
expect("bytes read", moved["read"], 24, mistakes={"x is read twice": 48, "three times": 72})
expect("bytes written", moved["written"], 24)
### BEGIN HIDDEN TESTS
# vary: 50 in 33..75, 4 in 2..9, 2 in 2..9, 8 in 2..16
logs = [[math.log(n) - 50 * sign for n in (4, 1, 2, 1, 8)] for sign in (1, -1, 0)]
found = by_rows(softmax_row, logs, 8)
expect(
    "each row by its own numbers", found["out"], [[0.25, 0.0625, 0.125, 0.0625, 0.5]] * 3, rel=1e-5
)
expect("each number is moved once each way", [found["read"], found["written"]], [60, 60])
found = by_rows(softmax_row, [[0.0] * 5] * 2, 32)["out"]
expect("a block may be far longer than a row", found, [[0.2] * 5] * 2, rel=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_softmax_row", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the bytes of your kernel beside those of three kernels, and what Triton makes of it.
import on_triton

x = np.random.default_rng(0).normal(size=(64, 1000)).astype(np.float32)
fused = by_rows(softmax_row, x, block=1024)
three = 3 * stream_bytes(x.size, reads=1, writes=1, itemsize=4)
mine = fused["read"] + fused["written"]
print(f"{mine:,} bytes; three kernels move {three:,}, {three / mine:.1f} times as many")
print(on_triton.compare(softmax_row, x, 1024, fused["out"]))

# %% [markdown]
# ## 3 · What the hardware makes of it
#
# A multiprocessor of a T4 has 65,536 registers and 64 KB of *shared memory*, a store that a block's threads address themselves.
# Three counts say how well a kernel uses it.
#
# **Sectors.** Memory moves in *sectors* of 32 bytes.
# When a warp reads, every sector in which one of its 32 addresses lies is fetched once. 32 neighbouring floats are 128 bytes in 4 sectors, all used.
# In a column of a large matrix each lies in a sector of its own, of which an eighth is used.


# %% nbgrader={"grade": false, "grade_id": "warp_sectors", "locked": false, "schema_version": 3, "solution": true, "task": false}
def warp_sectors(addresses, itemsize) -> int:
    """Return how many 32-byte sectors are fetched when each thread of a warp reads one item.

    addresses: 1 to 32 ints, the byte at which each thread's item begins. Sectors begin at 0, 32, …
    itemsize: bytes of an item: 1, 2, 4, 8 or 16. An item begins at a multiple of its size.
    Raises ValueError for another size or address, an address below 0, none, and more than 32.

    >>> warp_sectors([0, 4, 32, 100], 4)  # bytes 0 to 31 twice, 32 to 63, 96 to 127
    3
    """
    ### BEGIN SOLUTION
    if itemsize not in (1, 2, 4, 8, 16) or not 1 <= len(addresses) <= 32:
        raise ValueError(f"a warp reads 1 to 32 items, not {len(addresses)} of {itemsize} bytes")
    if any(address < 0 or address % itemsize for address in addresses):
        raise ValueError(f"an item of {itemsize} bytes begins at a multiple of {itemsize}")
    return len({address // 32 for address in addresses})
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_warp_sectors", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    warp_sectors,
    ("floats side by side", ([4 * i for i in range(32)], 4), 4),
    ("every other float", ([8 * i for i in range(32)], 4), 8),
    ("every eighth float", ([32 * i for i in range(32)], 4), 32),
    ("one float for all", ([64] * 32, 4), 1),
    ("a single thread", ([4], 4), 1),
)
### BEGIN HIDDEN TESTS
found = [warp_sectors([8 * s * i for i in range(32)], 8) for s in (1, 3, 4)]
expect("doubles take twice the sectors, up to one a thread", found, [8, 24, 32])
halves = warp_sectors([2 * (i // 2) + 20 for i in range(32)], 2)
expect("a sector that many want is fetched once", halves, 2)
expect("every third float", warp_sectors([12 * i for i in range(32)], 4), 12)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_warp_sectors_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    warp_sectors,
    (
        "floats, shifted by one",
        ([4 + 4 * i for i in range(32)], 4),
        5,
        {"the bytes are counted, not where they lie": 4},
    ),
    (
        "float4, shifted by one",
        ([16 + 16 * i for i in range(32)], 16),
        17,
        {"the bytes are counted, not where they lie": 16},
    ),
    ("in any order, with gaps", ([124, 0, 96, 4], 4), 2),
    ("neighbours in two sectors", ([28, 32], 4), 2),
)
addresses = [96, 0, 4]
warp_sectors(addresses, 4)
expect("the addresses stay", addresses, [96, 0, 4])
### BEGIN HIDDEN TESTS
few = [warp_sectors([7], 1), warp_sectors(list(range(30, 34)), 1), warp_sectors([1008, 0, 16], 16)]
expect("a warp may be part idle, and bytes may lie in two sectors", few, [1, 2, 2])
# vary: 37 in 24..55, 101 in 67..151
random = [4 * ((i * 37) % 101) for i in range(32)]
expect("what counts is where addresses are, not in which order", warp_sectors(random, 4), 13)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_warp_sectors_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    warp_sectors,
    (
        "items of 3 and of 32 bytes; whatever else is refused",
        [([0], 3), ([0], 32), ([2], 4), ([], 4), ([0] * 33, 4), ([-32], 4)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 16 in 10..24
expect("32 addresses are not too many", warp_sectors([96 * (i % 16) for i in range(32)], 8), 16)
expect("three items may lie in three sectors", warp_sectors([0, 32, 64], 16), 3)
### END HIDDEN TESTS

# %% [markdown]
# **Banks.** Shared memory has 32 *banks* side by side; word *w* (4 bytes) lies in bank *w* mod 32.
# In each step a bank hands out one word, to all threads that want it.
# A column of a tile with rows of 32 floats lies in one bank: 32 steps.
# With rows of 33, the last float unused, it lies in all: one step.


# %% nbgrader={"grade": false, "grade_id": "bank_conflicts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def bank_conflicts(words) -> int:
    """Return how many steps shared memory takes for a warp's read: 1 where nothing conflicts.

    words: 1 to 32 ints, the number of the word that each thread reads.
    Raises ValueError for no words, more than 32, and one below 0.

    >>> bank_conflicts([0, 32, 64, 1])  # three words of bank 0, one of bank 1
    3
    """
    ### BEGIN SOLUTION
    if not 1 <= len(words) <= 32 or min(words) < 0:
        raise ValueError(f"a warp reads 1 to 32 words, none below 0, not {words}")
    banks = [word % 32 for word in set(words)]
    return max(banks.count(bank) for bank in banks)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_bank_conflicts", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    bank_conflicts,
    ("every word", ([i for i in range(32)],), 1),
    ("every second word", ([2 * i for i in range(32)],), 2),
    ("a column of rows of 32", ([32 * i for i in range(32)],), 32),
    ("a column of rows of 33", ([33 * i for i in range(32)],), 1),
    ("a single thread", ([7],), 1),
)
### BEGIN HIDDEN TESTS
# vary: 48 in 24..72 by 8
found = [bank_conflicts([stride * i for i in range(32)]) for stride in (0, 3, 4, 48)]
expect("what a stride shares with 32 is its conflict", found, [1, 1, 4, 16])
found = bank_conflicts([24 * i for i in range(32)])
expect("a stride of 24 meets each of its banks eight times", found, 8)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_bank_conflicts_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
words = [64, 0, 0, 0, 32]
expect_table(
    bank_conflicts,
    ("one word for all", ([5] * 32,), 1, {"one word conflicts with itself": 32}),
    ("banks of different load", ([0, 0, 32, 1, 33, 65, 2],), 3),
    ("neighbours, of the last bank and the first", ([31, 32],), 1),
    ("a word that three want, and two others of its bank", (words,), 3),
)
bank_conflicts(words)
expect("the words stay", words, [64, 0, 0, 0, 32])
### BEGIN HIDDEN TESTS
# vary: 32 in 19..47, 64 in 49..79, 96 in 81..119
found = bank_conflicts([0, 32, 32, 64, 64, 64, 96, 5])
expect("a word is handed out once, however many want it", found, 4)
expect("the fullest bank counts, not the last", bank_conflicts([1, 33, 65, 97, 129, 2, 34, 3]), 5)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_bank_conflicts_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    bank_conflicts,
    ("no words, and more than 32; a word below 0", [([],), ([0] * 33,), ([3, -1],)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 128 in 85..192
expect("32 words are not too many", bank_conflicts([128 * (i % 16) for i in range(32)]), 16)
# vary: 96 in 64..144
expect("the first word may be 0", bank_conflicts([96 * i for i in range(6)]), 6)
### END HIDDEN TESTS

# %% [markdown]
# **Occupancy.** A warp that waits costs nothing as long as another can go on.
# *Occupancy* is the share of the possible warps that are on a multiprocessor.
# A block comes as a whole, where there is room for its threads, registers and shared memory. 256 threads of 65 registers, which the hardware rounds up to 72, take 18,432 registers.
# So 3 such blocks fit, 768 of a T4's 1,024 threads: 0.75.
# (From compute capability 8.0 on, 1 KB of shared memory a block is the driver's; we leave that out.)
#
# **Predict.** A kernel streams through the memory of an A100 at an occupancy of one eighth.
# What share of the best bandwidth does it reach?

# %% tags=["guess"]
guess_gpu_eighth = None  # your guess, in percent


# %% nbgrader={"grade": false, "grade_id": "occupancy", "locked": false, "schema_version": 3, "solution": true, "task": false}
def occupancy(threads, registers, shared, card) -> float:
    """Return the share of a multiprocessor's possible warps that are on it, 0 to 1.

    threads, shared: of a block, shared memory in bytes. registers: of a thread.
    card: dict of the threads, registers, shared and blocks for which a multiprocessor has room.
    It takes as many whole blocks as all four allow, perhaps none. A block's threads are rounded
    up to whole warps of 32, and a thread's registers to a multiple of 8.
    Raises ValueError for threads or registers below 1, and shared below 0.

    >>> card = {"threads": 1024, "registers": 65_536, "shared": 65_536, "blocks": 16}
    >>> occupancy(512, 60, 40_000, card)  # shared memory for one block of two
    0.5
    """
    ### BEGIN SOLUTION
    if min(threads, registers) < 1 or shared < 0:
        raise ValueError(f"no block has {threads} threads, {registers} registers, {shared} bytes")
    places = math.ceil(threads / 32) * 32
    needs = {"threads": places, "registers": places * math.ceil(registers / 8) * 8}
    needs |= {"shared": shared} if shared else {}
    blocks = min(card["blocks"], *(card[name] // need for name, need in needs.items()))
    return blocks * places / card["threads"]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_occupancy", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
t4 = {"threads": 1024, "registers": 65_536, "shared": 65_536, "blocks": 16}
expect_table(
    occupancy,
    ("256 threads of 32 registers", (256, 32, 0, t4), 1.0),
    ("of 65, rounded up to 72", (256, 65, 0, t4), 0.75),
    ("128 threads of 97, rounded up to 104", (128, 97, 0, t4), 0.5),
    ("shared memory for three blocks", (256, 32, 20_000, t4), 0.75),
    ("16 blocks of one warp, and no more", (32, 8, 0, t4), 0.5),
    ("a thread takes a warp's room", (1, 1, 0, t4), 0.5),
    ("registers for not one block", (1024, 65, 0, t4), 0.0),
    ("shared memory for not one block", (64, 8, 65_537, t4), 0.0),
)
### BEGIN HIDDEN TESTS
# vary: 128 in 85..192
found = [occupancy(256, registers, 0, t4) for registers in (64, 128)]
expect("more registers, fewer blocks", found, [1.0, 0.5])
# vary: 128 in 85..192
found = [occupancy(128, registers, 0, t4) for registers in (73, 104)]
expect("a thread's registers are rounded up to a multiple of 8", found, [0.75, 0.5])
found = [occupancy(100, 41, 0, t4), occupancy(1, 1, 0, t4), occupancy(992, 24, 0, t4)]
expect("a warp that is not full takes a whole warp's room", found, [1.0, 0.5, 0.96875])
found = occupancy(768, 96, 0, t4)
expect("where no block fits there are no warps", found, 0.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_occupancy_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
turing = {"threads": 1024, "registers": 65_536, "shared": 65_536, "blocks": 16}
large = {"threads": 2048, "registers": 65_536, "shared": 98_304, "blocks": 32}
expect_table(
    occupancy,
    ("33 threads take two warps", (33, 8, 0, turing), 1.0),
    ("70 threads take three, 33 registers are 40", (70, 33, 0, turing), 0.9375),
    ("100 threads of 104 registers", (100, 104, 0, turing), 0.5),
    ("threads for not one block", (1056, 8, 0, turing), 0.0),
    ("another card, its shared memory", (64, 40, 3_000, large), 0.78125),
    ("another card, its blocks", (32, 8, 0, large), 0.5),
)
occupancy(64, 40, 3_000, large)
expect("the card stays", sorted(large.values()), [32, 2048, 65_536, 98_304])
### BEGIN HIDDEN TESTS
expect("256 threads of 66 registers are 3 blocks", occupancy(256, 66, 0, turing), 0.75)
other = {"threads": 2048, "registers": 65_536, "shared": 98_304, "blocks": 32}
found = [occupancy(*block, other) for block in ((256, 32, 0), (256, 33, 0), (128, 255, 0))]
expect("another card has other limits", found, [1.0, 0.75, 0.125])
# vary: 1024 in 682..1_024
found = [occupancy(*block, other) for block in ((64, 8, 8192), (1024, 32, 49_152), (32, 8, 0))]
expect("the scarcest of four decides", found, [0.375, 1.0, 0.5])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_occupancy_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
gpu = {"threads": 1024, "registers": 65_536, "shared": 65_536, "blocks": 16}
expect_table(
    occupancy,
    (
        "no threads, no registers; shared memory below 0",
        [(0, 32, 0, gpu), (32, 0, 0, gpu), (32, 32, -1, gpu)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 352 in 234..528
expect("no shared memory is not too little", occupancy(352, 8, 0, gpu), 0.6875)
# vary: 224 in 149..336
expect("a byte of shared memory is enough", occupancy(224, 8, 1, gpu), 0.875)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_hardware", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints how much of what is fetched is used, and draws occupancy by registers.
for name, stride in {"a row": 1, "every other number": 2, "a column": 1024}.items():
    used = 100 * 4 / warp_sectors([4 * stride * i for i in range(32)], 4)
    print(f"{name}: {used:.1f} % of the bytes that are fetched are used")
limits, shares = cuda.multiprocessor(record.document["card"]), {}
for t in (1024, 256, 128):
    shares[f"blocks of {t}"] = [(n, occupancy(t, n, 0, limits)) for n in range(16, 256)]
demos.lines(shares, x="registers a thread", y="occupancy", title=limits["name"])

# %% [markdown]
# CUDA 12.9's compiler gives your chains 8 registers a thread with one accumulator and 23 with eight: on a T4, all 1,024 threads have room.
# Full occupancy is no aim: a thread with four chains waits as little as four threads with one ([Volkov 2010](https://www.nvidia.com/content/GTC-2010/pdfs/2238_GTC2010.pdf)).
#
# ## 4 · The device's own clock
#
# A launch only *queues* a kernel, and the host goes on at once.
# If it stops its clock then, it has timed the queueing.
# It can wait for the device first (`torch.cuda.synchronize()`), but then its time includes the way there and back.
# *Events* are better: an event is queued like a kernel, and when its turn comes, the device notes the time.
#
# ![Two lines of time. The host queues flush, start, kernel and end, and waits. The device flushes its cache, and passes the start event before the kernel, the end event after it. The time between them is what is wanted.](events.png)
#
# Our loops queue everything before they wait, so that the device never idles between an event and its kernel.
# Where it matters, they first overwrite the L2 cache, outside the events; its dirty lines are written back while the kernel runs.
#
# The first launches are different: memory is fetched, the clock is still low.
# This *warm-up* has to be left out.
# But a rule that looks at the times chooses the result, so ours only counts.
#
# **Predict** (*constructed*).
# A kernel that nobody has compiled yet goes over 128 MB ten times.
# How many times as long as the median does its first launch take?

# %% tags=["guess"]
guess_gpu_first_launch = None  # your guess: how many times as long?


# %% nbgrader={"grade": false, "grade_id": "events_to_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def events_to_ms(events, reduce) -> float:
    """Return one time, in ms, from the event pairs of a measurement.

    events: a list of pairs (start, end) in ms, in the order in which they were taken. The first
        fifth of them, rounded up to a whole number, is warm-up and left out, whatever it shows.
    reduce: "best", the shortest of the rest, or "median" (of two in the middle, their mean).
    Raises ValueError for any other reduce, when no pair is left, and when any pair, one of the
    warm-up included, ends before it starts. A pair may be 0 ms long, and counts like any other.

    >>> events_to_ms([(0, 9), (10, 12), (20, 23), (30, 34)], "median")  # without the first
    3.0
    """
    ### BEGIN SOLUTION
    lengths = [end - start for start, end in events]
    kept = lengths[math.ceil(len(lengths) / 5) :]
    if reduce not in ("best", "median") or not kept or min(lengths) < 0:
        raise ValueError(f"no {reduce!r} of {len(events)} event pairs: see what events_to_ms takes")
    return min(kept) if reduce == "best" else float(np.median(kept))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_events_to_ms", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
events = fake.events(9.0, 2.0, 2.5, 2.25, 3.5)  # pairs of these lengths: [1.0, 10.0], …
six = fake.events(0.5, 0.75, 7.0, 3.0, 5.125, 4.0)
expect_table(
    events_to_ms,
    ("the median of four", (events, "median"), 2.375, {"warm-up is in it": 2.5}),
    ("the best of four", (events, "best"), 2.0),
    ("two of six are dropped, fast as they are", (six, "best"), 3.0),
    ("and are not in the median", (six, "median"), 4.5625),
    ("a seventh pair, of 0 ms", ([*six, [90.0, 90.0]], "best"), 0.0),
    ("it counts in the median, too", ([*six, [90.0, 90.0]], "median"), 4.0),
)
### BEGIN HIDDEN TESTS
five = fake.events(0.125, 3.0, 4.0, 5.0, 7.0)
expect("one pair of five is dropped", events_to_ms(five, "best"), 3.0)
expect("a pair is dropped even if it is fast", events_to_ms(five, "median"), 4.5)
# vary: 1.0 in 0.667..1.0, 5.0 in 3.33..7.5
twelve = fake.events(1.0, 1.0, 1.0, 6.0, 2.0, 4.0, 3.0, 9.0, 8.0, 7.0, 5.0, 10.0)
both = [events_to_ms(twelve, "best"), events_to_ms(twelve, "median")]
expect("three pairs of twelve are dropped", both, [2.0, 6.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_events_to_ms_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
sixty = [[at, at + 60 - at % 60] for at in range(60)]  # 60, 59, 58, …, 1 ms
short = [[0.0, 9.0], [0.0, 0.0012345], [1.0, 1.0012347]]
expect_table(
    events_to_ms,
    ("twelve of sixty are dropped", (sixty, "median"), 24.5),
    ("not rounded", (short, "best"), 0.0012345),
    ("nor is the median", (short, "median"), 0.0012346),
    rel=1e-9,
)
events_to_ms(sixty, "best")
expect("the pairs stay", sixty[59], [59, 60])
### BEGIN HIDDEN TESTS
# vary: 5 in 4..6, 9 in 9..12
expect("of three pairs, by name", events_to_ms(reduce="best", events=[(0, 1), (2, 5), (7, 9)]), 2.0)
expect("the best of sixty is the last", events_to_ms(sixty, "best"), 1.0)
# vary: 7 in 6..8
expect("pairs may be tuples", events_to_ms([(1, 5), (7, 9), (10, 13)], "median"), 2.5)
# vary: 4.0 in 3.6..4.0, 4.5 in 4.1..4.95
expect("of two pairs one is left", events_to_ms([[0.0, 1.0], [4.0, 4.5]], "best"), 0.5)
# vary: 0.125 in 0.0833..0.188, 3.0 in 2.0..4.5, 4.0 in 2.67..6.0
five = fake.events(0.125, 3.0, 4.0, 5.0, 7.0)
events_to_ms(five, "median")
expect("the pairs that were given stay as they are", five[2], [4.625, 8.625])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_events_to_ms_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
late = [[5.0, 4.0], [6.0, 7.0], [8.0, 9.0]]
expect_table(
    events_to_ms,
    (
        "neither best nor median; one pair alone; a warm-up that ends before it starts",
        [(fake.events(9.0, 2.0, 2.5), "mean"), (fake.events(9.0), "best"), (late, "median")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 0.125 in 0.0833..0.188, 3.0 in 2.0..4.5
five = fake.events(0.125, 3.0, 4.0, 5.0, 7.0)
found = [events_to_ms(five[1:], how) for how in ("best", "median")]
expect("both ways to reduce leave one of four out", found, [4.0, 5.0])
expect("two pairs are enough", events_to_ms(fake.events(1.0, 6.5), "best"), 6.5)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_events", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the times of 25 launches of one kernel, the warm-up apart.
row = record.rows("fma")[-1]
lengths = [(number, end - start) for number, (start, end) in enumerate(row["events"], start=1)]
best, median = (events_to_ms(row["events"], how) for how in ("best", "median"))
print(f"best {best:.3f} ms, median {median:.3f} ms, at {row['sm_mhz']} MHz, {row['watts']} W")
fresh = next(row["events"] for row in record.rows("trial") if row["name"] == "fresh kernel")
first = (fresh[0][1] - fresh[0][0]) / events_to_ms(fresh, "median")
guesses.compare(
    "first launch of a fresh kernel over its median",
    guess_gpu_first_launch,
    first,
    document=record.document,
)
series = {"warm-up": lengths[:5], "counted": lengths[5:]}  # the first fifth of 25
demos.lines(series, x="launch", y="ms", title=record.title("A compiled kernel, many times"))

# %% nbgrader={"grade": false, "grade_id": "demo_fma", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the FLOP/s of the chains by their number.
chains = {}
for row in record.rows("fma"):
    flops = fma_flops(row["threads"], row["fmas"], row["accumulators"])
    rate = flops / events_to_ms(row["events"], "best") / 1e9
    name = f"{row['threads'] // record.document['card']['multiprocessors']} threads"
    chains.setdefault(name, []).append((row["accumulators"], rate))
share = 100 * min(points[0][1] / max(points)[1] for points in chains.values())
how = {"unit": "%", "document": record.document}
guesses.compare("share of the peak, 128 threads of one chain", guess_gpu_one_chain, share, **how)
demos.lines(chains, x="accumulators a thread", y="TFLOP/s", title=record.title("FMA chains"))

# %% nbgrader={"grade": false, "grade_id": "demo_in_flight", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws bandwidth by occupancy, and marks kernels in blocks of 128 threads by yours, on an A100.
curves, rows = demos.measured(cards, "occupancy"), cards.rows("occupancy")
a100 = cuda.multiprocessor({"name": "A100-SXM4-40GB", "compute_capability": [8, 0]})
best = max(rate for _, rate in curves["A100-SXM4-40GB"])
marks = {f"{n} registers": 100 * occupancy(128, n, 0, a100) for n in (64, 128, 255)}
for name, share in marks.items():
    moved = 100 * demos.at(curves["A100-SXM4-40GB"], share) / best
    print(f"{name} a thread: occupancy {share:.1f} %, {moved:.0f} % of the best bandwidth")
how = {"unit": "%", "document": cards.source(rows[1])}
guesses.compare("bandwidth of an A100 at an eighth", guess_gpu_eighth, moved, **how)
curves |= demos.own_occupancy(record, stream_bytes, events_to_ms)
look = {"marks": marks, "title": cards.title("A triad", *rows)}
demos.lines(curves, x="occupancy, %", y="GB/s", **look)

# %% [markdown]
# In four cycles a multiprocessor can start 256 FMAs.
# If 128 threads have one each under way, half of the places stay empty.
# Two accumulators, or more threads, fill them.
# Bytes are no different: at a quarter of its threads a V100 has 96 % of its best bandwidth, a GH200 63 %.
#
# **Clock, power, heat.** The same kernel is slower on a hot card.
# A T4 may draw 70 W, and lowers its clock to stay below that.
# So each row notes clock, power and temperature, which NVML, NVIDIA's library of sensors, reads while the device works.
# From Ampere on its usual power reading is the [average of the last second](https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html); our loops ask for `NVML_FI_DEV_POWER_INSTANT`.
# `nvidia-smi` shows the same sensors; its `GPU-Util 100%` means that *some* kernel was running all the time, perhaps of one thread.
#
# ## 5 · Roofs
#
# A roof asks what the card *can* do: the most FLOPs a second that anything reached in each data type, the most bytes a second from each level of memory.
#
# Of a buffer of four times the L2 cache, a part may still lie there.
# So only the *largest* row stands for the memory.
#
# The FMA chains measure float32.
# *Tensor cores*, units that multiply small matrices, show only in matrix products.
# The next cell runs these in each type that the card has (TF32 is float32 with fewer digits).

# %% nbgrader={"grade": false, "grade_id": "device_gemm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: measures matrix products.
record.measure("gemm", loops.gemm)

# %% [markdown]
# **Predict** (*constructed*).
# By its data sheet, a T4 does 65 TFLOP/s in float16 on its tensor cores, and 8.1 in float32.
# How many times as fast is the best float16 row?

# %% tags=["guess"]
guess_gpu_float16 = None  # your guess: how many times as fast?

# %% [markdown]
# <details><summary>Hint</summary>A helper takes a rate and a key, and keeps the larger rate. Go over the stream rows twice: for the most bytes a pass moves, then for the rates.</details>


# %% nbgrader={"grade": false, "grade_id": "ceilings", "locked": false, "schema_version": 3, "solution": true, "task": false}
def ceilings(document) -> dict:
    """Return a document's roofs: {"flops": {dtype: FLOP/s}, "bandwidth": {level: bytes/s}}.

    document: its card.l2_bytes and, in its rows, the lists stream, fma, gemm; any may be missing.
        fma has threads, fmas, accumulators, dtype; gemm has m, k, n, dtype. All rows have events.
        stream has elements, reads, writes, itemsize, and passes, how often all that was moved.
    A roof is the best that any of its rows reached, by the best of the row's event pairs. A stream
    row measures "l2" if one pass moves at most half of l2_bytes, and "dram" if no stream row moves
    more in one pass and this is at least four times l2_bytes. The others measure no level.
    What no row measures has no key. Raises ValueError for a document without any peak or "dram".

    >>> product, copy = fake.gemm([2, 1], 100, 100, 100), fake.stream([2, 1], 10**6)
    >>> ceilings(fake.document(10**6, gemm=[product], stream=[copy]))
    {'flops': {'float32': 2000000000.0}, 'bandwidth': {'dram': 8000000000.0}}
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
    sizes = ("elements", "reads", "writes", "itemsize")
    moved = [stream_bytes(*(row[key] for key in sizes)) for row in rows.get("stream", [])]
    for row, once in zip(rows.get("stream", []), moved, strict=True):
        share = once / document["card"]["l2_bytes"]
        if share <= 0.5 or once == max(moved) and share >= 4:
            raise_roof("bandwidth", "l2" if share <= 0.5 else "dram", row["passes"] * once, row)
    if not roofs["flops"] or "dram" not in roofs["bandwidth"]:
        raise ValueError("no roof without both a peak and the memory's bandwidth")
    return roofs
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_ceilings", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
copy = fake.stream([9.0, 0.5, 0.25, 0.5], elements=4_000_000)  # 32 MB
lucky = fake.stream([1.0, 0.03125, 0.0625], elements=2_000_000)  # 16 MB, half of it from the cache
cached = fake.stream([1.0, 0.5, 0.5], elements=125_000, passes=512)
chains = fake.fma([0.5, 2.0, 1.0, 4.0], threads=1000, fmas=1000, accumulators=500)
product = fake.gemm([8.0, 0.5, 0.75], 1000, 1000, 1000, dtype="float16")
document = fake.document(4_000_000, stream=[copy, lucky, cached], fma=[chains], gemm=[product])
found = ceilings(document)
expect(
    "by data type",
    found["flops"],
    {"float32": 1e12, "float16": 4e12},
    mistakes={"an FMA is one operation": {"float32": 5e11, "float16": 4e12}},
)
expect("by level; the largest is no lucky one", found["bandwidth"], {"dram": 128e9, "l2": 1024e9})
slow, fast, last = (fake.stream([0.125, ms], 4_800_000, reads=2) for ms in (2.0, 0.5, 1.0))
between = [fake.stream([9.0, 0.015625], n, passes=40) for n in (63_000, 126_000, 499_000)]
works = [fake.gemm([0.5, ms], 1000, 700, 300) for ms in (4.0, 1.0, 2.0)]
float64s = fake.fma([9.0, 1.0], threads=100, fmas=50, accumulators=4, dtype="float64")
some = fake.fma([9.0, 1.0], threads=100, fmas=50, accumulators=4)
rows = {"stream": [slow, fast, last, *between], "gemm": works, "fma": [float64s, some]}
found = ceilings(fake.document(1_000_000, **rows))
expect("the best row of each type", found["flops"], {"float32": 4.2e11, "float64": 4e7})
expect("the best of three largest; three of neither level", found["bandwidth"], {"dram": 115.2e9})
half, four = (fake.stream([9.0, 1.0], n, passes=500) for n in (62_500, 500_000))
found = ceilings(fake.document(1_000_000, stream=[half, four], gemm=works))
expect("half of the cache, four times the cache", found["bandwidth"], {"l2": 250e9, "dram": 2e12})
less = fake.document(1_000_001, stream=[half, four], gemm=works)
expect_raises("all rows move less than four times the cache", lambda: ceilings(less), ValueError)
### BEGIN HIDDEN TESTS
# vary: 0.75 in 0.5..0.875, 900 in 600..1_350, 500 in 333..750, 800 in 533..1_200
document["rows"]["gemm"].append(fake.gemm([1.0, 0.75], 900, 500, 800, dtype="tf32"))
expect("a document may get one more row", ceilings(document)["flops"]["tf32"], 9.6e11)
# vary: 0.25 in 0.205..0.362, 0.5 in 0.388..0.725, 8000000 in 5_333_333..12_000_000, 2 in 2..9
triad = fake.stream([0.25, 0.5, 1.0], elements=8_000_000, reads=2, kernel="triad")
fast = [fake.stream([4.0, 0.03125], elements=n, passes=9) for n in (126_000, 255_000, 999_999)]
small = fake.gemm([1.0, 0.5, 0.125], 200, 100, 400)
# vary: 1.0 in 0.82..1.0
large = fake.gemm([1.0, 4.0, 8.0], 3000, 2000, 1000)
rows = {"stream": [lucky, triad, *fast, copy], "gemm": [product, large, small], "fma": [chains]}
mixed = ceilings(fake.document(2_000_000, **rows))
expect("FMAs and products raise the same roof", mixed["flops"], {"float16": 4e12, "float32": 3e12})
expect("a row that is not the largest is not the memory's", mixed["bandwidth"], {"dram": 192e9})
small_one = fake.stream([1.0, 0.5, 0.75], elements=5_000, reads=2, passes=1000)
edges = [fake.stream([9.0, 1.0], elements=n, passes=250) for n in (125_000, 1_000_000)]
level = fake.document(2_000_000, stream=[*edges, small_one], gemm=[small])
found = ceilings(level)["bandwidth"]
expect("both limits belong to their levels", found, {"l2": 250e9, "dram": 2e12})
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_ceilings_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
wide = fake.stream([2.0, 1.0, 1.0], elements=1_000_000, reads=3, writes=2, itemsize=8)
copy = fake.stream([2.0, 1.0, 0.5], elements=4_500_000)
halves = fake.gemm([2.0, 1.0], 100, 100, 100, dtype="bfloat16")
found = ceilings(fake.document(100_000, stream=[copy, wide], gemm=[halves]))
expect("the largest by its bytes", found, {"flops": {"bfloat16": 2e9}, "bandwidth": {"dram": 40e9}})
exact = ceilings(fake.document(100_000, stream=[wide], gemm=[fake.gemm([2.0, 1.0], 7, 11, 13)]))
expect("every digit", exact["flops"], {"float32": 2_002_000.0})
again = fake.stream([0.5, 2.0, 1.0], elements=1_000_000, passes=3, kernel="triad")
found = ceilings(fake.document(2_000_000, stream=[again], gemm=[halves]))
expect("all passes over a large buffer count", found["bandwidth"], {"dram": 24e9})
small = {"stream": [fake.stream([9.0, 2.0], elements=100_000)], "gemm": [halves]}
kept = fake.document(100_000, stream=[copy, wide], gemm=[halves])
ceilings(kept)
expect(
    "the document stays as it is", [len(row["events"]) for row in kept["rows"]["stream"]], [3, 3]
)
kept["rows"]["gemm"].append(fake.gemm([2.0, 0.0625], 100, 100, 100, dtype="bfloat16"))
expect("the same document with another row", ceilings(kept)["flops"], {"bfloat16": 3.2e10})
peakless, in_cache = fake.document(2_000_000, stream=[again]), fake.document(2_000_000, **small)
expect_table(ceilings, ("no peak; only the cache", [(peakless,), (in_cache,)], ValueError))
### BEGIN HIDDEN TESTS
# vary: 1.0 in 0.82..1.0, 640 in 426..960, 1000 in 666..1_500, 8 in 7..10
twice = fake.fma([9.0, 2.0, 1.0], 640, 1000, 8, dtype="float64")
# vary: 2.0 in 1.64..2.9, 640 in 426..960, 4000 in 2_666..6_000
other = fake.fma([9.0, 2.0, 4.0], 640, 4000, 2, dtype="float32")
moved = fake.stream([9.0, 2.0, 1.0], elements=2_000_000, passes=5)
found = ceilings(fake.document(3_000_000, fma=[other, twice], stream=[moved]))
expect("each pass over a large buffer counts", found["bandwidth"], {"dram": 80e9})
expect("each data type has its own roof", found["flops"], {"float32": 5.12e9, "float64": 10.24e9})
# vary: 1.0 in 0.775..1.0, 1000 in 666..1_500, 500 in 333..750, 200 in 133..300
warm = fake.gemm([0.5, 1.0, 2.0], 1000, 500, 200)
found = ceilings(fake.document(2_000_000, gemm=[warm], stream=[moved]))
expect("a fast warm-up is no roof", found["flops"], {"float32": 2e11})
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_working_set", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws how fast cards read, by how much they read again and again: L1, L2, memory.
curves, rows = demos.measured(cards, "cache"), cards.rows("cache")
faster = demos.at(curves["H200"], 30_000) / curves["H200"][-1][1]
guesses.compare("L2 over memory, H200", guess_gpu_l2, faster, document=cards.source(rows[-1]))
curves |= demos.own_copies(record, stream_bytes, events_to_ms)
demos.lines(curves, x="kB", y="GB/s", log="x", title=cards.title("Read again and again", *rows))

# %% nbgrader={"grade": false, "grade_id": "demo_latency", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws how many cycles a load waits, by how much is read.
curves, rows = demos.measured(cards, "latency"), cards.rows("latency")
for card, points in curves.items():
    l1, l2, memory = (demos.at(points, kilobytes) for kilobytes in (64, 1000, 10**6))
    print(f"{card}: {l1:.0f} cycles from L1, {l2:.0f} from L2, {memory:.0f} from memory")
title = cards.title("A load that needs the one before", *rows)
demos.lines(curves, x="kB", y="cycles", log="x", title=title)

# %% nbgrader={"grade": false, "grade_id": "demo_gemm", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the FLOP/s of matrix products by their size and type.
products, roofs = {}, ceilings(record.document)["flops"]
for row in record.rows("gemm"):
    rate = matmul_flops(row["m"], row["k"], row["n"]) / events_to_ms(row["events"], "best") / 1e9
    products.setdefault(row["dtype"], []).append((row["n"], rate))
guesses.compare(
    "float16 over float32",
    guess_gpu_float16,
    roofs["float16"] / roofs["float32"],
    document=record.document,
)
demos.lines(products, x="n", y="TFLOP/s", log="xy", title=record.title("Products, n × n"))

# %% nbgrader={"grade": false, "grade_id": "demo_roofs", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints measured roofs beside data sheets, and the ridges that data sheets promise.
for row in cards.rows("roofline")[:2]:
    cuda.print_ratios(cards.source(row), demos.best(row["points"]))
if not record.document["constructed"]:
    cuda.print_ratios(record.document, ceilings(record.document))
cuda.print_ridges("T4", "A100-SXM4-40GB", "H100 80GB HBM3", "B200")

# %% [markdown]
# Caches are steps: V100 and A100 fall from L1 to L2, the H200, which reads past L1, from L2 to memory.
# A load takes 434 to 688 cycles from memory; that is what other warps have to hide.
#
# A roof above its data sheet is a mistake; one far below, too, or a hot card.
# Usual are the A100's 88 % of the bandwidth and the H200's 79 %.
#
# **Take a break here.**
#
# ## 6 · Under the roofs
#
# A kernel has FLOPs to do and bytes to move.
# FLOPs a byte are its *intensity*; peak over bandwidth is the card's *ridge*.
# Below the ridge, moving takes longer than computing, and no code gets above intensity · bandwidth.
# Beyond it, the peak is the limit.
# In numbers: 10⁹ FLOPs on 4 · 10⁸ bytes have an intensity of 2.5.
# With 8 TFLOP/s and 400 GB/s the ridge is 20, so 2.5 · 400 GB/s = 1 TFLOP/s is attainable.
# If the work takes 2 ms, 0.5 TFLOP/s are achieved, an *efficiency* of 50 %.


# %% nbgrader={"grade": false, "grade_id": "place", "locked": false, "schema_version": 3, "solution": true, "task": false}
def place(workload, roofs) -> dict:
    """Return where a workload stands under the roofs.

    workload: dict with flops, bytes, ms (all above 0) and dtype. roofs: a dict as ceilings returns
        it; the roof is made of "dram" and the workload's dtype.
    Returns a dict of intensity (FLOPs a byte), achieved and attainable (FLOP/s), efficiency
    (achieved / attainable) and wall. For the wall, compare flops / peak and bytes / bandwidth:
        "overhead" if the workload takes over 4 times the longer of the two; else "ridge" if the
        longer is at most 1.2 times the shorter; else "compute" or "memory", by which is longer.
    Raises ValueError for a number that is not above 0, and a dtype that has no ceiling.

    >>> roofs = {"flops": {"float32": 8e12}, "bandwidth": {"dram": 4e11}}
    >>> place({"flops": 10**9, "bytes": 10**7, "ms": 0.25, "dtype": "float32"}, roofs)["wall"]
    'compute'
    """
    ### BEGIN SOLUTION
    flops, moved, seconds = workload["flops"], workload["bytes"], workload["ms"] / 1e3
    if min(flops, moved, seconds) <= 0 or workload["dtype"] not in roofs["flops"]:
        raise ValueError(f"flops, bytes and ms must be above 0, and {workload['dtype']!r} measured")
    computing = flops / roofs["flops"][workload["dtype"]]
    moving = moved / roofs["bandwidth"]["dram"]
    longer, shorter = max(computing, moving), min(computing, moving)
    wall = "compute" if computing > moving else "memory"
    wall = "overhead" if seconds > 4 * longer else "ridge" if longer <= 1.2 * shorter else wall
    rates = {"achieved": flops / seconds, "attainable": flops / longer}
    return {"intensity": flops / moved, **rates, "efficiency": longer / seconds, "wall": wall}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_place", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
card = {"flops": {"float32": 8e12, "float16": 40e12}, "bandwidth": {"dram": 400e9, "l2": 1e12}}
moved = {"flops": 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 2.0}
expect(
    "left of the ridge, as above",
    place(moved, card),
    {"intensity": 2.5, "achieved": 5e11, "attainable": 1e12, "efficiency": 0.5, "wall": "memory"},
)
large = {"flops": 16 * 10**9, "bytes": 10**8, "dtype": "float32", "ms": 4.0}
slow_cache = {**card, "bandwidth": {"dram": 4e11, "l2": 1e10}}
narrow = {"flops": {"float32": 1e12}, "bandwidth": {"dram": 5e11}}
slope = {"flops": 5 * 10**8, "bytes": 10**8, "dtype": "float32", "ms": 0.6}
expect_table(
    lambda work, card, key: place(work, card)[key],
    ("right of it", (large, card, "wall"), "compute"),
    ("the same in float16", ({**large, "dtype": "float16"}, card, "wall"), "overhead"),
    ("above the roof, every digit", ({**moved, "ms": 0.6}, card, "efficiency"), 1 / 0.6),
    ("a slow cache changes nothing", (moved, slow_cache, "attainable"), 1e12),
    ("the peak is the limit", (large, slow_cache, "attainable"), 8e12),
    ("on another card", (moved, {**card, "bandwidth": {"dram": 8e11}}, "attainable"), 2e12),
    ("an intensity of 5 beyond a ridge of 2", (slope, narrow, "wall"), "compute"),
)
### BEGIN HIDDEN TESTS
# vary: 5.0 in 4.5..5.5
half = {"flops": 8 * 10**10, "bytes": 16 * 10**8, "dtype": "float16", "ms": 5.0}
expect(
    "a workload stands under the ceiling of its dtype",
    place(half, card),
    {
        "intensity": 50.0,
        "achieved": 1.6e13,
        "attainable": 2e13,
        "efficiency": 0.8,
        "wall": "memory",
    },
)
# vary: 250.0 in 225.0..275.0
dense = {"flops": 8 * 10**12, "bytes": 10**9, "dtype": "float16", "ms": 250.0}
expect(
    "right of the ridge the peak is attainable",
    place(dense, card),
    {
        "intensity": 8e3,
        "achieved": 3.2e13,
        "attainable": 4e13,
        "efficiency": 0.8,
        "wall": "compute",
    },
)
# vary: 16 in 10..24
too_fast = {"flops": 16 * 10**10, "bytes": 10**8, "dtype": "float16", "ms": 1.0}
expect("an efficiency above 1 is not cut", place(too_fast, card)["efficiency"], 4.0)
# vary: 3 in 2..9
thin = place({"flops": 10**6, "bytes": 3 * 10**9, "dtype": "float16", "ms": 9.0}, card)
expect("intensity is FLOPs over bytes, not bytes over FLOPs", thin["intensity"], 1 / 3000)
# vary: 4e11 in 2.7e11..5.9e11
uncached = {**card, "bandwidth": {"dram": 4e11}}
expect("the roof needs no cache", place(moved, uncached)["wall"], "memory")
# vary: 6e11 in 4e11..9e11
again = place(workload=moved, roofs={**card, "bandwidth": {"dram": 6e11}})
expect("the same work on another card, by name", again["attainable"], 1.5e12)
# vary: 3 in 2..9, 7 in 2..14, 16.0 in 10.7..24.0
few = place({**moved, "flops": 3, "bytes": 7 * 10**6, "ms": 16.0}, card)
expect("every digit", [few["intensity"], few["efficiency"]], [3 / 7e6, 17.5 / 16_000])
# viva: w = dict(flops=900, bytes=90, ms=5, dtype='x'); place(w, {'flops': {'x': 4e5},
#     'bandwidth': {'dram': 1e5}})['intensity']
# viva: w = dict(flops=900, bytes=90, ms=5, dtype='x'); place(w, {'flops': {'x': 4e5},
#     'bandwidth': {'dram': 1e5}})['wall']
# viva: w = dict(flops=9000, bytes=20, ms=50, dtype='x'); place(w, {'flops': {'x': 4e5},
#     'bandwidth': {'dram': 1e5}})['wall']
# viva: w = dict(flops=90, bytes=80, ms=9, dtype='x'); place(w, {'flops': {'x': 4e5}, 'bandwidth':
#     {'dram': 1e5}})['attainable']
# viva: w = dict(flops=90, bytes=80, ms=9, dtype='x'); place(w, {'flops': {'x': 4e5}, 'bandwidth':
#     {'dram': 1e5}})['achieved']
# viva: w = dict(flops=9, bytes=8, ms=9, dtype='x'); place(w, {'flops': {'x': 4e5}, 'bandwidth':
#     {'dram': 1e5}})['wall']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_place_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
two_roofs = {"flops": {"float32": 8e12}, "bandwidth": {"dram": 4e11}}


def wall(computing, moving, taken):
    work = {"flops": 8e12 * computing, "bytes": 4e11 * moving, "ms": 1e3 * taken}
    return place({**work, "dtype": "float32"}, two_roofs)["wall"]


expect_table(
    wall,
    ("its FLOPs take 6 s, its bytes 5 s, and it takes 24 s", (6, 5, 24), "ridge"),
    ("it takes 25 s", (6, 5, 25), "overhead"),
    ("its bytes take 4.9 s", (6, 4.9, 7), "compute"),
    ("bytes a little longer than FLOPs", (5, 5.75, 6), "ridge"),
    ("FLOPs nine times as long", (9, 1, 35), "compute"),
    ("bytes nine times as long", (1, 9, 35), "memory"),
    ("and more than four times that", (1, 9, 37), "overhead"),
)
kept = {"flops": 8 * 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 1.25}
place(kept, two_roofs)
expect("the workload stays", sorted(kept), ["bytes", "dtype", "flops", "ms"])
### BEGIN HIDDEN TESTS
card = {"flops": {"float32": 1e12, "tf32": 5e12}, "bandwidth": {"l2": 9e12, "dram": 1e11}}
cases = [
    (10**10, 10**8, 10.5),
    (10**10, 10**8, 41.0),
    (10**10, 9 * 10**8, 11.0),
    (9 * 10**9, 10**9, 11.0),
    (10**10, 8 * 10**8, 11.0),
    (8 * 10**9, 10**9, 39.0),
    (8 * 10**9, 10**9, 41.0),
    (10**6, 10**9, 9.0),
    (10**10, 9 * 10**8, 50.0),
]
works = [{"flops": f, "bytes": b, "ms": ms, "dtype": "float32"} for f, b, ms in cases]
walls = [place(work, card)["wall"] for work in works]
expect(
    "the wall depends on all three times",
    walls,
    [
        "compute",
        "overhead",
        "ridge",
        "ridge",
        "compute",
        "memory",
        "overhead",
        "memory",
        "overhead",
    ],
)
sums = {"flops": 12 * 10**12, "bytes": 10**12, "dtype": "float32"}
both = [place({**sums, "ms": ms}, card)["wall"] for ms in (48_000, 48_001)]
expect("both limits are at most, not less than", both, ["ridge", "overhead"])
# vary: 1.0 in 0.9..1.9
type_of = {"flops": 10**9, "bytes": 10**8, "ms": 1.0, "dtype": "tf32"}
expect("each dtype has a ceiling of its own", place(type_of, card)["attainable"], 1e12)
at = {"flops": 8 * 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 1.25}
stay = [place(at, two_roofs)["wall"], sorted(two_roofs["bandwidth"])]
expect("at the ridge itself; the roofs stay", stay, ["ridge", ["dram"]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_place_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
roofs = {"flops": {"float32": 8e12}, "bandwidth": {"dram": 4e11}}
at = {"flops": 8 * 10**9, "bytes": 4 * 10**8, "dtype": "float32", "ms": 1.25}
expect_table(
    lambda changed: place({**at, **changed}, roofs),
    (
        "no FLOPs, no bytes, no time; one below 0, and two; a dtype that has no ceiling",
        [
            ({"flops": 0},),
            ({"bytes": 0},),
            ({"ms": 0.0},),
            ({"ms": -2.0},),
            ({"flops": -1, "bytes": -1},),
            ({"dtype": "int8"},),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
card = {"flops": {"float32": 1e12, "tf32": 5e12}, "bandwidth": {"l2": 9e12, "dram": 1e11}}
# vary: 1.0 in 0.9..1.9
type_of = {"flops": 10**9, "bytes": 10**8, "ms": 1.0, "dtype": "tf32"}
expect("a number just above 0 is enough", place({**type_of, "ms": 0.5}, card)["efficiency"], 2.0)
expect("FLOPs may be few", place({**type_of, "flops": 1}, card)["intensity"], 1e-8)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_sweep", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws measured rooflines, and prints where kernels of an A100 stand.
rows, points = cards.rows("roofline")[:2], demos.measured(cards, "roofline")
points |= demos.own_roofline(record, fma_flops, stream_bytes, events_to_ms)
del points["MI300X"]  # its clock changes
a100 = points["A100-SXM4-40GB"]
for intensity, moved, computed, _ in [*a100[:14:3], a100[-1]]:
    work = {"flops": computed * 1e9, "bytes": moved * 1e9, "ms": 1e3, "dtype": "float32"}
    spot = place(work, demos.best(a100))
    print(f"{intensity} FLOPs a byte: {spot['efficiency']:.0%} of the roof, {spot['wall']}")
curves = {card: [(p[0], p[2] / 1e3) for p in each] for card, each in points.items()}
look = {"beside": demos.roofs_over(points), "title": cards.title("A sweep", *rows)}
demos.lines(curves, x="FLOPs a byte", y="TFLOP/s", log="xy", **look)

# %% [markdown]
# The knee is round: at the ridge both walls hold, and an A100 gets 86 % of what either allows.
# `demos.TABLE` holds seven parts of a Transformer, among them a chain, relu(0.5 · x + 1) · x, and attention, as written down and *fused*, in one kernel.
# On meta tensors a hook counts each with the rules of lesson 02: products, or else elementwise work.
# Each op reads its inputs and writes its result; views move nothing.
# A fused kernel reads what comes in and writes what goes out, once.
# For attention that is a *lower bound*: K and V are read once for each tile of queries.
#
# **Predict.** For 8 texts of 1,024 tokens and 12 heads of 64, attention is computed once with its scores stored after each step, and once fused.
# How many times as many bytes does the first way move?

# %% tags=["guess"]
guess_gpu_attention = None  # your guess: how many times the bytes?

# %% nbgrader={"grade": false, "grade_id": "device_workloads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: measures the seven parts of a Transformer.
record.measure("workload", loops.workloads)

# %% nbgrader={"grade": false, "grade_id": "demo_counts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints FLOPs and bytes of the seven parts.
moved = {}
for name in demos.TABLE:
    flops, moved[name] = demos.counts(name, op_flops, ELEMENTWISE, elementwise_flops).values()
    shown = f"{flops / 1e9:>9.3f} GFLOP{moved[name] / 1e6:>9.1f} MB"
    print(f"{name:<18}{shown}{flops / moved[name]:>9.2f} FLOPs a byte")
ratio = moved["attention"] / moved["attention, fused"]
guesses.compare("bytes of attention, over fused", guess_gpu_attention, ratio)

# %% nbgrader={"grade": false, "grade_id": "demo_workloads", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the parts of a Transformer, and products, under the roofs.
roofs, spots = ceilings(record.document), {}
how = " (assumed)" if record.document["constructed"] else ""


def spot_of(row, count):
    ms = events_to_ms(row["events"], "median")  # not what the card can do, but what one gets
    return place({**count, "dtype": row["dtype"], "ms": ms}, roofs)


for row in record.rows("workload"):
    spot = spot_of(row, demos.counts(row["name"], op_flops, ELEMENTWISE, elementwise_flops))
    spots[row["name"]] = [(spot["intensity"], spot["achieved"])]
    print(f"{row['name']:<18}{spot['efficiency']:>5.0%} of the roof{how}, {spot['wall']}")
for row in record.rows("gemm"):
    moved = stream_bytes(row["n"] ** 2, 2, 1, 2 if row["dtype"].endswith("16") else 4)
    spot = spot_of(row, {"flops": matmul_flops(row["m"], row["k"], row["n"]), "bytes": moved})
    spots.setdefault(f"products, {row['dtype']}", []).append((spot["intensity"], spot["achieved"]))
demos.roofline(roofs, spots, title=record.title("A Transformer's parts"))

# %% [markdown]
# Efficiency says how close code is to what its FLOPs and bytes allow, and the wall what would help.
# At the memory's wall that is only fewer bytes: fused kernels, smaller types.
# Attention as it is written down writes 8 · 12 · 1,024² numbers three times and reads them back three times: scores, scaled scores, softmax.
# The fused kernel keeps them on the multiprocessor: the same FLOPs, a twenty-fifth of the bytes if each is read once, 1/5.6 with tiles of 128.
#
# ### In torch
#
# ```python
# import torch
# device = "cuda" if torch.cuda.is_available() else "cpu"
# a, b = torch.randn(2, 2048, 2048, device=device)
# with torch.profiler.profile() as report:
#     (a @ b).relu().sum().item()
# print(report.key_averages().table(row_limit=6))
# ```
#
# On a card, [torch.profiler](https://docs.pytorch.org/docs/stable/profiler.html) sets the host's time of each op beside the time of its kernels by the device's clock.
# It hides how close a kernel came to a roof; [Nsight Compute](https://docs.nvidia.com/nsight-compute/NsightComputeCli/) counts bytes in hardware and draws that (`ncu --set roofline python script.py`).
#
# ## 7 · What a FLOP costs, and a byte
#
# Along the A100's roofline its watts were read, too: 230 where it only moves, 292 at the ridge, 182 where it only computes.
# The simplest model has three prices: joules a FLOP, joules a byte, constant watts ([Choi et al. 2013](https://doi.org/10.1109/IPDPS.2013.77)).
# At 2 pJ (10⁻¹² J) a FLOP, 10 TFLOP/s take 20 W; at 50 pJ a byte, 1 TB/s takes 50 W.
#
# **Predict.** For the joules of one byte from memory, how many FLOPs does an A100 compute in float32?

# %% tags=["guess"]
guess_gpu_byte = None  # your guess: how many FLOPs?

# %% [markdown]
# <details><summary>Hint 1: What does each point say of the three unknowns?</summary>It is an equation: its GFLOP/s times the first, plus its GB/s times the second, plus the third, are its watts.</details>
#
# <details><summary>Hint 2: the shape of the answer</summary>A matrix with a row for each point and three columns, the last of ones, for <code>np.linalg.lstsq</code>, which also returns its rank. What unit is a watt over a GFLOP/s?</details>


# %% nbgrader={"grade": false, "grade_id": "energy_model", "locked": false, "schema_version": 3, "solution": true, "task": false}
def energy_model(gb_s, gflop_s, watts) -> dict:
    """Return what a FLOP, a byte and mere time cost a card, fitted to the watts that it drew.

    gb_s, gflop_s, watts: lists of numbers, one of each for each point that was measured.
    The model (Choi et al. 2013): watts = flop · FLOP/s + byte · bytes/s + constant. The three are
    those that make the sum of (measured − model)² over the points least; they may be negative.
    Returns a dict: flop and byte in pJ (10⁻¹² J), constant in W, and off, a list of measured −
        model in W, one for each point, in their order.
    Raises ValueError for lists of different lengths, and where more than one model fits best: with
    fewer than three points, say, or the same FLOPs a byte in all.

    >>> cost = energy_model([1000, 1000, 500], [2000, 4000, 4000], [104, 108, 83])
    >>> [round(cost[name], 6) for name in ("flop", "byte", "constant")]
    [2.0, 50.0, 50.0]
    """
    ### BEGIN SOLUTION
    if not len(gb_s) == len(gflop_s) == len(watts):
        raise ValueError("each point needs GB/s, GFLOP/s and watts")
    matrix = np.array([[*rates, 1.0] for rates in zip(gflop_s, gb_s, strict=True)])
    if np.linalg.matrix_rank(matrix) < 3:
        raise ValueError("these points do not tell a FLOP's cost, a byte's and time's apart")
    costs = np.linalg.lstsq(matrix, np.array(watts, float), rcond=None)[0]
    flop, byte, constant = costs.tolist()
    off = (np.array(watts) - matrix @ costs).tolist()
    return {"flop": 1e3 * flop, "byte": 1e3 * byte, "constant": constant, "off": off}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_energy_model", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
prices, watts = ("flop", "byte", "constant"), [132.0, 190.0, 125.0, 110.0]
cost = energy_model([800, 1000, 250, 100], [400, 8000, 10_000, 10_000], watts)
expect(
    "four points on a model",
    [cost[price] for price in prices],
    [5.0, 100.0, 50.0],
    rel=1e-6,
    mistakes={"a byte's price and a FLOP's are exchanged": [100.0, 5.0, 50.0]},
)
expect("none of them is off", cost["off"], [0.0, 0.0, 0.0, 0.0], abs=1e-6)
expect("the watts stay", watts, [132.0, 190.0, 125.0, 110.0])
beside = energy_model([1, 3, 1, 3], [1, 1, 3, 3], [142.0, 214.0, 158.0, 238.0])
found = [beside[price] for price in prices]
expect("four points beside a model", found, [10_000.0, 38_000.0, 92.0], rel=1e-6)
expect("how far off they are", beside["off"], [2.0, -2.0, -2.0, 2.0], abs=1e-6)
six = energy_model([8, 6, 4, 2, 1, 1], [1, 1, 4, 4, 4, 4], [150, 130, 140, 120, 110, 118])
expect("six, two of them alike", six["off"], [1.0, -1.0, 0.0, -2.0, -3.0, 5.0], abs=1e-6)
less = energy_model([800, 1000, 250, 100], [400, 8000, 10_000, 10_000], [9, 6, 7, 7])
below = [less["flop"], less["byte"]]
expect("the same rates, prices below 0", below, [-0.337635851803, -1.97648576334], rel=1e-6)
expect_table(
    energy_model,
    (
        "two points; the same FLOPs a byte; the same GB/s in all; a GB/s more",
        [
            ([1, 2], [4, 3], [5, 6]),
            ([1, 2, 4, 8], [2, 4, 8, 16], [60, 70, 85, 120]),
            ([9, 9, 9], [2, 4, 8], [60, 70, 85]),
            ([1, 2, 3, 4], [4, 3, 1], [5, 6, 7]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
three = energy_model((5, 1, 2), (1, 6, 3), (52.0, 38.0, 38.0))
shown = [three[price] for price in ("flop", "byte", "constant")]
expect("three points are met exactly", shown, [2000.0, 6000.0, 20.0], rel=1e-6)
capped = energy_model([9, 7, 3, 1], [2, 8, 9, 9], [75, 75, 75, 75])
expect("a card at its limit seems to pay for time alone", capped["constant"], 75.0, rel=1e-6)
expect("and for nothing else", [capped["flop"], capped["byte"]], [0.0, 0.0], abs=1e-6)
arrays = energy_model(
    np.array([2.0, 6, 2, 6]), np.array([3.0, 3, 5, 5]), np.array([41, 60, 51, 62])
)
shown = [arrays[price] for price in ("flop", "byte", "constant")]
expect("arrays, and points beside a model", shown, [3000.0, 3750.0, 26.5], rel=1e-6)
expect("a point above the model is off by watts above 0", arrays["off"], [-2.0, 2, 2, -2], abs=1e-6)
# viva: energy_model([1000, 1000, 500], [2000, 4000, 4000], [104, 108, 83])['byte']
# viva: energy_model([1000, 1000, 500], [2000, 4000, 4000], [104, 108, 83])['constant']
# viva: energy_model([100, 300, 100], [1000, 1000, 3000], [60, 80, 64])['flop']
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_power", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the watts along measured rooflines and those of your model, and prints its prices.
found, rows = demos.measured(cards, "roofline"), cards.rows("roofline")
found |= demos.own_roofline(record, fma_flops, stream_bytes, events_to_ms)
drawn, fitted, flops = {}, {}, {}
for card, points in found.items():
    intensities, *rates, watts = zip(*points, strict=True)
    cost = energy_model(*rates, watts)
    flops[card] = cost["byte"] / cost["flop"]
    prices = f"{cost['flop']:.1f} pJ a FLOP, {cost['byte']:.0f} pJ a byte, {cost['constant']:.0f} W"
    print(f"{card}: {prices}; off by {max(map(abs, cost['off'])):.0f} W at most")
    drawn[card] = list(zip(intensities, watts, strict=True))
    fitted[card] = [(x, w - o) for (x, w), o in zip(drawn[card], cost["off"], strict=True)]
how, look = {"document": cards.source(rows[0])}, {"beside": {"your model": fitted}}
guesses.compare("FLOPs for a byte's joules", guess_gpu_byte, flops["A100-SXM4-40GB"], **how)
demos.lines(drawn, x="FLOPs a byte", y="W", log="x", title=cards.title("Power", *rows), **look)

# %% [markdown]
# At 5.1 pJ a FLOP and 117 a byte, a byte of an A100 costs 23 FLOPs (more on tensor cores).
# Up to there bytes take more joules than FLOPs (47 % of all at the ridge, 14): fewer bytes save energy even where they save no time.
# An H200 gives 21 from two clocks: at 14.25 FLOPs a byte 28.9 TFLOP/s, at 16.25 already 35.8.
# The model is off by 6 of 292 W, just where the knee is round.
# The MI300X always draws its limit, 750 W, and lowers its clock: its three prices mean nothing.
#
# ## 8 · Is it worth the way?
#
# Data reaches the card over a bus.
# From *pinned* memory, which the operating system does not move, the card fetches it by itself; *pageable* memory is first copied to a pinned buffer.
# Any launch costs some microseconds.
# A *CUDA graph* records many launches and starts them by one call.

# %% nbgrader={"grade": false, "grade_id": "device_ways", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: measures copies, products on both sides, and launches.
record.measure("copy", loops.copies)
record.measure("crossover", loops.crossover)
record.measure("launch", loops.launches)

# %% nbgrader={"grade": false, "grade_id": "demo_copies", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the speed of copies by their size.
rates = {}
for row in record.rows("copy"):
    name = f"{row['direction']} the card, {'pinned' if row['pinned'] else 'pageable'}"
    rate = row["bytes"] / events_to_ms(row["events"], "median") / 1e6
    rates.setdefault(name, []).append((row["bytes"] / 2**10, rate))
demos.lines(rates, x="KiB at once", y="GB/s", log="xy", title=record.title("Copies"))

# %% [markdown]
# Below some size the CPU is done before the GPU has begun.
# Times grow by powers of the size, which are straight on logarithmic axes, so between two measured sizes we draw a straight line through the *logarithms*.
#
# **Predict** (*constructed*).
# Matrices of n × n are multiplied.
# From which n on does the GPU win, if the matrices are already on the card?

# %% tags=["guess"]
guess_gpu_crossover = None  # your guess: n

# %% [markdown]
# <details><summary>Hint: Where is log(cpu / gpu) zero?</summary>Compute this lead for every size, and find the <em>last</em> at which it is negative. Does another size follow it? Between the two the lead is a straight line in log(size).</details>


# %% nbgrader={"grade": false, "grade_id": "check_times", "locked": true, "schema_version": 3, "solution": false, "task": false}
def check_times(sizes, cpu_ms, gpu_ms):
    """Raise ValueError unless sizes grow and each has a time on both sides, all above 0."""
    if not 2 <= len(sizes) == len(cpu_ms) == len(gpu_ms) or min(*sizes, *cpu_ms, *gpu_ms) <= 0:
        raise ValueError("two sizes or more are needed, a time of each for each, all above 0")
    if any(b <= a for a, b in zip(sizes, sizes[1:], strict=False)):
        raise ValueError(f"each size must be larger than the one before: {sizes}")


# %% nbgrader={"grade": false, "grade_id": "crossover", "locked": false, "schema_version": 3, "solution": true, "task": false}
def crossover(sizes, cpu_ms, gpu_ms):
    """Return the size from which on the GPU is not slower, up to the largest size measured.

    sizes: numbers above 0, each larger than the one before; at least two. cpu_ms, gpu_ms: the
        times for each size, all above 0. All three are lists or arrays of one length.
    Between the last size at which the GPU is slower and the size after it, the log(time) of both
    is taken as a straight line in log(size). Returns where these lines cross, a float.
    Returns None where there is no such size: the GPU is never slower, or still is at the last one.
    Raises ValueError as check_times does: call it first.

    >>> crossover([10, 1000], [1, 16], [2, 8])
    100.0
    """
    ### BEGIN SOLUTION
    check_times(sizes, cpu_ms, gpu_ms)
    ahead = [math.log(cpu / gpu) for cpu, gpu in zip(cpu_ms, gpu_ms, strict=True)]
    last = max((at for at, lead in enumerate(ahead) if lead < 0), default=None)
    if last is None or last == len(sizes) - 1:
        return None
    share = ahead[last] / (ahead[last] - ahead[last + 1])
    return float(sizes[last] * (sizes[last + 1] / sizes[last]) ** share)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_crossover", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_table(
    crossover,
    (
        "halfway",
        ([100, 400], [1, 16], [4, 4]),
        200.0,
        {"straight in the sizes": 160.0, "in the middle": 250.0},
    ),
    ("equal at a size", ([10, 100, 1000], [1, 5, 90], [5, 5, 5]), 100.0),
    ("the last of two", ([1, 2, 4, 8], [1, 4, 1, 4], [2, 2, 2, 2]), 4 * math.sqrt(2)),
)
cases = (
    ([10, 100], [5, 9], [5, 1]),
    ([10, 100], [1, 2], [3, 3]),
    ([1, 2, 4, 8], [1, 4, 1, 1], [2, 2, 2, 2]),
)
found = [crossover(*case) for case in cases]
expect("never slower; slower at the end; ahead only for a while", found, [None, None, None])
expect_table(
    crossover,
    (
        "one size; a size, a CPU time or a GPU time more; whatever else is refused",
        [
            ([4], [1], [2]),
            ([1, 2, 3], [1, 4], [2, 2]),
            ([1, 2], [1, 4, 9], [2, 2]),
            ([4, 1], [1, 4], [2, 2]),
            ([1, 4, 4], [1, 3, 3], [2, 2, 2]),
            ([0, 4], [1, 4], [2, 2]),
            ([-1, 4], [1, 4], [2, 2]),
            ([1, 2], [1, 4], [2, 2, 2]),
            ([1, 4], [-1, 4], [2, 2]),
            ([1, 4], [1, 0], [2, 2]),
            ([1, 4], [1, 4], [-2, 2]),
            ([1, 4], [1, 4], [2, 0]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 4 in 4..5, 8 in 7..11, 16 in 13..23, 32 in 25..39
twice = crossover([2, 4, 8, 16, 32], [1, 4, 1, 2, 16], [2, 1, 4, 8, 4])
expect("of several crossings the last counts", twice, 16 * math.sqrt(2), rel=1e-9)
# vary: 8 in 7..19
expect("a lead that is lost again is none", crossover([2, 4, 8], [1, 4, 1], [2, 1, 4]), None)
# vary: 64 in 42..96, 512 in 341..768, 0.5 in 0.333..0.6, 32.0 in 21.3..48.0, 1.0 in 0.667..1.0
curve = crossover([64, 512], [0.5, 32.0], [1.0, 4.0])
expect("both times may grow", curve, 64 * 8**0.25, rel=1e-9)
found = crossover([1, 2, 3], [4.0, 1.0, 4.0], [4.0, 2.0, 4.0])
expect("as fast as the CPU is not slower", found, 3.0)
# vary: 2 in 2..9, 4.0 in 2.7..6.0
expect("equal everywhere is never slower", crossover([1, 2], [4.0, 1.0], [4.0, 1.0]), None)
# vary: 0.5 in 0.333..0.75, 2.0 in 1.33..3.0, 1.0 in 0.667..1.0, 9.0 in 6.0..13.5, 3.0 in 2.0..4.5
expect("sizes need not be ints", crossover([0.5, 2.0], [1.0, 9.0], [3.0, 3.0]), 1.0)
# vary: 3.0 in 2.0..4.5, 300.0 in 200.0..450.0
found = crossover(np.array([3.0, 300.0]), np.array([2e-6, 9e-6]), np.array([4e-6, 4.5e-6]))
expect("arrays, and times far below a ms", found, 30.0, rel=1e-9)
# vary: 70 in 46..74, 700 in 391..874, 2.0 in 1.33..3.0, 80.0 in 53.3..120.0, 20.0 in 13.3..30.0
found = crossover([7, 70, 700], (0.5, 2.0, 80.0), (5.0, 20.0, 8.0))
expect("tuples", found, 70 * math.sqrt(10), rel=1e-9)
lists = [10, 2560], [1.0, 8.0], [2.0, 4.0]
crossover(*lists)
expect("the lists stay", lists, ([10, 2560], [1.0, 8.0], [2.0, 4.0]))
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_crossover", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the times of products on both sides, and prints from which size on the GPU wins.
lines = {}
for row in record.rows("crossover"):
    ms = np.median(row["host_ms"]) if "host_ms" in row else events_to_ms(row["events"], "median")
    lines.setdefault(row["where"], []).append((row["n"], float(ms)))
sizes, cpu = zip(*lines["cpu"], strict=True)
found = {where: crossover(sizes, cpu, [ms for _, ms in lines[where]]) for where in list(lines)[1:]}
for where, size in found.items():
    when = f"worth it from n = {size:.0f} on" if size else "no size from which it is worth it"
    ratio = cpu[-1] / lines[where][-1][1]
    print(f"{where}: {when}; {ratio:.1f} times as fast at n = {sizes[-1]}")
size, how = found["gpu"] or "nowhere", {"document": record.document}
guesses.compare("n from which on the GPU wins", guess_gpu_crossover, size, **how)
look = {"log": "xy", "marks": {"your guess": guess_gpu_crossover}}
demos.lines(lines, x="n", y="ms", title=record.title("Products, n × n"), **look)

# %% nbgrader={"grade": false, "grade_id": "demo_small", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints from how many bytes on a card beats numpy's y = 2 x here; a smaller kernel costs a launch.
for name, points in demos.measured(cards, "one by one").items():
    launch_us = points[0][1]  # at 64 KiB, where moving takes no time yet
    smaller = [(2**10, launch_us), (2**13, launch_us)]
    sizes, card_us = zip(*smaller, *points[::6], strict=True)
    here_us = demos.doubled_us(sizes)
    size = crossover(sizes, here_us, card_us)
    when = f"from {size / 2**10:.1f} KiB on" if size else "nowhere, or everywhere"
    print(f"{name}, measured: faster {when}; a launch takes {launch_us:.1f} µs,")
    print(f"    {sizes[-1] / 2**20:.0f} MiB {here_us[-1]:,.0f} µs here and {card_us[-1]:.0f} there")

# %% [markdown]
# ## 9 · Measurements that lie
#
# On a card, the next cell makes one right measurement and five wrong ones, and notes what the host's clock says (`host_ms`) and what the device's says (`events`). "no synchronize" stops the host's clock at once; "cached result" computes nothing; "tiny product" multiplies 16 × 16 matrices; "fresh kernel" is compiled in its first call; "warm cache" goes over a small buffer many times.

# %% nbgrader={"grade": false, "grade_id": "device_trials", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: makes one right measurement and five wrong ones.
kernels = demos.streams(GPU_STREAM, stream_line)
record.measure("trial", lambda gpu: loops.trials(gpu, kernels, matmul_flops))

# %% [markdown]
# **Predict.** What do the events of "cached result" show?


# %% nbgrader={"grade": false, "grade_id": "gpu_mistakes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gpu_mistakes(document) -> list[str]:
    """Return why trials of a document are invalid: a list of texts "name: reason".

    document: as for ceilings, with empty_ms, the time of an empty measurement, and perhaps rows of
        kind trial: name, dtype, flops, bytes, events, and host_ms, the host's time of each call.
        Trials come in order, each with its reasons in this order:
        "not synchronized"  host_ms's median is shorter than the time
        "first call"        host_ms begins with over twice its median
        "too short"         the time is below 10 times empty_ms
        "above the roof"    the efficiency, by place, is above 1.1
    The time is the median by events_to_ms; host_ms's median is of all calls. 0 ms, which place
    refuses, is both "too short" and "above the roof". Without trials: [].
    Raises as ceilings does, even without trials.

    >>> roofs = {"stream": [fake.stream([1, 1], 10**7)], "gemm": [fake.gemm([1, 1], 500, 500, 500)]}
    >>> tiny = fake.trial("tiny", host_ms=[1, 1], ms=[1, 0.03], flops=10**6, bytes=10**4)
    >>> gpu_mistakes(fake.document(**roofs, trial=[tiny], empty_ms=0.004))
    ['tiny: too short']
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


# %% nbgrader={"grade": true, "grade_id": "test_gpu_mistakes", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
copy = fake.stream([1.0, 0.5, 0.5], elements=8_000_000)  # 128 GB/s
product = fake.gemm([4.0, 2.0, 2.0], 1000, 1000, 1000)  # 1 TFLOP/s
roofs, work = {"stream": [copy], "gemm": [product]}, {"flops": 2 * 10**9, "bytes": 12 * 10**6}
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
    "four reasons, trial by trial",
    found,
    ["warm: above the roof", "short: too short", "kept: too short", "kept: above the roof"],
)
gone = fake.document(**roofs, trial=[fake.trial("gone", [0.5, 0.5], [0.0, 0.0], **work)])
expect("nothing was timed", gpu_mistakes(gone), ["gone: too short", "gone: above the roof"])
document["rows"]["trial"].pop(1)
expect("one trial fewer", gpu_mistakes(document), ["cold: first call"])
expect("no trials", gpu_mistakes(fake.document(**roofs)), [])
### BEGIN HIDDEN TESTS
# vary: 9.0 in 6.0..13.5
slower = fake.stream([9.0, 1.0, 1.0], elements=4_000_000)  # 32 GB/s
weaker = fake.gemm([4.0, 1.0, 1.0], 1000, 500, 500)  # 0.5 TFLOP/s
under = {"gemm": [weaker], "stream": [slower]}
work = {"flops": 2 * 10**9, "bytes": 24 * 10**6}
# vary: 5.0 in 4.78..5.4, 4.5 in 4.4..4.7
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
    "trials stay in order, and the valid ones are left out",
    found,
    ["full: above the roof", "brief: too short", "none: too short", "none: above the roof"],
)
found = gpu_mistakes(fake.document(**under, trial=trials, empty_ms=0.002))
expect(
    "what is too short depends on the document's own clock",
    found,
    ["full: above the roof", "none: too short", "none: above the roof"],
)
empty = gpu_mistakes(fake.document(**under, trial=[]))
expect("of no trials none is invalid", empty, [])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_mistakes_2", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
half = fake.gemm([9.0, 1.0], 1000, 1000, 1000, dtype="float16")  # 2 TFLOP/s
single = fake.gemm([9.0, 2.0], 1000, 1000, 1000)  # 1 TFLOP/s
copy = fake.stream([1.0, 0.5, 0.5], elements=8_000_000)
work = {"flops": 2 * 10**9, "bytes": 10**6, "dtype": "float16"}


def reasons(host_ms, ms, **changed):
    rows = {"trial": [fake.trial("it", host_ms, ms, **{**work, **changed})]}
    document = fake.document(**rows, gemm=[half, single], stream=[copy], empty_ms=1 / 256)
    return [text.removeprefix("it: ") for text in gpu_mistakes(document)]


found = [reasons([1, 1], [9.0, ms]) for ms in (1.0, 0.953125, 0.875)]
expect("at the roof, 5 % above it, 14 % above it", found, [[], [], ["above the roof"]])
brief = [reasons([1, 1], [2.0, ms], flops=10**6) for ms in (10 / 256, 9 / 256)]
expect("10 times an empty one, 9 times", brief, [[], ["too short"]])
found = [reasons([2.5, 1.5, 3.0, 1.0], [9.0, ms]) for ms in (1.75, 2.25)]
expect("the host's median, of two in the middle", found, [[], ["not synchronized"]])
expect("longer by a little", reasons([1.0, 1.0006, 1.0007], [9.0, 1.0008]), ["not synchronized"])
found = [
    reasons([1, 1], [9.0, *ms], flops=10**6) for ms in ([0.01, 0.05, 0.05], [0.03, 0.04, 0.07])
]
expect("the median of the events, not the best", found, [[], []])
found = [reasons([ms, 1, 1, 1], [9.0, 1.0]) for ms in (2, 2.25)]
expect("a first call just twice as long, and more", found, [[], ["first call"]])
expect("twice the median, not each later call", reasons([7, 1, 2, 4], [9.0, 1.0]), ["first call"])
calls = [5, 1, 2.25, 2.5, 3], [3, 2.5, 2, 1, 1.25, 1.25], [1, 9, 1, 1], [1.5, 0.5, 1.5, 1.5]
found = [reasons(each, [9.0, 1.0]) for each in calls]
expect("only the first call counts, against the median of all", found, [[], [], [], []])
### BEGIN HIDDEN TESTS
found = [
    reasons([1, 1], [9.0, 1.0], **each) for each in ({"dtype": "float32"}, {"bytes": 2 * 10**8})
]
expect("the roof of the trial's own dtype, and memory's", found, [["above the roof"]] * 2)
expect(
    "by both clocks two reasons hold",
    reasons([6, 2, 1, 1], [9.0, 5.0]),
    ["not synchronized", "first call"],
)
near = fake.trial("near", [1.0, 1.0, 1.0], [7.0, 0.9375, 0.9375], **work)
over = fake.trial("over", [1.0, 1.0, 1.0], [7.0, 0.875, 0.875], **work)
twice = fake.trial("twice", [2.0, 1.0, 1.0], [1.0, 1.0, 1.0], 10**9, 10**6)
worse = fake.trial("worse", [0.9, 0.25, 0.4, 0.375], [1.0, 0.5, 0.5, 0.5], **work)
ramp = fake.trial("ramp", [3.0, 3.0, 9.0, 3.0, 3.0], [9.0, 2.5, 2.5, 4.0, 2.5], **work)
rows = {"gemm": [half, single], "stream": [copy], "trial": [near, over, twice, worse, ramp]}
expect(
    "a trial at a limit is valid, one beyond it is not",
    gpu_mistakes(fake.document(**rows)),
    [
        "over: above the roof",
        "worse: not synchronized",
        "worse: first call",
        "worse: above the roof",
    ],
)
gone = fake.trial("void", [0.5, 0.5], [0.0, 0.0], **work)
edge = fake.trial("edge", [2.15, 1.0, 1.1], [2.0, 0.0390625, 0.0390625], 10**6, 10**6)
little = fake.document(gemm=[half, single], stream=[copy], trial=[edge, gone], empty_ms=1 / 256)
found = gpu_mistakes(little)
expect("no time is above every roof", found, ["void: too short", "void: above the roof"])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_gpu_mistakes_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
product = fake.gemm([4.0, 2.0, 2.0], 1000, 1000, 1000)
expect_table(
    gpu_mistakes,
    ("no roofs, although no trials", [(fake.document(gemm=[product]),)], ValueError),
)
### BEGIN HIDDEN TESTS
copy = fake.stream([9.0, 1.0, 1.0], elements=4_000_000)
work = {"flops": 2 * 10**9, "bytes": 24 * 10**6}
late = fake.trial("late", [9.0, 4.0, 4.0], [6.0, 4.0, 4.0], **work)
soon = fake.trial("soon", [1.0, 1.0, 1.0], [6.0, 4.0, 4.0], **work)
trial = fake.document(gemm=[product], trial=[late])
judged = gpu_mistakes(fake.document(gemm=[product], stream=[copy], trial=[late]))
expect("with roofs it can", judged, ["late: first call"])
judged = gpu_mistakes(fake.document(gemm=[product], stream=[copy], trial=[soon]))
expect("and so can another", judged, ["soon: not synchronized"])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_trials", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each trial claims, and why it is invalid.
found = gpu_mistakes(record.document)
print(f"{record.title('TFLOP/s, claimed')}\n{'':<16}{'by the host':>12}{'by events':>12}")
for row in record.rows("trial"):
    reasons = [text.split(": ")[1] for text in found if text.startswith(f"{row['name']}:")]
    host, device = np.median(row["host_ms"]), events_to_ms(row["events"], "median")
    rates = [row["flops"] / max(ms, 1e-6) / 1e9 for ms in (host, device)]
    claimed = f"{rates[0]:>12,.3f}{rates[1]:>12,.3f}"
    print(f"{row['name']:<16}{claimed}   {', '.join(reasons) or 'valid'}")

# %% [markdown]
# Four things protect you: two clocks that agree, a time far above an empty one, several sizes, and a roof.
#
# On a card, the next cell saves all rows as `recorded.json`, which takes the constructed document's place.

# %% nbgrader={"grade": false, "grade_id": "device_save", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "device"]
# On a card: saves what was measured.
record.save()

# %% [markdown]
# ## Reflect
#
# A launch costs about **1 ms**, and a matrix product is **267 times** faster on a GPU?
# Measure 1, 10, 100 and 1,000 launches.
# The slope of a straight line through their times is what one launch adds.


# %% nbgrader={"grade": false, "grade_id": "reflect_launch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_launch(counts, total_ms) -> float:
    """Return what one launch costs, in µs: the slope of a straight line through measurements.

    counts: how many launches, one number for each measurement. total_ms: how long they took
    together. The line is that of least squares, so that what each measurement costs once
    (waiting, say) is no part of the slope.
    Raises ValueError when lengths differ, for fewer than two, and when all counts are equal.

    >>> round(reflect_launch([10, 110], [1.0, 1.5]), 6)
    5.0
    """
    ### BEGIN SOLUTION
    if len(counts) != len(total_ms) or len(set(counts)) < 2:
        raise ValueError("a slope needs a time for each count, and two counts that differ")
    return float(np.polyfit(counts, total_ms, 1)[0]) * 1e3
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_launch", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
slope = reflect_launch([1, 101], [0.5, 1.0])
expect("two counts", slope, 5.0, rel=1e-6, mistakes={"what it costs once is in it": 9.90099})
counts, total = [4, 1, 2], [9.0, 1.0, 2.5]
again = [reflect_launch(counts, total), counts]
expect("the smallest in the middle; the lists stay", again, [2750.0, [4, 1, 2]], rel=1e-6)
expect("three, not on a line", reflect_launch([20, 0, 40], [4.0, 1.0, 4.5]), 87.5, rel=1e-6)
expect("every digit", reflect_launch([0, 512], [0.0, 1.0]), 1.953125, rel=1e-6)
expect("the first counts, other times", reflect_launch([1, 101], [0.5, 0.75]), 2.5, rel=1e-6)
expect_table(
    reflect_launch,
    (
        "one count twice; a count more; a time more",
        [([7, 7], [1.0, 2.0]), ([1, 2, 3], [1.0, 2.0]), ([1, 2], [1.0, 2.0, 4.0])],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 10 in 8..14, 20 in 16..24, 1.0 in 0.667..1.0, 4.0 in 2.67..6.0
found = reflect_launch([0, 10, 20], [1.0, 4.0, 4.0])
expect("every measurement moves the line", found, 150.0, rel=1e-6)
found = reflect_launch([1000, 10, 100], [2.25, 0.27, 0.45])
expect("the order does not matter", found, 2.0, rel=1e-6)
# vary: 1000 in 503..1_249, 1.0 in 0.667..1.0, 4.0 in 3.1..6.0
found = reflect_launch([1, 2, 1000], [0.0, 1.0, 4.0])
expect("counts may be far apart", found, 3.5060075, rel=1e-6)
### END HIDDEN TESTS

# %% [markdown]
# A speed-up is a statement about two sides.
# The GPU ran at its peak at most.
# So a published speed-up limits the share of *its* peak at which the CPU can have run.


# %% nbgrader={"grade": false, "grade_id": "reflect_speedup", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_speedup(speedup, gpu_peak, cpu_peak) -> float:
    """Return the largest share of its own peak at which the CPU can have run, 0 to 1.

    speedup: how many times faster the GPU was on the same work, whatever the GPU's efficiency.
    gpu_peak, cpu_peak: FLOP/s. Raises ValueError when one of the three is not above 0.

    >>> reflect_speedup(40, 8e12, 1e12)
    0.2
    """
    ### BEGIN SOLUTION
    if min(speedup, gpu_peak, cpu_peak) <= 0:
        raise ValueError("a speed-up and two peaks must be above 0")
    return min(1.0, gpu_peak / speedup / cpu_peak)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_speedup", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
expect("100 times, peaks of 1 to 20", reflect_speedup(100, 8e12, 4e11), 0.2)
both = [reflect_speedup(5, 8e12, 4e11), reflect_speedup(0.5, 1e12, 4e12)]
expect("a CPU that can be at its peak; a GPU that is slower", both, [1.0, 0.5])
expect("every digit", reflect_speedup(300, 1e13, 9e11), 1 / 27)
expect_table(
    reflect_speedup,
    (
        "a speed-up or a peak of 0; one below 0; two below 0",
        [(0, 8e12, 4e11), (3, 0.0, 4e11), (3, 8e12, -4e11), (-3, 8e12, 4e11), (-3, -8e12, 4e11)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 267 in 178..400, 1.95e13 in 1.3e13..2.92e13, 1.5e12 in 1e12..2.25e12
found = reflect_speedup(267, 19.5e12, 1.5e12)
expect("the GPU is at its peak at most", found, 13 / 267, rel=1e-9)
expect("no CPU is above its peak", reflect_speedup(0.5, 1e12, 1e12), 1.0)
# vary: 8 in 2..16, 1e12 in 6.67e11..1.3e12, 2e12 in 1.33e12..3e12
expect("a GPU's peak may be the smaller one", reflect_speedup(8, 1e12, 2e12), 0.0625)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_published", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what small kernels take on two cards, and prints what a launch costs.
n, assumed = demos.kernels_of_gpt2_small(), " (assumed)" * record.document["constructed"]
print(f"A forward pass of GPT-2 small launches {n} kernels. At 1 ms each, that takes {n} ms.")
curves, rows = {}, cards.rows("one by one") + cards.rows("in a graph")
for how in ("one by one", "in a graph"):
    found = {f"{card}, {how}": points for card, points in demos.measured(cards, how).items()}
    costs, curves = {name: points[0][1] for name, points in found.items()}, curves | found
    own = [row for row in record.rows("launch") if row["graph"] == (how == "in a graph")]
    times = [(row["launches"], float(np.median(row["host_ms"]))) for row in own]
    costs[f"your document{assumed}, {how}"] = reflect_launch(*zip(*times, strict=True))
    for name, cost in costs.items():
        print(
            f"{name}: {cost:.2f} µs, {n} in {n * cost / 1e3:.2f} ms; 1 ms is {1e3 / cost:.0f} times"
        )
demos.lines(curves, x="bytes moved", y="µs", log="xy", title=cards.title("Small kernels", *rows))

# %% nbgrader={"grade": false, "grade_id": "demo_speedup", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints at what share of its peak a CPU would have run.
rows = [row for row in record.rows("crossover") if row["where"] == "cpu"]
cpu = max(matmul_flops(*[row["n"]] * 3) / min(row["host_ms"]) * 1e3 for row in rows)
share = reflect_speedup(267, ceilings(record.document)["flops"]["float32"], cpu)
print(f"267 times: the document's CPU ({cpu / 1e9:.0f} GFLOP/s) ran at {share:.0%} of that at most")

# %% [markdown]
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# A page says: "We timed `c = a @ b` with `time.time()` before and after, on a T4.
# The GPU is 267 times faster than the CPU.
# Launching a kernel costs about 1 ms, so use large batches."
# Answer from the documents, and say from which.
#
# 1. What has the page timed? Which of the reasons of section 9 would show that, and how?
# 2. What does a launch cost on a card that was measured? What would 1 ms a launch mean for a forward pass of GPT-2 small, and what may the page have taken for a launch?
# 3. At what share of its peak did the CPU run at most, if 267 is right? What may it have run? What do you write beside a speed-up of your own?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_gpu", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# The numbers are those of the constructed document; a notebook that ran on a card prints its own.
# Who calls the constructed document a measurement does not earn item 5.
#
# - *1 point:* Queueing: 1,251 TFLOP/s by the host, 5.67 by events, “not synchronized” (`demo_trials`).
# - *1 point:* The first call holds the compilation (“first call”).
# - *1 point:* A product of eight times the work tells: queueing takes as long.
# - *1 point:* A launch: 4.55 µs by `reflect_launch`, 1.31 in a graph, or those of a measured card (`demo_published`).
# - *1 point:* The document is named: constructed, or card and date.
# - *1 point:* The kernels of a forward pass, 185: 185 ms at 1 ms each, 0.84 ms by the document.
# - *1 point:* What was taken for a launch: the first call, a copy, an allocation, or a launch and the wait.
# - *1 point:* At most 24 % of the CPU's 95 GFLOP/s, by `reflect_speedup` with the document's peak, 6.15 TFLOP/s (`demo_speedup`).
# - *1 point:* What the CPU may have run (a Python loop, one thread, no BLAS, another dtype), or that the GPU's time is wrong.
# - *1 point:* Beside a speed-up, four of: code, sizes, types, threads of both, copies, clock, date.
#
# **A good answer (10).** Four printed numbers, each with its row of the document.
#
# **A poor answer (2: items 1 and 2).** “They did not synchronize, so they timed the queueing, and the first call compiles. A launch takes about 5 µs.”
# (Item 4 needs the slope.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can read a card's document, and say which of its measurements to believe.
(
    lambda reasons: (
        f"{record.title('Trials')}: {len({text.split(':')[0] for text in reasons})}"
        f" of {len(record.rows('trial'))} are invalid. {reasons[0]}."
    )
)(gpu_mistakes(record.document))

# %% [markdown]
# ## Summary
#
# - A launch queues. Only an event, or a clock that is read after waiting, says how long something took. <!-- with events_to_ms -->
# - A roof is measured by a kernel that does one thing, by the best of many launches; a workload by the median, on fresh inputs, from a cold cache. <!-- with section 5 -->
# - Nothing is above a roof. What seems to be was not computed, or never left the cache. <!-- with gpu_mistakes -->
# - A byte from memory costs the joules of some twenty FLOPs. <!-- with energy_model -->
#
# | what you see | the likely wall | what to do |
# |---|---|---|
# | by the host's clock, small and large products take equally long | none: you timed the queueing | use events, or wait for the device | <!-- with events_to_ms -->
# | `GPU-Util` 98 %, many kernels of some µs, all far below the roofs | overhead | larger batches, fused kernels, a CUDA graph | <!-- with place -->
# | near the slope | memory | fuse; smaller types; reuse what is in a cache | <!-- with place -->
# | near the ceiling | compute | tensor cores, smaller types, fewer FLOPs | <!-- with place -->
# | copies take longer than kernels | the bus | leave data on the card; pinned memory; fewer, larger copies | <!-- with crossover -->
# | slower after a minute, power at its cap | power or heat | note the clock, or fix it | <!-- with gpu_mistakes -->
#
# **Next.** Lesson 11 finds out what a card waits for while a model is trained. <!-- with lesson 11 -->
