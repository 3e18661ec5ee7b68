"""The course's site in Chromium: one page of each kind, light and dark, by mouse and keyboard."""

import re

import pytest
from screens import DEVICES, PHONE, prefer
from site_pages import FIRST, REPORT, SHOWN, served

pytestmark = pytest.mark.whole("site/test_lesson_pages.py")

KINDS = {
    "start page": "index.html",
    "lesson": f"release/{FIRST}/{FIRST}.html",
    "document": "docs/instructors.html",
    "tables": "docs/architecture.html",
    "API": "docs/api/dispatch.html",
    "figures": "docs/figures.html",
    "lecture and lab": "docs/lectures.html",
    "in the browser": "lite/index.html",
    "slides": f"slides/{FIRST}.html",
    "graded class": "docs/sample.html",
    "report": REPORT,
    "feedback": f"sample/feedback/forgets_biases/{FIRST}/{FIRST}.html",
    "search": "search.html?q=roofline",
}
PAPER = {"width": 1111, "height": 620, "deviceScaleFactor": 1, "mobile": False}  # 294 mm wide


@pytest.fixture(scope="module")
def address(site):
    """Look at it where a server shows it."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium, which reaches this machine and nothing else."""
    from browsing import start_browser

    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_and_the_page_fits(browser, address, kind, device):
    from browsing import screen_faults

    assert screen_faults(browser, f"{address}/{KINDS[kind]}", device) == {}
    asked = browser.execute_script(
        "return performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    assert len(asked) > 5 or kind in ("slides", "report", "feedback")  # each is one file
    assert [each for each in asked if not each.startswith((address, "data:"))] == []


def test_the_scheme_is_the_readers(browser, address):
    from browsing import open_page

    grounds = {}
    for scheme in ("light", "dark"):
        prefer(browser, scheme)
        open_page(browser, f"{address}/{KINDS['lesson']}")
        script = "return getComputedStyle(document.body).backgroundColor"
        grounds[scheme] = sum(map(int, re.findall(r"\d+", browser.execute_script(script))[:3]))
    assert grounds["dark"] < 150 < 600 < grounds["light"]


def test_the_start_pages_picture_is_of_the_readers_scheme(browser, address):
    from browsing import open_page

    for scheme, name in (("light", "readme.png"), ("dark", "readme-dark.png")):
        prefer(browser, scheme)
        open_page(browser, f"{address}/{KINDS['start page']}")
        pictures = browser.find_elements("css selector", "article p > img")
        [shown] = [each for each in pictures if each.is_displayed()]
        assert shown.get_attribute("src").endswith(f"/{name}")
        assert shown.value_of_css_property("filter") == "none"


PLACES = """
    return ['th', 'td'].map(kind => [...document.querySelectorAll(`.numbers ${kind}`)]
        .map(each => each.getBoundingClientRect()).map(box => [box.top, box.left]));
"""


def test_a_phone_shows_each_number_beside_its_words(browser, address):
    from browsing import open_page

    for device in ("desktop", "phone"):
        prefer(browser, "light", device)
        open_page(browser, f"{address}/{KINDS['start page']}")
        numbers, words = browser.execute_script(PLACES)
        common = 0 if device == "phone" else 1  # the top of both, or their left
        assert len(numbers) == 6
        assert [each[common] for each in numbers] == [each[common] for each in words]


ROWS = """
    const table = document.querySelector('.rows table');
    const cells = [...table.querySelectorAll('tbody td:nth-child(2)')];
    const box = table.closest('.table-wrapper') || table;
    return [box.scrollWidth - box.clientWidth, table.clientWidth,
        Math.min(...cells.map(each => each.clientWidth))];
"""


@pytest.mark.parametrize("kind", ["start page", "lesson"])
def test_a_phone_shows_what_is_built_beside_its_figures_and_never_sideways(browser, address, kind):
    from browsing import open_page

    prefer(browser, "light", "phone")
    open_page(browser, f"{address}/{KINDS[kind]}")
    hidden, width, narrowest = browser.execute_script(ROWS)
    assert hidden <= 0 and narrowest > 0.5 * width


SIZES = """
    const size = each => parseFloat(getComputedStyle(document.querySelector(each)).fontSize);
    return ['h1', 'h2', 'h3', '.measure', 'p'].map(each => size(`article ${each}`));
"""


def test_a_title_is_larger_than_its_sections_and_minutes_are_small_and_grey(browser, address):
    from browsing import open_page

    prefer(browser, "light")
    open_page(browser, f"{address}/{KINDS['lesson']}")
    page, section, _, measure, text = browser.execute_script(SIZES)
    assert page > 1.3 * section > 1.3 * text and measure < text
    told = browser.find_elements("css selector", "article h2 .measure")
    assert len(told) >= 8 and all(re.search(r"\d min", each.text) for each in told)


def test_a_reader_of_a_lesson_is_told_in_which_section(browser, address):
    from browsing import WAIT, open_page
    from selenium.webdriver.support.ui import WebDriverWait

    prefer(browser, "light")
    open_page(browser, f"{address}/{KINDS['lesson']}")
    place = browser.find_element("id", "where")
    assert not place.is_displayed()
    headings = [
        each
        for each in browser.find_elements("css selector", "article h2")
        if re.match(r"\d+ · ", each.text)
    ]
    count = len(headings)
    for number in (1, 3, count):
        browser.execute_script("arguments[0].scrollIntoView()", headings[number - 1])
        told = f"section {number} of {count}"
        WebDriverWait(browser, WAIT).until(lambda _, told=told: place.text == told)


@pytest.mark.parametrize("kind", ["lesson", "slides", "feedback"])
def test_the_white_of_a_picture_goes_and_its_ink_is_light_in_the_dark(browser, address, kind):
    from browsing import UNFOLD, open_page

    inks = {}
    for scheme in ("light", "dark"):
        prefer(browser, scheme)
        open_page(browser, f"{address}/{KINDS[kind]}")
        browser.execute_script(UNFOLD)
        inks[scheme] = browser.execute_script("""
            const places = '.cell_output img, section img, .section .cell img';
            const pictures = [...document.querySelectorAll(places)];
            return [...new Set(pictures.map(each => {
                const {filter, mixBlendMode, backgroundColor} = getComputedStyle(each);
                return [filter, mixBlendMode, backgroundColor].join('; ');
            }))];""")
    assert inks["light"] == ["none; multiply; rgba(0, 0, 0, 0)"]
    assert inks["dark"] == ["invert(1) hue-rotate(180deg); screen; rgba(0, 0, 0, 0)"]


def test_the_search_works_without_a_server(browser, site):
    from browsing import WAIT, open_page
    from selenium.webdriver.support.ui import WebDriverWait

    open_page(browser, f"{(site / 'search.html').as_uri()}?q=roofline")
    links = "return [...document.querySelectorAll('#search-results li a')].map(a => a.href)"
    WebDriverWait(browser, WAIT).until(lambda b: len(b.execute_script(links)) >= 3)
    assert any("06_roofline" in link for link in browser.execute_script(links))


def test_a_reader_with_a_keyboard_unfolds_and_scrolls(browser, address):
    from browsing import open_page

    prefer(browser, "light", "phone")
    open_page(browser, f"{address}/{KINDS['lesson']}")
    assert browser.execute_script("""
        const boxes = [...document.querySelectorAll('pre, .table-wrapper')];
        const wide = boxes.filter(box => box.scrollWidth > box.clientWidth + 1);
        return wide.length > 0 && wide.every(box => box.tabIndex == 0);""")
    fold = browser.find_element("css selector", "div.cell.tag_demo summary")
    browser.execute_script("arguments[0].focus()", fold)
    fold.send_keys("\n")
    opened = "return document.querySelector('div.cell.tag_demo details').open"
    assert browser.execute_script(opened)


WALKED = ("start page", "lesson", "slides")


@pytest.mark.parametrize("kind", WALKED)
def test_a_keyboard_reaches_all_that_a_mouse_does_and_sees_where_it_is(browser, address, kind):
    from browsing import open_page
    from reading import in_order, walk

    prefer(browser, "light")
    open_page(browser, f"{address}/{KINDS[kind]}")
    found = walk(browser)
    assert found.faults == {} and in_order(browser)
    if kind == "slides":
        return
    assert len(found.stops) > 40 and "Skip to content" in found.stops[0]
    browser.execute_script("scrollTo(0, 0); document.querySelector('.skip-to-content').focus()")
    browser.switch_to.active_element.send_keys("\n")
    assert "furo-main-content" in browser.execute_script("return location.hash")


@pytest.mark.parametrize("kind", ["lesson", "tables", "slides", "teachers"])
def test_at_200_percent_nothing_is_cut_in_a_dark_scheme(browser, address, kind):
    from browsing import faults
    from reading import ZOOMED, zoomed_faults

    prefer(browser, "dark")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", ZOOMED)
    try:
        page = f"{address}/{KINDS.get(kind, 'docs/blueprint.html')}"
        assert faults(browser, page, unfold=True) == {}
        assert zoomed_faults(browser) == []
    finally:
        prefer(browser, "light")


def test_on_a_phone_all_that_a_section_asks_for_stands_in_lines_as_wide_as_the_page(
    browser, address
):
    from browsing import open_page

    prefer(browser, "light", "phone")
    open_page(browser, f"{address}/{KINDS['lecture and lab']}")
    widths = browser.execute_script("""
        const cells = [...document.querySelectorAll('.lecture tbody td')];
        return cells.map(each => each.clientWidth);""")
    assert len(widths) > 300 and min(widths) > 0.8 * PHONE["width"]


# ── slides ───────────────────────────────────────────────────────────────────────────────────


def test_slides_turn_and_fit_their_screen(address, browser):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    browser.set_window_size(1280, 860)
    browser.get(f"{address}/slides/{FIRST}.html")
    body = browser.find_element("css selector", "body")
    count = len(browser.find_elements("css selector", "section"))
    for number in range(1, count + 1):
        WebDriverWait(browser, 20).until(
            lambda page, shown=f"{number} of {count}": (
                page.find_element("id", "where").text == shown
            )
        )
        now = browser.find_element("css selector", "section.now")
        too_high = browser.execute_script("return arguments[0].scrollHeight - innerHeight", now)
        assert too_high <= 1, now.text
        body.send_keys(Keys.ARROW_RIGHT)
    assert now.get_attribute("class").split()[0] == "summary"


@pytest.mark.parametrize("lesson", SHOWN)
def test_nothing_of_a_slide_is_cut_on_paper(address, browser, lesson):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PAPER)
    try:
        browser.get(f"{address}/slides/{lesson}.html")
        cut = browser.execute_script("""
            return [...document.querySelectorAll('section')]
                .filter(slide => slide.scrollHeight > slide.clientHeight + 1)
                .map(slide => slide.innerText);""")
        heights = browser.execute_script(
            "return [...document.querySelectorAll('.shown img')].map(each => each.clientHeight)"
        )
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert cut == []
    assert len(heights) > 3
    assert sum(height > 0.45 * PAPER["height"] for height in heights) > 0.7 * len(heights)
