"""What strangers pack is read in limited processes, by one rule, for collecting and for grading."""

import io
import warnings
import zipfile

import pytest
from archives import LESSON, NAME, NOTEBOOK, collect, solved, tree
from grading_course import ROOT, read_key

from proflab_course import cli
from proflab_course.collect import entries
from proflab_course.collect.entries import Source
from proflab_course.grading import limited_process
from proflab_course.grading.limits import MB
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.which_lesson import Lessons


def packed(*members, method=zipfile.ZIP_DEFLATED):
    """An archive in which a path may stand twice."""
    data = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(data, "w", method) as archive:
        warnings.simplefilter("ignore")
        for path, content in members:
            archive.writestr(path, content)
    return data.getvalue()


def write(path, *members, **options):
    path.write_bytes(packed(*members, **options))
    return path


TWICE = ((f"ann/{NAME}", NOTEBOOK), (f"ann/{NAME}", solved("work")))


def test_of_two_members_of_one_path_the_later_is_collected_and_said(course, tmp_path, capsys):
    assert collect(write(tmp_path / "all.zip", *TWICE)) == 0
    assert tree(course)[f"ann/{LESSON}/{NAME}"].read_bytes() == solved("work")
    said = f"ann/{NAME} is there twice: the earlier one does not count"
    assert said in capsys.readouterr().out


def test_of_two_members_of_one_path_the_later_is_graded_and_said(tmp_path):
    folder = tmp_path / "submitted/ann" / LESSON
    folder.mkdir(parents=True)
    write(folder / "work.zip", *TWICE)
    key = read_key(ROOT / "source" / LESSON / NAME)
    found = find_handin(folder, Lessons(key, ROOT / "source"))
    assert found.notebook.cells[0].source == "work"
    assert f"ann/{NAME} is in work.zip twice: the later one counts" in found.sentence


def test_what_is_packed_in_another_way_is_named(course, tmp_path, capsys):
    files = [(f"ann/{NAME}", NOTEBOOK)]
    assert collect(write(tmp_path / "all.zip", *files, method=zipfile.ZIP_LZMA)) == 1
    assert "is packed in a way that is not read: make a plain zip" in capsys.readouterr().out


# ── how much ─────────────────────────────────────────────────────────────────────────────────


def test_a_hand_in_is_stored_piece_by_piece_in_little_memory(tmp_path, monkeypatch):
    """A process that may take 24 MB copies 100 MB."""
    path = write(tmp_path / "all.zip", *((f"ann/{n}.bin", bytes(50 * MB)) for n in range(2)))
    monkeypatch.setattr(limited_process, "READ_MEMORY", 24 * MB)
    source = Source(path)
    files = {entry.path: entry for entry in source.entries}
    copied = source.copy(files, tmp_path / "target")
    source.close()
    assert (len(copied.digests), copied.problems) == (2, [])
    assert (tmp_path / "target/ann/1.bin").stat().st_size == 50 * MB


def test_what_a_killed_run_left_is_removed(course, tmp_path):
    left = course / "downloaded" / LESSON / "incoming-x1"
    left.mkdir(parents=True)
    (left / NAME).write_bytes(b"half of a")
    assert collect(write(tmp_path / "all.zip", (f"ann/{NAME}", NOTEBOOK))) == 0
    assert list(left.parent.iterdir()) == []


def test_the_notebook_is_taken_from_a_hand_in_that_holds_too_much(
    course, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(entries, "MAX_ATTEMPT", 4 * MB)
    files = [(f"ann/data/{n:02}.bin", bytes(MB)) for n in range(20)]
    path = write(tmp_path / "all.zip", *files, (f"ann/z/{NAME}", NOTEBOOK))
    assert collect(path) == 1
    found = tree(course)
    assert found[f"ann/{LESSON}/{NAME}"].read_bytes() == NOTEBOOK
    assert sum(file.stat().st_size for file in found.values()) < 5 * MB
    said = "it holds more than 4 MB or 2,000 files: left out are data/03.bin, data/04.bin"
    assert said in capsys.readouterr().out


@pytest.mark.whole
def test_of_a_folder_with_thousands_of_files_two_thousand_are_taken(course, tmp_path, capsys):
    folder = tmp_path / "mail" / "ann"
    folder.mkdir(parents=True)
    for number in range(5_000):
        (folder / f"{number}.txt").touch()
    (folder / NAME).write_bytes(NOTEBOOK)
    assert collect(folder.parent) == 1
    assert len(tree(course)) < 2_010 and f"ann/{LESSON}/{NAME}" in tree(course)
    assert "and 2991 more" in capsys.readouterr().out


@pytest.mark.parametrize(
    "module, limit, value",
    [(limited_process, "READ_SECONDS", 0.02), (entries, "_MAX_ENTRIES", 100)],
)
def test_an_archive_whose_list_takes_too_much_is_refused(
    course, tmp_path, monkeypatch, capsys, module, limit, value
):
    monkeypatch.setattr(module, limit, value)
    path = write(tmp_path / "all.zip", *((f"ann/{n}.txt", b"") for n in range(10_000)))
    assert collect(path) == 2
    assert "collect it in parts" in capsys.readouterr().err


def test_what_is_not_taken_of_a_large_hand_in_is_not_listed_whole(course, tmp_path, capsys):
    files = [(f"ann/{number}.txt", b"") for number in range(500)]
    assert collect(write(tmp_path / "all.zip", *files)) == 1
    out = capsys.readouterr().out
    assert "ann: 480 more files (there is no notebook, but " in out
    assert len(out.splitlines()) < 40


def test_metadata_that_grows_without_end_ends_the_reading(course, tmp_path, monkeypatch, capsys):
    """Aliases of YAML may make ten lines a text of gigabytes."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    lines += ["submission_1:", "  :submitters:", "  - :name: *a11"]
    top = "assignment_5551234_export"
    files = [(f"{top}/submission_1/{NAME}", NOTEBOOK)]
    files += [(f"{top}/submission_metadata.yml", "\n".join(lines))]
    monkeypatch.setattr(limited_process, "READ_SECONDS", 1.0)
    assert collect(write(tmp_path / "all.zip", *files)) == 2
    assert "submission_metadata.yml in " in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["timestamp.txt", NAME])
def test_a_folder_in_place_of_a_file_costs_nobody_else(course, tmp_path, folder):
    files = [(f"ann/{folder}/x.ipynb", NOTEBOOK), (f"ann/{folder}/y.txt", b"y")]
    assert collect(write(tmp_path / "all.zip", *files, (f"bo/{NAME}", solved("bo")))) in (0, 1)
    assert tree(course)[f"bo/{LESSON}/{NAME}"].read_bytes() == solved("bo")


# ── ids ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_ids_that_look_alike_are_two_students_with_a_note(course, tmp_path, capsys):
    files = [(f"alice/{NAME}", solved("a")), (f"\uff41lice/{NAME}", solved("b"))]
    assert collect(write(tmp_path / "all.zip", *files)) == 0
    assert len(tree(course)) == 2 + len([path for path in tree(course) if "README" in path])
    out = capsys.readouterr().out
    assert "note: alice and \\uff41lice look alike: see whether they are two students" in out
    cli.main(["grade", "01", "--no-sandbox"])
    assert "note: alice and \\uff41lice look alike" in capsys.readouterr().out
