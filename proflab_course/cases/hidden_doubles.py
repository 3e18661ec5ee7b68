"""Hold the doubles that a hidden test declares, `NAME = doubles.KIND(…)`, outside the process.

The splitter reads the declaration, and the student's process gets a stub. The grader's connection
to that process keeps a `DoubleRegistry`: the scripts, in their state after the stubs' calls.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from proflab.checks.values import to_plain_data
from proflab.lesson.doubles import HELD
from proflab.lesson.doubles.double import Double


class NotDeclared(ValueError):
    """A use of doubles that is no declaration; the sentence says what is wrong."""


@dataclass(frozen=True)
class DoubleSpec:
    """One double: its name and kind, its script's arguments, and those that are other doubles."""

    name: str
    kind: str
    given: dict[str, Any] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)

    @property
    def stub(self) -> str:
        """The statement that stands for the declaration in a student's process."""
        return f"{self.name} = doubles.{self.kind}.held({self.name!r})"


def declaration(
    node: ast.stmt, earlier: dict[str, DoubleSpec], literal: Callable[[ast.expr], Any]
) -> DoubleSpec | None:
    """Return the double of `NAME = doubles.KIND(…)`; None for any other statement.

    earlier: the block's doubles so far, by name; literal: the value of an argument.
    Raises NotDeclared for a double that cannot be made.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
            kind = _kind(call.func)
        case _:
            return None
    if kind is None:
        return None
    if name in earlier:
        raise NotDeclared(f"there is a double called {name} already: give this one another name")
    named = {word.arg: word.value for word in call.keywords if word.arg is not None}
    if any(isinstance(a, ast.Starred) for a in call.args) or len(named) < len(call.keywords):
        raise NotDeclared("a double's arguments are written out")

    def value(argument: ast.expr) -> Any:
        if isinstance(argument, ast.Name) and argument.id in earlier:
            return earlier[argument.id]
        return to_plain_data(literal(argument))

    options = {key: value(argument) for key, argument in named.items()}
    try:
        bound = inspect.signature(kind.Script).bind(*map(value, call.args), **options).arguments
        of = {key: double.name for key, double in bound.items() if isinstance(double, DoubleSpec)}
        given = {key: item for key, item in bound.items() if key not in of}
        declared = DoubleSpec(name, kind.__name__, given, of)
        # All scripts are made when a lesson is read: a mistake stops the build and not a grading.
        registry = DoubleRegistry()
        for double in (*earlier.values(), declared):
            registry.declare(double)
    except (TypeError, ValueError, AttributeError) as error:
        raise NotDeclared(f"this double cannot be made: {error}") from None
    return declared


def is_lookup(node: ast.AST, earlier: dict[str, DoubleSpec]) -> bool:
    """Return True if the grader knows the expression's value itself, as for `model.calls`.

    Raises NotDeclared if such a lookup, or a kind whose script is held, is only a part of it.
    """
    lookups = [inner for inner in ast.walk(node) if _is_lookup(inner, earlier)]
    if node in lookups:
        return True
    if lookups:
        raise NotDeclared(f"`{ast.unparse(lookups[0])}` must be a case's whole actual value")
    made = [inner for inner in ast.walk(node) if _kind(inner) is not None]
    if made:
        problem = f"`{ast.unparse(made[0])}` would tell the student its script"
        raise NotDeclared(f"{problem}: declare it, `NAME = {ast.unparse(made[0])}(…)`")
    return False


def _kind(node: ast.AST) -> type[Double] | None:
    """Return the kind of double that `doubles.KIND` is, if its script can be held."""
    match node:
        case ast.Attribute(value=ast.Name(id="doubles"), attr=name):
            return HELD.get(name)
    return None


def _is_lookup(node: ast.AST, earlier: dict[str, DoubleSpec]) -> bool:
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    double = earlier.get(node.value.id)
    return double is not None and node.attr in HELD[double.kind].Script.LOOKUPS


class DoubleRegistry:
    """The scripts of one execution of a block, by name."""

    def __init__(self) -> None:
        self._scripts: dict[str, Any] = {}

    def declare(self, double: DoubleSpec) -> None:
        """Make its script; before that nobody can ask for it."""
        others = {key: self._scripts[name] for key, name in double.of.items()}
        self._scripts[double.name] = HELD[double.kind].Script(**double.given, **others)

    def get(self, name: str) -> Callable[..., Any] | None:
        """Return what a stub calls as `NAME.METHOD`, or None."""
        double, _, method = name.partition(".")
        script = self._scripts.get(double)
        # The name comes from the student's process, which could ask for the whole script.
        return getattr(script, method) if script and method in script.ASKED else None

    def look_up(self, code: str) -> Any:
        """Return what a test looks up as `NAME.ATTRIBUTE`."""
        double, _, attribute = code.partition(".")
        return to_plain_data(getattr(self._scripts[double], attribute))
