"""Report, page about the term and feedback in a browser: axe-core finds no fault in them.

axe-core comes with the package axe-core-python; nothing is fetched while the tests run.
"""

import pytest
import viva_class
from browsing import faults, open_page, screen_faults
from concept_class import answer, with_concepts
from grading_course import LESSON, command, copy_course, grade, hand_in, solved, warm_runner
from reading import ZOOMED, in_order, walk, zoomed_faults
from screens import DEVICES, prefer
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from serving import WAIT

from proflab_classroom.questions.votes import read_votes
from proflab_course.grading.command import grade_class
from proflab_course.grading.records.gradebook import Book

# A class in which all is said takes a minute.
pytestmark = pytest.mark.whole("grading/test_pages_for_everybody.py")

# Of a small lesson: the questions of a real one take nine seconds, and the sheet looks the same.
LOSES_POINTS = """
def rectangle(width, height):
    area = sum(height for column in range(width)) if isinstance(width, int) else width * height
    return abs(area)
"""
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
    answer(with_concepts(course), {s: {"01_1": s[0].upper()} for s in ("complete", "absent")})
    answer(course, {"forgets_biases": {"01_1": "B", "01_2": "C"}})
    with Book(course.gradebook) as book, book.transaction() as gradebook:
        gradebook.update_or_create_student("absent")
        gradebook.find_grade("essay_parameters", LESSON, LESSON, "complete").manual_score = 7
    (course.root / "asked.csv").write_text(
        "student,lesson,exercise,question\nforgets_biases,1,linear_parameters,Why?\n"
    )
    (course.root / "votes.csv").write_text(
        "question,guess,count,answer\nguess_linear,9,3,4\nguess_linear,2,3,\nguess_trained,9,2,\n"
    )
    (course.root / "rounds.csv").write_text(
        "question,round,A,B,C,D\n01_1,1,9,3,20,8\n01_1,2,2,1,35,2\n01_2,1,5,4,25,6\n"
    )
    for words in (
        ["proflab", "regrade", "collect", "asked.csv"],
        ["proflab", "questions", LESSON, "--guesses"],
        ["proflab", "questions", LESSON],
        ["proflab", "report", LESSON, "--votes", "votes.csv"],
        ["proflab", "report", LESSON, "--votes", "rounds.csv", "-o", "reports/rounds.html"],
        ["nbgrader", "generate_feedback", LESSON, "--student", "forgets_biases"],
        ["proflab", "report", LESSON],
        ["proflab", "report", LESSON, "--public"],
        ["proflab", "report"],
    ):
        done = command(course, *words)
        assert done.returncode == 0, done.stderr
    asked = viva_class.make_course(
        tmp_path_factory.mktemp("v"), {"ada": {"rectangle": LOSES_POINTS}}
    )
    grade_class(asked, viva_class.LESSON, warm_runner(), progress=False)
    done = command(asked, "proflab", "viva", viva_class.LESSON, "--no-sandbox")
    assert done.returncode == 0, done.stderr
    sheets = asked.root / "viva" / viva_class.LESSON
    reports = course.root / "reports"
    return {
        "report": reports / f"{LESSON}.html",
        "public report": reports / f"{LESSON}.public.html",
        "term": reports / "term.html",
        "feedback": course.root / "feedback" / "forgets_biases" / LESSON / f"{LESSON}.html",
        "phone": reports / "01-guesses.html",
        "paper": reports / "01-guesses-paper.html",
        "votes": reports / f"{LESSON}.votes.html",
        "rounds": reports / "rounds.html",
        "lecture": reports / "01.html",
        "letters": reports / "01-paper.html",
        "key": reports / "01-key.html",
        "viva sheet": sheets / "ada.html",
        "viva key": sheets / "ada.key.html",
    }


def test_axe_sees_a_fault(browser, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html><title>x</title><h1>x</h1><h2>y</h2><p>text</p><ul><li>a</ul>"
        "<main><img src=x><p style='color: #ccc'>pale</p><a href=#>a link</a></main>"
    )
    assert {"html-has-lang", "image-alt", "color-contrast"} <= set(faults(browser, page.as_uri()))


# Of two texts that are alike otherwise, the second is pale.
SECOND_PALE = {
    "by its place": "<p>good text</p><p id=pale>pale text</p>",
    "by itself": "<p>good text</p><p style='color: #ccc'>pale text</p>",
    "by what is around": "<p>good text</p><section><p>pale text</p></section>",
    "behind a sign that axe-core passes over": "<q>x</q><q>pale text</q>",
    "behind one that is off": "<q aria-disabled=true>pale text</q><q>pale text</q>",
    "behind one that is cut away": "<s>pale text</s><s>pale text</s>",
    "what a reader types": "<input aria-label=x value='pale text'>",
    "what a reader chooses": "<select aria-label=x><option>pale text</select>",
    "behind the label of one that is off": "<label for=x>pale text</label><input id=x disabled>"
    "<label for=y>pale text</label><input id=y>",
    "on what is laid below it": "<b><u>good text</u></b><b><i></i><u>pale text</u></b>",
}
STYLES = """
#pale, section, q, s, label, [aria-label=x] { color: #ccc } section p { color: inherit }
s { display: block } s:first-of-type { height: 0; overflow: hidden } input { background: white }
b, u { position: relative } i { position: absolute; inset: 0; background: #222 }
"""


@pytest.mark.parametrize("alike", SECOND_PALE)
def test_a_pale_text_is_seen_among_many_that_are_alike_but_for_that(browser, tmp_path, alike):
    page = tmp_path / "alike.html"
    start = f"<!doctype html><html lang=en><title>x</title><style>{STYLES}</style><main><h1>x</h1>"
    page.write_text(f"{start}{'<p>good text</p>' * 9}{SECOND_PALE[alike]}</main>")
    assert "color-contrast" in faults(browser, page.as_uri())
    assert {"light, color-contrast", "dark, color-contrast"} <= set(
        screen_faults(browser, page.as_uri(), "phone")
    )


NAMES = ["report", "public report", "term", "feedback", "phone", "paper", "votes"]
NAMES += ["rounds", "lecture", "letters", "key", "viva sheet", "viva key"]
# Links and folds, at least: feedback has a link to each exercise, and one to ask about each.
STOPS = {"report": 4, "term": 1, "feedback": 20, "lecture": 1, "phone": 5}


@pytest.fixture(autouse=True)
def light_desktop(browser):
    """Each test begins with a light desktop."""
    prefer(browser, "light")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_and_the_page_fits(browser, pages, name, device):
    assert screen_faults(browser, pages[name].as_uri(), device) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_keyboard_reaches_all_that_a_mouse_does_and_sees_where_it_is(browser, pages, name):
    open_page(browser, pages[name].as_uri())
    found = walk(browser)
    assert found.faults == {} and in_order(browser)
    assert len(found.stops) >= STOPS.get(name, 0)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("paper", "letters")])
def test_at_200_percent_nothing_is_cut_in_a_dark_scheme(browser, pages, name):
    prefer(browser, "dark")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", ZOOMED)
    assert faults(browser, pages[name].as_uri(), unfold=True) == {}
    assert zoomed_faults(browser) == []


def test_what_does_not_fit_a_screen_is_scrolled_before_the_page_turns(browser, pages):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", ZOOMED)
    open_page(browser, pages["lecture"].as_uri())
    state = "const now = document.querySelector('.now'); return [now.id, now.scrollTop]"
    body = browser.find_element("tag name", "body")
    seen = [browser.execute_script(state)]
    while seen[-1][0] == "1" and len(seen) < 20:
        body.send_keys(" ")
        WebDriverWait(browser, WAIT).until(lambda b: b.execute_script(state) != seen[-1])
        seen.append(browser.execute_script(state))
    assert [number for number, _ in seen] == ["1"] * (len(seen) - 1) + ["2"]
    assert 3 <= len(seen) < 20 and 0 < seen[1][1] <= seen[-2][1] and seen[-1][1] == 0


def test_a_phone_saves_what_was_guessed(browser, pages, tmp_path):
    open_page(browser, pages["phone"].as_uri(), 400)
    order = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", order)
    browser.find_element("id", "guess_linear").send_keys("2,000")
    browser.find_element("id", "guess_decimal").send_keys("=1; \uff1d2")
    browser.execute_script("document.getElementById('save').click()")
    file = tmp_path / "01-my-guesses.csv"
    WebDriverWait(browser, WAIT).until(lambda _: file.exists())
    names = {"guess_linear", "guess_decimal"}
    assert [(vote.question, vote.guess) for vote in read_votes([file], names)] == [
        ("guess_linear", "2,000"),
        ("guess_decimal", "=1; \uff1d2"),
    ]
    assert "'=1; \u02bc\uff1d2" in file.read_text("utf-8")  # no formula in a spreadsheet


KEYS = {Keys.ARROW_RIGHT: 1, Keys.PAGE_DOWN: 1, " ": 1, Keys.ARROW_LEFT: -1, Keys.PAGE_UP: -1}


@pytest.mark.parametrize("width", [1200, 390])
def test_a_lecture_has_one_question_a_screen_and_turns_by_key_tap_and_button(browser, pages, width):
    open_page(browser, pages["lecture"].as_uri(), width)

    def shown():
        return [s.text.partition("\n")[0][-4:] for s in sections if s.is_displayed()]

    sections = browser.find_elements("tag name", "section")
    size = browser.execute_script("return getComputedStyle(document.querySelector('p')).fontSize")
    assert size == "36px" or width == 390
    for key, step in KEYS.items():
        start, end = ("01.1", "01.2") if step > 0 else ("01.2", "01.1")
        browser.execute_script(f"location.hash = {1 if step > 0 else 2}")
        WebDriverWait(browser, WAIT).until(lambda _, start=start: shown() == [start])
        browser.find_element("tag name", "body").send_keys(key)
        WebDriverWait(browser, WAIT).until(lambda _, end=end: shown() == [end])
    tap = "document.querySelectorAll('section')[arguments[0]].dispatchEvent(new MouseEvent("
    tap += "'click', {bubbles: true, clientX: innerWidth * arguments[1]}))"
    for place, where, expected in ((0, 0.6, "01.2"), (1, 0.1, "01.1"), (0, 0.1, "01.1")):
        browser.execute_script(tap, place, where)
        WebDriverWait(browser, WAIT).until(lambda _, expected=expected: shown() == [expected])
    for button, expected in (("next", "01.2"), ("next", "01.A"), ("back", "01.2")):
        browser.find_element("id", button).click()
        WebDriverWait(browser, WAIT).until(lambda _, expected=expected: shown() == [expected])
    wide = "return document.documentElement.scrollWidth - innerWidth"
    assert browser.execute_script(wide) <= 0
