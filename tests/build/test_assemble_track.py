"""A profiler of a track's class: what they wrote, and the course's own for all else."""

import os
import shutil
import subprocess
import sys

import nbformat
import pytest
from cohort.run import ROOT
from handed_in import filled
from shop_course import make_shop

from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.notebook import read_module, read_notebook


@pytest.fixture
def hour(tmp_path, monkeypatch):
    """The tree of the track "hour", with nothing written, outside of the course."""
    course = make_shop(tmp_path / "course")
    monkeypatch.chdir(course.root)
    words = ["build", "--track", "hour", "-o", str(tmp_path / "tree"), "--audit", "static"]
    assert main(words) == 0
    monkeypatch.chdir(tmp_path / "tree")
    whole = prepare(course).whole[0]
    return tmp_path / "tree", whole


def write(tree, whole, **cells):
    path = tree / "release/01_shop/01_shop.ipynb"
    notebook = filled(read_notebook(path, "01_shop"), whole)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = cells.get(name, cell.source)
    nbformat.write(notebook, path)


def assemble(*options):
    assert main(["assemble", "release", "-o", "my_profiler.py", *options]) == 0
    names = {"__name__": "my_profiler"}
    exec(open("my_profiler.py").read(), names)
    return names


def test_the_tree_has_the_courses_own_code_but_no_exercise_of_the_track(hour):
    text = (hour[0] / "release/given.py").read_text()
    for given in ("def tax(", "def mean(", "def discount(", "def cart("):
        assert given in text
    assert "def total(" not in text and "76_804" not in text


@pytest.mark.proves
def test_what_is_given_and_what_no_lesson_of_the_class_has_is_the_courses(hour, capsys):
    tree, whole = hour
    write(tree, whole, tax="def tax(price):\n    return 0", total=(
        "def total(prices):\n    return 1.0 + sum(map(tax, prices))"))  # fmt: skip
    names = assemble("--standalone")
    assert names["total"]([4, 8]) == 4.0 and names["tax"](8) == 2.0  # an edited given cell
    assert names["cart"]([4, 8]) == (4.0, 6.0)
    told = "You wrote each of its exercises (total); the rest is the course's own."
    assert told in capsys.readouterr().out and told in names["__doc__"]
    assert "cart" not in assemble("--standalone", "--own") and "cart" not in assemble()


def test_an_unwritten_function_stays_unwritten_where_only_the_class_may_write_it(hour, capsys):
    names = assemble("--standalone")
    with pytest.raises(NotImplementedError):
        names["total"]([4])
    said = capsys.readouterr().out
    assert "not yet written in 01_shop: total" in said
    assert "So far its functions are the course's own: each one that you write replaces" in said


def test_mine_has_what_was_written_and_nothing_given(hour, capsys):
    tree, whole = hour
    write(tree, whole)
    assert main(["check", "01"]) == 0
    assert "1 function of your own" in capsys.readouterr().out
    mine = (tree / "release/mine.py").read_text()
    assert "def total(" in mine and "def tax(" not in mine and "def mean(" not in mine


@pytest.mark.whole  # `make test` has the shop above, and the evening in test_every_track.py
def test_an_evening_leaves_with_a_profiler_that_runs(tmp_path, monkeypatch):
    tree = tmp_path / "evening"
    monkeypatch.chdir(ROOT)
    words = ["build", "--track", "evening", "-o", str(tree), "--audit", "static"]
    assert main(words) == 0
    for path in tree.glob("release/*/*.ipynb"):
        name = path.stem
        module = read_module(ROOT / f"modules/{name}/{name}.py", name)
        nbformat.write(filled(read_notebook(path, name), module), path)
    monkeypatch.chdir(tree)
    words = ["assemble", "release", "-o", "my_profiler.py", "--standalone"]
    assert main(words) == 0
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy("my_profiler.py", alone)

    def run(*words):
        command = [sys.executable, "my_profiler.py", *words]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(command, cwd=alone, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    yours = "exercises (linear_parameters, count_parameters, count_flops, record)"
    assert f"You wrote each of its {yours}; the rest is the course's own." in run()
    shown = run("lenet5", "--passes", "2", "--threads", "1")
    assert "conv2d" in shown and "share of the peak" in shown and "written: report.html" in shown
