"""The build in order: what becomes of a lesson, and what it is held to.

A pass takes a lesson and returns it, an audit yields a sentence for each mistake, and a note is a
sentence that stops nothing; each is called with a lesson and the build's facts (`facts.py`). A
stage calls its passes one after the other, each for all lessons, then its audits, then its notes.
What features add to the stages is a `Building` of `course/features.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from proflab_course.build.audit import (
    course_mistakes,
    defined_again,
    delimiter_mistakes,
    form_mistakes,
    grammar_mistakes,
    lost_in_release,
    unclear_wrong,
)
from proflab_course.build.claims import drop_milestone, keep_milestone
from proflab_course.build.draw import count_drawn, draw_cases, draw_program
from proflab_course.build.durations import tell_durations
from proflab_course.build.edition import edition_mistakes, mark_mistakes
from proflab_course.build.evidence import evidence_notes
from proflab_course.build.facts import Audit, Facts, Pass
from proflab_course.build.leaks import tells_secrets
from proflab_course.build.limits import asks_too_much
from proflab_course.build.map_cell import put_map
from proflab_course.build.notes import changed_since
from proflab_course.build.overlay import put_private_cases
from proflab_course.build.stamp import (
    fold_code,
    put_last_cells,
    put_links,
    put_points,
    set_up_colab,
)
from proflab_course.course.features import buildings
from proflab_course.course.notebook import Lesson
from proflab_course.tracks.apply import take_track
from proflab_course.tracks.mentions import asks_for_given, link_mentions, mentioned_in_code
from proflab_course.tracks.objectives import keep_promises, unserved_objectives


@dataclass(frozen=True)
class Stage:
    """Hold passes, and the audits and notes of what they leave."""

    passes: tuple[Pass, ...] = ()
    audits: tuple[Audit, ...] = ()
    notes: tuple[Audit, ...] = ()


def alone(audit: Callable[[Lesson], Iterable[str]]) -> Audit:
    """Return an audit of what can be read off a lesson alone."""
    return lambda lesson, facts: audit(lesson)


def features_pass(lesson: Lesson, facts: Facts) -> Lesson:
    """Put what features add into a lesson."""
    for each in (each for part in buildings() for each in part.passes):
        lesson = each(lesson, facts)
    return lesson


def features_audit(kind: Literal["written", "released"]) -> Audit:
    """Return the audit that asks all features for what is wrong with a lesson."""
    return lambda lesson, facts: (
        told for part in buildings() for each in getattr(part, kind) for told in each(lesson, facts)
    )


# ── every lesson of the course: a track takes of it, and later lessons build on all of it ──

WRITTEN = Stage(
    passes=(keep_milestone, put_private_cases),
    audits=(alone(grammar_mistakes), alone(mark_mistakes), features_audit("written")),
)

# ── every lesson of the class's track ──

SERVED = Stage(audits=(unserved_objectives,))  # before a track leaves some of them out
TAKEN = Stage(passes=(take_track, keep_promises))
MEASURED = Stage(passes=(drop_milestone,), audits=(asks_too_much,))  # before the build adds to it
LINKED = Stage(passes=(link_mentions,), audits=(mentioned_in_code,), notes=(asks_for_given,))
# The order matters: points change headings, whose cells' ids the map links to; links go into the
# first cell, the map below that one and Colab's cell below the map; and the last cells stay open
# because they come after the folding. Features go first, for their cells have points, too.
STAMPED = Stage(
    passes=(
        features_pass,
        put_links,
        put_points,
        put_map,
        set_up_colab,
        fold_code,
        put_last_cells,
        tell_durations,
    ),
)

# ── the lessons that are to be made ──

COURSE_AUDITS: tuple[Callable[[Facts], Iterable[str]], ...] = (
    lambda facts: course_mistakes(facts.whole),
    lambda facts: edition_mistakes(facts.course, facts.wanted),
    lambda facts: (each for lesson in facts.whole for each in delimiter_mistakes(lesson)),
)
AUDITS: tuple[Audit, ...] = (
    form_mistakes,
    lambda lesson, facts: facts.too_much[lesson.name],
    unclear_wrong,
    defined_again,
)
NOTES: tuple[Audit, ...] = (alone(evidence_notes), changed_since, count_drawn)
DRAWS: tuple[Pass, ...] = (draw_cases, draw_program)
RELEASE_AUDITS: tuple[Audit, ...] = (lost_in_release, tells_secrets, features_audit("released"))
