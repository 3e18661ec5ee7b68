"""Make source/ and release/ from modules/: one way, the same bytes each time.

A lesson's text becomes the instructor's notebook, with its pictures and built.py beside it; from
that nbgrader makes the student's. All is made and audited in a temporary folder and then put in
place of the former, so that a build that fails leaves everything as it was.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nbformat import NotebookNode

from proflab_course.assemble.collect import Collection, collect
from proflab_course.assemble.command import MADE_BY, render
from proflab_course.build.audit import (
    course_mistakes,
    delimiter_mistakes,
    lesson_mistakes,
    release_mistakes,
)
from proflab_course.build.leaks import leaks
from proflab_course.build.release import generate_release
from proflab_course.build.stamp import Address, stamp
from proflab_course.build.trial import Trial, execute, keep_outputs
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, notebook_text, read_module, read_notebook
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.grading.records.write_notebook import what_is_wrong

STEPS = ("source", "release")
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
Audit = Literal["static", "full"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `proflab build`."""
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="all, if none is named")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail if a file is out of step"
    )
    parser.add_argument("--through", metavar="N", help="make a tree for a class at lesson N")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="where that tree goes")
    parser.add_argument(
        "--audit",
        choices=("full", "static"),
        default="full",
        help="static: do not execute the notebooks (quick, while writing)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build, check, or make a class's tree."""
    course = Course.find()
    if bool(arguments.through) != bool(arguments.output):
        raise CourseError("--through N and -o FOLDER go together")
    if arguments.through and arguments.lessons:
        raise CourseError("--through N takes all lessons up to N: name no other")
    if arguments.through:
        from proflab_course.build.class_tree import class_tree

        lessons = class_tree(course, arguments.through, arguments.output, arguments.audit)
        print(f"{arguments.output}: {', '.join(lessons)}")
        return 0
    if arguments.check:
        return _report_check(check(course, arguments.lessons, arguments.audit))
    for lesson in build(course, arguments.lessons, arguments.audit):
        print(f"source/{lesson} and release/{lesson} are made from modules/{lesson}")
    for path in strangers(course):
        print(f"note: {path} does not come from modules/; delete it if it is no longer needed")
    return 0


def _report_check(differences: list[str]) -> int:
    for sentence in differences:
        print(sentence, file=sys.stderr)
    if differences:
        print("run `proflab build` and commit what it makes", file=sys.stderr)
        return 1
    print("source/ and release/ are in step with modules/")
    return 0


# ── what the commands do ─────────────────────────────────────────────────────────────────────


def build(course: Course, lessons: Iterable[str] = (), audit: Audit = "full") -> list[str]:
    """Make source/ and release/ of the lessons (all, if none is named); returns their names."""
    plan = Plan.read(course, lessons)
    with workplace(course.root) as work:
        failed = make(plan, work, audit)
        made = [name for name in plan.wanted if name not in failed]
        _swap(course.root, work, [f"{step}/{name}" for name in made for step in STEPS])
    if failed:
        made_too = f"\nmade: {', '.join(made)}" if made else ""
        raise CourseError("\n".join(failed.values()) + made_too)
    return made


def check(course: Course, lessons: Iterable[str] = (), audit: Audit = "full") -> list[str]:
    """One sentence for each file in source/ and release/ that a build would change."""
    named = list(lessons)
    plan = Plan.read(course, named)
    with workplace(course.root) as work:
        failed = make(plan, work, audit)
        differences = list(failed.values()) + [
            sentence
            for name in plan.wanted
            if name not in failed
            for step in STEPS
            for sentence in _differences(course.root, work, f"{step}/{name}")
        ]
    foreign = [] if named else strangers(course)
    return differences + [f"{path} does not come from modules/" for path in foreign]


def strangers(course: Course) -> list[str]:
    """What lies in source/ and release/ and belongs to no lesson of modules/, READMEs apart."""
    known = {*course.lessons(), "README.md", *IGNORED}
    places = [course.root / step for step in STEPS if (course.root / step).is_dir()]
    found = (path for place in places for path in place.iterdir() if path.name not in known)
    return sorted(str(path.relative_to(course.root)) for path in found)


@dataclass
class Plan:
    """All lessons of a course as read, and the names of those to be made."""

    course: Course
    lessons: list[Lesson]
    wanted: list[str]
    built: dict[str, Collection] = field(default_factory=dict)

    @classmethod
    def read(cls, course: Course, wanted: Iterable[str] = ()) -> Plan:
        """Read every lesson: names are unique over the course, and later ones must not leak."""
        names = course.lessons()
        if not names:
            raise CourseError(f"{course.root / 'modules'} holds no lesson: nothing to build")
        chosen = sorted({course.lesson(name) for name in wanted}) or names
        address = Address.read(course.root)
        lessons = []
        for name in names:
            path = course.module(name)
            if not path.exists():
                raise CourseError(f"modules/{name} has no {name}.py: every lesson is one such file")
            lessons.append(read_module(path, name, f"modules/{name}/{name}.py"))
            stamp(lessons[-1], address)
        return cls(course, lessons, chosen)

    def before(self, name: str) -> list[Lesson]:
        """The lessons before this one."""
        return [lesson for lesson in self.lessons if lesson.name < name]


def make(plan: Plan, work: Path, audit: Audit = "full") -> Failed:
    """Make and audit work/source and work/release of the plan's lessons; returns what failed."""
    failed = Failed()
    mistakes = course_mistakes(plan.lessons)
    chosen = [lesson for lesson in plan.lessons if lesson.name in plan.wanted]
    for lesson in plan.lessons:
        mistakes += delimiter_mistakes(lesson)  # also of others: their secrets must be known
    for lesson in chosen:
        with failed.named(lesson):
            mistakes += _static_mistakes(plan, lesson)
    _raise(mistakes)
    releases: dict[str, NotebookNode] = {}
    for lesson in failed.others(chosen):
        with failed.named(lesson):
            releases[lesson.name] = _make_release(plan, lesson, work)
    if audit == "full":
        _try_lessons(failed, failed.others(chosen), releases, work)
    for lesson in failed.others(chosen):
        if audit == "static" and (former := plan.course.source(lesson.name)).exists():
            keep_outputs(lesson.notebook, read_notebook(former, lesson.name).notebook)
        path = work / "source" / lesson.name / f"{lesson.name}.ipynb"
        _write(path, notebook_text(lesson.notebook))
    return failed


class Failed(dict[str, str]):
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
            self[lesson.name] = f"{lesson.name} is not made, for the build failed ({what}): {again}"

    def others(self, lessons: Iterable[Lesson]) -> list[Lesson]:
        """The lessons at which it has not failed."""
        return [lesson for lesson in lessons if lesson.name not in self]


def _static_mistakes(plan: Plan, lesson: Lesson) -> list[str]:
    """What can be read off a lesson and those before it; keeps what they built."""
    earlier = plan.before(lesson.name)
    built = plan.built[lesson.name] = collect(earlier)
    mistakes = lesson_mistakes(lesson, plan.course.module(lesson.name).parent, built.names)
    return mistakes + collect([*earlier, lesson]).notes


def _make_release(plan: Plan, lesson: Lesson, work: Path) -> NotebookNode:
    """Make and audit work/source and work/release of a lesson; returns the students' notebook."""
    source = work / "source" / lesson.name
    _copy_support_files(plan, lesson.name, source)
    _stamp_release(lesson)
    _write(source / f"{lesson.name}.ipynb", notebook_text(lesson.notebook))
    generate_release(plan.course.root, work, lesson.name)
    folder = work / "release" / lesson.name
    release = read_notebook(folder / f"{lesson.name}.ipynb", lesson.name)
    mistakes = release_mistakes(lesson, release)
    mistakes += leaks(folder, lesson, plan.lessons, f"release/{lesson.name}")
    _raise(mistakes)
    return release.notebook


def _try_lessons(
    failed: Failed, lessons: list[Lesson], releases: dict[str, NotebookNode], work: Path
) -> None:
    """Execute the lessons and keep the outputs that their sources show."""
    from tqdm import tqdm

    from proflab_course.grading.command import default_jobs

    trials: list[Trial] = []
    for lesson in lessons:
        with failed.named(lesson):
            folder = work / "release" / lesson.name
            trials.append(Trial(lesson, releases[lesson.name], folder))
    runs = [run for trial in trials for run in trial.runs]
    done = execute(runs, default_jobs())
    list(tqdm(done, "executing", len(runs), disable=None, leave=False))
    mistakes: list[str] = []
    for trial in trials:
        with failed.named(trial.lesson):
            mistakes += trial.mistakes()
            keep_outputs(trial.lesson.notebook, trial.executed())
    _raise(mistakes)


def _stamp_release(lesson: Lesson) -> None:
    """Name the release in the lesson's metadata, which nbgrader hands on to students."""
    from proflab_course.grading.answer_key import released_from

    released = released_from(lesson.notebook)
    lesson.notebook.metadata[STAMP] = make_stamp(lesson.name, released.cells)


def _copy_support_files(plan: Plan, name: str, target: Path) -> None:
    """The lesson's pictures and data, and built.py with what the lessons before it built."""
    place = plan.course.module(name).parent
    for path in support_files(place):
        if path.name in ("built.py", f"{name}.ipynb"):
            raise CourseError(f"modules/{name}/{path.name} is made by the build: delete it")
        copy = target / path.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if plan.before(name):
        title = f"What the lessons before {name} built: the solutions of their exercises."
        _write(target / "built.py", render(plan.built[name], f"{title}\n\n{MADE_BY}."))


def support_files(folder: Path) -> Iterator[Path]:
    """The files of a lesson's folder but its text; hidden ones and caches are left out."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in IGNORED for part in parts)
        if path.is_file() and not hidden and path != folder / f"{folder.name}.py":
            yield path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _raise(mistakes: list[str]) -> None:
    if mistakes:
        raise CourseError("\n".join(dict.fromkeys(mistakes)))


# ── putting it in place ──────────────────────────────────────────────────────────────────────


@contextmanager
def workplace(root: Path) -> Iterator[Path]:
    """A temporary folder on the root's own file system, so that moving out of it is atomic.

    What cannot be written there, or from there put into place, is told in a sentence.
    """
    work = None
    try:
        work = Path(tempfile.mkdtemp(prefix=".build-", dir=root))
        yield work
    except OSError as error:
        raise CourseError(
            f"the build cannot be written in {root}: {what_is_wrong(error)}, then run it again; "
            "what was there is as it was"
        ) from None
    finally:
        if work:
            shutil.rmtree(work, ignore_errors=True)


def _swap(root: Path, work: Path, folders: list[str]) -> None:
    """Put the new folders in the place of the former; on any failure the former come back."""
    moved: list[str] = []
    try:
        for folder in folders:
            new, place, former = work / folder, root / folder, work / "former" / folder
            place.parent.mkdir(exist_ok=True)
            former.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                place.rename(former)
            moved.append(folder)
            new.rename(place)
    except BaseException:
        for folder in moved:
            shutil.rmtree(root / folder, ignore_errors=True)
            if (work / "former" / folder).exists():
                (work / "former" / folder).rename(root / folder)
        raise


def _differences(root: Path, work: Path, folder: str) -> Iterator[str]:
    made, present = _contents(work / folder), _contents(root / folder)
    for name in sorted(made.keys() | present.keys()):
        if name not in present:
            yield f"{folder}/{name} is missing"
        elif name not in made:
            yield f"{folder}/{name} does not come from modules/"
        elif made[name] != present[name]:
            yield f"{folder}/{name} is out of step with modules/"


def _contents(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in paths if not IGNORED & set(path.relative_to(folder).parts))
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}
