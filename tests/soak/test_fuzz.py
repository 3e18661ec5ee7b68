"""A million cases of everything that a student can send: nothing is raised where it is read,
judged, written and shown."""

import pytest
from fuzzing import CHECKS, CHUNK, fuzz

pytestmark = pytest.mark.soak


def test_the_cases_are_a_million():
    assert sum(cases for _, _, cases in CHECKS.values()) == 1_000_000


@pytest.mark.parametrize("name", CHECKS)
def test_nothing_is_raised(name):
    for seed in range(CHECKS[name][2] // CHUNK):
        fuzz(name, CHUNK, seed)
