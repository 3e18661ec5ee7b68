"""A sample of the attacks where a layer is missing; and that docs/security.md says what follows."""

from __future__ import annotations

import os
import re

import pytest
from attack_modes import MODES, ROOT, SAMPLE, got_further, whole
from cohort.attacks import ATTACKS
from sandboxes import needs_sandbox

from proflab_course.grading.run.zygote_client import SandboxProcesses

LONG = {"inodes"}  # a million files, where nothing limits them: left to `make soak`


@pytest.mark.whole
@needs_sandbox
@pytest.mark.parametrize("name", MODES)
def test_the_sample_gets_no_further_than_the_mode_allows(name):
    if name == "as an ordinary user" and os.geteuid() != 0:
        pytest.skip("they are all run as one")
    if name == "through Dask":
        pytest.importorskip("distributed")
    mode = MODES[name]
    further = {*mode.further} - LONG
    wanted = {*SAMPLE, *further}
    found = mode.run([attack.name for attack in ATTACKS if attack.name in wanted])
    assert found.keys() == wanted
    assert got_further(found).keys() == further, got_further(found)


@needs_sandbox
def test_notes_between_hidden_blocks_are_found_where_nothing_is_undone(monkeypatch):
    """The attacks of this kind are real: it is the tidying that stops them."""
    monkeypatch.setattr(SandboxProcesses, "tidy", lambda self, waiting: "")
    found = whole([attack.name for attack in ATTACKS if "SECOND" in "".join(attack.cells)])
    assert len(found) >= 6
    assert {*map(tuple, found.values())} == {("it passed 'hidden: two numbers'",)}


def table() -> dict[str, tuple[str, ...]]:
    """The document's table of layers: what is missing, and the attacks that then get further."""
    text = (ROOT / "docs/security.md").read_text()
    layers = text.split("## If a layer")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$", layers, re.M)
    return {
        missing: () if names == "none" else tuple(names.split("; "))
        for missing, names in rows
        if missing != "missing layer"
    }


def test_the_document_says_of_each_layer_what_the_modes_show():
    shown = {mode.row: mode.further for mode in MODES.values() if mode.row}
    said = table()
    assert said.pop("bubblewrap, or user namespaces") == ("none, because grading refuses",)
    assert said == shown


def test_the_sample_and_the_exceptions_are_of_the_corpus():
    names = {attack.name for attack in ATTACKS}
    assert names >= {*SAMPLE, *(name for mode in MODES.values() for name in mode.further)}
