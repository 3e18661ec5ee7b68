"""Read a course's lessons and make them ready: all that can be done before anything is written.

The passes of the first stages (`passes.py`) take a class's track of the lessons as they are
written, and put links, points and maps into them. `make.py` goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable

from proflab_course.build.facts import Facts
from proflab_course.build.passes import LINKED, MEASURED, SERVED, STAMPED, TAKEN, WRITTEN, Stage
from proflab_course.build.policy import chosen_policy
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson, read_module
from proflab_course.course.secret import seeded_key
from proflab_course.course.settings import read_settings
from proflab_course.tracks.apply import read_tracks
from proflab_course.tracks.read import PUBLIC as TRACKS

USE = "build"  # of what a seed draws


def prepare(
    course: Course,
    wanted: Iterable[str] = (),
    seed: int | None = None,
    track: str | None = None,
    secret: bytes | None = None,
    public: bool = False,
) -> Facts:
    """Read every lesson: names are unique over the course, and later ones must not leak.

    seed: hidden cases vary by it where a lesson allows that; None: they are as written.
    track: its name; None: the track that the course takes, or one like it that has the wanted.
    secret: what a lesson's draw.py draws from; by default it follows from the seed.
    public: True for the course's own release/, where no class's settings are.

    Raises CourseError with a line for each mistake that stands in the way of all others.
    """
    facts = Facts(course, _read(course), public=public and seed is None)
    names = [lesson.name for lesson in facts.whole]
    raise_mistakes(run_stage(WRITTEN, facts, names))
    _choose(facts, names, wanted, track)
    settings = read_settings(course.root)
    facts.key = None if seed is None else seeded_key(course.root, USE, seed)
    facts.secret = facts.key if secret is None else secret
    facts.policy = chosen_policy(course.root)
    facts.lock = settings.lock
    facts.own_numbers = settings.variants == "student"
    # Though few may be made, all are taken: maps and mentions tell of the others.
    in_track = [name for name in names if facts.track is None or name in facts.track.lessons]
    for name in facts.wanted:
        facts.too_much[name] += run_stage(SERVED, facts, [name])
    run_stage(TAKEN, facts, in_track)
    for name in facts.wanted:
        facts.too_much[name] += run_stage(MEASURED, facts, [name])
    for stage in (LINKED, STAMPED):
        raise_mistakes(run_stage(stage, facts, in_track))
    return facts


def _read(course: Course) -> list[Lesson]:
    names = course.lessons()
    if not names:
        raise CourseError(f"{course.root / 'modules'} holds no lesson: nothing to build")
    lessons: list[Lesson] = []
    for name in names:
        path = course.module(name)
        if not path.exists():
            raise CourseError(f"modules/{name} has no {name}.py: every lesson is one such file")
        lessons.append(read_module(path, name, f"modules/{name}/{name}.py"))
    return lessons


def _choose(facts: Facts, names: list[str], wanted: Iterable[str], track: str | None) -> None:
    """Keep which track is taken, and which of its lessons are to be made."""
    facts.tracks = tracks = read_tracks(facts.course.root, facts.whole)
    chosen = sorted({facts.course.lesson(name) for name in wanted})
    if tracks is None:
        if track is not None:
            raise CourseError(f"--track {track}: the course declares no tracks in {TRACKS}")
        facts.wanted = chosen or names
        return
    facts.published = track in (None, tracks.use)
    facts.track = taken = tracks.with_all(chosen) if track is None else tracks.track(track)
    facts.wanted = chosen or [name for name in names if name in taken.lessons]
    if other := [name for name in chosen if name not in taken.lessons]:
        what = f"the track {taken.name} does not have {other[0]}"
        raise CourseError(f"{what} (it has {', '.join(taken.lessons)})")


def run_stage(stage: Stage, facts: Facts, names: Iterable[str]) -> list[str]:
    """Call a stage's passes for lessons; return its audits' sentences, and keep its notes."""
    names = list(names)
    for each in stage.passes:
        for name in names:
            facts.put(each(facts.lesson(name), facts))
    lessons = [facts.lesson(name) for name in names]
    for lesson in lessons:
        facts.notes += (told for note in stage.notes for told in note(lesson, facts))
    return [told for lesson in lessons for audit in stage.audits for told in audit(lesson, facts)]


def raise_mistakes(mistakes: Iterable[str]) -> None:
    """Raise CourseError with each of these sentences, once; do nothing if there is none."""
    if found := dict.fromkeys(mistakes):
        raise CourseError("\n".join(found))
