"""From modules/ to source/ and release/: what comes out, how steadily, what a failure leaves."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from mini_course import FIRST, SECOND, given, make_course, write_lesson

from proflab_course.build import command as building
from proflab_course.build.command import build, check
from proflab_course.cli import main
from proflab_course.course.layout import CourseError


def files(root: Path) -> dict[str, bytes]:
    """Everything in source/ and release/."""
    paths = [p for step in ("source", "release") for p in (root / step).rglob("*") if p.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def notebook(course, step: str, lesson: str):
    return nbformat.read(getattr(course, step)(lesson), as_version=4)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A course, built and fully audited; tests only look at it."""
    course = make_course(tmp_path_factory.mktemp("course"))
    assert build(course) == ["01_first", "02_second"]
    return course


@pytest.fixture
def course(built, tmp_path):
    """A copy of the built course, which a test may change."""
    shutil.copytree(built.root, tmp_path / "course")
    return type(built)(tmp_path / "course")


@pytest.mark.proves("a build makes notebooks, pictures and what came before")
def test_a_lesson_yields_notebooks_pictures_and_what_came_before(built):
    names = set(files(built.root))
    lesson = {"02_second/02_second.ipynb", "02_second/built.py"}  # it does not show the picture
    lesson |= {"01_first/01_first.ipynb", "01_first/plane.svg"}
    lesson |= {"01_first/lesson.json", "02_second/lesson.json"}
    assert names == {f"{step}/{name}" for step in ("source", "release") for name in lesson}


def test_the_release_has_stubs_and_no_secret(built):
    text = "".join(path.read_text() for path in (built.root / "release").rglob("*.ipynb"))
    assert "raise NotImplementedError()" in text and "YOUR ANSWER HERE" in text
    for secret in ("width * height", "7_919", "isoperimetric", "HIDDEN", "BEGIN"):
        assert secret not in text


def test_built_py_works_and_holds_nothing_of_its_lesson(built):
    text = (built.root / "release/02_second/built.py").read_text()
    names: dict = {}
    exec(text, names)
    assert names["area"](3, 4) == 12 and names["Sheet"].sides == 2
    assert "{'01_first': ['area', 'circle']}" in text  # those that mine.py may replace
    assert "volume" not in text and "SOLUTION" not in text


@pytest.mark.whole
def test_a_second_build_gives_the_same_bytes(built, tmp_path):
    again = make_course(tmp_path)
    build(again)
    assert files(again.root) == files(built.root)


@pytest.mark.whole
def test_nbgrader_alone_makes_the_same_release(course):
    ours = files(course.root)
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", "02_second", "--force"]
    path = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(course.root)}
    subprocess.run(command, cwd=course.root, env=path, check=True, capture_output=True)
    assert files(course.root) == ours


def test_cell_ids_are_grade_ids_and_unique(built):
    for step in ("source", "release"):
        cells = notebook(built, step, "01_first").cells
        ids = [cell.id for cell in cells]
        assert len(set(ids)) == len(ids)
        graded = [cell for cell in cells if "nbgrader" in cell.metadata]
        assert [cell.id for cell in graded] == [c.metadata.nbgrader.grade_id for c in graded]


def test_a_new_cell_changes_no_other_cells_id(course):
    before = [cell.id for cell in notebook(course, "source", "01_first").cells]
    longer = FIRST.replace("\n# Why do", "\n# A new thought.\n\n# %% [markdown]\n# Why do")
    write_lesson(course.root, "01_first", longer)
    build(course, ["1"], audit="static")
    after = [cell.id for cell in notebook(course, "source", "01_first").cells]
    assert [i for i in after if i in before] == before and len(after) == len(before) + 1


def test_odd_and_long_names_become_valid_ids(course):
    long = "a_name_that_is_" + "very_" * 12 + "long"
    write_lesson(course.root, "01_first", FIRST + "\n" + given("1", long))
    build(course, ["01_first"], audit="static")
    nbformat.validate(notebook(course, "release", "01_first"))


def test_notebooks_name_their_kernel_and_no_version_of_a_tool(built):
    for step in ("source", "release"):
        metadata = notebook(built, step, "01_first").metadata
        assert metadata.kernelspec.name == "python3" and "jupytext" not in metadata


def test_only_cells_marked_for_comparison_keep_their_output(built):
    cells = [c for c in notebook(built, "source", "01_first").cells if c.cell_type == "code"]
    kept = {c.id: c.outputs[0].text for c in cells if c.outputs}
    assert kept == {"first_shown": "pi is 3.1416\n"}
    assert not any(c.get("outputs") for c in notebook(built, "release", "01_first").cells)


@pytest.mark.soak
def test_nbval_accepts_the_source(built):
    """Of the course's own lessons tests/lessons/test_nbval.py sees it every day."""
    command = [sys.executable, "-m", "pytest", "-q", "--nbval-lax", "-p", "no:cacheprovider"]
    place = built.source("01_first")
    ran = subprocess.run([*command, place.name], cwd=place.parent, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_a_static_build_keeps_the_outputs_of_unchanged_cells(course):
    before = files(course.root)
    build(course, audit="static")
    assert files(course.root) == before
    write_lesson(course.root, "01_first", FIRST.replace("pi is", "pi ="))
    build(course, audit="static")
    assert not any(c.get("outputs") for c in notebook(course, "source", "01_first").cells)


def test_one_lesson_can_be_built_alone(course):
    write_lesson(course.root, "01_first", FIRST.replace("Areas", "Surfaces"))
    write_lesson(course.root, "02_second", SECOND.replace("Volumes", "Bodies"))
    assert build(course, ["02_second"], audit="static") == ["02_second"]
    text = {name: data.decode() for name, data in files(course.root).items()}
    assert "Bodies" in text["release/02_second/02_second.ipynb"]
    assert "Surfaces" not in text["release/01_first/01_first.ipynb"]


def test_check_is_content_when_all_is_in_step(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    assert main(["build", "--check", "--audit", "static"]) == 0
    assert "in step" in capsys.readouterr().out


def test_check_names_every_file_out_of_step_and_changes_nothing(course, monkeypatch, capsys):
    (course.root / "release/01_first/plane.svg").write_text("<svg/>")
    (course.root / "source/02_second/built.py").unlink()
    (course.root / "release/02_second/extra.txt").write_text("?")
    (course.root / "source/03_gone").mkdir()
    before = files(course.root)
    monkeypatch.chdir(course.root)
    assert main(["build", "--check", "--audit", "static"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[:-1] == [
        "release/01_first/plane.svg is out of step with modules/",
        "source/02_second/built.py is missing",
        "release/02_second/extra.txt does not come from modules/",
        "source/03_gone does not come from modules/",
    ]
    assert files(course.root) == before


def test_a_build_repairs_what_check_finds(course):
    (course.root / "release/01_first/plane.svg").write_text("<svg/>")
    (course.root / "release/02_second/extra.txt").write_text("?")
    build(course, audit="static")
    assert check(course, audit="static") == []


def test_a_mistake_leaves_the_former_build_as_it_was(course):
    before = files(course.root)
    write_lesson(course.root, "02_second", SECOND.replace("### END SOLUTION", ""))
    with pytest.raises(CourseError, match="02_second.py, cell volume"):
        build(course)
    assert files(course.root) == before
    assert not list(course.root.glob(".build-*"))


def test_a_failure_while_putting_in_place_brings_the_former_back(course, monkeypatch):
    before = files(course.root)
    write_lesson(course.root, "01_first", FIRST.replace("Areas", "Surfaces"))
    rename, calls = Path.rename, []

    def failing(path, target):
        calls.append(path)
        if len(calls) == 6:  # the third folder is moved away, and its successor cannot come
            raise OSError("no space left")
        return rename(path, target)

    monkeypatch.setattr(building.Path, "rename", failing)
    with pytest.raises(CourseError, match="cannot be written in .*: no space left"):
        build(course, audit="static")
    assert files(course.root) == before


def test_nothing_that_the_build_did_not_make_is_deleted(course, monkeypatch, capsys):
    own = course.root / "source/ps1/ps1.ipynb"
    own.parent.mkdir()
    own.write_text(json.dumps({"cells": []}))
    monkeypatch.chdir(course.root)
    assert main(["build", "--audit", "static"]) == 0
    assert own.exists() and "source/ps1 does not come from modules/" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["build", "07"], "there is no lesson '07' in modules/ (there is 01_first, 02_second)"),
        (
            ["build", "--through", "1"],
            "--through N or --track NAME and -o FOLDER go together; --check --track NAME tries a "
            "track without it",
        ),
        (
            ["build", "1", "--through", "1", "-o", "t"],
            "--through N takes all lessons up to N: do not name a lesson",
        ),
    ],
)
def test_an_argument_that_cannot_be_used_gets_one_sentence(
    built, monkeypatch, capsys, arguments, sentence
):
    monkeypatch.chdir(built.root)
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"proflab build: {sentence}\n"


def test_a_lesson_without_its_header_is_refused(course):
    write_lesson(course.root, "01_first", FIRST.split("# ---\n")[-1])
    with pytest.raises(CourseError, match="01_first.py does not begin with a jupytext header"):
        build(course)


def test_what_draws_a_program_and_what_is_hidden_is_copied_nowhere(course):
    place = course.module("01_first").parent
    (place / "draw.py").write_text("def drawn(number, shuffled, student):\n    return {}\n")
    (place / "draw_solutions.py").write_text("TELLING = 1\n")
    (place / ".env").write_text("TOKEN=1\n")
    (place / "drawing.py").write_text("SHOWN = 1\n")
    build(course, ["01"], "static")
    for step in (course.source, course.release):
        names = {path.name for path in step("01_first").parent.iterdir()}
        assert "drawing.py" in names and not {"draw.py", "draw_solutions.py", ".env"} & names


def test_a_file_that_the_build_makes_may_not_stand_in_modules(course):
    (course.root / "modules/02_second/built.py").write_text("")
    with pytest.raises(CourseError, match="modules/02_second/built.py is made by the build"):
        build(course, audit="static")


def test_what_nbgrader_refuses_is_told_in_a_sentence(course):
    (course.root / "jupyter_config.py").write_text("c.ClearSolutions.code_stub = {'R': 'fail()'}")
    with pytest.raises(CourseError, match="nbgrader could not make the release of 01_first: .*pyt"):
        build(course, audit="static")


def test_a_mistake_in_another_lesson_that_could_hide_a_leak_stops_the_build(course):
    write_lesson(course.root, "02_second", SECOND.replace("### END SOLUTION", ""))
    with pytest.raises(CourseError, match="02_second.py, cell volume: ### BEGIN SOLUTION without"):
        build(course, ["01_first"], audit="static")


def test_a_solution_that_needs_what_no_cell_defines_stops_the_build(course):
    write_lesson(course.root, "01_first", FIRST.replace("return surface", "return surface * SCALE"))
    with pytest.raises(CourseError, match="cell area: SCALE is used but defined nowhere"):
        build(course, audit="static")
