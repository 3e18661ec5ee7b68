"""The inventory's page in a browser: in light and dark, at 390 px, with everything unfolded."""

from pathlib import Path

import pytest
from browsing import faults, open_page, screen_faults, start_browser
from inventory_class import simulated
from reading import ZOOMED, in_order, walk, zoomed_faults
from screens import DEVICES, prefer

from proflab_classroom.inventory.items import read_inventory
from proflab_classroom.inventory.page import render_inventory, summarise
from proflab_course.course.layout import Course

pytestmark = pytest.mark.whole("inventory/test_inventory_class.py")
ITEMS = read_inventory(Course(Path(__file__).parents[2]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page about a simulated class."""
    page = tmp_path_factory.mktemp("page") / "inventory.html"
    page.write_text(render_inventory(summarise(ITEMS, simulated(ITEMS, 60, 1, 3))))
    return page


@pytest.mark.parametrize("device", DEVICES)
def test_the_page_is_readable(browser, device, page):
    assert screen_faults(browser, page.as_uri(), device) == {}
    for scheme in ("dark", "light"):
        prefer(browser, scheme, device)
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_keyboard_reaches_everything_and_at_200_percent_nothing_is_cut(browser, page):
    prefer(browser, "light")
    open_page(browser, page.as_uri())
    assert walk(browser).faults == {} and in_order(browser)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", ZOOMED)
    assert faults(browser, page.as_uri(), unfold=True) == {}
    assert zoomed_faults(browser) == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
