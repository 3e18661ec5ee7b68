"""Layers, small models and optimizers, written so that torch and proflab both run them.

As in engine_cases, `P` is the library. Weights are a fixed pattern, so that none is recorded.
"""

from __future__ import annotations

import numpy as np
from engine_cases import Maker


def fill(P, module) -> None:
    """Patterned parameters, and statistics as of a new layer."""
    fill_parameters(P, module)
    with P.no_grad():
        for name, buffer in module.named_buffers():
            buffer.fill_(0 if "mean" in name or "num" in name else 1)


def fill_parameters(P, module) -> None:
    """A pattern that depends on the order of parameters and on their places."""
    with P.no_grad():
        for k, parameter in enumerate(module.parameters()):
            places = np.arange(parameter.numel(), dtype=np.float64)
            values = 0.4 * np.sin(places * 0.37 + k).reshape(tuple(parameter.shape))
            parameter.copy_(P.tensor(values.astype(np.float32)))
            parameter.grad = None


def model_input(P, seed: str, shape: tuple):
    """Values of a shape, or tokens for (vocabulary, shape)."""
    maker = Maker(seed)
    if isinstance(shape[1], tuple):
        return P.tensor(maker.integers(shape[0], *shape[1]))
    return P.tensor(maker.values(*shape).astype(np.float32))


def images(*shape: int):
    return lambda m: [m.values(*shape).astype(np.float32)]


def none(P) -> dict:
    return {}


def _encoder(P, **settings):
    return P.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, **settings)


def _residual(P):
    nn = P.nn

    class Block(nn.Module):
        """Attributes, nested Sequentials, reuse, in-place ReLU and +=, as people write them."""

        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                nn.Sequential(nn.Conv2d(4, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8)),
                nn.ReLU(inplace=True),
                nn.Conv2d(8, 4, 1, bias=False),
            )
            self.act = nn.ReLU(inplace=True)
            self.scale = nn.Parameter(P.ones(4, 1, 1))

        def forward(self, x):
            identity = x
            out = self.body(x)
            out = self.body(out) * self.scale
            out += identity
            return self.act(out)

    return Block()


def _tied(P):
    nn, F = P.nn, P.nn.functional

    class Language(nn.Module):
        """Tied weights, a ModuleList loop, einsum and @, masks, functional calls."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 6)
            self.layers = nn.ModuleList([nn.Linear(6, 18) for _ in range(2)])
            self.norms = nn.ModuleList(nn.LayerNorm(6) for _ in range(2))
            self.head = nn.Linear(6, 11, bias=False)
            self.head.weight = self.embed.weight
            self.register_buffer("mask", P.tril(P.ones(5, 5)))

        def forward(self, tokens):
            x = self.embed(tokens)
            B, T, C = x.shape
            for qkv, norm in zip(self.layers, self.norms, strict=True):
                q, k, v = qkv(norm(x)).split(C, dim=2)
                q = q.view(B, T, 2, C // 2).transpose(1, 2)
                k = k.view(B, T, 2, C // 2).transpose(1, 2)
                v = v.view(B, T, 2, C // 2).transpose(1, 2)
                att = P.einsum("bhqd,bhkd->bhqk", q, k) / (C // 2) ** 0.5
                att = att.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
                y = F.softmax(att, dim=-1) @ v
                x = x + y.transpose(1, 2).contiguous().view(B, T, C)
            return self.head(F.gelu(x))

    return Language()


LAYERS = {  # name: (make, inputs, keyword arguments of the call)
    "linear": (lambda P: P.nn.Linear(5, 3), images(2, 4, 5), none),
    "conv2d": (lambda P: P.nn.Conv2d(4, 6, (3, 2), 2, "valid", 1, 2), images(2, 4, 7, 6), none),
    "conv1d": (lambda P: P.nn.Conv1d(4, 6, 3, padding=1), images(2, 4, 7), none),
    "batch norm 2d": (lambda P: P.nn.BatchNorm2d(4), images(3, 4, 5, 5), none),
    "batch norm 1d": (lambda P: P.nn.BatchNorm1d(4, momentum=None), images(6, 4), none),
    "batch norm plain": (
        lambda P: P.nn.BatchNorm2d(4, affine=False, track_running_stats=False),
        images(3, 4, 2, 2),
        none,
    ),
    "layer norm": (lambda P: P.nn.LayerNorm((3, 4)), images(2, 3, 4), none),
    "layer norm no bias": (lambda P: P.nn.LayerNorm(4, bias=False), images(2, 3, 4), none),
    "group norm": (lambda P: P.nn.GroupNorm(2, 4), images(2, 4, 3, 3), none),
    "embedding": (
        lambda P: P.nn.Embedding(7, 3, padding_idx=2),
        lambda m: [m.integers(7, 2, 5)],
        none,
    ),
    "activations": (
        lambda P: P.nn.Sequential(
            P.nn.LeakyReLU(0.2),
            P.nn.SiLU(),
            P.nn.Hardswish(),
            P.nn.Softplus(),
            P.nn.ELU(),
            P.nn.GELU("tanh"),
            P.nn.Tanh(),
            P.nn.Sigmoid(),
            P.nn.Softmax(dim=1),
        ),
        images(3, 4),
        none,
    ),
    "more activations": (
        lambda P: P.nn.Sequential(
            P.nn.Conv2d(2, 4, 1),
            P.nn.InstanceNorm2d(4, affine=True),
            P.nn.PReLU(4),
            P.nn.Mish(),
            P.nn.GLU(1),
            P.nn.Hardtanh(-0.9, 2.0),
            P.nn.LogSigmoid(),
            P.nn.PReLU(),
            P.nn.AdaptiveMaxPool2d(2),
            P.nn.Flatten(2),
            P.nn.MaxPool1d(2, 1, 1),
            P.nn.AvgPool1d(2, 1),
            P.nn.AdaptiveAvgPool1d(3),
        ),
        images(2, 2, 4, 6),
        none,
    ),
    "pooling": (
        lambda P: P.nn.Sequential(
            P.nn.Conv2d(1, 4, 3, padding="same"),
            P.nn.MaxPool2d(3, 2, 1),
            P.nn.AvgPool2d(2),
            P.nn.Upsample(scale_factor=2),
            P.nn.PixelShuffle(2),
            P.nn.ZeroPad2d(1),
            P.nn.AdaptiveAvgPool2d((2, None)),
            P.nn.Flatten(),
            P.nn.Dropout(0.0),
            P.nn.Identity(),
        ),
        images(2, 1, 12, 12),
        none,
    ),
    "attention": (
        lambda P: P.nn.MultiheadAttention(8, 2),
        lambda m: images(5, 2, 8)(m) * 3,
        none,
    ),
    "attention batch first, fused": (
        lambda P: P.nn.MultiheadAttention(8, 2, batch_first=True, bias=False),
        lambda m: images(2, 5, 8)(m) * 3,
        lambda P: {"need_weights": False},
    ),
    "attention masked": (
        lambda P: P.nn.MultiheadAttention(8, 2, batch_first=True),
        lambda m: images(2, 5, 8)(m) * 3,
        lambda P: {
            "attn_mask": P.triu(P.ones(5, 5, dtype=P.bool), 1),
            "key_padding_mask": P.tensor([[False] * 5, [False] * 3 + [True] * 2]),
        },
    ),
    "cross attention": (
        lambda P: P.nn.MultiheadAttention(8, 2, kdim=6, vdim=3, batch_first=True),
        lambda m: [
            x.astype(np.float32) for x in (m.values(2, 4, 8), m.values(2, 5, 6), m.values(2, 5, 3))
        ],
        none,
    ),
    "encoder": (lambda P: _encoder(P), images(5, 2, 8), none),
    "encoder norm first": (
        lambda P: _encoder(P, norm_first=True, activation="gelu", batch_first=True),
        images(2, 5, 8),
        none,
    ),
    "encoder stack": (
        lambda P: P.nn.TransformerEncoder(_encoder(P), 2, P.nn.LayerNorm(8)),
        images(5, 2, 8),
        lambda P: {"mask": P.triu(P.full((5, 5), float("-inf")), 1)},
    ),
    "residual block": (_residual, images(2, 4, 5, 5), none),
    "tied language model": (_tied, lambda m: [m.integers(11, 2, 5)], none),
}

OPTIMIZERS = {  # name: (class, settings)
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd momentum": ("SGD", {"lr": 0.05, "momentum": 0.9}),
    "sgd nesterov": ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "sgd dampened": ("SGD", {"lr": 0.05, "momentum": 0.8, "dampening": 0.3}),
    "adam": ("Adam", {"lr": 0.05}),
    "adam decayed": ("Adam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.95)}),
    "adam amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.05}),
    "adamw decayed": ("AdamW", {"lr": 0.05, "weight_decay": 0.3, "eps": 1e-4}),
}


def run_optimizer(P, name: str, settings: dict, steps: int = 8) -> np.ndarray:
    """The parameters after each of some steps on a small nonlinear fit."""
    model = P.nn.Sequential(P.nn.Linear(3, 4), P.nn.Tanh(), P.nn.Linear(4, 1))
    fill(P, model)
    x = P.tensor(np.sin(np.arange(15)).reshape(5, 3).astype(np.float32))
    y = P.tensor(np.cos(np.arange(5)).reshape(5, 1).astype(np.float32))
    optimizer = getattr(P.optim, name)(model.parameters(), **settings)
    track = []
    for _ in range(steps):
        optimizer.zero_grad()
        P.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        track.append(np.concatenate([p.detach().numpy().ravel() for p in model.parameters()]))
    return np.stack(track)
