"""Make and audit source/ and release/ of a course's lessons, in a folder of one's own.

A lesson's text becomes the instructor's notebook, with its pictures and built.py beside it; from
that nbgrader makes the student's. What is made is read for mistakes and leaks, and executed.
"""

from __future__ import annotations

import errno
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from pprint import pformat
from textwrap import indent
from typing import Literal

from nbformat import NotebookNode
from tqdm import tqdm

from proflab.lesson import outline
from proflab_course.assemble.command import MADE_BY, render
from proflab_course.assemble.gather import Collection, gather
from proflab_course.build import draw
from proflab_course.build.audit import (
    course_mistakes,
    delimiter_mistakes,
    grammar_mistakes,
    lesson_mistakes,
    release_mistakes,
)
from proflab_course.build.claims import Milestone, milestone_in, take_milestone
from proflab_course.build.concepts import (
    add_concepts,
    answers_to,
    asked_in,
    concept_mistakes,
    for_track,
    told_concepts,
)
from proflab_course.build.durations import read_durations, stamp_durations
from proflab_course.build.edition import edition_mistakes, mark_mistakes
from proflab_course.build.leaks import leaks, told_secret
from proflab_course.build.limits import limit_mistakes, limit_note, untimed_sections
from proflab_course.build.map_cell import Place, builders
from proflab_course.build.marked_text import whole_text
from proflab_course.build.measures import Measured, measured
from proflab_course.build.mentions import Tree, lacking_ideas, track_line
from proflab_course.build.notes import lesson_notes
from proflab_course.build.objectives import drop_promises, objective_mistakes
from proflab_course.build.overlay import apply_overlay, overlay_path
from proflab_course.build.policy import Policy, chosen_policy
from proflab_course.build.release import generate_release
from proflab_course.build.sections import lesson_outline
from proflab_course.build.stamp import Address, stamp
from proflab_course.build.stand_ins import stand_in_mistakes
from proflab_course.build.tracks import (
    Taken,
    apply_track,
    read_tracks,
    with_track,
)
from proflab_course.build.trial import Trial, execute, keep_outputs
from proflab_course.build.vary import vary_cases, vary_sentence
from proflab_course.course.concepts import FILE as CONCEPTS
from proflab_course.course.concepts import ORDERS, Concept, read_concepts
from proflab_course.course.files import what_is_wrong
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, notebook_text, read_module, read_notebook
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.course.secret import seeded_key
from proflab_course.course.settings import read_settings
from proflab_course.course.tracks import DEFAULT, Track, Tracks
from proflab_course.course.tracks import PUBLIC as TRACKS
from proflab_course.grading.answer_key import released_from
from proflab_course.grading.races import COSTS, METADATA

STEPS = ("source", "release")
USE = "build"  # of what a seed draws
PRIVATE = "private"  # the folder of a class's settings
IGNORED = {"__pycache__", ".ipynb_checkpoints"}
PICTURES = {".png", ".svg", ".jpg"}  # a picture is shipped where a cell shows it
Audit = Literal["static", "full"]
_BUILT_TITLE = """\
The course's own solutions of the exercises before {}.

Where mine.py holds functions of yours that pass their checks, those are used in place of these.\
"""
_USE_MINE = """
# ── yours, where there are any ──

from proflab.lesson.mine import use_mine as _use_mine

_use_mine(
    globals(),
    "{}",
{},
)
"""


@dataclass
class Plan:
    """All lessons of a track, and the names of those to be made.

    taken: the track's lessons; whole: all of the course, as they are written.
    figures: what the wanted lessons ask of their readers, before the build adds to them.
    concepts: the questions of each lesson, all that are written; concept_points: whether they earn.
    self_study: whether the last cell tells the answers to concept questions, once all are answered.
    lock: whether a demo cell waits for its reader's guess. varies: whether hidden cases have other
    numbers for this class or each of its students. key: what hidden cases and the order of options
    are drawn from, None if they are as written; secret: what a lesson's draw.py draws from.
    notes: sentences for the instructor, which stop nothing.
    """

    course: Course
    taken: dict[str, Taken]
    whole: list[Lesson]
    wanted: list[str]
    track: Track | None = None
    tracks: Tracks | None = None
    milestones: dict[str, Milestone] = field(default_factory=dict)
    built: dict[str, Collection] = field(default_factory=dict)
    figures: dict[str, list[Measured]] = field(default_factory=dict)
    beyond_limits: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    policy: Policy | None = None
    concepts: dict[str, list[Concept]] = field(default_factory=dict)
    concept_points: bool = False
    self_study: bool = False
    lock: bool = False
    varies: bool = False
    key: bytes | None = None
    secret: bytes | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        course: Course,
        wanted: Iterable[str] = (),
        seed: int | None = None,
        track: str | None = None,
        secret: bytes | None = None,
        public: bool = False,
    ) -> Plan:
        """Read every lesson: names are unique over the course, and later ones must not leak.

        seed: hidden cases vary by it where a lesson allows that; None: they are as written.
        track: its name; None: the track that the course takes, or one like it that has the wanted.
        secret: what a lesson's draw.py draws from; by default it follows from the seed.
        public: True for the course's own release/, where no class's settings are.
        """
        names = course.lessons()
        if not names:
            raise CourseError(f"{course.root / 'modules'} holds no lesson: nothing to build")
        lessons: list[Lesson] = []
        milestones: dict[str, Milestone] = {}
        for name in names:
            path = course.module(name)
            if not path.exists():
                raise CourseError(f"modules/{name} has no {name}.py: every lesson is one such file")
            lessons.append(read_module(path, name, f"modules/{name}/{name}.py"))
            milestones[name] = take_milestone(lessons[-1])
            apply_overlay(lessons[-1], overlay_path(course.root, name))
        # Of all lessons, whole: what follows splits test cells that the track leaves out, too.
        _raise([mistake for lesson in lessons for mistake in grammar_mistakes(lesson)])
        concepts = {name: read_concepts(course, name) for name in names}
        tracks = read_tracks(course.root, lessons)
        if tracks is None and track is not None:
            raise CourseError(f"--track {track}: the course declares no tracks in {TRACKS}")
        taken_track = tracks.track(track) if tracks else None
        chosen = sorted({course.lesson(name) for name in wanted})
        if tracks and track is None:
            taken_track = tracks.with_all(chosen)
        in_track = [name for name in names if not tracks or name in taken_track.lessons]
        chosen = chosen or in_track
        if other := [name for name in chosen if name not in in_track]:
            what = f"the track {taken_track.name} does not have {other[0]}"
            raise CourseError(f"{what} (it has {', '.join(taken_track.lessons)})")
        plan = cls(course, {}, lessons, chosen, taken_track, tracks, milestones)
        plan.key = None if seed is None else seeded_key(course.root, USE, seed)
        plan.secret = plan.key if secret is None else secret
        plan.policy = chosen_policy(course.root)
        settings = read_settings(course.root)
        plan.concepts = concepts
        plan.concept_points = settings.concept_points == 1
        plan.self_study = public and bool(tracks and tracks.self_study) and seed is None
        plan.self_study &= not (course.root / PRIVATE).exists()
        plan.lock = settings.lock
        plan.varies = seed is not None or settings.variants == "student"
        plan._take_and_stamp(published=track in (None, tracks.use if tracks else None))
        return plan

    def _take_and_stamp(self, published: bool) -> None:
        """Make the track's lessons of the whole ones, and write into them what the build adds."""
        _raise([mistake for lesson in self.whole for mistake in mark_mistakes(lesson)])
        address, durations = Address.read(self.course.root), read_durations(self.course.root)
        for lesson in self.whole:
            if self.track is None:
                self.taken[lesson.name] = Taken(whole_text(lesson))
            elif lesson.name in self.track.lessons:
                self.taken[lesson.name] = apply_track(lesson, self.tracks, self.track)
                times = self.tracks.times[lesson.name]
                if lesson.name in self.wanted:
                    self.beyond_limits[lesson.name] += objective_mistakes(lesson, times)
                drop_promises(self.taken[lesson.name], lesson, times)
        for name in self.wanted:
            lesson = self.taken[name].lesson
            self.milestones[name] = milestone_in(lesson, self.milestones[name])
            self._limit(lesson)
        tree = Tree.of(self.taken.values(), self.whole, address)
        if self.track is not None:
            tree.link_mentions()
            _raise(list(tree.mistakes()))
            self.notes += tree.notes()
        self._add_concepts()
        names = [lesson.name for lesson in self.whole]
        built = builders(self.whole)
        for name, taken in self.taken.items():
            line = ""
            if taken.title:
                lacking = lacking_ideas(name, self.tracks, self.taken, names, address)
                line = track_line(taken, self.track, address, lacking)
            times = self.tracks.times[name] if self.tracks else None
            place = Place(
                tuple(self.taken),
                {each: lesson[:2] for each, lesson in built.items() if lesson < name},
                times if times and times.listed else None,
                taken.gone,
                line,
            )
            own = not (self.course.module(name).parent / draw.FILE).exists()
            stamp(taken.lesson, address, place, published and own, self.policy)
            stamp_durations(taken.lesson, durations)

    def _add_concepts(self) -> None:
        """Put the block of concept questions into each lesson of the track that has some."""
        for whole in self.whole:
            concepts, taken = self.concepts[whole.name], self.taken.get(whole.name)
            _raise(list(concept_mistakes(concepts, whole, f"modules/{whole.name}/{CONCEPTS}")))
            if taken is not None and concepts:
                kept = for_track(concepts, whole, taken)
                told = self.self_study
                lesson = add_concepts(taken.lesson, kept, self.key, self.concept_points, told)
                self.taken[whole.name] = replace(taken, lesson=lesson)

    def orders(self, lesson: Lesson) -> dict[str, str]:
        """Return the letters of each question of a lesson in the order that the class sees."""
        there = asked_in(lesson)
        concepts = self.concepts[lesson.name]
        return {each.id: each.order(self.key) for each in concepts if each.name in there}

    def _limit(self, lesson: Lesson) -> None:
        """Measure a lesson, and hold it to the limits if it is limited and in the default track."""
        figures = measured(lesson, self.course.module(lesson.name).parent)
        self.figures[lesson.name] = figures
        self.beyond_limits[lesson.name] += untimed_sections(lesson)
        limited = self.tracks is not None and self.tracks.times[lesson.name].limited
        if limited and self.track.name == DEFAULT:
            self.beyond_limits[lesson.name] += limit_mistakes(lesson, figures)
        else:
            self.notes += filter(None, [limit_note(lesson, figures)])

    @property
    def lessons(self) -> list[Lesson]:
        """The track's lessons."""
        return [taken.lesson for taken in self.taken.values()]

    def before(self, name: str) -> list[Lesson]:
        """Return the lessons before this one, whole: built.py has the same code in every track."""
        return [lesson for lesson in self.whole if lesson.name < name]


def make(plan: Plan, work: Path, audit: Audit = "full") -> _Failed:
    """Make and audit work/source and work/release of the plan's lessons; returns what failed."""
    failed = _Failed()
    mistakes = course_mistakes(plan.whole)
    chosen = [lesson for lesson in plan.lessons if lesson.name in plan.wanted]
    mistakes += edition_mistakes(plan.course, plan.wanted)
    for lesson in plan.whole:
        mistakes += delimiter_mistakes(lesson)  # also of others: their secrets must be known
    for lesson in chosen:
        with failed.named(lesson):
            mistakes += _static_mistakes(plan, lesson)
    _raise(mistakes)
    releases: dict[str, NotebookNode] = {}
    for lesson in tqdm(failed.others(chosen), "making", disable=None, leave=False):
        with failed.named(lesson):
            releases[lesson.name] = _make_release(plan, lesson, work)
    if audit == "full":
        _try_lessons(failed, failed.others(chosen), releases, work, plan.milestones)
    for lesson in failed.others(chosen):
        if audit == "static" and (former := plan.course.source(lesson.name)).exists():
            executed = read_notebook(former, lesson.name).notebook
            keep_outputs(lesson.notebook, executed)
            for name in {METADATA, COSTS} & executed.metadata.keys():  # of its last execution
                lesson.notebook.metadata[name] = executed.metadata[name]
        if orders := plan.orders(lesson):
            lesson.notebook.metadata[ORDERS] = orders
        path = work / "source" / lesson.name / f"{lesson.name}.ipynb"
        _write(path, notebook_text(lesson.notebook))
    return failed


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


def _static_mistakes(plan: Plan, lesson: Lesson) -> list[str]:
    """Return the mistakes to be read off a lesson and those before it; keep what they built."""
    earlier = plan.before(lesson.name)
    built = plan.built[lesson.name] = gather(earlier)
    mistakes = lesson_mistakes(lesson, plan.course.module(lesson.name).parent, built.names)
    mistakes += plan.beyond_limits[lesson.name]
    return mistakes + gather([*earlier, lesson]).notes


def _make_release(plan: Plan, lesson: Lesson, work: Path) -> NotebookNode:
    """Make and audit work/source and work/release of a lesson; returns the students' notebook."""
    source = work / "source" / lesson.name
    _copy_support_files(plan, lesson.name, source)
    if plan.policy:
        plan.policy.write(source)
    plan.notes += lesson_notes(plan.course, lesson, plan.whole)
    if plan.varies:
        plan.notes += filter(None, [vary_sentence(lesson, plan.key is not None)])
    vary_cases(lesson, plan.key, source)
    place = plan.course.module(lesson.name).parent
    if plan.secret is not None and (place / draw.FILE).exists():
        races = draw.draw_lesson(lesson, place, source, plan.secret)
        plan.notes.append(f"{lesson.name}: its program and {races} of its cases drawn")
    released = released_from(lesson.notebook)
    taken = plan.taken[lesson.name]
    lesson.notebook.metadata[STAMP] = make_stamp(lesson.name, released.cells, taken.title)
    reached = plan.milestones[lesson.name]
    described = with_track(lesson_outline(lesson, released), taken)
    milestone = reached.sentence, reached.expression
    answers = answers_to(plan.concepts[lesson.name], lesson) if plan.self_study else {}
    described = replace(
        described,
        milestone=milestone,
        lock=plan.lock,
        questions=tuple(asked_in(lesson)),
        answers=answers,
    )
    _write(source / outline.FILE, described.text())
    _write(source / f"{lesson.name}.ipynb", notebook_text(lesson.notebook))
    generate_release(plan.course.root, work, lesson.name)
    folder = work / "release" / lesson.name
    release = read_notebook(folder / f"{lesson.name}.ipynb", lesson.name)
    mistakes = release_mistakes(lesson, release)
    mistakes += leaks(folder, lesson, plan.whole, f"release/{lesson.name}", taken.given)
    concepts = [each for each in sum(plan.concepts.values(), []) if each.name not in answers]
    mistakes += told_concepts(folder, concepts, f"release/{lesson.name}", plan.self_study)
    mistakes += told_secret(folder, plan.course.root, f"release/{lesson.name}")
    _raise(mistakes)
    return release.notebook


def _try_lessons(
    failed: _Failed,
    lessons: list[Lesson],
    releases: dict[str, NotebookNode],
    work: Path,
    milestones: dict[str, Milestone],
) -> None:
    """Execute the lessons and keep the outputs that their sources show."""
    trials: list[Trial] = []
    for lesson in lessons:
        with failed.named(lesson):
            folder = work / "release" / lesson.name
            milestone = milestones[lesson.name]
            trials.append(Trial(lesson, releases[lesson.name], folder, milestone))
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
    _raise(mistakes)
    _raise(_stand_ins(failed, failed.others(lessons), work))


def _stand_ins(failed: _Failed, lessons: list[Lesson], work: Path) -> list[str]:
    """Return a sentence for each helper that passes a test cell in its exercise's place."""
    mistakes: list[str] = []
    with ThreadPoolExecutor(default_jobs()) as pool:  # each waits for a process of its own
        searches = [
            pool.submit(stand_in_mistakes, lesson, work / "source" / lesson.name)
            for lesson in lessons
        ]
        for lesson, search in zip(lessons, searches, strict=True):
            with failed.named(lesson):
                mistakes += search.result()
    return mistakes


def _copy_support_files(plan: Plan, name: str, target: Path) -> None:
    """Copy a lesson's pictures and data, and write built.py with what the ones before it built."""
    place = plan.course.module(name).parent
    cells = "\n".join(cell.source for cell in plan.taken[name].lesson.cells)
    for path in support_files(place):
        if path.suffix in PICTURES and path.name not in cells:
            continue  # of a part that the track leaves out
        if path.name in ("built.py", outline.FILE, f"{name}.ipynb"):
            raise CourseError(f"modules/{name}/{path.name} is made by the build: delete it")
        copy = target / path.relative_to(place)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    if plan.before(name):
        text = render(plan.built[name], f"{_BUILT_TITLE.format(name)}\n\n{MADE_BY}.")
        earlier = (lesson for lesson in plan.lessons if lesson.name < name)
        written = {each.name: [cell.name for cell in each.named("exercise")] for each in earlier}
        exercises = indent(pformat(written, 1, 95, compact=True), " " * 4)
        _write(target / "built.py", text + _USE_MINE.format(name, exercises))


def support_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a lesson's folder but what the build alone reads, and caches."""
    left_out = [folder / name for name in (f"{folder.name}.py", draw.FILE, CONCEPTS)]
    left_out += folder.glob(draw.BESIDE)
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part in IGNORED for part in parts)
        if path.is_file() and not hidden and path not in left_out:
            yield path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _raise(mistakes: list[str]) -> None:
    if mistakes:
        raise CourseError("\n".join(dict.fromkeys(mistakes)))


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
