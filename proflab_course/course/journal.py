"""Keep events in a file to which lines are only added, so that nothing that was said is lost.

A line is one event, with the SHA-256 of the line before. Lines are written together and synced; of
a write that was killed the last line may be a part, which the next write removes: what it said was
not yet reported as taken, and the same command takes it again.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from proflab_course.course.files import sync_folder
from proflab_course.course.layout import CourseError

_PATIENCE = 30  # seconds to wait for another command that holds the log


class Journal:
    """Read and extend a log; command: the one that writes it, for messages."""

    def __init__(self, path: Path, command: str) -> None:
        self.path = path
        self.command = command

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the events in order; lines that are no event are passed over."""
        for line in self._whole_lines():
            event = _event(line)
            if event is not None:
                yield event

    def broken(self) -> int:
        """Return the number of the first line that does not follow the one before; 0 if none."""
        before = ""
        for number, line in enumerate(self._whole_lines(), start=1):
            event = _event(line)
            if event is None or event.get("prev") != before:
                return number
            before = _digest(line)
        return 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the log for one command; raise CourseError if another one holds it for long."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # As for grading (grading/lock.py), no soft lock.
        lock = FileLock(self.path.with_suffix(".lock"), timeout=_PATIENCE, fallback_to_soft=False)
        try:
            self._acquire(lock)
            yield
        finally:
            lock.release()

    def add(self, events: Iterable[dict[str, Any]]) -> None:
        """Add events, so that they outlast a power cut; the log must be held."""
        events = list(events)
        if not events:
            return
        lines = self._whole_lines()
        whole = sum(len(line) + 1 for line in lines)
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        before, added = _digest(lines[-1]) if lines else "", b""
        for event in events:
            told = event | {"at": at, "prev": before}
            line = json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
            added += line + b"\n"
            before = _digest(line)
        new = not self.path.exists()
        with self.path.open("r+b" if not new else "xb") as file:
            file.truncate(whole)
            file.seek(whole)
            file.write(added)
            file.flush()
            os.fsync(file.fileno())
        if new:
            # A file that is new is durable only with the folder's entry for it.
            sync_folder(self.path.parent)

    def _acquire(self, lock: FileLock) -> None:
        try:
            lock.acquire()
        except Timeout:
            problem = f"another `{self.command}` holds {self.path}"
            raise CourseError(f"{problem}: let it end, then run this again") from None
        except OSError:  # a file system without locks
            pass

    def _whole_lines(self) -> list[bytes]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CourseError(f"{self.path} cannot be read: {error.strerror}") from None
        # The last part has no end of line: it is empty, or was cut off by a kill.
        return data.split(b"\n")[:-1]


def _event(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        event = json.loads(line)
        return event if isinstance(event, dict) else None
    return None


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
