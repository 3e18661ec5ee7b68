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
# ![A bar for the forward pass and a longer one for the backward pass; below them bars for three blocks, in reverse order on the way back; below these their layers, and at the bottom, in colours, the operations: mostly linear layers.](timeline.png) <!-- with record -->
#
# A model is too slow, and somebody buys a faster machine.
# Often it waits as the old one did, because the time went where nobody had looked: into a copy, a data loader, ten thousand tiny operations.
# In this lesson you write what tells you before you buy: a profiler, which draws the picture above for any model. <!-- with record -->
#
# **You will be able to**
#
# - record every operation of any model;
# - say where its time goes, and whether calculation or memory limits a layer; <!-- with find_bottleneck -->
# - say where its time goes; <!-- without find_bottleneck -->
# - say what watching costs, and how long a sampler has to watch.
#
# **You need** the hook of lesson 02, section 8, and gradients: `backward()` and `requires_grad`.
#
# **You will not build** the facts of a row, the trace file, the profile of a layer, the table of functions and the `Profiler` at the end: they are given, in folded cells that you may read.
# Real caches and GPUs come in lessons 06, 07 and 11. <!-- with lesson 06, lesson 07, lesson 11 -->
#
# Arguments stay as they are, but for `rows`, to which `record` adds.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import demos  # what only this lesson draws: a file beside this notebook
import numpy as np
from built import Timer, calibrate, count_flops, count_parameters, measure_latency, measure_memory

from proflab import Tensor, autograd, example_input, models, nn, no_grad
from proflab.lesson import doubles, expect, expect_table, guesses

# %% [markdown]
# ## 1 · What an op moves
#
# The hook of lesson 02 sees every op, and there it added up FLOPs.
# It also sees tensors, whose bytes decide the time as often.
# Forward, an op reads its inputs.
# Backward, it reads the gradient of its result (`call.grad`) and what it kept in the forward pass (`call.saved`, a list of Tensors; lesson 04). <!-- with lesson 04 -->
# Backward, it reads the gradient of its result (`call.grad`) and what it kept in the forward pass (`call.saved`, a list of Tensors). <!-- without lesson 04 -->
# In both it writes what `call()` returns.
# For example, a linear layer from 256 to 128 on 32 rows of float32 reads 32·256 + 128·256 + 128 numbers, which are 164,352 bytes, and writes 32·128 numbers, 16,384 bytes.
# But two tensors can share memory, and no byte counts twice:
#
# - A tensor is a window on a piece of memory, which is read once, however many inputs show it: `x * x` reads one tensor.
# - A result in memory that was read counts as read only. An op that has no other result is a *view*, and moves nothing.
# - A look-up reads the rows that it picks, not the whole table.
#
# These *unique* bytes are the least that has to move.
#
# | given | what it is |
# |---|---|
# | `memory_of(tensor)` | a number for its memory, the same for all tensors that share it |
# | `bytes_by_memory(tensors)` | {memory_of: bytes}, no byte twice |
# | `tensors_in(result)` | the Tensors of a result or gradient, without None (lesson 02) |
# | `TABLES` | look-ups, and the place of the table among their inputs |
# | `each_op(look, function)` | runs function(), and returns look(call, result) of each op |
#
# <details><summary>Hint 1: which part of the result's memory is new?</summary>
#
# Draw two circles, what is read and what the result has.
# Written is what lies in the second alone.
#
# </details><details><summary>Hint 2: the shape of the answer</summary>
#
# Two dicts of `bytes_by_memory`, one for each circle.
# Add up what the second has and the first has not; ask whether that is anything; only then correct the entry of a table in the first.
#
# </details>
#
# **Predict.** GPT-2's token vectors are a table of 50,257 × 768 float32 numbers.
# A look-up of 128 tokens reads a small part of it.
# How many MB does its gradient write?

# %% tags=["guess"]
guess_gradient = None  # your guess: MB that the look-up's gradient writes

# %% nbgrader={"grade": false, "grade_id": "memory_tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
import profiled  # what is profiled in test cells: a file beside this notebook
from built import tensors_in

from proflab.lesson.tensor_memory import TABLES, bytes_by_memory, each_op, memory_of
from proflab.nn import functional as F


# %% nbgrader={"grade": false, "grade_id": "op_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_bytes(call, result):
    """Return the bytes that one op has to move: (read, written), two ints.

    >>> each_op(op_bytes, lambda: Tensor([1.0, 2.0]) + Tensor([3.0, 4.0]))
    [(16, 8)]

    call: what a hook gets. result: what call() returned, a Tensor or a tuple of Tensors and None.
    written: the bytes of the result, without memory that is read. If nothing is written, return
        (0, 0).
    read: forward, the bytes of call.inputs, but an op in TABLES reads as much of its table as it
        writes. Backward, the bytes of call.grad (like result, one or several) and call.saved.
    """
    ### BEGIN SOLUTION
    forward = call.phase == "forward"
    read = bytes_by_memory(call.inputs if forward else tensors_in(call.grad) + call.saved)
    written = 0
    for memory, size in bytes_by_memory(tensors_in(result)).items():
        if memory not in read:
            written += size
    if not written:
        return 0, 0
    if forward and call.op in TABLES:
        read[memory_of(call.inputs[TABLES[call.op]])] = written
    return sum(read.values()), written
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_op_bytes", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
batch, w, b = Tensor.meta((32, 256)), Tensor.meta((128, 256)), Tensor.meta((128,))
table, tokens = Tensor.meta((50_257, 768)), Tensor.meta((1, 128), "int64")
expect_table(
    lambda function: each_op(op_bytes, function)[-1],
    ("a linear layer", (lambda: F.linear(batch, w, b),), (164_352, 16_384)),
    (
        "a look-up reads what it picks",
        (lambda: F.embedding(tokens, table),),
        (394_240, 393_216),
        {"the whole table is read": (154_390_528, 393_216)},
    ),
    ("rows picked again and again", (lambda: F.embedding(tokens, w[:2]),), (132_096, 131_072)),
    ("rows by their numbers", (lambda: w[Tensor([3, 3, 7])],), (3_096, 3_072)),
    ("4 GB", (lambda: Tensor.meta((2**20, 1024)).exp(),), (2**32, 2**32)),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..5, 5 in 2..10
small, few = Tensor.meta((3, 5, 7), "float64"), Tensor.meta((2, 3))
other = each_op(op_bytes, lambda: (small.sum((1, 2)), small + 1.5, small > 0))
expect(
    "each dtype has its own size: float64 8 bytes, bool 1",
    other,
    [(840, 24), (840, 840), (840, 105)],
)
picked = each_op(op_bytes, lambda: (batch[Tensor([4, 0, 1, 1])], F.embedding(tokens, few)))
expect(
    "every op in TABLES reads the rows that it picks, also of a small table",
    picked,
    [(4_128, 4_096), (2_560, 1_536)],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_bytes_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
x, b = Tensor.meta((32, 256)), Tensor.meta((128,))
expect_table(
    lambda function: each_op(op_bytes, function)[-1],
    (
        "x * x reads one tensor",
        (lambda: x * x,),
        (32_768, 32_768),
        {"x is read twice": (65_536, 32_768)},
    ),
    ("a view moves nothing", (lambda: x.mT,), (0, 0)),
    ("of a part of a tensor, that part is read", (lambda: x.chunk(2)[1] + 1.5,), (16_384, 16_384)),
    ("an expanded tensor has its memory", (lambda: b.expand(32, 128).exp(),), (512, 16_384)),
    ("a reshape that copies is no view", (lambda: x.mT.reshape(-1),), (32_768, 32_768)),
)
### BEGIN HIDDEN TESTS
# vary: 32 in 21..48
small, wide = Tensor.meta((3, 5, 7), "float64"), b.expand(32, 128)
parts = small.chunk(5, 1)
mixed = each_op(op_bytes, lambda: (parts[1] + parts[3], small * parts[2], wide.exp()))
expect(
    "parts add up, and a part of what is read already adds nothing",
    mixed,
    [(336, 168), (840, 840), (512, 16_384)],
)
split = each_op(op_bytes, lambda: (small.chunk(7, 2), small.mT.reshape(21, 5)))
expect("splitting and permuting are views, copying is not", split, [(0, 0), (0, 0), (840, 840)])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_bytes_3", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
layer, words = nn.Linear(6, 4), nn.Embedding(5, 2)
loss = layer(example_input(layer, (5, 6))).sum()
expect("a sum and a layer, back", each_op(op_bytes, loss.backward), [(0, 0), (124, 112)])
p, q = (example_input(nn.ReLU(), (2, 3)).requires_grad_() for _ in "pq")
back = each_op(op_bytes, (p - q).sum().backward)
expect("the gradient of p is handed on, that of q is written", back[1], (4, 24))
rare = each_op(op_bytes, words(Tensor([3, 3])).exp().sum().backward)
expect(
    "a look-up's gradient is as large as its table",
    rare[-1],
    (32, 40),
    mistakes={"only picked rows": (32, 16)},
)
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
expect(
    "backward reads the gradient and what was saved, each memory once",
    both + square + half,
    [(52, 48), (28, 48), (16, 12), (12, 24)],
)
expect(
    "a gradient that is handed on has not been written",
    added + apart + spread,
    [(0, 0), (4, 24), (4, 12)],
)
nine = nn.Embedding(9, 4)
picked = each_op(op_bytes, lambda: nine(Tensor([1, 1, 7])).exp().sum().backward())
expect(
    "the gradient of a table has all its rows",
    picked[-1],
    (72, 144),
    mistakes={"only picked rows": (72, 48)},
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_gradient", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Compares your guess with what the gradient of GPT-2's look-up writes.
vectors, text = Tensor.meta((50_257, 768), requires_grad=True), Tensor.meta((1, 128), "int64")
moved = each_op(op_bytes, lambda: F.embedding(text, vectors).sum().backward())
guesses.compare("the look-up's gradient", guess_gradient, moved[-1][1] / 1024**2, unit="MB")

# %% [markdown]
# The gradient of an addition is the gradient that came in: nothing moves.
# That of a look-up is as large as its table, and nearly all zeros.
#
# ## 2 · A row
#
# A *row* of a profile is a dict with all that is known of one op.
# Apart from its time these are ten *facts*:
#
# | key | of a linear layer from 256 to 128 on 32 rows |
# |---|---|
# | op, module, phase | `"linear"`, `"0"` (the path of its module), `"forward"` |
# | input_shapes | `[(32, 256), (128, 256), (128,)]` |
# | output_shape, dtype | `(32, 128)`, `"float32"` |
# | matmul_flops | 2,097,152, as `op_flops` counts; backward as `gradient_flops` does |
# | elementwise_flops | 4,096, by the table of lesson 02 |
# | bytes_read, bytes_written | 164,352 and 16,384, by `op_bytes` |
#
# A row holds plain numbers and strings (`str(t.dtype)`): one that held a tensor would keep its memory from being freed, and change what is measured.
# And `call.phase` decides which rule counts, not the moment: a Function with a backward of its own runs forward ops there. <!-- with op_facts -->
#
# <details><summary>Hint 1: what goes into a linear layer on the way back, and what comes out?</summary>
#
# The gradient of its result comes in; gradients come out of those inputs that require one.
#
# </details><details><summary>Hint 2: the shape of the answer</summary>
#
# Branch once, on `call.phase`, for the tensor whose shape and dtype count, and for the FLOPs of the products.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "op_elementwise", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import ELEMENTWISE, gradient_flops, op_flops

from proflab.lesson.recording import column, elementwise_kind


def op_elementwise(call, shape):
    """Return an op's elementwise FLOPs, by our convention; `shape` is its forward result's."""
    kind = elementwise_kind(call)  # its row in lesson 02's table
    if kind is None:
        return 0
    size = math.prod(shape)
    if call.op == "scaled_dot_product_attention":  # a softmax over keys for each row of the result
        size = size // shape[-1] * call.inputs[1].shape[-2]
    if kind in ELEMENTWISE:
        return ELEMENTWISE[kind] * size
    return max(size, *[t.numel() for t in call.inputs])  # an op that the table does not have


# %% nbgrader={"grade": false, "grade_id": "op_facts", "locked": false, "schema_version": 3, "solution": true, "task": false}
def op_facts(call, result):
    """Return what is known of one op apart from its time, as a dict of plain data.

    >>> each_op(op_facts, lambda: Tensor([1.0, 2.0]).exp())[0]["output_shape"]
    (2,)

    call, result: as for op_bytes. The keys are op, module (call.module_path), phase: strings;
    input_shapes: a list of tuples; output_shape, dtype: a tuple, and a string such as "float32", of
        the result, or backward of call.grad; of several, those of the first that is a Tensor;
    matmul_flops: as op_flops counts, or backward gradient_flops; elementwise_flops, bytes_read,
        bytes_written: as op_elementwise and op_bytes count.
    Raises NotImplementedError as op_flops does.
    """
    ### BEGIN SOLUTION
    shapes = [t.shape for t in call.inputs]
    if call.phase == "forward":
        output = tensors_in(result)[0]
        flops = op_flops(call.op, shapes, call.attributes)
    else:
        output = tensors_in(call.grad)[0]
        wanted = [t.requires_grad for t in call.inputs]
        flops = gradient_flops(call.op, shapes, call.attributes, wanted)
    shape = output.shape
    read, written = op_bytes(call, result)
    return {
        "op": call.op,
        "module": call.module_path,
        "phase": call.phase,
        "input_shapes": shapes,
        "output_shape": shape,
        "dtype": str(output.dtype),
        "matmul_flops": flops,
        "elementwise_flops": op_elementwise(call, shape),
        "bytes_read": read,
        "bytes_written": written,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_op_facts", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson.recording import columns

x, w, b = Tensor.meta((32, 256)), Tensor.meta((128, 256)), Tensor.meta((128,))
known = profiled.Before(
    "op_facts", {("linear", "forward"): profiled.facts(read=164_352, written=16_384)}
)
expect(
    "a linear layer",
    known(each_op, op_facts, lambda: F.linear(x, w, b)),
    [
        {
            "op": "linear",
            "module": "",
            "phase": "forward",
            "input_shapes": [(32, 256), (128, 256), (128,)],
            "output_shape": (32, 128),
            "dtype": "float32",
            "matmul_flops": 2_097_152,
            "elementwise_flops": 4_096,
            "bytes_read": 164_352,
            "bytes_written": 16_384,
        }
    ],
)
net = nn.Sequential(nn.Linear(6, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
facts = known(each_op, op_facts, lambda: net(example_input(net, (5, 6))).sum().backward())
expect(
    "modules, phases",
    columns(facts[::2], "module", "phase"),
    [["0", "forward"], ["1.1", "forward"], ["", "backward"], ["1.0", "backward"]],
)
expect(
    "FLOPs of the products",
    column(facts, "matmul_flops"),
    [240, 0, 80, 0, 0, 160, 0, 240],
    mistakes={"backward is counted as forward": [240, 0, 80, 0, 0, 80, 0, 240]},
)
expect(
    "going back, the gradient's shape",
    column(facts[4:], "output_shape"),
    [(), (5, 2), (5, 4), (5, 4)],
)
expect("elementwise FLOPs", column(facts, "elementwise_flops"), [20, 20, 10, 10, 10, 10, 20, 20])
expect(
    "the result's dtype, not an input's",
    known(each_op, op_facts, lambda: Tensor.meta((3, 2), "float64") > 0)[0]["dtype"],
    "bool",
)
### BEGIN HIDDEN TESTS
expect(
    "in the backward pass the input shapes are the forward's",
    facts[5]["input_shapes"],
    [(5, 4), (2, 4), (2,)],
)
# vary: 560 in 373..840, 48 in 32..72
figures = {
    ("embedding", "forward"): profiled.facts(read=560, written=480),
    ("gt", "forward"): profiled.facts(read=48, written=6),
}
before = profiled.Before("op_facts", figures)
# vary: 19 in 12..28
gpt2 = models.GPT2(vocab_size=19, context=8, d_model=12, layers=2, heads=3)
# vary: 5 in 4..7
every = before(each_op, op_facts, lambda: gpt2(example_input(gpt2, (2, 5))).sum().backward())
linear = [row["module"] for row in every if row["op"] == "linear"]
expect(
    "a module's path is whole: blocks.1.mlp.proj", linear[9:11], ["lm_head", "blocks.1.mlp.proj"]
)
expect(
    "the products of both passes add up, however deep the model",
    sum(column(every, "matmul_flops")),
    235_440,
)
compared = before(each_op, op_facts, lambda: Tensor.meta((3, 2), "float64") > 0)
mixed = columns(every[:1] + compared, "dtype", "output_shape", "bytes_read")
expect(
    "dtype and shape are the result's, bytes are those of op_bytes",
    mixed,
    [["float32", (2, 5, 12), 560], ["bool", (3, 2), 48]],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_op_facts_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
warp, known = doubles.unknown_op("warp"), profiled.Before("op_facts")
expect(
    "an op without a rule is refused",
    doubles.refuses("warp", known, each_op, op_facts, lambda: warp(Tensor.meta((2, 3)))),
    True,
)
v = Tensor.meta((2, 3), requires_grad=True)
split = known(each_op, op_facts, lambda: v.split([1, 2], 1)[1].sum().backward())
expect(
    "of two results the first, of two gradients the present one",
    column([split[0], split[-1]], "output_shape"),
    [(2, 1), (2, 2)],
    mistakes={"of two results the last": [(2, 2), (2, 2)]},
)
own = known(each_op, op_facts, lambda: profiled.Product.apply(v, v.mT).sum().backward())
expect("forward ops inside a backward", column(own, "matmul_flops").count(24), 2)
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

a, b = (Tensor.meta(shape, requires_grad=True) for shape in ((2, 3), (3, 4)))
whole = known(each_op, op_facts, lambda: profiled.Product.apply(a, b).sum().backward())
products = [row["matmul_flops"] for row in whole if row["op"] == "matmul"]
expect("call.phase decides, also in a Function's own backward", products, [48, 48])
frozen = nn.Linear(3, 4)
frozen.weight.requires_grad = False
kept = known(each_op, op_facts, lambda: frozen(Tensor([[1.0, 2.0, 3.0]])).sum().backward())
expect("a gradient that nothing requires costs no FLOPs", kept[-1]["matmul_flops"], 0)
third = known(each_op, op_facts, lambda: b.split([1, 1, 2], 1)[2].sum().backward())
expect(
    "of three gradients, two of them None, the shape is that of the one present",
    columns(third[-1:], "output_shape", "dtype"),
    [[(3, 2), "float32"]],
)
# vary: 3 in 2..9, 2 in 2..9, 4 in 2..9
normed = known(each_op, op_facts, lambda: nn.BatchNorm2d(3)(Tensor.meta((2, 3, 4, 4))))
expect("elementwise FLOPs are those of op_elementwise", normed[0]["elementwise_flops"], 768)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_row", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the facts of a linear layer, the table above, as op_facts has them.
layer = nn.Sequential(nn.Linear(256, 128))
demos.print_facts(each_op(op_facts, lambda: layer(Tensor.meta((32, 256))))[0])

# %% [markdown]
# ## 3 · Whose time is it?
#
# An op runs inside a region that you named, a region inside another.
# So a row has two times: `ms`, from beginning to end, and `self_ms`, its *self time*, what is left of it without what ran inside.
# Only `self_ms` can be added up without counting a millisecond twice.
# In the picture, data is loaded in 10 ms, of which two ops take 3 ms each: the region has 10 − 3 − 3 = 4 ms of its own.
#
# ![A wide bar for a region of 10 ms, below it two for operations of 3 ms each, and orange between them the region's own 4 ms.](nest.png)
#
# A recorder notes a *span* for each of them, its beginning and its end.
# The times tell which span holds which.
#
# <details><summary>Hint 1: sort the spans so that a holder comes before what it holds. What is still running when a span begins?</summary>
#
# Of those that have not ended, the one that began last is directly around it.
#
# </details><details><summary>Hint 2: the shape of the answer</summary>
#
# Keep a stack of the spans that have not ended.
# For each span in that order, take off what has ended; from the one then on top you subtract.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "self_times", "locked": false, "schema_version": 3, "solution": true, "task": false}
def self_times(spans):
    """Return what is left of each span's time without the spans directly inside it.

    >>> self_times([(1, 4), (6, 8), (0, 9)])
    [3.0, 2.0, 4.0]

    spans: (start, end) pairs of numbers, in any order, of what ran in one thread: any two lie
        apart, touch, or one holds the other. Of two equal ones the first holds the second.
    Returns floats in the order of spans, in the same unit; their sum is the time in which anything
    ran. Raises ValueError if a span ends before it starts, and if two cross, as (0, 5) and (3, 8).
    """
    ### BEGIN SOLUTION
    own, running = [], []
    for start, end in spans:
        if end < start:
            raise ValueError(f"the span from {start} to {end} ends before it starts")
        own.append(float(end - start))
    for i in sorted(range(len(spans)), key=lambda i: (spans[i][0], -spans[i][1])):
        start, end = spans[i]
        while running and spans[running[-1]][1] <= start:
            running.pop()
        if running:
            around = spans[running[-1]]
            if end > around[1]:
                raise ValueError(f"{around} and {(start, end)} cross: neither holds the other")
            own[running[-1]] -= end - start
        running.append(i)
    return own
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_self_times", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    self_times,
    (
        "the picture",
        ([(2, 5), (5, 8), (0, 10)],),
        [3.0, 3.0, 4.0],
        {
            "what ran inside is not taken off": [3.0, 3.0, 10.0],
            "only the first one inside": [3.0, 3.0, 7.0],
            "spans that touch are one in the other": [0.0, 3.0, 7.0],
        },
    ),
    (
        "one in one in one",
        ([(2, 5), (1, 11), (0, 20)],),
        [3.0, 7.0, 10.0],
        {"all that ran inside, not only directly": [3.0, 7.0, 7.0]},
    ),
    ("side by side, with a pause", ([(0, 4), (6, 7), (7, 7.5)],), [4.0, 1.0, 0.5]),
    ("nothing ran", ([],), []),
)
### BEGIN HIDDEN TESTS
expect_table(
    self_times,
    (
        "only what is directly inside is taken off",
        ([(3, 4), (2, 6), (1, 9), (0, 9)],),
        [1.0, 3.0, 4.0, 1.0],
    ),
    (
        "all that ran inside is taken off",
        ([(1, 2), (3, 5), (6, 9), (0, 10)],),
        [1.0, 2.0, 3.0, 4.0],
    ),
    ("what ran apart does not matter", ([(0, 1), (2, 9), (3, 4)],), [1.0, 6.0, 1.0]),
    # vary: 0.25 in 0.167..0.375, 0.5 in 0.333..0.75, 1.125 in 0.75..1.69
    ("times are not rounded", ([(0.25, 0.5), (0.0, 1.125)],), [0.25, 0.875]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_self_times_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
five = [(2, 5), (12, 19), (0, 20), (6, 7), (1, 11)]
expect_table(
    self_times,
    ("in any order", (five,), [3.0, 7.0, 3.0, 1.0, 6.0]),
    ("the other way round", (five[::-1],), [6.0, 1.0, 3.0, 7.0, 3.0]),
    ("equal ones: the first holds the second", ([(0, 4), (0, 4)],), [0.0, 4.0]),
    ("that begin together", ([(0, 2), (0, 6), (0, 3)],), [2.0, 3.0, 1.0]),
    ("that end together; no time", ([(0, 6), (2, 6), (6, 6)],), [2.0, 4.0, 0.0]),
    ("times before 0, in ns", ([(-5, 10**9), (0, 123_457)],), [999_876_548.0, 123_457.0]),
    ("fractions", ([(0, 1), (0, 1 / 7)],), [6 / 7, 1 / 7]),
)
expect("the spans stay as they are", five, [(2, 5), (12, 19), (0, 20), (6, 7), (1, 11)])
### BEGIN HIDDEN TESTS
nest = [(i, 40 - i) for i in range(15)]
expect("fifteen, one in the other", self_times(nest), [2.0] * 14 + [12.0])
expect("the same from inside out", self_times(nest[::-1]), [12.0] + [2.0] * 14)
expect_table(
    self_times,
    # vary: 4 in 2..9
    ("three equal ones hold each other in their order", ([(1, 4)] * 3,), [0.0, 0.0, 3.0]),
    ("equal ones in another", ([(1, 3), (0, 9), (1, 3)],), [0.0, 7.0, 2.0]),
    # vary: 5 in 4..10
    (
        "spans that take no time, anywhere",
        ([(3, 3), (0, 5), (0, 0), (5, 5)],),
        [0.0, 5.0, 0.0, 0.0],
    ),
    ("in an order that no recorder has", ([(6, 7), (0, 9), (2, 5), (1, 8)],), [1.0, 2.0, 3.0, 3.0]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_self_times_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    self_times,
    (
        "two inside cross, or leave; one ends before it starts",
        [([(0, 9), (1, 4), (2, 5), (6, 7)],), ([(0, 9), (5, 4)],)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("spans that only touch are fine", self_times([(3, 5), (0, 3)]), [2.0, 3.0])
expect("so are those that end together", self_times([(4, 5), (0, 5)]), [1.0, 4.0])
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · Record
#
# Now the clock.
# `record` wraps each op, and its own work must not count: read the clock directly before `call()` and directly after.
# And a profiler must still be right after an error: if an op raises, even by Ctrl-C, no row is added and the depth is as before.
#
# A recording's `rows` have a `depth`, the number of things that are running now, one inside the other.
# The given `add_row` writes a row: the ten facts of `op_facts`, `start_ms` (from the beginning of the recording), `ms` and `depth`.
# When the recording ends, `self_times` makes `self_ms` of the spans, each thread's apart.
#
# From here on, test cells replace what you wrote earlier by right answers, so that a slip costs its points once. <!-- with self_times -->
# `profiled.recorded(record, function, pace)` returns the rows of what function() runs, each op taking the time that `pace` says; `profiled.Around` is a call that makes others.

# %% nbgrader={"grade": false, "grade_id": "recording_tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time

from proflab.lesson.recording import Recorder, region, row_name


# %% nbgrader={"grade": false, "grade_id": "add_row", "locked": true, "schema_version": 3, "solution": false, "task": false}
def add_row(rows, start, end, facts):
    """Append the row of something that has ended, and note its span; return nothing.

    rows: a Rows, whose depth no longer counts it. start, end: what time.perf_counter_ns() showed.
    """
    times = {"start_ms": (start - rows.start) / 1e6, "ms": (end - start) / 1e6, "self_ms": None}
    rows.add({**facts, **times, "depth": rows.depth}, start, end)


# %% nbgrader={"grade": false, "grade_id": "record", "locked": false, "schema_version": 3, "solution": true, "task": false}
def record(call, rows):
    """Run call() as a hook, add its row to `rows`, and return what call() returned.

    >>> profiled.recorded(record, lambda: Tensor([1.0]).exp().log())[1]["op"]
    'log'

    rows: a Rows. Its depth is 1 more while call() runs, and as before afterwards, also if call()
        raises; then no row is added, and the exception goes on.
    The row is that of add_row, with the facts of op_facts, and the time of call() alone, by
    time.perf_counter_ns. Raises NotImplementedError as op_facts does.
    """
    ### BEGIN SOLUTION
    start = time.perf_counter_ns()
    rows.depth += 1
    try:
        result = call()
    finally:
        end = time.perf_counter_ns()
        rows.depth -= 1
    add_row(rows, start, end, op_facts(call, result))
    return result
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "op_recorder", "locked": true, "schema_version": 3, "solution": false, "task": false}
class OpRecorder(Recorder):
    """Record each op inside `with OpRecorder() as recorder:`, and each `with region("a name"):`."""

    def watch(self, call):  # each op
        return record(call, self.rows)

    def end_region(self, first, start, end, facts):
        add_row(self.rows, start, end, facts)

    def finish(self):  # the recording has ended
        for rows, spans in self.rows.by_thread():
            for row, ns in zip(rows, self_times(spans), strict=True):
                row["self_ms"] = ns / 1e6


def rows_of(function):
    """Return the rows of what function() runs."""
    with OpRecorder() as recorder:
        function()
    return recorder.rows


# %% nbgrader={"grade": true, "grade_id": "test_record", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
import weakref

clock, net = doubles.Clock(), nn.Sequential(nn.Linear(6, 4), nn.ReLU())
pace, x = doubles.Model(clock, ms=[3.0, 1.000457, 2.0]), example_input(net, (5, 6))
rows = clock.run(profiled.recorded, record, lambda: net(x).sum().backward(), pace)
expect("a row for each op", column(rows, "op"), ["linear", "relu", "sum", "sum", "relu", "linear"])
expect("ms: the time of call()", column(rows, "ms"), [3.0, 1.000457, 2.0] * 2, abs=1e-6)
expect("start_ms", column(rows, "start_ms")[:4], [0.0, 3.0, 4.000457, 6.000457], abs=1e-6)
expect("the facts of op_facts", column(rows, "output_shape")[:3], [(5, 4), (5, 4), ()])
expect("a row has 14 keys", len(rows[0]), 14)
sixty = clock.run(profiled.recorded, record, lambda: [x.exp() for _ in range(60)])
expect("sixty ops that take no time", column(sixty, "ms"), [0.0] * 60)
slow = profiled.Around(pace, wait=lambda: clock.advance(25))  # asking for its facts takes 25 ms
watched = clock.run(profiled.recorded, record, slow)
own = [(row["start_ms"], row["ms"]) for row in watched]
expect("your own work takes no time", own, [(0.0, 3.0)], abs=1e-6)
results = []
profiled.recorded(record, lambda: results.append(weakref.ref(x.exp())))
expect("a row keeps no result alive", results[0]() is None, True)
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

clock = doubles.Clock()
# vary: 0.5 in 0.333..0.75, 7.25 in 4.83..10.9, 90.0 in 60.0..135.0
pace = doubles.Model(clock, ms=[0.5, 7.25], cold_ms=[90.0])
tiny = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False), nn.GELU())
# vary: 2.5 in 1.67..3.75
late = [
    lambda: clock.advance(2.5),
    lambda: profiled.paced(pace, lambda: tiny(Tensor([[1.0, 2.0, 3.0]])).tanh()),
    lambda: clock.advance(100),
]
timed = clock.run(profiled.recorded, record, lambda: [step() for step in late])
expect(
    "ms is the op's own time, whatever it was before",
    column(timed, "ms"),
    [90.0, 0.5, 7.25, 0.5],
    abs=1e-6,
)
expect(
    "start_ms counts from the beginning of the recording",
    column(timed, "start_ms"),
    [2.5, 92.5, 93.0, 100.25],
    abs=1e-6,
)
expect(
    "a row knows its module and its depth",
    columns(timed, "module", "depth"),
    [["0", 0], ["1", 0], ["2", 0], ["", 0]],
)
results = []
# vary: 2.0 in 1.33..3.0
profiled.recorded(record, lambda: results.append(Tensor([2.0, 3.0]) * 2))
expect("record returns what call() returned", results[0].tolist(), [4.0, 6.0])
results = []
profiled.recorded(record, lambda: results.append(weakref.ref(Tensor([1.0]).exp())))
expect("rows hold no tensors", results[0]() is None, True)
# vary: 1.5 in 1.0..2.25
quick = doubles.Model(clock, ms=[1.5])
# vary: 40 in 26..60
waits = profiled.Around(quick, wait=lambda: clock.advance(40))
apart = clock.run(profiled.recorded, record, waits)
times = columns(apart, "start_ms", "ms")
expect("the clock is read directly before and after call()", times, [[0.0, 1.5]], abs=1e-6)
# viva: profiled.recorded(record, lambda: Tensor([1.0]).exp().log())[1]['op']
# viva: [row['op'] for row in profiled.recorded(record, lambda: (Tensor([1.0]) + 2).exp().sum())]
# viva: [row['depth'] for row in profiled.recorded(record, lambda: Tensor([1.0]).exp().log())]
# viva: profiled.recorded(record, lambda: Tensor([[1.0, 2.0]]).exp().sum())[0]['output_shape']
# viva: c = doubles.Clock(); m = doubles.Model(c, ms=[3.0]); c.run(profiled.recorded, record,
#     profiled.Around(m))[0]['ms']
# viva: profiled.recorded(record, lambda: Tensor([1.0]) @ Tensor([[1.0], [2.0]])).depth
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_record_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock, vector = doubles.Clock(), Tensor([[1.0, 2.0]])
pace = doubles.Model(clock, ms=[3.0])


def epoch():
    with region("data loading"):
        clock.advance(4)
        (vector + 1).exp()
    vector.exp()


def stop():
    raise KeyboardInterrupt


loaded = clock.run(profiled.recorded, record, epoch, pace)
expect("a region ends after its ops", column(loaded, "op"), ["add", "exp", "region", "exp"])
expect("a region has its whole time", column(loaded, "ms"), [3.0, 3.0, 10.0, 3.0], abs=1e-6)
expect("ops in a region are one deeper", column(loaded, "depth"), [1, 1, 0, 0])
called = clock.run(profiled.recorded, record, profiled.Around(pace, profiled.Around(pace)))
expect("a call in a call is one deeper", column(called, "depth"), [1, 0])
failed = [profiled.recorded(record, f) for f in (lambda: vector @ vector, profiled.Around(stop))]
refused = profiled.recorded(record, profiled.Around(pace), unknown="clone")
told = [rows.error for rows in failed]
expect("an op fails, Ctrl-C: that goes on", told, ["ValueError", "KeyboardInterrupt"])
expect("without a row", [len(rows) for rows in failed], [0, 0])
expect("with the depth as before", [rows.depth for rows in failed], [0, 0])
expect("an op without a rule is refused", refused.error, "NotImplementedError")
### BEGIN HIDDEN TESTS
import contextlib

clock = doubles.Clock()
# vary: 5.0 in 3.33..7.5
pace = doubles.Model(clock, ms=[2.0, 5.0])


def attempts():
    with region("a"), contextlib.suppress(ValueError):
        vector.exp()
        with region("b"):
            # vary: 0.5 in 0.333..0.75
            clock.advance(0.5)
            epoch()
            vector @ vector
    vector.exp()


nested = clock.run(profiled.recorded, record, attempts, pace)
names = " ".join(row_name(row) for row in nested)
expect("rows are in the order in which things end", names, "exp add exp data loading exp b a exp")
expect(
    "ms holds all that ran inside",
    column(nested, "ms"),
    [2.0, 5.0, 2.0, 11.0, 5.0, 18.5, 20.5, 5.0],
    abs=1e-6,
)
expect(
    "depth counts regions around regions, also after an error",
    column(nested, "depth"),
    [1, 3, 3, 2, 2, 1, 0, 0],
)
watch = doubles.Clock()
# vary: 1.5 in 1.0..2.25, 4.0 in 2.67..6.0
turns = doubles.Model(watch, ms=[1.5, 4.0])
calls = profiled.Around(turns), profiled.Around(turns, profiled.Around(turns))
several = watch.run(profiled.recorded, record, profiled.Around(turns, *calls))
expect("an inner call is one deeper", column(several, "depth"), [1, 2, 1, 0])
expect(
    "an outer call holds the time of its inner calls",
    column(several, "ms"),
    [4.0, 4.0, 5.5, 11.0],
    abs=1e-6,
)
stopped = profiled.recorded(record, profiled.Around(turns, profiled.Around(profiled.interrupted)))
seen = [stopped.error, stopped.depth, len(stopped)]
expect("after Ctrl-C the depth is 0", seen, ["KeyboardInterrupt", 0, 0])
bend = doubles.unknown_op("bend")
told = profiled.recorded(record, lambda: bend(Tensor([2.0]).exp()).exp(), unknown="bend")
expect("NotImplementedError of op_facts goes on", told.error, "NotImplementedError")
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_timeline", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws three blocks of GPT-2 small, forward and backward.
demos.show_load()
gpt2, tokens = demos.three_blocks()  # the first pass is done
with OpRecorder() as recorder:
    with region("forward"):
        loss = gpt2(tokens).mean()
    with region("backward"):
        loss.backward()
demos.print_rows(recorder.rows, 6)
demos.timeline(recorder.rows, title="Three blocks of a GPT-2, forward and backward")

# %% [markdown]
# Below a bar you see what ran inside it; white between ops is Python.
# No sum shows the order of things, and what waits for what.
#
# ## 5 · Where the time goes
#
# You read a profile of a thousand rows by grouping them: what took longest, what calculated most?
# It pays to look where the two lists differ.
# Rows with the same `row_name` belong together: it is the op, or the name of a region or module.
# Of these four rows, linear layers have 5 of 10 ms:
#
# | row | self_ms | | name | ms | share |
# |---|--:|---|---|--:|--:|
# | linear, forward | 4.0 | | linear | 5.0 | 0.5 |
# | relu | 3.0 | → | relu | 3.0 | 0.3 |
# | linear, backward | 1.0 | | loading | 2.0 | 0.2 |
# | region "loading" | 2.0 | | | | |
#
# **Predict.** ResNet-18 on one image: 99.9 % of its FLOPs are in convolutions.
# What percentage of its time?

# %% tags=["guess"]
guess_convolutions = None  # your guess: percent of the time in convolutions

# %% nbgrader={"grade": false, "grade_id": "measures", "locked": true, "schema_version": 3, "solution": false, "task": false}
MEASURES = ("ms", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


# %% nbgrader={"grade": false, "grade_id": "top_operations", "locked": false, "schema_version": 3, "solution": true, "task": false}
def top_operations(rows, n, by="ms"):
    """Return the n names with the largest shares, as a list of dicts, the largest share first.

    >>> top_operations(doubles.made_up("op self_ms", ("exp", 1.0), ("tanh", 3.0)), 1)
    [{'name': 'tanh', 'ms': 3.0, 'share': 0.75}]

    by: one of MEASURES, of which the shares are. "ms" means self_ms, so that no time counts twice.
    The keys are name (row_name), ms (the name's sum of self_ms, whatever `by` is) and share (the
    name's part of the sum over all rows; 0.0 if that sum is 0). Equal shares stay in the order in
    which their names first occur.
    Raises ValueError for no rows, for n below 1, and for a `by` that is not in MEASURES.
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
    tops = top_operations(rows, n, by) if rows else []
    print(", ".join(f"{100 * top['share']:.0f} % {top['name']}" for top in tops) or "no ops")


# %% nbgrader={"grade": true, "grade_id": "test_top_operations", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
rows = doubles.made_up(
    "op phase ms self_ms matmul_flops bytes_read",
    ("linear", "forward", 4.0, 4.0, 600, 70),
    ("module mlp", "forward", 3.0, 3.0, 0, 30),
    ("linear", "backward", 1.000457, 1.000457, 300, 0),
    ("matmul", "backward", 1.5, 1.5, 100, 200),
    ("region loading", "region", 10.0, 0.5, 0, 0),
)
expect(
    "by time",
    top_operations(rows, 2),
    [
        {"name": "linear", "ms": 5.000457, "share": 5.000457 / 10.000457},
        {"name": "mlp", "ms": 3.0, "share": 3 / 10.000457},
    ],
    mistakes={
        "what ran inside the region counts twice": [
            {"name": "loading", "ms": 10.0, "share": 10 / 19.500457},
            {"name": "linear", "ms": 5.000457, "share": 5.000457 / 19.500457},
        ]
    },
)
expect(
    "by FLOPs",
    top_operations(rows, 4, by="matmul_flops"),
    [
        {"name": "linear", "ms": 5.000457, "share": 0.9},
        {"name": "matmul", "ms": 1.5, "share": 0.1},
        {"name": "mlp", "ms": 3.0, "share": 0.0},
        {"name": "loading", "ms": 0.5, "share": 0.0},
    ],
    abs=1e-12,
)
expect("shares of all rows", column(top_operations(rows, 1, "bytes_read"), "share"), [2 / 3])
expect("nothing written", column(top_operations(rows, 9, "bytes_written"), "share"), [0.0] * 4)
alike = doubles.made_up("op self_ms bytes_read", ("tanh", 1.0, 8), ("exp", 9.0, 8), ("abs", 2.0, 8))
equal = column(top_operations(rows=alike, n=3, by="bytes_read"), "name")
expect("equal shares", equal, ["tanh", "exp", "abs"], mistakes={"by ms": ["exp", "abs", "tanh"]})
many = doubles.made_up("op self_ms", *[(f"op{i}", 2.0 + i) for i in range(60)])
expect("sixty names", len(top_operations(many, 60)), 60)
expect("the rows stay as they are", column(rows, "self_ms"), [4.0, 3.0, 1.000457, 1.5, 0.5])
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

# vary: 6.0 in 4.0..9.0, 0.5 in 0.333..0.75
some = doubles.made_up(
    "op ms self_ms matmul_flops bytes_read",
    ("region data", 9.0, 6.0, 0, 0),
    ("tanh", 1.0, 1.0, 0, 8),
    ("relu", 2.0, 2.0, 0, 8),
    ("tanh", 1.0, 1.0, 0, 0),
    ("module m", 0.5, 0.5, 70, 0),
)
# vary: 99 in 70..148
every = columns(top_operations(some, 99), "name", "ms")
expect(
    "names with equal shares stay in their order",
    every,
    [["data", 6.0], ["tanh", 2.0], ["relu", 2.0], ["m", 0.5]],
)
by_bytes = top_operations(some, 1, "bytes_read")
expect(
    "a share is the part of all rows, not of the first n",
    by_bytes,
    [{"name": "tanh", "ms": 2.0, "share": 0.5}],
)
# vary: 9 in 5..18
nothing = top_operations(some, 9, "bytes_written")
expect("shares are 0.0 where the sum is 0", column(nothing, "share"), [0.0] * 4)
expect("the rows are not changed", column(some, "self_ms"), [6.0, 1.0, 2.0, 1.0, 0.5])
many = doubles.made_up("op self_ms", *[(f"op{i}", 1.0 + i) for i in range(70)])
expect("n may be as large as it likes", len(top_operations(many, 70)), 70)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_top_operations_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
rows = doubles.made_up("op ms self_ms", ("exp", 4.0, 4.0), ("tanh", 3.0, 3.0))
expect_table(
    top_operations,
    (
        "no rows; no measure; n below 1",
        [([], 3), (rows, 3, "start_ms"), (rows, 0), (rows, -1)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("n of 1 is fine", column(top_operations(rows, 1), "name"), ["exp"])
# vary: 9 in 2..18
expect("a single row is fine", column(top_operations(rows[1:], 9), "ms"), [3.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_top", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws how time, FLOPs and bytes divide among ops: ResNet-18 forward, GPT-2 small both ways.
demos.show_load()
recorded, passes = {}, demos.two_passes()
for name, run in passes.items():
    recorded[name] = rows_of(run)
    print(f"{name}, {len(recorded[name])} ops:", end=" ")
    print_top_operations(recorded[name])
again = [recorded["ResNet-18"], *(rows_of(passes["ResNet-18"]) for _ in range(2))]
part = demos.percent_of(again, "convolutions")
guesses.compare("ResNet-18's time in convolutions", guess_convolutions, part, unit="%")
demos.three_shares(recorded, title="One pass each, seen in three ways")

# %% [markdown]
# An op with a larger part of the time than of the FLOPs waits for memory or for Python.
# Lesson 06 finds out which.
#
# **A timeline to walk through.** Viewers such as [Perfetto](https://ui.perfetto.dev), [speedscope](https://www.speedscope.app) and `chrome://tracing` read the [trace event format](https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): a JSON object whose `traceEvents` is a list of events.
# A *complete event* has a name, a beginning `ts` and a duration `dur`, both in **microseconds**, and `args` for whatever a click on it should show.
# Events nest by their times alone, as your spans do; of two that begin together, the outer one has to stand first. <!-- with chrome_trace -->

# %% nbgrader={"grade": false, "grade_id": "trace_args", "locked": true, "schema_version": 3, "solution": false, "task": false}
import json

ARGS = ("module", "matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")


# %% nbgrader={"grade": false, "grade_id": "chrome_trace", "locked": false, "schema_version": 3, "solution": true, "task": false}
def chrome_trace(rows):
    """Return a recording in the trace event format: {"traceEvents": [...]}, an event for each row.

    >>> rows = doubles.made_up("op start_ms ms", ("exp", 0.25, 1.5))
    >>> [(event["ts"], event["dur"]) for event in chrome_trace(rows)["traceEvents"]]
    [(250.0, 1500.0)]

    An event has name (row_name), cat (phase), ph ("X"), ts and dur (start_ms and ms, as floats in
    µs), pid and tid (both 1), and args: a dict of the row's values for the keys in ARGS. Events are
    ordered by ts; of those that begin together, the one of less depth is first.
    Raises ValueError if there are no rows.
    """
    ### BEGIN SOLUTION
    if not rows:
        raise ValueError("there are no rows, so there is no trace")
    events = [
        {
            "name": row_name(row),
            "cat": row["phase"],
            "ph": "X",
            "ts": row["start_ms"] * 1000,
            "dur": row["ms"] * 1000,
            "pid": 1,
            "tid": 1,
            "args": {key: row[key] for key in ARGS},
        }
        for row in sorted(rows, key=lambda row: (row["start_ms"], row["depth"]))
    ]
    return {"traceEvents": events}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_chrome_trace", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
rows = doubles.made_up(
    "op phase start_ms ms depth matmul_flops",
    ("region loading", "region", 0.5, 1.50045674, 0, 0),
    ("module mlp", "forward", 2.5, 0.0, 1, 0),
    ("exp", "backward", 3.25, 1.5, 0, 0),
    ("linear", "forward", 2.00045674, 1.75, 1, 48),
    ("region all", "region", 2.00045674, 1.75, 0, 0),
)
events = chrome_trace(rows)["traceEvents"]
expect(
    "ordered by time, outer ones first",
    column(events, "name"),
    ["loading", "all", "linear", "mlp", "exp"],
)
expect("ts in µs", column(events, "ts"), [500.0, 2000.45674, 2000.45674, 2500.0, 3250.0])
expect(
    "dur in µs",
    column(events, "dur"),
    [1500.45674, 1750.0, 1750.0, 0.0, 1500.0],
    mistakes={"in ms": [1.50045674, 1.75, 1.75, 0.0, 1.5]},
)
expect(
    "a whole event",
    events[2],
    {
        "name": "linear",
        "cat": "forward",
        "ph": "X",
        "ts": 2000.45674,
        "dur": 1750.0,
        "pid": 1,
        "tid": 1,
        "args": {
            "module": "m",
            "matmul_flops": 48,
            "elementwise_flops": 0,
            "bytes_read": 0,
            "bytes_written": 0,
        },
    },
)
expect("the rows stay in their order", column(rows, "start_ms")[:3], [0.5, 2.5, 3.25])
expect("sixty rows", len(chrome_trace(rows * 12)["traceEvents"]), 60)
expect_table(chrome_trace, ("no rows", [([],)], ValueError))
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

# vary: 0.25 in 0.167..0.375, 0.125 in 0.0833..0.188
nested = doubles.made_up(
    "op start_ms ms self_ms depth phase",
    ("exp", 0.25, 0.125, 0.125, 2, "forward"),
    ("exp", 0.375, 40.0, 40.0, 2, "backward"),
    ("module a.b", 0.25, 40.125, 0.0, 1, "forward"),
    ("exp", 40.5, 3.0, 3.0, 2, "backward"),
    ("region step", 40.5, 3.0, 0.0, 1, "region"),
    ("region all", 0.25, 43.25, 0.125, 0, "region"),
)
several = chrome_trace(nested)["traceEvents"]
expect(
    "of events that begin together the outer one is first",
    column(several, "name"),
    ["all", "a.b", "exp", "exp", "step", "exp"],
)
expect(
    "ts is start_ms in µs", column(several, "ts"), [250.0, 250.0, 250.0, 375.0, 40_500.0, 40_500.0]
)
expect(
    "dur is ms in µs, not self_ms",
    column(several, "dur"),
    [43_250.0, 40_125.0, 125.0, 40_000.0, 3_000.0, 3_000.0],
)
expect(
    "an event's category is its phase",
    column(several, "cat")[2:5],
    ["forward", "backward", "region"],
)
expect(
    "all events are complete ones of one thread",
    columns(several, "ph", "pid", "tid"),
    [["X", 1, 1]] * 6,
)
again = json.loads(json.dumps(chrome_trace(nested)))
expect("a trace can be written as JSON", len(again["traceEvents"]), 6)
# vary: 12 in 8..18
expect("a trace has every row, however many", len(chrome_trace(nested * 12)["traceEvents"]), 72)
expect(
    "rows are not sorted in place",
    column(nested, "start_ms"),
    [0.25, 0.375, 0.25, 40.5, 40.5, 0.25],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_trace", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Makes a trace of three blocks of GPT-2 small and prints how it begins.
import textwrap

gpt2, tokens = demos.three_blocks()
rows = demos.with_modules(rows_of(lambda: gpt2(tokens).mean().backward()))
trace = json.dumps(chrome_trace(rows), default=int)  # numpy's integers, too
print(f"{len(trace) / 1024:.0f} KB of JSON, which begins")
print(textwrap.fill(trace[:220], width=90), "…")

# %% [markdown]
# To see it, run `open("trace.json", "w").write(trace)` in a cell of your own, and open that file in a viewer.
#
# **Take a break here.** What follows needs only `op_facts`, `rows_of` and the earlier lessons.
#
# ## 6 · What limits it
#
# A machine has two roofs: it calculates at most `peak_flops` FLOPs a second, and moves at most `bandwidth` bytes a second.
# If both happen at once, the one that takes longer decides how long the work takes.
# It is the *bottleneck*.
# On a machine of 2 · 10¹¹ *FLOP/s* (FLOPs per second) and 2 · 10¹⁰ bytes/s, 3 · 10⁹ FLOPs take at least 15 ms and 5 · 10⁸ bytes 25 ms: memory limits.
# `Hardware(peak_flops, bandwidth)` holds the two; `machines.json` has them from data sheets, and in lesson 06 you measure your own.
#
# **Predict.** A T4 has 8.1 · 10¹² FLOP/s and 320 · 10⁹ bytes/s.
# A linear layer from 4,096 to 4,096 in float32 is limited by memory for 1 row, and by calculation for 1,024.
# From how many rows on is it calculation?

# %% tags=["guess"]
guess_rows = None  # your guess: rows from which on calculation limits the layer

# %% nbgrader={"grade": false, "grade_id": "pass_tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson.hardware import Hardware
from proflab.lesson.recording import as_model, work_and_traffic


# %% nbgrader={"grade": false, "grade_id": "find_bottleneck", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_bottleneck(flops, bytes_moved, hardware):
    """Return what limits work of so many FLOPs and bytes: "compute" or "memory".

    >>> find_bottleneck(3e9, 5e8, Hardware(peak_flops=2e11, bandwidth=2e10))
    'memory'

    hardware: a Hardware, with peak_flops in FLOP/s and bandwidth in bytes/s; or None.
    It is "compute" if calculating at the peak takes at least as long as moving at full bandwidth,
    else "memory"; and None if hardware is None.
    Raises ValueError for a negative number, and if both are 0, also without hardware.
    """
    ### BEGIN SOLUTION
    if min(flops, bytes_moved) < 0 or flops == bytes_moved == 0:
        raise ValueError(f"{flops} FLOPs and {bytes_moved} bytes are no work")
    if hardware is None:
        return None
    slower = flops / hardware.peak_flops >= bytes_moved / hardware.bandwidth
    return "compute" if slower else "memory"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_find_bottleneck", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
example = Hardware(peak_flops=8e12, bandwidth=2e11, name="an example")
expect_table(
    find_bottleneck,
    ("40 FLOPs a byte: both take as long", (4000, 100, example), "compute"),
    ("39.9 FLOPs a byte", (3990, 100, example), "memory"),
    ("2.4 where the ridge is at 2.5", (24, 10, Hardware(5.0, 2.0)), "memory"),
    ("2.6 on the same machine", (26, 10, Hardware(5.0, 2.0)), "compute"),
    ("no FLOPs", (0, 1, example), "memory"),
    ("no bytes", (10**20, 0, example), "compute"),
    ("no machine", (1, 1, None), None),
)
### BEGIN HIDDEN TESTS
limits = [find_bottleneck(n, 20, Hardware(3e9, 6e9)) for n in (9, 10, 11)]
expect(
    "every machine has its own ridge, which counts as compute",
    limits,
    ["memory", "compute", "compute"],
)
limits = [find_bottleneck(n, 40, Hardware(2e9, 1e9)) for n in (79, 80, 1)]
expect("two FLOPs a byte are its ridge", limits, ["memory", "compute", "memory"])
expect("work without a byte is limited by calculation", find_bottleneck(7, 0, example), "compute")
expect("large numbers are compared exactly", find_bottleneck(10**20, 10**17, example), "compute")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_find_bottleneck_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
desk = Hardware(peak_flops=8e12, bandwidth=2e11, name="an example")
expect_table(
    find_bottleneck,
    (
        "no work at all; fewer than none",
        [(0, 0, desk), (5, -1, None), (-5, -5, desk)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 7 in 2..14
expect(
    "FLOPs alone are work, and so are bytes",
    [find_bottleneck(*work, desk) for work in ((1, 0), (0, 7))],
    ["compute", "memory"],
)
# vary: 3 in 3..9
expect(
    "a machine with a lower ridge",
    [find_bottleneck(flops, 2, Hardware(1.0, 1.0)) for flops in (1, 3)],
    ["memory", "compute"],
)
### END HIDDEN TESTS

# %% [markdown]
# What can you do about memory?
# A layer's weights are read once, however many rows there are, and each row calculates: so more rows help.
# From `in` to `out` without a bias, with numbers of s bytes, n rows take 2·n·in·out / peak seconds to calculate and s·(n·in + in·out + n·out) / bandwidth to move.
# Calculation limits if the first is at least the second, that is
#
# > n · (2·in·out / peak − s·(in + out) / bandwidth) ≥ s·in·out / bandwidth
#
# On the machine above, from 768 to 3,072 in float32, each row calculates 23.59 µs and moves 0.77 µs, and the weights take 471.9 µs to read: 471.9 / 22.82 = 20.7, so 21 rows.
# For a layer from 8 to 8 the bracket is negative: each row moves longer than it calculates, and no number of rows helps.


# %% nbgrader={"grade": false, "grade_id": "rows_at_ridge", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rows_at_ridge(in_features, out_features, hardware, itemsize=4):
    """Return the least number of rows from which on calculation limits a linear layer.

    >>> rows_at_ridge(768, 3072, Hardware(peak_flops=2e11, bandwidth=2e10))
    21

    The layer has no bias. It reads n rows and all weights and writes n rows, of numbers that have
    itemsize bytes; a multiply-add is two FLOPs. Calculation limits if it takes at least as long as
    moving, as for find_bottleneck. The result is an int, or None if memory limits any n.
    Raises ValueError for in_features, out_features or itemsize below 1.
    """
    ### BEGIN SOLUTION
    if min(in_features, out_features, itemsize) < 1:
        raise ValueError(f"no layer from {in_features} to {out_features}, {itemsize} bytes each")
    weights, peak, bandwidth = in_features * out_features, hardware.peak_flops, hardware.bandwidth
    gain = 2 * weights * bandwidth - itemsize * (in_features + out_features) * peak
    return math.ceil(itemsize * weights * peak / gain) if gain > 0 else None
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_rows_at_ridge", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
t4, h100 = Hardware(8.1e12, 320e9), Hardware(989e12, 3.35e12)
expect_table(
    rows_at_ridge,
    (
        "4,096 to 4,096 on a T4",
        (4096, 4096, t4),
        52,
        {
            "the weights alone are moved": 51,
            "the ridge is taken for n": 26,
            "a multiply-add counts as one FLOP": 107,
        },
    ),
    ("1,024 to 1,024", (1024, 1024, t4), 57),
    ("1 to 512, numbers of a byte", (1, 512, Hardware(4.0, 2.25), 1), 9),
    ("32 to 32: memory limits any n", (32, 32, t4), None),
    ("both take as long: that is calculation", (32, 32, Hardware(4.0, 1.0)), 16),
    ("for each row both take as long", (32, 32, Hardware(8.0, 1.0)), None),
    ("numbers of 2 bytes on an H100", (4096, 4096, h100, 2), 345),
    ("105 to 105: many rows", (105, 105, t4), 1418),
)
### BEGIN HIDDEN TESTS
expect_table(
    rows_at_ridge,
    # vary: 16384 in 10_922..24_576, 53248 in 35_498..79_872, 2 in 2..9
    ("a wide layer: fewer rows are enough", (16_384, 53_248, h100, 2), 303),
    # vary: 256 in 170..384, 512 in 341..768
    ("what is moved for each row may be too much: None", (256, 512, h100, 2), None),
    # vary: 2e11 in 1.33e11..3e11, 2e10 in 1.33e10..3e10
    ("a small layer on another machine", (768, 3072, Hardware(2e11, 2e10)), 21),
    # vary: 4096 in 2_730..6_144
    ("a machine that moves faster than it calculates", (4096, 4096, Hardware(1e9, 1e12)), 1),
    ("8 to 8 is too small for any number of rows", (8, 8, Hardware(2e11, 2e10)), None),
    # vary: 4096 in 2_730..6_144
    ("numbers of 8 bytes need more rows", (4096, 4096, t4, 8), 107),
    ("from wide to narrow, and from narrow to wide, is the same", (512, 2048, t4), 58),
    ("the same, the other way round", (2048, 512, t4), 58),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_rows_at_ridge_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
server = Hardware(2e11, 2e10)
expect_table(
    rows_at_ridge,
    (
        "no features; fewer than none; numbers without bytes",
        [(0, 8, server), (8, 0, server), (-8, -8, server), (64, 64, server, 0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("a wide layer with small numbers", rows_at_ridge(4096, 4096, server, 1), 6)
# vary: 8 in 2..16
expect("with larger ones", rows_at_ridge(4096, 4096, server, 8), 41)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_batches", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints what limits a layer from 4,096 to 4,096 on four machines, by its number of rows.
layer, sizes = nn.Linear(4096, 4096), (1, 8, 64, 1024)


def work(n):  # of the layer with its bias, by its facts
    return work_and_traffic(each_op(op_facts, lambda: layer(Tensor.meta((n, 4096)))))


print(f"{'rows':<26}" + "".join(f"{n:>10}" for n in sizes) + f"{'from':>10}")
for machine in demos.machines():
    limits = "".join(f"{find_bottleneck(*work(n), machine):>10}" for n in sizes)
    print(f"{machine.name:<26}{limits}{rows_at_ridge(4096, 4096, machine):>10}")
t4 = demos.machines()[1]
first = next(n for n in range(1, 1025) if find_bottleneck(*work(n), t4) == "compute")
guesses.compare("rows from which on calculation limits a T4", guess_rows, first)

# %% [markdown]
# That is why servers batch requests: below this number, one more row costs next to nothing.
#
# **A whole program.** Before you profile, ask which part of the machine a program keeps busy.
# `time python train.py` prints three times: *real*, by the clock; *user*, the processor's in the program; *sys*, the processor's in the system for it, as in reading files.
# If user and sys together come near real, the processor limits.
# If not, the program waited: for card, disk, network or other programs.
# The bytes that it read, at the rate that the disk was measured to give, say how much of the wait the disk explains.
# Ask the card first: a host that waits for it may spin, and look busy.


# %% nbgrader={"grade": false, "grade_id": "triage", "locked": false, "schema_version": 3, "solution": true, "task": false}
def triage(run, disk_rate):
    """Return what limited a program's run: "gpu", "cpu", "disk" or "waiting"; None if unknown.

    >>> run = {"real_s": 10.0, "user_s": 1.0, "sys_s": 1.0, "bytes_read": 6e9, "gpu_busy": None}
    >>> triage(run, disk_rate=1e9)
    'disk'

    run: a dict with real_s, user_s and sys_s, in s; bytes_read, from the disk; gpu_busy, the share
        of real_s in which the card worked, from 0 to 1. All but real_s may be None: not measured.
    disk_rate: what the disk gives, in bytes/s.
    The first of these that holds: "gpu" if gpu_busy is at least 0.8; None if user_s, sys_s or
    bytes_read is None; "cpu" if user_s and sys_s are at least 0.8 of real_s, together; "disk" if
    the disk takes at least half of the rest of real_s to read the bytes; else "waiting".
    Raises ValueError unless real_s and disk_rate are above 0.
    """
    ### BEGIN SOLUTION
    if not (run["real_s"] > 0 and disk_rate > 0):
        raise ValueError(f"no run takes {run['real_s']} s, no disk gives {disk_rate} bytes/s")
    if run["gpu_busy"] is not None and run["gpu_busy"] >= 0.8:
        return "gpu"
    if None in (run["user_s"], run["sys_s"], run["bytes_read"]):
        return None
    worked = run["user_s"] + run["sys_s"]
    if worked >= 0.8 * run["real_s"]:
        return "cpu"
    reading = run["bytes_read"] / disk_rate
    return "disk" if reading >= (run["real_s"] - worked) / 2 else "waiting"
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_triage", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
def limited(real, user, sys, read=0, busy=None, disk_rate=1e9):  # the verdict on such a run
    run = {"real_s": real, "user_s": user, "sys_s": sys, "bytes_read": read, "gpu_busy": busy}
    return triage(run, disk_rate)


expect_table(
    limited,
    ("a loop: the processor", (10, 7, 1), "cpu"),
    ("two threads: more processor time than real time", (10, 18.0, 0.5, 9e9), "cpu"),
    ("half of the wait is reading", (10, 1, 1, 2e9, None, 5e8), "disk"),
    ("as much reading is less than half of a longer wait", (11, 1, 1, 2e9, None, 5e8), "waiting"),
    ("asleep, beside a card that hardly works", (10, 0.0, 0.0, 0, 0.02), "waiting"),
    ("a host that spins while the card works", (10, 10.0, 0.0, 0, 0.8), "gpu"),
    ("of the card alone something is known", (10, None, None, None, 0.97), "gpu"),
    (
        "a card that is idle for a third, and a time that nobody measured",
        (10, 3.0, None, 0, 0.66),
        None,
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    limited,
    # vary: 8 in 6..12
    ("without the bytes there is no verdict", (8, 1.0, 1.0, None), None),
    (
        "a card that works for less than 0.8 of the time does not limit",
        (4, 3.5, 0.0, 0, 0.79),
        "cpu",
    ),
)
expect_table(
    lambda *runs: [limited(*run) for run in runs],
    ("user and system time count together", ((5, 1, 3.0), (5, 1, 2.5)), ["cpu", "waiting"]),
    # vary: 30 in 24..40
    (
        "few bytes explain a long wait on a slow disk only",
        ((30, 2.0, 1.0, 2e9), (30, 2.0, 1.0, 2e9, 0.1, 1e8)),
        ["waiting", "disk"],
    ),
)
# viva: triage({'real_s': 8, 'user_s': 1, 'sys_s': 1, 'bytes_read': 2e9, 'gpu_busy': None}, 1e9)
# viva: triage({'real_s': 8, 'user_s': 8, 'sys_s': 0, 'bytes_read': 0, 'gpu_busy': 0.9}, 1e9)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_triage_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
idle = {"real_s": 2.0, "user_s": 0.0, "sys_s": 0.0, "bytes_read": 0, "gpu_busy": None}
reading, unknown = idle | {"bytes_read": 4e8}, idle | {"user_s": None}
busy = idle | {"user_s": 2.0}
expect_table(
    triage,
    ("a program that reads all the time", (reading, 2e8), "disk"),
    ("the time in the program is not known", (unknown, 1e9), None),
    ("busy, and nobody noted what was read", (busy | {"bytes_read": None}, 1e9), None),
    (
        "no real time, or less; a disk that gives nothing, or less",
        [(idle | {"real_s": 0}, 1e9), (idle | {"real_s": -2.0}, 1e9), (busy, 0), (idle, -1e9)],
        ValueError,
    ),
)
expect(
    "the runs stay as they are",
    [*reading.values(), *unknown.values()],
    [2.0, 0.0, 0.0, 4e8, None, 2.0, None, 0.0, 0, None],
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda *changes: [triage(idle | {"real_s": 3} | change, 1e9) for change in changes],
    # vary: 9e9 in 6e9..2e10
    ("nothing but waiting, nothing but reading", ({}, {"bytes_read": 9e9}), ["waiting", "disk"]),
    (
        "a card, and a host of which half is known",
        ({"user_s": None, "gpu_busy": 0.5}, {"user_s": None, "gpu_busy": 0.9}),
        [None, "gpu"],
    ),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_triage", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what limited recorded runs, and two runs of this machine.
import counters  # a file beside this notebook

runs, disk_rate = counters.recorded_runs()
runs |= counters.runs_here(loop="sum(i * i for i in range(3_000_000))", sleep="time.sleep(1)")
print(counters.HEAD)
for name, run in runs.items():
    verdict = triage(run, disk_rate) or "no verdict"
    print(f"{counters.line(run)}  {verdict:<11}{name}")

# %% [markdown]
# Alone, the loop is limited by the processor; beside other programs, it waits for them.
#
# ## 7 · What watching costs
#
# Your recorder knows tensors and nothing else: a program that reads files or loops over lists is white to it.
# [`cProfile`](https://docs.python.org/3/library/profile.html) is told of every call and return of Python, and gives each function's number of calls, its `tottime`, the seconds in itself, and its `cumtime`, with everything that it called: your `self_ms` and `ms`.

# %% nbgrader={"grade": false, "grade_id": "python_tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
import cProfile
import pstats


# %% nbgrader={"grade": false, "grade_id": "hot_functions", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hot_functions(stats, n, by="tottime"):
    """Return the n functions with the most of `by` in a cProfile run, as dicts, largest first.

    >>> stats = pstats.Stats()
    >>> stats.stats = {("/a/f.py", 7, "f"): (1, 2, 0.5, 0.75, {})}
    >>> hot_functions(stats, 1)[0]["function"]
    'f.py:7(f)'

    stats: a pstats.Stats, whose own `stats` maps (file, line, name) to (calls that were not
        recursive, all calls, tottime, cumtime, callers); a file "~" is not Python's.
    by: "calls", "tottime" or "cumtime"; equal ones stay in the order in which stats has them.
    The keys are function: "file.py:12(name)", the file without its folders, or the name alone for
    a file "~"; calls: int, with recursive ones; tottime, cumtime: floats, in s.
    Raises ValueError for n below 1, for any other `by`, and for stats without functions.
    """
    ### BEGIN SOLUTION
    import os

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
    ("/a/train.py", 12, "step"): (5, 5, 0.25, 4.0, {}),
    ("~", 0, "<built-in matmul>"): (40, 40, 3.0, 3.0, {}),
    ("/b/train.py", 12, "step"): (1, 1, 0.5, 0.62543712, {}),
    ("/lib/decoder.py", 332, "decode"): (7, 90, 0.5, 0.75, {}),
}
expect(
    "by tottime",
    hot_functions(stats, 2),
    [
        {"function": "<built-in matmul>", "calls": 40, "tottime": 3.0, "cumtime": 3.0},
        {"function": "train.py:12(step)", "calls": 1, "tottime": 0.5, "cumtime": 0.62543712},
    ],
)
expect("equal ones in order", hot_functions(stats, 3)[2]["function"], "decoder.py:332(decode)")
expect(
    "by cumtime",
    column(hot_functions(stats, 5, "cumtime"), "cumtime"),
    [4.0, 3.0, 0.75, 0.62543712],
)
expect(
    "by calls",
    column(hot_functions(stats, 1, by="calls"), "calls"),
    [90],
    mistakes={"recursive calls are left out": [40]},
)
calm = pstats.Stats()
calm.stats = {("f.py", n, f"f{n}"): (3, 3, 0.0 + n // 58, 60.0 + n, {}) for n in range(60)}
found = hot_functions(calm, n=60, by="calls")
expect("equal calls", [found[0]["function"], len(found)], ["f.py:0(f0)", 60])
expect_table(
    hot_functions,
    (
        "n below 1; no functions, another key",
        [(stats, 0), (pstats.Stats(), 3), (stats, 3, "function")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
others = pstats.Stats()
# vary: 0.1254 in 0.0836..0.188, 2 in 2..4, 9.5 in 6.33..14.2
others.stats = {
    ("/a/util.py", 3, "read"): (1, 1, 0.1254, 0.1254, {}),
    ("/b/util.py", 3, "read"): (2, 2, 0.0001, 9.5, {}),
    ("/b/util.py", 80, "read"): (3, 6, 0.1254, 0.2, {("~", 0, "len"): (3, 6, 0.1, 0.2)}),
    ("<string>", 1, "<module>"): (1, 1, 0.0, 0.0, {}),
}
every = hot_functions(others, 9)
expect("times are not rounded", column(every, "tottime"), [0.1254, 0.1254, 0.0001, 0.0])
expect(
    "equal times stay in order, and files lose their folders",
    column(every, "function"),
    ["util.py:3(read)", "util.py:80(read)", "util.py:3(read)", "<string>:1(<module>)"],
)
# vary: 9 in 5..18
expect(
    "calls count recursive ones", column(hot_functions(others, 9, "calls"), "calls"), [6, 2, 1, 1]
)
expect(
    "cumtime holds what a function called",
    column(hot_functions(others, 1, "cumtime"), "cumtime"),
    [9.5],
)
many = pstats.Stats()
many.stats = {("/a/b.py", i, "f"): (1, 1, 1.0 / (1 + i), 2.0, {}) for i in range(70)}
expect("n may be as large as it likes", len(hot_functions(many, 70)), 70)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_cprofile", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what cProfile says of one request to GPT-2, and what your recorder saw of it.
demos.show_load()
rows_of(demos.answer_request)  # the first one is cold
rows, watcher = rows_of(demos.answer_request), cProfile.Profile()
watcher.runcall(demos.answer_request)
for by in ("tottime", "cumtime"):
    print(f"by {by:<54}calls   tottime   cumtime")
    for row in hot_functions(pstats.Stats(watcher), 6, by):
        times = "".join(f"{row[key]:>8.3f} s" for key in ("tottime", "cumtime"))
        print(f"  {row['function'][:50]:<50}{row['calls']:>10,}{times}")
print(f"your recorder saw {sum(column(rows, 'self_ms')) / 1000:.3f} s, in {len(rows)} ops")

# %% [markdown]
# Your recorder sees only the first part; `cProfile` sees it all, in Python's terms: `@` is no call, so a matrix product belongs to the function in which it stands.
# [`line_profiler`](https://kernprof.readthedocs.io) is told of every line; this is its table for GPT-2's attention.

# %% nbgrader={"grade": false, "grade_id": "demo_lines", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints a table that line_profiler made.
print(open("line_profiler.txt", encoding="utf-8").read())

# %% [markdown]
# The line with `@` and `*` is one line here, a handful of calls for `cProfile`, and three ops for your recorder.
#
# Every observer disturbs: a program of many small steps becomes several times slower, and what is called often looks larger than it is.
# To know the factor, run the program with and without the profiler, *in pairs*: once each, by turns.
# If the recorder takes 10 µs an op, a pass of 60 ops and 50 ms takes 1.012 times as long, and one of 60 ops and 0.5 ms takes 2.2 times as long.

# %% nbgrader={"grade": false, "grade_id": "statistics_tools", "locked": true, "schema_version": 3, "solution": false, "task": false}
import functools
import statistics


# %% nbgrader={"grade": false, "grade_id": "profiling_overhead", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profiling_overhead(fn, profiled, rounds=11):
    """Return how many times as long profiled() takes as fn(): 1.05 is an overhead of 5 %.

    >>> clock = doubles.Clock()
    >>> bare, watched = doubles.Model(clock, ms=[2.0]), doubles.Model(clock, ms=[2.5])
    >>> round(clock.run(profiling_overhead, bare, watched, 3), 6)
    1.25

    In each round fn() is called once, then profiled() once, and both are timed; one more round
    before these warms up and does not count. The float is the median time of profiled divided by
    the median time of fn. Raises ValueError for rounds below 1.
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


# %% nbgrader={"grade": true, "grade_id": "test_profiling_overhead", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
plain = doubles.Model(clock, ms=[4.0, 4.0, 4.0, 4.0, 70.0], cold_ms=[500.0])
watched = doubles.Model(clock, ms=[5.0, 5.0, 90.0, 5.0, 5.0], cold_ms=[30.0])
expect(
    "medians of 4 and 5 ms",
    clock.run(profiling_overhead, plain, watched),
    1.25,
    rel=1e-6,
    mistakes={"the overhead alone": 0.25, "the wrong way round": 0.8, "means": 225 / 176},
)
expect("11 rounds, and one before", [plain.calls, watched.calls], [12, 12])
### BEGIN HIDDEN TESTS
scripted = doubles.Clock()
# vary: 1.0 in 0.82..1.0, 2.0 in 1.55..2.9, 100.0 in 66.7..150.0
cold = doubles.Model(scripted, ms=[1.0, 2.0, 4.0], cold_ms=[100.0])
# vary: 3.0 in 2.33..3.67, 100.0 in 66.7..150.0
warm = doubles.Model(scripted, ms=[3.0, 1.5, 4.5], cold_ms=[100.0])
# vary: 3 in 2..9
three = scripted.run(profiling_overhead, cold, warm, rounds=3)
expect("the ratio of medians, not the median of ratios", three, 1.5, rel=1e-6)
# vary: 8.0 in 5.33..12.0, 2.0 in 1.33..3.0
pair = doubles.Model(scripted, ms=[8.0], cold_ms=[2.0, 2.0])
once = scripted.run(profiling_overhead, pair, lambda: (pair(0), pair(0)), 1)
expect("one round is measured after one that warms up", once, 2.0, rel=1e-6)
# viva: c = doubles.Clock(); a, b = [doubles.Model(c, ms=[n]) for n in (4.0, 5.0)];
#     c.run(profiling_overhead, a, b, 3)
# viva: c = doubles.Clock(); a, b = [doubles.Model(c, ms=[n, 6.0, 9.0]) for n in (1, 3)];
#     c.run(profiling_overhead, a, b, 2)
# viva: c = doubles.Clock(); a, b = [doubles.Model(c, ms=[n, 8.0]) for n in (2, 5)];
#     c.run(profiling_overhead, a, b, 1)
# viva: c = doubles.Clock(); a, b = [doubles.Model(c, ms=[n, 8.0, 1]) for n in (2, 5)];
#     c.run(profiling_overhead, a, b)
# viva: c = doubles.Clock(); a = doubles.Model(c, ms=[2.0]); c.run(profiling_overhead, a, a, 4);
#     a.calls
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_profiling_overhead_2", "locked": true, "points": 3.5, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
slower = doubles.Model(clock, ms=100 + np.arange(10))  # 100, 101, 102, … ms
turns = clock.run(profiling_overhead, slower, lambda: [slower(0), clock.advance(50)], 4)
expect("by turns, on a machine that gets slower", turns, 156 / 105, rel=1e-7)
pair = doubles.Model(clock, ms=[8.0]), doubles.Model(clock, ms=[9.0])
expect("one round", clock.run(profiling_overhead, *pair, 1), 1.125, rel=1e-6)
again = clock.run(profiling_overhead, pair[0], doubles.Model(clock, ms=[22.0]), 1)
expect("the same program, another profiler", again, 2.75, rel=1e-6)
### BEGIN HIDDEN TESTS
scripted = doubles.Clock()
# vary: 100 in 66..150
# A machine that gets slower and slower, in the order of the calls: 100, 101, 102, … ms
drift = doubles.Model(scripted, ms=100 + np.arange(40))
# vary: 50 in 33..75
slow = scripted.run(profiling_overhead, drift, lambda: [drift(0), scripted.advance(50)], 15)
expect("runs in pairs feel the same drift of the machine", slow, 167 / 116, rel=1e-6)
expect("15 rounds and one that warms up are 32 calls", drift.calls, 32)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_profiling_overhead_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda rounds: profiling_overhead(time.perf_counter, time.perf_counter, rounds),
    ("rounds below 1", [(0,), (-1,)], ValueError),
)
### BEGIN HIDDEN TESTS
scripted = doubles.Clock()
# vary: 2.0 in 1.33..3.0
again = doubles.Model(scripted, ms=[2.0])
once = scripted.run(profiling_overhead, again, again, 1)
expect("one round is enough", once, 1.0, rel=1e-6)
# vary: 2 in 2..9
half = scripted.run(profiling_overhead, lambda: (again(0), again(0)), again, 2)
expect("less than 1 is a result", half, 0.5, rel=1e-6)
### END HIDDEN TESTS

# %% [markdown]
# **Predict.** A pass through 30 layers of 16 × 16: how many times as long does it take under `cProfile`?

# %% tags=["guess"]
guess_overhead = None  # your guess: times as long under cProfile

# %% nbgrader={"grade": false, "grade_id": "demo_overhead", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what three ways of watching cost three programs.
ways = {"recorder": rows_of, "cProfile": cProfile.Profile().runcall, "sampler": demos.sampled}
ratios = demos.compare_ways(ways, calibrate, profiling_overhead)
tiny = demos.tell_ratios(ratios)["30 tiny layers", "cProfile"]
guesses.compare("times as long under cProfile", guess_overhead, tiny)
demos.overheads(ratios, guess=("30 tiny layers", "cProfile", guess_overhead))

# %% [markdown]
# Each ratio was measured five times: a difference smaller than that spread is none.
#
# - **Instrument** (your recorder, `torch.profiler`) to know every op, with its shapes. It costs some microseconds an op, little if ops are large.
# - **Trace Python** (`cProfile`) to find which function it is. The more calls a program makes, the less its times mean.
# - **Sample** (py-spy, perf, Scalene) to leave the program alone: look from time to time which function is running. What takes long is seen often, what is rare perhaps never, and calls are not counted.
#
# How long must a sampler look?
# If a function has a share p of the time, each sample shows it with probability p, and of n samples the share that shows it lies within ±1.96·√(p·(1 − p) / n) of p in 95 of 100 runs.
# For p = 0.2 and 25 samples that is ±0.157: anything from 4 % to 36 %.
# Half the error takes four times as many samples.


# %% nbgrader={"grade": false, "grade_id": "samples_needed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def samples_needed(share, error):
    """Return how many samples find a function's share of the time within ±error in 95 of 100 runs.

    >>> samples_needed(0.2, 0.05)
    246

    It is the least n with 1.96·√(share·(1 − share) / n) ≤ error, an int. share, error: floats, of
    the whole time; samples are independent.
    Raises ValueError unless both are above 0 and below 1.
    """
    ### BEGIN SOLUTION
    if not (0 < share < 1 and 0 < error < 1):
        raise ValueError(f"a share of {share} within ±{error}: both lie between 0 and 1")
    return math.ceil(share * (1 - share) * (1.96 / error) ** 2)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_samples_needed", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    samples_needed,
    (
        "5 % of the time, within 1 point",
        (0.05, 0.01),
        1825,
        {"the error is a part of the share": 729_904, "the root is left out": 10},
    ),
    ("within half a point: four times as many", (0.05, 0.005), 7300),
    ("1 % within a tenth of a point", (0.01, 0.001), 38_032),
    ("one half, within 3 points", (0.5, 0.03), 1068),
    ("what is not in it is as hard to tell", (0.95, 0.01), 1825),
    (
        "256 hit the error exactly, and are enough",
        (0.5, 0.06125),
        256,
        {"257 are not the least": 257},
    ),
    ("roughly: one is enough", (0.01, 0.5), 1),
)
### BEGIN HIDDEN TESTS
expect_table(
    samples_needed,
    ("a third, within 2 points", (1 / 3, 0.02), 2135),
    ("two thirds take as many as a third", (2 / 3, 0.02), 2135),
    # vary: 0.001 in 6.67e-4..0.0015, 0.01 in 0.00667..0.015
    ("a rare function takes few samples for a wide interval", (0.001, 0.01), 39),
    ("a tenth of the error takes a hundred times as many", (0.001, 0.001), 3838),
    # vary: 0.3 in 0.2..0.45, 0.07 in 0.0467..0.105
    ("the number is rounded up, never down", (0.3, 0.07), 165),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_samples_needed_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    samples_needed,
    (
        "no share, the whole time; whatever else is refused",
        [(0, 0.1), (1, 0.1), (-0.1, 0.1), (1.1, 0.1), (0.1, 0), (0.1, 1), (0.1, -0.1)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 0.004 in 0.00267..0.006, 5e-4 in 3.33e-4..7.5e-4
expect("a share and an error near 0 are fine", samples_needed(0.004, 0.0005), 61_220)
# vary: 0.996 in 0.99..0.998, 0.02 in 0.0133..0.03
expect("a share near 1 is fine", samples_needed(0.996, 0.02), 39)
### END HIDDEN TESTS

# %% [markdown]
# And are the samples independent?
# The sampler here is a thread, and only the thread that holds Python's *interpreter lock* runs: a loop in Python holds the lock, a matrix product gives it away.
#
# **Predict.** A program spends one half of its time in a Python loop, the other in matrix products.
# What percentage of the samples shows the loop?

# %% tags=["guess"]
guess_samples = None  # your guess: percent of the samples that show the loop

# %% nbgrader={"grade": false, "grade_id": "demo_sampler", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Counts how often a sampler sees each half of such a program.
part = demos.samples_of_the_loop()
guesses.compare("samples that show the loop", guess_samples, part, unit="%")

# %% [markdown]
# The sampler waits for the lock, and sees least of what holds it longest.
# [py-spy](https://github.com/benfred/py-spy) looks from another process and needs no lock.
#
# ### In torch
#
# ```python
# import torch
#
# model, x = torch.nn.Linear(512, 512), torch.randn(64, 512)
# with torch.profiler.profile(record_shapes=True) as prof:
#     model(x).sum().backward()
# print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))
# ```
#
# [`torch.profiler`](https://docs.pytorch.org/docs/stable/profiler.html) shows your two times for every op, `Self CPU` and `CPU total`, and `prof.export_chrome_trace("trace.json")` writes the format of section 5.
# It hides the bytes that an op moves, and its own cost.
#
# ## 8 · Put it together
#
# Now all that you wrote in lessons 01 to 05, on one model:
#
# | key | of a linear layer from 256 to 128, 32 rows, on a machine | yours, of lesson |
# |---|---|---|
# | parameters | 32,896 | 01 |
# | flops | 2,097,152, of the whole batch | 02 |
# | latency_ms | 0.05, the median | 03 |
# | peak_memory_mb | 0.21 | 04 |
# | gflops_per_second | 41.9: these FLOPs in that time | |
# | bottleneck | `"compute"` | 05 |
#
# Mind the batch: time and memory are those of the whole pass, so its FLOPs must be, too.
# Given: `as_model` makes a model of a bare Tensor, and `work_and_traffic(rows)` adds up all FLOPs, of products and elementwise, and all bytes, read and written.


# %% nbgrader={"grade": false, "grade_id": "profile_forward_pass", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_forward_pass(model, x, hardware, warmup=3, iterations=10):
    """Return what one forward pass, model(x), costs, as a dict.

    >>> profile_forward_pass(nn.Linear(8, 4), Tensor(np.ones((16, 8))), None)["flops"]
    1024

    model: a Module, or a bare Tensor, which counts as in lessons 01 and 02 and runs as
        as_model(tensor). x: its input, a Tensor, batch first. hardware: a Hardware, or None.
    parameters, flops: as count_parameters and count_flops count, for the whole of x. latency_ms,
        peak_memory_mb: as measure_latency (with this warmup and these iterations) and
        measure_memory measure. gflops_per_second: float, 10⁹ of these FLOPs a second.
    bottleneck: find_bottleneck of all FLOPs, elementwise ones too, and all bytes, read and written,
        of the pass's ops (record them); None also if nothing moves.
    The model keeps its mode, and its parameters get no gradients. Raises what its parts raise.
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


# %% nbgrader={"grade": true, "grade_id": "test_profile_forward_pass", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
linear = {"matmul_flops": 3_145_728, "elementwise": 6_144, "read": 180_736, "written": 24_576}
relu = {"elementwise": 6_144, "read": 24_576, "written": 24_576}
known = profiled.Before(
    "profile_forward_pass",
    {("linear", "forward"): linear, ("relu", "forward"): relu, ("embedding", "forward"): relu},
    {(3_158_016, 254_464): "compute"},  # what limits all these FLOPs and all these bytes
)
clock, layer, x = doubles.Clock(), nn.Linear(256, 128).eval(), Tensor(np.ones((48, 256)))
layer.bias.requires_grad, machine = False, Hardware(2e11, 2e10)
pace = doubles.Model(clock, ms=[4.0, 4.123457, 4.5, 90.0], cold_ms=[200.0, 90.0])
timed = profiled.Paced(pace, nn.Sequential(layer, nn.ReLU()))  # takes time where x has data
found = clock.run(known, profile_forward_pass, timed, x, machine, warmup=3, iterations=4)
expect("FLOPs of the whole batch", found["flops"], 3_145_728, mistakes={"of one sample": 65_536})
expect(
    "the median of four",
    found["latency_ms"],
    4.3117285,
    rel=1e-7,
    mistakes={"the mean": 25.65586425},
)
expect(
    "10⁹ FLOPs a second",
    found["gflops_per_second"],
    3.145728 / 4.3117285,
    rel=1e-6,
    mistakes={
        "FLOPs of one sample by the time of 48": 0.065536 / 4.3117285,
        "10⁶": 3145.728 / 4.3117285,
    },
)
others = {key: found[key] for key in ("parameters", "peak_memory_mb", "bottleneck")}
expect(
    "what it has, at its peak; what limits it",
    others,
    {"parameters": 32_896, "peak_memory_mb": 0.174, "bottleneck": "compute"},
    abs=3e-3,
)
modes = {"outer": timed.training, "inner": layer.training, "grad": layer.weight.grad}
expect("modes stay, no gradient is left", modes, {"outer": True, "inner": False, "grad": None})
words = nn.Embedding(50, 4), Tensor([[7, 49]])
free = {
    "no machine": known(profile_forward_pass, *words, None, 0, 1)["bottleneck"],
    "a bare Tensor": known(profile_forward_pass, Tensor([1.0]), x, machine, 0, 1)["bottleneck"],
}
expect("nothing is known to limit these", free, {"no machine": None, "a bare Tensor": None})
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

figures = {
    ("linear", "forward"): profiled.facts(matmul_flops=512, elementwise=32, read=416, written=128),
    ("relu", "forward"): profiled.facts(elementwise=32, read=128, written=128),
    ("embedding", "forward"): profiled.facts(read=96, written=64),
    ("warp", "forward"): None,
}
known = profiled.Before(
    "profile_forward_pass", figures, {(1120, 1344): "memory", (0, 160): "memory"}
)
machine = Hardware(2e11, 2e10)
two = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.0), nn.ReLU(), nn.Linear(8, 8))
# vary: 4 in 2..9
few, wide = Tensor(np.ones((4, 8))), Tensor(np.zeros((512, 1024)))
found = known(profile_forward_pass, two, few, Hardware(0.84, 1.0), 0, 1)
expect(
    "the dict has six keys",
    " ".join(sorted(found)),
    "bottleneck flops gflops_per_second latency_ms parameters peak_memory_mb",
)
expect(
    "the bottleneck counts every op: FLOPs of products and others, bytes read and written",
    found["bottleneck"],
    "memory",
)
expect(
    "the model stays in its mode, and no gradients are left",
    [two.training, two[0].weight.grad],
    [True, None],
)
two.eval()
known(profile_forward_pass, two, few, None, 0, 1)
expect("a model in eval stays in eval", two.training, False)
still = known(profile_forward_pass, Tensor(np.ones((4, 8))), few, machine, 0, 1)
words = known(
    profile_forward_pass, nn.Embedding(9, 4), Tensor([[1, 8], [2, 2]]), Hardware(1e9, 1e9), 0, 1
)
seen = columns([still, words], "parameters", "flops", "bottleneck")
expect(
    "a bare Tensor moves nothing; a look-up moves bytes without FLOPs",
    seen,
    [[0, 32, None], [36, 0, "memory"]],
)
alone = known(profile_forward_pass, two, few, None, 0, 1)
expect("without a machine there is no bottleneck", alone["bottleneck"], None)
# vary: 11 in 7..16, 6 in 2..12
other = doubles.Allocating(parameters_mb=1, graph_mb=11, output_mb=6, scratch_mb=0)
top = known(profile_forward_pass, other, wide, None, 0, 1)
expect("peak_memory_mb is the peak of measure_memory", top["peak_memory_mb"], 18.0, rel=0.01)
# vary: 0.02 in 0.0133..0.03, 0.015 in 0.01..0.0225, 0.01 in 0.00667..0.015, 0.06 in 0.04..0.09
greedy = doubles.Allocating(parameters_mb=0.02, graph_mb=0.015, output_mb=0.01, scratch_mb=0.06)
fine = known(profile_forward_pass, greedy, wide, None, 0, 1)
expect("MB are not rounded", fine["peak_memory_mb"], 0.105, abs=0.003)
warped = profiled.Paced(lambda x: None, doubles.unknown_op("warp"))
told = doubles.refuses("warp", known, profile_forward_pass, warped, few, machine)
expect("NotImplementedError of the parts goes on", told, True)
watch = doubles.Clock()
often = doubles.Model(watch, ms=[2.5, 2.5, 30.0], cold_ms=[1000.0])
narrow, x = profiled.Paced(often, nn.Linear(8, 64)), Tensor(np.ones((5, 8)))
known = profiled.Before(
    "profile_forward_pass",
    {
        ("linear", "forward"): profiled.facts(
            matmul_flops=5120, elementwise=320, read=2464, written=1280
        ),
        ("relu", "forward"): profiled.facts(elementwise=40, read=160, written=160),
    },
    {(40, 320): "memory"},
)
default = watch.run(known, profile_forward_pass, narrow, x, None)
times = [default["latency_ms"], default["gflops_per_second"]]
expect("cold calls do not count, and the rate is by the median", times, [2.5, 0.002048], rel=1e-6)
expect("by default 3 calls warm up and 10 are timed", often.calls, 15, abs=1)
twice = doubles.Model(watch, ms=[2.0, 6.5])
even = watch.run(known, profile_forward_pass, profiled.Paced(twice, nn.ReLU()), x, None, 1, 6)
expect(
    "the median of an even number lies between the middle two", even["latency_ms"], 4.25, rel=1e-6
)
# vary: 1e9 in 7e8..1.5e9
relu = known(profile_forward_pass, nn.ReLU(), x, Hardware(1e9, 1e9), 0, 1)
rates = columns([relu], "flops", "gflops_per_second", "bottleneck")
expect("a pass without FLOPs still has a rate and a bottleneck", rates, [[0, 0.0, "memory"]])
expect_table(
    known,
    (
        "no iterations are refused, as by measure_latency",
        [(profile_forward_pass, narrow, x, None, 3, 0)],
        ValueError,
    ),
)
# viva: profile_forward_pass(nn.Linear(8, 4), Tensor(np.ones((16, 8))), None)['flops']
# viva: profile_forward_pass(nn.Linear(8, 4), Tensor(np.ones((16, 8))), None)['parameters']
# viva: profile_forward_pass(nn.Linear(8, 4), Tensor(np.ones((2, 8))), Hardware(2e11,
#     2e10))['bottleneck']
# viva: profile_forward_pass(nn.Linear(9, 5, bias=False), Tensor(np.ones((3, 9))), None, 0,
#     1)['flops']
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "profile_layer", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_layer(layer, input_shape, hardware=None):
    """Return what a forward pass through one layer costs: the dict of profile_forward_pass.

    >>> profile_layer(nn.Linear(8, 4), (16, 8))["flops"]
    1024

    input_shape: batch first, all of it is run; example_input makes the input.
    Raises ValueError for an impossible shape.
    """
    ### BEGIN SOLUTION
    return profile_forward_pass(layer, example_input(layer, input_shape), hardware)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_profile_layer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson.recording import columns

before, machine = profiled.Before("profile_layer"), Hardware(1e12, 1e9, "a card")
through = before(profile_layer, nn.Linear(64, 32), (16, 10, 64), machine)
before(profile_layer, nn.Linear(64, 32), (2, 64))
expect(
    "the pass gets the whole batch, with data, and a machine only if there is one",
    columns(before.passes, "shape", "data", "machine"),
    [[(16, 10, 64), True, "a card"], [(2, 64), True, None]],
)
expect(
    "the dict of profile_forward_pass, unchanged",
    columns([through], "parameters", "flops", "latency_ms", "bottleneck"),
    [[2_080, 10_240_000, 10_240 / 7, "limited by a card"]],
)
expect_table(before, ("no batch", [(profile_layer, nn.Linear(4, 4), (0, 4))], ValueError))
### BEGIN HIDDEN TESTS
before = profiled.Before("profile_layer")
words, window = nn.Embedding(100, 8), nn.Conv2d(4, 8, 3, padding=1, bias=False)
words.input_dtype, words.vocab_size = "int64", 100
look_up = before(profile_layer, words, (2, 5), Hardware(1e12, 1e9, "A"))
convolved = before(profile_layer, window, (2, 4, 6, 6), hardware=Hardware(1e9, 1e12, "B"))
inputs = columns(before.passes, "shape", "dtype", "data", "machine")
expect(
    "example_input makes tokens for an embedding and numbers for a convolution",
    inputs,
    [[(2, 5), "int64", True, "A"], [(2, 4, 6, 6), "float32", True, "B"]],
)
whole = columns([look_up, convolved], "parameters", "latency_ms", "peak_memory_mb", "bottleneck")
expect(
    "what profile_forward_pass returns is handed on",
    whole,
    [[800, 10 / 7, 10 / 3, "limited by A"], [288, 288 / 7, 96.0, "limited by B"]],
)
### END HIDDEN TESTS

# %% [markdown]
# **And back.** Training adds a gradient for each trained parameter, and what the optimizer remembers; lesson 04 calculated these sizes.
# Here you look at the gradients that come out: a parameter that is frozen or unused has none.
#
# **Optional.** `profile_backward_pass` earns no points; `Profiler` uses it.
#
# <details><summary>Hint 1: the model may have gradients from its last step. What happens to them?</summary>
#
# `backward()` would add to every `.grad`.
# Lesson 04's checkpoints used `autograd.grad(y, tensors)`, which returns gradients instead of storing them, and None for a tensor that was not used.
#
# </details><details><summary>Hint 2: the shape of the answer</summary>
#
# An inner function step(x) runs model(x), sums all outputs that require a gradient (`tensors_in` finds them), and returns the gradients.
# Record one call of it, and time it.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "megabyte", "locked": true, "schema_version": 3, "solution": false, "task": false}
from built import optimizer_memory_mb

MB = 1024**2  # bytes, as everywhere in this course


# %% nbgrader={"grade": false, "grade_id": "profile_backward_pass", "locked": false, "schema_version": 3, "solution": true, "task": false}
def profile_backward_pass(model, x, hardware, warmup=1, iterations=5):
    """Return what a forward and a backward pass cost, from the sum of all outputs. (Optional.)

    >>> layer, x = nn.Linear(8, 4, bias=False), Tensor(np.ones((16, 8)))
    >>> profile_backward_pass(layer, x, None)["flops"]
    2048

    model: a Module; its own .grad stay as they are. Others: as for profile_forward_pass.
    forward_memory_mb, gradient_memory_mb, total_memory_mb: measure_memory's peak_memory_mb, the
        size of all gradients that the backward pass gave to parameters (0.0 where it trains
        none, and so has no backward pass), and the sum of the two.
    optimizer_memory_estimates: {"sgd", "momentum", "adam", "adamw": optimizer_memory_mb of it}.
    flops: int, of the products of both passes. latency_ms: float, of both. gflops_per_second,
        bottleneck: of these, as in profile_forward_pass. Raises what its parts raise.
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


# %% nbgrader={"grade": true, "grade_id": "test_profile_backward_pass", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
clock, x = doubles.Clock(), Tensor(np.ones((128, 256)))
fixed, used = nn.Linear(256, 256, bias=False), nn.Linear(256, 1024, bias=False)
fixed.weight.requires_grad = False
pace = doubles.Model(clock, ms=[3.000457, 1.0], cold_ms=[70.0, 80.0])
layers = profiled.Paced(pace, nn.Sequential(fixed, nn.ReLU(), used).eval(), back=True)
machine = Hardware(peak_flops=151.29e6, bandwidth=4.197e6)  # both limit this nearly alike
found = clock.run(profile_backward_pass, layers, x, machine, 4, 9)
expect(
    "FLOPs of both passes",
    found["flops"],
    150_994_944,
    mistakes={"the forward pass alone": 83_886_080},
)
expect(
    "ms of both",
    found["latency_ms"],
    4.000457,
    rel=1e-6,
    mistakes={"forward alone": 3.000457},
)
rates = {key: found[key] for key in ("gflops_per_second", "bottleneck")}
expect(
    "FLOPs of both in the time of both",
    rates,
    {"gflops_per_second": 37.74442369, "bottleneck": "compute"},
    rel=1e-6,
)
expect("4 + 9 steps are timed, each back as well", pace.calls, 30, abs=3)
memory = {key: found[f"{key}_memory_mb"] for key in ("forward", "gradient", "total")}
expect("MB", memory, {"forward": 1.875, "gradient": 1.0, "total": 2.875}, rel=0.01)
some = profiled.Partly().eval()  # some of it is frozen, unused, used twice, in float64
some.used.weight.grad = Tensor(np.ones((256, 256)))
part = profile_backward_pass(some, x, None, 0, 1)
expect("gradients of what was used, at their dtype", part["gradient_memory_mb"], 0.5625)
expect(
    "MB of optimizers, for all that could be trained",
    part["optimizer_memory_estimates"],
    {"sgd": 0.0, "momentum": 1.064453125, "adam": 2.12890625, "adamw": 2.12890625},
)
own = {"grad": some.used.weight.grad.sum().item(), "other": some.head.weight.grad}
own |= {"some": some.training, "layers": layers.training}
plain, batches = nn.Linear(1024, 1024, bias=False), [Tensor(np.ones((n, 1024))) for n in (64, 48)]
own["flops"] = [profile_backward_pass(plain, batch, None, 0, 1)["flops"] for batch in batches]
expect(
    "earlier gradients and modes stay; FLOPs of one model for two batches",
    own,
    {
        "grad": 65_536.0,
        "other": None,
        "some": False,
        "layers": True,
        "flops": [268_435_456, 201_326_592],
    },
)
### BEGIN HIDDEN TESTS
from proflab.lesson.recording import columns

partly = profiled.Partly()  # frozen, unused, used twice, in float64
partly.used.weight.grad = Tensor(np.ones((256, 256)))
deep = profile_backward_pass(partly, Tensor(np.ones((1024, 256))), None, 0, 1)
expect(
    "a gradient is counted once, at its dtype, for parameters that were used",
    deep["gradient_memory_mb"],
    0.5625,
    mistakes={"unused ones count": 1.064453125, "frozen ones count": 0.8125},
)
expect(
    "estimates are those of optimizer_memory_mb",
    deep["optimizer_memory_estimates"]["momentum"],
    1.064453125,
)
expect("without a machine there is no bottleneck", deep["bottleneck"], None)
own = [partly.used.weight.grad.sum().item(), partly.head.weight.grad]
expect("the model's own gradients are neither changed nor added", own, [65_536.0, None])
known = profiled.Before(
    "profile_backward_pass",
    {("linear", "forward"): profiled.facts(matmul_flops=256, elementwise=16, read=352, written=64)},
    {(272, 416): "memory"},
)
frozen = nn.Linear(8, 8)
frozen.weight.requires_grad = frozen.bias.requires_grad = False
still = known(profile_backward_pass, nn.ReLU(), Tensor(np.ones((2, 8))), None, 0, 1)
expect("nothing to train has no gradients", [still["gradient_memory_mb"], still["flops"]], [0.0, 0])
alone = known(profile_backward_pass, frozen, Tensor(np.ones((2, 8))), Hardware(1e15, 1.0), 0, 1)
expect(
    "a model that is frozen as a whole has a forward pass alone",
    columns([alone], "gradient_memory_mb", "flops", "bottleneck"),
    [[0.0, 256, "memory"]],
)
# vary: 1024 in 682..1_536
pair = nn.Sequential(nn.Linear(512, 1024, bias=False), nn.ReLU())
# vary: 256 in 170..384
whole = known(profile_backward_pass, pair, Tensor(np.ones((256, 512))), None, 0, 1)
parts = [whole["forward_memory_mb"], whole["gradient_memory_mb"], whole["total_memory_mb"]]
expect("forward at its peak, the gradients, and their sum", parts, [4.0, 2.0, 6.0], rel=0.01)
figures = {
    ("linear", "forward"): profiled.facts(matmul_flops=1536, elementwise=48, read=928, written=192),
    ("linear", "backward"): profiled.facts(
        matmul_flops=1536, elementwise=48, read=388, written=544
    ),
}
known = profiled.Before("profile_backward_pass", figures, {(3168, 2052): "memory"})
watch = doubles.Clock()
often = doubles.Model(watch, ms=[2.0, 4.0])
paced = profiled.Paced(often, nn.Linear(16, 8), back=True)
default = watch.run(
    known, profile_backward_pass, paced, Tensor(np.ones((6, 16))), Hardware(1.55, 1.0)
)
expect("the bottleneck is that of both passes together", default["bottleneck"], "memory")
expect("by default 1 call warms up and 5 are timed", often.calls, 17, abs=3)
# viva: profile_backward_pass(nn.Linear(8, 4, bias=False), Tensor(np.ones((16, 8))), None)['flops']
# viva: profile_backward_pass(nn.Linear(9, 4), Tensor(np.ones((2, 9))),
#     None)['gradient_memory_mb'] * MB
# viva: profile_backward_pass(nn.Linear(8, 4), Tensor(np.ones((2, 8))),
#     None)['optimizer_memory_estimates']['adam'] * MB
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "compare_architectures", "locked": false, "schema_version": 3, "solution": true, "task": false}
def compare_architectures(models, inputs):
    """Return what a forward pass of each model costs: a row each, in the order of `models`.

    >>> compare_architectures({"fc": nn.Linear(8, 4)}, {"fc": (16, 8)})[0]["flops"]
    1024

    models: a dict from names to Modules. inputs: one with the same names, of what example_input
        takes.
    A row is a dict with name, and from profile_forward_pass, without a machine, parameters, flops,
    latency_ms, peak_memory_mb and gflops_per_second.
    Raises ValueError if there are no models, or if the names of the two dicts differ.
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
from proflab.lesson.recording import columns

words, x = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 3)).eval(), (2, 3)
words.input_dtype, words.vocab_size, words[1].bias.requires_grad = "int64", 50, False
given = {"b": nn.Linear(64, 32), "a": nn.ReLU(), "words": words}
before = profiled.Before("compare_architectures")
shapes = {"words": (2, 7), "a": (2, 3, 8), "b": (16, 64)}
compared = before(compare_architectures, given, shapes)
expect(
    "in the order of the models, each with its input",
    columns(compared, "name", "flops"),
    [["b", 1_024_000], ["a", 48_000], ["words", 14_000]],
)
expect(
    "with data, without a machine",
    sorted(columns(before.passes, "dtype", "data", "machine")),
    [["float32", True, None], ["float32", True, None], ["int64", True, None]],
)
figures = columns(compared, "parameters", "latency_ms", "peak_memory_mb", "gflops_per_second")
expect(
    "the figures of profile_forward_pass",
    figures,
    [[2_080, 1024 / 7, 1024 / 3, 0.007], [0, 48 / 7, 16.0, 0.007], [427, 2.0, 14 / 3, 0.007]],
)
again = before(compare_architectures, given, {"words": (2, 7), "a": (2, 4), "b": (16, 64)})
expect(
    "keys; the same models with another input",
    [" ".join(sorted(compared[0])), *columns(again, "flops")],
    [
        "flops gflops_per_second latency_ms name parameters peak_memory_mb",
        [1_024_000],
        [8_000],
        [14_000],
    ],
)
expect("the modes stay", [given["a"].training, words.training], [True, False])
expect("the inputs stay", shapes, {"words": (2, 7), "a": (2, 3, 8), "b": (16, 64)})
a, b = {"a": nn.ReLU()}, {"b": nn.ReLU()}
expect_table(
    lambda models, inputs: before(compare_architectures, models, inputs),
    (
        "no models; another name; one too many, one too few",
        [({}, {}), (a, {"b": x}), (a, {"a": x, "b": x}), (a | b, {"a": x})],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 512 in 341..768
before, linear, relu = profiled.Before("compare_architectures"), nn.Linear(256, 512), nn.ReLU()
several = {"slow": linear, "fast": relu}
shapes = {"fast": (4, 8), "slow": Tensor(np.ones((1024, 256)))}
found = before(compare_architectures, several, shapes)
expect(
    "an input may be a Tensor, which is run as it is",
    columns(before.passes, "shape", "data"),
    [[(1024, 256), True], [(4, 8), True]],
)
expect(
    "each row has the time of its own model",
    columns(found, "name", "latency_ms"),
    [["slow", 262_144 / 7], ["fast", 32 / 7]],
)
expect(
    "each row has the memory of its own model",
    column(found, "peak_memory_mb"),
    [262_144 / 3, 32 / 3],
)
expect("frozen or not, parameters count", column(found, "parameters"), [131_584, 0])
expect("a model's mode stays as it was", relu.training, True)
c, d, shape = {"c": relu}, {"d": relu}, (2, 3)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "profiler", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Profiler(OpRecorder):
    """Lessons 01 to 05 in one object; `with Profiler() as profiler:` records what runs inside."""

    count_parameters, count_flops = staticmethod(count_parameters), staticmethod(count_flops)
    measure_memory = staticmethod(
        lambda model, input_shape: measure_memory(as_model(model), input_shape)
    )

    def __init__(self, hardware=None):
        super().__init__()
        self.hardware = hardware

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


# %% nbgrader={"grade": false, "grade_id": "quick_profile", "locked": true, "schema_version": 3, "solution": false, "task": false}
def quick_profile(model, x, hardware=None):
    """Print what one forward pass costs and where its time goes; return the dict of it."""
    found = profile_forward_pass(model, x, hardware, warmup=1, iterations=5)
    print(f"{found['parameters']:,} parameters, {found['flops']:,} FLOPs,", end=" ")
    print(f"{found['latency_ms']:.3f} ms, {found['gflops_per_second']:.3f} GFLOP/s,")
    print(f"{found['peak_memory_mb']:.2f} MB at the peak,", end=" ")
    limit = hardware and f"limited by {found['bottleneck']} on {hardware.name}"
    print(limit or "no verdict on what limits it: measure the machine's roofs (lesson 06)")
    print_top_operations(rows_of(lambda: as_model(model)(x)))
    return found


def profile(function):
    """Print at each call of a function, `@profile` above it, where its time went; keep .rows."""

    @functools.wraps(function)
    def watched(*args, **options):
        with OpRecorder() as recorder:
            result = function(*args, **options)
        watched.rows = recorder.rows
        print(f"{function.__name__}: {sum(column(watched.rows, 'self_ms')):.2f} ms", end="; ")
        print_top_operations(watched.rows)
        return result

    return watched


# %% nbgrader={"grade": false, "grade_id": "demo_profiler", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Profiles a vision transformer (ViT-Ti/16), and draws one step with its data.
demos.show_load()
vit, image = demos.vision_transformer()
found = quick_profile(vit, image, demos.machines()[0])
profile(lambda: vit(image).mean().backward())()
with Profiler() as profiler:
    with region("making data"):
        images = [np.random.default_rng(i).random((3, 224, 224)) for i in range(8)]
    vit(Tensor(np.stack(images[:1])))
profiler.print_top_operations(4)
demos.timeline(profiler.rows, title="ViT-Ti/16 and its data")

# %% nbgrader={"grade": false, "grade_id": "demo_architectures", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints an MLP, ResNet-18 and GPT-2 small side by side.
three, shapes = demos.three_architectures()
with no_grad():
    table = compare_architectures(three, shapes)
demos.print_architectures(table)

# %% [markdown]
# Attention between tokens (all of an attention module but its linear layers) grows with the square of the text's length, everything else with the length itself.
#
# **Predict.** At 2,048 tokens attention has 31 % of a block's FLOPs.
# What percentage of its time?
# Think of ops that have next to no FLOPs.

# %% tags=["guess"]
guess_attention = None  # your guess: percent of the block's time

# %% nbgrader={"grade": false, "grade_id": "demo_attention", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the part of a block that is attention, of its FLOPs and of its time.
demos.show_load()
predicted, measured = demos.attention_shares(rows_of)  # on meta tensors, and with data
for n in measured:
    print(f"{n:>5} tokens: {predicted[n]:6.1%} of the FLOPs, {measured[n]:6.1%} of the time")
guesses.compare("time between tokens", guess_attention, 100 * measured[n], unit="%")
demos.attention_curves(predicted, measured, guess_attention)

# %% [markdown]
# Where the two curves part, FLOPs do not tell the time: scores are scaled, masked, exponentiated and multiplied, one op after the other, and each time all of them go to memory and come back.
# *Fused* attention, one op for all of this, saves the trips.
#
# Take it with you: in the folder of the course, `proflab assemble release -o my_profiler_alone.py --standalone` makes one file of all that you wrote, with the engine inside.
# It needs numpy alone.
#
# ## Summary
#
# - Everything that a model does passes one point. A hook there that reads the clock twice and writes a row is a profiler. <!-- with record -->
# - A row has two times, its own and that with what ran inside; only its own can be added up. Its bytes are *unique bytes*, the least that moves. <!-- with self_times -->
# - FLOPs over peak, bytes over bandwidth: the longer of these times names the bottleneck. A layer reads its weights once for all rows, so that enough rows make calculation the limit. <!-- with find_bottleneck -->
# - Watching costs. Say how much, with a spread; half the error of a sampler takes four times as long. <!-- with profiling_overhead -->
#
# | what you see | what limits | what you do |
# |---|---|---|
# | most time in ops with many FLOPs a byte | calculation | fewer or smaller products, a smaller dtype | <!-- with find_bottleneck -->
# | most time in ops with few FLOPs a byte | memory | larger batches, fused ops, a smaller dtype | <!-- with find_bottleneck -->
# | white between thousands of short ops | Python | fewer and larger ops, a compiler | <!-- with record -->
# | a wide region without ops | files or Python | `cProfile` to find it; load in advance, in another process | <!-- with section 7 -->
#
# **Next.** Which ops wait for memory, and which for the processor? <!-- with lesson 06, without essay -->
# In lesson 06 you measure what your machine can do, and draw every row of your recorder below it. <!-- with lesson 06, without essay -->
#
# ## Reflect
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to measure).
# A report says: "We ran our model, 60 tiny layers with Python code between them, under cProfile.
# A request takes 48 ms.
# The function `product`, which calls the matrix product, has a tottime of 41 %; it was called 900,000 times in 1,000 requests.
# A library that multiplies twice as fast will therefore save a fifth of the time."
#
# 1. How much would be saved if all figures held? Why do they not hold without `cProfile`, and in which direction are they off for a function that is called so often?
# 2. Measure it: use `profiling_overhead`, a model of many tiny layers, and two ways of watching. Say what you ran, and give the numbers with their spread.
# 3. Which profiler would you have used, and what would it not have shown?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_profiler", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# The numbers of items 7 and 8 are the student's own.
#
# - *1 point:* If all figures held: 20.5 % of 48 ms, 9.8 ms.
# - *1 point:* `cProfile` adds about the same time to each call and return, so what is called often (900 times a request) looks larger.
# - *1 point:* The 48 ms are the watched program's, too.
# - *1 point:* `product`'s tottime is not all multiplication: its own lines and `cProfile`'s share are in it.
# - *1 point:* The measured model is described: layers and sizes.
# - *1 point:* Paired rounds, and how many (`profiling_overhead`).
# - *1 point:* Two ratios, from cells (as `demo_overhead` and `demo_sampler`).
# - *1 point:* Their spread: repeated, or an interval.
# - *1 point:* A choice with a reason: a sampler, or the recorder with a bare timing beside it.
# - *1 point:* What that does not show: counts of calls, short functions, or Python between ops.
#
# **A good answer (10).** “The recorder 1.9, 1.8 and 2.0 in three series of 11 rounds, the sampler 1.01 to 1.03”, with the model and both reasons.
#
# **A poor answer (2: items 2 and 9).** “cProfile adds time to each call, so the real saving is less, maybe 5 ms. I would use a sampler, because it has only 2 % overhead.”
# (Quoted, not measured.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can record any model, and say where its time goes.
(
    lambda rows, top: (
        f"Three small blocks of GPT-2, forward and backward: {len(rows)} ops, of whose"
        f" {sum(column(rows, 'self_ms')):.1f} ms {top['share']:.0%} are {top['name']}."
        " `proflab assemble release --standalone -o my_profiler.py` makes a file of your profiler."
    )
)(
    *(lambda rows: (rows, top_operations(rows, 1)[0]))(
        (lambda gpt2, text: rows_of(lambda: gpt2(text).mean().backward()))(
            models.GPT2(256, 64, 192, 3, 3), Tensor([list(range(64))])
        )
    )
)

# %% [markdown]
# **Next.** "Limited by memory" is a claim, made with roofs that somebody else measured.
# In lesson 06 you measure your own, and draw every row of your recorder below them.
