"""Read the comments that let hidden cases vary, and draw other inputs for them.

In a hidden block, a comment above a case, a table's row or a set-up line says what may change:

    # vary: 768 in 2..2_000, 3072 in 2..5_000
    expect("a wide layer", linear_parameters(768, 3072), 2_362_368)

    # vary: width in 8..64 by 8, groups in {1, 2, 4}, 0.5 in 0.25..2.0
    # keep: width % groups == 0
    width, groups = 16, 2
    layer = grouped(width, groups, 0.5)
    expect("groups divide the weights", count_parameters(layer), 40)

A number stands for another one wherever the line has it, a name for the number that a set-up line
of the block binds it to. Floats are drawn to three digits, unless `by` names the step. What
`# keep:` says has to hold, or all numbers of the comment are drawn again. The expected value of
each `expect` that depends on a drawn number is then what the lesson's own solution returns.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from proflab_course.cases.reader import split
from proflab_course.course.secret import draw

OWN = "proflab_own_numbers"  # in the metadata of a graded cell whose numbers are one student's
_VARY = re.compile(r"#\s*vary:\s*(.*)")
_KEEP = re.compile(r"#\s*keep:\s*(.*)")
_HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
_NUMBER = r"-?\d[\d_]*(?:\.\d[\d_]*)?(?:e-?\d+)?"
_ITEM = re.compile(
    rf"""(?P<written>\w+(?:\.\d+)?(?:e-?\d+)?|"[^"]*")\s+in\s+
    (?:(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})(?:\s+by\s+(?P<step>{_NUMBER}))?
    |\{{(?P<choices>[^}}]*)\}})""",
    re.VERBOSE,
)
_EXAMPLE = "write it as `# vary: 768 in 2..2_000`"
_DIGITS = 3  # of a float that is drawn
_TRIES = 100
_IN_KEEP = {"math": math, "min": min, "max": max, "abs": abs, "sum": sum, "len": len}
_IN_KEEP |= {"all": all, "any": any, "round": round, "range": range}

Span = tuple[int, int]  # of bytes in a cell's source
Edits = dict[Span, str]


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
        for nodes in _hidden_blocks(text):
            asked: list[tuple[str, str]] = []
            for node in nodes:
                if not (cases := list(_cases(node))):
                    asked += [] if _is_case(node) else [("", ast.unparse(node))]
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


def varying(source: str, name: str) -> Varying | None:
    """Return what may vary in a test cell's source; None where nothing may.

    Raises VaryError for a comment that is not clear and for what cannot vary.
    """
    if "vary:" not in source and "keep:" not in source:
        return None
    comments = tuple(_comments(source))
    if not comments:
        return None
    return Varying(name, source, comments, _expected(source, comments))


def own_numbers(source: str) -> dict[str, str]:
    """Return the code with drawn numbers behind each hidden case of a drawn cell, by label.

    That is the case's own expression and the set-up lines that it depends on, where a `# vary:`
    stands above them.
    """
    varied, waiting = set(), False
    for number, line in enumerate(source.splitlines(), start=1):
        comment = line.strip().startswith("#")
        if not comment and waiting:
            varied.add(number)
        waiting = bool(_VARY.fullmatch(line.strip())) or comment and waiting
    cell = {name for node in ast.parse(source).body for name in _names(node, ast.Store)}
    found: dict[str, str] = {}
    for block in _hidden_blocks(source):
        for place, node in enumerate(block):
            for case in _cases(node):
                needed = _names(case.actual, ast.Load)
                lines = [ast.unparse(case.call)] if case.line in varied else []
                for before in reversed([each for each in block[:place] if not _is_case(each)]):
                    if _changes(before, cell) & needed:
                        needed |= _names(before, ast.Load)
                        own = {each.lineno for each in ast.walk(before) if hasattr(each, "lineno")}
                        lines[:0] = [ast.unparse(before)] if own & varied else []
                if lines:
                    found[case.label] = "; ".join(lines)
    return found


# ── the comments ─────────────────────────────────────────────────────────────────────────────


def _comments(source: str) -> Iterator[Comment]:
    lines, spans = source.splitlines(), _Spans(source)
    blocks = _hidden_blocks(source)
    places = {line: place for block in blocks for line, place in _places(block)}
    used: set[Span] = set()
    number = 0
    while number < len(lines):
        text, number = lines[number].strip(), number + 1
        if _KEEP.fullmatch(text):
            raise VaryError(f"line {number}: `# keep:` must stand below a `# vary:`")
        if not (match := _VARY.fullmatch(text)):
            continue
        begin, items, keeps = number, match[1], []
        while number < len(lines) and lines[number].strip().startswith("#"):
            if keep := _KEEP.fullmatch(lines[number].strip()):
                keeps.append(keep[1])
            elif more := _VARY.fullmatch(lines[number].strip()):
                items = f"{items}, {more[1]}"
            elif lines[number].strip() in _HIDDEN:
                break
            number += 1
        if number + 1 not in places:
            what = "a hidden `expect` of 3 values, a table's row with a value, or a set-up line"
            raise VaryError(f"line {begin}: `# vary:` must stand above {what}")
        place, node, block = places[number + 1]
        numbers = [
            _number(item.strip(), begin, node, block, spans)
            for item in re.split(r",(?![^{]*\})", items)
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


def _number(item: str, line: int, node: ast.AST, block: list[ast.stmt], spans: _Spans) -> Number:
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
    found: list[ast.expr] = []
    for node in block:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        found += [
            each
            for own, each in pairs
            if isinstance(own, ast.Name) and own.id == name and isinstance(each, ast.Constant)
        ]
    return found


# ── the cell ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Case:
    """Hold a case that may vary: its label, the expression asked, and the nodes of its text."""

    label: str
    call: ast.expr
    actual: ast.expr
    expected: ast.expr
    line: int
    mistakes: bool


class _Spans:
    """Where nodes stand in a source, in bytes, as `ast` counts columns."""

    def __init__(self, source: str) -> None:
        self._starts = [0]
        for line in source.encode().splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def of(self, node: ast.expr) -> Span:
        """Return the first byte of a node, and the one behind its last."""
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)


def _hidden_blocks(source: str) -> list[list[ast.stmt]]:
    """Return the statements of each hidden block, as `test_cells.split` divides the cell."""
    hidden, block, inside = {}, 0, False
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip() == _HIDDEN[0]:
            block, inside = block + 1, True
        elif line.strip() == _HIDDEN[1]:
            inside = False
        elif inside:
            hidden[number] = block
    found: dict[int, list[ast.stmt]] = {}
    for node in ast.parse(source).body:
        if node.lineno in hidden:
            found.setdefault(hidden[node.lineno], []).append(node)
    return list(found.values())


def _function(node: ast.stmt) -> str:
    call = node.value if isinstance(node, ast.Expr) else None
    return getattr(call.func, "id", "") if isinstance(call, ast.Call) else ""


def _is_case(node: ast.stmt) -> bool:
    return _function(node).startswith("expect")


def _cases(node: ast.stmt) -> Iterator[_Case]:
    """Yield the cases of a statement that have an expected value."""
    name = _function(node)
    if name not in ("expect", "expect_table"):
        return
    call = node.value  # type: ignore[attr-defined]
    if name == "expect":
        if len(call.args) == 3:
            mistakes = any(keyword.arg == "mistakes" for keyword in call.keywords)
            label, actual, expected = call.args
            yield _Case(label.value, actual, actual, expected, node.lineno, mistakes)
        return
    function, *rows = call.args
    for row in rows:
        label, arguments, expected, *mistakes = row.elts
        if isinstance(arguments, ast.Tuple) and not isinstance(expected, ast.Name):
            asked = ast.Call(function, arguments.elts, [])
            yield _Case(label.value, asked, arguments, expected, row.lineno, bool(mistakes))


def _places(block: list[ast.stmt]) -> Iterator[tuple[int, tuple[str, ast.AST, list[ast.stmt]]]]:
    """Yield each line that a comment may stand above, with its name and the node that varies."""
    for node in block:
        if _is_case(node):
            for case in _cases(node):
                yield case.line, (case.label, case.actual, block)
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.stmt):
                    yield inner.lineno, (ast.unparse(inner), inner, block)


def _expected(source: str, comments: tuple[Comment, ...]) -> dict[str, Span]:
    """Return where the expected values stand of the cases that depend on what is drawn, by label.

    Raises VaryError where such a case names mistakes, or none depends on it.
    """
    spans = _Spans(source)
    begins = {begin for comment in comments for each in comment.numbers for begin, _ in each.spans}
    cell = {name for node in ast.parse(source).body for name in _names(node, ast.Store)}

    def varies(node: ast.AST, names: set[str]) -> bool:
        drawn = (n for n in ast.walk(node) if isinstance(n, ast.Constant))
        return any(spans.of(n)[0] in begins for n in drawn) or bool(names & _names(node, ast.Load))

    found: dict[str, Span] = {}
    for block in _hidden_blocks(source):
        drawn: set[str] = set()  # names that depend on a drawn number
        for node in block:
            for case in _cases(node):
                if varies(case.actual, drawn):
                    if case.mistakes:
                        what = f"{case.label!r} varies, and may name no mistakes"
                        raise VaryError(f"line {case.line}: {what}")
                    found[case.label] = spans.of(case.expected)
            for part in [] if _is_case(node) else _parts(node):
                changed = varies(part, drawn)
                drawn = drawn | _changes(part, cell) if changed else drawn - _plainly_bound(part)
    for comment in comments:
        if not found:
            raise VaryError(f"line {comment.line}: no hidden `expect` depends on what is drawn")
    return found


def _parts(node: ast.stmt) -> list[ast.stmt]:
    """Return the assignments of `a, b = f(), g()`, or the line itself."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        names, values = node.targets[0], node.value
        if isinstance(names, ast.Tuple) and isinstance(values, ast.Tuple):
            pairs = zip(names.elts, values.elts, strict=False)
            return [ast.Assign([name], value) for name, value in pairs]
    return [node]


def _names(node: ast.AST, context: type) -> set[str]:
    return {
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, context)
    } | {
        each.name
        for each in ast.walk(node)
        if isinstance(each, (ast.FunctionDef, ast.ClassDef)) and context is ast.Store
    }


def _changes(node: ast.stmt, cell: set[str]) -> set[str]:
    """Return the names whose objects a set-up line may change, of those that the cell binds."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef)):
        targets = getattr(node, "targets", [getattr(node, "target", node)])
        names = {name for target in targets for name in _names(target, ast.Store)}
        parts = (t for t in targets if isinstance(t, (ast.Attribute, ast.Subscript)))
        return names | {name for part in parts for name in _names(part, ast.Load)} & cell
    return (_names(node, ast.Store) | _names(node, ast.Load)) & cell


def _plainly_bound(node: ast.stmt) -> set[str]:
    """Return the names that a set-up line binds anew, whatever they were before."""
    return _names(node, ast.Store) if isinstance(node, ast.Assign) else set()
