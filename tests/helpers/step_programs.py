"""Programs that a step of lesson 13's work log may try: faults left, and honest ideas of equals."""

import linecache
import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cohort.run import solved

import proflab
from proflab.nn import functional as F

FOLDER = Path(__file__).parents[2] / "modules" / "13_faster"
DRAW = runpy.run_path(str(FOLDER / "draw.py"))
CHOSEN = DRAW["CHOSEN"]


def scope():
    return solved("lesson_13").scope


def faster(model, tokens):
    return scope()["faster"](model, tokens)


@cache
def faults(*left):
    """The given program with these of its faults alone."""
    text, name, found = DRAW["program"](left, DRAW["SIZES"]), f"<{'_'.join(left)}>", {}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), found)
    return found["slow"]


def slow(model, tokens):
    return faults(*CHOSEN)(model, tokens)


def left(*names):
    """The step after which these faults are left."""

    def program(model, tokens):
        return faults(*names)(model, tokens)

    program.__name__ = f"left_{'_'.join(names)}"
    return program


def after(change, program=faster):
    """A program with a change to its result."""

    def changed(model, tokens):
        return change(program(model, tokens))

    changed.__name__ = f"changed_{abs(hash(change)) % 10**6}"
    return changed


def inside(**parts):
    """The fast program with parts of its own, by what they stand for in the engine."""

    def program(model, tokens):
        with pytest.MonkeyPatch.context() as patch:
            for name, part in parts.items():
                patch.setattr(F, name, part)
            return faster(model, tokens)

    program.__name__ = f"other_{'_'.join(parts)}"
    return program


def by_halves(model, tokens):
    return proflab.cat([faster(model, tokens[:4]), faster(model, tokens[4:])])


attend, gelu = F.scaled_dot_product_attention, F.gelu


def copied(query, key, value, **more):
    return attend(*(each.contiguous().clone() for each in (query, key, value)), **more)


def by_parts(query, key, value, **more):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    later = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1) @ value


def in_half(query, key, value, **more):
    halves = (each.to(np.float16) for each in (query, key, value))
    return attend(*halves, **more).to(np.float32)


def by_erf(x, **_):
    return gelu(x)


def by_erf_at_last(x, **more):
    """The other formula for the last position alone, whose GELU is 0.3 % of the cost."""
    return gelu(x) if x.ndim == 2 else gelu(x, **more)


def in_texts(count):
    """The fast program for so many texts at a time."""

    def program(model, tokens):
        return proflab.cat([faster(model, part) for part in tokens.split(count)])

    program.__name__ = f"texts_{count}"
    return program


def by_numbers(x, **_):
    return 0.5 * x * (1 + (0.7978845608 * (x + 0.044715 * x**3)).tanh())


def with_mask(query, key, value, **more):
    size = query.shape[-2]
    return attend(query, key, value, proflab.ones(size, size, dtype=bool).tril())


def near_ones(query, key, value, **more):
    near = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).tril().triu(-16)
    return attend(query, key, value, near)


def scaled_first(query, key, value, **more):
    return attend(query / query.shape[-1] ** 0.5, key, value, scale=1.0, **more)


def head_by_head(query, key, value, **more):
    heads = range(query.shape[1])
    return proflab.stack([attend(query[:, n], key[:, n], value[:, n], **more) for n in heads], 1)


def half_of_the_queries(query, key, value, **more):
    half = query.shape[-2] // 2
    mask = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).tril()[half:]
    early = attend(*(each[:, :, :half] for each in (query, key, value)), **more)
    return proflab.cat([early, attend(query[:, :, half:], key, value, mask)], 2)


def by_product(x, weight, bias=None):
    return x @ weight.T if bias is None else x @ weight.T + bias


def by_einsum(x, weight, bias=None):
    found = proflab.einsum("...i,oi->...o", x, weight)
    return found if bias is None else found + bias


def wide_product(x, weight, bias=None):
    more = () if bias is None else (bias.to(np.float64),)
    return linear(x.to(np.float64), weight.to(np.float64), *more).to(np.float32)


def half_product(x, weight, bias=None):
    return by_product(x.half(), weight.half()).float() + (0.0 if bias is None else bias)


def half_of_the_outputs(x, weight, bias=None):
    if bias is None or len(weight) < 100:
        return linear(x, weight, bias)
    half = len(weight) // 2
    parts = [linear(x, weight[some], bias[some]) for some in (slice(half), slice(half, None))]
    return proflab.cat(parts, -1)


def by_means(x, shape, weight=None, bias=None, eps=1e-5):
    gap = x - x.mean(-1, keepdim=True)
    return gap / ((gap * gap).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


def of_squares(x, shape, weight=None, bias=None, eps=1e-5):
    return F.rms_norm(x, shape, weight) + bias


def looser(x, shape, weight=None, bias=None, eps=1e-5):
    return layer_norm(x, shape, weight, bias, 1e-6)


def steeper(x, **more):
    return 0.5 * x * (1 + (0.79788 * (x + 0.0447 * x**3)).tanh())


def in_letters(equation):
    def product(x, weight, bias=None):
        found = proflab.einsum(equation, x, weight)
        return found if bias is None else found + bias

    program = inside(linear=product)
    program.__name__ = equation
    return program


def spelled(name, other):
    """The fast program with another spelling of what a Tensor's method is asked for."""
    method = getattr(proflab.Tensor, name)

    def program(model, tokens):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(proflab.Tensor, name, lambda *given: method(*other(*given)))
            return faster(model, tokens)

    return program


def by_its_number(x, place):
    return x, (slice(None), x.shape[1] - 1) if place == (slice(None), -1) else place


def turned_round(x, y):
    return (y, x) if isinstance(y, proflab.Tensor) else (x, y)


linear, layer_norm = F.linear, F.layer_norm
BY_NUMBERS, STEEPER = inside(gelu=by_numbers), inside(gelu=steeper)
STEEPER.__name__ = "steeper"  # a step of the same name would be the same step, noted again
IDEAS = {
    "two texts at a time": in_texts(2),
    "a text at a time": in_texts(1),
    "three texts at a time": in_texts(3),
    "GELU by its formula": BY_NUMBERS,
    "GELU by a sigmoid": inside(gelu=lambda x, **_: x * (1.702 * x).sigmoid()),
    "ReLU, of which one would have to learn": inside(gelu=lambda x, **_: x.relu()),
    "SiLU": inside(gelu=lambda x, **_: F.silu(x)),
    "a mask in the place of the flag": inside(scaled_dot_product_attention=with_mask),
    "the nearest tokens alone": inside(scaled_dot_product_attention=near_ones),
    "the query is scaled": inside(scaled_dot_product_attention=scaled_first),
    "a head at a time": inside(scaled_dot_product_attention=head_by_head),
    "later queries by themselves": inside(scaled_dot_product_attention=half_of_the_queries),
    "a product, and then the bias": inside(linear=by_product),
    "products by einsum": inside(linear=by_einsum),
    "products in float64": inside(linear=wide_product),
    "products in float16": inside(linear=half_product),
    "half of the outputs at a time": inside(linear=half_of_the_outputs),
    "the norm by its formula": inside(layer_norm=by_means),
    "the norm without a mean": inside(layer_norm=of_squares),
    "the low rank by itself": left("lowrank"),
}
