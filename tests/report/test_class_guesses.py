"""Guesses in handed-in notebooks: read with distrust, kept, and shown beside the answers."""

from __future__ import annotations

import json
import re

import nbformat
import pytest
from grading_course import LESSON, copy_course, grade, hand_in, solved
from nbformat.v4 import new_code_cell, new_output

from proflab.lesson.guesses import MIME
from proflab_course.grading.answer_key import make_key
from proflab_course.grading.submissions.read_guesses import Guess, read_guesses
from proflab_course.grading.submissions.read_notebook import parse_handin
from proflab_course.report.class_guesses import number, predictions
from proflab_course.report.lesson_page import read_summary, render
from proflab_course.report.term_page import read_term

ASKED = """
from proflab.lesson import guesses
guesses.compare("weights of the layer", 1, 2_359_296)
guesses.compare(f"peak of {1 + 1} ops", 1, 2, unit="MB")
guesses.compare("the largest part", "linear", "embedding")
guesses.compare("L2 over memory", 3, 4.56, document={"constructed": True})
"""


def record(what, guess, answer, unit=""):
    return {"what": what, "guess": guess, "answer": answer, "unit": unit}


def with_records(*records):
    """A right notebook, in a cell of which these were recorded."""
    outputs = [new_output("display_data", {"text/plain": "", MIME: each}) for each in records]
    notebook = solved()
    notebook.cells.append(new_code_cell("...", outputs=outputs))
    return notebook


def test_the_last_guess_of_each_name_counts():
    notebook = with_records(record("a", 1, 3, "ms"), record("b", None, 2.5), record("a", 2, 3, "s"))
    found = parse_handin(nbformat.writes(notebook), "x").guesses
    assert found == (Guess("a", 2, 3, "s"), Guess("b", None, 2.5))


HOSTILE = [
    record("", 1, 2), record(7, 1, 2), record("no answer", 1, None), record("a flag", 1, True),
    record("endless", 1, float("inf")), record("large", 1, 10**400),
    record("none", 1, float("nan")),
    record("a list", 1, [1]), {"what": "bare"}, [], "text", None, 3,
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda record: str(record)[:40])
def test_what_is_no_guess_is_left_out(hostile):
    cells = [{"outputs": [{"data": {MIME: hostile}}]}]
    assert read_guesses(json.loads(json.dumps(cells))) == []


def test_guesses_are_few_and_short_and_no_shape_of_a_notebook_raises():
    many = [
        {"data": {MIME: record(f"{n}" * 300, "\ud800" * 300, "y" * 300, "z" * 300)}}
        for n in range(500)
    ]
    found = read_guesses([{"outputs": many}] * 3)
    assert len(found) == 60
    assert {(len(g.what), len(g.guess), len(g.answer), len(g.unit)) for g in found} == {
        (100, 100, 100, 20)
    }
    json.dumps([vars(guess) for guess in found]).encode()
    odd = [None, [], {}, {"outputs": None}, {"outputs": [None, {}, {"data": []}]}]
    assert read_guesses(odd) == []
    assert read_guesses([{"outputs": [{"data": {MIME: record("x", True, 2)}}]}]) == [
        Guess("x", None, 2)
    ]


@pytest.mark.parametrize("mark", [{"assumed": True}, {"failing": ["count"]}])
def test_answers_that_judge_nobody_are_left_out(mark):
    cells = [{"outputs": [{"data": {MIME: record("L2 over memory", 3, 4.56) | mark}}]}]
    assert read_guesses(cells) == []


def test_the_first_guess_counts_and_how_it_was_made(tmp_path):
    kept = {"name": "guess_a", "first": 2, "n": 3, "edited": True}
    hidden = {"name": "guess_b", "withheld": True}
    skipped = record("c", 7, 5) | {"name": "guess_c", "first": "skip", "n": 2}
    notebook = with_records(record("a", 9, 3, "ms") | kept, hidden, skipped)
    notebook.cells.append(new_code_cell('guess_a = 9\noverlooked_a = "the <bias>"  # mine'))
    a, b, c = parse_handin(nbformat.writes(notebook), "x").guesses
    assert a == Guess("a", 2, 3, "ms", "guess_a", n=3, edited=True, overlooked="the <bias>")
    assert (b.name, b.state, b.guess) == ("guess_b", "withheld", None)
    assert (c.guess, c.state) == (None, "skipped")


@pytest.mark.parametrize(
    "kept", [{"n": -1}, {"n": True}, {"n": 10**9}, {"n": "2"}, {"name": ["x"]}, {"edited": "yes"}]
)
def test_a_forged_record_of_tries_counts_as_none(kept):
    cells = [{"outputs": [{"data": {MIME: record("a", 1, 2) | kept}}]}]
    assert read_guesses(json.loads(json.dumps(cells))) == [Guess("a", 1, 2)]


def asking(notebook):
    notebook.cells.append(new_code_cell(ASKED, metadata={"tags": ["demo"]}))
    return notebook


def test_the_lesson_says_which_predictions_there_are():
    key = make_key(LESSON, asking(solved()))
    found = predictions(key, [[Guess("made up <b>", 1, 2), Guess("peak of 2 ops", 3, 2, "MB")]])
    assert [p.name for p in found if p.name in ASKED or "…" in p.name] == [
        "weights of the layer",
        "peak of … ops",
        "the largest part",
    ]
    assert [(p.name, p.made) for p in found if p.made] == [("peak of … ops", 1)]


def test_a_prediction_is_known_by_the_name_of_its_guess():
    source = 'what, unit = "a step", "ms"\nguesses.compare(what, guess_step, 3, unit)'
    notebook = solved()
    notebook.cells.append(new_code_cell(source, metadata={"tags": ["demo"]}))
    key = make_key(LESSON, notebook)
    hand_ins = [
        [Guess("another name", 2, 3, "ms", "guess_step", n=2)],
        [Guess("another name", None, 3, "ms", "guess_step", "skipped", n=2)],
        [Guess("", None, "", name="guess_step", state="withheld")],
        [Guess("a step", 6, 3, "ms")],  # of an older release
    ]
    found = next(p for p in predictions(key, hand_ins) if p.guess == "guess_step")
    assert (found.name, found.made, found.shown, found.skipped, found.again) == (
        "a step",
        2,
        4,
        1,
        1,
    )
    assert found.quartiles == pytest.approx([1.0, 4 / 3, 5 / 3])


@pytest.mark.parametrize("measured", [True, False])
def test_a_prediction_that_only_a_constructed_document_answers_is_no_row(measured):
    key = make_key(LESSON, asking(solved()))
    hand_ins = [[Guess("L2 over memory", 3, 4.56)]] if measured else [[]]
    found = [p.name for p in predictions(key, hand_ins)]
    assert ("L2 over memory" in found) == measured
    assert "weights of the layer" in found


def test_figures_are_medians_and_quartiles_of_guess_over_answer():
    key = make_key(LESSON, asking(solved()))
    guessed = (1, 10, 100, 1000, -5, None)
    hand_ins = [[Guess("peak of 2 ops", n, 10, "MB")] for n in guessed]
    peak = next(p for p in predictions(key, hand_ins) if p.name == "peak of … ops")
    assert (peak.made, peak.shown, peak.median, peak.answer) == (5, 6, "10 MB", "10 MB")
    assert peak.quartiles == [0.775, 5.5, 32.5]
    assert peak.spread == "5.5 (half of them from 0.775 to 32.5)"
    assert peak.places == pytest.approx([47.23, 68.51, 87.8], abs=0.01)
    assert [number(n) for n in (0.12345, 3, 45.67, 1234.5, 1e20)] == [
        "0.123",
        "3",
        "45.7",
        "1,234",
        "1e+20",
    ]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class of four, in a lesson that asks for three predictions."""
    course = copy_course(tmp_path_factory.mktemp("guesses"), [])
    place = course.source(LESSON)
    nbformat.write(asking(nbformat.read(place, as_version=4)), place)
    weights, part = "weights of the layer", "the largest part"
    hand_in(course, "ann", with_records(record(weights, 2e6, 2_359_296), record(part, "x", "y")))
    first = record(weights, 2_359_296, 2_359_296) | {"first": 1e6, "n": 2, "edited": True}
    bobs = with_records(first | {"name": "guess_weights"}, record(part, "Y ", "y"))
    bobs.cells.append(new_code_cell('overlooked_weights = "the third factor <u>"'))
    hand_in(course, "bob", bobs)
    hand_in(course, "cyd", with_records(record(weights, None, 2_359_296), record("<i>", 1, 1)))
    hand_in(course, "dan", solved())
    grade(course)
    return course


@pytest.mark.parametrize("public", [False, True])
def test_the_report_shows_guesses_beside_answers(course, public):
    page = render(read_summary(course, LESSON, public))
    rows = re.findall(r"<tr><td>(weights of the layer|the largest part)</td>(.*?)</tr>", page, re.S)
    text = {name: " ".join(re.sub(r"<[^>]*>", " ", row).split()) for name, row in rows}
    assert text["weights of the layer"].startswith("2 of 3 1 1,500,000 2,359,296 0.636 (half of")
    assert text["the largest part"] == "2 of 2 1 of 2 guessed right"
    assert "1 was followed by another value, and the record of 1 was edited." in page
    assert ("the third factor &lt;u" in page) != public
    assert "&lt;i&gt;" not in page
    assert re.search(r'class="spread" role="img" aria-label="guess / answer: 0.636', page)


def test_on_the_terms_page_half_is_as_far_off_as_twice(course):
    [found] = read_term(course).guesses  # 2 and 1 million, where it is 2.36
    assert (found.count, found.near) == (2, 0.5)
    assert found.factor == pytest.approx(0.75 * 2.359296)


def test_guesses_follow_the_hand_in(course):
    hand_in(course, "bob", with_records(record("weights of the layer", 4e6, 2_359_296)))
    grade(course)
    summary = read_summary(course, LESSON)
    weights = next(p for p in summary.predictions if p.name == "weights of the layer")
    assert sorted(weights.guesses) == [2e6, 4e6]
    hand_in(course, "bob", solved())
    grade(course)
    summary = read_summary(course, LESSON)
    weights = next(p for p in summary.predictions if p.name == "weights of the layer")
    assert weights.guesses == [2e6]


def test_a_class_that_cleared_its_outputs_gets_a_sentence_in_place_of_empty_rows(tmp_path):
    course = copy_course(tmp_path, [])
    hand_in(course, "dan", solved())
    grade(course)
    page = render(read_summary(course, LESSON))
    assert "No notebook keeps an answer beside its guess: the outputs were cleared" in page
    assert "0 of 0" not in page and "Predictions of the class" not in page
