"""What imports what, read from the sources: for tests of the plan, not of behaviour."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def modules(*packages: str, leave_out: tuple[str, ...] = (), root: Path = ROOT) -> dict[str, Path]:
    """Return every module of some packages below `root`, by its dotted name."""
    found = {}
    for package in packages:
        for path in sorted((root / package.replace(".", "/")).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not any(name == out or name.startswith(f"{out}.") for out in leave_out):
                found[name] = path
    return found


def imports(path: Path, known: dict[str, Path], types: bool = True) -> set[str]:
    """Return the modules among `known` that a file imports, at its top or inside a function.

    `from package import name` imports the module package.name where there is one, else package.
    That importing a.b also runs a's __init__ does not count: it would for every file.
    types: also what is imported below `if TYPE_CHECKING`, for annotations alone.
    """
    found, tree = set(), ast.parse(path.read_text())
    if not types:
        tree.body = [node for node in tree.body if not _is_for_types(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
    return found & known.keys()


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def import_graph(known: dict[str, Path], types: bool = True) -> dict[str, set[str]]:
    """Return for each module the others that it imports."""
    return {name: imports(path, known, types) - {name} for name, path in known.items()}
