"""Questions about a race: computed from the student's own tapes, one right option each."""

from dataclasses import replace
from types import SimpleNamespace

import nbformat
import pytest
from grading_course import warm_runner
from log_course import LESSON, course_in, handed, source, support
from viva_class import Local

from proflab import stack
from proflab.checks.values import dumps
from proflab.lesson.race import traced
from proflab_classroom.viva.command import Lesson, make_sheets
from proflab_classroom.viva.questions import Draws
from proflab_classroom.viva.race_rows import questions, race_rows, twice
from proflab_classroom.viva.sheet import rows
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import make_key, read_key
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.match_cells import align
from proflab_course.grading.own_numbers.program import place_of, write_own
from proflab_course.grading.plan import Result, Submission
from proflab_course.grading.races import NotTraced

PARTS = """
def rows(x, b):
    from proflab import cat
    y = x + b
    return cat([y[i : i + 4].relu() for i in range(0, x.shape[0], 4)])
"""


@pytest.fixture(scope="module")
def key():
    return make_key(LESSON, source())


def asked(key, **functions):
    aligned = align(handed(**functions), key)
    return {
        q.name: q for q in race_rows(aligned, key, warm_runner(), Submission("s", None, support()))
    }


def test_a_program_like_the_solution_is_asked_about_its_last_change(key):
    found = asked(key)
    gain = found["gain"]
    assert "The last change, 'one add', made your program" in gain.stem and "DESK" in gain.stem
    assert gain.options[gain.key].endswith("times") and len({*gain.options}) == len(gain.options)
    assert found["left"].stem.startswith("Which of your steps")
    assert found["left"].options[found["left"].key] == "one add"


def test_a_sheet_takes_the_rows_as_questions_on_the_students_own_work(key):
    aligned, files = align(handed(), key), Submission("s", None, support())
    made = race_rows(aligned, key, warm_runner(), files)
    draws = Draws(b"secret", ("a",))
    asked = rows(Course(support().parents[1]), LESSON, draws, made)
    assert {q.name for q in asked} >= {"gain", "left"}
    assert all(q.about_own_code and q.kind == "race" for q in asked)


class Here(Local):
    runner = property(lambda self: warm_runner())


def test_a_student_with_a_drawn_program_is_asked_about_that_one(tmp_path):
    course = course_in(tmp_path)
    (course.module(LESSON).parent / "wrong").mkdir()
    for student in ("ana", "ben"):
        path = tmp_path / "submitted" / student / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(handed(rows=PARTS, work_log="def work_log(log):\n    pass"), path)
    # Four adds and four relus where the class has sixteen of each, and a file of her own.
    drawn = traced(
        lambda x, b: stack([(each + b).relu() for each in x.split(4)]), x=(16, 8), b=(8,)
    )
    races = [["test_rows", "16 rows", dumps(list(drawn)).decode()]]
    write_own(place_of(tmp_path, LESSON, "ana"), {"program.py": ""}, races)
    lesson = Lesson(course, read_key(course.source(LESSON)))
    options = SimpleNamespace(student=None, seed=1, questions=4)
    ana, ben = make_sheets(lesson, Here(), options, 1)
    gain = {
        sheet.student: next(q for q in sheet.questions if q.name == "gain") for sheet in (ana, ben)
    }
    assert gain["ana"].stem != gain["ben"].stem
    assert "left" in {q.name for q in ben.questions} - {q.name for q in ana.questions}


def test_what_is_left_is_named_with_its_worth(key):
    found = asked(key, rows=PARTS, work_log="def work_log(log):\n    pass")
    assert found["gain"].stem.startswith("Beside the given one, your program is")
    left = found["left"]
    assert left.options[left.key].startswith("relu, ")
    assert len({*left.options}) == len(left.options) >= 2


def test_a_program_that_cannot_be_traced_is_not_asked_about_twice_the_batch(key):
    only = "def rows(x, b):\n    assert x.shape[0] == 16\n    return x.relu() + b"
    assert "largest" not in asked(key, rows=only)


def test_a_lesson_that_was_not_executed_has_no_tapes_and_nothing_is_run_for_it(key):
    bare = replace(key, metadata={}, derived={})
    with pytest.raises(NotTraced, match="has not been traced: run `proflab build 02_log`"):
        race_rows(align(handed(), bare), bare, None, Submission("s", None, support()))


def test_a_lesson_s_own_program_that_does_not_come_to_its_end_is_the_grader_s_failure(key):
    class Ended:
        def run(self, submission, plan):
            return Result("process died", "The process was ended.")

    fresh = replace(key, derived={})
    with pytest.raises(GraderFailed, match="own program for '16 rows' did not come to its end"):
        race_rows(align(handed(), fresh), fresh, Ended(), Submission("s", None, support()))
    assert "viva" not in fresh.derived


FOUND = {
    "machine": "DESK", "other": "T4", "change": "one position", "gains": [1.28, 1.04, 1.6],
    "once": {"linear": 0.5, "add": 0.4}, "twice": {"linear": 0.5, "add": 0.8, "gelu": 0.3},
    "left": {"matmul": 1.30, "add": 1.1, "exp": 1.001}, "steps": [],
}  # fmt: skip


def test_options_are_apart_and_the_key_is_the_answer():
    gain, largest, left = questions(FOUND)
    assert gain.options[gain.key] == "1.04 times" and "1.28 times" in gain.options
    assert largest.options == ("add", "gelu", "linear") and largest.key == 0
    assert "linear" in largest.note
    assert left.options[left.key] == "matmul, 1.3 times" and "add, 1.1 times" in left.options
    assert not any("exp" in option for option in left.options)


def test_near_answers_are_not_asked_for():
    near = FOUND | {"gains": [1.0, 1.0, 1.01], "twice": {"a": 1.0, "b": 0.99},
                    "left": {"a": 1.3, "b": 1.299}}  # fmt: skip
    assert questions(near) == []
    assert questions({"refused": "x"}) == []


def test_twice_the_batch_doubles_every_input_that_has_it():
    assert twice("traced(f, x=(8, 8), y=('int64', (8,)), z=(3, 8))") == (
        "traced(f, x=(16, 8), y=('int64', (16,)), z=(3, 8))"
    )
