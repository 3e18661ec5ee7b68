"""Executes a failed hidden block once more, by itself, where sharing a copy may be to blame.

Late blocks see the notebook as it is at its end, and what the late blocks before them left. Where
one of them costs an exercise its points, the notebook is executed again and the block at its place,
in a copy of its own: what that says counts.
"""

from __future__ import annotations

from dataclasses import replace

from proflab_course.grading.plan import Plan, Reply, Result, RunBlock, Runner, Submission
from proflab_course.grading.run.time_allowance import NOT_REACHED


def in_doubt(plan: Plan, result: Result, costly: set[int]) -> set[int]:
    """Return the places in the plan of late blocks in the test cells `costly`, if executed."""
    return {
        index
        for index, (item, replies) in enumerate(zip(plan, result.replies, strict=True))
        if isinstance(item, RunBlock)
        and item.late
        and item.cell in costly
        and not any(_had_no_time(reply) for reply in replies)
    }


def _had_no_time(reply: Reply) -> bool:
    return reply.state == "lost" and reply.message != NOT_REACHED


def look_again(
    runner: Runner, submission: Submission, plan: Plan, result: Result, doubtful: set[int]
) -> Result:
    """Return the result with the doubtful blocks' replies as they are at their own places."""
    chosen = [i for i, item in enumerate(plan) if i in doubtful or not _is_hidden(item)]
    items = (plan[i] for i in chosen)
    shorter = tuple(replace(x, late=False) if isinstance(x, RunBlock) else x for x in items)
    second = runner.run(submission, shorter)
    replies = dict(enumerate(result.replies))
    replies |= {i: new for i, new in zip(chosen, second.replies, strict=True) if i in doubtful}
    return replace(second, replies=list(replies.values()))


def _is_hidden(item: object) -> bool:
    return isinstance(item, RunBlock) and item.hidden
