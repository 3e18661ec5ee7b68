"""A grade is stale if what can change a verdict has changed, and for nothing else."""

import ast
import shutil

import pytest
from grading_course import source
from imports import ROOT, import_graph, modules

from proflab.lesson.names import used_names
from proflab_course.course.harness import NOT_COUNTED, harness_files, harness_fingerprint
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.resume import handin_fingerprint
from proflab_course.grading.submissions.which_lesson import Lessons


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Return a folder with a copy of both packages."""
    root = tmp_path_factory.mktemp("packages")
    for name in ("proflab", "proflab_course"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def touched(root, path: str) -> str:
    """Return the fingerprint with a comment added to a file, which is then restored."""
    file = root / path
    before = file.read_bytes()
    file.write_bytes(before + b"# another word\n")
    try:
        return harness_fingerprint(root)
    finally:
        file.write_bytes(before)


@pytest.mark.parametrize(
    "path, regrades",
    [
        ("proflab/checks/compare.py", True),
        ("proflab/tensor.py", True),
        ("proflab/ops/matmul.py", True),
        ("proflab/lesson/doubles/clocks.py", True),
        ("proflab/lesson/hardware.py", True),
        ("proflab_course/cases/reader.py", True),
        ("proflab_course/grading/points.py", True),
        ("proflab_course/grading/inside/worker.py", True),
        ("proflab/lesson/plot.py", False),
        ("proflab/lesson/demo.py", False),
        ("proflab/standalone/page.py", False),
        ("proflab_course/grading/pages/feedback.py", False),
        ("proflab_course/report/lesson_page.py", False),
        ("proflab_course/build/audit.py", False),
    ],
)
def test_touching_a_file_regrades_everybody_or_nobody(packages, path, regrades):
    assert (touched(packages, path) != harness_fingerprint(packages)) is regrades


def test_a_new_file_counts_whatever_it_is(packages):
    before = harness_fingerprint(packages)
    new = packages / "proflab/lesson/brand_new.py"
    new.write_text("")
    assert harness_fingerprint(packages) != before
    new.unlink()


def test_another_text_of_one_length_in_a_students_own_module_is_another_hand_in(tmp_path):
    lessons, found = Lessons(make_key("01_parameters", source()), ROOT / "source"), set()
    (tmp_path / "01_parameters.ipynb").write_text("{}")
    for text in ("size = 1\n", "size = 2\n"):
        (tmp_path / "own.py").write_text(text)
        found |= {handin_fingerprint(tmp_path, lessons), handin_fingerprint(tmp_path, lessons)}
    assert len(found) == 2


@pytest.mark.whole
def test_the_grader_imports_nothing_that_is_not_counted():
    known = modules("proflab_course")
    counted = {name for name, path in known.items() if path in set(harness_files(ROOT))}
    graph = import_graph(known)
    assert len(counted) > 50
    assert not {(name, other) for name in counted for other in graph[name] - counted}


@pytest.mark.parametrize("lesson", Course(ROOT).lessons())
def test_only_demo_cells_use_what_is_not_counted(lesson):
    tools = {name.removesuffix(".py").replace("/", ".") for name in NOT_COUNTED}
    assert all((ROOT / name).exists() for name in NOT_COUNTED)
    cells = read_module(Course(ROOT).module(lesson), lesson).cells
    trees = [(cell, ast.parse(cell.code)) for cell in cells if cell.code]
    names = {
        alias.asname or alias.name
        for _, tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if {node.module, f"{node.module}.{alias.name}"} & tools
    }
    assert names
    for cell, tree in trees:
        assert not used_names(tree.body) & names or cell.role in ("demo", "milestone"), cell.where
