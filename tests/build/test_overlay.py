"""Private hidden cases and mark schemes: what the build makes of them, and that merging is easy."""

import shutil
import subprocess

import nbformat
import pytest
from mini_course import FIRST, ROOT, essay, graded, make_course, write_lesson

from proflab_course.build.command import build
from proflab_course.course.layout import CourseError

CASES = graded(
    """
### BEGIN HIDDEN TESTS
secret_side = 6_143
expect("a private one", area(secret_side, 3), 18_429)
### END HIDDEN TESTS
""",
    "test_area",
    0,
)
SCHEME = essay("essay_area", "Ten points for Dido.").replace("# An answer.\n#\n", "")


def overlay(course, *cells):
    path = course.root / "private" / "01_first.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(cells))


def source(course, name):
    node = nbformat.read(course.source("01_first"), as_version=4)
    return next(
        c.source for c in node.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name
    )


@pytest.fixture
def course(tmp_path):
    (tmp_path / "course").mkdir()
    return make_course(tmp_path / "course")


@pytest.mark.whole
def test_private_cells_take_the_place_of_the_public_ones(course):
    overlay(course, CASES, SCHEME)
    before = course.module("01_first").read_bytes()
    build(course, ["01"])
    cases = source(course, "test_area")
    assert 'expect("three by four", area(3, 4), 12)' in cases
    assert "secret_side" in cases and "long_side" not in cases
    assert "Dido" in source(course, "essay_area")
    assert "isoperimetric" not in source(course, "essay_area")
    assert course.module("01_first").read_bytes() == before
    release = course.release("01_first").read_text()
    assert "three by four" in release and "secret" not in release and "Dido" not in release


def test_extended_cases_follow_the_public_ones(course):
    overlay(course, CASES.replace("# %%", '# %% tags=["extend"]'))
    build(course, ["01"], audit="static")
    cases = source(course, "test_area")
    assert cases.index("long_side") < cases.index("secret_side")
    assert cases.count("### BEGIN HIDDEN TESTS") == 1


@pytest.mark.proves
def test_a_wrong_private_case_is_found_by_the_build(course):
    overlay(course, CASES.replace("18_429", "18_430"))
    with pytest.raises(CourseError, match="test_area"):
        build(course, ["01"])


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([CASES.replace("test_area", "test_nothing")], "no test cell .* of this grade_id"),
        ([CASES.replace("test_area", "area")], "no test cell"),
        ([CASES, CASES], "the cell is there twice"),
        ([CASES.replace("### END HIDDEN TESTS\n", "")], "without END|BEGIN HIDDEN TESTS without"),
        (
            [CASES.replace("secret_side = 6_143\n", "").replace("### BEGIN", "x = 1\n### BEGIN")],
            "nothing",
        ),
        (["# %%\nprint(1)\n"], "a code cell needs nbgrader"),
        (
            [CASES.replace("# %%", '# %% tags=["extends"]')],
            'the tag "extends" says nothing here; write tags=."extend".',
        ),
    ],
)
def test_what_is_wrong_with_a_private_file_is_said(course, cells, said):
    overlay(course, *cells)
    with pytest.raises(CourseError, match=f"private/01_first.py.*({said})"):
        build(course, ["01"], audit="static")
    assert not course.source("01_first").exists()


def test_an_upstream_change_beside_a_private_cell_merges(course):
    """In a private copy, as docs/instructors.md sets it up; the driver keeps what is generated."""
    place = course.root

    def git(*words):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        return subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout

    shutil.copy(ROOT / ".gitattributes", place)
    build(course, ["01"], audit="static")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "public course")
    git("switch", "-q", "-c", "upstream")
    changed = (
        FIRST.replace("three by four", "4 by 3")
        .replace("long_side", "longest")
        .replace("How large is it?", "How large can it be?")
    )
    write_lesson(place, "01_first", changed)
    build(course, ["01"], audit="static")
    git("commit", "-q", "-a", "-m", "new cases")
    git("switch", "-q", "main")
    git("config", "merge.ours.driver", "true")
    overlay(course, CASES)
    build(course, ["01"], audit="static")
    git("add", "-A", "-f")
    git("commit", "-q", "-m", "private cases")
    git("merge", "-q", "upstream", "-m", "what is new")
    assert not git("status", "--porcelain")
    build(course, ["01"], audit="static")
    cases = source(course, "test_area")
    assert "4 by 3" in cases and "secret_side" in cases and "longest" not in cases
