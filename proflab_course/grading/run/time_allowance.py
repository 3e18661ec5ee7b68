"""Time that one hand-in may spend on code that does not end, over all its turns.

A statement that runs out of time is interrupted, as by Jupyter's stop button, and costs its test
cell; the next one that does so has half the time, down to a fifth. Code that does not let itself be
interrupted is killed with its process: the hand-in then gets another turn, in a fresh process,
which leaves out what had to be killed. So a loop without an end costs its exercise, not the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from proflab_course.grading.plan import Limits, Reply, Result, RunBlock, RunCell

LEAST_SHARE = 0.2
_LEAST_CHARGE = 0.1
NOT_TRIED = "it was not tried, since an earlier case of the same test ran out of time"
NOT_REACHED = "it was not reached, since an earlier statement of the same test raised"


class Allowance:
    """One hand-in's: what is left for code that does not end, and what is left out for it.

    share: the part of its limits that the next statement has; spent: CPU seconds of earlier turns;
    kept: an item's place in the plan → its replies from an earlier turn; first: the turn's status
    and sentence that count, those of what first went wrong; patient: no block has had to be
    executed by itself yet because of what another did.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left, self.share, self.spent = limits.stuck_seconds, 1.0, 0.0
        self.kept: dict[int, list[Reply]] = {}
        self.first = ("finished", "")
        self.patient = True
        self._stopped: set[int] = set()
        self.mark()

    def charge(self, seconds: float) -> bool:
        """Note that something ran out of time after `seconds`; return True if more of it may."""
        self.left -= max(_LEAST_CHARGE, seconds)
        self.share = max(LEAST_SHARE, self.share / 2)
        return self.left > 0

    def mark(self) -> None:
        """Remember what one_by_one goes back to: how things are as a turn begins."""
        self._before = self.first, self._stopped.copy()

    def one_by_one(self) -> None:
        """Let another turn do what this one did, with a copy of its own for each hidden block."""
        self.first, self._stopped = self._before
        self.patient = False

    def calm(self) -> bool:
        """Return True while nothing has gone wrong, so that hidden blocks may share a copy."""
        return self.patient and self.left == self.limits.stuck_seconds and not self.kept

    def renew(self) -> None:
        """Leave hidden blocks something, too, where the notebook has used it up."""
        self.left = max(self.left, self.limits.stuck_seconds / 2)

    def stop(self, item: RunCell | RunBlock) -> None:
        """Try no more of the test cell that `item` is a part of."""
        if isinstance(item, RunBlock) and item.cell is not None:
            self._stopped.add(item.cell)

    def stopped(self, item: RunCell | RunBlock) -> bool:
        """Return True if the test cell that `item` is a part of has run out of time."""
        return isinstance(item, RunBlock) and item.cell in self._stopped


def run_through(turn: Callable[[Allowance], Result], limits: Limits) -> Result:
    """Run a plan's turns: one, and another whenever its process had to be killed in a cell."""
    allowance = Allowance(limits)
    while True:
        result = turn(allowance)
        if not result.again:
            return result
