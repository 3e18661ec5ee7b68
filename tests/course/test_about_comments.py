"""What a lesson says of a hidden case for later: read from above it, and nowhere else."""

import pytest

from proflab_course.cases.case import GrammarError
from proflab_course.cases.reader import split

CELL = """
expect("three", area(3), 9)
### BEGIN HIDDEN TESTS
side = 7_919  # a prime
# about: squares are exact
# for whole numbers.
expect("a long one", area(side), 62_710_561)
expect_raises("a negative one", lambda: area(-1), ValueError)
### END HIDDEN TESTS
"""


def test_the_comment_above_a_hidden_case_explains_it():
    assert split(CELL, "x").explained == {"a long one": "squares are exact for whole numbers."}
    assert split(CELL.replace("# about: squares", "# Squares"), "x").explained == {}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("# for whole numbers.\n", "\n", 5),
        ("# about: squares are exact\n# for whole numbers.\n", "", 0),
        ("side = 7_919  # a prime", "# about: a prime\nside = 7_919", 4),
        ('expect("three"', '# about: odd sides\nexpect("three"', 2),
    ],
)
def test_one_that_stands_elsewhere_is_refused_with_its_line(old, new, line):
    changed = CELL.replace(old, new)
    if not line:
        assert split(changed, "x").explained == {}
        return
    with pytest.raises(GrammarError, match=f"cell x, line {line}: `# about:` must stand directly"):
        split(changed, "x")
