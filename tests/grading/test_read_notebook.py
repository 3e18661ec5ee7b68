"""Whatever lies where a notebook should be has a name and a sentence."""

import json
import os

import pytest

from proflab_course.grading.submissions import read_notebook as handin
from proflab_course.grading.submissions.read_notebook import (
    HandIn,
    parse_bytes,
    parse_handin,
    read_bytes,
)

NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [{"cell_type": "code", "source": ["x = 1\n", "y"], "metadata": {}, "outputs": []}],
}


def read_handin(path):
    """What grading makes of the file at `path`."""
    data = read_bytes(path)
    return data if isinstance(data, HandIn) else parse_bytes(data, path.name)


@pytest.mark.parametrize(
    "content, outcome, sentence",
    [
        (b"", "not a notebook", "x.ipynb is empty"),
        (b"{not json", "not a notebook", "x.ipynb is not JSON (line 1)"),
        (b"[1, 2]", "not a notebook", "x.ipynb holds no notebook"),
        (b'{"cells": 3}', "not a notebook", "x.ipynb has no cells"),
        (b'{"nbformat": 5, "cells": []}', "not a notebook", "notebook format 5"),
        (b"\xff\xfe\x00\x80", "not a notebook", "x.ipynb is saved as UTF-16, not UTF-8, and"),
        (b"\xff\xfe\x00", "unreadable", "x.ipynb is damaged: it begins as UTF-16"),
        (b"\xff\xfe\x00\x00\x01", "unreadable", "x.ipynb is damaged: it begins as UTF-32"),
        (b"\xe4{}", "unreadable", "x.ipynb is not UTF-8 text: hand in a copy"),
        (b"\0" * 100, "not a notebook", "x.ipynb is saved as UTF-32, not UTF-8, and"),
        (b"%PDF-1.7\n", "not a notebook", "x.ipynb is a PDF: hand in the notebook itself"),
        (b"Rar!\x1a\x07", "not a notebook", "x.ipynb is a RAR archive, which is not opened"),
        (b"\x1f\x8b\x08", "not a notebook", "x.ipynb is a gzip archive"),
        (b"PK\x03\x04", "not a notebook", "x.ipynb is a zip archive"),
        (
            b"\n<!DOCTYPE html>",
            "not a notebook",
            "x.ipynb is a web page, not the notebook: download",
        ),
        (b"[" * 200_000, "not a notebook", "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_named(tmp_path, content, outcome, sentence):
    path = tmp_path / "x.ipynb"
    path.write_bytes(content)
    found = read_handin(path)
    assert found.notebook is None
    assert found.outcome == outcome
    assert sentence in found.sentence


def test_a_missing_file_is_named(tmp_path):
    assert read_handin(tmp_path / "x.ipynb").outcome == "missing"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret.ipynb").write_text(json.dumps(NOTEBOOK))
    (tmp_path / "x.ipynb").symlink_to(tmp_path / "secret.ipynb")
    found = read_handin(tmp_path / "x.ipynb")
    assert (found.outcome, found.notebook) == ("unreadable", None)
    assert "is a link" in found.sentence


def test_a_folder_and_a_pipe_are_no_files(tmp_path):
    (tmp_path / "x.ipynb").mkdir()
    assert read_handin(tmp_path / "x.ipynb").outcome == "unreadable"
    os.mkfifo(tmp_path / "pipe.ipynb")
    assert read_handin(tmp_path / "pipe.ipynb").outcome == "unreadable"


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(handin, "MAX_BYTES", 1000)
    (tmp_path / "x.ipynb").write_text(json.dumps(NOTEBOOK) + " " * 1000)
    found = read_handin(tmp_path / "x.ipynb")
    assert found.outcome == "unreadable"
    assert "clear its outputs" in found.sentence


def test_source_may_be_lines_and_a_byte_order_mark_is_fine(tmp_path):
    (tmp_path / "x.ipynb").write_bytes(b"\xef\xbb\xbf" + json.dumps(NOTEBOOK).encode())
    assert read_handin(tmp_path / "x.ipynb").notebook.cells[0].source == "x = 1\ny"


@pytest.mark.parametrize(
    "encoding, called",
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("utf-32-be", "UTF-32"),
        ("latin-1", "Latin-1 or Windows text"),
        ("cp1252", "Latin-1 or Windows text"),
    ],
)
def test_another_encoding_is_read_and_said(tmp_path, encoding, called):
    text = json.dumps(NOTEBOOK, ensure_ascii=False).replace("x = 1", "x = 'ä'")
    (tmp_path / "x.ipynb").write_bytes(text.encode(encoding))
    found = read_handin(tmp_path / "x.ipynb")
    assert found.notebook.cells[0].source == "x = 'ä'\ny"
    assert found.outcome == ""
    assert f"x.ipynb is saved as {called}, not UTF-8; it was read all the same" in found.sentence


def test_a_version_3_notebook_is_read():
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "code", "input": "z = 3", "outputs": [], "language": "python"}
                ]
            }
        ],
    }
    assert parse_handin(json.dumps(old), "x.ipynb").notebook.cells[0].source == "z = 3"


def test_odd_cells_are_dropped_and_odd_metadata_ignored():
    cells = [
        7,
        {"cell_type": "poem", "source": "o"},
        {"cell_type": "code", "source": {"a": 1}},
        {"cell_type": "code", "source": "kept", "metadata": {"nbgrader": {"grade_id": ["x"]}}},
        {"cell_type": "code", "source": "lone \ud800 surrogate", "metadata": []},
    ]
    found = parse_handin(json.dumps(NOTEBOOK | {"cells": cells}), "x.ipynb").notebook
    assert [c.source for c in found.cells] == ["kept", "lone ? surrogate"]
    assert "nbgrader" not in found.cells[0].metadata


def test_outputs_that_were_handed_in_are_not_kept():
    forged = {"output_type": "stream", "name": "stdout", "text": "✅ all"}
    cells = [{"cell_type": "code", "source": "1", "metadata": {}, "outputs": [forged]}]
    assert (
        parse_handin(json.dumps(NOTEBOOK | {"cells": cells}), "x").notebook.cells[0].outputs == []
    )
