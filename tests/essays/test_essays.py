"""Two people mark a class's essays: shared fairly, each mark kept, differences for a decision."""

import csv
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from essay_class import ESSAY, STUDENTS, fill, rows_of
from grading_course import LESSON, command, copied, grade

from proflab_classroom.marking.agreement import cohens_kappa
from proflab_classroom.marking.essay_log import EssayLog
from proflab_course.cli import main
from proflab_course.grading.records.gradebook import Book

ANCHORS = {"good answer": set(range(1, 11)), "poor answer": {10}}


@pytest.fixture
def course(graded, tmp_path, monkeypatch):
    course = copied(graded, tmp_path)
    monkeypatch.chdir(course.root)
    return course


def between(names="anna,ben", *more):
    return main(["essays", "01", "--between", names, *more])


def essays_of(course, name):
    return [row["hand-in"] for row in rows_of(course, name)][2:]


def marks(course):
    with Book(course.gradebook) as book:
        return {s: (e.mark, e.comment) for s, e in book.essays(LESSON, ESSAY).items()}


def marked(course, name, items):
    """Fill a marker's whole table, the two answers as the scheme has them."""
    fill(course, name, ANCHORS | {s: items(s) for s in essays_of(course, name)}, f"by {name}")


# ── dealing ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves
def test_essays_are_dealt_in_balance_and_the_same_again(course, capsys):
    assert between("anna,ben", "--overlap", "4") == 0
    anna, ben = essays_of(course, "anna"), essays_of(course, "ben")
    assert {*anna, *ben} == set(STUDENTS) and len({*anna} & {*ben}) == 4
    assert len(anna) == len(ben) == 8 and "no_essay" not in anna + ben
    assert anna != sorted(anna)
    assert between("anna,ben", "--overlap", "4") == 0
    assert (essays_of(course, "anna"), essays_of(course, "ben")) == (anna, ben)
    first = rows_of(course, "anna")[2]
    assert first["essay"].startswith("The reduction is") and first["words"] == "19"
    assert first["numbers"].startswith("numbers in the text: 4; printed by a cell")
    anchors = [row["hand-in"] for row in rows_of(course, "anna")[:2]]
    assert anchors == ["good answer", "poor answer"]
    scheme = (course.root / "essays" / LESSON / "scheme.md").read_text("utf-8")
    assert "10. Running needs more" in scheme and "A poor answer" not in scheme


def test_an_overlap_without_markers_is_refused(course, capsys):
    assert main(["essays", "01", "--overlap", "4"]) == 2
    assert "--overlap belongs to --between: name the markers" in capsys.readouterr().err


def test_a_marker_who_leaves_keeps_what_is_marked(course):
    between("anna,ben")
    ben = essays_of(course, "ben")
    fill(course, "ben", ANCHORS | {ben[0]: {1, 2}})
    assert between("anna,cem") == 0
    assert ben[0] in essays_of(course, "ben")
    assert ben[0] not in essays_of(course, "anna") + essays_of(course, "cem")
    assert {*essays_of(course, "anna"), *essays_of(course, "cem")} == {*STUDENTS} - {ben[0]}


@pytest.mark.parametrize("names", ["", "anna,Anna", "../x", "decide", "a b"])
def test_a_name_that_is_no_file_is_refused_in_a_sentence(course, names, capsys):
    assert between(names) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (course.root / "essays" / LESSON).exists()


# ── marks ───────────────────────────────────────────────────────────────────────────────────


def test_a_marker_who_is_off_the_scheme_on_both_answers_settles_nothing(course, capsys):
    between("anna,ben")
    anna = essays_of(course, "anna")
    off = {"good answer": {1}, "poor answer": {1}}
    fill(course, "anna", off | {student: {1, 2} for student in anna})
    marked(course, "ben", lambda s: {3})
    assert main(["essays", "01"]) == 0
    said = capsys.readouterr().out
    assert "anna is off the scheme on both answers, so 6 essays wait: anna marks both" in said
    assert "6 of 12 essays settled" in said
    assert {s for s, (mark, _) in marks(course).items() if mark is None} == {*anna}
    fill(course, "anna", ANCHORS)
    assert main(["essays", "01"]) == 0
    assert "12 of 12 essays settled" in capsys.readouterr().out
    assert {marks(course)[student][0] for student in anna} == {2}


@pytest.mark.proves
def test_marks_reach_the_gradebook_and_the_page_without_the_markers_names(course, capsys):
    between("anna,ben")
    marked(course, "anna", lambda s: {1, 2, 5})
    marked(course, "ben", lambda s: set())
    assert main(["essays", "01"]) == 0
    assert "12 of 12 essays settled" in capsys.readouterr().out
    anna = essays_of(course, "anna")
    for student, (mark, comment) in marks(course).items():
        assert mark == (3 if student in anna else 0)
        assert comment.endswith("Items: 1, 2, 5." if student in anna else "Items: none.")
    assert main(["essays", "01"]) == 0 and "written" not in capsys.readouterr().out
    done = command(course, "nbgrader", "generate_feedback", LESSON, f"--student={anna[0]}")
    assert done.returncode == 0, done.stderr
    page = (course.root / "feedback" / anna[0] / LESSON / f"{LESSON}.html").read_text("utf-8")
    assert "Items of the mark scheme that were earned: 1, 2, 5." in page
    assert "SqueezeNet in both units" not in page and "Items: 1" not in page
    config = course.root / "jupyter_config.py"
    text = config.read_text().replace("c.HideHidden.explain = []", 'c.HideHidden.explain = ["01"]')
    config.write_text(text)
    command(course, "nbgrader", "generate_feedback", LESSON, f"--student={anna[0]}", "--force")
    page = (course.root / "feedback" / anna[0] / LESSON / f"{LESSON}.html").read_text("utf-8")
    assert "– 3: SqueezeNet in both units" in page and "✅ 2: So its 240" in page


def test_no_essay_counts_before_the_two_answers_are_marked(course, capsys):
    between("anna")
    fill(course, "anna", {s: {1} for s in STUDENTS})
    assert main(["essays", "01"]) == 1
    said = capsys.readouterr().out
    assert "12 essays are marked, but not the good answer and the poor answer" in said
    assert all(mark is None for mark, _ in marks(course).values())
    fill(course, "anna", ANCHORS | {"poor answer": {9, 10}})
    assert main(["essays", "01"]) == 0
    assert "anna on the poor answer: otherwise than the scheme in item 9" in capsys.readouterr().out
    assert {mark for mark, _ in marks(course).values()} == {1}


def test_where_two_differ_nothing_is_written_until_it_is_decided(course, capsys):
    between("anna,ben", "--overlap", "12")
    marked(course, "anna", lambda s: {1, 2, 3})
    assert main(["essays", "01"]) == 0
    assert "ben has 12 essays to mark" in capsys.readouterr().out
    assert {mark for mark, _ in marks(course).values()} == {None}
    odd = STUDENTS[4]
    marked(course, "ben", lambda s: {1, 2, 4} if s == odd else {1, 2, 3})
    assert main(["essays", "01"]) == 0
    said = capsys.readouterr().out
    assert f"markers differ on {odd}" in said and "11 of 12 essays settled" in said
    assert "   3   92%    0.00" in said and "   1  100%       –" in said
    assert marks(course)[odd][0] is None
    [row] = rows_of(course, "decide")
    assert "anna: 3 (1, 2, 3) “by anna”\nben: 3 (1, 2, 4)" in row["markers"]
    values = {head.split(":")[0]: value for head, value in row.items()}
    assert [values[n] for n in "1 2 3 4 5".split()] == ["1", "1", "", "", "0"]
    fill(course, "decide", {odd: {1, 2, 3, 4}}, "Both, in fact.")
    assert main(["essays", "01"]) == 0
    assert marks(course)[odd][0] == 4
    kept = EssayLog(course.root).marking(LESSON).marks[odd]
    assert {name: sorted(mark.items) for name, mark in kept.items()} == {
        "anna": [1, 2, 3],
        "ben": [1, 2, 4],
    }


def test_a_mark_typed_in_formgrader_is_never_replaced_in_silence(course, capsys):
    between("anna")
    with Book(course.gradebook) as book:
        book.mark_essay(LESSON, ESSAY, STUDENTS[0], 7.0, "Fine.")
    marked(course, "anna", lambda s: {1})
    assert main(["essays", "01"]) == 0
    assert "the gradebook has 7, which somebody typed in formgrader" in capsys.readouterr().out
    assert marks(course)[STUDENTS[0]] == (7, "Fine.")
    with Book(course.gradebook) as book:  # as formgrader does, which knows nothing of this
        book.mark_essay(LESSON, ESSAY, STUDENTS[0], 5.0, "")
    grade(course, regrade=True, students=[STUDENTS[0]])
    main(["essays", "01"])
    assert f"{STUDENTS[0]}: the mark was 7 until" in capsys.readouterr().out


def test_items_ticked_in_formgrader_count_as_a_markers(course, capsys):
    between("anna,ben", "--overlap", "1")
    [common] = {*essays_of(course, "anna")} & {*essays_of(course, "ben")}
    with Book(course.gradebook) as book:
        told = "Good.\nItems (anna): 1, 4.\nItems (ben): 1."
        book.mark_essay(LESSON, ESSAY, common, 2.0, told)
    assert main(["essays", "01"]) == 0
    said = capsys.readouterr().out
    assert f"markers differ on {common}" in said and "anna and ben, on 1 essay" in said
    assert marks(course)[common] == (2, told)


# ── tables as they come back ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda r: r[2] | {"*": "2"}, "anna.csv, line 4: item 1 is 0 or 1, not '2'"),
        (lambda r: r[2] | {"1": ""}, "anna.csv, line 4: item 1 of"),
        (lambda r: r[2] | {"hand-in": "=cmd()"}, "anna.csv, line 4: there is no essay of '=cmd()'"),
        (lambda r: r[3], "already: keep one line"),
    ],
)
def test_a_row_that_cannot_be_taken_is_named_and_the_others_count(course, change, told, capsys):
    between("anna")
    marked(course, "anna", lambda s: {1})
    rows = rows_of(course, "anna")
    wanted = change(rows)
    first = next(head for head in rows[0] if head.startswith("1:"))
    for short in ("*", "1"):
        if short in wanted:
            wanted[first] = wanted.pop(short)
    rows[2] = wanted
    write(course, rows)
    assert main(["essays", "01"]) == 1
    said = capsys.readouterr().out
    assert told in said
    assert sum(mark is not None for mark, _ in marks(course).values()) >= 10


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"hand-in;1;2\nx;1;0\n", "anna.csv, line 1: it needs the columns hand-in and 1 to 10"),
        (b"hand-in,1,2,3,4,5,6,7,8,9,10,10: twice\n", "line 1: item 10 has two columns"),
        (b"\xff\xfe\x00", "anna.csv is not in UTF-8"),
        (b"", "line 1: it needs the columns"),
        (b'hand-in,"' + b"x" * 200_000, "anna.csv"),
    ],
)
def test_a_table_that_is_none_is_one_sentence(course, data, told, capsys):
    between("anna")
    (course.root / "essays" / LESSON / "anna.csv").write_bytes(data)
    assert main(["essays", "01"]) == 2
    said = capsys.readouterr().err
    assert told in said and said.count("\n") == 1


def test_what_is_typed_stays_when_essays_are_dealt_anew(course, capsys):
    between("anna,ben")
    anna = essays_of(course, "anna")
    rows = rows_of(course, "anna")
    first = next(head for head in rows[0] if head.startswith("1:"))
    rows[3][first], rows[3]["comment"] = "1", "=half done"
    write(course, rows)
    assert between("anna,ben,cem") == 1  # what is half done is said
    assert rows_of(course, "anna")[3][first] == "1"
    assert rows_of(course, "anna")[3]["comment"] == "'=half done"
    assert rows_of(course, "anna")[3]["hand-in"] == anna[1]


def write(course, rows):
    with (course.root / "essays" / LESSON / "anna.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


# ── killed at any point ─────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_a_killed_command_is_run_again_and_nothing_is_lost(course):
    between("anna,ben", "--overlap", "12")
    for name in ("anna", "ben"):
        marked(course, name, lambda s: {1, 2, int(s[-2:]) % 9 + 1})
    whole = {s: len({1, 2, int(s[-2:]) % 9 + 1}) for s in STUDENTS}
    words = [sys.executable, "-m", "proflab_course.cli", "essays", "01"]
    begin = time.monotonic()
    process = subprocess.Popen(words, cwd=course.root, stdout=subprocess.DEVNULL)
    for step in range(6):
        time.sleep(0.25 * (step + 1))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not EssayLog(course.root).broken()
        process = subprocess.Popen(words, cwd=course.root, stdout=subprocess.DEVNULL)
    assert process.wait() == 0 and time.monotonic() > begin
    assert {s: mark for s, (mark, _) in marks(course).items()} == whole
    kept = EssayLog(course.root).marking(LESSON).marks
    assert all(set(kept[s]) == {"anna", "ben"} for s in STUDENTS)


# ── and the rest ────────────────────────────────────────────────────────────────────────────


def test_kappa_is_cohens():
    # The table of Cohen (1960) in two categories: 20, 5, 10, 15 → 0.4
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert cohens_kappa(pairs) == pytest.approx(0.4)
    assert cohens_kappa([(True, True)] * 5) is None and cohens_kappa([]) is None
    assert cohens_kappa([(True, False), (False, True)]) == -1


def test_a_graded_essay_says_which_of_its_numbers_a_cell_printed(graded):
    path = graded.graded_folder(STUDENTS[0], LESSON) / f"{LESSON}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notes = [c.metadata["proflab"]["numbers"] for c in notebook.cells if "proflab" in c.metadata]
    [note] = notes
    assert note == (
        "numbers in the text: 4; printed by a cell of this notebook: 2; not found: 40, 77.7"
    )
