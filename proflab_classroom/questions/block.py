"""Write a lesson's concept questions into it, in one block near its end, and see that none leaks.

The block is three cells: the questions with their options, the answers, and a test cell, whose
visible cases ask for letters and whose hidden ones have the keys, in the order of options that the
class gets. That order goes into the metadata of the notebook in source/, where grading undoes it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbformat import NotebookNode

from proflab.lesson import outline
from proflab_classroom.questions.concepts_file import FILE, Concept, read_concepts
from proflab_course.course.answer_cells import LETTERS, ORDERS, answers_form, open_answers
from proflab_course.course.features import Building
from proflab_course.course.notebook import HIDDEN, SOLUTION, Lesson, nbgrader_marks, set_cell_ids
from proflab_course.course.sections import heading_lines, prose_words, sections
from proflab_course.course.settings import read_settings
from proflab_course.tracks.minutes import WORDS_A_MINUTE
from proflab_course.tracks.taken import Taken

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

HEADING = "Concept questions"
# Audits go where the block would be more than this part of a short track's other minutes.
_MOST_TIME = 0.15
PRIVATE = "private"  # the folder of a class's settings
_MINUTES_EACH = 1  # to think, besides reading
_LEAST_WORDS = 6  # of a sentence that is looked for in a release
_LABEL = {"concept": "Question", "audit": "Audit", "end": "Question"}
# Up to MOST_QUESTIONS of concepts_file.py.
_COUNT = {1: "One question", 2: "Two questions", 3: "Three questions", 4: "Four questions"}
_EARN = {
    True: "Each right answer is one point beside the lesson's.",
    False: "The questions earn no points.",
}
_TOLD_AFTER_GRADING = (
    "The test cell checks only that each answer is a letter; which one is right is told after "
    "grading."
)
_TOLD_BY_LAST_CELL = (
    "The test cell checks only that each answer is a letter; once you have answered all, the "
    "lesson's last cell says which one is right."
)
# A line of `answers_form` (course/answer_cells.py), whatever stands in place of None.
_ANSWER = re.compile(r"^concept_\w+\s*=(.*?)(?:#.*)?$", re.MULTILINE)


def put_concepts(lesson: Lesson, facts: Facts) -> Lesson:
    """Put the block of concept questions into a lesson that has some."""
    concepts, whole = _written(facts, lesson.name), facts.as_written(lesson.name)
    if not concepts:
        return lesson
    kept = for_track(concepts, whole, facts.taken[lesson.name])
    points = read_settings(facts.course.root).concept_points == 1
    return add_concepts(lesson, kept, facts.key, points, _is_self_study(facts))


def _written(facts: Facts, name: str) -> list[Concept]:
    """Return the questions of a lesson, all that are written."""
    read = facts.kept.setdefault(FILE, {})
    if name not in read:
        read[name] = read_concepts(facts.course, name)
    return read[name]


def _is_self_study(facts: Facts) -> bool:
    """Return True if the last cell tells the answers once all are given: in no class's build."""
    told = facts.public and facts.tracks is not None and facts.tracks.self_study
    return told and not (facts.course.root / PRIVATE).exists()


def _written_mistakes(whole: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each question whose `after` is no exercise or demo of the lesson."""
    names, place = {cell.name for cell in whole.named("exercise", "demo")}, f"modules/{whole.name}"
    for concept in _written(facts, whole.name):
        if concept.after not in names:
            told = f"after names {concept.after}, and the lesson has no such exercise or demo"
            yield f"{place}/{FILE}, question {concept.id}: {told}; name one"


def _told(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each thing in a lesson's release that tells of concept questions."""
    answers = _answers_told(lesson, facts)
    concepts = [each for whole in facts.whole for each in _written(facts, whole.name)]
    hidden = [each for each in concepts if each.name not in answers]
    folder, place = facts.release(lesson.name), f"release/{lesson.name}"
    yield from told_concepts(folder, hidden, place, _is_self_study(facts))


def _answers_told(lesson: Lesson, facts: Facts) -> dict[str, tuple[str, str]]:
    """Return, by name, the right letter of each answer that a reader is told, and why."""
    there = _asked_in(lesson) if _is_self_study(facts) else []
    concepts = _written(facts, lesson.name)
    return {each.name: (each.key, each.why) for each in concepts if each.name in there}


def _outline(lesson: Lesson, facts: Facts) -> dict[str, object]:
    return {"questions": tuple(_asked_in(lesson)), "answers": _answers_told(lesson, facts)}


def _metadata(lesson: Lesson, facts: Facts) -> dict[str, dict[str, str]]:
    """Return the letters of each question of a lesson in the order that the class sees."""
    there, concepts = _asked_in(lesson), _written(facts, lesson.name)
    found = {each.id: each.order(facts.key) for each in concepts if each.name in there}
    return {ORDERS: found} if found else {}


BUILDING = Building((put_concepts,), (_written_mistakes,), (_told,), _outline, _metadata)


def for_track(concepts: Iterable[Concept], whole: Lesson, taken: Taken) -> list[Concept]:
    """Return the questions that a track keeps: those of its sections, and audits if there is time.

    whole: the lesson as written. A section that is given as code alone decides no question.
    """
    home = {cell.name: section.name for section in sections(whole) for cell in section.cells}
    there = {cell.name for cell in taken.lesson.cells}
    kept = [each for each in concepts if each.after in there and home[each.after] not in taken.gone]
    minutes = sum(section.minutes or 0 for section in sections(taken.lesson))
    audits = [each for each in kept if each.kind == "audit"]
    while taken.partial and minutes and audits and _minutes(_texts(kept)) > _MOST_TIME * minutes:
        kept.remove(audits.pop())
    return kept


def add_concepts(
    lesson: Lesson,
    concepts: list[Concept],
    key: bytes | None,
    points: bool = False,
    told: bool = False,
) -> Lesson:
    """Return a copy of the lesson with a block of questions above its essay or its Summary.

    key: draws the order of options; without one, it is the file's. points: whether each right
    answer is a point beside the lesson's own. told: whether the last cell tells the answers, to
    those who learn alone.
    """
    notebook = NotebookNode(lesson.notebook, cells=list(_cut_before_end(lesson)))
    made = Lesson(lesson.name, lesson.place, notebook)
    if concepts:
        where = _end(made)
        timed = any(section.minutes is not None for section in sections(made))
        # Hidden blocks of the lesson may share one copy only while no later cell binds their names.
        names = ["choice"] if _imports(lesson, "expect") else ["choice", "expect"]
        rest = f"{_TOLD_BY_LAST_CELL if told else _TOLD_AFTER_GRADING} {_EARN[points]}"
        name = f"concept_{lesson.name[:2]}"
        notebook.cells[where:where] = [
            nbformat.v4.new_markdown_cell(_questions(concepts, key, timed, rest)),
            _code(name, _answers(concepts, key), solution=True),
            _code(f"test_{name}", _test(concepts, key, names), grade=True, locked=True, points=0),
        ]
        set_cell_ids(notebook)
    return made


def _imports(lesson: Lesson, name: str) -> bool:
    """Say whether a cell of the lesson imports this name."""
    statements = (
        each for cell in lesson.cells if cell.node.cell_type == "code" for each in cell.statements()
    )
    imports = (each for each in statements if isinstance(each, ast.ImportFrom))
    return any(alias.name == name for each in imports for alias in each.names)


def _ends(lesson: Lesson) -> list[int]:
    """Return, for essay and Summary, the number of the cell with the heading."""
    numbers = {id(cell.node): number for number, cell in enumerate(lesson.cells)}
    return [
        numbers[id(section.place.node)]
        for section in sections(lesson)
        if section.place is not None
        and (section.name == "Summary" or any(c.role == "manual" for c in section.cells))
    ]


def _end(lesson: Lesson) -> int:
    return min(_ends(lesson), default=len(lesson.notebook.cells))


def _cut_before_end(lesson: Lesson) -> Iterator[NotebookNode]:
    """Yield the cells, the text above the heading of essay or Summary in a cell of its own."""
    ends = _ends(lesson)
    for number, cell in enumerate(lesson.cells):
        lines = [line for line, _ in heading_lines(cell) if line]
        if number not in ends or not lines:
            yield cell.node
            continue
        text = cell.source.split("\n")
        cuts = [0, *lines, len(text)]
        for begin, end in zip(cuts, cuts[1:], strict=False):
            if part := "\n".join(text[begin:end]).strip("\n"):
                node = NotebookNode(cell.node, metadata=NotebookNode(cell.node.metadata))
                node.source = part
                yield node


def _questions(concepts: list[Concept], key: bytes | None, timed: bool, rest: str) -> str:
    texts = [_text(concept, concept.order(key)) for concept in concepts]
    minutes = f" · {_minutes(texts)} min" if timed else ""
    count = _COUNT[len(concepts)]
    one = f"{count} on this lesson's ideas: put a letter in place of `None`. {rest}"
    return "\n\n".join([f"## {HEADING}{minutes}", one, *texts])


def _answers(concepts: list[Concept], key: bytes | None) -> str:
    right = [f'{each.name} = "{_shown(each, key)[each.key]}"' for each in concepts]
    form = answers_form(each.name for each in concepts)
    return "\n".join([form, SOLUTION[0], *right, SOLUTION[1]])


def _minutes(texts: list[str]) -> int:
    """Return what the block takes, to the nearest five minutes: reading, and a minute for each."""
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    words = prose_words(Lesson("", "", NotebookNode(cells=cells)))
    return max(5, 5 * round((words / WORDS_A_MINUTE + _MINUTES_EACH * len(texts)) / 5))


def _texts(concepts: list[Concept]) -> list[str]:
    return [_text(concept, LETTERS) for concept in concepts]


def _text(concept: Concept, order: str) -> str:
    """Return stem and options. An audit with a line says where its claim is from."""
    lines = [f"**{_LABEL[concept.kind]} {concept.number}.** {concept.stem}"]
    if concept.kind == "audit" and concept.line and concept.source:
        lines += ["", f"*{concept.source}*" if "*" not in concept.source else concept.source]
    options = zip(LETTERS, order, strict=True)
    lines += ["", *(f"- **{shown}** · {concept.options[letter]}" for shown, letter in options)]
    return "\n".join(lines).replace("$", r"\$")  # two prices would be a formula


def _shown(concept: Concept, key: bytes | None) -> Mapping[str, str]:
    """Return the letter that a class sees for each letter of the file."""
    return dict(zip(concept.order(key), LETTERS, strict=True))


def _test(concepts: list[Concept], key: bytes | None, names: list[str]) -> str:
    lines = [f"from proflab.lesson import {', '.join(names)}", ""]
    for each in concepts:
        call = f'choice({each.name}, "{each.number}") in "ABCD"'
        # In hand-ins of any release, grading/match_cells.py knows these lines: _OF_ANSWERS.
        lines.append(f'expect("{each.number}: an answer, A to D", {call}, True)')
    hidden = [line for each in concepts for line in _hidden_case(each, _shown(each, key))]
    return "\n".join([*lines, HIDDEN[0], *hidden, HIDDEN[1]])


def _hidden_case(concept: Concept, shown: Mapping[str, str]) -> Iterator[str]:
    if concept.why:
        yield f"# about: {concept.why}"
    # Feedback and report show a slip as the diagnosis of a wrong answer.
    slips = {sentence: shown[letter] for letter, sentence in concept.slips.items()}
    call = f'expect("{concept.label}", choice({concept.name}), "{shown[concept.key]}"'
    yield f"{call}, mistakes={slips!r})" if slips else f"{call})"


def _code(name: str, source: str, **flags: object) -> NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": nbgrader_marks(name, **flags)})


def _asked_in(lesson: Lesson) -> list[str]:
    """Return the names of the answers that a lesson asks for, in its order."""
    return [name for cell in lesson.named("answer") for name in open_answers(cell.source)]


# ── what no student may see ───────────────────────────────────────────────────────────────────


def told_concepts(
    folder: Path, concepts: Iterable[Concept], place: str, self_study: bool = False
) -> Iterator[str]:
    """Yield a sentence for each thing in a release that tells of concept questions.

    concepts: those of all lessons. A letter cannot be searched for, so each answer must be None.
    self_study: whether lesson.json may have the answers, as in no class's release.
    """
    secret = {
        _plain(sentence): concept
        for concept in concepts
        for sentence in concept.secrets()
        if len(sentence.split()) >= _LEAST_WORDS and not _is_open(sentence, concept)
    }
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"{place}/{path.relative_to(folder)}"
        if path.name == FILE:
            yield f"{name} has the keys of concept questions: take it out of what students get"
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        if path.name == outline.FILE and f'"{outline.ANSWERS}": ' in text and not self_study:
            yield f"{name} has the answers to concept questions: build the class's release again"
        if path.suffix == ".ipynb":
            notebook = nbformat.reads(text, as_version=4)
            text = "\n".join(cell.source for cell in notebook.cells) + "\n" + text
            yield from _answered(name, notebook)
        text = _plain(text)
        for sentence, concept in secret.items():
            if sentence in text:
                told = f"{name} shows students a sentence on the answer to {concept.number}"
                yield f"{told}: {sentence!r}"


def _answered(name: str, notebook: NotebookNode) -> Iterator[str]:
    for cell in notebook.cells:
        for match in _ANSWER.finditer(cell.source if cell.cell_type == "code" else ""):
            if match[1].strip() != "None":
                yield f"{name} shows students an answer: `{match[0].strip()}`"


def _is_open(sentence: str, concept: Concept) -> bool:
    shown = _plain(" ".join([concept.stem, *concept.options.values()]))
    return _plain(sentence) in shown


def _plain(text: str) -> str:
    """Return words alone, so that quotes, line ends and escapes hide nothing."""
    return " ".join(re.findall(r"\w+", text.replace("\\n", " ")))
