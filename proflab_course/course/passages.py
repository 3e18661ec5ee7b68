"""Let a line of a lesson's text say what it rests on, so that it goes where a track lacks that.

A line of a text cell is a sentence, an item of a list or a row of a table. A comment at its end
says where it stays; a comment on a line of its own says so of the paragraph below it, or, above a
heading, of the section:

    You draw the picture above. <!-- with roofline_points -->
    **Next.** Lesson 04 follows the bytes. <!-- with lesson 04 -->
    **Next.** Lesson 05 times each operation. <!-- with lesson 05, without lesson 04 -->

What can be named: an exercise, which is there where it is written; a demo cell; `section 5`, or a
section without a number by its title; `lesson 04`; `lesson 06 amdahl`, an exercise that is written
in another lesson; `essay`. The whole lesson has all of them. Pages for students
(`build/class_tree.py`) name lessons, `links` that open these, and `whole` lessons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

KEY = "proflab_passages"  # of a text cell as read: its text with the comments
_MARK = re.compile(r"[ \t]*<!-- *((?:with|without)\b[^>]*?) *-->[ \t]*$")
_TERM = re.compile(r"(?:(with|without) +)?([A-Za-z_]\w*(?: +[\w ]+)?)")
_BLANKS = re.compile(r"\n{3,}")  # where a passage was left out
_HEADING = re.compile(r"(#+) ")
_FENCE = re.compile(r"\s*(```|~~~)")

Holds = Callable[[str], bool]


def is_marked(text: str) -> bool:
    """Return True if a line of the text says what it rests on."""
    return any(map(_MARK.search, text.split("\n")))


def in_whole(text: str) -> str:
    """Return the text as the whole lesson has it, without comments."""
    return resolve(text, lambda name: True)


def resolve(text: str, holds: Holds) -> str:
    r"""Return the lines that stay, without their comments.

    holds: whether what a line names is there, such as "chain" or "section 5".

    >>> resolve("One.\nTwo. <!-- with two -->\nNot. <!-- without two -->", lambda name: True)
    'One.\nTwo.'
    """
    above = _Above()
    kept = []
    for line in text.split("\n"):
        mark = _MARK.search(line)
        stays = mark is None or all(holds(name) == wanted for name, wanted in _terms(mark[1]))
        if mark is not None and not line[: mark.start()].strip():
            above.comment = stays
        elif above.keeps(line) and stays:
            kept.append(line[: mark.start()] if mark else line)
    return _BLANKS.sub("\n\n", "\n".join(kept)).strip("\n")


class _Above:
    """Whether the comment above a line lets it stay, and the comment above its section.

    comment: what the last comment on a line of its own says; True where a blank line has ended it.
    """

    def __init__(self) -> None:
        self.comment = True
        self.section, self.level = True, 0
        self.in_fence = False

    def keeps(self, line: str) -> bool:
        """Return True if the next line may stay; lines are asked for in order."""
        heading = _HEADING.match(line) if not self.in_fence else None
        if heading and (len(heading[1]) <= self.level or self.section):
            self.section, self.level = self.comment, len(heading[1])
        kept = self.section and self.comment
        self.in_fence ^= bool(_FENCE.match(line))
        if not line.strip() and not self.in_fence:
            self.comment = True
        return kept


def names(text: str) -> Iterator[str]:
    """Yield what the text's lines name; "" for a comment that names nothing that can be read."""
    for mark in filter(None, map(_MARK.search, text.split("\n"))):
        for name, _ in _terms(mark[1]):
            yield name


def unmarked(text: str) -> Iterator[str]:
    """Yield the lines, blank ones apart, that say of nothing that they rest on it."""
    of_paragraph = False
    for line in text.split("\n"):
        mark = _MARK.search(line)
        if not line.strip():
            of_paragraph = False
        elif mark is not None and not line[: mark.start()].strip():
            of_paragraph = True
        elif mark is None and not of_paragraph:
            yield line


def _terms(listed: str) -> Iterator[tuple[str, bool]]:
    """Yield each name of a comment, and whether it has to be there."""
    word = "with"
    for part in listed.split(","):
        match = _TERM.fullmatch(part.strip())
        word = match[1] or word if match else word
        yield " ".join(match[2].split()) if match else "", word == "with"
