"""Which platform wrote an archive, and whose each file is: what is not clear is refused by name."""

import pytest
from archives import (
    LESSON,
    NAME,
    blackboard,
    canvas,
    collect,
    gradescope,
    solved,
    students,
    tree,
    zipped,
)


def save(place, data, name="all.zip"):
    (place / name).write_bytes(data)
    return place / name


def handed_in(course):
    return {path.split("/")[0] for path in tree(course)} - {"README.md"}


def stamp(course, student):
    return (course / "submitted" / student / LESSON / "timestamp.txt").read_text()


# ── one student's names decide nothing ───────────────────────────────────────────────────────


def test_a_folder_inside_a_hand_in_is_no_platforms(course, tmp_path, capsys):
    """B adds a folder in Moodle's form, with A's name and later files."""
    inside = "B/A_42_assignsubmission_file_"
    files = {f"A/{NAME}": solved("a"), f"B/{NAME}": solved("b"), f"C/{NAME}": solved("c")}
    files |= {f"{inside}/{NAME}": solved("evil")}
    files |= {f"{inside}{n}/x_{n}_assignsubmission_file_y.txt": b"" for n in range(6)}
    assert collect(save(tmp_path, zipped(files))) == 0
    assert handed_in(course) == {"A", "B", "C"}
    assert tree(course)[f"A/{LESSON}/{NAME}"].read_bytes() == solved("a")
    assert "\nfolder: 3 taken" in capsys.readouterr().out


@pytest.mark.parametrize(
    "tops",
    [("bo", "b\u200bo"), ("jörg", "jo\u0308rg"), ("Anna", "anna")],
    ids=["an unseen mark", "two forms of one letter", "upper and lower case"],
)
def test_two_names_that_are_one_here_are_both_refused(course, tmp_path, capsys, tops):
    files = {f"{top}/{NAME}": solved(str(n)) for n, top in enumerate(tops)}
    files[f"cy/{NAME}"] = solved("cy")
    assert collect(save(tmp_path, zipped(files))) == 1
    assert handed_in(course) == {"cy"}
    out = capsys.readouterr().out
    assert " and ".join(sorted(map(repr, tops))) + " would both be the student" in out
    assert "rename one" in out


def test_two_display_names_with_one_number_are_both_refused(course, tmp_path, capsys):
    files = {f"{who}_7_assignsubmission_file/{NAME}": solved(who[:1]) for who in ("A A", "A. A'")}
    assert collect(save(tmp_path, zipped(files, days_apart=1))) == 1
    assert not handed_in(course)
    assert "would both be the student a-a" in capsys.readouterr().out


def test_two_names_of_one_file_cost_the_second(course, tmp_path, capsys):
    files = {f"bo/{NAME}": solved("bo"), "bo/data.csv": b"1", "bo/da\u200bta.csv": b"2"}
    assert collect(save(tmp_path, zipped(files))) == 1
    assert tree(course)[f"bo/{LESSON}/data.csv"].read_bytes() in (b"1", b"2")
    assert "bo/data.csv and another file of bo have one name here" in capsys.readouterr().out


# ── all names, or none, or an option ─────────────────────────────────────────────────────────


def test_names_of_two_kinds_need_the_option(course, tmp_path, capsys):
    files = {f"leeann_104_98766_{NAME}": solved("ann"), f"bo/{NAME}": solved("bo")}
    source = save(tmp_path, zipped(files))
    assert collect(source) == 2
    error = capsys.readouterr().err
    assert "holds names as Canvas writes them, but not bo" in error and "--platform" in error
    assert not handed_in(course)
    assert collect(source, "--platform", "canvas") == 1
    assert "is not named as Canvas names hand-ins" in capsys.readouterr().out
    assert handed_in(course) == {"104"}
    assert collect(source, "--platform", "folder") == 0
    assert "bo" in handed_in(course)


def test_an_archive_inside_a_folder_is_not_one_student(course, tmp_path, capsys):
    inner = {f"leeann_104_98766_{NAME}": solved("ann"), f"chenbo_105_98767_{NAME}": solved("bo")}
    source = save(tmp_path, zipped({f"Lesson one/{path}": d for path, d in inner.items()}))
    assert collect(source) == 2
    assert "one folder, Lesson one, with Canvas's archive inside" in capsys.readouterr().err
    assert collect(source, "--platform", "canvas") == 0
    assert handed_in(course) == {"104", "105"}


def test_a_class_inside_a_folder_is_not_one_student(course, tmp_path, capsys):
    source = save(tmp_path, zipped({f"mail/{who}/{NAME}": solved(who) for who in ("ann", "bo")}))
    assert collect(source) == 2
    assert "one folder, mail, with notebooks in ann, bo inside" in capsys.readouterr().err
    assert not handed_in(course) and not students(course)


def test_one_student_with_folders_of_lessons_is_one_student(course, tmp_path):
    (course / "source" / "02_flops").mkdir()
    files = {f"ann/{LESSON}/{NAME}": solved("a"), "ann/02_flops/02_flops.ipynb": b"{}"}
    assert collect(save(tmp_path, zipped(files))) == 0
    assert set(tree(course)) >= {f"ann/{LESSON}/{NAME}"}


@pytest.mark.parametrize("name", ["-rf", "=cmd()", "<img src=x>", "$(id)", "ann "])
def test_a_folders_name_that_is_no_id_is_refused(course, tmp_path, capsys, name):
    files = {f"{name}/{NAME}": solved("x"), f"bo/{NAME}": solved("bo")}
    assert collect(save(tmp_path, zipped(files))) == 1
    assert handed_in(course) == {"bo"} and set(students(course)) == {"bo"}
    assert f"{name!r} cannot be a student's id" in capsys.readouterr().out


def test_names_in_the_gradebook_run_in_no_spreadsheet(course, tmp_path):
    import csv

    from nbgrader.api import Gradebook
    from nbgrader.plugins.export import CsvExportPlugin

    files = {"=HYPERLINK(0)_4711": solved("x"), "+1 @SUM(A1)_4712": solved("y")}
    files = {f"{who}_assignsubmission_file/{NAME}": data for who, data in files.items()}
    assert collect(save(tmp_path, zipped(files, days_apart=1))) == 0
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        plugin = CsvExportPlugin()
        plugin.to = str(tmp_path / "grades.csv")
        plugin.export(gradebook)
    rows = list(csv.reader((tmp_path / "grades.csv").open()))
    assert len(rows) == 3 and any("HYPERLINK" in cell for row in rows for cell in row)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]


# ── Canvas ───────────────────────────────────────────────────────────────────────────────────


def test_canvas_keeps_underscores_in_names(course, tmp_path, capsys):
    assert collect(save(tmp_path, canvas({"o_the_hara_40136": solved("o")}))) == 0
    assert handed_in(course) == {"40136"}


def test_what_was_typed_into_canvas_is_named(course, tmp_path, capsys):
    files = {
        f"leeann_104_98766_{NAME}": solved("ann"),
        "chenbo_105_text.html": b"<p>",
        "chenbo_LATE_106_link.html": b"<a>",
    }
    assert collect(save(tmp_path, zipped(files))) == 1
    out = capsys.readouterr().out
    assert "chenbo_105_text.html is text typed into Canvas" in out
    assert "chenbo_LATE_106_link.html is a link that was handed in on Canvas" in out
    assert handed_in(course) == {"104"}


# ── Gradescope and Blackboard ────────────────────────────────────────────────────────────────

ANN, BO, CY = (
    ("Ann Lee", "s1000", "ann@x.org"),
    ("Bo Chen", "s1001", "bo@x.org"),
    ("Cy Dee", "s1002", "cy@x.org"),
)
GRADESCOPE = {
    ("901", "2026-11-20 06:15:10.123456000 Z", (ANN,)): solved("ann"),
    ("902", "2026-11-20 09:15:10.000000000 +01:00", (BO, CY)): solved("pair"),
}


def test_gradescope(course, tmp_path, capsys):
    assert collect(save(tmp_path, gradescope(GRADESCOPE)), "--timezone", "Asia/Tokyo") == 0
    assert handed_in(course) == {"s1000", "s1001", "s1002"}
    assert stamp(course, "s1000") == "2026-11-20 06:15:10 UTC\n"
    assert stamp(course, "s1002") == "2026-11-20 08:15:10 UTC\n"
    for member in ("s1001", "s1002"):
        assert tree(course)[f"{member}/{LESSON}/{NAME}"].read_bytes() == solved("pair")
    assert students(course)["s1000"] == ("Ann", "Lee", "ann@x.org")
    assert "Gradescope: 3 taken" in capsys.readouterr().out


def test_gradescope_with_a_roster(course, tmp_path, capsys):
    (tmp_path / "class.csv").write_text("student_id,email\nal,ann@x.org\nbc,bo@x.org\n")
    source = save(tmp_path, gradescope(GRADESCOPE))
    assert collect(source, "--roster", str(tmp_path / "class.csv")) == 1
    assert handed_in(course) == {"al", "bc"}
    assert "Cy Dee is not on the roster" in capsys.readouterr().out


def test_gradescope_without_its_metadata_is_refused(course, tmp_path, capsys):
    assert collect(save(tmp_path, gradescope(GRADESCOPE, metadata=False))) == 2
    assert "lacks submission_metadata.yml, which names the students" in capsys.readouterr().err
    assert not handed_in(course) and not students(course)


@pytest.mark.parametrize(
    "text", [b"a: [", b"- 1", b"\xff\xfe\x00", b"!!python/object/new:os.x [1]"]
)
def test_gradescopes_metadata_that_cannot_be_read_is_refused(course, tmp_path, capsys, text):
    top = "assignment_1_export"
    files = {f"{top}/submission_metadata.yml": text, f"{top}/submission_1/{NAME}": solved("a")}
    assert collect(save(tmp_path, zipped(files))) == 2
    assert "export again" in capsys.readouterr().err


def test_blackboard(course, tmp_path, capsys):
    hand_ins = {
        ("s1000", "Ann Lee", "2026-11-20-06-15-10"): solved("first"),
        ("s1000", "Ann Lee", "2026-11-21-06-15-10"): solved("last"),
        ("bo_chen", "Bo Chen", "2026-11-20-07-00-00"): solved("bo"),
    }
    assert collect(save(tmp_path, blackboard(hand_ins)), "--timezone", "UTC") == 0
    assert handed_in(course) == {"s1000", "bo_chen"}
    assert tree(course)[f"s1000/{LESSON}/{NAME}"].read_bytes() == solved("last")
    assert stamp(course, "s1000") == "2026-11-21 06:15:10 UTC\n"
    assert students(course)["bo_chen"] == ("Bo", "Chen", None)
    assert "is an earlier attempt" in capsys.readouterr().out


def test_blackboard_without_its_texts(course, tmp_path, capsys):
    """Nothing tells then where the assignment's name ends: chen is nobody's login."""
    names = [("s1000", ""), ("bo_chen", ""), ("cy_chen", "")]
    hand_ins = {(*who, "2026-11-20-06-15-10"): solved(who[0]) for who in names}
    assert collect(save(tmp_path, blackboard(hand_ins, about=False))) == 1
    assert handed_in(course) == {"s1000"}
    assert "would both be the student chen" in capsys.readouterr().out


# ── another lesson's archive ─────────────────────────────────────────────────────────────────


def test_another_lessons_archive_is_refused(course, tmp_path, capsys):
    def of(lesson, mark):
        return solved(mark).replace(
            f'"lesson": "{LESSON}"'.encode(), f'"lesson": "{lesson}"'.encode()
        )

    assert of("02_flops", "a") != solved("a")
    (course / "source" / "02_flops").mkdir()
    files = {f"{who}/{NAME}": of("02_flops", who) for who in ("ann", "bo")}
    source = save(tmp_path, zipped(files | {f"cy/{NAME}": solved("cy")}))
    assert collect(source) == 2
    assert "2 of 3 notebooks" in (said := capsys.readouterr().err)
    assert f"are of 02_flops, not of {LESSON}: collect them as 02_flops" in said
    assert not handed_in(course) and not students(course)
    # One of another lesson is that hand-in's affair, and keeps its name.
    files = {f"{who}/x.ipynb": solved(who) for who in ("ann", "bo")}
    source = save(tmp_path, zipped(files | {"cy/x.ipynb": of("02_flops", "cy")}))
    assert collect(source) == 0
    assert f"cy/{LESSON}/x.ipynb" in tree(course) and f"ann/{LESSON}/{NAME}" in tree(course)
    assert "x.ipynb is the notebook of 02_flops" in capsys.readouterr().out
    # A name that the course no longer has is an older release's.
    files = {f"{who}/old.ipynb": of("01_former", who) for who in ("eve", "fay")}
    assert collect(save(tmp_path, zipped(files))) == 0
    assert f"eve/{LESSON}/{NAME}" in tree(course)
