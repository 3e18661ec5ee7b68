"""Take hand-ins from a Gradescope export, whose submission_metadata.yml names the students."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proflab_course.collect.attempts import Attempt, Sorted
from proflab_course.collect.entries import Entry
from proflab_course.course.layout import CourseError
from proflab_course.grading.limited_process import Answer, Unreadable, call_once
from proflab_course.grading.limits import MB

METADATA = "submission_metadata.yml"
_LARGEST = 16 * MB


def sort_gradescope(entries: list[Entry], source: Path) -> Sorted:
    """Return an attempt for each submitter of each submission, so one for each group member.

    Raises CourseError if the metadata is missing or cannot be read.
    """
    result = Sorted("Gradescope", [])
    metadata = _read_metadata(entries, source)
    by_folder: dict[str, list[Attempt]] = {}
    for entry in entries:
        if entry.path == METADATA:
            continue
        folder = entry.top
        if folder not in by_folder:
            by_folder[folder] = list(_attempts(folder, metadata.get(folder, [])))
        if not by_folder[folder]:
            result.left_out[entry.path] = f"has no submitter in {METADATA}"
        for attempt in by_folder[folder]:
            result.add_file(attempt, entry.path.partition("/")[2] or entry.path, entry)
    result.attempts = [attempt for attempts in by_folder.values() for attempt in attempts]
    return result


def _read_metadata(entries: list[Entry], source: Path) -> dict[str, list[list[str]]]:
    """Return name, number, address and time of each submitter, by the submission's folder."""
    entry = next((entry for entry in entries if entry.path == METADATA), None)
    if entry is None:
        raise CourseError(
            f"{source} is Gradescope's and lacks {METADATA}, which names the students: collect the "
            "whole export"
        )
    where = f"{METADATA} in {source}"
    try:
        text = entry.read(_LARGEST).decode("utf-8-sig")
        found, _ = call_once(_answer_metadata, text)
    except (Unreadable, ValueError) as error:
        reason = error.reason if isinstance(error, Unreadable) else str(error)
        raise CourseError(f"{where} cannot be read ({reason}): export again") from None
    if found is None:
        raise CourseError(f"{where} lists no submissions: export again")
    return found


def _attempts(folder: str, submitters: list[list[str]]) -> Iterator[Attempt]:
    """Yield an attempt without files for each submitter of one submission."""
    for name, email, sid, time in submitters:
        aliases = tuple(filter(None, (sid, email)))
        owner = sid or email or name
        at = datetime.datetime.fromisoformat(time) if time else None
        yield Attempt(name or owner, "", folder, owner=owner, aliases=aliases, at=at)


# ── in a process with limited time and memory ────────────────────────────────────────────────


def _answer_metadata(text: str) -> Answer:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        """A loader for Ruby's YAML, whose own types it reads as plain mappings and texts."""

    Loader.add_multi_constructor("!ruby/", _plain)
    try:
        found = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Unreadable(str(error).splitlines()[0]) from None
    if not isinstance(found, dict):
        return None, []
    return {str(folder): list(_submitters(about)) for folder, about in found.items()}, []


def _plain(loader: Any, _: str, node: Any) -> Any:
    if node.id == "mapping":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_scalar(node) if node.id == "scalar" else None


def _submitters(about: Any) -> Iterator[list[str]]:
    """Yield name, address, number and time of each submitter of one submission."""
    people = about.get(":submitters") if isinstance(about, dict) else None
    for person in people if isinstance(people, list) else ():
        if not isinstance(person, dict):
            continue
        named = [_text(person.get(key)) for key in (":name", ":email", ":sid")]
        if any(named):
            at = _time(about.get(":created_at"))
            yield [*named, at.isoformat() if at else ""]


def _text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _time(value: Any) -> datetime.datetime | None:
    """Return a time with its zone, by default UTC."""
    if isinstance(value, dict):  # a time of Rails
        value = value.get("utc")
    if not isinstance(value, datetime.datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
