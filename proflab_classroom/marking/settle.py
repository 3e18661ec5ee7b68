"""Bring markers' marks together, and write into the gradebook what is settled.

A mark is settled if all markers of an essay have given the same items, or the instructor has
decided. A marker who is off the scheme on both answers to calibrate on settles none. Nothing that a
person has typed into formgrader is replaced but by such a decision, and what is replaced stays in
the gradebook's table proflab_replaced. A mark is of the essay that was marked: one that is handed
in later waits anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from proflab_classroom.marking.essay_log import Mark, Marking
from proflab_course.course.rubric import Rubric, item_line, item_marks, without_items
from proflab_course.grading.records.queries import EssayMark

EARLIER = "earlier"  # in place of the digest of an essay that was replaced before its mark was read


@dataclass
class State:
    """Say of a lesson's essays which are settled, differ, or wait, and for whom.

    off: essays that wait because a marker is off the scheme, with the names of such markers.
    left: essays whose mark in the gradebook is another, with the reason why it stays.
    """

    settled: dict[str, Mark] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    waiting: dict[str, list[str]] = field(default_factory=dict)
    off: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)


def off_the_scheme(rubric: Rubric, marking: Marking) -> set[str]:
    """Return the markers whose items differ from the scheme's on every answer to calibrate on."""
    anchors = rubric.anchor_marks.items()
    wrong = [
        {name for name, mark in marking.marks.get(answer, {}).items() if mark.items != items}
        for answer, items in anchors
    ]
    return set.intersection(*wrong) if wrong else set()


def from_formgrader(
    lesson: str, essays: dict[str, EssayMark], marking: Marking
) -> Iterator[dict[str, Any]]:
    """Yield an event for each mark by items in the gradebook that the log does not have."""
    for student, essay in essays.items():
        for name, items in item_marks(essay.comment).items():  # "": no name was chosen there
            known = marking.marks.get(student, {}).get(name)
            again = essay.checked and name in marking.outdated(student, essay.digest)
            if again or known is None or known.items != items:
                if name == "" and essay.mark in marking.written.get(student, []) and not again:
                    continue  # what settling has written itself
                mark = Mark(items, without_items(essay.comment))
                digest = essay.digest if essay.checked or not essay.digest else EARLIER
                yield event(lesson, student, name, mark, digest)


def event(lesson: str, student: str, name: str, mark: Mark, digest: str) -> dict[str, Any]:
    """Return the event of a mark; digest: of the essay that has it."""
    return {
        "event": "marked",
        "lesson": lesson,
        "student": student,
        "by": name,
        "items": sorted(mark.items),
        "comment": mark.comment,
        "essay": digest,
    }


def state_of(
    rubric: Rubric, essays: dict[str, EssayMark], marking: Marking, decided: dict[str, Mark]
) -> State:
    """Return what is settled; decided: the instructor's own marks."""
    state, uncalibrated = State(), off_the_scheme(rubric, marking)
    for student in sorted(essays):
        old = marking.outdated(student, essays[student].digest)
        marks = {n: each for n, each in marking.marks.get(student, {}).items() if n not in old}
        named = {name: mark for name, mark in marks.items() if name}
        missing = [name for name in marking.dealt.get(student, []) if name not in named]
        if student in decided:
            state.settled[student] = decided[student]
        elif len({mark.items for mark in named.values()}) > 1:
            state.differing.append(student)
        elif off := sorted(uncalibrated & named.keys()):
            state.off[student] = off
        elif missing:
            state.waiting[student] = missing
        elif not named and "" in marks:
            state.settled[student] = marks[""]
        elif named:
            comments = dict.fromkeys(mark.comment for mark in named.values() if mark.comment)
            items = next(iter(named.values())).items
            state.settled[student] = Mark(items, "\n\n".join(comments))
    return state


def to_write(
    essays: dict[str, EssayMark], marking: Marking, state: State, decided: dict[str, Mark]
) -> Iterator[tuple[str, float, str]]:
    """Yield each mark that the gradebook does not have, with its comment; note those that stay."""
    for student, mark in state.settled.items():
        now, points = essays[student], float(len(mark.items))
        if now.checked and now.mark == points and mark.items in item_marks(now.comment).values():
            continue
        written = marking.written.get(student, [])
        # Settling replaces its own marks; a decision, too, a person's, but only once: who types
        # another mark after it has the last word.
        ours = now.mark is None or now.mark == points or now.mark in written
        if not ours and (student not in decided or points in written[-1:]):
            state.left[student] = (
                f"the gradebook has {now.mark:g}, which somebody typed in formgrader, and the "
                f"items give {points:g}"
            )
            continue
        lines = dict.fromkeys([*without_items(now.comment).split("\n"), *mark.comment.split("\n")])
        comment = "\n".join([*filter(None, lines), item_line(mark.items)])
        yield student, points, comment
