"""Lesson 05's rows, which lessons 06, 07 and 09 and the profiler's file read, stay as they were.

The rows of data/recorded_rows.json were made by the recorder whose students wrote `self_ms` row by
row. Time is scripted, so that times are compared, too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cohort.run import solved
from lesson_demos import beside

import proflab
from proflab import models
from proflab.lesson import doubles
from proflab.lesson.recording import region

pytestmark = pytest.mark.whole("lessons/test_lesson_05_recorder.py")

profiled = beside("05_profiler", "profiled")
ROWS = json.loads((Path(__file__).parents[1] / "data" / "recorded_rows.json").read_text("utf-8"))
TIMES = ("start_ms", "ms", "self_ms")


def training_step(clock):
    """A forward and a backward pass of GPT-2 in regions, with time between the ops."""
    gpt2 = models.GPT2(97, 16, 48, 2, 4)
    tokens = proflab.example_input(gpt2, (2, 11))

    def run():
        with region("step"):
            with region("forward"):
                clock.advance(0.5)
                loss = gpt2(tokens).mean()
            clock.advance(0.125)
            with region("backward"), region("all of it"):
                loss.backward()

    return run


def forward_pass(clock):
    """A forward pass of ResNet-18."""
    resnet = models.resnet18().eval()
    image = proflab.example_input(resnet, (1, 3, 64, 64))
    return lambda: resnet(image)


def recorded(make):
    """The rows of what `make` makes, as JSON has them, under a scripted clock."""
    clock = doubles.Clock()
    pace, run = doubles.Model(clock, ms=[3.0, 1.000457, 0.25, 0.0]), make(clock)
    rows = clock.run(solved("lesson_05").scope["rows_of"], lambda: profiled.paced(pace, run))
    return json.loads(json.dumps(rows))


@pytest.mark.parametrize("name, make", [("GPT-2", training_step), ("ResNet-18", forward_pass)])
def test_a_recordings_rows_are_as_they_were(name, make):
    rows, columns = recorded(make), ROWS[name]
    assert all(sorted(row) == sorted(columns) for row in rows)
    for key, values in columns.items():
        found = [row[key] for row in rows]
        assert found == (pytest.approx(values, abs=1e-9) if key in TIMES else values), key
