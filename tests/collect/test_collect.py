"""A class's archive, as each platform writes it, into submitted/: what is taken, what is not."""

import time

import pytest
from archives import NAME, collect, solved, students, tree, zipped
from grading_course import LESSON

from proflab_course import cli
from proflab_course.grading.answer_key import read_key
from proflab_course.grading.submissions.find_notebook import find_handin
from proflab_course.grading.submissions.which_lesson import Lessons

MOODLE = {
    f"Jörg Müller_4711_assignsubmission_file_/{NAME}": solved("joerg"),
    "Siobhán O'Brien_4712_assignsubmission_file_/my work (1).ipynb": solved("siobhan"),
    "王小明_4713_assignsubmission_file_/homework.zip": zipped(
        {"inner.zip": zipped({f"deep/{NAME}": solved("wang")})}
    ),
    "Ann Lee_4714_assignsubmission_file_/essay.pdf": b"%PDF-1.7",
    "Ann Lee_4714_assignsubmission_onlinetext_/onlinetext.html": b"<p>see the file</p>",
}
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Status,"Last modified (submission)"
Participant 4711,Jörg Müller,s100,joerg@example.org,Submitted,"Monday, 30 November 2026, 6:30 PM"
Participant 4712,Siobhán O'Brien,s101,siobhan@example.org,Submitted,-
Participant 4713,王小明,s102,wang@example.org,Submitted,03.12.2026
Participant 4714,Ann Lee,s103,ann@example.org,Submitted,-
Participant 4715,Bo Chen,s104,bo@example.org,No submission,-
"""


def test_moodle_without_a_roster(course, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(zipped(MOODLE, days_apart=1))
    assert collect(tmp_path / "all.zip", "--timezone", "Europe/Zurich") == 1
    out = capsys.readouterr().out
    found = tree(course)
    assert found[f"jörg-müller/{LESSON}/{NAME}"].read_bytes() == solved("joerg")
    assert found[f"siobhán-obrien/{LESSON}/{NAME}"].read_bytes() == solved("siobhan")
    assert f"my work (1).ipynb was stored as {NAME}" in out
    assert f"王小明/{LESSON}/homework.zip" in found
    stamp = found[f"jörg-müller/{LESSON}/timestamp.txt"].read_text()
    assert stamp == "2026-11-30 17:04:10 UTC\n"
    assert students(course)["jörg-müller"] == ("Jörg", "Müller", None)
    assert "essay.pdf (there is no notebook, but essay.pdf; essay.pdf is a PDF: hand in " in out
    assert "onlinetext.html is text typed into Moodle" in out
    assert not any("ann" in path for path in found)


def test_moodle_with_its_worksheet(course, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(zipped(MOODLE))
    (tmp_path / "sheet.csv").write_text(WORKSHEET, "utf-8-sig")
    options = ["--roster", str(tmp_path / "sheet.csv"), "--timezone", "Europe/Zurich"]
    assert collect(tmp_path / "all.zip", *options) == 1
    out = capsys.readouterr().out
    found = tree(course)
    assert {path.split("/")[0] for path in found} - {"README.md"} == {"s100", "s101", "s102"}
    # The worksheet's time is that of the submission; a day or a month first is asked about.
    assert found[f"s100/{LESSON}/timestamp.txt"].read_text() == "2026-11-30 17:30:00 UTC\n"
    assert "is it 3 December 2026 or 12 March 2026?" in out
    assert students(course)["s101"] == ("Siobhán", "O'Brien", "siobhan@example.org")
    assert "s104  Bo Chen" in out.partition("without a hand-in")[2]
    assert "s103  Ann Lee" in out.partition("without a hand-in")[2]


def test_what_was_collected_is_found_by_the_grader(course, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(zipped(MOODLE))
    collect(tmp_path / "all.zip")
    lessons = Lessons(read_key(course / "source" / LESSON / NAME))
    for student, mark in [("jörg-müller", "joerg"), ("王小明", "wang")]:
        handin = find_handin(course / "submitted" / student / LESSON, lessons)
        assert handin.notebook.cells[0].source == mark


def test_twice_changes_nothing(course, tmp_path, capsys):
    (tmp_path / "all.zip").write_bytes(zipped(MOODLE))
    collect(tmp_path / "all.zip")
    before = {
        path: (file.read_bytes(), file.stat().st_mtime_ns) for path, file in tree(course).items()
    }
    time.sleep(0.01)
    capsys.readouterr()
    collect(tmp_path / "all.zip")
    out, error = capsys.readouterr()
    assert "3 unchanged, 1 not taken" in out and not error  # no bar where no terminal is
    after = {
        path: (file.read_bytes(), file.stat().st_mtime_ns) for path, file in tree(course).items()
    }
    assert after == before
    assert not list((course / "downloaded" / LESSON).iterdir())


def test_a_later_attempt_replaces_and_an_earlier_one_does_not(course, tmp_path, capsys):
    one, other = (f"{who}_assignsubmission_file_/{NAME}" for who in ("Ann Lee_1", "Bo Chen_2"))
    for name, mark, day in [("first", "a", 1), ("second", "b", 2), ("third", "c", 1)]:
        files = {one: solved(mark), other: solved("bo")}
        data = zipped(files, (2026, 11, day, 9, 0, 0), days_apart=3)
        (tmp_path / f"{name}.zip").write_bytes(data)
    assert collect(tmp_path / "first.zip", "--timezone", "UTC") == 0
    assert collect(tmp_path / "second.zip", "--timezone", "UTC") == 0
    assert "the attempt of 2026-11-01 09:00:00 UTC is now in" in capsys.readouterr().out
    work = course / "submitted" / "ann-lee" / LESSON / NAME
    assert work.read_bytes() == solved("b")
    replaced = course / "downloaded" / LESSON / "replaced" / "ann-lee" / "1" / NAME
    assert replaced.read_bytes() == solved("a")
    assert collect(tmp_path / "third.zip", "--timezone", "UTC") == 1
    assert "is later (2026-11-02 09:00:00 UTC), so it stays" in capsys.readouterr().out
    assert work.read_bytes() == solved("b")


def test_canvas(course, tmp_path, capsys):
    files = {
        f"müllerjörg_101_98765_{LESSON}-10.ipynb": solved("last"),
        f"müllerjörg_101_98764_{LESSON}-9.ipynb": solved("tenth"),
        f"müllerjörg_101_98700_{LESSON}.ipynb": solved("first"),
        f"obriensiobhan_LATE_102_98766_{LESSON}.ipynb": solved("late"),
        f"wang_103_98767_{LESSON}.ipynb": solved("wang"),
    }
    (tmp_path / "submissions.zip").write_bytes(zipped(files))
    (tmp_path / "grades.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 1 (55)\n"
        "    Points Possible,,,,,100\n"
        '"Müller, Jörg",101,S-101,jmueller,A,\n'
        '"O\'Brien, Siobhán",102,S-102,sobrien,A,\n'
        '"Lee, Ann",104,S-104,alee,A,\n'
    )
    assert collect(tmp_path / "submissions.zip", "--roster", str(tmp_path / "grades.csv")) == 1
    out = capsys.readouterr().out
    found = tree(course)
    assert found[f"jmueller/{LESSON}/{NAME}"].read_bytes() == solved("last")
    assert f"müllerjörg_101_98700_{LESSON}.ipynb is an earlier attempt" in out
    assert found[f"sobrien/{LESSON}/{NAME}"].read_bytes() == solved("late")
    assert "marked late by Canvas" in out
    assert "wang is not on the roster" in out
    absent = out.partition("without a hand-in")[2]
    assert "alee  Ann Lee" in absent and "Possible" not in absent
    assert "has no times" in out
    assert not any(path.endswith("timestamp.txt") for path in found)


def test_brightspace(course, tmp_path, capsys):
    place = tmp_path / "download"
    for folder, mark in [
        ("4711-900 - Jörg Müller - Oct 3, 2026 215 PM", "first"),
        ("4711-900 - Jörg Müller - Oct 4, 2026 1159 PM", "second"),
        ("4712-900 - Siobhán O'Brien - 4 okt. 2026 09.15", "dutch"),
    ]:
        (place / folder).mkdir(parents=True)
        (place / folder / "notebook.ipynb").write_bytes(solved(mark))
    (place / "index.html").write_text("<html></html>")
    (tmp_path / "roster.csv").write_text(
        "OrgDefinedId,Username,Last Name,First Name,Email,End-of-Line Indicator\n"
        "#S100,#jmueller,Müller,Jörg,j@example.org,#\n"
        "#S101,#sobrien,O'Brien,Siobhán,s@example.org,#\n"
    )
    options = ["--roster", str(tmp_path / "roster.csv"), "--timezone", "America/New_York"]
    assert collect(place, *options) == 0
    out = capsys.readouterr().out
    found = tree(course)
    assert found[f"jmueller/{LESSON}/{NAME}"].read_bytes() == solved("second")
    assert found[f"jmueller/{LESSON}/timestamp.txt"].read_text() == "2026-10-05 03:59:00 UTC\n"
    assert "Oct 3, 2026 215 PM/notebook.ipynb is an earlier attempt" in out
    assert f"sobrien/{LESSON}/timestamp.txt" not in found
    assert "'4 okt. 2026 09.15' is not one that Brightspace writes in English" in out


def test_a_plain_folder(course, tmp_path, capsys):
    place = tmp_path / "mail"
    for path, content in {
        f"anna/{LESSON}/{NAME}": solved("anna"),
        f"anna/{LESSON}/timestamp.txt": b"03.12.2026",
        f"bo_{LESSON}.ipynb": solved("bo"),
        NAME: solved("whose"),
        "carla/data.bin": b"\0\1",
    }.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    assert collect(place) == 1
    out = capsys.readouterr().out
    found = tree(course)
    assert found[f"anna/{LESSON}/{NAME}"].read_bytes() == solved("anna")
    assert "is it 3 December 2026 or 12 March 2026?" in out
    assert found[f"bo/{LESSON}/{NAME}"].read_bytes() == solved("bo")
    assert f"{NAME} does not name its student" in out
    assert "data.bin (there is no notebook, but data.bin)" in out


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no hand-in"),
        ({"leeann_104_text.html": b"<p>"}, "text.html is text typed into Canvas"),
        (None, "there is no"),
        (b"Rar!", "neither a folder nor a zip archive"),
    ],
)
def test_what_is_no_archive_is_said(course, tmp_path, capsys, files, said):
    source = tmp_path / "all.zip"
    if files is not None:
        source.write_bytes(files if isinstance(files, bytes) else zipped(files))
    assert collect(source) == 2
    assert said in capsys.readouterr().err


def test_two_of_one_name_need_a_roster(course, tmp_path, capsys):
    files = {f"Ann Lee_{n}_assignsubmission_file_/{NAME}": solved(f"a{n}") for n in (1, 2)}
    (tmp_path / "all.zip").write_bytes(zipped(files))
    assert collect(tmp_path / "all.zip") == 1
    out = capsys.readouterr().out
    assert out.count("(several students are called Ann Lee (1, 2): give a --roster") == 2
    assert not any("ann" in path for path in tree(course))  # neither is taken for the other


def test_paths_that_lead_elsewhere_are_not_followed(course, tmp_path, capsys):
    files = {f"Ann Lee_1_assignsubmission_file_/{NAME}": solved("a"), "../../evil.ipynb": b"{}"}
    (tmp_path / "all.zip").write_bytes(zipped(files))
    assert collect(tmp_path / "all.zip") == 1
    assert not list(tmp_path.rglob("evil*"))
    assert "../../evil.ipynb has a path that leads elsewhere" in capsys.readouterr().out


def test_a_name_that_is_not_marked_as_utf_8_is_read(course, tmp_path, capsys):
    name = f"Jörg Müller_1_assignsubmission_file_/{NAME}"
    other = f"Zoë Lee_2_assignsubmission_file_/{NAME}"
    data = zipped({name: solved("j"), other: solved("z")}, days_apart=1)
    for mark in (b"PK\x03\x04\x14\x00", b"PK\x01\x02\x14\x03\x14\x00"):  # then come the flags
        assert mark + b"\x00\x08" in data
        data = data.replace(mark + b"\x00\x08", mark + b"\x00\x00")
    (tmp_path / "all.zip").write_bytes(data)
    assert collect(tmp_path / "all.zip") == 0
    assert set(tree(course)) >= {f"{who}/{LESSON}/{NAME}" for who in ("jörg-müller", "zoë-lee")}


def test_every_argument_has_a_help_text(capsys):
    with pytest.raises(SystemExit):
        cli.main(["collect", "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "ARCHIVE_OR_FOLDER what you downloaded from the platform, packed or unpacked" in out
