"""Take hand-ins from a Gradescope export, whose submission_metadata.yml names the students."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proflab_course.collect.attempts import Attempt, Sorted
from proflab_course.collect.entries import MAX_FILE, Entry
from proflab_course.course.layout import CourseError

METADATA = "submission_metadata.yml"


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
            by_folder[folder] = list(_attempts(folder, metadata.get(folder)))
        if not by_folder[folder]:
            result.left_out[entry.path] = f"has no submitter in {METADATA}"
        for attempt in by_folder[folder]:
            result.add_file(attempt, entry.path.partition("/")[2] or entry.path, entry)
    result.attempts = [attempt for attempts in by_folder.values() for attempt in attempts]
    return result


def _read_metadata(entries: list[Entry], source: Path) -> dict:
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        """A loader for Ruby's YAML, whose own types it reads as plain mappings and texts."""

    Loader.add_multi_constructor("!ruby/", _plain)
    entry = next((entry for entry in entries if entry.path == METADATA), None)
    if entry is None:
        raise CourseError(
            f"{source} is Gradescope's and lacks {METADATA}, which names the students: collect the "
            "whole export"
        )
    try:
        data = entry.read()
        found = yaml.load(data, Loader) if len(data) <= MAX_FILE else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise CourseError(
            f"{METADATA} in {source} cannot be read ({reason}): export again"
        ) from None
    if not isinstance(found, dict):
        raise CourseError(f"{METADATA} in {source} lists no submissions: export again")
    return found


def _plain(loader: Any, _: str, node: Any) -> Any:
    if node.id == "mapping":
        return loader.construct_mapping(node, deep=True)
    return loader.construct_scalar(node) if node.id == "scalar" else None


def _attempts(folder: str, about: Any) -> Iterator[Attempt]:
    """Yield an attempt without files for each submitter of one submission."""
    people = about.get(":submitters") if isinstance(about, dict) else None
    for person in people if isinstance(people, list) else ():
        if not isinstance(person, dict):
            continue
        name, email, sid = (_text(person.get(key)) for key in (":name", ":email", ":sid"))
        if name or email or sid:
            aliases = tuple(filter(None, (sid, email)))
            owner = sid or email or name
            at = _time(about.get(":created_at"))
            yield Attempt(name or owner, "", folder, owner=owner, aliases=aliases, at=at)


def _text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _time(value: Any) -> datetime.datetime | None:
    """Return a time with its zone, by default UTC."""
    if isinstance(value, dict):  # a time of Rails
        value = value.get("utc")
    if not isinstance(value, datetime.datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
