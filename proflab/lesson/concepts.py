"""Read the answer to a concept question, and say how many are answered: never which are right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from proflab.lesson.kernel_record import KernelRecord, kernel_shell
from proflab.lesson.outline import CONCEPT_TEST, Outline

LETTERS = "ABCD"


def choice(answer: str | None, number: str = "") -> str:
    """Return the letter of an answer, in upper case.

    answer: one of the letters A to D. number: the question's, such as "07.2", for the message.
    Raises ValueError for anything else.

    >>> choice(" b")
    'B'
    """
    letter = answer.strip().upper() if isinstance(answer, str) else ""
    if len(letter) != 1 or letter not in LETTERS:
        where = f"question {number}: " if number else ""
        is_text = answer is None or isinstance(answer, str)
        found = repr(answer) if is_text else type(answer).__name__
        raise ValueError(f'{where}put "A", "B", "C" or "D" in place of {found}')
    return letter


def is_question(test: str) -> bool:
    """Return True for the name of a test cell of concept questions."""
    return test.startswith(CONCEPT_TEST)


def answered_line(record: KernelRecord) -> str:
    """Return how many of a lesson's concept questions are answered; empty where it has none.

    Below it stand the right answers for those who learn alone, once all are answered.
    """
    if record.outline is None or not record.outline.questions:
        return ""
    asked, given = record.outline.questions, _given(record.outline)
    still = ", ".join(_number(name) for name in asked if name not in given)
    lines = [f"concept questions: {len(given)} of {len(asked)} answered"]
    lines[0] += f"; open: {still}" if given and still else ""
    lines += [] if still else _told(record.outline, given)
    return "\n".join(lines)


def _given(outline: Outline) -> dict[str, str]:
    """Return the letters of the questions that are answered in this kernel."""
    shell = kernel_shell()
    names, found = shell.user_ns if shell else {}, {}
    for name in outline.questions:
        with suppress(ValueError):
            found[name] = choice(names.get(name))
    return found


def _number(name: str) -> str:
    return name.removeprefix("concept_").replace("_", ".")


def _told(outline: Outline, given: dict[str, str]) -> Iterator[str]:
    """Yield the right answer to each question whose answer may be told, and why."""
    for name, (letter, why) in outline.answers.items():
        said = "as you answered" if given[name] == letter else f"you answered {given[name]}"
        yield f"  {_number(name)}: {letter}, {said}. {why}".rstrip()
