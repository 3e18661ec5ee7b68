"""Grade with `nbgrader autograde`: students' code in the sandbox, verdicts outside it.

jupyter_config.py names both classes. `ReadHandIn` rebuilds a hand-in before nbgrader looks at
it, because nbgrader ends the grading of a whole class at metadata that it refuses.
`SandboxedExecute` stands in for nbgrader's Execute, so that `nbgrader autograde` and formgrader's
button run no student's code with the instructor's rights. nbgrader still reads the scores from
the outputs.
"""

from __future__ import annotations

import atexit
import functools
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor
from traitlets import Bool, Enum, Float, List, TraitError, Unicode
from traitlets.config import Config

from proflab_course.course.dates import Dates
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.release_stamp import STAMP, read_stamp
from proflab_course.grading.answer_key import Key, clear_answers, meta, read_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.limit_options import LIMIT_OPTIONS
from proflab_course.grading.limits import Limits, make_limits
from proflab_course.grading.plan import Isolation, Runner, Submission
from proflab_course.grading.points import partial_credit_lessons
from proflab_course.grading.records.lateness import with_penalty
from proflab_course.grading.run.sandbox_runner import make_runner
from proflab_course.grading.submissions.read_notebook import notebook_of, rebuilt


def _seconds(name: str) -> Float:
    """Return the setting of an option of `proflab grade` about time."""
    what, usual = LIMIT_OPTIONS[name]
    about = f"{what[0].upper()}{what[1:]} (default: {usual:g}). `proflab grade` follows it, too."
    return Float(None, allow_none=True, help=about).tag(config=True)


class ReadHandIn(NbGraderPreprocessor):
    """Rebuild a hand-in as `proflab grade` does, and give graded cells the lesson's metadata."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook without anything that nbgrader might refuse."""
        key = _key_of(_course_of(resources), resources)
        marks = {cell.grade_id: meta(cell.master) for cell in key.cells if cell.grade_id}
        stamp = read_stamp(nb.metadata)
        cells = [cell for cell in map(rebuilt, nb.cells) if cell is not None]
        for cell in cells:
            name = meta(cell).get("grade_id", "")
            cell.metadata.pop("nbgrader", None)
            if name in marks:
                cell.metadata["nbgrader"] = NotebookNode(marks[name])
        return notebook_of(cells, {STAMP: stamp} if stamp else {}), resources


class ClearAnswers(NbGraderPreprocessor):
    """Leave the answers to concept questions open where `nbgrader generate_assignment` is used."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the notebook without the answers, and without what only grading needs of them."""
        clear_answers(nb)
        # What the build adds to source/ for the grader is named so: the order of options, former
        # tests, races' tapes and costs. Whatever comes to it must be named so, too.
        for name in [name for name in nb.metadata if name.startswith(f"{STAMP}_")]:
            del nb.metadata[name]
        return nb, resources


class CoursePenalties(AssignLatePenalties):
    """Take off for lateness what the course's dates say; where they do not, what settings say."""

    config: Config

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Write the due date and the penalty; CourseError for a mistake in the course's dates."""
        where = resources["nbgrader"]
        lesson, dates = where["assignment"], Dates.read(_course_of(resources))
        self.config = with_penalty(self.config, dates.penalty(lesson))
        if lesson in dates.due:
            with Gradebook(where["db_url"]) as book:
                book.find_assignment(lesson).duedate = dates.due[lesson]
                book.db.commit()
        return super().preprocess(nb, resources)


class SandboxedExecute(NbGraderPreprocessor):
    """Execute a submission as `proflab grade` does, and return the outputs to nbgrader."""

    isolation = Enum(
        ["auto", "none"], "auto", help="'none' runs submissions with your own rights."
    ).tag(config=True)
    partial_credit = List(
        Unicode(),
        help="Lessons, as 01_parameters or 01, in which a test cell gives its share of cases "
        "passed; in all others it gives all points or none. `proflab grade` follows it, too.",
    ).tag(config=True)
    cell_seconds = _seconds("cell_seconds")
    case_seconds = _seconds("case_seconds")
    notebook_seconds = _seconds("notebook_seconds")
    time_factor = _seconds("time_factor")
    full = Bool(True, help="Execute demo cells, too.").tag(config=True)

    def limits(self) -> Limits:
        """Return the limits that the settings give."""
        return make_limits(**{name: getattr(self, name) for name in LIMIT_OPTIONS})

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Return the executed notebook; raise CourseError if isolation is not available."""
        folder, course = Path(resources["metadata"]["path"]).resolve(), _course_of(resources)
        key = _key_of(course, resources)
        if key.name in partial_credit_lessons(course, self.partial_credit):
            key = key.with_partial_credit()
        support = course.source(key.name).parent
        submission = Submission(resources["nbgrader"]["student"], folder, support)
        runner = _cached_runner(self.isolation, self.limits(), self.full)
        graded = grade_notebook(nb, key, support, self.full, runner, submission)
        if graded.sentence:
            self.log.warning("%s: %s: %s", submission.name, graded.status, graded.sentence)
        graded.notebook.metadata.update(nb.metadata)  # the stamp, and what nbgrader has put there
        return graded.notebook, resources


def gives_partial_credit(course: Course, lesson: str, config: Config) -> bool:
    """Return True if the course's configuration gives this lesson partial credit.

    Raises CourseError if the setting is not a list, or names something that is not a lesson.
    """
    try:
        listed = SandboxedExecute(config=config).partial_credit
    except TraitError as error:
        raise CourseError(f"jupyter_config.py: {error}") from None
    return lesson in partial_credit_lessons(course, listed)


def _course_of(resources: dict) -> Course:
    return Course.find(Path(resources["metadata"]["path"]))


def _key_of(course: Course, resources: dict) -> Key:
    source = course.source(resources["nbgrader"]["notebook"])
    return _cached_key(source, source.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _cached_key(source: Path, changed: int) -> Key:
    """Return the lesson's key; changed: the file's time, so that a new file is read again."""
    return read_key(source)


@functools.cache
def _cached_runner(isolation: Isolation, limits: Limits, plots: bool) -> Runner:
    """Return the one runner of this process, kept warm between submissions."""
    runner = make_runner(isolation, limits=limits, plots=plots)
    atexit.register(runner.close)
    return runner
