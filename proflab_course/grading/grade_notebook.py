"""Grade one notebook: match it with the lesson, let a runner execute it, and judge the replies.

The runner receives only code; labels, expected values and tolerances stay in the key.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbformat import NotebookNode

from proflab.checks.compare import Verdict
from proflab.lesson.race.judge import BELOW_FLOOR
from proflab_course.cases.case import Answer
from proflab_course.cases.reader import TestCell
from proflab_course.course.answer_cells import is_answer_cell
from proflab_course.grading.answer_key import Key, make_key
from proflab_course.grading.answers import Answered, answered
from proflab_course.grading.broken_cells import BrokenCells
from proflab_course.grading.failed_setup import NOT_REACHED, sentence_of
from proflab_course.grading.judge_case import judge_case
from proflab_course.grading.late_blocks import in_doubt, late_blocks, look_again
from proflab_course.grading.limits import SOLVED_SECONDS
from proflab_course.grading.match_cells import Aligned, Slot, align
from proflab_course.grading.one_execution import add_execution
from proflab_course.grading.output_cells import OutputWriter, lost_output, output_node
from proflab_course.grading.plan import (
    Plan,
    Reply,
    Result,
    RunBlock,
    RunCell,
    Runner,
    Submission,
)
from proflab_course.grading.points import Tally
from proflab_course.grading.races import Judged, Raced, judge_jobs, simulated
from proflab_course.grading.run.subprocess_runner import SubprocessRunner
from proflab_course.grading.run.time_allowance import LEFT_OUT
from proflab_course.grading.size_limits import cut_cases, cut_notebook, cut_text
from proflab_course.grading.submissions.read_notebook import notebook_of


@dataclass(frozen=True)
class CaseResult:
    """One case's verdict. `reason` and `diagnosis` of a hidden case are for instructors only.

    share, cost: of a race, as a Verdict has them; gradings of older releases have no cost
    """

    cell: str
    label: str
    hidden: bool
    passed: bool
    reason: str = ""
    diagnosis: str = ""
    share: float | None = None
    cost: float | None = None


@dataclass
class Graded:
    """The outcome of grading one notebook.

    `scores`: points of each autograded test cell by grade_id; `errors`: (cell index, exception's
    name, message) of everything that was raised; `unanswered`: manual cells left as released;
    `below_floor`: cells of races that a person has to mark; `answers`: to concept questions, see
    `answers.py`.
    """

    status: str
    sentence: str
    scores: dict[str, float]
    cases: list[CaseResult]
    notebook: NotebookNode
    errors: list[tuple[int, str, str]] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)
    below_floor: list[str] = field(default_factory=list)
    answers: dict[str, Answered] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Autograded points."""
        return sum(self.scores.values())


def grade_notebook(
    notebook: NotebookNode,
    source: NotebookNode | Key,
    folder: Path | None = None,
    full: bool = True,
    runner: Runner | None = None,
    submission: Submission | None = None,
) -> Graded:
    """Grade `notebook` by the lesson's `source` notebook (or its key).

    folder: the lesson's support files; full: execute demo cells too; submission: the student's own
    folder, if there is one.
    """
    key = source if isinstance(source, Key) else make_key("lesson", source)
    submission = submission or Submission("notebook", None, folder)
    return grade_aligned(align(notebook, key), key, submission, full, runner, folder)


def grade_aligned(
    aligned: Aligned,
    key: Key,
    submission: Submission,
    full: bool,
    runner: Runner | None = None,
    folder: Path | None = None,
) -> Graded:
    """Grade a notebook whose cells have been matched with the lesson's."""
    key = replace(key, tests=key.tests | {name: key.former[name] for name in aligned.once})
    plan, places = make_plan(aligned, key, full)
    runner = runner or SubprocessRunner()
    result = runner.run(submission, plan)
    if result.status == "timed out":
        # Measured only now, for in most classes nothing runs out of time.
        key.times.ensure(lambda: measure_solved(key, submission.support or folder, full, runner))
        roomier, _ = make_plan(aligned, key, full)
        # Once hidden input was sent, only more time than before is worth another execution.
        if roomier != plan and (not result.hidden_sent or has_more_time(plan, roomier)):
            result = add_execution(plan, result, runner.run(submission, roomier))
            plan = roomier
    judged: Judged = {}
    graded = race_and_conclude(aligned, key, result, places, runner, submission, judged)
    if doubtful := in_doubt(plan, result, costly_cells(graded, aligned, key)):
        result = look_again(runner, submission, plan, result, doubtful)
        graded = race_and_conclude(aligned, key, result, places, runner, submission, judged)
    graded.cases = cut_cases(graded.cases)
    if graded.below_floor:
        cells = ", ".join(dict.fromkeys(graded.below_floor))
        graded.sentence = "; ".join(filter(None, (graded.sentence, f"{cells}: {BELOW_FLOOR}")))
    notes = filter(None, (graded.sentence, cut_notebook(graded.notebook)))
    graded.sentence = cut_text("; ".join(notes))
    return graded


def race_and_conclude(
    aligned: Aligned,
    key: Key,
    result: Result,
    places: list[int],
    runner: Runner,
    submission: Submission,
    judged: Judged,
) -> Graded:
    """Return what `conclude` does, once tapes, plans and logs among the replies are judged.

    judged: what is judged already of this hand-in, and gets the rest.
    """
    raced = judge_jobs(aligned, key, result, places, runner, submission, judged=judged)
    raced |= simulated(aligned, key, result, places)
    return conclude(aligned, key, result, places, raced)


def make_plan(aligned: Aligned, key: Key, full: bool) -> tuple[Plan, list[int]]:
    """Return the items to execute, and for each item the position of its cell."""
    executed = [n for n, slot in enumerate(aligned.slots) if is_executed(slot, full)]
    late = late_blocks(aligned, key, executed)
    plan: list[RunCell | RunBlock] = []
    places: list[int] = []
    for position in executed:
        slot = aligned.slots[position]
        if slot.key is not None and slot.key.kind == "test":
            name = slot.key.grade_id
            items: list[RunCell | RunBlock] = [
                RunBlock(
                    b.hidden, b.steps, b.doubles, position,
                    late=(position, number) in late,
                    seconds=key.times.of(name, number),
                )
                for number, b in enumerate(key.tests[name].blocks)
            ]  # fmt: skip
        elif slot.key is not None:
            seconds = key.times.of(slot.key.grade_id)
            code = f"{_once_given(slot)}{slot.cell.source}"
            items = [RunCell(code, seconds, slot.key.kind == "locked")]
        else:
            items = [RunCell(slot.cell.source)]
        plan += items
        places += [position] * len(items)
    return tuple(plan), places


def has_more_time(plan: Plan, roomier: Plan) -> bool:
    """Return True if `roomier` has a longer time from the solved notebook for an item."""
    pairs = zip(plan, roomier, strict=True)
    return any((old.seconds or 0.0) < (new.seconds or 0.0) for old, new in pairs)


def _once_given(slot: Slot) -> str:
    """Return code that imports the names of an older release which still exist."""
    lines = slot.once_given.splitlines()
    return "".join(f"try:\n    {line}\nexcept ImportError:\n    pass\n" for line in lines)


def is_executed(slot: Slot, full: bool) -> bool:
    """Return True for a cell with code in it; full: demo cells, too."""
    if slot.cell.cell_type != "code" or not slot.cell.source.strip() or not slot.earns:
        return False
    return full or slot.key is None or not slot.key.demo


def solved_slots(key: Key) -> list[Slot]:
    """Return the lesson's cells with its own solutions, as those of a hand-in."""
    return [
        Slot(NotebookNode(cell.master, source=text), cell if cell.grade_id else None)
        for cell, text in zip(key.cells, key.solved, strict=True)
    ]


def measure_solved(
    key: Key, folder: Path | None, full: bool, runner: Runner
) -> dict[tuple[str, int], float]:
    """Return the CPU seconds of each cell and block of the lesson with its own solutions.

    It is executed like a hand-in, in a session of its own. A statement without a reply has no time.
    """
    slots = solved_slots(key)
    plan, places = make_plan(Aligned(slots), key, full)
    plan = tuple(replace(item, seconds=SOLVED_SECONDS) for item in plan)
    result = runner.run(Submission("the solved notebook", None, folder), plan)
    found: dict[tuple[str, int], float] = {}
    numbers: Counter[str] = Counter()
    for place, replies in zip(places, result.replies, strict=True):
        if (cell := slots[place].key) is not None:
            number = numbers[cell.grade_id]
            numbers[cell.grade_id] += 1
            found[cell.grade_id, number] = max((r.seconds for r in replies), default=0.0)
    return found


def conclude(
    aligned: Aligned, key: Key, result: Result, places: list[int], raced: Raced | None = None
) -> Graded:
    """Return scores, verdicts and the executed notebook from the replies to a plan.

    raced: what the tapes and plans among the replies are worth
    """
    by_place: dict[int, list[list[Reply]]] = {}
    for place, replies in zip(places, result.replies, strict=True):
        by_place.setdefault(place, []).append(replies)
    graded = Graded("graded", "", {}, [], executed_notebook(aligned, key))
    broken = BrokenCells(aligned, by_place)
    count = 0
    for position, slot in enumerate(aligned.slots):
        found = by_place.get(position)
        if slot.key is not None and slot.key.kind == "test":
            test = key.tests[slot.key.grade_id]
            run = _TestRun(graded, position, key, test, raced or {}, broken)
            slot.cell.outputs = run.conclude(found or [])
        elif found:
            slot.cell.outputs = outputs = [output_node(o) for o in found[0][0].outputs]
            if found[0][0].state == "lost":
                slot.cell.outputs.append(lost_output(found[0][0].message))
            graded.errors += [
                (position, o["ename"], o["evalue"]) for o in outputs if o["output_type"] == "error"
            ]
        if found:
            count += 1
            number_cell(slot.cell, count)
    graded.unanswered = unanswered(aligned, key)
    name_outcome(graded, aligned, result)
    # Runners know items of a plan and no cells, so their sentence gets the cell's name here.
    if cell := _cell_of(result, places, aligned):
        graded.sentence = graded.sentence.replace(result.sentence, f"{result.sentence} ({cell})", 1)
    return graded


def costly_cells(graded: Graded, aligned: Aligned, key: Key) -> set[int]:
    """Return the positions of test cells that lost points only in hidden blocks."""
    failed = {case.cell for case in graded.cases if not case.passed and not case.hidden}
    return {
        position
        for position, slot in enumerate(aligned.slots)
        if slot.key is not None
        and slot.key.kind == "test"
        and graded.scores[slot.key.grade_id] < slot.key.points
        and not _all_passed(graded, slot.key.grade_id)  # of races, with a share
        # A visible case that failed costs a whole cell its points, whatever a second look finds.
        and (key.partial_credit or slot.key.grade_id not in failed)
    }


def _all_passed(graded: Graded, name: str) -> bool:
    return all(case.passed for case in graded.cases if case.cell == name)


@dataclass
class _TestRun:
    """One test cell's replies as they become cases, errors and outputs."""

    graded: Graded
    position: int
    key: Key
    test: TestCell
    raced: Raced
    broken: BrokenCells
    writer: OutputWriter = field(default_factory=OutputWriter)
    tally: Tally = field(default_factory=Tally)

    def conclude(self, replies: list[list[Reply]]) -> list[NotebookNode]:
        """Judge the test cell's cases and give it its points; return its outputs."""
        failure = None  # of the set-up
        for number, block_replies in enumerate(replies):
            ended = self._conclude_block(number, block_replies, failure)
            if not self.test.blocks[number].hidden:  # a hidden block runs in a copy
                failure = ended
        score = self.tally.points(self.test, self.key.partial_credit) if replies else 0.0
        self.graded.scores[self.test.name] = score
        return self.writer.finish(score, self.test.points, self.test.is_race)

    def _conclude_block(
        self, number: int, replies: list[Reply], failure: Reply | None
    ) -> Reply | None:
        """Judge a block's cases; return the first failed set-up's reply, from here or `failure`."""
        block = self.test.blocks[number]
        rows = zip(block.steps, block.answers, replies, strict=True)
        for index, (step, answer, reply) in enumerate(rows):
            if not block.hidden:
                self.writer.add(reply.outputs)
            if answer is not None:
                self.conclude_case(answer, reply, block.hidden, failure)
            elif reply.state in ("raised", "lost"):
                self.tally.add_failed_setup(reply)
                not_tried = reply.state == "lost" and reply.message in LEFT_OUT
                if failure is None and not not_tried:
                    failure = reply
                    error = (self.position, _error_name(reply), reply.message)
                    self.graded.errors.append(error)
                    explanation = sentence_of(reply, self.key, self.test, number, index)
                    cause = self.broken.cause(reply)
                    self.writer.setup_failed(step.code, reply, block.hidden, explanation, cause)
        return failure

    def conclude_case(
        self, answer: Answer, reply: Reply, hidden: bool, failure: Reply | None
    ) -> None:
        """Judge a case, or note that it was not reached since the set-up failed."""
        if failure is not None:
            verdict = Verdict(False, _why_not_reached(failure, self.broken))
            self.writer.not_reached(answer, hidden)
            self.tally.add_case(False, None)
        else:
            verdict = judge_case(answer, reply, self.raced.get((self.test.name, answer.label)))
            if not verdict.passed and (cause := self.broken.cause(reply)):
                verdict = Verdict(False, cause)
            if reply.state == "value" and verdict.reason == BELOW_FLOOR:  # by our own count
                self.graded.below_floor.append(self.test.name)
            self.writer.case(answer, reply, verdict, hidden)
            if not verdict.passed:
                error = (self.position, _error_name(reply), answer.label)
                self.graded.errors.append(error)
            self.tally.add_case(verdict.passed, reply, verdict.share)
            if hidden and is_answer_cell(self.test.name):
                self.graded.answers |= answered(self.key, answer.label, reply, verdict.passed)
        self.graded.cases.append(CaseResult(self.test.name, answer.label, hidden, **vars(verdict)))


def _why_not_reached(failure: Reply, broken: BrokenCells) -> str:
    """Return the reason for cases after a set-up statement with this reply."""
    raised = failure.raised[0] if failure.raised else failure.message
    return f"{NOT_REACHED}: {broken.cause(failure) or raised}"


def _error_name(reply: Reply) -> str:
    return reply.raised[0] if reply.raised else "AssertionError"


def number_cell(cell: NotebookNode, count: int) -> None:
    """Give a cell and its value the execution count of a run from top to bottom."""
    cell.execution_count = count
    for output in cell.outputs:
        if output["output_type"] == "execute_result":
            output["execution_count"] = count


def executed_notebook(aligned: Aligned, key: Key) -> NotebookNode:
    """Return the graded notebook with the cells of the slots, to be filled in."""
    names = ("kernelspec", "language_info")
    metadata = {name: key.metadata[name] for name in names if name in key.metadata}
    return notebook_of([slot.cell for slot in aligned.slots], metadata)


def unanswered(aligned: Aligned, key: Key) -> list[str]:
    """Return the grade_ids of manual cells that are still as they were released."""
    return [
        slot.key.grade_id
        for slot in aligned.slots
        if slot.key is not None
        and slot.key.kind == "manual"
        and slot.cell.source.strip() == slot.key.released.source.strip()
    ]


def _cell_of(result: Result, places: list[int], aligned: Aligned) -> str:
    """Return the grade_id of the cell that ran out of time; empty if there is none."""
    if result.status != "timed out" or result.place is None:
        return ""
    key = aligned.slots[places[result.place]].key
    return key.grade_id if key is not None else ""


# report/lesson_page.py sorts hand-ins by these names, and docs/instructors.md explains each.
def name_outcome(graded: Graded, aligned: Aligned, result: Result) -> None:
    """Set the submission's status, and the sentence for the student."""
    sentences = [result.sentence] if result.sentence else []
    sentences += aligned.notes
    if result.status != "finished":
        graded.status = result.status
    elif aligned.former and (aligned.changed or aligned.recovered):
        graded.status = "older release"
        count = len({*aligned.changed, *aligned.recovered})
        cells = "1 graded cell differs" if count == 1 else f"{count} graded cells differ"
        what = f"an older release of the lesson, unchanged: {cells}, and today's were graded"
        sentences.append(what)
    elif aligned.changed:
        graded.status = "tampered"
    elif aligned.recovered:
        graded.status = "metadata recovered"
        count = len(aligned.recovered)
        cells = "1 cell had lost its" if count == 1 else f"{count} cells had lost their"
        how = f"{'was' if count == 1 else 'were'} recognised by text, name and place"
        sentences.append(f"{cells} grading metadata and {how}")
    graded.sentence = "; ".join(sentences)
