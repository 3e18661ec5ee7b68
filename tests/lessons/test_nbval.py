"""The notebooks run cell by cell in a kernel by nbval: the instructor's, the empty student's.

`make test` runs every lesson already, without a kernel: `proflab build --check` executes the solved
and the empty release, and compares what the source shows. So nbval runs the first lesson solved,
with something changed, and one with a single exercise solved; `make soak` runs all.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest

from proflab.lesson import guesses
from proflab.lesson.names import bound_names, used_names
from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson, read_notebook

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
LESSONS = counted(COURSE.lessons("source"))
SHOWN_TAG = "nbval-check-output"
CHOSEN, SOLVED = LESSONS[1], "matmul_flops"


def copy(step: str, name: str, place: Path) -> Path:
    """A lesson's folder where running it leaves nothing behind; returns the notebook's path."""
    shutil.copytree(ROOT / step / name, place / name)
    return place / name / f"{name}.ipynb"


def run_nbval(notebook: Path) -> dict[str, str | None]:
    """For each code cell's id, why it failed, or None."""
    result = notebook.with_suffix(".xml")
    # No other plugin is imported; with the package first, nbformat is there sooner.
    plugins = ["-p", "proflab_course", "-p", "nbval.plugin", "-p", "no:cacheprovider"]
    options = [*plugins, "--nbval-lax", "--nbval-cell-timeout=300"]
    alone = {"PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--junitxml={result}", notebook.name],
        cwd=notebook.parent,
        env=os.environ | alone | {"PROFLAB_DEMO": "small"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode in (0, 1), answer.stdout + answer.stderr
    cells = [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]
    cases = ElementTree.parse(result).iter("testcase")
    # nbval names a case by the number of its code cell.
    failures = {int(case.get("name").split()[1]): case.find("failure") for case in cases}
    assert sorted(failures) == list(range(len(cells)))
    return {
        cell.id: None if failures[i] is None else plain(failures[i].text or "")
        for i, cell in enumerate(cells)
    }


def plain(text: str) -> str:
    """Without the terminal's colours."""
    return re.sub(r"(#x1B|\x1b)\[[\d;]*m", "", text)


def with_given(lesson: Lesson, exercises: set[str]) -> set[str]:
    """These exercises, and what is given and calls them."""
    needed, before = set(exercises), set()
    while needed != before:
        before = set(needed)
        for cell in lesson.named("given"):
            for statement in cell.statements():
                if needed & used_names([statement]):
                    needed |= bound_names([statement])
    return needed


def needs_exercise(lesson: Lesson, exercises: set[str], device: bool = True) -> set[str]:
    """Return the ids of the test and demo cells that call one of these exercises.

    device: also those cells that call it only where there is a GPU
    """
    return {
        cell.node.id
        for cell in lesson.named("test", "demo")
        if exercises & used_names(cell.statements()) and (device or "device" not in cell.tags)
    }


def open_questions(lesson: Lesson) -> set[str]:
    """Return the ids of the test cells of concept questions, of which a release answers none."""
    return {cell.name for cell in lesson.named("answer test")}


@pytest.mark.soak  # the build compares what it shows; the next test has it in a kernel
@pytest.mark.parametrize("name", LESSONS)
def test_the_instructors_notebook_runs_and_prints_what_it_shows(name, tmp_path):
    notebook = copy("source", name, tmp_path)
    shown = [c for c in nbformat.read(notebook, 4).cells if SHOWN_TAG in c.metadata.get("tags", [])]
    assert shown and all(cell.outputs for cell in shown)
    assert {why for why in run_nbval(notebook).values()} == {None}


@pytest.mark.parametrize("name", LESSONS)
def test_a_stored_output_holds_the_guess_that_a_run_shows(name):
    """Else nbval finds one output more than the file has."""
    for cell in nbformat.read(COURSE.source(name), 4).cells:
        if SHOWN_TAG in cell.metadata.get("tags", []):
            kept = [output for output in cell.outputs if guesses.MIME in output.get("data", {})]
            assert len(kept) == cell.source.count("guesses.compare("), cell.id


@pytest.mark.whole
def test_a_stored_output_that_is_not_what_the_cell_prints_fails(tmp_path):
    notebook = copy("source", LESSONS[0], tmp_path)
    document = nbformat.read(notebook, 4)
    cell = next(c for c in document.cells if SHOWN_TAG in c.metadata.get("tags", []))
    right = "".join(cell.outputs[0].text)
    cell.outputs[0].text = re.sub(r"\d", lambda digit: str(9 - int(digit[0])), right, count=1)
    nbformat.write(document, notebook)
    failed = {name: why for name, why in run_nbval(notebook).items() if why}
    assert set(failed) == {cell.id}
    assert "mismatch" in failed[cell.id]


def run_release(name: str, place: Path, solved: set[str]) -> tuple[Lesson, dict[str, str]]:
    """Run a release with these exercises solved: the lesson, and why each cell failed that did."""
    notebook = copy("release", name, place)
    document, source = (nbformat.read(path, 4) for path in (notebook, COURSE.source(name)))
    solutions = {cell.id: cell.source for cell in source.cells if cell.id in solved}
    for cell in document.cells:
        cell.source = solutions.get(cell.id, cell.source)
    nbformat.write(document, notebook)
    failed = {cell: why for cell, why in run_nbval(notebook).items() if why}
    return read_notebook(notebook, name), failed


def only_these_raise(lesson: Lesson, unsolved: set[str], failed: dict[str, str]) -> None:
    """Assert that what failed is what needs an exercise that is to be written, and says so."""
    for asked in open_questions(lesson):
        assert re.search(r'put "A", "B", "C" or "D" in place of None', failed.pop(asked))
    assert needs_exercise(lesson, unsolved, device=False) <= set(failed)
    # What is given may call an exercise, though not on every machine: on a GPU only, say.
    assert set(failed) <= needs_exercise(lesson, with_given(lesson, unsolved))
    for why in failed.values():
        assert re.search(r"^`\w+` is not written yet", why, re.MULTILINE), why


@pytest.mark.soak  # the build does, without a kernel; the next test has it in a kernel
@pytest.mark.parametrize("name", LESSONS)
def test_in_the_empty_notebook_only_what_is_still_to_be_written_raises(name, tmp_path):
    lesson, failed = run_release(name, tmp_path, set())
    assert {cell.node.id for cell in lesson.named("test")} <= set(failed)
    only_these_raise(lesson, {cell.name for cell in lesson.named("exercise")}, failed)


@pytest.mark.whole
def test_a_solved_exercise_no_longer_raises_and_only_what_is_still_to_be_written_does(tmp_path):
    lesson, failed = run_release(CHOSEN, tmp_path, {SOLVED})
    exercises = {cell.name for cell in lesson.named("exercise")}
    only_these_raise(lesson, exercises - {SOLVED}, failed)
    passed = {cell.node.id for cell in lesson.named("test")} - set(failed)
    assert passed == {cell.node.id for cell in lesson.tests[SOLVED]}
