"""What several tests of lessons need around them."""

import gc

import pytest


@pytest.fixture(scope="module")
def quick_clocks():
    """A scripted clock looks through all objects but frozen ones, and pytest has many."""
    gc.freeze()
    yield
    gc.unfreeze()
