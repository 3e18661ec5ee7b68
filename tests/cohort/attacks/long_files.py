"""Attacks on whoever reads the hand-in: files that are long, or many, and cost time and memory."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

from cohort.attacks.files import ANY, edits, graded, hands_in, marks


def exercises(notebook: dict) -> list[dict]:
    """The cells in which exercises are written."""
    return [c for c in notebook["cells"] if marks(c).get("solution") and not marks(c).get("grade")]


@edits("ten cells of blanks that a tokenizer reads for hours", *ANY, honest=True)
def _(notebook: dict) -> None:
    first = exercises(notebook)[0]
    notebook["cells"].remove(first)
    name, text = marks(first)["grade_id"], "y = 1" + " " * 49_900 + "$"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": f"# {name}\n{text}"}
    notebook["cells"] += [cell] * 10


@edits("24 MB of exercises' names, and no exercise", *ANY)
def _(notebook: dict) -> None:
    names = [marks(cell)["grade_id"] for cell in exercises(notebook)]
    notebook["cells"] = [c for c in notebook["cells"] if marks(c).get("grade_id") not in names]
    text = "\n".join(names * (400_000 // len("\n".join(names))))
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": f"'{text}'"}
    notebook["cells"] += [cell] * 60


def _archive_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@hands_in("sixty archives of 60 MB each", "renamed")
def _(notebook: dict, path: Path) -> None:
    data = {path.name: json.dumps(notebook).encode(), "data.bin": bytes(60 * 1024**2)}
    packed = _archive_of(data)
    for number in range(60):
        (path.parent / f"{number}.zip").write_bytes(packed)


@hands_in("two thousand notebooks in an archive", "several notebooks")
def _(notebook: dict, path: Path) -> None:
    own = {"cell_type": "raw", "metadata": {}}
    texts = ([*graded(notebook)[:2], own | {"source": f"{n}"}] for n in range(1_900))
    files = {f"{n}.ipynb": json.dumps({"cells": cells}) for n, cells in enumerate(texts)}
    path.with_suffix(".zip").write_bytes(_archive_of(files))
