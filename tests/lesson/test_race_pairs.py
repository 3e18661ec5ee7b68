"""Two programs are measured in mirrored pairs, with the machine's state kept out of the verdict."""

import os
import platform
import subprocess
import sys
import time

import pytest
from race_tapes import solved_built

from proflab import stack
from proflab.lesson.race import pairs, show
from proflab.nn import functional as F

SHAPES = {"x": (8, 5, 6), "w": (8, 6, 7), "b": (8, 7)}
TIMES = [3.0 + 0.01 * n for n in range(12)], [1.0 + 0.01 * n for n in range(12)]


def slow(x, w, b):
    return stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def faster(x, w, b):
    return F.relu(x @ w + b[:, None])


def test_twelve_pairs_are_mirrored_and_short_calls_repeated():
    called = []
    for methods in ({}, {"calibrate": lambda call, ms: 3}):
        called.clear()
        before, after = pairs.timed_pairs(
            lambda: called.append("b"), lambda: called.append("a"), methods
        )
        assert len(before) == len(after) == 12
        assert "".join(called[2 :: 3 if methods else 1]) == "baab" * 6


def test_a_slow_machine_gets_fewer_pairs_and_never_fewer_than_six():
    before, after = pairs.timed_pairs(
        lambda: time.sleep(0.01), lambda: None, {}, pairs=100, seconds=0.0
    )
    assert len(before) == len(after) == 6


def test_measure_shows_both_speed_ups_and_the_verdict(monkeypatch):
    functions = vars(solved_built("09_optimization"))
    monkeypatch.setitem(show.counting, "op_facts", functions["op_facts"])
    monkeypatch.setattr(pairs, "timed_pairs", lambda *a: TIMES)
    monkeypatch.setattr(pairs, "is_busy", lambda: True)
    monkeypatch.setattr(pairs, "methods_of", lambda program: functions)
    text = pairs.measure(slow, faster, "T4", **SHAPES)
    assert "counted on T4: 8.32 times" in text and ": faster" in text and "busy" in text
    early = {"confidence_interval": lambda ratios: (min(ratios), max(ratios))}  # before lesson 08
    monkeypatch.setattr(pairs, "methods_of", lambda program: early)
    assert "2.9 times (95 % between 2.8 and 3;" in pairs.measure(slow, faster, "T4", **SHAPES)


# New pages for each array cost more than many an op: on some machines they decided the verdict.
PAGES = """
import resource
import numpy as np
from proflab.lesson.race import pairs

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2**17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

new = faults()
pairs.timed_pairs(lambda: None, lambda: None, {}, 2)
np.ones(2**17)
print(new, faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc")
def test_arrays_get_no_new_pages_while_pairs_are_timed():
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}  # it gives back all that is larger
    done = subprocess.run(
        [sys.executable, "-c", PAGES], env=env, capture_output=True, text=True, check=True
    )
    new, kept = map(int, done.stdout.split())
    assert new > 20 * 200 and kept < 200, done.stdout
