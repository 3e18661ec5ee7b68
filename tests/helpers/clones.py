"""A clone of the repository as it lies here, in which a test follows a contributor's page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C"]


def clone(target: Path) -> Path:
    """Copy into `target` what git knows or would add, committed anew; return `target`."""
    listed = subprocess.run(
        [*GIT, ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("the files of a clone are known by git, and this is not a repository")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*GIT, target, *command], check=True)
    return target


def set_up(place: Path) -> Path:
    """Give a clone this environment as its .venv, in place of `make setup`; return the clone.

    And what mypy found here: to find it anew takes half a minute.
    """
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", place / ".mypy_cache")
    (place / ".venv").symlink_to(sys.prefix)
    with (place / ".git/info/exclude").open("a") as file:
        file.write(".venv\n")  # a link is no folder, and .gitignore names the folder
    return place


def run(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess:
    """Run a command in a clone that is set up, with the clone's packages.

    `make` takes the environment as made, so that no package index is asked.
    """
    if words[0] == "make":
        words = ("make", "-o", ".venv/.ready", "-o", ".venv/.system", "JOBS=0", *words[1:])
    path = f"{place}/.venv/bin{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "PYTHONPATH": str(place), "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        words,
        cwd=place,
        env=os.environ | own | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
