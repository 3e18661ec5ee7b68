"""The share of a test cell's points that a lesson with partial credit gives for its cases.

Only hidden cases earn: visible ones tell their answers. A case that expects an exception is passed
by a function that always raises, so it earns beside a case that expects a value and has it.
"""

from __future__ import annotations

from collections.abc import Iterable

from proflab_course.course.test_cells import Answer


def share(cases: Iterable[tuple[bool, Answer, bool]]) -> float:
    """Return the share of a cell's points, from 0 to 1, for its cases: (hidden, answer, passed).

    It is that of its hidden cases that passed, if one of these expects a value; each visible case
    that failed counts as one more that did.
    """
    cases = list(cases)
    passed = [answer for hidden, answer, fine in cases if hidden and fine]
    if all(answer.call == "expect_raises" for answer in passed):
        return 0.0
    return len(passed) / sum(hidden or not fine for hidden, _, fine in cases)
