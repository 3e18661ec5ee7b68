"""A headless browser that is watched: what it runs and what it asks for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("needs Chromium and its driver: make system", allow_module_level=True)

from axe_core_python.base import AXE_SCRIPT
from axe_core_python.selenium import Axe
from contrast import COLOURS, REST
from hostile import Witness
from screens import fits, prefer
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


# A colour on its way to another scheme's is no colour of either.
END_TRANSITIONS = """
    document.getAnimations().filter(each => each instanceof CSSTransition)
        .forEach(each => each.finish());
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


def screen_faults(browser: webdriver.Chrome, address: str, device: str) -> dict[str, object]:
    """Open a page on a device and return what is wrong in a light scheme, and then in a dark one.

    That is what axe-core finds, everything unfolded, and whether the page is wider than the
    window. Contrast is looked at on each of the four screens, all other rules on a desktop in
    light and on a phone in dark: so whatever a scheme or a device shows is looked at.
    """
    found: dict[str, object] = {}
    for scheme in ("light", "dark"):
        prefer(browser, scheme, device)
        if scheme == "light":
            open_page(browser, address)
            browser.execute_script(UNFOLD)
            browser.execute_script(AXE_SCRIPT)
        browser.execute_script(END_TRANSITIONS)
        every_rule = (scheme, device) in (("light", "desktop"), ("dark", "phone"))
        if every_rule:
            found |= {f"{scheme}, {name}": each for name, each in _read(browser, REST, 10).items()}
        found |= {f"{scheme}, {name}": each for name, each in _read(browser, COLOURS, 0).items()}
        if not fits(browser, device):
            found[f"{scheme}, width"] = device
    return found


def faults_here(
    browser: webdriver.Chrome, within: str | None = None, looked_at: int = 5
) -> dict[str, list[str]]:
    """Return what axe-core finds in the page that is open, or in an element of it, a selector.

    looked_at: so many rules have something that they hold for, or the page is not what it seems
    """
    if within is None:
        browser.execute_script(AXE_SCRIPT)
        return _read(browser, REST, looked_at) | _read(browser, COLOURS, 0)
    options = {"resultTypes": ["violations"]}  # the others in short
    return _said(Axe().run(browser, context=within, options=options), looked_at)


def _read(browser: webdriver.Chrome, script: str, looked_at: int) -> dict[str, list[str]]:
    """Return what a script of contrast.py finds in the page that is open; axe-core is in it."""
    return _said(browser.execute_async_script(script), looked_at)


def _said(found: dict, looked_at: int) -> dict[str, list[str]]:
    assert "error" not in found, found
    assert len(found["passes"]) + len(found["violations"]) > looked_at
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
