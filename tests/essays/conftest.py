"""A graded class whose essays are to be marked."""

import pytest
from essay_class import essay_class


@pytest.fixture(scope="session")
def graded(tmp_path_factory):
    """A course with twelve graded essays; copy it before you change it."""
    return essay_class(tmp_path_factory.mktemp("essays"))
