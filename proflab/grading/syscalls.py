"""The system calls that a student's process is refused, compiled with libseccomp by the grader.

What numerical Python needs is allowed; what opens further parts of the kernel, reaches another
process, makes memory that no limit counts, or leads out of the sandbox is not.
"""

from __future__ import annotations

import errno
import socket
import tempfile

# (system calls, errno with which they fail)
REFUSED: tuple[tuple[str, int], ...] = (
    # other processes
    ("ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise", errno.EPERM),
    # namespaces and mounts
    ("unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen", errno.EPERM),
    ("fsmount fsconfig fspick mount_setattr open_tree_attr", errno.EPERM),
    # clone3's flags lie in memory, where a filter cannot look: libc then falls back on clone
    ("clone3", errno.ENOSYS),
    # parts of the kernel that have often been a way out
    ("bpf perf_event_open io_uring_setup io_uring_enter io_uring_register", errno.EPERM),
    ("userfaultfd keyctl add_key request_key fanotify_init lookup_dcookie", errno.EPERM),
    ("open_by_handle_at name_to_handle_at vmsplice move_pages migrate_pages mbind", errno.EPERM),
    ("set_mempolicy quotactl quotactl_fd syslog acct personality modify_ldt", errno.EPERM),
    # the machine
    ("reboot kexec_load kexec_file_load init_module finit_module delete_module", errno.EPERM),
    ("swapon swapoff iopl ioperm settimeofday clock_settime clock_adjtime adjtimex", errno.EPERM),
    ("sethostname setdomainname vhangup nfsservctl uselib ustat sysfs", errno.EPERM),
    # memory that belongs to no process and to no file system of limited size
    ("memfd_create memfd_secret shmget shmat shmctl shmdt semget semop semctl", errno.ENOSYS),
    ("msgget msgsnd msgrcv msgctl mq_open mq_unlink", errno.ENOSYS),
)  # fmt: skip
CLONE_NEW = 0x7E020080  # every namespace flag of clone


class SeccompMissing(Exception):
    """libseccomp, or Python's binding to it, is not installed; the sentence says which."""


def seccomp_program() -> bytes:
    """The filter as the kernel takes it; raises SeccompMissing."""
    try:
        import pyseccomp
    except ImportError:
        raise SeccompMissing("Python's pyseccomp is not installed: pip install pyseccomp") from None
    except (OSError, RuntimeError):
        raise SeccompMissing("libseccomp is not installed: apt install libseccomp2") from None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for names, number in REFUSED:
        for name in names.split():
            refuse(rules, pyseccomp.ERRNO(number), name)
    for bit in range(32):
        if CLONE_NEW >> bit & 1:
            argument = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 1 << bit, 1 << bit)
            refuse(rules, pyseccomp.ERRNO(errno.EPERM), "clone", argument)
    no_family = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    refuse(rules, no_family, "socket", pyseccomp.Arg(0, pyseccomp.NE, int(socket.AF_UNIX)))
    refuse(rules, no_family, "socketpair", pyseccomp.Arg(0, pyseccomp.NE, int(socket.AF_UNIX)))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def refuse(rules, action: int, name: str, *arguments) -> None:
    """Refuse a system call, if this machine's libseccomp knows it."""
    try:
        rules.add_rule_exactly(action, name, *arguments)
    except (ValueError, OSError, RuntimeError):
        pass  # a call that this architecture or this libseccomp does not have
