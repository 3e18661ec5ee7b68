"""Read the comments that let hidden cases vary, and draw other inputs for them.

In a hidden block, a comment above a case, a table's row or a set-up line says what may change:

    # vary: 768 in 2..2_000, 3072 in 2..5_000
    expect("a wide layer", linear_parameters(768, 3072), 2_362_368)

    # vary: width in 8..64 by 8, groups in {1, 2, 4}, 0.5 in 0.25..2.0
    # keep: width % groups == 0
    width, groups = 16, 2
    layer = grouped(width, groups, 0.5)
    expect("groups divide the weights", count_parameters(layer), 40)

What a comment may say is in vary_comments.py. The expected value of each `expect` that depends on a
drawn number is what the lesson's own solution returns (grading/own_numbers/solved_values.py).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from proflab.lesson.names import bound_names, used_names
from proflab_course.cases.hidden_blocks import (
    Span,
    Spans,
    bindings,
    changed_names,
    hidden_blocks,
    is_case,
    value_cases,
)
from proflab_course.cases.reader import split
from proflab_course.cases.vary_comments import VARY, Comment, Edits, VaryError, comments_of

# grading/own_numbers/cases.py writes it, and grading/pages/feedback.py looks for it.
OWN = "proflab_own_numbers"  # in the metadata of a graded cell whose numbers are one student's


@dataclass(frozen=True)
class Varying:
    """Hold a test cell whose hidden cases may vary.

    expected: where the expected value of each case stands that depends on a drawn number, by label.
    """

    name: str
    source: str
    comments: tuple[Comment, ...]
    expected: dict[str, Span]

    def drawn(self, secret: bytes, *words: str) -> Edits:
        """Return what changes in the cell's text for these words, as a student and a lesson.

        Raises VaryError where no draw keeps what the comments ask for.
        """
        edits: Edits = {}
        for comment in self.comments:
            edits |= comment.drawn(secret, *words, self.name)
        return edits

    def text(self, edits: Edits) -> str:
        """Return the cell's text with these changes."""
        text = self.source.encode()
        for (begin, end), new in sorted(edits.items(), reverse=True):
            text = text[:begin] + new.encode() + text[end:]
        return text.decode()

    def expecting(self, values: dict[str, Any]) -> Edits:
        """Return the changes that put in the values that the cases expect, by label.

        A value is a float where the lesson writes one, as an int is met by whole numbers only.

        Raises ValueError, with the label, for a value that is not written as plain Python.
        """
        edits: Edits = {}
        for label, span in self.expected.items():
            value = values[label]
            if getattr(value, "ndim", 0) == 1:  # equal to a list of the same items
                value = value.tolist()
            literal = repr(_as_written(value, self._written[label]))
            try:
                ast.literal_eval(literal)
            except (ValueError, SyntaxError):
                raise ValueError(label) from None
            edits[span] = literal
        return edits

    @cached_property
    def _written(self) -> dict[str, Any]:
        """Return what the lesson writes as expected, by label."""
        return {
            answer.label: answer.expected for _, answer in split(self.source, self.name).answers
        }

    def asked(self, edits: Edits) -> list[list[tuple[str, str]]]:
        """Return what each hidden block executes: ("", set-up) or (label, expression), in order."""
        text = self.text(edits)
        blocks = []
        for nodes in hidden_blocks(text, self.name):
            asked: list[tuple[str, str]] = []
            for node in nodes:
                # Of a case without a value, such as expect_raises, there is nothing to ask.
                if not (cases := list(value_cases(node))):
                    asked += [] if is_case(node) else [("", ast.unparse(node))]
                asked += [
                    (case.label, ast.unparse(case.call))
                    for case in cases
                    if case.label in self.expected
                ]
            blocks.append(asked)
        return blocks


def _as_written(value: Any, written: Any) -> Any:
    """Return a value with floats for ints where the written value has floats."""
    if isinstance(written, float) and type(value) is int:
        return float(value)
    if getattr(written, "ndim", 0) == 1:
        written = written.tolist()
    if isinstance(value, dict) and isinstance(written, dict):
        return {key: _as_written(each, written.get(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)) and isinstance(written, (list, tuple)):
        if len(value) == len(written):
            return type(value)(map(_as_written, value, written))
        if all(isinstance(each, float) for each in written):
            return type(value)(_as_written(each, 0.0) for each in value)
    return value


@lru_cache(maxsize=1024)  # as reader.py's split
def varying(source: str, name: str) -> Varying | None:
    """Return what may vary in a test cell's source; None where nothing may.

    Raises VaryError for a comment that is not clear and for what cannot vary.
    """
    if "vary:" not in source and "keep:" not in source:
        return None
    comments = tuple(comments_of(source, name))
    if not comments:
        return None
    return Varying(name, source, comments, _expected(source, name, comments))


def own_numbers(source: str, name: str) -> dict[str, str]:
    """Return the code with drawn numbers behind each hidden case of a drawn cell, by label.

    That is the case's own expression and the set-up lines that it depends on, where a `# vary:`
    stands above them.
    """
    varied, waiting = set(), False
    for number, line in enumerate(source.splitlines(), start=1):
        comment = line.strip().startswith("#")
        if not comment and waiting:
            varied.add(number)
        waiting = bool(VARY.fullmatch(line.strip())) or comment and waiting
    cell = bound_names(ast.parse(source).body)
    found: dict[str, str] = {}
    for block in hidden_blocks(source, name):
        for place, node in enumerate(block):
            for case in value_cases(node):
                needed = used_names([case.actual])
                lines = [ast.unparse(case.call)] if case.line in varied else []
                for before in reversed([each for each in block[:place] if not is_case(each)]):
                    if changed_names(before, cell) & needed:
                        needed |= used_names([before])
                        own = {each.lineno for each in ast.walk(before) if hasattr(each, "lineno")}
                        lines[:0] = [ast.unparse(before)] if own & varied else []
                if lines:
                    found[case.label] = "; ".join(lines)
    return found


def _expected(source: str, name: str, comments: tuple[Comment, ...]) -> dict[str, Span]:
    """Return where the expected values stand of the cases that depend on what is drawn, by label.

    Raises VaryError where such a case names mistakes, or none depends on it.
    """
    spans = Spans(source)
    begins = {begin for comment in comments for each in comment.numbers for begin, _ in each.spans}
    cell = bound_names(ast.parse(source).body)

    def varies(node: ast.AST, names: set[str]) -> bool:
        drawn = (n for n in ast.walk(node) if isinstance(n, ast.Constant))
        return any(spans.of(n)[0] in begins for n in drawn) or bool(names & used_names([node]))

    found: dict[str, Span] = {}
    for block in hidden_blocks(source, name):
        drawn: set[str] = set()  # names that depend on a drawn number
        for node in block:
            for case in value_cases(node):
                if varies(case.actual, drawn):
                    if case.mistakes:
                        what = f"{case.label!r} varies, and may name no mistakes"
                        raise VaryError(f"line {case.line}: {what}")
                    found[case.label] = spans.of(case.expected)
            if is_case(node):
                continue
            bound: list[ast.stmt] = [
                ast.Assign([target], value) for target, value in bindings(node)
            ]
            for part in bound or [node]:
                if varies(part, drawn):
                    drawn |= changed_names(part, cell)
                elif isinstance(part, ast.Assign):  # bound anew, whatever it was before
                    drawn -= bound_names([part])
    for comment in comments:
        if not found:
            raise VaryError(f"line {comment.line}: no hidden `expect` depends on what is drawn")
    return found
