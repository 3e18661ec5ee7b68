"""The screens on which pages are looked at: light or dark, a desktop's or a phone's."""

from __future__ import annotations

from typing import Any

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
DEVICES = ("desktop", "phone")


def prefer(browser: Any, scheme: str, device: str = "desktop") -> None:
    """Let the browser be a phone's, or not, whose owner wants a dark or a light scheme."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    if device == "phone":
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    else:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def fits(browser: Any, device: str) -> bool:
    """Return whether the page that is open is no wider than the window, and that the device's."""
    wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
    page, window = browser.execute_script(wide)
    return page <= window and (window == PHONE["width"]) is (device == "phone")
