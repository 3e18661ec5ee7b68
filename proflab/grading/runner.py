"""Executes a plan in a process of the student's own and brings back the replies.

A `Plan` holds code only: cells as the student wrote them and the steps of test cells, without
labels or expected values. `Runner.run(submission, plan)` sends it statement by statement and
returns a `Result`. How the process is confined is the runner's business, not its caller's:
`PlainRunner` starts an ordinary subprocess and confines nothing but time and memory.

A hidden block runs in a copy of the notebook's process, forked where the block stands and executed
after the notebook has ended: nothing that it learns can reach a later cell.
"""

from __future__ import annotations

import json
import os
import resource
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import psutil

from proflab.grading.split import Step
from proflab.plain import NotPlain, loads

WORKER = Path(__file__).with_name("worker.py")
MAX_REPLY = 96 * 1024**2
GRACE_SECONDS = 2.0


@dataclass(frozen=True)
class RunCell:
    """A cell to execute as Jupyter would."""

    code: str


@dataclass(frozen=True)
class RunBlock:
    """Steps of a test cell, all hidden or all visible."""

    hidden: bool
    steps: tuple[Step, ...]


Plan = tuple[RunCell | RunBlock, ...]


@dataclass(frozen=True)
class Submission:
    """What a student's process may see: its own folder, and support files that replace copies."""

    name: str
    folder: Path | None = None
    support: Path | None = None


@dataclass(frozen=True)
class Limits:
    """CPU seconds a cell and a notebook; wall seconds are ten times as many; memory in bytes."""

    cell_seconds: float = 60.0
    notebook_seconds: float = 300.0
    memory: int = 4 * 1024**3
    wall_factor: float = 10.0


@dataclass(frozen=True)
class Reply:
    """What one cell or step did. `state` says which of the other fields count.

    "done": executed; "value": `value` is plain data; "refused": `message` says why its value is
    no plain data; "raised": class names, message and traceback of the exception; "lost": nothing
    came back, `message` says why.
    """

    state: Literal["done", "value", "refused", "raised", "lost"]
    outputs: list[dict] = field(default_factory=list)
    value: Any = None
    raised: list[str] = field(default_factory=list)
    message: str = ""
    traceback: list[str] = field(default_factory=list)


@dataclass
class Result:
    """The replies to a plan, one list an item, and how the process ended.

    status: "finished", "timed out", "out of memory", "process died" or "tampered".
    """

    status: str = "finished"
    sentence: str = ""
    replies: list[list[Reply]] = field(default_factory=list)


class Runner(Protocol):
    """Executes plans; one implementation a degree of isolation."""

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute `plan` for `submission`; never raises for what the student's code does."""
        ...


class ProcessEnded(Exception):
    """The student's process can answer no more; `status` and sentence as in Result."""

    def __init__(self, status: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Conversation:
    """The grader's side of one channel: a request, its reply, and the limits on waiting for it."""

    def __init__(self, sock: socket.socket, pid: int, limits: Limits) -> None:
        self.sock, self.pid, self.limits = sock, pid, limits
        self.buffer = bytearray()
        self.spent = 0.0

    def ask(self, request: dict, send: socket.socket | None = None) -> dict:
        """Send a request and wait for its reply, within the limits; raises ProcessEnded."""
        nonce = secrets.token_hex(8)
        body = json.dumps(request | {"nonce": nonce}).encode()
        frame = len(body).to_bytes(4, "big") + body
        try:
            if send is None:
                self.sock.sendall(frame)
            else:
                socket.send_fds(self.sock, [frame], [send.fileno()])
        except OSError:
            raise ProcessEnded("process died", "the notebook's process ended") from None
        reply = self._reply()
        if reply.get("nonce") != nonce:
            raise ProcessEnded("tampered", "the process answered what it was not asked")
        return reply

    def cpu_seconds(self) -> float:
        """CPU seconds used so far by the process and its children."""
        try:
            process = psutil.Process(self.pid)
            times = [p.cpu_times() for p in (process, *process.children(recursive=True))]
        except psutil.Error:
            return self.spent
        return max(self.spent, sum(t.user + t.system for t in times))

    def _reply(self) -> dict:
        size = int.from_bytes(self._exactly(4, started := time.monotonic()), "big")
        if size > MAX_REPLY:
            raise ProcessEnded("tampered", f"a reply of {size:,} bytes was announced")
        try:
            reply = json.loads(self._exactly(size, started))
        except (ValueError, RecursionError):
            raise ProcessEnded("tampered", "a reply was not in the reply format") from None
        if not isinstance(reply, dict):
            raise ProcessEnded("tampered", "a reply was not in the reply format")
        self.spent = self.cpu_seconds()
        return reply

    def _exactly(self, size: int, started: float) -> bytes:
        interrupted_at = None
        with selectors.DefaultSelector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            while len(self.buffer) < size:
                if selector.select(timeout=0.1):
                    self._read()
                    if len(self.buffer) >= size:
                        break
                why = self._over_limit(started)
                if why and interrupted_at is None:
                    # As Jupyter's stop button: most code ends here and the notebook goes on.
                    interrupted_at = time.monotonic()
                    self._signal(signal.SIGINT)
                elif interrupted_at and time.monotonic() - interrupted_at > GRACE_SECONDS:
                    self._signal(signal.SIGKILL)
                    raise ProcessEnded("timed out", why or "it did not stop when interrupted")
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def _read(self) -> None:
        try:
            part = self.sock.recv(1 << 20)
        except OSError:
            part = b""
        if not part:
            raise ProcessEnded("process died", "the notebook's process ended")
        self.buffer += part

    def _over_limit(self, started: float) -> str:
        limits, wall = self.limits, time.monotonic() - started
        used = self.cpu_seconds()
        if used - self.spent > limits.cell_seconds:
            return f"a cell used more than {limits.cell_seconds:g} CPU seconds"
        if used > limits.notebook_seconds:
            return f"the notebook used more than {limits.notebook_seconds:g} CPU seconds"
        if wall > limits.wall_factor * limits.cell_seconds:
            return f"a cell did not end within {limits.wall_factor * limits.cell_seconds:g} seconds"
        return ""

    def _signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            pass


class Turn:
    """One submission's turn: a plan carried out over a conversation with the notebook's process."""

    def __init__(self, main: Conversation) -> None:
        self.main = main
        self.result = Result()
        self.timed_out = ""

    def carry_out(self, plan: Plan) -> Result:
        """Execute the plan: cells and visible blocks in order, then the hidden blocks."""
        snapshots: list[tuple[int, RunBlock, Conversation | None]] = []
        ended: ProcessEnded | None = None
        for item in plan:
            replies: list[Reply] = []
            self.result.replies.append(replies)
            if ended is None:
                try:
                    if isinstance(item, RunBlock) and item.hidden:
                        snapshot = self._snapshot()
                        snapshots.append((len(self.result.replies) - 1, item, snapshot))
                    else:
                        for kind, code in statements(item):
                            replies.append(self._execute(self.main, kind, code))
                except ProcessEnded as error:
                    ended = error
                    self.result.status, self.result.sentence = error.status, str(error)
            if ended is not None:
                fill_lost(replies, item, str(ended))
        self.main.sock.close()
        for index, block, conversation in snapshots:
            self.result.replies[index] = self._hidden(block, conversation)
        if self.timed_out and self.result.status == "finished":
            self.result.status, self.result.sentence = "timed out", self.timed_out
        return self.result

    def _snapshot(self) -> Conversation:
        ours, theirs = socket.socketpair()
        with theirs:
            self.main.ask({"do": "snapshot"}, send=theirs)
        conversation = Conversation(ours, self.main.pid, self.main.limits)
        conversation.buffer = bytearray()
        hello = conversation._reply()
        conversation.pid = self.outer_pid(hello.get("pid"))
        return conversation

    def outer_pid(self, pid: Any) -> int:
        """The process number, here, of the copy that calls itself `pid`."""
        children = {p.pid for p in psutil.Process(self.main.pid).children()}
        if pid not in children:
            raise ProcessEnded("tampered", "a hidden block's process is not the one that was asked")
        return pid

    def _hidden(self, block: RunBlock, conversation: Conversation) -> list[Reply]:
        replies: list[Reply] = []
        try:
            for kind, code in statements(block):
                replies.append(self._execute(conversation, kind, code))
        except ProcessEnded as error:
            fill_lost(replies, block, str(error))
            if self.result.status == "finished":
                self.result.status, self.result.sentence = error.status, str(error)
        conversation.sock.close()
        return replies

    def _execute(self, conversation: Conversation, kind: str, code: str) -> Reply:
        reply = conversation.ask({"do": kind, "code": code})
        read = read_reply(reply, kind)
        interrupted = "KeyboardInterrupt" in read.raised or any(
            o.get("ename") == "KeyboardInterrupt" for o in read.outputs
        )
        if interrupted and not self.timed_out:
            self.timed_out = f"a cell used more than {conversation.limits.cell_seconds:g} seconds"
        return read


def statements(item: RunCell | RunBlock) -> Iterator[tuple[str, str]]:
    """What is sent for a plan's item: (kind, code) of each request."""
    if isinstance(item, RunCell):
        yield "cell", item.code
    else:
        for step in item.steps:
            yield step.kind, step.code


def fill_lost(replies: list[Reply], item: RunCell | RunBlock, why: str) -> None:
    """Add a reply for every statement that got none."""
    missing = len(list(statements(item))) - len(replies)
    replies += [Reply("lost", message=why)] * missing


def read_reply(reply: dict, kind: str) -> Reply:
    """A worker's reply, every field checked: the process that wrote it is not trusted."""
    outputs = [o for o in map(read_output, as_list(reply.get("outputs"))) if o]
    if "raised" in reply:
        names = [str(name)[:200] for name in as_list(reply["raised"])[:20]] or ["Exception"]
        lines = [str(line)[:4000] for line in as_list(reply.get("traceback"))[:40]]
        message = str(reply.get("message", ""))[:2000]
        return Reply("raised", outputs, raised=names, message=message, traceback=lines)
    if kind in ("cell", "setup"):
        return Reply("done", outputs)
    if "refused" in reply:
        return Reply("refused", outputs, message=str(reply["refused"])[:2000])
    try:
        return Reply("value", outputs, value=loads(str(reply.get("value", "")).encode()))
    except NotPlain as error:
        return Reply("refused", outputs, message=str(error))


def as_list(value: Any) -> list:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def read_output(output: Any) -> dict | None:
    """One output, rebuilt from the fields that nbformat knows; None for anything else."""
    if not isinstance(output, dict):
        return None
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") in ("stdout", "stderr"):
        return {"output_type": kind, "name": output["name"], "text": str(output.get("text", ""))}
    if kind == "error":
        lines = [str(line) for line in as_list(output.get("traceback"))]
        names = {key: str(output.get(key, "")) for key in ("ename", "evalue")}
        return {"output_type": kind, **names, "traceback": lines}
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        data = {str(mime): value for mime, value in output["data"].items()}
        rebuilt = {"output_type": kind, "data": data, "metadata": {}}
        if kind == "execute_result":
            count = output.get("execution_count")
            rebuilt["execution_count"] = count if isinstance(count, int) else None
        return rebuilt
    return None


@contextmanager
def scratch_copy(submission: Submission) -> Iterator[Path]:
    """A folder that holds copies of what the student's process may see; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="proflab-", ignore_cleanup_errors=True) as name:
        place = Path(name) / "work"
        place.mkdir()
        for folder in (submission.folder, submission.support):
            if folder is not None:
                copy_regular_files(folder, place)
        yield place


def copy_regular_files(folder: Path, place: Path, most_bytes: int = 64 * 1024**2) -> None:
    """Copy files, not links, of `folder` into `place`, up to `most_bytes` in all."""
    left = most_bytes
    for parent, folders, files in os.walk(folder, followlinks=False):
        folders[:] = [f for f in folders if not (Path(parent) / f).is_symlink()]
        target = place / Path(parent).relative_to(folder)
        target.mkdir(exist_ok=True)
        for file in files:
            path = Path(parent) / file
            if path.is_symlink() or not path.is_file() or path.suffix == ".ipynb":
                continue
            left -= path.stat().st_size
            if left < 0:
                return
            (target / file).unlink(missing_ok=True)
            shutil.copyfile(path, target / file)


class PlainRunner:
    """Runs each submission in an ordinary subprocess: for one's own notebooks, not strangers'."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()

    def run(self, submission: Submission, plan: Plan) -> Result:
        """See Runner."""
        with scratch_copy(submission) as place:
            ours, theirs = socket.socketpair()
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-I", str(WORKER), str(theirs.fileno())],
                    cwd=place,
                    env=student_environment(place),
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    preexec_fn=self._limit,
                )
            with ours:
                try:
                    return Turn(Conversation(ours, process.pid, self.limits)).carry_out(plan)
                finally:
                    try:
                        os.killpg(process.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    process.wait()

    def _limit(self) -> None:
        seconds = int(self.limits.notebook_seconds) + 5
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_DATA, (self.limits.memory, self.limits.memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def student_environment(home: Path) -> dict[str, str]:
    """The environment variables of a student's process: none of the instructor's."""
    return {
        "HOME": str(home),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "MPLCONFIGDIR": str(home / ".matplotlib"),
        "IPYTHONDIR": str(home / ".ipython"),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PROFLAB_DEMO": "small",
    }
