"""The filter of system calls, read instruction by instruction: it lets through what is named."""

from __future__ import annotations

import errno
import signal
import struct
import sys

import pytest

from proflab_course.grading.run import seccomp as syscalls

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")
pyseccomp = pytest.importorskip("pyseccomp")
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
X32, I386 = 0x40000000, 0x40000003
# Of each kind some, by name: new calls come without being asked whether anybody needs them.
REFUSED = """
    inotify_init inotify_init1 inotify_add_watch fadvise64 readahead preadv2 pwritev2 mincore
    fanotify_init fanotify_mark sync syncfs sync_file_range pidfd_open pidfd_getfd
    pidfd_send_signal ioprio_set ioprio_get name_to_handle_at open_by_handle_at userfaultfd
    perf_event_open keyctl add_key request_key bpf io_uring_setup io_uring_enter io_uring_register
    openat2 clone3 memfd_create memfd_secret shmget shmat semget msgget mq_open ptrace seccomp
    process_vm_readv process_madvise process_mrelease kcmp unshare setns mount umount2 pivot_root
    chroot open_tree fsopen splice tee vmsplice io_setup io_submit remap_file_pages swapon mbind
    set_mempolicy move_pages migrate_pages lookup_dcookie quotactl personality modify_ldt iopl
    landlock_create_ruleset landlock_add_rule landlock_restrict_self setxattr setuid mlock acct
    sched_setattr pkey_alloc set_mempolicy_home_node uselib ustat sysfs nfsservctl syslog
""".split()
# What this machine's libseccomp may not know yet: x86-64's numbers, which all processors share.
LATER = {"cachestat": 451, "fchmodat2": 452, "statmount": 457, "listmount": 458,
         "lsm_get_self_attr": 459, "lsm_set_self_attr": 460, "lsm_list_modules": 461,
         "mseal": 462, "setxattrat": 463, "open_tree_attr": 467, "file_getattr": 468}  # fmt: skip


def answer(number: int, *arguments: int, abi: int | None = None) -> int:
    """What the filter answers: 0 for "allowed", else the errno, or -1 for a claim of success."""
    abi = pyseccomp.system_arch() if abi is None else abi
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, abi, 0, *padded)
    verdict = execute(syscalls.seccomp_program(), data)
    if verdict == ALLOW:
        return 0
    assert verdict & 0xFFFF0000 == ERRNO, hex(verdict)
    return (verdict & 0xFFFF) or -1


def execute(program: bytes, data: bytes) -> int:
    """Classic BPF, as far as libseccomp writes it."""
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    while True:
        operation, if_true, if_false, k = code[at]
        at += 1
        match operation:
            case 0x20:  # load a word of the data
                accumulator = struct.unpack_from("=I", data, k)[0]
            case 0x54:
                accumulator &= k
            case 0x05:
                at += k
            case 0x15 | 0x25 | 0x35 | 0x45:
                holds = {
                    0x15: accumulator == k,
                    0x25: accumulator > k,
                    0x35: accumulator >= k,
                    0x45: accumulator & k != 0,
                }[operation]
                at += if_true if holds else if_false
            case 0x06:
                return k
            case _:
                raise AssertionError(f"an instruction that this test does not know: {operation:#x}")


def number(name: str) -> int:
    """A system call's number here; negative where there is none."""
    return pyseccomp.resolve_syscall(pyseccomp.system_arch(), name)


def test_only_what_is_named_is_allowed_whatever_its_number():
    others = ("socket", "socketpair", "clone", "rt_sigaction")
    named = {*map(number, syscalls.ALLOWED), *map(number, others)}
    named |= {number(name) for name, _, _ in syscalls.allowed_arguments()}
    for low in range(0, 2048):
        if low not in named:
            assert answer(low, 1, 1, 1) != 0, low
    assert answer(0x7FFFFFFF) == answer(0xFFFFFFFF) == errno.ENOSYS


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    if number(name) < 0:
        pytest.skip("this processor does not have it")
    assert answer(number(name), 0, 0, 0) > 0


def test_what_is_newer_than_libseccomp_is_refused_too():
    assert all(answer(value) > 0 for name, value in LATER.items() if number(name) < 0)


@pytest.mark.skipif(pyseccomp.system_arch() != pyseccomp.Arch.X86_64, reason="x86-64's other ABIs")
def test_the_processors_other_abis_are_refused():
    for low in range(600):
        assert answer(low | X32) == errno.ENOSYS
        assert answer(low, abi=I386) == errno.ENOSYS


@pytest.mark.parametrize("name", "read write openat mmap futex execve exit_group getrandom".split())
def test_what_every_program_needs_is_allowed(name):
    assert answer(number(name), 2**64 - 1, 2**64 - 1, 2**64 - 1) == 0


@pytest.mark.parametrize(
    "name, place, allowed, refused",
    [
        ("fcntl", 1, (0, 1, 2, 3, 4, 1030), (5, 8, 9, 10, 36, 1024, 1026, 1031, 1033, 1036)),
        ("ioctl", 1, (0x5401, 0x5413, 0x541B), (0x5412, 0x6601, 0x6602, 0xC020660B, 0x40049409)),
        ("madvise", 2, (0, 4, 8, 14), (1, 2, 3, 9, 12, 20, 21, 22, 23, 25, 100)),
        ("setsockopt", 2, (2, 9, 16), (7, 8, 26, 32, 33, 50)),
        ("prctl", 0, (1, 4, 15, 38), (22, 35, 36, 40, 62, 67, 0x59616D61, 0x53564D41)),
        ("clone", 0, (17, 0x3D0F00), (0x20000, 0x10000000, 0x20000000 | 17, 0x40000000, 0x80)),
        ("socket", 0, (1,), (0, 2, 10, 16, 17, 38, 40)),
        ("socketpair", 0, (1,), (0, 2, 16)),
        ("rt_sigaction", 0, (1, 2, 15, 16, 18, 33, 64), (int(signal.SIGCHLD),)),
    ],
)
def test_arguments_decide(name, place, allowed, refused):
    def said(value: int) -> int:
        return answer(number(name), *[0] * place, value)

    assert {said(value) for value in allowed} == {0}
    assert all(said(value) > 0 for value in refused)
    # A filter sees 64 bits, the kernel of some of these only 32: the other half gains nothing.
    assert all(said(value | 1 << 40) > 0 for value in refused)


@pytest.mark.parametrize("name", ["setsid", "sched_setaffinity"])
def test_a_share_of_the_processors_cannot_be_widened(name):
    assert answer(number(name), 0, 8) == -1


def test_locks_are_claimed_and_not_taken():
    assert answer(number("flock"), 3, 2) == -1
    assert {answer(number("fcntl"), 3, command) for command in (6, 7, 37, 38)} == {-1}
