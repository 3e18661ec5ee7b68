"""The course's site: all pages are read as HTML, one page of each kind is opened in Chromium.

It is built once, with the demo cells of two lessons; the soak test runs those of all.
"""

import doctest
import json
import re
import shutil
from itertools import pairwise

import pytest
from lesson_demos import module_at
from screens import FOUR, fits, prefer
from site_pages import ROOT, SITE, broken_links, build_site, outside_requests, parse, served

from proflab_course.build.leaks import leaks
from proflab_course.course.address import Address
from proflab_course.course.features import counted
from proflab_course.course.layout import Course
from proflab_course.course.notebook import HIDDEN, read_module, read_notebook, regions
from proflab_course.tracks.read import Tracks

pytestmark = pytest.mark.whole("site/test_lesson_pages.py")

COURSE = Course(ROOT)
LESSONS = counted(COURSE.lessons("release"))
FIRST = LESSONS[0]
RECORDS = sorted((ROOT / "docs/figures").glob("*.json"))
SHOWN = [FIRST, next(name for name in LESSONS if name.startswith("10"))]
MADE_FOR_TEACHERS = ("tracks", "blueprint", "lectures", "exam", "slides", "sample")
KINDS = {
    "start page": "index.html",
    "lesson": f"release/{FIRST}/{FIRST}.html",
    "document": "docs/instructors.html",
    "tables": "docs/architecture.html",
    "API": "docs/api/dispatch.html",
    "figures": "docs/figures.html",
    "in the browser": "lite/index.html",
    "slides": f"slides/{FIRST}.html",
    "graded class": "docs/sample.html",
    "report": f"sample/reports/{FIRST}.html",
    "feedback": f"sample/feedback/forgets_biases/{FIRST}/{FIRST}.html",
    "search": "search.html?q=roofline",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, as `make site` makes it but for the demo cells of most lessons."""
    options = (
        "--size",
        "small",
        "--jobs",
        "1",
        "--no-pdf",
        "--demos",
        *SHOWN,
    )  # tests run side by side
    return build_site(tmp_path_factory.mktemp("site"), *options)


@pytest.fixture(scope="module")
def pages(site):
    """Every page of it, parsed."""
    return parse(site)


@pytest.fixture(scope="module")
def address(site):
    """Where a server shows it."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium, which reaches this machine and nothing else."""
    from browsing import start_browser

    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


def lesson_page(lesson):
    return f"release/{lesson}/{lesson}.html"


# ── what is there ────────────────────────────────────────────────────────────────────────────


def test_every_document_lesson_and_list_has_a_page(pages):
    documents = [*ROOT.glob("docs/*.md"), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    wanted = {str(path.relative_to(ROOT).with_suffix(".html")) for path in documents}
    wanted |= {lesson_page(lesson) for lesson in LESSONS}
    wanted |= {
        "index.html",
        "docs/figures.html",
        "docs/api/index.html",
        "search.html",
        *(f"docs/{name}.html" for name in MADE_FOR_TEACHERS),
    }
    assert wanted <= pages.keys()
    contents = {a["href"] for a in pages["index.html"].select(".sidebar-tree a[href]")}
    assert wanted - {"index.html", "search.html"} <= contents


def test_the_start_page_opens_with_a_picture_three_buttons_and_an_example(pages):
    article = pages["index.html"].article
    buttons = [a["href"] for a in article.select("a.button")]
    links = re.findall(r"\]\((https://[^)]+)\)", Address.read(ROOT).links(FIRST))
    assert buttons == links and len(links) == 3
    assert len(article.select("p > img, figure img")) >= 1
    links = {a["href"] for a in article.select("table a[href]")}
    assert {lesson_page(lesson) for lesson in LESSONS} <= links


def test_the_page_for_teachers_leads_to_all_that_a_plan_needs(pages):
    article = pages["docs/teaching.html"].article
    links = {a["href"].partition("#")[0] for a in article.select("a[href]")}
    assert {f"{name}.html" for name in MADE_FOR_TEACHERS} <= links
    assert {"first-evening.html", "instructors.html", "assistants.html", "ai.html"} <= links
    titles = {strong.get_text() for strong in article.select("table strong")}
    assert {track.title for track in Tracks.read(ROOT).tracks.values()} <= titles


def test_the_first_example_has_six_lines_and_true_numbers(pages):
    code = pages["index.html"].article.select_one(".highlight-python pre, .highlight-pycon pre")
    test = doctest.DocTestParser().get_doctest(code.get_text(), {}, "start page", None, 0)
    assert sum(len(example.source.splitlines()) for example in test.examples) == 6
    lines: list[str] = []
    result = doctest.DocTestRunner().run(test, out=lines.append)
    assert not result.failed and test.examples[-1].want, "".join(lines)


@pytest.mark.parametrize("lesson", SHOWN)
def test_what_a_demo_cell_shows_is_folded_below_it(pages, site, lesson):
    page = pages[lesson_page(lesson)]
    cells = page.select("div.cell.tag_demo")
    folded = [cell.select_one("details") for cell in cells]
    assert len(cells) >= 5 and sum(map(bool, folded)) >= 0.8 * len(cells)
    for fold in filter(None, folded):
        assert fold.summary.get_text(" ", strip=True).startswith("What you will see")
        assert not fold.has_attr("open") and fold.select_one(".cell_output")
    pictures = page.select("div.cell.tag_demo details img")
    assert len(pictures) >= 5
    assert all((site / lesson_page(lesson)).with_name(i["src"]).is_file() for i in pictures)
    assert "you made no guess" in page.get_text()


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_is_shown_as_students_get_it(pages, lesson):
    text = pages[lesson_page(lesson)].article.get_text()
    assert "YOUR CODE HERE" in text and "NotImplementedError" in text
    assert "BEGIN SOLUTION" not in text and "HIDDEN TESTS" not in text
    assert not pages[lesson_page(lesson)].select("div.cell:not(.tag_demo) .cell_output")
    # Colab's cell and the last one do nothing on a page.
    assert "google.colab" not in text and "progress.show()" not in text


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lessons_link_into_the_browser_leads_to_a_page_that_opens_it(pages, site, lesson):
    title = read_notebook(COURSE.release(lesson), lesson).cells[0].source
    [link] = re.findall(r"\[Open in the browser\]\(([^)]+)\)", title)
    name, _, anchor = link.removeprefix(f"{Address.read(ROOT).documentation}/").partition("#")
    [entry] = pages[name].select(f"[id='{anchor}'] a.button")
    path, _, query = entry["href"].partition("?path=")
    assert entry.get_text() == title.splitlines()[0].removeprefix("# ")
    assert (site / "lite" / path).is_file() and (site / "lite/files" / query).is_file()


@pytest.mark.parametrize(
    "sentence",
    [
        "Your work is kept in this browser only.",
        "What deletes it:",
        "Download it whenever you stop:",
        "Hand in the notebook that you have downloaded, under the name that it came with",
        "On a computer that you share, whoever uses this browser next can read it.",
    ],
)
def test_the_page_before_the_lessons_in_the_browser_says_where_work_is(pages, sentence):
    text = " ".join(pages["lite/index.html"].article.get_text().split())
    assert sentence in text and text.index(sentence) < text.index("The lessons¶")


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_has_slides_of_its_own_predictions_and_pictures(pages, lesson):
    page = pages[f"slides/{lesson}.html"]
    slides = page.select("section")
    kinds = [section["class"][0] for section in slides]
    assert kinds[:2] == ["title", "goals"] and kinds[-1] == "summary"
    assert 8 <= len(kinds) <= 12 and kinds.count("predict") >= 3
    # A title may not answer what its slide asks, as a section's can.
    titles = {each.h2.get_text() for each in slides if each["class"][0] == "predict"}
    assert titles == {"Predict"}
    if lesson in SHOWN:
        assert len(page.select("section.shown img")) >= 3
        # What is predicted is answered at once, and a slide is more than printed lines.
        assert {then for now, then in pairwise(kinds) if now == "predict"} <= {"predict", "shown"}
        assert all(each.select("img, .answer") for each in page.select("section.shown"))
    assert "you made no guess" not in page.get_text()
    assert not re.search(r"\d,\d{3}(?!\d)", page.main.get_text())  # a point is the decimal sign


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_page_of_slides_has_a_note_for_each(pages, lesson):
    slides = pages[f"slides/{lesson}.html"].select("section h2")
    article = pages["docs/slides.html"].article
    [section] = [
        each for each in article.select("section section") if slides[0].text in each.h2.text
    ]
    notes = section.select("ol > li")
    assert len(notes) == len(slides)
    for slide, note in zip(slides, notes, strict=True):
        assert note.strong.get_text() == slide.get_text()
        assert len(note.get_text()) > len(slide.get_text()) + 30


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


PAPER = {"width": 1111, "height": 620, "deviceScaleFactor": 1, "mobile": False}  # 294 mm wide


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


def test_the_api_has_every_public_name_and_its_examples(pages, monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    import api

    listed = 0
    for page in api.pages():
        html = pages[f"docs/api/{page.name}.html"]
        ids = {dt.get("id") for dt in html.select("dl.py > dt[id]")}
        assert {f"{page.module}.{name}" for name in page.names} <= ids
        listed += len(page.names)
    assert listed > 300
    assert "Tensor([2., 4.])" in pages["docs/api/tensor.html"].get_text()
    assert "('ops', 'op')" not in pages["docs/api/dispatch.html"].get_text()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_page_of_figures_shows_every_record(pages, path):
    record = json.loads(path.read_text(encoding="utf-8"))
    article = pages["docs/figures.html"].article
    assert record["title"] in {heading.contents[0] for heading in article.select("h2")}
    text = article.get_text()
    for part in ("date", "machine", "command", "table"):
        assert record[part] in text, part


def test_docstrings_become_lists():
    result = doctest.testmod(module_at(SITE / "docstrings.py"))
    assert result.attempted and not result.failed


# ── links, pictures, structure ───────────────────────────────────────────────────────────────


def test_no_link_is_broken(site, pages):
    assert len(pages) > 25
    assert broken_links(site, pages) == []


def test_a_broken_link_is_seen(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a><img src="c.png"><a href="#y">y</a>')
    (tmp_path / "b.html").write_text("<p id=z>b</p>")
    found = broken_links(tmp_path, parse(tmp_path))
    assert found == ["a.html: a b.html#x", "a.html: img c.png", "a.html: a #y"]


def test_links_out_of_the_site_lead_to_files_of_the_repository(pages):
    start = f"{Address.read(ROOT).repository}/"
    named = {
        a["href"] for page in pages.values() for a in page.select(f"article a[href^='{start}']")
    }
    there = [
        re.fullmatch(r"(?:blob|tree)/main/([^#]+)(#.*)?", n.removeprefix(start)) for n in named
    ]
    assert sum(map(bool, there)) >= 1
    assert all((ROOT / found[1]).exists() for found in there if found)


def test_every_picture_has_a_text(pages):
    pictures = [(name, img) for name, page in pages.items() for img in page.select("img")]
    assert len(pictures) > 20
    assert [(name, img["src"]) for name, img in pictures if len(img.get("alt", "")) < 15] == []


def test_reading_a_page_asks_no_other_server(site, pages):
    assert outside_requests(pages) == []
    for path in [*site.rglob("*.css"), *site.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        loads = re.findall(
            r"(?:url\(|@import\s+|import\(|fetch\()\s*['\"]?(?:https?:)?//[^)'\"]+", text
        )
        assert not loads, f"{path}: {loads}"


def test_a_page_has_one_title_and_no_id_twice(pages):
    for name, page in pages.items():
        assert page.html["lang"] == "en" and page.title.get_text(strip=True), name
        assert len(page.select("h1")) == 1, name
        ids = [each["id"] for each in page.select("[id]")]
        assert len(ids) == len(set(ids)), (name, {i for i in ids if ids.count(i) > 1})


# ── the audit ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("secret", ["solution", "hidden case"])
def test_the_audit_sees_a_secret_on_a_page(site, tmp_path, secret):
    lessons = [read_module(COURSE.module(n), n) for n in LESSONS]
    page = tmp_path / "html" / lesson_page(FIRST)
    page.parent.mkdir(parents=True)
    shutil.copy(site / lesson_page(FIRST), page)
    assert leaks(tmp_path / "html", lessons[0], lessons, "site") == []
    role = "exercise" if secret == "solution" else "test"
    pair = ("### BEGIN SOLUTION", "### END SOLUTION") if secret == "solution" else HIDDEN
    cells = [cell for cell in lessons[-1].named(role) if regions(cell.source, pair)]
    lines = [line for cell in cells for region in regions(cell.source, pair) for line in region]
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    coloured = highlight("\n".join(lines), PythonLexer(), HtmlFormatter())
    page.write_text(page.read_text("utf-8").replace("</article>", f"{coloured}</article>"), "utf-8")
    found = leaks(tmp_path / "html", lessons[0], lessons, "site")
    assert len(found) >= 3 and all(lessons[-1].name in sentence for sentence in found)


# ── in a browser ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme, device", FOUR)
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_and_the_page_fits(browser, address, kind, scheme, device):
    from browsing import faults

    prefer(browser, scheme, device)
    assert faults(browser, f"{address}/{KINDS[kind]}", unfold=True) == {}
    assert fits(browser, device)
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
        side = 0 if device == "phone" else 1  # what both have in common: top, or left
        assert len(numbers) == 6
        assert [each[side] for each in numbers] == [each[side] for each in words]


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


def test_a_graded_class_can_be_clicked_through(pages):
    links = [a["href"] for a in pages["docs/sample.html"].article.select("table a")]
    assert len(links) == 9 and all(f"sample/{link[len('../sample/') :]}" in pages for link in links)
    said = pages["docs/sample.html"].article.select_one("pre").get_text()
    assert len(re.findall(r"^\w+ +\d+ / 100 ", said, re.MULTILINE)) == 16
    report = pages[KINDS["report"]]
    assert (
        "forgets_biases" in report.get_text()
        and "forgets_biases" not in pages[f"sample/reports/{FIRST}.public.html"].get_text()
    )


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


def test_each_page_has_a_link_to_the_repository_and_to_the_licence(pages):
    repository = Address.read(ROOT).repository
    for name, page in pages.items():
        footer = {link.get("href") for link in page.select("footer a")}
        alone = name.startswith(("slides/", "sample/"))  # files that commands wrote
        assert alone or {repository, f"{repository}/blob/main/LICENSE"} <= footer, name
