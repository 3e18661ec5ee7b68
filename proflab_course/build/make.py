"""Make and audit source/ and release/ of a course's lessons, in a folder of one's own.

A lesson that is prepared (`prepare.py`) becomes the instructor's notebook, with its pictures and
built.py beside it; from that nbgrader makes the student's. What is made is read for mistakes and
leaks, and executed.
"""

from __future__ import annotations

import errno
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from pprint import pformat
from textwrap import indent
from typing import Literal

from nbformat import NotebookNode
from tqdm import tqdm

from proflab.lesson import outline
from proflab_course.assemble.command import MADE_BY, render
from proflab_course.build import draw
from proflab_course.build.facts import Facts
from proflab_course.build.passes import AUDITS, COURSE_AUDITS, DRAWS, NOTES, RELEASE_AUDITS, Stage
from proflab_course.build.prepare import raise_mistakes, run_stage
from proflab_course.build.release import generate_release
from proflab_course.build.stand_ins import stand_in_mistakes
from proflab_course.build.trial import Trial, execute, keep_outputs
from proflab_course.cases.reader import split
from proflab_course.course.features import buildings
from proflab_course.course.files import what_is_wrong
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson, notebook_text, read_notebook
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.course.sections import lesson_outline
from proflab_course.course.toml_table import read_toml, refuse_unknown, typed
from proflab_course.course.wrong import FOLDER as WRONG
from proflab_course.grading.answer_key import FORMER, released_from
from proflab_course.grading.races import COSTS, METADATA
from proflab_course.tracks.apply import with_track

STEPS = ("source", "release")
IGNORED = {"__pycache__", ".ipynb_checkpoints"}  # what Python and Jupyter leave behind
PICTURES = {".png", ".svg", ".jpg"}  # a picture is shipped where a cell shows it
FORMER_FILE = "former.toml"  # test cells of a former release, by name
SETTINGS = "*.toml"  # what a feature reads, such as keys to questions: no student gets it
Depth = Literal["static", "full"]
_BUILT_TITLE = """\
The course's own solutions of the exercises before {}.

Where mine.py holds functions of yours that pass their checks, those are used in place of these.\
"""
# built.py of every released lesson ends so: `use_mine` has to go on taking these three arguments.
_USE_MINE = """
# ── yours, where there are any ──

from proflab.lesson.mine import use_mine as _use_mine

_use_mine(
    globals(),
    "{}",
{},
)
"""


def make(facts: Facts, work: Path, audit: Depth = "full") -> _Failed:
    """Make and audit work/source and work/release of prepared lessons; returns what failed."""
    failed, facts.work = _Failed(), work
    mistakes = [told for course_audit in COURSE_AUDITS for told in course_audit(facts)]
    for lesson in facts.chosen:
        with failed.named(lesson):
            mistakes += run_stage(Stage(audits=AUDITS), facts, [lesson.name])
    raise_mistakes(mistakes)
    for lesson in tqdm(failed.others(facts.chosen), "making", disable=None, leave=False):
        with failed.named(lesson):
            _make_release(facts, lesson)
    if audit == "full":
        _try_lessons(failed, failed.others(facts.chosen), facts)
    for lesson in failed.others(facts.chosen):
        if audit == "static" and (former := facts.course.source(lesson.name)).exists():
            executed = read_notebook(former, lesson.name).notebook
            keep_outputs(lesson.notebook, executed)
            # A static build executes nothing, and the grader needs the tapes of given programs.
            for name in {METADATA, COSTS} & executed.metadata.keys():  # of its last execution
                lesson.notebook.metadata[name] = executed.metadata[name]
        for part in buildings():
            lesson.notebook.metadata |= part.metadata(lesson, facts)
        if once := _former_tests(facts, lesson.name):
            lesson.notebook.metadata[FORMER] = once
        path = facts.source(lesson.name) / f"{lesson.name}.ipynb"
        _write(path, notebook_text(lesson.notebook))
    return failed


def _former_tests(facts: Facts, name: str) -> dict[str, str]:
    """Return the test cells that a lesson's former.toml keeps, if they are cells of its own."""
    where, found = f"modules/{name}/{FORMER_FILE}", read_toml(facts.place(name), FORMER_FILE)
    once = typed(dict[str, str], found or {}, where)
    refuse_unknown(once, [cell.name for cell in facts.as_written(name).named("test")], where)
    return {cell: text for cell, text in once.items() if split(text, f"{cell} of {where}")}


class _Failed(dict[str, str]):
    """Lessons at which the build itself failed, by their names, each with a sentence."""

    @contextmanager
    def named(self, lesson: Lesson) -> Iterator[None]:
        """Note a crash at this lesson; bad input and a full disk are the whole build's."""
        try:
            yield
        except (CourseError, OSError):
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            again = f"run `proflab build {lesson.name}` again"
            self[lesson.name] = (
                f"{lesson.name} was not made because the build failed ({what}): {again}"
            )

    def others(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """Return the lessons at which it has not failed."""
        return [lesson for lesson in lessons if lesson.name not in self]


def _make_release(facts: Facts, lesson: Lesson) -> None:
    name, source = lesson.name, facts.source(lesson.name)
    # Before the release is made: nbgrader copies what lies beside the notebook, so pictures,
    # built.py, the policy's pages and lesson.json have to be there.
    _copy_support_files(facts, name, source)
    if facts.policy:
        facts.policy.write(source)
    run_stage(Stage(notes=NOTES), facts, [name])
    run_stage(Stage(passes=DRAWS), facts, [name])
    lesson = facts.lesson(name)
    released = released_from(lesson.notebook)
    lesson.notebook.metadata[STAMP] = make_stamp(name, released.cells, facts.taken[name].title)
    _write(source / outline.FILE, _outline(facts, lesson, released).text())
    _write(source / f"{name}.ipynb", notebook_text(lesson.notebook))
    generate_release(facts.course.root, facts.work, name)
    facts.released[name] = read_notebook(facts.release(name) / f"{name}.ipynb", name)
    raise_mistakes(run_stage(Stage(audits=RELEASE_AUDITS), facts, [name]))


def _outline(facts: Facts, lesson: Lesson, released: NotebookNode) -> outline.Outline:
    """Return what a running notebook may know of its lesson."""
    milestone = facts.milestones[lesson.name]
    described = replace(
        with_track(lesson_outline(lesson, released), facts.taken[lesson.name]),
        milestone=(milestone.sentence, milestone.expression),
        lock=facts.lock,
    )
    for part in buildings():
        described = replace(described, **part.outline(lesson, facts))
    return described


def _try_lessons(failed: _Failed, lessons: list[Lesson], facts: Facts) -> None:
    """Execute the lessons and keep the outputs that their sources show."""
    trials: list[Trial] = []
    for lesson in lessons:
        with failed.named(lesson):
            name = lesson.name
            made = facts.released[name].notebook, facts.release(name), facts.milestones[name]
            trials.append(Trial(lesson, *made))
    runs = [run for trial in trials for run in trial.runs]
    done = tqdm(execute(runs, default_jobs()), "executing", len(runs), disable=None, leave=False)
    last = {id(trial.runs[-1]): trial.lesson.name for trial in trials if len(trials) > 1}
    for run in done:
        if id(run) in last:  # so that minutes do not pass without a word
            tqdm.write(f"{last[id(run)]}: executed solved, released and empty", file=sys.stderr)
    mistakes: list[str] = []
    for trial in trials:
        with failed.named(trial.lesson):
            mistakes += trial.mistakes()
            keep_outputs(trial.lesson.notebook, trial.executed())
            if races := trial.races():
                trial.lesson.notebook.metadata[METADATA] = races
                trial.lesson.notebook.metadata[COSTS] = trial.costs()
    raise_mistakes(mistakes)
    places = [(lesson, facts.source(lesson.name)) for lesson in failed.others(lessons)]
    for (lesson, _), found in zip(places, stand_in_mistakes(places, default_jobs()), strict=True):
        with failed.named(lesson):
            mistakes += found
    raise_mistakes(mistakes)


def _copy_support_files(facts: Facts, name: str, target: Path) -> None:
    """Copy a lesson's pictures and data, and write built.py with what the ones before it built."""
    place = facts.place(name)
    cells = "\n".join(cell.source for cell in facts.taken[name].lesson.cells)
    for path in support_files(place):
        if path.suffix in PICTURES and path.name not in cells:
            continue  # of a part that the track leaves out
        if path.name in ("built.py", outline.FILE, f"{name}.ipynb"):
            raise CourseError(f"modules/{name}/{path.name} is made by the build: delete it")
        copy = target / path.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if facts.before(name):
        text = render(facts.built(name), f"{_BUILT_TITLE.format(name)}\n\n{MADE_BY}.")
        earlier = (lesson for lesson in facts.lessons if lesson.name < name)
        written = {each.name: [cell.name for cell in each.named("exercise")] for each in earlier}
        exercises = indent(pformat(written, 1, 95, compact=True), " " * 4)
        _write(target / "built.py", text + _USE_MINE.format(name, exercises))


def support_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a lesson's folder but what the build alone reads, and caches."""
    left_out = [folder / name for name in (f"{folder.name}.py", draw.FILE)]
    left_out += [*folder.glob(draw.BESIDE), *folder.glob(SETTINGS)]
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in (*IGNORED, WRONG) for part in parts)
        if path.is_file() and not hidden and path not in left_out:
            yield path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@contextmanager
def workplace(root: Path) -> Iterator[Path]:
    """Make a temporary folder on the root's file system, so that moving out of it is atomic.

    What cannot be written there, or from there put into place, is told in a sentence.
    """
    work = None
    try:
        work = Path(tempfile.mkdtemp(prefix=".build-", dir=root))
        yield work
    except OSError as error:
        if work is None and error.errno == errno.ENOENT and root.is_dir():  # as in /proc
            raise CourseError(f"{root} can hold no new folder: choose another place") from None
        raise CourseError(
            f"the build cannot be written in {root}: {what_is_wrong(error)}, then run it again; "
            "nothing was changed"
        ) from None
    finally:
        if work:
            shutil.rmtree(work, ignore_errors=True)
