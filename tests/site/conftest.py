"""One site for all files that look at it, whichever process runs them."""

import fcntl

import pytest
from site_pages import SHOWN, build_site, parse


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """Return the site as `make site` makes it, but with the demo cells of two lessons only.

    The first process that asks builds it, and others wait; the soak test runs all demo cells.
    """
    folder = tmp_path_factory.getbasetemp()
    shared = (folder if worker_id == "master" else folder.parent) / "site"
    with open(f"{shared}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (shared / "built").exists():
            return shared / "html"
        options = ("--size", "small", "--jobs", "1", "--no-pdf", "--demos", *SHOWN)
        pages = build_site(shared, *options)
        (shared / "built").touch()
        return pages


@pytest.fixture(scope="module")
def pages(site):
    """Return every page of it, parsed."""
    return parse(site)
