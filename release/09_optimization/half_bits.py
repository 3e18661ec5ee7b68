"""A training in float16, for a demo cell of lesson 09: with a scaled loss, and without.

What may not enter: anything that an exercise asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from slow_training import Images

from proflab import Tensor
from proflab.lesson.alt_text import lines_in_words
from proflab.lesson.measuring import best_time, on_threads
from proflab.lesson.plot import COLOURS, Picture, canvas
from proflab.nn import Parameter
from proflab.optim import Adam


def product_ratio(size: int = 128) -> float:
    """Return how many times as long numpy takes for a product in float16 as in float32."""
    arrays = [np.ones((size, size), kind) for kind in (np.float16, np.float32)]
    with on_threads(1):
        half, single = (best_time(lambda a=array: a @ a, 5) for array in arrays)
    return half / single


def half_training(
    half_gradients: Callable, scale_after: Callable, steps: int
) -> dict[str, list[float]]:
    """Return the losses of one training in four ways; a list ends where a loss is no number.

    A network of seven layers learns to read the digits, in one batch, by Adam with weights
    in float32. In float16, products have sums in float32; the scale grows after ten good steps.
    """
    images = Images()
    names = images.names
    tokens = images.tokens(Tensor(np.stack([images.read(name) for name in names])))
    data = tokens.numpy()[:, :, 0], np.array([images.label(name) for name in names])
    grown = lambda past: [2.0**16, *scale_after(past, interval=10)][-1]  # noqa: E731
    ways = {
        "float32": (np.float32, lambda past: 1.0, True),
        "float16": (np.float16, lambda past: 1.0, True),
        "float16, scaled": (np.float16, grown, True),
        "no step skipped": (np.float16, grown, False),
    }
    found = {}
    for name, (kind, scale_of, skip) in ways.items():
        with on_threads(1), np.errstate(all="ignore"):
            losses = list(_half_losses(*data, kind, scale_of, skip, half_gradients, steps))
        found[name] = losses[: [*np.isfinite(losses), False].index(False)]
    return found


def draw(curves: dict[str, list[float]]) -> Picture:
    """Draw the losses of half_training; a cross ends a line whose next loss is no number."""
    longest = max(map(len, curves.values()))
    title = "One training, in float32 and in float16"
    losses = {name: list(enumerate(each, 1)) for name, each in curves.items()}
    said = lines_in_words(losses, "{:.3g}".format, "step {:.0f}".format)
    with canvas(7.5, 3.8, f"{title}: loss by step. {said}") as (picture, axes):
        for at, (name, losses) in enumerate(curves.items()):
            style = {"color": COLOURS[at], "ls": (0, (3, 2)) if name == "float32" else "-"}
            axes.plot(losses, label=name, lw=2, zorder=2 if at else 3, **style)
            if len(losses) < longest:
                axes.plot([len(losses) - 1], [losses[-1]], "x", color=COLOURS[at], ms=11, mew=3)
        axes.legend(facecolor="white", edgecolor="none", framealpha=1, loc="upper right")
        axes.set(xlabel="step", ylabel="loss", ylim=0)
        axes.set_title(title)
        axes.grid()
    return picture


def _half_losses(x, labels, kind, scale_of, skip, half_gradients, steps) -> Iterator[float]:
    """Yield the loss of each step. What backward makes of it is rounded by half_gradients."""
    rng, sizes, past = np.random.default_rng(1), [64, *[48] * 6, 10], []
    weights = [rng.uniform(-1, 1, (a + 1, b)) / a**0.5 for a, b in pairwise(sizes)]
    masters = [Parameter(Tensor(w.astype(np.float32))) for w in weights]
    optimizer = Adam(masters, lr=0.01)
    for _ in range(steps):
        scale, layers = scale_of(past), [master.array.astype(kind) for master in masters]
        loss, gradients = _pass(x.astype(kind), labels, layers, kind, np.float32(scale))
        yield loss
        if kind is np.float16:
            halves = [half_gradients(gradient, scale) for gradient in gradients]
            past.append(any(half is None for half in halves))
            gradients = gradients if past[-1] else halves
        if past and past[-1] and skip:
            continue
        for master, gradient in zip(masters, gradients, strict=True):
            master.grad = Tensor(gradient)
        optimizer.step()


def _pass(x, labels, layers, kind, scale) -> tuple[float, list[np.ndarray]]:
    """Return the loss and its gradients, in float32; backward is of the loss times the scale."""
    inputs, places, one = [_with_one(x)], (np.arange(len(x)), labels), kind(1)
    for layer in layers[:-1]:
        inputs.append(_with_one(one / (one + np.exp(-_product(inputs[-1], layer, kind)))))
    scores = _product(inputs[-1], layers[-1], kind).astype(np.float32)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    loss = float(-np.log(shares[places]).mean())
    shares[places] -= 1
    delta, gradients = (shares / len(x) * scale).astype(kind), []
    for into, layer in zip(reversed(inputs), reversed(layers), strict=True):
        gradients.insert(0, _product(into.T, delta, kind).astype(np.float32) / scale)
        delta = (_product(delta, layer.T, kind) * (into * (one - into)))[:, :-1]
    return loss, gradients


def _with_one(x: np.ndarray) -> np.ndarray:
    """Return the rows with a 1 at their ends, so that a layer's last row is its bias."""
    return np.concatenate([x, np.ones_like(x[:, :1])], axis=1)


def _product(a: np.ndarray, b: np.ndarray, kind: type) -> np.ndarray:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(kind)
