"""Lesson 04: what students get wrong about memory. The right ones stand in a file beside.

The mutants of counts stand in lesson_04_counts.py, those of snapshots in
lesson_04_resident.py, of leaks in lesson_04_growth.py, of checkpoints in lesson_04_checkpoints.py,
and slips of every exercise in lesson_04_slips.py.
"""

from cohort import lesson_04_checkpoints, lesson_04_counts, lesson_04_growth, lesson_04_resident
from cohort import lesson_04_kinds as kinds
from cohort import lesson_04_slips as slips
from cohort.lesson_04_alternates import ALTERNATES  # noqa: F401

HELPERS = (
    """
import contextlib
import functools
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
"""
    + lesson_04_counts.HELPERS
    + lesson_04_growth.HELPERS
    + lesson_04_resident.HELPERS
    + lesson_04_checkpoints.HELPERS
    + slips.HELPERS
)

MUTANTS = {
    "MemoryTracker": {
        "over the start of the outermost": """
            class MemoryTracker(Right):
                def stop(self):
                    first = self.running[0].before
                    before, self.before = self.before, first
                    super().stop()
                    self.before = before
        """,
        "it started tracing if nobody else is running": """
            class MemoryTracker(Right):
                def start(self):
                    alone = not self.running
                    super().start()
                    self.started = alone
        """,
        "the frames of whoever was first, from then on": """
            class MemoryTracker(Right):
                def start(self):
                    self.running and tracemalloc.stop()
                    super().start()
        """,
        "the inner one lowers the outer one's peak": """
            class MemoryTracker(Right):
                def start(self):
                    begin(self)
                    tracemalloc.reset_peak()
                    self.before = tracemalloc.get_traced_memory()[0]
                def stop(self):
                    finish(self, *(n - self.before for n in tracemalloc.get_traced_memory()))
    """,
        "the peak is not reset": """
            class MemoryTracker(Right):
                def start(self):
                    begin(self)
                    self.before = tracemalloc.get_traced_memory()[0]
                def stop(self):
                    finish(self, *(n - self.before for n in tracemalloc.get_traced_memory()))
    """,
        "others are told at the start only": """
            class MemoryTracker(Right):
                def stop(self):
                    current, self.peak = tracemalloc.get_traced_memory()
                    self.running.remove(self)
                    finish(self, current - self.before, self.peak - self.before)
    """,
        "others are told at the end only": """
            class MemoryTracker(Right):
                def start(self):
                    begin(self)
                    tracemalloc.reset_peak()
                    self.before = self.peak = tracemalloc.get_traced_memory()[0]
                    self.running.append(self)
    """,
        "only the one outside is told": """
            class MemoryTracker(Right):
                def start(self):
                    begin(self)
                    self.before, peak = tracemalloc.get_traced_memory()
                    tell(self.running[-1:], peak)
                    tracemalloc.reset_peak()
                    self.peak = self.before
                    self.running.append(self)
                def stop(self):
                    current, peak = tracemalloc.get_traced_memory()
                    tell(self.running[-1:], peak)
                    self.running.remove(self)
                    finish(self, current - self.before, self.peak - self.before)
    """,
        "tracing is always stopped": """
            class MemoryTracker(Right):
                def stop(self):
                    self.started = True
                    super().stop()
    """,
        "tracing is never stopped": """
            class MemoryTracker(Right):
                def stop(self):
                    self.started = False
                    super().stop()
    """,
        "tracing starts afresh each time": """
            class MemoryTracker(Right):
                def start(self):
                    tracemalloc.stop()
                    super().start()
    """,
        "all traces are cleared": """
            class MemoryTracker(Right):
                def start(self):
                    begin(self)
                    tell(self.running, tracemalloc.get_traced_memory()[1])
                    tracemalloc.clear_traces()
                    self.before = self.peak = tracemalloc.get_traced_memory()[0]
                    self.running.append(self)
    """,
        "the peak is not over the start": """
            class MemoryTracker(Right):
                def stop(self):
                    before, self.before = self.before, 0
                    super().stop()
                    self.current_mb -= before / MB
    """,
        "what is left is not over the start": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.current_mb += self.before / MB
    """,
        "bytes": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb, self.current_mb = self.peak_mb * MB, self.current_mb * MB
    """,
        "MB of 10⁶ bytes": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb *= MB / 10**6
                    self.current_mb *= MB / 10**6
    """,
        "never negative": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.current_mb = max(0.0, self.current_mb)
    """,
        "the peak is what is left": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb = self.current_mb
    """,
        "peak and rest exchanged": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb, self.current_mb = self.current_mb, self.peak_mb
    """,
        "rounded to whole MB": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb, self.current_mb = round(self.peak_mb), round(self.current_mb)
    """,
        "frames are ignored": """
            class MemoryTracker(Right):
                def start(self):
                    self.frames = 1
                    super().start()
    """,
        "those that have stopped stay in the list": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.running.append(self)
    """,
        "an error leaves it running": """
            class MemoryTracker(Right):
                def __exit__(self, kind, *rest):
                    if kind is None:
                        self.stop()
    """,
        "errors are swallowed": """
            class MemoryTracker(Right):
                def __exit__(self, *exception):
                    self.stop()
                    return True
    """,
        "one use only": """
            class MemoryTracker(Right):
                def start(self):
                    if not hasattr(self, "before"):
                        super().start()
                def stop(self):
                    if self in self.running:
                        super().stop()
    """,
        "the system's memory": """
            class MemoryTracker(Right):
                def start(self):
                    self.started = False
                    self.before = psutil.Process().memory_info().rss
                def stop(self):
                    grown = psutil.Process().memory_info().rss - self.before
                    finish(self, grown, grown)
    """,
    },
    "measure_memory": {
        "the output alone": """
            found = right_measure(model, input_shape)
            output = model(*real_inputs(model, input_shape))
            output = output["sum"] if isinstance(output, dict) else output
            return found | {"activation_memory_mb": output.nbytes / MB}
        """,
        "with the backward pass": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            with MemoryTracker() as tracker:
                output = model(*inputs)
                total = output["sum"] if isinstance(output, dict) else output
                total.sum().backward() if total.is_meta else autograd.grad(
                    total.sum(), list(model.parameters()))
            return row(parameters, tracker.current_mb, parameters + tracker.peak_mb)
        """,
        "the output is not held": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            with MemoryTracker() as tracker:
                model(*inputs)
            return row(parameters, tracker.current_mb, parameters + tracker.peak_mb)
    """,
        "no graph is made": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            with proflab.no_grad():
                current, peak = passed(model, inputs)
            return row(parameters, current, parameters + peak)
    """,
        "only the graph is held": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            with MemoryTracker() as tracker:
                output = model(*inputs)
                node = getattr(output, "node", output)
                del output
            return row(parameters, tracker.current_mb, parameters + tracker.peak_mb)
    """,
        "the input counts": """
            parameters = parameter_memory_mb(model)
            with MemoryTracker() as tracker:
                inputs = real_inputs(model, input_shape)
                output = model(*inputs)
            return row(parameters, tracker.current_mb, parameters + tracker.peak_mb)
    """,
        "parameters are missing at the peak": """
            found = right_measure(model, input_shape)
            peak = found["peak_memory_mb"] - found["parameter_memory_mb"]
            return row(found["parameter_memory_mb"], found["activation_memory_mb"], peak)
    """,
        "parameters are among the activations": """
            found = right_measure(model, input_shape)
            found["activation_memory_mb"] += found["parameter_memory_mb"]
            return found
    """,
        "the peak is what is left": """
            found = right_measure(model, input_shape)
            weights, rest = found["parameter_memory_mb"], found["activation_memory_mb"]
            return row(weights, rest, weights + rest)
    """,
        "what is left is the peak": """
            found = right_measure(model, input_shape)
            weights, peak = found["parameter_memory_mb"], found["peak_memory_mb"]
            return row(weights, peak - weights, peak)
    """,
        "efficiency without parameters": """
            found = right_measure(model, input_shape)
            share = found["activation_memory_mb"] / found["peak_memory_mb"]
            return found | {"memory_efficiency": share}
    """,
        "efficiency in percent": """
            found = right_measure(model, input_shape)
            return found | {"memory_efficiency": 100 * found["memory_efficiency"]}
    """,
        "efficiency upside down": """
            found = right_measure(model, input_shape)
            return found | {"memory_efficiency": 1 / found["memory_efficiency"]}
    """,
        "one sample": """
            if not isinstance(input_shape[0], tuple):
                input_shape = (1, *input_shape[1:])
            return right_measure(model, input_shape)
    """,
        "runs twice": """
            if callable(model):
                model(*real_inputs(model, input_shape))
            return right_measure(model, input_shape)
    """,
        "counted, not measured": """
            found = right_measure(model, input_shape)
            counted = saved_activations(model, input_shape) / MB
            return found | {"activation_memory_mb": counted}
    """,
        "twice the input": """
            found = right_measure(model, input_shape)
            size = sum(x.nbytes for x in real_inputs(model, input_shape))
            return found | {"activation_memory_mb": 2 * size / MB}
    """,
        "all that was ever at the peak": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            output = model(*inputs)
            current, peak = ((n - before) / MB for n in tracemalloc.get_traced_memory())
            tracemalloc.stop()
            return row(parameters, current, parameters + peak)
    """,
        "tracing is left on": """
            tracemalloc.start()
            return right_measure(model, input_shape)
    """,
        "one input only: raises": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            current, peak = passed(model, inputs[:1])
            return row(parameters, current, parameters + peak)
    """,
        "parameters in float64": """
            found = right_measure(model, input_shape)
            weights, rest = 2 * found["parameter_memory_mb"], found["activation_memory_mb"]
            peak = found["peak_memory_mb"] + weights / 2
            return row(weights, rest, peak)
    """,
        "bytes": """
            found = right_measure(model, input_shape)
            return {k: v if k == "memory_efficiency" else v * MB for k, v in found.items()}
    """,
        "a random float32 input": """
            parameters = parameter_memory_mb(model)
            current, peak = passed(model, [proflab.randn(*input_shape)])
            return row(parameters, current, parameters + peak)
    """,
    },
}
for part in (lesson_04_counts, lesson_04_growth, lesson_04_resident, lesson_04_checkpoints):
    MUTANTS |= part.MUTANTS
for more in (slips.MUTANTS, kinds.MUTANTS):
    for exercise, codes in more.items():
        MUTANTS[exercise] |= codes
