"""Features: found without an installation, whole or in one sentence, and known to no command."""

import subprocess
import sys
import time
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest
from imports import ROOT
from mini_course import make_course
from nbformat.v4 import new_markdown_cell

from proflab_course.build.command import build
from proflab_course.cli import COMMANDS, all_commands, main
from proflab_course.course import features as module
from proflab_course.course.features import (
    Building,
    Column,
    Command,
    Feature,
    Panel,
    commands,
    features,
)
from proflab_course.course.layout import CourseError


class Shop(Feature):
    """A feature of another project."""

    commands = {
        "shop": Command("proflab_course.doctor.command", "sell things"),
        "grade": Command("proflab_course.doctor.command", "take another command's place"),
    }


class Broken(Feature):
    def __init__(self):
        raise ImportError("no module of that name")


@pytest.fixture
def installed(monkeypatch):
    """Have an environment in which other projects declare features, and forget it afterwards."""

    def install(**places):
        points = [EntryPoint(name, place, module.GROUP) for name, place in places.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        features.cache_clear()

    yield install
    features.cache_clear()


def test_the_features_of_this_course_are_there_and_each_has_its_commands():
    assert {"essays", "regrade", "questions", "viva"} <= commands().keys()
    assert len(features()) == len({type(feature) for feature in features()}) >= 3


def test_a_feature_of_another_project_is_listed_and_takes_no_commands_place(installed, capsys):
    installed(shop="test_features:Shop")
    assert all_commands()["grade"] == COMMANDS["grade"]
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "proflab shop      sell things" in listed and "another command's place" not in listed


def test_what_it_exports_is_an_option_and_has_a_column_of_its_own(
    installed, tmp_path, monkeypatch, capsys
):
    column = Column("sold", "things sold", "sold", "write sales", lambda *_: {"ann": 3.0})
    monkeypatch.setattr(Shop, "columns", lambda _: [column])
    installed(shop="test_features:Shop")
    (tmp_path / "source/01_parameters").mkdir(parents=True)
    (tmp_path / "source/01_parameters/01_parameters.ipynb").touch()
    (tmp_path / "jupyter_config.py").touch()
    (tmp_path / "canvas.csv").write_text(
        "Student,ID,SIS Login ID,Section,01_parameters (1),01_parameters sold (2)\n"
        "Points Possible,,,,100,9\nann,1,ann,a,,\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["export", "01", "--sold", "--canvas", "canvas.csv"]) == 0
    assert "1 students' things sold of 01_parameters" in capsys.readouterr().out
    [*_, row] = (tmp_path / "canvas_01_sold_filled.csv").read_text().splitlines()
    assert row == "ann,1,ann,a,3"


def test_what_a_feature_adds_is_in_each_lesson_and_on_its_notebook(
    installed, tmp_path, monkeypatch
):
    def add(lesson, facts):
        lesson.notebook.cells.append(new_markdown_cell(f"Sold with {len(facts.lessons)} lessons."))
        return lesson

    part = Building((add,), metadata=lambda lesson, facts: {"shop": lesson.name})
    monkeypatch.setattr(Shop, "building", lambda _: part)
    installed(shop="test_features:Shop")
    course = make_course(tmp_path)
    build(course, audit="static")
    for name in ("01_first", "02_second"):
        release = (tmp_path / f"release/{name}/{name}.ipynb").read_text()
        assert "Sold with 2 lessons." in release and '"shop"' not in release
        assert f'"shop": "{name}"' in course.source(name).read_text()


@pytest.mark.parametrize("kind", ["written", "released"])
def test_what_an_audit_of_a_feature_says_stops_the_build(kind, installed, tmp_path, monkeypatch):
    says = lambda lesson, facts: [f"{lesson.place}: it has no price, give it one"]  # noqa: E731
    monkeypatch.setattr(Shop, "building", lambda _: Building(**{kind: (says,)}))
    installed(shop="test_features:Shop")
    course = make_course(tmp_path)
    with pytest.raises(CourseError, match=r"modules/01_first/01_first.py: it has no price"):
        build(course, audit="static")
    assert not (tmp_path / "release/01_first").exists()


def test_a_broken_feature_is_one_sentence_and_a_removed_one_is_none(installed, capsys):
    installed(broken="test_features:Broken")
    assert main(["--help"]) == 2
    said = capsys.readouterr().err
    assert "the feature broken (test_features:Broken) cannot be loaded" in said
    assert said.count("\n") == 1
    installed(gone="proflab_gone.feature:Gone")
    assert main(["--help"]) == 0


def test_what_an_older_checkout_has_declared_counts_no_longer(installed, monkeypatch):
    old = SimpleNamespace(name="old", value="proflab_course.old:Old")
    old.dist = SimpleNamespace(name="proflab")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [old])
    features.cache_clear()
    assert {"essays", "viva"} <= commands().keys()


def test_a_checkout_has_its_features_before_anybody_installs_it_again(tmp_path):
    """An environment's finder may know the packages of an older checkout, and no entry point."""
    program = (
        "import sys\n"
        "sys.meta_path = [f for f in sys.meta_path if 'Editable' not in repr(f)]\n"
        f"sys.path[:] = [p for p in sys.path if p != {str(ROOT)!r}]\n"
        "import importlib.machinery, importlib.metadata, importlib.util\n"
        "importlib.metadata.entry_points = lambda group: []\n"
        "class Old:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name in ('proflab', 'proflab_course'):\n"
        f"            return importlib.machinery.PathFinder.find_spec(name, [{str(ROOT)!r}])\n"
        "sys.meta_path.append(Old)\n"
        "from proflab_course.cli import main\n"
        "sys.exit(main(['regrade', '--help']))\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage: proflab regrade" in done.stdout


def test_commands_of_the_course_itself_look_for_no_feature(monkeypatch, capsys):
    monkeypatch.setattr(module, "_places", lambda: pytest.fail("nobody asked"))
    features.cache_clear()
    for name in ("check", "grade", "build"):
        with pytest.raises(SystemExit):
            main([name, "--help"])
    assert main(["--version"]) == 0
    assert capsys.readouterr().out


def test_finding_features_takes_few_milliseconds():
    """CPU time of the fastest of several tries, so that a busy machine makes no difference."""
    spent = []
    for _ in range(5):
        features.cache_clear()
        begin = time.process_time()
        features()
        spent.append(time.process_time() - begin)
    print(f"{1000 * min(spent):.1f} ms")
    assert min(spent) < 0.1


def test_a_panel_stands_where_it_says_and_escapes_nothing_of_its_own():
    panel = Panel("<h2>Shop</h2>", above="Predictions", beside={"ann": "sold 3"})
    from proflab_course.report.lesson_page import StudentLine, Summary, render

    student = StudentLine("ann", 1.0, 0.0, 0.0, "graded", "", False, {}, [])
    summary = Summary("01_x", False, 1.0, [student], [], [], [], [1], panels=[panel])
    page = render(summary)
    assert "<h2>Shop</h2>" in page and "graded; sold 3" in page
    summary.public = True
    assert "sold 3" not in render(summary)
