"""A file of another kind, a merge that is not finished, a file that was cut off: each is named."""

import nbformat
import pytest
from grading_course import LESSON, ROOT, release, solved, source

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.which_lesson import Lessons

LESSONS = Lessons(make_key(LESSON, source()), ROOT / "source")
RIGHT = f"{LESSON}.ipynb"
DATA = nbformat.writes(solved()).encode()
ITSELF = "hand in the notebook itself, the .ipynb"


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "submitted" / "me" / LESSON
    place.mkdir(parents=True)
    return place


def outcome_of(folder, name, data):
    (folder / name).write_bytes(data)
    found = find_handin(folder, LESSONS)
    assert found.notebook is None
    return found.outcome, found.sentence


@pytest.mark.parametrize(
    "name, data, kind",
    [
        ("01_parameters.rar", b"Rar!\x1a\x07\x01\x00", "a RAR archive, which is not opened"),
        ("work.7z", b"7z\xbc\xaf\x27\x1c", "a 7z archive, which is not opened"),
        ("01_parameters.tar.gz", b"\x1f\x8b\x08\0", "a gzip archive, which is not opened"),
        ("work.tar", b"01_parameters.ipynb", "a tar archive, which is not opened"),
        ("01_parameters.py", b"def linear_parameters(): ...\n", "a Python script"),
        ("01_parameters.html", b"<!DOCTYPE html>", "a web page"),
        ("work.pdf", b"%PDF-1.7", "a PDF"),
        ("report.docx", b"PK\x03\x04", "a document"),
    ],
)
def test_a_file_of_another_kind_says_what_it_is_and_what_to_hand_in(folder, name, data, kind):
    outcome, sentence = outcome_of(folder, name, data)
    assert outcome == "not a notebook"
    assert f"there is {name} ({kind}" in sentence and ITSELF in sentence


@pytest.mark.parametrize(
    "name, data",
    [
        (RIGHT, b"Rar!\x1a\x07\x01\x00"),
        (RIGHT, b"import numpy as np\n\ndef linear_parameters(): ...\n"),
        (RIGHT, b"# %%\nx = 1\n"),
    ],
)
def test_another_kind_under_the_notebooks_name_has_the_same_outcome(folder, name, data):
    outcome, sentence = outcome_of(folder, name, data)
    assert outcome == "not a notebook" and sentence.startswith(f"{RIGHT} is a ")
    assert ITSELF in sentence


def test_a_script_beside_no_notebook_is_no_hand_in(folder):
    outcome, sentence = outcome_of(folder, "mine.py", b"x = 1\n")
    assert (outcome, sentence[-18:]) == ("missing", "; there is mine.py")


def test_a_merge_that_is_not_finished_names_the_line_and_what_works(folder):
    lines = DATA.decode().splitlines(keepends=True)
    lines[40:40] = ["<<<<<<< HEAD\n", "=======\n", ">>>>>>> main\n"]
    outcome, sentence = outcome_of(folder, RIGHT, "".join(lines).encode())
    assert outcome == "not a notebook"
    assert f"{RIGHT} has the marks of a merge that is not finished (line 41)" in sentence
    assert "git checkout --ours or --theirs" in sentence


@pytest.mark.parametrize("end", [1000, len(DATA) // 2, -2])
def test_a_file_that_was_cut_off_says_so(folder, end):
    outcome, sentence = outcome_of(folder, RIGHT, DATA[:end])
    assert outcome == "not a notebook"
    assert f"{RIGHT} is cut off: it ends in the middle (line " in sentence
    assert "download it again" in sentence


def test_a_file_that_was_cut_off_inside_a_letter_says_so(folder):
    start = nbformat.writes(release()).encode()
    end = start.index("·".encode()) + 1
    assert "is cut off" in outcome_of(folder, RIGHT, start[:end])[1]
