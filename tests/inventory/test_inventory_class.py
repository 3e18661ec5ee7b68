"""A class takes the inventory: its notebooks, who takes which form, grading, report and export."""

import csv
import io
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from chosen import chosen
from grading_course import command, warm_runner
from inventory_class import hand_in, simulated
from mini_course import make_course

from proflab_classroom.inventory.answers import Half, literals, read_halves
from proflab_classroom.inventory.items import (
    AFTER,
    BEFORE,
    FILE,
    HALVES,
    form_for,
    of_form,
    read_inventory,
)
from proflab_classroom.inventory.page import lessons_had, read_report, render_inventory
from proflab_classroom.inventory.table import COLUMNS, anonymised, table
from proflab_course.build.command import strangers
from proflab_course.course.layout import Course, CourseError
from proflab_course.grading.command import grade_class
from proflab_course.grading.records.gradebook import Book

ROOT = Path(__file__).parents[2]
ROSTER = "id,first_name,last_name,email\n" + "".join(
    f"s{n:03},Ann{n},Lee{n},s{n}@example.org\n" for n in range(40)
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A course that has built the inventory, with a class list."""
    course = make_course(tmp_path_factory.mktemp("inventory"))
    shutil.copy(ROOT / "modules" / FILE, course.root / "modules")
    (course.root / "students.csv").write_text(ROSTER)
    done = command(course, "proflab", "build", "inventory", "--per-student", "students.csv")
    assert done.returncode == 0, done.stderr
    return course


@pytest.fixture(scope="module")
def class_of_40(built, tmp_path_factory):
    """The course with a class of 40 in autograded/, as grading leaves it; the halves, too."""
    root = tmp_path_factory.mktemp("graded") / "course"
    shutil.copytree(built.root, root)
    items = read_inventory(built)
    halves = simulated(items, 40, 1, 9, lambda student: form_for(root, student, "before"))
    for half in halves:
        hand_in(root, items, half, "autograded")
    return root, halves


@pytest.fixture
def graded(class_of_40, tmp_path):
    """A copy of that class, which a test may change."""
    root, halves = class_of_40
    return Course(shutil.copytree(root, tmp_path / "course")), halves


def notebooks(course):
    return sorted((course.root / "release").glob("*_inventory/form_*/*.ipynb"))


# ── what students get ────────────────────────────────────────────────────────────────────────


def test_each_half_has_a_notebook_of_each_form_with_the_form_s_items(built):
    assert len(notebooks(built)) == 4
    items = read_inventory(built)
    for path in notebooks(built):
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells)
        form = int(path.parent.name[-1])
        for item in items:
            assert (item.stem in text) == (item.form == form)
            assert (f"answer_{item.id} = None" in text) == (item.form == form)
            if item.form == form:
                question = next(cell.source for cell in cells if item.stem in cell.source)
                for seen, letter in item.shown.items():
                    assert f"- **{seen}** · {item.options[letter]}" in question
        assert "consent = None  # True or False" in text
        assert all(not cell.get("outputs") for cell in cells)


def test_no_key_slip_or_line_is_in_a_release_or_source(built):
    files = [p for s in ("source", "release") for p in (built.root / s).rglob("*") if p.is_file()]
    text = "\n".join(path.read_text() for path in files)
    assert len(files) >= 6
    for item in read_inventory(built):
        told = [s for s in item.slips.values() if len(s.split()) > 3]
        assert not [each for each in (item.line, item.rule, *told) if each in text]


def test_a_notebook_needs_only_what_a_student_has(built):
    code = [
        cell.source
        for path in notebooks(built)
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    ]
    imports = {line for source in code for line in source.splitlines() if "import" in line}
    assert imports == {"from proflab.lesson import expect"}


def test_the_default_build_makes_no_inventory_and_does_not_mind_it(built):
    assert BEFORE not in Course(ROOT).lessons()
    assert not [path for path in strangers(built) if "inventory" in path]


def test_the_list_has_a_form_for_each_student_and_then_the_other_one(built):
    rows = list(csv.DictReader(io.StringIO((built.root / "private/inventory.csv").read_text())))
    assert [row["id"] for row in rows][:2] == ["s000", "s001"]
    assert rows[0]["name"] == "Ann0 Lee0"
    assert all({row["before"], row["after"]} == {"1", "2"} for row in rows)
    assert all(int(row["before"]) == form_for(built.root, row["id"], "before") for row in rows)
    assert 10 <= sum(row["before"] == "1" for row in rows) <= 30


def test_building_again_gives_the_same_bytes(built):
    before = {path: path.read_bytes() for path in notebooks(built)}
    assert command(built, "proflab", "build", "inventory").returncode == 0
    assert {path: path.read_bytes() for path in notebooks(built)} == before


@pytest.mark.parametrize("words", [["--check"], ["--seed", "1"], ["01"]])
def test_the_inventory_is_built_alone(built, words):
    done = command(built, "proflab", "build", "inventory", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "takes --per-student ROSTER and nothing else" in done.stderr


# ── what is graded ───────────────────────────────────────────────────────────────────────────


def test_both_forms_are_graded_like_a_lesson_and_earn_nothing(built, tmp_path):
    root = tmp_path / "course"
    shutil.copytree(built.root, root)
    course, items = Course(root), read_inventory(built)
    halves = [
        Half(f"s{form}", "before", form, True, {i.id: i.key for i in own}, dict.fromkeys(sure, 2))
        for form, own, sure in [
            (1, of_form(items, 1), [item.id for item in of_form(items, 1)]),
            (2, of_form(items, 2), []),
        ]
    ]
    halves.append(Half("open", "before", 2, False, {"01b": "C"}, {"01b": 4}))
    for half in halves:
        hand_in(root, items, half)
    rows = {row.student: row for row in grade_class(course, BEFORE, warm_runner(), progress=False)}
    assert {student: row.status for student, row in rows.items()} == dict.fromkeys(rows, "graded")
    assert all(row.score == row.max_score == 0 for row in rows.values())
    assert not any(row.sentence for row in rows.values())
    assert {half.student: half for half in read_halves(course, items)} == {
        half.student: half for half in halves
    }
    with Book(course.gradebook) as book:
        cases = {c.label: c.passed for c in book.outcome(BEFORE, "open").cases}
        whole = {c.label: c.passed for c in book.outcome(BEFORE, "s1").cases}
        unsure = {c.label: c.passed for c in book.outcome(BEFORE, "s2").cases}
    assert whole == {"still open": True}
    assert cases == unsure == {"still open": False}
    done = command(course, "proflab", "report")
    assert "no lesson is graded yet" in done.stderr


def test_only_literals_count_and_nothing_is_executed():
    assert literals("answer_01a = 'B'\nsure_01a = 3  # sure\nconsent = True") == {
        "answer_01a": "B",
        "sure_01a": 3,
        "consent": True,
    }
    assert literals("answer_01a = chr(66)\nx: int = 3\nimport os; os.abort()") == {}
    assert literals("answer_01a = 'B") == {}


def test_what_crashes_pythons_parser_is_not_parsed():
    deep = "x = a" + ".b" * 200_000
    assert literals(f"{deep}\nconsent = True\nanswer_01a = {'-' * 200_000}1") == {"consent": True}


def test_what_is_no_answer_is_left_open(built, tmp_path):
    items = read_inventory(built)
    shutil.copytree(built.root / "release", tmp_path / "release")
    shutil.copytree(built.root / "modules", tmp_path / "modules")
    path = hand_in(tmp_path, items, Half("odd", "before", 1), "autograded")
    text = path.read_text()
    shown = next(item for item in items if item.id == "01a").shown
    for name, value in {
        "answer_01a": "' b '", "sure_01a": "'4'", "answer_02b": "'E'", "answer_03a": "2",
        "answer_04b": "'AB'", "answer_05a": "'A'", "sure_05a": "7", "consent": "'True'",
    }.items():  # fmt: skip
        text = text.replace(f"{name} = None", f"{name} = {value}")
    path.write_text(text)
    [half] = read_halves(Course(tmp_path), items)
    assert half.letters.keys() == {"01a", "05a"}
    assert half.letters["01a"] == shown["B"]
    assert (half.sure, half.consent, half.form) == ({"01a": 4}, False, 1)


# ── the report ───────────────────────────────────────────────────────────────────────────────


def test_the_report_counts_halves_and_names_nobody(graded):
    course, halves = graded
    assert read_halves(course, read_inventory(course)) == sorted(
        halves, key=lambda h: (h.half != "before", h.student)
    )
    report = read_report(course)
    assert report.halves == {when: sum(h.half == when for h in halves) for when in HALVES.values()}
    assert (report.other_form, report.twice) == (0, 0)
    page = render_inventory(report)
    assert f"{report.one} students have only one half" in page
    assert not re.search(r"s\d{3}|Ann\d|Lee\d", page)
    assert page.count("<circle") == 48
    assert "not validated" in page


@pytest.mark.proves
def test_another_form_is_taken_as_it_is_and_counted(graded):
    course, halves = graded
    both = [s for s in {h.student for h in halves} if sum(h.student == s for h in halves) == 2]
    student = sorted(both)[0]
    shutil.rmtree(course.graded_folder(student, BEFORE))
    items, former = read_inventory(course), read_report(course)
    other = form_for(course.root, student, "after")
    letters = {item.id: item.key for item in of_form(items, other)}
    hand_in(course.root, items, Half(student, "before", other, True, letters), "autograded")
    report = read_report(course)
    assert (report.other_form, report.twice) == (1, 1)
    assert report.both == former.both
    row = next(row for row in report.items if row.item.form == other)
    assert row.before.n == next(r for r in former.items if r.item == row.item).before.n + 1
    assert "1 half was taken in another form" in render_inventory(report)


@pytest.mark.parametrize("lessons", ["01 02 03 04 05 06", "01 02 05"])
def test_a_class_s_lessons_decide_which_pairs_count(graded, lessons):
    course, _ = graded
    listed = ", ".join(f'"{each}"' for each in lessons.split())
    (course.root / "private/course.toml").write_text(f"[course]\nlessons = [{listed}]\n")
    gone = {"01 02 03 04 05 06": [10, 11], "01 02 05": [4, 5, 6, 7, 8, 9, 10, 11, 12]}[lessons]
    report = read_report(course)
    assert report.left_out == gone
    assert {row.item.pair for row in report.items} == {*range(1, 13)} - {*gone}
    assert [row.pair for row in report.pairs] == sorted({*range(1, 13)} - {*gone})


def test_the_track_says_which_lessons_a_class_has_and_course_toml_comes_first(graded):
    course, _ = graded
    assert lessons_had(course) is None
    shutil.copy(ROOT / "modules/tracks.toml", course.root / "modules")
    (course.root / "private/tracks.toml").write_text('use = "evening"\n')
    assert lessons_had(course) == ["01_parameters", "02_flops", "05_profiler"]
    (course.root / "private/course.toml").write_text('[course]\nlessons = ["03"]\n')
    assert lessons_had(course) == ["03"]
    (course.root / "private/course.toml").write_text('[course]\nlessons = ["three"]\n')
    with pytest.raises(CourseError, match="lessons must be a list of numbers"):
        lessons_had(course)


def test_without_answers_there_is_no_report(built):
    with pytest.raises(CourseError, match="nobody's answers to the inventory are graded yet"):
        read_report(built)


# ── the export ───────────────────────────────────────────────────────────────────────────────


def test_the_export_has_those_who_agreed_and_nothing_that_names_them(graded):
    course, halves = graded
    done = command(course, "proflab", "export", "inventory", "--label", "autumn", "-o", "i.csv")
    assert done.returncode == 0, done.stderr
    text = (course.root / "i.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    agreed = [half for half in halves if half.consent]
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 12 * len(agreed)
    assert len({row["student"] for row in rows}) == len({half.student for half in agreed})
    assert all(re.fullmatch("[0-9a-f]{16}", row["student"]) for row in rows)
    assert {row["class"] for row in rows} == {"autumn"}
    assert not re.search(r"s\d{3}|Ann|Lee|@", text)
    items = {item.id: item for item in read_inventory(course)}
    for row in rows:
        assert (row["right"] == "1") == (row["answer"] == items[row["item"]].key)
        assert row["confidence"] in ("", "1", "2", "3", "4")
    answers = sorted(half.letters.get(i.id, "") for half in agreed for i in _items(items, half))
    assert sorted(row["answer"] for row in rows) == answers


def _items(items, half):
    return of_form(items.values(), half.form)


def test_two_exports_cannot_be_joined(graded):
    course, _ = graded
    names = [{line.split(",")[1] for line in anonymised(course)[0].splitlines()} for _ in range(2)]
    assert names[0] & names[1] == {"student"}


def test_a_student_s_two_halves_have_one_name_and_order_tells_nothing(graded):
    course, halves = graded
    items = read_inventory(course)
    turned = table(items, halves[::-1], b"k" * 32)
    assert turned == table(items, halves, b"k" * 32)
    halves_of = {}
    for row in csv.DictReader(io.StringIO(turned)):
        halves_of.setdefault(row["student"], set()).add(row["half"])
    assert sum(len(each) for each in halves_of.values()) == len(halves)


@pytest.mark.parametrize(("agreeing", "refused"), [(4, True), (5, False)])
def test_fewer_than_five_are_not_exported(built, tmp_path, agreeing, refused):
    items = read_inventory(built)
    shutil.copytree(built.root / "release", tmp_path / "release")
    shutil.copytree(built.root / "modules", tmp_path / "modules")
    for number in range(8):
        for when in HALVES.values():
            half = Half(f"s{number}", when, 1, number < agreeing, {"01a": "A"})
            hand_in(tmp_path, items, half, "autograded")
    if refused:
        with pytest.raises(CourseError, match="4 students agreed .* no export") as error:
            anonymised(Course(tmp_path))
        assert "\n" not in str(error.value)
    else:
        assert anonymised(Course(tmp_path))[1] == 5


@pytest.mark.parametrize("lesson", ["inventory", BEFORE, AFTER])
def test_no_platform_gets_marks_of_it(built, lesson):
    done = command(built, "proflab", "export", lesson, "--canvas", "students.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the inventory has no marks" in done.stderr


@pytest.mark.parametrize("lesson", chosen(["inventory", "00", AFTER], {"inventory"}))
def test_each_name_of_it_gets_the_one_report(graded, lesson):
    course, _ = graded
    done = command(course, "proflab", "report", lesson)
    assert done.stdout.endswith("reports/inventory.html\n"), done.stderr


def test_a_report_without_the_secret_makes_none(graded):
    course, _ = graded
    (course.root / "private/secret").unlink()
    assert read_report(course).other_form == 0
    assert not (course.root / "private/secret").exists()


@pytest.mark.parametrize("words", [["--csv"], ["--votes", "students.csv"]])
def test_no_table_of_concept_questions_is_made_of_it(built, words):
    done = command(built, "proflab", "report", "inventory", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
