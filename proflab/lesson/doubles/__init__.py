"""Stand for things in lessons' test cells: small, exact, built to tell right from almost right.

double:  link a double to its script, which the grader may hold
scripts: keep what those doubles do as pure state
clocks:  put a scripted clock in the place of `time`
timed:   take time on a scripted clock: Clock, Copy, Matmul, Model
watched: exercise a Timer, and log what a model is called with
memory:  allocate so many bytes; set one exercise in another's place
engine:  stand for parameters and for ops that no list knows
rows:    make rows as a recorder has them

What may not enter: expected values. A double says what the student's code is given, never what
should come out.
"""

from proflab.lesson.doubles.double import Double
from proflab.lesson.doubles.engine import (
    OnlyParameters,
    Weights,
    errors,
    recomputed,
    refuses,
    unknown_op,
)
from proflab.lesson.doubles.memory import Allocating, block, using
from proflab.lesson.doubles.rows import forward_row, made_up
from proflab.lesson.doubles.timed import Clock, Copy, Matmul, Model
from proflab.lesson.doubles.watched import (
    Logged,
    by_hand,
    failing,
    nested,
    quietly,
    time_of_failing,
    timed,
)
from proflab.lesson.moved import lookup_in

# Those whose script stays with the grader where a hidden test makes them.
HELD: dict[str, type[Double]] = {kind.__name__: kind for kind in (Clock, Copy, Matmul, Model)}

__all__ = [
    "HELD",
    "Allocating",
    "Clock",
    "Copy",
    "Logged",
    "Matmul",
    "Model",
    "OnlyParameters",
    "Weights",
    "block",
    "by_hand",
    "errors",
    "failing",
    "forward_row",
    "made_up",
    "nested",
    "quietly",
    "recomputed",
    "refuses",
    "time_of_failing",
    "timed",
    "unknown_op",
    "using",
]

__getattr__ = lookup_in(__name__)
