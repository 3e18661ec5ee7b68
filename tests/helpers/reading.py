"""Read pages as some people do: with a keyboard alone, or at 200 %."""

from __future__ import annotations

import time
from dataclasses import dataclass

from selenium import webdriver

_TRIES = 30
# The key itself: Selenium's keys go to an element, which it looks for and at, at each press.
_TAB = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
# 200 % in a window 1,280 pixels wide: half of them are left for the page.
ZOOMED = {"width": 640, "height": 400, "deviceScaleFactor": 2, "mobile": False}

# What a mouse can do something with, and is shown; what is folded away waits for its summary.
_INTERACTIVE = """
    const shown = each => each.checkVisibility({visibilityProperty: true, opacityProperty: false});
    const all = [...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [tabindex], [onclick]')];
    return all.filter(each => shown(each) && !each.disabled && each.tabIndex >= 0);
"""
# Pointed at like a link, and neither one nor inside of one.
_MOUSE_ALONE = """
    const near = 'a, button, input, select, textarea, summary, label, [tabindex]';
    return [...document.querySelectorAll('body *')]
        .filter(each => getComputedStyle(each).cursor == 'pointer' && !each.closest(near))
        .map(each => each.outerHTML.slice(0, 120));
"""
_FOCUSED = """
    const now = document.activeElement;
    if (!now || now == document.body) return null;
    const ring = getComputedStyle(now), box = now.getBoundingClientRect();
    const seen = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0;
    const outline = ring.outlineStyle != 'none' && parseFloat(ring.outlineWidth) >= 1;
    return [now, seen, outline || ring.boxShadow != 'none', now.outerHTML.slice(0, 120)];
"""
_CUT = """
    const cut = [];
    for (const each of document.querySelectorAll('body *')) {
        const style = getComputedStyle(each), box = each.getBoundingClientRect();
        const hidden = box.width <= 1 || box.height <= 1 || style.clipPath.startsWith('inset(50');
        const text = [...each.childNodes].some(n => n.nodeType == 3 && n.textContent.trim());
        if (hidden || !text || !each.checkVisibility() || each.closest('aside')) continue;
        const scrolls = ['auto', 'scroll'];
        if (each.scrollWidth > each.clientWidth + 1 && each.clientWidth
            && ['hidden', 'clip'].includes(style.overflowX)) cut.push(each.outerHTML.slice(0, 120));
        else if (box.right > innerWidth + 1 || box.left < -1) {
            let around = each.parentElement;
            while (around && !scrolls.includes(getComputedStyle(around).overflowX))
                around = around.parentElement;
            if (!around) cut.push(each.outerHTML.slice(0, 120));
        }
    }
    return cut;
"""


@dataclass(frozen=True)
class Walk:
    """What Tab reached, in order; and what is wrong, each as the beginning of its HTML.

    missed: can be clicked, and Tab does not stop at it; unseen: had the focus off the screen;
    unmarked: had it, and nothing shows that; mouse_alone: looks as a link does, and is none.
    """

    stops: tuple[str, ...]
    missed: tuple[str, ...]
    unseen: tuple[str, ...]
    unmarked: tuple[str, ...]
    mouse_alone: tuple[str, ...]

    @property
    def faults(self) -> dict[str, tuple[str, ...]]:
        """Return what is wrong, by its kind."""
        kinds = ("missed", "unseen", "unmarked", "mouse_alone")
        return {kind: found for kind in kinds if (found := getattr(self, kind))}


def walk(browser: webdriver.Chrome, most: int = 1_000) -> Walk:
    """Press Tab from a page's beginning until it comes round, and note each stop."""
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    there = browser.execute_script(_INTERACTIVE)
    stops, reached, unseen, unmarked = [], [], [], []
    for _ in range(min(most, len(there) + 5)):
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", _TAB)
        found = browser.execute_script(_FOCUSED)
        if found is None or found[0] in reached:
            break
        for _ in range(_TRIES):  # the page rolls to it
            if found[1]:
                break
            time.sleep(0.1)
            found = browser.execute_script(_FOCUSED)
        element, is_seen, is_marked, html = found
        reached.append(element)
        stops.append(html)
        unseen += [] if is_seen else [html]
        unmarked += [] if is_marked else [html]
    missed = [each for each in there if each not in reached]
    shown = [
        browser.execute_script("return arguments[0].outerHTML.slice(0, 120)", m) for m in missed
    ]
    alone = browser.execute_script(_MOUSE_ALONE)
    return Walk(tuple(stops), tuple(shown), tuple(unseen), tuple(unmarked), tuple(alone))


def in_order(browser: webdriver.Chrome) -> bool:
    """Say whether Tab follows the page's own order: nothing claims an earlier place."""
    script = "return [...document.querySelectorAll('[tabindex]')].every(each => each.tabIndex <= 0)"
    return browser.execute_script(script)


def zoomed_faults(browser: webdriver.Chrome) -> list[str]:
    """Return what is cut, or lies beside the window, at 200 %; open the page first."""
    wide = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
    beside = [f"the page is {wide} pixels wider than its window"] if wide > 0 else []
    return beside + browser.execute_script(_CUT)
