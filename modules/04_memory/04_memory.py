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
# # 04 · Where do the bytes go?
#
# ![Five models as bars of one length, each divided into parameters, gradients, the optimizer's state and activations. Activations are most of LeNet-5, ResNet-18 and ViT-Ti, a quarter of GPT-2 small and next to nothing of GPT-2 XL, where the optimizer's state is half.](bytes.png)
#
# At the end of this lesson you draw this picture of a training step, and can account for every byte in it, for models that do not fit on your computer.
#
# **You will be able to**
#
# - measure what a piece of code allocates, at its peak and for good;
# - count what a model keeps for its backward pass, to the byte, without running it;
# - say what training takes: parameters, gradients, optimizer state, activations;
# - find a leak and name the function that makes it;
# - trade memory for work by checkpointing, and measure both sides of the trade.
#
# **You need** lessons 01 and 02. What you wrote there is imported from `built`.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import gc
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
from built import count_parameters, meta_inputs, parameter_memory_mb, training_flops
from tqdm.auto import tqdm

import proflab
from proflab import Function, Tensor, autograd, dispatch, example_input, meta, models, nn, optim
from proflab.lesson import doubles, expect, expect_between, expect_raises, plot, plot_memory
from proflab.lesson.demo import demo_size
from proflab.lesson.inputs import real_inputs
from proflab.lesson.moments import BothMeters, Timeline, state_bytes, storages_mb, training_step
from proflab.lesson.segments import best_segment, segment_lengths
from proflab.lesson.show_memory import print_leaks, print_passes, print_saved, table
from proflab.lesson.tracebacks import own_function

MB = 1024**2  # bytes, as everywhere in this course

# %% [markdown]
# ## 1 · A meter
#
# `tracemalloc`, of Python's standard library, writes down each block of memory that Python or numpy asks for, from `tracemalloc.start()` to `tracemalloc.stop()`. `tracemalloc.get_traced_memory()` returns two numbers of bytes: what is allocated now, of all that was allocated since the start, and the *peak*, the most that it ever was. It counts, it does not estimate: run the same program again, and it has the same peak.
#
# Two things are awkward about it. There is one peak for the whole program: `tracemalloc.reset_peak()` brings it down to what is allocated now, for everybody who measures. And whoever calls `stop` ends it for everybody. A meter that may be used inside another has to mind both.
#
# **Predict.** `a` has 8 MB. What is the peak of `b = 2 * a; b = b + 1`, not counting `a`, and what is left after it? What is the peak with `b += 1` instead? *Your prediction:*
#
# **Write** `start` and `stop`. `running` is the list of the trackers that are measuring at the moment, one for all of them: before you lower the peak, tell them what it was.


# %% nbgrader={"grade": false, "grade_id": "MemoryTracker", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MemoryTracker:
    """Measures what a block of code allocates: `with MemoryTracker() as tracker: …`.

    peak_mb: the most that was allocated at one time, over what was there at the start.
    current_mb: what is allocated at the end, over what was there at the start; negative where more
        was freed. Both are floats in MB of 1024² bytes, not rounded, and there after `stop`.
    Trackers may be nested, the inner one ends first: each finds what it would find alone. They may
    be used again. Tracing goes on afterwards if it was on before, and is off if it was off.
    frames: how much of the call stack tracemalloc writes down with each block.
    """

    running = []  # the trackers that have been started and not yet stopped, the outermost first

    def __init__(self, frames=1):
        self.frames = frames

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Begin to measure; start tracing, with `frames`, where it is off."""
        ### BEGIN SOLUTION
        self.started = not tracemalloc.is_tracing()
        if self.started:
            tracemalloc.start(self.frames)
        self.before, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        tracemalloc.reset_peak()
        self.peak = self.before
        self.running.append(self)
        ### END SOLUTION

    def stop(self):
        """Stop measuring: set peak_mb and current_mb, and stop tracing if this one started it."""
        ### BEGIN SOLUTION
        current, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        self.running.remove(self)
        if self.started:
            tracemalloc.stop()
        self.peak_mb = (self.peak - self.before) / MB
        self.current_mb = (current - self.before) / MB
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_MemoryTracker", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
with MemoryTracker() as tracker:
    kept, spare = np.empty(3 * MB, np.uint8), np.empty(5 * MB, np.uint8)
    del spare
expect("the peak", tracker.peak_mb, 8.0, rel=0.01)
expect("what is left", tracker.current_mb, 3.0, rel=0.01)
expect("tracing is off again", tracemalloc.is_tracing(), False)
with tracker:
    less = np.empty(4700, np.uint8)
again = [tracker.peak_mb, tracker.current_mb]
expect("used again, for 4,700 bytes", again, [4700 / 1024**2] * 2, abs=0.0004)
tracemalloc.start()
earlier, spike = np.empty(6 * MB, np.uint8), np.empty(7 * MB, np.uint8)
del spike
with tracker:
    more = np.empty(1 * MB, np.uint8)
    del earlier
still = tracemalloc.is_tracing()
tracemalloc.stop()
expect("over the start", [tracker.peak_mb, tracker.current_mb], [1.0, -5.0], rel=0.01)
expect("tracing that was on stays on", still, True)
### BEGIN HIDDEN TESTS
tracker.start()
several = [doubles.block(2.25) for _ in range(6)][:2]
tracker.stop()
expect("used for the fourth time", [tracker.peak_mb, tracker.current_mb], [13.5, 4.5], rel=0.01)
tracemalloc.start()
earlier, spike = doubles.block(20), doubles.block(30)
del spike
with MemoryTracker() as late:
    more = doubles.block(4)
with MemoryTracker() as freeing:
    del earlier
on = tracemalloc.is_tracing()
tracemalloc.stop()
expect("over a later start", [late.peak_mb, late.current_mb], [4.0, 4.0], rel=0.01)
expect("tracing stays on after two", on, True)
expect("more is freed", [freeing.peak_mb, freeing.current_mb], [0.0, -20.0], abs=0.05)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_MemoryTracker_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
with MemoryTracker() as outer:
    large = np.empty(9 * MB, np.uint8)
    del large
    with MemoryTracker() as inner:
        small = np.empty(2 * MB, np.uint8)
expect("outer peak", outer.peak_mb, 9.0, rel=0.01, mistakes={"the inner one has lowered it": 2.0})
rest = [inner.peak_mb, inner.current_mb, outer.current_mb]
expect("the inner one, and what is left", rest, [2.0, 2.0, 2.0], rel=0.01)
expect("nobody is running", len(MemoryTracker.running), 0)
expect_raises("errors", lambda: doubles.failing(MemoryTracker(), doubles.block), KeyError)
expect("and tracing is off", tracemalloc.is_tracing(), False)
with MemoryTracker(frames=3):
    frames = tracemalloc.get_traceback_limit()
expect("frames", frames, 3)
### BEGIN HIDDEN TESTS
with MemoryTracker() as first:
    base = doubles.block(5)
    with MemoryTracker() as second:
        doubles.block(6)
        with MemoryTracker() as third:
            doubles.block(10)
        with MemoryTracker() as fourth:
            doubles.block(3)
    doubles.block(4)
    with MemoryTracker():
        pass
peaks = [tracker.peak_mb for tracker in (first, second, third, fourth)]
expect("four of them", peaks, [15.0, 10.0, 10.0, 3.0], rel=0.01)
raised = False
try:
    with MemoryTracker() as failing:
        doubles.block(7)
        with MemoryTracker():
            raise KeyError("on purpose")
except KeyError:
    raised = True
expect("an error in two of them", [raised, tracemalloc.is_tracing()], [True, False])
expect("and the peak is known", failing.peak_mb, 7.0, rel=0.01)
with MemoryTracker(frames=7):
    depth = tracemalloc.get_traceback_limit(), len(MemoryTracker.running) < 2
expect("more frames, and nobody else is running", depth, (7, True))
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_tracker", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
def traced(expression):
    a = np.zeros(MB, np.float64)  # 8 MB, allocated before the tracker starts
    with MemoryTracker() as tracker:
        exec(expression, {"np": np}, {"a": a})
    return tracker.peak_mb


codes = ["b = 2 * a; b = b + 1", "b = 2 * a; b += 1", "b = 2 * a + 1", "a *= 2; a += 1"]
codes += ["b = a.astype(np.float32)", "b = a[::2]", "b = a[::2] + 1"]
peaks, unit = {code: traced(code) for code in codes}, "MB at the peak, beside the 8 MB of a"
plot.bars(peaks, unit=unit, title="What an expression needs", show="{:.1f}".format)

# %% [markdown]
# An operation writes its result into new memory, while what it is made of is still there. `+=` writes into the old, and so does numpy where it sees that nobody else holds it, as may happen in `2 * a + 1`. A view, `a[::2]`, is no memory at all. A peak is about what exists *at the same time*, not about what is left.
#
# ## 2 · A forward pass
#
# What does one forward pass allocate? Some of it stays: the output, and what the model keeps for the backward pass, for as long as somebody holds the output. Some goes before the pass has ended, but was there at the peak.
#
# **Predict.** Linear(256, 2048), ReLU, Linear(2048, 256), on 256 rows of float32. A result of 2,048 columns has 2 MB. How much is left after the pass, and how much was there at the peak? *Your prediction:*
#
# `real_inputs(model, input_shape)` makes a model's inputs, with data, as a tuple.


# %% nbgrader={"grade": false, "grade_id": "measure_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_memory(model, input_shape):
    """What one forward pass of a model takes, measured.

    model: a Module with data; it is called once, as it is. input_shape: batch first, counted in
        full; or whatever else example_input takes. The input is not counted.
    Returns a dict of floats, not rounded, in MB of 1024² bytes but for the last:
        parameter_memory_mb: all of the model's parameters (lesson 01)
        activation_memory_mb: what is allocated after the pass, over what was allocated before it,
            while its output is held, and by it the graph for backward
        peak_memory_mb: the parameters, and the most that was allocated during the pass, over what
            was allocated before it
        memory_efficiency: parameters and activations, divided by the peak
    Raises ValueError for what is no model, and for what is no shape.
    """
    ### BEGIN SOLUTION
    parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
    with MemoryTracker() as tracker:
        output = model(*inputs)  # noqa: F841  held while it is measured
    peak = parameters + tracker.peak_mb
    return {
        "parameter_memory_mb": parameters,
        "activation_memory_mb": tracker.current_mb,
        "peak_memory_mb": peak,
        "memory_efficiency": (parameters + tracker.current_mb) / peak,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_measure_memory", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
model = doubles.Allocating(parameters_mb=4, graph_mb=3, output_mb=2, scratch_mb=7)
found = measure_memory(model, (512, 1024))
expect("parameters", found["parameter_memory_mb"], 4.0)
expect(
    "what is left",
    found["activation_memory_mb"],
    5.0,
    abs=0.05,
    mistakes={"the output is not held": 0.0, "no graph is made": 2.0, "the input counts": 7.0},
)
peak = found["peak_memory_mb"]
expect("the peak", peak, 16.0, rel=0.01, mistakes={"parameters are missing": 12.0})
expect("efficiency", found["memory_efficiency"], 9 / 16, rel=0.01)
expect("one pass, of this shape", model.shapes, [(512, 1024)])
few = doubles.Allocating(parameters_mb=0.125, graph_mb=0.25, output_mb=0.255, scratch_mb=40)
found = measure_memory(few, (3, 3))
small = [found[f"{name}_memory_mb"] for name in ("parameter", "activation")]
expect("exact to a few KB", small, [0.125, 0.505], rel=0.006)
expect("a small efficiency", found["memory_efficiency"], 0.63 / 40.63, rel=0.01)
mlp = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 256))
found = measure_memory(mlp, (256, 256))
expect("ReLU's result, and the output", found["activation_memory_mb"], 2.25, rel=0.01)
### BEGIN HIDDEN TESTS
both = 4 + 1_050_880 * 4 / 1024**2  # the parameters, and 4 MB
expect("both of ReLU's sides at once", found["peak_memory_mb"] / both, 1.0, rel=0.005)
found = measure_memory(doubles.Allocating(parameters_mb=1, graph_mb=11, output_mb=6), (8, 8))
rest = [found["activation_memory_mb"], found["peak_memory_mb"], found["memory_efficiency"]]
expect("nothing that goes again", rest, [17.0, 18.0, 1.0], rel=0.01)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_memory_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
tracemalloc.start()
ballast = doubles.block(40)
del ballast
model = doubles.Allocating(parameters_mb=2, graph_mb=4, output_mb=3, scratch_mb=5)
found = measure_memory(model, (256, 256))
tracing = tracemalloc.is_tracing()
tracemalloc.stop()
expect("not what was before", found["peak_memory_mb"], 14.0, rel=0.01)
expect("tracing that was on stays on", tracing, True)
masked = nn.Sequential(nn.Linear(511, 1024), nn.Dropout(0.5))
masked[0].weight.requires_grad = False
found = measure_memory(masked, (1024, 511))
expect("frozen, as large", found["parameter_memory_mb"], 2.0)
expect("with a mask, in training", found["activation_memory_mb"], 5.0, rel=0.01)
expect("its mode, and no tracing", [masked.training, tracemalloc.is_tracing()], [True, False])
expect_raises("no model", lambda: measure_memory((3, 4), (3, 4)), ValueError)
expect_raises("a batch of 0", lambda: measure_memory(nn.Linear(4, 4), (0, 4)), ValueError)
### BEGIN HIDDEN TESTS
expect("in eval", measure_memory(masked.eval(), (1024, 511))["activation_memory_mb"], 4.0, rel=0.01)
expect("which it stays in", masked.training, False)
tokens = nn.Sequential(nn.Embedding(1000, 256), nn.Linear(256, 512))
tokens.input_dtype, tokens.vocab_size = "int64", 1000
expect("tokens", measure_memory(tokens, (2, 512))["activation_memory_mb"], 3.0, rel=0.01)
found = measure_memory(doubles.SumOfTwo(16, 1024), ((256, 16), (256, 1024)))
expect("two inputs, a dict", found["activation_memory_mb"], 1.0, rel=0.01)
expect_raises("no shape", lambda: measure_memory(nn.Linear(4, 4), (2.5, 4)), ValueError)
expect("tracing is off in the end", tracemalloc.is_tracing(), False)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_measure", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
shown = {
    "LeNet-5": (models.LeNet5(), (64, 1, 32, 32)),
    "MLP": (models.MLP(784, 256, 10), (64, 784)),
    "ResNet-18": (models.resnet18(), demo_size(full=(4, 3, 224, 224), small=(2, 3, 32, 32))),
    "ViT-Ti/16": (models.vit_tiny16(), demo_size(full=(4, 3, 224, 224), small=(1, 3, 224, 224))),
}
rows = {}
for name, (model, shape) in tqdm(shown.items(), leave=False, disable=None):
    rows[f"{name}, batch {shape[0]}"] = measure_memory(model, shape)
print_passes(rows)

# %% [markdown]
# What is left grows with the batch, parameters do not. A convolution copies the windows of its input into a matrix to multiply it fast: that goes again, and is why a peak is higher than what is left.
#
# ## 3 · What is kept for the way back
#
# The gradient of y = x Wᵀ with respect to W is made of x: so the layer must keep x until the backward pass comes. A ReLU must know where its result was 0, a softmax needs its result, a normalization its input and two numbers a row; a sum needs nothing. These are the *saved activations*: not what the layers compute, but what their derivatives will read.
#
# ![A row of five operations: Linear, ReLU, Linear, addition, softmax. Arrows go down from what is kept to a shelf: the input, ReLU's result, which the next Linear keeps too, the softmax's result. Nothing for the addition, and nothing of the first Linear's result.](kept.png)
#
# `proflab.saved_tensors(pack, unpack)` shows each tensor as it is put on the shelf. Several may look at the same memory, one keeping what another one made, or a part of it: `t.storage` is a token for the memory behind `t`, equal for all that share it, and `t.storage.nbytes` is its size.

# %% nbgrader={"grade": false, "grade_id": "demo_saved", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
layers = [nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8), nn.Softmax(-1)]
x, told = Tensor.meta((32, 16)), {}


def tell(tensor):
    number = told.setdefault(tensor.storage, len(told))
    print(f"    {str(tensor.shape):<10}{tensor.nbytes:>7,} bytes, storage {number}")
    return tensor


with proflab.saved_tensors(tell, lambda tensor: tensor):
    for layer in layers:
        print(layer)
        x = layer(x)

# %% [markdown]
# Which of these are activations? The first is the input, which is there anyway. The third is shared with the second, the fourth is a parameter. 8,192 and 1,024 bytes are left.
#
# On meta tensors all this holds without any data: what would be kept can be counted for a model that would never fit.
#
# **Predict.** ResNet-18 has 44.6 MB of parameters. How many MB does it keep for a batch of 8 images of 224 × 224: 4, 16, 160? Is most of it in its first layers, or in its last? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "saved_activations", "locked": false, "schema_version": 3, "solution": true, "task": false}
def saved_activations(model, input_shape):
    """The bytes that a forward pass keeps for the backward pass.

    model: a Module, with data or on meta, or anything else that can be called; in the mode (train
        or eval) that it is in. input_shape: batch first, counted in full.
    Counted is each storage once, and as a whole, also where only a part of it is looked at; but no
    storage of the inputs, and none of the parameters and buffers that the model has.
    Returns an int. Runs on meta inputs (lesson 02's meta_inputs, per_sample=False), so that
    nothing is computed. Raises ValueError for what cannot be called, and for what is no shape.
    """
    ### BEGIN SOLUTION
    inputs = meta_inputs(model, input_shape, per_sample=False)
    known = {tensor.storage for tensor in inputs}
    for tensors in ("parameters", "buffers"):
        known |= {tensor.storage for tensor in getattr(model, tensors, list)()}
    kept = set()

    def pack(tensor):
        kept.add(tensor.storage)
        return tensor

    with proflab.saved_tensors(pack, lambda tensor: tensor):
        model(*inputs)
    return sum(storage.nbytes for storage in kept - known)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_saved_activations", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
pair = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
expect(
    "what ReLU and Linear share",
    saved_activations(pair, (32, 16)),
    8_192,
    mistakes={"counted once for each that keeps it": 16_384, "what is computed, not kept": 17_408},
)
found = saved_activations(pair, (1, 16))
expect("one sample", found, 256, mistakes={"the input counts": 320, "parameters count": 2_304})
expect("nothing", saved_activations(nn.Linear(16, 64), (32, 16)), 0)
expect("LeNet-5, 8 images", saved_activations(models.LeNet5(), (8, 1, 32, 32)), 271_296)
found = saved_activations(doubles.Parts(), ((2, 3, 4), (2, 2)))
expect("parts of a result keep all of it; two inputs, a buffer", found, 384)
dropout = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Softmax(-1))
both = [saved_activations(dropout.train(), (4, 8)), saved_activations(dropout.eval(), (4, 8))]
expect("in training, and in eval", both, [160, 128])
expect("which it stays in", dropout.training, False)
pair[2].weight.requires_grad = False
expect("frozen parameters, too, are no activations", saved_activations(pair, (1, 16)), 256)
expect("a function", saved_activations(lambda x: pair[0](x).tanh(), (3, 16)), 768)
### BEGIN HIDDEN TESTS
found = saved_activations(doubles.Parts(), ((7, 6, 4), (7, 2)))
expect("parts of a larger result; two inputs, a buffer", found, 7 * (288 + 96))
same = nn.Linear(8, 8)
thrice = nn.Sequential(same, nn.Tanh(), same, nn.Tanh(), same)
expect("one layer, three times", saved_activations(thrice, (10, 8)), 640)
frozen = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
for parameter in frozen[:4].parameters():
    parameter.requires_grad = False
expect("frozen but for the last", saved_activations(frozen, (10, 8)), 320)
noisy = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2), nn.Dropout(0.1))
both = [saved_activations(noisy.train(), (5, 8)), saved_activations(noisy.eval(), (5, 8))]
expect("two masks in training, none in eval", both, [210, 160])
found = saved_activations(lambda x: same(x.exp()).exp(), (3, 8))
expect("a function with a layer in it", found, 192)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_saved_activations_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
with meta():
    resnet18, small = models.resnet18(), models.gpt2("small")
expect("ResNet-18, 8 images", saved_activations(resnet18, (8, 3, 224, 224)), 161_420_800)
expect("GPT-2 small, 8 × 128 tokens", saved_activations(small, (8, 128)), 686_171_136)
expect("32 × 128, more than 2³¹", saved_activations(small, (32, 128)), 2_744_091_648)
large = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
needed = doubles.traced_mb(saved_activations, large, (8192, 512))
expect_between("without data, MB needed to count 16 MB", needed, 0, 2)
expect("the model stays as it is", [resnet18.training, resnet18.fc.weight.grad], [True, None])
expect_raises("no model", lambda: saved_activations(3, (1, 4)), ValueError)
expect_raises("a batch of 0", lambda: saved_activations(nn.Linear(4, 4), (0, 4)), ValueError)
broken = nn.Sequential(nn.Linear(4, 4), nn.Linear(5, 5))
expect_raises("layers that do not fit", lambda: saved_activations(broken, (2, 4)), ValueError)
expect("no hook is left behind", len(autograd.packers), 0)
### BEGIN HIDDEN TESTS
with meta():
    vit = models.vit_tiny16()
expect("ViT-Ti/16, 8 images", saved_activations(vit, (8, 3, 224, 224)), 279_834_560)
expect("a model in training stays in training", vit.training, True)
broken = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(3, 4))
expect_raises("sizes that do not fit", lambda: saved_activations(broken, (2, 3)), ValueError)
expect("no hook is left behind by it", len(autograd.packers), 0)
expect_raises("no shape", lambda: saved_activations(nn.Linear(4, 4), (-2, 4)), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# Is it right? The file `saved.json`, beside this notebook, holds what torch 2.13.0 keeps for four models, counted by its own hooks in the same way. Where the two engines differ, the file says why, and by how much.

# %% nbgrader={"grade": false, "grade_id": "demo_reference", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
document = json.loads(Path("saved.json").read_text(encoding="utf-8"))
with meta():
    make = {"LeNet-5": models.LeNet5(), "ResNet-18": models.resnet18()}
    make |= {"ViT-Ti/16": models.vit_tiny16(), "GPT-2 small": models.gpt2("small")}
print_saved(document, lambda name, shape: saved_activations(make[name], shape))

# %% [markdown]
# To the byte. Now look where they are. A model's parameters and its activations need not be in the same place.


# %% nbgrader={"grade": false, "grade_id": "saved_by", "locked": true, "schema_version": 3, "solution": false, "task": false}
def saved_by(model, shape, part):
    """Saved bytes by the part of the model that kept them first; `part` maps a module's path."""
    inputs = meta_inputs(model, shape, per_sample=False)
    seen = {t.storage for t in (*inputs, *model.parameters(), *model.buffers())}
    found = Counter()

    def pack(tensor):
        if tensor.storage not in seen:
            seen.add(tensor.storage)
            found[part(dispatch.module_path())] += tensor.storage.nbytes
        return tensor

    # While a hook is on, proflab knows which module is being called.
    with dispatch.hook(lambda call: call()), proflab.saved_tensors(pack, lambda tensor: tensor):
        model(*inputs)
    return found


# %% nbgrader={"grade": false, "grade_id": "demo_stages", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
def stage(path):
    first = path.split(".")[0]
    return first if first.startswith("layer") else "classifier" if first == "fc" else "first layers"


with meta():
    resnet = models.resnet18()
weights = Counter()
for path, parameter in resnet.named_parameters():
    weights[stage(path)] += parameter.nbytes
both = {"parameters": weights, "saved, 8 images": saved_by(resnet, (8, 3, 224, 224), stage)}
plot.shares(both, unit="bytes", title="ResNet-18", show=lambda n: f"{n / MB:.1f} MB")

# %% [markdown]
# The other way round: large images and few channels at the beginning, small images and many channels at the end. And in a Transformer? Each of its blocks is the same, but its parts do not grow alike.


# %% nbgrader={"grade": false, "grade_id": "demo_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
with meta():
    block = models.gpt2("small").blocks[0]
names, kept = {"attn": "attention", "mlp": "feed-forward"}, {}
for n in demo_size(full=[64, 128, 256, 512, 1024, 2048], small=[64, 1024]):
    kept[n] = saved_by(block, (1, n, 768), lambda path: names.get(path.split(".")[0], "norms"))
plot_memory.kept_by_part(kept, "tokens", "Kept by one block of GPT-2 small, one text")

# %% [markdown]
# The scores of attention are one number for each pair of tokens and each head: twice the tokens, four times the bytes. Lesson 02 found their FLOPs to be the smaller part; their memory is not. (Fused attention never writes them down. That is most of its point.)
#
# ## 4 · What training takes
#
# Training keeps, for each parameter that is trained, a gradient, and what its optimizer remembers: nothing for plain SGD, one number for SGD with momentum, two for Adam and AdamW, the running means of the gradient and of its square (Kingma and Ba 2015, algorithm 1). A frozen parameter has neither.
#
# **Predict.** GPT-2 small has 475 MB of parameters. How much does it take to train it with Adam, before the first activation? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "optimizer_memory_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def optimizer_memory_mb(model, optimizer):
    """The memory of an optimizer's state, in MB of 1024² bytes.

    model: as for count_parameters (lesson 01). Only parameters that are trained have a state
        (requires_grad), each once, at its own dtype.
    optimizer: "sgd" (nothing), "momentum" (once the parameters), "adam" or "adamw" (twice).
    Returns a float. Raises ValueError for another optimizer, and for what is no model.
    """
    ### BEGIN SOLUTION
    copies = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
    if optimizer not in copies:
        raise ValueError(f"{optimizer!r} is none of {', '.join(copies)}")
    if count_parameters(model, trainable_only=True) == 0:
        return 0.0
    trained = {id(p): p.nbytes for p in model.parameters() if p.requires_grad}
    return copies[optimizer] * sum(trained.values()) / MB
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_optimizer_memory_mb", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(511, 1024)  # 512 × 1,024 parameters: 2 MB
found = [optimizer_memory_mb(layer, name) for name in ("sgd", "momentum", "adam", "adamw")]
expect("all four", found, [0.0, 2.0, 4.0, 4.0])
half = nn.Sequential(nn.Linear(511, 1024), nn.Linear(1023, 256))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
frozen = optimizer_memory_mb(half, "adam")
expect("first layer frozen", frozen, 2.0, mistakes={"frozen parameters have a state": 6.0})
tied = Tensor(np.zeros((7, 11)), True, np.float64)
twice = doubles.OnlyParameters(tied, tied)
huge = doubles.OnlyParameters(Tensor.meta((2**28, 3), requires_grad=True))
expect("more than 2³¹ bytes", optimizer_memory_mb(huge, "momentum"), 3072.0)
expect("each once, in float64", optimizer_memory_mb(twice, "momentum"), 616 / 1024**2)
expect_raises("no model", lambda: optimizer_memory_mb(3, "sgd"), ValueError)
expect_raises("no such optimizer", lambda: optimizer_memory_mb(layer, "adamax"), ValueError)
### BEGIN HIDDEN TESTS
shared = Tensor(np.zeros((256, 1024), np.float32), requires_grad=True)
mixed = doubles.OnlyParameters(shared, Tensor(np.zeros(2**17), True, np.float64), shared)
expect("each parameter once, at its own dtype", optimizer_memory_mb(mixed, "momentum"), 2.0)
none = [optimizer_memory_mb(nn.ReLU(), "adam"), optimizer_memory_mb(shared, "momentum")]
expect("a ReLU, and a bare Tensor", none, [0.0, 0.0])
with meta():
    gpt2 = models.gpt2("medium")
expect("GPT-2 medium", optimizer_memory_mb(gpt2, "adam"), 2 * 354_823_168 * 4 / 1024**2)
expect_raises("a list is no model", lambda: optimizer_memory_mb([layer], "sgd"), ValueError)
expect_raises("none", lambda: optimizer_memory_mb(nn.ReLU(), None), ValueError)
### END HIDDEN TESTS

# %% [markdown]
# Believe it or look: after a step, an optimizer of proflab holds its state in `state`, a dict of arrays for each parameter.

# %% nbgrader={"grade": false, "grade_id": "demo_optimizers", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
model = models.LeNet5()
model(example_input(None, (4, 1, 32, 32))).sum().backward()
makers = {"sgd": optim.SGD, "momentum": lambda p: optim.SGD(p, momentum=0.9)}
makers |= {"adam": optim.Adam, "adamw": optim.AdamW}
rows = {}
for name, maker in makers.items():
    optimizer = maker(model.parameters())
    optimizer.step()
    rows[name] = state_bytes(optimizer), optimizer_memory_mb(model, name) * MB
table("LeNet-5", {"held, bytes": ",", "by the rule": ",.0f"}, rows)

# %% [markdown]
# Now add up. Parameters, gradients, state, and what a pass keeps: that is training, but for what comes and goes.
#
# **Predict.** From which batch on are ResNet-18's activations more than all the rest, with Adam? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "training_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_memory(model, input_shape, optimizer, activation_mb=None):
    """What training a model takes, by its parts.

    model, input_shape: as for saved_activations; optimizer: as for optimizer_memory_mb.
    activation_mb: the memory of the activations where it is known, at least 0; None: count it.
        Where it is given, input_shape is not used.
    Returns a dict of floats in MB of 1024² bytes: parameter_mb, gradient_mb (of what is trained),
    optimizer_mb, activation_mb, and total_mb, their sum.
    Raises ValueError as these two do, and for a negative activation_mb.
    """
    ### BEGIN SOLUTION
    if activation_mb is None:
        activation_mb = saved_activations(model, input_shape) / MB
    if activation_mb < 0:
        raise ValueError(f"activations cannot take {activation_mb} MB")
    parts = {
        "parameter_mb": parameter_memory_mb(model),
        "gradient_mb": optimizer_memory_mb(model, "momentum"),  # a number for each, as here
        "optimizer_mb": optimizer_memory_mb(model, optimizer),
        "activation_mb": float(activation_mb),
    }
    return parts | {"total_mb": sum(parts.values())}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_memory", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
with meta():
    small, resnet = models.gpt2("small"), models.resnet18()
found = training_memory(small, (8, 128), "adam", activation_mb=200)
total = found["total_mb"]
expect("Adam", total, 2098.80, abs=0.01, mistakes={"no gradients, or half the state": 1624.10})
expect("its parameters", found["parameter_mb"], 124_439_808 * 4 / 1024**2)
expect("its gradients", found["gradient_mb"], 124_439_808 * 4 / 1024**2)
expect("its state", found["optimizer_mb"], 124_439_808 * 8 / 1024**2)
counted = training_memory(small, (8, 128), "sgd")
expect("counted activations", counted["activation_mb"], 686_171_136 / 1024**2)
expect_raises("no such optimizer", lambda: training_memory(small, (1, 8), "lion", 0), ValueError)
### BEGIN HIDDEN TESTS
expect("GPT-2 small, SGD", counted["total_mb"], (2 * 124_439_808 * 4 + 686_171_136) / 1024**2)
found = training_memory(resnet, (8, 3, 224, 224), "momentum")["total_mb"]
expect("ResNet-18, momentum", found, (3 * 11_689_512 * 4 + 161_420_800) / 1024**2)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_training_memory_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
layer = nn.Sequential(nn.Linear(511, 1024), nn.ReLU())
found = training_memory(layer, (64, 511), "adamw", activation_mb=0)
expect("without activations", found["activation_mb"], 0.0)
expect("four times the parameters", found["total_mb"], 8.0)
half = nn.Sequential(nn.Linear(511, 1024), nn.Dropout(0.5), nn.Linear(1024, 512, bias=False))
half[0].weight.requires_grad = half[0].bias.requires_grad = False
found = training_memory(half, (512, 511), "momentum")
keys = ["parameter_mb", "gradient_mb", "optimizer_mb", "activation_mb", "total_mb"]
expect("the last layer is trained", [found[key] for key in keys], [4.0, 2.0, 2.0, 2.0, 10.0])
expect("no shape is used", training_memory(half, None, "sgd", 0.5)["total_mb"], 6.5)
expect_raises("negative", lambda: training_memory(layer, (64, 511), "adam", -0.5), ValueError)
expect_raises("a batch of 0", lambda: training_memory(layer, (0, 511), "adam"), ValueError)
### BEGIN HIDDEN TESTS
tuned = nn.Sequential(nn.Linear(511, 1024), nn.ReLU(), nn.Linear(1024, 256, bias=False))
tuned[0].weight.requires_grad = tuned[0].bias.requires_grad = False
found = training_memory(tuned, (1024, 511), "adam")
found = [found[key] for key in keys]
expect("only what is trained has gradients", found, [3.0, 1.0, 2.0, 4.0, 10.0])
noisy = nn.Sequential(nn.Linear(511, 1024), nn.Dropout(0.5))
expect("a mask", training_memory(noisy, (1024, 511), "sgd")["activation_mb"], 1.0)
found = training_memory(tuned, None, "sgd", 0.5)["total_mb"]
expect("with given activations no shape is used", found, 4.5)
expect_raises("a shape that is none", lambda: training_memory(tuned, (-1, 511), "sgd"), ValueError)
expect_raises("less than none", lambda: training_memory(tuned, (2, 511), "sgd", -3), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_training", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
with meta():
    zoo = {
        "LeNet-5, 64 images": (models.LeNet5(), (64, 1, 32, 32)),
        "ResNet-18, 32 images": (models.resnet18(), (32, 3, 224, 224)),
        "ViT-Ti/16, 32 images": (models.vit_tiny16(), (32, 3, 224, 224)),
        "GPT-2 small, 8 × 128 tokens": (models.gpt2("small"), (8, 128)),
        "GPT-2 XL, 1 × 128 tokens": (models.gpt2("xl"), (1, 128)),
    }
rows = {name: training_memory(*pair, "adam") for name, pair in zoo.items()}
plot_memory.training(rows, "Adam", "Where the bytes go")

# %% [markdown]
# The picture from the top. Of a small model on images nearly all are activations, and it is the batch that has to shrink. Of a large language model on few tokens nearly all are the four copies of its parameters, and no batch is small enough: 16 bytes a parameter, of which the weights are 4.

# %% nbgrader={"grade": false, "grade_id": "demo_batch", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
with meta():
    resnet = models.resnet18()
batches = demo_size(full=[1, 2, 4, 8, 16, 32, 64, 128, 256], small=[1, 256])
rows = {batch: training_memory(resnet, (batch, 3, 224, 224), "adam") for batch in batches}
plot_memory.by_batch(rows, "Adam", "Training ResNet-18")

# %% [markdown]
# A sum of parts is a claim, too. So watch a real step, with a hook that reads the meter after each operation: two steps of ResNet-18 with Adam, the model built while the meter runs.


# %% nbgrader={"grade": false, "grade_id": "demo_timeline", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
timeline = Timeline()
with MemoryTracker() as tracker, dispatch.hook(timeline.read):
    model = models.resnet18()
    optimizer = optim.Adam(model.parameters())
    x = example_input(model, demo_size(full=(32, 3, 64, 64), small=(2, 3, 64, 64)))
    for _ in tqdm(range(2), leave=False, disable=None):
        training_step(model, x, optimizer, timeline.ends)
total = training_memory(model, x, "adam")["total_mb"]
print(f"the sum of the parts {total:.0f} MB, the peak that was measured {tracker.peak_mb:.0f} MB")
del model, optimizer, x  # section 5 begins without them
plot_memory.op_by_op(timeline, "Two training steps of ResNet-18, op by op")

# %% [markdown]
# Forward climbs. In backward activations go while gradients come. The first step of Adam puts its state on top, where it stays: the second step starts higher. The sum has all parts at their largest at the same time, which they never are; and it leaves out what comes and goes, such as gradients of activations and the windows of a convolution. So it is close to the peak, and not equal to it.
#
# ## 5 · What the system sees
#
# The operating system knows nothing of arrays. It counts *pages* of memory that a process has touched and that lie in RAM: its resident set size, RSS. That is the number that ends a process when there is no more. It includes Python itself, libraries, and what numpy has asked for but tracemalloc does not see; it leaves out what was asked for and never touched; and it seldom comes down at once, for freed memory is kept for the next time. So it is less exact than the meter, and more real.
#
# `psutil.Process().memory_info().rss` is its number of bytes, for this process.
#
# **Predict.** `np.empty` of 100 MB: how much does RSS grow? How much, once it is filled? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "MemoryProfiler", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MemoryProfiler:
    """The resident memory of this process at moments with a name."""

    def __init__(self):
        self.snapshots = []

    def snapshot(self, label):
        """Note this process's resident memory now, by psutil's memory_info().rss.

        label: a string that is not empty; the same one may come again. Raises ValueError for "".
        """
        ### BEGIN SOLUTION
        if not label:
            raise ValueError("a snapshot needs a label")
        self.snapshots.append((label, psutil.Process().memory_info().rss / MB))
        ### END SOLUTION

    def report(self):
        """What was noted: a row for each snapshot, in order.

        Returns a list of dicts: label, rss_mb (float, MB of 1024² bytes, not rounded), delta_mb
        (float, over the snapshot before it; 0.0 for the first). Prints a line for each that has the
        label, and both numbers with one decimal; what else it prints is open. May be asked for
        again.
        Raises ValueError where there is no snapshot.
        """
        ### BEGIN SOLUTION
        if not self.snapshots:
            raise ValueError("there is no snapshot to report")
        rows, before = [], self.snapshots[0][1]
        for label, rss in self.snapshots:
            rows.append({"label": label, "rss_mb": rss, "delta_mb": rss - before})
            before = rss
            print(f"{label:<16}{rss:>10.1f} MB {rows[-1]['delta_mb']:>+10.1f}")
        return rows
        ### END SOLUTION


# %% [markdown]
# A test cannot know your computer's memory, so it scripts it: `resident.each(snapshot, script)` calls snapshot with each label of the script while psutil says that this process has so many MB.


# %% nbgrader={"grade": true, "grade_id": "test_MemoryProfiler", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
profiler, resident = MemoryProfiler(), doubles.Resident()
script = [("baseline", 110.5), ("forward", 150.2578125), ("backward", 130.0), ("forward", 130.0)]
resident.each(profiler.snapshot, script)
rows = profiler.report()
expect("the first row", rows[0], {"label": "baseline", "rss_mb": 110.5, "delta_mb": 0.0})
expect("the second", rows[1], {"label": "forward", "rss_mb": 150.2578125, "delta_mb": 39.7578125})
fallen = rows[2]["delta_mb"]
expect("less than before", fallen, -20.2578125, mistakes={"over the first snapshot": 19.5})
expect("a label twice", rows[3], {"label": "forward", "rss_mb": 130.0, "delta_mb": 0.0})
expect("asked for again", len(profiler.report()), 4)
expect_raises("no label", lambda: profiler.snapshot(""), ValueError)
expect_raises("nothing was noted", lambda: MemoryProfiler().report(), ValueError)
### BEGIN HIDDEN TESTS
other = MemoryProfiler()
resident.each(other.snapshot, [("a", 700.0), ("a", 2048.5), ("b", 2048.5), ("b", 30.0)])
rows = other.report()
expect("labels twice", [row["label"] for row in rows], ["a", "a", "b", "b"])
expect("large and small", [row["rss_mb"] for row in rows], [700.0, 2048.5, 2048.5, 30.0])
expect("up and down", [row["delta_mb"] for row in rows], [0.0, 1348.5, 0.0, -2018.5])
resident.each(profiler.snapshot, [("later", 99.0)])
expect("two profilers, and later", [len(other.report()), len(profiler.report())], [4, 5])
expect("goes on", profiler.report()[4], {"label": "later", "rss_mb": 99.0, "delta_mb": -31.0})
expect_raises("an empty label", lambda: other.snapshot(""), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_MemoryProfiler_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
profiler, resident = MemoryProfiler(), doubles.Resident()
resident.each(profiler.snapshot, [("before", 200.0), ("after", 260.5)])
lines = doubles.told(profiler.report, "before", "after")  # labels, and each line's numbers
expect("a line for each", [label for label, _ in lines], ["before", "after"])
expect("two numbers", [n in lines[1][1] for n in ("260.5", "60.5")], [True, True])
### BEGIN HIDDEN TESTS
resident.each(profiler.snapshot, [("weights loaded", 1231.0)])
lines = doubles.told(profiler.report, "before", "after", "weights loaded")
expect("in order", [label for label, _ in lines], ["before", "after", "weights loaded"])
expect("a third", [n in lines[2][1] for n in ("1231.0", "970.5")], [True, True])
expect("the first", [n in lines[0][1] for n in ("200.0", "0.0")], [True, True])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_promise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
gc.collect()
meters = BothMeters(MemoryProfiler())  # a snapshot, and what tracemalloc counts at that moment
with MemoryTracker():
    meters.note("before")
    promised = np.empty(demo_size(full=200, small=20) * MB, np.uint8)
    meters.note("asked for")
    promised[:] = 1
    meters.note("filled")
    del promised
    meters.note("freed")
plot_memory.two_meters(meters.profiler.report(), meters.traced, "A promise")

# %% [markdown]
# A page is given when it is first written to. A block as large as this goes back to the system when it is freed; small ones seldom do. Now the moments of a training step.


# %% nbgrader={"grade": false, "grade_id": "demo_profiler", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
model = models.resnet18()
optimizer, meters = optim.Adam(model.parameters()), BothMeters(MemoryProfiler())
x = example_input(model, demo_size(full=(32, 3, 64, 64), small=(2, 3, 64, 64)))
with MemoryTracker():
    meters.note("baseline")
    training_step(model, x, optimizer, meters.note)
plot_memory.two_meters(meters.profiler.report(), meters.traced, "A training step of ResNet-18")

# %% [markdown]
# The two need not agree: what an earlier cell gave back may be used again without RSS growing, and what is freed now may stay. Run the cell again and compare. For *how much does this take*, ask the meter; for *will it be killed*, the system.
#
# ## 6 · What grows
#
# A leak, in Python, is a thing that somebody still holds. The classic is in validation, where no `backward()` follows: `losses.append(loss)` holds each loss, and through it the graph, and through that all that was kept for backward. Nothing fails at first. After some hours the process is killed, and its last line of output has nothing to do with it.
#
# A leak is found by comparing: what is allocated now that was not allocated some steps ago, and which code asked for it? `tracemalloc.take_snapshot()` returns all blocks with the call stacks that allocated them, as deep as `frames` said at the start (25 is deep enough here). `later.compare_to(earlier, "traceback")` yields rows with `size_diff`, a number of bytes, and `traceback`, its frames from the outermost to the innermost. The innermost frame is often in a library; `own_function` finds the one that is yours.
#
# **Predict.** A step allocates 100 MB and frees them, replaces 50 MB by other 50 MB, and adds 1 MB to a list. Which of the three is a leak, and which has the largest numbers in a snapshot? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "find_leak", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_leak(step, steps):
    """What a step leaves behind, each time it runs, and who allocates it.

    step: a function without arguments. It is called once for what only the first call makes and
        keeps (a cache, an optimizer's state), then `steps` times (an int, at least 1), which are
        compared.
    Returns a dict: bytes_per_step (float), by how much more is allocated, on average over the
    steps (what a step replaces or frees is no growth); and function, the name of the function
    (see own_function) that allocated most of what has grown, on whatever lines; None where a
    step leaves less than a page, 4,096 bytes. Raises ValueError for steps below 1.
    Tracing is off afterwards if it was off before, also where step raises.
    """
    ### BEGIN SOLUTION
    if steps < 1:
        raise ValueError(f"a leak shows over at least one step, not over {steps}")
    with MemoryTracker(frames=25):
        step()  # traced, so that what it allocates and a later step replaces is no growth
        before = tracemalloc.take_snapshot()
        for _ in range(steps):
            step()
        rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
    grown = Counter()
    for row in rows:
        if row.size_diff:
            grown[own_function(row.traceback)] += row.size_diff
    rate = sum(grown.values()) / steps
    worst = max(grown, key=grown.get) if rate >= 4096 else None
    return {"bytes_per_step": rate, "function": worst}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_find_leak", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
step = doubles.LeakyStep(
    freed={"augment": 8}, replaced={"prepare": 30}, once={"load": 20}, kept={"log": 0.25},
    through_numpy={"remember": 1},
)  # fmt: skip
found = find_leak(step, 5)
expect(
    "who", found["function"], "remember",
    mistakes={"it frees what it allocates": "augment", "it replaces it": "prepare"},
)  # fmt: skip
rate = found["bytes_per_step"] / MB
expect("MB", rate, 1.25, rel=0.01, mistakes={"all steps together": 6.25, "6 steps in 5": 1.5})
expect("one step first", step.calls, 6)
clean = find_leak(doubles.LeakyStep(freed={"augment": 8}, once={"cache": 4}), 5)
expect("no leak", clean["function"], None)
expect_between("next to nothing", clean["bytes_per_step"], -4096, 4096)
lines = doubles.LeakyStep(kept={"single": 0.03}, kept_by_lines={"parse": 0.05})
expect("on forty lines", find_leak(lines, 4)["function"], "parse")
slow = [doubles.LeakyStep(kept_in_pieces={"collect": mb}) for mb in (0.01, 0.002)]
expect("in small pieces", [find_leak(s, 9)["function"] for s in slow], ["collect", None])
expect_raises("no steps", lambda: find_leak(step, 0), ValueError)
### BEGIN HIDDEN TESTS
busy = doubles.LeakyStep(replaced={"prepare": 30}, once={"warm_up": 20}, kept={"keep_history": 2})
found = find_leak(busy, 4)
expect("beside what is replaced, who", found["function"], "keep_history")
expect("how much", found["bytes_per_step"], 2 * 1024**2, rel=0.01)
library = doubles.LeakyStep(kept={"note": 0.2}, through_numpy={"collect": 0.6}, freed={"work": 9})
expect("through a library, who", find_leak(library, 3)["function"], "collect")
lines = doubles.LeakyStep(kept={"single": 1.25}, kept_by_halves={"double": 2})
expect("on two lines, who", find_leak(lines, 3)["function"], "double")
steps = [{"replaced": {"buffer": 16}}, {"kept": {"trickle": 0.01}}, {"kept": {"drip": 0.0006}}]
names = [find_leak(doubles.LeakyStep(**step), 20)["function"] for step in steps]
expect("replaced, small, and smaller", names, [None, "trickle", None])
pieces = doubles.LeakyStep(kept={"block": 0.5}, kept_in_pieces={"crumbs": 0.75}, freed={"work": 3})
found = find_leak(pieces, 4)
expect("many small blocks, who", found["function"], "crumbs")
expect("many small blocks, how much", found["bytes_per_step"], 1.25 * 1024**2, rel=0.01)
many = doubles.LeakyStep(kept={"one": 1, "two": 1.1}, kept_by_lines={"all": 1.5})
expect("on many lines, each of them small, who", find_leak(many, 3)["function"], "all")
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_find_leak_2", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
nothing = find_leak(lambda: None, 4)["function"]
expect("tracing is off", [nothing, tracemalloc.is_tracing()], [None, False])
failing = doubles.LeakyStep(fails_at=3, kept={"remember": 1})
expect_raises("a step that raises", lambda: find_leak(failing, 5), KeyError)
expect("and tracing is off", [failing.calls, tracemalloc.is_tracing()], [3, False])
expect_raises("negative steps", lambda: find_leak(failing, -2), ValueError)
tracemalloc.start(25)
find_leak(doubles.LeakyStep(freed={"work": 3}), 1)
tracing = tracemalloc.is_tracing()
tracemalloc.stop()
expect("tracing that was on stays on", tracing, True)
### BEGIN HIDDEN TESTS
network = doubles.Allocating(graph_mb=2, output_mb=0.25, scratch_mb=4)
found = find_leak(doubles.holding("evaluate", network, proflab.zeros(2, 2)), 4)
expect("a graph that is held, who", found["function"], "evaluate")
expect("what it keeps, and the output", found["bytes_per_step"], 2.25 * 1024**2, rel=0.01)
with MemoryTracker() as tracker:
    find_leak(doubles.LeakyStep(freed={"work": 6}), 2)
    tracing = tracemalloc.is_tracing()
expect("inside a tracker", [tracker.peak_mb, tracing], [6.0, True], rel=0.02)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_leak", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
model, x = models.LeNet5(), example_input(None, (demo_size(full=16, small=2), 1, 32, 32))
optimizer, losses = optim.Adam(model.parameters()), []


def train():
    training_step(model, x, optimizer)


def validate():
    losses.append((model(x) ** 2).mean())


def validate_without_graph():
    with proflab.no_grad():
        losses.append((model(x) ** 2).mean())


def validate_for_the_number():
    losses.append((model(x) ** 2).mean().item())


steps = train, validate, validate_without_graph, validate_for_the_number
print_leaks({step.__name__: find_leak(step, 8) for step in tqdm(steps, leave=False)})

# %% [markdown]
# The graph of each validation is held by its loss. A number, or `no_grad`, holds nothing.
#
# ## 7 · Work for memory
#
# What is kept can be computed again. *Checkpointing* (Chen et al. 2016) keeps only a few tensors of the forward pass; where backward needs what is between two of them, it runs that part of the model once more, from the last tensor that was kept.
#
# ![Eight layers in a row, twice. Above, what each of them keeps is on the shelf. Below, in two segments of four, only the input of the second segment is, which is being run again, so that what its four layers keep is on the shelf for a while.](segments.png)
#
# The step first: the gradients of a piece, from its input alone. `autograd.grad(y, tensors, grad)` returns the gradients of `tensors`, which require them, where `grad` is that of y. In a backward pass nothing is recorded, unless `with proflab.enable_grad():` says so.


# %% nbgrader={"grade": false, "grade_id": "recomputed_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def recomputed_gradients(run, x, parameters, grad):
    """The gradients of a piece of a model, which is run for that once more.

    run: a function of x, the piece. x: its input, a leaf. parameters: the tensors, each once, that
        it uses and that may require a gradient. grad: the gradient of run(x), a Tensor.
    Returns a list of Tensors: the gradient of x, and those of the parameters, in order; None for
    each that requires none or that run does not use. Every `.grad` stays as it is. Works also
    where no graph is being recorded, as in a backward pass.
    """
    ### BEGIN SOLUTION
    tensors = [x, *parameters]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    if not wanted:
        return [None] * len(tensors)
    with proflab.enable_grad():
        y = run(x)
    found = iter(autograd.grad(y, wanted, grad))
    return [next(found) if tensor.requires_grad else None for tensor in tensors]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_recomputed_gradients", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
a, w = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 5.0], requires_grad=True)
with proflab.no_grad():
    found = recomputed_gradients(lambda x: x * x * w, a, [w], Tensor([1.0, 10.0]))
    recording = proflab.is_grad_enabled()
expect("of x, and of w", [g.tolist() for g in found], [[6.0, 200.0], [1.0, 40.0]])
expect("no .grad, no recording", [a.grad, w.grad, recording], [None, None, False])
c, spare, calls = Tensor([7.0, 8.0]), Tensor([1.0], requires_grad=True), []
w.grad = Tensor([0.25, 0.5])
found = recomputed_gradients(lambda x: calls.append(1) or x * w, c, [c, spare, w], c)
some = [g if g is None else g.tolist() for g in found]
expect("of what requires one", some, [None, None, None, [49.0, 64.0]])
expect("run once, a .grad stays", [len(calls), w.grad.tolist()], [1, [0.25, 0.5]])
expect("nothing to do", recomputed_gradients(lambda x: x + c, c, [c], c), [None, None])
### BEGIN HIDDEN TESTS
data, fixed = Tensor([2.0, 4.0]), Tensor([7.0, 7.0])
unused = Tensor([1.0], requires_grad=True)
w.grad = Tensor([0.5, 0.5])
found = recomputed_gradients(lambda x: (x * w + fixed).sum(), data, [fixed, w, unused], Tensor(3.0))
lists = [None if g is None else g.tolist() for g in found]
expect("some of them", lists, [None, None, [6.0, 12.0], None])
expect("a .grad that was there stays", w.grad.tolist(), [0.5, 0.5])
found = recomputed_gradients(lambda x: x * fixed + fixed, data, [fixed, data], data)
expect("nothing requires a gradient", found, [None, None, None])
counted = []
recomputed_gradients(lambda x: counted.append(1) or x * w, a, [w], Tensor([1.0, 1.0]))
expect("the piece is run once", len(counted), 1)
expect("and what it was", [a.requires_grad, proflab.is_grad_enabled()], [True, True])
### END HIDDEN TESTS

# %% [markdown]
# A `Function` is an operation with a backward of one's own (see `proflab.Function`). This one keeps its input, and asks your function for the gradients.


# %% nbgrader={"grade": false, "grade_id": "Recompute", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Recompute(Function):
    """Recompute.apply(run, x, *parameters) is run(x), of which only x is kept."""

    @staticmethod
    def forward(ctx, run, x, *parameters):
        ctx.run, ctx.parameters = run, parameters
        ctx.save_for_backward(x)
        return run(x)  # nothing of it is recorded

    @staticmethod
    def backward(ctx, grad):
        (kept,) = ctx.saved_tensors
        x = kept.detach().requires_grad_(ctx.needs_input_grad[1])
        return None, *recomputed_gradients(ctx.run, x, ctx.parameters, grad)


# %% [markdown]
# **Predict.** Of 36 equal layers, in segments of 6: how many tensors are kept, instead of 36? What does a training step cost, in forward passes? And which segments, of 1, 6 or 36 layers, need the least at the peak? *Your prediction:*


# %% nbgrader={"grade": false, "grade_id": "checkpointed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpointed(layers, every):
    """A function that computes what the layers compute, one after another, with less memory.

    layers: a list of Modules that draw no random numbers.
    every: int, at least 1: so many layers make a segment; the last one may be shorter.
    Returns a function of one tensor. Of each segment only its input is kept for the backward pass,
    which runs each segment once more. Gradients are those that the layers give without it, of
    what requires one: parameters, and the input. (So each segment's parameters go to Recompute.)
    Raises ValueError where there are no layers, and for `every` below 1.
    """
    ### BEGIN SOLUTION
    if every < 1 or not len(layers):
        raise ValueError(f"{len(layers)} layers cannot be run {every} at a time")
    segments = [nn.Sequential(*layers[i : i + every]) for i in range(0, len(layers), every)]

    def run(x):
        for segment in segments:
            x = Recompute.apply(segment, x, *segment.parameters())
        return x

    return run
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "Checkpointed", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Checkpointed(nn.Module):
    """Layers as a model with checkpoints."""

    def __init__(self, layers, every):
        self.layers = nn.ModuleList(layers)
        self.run = checkpointed(list(self.layers), every)

    def forward(self, x):
        return self.run(x)


# %% nbgrader={"grade": true, "grade_id": "test_checkpointed", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
layers = [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(8)]
shape, rows = (1024, 64), Tensor(np.random.default_rng(1).standard_normal((32, 64)))
x = example_input(None, shape)
found = doubles.furthest(checkpointed(layers, 4), layers, rows)  # of all gradients
expect("gradients, in fours", found, 0.0, abs=1e-5)
both = [nn.Sequential(*layers), Checkpointed(layers, 4)]
held = [doubles.held_mb(model, x) for model in both]
expect("MB held: eight results; one input, and the output", held, [2.0, 0.5], rel=0.05)
costs = [training_flops(model, shape, input_grad=True) for model in both]
expect("3 and 4 forward passes", [cost / (8 * 8_192) for cost in costs], [3.0, 4.0])
held = [doubles.held_mb(checkpointed(layers, every), x) for every in (3, 20)]
expect("in threes, and all at once", held, [0.75, 0.25], rel=0.05)
expect_raises("no layers", lambda: checkpointed([], 2), ValueError)
expect_raises("no layers at a time", lambda: checkpointed(layers, 0), ValueError)
### BEGIN HIDDEN TESTS
rows.requires_grad = True
found = [doubles.furthest(checkpointed(layers, n), layers, rows) for n in (1, 3, 8, 20)]
expect("of an input that requires one, too", found, [0.0] * 4, abs=1e-5)
held = [doubles.held_mb(checkpointed(layers, every), x) for every in (1, 2, 5, 8)]
expect("held in ones, twos, fives, eights", held, [2.0, 1.0, 0.5, 0.25], rel=0.05)
narrow = [nn.Linear(64, 32), nn.Linear(32, 16), nn.Linear(16, 8), nn.Linear(8, 4), nn.Linear(4, 2)]
many = example_input(None, (2**14, 64))
held = [doubles.held_mb(checkpointed(narrow, every), many) for every in (1, 2, 4)]
expect("sizes that differ, each with its output", held, [3.875, 1.375, 0.375], rel=0.05)
expect_raises("zero", lambda: checkpointed(layers, 0), ValueError)
expect_raises("every negative", lambda: checkpointed(layers, -3), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_checkpointed_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
tokens = [nn.Embedding(50, 16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)]
run, ids = checkpointed(tokens, 2), Tensor(np.arange(12).reshape(3, 4))
(run(ids) ** 2).sum().backward()
found = [bool(np.abs(tokens[n].weight.grad.numpy()).sum() > 0) for n in (0, 1, 3)]
expect("tokens: all have gradients", found, [True, True, True])
with proflab.no_grad():
    recorded = run(ids).requires_grad
expect("under no_grad", recorded, False)
### BEGIN HIDDEN TESTS
shared = nn.Linear(6, 6)
tied = [shared, nn.Tanh(), nn.Linear(6, 6), shared, nn.Sigmoid(), shared]
data = Tensor(np.random.default_rng(2).standard_normal((5, 6)))
found = [doubles.furthest(checkpointed(tied, every), tied, data) for every in (1, 2, 4, 5)]
expect("a layer in several segments", found, [0.0] * 4, abs=1e-5)
tied[2].weight.requires_grad, tied[2].weight.grad = False, None
run, plain = checkpointed(tied, 3), nn.Sequential(*tied)
expect("a frozen weight", doubles.furthest(run, tied, data), 0.0, abs=1e-5)
expect("has no gradient", tied[2].weight.grad is None, True)
other = Tensor(np.random.default_rng(3).standard_normal((5, 6)))
added = doubles.gradients(lambda x: plain(x) - plain(other), data, [shared.weight])[1]
found = doubles.gradients(lambda x: run(x) - run(other), data, [shared.weight])[1]
expect("two passes, one backward", float(np.abs(added - found).max()), 0.0, abs=1e-5)
expect("the same output", float(np.abs((plain(data) - run(data)).detach().numpy()).max()), 0.0)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_checkpointed", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
def peak_of_step(model, x):
    """The most MB that a forward and a backward pass have allocated at one time."""
    model.zero_grad()
    with MemoryTracker() as tracker:
        (model(x) ** 2).mean().backward()
    return tracker.peak_mb


deep, rows = demo_size(full=(36, 1024), small=(4, 64))
plain = [nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(deep)]
blocks = list(models.GPT2(16, 16, d_model=96, layers=demo_size(full=12, small=4), heads=3).blocks)
stacks = {f"{deep} times Linear, ReLU": (plain, (rows, 128))}
stacks[f"{len(blocks)} Transformer blocks"] = blocks, (8, 64, 96)
peaks = {name: {} for name in stacks}
for name, (layers, shape) in stacks.items():
    x = example_input(None, shape)
    for every in segment_lengths(len(layers)):
        peaks[name][every] = peak_of_step(Checkpointed(layers, every), x)
    print(best_segment(name, peak_of_step(nn.Sequential(*layers), x), peaks[name]))
plot_memory.segments(peaks, "How long should a segment be?")

# %% [markdown]
# Short segments keep many inputs; long ones have much to hold while they are run again. Where each layer keeps as much as its input is large, the best is near the root of their number. A Transformer block keeps many times its input: one block a segment. The work is the same for all, one forward pass more, 4 instead of 3. Whoever has room for some but not for all checkpoints a part of the model, and pays for that part.

# %% nbgrader={"grade": false, "grade_id": "demo_trade", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
with meta():
    blocks = list(models.gpt2("small").blocks)
shape, points = (1, 1024, 768), []
for part in demo_size(full=range(0, 13, 2), small=[0, 6, 12]):
    front = [Checkpointed(blocks[:part], 1)] if part else []
    model = nn.Sequential(*front, *blocks[part:])
    cost = training_flops(model, shape, input_grad=True)
    points.append((cost, saved_activations(model, shape)))
title = "GPT-2 small, 1,024 tokens: 0, 2, 4 … blocks checkpointed"
plot_memory.trade({"all 12": points}, points[0][0] / 3, title)

# %% [markdown]
# ## Reflect
#
# Serving a model needs no gradients and no saved activations. What grows there is the *KV cache*: the keys and values of all tokens so far, which the next token will look at. Is it what the formula says, 2 · blocks · d · 4 bytes a token?


# %% nbgrader={"grade": false, "grade_id": "demo_kv", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
rows = {}
for size in ("small", "medium", "large", "xl"):
    found = []
    with meta(), proflab.no_grad():
        model = models.gpt2(size)
        cache = model.new_cache()
        for tokens in (1022, 1):
            model(Tensor.meta((1, tokens), np.int64), cache)
            found.append(storages_mb(tensor for block in cache for tensor in block.values()))
    formula = 2 * len(cache) * model.wte.weight.shape[1] * 4 * 1023 / MB
    rows[f"GPT-2 {size}"] = parameter_memory_mb(model), *found, formula
columns = "parameters", "1,022 tokens", "one more", "by the formula"
table("MB", dict.fromkeys(columns, ",.1f"), rows)

# %% [markdown]
# After the prompt the cache is half as large again as it should be: keys and values are views of one tensor that also holds the queries, and *a view keeps all of its storage alive*. When the next token's are joined to them they are copied, and the queries go. Such things are found by counting storages, never by adding up shapes.
#
# And here is a report: training GPT-2 small with Adam takes 2,184 MB, of which 200 are activations. Your function says 2,098.80. Who is wrong?


# %% nbgrader={"grade": false, "grade_id": "reflect_training_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_training_mb(parameters, copies, activation_mb, unit=1024**2, rounded_to=1):
    """The memory of training as a report may have calculated it, in MB of `unit` bytes.

    parameters: int, at least 1; taken as its nearest multiple of rounded_to (int, at least 1):
        with 10**6, 124,439,808 are 124 million. Each copy of a parameter has 4 bytes.
    copies: int, at least 1: 4 for Adam (parameter, gradient, two of state).
    activation_mb: at least 0, in the report's MB, added as it is. unit: int, at least 1.
    Returns a float. Raises ValueError for an argument out of range.
    """
    ### BEGIN SOLUTION
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("activation_mb must be at least 0, and all others at least 1")
    taken = round(parameters / rounded_to) * rounded_to
    return 4 * copies * taken / unit + activation_mb
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_training_mb", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
gpt2 = 124_439_808
expect("as here", reflect_training_mb(gpt2, 4, 200), 2098.80, abs=0.005)
expect("as in the report", reflect_training_mb(gpt2, 4, 200, 10**6, 10**6), 2184.0)
found = reflect_training_mb(124_699_999, 2, 0.5, unit=10**6, rounded_to=10**5)
expect("SGD, rounded up", found, 998.1)
expect("not rounded", reflect_training_mb(1, 3, 0, unit=7), 12 / 7)
expect_raises("no copies", lambda: reflect_training_mb(gpt2, 0, 200), ValueError)
expect_raises("no parameters", lambda: reflect_training_mb(0, 4, 1), ValueError)
expect_raises("negative copies", lambda: reflect_training_mb(5, -4, 1), ValueError)
expect_raises("negative activations", lambda: reflect_training_mb(gpt2, 4, -0.5), ValueError)
### BEGIN HIDDEN TESTS
expect("exact, in 10⁶ bytes", reflect_training_mb(gpt2, 4, 200, unit=10**6), 2191.036928)
rounded = reflect_training_mb(gpt2, 4, 200, rounded_to=10**6)
expect("rounded, in 1024² bytes", rounded, 200 + 124 * 16 * 10**6 / 1024**2)
expect("SGD, rounded to 10⁸", reflect_training_mb(1_557_611_200, 2, 0, 10**9, 10**8), 12.8)
expect("one parameter", reflect_training_mb(1, 3, 0.5, 12), 1.5)
expect_raises("less than no activations", lambda: reflect_training_mb(gpt2, 4, -1), ValueError)
expect_raises("negative parameters and copies", lambda: reflect_training_mb(-5, -4, 1), ValueError)
expect_raises("no unit", lambda: reflect_training_mb(5, 4, 1, unit=0), ValueError)
expect_raises("rounded to nothing", lambda: reflect_training_mb(5, 4, 1, 10, 0), ValueError)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_units", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
rows = {}
for name, to in {"124,439,808 parameters": 1, "124 million": 10**6}.items():
    rows[name] = [reflect_training_mb(124_439_808, 4, 200, unit, to) for unit in (10**6, MB)]
table("GPT-2 small, Adam, 200", {"10⁶ bytes": ",.2f", "1024² bytes": ",.2f"}, rows)

# %% [markdown]
# Nobody is: 124 million, in MB of 10⁶ bytes. Rounding makes it smaller, the unit larger, and nothing in the report says so.
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate). The report goes on: "A batch of 8 texts of 128 tokens is in these 200 MB. With SGD instead of Adam, and checkpoints in place of activations, GPT-2 small can therefore be trained on a card of 1 GB."
#
# 1. What does a forward pass of GPT-2 small keep for such a batch? Of what a block keeps, how much is attention's and how much the feed-forward part's? Calculate both.
# 2. With SGD, what is the sum of the parts in MB of 1024² bytes, with all activations, and where of each block only the input is kept? What do these checkpoints cost?
# 3. Does it fit? Name two things that are needed and that are in none of these sums, and say how large they are, or how you would measure them.

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_memory", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** *3 points:* saved_activations gives 654.4 MB, three times what the report says; of the 51.0 MB of a block the feed-forward part keeps 27.0, attention 21.0 (saved_by, or the kept tensors added up); calculated, not estimated. *4 points:* parameters and gradients are 949.4 MB, so that it is 1,603.8 MB with all activations, and about 990 with checkpoints: the inputs of 12 blocks, 36 MB, and 6 MB for the last norm and the output layer (985 to 992 is right). They cost the forward pass of the blocks once more, 22.3 · 10⁹ FLOPs a text, 23 % of a step: the output layer is not run again. *3 points:* the sum is just below 1,024 MB, and it does not fit, for two of: what one block keeps while it is run again, 51 MB; the output, 8 · 128 · 50,257 numbers, 196 MB, and its gradient, as much again; intermediate results (traced peak, MemoryTracker); Python, libraries, what a driver and an allocator keep (RSS, MemoryProfiler; on a card its own tool). Up to 2 points off for figures without a unit or a calculation.
# ### END SOLUTION

# %% [markdown]
# ## Summary
#
# - A peak is what exists at the same time. Measure it with a meter that others may be using, too.
# - Saved activations are what derivatives will read. Count storages, each once, without what is there anyway.
# - Training takes four copies of the parameters with Adam, and activations that grow with the batch and, in attention, with the square of the text.
# - The system counts something else: pages that were touched and not given back.
# - A leak is what is left after each step. Compare two snapshots, and ask who allocated it.
# - Memory can be bought with work: one forward pass more, for a fraction of the activations.
#
# **Next.** You can count what a model computes and what it keeps. Lesson 05 puts counter, clock and meter together into one profiler.
