"""Keep account of the time that one hand-in spends on code that does not end, over its sessions.

A statement that runs out of time is interrupted, as by Jupyter's stop button, and ends its test
cell. From then on, code that uses the same functions has a fifth of its time, and the limits of all
other code shrink with the time that is left for code that does not end. Code that cannot be
interrupted is killed with its process; the hand-in then gets another session in a fresh process,
which leaves out the code that was killed. An endless loop therefore costs its exercise and nothing
else. The numbers are in `limits.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from proflab_course.grading.limits import LEAST_CHARGE, LEAST_SHARE, Limits
from proflab_course.grading.one_execution import add_execution
from proflab_course.grading.plan import Plan, Reply, Result, RunBlock, RunCell
from proflab_course.grading.run.suspects import Suspects

# Students read these sentences, and code compares them: grade_notebook.py, late_blocks.py and
# keeping_runner.py.
NOT_TRIED = "it was not tried, since an earlier case of the same test ran out of time"
TOO_LARGE = "it was not tried, since an earlier case of the same test yielded too large a value"
LEFT_OUT = NOT_TRIED, TOO_LARGE
NOT_REACHED = "it was not reached, since an earlier statement of the same test raised"


class Allowance:
    """The time that a hand-in may still spend on code that does not end, and its consequences.

    left: seconds left for code that does not end. suspects: the functions that ran out of time.
    spent: CPU seconds of earlier sessions. used: CPU seconds of each test cell in this session.
    kept: an item's place in the plan → its replies from an earlier session. first: status, sentence
    and place of the first failure, which the result reports. alone: True if no other session runs
    meanwhile. shares: True while late blocks may share a copy. lost: the result of a session that
    was ended from outside.
    """

    def __init__(self, limits: Limits, alone: bool = False) -> None:
        self.limits, self.alone = limits, alone
        self.left, self.spent = limits.stuck_seconds, 0.0
        self.suspects: Suspects | None = None
        self.used: dict[int, float] = {}
        self.kept: dict[int, list[Reply]] = {}
        self.first: tuple[str, str, int | None] = ("finished", "", None)
        self.shares, self.lost = True, Result()
        self._stopped: dict[int, str] = {}
        self._given_up: dict[int, list[Reply]] = {}
        self._before: tuple[tuple[str, str, int | None], dict[int, str]] = self.first, {}

    def begin(self, plan: Plan) -> None:
        """Begin a session of this plan; suspects of earlier sessions remain suspects."""
        self.suspects = self.suspects or Suspects(plan)
        self.used = {}
        self.kept |= self._given_up
        self._given_up = {}
        self._before = self.first, dict(self._stopped)

    def share(self, item: RunCell | RunBlock) -> float:
        """Return the part of its limits that an item's next statement has."""
        if self.suspects is not None and self.suspects.concern(item):
            return LEAST_SHARE
        return self.limits.share(self.left)

    def charge(self, seconds: float, item: RunCell | RunBlock, code: str) -> bool:
        """Charge a statement that ran out of time; return True if time for such code is left."""
        self.left -= max(LEAST_CHARGE, seconds)
        self.give_up(item, code)
        return self.left > 0

    def give_up(self, item: RunCell | RunBlock, code: str, why: str = NOT_TRIED) -> None:
        """Stop a test cell, and suspect the functions that its statement `code` uses."""
        self.stop(item, why)
        if self.suspects is not None:
            self.suspects.note(item, code)

    def overdrawn(self, item: RunCell | RunBlock, seconds: float) -> float:
        """Charge a statement's time to its test cell; return its limit if exceeded, else 0."""
        if not isinstance(item, RunBlock) or item.cell is None:
            return 0.0
        # As for most cells, whose statements end before anybody looks: `share` searches texts.
        if not seconds and item.cell not in self.used:
            return 0.0
        self.used[item.cell] = self.used.get(item.cell, 0.0) + seconds
        most = self.limits.test_seconds(item) * self.share(item)
        return most if self.used[item.cell] > most else 0.0

    def one_by_one(self) -> None:
        """Repeat this session with a copy of its own for each hidden block."""
        self.undo()
        self.shares = False

    def undo(self, lost: Result | None = None) -> None:
        """Forget the events of this session, before it is repeated.

        lost: the result of a session that was ended from outside.
        """
        self.lost = lost or self.lost
        self.first, self._stopped = self._before
        self._given_up = {}

    def calm(self) -> bool:
        """Return True while no code has run out of time, so that hidden blocks may share a copy."""
        return self.shares and self.left == self.limits.stuck_seconds and not self.kept

    def renew(self) -> None:
        """Reserve time for hidden blocks, even if the notebook has used up all of it."""
        self.left = max(self.left, self.limits.hidden_stuck_seconds)

    def stop(self, item: RunCell | RunBlock, why: str = NOT_TRIED) -> None:
        """Stop the test cell to which `item` belongs."""
        if isinstance(item, RunBlock) and item.cell is not None:
            self._stopped.setdefault(item.cell, why)

    def keep_given_up(self, index: int, item: RunCell | RunBlock, replies: list[Reply]) -> None:
        """Keep an item's replies for the next session if its test cell was stopped."""
        if self.stopped(item):
            self._given_up[index] = replies

    def stopped(self, item: RunCell | RunBlock) -> str:
        """Return why the test cell to which `item` belongs was stopped; "" if it was not."""
        if isinstance(item, RunBlock) and item.cell is not None:
            return self._stopped.get(item.cell, "")
        return ""


def run_through(plan: Plan, session: Callable[[Allowance], Result], allowance: Allowance) -> Result:
    """Run a plan in one session, and in another whenever its process had to be killed in a cell."""
    while True:
        result = session(allowance)
        if not result.again:
            return add_execution(plan, allowance.lost, result)
