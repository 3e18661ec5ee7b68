"""formgrader in a browser, on a class that `proflab grade` graded: look, mark, autograde."""

import time

import pytest
from browsing import WAIT, click_everything, faults_here, what_ran
from essay_class import todays_scheme
from grading_course import LESSON, cell, copy_course, grade, hand_in, solved
from hostile import hostile
from sandboxes import needs_sandbox
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait
from serving import jupyter_lab

from proflab_classroom.marking.essay_log import EssayLog
from proflab_course.grading.records.gradebook import Book


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("formgrader"), ["complete", "not_json"])
    todays_scheme(course)
    hand_in(course, "scripted", scripted())
    hand_in(course, "hostile", hostile(solved()))
    grade(course)
    return course


def scripted():
    """A notebook whose essay and outputs hold scripts that would give themselves away."""
    notebook = solved()
    essay = "Mine <script>document.title = 'taken over'</script><img src=x>"
    cell(notebook, "essay_parameters").source = essay
    show = "HTML(\"<script>document.title = 'taken over'</script>\")"
    displays = f"\n\nfrom IPython.display import HTML, display\ndisplay({show})"
    cell(notebook, "linear_parameters").source += displays
    return notebook


@pytest.fixture(scope="module")
def address(course):
    with jupyter_lab(course.root) as address:
        yield address


def until(browser, condition):
    """Wait until `condition(browser)` is true."""
    ignored = (Exception,)
    return WebDriverWait(browser, WAIT, ignored_exceptions=ignored).until(condition)


def submission_id(course, student):
    with Book(course.gradebook) as book:
        return book.gradebook.find_submission_notebook(LESSON, LESSON, student).id


@pytest.mark.proves
def test_the_class_is_listed(address, browser):
    browser.get(f"{address}/formgrader/gradebook/{LESSON}/{LESSON}")
    until(browser, lambda b: "100 / 110" in b.find_element(By.TAG_NAME, "body").text)
    text = browser.find_element(By.TAG_NAME, "body").text
    assert text.count("Submission #") == 4
    assert text.count("100 / 110") == 2


@pytest.mark.whole
def test_a_person_marks_the_essay(address, browser, course):
    browser.get(f"{address}/formgrader/submissions/{submission_id(course, 'complete')}")
    box = until(browser, essay_box)
    browser.execute_script("arguments[0].scrollIntoView()", box)
    box.clear()
    box.send_keys("7\t")

    def saved(_):
        with Book(course.gradebook) as book:
            essay = book.gradebook.find_grade("essay_parameters", LESSON, LESSON, "complete")
            return essay.manual_score == 7

    until(browser, saved)
    grade(course, regrade=True, students=["complete"])
    with Book(course.gradebook) as book:
        assert book.scores(LESSON)["complete"]["score"] == 107


def essay_box(browser):
    """The last field for points on the page that can be written in, once the page minds it.

    Until formgrader has fetched the grades, what is typed into a field is lost.
    """
    if not browser.execute_script("return formgrader.grades.loaded"):
        return None
    boxes = [b for b in browser.find_elements(By.CSS_SELECTOR, "input.score") if b.is_enabled()]
    return boxes[-1] if boxes else None


@pytest.mark.whole
def test_no_script_of_a_student_runs_in_the_instructors_browser(address, browser, course):
    browser.get(f"{address}/formgrader/submissions/{submission_id(course, 'scripted')}")
    until(browser, lambda b: "Mine <script>" in b.find_element(By.TAG_NAME, "body").text)
    assert browser.title != "taken over"


@pytest.mark.whole
def test_a_hostile_page_runs_nothing_and_asks_for_nothing(address, browser, course, witness):
    opened = f"{address}/formgrader/submissions/{submission_id(course, 'hostile')}/"
    browser.get(opened)
    until(browser, lambda b: "Mine <script>" in b.find_element(By.TAG_NAME, "body").text)
    until(browser, lambda b: b.execute_script("return formgrader.grades.loaded"))
    assert click_everything(browser, "#notebook-container *") > 100
    time.sleep(1)
    assert what_ran(browser) == []
    assert browser.current_url.split("?")[0] == opened
    assert witness.of_students() == []
    strange = "script:not(#proflab-scheme > *), iframe, object, embed, form, link, base, meta, "
    strange += "svg, a, [onclick], [onerror]"
    for found in browser.find_elements(By.CSS_SELECTOR, "#notebook-container"):
        assert found.find_elements(By.CSS_SELECTOR, strange) == []
        for picture in found.find_elements(By.CSS_SELECTOR, "img[src]"):
            assert picture.get_dom_attribute("src").startswith("data:image/png;base64,")


def test_a_hand_in_that_was_no_notebook_opens_with_its_sentence(address, browser, course):
    browser.get(f"{address}/formgrader/submissions/{submission_id(course, 'not_json')}")
    until(browser, lambda b: "is cut off" in b.find_element(By.TAG_NAME, "body").text)


@pytest.mark.whole
@needs_sandbox
def test_the_autograde_button_isolates(address, browser, course):
    notebook = solved(linear_parameters="def linear_parameters(*_):\n    return 8")
    (course.root / "secret.txt").write_text("the exam")
    secret = str(course.root / "secret.txt")
    notebook.cells[-1].cell_type = "code"
    notebook.cells[-1].update(outputs=[], execution_count=None)
    notebook.cells[-1].source = f"print(open({secret!r}).read())"
    hand_in(course, "late_comer", notebook)
    browser.get(f"{address}/formgrader/manage_submissions/{LESSON}")

    def button(b):
        rows = [r for r in b.find_elements(By.TAG_NAME, "tr") if "late_comer" in r.text]
        return rows[0].find_element(By.CSS_SELECTOR, "td.autograde a")

    until(browser, button).click()

    def graded(_):  # nbgrader writes the marks cell by cell
        with Book(course.gradebook) as book:
            return book.scores(LESSON).get("late_comer", {}).get("auto", 0) == 85

    until(browser, graded)
    written = course.root / "autograded" / "late_comer" / LESSON / f"{LESSON}.ipynb"
    assert "the exam" not in written.read_text("utf-8")


# ── the mark scheme above an essay ──────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def marking(course):
    """The course, with an essay that two markers have."""
    with EssayLog(course.root).held():
        dealt = {"event": "dealt", "lesson": LESSON, "student": "twice", "to": ["anna", "ben"]}
        EssayLog(course.root).add([dealt])
    notebook = solved()
    cell(notebook, "essay_parameters").source = "It is 48.8 times, and 99.9 is not printed."
    hand_in(course, "twice", notebook)
    grade(course)
    return course


def tick(browser, who, items):
    """Say who marks, tick these items, and save."""
    until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#proflab-scheme[data-ready=yes]"))
    Select(browser.find_element(By.CSS_SELECTOR, "#proflab-scheme select")).select_by_value(who)
    for box in browser.find_elements(By.CSS_SELECTOR, "#proflab-scheme input"):
        if (int(box.get_attribute("value")) in items) != box.is_selected():
            browser.execute_script("arguments[0].click()", box)
    button = browser.find_element(By.CSS_SELECTOR, "#proflab-scheme button")
    assert button.text == f"Save: {len(items)} of 10"
    browser.execute_script("arguments[0].click()", button)


def essay_of(course, student):
    with Book(course.gradebook) as book:
        found = book.essays(LESSON, "essay_parameters")[student]
        return found.mark, found.comment


@pytest.mark.whole
def test_ten_boxes_above_the_essay_are_its_mark(address, browser, marking):
    opened = f"{address}/formgrader/submissions/{submission_id(marking, 'twice')}/"
    browser.get(opened)
    tick(browser, "anna", {1, 3, 10})
    until(browser, lambda _: essay_of(marking, "twice") == (3, "Items (anna): 1, 3, 10."))
    told = browser.find_element(By.ID, "proflab-scheme").text
    assert "numbers in the text: 2; printed by a cell of this notebook: 0" in told
    assert "SqueezeNet in both units: 4.99 and 4.76 (demo_megabytes)" in told
    browser.get(opened)
    until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#proflab-scheme[data-ready=yes]"))
    boxes = browser.find_elements(By.CSS_SELECTOR, "#proflab-scheme input:checked")
    assert [box.get_attribute("value") for box in boxes] == ["1", "3", "10"]
    assert faults_here(browser, "#proflab-scheme") == {}


@pytest.mark.whole
def test_a_second_marker_sees_no_first_mark_and_replaces_none(address, browser, marking):
    with Book(marking.gradebook) as book:
        book.mark_essay(LESSON, "essay_parameters", "twice", 3.0, "Items (anna): 1, 3, 10.")
    browser.get(f"{address}/formgrader/submissions/{submission_id(marking, 'twice')}/")
    until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#proflab-scheme[data-ready=yes]"))
    Select(browser.find_element(By.CSS_SELECTOR, "#proflab-scheme select")).select_by_value("ben")
    assert not browser.find_element(By.ID, "essay_parameters-comment").is_displayed()
    assert not browser.find_element(By.ID, "essay_parameters").is_displayed()
    assert browser.find_elements(By.CSS_SELECTOR, "#proflab-scheme input:checked") == []
    tick(browser, "ben", {1, 3})
    both = "Items (anna): 1, 3, 10.\nItems (ben): 1, 3."
    until(browser, lambda _: essay_of(marking, "twice") == (3, both))
    status = browser.find_element(By.CSS_SELECTOR, "#proflab-scheme [role=status]").text
    assert "anna: 3" in status and "the first mark stays" in status
    assert browser.find_element(By.ID, "essay_parameters-comment").is_displayed()
