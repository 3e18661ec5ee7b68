"""concepts.toml: what is read of it, and what is said of a mistake."""

import pytest
from concept_course import CONCEPTS, LESSON, concept_course

from proflab_classroom.questions.concepts_file import parse_concepts, read_concepts
from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.layout import CourseError


def changed(old, new):
    assert old in CONCEPTS
    return CONCEPTS.replace(old, new, 1).encode()


def test_a_file_is_read_in_its_order(tmp_path):
    first, second, audit = read_concepts(concept_course(tmp_path), LESSON)
    assert [each.id for each in (first, second, audit)] == ["01_1", "01_2", "01_A"]
    assert (first.name, first.label, first.kind) == (
        "concept_01_1",
        "the answer to 01.1",
        "concept",
    )
    assert first.options["C"] == "12 m²" and first.key == "C" and first.value == 12
    assert first.fixed == ("D",) and audit.kind == "audit" and audit.source.startswith("From")


def test_a_lesson_without_the_file_has_no_questions(tmp_path):
    assert read_concepts(concept_course(tmp_path), "02_second") == []


def test_without_a_seed_the_order_is_the_files_and_with_one_only_fixed_letters_stay():
    first, second, _ = parse_concepts(CONCEPTS.encode(), LESSON)
    assert first.order(None) == LETTERS
    keys = [bytes([number]) * 32 for number in range(256)]
    orders = {first.order(key) for key in keys}
    assert len(orders) == 6 and all(order.endswith("D") for order in orders)
    assert {*map("".join, map(sorted, orders))} == {LETTERS}
    assert len({second.order(key) for key in keys}) == 24
    assert first.order(keys[0]) == first.order(keys[0])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('id = "01_1"', 'id = "02_1"', "the id must be like 01_1"),
        ('id = "01_2"', 'id = "01_1"', "question 01_1: two have this id"),
        ('key = "C"', 'key = "E"', "question 01_1: key must be one of the letters"),
        ('key = "C"', "key = 3", "question 01_1: key must be one of the letters"),
        ('after = "area"', "", "question 01_1: after must be a text"),
        ('after = "area"', 'after = "a cell"', "after must be the grade_id"),
        (', D = "none of these" }', " }", "options must have the letters A, B, C and D"),
        ('B = "14 m²"', 'B = "7 m²"', "two options are alike"),
        ('B = "the way', 'C = "the way', "the key C is right, so it can have no slip"),
        ("value = 12\n", "", "line and value belong together"),
        ('line = "area(3, 4)"\nvalue = 12\n', "", "neither a line computes its key nor a source"),
        ('line = "area(3, 4)"', 'line = "area(3,"', "line is not Python"),
        ('kind = "audit"', 'kind = "quiz"', "kind must be one of concept, audit, end"),
        ('fixed = ["D"]', 'fixed = "D"', "fixed must be a list of letters"),
        ('why = "The radius', 'wy = "The radius', "question 01_2 has an entry 'wy'; it may have "),
        ('stem = "A field is', 'stem = "' + "word " * 101 + "is", "more than 100; shorten it"),
        ('A = "doubles"', 'A = "### END SOLUTION"', "has a mark in it"),
        ('A = "doubles"', 'A = "a\\nb"', "must be one line"),
        ("[[question]]", "x = 1\n[[question]]", "may hold tables"),
        ("[[question]]", "[[question", "is not TOML"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_question(old, new, told):
    with pytest.raises(CourseError) as raised:
        parse_concepts(changed(old, new), LESSON, "modules/01_first/concepts.toml")
    assert told in str(raised.value)
    assert str(raised.value).startswith("modules/01_first/concepts.toml")
    assert "\n" not in str(raised.value)


def test_a_lesson_has_at_most_four_and_a_file_is_not_endless():
    block = CONCEPTS.split("[[question]]")[1]
    five = "".join(f"[[question]]{block.replace('01_1', f'01_{n}')}" for n in range(1, 6))
    with pytest.raises(CourseError, match="5 questions, of which a lesson has 4 at most"):
        parse_concepts(five.encode(), LESSON)
    with pytest.raises(CourseError, match="larger than 64 KB"):
        parse_concepts(b"#" * 70_000, LESSON)
