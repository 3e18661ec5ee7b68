"""One submission's turn: a plan carried out in conversation with the notebook's process.

A hidden block runs in a copy of the notebook's process, forked where the block stands and executed
after the notebook has ended: nothing that it learns can reach a later cell, and of what it does
only the replies are kept. Before each, all other processes of the turn end or are stopped, and
files become what the notebook left.
"""

from __future__ import annotations

import signal
import socket
from dataclasses import replace

from proflab_course.course.hidden_doubles import DoubleRegistry
from proflab_course.grading.plan import (
    MB,
    Limits,
    Plan,
    Reply,
    Result,
    RunBlock,
    RunCell,
    fill_lost,
    statements,
)
from proflab_course.grading.run.connection import (
    Connection,
    LimitMonitor,
    ProcessEnded,
    new_channel,
    out_of_time,
    tampered,
)
from proflab_course.grading.run.processes import Body
from proflab_course.grading.run.replies import cut_outputs, output_size, read_reply
from proflab_course.grading.run.time_allowance import (
    NOT_REACHED,
    NOT_TRIED,
    TOO_LARGE,
    Allowance,
)

_LARGE_VALUE_SECONDS = 0.2


class Session:
    """Carries out one plan. `sock` is the grader's end of the channel to the notebook's process.

    allowance: what the hand-in's earlier turns have left it, and want left out.
    """

    def __init__(
        self, sock: socket.socket, body: Body, limits: Limits, allowance: Allowance | None = None
    ) -> None:
        self.limits = limits
        self.allowance = allowance or Allowance(limits)
        self.meter = LimitMonitor(body, limits, self.allowance)
        self.main = Connection(sock, self.meter)
        self.result = Result(*self.allowance.first)
        self.output_left, self.values_left = limits.notebook_output, limits.notebook_values

    def carry_out(self, plan: Plan) -> Result:
        """Execute the plan: cells and visible blocks in order, then the hidden blocks."""
        snapshots: list[tuple[int, RunBlock, Connection]] = []
        self.allowance.begin(plan)
        try:
            ended = self._begin()
            for index, item in enumerate(plan):
                replies = list(self.allowance.kept.get(index, ()))
                self.result.replies.append(replies)
                if replies:
                    continue
                if self.allowance.stopped(item):
                    fill_lost(replies, item, self.allowance.stopped(item))
                elif ended is None:
                    try:
                        if isinstance(item, RunBlock) and item.hidden:
                            snapshots.append((index, item, self._snapshot()))
                            continue
                        self._carry_out_item(self.main, item, replies)
                    except ProcessEnded as error:
                        ended = error
                        self._note(error)
                        if self._leave_out(index, item, replies, error):
                            return self.result
                if ended is not None:
                    fill_lost(replies, item, str(ended))
            self.main.close()
            self.allowance.renew()
            for place, (index, block, conversation) in enumerate(snapshots):
                waiting = [c.process.pid for _, _, c in snapshots[place:] if c.process is not None]
                trouble = self.meter.body.tidy(waiting)
                self.result.replies[index] = self._hidden(block, conversation, trouble)
        finally:
            self.meter.end()
            for conversation in (self.main, *(c for _, _, c in snapshots)):
                conversation.close()
        return self.result

    def _begin(self) -> ProcessEnded | None:
        try:
            self.main.hello()
        except ProcessEnded as error:
            self._note(error)
            return error
        return None

    def _note(self, error: ProcessEnded) -> None:
        """Set the turn's status, which is the first thing that went wrong."""
        if self.result.status == "finished":
            self.result.status, self.result.sentence = error.status, str(error)
            self.result.hit_wall = error.hit_wall
            self.allowance.first = (error.status, str(error))

    def _snapshot(self) -> Connection:
        ours, theirs = new_channel()
        conversation = Connection(ours, self.meter)
        try:
            with theirs:
                self.main.ask({"do": "snapshot"}, send=theirs)
            conversation.hello()
        except BaseException:
            conversation.close()
            raise
        return conversation

    def _leave_out(
        self, index: int, item: RunCell | RunBlock, replies: list[Reply], error: ProcessEnded
    ) -> bool:
        """Return True if another turn shall do without the item that had to be killed."""
        if not error.stuck:
            return False
        code = _code_of(item, len(replies))
        fill_lost(replies, item, str(error))
        self.allowance.kept[index] = replies
        self.result.again = self.allowance.charge(self.meter.spent(), item, code)
        return self.result.again

    def _hidden(self, block: RunBlock, conversation: Connection, trouble: str) -> list[Reply]:
        replies: list[Reply] = []
        try:
            if trouble:
                raise tampered(f"what it left could not be tidied up ({trouble})")
            if self.allowance.left <= 0:
                raise self._used_up()
            if not self.allowance.stopped(block):
                self._carry_out_item(conversation, block, replies)
            fill_lost(replies, block, self.allowance.stopped(block))
        except ProcessEnded as error:
            code = _code_of(block, len(replies))
            fill_lost(replies, block, str(error))
            self._note(error)
            if error.stuck:
                self.allowance.charge(self.meter.spent(), block, code)
        conversation.signal(signal.SIGKILL)
        conversation.close()
        return [replace(reply, outputs=[]) for reply in replies]

    def _carry_out_item(
        self, conversation: Connection, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        doubles = dict(getattr(item, "doubles", ()))
        world = DoubleRegistry() if doubles else None
        self.meter.allow(item)
        for index, (kind, code) in enumerate(statements(item)):
            if index in doubles:
                world.declare(doubles[index])
            if kind == "seen":
                replies.append(Reply("value", value=world.see(code)))
                continue
            replies.append(self._execute(conversation, kind, code, world))
            if kind == "setup" and replies[-1].state == "raised":
                self._setup_failed(item, replies)
                return
            if self._gave_up(conversation, item, code, replies):
                return

    def _setup_failed(self, item: RunBlock, replies: list[Reply]) -> None:
        """Leave out what stands behind a statement of the set-up that raised: it would be judged
        on stale values. What a hidden block does stays in it, so that others go on.
        """
        fill_lost(replies, item, NOT_REACHED)
        if not item.hidden:
            self.allowance.stop(item)

    def _gave_up(
        self, conversation: Connection, item: RunCell | RunBlock, code: str, replies: list[Reply]
    ) -> bool:
        """Return True if the rest of a test cell is not tried after the statement `code`.

        It was interrupted, or the test cell has used up its time, or a value was so large that
        making it took long: another one would, too. Other cells have time.
        """
        spent = self.meter.spent()
        most = self.allowance.overdrawn(item, spent)
        if conversation.interrupted is not None or most:
            if most:
                said = f"the cases of a test used more than {round(most, 1):g} CPU seconds together"
                self._note(out_of_time(said))
            fill_lost(replies, item, NOT_TRIED)
            if not self.allowance.charge(spent, item, code):
                raise self._used_up()
            return True
        if replies[-1].state == "refused" and replies[-1].seconds > _LARGE_VALUE_SECONDS:
            fill_lost(replies, item, TOO_LARGE)
            self.allowance.give_up(item, code, TOO_LARGE)
            return True
        return False

    def _used_up(self) -> ProcessEnded:
        most = self.limits.stuck_seconds
        return out_of_time(f"code that did not end took more than {most:g} seconds in all")

    def _execute(
        self, conversation: Connection, kind: str, code: str, world: DoubleRegistry | None
    ) -> Reply:
        request = {"do": kind, "code": code, "calls": world is not None}
        message, blob = conversation.ask(request, world=world)
        if len(blob) > self.values_left:  # not charged: smaller ones may still fit
            most = self.limits.notebook_values / MB
            said = f"the values of all cases take more than {most:,.0f} MB"
            message, blob = {"refused": said} | message, b""
        self.values_left -= len(blob)
        reply = read_reply(message, blob, kind)
        if conversation.interrupted is not None:
            self._note(conversation.interrupted)
            if kind != "cell":
                reply = Reply("lost", reply.outputs, message=str(conversation.interrupted))
        if "MemoryError" in _exception_names(reply):
            sentence = f"a cell asked for more than {self.limits.memory / MB:,.0f} MB of memory"
            self._note(ProcessEnded("out of memory", sentence))
        if not reply.outputs:
            return reply
        outputs = cut_outputs(reply.outputs, min(self.limits.cell_output, self.output_left))
        self.output_left = max(0, self.output_left - sum(map(output_size, outputs)))
        return replace(reply, outputs=outputs)


def _code_of(item: RunCell | RunBlock, place: int) -> str:
    """Return an item's statement that is to blame, if so many before it were answered."""
    codes = [code for _, code in statements(item)]
    return codes[place] if place < len(codes) else ""


def _exception_names(reply: Reply) -> list[str]:
    """Return the names of the exceptions that a cell or step ended with."""
    return [*reply.raised, *(o["ename"] for o in reply.outputs if o["output_type"] == "error")]
