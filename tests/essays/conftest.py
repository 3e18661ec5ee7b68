"""A graded class whose essays are to be marked."""

import pytest
from essay_class import essay_class

from proflab_course.course.layout import Course


@pytest.fixture(scope="session")
def graded(once):
    """A course with twelve graded essays; copy it before you change it."""
    return Course(once("essays", essay_class))
