"""Cases for the engine's tests: each op, written so that torch and proflab both run it.

`P` is the library: `torch` when the expected values are recorded, `proflab` in the tests. A case
takes a `Maker` (which draws sizes and values) and returns its float inputs and a function of
(P, *tensors). Nothing here imports either library.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

import numpy as np

CASES: dict[str, Callable] = {}


class Maker:
    """Draws from Python's `random`, whose numbers are the same everywhere."""

    def __init__(self, seed, pick: Callable[[int, int], int] | None = None):
        self.random = random.Random(seed)
        self.pick = pick or (lambda low, high: low + int(self.random.random() * (high - low + 1)))

    def values(self, *shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
        n = math.prod(shape)
        flat = [low + (high - low) * self.random.random() for _ in range(n)]
        return np.array(flat, np.float64).reshape(shape)

    def integers(self, high: int, *shape: int) -> np.ndarray:
        flat = [int(self.random.random() * high) for _ in range(math.prod(shape))]
        return np.array(flat, np.int64).reshape(shape)

    def shape(self, ndim: int, low: int = 0, high: int = 3) -> tuple[int, ...]:
        return tuple(self.pick(low, high) for _ in range(ndim))

    def broadcastable(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to `shape`: some sizes 1, some leading dimensions missing."""
        cut = self.pick(0, len(shape))
        return tuple(1 if self.pick(0, 2) == 0 else n for n in shape[cut:])

    def dim(self, ndim: int) -> int:
        return self.pick(-ndim, ndim - 1)


def case(name: str):
    def add(builder):
        CASES[name] = builder
        return builder

    return add


def unary(name: str, function, low=-2.0, high=2.0, ndims=(0, 3)):
    def build(m: Maker):
        shape = m.shape(m.pick(*ndims))
        return [m.values(*shape, low=low, high=high)], function

    CASES[name] = build


def binary(name: str, function, low=-2.0, high=2.0):
    def build(m: Maker):
        shape = m.shape(m.pick(0, 3))
        return [
            m.values(*m.broadcastable(shape), low=low, high=high),
            m.values(*shape, low=low, high=high),
        ], function

    CASES[name] = build


binary("add", lambda P, x, y: x + y)
binary("sub", lambda P, x, y: x - y)
binary("mul", lambda P, x, y: x * y)
binary("div", lambda P, x, y: x / y, low=0.5, high=2.0)
binary("pow tensor", lambda P, x, y: x**y, low=0.5, high=2.0)
binary("maximum", lambda P, x, y: P.maximum(x, y))
binary("minimum", lambda P, x, y: P.minimum(x, y))
binary("where", lambda P, x, y: P.where(y > 0.1, x, y))
binary("remainder", lambda P, x, y: x % (y.detach().abs() + 3))
binary("floor divide", lambda P, x, y: x + 0 * y + (x.detach() // 0.7))
unary("scalars", lambda P, x: (2 - x) * 3 + (x - 1) / 4 + 2.5)
unary("rsub", lambda P, x: 3.0 - x)
unary("rdiv", lambda P, x: 1.5 / x, low=0.5)
unary("rpow", lambda P, x: 2.0**x)
unary("pow", lambda P, x: x**3 + x**2 + x**1 + x**0)
unary("pow half", lambda P, x: x**0.5, low=0.5)
unary("clamp", lambda P, x: x.clamp(-0.7, 0.9) + x.clamp(min=0.1) + P.clamp(x, max=-0.2))
unary("masked fill", lambda P, x: x.masked_fill(x > 0.5, -3.0))
unary("clone", lambda P, x: x.clone() * 2)
unary("convert", lambda P, x: x.to(P.float64) * 1.5)
for _name in (
    "neg",
    "exp",
    "exp2",
    "expm1",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "erf",
    "abs",
    "square",
):
    unary(_name, lambda P, x, f=_name: getattr(P, f)(x))
for _name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "atan"):
    unary(_name, lambda P, x, f=_name: getattr(P, f)(x), low=0.3, high=3.0)
unary("tan", lambda P, x: P.tan(x), low=-1.0, high=1.0)
unary("steps", lambda P, x: x + P.sign(x) + P.floor(x) + P.ceil(x) + P.round(x) + P.trunc(x))
unary("comparisons", lambda P, x: x * (x > 0.3) + x * (x <= -0.2) * 2 + (x != x) + (x == 1)
      + (x >= 9) + (x < -9) + P.isnan(x) + P.isinf(x) + P.isfinite(x))  # fmt: skip
unary("logic", lambda P, x: x * (~((x > 0) & (x < 1) | (x < -1)) ^ (x > 1.5)))

_F = {
    "relu": {},
    "relu6": {},
    "leaky_relu": {"negative_slope": 0.1},
    "elu": {"alpha": 1.3},
    "gelu": {},
    "silu": {},
    "hardswish": {},
    "hardsigmoid": {},
    "softplus": {"beta": 2.0, "threshold": 3.0},
}
for _name, _settings in _F.items():
    unary(_name, lambda P, x, f=_name, s=_settings: getattr(P.nn.functional, f)(x * 4, **s))
unary("gelu tanh", lambda P, x: P.nn.functional.gelu(x, approximate="tanh"))


def along(name: str, function, low=0, **kwargs):
    """A function of (P, x, dim)."""

    def build(m: Maker):
        shape = m.shape(m.pick(1, 3), low=low)
        dim = m.dim(len(shape))
        return [m.values(*shape, **kwargs)], lambda P, x: function(P, x, dim)

    CASES[name] = build


along("softmax", lambda P, x, d: x.softmax(d) ** 2, low=1)
along("log_softmax", lambda P, x, d: P.log_softmax(x, d), low=1)
along("sum dim", lambda P, x, d: x.sum(d) * 2)
along("sum keepdim", lambda P, x, d: x.sum(d, keepdim=True) * x)
along("mean dim", lambda P, x, d: x.mean(d, keepdim=True) * x, low=1)
along("prod dim", lambda P, x, d: x.prod(d, keepdim=True) * x)
along("amax", lambda P, x, d: x.amax(d), low=1)
along("amin", lambda P, x, d: x.amin(d, keepdim=True), low=1)
along("var", lambda P, x, d: x.var(d), low=2)
along("std", lambda P, x, d: x.std(d, keepdim=True), low=2)
along("var biased", lambda P, x, d: P.var(x, dim=d, correction=0), low=2)
along("logsumexp", lambda P, x, d: P.logsumexp(x, d), low=1)
along("norm", lambda P, x, d: P.norm(x, dim=d, keepdim=True), low=1)
along("cumsum", lambda P, x, d: x.cumsum(d))
along("max dim", lambda P, x, d: x.max(d)[0] + x.max(d)[1] + x.min(d, keepdim=True)[0].sum(), low=1)
along("argmax", lambda P, x, d: x * x.argmax(d, keepdim=True) + x * P.argmin(x, d, True), low=1)
along("sort", lambda P, x, d: x.sort(d)[0] * 2 + x.sort(d, descending=True)[1], low=1)
along("topk", lambda P, x, d: x.topk(1, d)[0], low=1)
along("any all", lambda P, x, d: x * (x > 1).any(d, keepdim=True) * (x < 1.9).all(d, keepdim=True))
along("unbind", lambda P, x, d: sum(t * i for i, t in enumerate(x.unbind(d), 1)), low=1)
along("split", lambda P, x, d: P.cat([t * t for t in x.split(2, d)][::-1], d), low=1)
along("chunk one used", lambda P, x, d: x.chunk(2, d)[0] * 3, low=2)
along("flip", lambda P, x, d: x.flip(d) * x)
along("roll", lambda P, x, d: P.roll(x, 2, d) * x)
along("repeat_interleave", lambda P, x, d: x.repeat_interleave(2, d))
along("narrow", lambda P, x, d: x.narrow(d, 1, x.shape[d] - 1) * 2, low=1)
along("stack", lambda P, x, d: P.stack([x, x * 2, x], d) ** 2)
along("select", lambda P, x, d: x.select(d, -1) * 2, low=1)
along("unsqueeze", lambda P, x, d: x.unsqueeze(d) * 2)
along("squeeze", lambda P, x, d: x.squeeze(d) * x.unsqueeze(0).squeeze(0).squeeze(d))
along("normalize", lambda P, x, d: P.nn.functional.normalize(x, dim=d), low=1, high=3.0)
unary("sum", lambda P, x: x.sum() * 2)
unary("mean", lambda P, x: (x * 2).sum() + x.flatten().sum(0))
unary("prod", lambda P, x: x.prod())
unary("max", lambda P, x: x.reshape(-1)[:1].sum() + (x.max() - x.min() if x.numel() else 0))
unary("reshape", lambda P, x: x.reshape(-1) * 2)
unary("flatten", lambda P, x: x.flatten() * x.ravel())
unary("transpose T", lambda P, x: x.transpose(0, -1) * 2 + x.movedim(0, -1).sum(), ndims=(2, 3))
unary("permute", lambda P, x: x.permute(2, 0, 1).reshape(-1) ** 2, ndims=(3, 3))
unary("swap and view", lambda P, x: x.mT.contiguous().view(-1) * 2, ndims=(2, 3))
unary("tril", lambda P, x: x.tril() + x.triu(1) * 2 + P.tril(x, -1), ndims=(2, 3))
unary("repeat", lambda P, x: x.repeat(2, 1, 3, 1) * 2)
unary("expand", lambda P, x: x.unsqueeze(0).expand(3, *x.shape) ** 2)
unary("expand as", lambda P, x: x.unsqueeze(-1).expand(*([-1] * x.dim()), 2) * 3)
unary(
    "unflatten", lambda P, x: x.repeat_interleave(2, -1).unflatten(-1, (2, -1)) ** 2, ndims=(1, 1)
)
unary("pad", lambda P, x: P.nn.functional.pad(x, (1, 2, 0, 1), value=0.5) ** 2, ndims=(2, 3))
unary(
    "slices", lambda P, x: x[1:, ..., ::2] * 2 + x[:1].sum() + x[None, ..., -1:].sum(), ndims=(2, 3)
)
unary("integers", lambda P, x: x[..., 0] * 2 if x.shape[-1] else x, ndims=(1, 3))
unary("setitem", lambda P, x: _with_zeros(P, x), ndims=(2, 3))
unary("in place", lambda P, x: _in_place(P, x))


def _with_zeros(P, x):
    y = x * 2
    y[..., :1] = x[..., :1] ** 2
    y[:1] = 0.5
    y[1:] += 1
    return y * y


def _in_place(P, x):
    y = x * 1
    z = y
    y += x
    y *= 2
    y.sub_(1).mul_(x)
    y -= 0.5
    y /= 2
    return z * y


@case("cat")
def _(m: Maker):
    shape = m.shape(m.pick(1, 3))
    dim = m.dim(len(shape))
    other = list(shape)
    other[dim] = m.pick(0, 3)
    return [m.values(*shape), m.values(*other)], lambda P, x, y: P.cat([x, y, x], dim) ** 2


@case("gather")
def _(m: Maker):
    rows, columns = m.shape(2, low=1)
    dim = m.pick(0, 1)
    index = m.integers((rows, columns)[dim], rows, columns)
    return [m.values(rows, columns)], lambda P, x: x.gather(dim, P.tensor(index)) ** 2


@case("scatter_add")
def _(m: Maker):
    rows, columns = m.shape(2, low=1)
    index = m.integers(rows, rows, columns)
    return [
        m.values(rows, columns),
        m.values(rows, columns),
    ], lambda P, x, y: x.scatter_add(0, P.tensor(index), y) ** 2


@case("index")
def _(m: Maker):
    n, k = m.pick(1, 3), m.pick(0, 4)
    i, j = m.integers(n, k), m.integers(2, k)
    return (
        [m.values(n, 2, 3)],
        lambda P, x: (
            x[P.tensor(i)].sum()
            + x[P.tensor(i), P.tensor(j)] ** 2
            + x[P.tensor(i), :, 1][..., :1]
            + x[:, P.tensor(j)].sum()
            + x.index_select(0, P.tensor(i)).sum(1)
        ),
    )


@case("index by mask")
def _(m: Maker):
    shape = m.shape(2)
    mask = m.values(*shape) > 0
    return [m.values(*shape)], lambda P, x: x[P.tensor(mask)] * 2


@case("index put")
def _(m: Maker):
    n, k = m.pick(1, 3), m.pick(0, 3)
    i = np.array(list(range(n))[:k], np.int64)

    def put(P, x, y):
        z = x * 2
        z[P.tensor(i)] = y * y
        return z * z

    return [m.values(n, 2), m.values(len(i), 2)], put


@case("embedding")
def _(m: Maker):
    rows = m.pick(1, 4)
    numbers = m.integers(rows, *m.shape(m.pick(0, 2)))
    return [m.values(rows, 3)], lambda P, w: P.nn.functional.embedding(P.tensor(numbers), w) ** 2


@case("matmul stacks")
def _(m: Maker):
    n, k, o = m.shape(3)
    stack = m.shape(m.pick(0, 2))
    a = (*m.broadcastable(stack), n, k)
    b = (*m.broadcastable(stack), k, o)
    return [m.values(*a), m.values(*b)], lambda P, x, y: x @ y


@case("matmul vectors")
def _(m: Maker):
    n, k = m.shape(2)
    kind = m.pick(0, 3)
    a = [(k,), (n, k), (k,), (2, n, k)][kind]
    b = [(k,), (k,), (k, n), (k,)][kind]
    return [m.values(*a), m.values(*b)], lambda P, x, y: P.matmul(x, y) * 2


@case("mm bmm")
def _(m: Maker):
    b, n, k = m.shape(3)
    return (
        [m.values(b, n, k), m.values(b, k, n), m.values(n, n)],
        lambda P, x, y, z: (
            P.addmm(z, P.mm(P.bmm(x, y).sum(0), z), z, beta=2, alpha=0.5)
            + P.outer(z[0], P.mv(z, z[0]) * P.dot(z[0], z[0]))
            if n
            else x
        ),
    )


@case("linear")
def _(m: Maker):
    i, o = m.pick(0, 3), m.pick(1, 3)
    x = (*m.shape(m.pick(0, 3)), i)
    if m.pick(0, 1):
        return [m.values(*x), m.values(o, i)], lambda P, x, w: P.nn.functional.linear(x, w)
    return [m.values(*x), m.values(o, i), m.values(o)], (
        lambda P, x, w, b: P.nn.functional.linear(x, w, b)
    )


EQUATIONS = (
    "ij,jk->ik", "ij,kj->ki", "bij,bjk->bik", "bhqd,bhkd->bhqk", "i,j->ij", "ij,ij->", "ij,ij->ij",
    "ij,j->i", "ijk->kij", "ij->", "ij->j", "...i,ij->...j", "b...d,d->b...", "ij,jk", "ijk,il->jl",
    "ij,jk,kl->il", "bi,ij,bj->b",
)  # fmt: skip


@case("einsum")
def _(m: Maker):
    equation = EQUATIONS[m.pick(0, len(EQUATIONS) - 1)]
    left = equation.split("->")[0].replace("...", "xy").split(",")
    sizes = {x: m.pick(0, 3) for x in "".join(left)}
    arrays = [m.values(*(sizes[x] for x in names)) for names in left]
    return arrays, lambda P, *tensors: P.einsum(equation, *tensors)


@case("triangle masks")
def _(m: Maker):
    n = m.pick(1, 4)

    def function(P, x):
        hidden = P.triu(P.ones(n, n, dtype=P.bool), diagonal=1)
        return x.masked_fill(hidden, -math.inf).softmax(-1) + P.eye(n) * P.arange(n)

    return [m.values(2, n, n)], function


def layouts(x, kind: int):
    """The same shape, in other memory: as it is, transposed, every second element, broadcast."""
    if kind == 1 and x.dim() >= 2:
        return x.transpose(0, -1).clone().contiguous().transpose(0, -1)
    if kind == 2 and x.dim() >= 1:
        return x.repeat_interleave(2, -1)[..., ::2]
    if kind == 3 and x.dim() >= 1:
        return x.unsqueeze(0).expand(2, *x.shape)[1]
    return x


def recorded(path) -> dict[str, np.ndarray]:
    """The arrays that data/record_torch.py wrote to a file, by name."""
    with np.load(path) as file:
        index, values = json.loads(str(file["index"])), file["values"]
    arrays, start = {}, 0
    for name, shape in index:
        stop = start + math.prod(shape)
        arrays[name] = values[start:stop].reshape(shape)
        start = stop
    return arrays


import engine_cases_nn  # noqa: E402, F401  adds its cases to CASES
