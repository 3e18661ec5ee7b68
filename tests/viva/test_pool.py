"""Pools, read as the platforms read them, have stem, options and one key for each question."""

import re
import zipfile
from dataclasses import replace
from io import BytesIO
from xml.etree import ElementTree

import pytest
from viva_class import LESSON, Local, make_course

from proflab_classroom.items.quizzes import as_gift, as_qti
from proflab_classroom.viva.command import Lesson, pool_questions
from proflab_classroom.viva.questions import SheetQuestion
from proflab_course.grading.answer_key import read_key

NASTY = SheetQuestion(
    "f",
    "For which of `f` ~ {x: 1} # = \\ <b>?",
    ("f({1: 2})", "a = '<i>'\nf(a)", "f('~#=')"),
    1,
    text="def f(x):\n    return x == {'a': 1}  # no\n",
    results=("yours: 1", "yours: 2; the other: 3", "yours: 4"),
    kind="tell",
)


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("pool"), {})
    lesson = Lesson(course, read_key(course.source(LESSON)))
    lesson.secret = bytes(32)
    return [*pool_questions(lesson, Local(), "1"), NASTY]


def read_gift(text):
    """Return (title, stem, [(is right, option, feedback)]) of each question, as Moodle does."""
    found = []
    for part in re.split(r"\n\s*\n", text):
        if not part.strip() or part.startswith(("//", "$CATEGORY")):
            continue
        signs = "~=#{}:"
        held = re.sub(r"\\(.)", lambda m: chr(0xE000 + ord(m[1])), part.strip())
        free = re.fullmatch(r"::(.*?)::\[html\](.*?)\{(.*)\}", held, re.S)
        assert free, part
        assert not any(sign in free[2] for sign in signs)
        answers = re.findall(r"([=~])([^=~#]*)(?:#([^=~#]*))?", free[3])
        plain = [
            re.sub(r"[\ue000-\ue0ff]", lambda m: chr(ord(m[0]) - 0xE000), each).strip()
            for each in (free[1], free[2], *(cell for answer in answers for cell in answer))
        ]
        rows = [plain[n : n + 3] for n in range(2, len(plain), 3)]
        found.append((plain[0], plain[1], [(s == "=", o, f) for s, o, f in rows]))
    return found


def test_gift_has_each_question_with_one_right_option(questions):
    read = read_gift(as_gift(LESSON, questions))
    assert len(read) == len(questions) >= 4
    for question, (title, stem, options) in zip(questions, read, strict=True):
        assert title.endswith(question.name)
        assert [right for right, _, _ in options].index(True) == question.key
        assert sum(right for right, _, _ in options) == 1
        assert len(options) == len(question.options)
        assert stem.startswith("<p>")


def test_gift_keeps_the_characters_that_mean_something_to_it(questions):
    _, stem, options = read_gift(as_gift(LESSON, [NASTY]))[0]
    assert "~ {x: 1} # = \\ &lt;b&gt;?" in stem
    assert "return&nbsp;x&nbsp;==&nbsp;{&#x27;a&#x27;:&nbsp;1}" in stem
    assert options[0][1:] == ("<code>f({1: 2})</code>", "yours: 1")
    assert options[1][1] == "<code>a = &#x27;&lt;i&gt;&#x27;<br>f(a)</code>"


def test_qti_is_a_package_of_items_with_one_key_each(questions):
    data = as_qti(LESSON, questions)
    assert data == as_qti(LESSON, questions)
    with zipfile.ZipFile(BytesIO(data)) as package:
        manifest = ElementTree.fromstring(package.read("imsmanifest.xml"))
        (resource,) = manifest.findall(".//{*}resource")
        assert resource.get("type") == "imsqti_xmlv1p2"
        (file,) = resource.findall(".//{*}file")
        items = list(ElementTree.fromstring(package.read(file.get("href"))).findall(".//{*}item"))
    assert len(items) == len(questions)
    names = [label.get("ident") for item in items for label in item.findall(".//{*}response_label")]
    assert len(names) == len(set(names))
    for question, item in zip(questions, items, strict=True):
        fields = [entry.text for entry in item.findall(".//{*}fieldentry")]
        assert "multiple_choice_question" in fields
        labels = [label.get("ident") for label in item.findall(".//{*}response_label")]
        (right,) = [
            condition.findtext(".//{*}varequal")
            for condition in item.findall(".//{*}respcondition")
            if condition.find("{*}setvar") is not None
        ]
        assert labels.index(right) == question.key
        (score,) = item.findall(".//{*}setvar")
        assert score.text == "100"


def test_a_control_character_leaves_qti_well_formed():
    """A student's own string may hold what no XML may."""
    odd = replace(NASTY, stem="\x00 \x0b\ufffe \ud800", options=("'\x1b'", "'\x07'", "'ok'"))
    with zipfile.ZipFile(BytesIO(as_qti(LESSON, [odd]))) as package:
        for name in package.namelist():
            ElementTree.fromstring(package.read(name))


def test_a_pool_asks_only_which_input_tells_and_each_key_holds(questions):
    assert {q.kind for q in questions} == {"tell"}
    assert "does a right one give another result" in questions[0].stem
