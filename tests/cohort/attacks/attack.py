"""What an attack is: the cells that a hostile student hands in, and what must happen.

Every attack is handed in for one exercise, `square_sum(values)`, whose honest answer is the sum of
squares. Unless it is said otherwise it must pass no case, leave no process and no file, and bring
back none of the canaries that are planted around it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from proflab_course.cases.reader import TestCell, split

TRIED = "tried"
HONEST = "def square_sum(values):\n    return sum(v * v for v in values)"
# The inputs of a hidden block are a secret, too: no later cell may know them.
HIDDEN_INPUT = "77, 4, 12"
TEST_SOURCE = f"""
expect("two numbers", square_sum([1, 2]), 5)
expect("a float", square_sum([0.5]), 0.25)
### BEGIN HIDDEN TESTS
values = [{HIDDEN_INPUT}]
expect("hidden: three numbers", square_sum(values), 6089)
### END HIDDEN TESTS
expect("one number", square_sum([3]), 9)
### BEGIN HIDDEN TESTS
expect("hidden: two numbers", square_sum([8, 8]), 128)
### END HIDDEN TESTS
"""


def test_cell() -> TestCell:
    """The graded cell that every attack faces."""
    return split(TEST_SOURCE, "test_square_sum", 10)


test_cell.__test__ = False


@dataclass(frozen=True)
class Attack:
    """One hostile submission.

    module: where it is written down.
    cells: executed before the test cell; `{course}`, `{port}`, `{socket}`, `{abstract}` and `{nap}`
    in them stand for the course's folder, a TCP port and two Unix sockets on which the test
    listens, and a time to sleep by which it finds what is left.
    after: executed after it.
    statuses: what the session may end with.
    ends: texts of which the session's sentence may have one. They show that the attack reached its
    decisive act; otherwise its print of "tried", which stands at that act, must come back.
    raises: exceptions that its cells may end with; any other means that it failed on its way.
    runner: "roomy", "cpu" (half a CPU second a cell) or "wall" (a second of real time a cell).
    files: the submission's folder: name → content, or ("link", target), or ("hard link", target).
    never: further texts that must not come back.
    always: texts that must come back.
    late: hidden blocks may share a copy of the notebook's process.
    """

    name: str
    cells: tuple[str, ...]
    module: str
    after: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("finished",)
    ends: tuple[str, ...] = ()
    raises: tuple[str, ...] = ()
    runner: str = "roomy"
    files: dict[str, str | bytes | tuple[str, str]] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    late: bool = False


ATTACKS: list[Attack] = []
# The objects of the worker, from the frames between it and the code that it executes.
REACH = """
import sys
def reach(kind):
    frame = sys._getframe()
    while frame is not None:
        for thing in list(frame.f_locals.values()):
            if type(thing).__name__ == kind:
                return thing
        frame = frame.f_back
    raise LookupError(kind)
"""


def attack(name: str, *cells: str, **fields) -> None:
    """Add an attack to the corpus."""
    module = sys._getframe(1).f_globals["__name__"]
    ATTACKS.append(Attack(name, cells, module, **fields))
