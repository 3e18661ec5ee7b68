"""Deal essays to markers, in balance: each to one of them, and a few to all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from proflab_classroom.marking.essay_log import Marking


def deal(
    lesson: str,
    students: Iterable[str],
    names: Sequence[str],
    marking: Marking,
    overlap: int = 0,
) -> Iterator[dict[str, Any]]:
    """Yield an event for each essay whose markers change.

    What one of these markers has stays, and so does what anybody has marked; everything else goes
    to the one with the fewest. overlap: how many essays all of them mark.
    """
    order = sorted(students)
    # By the lesson, so that nobody marks the same students each time; other words deal otherwise.
    random.Random(f"0 {lesson}").shuffle(order)
    markers = {student: _kept(student, names, marking) for student in order}
    before = {student: marking.dealt.get(student) for student in order}
    loads = Counter({name: 0 for name in names})
    loads.update(name for student in order for name in markers[student] if name in names)
    common = sum(set(names) <= set(markers[student]) for student in order)
    fresh = [student for student in order if not markers[student]]
    once = [s for s in order if markers[s] and not set(names) <= set(markers[s])]
    unmarked = [student for student in once if student not in marking.marks]
    for student in [*fresh, *unmarked, *(s for s in once if s not in unmarked)]:
        if common >= overlap or len(names) < 2:
            break
        loads.update(name for name in names if name not in markers[student])
        markers[student] = [*markers[student], *(n for n in names if n not in markers[student])]
        common += 1
    for student in fresh:
        if not markers[student]:
            name = min(names, key=lambda each: (loads[each], names.index(each)))
            markers[student] = [name]
            loads[name] += 1
    for student in order:
        if markers[student] != before[student]:
            yield {"event": "dealt", "lesson": lesson, "student": student, "to": markers[student]}


def _kept(student: str, names: Sequence[str], marking: Marking) -> list[str]:
    """Return the markers who keep an essay: those of `names`, and who has marked it."""
    marked = marking.marks.get(student, {})
    dealt = marking.dealt.get(student, [])
    kept = [name for name in dealt if name in names or name in marked]
    return [*kept, *(name for name in marked if name and name not in kept)]
