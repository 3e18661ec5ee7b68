"""mine.py: a student's own functions, which later lessons use in place of the course's.

It holds those that pass their visible checks, a section a lesson, and lies beside the lessons'
folders; where the notebook is not in a folder of its lesson, beside the notebook. The last cell of
a lesson and `proflab assemble` write it; every built.py looks for it when it is imported, and says
in one line what it uses. Grading never sees it: there PROFLAB_MINE is "off", and no such file.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.outline import Outline
from proflab.lesson.statements import (
    DEFINITIONS,
    IMPORTS,
    KNOWN,
    is_stub,
    parsed,
    written_statements,
)
from proflab.lesson.words import listed

FILE = "mine.py"
SWITCH = "PROFLAB_MINE"
_MARK = "Made by ProfLab"  # a file without it is the student's own, and never written over
_HEAD = f'''"""Your own functions: later lessons use them in place of the course's.

{_MARK} from your notebooks; edit those. Without this file, or with {SWITCH}=off in the
environment, later lessons use the course's own solutions.
"""
'''
# As `_write` writes it; a file of an earlier release has it, too.
_TITLE = re.compile(r"^# ── (\w+): ([\w, ]+) ──$", re.MULTILINE)
# nbgrader's folders: source/LESSON, submitted/STUDENT/LESSON, autograded/STUDENT/LESSON.
_INSTRUCTORS = frozenset({"source", "submitted", "autograded"})
_USED: dict[str, str] = {}  # in this process: function → the lesson whose own one is in use
_LESSON_NAME = re.compile(r"\d\d_[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Section:
    """The functions of one lesson: their names, their code, and the line at which it begins."""

    lesson: str
    names: tuple[str, ...]
    code: str
    line: int = 1


def place(folder: Path | None = None) -> Path | None:
    """Return where mine.py lies for a lesson in `folder` (the working directory).

    On Colab, where each lesson has a machine of its own, that is the folder that its panel of files
    shows, so that the file can be taken from one machine to the next. In the folders of a course in
    which instructors work there is none.
    """
    folder = (folder or Path.cwd()).resolve()
    if is_instructors(folder):
        return None
    if not _LESSON_NAME.fullmatch(folder.name):
        return folder / FILE
    # The first cell has gone into ARCHIVE/release/LESSON there (proflab_course/build/stamp.py).
    colab = "google.colab" in sys.modules and len(folder.parents) > 2
    return (folder.parents[2] if colab else folder.parent) / FILE


def is_instructors(folder: Path) -> bool:
    """Return True for a lesson's folder in which instructors work, not the lesson's reader."""
    return bool(_INSTRUCTORS & {parent.name for parent in folder.resolve().parents[:2]})


# ── writing it ───────────────────────────────────────────────────────────────────────────────


def store(
    cells: Iterable[str],
    outline: Outline,
    passing: Collection[str],
    path: Path | None,
    failing: Collection[str] = (),
) -> str:
    """Put a lesson's passing functions into mine.py; return a sentence on what is there now.

    Functions stored before stay, but for those that are failing, and those that these cells define
    anew with another text and that are not passing: what was proved of a text holds for it. What
    is no exercise now stays until a function that passes needs the course's in its place.

    cells: the text of the cells that have been run, as Python; a later one overrides an earlier.
    path: as `place` returns it.
    """
    if path is None:
        return ""
    try:
        return _stored(list(cells), outline, passing, path, failing)
    except OSError as error:
        return f"{path} cannot be used ({error.strerror}), so your functions are not stored"


def _stored(cells: list[str], outline: Outline, passing: Collection[str], path: Path,
            failing: Collection[str]) -> str:  # fmt: skip
    if path.exists() and _MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return f"{path} is not of ProfLab's making, so your functions are not stored: rename it"
    sections = {section.lesson: section for section in _read(path)}
    former = sections.pop(outline.lesson, None)
    kept: set[str] = set()
    if former:
        gone = set(former.names) - outline.exercises.keys()
        if gone & used_names(_statements(_section(cells, outline, passing).code)):
            former, gone = _without(former, gone), set()
        kept = (_still_proved(former, cells, outline) | gone) - set(failing)
    section = _section([*([former.code] if former else []), *cells], outline, {*passing, *kept})
    if section.names:
        sections[outline.lesson] = section
    elif former is None:
        return ""
    _write(path, [sections[name] for name in sorted(sections)])
    count = len(outline.exercises.keys() & set(section.names))
    what = f"{count} functions of your own that pass their checks"
    what = "1 function of your own that passes its checks" if count == 1 else what
    return f"Stored for later lessons, in {path.name}: {what}."


def stored(path: Path | None, lesson: str) -> tuple[str, ...]:
    """Return the functions of a lesson that mine.py holds."""
    sections = _read(path) if path is not None else []
    return next((section.names for section in sections if section.lesson == lesson), ())


def _still_proved(former: Section, cells: list[str], outline: Outline) -> set[str]:
    """Return the stored functions that cells do not define, or define as they are stored."""
    anew = set(former.names) & _defined(cells)
    same = {n for n in anew if _meaning(cells, outline, n) == _meaning([former.code], outline, n)}
    return set(former.names) - anew | same


def _without(section: Section, gone: Collection[str]) -> Section:
    """Return a section without these names, and without all that needs one of them."""
    gone = _resting_on(gone, section)
    pieces = written_statements(section.code.splitlines(), _statements(section.code))
    left = [(node, code) for node, code in pieces if not bound_names([node]) & gone]
    names = tuple(name for name in section.names if name not in gone)
    return replace(section, names=names, code="\n".join(_spaced(left)))


def _resting_on(gone: Collection[str], section: Section) -> set[str]:
    """Return these names, and all that a section defines which needs one of them."""
    found, more = set(gone), set(gone)
    nodes = _statements(section.code)
    while more:
        found |= more
        needing = (node for node in nodes if used_names([node]) & found)
        more = bound_names(needing) - found
    return found


def _meaning(cells: Iterable[str], outline: Outline, name: str) -> list[str]:
    """Return a function and what of the student's code it needs, whatever its layout."""
    return [ast.dump(node) for node in _statements(_section(cells, outline, {name}).code)]


def _section(cells: Iterable[str], outline: Outline, passing: Collection[str]) -> Section:
    """Return the passing exercises, and what of the student's own code these need.

    Given functions and classes, and exercises that do not pass, are the course's: built has them.
    """
    pieces = list(_pieces(cells, outline))
    chosen: dict[int, str] = {}
    wanted: set[str] = set()
    names = []
    for name in dict.fromkeys([*outline.exercises, *sorted(passing)]):
        places = [i for i, (node, _) in enumerate(pieces) if getattr(node, "name", "") == name]
        if name in passing and places and not is_stub(pieces[places[-1]][0]):
            names.append(name)
            wanted.add(name)
    settled = (set(outline.exercises) - set(names)) | KNOWN  # the course's, or Python's own
    while ahead := wanted - settled:
        name = min(ahead)
        settled.add(name)
        places = [i for i, (node, _) in enumerate(pieces) if name in bound_names([node])]
        if places:  # of several, the last one is what the notebook has
            node, chosen[places[-1]] = pieces[places[-1]]
            wanted |= used_names([node])
    code = "\n".join(_spaced([(pieces[i][0], chosen[i]) for i in sorted(chosen)]))
    return Section(outline.lesson, tuple(names), code)


def _defined(cells: Iterable[str]) -> set[str]:
    """Return the functions and classes that cells define."""
    nodes = (node for text in cells for node in _statements(text))
    return {node.name for node in nodes if isinstance(node, DEFINITIONS)}


def _statements(text: str) -> list[ast.stmt]:
    try:
        return parsed(text)
    except SyntaxError:
        return []


def _pieces(cells: Iterable[str], outline: Outline) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the statements that may be of use; of the lesson's own, none that built has."""
    for text in cells:
        cell = outline.cell(text)
        if cell is not None and cell.kind != "given":
            continue
        for node, code in written_statements(text.splitlines(), _statements(text)):
            if cell is None or not isinstance(node, DEFINITIONS):
                yield node, code


def _spaced(statements: list[tuple[ast.stmt, str]]) -> Iterator[str]:
    imports = [code for node, code in statements if isinstance(node, IMPORTS)]
    yield from dict.fromkeys(imports)
    for node, code in statements:
        if not isinstance(node, IMPORTS):
            yield "\n\n" + code if isinstance(node, DEFINITIONS) else "\n" + code


def _write(path: Path, sections: list[Section]) -> None:
    if not sections:
        path.unlink(missing_ok=True)
        return
    titled = (f"# ── {s.lesson}: {', '.join(s.names)} ──\n{s.code.rstrip()}\n" for s in sections)
    text = "\n\n".join([_HEAD, *titled])
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


# ── using it ─────────────────────────────────────────────────────────────────────────────────


def use_mine(
    names: dict, lesson: str, exercises: Mapping[str, Collection[str]] | None = None
) -> None:
    """Put the student's own functions into built's `names`, those of the lessons before `lesson`.

    exercises: those of each of these lessons; None where an earlier release does not say. What is
    none of them now is the course's, which may take other arguments, and so is all that needs it.
    What goes wrong costs no lesson: then the course's stay, and a line says why.
    """
    path = place()
    off = os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false")
    if off or path is None or not path.is_file():
        return
    used: list[str] = []
    try:
        sections = _read(path)
    except OSError as error:
        print(f"{path} cannot be read ({error.strerror}): the course's functions are used")
        return
    for section in sections:
        if section.lesson < lesson:
            known = None if exercises is None else exercises.get(section.lesson, ())
            taken = _use(section, names, path, known)
            _USED.update((name, section.lesson) for name in taken)
            used += taken
    if used:
        print(
            f"Your own {_listed(used)} {_be(used)} used in place of the "
            f"course's, from {os.path.relpath(path)} ({SWITCH}=off in the environment, or no such "
            "file: the course's)."
        )


def _use(section: Section, names: dict, path: Path, exercises: Collection[str] | None) -> list[str]:
    """Put a section's functions into `names`; return which. exercises: its lesson's, if known."""
    wanted = [name for name in section.names if name in names]
    former = [] if exercises is None else [name for name in wanted if name not in exercises]
    if former:
        resting = _resting_on(former, section)
        others = [name for name in wanted if name in resting and name not in former]
        print(
            f"{path}, {section.lesson}: {_listed(former)} {_be(former)} no longer written in this "
            f"lesson, so the course's {_listed(former + others)} {_be(former + others)} used."
        )
        wanted = [name for name in wanted if name not in resting]
    own = dict(names, __name__="mine", __file__=str(path))
    own.pop("__all__", None)
    try:
        code = "\n" * (section.line - 1) + section.code  # so that a traceback names its line
        exec(compile(code, str(path), "exec"), own)
        used = {name: own[name] for name in wanted}
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        print(f"{path}, {section.lesson}: {problem}; the course's functions are used instead")
        return []
    names.update(used)
    return list(used)


def told(cell: str, names: Mapping[str, Any]) -> str:
    """Return a sentence on the functions of mine.py that a cell uses; empty if it uses none.

    cell: its text; names: the notebook's.
    """
    try:
        first = used_names(ast.parse(cell).body)
    except (SyntaxError, ValueError):
        return ""
    found = list(_own_functions(first, names)) if _USED else []
    if not found:
        return ""
    where = [f"`{name}` ({_place(name)})" for name in found]
    return (
        f"This cell uses your own {_listed(where)} from {FILE}: to try the course's, restart the "
        f"kernel and run `%env {SWITCH}=off` first."
    )


def _own_functions(first: Iterable[str], names: Mapping[str, Any]) -> Iterator[str]:
    """Yield functions of mine.py that these names lead to, the nearest first."""
    ahead, seen = [(name, names) for name in sorted(first)], set()
    for name, scope in ahead:
        value = scope.get(name)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if name in _USED and getattr(value, "__module__", "") == "mine":
            yield name
        for function in _functions_of(value):
            inner = sorted(_names_in(function.__code__))
            ahead += [(each, function.__globals__) for each in inner]


def _functions_of(value: Any) -> list[FunctionType]:
    """Return a function, or a class's methods, of a notebook or of what stands beside it."""
    members = [value, *vars(value).values()] if isinstance(value, type) else [value]
    members = [getattr(member, "__wrapped__", member) for member in members]
    found = [member for member in members if isinstance(member, FunctionType)]
    return [f for f in found if f.__module__ in ("__main__", "built", "mine")]


def _names_in(code: CodeType) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _place(name: str) -> str:
    """Return the lesson of a function in use, and its section where that lesson lies beside."""
    lesson, path = _USED[name], place()
    outline = Outline.read(path.parent / lesson) if path is not None else None
    exercise = outline.exercises.get(name) if outline else None
    return ", ".join(filter(None, [lesson, exercise.place if exercise else ""]))


def _be(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: list[str]) -> str:
    if len(names) > 6:
        return f"{len(names)} functions ({', '.join(names[:4])}, …)"
    return listed(names)


def _read(path: Path) -> list[Section]:
    """Return the sections of a mine.py; none where there is no such file."""
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8", errors="replace")
    titles = list(_TITLE.finditer(text))
    ends = [title.start() for title in titles[1:]] + [len(text)]
    sections = []
    for title, end in zip(titles, ends, strict=True):
        code = text[title.end() : end].lstrip("\n")
        line = text.count("\n", 0, end - len(code)) + 1  # of the first that has something in it
        sections.append(Section(title[1], tuple(title[2].split(", ")), code.rstrip("\n"), line))
    return sections
