"""Build the arguments of bubblewrap: the file system that a student's process sees.

It contains Python, the system's libraries and programs, the public part of this package, and a few
devices; never the course, the repository, a home folder, or the instructor's environment.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import proflab
from proflab_course.grading.limits import Limits
from proflab_course.grading.run.runners import student_environment

_PACKAGE = Path(proflab.__file__).parent
INSIDE = Path(__file__).parents[1] / "inside"
LIBRARY, _PROGRAMS = "/proflab/library", "/proflab/programs"
# inside/zygote.py has the same path, and some of the devices.
_SCRATCH = "/proflab/student"
_SHARED = ("/tmp", "/dev/shm")
_SYSTEM = (
    "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share/zoneinfo",
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
)  # fmt: skip
# The files that numerical libraries read about processors; files beside them count activity.
_PROCESSORS = Path("/sys/devices/system/cpu")
_OF_PROCESSORS = ("online", "possible", "present")
_OF_EACH_PROCESSOR = ("cache", "topology", "regs")
_DEVICES = ("null", "zero", "full", "random", "urandom")
# Above the numbers of accounts; one that is taken is passed over.
_FIRST_USER = 64_000


@dataclass(frozen=True)
class View:
    """Bubblewrap's arguments before and after the binds, and the binds: (source, target)."""

    before: list[str]
    binds: list[tuple[str, str]]
    after: list[str]


def find_bubblewrap() -> str | None:
    """Return the path of the program; None if it is not installed."""
    return shutil.which("bwrap") or shutil.which("bwrap", path="/usr/bin:/usr/local/bin")


def unprivileged_user(slot: int) -> int | None:
    """Return a user number without an account, for a job slot; None if this process is not root."""
    if os.geteuid() != 0:
        return None
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return next(n for n in range(_FIRST_USER + slot, 65_500) if n not in taken)


def site_folders() -> list[str]:
    """Return the folders from which this Python imports installed packages."""
    names = ("site-packages", "dist-packages")
    return [p for p in sys.path if Path(p).name in names and Path(p).is_dir()]


def installed_packages() -> list[str]:
    """Return this distribution's packages in site-packages, which have to be covered."""
    found = [path for site in site_folders() for path in sorted(Path(site).glob("proflab*"))]
    # Beside them lies what pip has noted, in a folder whose name is no package's.
    return [str(path) for path in found if path.name.isidentifier() and path.is_dir()]


def make_view(limits: Limits, nested: bool, channel: int) -> View:
    """Return the view for a zygote whose control socket is the descriptor `channel`."""
    links, binds = _system_binds()
    binds += _python_binds(binds)
    binds += package_binds()
    before = [
        "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--uid", "1000", "--gid", "1000", "--hostname", "proflab",
        # --new-session: nothing inside can type into the terminal in which the grader was started.
        "--new-session", "--as-pid-1", "--clearenv", *links,
    ]  # fmt: skip
    after = ["--proc", "/proc", *_scratch_arguments(limits, nested)]
    for device in _DEVICES:
        after += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    for path in installed_packages():
        # An installed copy would show students' code the grader's.
        after += ["--tmpfs", path, "--remount-ro", path]
    for name, value in _zygote_environment().items():
        after += ["--setenv", name, value]
    after += ["--chdir", "/", "--remount-ro", "/"]
    after += [sys.executable, "-I", f"{_PROGRAMS}/zygote.py", str(channel)]
    return View(before, binds, after)


def writable_folders() -> list[str]:
    """Return the usual folders for temporary files, except those that contain this Python."""
    targets = [Path(target) for _, target in _python_binds([])]
    return [p for p in _SHARED if not any(target.is_relative_to(p) for target in targets)]


def _scratch_arguments(limits: Limits, nested: bool) -> list[str]:
    """Return the arguments for writable folders; nested sessions mount their own over them."""
    size = ["--size", str(limits.scratch)]
    arguments = [*size, "--tmpfs", _SCRATCH]
    for folder in _SHARED:
        own = folder in writable_folders() and not nested
        arguments += [*size, "--tmpfs", folder] if own else ["--dir", folder]
    return arguments


def _zygote_environment() -> dict[str, str]:
    """Return the environment variables of the zygote and the students."""
    home = student_environment(Path(_SCRATCH, "work"))
    # PYTHONPATH is for Pythons that a student starts; the zygote ignores it (-I).
    return home | {"TMPDIR": f"{_SCRATCH}/tmp", "PYTHONPATH": LIBRARY}


def _system_binds() -> tuple[list[str], list[tuple[str, str]]]:
    """Return the system's symbolic links as arguments, and the system's folders to bind."""
    links: list[str] = []
    binds: list[tuple[str, str]] = []
    for name in (*_SYSTEM, *_processor_files()):
        path = Path(name)
        if path.is_symlink() and path.parent == Path("/"):  # such as /bin, mostly /usr/bin
            links += ["--symlink", os.readlink(path), name]
        elif path.exists():
            binds.append((name, name))
    return links, binds


def _processor_files() -> list[str]:
    """Return the files and folders of /sys that describe processors."""
    each = sorted(_PROCESSORS.glob("cpu[0-9]*"))
    paths = [_PROCESSORS / name for name in _OF_PROCESSORS]
    return [str(p) for p in (*paths, *(cpu / name for cpu in each for name in _OF_EACH_PROCESSOR))]


def _python_binds(bound: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the folders of this Python, its library and its packages that are not bound yet."""
    prefixes = (sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix)
    wanted = [
        Path(prefix, part)
        for prefix in dict.fromkeys(prefixes)
        for part in ("bin", "lib", "lib64", "pyvenv.cfg")
    ]
    wanted += [Path(sys.executable).resolve().parent, *map(Path, site_folders())]
    binds: list[tuple[str, str]] = []
    for path in wanted:
        there = [Path(target) for _, target in (*bound, *binds)]
        if path.exists() and not any(path.is_relative_to(p) for p in there):
            binds.append((str(path), str(path)))
    return binds


def package_binds() -> list[tuple[str, str]]:
    """Return the package `proflab` and the folder of programs that run inside; nothing else."""
    return [(str(_PACKAGE), f"{LIBRARY}/proflab"), (str(INSIDE), _PROGRAMS)]
