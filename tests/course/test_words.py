"""The words of the code: functions say in the imperative what they do, classes what they are."""

import ast
import re
from pathlib import Path

import pytest
from imports import ROOT

# Folders whose docstrings are held to it, with all that is below them.
FOLDERS = ("proflab_course/grading",)
# A first word that is no imperative: articles, questions, prepositions, "Returns".
NOT_IMPERATIVE = re.compile(
    r"(A|An|The|This|What|Whether|How|Where|Who|Which|Why|Is|Are|Does|Has|As|Of|In|Inside|With|"
    r"Without|From|For|If|When|Not|No|Same|All|Each|Every|Before|After|Everything|One|See|\w+s)\b"
    r"|[^A-Z]"
)
ENDS_WITH_S = ("Pass", "Process", "Express")
# A property is read as an attribute is, and a class is a thing: a noun may do, a question not.
QUESTION = re.compile(r"(What|Whether|How|Where|Who|Which|Why|When|Is|Are|Does|Has)\b")


def said(tree: ast.Module) -> list[tuple[int, str, bool]]:
    """Return (line, docstring, "may be a noun") of every function and class that has one."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            read = any(ast.unparse(d).endswith("property") for d in node.decorator_list)
            found += [(node.lineno, doc, read)] if doc else []
        elif isinstance(node, ast.ClassDef) and (doc := ast.get_docstring(node)):
            found.append((node.lineno, doc, True))
    return found


def faults(source: str) -> list[str]:
    """Return the docstrings of functions and classes that do not begin as they should."""
    return [
        f"line {line}: {doc.splitlines()[0]}"
        for line, doc, read in said(ast.parse(source))
        if (QUESTION if read else NOT_IMPERATIVE).match(doc) and doc.split()[0] not in ENDS_WITH_S
    ]


def files() -> list[Path]:
    """Return the modules of all folders, as paths below the repository's root."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(found) > 40
    return [path.relative_to(ROOT) for path in found]


@pytest.mark.parametrize("path", files(), ids=str)
def test_docstrings_begin_with_an_imperative(path):
    assert not faults((ROOT / path).read_text())


@pytest.mark.parametrize("path", files(), ids=str)
def test_what_a_module_shows_has_a_docstring(path):
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has none"


@pytest.mark.parametrize(
    "doc, fine",
    [
        ("Return the bytes that one op moves.", True),
        ("Pass it on.", True),
        ("Whether it fits.", False),
        ("The bytes that one op moves.", False),
        ("Returns the bytes.", False),
        ("`value` if it is a list.", False),
    ],
)
def test_a_docstring_is_told_from_an_imperative(doc, fine):
    assert bool(faults(f"class A:\n    def f(self):\n        '''{doc}'''")) is not fine
    property_ = f"class A:\n    @property\n    def f(self):\n        '''{doc}'''"
    assert bool(faults(property_)) is doc.startswith("Whether")
