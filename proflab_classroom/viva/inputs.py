"""Find the calls that a sheet may ask about, and draw others like them.

The calls stand in a lesson's test cells, in the examples of its docstrings, and in comments
`# viva: call` of test cells, for exercises whose own calls are too long to be printed; lines that
begin with `#` and three spaces go on with it. Statements before a call that it needs come with it.
Calls of hidden cases are for after the deadline. A reader works them out without a computer, so
those with small numbers come first, and those that need a helper of test cells last.
"""

from __future__ import annotations

import ast
import copy
import doctest
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from proflab.lesson.names import bound_names, used_names
from proflab_classroom.viva.definitions import Definitions
from proflab_course.course.exercises import exercise_of
from proflab_course.course.layout import CourseError
from proflab_course.course.secret import draw
from proflab_course.course.words import shortened
from proflab_course.grading.answer_key import Key

MOST_TEXT = 120  # characters of a call with its set-up
DRAWS = 3
MOST_CALLS = 10  # of an exercise, before draws
_MOST_ERRORS = 2  # of an exercise
_ENOUGH = 3  # calls that need no helper of test cells: then none that does is asked about
_SMALL = 20  # integers below it move by steps, all other numbers by a factor
_MOST_BY_HAND, _REDUCED = 200, 64  # the largest number of a small call; reduced ones are below
_WRITTEN = re.compile(r"^\s*# viva: (.+(?:\n\s*#   .+)*)$", re.M)
_ZEROS = re.compile(r"(?<![\w.])(\d+?)(0{5,})\.0\b")
_MANY_LINES = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.Try, ast.If)


@dataclass(frozen=True)
class Input:
    """Hold a call, an expression that uses the exercise, after its set-up statements.

    hidden: of a hidden case; error: of a case that asks for an exception; written: for the sheet;
    given: definitions of the lesson's that it uses.
    """

    call: str
    setup: tuple[str, ...] = ()
    hidden: bool = False
    error: bool = False
    written: bool = False
    given: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the set-up on a line of its own, and the call."""
        return "\n".join(filter(None, ("; ".join(self.setup), self.call)))

    @property
    def is_readable(self) -> bool:
        """Return True if it takes at most two lines and MOST_TEXT characters."""
        return len(self.text) <= MOST_TEXT and self.text.count("\n") <= bool(self.setup)

    @property
    def is_small(self) -> bool:
        """Return True if it is written for the sheet, or has no number above 200 and no power."""
        if self.written:
            return True
        nodes = list(ast.walk(ast.parse(self.text)))
        powers = any(isinstance(node, ast.Pow) for node in nodes)
        values = [node.value for node in nodes if isinstance(node, ast.Constant)]
        numbers = [value for value in values if isinstance(value, (int, float))]
        return not powers and all(abs(number) <= _MOST_BY_HAND for number in numbers)


def exercises(key: Key) -> dict[str, float]:
    """Return the lesson's exercises that students write, in order, with the points of each."""
    names = {c.grade_id: 0.0 for c in key.cells if c.is_exercise and not c.given}
    for cell in key.cells:
        if cell.kind == "test" and (name := exercise_of(cell.grade_id, names)) in names:
            names[name] += cell.points
    return names


def find_inputs(key: Key, exercise: str, hidden: bool = False) -> list[Input]:
    """Return the readable calls of an exercise in the lesson, written ones first, each once.

    hidden: those of hidden cases, too; a call that is also visible is not hidden.

    Raises CourseError for a comment `# viva:` that is not Python.
    """
    names, definitions = exercises(key), Definitions.of(key)
    found: list[Input] = []
    for cell in key.cells:
        if cell.kind == "test" and exercise_of(cell.grade_id, names) == exercise:
            found += _written(cell.master.source, f"{key.name}, cell {cell.grade_id}")
            found += _of_cases(key, cell.grade_id)
    found += _of_docstring(key.cell(exercise).master.source)
    found.sort(key=lambda i: (not i.written, i.hidden))  # of equal texts, `fit` keeps the first
    known = {cell.grade_id for cell in key.cells if cell.is_exercise}
    fit: dict[str, Input] = {}
    for each in found:
        if each.is_readable and (hidden or not each.hidden) and _mentions(each, exercise):
            given = definitions.needed(each.text, known)
            if given is not None:
                fit.setdefault(each.text, replace(each, given=given))
    once = _without_helpers(list(fit.values()), definitions)
    once.sort(key=lambda i: (not i.written, not i.is_small))
    errors = [i for i in once if i.error]
    return [i for i in once if not i.error][:MOST_CALLS] + errors[:_MOST_ERRORS]


def _without_helpers(inputs: list[Input], definitions: Definitions) -> list[Input]:
    """Return the inputs without helpers of test cells, or all where those are too few."""
    plain = [i for i in inputs if not definitions.uses_helper(i.text)]
    return plain if sum(not i.error for i in plain) >= _ENOUGH else inputs


def _mentions(one: Input, exercise: str) -> bool:
    """Return True if the call uses the exercise; of a written input, its set-up may."""
    return exercise in used_names(ast.parse(one.text if one.written else one.call).body)


def _written(source: str, where: str) -> Iterator[Input]:
    for lines in _WRITTEN.findall(source):
        line = re.sub(r"\s*\n\s*#\s+", " ", lines)
        try:
            made = _from_statements(ast.parse(line).body)
        except SyntaxError as error:
            what = f"`# viva: {shortened(line, 40)}` is not Python ({error.msg})"
            raise CourseError(f"{where}: {what}: mend the comment") from None
        if made:
            yield replace(made, written=True)


def _from_statements(nodes: list[ast.stmt]) -> Input | None:
    """Return the last statement as a call, and those before it that it needs as its set-up."""
    if not nodes or not isinstance(nodes[-1], ast.Expr):
        return None
    call = nodes[-1].value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print":
        return None
    call = _without_lambda(call)
    before = _needed(nodes[:-1], call)
    if any(isinstance(node, _MANY_LINES) for node in before):
        return None
    return Input(_text(call), tuple(map(_text, before)))


def _text(node: ast.AST) -> str:
    """Return a node's code, 2e9 where Python would write 2000000000.0."""
    return _ZEROS.sub(lambda found: f"{found[1]}e{len(found[2])}", ast.unparse(node))


def _without_lambda(call: ast.expr) -> ast.expr:
    """Return a call of a lambda, as tables make it, with the arguments in the lambda's body."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Lambda)):
        return call
    expected, body = call.func.args, copy.deepcopy(call.func.body)
    names = [argument.arg for argument in expected.args]
    rest = expected.vararg.arg if expected.vararg else None
    if call.keywords or expected.kwonlyargs or expected.defaults or expected.kwarg:
        return call
    if len(call.args) < len(names) or (rest is None and len(call.args) > len(names)):
        return call
    known = dict(zip(names, call.args, strict=False))
    return _Filled(known, rest, call.args[len(names) :]).visit(body)


class _Filled(ast.NodeTransformer):
    """Puts arguments in the place of a lambda's names; rest: the name of its star argument."""

    def __init__(
        self, known: dict[str, ast.expr], rest: str | None, others: list[ast.expr]
    ) -> None:
        self.known, self.rest, self.others = known, rest, others

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.rest:
            return ast.Tuple(self.others, ast.Load())
        return self.known.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        made: list[ast.expr] = []
        for argument in node.args:
            inside = argument.value if isinstance(argument, ast.Starred) else None
            if isinstance(inside, ast.Name) and inside.id == self.rest:
                made += self.others
            else:
                made.append(self.visit(argument))
        node.func, node.args = self.visit(node.func), made
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node


def _of_docstring(source: str) -> Iterator[Input]:
    """Yield the calls in a docstring's examples."""
    try:
        kinds = ast.FunctionDef, ast.ClassDef
        written = next(n for n in ast.parse(source).body if isinstance(n, kinds))
        examples = doctest.DocTestParser().get_examples(ast.get_docstring(written) or "")
        nodes = [node for each in examples for node in ast.parse(each.source).body]
    except (StopIteration, SyntaxError, ValueError):
        return
    for place in range(len(nodes)):
        if made := _from_statements(nodes[: place + 1]):
            yield made


def _of_cases(key: Key, cell: str) -> Iterator[Input]:
    """Yield the calls of a test cell's cases, with the visible and their own set-up."""
    visible: list[ast.stmt] = []
    for block in key.tests[cell].blocks:
        if block.doubles:  # they are held by the grader
            continue
        nodes = list(visible)
        for step, answer in zip(block.steps, block.answers, strict=True):
            parsed = ast.parse(step.code).body
            if answer is None:
                nodes += parsed
            elif step.kind in ("value", "raises"):
                made = _from_statements([*nodes, *parsed])
                if made is not None:
                    yield replace(made, hidden=block.hidden, error=step.kind == "raises")
        if not block.hidden:  # what a hidden block binds, no later one sees
            visible = nodes


def _needed(before: list[ast.stmt], call: ast.expr) -> list[ast.stmt]:
    """Return the statements that bind what the call uses, or change it."""
    own = bound_names(before)
    needed, kept = used_names([call]) & own, []
    for node in reversed(before):
        touches = (used_names([node]) | bound_names([node])) & needed
        pure = isinstance(node, (ast.Assign, ast.Import, ast.ImportFrom, *_MANY_LINES[:2]))
        if bound_names([node]) & needed or (touches and not pure):
            node = _only(node, needed)
            kept.append(node)
            needed |= used_names([node]) & own
    return kept[::-1]


def _only(node: ast.stmt, needed: set[str]) -> ast.stmt:
    """Return `a, b = 1, 2` as `a = 1` where only a is needed; any other statement as it is."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            pairs = list(zip(names, values, strict=False))
            plain = all(isinstance(name, ast.Name) for name in names)
            kept = [(n, v) for n, v in pairs if isinstance(n, ast.Name) and n.id in needed]
            starred = any(isinstance(value, ast.Starred) for value in values)
            if plain and not starred and len(names) == len(values) and len(kept) == 1:
                return ast.Assign([kept[0][0]], kept[0][1], lineno=1)
    return node


# ── draws ────────────────────────────────────────────────────────────────────────────────────


def with_draws(inputs: Iterable[Input], secret: bytes, *words: str) -> list[Input]:
    """Return each input with up to DRAWS like it whose numbers were drawn; errors as they are.

    A number below 20 moves by −2 to +3, another by a factor of ½ to 2, to two digits. Of a call
    with large numbers the first one like it has them halved until they are small.
    """
    found: dict[str, Input] = {}
    for each in inputs:
        found.setdefault(each.text, each)
        if each.error:
            continue
        start = each if each.is_small else _with_numbers(each, lambda value, _: _halved(value))
        others = [start] if start.text != each.text else []
        for number in range(DRAWS - len(others)):
            others.append(_drawn(start, secret, *words, each.text, str(number)))
        for other in others:
            if other.is_readable:
                found.setdefault(other.text, other)
    return list(found.values())


def _drawn(one: Input, secret: bytes, *words: str) -> Input:
    return _with_numbers(one, lambda value, place: _moved(value, secret, *words, str(place)))


def _halved(value: Any) -> Any:
    """Return a whole number halved until it is small, so that small factors stay factors."""
    while type(value) is int and abs(value) > _REDUCED:
        value = int(value / 2)
    return value


def _with_numbers(one: Input, changed: Callable[[Any, int], Any]) -> Input:
    """Return an input with its constants changed; `changed` gets each and its place, from 1."""
    place = 0

    def moved(code: str, mode: str) -> str:
        nonlocal place
        tree = ast.parse(code, mode=mode)
        kept = {
            id(inner)
            for part in ast.walk(tree)
            for fixed in _fixed(part)
            for inner in ast.walk(fixed)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in kept:
                place += 1
                node.value = changed(node.value, place)
        return _text(tree)

    setup = tuple(moved(line, "exec") for line in one.setup)
    return replace(one, call=moved(one.call, "eval"), setup=setup, written=False)


def _fixed(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node whose numbers are not drawn: places and powers."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    return [node] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else []


def _moved(value: Any, secret: bytes, *words: str) -> Any:
    """Return a number moved, half of the time; anything else as it is."""
    if type(value) not in (int, float) or not draw(secret, *words, "moves", low=0, high=1):
        return value
    if isinstance(value, int) and abs(value) < _SMALL:
        # Counts and sizes stay 1 or more.
        return max(min(value, 1), value + draw(secret, *words, "step", low=-2, high=3))
    factor = draw(secret, *words, "factor", low=50, high=200) / 100
    if isinstance(value, int):
        return int(float(f"{value * factor:.2g}"))
    return float(f"{value * factor:.2g}")
