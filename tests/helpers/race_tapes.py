"""Trace programs for tests as the grader gets their tapes."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

import proflab
from proflab import stack
from proflab.checks.values import dumps, loads
from proflab.lesson.race.tape import check
from proflab.nn import functional as F

EXPERTS = {"x": (64, 32, 64), "w": (64, 64, 64), "b": (64, 64)}


def experts(x, w, b):
    """A layer of 64 experts, one after the other: what a race starts from."""
    return stack([F.relu(x[e] @ w[e] + b[e]) for e in range(x.shape[0])])


def from_left(x):
    """A product of three that is dear, from the left."""
    return (x @ x) @ x[:, :2]


def from_right(x):
    """The same product, cheap: each of its two is small."""
    return x @ (x @ x[:, :2])


def solved_op_facts():
    """Lesson 05's, as the course has solved it."""
    return solved_built("06_roofline").op_facts


@cache
def solved_built(lesson):
    """What the lessons before one have written, as the course has solved them."""
    place = Path(__file__).parents[2] / "source" / lesson / "built.py"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROFLAB_MINE", "off")
        spec = importlib.util.spec_from_file_location(f"built_of_{lesson}", place)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


def crossed(tape):
    """A tape as the grader gets it."""
    tape = loads(dumps(tape))
    check(tape)
    return tape


def step(function, names):
    """A program that returns a result, its sum's gradients, and 0 where there is none."""

    def program(**tensors):
        leaves = [tensors[name].requires_grad_() for name in names]
        out = function(proflab, *leaves)
        if not out.requires_grad:
            return [out]
        (out * out).sum().backward()
        return [out.detach()] + [x.grad for x in leaves if x.grad is not None]

    return program
