"""Shorten the list of a student's failed cases where many of them have one cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from proflab_course.grading.broken_cells import consequence_of
from proflab_course.grading.grade_notebook import CaseResult


def causes_once(failed: Iterable[CaseResult]) -> list[CaseResult]:
    """Return the cases; those that failed because of one cell that did not run stand as one."""
    cases = list(failed)
    counts = Counter(cause for case in cases if (cause := consequence_of(case.reason)))
    kept, told = [], set[str]()
    for case in cases:
        cause = consequence_of(case.reason)
        if not cause:
            kept.append(case)
        elif cause not in told:
            told.add(cause)
            count = counts[cause]
            label = case.label if count == 1 else f"{count} cases"
            kept.append(replace(case, label=label, reason=cause, hidden=case.hidden and count == 1))
    return kept
