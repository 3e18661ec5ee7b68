"""Whatever fails at one hand-in costs that hand-in: the class is graded, and the row has a name."""

from __future__ import annotations

import errno
import signal
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chosen import chosen
from grading_course import LESSON, copy_course, grade, hand_in, solved
from killing import start
from sandboxes import needs_sandbox

from proflab_course.cases import value
from proflab_course.course.layout import CourseError
from proflab_course.grading import command as grading
from proflab_course.grading import grade_notebook as execute
from proflab_course.grading import reader as reading
from proflab_course.grading import resume, work_limit
from proflab_course.grading.command import grade_class
from proflab_course.grading.grader_errors import NOT_GRADED, log_error, log_path, sentence_of
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.records import write_notebook as autograded
from proflab_course.grading.records.gradebook import Book
from proflab_course.grading.run import connection, processes, replies, session, statements
from proflab_course.grading.run import sandbox_runner as sandbox
from proflab_course.grading.run import student_files as files
from proflab_course.grading.run import zygote_client as warm
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.submissions import read_notebook as handin
from proflab_course.grading.submissions.find import Work

VICTIM = "bb_victim"
OTHERS = ("aa_first", "cc_last")
# Every function that one hand-in passes through, from its file to its row.
READING = [
    (reading, "find_handin"),
    (handin, "parse_handin"),
    (handin, "rebuilt"),
    (reading, "match"),
    (reading, "as_graded"),
]
RUNNING = [
    (grading, "grade_aligned"),
    (execute, "make_plan"),
    (sandbox, "gather_files"),
    (files, "read_folder"),
    (sandbox, "draws"),
    (sandbox, "run_fairly"),
    (sandbox.JobSlot, "run_session"),
    (warm.ZygoteClient, "run_session"),
    (warm, "SandboxProcesses"),
    (session.Session, "carry_out"),
    (session.Session, "_hidden"),
    (connection.Connection, "ask"),
    (connection, "parse_message"),
    (processes, "read_process"),
    (statements, "read_reply"),
    (replies, "parse_value"),
]
JUDGING = [
    (execute, "conclude"),
    (execute._TestRun, "conclude"),
    (execute, "judge_case"),
    (value, "compare"),
    (execute, "executed_notebook"),
    (execute, "number_cell"),
    (execute, "unanswered"),
    (execute, "name_outcome"),
]
WRITING = [
    (grading, "write_autograded"),
    (autograded, "support_files"),
    (autograded, "notebook_text"),
    (autograded, "replace_file"),
    (autograded, "sync_folder"),
    (grading, "read_timestamp"),
    (Book, "write"),
    (Book, "_write_grades"),
]
KINDS = [
    RuntimeError("power cut"),
    MemoryError(),
    RecursionError("too deep"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    OSError(errno.EACCES, "Permission denied"),
    SystemExit(3),
    type("Panic", (BaseException,), {})("no Exception at all"),
]
# Each with a student of its own: every step that raises, and everything raised at two steps. Where
# rows are written, nothing but an Exception or an interrupt can come.
BROKEN = {
    f"step_{number:02}_{name.strip('_')}": (place, name, RuntimeError("power cut"))
    for number, (place, name) in enumerate([*READING, *RUNNING, *JUDGING, *WRITING])
} | {
    f"{name.strip('_')}_{type(error).__name__}": (place, name, error)
    for place, name in [(execute, "judge_case"), (Book, "_write_grades")]
    for error in KINDS
    if place is execute or isinstance(error, Exception)
}


@pytest.fixture(scope="module")
def runner():
    with SandboxRunner() as made:
        yield made


@pytest.fixture
def course(tmp_path):
    course = copy_course(tmp_path, [])
    for student in (VICTIM, *OTHERS):
        hand_in(course, student, solved())
    return course


def written_by(student):
    """A right hand-in unlike others': what another's equal one has replied is not executed."""
    notebook = solved()
    cell = next(cell for cell in notebook.cells if "def linear_parameters" in cell.source)
    cell.source += f"\n# {student}"
    return notebook


def grade_isolated(course, runner, **options):
    rows = grade_class(course, LESSON, runner, progress=False, **options)
    return {row.student: row for row in rows}


def break_for(patch, broken):
    """Let functions raise wherever they are called for these students' hand-ins.

    broken: student → where the function is, its name, and what it raises.
    """
    here = threading.local()

    def knows(of):
        real = getattr(grading, of)

        def wrapped(*arguments, **named):
            found = [a for a in arguments if isinstance(a, (Work, grading.Done))]
            here.student = getattr(found[0], "work", found[0]).student
            try:
                return real(*arguments, **named)
            finally:
                here.student = None

        patch.setattr(grading, of, wrapped)

    def knows_in_the_process_that_reads():
        real = reading._answer_handin

        def wrapped(lessons, folder):
            here.student = Path(folder).parent.name
            return real(lessons, folder)

        patch.setattr(reading, "_answer_handin", wrapped)

    def breaks(place, name, errors):
        real = getattr(place, name)

        def failing(*arguments, **options):
            if (student := getattr(here, "student", None)) in errors:
                raise errors[student]
            return real(*arguments, **options)

        patch.setattr(place, name, failing)

    errors = defaultdict(dict)
    for student, (place, name, error) in broken.items():
        errors[place, name][student] = error
    for (place, name), of in errors.items():
        breaks(place, name, of)
    knows("grade_one")
    knows("record")
    knows_in_the_process_that_reads()


def check_class(course, rows, error, victim=VICTIM):
    """The victim's row has a name, and the log the cause; the others have their points."""
    for student in OTHERS:
        assert (rows[student].status, rows[student].score) == ("graded", 100)
    row = rows[victim]
    assert (row.status, row.score) == (NOT_GRADED, 0)
    assert type(error).__name__ in row.sentence
    log = log_path(course).read_text()
    assert f"{LESSON} '{victim}'" in log and type(error).__name__ in log


@pytest.fixture(scope="module")
def broken_class(tmp_path_factory, runner):
    """A class, graded once, in which another step fails at each of BROKEN's hand-ins."""
    course = copy_course(tmp_path_factory.mktemp("broken"), [])
    for student in (*BROKEN, *OTHERS):
        hand_in(course, student, written_by(student))
    with pytest.MonkeyPatch.context() as patch:
        break_for(patch, BROKEN)
        return course, grade_isolated(course, runner)


@pytest.mark.proves("whatever fails the class is graded")
@needs_sandbox
@pytest.mark.parametrize("victim", BROKEN)
def test_whatever_fails_in_whatever_way_the_class_is_graded(victim, broken_class):
    """Where each has a class of its own, `make soak` sees the same."""
    course, rows = broken_class
    place, _, error = BROKEN[victim]
    check_class(course, rows, error, victim)
    with Book(course.gradebook) as book:
        outcomes = book.outcomes(LESSON)
    assert set(outcomes) >= set(OTHERS)
    if place is not Book:  # there the row itself could not be written
        assert outcomes[victim].status == NOT_GRADED


@pytest.mark.soak
@needs_sandbox
@pytest.mark.parametrize("victim", BROKEN)
def test_each_failure_alone_leaves_the_class_graded(victim, course, runner, monkeypatch):
    place, name, error = BROKEN[victim]
    break_for(monkeypatch, {VICTIM: (place, name, error)})
    check_class(course, grade_isolated(course, runner), error)


@needs_sandbox
def test_who_was_not_graded_is_graded_by_the_next_run(course, runner, monkeypatch):
    with monkeypatch.context() as patch:
        break_for(patch, {VICTIM: (reading, "match", RuntimeError("power cut"))})
        grade_isolated(course, runner)
    rows = grade_isolated(course, runner)
    assert {s: (r.status, r.score, r.fresh) for s, r in rows.items()} == {
        VICTIM: ("graded", 100, True),
        **{student: ("graded", 100, False) for student in OTHERS},
    }


@pytest.mark.parametrize(
    "step", chosen([(reading, "match"), (Book, "_write_grades")], [(reading, "match")])
)
def test_an_earlier_result_stands_where_the_grader_fails_at_the_next(step, course, monkeypatch):
    assert grade(course)[VICTIM].score == 100
    written = course.root / "autograded" / VICTIM / LESSON / f"{LESSON}.ipynb"
    before = written.read_bytes()
    hand_in(course, VICTIM, solved(linear_parameters="def linear_parameters(*_):\n    return 0"))
    with monkeypatch.context() as patch:
        break_for(patch, {VICTIM: (*step, RuntimeError("power cut"))})
        row = grade(course)[VICTIM]
    assert (row.status, row.score) == (NOT_GRADED, 100)
    assert "the points of the earlier grading stand" in row.sentence
    assert step[0] is Book or written.read_bytes() == before
    with Book(course.gradebook) as book:
        assert len(book.outcomes(LESSON)[VICTIM].cases) > 0
    row = grade(course)[VICTIM]
    assert (row.status, row.fresh) == ("graded", True) and row.score < 100


def test_a_hand_in_that_cannot_be_looked_at_is_named(course, monkeypatch):
    real = resume.handin_fingerprint

    def failing(folder, name):
        if VICTIM in str(folder):
            raise RuntimeError("power cut")
        return real(folder, name)

    monkeypatch.setattr(resume, "handin_fingerprint", failing)
    rows = grade(course)
    assert {s: (r.status, r.score) for s, r in rows.items()} == {
        student: ("graded", 100) for student in (VICTIM, *OTHERS)
    }


def test_a_place_that_cannot_be_written_is_one_students_only(course):
    place = course.root / "autograded" / VICTIM
    place.parent.mkdir()
    place.write_text("in the way")
    rows = grade(course)
    check_class(course, rows, NotADirectoryError())
    place.unlink()
    assert grade(course)[VICTIM].score == 100


def test_no_place_for_graded_notebooks_is_everyones_sentence(course):
    (course.root / "autograded").write_text("in the way")
    with pytest.raises(CourseError, match="cannot be written to autograded/.*nothing is lost"):
        grade(course)


def test_the_log_takes_any_text_and_a_full_disk_is_not_raised(course, monkeypatch):
    log_error(course, LESSON, "\ud800", ValueError("\udfff" * 100_000))
    text = log_path(course).read_text(encoding="utf-8")
    assert "ValueError" in text or "\\udfff" in text
    assert len(text) < 200_000
    log_path(course).unlink()
    log_path(course).mkdir()
    log_error(course, LESSON, "x", ValueError("no place"))


def test_the_graders_own_work_is_limited():
    work_limit.check()
    with work_limit.limited(0.0):
        sum(range(10**6))
        with pytest.raises(work_limit.TooMuchWork, match="busy for more than 0 s") as caught:
            work_limit.check()
    work_limit.check()
    assert sentence_of(caught.value) == str(caught.value)


# ── who waits is woken ───────────────────────────────────────────────────────────────────────


@needs_sandbox
def test_closing_ends_turns_and_wakes_who_waits_for_a_slot():
    runner = SandboxRunner()
    runner.warm()
    sleep = (RunCell("import time\ntry:\n    time.sleep(1000)\nexcept BaseException: pass"),)
    with ThreadPoolExecutor(3) as pool:
        sessions = [pool.submit(runner.run, Submission(f"{n}"), sleep) for n in range(3)]
        while runner._slots.qsize():
            time.sleep(0.01)
        runner.close()
        for each in sessions:
            each.exception(60)
    assert not any(slot.zygotes for slot in runner._all)
    with pytest.raises(sandbox.RunnerClosed):
        runner.run(Submission("late"), ())


@pytest.mark.whole
@pytest.mark.parametrize("words", [("--no-sandbox",), pytest.param((), marks=needs_sandbox)])
def test_ctrl_c_ends_a_grading_whose_students_sleep(course, words):
    for number in range(4):
        code = "import time\nwhile True:\n    try: time.sleep(1000)\n    except BaseException: pass"
        hand_in(course, f"sleeper_{number}", solved(linear_parameters=code))
    process = start(course, *words, "--jobs", "1")
    lock = course.gradebook.with_name("gradebook.db.lock")
    while not lock.exists() or not lock.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "stopped; run it again to go on" in said
    assert "Traceback" not in said
