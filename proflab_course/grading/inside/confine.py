"""Confine the calling process (Linux), with ctypes and the standard library alone.

These functions run inside the sandbox, before any student code.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)  # keeps Python's global lock

# Numbers of Linux's headers, which Python does not name.
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_SPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_CLONE3 = 435  # as those of Landlock below, the same number on all architectures but Alpha
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 24, 38, 47
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446

# Landlock's rights over files: bits 0 to 12, and one more in the ABIs 2, 3 and 5 each.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, *values: int) -> None:
    """Call prctl(2); raise OSError if the kernel refuses."""
    padded = [ctypes.c_ulong(v) for v in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *padded), f"prctl {option}")


def unshare(flags: int) -> None:
    """Call unshare(2), as os.unshare does from Python 3.12; raise OSError."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Call mount(2); raise OSError if the kernel refuses."""
    texts = [text.encode() for text in (source, target, kind)]
    _check(_libc.mount(*texts, ctypes.c_ulong(flags), data.encode()), f"mount {target}")


def fork_into_namespaces() -> int:
    """Fork into new namespaces; return like os.fork, raise OSError.

    The child is process 1 of user, mount, pid, net, ipc and uts namespaces of its own and has to
    call map_user. With os.fork and unshare this would take one more process. glibc's work at a fork
    concerns threads, of which the process may have none.
    """
    # clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, its size, tls.
    described = struct.pack("=8Q", _SPACES, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    pid = _libc_with_lock.syscall(_CLONE3, described, ctypes.c_size_t(len(described)))
    if pid == 0:
        python.PyOS_AfterFork_Child()
        return 0
    python.PyOS_AfterFork_Parent()
    return _check(pid, "clone3")


def map_user(user: int, group: int) -> None:
    """Keep the user and group number from outside in a new user namespace."""
    prctl(PR_SET_DUMPABLE, 1)  # while it is 0, the maps below belong to root
    # Without it the kernel refuses gid_map to a process without rights.
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    # From here on no other process of this user may read or trace it.
    prctl(PR_SET_DUMPABLE, 0)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def be_first_to_go() -> None:
    """Make this process the first that the system kills if memory runs out."""
    prctl(PR_SET_DUMPABLE, 1)
    _write("/proc/self/oom_score_adj", "1000")
    prctl(PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Give up every capability, and every way to get one back."""
    for capability in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # beyond the last one, or without the right to drop it
    # PR_CAP_AMBIENT_CLEAR_ALL
    _libc.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(4), 0, 0, 0)
    # Version 3 of the call, for this process; 24 zeros are its three sets, all empty.
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "capset")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def landlock_abi() -> int:
    """Return the kernel's version of Landlock; 0 if it has none."""
    return max(0, _libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def landlock(writable: list[str], devices: list[str]) -> int:
    """Allow reading everywhere, but writing only below `writable` and to `devices`; return the ABI.

    Newer kernels also forbid TCP, and abstract sockets and signals of other processes.
    """
    abi = landlock_abi()
    if abi == 0:
        return 0
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    # Bind and connect of TCP; abstract sockets and signals. A kernel refuses more than it knows.
    net, scoped = (3 if abi >= 4 else 0), (3 if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    attributes = struct.pack("=QQQ", files, net, scoped)[:size]
    ruleset = _check(
        _libc.syscall(LANDLOCK_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0), "landlock"
    )
    try:
        _allow(ruleset, "/", _EXECUTE | _READ_FILE | _READ_DIR)
        for path in writable:
            _allow(ruleset, path, files & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV))
        for path in devices:
            _allow(ruleset, path, files & (_READ_FILE | _WRITE_FILE | _TRUNCATE))
        _check(_libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights, descriptor)
        _check(_libc.syscall(LANDLOCK_ADD_RULE, ruleset, 1, rule, 0), f"landlock {path}")
    finally:
        os.close(descriptor)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def seccomp(program: bytes) -> None:
    """Install a compiled filter of system calls, for this process and its descendants."""
    if program:
        # An instruction has 8 bytes. The 2 below is SECCOMP_MODE_FILTER.
        described = _Program(len(program) // 8, program)
        _check(
            _libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), ctypes.byref(described), 0, 0),
            "seccomp",
        )
