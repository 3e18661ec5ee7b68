"""A sheet as a page: it fits, and what is not about own code says so."""

import pytest
from viva_class import LESSON, Local, make_course

from proflab_classroom.viva.command import Lesson, fill
from proflab_classroom.viva.execute import Notebook
from proflab_classroom.viva.pages import blocks, render
from proflab_classroom.viva.questions import Draws, SheetQuestion
from proflab_classroom.viva.sheet import Sheet, printed, rows
from proflab_course.course.layout import CourseError
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.races import NotTraced

CONCEPTS = """
[[question]]
id = "01_1"
after = "fence"
stem = "How many sides has a field?"
options = {A = "two", B = "four", C = "five", D = "six"}
key = "B"
why = "Count them."
source = "it was counted"
[[question]]
id = "01_2"
after = "fence"
stem = "And a box?"
options = {A = "six", B = "eight", C = "five", D = "four"}
key = "A"
source = "it was counted"
"""
DRAWS = Draws(bytes(32), ("viva", "1", "ada", LESSON))


def sheet_of(lines):
    """Return a sheet with four functions of so many lines."""
    sheet = Sheet("ada", LESSON)
    code = "def f(x):\n" + "".join(f"    x += {n}  # {'word ' * 12}\n" for n in range(lines))
    options = tuple(f"line {n}: x -= {n}" for n in (2, 20, 30))
    for number, name in enumerate("abcd"):
        kind = "change" if number == 2 else "value"
        sheet.questions.append(
            SheetQuestion(name, f"What does `{name}` do?", options, 1, kind=kind)
        )
        sheet.functions.append(printed(name, code))
    return sheet


def test_short_functions_are_printed_whole_and_large():
    made, size = blocks(sheet_of(8))
    assert size == "large"
    assert [block.function.cut for block in made] == [0, 0, 0, 0]


def test_long_functions_are_cut_but_not_above_a_line_that_an_option_names():
    made, size = blocks(sheet_of(60))
    assert size == "small"
    assert all(block.function.cut for block in made)
    assert len(made[2].function.lines) >= 30
    page = render(sheet_of(60), "Ada (ada)")
    assert f"… and {made[0].function.cut} more lines" in page


@pytest.fixture
def lesson(tmp_path):
    course = make_course(tmp_path, {})
    lesson = Lesson(course, read_key(course.source(LESSON)))
    lesson.secret = bytes(32)
    return lesson


def filled(lesson, written, own_rows=tuple):
    cells = {name: lesson.solutions[name] for name in written}
    notebook = Notebook(tuple(lesson.solved.cells), lesson.solved.submission)
    sheet = Sheet("ada", LESSON)
    fill(
        sheet, lesson, Local(), notebook, cells, lesson.all_known(Local()), DRAWS, own_rows=own_rows
    )
    return sheet


def write_concepts(lesson, text):
    path = lesson.course.module(LESSON).with_name("concepts.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_what_a_static_build_lacks_is_a_sentence_on_a_sheet_that_has_the_other_questions(lesson):
    def untraced():
        raise NotTraced("the given program has not been traced")

    write_concepts(lesson, CONCEPTS)
    told = f"was built without being executed: run `proflab build {LESSON}`."
    sheet = filled(lesson, ["fence"], untraced)
    assert told in sheet.problem and told in render(sheet, "Ada (ada)")
    assert {q.kind for q in sheet.questions} > {"row"}
    assert told not in filled(lesson, list(lesson.solutions), untraced).problem  # it needs no more


def test_with_few_functions_concept_questions_fill_the_sheet_and_it_says_so(lesson):
    write_concepts(lesson, CONCEPTS)
    sheet = filled(lesson, ["fence"])
    kinds = [q.kind for q in sheet.questions]
    assert kinds.count("row") == 2
    assert 1 <= len(kinds) - 2 <= 2
    page = render(sheet, "ada")
    assert page.count("Not about your code") == 2
    assert "questions could be made from this hand-in" in page
    assert "Count them." in render(sheet, "ada", key=True)
    assert "Count them." not in page


def test_without_concept_questions_it_has_fewer(lesson):
    assert {q.kind for q in filled(lesson, ["fence"]).questions} <= {"value", "tell", "change"}


def test_concepts_that_cannot_be_read_are_named(lesson):
    write_concepts(lesson, CONCEPTS.replace('key = "B"', 'key = "no"'))
    with pytest.raises(CourseError, match="concepts.toml, question 01_1: key must be one of"):
        filled(lesson, ["fence"])


def test_rows_about_a_race_come_first(lesson):
    write_concepts(lesson, CONCEPTS)
    mine = SheetQuestion("a race", "Which op took longest?", ("matmul", "add"), 0, kind="race")
    made = rows(lesson.course, LESSON, DRAWS, [mine])
    assert [q.name for q in made][0] == "a race"
    assert [q.about_own_code for q in made] == [True, False, False]
    assert len(made) == 3
