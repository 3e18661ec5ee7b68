"""The attacks end to end: no hostile hand-in gains a point, stops the grader, or harms another.

Every attack on verdicts is tried against a small test in test_sandbox_attacks.py. Here one in four
is tried in a real lesson, of whose test cells the first two are kept; `make soak` tries all of them
in the whole lesson.
"""

from __future__ import annotations

import json
import subprocess

import nbformat
import pytest
from cohort.attacks import ATTACKS
from cohort.attacks.files import FILE_ATTACKS
from grading_course import LESSON, cells_of, copy_course, release, shortened, solved, source
from sandboxes import needs_sandbox

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.command import grade_class
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.limits import MB, Limits
from proflab_course.grading.plan import Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [needs_sandbox, pytest.mark.whole("grading/test_sandbox_attacks.py")]
LIMITS = Limits(cell_seconds=10.0, notebook_seconds=60.0, memory=1024 * MB, wall_factor=30.0)
TAMPERING = [a for a in ATTACKS if a.module.endswith(("tampering", "forging", "reaching"))]
HONEST = {"aa_honest": 100.0, "zz_honest": 100.0}


def student_name(name: str) -> str:
    """A folder's name for an attack."""
    return "".join(letter if letter.isalnum() else "_" for letter in name)


@pytest.fixture(scope="module")
def runner():
    with SandboxRunner(LIMITS, jobs=2) as made:
        yield made


@pytest.fixture(scope="module")
def impatient():
    """For attacks that may make their own process wait for ever."""
    with SandboxRunner(Limits(3.0, 30.0, wall_factor=1.0)) as made:
        yield made


@pytest.fixture(scope="module")
def key():
    return make_key(LESSON, source())


@pytest.fixture(scope="module")
def attacked_class(tmp_path_factory, runner):
    """A class of hostile files and two honest students, graded in one run."""
    course = copy_course(tmp_path_factory.mktemp("class"), [])
    right, empty = (json.loads(nbformat.writes(n)) for n in (solved(), release()))
    for attack in FILE_ATTACKS:
        folder = course.root / "submitted" / student_name(attack.name) / LESSON
        folder.mkdir(parents=True)
        attack.make(right if attack.honest else empty, folder / f"{LESSON}.ipynb")
    for name in HONEST:
        folder = course.root / "submitted" / name / LESSON
        folder.mkdir(parents=True)
        (folder / f"{LESSON}.ipynb").write_text(json.dumps(right))
    rows = grade_class(course, LESSON, runner, jobs=2, progress=False)
    yield course, {row.student: row for row in rows}
    # shutil.rmtree, which pytest calls, gives up on some of these.
    subprocess.run(["rm", "-rf", course.root / "submitted"], check=True)


@pytest.mark.parametrize("attack", FILE_ATTACKS, ids=lambda a: student_name(a.name))
def test_a_hostile_file_has_an_outcome_and_no_point_too_many(attack, attacked_class):
    course, rows = attacked_class
    row = rows[student_name(attack.name)]
    assert row.status in attack.statuses, (row.status, row.sentence)
    assert row.sentence or row.status == "graded"
    if attack.keeps:
        assert row.score == 100
    else:
        assert row.score <= (100 if attack.honest else 0)
    written = course.root / "autograded" / row.student / LESSON / f"{LESSON}.ipynb"
    nbformat.validate(nbformat.read(written, as_version=4))
    assert written.stat().st_size < 40 * MB


def test_the_others_in_the_class_get_what_they_earned(attacked_class):
    _, rows = attacked_class
    assert {name: (rows[name].status, rows[name].score) for name in HONEST} == {
        name: ("graded", score) for name, score in HONEST.items()
    }


def score_of(attack, key, runner):
    """The points of an empty notebook that begins with the attack's cells."""
    notebook = cells_of(key, release())
    notebook.cells[1:1] = [nbformat.v4.new_code_cell(code) for code in attack.cells]
    graded = grade_notebook(notebook, key, None, False, runner, Submission("me"))
    nbformat.writes(graded.notebook)
    assert graded.scores.keys() == key.tests.keys()
    return graded.score


each_attack = pytest.mark.parametrize("attack", TAMPERING, ids=lambda a: student_name(a.name))
one_in_four = pytest.mark.parametrize("attack", TAMPERING[::4], ids=lambda a: student_name(a.name))


@one_in_four
def test_an_attack_gains_no_point_in_a_real_lesson(attack, key, runner, impatient):
    short = shortened(key, list(key.tests)[:2])
    assert score_of(attack, short, impatient if attack.runner == "wall" else runner) == 0


@pytest.mark.soak
@each_attack
def test_no_attack_gains_a_point_in_the_whole_lesson(attack, key, runner, impatient):
    assert score_of(attack, key, impatient if attack.runner == "wall" else runner) == 0
