"""Draws what hidden cases may vary, fifty times: `python -m tests.cohort.variants 02 06`.

For each draw the solved lesson gives plain values, every right alternate passes, and every wrong
solution keeps its verdict on its exercise: those that the written cases catch are caught, those
that they do not stay uncaught. One that fails a visible case has its verdict whatever is drawn.
`--time` says, too, which cells take more than twice their time. An exercise's name limits it;
`--draws=5` is quicker.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))


from cohort.failing import table, visible
from cohort.judging import judged, said_by_fork
from cohort.run import Solved, entries, lessons, solved
from proflab.checks.values import dumps, loads, to_plain_data
from proflab_course.build.in_process import run_cell
from proflab_course.cases.reader import TestCell, split
from proflab_course.cases.vary import Varying, varying

DRAWS = 50
SECRET = bytes(32)
SOLUTION = "the solution"
_SLOWER, _LEAST_SECONDS = 2.0, 0.02


@dataclass
class Audit:
    """What fifty draws of an exercise have shown.

    cases: how many cases vary; flips: a sentence for each verdict that changed; slow: for each cell
    that took too long.
    """

    exercise: str
    cases: int = 0
    flips: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)


def audit(
    lesson: str, exercise: str, draws: int = DRAWS, sources: dict[str, str] | None = None
) -> Audit:
    """Draw an exercise's cases, and judge all that the cohort has for it.

    sources: the text of its test cells, if not the lesson's. Only mutants that no visible case
    catches are executed.
    """
    whole, found = solved(lesson), Audit(exercise)
    texts = sources or _sources(whole, exercise)
    found.cases = sum(len(each.expected) for each in _varying(texts).values())
    if not found.cases:
        return found
    codes, caught = _codes(lesson, exercise)
    answer = judged("variants.drawn", lesson, exercise, codes, texts, draws)
    if isinstance(answer, str):
        found.flips.append(answer)
        return found
    for sentence, failed in answer["failed"].items():
        verdicts = [caught.get(sentence, False)] + [bool(labels) for labels in failed]
        wrong = [n for n, verdict in enumerate(verdicts[1:]) if verdict != verdicts[0]]
        if wrong:
            what = "passes" if verdicts[0] else f"fails {failed[wrong[0]][0]!r}"
            found.flips.append(f"{sentence!r} {what} in {len(wrong)} of {draws} draws")
    for name, (written, drawn) in answer["seconds"].items():
        if drawn > max(_SLOWER * written, _LEAST_SECONDS):
            found.slow.append(f"{name} takes {drawn:.3f} s in place of {written:.3f} s")
    return found


def _codes(lesson: str, exercise: str) -> tuple[dict[str, str], dict[str, bool]]:
    """Return the codes to be judged, by sentence, and which of them hidden cases catch."""
    codes, caught = dict(entries(lesson, "ALTERNATES")[exercise]), {}
    seen, rows = visible(lesson, exercise), table(lesson)[exercise]
    for sentence, code in entries(lesson, "MUTANTS")[exercise].items():
        if not rows[sentence] & seen:
            codes[sentence], caught[sentence] = code, bool(rows[sentence])
    helpers = solved(lesson).helpers
    return {sentence: f"{helpers}\n{code}" for sentence, code in codes.items()}, caught


def _sources(lesson: Solved, exercise: str) -> dict[str, str]:
    named = {cell.name for cell in lesson.tests[exercise]}
    return {cell.name: cell.source for cell in lesson.cells if cell.name in named}


def _varying(sources: dict[str, str]) -> dict[str, Varying]:
    found = {name: varying(text, name) for name, text in sources.items()}
    return {name: each for name, each in found.items() if each is not None}


# ── in the process that judges ───────────────────────────────────────────────────────────────


def drawn(
    lesson: Solved, exercise: str, codes: dict[str, str], sources: dict[str, str], draws: int
) -> dict[str, Any] | str:
    """Judge these codes by the drawn cases; return which labels failed in each draw.

    Returns a sentence where the solution has no plain value for a draw.
    """
    cells: dict[str, list[TestCell]] = {}
    for name, varies in _varying(sources).items():
        edits = [varies.drawn(SECRET, f"draw {n}", lesson.name) for n in range(draws)]
        values = _in_fork(partial(_values, lesson, sources, varies, edits))
        if isinstance(values, str):
            return values
        for number, each in enumerate(values):
            if isinstance(each, str):
                return f"{name}: the solution raises {each} in draw {number}"
        try:
            texts = [
                varies.text(e | varies.expecting(loads(v)))
                for e, v in zip(edits, map(_bytes, values), strict=True)
            ]
        except ValueError as error:
            return f"{name}: the solution gives no plain value for {error}"
        cells[name] = [split(text, name) for text in texts]
    written = {name: split(text, name) for name, text in sources.items()}
    found = {
        sentence: _in_forks(partial(_failed, lesson, code, written, cells, draws))
        for sentence, code in {SOLUTION: lesson.solutions[exercise], **codes}.items()
    }
    for sentence, each in found.items():
        if isinstance(each, str):
            return f"{sentence!r}: {each}"
    seconds = {
        name: [found[SOLUTION]["written"][name], max(found[SOLUTION]["drawn"][name])]
        for name in cells
    }
    return {"failed": {s: each["failed"] for s, each in found.items()}, "seconds": seconds}


def _bytes(value: list[int]) -> bytes:
    return bytes(value)


def _values(
    lesson: Solved, sources: dict[str, str], varies: Varying, edits: list[dict]
) -> list[Any]:
    """Return the solution's values for each draw of a cell, as bytes, or what it raised."""
    for name, text in sources.items():
        own = name == varies.name
        asked = [varies.asked(each) for each in edits] if own else []
        found: list[Any] = [{} for _ in asked]
        for number in _hidden_places(split(text, name), lesson.scope):
            for draw, blocks in enumerate(asked):
                if isinstance(found[draw], dict) and any(label for label, _ in blocks[number]):
                    values = _in_fork(partial(_evaluated, lesson, blocks[number]))
                    fine = not isinstance(values, str)
                    found[draw] = found[draw] | loads(bytes(values)) if fine else values
        if own:
            return [each if isinstance(each, str) else [*dumps(each)] for each in found]
    return []


def _evaluated(lesson: Solved, block: list[tuple[str, str]]) -> list[int]:
    values = {}
    for label, code in block:
        if label:
            values[label] = to_plain_data(eval(code, lesson.scope))
        else:
            exec(code, lesson.scope)
    return [*dumps(values)]


def _hidden_places(cell: TestCell, scope: dict[str, Any]) -> Iterator[int]:
    """Execute a cell's visible blocks; yield in the place of each hidden one, with its number."""
    count = 0
    for block in cell.blocks:
        if block.hidden:
            yield count
            count += 1
        else:
            list(run_cell(TestCell(cell.name, 0.0, (block,)), scope))


def _failed(
    lesson: Solved,
    code: str,
    written: dict[str, TestCell],
    cells: dict[str, list[TestCell]],
    draws: int,
    apart: bool,
) -> dict[str, Any]:
    """Return the labels that fail in each draw, and the CPU seconds of cells' hidden blocks."""
    exec(compile(code, "entry", "exec"), lesson.scope)
    failed: list[list[str]] = [[] for _ in range(draws)]
    first, later = {}, {}
    for name, cell in written.items():
        first[name], later[name] = 0.0, [0.0] * draws
        for number in _hidden_places(cell, lesson.scope):
            labels, seconds = _in_fork(partial(_judged, cell, number, lesson.scope))
            first[name] += seconds
            if name not in cells:
                for each in failed:
                    each += labels
            others = [partial(_judged, each, number, lesson.scope) for each in cells.get(name, ())]
            if apart:
                found = [_in_fork(each) for each in others]
            else:
                found = _in_fork(partial(_all, others))
            for draw, (labels, seconds) in enumerate(found):
                failed[draw] += labels
                later[name][draw] += seconds
    return {"failed": failed, "written": first, "drawn": later}


def _judged(cell: TestCell, number: int, scope: dict[str, Any]) -> list[Any]:
    block = [block for block in cell.blocks if block.hidden][number]
    begin = time.process_time()
    cases = list(run_cell(TestCell(cell.name, 0.0, (block,)), scope))
    return [
        [case.label for case in cases if not case.passed],
        time.process_time() - begin,
    ]


def _all(finds: list[Callable[[], Any]]) -> list[Any]:
    return [find() for find in finds]


def _in_forks(find: Callable[[bool], Any]) -> Any:
    """Return what `find` does in a fork, where each draw has a fork of its own if one fails.

    Most do not, and without these forks fifty draws take little more than one.
    """
    found = _in_fork(partial(find, False))
    fine = isinstance(found, dict) and not any(found["failed"])
    return found if fine else _in_fork(partial(find, True))


def _in_fork(find: Callable[[], Any]) -> Any:
    """Return what `find` does in a fork, as JSON has it; the exception's sentence if it raises."""

    def say() -> str:
        try:
            return json.dumps(find())
        except BaseException as error:
            return json.dumps(f"{type(error).__name__}: {error}")

    answer = said_by_fork(say)
    return json.loads(answer) if answer else "its process ended"


# ── the command ──────────────────────────────────────────────────────────────────────────────


def audits(lesson: str, named: list[str], draws: int = DRAWS) -> Iterator[Audit]:
    """Yield what fifty draws show of each exercise of a lesson, or of those that are named."""
    for exercise in solved(lesson).solutions:
        if not named or exercise in named:
            yield audit(lesson, exercise, draws)


def main(words: list[str]) -> int:
    """Audit these lessons, or all; return 1 if a verdict changed."""
    numbers = [word for word in words if word.isdecimal()]
    draws = next((int(word.partition("=")[2]) for word in words if "--draws=" in word), DRAWS)
    named = [word for word in words if not word.isdecimal() and not word.startswith("--")]
    flips = 0
    for lesson in [f"lesson_{number}" for number in numbers] or lessons():
        for found in audits(lesson, named, draws):
            flips += len(found.flips)
            print(f"{lesson} {found.exercise:<26}{found.cases:>4} cases vary", flush=True)
            for sentence in [*found.flips, *(found.slow if "--time" in words else [])]:
                print(f"      {sentence}", flush=True)
    print(f"{flips} verdicts change")
    return 1 if flips else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
