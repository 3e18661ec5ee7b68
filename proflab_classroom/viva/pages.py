"""Lay out a sheet and its key as HTML: one A4 page each, light and dark, without any script.

Whatever a student wrote is text on them; nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment
from markupsafe import Markup, escape

from proflab_classroom.viva.marks import PASS_SHARE
from proflab_classroom.viva.questions import SheetQuestion
from proflab_classroom.viva.sheet import Function, Sheet
from proflab_course.course.answer_cells import LETTERS
from proflab_course.grading.pages.inert import readable
from proflab_course.grading.pages.templates import template_loader

# What fits on the page at each size of letters, measured with sheet.css.j2: (its class; lines of
# code in both columns, less what stays empty where a question moves on; characters of a line).
_SIZES = (("large", 128, 57), ("middle", 156, 68), ("small", 180, 77))
_LEAST_LINES = 8  # that stay of a function that has to be cut
_QUESTION_LINES = 4.5  # of a question without its stem, text and options


@dataclass(frozen=True)
class Block:
    """Hold a question on the page, its number, and its function if it is the first about it."""

    number: int
    question: SheetQuestion
    function: Function | None


def blocks(sheet: Sheet) -> tuple[list[Block], str]:
    """Return the page's blocks and the size of its letters; long functions are cut to fit."""
    for size, room, wide in _SIZES:
        made = _made(sheet, sheet.functions)
        if _height(made, wide) <= room:
            return made, size
    functions = list(sheet.functions)
    while _height(made, wide) > room:
        longest = max(range(len(functions)), key=lambda n: _spare(sheet, functions[n]), default=-1)
        if longest < 0 or _spare(sheet, functions[longest]) <= 0:
            break
        one = functions[longest]
        functions[longest] = replace(one, lines=one.lines[:-1], cut=one.cut + 1)
        made = _made(sheet, functions)
    return made, size


def _spare(sheet: Sheet, function: Function) -> int:
    """Return how many of a function's last lines may go: none that an option names."""
    named = [
        # As `change_questions` of questions.py writes options.
        int(option.split(":")[0].removeprefix("line "))
        for q in sheet.questions
        if q.kind == "change" and q.name == function.name
        for option in q.options
    ]
    return len(function.lines) - max([_LEAST_LINES, *named])


def _made(sheet: Sheet, functions: Sequence[Function]) -> list[Block]:
    left = {function.name: function for function in functions}
    return [
        Block(number, question, left.pop(question.name, None))
        for number, question in enumerate(sheet.questions, 1)
    ]


def _height(made: Sequence[Block], wide: int) -> float:
    """Return about how many lines of code the blocks take."""
    prose = wide * 0.75  # characters of running text in a line, which is also 1.3 times as high
    # Code has 1.05 a line; 4 and 5 characters of one go to an option's letter, a line's number.
    total = 0.0
    for block in made:
        q = block.question
        total += _QUESTION_LINES + 1.3 * math.ceil(len(q.stem) / prose)
        for text in (q.text, *(f"{option}    " for option in q.options)):
            total += sum(math.ceil((len(line) + 1) / wide) for line in text.splitlines()) * 1.05
        if block.function is not None:
            total += 1.6 + sum(math.ceil((len(line) + 5) / wide) for line in block.function.lines)
    return total


def render(sheet: Sheet, who: str, key: bool = False) -> str:
    """Return the sheet, or its key for the assistant, as a page of its own."""
    made, size = blocks(sheet)
    page = _environment().get_template("sheet.html.j2")
    values = {"sheet": sheet, "blocks": made, "size": size, "who": who, "is_key": key}
    to_pass = math.ceil(PASS_SHARE * len(sheet.questions))
    return page.render(**values, letters=LETTERS, to_pass=to_pass)


def _environment() -> Environment:
    made = Environment(
        loader=template_loader("proflab_classroom.viva"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: readable(value) if type(value) is str else value,
    )
    made.filters["code"] = _with_code
    return made


def _with_code(text: str) -> Markup:
    """Return prose as HTML, with what stands between backticks as code."""
    parts = readable(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part)
        for n, part in enumerate(parts)
    )
