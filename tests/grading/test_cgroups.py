"""Memory cgroups: the files that are read and written, also where none are mounted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proflab_course.grading.run import cgroups
from proflab_course.grading.run.cgroups import Group

EVENTS = "low 0\nhigh 3\nmax 9\noom 2\noom_kill 7\n"


@pytest.fixture
def mount(tmp_path, monkeypatch):
    """Return a function that makes a folder which looks like the root of the hierarchy."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)

    def make(controllers: str = "cpu memory\n") -> Path:
        (tmp_path / "cgroup.subtree_control").write_text(controllers)
        return tmp_path

    return make


def test_limit_use_and_kills_are_found(mount):
    root = mount()
    group = Group.make("a")
    assert group is not None and group.path.parent == root
    assert int((group.path / "memory.max").read_text()) == 2**40
    group.limit(5_000_000)
    assert (group.path / "memory.max").read_text() == "5000000"
    (group.path / "memory.current").write_text("123\n")
    (group.path / "memory.events").write_text(EVENTS)
    assert (group.used(), group.kills()) == (123, 7)
    assert group.entry == str(group.path / "cgroup.procs")


def test_where_memory_is_not_handed_on_there_is_no_group(mount):
    mount("cpu\n")
    assert Group.make("a") is None


def test_where_nothing_is_mounted_there_is_no_group(mount):
    assert Group.make("a") is None


def test_a_user_other_than_root_gets_none(mount, monkeypatch):
    mount()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Group.make("a") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make cgroups")
def test_a_group_of_this_machine_starts_empty_and_goes_away():
    group = Group.make("test")
    if group is None:
        pytest.skip("no memory cgroup can be made here")
    assert group.kills() == 0 and Path(group.entry).read_text() == ""
    group.limit(10**9)
    group.remove()
    assert not group.path.exists()


def test_groups_of_graders_that_are_gone_are_removed(mount):
    root = mount()
    gone = root / f"{cgroups.PREFIX}99999999-0"
    mine = root / f"{cgroups.PREFIX}{os.getpid()}-0"
    gone.mkdir()
    mine.mkdir()
    assert Group.make("b") is not None
    assert mine.exists() and not gone.exists()
