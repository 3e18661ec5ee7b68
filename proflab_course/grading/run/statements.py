"""Send the statements of a plan's item over a connection and collect the replies.

`session.py` decides which process the connection leads to, and what happens when it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from proflab_course.cases.hidden_doubles import DoubleRegistry
from proflab_course.grading.limits import LARGE_VALUE_SECONDS, MB
from proflab_course.grading.plan import Reply, RunBlock, RunCell, fill_lost, statements
from proflab_course.grading.run.connection import (
    Connection,
    LimitMonitor,
    ProcessEnded,
    out_of_time,
)
from proflab_course.grading.run.replies import cut_outputs, output_size, read_reply
from proflab_course.grading.run.time_allowance import NOT_REACHED, NOT_TRIED, TOO_LARGE


class Statements:
    """Carries out the statements of one session; note: a function to call at each failure."""

    def __init__(self, monitor: LimitMonitor, note: Callable[[ProcessEnded], None]) -> None:
        self.monitor, self.note = monitor, note
        self.limits, self.allowance = monitor.limits, monitor.allowance
        self.output_left = self.limits.notebook_output
        self.values_left = self.limits.notebook_values

    def carry_out(
        self, connection: Connection, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        """Have an item executed; add a reply for each statement.

        Raises ProcessEnded.
        """
        doubles = dict(getattr(item, "doubles", ()))
        self.monitor.allow(item)
        if not doubles:
            self._carry_out_statements(connection, item, replies)
            return
        registry = DoubleRegistry()
        for index, (kind, code) in enumerate(statements(item)):
            if index in doubles:
                registry.declare(doubles[index])
            if kind == "lookup":
                replies.append(Reply("value", value=registry.look_up(code)))
                continue
            request = {"do": _sent_kind(kind), "code": code, "calls": True}
            answer = connection.ask(request, registry=registry)
            replies.append(self._read(connection, kind, *answer))
            if self._ends(connection, item, (kind, code), replies):
                return

    def _carry_out_statements(
        self, connection: Connection, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        """Carry out an item's statements in as few requests as its process allows."""
        steps = list(statements(item))
        sent = [(_sent_kind(kind), code) for kind, code in steps]
        while len(replies) < len(steps):
            answers = connection.ask_all(sent[len(replies) :])
            for answer in answers:
                step = steps[len(replies)]
                replies.append(self._read(connection, step[0], *answer))
                if self._ends(connection, item, step, replies):
                    for _ in answers:
                        pass  # drop the replies that were under way already
                    return

    def _ends(
        self,
        connection: Connection,
        item: RunCell | RunBlock,
        step: tuple[str, str],
        replies: list[Reply],
    ) -> bool:
        """Return True if this statement, the last one so far, ends its item."""
        kind, code = step
        if isinstance(item, RunBlock) and kind == "setup" and replies[-1].state == "raised":
            self._setup_failed(item, replies)
            return True
        return self._gave_up(connection, item, code, replies)

    def _setup_failed(self, item: RunBlock, replies: list[Reply]) -> None:
        """Leave out the statements after a set-up statement that raised: values would be stale.

        A visible block ends its test cell. A hidden one affects no other block.
        """
        fill_lost(replies, item, NOT_REACHED)
        if not item.hidden:
            self.allowance.stop(item)

    def _gave_up(
        self, connection: Connection, item: RunCell | RunBlock, code: str, replies: list[Reply]
    ) -> bool:
        """Return True if the rest of a test cell is not tried after the statement `code`.

        Either the statement was interrupted, or the test cell has used up its time, or a value was
        so large that making it took long, as the next one would.
        """
        spent = self.monitor.spent()
        most = self.allowance.overdrawn(item, spent)
        if connection.interrupted is not None or most:
            if most:
                total = f"{round(most, 1):g} CPU seconds together"
                self.note(out_of_time(f"the cases of a test used more than {total}"))
            fill_lost(replies, item, NOT_TRIED)
            if not self.allowance.charge(spent, item, code):
                raise self.used_up()
            return True
        # Seconds as the process says them: a lie costs its own test cell alone.
        if replies[-1].state == "refused" and replies[-1].seconds > LARGE_VALUE_SECONDS:
            fill_lost(replies, item, TOO_LARGE)
            self.allowance.give_up(item, code, TOO_LARGE)
            return True
        return False

    def used_up(self) -> ProcessEnded:
        """Return the error for a hand-in whose time for code that does not end is used up."""
        most = self.limits.stuck_seconds
        return out_of_time(f"code that did not end took more than {most:g} seconds in all")

    def _read(self, connection: Connection, kind: str, message: dict, blob: bytes) -> Reply:
        """Return the reply of a process to a statement of this kind, within the limits."""
        if len(blob) > self.values_left:  # not charged: smaller ones may still fit
            most = self.limits.notebook_values / MB
            sentence = f"the values of all cases take more than {most:,.0f} MB"
            message, blob = {"refused": sentence} | message, b""
        self.values_left -= len(blob)
        reply = read_reply(message, blob, kind)
        if connection.interrupted is not None:
            self.note(connection.interrupted)
            if kind != "cell":
                reply = Reply("lost", reply.outputs, message=str(connection.interrupted))
        if "MemoryError" in _exception_names(reply):
            sentence = f"a cell asked for more than {self.limits.memory / MB:,.0f} MB of memory"
            self.note(ProcessEnded("out of memory", sentence))
        if not reply.outputs:
            return reply
        outputs = cut_outputs(reply.outputs, min(self.limits.cell_output, self.output_left))
        self.output_left = max(0, self.output_left - sum(map(output_size, outputs)))
        return replace(reply, outputs=outputs)


def _sent_kind(kind: str) -> str:
    """Return the kind that is sent; it does not reveal whether a value or exception is expected."""
    return "value" if kind in ("raises", "tape") else kind


def _exception_names(reply: Reply) -> list[str]:
    """Return the names of the exceptions that a cell or step ended with."""
    return [*reply.raised, *(o["ename"] for o in reply.outputs if o["output_type"] == "error")]
