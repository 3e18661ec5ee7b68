"""Match a submission's cells with the lesson's, and note what was changed.

Cells are matched by `grade_id`. Where a copy has lost its metadata (Colab, an export and import),
locked cells are recognised by their text, exercises by the name that they define, and the essay by
its place. The grader's locked cells always replace the student's. A deleted exercise is
put back as it was released, unless another cell of the student's defines its name.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field

from nbformat import NotebookNode

from proflab.lesson.outline import squeezed
from proflab_course.course.release_stamp import is_former_release, release_digest
from proflab_course.course.words import few
from proflab_course.grading import given_code
from proflab_course.grading.answer_key import FORMER, Key, KeyCell, meta
from proflab_course.grading.defined_names import (
    may_define_unseen,
    names_in_each,
    word_pattern,
)

WHOLE = "the whole lesson was handed in; its other exercises were not graded"
_FEWEST = 2  # recognised cells by which a notebook is more than one that has a name in common
# The tests of answers to concept questions: in older releases each has a cell of its own, without
# the question's id, and a cell of another track or release has other questions.
_ONE_ANSWER = re.compile(r'expect\("an answer, A to D", choice\(concept_\w+\) in "ABCD", True\)')
_OF_ANSWERS = re.compile(
    r'(?:from proflab\.lesson import choice|expect\("(?:[\w.]+: )?an answer, A to D", '
    r'choice\(concept_\w+(?:, "[\w.]+")?\) in "ABCD", True\)|\s)*'
)
_IMPORT = re.compile(r"(?:from [\w.]{1,99} )?import [\w., ]{1,400}")


@dataclass
class Slot:
    """One cell of the notebook to be graded, and the lesson's cell that it stands for, if any.

    once_given: imports that an older release has in this cell and today's has not.
    earns: False for a test of an exercise whose code the hand-in's own track gave, and for one that
    older releases have for each concept question: neither is executed.
    """

    cell: NotebookNode
    key: KeyCell | None = None
    once_given: str = ""
    earns: bool = True

    @property
    def keeps_text(self) -> bool:
        """Return True for a cell whose text is the student's when it is graded."""
        return self.key is None or self.key.kind in ("solution", "manual")


@dataclass
class Aligned:
    """The notebook to be graded; `recovered` and `changed` name the grade_ids concerned.

    former: it is an earlier release of the lesson, and its released cells are unchanged.
    given: the exercises whose code the hand-in's own track gave, so that they earn nothing.
    once: the test cells that are graded as the hand-in's release had them.
    """

    slots: list[Slot]
    recovered: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    former: bool = False
    given: list[str] = field(default_factory=list)
    once: list[str] = field(default_factory=list)

    def note_change(self, grade_id: str, sentence: str) -> None:
        """Record that a graded cell differs from today's; an older release is not tampering."""
        self.changed.append(grade_id)
        if not self.former:
            self.notes.append(sentence)


def align(notebook: NotebookNode, key: Key) -> Aligned:
    """Return the student's cells in their order, with the grader's cells in their places."""
    return as_graded(match(notebook, key), key)


def digest_of(key: Key) -> str:
    """Return the digest of the lesson's release, computed once for the whole class."""
    if "digest" not in key.derived:
        key.derived["digest"] = release_digest(c.released for c in key.cells)
    return key.derived["digest"]


def match(notebook: NotebookNode, key: Key) -> Aligned:
    """Return the student's cells in their order, unchanged, each with the lesson's cell."""
    by_id = {c.grade_id: c for c in key.cells if c.grade_id}
    slots = [Slot(cell, by_id.get(meta(cell).get("grade_id", ""))) for cell in notebook.cells]
    aligned = Aligned(slots)
    aligned.former = is_former_release(notebook, digest_of(key), by_id)
    had_metadata = any(slot.key is not None for slot in slots)
    # The order matters: what is left of two cells of one name may be recovered, and what is known
    # to be given, or as its own release had it, counts as no change.
    _drop_duplicates(aligned)
    _recover_metadata(aligned, key, had_metadata)
    for slot in aligned.slots:
        slot.earns = slot.key is not None or not _ONE_ANSWER.fullmatch(squeezed(slot.cell.source))
    aligned.given = _given_code(aligned, key, had_metadata)
    aligned.once = _tests_of_then(aligned, key)
    aligned.notes += [f"cell {name} was graded as its release had it" for name in aligned.once]
    _note_changes(aligned)
    if len(_slot_positions(aligned)) < _FEWEST:
        _note_foreign(aligned)
    _insert_missing(aligned, key, had_metadata)
    return aligned


def as_graded(aligned: Aligned, key: Key) -> Aligned:
    """Replace matched locked cells by the grader's."""
    for slot in aligned.slots:
        if aligned.given and slot.key is not None and slot.key.kind == "test":
            slot.earns = given_code.test_of(key)[slot.key.grade_id] not in aligned.given
        slot.once_given = once_given(slot) if aligned.former else ""
        slot.cell = _graded_cell(slot)
        if slot.key is not None and slot.key.grade_id in aligned.once:
            slot.cell.source = key.metadata[FORMER][slot.key.grade_id]
    return aligned


def _tests_of_then(aligned: Aligned, key: Key) -> list[str]:
    """Return the test cells that a former release had otherwise, and `key` knows as they were.

    Such a cell is recognised by the label of its first case.
    """
    return [
        slot.key.grade_id
        for slot in aligned.slots
        if aligned.former
        and slot.key is not None
        and (once := key.former.get(slot.key.grade_id))
        and any(answer.label in slot.cell.source for _, answer in once.answers[:1])
    ]


def once_given(slot: Slot) -> str:
    """Return the import lines of a locked cell that today's cell of the lesson does not have."""
    if slot.key is None or slot.key.kind != "locked" or slot.cell.cell_type != "code":
        return ""
    today = slot.key.released.source.splitlines()
    lines = (line for line in slot.cell.source.splitlines() if _IMPORT.fullmatch(line))
    return "".join(f"{line}\n" for line in lines if line not in today)


def _slot_positions(aligned: Aligned) -> dict[str, int]:
    return {s.key.grade_id: i for i, s in enumerate(aligned.slots) if s.key is not None}


def _drop_duplicates(aligned: Aligned) -> None:
    """Count only the last cell with a grade_id, as nbgrader does; the others become plain."""
    last = _slot_positions(aligned)
    for position, slot in enumerate(aligned.slots):
        if slot.key is not None and last[slot.key.grade_id] != position:
            name, kind = slot.key.grade_id, slot.key.kind
            how = "both are executed" if kind == "solution" else "the last counts"
            # Noted now, for `_note_changes` looks at no cell that stands for none of the lesson's.
            if kind == "test" and not _has_lessons_text(slot.cell, slot.key):
                aligned.changed.append(name)
            aligned.notes.append(f"cell {name} stands there twice; {how}")
            slot.key = None


def _recover_metadata(aligned: Aligned, key: Key, had_metadata: bool) -> None:
    """Recognise cells that have lost their metadata.

    A function that was moved into a cell of the student's is not reported as recovered.
    """
    present = _slot_positions(aligned)
    missing = {c.grade_id: c for c in key.cells if c.grade_id and c.grade_id not in present}
    if not missing:
        return
    wanted = {name for c in missing.values() if c.kind == "solution" for name in c.defines}
    names = names_in_each([s.cell.source for s in aligned.slots], wanted)
    texts = {
        squeezed(c.released.source): c for c in missing.values() if c.kind in ("locked", "test")
    }
    for slot, defined in zip(aligned.slots, names, strict=True):
        if slot.key is not None:
            continue
        found = texts.get(squeezed(slot.cell.source))
        if found is None and slot.cell.cell_type == "code":
            of = (c for c in missing.values() if c.kind == "solution" and c.defines <= defined)
            found = next(of, None)
        if found is not None and found.grade_id in missing:
            del missing[found.grade_id]
            slot.key = found
            if found.kind != "solution" or not had_metadata:
                aligned.recovered.append(found.grade_id)
    for cell in missing.values():
        if cell.kind == "manual":
            _recover_by_place(aligned, key, cell)


def _note_foreign(aligned: Aligned) -> None:
    """Say that a notebook has at most one cell of the lesson, which is no lost metadata."""
    found = ", ".join(aligned.recovered) or "nothing"
    aligned.notes.append(f"hardly anything in it is the lesson's: {found} was recognised")
    aligned.recovered = []


def _recover_by_place(aligned: Aligned, key: Key, wanted: KeyCell) -> None:
    """Recognise an essay: the first free cell of its type between its lesson's neighbours."""
    place = key.cells.index(wanted)
    positions = _slot_positions(aligned)
    if len(positions) < _FEWEST:
        return
    before = [positions[c.grade_id] for c in key.cells[:place] if c.grade_id in positions]
    after = [positions[c.grade_id] for c in key.cells[place + 1 :] if c.grade_id in positions]
    start = max(before) + 1 if before else 0
    end = min((p for p in after if p >= start), default=len(aligned.slots))
    # The lesson's own text stands between these neighbours, too, and is nobody's answer.
    prompts = {squeezed(c.released.source) for c in key.cells if c is not wanted}
    for slot in aligned.slots[start:end]:
        same_type = slot.cell.cell_type == wanted.released.cell_type
        if slot.key is None and same_type and squeezed(slot.cell.source) not in prompts:
            slot.key = wanted
            aligned.recovered.append(wanted.grade_id)
            return


def _has_lessons_text(cell: NotebookNode, key: KeyCell) -> bool:
    """Return True if a cell's text is the lesson's: as released, or as the grader keeps it.

    The instructor's notebook in source/ has the hidden cases and is not an edited copy.
    """
    if key.is_concept and _OF_ANSWERS.fullmatch(cell.source):
        return True
    return squeezed(cell.source) in key.texts


def _given_code(aligned: Aligned, key: Key, had_metadata: bool) -> list[str]:
    """Return the exercises whose code was given in the hand-in, by a track other than today's."""
    cells = [slot for slot in aligned.slots if slot.cell.cell_type == "code"]
    tests = {s.key.grade_id for s in cells if s.key is not None and s.key.kind == "test"}
    texts = [slot.cell.source for slot in cells if slot.keeps_text]
    return given_code.given_code(texts, tests, had_metadata, key)


def _note_changes(aligned: Aligned) -> None:
    """Note graded cells whose text, flags or points are no longer the lesson's."""
    whole, known = False, {*aligned.recovered, *aligned.given, *aligned.once}
    for slot in aligned.slots:
        if slot.key is None or slot.key.grade_id in known:
            continue
        theirs, given = meta(slot.cell), meta(slot.key.released)
        # Students may do more than their track, whose key has this cell as given code (`WHOLE`).
        if slot.key.given and theirs.get("solution"):
            whole = True
            continue
        # A flag that is missing was lost with other metadata; one that contradicts was changed.
        flipped = [
            name
            for name in ("grade", "solution", "locked", "points")
            if name in theirs and given.get(name, theirs[name]) != theirs[name]
        ]
        name, kind = slot.key.grade_id, slot.key.kind
        turned = slot.cell.cell_type != slot.key.master.cell_type
        if flipped or (kind == "test" and (turned or not _has_lessons_text(slot.cell, slot.key))):
            what = "'s " + " and ".join(flipped) if flipped else ""
            aligned.note_change(name, f"cell {name}{what} was changed; the original counts")
        elif turned:
            now, once = slot.cell.cell_type, slot.key.master.cell_type
            aligned.notes.append(f"cell {name} was a {now} cell and is taken as {once}")
    if whole:
        aligned.notes.append(WHOLE)


@dataclass(frozen=True)
class _Use:
    """The exercises that a cell names; whether it may use one without naming it; who wrote it."""

    names: set[str]
    unseen: bool
    is_students: bool


class _Uses:
    """The exercises of the lesson that each cell uses; each text is searched once."""

    def __init__(self, exercises: set[str]) -> None:
        self._pattern = word_pattern(exercises)
        self._known: dict[int, _Use] = {}

    def names_in(self, text: str) -> set[str]:
        """Return the exercises that a text names."""
        return {match[0] for match in self._pattern.finditer(text)}

    def of(self, slot: Slot) -> _Use:
        """Return what a slot's text uses."""
        if id(slot) not in self._known:
            text, own = slot.cell.source, _is_students(slot)
            use = _Use(self.names_in(text), own and may_define_unseen(text), own)
            self._known[id(slot)] = use
        return self._known[id(slot)]


def _insert_missing(aligned: Aligned, key: Key, had_metadata: bool) -> None:
    """Restore deleted cells, except exercises that the student's other cells define."""
    found = _slot_positions(aligned)
    if all(c.grade_id in found for c in key.cells if c.grade_id):
        _note_absent(aligned, [])
        return
    exercises = {name for c in key.cells if c.kind == "solution" for name in c.defines}
    own = [slot for slot in aligned.slots if _is_students(slot)]
    defined = names_in_each([slot.cell.source for slot in own], exercises)
    uses = _Uses(exercises)
    had_concepts = any(s.key is not None and s.key.is_concept for s in aligned.slots)
    absent = _absent(aligned, key, {*found, *set().union(*defined)})
    put_back: list[KeyCell] = []
    for place, wanted in enumerate(key.cells):
        if not wanted.grade_id or wanted.grade_id in found:
            continue
        if wanted.kind == "solution" and any(wanted.defines & names for names in defined):
            continue
        where = _place_in_lesson(aligned, key, place)
        if wanted.kind == "solution":
            where = _before_use(aligned, key, place, where, uses)
        elif wanted.kind == "test":
            tested = uses.names_in(key.tests[wanted.grade_id].code)
            definers = [s for s, names in zip(own, defined, strict=True) if names & tested]
            where = _behind_definitions(aligned, definers, where)
        aligned.slots.insert(where, Slot(copy.deepcopy(wanted.released), wanted))
        if wanted.grade_id not in absent and (had_concepts or not wanted.is_concept):
            put_back.append(wanted)
    _note_put_back(aligned, put_back, had_metadata)
    names = [key.cell(name) for name in absent]
    told = [cell.grade_id for cell in names if cell.kind == "solution"]
    told += ["the essay"] if any(cell.kind == "manual" for cell in names) else []
    _note_absent(aligned, told)


def _absent(aligned: Aligned, key: Key, there: set[str]) -> list[str]:
    """Return the exercises, tests and essay that another release than today's did not have.

    there: what the hand-in has. Tests of an exercise whose code it gave are absent, too.
    """
    if not aligned.former and not aligned.given:
        return []
    tests = {t: name for t, name in given_code.test_of(key).items() if t not in there}
    kept = there | {name for t, name in given_code.test_of(key).items() if t in there}
    gone = [
        cell.grade_id
        for cell in key.cells
        if cell.kind in ("solution", "manual") and cell.grade_id not in kept and not cell.is_concept
    ]
    return gone + [test for test, name in tests.items() if name in (*gone, *aligned.given)]


def _note_absent(aligned: Aligned, absent: list[str]) -> None:
    """Say in one sentence which exercises the hand-in's own release gave or did not have."""
    if aligned.given or absent:
        aligned.notes.append(given_code.sentence(aligned.given, absent))


def _note_put_back(aligned: Aligned, cells: list[KeyCell], had_metadata: bool) -> None:
    """Say which cells were missing; an older release may not have had a test of today's."""
    names = [cell.grade_id for cell in cells if cell.kind != "locked"]
    if len(names) == 1:
        aligned.notes.append(f"cell {names[0]} was missing and was put back")
    elif names:
        aligned.notes.append(f"cells {few(names)} were missing and were put back")
    if aligned.former and had_metadata:
        aligned.changed += [cell.grade_id for cell in cells if cell.kind == "test"]


def _is_students(slot: Slot) -> bool:
    """Return True for a code cell whose executed text is the student's."""
    if slot.key is None:
        return slot.cell.cell_type == "code"
    edited = squeezed(slot.cell.source) != squeezed(slot.key.released.source)
    return slot.key.kind == "solution" and edited


def _place_in_lesson(aligned: Aligned, key: Key, place: int) -> int:
    """Return the position after the cells that precede this one in the lesson."""
    positions = _slot_positions(aligned)
    before = [positions[c.grade_id] for c in key.cells[:place] if c.grade_id in positions]
    return max(before) + 1 if before else 0


def _before_use(aligned: Aligned, key: Key, place: int, most: int, uses: _Uses) -> int:
    """Return the position before the first cell that uses an exercise, or may without naming it."""
    name = key.cells[place].grade_id
    # What the lesson has below the exercise, and the student has moved above it.
    later = {c.grade_id for c in key.cells[place + 1 :] if c.kind != "solution"}
    for position, slot in enumerate(aligned.slots[:most]):
        use = uses.of(slot)
        counts = use.is_students or (slot.key is not None and slot.key.grade_id in later)
        if counts and (use.unseen or name in use.names):
            return position
    return most


def _behind_definitions(aligned: Aligned, definers: list[Slot], least: int) -> int:
    """Return a position for a test, not before the cells that define what it tests."""
    wanted = {id(slot) for slot in definers}
    positions = [p for p, slot in enumerate(aligned.slots) if id(slot) in wanted]
    # Where one of them stands above its usual place, the test finds the name there.
    return max(positions) + 1 if positions and min(positions) >= least else least


def _graded_cell(slot: Slot) -> NotebookNode:
    """Return the cell as it is graded: the grader's if it is locked, else the student's text."""
    if slot.key is None:
        cell = copy_cell(slot.cell)
        # With it nbgrader would take the cell for one of the lesson's.
        cell.metadata.pop("nbgrader", None)
        return cell
    # The grader's flags and points, whatever the student's file says.
    cell = copy_cell(slot.key.master)
    if slot.keeps_text:
        cell.source = slot.cell.source
        if "attachments" in slot.cell:
            cell["attachments"] = slot.cell["attachments"]
    return cell


def copy_cell(cell: NotebookNode) -> NotebookNode:
    """Return a copy whose fields and metadata can be set; deeper values are shared."""
    return NotebookNode(cell, metadata=NotebookNode(cell.metadata))
