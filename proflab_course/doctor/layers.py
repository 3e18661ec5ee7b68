"""Try each layer of isolation for `proflab doctor`; report which work and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from proflab_course.course.layout import CourseError
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run.bubblewrap import find_bubblewrap, unprivileged_user
from proflab_course.grading.run.seccomp import SeccompMissing, seccomp_program

State = Literal["works", "partly", "missing"]
SETTINGS = Path("/proc/sys")


@dataclass(frozen=True)
class Layer:
    """One layer of isolation: its state on this machine, and one sentence about it."""

    name: str
    state: State
    sentence: str


def examine_layers() -> list[Layer]:
    """Try every layer; the last one is the sandbox as a whole."""
    if not sys.platform.startswith("linux"):
        sentence = "the sandbox needs Linux: grade in a container or a virtual machine"
        return [Layer("sandbox", "missing", sentence)]
    layers = [bubblewrap(), user_namespaces(), seccomp(), landlock(), _resource_limits(), cgroups()]
    return [*layers, *sandbox(can_start=layers[0].state == "works")]


def bubblewrap() -> Layer:
    """Check that the program is installed."""
    path = find_bubblewrap()
    if path is None:
        return Layer("bubblewrap", "missing", "install it: apt install bubblewrap")
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()
    return Layer("bubblewrap", "works", version or path)


def user_namespaces() -> Layer:
    """Check that an unprivileged user may have namespaces."""
    from proflab_course.grading.inside import confine

    def enter() -> None:
        user = unprivileged_user(0)
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        confine.unshare(confine.CLONE_NEWUSER | confine.CLONE_NEWNS | confine.CLONE_NEWPID)

    if succeeds(enter):
        return Layer("user namespaces", "works", "an unprivileged user may create them")
    return Layer("user namespaces", "missing", _why_no_namespaces())


def _why_no_namespaces() -> str:
    """Return the setting that refuses namespaces, if it is a known one."""
    for path, bad, remedy in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "=0"),
        ("kernel/unprivileged_userns_clone", "0", "=1"),
        ("user/max_user_namespaces", "0", "=10000"),
    ):
        file = SETTINGS / path
        if file.exists() and file.read_text().strip() == bad:
            setting = path.replace("/", ".")
            return f"the system refuses them: as root, sysctl -w {setting}{remedy}"
    return "the system refuses them: in a container, allow unshare and mount (seccomp profile)"


def seccomp() -> Layer:
    """Check that a filter of system calls can be made and installed."""
    from proflab_course.grading.inside import confine

    try:
        program = seccomp_program()
    except SeccompMissing as error:
        return Layer("seccomp", "missing", f"{error}; without it, more of the kernel is exposed")

    def install() -> None:
        confine.prctl(confine.PR_SET_NO_NEW_PRIVS, 1)
        confine.seccomp(program)

    if succeeds(install):
        return Layer("seccomp", "works", "system calls that no lesson needs are refused")
    return Layer("seccomp", "missing", "the kernel refuses filters; more of it is exposed")


def landlock() -> Layer:
    """Check that the kernel has Landlock, and which version."""
    from proflab_course.grading.inside import confine

    abi = confine.landlock_abi()
    if abi == 0:
        sentence = "not in this kernel (5.13 or later has it); only namespaces protect files"
        return Layer("Landlock", "missing", sentence)

    def restrict() -> None:
        confine.prctl(confine.PR_SET_NO_NEW_PRIVS, 1)
        confine.landlock([], ["/dev/null"])

    if not succeeds(restrict):
        return Layer("Landlock", "missing", "the kernel refuses it; only namespaces protect files")
    if abi < 6:
        return Layer(
            "Landlock", "partly", f"ABI {abi}: files, but not signals (Linux 6.12 has them)"
        )
    return Layer("Landlock", "works", f"ABI {abi}: files, TCP, abstract sockets, signals")


def _resource_limits() -> Layer:
    """Check that limits on memory, processes and files can be set."""
    import resource

    def lower() -> None:
        for kind, most in (
            (resource.RLIMIT_DATA, Limits().memory),
            (resource.RLIMIT_NPROC, Limits().processes),
            (resource.RLIMIT_FSIZE, Limits().file),
        ):
            resource.setrlimit(kind, (most, most))

    if succeeds(lower):
        return Layer("resource limits", "works", "CPU seconds, memory, processes, file size")
    return Layer("resource limits", "missing", "the system refuses to set them")


def cgroups() -> Layer:
    """Check that a memory cgroup can be created."""
    from proflab_course.grading.run.cgroups import Group

    group = Group.make("doctor")
    if group is None:
        sentence = (
            "not available here (needs root and version 2); memory is checked ten times a second"
        )
        return Layer("cgroups", "partly", sentence)
    group.remove()
    return Layer("cgroups", "works", "the kernel itself limits memory")


def sandbox(can_start: bool) -> list[Layer]:
    """Start the sandbox as grading does, and run a cell in it."""
    from proflab_course.grading.run.sandbox_runner import SandboxError, SandboxRunner

    if not can_start:
        return [Layer("sandbox", "missing", "it needs bubblewrap")]
    with SandboxRunner(Limits()) as runner:
        try:
            about = runner.warm()
            result = runner.run(Submission("doctor"), (RunCell("import numpy"),))
        except (SandboxError, CourseError) as error:
            return [Layer("sandbox", "missing", str(error))]
    if result.status != "finished":
        return [Layer("sandbox", "missing", f"a cell that imports numpy failed: {result.sentence}")]
    if about["nested"]:
        return [
            Layer(
                "nested namespaces", "works", "each submission has its own /proc and scratch space"
            ),
            Layer("sandbox", "works", "one warm zygote for each job, one fork for each submission"),
        ]
    return [
        Layer("nested namespaces", "missing", "refused: each submission starts a bubblewrap"),
        Layer("sandbox", "partly", "works; each submission takes about a second longer"),
    ]


def succeeds(action: Callable[[], None]) -> bool:
    """Return True if `action` succeeds in a child process; this process is not changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 3.12 warns because BLAS has threads; the child uses none
        pid = os.fork()
    if pid == 0:
        try:
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
