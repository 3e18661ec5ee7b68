"""Find what a call uses and a reader of the sheet cannot know: it is printed, or not asked about.

A lesson's given cells bind names that calls use, such as TOY = {…}. Their definitions stand on the
sheet where they are short. Helpers of test cells, such as scripted clocks, are nobody's knowledge.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field

from proflab.lesson.names import bound_names, used_names
from proflab_classroom.viva.entries import without_docstrings
from proflab_course.grading.answer_key import Key

MOST_LINES, MOST_TEXT = 4, 200  # of a call's definitions together
# A lesson imports from these, and from files beside it: what those hold is for its test cells.
_KNOWN_ROOTS = {*sys.stdlib_module_names, "numpy", "proflab", "built"}
_DOUBLES = "proflab.lesson.doubles"


@dataclass
class Definitions:
    """Hold a lesson's definitions as text, by name, and the names of its test cells' helpers."""

    texts: dict[str, str] = field(default_factory=dict)
    helpers: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, key: Key) -> Definitions:
        """Return those of a lesson's cells, exercises and test cells apart."""
        found = cls()
        for cell in key.cells:
            if cell.kind in ("locked", "free") and cell.master.cell_type == "code":
                found._add(cell.master.source)
        return found

    def _add(self, source: str) -> None:
        try:
            nodes = ast.parse(source).body
        except SyntaxError:  # a magic command
            return
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self.helpers |= {name for name, module in _imported(node) if _is_helper(module)}
            elif isinstance(node, (ast.Assign, ast.FunctionDef, ast.ClassDef)):
                text = without_docstrings(ast.get_source_segment(source, node) or "")
                self.texts |= dict.fromkeys(bound_names([node]), text)

    def needed(self, code: str, known: set[str]) -> tuple[str, ...] | None:
        """Return the definitions that a call needs, in order; None if they cannot be printed.

        They are too long, or one of them rests on what only test cells use.
        known: the names of the lesson's exercises.
        """
        found: dict[str, str] = {}
        waiting = [code]
        while waiting:
            nodes = ast.parse(waiting.pop()).body
            for name in sorted(used_names(nodes) - bound_names(nodes) - known):
                if name in self.texts and name not in found:
                    found[name] = self.texts[name]
                    waiting.append(self.texts[name])
        shown = tuple(dict.fromkeys(text for name, text in self.texts.items() if name in found))
        lines = "\n".join(shown)
        fit = len(lines) <= MOST_TEXT and lines.count("\n") < MOST_LINES
        return shown if fit and not self.uses_helper(lines) else None

    def uses_helper(self, code: str) -> bool:
        """Return True if a call uses a helper of test cells."""
        return bool(used_names(ast.parse(code).body) & self.helpers)


def _imported(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """Return the names that an import binds, each with what it stands for."""
    start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return [
        ((alias.asname or alias.name).partition(".")[0], f"{start}{alias.name}")
        for alias in node.names
    ]


def _is_helper(module: str) -> bool:
    return module.startswith(_DOUBLES) or module.partition(".")[0] not in _KNOWN_ROOTS
