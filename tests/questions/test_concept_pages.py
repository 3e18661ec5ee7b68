"""A lesson's concept questions as pages for a lecture, in the letters of the class's release."""

import csv
import html
import io
import re
import zipfile
from xml.etree import ElementTree

import pytest
from concept_class import CONCEPTS, ORDER, answer, with_concepts
from grading_course import LESSON, ROOT, copy_course
from page_text import text_of

from proflab_classroom.items.quizzes import as_gift, as_qti
from proflab_classroom.questions.asked import Asked, asked_concepts, inline
from proflab_classroom.questions.concepts_file import parse_concepts, read_concepts
from proflab_classroom.questions.pages import concept_pages
from proflab_classroom.questions.peer import advice
from proflab_course.cli import main
from proflab_course.course.answer_cells import ORDERS
from proflab_course.course.layout import Course, CourseError


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return with_concepts(copy_course(tmp_path_factory.mktemp("concepts"), []))


@pytest.fixture(scope="module")
def pages(course):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(course.root)
        for words in ([], ["--gift"], ["--qti"]):
            assert main(["questions", "1", *words, "-o", "pages"]) == 0
    return course.root / "pages"


def test_letters_are_those_of_the_release(course):
    first, second, audit = asked_concepts(course, LESSON)
    assert [o.text for o in first.options] == ["1,154", "73,856", "1,280", "1,216"]
    assert (first.key, second.key, audit.key) == ("C", "C", "B")
    assert [first.shown(letter) for letter in "ABCD"] == ["B", "C", "A", "D"]
    assert [o.slip for o in first.options if o.home == "A"] == ["groups are ignored"]
    assert (first.label, audit.label) == ("Question 01.1", "Audit 01.A")


def test_a_question_that_the_build_left_out_is_not_asked(tmp_path):
    course = with_concepts(copy_course(tmp_path, []), {"01_2": "BCAD"})
    assert [each.id for each in asked_concepts(course, LESSON)] == ["01_2"]


def test_before_a_build_the_letters_are_those_of_the_file(tmp_path):
    course = with_concepts(copy_course(tmp_path, []))
    path = course.source(LESSON)
    path.write_text(path.read_text().replace(ORDERS, "other"))
    assert [each.order for each in asked_concepts(course, LESSON)] == ["ABCD"] * 3


def test_the_page_to_show_and_the_sheet_have_no_key(pages):
    for name in ("01.html", "01-paper.html"):
        page = (pages / name).read_text(encoding="utf-8")
        text = text_of(page)
        assert "Question 01.1" in text and "1,154" in text and "Two pages" in text
        assert "✓" not in page and "groups are ignored" not in text
        assert "its own group" not in text and "conv2d_parameters" not in text


def test_the_pages_need_nothing_from_elsewhere(pages):
    for path in pages.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert "default-src 'none'" in page and "form-action 'none'" in page
        assert not re.search(r"""(?:src|href)=["'](?!#)""", page)


def test_the_sheet_has_four_letters_to_tear_off_for_each_question(pages):
    page = (pages / "01-paper.html").read_text(encoding="utf-8")
    assert "size: A5" in page
    assert re.findall(r"<span><b>([A-D])</b>([\d.A]+)</span>", page) == [
        (letter, number) for number in ("01.1", "01.2", "01.A") for letter in "ABCD"
    ]


def test_the_key_page_has_key_line_value_slips_and_reason(pages):
    text = text_of((pages / "01-key.html").read_text(encoding="utf-8"))
    assert "Question 01.1: C" in text and "C 1,280 ✓" in text
    assert "B 73,856 · groups are ignored" in text
    assert "conv2d_parameters(64, 128, 3, groups=64) # 1280" in text
    assert "(497.76, 474.7)" in text
    assert "Why. A tensor is stored once" in text
    assert "Below 30 % right, explain. From 30 % to 70 %" in text
    assert "This class" not in text  # nothing is graded


def test_the_key_page_has_p_of_a_class_that_is_graded(tmp_path, monkeypatch):
    course = with_concepts(copy_course(tmp_path, []))
    answer(course, {"ann": {"01_1": "B"}, "bob": {"01_1": "C"}})
    monkeypatch.chdir(course.root)
    scores = {"ann": {"auto": 90.0}, "bob": {"auto": 50.0}}
    book = "proflab_course.grading.records.gradebook.Book.scores"
    monkeypatch.setattr(book, lambda self, lesson: scores)
    assert main(["questions", "1"]) == 0
    text = text_of((course.root / "reports" / "01-key.html").read_text(encoding="utf-8"))
    assert text.count("This class, in the notebook: 2 answers, p 0.50 (0.09 to 0.91), r –.") == 1


def test_the_table_to_fill_in_has_both_rounds_of_each_question(pages):
    rows = list(csv.reader((pages / "01-votes.csv").open(newline="")))
    assert rows[0] == ["question", "round", "A", "B", "C", "D"]
    assert [row[:2] for row in rows[1:]] == [[name, n] for n in "12" for name in ORDER]


def test_quizzes_have_prose_as_prose_and_the_right_key(pages):
    gift = (pages / "01.gift.txt").read_text(encoding="utf-8")
    assert "=1,280\n" in gift and "~73,856#groups are ignored" in gift and "####A filter" in gift
    with zipfile.ZipFile(pages / "01.qti.zip") as package:
        item = package.read(f"concepts_{LESSON}/concepts_{LESSON}.xml").decode()
    first = item.partition("</item>")[0]
    key = re.search(r'<respcondition continue="No">.*?<varequal[^>]*>(\w+)<', first, re.S)[1]
    assert re.search(rf'ident="{key}">\s*<material><mattext[^>]*>1,280<', first)


WITH_QUESTIONS = [name for name in Course(ROOT).lessons() if read_concepts(Course(ROOT), name)]
QTI = {"q": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}
PACKAGE = {"p": "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"}


@pytest.mark.parametrize("lesson", WITH_QUESTIONS)
def test_canvas_finds_each_question_of_a_lesson_with_its_one_right_option(lesson):
    """By the paths that Canvas's own reader of QTI 1.2 looks for (instructure/qti, lib/qti/v1)."""
    asked = asked_concepts(Course(ROOT), lesson)
    package = as_qti(lesson, [each.as_question() for each in asked], "concepts")
    with zipfile.ZipFile(io.BytesIO(package)) as files:
        manifest = ElementTree.fromstring(files.read("imsmanifest.xml"))
        [file] = manifest.iterfind(".//p:resource[@type='imsqti_xmlv1p2']/p:file", PACKAGE)
        items = [*ElementTree.fromstring(files.read(file.get("href"))).iterfind(".//q:item", QTI)]
    assert len(items) == len(asked)
    for item, each in zip(items, asked, strict=True):
        [response] = item.iterfind(".//q:response_lid", QTI)
        assert response.get("rcardinality") == "Single"
        labels = {
            label.get("ident"): label.findtext(".//q:mattext", namespaces=QTI)
            for label in response.iterfind(".//q:response_label", QTI)
        }
        right = [
            condition.findtext(".//q:varequal", namespaces=QTI)
            for condition in item.iterfind(".//q:respcondition", QTI)
            if float(condition.findtext(".//q:setvar", "0", QTI)) > 0
        ]
        options = [re.sub(r"<[^>]*>", "", html.unescape(text)) for text in labels.values()]
        assert options == [option.text.replace("`", "") for option in each.options]
        assert [[*labels].index(name) for name in right] == ["ABCD".index(each.key)]
        slips = [option.slip.replace("`", "") for option in each.options]
        assert told(item, [*labels]) == (slips, each.concept.why.replace("`", ""))


def told(item, labels):
    """Return what Canvas says to each answer, and to all: misconceptions, and the reason."""
    texts = {
        each.get("ident"): re.sub(
            r"<[^>]*>", "", html.unescape(each.findtext(".//q:mattext", "", QTI))
        )
        for each in item.iterfind(".//q:itemfeedback", QTI)
    }
    found = {}
    for condition in item.iterfind(".//q:respcondition", QTI):
        shown = condition.find(".//q:displayfeedback", QTI)
        if shown is not None:
            answer = condition.findtext(".//q:varequal", "all", QTI)
            found[answer] = texts[shown.get("linkrefid")]
    return [found.get(name, "") for name in labels], found.get("all", "")


@pytest.mark.parametrize("lesson", WITH_QUESTIONS)
def test_moodle_finds_each_question_with_one_right_and_three_wrong_options(lesson):
    """GIFT's own characters, where no backslash stands before them."""
    asked = asked_concepts(Course(ROOT), lesson)
    text = as_gift(lesson, [each.as_question() for each in asked])
    bare = re.sub(r"\\.", "", text.partition("\n")[2])
    blocks = re.findall(r"::[^:]*::\[html\][^{}]*\{([^{}]*)\}", bare)
    assert len(blocks) == len(asked) == bare.count("{") == bare.count("}")
    for block in blocks:
        signs = [line[0] for line in block.strip().splitlines() if not line.startswith("####")]
        assert sorted(signs) == ["=", "~", "~", "~"]


def test_an_option_is_a_line_of_text_whatever_it_begins_with():
    assert inline("- 3 `a<b`") == "- 3 <code>a&lt;b</code>"
    assert inline("10") == "10" and inline("1. x") == "1. x" and inline("# x") == "# x"
    assert "<script" not in inline("<script>x</script>") and "<img" not in inline("![x](//y/z.png)")


def test_hostile_text_is_text_on_all_pages():
    bad = "<script>ran = 1</script>"
    text = CONCEPTS.replace('"73,856"', f'"{bad}"').replace("groups are ignored", bad)
    text = text.replace("A filter reads", bad)
    asked = [Asked(each) for each in parse_concepts(text.encode(), LESSON)]
    for name, _, data in concept_pages(LESSON, asked, {}):
        assert b"<script>ran" not in data, name


def test_a_lesson_without_questions_is_told(tmp_path, monkeypatch, capsys):
    course = copy_course(tmp_path, [])
    monkeypatch.chdir(course.root)
    assert main(["questions", "1"]) == 2
    assert "01_parameters has no concept questions; --guesses" in capsys.readouterr().err
    with_concepts(course).module(LESSON).with_name("concepts.toml").write_text("[[question]]\n")
    with pytest.raises(CourseError, match="concepts.toml, question number 1"):
        asked_concepts(course, LESSON)


@pytest.mark.parametrize(
    ("share", "first"),
    [(0.0, "Below 30 %"), (0.29, "Below 30 %"), (0.3, "From 30 %"), (0.7, "From"), (0.71, "Above")],
)
def test_what_follows_a_vote(share, first):
    assert advice(share).startswith(first)
