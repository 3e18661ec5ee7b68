"""Run the files in which an instructor sets nbgrader: a mistake there is one sentence."""

from __future__ import annotations

import traceback
from pathlib import Path

from traitlets.config import Config, PyFileConfigLoader

from proflab_course.course.layout import CourseError


def run_settings(path: Path) -> Config:
    """Run jupyter_config.py or nbgrader_config.py; raise CourseError, with the line, if it fails.

    Both are an instructor's own, and are run as nbgrader runs them: with the instructor's rights.
    """
    try:
        return PyFileConfigLoader(path.name, path=str(path.parent)).load_config()
    except Exception as error:
        steps = traceback.extract_tb(error.__traceback__)
        # nbgrader_config.py runs the other; a SyntaxError's own text tells its line.
        own = [step for step in steps if Path(step.filename).parent == path.parent]
        where = f"{own[-1].filename}, line {own[-1].lineno}" if own else path
        said = " ".join(str(error).split())
        raise CourseError(f"{where}: {type(error).__name__}: {said}: mend that line") from None
