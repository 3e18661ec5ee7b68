"""Run one submission's plan over a connection and collect the replies.

A hidden block runs in a copy of the notebook's process, after the notebook has ended. Nothing that
it learns can reach a later cell, and only its replies are kept. The copy is forked at the block's
place in the notebook. Late blocks share one copy, which is forked at the notebook's end, and get a
second one if the first ends early. Before a copy goes on, all other processes of the session are
ended or stopped, and files are reset to the state in which the notebook left them.
"""

from __future__ import annotations

import signal
import socket
from dataclasses import dataclass, replace

from proflab_course.grading.one_execution import HIDDEN_SENTENCES
from proflab_course.grading.plan import (
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
    tampered,
)
from proflab_course.grading.run.processes import SessionProcesses
from proflab_course.grading.run.statements import Statements
from proflab_course.grading.run.time_allowance import Allowance


@dataclass(frozen=True)
class Copy:
    """A copy of the notebook's process, for the hidden block at a place in the plan."""

    connection: Connection
    place: int
    block: RunBlock


class Session:
    """Carries out one plan.

    sock: the grader's end of the channel to the notebook's process. allowance: the hand-in's
    limits, the time that earlier sessions have left, and the items that are left out.
    """

    def __init__(
        self, sock: socket.socket, processes: SessionProcesses, allowance: Allowance
    ) -> None:
        self.limits, self.allowance = allowance.limits, allowance
        self.monitor = LimitMonitor(processes, allowance)
        self.main = Connection(sock, self.monitor)
        status, sentence, place = allowance.first
        self.result = Result(status, sentence, place=place)
        self.place: int | None = None
        self.copies: list[Copy] = []  # for hidden blocks that may not wait for the end
        self.late: list[tuple[int, RunBlock]] = []  # the others, which share one copy
        self.shared: Connection | None = None
        self._trouble: ProcessEnded | None = None  # after which no hidden block is executed
        self.statements = Statements(self.monitor, self._note)

    def carry_out(self, plan: Plan) -> Result:
        """Execute the plan: cells and visible blocks in order, then the hidden blocks."""
        self.allowance.begin(plan)
        try:
            ended = self._begin()
            for index, item in enumerate(plan):
                replies = list(self.allowance.kept.get(index, ()))
                self.result.replies.append(replies)
                self.place = index
                if replies:  # of an earlier session, which was killed further down
                    continue
                if self.allowance.stopped(item):
                    fill_lost(replies, item, self.allowance.stopped(item))
                elif ended is None:
                    try:
                        if isinstance(item, RunBlock) and item.hidden:
                            self._put_off(index, item)
                            continue
                        self.statements.carry_out(self.main, item, replies)
                        self.allowance.keep_given_up(index, item, replies)
                        if self._in_trouble():  # it may not live to its end
                            self._copy_for_each()
                    except ProcessEnded as error:
                        ended = error
                        self._note(error)
                        if self._leave_out(index, item, replies, error):
                            return self.result
                if ended is not None:
                    fill_lost(replies, item, str(ended))
            if self._comes_again(plan, ended):
                self._lose_hidden()
            elif self._copied(ended):
                self.allowance.renew()
                self._carry_out_copies()
        finally:
            self.monitor.end()
            for connection in (self.main, self.shared, *(copy.connection for copy in self.copies)):
                if connection is not None:
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
        """Set the session's status at the first failure; later failures do not change it."""
        if self.result.status == "finished":
            hidden = self.result.hidden_sent
            sentence = HIDDEN_SENTENCES[error.status] if hidden else str(error)
            self.result.status, self.result.sentence = error.status, sentence
            self.result.hit_wall, self.result.place = error.hit_wall, self.place
            self.allowance.first = error.status, sentence, self.place

    def _put_off(self, index: int, block: RunBlock) -> None:
        """Postpone a hidden block to the notebook's end, with a copy of its own if it needs one."""
        if block.late and not self._in_trouble():
            self.late.append((index, block))
        else:
            self.copies.append(Copy(self._snapshot(), index, block))

    def _in_trouble(self) -> bool:
        """Return True if the notebook's process may be killed before its end can be copied."""
        return not self.allowance.calm() or self.monitor.used > self.limits.early_seconds

    def _copy_for_each(self) -> None:
        """Fork a copy for each late block now."""
        while self.late:
            index, block = self.late[0]
            self.copies.append(Copy(self._snapshot(), index, block))
            del self.late[0]  # only now: where the copy fails, `_copied` has to find the block

    def _comes_again(self, plan: Plan, ended: ProcessEnded | None) -> bool:
        """Return True if visible items will have more time in another execution of the plan.

        Their replies can be replaced only before the first hidden statement is sent.
        """
        if ended is not None and ended.hit_wall:
            return not self.allowance.alone
        unmeasured = any(item.seconds is None for item in plan)
        return unmeasured and self.result.status == "timed out"

    def _lose_hidden(self) -> None:
        for index, block in (*self.late, *((copy.place, copy.block) for copy in self.copies)):
            fill_lost(self.result.replies[index], block, self.result.sentence)

    def _copied(self, ended: ProcessEnded | None) -> bool:
        """Copy the process for the late blocks; return False if another session has to run them."""
        if self.late and ended is None:
            try:
                self.shared = self._snapshot()
            except ProcessEnded as error:
                ended = error
        if self.shared is None:  # nothing more will be forked from it
            self.main.close()
        if not self.late or ended is None:
            return True
        if ended.hit_wall:
            self._note(ended)
            for index, block in self.late:
                fill_lost(self.result.replies[index], block, str(ended))
            self.late = []
            return True
        self.allowance.one_by_one()
        self.result.again = True
        return False

    def _carry_out_copies(self) -> None:
        """Execute the hidden blocks that have copies of their own, then those that share one."""
        for number, copy in enumerate(self.copies):
            later = [other.connection for other in self.copies[number:]]
            trouble = self._trouble or self._tidy(*later, self.shared, self.main)
            self._hidden(copy.place, copy.block, copy.connection, trouble)
            copy.connection.end()
        if self.shared is not None:  # of the late blocks, if there are any
            trouble = self._trouble or self._tidy(self.shared, self.main)
            self._carry_out_late(self.shared, trouble)

    def _tidy(self, *waiting: Connection | None) -> ProcessEnded | None:
        """End all processes except those that wait, and wake the first; return why that failed."""
        processes = [connection.process for connection in waiting if connection is not None]
        pids = [process.pid for process in processes if process is not None]
        problem = self.monitor.processes.tidy(pids)
        return tampered(f"what it left could not be tidied up ({problem})") if problem else None

    def _carry_out_late(self, shared: Connection, trouble: ProcessEnded | None) -> None:
        """Execute the late blocks in the shared copy; if it ends, fork a new one for the others.

        The notebook's own process is kept for this: it has received no hidden statement.
        """
        fresh = True
        while self.late:
            index, block = self.late[0]
            shared.anew = True  # what another block has bound is not this one's
            ended = self._hidden(index, block, shared, trouble, fresh)
            if ended is None or self.result.replies[index]:
                del self.late[0]
            fresh, trouble = ended is not None, trouble or self._trouble
            if fresh and self.late and trouble is None:
                shared.end()
                try:
                    shared = self.shared = self._share_anew()
                except ProcessEnded as error:
                    trouble = error
        shared.end()

    def _share_anew(self) -> Connection:
        """Copy the notebook's process for the remaining late blocks; raise ProcessEnded."""
        if trouble := self._tidy(self.main):
            raise trouble
        # Awake for the copy alone, since nothing may change what the notebook has left.
        self.main.signal(signal.SIGCONT)
        connection = self._snapshot()
        self.main.signal(signal.SIGSTOP)
        return connection

    def _snapshot(self) -> Connection:
        ours, theirs = new_channel()
        connection = Connection(ours, self.monitor)
        try:
            with theirs:
                self.main.ask({"do": "snapshot"}, send=theirs)
            connection.hello()
        except BaseException:
            connection.close()
            raise
        return connection

    def _leave_out(
        self, index: int, item: RunCell | RunBlock, replies: list[Reply], error: ProcessEnded
    ) -> bool:
        """Return True if another session is needed, without the item that had to be killed."""
        if not error.stuck:
            return False
        code = _code_of(item, len(replies))
        fill_lost(replies, item, str(error))
        self.allowance.kept[index] = replies
        self.result.again = self.allowance.charge(self.monitor.spent(), item, code)
        return self.result.again

    def _hidden(
        self,
        index: int,
        block: RunBlock,
        connection: Connection,
        trouble: ProcessEnded | None,
        fresh: bool = True,
    ) -> ProcessEnded | None:
        """Execute a hidden block in its copy; return the error with which the copy ended.

        trouble: why the block cannot be executed. fresh: False if other blocks were executed in the
        copy before; they may be the reason why it ended, so the block gets no replies then.
        """
        replies: list[Reply] = []
        ended = None
        self.place = index
        try:
            self.result.hidden_sent = True
            if trouble is not None:
                raise trouble
            if self.allowance.left <= 0:
                raise self.statements.used_up()
            if not self.allowance.stopped(block):
                self.statements.carry_out(connection, block, replies)
            fill_lost(replies, block, self.allowance.stopped(block))
        except ProcessEnded as error:
            ended = error
            if not (fresh or trouble or error.status == "timed out"):
                return error
            if error.hit_wall and not self.allowance.alone:
                self._trouble = error  # for all remaining blocks: the plan will be run again
            code = _code_of(block, len(replies))
            fill_lost(replies, block, str(error))
            self._note(error)
            if error.stuck:
                self.allowance.charge(self.monitor.spent(), block, code)
        # What it has displayed may hold the hidden input, and is shown to nobody.
        self.result.replies[index] = [
            replace(reply, outputs=[]) if reply.outputs else reply for reply in replies
        ]
        return ended


def _code_of(item: RunCell | RunBlock, place: int) -> str:
    """Return the code of an item's statement at a place; "" behind the last."""
    codes = [code for _, code in statements(item)]
    return codes[place] if place < len(codes) else ""
