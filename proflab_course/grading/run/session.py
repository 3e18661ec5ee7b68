"""One submission's turn: a plan carried out in conversation with the notebook's process.

A hidden block runs in a copy of the notebook's process, after the notebook has ended: nothing that
it learns can reach a later cell, and of what it does only the replies are kept. The copy is forked
where the block stands; late blocks share one, forked at the notebook's end. Before each copy goes
on, all other processes of the turn end or are stopped, and files become what the notebook left.
"""

from __future__ import annotations

import signal
import socket
from dataclasses import dataclass, replace

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
_EARLY_SHARE = 0.25  # of its CPU seconds: after that, late blocks wait no longer for their copy


@dataclass
class Copy:
    """A copy of the notebook's process, and the hidden blocks that it will execute."""

    connection: Connection
    blocks: list[tuple[int, RunBlock]]


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
        self.copies: list[Copy] = []
        self.late: list[tuple[int, RunBlock]] = []
        self.output_left, self.values_left = limits.notebook_output, limits.notebook_values

    def carry_out(self, plan: Plan) -> Result:
        """Execute the plan: cells and visible blocks in order, then the hidden blocks."""
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
                            self._put_off(index, item)
                            continue
                        self._carry_out_item(self.main, item, replies)
                        self.allowance.keep_given_up(index, item, replies)
                        if self._in_trouble():
                            self._copy_late_blocks()
                    except ProcessEnded as error:
                        ended = error
                        self._note(error)
                        if self._leave_out(index, item, replies, error):
                            return self.result
                if ended is not None:
                    fill_lost(replies, item, str(ended))
            if not self._copied(ended):
                return self.result
            self.main.close()
            self.allowance.renew()
            self._carry_out_copies()
        finally:
            self.meter.end()
            for connection in (self.main, *(copy.connection for copy in self.copies)):
                connection.close()
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

    def _put_off(self, index: int, block: RunBlock) -> None:
        """Leave a hidden block for the notebook's end, with a copy of its own if it needs one."""
        if block.late and not self._in_trouble():
            self.late.append((index, block))
        else:
            self.copies.append(Copy(self._snapshot(), [(index, block)]))

    def _in_trouble(self) -> bool:
        """Return True if the notebook's process may have to be killed, and could not be copied."""
        return (
            not self.allowance.calm()
            or self.meter.used > self.limits.notebook_seconds * _EARLY_SHARE
        )

    def _copy_late_blocks(self) -> None:
        if self.late:
            self.copies.append(Copy(self._snapshot(), self.late))
            self.late = []

    def _copied(self, ended: ProcessEnded | None) -> bool:
        """Copy the process for the late blocks; return False if another turn is to do without."""
        if ended is None:
            try:
                self._copy_late_blocks()
            except ProcessEnded as error:
                ended = error
        if not self.late:
            return True
        if ended.hit_wall:
            self._note(ended)
            for index, block in self.late:
                fill_lost(self.result.replies[index], block, str(ended))
            return True
        self._one_by_one()
        return False

    def _one_by_one(self, killed: RunBlock | None = None) -> None:
        """Ask for another turn, in which each hidden block has a copy of its own."""
        self.allowance.one_by_one(killed)
        self.result.again = True

    def _carry_out_copies(self) -> None:
        for place, copy in enumerate(self.copies):
            left = [other.connection.process for other in self.copies[place:]]
            waiting = [process.pid for process in left if process is not None]
            trouble = self.meter.body.tidy(waiting)
            for index, block in copy.blocks:
                ended = self._hidden(index, block, copy.connection, trouble)
                if ended is not None and self._disturbs(ended, index, copy, trouble):
                    return
            copy.connection.signal(signal.SIGKILL)
            copy.connection.close()

    def _disturbs(self, ended: ProcessEnded, index: int, copy: Copy, trouble: str) -> bool:
        """Return True if others of the copy's blocks need another turn, since it has ended.

        What has come back is kept; a block that broke down is tried again, by itself.
        """
        if len(copy.blocks) == 1 or trouble or self.allowance.left <= 0:
            return False
        for other, _ in copy.blocks:
            if other < index or other == index and ended.stuck:
                self.allowance.kept[other] = self.result.replies[other]
        self._one_by_one(dict(copy.blocks)[index] if ended.stuck else None)
        return True

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

    def _hidden(
        self, index: int, block: RunBlock, connection: Connection, trouble: str
    ) -> ProcessEnded | None:
        """Execute a hidden block in its copy; return the error with which the copy ended."""
        replies: list[Reply] = []
        ended = None
        try:
            if trouble:
                raise tampered(f"what it left could not be tidied up ({trouble})")
            if self.allowance.left <= 0:
                raise self._used_up()
            if not self.allowance.stopped(block):
                self._carry_out_item(connection, block, replies)
            fill_lost(replies, block, self.allowance.stopped(block))
        except ProcessEnded as error:
            ended = error
            code = _code_of(block, len(replies))
            fill_lost(replies, block, str(error))
            self._note(error)
            if error.stuck:
                self.allowance.charge(self.meter.spent(), block, code)
        self.result.replies[index] = [
            replace(reply, outputs=[]) if reply.outputs else reply for reply in replies
        ]
        return ended

    def _carry_out_item(
        self, conversation: Connection, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        doubles = dict(getattr(item, "doubles", ()))
        self.meter.allow(item)
        if not doubles:
            self._carry_out_statements(conversation, item, replies)
            return
        world = DoubleRegistry()
        for index, (kind, code) in enumerate(statements(item)):
            if index in doubles:
                world.declare(doubles[index])
            if kind == "seen":
                replies.append(Reply("value", value=world.see(code)))
                continue
            request = {"do": _sent_kind(kind), "code": code, "calls": True}
            answer = conversation.ask(request, world=world)
            replies.append(self._read(conversation, kind, *answer))
            if self._ends(conversation, item, (kind, code), replies):
                return

    def _carry_out_statements(
        self, conversation: Connection, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        """Carry out an item's statements in as few requests as its process allows."""
        steps = list(statements(item))
        sent = [(_sent_kind(kind), code) for kind, code in steps]
        while len(replies) < len(steps):
            answers = conversation.ask_all(sent[len(replies) :])
            for answer in answers:
                step = steps[len(replies)]
                replies.append(self._read(conversation, step[0], *answer))
                if self._ends(conversation, item, step, replies):
                    for _ in answers:
                        pass  # it was under way already; nobody is interested any more
                    return

    def _ends(
        self,
        conversation: Connection,
        item: RunCell | RunBlock,
        step: tuple[str, str],
        replies: list[Reply],
    ) -> bool:
        """Return True if nothing of an item is tried after this statement, the last one so far."""
        kind, code = step
        if kind == "setup" and replies[-1].state == "raised":
            self._setup_failed(item, replies)
            return True
        return self._gave_up(conversation, item, code, replies)

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

    def _read(self, conversation: Connection, kind: str, message: dict, blob: bytes) -> Reply:
        """Return what a process answered to a statement of this kind, within the limits."""
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


def _sent_kind(kind: str) -> str:
    """Return the kind that a process is told: not whether an exception or a value is expected."""
    return "value" if kind == "raises" else kind


def _code_of(item: RunCell | RunBlock, place: int) -> str:
    """Return an item's statement that is to blame, if so many before it were answered."""
    codes = [code for _, code in statements(item)]
    return codes[place] if place < len(codes) else ""


def _exception_names(reply: Reply) -> list[str]:
    """Return the names of the exceptions that a cell or step ended with."""
    return [*reply.raised, *(o["ename"] for o in reply.outputs if o["output_type"] == "error")]
