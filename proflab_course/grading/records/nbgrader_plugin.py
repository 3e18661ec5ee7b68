"""nbgrader's own autograding, with students' code in the sandbox and verdicts outside it.

`SandboxedExecute` stands in for nbgrader's Execute (see jupyter_config.py), so that `nbgrader
autograde` and formgrader's button run no student's code with the instructor's rights. The scores
are then read from the outputs by nbgrader, as ever.
"""

from __future__ import annotations

import atexit
import functools
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Enum

from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.plan import Runner, Submission
from proflab_course.grading.run.sandbox_runner import make_runner


class SandboxedExecute(NbGraderPreprocessor):
    """Executes a submission as `proflab grade` does and gives nbgrader the outputs."""

    isolation = Enum(
        ["auto", "none"], "auto", help="'none' runs submissions with your own rights."
    ).tag(config=True)
    full = Bool(True, help="Execute demo cells, too.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the executed notebook; raise CourseError where isolation is not to be had."""
        folder = Path(resources["metadata"]["path"]).resolve()
        course = Course.find(folder)
        source = course.source(resources["nbgrader"]["notebook"])
        key = _cached_key(source, source.stat().st_mtime_ns)
        submission = Submission(resources["nbgrader"]["student"], folder, source.parent)
        runner = _cached_runner(self.isolation)
        graded = grade_notebook(nb, key, source.parent, self.full, runner, submission)
        if graded.sentence:
            self.log.warning("%s: %s: %s", submission.name, graded.status, graded.sentence)
        graded.notebook.metadata.update(nb.metadata)
        return graded.notebook, resources


@functools.lru_cache(maxsize=4)
def _cached_key(source: Path, changed: int) -> Key:
    """Return the lesson's key, read once for each state of its file."""
    return read_key(source)


@functools.cache
def _cached_runner(isolation: str) -> Runner:
    """Return the one runner of this process, kept warm between submissions."""
    runner = make_runner(isolation)
    atexit.register(runner.close)
    return runner
