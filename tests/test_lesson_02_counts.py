"""Lesson 02's counter against recorded counts, and against models counted by hand.

What is expected below is written as sums of products, layer by layer, never by the lesson's rules.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cohort.run import solved
from test_nn_ported import EXAMPLES

import proflab
import proflab.nn.functional as F
from proflab import Tensor, models, nn
from proflab.dispatch import OPS, hook
from proflab.lesson import doubles

DATA = json.loads((Path(__file__).parent / "data" / "reference_flops.json").read_text())
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
    path = Path(__file__).parents[1] / "modules" / "02_flops" / "counters.json"
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


# ── other models than ours, in torch's style ─────────────────────────────────────────────────


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 4), nn.Sequential(nn.Linear(5, 4), nn.Tanh())

    def forward(self, a, b):
        return self.left(a) @ self.right(b).transpose(-1, -2)


class Separable(nn.Module):
    """Even kernels, "same" padding, dilation, groups, a bias alone left to train."""

    def __init__(self):
        super().__init__()
        self.depth = nn.Conv2d(6, 12, (2, 3), padding="same", dilation=(1, 2), groups=6)
        self.point = nn.Conv2d(12, 5, kernel_size=1, stride=2, bias=False)
        self.norm = nn.BatchNorm2d(5)

    def forward(self, x):
        return F.relu(self.norm(self.point(F.relu6(self.depth(x)))), inplace=True)


class FusedGPT(nn.Module):
    input_dtype = "int64"

    def __init__(self, vocab=11, d=8, heads=2):
        super().__init__()
        self.vocab_size, self.heads = vocab, heads
        self.wte = nn.Embedding(vocab, d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.head = nn.Linear(d, vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx):
        x = self.wte(idx)
        b, t, d = x.shape
        q, k, v = (
            y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).split(d, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + self.out(y.transpose(1, 2).reshape(b, t, d)))


class Cross(nn.Module):
    """Attention to another sequence of another width, with a learned mask."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(8, 2, kdim=6, vdim=5, batch_first=True)
        self.mask = nn.Parameter(proflab.zeros(3, 7))

    def forward(self, x, key, value):
        out, _ = self.attn(x, key, value, need_weights=False, attn_mask=self.mask)
        return out


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(proflab.zeros(4, 3, 5))

    def forward(self, a, b):
        return proflab.einsum("bi,kij,bj->bk", a, self.W.transpose(0, 1), b)


class Recurrent(nn.Module):
    """One cell used at each step, for real sequence positions."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3 + 4, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        h = x.new_zeros(x.size(0), 4)
        for t in range(x.size(1)):
            h = proflab.tanh(self.cell(proflab.cat([x[:, t], h], dim=1)))
        return self.out(h)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.channel = nn.Linear(6, 6), nn.Linear(4, 4, bias=False)

    def forward(self, x):
        x += self.token(x.transpose(-1, -2)).transpose(-1, -2)
        return x + F.gelu(self.channel(x))


class LoRA(nn.Module):
    """A frozen layer and a thin trained path beside it."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(16, 12)
        self.A = nn.Parameter(proflab.zeros(16, 2))
        self.B = nn.Parameter(proflab.zeros(2, 12))
        for p in self.base.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.base(x) + x @ self.A @ self.B * 0.5


class Vectors(nn.Module):
    """Matrix-vector and vector products of all kinds."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(proflab.zeros(5))

    def forward(self, x):
        pooled = (x @ self.w).softmax(-1).unsqueeze(1) @ x
        return pooled, proflab.mv(x[0], self.w), self.w @ self.w, proflab.dot(x[0, 0], self.w)


class Baddbmm(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Identity()})
        self.w = nn.ParameterList([nn.Parameter(proflab.zeros(4, 3))])

    def forward(self, x):
        y = proflab.bmm(self.blocks["a"](x), self.blocks["b"](x).transpose(1, 2))
        y = proflab.baddbmm(y, y, y)
        return {"y": y, "z": [proflab.addmm(x[0, 0, :3], x[0], self.w[0])]}


class Backbone(nn.Module):
    """Features without gradients, and a head; an output that is detached."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1))
        self.head = nn.Linear(2, 7)

    def forward(self, x):
        with proflab.no_grad():
            x = self.features(x).mean((2, 3))
        y = self.head(x)
        return y, self.head(y[:, :2].detach()).detach(), None


class TimesTwice(proflab.autograd.Function):
    """x @ w with a gradient rule that does one product more than it has to."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        x @ w
        return grad @ w.transpose(0, 1), x.transpose(0, 1) @ grad


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(proflab.zeros(4, 5))

    def forward(self, x):
        return TimesTwice.apply(x, self.w)


class Residual(nn.Module):
    """Two branches, one squeezed to a gate; a stride in one direction only."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 8, (3, 1), stride=(2, 1), padding=(1, 0), bias=False)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid()
        )
        self.b = nn.Conv2d(4, 8, 1, stride=(2, 1))

    def forward(self, x):
        y = self.a(x)
        return F.max_pool2d(y * self.gate(y) + self.b(x), 2)


def fc(*sizes):
    """2 · the product."""
    return 2 * int(np.prod(sizes))


# model, input shape, FLOPs of one sample forward, FLOPs backward, the same with input_grad
HAND = {
    TwoTowers: (
        ((2, 3, 6), (2, 9, 5)),
        fc(3, 6, 4) + fc(9, 5, 4) + fc(3, 4, 9),
        fc(3, 6, 4) + fc(9, 5, 4) + 2 * fc(3, 4, 9),
        2 * (fc(3, 6, 4) + fc(9, 5, 4) + fc(3, 4, 9)),
    ),
    Separable: (
        (2, 6, 8, 8),
        fc(12, 8 * 8, 6) + fc(5, 4 * 4, 12),
        fc(12, 8 * 8, 6) + 2 * fc(5, 4 * 4, 12),
        2 * (fc(12, 8 * 8, 6) + fc(5, 4 * 4, 12)),
    ),
    FusedGPT: (
        (2, 6),
        4 * fc(6, 8, 8) + 2 * fc(6, 8, 6) + fc(6, 8, 11),
        # the input of q, k, v is the embedding, which is trained
        2 * (4 * fc(6, 8, 8) + 2 * fc(6, 8, 6) + fc(6, 8, 11)),
        2 * (4 * fc(6, 8, 8) + 2 * fc(6, 8, 6) + fc(6, 8, 11)),
    ),
    Cross: (
        ((2, 3, 8), (2, 7, 6), (2, 7, 5)),
        2 * fc(3, 8, 8) + fc(7, 6, 8) + fc(7, 5, 8) + 2 * fc(3, 8, 7),
        fc(3, 8, 8) + fc(7, 6, 8) + fc(7, 5, 8) + 2 * fc(3, 8, 8) + 4 * fc(3, 8, 7),
        2 * (2 * fc(3, 8, 8) + fc(7, 6, 8) + fc(7, 5, 8) + 2 * fc(3, 8, 7)),
    ),
    Bilinear: (
        ((2, 4), (2, 5)),
        fc(3, 4, 5) + fc(3, 5),
        fc(3, 4, 5) + fc(3, 5),
        2 * fc(3, 4, 5) + 2 * fc(3, 5),
    ),
    Recurrent: (
        (2, 5, 3),
        5 * fc(7, 4) + fc(4, 2),
        5 * fc(7, 4) + 4 * fc(7, 4) + 2 * fc(4, 2),
        10 * fc(7, 4) + 2 * fc(4, 2),
    ),
    Mixer: (
        (2, 3, 6, 4),
        3 * (fc(4, 6, 6) + fc(6, 4, 4)),
        3 * (fc(4, 6, 6) + 2 * fc(6, 4, 4)),
        6 * (fc(4, 6, 6) + fc(6, 4, 4)),
    ),
    LoRA: (
        (2, 3, 16),
        3 * (fc(16, 12) + fc(16, 2) + fc(2, 12)),
        3 * (fc(16, 2) + 2 * fc(2, 12)),
        3 * (fc(16, 12) + 2 * fc(16, 2) + 2 * fc(2, 12)),
    ),
    Vectors: (
        (2, 3, 5),
        fc(3, 5) + fc(3, 5) + fc(3, 5) + fc(5) + fc(5),
        fc(3, 5) + fc(3, 5) + fc(3, 5) + 2 * fc(5) + fc(5),
        2 * (3 * fc(3, 5) + 2 * fc(5)),
    ),
    Baddbmm: (
        (2, 3, 4),
        fc(3, 4, 4) + fc(3, 4, 3) + fc(3, 3, 3) + fc(3, 4, 3),
        fc(3, 4, 4) + fc(3, 4, 3) + 2 * fc(3, 3, 3) + fc(3, 4, 3),
        2 * (fc(3, 4, 4) + fc(3, 4, 3) + fc(3, 3, 3) + fc(3, 4, 3)),
    ),
    Backbone: (
        (2, 3, 6, 6),
        fc(4, 16, 27) + fc(2, 16, 4) + 2 * fc(2, 7),
        fc(2, 7),
        fc(2, 7),
    ),
    Own: ((2, 4), fc(4, 5), 3 * fc(4, 5), 3 * fc(4, 5)),
    Residual: (
        (2, 4, 8, 6),
        fc(8, 4 * 6, 12) + 2 * fc(8, 2) + fc(8, 4 * 6, 4),
        fc(8, 4 * 6, 12) + 4 * fc(8, 2) + fc(8, 4 * 6, 4),
        2 * fc(8, 4 * 6, 12) + 4 * fc(8, 2) + 2 * fc(8, 4 * 6, 4),
    ),
}


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
        with pytest.raises(ValueError, match="is no model"):
            count(model, (4, 6))


def test_a_model_that_does_not_fit_says_what_does_not():
    with pytest.raises(ValueError, match="linear: .*input shapes"):
        count_flops(nn.Linear(6, 5), (4, 7))
