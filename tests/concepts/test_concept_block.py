"""The block of concept questions that the build writes, and what it does not tell."""

import dataclasses
import re
import shutil

import nbformat
import pytest
from concept_course import (
    CONCEPTS,
    LESSON,
    RIGHT,
    SLIP,
    WHY,
    answered,
    cell_of,
    concept_course,
    questions_in,
    released,
    shown_letter,
)
from mini_course import FIRST, read_lesson

from proflab_course.build.command import build
from proflab_course.build.concepts import add_concepts, for_track, told_concepts
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.concepts import ORDERS, parse_concepts
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import read_module
from proflab_course.course.secret import seeded_key

QUESTIONS = parse_concepts(CONCEPTS.encode(), LESSON)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A course with questions, built and fully audited."""
    course = concept_course(tmp_path_factory.mktemp("course"))
    build(course)
    return course


@pytest.mark.proves("a lesson has three cells of concept questions")
def test_all_questions_take_three_cells_text_answers_and_a_check_of_the_form(built):
    notebook = released(built)
    cells = [cell for cell in notebook.cells if "concept" in cell.source.lower()]
    text, answers, test = cells
    assert text.cell_type == "markdown" and not answers.metadata.nbgrader.locked
    assert answers.source == (
        '# Put "A", "B", "C" or "D" in place of each None.\n'
        "concept_01_1 = None\nconcept_01_2 = None\nconcept_01_A = None"
    )
    for name, number in zip(RIGHT, ("01.1", "01.2", "01.A"), strict=True):
        call = f'choice({name}, "{number}") in "ABCD"'
        assert f'expect("{number}: an answer, A to D", {call}, True)' in test.source
    assert test.metadata.nbgrader.points == 0 and test.metadata.nbgrader.locked
    assert "How large is it?\n\n- **A** · 7 m²\n- **B** · 14 m²" in text.source
    assert "read in 2026." in text.source and list(questions_in(notebook)) == [
        "01_1",
        "01_2",
        "01_A",
    ]


def test_the_block_stands_above_the_essay_with_minutes_that_count_for_the_lesson(built):
    sources = [cell.source for cell in released(built).cells]
    block = next(n for n, text in enumerate(sources) if text.startswith("## Concept questions"))
    essay = next(n for n, text in enumerate(sources) if text.startswith("## Reflect"))
    assert block < essay and sources[block].startswith("## Concept questions · 5 min\n")
    assert "Three questions" in sources[block] and "The questions earn no points." in sources[block]
    assert "About 40 min · 100 points and 10 for the essay" in sources[1]


def test_the_source_has_the_key_and_the_slips(built):
    notebook = nbformat.read(built.source(LESSON), as_version=4)
    assert 'concept_01_1 = "C"' in cell_of(notebook, "concept_01").source
    test = cell_of(notebook, "test_concept_01").source
    assert f"# about: {WHY}" in test and SLIP in test
    assert notebook.metadata[ORDERS] == dict.fromkeys(["01_1", "01_2", "01_A"], "ABCD")


def test_nothing_that_students_get_has_key_slip_or_reason(built):
    for path in (built.root / "release").rglob("*"):
        text = path.read_text(errors="ignore") if path.is_file() else ""
        assert path.name != "concepts.toml"
        assert SLIP not in text and WHY not in text and ORDERS not in text
        if path.suffix == ".py":
            assert "concept_" not in text


def test_a_seed_gives_the_class_another_order_and_the_key_goes_with_it(tmp_path):
    course = concept_course(tmp_path)
    keys = ((n, seeded_key(course.root, "build", n)) for n in range(99))
    seed = next(n for n, key in keys if QUESTIONS[0].order(key) == "CABD")
    build(course, [LESSON], seed=seed, audit="static")
    notebook, source = released(course), nbformat.read(course.source(LESSON), as_version=4)
    assert shown_letter(notebook, "01_1", "12 m²") == "A"
    assert shown_letter(notebook, "01_1", "none of these") == "D"
    assert 'concept_01_1 = "A"' in cell_of(source, "concept_01").source
    assert f"'{SLIP}': 'B'" in cell_of(source, "test_concept_01").source
    assert source.metadata[ORDERS]["01_1"] == "CABD"


def test_points_are_said_where_the_course_gives_them(tmp_path):
    course = concept_course(tmp_path)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/course.toml").write_text("[course]\nconcept_points = 1\n")
    build(course, [LESSON], audit="static")
    text = "".join(cell.source for cell in released(course).cells)
    assert "Each right answer is one point beside the lesson's." in text
    assert "100 points and 10 for the essay" in text
    (tmp_path / "private/course.toml").write_text("[course]\nconcept_points = 2\n")
    with pytest.raises(CourseError, match="concept_points must be 1 for a point"):
        build(course, [LESSON], audit="static")


def test_a_question_after_no_cell_is_refused(tmp_path):
    course = concept_course(tmp_path, CONCEPTS.replace('after = "circle"', 'after = "sphere"'))
    with pytest.raises(CourseError, match="question 01_2: after names sphere"):
        build(course, audit="static")


def test_a_lesson_without_questions_has_no_block(built):
    text = built.release("02_second").read_text()
    assert "concept" not in text.lower()


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("concepts.toml", "", "has the keys of concept questions"),
        ("notes.txt", f"remember: {SLIP.upper().lower()}", "a sentence on the answer to 01.1"),
        ("demos.py", f"# {WHY[:25]}\n# {WHY[26:]}", "a sentence on the answer to 01.1"),
    ],
)
def test_the_release_is_searched_for_what_tells(tmp_path, file, text, told):
    (tmp_path / file).write_text(text.replace("\n# ", "\n"))
    [sentence] = told_concepts(tmp_path, QUESTIONS, "release/01_first")
    assert sentence.startswith(f"release/01_first/{file}") and told in sentence


def test_an_answer_in_a_release_is_found(tmp_path):
    cells = [nbformat.v4.new_code_cell('concept_01_1 = "C"  # here'), nbformat.v4.new_code_cell(
        'concept_01_2 = None  # "A", "B", "C" or "D"'
    )]  # fmt: skip
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "x.ipynb")
    [sentence] = told_concepts(tmp_path, QUESTIONS, "release")
    assert 'x.ipynb shows students an answer: `concept_01_1 = "C"' in sentence


def plan_of(course):
    plan = prepare(course)
    whole = read_module(course.module(LESSON), LESSON)
    return whole, plan.taken[LESSON]


def test_a_track_without_the_section_drops_its_question(tmp_path):
    whole, taken = plan_of(concept_course(tmp_path))
    assert len(for_track(QUESTIONS, whole, taken)) == 3
    gone = dataclasses.replace(taken, gone=("2",))
    assert [each.id for each in for_track(QUESTIONS, whole, gone)] == ["01_1", "01_A"]


def test_audits_go_first_where_time_is_short(tmp_path):
    whole, taken = plan_of(concept_course(tmp_path))
    for cell in taken.lesson.notebook.cells:
        cell.source = cell.source.replace("· 10 min", "· 5 min").replace("· 25 min", "· 5 min")
    assert len(for_track(QUESTIONS, whole, taken)) == 3
    part = dataclasses.replace(taken, partial=True)
    assert [each.id for each in for_track(QUESTIONS, whole, part)] == ["01_1", "01_2"]


def test_check_counts_answers_and_never_says_which_is_right(built, tmp_path, monkeypatch, capfd):
    notebook = released(built)
    answers = cell_of(notebook, "concept_01")  # one is wrong, and small
    answers.source = answered(answers.source, {"concept_01_1": "a", "concept_01_2": "D"})
    folder = tmp_path / "release" / LESSON
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")
    shutil.copy(built.release(LESSON).parent / "lesson.json", folder)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "01"]) == 0
    said = capfd.readouterr().out
    assert "Concept questions: 2 of 3 answered; open: 01.A\n" in said
    assert "First of all" not in said and "right" not in said.lower()


def test_two_prices_are_no_formula(tmp_path):
    options = {"A": "$1", "B": "$2", "C": "$3", "D": "$4"}
    priced = dataclasses.replace(QUESTIONS[0], stem="$5 or $6?", options=options)
    lesson = add_concepts(read_lesson(tmp_path, FIRST), [priced], None)
    [text] = questions_in(lesson.notebook).values()
    assert re.findall(r"(.)\$(\d)", text) == [("\\", digit) for digit in "561234"]
