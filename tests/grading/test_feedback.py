"""What students are sent names hidden cases and their verdicts, and shows nothing else of them."""

import ast
import html
import re

import nbformat
import pytest
from grading_course import (
    LESSON,
    ROOT,
    command,
    copy_course,
    grade,
    hand_in,
    release,
    solved,
    source,
)
from grading_course import (
    cell as find_cell,
)
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from proflab_course.cases.hidden_blocks import BEGIN_HIDDEN, hidden_source_removed
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.pages.feedback import HideHidden

KEY = make_key(LESSON, source())

# Its hidden cases fail, and it prints what it is given.
CURIOUS = """
def linear_parameters(in_features, out_features, bias=True):
    print("called with", in_features, out_features, bias)
    return {3: 8, 768: 2_362_368 if bias else 2_359_296}[in_features]
"""


def is_demo(cell):
    return "demo" in cell.metadata.get("tags", [])


def plain_digits(text):
    """Numbers without the marks between their thousands: 7_000 and 7,000 are 7000."""
    return re.sub(r"(?<=\d)[_,](?=\d)", "", text)


def hidden_literals():
    """Numbers and strings of lesson 01 that stand in hidden blocks alone.

    Not in the release, nor in what its demo cells print for everybody.
    """
    executed = grade_notebook(source(), KEY, ROOT / "source" / LESSON).notebook
    shown = [str(cell.outputs) for cell in executed.cells if is_demo(cell)]
    known = plain_digits(" ".join([cell.source for cell in release().cells] + shown))
    found = set()
    for cell in source().cells:
        if BEGIN_HIDDEN in cell.source:
            visible = hidden_source_removed(cell.source)
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.Constant) and node.value not in (None, True, False):
                    text = ast.get_source_segment(cell.source, node)
                    if text not in visible:
                        found.add(plain_digits(text))
    labels = {a.label for t in KEY.tests.values() for _, a in t.answers}
    told = {text for text in found if text.strip("\"'") in labels}
    return {t for t in found - told if t not in known and len(t.strip("\"'")) >= 4}


@pytest.fixture(scope="module")
def literals():
    found = hidden_literals()
    assert len(found) > 12
    return found


def without_demos(notebook):
    """What only shows costs a kernel time, and says nothing of cases."""
    notebook.cells = [cell for cell in notebook.cells if not is_demo(cell)]
    return notebook


LABEL = "a large count is exact to the last digit"
ABOUT = "a product of sizes is a whole number of any length, so nothing may be rounded"


def explain_a_case(course):
    """Put an explanation into the lesson, above the hidden case `LABEL`."""
    place = course.source(LESSON)
    notebook = nbformat.read(place, as_version=4)
    test = find_cell(notebook, "test_linear_parameters")
    case = re.search(rf'^expect\(\s*"{LABEL}"', test.source, re.MULTILINE)
    first, rest = ABOUT.split(", ")
    comment = f"# about: {first},\n# {rest}\n"
    test.source = test.source[: case.start()] + comment + test.source[case.start() :]
    nbformat.write(notebook, place)


class Pages(dict):
    """Feedback pages by kind of grading and student; a kind's are made when one is asked for.

    explained: graded as "native", and the deadline is over. stock: as `nbgrader autograde` grades,
    which grades all anew, so no other kind may be asked for after it.
    """

    def __init__(self, course):
        super().__init__()
        self.course = course

    def __missing__(self, key):
        kind, _ = key
        if kind == "stock":
            assert self["explained", "empty"]
            done = command(self.course, "nbgrader", "autograde", LESSON, "--force")
            assert done.returncode == 0, done.stderr
        else:
            assert ("stock", "empty") not in self, "all was graded anew: ask for this kind before"
        option = [f"--HideHidden.explain={LESSON}"] if kind == "explained" else []
        done = command(self.course, "nbgrader", "generate_feedback", LESSON, "--force", *option)
        assert done.returncode == 0, done.stderr
        for student in ("complete", "empty", "curious"):
            page = self.course.root / "feedback" / student / LESSON / f"{LESSON}.html"
            self[kind, student] = page.read_text("utf-8")
        return self[key]


STOCK = pytest.param("stock", marks=pytest.mark.whole)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("feedback"), [], stock=True)
    explain_a_case(course)
    hand_in(course, "complete", without_demos(solved()))
    hand_in(course, "empty", without_demos(release()))
    curious = without_demos(solved(linear_parameters=CURIOUS))
    curious.cells.append(new_markdown_cell("# <script>alert(1)</script> <b>bold</b>"))
    show = "from IPython.display import HTML, Javascript, display"
    code = f"{show}\ndisplay(HTML('<script>alert(2)</script>'), Javascript('alert(3)'))"
    curious.cells.append(new_code_cell(code))
    hand_in(course, "curious", curious)
    grade(course)
    return Pages(course)


def as_text(page):
    """A page as a reader sees it."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.proves("feedback shows nothing that is hidden")
@pytest.mark.parametrize(
    "kind", ["native", STOCK, pytest.param("explained", marks=pytest.mark.whole)]
)
@pytest.mark.parametrize("student", ["complete", "empty", "curious"])
def test_no_hidden_literal_is_in_the_page(pages, literals, kind, student):
    text = plain_digits(as_text(pages[kind, student]))
    assert [literal for literal in literals if literal in text] == []


@pytest.mark.parametrize("kind", ["native", STOCK])
def test_hidden_cases_show_their_label_and_verdict(pages, kind):
    assert f"✅ {LABEL}" in as_text(pages[kind, "complete"])
    if kind == "native":
        assert f"❌ {LABEL}" in as_text(pages[kind, "curious"])
        assert f"❌ {LABEL}" in as_text(pages[kind, "empty"])
    else:
        assert f"– {LABEL}: not reached" in as_text(pages[kind, "empty"])
    for student in ("complete", "curious"):
        assert not re.search(f"{LABEL}: (?!not reached)", as_text(pages[kind, student]))
    for student in ("complete", "empty", "curious"):  # what it is about comes after the deadline
        page = pages[kind, student]
        assert "may be rounded" not in page and "about:" not in page


@pytest.mark.whole
def test_what_a_hidden_case_is_about_is_told_after_the_deadline_of_those_that_failed(pages):
    assert f"❌ {LABEL}\n     {ABOUT}\n" in as_text(pages["explained", "empty"])
    assert "may be rounded" not in pages["explained", "complete"]
    assert "about:" not in pages["explained", "empty"]


@pytest.mark.parametrize(
    ("explain", "told"),
    [(["01_parameters"], True), (["02", "01"], True), (["02"], False), ([], False)],
)
def test_lessons_to_explain_are_named_or_numbered(explain, told):
    source = 'expect("one", f(1), 1)\n### BEGIN HIDDEN TESTS\n# about: all sizes count\n'
    source += 'expect("two", f(2), 2)\nexpect("three", f(3), 3)\n### END HIDDEN TESTS'
    marks = [
        {"label": "two", "passed": False, "diagnosis": "half of it"},
        {"label": "three", "passed": False, "reached": False},
    ]
    outputs = [
        new_output(
            "display_data", {"text/plain": "for instructors"}, metadata={"proflab": {"hidden": m}}
        )
        for m in marks
    ]
    nbgrader = {"grade": True, "grade_id": "test_f", "locked": True, "points": 1, "solution": False}
    graded = new_code_cell(source, outputs=outputs, metadata={"nbgrader": nbgrader})
    resources = {"nbgrader": {"assignment": "01_parameters"}}
    shown, _ = HideHidden(explain=explain).preprocess_cell(graded, resources, 0)
    about = "     all sizes count\n     half of it\n" if told else ""
    assert shown.outputs[-1].text == (
        f"Cases on other input, not shown:\n  ❌ two\n{about}  – three: not reached\n"
    )
    assert len(shown.outputs) == 1 and shown.source == 'expect("one", f(1), 1)'


def test_visible_cases_keep_their_explanation(pages):
    assert "✅ 768 → 3072: 2,362,368" in as_text(pages["native", "complete"])
    assert "called with 768 3072 True" in as_text(pages["native", "curious"])
    told = r"❌ a negative size\b.*: expected ValueError, but KeyError"
    assert re.search(told, as_text(pages["native", "curious"]))


@pytest.mark.parametrize("kind", ["native", STOCK])
def test_no_script_of_a_student_is_in_the_page(pages, kind):
    page = pages[kind, "curious"]
    for number in (1, 2, 3):
        assert not re.search(rf"<script[^>]*>\s*alert\({number}\)", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>bold</b>" in page


@pytest.mark.parametrize("kind", ["native", STOCK])
def test_the_page_fetches_nothing(pages, kind):
    fetched = r"<(?:script|img|link|iframe)[^>]*(?:src|href)=.?(?:https?:|//)|@import|url\("
    for student in ("complete", "curious"):
        assert not re.search(fetched, pages[kind, student])
    assert "&lt;b&gt;" not in pages[kind, "curious"]


def test_the_page_shows_the_lessons_pictures_and_needs_no_other_file(pages):
    page = pages["native", "complete"]
    sources = re.findall(r'<img [^>]*src="([^"]*)"', page)
    assert len(sources) >= 3
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in sources)
    described = re.findall(r'<img [^>]*alt="([^"]*)"', page)
    assert len(described) == len(sources)
    assert min(map(len, described)) > 40
