"""The inventory's page in a browser: in light and dark, at 390 px, with everything unfolded."""

from pathlib import Path

import pytest
from browsing import faults, start_browser
from inventory_class import simulated

from proflab_course.course.inventory import read_inventory
from proflab_course.course.layout import Course
from proflab_course.report.inventory_page import render_inventory, summarise

ITEMS = read_inventory(Course(Path(__file__).parents[2]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_readable(browser, scheme, tmp_path):
    page = tmp_path / "inventory.html"
    page.write_text(render_inventory(summarise(ITEMS, simulated(ITEMS, 60, 1, 3))))
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    assert faults(browser, page.as_uri(), 390, unfold=True) == {}
    width, of_window, pale = browser.execute_script(
        "return [document.documentElement.scrollWidth, innerWidth,"
        " getComputedStyle(document.body).backgroundColor]"
    )
    assert width <= of_window
    assert (pale == "rgb(255, 255, 255)") == (scheme == "light")
