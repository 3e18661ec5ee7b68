"""Exchange requests and replies with a student's process, and enforce the limits meanwhile.

This is the grader's end of a channel; `inside/worker.py` is the other. A message is two lengths of
four bytes, JSON of the first length, and plain data (`values.py`) of the second. Each request
carries a nonce, which its replies repeat with their number, so that no reply can be written before
its request is known. While a request is carried out, the process may send calls, which the block's
doubles answer. The numbers of the limits are in `limits.py`.
"""

from __future__ import annotations

import json
import secrets
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from proflab.checks.values import NotPlainData, dumps
from proflab_course.cases.hidden_doubles import DoubleRegistry
from proflab_course.grading import work_limit
from proflab_course.grading.inside.channel import HEADER
from proflab_course.grading.limits import (
    GRACE_CPU_SECONDS,
    GRACE_SECONDS,
    MAX_CALLS,
    MAX_JSON,
    MAX_VALUE,
    MB,
    POLL_SECONDS,
)
from proflab_course.grading.plan import RunBlock, RunCell
from proflab_course.grading.run.processes import Process, SessionProcesses
from proflab_course.grading.run.replies import BadReply, parse_message, parse_value
from proflab_course.grading.run.time_allowance import Allowance

_READ = 64 * 1024
UCRED = struct.Struct("3i")  # of the kernel: the numbers of process, user and group
_CREDENTIALS = getattr(socket, "SCM_CREDENTIALS", None)


class ProcessEnded(Exception):
    """The student's process can answer no more; `status` and sentence as in Result.

    stuck: True if one cell or statement is the reason; without it, others may still be executed.
    """

    def __init__(
        self, status: str, sentence: str, hit_wall: bool = False, stuck: bool = False
    ) -> None:
        super().__init__(sentence)
        self.status, self.hit_wall, self.stuck = status, hit_wall, stuck


def tampered(sentence: str) -> ProcessEnded:
    """Return the error for a process that broke the protocol."""
    return ProcessEnded("tampered", sentence)


def out_of_time(sentence: str, **more: bool) -> ProcessEnded:
    """Return the error for a time limit that was exceeded."""
    return ProcessEnded("timed out", sentence, **more)


class LimitMonitor:
    """Measures what a session uses and compares it with its limits; shared by its connections."""

    def __init__(self, processes: SessionProcesses, allowance: Allowance) -> None:
        self.processes, self.limits, self.allowance = processes, allowance.limits, allowance
        self.began = self.asked = self.looked = time.monotonic()
        self.base: float | None = None  # until the first look: most requests end before it
        self.used = self.rested = self.rested_before = 0.0
        self.most, self.share = self.limits.cell_seconds, 1.0

    def allow(self, item: RunCell | RunBlock) -> None:
        """Apply the limits of a statement of `item` to each request from now on."""
        self.share = self.allowance.share(item)
        self.most = self.limits.cpu_seconds(item) * self.share

    def start(self) -> None:
        """Begin a new request."""
        self.asked = self.looked = time.monotonic()
        self.base, self.rested_before, self.rested = None, self.rested_before + self.rested, 0.0

    def _charged(self) -> float:
        """Return the CPU seconds of the request; what was used before its first look is not."""
        return 0.0 if self.base is None else self.used - self.base

    def spent(self) -> float:
        """Return the seconds that the request had used or let pass at the last check."""
        return self._charged() + self.rested

    def end(self) -> None:
        """End the session, and charge its time to the hand-in's next one."""
        self.allowance.spent += self.used

    def _look(self) -> int:
        """Measure the time used; return the memory in use."""
        now, before = time.monotonic(), self.used
        self.used, memory = self.processes.usage(self.limits.memory)
        if self.processes.resting():  # a longer gap may be due to a wait of the grader itself
            passed = min(now - self.looked, 2 * POLL_SECONDS)
            self.rested += max(0.0, passed - (self.used - before))
        self.looked = now
        if self.base is None:
            self.base = self.used
        return memory

    def excess(self) -> ProcessEnded | None:
        """Return the error for the limit that is exceeded, if any; slow, so call while waiting."""
        limits, memory = self.limits, self._look()
        if memory > limits.memory or self.processes.starved():
            return self.starved()
        if self._charged() > self.most:
            return out_of_time(
                f"a cell used more than {round(self.most, 1):g} CPU seconds", stuck=True
            )
        patience = limits.idle_seconds * self.share
        if self.rested > patience:
            sentence = f"a cell did nothing for more than {round(patience, 1):g} seconds"
            return out_of_time(f"{sentence} (is it asleep, or waiting?)", stuck=True)
        if self.used + self.allowance.spent > limits.notebook_seconds:
            most = limits.notebook_seconds
            return out_of_time(f"the notebook used more than {most:g} CPU seconds")
        if self.rested_before + self.rested > (most := limits.notebook_idle_seconds):
            return out_of_time(f"the notebook did nothing for more than {most:g} seconds")
        cell, rested = self.spent(), self.rested_before + self.rested
        for what, since, own, most in (
            ("a cell", self.asked, cell, max(limits.cell_seconds, self.most)),
            ("the notebook", self.began, self.used + rested, limits.notebook_seconds),
        ):
            passed, most = self.looked - since, limits.real_seconds(most)
            if passed > most:
                sentence = f"{what} did not end within {most:g} seconds"
                # If it neither computed nor rested most of the time, the machine was busy.
                return out_of_time(sentence, hit_wall=own < passed / 2)
        return None

    def starved(self) -> ProcessEnded:
        """Return the error for exceeded memory."""
        sentence = f"it took more than {self.limits.memory / MB:,.0f} MB of memory"
        return ProcessEnded("out of memory", sentence)


def new_channel() -> tuple[socket.socket, socket.socket]:
    """Return the grader's and the student's end; the first receives its senders' credentials."""
    ours, theirs = socket.socketpair()
    if _CREDENTIALS:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


class Connection:
    """The grader's end of one channel; waits for replies within the limits that `monitor` checks.

    interrupted: the error for the limit that the current request exceeded, if any. anew: the next
    request is the first of a block in a shared copy, where names mean again what they did in the
    notebook.
    """

    def __init__(self, sock: socket.socket, monitor: LimitMonitor) -> None:
        # A socket timeout lets one call wait for a message and still return in time to check the
        # limits.
        sock.setblocking(True)
        # The kernel's struct timeval: seconds and microseconds.
        for way in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            sock.setsockopt(socket.SOL_SOCKET, way, struct.pack("ll", 0, int(POLL_SECONDS * 1e6)))
        self.sock, self.monitor = sock, monitor
        self.process: Process | None = None
        self.name = 0  # its number where it runs, by which its init says how it ended
        self.buffer = bytearray()
        self.sender = 0
        self.interrupted: ProcessEnded | None = None
        self.anew = False
        self._interrupted_at = 0.0, 0.0  # by the clock, and in CPU seconds

    def ask(
        self,
        request: dict,
        send: socket.socket | None = None,
        registry: DoubleRegistry | None = None,
    ) -> tuple[dict, bytes]:
        """Send a request; return its reply and the plain data in it, within the limits.

        Raises ProcessEnded. Afterwards `interrupted` is set if a limit was exceeded, even if the
        process obeyed the interrupt and replied.
        """
        nonce = self._request(request)
        if send is not None:
            self._send_socket(send)
        calls = 0
        while True:
            message, blob = self._reply(nonce)
            if "call" not in message:
                return message, blob
            calls += 1
            if registry is None or calls > MAX_CALLS:
                raise tampered("the process sent a request that it may not send")
            answer, data = _answer_call(registry, message["call"], blob)
            self._send(answer | {"nonce": nonce}, data)

    def ask_all(self, steps: list[tuple[str, str]]) -> Iterator[tuple[dict, bytes]]:
        """Send statements together; yield the reply of each as it comes, within its limits.

        Ends when the process waits for a request again, perhaps before the last statement. Until
        then no other request may be sent. Raises ProcessEnded, as `ask` does.
        """
        (kind, code), *others = steps
        nonce = self._request({"do": kind, "code": code, "then": others})
        for place in range(len(steps)):
            if place:
                self.start()
            message, blob = self._reply(nonce, place)
            yield message, blob
            if message.get("more") is not True:
                return

    def _request(self, request: dict) -> str:
        """Send a request with a new nonce and start its limits; return the nonce."""
        nonce = secrets.token_hex(8)
        self.start()
        self._send(request | {"nonce": nonce, "anew": self.anew})
        self.anew = False
        return nonce

    def _reply(self, nonce: str, place: int = 0) -> tuple[dict, bytes]:
        """Return the next message; it must carry this request's nonce and this place in it."""
        message, blob = self._message()
        work_limit.check()
        if message.get("nonce") != nonce or message.get("place", 0) != place:
            raise tampered("the process answered although it was not asked")
        return message, blob

    def start(self) -> None:
        """Begin a new request: its limits count from now."""
        self.interrupted, self._interrupted_at = None, (0.0, 0.0)
        self.monitor.start()

    def hello(self) -> None:
        """Receive the first message on a new channel; take its sender's number from the kernel."""
        self.start()
        message, _ = self._message()
        name = message.get("pid")
        pid = self.sender if _CREDENTIALS else name
        if type(pid) is not int or pid <= 0 or type(name) is not int:
            raise tampered("a process did not identify itself")
        self.name = name
        try:
            process = Process(pid)
        except OSError:
            raise ProcessEnded("process died", "a process ended before it was used") from None
        if not self.monitor.processes.adopt(pid):
            process.close()
            raise tampered("a process answered although it was not asked")
        self.process = process

    def close(self) -> None:
        """Close the channel, which the process notices."""
        self.sock.close()
        if self.process is not None:
            self.process.close()
            self.process = None

    def _send(self, message: dict, blob: bytes = b"") -> None:
        body = json.dumps(message).encode()
        data = memoryview(HEADER.pack(len(body), len(blob)) + body + blob)
        looked = time.monotonic()
        while data:
            data = data[self._some(self.sock.send, data) :]
            if data and time.monotonic() - looked >= POLL_SECONDS:
                self._look()  # a process that reads slowly gains no time
                looked = time.monotonic()

    def _send_socket(self, sent: socket.socket) -> None:
        while not self._some(socket.send_fds, self.sock, [b"s"], [sent.fileno()]):
            self._look()

    def _some(self, send: Callable[..., int], *arguments: Any) -> int:
        """Send as much as possible within POLL_SECONDS; return the number of bytes."""
        try:
            return send(*arguments)
        except BlockingIOError:
            return 0
        except OSError:
            raise self._ended() from None

    def _message(self) -> tuple[dict, bytes]:
        self._fill(HEADER.size)
        json_size, blob_size = HEADER.unpack_from(self.buffer)
        if json_size > MAX_JSON or blob_size > MAX_VALUE:
            raise tampered(f"a reply of {json_size + blob_size:,} bytes was announced")
        middle, end = HEADER.size + json_size, HEADER.size + json_size + blob_size
        self._fill(end)
        body, blob = bytes(self.buffer[HEADER.size : middle]), bytes(self.buffer[middle:end])
        del self.buffer[:end]
        try:
            return parse_message(body), blob
        except BadReply as error:
            raise tampered(str(error)) from None

    def _fill(self, size: int) -> None:
        """Wait until the buffer holds `size` bytes."""
        if len(self.buffer) >= size:
            return
        looked = time.monotonic()
        while (missing := size - len(self.buffer)) > 0:
            # `recv` sets aside as much as it is asked for, whatever was announced.
            came = self._read(min(max(missing, _READ), MB))
            if not came and self.process is not None and self.process.ended():
                raise self._ended()
            if time.monotonic() - looked >= POLL_SECONDS and len(self.buffer) < size:
                self._look()
                looked = time.monotonic()

    def _read(self, most: int) -> bool:
        """Read what arrives within POLL_SECONDS; return True if anything did."""
        try:
            if self.process is None:
                room = socket.CMSG_SPACE(UCRED.size)  # and no room for descriptors
                part, notes, _, _ = self.sock.recvmsg(most, room)
            else:
                part, notes = self.sock.recv(most), []
        except BlockingIOError:
            return False
        except OSError:
            part, notes = b"", []
        if not part:
            raise self._ended()
        if notes and notes[0][1] == _CREDENTIALS:
            self.sender = UCRED.unpack_from(notes[0][2])[0]
        self.buffer += part
        return True

    def _ended(self) -> ProcessEnded:
        """Return the reason for the end: an exceeded limit, or how the process died."""
        if self.interrupted is not None:
            return self.interrupted
        processes, why = self.monitor.processes, ""
        # A death is reported by another process, a moment after the socket has closed.
        for _ in range(20):
            if why := processes.death(self.name):
                break
            time.sleep(0.02)
        if processes.starved():
            return self.monitor.starved()
        return ProcessEnded("process died", why or "the notebook's process ended")

    def _look(self) -> None:
        """Enforce the limits: interrupt, as Jupyter's stop button does, and if that fails, kill."""
        excess = self.monitor.excess()
        if excess is not None and excess.status == "out of memory":
            self.signal(signal.SIGKILL)
            raise excess
        if self.interrupted is None:
            if excess is not None:
                self.interrupted = excess
                self._interrupted_at = time.monotonic(), self.monitor.used
                self.signal(signal.SIGINT)
        elif self._disobeys():
            self.signal(signal.SIGKILL)
            raise self.interrupted

    def _disobeys(self) -> bool:
        """Return True if the process goes on after an interrupt: in a C function, or on purpose."""
        clock, used = self._interrupted_at
        waited = time.monotonic() - clock > GRACE_SECONDS * self.monitor.share
        return waited or self.monitor.used - used > GRACE_CPU_SECONDS

    def end(self) -> None:
        """Kill the process at the other end and close the channel."""
        self.signal(signal.SIGKILL)
        self.close()

    def signal(self, number: int) -> None:
        """Send a signal to the process at the other end."""
        if self.process is not None:
            self.process.signal(number)


def _answer_call(registry: DoubleRegistry, name: Any, blob: bytes) -> tuple[dict, bytes]:
    """Return the answer to a stub in the student's process: plain data, or why there is none."""
    double = registry.get(name) if isinstance(name, str) else None
    if double is None:
        return {"refused": "there is no double of that name"}, b""
    try:
        arguments = parse_value(blob)
        if not isinstance(arguments, tuple):
            raise NotPlainData("a double is called with a tuple of arguments")
        return {}, dumps(double(*arguments))
    except Exception as error:  # a student's code may pass on any arguments
        return {"refused": f"{type(error).__name__}: {error}"[:500]}, b""
