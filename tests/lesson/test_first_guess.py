"""The first guess is kept, and what happens to those who would rather have made another one."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat.v4 import new_code_cell, new_notebook, new_output
from run_all import NAME, SOLUTIONS, filled, released, run_all, shown

from proflab.lesson import run_all as hooks
from proflab.lesson.first_guess import FILE, _compared, as_meant
from proflab.lesson.guesses import MIME
from proflab.lesson.kernel_record import current_record
from proflab.lesson.outline import Outline
from proflab_course.course.notebook import read_module

DEMO = 'print("drawn")\nguesses.compare("the area", guess_area, 100, "%")'


class Kernel:
    """A kernel in a lesson's folder, as a notebook has it."""

    def __init__(self, folder, lock=False):
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance()
        self.shell.kernel = SimpleNamespace()
        hooks.install()
        record = current_record()
        record.folder, record.outline = folder, Outline("01_areas", {}, {}, lock=lock)
        self("from proflab.lesson import guesses")

    def __call__(self, text):
        """Run a cell; return what it shows, as text, and the records in its outputs."""
        with capture_output() as kept:
            result = self.shell.run_cell(text)
        assert result.success, kept.stdout
        records = [output.data[MIME] for output in kept.outputs if MIME in output.data]
        texts = [kept.stdout, *(output.data["text/plain"] for output in kept.outputs)]
        return "".join(texts), records

    def guess(self, value, demo=DEMO):
        self(f"guess_area = {value!r}")
        return self(demo)


@pytest.fixture
def kernel(tmp_path):
    """What starts a kernel in the same folder."""
    yield lambda **options: Kernel(tmp_path, **options)
    InteractiveShell.clear_instance()


@pytest.fixture
def file(tmp_path):
    return tmp_path / FILE


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_first_guess_is_kept_in_the_file_and_in_the_output(kernel, file):
    said, (record,) = kernel().guess(80)
    assert said == "drawn\nthe area: 100 %; you guessed 80 %, 20 % too low"
    assert record == {
        "what": "the area", "guess": 80, "answer": 100, "unit": "%",
        "name": "guess_area", "first": 80, "n": 1,
    }  # fmt: skip
    (line,) = lines(file)
    assert {key: line[key] for key in ("what", "guess", "n", "prev")} == {
        "what": "guess_area", "guess": 80, "n": 1, "prev": "",
    }  # fmt: skip


def test_attack_1_a_guess_edited_after_the_reveal_stays_the_first_one(kernel):
    run = kernel()
    run.guess(40)
    said, (record,) = run.guess(100)
    assert "your first guess was 40 %; now 100 %, 2.5 times too low" in said
    assert (record["first"], record["guess"], record["n"]) == (40, 100, 2)
    said, _ = kernel().guess(100)  # after a restart
    assert "your first guess was 40 %; now 100 %" in said
    assert run("print(guess_area)")[0] == "100\n"


def test_attack_2_a_cell_that_is_run_twice_with_the_answer_counts_two_values(kernel):
    run = kernel()
    counts = [run.guess(value)[1][0]["n"] for value in (40, 100, 100, 40, 100)]
    assert counts == [1, 2, 2, 2, 2]
    assert run.guess(99)[1][0]["n"] == 3


def saved(folder, record):
    output = new_output("display_data", {"text/plain": "", MIME: record})
    notebook = new_notebook(cells=[new_code_cell(DEMO, outputs=[output])])
    nbformat.write(notebook, folder / "01_areas.ipynb")


def test_attack_3_without_the_file_the_saved_output_says_the_first_guess(kernel, file, tmp_path):
    _, (record,) = kernel().guess(40)
    saved(tmp_path, record)
    file.unlink()
    said, (record,) = kernel().guess(100)
    assert "your first guess was 40 %; now 100 %" in said
    assert (record["first"], record["n"]) == (40, 2)
    assert [line["guess"] for line in lines(file)] == [40, 100]


def test_attack_4_without_file_and_output_there_is_a_new_first_guess(kernel, file):
    kernel().guess(40)
    file.unlink()
    _, (record,) = kernel().guess(100)  # not defended: a notebook is its reader's own
    assert (record["first"], record["n"]) == (100, 1)


def test_attack_5_a_changed_line_shows(kernel, file):
    run = kernel()
    run.guess(40)
    run.guess(60)
    assert "edited" not in run.guess(60)[1][0]
    file.write_text(file.read_text().replace('"guess": 40', '"guess": 99'))
    _, (record,) = kernel().guess(100)
    assert record["edited"] is True


def test_attack_6_a_clock_that_is_set_back_changes_nothing(kernel, file):
    kernel().guess(40)
    text = file.read_text()
    year = text[text.index('"at": "') + 7 :][:4]
    file.write_text(text.replace(f'"at": "{year}', '"at": "2999'))
    _, (record,) = kernel().guess(100)
    assert (record["first"], record["n"]) == (40, 2)


def test_attack_7_of_two_notebooks_the_earlier_line_counts(kernel):
    first = kernel()
    first.guess(40)
    other = kernel()
    other("guess_volume = 7")
    _, (record,) = other('guesses.compare("the volume", guess_volume, 7)')
    assert (record["first"], record["n"]) == (7, 1)
    assert other.guess(100)[1][0]["first"] == 40


def test_skipping_is_free_and_final(kernel):
    run = kernel()
    said, (record,) = run.guess("skip")
    assert said.endswith("the area: 100 % (you skipped the guess)")
    _, (record,) = run.guess(100)
    assert (record["first"], record["n"]) == ("skip", 2)


def test_words_are_no_guess_at_a_number(kernel):
    run = kernel()
    assert "'many', is not a number" in run.guess("many")[0]
    _, (record,) = run.guess(40)
    assert (record["first"], record["n"]) == (40, 1)


def test_a_share_is_asked_about_once(kernel):
    run = kernel()
    assert "you guessed 0.5 %: did you mean 50?" in run.guess(0.5)[0]
    said, (record,) = run.guess(50)
    assert "you guessed 50 %, 2 times too low" in said and record["n"] == 1
    assert run.guess(100)[1][0]["first"] == 50


def test_a_share_that_was_meant_is_judged(kernel, file):
    run = kernel()
    run.guess(0.5)
    assert "you guessed 0.5 %, 200 times too low" in run.guess(0.5)[0]
    assert "you guessed 0.5 %, 200 times too low" in kernel().guess(0.5)[0]


def test_what_a_guess_left_out_is_asked_where_it_is_far_off_and_not_yet_said(kernel):
    run = kernel()
    asked = 'Add a line below it: overlooked_area = "…"'
    assert asked not in run.guess(80)[0]
    run = kernel()
    run("guess_area = 80")
    assert asked in run('guesses.compare("the area", guess_area, 500)')[0]
    run('overlooked_area = "the second factor"')
    assert asked not in run('guesses.compare("the area", guess_area, 500)')[0]


def test_a_picture_shows_the_first_guess(kernel):
    run = kernel()
    drawn = f"{DEMO}\nprint('diamond at', guess_area)"
    run.guess(40, drawn)
    assert "diamond at 40" in run.guess(100, drawn)[0]
    assert run.shell.user_ns["guess_area"] == 100


def test_locked_a_cell_shows_nothing_before_the_guess(kernel, file):
    run = kernel(lock=True)
    run("guess_area = None")
    said, (record,) = run(f"area = 100\n{DEMO}")
    assert said.startswith("Guess first: write a number") and 'guess_area = "skip"' in said
    assert "100" not in said and "drawn" not in said
    assert record == {"name": "guess_area", "withheld": True}
    assert not file.exists() and run.shell.user_ns["area"] == 100  # for the cells below
    assert "the area: 100 %" in run.guess("skip")[0]


def test_locked_a_share_is_asked_about_before_the_answer_is_shown(kernel):
    run = kernel(lock=True)
    assert run.guess(0.5)[0].startswith("50 or 0.5? The guess is asked for in per cent.")
    assert "you guessed 50 %" in run.guess(50)[0]


def test_instructors_folders_keep_no_guesses_and_hold_nothing_back(kernel, tmp_path):
    folder = tmp_path / "source" / "01_areas"
    folder.mkdir(parents=True)
    run = kernel(lock=True)
    current_record().folder = folder
    run("guess_area = None")
    assert "100 % (you made no guess)" in run(DEMO)[0]
    assert run.guess(40)[1][0]["first"] == 40
    assert not (folder / FILE).exists()


def test_a_folder_that_cannot_be_written_stops_nothing(kernel, file):
    file.parent.write_text("in the way")
    run = kernel()
    run.guess(40)
    assert run.guess(100)[1][0]["first"] == 40


def test_every_guess_of_the_course_is_seen_by_the_lock():
    folders = sorted(Path(__file__).parents[2].glob("modules/[01]?_*"))
    for path in (folder / f"{folder.name}.py" for folder in folders):
        cells = read_module(path, path.stem, path.name).cells
        code = [cell for cell in cells if cell.node.cell_type == "code"]
        asked = {name for cell in code if "guess" in cell.tags for name in bound(cell.source)}
        compared = {name for cell in code for name in dict(_compared(ast.parse(cell.source)))}
        assert asked == compared, path.name
    assert len(folders) >= 11


def bound(source):
    return [node.targets[0].id for node in ast.parse(source).body]


@pytest.mark.parametrize(
    ("guess", "unit", "meant"),
    [
        ("50%", "%", 50), ("3 ms", "ms", 3), ("2,362,368", "", 2_362_368), ((2, 0), "", 2000),
        (2.0, "", 2), ("1e3", "", 1000), ("3x", "", 3), (None, "", None), (..., "", None),
        ("fc8", "", "fc8"), ("5 GB", "MB", "5 GB"),
    ],
)  # fmt: skip
def test_guesses_are_read_as_they_are_meant(guess, unit, meant):
    assert as_meant(guess, unit) == meant


@pytest.mark.whole
def test_run_all_with_the_lock_goes_to_the_end(tmp_path):
    course = tmp_path / "course"
    folder = released(course) / NAME
    about = json.loads((folder / "lesson.json").read_text())
    (folder / "lesson.json").write_text(json.dumps(about | {"lock": True}))
    cells = run_all(folder, filled(folder, **SOLUTIONS))
    assert shown(cells["demo_field"]).startswith("Guess first:")
    notebook = filled(folder, **SOLUTIONS)
    next(c for c in notebook.cells if c.source.startswith("guess_field")).source = "guess_field = 9"
    cells = run_all(folder, notebook)
    assert "the field: 10,800 m²; you guessed 9 m²" in shown(cells["demo_field"])
    assert "So far 100 of 100 points" in shown(cells["where_am_i"])
