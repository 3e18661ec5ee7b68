"""Put the engine into an assembled file, so that it runs with numpy alone.

The file contains the package's sources as compressed text, and an importer that finds them there.
A flat text of all modules would need every import rewritten and every name in every module to be
different. With the importer, `from proflab import nn` and the engine's own imports mean the same as
in the course, and a traceback in Jupyter shows the engine's lines. The importer is put first, so
that another version of ProfLab that is installed is not used by accident.
"""

from __future__ import annotations

import ast
import base64
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import proflab

PACKAGE = "proflab"

_IMPORTER = '''\
def _carry_engine(packed):
    """Make the package proflab importable from the sources that this file carries."""
    import base64
    import importlib.abc
    import importlib.util
    import json
    import sys
    import zlib

    sources = json.loads(zlib.decompress(base64.b85decode("".join(packed.split()))))

    class Engine(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
        def find_spec(self, name, path=None, target=None):
            if name in sources:
                spec = importlib.util.spec_from_loader(name, self, origin=self.place(name))
                spec.has_location = True  # so that the module has a __file__, as others have
                return spec

        def place(self, name):
            end = "/__init__.py" if sources[name][0] else ".py"
            return "carried:" + name.replace(".", "/") + end

        def is_package(self, name):
            return sources[name][0]

        def get_source(self, name):
            return sources[name][1]

        def get_code(self, name):
            return compile(sources[name][1], self.place(name), "exec")

    if "proflab" not in sys.modules:
        sys.meta_path.insert(0, Engine())


_carry_engine(
    """
@PACKED@
"""
)
'''


_ABSENT = '''\
class _Absent:
    """Stands for a package that is not installed here, and says so when it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        raise ImportError(f"{self._name} is not installed here: pip install {self._name}")

    __call__ = __getattr__

'''


def with_engine(text: str) -> str:
    """Return the assembled file `text` with the engine inside, to be imported or run."""
    text = _without_needing_others(text)
    tree = ast.parse(text)
    head = [node for node in tree.body if _must_stay_first(node)]
    lines = text.splitlines()
    last = max((node.end_lineno or 0 for node in head), default=0)
    sources = json.dumps(needed_by(text, engine_sources()))
    packed = base64.b85encode(zlib.compress(sources.encode(), 9)).decode()
    rows = [packed[start : start + 100] for start in range(0, len(packed), 100)]
    importer = _IMPORTER.replace("@PACKED@", "\n".join(rows))  # base 85 has no quote, no backslash
    return "\n".join([*lines[:last], "", importer.rstrip("\n"), *lines[last:]]) + "\n"


def _without_needing_others(text: str) -> str:
    """Return the text with imports of all packages but numpy allowed to fail."""
    lines, found = text.splitlines(), False
    for node in reversed(ast.parse(text).body):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _is_foreign(node):
            found = True
            own = [f"    {line}" for line in lines[node.lineno - 1 : node.end_lineno]]
            names = [(a.asname or a.name.partition(".")[0], _package(node, a)) for a in node.names]
            stands = [f"    {name} = _Absent({package!r})" for name, package in names]
            lines[node.lineno - 1 : node.end_lineno] = [
                "try:",
                *own,
                "except ImportError:",
                *stands,
            ]
    if not found:
        return text
    first = [node for node in ast.parse(text).body if _must_stay_first(node)]
    last = max((node.end_lineno or 0 for node in first), default=0)
    return "\n".join([*lines[:last], "", _ABSENT, *lines[last:]]) + "\n"


def _package(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    name = alias.name if isinstance(node, ast.Import) else node.module or ""
    return name.partition(".")[0]


def _is_foreign(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*"):
        return False
    known = sys.stdlib_module_names | {PACKAGE, "numpy"}
    return any(_package(node, alias) not in known for alias in node.names)


def _must_stay_first(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def needed_by(text: str, sources: dict[str, tuple[bool, str]]) -> dict[str, tuple[bool, str]]:
    """Return those modules that a file's text imports, and all that these import.

    What only lessons and their tests read (guesses, doubles of clocks and files) stays out. So does
    the text of a package of lessons through which nothing but its modules is imported: it prepares
    a notebook, by importing all that a lesson's cells may ask for.
    """
    asked: set[str] = set()
    texts = [text]
    while texts:
        for name in _imported(ast.parse(texts.pop())):
            parts = name.split(".")
            chain = [".".join(parts[: count + 1]) for count in range(len(parts))]
            known = [module for module in chain if module in sources]
            new = {m for m in known if m == known[-1] or not _is_lessons(m)} - asked
            asked |= new
            texts += [sources[module][1] for module in sorted(new)]
    passed = {".".join(m.split(".")[:count]) for m in asked for count in range(1, m.count(".") + 1)}
    return {
        name: source if name in asked else (True, "")
        for name, source in sources.items()
        if name in asked | passed
    }


def _is_lessons(package: str) -> bool:
    return f"{package}.".startswith(f"{PACKAGE}.lesson.")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield each module that a text imports, wherever in it, and each name that may be one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def engine_sources() -> dict[str, tuple[bool, str]]:
    """Return module name → (whether it is a package, its source), in a fixed order."""
    root = Path(proflab.__file__).parent
    sources = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        package = path.name == "__init__.py"
        names = (PACKAGE, *parts[:-1], *(() if package else (path.stem,)))
        sources[".".join(names)] = (package, path.read_text(encoding="utf-8"))
    return sources
