"""Apply the rule of one visible execution wherever a plan is executed again.

A hidden statement reveals a hidden input to the student's code, which can store it in places that
survive until a later execution, such as the kernel's cache of names or the phase of a clock. As
soon as an execution has sent a hidden statement, students see only that execution; a later one
contributes hidden replies only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proflab_course.grading.plan import Plan, Result, RunBlock, RunCell

# Sentences for students about hidden blocks, without a number or name that code can choose.
HIDDEN_SENTENCES = {
    "timed out": "a hidden case ran out of time",
    "out of memory": "a hidden case took too much memory",
    "process died": "the process of a hidden case ended",
    "tampered": "the process of a hidden case broke the protocol",
}


def is_hidden(item: RunCell | RunBlock) -> bool:
    """Return True for a hidden block of a test cell."""
    return isinstance(item, RunBlock) and item.hidden


def add_execution(
    plan: Plan, first: Result, later: Result, wanted: set[int] | None = None
) -> Result:
    """Return the result that two executions of a plan give together.

    wanted: the places of the hidden blocks for which the later one was made; None for all.
    """
    if not first.hidden_sent:
        return later
    hidden = {place for place, item in enumerate(plan) if is_hidden(item)}
    wanted = hidden if wanted is None else wanted & hidden
    pairs = zip(first.replies, later.replies, strict=True)
    replies = [new if place in wanted else old for place, (old, new) in enumerate(pairs)]
    if first.status != "finished" and first.place not in wanted:
        about: dict[str, Any] = {
            "status": first.status,
            "sentence": first.sentence,
            "place": first.place,
        }
    else:
        place = later.place if later.place in wanted else None
        about = {"sentence": HIDDEN_SENTENCES.get(later.status, ""), "place": place}
    return replace(later, replies=replies, hidden_sent=True, **about)
