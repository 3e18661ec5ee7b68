"""Texts made to cost whoever reads them more than they are long."""

from __future__ import annotations

from collections.abc import Iterator

_SIGNS = " \t\n\r\f\\\"'#;:=,.@-()[]{}1é\0%!?"
_WORDS = "def |class |async |lambda |import |import  *|from import |from x import y |as |for |in "
PIECES = (
    *_SIGNS,
    *_WORDS.split("|"),
    *('"""', "'''", "\"'", "f'", '"\\', "\\\n", "\r\n", "x = 1\n", "  x\n", "a", "a ", "a=", "a:"),
    *("a.b", "0.", ":=", "? ", "=!", "x)\n", "(\n", "if x:", "%store", "% ", "exec ", "global "),
    *("import", "from", "def f():\n", "x = lambda: 0\n"),
)
ENDS = ("$", "\nx")
# Python reads this in a time that grows with the square of its length, or worse.
BLANKS = "y = 1" + " " * 49_900 + "$"


def texts(length: int) -> Iterator[str]:
    """Yield one text of this length for each piece and each end."""
    for piece in PIECES:
        for end in ENDS:
            yield (piece * (length // len(piece) + 1))[: length - len(end)] + end
