"""Run the zygote inside bubblewrap: a warm process that forks a worker for each session.

The zygote has imported numpy, IPython and the course's library. It knows no answers and runs no
student code. For each session it forks a child into namespaces of its own. This process, called
init, has its own /proc and scratch space, starts the worker, and reaps orphans. When the grader
closes init's socket, init ends, and the kernel ends every process in its namespaces.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
# run/bubblewrap.py makes these folders and devices; this file can import nothing of it.
_SCRATCH = "/proflab/student"
_HOME = f"{_SCRATCH}/work"
_TEMPORARY = f"{_SCRATCH}/tmp"
_RLIMIT_SIGPENDING = 11  # queued signals and timers; Python has no name for it
_DEVICES = ["/dev/null", "/dev/zero", "/dev/full"]
# What lessons import, other than the course's library: else each session imports it anew.
_USUAL = ("cProfile", "numpy.ma", "psutil", "pstats")


def main() -> None:
    """Serve sessions on the control socket, whose descriptor is the first argument."""
    sys.path.insert(0, HERE)
    import confine
    import machine_files
    import scratch
    import worker as student_side

    # No student's import may find what lies here.
    sys.path.remove(HERE)
    student_side.hide_programs()
    confine.prctl(confine.PR_SET_PDEATHSIG, signal.SIGKILL)  # with bubblewrap, its parent
    confine.prctl(confine.PR_SET_DUMPABLE, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = student_side.Channel(socket.socket(fileno=int(sys.argv[1])))
    zygote = Zygote(control, confine, student_side, scratch, machine_files)
    try:
        zygote.prepare()
        zygote.serve()
    except (EOFError, OSError):
        os._exit(0)  # the grader has ended


class Zygote:
    """Prepares itself once, then carries out one session after the other."""

    def __init__(self, control, confine, student_side, scratch, machine_files) -> None:
        self.control, self.confine, self.student_side = control, confine, student_side
        self.scratch, self.machine_files = scratch, machine_files
        self.constants = machine_files.constants()

    def prepare(self) -> None:
        """Import what students import, and report which layers this machine has."""
        order, program = self.control.receive()
        self.limits, self.nested, self.program = order["limits"], order["nested"], program
        self.writable = order["writable"]
        self.user = os.getuid(), os.getgid()
        sys.path += [p for p in order["site"] if p not in sys.path]
        # Before site-packages, where another proflab may be installed.
        sys.path.insert(0, order["library"])
        from proflab.checks.values import dumps, loads

        os.makedirs(_HOME, exist_ok=True)
        self.worker = self.student_side.Worker(dumps, loads, self.limits["cell_output"])
        _warm_up(order["plots"])
        self.worker.rehearse()
        nested = self.nested and self.try_nesting()
        gc.collect()
        gc.freeze()  # the collector would copy pages that all students share
        self.wake = _wake_on_children()
        self.control.send(
            {"ready": True, "nested": nested, "landlock": self.confine.landlock_abi()}
        )

    def try_nesting(self) -> bool:
        """Return True if a child can have namespaces and a /proc of its own on this machine."""
        _end_threads()
        try:
            pid = self.confine.fork_into_namespaces()
        except OSError:
            return False
        if pid == 0:
            try:
                self.enter_namespaces()
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def serve(self) -> None:
        """Carry out sessions; each order arrives with two sockets, init's and the worker's."""
        while True:
            order, fds = self.receive_order()
            with socket.socket(fileno=fds[0]) as init, socket.socket(fileno=fds[1]) as channel:
                self.fork_init(init, channel)
            self.wait_for_children()
            self.control.send({"ended": order["session"]})

    def receive_order(self) -> tuple[dict, list[int]]:
        """Return the next order and its two descriptors."""
        data, fds, _, _ = socket.recv_fds(self.control.sock, 4096, 2)
        if not data:
            raise EOFError
        return json.loads(data), fds

    def wait_for_children(self) -> None:
        """Reap all processes of the session; raise EOFError if the grader has ended."""
        while True:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            ready, _, _ = select.select([self.control.sock, self.wake], [], [], 5.0)
            if self.control.sock in ready:
                raise EOFError  # the grader sends nothing during a session
            if self.wake in ready:
                os.read(self.wake, 4096)

    def fork_init(self, init: socket.socket, channel: socket.socket) -> None:
        """Fork the session's process 1, in namespaces of its own if they can be nested."""
        try:
            pid = self.confine.fork_into_namespaces() if self.nested else os.fork()
        except OSError as error:
            self.report(init, error)
            return
        if pid:
            return
        try:
            # The zygote's own pipe, and its way to the grader: a session may use neither.
            signal.set_wakeup_fd(-1)
            os.close(self.control.sock.detach())
            if self.nested:
                self.enter_namespaces()
            Init(self, self.student_side.Channel(init), channel).run()
        except BaseException as error:
            self.report(init, error)
        os._exit(1)

    def report(self, init: socket.socket, error: BaseException) -> None:
        """Report to the grader that a session could not be started."""
        failed = f"{type(error).__name__}: {error}"[:500]
        self.student_side.Channel(init).send({"failed": failed})

    def enter_namespaces(self) -> None:
        """Set up the new namespaces: user numbers and mounts."""
        self.confine.map_user(*self.user)
        self.mount_scratch()

    def mount_scratch(self) -> None:
        """Mount a new /proc, and one small file system for all writable folders."""
        mount, c = self.confine.mount, self.confine
        safe = c.MS_NOSUID | c.MS_NODEV
        size = f"size={self.limits['scratch']},nr_inodes={self.limits['scratch_files']},mode=700"
        # Nothing that is mounted from here on shows outside.
        mount("none", "/", flags=c.MS_REC | c.MS_PRIVATE)
        mount("proc", "/proc", "proc", safe | c.MS_NOEXEC)
        mount("constants", _SCRATCH, "tmpfs", safe | c.MS_NOEXEC, "mode=755")
        self.machine_files.cover(self.constants, _SCRATCH, mount, c.MS_BIND)
        mount("constants", _SCRATCH, flags=c.MS_REMOUNT | c.MS_RDONLY | safe | c.MS_NOEXEC)
        # Over the constants' folder: what was bound from there stays bound.
        mount("scratch", _SCRATCH, "tmpfs", safe, size)
        os.mkdir(_TEMPORARY)
        for place in self.writable:
            mount(_TEMPORARY, place, flags=c.MS_BIND)

    def roots(self) -> list[str]:
        """Return the folders below which a session can write; nested sessions have only one."""
        return [_SCRATCH] if self.nested else [_SCRATCH, *self.writable]


class Init:
    """Process 1 of a session: writes the student's files, starts the worker, reaps orphans."""

    def __init__(self, zygote: Zygote, control, channel: socket.socket) -> None:
        self.zygote, self.control, self.channel = zygote, control, channel
        self.kept: dict[str, dict] = {}

    def run(self) -> None:
        """Start the worker, then reap until the grader closes the socket."""
        if not self.zygote.nested:  # then the zygote has used the folder
            shutil.rmtree(_HOME, ignore_errors=True)
        for folder in (_HOME, _TEMPORARY):
            os.makedirs(folder, exist_ok=True)
        self.write_files()
        self.zygote.confine.drop_capabilities()
        pid = os.fork()
        if pid == 0:
            self.become_student()
        self.channel.close()
        wake = _wake_on_children()
        self.control.send({"started": pid})
        self.reap()
        while True:
            ready, _, _ = select.select([self.control.sock, wake], [], [], 5.0)
            if wake in ready:
                os.read(wake, 4096)
            if self.control.sock in ready:
                self.obey()
            self.reap()

    def obey(self) -> None:
        """Tidy up before a hidden block; end if the grader has closed the socket."""
        try:
            order, _ = self.control.receive()
        except (EOFError, OSError):
            os._exit(0)  # the kernel then ends every process in these namespaces
        try:
            self.tidy(order["waiting"], order["more"])
            answer = ""
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"[:500]
        self.control.send({"tidied": answer})

    def tidy(self, waiting: list[int], more: bool) -> None:
        """End all processes but the waiting copies, restore files, and wake the first copy."""
        scratch = self.zygote.scratch
        scratch.stop_all_but(waiting)
        if self.kept:
            for root, kept in self.kept.items():
                scratch.put_back(root, kept)
        elif more:
            most = self.zygote.limits["scratch"]
            self.kept = {root: scratch.keep(root, most) for root in self.zygote.roots()}
        self.reap()
        if waiting:
            os.kill(waiting[0], signal.SIGCONT)

    def reap(self) -> None:
        """Report every process that has ended to the grader."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            try:
                self.control.send({"died": pid, "code": os.waitstatus_to_exitcode(status)})
            except OSError:
                os._exit(0)

    def write_files(self) -> None:
        """Receive the student's files and write them into the scratch space."""
        order, data = self.control.receive()
        start = 0
        for path, size in order["files"]:
            target = os.path.join(_HOME, path)
            with contextlib.suppress(OSError):  # a name or a size that does not fit
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(data[start : start + size])
            start += size

    def become_student(self) -> None:
        """Confine this process, close every descriptor except the channel, and serve."""
        zygote = self.zygote
        try:
            # In this order: the filter comes last, because it refuses what the steps above it need.
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            zygote.confine.be_first_to_go()
            os.chdir(_HOME)
            self.take_limits()
            zygote.confine.landlock([_SCRATCH, *zygote.writable], _DEVICES)
            zygote.confine.seccomp(zygote.program)
            # Otherwise all forks of this process would draw the same numbers.
            sys.modules["numpy"].random.seed()
            zygote.student_side.prepare(_HOME)
        except BaseException as error:
            self.control.send({"failed": f"{type(error).__name__}: {error}"[:500]})
            os._exit(1)
        try:
            self.control.sock.detach()
            channel = _keep_only(self.channel.detach())
            zygote.worker.serve(zygote.student_side.Channel(channel))
        finally:
            os._exit(1)

    def take_limits(self) -> None:
        """Set resource limits; memory is limited beyond what the zygote has already."""
        limits = self.zygote.limits
        for kind, most in (
            (resource.RLIMIT_DATA, _data_bytes() + limits["memory"]),
            (resource.RLIMIT_CPU, limits["process_seconds"]),
            (resource.RLIMIT_NPROC, limits["processes"]),
            (resource.RLIMIT_FSIZE, limits["file"]),
            (resource.RLIMIT_NOFILE, limits["descriptors"]),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_MEMLOCK, 0),
            (_RLIMIT_SIGPENDING, limits["queued_signals"]),
        ):
            resource.setrlimit(kind, (most, most))


def _end_threads() -> None:
    """Let BLAS end its threads, which it does before each os.fork."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _wake_on_children() -> int:
    """Return a descriptor that becomes readable whenever a child may have ended."""
    wake, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    return wake


def _data_bytes() -> int:
    """Return the bytes of this process that RLIMIT_DATA counts."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def _keep_only(descriptor: int) -> socket.socket:
    """Close every descriptor but one, which becomes number 3; 0 to 2 become /dev/null."""
    nowhere = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    if descriptor != 3:
        os.dup2(descriptor, 3, inheritable=False)
    os.closerange(4, 1 << 20)
    return socket.socket(fileno=3)


def _warm_up(plots: bool) -> None:
    """Import and use once the packages that are slow the first time; pyplot only if `plots`.

    Every page in memory makes each fork slower, and pyplot has half of all pages.
    """
    import importlib
    import pkgutil

    import numpy as np

    import proflab.lesson
    import proflab.models  # noqa: F401

    for module in pkgutil.walk_packages(proflab.lesson.__path__, "proflab.lesson."):
        importlib.import_module(module.name)
    for name in _USUAL:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "psutil" in sys.modules:  # what the whole machine did until now is nobody's business
        _forget_times(sys.modules["psutil"])
    np.ones((64, 64), np.float32) @ np.ones((64, 64), np.float32)
    if plots:
        _draw_figure()


def _forget_times(psutil) -> None:
    """Clear the processors' times that psutil has read on import."""
    for name in ("_last_cpu_times", "_last_per_cpu_times", "_last_cpu_times_2"):
        if isinstance(kept := getattr(psutil, name, None), dict):
            kept.clear()


def _draw_figure() -> None:
    import io

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot([0, 1], label="x")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    plt.close("all")


if __name__ == "__main__":
    main()
