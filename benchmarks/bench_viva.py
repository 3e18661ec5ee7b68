"""Count the questions that `proflab viva` finds for the cohort's hand-ins, and try their keys.

    python benchmarks/bench_viva.py [01 07 …] [--hand-ins 6] [--list]

A hand-in is a lesson with all exercises replaced by the cohort's k-th unusual right solution, or by
the k-th wrong one; the first is the lesson itself. Of each exercise up to two questions of a kind
are verified as a sheet's are, and then all of them are run a third time, in processes of their own.
The table has the exercises with three questions or more for every right hand-in, the sheets
(hand-in × exercise) with as many, keys that did not hold then, and the seconds of a whole sheet.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT), str(ROOT / "tests")]

from cohort.run import entries  # noqa: E402
from record import recording  # noqa: E402

from proflab_classroom.viva.command import Lesson, fill  # noqa: E402
from proflab_classroom.viva.entries import whole_code  # noqa: E402
from proflab_classroom.viva.execute import Notebook, Sandbox  # noqa: E402
from proflab_classroom.viva.questions import Draws  # noqa: E402
from proflab_classroom.viva.sheet import Candidates, Sheet  # noqa: E402
from proflab_course.course.layout import Course  # noqa: E402
from proflab_course.grading.answer_key import read_key  # noqa: E402

KINDS = ("value", "tell", "change")
OF_A_KIND, ENOUGH, RIGHT = 2, 3, 4


@dataclass
class Figures:
    """Hold what was found for one lesson."""

    found: dict[str, list[int]] = field(default_factory=dict)
    kinds: dict[str, list[Counter[str]]] = field(default_factory=dict)
    questions: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    right: int = 0

    @property
    def covered(self) -> list[str]:
        """The exercises with enough questions for every right hand-in."""
        return [name for name, n in self.found.items() if min(n[: self.right]) >= ENOUGH]


def hand_ins(lesson: Lesson, most: int) -> list[tuple[Notebook, dict[str, str]]]:
    """Return notebooks with the code of each exercise: right ones first."""
    number = f"lesson_{lesson.key.name[:2]}"
    found = []
    for k in range(most):
        kind, place = ("ALTERNATES", k - 1) if k < RIGHT else ("MUTANTS", k - RIGHT)
        cells = dict(lesson.solutions)
        if k:
            for name, made in entries(number, kind).items():
                if name in lesson.points and place < len(made):
                    code = list(made.values())[place]
                    cells[name] = whole_code(name, code, lesson.solutions[name])
        # As in the cohort, entries and their helpers come after all that the lesson defines.
        written = [cells[name] for name in lesson.points] if k else []
        texts = [*lesson.solved.cells, helpers(lesson), *written]
        notebook = Notebook(tuple(texts), lesson.solved.submission)
        found.append((notebook, {name: cells[name] for name in lesson.points}))
    return found


def helpers(lesson: Lesson) -> str:
    """Return the code that all entries of a lesson's cohort may use."""
    module = importlib.import_module(f"cohort.lesson_{lesson.key.name[:2]}")
    return getattr(module, "HELPERS", "")


def measured(lesson: Lesson, sandbox: Sandbox, most: int, listed: bool = False) -> Figures:
    """Return the figures of a lesson."""
    figures = Figures(right=min(RIGHT, most))
    known = lesson.all_known(sandbox)
    for k, (notebook, cells) in enumerate(hand_ins(lesson, most)):
        draws = Draws(bytes(32), ("viva", "1", f"hand-in {k}", lesson.key.name))
        start = time.perf_counter()
        sheet = Sheet(f"hand-in {k}", lesson.key.name)
        fill(sheet, lesson, sandbox, notebook, cells, known, draws)
        figures.seconds.append(time.perf_counter() - start)
        figures.own.append(len(sheet.questions))
        together = Candidates(sandbox, notebook, cells, known, draws)
        together.run_own()
        together.change_lines(together.working)
        for name in cells:
            candidates = together
            if name not in together.working:  # another entry is in its way: alone
                texts = (*lesson.solved.cells, helpers(lesson), cells[name])
                alone = Notebook(texts, lesson.solved.submission)
                candidates = Candidates(sandbox, alone, {name: cells[name]}, known, draws)
                candidates.run_own()
            fit = [q for kind in KINDS for q in candidates.of(name, kind)[:OF_A_KIND]]
            holds = candidates.verified(fit) if fit else []
            good = [q for q, fine in zip(fit, holds, strict=True) if fine]
            again = candidates.verified(good) if good else []
            figures.wrong += [
                f"{q.kind} {name}: {q.stem}"
                for q, fine in zip(good, again, strict=True)
                if not fine
            ]
            figures.kinds.setdefault(name, []).append(Counter(q.kind for q in good))
            figures.questions += len(good)
            figures.found.setdefault(name, []).append(len(good))
    if listed:
        for name, numbers in figures.found.items():
            kinds = figures.kinds[name][0]
            few = "  FEW" if name not in figures.covered else ""
            told = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
            print(f"    {name:28} {numbers}  first: {told}; {len(known[name].inputs)} inputs{few}")
    return figures


def main() -> None:
    """Print a row for each lesson, and the sum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", nargs="*")
    parser.add_argument("--hand-ins", type=int, default=6)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    course = Course(ROOT)
    names = [course.lesson(n, "source") for n in arguments.lessons] or course.lessons("source")
    print("lesson  exercises  ≥ 3 each time  sheets ≥ 3  questions  wrong  s a hand-in  s in all")
    total = [0] * 6
    with Sandbox() as sandbox:
        for name in names:
            start = time.perf_counter()
            lesson = Lesson(course, read_key(course.source(name)))
            figures = measured(lesson, sandbox, arguments.hand_ins, arguments.list)
            sheets = [n >= ENOUGH for numbers in figures.found.values() for n in numbers]
            row = [len(figures.found), len(figures.covered), sum(sheets), len(sheets),
                   figures.questions, len(figures.wrong)]  # fmt: skip
            total = [a + b for a, b in zip(total, row, strict=True)]
            typical = sorted(figures.seconds)[len(figures.seconds) // 2]
            print(
                f"{name[:2]}      {row[0]:9}  {row[1]:13}  {row[2]:4} of {row[3]:3}  {row[4]:9}  "
                f"{row[5]:5}  {typical:11.1f}  {time.perf_counter() - start:8.0f}",
                flush=True,
            )
            for wrong in figures.wrong:
                print(f"    WRONG {wrong}")
    share = total[1] / total[0] if total[0] else 0.0
    print(
        f"sum     {total[0]:9}  {total[1]:13}  {total[2]:4} of {total[3]:3}  {total[4]:9}  "
        f"{total[5]:5}  {share:.0%} of the exercises"
    )


if __name__ == "__main__":
    with recording(__file__, "Questions about students' own functions"):
        main()
