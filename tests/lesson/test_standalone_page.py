"""The page of a profiler in one file, in a browser: light and dark, on a desk and on a phone."""

from __future__ import annotations

import pytest
from assembled import assemble, names_of
from browsing import faults, start_browser
from cohort.run import ROOT

from proflab.standalone import main

pytestmark = pytest.mark.whole("lesson/test_standalone.py")
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
WIDTHS = "return [innerWidth, document.documentElement.scrollWidth]"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A training step of a network whose operations have long names, and another page's sizes."""
    folder = tmp_path_factory.mktemp("page")
    names = names_of(assemble(ROOT / "modules", folder / "my_profiler.py"))
    words = ["mobilenet-v2", "--image", "64", "--passes", "1", "--train"]
    assert main(names, {}, [*words, "-o", str(folder / "step.html")]) == 0
    assert main(names, {}, ["mlp", "--at", "1", "64", "-o", str(folder / "sizes.html")]) == 0
    return lambda name: (folder / f"{name}.html").as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["step", "sizes"])
def test_all_can_be_read_in_both_schemes_and_on_a_phone_nothing_sticks_out(
    browser, page, name, scheme
):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    assert faults(browser, page(name)) == {}
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        assert faults(browser, page(name)) == {}
        assert browser.execute_script(WIDTHS) == [390, 390]
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
