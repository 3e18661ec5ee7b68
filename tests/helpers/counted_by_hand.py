"""Models in torch's style, other than the course's, with their FLOPs counted by hand."""

from __future__ import annotations

import numpy as np

import proflab
import proflab.nn.functional as F
from proflab import nn


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
