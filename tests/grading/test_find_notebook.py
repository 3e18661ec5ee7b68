"""A notebook is found under another name, deeper, in an archive; what is not one is named."""

import io
import json
import os
import stat
import zipfile

import nbformat
import pytest
from grading_course import LESSON, ROOT, cell, copy_course, grade, release, solved, source
from nbformat.v4 import new_code_cell, new_notebook

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.submissions import find_notebook
from proflab_course.grading.submissions import zip_archive as zipped
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.read_notebook import MAX_BYTES
from proflab_course.grading.submissions.which_lesson import Lessons

LESSONS = Lessons(make_key(LESSON, source()), ROOT / "source")
RIGHT = f"{LESSON}.ipynb"
SOLVED, RELEASED = nbformat.writes(solved()).encode(), nbformat.writes(release()).encode()
OTHER = (ROOT / "release/02_flops/02_flops.ipynb").read_bytes()


@pytest.fixture
def folder(tmp_path):
    """The folder of one student's hand-in."""
    place = tmp_path / "submitted" / "me" / LESSON
    place.mkdir(parents=True)
    return place


def put(folder, **files):
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def packed(files, **options):
    """The bytes of a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def find(folder):
    return find_handin(folder, LESSONS)


def text(data):
    return nbformat.reads(data.decode(), as_version=4).cells[4].source


def is_solved(found):
    return found.notebook is not None and found.notebook.cells[4].source == text(SOLVED)


@pytest.mark.parametrize(
    "name",
    [
        "01_parameters (1).ipynb",
        "Copy of 01_parameters.ipynb",
        "01_parameters-Copy1.ipynb",
        "my homework.ipynb",
        "01_parameters.ipynb.txt",
        "01_parameters.ipynb.json",
        "01_parameters",
        "01_PARAMETERS.IPYNB",
        "sub/01_parameters.ipynb",
        "a/b/c/notebook.ipynb",
    ],
)
def test_the_only_notebook_that_fits_is_taken(folder, name):
    put(folder, **{name: SOLVED, "notes.txt": b"hello", "data.json": b"{}"})
    found = find(folder)
    assert is_solved(found)
    assert found.outcome == "renamed"
    assert found.sentence == f"there is no {RIGHT} in its place; {name} was graded"


@pytest.mark.parametrize(
    "archive",
    ["work.zip", "01_parameters.ipynb.zip", "01_parameters", "work.dat", "sub/work.zip", RIGHT],
)
def test_a_notebook_in_a_zip_archive_is_taken(folder, archive):
    inside = {"me/01_parameters.ipynb": SOLVED, "__MACOSX/me/._01_parameters.ipynb": b"\0\5"}
    put(folder, **{archive: packed(inside)})
    found = find(folder)
    assert is_solved(found)
    assert found.outcome == "renamed"
    assert f"me/01_parameters.ipynb in {archive} was graded" in found.sentence
    assert ("is a zip archive" in found.sentence) == (archive == RIGHT)


def test_an_archive_in_an_archive_is_opened_and_no_deeper(folder):
    once = packed({RIGHT: SOLVED})
    put(folder, **{"work.zip": packed({"inner.zip": once})})
    assert is_solved(find(folder))
    put(folder, **{"work.zip": packed({"inner.zip": packed({"innermost.zip": once})})})
    assert find(folder).notebook is None


def test_what_lies_beside_it_in_the_archive_comes_along(folder):
    put(
        folder,
        **{"work.zip": packed({"me/x.ipynb": SOLVED, "me/help/mine.py": b"1", "other.py": b"2"})},
    )
    assert find(folder).files == {"help/mine.py": b"1"}
    put(folder, **{"work.zip": packed({})})
    put(folder, **{"sub/x.ipynb": SOLVED})
    assert find(folder).folder == folder / "sub"


def test_paths_that_lead_out_of_the_archive_are_passed_over(folder):
    names = ["../up.py", "/etc/x.py", "a/../../b.py", "C:\\x.py", "\\\\host\\x.py", "a\nb.py"]
    put(
        folder,
        **{"work.zip": packed({RIGHT: SOLVED, "fine\\x.py": b"1"} | dict.fromkeys(names, b""))},
    )
    assert find(folder).files == {"fine/x.py": b"1", "a b.py": b""}


def test_links_in_an_archive_are_passed_over(folder):
    link = zipfile.ZipInfo("secret.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    put(folder, **{"work.zip": buffer.getvalue()})
    found = find(folder)
    assert (found.outcome, found.notebook) == ("not a notebook", None)


def encrypted():
    data = bytearray(packed({RIGHT: SOLVED}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def lying():
    """An archive whose member says that it is small."""
    data = bytearray(packed({RIGHT: SOLVED + b" " * 3_000_000}))
    entry = data.rindex(b"PK\x01\x02")
    for place in (22, entry + 24):
        data[place : place + 4] = (1000).to_bytes(4, "little")
    return bytes(data)


@pytest.mark.parametrize(
    "data, sentence",
    [
        (encrypted(), "work.zip is encrypted: hand it in without a password"),
        (packed({RIGHT: SOLVED})[:3000], "work.zip is a damaged zip archive"),
        (b"PK\x03\x04" + bytes(1000), "work.zip is a damaged zip archive"),
        (packed({f"{n}.py": b"" for n in range(3000)}), "work.zip holds more than 2,000 files"),
        (packed({"x.ipynb": b" " * 3_000_000}), "work.zip holds more than 1 MB"),
        (packed({f"{n}.ipynb": b" " * 600_000 for n in range(2)}), "work.zip holds more than 1 MB"),
        (packed({"a.zip": packed({"x.bin": bytes(3_000_000)})}), "a.zip in work.zip holds more"),
        (lying(), "work.zip is a damaged zip archive"),
    ],
)
def test_an_archive_that_cannot_be_opened_is_named(folder, data, sentence, monkeypatch):
    monkeypatch.setattr(zipped, "MAX_UNPACKED", 1024**2)
    put(folder, **{"work.zip": data})
    found = find(folder)
    assert (found.outcome, found.notebook) == ("unreadable", None)
    assert sentence in found.sentence


def test_an_archive_without_a_notebook_says_so(folder):
    put(folder, **{RIGHT: packed({"notes.txt": b"x"})})
    found = find(folder)
    assert found.outcome == "not a notebook"
    assert found.sentence.startswith(f"{RIGHT} is a zip archive")


def test_the_one_in_its_place_counts_and_what_else_fits_is_said(folder):
    put(
        folder, **{RIGHT: SOLVED, "draft.ipynb": SOLVED.replace(b"weights", b"w"), "x.ipynb": b"{}"}
    )
    found = find(folder)
    assert is_solved(found)
    assert (found.outcome, found.sentence) == ("", f"there is also draft.ipynb; {RIGHT} was graded")


def test_a_copy_of_the_same_text_is_nothing_to_speak_of(folder):
    put(folder, **{RIGHT: SOLVED, "copy.ipynb": SOLVED, "work.zip": packed({RIGHT: SOLVED})})
    assert find(folder).sentence == ""


def test_checkpoints_are_ignored(folder):
    put(folder, **{".ipynb_checkpoints/01_parameters-checkpoint.ipynb": SOLVED})
    assert find(folder).outcome == "missing"
    put(folder, **{RIGHT: RELEASED})
    assert find(folder).sentence == ""


def test_work_beside_an_untouched_release_is_what_counts(folder):
    put(folder, **{RIGHT: RELEASED, "mine.ipynb": SOLVED})
    found = find(folder)
    assert is_solved(found)
    assert found.sentence == f"{RIGHT} is unchanged since its release; mine.ipynb was graded"


def test_of_several_the_one_of_the_right_name_counts(folder):
    draft = SOLVED.replace(b"weights", b"w")
    put(folder, **{f"sub/{RIGHT}": SOLVED, "draft.ipynb": draft})
    found = find(folder)
    assert is_solved(found)
    assert f"sub/{RIGHT} was graded; there is also draft.ipynb" in found.sentence


def test_of_several_without_the_right_name_none_is_guessed(folder):
    draft = SOLVED.replace(b"weights", b"w")
    put(folder, **{"final.ipynb": SOLVED, "final2.ipynb": draft})
    found = find(folder)
    assert (found.outcome, found.notebook) == ("several notebooks", None)
    assert f"final.ipynb, final2.ipynb; name the one that counts {RIGHT}" in found.sentence


def test_a_broken_one_in_its_place_gives_way_to_a_good_one(folder):
    put(folder, **{RIGHT: SOLVED[:1000], "01_parameters (1).ipynb": SOLVED})
    found = find(folder)
    assert is_solved(found)
    assert f"{RIGHT} is cut off: it ends in the middle (line 14)" in found.sentence
    assert "01_parameters (1).ipynb was graded" in found.sentence


@pytest.mark.parametrize("name", [RIGHT, "homework.ipynb"])
def test_a_notebook_of_another_lesson_is_named_and_not_graded(folder, name):
    put(folder, **{name: OTHER})
    found = find(folder)
    assert (found.outcome, found.notebook) == ("wrong lesson", None)
    assert "the notebook of lesson 02_flops" in found.sentence


def test_another_lesson_is_known_without_its_metadata_and_without_its_source(folder):
    bare = json.loads(OTHER)
    for each in bare["cells"]:
        each["metadata"] = {}
    put(folder, **{RIGHT: json.dumps(bare).encode()})
    assert find(folder).outcome == "wrong lesson"
    alone = Lessons(LESSONS.key)
    assert find_handin(folder, alone).outcome == "wrong lesson"  # by its stamp
    bare["metadata"] = {}
    put(folder, **{RIGHT: json.dumps(bare).encode()})
    assert "lesson 02_flops" in find(folder).sentence  # by the functions that it asks for


def test_one_that_uses_an_earlier_lessons_function_is_of_its_own_lesson(folder):
    later = nbformat.reads(OTHER.decode(), as_version=4)
    code = cell(solved(), "linear_parameters").source
    later.cells.insert(3, new_code_cell(code))
    put(folder, **{"mine.ipynb": nbformat.writes(later).encode()})
    assert find(folder).outcome == "wrong lesson"


def test_a_notebook_written_from_nothing_counts_in_its_place(folder):
    own = new_notebook(cells=[new_code_cell("def linear_parameters(a, b): return a * b")])
    put(folder, **{RIGHT: nbformat.writes(own).encode()})
    assert find(folder).notebook is not None


@pytest.mark.parametrize("name", [RIGHT, "x.ipynb"])
def test_a_notebook_with_nothing_of_the_lesson_has_one_outcome_under_any_name(folder, name):
    put(folder, **{name: nbformat.writes(new_notebook(cells=[new_code_cell("x = 1")])).encode()})
    found = find(folder)
    assert (found.outcome, found.notebook) == ("wrong lesson", None)
    assert "a notebook that belongs to no lesson" in found.sentence


def test_what_is_there_is_listed_when_nothing_fits(folder):
    put(folder, **{"report.pdf": b"%PDF", "other.ipynb": b"{}", "data/x.csv": b"1"})
    (folder / "linked.ipynb").symlink_to(folder / "other.ipynb")
    found = find(folder)
    assert found.outcome == "missing"
    assert found.sentence.startswith(f"there is no {RIGHT} in what was handed in; there is ")
    for each in ("other.ipynb (other.ipynb has no cells)", "report.pdf", "data/", "linked.ipynb"):
        assert each in found.sentence


def test_an_empty_folder_says_so_and_many_names_are_cut(folder):
    assert find(folder).sentence.endswith("; there is nothing")
    put(folder, **{f"{n:02}.pdf": b"" for n in range(30)})
    assert find(folder).sentence.endswith("07.pdf and 22 more")
    for path in folder.iterdir():
        path.unlink()
    put(folder, **{"x\x1b[2J.pdf": b"", "y" * 200: b""})
    assert "x�[2J.pdf" in find(folder).sentence
    assert "y" * 100 not in find(folder).sentence


def test_links_are_not_followed(folder, tmp_path):
    (tmp_path / "secret.ipynb").write_bytes(SOLVED)
    (tmp_path / "place").mkdir()
    (tmp_path / "place/01_parameters.ipynb").write_bytes(SOLVED)
    (folder / "x.ipynb").symlink_to(tmp_path / "secret.ipynb")
    (folder / "sub").symlink_to(tmp_path / "place")
    os.mkfifo(folder / "pipe.ipynb")
    assert find(folder).outcome == "missing"


def test_many_and_large_files_are_not_all_read(folder, monkeypatch):
    monkeypatch.setattr(find_notebook, "MAX_READ", 4 * len(SOLVED))
    put(folder, **{f"{n}.ipynb": b"[" * len(SOLVED) for n in range(9)})
    assert find(folder).outcome == "missing"
    with (folder / "0.ipynb").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert find(folder).outcome == "missing"


# ── in a class ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def course(tmp_path):
    return copy_course(tmp_path, [])


def test_a_file_without_the_lessons_folder_is_found_and_said(course):
    student = course.root / "submitted" / "me"
    put(student, **{RIGHT: SOLVED, "timestamp.txt": b"2026-03-02 10:00:00 UTC"})
    put(course.root / "submitted" / "else", **{"02_flops.ipynb": OTHER})
    rows = grade(course)
    assert set(rows) == {"me"}
    assert (rows["me"].status, rows["me"].score) == ("renamed", 100)
    said = f"there is no {RIGHT} in its place; submitted/me/{RIGHT} was graded"
    assert rows["me"].sentence == said
    assert (course.root / "autograded/me" / LESSON / "timestamp.txt").exists()


def test_a_cut_off_file_without_the_lessons_folder_is_no_silence(course):
    put(course.root / "submitted" / "me", **{RIGHT: SOLVED[:1000]})
    row = grade(course)["me"]
    assert (row.status, row.score) == ("not a notebook", 0)
    assert f"submitted/me/{RIGHT} is cut off" in row.sentence


def test_another_lessons_folder_is_not_searched(course):
    put(course.root / "submitted" / "me" / "02_flops", **{"02_flops.ipynb": OTHER, RIGHT: SOLVED})
    (course.root / "source" / "02_flops").mkdir()
    assert grade(course) == {}


def test_a_file_that_is_added_or_changed_is_graded_again(course):
    folder = course.root / "submitted" / "me" / LESSON
    put(folder, **{"work.ipynb": RELEASED})
    assert grade(course)["me"].score == 0
    assert not grade(course)["me"].fresh
    put(folder, **{"work.ipynb": SOLVED})
    assert grade(course)["me"].score == 100
    put(folder.parent, **{"old.ipynb": RELEASED})
    assert grade(course)["me"].score == 100


def test_own_modules_come_along_from_where_the_notebook_lies(course):
    notebook = solved(linear_parameters="from layers import linear_parameters")
    code = cell(solved(), "linear_parameters").source.encode()
    data = nbformat.writes(notebook).encode()
    folder = course.root / "submitted"
    put(folder / "zipped" / LESSON, **{"w.zip": packed({"a/x.ipynb": data, "a/layers.py": code})})
    put(folder / "deeper" / LESSON, **{"a/x.ipynb": data, "a/layers.py": code})
    rows = grade(course)
    assert {name: row.score for name, row in rows.items()} == {"zipped": 100, "deeper": 100}
