"""Look up the numbers of an essay in what the cells of its notebook printed, without trusting it.

It is a help for a person, and decides nothing: a number that no cell printed may be right, and one
that is there may be another. Years, numbers of sections and lessons, bare numbers of one digit and
the numbers of the question are left out. All that is read is bounded.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from proflab_course.course.words import few
from proflab_course.grading.odd_json import as_dict, as_list, join_text, marks_of

NOTE = "numbers"  # in the metadata of the graded essay
_MOST_ESSAY = 20_000  # characters
_MOST_OUTPUT = 20_000  # characters of one output
_MOST_PRINTED = 500_000  # characters of all outputs
_MOST_NUMBERS = 300
_MOST_SHOWN = 12
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NUMBER = re.compile(
    r"(?<![\w.,^])(?<![A-Za-z]-)"  # not in a name, such as float32 or GPT-2
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,24})(?P<rest>\.\d{1,20})?"
    r"(?P<e>e[+-]?\d{1,3}(?!\w))?"
    r"(?:\s?[·×*x]\s?10(?:(?P<sup>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})|(?:\^|\*\*)\{?(?P<power>-?\d{1,3})\}?))?"
    r"(?P<percent>\s?%)?(?![\w⁰¹²³⁴⁵⁶⁷⁸⁹]|[.,]\d)|"
    r"(?<![\w.,])(?P<joined>\d{1,12}(?:\.\d{1,12})?)(?=[A-Za-zµ×]{1,7}\b)"  # 48.8x, 3ms
)
_PLACE = re.compile(r"(?:§|[Ss]ections?|[Ll]essons?|[Ii]tems?|[Qq]uestions?|[Ff]igures?)\s?$")
_LIST = re.compile(r"(?:^|\n)\s*$")
_GROUPS = re.compile(r"(?<=\d)_(?=\d{3})")  # as Python prints f"{n:_}"
_MARKED = re.compile(r"[*_$`]+")  # Markdown's marks around a number
_QUESTION = "**Essay**"
# What no note may hold, which formgrader's page shows; reader.py cleans it once more.
_SAFE = re.compile(r"[^\w .,:;%·⁰-⁹⁻¹²³-]")
_MOST_NOTE = 400


@dataclass(frozen=True)
class StatedNumber:
    """Hold a number as a text shows it: its value, and half a unit of its last digit."""

    text: str
    value: float
    half: float
    percent: bool = False


def numbers_in(text: str) -> Iterator[StatedNumber]:
    """Yield the numbers of a text; powers of ten alone are units, and left out.

    >>> [number.value for number in numbers_in("GPT-2 keeps 243.9 · 10⁶ bytes, 1,024 or 3.5 %")]
    [243900000.0, 1024.0, 3.5]
    """
    for match in _NUMBER.finditer(text):
        if joined := match["joined"]:
            digits, rest = joined.partition(".")[0], joined.partition(".")[2]
        else:
            digits, rest = match["digits"].replace(",", ""), (match["rest"] or "")[1:]
        power = match["sup"] or match["power"] or (match["e"] or "")[1:] or "0"
        scale = 10.0 ** min(300, max(-300, int(power.translate(_SUPERSCRIPTS))))
        value = float(f"{digits}.{rest or 0}") * scale
        half = 0.5 * 10.0 ** -len(rest) * scale
        yield StatedNumber(match[0].strip(), value, half, bool(match["percent"]))


def look_up(essay: str, question: str, printed: Iterable[str]) -> str:
    """Return what a marker is told of an essay's numbers; "" if it has none to look up.

    question: the text whose numbers are left out; printed: what the notebook's cells printed.
    """
    asked = {number.value for number in numbers_in(question[:_MOST_ESSAY])}
    own: dict[str, StatedNumber] = {}
    essay = _MARKED.sub("", essay[:_MOST_ESSAY])
    for match, number in zip(_NUMBER.finditer(essay), numbers_in(essay), strict=True):
        before = essay[max(0, match.start() - 12) : match.start()]
        after = essay[match.end() : match.end() + 2]
        if number.value not in asked and not _is_no_result(number, before, after):
            own.setdefault(number.text, number)
        if len(own) >= _MOST_NUMBERS:
            break
    if not own:
        return ""
    values = sorted(_values(printed))
    lost = [number.text for number in own.values() if not _is_among(number, values)]
    found = f"numbers in the text: {len(own)}; printed by a cell of this notebook: "
    found += str(len(own) - len(lost))
    if lost:
        found += f"; not found: {few(lost, _MOST_SHOWN)}"
    return safe_note(found)


def safe_note(text: str) -> str:
    """Return a note of `look_up` with nothing in it but what such a note may hold."""
    return _SAFE.sub("", " ".join(text.split()))[:_MOST_NOTE]


def note_numbers(notebook: NotebookNode, note: str) -> None:
    """Keep a note with the essay of a graded notebook, where formgrader's page finds it."""
    for cell in notebook.cells:
        if note and _is_essay(cell):
            cell.metadata["proflab"] = NotebookNode({NOTE: note})
            return


def note_on_essay(cells: list[Any]) -> str:
    """Return what a marker is told of the essay among a handed-in notebook's cells, as JSON."""
    essays = [n for n, cell in enumerate(cells) if _is_essay(cell)]
    names = [str(marks_of(cell).get("grade_id")) for cell in cells]
    essays = essays or [n for n, name in enumerate(names) if name.startswith("essay_")]
    if not essays:
        return ""
    place = essays[0]
    asked = [n for n in range(place) if _QUESTION in _source(cells[n])]
    question = "\n".join(_source(cell) for cell in cells[asked[-1] : place]) if asked else ""
    return look_up(_source(cells[place]), question, _printed(cells))


def _is_no_result(number: StatedNumber, before: str, after: str) -> bool:
    """Return True for a year, the number of a place, a list's own, or a digit alone."""
    plain = number.text.isdecimal()
    if not plain:
        return False
    year = len(number.text) == 4 and 1900 <= number.value < 2100
    listed = bool(_LIST.search(before)) and after[:1] in (".", ")")
    return year or listed or len(number.text) == 1 or bool(_PLACE.search(before))


def _is_among(number: StatedNumber, values: list[float]) -> bool:
    """Return True if one of the sorted values is the number, to the digits that it shows."""
    wanted = [(number.value, number.half)]
    if number.percent:
        wanted.append((number.value / 100, number.half / 100))
    for value, half in wanted:
        half = half * 1.02 + 1e-12 * abs(value)
        place = bisect.bisect_left(values, value - half)
        if place < len(values) and values[place] <= value + half:
            return True
    return False


def _values(printed: Iterable[str]) -> Iterator[float]:
    left = _MOST_PRINTED
    for text in printed:
        text = text[: min(_MOST_OUTPUT, left)]
        left -= len(text)
        for number in numbers_in(_GROUPS.sub("", text)):
            yield number.value
        if left <= 0:
            return


def _printed(cells: list[Any]) -> Iterator[str]:
    for cell in cells:
        for output in map(as_dict, as_list(as_dict(cell).get("outputs"))):
            yield join_text(output.get("text"))
            yield join_text(as_dict(output.get("data")).get("text/plain"))


def _is_essay(cell: Any) -> bool:
    marks = marks_of(cell)
    graded = marks.get("grade") is True and marks.get("solution") is True
    return graded and cell.get("cell_type") == "markdown"


def _source(cell: Any) -> str:
    return join_text(as_dict(cell).get("source"))
