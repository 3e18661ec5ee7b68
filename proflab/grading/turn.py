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

from proflab.grading.conversation import Conversation, Meter, ProcessEnded, new_channel, tampered
from proflab.grading.held import World
from proflab.grading.plan import (
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
from proflab.grading.processes import Body
from proflab.grading.replies import cut_outputs, output_size, read_reply


class Turn:
    """Carries out one plan. `sock` is the grader's end of the channel to the notebook's process."""

    def __init__(self, sock: socket.socket, body: Body, limits: Limits) -> None:
        self.limits = limits
        self.meter = Meter(body, limits)
        self.main = Conversation(sock, self.meter)
        self.result = Result()
        self.output_left = limits.notebook_output

    def carry_out(self, plan: Plan) -> Result:
        """Execute the plan: cells and visible blocks in order, then the hidden blocks."""
        snapshots: list[tuple[int, RunBlock, Conversation]] = []
        try:
            ended = self._begin()
            for index, item in enumerate(plan):
                replies: list[Reply] = []
                self.result.replies.append(replies)
                if ended is None:
                    try:
                        if isinstance(item, RunBlock) and item.hidden:
                            snapshots.append((index, item, self._snapshot()))
                            continue
                        self._carry_out_item(self.main, item, replies)
                    except ProcessEnded as error:
                        ended = error
                        self._note(error)
                if ended is not None:
                    fill_lost(replies, item, str(ended))
            self.main.close()
            for place, (index, block, conversation) in enumerate(snapshots):
                waiting = [c.process.pid for _, _, c in snapshots[place:] if c.process is not None]
                trouble = self.meter.body.tidy(waiting)
                self.result.replies[index] = self._hidden(block, conversation, trouble)
        finally:
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
        """The first thing that went wrong is the turn's status."""
        if self.result.status == "finished":
            self.result.status, self.result.sentence = error.status, str(error)
            self.result.hit_wall = error.hit_wall

    def _snapshot(self) -> Conversation:
        ours, theirs = new_channel()
        conversation = Conversation(ours, self.meter)
        try:
            with theirs:
                self.main.ask({"do": "snapshot"}, send=theirs)
            conversation.hello()
        except BaseException:
            conversation.close()
            raise
        return conversation

    def _hidden(self, block: RunBlock, conversation: Conversation, trouble: str) -> list[Reply]:
        replies: list[Reply] = []
        try:
            if trouble:
                raise tampered(f"what it left could not be tidied up ({trouble})")
            self._carry_out_item(conversation, block, replies)
        except ProcessEnded as error:
            fill_lost(replies, block, str(error))
            self._note(error)
        conversation.signal(signal.SIGKILL)
        conversation.close()
        return [replace(reply, outputs=[]) for reply in replies]

    def _carry_out_item(
        self, conversation: Conversation, item: RunCell | RunBlock, replies: list[Reply]
    ) -> None:
        doubles = dict(getattr(item, "doubles", ()))
        world = World() if doubles else None
        for index, (kind, code) in enumerate(statements(item)):
            if index in doubles:
                world.declare(doubles[index])
            if kind == "seen":
                replies.append(Reply("value", value=world.see(code)))
            else:
                replies.append(self._execute(conversation, kind, code, world))

    def _execute(
        self, conversation: Conversation, kind: str, code: str, world: World | None
    ) -> Reply:
        request = {"do": kind, "code": code, "calls": world is not None}
        message, blob = conversation.ask(request, world=world)
        reply = read_reply(message, blob, kind)
        if conversation.interrupted is not None:
            self._note(conversation.interrupted)
        if "MemoryError" in exceptions(reply):
            sentence = f"a cell asked for more than {self.limits.memory / MB:,.0f} MB of memory"
            self._note(ProcessEnded("out of memory", sentence))
        if not reply.outputs:
            return reply
        outputs = cut_outputs(reply.outputs, min(self.limits.cell_output, self.output_left))
        self.output_left = max(0, self.output_left - sum(map(output_size, outputs)))
        return replace(reply, outputs=outputs)


def exceptions(reply: Reply) -> list[str]:
    """The names of the exceptions that a cell or step ended with."""
    return [*reply.raised, *(o["ename"] for o in reply.outputs if o["output_type"] == "error")]
