"""Execute calls in the grader's sandbox, each in the notebook as it was, and collect outcomes.

Code of students and of mutants is executed nowhere else. What does not end, is too large, is no
plain data, or comes back broken has no outcome, and no question is asked about it. A failure of the
sandbox itself is none of these: it is the grader's, and is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.seen import Outcome, agree
from proflab_course.cases.case import Step
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grade_notebook import is_executed
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.limits import Limits
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.plan import Isolation, Reply, RunBlock, RunCell, Runner, Submission
from proflab_course.grading.run.sandbox_runner import SandboxError, make_runner

# A call is given this long, and what does not end this long together: nobody waits for more.
CALL_SECONDS, STUCK_SECONDS, IDLE_SECONDS = 0.2, 3.0, 1.0
# Names go back to what they were, so that no set-up statement reaches a later call.
_RESET = """
def __viva__(kept=dict(globals()), names=globals()):
    for name in [name for name in names if name not in kept and name != "__viva__"]:
        del names[name]
    names.update(kept)
"""


@dataclass(frozen=True)
class Run:
    """Hold a call to execute after `code`, which defines the function anew ("": as it is)."""

    one: Input
    code: str = ""


@dataclass(frozen=True)
class Notebook:
    """Hold a notebook's code, in order, and the files beside it."""

    cells: tuple[str, ...]
    submission: Submission


def solved_notebook(key: Key, submission: Submission) -> Notebook:
    """Return the lesson with its own solutions, without test and demo cells."""
    cells = [
        text
        for cell, text in zip(key.cells, key.solved, strict=True)
        if cell.kind not in ("test", "manual") and cell.master.cell_type == "code" and not cell.demo
    ]
    return Notebook(tuple(cells), submission)


def handed_in(aligned: Aligned, submission: Submission) -> Notebook:
    """Return a hand-in's code, without test and demo cells."""
    cells = [
        slot.cell.source
        for slot in aligned.slots
        if is_executed(slot, full=False) and (slot.key is None or slot.key.kind != "test")
    ]
    return Notebook(tuple(cells), submission)


class Sandbox:
    """Two runners, so that what depends on the hashes of a process is seen to depend on them."""

    def __init__(self, isolation: Isolation = "auto", jobs: int = 1) -> None:
        limits = replace(
            Limits(),
            statement_seconds=CALL_SECONDS,
            stuck_seconds=STUCK_SECONDS,
            idle_seconds=IDLE_SECONDS,
        )
        with ExitStack() as stack:
            self._runners: list[Runner] = []
            for _ in range(2):
                self._runners.append(make_runner(isolation, jobs, limits))
                stack.callback(self._runners[-1].close)
            self.close = stack.pop_all().close

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def runner(self) -> Runner:
        """Return the runner for what is no call: a notebook's races, for one."""
        return self._runners[0]

    def run(
        self, notebook: Notebook, runs: Sequence[Run], turn: int = 0, apart: bool = False
    ) -> list[Outcome | None]:
        """Return the outcome of each run, None where there is none.

        turn: which of the two runners; apart: each run in a process of its own. Raises GraderFailed
        where the sandbox fails.
        """
        before = [RunCell(text) for text in notebook.cells] + [RunCell(_RESET)]
        blocks = [_block(run, apart) for run in runs]
        try:
            result = self._runners[turn].run(notebook.submission, (*before, *blocks))
        except SandboxError as error:
            raise GraderFailed(f"the sandbox failed: {error}") from None
        found = [_outcome(replies) for replies in result.replies[len(before) :]]
        return found or [None] * len(runs)  # a notebook that has ended its process answers nothing

    def stable(self, notebook: Notebook, runs: Sequence[Run]) -> list[Outcome | None]:
        """Return the outcomes that are the same in order, and in reverse order elsewhere."""
        first = self.run(notebook, runs)
        again = self.run(notebook, runs[::-1], turn=1)[::-1]
        return [
            one if one is not None and other is not None and agree(one, other) else None
            for one, other in zip(first, again, strict=True)
        ]


def _block(run: Run, apart: bool) -> RunBlock:
    setup = ["__viva__()", *filter(None, [run.code]), *run.one.setup]
    steps = [Step("setup", text) for text in setup] + [Step("value", run.one.call)]
    # Hidden blocks run in a copy of the notebook's process, and late ones share it: hence _RESET.
    return RunBlock(True, tuple(steps), late=not apart)


def _outcome(replies: Iterable[Reply]) -> Outcome | None:
    *setup, last = replies
    if any(reply.state != "done" for reply in setup):
        return None
    if last.state == "value":
        return Outcome(last.value)
    if last.state == "raised" and last.raised and last.raised[0] != "NotImplementedError":
        return Outcome(raised=last.raised[0])
    return None
