"""From a folder of notebooks to one importable file."""

import errno
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import nbformat
import numpy
import pytest
from mini_course import FIRST, LESSONS, given, make_course

from proflab_course.assemble.bundle import engine_sources, needed_by
from proflab_course.build.command import build
from proflab_course.cli import main


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    build(course, audit="static")
    return course


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder outside any course, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assemble(folder, *options) -> dict:
    """Assemble into mine.py here and return the names that it defines."""
    assert main(["assemble", str(folder), "-o", "mine.py", *options]) == 0
    names: dict = {"__name__": "mine"}
    exec(open("mine.py").read(), names)
    return names


def solve(built, folder, lesson, name, body):
    """A student's copy of a released lesson with one cell written."""
    target = folder / lesson / f"{lesson}.ipynb"
    if not target.exists():
        shutil.copytree(built.release(lesson).parent, target.parent)
    notebook = nbformat.read(target, as_version=4)
    for cell in notebook.cells:
        if cell.id == name:
            cell.source = body
    nbformat.write(notebook, target)


@pytest.mark.parametrize("folder", ["modules", "source"])
def test_solutions_become_one_working_file(built, work, folder, capsys):
    names = assemble(built.root / folder)
    assert names["volume"](2, 3, 4) == 24 and names["__all__"] == [
        "area",
        "Sheet",
        "circle",
        "volume",
    ]
    text = (work / "mine.py").read_text()
    assert "SOLUTION" not in text and "built" not in text.split('"""')[2]
    assert "expect" not in text and text.count("import math") == 1
    assert capsys.readouterr().out == "mine.py: 3 of 3 exercises\n"


def test_text_and_notebook_yield_the_same_bytes_each_time(built, work):
    texts = set()
    for folder in ("modules", "source", "source"):
        assemble(built.root / folder)
        texts.add((work / "mine.py").read_text())
    assert len(texts) == 1


def test_what_is_not_yet_written_stays_a_stub_and_is_named(built, work, capsys):
    solve(built, work / "alice", "01_first", "area", "def area(w, h):\n    return w * h")
    solve(built, work / "alice", "02_second", "", "")
    names = assemble("alice")
    assert names["area"](3, 4) == 12
    with pytest.raises(NotImplementedError):
        names["circle"](1)
    assert capsys.readouterr().out == (
        "mine.py: 1 of 3 exercises\n"
        "  not yet written in 01_first: circle\n"
        "  not yet written in 02_second: volume\n"
    )


def test_only_what_the_exercises_need_is_taken_along(built, work):
    written = """
import os, statistics
from fractions import Fraction as F
HALF = F(1, 2)
unused = print("this is not run")
def area(w, h):
    return float(helper(w) * h * 2 * HALF)
print(area(1, 2))
for _ in range(3): print("nor is this")
"""
    solve(built, work / "bob", "01_first", "area", "%matplotlib inline" + written)
    target = work / "bob/01_first/01_first.ipynb"
    notebook = nbformat.read(target, as_version=4)
    helper = nbformat.v4.new_code_cell("# my own\ndef helper(w):\n    return +w")
    notebook.cells.insert(3, helper)
    nbformat.write(notebook, target)
    names = assemble("bob")
    text = (work / "mine.py").read_text()
    assert names["area"](3, 4) == 12.0 and "# my own\ndef helper" in text
    for absent in ("print", "import os", "statistics", "unused", "matplotlib", "get_ipython"):
        assert absent not in text


def test_an_exercise_solved_in_another_cell_is_found(built, work, capsys):
    solve(built, work / "eve", "01_first", "", "")
    target = work / "eve/01_first/01_first.ipynb"
    notebook = nbformat.read(target, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("def area(w, h):\n    return w * h"))
    nbformat.write(notebook, target)
    assert assemble("eve")["area"](3, 4) == 12
    assert "1 of 2 exercises" in capsys.readouterr().out


@pytest.mark.parametrize("at_home", [True, False])
def test_lost_metadata_is_made_up_for_by_names(built, work, monkeypatch, at_home, capsys):
    """Whether the course lies around the working directory or nothing but the notebook is there."""
    solve(built, work / "colab", "01_first", "area", "def area(w, h):\n    return w * h")
    target = work / "colab/01_first/01_first.ipynb"
    notebook = json.loads(target.read_text())
    for cell in notebook["cells"]:
        cell["metadata"] = {"id": cell.pop("id")}
    notebook["nbformat_minor"] = 0
    loose = work / "downloads"
    loose.mkdir()
    (loose / "Copy of 01_first.ipynb").write_text(json.dumps(notebook))
    if at_home:
        monkeypatch.chdir(built.root)
    assert main(["assemble", str(loose), "-o", str(work / "mine.py")]) == 0
    names: dict = {}
    exec((work / "mine.py").read_text(), names)
    assert names["area"](3, 4) == 12 and "fetch" not in names and "os" not in names
    said = capsys.readouterr().out
    assert said.startswith(f"{work}/mine.py: 1 of 2" if at_home else f"{work}/mine.py: 2 of 3")
    assert "not yet written in 01_first: circle" in said


def test_a_cell_that_does_not_parse_stays_a_stub(built, work, capsys):
    solve(built, work / "carl", "01_first", "area", "def area(w, h)\n    return w * h")
    with pytest.raises(NotImplementedError):
        assemble("carl")["area"](1, 2)
    said = capsys.readouterr().out
    assert "not yet written in 01_first: area" in said
    assert "cell area, line 1: expected ':'" in said


def test_an_error_with_a_message_is_a_solution_not_a_stub(built, work, capsys):
    body = 'def area(w, h):\n    raise NotImplementedError(f"no rule for {w}")'
    solve(built, work / "dora", "01_first", "area", body)
    assemble("dora")
    assert "area" not in capsys.readouterr().out


def test_names_that_are_nowhere_or_twice_are_told(work, capsys):
    first = FIRST.replace("return surface", "return surface * SCALE")
    second = LESSONS["02_second"].replace("import area, circle", "import area as ground_of")
    second = second.replace("ground = area(", "ground = ground_of(")
    make_course(work, {"01_first": first, "02_second": second + given("class Sheet: pass", "s")})
    assert main(["assemble", "modules", "-o", "mine.py"]) == 0
    said = capsys.readouterr().out
    assert "01_first.py, cell area: SCALE is used but defined nowhere" in said
    assert "02_second.py, cell s: Sheet has another meaning in modules/01_first" in said
    assert "ground_of = area" in (work / "mine.py").read_text()


def test_what_an_earlier_lesson_gave_is_there_when_a_later_one_needs_it(work, capsys):
    """Also where no solution of its own lesson uses it, such as a table that a student ignored."""
    later = LESSONS["02_second"] + given("def sheet():\n    return WIDE * HIGH", "sheet")
    table = given("HIGH = 3\nWIDE = HIGH + 1\nunused = 5", "table")
    make_course(work, {"01_first": FIRST + table, "02_second": later})
    names = assemble("modules")
    assert names["sheet"]() == 12 and "unused" not in names
    assert "note" not in capsys.readouterr().out


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="this system has no /dev")
def test_a_device_is_not_read_to_see_who_made_it(built, work, monkeypatch):
    """To read /dev/stdout where it is a pipe would wait for ever."""
    monkeypatch.setattr(os, "replace", lambda *names: pytest.fail("a file was put there"))
    assert main(["assemble", str(built.root / "source"), "-o", "/dev/null", "--through", "1"]) == 0


def test_on_a_full_disk_the_former_file_stays(built, work, capsys, monkeypatch):
    assemble(built.root / "source")
    before = (work / "mine.py").read_text()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert main(["assemble", str(built.root / "source"), "-o", "mine.py", "--through", "1"]) == 2
    sentence = "mine.py cannot be read or written: the disk is full: make room, then run it again\n"
    assert capsys.readouterr().err == f"proflab assemble: {sentence}"
    assert (work / "mine.py").read_text() == before
    assert not list(work.glob(".*.part"))


@pytest.mark.parametrize("given", ["1", "01", "01_first"])
def test_through_leaves_later_lessons_out(built, work, given):
    assert "volume" not in assemble(built.root / "source", "--through", given)


@pytest.mark.parametrize(
    ("prepare", "arguments", "sentence"),
    [
        (lambda w: None, ["none", "-o", "mine.py"], "none is not a folder"),
        (lambda w: (w / "f").mkdir(), ["f", "-o", "mine.py"], "f holds no lesson"),
        (
            lambda w: ((w / "f").mkdir(), (w / "f/01_a.ipynb").write_text("no JSON")),
            ["f", "-o", "mine.py"],
            "f/01_a.ipynb is not a notebook",
        ),
        (
            lambda w: (w / "mine.py").write_text("precious = 1\n"),
            [".", "-o", "mine.py"],
            "mine.py was not made by `proflab assemble`: give -o another name",
        ),
        (lambda w: None, [".", "-o", "no/mine.py"], "the folder no for -o does not exist"),
        (
            lambda w: [(w / n).write_text("{}") for n in ("01_a (1).ipynb", "01_a (2).ipynb")],
            [".", "-o", "mine.py"],
            "01_a (1).ipynb and 01_a (2).ipynb are both lesson 01_a: keep one of them",
        ),
    ],
)
def test_input_that_cannot_be_used_gets_one_sentence(work, capsys, prepare, arguments, sentence):
    prepare(work)
    assert main(["assemble", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("proflab assemble: ") and sentence in said and said.count("\n") == 1
    assert not (work / "mine.py").exists() or "precious" in (work / "mine.py").read_text()


# ── standalone ───────────────────────────────────────────────────────────────────────────────

WITH_ENGINE = FIRST.replace("import math\n", "import math\nfrom proflab import Tensor, nn\n")
WITH_ENGINE = WITH_ENGINE.replace(
    "    surface = width", "    layer = nn.Linear(width, height)\n    surface = width"
)

PROBE = """
import runpy, sys
class NoMore:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"matplotlib", "IPython", "psutil", "tqdm", "threadpoolctl"}:
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, NoMore())
names = runpy.run_path("mine.py")
import proflab
assert proflab.__file__ == "carried:proflab/__init__.py", proflab.__spec__
print(names["area"](3, 4), sorted(m for m in sys.modules if m.startswith("proflab_course")))
"""


def test_a_standalone_file_runs_with_numpy_alone(work):
    make_course(work, {"01_first": WITH_ENGINE})
    assert main(["assemble", "modules", "-o", "mine.py", "--standalone"]) == 0
    command = [sys.executable, "-I", "-c", PROBE]
    ran = subprocess.run(command, cwd=work, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("12 []\n", "")


def test_a_standalone_file_carries_the_engine_and_no_grader():
    names = set(engine_sources())
    assert {"proflab", "proflab.tensor", "proflab.nn", "proflab.checks.expect"} <= names
    assert not any(
        name.startswith(("proflab_course.grading", "proflab_course.course")) for name in names
    )


def test_a_standalone_file_carries_what_it_imports_and_no_more():
    sources = engine_sources()
    text = "from proflab import nn\n\ndef f():\n    from proflab.standalone import main\n"
    carried = needed_by(text, sources)
    assert {"proflab", "proflab.ops.conv", "proflab.nn.layers", "proflab.standalone.cli"} <= {
        *carried
    }
    assert not {"proflab.lesson.guesses", "proflab.lesson.doubles"} & {*carried}
    assert not [name for name in carried if name.startswith(("proflab.checks", "proflab.lesson.r"))]
    assert carried["proflab.lesson"] == (True, "")  # a notebook's hooks are for notebooks
    assert "proflab.checks.expect" in needed_by("from proflab.lesson import expect\n", sources)
    code = "import proflab.lesson.guesses as g\nfrom proflab.lesson import doubles\n"
    both = needed_by(code, sources)
    assert {"proflab.lesson.guesses", "proflab.lesson.doubles.clocks"} <= {*both}


def test_what_needs_a_file_beside_its_lesson_stays_there_and_is_named(work, capsys):
    """A name that another cell defines as well is another thing, and stays."""
    first = FIRST.replace("import math\n", "import math\nimport random\nimport beside\n")
    first = first.replace(
        "    surface = width", "    random.seed(beside.SEED)\n    surface = width"
    )
    course = make_course(work, {"01_first": first, "02_second": LESSONS["02_second"]})
    course.module("01_first").with_name("beside.py").write_text("SEED = 3")
    for options in ((), ("--standalone",)):
        names = assemble("modules", *options)
        assert "area" not in names and "beside" not in names and "random" not in names
        assert "circle" in names
        note = "note: area stays in 01_first: it needs a file that lies there"
        assert note in capsys.readouterr().out


def test_the_command_has_a_name_of_its_own(work, capsys):
    text = FIRST.replace("    surface = width", "    main()\n    surface = width")
    make_course(work, {"01_first": text + given("def main():\n    pass", "mine")})
    assert main(["assemble", "modules", "-o", "mine.py"]) == 2
    assert "main is the name of the profiler's own command" in capsys.readouterr().err


@pytest.mark.whole
def test_pip_installs_a_package_without_the_internet(work, monkeypatch):
    """In a new environment, whose setuptools may be old or not there; numpy is left out here."""
    make_course(work, {"01_first": WITH_ENGINE})
    for _ in range(2):  # a second time it takes the first one's place
        assert main(["assemble", "modules", "-o", "kept", "--package"]) == 0
    venv.create("new", with_pip=True)
    [python] = [*work.glob("new/bin/python"), *work.glob("new/Scripts/python.exe")]
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    pip = [python, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", "."]
    for _ in range(2):
        ran = subprocess.run(pip, cwd="kept", capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    [command] = work.glob("new/*/my_profiler*")
    monkeypatch.setenv("PYTHONPATH", str(Path(numpy.__file__).parents[1]))
    ran = subprocess.run([command], cwd=work / "new", capture_output=True, text=True)
    assert ran.returncode == 0 and "A profiler built in 01_first." in ran.stdout, ran.stderr
    assert ">>> import my_profiler as my, proflab" in ran.stdout
    assert "my_profiler --help" in ran.stdout


def test_a_package_that_cannot_be_made_leaves_no_folder(work, capsys):
    assert main(["assemble", "none", "-o", "kept", "--package"]) == 2
    assert "none is not a folder" in capsys.readouterr().err and not [*work.iterdir()]


def test_a_package_takes_no_folder_of_others(work, capsys):
    make_course(work, {"01_first": WITH_ENGINE})
    (work / "kept").mkdir()
    (work / "kept/pyproject.toml").write_text("[project]\n")
    assert main(["assemble", "modules", "-o", "kept", "--package"]) == 2
    assert "kept/pyproject.toml was not made by `proflab assemble`" in capsys.readouterr().err
    assert not (work / "kept/my_profiler.py").exists()


def test_a_traceback_shows_the_engines_own_line(work):
    make_course(work, {"01_first": WITH_ENGINE.replace("nn.Linear(width", "nn.Linear('wide'")})
    assert main(["assemble", "modules", "-o", "mine.py", "--standalone"]) == 0
    probe = """
import sys, traceback
sys.path.append(".")
import mine
try:
    mine.area(3, 4)
except ValueError:
    traceback.print_exc()
"""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", probe], cwd=work, capture_output=True, text=True
    )
    places = ran.stderr.split('File "carried:proflab/nn')[1:]
    assert places and all("\n    " in place for place in places), ran.stderr
