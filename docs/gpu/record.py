"""Measures a card with lesson 10's device cells, saves the document, compares it with data sheets.

    python docs/gpu/record.py [-o recorded.json]

Needs a CUDA device, CuPy and torch; nvidia-ml-py for clock, power and temperature. It takes a few
minutes and ends with 1 if rows are missing. A notebook takes the document in place of the
constructed one if it lies beside it as recorded.json; docs/instructors.md says how to ship it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from solved import measures, solved

from proflab.lesson.cuda import Record, print_ratios
from proflab.lesson.cuda import device as devices
from proflab.lesson.cuda.document import load


def record(path: Path, find: Callable = devices.find) -> int:
    """Run every device cell, save, print the ratios and what is invalid.

    Returns 0, or 1 where there is no device, a library is missing, or a cell failed: the rows of
    the others are saved all the same.
    """
    try:
        gpu = find()
        _ = gpu.cupy, gpu.torch
    except (devices.NoDevice, devices.MissingTool) as error:
        print(f"nothing is recorded: {error}", file=sys.stderr)
        return 1
    scope, made, failed = solved(), Record(path, find=lambda: gpu), {}
    for kind, measure in measures(scope).items():
        try:
            made.measure(kind, measure)
        except Exception as error:  # out of memory, say
            failed[kind] = f"{type(error).__name__}: {error}"
            print(f"no {kind} rows: {failed[kind]}", file=sys.stderr)
    made.document["command"] = "python docs/gpu/record.py"
    made.save(path)
    if failed:
        print(f"{path} is not complete: {', '.join(failed)} rows are missing", file=sys.stderr)
        return 1
    report(scope, load(path))
    return 0


def report(scope: dict, document: dict) -> None:
    """Print a document's roofs beside the data sheet, and the trials that are invalid."""
    if document["constructed"]:
        print("This document is constructed: its ratios only show what was assumed.")
    print_ratios(document, scope["ceilings"](document))
    for text in scope["gpu_mistakes"](document):
        print(f"invalid: {text}")


def main() -> int:
    """Record, or with --report show what a document holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("recorded.json"))
    parser.add_argument("--report", type=Path, metavar="DOCUMENT", help="measure nothing")
    arguments = parser.parse_args()
    if arguments.report:
        report(solved(), load(arguments.report))
        return 0
    return record(arguments.output)


if __name__ == "__main__":
    raise SystemExit(main())
