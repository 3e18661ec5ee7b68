"""Look for secrets in what was written for students: the files themselves are searched.

Secret in folder N are every lesson's hidden blocks and mark schemes, and the solutions of lesson N
and later. A line that the lesson also shows openly is no secret.
"""

from __future__ import annotations

import ast
import base64
import json
import re
import textwrap
import tokenize
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

from proflab_course.course.notebook import (
    HIDDEN,
    MARK_SCHEME,
    SOLUTION,
    Cell,
    Lesson,
    regions,
    replace_regions,
)
from proflab_course.course.secret import PLACE, course_secret
from proflab_course.course.wrong import ENTRY
from proflab_course.course.wrong import FOLDER as WRONG

if TYPE_CHECKING:
    from proflab_course.build.facts import Facts

_LEAST_LENGTH = 16  # characters of a line: shorter ones are anywhere by chance
# Lines that say nothing of a solution or of a case, wherever else they stand.
_COMMONPLACE = re.compile(
    r"(import|from|raise|return \w+$|for|if|elif|else|with|try|except|def)\b|[\w.]+,?$"
    r"|# (vary|keep):"
)

_LAYOUT = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class _Secret:
    """The telling lines of one region that students must not see, each with its inner words."""

    cell: Cell
    kind: str
    lines: list[tuple[str, set[str]]]


def leaks(
    folder: Path,
    lesson: Lesson,
    lessons: Iterable[Lesson],
    place: str,
    given: Collection[str] = (),
    only: str = "*",
    skip: Collection[Path] = (),
) -> list[str]:
    """Return a line for each secret of the course that a lesson's release (`folder`) tells.

    lessons: all of the course, as written; given: exercises whose code a track gives in this one.
    only: the files that are searched; skip: folders that are not.
    """
    disclosed = {
        line
        for other in lessons
        for cell in other.named("exercise")
        if other.name < lesson.name or cell.name in given
        for region in regions(cell.source, SOLUTION)
        for line in _telling(region)
    }
    secrets = [
        secret
        for other in lessons
        for secret in _secrets(other, lesson.name, disclosed)
        if secret.kind != "solution" or secret.cell.name not in given
    ]
    found = []
    for path in sorted(path for path in folder.rglob(only) if path.is_file()):
        if any(path.is_relative_to(left_out) for left_out in skip):
            continue
        name = f"{place}/{path.relative_to(folder)}"
        text = _normal(_text(path))
        words = frozenset(text.split())
        found += [_sentence(name, secret, text, words) for secret in secrets]
    return [sentence for sentence in found if sentence]


def tells_secrets(lesson: Lesson, facts: Facts) -> Iterator[str]:
    """Yield a sentence for each secret of the course in what students get of a lesson."""
    folder, place = facts.release(lesson.name), f"release/{lesson.name}"
    yield from leaks(folder, lesson, facts.whole, place, facts.taken[lesson.name].given)
    forms = _forms_of_secret(facts.course.root)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = path.relative_to(folder), path.read_bytes()
        if any(form in content for form in forms):
            yield f"{place}/{name} shows students {PLACE}"
        if WRONG in name.parts or ENTRY.search(content):
            yield f"{place}/{name} shows students known wrong solutions: leave it out"


def _forms_of_secret(root: Path) -> tuple[bytes, ...]:
    """Return the course's secret as bytes and as texts; nothing where there is none."""
    if not (root / PLACE).exists():
        return ()
    secret = course_secret(root)
    return secret, secret.hex().encode(), base64.b64encode(secret), repr(secret)[2:-1].encode()


def _sentence(name: str, secret: _Secret, text: str, words: frozenset[str]) -> str:
    # Most lines have a word that the text lacks: to know that, it need not be searched.
    shown = [line for line, inner in secret.lines if inner <= words and line in text]
    # One line of a longer solution may occur elsewhere by chance; of the rest none may.
    if not shown or (secret.kind == "solution" and 2 * len(shown) < len(secret.lines)):
        return ""
    return f"{name} shows students the {secret.kind} of {secret.cell.where}: `{shown[0]}`"


def _secrets(lesson: Lesson, folder: str, disclosed: set[str]) -> Iterator[_Secret]:
    open_text = "\n".join(map(_open_text, (c.source for c in lesson.cells if c.role != "manual")))
    for cell in lesson.cells:
        for kind, lines in _secret_lines(cell.source, cell.role == "manual"):
            if kind == "solution" and lesson.name < folder:
                continue
            told = [line for line in lines if kind == "solution" or line not in open_text]
            own = [(line, {*line.split()[1:-1]}) for line in told if line not in disclosed]
            yield _Secret(cell, kind, own)


@lru_cache(maxsize=2048)  # each lesson's folder is searched for the secrets of all
def _secret_lines(source: str, by_hand: bool) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the telling lines of a cell that no student may see; all of one graded by hand."""
    hidden, solution, scheme = (
        [line for region in regions(source, pair) for line in region]
        for pair in (HIDDEN, SOLUTION, MARK_SCHEME)
    )
    if by_hand:
        found = {"mark scheme": solution or scheme or source.splitlines()}
    else:
        found = {
            "hidden block": [part for line in _logical_lines(hidden) for part in _cases(line)],
            "solution": _logical_lines(solution),
            "mark scheme": scheme,
        }
    return tuple((kind, tuple(_telling(lines))) for kind, lines in found.items())


def _logical_lines(lines: list[str]) -> list[str]:
    """Return each statement's lines as one: a piece of a call tells nothing by itself."""
    physical = textwrap.dedent("\n".join(lines)).splitlines(keepends=True)
    joined: list[str] = []
    first = None
    for token in tokenize.generate_tokens(iter([*physical, ""]).__next__):
        row = token.start[0]
        if token.type == tokenize.NEWLINE and first is not None:
            joined.append("".join(physical[first - 1 : row]))
            first = None
        elif first is None and token.type == tokenize.COMMENT:
            joined.append(token.string)
        elif first is None and token.type not in _LAYOUT:
            first = row
    return joined


def _cases(statement: str) -> list[str]:
    """Return the rows of a table of cases, each a secret of its own; else the statement."""
    if not statement.startswith("expect_table("):
        return [statement]
    call = ast.parse(statement, mode="eval").body
    rows = call.args[1:] if isinstance(call, ast.Call) else []
    return [ast.get_source_segment(statement, row) or "" for row in rows]


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that give something away, in their normal form."""
    for line in map(_normal, lines):
        if len(line) >= _LEAST_LENGTH and not _COMMONPLACE.match(line):
            yield line


@lru_cache(maxsize=2048)
def _open_text(source: str) -> str:
    """Return what a cell shows, in its normal form: its regions are left out."""
    for pair in (HIDDEN, SOLUTION, MARK_SCHEME):
        source = replace_regions(source, pair, ())
    return _normal(source)


def _normal(text: str) -> str:
    """Return a text without the blanks and commas that only lay it out."""
    text = re.sub(r"([(\[{]) | (?=[)\]}])", r"\1", " ".join(text.split()))
    return re.sub(r",(?=[)\]}])", "", text)


def _text(path: Path) -> str:
    raw = path.read_bytes().decode("utf-8", errors="ignore")
    if path.suffix == ".html":
        return _page_text(raw)
    if path.suffix != ".ipynb":
        return raw
    return "\n".join(_strings(json.loads(raw)))


def _page_text(page: str) -> str:
    """Return what a page shows or says: colours split the code on it into many elements."""
    shown, said = list[str](), list[str]()
    parser = HTMLParser()
    vars(parser)["handle_data"] = shown.append
    vars(parser)["handle_starttag"] = lambda _, named: said.extend(v for _, v in named if v)
    parser.feed(page)
    parser.close()
    return "\n".join(["".join(shown), *said])


def _strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON document; a cell's source, a list of lines, as one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list) and all(isinstance(inner, str) for inner in value):
        yield "".join(value)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
