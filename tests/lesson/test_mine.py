"""mine.py: a student's functions that pass, and the later lessons that use them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest
from mini_course import FIRST, SECOND, given
from nbformat.v4 import new_code_cell
from run_all import NAME, SOLUTIONS, filled, released, run_all, shown

from proflab.lesson import mine
from proflab.lesson.mine import place, store, use_mine
from proflab.lesson.outline import Exercise, LessonCell, Outline, digest
from proflab_course.cli import main

HELPED = """
from math import prod

SIDES = 2


def _sides(*sides):
    return prod(sides)


def unused(): ...


# the area, with a helper
def area(width, height):
    if min(width, height) < 0:
        raise ValueError("a side is negative")
    if width > 10_000:
        Sheet.sides
    return _sides(width, height) * SIDES // 2
"""
DEMO = """
def more():
    return area(2, 3) + 1


print(more())
"""
WRONG = "def circle(radius):\n    return math.pi * radius"
VOLUME = "def volume(width, height, depth):\n    return area(width, depth) * height"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A student's folder after lesson 01: one exercise passes, the other does not."""
    root = tmp_path_factory.mktemp("course")
    second = SECOND + "\n" + given(DEMO, "demo_more", ("demo",))
    folder = released(root, {"01_first": FIRST, "02_second": second})
    notebook = filled(folder / "01_first", area=HELPED, circle=WRONG)
    cells = run_all(folder / "01_first", notebook)
    assert "in mine.py: 1 function of your own that passes" in shown(cells["where_am_i"])
    nbformat.write(notebook, folder / "01_first/01_first.ipynb")
    return folder


def test_it_holds_what_passes_and_what_that_needs(release):
    text = (release / "mine.py").read_text()
    assert "# ── 01_first: area ──" in text and "# the area, with a helper\ndef area" in text
    assert "from math import prod" in text and "def _sides" in text and "SIDES = 2" in text
    for absent in ("circle", "unused", "class Sheet", "expect"):
        assert absent not in text


@pytest.mark.whole
def test_the_next_lesson_uses_it_and_says_so(release):
    folder = release / "02_second"
    notebook = filled(folder, volume=VOLUME)
    code = "print(area.__module__, circle.__module__, area(2, 3))"
    notebook.cells.insert(-1, new_code_cell(code, id="whose"))
    cells = run_all(folder, notebook)
    said = shown(cells["second_imports"])
    assert said.startswith("Your own area is used in place of the course's, from ../mine.py")
    assert shown(cells["whose"]) == "mine built 6"
    assert "1 function of your own that passes" in shown(cells["where_am_i"])
    text = (release / "mine.py").read_text()
    assert "# ── 01_first: area ──" in text and "# ── 02_second: volume ──" in text
    assert "def _sides" in text  # the first lesson's section is as it was


def test_it_can_be_told_not_to(release):
    folder = release / "02_second"
    notebook = filled(folder, volume=VOLUME)
    cells = run_all(folder, notebook, PROFLAB_MINE="off")
    assert shown(cells["second_imports"]) == ""


def test_an_error_in_a_given_cell_names_the_functions_of_one_s_own(release):
    folder = release / "02_second"
    notebook = filled(folder, volume=VOLUME)
    before = (release / "mine.py").read_text()
    broken = before.replace("return _sides(width, height) * SIDES // 2", "return 'no number'")
    (release / "mine.py").write_text(broken)
    try:
        cells = run_all(folder, notebook)
    finally:
        (release / "mine.py").write_text(before)
    assert shown(cells["demo_more"]).splitlines() == [
        'TypeError: can only concatenate str (not "int") to str',
        "This cell uses your own `area` (01_first, section 1) from mine.py: to try the course's, "
        "restart the kernel and run `%env PROFLAB_MINE=off` first.",
        "    line 5 of this cell:  print(more())",
    ]


def built(folder: Path, code: str = "print(area(2, 3))") -> str:
    """Return what Python prints that imports built in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", f"from built import *\n{code}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def forgotten(release):
    """Yield what mine.py held, without the file; put it back for the tests that run later."""
    before = (release / "mine.py").read_text()
    (release / "mine.py").unlink()
    yield before
    (release / "mine.py").write_text(before)


def test_assemble_stores_what_the_saved_notebooks_show(release, forgotten, monkeypatch, capsys):
    monkeypatch.chdir(release.parent)
    assert main(["assemble", "release", "-o", "my_profiler.py"]) == 0
    assert "01_first: Stored for later lessons, in mine.py: 1 function" in capsys.readouterr().out
    first, *_ = forgotten.partition("# ── 02_second")
    assert (release / "mine.py").read_text() == first.rstrip() + "\n"
    path = release / "01_first/01_first.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.id == "test_area":
            cell.execution_count = 1  # it was run before the function was
    nbformat.write(notebook, path)
    assert main(["assemble", "release", "-o", "my_profiler.py"]) == 0
    assert "def area" in (release / "mine.py").read_text()  # proved by the run before
    (release / "mine.py").unlink()
    capsys.readouterr()
    assert main(["assemble", "release", "-o", "my_profiler.py"]) == 0
    assert not (release / "mine.py").exists()
    said = "01_first: not in mine.py: area (its checks were not run after it), circle (its checks "
    assert f"{said}failed when they were last run); run the notebook, or" in capsys.readouterr().out


@pytest.mark.whole
def test_check_and_assemble_tell_one_truth(tmp_path, monkeypatch, capsys):
    """A function is mended and saved, but its cells are not run again."""
    folder = released(tmp_path) / NAME
    wrong = {**SOLUTIONS, "area": "def area(width, height):\n    return width"}
    notebook = filled(folder, **wrong)
    run_all(folder, notebook)
    for cell in notebook.cells:
        if cell.id == "area":
            cell.source = textwrap.dedent(SOLUTIONS["area"]).strip()
    nbformat.write(notebook, folder / f"{NAME}.ipynb")
    monkeypatch.chdir(tmp_path)
    assemble = ["assemble", "release", "-o", "my_profiler.py"]
    assert main(assemble) == 0
    assert f"{NAME}: not in mine.py: area (its checks failed" in capsys.readouterr().out
    assert main(["check", "1"]) == 0
    assert "So far 100 of 100 points" in capsys.readouterr().out
    checked = (tmp_path / "release/mine.py").read_text()
    assert "def area" in checked
    assert main(assemble) == 0
    assert "3 functions of your own that pass" in (said := capsys.readouterr().out)
    assert "not in mine.py" not in said
    assert (tmp_path / "release/mine.py").read_text() == checked


def test_what_cannot_be_used_is_said_and_the_courses_stays(release, tmp_path):
    folder = tmp_path / "02_second"
    folder.mkdir()
    (folder / "built.py").write_bytes((release / "02_second/built.py").read_bytes())
    title = "# ── 01_first: area ──\n"
    (tmp_path / "mine.py").write_text(f"{title}import no_such_module\n\ndef area(a, b): return 0")
    said = built(folder)
    assert "01_first: ModuleNotFoundError" in said and said.endswith("used instead\n6\n")
    (tmp_path / "mine.py").write_text(f"{title}def area(a, b):\n    return 1 / 0\n")
    fails = "import traceback\ntry:\n    area(1, 2)\nexcept Exception:\n    traceback.print_exc()"
    script = f"import sys; sys.stderr = sys.stdout\n{fails}"
    assert 'mine.py", line 3, in area\n    return 1 / 0' in built(folder, script)
    (tmp_path / "mine.py").write_text("# ── 02_second: area ──\ndef area(a, b): return 0")
    assert built(folder) == "6\n"  # of the lesson itself, which comes too late for its own built


OUTLINE = Outline(
    "01_first",
    {"area": Exercise("area", tests={"test_area": 60})},
    {digest("import math"): LessonCell("imports", "given")},
)


def test_functions_stay_until_they_are_written_anew(tmp_path):
    path = tmp_path / "mine.py"
    first = "def helper(): ...\n\ndef area(w, h):\n    helper()\n    return w * h"
    assert "1 function" in store([first], OUTLINE, {"area"}, path)
    kept = path.read_text()
    store(["import math"], OUTLINE, set(), path)  # of another day: only the imports were run
    assert path.read_text() == kept
    store(["def area(w, h):\n    return math.fabs(w)", "import math"], OUTLINE, {"area"}, path)
    assert "import math" in path.read_text() and "helper" not in path.read_text()
    store(["def area(w, h):\n    return 0"], OUTLINE, set(), path)
    assert not path.exists()


def test_what_was_proved_of_a_text_holds_for_it(tmp_path):
    path = tmp_path / "mine.py"
    helped = "def helper(): ...\n\ndef area(w, h):\n    helper()\n    return w * h"
    store([helped], OUTLINE, {"area"}, path)
    kept = path.read_text()
    store([helped.replace("w * h", "w*h  # as before")], OUTLINE, set(), path)
    assert "def area" in path.read_text()
    store([helped.replace("...", "return 1")], OUTLINE, set(), path)  # another helper
    assert not path.exists()
    path.write_text(kept)
    store([helped], OUTLINE, set(), path, failing=["area"])  # seen to fail
    assert not path.exists()


ADD_ROW = """# ── 05_profiler: record, add_row, pair ──
def pair(a):
    return (a, a)


def add_row(rows, start, end, facts, first):
    rows.append((start, end, facts, first))


def _noted(rows):
    add_row(rows, 1, 2, {}, len(rows))


def record(rows):
    _noted(rows)
"""


def test_what_is_no_exercise_now_is_the_courses_and_so_is_what_needs_it(
    tmp_path, monkeypatch, capsys
):
    """An exercise of the release before is given code now, with fewer arguments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(ADD_ROW)
    course = dict.fromkeys(("add_row", "record", "pair"))
    exercises = {"05_profiler": ["record", "pair"], "06_roofline": ["add_row"]}
    use_mine(names := dict(course), "07_scaling", exercises)
    assert {name for name in course if names[name]} == {"pair"} and names["pair"](1) == (1, 1)
    former, used = capsys.readouterr().out.splitlines()
    assert former.endswith(
        "mine.py, 05_profiler: add_row is no longer written in this lesson, so the course's "
        "add_row and record are used."
    )
    assert used.startswith("Your own pair is used")
    assert (tmp_path / "mine.py").read_text() == ADD_ROW
    use_mine(names := dict(course), "07_scaling", {})  # a track without this lesson
    assert (
        names == course and "the course's record, add_row and pair are" in capsys.readouterr().out
    )
    use_mine(names := {"record": None}, "07_scaling", exercises)  # add_row is a helper of theirs
    names["record"](rows := [])
    assert rows == [(1, 2, {}, 0)] and "no longer" not in capsys.readouterr().out
    use_mine(names := dict(course), "07_scaling")  # a lesson of an earlier release
    assert all(names.values())


def test_what_is_no_exercise_now_stays_until_the_courses_is_needed(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text('"""Made by ProfLab."""\n' + ADD_ROW)
    given = "def add_row(rows, start, end, facts): ..."
    exercises = {name: Exercise(name) for name in ("pair", "record", "facts_of")}
    outline = Outline("05_profiler", exercises, {digest(given): LessonCell("add_row", "given")})
    said = store([given, "def facts_of(): return {}"], outline, {"facts_of"}, path)
    assert "3 functions of your own that pass" in said
    text = path.read_text()
    assert "── 05_profiler: pair, record, facts_of, add_row ──" in text
    assert "def _noted" in text and "facts, first):" in text
    mended = "def record(rows):\n    add_row(rows, 1, 2, {})"
    store([given, mended], outline, {"record"}, path)
    text = path.read_text()
    assert "── 05_profiler: pair, record, facts_of ──" in text and mended in text
    assert "def add_row" not in text and "_noted" not in text


def test_nobodys_file_is_overwritten(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("gold = 1\n")
    assert "rename it" in store(["def area(w, h):\n    pass"], OUTLINE, {"area"}, path)
    assert path.read_text() == "gold = 1\n"


def test_what_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "mine.py"
    path.mkdir()
    told = store(["def area(w, h):\n    return w * h"], OUTLINE, {"area"}, path)
    assert told.startswith(f"{path} cannot be used (") and "not stored" in told


def test_where_it_lies(tmp_path, monkeypatch):
    assert place(tmp_path / "release/02_second") == tmp_path / "release/mine.py"
    assert place(tmp_path / "anywhere") == tmp_path / "anywhere/mine.py"
    for step in ("source", "submitted/ada", "autograded/ada"):
        assert place(tmp_path / step / "02_second") is None
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    assert place(tmp_path / "proflab-0.1/release/02_second") == tmp_path / "mine.py"


def test_an_unreadable_file_costs_no_lesson(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("# ── 01_first: area ──\ndef area(a): return 1")
    monkeypatch.setattr(mine, "_read", lambda path: (_ for _ in ()).throw(OSError(5, "no luck")))
    names = {"area": None}
    use_mine(names, "02_second")
    assert names == {"area": None} and "cannot be read (no luck)" in capsys.readouterr().out
