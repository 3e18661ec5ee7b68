"""Let speed earn points, without a clock.

A program is traced to a tape of plain instructions; the tape is run on other inputs and counted on
a declared machine, in the grader apart from all student code. The map:

tape:      the instructions, and the check that a list is a tape
trace:     from a program to its tape
replay:    run a tape, on data or without
cost:      what a tape costs on a machine
charges:   where an op is charged more or less than lesson 05's row says
work:      how long an op takes here at most, whatever a machine counts
known:     what all tapes of a race are judged beside: the given program's cost and results
judge:     right or wrong, and the share of the way from the given program to full marks
jobs:      the grader's jobs, carried out where no student code runs
hints:     what can still fall in a program, by its lines, and what betrays a mistake
show:      the table by lines of the program
trail:     the picture: a race's marks, and the session's tries as a trail
pairs:     two programs measured on this machine in mirrored pairs, for no points
plans:     plans as data, such as an order or cuts into buckets: simulators that count them
log:       the work log: a row of plain data for each step from a slow program to a fast one
steps:     the rows of a log as a stranger wrote them, and what their texts name
check_log: whether the rows of a work log agree with its programs and with each other
step_rules: whether they were taken, measured and judged one by one
idle:      what a program does without changing a number
facts:     what a viva asks about a race, from its tapes
"""

from __future__ import annotations

from collections.abc import Callable

from proflab.lesson.race import show
from proflab.lesson.race.cost import MACHINES, Machine
from proflab.lesson.race.log import WorkLog
from proflab.lesson.race.pairs import measure
from proflab.lesson.race.plans import WORKLOADS
from proflab.lesson.race.show import counted, table
from proflab.lesson.race.tape import Refused
from proflab.lesson.race.trace import Tape, traced
from proflab.lesson.race.trail import picture, plan_picture

__all__ = [
    "MACHINES",
    "WORKLOADS",
    "Machine",
    "Refused",
    "Tape",
    "WorkLog",
    "count_with",
    "counted",
    "measure",
    "picture",
    "plan_picture",
    "table",
    "traced",
]


def count_with(op_facts: Callable) -> None:
    """Have this notebook's races counted by lesson 05's `op_facts`, one's own or the course's.

    The grader counts with the course's own, so a slip shows as a difference.
    """
    show.counting["op_facts"] = op_facts
