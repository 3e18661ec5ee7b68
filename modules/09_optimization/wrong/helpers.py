"""Serve the known solutions beside; executed after the solved lesson."""

import itertools

from proflab.nn import functional as F


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def loss_and_gradients(model, y):
    loss = y.square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def run_again(layers, again, x):
    for number, layer in enumerate(layers):
        x = checkpointed([layer], 1)(x) if number in again else layer(x)
    return x


def blocks_again(model, x, memory):
    layers = list(model)
    return next((n for n in range(len(layers)) if held_bytes(model, x, n) <= memory), len(layers))


def right_single(ops, x):
    return by_kind(ops, x, lambda half: ~np.isfinite(half))


def by_kind(ops, x, is_lost):
    found = []
    with np.errstate(all="ignore"):
        for name, op in ops:
            half = op(x.astype(np.float16))
            lost = int(np.sum(is_lost(half)))
            if lost:
                found.append((name, lost))
                half = op(x.astype(np.float32))
            x = half
    return found
