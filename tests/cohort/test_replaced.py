"""What stands for a function or class is called as that is: by position and by its names."""

from __future__ import annotations

import numpy as np
import pytest

from cohort.judging import judged
from cohort.replaced import refused
from cohort.run import lessons
from proflab import nn
from proflab.lesson import doubles

# Those that test cells put in the place of what a notebook defines, by lesson.
REPLACED = {
    "lesson_04": {"MemoryTracker", "saved_activations"},
    "lesson_05": {"add_row", "op_bytes", "op_facts", "find_bottleneck", "profile_forward_pass"},
    "lesson_08": {"gate"},
}
METHODS = {
    doubles.Model: ("parameters", "train", "eval"),
    doubles.Weights: ("parameters", "named_parameters"),
    doubles.OnlyParameters: ("parameters",),
}


@pytest.mark.parametrize("lesson", lessons())
def test_a_stand_in_takes_every_call_that_the_notebooks_own_takes(lesson):
    found = judged("replaced.unlike", lesson)
    assert [row for row in found if row[2]] == []
    assert {row[1] for row in found} >= REPLACED.get(lesson, set())


@pytest.mark.parametrize("double", METHODS, ids=lambda double: double.__name__)
def test_a_model_of_a_test_cell_is_called_as_a_module_is(double):
    for name in METHODS[double]:
        assert refused(getattr(nn.Module, name), getattr(double, name)) == []


def test_a_copy_of_a_test_cell_is_called_as_numpys_is():
    into, source = np.zeros(3), np.ones(3)
    copy = doubles.Copy(doubles.Clock(), per_second=[1.0])
    copy(dst=into, src=source)
    assert copy.amounts == [48]


def test_a_call_that_is_refused_is_found():
    def given(model, shape=(), *, deep=False):
        raise AssertionError

    class Meter:
        def start(self, frames=1):
            raise AssertionError

    class Without:
        def start(self):
            raise AssertionError

    assert refused(given, lambda model, shape, deep: 0) == ["(model=)"]
    assert refused(given, lambda model, size=(), *, deep=0: 0) == ["(model=, shape=, deep=)"]
    assert refused(given, lambda *args, **more: 0) == []
    assert refused(Meter, Without) == [".start(self, frames)", ".start(self=, frames=)"]
    assert refused(Meter, Meter) == []
