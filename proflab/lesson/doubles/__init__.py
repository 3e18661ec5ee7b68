"""Stand-ins for a lesson's test cells: small, exact, and built to tell right from almost right.

What may not enter: expected values. A double says what the student's code is given, never what
should come out.
"""

from proflab.lesson.doubles.double import Double
from proflab.lesson.doubles.earlier import Before, facts
from proflab.lesson.doubles.engine import (
    OnlyParameters,
    Weights,
    errors,
    paced,
    recomputed,
    refuses,
    unknown_op,
)
from proflab.lesson.doubles.gradients import furthest, gradients
from proflab.lesson.doubles.memory import (
    Allocating,
    LeakyStep,
    Resident,
    Tracker,
    block,
    held_mb,
    holding,
    printed,
    told,
    traced_mb,
    using,
)
from proflab.lesson.doubles.models import Parts, SumOfTwo
from proflab.lesson.doubles.pixels import Pixels
from proflab.lesson.doubles.rows import forward_row
from proflab.lesson.doubles.slow_memory import SlowMemory, any_merge
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

# Those whose script stays with the grader where a hidden test makes them.
HELD: dict[str, type[Double]] = {
    kind.__name__: kind for kind in (Clock, Copy, Matmul, Model, Pixels, SlowMemory)
}

__all__ = [
    "HELD",
    "Allocating",
    "Before",
    "Clock",
    "Copy",
    "LeakyStep",
    "Logged",
    "Matmul",
    "Model",
    "OnlyParameters",
    "Parts",
    "Resident",
    "Pixels",
    "SlowMemory",
    "SumOfTwo",
    "Tracker",
    "Weights",
    "any_merge",
    "block",
    "by_hand",
    "errors",
    "facts",
    "failing",
    "forward_row",
    "furthest",
    "gradients",
    "held_mb",
    "holding",
    "nested",
    "paced",
    "printed",
    "quietly",
    "recomputed",
    "refuses",
    "time_of_failing",
    "timed",
    "told",
    "traced_mb",
    "unknown_op",
    "using",
]
