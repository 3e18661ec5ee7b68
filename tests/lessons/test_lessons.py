"""What holds for the text of every lesson."""

import json
import re
import struct
from pathlib import Path

import jupytext
import pytest

from proflab_course.build.sections import sections
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module

NO_TORCH = "torch is not installed: the box is compiled, and run by `make test-torch`"
COURSE = Course(Path(__file__).resolve().parents[2])
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*)\)")


def text_of(lesson):
    return COURSE.module(lesson).read_text("utf-8")


PICTURES = [(name, *p) for name in COURSE.lessons() for p in PICTURE.findall(text_of(name))]


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_jupytext_gives_the_same_text_back(lesson):
    text = text_of(lesson)
    config = {
        "notebook_metadata_filter": "kernelspec,accelerator,colab,"
        "-jupytext.text_representation.jupytext_version",
        "cell_metadata_filter": "nbgrader,tags",
    }
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.metadata["jupytext"].update(config)
    again = jupytext.reads(json.dumps(notebook), fmt="ipynb")
    assert jupytext.writes(again, fmt="py:percent") == text


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_every_lesson_of_this_course_has_100_points_and_10_for_its_essay(lesson):
    cells = read_module(COURSE.module(lesson), lesson).cells
    sums = {role: sum(c.points for c in cells if c.role == role) for role in ("test", "manual")}
    assert sums == {"test": 100, "manual": 10}


@pytest.mark.parametrize("lesson, description, picture", PICTURES)
def test_pictures_in_the_text_are_there_small_and_described(lesson, description, picture):
    data = (COURSE.module(lesson).parent / picture).read_bytes()
    assert len(data) < 100_000
    width, height = struct.unpack(">II", data[16:24])
    assert 400 < width < 1200 and height < 600
    assert len(description) > 60


@pytest.mark.parametrize("name", COURSE.lessons())
def test_every_section_with_an_exercise_says_its_minutes(name):
    lesson = read_module(COURSE.module(name), name)
    minutes = [s.minutes for s in sections(lesson) if any(c.role == "exercise" for c in s.cells)]
    assert minutes and all(minutes)


@pytest.mark.torch
@pytest.mark.parametrize("name", COURSE.lessons())
def test_the_box_on_torch_has_one_piece_of_code_that_runs(name, tmp_path, monkeypatch):
    cells = read_module(COURSE.module(name), name).cells
    text = "\n\n## \n".join(cell.source for cell in cells if cell.role == "text")
    (box,) = re.findall(r"^### In torch$(.*?)^##? ", f"{text}\n## ", re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", box, re.DOTALL)
    program = compile(code, f"{name}, In torch", "exec")
    assert "torch" in code and len(code.strip().splitlines()) <= 14
    pytest.importorskip("torch", reason=NO_TORCH)
    monkeypatch.chdir(tmp_path)  # a box may write a file
    exec(program, {"__name__": "box"})
