"""Every command that writes: what it cannot write on costs one sentence and status 2."""

import io
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from archives import collect, solved, zipped
from grading_course import LESSON, ROOT, copy_course, grade
from small_disks import small_disk

from proflab_course import cli
from proflab_course.course.files import replace_file

GRADES = "Student,ID,SIS Login ID,01 Parameters (55)\nA,1,complete,\n"
# Of each command its words, with a place that cannot be written on.
WRITERS = {
    "export --code": ["export", "01", "--code", "{place}/code"],
    "export --canvas": ["export", "01", "--canvas", "grades.csv", "-o", "{place}/x.csv"],
    "report": ["report", "01", "-o", "{place}/page.html"],
    "assemble": ["assemble", "release", "-o", "{place}/mine.py"],
    "build --through": ["build", "--through", "01", "--audit", "static", "-o", "{place}/tree"],
}


def test_what_is_stopped_says_so_and_ends_as_a_shell_expects(monkeypatch, capsys):
    def stopped(name, words):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run_command", stopped)
    assert cli.main(["grade", "01"]) == 130
    assert capsys.readouterr().err == "proflab grade: stopped; run it again to go on\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("course"), ["complete"])
    for name in ("modules", "pyproject.toml"):
        (course.root / name).symlink_to(ROOT / name)
    (course.root / "grades.csv").write_text(GRADES)
    grade(course)
    return course


def run(course, words, place, monkeypatch):
    monkeypatch.chdir(course.root)
    return cli.main([word.format(place=place) for word in words])


def sentence(capsys):
    """The one line that was said, and that it is a sentence with something to do."""
    out, error = capsys.readouterr()
    assert "Traceback" not in out + error
    (line,) = error.splitlines()
    assert re.match(r"proflab \w+: .+", line)
    return line


@pytest.mark.whole
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_in_place_of_a_folder(graded, tmp_path, monkeypatch, capsys, name):
    (tmp_path / "afile").write_text("mine")
    assert run(graded, WRITERS[name], tmp_path / "afile", monkeypatch) == 2
    assert "afile" in sentence(capsys)
    assert (tmp_path / "afile").read_text() == "mine"


def test_a_folder_for_code_that_is_a_file(graded, tmp_path, monkeypatch, capsys):
    (tmp_path / "code").write_text("mine")
    assert run(graded, WRITERS["export --code"], tmp_path, monkeypatch) == 2
    said = sentence(capsys)
    assert f"there is a file in place of the folder {tmp_path / 'code'}: choose another" in said


def test_a_folder_that_is_not_there(graded, tmp_path, monkeypatch, capsys):
    assert run(graded, WRITERS["export --canvas"], tmp_path / "no", monkeypatch) == 2
    assert f"there is no folder {tmp_path / 'no'}: make it" in sentence(capsys)


@pytest.mark.parametrize("name", [".", ".."])
def test_the_working_folder_is_no_file(graded, monkeypatch, capsys, name):
    assert run(graded, ["export", "01", "--canvas", "grades.csv", "-o", name], "", monkeypatch) == 2
    assert f"{name} is a folder, or in use: choose a file" in sentence(capsys)


def test_a_folder_in_place_of_a_file(graded, tmp_path, monkeypatch, capsys):
    (tmp_path / "x.csv").mkdir()
    assert run(graded, WRITERS["export --canvas"], tmp_path, monkeypatch) == 2
    assert f"{tmp_path / 'x.csv'} is a folder: choose a file" in sentence(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path, megabytes=2) as place:
        yield place


def fill(disk):
    with (disk / "ballast").open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.whole
@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(graded, disk, monkeypatch, capsys, name):
    (disk / "full").mkdir()
    fill(disk)
    assert run(graded, WRITERS[name], disk / "full", monkeypatch) == 2
    said = sentence(capsys)
    assert "the disk is full: make room" in said and str(disk) in said


@pytest.mark.whole
@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_may_only_be_read(graded, disk, monkeypatch, capsys, name):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert run(graded, WRITERS[name], disk, monkeypatch) == 2
    assert "ead-only file system" in sentence(capsys)


@pytest.fixture
def small_course(disk, monkeypatch):
    course = copy_course(disk, [])
    monkeypatch.chdir(course.root)
    return course


def archive(tmp_path):
    (tmp_path / "all.zip").write_bytes(zipped({f"ann/{LESSON}.ipynb": solved("a" * 100)}))
    return tmp_path / "all.zip"


def test_collecting_onto_a_full_disk(small_course, disk, tmp_path, capsys):
    fill(disk)
    assert collect(archive(tmp_path)) == 2
    assert "the disk is full: make room, then run it again" in sentence(capsys)
    (disk / "ballast").unlink()
    assert collect(archive(tmp_path)) == 0
    assert (small_course.root / "submitted" / "ann" / LESSON / f"{LESSON}.ipynb").exists()


def test_collecting_onto_what_may_only_be_read(small_course, disk, tmp_path, capsys):
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert collect(archive(tmp_path)) == 2
    assert "ead-only file system" in sentence(capsys)


def test_an_error_names_the_file_that_was_meant(tmp_path):
    with pytest.raises(OSError) as caught:
        replace_file(tmp_path / "no" / "x.csv", b"")
    assert caught.value.filename == str(tmp_path / "no" / "x.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    """As /dev/null and /dev/stdout: whose rights allow it, a rename would put a file there."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, b"grades")
        assert os.read(reader, 100) == b"grades" and pipe.is_fifo()
    finally:
        os.close(reader)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="this system has no /dev")
def test_nothing_is_put_in_the_place_of_a_device(monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *names: pytest.fail("a file was put there"))
    monkeypatch.setattr("tempfile.mkstemp", lambda **where: pytest.fail("a file was made there"))
    replace_file(Path(os.devnull), b"grades")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no such folder here")
def test_a_file_in_shared_memory_is_written_whole_or_not_at_all(monkeypatch):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        path = Path(place, "grades.csv")
        path.write_text("the former")
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError):
            replace_file(path, b"new")
        assert path.read_text() == "the former"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
def test_a_page_goes_into_a_pipe_by_its_link(graded, tmp_path, monkeypatch, capsys):
    """As `proflab report 01 -o /dev/stdout | less`."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as pipe, ThreadPoolExecutor(1) as pool:
        page = pool.submit(pipe.read)
        status = run(graded, ["report", "01", "-o", f"/dev/fd/{writer}"], "", monkeypatch)
        os.close(writer)
        assert status == 0, capsys.readouterr().err
        assert b"results" in page.result()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_device_that_takes_nothing_is_named():
    with pytest.raises(OSError) as caught:
        replace_file(Path("/dev/full"), b"grades")
    assert caught.value.filename == "/dev/full"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
def test_a_reader_that_has_seen_enough_ends_nothing():
    """As `proflab report 01 -o /dev/stdout | head -1`."""
    reader, writer = os.pipe()
    with ThreadPoolExecutor(1) as pool:
        seen = pool.submit(lambda: (os.read(reader, 1), os.close(reader)))
        replace_file(Path(f"/dev/fd/{writer}"), bytes(10**7))  # more than a pipe holds
        os.close(writer)
        assert seen.result()[0] == b"\0"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
def test_a_link_in_dev_stays_one_though_it_leads_to_a_file(tmp_path, monkeypatch):
    """As /dev/stdout where a shell's > names a file."""
    monkeypatch.setattr("tempfile.mkstemp", lambda **where: pytest.fail("a file was made there"))
    with (tmp_path / "out").open("wb") as file:
        replace_file(Path(f"/dev/fd/{file.fileno()}"), b"grades")
    assert (tmp_path / "out").read_bytes() == b"grades"


def test_a_fault_of_the_program_is_not_taken_for_the_disks(graded, monkeypatch):
    def broken(_):
        raise ConnectionResetError("a bug")

    monkeypatch.setattr("proflab_course.export.command.run", broken)
    monkeypatch.chdir(graded.root)
    with pytest.raises(ConnectionResetError):
        cli.main(["export", "01", "--code", "x"])


@pytest.mark.parametrize("at_once", [True, False])
def test_a_reader_that_has_seen_enough_ends_no_work(graded, tmp_path, monkeypatch, capsys, at_once):
    """As in `proflab questions 01 --guesses | head -0`: nobody reads, and all files are written."""
    begin, end = os.pipe()
    os.close(begin)
    with io.TextIOWrapper(os.fdopen(end, "wb"), write_through=at_once) as unread:
        monkeypatch.setattr(sys, "stdout", unread)
        words = ["questions", "01", "--guesses", "-o", "{place}"]
        assert run(graded, words, tmp_path, monkeypatch) == 0
        monkeypatch.undo()
    assert len([*tmp_path.glob("01-guesses*")]) == 3
    assert capsys.readouterr().err == ""
