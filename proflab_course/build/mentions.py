"""Link what a track's text mentions and the class never saw: a lesson, a section, a function.

The link leads to the published whole lesson. In code nothing can be linked: there a mention is a
mistake, which names its cell.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from proflab.lesson.names import bound_names
from proflab_course.build.stamp import Address
from proflab_course.build.tracks import GIVEN_FROM, Taken
from proflab_course.course.notebook import HIDDEN, SOLUTION, Cell, Lesson, replace_regions
from proflab_course.course.tracks import Track, Tracks

_AND = r"(?:, | and | or | to |–)"
_MENTION = re.compile(
    r"(?P<skip>^ {0,3}```.*?^ {0,3}```|^ {4}.*?$|<[^>\n]+>|!?\[[^\]]*\]\([^)\n]*\))"
    r"|`(?P<name>\w+)(?:\([^`]*\))?`"
    r"|(?P<code>`[^`\n]*`)"
    rf"|[Ll]essons? (?P<lessons>\d\d(?:{_AND}\d\d)*\b)"
    rf"(?:(?:, |['’]s | \()[Ss]ections? (?P<their>\d+(?:{_AND}\d+)*))?"
    rf"|[Ss]ections? (?P<sections>\d+(?:{_AND}\d+)*)(?: of lesson (?P<of>\d\d))?",
    re.MULTILINE | re.DOTALL,
)
_NEAR = 60
_TO_THE_READER = re.compile(r"\b(write|your|above)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Tree:
    """Hold what a class sees: each lesson of its track, and all of the course as written."""

    taken: Mapping[str, Taken]
    whole: Mapping[str, Lesson]
    address: Address

    @classmethod
    def of(cls, taken: Iterable[Taken], whole: Iterable[Lesson], address: Address) -> Tree:
        """Return the tree of these lessons."""
        by_name = {each.lesson.name: each for each in taken}
        return cls(by_name, {lesson.name: lesson for lesson in whole}, address)

    @cached_property
    def defined(self) -> Mapping[str, set[str]]:
        """Return the names that each whole lesson's exercises and given cells define."""
        return {name: _defined(lesson) for name, lesson in self.whole.items()}

    @cached_property
    def exercises(self) -> Mapping[str, str]:
        """Return each exercise of the whole lessons with its lesson."""
        return {
            cell.name: name
            for name, lesson in self.whole.items()
            for cell in lesson.named("exercise")
        }

    @cached_property
    def taken_defines(self) -> set[str]:
        """Return the names that the track's own lessons define."""
        return set().union(*(_defined(taken.lesson) for taken in self.taken.values()))

    def link_mentions(self) -> None:
        """Make links of what the lessons' text mentions and the tree does not hold."""
        for taken in self._incomplete():
            missing = _Missing(self, taken)
            for cell in taken.lesson.named("text"):
                if cell.node.cell_type == "markdown":
                    cell.node.source = _MENTION.sub(missing.linked, cell.source)

    def mistakes(self) -> Iterator[str]:
        """Yield a sentence for each string or comment in code that mentions what is not there."""
        for taken in self._incomplete():
            missing = _Missing(self, taken)
            for cell in taken.lesson.cells:
                for text in _shown_strings(cell):
                    for match in _MENTION.finditer(text):
                        named = not match["name"] and missing.linked(match) != match[0]
                        if named:
                            what = f"`{match[0]}` is not in this track, and code cannot link to it"
                            yield f"{cell.where}: {what}: write it without the number"

    def missing_in(self, taken: Taken, text: str) -> Iterator[str]:
        """Yield what a text of one of the tree's lessons mentions and the tree does not hold."""
        missing = _Missing(self, taken)
        for match in _MENTION.finditer(text):
            if missing.linked(match) != match[0]:
                yield match[0]

    def _incomplete(self) -> Iterator[Taken]:
        """Yield the lessons, if the tree does not hold all of the course."""
        partial = any(taken.partial for taken in self.taken.values())
        if partial or len(self.taken) < len(self.whole):
            yield from self.taken.values()

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each text that asks its reader to do what is given."""
        for taken in self.taken.values():
            for cell in taken.lesson.named("text"):
                for name in taken.given:
                    for match in re.finditer(rf"`{re.escape(name)}\b", cell.source):
                        around = cell.source[max(0, match.start() - _NEAR) : match.end() + _NEAR]
                        if _TO_THE_READER.search(around):
                            what = f"read again what it says of `{name}`, which is given"
                            yield f"{cell.where}: {what}"
                            break


class _Missing:
    """Find what one lesson of a tree mentions and the class never saw."""

    def __init__(self, tree: Tree, taken: Taken) -> None:
        self.tree, self.name = tree, taken.lesson.name
        self.numbers = {name[:2]: name for name in tree.whole}
        before = (names for name, names in tree.defined.items() if name < self.name)
        defined = tree.taken_defines.union(*before)
        self.functions = {
            name: lesson for name, lesson in tree.exercises.items() if name not in defined
        }

    def linked(self, match: re.Match) -> str:
        """Return a mention with links to what is not there; as it stands if all of it is."""
        if match["name"] in self.functions:
            return f"[{match[0]}]({self._url(self.functions[match['name']])})"
        if match["lessons"]:
            return self._lessons(match)
        if match["sections"]:
            lesson = self.numbers.get(match["of"]) if match["of"] else self.name
            if lesson and lesson not in self.tree.taken:
                return f"[{match[0]}]({self._url(lesson)})"
            return self._sections(match[0], match["sections"], lesson)
        return match[0]

    def _lessons(self, match: re.Match) -> str:
        text, found = match[0], re.findall(r"\d\d", match["lessons"])
        gone = [n for n in found if n in self.numbers and self.numbers[n] not in self.tree.taken]
        if gone and len(found) == 1:
            return f"[{text}]({self._url(self.numbers[gone[0]])})"
        for number in gone:
            text = text.replace(number, f"[{number}]({self._url(self.numbers[number])})", 1)
        if match["their"] and not gone:
            begin = match.start("their") - match.start()
            cut = text.lower().rindex("section", 0, begin)
            lesson = self.numbers.get(found[-1])
            return text[:cut] + self._sections(text[cut:], match["their"], lesson)
        return text

    def _sections(self, text: str, listed: str, lesson: str | None) -> str:
        taken = self.tree.taken.get(lesson) if lesson else None
        found = re.findall(r"\d+", listed)
        gone = [number for number in found if taken and number in taken.gone]
        if gone and len(found) == 1:
            return f"[{text}]({self._url(lesson)})"
        for number in gone:
            link = f"[{number}]({self._url(lesson)})"
            text = re.sub(rf"(?<!\d){number}(?!\d)", link, text, count=1)
        return text

    def _url(self, lesson: str) -> str:
        return self.tree.address.whole_lesson(lesson)


def track_line(taken: Taken, track: Track, address: Address, lacking: Iterable[str] = ()) -> str:
    """Return the line below a lesson's title that tells what of the lesson a class takes.

    lacking: the pages of ideas that it builds on and the track does not have, as links.
    """
    written = len(taken.lesson.named("exercise"))
    all_of_it = written + len(taken.more)
    exercises = f"{written} of this lesson's {all_of_it} exercises"
    link = f"[The whole lesson]({address.whole_lesson(taken.lesson.name)})"
    first = "".join(f" Read first: {page}." for page in lacking)
    numbers = " Its sections keep the numbers of the whole lesson." if taken.gone else ""
    return f"This class takes the track *{track.title}*: {exercises}. {link}.{numbers}{first}"


def lacking_ideas(
    name: str, tracks: Tracks, taken: Mapping[str, Taken], names: Iterable[str], address: Address
) -> Iterator[str]:
    """Yield a link for each idea that a lesson builds on and its track does not have.

    taken: the track's lessons; names: all lessons of the course.
    """
    for need in tracks.times[name].needs:
        number, _, section = need.partition(" §")
        lesson = next((each for each in names if each.startswith(f"{number}_")), "")
        if lesson and (lesson not in taken or section in taken[lesson].gone):
            what = f"lesson {number}, section {section}" if section else f"lesson {number}"
            yield f"[{what}]({address.whole_lesson(lesson)})"


def _defined(lesson: Lesson) -> set[str]:
    cells = lesson.named("exercise", "given")
    return {name for cell in cells for name in bound_names(cell.statements())}


def _shown_strings(cell: Cell) -> Iterator[str]:
    """Yield the strings and comments in a code cell that a student meets.

    A comment that says where given code is from is no mention.
    """
    if cell.node.cell_type != "code" or cell.role == "answer":
        return
    text = cell.code
    for pair in (HIDDEN, SOLUTION):
        text = replace_regions(text, pair, ("    pass",) if pair == SOLUTION else ())
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(GIVEN_FROM):
            yield token.string
