"""The rule that a hand-in has one visible execution, for all that execute a plan again.

A hidden statement tells the student's code a hidden input, and there are places where this code
can leave it for a later execution: which names the kernel has looked up, the phase of a clock.
So as soon as an execution has sent a hidden statement, it is the one that counts for all that
students are shown: a later one brings hidden replies only.
"""

from __future__ import annotations

from dataclasses import replace

from proflab_course.grading.plan import Plan, Result, RunBlock, RunCell

# What a student reads about hidden blocks: sentences without a number or name that code can choose.
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
    """Return what counts of two executions of a plan.

    wanted: the places of the hidden blocks that the later one was for; None for all.
    """
    if not first.hidden_sent:
        return later
    hidden = {place for place, item in enumerate(plan) if is_hidden(item)}
    wanted = hidden if wanted is None else wanted & hidden
    pairs = zip(first.replies, later.replies, strict=True)
    replies = [new if place in wanted else old for place, (old, new) in enumerate(pairs)]
    if first.status != "finished" and first.place not in wanted:
        about = {"status": first.status, "sentence": first.sentence, "place": first.place}
    else:
        place = later.place if later.place in wanted else None
        about = {"sentence": HIDDEN_SENTENCES.get(later.status, ""), "place": place}
    return replace(later, replies=replies, hidden_sent=True, **about)
