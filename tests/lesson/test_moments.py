"""What can be read during a training step, and who it is that allocated."""

from __future__ import annotations

import linecache
import tracemalloc

import numpy as np
import pytest

from proflab import Tensor, dispatch, models, nn, optim
from proflab.lesson import doubles, moments
from proflab.lesson.inputs import real_inputs
from proflab.lesson.tracebacks import function_at, own_function

MB = 1024**2


class Step:
    """Stands for the model's loss and the optimizer: writes down what is called."""

    def __init__(self):
        self.log, self.model = [], nn.Linear(3, 2)

    def zero_grad(self):
        self.log.append("zero_grad")

    def step(self):
        self.log.append("step")


def test_a_training_step_says_when_each_phase_is_over():
    step, x = Step(), Tensor(np.ones((4, 3), np.float32))

    def moment(label):
        step.log.append((label, step.model.weight.grad is not None))

    moments.training_step(step.model, x, step, moment)
    after = [("after_forward", False), ("after_backward", True)]
    assert step.log == ["zero_grad", *after, "step", ("after_optimizer", True)]


def test_a_training_step_trains():
    model, x = nn.Linear(3, 2), Tensor(np.ones((4, 3), np.float32))
    before = model.weight.detach().numpy().copy()
    moments.training_step(model, x, optim.SGD(model.parameters(), lr=0.1))
    assert not np.array_equal(model.weight.detach().numpy(), before)


def test_a_timeline_reads_after_each_operation_and_numbers_the_phases():
    timeline, model = moments.Timeline(), nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    x = Tensor(np.ones((4, 3), np.float32))
    tracemalloc.start()
    with dispatch.hook(timeline.read):
        model(x)
        operations = len(timeline.readings)
        timeline.ends("after_forward")
        held = np.empty(5 * MB, np.uint8)
        timeline.ends("after_optimizer")  # without an operation, and seen all the same
        timeline.ends("after_forward")
    tracemalloc.stop()
    ends = [operations, operations + moments.NO_OPS, operations + 2 * moments.NO_OPS]
    names = ["forward 1", "optimizer 1", "forward 2"]
    assert operations >= 2 and timeline.phases == list(zip(names, ends, strict=True))
    assert len(timeline.readings) == ends[-1]
    grown = timeline.readings[-1] - timeline.readings[operations - 1]
    assert grown == pytest.approx(held.nbytes / MB, abs=0.01)


class Profiler:
    def __init__(self):
        self.labels = []

    def snapshot(self, label):
        self.labels.append(label)


def test_both_meters_are_read_at_the_same_moments():
    meters = moments.BothMeters(Profiler())
    tracemalloc.start()
    meters.note("before")
    held = np.empty(3 * MB, np.uint8)
    meters.note("after")
    tracemalloc.stop()
    assert meters.profiler.labels == ["before", "after"]
    assert np.diff(meters.traced) == pytest.approx([held.nbytes / MB], abs=0.01)


@pytest.mark.parametrize("make, copies", [(optim.SGD, 0), (optim.Adam, 2)])
def test_an_optimizers_state_in_bytes(make, copies):
    model = nn.Linear(30, 20)
    optimizer = make(model.parameters())
    moments.training_step(model, Tensor(np.ones((2, 30), np.float32)), optimizer)
    assert moments.state_bytes(optimizer) == copies * (30 * 20 + 20) * 4


def test_storages_count_once_and_as_a_whole():
    x = Tensor.meta((4, MB))
    assert moments.storages_mb([x, x[0], x.reshape(2, 2, MB)]) == 16.0
    assert moments.storages_mb([x, Tensor.meta((MB,), np.float64)]) == 24.0


def test_real_inputs_are_a_tuple():
    (one,) = real_inputs(nn.Linear(3, 2), (4, 3))
    assert one.shape == (4, 3) and not one.is_meta
    assert [x.shape for x in real_inputs(models.LeNet5(), ((4, 3), (2,)))] == [(4, 3), (2,)]


TEXT = """import numpy as np
def outer():
    def inner():
        return np.full(10, 1)
    return inner()
value = 3
"""


def test_the_function_of_a_line_is_the_innermost_one():
    file = "<a test of functions>"
    linecache.cache[file] = len(TEXT), None, TEXT.splitlines(keepends=True), file
    names = [function_at(file, line) for line in range(1, 7)]
    assert names == ["<module>", "outer", "inner", "inner", "outer", "<module>"]


def test_the_own_function_is_the_innermost_outside_of_libraries():
    step = doubles.LeakyStep(through_numpy={"collect": 1})
    tracemalloc.start(25)
    step()
    largest = tracemalloc.take_snapshot().statistics("traceback")[0]
    tracemalloc.stop()
    assert "numpy" in largest.traceback[-1].filename
    assert own_function(largest.traceback) == "collect"
    inside = [frame for frame in largest.traceback if "numpy" in frame.filename]
    assert own_function(inside) is None
