"""The whole site, with the demo cells of all lessons: axe-core reads every page four times."""

import pytest
from browsing import faults, start_browser
from site_pages import ROOT, broken_links, build_site, outside_requests, parse, served

from proflab_course.course.features import counted
from proflab_course.course.layout import Course

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"), "--size", "small")


def test_every_demo_cell_of_every_lesson_shows_something(site):
    pages = parse(site)
    assert broken_links(site, pages) == [] and outside_requests(pages) == []
    for lesson in counted(Course(ROOT).lessons("release")):
        cells = pages[f"release/{lesson}/{lesson}.html"].select("div.cell.tag_demo")
        folds = [cell for cell in cells if cell.select_one("details")]
        assert len(cells) >= 5 and len(folds) >= 0.8 * len(cells), lesson


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 500])
def test_axe_finds_nothing_on_any_page(site, tmp_path, scheme, width):
    browser = start_browser(tmp_path)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    found = {}
    try:
        with served(site) as address:
            for path in sorted(site.rglob("*.html")):
                page = str(path.relative_to(site))
                found[page] = faults(browser, f"{address}/{page}", width, unfold=True)
    finally:
        browser.quit()
    assert len(found) > 25
    assert {page: rules for page, rules in found.items() if rules} == {}
