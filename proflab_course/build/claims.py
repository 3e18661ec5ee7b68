"""Try what a lesson claims: the examples in its docstrings hold, and its milestone is reached.

Both are executed after the last cell of the solved lesson, in the notebook's names, as a student
who has solved everything would.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import KNOWN, parsed
from proflab_course.build.measures import docstrings
from proflab_course.cases.case import Step
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Cell, Lesson
from proflab_course.grading.plan import Reply, RunBlock

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

MILESTONE_SECONDS = 2.0  # of CPU time
_TRY = """
def _proflab_examples(text):
    import doctest
    test = doctest.DocTestParser().get_doctest(text, globals(), "example", None, 0)
    told = []
    flags = doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    runner.run(test, out=told.append, clear_globs=False)
    return "".join(told)
"""


@dataclass(frozen=True)
class Milestone:
    """Hold what can be done when a lesson is solved: a sentence, and an expression that does it."""

    sentence: str = ""
    expression: str = ""
    where: str = ""


def keep_milestone(lesson: Lesson, facts: Facts) -> Lesson:
    """Take a lesson's milestone out of it: the build puts it into lesson.json, and tries it."""
    facts.milestones[lesson.name] = take_milestone(lesson)
    return lesson


def drop_milestone(lesson: Lesson, facts: Facts) -> Lesson:
    """Forget the milestone of a lesson whose track leaves out what it takes."""
    facts.milestones[lesson.name] = milestone_in(lesson, facts.milestones[lesson.name])
    return lesson


def take_milestone(lesson: Lesson) -> Milestone:
    """Take a lesson's milestone out of its cells; an empty one where it has none.

    Raises CourseError if the cell is not a comment and one expression below it.
    """
    cells = lesson.named("milestone")
    for cell in cells:
        lesson.notebook.cells.remove(cell.node)
    if not cells:
        return Milestone()
    if len(cells) > 1:
        raise CourseError(f"{cells[1].where}: a lesson has one milestone")
    return _milestone(cells[0])


def _milestone(cell: Cell) -> Milestone:
    lines = cell.source.strip().splitlines()
    count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    sentence = " ".join(line.lstrip("# ").rstrip() for line in lines[:count])
    nodes = cell.statements()
    if not sentence or len(nodes) != 1 or not isinstance(nodes[0], ast.Expr):
        what = "a milestone is a comment, `# You can …`, and below it one expression"
        raise CourseError(f"{cell.where}: {what}")
    return Milestone(sentence, "\n".join(lines[count:]).strip(), cell.where)


def milestone_in(lesson: Lesson, milestone: Milestone) -> Milestone:
    """Return the milestone where the lesson, as a track has it, defines all of its names."""
    if not milestone.expression:
        return milestone
    known: set[str] = set(KNOWN)
    for cell in lesson.named("exercise", "given", "setup", "free"):
        known |= bound_names(cell.statements())
    missing = used_names(parsed(milestone.expression)) - known
    return Milestone() if missing else milestone


class Claims:
    """Try what a lesson claims after its last cell, and say what that brings to light."""

    def __init__(self, lesson: Lesson, milestone: Milestone) -> None:
        self.milestone = milestone
        self.examples = [
            (cell, text)
            for cell in lesson.named("exercise")
            for text in docstrings(cell)
            if doctest.DocTestParser().get_examples(text)
        ]

    def block(self) -> RunBlock:
        """Return what is to be executed."""
        steps = [Step("setup", _TRY)]
        steps += [Step("value", f"_proflab_examples({text!r})") for _, text in self.examples]
        if self.milestone.expression:
            steps.append(Step("value", f"str((\n{self.milestone.expression}\n))"))
        return RunBlock(False, tuple(steps))

    def mistakes(self, replies: Iterable[Reply]) -> Iterator[str]:
        """Yield a sentence for each claim that does not hold, by the block's replies."""
        _, *said = replies
        for (cell, _), reply in zip(self.examples, said, strict=False):
            if wrong := reply.value if reply.state == "value" else reply.message:
                yield f"{cell.where}: the example in its docstring does not hold: {_brief(wrong)}"
        if self.milestone.expression:
            yield from self._milestone_mistakes(said[-1])

    def _milestone_mistakes(self, reply: Reply) -> Iterator[str]:
        where, limit = self.milestone.where, MILESTONE_SECONDS
        if reply.state != "value":
            raised = ": ".join(filter(None, [*reply.raised[:1], reply.message]))
            yield f"{where}: in the solved notebook the milestone raises {raised}"
        elif reply.seconds > limit:
            took = f"the milestone takes {reply.seconds:.1f} s"
            yield f"{where}: {took}, {limit:g} s of CPU time at most"


def _brief(report: str) -> str:
    """Return doctest's report on an example, from what failed on, as one line."""
    _, _, failed = report.rpartition("Failed example:")
    return " ".join(failed.split())
