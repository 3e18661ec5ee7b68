"""A Sphinx extension: docstrings of this project, which are plain text, as reStructuredText.

They describe arguments in paragraphs of lines such as `shape: a shape, batch first`; these become
lists. Outside of `code`, the characters of `*sizes`, `|x|` and `relu_` stand for themselves.
"""

from __future__ import annotations

import re
from itertools import groupby

from sphinx.application import Sphinx

_ARGUMENT = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): +(?=\S)")
_MARKUP = re.compile(r"[*|]|(?<=\w)_(?!\w)")


def as_rst(lines: list[str]) -> list[str]:
    """Return a docstring's lines with its lists of arguments as definition lists.

    >>> as_rst(["Return a tensor.", "", "shape: its shape,", "       batch first", "", ">>> 1 * 1"])
    ['Return a tensor.', '', '``shape``', '    its shape,', '    batch first', '', '>>> 1 * 1']
    """
    made: list[str] = []
    for blank, block in groupby(lines, key=lambda line: not line.strip()):
        paragraph = list(block)
        if blank or paragraph[0].lstrip().startswith(">>>") or paragraph[0].startswith(" "):
            made += paragraph
        elif all(_ARGUMENT.match(line) or line.startswith("  ") for line in paragraph):
            for line in paragraph:
                made += _definition(line)
        else:
            made += _escaped("\n".join(paragraph)).split("\n")
    return made


def _definition(line: str) -> list[str]:
    name = _ARGUMENT.match(line)
    if name is None:
        return [f"    {_escaped(line.strip())}"]
    return [f"``{name[1]}``", f"    {_escaped(line[name.end() :])}"]


def _escaped(text: str) -> str:
    """Return text in which only what stands between backquotes is markup."""
    parts = text.split("`")
    parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def _process(app: Sphinx, what: str, name: str, thing, options, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def setup(app: Sphinx) -> dict:
    """Connect to autodoc, which autosummary uses too."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
