"""Calls functions in processes that may take so much time and memory and no more.

What is read of a stranger is limited in size, and yet a step may take for ever or crash: here it
ends the process that it is in, and the caller is told so. All processes are forks of a template,
which is itself forked while the caller has few threads, so that starting one takes milliseconds.
What goes across is JSON and bytes, which the caller checks: nothing that could be executed.
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

from proflab_course.grading.plan import MB
from proflab_course.grading.work_limit import TooMuchWork

SECONDS = 10.0  # of CPU time a call; of real time so many times more, for the machine may be busy
_WALL_FACTOR = 10.0
_MEMORY = 1024 * MB  # beyond what the process has when it begins
_MOST_BYTES = 512 * MB  # of an answer
_TRACEBACK = 20_000
_MOST_FILES = 1 << 20
# An answer: a JSON value, and bytes that stand for themselves.
Answer = tuple[Any, list[bytes]]
Function = Callable[..., Answer]


class CallFailed(RuntimeError):
    """A function raised an exception of class `kind`, whose traceback is the message."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class LimitedProcesses:
    """Processes in which these functions are called, one for each thread that calls."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._template: socket.socket | None = None
        self._idle: list[socket.socket] = []
        self._lock = threading.Lock()

    def start(self) -> None:
        """Fork the template, unless it is there."""
        with self._lock:
            if self._template is None:
                self._template = _fork(_serve_as_template, self._functions)

    def call(self, name: str, *arguments: Any) -> Answer:
        """Return a function's answer.

        Raises TooMuchWork where that took too much, CallFailed where it raised an exception.
        """
        self.start()
        process = self._take()
        try:
            process.settimeout(2 * _WALL_FACTOR * SECONDS)  # the process ends itself before
            _send(process, [name, *arguments])
            (error, *told), blobs = _receive(process)
        except (OSError, EOFError, ValueError):
            process.close()
            raise TooMuchWork(_too_much()) from None
        if error == MemoryError.__name__:
            process.close()  # what it has taken it may not give back
            raise TooMuchWork(_too_much())
        with self._lock:
            self._idle.append(process)
        if error:
            raise CallFailed(error, str(told[0]))
        return told[0], blobs

    def close(self) -> None:
        """End the processes; they do so when nobody can ask them any more."""
        with self._lock:
            for each in (*self._idle, self._template):
                if each is not None:
                    each.close()
            self._idle, self._template = [], None

    def _take(self) -> socket.socket:
        """Return the connection to a process that is idle, or to a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    socket.send_fds(self._template, [b"1"], [theirs.fileno()])
                except OSError:  # somebody has killed it
                    self._template = _fork(_serve_as_template, self._functions)
                    socket.send_fds(self._template, [b"1"], [theirs.fileno()])
            return ours


def _too_much() -> str:
    return (
        f"reading it takes more than {SECONDS:g} s or {_MEMORY // MB:,} MB: "
        "hand in the notebook alone, with its outputs cleared"
    )


# ── the processes ────────────────────────────────────────────────────────────────────────────


def _fork(serve: Callable[..., None], *arguments: Any) -> socket.socket:
    """Return the connection to a fork of this process that does nothing but serve."""
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():  # 3.12 warns of other threads: what they hold is not used here
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        _serve_and_exit(theirs, serve, *arguments)
    theirs.close()
    return ours


def _serve_and_exit(connection: socket.socket, serve: Callable[..., None], *rest: Any) -> NoReturn:
    """Let go of all that was inherited but memory, serve, and end without the caller's clean-up."""
    try:
        for number in (signal.SIGTERM, signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks ends, and that ends this
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for forks
        nothing, own = os.open(os.devnull, os.O_RDWR), connection.fileno()
        for standard in range(3):
            os.dup2(nothing, standard)
        os.closerange(3, own)
        os.closerange(own + 1, min(os.sysconf("SC_OPEN_MAX"), _MOST_FILES))
        serve(connection, *rest)
    finally:
        os._exit(0)


def _serve_as_template(connection: socket.socket, functions: Mapping[str, Function]) -> None:
    """Fork a process for each connection that comes in, until nobody can ask any more."""
    gc.freeze()
    while True:
        _, received, _, _ = socket.recv_fds(connection, 1, 1)
        if not received:
            return
        with socket.socket(fileno=received[0]) as theirs:
            if os.fork() == 0:
                _serve_and_exit(theirs, _serve_calls, functions)


def _serve_calls(connection: socket.socket, functions: Mapping[str, Function]) -> None:
    """Answer calls, each under its limits: the kernel ends the process that exceeds them."""
    _limit_memory()
    while True:
        try:
            (name, *arguments), _ = _receive(connection)
        except EOFError:
            return
        _limit_seconds(SECONDS)
        try:
            value, blobs = functions[name](*arguments)
            answer, blobs = ["", value], blobs
        except MemoryError:
            answer, blobs = [MemoryError.__name__, ""], []
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
        resource.setrlimit(resource.RLIMIT_AS, (now + _MEMORY, now + _MEMORY))


def _limit_seconds(seconds: float) -> None:
    """End this process after so much CPU time, or ten times as much real time; 0: do not."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _WALL_FACTOR)


# ── what goes across ─────────────────────────────────────────────────────────────────────────


def _send(connection: socket.socket, value: Any, blobs: list[bytes] | None = None) -> None:
    """Send a JSON value, and bytes behind it."""
    body = json.dumps([value, [len(blob) for blob in blobs or ()]]).encode()
    connection.sendall(len(body).to_bytes(8, "big"))
    for part in (body, *(blobs or ())):
        connection.sendall(part)


def _receive(connection: socket.socket) -> Answer:
    """Return what was sent; EOFError where nobody sends any more, ValueError if it is no answer."""
    size = int.from_bytes(_receive_bytes(connection, 8), "big")
    value, sizes = json.loads(_receive_bytes(connection, size))
    return value, [_receive_bytes(connection, int(each)) for each in sizes]


def _receive_bytes(connection: socket.socket, size: int) -> bytes:
    if not 0 <= size <= _MOST_BYTES:
        raise ValueError("an answer that is too large")
    data = bytearray(size)
    left = memoryview(data)
    while left:
        count = connection.recv_into(left)
        if count == 0:
            raise EOFError
        left = left[count:]
    return bytes(data)
