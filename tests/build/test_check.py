"""`proflab check`: the table of the last cell, in a terminal."""

import importlib
import re
import shutil
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from run_all import NAME, SOLUTIONS, filled, released, run_all

from proflab.lesson.imports import MODULES
from proflab_course.cli import main

ROOT = Path(__file__).parents[2]

LEFT_OUT = {name: text for name, text in SOLUTIONS.items() if name != "area"}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A student's folder: release/ with the lesson, worked on, and another, untouched."""
    folder = released(tmp_path_factory.mktemp("course"))
    other = folder / "02_later"
    shutil.copytree(folder / NAME, other)
    (other / f"{NAME}.ipynb").rename(other / "02_later.ipynb")
    notebook = filled(folder / NAME, **LEFT_OUT, demo_field="never()  # not run by the command")
    for cell in notebook.cells:
        if cell.id == "demo_field":
            data = {"what": "the field", "guess": 9_000, "answer": 10_800, "unit": "m²"}
            mime = {"application/vnd.proflab.guess+json": data}
            cell.outputs = [nbformat.v4.new_output("display_data", mime)]
    nbformat.write(notebook, folder / NAME / f"{NAME}.ipynb")
    return folder.parent


def test_it_prints_what_the_last_cell_shows(course, monkeypatch, capfd):
    monkeypatch.chdir(course)
    before = (course / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    assert main(["check"]) == 0
    out, err = capfd.readouterr()
    assert "✅ count_ops  section 2  30 of 30 points  passes its visible checks\n" in out
    assert "⬜ area       section 1   0 of 40 points  not written yet\n" in out
    assert "So far 30 of 100 points by the visible checks.\nNext: write `area`" in out
    assert "the field: 10,800 m²; you guessed 9,000 m², 17 % too low" in out
    assert "02_later.ipynb: nothing is written yet" in out
    assert "in mine.py: 1 function" in out and (course / "release/mine.py").exists()
    assert err == ""
    assert (course / "release" / NAME / f"{NAME}.ipynb").read_bytes() == before


def test_a_function_that_fails_now_judges_no_saved_guess(tmp_path, monkeypatch, capfd):
    folder = released(tmp_path) / NAME
    notebook = filled(folder, **{**SOLUTIONS, "area": "def area(width, height):\n    return width"})
    demo = next(cell for cell in notebook.cells if cell.id == "demo_field")
    data = {"what": "the field", "guess": 9_000, "answer": 90, "unit": "m²"}
    mime = {"application/vnd.proflab.guess+json": data}
    demo.outputs = [nbformat.v4.new_output("display_data", mime)]
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 0
    assert "the field: 90 m², but `area` does not pass its checks" in capfd.readouterr().out


def test_a_lesson_is_found_by_number_name_and_path(course, monkeypatch):
    from proflab_course.check.command import find_notebooks

    path = course / "release" / NAME / f"{NAME}.ipynb"
    for place, words in (
        (course, ("1", "01", NAME, str(path), str(path.parent))),
        (path.parent, (None, "1", f"{NAME}.ipynb")),
        (path.parent.parent, ("01",)),
    ):
        monkeypatch.chdir(place)
        for word in words:
            assert [found.resolve() for found in find_notebooks(word)] == [path], word


@pytest.mark.parametrize(("points", "status"), [("30", 0), ("30.5", 1)])
def test_the_exit_status_by_score(course, monkeypatch, capsys, points, status):
    monkeypatch.chdir(course)
    assert main(["check", "01", "--fail-under", points]) == status
    said = f"30 points are fewer than {points}\n"
    assert (said in capsys.readouterr().out) == bool(status)


def workflow():
    """The steps of the action in docs/instructors.md."""
    page = (Path(__file__).parents[2] / "docs" / "instructors.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(text)["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.whole
def test_the_command_of_the_documented_action(course, tmp_path, monkeypatch):
    """It is red while a visible case fails and green when all pass."""
    install, check = workflow()
    assert install.startswith("pip install . ")
    words = check.split()
    assert words[:2] == ["proflab", "check"]
    monkeypatch.chdir(course)
    assert main(words[1:]) == 1
    shutil.copytree(course, tmp_path / "course")
    folder = tmp_path / "course" / "release" / NAME
    notebook = filled(folder, **SOLUTIONS)
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    monkeypatch.chdir(tmp_path / "course")
    assert main(words[1:]) == 0


def test_what_cannot_be_run_is_a_sentence(course, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    assert "go to the folder of the course" in capsys.readouterr().err
    assert main(["check", "gone.ipynb"]) == 2
    assert "there is no notebook gone.ipynb" in capsys.readouterr().err
    shutil.copy(course / "release" / NAME / f"{NAME}.ipynb", tmp_path)
    assert main(["check", f"{NAME}.ipynb"]) == 2
    assert "lesson.json is missing: put" in capsys.readouterr().err
    monkeypatch.chdir(course)
    assert main(["check", "7"]) == 2
    assert f"there is no lesson '7' (there is {NAME}, 02_later)" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "nbclient", None)
    assert main(["check", "1"]) == 2
    assert "pip install nbclient ipykernel" in capsys.readouterr().err


def test_what_is_not_installed_is_named(monkeypatch, capsys):
    for command, package, how in (
        ("check", "nbformat", "pip install jupyterlab"),
        ("grade", "nbformat", "pip install 'proflab[instructor]'"),
    ):
        error = ModuleNotFoundError(f"No module named '{package}'", name=package)
        monkeypatch.setattr(importlib, "import_module", lambda name, error=error: _raise(error))
        assert main([command]) == 2
        assert f"it needs {package}, which is not installed: {how}" in capsys.readouterr().err


def _raise(error):
    raise error


def test_an_import_that_fails_is_named(course, monkeypatch, capsys):
    folder = course / "release/02_later"
    monkeypatch.chdir(folder)
    notebook = filled(folder, imports="import no_such_module")
    nbformat.write(notebook, "broken.ipynb")
    assert main(["check", "broken.ipynb"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "So far 0 of 100 points" in said
    what = "the cell that begins with `import no_such_module` raises ModuleNotFoundError: No mod"
    assert f"First of all: {what}" in said


@pytest.mark.proves("a missing module is named before handing in")
def test_what_the_grader_may_not_have_is_named_before_handing_in(tmp_path, monkeypatch, capfd):
    """It is there now, as torch is on a student's machine; one in a `try` is prepared for."""
    folder = released(tmp_path) / NAME
    notebook = filled(folder, **SOLUTIONS)
    own = "import nbformat\nfrom os import path\nimport numpy.linalg, helper\n"
    own += "def f():\n    from traitlets.config import Config\n"
    own += "try:\n    import yaml\nexcept ImportError:\n    pass"
    notebook.cells.insert(2, nbformat.v4.new_code_cell(own))
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    (folder / "helper.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 0
    out = capfd.readouterr().out
    assert "Perhaps not there when your work is graded: nbformat, traitlets. The grader has" in out
    page = (ROOT / "docs/students.md").read_text("utf-8")
    for name in MODULES:
        assert name in out.partition("The grader has")[2] and name in page


def test_students_install_what_the_grader_is_said_to_have():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    installed = {re.match(r"[\w-]+", each)[0] for each in project["dependencies"]}
    assert {name.lower() for name in MODULES} == installed


@pytest.mark.whole
def test_the_same_table_as_in_the_notebook(course, monkeypatch, capsys):
    folder = course / "release/02_later"
    cells = run_all(folder, filled(folder, **SOLUTIONS))
    (output,) = cells["where_am_i"].outputs
    nbformat.write(filled(folder, **SOLUTIONS), folder / "all.ipynb")
    assert main(["check", str(folder / "all.ipynb")]) == 0
    table = output.data["text/plain"].partition("\n\n")[0]
    assert table in capsys.readouterr().out and table.count("✅") == 3


def test_it_prints_the_policy_on_ai_assistants(tmp_path, monkeypatch, capfd):
    folder = released(tmp_path) / NAME
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--policy"]) == 2
    assert "has no page AGENTS.md" in capfd.readouterr().err
    (folder / "AGENTS.md").write_text("This class asks nobody.\n")
    assert main(["check", "--policy"]) == 0
    assert capfd.readouterr().out == "This class asks nobody.\n"
    assert main(["check", "--policy", "tutor"]) == 0
    said = capfd.readouterr().out
    assert "put a number into a `guess_*` cell" in said and "answer a `concept_*` cell" in said
    assert main(["check", "--policy", "free"]) == 2
    assert "choose one of none, tutor, log" in capfd.readouterr().err
