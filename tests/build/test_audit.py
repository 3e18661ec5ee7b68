"""Each mistake in a lesson gets one sentence that names the file and the cell."""

import re

import pytest
from mini_course import (
    FIRST,
    HEADER,
    SECOND,
    changed,
    code,
    essay,
    exercise,
    given,
    graded,
    markdown,
)
from mini_course import read_lesson as read

from proflab_course.build.audit import course_mistakes, lesson_mistakes

FILE = "modules/01_first/01_first.py"
COPY = "modules/02_second/02_second.py"


def mistakes(tmp_path, source: str, built=("area", "circle")) -> list[str]:
    lesson = read(tmp_path, source)
    return course_mistakes([lesson]) + lesson_mistakes(lesson, tmp_path / "modules/01_first", built)


def test_a_right_lesson_has_no_mistake(tmp_path):
    assert mistakes(tmp_path, FIRST) == []


AREA_TEST = FIRST[FIRST.index("# %% nbgrader", FIRST.index("return surface")) :].split("\n\n")[0]
MISTAKES = {
    "duplicate grade_id": (
        changed('"first_demo"', '"first_shown"'),
        "cell first_shown: the grade_id first_shown is taken by another cell (" + FILE + ")",
    ),
    "invalid metadata": (
        changed('"grade_id": "sheet"', '"grade_id": "a sheet"'),
        "cell a sheet: nbgrader's metadata is not valid: 'a sheet' does not match",
    ),
    "points missing": (
        changed(', "points": 20', ""),
        "cell test_circle: nbgrader's metadata is not valid: nbgrader cell 'test_circle' does not",
    ),
    "unlocked test": (
        changed('"test_area", "locked": true', '"test_area", "locked": false'),
        "cell test_area: a test cell must be locked",
    ),
    "locked exercise": (
        changed('"area", "locked": false', '"area", "locked": true'),
        "cell area: a cell that the student fills in must not be locked",
    ),
    "missing END SOLUTION": (
        changed("    ### END SOLUTION\n", ""),
        "cell area: ### BEGIN SOLUTION without ### END SOLUTION",
    ),
    "missing BEGIN SOLUTION": (
        changed("    ### BEGIN SOLUTION\n", ""),
        "cell area: line 7: ### END SOLUTION without ### BEGIN SOLUTION",
    ),
    "nested solution": (
        changed("    surface =", "    ### BEGIN SOLUTION\n    surface ="),
        "cell area: line 6: ### BEGIN SOLUTION inside another",
    ),
    "misspelt delimiter": (
        changed("### BEGIN SOLUTION", "## BEGIN SOLUTION:"),
        "cell area: line 3 must be `### BEGIN SOLUTION` and nothing else",
    ),
    "no solution marked": (
        re.sub(r" +### (BEGIN|END) SOLUTION\n", "", FIRST, count=2),
        "cell area: a solution cell needs ### BEGIN SOLUTION, the solution, ### END SOLUTION",
    ),
    "missing END HIDDEN TESTS": (
        changed("### END HIDDEN TESTS\n", ""),
        "cell test_area: ### BEGIN HIDDEN TESTS without ### END HIDDEN TESTS",
    ),
    "missing END MARK SCHEME": (
        changed("# === END MARK SCHEME ===\n", ""),
        "cell essay_area: === BEGIN MARK SCHEME === without === END MARK SCHEME ===",
    ),
    "solution in a given cell": (
        changed("    sides = 2", "    ### BEGIN SOLUTION\n    sides = 2\n    ### END SOLUTION"),
        "cell sheet: ### BEGIN SOLUTION has no place in a cell that is not a solution cell",
    ),
    "hidden tests in a demo": (
        changed("for side in", "### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\nfor side in"),
        "cell first_demo: ### BEGIN HIDDEN TESTS has no place in a cell that is not a test cell",
    ),
    "syntax": (
        changed("class Sheet:", "class Sheet"),
        "cell sheet, line 1: expected ':'",
    ),
    "expect in a loop": (
        changed(
            'expect("radius 0", circle(0), 0.0)', 'for r in (0,):\n    expect("r", circle(r), 0)'
        ),
        "cell test_circle_2, line 2: expect stands inside another statement",
    ),
    "computed label": (
        changed('expect("radius 0"', 'expect("radius " + "0"'),
        "cell test_circle_2, line 1: the label must be a literal string",
    ),
    "expected value from the solution": (
        changed("circle(0), 0.0)", "circle(0), area(0, 0))"),
        "cell test_circle_2, line 1: expected values use literals",
    ),
    "test cell without a case": (
        changed('expect("radius 0", circle(0), 0.0)', "circle(0)"),
        "cell test_circle_2: a graded cell needs at least one expect",
    ),
    "assert": (
        changed(
            'expect("radius 0", circle(0), 0.0)',
            'expect("radius 0", circle(0), 0.0)\nassert circle(1) == math.pi, "radius 1"',
        ),
        "cell test_circle_2, line 2: an assert earns no points: "
        'write `expect("radius 1", circle(1), math.pi)`',
    ),
    "assert in a hidden block": (
        changed(
            "long_side = 7_919",
            "long_side = 7_919\nfor side in (1, 2):\n    assert area(side, 0) == 0",
        ),
        "cell test_area, line 5: an assert earns no points: write `expect_table(",
    ),
    "name of the cell": (
        changed("def circle", "def disc"),
        "cell circle: the cell defines disc, but its grade_id is circle",
    ),
    "no test": (
        FIRST.replace(AREA_TEST, "").replace('"points": 20', '"points": 50'),
        "cell area: no test cell test_area checks this exercise",
    ),
    "test of nothing": (
        changed('"test_circle_2"', '"check_circle"'),
        "cell check_circle: a test cell is named test_ and the exercise above that it checks",
    ),
    "test before its exercise": (
        FIRST.replace(AREA_TEST, "").replace("# %% nbgrader", AREA_TEST + "\n\n# %% nbgrader", 1),
        "cell test_area: a test cell is named test_ and the exercise above that it checks",
    ),
    "numbers of test cells": (
        changed('"test_circle_2"', '"test_circle_3"'),
        "cell test_circle_3: this is test cell 2 of circle, so name it test_circle_2",
    ),
    "no points": (
        re.sub(r'"points": [246]0', '"points": 0', FIRST),
        ".py: no test cell has points; give them to at least one",
    ),
    "less than no points": (
        changed('"points": 60', '"points": -60'),
        "cell test_area: nbgrader's metadata is not valid: -60 is less than the minimum of 0",
    ),
    "unlocked demo": (
        changed('"first_demo", "locked": true', '"first_demo", "locked": false'),
        "cell first_demo: a demo cell must be locked and have a grade_id",
    ),
    "name from a demo": (
        changed("    sides = 2", "    sides = side"),
        "cell sheet: side comes from first_demo, which, as a demo cell, may define nothing",
    ),
    "name from hidden set-up": (
        changed('print(f"pi', 'print(long_side, f"pi'),
        "cell first_shown: long_side comes from test_area, which, as a test cell, may define",
    ),
    "picture": (
        changed("plane.svg", "plain.svg"),
        "cell 1 ('# 01 · Areas'): the picture plain.svg is not in 01_first/",
    ),
    "import built": (
        changed("import math\n", "import math\nimport built\n"),
        "cell first_imports: write `from built import …`, not `import built`",
    ),
    "unknown name from built": (
        changed("import math\n", "import math\nfrom built import area, perimeter\n"),
        "cell first_imports: no earlier lesson builds perimeter, so built lacks it",
    ),
    "an empty demo cell": (
        FIRST + code("", tags=("demo",)),
        "('empty'): a demo cell must be locked and have a grade_id",
    ),
    "a task of nbgrader's": (
        FIRST + markdown("Draw it.", "sketch", locked=True, task=True, points=5),
        "cell sketch: no total counts nbgrader's tasks: set grade and solution instead",
    ),
    "solution region in an essay": (
        changed("# An answer.", "# ### BEGIN SOLUTION\n# An answer.\n# ### END SOLUTION"),
        "cell essay_area: leave out ### BEGIN SOLUTION: nbgrader clears the whole cell",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(tmp_path, mistake):
    source, sentence = MISTAKES[mistake]
    found = mistakes(tmp_path, source)
    assert len(found) == 1, found
    assert found[0].startswith(FILE) and sentence in found[0] and "\n" not in found[0]


def test_points_have_any_sum_and_an_essay_need_not_be(tmp_path):
    points = changed('"points": 60', '"points": 2.5')
    assert mistakes(tmp_path, points) == []
    assert mistakes(tmp_path, points[: points.index("# %% [markdown] nbgrader")]) == []


def test_names_are_unique_over_the_course(tmp_path):
    second = SECOND.replace('"volume"', '"area"').replace("test_volume", "test_area")
    lessons = [read(tmp_path, FIRST), read(tmp_path, second, "02_second")]
    assert course_mistakes(lessons) == [
        f"{COPY}, cell area: the grade_id area is taken by another cell ({FILE})",
        f"{COPY}, cell test_area: the grade_id test_area is taken by another cell ({FILE})",
    ]


def test_a_class_may_hold_the_method_to_write(tmp_path):
    timer = """
class Timer:
    def start(self):
        ### BEGIN SOLUTION
        self.began = 0
        ### END SOLUTION
"""
    lesson = "\n".join(
        [
            HEADER,
            markdown("# 01 · T"),
            given("from proflab.lesson import expect", "imports"),
            exercise(timer, "Timer_start"),
            graded('expect("a", 1, 1)', "test_Timer_start", 100),
            essay("essay", "Ten for anything said."),
        ]
    )
    assert mistakes(tmp_path, lesson) == []


def test_names_of_functions_own_variables_are_no_loan(tmp_path):
    fine = (
        "class Sheet:\n    def sum(self, side):\n        return [long_side for long_side in side]"
    )
    assert mistakes(tmp_path, changed("class Sheet:\n    sides = 2", fine)) == []


def test_an_untagged_cell_needs_no_name(tmp_path):
    assert mistakes(tmp_path, FIRST + "\n" + code("area(1, 2)")) == []
