"""Odd class lists, names and times in `proflab collect`: each one's outcome, never the class's."""

import os
import time
import zipfile

import pytest
from archives import LESSON, NAME, collect, solved, students, tree, zipped

from proflab_course.collect.roster import Roster
from proflab_course.course.layout import CourseError

CANVAS = {
    f"müllerjörg_101_98765_{LESSON}.ipynb": solved("joerg"),
    f"leeann_LATE_104_98766_{LESSON}.ipynb": solved("ann"),
}


def archive(place, files, **options):
    path = place / "all.zip"
    path.write_bytes(zipped(files, **options))
    return path


def roster(place, text):
    path = place / "roster.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def stamp(course, student):
    return (course / "submitted" / student / LESSON / "timestamp.txt").read_text()


def test_canvas_numbers_are_the_ids_without_a_roster(course, tmp_path, capsys):
    assert collect(archive(tmp_path, CANVAS)) == 0
    assert tree(course)[f"101/{LESSON}/{NAME}"].read_bytes() == solved("joerg")
    assert tree(course)[f"104/{LESSON}/{NAME}"].read_bytes() == solved("ann")
    assert "104  taken      leeann" in capsys.readouterr().out


def test_canvas_without_names(course, tmp_path, capsys):
    files = {
        f"anon_x1Yz2_98765_{LESSON}.ipynb": solved("a"),
        f"anon_LATE_abcDe_98766_{LESSON}.ipynb": solved("b"),
    }
    source = archive(tmp_path, files)
    assert collect(source) == 0
    assert tree(course)[f"x1Yz2/{LESSON}/{NAME}"].read_bytes() == solved("a")
    assert tree(course)[f"abcDe/{LESSON}/{NAME}"].read_bytes() == solved("b")
    assert students(course)["x1Yz2"] == (None, None, None)
    assert collect(source, "--roster", str(roster(tmp_path, "student_id,name\ns1,Ann Lee\n"))) == 1
    assert capsys.readouterr().out.count("end the anonymous grading") == 2


@pytest.mark.parametrize(
    "text",
    [
        "student_id,name\r\ns1,Jörg Müller\r\n\r\ns2,Ann Lee\r\n",
        "student_id;name\ns1;Müller, Jörg\ns2;Lee, Ann\n",
        '"name, as known";student_id;first name;last name\n;s1;Jörg;Müller\n;s2;Ann;Lee\n',
        "student_id\tlast_name\tfirst_name\rs1\tMüller\tJörg\rs2\tLee\tAnn\r",
        "sep=;\nlogin;full name\ns1;Jörg Müller\ns2;Ann Lee\n",
        "student_id\tname\ns1\tJörg Müller\ns2\tAnn Lee\n".encode("utf-16"),
        'Student,ID,Section\nPoints Possible,,\n"Müller, Jörg",101,A\n"Lee, Ann",104,A\n',
        "id,first_name,last_name\n104,Jörg,Müller\n101,Ann,Lee\n",  # ids, not Canvas's numbers
    ],
)
def test_class_lists_of_all_kinds(course, tmp_path, capsys, text):
    source = archive(tmp_path, CANVAS)
    assert collect(source, "--roster", str(roster(tmp_path, text))) == 0, capsys.readouterr().out
    joerg = next(id_ for id_, names in students(course).items() if names[0] == "Jörg")
    assert tree(course)[f"{joerg}/{LESSON}/{NAME}"].read_bytes() == solved("joerg")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column that identifies students"),
        ("name,points\nAnn,3\n", "no column that identifies students"),
        ("student_id,name,Student_ID\n1,Ann,2\n", "two columns called 'student_id'"),
        ("student_id,name\ns1,Ann\ns1,Bo\n", "the same id twice (s1)"),
        ("student_id,name\ns1,J\xf6rg\n".encode("latin-1"), "is not in UTF-8"),
        ("student_id,name\ns1," + 200_000 * "x", "is not a CSV that can be read"),
    ],
)
def test_a_class_list_that_cannot_be_understood_is_refused(tmp_path, text, said):
    with pytest.raises(CourseError) as error:
        Roster.read(roster(tmp_path, text))
    assert said in str(error.value)


def test_a_worksheet_as_moodle_writes_it_by_default(course, tmp_path, capsys):
    """There is no id number; the participant's is another for each assignment."""
    for number in (4711, 5811):
        text = f"Identifier,Full name,Email address\nParticipant {number},Ann Lee,ann@x.org\n"
        found = Roster.read(roster(tmp_path, text)).students
        assert [(s.id, s.number) for s in found] == [("ann", str(number))]
    # Another list's ids are not Moodle's numbers.
    files = {f"Ann Lee_4711_assignsubmission_file_/{NAME}": solved("ann")}
    text = "id,first_name,last_name,submitted\n4711,Bo,Chen,\ns2,Ann,Lee,2026-11-30 18:00\n"
    assert collect(archive(tmp_path, files), "--roster", str(roster(tmp_path, text))) == 0
    assert f"s2/{LESSON}/{NAME}" in tree(course)
    assert students(course)["4711"][:2] == ("Bo", "Chen")  # known, though nothing came in


def test_two_whom_the_roster_has_once_are_not_mixed_up(course, tmp_path, capsys):
    files = {f"Ann Lee_{n}_assignsubmission_file_/{NAME}": solved(f"a{n}") for n in (1, 2)}
    text = "student_id,name\ns1,Ann Lee\n"
    assert collect(archive(tmp_path, files), "--roster", str(roster(tmp_path, text))) == 1
    assert capsys.readouterr().out.count("several students are called Ann Lee (1, 2)") == 2
    assert not any(path.startswith("s1/") for path in tree(course))
    text = "student_id,name\ns1,Ann Lee\ns2,Ann Lee\n"
    assert collect(archive(tmp_path, files), "--roster", str(roster(tmp_path, text))) == 1
    assert "Ann Lee may be Ann Lee (s1) and Ann Lee (s2)" in capsys.readouterr().out
    text = "Identifier,Full name,ID number\nParticipant 1,Ann Lee,s1\nParticipant 2,Ann Lee,s2\n"
    assert (
        collect(archive(tmp_path, files, days_apart=1), "--roster", str(roster(tmp_path, text)))
        == 0
    )
    assert tree(course)[f"s2/{LESSON}/{NAME}"].read_bytes() == solved("a2")


def test_an_id_that_is_a_path_costs_one_hand_in(course, tmp_path, capsys):
    files = {
        f"{name}_{n}_assignsubmission_file_/{NAME}": solved(name)
        for n, name in enumerate(("Ann Lee", "Bo Chen", "Cy Dee"))
    }
    text = "student_id,name\n../../ann,Ann Lee\n..,Bo Chen\ns3,Cy Dee\n"
    assert collect(archive(tmp_path, files), "--roster", str(roster(tmp_path, text))) == 1
    out = capsys.readouterr().out
    assert "'../../ann' cannot be a student's id" in out and "'..' cannot" in out
    assert {path.split("/")[0] for path in tree(course)} - {"README.md"} == {"s3"}


def test_letters_that_are_not_seen(course, tmp_path, capsys):
    files = {
        f"{who}_assignsubmission_file_/{NAME}": solved(who[0])
        for who in ("Sara\u200c Ahmadi\u00a0Nia_1", "Bo Chen_2")
    }
    assert collect(archive(tmp_path, files, days_apart=1)) == 0
    assert f"sara-ahmadi-nia/{LESSON}/{NAME}" in tree(course)


def test_names_of_files_in_a_folder(course, tmp_path, capsys):
    place = tmp_path / "mail"
    place.mkdir()
    for name in ("anna.lee", "anna.smith"):
        (place / f"{name}_{LESSON}.ipynb").write_bytes(solved(name))
    (place / f"bo_{LESSON} (1).ipynb").write_bytes(solved("bo"))
    (place / "eve" / "02_flops").mkdir(parents=True)
    (place / "eve" / "02_flops" / "02_flops.ipynb").write_bytes(b"{}")
    (course / "source" / "02_flops").mkdir()
    assert collect(place) == 0
    for name in ("anna.lee", "anna.smith", "bo"):
        assert tree(course)[f"{name}/{LESSON}/{NAME}"].read_bytes() == solved(name)
    assert "02_flops.ipynb belongs to lesson 02_flops" in capsys.readouterr().out


def test_empty_damaged_and_impossible_files(course, tmp_path, capsys):
    files = {
        f"A A_1_assignsubmission_file_/{NAME}": b"",
        f"B B_2_assignsubmission_file_/{NAME}": solved("damaged"),
        f"C C_3_assignsubmission_file_/{NAME}": solved("c"),
        "C C_3_assignsubmission_file_/data": b"a file",
        "C C_3_assignsubmission_file_/data/below": b"and a folder",
        f"C C_3_assignsubmission_file_/{'long' * 70}.txt": b"",
        f"D D_4_assignsubmission_file_/{NAME}": solved("d"),
    }
    data = zipped(files)
    (tmp_path / "all.zip").write_bytes(data.replace(b"damaged", b"DAMAGED"))
    assert collect(tmp_path / "all.zip") == 1
    out = capsys.readouterr().out
    found = tree(course)
    assert found[f"a-a/{LESSON}/{NAME}"].read_bytes() == b""  # the grader says that it is empty
    assert f"{NAME} cannot be read (Bad CRC-32" in out
    assert not any(path.startswith("b-b") for path in found)
    assert found[f"c-c/{LESSON}/{NAME}"].read_bytes() == solved("c")
    assert "is also the name of a folder" in out and "has too long a name" in out
    assert f"d-d/{LESSON}/{NAME}" in found


def test_an_archive_under_lock_and_key(course, tmp_path, capsys):
    path = archive(tmp_path, {f"A A_1_assignsubmission_file_/{NAME}": solved("a")})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of encryption, in the file's head and in the list at the end
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    assert zipfile.is_zipfile(path)
    assert collect(path) == 1
    assert "is encrypted, password required" in capsys.readouterr().out


def test_a_file_without_a_name_costs_nobody_else(course, tmp_path, capsys):
    files = {f"ann/{NAME}": solved("ann"), "\0": b"", "\u200b": b""}
    assert collect(archive(tmp_path, files)) == 1
    assert f"ann/{LESSON}/{NAME}" in tree(course)
    assert "a file has a path that leads elsewhere, is too deep, or has no name" in (
        capsys.readouterr().out
    )


# ── times ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("at", "utc"),
    [
        ("2026-10-24-12-00-00", "2026-10-24 10:00:00 UTC"),  # summer
        ("2026-10-25-02-30-00", "2026-10-25 00:30:00 UTC"),  # comes twice: the earlier
        ("2026-10-25-12-00-00", "2026-10-25 11:00:00 UTC"),  # winter
        ("2026-03-29-02-30-00", "2026-03-29 01:30:00 UTC"),  # an hour that there is not
    ],
)
def test_the_clock_is_put_forward_and_back(course, tmp_path, capsys, at, utc):
    files = {f"Lesson 01_s1000_attempt_{at}_{NAME}": solved("ann")}
    assert collect(archive(tmp_path, files), "--timezone", "Europe/Zurich") == 0
    assert stamp(course, "s1000") == f"{utc}\n"
    spring, autumn = "no clock shows 2026-03-29 02:30", "clocks show 2026-10-25 02:30 twice"
    said = capsys.readouterr().out
    assert (spring in said, autumn in said) == ("03-29" in at, "25-02-30" in at)
    assert "02:30" not in at.replace("-", ":") or f"{utc[:16]} UTC was taken" in said


@pytest.fixture
def in_new_york(monkeypatch):
    """This machine stands in New York."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_an_unpacked_archive_tells_the_same_times(course, tmp_path, in_new_york):
    for who, day in (("Ann Lee_1", 30), ("Bo Chen_2", 25)):
        folder = tmp_path / "unpacked" / f"{who}_assignsubmission_file_"
        folder.mkdir(parents=True)
        (folder / NAME).write_bytes(solved("ann"))
        clock = time.mktime((2026, 11, day, 18, 4, 10, 0, 0, -1))  # as unzip sets it
        os.utime(folder / NAME, (clock, clock))
    assert collect(folder.parent, "--timezone", "Europe/Zurich") == 0
    assert stamp(course, "ann-lee") == "2026-11-30 17:04:10 UTC\n"


def test_without_a_zone_it_is_this_machines_and_can_be_mended(
    course, tmp_path, capsys, in_new_york
):
    files = {
        f"{who}_assignsubmission_file_/{NAME}": solved(who[0]) for who in ("Ann Lee_1", "Bo Chen_2")
    }
    source = archive(tmp_path, files, days_apart=1)
    assert collect(source) == 0
    assert stamp(course, "ann-lee") == "2026-11-30 23:04:10 UTC\n"
    zone = "note: times without a zone were read as EST, this machine's zone: give --timezone, or "
    assert zone in capsys.readouterr().out
    assert collect(source, "--timezone", "Europe/Zurich") == 0
    assert stamp(course, "ann-lee") == "2026-11-30 17:04:10 UTC\n"
    said = capsys.readouterr().out
    assert "the time of submission was 2026-11-30 23:04:10 UTC" in said
    assert "note: times without a zone were read as Europe/Zurich (--timezone)\n" in said
    assert not list((course / "downloaded" / LESSON).glob("replaced/*"))
    assert collect(source, "--timezone", "Mars/Olympus") == 2


def test_the_courses_zone_is_taken_and_the_class_is_set_beside_the_due_date(
    course, tmp_path, capsys, in_new_york
):
    files = {
        f"{who}_assignsubmission_file_/{NAME}": solved(who[0]) for who in ("Ann Lee_1", "Bo Chen_2")
    }
    source = archive(tmp_path, files, days_apart=1)
    (course / "private").mkdir()
    dates = course / "private/dates.toml"
    dates.write_text('zone = "Europe/Zurich"\ndue = { 01 = "2026-11-30 18:04" }\n')
    assert collect(source) == 0
    assert stamp(course, "ann-lee") == "2026-11-30 17:04:10 UTC\n"
    said = capsys.readouterr().out
    assert "note: times without a zone were read as Europe/Zurich (private/dates.toml)\n" in said
    due = "note: due 2026-11-30 18:04 Europe/Zurich (private/dates.toml): 1 of 2 hand-ins late\n"
    assert due in said or due.replace("1 of", "2 of") in said
    dates.write_text('zone = "Europe/Zurich"\ndue = { 01 = "2026-03-12 18:00" }\n')
    assert collect(source) == 0
    assert "note: all 2 hand-ins are late: is this the due date that " in capsys.readouterr().out
    dates.write_text('zone = "Europe/Zurich"\ndue = { 01 = "12.03.2026 18:00" }\n')
    assert collect(source) == 2
    assert "(is it 12 March 2026 or 3 December 2026?)" in capsys.readouterr().err


def test_an_id_that_a_spreadsheet_has_rounded_is_named(course, tmp_path, capsys):
    source = archive(tmp_path, {f"2.02412E+11/{LESSON}.ipynb": solved("ann")})
    text = "student_id,name\n2.02412E+11,Ann Lee\n20241234,Bo Chen\n"
    collect(source, "--roster", str(roster(tmp_path, text)))
    said = capsys.readouterr().out
    assert "note: " in said and "2.02412E+11: a spreadsheet has rounded numbers, so" in said


@pytest.mark.parametrize(
    ("said", "utc"),
    [
        ("2026-11-30 18:00", "2026-11-30 17:00:00 UTC"),
        ("2026-11-30 18:00 -05:00", "2026-11-30 23:00:00 UTC"),
        ("2026-11-30 18:00 America/New_York", "2026-11-30 23:00:00 UTC"),
        ("2026-11-30T18:00:00Z", "2026-11-30 18:00:00 UTC"),
        ("Monday, 30 November 2026, 6:00 PM", "2026-11-30 17:00:00 UTC"),
    ],
)
def test_the_rosters_times_give_canvas_its_own(course, tmp_path, capsys, said, utc):
    source = archive(tmp_path, {f"leeann_104_98766_{LESSON}.ipynb": solved("ann")})
    assert collect(source) == 0
    assert "Canvas's archive has no times" in capsys.readouterr().out
    text = f'student_id,canvas_id,name,submitted\n104,104,Ann Lee,"{said}"\n'
    options = ["--roster", str(roster(tmp_path, text)), "--timezone", "Europe/Zurich"]
    assert collect(source, *options) == 0
    assert "has no times" not in capsys.readouterr().out
    assert stamp(course, "104") == f"{utc}\n"


def test_a_students_own_timestamp_does_not_count(course, tmp_path, capsys):
    files = {
        f"leeann_104_98766_{LESSON}.ipynb": solved("ann"),
        "leeann_104_98767_timestamp.txt": b"2020-01-01 00:00:00 UTC",
    }
    assert collect(archive(tmp_path, files)) == 0
    assert not any(path.endswith("timestamp.txt") for path in tree(course))
    assert "timestamp.txt was handed in with it and does not count" in capsys.readouterr().out


def test_two_attempts_without_times_are_left_to_a_person(course, tmp_path, capsys):
    files = {f"1-9 - Ann Lee - {day} okt. 2026 09.15/{NAME}": solved(f"a{day}") for day in (3, 14)}
    assert collect(archive(tmp_path, files)) == 1
    assert capsys.readouterr().out.count("nobody knows which is the last") == 2
    assert not any("ann" in path for path in tree(course))
