"""List the system calls that a student's process may make, and compile the list with libseccomp.

The list contains the calls that numerical Python and the programs of a shell need, a few of them
only with certain arguments. All others are answered as by a kernel that lacks them, so that calls
of future kernels are refused, too, and libraries fall back on older ones. Five kinds of calls are
left out on purpose: those that open further parts of the kernel, reach another process, allocate
memory that no limit counts, lead out of the sandbox, or share a state with other submissions that
can be read without a clock (locks and watches on common files, and the page cache).
"""

from __future__ import annotations

import errno
import functools
import importlib
import signal
import socket
import tempfile

_FILES = """
    read write readv writev pread64 pwrite64 preadv pwritev lseek _llseek open openat creat close
    close_range dup dup2 dup3 stat fstat lstat stat64 fstat64 lstat64 newfstatat fstatat64 statx
    access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir rename
    renameat renameat2 mkdir mkdirat rmdir unlink unlinkat link linkat symlink symlinkat mknod
    mknodat chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat umask truncate truncate64
    ftruncate ftruncate64 fallocate utime utimes utimensat futimesat statfs fstatfs statfs64
    fstatfs64 copy_file_range sendfile sendfile64 getxattr lgetxattr fgetxattr listxattr llistxattr
    flistxattr
"""
_MEMORY = "brk mmap mmap2 munmap mremap mprotect get_mempolicy membarrier"
_PROCESSES = """
    fork vfork execve execveat exit exit_group wait4 waitid waitpid getpid getppid gettid getpgid
    getpgrp getsid setpgid getuid geteuid getgid getegid getresuid getresgid getgroups capget
    capset getrlimit ugetrlimit setrlimit prlimit64 getrusage times sysinfo uname arch_prctl
    set_tid_address set_robust_list get_robust_list rseq getcpu getpriority setpriority sched_yield
    sched_getaffinity sched_getparam sched_setparam sched_getscheduler sched_setscheduler
    sched_getattr sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval riscv_flush_icache riscv_hwprobe
"""
_SIGNALS_AND_TIME = """
    rt_sigprocmask rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo
    rt_tgsigqueueinfo rt_sigreturn sigreturn sigaltstack restart_syscall kill tkill tgkill pause
    alarm getitimer setitimer signalfd signalfd4 timer_create timer_settime timer_gettime
    timer_getoverrun timer_delete timerfd_create timerfd_settime timerfd_gettime clock_gettime
    clock_getres clock_nanosleep nanosleep gettimeofday time
"""
_WAITING_AND_TALKING = """
    futex futex_waitv select _newselect pselect6 poll ppoll epoll_create epoll_create1 epoll_ctl
    epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 bind connect listen accept
    accept4 getsockname getpeername getsockopt send sendto sendmsg sendmmsg recv recvfrom recvmsg
    recvmmsg shutdown getrandom
"""
ALLOWED = " ".join((_FILES, _MEMORY, _PROCESSES, _SIGNALS_AND_TIME, _WAITING_AND_TALKING)).split()

# rt_sigaction has a rule of its own: see _add_allowed.
# system call → (index of the argument, module of the constants, allowed constants)
_ALLOWED_WITH = {
    # fcntl: refuse F_SETLEASE, F_NOTIFY, F_ADD_SEALS, F_SET_RW_HINT, F_SETOWN, F_SETPIPE_SZ.
    "fcntl": (1, "fcntl", "F_DUPFD F_DUPFD_CLOEXEC F_GETFD F_SETFD F_GETFL F_SETFL F_GETPIPE_SZ"),
    "ioctl": (1, "termios", "TCGETS TIOCGWINSZ TIOCGPGRP FIONREAD FIONBIO FIOCLEX FIONCLEX"),
    # madvise: allow only advice that frees the caller's own pages.
    "madvise": (
        2, "mmap",
        "MADV_NORMAL MADV_DONTNEED MADV_FREE MADV_DONTFORK MADV_DOFORK MADV_HUGEPAGE "
        "MADV_NOHUGEPAGE MADV_DONTDUMP MADV_DODUMP",
    ),
    # Forbid changing socket buffer sizes: this memory is charged to no process.
    "setsockopt": (
        2, "socket",
        "SO_REUSEADDR SO_REUSEPORT SO_KEEPALIVE SO_LINGER SO_PASSCRED SO_RCVTIMEO SO_SNDTIMEO",
    ),
}  # fmt: skip
# prctl: names, the signal at a parent's death, dumpable, no_new_privs, and calls that only read.
_PRCTL = (1, 2, 3, 4, 15, 16, 21, 23, 27, 30, 38, 39)
_GUARDS = (102, 103)  # of madvise: guard pages, which newer libcs put at the ends of stacks
_LOCKS = (37, 38)  # of fcntl: F_OFD_SETLK and F_OFD_SETLKW, which some builds of Python lack
_CLONE_NEW = 0x7E020080  # every namespace flag of clone

# Calls with an answer other than "no such call": (system calls, errno; 0 pretends success).
_ANSWERED: tuple[tuple[str, int], ...] = (
    ("ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise", errno.EPERM),
    ("unshare setns mount umount2 pivot_root chroot move_mount open_tree fsopen", errno.EPERM),
    ("bpf perf_event_open keyctl add_key request_key fanotify_init syslog acct", errno.EPERM),
    ("setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid", errno.EPERM),
    ("setfsgid sethostname setdomainname settimeofday clock_settime adjtimex", errno.EPERM),
    ("clock_adjtime reboot swapon swapoff mlock mlock2 mlockall ioprio_set", errno.EPERM),
    ("setxattr lsetxattr fsetxattr removexattr", errno.EOPNOTSUPP),
    # All writable files are in memory; on shared files these calls would wait for the disk.
    ("fsync fdatasync msync", 0),
    # As on a network file system without locks: SQLite works, and no other submission notices.
    ("flock", 0),
    # A session of the kernel is a scheduling group, with as much of a core as any other: a bomb
    # that makes hundreds of them, or moves to other jobs' cores, would slow down everybody.
    ("setsid sched_setaffinity", 0),
)  # fmt: skip


class SeccompMissing(Exception):
    """libseccomp, or Python's binding to it, is not installed; the sentence names it."""


@functools.cache
def seccomp_program() -> bytes:
    """Return the filter as BPF instructions; raise SeccompMissing."""
    try:
        import pyseccomp
    except ImportError:
        raise SeccompMissing("Python's pyseccomp is not installed: pip install pyseccomp") from None
    except (OSError, RuntimeError):
        raise SeccompMissing("libseccomp is not installed: apt install libseccomp2") from None
    lacking = pyseccomp.ERRNO(errno.ENOSYS)
    rules = pyseccomp.SyscallFilter(lacking)
    # Calls by another ABI of the processor (32 bits, x32) have numbers of their own.
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, lacking)
    _add_allowed(rules, pyseccomp)
    for names, number in _ANSWERED:
        for name in names.split():
            add(rules, pyseccomp.ERRNO(number), name)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_allowed(rules, pyseccomp) -> None:
    """Add rules for the allowed calls, and for the arguments with which a call is refused."""

    def low_half(argument: int, value: int):  # the kernel reads only 32 bits of these arguments
        return pyseccomp.Arg(argument, pyseccomp.MASKED_EQ, 0xFFFFFFFF, value)

    for name in ALLOWED:
        add(rules, pyseccomp.ALLOW, name)
    for name, argument, values in allowed_arguments():
        for value in values:
            add(rules, pyseccomp.ALLOW, name, low_half(argument, value))
    for value in (*_constants("fcntl", "F_SETLK F_SETLKW"), *_LOCKS):
        add(rules, pyseccomp.ERRNO(0), "fcntl", low_half(1, value))
    # The CPU time of children of a process that ignores SIGCHLD is lost when they end.
    for number in range(1, signal.NSIG):
        answer = pyseccomp.ERRNO(errno.EINVAL) if number == signal.SIGCHLD else pyseccomp.ALLOW
        add(rules, answer, "rt_sigaction", low_half(0, number))
    # A filter cannot read clone3's flags, which are in memory; libc falls back on clone.
    add(rules, pyseccomp.ALLOW, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, _CLONE_NEW, 0))
    unix = int(socket.AF_UNIX)
    for name in ("socket", "socketpair"):
        add(rules, pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.EQ, unix))
        other = pyseccomp.Arg(0, pyseccomp.NE, unix)
        add(rules, pyseccomp.ERRNO(errno.EAFNOSUPPORT), name, other)


def allowed_arguments() -> list[tuple[str, int, tuple[int, ...]]]:
    """Return (system call, index of the argument, its allowed values on this machine)."""
    found = [(call, place, _constants(*rest)) for call, (place, *rest) in _ALLOWED_WITH.items()]
    return [*found, ("prctl", 0, _PRCTL), ("madvise", 2, _GUARDS)]


def _constants(module: str, names: str) -> tuple[int, ...]:
    home = importlib.import_module(module)
    return tuple(int(getattr(home, name)) for name in names.split())


def add(rules, action: int, name: str, *arguments) -> None:
    """Add a rule for a system call, unless this machine's libseccomp does not know it."""
    try:
        rules.add_rule_exactly(action, name, *arguments)
    except (ValueError, OSError, RuntimeError):
        pass  # this architecture or this libseccomp lacks the call
