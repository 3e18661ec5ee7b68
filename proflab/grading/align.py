"""Lays a submission's cells beside the lesson's: which cell is which, and what was changed.

Cells are matched by `grade_id`. Where a copy has lost its metadata (Colab, an export and import),
locked cells are recognised by their text, exercises by the name that they define, and the essay by
its place. The grader's own locked cells always stand in for the student's.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field

from nbformat import NotebookNode

from proflab.grading.key import Key, KeyCell, meta


@dataclass
class Slot:
    """One cell of the notebook to be graded, and the lesson's cell that it stands for, if any."""

    cell: NotebookNode
    key: KeyCell | None = None


@dataclass
class Aligned:
    """The notebook to be graded; `recovered` and `changed` name the grade_ids concerned."""

    slots: list[Slot]
    recovered: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def align(notebook: NotebookNode, key: Key) -> Aligned:
    """The student's cells, in their order, with the grader's cells where they belong."""
    by_id = {c.grade_id: c for c in key.cells if c.grade_id}
    slots = [Slot(cell, by_id.get(meta(cell).get("grade_id", ""))) for cell in notebook.cells]
    aligned = Aligned(slots)
    had_metadata = any(slot.key is not None for slot in slots)
    drop_duplicates(aligned)
    recover(aligned, key)
    note_changes(aligned)
    insert_missing(aligned, key, had_metadata)
    for slot in aligned.slots:
        slot.cell = graded_cell(slot)
    return aligned


def matched(aligned: Aligned) -> dict[str, int]:
    """grade_id → position of its slot."""
    return {s.key.grade_id: i for i, s in enumerate(aligned.slots) if s.key is not None}


def drop_duplicates(aligned: Aligned) -> None:
    """Of cells with the same grade_id the last counts, as in nbgrader; the others are plain."""
    last = matched(aligned)
    for position, slot in enumerate(aligned.slots):
        if slot.key is not None and last[slot.key.grade_id] != position:
            if slot.key.kind == "test":
                aligned.changed.append(slot.key.grade_id)
            aligned.notes.append(f"cell {slot.key.grade_id} stands there twice; the last counts")
            slot.key = None


def recover(aligned: Aligned, key: Key) -> None:
    """Recognise cells that have lost their metadata."""
    missing = {
        c.grade_id: c for c in key.cells if c.grade_id and c.grade_id not in matched(aligned)
    }
    texts = {
        squeezed(c.released.source): c for c in missing.values() if c.kind in ("locked", "test")
    }
    for slot in aligned.slots:
        if slot.key is not None:
            continue
        found = texts.get(squeezed(slot.cell.source))
        if found is None and slot.cell.cell_type == "code":
            names = defined_names(slot.cell.source)
            found = next(
                (c for g, c in missing.items() if c.kind == "solution" and g in names), None
            )
        if found is not None and found.grade_id in missing:
            del missing[found.grade_id]
            slot.key = found
            aligned.recovered.append(found.grade_id)
    for cell in missing.values():
        if cell.kind == "manual":
            recover_by_place(aligned, key, cell)


def recover_by_place(aligned: Aligned, key: Key, wanted: KeyCell) -> None:
    """The essay is the first free cell of its type between its neighbours in the lesson."""
    place = key.cells.index(wanted)
    positions = matched(aligned)
    before = [positions[c.grade_id] for c in key.cells[:place] if c.grade_id in positions]
    after = [positions[c.grade_id] for c in key.cells[place + 1 :] if c.grade_id in positions]
    start = max(before) + 1 if before else 0
    end = min((p for p in after if p >= start), default=len(aligned.slots))
    prompts = {squeezed(c.released.source) for c in key.cells if c is not wanted}
    for slot in aligned.slots[start:end]:
        same_type = slot.cell.cell_type == wanted.released.cell_type
        if slot.key is None and same_type and squeezed(slot.cell.source) not in prompts:
            slot.key = wanted
            aligned.recovered.append(wanted.grade_id)
            return


def note_changes(aligned: Aligned) -> None:
    """Note graded cells whose text, flags or points are no longer the lesson's."""
    for slot in aligned.slots:
        if slot.key is None or slot.key.grade_id in aligned.recovered:
            continue
        theirs, ours = meta(slot.cell), meta(slot.key.released)
        flipped = [
            name
            for name in ("grade", "solution", "locked", "points")
            if name in theirs and ours.get(name, theirs[name]) != theirs[name]
        ]
        same_text = squeezed(slot.cell.source) == squeezed(slot.key.released.source)
        # The grader's own notebook (source/) holds the hidden cases: it is no edited copy.
        same_text = same_text or squeezed(slot.cell.source) == squeezed(slot.key.master.source)
        edited = slot.key.kind == "test" and not same_text
        if flipped or edited or slot.cell.cell_type != slot.key.master.cell_type:
            aligned.changed.append(slot.key.grade_id)
            what = "'s " + " and ".join(flipped) if flipped else ""
            aligned.notes.append(f"cell {slot.key.grade_id}{what} was changed; the original counts")


def insert_missing(aligned: Aligned, key: Key, had_metadata: bool) -> None:
    """Put back cells that were deleted, each after the cell that it follows in the lesson."""
    for place, wanted in enumerate(key.cells):
        positions = matched(aligned)
        if not wanted.grade_id or wanted.grade_id in positions:
            continue
        before = [positions[c.grade_id] for c in key.cells[:place] if c.grade_id in positions]
        released = copy.deepcopy(wanted.released)
        aligned.slots.insert(max(before) + 1 if before else 0, Slot(released, wanted))
        if wanted.kind != "locked":
            aligned.notes.append(f"cell {wanted.grade_id} was missing and was put back")
            if wanted.kind == "test" and had_metadata:
                aligned.changed.append(wanted.grade_id)


def graded_cell(slot: Slot) -> NotebookNode:
    """The cell as it is graded: the grader's own if it is locked, else the student's text."""
    if slot.key is None:
        cell = copied(slot.cell)
        cell.metadata.pop("nbgrader", None)
        return cell
    cell = copied(slot.key.master)
    if slot.key.kind in ("solution", "manual"):
        cell.source = slot.cell.source
        if "attachments" in slot.cell:
            cell["attachments"] = slot.cell["attachments"]
    return cell


def copied(cell: NotebookNode) -> NotebookNode:
    """A copy whose fields, and those of its metadata, can be set; what is below is shared."""
    return NotebookNode(cell, metadata=NotebookNode(cell.metadata))


def squeezed(text: str) -> str:
    """A cell's text without what editors change: trailing blanks and blank lines at the ends."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def defined_names(source: str) -> set[str]:
    """Functions and classes that a cell defines at top level.

    By their text: the parser can be crashed by what it is given, and this is a stranger's.
    """
    return set(re.findall(r"^(?:async\s+)?(?:def|class)\s+(\w+)", source, re.MULTILINE))
