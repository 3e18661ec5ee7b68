"""The course's site, read as HTML: which pages there are, and that no link or secret is wrong."""

import doctest
import json
import re
import shutil
import tomllib
from itertools import pairwise

import pytest
from lesson_demos import module_at
from site_pages import (
    COURSE,
    FIRST,
    LESSONS,
    REPORT,
    ROOT,
    SHOWN,
    SITE,
    broken_links,
    lesson_page,
    outside_requests,
    parse,
)

from proflab_course.build.leaks import leaks
from proflab_course.course.address import Address
from proflab_course.course.notebook import HIDDEN, read_module, read_notebook, regions
from proflab_course.tracks.read import Tracks

pytestmark = pytest.mark.whole("site/test_lesson_pages.py")

RECORDS = sorted((ROOT / "docs/figures").glob("*.json"))
MADE_FOR_TEACHERS = ("tracks", "blueprint", "lectures", "exam", "slides", "sample")


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


def test_a_search_engine_shows_the_packages_description(pages):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    described = pages["index.html"].select_one("meta[name=description]")["content"]
    assert described == project["description"]


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


def test_a_document_leads_to_pages_of_its_own_site(pages):
    published = Address.read(ROOT).documentation
    documents = {name: page for name, page in pages.items() if name.startswith("docs/")}
    there = {
        name: page.select(f"article a[href^='{published}']") for name, page in documents.items()
    }
    assert len(there) > 20 and {name for name, found in there.items() if found} == set()


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


def test_a_graded_class_can_be_clicked_through(pages):
    links = [a["href"] for a in pages["docs/sample.html"].article.select("table a")]
    assert len(links) == 9 and all(f"sample/{link[len('../sample/') :]}" in pages for link in links)
    said = pages["docs/sample.html"].article.select_one("pre").get_text()
    assert len(re.findall(r"^\w+ +\d+ / 100 ", said, re.MULTILINE)) == 16
    report = pages[REPORT]
    assert (
        "forgets_biases" in report.get_text()
        and "forgets_biases" not in pages[f"sample/reports/{FIRST}.public.html"].get_text()
    )


def test_each_page_has_a_link_to_the_repository_and_to_the_licence(pages):
    repository = Address.read(ROOT).repository
    for name, page in pages.items():
        footer = {link.get("href") for link in page.select("footer a")}
        alone = name.startswith(("slides/", "sample/"))  # files that commands wrote
        assert alone or {repository, f"{repository}/blob/main/LICENSE"} <= footer, name


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
