"""Execute a failed hidden block once more, by itself, if sharing a copy may be the reason.

Late blocks see the notebook's final state and the effects of the late blocks before them. If one of
them costs an exercise its points, the notebook is executed again with that block at its place, in a
copy of its own. Only the block's replies are used of that execution (`one_execution.py`).
"""

from __future__ import annotations

from dataclasses import replace

from proflab_course.grading.one_execution import add_execution, is_hidden
from proflab_course.grading.plan import Plan, Reply, Result, RunBlock, Runner, Submission
from proflab_course.grading.run.time_allowance import NOT_REACHED


def in_doubt(plan: Plan, result: Result, costly: set[int]) -> set[int]:
    """Return the places in the plan of executed late blocks in the test cells `costly`."""
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
    """Return the result with the replies of the doubtful blocks executed at their own places."""
    chosen = [place for place, item in enumerate(plan) if place in doubtful or not is_hidden(item)]
    items = (replace(plan[place], seconds=plan[place].seconds or 0.0) for place in chosen)
    shorter = tuple(replace(x, late=False) if isinstance(x, RunBlock) else x for x in items)
    second = runner.run(submission, shorter)
    replies = dict(enumerate(result.replies)) | dict(zip(chosen, second.replies, strict=True))
    place = None if second.place is None else chosen[second.place]
    second = replace(second, replies=[replies[n] for n in range(len(plan))], place=place)
    return add_execution(plan, result, second, doubtful)
