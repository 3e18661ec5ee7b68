"""Keep requests and answers in regrades/log.jsonl, to which lines are only added.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from proflab_course.course.files import sync_folder
from proflab_course.course.layout import CourseError

FOLDER = "regrades"
FILE = "log.jsonl"
_PATIENCE = 30  # seconds to wait for another command that holds the log


@dataclass
class Request:
    """Hold a student's question about a verdict, to whom it went, and the answers in order."""

    id: str
    student: str
    lesson: str
    exercise: str
    question: str
    at: str = ""
    to: str = ""
    answers: list[tuple[str, str]] = field(default_factory=list)  # (answer, by whom)

    @property
    def answer(self) -> str:
        """Return the last answer; "" if there is none."""
        return self.answers[-1][0] if self.answers else ""

    def answer_by(self, name: str) -> str:
        """Return the last answer of one assistant; "" if there is none."""
        return next((answer for answer, by in reversed(self.answers) if by == name), "")

    @property
    def state(self) -> str:
        """Return "answered", "with NAME" or "open"."""
        return "answered" if self.answers else f"with {self.to}" if self.to else "open"


def request_id(student: str, lesson: str, exercise: str, question: str) -> str:
    """Return the request's id: the same question, asked again, is the same request."""
    asked = json.dumps([student, lesson, exercise, " ".join(question.split())])
    digest = hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()
    return f"q{digest[:10]}"  # a letter first, so that no spreadsheet takes it for a number


class Log:
    """Read and extend the log of a course."""

    def __init__(self, root: Path) -> None:
        self.path = root / FOLDER / FILE

    def requests(self) -> dict[str, Request]:
        """Return what the log says of each request, by id, in the order in which they came."""
        found: dict[str, Request] = {}
        for event in self._events():
            _apply(event, found)
        return found

    def of_student(self, student: str, lesson: str) -> list[Request]:
        """Return a student's requests about a lesson."""
        every = self.requests().values()
        return [each for each in every if (each.student, each.lesson) == (student, lesson)]

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
        self.path.parent.mkdir(exist_ok=True)
        lock = FileLock(self.path.with_suffix(".lock"), timeout=_PATIENCE, fallback_to_soft=False)
        try:
            _acquire(lock, self.path)
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
            sync_folder(self.path.parent)

    def _events(self) -> Iterator[dict[str, Any]]:
        for line in self._whole_lines():
            event = _event(line)
            if event is not None:
                yield event

    def _whole_lines(self) -> list[bytes]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CourseError(f"{self.path} cannot be read: {error.strerror}") from None
        return data.split(b"\n")[:-1]


def _acquire(lock: FileLock, path: Path) -> None:
    try:
        lock.acquire()
    except Timeout:
        problem = f"another `proflab regrade` holds {path}"
        raise CourseError(f"{problem}: let it end, then run this again") from None
    except OSError:  # a file system without locks
        pass


def _apply(event: dict[str, Any], found: dict[str, Request]) -> None:
    kind, name = event.get("event"), str(event.get("id"))
    text = {key: str(value) for key, value in event.items()}
    request = found.get(name)
    if kind == "asked" and request is None:
        who, lesson, exercise = (text.get(key, "") for key in ("student", "lesson", "exercise"))
        question, at = text.get("question", ""), text.get("at", "")
        found[name] = Request(name, who, lesson, exercise, question, at)
    elif kind == "shared" and request is not None:
        request.to = text.get("to", "")
    elif kind == "answered" and request is not None:
        request.answers.append((text.get("answer", ""), text.get("by", "")))


def _event(line: bytes) -> dict[str, Any] | None:
    with contextlib.suppress(ValueError):
        event = json.loads(line)
        return event if isinstance(event, dict) else None
    return None


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
