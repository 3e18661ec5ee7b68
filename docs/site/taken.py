"""The course's lessons as each track has them, read once for all pages for teachers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_module
from proflab_course.tracks.apply import apply_track, read_tracks
from proflab_course.tracks.read import Track, Tracks
from proflab_course.tracks.taken import Taken


@dataclass(frozen=True)
class Lessons:
    """Hold the whole lessons by name, the tracks, and each lesson as each of its tracks has it."""

    whole: Mapping[str, Lesson]
    tracks: Tracks
    taken: Mapping[tuple[str, str], Taken]

    @property
    def public(self) -> list[Track]:
        """Return the tracks in their order."""
        return list(self.tracks.tracks.values())

    def of(self, track: Track, lesson: str) -> Lesson:
        """Return a lesson as a track has it."""
        return self.taken[track.name, lesson].lesson


@functools.cache
def read_lessons(root: Path) -> Lessons:
    """Return the lessons of the course at `root`; nobody may change them."""
    course = Course(root)
    whole = {name: read_module(course.module(name), name) for name in course.lessons()}
    tracks = read_tracks(root, whole.values())
    taken = {
        (track.name, name): apply_track(whole[name], tracks, track)
        for track in tracks.tracks.values()
        for name in track.lessons
    }
    return Lessons(whole, tracks, taken)
