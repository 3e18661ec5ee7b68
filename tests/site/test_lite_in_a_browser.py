"""A lesson in JupyterLite, solved with keys and clicks, by a Python that runs in the browser.

    PROFLAB_PYODIDE=FOLDER pytest tests/site/test_lite_in_a_browser.py

FOLDER is a Pyodide distribution of the version that docs/site/lite.py names; skipped without it.
"""

import json
import os
from pathlib import Path

import pytest

if not os.environ.get("PROFLAB_PYODIDE"):
    pytest.skip("needs a Pyodide distribution: set PROFLAB_PYODIDE", allow_module_level=True)

import grading_course
from clones import ROOT
from lite_page import LitePage, body_of, printed, solutions, write_site
from site_pages import served

from proflab_course.course.layout import Course

PYODIDE = Path(os.environ["PROFLAB_PYODIDE"])
LESSONS = FIRST, SECOND = ["01_parameters", "02_flops"]
TYPED = "linear_parameters"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site that has Pyodide beside its lessons."""
    target = tmp_path_factory.mktemp("site") / "lite"
    write_site(Course(ROOT), LESSONS, target, PYODIDE)
    return target


@pytest.fixture(scope="module")
def visit(site, tmp_path_factory):
    """A page of it in a browser that was never there."""
    place = tmp_path_factory.mktemp("visit")
    with served(site) as address, LitePage.opened(address, place) as page:
        yield page


@pytest.fixture(scope="module")
def solved(visit):
    """The page with lesson 01, in which one body was typed, the rest pasted, and all was run."""
    visit.open(FIRST)
    visit.paste("guess_linear", "guess_linear = 590_000")
    visit.fill_in(solutions(FIRST), TYPED)
    visit.run_all()
    visit.save()
    return visit


def test_a_body_typed_key_by_key_is_what_was_typed_and_passes_its_tests(solved):
    typed = solved.cell(TYPED)["source"]
    assert body_of(typed).partition("# YOUR CODE HERE\n")[2] == body_of(solutions(FIRST)[TYPED])
    assert "✅ 768 → 3072: 2,362,368" in printed(solved.cell(f"test_{TYPED}"))


def test_run_all_went_to_the_end_and_the_last_cell_says_where_one_is(solved):
    cells = [cell for cell in solved.cells() if cell["type"] == "code"]
    assert all(cell["count"] for cell in cells)
    [output] = solved.cell("where_am_i")["outputs"]
    assert "So far 100 of 100 points by the visible checks." in output["data"]["text/plain"]
    assert "Stored for later lessons, in mine.py" in output["data"]["text/plain"]
    assert output["data"]["application/vnd.proflab.progress+json"]["lesson"] == FIRST


def test_what_is_missing_is_a_sentence_on_red_and_run_all_goes_on(solved):
    unanswered = solved.cell("test_concept_01")
    told = 'question 01.1: put "A", "B", "C" or "D" in place of None\n'
    assert printed(unanswered, "stderr") == told


def test_after_a_reload_the_work_the_guess_and_mine_py_are_there(solved):
    before = {cell["name"]: cell["source"] for cell in solved.cells()}
    solved.reload(FIRST)
    assert {cell["name"]: cell["source"] for cell in solved.cells()} == before
    look = "from pathlib import Path\nprint(Path('.proflab/guesses.jsonl').read_text())"
    told = json.loads(printed(solved.run("minutes_01", look)).splitlines()[0])
    assert (told["what"], told["guess"], told["n"]) == ("guess_linear", 590_000, 1)


def test_the_downloaded_notebook_earns_all_points_in_the_sandbox(solved, tmp_path):
    solved.open(FIRST)
    path = solved.download(f"{FIRST}.ipynb")
    course = grading_course.copy_course(tmp_path, [])
    grading_course.hand_in(course, "ada", path.read_bytes())
    row = grading_course.grade(course)["ada"]
    assert (row.score, row.status) == (100, "graded")


def test_a_later_lesson_uses_the_functions_of_an_earlier_one(solved):
    solved.open(SECOND)
    told = printed(solved.run("minutes_02", "import built"))
    assert "linear_parameters" in told and "from ../mine.py" in told


def test_no_other_server_was_asked_for_anything(solved):
    assert solved.asked_elsewhere("minutes_02") == []


def test_without_a_distribution_pyodides_address_is_asked_and_no_other(tmp_path):
    sent = []
    with served(PYODIDE, sent, to_all=True) as elsewhere:
        target = tmp_path / "lite"
        write_site(Course(ROOT), LESSONS, target, None, f"{elsewhere}/")
        with served(target) as address, LitePage.opened(address, tmp_path) as page:
            page.open(FIRST)
            told = printed(page.run("minutes_01", "import proflab\nprint(proflab.__file__)"))
            assert told.startswith("/lib/python3")
            asked = page.asked_elsewhere("minutes_01")
    assert asked and all(each.startswith(f"{elsewhere}/") for each in asked)
    assert {"/pyodide.asm.wasm", "/pyodide-lock.json"} <= {path for path, _ in sent}
