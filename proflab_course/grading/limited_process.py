"""Call functions in processes with limited time and memory.

Even a small file of a stranger may make a step endless or crash it. Here this ends only the step's
process, and the caller gets an exception. All processes are forks of a template, which is forked
while the caller has few threads, so that starting one takes milliseconds. Messages are JSON and
bytes, which the caller validates; nothing in them can be executed.

So hand-ins are read and matched (`reader.py`), classes' archives, lists and metadata are read
(`proflab_course/collect/`), and pages are laid out (`pages/render.py`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import socket
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from proflab_course.course.layout import CourseError
from proflab_course.grading.limits import (
    MAX_ANSWER,
    MB,
    READ_MEMORY,
    READ_SECONDS,
    READ_WALL_FACTOR,
)
from proflab_course.grading.work_limit import TooMuchWork

_NO_PROCESS = (
    "this machine cannot start another process to read what was handed in: end other programs, or "
    "allow more processes or memory, and run the command again"
)
_TRACEBACK = 20_000  # characters, the last ones
_MOST_FILES = 1 << 20  # descriptors to close: in some containers the limit is a billion
# A JSON value, and bytes beside it.
Answer = tuple[Any, list[bytes]]
Function = Callable[..., Answer]


class Unreadable(Exception):
    """A function has no answer; it may raise this itself, with the reason as the message.

    The reason is a part of a sentence for people.
    """

    @property
    def reason(self) -> str:
        """Return why there is no answer."""
        return str(self)


class TooMuchToRead(Unreadable, TooMuchWork):
    """A call exceeded a limit of its process."""


class CallFailed(Unreadable):
    """A function raised another exception, of class `kind`, whose traceback is the message."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind

    @property
    def reason(self) -> str:
        """Return the exception alone, as the traceback's last line has it."""
        return str(self).strip().splitlines()[-1]


class LimitedProcesses:
    """Processes in which these functions are called, one for each calling thread."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._template: socket.socket | None = None
        self._idle: list[socket.socket] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Fork the template, unless it exists."""
        with self._lock:
            if self._template is None:
                self._template = _fork(_serve_as_template, self._functions)

    def call(self, name: str, *arguments: Any, seconds: float | None = None) -> Answer:
        """Return a function's answer; seconds: the CPU time that it may take, READ_SECONDS if None.

        Raises Unreadable as the function raised it, TooMuchToRead if the call exceeded a limit, and
        CallFailed for any other exception of the function's; all of them are Unreadable. Raises
        CourseError where the machine starts no process, which is nobody's hand-in's fault.
        """
        self.start()
        process = self._take()
        seconds = READ_SECONDS if seconds is None else seconds
        try:
            process.settimeout(2 * READ_WALL_FACTOR * READ_SECONDS)  # it ends itself earlier
            _send(process, [seconds, name, *arguments])
            (error, value), blobs = _receive(process)
        except (OSError, EOFError, ValueError):
            process.close()
            raise TooMuchToRead(_too_much()) from None
        if error == TooMuchToRead.__name__:
            process.close()  # it may not be able to free its memory
            raise TooMuchToRead(_too_much())
        with self._lock:
            self._idle.append(process)
        if error == Unreadable.__name__:
            raise Unreadable(str(value))
        if error:
            raise CallFailed(error, str(value))
        return value, blobs

    def close(self) -> None:
        """Close the sockets, which ends the processes."""
        with self._lock:
            for each in (*self._idle, self._template):
                if each is not None:
                    each.close()
            self._idle, self._template = [], None

    def _take(self) -> socket.socket:
        """Return the socket of an idle process, or of a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            assert self._template is not None, "start() comes first"
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(self._template, [b"1"], [theirs.fileno()])
                except OSError:  # the template was killed
                    self._template = _fork(_serve_as_template, self._functions)
                    socket.send_fds(self._template, [b"1"], [theirs.fileno()])
        if not ours.recv(1):
            ours.close()
            raise CourseError(_NO_PROCESS)
        return ours


def call_once(function: Function, *arguments: Any) -> Answer:
    """Return a function's answer from a process of its own; raise what `call` raises."""
    processes = LimitedProcesses({"it": function})
    try:
        return processes.call("it", *arguments)
    finally:
        processes.close()


def _too_much() -> str:
    return (
        f"reading it takes more than {READ_SECONDS:g} s or {READ_MEMORY // MB:,} MB: "
        "hand in the notebook alone, with its outputs cleared"
    )


# ── the processes ────────────────────────────────────────────────────────────────────────────


def _fork(serve: Callable[..., None], *arguments: Any) -> socket.socket:
    """Return the socket of a fork of this process that does nothing but serve."""
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():  # 3.12 warns of other threads; the fork uses no lock of theirs
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            process = os.fork()
        except OSError as error:
            raise CourseError(_NO_PROCESS) from error
    if process == 0:
        _serve_and_exit(theirs, serve, *arguments)
    theirs.close()
    return ours


def _serve_and_exit(connection: socket.socket, serve: Callable[..., None], *rest: Any) -> NoReturn:
    """Close inherited files, reset signals, serve, and exit without the caller's clean-up."""
    try:
        for number in (signal.SIGTERM, signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller's end closes the socket
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the forks
        nothing, own = os.open(os.devnull, os.O_RDWR), connection.fileno()
        for standard in range(3):
            os.dup2(nothing, standard)
        # An inherited socket would stay open here after its owner has closed it.
        os.closerange(3, own)
        os.closerange(own + 1, min(os.sysconf("SC_OPEN_MAX"), _MOST_FILES))
        serve(connection, *rest)
    finally:
        os._exit(0)


def _serve_as_template(connection: socket.socket, functions: Mapping[str, Function]) -> None:
    """Fork a process for each socket that arrives, until the caller has closed its own."""
    # All forks share these pages until somebody writes to them, as the collector would.
    gc.freeze()
    while True:
        _, received, _, _ = socket.recv_fds(connection, 1, 1)
        if not received:
            return
        # Where no process starts, the caller's socket is closed before its first byte (`_take`).
        with socket.socket(fileno=received[0]) as theirs, contextlib.suppress(OSError):
            if os.fork() == 0:
                _serve_and_exit(theirs, _serve_calls, functions)


def _serve_calls(connection: socket.socket, functions: Mapping[str, Function]) -> None:
    """Answer calls, each within its limits; the kernel ends a process that exceeds them."""
    _limit_memory()
    connection.sendall(b"1")
    while True:
        try:
            (seconds, name, *arguments), _ = _receive(connection)
        except EOFError:
            return
        _limit_seconds(seconds)
        try:
            value, blobs = functions[name](*arguments)
            answer, blobs = ["", value], blobs
        except (MemoryError, TooMuchToRead):
            answer, blobs = [TooMuchToRead.__name__, ""], []
        except Unreadable as error:
            answer, blobs = [Unreadable.__name__, str(error)], []
        except BaseException as error:
            text = "".join(traceback.format_exception(error))[-_TRACEBACK:]
            answer, blobs = [type(error).__name__, text], []
        _send(connection, answer, blobs)
        _limit_seconds(0)


def _limit_memory() -> None:
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        # It counts what is mapped, and the fork has all of the grader's libraries already.
        resource.setrlimit(resource.RLIMIT_AS, (now + READ_MEMORY, now + READ_MEMORY))


def _limit_seconds(seconds: float) -> None:
    """Have the kernel end this process after so much CPU time, or too much real time; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * READ_WALL_FACTOR)


# ── messages ─────────────────────────────────────────────────────────────────────────────────


def _send(connection: socket.socket, value: Any, blobs: list[bytes] | None = None) -> None:
    """Send a JSON value followed by bytes."""
    body = json.dumps([value, [len(blob) for blob in blobs or ()]]).encode()
    connection.sendall(len(body).to_bytes(8, "big"))
    for part in (body, *(blobs or ())):
        connection.sendall(part)


def _receive(connection: socket.socket) -> Answer:
    """Return a message; raise EOFError at the end, ValueError if it is malformed."""
    size = int.from_bytes(_receive_bytes(connection, 8), "big")
    value, sizes = json.loads(_receive_bytes(connection, size))
    return value, [_receive_bytes(connection, int(each)) for each in sizes]


def _receive_bytes(connection: socket.socket, size: int) -> bytes:
    if not 0 <= size <= MAX_ANSWER:
        raise ValueError("an answer that is too large")
    data = bytearray(size)
    left = memoryview(data)
    while left:
        count = connection.recv_into(left)
        if count == 0:
            raise EOFError
        left = left[count:]
    return bytes(data)
