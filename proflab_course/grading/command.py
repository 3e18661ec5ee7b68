"""`proflab grade LESSON`: grade the submissions of a lesson in parallel.

A drop-in for `nbgrader autograde`: it reads submitted/STUDENT/LESSON/ and writes autograded/ and
nbgrader's gradebook. A runner executes students' code; this process alone judges it and writes
files and rows. `resume.py` decides which submissions have to be graded.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from proflab.lesson.race.log import FILE as STEPS
from proflab_course.course.dates import Dates
from proflab_course.course.jobs import default_jobs
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.look_alikes import notes_on_look_alikes
from proflab_course.course.nbgrader_settings import run_settings
from proflab_course.course.secret import course_secret
from proflab_course.grading import failed_setup, work_limit
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.answers import ANSWERED, ESSAY, as_guesses, essay_digests
from proflab_course.grading.grade_notebook import Graded, grade_aligned
from proflab_course.grading.grader_errors import NOT_GRADED, log_error, log_path, sentence_of
from proflab_course.grading.lean import import_nbgrader
from proflab_course.grading.limit_options import add_limits, chosen_limits
from proflab_course.grading.lock import only_grading
from proflab_course.grading.own_numbers.cases import NEW, Variants, chosen_variants, refuse_others
from proflab_course.grading.own_numbers.program import own_program
from proflab_course.grading.plan import Isolation, Runner, Submission
from proflab_course.grading.races import SALT, races_of, salt_of
from proflab_course.grading.reader import Reader
from proflab_course.grading.records.write_notebook import placeholder, write_autograded
from proflab_course.grading.resume import (
    all_known,
    needs_grading,
    remove_parts,
    with_fingerprints,
)
from proflab_course.grading.run.keeping_runner import KeepingRunner, KeptReplies
from proflab_course.grading.run.later_runner import LaterRunner
from proflab_course.grading.run.runners import conditions_of
from proflab_course.grading.run.sandbox_runner import make_runner
from proflab_course.grading.run.student_files import beside_support, gather_files
from proflab_course.grading.submissions.essay_numbers import note_numbers
from proflab_course.grading.submissions.find import Work, find_work, odd_names
from proflab_course.grading.submissions.read_guesses import Guess
from proflab_course.grading.submissions.read_notebook import HandIn
from proflab_course.grading.submissions.timestamp import Handed, read_timestamp
from proflab_course.grading.table import ResultRow, make_rows, print_table, progress_bar

_EARLIER_STANDS = "until then the points of the earlier grading stand"
# Submissions in progress for each job: enough to keep it busy, few enough to limit memory.
_AHEAD = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab grade`."""
    parser.add_argument("lesson", help="the lesson: 01_parameters, 01 or 1")
    parser.add_argument(
        "--student", action="append", metavar="S", help="only this student; may be repeated"
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="submissions at a time (default: one for each core)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="execute on this Dask cluster: tcp://HOST:PORT"
    )
    parser.add_argument("--regrade", action="store_true", help="also grade what has not changed")
    parser.add_argument(
        NEW,
        action="store_true",
        help="draw each student's numbers anew, if private/secret is another one",
    )
    parser.add_argument("--full", action="store_true", help="also execute demo cells")
    add_limits(parser)
    parser.add_argument(
        "--no-sandbox",
        action="store_true",
        help="run students' code with your own rights, if you trust its authors",
    )


def positive(text: str) -> int:
    """Read a whole number from 1, for argparse; raise ArgumentTypeError for less."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Grade the class and print a table of scores; return 1 if one was not graded, else 0.

    Raises CourseError.
    """
    course = Course.find()
    arguments.lesson = course.lesson(arguments.lesson, "source")
    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(_choose_runner, course, arguments)
        import_nbgrader()
        import proflab_course.grading.records.gradebook  # noqa: F401  (takes as long as a sandbox to start)
    runner, jobs = starting.result()
    notes: list[str] = []
    with closing(runner):
        rows = grade_class(
            course,
            arguments.lesson,
            runner,
            students=arguments.student,
            jobs=jobs,
            regrade=arguments.regrade,
            full=arguments.full,
            notes=notes,
            new_variants=arguments.new_variants,
        )
    print_table(rows)
    odd = odd_names(course)
    notes += [*odd, *notes_on_look_alikes(row.student for row in rows)]
    for sentence in notes:
        print(f"note: {sentence}")
    if failed := sum(row.status == NOT_GRADED for row in rows):
        again = f"run `proflab grade {arguments.lesson}` again"
        print(f"({failed} not graded because the grader failed: {again}; see {log_path(course)})")
    if rows:
        print(f"Next: proflab report {arguments.lesson}")
    return _name_strangers(course) or int(failed > 0 or bool(odd))


def _name_strangers(course: Course) -> int:
    """Print the extensions of unknown students; return the exit status."""
    from proflab_course.grading.records.gradebook import Book
    from proflab_course.grading.records.lateness import unknown_students

    dates = Dates.read(course)
    if not dates.extensions:
        return 0
    with Book(course.gradebook) as book:
        strangers = unknown_students(course, dates, book.people())
    for line in strangers:
        what = "is no student of this course: correct the name, or remove the extension"
        print(f"proflab grade: {line} {what}", file=sys.stderr)
    return 1 if strangers else 0


def _choose_runner(course: Course, arguments: argparse.Namespace) -> tuple[Runner, int]:
    """Return the runner of students' code, and the number of submissions that it runs at a time.

    It starts at once, because that takes a while, unless probably nothing has to be executed.
    """
    isolation: Isolation = "none" if arguments.no_sandbox else "auto"
    limits = chosen_limits(course, arguments)
    if arguments.scheduler is None:
        handins = arguments.student or [*course.root.glob(f"submitted/*/{arguments.lesson}")]
        jobs = max(1, min(len(handins), arguments.jobs or default_jobs()))
        make = partial(make_runner, isolation, jobs, limits, arguments.full)
        idle = not arguments.regrade and all_known(course, arguments.lesson, arguments.student)
        conditions = conditions_of(not arguments.no_sandbox, limits)
        return (LaterRunner(make, conditions) if idle else make()), jobs
    from proflab_course.grading.run.cluster import ClusterRunner

    runner = ClusterRunner(arguments.scheduler, isolation, limits)
    return runner, arguments.jobs or runner.jobs


@dataclass(frozen=True)
class Done:
    """A graded submission: `graded` is None if there was no notebook to grade.

    error: the exception if the grader failed; guesses: the guesses in the notebook's outputs;
    variant: see `records.gradebook.Outcome`.
    """

    work: Work
    status: str
    sentence: str
    graded: Graded | None
    error: BaseException | None = None
    guesses: tuple[Guess, ...] = ()
    variant: str = ""


def grade_class(
    course: Course,
    lesson: str,
    runner: Runner,
    students: list[str] | None = None,
    jobs: int = 1,
    regrade: bool = False,
    full: bool = False,
    progress: bool = True,
    notes: list[str] | None = None,
    new_variants: bool = False,
) -> list[ResultRow]:
    """Grade the submissions of `lesson`; return a row for each student, in order of their names.

    notes: gets sentences on what has changed in the lesson since its last grading, and on its due
    date.
    new_variants: another secret than the last grading's is meant.

    Raises CourseError when the lesson, a student or the gradebook cannot be used, or when another
    grading is at work in the course.
    """
    from proflab_course.grading.records.deadline import read_deadline, set_due
    from proflab_course.grading.records.gradebook import Book
    from proflab_course.grading.records.lateness import with_penalty
    from proflab_course.grading.records.nbgrader_plugin import gives_partial_credit

    lesson = course.lesson(lesson, "source")
    dates = Dates.read(course)
    if (others := course.root / "nbgrader_config.py").exists():
        run_settings(others)  # nbgrader's own: a gradebook that it could not name may be meant
    config = run_settings(course.root / "jupyter_config.py")
    config = with_penalty(config, dates.penalty(lesson))
    key = read_key(course.source(lesson))
    failed_setup.prepare(key)  # before threads start: two that parse at once fail (build/trial.py)
    if gives_partial_credit(course, lesson, config):
        key = key.with_partial_credit()
    if races_of(key):
        key.derived[SALT] = salt_of(course_secret(course.root), lesson)
    with closing(Reader(key, course.root / "source")) as reader:
        found = find_work(course, reader, students)
        variants = chosen_variants(course, key)
        drawn = variants.digest if variants else ""
        works = with_fingerprints(found, course, reader.lessons, full, drawn)
        with (
            # First the lock: a second grading must not even open the gradebook.
            only_grading(course, lesson),
            Book(course.gradebook, config) as book,
            closing(KeptReplies(course.gradebook.with_name("gradebook.db.replies"))) as replies,
        ):
            runner = KeepingRunner(runner, replies, lesson, fresh=regrade)
            book.extensions = dates.extensions_of(lesson)
            if not new_variants:
                kept = book.variants(lesson)
                refuse_others(lesson, variants, [kept.get(work.student, "") for work in works])
            for work in works:
                remove_parts(course, lesson, work)
            if (changed := book.register(key)) and notes is not None:
                notes.append(f"{lesson}: {changed}")
            set_due(book, lesson, dates)
            known = book.standings(lesson)
            due = [w for w in works if regrade or needs_grading(course, key, w, known)]
            support = course.source(lesson).parent
            if variants:
                variants.prepare([work.student for work in due], support, jobs)
                if notes is not None:
                    notes += variants.notes
            one = partial(grade_one, reader, support, runner=runner, full=full, variants=variants)
            graded = _graded_works(reader, due, one, jobs)
            nowhere: dict[str, str] = {}
            for done in progress_bar(graded, len(due), progress):
                nowhere |= record(course, key, book, replace(done, variant=drawn))
            fresh = {w.student for w in due}
            unchanged = [w.student for w in works if w.student not in fresh]
            # Dates and extensions may be others now (course/dates.py), whatever was handed in.
            book.update_penalties(key, unchanged)
            if works and notes is not None:
                notes += read_deadline(book, lesson, dates).told
            return make_rows(book, key, works, fresh, nowhere)


def _graded_works(
    reader: Reader, works: list[Work], grade: Callable[[Work], Done], jobs: int
) -> Iterator[Done]:
    """Yield a Done for each submission as it is finished; hold only a few at a time."""
    if works:
        reader.start()
    left, running = iter(works), set[Future[Done]]()
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="proflab-grade")
    try:
        while True:
            for work in left:  # goes on behind the last one taken
                running.add(pool.submit(grade, work))
                if len(running) >= _AHEAD * jobs:
                    break
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            while finished:  # popped: a future that stays in the set would keep two notebooks
                yield finished.pop().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def grade_one(
    reader: Reader,
    support: Path,
    work: Work,
    runner: Runner,
    full: bool,
    variants: Variants | None = None,
) -> Done:
    """Read and grade one submission; raise only CourseError, and never for its contents."""
    try:
        with work_limit.limited():
            return _read_and_grade(reader, support, work, runner, full, variants)
    except (CourseError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a panic of a library may not be an Exception
        return failure(work, error)


def failure(work: Work, error: BaseException) -> Done:
    """Return the outcome of a submission if the grader failed; it will be graded again."""
    return Done(replace(work, fingerprint=""), NOT_GRADED, sentence_of(error), None, error)


def _read_and_grade(
    reader: Reader,
    support: Path,
    work: Work,
    runner: Runner,
    full: bool,
    variants: Variants | None,
) -> Done:
    handin, aligned = reader.handin(work.folder)
    if aligned is None:
        return Done(work, handin.outcome, handin.sentence, None)
    submission, key = _submission_of(work, handin, support), reader.lessons.key
    if variants:
        key = variants.key_of(work.student)
        variants.show_own(aligned, work.student)
    if own := own_program(support.parents[1], key.name, work.student):  # root/source/LESSON
        files = gather_files(submission) | dict(own.files)
        submission = Submission(work.student, files=files)
        key = own.key(key)
    graded = grade_aligned(aligned, key, submission, full, runner)
    note_numbers(graded.notebook, handin.numbers)
    if own:  # another given program: its costs do not compare with the class's
        graded.cases = [replace(case, cost=None) for case in graded.cases]
    # What went wrong in it says more than where it was found (submissions/find_notebook.py).
    unusual = graded.status not in ("graded", "metadata recovered")
    status = graded.status if unusual or not handin.outcome else handin.outcome
    sentence = _join_sentences(handin.sentence, graded.sentence)
    return Done(work, status, sentence, graded, guesses=handin.guesses)


def _submission_of(work: Work, handin: HandIn, support: Path) -> Submission:
    """Return the files that a student's process may see: those beside the notebook.

    The times of a work log are one of them: they lie in the notebook's outputs.
    """
    submission = Submission(work.student, handin.folder or work.folder, support)
    if handin.files is not None:
        files = beside_support(support, handin.files, bytecode=True)
        submission = Submission(work.student, files=files)
    if not handin.steps:
        return submission
    files = gather_files(submission) | {STEPS.as_posix(): handin.steps}
    return Submission(work.student, files=files)


def _join_sentences(*sentences: str) -> str:
    return "; ".join(filter(None, sentences))


def record(course: Course, key: Key, book, done: Done) -> dict[str, str]:
    """Write a submission's result; return the student with the reason if that is impossible.

    Raises CourseError if no student's result could be written.
    """
    if done.error is not None:
        log_error(course, key.name, done.work.student, done.error)
    # Where the result cannot be written, the second try writes that it was not graded.
    for _ in range(2):
        try:
            write(course, key, book, done)
            return {}
        except CourseError:
            raise
        except Exception as error:
            done = failure(done.work, error)
            log_error(course, key.name, done.work.student, error)
    return {done.work.student: done.sentence}


def write(course: Course, key: Key, book, done: Done) -> None:
    """Write the notebook, then the rows, so that each row's notebook is on disk."""
    from proflab_course.grading.records.gradebook import Outcome

    work, graded = done.work, done.graded
    earlier = book.outcome(key.name, work.student) if done.error is not None else None
    if earlier is not None and earlier.cases:
        sentence = _join_sentences(done.sentence, _EARLIER_STANDS)
        # Without a fingerprint, so that the next grading tries it again (resume.py).
        book.write_outcome(replace(earlier, status=done.status, sentence=sentence, fingerprint=""))
        return
    notebook = graded.notebook if graded else placeholder(key.name, done.status, done.sentence)
    handed = Handed()
    try:
        write_autograded(course, key.name, work, notebook)
        handed = read_timestamp(work.stamp_folder)
    except Exception as error:
        # Where the grader failed, the row is what tells of it: it is written without a notebook.
        if done.error is None or isinstance(error, CourseError):
            raise
    cases = graded.cases if graded else []
    # What grading itself stores beside the guesses is taken from no output of a hand-in.
    guesses = [each for each in done.guesses if each.what not in (ANSWERED, ESSAY)]
    if graded:
        guesses += [*as_guesses(graded.answers), *essay_digests(graded.notebook, key.by_hand)]
    sentence = _join_sentences(done.sentence, handed.problem)
    outcome = Outcome(
        work.student,
        key.name,
        done.status,
        sentence,
        work.fingerprint,
        cases,
        guesses=guesses,
        variant=done.variant,
    )
    book.write(key, outcome, graded, handed)
