"""Lessons with every exercise to be written: the release gives those that its track leaves out."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from proflab_course.build.make import make
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def whole_lesson(name: str) -> Course:
    """A folder with source/ and release/ of this one lesson, made from the track `all`."""
    place = Path(tempfile.mkdtemp(prefix="proflab-"))
    atexit.register(shutil.rmtree, place)
    assert not make(prepare(Course(ROOT), [name], track="all"), place, "static")
    return Course(place)
