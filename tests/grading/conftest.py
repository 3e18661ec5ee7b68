"""A browser, and who watches where it wants to go: for the tests that look at pages."""

import pytest


@pytest.fixture(scope="module")
def witness():
    """A proxy that notes every request and answers none from outside."""
    from hostile import Witness

    with Witness() as witness:
        yield witness
        witness.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory, witness):
    """Headless Chromium behind the witness."""
    from browsing import start_browser

    driver = start_browser(tmp_path_factory.mktemp("browser"), witness)
    yield driver
    driver.quit()
