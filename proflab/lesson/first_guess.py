"""Keep the first guess at each quantity, and have demo cells show it and no later one.

The first guess is kept in `.proflab/guesses.jsonl` beside the notebook, a line for each value that
was tried, each with the SHA-256 of the line before; and in the demo cell's output (`guesses.py`).
Where the file is lost, as on Colab, the saved notebook's outputs are read. A notebook runs in its
reader's own process, so this is a habit and not a seal: it shows a change, and prevents none.

A demo cell need not say any of this. Before it runs, IPython passes its syntax tree to
`GuessCells`, which keeps the guesses that the cell reads and puts the first ones in their place.
Where the course says so (`lock = true`), what the cell shows is withheld until there is a guess.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from proflab.checks.diagnose import is_number
from proflab.lesson.kernel_record import (
    KernelRecord,
    current_record,
    kernel_shell,
    saved_output_data,
)
from proflab.lesson.mine import is_instructors

MIME = "application/vnd.proflab.guess+json"  # grading and `proflab check` read it
FILE = Path(".proflab", "guesses.jsonl")
SKIP = "skip"
PREFIX = "guess_"
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?")
_ORDERS = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_SMALL = {"a": 1.0, "half a": 0.5, **{word: n for n, word in enumerate(_WORDS, start=1)}}
_SPELLED = re.compile(rf"(.*?)\s*\b({'|'.join(_ORDERS)})\b\s*(.*)", re.IGNORECASE)
_NUMBER = re.compile(r"([-+]?(?:[\d,_]+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(\S*)", re.IGNORECASE)


@dataclass
class Kept:
    """Hold what is known of the guesses at one quantity.

    first: the first guess, a number, a text or "skip"; now: the value in the cell, None if none;
    n: how many values were tried; edited: True where a line of the file was changed; meant: False
    for a share such as 0.5 of a quantity in per cent, until it was confirmed.
    """

    name: str
    first: float | str
    n: int = 1
    now: float | str | None = None
    edited: bool = False
    meant: bool = True


def lock(name: str, guess: object, unit: str = "") -> Kept | None:
    """Keep a guess if it is the first one at this quantity; return what is known of it.

    name: of the guess, such as "guess_linear"; guess: None and ... are none, "skip" makes none.
    unit: the answer's, by which "50 %" and "3 ms" are read as numbers.
    None: outside of a notebook's kernel, or if no guess was ever made.
    """
    record = current_record()
    if record is None:
        return None
    value = as_meant(guess, unit)
    kept = _lookup(record, name)
    # "a lot" cannot be judged: the first number after it becomes the first guess.
    in_words = kept is not None and isinstance(kept.first, str) and kept.first != SKIP
    if value is not None and (kept is None or (in_words and is_number(value))):
        kept = Kept(name, value, now=value, meant=not _may_be_share(value, unit))
        _append(record, kept, value)
        return kept
    if kept is None:
        return None
    kept.now = value
    if not kept.meant and is_number(value) and is_number(kept.first):
        # The cell was run again, or the share was written in per cent: both answer `which`.
        if value == kept.first or math.isclose(value, 100 * kept.first):
            kept.first, kept.meant = value, True
            _append(record, kept, value)
            return kept
    if value is not None and value not in _tried(record, name):
        kept.n += 1
        _append(record, kept, value)
    return kept


def as_meant(guess: object, unit: str = "") -> float | str | None:
    """Return a guess as its writer meant it; None where there is none.

    >>> as_meant("50 %", "%"), as_meant("2,362,368"), as_meant((2, 362, 368)), as_meant("fc8")
    (50, 2362368, 2362368, 'fc8')
    >>> as_meant("2.3 million"), as_meant("two"), as_meant("half a billion")
    (2300000, 2, 500000000)
    """
    if guess is None or guess is ...:
        return None
    if is_number(guess):
        whole = float(guess).is_integer() and abs(guess) < 2**53
        return int(guess) if whole else float(f"{float(guess):.9g}")
    if isinstance(guess, tuple):  # 2,362,368 without quotation marks
        whole = all(isinstance(part, int) and not isinstance(part, bool) for part in guess)
        if whole and len(guess) > 1 and all(p == 0 or 100 <= p < 1000 for p in guess[1:]):
            return int("".join([str(guess[0]), *(f"{part:03d}" for part in guess[1:])]))
    text = str(guess).strip()[:200]  # it goes into a line of the file, and into an output
    if text.lower() == SKIP:
        return SKIP
    text = _in_digits(text)
    found = _NUMBER.fullmatch(text) if len(text) < 200 else None  # a longer one was cut
    if found and found[2] in ("", "%", "x", "×", unit) and (found[2] != "%" or unit[:1] == "%"):
        digits = found[1]
        if "," not in digits or _THOUSANDS.fullmatch(digits):
            with suppress(ValueError):
                return as_meant(float(digits.replace(",", "")))
    return str(guess).strip()[:200]


def _in_digits(text: str) -> str:
    """Return a number in words, such as "2.3 million", in digits; any other text as it is."""
    spelled = _SPELLED.fullmatch(text)
    count, unit = (spelled[1], spelled[3]) if spelled else (text, "")
    factor = _ORDERS[spelled[2].lower()] if spelled else 1.0
    number = _SMALL.get(count.lower())
    if number is None and spelled is not None:
        with suppress(ValueError):
            number = float(count.replace(",", ""))
    return text if number is None else f"{number * factor:.12g} {unit}".strip()


def _may_be_share(value: object, unit: str) -> bool:
    """Return True for 0.5 where per cents are asked for: 50 may be meant."""
    return unit[:1] == "%" and is_number(value) and 0 < value <= 1


# ── the two places ───────────────────────────────────────────────────────────────────────────


def _lookup(record: KernelRecord, name: str) -> Kept | None:
    """Return what is known of a guess: by the file, else by this kernel, else by saved outputs."""
    entries, edited = _read(record)
    known = record.guesses.get(name)
    found = None
    for entry in entries:
        if entry["what"] != name:
            continue
        if found is None or entry["n"] == 1:
            found = Kept(name, entry["guess"], meant=entry.get("meant", True))
        found.n = max(found.n, entry["n"])
    if found is None and known is not None:
        found = Kept(name, known.first, known.n, meant=known.meant)
    if found is None and _place(record) is not None:
        found = _saved(record).get(name)
    if found is not None:
        found.edited = edited or (known is not None and known.edited)
        record.guesses[name] = found
    return found


def _tried(record: KernelRecord, name: str) -> list[float | str]:
    tried = [entry["guess"] for entry in _read(record)[0] if entry["what"] == name]
    return [*tried, *record.tried.get(name, ()), record.guesses[name].first]


def _append(record: KernelRecord, kept: Kept, value: float | str | None) -> None:
    """Keep what is known, and add a line to the file where there may be one."""
    record.guesses[kept.name] = kept
    record.tried.setdefault(kept.name, []).append(value)
    path = _place(record)
    if path is None:
        return
    at = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
    with suppress(OSError):  # a folder that cannot be written: this kernel and the output remain
        path.parent.mkdir(exist_ok=True)
        lines = _lines(path)
        known = any(entry["what"] == kept.name for entry in _read(record)[0])
        # The file may have been lost since the first guess, which is known from saved outputs.
        values = [(kept.first, 1)] if not known and value != kept.first else []
        with path.open("a", encoding="utf-8") as file:
            for guess, n in [*values, (value, 1 if value == kept.first else kept.n)]:
                entry: dict[str, object] = {"what": kept.name, "guess": guess, "n": n}
                entry |= {"prev": _digest(lines[-1]) if lines else "", "at": at}
                entry |= {} if kept.meant else {"meant": False}
                lines.append(json.dumps(entry, ensure_ascii=False))
                file.write(f"{lines[-1]}\n")


def _read(record: KernelRecord) -> tuple[list[dict], bool]:
    """Return the file's lines as they are to be read, and whether one was changed."""
    path = _place(record)
    lines = _lines(path) if path is not None else []
    entries, edited, before = [], False, ""
    for line in lines:
        entry = _entry(line)
        edited |= entry is None or entry.get("prev") != before
        before = _digest(line)
        if entry is not None:
            entries.append(entry)
    return entries, edited


def _entry(line: str) -> dict | None:
    with suppress(ValueError):
        entry = json.loads(line)
        whole = isinstance(entry, dict) and isinstance(entry.get("n"), int)
        if whole and isinstance(entry.get("guess"), (int, float, str)):
            return entry if isinstance(entry.get("what"), str) else None
    return None


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line for line in text.split("\n") if line.strip()]


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "replace")).hexdigest()


def _place(record: KernelRecord) -> Path | None:
    """Return the file; None in the folders in which instructors work."""
    return None if is_instructors(record.folder) else record.folder / FILE


def _saved(record: KernelRecord) -> dict[str, Kept]:
    """Return the first guesses in the outputs of the folder's notebooks, as they are saved.

    Each folder is read once, because what is saved later is this kernel's own.
    """
    if record.saved_guesses is None:
        record.saved_guesses = {}
        for found in saved_output_data(record.folder, MIME):
            if isinstance(found.get("first"), (int, float, str)):
                n = found.get("n")
                n = n if isinstance(n, int) and n > 0 else 1
                edited = found.get("edited") is True
                kept = Kept(str(found.get("name")), found["first"], n, edited=edited)
                record.saved_guesses.setdefault(kept.name, kept)
    return record.saved_guesses


# ── demo cells ───────────────────────────────────────────────────────────────────────────────


class GuessCells:
    """Keep the guesses that a demo cell reads, before it runs, and give it the first ones."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Return a cell's syntax tree; IPython calls it for each cell."""
        try:
            return _with_first_guesses(node)
        except Exception:  # whatever this may be, the cell is to run as it is written
            return node


def _with_first_guesses(node: ast.AST) -> ast.AST:
    record = current_record()
    asked = dict(_compared(node))
    if record is None or not asked or not isinstance(node, ast.Module):
        return node
    written = kernel_shell().user_ns
    missing: list[str] = []
    questions: list[str] = []
    first: dict[str, float | str | None] = {}
    for name, unit in asked.items():
        kept = lock(name, written.get(name), unit)
        if kept is None:
            missing.append(name)
            continue
        first[name] = None if kept.first == SKIP else kept.first
        if not kept.meant and kept.now == kept.first:
            questions.append(which(name, float(kept.first)))
    if missing:
        questions.insert(0, guess_first(missing))
    changed: ast.Module = _FirstGuesses(first).visit(node)
    locked = record.outline is not None and record.outline.lock
    if questions and locked and not is_instructors(record.folder):
        # Imported here, so that no name of the cell's is needed, or in the way.
        here = f"__import__({__name__!r}, fromlist=['withheld'])"
        opened = ast.parse(f"with {here}.withheld({questions[0]!r}, {missing!r}): pass")
        for statement in opened.body:
            if isinstance(statement, ast.With):
                statement.body = changed.body
        changed.body = opened.body
    return ast.fix_missing_locations(changed)


def guess_first(names: Sequence[str]) -> str:
    """Return the sentence that a cell shows in place of its answer."""
    skip = " and ".join(f'`{name} = "{SKIP}"`' for name in names)
    return f"Guess first: write a number into the cell above, or {skip}; then run this cell again."


def which(name: str, share: float) -> str:
    """Return the question on a share where per cents are asked for."""
    meant = f"{100 * float(share):.9g}"
    return (
        f"{meant} or {share:g}? The guess is asked for in per cent. Write `{name} = {meant}` "
        f"above, or run this cell again if you mean {share:g} %."
    )


@contextmanager
def withheld(sentence: str, names: Iterable[str] = ()) -> Iterator[None]:
    """Let a cell run without showing anything but a sentence.

    names: the guesses that were not made; the output says so to `proflab report`.
    """
    from IPython.display import display
    from IPython.utils.capture import capture_output

    with capture_output():
        yield
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    shown: dict[str, object] = {"text/plain": sentence}
    if not names:
        display(shown, raw=True)
    for name in names:
        display(shown | {MIME: {"name": name, "withheld": True}}, raw=True)
        shown = {"text/plain": ""}


def _compared(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the name of each guess that a cell compares, and the unit of its answer."""
    for call, name in _calls(node):
        named = [keyword.value for keyword in call.keywords if keyword.arg == "unit"]
        units = named or call.args[3:4]
        unit = next((u.value for u in units if isinstance(u, ast.Constant)), "")
        yield name, unit if isinstance(unit, str) else ""


def _calls(node: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "guesses.compare":
            guess = call.args[1] if len(call.args) > 1 else None
            if isinstance(guess, ast.Name) and guess.id.startswith(PREFIX):
                yield call, guess.id


class _FirstGuesses(ast.NodeTransformer):
    """Put the first guesses in place of the names of guesses; tell `compare` the names."""

    def __init__(self, first: dict[str, float | str | None]) -> None:
        self.first = first

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802 (as ast calls it)
        guess = node.args[1] if len(node.args) > 1 else None
        if ast.unparse(node.func) == "guesses.compare" and isinstance(guess, ast.Name):
            node.keywords.append(ast.keyword("name", ast.Constant(guess.id)))
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        if isinstance(node.ctx, ast.Load) and node.id in self.first:
            return ast.copy_location(ast.Constant(self.first[node.id]), node)
        return node
