"""What `make check` looks at: the lessons and tests that a change concerns."""

import contextlib
import functools
import io
import runpy

import pytest
from imports import ROOT


@functools.cache
def script():
    """Return what `.ci/changed` defines; it reads each file of the repository once."""
    return runpy.run_path(str(ROOT / ".ci" / "changed"))


def concerned(*files):
    """Return kind → names, for a change of these files."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        script()["main"]([*files])
    found = {"lesson": [], "cohort": [], "test": [], "later": []}
    for line in out.getvalue().splitlines():
        kind, name = line.split()
        found[kind].append(name)
    return found


def test_a_lesson_is_built_and_its_cohort_and_tests_are_run():
    found = concerned("modules/08_benchmarking/08_benchmarking.py")
    assert found["lesson"] == ["08_benchmarking"] and found["cohort"] == ["lesson_08"]
    assert "tests/lessons/test_lesson_08.py" in found["test"]
    assert all("lesson_08" in test for test in found["test"])


def test_a_known_solution_concerns_its_lessons_cohort():
    found = concerned("modules/08_benchmarking/wrong/pareto.txt")
    assert found["lesson"] == ["08_benchmarking"] and found["cohort"] == ["lesson_08"]


def test_a_lessons_demos_have_no_cohort():
    found = concerned("modules/08_benchmarking/demos.py")
    assert found["lesson"] == ["08_benchmarking"] and not found["cohort"]


def test_a_test_concerns_itself_and_a_helper_those_that_import_it():
    assert concerned("tests/build/test_limits.py")["test"] == ["tests/build/test_limits.py"]
    assert concerned("tests/soak/test_growth.py")["test"] == []
    assert "tests/lessons/test_lesson_10_kernels.py" in concerned("tests/helpers/nvrtc.py")["test"]


@pytest.mark.parametrize(
    "file, first",
    [
        ("proflab_course/build/limits.py", "tests/build/test_limits.py"),
        ("proflab/tensor.py", "tests/engine/test_tensor.py"),
        ("proflab_course/grading/inside/worker.py", "tests/grading/test_worker.py"),
        ("docs/students.md", "tests/build/test_contributing.py"),
    ],
)
def test_the_closest_test_comes_first(file, first):
    assert concerned(file)["test"][0] == first


@pytest.mark.whole
@pytest.mark.parametrize("file", ["proflab/ops/activation.py", "proflab/autograd.py"])
def test_gradients_are_checked_whatever_else_changed(file):
    others = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob("*/test_*.py")]
    assert "tests/engine/test_ops_gradients.py" in concerned(file)["test"]
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "proflab").glob("ops/*.py")]
    many = concerned(*others[::3], "proflab_course/course/layout.py", *modules, file)
    assert "tests/engine/test_ops_gradients.py" in many["test"]
    assert "tests/engine/test_ops_torch.py" in many["test"]


@pytest.mark.whole
@pytest.mark.parametrize("package", ["proflab", "proflab_course", "proflab_classroom"])
def test_every_module_has_a_test_that_is_run(package):
    """Else `make check` would be content with a change that nothing looked at."""
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / package).rglob("*.py")]
    assert [f for f in files if not list(script()["tests_of"](f))] == []


def test_what_is_slow_is_left_for_make_test_and_said():
    found = concerned("proflab_course/grading/records/gradebook.py")
    assert "tests/grading/test_nbgrader.py" in found["later"]
    assert not set(found["test"]) & set(found["later"])
