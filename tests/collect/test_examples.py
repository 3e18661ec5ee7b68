"""The examples in the docstrings of what collect and export share."""

import doctest

import pytest

from proflab_course.collect import moodle_worksheet, roster
from proflab_course.course import csv_table, words


@pytest.mark.parametrize(
    "module", [csv_table, moodle_worksheet, roster, words], ids=lambda module: module.__name__
)
def test_examples(module):
    tried = doctest.testmod(module)
    assert tried.attempted and not tried.failed


def test_ten_names_are_enough():
    assert words.few([str(n) for n in range(10)]).endswith("8, 9")
    assert words.few([str(n) for n in range(12)]).endswith("8, 9 and 2 more")
