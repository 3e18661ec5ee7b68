"""Read the known solutions of a lesson, wrong ones and unusual right ones: modules/NN_slug/wrong/.

An exercise has a file there, EXERCISE.txt:

    # A line like this is a comment.

    base: right
        smaller = min(a, b)
        return max(a, b) - smaller

    wrong (value): the sum
    diagnosis: adds where it should subtract
        return a + b

    wrong (order): the smaller minus the larger
    change: right
        -return max(a, b) - smaller
        +return smaller - max(a, b)

    right: by the absolute value
        return abs(a - b)

    best: what costs least in a race, of all that is known
        return a - b

After its first line, which has the kind and the sentence, an entry has keys and then its code,
indented by four spaces: a function's body, under the signature of the lesson's own solution, or,
where it says `def EXERCISE`, `class EXERCISE` or `EXERCISE =` itself, the whole of it. With the key
`change` it is what changes of a `base`, of a right entry, or of the lesson's `solution`: lines
with - before them go, those with + come, those with a space stay, and @@ parts two places; what
goes and stays has to be there exactly once. `diagnosis` is what a viva says in place of the
sentence, `share` the share of the points of a race that a `slow` entry has, and `chance` why it
fails other cases at other times or on other machines.

What several entries use lies beside, in helpers.py; TEXT_OF("FILE") in it is the text of a file of
the lesson's folder, which is not there where hand-ins are executed.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import SOLUTION, read_module, regions

# failing.json is written and read by tests/cohort/failing.py; here it is a file that may lie there.
FOLDER, HELPERS, FAILING = "wrong", "helpers.py", "failing.json"
# What an entry's kind says of its mistake.
KINDS = {
    "value": "it computes something else",
    "order": "what it returns stands in another order",
    "slow": "it is right, and slower than a race asks for",
    "rounding": "its numbers are rounded",
    "type": "what it returns has another type",
    "overflow": "its integers have too few bits",
    "refusal": "it takes what it should refuse, or refuses what it should take",
    "raises": "it ends with an exception",
    "prints": "it prints what it should return",
    "names": "its arguments have other names",
    "mutates": "it changes its arguments",
    "remembers": "it keeps what an earlier call returned",
    "written": "the answers of visible cases are written in",
}
# Of these kinds, a call and its result can show what the function computes.
SUBSTANCE = ("value", "order")

_HEAD = re.compile(r"(?:wrong \((?P<kind>[^)]*)\)|(?P<other>right|best|base)): (?P<sentence>\S.*)")
# The first line of a wrong entry, wherever it is copied to: build/leaks.py searches for it.
ENTRY = re.compile(rf"wrong \(({'|'.join(KINDS)})\): \S".encode())
_BEST = "best"
_KEY = re.compile(r"(?P<key>[a-z]+): (?P<value>\S.*)")
_KEYS = ("chance", "change", "diagnosis", "share")
_TEXT_OF = re.compile(r'TEXT_OF\("([^"/\\]+)"\)')
_INDENT = "    "


@dataclass(frozen=True)
class KnownSolution:
    """Hold a known solution of an exercise as a whole cell.

    kind: one of KINDS, or "" where it is right. share: of a race's points; None if not slow.
    chance: on what it hangs which cases it fails; "" if on nothing. is_best: it costs what
    the first case of its race calls the best known; it may be made for that case alone.
    """

    exercise: str
    sentence: str
    kind: str
    code: str
    diagnosis: str
    share: float | None = None
    chance: str = ""
    is_best: bool = False

    @property
    def is_right(self) -> bool:
        """Return True if it must keep all points."""
        return not (self.kind or self.is_best)


@dataclass(frozen=True)
class KnownSolutions:
    """Hold a lesson's known solutions by exercise, and the code that they may use."""

    of: Mapping[str, list[KnownSolution]]
    helpers: str = ""

    def wrong(self, exercise: str) -> list[KnownSolution]:
        """Return the exercise's wrong solutions."""
        return [each for each in self.of.get(exercise, ()) if each.kind]


def read_known_solutions(course: Course, lesson: str) -> KnownSolutions:
    """Return a lesson's known solutions.

    Raises CourseError with the file and the line where they do not have the form above, and with a
    sentence if the lesson has none.
    """
    module = course.module(lesson)
    if not (module.parent / FOLDER).is_dir():
        raise CourseError(
            f"modules/{lesson}/{FOLDER}/, which holds the lesson's known wrong solutions, is not "
            f"there: go to a clone of the course that has it"
        )
    cells = read_module(module, lesson).cells
    solutions = {cell.name: cell.source for cell in cells if cell.role == "exercise"}
    return known_solutions(module.parent / FOLDER, solutions)


def known_solutions(folder: Path, solutions: Mapping[str, str]) -> KnownSolutions:
    """Return what a folder wrong/ holds of exercises, whose own solutions are given by name.

    Raises CourseError with the file and the line where something has not the form above.
    """
    for path in sorted(folder.iterdir()):
        taken = path.name in (HELPERS, FAILING) or path.name.startswith((".", "__"))
        if not taken and not (path.suffix == ".txt" and path.stem in solutions):
            raise CourseError(
                f"{_place(path)}: the lesson has no exercise {path.stem}: name the file after one, "
                f"EXERCISE.txt"
            )
    files = {name: folder / f"{name}.txt" for name in solutions}
    found = {
        name: read_exercise(path, name, solutions[name])
        for name, path in files.items()
        if path.exists()
    }
    return KnownSolutions(found, _helpers(folder / HELPERS))


def read_exercise(path: Path, exercise: str, solution: str) -> list[KnownSolution]:
    """Return the known solutions in an exercise's file.

    solution: the lesson's own. Raises CourseError with the file and the line.
    """
    sections = _checked(path, list(_sections(path)))
    bases = {each.sentence: each.text(path) for each in sections if each.is_base}
    if body := _body(solution):
        bases["solution"] = body
    found = []
    for each in sections:
        if each.kind != "base":
            code = each.text(path) if each.is_whole else each.changed(path, bases)
            found.append(each.known(path, exercise, whole_code(exercise, code, solution)))
    return found


@dataclass
class _Section:
    """Hold the lines of a file about one entry; `line` is the number of the first."""

    line: int
    kind: str
    sentence: str
    keys: dict[str, str] = field(default_factory=dict)
    code: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Return True if the whole code stands there, and not what changes of another."""
        return "change" not in self.keys

    @property
    def is_base(self) -> bool:
        """Return True if others can be changes of it."""
        return self.kind in ("base", "", _BEST) and self.is_whole

    def text(self, path: Path) -> str:
        """Return the code as it stands there."""
        text = "\n".join(line for _, line in self.code)
        return textwrap.dedent(text)

    def changed(self, path: Path, bases: Mapping[str, str]) -> str:
        """Return the code of the base with the changes made."""
        name = self.keys["change"]
        if name not in bases:
            there = ", ".join(bases) or "none"
            raise _mistake(
                path, self.line, f"there is no base {name!r} to change (there is {there})"
            )
        lines = bases[name].split("\n")
        edits = [_edit(path, each, lines, name) for each in self._hunks()]
        for (start, end, _), (following, _, _) in zip(
            sorted(edits), sorted(edits)[1:], strict=False
        ):
            if following < end or start == following:
                raise _mistake(path, self.line, "two changes are of the same lines: make them one")
        for start, end, new in sorted(edits, reverse=True):
            lines[start:end] = new
        code = "\n".join(lines)
        if code == bases[name]:
            raise _mistake(path, self.line, "this changes nothing: say what changes")
        return code

    def _hunks(self) -> list[list[tuple[int, str]]]:
        parts = groupby(self.code, key=lambda line: line[1] == "@@")
        return [list(lines) for parted, lines in parts if not parted]

    def known(self, path: Path, exercise: str, code: str) -> KnownSolution:
        """Return the entry with its whole code."""
        try:
            ast.parse(code)
        except SyntaxError as error:
            raise _mistake(path, self.line, f"this is no Python: {error.msg}") from None
        return KnownSolution(
            exercise,
            self.sentence,
            "" if self.kind == _BEST else self.kind,
            code,
            self.keys.get("diagnosis", self.sentence),
            self._share(path),
            self.keys.get("chance", ""),
            self.kind == _BEST,
        )

    def _share(self, path: Path) -> float | None:
        if (self.kind == "slow") != ("share" in self.keys):
            raise _mistake(path, self.line, "a slow entry, and no other, has the key `share`")
        if "share" not in self.keys:
            return None
        given = self.keys["share"]
        if not re.fullmatch(r"0(\.\d+)?|1", given):
            raise _mistake(path, self.line, f"the share {given!r} is no number from 0 to 1")
        return float(given)


def _sections(path: Path) -> Iterator[_Section]:
    """Yield a file's sections; what is no comment has to belong to one."""
    now: _Section | None = None
    for number, line in enumerate(_text(path).split("\n"), 1):
        head, key = _HEAD.fullmatch(line), _KEY.fullmatch(line)
        if line.startswith("#") or not line.strip() and now is None:
            continue
        if head:
            if now is not None:
                yield now
            now = _Section(number, _kind(path, number, head), head["sentence"])
        elif now is not None and (not line.strip() or line.startswith(_INDENT)):
            now.code.append((number, line.removeprefix(_INDENT).rstrip("\n")))
        elif now is not None and key and key["key"] in _KEYS and not now.code:
            if key["key"] in now.keys:
                raise _mistake(path, number, f"{key['key']!r} is there twice: leave one")
            now.keys[key["key"]] = key["value"]
        else:
            raise _mistake(
                path,
                number,
                "this is no `wrong (KIND): SENTENCE`, `right: SENTENCE`, `base: NAME`, no key "
                f"({', '.join(_KEYS)}) below one, and no code, which four spaces indent",
            )
    if now is not None:
        yield now


def _kind(path: Path, number: int, head: re.Match) -> str:
    """Return the kind that an entry's first line gives it: "" if right, "base" if it is none."""
    if other := head["other"]:
        return "" if other == "right" else other
    if head["kind"] not in KINDS:
        there = ", ".join(KINDS)
        raise _mistake(path, number, f"there is no kind {head['kind']!r} (there is {there})")
    return head["kind"]


def _checked(path: Path, sections: list[_Section]) -> list[_Section]:
    """Return the sections; CourseError for a sentence or code that cannot be."""
    seen: dict[str, int] = {"solution": 0}
    for each in sections:
        while each.code and not each.code[-1][1].strip():
            each.code.pop()
        if each.sentence in seen:
            raise _mistake(path, each.line, f"{each.sentence!r} is there already: say another")
        if not each.code:
            raise _mistake(path, each.line, "this entry has no code below it: write some")
        if each.kind == "base" and each.keys:
            raise _mistake(path, each.line, "a base has code alone: leave out its keys")
        seen[each.sentence] = each.line
    return sections


def _edit(
    path: Path, hunk: list[tuple[int, str]], lines: list[str], base: str
) -> tuple[int, int, list[str]]:
    """Return where a change's old lines begin and end in the base, and the new ones."""
    for number, line in hunk:
        if line and line[0] not in " -+":
            raise _mistake(path, number, "a line of a change begins with -, +, a space, or is @@")
    old = [line[1:] for _, line in hunk if not line.startswith("+")]
    new = [line[1:] for _, line in hunk if not line.startswith("-")]
    size = len(old)
    places = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == old]
    if not old or len(places) != 1:
        raise _mistake(
            path,
            hunk[0][0],
            f"the lines that change are not in {base!r} exactly once: add some around",
        )
    return places[0], places[0] + size, new


# ── code ─────────────────────────────────────────────────────────────────────────────────────


def whole_code(exercise: str, code: str, solution: str) -> str:
    """Return code as a whole cell: a bare body gets the signature of the lesson's own solution."""
    if re.search(rf"^(def|class) {exercise}\b|^{exercise}\s*=", code, re.M):
        return code
    return _signature(solution) + "\n" + textwrap.indent(code, _INDENT)


@lru_cache(maxsize=256)  # asked for each entry of an exercise
def _signature(solution: str) -> str:
    """Return the line `def` of the function that a solution defines; "" if it defines none."""
    found = [node for node in ast.parse(solution).body if isinstance(node, ast.FunctionDef)]
    if not found:
        return ""
    node = found[0]
    head = ast.unparse(ast.FunctionDef(node.name, node.args, [ast.Pass()], [], lineno=1))
    return head.replace("\n    pass", "")


def _body(solution: str) -> str:
    """Return the lines of a solution between its marks; "" if there is more than one region."""
    found = list(regions(solution, SOLUTION))
    return textwrap.dedent("\n".join(found[0])).strip("\n") if len(found) == 1 else ""


def _helpers(path: Path) -> str:
    """Return the code of helpers.py with the texts of files put in; "" if there is none."""
    if not path.exists():
        return ""
    code = _text(path)
    try:
        ast.parse(code)
    except SyntaxError as error:
        raise _mistake(path, error.lineno or 1, f"this is no Python: {error.msg}") from None

    def text_of(match: re.Match) -> str:
        file = path.parents[1] / match[1]
        if not file.is_file():
            line = code[: match.start()].count("\n") + 1
            raise _mistake(path, line, f"{match[1]} is no file of the lesson's folder")
        return repr(_text(file))

    return _TEXT_OF.sub(text_of, code).strip("\n")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CourseError(f"{_place(path)} is no UTF-8 text: save it as such") from None


def _place(path: Path) -> str:
    return f"modules/{path.parents[1].name}/{path.parent.name}/{path.name}"


def _mistake(path: Path, line: int, what: str) -> CourseError:
    return CourseError(f"{_place(path)}, line {line}: {what}")
