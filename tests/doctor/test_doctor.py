"""What `proflab doctor` says, and that it says it of this machine."""

import pytest
from sandboxes import needs_sandbox

from proflab_course.cli import main
from proflab_course.doctor import layers
from proflab_course.grading.inside import confine
from proflab_course.grading.run import bubblewrap, cgroups
from proflab_course.grading.run import seccomp as syscalls

LAYERS = [
    "bubblewrap", "user namespaces", "seccomp", "Landlock", "resource limits", "cgroups",
]  # fmt: skip


@needs_sandbox
def test_doctor_names_every_layer_and_ends_with_what_can_be_done(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for name in [*LAYERS, "nested namespaces", "sandbox"]:
        assert name in said
    assert said.splitlines()[-1] == "Strangers' code can be graded here."


def test_without_bubblewrap_doctor_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(layers, "find_bubblewrap", lambda: None)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "✗ bubblewrap" in said and "apt install bubblewrap" in said
    assert "refuses without --no-sandbox" in said


def test_without_libseccomp_doctor_says_what_to_install(monkeypatch):
    def missing():
        raise syscalls.SeccompMissing("libseccomp is not installed: apt install libseccomp2")

    monkeypatch.setattr(layers, "seccomp_program", missing)
    layer = layers.seccomp()
    assert layer.state == "missing" and "apt install libseccomp2" in layer.sentence


@pytest.mark.parametrize("abi, state", [(0, "missing"), (5, "partly"), (7, "works")])
def test_landlock_is_named_by_what_the_kernel_has(monkeypatch, abi, state):
    monkeypatch.setattr(confine, "landlock_abi", lambda: abi)
    monkeypatch.setattr(layers, "succeeds", lambda action: True)
    assert layers.landlock().state == state


def test_without_cgroups_the_polling_is_named(monkeypatch):
    monkeypatch.setattr(cgroups.Group, "make", classmethod(lambda cls, name: None))
    assert layers.cgroups().state == "partly"
    assert "ten times a second" in layers.cgroups().sentence


def test_refused_namespaces_come_with_the_setting_to_change(monkeypatch, tmp_path):
    (tmp_path / "user").mkdir()
    (tmp_path / "user/max_user_namespaces").write_text("0\n")
    monkeypatch.setattr(layers, "succeeds", lambda action: False)
    monkeypatch.setattr(layers, "SETTINGS", tmp_path)
    assert "sysctl -w user.max_user_namespaces=10000" in layers.user_namespaces().sentence


def test_root_becomes_a_user_that_nobody_else_is(monkeypatch):
    monkeypatch.setattr(bubblewrap.os, "geteuid", lambda: 0)
    first, second = bubblewrap.unprivileged_user(0), bubblewrap.unprivileged_user(1)
    assert 1000 < first < second < 65_534
