"""Serve the known solutions beside; executed after the solved lesson."""

import contextlib
import functools
import math
import os
from collections import Counter
from proflab import Function


def real_inputs(model, input_shape):
    inputs = example_input(model, input_shape)
    return inputs if isinstance(inputs, tuple) else (inputs,)


class Right(MemoryTracker):
    pass


def tell(trackers, peak):
    for tracker in trackers:
        tracker.peak = max(tracker.peak, peak)


def begin(tracker):
    tracker.started = not tracemalloc.is_tracing()
    if tracker.started:
        tracemalloc.start(tracker.frames)


def finish(tracker, current, peak, unit=MB):
    tracker.peak_mb, tracker.current_mb = (n / unit for n in (peak, current))
    if tracker.started:
        tracemalloc.stop()


def row(parameters, current, peak):
    return {
        "parameter_memory_mb": parameters,
        "activation_memory_mb": current,
        "peak_memory_mb": peak,
        "memory_efficiency": (parameters + current) / peak,
    }


def passed(model, inputs):
    with MemoryTracker() as tracker:
        output = model(*inputs)
    return tracker.current_mb, tracker.peak_mb


right_measure = measure_memory


def known_to(model, inputs, kinds=("parameters", "buffers")):
    known = {tensor.storage for tensor in inputs}
    for kind in kinds:
        known |= {tensor.storage for tensor in getattr(model, kind, list)()}
    return known


def watched(model, inputs, pack):
    with proflab.saved_tensors(lambda t: (pack(t), t)[1], lambda t: t):
        return model(*inputs)


def whole(model, shape):
    return meta_inputs(model, shape, per_sample=False)


COPIES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}


def copies_of(optimizer):
    if optimizer not in COPIES:
        raise ValueError(optimizer)
    return COPIES[optimizer]


def trained_mb(model):
    if count_parameters(model, trainable_only=True) == 0:
        return 0.0
    return sum({id(p): p.nbytes for p in model.parameters() if p.requires_grad}.values()) / MB


def activations(model, shape, given):
    found = saved_activations(model, shape) / MB if given is None else given
    if found < 0:
        raise ValueError(found)
    return found


def parts(parameter, gradient, optimizer, activation):
    names = "parameter_mb", "gradient_mb", "optimizer_mb", "activation_mb"
    result = dict(zip(names, (parameter, gradient, optimizer, activation)))
    return result | {"total_mb": sum(result.values())}


right_saved, right_training = saved_activations, training_memory

from proflab.lesson.tracebacks import function_at


def positive_steps(steps):
    if steps < 1:
        raise ValueError("steps")


def compared(step, steps, frames=25):
    with MemoryTracker(frames=frames):
        step()
        before = tracemalloc.take_snapshot()
        for _ in range(steps):
            step()
        return tracemalloc.take_snapshot().compare_to(before, "traceback")


def by_function(rows, name=own_function):
    grown = Counter()
    for row in rows:
        grown[name(row.traceback)] += row.size_diff
    return grown


def verdict(grown, steps):
    rate = sum(grown.values()) / steps
    return {"bytes_per_step": rate, "function": max(grown, key=grown.get) if rate >= 4096 else None}


right_find_leak = find_leak


right_table = memory_table


def several(layers, every):
    if every < 1 or not len(layers):
        raise ValueError("no segments")


def in_segments(segments):
    def run(x):
        for segment in segments:
            x = Recompute.apply(segment, x, *segment.parameters())
        return x

    return run


def cut(layers, every):
    return [nn.Sequential(*layers[i : i + every]) for i in range(0, len(layers), every)]


def checked(parameters, copies, activation_mb, unit, rounded_to):
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("out of range")


def nearest(parameters, rounded_to):
    return round(parameters / rounded_to) * rounded_to


right_recomputed, right_checkpointed = recomputed_gradients, checkpointed


def rounded(found, digits):
    return {name: round(mb, digits) for name, mb in found.items()}


right_optimizer, right_reflect = optimizer_memory_mb, reflect_training_mb
