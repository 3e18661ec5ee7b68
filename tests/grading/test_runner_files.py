"""What of a submission's folder may enter a student's process: regular files, and not too many."""

import os
import socket
import subprocess
import sys

import pytest

from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run import student_files as files
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.student_files import gather_files, read_folder, write_files
from proflab_course.grading.run.subprocess_runner import SubprocessRunner


def test_links_pipes_sockets_and_notebooks_stay_outside(tmp_path, monkeypatch):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    folder = tmp_path / "me"
    (folder / "data").mkdir(parents=True)
    (folder / "data/a.csv").write_bytes(b"1,2")
    (folder / "x.ipynb").write_text("{}")
    (folder / "link.txt").symlink_to(secret)
    (folder / "all").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        assert read_folder(folder) == {"data/a.csv": b"1,2"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can link to another's file")
def test_a_hard_link_to_anothers_file_stays_outside_and_one_to_ones_own_does_not(tmp_path):
    theirs, mine, folder = tmp_path / "theirs", tmp_path / "mine", tmp_path / "me"
    folder.mkdir()
    theirs.write_text("secret")
    os.chown(theirs, 12345, 12345)
    mine.write_text("mine")
    os.link(theirs, folder / "a.txt")
    os.link(mine, folder / "b.txt")
    assert read_folder(folder) == {"b.txt": b"mine"}


def test_only_so_many_bytes_and_files_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILES_SIZE", 1000)
    monkeypatch.setattr(files, "MAX_FILES", 3)
    for number in range(9):
        (tmp_path / f"{number}").write_bytes(b"x" * (900 if number == 1 else 100))
    assert sorted(read_folder(tmp_path)) == ["0", "1"]
    (tmp_path / "1").unlink()
    assert sorted(read_folder(tmp_path)) == ["0", "2", "3"]


def test_folders_within_folders_end_somewhere(tmp_path):
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    (tmp_path / "a.txt").write_text("a")
    assert read_folder(tmp_path) == {"a.txt": b"a"}
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # shutil.rmtree gives up


SHADOWS = (
    "built/__init__.py", "built/x.py", "built.so", "built.abi3.so", "built.pyc",
    "built.cpython-311-x86_64-linux-gnu.so", "__pycache__/built.cpython-311.pyc",
    "given.py", "given/__init__.py", "given/tables.so", "given/tables/__init__.py",
    "given/__pycache__/tables.cpython-311.pyc",
)  # fmt: skip
BESIDE = ("build.py", "mine/built.py", "mine/built/__init__.py", "built.txt", "built/data.csv",
          "given/notes.md", "unbuilt.so", "mine/__init__.py")  # fmt: skip


def test_nothing_is_taken_that_shadows_a_support_module(tmp_path):
    mine, support = tmp_path / "mine", tmp_path / "support"
    for path in (*SHADOWS, *BESIDE):
        (mine / path).parent.mkdir(parents=True, exist_ok=True)
        (mine / path).write_text("forged")
    (support / "given").mkdir(parents=True)
    (support / "built.py").write_text("genuine")
    (support / "given/tables.py").write_text("genuine")
    found = gather_files(Submission("me", mine, support))
    genuine = {path for path, data in found.items() if data == b"genuine"}
    assert genuine == {"built.py", "given/tables.py"}
    bytecode = files.compiled({path: b"genuine" for path in genuine})
    assert {path: found.get(path) for path in bytecode} == bytecode
    assert found.keys() - genuine - bytecode.keys() == set(BESIDE)


@pytest.mark.parametrize("name", ["built.py", "built/__init__.py", "built.so"])
def test_built_is_never_the_students(tmp_path, name):
    """Where a lesson has none, it would hold the solutions of the next one's."""
    support, own = tmp_path / "support", tmp_path / "own"
    support.mkdir()
    (own / name).parent.mkdir(parents=True)
    (own / name).write_text("theirs")
    (own / "helper.py").write_text("theirs")
    assert set(gather_files(Submission("me", own, support))) == {"helper.py"}


def test_a_support_file_wins_over_a_students_file_or_folder_of_that_name(tmp_path):
    mine, support = tmp_path / "mine", tmp_path / "support"
    (mine / "built.py").mkdir(parents=True)
    (mine / "built.py/__init__.py").write_text("forged")
    (mine / "data").write_text("a file")
    (support / "data").mkdir(parents=True)
    (support / "data/table.csv").write_text("given")
    (support / "built.py").write_text("genuine")
    found = gather_files(Submission("me", mine, support))
    bytecode = files.compiled({"built.py": b"genuine"})
    assert found == {"built.py": b"genuine", "data/table.csv": b"given"} | bytecode
    write_files(found, tmp_path / "copy")
    assert (tmp_path / "copy/data/table.csv").read_text() == "given"


def test_a_folder_that_does_not_fit_costs_its_own_files_only(tmp_path):
    mine, support = tmp_path / "mine", tmp_path / "support"
    place = mine.joinpath(*["d" * 250] * 14)
    place.mkdir(parents=True)
    (place / ("n" * 250)).write_text("a path too long for elsewhere")
    for number in range(150):
        (mine / f"{number}" / "a" / "b" / "c").mkdir(parents=True)
        (mine / f"{number}" / "a" / "b" / "c" / "x").write_text("x")
    support.mkdir()
    (support / "built.py").write_text("ORIGIN = 'genuine'")
    limits = Limits(scratch_files=300)
    runners = [SubprocessRunner(limits)]
    if os.environ.get("PROFLAB_NO_SANDBOX_TESTS") != "1":
        runners.append(SandboxRunner(limits))
    for runner in runners:
        cell = RunCell("import built\nprint(built.ORIGIN)")
        result = runner.run(Submission("me", mine, support), (cell,))
        assert result.status == "finished"
        assert result.replies[0][0].outputs[0]["text"] == "genuine\n"
        runner.close()


def test_a_missing_folder_is_an_empty_one(tmp_path):
    assert gather_files(Submission("me", tmp_path / "gone", None)) == {}


# ── bytecode of the course's own modules ─────────────────────────────────────────────────────


def in_a_lesson(tmp_path, **own: str):
    """The files of a session: a lesson with built.py, and a hand-in with these files."""
    (tmp_path / "lesson").mkdir()
    (tmp_path / "lesson/built.py").write_text("answer = 41 + 1\n")
    for name, text in own.items():
        path = tmp_path / "mine" / name.replace("__", "/", 1).replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "mine").mkdir(exist_ok=True)
    return gather_files(Submission("ann", tmp_path / "mine", tmp_path / "lesson"))


def answer_in(place, *before: str) -> str:
    """What built.answer is in a process that starts in a session's folder, after some code."""
    words = [sys.executable, "-c", "; ".join([*before, "import built", "print(built.answer)"])]
    return subprocess.run(words, cwd=place, capture_output=True, text=True, check=True).stdout


def test_no_session_compiles_a_module_of_the_course(tmp_path):
    place = tmp_path / "session"
    write_files(in_a_lesson(tmp_path), place)
    refuse = ("import importlib.machinery as m", "m.SourceFileLoader.source_to_code = None")
    assert answer_in(place, *refuse).strip() == "42"


def test_a_program_of_ones_own_in_the_place_of_the_courses_is_what_runs(tmp_path):
    place = tmp_path / "session"
    write_files(in_a_lesson(tmp_path) | {"built.py": b"answer = 1 + 42\n"}, place)
    assert answer_in(place).strip() == "43"


def test_a_students_module_has_no_bytecode_and_one_that_is_no_python_is_left_alone(tmp_path):
    found = in_a_lesson(tmp_path, helper_py="x = 1\n")
    assert "helper.py" in found
    assert not [path for path in found if path.endswith(".pyc") and "built" not in path]
    assert files.compiled({"broken.py": b"def (", "data.csv": b"1,2"}) == {}


def test_bytecode_enters_sessions_alone(tmp_path):
    in_a_lesson(tmp_path)
    assert [*files.beside_support(tmp_path / "lesson", {})] == ["built.py"]
