"""Find the notebook of a submission, also under another name, deeper, or in a zip archive.

A notebook of this lesson under its own name in its own place counts. Otherwise the one notebook of
the lesson below the folder counts; of several, the one with the right name. Dates are not used,
because copying changes them. Links are not followed, and nothing is unpacked onto the disk. The
search keeps a summary of each file; the file that counts is read again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

from nbformat import NotebookNode

from proflab_course.course.words import few
from proflab_course.grading.limits import MB
from proflab_course.grading.run.student_files import read_start, regular_files
from proflab_course.grading.submissions.decode_text import ZIP, other_kind
from proflab_course.grading.submissions.file_names import (
    has_cells,
    is_hidden,
    is_notebook_name,
    may_be_notebook,
    may_hold_notebook,
)
from proflab_course.grading.submissions.read_notebook import (
    MAX_BYTES,
    HandIn,
    parse_bytes,
    read_bytes,
)
from proflab_course.grading.submissions.which_lesson import Lessons
from proflab_course.grading.submissions.zip_archive import Room, note_on_twice, unpack

_MAX_CANDIDATES = 60  # files that are parsed, and the bytes of all of them
MAX_READ = 96 * MB
_LISTED = 8
_HEAD = 16  # bytes by which other kinds of files are known
_OF_NO_LESSON = "a notebook that belongs to no lesson"
_LOOKED_AT = 200  # files of other kinds


@dataclass(frozen=True)
class Candidate:
    """A file that may be the notebook: its path for messages, its name, and what it contains.

    read: returns the notebook, or why there is none. outcome, sentence: for a file that is not a
    notebook; lesson: the lesson of a notebook; digest: equal for copies of one notebook; untouched:
    True if it is as released.
    """

    label: str
    name: str
    read: Callable[[], HandIn]
    outcome: str = ""
    sentence: str = ""
    lesson: str = ""
    digest: bytes = b""
    untouched: bool = False

    @property
    def is_notebook(self) -> bool:
        """Return True for a notebook, of whatever lesson."""
        return not self.outcome


class _Search:
    """The search for one hand-in's notebook: what it has found, and the room left for archives."""

    def __init__(self, lessons: Lessons) -> None:
        self.lessons = lessons
        self._room = Room()

    def below(
        self, root: Path, prefix: str, left_out: Collection[str], folders_left_out: Collection[str]
    ) -> Iterator[Candidate]:
        """Yield the candidates below `root`, also in archives, up to the limits."""
        left = MAX_READ
        for number, (path, data) in enumerate(_files_below(root, left_out, folders_left_out)):
            left -= len(data)
            if number >= _MAX_CANDIDATES or left < 0:
                return
            label, name = prefix + _printable_name(path), PurePosixPath(path).name
            if data.startswith(ZIP):
                yield from self.in_archive(data, label, root / path)
                continue
            handin = parse_bytes(data, label)
            if handin.notebook is not None or is_notebook_name(path):
                read = partial(_read_file, root / path, label)
                yield self._candidate(label, name, handin, read)

    def in_archive(self, data: bytes, label: str, place: Path) -> Iterator[Candidate]:
        """Yield the notebooks in an archive; if there are none, one candidate with the reason."""
        unpacked = unpack(data, label, self._room)
        empty = True
        for path, content in unpacked.files.items():
            if is_hidden(path) or not may_be_notebook(path):
                continue
            if not is_notebook_name(path) and not has_cells(content):
                continue
            inside = f"{path} in {label}"
            handin = parse_bytes(content, inside)
            if handin.notebook is None and not is_notebook_name(path):
                continue
            empty = False
            read = partial(_read_member, place, label, path)
            yield self._candidate(inside, PurePosixPath(path).name, handin, read)
        if unpacked.problem:
            yield _no_notebook(label, place.name, HandIn(None, "unreadable", unpacked.problem))
        elif empty:
            sentence = f"{label} is a zip archive without a notebook"
            yield _no_notebook(label, place.name, HandIn(None, "not a notebook", sentence))

    def _candidate(
        self, label: str, name: str, handin: HandIn, read: Callable[[], HandIn]
    ) -> Candidate:
        if handin.notebook is None:
            return _no_notebook(label, name, handin)
        lesson = self.lessons.lesson_of(handin.notebook)
        untouched = self.lessons.is_untouched(handin.notebook)
        digest = _digest_of(handin.notebook)
        return Candidate(label, name, read, "", "", lesson, digest, untouched)


def _no_notebook(label: str, name: str, why: HandIn) -> Candidate:
    return Candidate(label, name, lambda: why, why.outcome, why.sentence)


def find_handin(folder: Path, lessons: Lessons) -> HandIn:
    """Return the notebook that counts in a submission's folder, or the outcome without one."""
    lesson, search = lessons.key.name, _Search(lessons)
    expected = f"{lesson}.ipynb"
    right, others = _read_expected(folder, expected, search)
    belongs = lessons.lesson_of(right.notebook) if right.notebook is not None else ""
    right = _refuse_foreign(right, belongs, expected, lessons)
    others += search.below(folder, "", {expected}, set())
    fitting = _distinct_texts(others, right, lesson)
    worked = any(not candidate.untouched for candidate in fitting)
    if right.notebook is not None and belongs != lesson and worked:
        right = HandIn(None, "wrong lesson", f"{expected} has hardly anything of the lesson")
    if right.notebook is None and not fitting:
        outside = _search_outside(folder, search)
        others += outside
        fitting = _distinct_texts(outside, right, lesson)
    if right.notebook is not None:
        untouched = bool(fitting) and lessons.is_untouched(right.notebook)
        return _with_others(right, expected, fitting, untouched)
    if not fitting:
        return _nothing_found(right, folder, others, lessons)
    return _choose_fitting(right, expected, fitting)


def _refuse_foreign(right: HandIn, belongs: str, expected: str, lessons: Lessons) -> HandIn:
    """Return the notebook in its place, unless it is of another lesson, or of none.

    One that was written from nothing counts if it has anything of the lesson.
    """
    if right.notebook is None or belongs == lessons.key.name:
        return right
    if belongs:
        return HandIn(None, "wrong lesson", f"{expected} is the notebook of lesson {belongs}")
    if lessons.has_anything(right.notebook):
        return right
    return HandIn(None, "wrong lesson", f"{expected} is {_OF_NO_LESSON}")


def _read_expected(folder: Path, expected: str, search: _Search) -> tuple[HandIn, list[Candidate]]:
    """Return the file in the notebook's place; if it is an archive, its contents."""
    data = read_bytes(folder / expected)
    if isinstance(data, HandIn):
        return data, []
    found = parse_bytes(data, expected)
    if not data.startswith(ZIP):
        return found, []
    return found, list(search.in_archive(data, expected, folder / expected))


def _distinct_texts(candidates: list[Candidate], right: HandIn, lesson: str) -> list[Candidate]:
    """Return the lesson's notebooks outside its place, one of each text."""
    seen = {_digest_of(right.notebook)} if right.notebook is not None else set()
    kept = []
    for candidate in candidates:
        if candidate.is_notebook and candidate.lesson == lesson and candidate.digest not in seen:
            seen.add(candidate.digest)
            kept.append(candidate)
    return kept


def _digest_of(notebook: NotebookNode) -> bytes:
    """Return a digest of the text that two copies of one notebook have in common."""
    digest = hashlib.sha256()
    for cell in notebook.cells:
        text = cell.source.encode()
        digest.update(f"{cell.cell_type} {len(text)} ".encode())
        digest.update(text)
    return digest.digest()


def _with_others(right: HandIn, expected: str, fitting: list[Candidate], untouched: bool) -> HandIn:
    """Return the notebook in its place, with a sentence about the others.

    If it is unchanged since its release and exactly one other is not, the other one counts.
    """
    if untouched:
        worked = [c for c in fitting if not c.untouched]
        if len(worked) == 1:
            return _take_found(worked[0], f"{expected} is unchanged since its release", [])
    if not fitting:
        return right
    note = f"there is also {few([c.label for c in fitting], _LISTED)}; {expected} was graded"
    return replace(right, sentence="; ".join(filter(None, [right.sentence, note])))


def _choose_fitting(right: HandIn, expected: str, fitting: list[Candidate]) -> HandIn:
    """Return the notebook that fits; of several, that of the right name or the only changed one."""
    why = right.sentence
    if right.outcome == "missing":
        why = f"there is no {expected} in its place"
    named = [c for c in fitting if c.name.lower() == expected.lower()]
    worked = [c for c in fitting if not c.untouched]
    for chosen in (fitting, named, worked):
        if len(chosen) == 1:
            return _take_found(chosen[0], why, [c.label for c in fitting if c is not chosen[0]])
    labels = few([c.label for c in fitting], _LISTED)
    sentence = f"{why}, and several notebooks fit: {labels}; name the one that counts {expected}"
    return HandIn(None, "several notebooks", sentence)


def _take_found(candidate: Candidate, why: str, others: list[str]) -> HandIn:
    """Return a notebook that was found elsewhere, with a sentence about its place."""
    also = f"; there is also {few(others, _LISTED)}" if others else ""
    sentence = f"{why}; {candidate.label} was graded{also}"
    handin = candidate.read()
    if handin.notebook is None:  # the file has changed since the search
        return handin
    sentence = "; ".join(filter(None, [sentence, handin.sentence]))
    return replace(handin, outcome="renamed", sentence=sentence)


def _nothing_found(
    right: HandIn, folder: Path, others: list[Candidate], lessons: Lessons
) -> HandIn:
    """Return the outcome of a hand-in without the lesson's notebook, with a list of its files."""
    if right.outcome != "missing" and not others:
        return right
    foreign = dict(_other_kinds_in(folder, lessons.key.name))
    for candidate in others:
        if not candidate.is_notebook:
            foreign[candidate.label] = (candidate.sentence, candidate.outcome)
        elif candidate.lesson:
            what = f"the notebook of lesson {candidate.lesson}"
            foreign[candidate.label] = (what, "wrong lesson")
        else:
            foreign[candidate.label] = (_OF_NO_LESSON, "wrong lesson")
    what_is_there = [f"{label} ({what})" for label, (what, _) in foreign.items()]
    what_is_there += [name for name in _names_in(folder) if name not in foreign]
    if right.outcome != "missing":
        return replace(
            right, sentence=f"{right.sentence}; there is also {few(what_is_there, _LISTED)}"
        )
    there = f"there is {few(what_is_there, _LISTED)}" if what_is_there else "there is nothing"
    outcomes = [outcome for _, outcome in foreign.values()]
    return HandIn(None, _worst_outcome(foreign, outcomes, lessons), f"{right.sentence}; {there}")


def _worst_outcome(labels: Collection[str], outcomes: list[str], lessons: Lessons) -> str:
    """Return the outcome of a hand-in from those of its files, none of which is the notebook."""
    for outcome in ("wrong lesson", "unreadable"):
        if outcome in outcomes:
            return outcome
    return outcomes[0] if len(labels) == 1 else "missing"


# ── what lies there ──────────────────────────────────────────────────────────────────────────


def _search_outside(folder: Path, search: _Search) -> list[Candidate]:
    """Return the candidates in the student's folder outside the lessons' folders."""
    student, lessons = folder.parent, search.lessons.folders()
    return list(search.below(student, f"submitted/{student.name}/", set(), lessons))


def may_have_strays(student: Path, lessons: Lessons) -> bool:
    """Return True if a file outside the lessons' folders may be a notebook."""
    return next(_files_below(student, (), lessons.folders()), None) is not None


def has_strays(student: Path, lessons: Lessons) -> bool:
    """Return True if a student without the lesson's folder has handed in its notebook elsewhere."""
    lesson = lessons.key.name
    found = _search_outside(student / lesson, _Search(lessons))
    return any(c.lesson == lesson or lesson in c.name for c in found)


def _read_file(path: Path, label: str) -> HandIn:
    """Return a notebook that was found, with the folder whose files its code may read."""
    return replace(parse_bytes(_read_again(path), label), folder=path.parent)


def _read_member(archive: Path, label: str, path: str) -> HandIn:
    """Return a notebook that was found in an archive, with the files beside it."""
    unpacked = unpack(_read_again(archive), label, Room())
    handin = parse_bytes(unpacked.files.get(path, b""), f"{path} in {label}")
    said = "; ".join(filter(None, [handin.sentence, note_on_twice(unpacked.twice, label)]))
    return replace(handin, sentence=said, files=_files_beside(path, unpacked.files))


def _read_again(path: Path) -> bytes:
    """Return a file's bytes; none if it has gone since the search."""
    data = read_bytes(path)
    return b"" if isinstance(data, HandIn) else data


def _files_below(
    root: Path, left_out: Collection[str] = (), folders_left_out: Collection[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of each file that may be a notebook or an archive with one."""
    if not root.is_dir():
        return
    for path, descriptor in regular_files(root, lambda name: name[0] != ".", folders_left_out):
        with open(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if path in left_out or is_hidden(path) or size > MAX_BYTES:
                continue
            head = file.read(len(ZIP))
            if head == ZIP or may_be_notebook(path):
                data = head + file.read(MAX_BYTES)
                if may_hold_notebook(path, data):
                    yield path, data


def _files_beside(notebook: str, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return an archive's other files, by their paths from the notebook's folder."""
    folder = notebook.rpartition("/")[0]
    start = f"{folder}/" if folder else ""
    there = {p.removeprefix(start): data for p, data in files.items() if p.startswith(start)}
    return {path: data for path, data in there.items() if not is_notebook_name(path)}


def _names_in(folder: Path) -> list[str]:
    """Return a folder's entries for a message: folders with a slash, links marked."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    kept = [path for path in entries if not is_hidden(path.name)]
    return [_printable_name(path.name) + ("/" if path.is_dir() else "") for path in kept]


def _other_kinds_in(folder: Path, lesson: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the files of other kinds in a folder: what each is and what to do, and the outcome.

    A script beside the notebook is no mistake; one that has the lesson's name is.
    """
    for name in _names_in(folder)[:_LOOKED_AT]:
        kind = other_kind(name, read_start(folder / name, _HEAD) or b"")
        if kind and not is_notebook_name(name) and (lesson in name or not name.endswith(".py")):
            yield name, (kind, "not a notebook")


def _printable_name(name: str) -> str:
    """Return a file's name without characters that cannot be printed."""
    text = "".join(letter if letter.isprintable() else "�" for letter in name)
    return text if len(text) <= 80 else f"{text[:60]}…{text[-19:]}"


def search_fingerprint(folder: Path, expected: str, lessons: Collection[str]) -> str:
    """Return a hash of what `find_handin` may read beyond the files of `read_folder`."""
    digest = hashlib.sha256()
    for root, files, folders in ((folder, [expected], []), (folder.parent, [], lessons)):
        left = MAX_READ
        for path, data in _files_below(root, files, folders):
            left -= len(data)
            if left < 0:
                break
            digest.update(f"{path}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()
