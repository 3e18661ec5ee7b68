"""Tells which names a cell defines at top level, without running or parsing it.

By its tokens: a parser can be crashed by what it is given, and this is a stranger's. Where the text
cannot be split into tokens, its lines are looked at. To say one name too many is harmless: then a
stub, which earns nothing, is not put back.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from tokenize import TokenInfo

_MAX_TEXT = 50_000
_MAX_NOTEBOOK = 10 * _MAX_TEXT
_LINE = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=(?!=)"
    r"|(?:from|import)\b.*\bas[ \t]+(\w+)|from\b.*\bimport\b.*\b(\w+))",
    re.MULTILINE,
)
# Cells that may define names which are not written in them.
_UNSEEN = re.compile(
    r"\bimport[ \t]*\*|\b(?:exec|eval|globals|locals|vars|setattr|global|__dict__|get_ipython"
    r"|__main__)\b|^[ \t]*%",
    re.MULTILINE,
)
_MAGIC = re.compile(r"^[ \t]*(?:[%!?].*|.*\?)$", re.MULTILINE)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_HEADERS = ("if", "elif", "else", "try", "except", "finally", "for", "while", "with", "async")
_LAYOUT = (tokenize.COMMENT, tokenize.NL)


def defined_names(source: str) -> set[str]:
    """Return the names that a cell binds at top level, inside `if`, `try` and the like, too."""
    if len(source) > _MAX_TEXT:
        return names_by_line(source)
    text = _MAGIC.sub(_without_magic, source)
    names: set[str] = set()
    try:
        for statement in _top_level_statements(text):
            names |= _bound_names(statement)
    except (tokenize.TokenError, SyntaxError, ValueError):
        names |= names_by_line(source)
    return names


def names_in_each(sources: list[str], wanted: set[str]) -> list[set[str]]:
    """Return for each cell which of the `wanted` names it defines.

    A notebook may hold a great deal of text: what is beyond a limit is looked at line by line.
    """
    found, left = [], _MAX_NOTEBOOK
    for source in sources:
        if not any(name in source for name in wanted):
            found.append(set())
            continue
        left -= len(source)
        found.append(wanted & (defined_names(source) if left > 0 else names_by_line(source)))
    return found


def may_define_unseen(source: str) -> bool:
    """Return True if a cell may define names that it does not spell out (`import *`, `exec`)."""
    return bool(_UNSEEN.search(source))


def mentions(source: str, name: str) -> bool:
    """Return True if `name` stands in the text as a word."""
    return bool(re.search(rf"\b{re.escape(name)}\b", source))


def _without_magic(line: re.Match) -> str:
    """Return what stands in for a line of IPython's own syntax: nothing, as far indented."""
    indent = line[0][: len(line[0]) - len(line[0].lstrip())]
    return "" if line[0].lstrip().startswith("%%") else f"{indent}pass"


def names_by_line(source: str) -> set[str]:
    """Return the names that a cell's lines seem to bind, in functions, too: fast, and too many."""
    return {name for match in _LINE.finditer(source) for name in match.groups() if name}


def _top_level_statements(text: str) -> Iterator[list[TokenInfo]]:
    """Yield the tokens of each logical line that does not stand in a function or a class."""
    line: list[TokenInfo] = []
    blocks: list[bool] = []  # one a level of indentation: is it in a function or class?
    opaque = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.INDENT:
            blocks.append(opaque)
        elif token.type == tokenize.DEDENT:
            blocks.pop()
        elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER):
            if line and not any(blocks):
                yield line
            words = [t.string for t in line[:2]]
            opaque = bool(words) and words[words[0] == "async" and len(words) > 1] in (
                "def",
                "class",
            )
            line = []
        elif token.type not in _LAYOUT:
            line.append(token)


def _bound_names(statement: list[TokenInfo]) -> set[str]:
    words = [token.string for token in statement]
    names = {words[i - 1] for i, word in enumerate(words) if word == ":=" and i}
    if words[0] in _HEADERS:
        header, body = _split_at(statement, ":")
        names |= _header_names(header)
        if words[0] == "async" and len(words) > 2 and words[1] == "def":
            return {words[2]}
    else:
        body = statement
    for part in _split_everywhere(body, ";"):
        names |= _simple_names(part)
    return names


def _split_everywhere(tokens: list[TokenInfo], sign: str) -> list[list[TokenInfo]]:
    """Return what stands between the signs that are outside brackets."""
    parts: list[list[TokenInfo]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if token.string == sign and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _split_at(tokens: list[TokenInfo], sign: str) -> tuple[list[TokenInfo], list[TokenInfo]]:
    """Return what stands before and after the first `sign` outside brackets."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.string in _OPENING) - (token.string in _CLOSING)
        if token.string == sign and depth == 0:
            return tokens[:place], tokens[place + 1 :]
    return tokens, []


def _header_names(header: list[TokenInfo]) -> set[str]:
    """Return the names that `for … in` and `with … as` bind."""
    words = [token.string for token in header]
    if "for" in words[:2]:
        targets = header[words.index("for") + 1 : words.index("in")] if "in" in words else []
        return _target_names(targets)
    if "with" in words[:2]:
        return {after for word, after in zip(words, words[1:], strict=False) if word == "as"}
    return set()


def _simple_names(statement: list[TokenInfo]) -> set[str]:
    words = [token.string for token in statement]
    if not words:
        return set()
    if words[0] in ("def", "class"):
        return set(words[1:2])
    if words[0] in ("import", "from"):
        return _imported_names(words)
    names: set[str] = set()
    if "lambda" in words:  # its defaults are no assignments
        statement = statement[: words.index("lambda")]
    for target in _split_everywhere(statement, "=")[:-1]:
        names |= _target_names(_split_at(target, ":")[0])
    return names


def _imported_names(words: list[str]) -> set[str]:
    """Return the names that an import binds."""
    listed = words[words.index("import") + 1 :] if "import" in words else []
    parts = " ".join(w for w in listed if w not in "()").split(",")
    names = set()
    for part in map(str.split, parts):
        if "as" in part:
            names.add(part[-1])
        elif part:
            names.add(part[0])
    return names


def _target_names(target: list[TokenInfo]) -> set[str]:
    """Return the names in the target of an assignment, not those whose parts are assigned to."""
    words = ["", *(token.string for token in target), ""]
    return {
        word
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
        if word.isidentifier() and before != "." and after not in (".", "(", "[")
    }
