"""A lesson's guesses as pages for a lecture: for phones, on paper, as a table."""

import csv
import re

import nbformat
import pytest
from mini_course import make_course

from proflab_classroom.questions.guesses import asked_guesses
from proflab_classroom.questions.pages import GuessQuestion, guess_pages
from proflab_course.cli import main
from proflab_course.course.features import counted
from proflab_course.course.layout import Course

LESSON = "01_parameters"


def test_each_guess_has_its_question_and_says_how_to_answer():
    found = {q.name: q for q in asked_guesses(Course.find().source(LESSON))}
    first = found["guess_linear"]
    assert first.text.startswith("In each of its blocks, GPT-2 small widens 768 features")
    assert (first.section, first.hint) == ("A matrix and a bias", "a number of parameters")
    assert found["guess_seven_billion"].hint == "in GB of 1024³ bytes"


def test_every_guess_of_the_course_has_a_question_of_its_own():
    course = Course.find()
    lessons = counted(course.lessons("source"))
    texts = [q.text for name in lessons for q in asked_guesses(course.source(name))]
    assert len(texts) > 60 and len(set(texts)) == len(texts)
    assert not [text for text in texts if text[0].islower() or text[0] in ".,:"]
    assert all("?" in text for text in texts)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    assert main(["questions", "1", "--guesses", "-o", str(folder)]) == 0
    return folder


def test_the_pages_ask_for_nothing_from_elsewhere_and_send_nothing(pages):
    for path in pages.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "default-src 'none'" in page and "form-action 'none'" in page
        assert not re.search(r"""(?:src|href)=["'](?!#)""", page)
        assert page.count("two million, fifty million?") == 1


def test_the_table_has_the_names_of_the_questions(pages):
    rows = list(csv.reader((pages / "01-guesses.csv").open(newline="")))
    assert rows[0] == ["question", "guess", "count"] and rows[1] == ["guess_linear", "", ""]
    names = [q.name for q in asked_guesses(Course.find().source(LESSON))]
    assert list(dict.fromkeys(row[0] for row in rows[1:])) == names


def test_a_file_in_place_of_the_folder_is_a_sentence(tmp_path, capsys):
    (tmp_path / "pages").touch()
    assert main(["questions", "1", "--guesses", "-o", str(tmp_path / "pages")]) == 2
    said = capsys.readouterr().err
    assert f"there is a file in place of the folder {tmp_path}/pages: choose another" in said


def test_a_lesson_without_guesses_is_told(tmp_path, monkeypatch, capsys):
    course = make_course(tmp_path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 01 · First")])
    course.source("01_first").parent.mkdir(parents=True)
    nbformat.write(notebook, course.source("01_first"))
    monkeypatch.chdir(course.root)
    assert main(["questions", "1", "--guesses"]) == 2
    assert "asks for no guess" in capsys.readouterr().err


def test_what_a_lesson_says_is_text_on_the_pages():
    hostile = 'How many? <script>ran = 1</script><img src="http://x.example/a.png"> `<b>`'
    questions = [GuessQuestion('guess_"><script>', hostile, "<i>", "<u>in percent</u>")]
    for name, _, data in guess_pages("01_x", questions):
        if name.endswith(".html"):
            page = data.decode()
            assert "<script>ran" not in page and 'x.example/a.png"' not in page
            assert '_"><script>' not in page and "<u>" not in page
