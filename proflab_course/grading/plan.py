"""Define plans and results of an execution: the types that the grader and all runners share.

A `Plan` holds code only: cells as the student wrote them and the steps of test cells, without
labels or expected values. Limits do not belong here: they are in `limits.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from proflab_course.cases.case import Step
from proflab_course.cases.hidden_doubles import DoubleSpec


@dataclass(frozen=True)
class RunCell:
    """A cell to execute as Jupyter would.

    seconds: CPU time of this cell in the solved notebook; 0 if short or unknown, None if not
    measured yet. given: True for a locked cell.
    """

    code: str
    seconds: float | None = 0.0
    given: bool = False


@dataclass(frozen=True)
class RunBlock:
    """Steps of a test cell, all hidden or all visible; doubles as in a Block of `cases/reader.py`.

    cell: position of the test cell; if it runs out of time, all of its blocks end. late: True for a
    hidden block that may run at the end of the notebook (`late_blocks.py`). seconds: CPU time of
    its slowest statement in the solved notebook, as for a cell.
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
    """The files that a student's process may see: the student's, and support files, which win.

    files: the same files if another machine has gathered them already. graders: True for the
    grader's own work, in which whatever fails says nothing of the hand-in.
    """

    name: str
    folder: Path | None = None
    support: Path | None = None
    files: Mapping[str, bytes] | None = field(default=None, compare=False)
    graders: bool = False


@dataclass(frozen=True)
class Reply:
    """The reply of one cell or step. The other fields depend on `state`.

    "done": executed; "value": `value` is plain data, or bytes in the reply format
    that nobody has read yet, for a step of kind "tape"; "refused": its value is not plain data, and
    `message` is the reason; "raised": class names, message and traceback of the exception; "lost":
    nothing came back, and `message` is the reason. seconds: CPU time as the student's process
    reports it.
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
    """The replies to a plan, one list for each item, and how the process ended.

    status: "finished", "timed out", "out of memory", "process died" or "tampered". place: the item
    of the plan that the sentence is about. hit_wall: real time ran out because other processes had
    the processors. again: another session is needed, because the process had to be killed in a cell
    that the next session leaves out, or ended before the late blocks could run. hidden_sent: a
    hidden statement has been sent, so the visible replies are final (`one_execution.py`).
    """

    status: str = "finished"
    sentence: str = ""
    replies: list[list[Reply]] = field(default_factory=list)
    hit_wall: bool = False
    again: bool = False
    place: int | None = None
    hidden_sent: bool = False


# "auto": by whatever of this machine isolates; "none": for authors who are trusted.
Isolation = Literal["auto", "none"]


class Runner(Protocol):
    """Executes plans; each degree of isolation has its own runner."""

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute `plan` for `submission`; whatever the student's code does raises nothing here."""
        ...

    def close(self) -> None:
        """End the processes that were kept for further plans."""
        ...


def statements(item: RunCell | RunBlock) -> Iterator[tuple[str, str]]:
    """Yield (kind, code) of each request that is sent for a plan's item."""
    if isinstance(item, RunCell):
        yield "cell", item.code
    else:
        for step in item.steps:
            yield step.kind, step.code


def fill_lost(replies: list[Reply], item: RunCell | RunBlock, why: str) -> None:
    """Add a lost reply, with the reason `why`, for every statement that has no reply."""
    missing = len(list(statements(item))) - len(replies)
    replies += [Reply("lost", message=why)] * missing
