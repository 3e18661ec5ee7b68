"""Make what tests of several files look at once a run, by one process, for all of them."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(base: Path, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder in `base` that `make` has filled; who comes while another makes it waits.

    What `make` raises is raised here, and whoever asks next tries it anew. Tests copy what they
    change.
    """
    place, made = base / name, base / f"{name}.made"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            made.touch()
    return place
