"""Lesson 04 measures memory: its solution keeps all points every time, on a busy machine, too."""

import os
from pathlib import Path

import nbformat
import pytest
from busy import busy_cores
from sandboxes import needs_sandbox

from proflab_course.course.notebook import read_module
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.run.sandbox_runner import SandboxRunner

pytestmark = [pytest.mark.soak, needs_sandbox]
ROOT = Path(__file__).resolve().parents[2]
TIMES = int(os.environ.get("PROFLAB_SOAK_MEMORY", "20"))


@pytest.mark.parametrize("full", [False, True])
def test_the_solution_keeps_all_points(full):
    name = "04_memory"
    notebook = read_module(ROOT / "modules" / name / f"{name}.py", name).notebook
    scores = []
    with busy_cores(3), SandboxRunner(jobs=1) as runner:
        for _ in range(TIMES):
            work = nbformat.from_dict(notebook)
            folder = ROOT / "release" / name
            scores.append(grade_notebook(work, notebook, folder, full=full, runner=runner).score)
    assert scores == [100] * TIMES
