"""Whatever a student sends, nothing is raised where it is read, judged, written and shown.

A hundred cases or two of each kind; `make soak` runs a million (tests/soak/test_fuzz.py).
"""

import pytest
from fuzzing import CHECKS, fuzz

pytestmark = pytest.mark.whole("grading/test_read_notebook.py")

CASES = {"replies": 200, "time stamps": 200, "markup": 200, "notebooks": 30, "metadata": 15}


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_is_raised(name):
    fuzz(name, CASES.get(name, 100), seed=1)
