"""Make source/ and release/ from modules/: one way, the same bytes each time.

All is made and audited in a temporary folder (`make.py`) and then put in place of the former, so
that a build that fails leaves everything as it was.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from proflab.lesson.mine import FILE as MINE
from proflab_course.build.by_student import students_of, write_students
from proflab_course.build.class_tree import class_tree, extension_notes
from proflab_course.build.limits import excess_lines, sizes_table
from proflab_course.build.make import IGNORED, STEPS, Depth, make, workplace
from proflab_course.build.policy import policy_notes
from proflab_course.build.prepare import USE, prepare
from proflab_course.build.redrawn import redrawn_note
from proflab_course.course.features import survey_named, survey_of
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_module
from proflab_course.course.secret import PLACE, course_secret, seeded_key
from proflab_course.course.words import few
from proflab_course.tracks.apply import read_tracks, track_points
from proflab_course.tracks.read import PUBLIC, Tracks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab build`."""
    parser.add_argument(
        "lessons",
        nargs="*",
        metavar="LESSON",
        help="the lessons to build (default: all), or a survey, such as `inventory`",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="change nothing; fail if a generated file is out of step, or with --track if a lesson "
        "of the track cannot be built",
    )
    parser.add_argument(
        "--through", metavar="N", help="make a separate tree for a class at lesson N"
    )
    parser.add_argument(
        "--track",
        nargs="?",
        const="",
        metavar="NAME",
        help="make a separate tree with a track's lessons; without a name, list the tracks",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="the new folder for that tree"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="draw hidden cases that may vary, and the order of options, by N and private/secret",
    )
    parser.add_argument(
        "--per-student",
        type=Path,
        metavar="ROSTER",
        help="draw a program for each student of a class list, for a lesson with a draw.py; "
        "with a survey: list the form that each takes",
    )
    parser.add_argument(
        "--remove-former",
        action="store_true",
        help="also remove lessons of a former track from source/ and release/",
    )
    parser.add_argument(
        "--sizes",
        action="store_true",
        help="build nothing; list what lessons ask of their readers",
    )
    parser.add_argument(
        "--audit",
        choices=("full", "static"),
        default="full",
        help="static: check without executing the notebooks (quicker)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build, check, or make a class's tree."""
    course = Course.find()
    alone = not (arguments.check or arguments.sizes or arguments.track is not None)
    if arguments.remove_former and not (alone and arguments.output is None):
        raise CourseError(
            "--remove-former goes with a build of source/ and release/: give it alone"
        )
    if arguments.track == "":
        print(tracks_table(course))
        return 0
    if arguments.sizes:
        print(sizes(course, arguments.lessons, arguments.track))
        return 0
    if arguments.check and arguments.track and not arguments.output and not arguments.through:
        return _check_track(course, arguments)
    if bool(arguments.through or arguments.track) != bool(arguments.output):
        what = "--through N or --track NAME and -o FOLDER go together"
        raise CourseError(f"{what}; --check --track NAME tries a track without it")
    if asked := list(filter(None, map(survey_named, arguments.lessons))):
        asked[0].build(course, arguments)
        return 0
    if arguments.output and arguments.lessons:
        what = "--track NAME takes the track's lessons"
        what = "--through N takes all lessons up to N" if arguments.through else what
        raise CourseError(f"{what}: do not name a lesson")
    if arguments.output:
        through, track, seed = arguments.through, arguments.track, arguments.seed
        notes: list[str] = []
        lessons = class_tree(course, through, arguments.output, arguments.audit, track, notes, seed)
        print(f"{arguments.output}: {', '.join(lessons)}")
        for sentence in [*notes, *extension_notes(course, lessons), *policy_notes(course)]:
            print(f"note: {sentence}")
        return 0
    if arguments.per_student is not None:
        return _per_student(course, arguments)
    if arguments.check and arguments.seed is not None and not (course.root / PLACE).exists():
        what = f"--check --seed compares with what was drawn from {PLACE}, which is missing"
        raise CourseError(f"{what}: put your copy of it back")
    if arguments.check:
        differences = check(course, arguments.lessons, arguments.audit, arguments.seed)
        return _report_check(differences)
    notes = []
    for lesson in build(course, arguments.lessons, arguments.audit, arguments.seed, notes):
        print(f"source/{lesson} and release/{lesson} are made from modules/{lesson}")
    for sentence in [*notes, *policy_notes(course)]:
        print(f"note: {sentence}")
    for path in strangers(course):
        print(f"note: {path} does not come from modules/; delete it if it is no longer needed")
    _tell_former(course, arguments.remove_former)
    return 0


def _check_track(course: Course, arguments: argparse.Namespace) -> int:
    """Make and audit a track's lessons, all or those that are named, and keep nothing of them."""
    facts = prepare(course, arguments.lessons, arguments.seed, arguments.track)
    with workplace(course.root) as work:
        if failed := make(facts, work, arguments.audit):
            raise CourseError("\n".join(failed.values()))
    print(f"track {arguments.track}: {', '.join(facts.wanted)} can be built")
    return 0


def _per_student(course: Course, arguments: argparse.Namespace) -> int:
    """Build a lesson and, for each student of a class list, a folder with files of their own."""
    if len(arguments.lessons) != 1:
        raise CourseError("--per-student ROSTER takes one lesson: name it before the option")
    name = course.lesson(arguments.lessons[0])
    students = students_of(course, name, arguments.per_student)
    seed, notes = arguments.seed, list[str]()
    secret = course_secret(course.root) if seed is None else seeded_key(course.root, USE, seed)
    build(course, [name], arguments.audit, seed, notes, secret)
    write_students(course, name, students, secret)
    print(f"source/{name} and release/{name} are made from modules/{name}")
    print(f"private/by_student: a folder with {name} for each of {len(students)} students")
    for sentence in [*notes, *policy_notes(course)]:
        print(f"note: {sentence}")
    return 0


def tracks_table(course: Course) -> str:
    """Return a line for each track: its name, time, lessons, exercises, points and title."""
    found = [read_module(course.module(name), name) for name in course.lessons()]
    tracks = read_tracks(course.root, found)
    if tracks is None:
        raise CourseError(f"the course declares no tracks in {PUBLIC}")
    lines = []
    for track in tracks.tracks.values():
        lessons = [lesson for lesson in found if lesson.name in track.lessons]
        exercises = sum(len(track.exercises[lesson.name]) for lesson in lessons)
        points = track_points(track, tracks, lessons)
        what = f"{len(lessons):>2} lessons  {exercises:>3} exercises  {points:>5g} points"
        used = "  (in use)" if track.name == tracks.use else ""
        lines.append(f"{track.name:<12} {track.hours:>3g} h  {what}  {track.title}{used}")
    return "\n".join(lines)


def sizes(course: Course, lessons: Iterable[str] = (), track: str | None = None) -> str:
    """Return a table of what lessons ask of their readers; for lessons that are named, what of it
    is above the limits, too.
    """
    named = list(lessons)
    figures = prepare(course, named, track=track).figures
    shown = figures if named else {}
    told = [line for name, found in shown.items() for line in excess_lines(name, found)]
    return "\n".join([sizes_table(figures), *told])


def _report_check(differences: list[str]) -> int:
    for sentence in differences:
        print(sentence, file=sys.stderr)
    if differences:
        print("run `proflab build` and commit what it makes", file=sys.stderr)
        return 1
    print("source/ and release/ are in step with modules/")
    return 0


def build(
    course: Course,
    lessons: Iterable[str] = (),
    audit: Depth = "full",
    seed: int | None = None,
    notes: list[str] | None = None,
    secret: bytes | None = None,
) -> list[str]:
    """Make source/ and release/ of the lessons (all, if none is named); returns their names.

    seed: draw other inputs for the hidden cases that may vary; None: as they are written.
    secret: what a lesson's draw.py draws from; by default it follows from the seed.
    notes: gets sentences for the instructor that stop nothing.
    """
    facts = prepare(course, lessons, seed, secret=secret, public=secret is None)
    with workplace(course.root) as work:
        failed = make(facts, work, audit)
        if notes is not None:
            notes += facts.notes
        made = [name for name in facts.wanted if name not in failed]
        if notes is not None:
            notes += redrawn_note(facts, made, work / "source")
        _swap(course.root, work, [f"{step}/{name}" for name in made for step in STEPS])
    if failed:
        made_too = f"\nmade: {', '.join(made)}" if made else ""
        raise CourseError("\n".join(failed.values()) + made_too)
    return made


def check(
    course: Course,
    lessons: Iterable[str] = (),
    audit: Depth = "full",
    seed: int | None = None,
) -> list[str]:
    """Return a sentence for each file in source/ and release/ that a build would change."""
    named = list(lessons)
    facts = prepare(course, named, seed, public=True)
    with workplace(course.root) as work:
        failed = make(facts, work, audit)
        differences = list(failed.values()) + [
            sentence
            for name in facts.wanted
            if name not in failed
            for step in STEPS
            for sentence in _differences(course.root, work, f"{step}/{name}")
        ]
    foreign = [] if named else strangers(course)
    return differences + [f"{path} does not come from modules/" for path in foreign]


def strangers(course: Course) -> list[str]:
    """Return what in source/ and release/ is of no lesson, READMEs and one's own mine.py apart."""
    known = {*course.lessons(), "README.md", MINE, *IGNORED}
    places = [course.root / step for step in STEPS if (course.root / step).is_dir()]
    found = (path for place in places for path in place.iterdir() if path.name not in known)
    strange = (path for path in found if survey_of(path.name) is None)
    return sorted(str(path.relative_to(course.root)) for path in strange)


def former_lessons(course: Course) -> list[str]:
    """Return the lessons in source/ or release/ that the course's track does not have.

    Lessons that a track `like` the course's own adds are built when they are named, and stay.
    """
    tracks = Tracks.read(course.root)
    if tracks is None:
        return []
    own = tracks.track()
    mine = [own, *(track for track in tracks.tracks.values() if track.like == own.name)]
    there = {name for step in STEPS for name in course.lessons(step)} & {*course.lessons()}
    return sorted(name for name in there if not any(tracks.has(track, name) for track in mine))


def _tell_former(course: Course, remove: bool) -> None:
    """Name the lessons of a former track; remove: delete them, unless somebody handed one in."""
    former = former_lessons(course)
    kept = [name for name in former if not remove or _is_in_use(course, name)]
    for name in (each for each in former if each not in kept):
        for step in STEPS:
            shutil.rmtree(course.root / step / name, ignore_errors=True)
        print(f"source/{name} and release/{name} are removed")
    if kept and remove:
        print(f"note: {few(kept)}: there are hand-ins, so these lessons stay")
    elif kept:
        what = f"source/ and release/ have {few(kept)}, which the track does not have"
        print(f"note: {what}: `proflab build --remove-former` removes them")


def _is_in_use(course: Course, name: str) -> bool:
    """Return True if a lesson was handed in, so that grades and feedback need its source."""
    places = ("submitted", "autograded")
    return any(next((course.root / place).glob(f"*/{name}"), None) for place in places)


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
