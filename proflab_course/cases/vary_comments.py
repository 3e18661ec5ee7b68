"""Read `# vary:` and `# keep:` comments: which numbers they let vary, and what those may become.

A number stands for another one wherever the line has it, a name for the number that a set-up line
of the block binds it to. Floats are drawn to three digits, unless `by` names the step. What
`# keep:` says has to hold, or all numbers of the comment are drawn again.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from proflab_course.cases.hidden_blocks import (
    BEGIN_HIDDEN,
    END_HIDDEN,
    Span,
    Spans,
    bindings,
    hidden_blocks,
    is_case,
    value_cases,
)
from proflab_course.course.secret import draw

VARY = re.compile(r"#\s*vary:\s*(.*)")
_KEEP = re.compile(r"#\s*keep:\s*(.*)")
_NUMBER = r"-?\d[\d_]*(?:\.\d[\d_]*)?(?:e-?\d+)?"
_ITEM = re.compile(
    rf"""(?P<written>\w+(?:\.\d+)?(?:e-?\d+)?|"[^"]*")\s+in\s+
    (?:(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})(?:\s+by\s+(?P<step>{_NUMBER}))?
    |\{{(?P<choices>[^}}]*)\}})""",
    re.VERBOSE,
)
_EXAMPLE = "write it as `# vary: 768 in 2..2_000`"
_DIGITS = 3  # of a float that is drawn
_TRIES = 100  # draws until all that `# keep:` says holds
# What a condition may use. It is its lesson's own code, so this bounds mistakes and no attacks.
_IN_KEEP = {"math": math, "min": min, "max": max, "abs": abs, "sum": sum, "len": len}
_IN_KEEP |= {"all": all, "any": any, "round": round, "range": range}

Edits = dict[Span, str]
Place = tuple[str, ast.AST, list[ast.stmt]]  # a line's name, the node that varies, its block


class VaryError(ValueError):
    """Say that a comment cannot be followed; the sentence names the line."""


@dataclass(frozen=True)
class Number:
    """Hold what may change, as the comment writes it, where it stands, and what it may become."""

    written: str
    spans: tuple[Span, ...]
    choices: tuple[str, ...] = ()
    low: Decimal = Decimal(0)
    step: Decimal = Decimal(1)
    count: int = 0
    whole: bool = True

    def text(self, index: int) -> str:
        """Return the number at an index below `count`, as Python writes it."""
        if self.choices:
            return self.choices[index]
        value = self.low + index * self.step
        return repr(int(value) if self.whole else float(value))


@dataclass(frozen=True)
class Comment:
    """Hold a `# vary:` with its `# keep:` lines; place: the label or line that it stands above."""

    line: int
    place: str
    numbers: tuple[Number, ...]
    keeps: tuple[str, ...]

    def drawn(self, secret: bytes, *words: str) -> Edits:
        """Return a text for each place of a number.

        Raises VaryError where nothing that is drawn keeps what `# keep:` says.
        """
        for attempt in range(_TRIES):
            again = [f"again {attempt}"] if attempt else []
            texts = [
                each.text(
                    # Another label, or another text of the line, gives other numbers, also to
                    # students whose hand-ins were graded by the former ones.
                    draw(
                        secret, *words, self.place, each.written, *again, low=0, high=each.count - 1
                    )
                )
                for each in self.numbers
            ]
            values = {n.written: text for n, text in zip(self.numbers, texts, strict=True)}
            if all(self._holds(keep, values) for keep in self.keeps):
                pairs = zip(self.numbers, texts, strict=True)
                return {span: text for number, text in pairs for span in number.spans}
        kept = " and ".join(f"`{keep}`" for keep in self.keeps)
        raise VaryError(f"line {self.line}: in {_TRIES} draws none keeps {kept}: widen the ranges")

    def _holds(self, keep: str, texts: dict[str, str]) -> bool:
        try:
            condition = _Drawn(texts).visit(ast.parse(keep, mode="eval"))
            return bool(eval(compile(condition, "keep", "eval"), {"__builtins__": {}} | _IN_KEEP))
        except Exception as error:
            what = f"line {self.line}: `# keep: {keep}` cannot be computed ({error})"
            raise VaryError(
                f"{what}: it may use what the comment draws, numbers and math"
            ) from None


class _Drawn(ast.NodeTransformer):
    """Put what is drawn in the place of the names and numbers of a condition."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = {_key(name): ast.parse(text, mode="eval").body for name, text in texts.items()}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._other(node.id, node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._other(_constant_key(node.value), node)

    def _other(self, key: Any, node: ast.expr) -> ast.expr:
        return ast.copy_location(self.texts.get(key, node), node)


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def comments_of(source: str, name: str) -> Iterator[Comment]:
    """Yield a cell's comments, in order; raise VaryError for one that is not clear.

    name: the cell's, for a GrammarError about its hidden blocks.
    """
    lines, spans = source.splitlines(), Spans(source)
    blocks = hidden_blocks(source, name)
    places = {line: place for block in blocks for line, place in _places(block)}
    used: set[Span] = set()
    number = 0
    while number < len(lines):
        text, number = lines[number].strip(), number + 1
        if _KEEP.fullmatch(text):
            raise VaryError(f"line {number}: `# keep:` must stand below a `# vary:`")
        if not (match := VARY.fullmatch(text)):
            continue
        begin, items, keeps = number, match[1], []
        while number < len(lines) and lines[number].strip().startswith("#"):
            if keep := _KEEP.fullmatch(lines[number].strip()):
                keeps.append(keep[1])
            elif more := VARY.fullmatch(lines[number].strip()):
                items = f"{items}, {more[1]}"
            elif lines[number].strip() in (BEGIN_HIDDEN, END_HIDDEN):
                break
            number += 1
        if number + 1 not in places:
            what = "a hidden `expect` of 3 values, a table's row with a value, or a set-up line"
            raise VaryError(f"line {begin}: `# vary:` must stand above {what}")
        place, node, block = places[number + 1]
        numbers = [
            _number(item.strip(), begin, node, block, spans)
            for item in re.split(r",(?![^{]*\})", items)  # at commas outside {…}
        ]
        for each in numbers:
            if used & {*each.spans}:
                raise VaryError(f"line {begin}: {each.written} is drawn twice")
            used |= {*each.spans}
        for condition in keeps:
            try:
                ast.parse(condition, mode="eval")
            except SyntaxError:
                raise VaryError(
                    f"line {begin}: `# keep: {condition}` is not an expression"
                ) from None
        yield Comment(begin, place, tuple(numbers), tuple(keeps))


def _number(item: str, line: int, node: ast.AST, block: list[ast.stmt], spans: Spans) -> Number:
    if not (match := _ITEM.fullmatch(item)):
        raise VaryError(f"line {line}: {item!r} is not clear; {_EXAMPLE}")
    written = match["written"]
    key = _key(written)
    found = _bound(block, written) if key == written else _constants(node, key)
    if not found:
        where = "bound to a number by the block's set-up" if key == written else "in the case"
        raise VaryError(f"line {line}: {written} is not {where}")
    places = tuple(spans.of(each) for each in found)
    if match["choices"] is not None:
        try:
            values = ast.literal_eval(f"[{match['choices']}]")
        except (ValueError, SyntaxError):
            raise VaryError(f"line {line}: {item!r} is not clear; {_EXAMPLE}") from None
        if len(set(map(repr, values))) < 2:
            raise VaryError(f"line {line}: {item!r} leaves no choice")
        return Number(written, places, tuple(map(repr, values)), count=len(values))
    if isinstance(key, tuple) and key[0] is str:
        raise VaryError(f"line {line}: {item!r} is not clear: a text has a choice, in {{…}}")
    return _range(item, line, written, places, match)


def _range(item: str, line: int, written: str, places: tuple[Span, ...], match: re.Match) -> Number:
    texts = [
        match[part].replace("_", "") if match[part] else "" for part in ("low", "high", "step")
    ]
    try:
        low, high = map(Decimal, texts[:2])
        whole = not any("." in text or "e" in text for text in texts)
        step = Decimal(texts[2]) if texts[2] else Decimal(1)
        if not texts[2] and not whole:
            largest = max(abs(low), abs(high))
            step = Decimal(1).scaleb(largest.adjusted() - _DIGITS + 1)
    except InvalidOperation:
        raise VaryError(f"line {line}: {item!r} is not clear; {_EXAMPLE}") from None
    if step <= 0 or low + step > high:
        raise VaryError(f"line {line}: {item!r} leaves no choice")
    return Number(written, places, (), low, step, int((high - low) / step) + 1, whole)


def _key(written: str) -> Any:
    """Return what a comment's name or number is compared by: (type, value), or the name itself."""
    try:
        return _constant_key(ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return written


def _constant_key(value: Any) -> tuple[type, Any]:
    return type(value), value


def _constants(node: ast.AST, key: tuple[type, Any]) -> list[ast.expr]:
    """Return the constants of this type and value in a line, those in f-strings left out."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Constant) and _constant_key(each.value) == key:
            found.append(each)
        if not isinstance(each, ast.JoinedStr):
            waiting += ast.iter_child_nodes(each)
    return found


def _bound(block: list[ast.stmt], name: str) -> list[ast.expr]:
    """Return the numbers to which set-up lines of the block bind this name."""
    return [
        value
        for node in block
        for target, value in bindings(node)
        if isinstance(target, ast.Name) and target.id == name and isinstance(value, ast.Constant)
    ]


def _places(block: list[ast.stmt]) -> Iterator[tuple[int, Place]]:
    """Yield each line that a comment may stand above, with its name and the node that varies."""
    for node in block:
        if is_case(node):
            for case in value_cases(node):
                yield case.line, (case.label, case.actual, block)
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.stmt):
                    yield inner.lineno, (ast.unparse(inner), inner, block)
