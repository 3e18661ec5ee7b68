"""Decks by themselves: printed pages, wide lines, and words about a notebook's cells."""

import re
from itertools import pairwise

import pytest
from site_pages import COURSE, LESSONS, SITE

PAPER_EM = 294 / 25.4 * 72 / 22  # a slide's width on paper, in letters' heights of 22 pt
LETTER_EM = 0.61  # the width of a letter in a fixed pitch


@pytest.fixture
def slides(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    import slides

    return slides


def test_a_deck_is_printed_a_slide_a_page(slides, tmp_path, monkeypatch):
    deck = slides.deck(COURSE, LESSONS[0], [])
    page, pdf = slides.write_deck(deck, tmp_path / "deck.html")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == len(deck)
    monkeypatch.setattr(slides.chromium, "find", lambda: None)
    assert slides.write_deck(deck, tmp_path / "alone.html") == [tmp_path / "alone.html"]


@pytest.mark.parametrize("columns, smaller", [(60, False), (82, True), (100, True)])
def test_a_printed_line_fits_a_slide(slides, columns, smaller):
    outputs = [[{"text": "x" * columns}]] * 40  # of each demo cell
    bodies = [each.body for each in slides.deck(COURSE, LESSONS[4], outputs)]
    sizes = [float(em) for body in bodies for em in re.findall(r"<pre style=.*?: ([\d.]+)em", body)]
    assert sizes and all((em < 0.8) is smaller for em in sizes)
    assert all(em * columns * LETTER_EM <= PAPER_EM for em in sizes)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_slide_speaks_of_no_other_cell(slides, lesson):
    outputs = [[{"text": "1"}]] * 40
    for slide in slides.deck(COURSE, lesson, outputs):
        if slide.kind in ("predict", "shown"):
            assert not re.search(r"next cell|(?:cell|picture) (?:above|below)", slide.body)


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_first_slide_has_the_lessons_picture_and_its_note_the_first_words(slides, lesson):
    title = slides.deck(COURSE, lesson, [])[0]
    assert "<img" in title.body and "Open in the browser" not in title.body + title.note
    assert re.search(r"[.?]$", title.note) and "](" not in title.note


def test_each_note_is_its_slides_own(slides):
    outputs = [[{"text": f"ratio: {number} (you made no guess)"}] for number in range(40)]
    decks = [slides.deck(COURSE, lesson, outputs) for lesson in LESSONS]
    notes = [slide.note for deck in decks for slide in deck]
    assert len(set(notes)) == len(notes) > 100


def test_a_note_says_what_to_collect_what_came_out_and_which_slip_to_ask_about(slides):
    outputs = [[{"text": f"ratio: {number} (you made no guess)"}] for number in range(40)]
    goals, asks, shows = slides.deck(COURSE, LESSONS[2], outputs)[1:4]
    assert "goal 1 by `Timer`, `calibrate`, `measure_latency`;" in goals.note
    assert "Everybody writes down the answer (*slowest call / fastest call*);" in asks.note
    assert asks.note.endswith("Then turn: ratio: 1.") and "ratio: 1<" in shows.body
    assert "this slip in `Timer` would change here: *time.time can be set back" in shows.note


def test_a_note_asks_for_each_of_two_guesses_by_itself(slides):
    outputs = [[{"text": f"ratio: {number} (you made no guess)"}] for number in range(40)]
    notes = [slide.note for slide in slides.deck(COURSE, LESSONS[3], outputs)]
    asked = "the answers (*MB of parameters, gradients and state* and *images in the batch*);"
    assert sum(asked in note for note in notes) == 1


def test_the_last_note_lists_the_concept_questions_by_what_they_ask(slides):
    *_, last = slides.deck(COURSE, LESSONS[2], [])
    assert re.findall(r"03\.\w", last.note) == ["03.1", "03.2", "03.3", "03.A"]
    assert "03.2, What makes such an interval keep its promise? ·" in last.note


def test_thousands_stand_apart_in_text_and_nothing_changes_in_a_tag(slides):
    shown = slides._with_thin_spaces('<i alt="1,024">1,024.5 of 12,345,678; f(1,2) 1,0245</i>')
    assert shown == '<i alt="1,024">1\u202f024.5 of 12\u202f345\u202f678; f(1,2) 1,0245</i>'


def test_two_predictions_of_one_text_are_each_followed_by_their_answer(slides):
    outputs = [[{"text": f"answer {number}"}] for number in range(40)]
    deck = slides.deck(COURSE, LESSONS[11], outputs)
    heads = {"latent attention alone": "", "outweigh the weights": ""}
    for slide, then in pairwise(deck):
        for words in heads:
            if slide.kind == "predict" and words in slide.body:
                heads[words] = then.kind == "shown" and then.body
    assert all(heads.values()) and len(set(heads.values())) == 2
