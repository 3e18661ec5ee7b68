"""A hostile hand-in's pages in a browser: no script runs, no request leaves, all is clicked."""

import re
import time

import pytest
from browsing import WAIT, click_everything, what_ran
from grading_course import LESSON, command, copy_course, grade, hand_in, solved
from hostile import MARKDOWN, TAGS, hostile
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

NAMED = "<img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("hostile"), ["complete"])
    hand_in(course, "hostile", hostile(solved()))
    hand_in(course, NAMED, solved())
    grade(course)
    done = command(course, "nbgrader", "generate_feedback", LESSON)
    assert done.returncode == 0, done.stderr
    done = command(course, "proflab", "report", LESSON)
    assert done.returncode == 0, done.stderr
    return course


def look(browser, path, selector):
    """Open a file, wait for its end, and click everything."""
    browser.get(path.as_uri())
    WebDriverWait(browser, WAIT).until(
        lambda b: b.execute_script(
            "return location.href == arguments[0] && document.readyState == 'complete'",
            path.as_uri(),
        )
    )
    clicked = click_everything(browser, selector)
    time.sleep(1)  # what was clicked may take a moment to be seen
    return clicked


@pytest.mark.proves
@pytest.mark.parametrize("page", ["feedback", "report"])
def test_nothing_runs_and_nothing_leaves(course, browser, witness, page):
    path = course.root / "reports" / f"{LESSON}.html"
    if page == "feedback":
        path = course.root / "feedback" / "hostile" / LESSON / f"{LESSON}.html"
    assert look(browser, path, "body *") > 100
    assert what_ran(browser) == []
    assert browser.current_url.split("#")[0] == path.as_uri()
    assert witness.of_students() == []
    assert len(browser.find_elements(By.CSS_SELECTOR, "img:not([alt]), img[alt='']")) == 0
    strange = "script, iframe, object, embed, form, input, link, base, svg, [onclick], [onerror]"
    assert browser.find_elements(By.CSS_SELECTOR, strange) == []
    # The second one is the file of questions about verdicts.
    kinds = r"#|data:(image/png;base64,[A-Za-z0-9+/=\s]+|text/csv;charset=utf-8,[\w.%~-]+)$"
    for link in browser.find_elements(By.CSS_SELECTOR, "[href], [src]"):
        address = link.get_dom_attribute("href") or link.get_dom_attribute("src")
        assert re.match(kinds, address)


def test_the_students_own_words_are_still_there(course, browser):
    look(browser, course.root / "feedback" / "hostile" / LESSON / f"{LESSON}.html", "h1")
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "Mine <script>" in text
    assert "click (javascript:window.ran=1" in text
    assert "the pasted picture evil.svg is missing" in text
    assert "application/javascript is left out" in text


@pytest.mark.parametrize("page", ["feedback", "report"])
def test_the_pages_policy_holds_where_the_filter_would_not(
    course, browser, witness, tmp_path, page
):
    path = course.root / "reports" / f"{LESSON}.html"
    if page == "feedback":
        path = course.root / "feedback" / "complete" / LESSON / f"{LESSON}.html"
    tags = [tag for tag in TAGS if "http-equiv" not in tag]
    unfiltered = path.read_text("utf-8").replace("</body>", f"{tags[0]}{tags[2]}{tags[3]}</body>")
    (tmp_path / "page.html").write_text(unfiltered, "utf-8")
    look(browser, tmp_path / "page.html", "b")
    assert what_ran(browser) == []
    assert witness.of_students() == []


def test_without_the_filter_the_same_markup_runs_and_asks(tmp_path, browser, witness):
    """So the tests above can fail."""
    tags = [tag for tag in TAGS if "http-equiv" not in tag and tag != "<plaintext>"]
    page = tmp_path / "unfiltered.html"
    page.write_text(f"<!doctype html><body>{tags[2]}{tags[3]}", "utf-8")
    look(browser, page, "b")
    assert what_ran(browser) == ["a script", "the title"]
    WebDriverWait(browser, WAIT).until(lambda _: witness.of_students())
    witness.asked.clear()
    page.write_text("<!doctype html><body><a href='javascript:window.ran=1'>click</a>", "utf-8")
    look(browser, page, "a")
    assert what_ran(browser) == ["a script"]
    assert len(tags) + len(MARKDOWN) > 70
