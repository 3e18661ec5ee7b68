"""Plans and results of an execution: the types that grader and runners share.

A `Plan` holds code only: cells as the student wrote them and the steps of test cells, without
labels or expected values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from proflab_course.course.hidden_doubles import DoubleSpec
from proflab_course.course.test_cells import Step

MB = 1024**2
# A test cell may take as long as so many of its statements, each to its own limit.
_TEST_STATEMENTS = 5


@dataclass(frozen=True)
class RunCell:
    """A cell to execute as Jupyter would.

    seconds: the CPU seconds that the solved notebook's takes; None: not measured yet; given: no
    student has written it.
    """

    code: str
    seconds: float | None = 0.0
    given: bool = False


@dataclass(frozen=True)
class RunBlock:
    """Steps of a test cell, all hidden or all visible; doubles as in `test_cells.Block`.

    cell: which test cell, for blocks that share one: where it runs out of time, all of them end;
    late: a hidden block that may as well see the notebook as it is at its end (`late_blocks.py`);
    seconds: the CPU seconds of the slowest of its statements with the lesson's solutions, as above.
    """

    hidden: bool
    steps: tuple[Step, ...]
    doubles: tuple[tuple[int, DoubleSpec], ...] = ()
    cell: int | None = None
    late: bool = False
    seconds: float | None = 0.0


Plan = tuple[RunCell | RunBlock, ...]


@dataclass(frozen=True)
class Submission:
    """The files that a student's process may see: its own, and support files, which come first.

    `files`, where given, are these already gathered, on another machine.
    """

    name: str
    folder: Path | None = None
    support: Path | None = None
    files: Mapping[str, bytes] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Limits:
    """CPU seconds a cell, a statement of a test, and a notebook; sizes in bytes.

    What takes long with the lesson's solutions has more: time_factor times that.
    idle_seconds: real time in which a cell or statement neither computes nor wants to;
    stuck_seconds: what all that ran out of time may take together. Real time is limited, too, to
    wall_factor times the CPU time. Memory is what a student's processes may take together beyond a
    bare Python with numpy; scratch is what they may write, in all and in one file; values is the
    plain data of all replies.
    """

    cell_seconds: float = 15.0
    notebook_seconds: float = 90.0
    memory: int = 4 * 1024 * MB
    wall_factor: float = 10.0
    statement_seconds: float = 2.0
    time_factor: float = 50.0
    idle_seconds: float = 5.0
    stuck_seconds: float = 25.0
    processes: int = 256
    scratch: int = 256 * MB
    scratch_files: int = 20_000
    file: int = 128 * MB
    cell_output: int = 2 * MB
    notebook_output: int = 16 * MB
    notebook_values: int = 64 * MB

    def cpu_seconds(self, item: RunCell | RunBlock) -> float:
        """Return the CPU seconds that a cell, or each statement of a block, may take."""
        least = self.cell_seconds
        if isinstance(item, RunBlock):
            least = min(least, self.statement_seconds)
        return max(least, self.time_factor * (item.seconds or 0.0))

    def test_seconds(self, item: RunBlock) -> float:
        """Return the CPU seconds that the statements of a block's test cell may take together."""
        return _TEST_STATEMENTS * self.cpu_seconds(item)


@dataclass(frozen=True)
class Reply:
    """The reply of one cell or step. `state` says which of the other fields count.

    "done": executed; "value": `value` is plain data; "refused": `message` says why its value is
    no plain data; "raised": class names, message and traceback of the exception; "lost": nothing
    came back, `message` says why. `seconds` of CPU time it took, as the student's process says.
    """

    state: Literal["done", "value", "refused", "raised", "lost"]
    outputs: list[dict] = field(default_factory=list)
    value: Any = None
    raised: list[str] = field(default_factory=list)
    message: str = ""
    traceback: list[str] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Result:
    """The replies to a plan, one list an item, and how the process ended.

    status: "finished", "timed out", "out of memory", "process died" or "tampered"; place: the item
    of the plan that the sentence is about. `hit_wall`: it ran out of real time because other
    processes had the processors. `again`: its process had to be killed in a cell that another turn
    is to leave out, or ended before late blocks could run. `hidden_sent`: a hidden statement has
    been sent, so the visible replies stand (`one_execution.py`).
    """

    status: str = "finished"
    sentence: str = ""
    replies: list[list[Reply]] = field(default_factory=list)
    hit_wall: bool = False
    again: bool = False
    place: int | None = None
    hidden_sent: bool = False


class Runner(Protocol):
    """Executes plans; one implementation a degree of isolation."""

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute `plan` for `submission`; raise nothing for what the student's code does."""
        ...

    def close(self) -> None:
        """End what was kept for further plans."""
        ...


def statements(item: RunCell | RunBlock) -> Iterator[tuple[str, str]]:
    """Yield what is sent for a plan's item: (kind, code) of each request."""
    if isinstance(item, RunCell):
        yield "cell", item.code
    else:
        for step in item.steps:
            yield step.kind, step.code


def fill_lost(replies: list[Reply], item: RunCell | RunBlock, why: str) -> None:
    """Add a reply for every statement that got none."""
    missing = len(list(statements(item))) - len(replies)
    replies += [Reply("lost", message=why)] * missing
