"""A page of feedback begins with what to mend first, and what passed is folded away."""

import html
import re
from types import SimpleNamespace

import nbformat
import pytest
from grading_course import LESSON, cell, command, copy_course, grade, hand_in, solved
from nbformat.v4 import new_code_cell

from proflab_course.grading.pages.overview import Overview
from proflab_course.grading.records.gradebook import Book
from proflab_course.report.lesson_page import read_summary, render

# Hidden cases alone notice that a large layer lacks its biases.
UNBIASED = """
def linear_parameters(in_features, out_features, bias=True):
    if min(in_features, out_features) < 1:
        raise ValueError("a layer needs at least one feature")
    weights = in_features * out_features
    return weights + (out_features if bias and weights < 7_000_000_000 else 0)
"""
BROKEN = """
def gpt2_parameters(*sizes):
    return helper(*sizes)

def helper(first, *others):
    return first / 0
"""
LABEL = "a large count is exact to the last digit"
OPTIONAL = "def spare(n):\n    ### BEGIN SOLUTION\n    return n\n    ### END SOLUTION"


def add_an_optional_exercise(course):
    """Put an exercise without points in front of the lesson's essay."""
    path = course.source(LESSON)
    notebook = nbformat.read(path, as_version=4)
    flags = {"grade_id": "spare", "grade": False, "solution": True, "locked": False}
    tests = {"grade_id": "test_spare", "grade": True, "solution": False, "locked": True}
    extra = [
        new_code_cell(OPTIONAL, metadata={"nbgrader": flags | {"schema_version": 3}}),
        new_code_cell(
            "expect('one', spare(1), 1)",
            metadata={"nbgrader": tests | {"schema_version": 3, "points": 0}},
        ),
    ]
    place = notebook.cells.index(cell(notebook, "essay_parameters"))
    notebook.cells[place:place] = extra
    nbformat.write(notebook, path)


def give_back(course, *words):
    done = command(course, "nbgrader", "generate_feedback", LESSON, *words)
    assert done.returncode == 0, done.stderr
    return page_of(course, "amy")


def page_of(course, student):
    return (course.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text("utf-8")


def with_no_break_spaces():
    """A notebook in which an editor or a page has put these in place of an exercise's spaces."""
    notebook = solved()
    found = cell(notebook, "linear_parameters")
    found.source = found.source.replace("    ", "\u00a0" * 4)
    return notebook


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page before and after a person has marked the essay."""
    course = copy_course(tmp_path_factory.mktemp("overview"), [])
    add_an_optional_exercise(course)
    notebook = solved(linear_parameters=UNBIASED, gpt2_parameters=BROKEN)
    cell(notebook, "essay_parameters").source = "## Mine\n\nA megabyte has two sizes."
    hand_in(course, "amy", notebook)
    hand_in(course, "bob", with_no_break_spaces())
    grade(course)
    before = give_back(course)
    bob, report = page_of(course, "bob"), render(read_summary(course, LESSON))
    with Book(course.gradebook) as book, book.transaction() as rows:
        rows.find_grade("essay_parameters", LESSON, LESSON, "amy").manual_score = 7
    after = give_back(course, "--force", "--student", "amy")
    return SimpleNamespace(before=before, after=after, bob=bob, report=report)


def text_of(part):
    return html.unescape(re.sub(r"<[^>]*>", "", part)).strip()


def table(page):
    """The table's lines: points and what to mend, by name."""
    lines = re.findall(r"<tr><td>(.*?)</td><td.*?>(.*?)</td><td.*?>(.*?)</td></tr>", page)
    return {text_of(name): (text_of(points), text_of(mend)) for name, points, mend in lines}


@pytest.mark.proves
def test_the_table_says_of_each_exercise_what_to_mend_first(pages):
    lines = table(pages.before)
    assert list(lines)[:3] == ["linear_parameters", "conv2d_parameters", "attention_parameters"]
    assert lines["conv2d_parameters"] == ("14 of 14 ✓", "")
    assert lines["linear_parameters"] == ("2 of 8", f"on other input: {LABEL}")
    points, mend = lines["gpt2_parameters"]
    assert points == "0 of 16" and mend.endswith(": ZeroDivisionError: division by zero")
    assert lines["spare"] == ("–", "optional, not written")
    assert "test_" not in "".join(lines)


def test_the_cell_that_failed_comes_before_the_names_that_it_lacks(pages):
    lines = table(pages.bob)
    error = "SyntaxError: invalid non-printable character U+00A0 (line 2)"
    assert lines["linear_parameters"] == ("0 of 8", f"the cell itself: {error}")
    assert '<a href="#linear_parameters">linear_parameters</a>' in pages.bob
    points, mend = lines["attention_parameters"]  # its function calls the other
    assert points == "0 of 7" and mend.endswith(
        f": the cell of linear_parameters ended with {error}"
    )
    assert "NameError" not in "".join(mend for _, mend in lines.values())


def test_the_report_names_a_cell_that_failed_once(pages):
    [row] = re.findall(r"<li>[^\n]*U\+00A0[^\n]*", pages.report)
    assert "32 cases: the cell of linear_parameters ended with SyntaxError" in text_of(row)
    assert "name &#39;linear_parameters&#39; is not defined" not in pages.report


def test_an_essay_without_a_mark_is_in_no_total(pages):
    assert "78 of 100 points. 10 more points are not yet marked." in text_of(pages.before)
    assert table(pages.before)["essay"] == ("– of 10", "not yet marked")
    assert "85 of 110 points." in text_of(pages.after)
    assert table(pages.after)["essay"][0] == "7 of 10"


def test_sections_with_nothing_to_mend_are_folded(pages):
    folded = re.findall(r"<details class=\"section\">(.*?)</details>", pages.before, re.DOTALL)
    titles = [text_of(re.findall(r"<summary>(.*?)</summary>", part)[0]) for part in folded]
    assert any(re.fullmatch(r"2 · .*: passed ✓", title) for title in titles)
    assert not any(title.startswith("1 · ") for title in titles)
    assert not any("❌" in part or "A megabyte has two sizes" in part for part in folded)
    assert "❌" in pages.before and "A megabyte has two sizes" in pages.before


def test_names_of_files_links_to_open_and_optional_errors_are_gone(pages):
    text = text_of(pages.before)
    assert "ipython-input" not in text and "mybinder.org" not in text
    [number] = set(re.findall(r'File "cell \[(\d+)\]", line \d, in helper', text))
    assert f"[{number}]\ndef gpt2_parameters" in re.sub(r"\s*\n\s*", "\n", text)
    assert text.count("NotImplementedError") == text.count("raise NotImplementedError()") == 1


def test_a_notebook_without_sections_or_grades_has_no_table():
    notebook = nbformat.v4.new_notebook(cells=[new_code_cell("1 + 1")])
    overview = Overview()
    overview._unread = lambda _: set()
    _, resources = overview.preprocess(notebook, {})
    assert resources["proflab"].pop("said") == []
    found = {"lines": [], "waiting": 0, "opens": {}, "closes": set(), "board": []}
    assert resources["proflab"] == found
