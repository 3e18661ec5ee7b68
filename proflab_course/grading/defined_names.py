"""Find the names that a cell defines at top level, without running or parsing it.

The cell is split into tokens, because untrusted text can crash Python's parser. Python's tokenizer
is not used: its time grows with the square of the text or worse, and it reads broken text
differently from version to version. In this scanner each token takes at least one character, and no
pattern reads a character more than a few times; groups are not possessive, which Python 3.11.2 gets
wrong. If brackets or quotes are left open, the lines are searched instead. One name too many is
harmless: a stub, which earns nothing, is not restored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

# Characters of a notebook that are split into tokens; the rest is searched by lines.
MAX_SCANNED = 500_000
# `*+` and `++` never backtrack, so that a hostile text takes no longer than another.
_LINE = re.compile(
    r"^[ \t]*+(?:(?:async[ \t]++)?(?:def|class)[ \t]++(\w++)|(\w++)[ \t]*+(?::[^=\n]++)?=(?!=)"
    r"|(?:from|import)\b.*\bas[ \t]++(\w++)|from\b.*\bimport\b.*\b(\w+))",
    re.MULTILINE,
)
# Code that may define names that are not written in the cell.
_UNSEEN = re.compile(
    r"\bimport[ \t]*+\*|\b(?:exec|eval|globals|locals|vars|setattr|global|__dict__|get_ipython"
    r"|__main__)\b|^[ \t]*+%",
    re.MULTILINE,
)
_TOKEN = re.compile(
    r"(?P<newline>\r\n?|\n)"
    r"|(?P<blank>[ \t\f]++)"
    r"|(?P<comment>\#[^\r\n]*+)"
    r"|(?P<continued>\\(?:\r\n?|\n))"
    r"""|(?P<prefix>[rbfutRBFUT]{1,2}(?=["']))"""
    r'|(?P<text>"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*"""'
    r"|'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*'''"
    r'|"(?!"")[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*"'
    r"|'(?!'')[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*')"
    r"""|(?P<endless>\"{3}|'{3})"""
    r"""|(?P<broken>["'][^\\\r\n]*+(?:\\.[^\\\r\n]*+)*)"""
    r"|(?P<word>[^\W\d]\w*+)"
    r"|(?P<number>\d[\w.]*+)"
    r"|(?P<sign>:=|[=!<>]=|[-+*/%@&|^]=|.)",
    re.DOTALL,
)
_LAYOUT = ("blank", "comment", "continued", "prefix")
_TEXT = '""'  # stands for any string, whose words define nothing
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_HEADERS = ("if", "elif", "else", "try", "except", "finally", "for", "while", "with", "async")
_MAGIC = ("%", "!", "?")


def defined_names(source: str) -> set[str]:
    """Return the names that a cell binds at top level, also inside `if`, `try` and the like."""
    return _names(source, _bound_names)


def defined_functions(source: str) -> set[str]:
    """Return the functions and classes that a cell defines at top level."""
    return _names(source, _function_name)


def names_in_each(
    sources: Iterable[str],
    wanted: set[str] | None = None,
    names_in: Callable[[str], set[str]] = defined_names,
) -> list[set[str]]:
    """Return for each cell which names it defines, or which of the `wanted`.

    Text beyond a limit is searched line by line, because a notebook may be very long.
    """
    found: list[set[str]] = []
    left = MAX_SCANNED
    for source in sources:
        if wanted is not None and not any(name in source for name in wanted):
            found.append(set())
            continue
        left -= len(source)
        names = names_in(source) if left > 0 else names_by_line(source)
        found.append(names if wanted is None else names & wanted)
    return found


def code_of(source: str) -> str:
    """Return a cell's code without layout, comments and docstrings, for comparison."""
    kept: list[str] = []
    line: list[str] = []
    kinds: set[str | None] = set()
    for match in _TOKEN.finditer(f"{source}\n"):
        if match.lastgroup == "newline":
            kept += line if kinds != {"text"} else []
            line, kinds = [], set()
        elif match.lastgroup not in ("blank", "comment", "continued"):
            line.append(match[0])
            kinds.add(match.lastgroup)
    return " ".join(kept)


def names_by_line(source: str) -> set[str]:
    """Return the names that a cell's lines seem to bind, also in functions: fast, but too many."""
    return {name for match in _LINE.finditer(source) for name in match.groups() if name}


def may_define_unseen(source: str) -> bool:
    """Return True if a cell may define names that it does not spell out (`import *`, `exec`)."""
    return bool(_UNSEEN.search(source))


def _names(source: str, of_statement: Callable[[list[str]], set[str]]) -> set[str]:
    scanner = _Scanner(source)
    names = set().union(*map(of_statement, scanner.top_level_statements()))
    return names | names_by_line(source) if scanner.is_cut_off else names


def word_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds each of these words in one pass over a text."""
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")


class _Scanner:
    """One pass over a cell's text. `is_cut_off`: a bracket or a string was open at its end."""

    def __init__(self, source: str) -> None:
        self._tokens = _TOKEN.finditer(source)
        self._depth = 0
        self.is_cut_off = False

    def top_level_statements(self) -> Iterator[list[str]]:
        """Yield the words of each logical line outside functions and classes."""
        levels, hidden = [0], [False]  # by level of indentation; hidden: in a function or class
        opens_hidden = False
        for column, words in self._logical_lines():
            while column < levels[-1]:
                levels.pop()
                hidden.pop()
            if column > levels[-1]:
                levels.append(column)
                hidden.append(hidden[-1] or opens_hidden)
            opens_hidden = words[words[0] == "async" and len(words) > 1] in ("def", "class")
            if not hidden[-1]:
                yield words

    def _logical_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the indentation and the words of each logical line."""
        column = 0
        words: list[str] = []
        for match in self._tokens:
            kind, text = match.lastgroup, match[0]
            if kind == "newline":
                if not self._depth:
                    if words and words[0] not in _MAGIC:
                        yield column, words
                    column, words = 0, []
            elif kind == "blank":
                if not words:
                    # As Python's tokenizer: a form feed begins anew, a tab goes to the next 8.
                    column = len(text.rpartition("\f")[2].expandtabs(8))
            elif kind == "endless":
                self.is_cut_off = True
                break
            elif kind not in _LAYOUT:
                words.append(text if kind in ("word", "sign") else _TEXT)
                if kind == "sign" and words[0] not in _MAGIC:
                    self._depth += (text in _OPENING) - (text in _CLOSING and self._depth > 0)
        self.is_cut_off = self.is_cut_off or self._depth > 0
        if words and words[0] not in _MAGIC:
            yield column, words


def _bound_names(words: list[str]) -> set[str]:
    names = {words[i - 1] for i, word in enumerate(words) if word == ":=" and i}
    body = words
    if words[0] in _HEADERS:
        if words[0] == "async" and words[1:2] == ["def"]:
            return set(words[2:3])
        header, body = _split_at(words, ":")
        names |= _header_names(header)
    for part in _split_everywhere(body, ";"):
        names |= _simple_names(part)
    return names


def _function_name(words: list[str]) -> set[str]:
    """Return the name of the function or class that a logical line begins or assigns."""
    words = words[words[0] == "async" :]
    if words[:1] in (["def"], ["class"]):
        return set(words[1:2])
    return set(words[:1]) if words[1:3] == ["=", "lambda"] else set()


def _split_everywhere(words: list[str], sign: str) -> list[list[str]]:
    """Return the parts between the signs outside brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if word == sign and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _split_at(words: list[str], sign: str) -> tuple[list[str], list[str]]:
    """Return the parts before and after the first `sign` outside brackets."""
    depth = 0
    for place, word in enumerate(words):
        depth += (word in _OPENING) - (word in _CLOSING)
        if word == sign and depth == 0:
            return words[:place], words[place + 1 :]
    return words, []


def _header_names(words: list[str]) -> set[str]:
    """Return the names that `for … in` and `with … as` bind."""
    if "for" in words[:2]:
        targets = words[words.index("for") + 1 : words.index("in")] if "in" in words else []
        return _target_names(targets)
    if "with" in words[:2]:
        return {after for word, after in zip(words, words[1:], strict=False) if word == "as"}
    return set()


def _simple_names(words: list[str]) -> set[str]:
    if not words:
        return set()
    if words[0] in ("def", "class"):
        return set(words[1:2])
    if words[0] in ("import", "from"):
        return _imported_names(words)
    names: set[str] = set()
    if "lambda" in words:  # a lambda's defaults are not assignments
        words = words[: words.index("lambda")]
    for target in _split_everywhere(words, "=")[:-1]:
        names |= _target_names(_split_at(target, ":")[0])
    return names


def _imported_names(words: list[str]) -> set[str]:
    listed = words[words.index("import") + 1 :] if "import" in words else []
    names = set()
    for part in _split_everywhere([word for word in listed if word not in "()"], ","):
        if "as" in part:
            names.add(part[-1])
        elif part:
            names.add(part[0])
    return names


def _target_names(target: list[str]) -> set[str]:
    """Return the names that an assignment's target binds, not those of `a.b` or `a[0]`."""
    words = ["", *target, ""]
    return {
        word
        for before, word, after in zip(words, words[1:], words[2:], strict=False)
        if word.isidentifier() and before != "." and after not in (".", "(", "[")
    }
