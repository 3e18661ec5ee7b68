"""Puts back what the notebook left in its scratch space, between one hidden block and the next.

Runs in the turn's process 1, while every other process of the turn is stopped, and imports the
standard library only. Links are never followed; what is neither a file, a folder nor a link is
removed, and so is what lies too deep to be kept.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import time

_MAX_DEPTH = 40
_MAX_PATH = 3_500  # bytes; the kernel takes 4,096
_STOP_SECONDS = 60.0  # they are stopped and killed: only a busy machine takes so long
_GONE = ("", "Z", "X")  # states of a process
_STOPPED = (*_GONE, "T", "t")
# relative path → (its lstat, a file's content or a link's target or None)
Kept = dict[str, tuple[os.stat_result, bytes | str | None]]


def stop_all_but(waiting: list[int]) -> None:
    """Stop all processes but this one and number 1, and end those that are not `waiting`.

    The kernel lets no fork escape a signal to all. Raises TimeoutError where one does not end.
    """
    try:
        os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError:
        return
    deadline = time.monotonic() + _STOP_SECONDS
    while not _settled(waiting):
        if time.monotonic() > deadline:
            raise TimeoutError("a process of the notebook does not end")
        time.sleep(0.001)


def _settled(waiting: list[int]) -> bool:
    """End all that are not `waiting`; return True once they are gone and the others stopped."""
    done = True
    for pid in processes():
        now = state(pid)
        if pid not in waiting and now not in _GONE:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        done = done and now in (_STOPPED if pid in waiting else _GONE)
    return done


def processes() -> list[int]:
    """Return the processes of these namespaces, without this one."""
    mine = {1, os.getpid()}
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]


def state(pid: int) -> str:
    """Return the letter of a process's state; empty if there is none of that number."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1].decode()
    except OSError:
        return ""


def keep(root: str, most: int) -> Kept:
    """Return what lies below `root` now, as long as its files hold at most `most` bytes."""
    kept: Kept = {}
    for path, about in _entries(root):
        full = os.path.join(root, path)
        if stat.S_ISREG(about.st_mode) and about.st_size <= most:
            kept[path] = about, read(full)
            most -= about.st_size
        elif stat.S_ISLNK(about.st_mode):
            kept[path] = about, os.readlink(full)
        elif stat.S_ISDIR(about.st_mode) and _reachable(path):
            kept[path] = about, None
    mark(root, kept)
    return kept


def put_back(root: str, kept: Kept) -> None:
    """Make what lies below `root` what it was when it was kept: content, modes and times."""
    for path, about in _entries(root):
        before = kept.get(path)
        if before is None or stat.S_IFMT(before[0].st_mode) != stat.S_IFMT(about.st_mode):
            remove(os.path.join(root, path), about)
    for path, (_, content) in kept.items():
        full = os.path.join(root, path)
        if isinstance(content, bytes):
            write(full, content)
        elif isinstance(content, str):
            link(full, content)
        else:
            os.makedirs(full, 0o700, exist_ok=True)
    mark(root, kept)


def mark(root: str, kept: Kept) -> None:
    """Give files and folders their modes and times, a folder after what is in it."""
    for path, (about, content) in reversed(kept.items()):
        if not isinstance(content, str):
            os.chmod(os.path.join(root, path), stat.S_IMODE(about.st_mode))
            os.utime(os.path.join(root, path), ns=(about.st_atime_ns, about.st_mtime_ns))


def _entries(root: str) -> list[tuple[str, os.stat_result]]:
    """Return (relative path, lstat) of all below `root`, a folder before what is in it.

    Folders are made enterable on the way; those out of reach are listed, but not what they hold.
    """
    found, left = [], [""]
    while left:
        folder = left.pop()
        for name in sorted(os.listdir(os.path.join(root, folder))):
            path = os.path.join(folder, name)
            about = os.lstat(os.path.join(root, path))
            found.append((path, about))
            if stat.S_ISDIR(about.st_mode) and _reachable(path):
                os.chmod(os.path.join(root, path), 0o700)
                left.append(path)
    return found


def _reachable(folder: str) -> bool:
    """Return True if a folder is not too deep to be kept."""
    return folder.count("/") < _MAX_DEPTH and len(os.fsencode(folder)) < _MAX_PATH


def remove(path: str, about: os.stat_result) -> None:
    """Remove a file, a link, or a folder however deep it is."""
    if not os.path.lexists(path):
        return  # it went with its folder
    if stat.S_ISDIR(about.st_mode):
        # shutil.rmtree gives up where a path grows too long.
        subprocess.run(["rm", "-rf", "--", path], check=True, env={"PATH": "/usr/bin:/bin"})
    else:
        os.unlink(path)


def read(path: str) -> bytes:
    """Return the content of a file of one's own, whatever its mode."""
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        return file.read()


def write(path: str, content: bytes) -> None:
    """Let a file have this content, in its old place if it is there."""
    if os.path.lexists(path):
        if os.path.getsize(path) == len(content) and read(path) == content:
            return
        os.chmod(path, 0o600)
    with open(path, "wb") as file:
        file.write(content)


def link(path: str, target: str) -> None:
    """Let a link lead to this target."""
    if os.path.lexists(path):
        if os.readlink(path) == target:
            return
        os.unlink(path)
    os.symlink(target, path)
