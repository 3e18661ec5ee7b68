"""A regrade executes only what has changed, and gives what executing everything gives."""

import sqlite3
from contextlib import closing
from types import SimpleNamespace

import nbformat
import pytest
from grading_course import LESSON, copy_course, hand_in, solved, warm_runner
from race_course import LESSON as RACES
from race_course import PAIRS, course_in, handed
from sample_class import EXPECTED
from test_variants import course_at

from proflab_course.grading.command import grade_class
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Reply, Result, RunBlock, RunCell, Submission
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run import keeping_runner
from proflab_course.grading.run.keeping_runner import KeepingRunner, KeptReplies
from proflab_course.grading.run.runners import conditions_of
from proflab_course.grading.run.time_allowance import TOO_LARGE

RIGHT_700 = '"without a bias only the weights count", linear_parameters(100, 7, False), 700'


class Watched:
    """The warm runner of all tests; it notes who had how many hidden blocks executed."""

    def __init__(self, conditions="as usual"):
        self.conditions, self.ran = conditions, []

    def run(self, submission, plan):
        """Execute, and note it."""
        self.ran.append((submission.name, sum(getattr(item, "hidden", False) for item in plan)))
        return warm_runner().run(submission, plan)

    def close(self):
        """Leave the runner to the other tests."""


def graded(course, lesson=LESSON, runner=None, **options):
    """Grade a class; return all that is known of each hand-in, and whose were executed how."""
    runner = runner or Watched()
    rows = grade_class(course, lesson, runner, progress=False, **options)
    assert all(row.fresh for row in rows)
    with Book(course.gradebook) as book:
        scores = book.scores(lesson)
        found = {
            name: (each.status, each.sentence, each.cases, each.guesses, scores[name])
            for name, each in book.outcomes(lesson).items()
        }
    return found, sorted(runner.ran)


def pages(course):
    """Return the graded notebooks, without times."""
    paths = sorted((course.root / "autograded").rglob("*.ipynb"))
    return {path: nbformat.read(path, as_version=4).cells for path in paths}


def mend(course, before, after, lesson=LESSON):
    path = course.source(lesson)
    notebook = nbformat.read(path, as_version=4)
    [cell] = [each for each in notebook.cells if before in each.source]
    cell.source = cell.source.replace(before, after)
    nbformat.write(notebook, path)


# ── a class ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    """The sample class, graded with a case that expects a wrong value."""
    course = copy_course(tmp_path_factory.mktemp("class"))
    mend(course, RIGHT_700, RIGHT_700.replace("700", "701"))
    found, ran = graded(course)
    assert found["complete"][-1]["auto"] < 100 and len(ran) >= len(EXPECTED) - 4
    return course


@pytest.mark.proves("a regrade executes only what has changed")
def test_a_mended_answer_has_nothing_executed_and_gives_what_a_full_grading_gives(sample):
    mend(sample, RIGHT_700.replace("700", "701"), RIGHT_700)
    found, ran = graded(sample)
    kept = pages(sample)
    assert ran == [] and found["complete"][-1]["auto"] == 100
    assert found == graded(sample, regrade=True)[0] and kept == pages(sample)
    for name, (status, passed, _) in EXPECTED.items():
        assert found[name][0] == status and (found[name][-1]["auto"] > 0) == bool(passed)
    mend(sample, RIGHT_700, RIGHT_700.replace("700", "701"))
    graded(sample)


@pytest.mark.whole
def test_a_mended_input_has_one_hidden_block_executed_and_gives_the_same(sample):
    other = RIGHT_700.replace("100, 7", "90, 7")
    mend(sample, RIGHT_700.replace("700", "701"), other.replace("700", "630"))
    found, ran = graded(sample)
    # Hand-ins with the same text share what is kept; a second look is at one block more.
    assert ran and {blocks for _, blocks in ran} <= {1, 2}
    again, all_of_them = graded(sample, regrade=True)
    assert found == again and dict(all_of_them)["complete"] > 5
    mend(sample, other.replace("700", "630"), RIGHT_700.replace("700", "701"))
    graded(sample)


@pytest.fixture
def course(tmp_path):
    """A course in which one student has everything and another is wrong, graded."""
    course = copy_course(tmp_path, ["complete", "forgets_biases"])
    graded(course)
    return course


def everybody(ran):
    return {name for name, _ in ran} == {"complete", "forgets_biases"}


def test_who_hands_in_again_is_executed_again(course):
    hand_in(course, "complete", solved(linear_parameters="pass"))
    runner = Watched()
    grade_class(course, LESSON, runner, progress=False)
    assert {name for name, _ in runner.ran} == {"complete"}


def test_another_secret_executes_the_hidden_cases_of_each_students_own_numbers(tmp_path):
    course = course_at(tmp_path / "course")
    graded(course)
    (course.root / "private" / "secret").write_bytes(bytes(32))
    found, ran = graded(course, new_variants=True)
    assert everybody(ran)
    again, _ = graded(course, regrade=True)
    assert found == again


def test_a_races_judgment_is_kept_and_its_marks_are_not(tmp_path):
    course = course_in(tmp_path)
    folder = course.root / "submitted" / "ben" / RACES
    folder.mkdir(parents=True)
    nbformat.write(handed(rows=PAIRS), folder / f"{RACES}.ipynb")
    before, ran = graded(course, RACES)
    assert "ben, judged" in dict(ran)
    mend(course, "full=0.01026", "full=0.02052", RACES)
    found, ran = graded(course, RACES)
    assert ran == [] and found["ben"][-1]["auto"] > before["ben"][-1]["auto"]
    assert found == graded(course, RACES, regrade=True)[0]


# ── one plan ─────────────────────────────────────────────────────────────────────────────────

PLAN = (
    RunCell("x = 1"),
    RunBlock(True, (SimpleNamespace(kind="value", code="x"),), cell=1, late=True),
    RunBlock(True, (SimpleNamespace(kind="value", code="x + 1"),), cell=1, late=True),
)
VALUES = [[Reply("done")], [Reply("value", value=(1, 0.1))], [Reply("value", value=b'["i","0x1"]')]]


def executed(tmp_path, *results, plans=(PLAN, PLAN), conditions="any", **submission):
    """Return the results of plans, and how many of them reached the runner; it has `results`.

    A result that is None is one of the plan that came.
    """
    left = list(results)

    def run(submission, plan):
        values = [VALUES[0] if isinstance(item, RunCell) else VALUES[1] for item in plan]
        return left.pop(0) or Result(replies=values)

    inner = SimpleNamespace(conditions=conditions, run=run)
    with closing(KeptReplies(tmp_path / "replies")) as kept:
        runner = KeepingRunner(inner, kept, "01")
        about = Submission("ann", **{"files": {}} | submission)
        found = [runner.run(about, plan) for plan in plans]
    return found, len(results) - len(left)


def test_what_ended_by_itself_comes_back_as_it_was(tmp_path):
    (first, second), count = executed(tmp_path, Result(replies=VALUES, hidden_sent=True))
    assert count == 1 and first == second and second.replies[2][0].value == b'["i","0x1"]'
    assert second.replies[1][0].value == (1, 0.1)


@pytest.mark.parametrize(
    "ended",
    [
        *(Result(status, "why", VALUES) for status in
          ("timed out", "out of memory", "process died", "tampered")),
        Result(replies=[*VALUES[:2], [Reply("lost", message=TOO_LARGE)]]),
        Result(replies=[*VALUES[:2], [Reply("value", value="x" * 17_000_000)]]),
    ],
    ids=["time", "memory", "ended", "tampered", "too long", "too large"],
)  # fmt: skip
def test_what_was_ended_is_executed_again(tmp_path, ended):
    assert executed(tmp_path, ended, ended)[1] == 2


def test_what_fails_in_the_graders_own_work_is_tried_again(tmp_path):
    raised = Result(replies=[*VALUES[:2], [Reply("raised", raised=["OSError"], message="full")]])
    assert executed(tmp_path, raised, raised, graders=True)[1] == 2
    assert executed(tmp_path, raised)[1] == 1  # a student's code that raises does so again


def test_a_block_that_is_ended_alone_is_executed_with_all_others(tmp_path):
    mended = (*PLAN[:2], RunBlock(True, (SimpleNamespace(kind="value", code="9"),), cell=1))
    ended = Result("timed out", "why", [VALUES[0], [Reply("lost", message="why")]])
    whole = Result("timed out", "why", [*VALUES[:2], [Reply("lost", message="why")]])
    found, count = executed(tmp_path, Result(replies=VALUES), ended, whole, plans=(PLAN, mended))
    assert count == 3 and found[1] == whole


def test_a_runner_on_other_machines_keeps_nothing(tmp_path):
    result = Result(replies=VALUES)
    left = [result, result]
    inner = SimpleNamespace(run=lambda submission, plan: left.pop())
    with closing(KeptReplies(tmp_path / "replies")) as kept:
        for _ in range(2):
            KeepingRunner(inner, kept, "01").run(Submission("ann", files={}), PLAN)
    assert not left


@pytest.mark.parametrize(
    "other",
    [
        (RunCell("x = 1", given=True), *PLAN[1:]),
        (RunCell("x = 2"), *PLAN[1:]),
        (*PLAN[:2], RunCell("y = 1"), PLAN[2]),
        (RunCell("y = 1"), *PLAN),
        (PLAN[1], PLAN[0], PLAN[2]),
    ],
)
def test_a_block_depends_on_each_visible_item_and_on_its_place(tmp_path, other):
    assert executed(tmp_path, Result(replies=VALUES), None, plans=(PLAN, other))[1] == 2


def test_time_is_no_part_of_it_and_a_process_sees_nobodys_name(tmp_path):
    roomier = (RunCell("x = 1", seconds=3.0), *PLAN[1:])
    assert executed(tmp_path, Result(replies=VALUES), plans=(PLAN, roomier))[1] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"files": {"numbers.txt": b"1 2 3"}},
        {"conditions": conditions_of(True, Limits(cell_seconds=1.0))},
        {"conditions": conditions_of(False, Limits())},
    ],
    ids=["a file", "a limit", "no isolation"],
)
def test_it_depends_on_files_limits_and_isolation(tmp_path, other):
    usual = {"conditions": conditions_of(True, Limits())}
    assert executed(tmp_path, None, plans=[PLAN], **usual)[1] == 1
    assert executed(tmp_path, None, plans=[PLAN], **usual | other)[1] == 1
    assert executed(tmp_path, None, plans=[PLAN], **usual | other)[1] == 0


def test_it_depends_on_the_harness_and_on_what_is_installed(tmp_path, monkeypatch):
    def anew():
        keeping_runner._surroundings.cache_clear()
        return executed(tmp_path, None, plans=[PLAN])[1]

    assert [anew(), anew()] == [1, 0]
    monkeypatch.setattr(keeping_runner, "harness_fingerprint", lambda: "another")
    assert [anew(), anew()] == [1, 0]
    (tmp_path / "numpy-9.dist-info").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert [anew(), anew()] == [1, 0]
    monkeypatch.undo()
    keeping_runner._surroundings.cache_clear()


@pytest.mark.parametrize("left", [b"no database", b""], ids=["another file", "an empty one"])
def test_a_damaged_file_costs_nothing_but_time(tmp_path, left):
    place = tmp_path / "replies"
    place.write_bytes(left)
    assert [executed(tmp_path, None, plans=[PLAN])[1] for _ in range(2)] == [1, 0]
    with closing(sqlite3.connect(place)) as rows, rows:
        rows.execute("UPDATE replies SET replies = 'damaged'")
    assert [executed(tmp_path, None, plans=[PLAN])[1] for _ in range(2)] == [1, 0]


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path):
    (tmp_path / "replies").mkdir()
    assert [executed(tmp_path, None, plans=[PLAN])[1] for _ in range(2)] == [1, 1]


def test_what_is_of_no_use_any_more_is_removed(tmp_path):
    for number in range(3):
        executed(tmp_path, None, plans=[(RunCell(f"x = {number}"), *PLAN[1:])])
        with closing(sqlite3.connect(tmp_path / "replies")) as rows:
            assert rows.execute("SELECT count(*) FROM replies").fetchone()[0] == 3
