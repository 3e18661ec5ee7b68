"""A class of every attack and twenty honest students, graded in one run as an instructor would."""

from __future__ import annotations

import json
import statistics
import subprocess
import time

import nbformat
import pytest
from attacked import Surroundings
from cohort.attacks import ATTACKS
from cohort.attacks.files import FILE_ATTACKS
from grading_course import LESSON, copy_course, hand_in, release, solved
from sandboxes import needs_sandbox

from proflab_course.grading.command import grade_class
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [pytest.mark.soak, needs_sandbox]
HONEST = 20
WORST = """
CPU, signals ignored; CPU; CPU in children; children for which nobody waits;
children for which nobody waits, of an orphan; a request is read a byte at a time; shared memory;
memory slowly; memory in children; buffers of sockets; recursion without a limit; a fork bomb;
output in many lines; values too large, too deep, too many; SIGSTOP to itself; sleep; threads;
processes; a huge reply is announced; a larger share of the processors
""".replace("\n", " ")


def hostile(attack, surroundings):
    """Return the empty release with an attack's cells before and after everything else."""
    notebook = release()
    before = [nbformat.v4.new_code_cell(surroundings.filled(code)) for code in attack.cells]
    after = [nbformat.v4.new_code_cell(surroundings.filled(code)) for code in attack.after]
    notebook.cells = [*before, *notebook.cells, *after]
    for cell in notebook.cells:
        cell.pop("id", None)
    notebook.nbformat_minor = 4
    return notebook


def test_a_class_of_all_attacks_is_graded_and_honest_students_keep_their_points(tmp_path, capsys):
    surroundings = Surroundings(tmp_path / "beside")
    course = copy_course(tmp_path, [])
    right, empty = (json.loads(nbformat.writes(n)) for n in (solved(), release()))
    for number, attack in enumerate(ATTACKS):
        hand_in(course, f"attack_{number:03}", hostile(attack, surroundings))
    for number, attack in enumerate(FILE_ATTACKS):
        folder = course.root / "submitted" / f"file_{number:03}" / LESSON
        folder.mkdir(parents=True)
        attack.make(right if attack.honest else empty, folder / f"{LESSON}.ipynb")
    for number in range(HONEST):
        hand_in(course, f"honest_{number:02}", solved())
    begun = time.perf_counter()
    with SandboxRunner(jobs=2) as runner:
        rows = {r.student: r for r in grade_class(course, LESSON, runner, jobs=2, progress=False)}
    took = time.perf_counter() - begun
    with capsys.disabled():
        print(f"\n{len(rows)} hand-ins, {HONEST} of them honest, graded in {took:.0f} s")
    surroundings.close()
    # Some of what they handed in pytest's own cleaning gives up on.
    subprocess.run(["rm", "-rf", course.root / "submitted"], check=True)
    assert len(rows) == len(ATTACKS) + len(FILE_ATTACKS) + HONEST
    honest = {(r.score, r.status) for name, r in rows.items() if name.startswith("honest")}
    assert honest == {(100, "graded")}
    gained = {name: r.score for name, r in rows.items() if name.startswith("attack") and r.score}
    assert gained == {}


class Timed:
    """A runner that notes how long each hand-in took, of real time."""

    def __init__(self, runner: SandboxRunner) -> None:
        self.runner = runner
        self.took: dict[str, float] = {}

    def run(self, submission, plan):
        """Run the plan and note the time."""
        begun = time.perf_counter()
        try:
            return self.runner.run(submission, plan)
        finally:
            student = submission.name.split(",")[0]
            self.took[student] = self.took.get(student, 0.0) + time.perf_counter() - begun


def times_of_honest(place, attacks, honest) -> tuple[float, list[float]]:
    """Grade a class; return the seconds of all, and those of each honest hand-in."""
    place.mkdir()
    surroundings = Surroundings(place / "beside")
    course = copy_course(place, [])
    for number, attack in enumerate(attacks):
        hand_in(course, f"attack_{number:03}", hostile(attack, surroundings))
    for number in range(honest):
        hand_in(course, f"honest_{number:02}", solved())
    begun = time.perf_counter()
    with SandboxRunner(jobs=2) as runner:
        timed = Timed(runner)
        grade_class(course, LESSON, timed, jobs=2, progress=False)
    took = time.perf_counter() - begun
    surroundings.close()
    subprocess.run(["rm", "-rf", course.root / "submitted"], check=True)
    return took, [s for name, s in timed.took.items() if name.startswith("honest")]


def test_the_worst_do_not_slow_down_honest_students_beside_them(tmp_path, capsys):
    names = {name.strip() for name in WORST.split(";")}
    worst = [attack for attack in ATTACKS if attack.name in names]
    assert len(worst) == len(names) == 20
    alone, honest_alone = times_of_honest(tmp_path / "alone", [], 40)
    beside, honest_beside = times_of_honest(tmp_path / "beside", worst, 20)
    ratio = statistics.median(honest_beside) / statistics.median(honest_alone)
    with capsys.disabled():
        print(
            f"\n40 honest hand-ins {alone:.0f} s; 20 of the worst beside 20 honest ones "
            f"{beside:.0f} s; an honest one takes {ratio:.2f} times as long beside them"
        )
    assert ratio < 2
