"""Chromium, which photographs the README's picture and prints the slides.

Used by docs/site/slides.py and docs/pictures/readme.py, and by nothing that a class needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run")
_FLAGS += ("--disable-background-networking",)


def find() -> str | None:
    """Return where a Chromium is, the one that CHROME names first; None: there is none."""
    names = (os.environ.get("CHROME", ""), *_NAMES)
    return next(filter(None, map(shutil.which, names)), None)


def show(program: str, page: Path, flags: list[str], seconds: float) -> None:
    """Have the browser open a page and do with it what `flags` say, in a profile of its own.

    Raises subprocess.TimeoutExpired after so many seconds, CalledProcessError where it fails.
    """
    with tempfile.TemporaryDirectory() as profile:
        command = [program, *_FLAGS, f"--user-data-dir={profile}", *flags]
        command.append(page.resolve().as_uri())
        subprocess.run(command, check=True, timeout=seconds, capture_output=True)
