"""Read the answer to a concept question, and say how many are answered: never which are right."""

from __future__ import annotations

from collections.abc import Iterator

from proflab.lesson.kernel_record import Record, kernel_shell
from proflab.lesson.outline import Outline

LETTERS = "ABCD"
_TEST = "test_concept_"


def choice(answer: str | None) -> str:
    """Return the letter of an answer, in upper case.

    answer: one of the letters A to D. Raises ValueError for anything else.

    >>> choice(" b")
    'B'
    """
    letter = answer.strip().upper() if isinstance(answer, str) else ""
    if len(letter) != 1 or letter not in LETTERS:
        raise ValueError(f'put "A", "B", "C" or "D" in place of {_shown(answer)}')
    return letter


def _shown(answer: object) -> str:
    return repr(answer) if answer is None or isinstance(answer, str) else type(answer).__name__


def is_question(test: str) -> bool:
    """Return True for the name of a test cell of a concept question."""
    return test.startswith(_TEST)


def answered_line(record: Record) -> str:
    """Return how many of a lesson's concept questions are answered; empty where it has none.

    Below it stand the right answers for those who learn alone, once all are answered.
    """
    if record.outline is None:
        return ""
    tests = [c.name for c in record.outline.cells.values() if is_question(c.name)]
    answered = sum(test in record.tests and record.tests[test].state == "passed" for test in tests)
    if not tests:
        return ""
    lines = [f"concept questions: {answered} of {len(tests)} answered"]
    lines += _told(record.outline) if answered == len(tests) else []
    return "\n".join(lines)


def _told(outline: Outline) -> Iterator[str]:
    """Yield the right answer to each question whose answer may be told, and why."""
    shell = kernel_shell()
    for test, (letter, why) in outline.answers.items():
        name = test.removeprefix("test_")
        given = str(shell.user_ns.get(name) if shell else "").strip().upper()
        said = "as you answered" if given == letter else f"you answered {given}"
        number = name.removeprefix("concept_").replace("_", ".")
        yield f"  {number}: {letter}, {said}. {why}".rstrip()
