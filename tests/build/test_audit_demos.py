"""demos.py and guesses: what a lesson may do with them, and how they reach students."""

import subprocess
import sys

import pytest
from mini_course import FIRST, SECOND, changed, code, given, make_course
from mini_course import read_lesson as read

from proflab_course.build.audit import course_mistakes, lesson_mistakes
from proflab_course.build.command import build, check
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.layout import CourseError

PLACE = "modules/01_first/01_first.py"
DEMOS = "def rows(sides):\n    return [f'{side:>3}' for side in sides]\n"
IMPORTS = changed("import math\n", "import math\n\nfrom demos import rows\n")
USED = given("print(rows([1, 2]), guess_field)", "second_demo", ("demo",))
WITH_DEMOS = IMPORTS + "\n" + USED


def mistakes(tmp_path, source: str, demos: str | None = DEMOS) -> list[str]:
    lesson = read(tmp_path, source)
    folder = tmp_path / "modules/01_first"
    if demos is not None:
        (folder / "demos.py").write_text(demos)
    return course_mistakes([lesson]) + lesson_mistakes(lesson, folder)


def test_a_demo_cell_uses_demos_and_guesses(tmp_path):
    assert mistakes(tmp_path, WITH_DEMOS) == []
    own = given("import demos\n\nprint(demos.rows([guess_field]))", "more", ("demo",))
    assert mistakes(tmp_path, FIRST + "\n" + own) == []
    later = given("print(demos.rows([3]))", "later", ("demo",))  # imported once, in a demo cell
    assert mistakes(tmp_path, "\n".join([FIRST, own, later])) == []


MISTAKES = {
    "in a given cell": (
        IMPORTS + "\n" + given("lines = rows([1])", "lines"),
        "cell lines: rows is of demos.py, which only demo cells may use",
    ),
    "in a solution": (
        IMPORTS.replace("return surface", "return int(rows([surface])[0])"),
        "cell area: rows is of demos.py, which only demo cells may use",
    ),
    "in a test": (
        IMPORTS.replace("12)\n", "12)\ncheck = rows([1])\n"),
        "cell test_area: rows is of demos.py, which only demo cells may use",
    ),
    "imported by a test": (
        changed('expect("radius 2"', 'from demos import rows\nexpect("radius 2"'),
        "cell test_circle: import demos in the imports cell or in a demo cell",
    ),
    "unknown name": (
        WITH_DEMOS.replace("import rows", "import rows, columns"),
        "cell first_imports: demos.py defines no columns",
    ),
    "with others": (
        FIRST + "\n" + given("import demos, math\n\nprint(demos.rows([1]))", "more", ("demo",)),
        "cell more: import demos in a statement of its own",
    ),
    "a guess in a test": (
        changed("area(3, 4), 12)", "area(3, guess_field or 4), 12)"),
        "cell test_area: guess_field is a guess, which only demo cells may read",
    ),
    "a guess in a free cell": (
        FIRST + "\n" + code("print(guess_field)"),
        "('print(guess_field)'): guess_field is a guess, which only demo cells may read",
    ),
    "a guess that nobody asked for": (
        FIRST + "\n" + given("print(guess_rope)", "rope", ("demo",)),
        "cell rope: no cell above asks for guess_rope",
    ),
    "a guess in a cell without tag": (
        FIRST + "\n" + code("guess_rope = None"),
        "('guess_rope = None'): guess_rope is for a cell that is tagged guess",
    ),
    "another name": (
        FIRST + "\n" + code("rope = None", tags=("guess",)),
        "('rope = None'): a cell of guesses holds only lines such as `guess_size = None`",
    ),
    "an answer": (
        FIRST + "\n" + code("guess_rope = 3", tags=("guess",)),
        "('guess_rope = 3'): a cell of guesses holds only lines such as `guess_size = None`",
    ),
    "a guess with a grade_id": (
        FIRST + "\n" + code("guess_rope = None", "guess_rope", ("guess",)),
        "cell guess_rope: a guess is the student's own: give its cell no grade_id",
    ),
    "asked for twice": (
        FIRST + "\n" + code("guess_field = None", tags=("guess",)),
        "('guess_field = None'): guess_field is asked for in another cell, " + PLACE,
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(tmp_path, mistake):
    source, sentence = MISTAKES[mistake]
    found = mistakes(tmp_path, source)
    assert len(found) == 1 and found[0].startswith(PLACE) and sentence in found[0], found


def test_demos_must_be_text_in_utf_8(tmp_path):
    mistakes(tmp_path, WITH_DEMOS)
    folder = tmp_path / "modules/01_first"
    (folder / "demos.py").write_bytes(f"# \u00e9\n{DEMOS}".encode("latin-1"))
    [said] = lesson_mistakes(read(tmp_path, WITH_DEMOS), folder)
    assert said == "modules/01_first/demos.py is not in UTF-8: save it as such"


def test_demos_must_be_there_and_python(tmp_path):
    assert mistakes(tmp_path, WITH_DEMOS, None) == [
        f"{PLACE}, cell first_imports: there is no demos.py beside the lesson"
    ]
    found = mistakes(tmp_path, WITH_DEMOS, "def rows(:\n")
    assert len(found) == 1 and found[0].startswith("modules/01_first/demos.py, line 1: "), found


def test_a_guess_is_asked_for_once_in_the_course(tmp_path):
    second = SECOND + "\n" + code("guess_field = None", tags=("guess",))
    lessons = [read(tmp_path, FIRST), read(tmp_path, second, "02_second")]
    (sentence,) = course_mistakes(lessons)
    assert "02_second.py" in sentence and "guess_field is asked for in another cell" in sentence


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose first lesson has demos, built and fully audited."""
    root = tmp_path_factory.mktemp("course")
    course = make_course(root, {"01_first": WITH_DEMOS, "02_second": SECOND})
    (root / "modules/01_first/demos.py").write_text(DEMOS)
    assert build(course) == ["01_first", "02_second"]
    return course


@pytest.mark.proves("demos are released with their lesson")
def test_demos_are_released_with_their_lesson_alone(course, tmp_path, monkeypatch):
    found = sorted(path.relative_to(course.root) for path in course.root.rglob("demos.py"))
    assert [str(path.parent) for path in found] == [
        f"{step}/01_first" for step in ("modules", "release", "source")
    ]
    monkeypatch.chdir(course.root)
    tree = tmp_path / "class"
    assert main(["build", "--through", "1", "-o", str(tree), "--audit", "static"]) == 0
    assert (tree / "release/01_first/demos.py").read_text() == DEMOS
    assert check(course, audit="static") == []


def test_demos_may_tell_no_secret(tmp_path):
    course = make_course(tmp_path, {"01_first": WITH_DEMOS})
    (tmp_path / "modules/01_first/demos.py").write_text(DEMOS + "long_side = 7_919\n")
    with pytest.raises(CourseError, match="release/01_first/demos.py shows students the hidden b"):
        build(course, audit="static")


def test_an_assembled_profiler_has_nothing_of_them(course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "my_profiler.py"
    for folder in ("release", "source", "modules"):
        assert main(["assemble", str(course.root / folder), "-o", str(output)]) == 0
        text = output.read_text()
        assert "demos" not in text and "rows" not in text and "guess" not in text
    assert prepare(course).lessons  # modules/ still has two lessons, demos.py is none
    command = [sys.executable, "-c", "import my_profiler; print(my_profiler.area(3, 4))"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "12\n"
