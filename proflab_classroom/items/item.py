"""Say what a question with four options is, wherever it is asked: text, key, misconceptions.

A concept question (`questions/concepts_file.py`) and an item of the inventory
(`inventory/items.py`) add where they belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proflab_course.course.answer_cells import LETTERS
from proflab_course.course.secret import shuffled


@dataclass(frozen=True, kw_only=True)
class Item:
    """Hold a question. Letters are those of its file, whatever order a class gets.

    options: the text of each letter A to D; key: the right one. slips: the misconception behind a
    wrong letter. line: Python in the scope of the solved lessons, and `value`, what it yields.
    option_values: the value of the line that a letter stands for. fixed: letters that stay last.
    """

    stem: str
    options: Mapping[str, str]
    key: str
    slips: Mapping[str, str] = field(default_factory=dict)
    line: str = ""
    value: Any = None
    option_values: Mapping[str, Any] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()

    def drawn(self, key: bytes, *words: str) -> str:
        """Return the letters in the order that a key and words draw, the fixed ones last."""
        free = [letter for letter in LETTERS if letter not in self.fixed]
        return "".join([*shuffled(key, *words, items=free), *self.fixed])
