"""When the build itself fails: a crash at one lesson, a full disk, threads that parse."""

import errno
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from mini_course import FIRST, SECOND, changed, make_course, write_lesson
from parsing import watch_parsing

from proflab_course.build import audit, make, trial
from proflab_course.build.command import build, check
from proflab_course.cli import main
from proflab_course.course.layout import Course, CourseError


def files(root: Path) -> dict[str, bytes]:
    """Everything in source/ and release/."""
    paths = [p for step in ("source", "release") for p in (root / step).rglob("*") if p.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    build(course, audit="static")
    return course


@pytest.fixture
def course(built, tmp_path):
    """A built course in which both lessons were changed since."""
    shutil.copytree(built.root, tmp_path / "course")
    write_lesson(tmp_path / "course", "01_first", FIRST.replace("Areas", "Surfaces"))
    write_lesson(tmp_path / "course", "02_second", SECOND.replace("Volumes", "Bodies"))
    return Course(tmp_path / "course")


# ── as a student runs it ─────────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_an_import_that_only_students_need_stops_the_build(course):
    """The grader reads `expect_raises` as text, so that its own run does not miss the name."""
    told = changed(
        'expect("radius 0", circle(0), 0.0)',
        'expect_raises("a word", lambda: circle("a"), TypeError)',
    )
    write_lesson(course.root, "01_first", told)
    assert build(course, ["1"]) == ["01_first"]
    before = files(course.root)
    write_lesson(
        course.root, "01_first", told.replace("import expect, expect_raises", "import expect")
    )
    with pytest.raises(CourseError) as error:
        build(course)
    assert str(error.value) == (
        "modules/01_first/01_first.py, cell test_circle_2: in the solved release, run as students "
        "run it, it raises NameError: name 'expect_raises' is not defined"
    )
    assert files(course.root) == before


# ── a crash ──────────────────────────────────────────────────────────────────────────────────

CRASH = "AST constructor recursion depth mismatch (before=72, after=84)"


@pytest.fixture(params=["reading", "making", "executing", "judging"])
def crashing(request, monkeypatch):
    """A build that crashes at lesson 01, in one of its steps; return the audit that has it."""
    place, name = {
        "reading": (audit, "lesson_mistakes"),
        "making": (make, "generate_release"),
        "executing": (trial.SubprocessRunner, "run"),
        "judging": (trial, "_solved_mistakes"),
    }[request.param]
    original = getattr(place, name)

    def crash(*arguments, **options):
        concerned = [getattr(a, "support", a) for a in arguments]  # a submission has its folder
        if "01_first" in [getattr(a, "name", a) for a in concerned]:
            raise SystemError(CRASH)
        return original(*arguments, **options)

    monkeypatch.setattr(place, name, crash)
    return "full" if place is trial or place is trial.SubprocessRunner else "static"


@pytest.mark.whole
def test_a_crash_at_one_lesson_is_a_sentence_and_the_others_are_made(
    course, crashing, monkeypatch, capsys
):
    before = files(course.root)
    monkeypatch.chdir(course.root)
    assert main(["build", "--audit", crashing]) == 2
    assert capsys.readouterr().err.splitlines()[-2:] == [
        f"proflab build: 01_first was not made because the build failed (SystemError: {CRASH}): "
        "run `proflab build 01_first` again",
        "made: 02_second",
    ]
    after = files(course.root)
    changed = {name.split("/")[1] for name in after if after[name] != before.get(name)}
    assert changed == {"02_second"} and after.keys() == before.keys()
    assert not list(course.root.glob(".build-*"))


@pytest.mark.whole
def test_check_tells_of_a_crash(course, crashing):
    told = check(course, audit=crashing)
    assert "01_first was not made" in told[0] and "02_second.ipynb is out of step" in told[-1]
    assert not any("release/01_first" in sentence for sentence in told)


@pytest.mark.whole
def test_no_tree_is_made_without_one_of_its_lessons(course, crashing, tmp_path, monkeypatch):
    monkeypatch.chdir(course.root)
    words = ["build", "--through", "2", "--audit", crashing, "-o", str(tmp_path / "tree")]
    assert main(words) == 2
    assert not (tmp_path / "tree").exists()


@pytest.mark.whole
def test_no_thread_but_the_first_parses(course, monkeypatch):
    threads = watch_parsing(monkeypatch)
    build(course)
    assert threads == {threading.main_thread()}


# ── a full disk ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a file system of 3 MB of its own, where this account may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place]
    if os.geteuid() or subprocess.run(mounting, capture_output=True).returncode:
        pytest.skip("this account may not mount a file system; the next test needs none")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("left", [0, 20_000, 40_000])
def test_a_disk_that_is_full_is_told_in_a_sentence(course, small_disk, left, monkeypatch, capsys):
    root = small_disk / "course"
    shutil.copytree(course.root, root)
    free = shutil.disk_usage(small_disk).free
    (small_disk / "filler").write_bytes(bytes(free - left))
    before = files(root)
    monkeypatch.chdir(root)
    assert main(["build", "--audit", "static"]) == 2
    assert capsys.readouterr().err == (
        f"proflab build: the build cannot be written in {root}: the disk is full: make room, "
        "then run it again; nothing was changed\n"
    )
    assert files(root) == before and not list(root.glob(".build-*"))
    (small_disk / "filler").unlink()
    assert main(["build", "--audit", "static"]) == 0


@pytest.mark.parametrize("call", range(1, 12))
def test_wherever_the_disk_is_full_the_former_build_stays(course, call, monkeypatch, capsys):
    before = files(course.root)
    monkeypatch.chdir(course.root)
    count = 0

    def failing(original):
        def write(*arguments, **options):
            nonlocal count
            count += 1
            if count == call:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*arguments, **options)

        return write

    with monkeypatch.context() as patch:
        for place, name in ((Path, "write_text"), (Path, "rename"), (shutil, "copyfile")):
            patch.setattr(place, name, failing(getattr(place, name)))
        assert main(["build", "--audit", "static"]) == 2
    assert "the disk is full: make room" in capsys.readouterr().err
    assert files(course.root) == before and not list(course.root.glob(".build-*"))


@pytest.mark.whole
def test_a_package_that_is_missing_is_the_only_thing_told(tmp_path):
    source = FIRST.replace("import math\n", "import math\nimport no_such_package\n")
    course = make_course(tmp_path, {"01_first": source})
    with pytest.raises(CourseError) as error:
        build(course, ["1"])
    assert str(error.value) == (
        "modules/01_first/01_first.py, cell first_imports: in the solved notebook it raises "
        "ModuleNotFoundError: No module named 'no_such_package'; docs/write-a-lesson.md lists the "
        "packages that a lesson may import"
    )


def test_a_lesson_whose_cells_have_no_metadata_gets_one_sentence(tmp_path):
    bare = re.sub(r" nbgrader=\{.*?\}\n", "\n", FIRST)
    course = make_course(tmp_path, {"01_first": bare})
    with pytest.raises(CourseError) as error:
        build(course, ["1"])
    place = "modules/01_first/01_first.py: no cell has nbgrader's metadata in its header"
    assert str(error.value).startswith(place) and "\n" not in str(error.value)


def test_a_place_that_can_hold_no_folder_is_said_in_a_sentence(course, monkeypatch, capsys):
    monkeypatch.chdir(course.root)
    arguments = ["build", "--through", "1", "--audit", "static", "-o", "/proc/tree"]
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "proflab build: /proc can hold no new folder: choose another place\n"
    )


@pytest.mark.whole
def test_a_long_build_says_a_line_for_each_lesson(course, capsys):
    build(course)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "01_first: executed solved, released and empty",
        "02_second: executed solved, released and empty",
    ]
