"""Join the sentences of a paragraph, of which a lesson's source has one a line.

So a change of one sentence is a change of one line, and notebooks have whole paragraphs. Lists,
tables, quotes, fences, headings and HTML stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
# How lines begin that no sentence runs into.
_NO_PROSE = re.compile(r"\s|#+ |[-*+] |\d+[.)] |>|\||<|!\[|\$\$|---|===|```|~~~")
# After these a line ends in the middle of a sentence.
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|No|Fig|vs|cf|et al|approx|Sec|p)\.$")
_SENTENCE = re.compile(r"(?:[.?!][)*_”\"]*|-->) (?=[A-Z`*\[“(])")
_LABEL = re.compile(r"\*\*[^*]+\*\*")  # such as **Predict.**: no sentence of its own


def paragraphs(text: str) -> list[str]:
    """Return the parts of a text that blank lines divide."""
    return re.split(r"\n[ \t]*\n", text)


def join_sentences(text: str) -> str:
    """Return text with each paragraph on one line.

    >>> join_sentences("One.\\nTwo.\\n\\n- a\\n- b\\n\\nThree\\nand four.")
    'One. Two.\\n\\n- a\\n- b\\n\\nThree and four.'
    """
    return "\n".join(" ".join(lines) for lines in _blocks(text))


def split_sentences(text: str) -> str:
    """Return text with each sentence of a paragraph on a line of its own.

    >>> split_sentences("One. Two, e.g. Three: four.\\n\\n- a. B")
    'One.\\nTwo, e.g. Three: four.\\n\\n- a. B'
    """
    return "\n".join("\n".join(_sentences(" ".join(lines))) for lines in _blocks(text))


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph together, and every other line alone."""
    paragraph: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        prose = not fence and not match and line and not _NO_PROSE.match(line)
        # Two blanks at a line's end are Markdown's line break.
        if prose and not line.endswith("  "):
            paragraph.append(line)
            continue
        if paragraph:
            yield paragraph
            paragraph = []
        if match and not fence:
            fence = match[1]
        elif match and match[1] == fence:
            fence = ""
        yield [line]
    if paragraph:
        yield paragraph


def _sentences(line: str) -> Iterator[str]:
    if not line or _NO_PROSE.match(line):
        yield line
        return
    begin, inside = 0, _inside(line)
    for match in _SENTENCE.finditer(line):
        end = match.end()
        sentence = line[begin : end - 1]
        if inside[end - 1] or _NO_PROSE.match(line[end:]):
            continue
        if _ABBREVIATION.search(sentence) or _LABEL.fullmatch(sentence):
            continue
        yield sentence
        begin = end
    yield line[begin:]


def _inside(line: str) -> list[bool]:
    """Return for each character whether it is in code, a formula, a link or brackets."""
    depth, code, formula, found = 0, False, False, []
    for character in line:
        if character == "`":
            code = not code
        elif not code and character == "$":
            formula = not formula
        elif not code and not formula:
            depth += (character in "([“") - (character in ")]”")
        found.append(code or formula or depth > 0)
    return found
