"""Define an attempt, the files of one student or group at one time, and a sorted archive."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from proflab_course.collect.entries import Entry


@dataclass
class Attempt:
    """One hand-in at one time.

    name, number: as the platform writes them. owner: both exactly as packed, which differ for two
    students of one name. aliases: a login or an address from the platform. files: by their paths
    in the hand-in. at: the time, None if the platform gives none; problem: why a time cannot be
    used; odd: why a time that is used may not be the one that is meant.
    """

    name: str
    number: str
    label: str
    owner: str = ""
    aliases: tuple[str, ...] = ()
    files: dict[str, Entry] = field(default_factory=dict)
    at: datetime.datetime | None = None
    problem: str = ""
    odd: str = ""
    late: bool = False


@dataclass
class Sorted:
    """The attempts of a class, and the files that were not taken, each with the reason.

    passed_over: files that are not needed: an earlier attempt, another lesson's, the platform's.
    no_times: the files' times are those of the download and are not used.
    """

    platform: str
    attempts: list[Attempt]
    left_out: dict[str, str] = field(default_factory=dict)
    passed_over: dict[str, str] = field(default_factory=dict)
    no_times: bool = False

    def add_file(self, attempt: Attempt, path: str, entry: Entry) -> None:
        """Add a file to an attempt, unless another of its files has the same name."""
        there = attempt.files.get(path)
        if there is not None and there.raw != entry.raw:
            self.left_out[entry.path] = f"and another file of {attempt.label} have one name here"
        else:
            attempt.files[path] = entry
