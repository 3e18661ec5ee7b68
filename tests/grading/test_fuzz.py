"""Whatever a student sends, nothing is raised where it is read, judged, written and shown.

A few hundred cases of each kind; `make soak` runs a million (tests/soak/test_fuzz.py).
"""

import pytest
from fuzzing import CHECKS, fuzz

CASES = {"replies": 400, "time stamps": 400, "markup": 400, "notebooks": 60, "metadata": 25}


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_is_raised(name):
    fuzz(name, CASES.get(name, 200), seed=1)
