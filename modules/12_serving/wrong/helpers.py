"""Serve the known solutions beside; executed after the solved lesson."""


def own_round(values, exponent_bits, mantissa_bits, reserved=0):
    if not all(map(math.isfinite, values)) or exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError("values")
    numbers, bias = [], 2 ** (exponent_bits - 1) - 1
    for code in range(2 ** (exponent_bits + mantissa_bits) - reserved):
        power, part = divmod(code, 2**mantissa_bits)
        if power == 0:
            numbers.append(part * 2.0 ** (1 - bias - mantissa_bits))
        else:
            numbers.append((1 + part / 2**mantissa_bits) * 2.0 ** (power - bias))
    found = []
    for value in values:
        code = min(range(len(numbers)), key=lambda c: (abs(numbers[c] - abs(value)), c % 2))
        found.append(math.copysign(numbers[code], value))
    return found


def own_power(x):
    return math.frexp(x)[1] - 1


def sum_of(*numbers):
    return sum(numbers)


import math

import numpy as np


def own_likeliest(numbers):
    return numbers.argmax(-1, keepdim=True)


def own_cached(model, tokens, cache=None, texts=None):
    cache, todo, logits = cache or model.new_cache(), tokens, []
    written = [tokens if texts is None else texts]
    while written[0].shape[1] + len(logits) < model.context:
        logits.append(model(todo, cache)[:, -1])
        todo = own_likeliest(logits[-1])
        written.append(todo)
    return proflab.cat(written, 1), proflab.stack(logits, 1)
