"""Lesson 02's counter against recorded counts, and against models counted by hand.

What is expected below is written as sums of products, layer by layer, never by the lesson's rules.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cohort.run import solved
from counted_by_hand import HAND, fc
from ported_models import EXAMPLES

import proflab
import proflab.nn.functional as F
from proflab import Tensor, models, nn
from proflab.dispatch import OPS, hook
from proflab.lesson import doubles

DATA = json.loads((Path(__file__).parents[1] / "data" / "reference_flops.json").read_text())
MODELS = {
    "lenet5": models.LeNet5,
    "resnet18": models.resnet18,
    "vit_tiny16": models.vit_tiny16,
    "bert_base_layer": models.bert_layer,
    "gpt2_small_s128": models.gpt2,
    "gpt2_small_untied_s128": lambda: models.gpt2(tied=False),
}
LESSON = solved("lesson_02").scope
count_flops, backward_flops = LESSON["count_flops"], LESSON["backward_flops"]
training_flops = LESSON["training_flops"]


def on_meta(make):
    with proflab.meta():
        return make()


@pytest.mark.parametrize(
    "row", DATA["rows"], ids=lambda row: f"{row['model']}-{row['input_shape']}"
)
def test_every_row_of_the_reference_to_the_last_flop(row):
    model, shape = on_meta(MODELS[row["model"]]), tuple(row["input_shape"])
    inside = row["model"] == "bert_base_layer"
    assert count_flops(model, shape, per_sample=False) == row["forward"]
    assert training_flops(model, shape, inside, per_sample=False) == row["forward_backward"]
    assert count_flops(model, shape) * shape[0] == row["forward"]
    assert training_flops(model, shape, input_grad=inside) * shape[0] == row["forward_backward"]
    assert type(count_flops(model, shape)) is int is type(training_flops(model, shape))


def test_the_lessons_file_holds_what_was_recorded():
    path = Path(__file__).parents[2] / "modules" / "02_flops" / "counters.json"
    rows = json.loads(path.read_text())["rows"]
    assert len(rows) == len(DATA["rows"])
    for ours, row in zip(rows, DATA["rows"], strict=True):
        assert [ours[k] for k in ("input_shape", "forward", "forward_backward")] == [
            row[k] for k in ("input_shape", "forward", "forward_backward")
        ]
        recorded = {n for counts in row["peers"].values() for n in counts.values()}
        assert set(ours["reported"].values()) <= recorded | {row["forward"]}


def test_every_op_of_the_engine_has_a_rule_or_is_known_to_need_none():
    rules = {"matmul", "linear", "conv2d", "einsum", "scaled_dot_product_attention"}
    assert rules <= OPS.keys() and not rules & LESSON["NO_PRODUCTS"]
    assert set(OPS) - rules == LESSON["NO_PRODUCTS"]


@pytest.mark.parametrize("make", HAND, ids=lambda make: make.__name__)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("without_data", [True, False])
def test_models_counted_by_hand(make, training, without_data):
    shape, forward, backward, with_input = HAND[make]
    model = (on_meta(make) if without_data else make()).train(training)
    assert count_flops(model, shape) == forward
    assert backward_flops(model, shape) == backward
    assert backward_flops(model, shape, input_grad=True) == with_input
    assert training_flops(model, shape, True) == forward + with_input
    assert all(p.grad is None for p in model.parameters())


def test_recomputing_costs_what_it_costs():
    """Checkpointing: nothing is kept, and the forward runs again in the backward pass."""
    layer = nn.Linear(4, 4)

    class Checkpoint(proflab.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return layer(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            x = x.detach().requires_grad_()
            with proflab.enable_grad():
                y = layer(x)
            (result,) = proflab.autograd.grad(y, [x], grad)
            return result

    assert count_flops(Checkpoint.apply, (1, 4)) == fc(4, 4)
    assert backward_flops(Checkpoint.apply, (1, 4), input_grad=True) == 3 * fc(4, 4)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_multihead_attention_is_the_same_on_every_path(training, need_weights, dropout):
    attention = nn.MultiheadAttention(12, 3, dropout=dropout, batch_first=True).train(training)
    wanted = LESSON["attention_flops"](1, 7, 12, 3)

    def run(x):
        return attention(x, need_weights=need_weights)

    assert count_flops(run, (4, 7, 12)) == wanted
    assert count_flops(run, (4, 7, 12), per_sample=False) == 4 * wanted
    assert backward_flops(run, (4, 7, 12), input_grad=True) == 2 * wanted


@pytest.mark.parametrize("training", [True, False])
def test_an_encoder_of_layers(training):
    layer = nn.TransformerEncoderLayer(12, 3, dim_feedforward=20, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(12)).train(training)
    wanted = 3 * (LESSON["attention_flops"](1, 7, 12, 3) + 2 * fc(7, 12, 20))
    assert count_flops(encoder, (2, 7, 12)) == wanted
    assert backward_flops(encoder, (2, 7, 12), True) == 2 * wanted


@pytest.mark.parametrize("name", EXAMPLES)
def test_ported_models_on_data_on_meta_and_in_batches(name):
    """No formula here, but laws: batches are linear, and counting is the same with data."""
    make, arguments, shape = EXAMPLES[name]
    model = make(*arguments)
    tokens = isinstance(shape[1], tuple)
    if tokens:
        model.input_dtype, model.vocab_size, shape = "int64", *shape
    one, batch = count_flops(model, shape), count_flops(model, shape, per_sample=False)
    assert one > 0
    if name != "Siamese":  # its score compares every pair of the batch
        assert batch == one * shape[0]
    with_data = []

    def add(call):
        shapes = [t.shape for t in call.inputs]
        if call.phase == "forward":
            with_data.append(LESSON["op_flops"](call.op, shapes, call.attributes))
        return call()

    with hook(add):
        model(proflab.example_input(model, shape))
    assert sum(with_data) == batch
    assert one <= backward_flops(model, shape, input_grad=True) <= 2 * one


def test_what_has_no_rule_is_named_and_never_nothing():
    unknown = doubles.unknown_op("spectral")
    for count in (count_flops, backward_flops, training_flops):
        with pytest.raises(NotImplementedError, match="spectral"):
            count(lambda x: unknown(F.linear(x, x)), (1, 3), **grad(count))
    with pytest.raises(NotImplementedError, match="spectral"):
        LESSON["op_flops"]("spectral", [(2, 3)], {})


def grad(count):
    return {} if count is count_flops else {"input_grad": True}


def test_counting_leaves_no_trace():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.ReLU()).train()
    x = proflab.example_input(model, (2, 3, 6, 6))
    model(x).sum().backward()
    before = [p.grad.numpy().copy() for p in model.parameters()]
    state = {name: t.numpy().copy() for name, t in model.state_dict().items()}
    proflab.manual_seed(3)
    drawn = proflab.rand(4).tolist()
    proflab.manual_seed(3)
    training_flops(model, (2, 3, 6, 6), True)
    assert proflab.rand(4).tolist() == drawn
    for p, grad in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.grad.numpy(), grad)
    for name, t in model.state_dict().items():
        np.testing.assert_array_equal(t.numpy(), state[name])
    assert all(m.training for m in model.modules()) and proflab.is_grad_enabled()
    assert x.grad is None and not x.requires_grad


@pytest.mark.parametrize(
    "make_input",
    [
        lambda: (4, 6),
        lambda: [4, 6],
        lambda: Tensor(np.zeros((4, 6))),
        lambda: np.zeros((4, 6), np.float32),
        lambda: Tensor.meta((4, 6), requires_grad=True),
        lambda: (Tensor.meta((4, 6)),),
        lambda: ((4, 6),),
    ],
)
def test_inputs_of_every_kind(make_input):
    layer = nn.Linear(6, 5)
    assert count_flops(layer, make_input()) == 60
    assert count_flops(layer, make_input(), per_sample=False) == 240
    assert backward_flops(layer, make_input()) == 60  # the input's own flag does not count


@pytest.mark.parametrize("shape", [(0, 6), (4, 0), (-1, 6), ("4", 6), (4.0, 6), (4, 6.5)])
def test_what_is_no_shape(shape):
    for count in (count_flops, backward_flops, training_flops):
        with pytest.raises(ValueError, match="input_shape|size"):
            count(nn.Linear(6, 5), shape)


@pytest.mark.parametrize("model", [None, 3, "model", (4, 6)])
def test_what_is_no_model(model):
    for count in (count_flops, backward_flops, training_flops):
        with pytest.raises(ValueError, match="is not a model"):
            count(model, (4, 6))


def test_a_model_that_does_not_fit_says_what_does_not():
    with pytest.raises(ValueError, match="linear: .*input shapes"):
        count_flops(nn.Linear(6, 5), (4, 7))
