# ---
# jupyter:
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
# # 05 · Put it together
#
# ![Time runs to the right. A bar for the forward pass and a longer one for the backward pass; below them bars for three blocks, which come in reverse order on the way back; below these attention and feed-forward layers, and at the bottom, in colours, the operations: mostly linear layers, with matrix products, softmax and GELU between them.](timeline.png)
#
# At the end of this lesson you draw this picture with a profiler of your own. Of any model, forward and backward, it says which operation ran where, how long, how much it calculated and how many bytes it moved.
#
# **You will be able to**
#
# - record every operation of a model that you have never seen, and say what the recording costs;
# - tell the time that something took itself from the time of what ran inside it;
# - say from a profile whether a pass is limited by calculating or by memory;
# - choose between a profiler that instruments, one that traces Python, and one that samples.
#
# **You need** lessons 01 to 04: what you wrote there are the parts.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import contextlib
import cProfile
import functools
import json
import math
import os
import pstats
import statistics
import time
import weakref
from pathlib import Path

import numpy as np
from built import Timer, calibrate, count_flops, count_parameters, measure_latency, measure_memory
from tqdm.auto import tqdm

from proflab import Tensor, autograd, dispatch, example_input, models, nn, no_grad
from proflab.lesson import doubles, expect, expect_between, expect_raises, plot_timeline, profiles
from proflab.lesson.demo import demo_size, rounds
from proflab.lesson.doubles import profiled
from proflab.lesson.hardware import Hardware, read_hardware
from proflab.lesson.recording import Recorder, Rows, as_model, column, columns, region, row_name
from proflab.lesson.tensor_memory import TABLES, bytes_by_memory, each_op, memory_of, present
from proflab.nn import functional as F

MB = 1024**2  # bytes, as everywhere in this course

# %% [markdown]
# ## 1 · What an op moves
#
# In lesson 02 you put a hook at the point that every op passes, and added up FLOPs. The same hook sees more. `call.inputs` are tensors, which have bytes, and so has the result of `call()`. How many bytes an op has to move decides its time as often as what it calculates.
#
# What must be read: in the forward pass the inputs; in the backward pass the gradient of the result (`call.grad`) and what the op kept in the forward pass (`call.saved`: what you counted in lesson 04). What must be written is the result. Two tensors can look at the same memory: `memory_of(tensor)` is the same number for both, and `bytes_by_memory(tensors)`, {memory_of: bytes}, counts no byte twice. That gives three rules:
#
# - Memory is read once, however many inputs look at it. (`x * x` reads one tensor.)
# - A result that looks at memory that is read has not been written; an op with no other result is a *view*, and moves nothing.
# - A look-up reads what it picks, not the whole table.
#
# These are *unique* bytes, the least that has to move. What a program really touches is more: a matrix product reads its operands several times, from nearby memory if it is written well.
#
# Also given: `present(result)`, the Tensors of a result or a gradient in a list, without None; and `TABLES`, from each op that picks from a table to the table's place among its inputs. `each_op(look, function)` runs function() and returns look(call, result) of each of its ops.
#
# **Predict.** GPT-2's token vectors are a table of 147 MB. A text of 128 tokens: how much does its look-up read? And how much does the gradient of that look-up write? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "op_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_bytes(call, result):
    """The bytes that one op has to move: (read, written), two ints.

    call: what a hook gets, with op, phase, inputs, grad and saved. grad is a Tensor, or a list of
        Tensors and None for an op with many results.
    result: what call() returned: a Tensor, or a tuple of Tensors and None.
    Returns (0, 0) for a view, where nothing is written. Else
    written: what the result has in memory that is not read.
    read: in the forward pass the inputs; but of its table an op in TABLES reads as much as it
        writes. In the backward pass the gradient, and what was saved.
    """
    ### BEGIN SOLUTION
    forward = call.phase == "forward"
    read = bytes_by_memory(call.inputs if forward else present(call.grad) + call.saved)
    made = bytes_by_memory(present(result))
    for memory in read:
        made.pop(memory, None)
    written = sum(made.values())
    if not written:
        return 0, 0
    if forward and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_op_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
x, w, b = Tensor.meta((32, 256)), Tensor.meta((128, 256)), Tensor.meta((128,))
expect("linear", each_op(op_bytes, lambda: F.linear(x, w, b)), [(164_352, 16_384)])
expect("x * x", each_op(op_bytes, lambda: x * x), [(32_768, 32_768)], mistakes={"x is read twice": [(65_536, 32_768)]})  # fmt: skip
expect("a view", each_op(op_bytes, lambda: x.reshape(64, 128)), [(0, 0)])
table, tokens = Tensor.meta((50_257, 768)), Tensor.meta((1, 128), "int64")
expect(
    "GPT-2's look-up", each_op(op_bytes, lambda: F.embedding(tokens, table)), [(394_240, 393_216)],
    mistakes={"the whole table is read": [(154_390_528, 393_216)]},
)  # fmt: skip
found = each_op(op_bytes, lambda: (x.chunk(2)[1] + 1.5, b.expand(32, 128).exp(), x.mT.reshape(-1)))
expect("a part, an expanded tensor", found[1:4:2], [(16_384, 16_384), (512, 16_384)])
expect("a copy", found[5], (32_768, 32_768))
found = each_op(op_bytes, lambda: (F.embedding(tokens, w[:2]), Tensor.meta((2**20, 1024)).exp()))
expect("a table of two rows, 4 GB", found[1:], [(132_096, 131_072), (2**32, 2**32)])
### BEGIN HIDDEN TESTS
small, few, wide = Tensor.meta((3, 5, 7), "float64"), Tensor.meta((2, 3)), b.expand(32, 128)
found = each_op(op_bytes, lambda: (small.sum((1, 2)), small + 1.5, small > 0))
expect("float64", found, [(840, 24), (840, 840), (840, 105)])
parts = small.chunk(5, 1)
found = each_op(op_bytes, lambda: (parts[1] + parts[3], small * parts[2], wide.exp()))
expect("parts and wholes", found, [(336, 168), (840, 840), (512, 16_384)])
found = each_op(op_bytes, lambda: (small.chunk(7, 2), small.mT.reshape(21, 5)))
expect("split, permuted, copied", found, [(0, 0), (0, 0), (840, 840)])
found = each_op(op_bytes, lambda: (x[Tensor([4, 0, 1, 1])], F.embedding(tokens, few)))
expect("rows picked, a small table", found, [(4_128, 4_096), (2_560, 1_536)])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_bytes_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(6, 4)
back = each_op(op_bytes, lambda: layer(example_input(layer, (5, 6))).sum().backward())
expect("forward, sum, and back", back, [(232, 80), (80, 4), (0, 0), (124, 112)])
[difference] = profiled.on_the_way_back(op_bytes, lambda x, y, z: (y - x).sum())
expect("a gradient handed on, one made", difference, [(4, 24)])
### BEGIN HIDDEN TESTS
both, square, added, apart, spread, half = profiled.on_the_way_back(
    op_bytes,
    lambda x, y, z: (x * y).sum(),
    lambda x, y, z: (x * x).sum(),
    lambda x, y, z: (x + y).sum(),
    lambda x, y, z: (x - y).sum(),
    lambda x, y, z: (x + z).sum(),
    lambda x, y, z: x.chunk(2)[0].exp().sum(),
)
expect("of products, of a half", both + square + half, [(52, 48), (28, 48), (16, 12), (12, 24)])
expect("of sums, of a difference", added + apart + spread, [(0, 0), (4, 24), (4, 12)])
words = nn.Embedding(9, 4)
lookup = each_op(op_bytes, lambda: words(Tensor([1, 1, 7])).exp().sum().backward())
expect("of a look-up", lookup[-1], (72, 144), mistakes={"only picked rows": (72, 48)})
### END HIDDEN TESTS

# %% [markdown]
# An addition's gradient is the gradient that came in: nothing moves. A look-up's is as large as its table, and nearly all zeros.
#
# ## 2 · What an op is
#
# A *row* of a profile is a dict, with all that is known of one op apart from its time. You have the parts: `op_flops` and `gradient_flops` from lesson 02, and `op_bytes`. Elementwise FLOPs follow lesson 02's table; the given function below extends it: what the table does not name costs 1 FLOP for each element, of its result or its largest input, and what only moves elements (`NO_ELEMENTWISE`) costs none. The backward of an elementwise op counts as its forward. That is a convention, and stays apart from the FLOPs of products.
#
# Two things to think of. A row must be plain numbers and strings (`dtype_name` is `str`, quicker): a row that holds a tensor keeps its memory from being freed, and a profiler that changes what it measures is of no use. And which rule counts, `call.phase` says, not where you are: a Function's own backward runs ops of the forward kind.


# %% nbgrader={"grade": false, "grade_id": "op_elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import ELEMENTWISE, gradient_flops, op_flops, optimizer_memory_mb, tensors_in

from proflab.lesson.recording import NO_ELEMENTWISE, dtype_name, work_and_traffic


def op_elementwise(call, shape):
    """The elementwise FLOPs of one op whose forward result has this shape, by our convention."""
    op, inputs = call.op, call.inputs
    if op in NO_ELEMENTWISE:
        return 0
    size = math.prod(shape)
    if op in ("linear", "conv2d"):
        return ELEMENTWISE["bias"] * size if len(inputs) == 3 else 0
    if op == "scaled_dot_product_attention":  # a softmax over keys for each row of the result
        return ELEMENTWISE["softmax"] * size // shape[-1] * inputs[1].shape[-2]
    if op == "batch_norm" and call.attributes["training"]:
        op = "batch_norm_train"
    if op in ELEMENTWISE:
        return ELEMENTWISE[op] * size
    return max([size, *[t.numel() for t in inputs]])


# %% nbgrader={"grade": false, "grade_id": "op_facts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_facts(call, result):
    """What is known of one op apart from its time.

    call, result: as for op_bytes. Returns a dict of plain data:
        op, module, phase: strings; module is call.module_path.
        input_shapes: a list of tuples. output_shape: a tuple, dtype: a string such as "float32", of
            the forward's result; in the backward pass that is what the gradient has. Of many
            results, the first that is a Tensor.
        matmul_flops: as op_flops counts, in the backward pass as gradient_flops.
        elementwise_flops: as op_elementwise counts. bytes_read, bytes_written: as op_bytes.
    Raises NotImplementedError as op_flops does.
    """
    ### BEGIN SOLUTION
    shapes = [t.shape for t in call.inputs]
    if call.phase == "forward":
        output = present(result)[0]
        flops = op_flops(call.op, shapes, call.attributes)
    else:
        output = present(call.grad)[0]
        wanted = [t.requires_grad for t in call.inputs]
        flops = gradient_flops(call.op, shapes, call.attributes, wanted)
    read, written = op_bytes(call, result)
    return {
        "op": call.op, "module": call.module_path, "phase": call.phase,
        "input_shapes": shapes, "output_shape": output.shape, "dtype": dtype_name(output.dtype),
        "matmul_flops": flops, "elementwise_flops": op_elementwise(call, output.shape),
        "bytes_read": read, "bytes_written": written,
    }  # fmt: skip
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_op_facts", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
x, w, b = Tensor.meta((32, 256)), Tensor.meta((128, 256)), Tensor.meta((128,))
expect(
    "linear", each_op(op_facts, lambda: F.linear(x, w, b))[0], {"op": "linear", "module": "",
    "phase": "forward", "input_shapes": [(32, 256), (128, 256), (128, )], "output_shape": (32, 128),
    "dtype": "float32", "matmul_flops": 2_097_152, "elementwise_flops": 4_096,
    "bytes_read": 164_352, "bytes_written": 16_384},
)  # fmt: skip
net = nn.Sequential(nn.Linear(6, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
facts = each_op(op_facts, lambda: net(example_input(net, (5, 6))).sum().backward())
expect("modules", column(facts, "module"), ["0", "1.0", "1.1", "", "", "1.1", "1.0", "0"])
expect("phases", column(facts, "phase"), ["forward"] * 4 + ["backward"] * 4)
products = column(facts, "matmul_flops")
expect("FLOPs", products, [240, 0, 80, 0, 0, 160, 0, 240], mistakes={"backward is counted as forward": [240, 0, 80, 0, 0, 80, 0, 240]})  # fmt: skip
expect("shapes back", column(facts[4:], "output_shape"), [(), (5, 2), (5, 4), (5, 4)])
expect("elementwise", column(facts, "elementwise_flops"), [20, 20, 10, 10, 10, 10, 20, 20])
greater = each_op(op_facts, lambda: Tensor.meta((3, 2), "float64") > 0)
expect("what came out", columns(greater, "dtype", "output_shape"), [["bool", (3, 2)]])
### BEGIN HIDDEN TESTS
expect("inputs back", facts[5]["input_shapes"], [(5, 4), (2, 4), (2,)])
gpt2 = models.GPT2(vocab_size=19, context=8, d_model=12, layers=2, heads=3)
rows = each_op(op_facts, lambda: gpt2(example_input(gpt2, (2, 5))).sum().backward())
linear = [row["module"] for row in rows if row["op"] == "linear"]
expect("modules of GPT-2", linear[9:11], ["lm_head", "blocks.1.mlp.proj"])
expect("all its FLOPs", sum(column(rows, "matmul_flops")), 235_440)
compared = each_op(op_facts, lambda: Tensor.meta((3, 2), "float64") > 0)
found = columns(rows[:1] + compared, "dtype", "output_shape", "bytes_read")
expect("a look-up, a comparison", found, [["float32", (2, 5, 12), 560], ["bool", (3, 2), 48]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_facts_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
warp = doubles.unknown_op("warp")
refused = doubles.refuses("warp", each_op, op_facts, lambda: warp(Tensor.meta((2, 3))))
expect("an op without a rule", refused, True)
parts = each_op(op_facts, lambda: Tensor.meta((6, 4)).split([1, 5]))
expect("many results", columns(parts, "output_shape", "bytes_written"), [[(1, 4), 0]])
v = Tensor.meta((2, 3), requires_grad=True)
second = each_op(op_facts, lambda: v.split([1, 1])[1].sum().backward())
expect("the gradient of the second alone", second[-1]["output_shape"], (1, 3))
### BEGIN HIDDEN TESTS
a, b = (Tensor.meta(shape, requires_grad=True) for shape in ((2, 3), (3, 4)))
own = each_op(op_facts, lambda: profiled.Product.apply(a, b).sum().backward())
products = [row["matmul_flops"] for row in own if row["op"] == "matmul"]
expect("a Function's own backward", products, [48, 48])
frozen = nn.Linear(3, 4)
frozen.weight.requires_grad = False
kept = each_op(op_facts, lambda: frozen(Tensor([[1.0, 2.0, 3.0]])).sum().backward())
expect("a bias alone", kept[-1]["matmul_flops"], 0)
third = each_op(op_facts, lambda: b.split([1, 1, 2], 1)[2].sum().backward())
expect("the last of three", columns(third[-1:], "output_shape", "dtype"), [[(3, 2), "float32"]])
normed = each_op(op_facts, lambda: nn.BatchNorm2d(3)(Tensor.meta((2, 3, 4, 4))))
expect("batch norm", normed[0]["elementwise_flops"], 768)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · How long, and inside what
#
# Things run inside others: an op inside a region of your program to which you gave a name, a region inside a region. A row therefore has two times. `ms` is from beginning to end, and `self_ms` is what is left when the time of what ran inside is taken away. Only this can be added up without counting a millisecond twice. Whatever ran inside has ended before, so its row is in the list already, one step deeper. That list is a `Rows`: it knows its `start`, what the clock showed when the recording began, and its `depth`, how many things are running now, one inside the other.
#
# ![A wide bar for a region of 10 ms, below it two narrower ones for operations of 3 ms each, and orange what lies between them: the region's own 4 ms. Right of the region a bar for an operation in which nothing else ran.](nest.png)
#
# **Predict.** Data is loaded in 10 ms, of which two ops take 3 ms each; a pass of 20 ms follows, which is one op. What are the four `ms`, the four `self_ms`, and their sums? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "add_row", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_row(rows, first, start, end, facts):
    """Append to `rows` the row of something that has ended; returns nothing.

    rows: a Rows; its depth no longer counts it. first: len(rows) as it was when it began.
    start, end: what time.perf_counter_ns() showed then, and when it ended: ints, in ns.
    facts: a dict, which stays as it is. The row has its keys and values, and
        start_ms: float, in ms after rows.start. ms: float, from start to end.
        self_ms: float, ms less the ms of what ran right inside it: of the rows since `first` those
            that are one deeper. depth: int, how many were running around it.
    """
    ### BEGIN SOLUTION
    ms, depth = (end - start) / 1e6, rows.depth
    inside = sum([row["ms"] for row in rows[first:] if row["depth"] == depth + 1])
    times = {"start_ms": (start - rows.start) / 1e6, "ms": ms, "self_ms": ms - inside}
    rows.append({**facts, **times, "depth": depth})
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_add_row", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
rows, facts = Rows(), {"op": "exp", "module": "a"}
rows.start, rows.depth = 7_000_000, 1
add_row(rows, 0, 9_500_000, 9_623_457, facts)
expect(
    "alone", rows[0],
    {"op": "exp", "module": "a", "start_ms": 2.5, "ms": 0.123457, "self_ms": 0.123457, "depth": 1},
)  # fmt: skip
spans = [(2, 1, 9_700_000, 9_900_001), (1, 1, 9_650_000, 10_150_002)]
spans += [(1, 3, 10_150_002, 10_150_002), (0, 1, 9_625_000, 11_625_000)]
for rows.depth, first, start, end in spans:
    add_row(rows, first, start, end, {"op": "region"})
expect("inside it", column(rows[1:4], "self_ms"), [0.200001, 0.300001, 0.0])
times = columns(rows[4:], "ms", "self_ms", "depth")
expect("around these", times, [[2.0, 1.499998, 0]], mistakes={"in s": [[0.002, 0.001499998, 0]]})
expect("the facts stay", sorted(facts), ["module", "op"])
### BEGIN HIDDEN TESTS
deep = Rows()
deep.start = 70_000
spans = [(2, 0, 75, 80), (2, 1, 80, 90), (1, 0, 72, 100), (1, 3, 100, 110), (0, 0, 70, 120)]
for deep.depth, first, start, end in spans:
    add_row(deep, first, 1000 * start, 1000 * end, facts)
expect("begins", column(deep, "start_ms"), [0.005, 0.01, 0.002, 0.03, 0.0])
expect("all of it", column(deep, "ms"), [0.005, 0.01, 0.028, 0.01, 0.05])
expect("its own", column(deep, "self_ms"), [0.005, 0.01, 0.013, 0.01, 0.012])
expect("depths", column(deep, "depth"), [2, 2, 1, 1, 0])
expect("facts are copied, not changed", facts, {"op": "exp", "module": "a"})
### END HIDDEN TESTS

# %% [markdown]
# Now the clock. `record` stands around each op, and what it does itself must not count: read the clock right before `call()` and right after. And things fail. If the op raises, the exception goes on, there is no row, and the depth is as before: a profiler must still be right after an error, or Ctrl-C. Below it, `OpRecorder` puts it to use: a `Recorder` is given, which sets its `watch` as the hook and tells when a region has ended.
#
# **Predict.** The sum of all `self_ms` of a pass, and the time that the pass took: which is larger, and what is the difference? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "record", "locked": false, "schema_version": 3, "solution": true, "task": false}
def record(call, rows):
    """The hook that records: runs call(), adds its row, returns what call() returned.

    rows: a Rows. Its depth is 1 more while call() runs, and as before when record has ended, also
        when call() raises; then no row is added.
    The row is that of add_row, with the facts of op_facts and the time of call() alone, by
    time.perf_counter_ns. Raises what call() raises, and NotImplementedError as op_facts does.
    """
    ### BEGIN SOLUTION
    first, start = len(rows), time.perf_counter_ns()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = time.perf_counter_ns()
        rows.depth -= 1
    add_row(rows, first, start, end, op_facts(call, result))
    return result
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "op_recorder", "locked": true, "schema_version": 3, "solution": false, "task": false}
class OpRecorder(Recorder):
    """`with OpRecorder() as recorder:` records every op inside; then they are in recorder.rows.

    Entered again, it begins anew. What is inside may raise: what was recorded until then is there.
    `with region("data loading"):` inside adds a row of op "region", whose module is that name.
    """

    def watch(self, call):
        return record(call, self.rows)

    def end_region(self, first, start, end, facts):
        add_row(self.rows, first, start, end, facts)


def rows_of(function):
    """The rows of what function() runs."""
    with OpRecorder() as recorder:
        function()
    return recorder.rows


# %% nbgrader={"grade": true, "grade_id": "test_record", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[3.0, 1.000457, 2.0])
net = nn.Sequential(nn.Linear(6, 4), nn.ReLU())
x = example_input(net, (5, 6))
rows = clock.run(rows_of, lambda: doubles.paced(pace, lambda: net(x).sum().backward()))
expect("ops", column(rows, "op"), ["linear", "relu", "sum", "sum", "relu", "linear"])
expect("ms", column(rows, "ms"), [3.0, 1.000457, 2.0] * 2, abs=1e-6)
starts = column(rows, "start_ms")
expect("start_ms", starts[:4], [0.0, 3.0, 4.000457, 6.000457], abs=1e-6)
expect("nothing runs inside", column(rows, "self_ms"), [3.0, 1.000457, 2.0] * 2, abs=1e-6)
expect("the facts", column(rows, "matmul_flops"), [240, 0, 0, 0, 0, 240])
expect("nothing else is in a row", len(rows[0]), 14)
held = []
rows_of(lambda: held.append(weakref.ref(Tensor([1.0]).exp())))
expect("no result is kept alive", held[0]() is None, True)
warp = doubles.unknown_op("warp")
refused = doubles.refuses("warp", rows_of, lambda: warp(Tensor.meta((2, 3))))
expect("an op without a rule", refused, True)
rows = clock.run(rows_of, lambda: [x.exp() for _ in range(60)])
expect("sixty ops that take no time", column(rows, "ms"), [0.0] * 60)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[0.5, 7.25], cold_ms=[90.0])
tiny = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False), nn.GELU())
late = [
    lambda: clock.advance(2.5),
    lambda: doubles.paced(pace, lambda: tiny(Tensor([[1.0, 2.0, 3.0]])).tanh()),
    lambda: clock.advance(100),
]
rows = clock.run(rows_of, lambda: [step() for step in late])
expect("paced by another", column(rows, "ms"), [90.0, 0.5, 7.25, 0.5], abs=1e-6)
expect("begun later", column(rows, "start_ms"), [2.5, 92.5, 93.0, 100.25], abs=1e-6)
expect("who, how deep", columns(rows, "module", "depth"), [["0", 0], ["1", 0], ["2", 0], ["", 0]])
results = []
rows_of(lambda: results.extend([Tensor([2.0, 3.0]) * 2, weakref.ref(Tensor([1.0]).exp())]))
expect("what call() returned", results[0].tolist(), [4.0, 6.0])
expect("nothing is kept alive by a row", results[1]() is None, True)
bend = doubles.unknown_op("bend")
told = doubles.refuses("bend", rows_of, lambda: bend(Tensor([2.0]).exp()).exp())
expect("another op without a rule", told, True)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_record_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[3.0])
x = Tensor([[1.0, 2.0]])


def epoch():
    with region("data loading"):
        clock.advance(4)
        (x + 1).exp()
    x.exp()


rows = clock.run(rows_of, lambda: doubles.paced(pace, epoch))
expect("with a region", column(rows, "op"), ["add", "exp", "region", "exp"])
expect("all of it", column(rows, "ms"), [3.0, 3.0, 10.0, 3.0], abs=1e-6)
expect("itself", column(rows, "self_ms"), [3.0, 3.0, 4.0, 3.0], abs=1e-6)
expect("depth", column(rows, "depth"), [1, 1, 0, 0])
expect_raises("an op that fails", lambda: rows_of(lambda: x @ x), ValueError)
with contextlib.suppress(ValueError), OpRecorder() as failed:
    x @ x
with contextlib.suppress(KeyboardInterrupt), OpRecorder() as ended:
    dispatch.hook(profiled.interrupted)(x.exp)()
found = [[len(recorder.rows), recorder.rows.depth] for recorder in (failed, ended)]
expect("no rows of it, or of Ctrl-C; the depth as before", found, [[0, 0], [0, 0]])
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[2.0, 5.0])


def attempts():
    with region("a"), contextlib.suppress(ValueError):
        x.exp()
        with region("b"):
            clock.advance(0.5)
            epoch()
            x @ x
    x.exp()


rows = clock.run(rows_of, lambda: doubles.paced(pace, attempts))
names = " ".join(row_name(row) for row in rows)
expect("order", names, "exp add exp data loading exp b a exp")
expect("nested, all", column(rows, "ms"), [2.0, 5.0, 2.0, 11.0, 5.0, 18.5, 20.5, 5.0], abs=1e-6)
expect("its own", column(rows, "self_ms"), [2.0, 5.0, 2.0, 4.0, 5.0, 2.5, 0.0, 5.0], abs=1e-6)
expect("nested, depth", column(rows, "depth"), [1, 3, 3, 2, 2, 1, 0, 0])
with contextlib.suppress(KeyboardInterrupt), OpRecorder() as a, dispatch.hook(profiled.interrupted):
    x.tanh()
with OpRecorder() as b, OpRecorder() as c:
    x.tanh()
found = [a.rows.depth, *(column(recorder.rows, "op") for recorder in (a, b, c))]
expect("interrupted, and two at once", found, [0, [], ["tanh"], ["tanh"]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_record_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[1.0, 3.0])
call = profiled.Around(pace, profiled.Around(pace))  # as nothing in the engine does yet
found = clock.run(profiled.times_of, record, call)
expect("a call in a call", found, [[1.0, 3.0, 3.0, 1], [0.0, 4.0, 1.0, 0]], abs=1e-6)
asked = profiled.Around(pace, wait=lambda: clock.advance(25))
found = clock.run(profiled.times_of, record, asked)
expect("not what record does itself", found, [[0.0, 1.0, 1.0, 0]], abs=1e-6)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[1.5, 4.0])
calls = profiled.Around(pace), profiled.Around(pace, profiled.Around(pace))
found = clock.run(profiled.times_of, record, profiled.Around(pace, *calls))
times = [row[1:] for row in found]
expect("in calls", times[:2], [[4.0, 4.0, 1], [4.0, 4.0, 2]], abs=1e-6)
expect("around calls", times[2:], [[5.5, 1.5, 1], [11.0, 1.5, 0]], abs=1e-6)
slow = profiled.Around(pace, wait=lambda: clock.advance(40))
found = clock.run(profiled.times_of, record, slow)
expect("what record does itself", found, [[0.0, 1.5, 1.5, 0]], abs=1e-6)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_timeline", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
gpt2 = models.GPT2(1024, layers=demo_size(3, 1), d_model=demo_size(full=768, small=48))
tokens = example_input(gpt2, (1, demo_size(full=256, small=8)))
gpt2(tokens).mean().backward()  # the first pass is cold
with OpRecorder() as recorder:
    with region("forward"):
        loss = gpt2(tokens).mean()
    with region("backward"):
        loss.backward()
print(f"{len(recorder.rows)} rows; of the op that calculated most:")
print(max(recorder.rows, key=lambda row: row["matmul_flops"]))
plot_timeline.timeline(recorder.rows, title="A GPT-2 as wide as small, with few blocks")

# %% [markdown]
# Time runs to the right, and below a bar is what ran inside it. What is left white between ops is Python: layers being called, rows being written. The picture shows what no sum does: what comes when, and what is waited for.
#
# ## 4 · Where the time goes
#
# A profile of a thousand rows is read by grouping them. What took longest? What calculated most? These are two lists, and where they differ it is worth to look. Rows of one `row_name` belong together: the op, or the name of a region or module.
#
# **Predict.** ResNet-18 on one image: 99.9 % of the FLOPs are convolutions. What part of the time? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "top_operations", "locked": false, "schema_version": 3, "solution": true, "task": false}
MEASURES = ("ms", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def top_operations(rows, n, by="ms"):
    """The n names of which there is most, as a list of dicts, the largest share first.

    rows: of a recording, at least one. Those of one row_name belong together, whatever else.
    n: int, at least 1; where there are fewer names, there are fewer dicts.
    by: one of MEASURES: what shares are of. "ms" means self_ms, so that no time counts twice.
    Returns dicts with name (str), ms (float: the sum of self_ms, whatever `by` is) and share
    (float: the part that the name has of the sum over all rows; 0.0 where that sum is 0). Equal
    shares stay in the order in which the names came first.
    Raises ValueError for no rows, n below 1, and a `by` that is not in MEASURES.
    """
    ### BEGIN SOLUTION
    if not rows or n < 1 or by not in MEASURES:
        raise ValueError(f"no top {n} of {len(rows)} rows by {by!r}: measures are {MEASURES}")
    key = "self_ms" if by == "ms" else by
    total = sum(column(rows, key))
    groups = {}
    for row in rows:
        name = row_name(row)
        group = groups.setdefault(name, {"name": name, "ms": 0.0, "share": 0.0})
        group["ms"] += row["self_ms"]
        group["share"] += row[key] / total if total else 0.0
    return sorted(groups.values(), key=lambda group: group["share"], reverse=True)[:n]
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "print_top_operations", "locked": true, "schema_version": 3, "solution": false, "task": false}
def print_top_operations(rows, n=5, by="ms"):
    """Print the top operations in a line: 45 % matmul, 23 % attention, …"""
    tops = top_operations(rows, n, by)
    print(", ".join(f"{100 * top['share']:.0f} % {top['name']}" for top in tops))


# %% nbgrader={"grade": true, "grade_id": "test_top_operations", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
keys = "op phase ms self_ms matmul_flops bytes_read"
forward, back = "forward", "backward"
rows = profiled.made_up(
    keys, ("linear", forward, 4.0, 4.0, 600, 70), ("module mlp", forward, 3.0, 3.0, 0, 30),
    ("linear", back, 1.000457, 1.000457, 300, 0), ("matmul", back, 1.5, 1.5, 100, 200),
    ("region loading", "region", 10.0, 0.5, 0, 0),
)  # fmt: skip
expect(
    "by time", top_operations(rows, 2), [{"name": "linear", "ms": 5.000457,
    "share": 5.000457 / 10.000457}, {"name": "mlp", "ms": 3.0, "share": 3 / 10.000457}],
    mistakes={"what ran inside the region counts twice": [{"name": "loading", "ms": 10.0,
    "share": 10 / 19.500457}, {"name": "linear", "ms": 5.000457, "share": 5.000457 / 19.500457}]},
)  # fmt: skip
work = top_operations(rows, 4, by="matmul_flops")
expect("by work", column(work, "name"), ["linear", "matmul", "mlp", "loading"])
expect("shares of work", column(work, "share"), [0.9, 0.1, 0.0, 0.0], abs=1e-12)
expect("their time", column(work, "ms"), [5.000457, 1.5, 3.0, 0.5])
read = top_operations(rows, 1, "bytes_read")
expect("of all, not of the top", read, [{"name": "matmul", "ms": 1.5, "share": 2 / 3}])
none = top_operations(rows, 9, "bytes_written")
expect("nothing written", column(none, "share"), [0.0] * 4)
expect("rows stay as they are", column(rows, "self_ms"), [4.0, 3.0, 1.000457, 1.5, 0.5])
expect_raises("no rows", lambda: top_operations([], 3), ValueError)
expect_raises("no measure", lambda: top_operations(rows, 3, "start_ms"), ValueError)
expect_raises("none", lambda: top_operations(rows, 0), ValueError)
### BEGIN HIDDEN TESTS
some = profiled.made_up(
    "op ms self_ms matmul_flops bytes_read", ("region data", 9.0, 6.0, 0, 0),
    ("tanh", 1.0, 1.0, 0, 8), ("relu", 2.0, 2.0, 0, 8), ("tanh", 1.0, 1.0, 0, 0),
    ("module m", 0.5, 0.5, 70, 0),
)  # fmt: skip
found = columns(top_operations(some, 99), "name", "ms")
expect("all of them", found, [["data", 6.0], ["tanh", 2.0], ["relu", 2.0], ["m", 0.5]])
by_bytes = top_operations(some, 1, "bytes_read")
expect("shares are of all rows", by_bytes, [{"name": "tanh", "ms": 2.0, "share": 0.5}])
nothing = top_operations(some, 9, "bytes_written")
expect("no bytes written at all", column(nothing, "share"), [0.0] * 4)
expect("the rows are as before", column(some, "self_ms"), [6.0, 1.0, 2.0, 1.0, 0.5])
expect_raises("an empty list", lambda: top_operations([], 3), ValueError)
many = profiled.made_up("op self_ms", *[(f"op{i}", 1.0 + i) for i in range(70)])
expect("seventy names", len(top_operations(many, 70)), 70)
expect_raises("not every key is a measure", lambda: top_operations(some, 3, "self_ms"), ValueError)
expect_raises("an unknown measure", lambda: top_operations(some, 3, "calls"), ValueError)
expect_raises("a negative number", lambda: top_operations(some, -2), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_top", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
shape, text = demo_size(full=((1, 3, 224, 224), (1, 128)), small=((1, 3, 64, 64), (1, 8)))
resnet, gpt2 = models.resnet18().eval(), models.GPT2(**demo_size({}, {"d_model": 48}))
image, tokens = example_input(resnet, shape), example_input(gpt2, text)
passes = {
    "ResNet-18": no_grad()(lambda: resnet(image)),  # forward
    "GPT-2 small": lambda: gpt2(tokens).mean().backward(),  # forward and backward
}
recorded = {}
for name, run in passes.items():
    run()
    recorded[name] = rows_of(run)
    print(f"{name}, {len(recorded[name])} ops:", end=" ")
    print_top_operations(recorded[name])
profiles.three_shares(recorded, title="One pass each, seen three ways")

# %% [markdown]
# Where an op has a larger part of the time than of the FLOPs, it waits for memory or for Python. Which of the two, lesson 06 finds out.
#
# ## 5 · A timeline to walk through
#
# There are good viewers for profiles: Perfetto (ui.perfetto.dev), speedscope, `chrome://tracing`. They read the *trace event format*: a JSON object whose `traceEvents` is a list of events. A *complete event* (`ph` is `"X"`) has a begin `ts` and a duration `dur`, both in **microseconds**, a process and a thread (`pid`, `tid`), a name, categories, and `args` with whatever else there is to see when one clicks on it. Events of one thread nest by their times alone.
#
# **Predict.** Two events of a thread begin at the same microsecond, one 5 µs long and one 50 µs. Which must stand first in the list, so that a viewer which reads them one by one knows that it is the outer one? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "chrome_trace", "locked": false, "schema_version": 3, "solution": true, "task": false}
ARGS = ("module", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


def chrome_trace(rows):
    """A recording in the trace event format, for viewers.

    Returns {"traceEvents": [...]}, with an event for each row: a dict of name (row_name), cat
    (phase), ph ("X"), ts and dur (start_ms and ms, as floats in µs), pid and tid (both 1), and
    args: a dict of the row's values for the keys in ARGS.
    Events are in the order of their ts; of those that begin together the one of less depth is first.
    Raises ValueError where there are no rows.
    """
    ### BEGIN SOLUTION
    if not rows:
        raise ValueError("there are no rows, so there is no trace")
    events = [
        {
            "name": row_name(row), "cat": row["phase"], "ph": "X", "ts": row["start_ms"] * 1000,
            "dur": row["ms"] * 1000, "pid": 1, "tid": 1, "args": {key: row[key] for key in ARGS},
        }
        for row in sorted(rows, key=lambda row: (row["start_ms"], row["depth"]))
    ]  # fmt: skip
    return {"traceEvents": events}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_chrome_trace", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
rows = profiled.made_up(
    "op phase start_ms ms depth matmul_flops bytes_read",
    ("region loading", "region", 0.5, 1.5004567, 0, 0, 0),
    ("module mlp", "forward", 2.5, 0.0, 1, 0, 0), ("exp", "backward", 3.25, 1.5, 1, 0, 24),
    ("linear", "forward", 2.0004567, 0.25, 1, 48, 88),
    ("region a pass", "region", 2.0004567, 1.75, 0, 0, 0),
)  # fmt: skip
events = chrome_trace(rows)["traceEvents"]
expect("an event a row", column(events, "name"), ["loading", "a pass", "linear", "mlp", "exp"])
expect("begins, in µs", column(events, "ts"), [500.0, 2000.4567, 2000.4567, 2500.0, 3250.0])
lasts = column(events, "dur")
expect("durations", lasts, [1500.4567, 1750.0, 250.0, 0.0, 1500.0], mistakes={"in ms": [1.5004567, 1.75, 0.25, 0.0, 1.5]})  # fmt: skip
expect(
    "all of one", events[2], {"name": "linear", "cat": "forward", "ph": "X", "ts": 2000.4567,
    "dur": 250.0, "pid": 1, "tid": 1, "args": {"module": "m", "matmul_flops": 48,
    "elementwise_flops": 0, "bytes_read": 88, "bytes_written": 0}},
)  # fmt: skip
expect("rows stay as they are", column(rows, "start_ms")[:3], [0.5, 2.5, 3.25])
expect("a hundred rows", len(chrome_trace(rows * 20)["traceEvents"]), 100)
expect_raises("no rows", lambda: chrome_trace([]), ValueError)
### BEGIN HIDDEN TESTS
nested = profiled.made_up(
    "op start_ms ms self_ms depth phase",
    ("exp", 0.25, 0.125, 0.125, 2, "forward"), ("exp", 0.375, 40.0, 40.0, 2, "backward"),
    ("module a.b", 0.25, 40.125, 0.0, 1, "forward"), ("exp", 40.5, 3.0, 3.0, 2, "backward"),
    ("region step", 40.5, 3.0, 0.0, 1, "region"), ("region all", 0.25, 43.25, 0.125, 0, "region"),
)  # fmt: skip
events = chrome_trace(nested)["traceEvents"]
expect("outer ones first", column(events, "name"), ["all", "a.b", "exp", "exp", "step", "exp"])
expect("begins", column(events, "ts"), [250.0, 250.0, 250.0, 375.0, 40_500.0, 40_500.0])
expect("lengths", column(events, "dur"), [43_250.0, 40_125.0, 125.0, 40_000.0, 3_000.0, 3_000.0])
expect("categories", column(events, "cat")[2:5], ["forward", "backward", "region"])
threads = columns(events, "ph", "pid", "tid")
expect("one thread", threads, [["X", 1, 1]] * 6)
again = json.loads(json.dumps(chrome_trace(nested)))
expect("all of it is JSON", len(again["traceEvents"]), 6)
expect("rows as they were", column(nested, "start_ms"), [0.25, 0.375, 0.25, 40.5, 40.5, 0.25])
### END HIDDEN TESTS

# %% [markdown]
# To see it, save a trace and open the file in one of the viewers; what you open there stays on your computer:
#
#     Path("trace.json").write_text(json.dumps(chrome_trace(plot_timeline.with_modules(rows))))

# %% nbgrader={"grade": false, "grade_id": "demo_trace", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
lenet = models.LeNet5()
rows = rows_of(lambda: lenet(example_input(lenet, (8, 1, 32, 32))).mean().backward())
text = json.dumps(chrome_trace(plot_timeline.with_modules(rows)))
print(f"{len(rows)} rows, {len(text) / 1024:.1f} KB of JSON: {text[:260]} …")
plot_timeline.timeline(rows, title="LeNet-5, 8 images, forward and backward")

# %% [markdown]
# ## 6 · A pass in a line
#
# How much, how long, and what limits it? A machine has two roofs: it calculates at most `peak_flops` FLOPs a second, and moves at most `bandwidth` bytes a second. A pass cannot take less than its FLOPs divided by the one, nor less than its bytes divided by the other. Whichever takes longer is its *bottleneck*: only less of that can make the pass faster. Here machines are described by a document, `machines.json`, with what their makers say; in lesson 06 you measure your own.
#
# **Predict.** A T4 has 8.1 · 10¹² FLOP/s and 320 · 10⁹ bytes/s. A linear layer from 4,096 to 4,096, in float32: what limits it for 1 row, and what for 1,024 rows? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "find_bottleneck", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_bottleneck(flops, bytes_moved, hardware):
    """What limits work of so many FLOPs and bytes: "compute" or "memory".

    flops, bytes_moved: ints, at least 0, not both 0. hardware: a Hardware, with peak_flops in
        FLOP/s and bandwidth in bytes/s; or None.
    Returns "compute" where calculating at the peak takes at least as long as moving at full
    bandwidth, "memory" where it does not, and None where hardware is None.
    Raises ValueError for a negative number, and where there is neither.
    """
    ### BEGIN SOLUTION
    if min(flops, bytes_moved) < 0 or flops == bytes_moved == 0:
        raise ValueError(f"{flops} FLOPs and {bytes_moved} bytes are no work")
    if hardware is None:
        return None
    slower = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
    return "compute" if slower else "memory"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_find_bottleneck", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
machine = Hardware(peak_flops=8e12, bandwidth=2e11, name="an example")
expect("40 FLOPs a byte: both at once", find_bottleneck(4000, 100, machine), "compute")
expect("39.9 FLOPs a byte", find_bottleneck(3990, 100, machine), "memory")
expect("nothing to calculate", find_bottleneck(0, 1, machine), "memory")
expect("no machine", find_bottleneck(3990, 100, None), None)
expect("nothing to move", find_bottleneck(10**20, 0, machine), "compute")
expect_raises("no work", lambda: find_bottleneck(0, 0, machine), ValueError)
expect_raises("no work, no machine", lambda: find_bottleneck(0, 0, None), ValueError)
expect_raises("negative FLOPs", lambda: find_bottleneck(-1, 5, machine), ValueError)
expect_raises("both negative", lambda: find_bottleneck(-5, -5, machine), ValueError)
### BEGIN HIDDEN TESTS
limits = [find_bottleneck(n, 20, Hardware(3e9, 6e9)) for n in (9, 10, 11)]
expect("a slow processor", limits, ["memory", "compute", "compute"])
expect("work without a byte", find_bottleneck(7, 0, machine), "compute")
expect("huge", find_bottleneck(10**20, 10**17, machine), "compute")
expect_raises("less than no FLOPs", lambda: find_bottleneck(-7, 5, None), ValueError)
expect_raises("negative bytes", lambda: find_bottleneck(5, -1, machine), ValueError)
expect_raises("neither is positive", lambda: find_bottleneck(-1, -9, machine), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# Now all parts at once, from three lessons and this one. Take care with the batch: time and memory are of the pass that was run, and so the FLOPs must be, too. The FLOPs of one sample divided by the time of 32 look like a slow machine. Given: `as_model` makes a bare Tensor a model that can be called, and `work_and_traffic(rows)` adds up all FLOPs, of products and elementwise, and all bytes, read and written.
#
# **Predict.** A linear layer and a ReLU after it. Which of your functions run the model, and how often is it called altogether? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "profile_forward_pass", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_forward_pass(model, x, hardware, warmup=3, iterations=10):
    """What one forward pass, model(x), costs.

    model: a Module; or a bare Tensor, which counts as in lessons 01 and 02, and is run as
        as_model(tensor). x: its input, a Tensor, batch first. hardware: a Hardware, or None.
    Returns a dict:
        parameters: int. flops: int, as count_flops has it, for the whole of x.
        latency_ms: float, measure_latency with this warmup and these iterations.
        peak_memory_mb: float, as measure_memory has it.
        gflops_per_second: float, 10⁹ FLOPs a second: these FLOPs in that time.
        bottleneck: find_bottleneck of all FLOPs, elementwise ones too, and all bytes, read and
            written, of the pass's ops (record them); None also where nothing moves.
    The model runs in the mode that it is in. Raises what its parts raise.
    """
    ### BEGIN SOLUTION
    flops, runs = count_flops(model, x, per_sample=False), as_model(model)
    latency = measure_latency(runs, x, warmup, iterations)
    work, moved = work_and_traffic(rows_of(lambda: runs(x)))
    return {
        "parameters": count_parameters(model),
        "flops": flops,
        "latency_ms": latency,
        "peak_memory_mb": measure_memory(runs, x)["peak_memory_mb"],
        "gflops_per_second": flops / (latency * 1e6),
        "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_profile_forward_pass", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(256, 128)
x, machine = example_input(layer, (32, 256)), Hardware(2e11, 2e10)
layer.bias.requires_grad = False
found = profile_forward_pass(layer, x, machine, iterations=2)
keys = " ".join(sorted(found))
expect("keys", keys, "bottleneck flops gflops_per_second latency_ms parameters peak_memory_mb")
expect("parameters, frozen ones too", found["parameters"], 32_896)
expect("FLOPs", found["flops"], 2_097_152, mistakes={"of one sample": 65_536})
expect("11.6 FLOPs a byte, where 10 are needed", found["bottleneck"], "compute")
memory = doubles.Allocating(parameters_mb=0.02, graph_mb=0.015, output_mb=0.01, scratch_mb=0.06)
wide = Tensor(np.zeros((512, 1024)))
found = profile_forward_pass(memory, wide, None, warmup=0, iterations=1)
expect("the peak", found["peak_memory_mb"], 0.105, abs=0.003)
expect("no machine", profile_forward_pass(layer, x, None, 0, 1)["bottleneck"], None)
expect("its mode, and no gradients", [layer.training, layer.weight.grad], [True, None])
still = profile_forward_pass(Tensor(np.ones((3, 7))), x, machine, 0, 1)
expect("a bare Tensor", columns([still], "parameters", "flops", "bottleneck"), [[0, 21, None]])
odd = profiled.Paced(lambda x: None, doubles.unknown_op("odd"))
told = doubles.refuses("odd", profile_forward_pass, odd, x, machine)
expect("an op without a rule", told, True)
### BEGIN HIDDEN TESTS
# FLOPs: 512 + 32, 32, 512 + 32; bytes: (128 + 288) + 128, 128 + 128, (128 + 288) + 128
two = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.0), nn.ReLU(), nn.Linear(8, 8))
few = Tensor(np.ones((4, 8)))
cases = [(layer, x, 11.615), (layer, x, 11.65), (two, few, 0.83), (two, few, 0.84)]
limits = [profile_forward_pass(*case, Hardware(ridge, 1.0), 0, 1)["bottleneck"] for *case, ridge in cases]  # fmt: skip
expect("all ops, all they move, the batch", limits, ["compute", "memory"] * 2)
expect("its mode stays, no gradients are left", [two.training, two[0].weight.grad], [True, None])
two.eval()
profile_forward_pass(two, few, None, 0, 1)
expect("eval stays, too", two.training, False)
still = profile_forward_pass(Tensor(np.ones((4, 8))), few, machine, 0, 1)
words = profile_forward_pass(nn.Embedding(9, 4), Tensor([[1, 8], [2, 2]]), machine, 0, 1)
found = columns([still, words], "parameters", "flops", "bottleneck")
expect("another bare Tensor, tokens", found, [[0, 32, None], [36, 0, "memory"]])
greedy = doubles.Allocating(parameters_mb=1, graph_mb=11, output_mb=6, scratch_mb=0)
found = profile_forward_pass(greedy, wide, None, 0, 1)
expect("another peak", found["peak_memory_mb"], 18.0, rel=0.01)
warped = profiled.Paced(lambda x: None, doubles.unknown_op("warp"))
refused = doubles.refuses("warp", profile_forward_pass, warped, few, machine)
expect("another op without a rule", refused, True)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_profile_forward_pass_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
pace, real = doubles.Model(clock, ms=[4.0, 4.123457, 4.5, 90.0]), []
timed = profiled.Paced(lambda x: [pace(x), real.append(not x.is_meta)], nn.Linear(256, 128))
found = clock.run(profile_forward_pass, timed, Tensor(np.ones((32, 256))), None, iterations=4)
took = found["latency_ms"]
expect("the median of four", took, 4.3117285, rel=1e-6, mistakes={"the mean": 25.65586425})
expect(
    "10⁹ FLOPs a second", found["gflops_per_second"], 2.097152 / 4.3117285, rel=1e-6,
    mistakes={"FLOPs of one sample by the time of 32": 0.065536 / 4.3117285, "10⁶": 486.38313},
)  # fmt: skip
expect_between("calls: 7 timed, memory, record, count", pace.calls, 9, 10)
expect_between("8 or more of them with data", sum(real), 8, 10)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[2.5, 2.5, 30.0], cold_ms=[1000.0])
narrow, x = profiled.Paced(pace, nn.Linear(8, 64)), Tensor(np.ones((5, 8)))
found = clock.run(profile_forward_pass, narrow, x, None)
times = [found["latency_ms"], found["gflops_per_second"]]
expect("another median, its rate", times, [2.5, 0.002048], rel=1e-6)
expect_between("by default 3 to warm up, and 10", pace.calls, 15, 16)
twice = doubles.Model(clock, ms=[2.0, 6.5])
found = clock.run(profile_forward_pass, profiled.Paced(twice, nn.ReLU()), x, None, 1, 6)
expect("the median of an even number", found["latency_ms"], 4.25, rel=1e-6)
relu = profile_forward_pass(nn.ReLU(), x, Hardware(1e9, 1e9), 0, 1)
found = columns([relu], "flops", "gflops_per_second", "bottleneck")
expect("no FLOPs", found, [[0, 0.0, "memory"]])
never = {"iterations": 0}
expect_raises("never", lambda: profile_forward_pass(narrow, x, None, **never), ValueError)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "profile_layer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_layer(layer, input_shape, hardware=None):
    """What a forward pass through one layer costs.

    layer: a Module. input_shape: batch first, all of it is run; example_input makes the input.
    hardware: as for profile_forward_pass, which makes the dict that is returned.
    Raises ValueError for what is no shape.
    """
    ### BEGIN SOLUTION
    return profile_forward_pass(layer, example_input(layer, input_shape), hardware)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_profile_layer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
found = profile_layer(nn.Linear(64, 32), (16, 10, 64))
expect("a batch of 16 texts", [found["parameters"], found["flops"]], [2_080, 655_360])
expect("no machine", found["bottleneck"], None)
noted = doubles.Logged(nn.Linear(64, 32))
found = profile_layer(noted, (16, 64), Hardware(1e12, 1e9))
expect("on a machine", found["bottleneck"], "memory")
expect_between("run, and timed", found["latency_ms"], 1e-6, 1e5)
expect_between("with data", sum(not x.is_meta for x in noted.seen), 14, 17)
expect_raises("no shape", lambda: profile_layer(nn.Linear(4, 4), (0, 4)), ValueError)
### BEGIN HIDDEN TESTS
words, window = nn.Embedding(100, 8), nn.Conv2d(4, 8, 3, padding=1, bias=False)
words.input_dtype, words.vocab_size = "int64", 100
look_up = profile_layer(words, (2, 5), Hardware(1e12, 1e9))
convolved = profile_layer(window, (2, 4, 6, 6), hardware=Hardware(1e9, 1e12))
found = columns([look_up, convolved], "parameters", "flops", "bottleneck")
expect("a look-up, a convolution", found, [[800, 0, "memory"], [288, 41_472, "compute"]])
expect_between("it was run", convolved["latency_ms"], 1e-6, 1e5)
expect_raises("a fraction", lambda: profile_layer(nn.Linear(4, 4), (1.5, 4)), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_batches", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
layer, names = nn.Linear(4096, 4096), json.loads(Path("machines.json").read_text("utf-8"))
machines = [read_hardware("machines.json", name) for name in names]
work = {
    n: work_and_traffic(each_op(op_facts, lambda n=n: layer(Tensor.meta((n, 4096)))))
    for n in demo_size(full=[1, 8, 64, 1024], small=[1, 8])
}
print("FLOPs a byte, and what limits Linear(4096, 4096) in float32")
profiles.print_limits(work, machines, find_bottleneck)

# %% [markdown]
# The weights are read once, however many rows there are: that is why requests are batched.
#
# ## 7 · And back
#
# Training keeps what a forward pass leaves, adds a gradient for each trained parameter, and whatever the optimizer remembers. In lesson 04 you calculated this from parameters. Now do not believe it: run the backward pass, and look at the gradients that came out. A parameter that is frozen gets none, and neither does one that the model has but did not use.
#
# **Predict.** A model of 100 MB of parameters, of which 60 MB are frozen. How much memory do its gradients take, and how much Adam's state? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "profile_backward_pass", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_backward_pass(model, x, hardware, warmup=1, iterations=5):
    """What a forward and a backward pass cost, from the sum of all elements of all outputs.

    model: a Module. x, hardware, warmup, iterations: as for profile_forward_pass.
    The gradients are computed, of the parameters that require one; the model's own .grad stay.
    Raises what its parts raise. Returns a dict:
        forward_memory_mb: float, the peak_memory_mb of measure_memory.
        gradient_memory_mb: float, of all gradients that the backward pass gave to parameters.
        total_memory_mb: float, the sum of these two.
        optimizer_memory_estimates: a dict, for "sgd", "momentum", "adam", "adamw" the float that
            optimizer_memory_mb has.
        flops: int, of the products of both passes. latency_ms: float, of both.
        gflops_per_second, bottleneck: of these, as in profile_forward_pass.
    """
    ### BEGIN SOLUTION
    trained = list({id(p): p for p in model.parameters() if p.requires_grad}.values())

    def step(x):
        sums = [t.sum() for t in tensors_in(model(x)) if t.requires_grad]
        return autograd.grad(sum(sums), trained) if sums else ()

    gradients = []
    rows = rows_of(lambda: gradients.extend(step(x)))
    flops, (work, moved) = sum(column(rows, "matmul_flops")), work_and_traffic(rows)
    latency = measure_latency(step, x, warmup, iterations)
    forward_mb = measure_memory(model, x)["peak_memory_mb"]
    gradient_mb = sum(g.nbytes for g in gradients if g is not None) / MB
    optimizers = ("sgd", "momentum", "adam", "adamw")
    return {
        "forward_memory_mb": forward_mb,
        "gradient_memory_mb": gradient_mb,
        "total_memory_mb": forward_mb + gradient_mb,
        "optimizer_memory_estimates": {o: optimizer_memory_mb(model, o) for o in optimizers},
        "flops": flops,
        "latency_ms": latency,
        "gflops_per_second": flops / (latency * 1e6),
        "bottleneck": find_bottleneck(work, moved, hardware) if moved else None,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_profile_backward_pass", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
layer, x = nn.Linear(512, 1024, bias=False), Tensor(np.ones((16, 512)))
found = profile_backward_pass(layer, x, Hardware(2e11, 2e10))
expect("gradients", found["gradient_memory_mb"], 2.0)
estimates = found["optimizer_memory_estimates"]
expect("optimizers", estimates, {"sgd": 0.0, "momentum": 2.0, "adam": 4.0, "adamw": 4.0})
expect("FLOPs", found["flops"], 33_554_432, mistakes={"the forward pass alone": 16_777_216})
expect("the sum", found["total_memory_mb"] - found["forward_memory_mb"], 2.0, abs=1e-9)
expect("its own .grad", layer.weight.grad is None, True)
expect("nothing else is there", len(found), 8)
some = profiled.Partly()  # of its parameters some are frozen, some unused, some in float64
some.used.weight.grad = Tensor(np.ones((256, 256)))
found = profile_backward_pass(some, Tensor(np.ones((2, 256))), Hardware(1e15, 1.0), 0, 1)
keys = ["gradient_memory_mb", "flops", "bottleneck"]
expect("of used ones, at their dtype", [found[key] for key in keys], [0.5625, 2_162_688, "memory"])
expect("what could be trained", found["optimizer_memory_estimates"]["momentum"], 1.064453125)
stays = [some.used.weight.grad.sum().item(), some.head.weight.grad, some.training]
expect("gradients and mode stay", stays, [65_536.0, None, True])
### BEGIN HIDDEN TESTS
partly = profiled.Partly()  # frozen, unused, used twice, in float64
partly.used.weight.grad = Tensor(np.ones((256, 256)))
found = profile_backward_pass(partly, Tensor(np.ones((4, 256))), None, 0, 1)
expect(
    "used ones, at their dtype", found["gradient_memory_mb"], 0.5625,
    mistakes={"unused ones count": 1.064453125, "frozen ones count": 0.8125},
)  # fmt: skip
expect("a state for unused ones, too", found["optimizer_memory_estimates"]["momentum"], 1.064453125)
expect("both passes, of the batch", [found["flops"], found["bottleneck"]], [4_325_376, None])
own = [partly.used.weight.grad.sum().item(), partly.head.weight.grad]
expect("gradients stay as they were", own, [65_536.0, None])
frozen = nn.Linear(8, 8)
frozen.weight.requires_grad = frozen.bias.requires_grad = False
found = profile_backward_pass(frozen, Tensor(np.ones((2, 8))), Hardware(1e15, 1.0), 0, 1)
nothing = [found["gradient_memory_mb"], found["flops"], found["bottleneck"]]
expect("all frozen", nothing, [0.0, 256, "memory"])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_profile_backward_pass_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
pace = doubles.Model(clock, ms=[3.000457])
slow = profiled.PacedBack(pace, nn.Linear(512, 1024, bias=False))
found = clock.run(profile_backward_pass, slow, Tensor(np.ones((16, 512))), None, 4, 9)
took = found["latency_ms"]
expect("forward and backward", took, 6.000914, rel=1e-6, mistakes={"forward alone": 3.000457})
expect("its rate", found["gflops_per_second"], 33.554432 / 6.000914, rel=1e-6)
expect_between("4 + 9 timed, memory, record", pace.calls, 27, 34)
both = nn.Sequential(nn.Linear(256, 1024, bias=False), nn.ReLU())
found = profile_backward_pass(both, Tensor(np.ones((128, 256))), None, 0, 1)
expect("forward: weights, two results", found["forward_memory_mb"], 2.0, rel=0.01)
few = Tensor(np.ones((4, 8)))
ridges = Hardware(0.84, 1.0), Hardware(0.85, 1.0)
limits = [profile_backward_pass(nn.Linear(8, 4), few, ridge, 0, 1) for ridge in ridges]
expect("all work, all bytes of both", column(limits, "bottleneck"), ["compute", "memory"])
### BEGIN HIDDEN TESTS
pair = nn.Sequential(nn.Linear(512, 1024, bias=False), nn.ReLU())
found = profile_backward_pass(pair, Tensor(np.ones((256, 512))), None, 0, 1)
parts = [found["forward_memory_mb"], found["gradient_memory_mb"], found["total_memory_mb"]]
expect("all its memory", parts, [4.0, 2.0, 6.0], rel=0.01)
layer, rows = nn.Linear(16, 8), Tensor(np.ones((6, 16)))
ridges = [Hardware(ridge, 1.0) for ridge in (1.44, 1.46)]
limits = [profile_backward_pass(layer, rows, ridge, 0, 1)["bottleneck"] for ridge in ridges]
expect("all work and bytes of both passes", limits, ["compute", "memory"])
watch = doubles.Clock()
often = doubles.Model(watch, ms=[2.0, 4.0])
paced = profiled.PacedBack(often, nn.Linear(4, 4))
watch.run(profile_backward_pass, paced, Tensor(np.ones((2, 4))), None)
expect_between("by default 1 to warm up, and 5", often.calls, 14, 20)
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · The other kind of profiler
#
# Your recorder knows tensors and nothing else. If a program spends its time in reading files, in a loop over Python lists, in a function that somebody forgot to take out, it shows white. For Python itself there is `cProfile`: it is told of each call and each return, of every function, and says for each how often it was called, `tottime`, the seconds in the function itself, and `cumtime`, those with all that it called. You know the two: `self_ms` and `ms`.
#
# `pstats.Stats(profile).stats` is a dict, from (file, line, name) to (calls that were not recursive, all calls, tottime, cumtime, callers). A function that is not written in Python has the file "~".
#
# **Predict.** In the list by `cumtime`, which function is always at the top, and what does that teach? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "hot_functions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hot_functions(stats, n, by="tottime"):
    """The n functions of which there is most in a cProfile run, as a list of dicts, largest first.

    stats: a pstats.Stats. n: int, at least 1. by: "calls", "tottime" or "cumtime"; equal ones stay
        in the order in which stats has them.
    Returns dicts with function: "file.py:12(name)", the file without its folders, and the name
    alone for a file "~"; calls: int, recursive ones included; tottime, cumtime: floats, in s.
    Raises ValueError for n below 1, another `by`, and stats without functions.
    """
    ### BEGIN SOLUTION
    if n < 1 or by not in ("calls", "tottime", "cumtime") or not stats.stats:
        raise ValueError(f"no top {n} by {by!r} of {len(stats.stats)} functions")
    rows = []
    for (file, line, name), (_, calls, tottime, cumtime, _) in stats.stats.items():
        place = name if file == "~" else f"{os.path.basename(file)}:{line}({name})"
        rows.append({"function": place, "calls": calls, "tottime": tottime, "cumtime": cumtime})
    return sorted(rows, key=lambda row: row[by], reverse=True)[:n]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_hot_functions", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
stats = pstats.Stats()
stats.stats = {
    ("/home/ada/train.py", 12, "step"): (5, 5, 0.25, 4.0, {}),
    ("~", 0, "<built-in method numpy.matmul>"): (40, 40, 3.0, 3.0, {}),
    ("/home/bob/train.py", 12, "step"): (1, 1, 0.5, 0.6254, {}),
    ("/usr/lib/json/decoder.py", 332, "decode"): (7, 90, 0.5, 0.75, {}),
}
expect(
    "by tottime", hot_functions(stats, 2), [{"function": "<built-in method numpy.matmul>",
    "calls": 40, "tottime": 3.0, "cumtime": 3.0}, {"function": "train.py:12(step)", "calls": 1,
    "tottime": 0.5, "cumtime": 0.6254}],
)  # fmt: skip
expect("equal ones in order", hot_functions(stats, 3)[2]["function"], "decoder.py:332(decode)")
total = column(hot_functions(stats, 5, "cumtime"), "cumtime")
expect("by cumtime", total, [4.0, 3.0, 0.75, 0.6254])
often = column(hot_functions(stats, 1, by="calls"), "calls")
expect("by calls", often, [90], mistakes={"recursive calls are left out": [40]})
expect_raises("none", lambda: hot_functions(stats, 0), ValueError)
expect_raises("no functions", lambda: hot_functions(pstats.Stats(), 3), ValueError)
expect_raises("by another", lambda: hot_functions(stats, 3, "function"), ValueError)
### BEGIN HIDDEN TESTS
others = pstats.Stats()
others.stats = {
    ("/a/util.py", 3, "read"): (1, 1, 0.1254, 0.1254, {}),
    ("/b/util.py", 3, "read"): (2, 2, 0.0001, 9.5, {}),
    ("/b/util.py", 80, "read"): (3, 6, 0.1254, 0.2, {("~", 0, "len"): (3, 6, 0.1, 0.2)}),
    ("<string>", 1, "<module>"): (1, 1, 0.0, 0.0, {}),
}
found = hot_functions(others, 9)
expect("not rounded", column(found, "tottime"), [0.1254, 0.1254, 0.0001, 0.0])
expect("equal ones, no folder", column(found, "function"), ["util.py:3(read)", "util.py:80(read)", "util.py:3(read)", "<string>:1(<module>)"])  # fmt: skip
expect("all calls", column(hot_functions(others, 9, "calls"), "calls"), [6, 2, 1, 1])
expect("with what they called", column(hot_functions(others, 1, "cumtime"), "cumtime"), [9.5])
many = pstats.Stats()
many.stats = {("/a/b.py", i, "f"): (1, 1, 1.0 / (1 + i), 2.0, {}) for i in range(70)}
expect("seventy", len(hot_functions(many, 70)), 70)
expect_raises("by another key", lambda: hot_functions(others, 3, "time"), ValueError)
expect_raises("less than none", lambda: hot_functions(others, -1), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_cprofile", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
gpt2 = models.GPT2(layers=2, d_model=demo_size(full=768, small=48))
tokens = example_input(gpt2, (1, demo_size(full=64, small=16)))


def answer():
    """What a service does for one request."""
    with no_grad():
        lists = gpt2(tokens).tolist()[0]  # somebody's first version
    return [max(range(len(row)), key=row.__getitem__) for row in lists]


rows_of(answer)  # the first one is cold
rows, watcher = rows_of(answer), cProfile.Profile()
watcher.runcall(answer)
stats = pstats.Stats(watcher)
for by in ("tottime", "cumtime"):
    profiles.print_functions(hot_functions(stats, 6, by), by)
seen = sum(column(rows, "self_ms")) / 1000
print(f"your recorder saw {seen:.3f} s, in {len(rows)} ops; cProfile {stats.total_tt:.3f} s")

# %% [markdown]
# Your recorder sees no more than the first part: the rest is not made of tensors. `cProfile` sees it all, and in Python's terms: `@` is an operator and no call, so a matrix product is time of the function in which it stands, whatever layer asked for it. Of what happens *within* a function it says nothing. That is what `line_profiler` is for, which is told of every line. It is not installed here; this is its table for GPT-2's attention.

# %% nbgrader={"grade": false, "grade_id": "demo_lines", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
print(Path("line_profiler.txt").read_text("utf-8"))

# %% [markdown]
# Three views of one thing. The line with `@` and `*` is one line here, a handful of calls for `cProfile`, and three ops for your recorder. (Which one is the third?) To try it on your own code: `pip install line_profiler`, `%load_ext line_profiler`, `%lprun -f function call()`.
#
# ## 9 · What watching costs
#
# Whoever looks disturbs. Your recorder does something in each op, `cProfile` at every call and return, `line_profiler` at each line: a program of many small steps gets slower by a factor, and its profile shows what is called often as more than it is. To know the factor, run the program with and without, *in pairs*: once each, by turns. If the machine gets warmer, or another program starts, it happens to both.
#
# **Predict.** A pass of 60 ops takes 50 ms, another one of 60 ops takes 0.5 ms. The recorder takes 10 µs an op. What are the two ratios? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "profiling_overhead", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profiling_overhead(fn, profiled, rounds=11):
    """How many times as long profiled() takes as fn(): 1.05 is an overhead of 5 %.

    fn, profiled: functions without arguments, of which the second does the same under a profiler.
    rounds: int, at least 1. In each round fn is called once and then profiled once, both timed; a
        round before these, not counted, warms up.
    Returns a float, the median time of profiled divided by the median time of fn.
    Raises ValueError for rounds below 1.
    """
    ### BEGIN SOLUTION
    if rounds < 1:
        raise ValueError(f"nothing can be compared in {rounds} rounds")
    times = ([], [])
    for _ in range(rounds + 1):
        for function, taken in zip((fn, profiled), times, strict=True):
            with Timer() as timer:
                function()
            taken.append(timer.elapsed_ms)
    bare, watched = (statistics.median(taken[1:]) for taken in times)
    return watched / bare
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_profiling_overhead", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
plain = doubles.Model(clock, ms=[4.0, 4.0, 4.0, 4.0, 70.0], cold_ms=[500.0])
watched = doubles.Model(clock, ms=[5.0, 5.0, 90.0, 5.0, 5.0], cold_ms=[30.0])
expect(
    "medians of 4 and 5 ms", clock.run(profiling_overhead, plain, watched), 1.25, rel=1e-6,
    mistakes={"the overhead alone": 0.25, "the wrong way round": 0.8, "means": 225 / 176},
)  # fmt: skip
expect("rounds, and one before", [plain.calls, watched.calls], [12, 12])
slower = doubles.Model(clock, ms=100 + np.arange(10))  # 100, 101, 102, … ms
found = clock.run(profiling_overhead, slower, lambda: [slower(0), clock.advance(50)], 4)
expect("in turns, four rounds, getting slower", found, 156 / 105, rel=1e-6)
expect_raises("no rounds", lambda: profiling_overhead(plain, watched, 0), ValueError)
expect_raises("fewer than none", lambda: profiling_overhead(plain, watched, -1), ValueError)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# A machine that gets slower and slower, in the order of the calls: 100, 101, 102, … ms
drift = doubles.Model(clock, ms=100 + np.arange(40))
found = clock.run(profiling_overhead, drift, lambda: [drift(0), clock.advance(50)], 15)
expect("on a machine that gets slower", found, 167 / 116, rel=1e-6)
expect("32 calls of it", drift.calls, 32)
cold = doubles.Model(clock, ms=[1.0, 2.0, 4.0], cold_ms=[100.0])
warm = doubles.Model(clock, ms=[3.0, 1.5, 4.5], cold_ms=[100.0])
found = clock.run(profiling_overhead, cold, warm, rounds=3)
expect("of medians, in 3 rounds", found, 1.5, rel=1e-6)
pair = doubles.Model(clock, ms=[8.0], cold_ms=[2.0, 2.0])
found = clock.run(profiling_overhead, pair, lambda: (pair(0), pair(0)), 1)
expect("one round", found, 2.0, rel=1e-6)
expect_raises("minus three rounds", lambda: profiling_overhead(cold, warm, -3), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_overhead", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
from proflab.lesson.sampler import repeated, sampled

side, least_ms, turns = demo_size(full=(224, 30.0, 7), small=(64, 1.0, 1))
programs = {
    "30 tiny layers": (models.MLP(*[16] * 31), (1, 16)),
    "2 layers": (models.MLP(784, 1024, 10), (64, 784)),
    "ResNet-18": (models.resnet18().eval(), (1, 3, side, side)),
}
ways = {"your recorder": rows_of, "cProfile": cProfile.Profile().runcall, "a sampler": sampled}
ratios = {}
for name, (model, shape) in tqdm(programs.items(), leave=False):
    once = no_grad()(functools.partial(model, example_input(model, shape)))
    run = repeated(once, calibrate(once, min_time_ms=least_ms))
    for way, watch in ways.items():
        ratios[name, way] = profiling_overhead(run, functools.partial(watch, run), turns)
profiles.overheads(ratios)

# %% [markdown]
# - **Instrument** (your recorder, `torch.profiler`) to know *what* happens: every op, each once, with its shapes. It costs so many microseconds an op, which is little where ops are large.
# - **Trace Python** (`cProfile`) to find which function it is. The more calls a program makes, the less its times are worth.
# - **Sample** (py-spy, perf, Scalene) to leave the program alone: some hundred times a second somebody looks what is running, and what takes long is seen often. What it costs does not depend on the program; what is short or rare it may never see, and it counts no calls.
#
# ## 10 · Three architectures, one table
#
# **Predict.** An MLP, a CNN and a Transformer. Which reaches the most FLOPs a second? Is it the one with the most FLOPs? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "compare_architectures", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compare_architectures(models, inputs):
    """A row for each model, in the order of `models`: what a forward pass costs.

    models: a dict from names to Modules, at least one. inputs: a dict from the same names to what
        example_input takes, such as a shape, batch first.
    Returns a list of dicts: name, and of profile_forward_pass, without a machine: parameters,
    flops, latency_ms, peak_memory_mb, gflops_per_second.
    Raises ValueError where there are no models, or the names of the two differ.
    """
    ### BEGIN SOLUTION
    if not models or models.keys() != inputs.keys():
        raise ValueError(f"models {list(models)} and inputs {list(inputs)} do not belong together")
    rows = []
    for name, model in models.items():
        found = profile_forward_pass(model, example_input(model, inputs[name]), None)
        rows.append({"name": name} | {k: v for k, v in found.items() if k != "bottleneck"})
    return rows
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_compare_architectures", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
words = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 3))
words.input_dtype, words.vocab_size = "int64", 50
given = {"b": nn.Linear(64, 32), "a": nn.Conv2d(3, 4, 3), "words": words}
words[1].bias.requires_grad = False
found = compare_architectures(given, {"words": (2, 7), "a": (2, 3, 8, 8), "b": (16, 64)})
expect("in the order of the models", column(found, "name"), ["b", "a", "words"])
expect("parameters, also frozen", column(found, "parameters"), [2_080, 112, 427])
expect("FLOPs of the whole input", column(found, "flops"), [65_536, 15_552, 672])
keys = " ".join(sorted(found[0]))
expect("keys", keys, "flops gflops_per_second latency_ms name parameters peak_memory_mb")
clock = doubles.Clock()
quick = doubles.Model(clock, ms=[0.500457, 0.7])
long = doubles.Model(clock, ms=[4.0, 5.0], cold_ms=[900.0])
both = {"long": profiled.Paced(long, nn.Linear(256, 512, bias=False))}
both["quick"] = profiled.Paced(quick, nn.ReLU())
found = clock.run(compare_architectures, both, {"long": (512, 256), "quick": (4, 8)})
expect("ms, medians", column(found, "latency_ms"), [4.5, 0.6002285], rel=1e-6)
rates = column(found, "gflops_per_second")
expect("10⁹ FLOPs a second", rates, [134.217728 / 4.5, 0.0], rel=1e-6)
expect("MB: weights, and a result", found[0]["peak_memory_mb"], 1.5, rel=0.01)
expect_raises("no models", lambda: compare_architectures({}, {}), ValueError)
a, b, x = {"a": nn.ReLU()}, {"b": nn.ReLU()}, (2, 3)
expect_raises("another name", lambda: compare_architectures(a, {"b": x}), ValueError)
expect_raises("too many", lambda: compare_architectures(a, {"a": x, "b": x}), ValueError)
expect_raises("too few", lambda: compare_architectures(a | b, {"a": x}), ValueError)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
fast = doubles.Model(clock, ms=[0.5])
slow = doubles.Model(clock, ms=[20.0, 21.0, 22.0], cold_ms=[900.0])
linear, relu = nn.Linear(256, 512, bias=False), nn.ReLU()
several = {"slow": profiled.Paced(slow, linear), "fast": profiled.Paced(fast, relu)}
shapes = {"fast": (4, 8), "slow": Tensor(np.ones((1024, 256)))}
rows = clock.run(compare_architectures, several, shapes)
expect_between("the slow one", rows[0]["latency_ms"], 20.5, 21.5)
expect("the fast one", [rows[1]["latency_ms"], rows[1]["gflops_per_second"]], [0.5, 0.0], rel=1e-6)
rate = rows[0]["gflops_per_second"] * rows[0]["latency_ms"]
expect("10⁶ FLOPs, the rate by the time", rate, 268.435456, rel=1e-6)
expect("MB: the weights, and the result", rows[0]["peak_memory_mb"], 2.5, rel=0.01)
expect("modes stay", relu.training, True)
c, d, shape = {"c": relu}, {"d": relu}, (2, 3)
expect_raises("a name differs", lambda: compare_architectures(c, {"d": shape}), ValueError)
shapes = {"c": shape, "d": shape}
expect_raises("one input too many", lambda: compare_architectures(c, shapes), ValueError)
expect_raises("one input too few", lambda: compare_architectures(c | d, {"c": shape}), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_architectures", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
hidden, side, small = demo_size(full=(4096, 224, {}), small=(64, 64, {"d_model": 48}))
three = {
    "MLP": models.MLP(784, hidden, hidden, 10),
    "CNN: ResNet-18": models.resnet18().eval(),
    "Transformer: GPT-2": models.GPT2(**small),
}
shapes = [(64, 784), (1, 3, side, side), (1, demo_size(full=128, small=8))]
with no_grad():
    table = compare_architectures(three, dict(zip(three, shapes, strict=True)))
profiles.architectures(table)

# %% [markdown]
# Attention between tokens grows with the square of the text's length, all else with the length itself. What part of a pass that is can be predicted, from FLOPs on meta tensors: lesson 02 did so. Now your recorder measures it, too. Between tokens is what an attention module does itself, apart from its linear layers.
#
# **Predict.** Will the measured part be smaller than the predicted one, or larger? Think of what has next to no FLOPs. *Your prediction:*

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
lengths = demo_size(full=[64, 128, 256, 512, 1024, 2048], small=[64, 128])
block = models.GPT2(vocab_size=16, context=2048, layers=1, d_model=demo_size(768, 48)).eval()
predicted, measured = {}, {}
for n in lengths:
    meta, tokens = example_input(block, (1, n), meta=True), example_input(block, (1, n))
    counted, run = rows_of(lambda x=meta: block(x)), no_grad()(functools.partial(block, tokens))
    predicted[n] = profiles.between_tokens(counted, "matmul_flops")
    parts = [profiles.between_tokens(rows_of(run), "self_ms") for _ in rounds(7, 2, 1, 2.0)]
    measured[n] = statistics.median(parts)
profiles.attention_curves(predicted, measured)

# %% [markdown]
# Where the two curves part, the FLOPs do not tell the time: scores are made, scaled, masked, exponentiated and multiplied again, one after the other, and each time all of them go to memory and come back. That is what fused attention saves. What your profile is missing to *prove* it is a roof, and that is the next lesson.
#
# ## 11 · In one object
#
# What is left is to put it into one place. This is given: it has no idea of its own, only yours.


# %% nbgrader={"grade": false, "grade_id": "profiler", "locked": true, "schema_version": 3, "solution": false, "task": false}
SUPPOSED = Hardware(1e11, 2e10, "a computer as one would suppose", "a guess; lesson 06 measures")


class Profiler(OpRecorder):
    """All of lessons 01 to 05 for one machine: what a model weighs, computes, takes and needs.

    `with Profiler() as profiler:` records what runs inside; then profiler.rows has the rows, and
    print_top_operations prints what took longest. hardware: as for profile_forward_pass.
    """

    count_parameters, count_flops = staticmethod(count_parameters), staticmethod(count_flops)

    def __init__(self, hardware=SUPPOSED):
        super().__init__()
        self.hardware = hardware

    def measure_memory(self, model, input_shape):
        return measure_memory(as_model(model), input_shape)

    def measure_latency(self, model, x, warmup=10, iterations=100):
        return measure_latency(as_model(model), x, warmup, iterations)

    def profile_layer(self, layer, input_shape):
        return profile_layer(layer, input_shape, self.hardware)

    def profile_forward_pass(self, model, x, warmup=3, iterations=10):
        return profile_forward_pass(model, x, self.hardware, warmup, iterations)

    def profile_backward_pass(self, model, x, warmup=1, iterations=5):
        return profile_backward_pass(model, x, self.hardware, warmup, iterations)

    def print_top_operations(self, n=5, by="ms"):
        print_top_operations(self.rows, n, by)


def quick_profile(model, x, hardware=SUPPOSED):
    """Print what one forward pass costs and where its time goes; returns the dict of it."""
    found = profile_forward_pass(model, x, hardware, warmup=1, iterations=5)
    profiles.print_pass(found, hardware.name)
    if rows := rows_of(lambda: as_model(model)(x)):
        print_top_operations(rows)
    return found


def profile(function):
    """`@profile` above a function: each call prints where its time went, as your recorder sees it.

    The rows of the last call are in function.rows.
    """

    @functools.wraps(function)
    def watched(*args, **options):
        with OpRecorder() as recorder:
            result = function(*args, **options)
        watched.rows = rows = recorder.rows
        print(f"{function.__name__}: {sum(column(rows, 'self_ms')):.2f} ms", end="; ")
        print_top_operations(rows) if rows else print("no ops")
        return result

    return watched


# %% nbgrader={"grade": false, "grade_id": "demo_profiler", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
vit = models.VisionTransformer(layers=demo_size(12, 1))
image = example_input(vit, (1, 3, 224, 224))
found = quick_profile(vit, image, read_hardware("machines.json", "two cores of a server"))


@profile
def train():
    vit(image).mean().backward()


train()
with Profiler() as profiler:
    with region("making data"):
        images = [np.random.default_rng(i).random((3, 224, 224)) for i in range(8)]
    vit(Tensor(np.stack(images[:1])))
profiler.print_top_operations(4)
plot_timeline.timeline(profiler.rows, title="ViT-Ti/16 and its data")

# %% [markdown]
# To take it with you, into any program of yours: in the folder of the course, `proflab assemble release -o my_profiler.py --standalone` makes one file of all that you wrote in lessons 01 to 05, with the engine inside, which needs numpy alone.
#
# ## Reflect
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to measure). A report says: "We ran our model, 60 tiny layers with Python code between them, under cProfile. A request takes 48 ms. The function `product`, which calls the matrix product, has a tottime of 41 %; it was called 900,000 times in 1,000 requests. A library that multiplies twice as fast will therefore save a fifth of the time."
#
# 1. The arithmetic: what would be saved if all the figures held? Why do they not hold for the program that runs without `cProfile`, and in which direction are they off for a function that is called so often?
# 2. Measure it: with `profiling_overhead`, a model of many tiny layers, and two ways of watching. Say what you ran, and give the numbers.
# 3. Which profiler would you have used, and what would it not have shown?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_profiler", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** *4 points:* half of 41 % is 20.5 % of 48 ms, 9.8 ms, if the figures held; they do not, for `cProfile` adds about the same time to each call and return, so that a function which is called often and briefly (900 times a request, 20 µs each) looks larger than it is, and so do those between; and the 48 ms themselves are the watched program's. The fourth point only if it is said that `product`'s tottime is not all multiplication: `@` is no call, so the product is in it, but so are `product`'s own lines and what `cProfile` adds, and no library halves these. *4 points:* a measurement that others could repeat: sizes of the model, rounds, two ratios from paired runs (for tiny layers the recorder and `cProfile` well above 1, a sampler near 1; the numbers are the student's machine's), with a word on their spread. *2 points:* a sampler, or the recorder for the ops together with a bare timing; what it does not show (counts of calls and short functions; Python between ops). Up to 2 points off for ratios without what was run.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - Everything that a model does passes one point. A hook there, which reads the clock twice and writes a row, is a profiler.
# - A row has two times: its own, and that with what ran inside. Only its own can be added up.
# - What must move is unique bytes: memory is read once, views move nothing, a look-up reads what it picks.
# - FLOPs over peak and bytes over bandwidth: the longer one is the bottleneck. FLOPs and time must be of the same pass.
# - Watching costs. Say how much, from runs in pairs; instrument large things, trace Python, sample what must be left alone.
#
# **Next.** "Limited by memory" is a claim, made with roofs that somebody else measured. Lesson 06 measures yours, and draws every row of your recorder below them.
