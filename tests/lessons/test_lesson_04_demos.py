"""The demos of lesson 04: a training step that is watched, and the pictures."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from lesson_demos import demos_of

from proflab import Tensor, dispatch, nn, optim

demos = demos_of("04_memory")
MB = 1024**2
ROW = {
    "parameter_mb": 10.0,
    "gradient_mb": 10.0,
    "optimizer_mb": 20.0,
    "activation_mb": 60.0,
    "total_mb": 100.0,
}


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

    demos.training_step(step.model, x, step, moment)
    after = [("after_forward", False), ("after_backward", True)]
    assert step.log == ["zero_grad", *after, "step", ("after_optimizer", True)]


def test_a_training_step_trains():
    model, x = nn.Linear(3, 2), Tensor(np.ones((4, 3), np.float32))
    before = model.weight.detach().numpy().copy()
    demos.training_step(model, x, optim.SGD(model.parameters(), lr=0.1))
    assert not np.array_equal(model.weight.detach().numpy(), before)


def test_a_timeline_reads_after_each_operation_and_numbers_the_phases():
    timeline, model = demos.Timeline(), nn.Sequential(nn.Linear(3, 2), nn.ReLU())
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
    ends = [operations, operations + demos.NO_OPS, operations + 2 * demos.NO_OPS]
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
    meters = demos.BothMeters(Profiler())
    tracemalloc.start()
    meters.note("before")
    held = np.empty(3 * MB, np.uint8)
    meters.note("after")
    tracemalloc.stop()
    assert meters.profiler.labels == ["before", "after"]
    assert np.diff(meters.traced) == pytest.approx([held.nbytes / MB], abs=0.01)


def test_trainings_parts_have_names_for_people():
    alt = demos.plot_training({"net": ROW}).alt
    assert "net, 100 MB: parameters 10.0%, gradients 10.0%, optimizer state 20.0%" in alt
    assert "activations 60.0%" in alt and "with Adam" in alt


def test_parts_are_lines_in_mb():
    parts = {8: {"a": 2**20, "b": 2**21}, 16: {"a": 2**22, "b": 2**22}}
    alt = demos.plot_by_part(parts, "tokens", "Kept").alt
    assert (
        "MB against tokens" in alt
        and "a rises from 1 at 8 to 4" in alt
        and "b rises from 2 at 8 to 4" in alt
    )


def test_both_meters_are_over_the_first_moment_and_against_time():
    rows = [
        {"label": "start", "seconds": 0.0, "rss_mb": 100.0},
        {"label": "at_once", "seconds": 0.001, "rss_mb": 100.0},
        {"label": "the_end", "seconds": 2.5, "rss_mb": 130.0},
    ]
    picture = demos.plot_meters(rows, [5.0, 5.0, 25.0], "Two meters")
    assert "MB more than start" in picture.alt
    assert picture.alt.endswith("the end at 2.5 s, resident 30, traced 20")
    axes = picture.figure.axes[0]
    resident, traced = (line for line in axes.lines if line.get_label() in ("resident", "traced"))
    assert list(resident.get_xdata()) == [0.0, 0.001, 2.5]
    assert list(resident.get_ydata()) == [0, 0, 30] and list(traced.get_ydata()) == [0, 0, 20]
    assert [text.get_text() for text in axes.texts] == ["start", "the end"]


def test_the_timeline_shows_the_phases():
    timeline = demos.Timeline()
    timeline.readings, timeline.phases = [1.0, 3.0, 2.0], [("forward 1", 2), ("backward 1", 3)]
    picture = demos.plot_timeline(timeline, "Steps")
    assert "forward 1 up to 3, ends at 3; backward 1 up to 2" in picture.alt
    assert picture.png(dpi=40).startswith(b"\x89PNG")


@pytest.mark.parametrize("guess, lines", [(None, 1), (4, 2), ("six", 1), (-1, 1)])
def test_segments_are_a_line_and_a_guess_another(guess, lines):
    picture = demos.plot_segments({1: 9.0, 2: 4.0, 8: 7.0}, guess)
    assert "training step of 8 layers" in picture.alt
    assert "falls from 9 at 1 to 4 at 2, then rises to 7 at 8" in picture.alt
    assert len(picture.figure.axes[0].lines) == lines
    assert picture.png(dpi=40).startswith(b"\x89PNG")
