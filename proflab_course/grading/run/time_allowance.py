"""Time that one hand-in may spend on code that does not end, over all its turns.

A statement that runs out of time is interrupted, as by Jupyter's stop button, and costs its test
cell. What uses the same functions has a fifth of the time from then on; all else has the share that
is left of what may be spent in this way. Code that does not let itself be interrupted is killed
with its process: the hand-in then gets another turn, in a fresh process, which leaves out what had
to be killed. So a loop without an end costs its exercise, not the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from proflab_course.grading.one_execution import add_execution
from proflab_course.grading.plan import Limits, Plan, Reply, Result, RunBlock, RunCell
from proflab_course.grading.run.suspects import Suspects

LEAST_SHARE = 0.2
_LEAST_CHARGE = 0.1
NOT_TRIED = "it was not tried, since an earlier case of the same test ran out of time"
TOO_LARGE = "it was not tried, since an earlier case of the same test yielded too large a value"
LEFT_OUT = NOT_TRIED, TOO_LARGE
NOT_REACHED = "it was not reached, since an earlier statement of the same test raised"


class Allowance:
    """One hand-in's: what is left for code that does not end, and what is left out for it.

    suspects: the functions that ran out of time; spent: CPU seconds of earlier turns; used: those
    of each test cell in this one; kept: an item's place in the plan → its replies from an earlier
    turn; first: status, sentence and place of what first went wrong, which count; alone: nothing
    else runs meanwhile; shares: late blocks share a copy, as no notebook has ended before them yet;
    lost: the turn that was ended from outside, if one was.
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
        self._before = self.first, self._stopped

    def begin(self, plan: Plan) -> None:
        """Begin a turn of this plan; what is suspected in an earlier one still is."""
        self.suspects = self.suspects or Suspects(plan)
        self.used = {}
        self.kept |= self._given_up
        self._given_up = {}
        self._before = self.first, dict(self._stopped)

    def share(self, item: RunCell | RunBlock) -> float:
        """Return the part of its limits that an item's next statement has."""
        if self.suspects is not None and self.suspects.concern(item):
            return LEAST_SHARE
        return max(LEAST_SHARE, self.left / self.limits.stuck_seconds)

    def charge(self, seconds: float, item: RunCell | RunBlock, code: str) -> bool:
        """Note that a statement ran out of time after `seconds`; return True if more of it may."""
        self.left -= max(_LEAST_CHARGE, seconds)
        self.give_up(item, code)
        return self.left > 0

    def give_up(self, item: RunCell | RunBlock, code: str, why: str = NOT_TRIED) -> None:
        """Try no more of a test cell, and suspect what its statement `code` uses."""
        self.stop(item, why)
        if self.suspects is not None:
            self.suspects.note(item, code)

    def overdrawn(self, item: RunCell | RunBlock, seconds: float) -> float:
        """Add what a statement used; return what its test cell may if it used more, else 0."""
        if not isinstance(item, RunBlock) or item.cell is None:
            return 0.0
        if not seconds and item.cell not in self.used:
            return 0.0
        self.used[item.cell] = self.used.get(item.cell, 0.0) + seconds
        most = self.limits.test_seconds(item) * self.share(item)
        return most if self.used[item.cell] > most else 0.0

    def one_by_one(self) -> None:
        """Let another turn do what this one did, with a copy of its own for each hidden block."""
        self.undo()
        self.shares = False

    def undo(self, lost: Result | None = None) -> None:
        """Forget how this turn went, for one that does the same.

        lost: what it brought back if it was ended from outside.
        """
        self.lost = lost or self.lost
        self.first, self._stopped = self._before
        self._given_up = {}

    def calm(self) -> bool:
        """Return True while nothing has gone wrong, so that hidden blocks may share a copy."""
        return self.shares and self.left == self.limits.stuck_seconds and not self.kept

    def renew(self) -> None:
        """Leave hidden blocks something, too, where the notebook has used it up."""
        self.left = max(self.left, self.limits.stuck_seconds / 2)

    def stop(self, item: RunCell | RunBlock, why: str = NOT_TRIED) -> None:
        """Try no more of the test cell that `item` is a part of."""
        if isinstance(item, RunBlock) and item.cell is not None:
            self._stopped.setdefault(item.cell, why)

    def keep_given_up(self, index: int, item: RunCell | RunBlock, replies: list[Reply]) -> None:
        """Keep an item's replies for the next turn, if no more is tried of its test cell."""
        if self.stopped(item):
            self._given_up[index] = replies

    def stopped(self, item: RunCell | RunBlock) -> str:
        """Return why no more is tried of the test cell that `item` is a part of; "" if it is."""
        return self._stopped.get(item.cell, "") if isinstance(item, RunBlock) else ""


def run_through(plan: Plan, turn: Callable[[Allowance], Result], allowance: Allowance) -> Result:
    """Run a plan's turns: one, and another whenever its process had to be killed in a cell."""
    while True:
        result = turn(allowance)
        if not result.again:
            return add_execution(plan, allowance.lost, result)
