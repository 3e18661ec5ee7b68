"""The `proflab` command. Each subcommand's module is imported only when it is called.

Those of features (proflab_course/course/features.py) are found only where none of these is meant.

A subcommand's module has a docstring (its first line is its help), `add_arguments(parser)` and
`run(arguments) -> int`, the exit status.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO

COMMANDS = {
    "check": ("proflab_course.check.command", "say where you are in a lesson"),
    "build": ("proflab_course.build.command", "make source/ and release/ from modules/"),
    "assemble": ("proflab_course.assemble.command", "turn solved notebooks into one profiler file"),
    "collect": ("proflab_course.collect.command", "sort a platform's archive into submitted/"),
    "grade": ("proflab_course.grading.command", "grade the hand-ins of a lesson"),
    "report": ("proflab_course.report.command", "report on a lesson or the term"),
    "export": ("proflab_course.export.command", "write grades for a platform, or code to compare"),
    "doctor": ("proflab_course.doctor.command", "try each layer of isolation on this machine"),
}


# Students install the package without its extra `instructor`: these two name another remedy.
FOR_STUDENTS = ("check", "assemble")
# What a terminal obeys instead of showing it: control characters, and those that turn text round.
_CONTROLS = re.compile(r"[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class _Printable:
    """A stream for all that commands print, which may hold a stranger's text.

    A reader that has seen enough, such as `head`, ends no command: what it does not read is lost,
    and the work goes on.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a folder's name need not be text

    def write(self, text: str) -> int:
        """Write text, a mark in place of each control character but the end of a line."""
        with self._perhaps_unread():
            self._stream.write(_CONTROLS.sub("�", text))
        return len(text)

    def flush(self) -> None:
        """Write what was kept back."""
        with self._perhaps_unread():
            self._stream.flush()

    @contextlib.contextmanager
    def _perhaps_unread(self) -> Iterator[None]:
        """Send all that follows to nobody once nobody reads."""
        try:
            yield
        except BrokenPipeError:
            # Python flushes the stream once more at its end, which would raise again.
            nobody = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nobody, self._stream.fileno())
            os.close(nobody)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; returns the exit status (2: bad arguments or bad input)."""
    argv = sys.argv[1:] if argv is None else argv
    # Almost all that a command makes stays to its end, and with Python 3.11's own threshold of
    # 700 a build spends a sixth of its time on looking for garbage. No student's code runs here.
    gc.set_threshold(50_000)
    with (
        contextlib.redirect_stdout(_Printable(sys.stdout)),
        contextlib.redirect_stderr(_Printable(sys.stderr)),
    ):
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()


def _run(argv: list[str]) -> int:
    from proflab_course.course.files import is_of_a_file, what_is_wrong
    from proflab_course.course.layout import CourseError

    name = argv[0] if argv else "--help"
    try:
        return _run_command(name, argv[1:])
    except CourseError as error:
        print(f"proflab {name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        if not is_of_a_file(error):
            raise
        what = f"{error.filename or 'a file'} cannot be read or written: {what_is_wrong(error)}"
        print(f"proflab {name}: {what}, then run it again", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"proflab {name}: stopped; run it again to go on", file=sys.stderr)
        return 130  # 128 + SIGINT, as a shell reports it


def all_commands() -> dict[str, tuple[str, str]]:
    """Return the module and the summary of each command, those of features last."""
    from proflab_course.course.features import commands

    found = {name: (each.module, each.summary) for name, each in commands().items()}
    return COMMANDS | found | COMMANDS  # no feature takes the place of another's command


def _run_command(name: str, words: list[str]) -> int:
    known = COMMANDS if name in (*COMMANDS, "--version") else all_commands()
    if name not in known:
        return _overview(name, known)
    place, summary = known[name]
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        return _not_installed(name, error)
    parser = argparse.ArgumentParser(f"proflab {name}", description=summary)
    module.add_arguments(parser)
    return module.run(parser.parse_args(words))


def _not_installed(name: str, error: ModuleNotFoundError) -> int:
    package = (error.name or "").partition(".")[0]
    # A module of our own that is missing is a fault of the program: no installation mends it.
    if not package or package.startswith("proflab"):
        raise error
    how = "pip install jupyterlab" if name in FOR_STUDENTS else "pip install 'proflab[instructor]'"
    print(f"proflab {name}: it needs {package}, which is not installed: {how}", file=sys.stderr)
    return 2


def _overview(name: str, known: dict[str, tuple[str, str]]) -> int:
    if name == "--version":
        from proflab import __version__

        print(__version__)
        return 0
    asked = name in ("-h", "--help")
    out = sys.stdout if asked else sys.stderr
    if not asked:
        print(f"proflab: there is no command {name!r}; these are the commands:", file=out)
    for command, (_, summary) in known.items():
        print(f"  proflab {command:<9} {summary}", file=out)
    print("  proflab COMMAND --help lists a command's arguments", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main())
