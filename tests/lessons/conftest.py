"""A lesson as a test's module names it by its FOLDER."""

import pytest
from cohort.run import solved

from proflab_course.course.notebook import read_module


@pytest.fixture(scope="module")
def lesson(request):
    """The lesson as it is written."""
    name = request.module.FOLDER.name
    return read_module(request.module.FOLDER / f"{name}.py", name)


@pytest.fixture(scope="module")
def scope(request):
    """The names that the solved lesson defines."""
    return solved(f"lesson_{request.module.FOLDER.name[:2]}").scope


@pytest.fixture(scope="module")
def text(lesson):
    """All that is text in the lesson."""
    return "\n".join(cell.source for cell in lesson.named("text"))
