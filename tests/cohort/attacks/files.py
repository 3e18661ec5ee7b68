"""Attacks on whoever reads the hand-in: files that are no notebooks, or notebooks that lie.

A maker gets the bytes of a notebook and the path where the hand-in should lie, and writes what is
handed in. `honest` says which notebook it is made from: one with every exercise right, which must
keep all points where `keeps` says so and may never get more, or the empty one, which must get none.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Maker = Callable[[dict, Path], None]


@dataclass(frozen=True)
class FileAttack:
    """One hand-in: its maker, the outcomes that it may have, and what happens to honest points."""

    name: str
    make: Maker
    statuses: tuple[str, ...]
    honest: bool = False
    keeps: bool = False


FILE_ATTACKS: list[FileAttack] = []


def hands_in(name: str, *statuses: str, honest: bool = False, keeps: bool = False):
    """Add the decorated maker to the corpus."""

    def add(make: Maker) -> Maker:
        FILE_ATTACKS.append(FileAttack(name, make, statuses, honest, keeps))
        return make

    return add


def raw(name: str, data: bytes, *statuses: str) -> None:
    """Add a hand-in of these bytes."""
    FILE_ATTACKS.append(FileAttack(name, lambda notebook, path: path.write_bytes(data), statuses))


def edits(name: str, *statuses: str, honest: bool = False, keeps: bool = False):
    """Add a hand-in made by changing a notebook in place."""

    def add(change: Callable[[dict], None]) -> Callable[[dict], None]:
        def make(notebook: dict, path: Path) -> None:
            notebook = copy.deepcopy(notebook)
            change(notebook)
            path.write_text(json.dumps(notebook), encoding="utf-8")

        FILE_ATTACKS.append(FileAttack(name, make, statuses, honest, keeps))
        return change

    return add


def marks(cell: dict) -> dict:
    """A cell's nbgrader metadata."""
    return cell["metadata"].get("nbgrader", {})


def graded(notebook: dict) -> list[dict]:
    """The cells that carry autograded points."""
    return [c for c in notebook["cells"] if marks(c).get("grade") and not marks(c).get("solution")]


NOT = "not a notebook"
BAD = "unreadable"
DEEP = b"[" * 200_000 + b"]" * 200_000

raw("nothing at all", b"", NOT)
raw("blanks", b" \n" * 1000, NOT)
raw("half a notebook", b'{"cells": [{"cell_type": "code", "sou', NOT)
raw("not UTF-8", b'{"cells": [], "metadata": {"x": "\xff\xfe"}}', "wrong lesson")
raw("neither UTF-8 nor JSON", b'{"cells": [], "metadata": {"x": "\xff\xfe"}', BAD)
raw("UTF-16", '{"cells": []}'.encode("utf-16"), "wrong lesson")
raw("zeros", b"\0" * 10_000, NOT)
raw("random bytes", random.Random(1).randbytes(50_000), BAD, NOT)
raw("an archive", b"PK\x03\x04" + bytes(1000), BAD, NOT)
raw("200,000 levels of lists", DEEP, NOT)
raw("200,000 levels of objects", b'{"a":' * 200_000 + b"1" + b"}" * 200_000, NOT)
raw("200,000 levels in the metadata", b'{"cells": [], "metadata": ' + DEEP + b"}", NOT)
raw("a list", b"[]", NOT)
raw("a number", b"17", NOT)
raw("NaN", b"NaN", NOT)
raw("an integer of a million digits", b'{"cells": ' + b"9" * 1_000_000 + b"}", NOT)
raw("cells that are no list", b'{"nbformat": 4, "cells": {"a": 1}}', NOT)
raw("format 99", b'{"nbformat": 99, "nbformat_minor": 0, "cells": [], "metadata": {}}', NOT)
raw(
    "50 MB of output",
    b'{"cells": [{"cell_type": "code", "source": "", "outputs": [{"text": "'
    + b"x" * 50_000_000
    + b'"}]}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    BAD,
)
raw("a million cells", b'{"nbformat": 4, "cells": [' + b"{}," * 1_000_000 + b"{}]}", BAD)


@hands_in("a link to the source", BAD, honest=True)
def _(notebook: dict, path: Path) -> None:
    path.symlink_to(path.parents[3] / "source" / path.parent.name / path.name)


@hands_in("a link to a device", BAD)
def _(notebook: dict, path: Path) -> None:
    path.symlink_to("/dev/zero")


@hands_in("a pipe", BAD)
def _(notebook: dict, path: Path) -> None:
    os.mkfifo(path)


@hands_in("a folder", BAD)
def _(notebook: dict, path: Path) -> None:
    path.mkdir()


@hands_in("3,000 folders within each other", "graded", honest=True, keeps=True)
def _(notebook: dict, path: Path) -> None:
    path.write_text(json.dumps(notebook))
    place = os.open(path.parent, os.O_RDONLY)
    for _ in range(3_000):  # deeper than a path is long, and than Python calls itself
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


@hands_in("12,000 files and 12,000 folders", "graded", honest=True, keeps=True)
def _(notebook: dict, path: Path) -> None:
    path.write_text(json.dumps(notebook))
    for number in range(12_000):
        (path.parent / f"{number}").mkdir()
        (path.parent / f"{number}.txt").touch()


@hands_in("a terabyte of nothing", "graded", honest=True, keeps=True)
def _(notebook: dict, path: Path) -> None:
    path.write_text(json.dumps(notebook))
    for name in ("data.bin", "timestamp.txt"):
        (path.parent / name).touch()
        os.truncate(path.parent / name, 10**12)


@hands_in("a terabyte of notebook", BAD)
def _(notebook: dict, path: Path) -> None:
    path.touch()
    os.truncate(path, 10**12)


@hands_in("a pipe for the time", "graded", honest=True, keeps=True)
def _(notebook: dict, path: Path) -> None:
    path.write_text(json.dumps(notebook))
    os.mkfifo(path.with_name("timestamp.txt"))


@hands_in("a time that no clock shows", "graded", honest=True, keeps=True)
def _(notebook: dict, path: Path) -> None:
    path.write_text(json.dumps(notebook))
    path.with_name("timestamp.txt").write_text("9" * 30 + "h")


@hands_in("no file", NOT)
def _(notebook: dict, path: Path) -> None:
    (path.parent / "other.ipynb").write_text("{}")


ANY = ("graded", "tampered", "metadata recovered")


@edits("no cells", *ANY)
def _(notebook: dict) -> None:
    notebook["cells"] = []


@edits("cells that are no cells", *ANY)
def _(notebook: dict) -> None:
    notebook["cells"] = [None, 1, "x", [], {}, {"cell_type": 3}, {"cell_type": "code"}]


@edits("sources that are no text", *ANY)
def _(notebook: dict) -> None:
    strange = ([1, None], {"a": 1}, None, 5, ["\ud800"])
    for number, cell in enumerate(notebook["cells"]):
        cell["source"] = strange[number % 5]


@edits("metadata that is none", *ANY)
def _(notebook: dict) -> None:
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = [None, [], "x", {"nbgrader": []}, {"nbgrader": {"grade_id": []}}][
            number % 5
        ]


@edits("deleted tests", *ANY, honest=True, keeps=True)
def _(notebook: dict) -> None:
    gone = {id(cell) for cell in graded(notebook)}
    notebook["cells"] = [cell for cell in notebook["cells"] if id(cell) not in gone]


@edits("lost metadata", "metadata recovered", honest=True, keeps=True)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}


@edits("tests that pass everything", "tampered")
def _(notebook: dict) -> None:
    for cell in graded(notebook):
        cell["source"] = "10"


@edits("tests replaced by passing ones of the same name", "tampered", "graded")
def _(notebook: dict) -> None:
    for cell in graded(notebook):
        double = copy.deepcopy(cell) | {"source": "10"}
        notebook["cells"].append(double)


@edits("edited points", "tampered", "graded")
def _(notebook: dict) -> None:
    for cell in graded(notebook):
        marks(cell)["points"] = 10**6


@edits("edited points of honest work", "tampered", "graded", honest=True, keeps=True)
def _(notebook: dict) -> None:
    for cell in graded(notebook):
        marks(cell)["points"] = 10**6


@edits("points that are no numbers", "tampered", "graded")
def _(notebook: dict) -> None:
    strange = (float("nan"), 1e400, "10", None, [1])
    for number, cell in enumerate(graded(notebook)):
        marks(cell)["points"] = strange[number % 5]


@edits("flipped flags", "tampered", "graded", honest=True, keeps=True)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        for flag in ("grade", "solution", "locked"):
            if flag in marks(cell):
                marks(cell)[flag] = not marks(cell)[flag]


@edits("solutions declared to be tests", *ANY)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        if marks(cell).get("solution"):
            marks(cell)["grade"], marks(cell)["points"] = True, 100
            cell["source"] = "100"


@edits("swapped names", *ANY)
def _(notebook: dict) -> None:
    marked = [marks(c) for c in notebook["cells"] if marks(c)]
    names = [found["grade_id"] for found in marked]
    for found, name in zip(marked, reversed(names), strict=True):
        found["grade_id"] = name


@edits("every cell twice", *ANY, honest=True)
def _(notebook: dict) -> None:
    notebook["cells"] = [c for cell in notebook["cells"] for c in (cell, copy.deepcopy(cell))]


@edits("an extra graded cell", *ANY)
def _(notebook: dict) -> None:
    extra = copy.deepcopy(graded(notebook)[0])
    marks(extra).update(grade_id="test_gift", points=1000)
    notebook["cells"].append(extra | {"source": "1000"})


@edits("scores already inside", *ANY)
def _(notebook: dict) -> None:
    for cell in graded(notebook):
        cell["outputs"] = [
            {
                "output_type": "execute_result",
                "data": {"text/plain": "10"},
                "metadata": {"proflab": {"hidden": {"label": "x", "passed": True}}},
                "execution_count": 1,
            }
        ]
        cell["metadata"]["nbgrader"]["score"] = 10
    notebook["metadata"]["nbgrader"] = {"score": 100, "max_score": 100}


@edits("pictures that are scripts", *ANY)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["attachments"] = {"x.png": {"image/png": "<script>alert(1)</script>"}, "y": 1}


@edits("a cell of 20 MB", *ANY)
def _(notebook: dict) -> None:
    cell = next(c for c in notebook["cells"] if marks(c).get("solution"))
    cell["source"] = "x = '" + "y" * 20_000_000 + "'"


@edits("source nested as deep as a parser goes", *ANY)
def _(notebook: dict) -> None:
    cell = next(c for c in notebook["cells"] if marks(c).get("solution"))
    cell["source"] = "(" * 5_000 + ")" * 5_000 + "\n" + "-" * 50_000 + "1"


@edits("null bytes and strange characters", *ANY)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and not marks(cell).get("locked"):
            cell["source"] = "\x00\x1b[2J\u202e x = 1 \ud800 \U000e0001"


@edits("pictures whose names, types and data are half characters", *ANY, honest=True, keeps=True)
def _(notebook: dict) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["attachments"] = {
                "\ud800.png": {"image/png": "eA=="},
                "a.png": {"image/\udfff": "eA=="},
                "b.png": {"image/png": "\ud83d"},
            }


@edits("pictures of 28 MB", *ANY, honest=True, keeps=True)
def _(notebook: dict) -> None:
    places = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    for cell in places:
        name, size = "p" * 1000, 28_000_000 // len(places)
        cell["attachments"] = {name: {"image/png": "eA==" * (size // 4)}}


@edits("two hundred thousand pictures without a name", *ANY, honest=True, keeps=True)
def _(notebook: dict) -> None:
    cell = next(c for c in notebook["cells"] if c["cell_type"] == "markdown")
    cell["attachments"] = {f"{n}": {"": ""} for n in range(200_000)}


@edits("1,900 cells, 28 MB of text", *ANY, honest=True, keeps=True)
def _(notebook: dict) -> None:
    text = {"cell_type": "markdown", "metadata": {}, "source": "\x01" * 2_400}
    notebook["cells"] += [text] * 1_900


raw("three million lists", b'{"nbformat": 4, "cells": [' + b"[]," * 3_000_000 + b"[]]}", BAD)
raw("ten million numbers", b'{"nbformat": 4, "cells": [' + b"0," * 10_000_000 + b"0]}", BAD)
