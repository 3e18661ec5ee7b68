"""An examination on paper: numbers are drawn, keys are true, and the paper has none of them."""

import html
import math
import re
import sys

import pytest
from cohort.run import ROOT
from linked_course import linked_course
from page_text import text_of

from proflab_classroom.questions.exam import exam_pages, make_exam
from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.course.secret import PLACE
from proflab_course.tracks.read import Tracks

LESSON = "02_flops"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The real course, with a secret of its own."""
    course = linked_course(tmp_path_factory.mktemp("exam"))
    (course.root / "private").mkdir()
    (course.root / PLACE).write_bytes(bytes(32))
    return course


@pytest.fixture(scope="module")
def exam(course):
    return make_exam(course, LESSON, 4711, ["einsum_flops", "op_flops"])


@pytest.fixture(scope="module")
def pages(course, exam):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("proflab_classroom.questions.exam.make_exam", lambda *_: exam)
        made = {name: data.decode() for name, _, data in exam_pages(course, LESSON, 4711)}
    return made


def by_hand(code):
    """What calls of three functions return, by formulas of their own."""

    def matmul_flops(m, k, n):
        return 2 * m * k * n

    def linear_flops(shape, features):
        return 2 * math.prod(shape) * features

    def attention_flops(batch, seq, d_model, heads, causal=False):
        scores = seq * (seq + 1) // 2 if causal else seq * seq
        return batch * (4 * 2 * seq * d_model**2 + 2 * 2 * scores * d_model)

    known = {name: each for name, each in locals().items() if callable(each)}
    return eval(code, {"__builtins__": {}}, known)


def test_the_key_of_a_call_is_what_the_function_returns(exam):
    known = [c for c in exam.calls if c.code.startswith(("matmul", "linear_f", "attention"))]
    assert len(exam.calls) >= 4 and len(known) >= 2
    for call in known:
        assert call.value == f"{by_hand(call.code):,}", call.code


@pytest.mark.whole
def test_a_seed_gives_the_same_examination_and_another_one_other_numbers(course, exam):
    asked = ["einsum_flops", "op_flops"]
    again, other = (make_exam(course, LESSON, seed, asked) for seed in (4711, 4712))
    assert again == exam
    alike = {call.code for call in other.calls} & {call.code for call in exam.calls}
    assert len(alike) <= 1  # of a call with few numbers to choose from
    assert [q.order for q in other.questions] != [q.order for q in exam.questions]


@pytest.mark.whole
@pytest.mark.parametrize("track", ["evening", "weeks3", "term"])
def test_what_a_track_leaves_out_is_to_be_written_in_an_hour_and_a_half(course, track):
    private = course.root / "private/tracks.toml"
    private.write_text(f'use = "{track}"\n')
    try:
        drawn = [make_exam(course, LESSON, seed) for seed in (1, 2)]
        tracks = Tracks.read(course.root)
    finally:
        private.unlink()
    left_out = tracks.left_out(tracks.track(track), LESSON)
    for exam in drawn:
        names = {task.name for task in exam.tasks}
        assert names and names <= {*left_out} and 45 <= exam.minutes <= 90
        assert exam.calls and not {call.function.partition("(")[0] for call in exam.calls} & names


def test_a_function_to_write_has_its_points_and_minutes(exam):
    names = [task.name for task in exam.tasks]
    assert names == ["einsum_flops", "op_flops"]
    [task] = [task for task in exam.tasks if task.name == "einsum_flops"]
    assert (task.points, task.minutes) == (8, 35)
    assert "einsum_flops('ij,jk->ik', [(2, 3), (3, 4)])  →  48" in task.shown
    rest = 2 * len(exam.calls) + len(exam.questions)
    assert exam.points == rest + sum(task.points for task in exam.tasks)
    assert not {call.function.partition("(")[0] for call in exam.calls} & {*names}


def test_the_paper_has_no_key_and_the_other_page_has_all(exam, pages):
    paper, keys = pages["02-exam.html"], pages["02-exam-key.html"]
    hidden = "any letter is a label"
    for task in exam.tasks:
        solution = html.escape(task.solution.splitlines()[-1].strip()).replace("&quot;", "&#34;")
        assert solution not in paper and solution in keys
    assert hidden not in paper and hidden in keys
    assert "✓" not in paper and keys.count("✓") == len(exam.questions)
    for call in exam.calls:
        assert call.code in text_of(paper) and f" {call.value} " in text_of(keys)
    for page in (paper, keys):
        assert "default-src 'none'" in page and "size: A4" in page
        assert not re.search(r"""(?:src|href)=["'](?!#)""", page)


def test_the_functions_to_write_can_be_chosen(course):
    exam = make_exam(course, "01_parameters", 1, ["count_parameters"])
    assert [task.name for task in exam.tasks] == ["count_parameters"]
    with pytest.raises(CourseError, match="01_parameters has no exercise gelu: it has linear_"):
        make_exam(course, "01_parameters", 1, ["gelu"])


def test_the_command_asks_for_a_seed(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["questions", "02", "--exam"]) == 2
    assert "choose one, --seed 4711, and keep it to yourself" in capsys.readouterr().err
    assert main(["questions", "02", "--seed", "1"]) == 2
    assert "belong to --exam" in capsys.readouterr().err
    assert "proflab_classroom.questions.exam" in sys.modules
