"""`proflab assemble` and `proflab check` meet a stranger's notebook with a plain sentence."""

from __future__ import annotations

import copy
import json
import shutil

import pytest
from chosen import chosen
from grading_course import LESSON, ROOT, release
from nbformat import NotebookNode

from proflab.lesson.guesses import MIME
from proflab.lesson.statements import parsed
from proflab_course import cli
from proflab_course.assemble.own import store_own
from proflab_course.cli import main
from proflab_course.course.notebook import read_notebook

RED = "\x1b[31mred\x07\x9b2J\u202e"


def first_exercise(notebook):
    """The first cell in which an exercise is written."""
    marked = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")]
    return next(c for c in marked if not c.metadata.nbgrader.get("grade"))


def named(name):
    """The exercise cell has another name, and no Python in it."""

    def change(cell):
        cell.metadata.nbgrader.grade_id = name
        cell.source = f"x = # {RED}"

    return change


CHANGES = {
    "a name with a blank": named("a b"),
    "a name that is an order to the terminal": named(RED),
    "a keyword for a name": named("def"),
    "a name of two lines": named("x\nimport os\ndef f"),
    "half a character for a name": named("\ud800"),
    "no name": named(""),
    "100,000 signs": lambda cell: cell.update(source="-" * 100_000 + "1"),
    "100,000 attributes": lambda cell: cell.update(source="a" + ".b" * 100_000),
    "3,000 sums": lambda cell: cell.update(source="x = 1" + " + 1" * 3_000),
    "3,000 branches": lambda cell: cell.update(source="if a: pass\n" + "elif a: pass\n" * 3_000),
    "5,000 brackets": lambda cell: cell.update(source="(" * 5_000 + ")" * 5_000),
    "a null byte": lambda cell: cell.update(source="x = '\0'"),
    "a line that is an order": lambda cell: cell.update(source=f"{RED} = 1"),
    "metadata that is a list": lambda cell: cell.metadata.update(nbgrader=[1]),
    "tags that are a number": lambda cell: cell.metadata.update(tags=5),
    "outputs that are numbers": lambda cell: cell.update(outputs=[1]),
    "a count that is text": lambda cell: cell.update(execution_count="x"),
    "no type": lambda cell: cell.pop("cell_type"),
    "a source that is a number": lambda cell: cell.update(source=5),
}


@pytest.mark.parametrize("lost", ["outputs", "output_type"])
def test_nothing_is_stored_where_outputs_are_lost(lost, tmp_path):
    folder = written(tmp_path, lambda cell: None)
    path = folder / LESSON / f"{LESSON}.ipynb"
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": 1, "outputs": [{"output_type": "error"}]}
            del (cell if lost == "outputs" else cell["outputs"][0])[lost]
    path.write_text(json.dumps(notebook))
    assert store_own([read_notebook(path, LESSON)]) == []


def written(tmp_path, change):
    """A folder with a notebook in which the first exercise's cell is changed so."""
    folder = tmp_path / "lessons" / LESSON
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "release" / LESSON / "lesson.json", folder)
    notebook = copy.deepcopy(release())
    change(first_exercise(notebook))
    (folder / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    return folder.parent


def is_plain(said):
    """Tell whether a text holds nothing that a terminal obeys, and no traceback."""
    orders = [c for c in said if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c == "\u202e"]
    return not orders and "Traceback" not in said


@pytest.mark.parametrize("name", CHANGES)
def test_assembling_it_ends_with_a_sentence(name, tmp_path, capsys, monkeypatch):
    check_what_assembling_says(name, (), tmp_path, capsys, monkeypatch)


# An assembled file has the whole engine in it, and so takes long.
@pytest.mark.parametrize("name", chosen(CHANGES, {"a name of two lines"}))
def test_assembling_it_alone_ends_with_a_sentence(name, tmp_path, capsys, monkeypatch):
    check_what_assembling_says(name, ("--standalone",), tmp_path, capsys, monkeypatch)


def check_what_assembling_says(name, options, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = written(tmp_path, CHANGES[name])
    assert main(["assemble", str(folder), "-o", "made.py", *options]) in (0, 2)
    said = capsys.readouterr()
    assert is_plain(said.out + said.err), ascii(said)
    assert said.out or "is not a notebook" in said.err


@pytest.mark.whole
def test_what_a_notebook_raises_and_guesses_is_shown_as_text(tmp_path, capsys, monkeypatch):
    def change(cell):
        cell.source = f"raise type({RED!r}, (Exception,), {{}})({RED!r})"
        data = {MIME: {"what": RED, "guess": RED, "answer": RED}}
        output = {"output_type": "display_data", "metadata": {}, "data": data}
        cell.outputs = [NotebookNode(output)]

    folder = written(tmp_path, change)
    assert main(["check", str(folder / LESSON / f"{LESSON}.ipynb")]) == 0
    said = capsys.readouterr()
    assert "�[31mred" in said.out and is_plain(said.out + said.err), ascii(said)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_no_command_prints_what_a_terminal_obeys(command, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main([command, f"--{RED}\r\t\ud800", RED, RED])
    said = capsys.readouterr()
    assert is_plain(said.out + said.err), ascii(said)


def test_lines_and_letters_stay_as_they_are(capsys, monkeypatch):
    monkeypatch.setitem(cli.COMMANDS, "say", ("say", "say it"))
    text = "Zoë – ✅ naïve 数\nnext\n"
    module = NotebookNode(add_arguments=lambda parser: None, run=lambda _: print(text, end="") or 0)
    monkeypatch.setattr(cli.importlib, "import_module", lambda name: module)
    assert main(["say"]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("text", ["a" + ".b" * 300, "x = '\0'", "-" * 100_000, "def"])
def test_whatever_python_cannot_read_is_one_kind_of_error(text):
    with pytest.raises(SyntaxError):
        parsed(text)
    assert len(parsed("x = 1" + " + 1" * 100)) == 1
