"""Execute only what has changed: replies are kept under a digest of all that they depend on.

What a lesson expects never enters a student's process. So a grading after an expected value, a
tolerance or a label was mended finds every reply in the file, and only judges again. Where a hidden
block was mended, the cells before it and this block are executed, and the other replies are those
that were kept. The tapes of races are judged in processes whose replies are kept in the same way.

In the digests are the cells and the visible statements in order, the files that the process sees
(with the course's built.py, a student's own program and what a race draws), the grader with the
engine, its limits and its isolation, Python and what is installed, and the machine; for a hidden
block its statements and doubles, too (with a student's own numbers), and whether it shares a copy
(`late_blocks.py`: such a block does not depend on the others in it). Nobody's name is. Only what
ended by itself is kept: nothing that ran into a limit, and no failure of the grader's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import platform
import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from proflab.checks.values import NotPlainData, dumps, loads
from proflab_course.course.harness import harness_fingerprint
from proflab_course.grading.one_execution import is_hidden
from proflab_course.grading.plan import Plan, Reply, Result, RunBlock, RunCell, Runner, Submission
from proflab_course.grading.run.student_files import gather_files
from proflab_course.grading.run.time_allowance import TOO_LARGE

_FAST = 1  # zlib's level
# What taking apart a damaged row may raise.
_DAMAGED = ValueError, TypeError, LookupError, AttributeError, zlib.error
_MAKE = """CREATE TABLE IF NOT EXISTS replies
    (digest TEXT PRIMARY KEY, owner TEXT, grading INTEGER, replies BLOB)"""
_NEXT = "SELECT 1 + coalesce(max(grading), 0) FROM replies"
_USE = "UPDATE replies SET grading = ? WHERE digest = ? RETURNING digest, replies"
_KEEP = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)"
_TIDY = """DELETE FROM replies WHERE grading < ?
    AND owner IN (SELECT owner FROM replies WHERE grading = ?)"""
Replies = list[list[Reply]]  # of one item after the other


class KeptReplies:
    """The file beside the gradebook: rows of replies, which no student's process can see.

    It may be removed at any time. Where it cannot be read or written, nothing is kept.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._rows = _opened(path)
        self._now = self._do(lambda rows: rows.execute(_NEXT).fetchone()[0])

    def read(self, digests: Iterable[str]) -> dict[str, Replies]:
        """Return what is kept under these digests, and note that it is still of use."""
        asked = [(self._now, digest) for digest in digests]
        found = self._do(lambda rows: [rows.execute(_USE, each).fetchall() for each in asked])
        kept: dict[str, Replies] = {}
        for digest, data in itertools.chain.from_iterable(found or ()):
            with contextlib.suppress(*_DAMAGED):
                kept[digest] = _unpacked(data)
        return kept

    def write(self, owner: str, replies: dict[str, Replies]) -> None:
        """Keep replies under their digests; owner: whose they are, or what they are about."""
        with contextlib.suppress(NotPlainData):  # a value that is too large
            new = [(d, owner, self._now, _packed(each)) for d, each in replies.items()]
            self._do(lambda rows: rows.executemany(_KEEP, new))

    def close(self) -> None:
        """Remove what was of no use in this grading, of the owners that it came to, and close."""
        self._do(lambda rows: rows.execute(_TIDY, (self._now, self._now)))
        if self._rows is not None:
            self._rows.close()

    def _do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Return what `work` does in a transaction; None if it fails."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._rows is not None:
                with self._rows:
                    return work(self._rows)
        return None


def _opened(path: Path) -> sqlite3.Connection | None:
    """Open the database, anew if the file is none; return None where that is impossible."""
    for _ in range(2):  # again once a file that is no database has gone
        rows = None
        try:
            rows = sqlite3.connect(path, check_same_thread=False)  # one at a time, by _lock
            rows.execute(_MAKE)
            return rows
        except sqlite3.Error as error:
            if rows is not None:
                rows.close()
            if isinstance(error, sqlite3.OperationalError):
                return None
            with contextlib.suppress(OSError):
                path.unlink()
    return None


class KeepingRunner:
    """Let another runner execute what is not kept; fresh: everything, whatever is kept.

    A runner without `conditions` keeps nothing: its replies come from other machines.
    """

    def __init__(self, runner: Runner, kept: KeptReplies, lesson: str, fresh: bool = False) -> None:
        self._runner, self._kept = runner, kept
        self._lesson, self._fresh = lesson, fresh
        self._conditions = getattr(runner, "conditions", "")

    def run(self, submission: Submission, plan: Plan) -> Result:
        """Execute a plan, as a Runner does."""
        if not self._conditions:
            return self._runner.run(submission, plan)
        submission = replace(submission, files=gather_files(submission))
        seen, digests = self._digests(submission, plan)
        kept = {} if self._fresh else self._kept.read({seen, *digests.values()})
        missing = [place for place, digest in digests.items() if digest not in kept]
        if seen in kept and not missing:
            return _result(plan, kept[seen], digests, kept)
        if seen in kept and len(missing) < len(digests):
            places = [n for n, item in enumerate(plan) if not is_hidden(item) or n in missing]
            later = self._runner.run(submission, tuple(plan[n] for n in places))
            if _may_be_kept(submission, later):
                found = dict(zip(places, later.replies, strict=True))
                kept |= (anew := {digests[n]: [found[n]] for n in missing})
                self._kept.write(self._owner(submission), anew)
                return _result(plan, kept[seen], digests, kept)
        result = self._runner.run(submission, plan)
        if _may_be_kept(submission, result):
            visible = [r for n, r in enumerate(result.replies) if n not in digests]
            hidden = {digest: [result.replies[n]] for n, digest in digests.items()}
            self._kept.write(self._owner(submission), {seen: visible} | hidden)
        return result

    def close(self) -> None:
        """Close the runner."""
        self._runner.close()

    def _owner(self, submission: Submission) -> str:
        return f"{self._lesson}/{submission.name}"

    def _digests(self, submission: Submission, plan: Plan) -> tuple[str, dict[int, str]]:
        """Return the digest of all visible items, and that of each hidden block by its place."""
        base = hashlib.sha256(f"{_surroundings()}\0{self._conditions}".encode())
        for path, data in sorted((submission.files or {}).items()):
            base.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
        visible: list = []
        hidden: dict[int, bytes] = {}
        cell = None  # of the visible item before
        for place, item in enumerate(plan):
            about = _about(item, cell)
            if is_hidden(item):
                hidden[place] = json.dumps([len(visible), about]).encode()
            else:
                visible.append(about)
                cell = getattr(item, "cell", None)
        base.update(json.dumps(visible).encode())
        digests = {}
        for place, text in hidden.items():
            own = base.copy()
            own.update(text)
            digests[place] = own.hexdigest()
        return base.hexdigest(), digests


@cache
def _surroundings() -> str:
    """Return what all replies depend on: the harness, Python, what is installed, the machine."""
    folders = [Path(each) for each in sys.path if each]
    installed = sorted(path.name for folder in folders for path in folder.glob("*.dist-info"))
    return json.dumps([harness_fingerprint(), sys.version, *platform.uname(), installed])


def _about(item: RunCell | RunBlock, before: int | None) -> list:
    """Return all of an item that its replies depend on; the time that it may take is none of it.

    before: the test cell of the visible item before it: one that fails ends its cell.
    """
    if isinstance(item, RunCell):
        return [item.code, item.given]
    steps = [[step.kind, step.code] for step in item.steps]
    doubles = [
        [place, spec.name, spec.kind, spec.of, dumps(spec.given).decode()]
        for place, spec in item.doubles
    ]
    return [item.hidden, item.cell == before, item.late, steps, doubles]


def _may_be_kept(submission: Submission, result: Result) -> bool:
    """Return True if no limit, no signal, no time taken and no failure of the grader is in it."""
    replies = list(itertools.chain.from_iterable(result.replies))
    failed = submission.graders and any(reply.state not in ("done", "value") for reply in replies)
    lasted = any(reply.message == TOO_LARGE for reply in replies)
    return result.status == "finished" and not failed and not lasted


def _result(
    plan: Plan, visible: Replies, digests: dict[int, str], kept: dict[str, Replies]
) -> Result:
    """Return the result that kept replies make together."""
    rest = iter(visible)
    replies = [kept[digests[n]][0] if n in digests else next(rest) for n in range(len(plan))]
    # As when it was executed: what was visible then stays, whatever else is executed for it.
    return Result(replies=replies, hidden_sent=bool(digests))


def _packed(replies: Replies) -> bytes:
    rows = [[vars(reply) | {"value": _written(reply)} for reply in each] for each in replies]
    return zlib.compress(json.dumps(rows).encode(), _FAST)


def _written(reply: Reply) -> str | None:
    """Return a value in the reply format, in which an unread one is already."""
    if reply.state != "value":
        return None
    if isinstance(reply.value, bytes):
        return f"unread {reply.value.decode()}"
    return f"read {dumps(reply.value).decode()}"


def _unpacked(data: bytes) -> Replies:
    rows = json.loads(zlib.decompress(data))
    return [[Reply(**row | {"value": _read(row["value"])}) for row in each] for each in rows]


def _read(written: str | None) -> object:
    if written is None:
        return None
    kind, _, text = written.partition(" ")
    return text.encode() if kind == "unread" else loads(text.encode())
