"""Restore the scratch space as the notebook left it, between one hidden block and the next.

This runs in the session's process 1, while every other process of the session is stopped. Links are
never followed. Special files are removed, and so are files that lie too deep to be kept.
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
_STOP_SECONDS = 60.0  # for all processes to stop or end; only a busy machine takes so long
_GONE = ("", "Z", "X")  # states of a process
_STOPPED = (*_GONE, "T", "t")
# relative path → (its lstat, a file's content or a link's target or None)
Kept = dict[str, tuple[os.stat_result, bytes | str | None]]


def stop_all_but(waiting: list[int]) -> None:
    """Stop all processes except this one and number 1, and kill those that are not `waiting`.

    A signal to all processes reaches every fork. Raises TimeoutError if a process does not end.
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
    """Kill all that are not `waiting`; return True once they have ended and the others stopped."""
    done = True
    for pid in processes():
        now = state(pid)
        if pid not in waiting and now not in _GONE:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        done = done and now in (_STOPPED if pid in waiting else _GONE)
    return done


def processes() -> list[int]:
    """Return the numbers of the processes in this namespace, without number 1 and this one."""
    mine = {1, os.getpid()}
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in mine]


def state(pid: int) -> str:
    """Return the letter of a process's state; "" if no process has this number."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1].decode()
    except OSError:
        return ""


def keep(root: str, most: int) -> Kept:
    """Return all files, links and folders below `root`, up to `most` bytes of content."""
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
    """Restore everything below `root` to the state in `kept`: content, modes and times."""
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
    """Set the modes and times of files and folders, of a folder after its content."""
    for path, (about, content) in reversed(kept.items()):
        if not isinstance(content, str):
            os.chmod(os.path.join(root, path), stat.S_IMODE(about.st_mode))
            os.utime(os.path.join(root, path), ns=(about.st_atime_ns, about.st_mtime_ns))


def _entries(root: str) -> list[tuple[str, os.stat_result]]:
    """Return (relative path, lstat) of everything below `root`, a folder before its content.

    Folders are made accessible on the way. Those that are too deep are listed without content.
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
        return  # its folder was removed before
    if stat.S_ISDIR(about.st_mode):
        # shutil.rmtree fails if a path is too long.
        subprocess.run(["rm", "-rf", "--", path], check=True, env={"PATH": "/usr/bin:/bin"})
    else:
        os.unlink(path)


def read(path: str) -> bytes:
    """Return the content of a file that this user owns, whatever its mode."""
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        return file.read()


def write(path: str, content: bytes) -> None:
    """Write this content into a file, unless the file has it already."""
    if os.path.lexists(path):
        if os.path.getsize(path) == len(content) and read(path) == content:
            return
        os.chmod(path, 0o600)
    with open(path, "wb") as file:
        file.write(content)


def link(path: str, target: str) -> None:
    """Make a symbolic link with this target, unless it exists."""
    if os.path.lexists(path):
        if os.readlink(path) == target:
            return
        os.unlink(path)
    os.symlink(target, path)
