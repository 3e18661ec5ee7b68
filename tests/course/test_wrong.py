"""The files of known solutions: what they may hold, and what is said of a mistake."""

from __future__ import annotations

import textwrap

import pytest
from cohort.run import ROOT

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.wrong import (
    FOLDER,
    KINDS,
    known_solutions,
    read_known_solutions,
)

SOLUTION = '''
def gap(a, b=0):
    """Return how far two numbers are apart."""
    ### BEGIN SOLUTION
    if a < b:
        return b - a
    return a - b
    ### END SOLUTION
'''
FILE = """
# What students hand in.

base: by order
    low = min(a, b)
    high = max(a, b)
    return high - low

wrong (value): the sum
diagnosis: it adds where it should subtract
chance: the time of day
    return a + b

wrong (order): never swapped
change: solution
    -if a < b:
    -    return b - a

wrong (value): both ends moved
change: by order
    -low = min(a, b)
    +low = min(a, b) - 1
    @@
    -return high - low
    +
    +return high + 1 - low

wrong (slow): in steps
share: 0.25
    steps = 0
    while min(a, b) + steps < max(a, b):
        steps += 1

    return steps

right: by the absolute value
    def gap(a, b=0):
        return abs(a - b)

wrong (prints): it is printed
change: solution
         return b - a
    -return a - b
    +print(a - b)
"""


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "01_gaps" / FOLDER
    made.mkdir(parents=True)
    return made


def read(folder, text=FILE, solution=SOLUTION):
    (folder / "gap.txt").write_text(textwrap.dedent(text), encoding="utf-8")
    return known_solutions(folder, {"gap": solution})


def test_entries_are_whole_cells_with_their_kind(folder):
    found = {entry.sentence: entry for entry in read(folder).of["gap"]}
    assert [entry.kind for entry in found.values()] == [
        "value", "order", "value", "slow", "", "prints",
    ]  # fmt: skip
    assert [entry.sentence for entry in found.values() if entry.is_right] == [
        "by the absolute value"
    ]
    assert found["the sum"].code == "def gap(a, b=0):\n    return a + b"
    assert found["the sum"].diagnosis == "it adds where it should subtract"
    assert found["never swapped"].diagnosis == "never swapped"
    assert (found["the sum"].chance, found["never swapped"].chance) == ("the time of day", "")
    assert found["never swapped"].code == "def gap(a, b=0):\n    return a - b"
    assert found["in steps"].share == 0.25 and found["the sum"].share is None
    assert "\n\n    return steps" in found["in steps"].code
    for sentence, value in (("both ends moved", 5), ("by the absolute value", 3), ("the sum", 7)):
        scope = {}
        exec(found[sentence].code, scope)
        assert scope["gap"](5, 2) == value, sentence


def test_what_entries_share_lies_beside_with_the_texts_of_files(folder):
    (folder.parent / "draw.py").write_text('A = "é"\n', encoding="utf-8")
    (folder / "helpers.py").write_text('TEXT = TEXT_OF("draw.py")\n')
    scope = {}
    exec(known_solutions(folder, {}).helpers, scope)
    assert scope["TEXT"] == 'A = "é"\n'
    (folder / "helpers.py").write_text('A = 1\nTEXT = TEXT_OF("other.py")\n')
    with pytest.raises(CourseError, match="wrong/helpers.py, line 2: other.py is no file"):
        known_solutions(folder, {})


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("wrong (vaule): the sum\n    return 1", 1, "there is no kind 'vaule' (there is value,"),
        ("wrong (base): the sum\n    return 1", 1, "there is no kind 'base'"),
        ("wrong (): the sum\n    return 1", 1, "there is no kind ''"),
        ("wrong: the sum\n    return 1", 1, "this is no `wrong (KIND): SENTENCE`"),
        ("    return 1", 1, "this is no `wrong (KIND): SENTENCE`"),
        ("right: one\n   return 1", 2, "no code, which four spaces indent"),
        ("right: one\nkind: value\n    return 1", 2, "no key (chance, change, diagnosis, share)"),
        ("right: one\n    return 1\nchange: solution", 3, "no key"),
        ("right: one", 1, "this entry has no code"),
        ("right: one\n    return (1", 1, "this is no Python"),
        ("right: one\n    return 1\nright: one\n    return 2", 3, "'one' is there already"),
        ("base: solution\n    return 1", 1, "'solution' is there already"),
        ("base: one\nshare: 0.5\n    return 1", 1, "a base has code alone"),
        ("right: a\nchange: b\nchange: b\n    -c", 3, "'change' is there twice"),
        ("right: a\nchange: b\n    -c", 1, "no base 'b' to change (there is solution)"),
        ("right: a\nchange: solution\n    -return 2", 3, "not in 'solution' exactly once"),
        ("right: a\nchange: solution\n    +return 2", 3, "not in 'solution' exactly once"),
        ("right: a\nchange: solution\n    return a - b", 3, "begins with -, +, a space"),
        ("right: a\nchange: solution\n    @@", 1, "this changes nothing"),
        ("right: a\nchange: solution\n     return a - b", 1, "this changes nothing"),
        (
            "right: a\nchange: solution\n    -if a < b:\n    @@\n    -if a < b:\n    +if a:",
            1,
            "two changes are of the same lines",
        ),
        ("wrong (slow): a\n    return 1", 1, "a slow entry, and no other, has the key `share`"),
        ("wrong (value): a\nshare: 0.5\n    return 1", 1, "a slow entry, and no other"),
        ("wrong (slow): a\nshare: 50 %\n    return 1", 1, "'50 %' is no number from 0 to 1"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(folder, text, line, what):
    with pytest.raises(CourseError) as error:
        read(folder, text)
    said = str(error.value)
    assert said.startswith(f"modules/01_gaps/wrong/gap.txt, line {line}: "), said
    assert what in said and "\n" not in said


def test_a_file_of_no_exercise_and_one_that_is_no_text_are_named(folder):
    (folder / "gpa.txt").write_text("")
    with pytest.raises(CourseError, match="wrong/gpa.txt: the lesson has no exercise gpa"):
        read(folder)
    (folder / "gpa.txt").rename(folder / "gap.txt")
    (folder / "gap.txt").write_bytes(b"right: \xff\n    return 1\n")
    with pytest.raises(CourseError, match="gap.txt is no UTF-8 text"):
        known_solutions(folder, {"gap": SOLUTION})


def test_a_change_of_a_solution_that_has_changed_is_named(folder):
    with pytest.raises(CourseError, match="line 16: the lines that change are not in 'solution'"):
        read(folder, solution=SOLUTION.replace("a < b", "b > a"))


def test_a_lesson_without_them_is_told_so(tmp_path):
    with pytest.raises(CourseError, match="modules/01_none/wrong/, which holds the lesson's known"):
        read_known_solutions(Course(tmp_path), "01_none")


def test_each_kind_occurs_and_is_explained():
    course = Course(ROOT)
    found = {
        entry.kind
        for lesson in course.lessons()
        for entries in read_known_solutions(course, lesson).of.values()
        for entry in entries
    }
    assert found == {"", *KINDS}
