"""Run a lesson as a class would, and see that the score is what it should be.

Three notebooks are executed: the graded one with all solutions must earn all points without an
error; the release with the solutions filled in, all else as students get it, must run to its end;
the empty release must earn nothing and raise nothing but the NotImplementedError of what is still
to be written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from proflab.lesson import guesses
from proflab.lesson.race.cost import MACHINES
from proflab.lesson.race.known import floor_of
from proflab.lesson.race.plans import given_cost
from proflab_course.build.claims import Claims, Milestone
from proflab_course.cases.plan import PlanRace
from proflab_course.cases.race import Race
from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson, set_cell_ids
from proflab_course.grading.answer_key import Key, make_key
from proflab_course.grading.grade_notebook import Graded, conclude, make_plan
from proflab_course.grading.limits import Limits
from proflab_course.grading.match_cells import Aligned, Slot, align, copy_cell
from proflab_course.grading.plan import Reply, Result, Runner, Submission
from proflab_course.grading.races import (
    Name,
    as_metadata,
    given_block,
    judge_jobs,
    plans_of,
    races_of,
    simulated,
)
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

_PACKAGES = "docs/write-a-lesson.md lists the packages that a lesson may import"
# nbval's own tag: tests/lessons/test_nbval.py has it compare what source/ shows with a new run.
SHOWN_TAG = "nbval-check-output"


class Run:
    """One notebook of a lesson: prepared, then executed, then judged.

    Only `execute` may be called in a thread, for it parses no Python: where two threads do at once,
    some releases of Python 3.11 raise a SystemError.
    """

    def __init__(
        self, aligned: Aligned, key: Key, folder: Path, full: bool, claims: Claims | None = None
    ) -> None:
        self.aligned, self.key, self.folder = aligned, key, folder
        self.plan, self.places = make_plan(aligned, key, full)
        self.races = list(races_of(key))
        self.given: dict[Name, Any] = {}  # the tapes of the given programs
        self.raced: dict[Name, Any] = {}
        # Behind the lesson's own items: `_keep_given` and `last_replies` count on this order.
        if self.races:
            self.plan += (given_block(key),)
        if claims is not None:
            self.plan += (claims.block(),)
        self.outcome: Result | Exception = RuntimeError("the notebook was not executed")

    def execute(self, runner: Runner) -> None:
        """Execute the notebook; what fails is kept for `conclude`."""
        try:
            submission = Submission("notebook", None, self.folder)
            self.outcome = runner.run(submission, self.plan)
            if self.races:
                self._keep_given(self.outcome)
            own = self.aligned, self.key, self.outcome, self.places
            self.raced |= judge_jobs(*own, runner, submission, self.given)
            self.raced |= simulated(*own)
        except Exception as error:
            self.outcome = error

    def _keep_given(self, result: Result) -> None:
        """Keep the given programs' tapes; raise CourseError for one that is not traced."""
        replies = result.replies[len(self.places)]
        for name, reply in zip(self.races, replies, strict=True):
            if reply.state != "value":
                told = ": ".join([*reply.raised[:1], reply.message])
                where = f"{self.key.name}, cell {name[0]}, {name[1]!r}"
                raise CourseError(f"{where}: the given program is not traced: {told}")
            self.given[name] = reply.value

    def conclude(self) -> Graded:
        """Return scores, errors and outputs; raise what executing it raised."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        result = replace(self.outcome, replies=self.outcome.replies[: len(self.places)])
        return conclude(self.aligned, self.key, result, self.places, self.raced)

    @property
    def last_replies(self) -> list[Reply]:
        """The replies to what was tried after the last cell."""
        return self.outcome.replies[-1] if isinstance(self.outcome, Result) else []


def solved_run(lesson: Lesson, folder: Path) -> Run:
    """Return a run of a lesson with its solutions, graded as a hand-in is.

    folder: the files beside the notebook
    """
    key = make_key(lesson.name, lesson.notebook)
    return Run(align(lesson.notebook, key), key, folder, full=False)


# Full marks are 1.02 times what the solution costs, 1.045 where programs are drawn (draw.py), and
# more where older hand-ins would lose by less, as 13's as it is in modules/.
MOST_ABOVE = 1.15


class Trial:
    """A lesson's runs, and what they bring to light.

    lesson: as written; release: the student's notebook; folder: the files that students get;
    milestone: what the lesson's last cell will show.
    """

    def __init__(
        self,
        lesson: Lesson,
        release: NotebookNode,
        folder: Path,
        milestone: Milestone | None = None,
    ) -> None:
        self.graded = solved_run(lesson, folder)
        key = self.graded.key
        filled = Aligned([Slot(cell) for cell in _filled_in(lesson, release)])
        self.lesson = lesson
        self.claims = Claims(lesson, milestone or Milestone())
        self.released = Run(filled, key, folder, full=True, claims=self.claims)
        self.empty = Run(align(release, key), key, folder, full=True)

    @property
    def runs(self) -> list[Run]:
        """All runs, those that take longest first."""
        return [self.released, self.empty, self.graded]

    def mistakes(self) -> list[str]:
        """Return a sentence for each cell that does not run or score as it should."""
        solved = self.graded.conclude()
        if cause := _cause(self.lesson, solved):
            return [cause]
        found = [*_solved_mistakes(self.lesson, solved), *self._race_mistakes()]
        found += self._released_mistakes(solved)
        found += self.claims.mistakes(self.released.last_replies)
        return found + list(_empty_mistakes(self.lesson, self.empty.conclude()))

    def executed(self) -> NotebookNode:
        """Return the solved release with the outputs of its run."""
        notebook = self.released.conclude().notebook
        set_cell_ids(notebook)
        return notebook

    def races(self) -> list[list[str]]:
        """Return what the grader needs of the lesson's races, for the source's metadata."""
        return as_metadata(self.graded.given)

    def costs(self) -> list[tuple[str, str, float]]:
        """Return what the lesson's own solutions cost in its races, for the source's metadata."""
        cases = self.graded.conclude().cases
        return [(c.cell, c.label, c.cost) for c in cases if c.cost is not None]

    def _race_mistakes(self) -> Iterator[str]:
        """Yield a sentence for each race whose thresholds do not fit its own programs or plans."""
        places = {cell.name: cell.where for cell in self.lesson.named("test")}
        key = self.graded.key
        for name, each in (races_of(key) | plans_of(key)).items():
            found, where = self.graded.raced.get(name, {}), f"{places[name[0]]}, {name[1]!r}"
            if "ms" not in found:
                continue  # its solution fails, which is told elsewhere
            paid, given = found["ms"], found["given"]
            if not 1 <= each.full / paid <= MOST_ABOVE:
                costs = f"the solution costs {paid:.4g}, and full is {each.full:.4g}"
                yield f"{where}: {costs}: write full={1.02 * paid:.4g}"
            if isinstance(each, PlanRace):
                given = given_cost(each.rule, each.parameters)
                # Costs in modules/ have few digits; a share is rounded to hundredths (points.py).
                if abs(each.given / given - 1) > 1e-4:
                    yield f"{where}: the given plan costs {given:.7g}: write given={given:.7g}"
            if each.best is not None and not found["floor"] <= each.best <= paid * (1 + 1e-4):
                costs = f"the solution costs {paid:.4g}, the floor is {found['floor']:.4g}"
                yield f"{where}: {costs}, and best is {each.best:.4g}: it lies between the two"
            if not each.full < given:
                yield f"{where}: the given program costs {given:.4g}, no more than full marks"
            if found["floor"] > paid:
                yield f"{where}: the floor, {found['floor']:.4g}, is above the solution: say floor="
            # A floor is said for products that nobody can avoid; below the bytes' own it is idle.
            if isinstance(each, Race) and "floor" in each.options:
                least = floor_of(self.graded.given[name], MACHINES[each.machine])
                if found["floor"] < least <= paid:
                    said = f"floor={found['floor']:.4g} is below {least:.4g}, what bytes alone take"
                    yield f"{where}: {said}: leave it out"

    def _released_mistakes(self, solved: Graded) -> Iterator[str]:
        """Yield errors that a student with right solutions would meet and the grader does not."""
        known = {_where(self.lesson, solved.notebook, index) for index, _, _ in solved.errors}
        released = self.released.conclude()
        for index, kind, message in _first_errors(released):
            where = _where(self.lesson, released.notebook, index)
            if where not in known:
                how = "in the solved release, run as students run it"
                yield f"{where}: {how}, it raises {kind}: {message}"


def execute(runs: Iterable[Run], jobs: int) -> Iterator[Run]:
    """Execute runs, `jobs` at a time; yields each, in order, once it is done."""
    limits = Limits()
    # Nothing of a run keeps a traceback, and an empty notebook raises in every second cell.
    runner = SubprocessRunner(replace(limits, statement_seconds=limits.cell_seconds), False)

    def executed(run: Run) -> Run:
        run.execute(runner)
        return run

    with ThreadPoolExecutor(jobs) as pool:  # each waits for its notebook's process
        yield from pool.map(executed, runs)


def _filled_in(lesson: Lesson, release: NotebookNode) -> Iterator[NotebookNode]:
    """Return the release's cells, with the lesson's solutions in those that students fill in."""
    solutions = {cell.name: cell.source for cell in lesson.named("exercise", "answer", "manual")}
    for cell in release.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        yield NotebookNode(copy_cell(cell), source=solutions.get(name, cell.source))


def _cause(lesson: Lesson, solved: Graded) -> str:
    """Return a sentence for the first cell that raises and is no test cell: others follow from it.

    Empty where there is none.
    """
    for index, kind, message in solved.errors:
        metadata = solved.notebook.cells[index].metadata.get("nbgrader", {})
        if not metadata.get("grade"):
            told = f"in the solved notebook it raises {kind}: {message}"
            missing = "" if kind != "ModuleNotFoundError" else f"; {_PACKAGES}"
            return f"{_where(lesson, solved.notebook, index)}: {told}{missing}"
    return ""


def _solved_mistakes(lesson: Lesson, solved) -> Iterator[str]:
    cases = {(case.cell, case.label): case for case in solved.cases}
    for index, kind, message in solved.errors:
        where = _where(lesson, solved.notebook, index)
        name = solved.notebook.cells[index].metadata.get("nbgrader", {}).get("grade_id")
        if case := cases.get((name, message)):
            why = " ".join("; ".join(filter(None, (case.reason, case.diagnosis))).split())
            yield f"{where}: the solution fails the case {case.label!r}: {why}"
        else:
            yield f"{where}: in the solved notebook it raises {kind}: {message}"
    if solved.errors:
        return
    for cell in lesson.named("test"):
        score = solved.scores.get(cell.name, 0.0)
        if score != cell.points:
            yield f"{cell.where}: the solution earns {score:g} of {cell.points:g} points"


def _empty_mistakes(lesson: Lesson, empty) -> Iterator[str]:
    for cell in lesson.named("test"):
        score = empty.scores.get(cell.name, 0.0)
        if score:
            yield f"{cell.where}: an empty notebook earns {score:g} points"
    for index, kind, message in _first_errors(empty):
        name = empty.notebook.cells[index].metadata.get("nbgrader", {}).get("grade_id", "")
        if kind != "NotImplementedError" and not is_answer_cell(name):
            where = _where(lesson, empty.notebook, index)
            yield f"{where}: in an empty notebook it raises {kind}: {message}"


def _first_errors(graded) -> Iterator[tuple[int, str, str]]:
    """Yield the error at which each cell would stop in Jupyter; the grader goes on from there."""
    seen = set()
    for index, kind, message in graded.errors:
        if index not in seen:
            seen.add(index)
            yield index, kind, message


def _where(lesson: Lesson, notebook: NotebookNode, index: int) -> str:
    """Return the lesson's cell that an executed notebook's cell comes from."""
    wanted = notebook.cells[index].metadata.get("nbgrader", {}).get("grade_id")
    named = {cell.name: cell.where for cell in lesson.cells if cell.name}
    return named.get(wanted) or Lesson("", lesson.place, notebook).cells[index].where


def keep_outputs(notebook: NotebookNode, executed: NotebookNode) -> None:
    """Give the cells whose output nbval compares the text that they gave when last executed.

    A cell that has changed since, in `executed`, gets none.
    """
    outputs = {cell.get("id"): cell for cell in executed.cells if cell.cell_type == "code"}
    number = 0
    for cell in notebook.cells:
        ran = outputs.get(cell["id"])
        if SHOWN_TAG in cell.metadata.get("tags", []) and ran and ran.source == cell.source:
            number += 1
            kept = [_kept_output(output, number) for output in ran.outputs]
            cell.outputs = [output for output in kept if output]
            # nbval refuses a cell that has outputs and was never run.
            cell.execution_count = number if cell.outputs else None


def _kept_output(output: NotebookNode, number: int) -> NotebookNode | None:
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    data = output.get("data", {})
    if "text/plain" not in data:
        return None
    kept = {"output_type": output.output_type, "metadata": {}}
    if output.output_type == "execute_result":
        kept["execution_count"] = number
    shown = {"text/plain": "".join(data["text/plain"])}
    if guesses.MIME in data:
        shown[guesses.MIME] = data[guesses.MIME]  # nbval misses what a run has and the file has not
    return nbformat.from_dict({**kept, "data": shown})
