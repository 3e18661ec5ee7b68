"""Lesson 04's meters against independent counts: recorded ones, sums by hand, tracemalloc alone."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside

import proflab
from proflab import Tensor, models, nn, optim
from proflab.lesson import doubles

fake = beside("04_memory", "memory_doubles")

MB = 1024**2
DATA = Path(__file__).parents[1] / "data"
REFERENCE = json.loads((DATA / "saved_reference.json").read_text())
DIFFERENCES = json.loads((DATA / "saved_differences.json").read_text())
NAMES = {
    "lenet5": "LeNet-5",
    "resnet18": "ResNet-18",
    "vit_tiny16": "ViT-Ti/16",
    "gpt2_small_s128": "GPT-2 small",
}
MAKE = {
    "lenet5": models.LeNet5,
    "resnet18": models.resnet18,
    "vit_tiny16": models.vit_tiny16,
    "gpt2_small_s128": models.gpt2,
}
LESSON = solved("lesson_04").scope
saved_activations, MemoryTracker = LESSON["saved_activations"], LESSON["MemoryTracker"]


def on_meta(make, *arguments):
    with proflab.meta():
        return make(*arguments)


@pytest.mark.parametrize("name", MAKE)
def test_saved_activations_are_torchs_less_the_differences_in_the_table(name):
    row, model = REFERENCE[name], on_meta(MAKE[name])
    less = sum(row["bytes"] for row in DIFFERENCES if row["model"] == name)
    found = saved_activations(model, tuple(row["input_shape"]))
    assert found == row["saved_activation_bytes"] - less and type(found) is int


def test_the_lessons_file_holds_what_was_recorded():
    path = ROOT / "modules" / "04_memory" / "saved.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["model"], row["input_shape"], row["bytes"]) for row in document["rows"]] == [
        (NAMES[name], row["input_shape"], row["saved_activation_bytes"])
        for name, row in REFERENCE.items()
    ]
    ours = [(row["model"], row["op"], row["bytes"]) for row in document["differences"]]
    assert ours == [(NAMES[row["model"]], row["op"], row["bytes"]) for row in DIFFERENCES]
    for row in document["differences"]:  # the reason's own arithmetic
        results = int(row["reason"].split("7 · ")[1].split()[0].replace(",", ""))
        assert 7 * results == row["bytes"]


@pytest.mark.parametrize("size, batch, tokens", [("small", 8, 128), ("xl", 1, 1024), ("xl", 3, 7)])
def test_gpt2_added_up_by_hand(size, batch, tokens):
    """float32 numbers that derivatives read, and a mask of bytes, layer by layer."""
    model = on_meta(models.gpt2, size)
    d, layers, heads = model.wte.weight.shape[1], len(model.blocks), model.blocks[0].attn.heads
    rows, scores = batch * tokens, batch * heads * tokens * tokens
    norm = rows * d + 2 * rows  # its input, a mean and a spread for each row
    attention = rows * d + 3 * rows * d + scores + rows * d  # into qkv; q, k, v; softmax; into proj
    mlp = rows * d + 2 * 4 * rows * d  # into fc; GELU's input, and its result
    numbers = layers * (2 * norm + attention + mlp) + norm + rows * d
    masks = layers * tokens * tokens
    positions = 8 * tokens
    assert saved_activations(model, (batch, tokens)) == 4 * numbers + masks + positions


@pytest.mark.parametrize(
    "make, shape", [(models.LeNet5, (3, 1, 32, 32)), (models.resnet18, (2, 3, 64, 64))]
)
def test_what_is_counted_on_meta_is_what_stays_on_data(make, shape):
    """By tracemalloc alone: alive after the pass are the saved tensors and the output."""
    model = make()
    x = proflab.example_input(model, shape)
    model(x)  # whatever the first call makes
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    output = model(x)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held == pytest.approx(saved_activations(model, shape) + output.nbytes, rel=0.06)
    found = LESSON["measure_memory"](model, shape)
    assert found["activation_memory_mb"] == pytest.approx(held / MB, rel=0.01)


@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (0.5, 6, 1, 0), (12, 0.25, 9, 21)])
def test_memory_agrees_with_known_allocations_within_a_percent(sizes):
    weights, graph, output, scratch = sizes
    model = doubles.Allocating(*sizes)
    found = LESSON["measure_memory"](model, (4, 4))
    assert found["parameter_memory_mb"] == weights
    assert found["activation_memory_mb"] == pytest.approx(graph + output, rel=0.01)
    assert found["peak_memory_mb"] == pytest.approx(sum(sizes), rel=0.01)
    assert fake.traced_mb(model, Tensor([1.0])) == pytest.approx(sum(sizes) - weights, rel=0.01)


@pytest.mark.whole
def test_random_nestings_find_what_each_would_find_alone():
    rng = np.random.default_rng(0)

    def nest(depth):
        """Allocates by chance, here and inside; returns its true peak and rest, in MB."""
        now = high = 0.0
        held = []
        with MemoryTracker() as tracker:
            for action in rng.integers(0, 4, 5):
                size = float(rng.integers(1, 5))
                if action == 0:
                    held.append(np.empty(int(size * MB), np.uint8))
                    now += size
                elif action == 1 and held:
                    now -= held.pop().nbytes / MB
                elif action == 2:
                    np.empty(int(size * MB), np.uint8)
                    high = max(high, now + size)
                elif depth:
                    high = max(high, now + nest(depth - 1))
                high = max(high, now)
        assert tracker.peak_mb == pytest.approx(high, abs=0.05)
        assert tracker.current_mb == pytest.approx(now, abs=0.05)
        return high

    for _ in range(200):
        nest(3)
    assert MemoryTracker.running == [] and not tracemalloc.is_tracing()


def test_gpt2_xl_is_counted_in_a_few_megabytes():
    model = on_meta(models.gpt2, "xl")
    assert fake.traced_mb(saved_activations, model, (1, 1024)) < 20


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adamw"])
def test_the_state_of_an_optimizer_is_what_the_rule_says(name):
    make = {
        "sgd": lambda p: optim.SGD(p),
        "momentum": lambda p: optim.SGD(p, momentum=0.5),
        "adam": lambda p: optim.Adam(p),
        "adamw": lambda p: optim.AdamW(p),
    }[name]
    model = nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 10))
    model[0].weight.requires_grad = False
    optimizer = make(model.parameters())
    model(proflab.randn(4, 30)).sum().backward()
    optimizer.step()
    arrays = [value for state in optimizer.state.values() for value in state.values()]
    held = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    assert LESSON["optimizer_memory_mb"](model, name) * MB == held


def test_checkpoints_trade_bytes_for_work_and_change_no_gradient():
    blocks = list(models.GPT2(16, 16, 48, 6, 3).blocks)
    plain, shape = nn.Sequential(*blocks), (2, 8, 48)
    x = proflab.example_input(None, shape)
    flops = LESSON["training_flops"]

    def gradients(model):
        for parameter in plain.parameters():
            parameter.grad = None
        (model(x) ** 2).sum().backward()
        return [p.grad.numpy().copy() for p in plain.parameters()]

    expected, forward = gradients(plain), flops(plain, shape, True) // 3
    for every in (1, 2, 4, 6, 9):
        model = LESSON["checkpointed"](blocks, every)
        for ours, right in zip(gradients(model), expected, strict=True):
            np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-6)
        segments = -(-6 // every)
        assert saved_activations(model, shape) == (segments - 1) * x.nbytes
        assert flops(model, shape, True) == 4 * forward
    assert saved_activations(plain, shape) > 20 * x.nbytes


def test_a_leak_in_real_training_is_named():
    model, x = models.MLP(64, 256, 10), proflab.randn(256, 64)
    step = fake.holding("keep_losses", model, x)
    found = LESSON["find_leak"](step, 4)
    held = saved_activations(model, (256, 64)) + 256 * 10 * 4
    assert found["function"] == "keep_losses"
    assert found["bytes_per_step"] == pytest.approx(held, rel=0.05)
