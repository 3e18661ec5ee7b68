"""Report, page about the term and feedback in a browser: axe-core finds no fault in them.

axe-core comes with the package axe-core-python; nothing is fetched while the tests run.
"""

import pytest
from browsing import faults, open_page
from grading_course import LESSON, command, copy_course, grade, hand_in, solved
from selenium.webdriver.support.ui import WebDriverWait
from serving import WAIT

from proflab_course.grading.records.gradebook import Book
from proflab_course.questions.votes import read_votes

FORGETS = """
def linear_parameters(in_features, out_features, bias=True):
    return in_features * out_features
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every kind of page, of a class in which all that a page can say is said."""
    course = copy_course(tmp_path_factory.mktemp("axe"), ["complete", "forgets_biases", "not_json"])
    hand_in(course, "wide", solved(linear_parameters=FORGETS))
    grade(course, full=True)
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_student("absent")
        gradebook.find_grade("essay_parameters", LESSON, LESSON, "complete").manual_score = 7
    (course.root / "asked.csv").write_text(
        "student,lesson,exercise,question\nforgets_biases,1,linear_parameters,Why?\n"
    )
    (course.root / "votes.csv").write_text(
        "question,guess,count,answer\nguess_linear,9,3,4\nguess_linear,2,3,\nguess_trained,9,2,\n"
    )
    for words in (
        ["proflab", "regrade", "collect", "asked.csv"],
        ["proflab", "questions", LESSON, "--guesses"],
        ["proflab", "report", LESSON, "--votes", "votes.csv"],
        ["nbgrader", "generate_feedback", LESSON, "--student", "forgets_biases"],
        ["proflab", "report", LESSON],
        ["proflab", "report", LESSON, "--public"],
        ["proflab", "report"],
    ):
        done = command(course, *words)
        assert done.returncode == 0, done.stderr
    reports = course.root / "reports"
    return {
        "report": reports / f"{LESSON}.html",
        "public report": reports / f"{LESSON}.public.html",
        "term": reports / "term.html",
        "feedback": course.root / "feedback" / "forgets_biases" / LESSON / f"{LESSON}.html",
        "phone": reports / "01-guesses.html",
        "paper": reports / "01-guesses-paper.html",
        "votes": reports / f"{LESSON}.votes.html",
    }


def test_axe_sees_a_fault(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html><title>x</title><h1>x</h1><h2>y</h2><p>text</p><ul><li>a</ul>"
        "<main><img src=x><p style='color: #ccc'>pale</p><a href=#>a link</a></main>"
    )
    assert {"html-has-lang", "image-alt", "color-contrast"} <= set(faults(browser, page.as_uri()))


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize(
    "name", ["report", "public report", "term", "feedback", "phone", "paper", "votes"]
)
def test_axe_finds_nothing(browser, pages, name, width):
    assert faults(browser, pages[name].as_uri(), width) == {}


@pytest.mark.parametrize("name", ["report", "term", "feedback", "phone"])
def test_a_dark_desktop_breaks_nothing(browser, pages, name):
    """Pages are light everywhere, that for phones follows: none takes over half of a scheme."""
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        assert faults(browser, pages[name].as_uri()) == {}
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_phone_saves_what_was_guessed(browser, pages, tmp_path):
    open_page(browser, pages["phone"].as_uri(), 400)
    order = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", order)
    browser.find_element("id", "guess_linear").send_keys("2,000")
    browser.find_element("id", "guess_decimal").send_keys("=1")
    browser.execute_script("document.getElementById('save').click()")
    file = tmp_path / "01-my-guesses.csv"
    WebDriverWait(browser, WAIT).until(lambda _: file.exists())
    names = {"guess_linear", "guess_decimal"}
    assert [(vote.question, vote.guess) for vote in read_votes([file], names)] == [
        ("guess_linear", "2,000"),
        ("guess_decimal", "=1"),
    ]
    assert "'=1" in file.read_text(encoding="utf-8")  # no formula in a spreadsheet
