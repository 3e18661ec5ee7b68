"""Runs commands of this environment, each in a fork of one process that has imported them.

Starting `nbgrader` takes two seconds of imports, each time. As a program this is that process: it
reads requests, a line of JSON each, and answers with the exit status when a command has ended.
What must be seen from the very start (test_grade_kill.py) is started as a process.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from importlib import metadata
from pathlib import Path

PROGRAMS = ("nbgrader", "proflab")
IMPORTED = (
    "proflab_course",  # first: nbformat is imported sooner with it
    "nbconvert.exporters",
    "nbgrader.api",
    "nbgrader.converters",
    "proflab_course.grading.command",
    "proflab_course.grading.pages.notebook_pages",
    "proflab_course.report.lesson_page",
    "proflab_course.grading.records.gradebook",
)


def run(words: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Run a command in a folder; returns its exit status and what it printed."""
    with tempfile.TemporaryDirectory(prefix="proflab-") as place:
        said = [Path(place, name) for name in ("stdout", "stderr")]
        request = {"words": words, "folder": str(folder), "env": env, "said": [*map(str, said)]}
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        status = json.loads(server.stdout.readline())
        texts = [path.read_text(errors="replace") for path in said]
    return subprocess.CompletedProcess(words, status, *texts)


@functools.cache
def _server() -> subprocess.Popen:
    """Start the process that others are forked from, once for all tests of this process."""
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)  # at the end of its input it ends
    return server


def _serve() -> None:
    for name in IMPORTED:
        __import__(name)
    import nbgrader.api

    # A new gradebook asks alembic, a process of one second, for what is the same for all of them.
    nbgrader.api.get_alembic_version = functools.cache(nbgrader.api.get_alembic_version)
    nbgrader.api.get_alembic_version()
    scripts = metadata.entry_points(group="console_scripts")
    programs = {name: scripts[name].load() for name in PROGRAMS}
    gc.freeze()  # else each command's collector copies the pages of all that is imported
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(programs[request["words"][0]], **request)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _become(program, words: list[str], folder: str, env: dict[str, str], said: list[str]) -> None:
    """Go on as the program, and end."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    sys.argv = [str(Path(sys.executable).parent / words[0]), *words[1:]]
    status: object = 1
    try:
        status = program() or 0
    except SystemExit as error:
        status = error.code or 0
    except BaseException:
        traceback.print_exc()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    _serve()
