"""The instructors' page: a private copy, without the sample class, and a tree for the students.

Where the page names a server, git is told of a folder on this machine.
"""

import re
import shutil
import subprocess

import pytest
from mini_course import FIRST, SECOND
from test_docs import LESSON, ROOT, blocks, copy_repository, run

pytestmark = pytest.mark.whole("build/test_docs.py")

PAGE = "docs/instructors.md"
SERVERS = ("git@example.org:your/private-course.git", "https://example.org/your/class.git")
COMMITTER = {"user.name": "A Teacher", "user.email": "teacher@example.org"}


def git(folder, *words: str) -> str:
    """Run git in a folder; returns what it printed."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The public course, and a clone of it in which the page is to be followed."""
    settings = COMMITTER | {"init.defaultBranch": "main", "pull.rebase": "false"}
    for number, server in enumerate(SERVERS):
        folder = tmp_path / f"server-{number}.git"
        git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "main", str(folder))
        settings[f"url.{folder}.insteadOf"] = server
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_COUNT", str(len(settings)))
    for number, (key, value) in enumerate(settings.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    public = copy_repository(tmp_path, {LESSON: FIRST, "02_second": SECOND})
    for name in (".gitattributes", ".gitignore"):
        shutil.copy(ROOT / name, public)
    git(public, "init", "--quiet")
    git(public, "add", ".")
    git(public, "commit", "--quiet", "-m", "The public course")
    private = tmp_path / "private"
    git(tmp_path, "clone", "--quiet", str(public), str(private))
    return public, private


def test_a_private_copy_loses_the_sample_class_and_goes_on_merging(places):
    public, private = places
    own, remove, *_ = (block for kind, block in blocks(PAGE) if kind == "by-git")
    [end_merge] = (block for kind, block in blocks(PAGE) if kind == "by-merge")
    run(own, private)
    run(remove, private)
    assert git(private, "ls-files", "submitted").split() == ["submitted/README.md"]
    (private / "submitted/s1234567" / LESSON).mkdir(parents=True)
    (private / "submitted/s1234567" / LESSON / f"{LESSON}.ipynb").write_text("private")
    assert git(private, "status", "--porcelain") == ""
    [sample] = public.glob("submitted/*/*/*.ipynb")
    sample.write_text("changed")
    git(public, "commit", "--quiet", "-a", "-m", "Change the sample class")
    with pytest.raises(AssertionError, match="CONFLICT"):
        run("git pull upstream main", private)
    run(end_merge, private)
    assert git(private, "ls-files", "submitted").split() == ["submitted/README.md"]
    assert git(private, "status", "--porcelain") == ""
    assert "Change the sample class" in git(private, "log", "--format=%s")
    assert (private / "submitted/s1234567" / LESSON / f"{LESSON}.ipynb").exists()


def test_a_class_tree_is_pushed_with_the_tag_that_its_links_name(places):
    _, private = places
    *_, hand_out = (block for kind, block in blocks(PAGE) if kind == "by-git")
    project = private / "pyproject.toml"
    text = re.sub(r'^version = ".*"$', 'version = "2026.1"', project.read_text(), flags=re.M)
    project.write_text(text)
    run(hand_out, private)
    server = private.parent / "server-1.git"
    assert git(server, "tag").split() == ["v2026.1"]
    handed_out = git(server, "show", f"main:release/{LESSON}/{LESSON}.ipynb")
    assert "v2026.1" in handed_out
    assert not git(server, "ls-tree", "main:release").count("02_second")
