"""The words of the code: docstrings begin with an imperative, and one word means one thing."""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest
from imports import ROOT

# Folders whose functions' docstrings are held to it, and those whose modules' are, too.
FOLDERS = ("proflab_course/grading",)
MODULES = ("proflab_course/grading/run", "proflab_course/grading/inside")
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


@pytest.mark.parametrize("folder", MODULES)
def test_modules_docstrings_begin_with_an_imperative(folder):
    found = {path: ast.get_docstring(ast.parse(path.read_text())) for path in below(folder)}
    assert not {str(path): doc for path, doc in found.items() if NOT_IMPERATIVE.match(doc)}


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


# ── one word for one thing ───────────────────────────────────────────────────────────────────

PACKAGES = ("proflab", "proflab_course", "proflab_classroom")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)


def below(folder: str) -> list[Path]:
    """Return the Python files of a folder and of those in it."""
    return sorted((ROOT / folder).rglob("*.py"))


def refused_words() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return (word to use, word not to use, folders) of each entry in the glossary's table."""
    glossary = (ROOT / "CONTRIBUTING.md").read_text().split("## Glossary")[1].split("\n## ")[0]
    return [
        (use, word, tuple(re.findall(r"`([^`]+)/`", places)) or PACKAGES)
        for use, words, places in ROW.findall(glossary)[1:]
        for word in words.split(", ")
    ]


@cache
def spoken(source: str) -> list[tuple[int, str]]:
    """Return (line, text) of each comment, docstring and name in a file; names become words."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if doc := ast.get_docstring(node, clean=False):
                found.append((node.body[0].lineno, doc))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            found.append((token.start[0], token.string))
        elif token.type == tokenize.NAME:
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", token.string).replace("_", " ")
            found.append((token.start[0], words))
    return found


def finds(word: str, source: str) -> list[str]:
    """Return where a file uses a word."""
    words = r"\s+".join(word.split())
    pattern = re.compile(rf"(?<![\w-]){words}(?:e?s)?(?![\w-])", re.IGNORECASE)
    return [
        f"line {line + text[: found.start()].count(chr(10))}: {found[0]}"
        for line, text in spoken(source)
        for found in pattern.finditer(text)
    ]


@pytest.mark.whole
@pytest.mark.parametrize("use, word, folders", refused_words())
def test_one_word_is_used_for_one_thing(use, word, folders):
    sources = {path: path.read_text() for folder in folders for path in below(folder)}
    assert len(sources) > 8 * len(folders)
    found = {str(p.relative_to(ROOT)): finds(word, source) for p, source in sources.items()}
    assert not {path: places for path, places in found.items() if places}, f"say: {use}"


@pytest.mark.parametrize(
    "source, count",
    [
        ("def end_turn(): ...", 1),
        ("class LastTurn: ...", 1),
        ('"""End.\n\nEach turn has two turns."""', 2),
        ("x = 1  # the Turn's end", 1),
        ("x = 'a turn'\nreturned = saturn = 1", 0),
    ],
)
def test_words_are_found_in_names_comments_and_docstrings(source, count):
    assert len(finds("turn", source)) == count
