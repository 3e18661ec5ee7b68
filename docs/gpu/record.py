"""Measures a card with a GPU lesson's device cells, saves the document, and says what is in it.

    python docs/gpu/record.py [--lesson 10] [-o recorded.json]
    python docs/gpu/record.py --processor -o modules/11_gpu_training/cpu_train.json
    python docs/gpu/record.py --processor --lab -o modules/11_gpu_training/cpu_lab.json

Needs a CUDA device and torch; lesson 10 CuPy, too; nvidia-ml-py for clock, power and temperature.
With --processor it measures what lesson 11 shows of a processor, which needs torch alone; with
--processor --lab only the seven parts of its lab and the modes of torch.compile, which need a C++
compiler, too.
It takes a few minutes and ends with 1 if rows are missing. A notebook takes the document in place
of the constructed one if it lies beside it as recorded.json; docs/instructors.md says how to ship
it. Lesson 11's part has run on a processor, in tests, and on no card yet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from solved import ROOFLINE, TRAINING, measures, solved

from proflab.lesson.cuda import Record, print_ratios
from proflab.lesson.cuda import device as devices

NOTE = (
    "Measured with torch on a processor that other programs used, too; of the steps and of the "
    "loader's rates the fastest of several rounds."
)
LAB_NOTE = (
    "Measured with torch and the small network of train.py on a processor that other programs "
    "used, too. The parts took turns with those that they are compared with; the modes of "
    "torch.compile came one after the other, each with what torch had kept of those before."
)
LAB = ("step", "compile")
FORMS = {"10": ROOFLINE, "11": TRAINING}


def record(
    path: Path,
    find: Callable = devices.find,
    lesson: str = "10",
    cells: str = "record",
    lab: bool = False,
) -> int:
    """Run every device cell, save, and report what was measured and what is invalid.

    cells: the name of the record in the lesson's cells, "anywhere" for what a processor can do.
    lab: measure LAB, which the lesson's cells measure on a card alone.
    Returns 0, or 1 where there is no device, a library is missing, or a cell failed: the rows of
    the others are saved all the same.
    """
    try:
        gpu = find()
        _ = (gpu.cupy, gpu.torch) if lesson == "10" else gpu.torch
    except (devices.NoDevice, devices.MissingTool) as error:
        print(f"nothing is recorded: {error}", file=sys.stderr)
        return 1
    form = FORMS[lesson]
    scope, made, failed = solved(form.LESSON), Record(path, find=lambda: gpu, form=form), {}
    kinds = measures(scope, form.LESSON, "record" if lab else cells)
    for kind in LAB if lab else kinds:
        try:
            made.measure(kind, kinds[kind])
        except Exception as error:  # out of memory, say
            failed[kind] = f"{type(error).__name__}: {error}"
            print(f"no {kind} rows: {failed[kind]}", file=sys.stderr)
    how = "--processor" if cells == "anywhere" else f"--lesson {lesson}"
    how += " --lab" if lab else ""
    made.document["command"] = f"python docs/gpu/record.py {how}"
    if cells == "anywhere":
        made.document["note"] = LAB_NOTE if lab else NOTE
    made.save(path)
    if failed:
        print(f"{path} is not complete: {', '.join(failed)} rows are missing", file=sys.stderr)
        return 1
    REPORTS[lesson](scope, form.load(path))
    return 0


def report(scope: dict, document: dict) -> None:
    """Print a document's roofs beside the data sheet, and the trials that are invalid."""
    if document["constructed"]:
        print("This document is constructed: its ratios only show what was assumed.")
    print_ratios(document, scope["ceilings"](document))
    for text in scope["gpu_mistakes"](document):
        print(f"invalid: {text}")


def report_training(scope: dict, document: dict) -> None:
    """Print how busy the card was in each trace, and what each part of the lab gave."""
    if document["constructed"]:
        print("This document is constructed: its figures only show what was assumed.")
    for row in document["rows"].get("trace", []):
        found = scope["gpu_busy"](row["trace"]["traceEvents"])
        share = found["busy"] / (found["busy"] + found["idle"])
        print(f"{row['name']}: a kernel runs for {share:.0%} of the time")
    rows = document["rows"].get("step", [])
    for row in scope["step_report"](rows) if len(rows) > 1 else []:
        print(f"{row['name']}: {row['images_per_s']:.0f} images/s, {row['total']:.2f} times")


REPORTS = {"10": report, "11": report_training}


def main() -> int:
    """Record, or with --report show what a document holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lesson", choices=FORMS, default="10")
    parser.add_argument("-o", "--output", type=Path, default=Path("recorded.json"))
    parser.add_argument("--report", type=Path, metavar="DOCUMENT", help="measure nothing")
    parser.add_argument("--processor", action="store_true", help="measure it, for lesson 11")
    parser.add_argument("--lab", action="store_true", help="with --processor: the parts of the lab")
    given = parser.parse_args()
    if given.lab and not given.processor:
        parser.error("--lab is of a processor: say --processor, too")
    if given.processor:
        return record(given.output, devices.find_processor, "11", "anywhere", given.lab)
    if given.report:
        form = FORMS[given.lesson]
        REPORTS[given.lesson](solved(form.LESSON), form.load(given.report))
        return 0
    return record(given.output, lesson=given.lesson)


if __name__ == "__main__":
    raise SystemExit(main())
