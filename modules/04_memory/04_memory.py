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
# ![Five models as bars of one length, divided into parameters, gradients, optimizer state and activations. Activations are most of LeNet-5, ResNet-18 and ViT-Ti, a quarter of GPT-2 small and almost nothing of GPT-2 XL.](bytes.png) <!-- with training_memory -->
#
# A training run dies: *out of memory*.
# Half the batch runs.
# The next model dies with the same words, and halving its batch changes nothing, because it was never the batch that filled the card.
# Each bar above is a training step, and its longest part says which cure can work. <!-- with training_memory -->
# Here you write the functions that draw this picture, and account for every byte in it, even for models that do not fit on your computer. <!-- with training_memory -->
#
# **You will be able to**
#
# - measure what code allocates, at its peak and for good, and name the function that leaks;
# - count what a model keeps for its backward pass, to the byte, without running it;
# - add up what training takes: parameters, gradients, optimizer state, activations;
# - trade work for memory by checkpointing, and measure both sides of the trade.
#
# **You need** lesson 01 (parameters, `requires_grad`) and lesson 02 (the meta device, what a backward pass computes). <!-- with lesson 02 gradient_flops -->
# **You need** lesson 01 (parameters, `requires_grad`), lesson 02 (the meta device), and a first idea of gradients: `backward()` computes one for each parameter. <!-- without lesson 02 gradient_flops -->
#
# In all exercises, arguments stay as they are.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import tracemalloc

import numpy as np
from built import count_parameters, meta_inputs, parameter_memory_mb, training_flops

import proflab
from proflab import Tensor, autograd, dispatch, example_input, meta, models, nn, optim
from proflab.lesson import doubles, expect, expect_between, expect_raises, expect_table, guesses
from proflab.lesson.demo import demo_size

MB = 1024**2  # bytes, as everywhere in this course

# %% [markdown]
# ## 1 · A meter
#
# `tracemalloc`, from Python's standard library, records every block of memory that Python or numpy asks for between `tracemalloc.start()` and `tracemalloc.stop()`.
# `tracemalloc.get_traced_memory()` returns two numbers of bytes: what is allocated now, and the *peak memory*, the most that was allocated at any moment since the start.
# Both are counts, not estimates: run the same program again and you get the same peak.
#
# Two things make it awkward.
# There is one peak for the whole program: `tracemalloc.reset_peak()` lowers it to what is allocated now, for everybody who is measuring.
# And `tracemalloc.stop()` ends the recording for everybody.
# A meter that may be used inside another meter has to respect both.
#
# `MemoryTracker` is such a meter.
# `running` lists the trackers that are measuring at the moment, one list for all of them.
# `start` is there: before it lowers the peak, it tells each tracker in the list how high the peak was.
# `stop` is yours to write: it reads the meter once more.
# (In the tests, `doubles.block(mb)` returns an array of so many MB.)
#
# **Guess**, in the next cell: `a` is an array of 8 MB.
# How many MB exist beside `a` at the peak of `b = 2 * a; b = b + 1`?
#
# <details><summary>Hint 1: what does the outer tracker lose?</summary>
#
# Draw the allocated memory over time: the outer tracker starts, 9 MB come and go, the inner tracker starts and resets the peak, 2 MB come, both stop.
# At which moments can the 9 still be read, and who has to be told?
#
# </details>
# <details><summary>Hint 2: what does `stop` know?</summary>
#
# Two numbers of the meter, which are news for every tracker in `running`, also for this one; and from `start` three things: whether it started the tracing, what was allocated then, and the highest peak that it has heard of since.
#
# </details>

# %% tags=["guess"]
guess_two_ops = None  # your guess: MB beside a, at the peak of b = 2 * a; b = b + 1


# %% nbgrader={"grade": false, "grade_id": "MemoryTracker", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MemoryTracker:
    """Measure what a block of code allocates: `with MemoryTracker() as tracker: …`.

    peak_mb: the most that was allocated at any moment, and current_mb: what is allocated at the
        end (negative if more was freed), both over what was allocated at the start; floats in MB
        of 1024² bytes, not rounded, set by `stop`.
    Trackers may be nested, to any depth, the inner one stops first: each finds what it would find
    alone. They may be used again. Tracing that was on stays on; if it was off, it is off again.
    frames: how many frames of the call stack tracemalloc records with each block.

    >>> with MemoryTracker() as tracker:
    ...     kept = [doubles.block(3), doubles.block(5)].pop(0)
    >>> round(tracker.peak_mb), round(tracker.current_mb)
    (8, 3)
    """

    running = []  # the trackers that have started and not yet stopped, the outermost first

    def __init__(self, frames=1):
        self.frames = frames

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def start(self):
        """Begin to measure; start tracing, with `frames`, if it is off."""
        self.started = not tracemalloc.is_tracing()
        if self.started:
            tracemalloc.start(self.frames)
        self.before, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.peak = max(tracker.peak, peak)
        tracemalloc.reset_peak()
        self.peak = self.before
        self.running.append(self)

    def stop(self):
        """Set peak_mb and current_mb, and leave `running`; end the tracing that `start` began."""
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


# %% nbgrader={"grade": true, "grade_id": "test_MemoryTracker", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
tracker = MemoryTracker()
tracemalloc.start()
earlier, spike = doubles.block(6), doubles.block(7)
del spike
with tracker:
    more = doubles.block(1)
    del earlier
on = tracemalloc.is_tracing()
tracemalloc.stop()
expect("the peak over what was there at the start", tracker.peak_mb, 1.0, rel=0.01)
expect("what is left, less than at the start", tracker.current_mb, -5.0, rel=0.01)
with tracker:
    less = np.empty(4700, np.uint8)
expect("a second use begins at 0, not rounded", tracker.peak_mb, 4700 / 1024**2, abs=0.0004)
expect(
    "tracing that was on stays on, and off is off again",
    [on, tracemalloc.is_tracing()],
    [True, False],
)
### BEGIN HIDDEN TESTS
tracker.start()
several = [doubles.block(2.25) for _ in range(6)][:2]
tracker.stop()
again = [tracker.peak_mb, tracker.current_mb]
expect("a tracker that is used again begins at 0", again, [13.5, 4.5], rel=0.01)
tracemalloc.start()
earlier, spike = doubles.block(20), doubles.block(30)
del spike
with MemoryTracker() as late:
    # vary: 4 in 2..9
    more = doubles.block(4)
with MemoryTracker() as freeing:
    del earlier
on = tracemalloc.is_tracing()
tracemalloc.stop()
found = [late.peak_mb, late.current_mb]
expect("a peak from before the start does not count", found, [4.0, 4.0], rel=0.01)
expect("two trackers in a row leave tracing on that was on", on, True)
found = [freeing.peak_mb, freeing.current_mb]
expect("a block that only frees has a peak of 0 and less at its end", found, [0.0, -20.0], abs=0.05)
# viva: t = MemoryTracker(); t.start(); kept = doubles.block(3); t.stop(); round(t.current_mb)
# viva: t = MemoryTracker(); t.start(); doubles.block(5); t.stop(); [round(t.peak_mb),
#     round(t.current_mb)]
# viva: t = MemoryTracker(); b = doubles.block(9); t.start(); del b; t.stop(); round(t.current_mb)
# viva: t = MemoryTracker(); t.start(); t.stop(); len(MemoryTracker.running)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_MemoryTracker_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
with MemoryTracker() as outer:
    base = doubles.block(1)
    with MemoryTracker() as inner:
        doubles.block(9)
        with MemoryTracker() as innermost:
            small = doubles.block(2)
peaks = [outer.peak_mb, inner.peak_mb, innermost.peak_mb]
expect(
    "three peaks, each from its own start",
    peaks,
    [10.0, 9.0, 2.0],
    rel=0.01,
    mistakes={"the inner one has lowered it": [3.0, 2.0, 2.0]},
)
expect("in the end no tracker is running", len(MemoryTracker.running), 0)
peaks = []
for inside, between in ((9, 1), (1, 9)):
    with MemoryTracker() as around:
        with MemoryTracker():
            doubles.block(inside)
        doubles.block(between)
        with MemoryTracker():
            doubles.block(2)
    peaks.append(around.peak_mb)
expect("9 MB in the first of two inside, or between them", peaks, [9.0, 9.0], rel=0.01)
### BEGIN HIDDEN TESTS
left = [outer.current_mb, inner.current_mb]
expect("what is left counts from each tracker's own start", left, [3.0, 2.0], rel=0.01)
with MemoryTracker() as first:
    base = doubles.block(5)
    with MemoryTracker() as second:
        # vary: 6 in 2..12
        doubles.block(6)
        with MemoryTracker() as third:
            # vary: 10 in 6..15
            doubles.block(10)
        with MemoryTracker() as fourth:
            doubles.block(3)
    doubles.block(4)
    with MemoryTracker():
        pass
peaks = [tracker.peak_mb for tracker in (first, second, third, fourth)]
expect("each of five nested trackers finds its own peak", peaks, [15.0, 10.0, 10.0, 3.0], rel=0.01)
expect_raises("errors pass", lambda: doubles.failing(MemoryTracker(), doubles.block), KeyError)
raised = False
try:
    with MemoryTracker() as failing:
        # vary: 7 in 2..14
        doubles.block(7)
        with MemoryTracker():
            raise KeyError("on purpose")
except KeyError:
    raised = True
ended = [raised, tracemalloc.is_tracing()]
expect("an error inside two trackers passes and ends tracing", ended, [True, False])
expect("a block that raises still has its peak", failing.peak_mb, 7.0, rel=0.01)
with MemoryTracker(frames=7):
    depth = tracemalloc.get_traceback_limit(), len(MemoryTracker.running) < 2
expect("the frames are those asked for, and nobody else is running", depth, (7, True))
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_tracker", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the peak of four expressions beside an array of 8 MB.
from proflab.lesson import plot

codes, peaks = ["b = 2 * a; b = b + 1", "b = 2 * a; b += 1", "a *= 2; a += 1", "b = a[::2]"], {}
for code in codes:
    a = np.zeros(MB, np.float64)  # 8 MB, allocated before the tracker starts
    with MemoryTracker() as tracker:
        exec(code, {"np": np}, {"a": a})
    peaks[code] = tracker.peak_mb
guesses.compare(f"peak of {codes[0]}", guess_two_ops, round(peaks[codes[0]], 1), unit="MB")
look = {"unit": "MB at the peak, beside the 8 MB of a", "show": "{:.1f}".format}
plot.bars(peaks, title="What an expression needs", guess={codes[0]: guess_two_ops}, **look)

# %% [markdown]
# An operation writes its result into new memory while its inputs are still there.
# `+=` writes into the old memory.
# A *view* such as `a[::2]` looks at memory that is there already and allocates none.
# A peak tells what exists *at the same time*, not what is left.
#
# ## 2 · A forward pass
#
# What does one forward pass allocate?
# Part of it stays as long as somebody holds the output: the output itself, and what the model keeps for the backward pass.
# The rest is gone before the pass ends, but it was there at the peak.
# **Guess.** Linear(256, 2048), ReLU, Linear(2048, 256) run on 256 rows of float32.
# A result with 2,048 columns takes 2 MB.
# How many MB are left after the pass?
# (In the tests `doubles.using` runs your function with a tracker that works: a slip in section 1 costs no points here.)

# %% tags=["guess"]
guess_mlp_left = None  # your guess: MB left after the pass


# %% nbgrader={"grade": false, "grade_id": "memory_doubles", "locked": true, "schema_version": 3, "solution": false, "task": false}
import demos  # draws, and watches a training step: a file beside this notebook
import memory_doubles as fake  # what test cells measure: another one


# %% nbgrader={"grade": false, "grade_id": "measure_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_memory(model, input_shape):
    """Return what one forward pass of a model takes, measured.

    model: a Module with data; it is called once, in its mode (train or eval).
    input_shape: batch first, or what else example_input takes (for several inputs it returns a
        tuple). Inputs do not count.
    Returns a dict of floats, not rounded, the first three in MB of 1024² bytes:
        parameter_memory_mb: all of the model's parameters (lesson 01), frozen ones too
        activation_memory_mb: what is allocated after the pass over what was before it, while
            the output is held, and with it the graph
        peak_memory_mb: the parameters, plus the pass's peak over what was allocated before
        memory_efficiency: parameters and activations together, divided by the peak
    Raises ValueError for what is not a model and for what is not a shape.

    >>> model = doubles.Allocating(parameters_mb=1, graph_mb=2, output_mb=3, scratch_mb=5)
    >>> round(measure_memory(model, (8, 8))["peak_memory_mb"])
    11
    """
    ### BEGIN SOLUTION
    parameters, inputs = parameter_memory_mb(model), example_input(model, input_shape)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
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


# %% nbgrader={"grade": true, "grade_id": "test_measure_memory", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
measure = doubles.using(measure_memory, MemoryTracker=fake.Tracker)
model = doubles.Allocating(parameters_mb=4, graph_mb=3, output_mb=2, scratch_mb=7)
found = measure(model, (512, 1024))
kept, peak = found["activation_memory_mb"], found["peak_memory_mb"]
expect("left", kept, 5.0, abs=0.05, mistakes={"the output is not held": 0, "no graph is made": 2.0})
expect("the peak", peak, 16.0, rel=0.01, mistakes={"parameters are missing": 12.0})
expect("the parameters", found["parameter_memory_mb"], 4.0)
expect("the efficiency", found["memory_efficiency"], 9 / 16, rel=0.01)
expect("one call, with the whole batch", model.shapes, [(512, 1024)])
few = doubles.Allocating(parameters_mb=0.125, graph_mb=0.25, output_mb=0.255, scratch_mb=40)
found = measure(few, (3, 3))
small = [found[f"{name}_memory_mb"] for name in ("parameter", "activation")]
expect("nothing is rounded", small, [0.125, 0.505], rel=0.006)
expect("nor is the efficiency", found["memory_efficiency"], 0.63 / 40.63, rel=0.01)
whole = (found["parameter_memory_mb"] + found["activation_memory_mb"]) / found["peak_memory_mb"]
expect("it is the quotient of the three, as they are", found["memory_efficiency"] / whole, 1.0)
### BEGIN HIDDEN TESTS
# vary: 2048 in 1_365..3_072
mlp = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 256))
found = measure(mlp, (256, 256))
expect("ReLU's result and the output are left", found["activation_memory_mb"], 2.25, rel=0.01)
both = 4 + 1_050_880 * 4 / 1024**2  # the parameters, and 4 MB
found = found["peak_memory_mb"] / both
expect("at the peak ReLU's input and its result both exist", found, 1.0, rel=0.005)
# vary: 11 in 7..16, 6 in 2..12
found = measure(doubles.Allocating(parameters_mb=1, graph_mb=11, output_mb=6), (8, 8))
rest = [found["activation_memory_mb"], found["peak_memory_mb"], found["memory_efficiency"]]
expect(
    "if nothing is freed during the pass, the efficiency is 1", rest, [17.0, 18.0, 1.0], rel=0.01
)
# vary: 256 in 170..384, 3072 in 2_048..4_608
found = measure(nn.Linear(3, 256), (3072, 3))["activation_memory_mb"]
expect("a batch is larger than the layer", found, 3.0, rel=0.01)
# viva: m = doubles.Allocating(4, 3, 2, 7); round(measure_memory(m, (64, 8))['peak_memory_mb'])
# viva: m = doubles.Allocating(4, 3, 2, 7); round(measure_memory(m, (64,
#     8))['activation_memory_mb'])
# viva: m = doubles.Allocating(1, 2, 3, 5); round(measure_memory(m, (8, 8))['memory_efficiency'], 2)
# viva: round(measure_memory(nn.Linear(511, 1024), (1024, 511))['parameter_memory_mb'], 2)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_memory_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
memory_of = doubles.using(measure_memory, MemoryTracker=fake.Tracker)
tracemalloc.start()
doubles.block(40)
found = memory_of(doubles.Allocating(2, 4, 3, 5), (4, 4))["peak_memory_mb"]
still = tracemalloc.is_tracing()
tracemalloc.stop()
expect("no peak from before", found, 14.0, rel=0.01)
masked = nn.Sequential(nn.Linear(511, 1024), nn.Dropout(0.5))
masked[0].weight.requires_grad = False
found, trained = memory_of(masked, (1024, 511)), masked.training
evaluated = memory_of(masked.eval(), (1024, 511))["activation_memory_mb"]
expect(
    "tracing that was on stays on, and off stays off",
    [still, tracemalloc.is_tracing()],
    [True, False],
)
expect("frozen parameters count", found["parameter_memory_mb"], 2.0)
both = [found["activation_memory_mb"], evaluated]
expect("a mask in training, none in eval", both, [5.0, 4.0], rel=0.01)
expect("the model stays in its mode", [trained, masked.training], [True, False])
found = memory_of(fake.Parts(), ((64, 256, 4), (64, 2)))["activation_memory_mb"]
expect("two inputs", found, 1.0, rel=0.02, mistakes={"the inputs count": 1.25})
### BEGIN HIDDEN TESTS
# vary: 1024 in 682..1_536
found = memory_of(masked, (1024, 511))["activation_memory_mb"]
expect("in eval a dropout keeps no mask", found, 4.0, rel=0.01)
expect("a model in eval stays in eval", masked.training, False)
# vary: 256 in 170..384, 512 in 341..768
tokens = nn.Sequential(nn.Embedding(1000, 256), nn.Linear(256, 512))
tokens.input_dtype, tokens.vocab_size = "int64", 1000
# vary: 2 in 2..9, 512 in 341..768
found = memory_of(tokens, (2, 512))["activation_memory_mb"]
expect("a model of tokens gets whole numbers", found, 3.0, rel=0.01)
# vary: 1024 in 682..1_536, 256 in 170..384
found = memory_of(fake.SumOfTwo(16, 1024), ((256, 16), (256, 1024)))
expect("a model with two inputs gets both", found["activation_memory_mb"], 1.0, rel=0.01)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_memory_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
measured = doubles.using(measure_memory, MemoryTracker=fake.Tracker)
expect_table(
    measured,
    (
        "a tuple is not a model; a batch of 0",
        [((3, 4), (3, 4)), (nn.Linear(511, 1024), (0, 511))],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 1023 in 682..1_534, 256 in 170..384
found = measured(nn.Linear(1023, 256), (4, 1023))["parameter_memory_mb"]
expect("after an error the next model is measured", found, 1.0)
# vary: 1023 in 682..1_534, 1792 in 1_194..2_688
found = measured(nn.Linear(1023, 1792), (2, 1023))["parameter_memory_mb"]
expect("and the one after it", found, 7.0)
expect("in the end tracing is off", tracemalloc.is_tracing(), False)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_measure", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what a forward pass of four models takes.
mlp = nn.Sequential(nn.Linear(256, 2048), nn.ReLU(), nn.Linear(2048, 256))
shown = {"two layers": (mlp, (256, 256)), "LeNet-5": (models.LeNet5(), (64, 1, 32, 32))}
image = demo_size(full=(4, 3, 224, 224), small=(1, 3, 224, 224))
shown |= {"ResNet-18": (models.resnet18(), image), "ViT-Ti/16": (models.vit_tiny16(), image)}
print(f"{'MB':<10}{'parameters':>12}{'activations':>13}{'peak':>9}{'efficiency':>12}")
for name, (model, shape) in shown.items():
    row = measure_memory(model, shape)
    weights, left = row["parameter_memory_mb"], row["activation_memory_mb"]
    peak, share = row["peak_memory_mb"], row["memory_efficiency"]
    print(f"{name:<10}{weights:>12.1f}{left:>13.2f}{peak:>9.1f}{share:>12.0%}")
    if model is mlp:
        guesses.compare("left after the pass of two layers", guess_mlp_left, round(left, 2), "MB")

# %% [markdown]
# The memory that is left grows with the batch; the parameters do not.
# In the two layers 4 MB exist while the ReLU writes its result, and half of them are freed.
# In deep models, what is kept adds up over the layers, and the temporary results of one layer hardly show.
#
# ## 3 · What is kept for the backward pass
#
# The gradient of y = x Wᵀ with respect to W is computed from x, so the layer must keep x until the backward pass comes.
# A ReLU must know where its result was 0, a softmax needs its result, a normalization its input and two numbers for each row; a sum needs nothing.
# These are the *saved activations*: not what the layers compute, but what their derivatives will read.
#
# ![Five operations and what each keeps: Linear its input; ReLU its result, which the next Linear keeps too; the addition nothing; softmax its result.](kept.png)
#
# `proflab.saved_tensors(pack, unpack)` calls `pack` with each tensor that is kept.
# Several of them may look at the same memory: one operation keeps what another one made, or a part of it.
# The memory behind a tensor is its *storage*: `t.storage` is an object that is equal for all tensors that share it, and `t.storage.nbytes` is its size.

# %% nbgrader={"grade": false, "grade_id": "demo_saved", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints what each layer keeps for the backward pass.
layers = [nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8), nn.Softmax(-1)]
x, numbers = Tensor.meta((32, 16)), {}


def show(tensor):
    number = numbers.setdefault(tensor.storage, len(numbers))
    print(f"    {str(tensor.shape):<10}{tensor.nbytes:>7,} bytes, storage {number}")
    return tensor


with proflab.saved_tensors(show, lambda tensor: tensor):
    for layer in layers:
        print(layer)
        x = layer(x)

# %% [markdown]
# Which of these are activations?
# Storage 0 is the input, which is there anyway.
# Storage 1 is kept twice but exists once.
# Storage 2 is a parameter.
# That leaves 8,192 + 1,024 = 9,216 bytes.
# All this holds on meta tensors too, which have no data: so you can count what a model would keep even if it could never run here.
#
# **Guess.** ResNet-18 has 44.6 MB of parameters.
# How many MB does it keep for a batch of 8 images of 224 × 224?
# (And is most of it kept in its first layers or in its last?)

# %% tags=["guess"]
guess_resnet18_kept = None  # your guess: MB kept for 8 images


# %% nbgrader={"grade": false, "grade_id": "saved_activations", "locked": false, "schema_version": 3, "solution": true, "task": false}
def saved_activations(model, input_shape):
    """Return the bytes that a forward pass keeps for the backward pass.

    model: a Module, with data or on meta, or any other callable; it stays in the mode (train or
        eval) that it is in, and its parameters stay frozen or not, as they are.
    input_shape: batch first, counted in full.
    Each storage counts once, and as a whole even if only a part of it is kept. Storages of the
    inputs and of the model's parameters, frozen or not, and buffers do not count.
    Returns an int. Runs on meta inputs (lesson 02's meta_inputs, per_sample=False), so that
    nothing is computed. Raises ValueError for what cannot be called and for what is not a shape.

    >>> saved_activations(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), (10, 4))
    320
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
found = saved_activations(pair, (32, 16))
expect("shared by two", found, 8_192, mistakes={"counted once for each that keeps it": 16_384})
found = saved_activations(pair, (1, 16))
expect("one row", found, 256, mistakes={"the input counts": 320, "what is computed, not kept": 544})
found = saved_activations(fake.Parts(), ((2, 3, 4), (2, 2)))
expect("parts of a result keep all of it; two inputs, a buffer", found, 384)
expect("a function", saved_activations(lambda x: pair[0](x).tanh().tanh(), (3, 16)), 1_536)
### BEGIN HIDDEN TESTS
# vary: 7 in 2..14, 6 in 2..12
found = saved_activations(fake.Parts(), ((7, 6, 4), (7, 2)))
expect("a part keeps the whole storage; inputs and buffers do not count", found, 7 * (288 + 96))
same = nn.Linear(8, 8)
thrice = nn.Sequential(same, nn.Tanh(), same, nn.Tanh(), same)
# vary: 10 in 6..15
found = saved_activations(thrice, (10, 8))
expect("a layer that is used three times keeps each of its inputs", found, 640)
# vary: 3 in 2..9
found = saved_activations(lambda x: same(x.exp()).exp(), (3, 8))
expect("a function may be counted, and has no parameters of its own", found, 192)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_saved_activations_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
drop = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Softmax(-1))
expect("a dropout's mask in training", saved_activations(drop, (4, 8)), 160)
expect("a model in training stays in training", drop.training, True)
expect("no mask in eval", saved_activations(drop.eval(), (4, 8)), 128)
expect("a model in eval stays in eval", drop.training, False)
pair = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8))
pair[2].weight.requires_grad = False
expect("a frozen parameter is not an activation", saved_activations(pair, (1, 16)), 256)
expect("a frozen model keeps nothing", saved_activations(pair.requires_grad_(False), (1, 16)), 0)
### BEGIN HIDDEN TESTS
frozen = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
for parameter in frozen[:4].parameters():
    parameter.requires_grad = False
# vary: 10 in 6..15
found = saved_activations(frozen, (10, 8))
expect("frozen layers in front of a trained one keep nothing", found, 320)
# vary: 2 in 2..9
noisy = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2), nn.Dropout(0.1))
# vary: 5 in 2..10
both = [saved_activations(noisy.train(), (5, 8)), saved_activations(noisy.eval(), (5, 8))]
expect("each dropout keeps a mask in training and none in eval", both, [210, 160])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_saved_activations_3", "locked": true, "points": 3.5, "schema_version": 3, "solution": false, "task": false}
with meta():
    resnet18, small = models.resnet18(), models.gpt2("small")
expect("ResNet-18, 8 images", saved_activations(resnet18, (8, 3, 224, 224)), 161_420_800)
expect("no gradient is left in it", resnet18.fc.weight.grad, None)
expect("GPT-2 small, 32 × 128 tokens", saved_activations(small, (32, 128)), 2_744_091_648)
large = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))
with fake.Tracker() as counting:
    saved_activations(large, (8192, 512))
expect_between("MB needed to count 16 MB: nothing is computed", counting.peak_mb, 0, 2)
expect("no hook is left behind", len(autograd.packers), 0)
### BEGIN HIDDEN TESTS
with meta():
    vit = models.vit_tiny16()
found = saved_activations(vit, (8, 3, 224, 224))
expect("in a Vision Transformer, too, each storage counts once", found, 279_834_560)
expect("a batch of 2 keeps a quarter of that", saved_activations(vit, (2, 3, 224, 224)), 69_958_640)
expect("a large model in training stays in training", vit.training, True)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_saved_activations_4", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(512, 512)
expect_table(
    saved_activations,
    ("a batch of 0", (layer, (0, 512)), ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 4 in 4..9
broken = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(3, 4))
expect_raises(
    "sizes that do not fit each other", lambda: saved_activations(broken, (2, 3)), ValueError
)
found = saved_activations(broken[:2], (2, 3))
expect("after an error the next model is counted", found, 32)
left = [len(autograd.packers), broken.training]
expect("an error leaves no hook behind", left, [0, True])
### END HIDDEN TESTS

# %% [markdown]
# Is it right?
# `saved.json`, beside this notebook, holds what torch 2.13.0 keeps for four models, counted by its own hooks.

# %% nbgrader={"grade": false, "grade_id": "zoo", "locked": true, "schema_version": 3, "solution": false, "task": false}
with meta():
    zoo = {"LeNet-5": models.LeNet5(), "ResNet-18": models.resnet18()}
    zoo |= {"ViT-Ti/16": models.vit_tiny16(), "GPT-2 small": models.gpt2("small")}

# %% nbgrader={"grade": false, "grade_id": "demo_reference", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Compares your counts with torch's.
import json
import textwrap

with open("saved.json", encoding="utf-8") as file:
    document = json.load(file)
for row in document["rows"]:
    yours = saved_activations(zoo[row["model"]], tuple(row["input_shape"]))
    print(f"{row['model']}: yours {yours:,}, torch's {row['bytes']:,}, {yours - row['bytes']:,}")
for row in document["differences"]:
    said = f"{row['model']}, {row['op']}: {row['reason']}"
    print(textwrap.fill(said, width=90, subsequent_indent="    "))

# %% [markdown]
# Two models agree to the byte; the other two do once the pooling layers' way to store a place is taken into account.
# Now look where the bytes are.
# ResNet-18 has four stages of two blocks each: what do the first and the last hold, and what do they keep?

# %% nbgrader={"grade": false, "grade_id": "demo_stages", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what the first and the last stage of ResNet-18 hold and keep.
resnet, kept = zoo["ResNet-18"], saved_activations(zoo["ResNet-18"], (8, 3, 224, 224)) / MB
guesses.compare("kept by ResNet-18 for 8 images", guess_resnet18_kept, round(kept, 1), unit="MB")
for stage, channels, side in ("layer1", 64, 56), ("layer4", 256, 14):
    part = getattr(resnet, stage)
    kept = saved_activations(part, (8, channels, side, side)) / MB
    print(f"{stage}: {parameter_memory_mb(part):.1f} MB of parameters, {kept:.1f} MB kept")

# %% [markdown]
# Parameters and activations are not in the same place: at the beginning images are large and channels few, at the end it is the other way round.
# In a Transformer all blocks are alike, but the parts of a block do not grow alike.

# %% nbgrader={"grade": false, "grade_id": "demo_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what attention and the feed-forward part of a block keep, by the number of tokens.
block, kept = zoo["GPT-2 small"].blocks[0], {}
for n in demo_size(full=[64, 128, 256, 512, 1024, 2048], small=[64, 1024]):
    parts = {"attention": block.attn, "feed-forward": block.mlp}
    kept[n] = {name: saved_activations(part, (1, n, 768)) for name, part in parts.items()}
demos.plot_by_part(kept, "tokens", "Kept by one block of GPT-2 small, for one text")

# %% [markdown]
# Attention computes one score for each pair of tokens and each of its *heads*, the parts that attend independently.
# At 1,024 tokens the 12 heads of GPT-2 small keep 12 · 1,024² scores of 4 bytes, 48 MB in each block; with twice the tokens, four times as much.
# Lesson 02 found that scores are the smaller part of the FLOPs; of the memory they are not.
# ([Fused attention](https://arxiv.org/abs/2205.14135), one kernel that does all of attention, never writes them down. That is most of its point.)
#
# ### In torch
#
# ```python
# import torch
# model = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 256))
# with torch.profiler.profile(profile_memory=True) as report:
#     model(torch.randn(256, 256)).sum().backward()
# print(report.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=6))
# ```
#
# [torch.profiler](https://docs.pytorch.org/docs/stable/profiler.html) shows how much memory each operation allocated and freed.
# It adds these up over all calls, so it hides the peak, and who still holds what is left; on a GPU a [memory snapshot](https://docs.pytorch.org/docs/stable/torch_cuda_memory.html) shows both.

# %% [markdown]
# ## 4 · What training takes
#
# Training stores, for each parameter that is trained, a gradient and what the optimizer remembers of it, the *optimizer state*.
# Plain SGD remembers nothing, SGD with momentum one number, Adam and AdamW two: running means of the gradient and of its square ([Kingma and Ba 2015](https://arxiv.org/abs/1412.6980), algorithm 1).
# A frozen parameter has neither.
# In numbers: LeNet-5's 61,706 parameters of 4 bytes take 246,824 bytes, so its state in Adam takes 493,648.
#
# **Guess.** GPT-2 small has 475 MB of parameters.
# How many MB does it take to train it with Adam, before the first activation?

# %% tags=["guess"]
guess_gpt2_adam = None  # your guess: MB of parameters, gradients and state


# %% nbgrader={"grade": false, "grade_id": "optimizer_memory_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def optimizer_memory_mb(model, optimizer):
    """Return the memory of an optimizer's state, in MB of 1024² bytes.

    model: as for count_parameters (lesson 01): a bare Tensor has no parameters. Only parameters
        that are trained (requires_grad) have a state, each once, at its own dtype.
    optimizer: "sgd" (no state), "momentum" (the parameters once), "adam" or "adamw" (twice).
    Returns a float. Raises ValueError for any other optimizer and for what is not a model.

    >>> optimizer_memory_mb(nn.Linear(1023, 256), "adam")  # 1 MB of parameters
    2.0
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


# %% nbgrader={"grade": true, "grade_id": "test_optimizer_memory_mb", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(511, 1024)  # 512 × 1,024 parameters: 2 MB
found = [optimizer_memory_mb(layer, name) for name in ("sgd", "momentum", "adam", "adamw")]
expect("all four optimizers", found, [0.0, 2.0, 4.0, 4.0])
half = nn.Sequential(nn.Linear(511, 1024).requires_grad_(False), nn.Linear(1023, 256))
frozen = optimizer_memory_mb(half, "adam")
expect("the first layer is frozen", frozen, 2.0, mistakes={"frozen parameters have a state": 6.0})
tied, short = (Tensor(np.zeros((7, 11)), True, kind) for kind in (np.float64, np.float16))
states = [
    optimizer_memory_mb(doubles.OnlyParameters(tied, tied), "momentum"),
    optimizer_memory_mb(doubles.OnlyParameters(short), "adam"),
]
expect("each parameter once, in float64; in float16", states, [616 / 1024**2, 308 / 1024**2])
huge = doubles.OnlyParameters(Tensor.meta((2**28, 3), requires_grad=True))
expect("more than 2³¹ bytes", optimizer_memory_mb(huge, "momentum"), 3072.0)
nothing = [optimizer_memory_mb(model, "adam") for model in (nn.ReLU(), tied)]
expect("a ReLU and a bare Tensor have no parameters", nothing, [0.0, 0.0])
### BEGIN HIDDEN TESTS
# vary: 256 in 170..384, 1024 in 682..1_536
shared = Tensor(np.zeros((256, 1024), np.float32), requires_grad=True)
double = Tensor(np.zeros(2**16), True, np.float64)
mixed = doubles.OnlyParameters(shared, double, shared, Tensor(np.zeros(2**18), True, np.float16))
expect("each parameter counts once, at its own dtype", optimizer_memory_mb(mixed, "momentum"), 2.0)
# vary: 1023 in 682..1_534, 768 in 512..1_152
wide = optimizer_memory_mb(nn.Linear(1023, 768), "adamw")
expect("AdamW keeps as much as Adam", wide, 6.0)
none = [optimizer_memory_mb(nn.Tanh(), "adamw"), optimizer_memory_mb(shared, "momentum")]
expect("without parameters there is no state", none, [0.0, 0.0])
with meta():
    gpt2 = models.gpt2("medium")
found = optimizer_memory_mb(gpt2, "adam")
expect("GPT-2 medium: Adam keeps two numbers a parameter", found, 2 * 354_823_168 * 4 / 1024**2)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_optimizer_memory_mb_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
layer = nn.Linear(511, 1024)
expect_table(
    optimizer_memory_mb,
    (
        "3 is not a model; whatever else is refused",
        [(3, "sgd"), (layer, "adamax"), (layer, "Adam"), (layer, ""), (nn.ReLU(), "rmsprop")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 255 in 170..382, 512 in 341..768
small = nn.Linear(255, 512)  # 256 × 512 parameters: 0.5 MB
expect("a whole name is a name", optimizer_memory_mb(model=small, optimizer="adam"), 1.0)
expect("adamw is the name of another", optimizer_memory_mb(small, "adamw"), 1.0)
### END HIDDEN TESTS

# %% [markdown]
# Now add up: parameters, gradients, optimizer state, and what a forward pass keeps.
# That is what training takes, apart from temporary results.
# **Guess.** With Adam, from which batch on do ResNet-18's activations (images of 224 × 224) take more than everything else together?

# %% tags=["guess"]
guess_batch = None  # your guess: images in the batch


# %% nbgrader={"grade": false, "grade_id": "training_memory", "locked": false, "schema_version": 3, "solution": true, "task": false}
def training_memory(model, input_shape, optimizer, activation_mb=None):
    """Return what training a model takes, by its parts.

    model, input_shape: as for saved_activations, in the mode that the model is in; optimizer: as
        for optimizer_memory_mb.
    activation_mb: the memory of the activations if it is known, at least 0; input_shape is not
        used then. None: count it.
    Returns a dict of floats in MB of 1024² bytes: parameter_mb (of all parameters), gradient_mb
    (of those that are trained), optimizer_mb, activation_mb, and total_mb, their sum.
    Raises ValueError as these two functions do, and for a negative activation_mb.

    >>> training_memory(nn.Linear(1023, 256), None, "adam", activation_mb=3)["total_mb"]
    7.0
    """
    ### BEGIN SOLUTION
    if activation_mb is None:
        activation_mb = saved_activations(model, input_shape) / MB
    if activation_mb < 0:
        raise ValueError(f"activations cannot take {activation_mb} MB")
    parts = {
        "parameter_mb": parameter_memory_mb(model),
        "gradient_mb": optimizer_memory_mb(model, "momentum"),  # one number each, as here
        "optimizer_mb": optimizer_memory_mb(model, optimizer),
        "activation_mb": float(activation_mb),
    }
    return parts | {"total_mb": sum(parts.values())}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_training_memory", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
with meta():
    small, resnet = models.gpt2("small"), models.resnet18()
found = training_memory(small, (8, 128), "adam", activation_mb=200)
total = found["total_mb"]
expect("Adam", total, 2098.80, abs=0.01, mistakes={"no gradients, or half the state": 1624.10})
shares = [found[f"{part}_mb"] for part in ("parameter", "gradient", "optimizer")]
expect("parameters, gradients, state", shares, [124_439_808 / 2**18] * 2 + [124_439_808 / 2**17])
count = {"saved_activations": lambda model, input_shape: 686_171_136}  # whatever yours says
counted = doubles.using(training_memory, **count)(small, (8, 128), "sgd")
expect("SGD, counted", counted["total_mb"], (124_439_808 * 8 + 686_171_136) / 1024**2)
### BEGIN HIDDEN TESTS
found = counted["activation_mb"]
expect("activations are counted where none are given", found, 686_171_136 / 1024**2)
# vary: 161420800 in 110_000_000..240_000_000
count = {"saved_activations": lambda model, input_shape: 161_420_800}
found = doubles.using(training_memory, **count)(resnet, (8, 3, 224, 224), "momentum")["total_mb"]
expect(
    "momentum: the sum is three copies and the activations",
    found,
    (3 * 11_689_512 * 4 + 161_420_800) / 1024**2,
)
# viva: training_memory(nn.Linear(1023, 256), None, 'adam', 3)['total_mb']
# viva: training_memory(nn.Linear(1023, 256), None, 'sgd', 5)['total_mb']
# viva: training_memory(nn.Linear(1023, 512), None, 'momentum', 0)['optimizer_mb']
# viva: training_memory(nn.Linear(511, 1024), None, 'adamw', 2.5)['total_mb']
# viva: training_memory(nn.Linear(511, 1024).requires_grad_(False), None, 'adam', 1)['total_mb']
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_training_memory_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
layer = nn.Sequential(nn.Linear(511, 1024), nn.Dropout(0.5))
found = training_memory(layer, (64, 511), "adamw", activation_mb=0)
expect("0 MB of activations, as given", [found["activation_mb"], found["total_mb"]], [0.0, 8.0])
masks = [training_memory(layer.train(on), (1024, 511), "sgd") for on in (True, False)]
kept = [found["activation_mb"] for found in masks]
expect("a model in training keeps a mask, in eval none", kept, [1.0, 0.0])
half = nn.Sequential(*layer.requires_grad_(False), nn.Linear(1024, 512, bias=False))
found = training_memory(half, (512, 511), "momentum")
keys = ["parameter_mb", "gradient_mb", "optimizer_mb", "activation_mb", "total_mb"]
expect("only the last layer is trained", [found[key] for key in keys], [4.0, 2.0, 2.0, 2.0, 10.0])
expect("no shape is used", training_memory(half, None, "sgd", 0.5)["total_mb"], 6.5)
as_it_was = [layer.training, *[p.requires_grad for p in half.parameters()]]
expect("the model stays as it is, in eval, too", as_it_was, [False, False, False, True])
### BEGIN HIDDEN TESTS
# vary: 1024 in 682..1_536, 256 in 170..384
tuned = nn.Sequential(nn.Linear(511, 1024), nn.ReLU(), nn.Linear(1024, 256, bias=False))
tuned[0].weight.requires_grad = tuned[0].bias.requires_grad = False
found = training_memory(tuned, (1024, 511), "adam")
found = [found[key] for key in keys]
expect("only what is trained has a gradient and a state", found, [3.0, 1.0, 2.0, 4.0, 10.0])
# vary: 2048 in 1_365..3_072
noisy = nn.Sequential(nn.Linear(511, 2048), nn.Dropout(0.5))
# vary: 1024 in 682..1_536
found = training_memory(noisy, (1024, 511), "sgd")["activation_mb"]
expect("in training a mask of bytes is kept", found, 2.0)
training_memory(noisy.eval(), (2, 511), "sgd")
expect("the model stays in eval", noisy.training, False)
# vary: 0.5 in 0.333..0.75
found = training_memory(tuned, None, "sgd", 0.5)["total_mb"]
expect("activations that are given need no shape", found, 4.5)
# vary: 511 in 340..766, 1024 in 682..1_536
momentum = training_memory(nn.Linear(511, 1024), None, "momentum", 0)["total_mb"]
expect("momentum has one copy more", momentum, 6.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_training_memory_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
given, shape = nn.Linear(511, 1024), (4, 511)
expect_table(
    training_memory,
    (
        "no such optimizer; a given memory below 0; a batch of 0",
        [(given, shape, "ada", 0), (given, shape, "adam", -0.5), (given, (0, 511), "adam")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9
expect("known activations are added", training_memory(given, None, "adam", 3)["total_mb"], 11.0)
options = {"optimizer": "sgd", "activation_mb": 0.25}
found = training_memory(model=given, input_shape=shape, **options)["total_mb"]
expect("a quarter of a MB may be given by name", found, 4.25)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_training", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the parts of a training step of five models: the picture at the top.
with meta():
    zoo["GPT-2 XL"] = models.gpt2("xl")
shapes = {"LeNet-5, 64 images": (64, 1, 32, 32)}
shapes |= {f"{name}, 32 images": (32, 3, 224, 224) for name in ("ResNet-18", "ViT-Ti/16")}
shapes |= {"GPT-2 small, 8 × 128 tokens": (8, 128), "GPT-2 XL, 1 × 128 tokens": (1, 128)}
rows = {name: training_memory(zoo[name.split(",")[0]], shapes[name], "adam") for name in shapes}
fixed = round(training_memory(zoo["GPT-2 small"], None, "adam", 0)["total_mb"], 1)
guesses.compare("GPT-2 small with Adam, without activations", guess_gpt2_adam, fixed, unit="MB")
one = training_memory(zoo["ResNet-18"], (1, 3, 224, 224), "adam")  # one image
crossing = int(one["total_mb"] / one["activation_mb"])
guesses.compare("images from which on activations are the larger part", guess_batch, crossing)
demos.plot_training(rows)

# %% [markdown]
# This is the picture from the top.
# In a small model on images nearly everything is activations, and the batch has to shrink.
# In a large language model on few tokens nearly everything is the four copies of its parameters, 16 bytes for each, of which the weights are 4 (in *mixed precision*, which computes in 16 bits, it is 16 as well: 2 for weights, 2 for gradients, 12 for a float32 copy and the two averages); no batch is small enough.
# A sum of parts is a claim, too.
# So watch a real training: two steps of ResNet-18 with Adam, with a hook that reads the `MemoryTracker` after each operation.

# %% nbgrader={"grade": false, "grade_id": "demo_timeline", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the memory of two training steps, operation by operation.
timeline = demos.Timeline()
with MemoryTracker() as tracker, dispatch.hook(timeline.read):
    model = models.resnet18()
    optimizer = optim.Adam(model.parameters())
    x = example_input(model, demo_size(full=(16, 3, 64, 64), small=(2, 3, 64, 64)))
    for _ in range(2):
        demos.training_step(model, x, optimizer, timeline.ends)
total = training_memory(model, x, "adam")["total_mb"]
print(f"sum of the parts: {total:.0f} MB; peak that was measured: {tracker.peak_mb:.0f} MB")
del model, optimizer, x  # so that their memory is free again
demos.plot_timeline(timeline, "Two training steps of ResNet-18, operation by operation")

# %% [markdown]
# In the forward pass memory climbs; in the backward pass activations are freed while gradients appear.
# The first step of Adam puts its state on top, where it stays, so the second step starts higher.
# The sum takes every part at its largest, which they never all are at once, and leaves out temporary results, such as gradients of activations and the windows that a convolution copies.
# So it comes close to the peak without being equal to it.
#
# **Take a break here.** What follows needs only `MemoryTracker` from section 1, and from section 3 what a forward pass keeps.
#
# ## 5 · What the system sees
#
# The operating system knows nothing of arrays.
# It counts *pages*, blocks of memory of usually 4,096 bytes, that a process has touched and that are in RAM: the process's *resident set size*, RSS.
# When no RAM is left, this number decides which process is killed.
# RSS includes Python itself, libraries, and what they allocate behind tracemalloc's back.
# It leaves out what was asked for and never touched.
# And it seldom falls at once, because freed memory is kept for the next request.
#
# **Guess.** By how many MB does RSS grow when `np.empty` asks for 200 MB?
# And once the array is filled?
#
# [psutil](https://psutil.readthedocs.io) reads it: `psutil.Process().memory_info().rss`, in bytes.
# The given `MemoryProfiler` notes a label, the time and this number at each `snapshot`; its `report` is the table that you write.
# A process that grows by 2 MB in 0.5 s grows by 4 MB/s: with the *rate* you say when a limit will be reached.

# %% tags=["guess"]
guess_empty_rss = None  # your guess: MB by which RSS grows after np.empty of 200 MB

# %% nbgrader={"grade": false, "grade_id": "psutil", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson.machine import psutil  # where it is missing: what the system tells


# %% nbgrader={"grade": false, "grade_id": "memory_table", "locked": false, "schema_version": 3, "solution": true, "task": false}
def memory_table(snapshots):
    """Return what a process's resident memory was over time, a row for each snapshot.

    snapshots: a list of (label, second, bytes) tuples, at least one, in the order in which they
        were taken; a label may come again. The clock may begin anywhere; seconds do not fall.
    Returns a list of dicts with label; seconds, since the first snapshot; rss_mb, in MB of 1024²
    bytes; delta_mb, the growth since the snapshot before, 0.0 for the first; and mb_per_s, this
    growth by the seconds in which it came, 0.0 for the first and where no time has passed. All but
    the labels are floats, not rounded.

    >>> memory_table([("start", 100.0, 20 * MB), ("loaded", 102.0, 35 * MB)])[1]["mb_per_s"]
    7.5
    """
    ### BEGIN SOLUTION
    rows = []
    _, first, size = snapshots[0]
    before = first
    for label, second, resident in snapshots:
        delta, passed = (resident - size) / MB, second - before
        row = {"label": label, "seconds": float(second - first), "rss_mb": resident / MB}
        row |= {"delta_mb": delta, "mb_per_s": delta / passed if passed else 0.0}
        rows.append(row)
        before, size = second, resident
    return rows
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_memory_table", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
script = [("baseline", 7.5, 110.5), ("forward", 8.0, 150.25), ("forward", 10.0, 130.25)]
noted = [(label, second, int(mb * MB)) for label, second, mb in [*script, ("end", 10.0, 131.25)]]
rows = memory_table(noted)
expect(
    "the first row",
    rows[0],
    {"label": "baseline", "seconds": 0.0, "rss_mb": 110.5, "delta_mb": 0.0, "mb_per_s": 0.0},
)
expect(
    "labels, one of them twice",
    [row["label"] for row in rows],
    ["baseline", "forward", "forward", "end"],
)
expect(
    "seconds since the first",
    [row["seconds"] for row in rows],
    [0.0, 0.5, 2.5, 2.5],
    mistakes={
        "the clock's own": [7.5, 8.0, 10.0, 10.0],
        "since the one before": [0.0, 0.5, 2.0, 0.0],
    },
)
expect("MB", [row["rss_mb"] for row in rows], [110.5, 150.25, 130.25, 131.25])
expect(
    "growth, up and down",
    [row["delta_mb"] for row in rows],
    [0.0, 39.75, -20.0, 1.0],
    mistakes={"over the first snapshot": [0.0, 39.75, 19.75, 20.75]},
)
expect(
    "MB a second",
    [row["mb_per_s"] for row in rows],
    [0.0, 79.5, -10.0, 0.0],
    mistakes={"by the seconds since the first": [0.0, 79.5, -8.0, 0.4]},
)
from_zero = memory_table([("a", 0.0, MB), ("b", 4.0, MB), ("c", 6.0, MB)])
expect("a clock that begins at 0", [row["seconds"] for row in from_zero], [0.0, 4.0, 6.0])
expect("the snapshots stay as they are", [len(noted), noted[0][0]], [4, "baseline"])
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 64 in 16..512
rows = memory_table([("a", -3, 64 * MB), ("b", 1, 64 * MB), ("a", 5, 0)])
expect(
    "a clock may begin below 0, and seconds are floats",
    [row["seconds"] for row in rows],
    [0.0, 4.0, 8.0],
)
expect(
    "a process that stays has no rate, one that shrinks a negative one",
    [row["mb_per_s"] for row in rows],
    [0.0, 0.0, -16.0],
)
rows = memory_table([("once", 3.25, 4096)])
expect(
    "one snapshot is a table of one row, and nothing is rounded",
    [[row["rss_mb"], row["mb_per_s"]] for row in rows],
    [[4096 / 1024**2, 0.0]],
)
# viva: memory_table([('a', 1.0, 10 * MB), ('b', 3.0, 16 * MB)])[1]['mb_per_s']
# viva: memory_table([('a', 2.0, 10 * MB), ('b', 3.0, 16 * MB), ('c', 7.0, 8 * MB)])[2]['delta_mb']
# viva: memory_table([('a', 2.0, 10 * MB), ('b', 3.0, 16 * MB), ('c', 7.0, 8 * MB)])[2]['seconds']
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "memory_profiler", "locked": true, "schema_version": 3, "solution": false, "task": false}
import time


class MemoryProfiler:
    """Note this process's resident memory, and when it was so, at moments that have a name."""

    def __init__(self):
        self.snapshots = []

    def snapshot(self, label):
        rss = psutil.Process().memory_info().rss
        self.snapshots.append((label, time.perf_counter(), rss))

    def report(self):
        """Print the table of `memory_table`, and return it."""
        rows = memory_table(self.snapshots)
        for row in rows:
            print("{seconds:9.3f} s {rss_mb:9.1f} MB {delta_mb:+9.1f} MB  {label}".format(**row))
        return rows


# %% nbgrader={"grade": false, "grade_id": "demo_promise", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws what both meters show: an array that is asked for, filled and freed, then a training step.
model, x = models.resnet18(), Tensor(np.ones((demo_size(full=16, small=2), 3, 64, 64), np.float32))
optimizer, meters = optim.Adam(model.parameters()), demos.BothMeters(MemoryProfiler())
with MemoryTracker():
    meters.note("baseline")
    promised = np.empty(demo_size(full=200, small=20) * MB, np.uint8)
    meters.note("asked_for")
    promised[:] = 1
    meters.note("filled")
    del promised
    meters.note("freed")
    demos.training_step(model, x, optimizer, meters.note)
rows = meters.profiler.report()
guesses.compare("RSS grown by np.empty", guess_empty_rss, round(rows[1]["delta_mb"], 1), "MB")
demos.plot_meters(rows, meters.traced, "An array, then a training step of ResNet-18")

# %% [markdown]
# The system gives a page when the page is first written to, and a block as large as this one goes back when it is freed; small blocks seldom do.
# So the two meters need not agree: memory that was given back may be used again without RSS growing, and what is freed may stay resident.
# Run the cell again and compare.
# To learn *how much does this take*, ask the meter; to learn *will it be killed*, ask the system.
#
# ## 6 · What grows
#
# A *memory leak*, in Python, is memory that somebody still holds and nobody will use.
# The classic is in validation, where no `backward()` follows: `losses.append(loss)` holds each loss, through the loss the graph, and through the graph all that the forward pass kept.
# (After `backward()` the same line holds little: saved tensors are freed then, in torch as here.)
# Nothing fails at first.
# After some hours the process is killed, and its last line of output has nothing to do with it.
#
# You find a leak by comparing.
# What is allocated now that was not some steps ago, and which code asked for it?
# `tracemalloc.take_snapshot()` returns all blocks with the call stacks that allocated them, as deep as `frames` said at the start (25 is deep enough here).
# `later.compare_to(earlier, "traceback")` returns rows with `size_diff`, in bytes, and `traceback`.
# The innermost frame is often in a library; `own_function(traceback)` returns the name of the innermost function that is yours.

# %% nbgrader={"grade": false, "grade_id": "own_function", "locked": true, "schema_version": 3, "solution": false, "task": false}
from proflab.lesson.tracebacks import own_function


# %% nbgrader={"grade": false, "grade_id": "find_leak", "locked": false, "schema_version": 3, "solution": true, "task": false}
def find_leak(step, steps):
    """Return how much more memory each step leaves allocated, and which function allocates it.

    step: a function without arguments. It is called once, already traced, for what only the first
        call makes and keeps (a cache, an optimizer's state), then `steps` times (at least 1).
    Returns a dict: bytes_per_step (float), the growth in those `steps` calls, on average (what a
    step frees or replaces is no growth); and function, the name of the function (by own_function)
    whose allocations grew most, all its lines together, or None if less than a page, 4,096 bytes,
    is left in a step. Raises ValueError for steps below 1. Tracing that was off is off afterwards,
    even when step raises; if it was on, it goes on, also for a tracker around the call.

    >>> step = fake.LeakyStep(kept={"remember": 1}, freed={"work": 9})  # two functions, in MB
    >>> find_leak(step, 4)["function"]
    'remember'
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
    grown = {}
    for row in rows:
        name = own_function(row.traceback)
        grown[name] = grown.get(name, 0) + row.size_diff
    rate = sum(grown.values()) / steps
    worst = max(grown, key=grown.get) if rate >= 4096 else None
    return {"bytes_per_step": rate, "function": worst}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_find_leak", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
search = doubles.using(find_leak, MemoryTracker=fake.Tracker)
leaks = {"kept": {"log": 0.25}, "through_numpy": {"remember": 1}, "once": {"load": 20}}
step = fake.LeakyStep(freed={"augment": 8}, replaced={"prepare": 30}, **leaks)
found = search(step, 5)
who, rate = found["function"], found["bytes_per_step"] / MB
expect("who", who, "remember", mistakes={"it frees it all": "augment", "it replaces it": "prepare"})
expect("MB", rate, 1.25, rel=0.01, mistakes={"all steps together": 6.25, "6 steps in 5": 1.5})
expect("one step comes first", step.calls, 6)
clean = search(fake.LeakyStep(freed={"augment": 8}, once={"cache": 4}), 5)
expect("no leak", clean["function"], None)
expect_between("and hardly a byte", clean["bytes_per_step"], -4096, 4096)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9
busy = fake.LeakyStep(replaced={"prepare": 30}, once={"warm_up": 20}, kept={"keep_history": 2})
# vary: 4 in 2..9
found = search(busy, 4)
expect("what is replaced in each step is not a leak", found["function"], "keep_history")
rate = found["bytes_per_step"]
expect("what only the first call makes is not growth", rate, 2 * 1024**2, rel=0.01)
library = fake.LeakyStep(kept={"note": 0.2}, through_numpy={"collect": 0.6}, freed={"work": 9})
found = search(library, 3)["function"]
expect("memory that a library allocates is its caller's", found, "collect")
with MemoryTracker():
    nothing = find_leak(lambda: None, 4)["function"]
expect("a step that does nothing leaks nothing", [nothing, tracemalloc.is_tracing()], [None, False])
# viva: find_leak(fake.LeakyStep(kept={'log': 1}, freed={'work': 9}), 4)['function']
# viva: find_leak(fake.LeakyStep(kept={'log': 1, 'parse': 2}), 3)['function']
# viva: find_leak(fake.LeakyStep(freed={'work': 9}, once={'load': 20}), 3)['function']
# viva: round(find_leak(fake.LeakyStep(kept={'log': 1, 'parse': 2}), 3)['bytes_per_step'] / MB)
# viva: round(find_leak(fake.LeakyStep(kept={'log': 2}, once={'load': 20}), 4)['bytes_per_step'] /
#     MB)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_find_leak_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
leak_of = doubles.using(find_leak, MemoryTracker=fake.Tracker)
lines = fake.LeakyStep(kept={"single": 0.03}, kept_by_lines={"parse": 0.05})
expect("a function's forty lines count together", leak_of(lines, 4)["function"], "parse")
few = fake.LeakyStep(kept={"block": 1}, kept_in_pieces={"crumbs": 0.3})
found = leak_of(step=few, steps=12)["function"]
expect("bytes count, not objects", found, "block", mistakes={"the most objects": "crumbs"})
slow = [fake.LeakyStep(kept_in_pieces={"collect": mb}) for mb in (0.01, 0.002)]
expect("10 KB and 2 KB a step", [leak_of(s, 9)["function"] for s in slow], ["collect", None])
model, results = doubles.Allocating(graph_mb=1, output_mb=0.5), []
held = find_leak(lambda: results.append(model(proflab.zeros(2))), 3)["bytes_per_step"]
expect("a result that is held, and its graph", held / MB, 1.5, rel=0.01)
with fake.Tracker() as enclosing:
    held = doubles.block(2)
    find_leak(fake.LeakyStep(freed={"work": 3}), 1)
expect("a tracker around it goes on", enclosing.peak_mb, 5.0, rel=0.02)
traced = "no error came"
try:
    find_leak(fake.LeakyStep(fails_at=2), 3)
except KeyError:
    traced = tracemalloc.is_tracing()
expect("after an error in a step tracing is off", traced, False)
### BEGIN HIDDEN TESTS
lines = fake.LeakyStep(kept={"single": 1.25}, kept_by_halves={"double": 2})
expect("a function's two lines count together", leak_of(lines, 3)["function"], "double")
steps = [{"replaced": {"buffer": 16}}, {"kept": {"trickle": 0.01}}, {"kept": {"drip": 0.0006}}]
names = [leak_of(fake.LeakyStep(**step), 20)["function"] for step in steps]
expect("less than 4,096 bytes a step is no leak, more is one", names, [None, "trickle", None])
# vary: 0.5 in 0.333..0.75
pieces = fake.LeakyStep(kept={"block": 0.5}, kept_in_pieces={"crumbs": 0.75}, freed={"work": 3})
# vary: 4 in 2..9
found = leak_of(pieces, 4)
expect("many small blocks of one function count together", found["function"], "crumbs")
rate = found["bytes_per_step"]
expect("small blocks count in bytes_per_step", rate, 1.25 * 1024**2, rel=0.01)
many = fake.LeakyStep(kept={"one": 1, "two": 1.1}, kept_by_lines={"all": 1.5})
expect("many lines that each keep little count together", leak_of(many, 3)["function"], "all")
# vary: 2 in 2..9, 0.25 in 0.167..0.375, 4 in 2..9
network = doubles.Allocating(graph_mb=2, output_mb=0.25, scratch_mb=4)
# vary: 2 in 2..9, 4 in 2..9
found = find_leak(fake.holding("evaluate", network, proflab.zeros(2, 2)), 4)
expect("a graph that is held is its holder's leak", found["function"], "evaluate")
rate = found["bytes_per_step"]
expect("a held output leaks itself and what its graph keeps", rate, 2.25 * 1024**2, rel=0.01)
with fake.Tracker() as enclosing:
    # vary: 1.5 in 1.0..2.25
    held = doubles.block(1.5)
    # vary: 6 in 2..12
    find_leak(fake.LeakyStep(freed={"work": 6}), 2)
    tracing = tracemalloc.is_tracing()
around = [enclosing.peak_mb, enclosing.current_mb, tracing]
expect("inside a tracker tracing goes on, and nothing is lost", around, [7.5, 1.5, True], rel=0.02)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_find_leak_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
failing = fake.LeakyStep(fails_at=3, kept={"remember": 1})
expect_table(
    find_leak,
    ("an error in a step passes", [(failing, 5)], KeyError),
    ("no steps, fewer than none", [(failing, 0), (failing, -2)], ValueError),
)
### BEGIN HIDDEN TESTS
late = fake.LeakyStep(fails_at=2, freed={"work": 4})
expect_raises("an error in the second call passes, too", lambda: find_leak(late, 3), KeyError)
ended = [late.calls, tracemalloc.is_tracing()]
expect("after an error no step follows, and nothing is traced", ended, [2, False])
found = find_leak(fake.LeakyStep(kept={"again": 1}), 2)["function"]
expect("after an error the next leak is found", found, "again")
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_leak", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what four ways to note a loss leave behind in each step.
model, losses, x = models.LeNet5(), [], proflab.zeros(demo_size(full=16, small=2), 1, 32, 32)


def validate():
    losses.append((model(x) ** 2).mean())
    return losses[-1]


steps = {"validate": validate, "train": lambda: validate().backward()}
steps["without a graph"] = proflab.no_grad()(validate)
steps["for the number"] = lambda: losses.append((model(x) ** 2).mean().item())
for name, step in steps.items():
    found = find_leak(step, 8)
    print(f"{name}: {found['bytes_per_step'] / 1024:,.1f} KB a step, by {found['function']}")

# %% [markdown]
# In `validate` each loss holds all that its forward pass kept.
# In `train` `backward()` has emptied the graph, of which a few kilobytes of nodes are left.
# `no_grad` makes no graph, and a number holds nothing.
#
# ## 7 · Work for memory
#
# Activations need not be kept: they can be computed again.
# *Checkpointing* ([Chen et al. 2016](https://arxiv.org/abs/1604.06174)) cuts the layers into segments and keeps only each segment's input.
# When the backward pass reaches a segment, it runs that segment's forward pass once more, from its input, and then has all that it needs.
#
# ![Above, what all eight layers of a model keep. Below, in two segments of four, only the input of the second segment is kept and, while that runs again, what its four layers keep.](segments.png)
#
# The heart of it comes first: the gradients of one segment, from its input alone.
# `autograd.grad(y, tensors, grad)` returns the gradients of `tensors`, given the gradient `grad` of y; each of the tensors must require one.
# In a backward pass nothing is recorded, except inside `with proflab.enable_grad():`.
#
# <details><summary>Hint 1: what does the backward pass lack?</summary>
#
# Only x is left of the segment's forward pass: no results, no graph.
# What do you have to do, and under which switch, before there is a y that you can ask `autograd.grad` about?
#
# </details>
# <details><summary>Hint 2: what shape has the answer?</summary>
#
# Two lists.
# A short one of the tensors that require a gradient, which you may ask for; and the result, as long as 1 + len(parameters), in which the short list's answers go to their places and None to all others.
# What if the short list is empty?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "recomputed_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false}
def recomputed_gradients(run, x, parameters, grad):
    """Return the gradients of a segment of a model, by running the segment once more.

    run: the segment, a function of x; it is called once. x: its input, a leaf. parameters: tensors,
        each once, that run may use and that may require a gradient. grad: that of run(x).
    Returns a list of Tensors: the gradient of x, then those of the parameters, in order; None for
    each tensor that requires none or that run does not use. Every `.grad` stays as it is. Works
    also where nothing is recorded, as in a backward pass, and leaves that as it is.

    >>> x = Tensor([3.0], requires_grad=True)
    >>> recomputed_gradients(lambda x: x * x, x, [], grad=Tensor([1.0]))[0].tolist()
    [6.0]
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


# %% nbgrader={"grade": true, "grade_id": "test_recomputed_gradients", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
a, w = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 5.0], requires_grad=True)
with proflab.no_grad():
    found = recomputed_gradients(lambda x: x * x * w, a, [w], Tensor([1.0, 10.0]))
    recorded = proflab.is_grad_enabled()
expect("the gradient of x", found[0].tolist(), [6.0, 200.0])
expect("the gradient of w", found[1].tolist(), [1.0, 40.0])
expect("no .grad is set", [a.grad, w.grad], [None, None])
expect("recording stays off", recorded, False)
### BEGIN HIDDEN TESTS
b = Tensor([4.0, 0.5], requires_grad=True)
found = recomputed_gradients(lambda x: x * w * w + b, a, [b, w], Tensor([2.0, 1.0]))
lists = [g.tolist() for g in found]
expect("gradients are in order", lists, [[18.0, 25.0], [2.0, 1.0], [12.0, 20.0]])
expect("recording that was on stays on", [a.requires_grad, proflab.is_grad_enabled()], [True, True])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_recomputed_gradients_2", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
v, c = Tensor([3.0, 5.0], requires_grad=True), Tensor([7.0, 8.0])
spare, calls = Tensor([1.0], requires_grad=True), []
v.grad = Tensor([0.25, 0.5])
found = recomputed_gradients(lambda x: calls.append(1) or x * v, c, [c, spare, v], c)
some = [g if g is None else g.tolist() for g in found]
expect("only v requires a gradient and is used", some, [None, None, None, [49.0, 64.0]])
expect("run is called once", len(calls), 1)
expect("a .grad that is there stays", v.grad.tolist(), [0.25, 0.5])
### BEGIN HIDDEN TESTS
# vary: 2.0 in 1.33..3.0, 4.0 in 2.67..6.0
data, fixed = Tensor([2.0, 4.0]), Tensor([7.0, 7.0])
unused = Tensor([1.0], requires_grad=True)
# vary: 0.5 in 0.333..0.75
v.grad = Tensor([0.5, 0.5])
# vary: 3.0 in 2.0..4.5
found = recomputed_gradients(lambda x: (x * v + fixed).sum(), data, [fixed, v, unused], Tensor(3.0))
lists = [None if g is None else g.tolist() for g in found]
expect(
    "what requires no gradient, or is not used, gets None", lists, [None, None, [6.0, 12.0], None]
)
expect("a .grad that was there stays", v.grad.tolist(), [0.5, 0.5])
counted = []
recomputed_gradients(lambda x: counted.append(1) or x * v, c, [v], Tensor([1.0, 1.0]))
expect("the segment runs once", len(counted), 1)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_recomputed_gradients_3", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
u, d = Tensor([3.0, 5.0], requires_grad=True), Tensor([7.0, 8.0])
expect("nothing requires one", recomputed_gradients(lambda x: x + d, d, [d], d), [None, None])
listed = [u, d]
recomputed_gradients(run=lambda x: x * u, x=d, parameters=listed, grad=d)
expect("the list stays as it is", [len(listed), listed[0] is u, listed[1] is d], [2, True, True])
### BEGIN HIDDEN TESTS
data, fixed = Tensor([2.0, 4.0]), Tensor([7.0, 7.0])
found = recomputed_gradients(lambda x: x * fixed + fixed, data, [fixed, data], data)
expect("where nothing requires a gradient, all are None", found, [None, None, None])
found = recomputed_gradients(lambda x: x + 1.0, data, [], data)
expect("a segment may have no parameters", found, [None])
### END HIDDEN TESTS

# %% [markdown]
# A `Function` is an operation with its own backward pass.
# This one keeps only its input, and asks `recomputed_gradients` for the gradients.


# %% nbgrader={"grade": false, "grade_id": "Recompute", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Recompute(proflab.Function):
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
# `checkpointed` cuts a list of layers into segments of one length, of which the last may be shorter, and runs each of them through `Recompute`.
#
# **Guess.** Of 36 equal layers, which length of a segment needs the least memory at the peak of a training step?

# %% tags=["guess"]
guess_segment = None  # your guess: layers in a segment, of 36


# %% nbgrader={"grade": false, "grade_id": "checkpointed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def checkpointed(layers, every):
    """Return a function that computes what the layers compute in a row, with less memory.

    layers: a list of Modules that draw no random numbers; one Module may stand in it several times.
    every: int, at least 1: so many layers make a segment; the last segment may be shorter.
    Returns a function of one tensor. Of each segment only its input is kept for the backward pass,
    which runs each segment once more. The gradients are those that the layers give without it, for
    whatever requires one: parameters, and the input. (So each segment's parameters go to
    Recompute, each of them once.) Raises ValueError if there are no layers or `every` is below 1.

    >>> run = checkpointed([nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2)], every=2)
    >>> run(proflab.ones(3, 4)).shape
    (3, 2)
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


# %% nbgrader={"grade": true, "grade_id": "test_checkpointed", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
layers = [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(8)]
rows = Tensor(np.random.default_rng(1).standard_normal((32, 64)))
x, plain, run = example_input(None, (1024, 64)), nn.Sequential(*layers), checkpointed(layers, 4)
expect("the same gradients", fake.furthest(run, layers, rows), 0.0, abs=1e-5)
held = [fake.held_mb(model, x) for model in (plain, run)]
expect("MB held: eight results; one input and the output", held, [2.0, 0.5], rel=0.05)
costs = [training_flops(model, (1024, 64), input_grad=True) / 65_536 for model in (plain, run)]
expect("FLOPs in forward passes", costs, [3.0, 4.0])
held = [fake.held_mb(checkpointed(layers, every), x) for every in (1, 3, 20)]
expect("MB held one by one, in threes, in one segment", held, [2.0, 0.75, 0.25], rel=0.05)
expect("the list stays as it is", [len(layers), layers[3] is plain[3]], [8, True])
expect_table(
    checkpointed,
    ("no layers; segments of 0, and less", [([], 2), (layers, 0), (layers, -3)], ValueError),
)
### BEGIN HIDDEN TESTS
rows.requires_grad = True
found = [fake.furthest(checkpointed(layers, n), layers, rows) for n in (1, 3, 8, 20)]
expect("an input that requires a gradient gets one, too", found, [0.0] * 4, abs=1e-5)
# vary: 2 in 2..4, 5 in 4..7
held = [fake.held_mb(checkpointed(layers, every), x) for every in (1, 2, 5, 8)]
expect("of each segment only its input is kept", held, [2.0, 1.0, 0.5, 0.25], rel=0.05)
# vary: 32 in 21..48, 16 in 10..24, 8 in 2..16, 4 in 2..9, 2 in 2..9
narrow = [nn.Linear(64, 32), nn.Linear(32, 16), nn.Linear(16, 8), nn.Linear(8, 4), nn.Linear(4, 2)]
many = example_input(None, (2**14, 64))
held = [fake.held_mb(checkpointed(narrow, every), many) for every in (1, 2, 4)]
expect(
    "segments begin where `every` says, and the last is shorter",
    held,
    [3.875, 1.375, 0.375],
    rel=0.05,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_checkpointed_2", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
tokens = [nn.Embedding(50, 16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)]
run, ids = checkpointed(tokens, 2), Tensor(np.arange(12).reshape(3, 4))
(run(ids) ** 2).sum().backward()
found = [bool(np.abs(tokens[n].weight.grad.numpy()).sum() > 0) for n in (0, 1, 3)]
expect("for tokens, too, all parameters have gradients", found, [True, True, True])
with proflab.no_grad():
    recorded = run(ids).requires_grad
expect("under no_grad nothing is recorded", recorded, False)
data, same = Tensor(np.random.default_rng(2).standard_normal((5, 6))), nn.Linear(6, 6)
found = fake.furthest(checkpointed([same, same], 2), [same, same], data)
expect("a layer that comes twice in a segment", found, 0.0, abs=1e-5)
### BEGIN HIDDEN TESTS
shared = nn.Linear(6, 6)
tied = [shared, nn.Tanh(), nn.Linear(6, 6), shared, nn.Sigmoid(), shared]
found = [fake.furthest(checkpointed(tied, every), tied, data) for every in (1, 2, 4, 5)]
expect("a layer may come again, in one segment or in several", found, [0.0] * 4, abs=1e-5)
tied[2].weight.requires_grad, tied[2].weight.grad = False, None
run, plain = checkpointed(tied, 3), nn.Sequential(*tied)
found = fake.furthest(run, tied, data)
expect("a frozen weight changes no other gradient", found, 0.0, abs=1e-5)
expect("a frozen weight gets no gradient", tied[2].weight.grad is None, True)
other = Tensor(np.random.default_rng(3).standard_normal((5, 6)))
added = fake.gradients(lambda x: plain(x) - plain(other), data, [shared.weight])[1]
found = fake.gradients(lambda x: run(x) - run(other), data, [shared.weight])[1]
found = float(np.abs(added - found).max())
expect("two passes may come before one backward pass", found, 0.0, abs=1e-5)
found = float(np.abs((plain(data) - run(data)).detach().numpy()).max())
expect("the output is that of the layers", found, 0.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_checkpointed", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the peak of a training step by the length of its segments.
deep, rows = demo_size(full=(36, 1024), small=(4, 64))
layers = [nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(deep)]
x, lengths = example_input(None, (rows, 128)), [n for n in range(1, deep + 1) if deep % n == 0]


def peak_of_step(model):
    with MemoryTracker() as tracker:
        (model(x) ** 2).mean().backward()
    return tracker.peak_mb


peaks = {every: peak_of_step(checkpointed(layers, every)) for every in lengths}
print(f"without checkpoints: {peak_of_step(nn.Sequential(*layers)):.1f} MB at the peak")
guesses.compare("layers in the best segment", guess_segment, min(peaks, key=peaks.get))
demos.plot_segments(peaks, guess_segment)

# %% [markdown]
# Short segments keep many inputs; long segments hold much while they run again.
# If a layer keeps about as much as its input takes, n layers in segments of k hold n/k inputs and k results: 36 layers hold 36/6 + 6 = 12 in segments of 6, and 37 in segments of 1 or 36.
# The minimum is at √n.
# A Transformer block keeps many times its input, so there one block a segment is best.
# The work is the same for all lengths: a training step costs as much as 4 forward passes instead of 3.
# What to do, then, when memory runs out:
#
# | symptom | what fills the memory | cure |
# |---|---|---|
# | it fails in the forward or backward pass; half the batch runs | activations | a smaller batch, gradients added up over several; checkpoints; fused attention |
# | it fails however small the batch is | parameters, gradients, state | an optimizer with less state; fewer trained parameters ([LoRA](https://arxiv.org/abs/2106.09685)); share them among GPUs ([ZeRO](https://arxiv.org/abs/1910.02054)) |
# | the peak is far above what is left | temporary results | write in place; work through smaller pieces |
# | it fails after hours; memory grows with each step | something that is held | `find_leak`, then `.item()`, `no_grad`, a cache with a limit |
#
# ## Reflect
#
# A report says: training GPT-2 small with Adam takes 2,184 MB, of which 200 are activations.
# Your function says 2,098.80.
# Who is wrong?


# %% nbgrader={"grade": false, "grade_id": "reflect_training_mb", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_training_mb(parameters, copies, activation_mb, unit=1024**2, rounded_to=1):
    """Return the memory of training as a report may have computed it, in MB of `unit` bytes.

    parameters: int, at least 1; rounded to the nearest multiple of rounded_to (int, at least 1):
        with 10**6, 124,439,808 become 124 million. Each copy of a parameter takes 4 bytes.
    copies: int, at least 1: 4 for Adam (parameter, gradient, two of state).
    activation_mb: at least 0, in the report's own MB, added as it is. unit: int, at least 1.
    Returns a float, not rounded. Raises ValueError for any argument that is out of range.

    >>> reflect_training_mb(2_600_000, 4, 10, unit=10**6, rounded_to=10**6)
    58.0
    """
    ### BEGIN SOLUTION
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("activation_mb must be at least 0, and all others at least 1")
    taken = round(parameters / rounded_to) * rounded_to
    return 4 * copies * taken / unit + activation_mb
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_training_mb", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
gpt2 = 124_439_808
expect("as in this lesson", reflect_training_mb(gpt2, 4, 200), 2098.80, abs=0.005)
expect("as in the report", reflect_training_mb(gpt2, 4, 200, 10**6, 10**6), 2184.0)
found = reflect_training_mb(124_699_999, 2, 0.5, unit=10**6, rounded_to=10**5)
expect("SGD, rounded up", found, 998.1)
found = [reflect_training_mb(1, 3, 0, unit=7), reflect_training_mb(1_000_000_123, 4, 0, 10**9)]
expect("the result is not rounded, and may be large", found, [12 / 7, 16.000001968])
### BEGIN HIDDEN TESTS
# vary: 4 in 2..9, 200 in 133..300
found = reflect_training_mb(gpt2, 4, 200, unit=10**6)
expect("the unit alone changes the copies, not the activations", found, 2191.036928)
# vary: 4 in 2..9, 200 in 133..300
rounded = reflect_training_mb(gpt2, 4, 200, rounded_to=10**6)
expect("rounding alone changes the parameters", rounded, 200 + 124 * 16 * 10**6 / 1024**2)
# vary: 1557611200 in 1_000_000_000..2_000_000_000, 2 in 2..9
found = reflect_training_mb(1_557_611_200, 2, 0, 10**9, 10**8)
expect("each copy takes 4 bytes a parameter", found, 12.8)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_reflect_training_mb_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    reflect_training_mb,
    ("one parameter, one copy, a unit of 1", (1, 1, 0, 1), 4.0),
    ("a few are rounded to none", (4, 2, 0.5, 1, 10), 0.5),
    (
        "0 parameters, 0 copies; whatever else is refused",
        [(0, 4, 1), (124, 4, -0.5), (5, 4, 1, 0), (5, 4, 1, -7), (5, 4, 1, 9, 0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3 in 2..9, 0.5 in 0.333..0.75, 12 in 8..18
expect("one parameter is allowed, and nothing is rounded", reflect_training_mb(1, 3, 0.5, 12), 1.5)
# vary: 7 in 2..14, 10 in 6..15
expect("a multiple of 1 changes nothing", reflect_training_mb(7, 1, 0, 10, rounded_to=1), 2.8)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_report", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the memory of training GPT-2 small with Adam, computed in four ways.
ways = {"as in this lesson": {}, "in MB of 10⁶ bytes": {"unit": 10**6}}
ways |= {"from 124 million parameters": {"rounded_to": 10**6}}
ways |= {"with both": {"unit": 10**6, "rounded_to": 10**6}}
for way, how in ways.items():
    print(f"{way}: {reflect_training_mb(124_439_808, 4, 200, **how):,.2f} MB")

# %% [markdown]
# Nobody is wrong: the report took 124 million parameters and MB of 10⁶ bytes.
# Rounding alone would make it 2,092.09, the unit alone 2,191.04, and nothing in the report says so.
#
# **Essay** (10 points, read by a person; 150 to 250 words in the next cell; add cells to calculate).
# The report goes on: "These 200 MB hold a batch of 8 texts of 128 tokens.
# So with SGD instead of Adam, and with checkpoints in place of activations, GPT-2 small can be trained on a card of 1 GB."
#
# 1. How many MB does a forward pass of GPT-2 small keep for such a batch? Of what one block keeps, how much belongs to attention and how much to the feed-forward part? Calculate both.
# 2. With SGD, what is the sum of the parts in MB of 1024² bytes, once with all activations, and once if of each block only the input is kept? What do these checkpoints cost?
# 3. Does it fit? Name two things that are needed and are in none of these sums, and say how large they are, or how you would measure them.

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_memory", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
#
# - *1 point:* 654.4 MB are kept (`saved_activations` of GPT-2 small, 8 × 128).
# - *1 point:* Of a block's 51.0 MB the feed-forward part keeps 24.0 (27.0 with its input), attention 18.0 (21.0).
# - *1 point:* That is three times the report's 200 MB.
# - *1 point:* Parameters and gradients: 949.4 MB.
# - *1 point:* The sum with all activations: 1,603.8 MB.
# - *1 point:* The sum with checkpoints: 985 to 992 MB; the inputs of 12 blocks take 36 MB, and the last norm and the output layer 6 MB.
# - *1 point:* The price: the blocks' forward pass once more, 22.3 · 10⁹ FLOPs a text, 23 % of a step.
# - *1 point:* The sum is below 1,024 MB, and it does not fit.
# - *1 point:* One thing that is in no sum, with its size or how to measure it: the block that runs again, 51 MB; the output, 196 MB, and its gradient; temporary results; Python, driver, allocator.
# - *1 point:* A second one of these.
#
# **A good answer (10).** A cell with six numbers, and the output's 196 MB.
#
# **A poor answer (2: items 4 and 6).** “949.4 + 36 + 6 = 991 MB (cell), below 1,024, so it fits, but it is slower by a third.”
# (A third is the whole forward pass, so not item 7.)
# ### END SOLUTION

# %% tags=["milestone"]
# You can say what training a model keeps in memory, also where it does not fit on your computer.
(
    lambda row: (
        f"GPT-2 small, trained with Adam on 8 texts of 1,024 tokens: {row['total_mb']:,.0f}"
        f" MB, of which activations are {row['activation_mb'] / row['total_mb']:.0%}."
    )
)(training_memory(zoo["GPT-2 small"], (8, 1024), "adam"))

# %% [markdown]
# ## Summary
#
# - A peak is what exists at the same time. The system counts something else: pages that were touched and not given back. <!-- with measure_memory -->
# - Saved activations are what derivatives will read. Count storages, each once, and leave out what is there anyway. <!-- with saved_activations -->
# - With Adam, training takes four copies of the parameters, 16 bytes for each (in mixed precision 2 + 2 + 12), and activations that grow with the batch and, in attention, with the square of the tokens. <!-- with training_memory -->
# - A leak is what each step leaves behind. Compare two snapshots, and ask who allocated it. <!-- with find_leak -->
# - Memory can be bought with work: one forward pass more, for a fraction of the activations. <!-- with recomputed_gradients -->
#
# **Next.** You can count what a model computes and what it keeps. <!-- with lesson 05 -->
# Lesson 05 puts counter, clock and meter together into one profiler. <!-- with lesson 05 -->
