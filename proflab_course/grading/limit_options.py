"""Read limits of time from `proflab grade`'s options and from jupyter_config.py.

The limits themselves, and the rules between them, are in `limits.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.nbgrader_settings import run_settings
from proflab_course.grading.limits import Limits, make_limits

_USUAL = Limits()
# An option's name → its description and its usual value.
LIMIT_OPTIONS = {
    "cell_seconds": ("CPU seconds for a cell", _USUAL.cell_seconds),
    "case_seconds": ("CPU seconds for a case of a test", _USUAL.statement_seconds),
    "notebook_seconds": ("CPU seconds for a whole hand-in", _USUAL.notebook_seconds),
    "time_factor": (
        "a case or cell may also take up to N times its time in the solved notebook",
        _USUAL.time_factor,
    ),
}


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `proflab grade` about time."""
    for name, (what, usual) in LIMIT_OPTIONS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=number_of_seconds,
            metavar="N" if name == "time_factor" else "S",
            help=f"{what} (default: {usual:g})",
        )


def number_of_seconds(text: str) -> float:
    """Return a number from 0.1 to 86,400; raise ArgumentTypeError for any other text."""
    number = float(text)
    if not 0.1 <= number <= 86_400:
        raise argparse.ArgumentTypeError("must be from 0.1 to 86,400")
    return number


def chosen_limits(course: Course, arguments: argparse.Namespace) -> Limits:
    """Return the limits of the command's options, or if not given, of jupyter_config.py."""
    given = {name: getattr(arguments, name, None) for name in LIMIT_OPTIONS}
    configured = _configured(course.root)
    return make_limits(
        **{name: configured.get(name) if value is None else value for name, value in given.items()}
    )


def _configured(root: Path) -> dict[str, float]:
    """Return the limits in jupyter_config.py; raise CourseError if one is not a number.

    The file imports nbgrader, which is slow, so it is executed only if it names a limit.
    """
    try:
        text = (root / "jupyter_config.py").read_text("utf-8")
    except (OSError, ValueError):
        return {}
    if not any(name in text for name in LIMIT_OPTIONS):
        return {}
    config = run_settings(root / "jupyter_config.py")
    found = {}
    for name in LIMIT_OPTIONS:
        if name in config.SandboxedExecute:
            try:
                found[name] = number_of_seconds(str(config.SandboxedExecute[name]))
            except (ValueError, argparse.ArgumentTypeError):
                where = f"jupyter_config.py: c.SandboxedExecute.{name}"
                raise CourseError(f"{where} must be a number from 0.1 to 86,400") from None
    return found
