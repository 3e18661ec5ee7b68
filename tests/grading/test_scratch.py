"""What a hidden block writes is undone before the next; what the notebook wrote stays."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from sandboxes import needs_sandbox

from proflab_course.cases.case import Step
from proflab_course.grading.inside import scratch
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import RunBlock, RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.zygote_client import SandboxProcesses

NOTEBOOK = """
import os, socket, time
open("mine.txt", "w").write("kept")
os.makedirs("d/e")
open("d/e/x", "w").write("1")
os.chmod("d", 0o500)
if os.fork() == 0:
    time.sleep(1000)

def lives(number):
    with open(f"/proc/{number}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"

# Where Python itself lies below /tmp, nobody writes there.
OPEN = [place for place in (".", "/tmp", "/dev/shm", "..") if os.access(place, os.W_OK)]

def look(n):
    seen = [len(OPEN) > 2]
    seen += [sorted(os.listdir(place)) for place in (".", "..")]
    seen += [os.listdir(place) for place in ("/tmp", "/dev/shm") if place in OPEN]
    seen += [open("mine.txt").read(), os.stat("mine.txt").st_mtime_ns == TIME]
    seen += [os.listdir("d/e"), len([p for p in os.listdir("/proc") if p.isdigit() and lives(p)])]
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.connect("\\0relay")
            seen.append("a relay")
    except OSError:
        pass
    for place in OPEN:
        open(f"{place}/note{n}", "w").write("asked")
    open("mine.txt", "w").write(f"changed by {n}")
    os.utime("mine.txt", ns=(n, n))
    os.chmod("d", 0o700)
    os.rename("d/e", f"e{n}")
    if os.fork() == 0:
        os.setsid()
        with socket.socket(socket.AF_UNIX) as relay:
            relay.bind("\\0relay")
            relay.listen()
            time.sleep(1000)
    time.sleep(0.05)
    return seen

TIME = os.stat("mine.txt").st_mtime_ns
"""


def block(number: int, hidden: bool = True) -> RunBlock:
    return RunBlock(hidden, (Step("value", f"look({number})"),))


@needs_sandbox
@pytest.mark.parametrize("nested", [True, False])
def test_each_hidden_block_finds_what_the_notebook_left_and_nothing_of_another(nested):
    with SandboxRunner(Limits(), nested=nested) as runner:
        plan = (RunCell(NOTEBOOK), block(1), block(2), RunCell("pass"), block(3))
        result = runner.run(Submission("x"), plan)
    assert result.status == "finished"
    for place, waiting in ((1, 3), (2, 2), (4, 1)):
        [reply] = result.replies[place]
        own = 1 + (not nested)  # number 1, and without namespaces of its own the session's first
        many, mine, above, *empty, text, same_time, below, alive = reply.value
        assert (many, mine, above) == (True, ["d", "mine.txt"], ["tmp", "work"]), place
        assert empty and not any(empty), place
        assert (text, same_time, below, alive) == ("kept", True, ["x"], own + waiting), place


@needs_sandbox
def test_what_cannot_be_tidied_up_is_one_hand_ins_outcome(monkeypatch):
    monkeypatch.setattr(SandboxProcesses, "tidy", lambda self, waiting: "TimeoutError: it goes on")
    with SandboxRunner(Limits()) as runner:
        result = runner.run(Submission("x"), (RunCell("look = abs"), block(1)))
    assert (result.status, result.replies[1][0].state) == ("tampered", "lost")
    assert "it goes on" in result.replies[1][0].message


def tree(root: Path) -> dict:
    """All below a folder: kind, mode, time, and content or target."""
    found = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content = None
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        marks = None if path.is_symlink() else (about.st_mode, about.st_mtime_ns)
        found[str(path.relative_to(root))] = stat.S_IFMT(about.st_mode), marks, content
    return found


@pytest.fixture
def kept(tmp_path):
    root = tmp_path / "root"
    (root / "a/b").mkdir(parents=True)
    (root / "a/b/file").write_bytes(b"content")
    (root / "a/secret").write_bytes(b"its own")
    (root / "a/secret").chmod(0)
    (root / "a").chmod(0o500)
    (root / "link").symlink_to("a/b/file")
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").write_text("not ours")
    os.utime(root / "a/b/file", ns=(5, 7))
    return root, scratch.keep(str(root), 10**6), tree(root)


def test_changes_of_every_kind_are_undone(kept, tmp_path):
    root, contents, before = kept
    (root / "a").chmod(0o700)
    (root / "a/b/file").write_bytes(b"CONTENT")
    (root / "a/secret").unlink()
    (root / "a/secret").mkdir()
    (root / "link").unlink()
    (root / "link").write_text("a file now")
    (root / "out").unlink()
    (root / "out").symlink_to("link")
    os.mkfifo(root / "pipe")
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").touch()
    (root / "sparse").touch()
    os.truncate(root / "sparse", 10**12)
    scratch.put_back(str(root), contents)
    assert tree(root) == before
    assert (tmp_path / "outside").read_text() == "not ours"


def test_links_lead_no_write_astray(kept, tmp_path):
    root, contents, before = kept
    (root / "a").chmod(0o700)
    (tmp_path / "elsewhere/b").mkdir(parents=True)
    os.rename(root / "a", root / "moved")
    (root / "a").symlink_to(tmp_path / "elsewhere")
    scratch.put_back(str(root), contents)
    assert tree(root) == before
    assert tree(tmp_path / "elsewhere").keys() == {"b"}


def test_deep_folders_and_large_files_are_not_kept(tmp_path):
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("y" * 200, dir_fd=place)
        place = os.open("y" * 200, os.O_RDONLY, dir_fd=place)
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 10**12)
    (tmp_path / "small").write_text("x")
    contents = scratch.keep(str(tmp_path), 1000)
    assert "small" in contents and "large" not in contents and len(contents) < 30
    scratch.put_back(str(tmp_path), contents)
    assert len(subprocess.check_output(["find", tmp_path], text=True).splitlines()) < 30
