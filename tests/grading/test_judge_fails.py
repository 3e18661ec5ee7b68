"""What fails in the grader's own work is no verdict: nothing is lost, and the hand-in is named.

None of these tests waits for the machine to be busy: the judge is made to fail as it would then.
"""

import re

import nbformat
import pytest
from chosen import chosen
from grading_course import LeavesOthers, hand_in, solved, take_warm_runner, warm_runner
from log_course import LESSON as LOG
from log_course import course_in as log_course_in
from log_course import handed as logged
from race_course import HALF, LESSON, course_in, handed, source, support
from test_variants import LESSON as VARIED
from test_variants import course_at

from proflab_course import cli
from proflab_course.build.trial import Run
from proflab_course.course.layout import CourseError
from proflab_course.grading import command as grading
from proflab_course.grading import races
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.apart import run_apart
from proflab_course.grading.command import grade_class
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.grader_errors import NOT_GRADED, GraderFailed
from proflab_course.grading.own_numbers import solved_values
from proflab_course.grading.plan import Reply, Result, Submission
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

# How a process of the grader's own may end, and what its sentence says then.
ENDS = {
    "it does not end": ("while number == 0: pass", "used more than .* CPU seconds"),
    "it is killed": ("import os; os.kill(os.getpid(), 9)", "killed"),
    "it has no room": ("raise MemoryError('no room')", "MemoryError: no room"),
    "the disk is full": ("raise OSError(28, 'No space left on device')", "No space left"),
    "it says too much": ("return 'x' * 20_000_000", "larger than"),
}


def put(course, lesson, student, notebook):
    folder = course.root / "submitted" / student / lesson
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{lesson}.ipynb")


def standing(course, lesson, student):
    with Book(course.gradebook) as book:
        outcome = book.outcome(lesson, student)
        return book.scores(lesson)[student]["auto"], outcome.cases, outcome.status


@pytest.fixture
def command(monkeypatch):
    """`proflab …` in a course, with the runner that other tests use, too."""
    take_warm_runner(monkeypatch)

    def call(course, *words):
        monkeypatch.chdir(course.root)
        return cli.main(list(words))

    return call


@pytest.mark.proves
@pytest.mark.parametrize("end", chosen(ENDS, {"it is killed"}))
def test_a_judge_that_fails_takes_no_points(end, tmp_path, command, monkeypatch, capsys):
    course = course_in(tmp_path)
    put(course, LESSON, "ada", handed(rows=HALF))
    assert command(course, "grade", LESSON) == 0
    earned, cases, _ = standing(course, LESSON, "ada")
    assert 50 < earned < 100
    code, sentence = ENDS[end]
    monkeypatch.setattr(races, "_JOBS", f"def judge(number):\n    {code}\n")
    monkeypatch.setattr(races, "_TAPE_SECONDS", 0.0)  # the least limit is soon reached
    put(course, LESSON, "ben", handed())
    capsys.readouterr()
    rows = []
    keep = lambda *words, **options: rows.extend(grade_class(*words, **options)) or rows  # noqa: E731
    monkeypatch.setattr(grading, "grade_class", keep)
    assert command(course, "grade", LESSON, "--regrade") == 1
    printed = capsys.readouterr().out
    assert "2 not graded because the grader failed" in printed and "ada" in printed
    assert {row.student: row.status for row in rows} == {"ada": NOT_GRADED, "ben": NOT_GRADED}
    assert all(re.search(sentence, row.sentence) for row in rows), rows
    assert "the points of the earlier grading stand" in rows[0].sentence
    assert standing(course, LESSON, "ada") == (earned, cases, NOT_GRADED)
    monkeypatch.undo()
    rows = grade_class(course, LESSON, warm_runner(), progress=False)  # without --regrade
    assert {row.student: (row.status, row.score) for row in rows} == {
        "ada": ("graded", earned),
        "ben": ("graded", 100),
    }


def test_a_log_that_is_not_checked_to_its_end_is_no_verdict(tmp_path, monkeypatch):
    course = log_course_in(tmp_path)
    put(course, LOG, "ada", logged())
    [row] = grade_class(course, LOG, warm_runner(), progress=False)
    assert row.score == 100
    fails = "def judge(number):\n    return {} if number == 0 else 1 / 0\n"
    monkeypatch.setattr(races, "_JOBS", fails)
    [row] = grade_class(course, LOG, warm_runner(), regrade=True, progress=False)
    assert (row.status, row.score) == (NOT_GRADED, 100)
    assert "ZeroDivisionError" in row.sentence


@pytest.mark.whole
def test_drawn_cases_whose_values_are_not_there_are_no_verdict(tmp_path, monkeypatch):
    course = course_at(tmp_path / "course")
    hand_in(course, "ada", solved())

    class Dies(SubprocessRunner):
        def run(self, submission, plan):
            result = super().run(submission, plan)
            for place, item in enumerate(plan):
                if "_proflab_drawn(" in str(getattr(item, "steps", "")):
                    result.replies[place] = [Reply("lost", message="the process was killed")]
            return result

    monkeypatch.setattr(solved_values, "SubprocessRunner", Dies)
    rows = grade_class(course, VARIED, warm_runner(), students=["ada"], progress=False)
    assert [row.status for row in rows] == [NOT_GRADED]
    assert "values were not worked out: the process was killed" in rows[0].sentence
    monkeypatch.undo()
    [row] = grade_class(course, VARIED, warm_runner(), students=["ada"], progress=False)
    assert (row.status, row.score) == ("graded", 100)


def test_what_is_the_same_for_a_class_is_worked_out_once(tmp_path):
    course = course_in(tmp_path)
    for name in ("ada", "ben", "cem"):
        put(course, LESSON, name, handed())
    sent = []

    class Counts(LeavesOthers):
        def __init__(self, runner):
            def run(submission, plan):
                sent.append([step.code for item in plan for step in getattr(item, "steps", ())])
                return runner.run(submission, plan)

            self.run = run

    rows = grade_class(course, LESSON, Counts(warm_runner()), jobs=2, progress=False)
    assert [row.score for row in rows] == [100, 100, 100]
    assert sum("what_is_known" in code for codes in sent for code in codes) == 4  # a race each
    assert sum("judge(" in code for codes in sent for code in codes) == 3 * 4


def test_the_draws_are_the_course_s_own_and_the_same_in_each_grading(tmp_path):
    secret, other = bytes(range(32)), bytes(32)
    assert races.salt_of(secret, LESSON) == races.salt_of(secret, LESSON)
    assert races.salt_of(secret, LESSON) != races.salt_of(other, LESSON)
    assert races.salt_of(secret, LESSON) != races.salt_of(secret, "03_other")


def test_the_failure_of_a_judge_without_a_class_is_raised_and_not_scored(monkeypatch):
    monkeypatch.setattr(races, "_JOBS", "def judge(number):\n    raise MemoryError\n")
    with pytest.raises(GraderFailed, match="judging it was ended: MemoryError"):
        grade_notebook(handed(), source(), folder=support(), full=False, runner=warm_runner())


def test_the_build_says_which_given_program_cannot_be_traced():
    run = object.__new__(Run)
    run.key = make_key(LESSON, source())
    run.places, run.races, run.given = [], [("test_rows", "9 rows")], {}
    failed = Reply("raised", raised=["NameError"], message="name 'x' is not defined")
    said = f"{LESSON}, cell test_rows, '9 rows': the given program is not traced: NameError: name"
    with pytest.raises(CourseError, match=said):
        run._keep_given(Result("finished", replies=[[failed]]))


def test_a_race_without_a_count_is_told_with_its_lesson(tmp_path):
    (tmp_path / LESSON).mkdir()
    with pytest.raises(CourseError, match=f"^{LESSON}: races are counted by op_facts, which"):
        run_apart("", [], {}, warm_runner(), Submission("ada", support=tmp_path / LESSON))
