"""A headless browser that is watched: what it runs and what it asks for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("needs Chromium and its driver: make system", allow_module_level=True)

from axe_core_python.selenium import Axe
from hostile import Witness
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait
from serving import WAIT

# Does with each element what a curious reader does; those of the page's own are left out.
CLICK_ALL = """
    const all = document.querySelectorAll(arguments[0]);
    let clicked = 0;
    for (const each of all) {
        for (const kind of ['mouseover', 'mouseenter', 'focus', 'toggle', 'animationstart'])
            each.dispatchEvent(new Event(kind, {bubbles: true}));
        if (each.closest('.panel-heading')) continue;
        if (each.focus) each.focus();
        if (each.click) each.click(); else each.dispatchEvent(new MouseEvent('click'));
        clicked += 1;
    }
    return clicked;
"""


UNFOLD = "document.querySelectorAll('details').forEach(fold => fold.open = true)"


def start_browser(profile: Path, witness: Witness | None = None) -> webdriver.Chrome:
    """Start Chromium; whatever it asks of another host goes to the witness, and nowhere else."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    options.page_load_strategy = "none"  # pages ask for MathJax, which may be out of reach
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking"):
        options.add_argument(f"--{flag}")
    if witness is None:
        options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    else:
        options.add_argument(f"--proxy-server={witness.address}")
    options.add_argument(f"--user-data-dir={profile}")
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_window_size(1200, 1400)
    driver.set_script_timeout(WAIT)
    return driver


def open_page(browser: webdriver.Chrome, address: str, width: int = 1200) -> None:
    """Open a page in a window of this width, and wait until it is loaded."""
    browser.set_window_size(width, 1400)
    browser.get(address)
    WebDriverWait(browser, WAIT).until(
        lambda b: b.execute_script(
            "return location.href == arguments[0] && document.readyState == 'complete'", address
        )
    )


def faults(
    browser: webdriver.Chrome, address: str, width: int = 1200, unfold: bool = False
) -> dict[str, list[str]]:
    """Return what axe-core finds on a page, best practices included: rule → its elements.

    unfold: also in what is folded, which axe-core cannot see
    """
    open_page(browser, address, width)
    if unfold:
        browser.execute_script(UNFOLD)
    return faults_here(browser, looked_at=10)


def faults_here(
    browser: webdriver.Chrome, within: str | None = None, looked_at: int = 5
) -> dict[str, list[str]]:
    """Return what axe-core finds in the page that is open, or in an element of it, a selector.

    looked_at: so many rules have something that they hold for, or the page is not what it seems
    """
    options = {"resultTypes": ["violations"]}  # the others in short
    found = Axe().run(browser, context=within, options=options)
    assert len(found["passes"]) > looked_at
    return {
        rule["id"]: [node["html"][:200] for node in rule["nodes"][:4]]
        for rule in found["violations"]
    }


def click_everything(browser: webdriver.Chrome, selector: str) -> int:
    """Click on, point at and focus each element in `selector`; how many there were."""
    return browser.execute_script(CLICK_ALL, selector)


def what_ran(browser: webdriver.Chrome) -> list[str]:
    """Return the signs that a script of a hostile page ran."""
    signs = []
    if len(browser.window_handles) != 1:
        signs.append("another window")
    if browser.execute_script("return window.ran"):
        signs.append("a script")
    if browser.title == "taken over":
        signs.append("the title")
    return signs
