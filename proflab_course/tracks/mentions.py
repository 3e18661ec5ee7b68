"""Link what a track's text mentions and the class never saw: a lesson, a section, a function.

The link leads to the published whole lesson. In code nothing can be linked: there a mention is a
mistake, which names its cell.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from proflab_course.course.notebook import HIDDEN, SOLUTION, Cell, Lesson, replace_regions
from proflab_course.tracks.apply import GIVEN_FROM
from proflab_course.tracks.taken import Taken, TrackFacts, Tree

_AND = r"(?:, | and | or | to |–)"
_MENTION = re.compile(
    # First what is code, HTML or a link already: a name in it is no mention.
    r"(?P<skip>^ {0,3}```.*?^ {0,3}```|^ {4}.*?$|<[^>\n]+>|!?\[[^\]]*\]\([^)\n]*\))"
    r"|`(?P<name>\w+)(?:\([^`]*\))?`"
    r"|(?P<code>`[^`\n]*`)"
    rf"|[Ll]essons? (?P<lessons>\d\d(?:{_AND}\d\d)*\b)"
    rf"(?:(?:, |['’]s | \()[Ss]ections? (?P<their>\d+(?:{_AND}\d+)*))?"
    rf"|[Ss]ections? (?P<sections>\d+(?:{_AND}\d+)*)(?: of lesson (?P<of>\d\d))?",
    re.MULTILINE | re.DOTALL,
)
_NEAR = 60  # characters on both sides of a name
_TO_THE_READER = re.compile(r"\b(write|your|above)\b", re.IGNORECASE)


def missing_in(text: str, tree: Tree, taken: Taken) -> Iterator[str]:
    """Yield what a text of one of a tree's lessons mentions and the tree does not hold."""
    missing = _Missing(tree, taken)
    for match in _MENTION.finditer(text):
        if missing.linked(match) != match[0]:
            yield match[0]


def link_mentions(lesson: Lesson, facts: TrackFacts) -> Lesson:
    """Make links of what a lesson's text mentions and its class does not have."""
    if facts.track is not None and not facts.tree.is_whole:
        missing = _Missing(facts.tree, facts.taken[lesson.name])
        for cell in lesson.named("text"):
            if cell.node.cell_type == "markdown":
                cell.node.source = _MENTION.sub(missing.linked, cell.source)
    return lesson


def mentioned_in_code(lesson: Lesson, facts: TrackFacts) -> Iterator[str]:
    """Yield a sentence for each string or comment in code that mentions what is not there."""
    if facts.track is None or facts.tree.is_whole:
        return
    missing = _Missing(facts.tree, facts.taken[lesson.name])
    for cell in lesson.cells:
        for text in _shown_strings(cell):
            for match in _MENTION.finditer(text):
                if not match["name"] and missing.linked(match) != match[0]:
                    what = f"`{match[0]}` is not in this track, and code cannot link to it"
                    yield f"{cell.where}: {what}: write it without the number"


def asks_for_given(lesson: Lesson, facts: TrackFacts) -> Iterator[str]:
    """Yield a sentence for each text that asks its reader to do what is given."""
    for cell in lesson.named("text"):
        for name in facts.taken[lesson.name].given:
            for match in re.finditer(rf"`{re.escape(name)}\b", cell.source):
                around = cell.source[max(0, match.start() - _NEAR) : match.end() + _NEAR]
                if _TO_THE_READER.search(around):
                    yield f"{cell.where}: read again what it says of `{name}`, which is given"
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
        if lesson is None or (taken := self.tree.taken.get(lesson)) is None:
            return text
        found = re.findall(r"\d+", listed)
        gone = [number for number in found if number in taken.gone]
        if gone and len(found) == 1:
            return f"[{text}]({self._url(lesson)})"
        for number in gone:
            link = f"[{number}]({self._url(lesson)})"
            text = re.sub(rf"(?<!\d){number}(?!\d)", link, text, count=1)
        return text

    def _url(self, lesson: str) -> str:
        return self.tree.address.whole_lesson(lesson)


def track_line(taken: Taken, facts: TrackFacts) -> str:
    """Return the line below a lesson's title that tells what of the lesson a class takes.

    It is empty in the published track, and for a lesson of which nothing is left out.
    """
    if not taken.title or facts.track is None:
        return ""
    written = len(taken.lesson.named("exercise"))
    all_of_it = written + len(taken.more)
    exercises = f"{written} of this lesson's {all_of_it} exercises"
    link = f"[The whole lesson]({facts.address.whole_lesson(taken.lesson.name)})"
    first = "".join(f" Read first: {page}." for page in _lacking_ideas(taken.lesson.name, facts))
    numbers = " Its sections keep the numbers of the whole lesson." if taken.gone else ""
    return f"This class takes the track *{facts.track.title}*: {exercises}. {link}.{numbers}{first}"


def _lacking_ideas(name: str, facts: TrackFacts) -> Iterator[str]:
    """Yield a link for each idea that a lesson builds on and its track does not have."""
    names, taken = [lesson.name for lesson in facts.whole], facts.taken
    for need in facts.tracks.times[name].needs if facts.tracks else ():
        number, _, section = need.partition(" §")
        lesson = next((each for each in names if each.startswith(f"{number}_")), "")
        if lesson and (lesson not in taken or section in taken[lesson].gone):
            what = f"lesson {number}, section {section}" if section else f"lesson {number}"
            yield f"[{what}]({facts.address.whole_lesson(lesson)})"


def _shown_strings(cell: Cell) -> Iterator[str]:
    """Yield the strings and comments in a code cell that a student meets.

    A comment that says where given code is from is no mention.
    """
    if cell.node.cell_type != "code" or cell.role == "answer":
        return
    text = replace_regions(replace_regions(cell.code, HIDDEN, ()), SOLUTION, ("pass",))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(GIVEN_FROM):
            yield token.string
