"""Every attack of the corpus, run against the sandbox: nothing gained, read, left or written.

Those in LONG, which make the grader work for seconds up to its limits, are left to `make soak`.
"""

from __future__ import annotations

import os

import pytest
from attacked import (
    CANARY,
    LIMITS,
    Surroundings,
    check_outputs,
    findings,
    left_processes,
    passed_cases,
    plan_for,
)
from cohort.attacks import ATTACKS, HONEST, TRIED
from cohort.attacks.staying import MARK
from sandboxes import needs_sandbox

from proflab_course.grading.plan import Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = needs_sandbox


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    os.environ["PROFLAB_CANARY"] = CANARY + "environment"
    place = Surroundings(tmp_path_factory.mktemp("attacked"))
    yield place
    place.close()
    del os.environ["PROFLAB_CANARY"]


@pytest.fixture(scope="module")
def runners(surroundings):
    made: dict[str, SandboxRunner] = {}

    def get(name: str) -> SandboxRunner:
        if name not in made:
            made[name] = SandboxRunner(LIMITS[name], jobs=1)
        return made[name]

    yield get
    for runner in made.values():
        runner.close()


# More of a kind, which takes its time: left to `make test-rest`.
ALIKE = {
    "CPU in children",
    "CPU in the exercise itself",
    "a hundred thousand MIME types",
    "a list of fifty million",
    "a long text for an answer",
    "a reply of five million empty lists",
    "an array of two lists of eight million",
    "memory slowly",
    "output in many lines",
    "recursion without a limit",
    "shared memory",
}
LONG = {
    "a hundred thousand keys that were not asked for",
    "a list of a million, forged",
    "a list of arrays",
    "output in many displays",
}


def as_parameter(attack):
    mark = pytest.mark.soak if attack.name in LONG else pytest.mark.whole
    marks = mark if attack.name in LONG | ALIKE else ()
    return pytest.param(attack, marks=marks, id=attack.name.replace(" ", "_"))


@pytest.mark.proves("attacks gain nothing")
@pytest.mark.parametrize("attack", [as_parameter(attack) for attack in ATTACKS])
def test_attack_gains_reads_and_leaves_nothing(attack, surroundings, runners):
    runner = runners(attack.runner)
    plan = plan_for(surroundings, attack.cells, attack.after, attack.late)
    result = runner.run(surroundings.submission(attack), plan)
    assert findings(attack, result, surroundings) == []
    check_outputs(result)
    assert left_processes(runner) == []


def test_every_attack_says_when_it_acts():
    """A cell that does nothing but say so, and comes after the act, shows nothing."""
    for attack in ATTACKS:
        cells = (*attack.cells, *attack.after)
        assert attack.ends or any(TRIED in cell for cell in cells), attack.name
        assert not any(cell.strip() in (f"print('{TRIED}')", f'print("{TRIED}")') for cell in cells)


def test_the_corpus_is_as_large_as_it_says():
    names = {attack.name for attack in ATTACKS}
    assert len(names) == len(ATTACKS) >= 120
    assert names > LONG | ALIKE and not LONG & ALIKE


@pytest.mark.parametrize("kind", ["roomy", "cpu"])
def test_honest_work_after_the_attacks_keeps_its_points_and_finds_no_notes(
    kind, surroundings, runners
):
    look = f"""
import os, json, numpy, proflab.checks.values
print([f for f in ("/tmp", "/dev/shm", "..", ".") if os.path.exists(f + "/{MARK}")])
print([hasattr(m, "note") for m in (json, numpy, proflab.checks.values)])
print([p for p in os.listdir("/proc") if p.isdigit()])
"""
    result = runners(kind).run(Submission("honest"), plan_for(surroundings, (look, HONEST), ()))
    assert (result.status, result.sentence) == ("finished", "")
    said = result.replies[0][0].outputs[0]["text"]
    assert said == "[]\n[False, False, False]\n['1', '2']\n"
    assert len(passed_cases(result, 2)) == 5
