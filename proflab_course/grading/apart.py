"""Run the grader's own code on what a student handed in, in a process without any student code.

The runner that executes hand-ins executes one more, made by the grader, with the same confinement
and limits: its files are the grader's data and the course's own `built.py`. Whatever ends it, or
whatever it raises, is the grader's failure and never a verdict on the hand-in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proflab_course.cases.case import Step
from proflab_course.course.layout import CourseError
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.plan import Plan, Reply, RunBlock, RunCell, Runner, Submission
from proflab_course.grading.run.student_files import compiled, gather_files

_BUILT = "built.py"


def run_apart(
    setup: str,
    asked: Sequence[tuple[str, float]],
    files: Mapping[str, bytes],
    runner: Runner,
    submission: Submission,
) -> list[Reply]:
    """Return the reply to each expression, which has a value, in a process of the grader's own.

    setup: the code before. asked: expressions, with the CPU seconds that each takes if all is well.
    submission: its files hold the course's built.py. Raises GraderFailed where one has no value,
    and CourseError without built.py.
    """
    built = gather_files(submission).get(_BUILT)
    if built is None or b"op_facts" not in built:
        lesson = f"{submission.support.name}: " if submission.support else ""
        raise CourseError(f"{lesson}races are counted by op_facts, which built.py has to define")
    plan: Plan = (RunCell(setup, given=True),)
    plan += tuple(
        RunBlock(False, (Step("value", code),), seconds=seconds) for code, seconds in asked
    )
    course = {_BUILT: built}
    data = {**files, **course, **compiled(course)}
    own = Submission(f"{submission.name}, judged", files=data, graders=True)
    result = runner.run(own, plan)
    replies = [reply for [reply] in result.replies[1:]]
    for reply in replies:
        if reply.state != "value":
            raise GraderFailed(f"judging it was ended: {_why(reply) or result.sentence}")
    return replies


def _why(reply: Reply) -> str:
    return ": ".join(filter(None, [*reply.raised[:1], reply.message]))
