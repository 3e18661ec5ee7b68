"""Names that a piece of Python binds at its top level, and names that it uses from there.

Written on `ast`, because `symtable` tells comprehensions' variables apart on some of the
supported Pythons only. What a statement binds and uses is kept: a build asks dozens of times for
the same ones (course/notebook.py keeps them), and a caller that changes a statement changes a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind in their own scope."""
    return set[str]().union(*map(_bound_by, nodes))


@lru_cache(maxsize=8192)
def _bound_by(node: ast.AST) -> frozenset[str]:
    return frozenset(_bound(node))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        yield from (n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).split(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def _foreign(node: ast.AST) -> Iterator[str]:
    """Return the names that a function declares global or nonlocal, inner functions apart."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    if not isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _foreign(child)


def used_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are read from module scope, also inside functions and classes."""
    return set[str]().union(*map(_used_by, nodes))


@lru_cache(maxsize=8192)
def _used_by(node: ast.AST) -> frozenset[str]:
    reader = _Reader()
    reader.visit(node)
    return frozenset(reader.used)


class _Reader(ast.NodeVisitor):
    """Collects the names that no enclosing function, class or comprehension binds."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.scopes: list[tuple[str, set[str]]] = []

    def visit_Name(self, node: ast.Name) -> None:
        innermost = len(self.scopes) - 1
        for depth, (kind, names) in enumerate(self.scopes):
            # What a class binds, its own body sees, and no function or comprehension in it.
            if node.id in names and (kind != "class" or depth == innermost):
                return
        if isinstance(node.ctx, ast.Load):
            self.used.add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.visit_Name(ast.Name(node.target.id, ast.Load()))  # it is read, too
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._visit_all(node.decorator_list)
        self._visit_arguments(node.args)
        if node.returns:
            self.visit(node.returns)
        self._visit_function(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_arguments(node.args)
        self._visit_function(node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all((*node.decorator_list, *node.bases, *node.keywords))
        self._visit_scope("class", bound_names(node.body), node.body)

    def visit_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        targets = bound_names(generator.target for generator in node.generators)
        self._visit_scope("comprehension", targets, ast.iter_child_nodes(node))

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _visit_function(self, arguments: ast.arguments, body: list) -> None:
        named = [a for a in ast.walk(arguments) if isinstance(a, ast.arg)]
        foreign = {name for node in body for name in _foreign(node)}
        local = ({a.arg for a in named} | bound_names(body)) - foreign
        self._visit_scope("function", local, body)

    def _visit_arguments(self, arguments: ast.arguments) -> None:
        self._visit_all((*arguments.defaults, *filter(None, arguments.kw_defaults)))
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg) and argument.annotation:
                self.visit(argument.annotation)

    def _visit_scope(self, kind: str, names: set[str], nodes: Iterable[ast.AST]) -> None:
        self.scopes.append((kind, names))
        self._visit_all(nodes)
        self.scopes.pop()

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)
