"""One site for all files that look at it, whichever process runs them."""

import pytest
from site_pages import SHOWN, build_site, parse


@pytest.fixture(scope="session")
def site(once):
    """Return the site as `make site` makes it, but with the demo cells of two lessons only.

    The soak test runs all demo cells.
    """
    options = ("--size", "small", "--jobs", "1", "--no-pdf", "--demos", *SHOWN)
    return once("site", lambda folder: build_site(folder, *options)) / "html"


@pytest.fixture(scope="module")
def pages(site):
    """Return every page of it, parsed."""
    return parse(site)
