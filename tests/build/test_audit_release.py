"""What the build finds in a release, and when it runs a lesson as a class would."""

import html
import re

import nbformat
import pytest
from mini_course import FIRST, SECOND, changed, make_course
from mini_course import read_lesson as read

from proflab_course.build.audit import release_mistakes
from proflab_course.build.command import build
from proflab_course.build.leaks import leaks
from proflab_course.build.trial import Trial, execute
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import Lesson
from proflab_course.course.secret import course_secret

FILE = "modules/01_first/01_first.py"
COPY = "modules/02_second/02_second.py"


# ── the release ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (
            "### BEGIN SOLUTION\ndef area(a, b):\n    return a * b\n### END SOLUTION",
            "cell area: the stub leaves area undefined; put the solution inside it",
        ),
        (
            "class area:\n    ### BEGIN SOLUTION\n    def of(self):\n        pass\n"
            "    ### END SOLUTION",
            "cell area: the stub leaves area.of undefined; put the solution inside it",
        ),
        (
            "def area(a, b):\n    return (\n    ### BEGIN SOLUTION\n    a\n    ### END SOLUTION\n)",
            "cell area: without its solution, the stub is not valid Python",
        ),
    ],
)
def test_a_stub_keeps_every_name(tmp_path, cell, sentence):
    start = FIRST.index("def area")
    end = FIRST.index("### END SOLUTION", start) + len("### END SOLUTION")
    make_course(tmp_path, {"01_first": FIRST[:start] + cell + FIRST[end:]})
    course = make_course(tmp_path, {})
    with pytest.raises(CourseError) as error:
        build(course, audit="static")
    assert str(error.value).startswith(f"{FILE}, {sentence}")


def test_a_cell_that_got_lost_is_named(tmp_path):
    lesson = read(tmp_path, FIRST)
    kept = [c for c in lesson.notebook.cells if c["id"] != "test_area"]
    release = Lesson("01_first", "", nbformat.from_dict({**lesson.notebook, "cells": kept}))
    assert release_mistakes(lesson, release) == [
        f"{FILE}, cell test_area is missing from the release"
    ]


LEAKS = {
    "own solution": ("surface = width * height", "the solution of " + FILE + ", cell area"),
    "later solution": ("ground = area(width, depth)", "the solution of " + COPY + ", cell volume"),
    "hidden case": ('expect("a brick", volume(2, 3, 5), 30)', "the hidden block of " + COPY),
    "mark scheme": ("Five points for the isoperimetric", "the mark scheme of " + FILE),
}


@pytest.mark.parametrize("secret", LEAKS)
@pytest.mark.parametrize(
    "name",
    ["01_first.ipynb", "notes.txt", "no_blanks.txt", "page.html", "picture.html", "script.html"],
)
def test_a_secret_in_a_released_file_is_found(tmp_path, secret, name):
    lessons = [read(tmp_path, FIRST), read(tmp_path, SECOND, "02_second")]
    folder = tmp_path / "release/01_first"
    folder.mkdir(parents=True)
    line, of = LEAKS[secret]
    line = next(s for s in (FIRST + SECOND).splitlines() if line in s).removeprefix("# ")
    cell = nbformat.v4.new_markdown_cell(f"A hint:\n{line}\nand so on.")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    pieces = "".join(f"<span>{html.escape(c)}</span>" for c in cell.source)
    texts = {
        "01_first.ipynb": nbformat.writes(notebook),
        "notes.txt": cell.source,
        "no_blanks.txt": f"See:{line}:there",
        "page.html": f"<pre>{pieces}</pre>",
        "picture.html": f'<img alt="{html.escape(cell.source)}">',
        "script.html": f"<p>A page</p><script>{cell.source}</script>",
    }
    (folder / name).write_text(texts[name])
    found = leaks(folder, lessons[0], lessons, "release/01_first")
    assert len(found) == 1
    assert found[0].startswith(f"release/01_first/{name} shows students {of}")


def test_a_statement_over_several_lines_is_one_secret(tmp_path):
    hidden = 'expect(\n    "a brick",\n    volume(2, 3, 5),\n    30,\n)'
    second = SECOND.replace('expect("a brick", volume(2, 3, 5), 30)', hidden)
    assert second != SECOND
    lessons = [read(tmp_path, FIRST), read(tmp_path, second, "02_second")]
    folder = tmp_path / "release/01_first"
    folder.mkdir(parents=True)
    notes = folder / "notes.txt"
    notes.write_text("volume(2, 3, 5),\n    30,\n)")  # a piece of it
    assert not leaks(folder, lessons[0], lessons, "release/01_first")
    for text in (hidden, 'expect("a brick", volume(2, 3, 5), 30)'):
        notes.write_text(text)
        assert len(leaks(folder, lessons[0], lessons, "release/01_first")) == 1


def test_each_row_of_a_hidden_table_is_a_secret(tmp_path):
    rows = ['("a brick", (2, 3, 5), 30)', '("none, so nothing", [(0, 2, 2), (2, 0, 2)], KeyError)']
    shown = '("an open row", (2, 2, 2), 8)'
    table = f"expect_table(\n    volume,\n    {shown},\n    {rows[0]},\n    {rows[1]},\n)"
    second = SECOND.replace('expect("a brick", volume(2, 3, 5), 30)', table)
    second = second.replace('expect("a cube"', f'expect_table(volume, {shown})\nexpect("a cube"')
    lessons = [read(tmp_path, FIRST), read(tmp_path, second, "02_second")]
    folder = tmp_path / "release/01_first"
    folder.mkdir(parents=True)
    for row in rows:
        (folder / "notes.txt").write_text(f"It checks {row}.")
        (sentence,) = leaks(folder, lessons[0], lessons, "release/01_first")
        assert "the hidden block of " + COPY in sentence
    (folder / "notes.txt").write_text(f"expect_table(volume, {shown})")
    assert not leaks(folder, lessons[0], lessons, "release/01_first")


@pytest.mark.parametrize("form", ["### BEGIN SOLUTION\n{}\n### END SOLUTION", "{}"])
def test_a_model_answer_stays_secret_in_later_lessons(tmp_path, form):
    secret = "Because a circle has the shortest edge of all."
    answer = form.format(secret).replace("\n", "\n# ")
    start, end = FIRST.index("# An answer."), FIRST.index("# === END MARK SCHEME ===")
    first = FIRST[:start] + f"# {answer}" + FIRST[end + len("# === END MARK SCHEME ===") :]
    lessons = [read(tmp_path, first), read(tmp_path, SECOND, "02_second")]
    folder = tmp_path / "release/02_second"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_text(secret)
    found = leaks(folder, lessons[1], lessons, "release/02_second")
    assert len(found) == 1 and "notes.md shows students the mark scheme of " + FILE in found[0]


@pytest.mark.parametrize("line", ["ground = area(width, depth)", "surface = width * height"])
def test_what_earlier_lessons_disclose_or_show_is_no_secret(tmp_path, line):
    second = SECOND.replace("ground = area(width, depth)", line)
    lessons = [read(tmp_path, FIRST), read(tmp_path, second, "02_second")]
    folder = tmp_path / "release/02_second"
    folder.mkdir(parents=True)
    (folder / "built.py").write_text("    surface = width * height\n    return surface\n")
    assert leaks(folder, lessons[1], lessons, "release/02_second") == []


def test_a_line_of_a_name_alone_tells_nothing(tmp_path):
    solution = "    surface = width * height"
    named = FIRST.replace(solution, f"    NotImplementedError,\n{solution}")
    assert named != FIRST
    lessons = [read(tmp_path, named), read(tmp_path, SECOND, "02_second")]
    folder = tmp_path / "release/01_first"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("An exercise raises NotImplementedError, as it should.")
    assert leaks(folder, lessons[0], lessons, "release/01_first") == []


def test_an_answer_that_a_lesson_gives_away_stops_the_build(tmp_path):
    told = FIRST.replace("# Why do circles win?", "# Hint:\n#\n#     return math.pi * radius**2")
    with pytest.raises(CourseError, match="01_first.ipynb shows students the solution"):
        build(make_course(tmp_path, {"01_first": told}), audit="static")


@pytest.mark.parametrize("form", [bytes, bytes.hex, repr], ids=["bytes", "hex", "repr"])
def test_the_courses_secret_beside_a_lesson_stops_the_build(tmp_path, form):
    course = make_course(tmp_path)
    told = form(course_secret(course.root))
    beside = course.module("01_first").parent / "notes.dat"
    beside.write_bytes(told if isinstance(told, bytes) else f"secret = {told}\n".encode())
    with pytest.raises(CourseError, match="01_first/notes.dat shows students private/secret"):
        build(course, audit="static")


# ── trying it ────────────────────────────────────────────────────────────────────────────────


def tried(tmp_path, source: str) -> list[str]:
    """What running the lesson brings to light; the empty notebook has only stubs."""
    lesson = read(tmp_path, source)
    stub = "    raise NotImplementedError()\n"
    empty = re.sub(r" +### BEGIN SOLUTION\n.*?### END SOLUTION\n", stub, source, flags=re.S)
    release = read(tmp_path / "empty", empty)
    trial = Trial(lesson, release.notebook, tmp_path)
    list(execute(trial.runs, jobs=1))
    return trial.mistakes()


@pytest.fixture(autouse=True)
def _room(tmp_path):
    (tmp_path / "empty").mkdir()


def test_a_right_lesson_scores_as_it_should(tmp_path):
    assert tried(tmp_path, FIRST) == []


CAREFUL = """try:
        area(1, 1)
    except NotImplementedError:
        raise KeyError("side") from None"""
TRIALS = {
    "a solution that fails": (
        changed("surface = width * height", "surface = width + height"),
        "cell test_area: the solution fails the case 'three by four': got 7, expected 12",
    ),
    "a solution that is off by one": (
        changed("surface = width * height", "surface = width * height + 1"),
        "cell test_area: the solution fails the case 'three by four': got 13, expected 12; "
        "is it off by one?",
    ),
    "a solution that fails on other input": (
        changed("surface = width * height", "surface = min(width * height, 500)"),
        "cell test_area: the solution fails the case 'a long thin one': got 500, expected 15,838",
    ),
    "a solution that raises": (
        changed("return math.pi * radius**2", "return math.pi * radius[2]"),
        "cell test_circle: the solution fails the case 'radius 2': "
        "TypeError: 'int' object is not subscriptable",
    ),
    "points for nothing": (
        changed('expect("radius 0", circle(0), 0.0)', 'expect("one", 1, 1)'),
        "cell test_circle_2: an empty notebook earns 20 points",
    ),
    "an error that is no stub's": (
        changed('print(f"pi is', 'area and print(area.__name__[9], f"pi is'),
        "cell first_shown: in the solved notebook it raises IndexError: string index out of range",
    ),
    "an import that only students need": (
        changed("import expect, expect_raises", "import expect"),
        "cell test_area: in the solved release, run as students run it, it raises NameError: "
        "name 'expect_raises' is not defined",
    ),
    "a demo that fails": (
        changed("print(side, area(side, side))", "print([][side], area(side, side))"),
        "cell first_demo: in the solved release, run as students run it, it raises IndexError: "
        "list index out of range",
    ),
    "an empty notebook that breaks": (
        changed("print(side, area(side, side))", CAREFUL),
        "cell first_demo: in an empty notebook it raises KeyError: 'side'",
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("trial", TRIALS)
def test_a_lesson_that_scores_wrongly_is_told_so(tmp_path, trial):
    source, sentence = TRIALS[trial]
    assert f"{FILE}, {sentence}" in tried(tmp_path, source)


def test_settings_that_let_a_secret_through_stop_the_build(tmp_path):
    course = make_course(tmp_path)
    with (course.root / "jupyter_config.py").open("a") as settings:
        settings.write("\nc.ClearHiddenTests.enabled = False\n")
    with pytest.raises(CourseError, match="shows students the hidden block of .* test_area"):
        build(course, audit="static")
    assert not (course.root / "release").exists()
