"""Options about time: of `proflab grade`, and of `c.SandboxedExecute` in jupyter_config.py."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.plan import Limits

_USUAL = Limits()
# Each option's name, what it sets, and what is said of it.
LIMIT_OPTIONS = {
    "cell_seconds": ("CPU seconds for a cell", _USUAL.cell_seconds),
    "case_seconds": ("CPU seconds for a case of a test", _USUAL.statement_seconds),
    "notebook_seconds": ("CPU seconds for a whole hand-in", _USUAL.notebook_seconds),
    "time_factor": (
        "a case or cell may take N times as long as in the solved notebook, if that is more",
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
    """Read a number from 0.1 to 86,400, for argparse; raise ArgumentTypeError else."""
    number = float(text)
    if not 0.1 <= number <= 86_400:
        raise argparse.ArgumentTypeError("must be from 0.1 to 86,400")
    return number


def chosen_limits(course: Course, arguments: argparse.Namespace) -> Limits:
    """Return the limits that the command's options set, and else those of jupyter_config.py."""
    given = {name: getattr(arguments, name, None) for name in LIMIT_OPTIONS}
    configured = _configured(course.root)
    return make_limits(
        **{name: configured.get(name) if value is None else value for name, value in given.items()}
    )


def _configured(root: Path) -> dict[str, float]:
    """Return the limits in jupyter_config.py; raise CourseError where one is no number.

    The file imports nbgrader, which takes a while: it is only read if it names one.
    """
    try:
        text = (root / "jupyter_config.py").read_text("utf-8")
    except (OSError, ValueError):
        return {}
    if not any(name in text for name in LIMIT_OPTIONS):
        return {}
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("jupyter_config.py", path=str(root)).load_config()
    found = {}
    for name in LIMIT_OPTIONS:
        if name in config.SandboxedExecute:
            try:
                found[name] = number_of_seconds(str(config.SandboxedExecute[name]))
            except (ValueError, argparse.ArgumentTypeError):
                where = f"jupyter_config.py: c.SandboxedExecute.{name}"
                raise CourseError(f"{where} must be a number from 0.1 to 86,400") from None
    return found


def make_limits(
    cell_seconds: float | None = None,
    case_seconds: float | None = None,
    notebook_seconds: float | None = None,
    time_factor: float | None = None,
) -> Limits:
    """Return the limits for these numbers; what is not given grows with the seconds of a cell."""
    factor = (cell_seconds or _USUAL.cell_seconds) / _USUAL.cell_seconds
    return replace(
        _USUAL,
        cell_seconds=_USUAL.cell_seconds * factor,
        statement_seconds=case_seconds or _USUAL.statement_seconds * factor,
        time_factor=time_factor or _USUAL.time_factor,
        idle_seconds=_USUAL.idle_seconds * factor,
        stuck_seconds=_USUAL.stuck_seconds * factor,
        notebook_seconds=notebook_seconds or _USUAL.notebook_seconds * max(1.0, factor),
    )
