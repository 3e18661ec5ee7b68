"""What is drawn for one student is read where that hand-in is graded, and nowhere else."""

import pytest

from proflab.checks.values import dumps
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.own_numbers.program import (
    own_fingerprint,
    own_program,
    place_of,
    write_own,
)

LESSON = "13_faster"
TAPE = [["in", "x", (8, 8), "float32"], ["out", [0]]]


@pytest.fixture
def drawn(tmp_path):
    path = place_of(tmp_path, LESSON, "ana")
    write_own(path, {"program.py": "A = 1"}, [["test_faster", "a race", dumps(TAPE).decode()]])
    return tmp_path


def test_a_student_is_raced_against_a_program_of_their_own(drawn):
    own = own_program(drawn, LESSON, "ana")
    classes = {"races": {}, "known": {b"place": (b"the class's results", 1.0)}}
    key = own.key(Key(LESSON, (), {}, "fingerprint", derived=classes))
    assert own.files == {"program.py": b"A = 1"}
    assert key.derived["races"]["test_faster", "a race"] == TAPE
    assert key.derived["known"] == {} != classes["known"]  # what others' programs give is not known


def test_who_is_not_on_the_roster_has_the_class_s(drawn):
    assert own_program(drawn, LESSON, "ben") is None
    assert own_fingerprint(drawn, LESSON, "ben") == ""


def test_another_draw_is_graded_anew_and_the_same_is_not(drawn):
    path, before = place_of(drawn, LESSON, "ana"), own_fingerprint(drawn, LESSON, "ana")
    own = own_program(drawn, LESSON, "ana")
    write_own(path, {"program.py": "A = 1"}, own.races)
    assert own_fingerprint(drawn, LESSON, "ana") == before
    write_own(path, {"program.py": "A = 2"}, own.races)
    assert own_fingerprint(drawn, LESSON, "ana") != before


def test_a_draw_that_is_damaged_is_said(drawn):
    place_of(drawn, LESSON, "ana").write_bytes(b"no draw")
    with pytest.raises(GraderFailed, match="--per-student` again"):
        own_program(drawn, LESSON, "ana")
