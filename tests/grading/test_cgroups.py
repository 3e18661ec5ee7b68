"""Memory cgroups: what is read and written, for the version that is not mounted here, too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proflab_course.grading.run import cgroups
from proflab_course.grading.run.cgroups import Group

FILES = {
    2: ("memory.max", "memory.current", "memory.events"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"),
}
TOLD = {2: "low 0\nhigh 3\nmax 9\noom 2\noom_kill 7\n", 1: "oom_kill_disable 0\noom_kill 7\n"}


@pytest.fixture
def mounted(tmp_path, monkeypatch):
    """A function that makes folders which look like a controller's, and nothing else is there."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def mount(version: int, memory: bool = True) -> Path:
        folder = tmp_path / f"v{version}"
        folder.mkdir()
        (folder / "cgroup.subtree_control").write_text("cpu memory\n" if memory else "cpu\n")
        known = cgroups.MOUNTS[version]
        monkeypatch.setattr(cgroups, "MOUNTS", {version: (str(folder), *known[1:])})
        lines = "0::/\n" if version == 2 else "4:memory:/\n0::/\n"
        (tmp_path / "cgroup").write_text(lines)
        monkeypatch.setattr(cgroups, "OWN", str(tmp_path / "cgroup"))
        return folder

    return mount


@pytest.mark.parametrize("version", [1, 2])
def test_the_files_of_either_version_are_found(version, mounted):
    folder = mounted(version)
    group = Group.make("a")
    assert group is not None and group.path.parent == folder
    limit, used, events = (group.path / name for name in FILES[version])
    assert int(limit.read_text()) == 2**40
    group.limit(5_000_000)
    assert limit.read_text() == "5000000"
    used.write_text("123\n")
    events.write_text(TOLD[version])
    assert (group.used(), group.kills()) == (123, 7)
    assert group.entry == str(group.path / "cgroup.procs")


def test_where_version_2_does_not_hand_memory_on_there_is_no_group(mounted):
    mounted(2, memory=False)
    assert Group.make("a") is None


def test_who_is_not_root_gets_none(mounted, monkeypatch):
    mounted(2)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Group.make("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make cgroups")
def test_a_group_of_this_machine_starts_empty_and_goes_away():
    group = Group.make("test")
    if group is None:
        pytest.skip("no memory cgroup can be had here")
    assert group.kills() == 0 and Path(group.entry).read_text() == ""
    group.limit(10**9)
    group.remove()
    assert not group.path.exists()


def test_groups_of_graders_that_are_gone_are_removed(mounted):
    folder = mounted(1)
    gone = folder / f"{cgroups.PREFIX}99999999-0"
    mine = folder / f"{cgroups.PREFIX}{os.getpid()}-0"
    gone.mkdir()
    mine.mkdir()
    assert Group.make("b") is not None
    assert mine.exists() and not gone.exists()
