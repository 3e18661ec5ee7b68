"""Explain a profiler in one file by an example that is carried out: `python my_profiler.py`.

Each line that is shown is run as it stands, with the student's functions. What may not enter: a
result that is written down.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import proflab
from proflab.lesson.blas import on_threads
from proflab.standalone.measure import NEEDED

# What is run, and what is said beside it.
_LINES = (
    ("model = proflab.models.LeNet5().eval()", "a small network for images of digits"),
    ("image = proflab.ones(1, 1, 32, 32)", ""),
    ("my.count_parameters(model)", "its parameters"),
    ("my.count_flops(model, (1, 1, 32, 32))", "FLOPs of its products, for one image"),
    ("round(my.measure_latency(model, image), 2)", "ms of a forward pass"),
    ("with my.OpRecorder() as recorder: model(image)", "each operation is noted"),
    ('[e["name"] for e in my.top_operations(recorder.rows, 3)]', "those of most time"),
)


def show_example(names: dict[str, Any], unwritten: dict[str, str], file: str) -> int:
    """Print what the file is, lines with their results, and what to type next; return 0."""
    about = (names.get("__doc__") or "").split("\n\n")[:-1]  # the last part is for who edits it
    print("\n\n".join([*about, "An example in Python, carried out just now:"]))
    print(f"\n>>> import {Path(file).stem} as my, proflab")
    known: dict[str, Any] = {"proflab": proflab, "my": SimpleNamespace(**names)}
    with on_threads(1):
        for line, beside in _LINES:
            print(f">>> {line}" + f"  # {beside}" * bool(beside))
            print(_outcome(line, known, unwritten), end="")
    call = f"python {file}" if file.endswith(".py") else file
    print(f"\nA table and a page about a model:  {call} lenet5")
    print(f"All that it does:                  {call} --help")
    return 0


def _outcome(line: str, known: dict[str, Any], unwritten: dict[str, str]) -> str:
    """Run a line; return its value as Python shows it, or a sentence where it has none."""
    try:
        try:
            value = eval(line, known)
        except SyntaxError:  # a statement
            exec(line, known)
            return ""
    except Exception as error:
        asked = re.findall(r"my\.(\w+)", line)
        asked = [name for name in asked if name in unwritten or not hasattr(known["my"], name)]
        lacking = [f"{name} ({unwritten.get(name, NEEDED[name])})" for name in asked]
        needs_more = isinstance(error, NotImplementedError) and not str(error)
        if lacking or needs_more or "recorder" in line and "recorder" not in known:
            return f"not written yet: {', '.join(lacking) or 'an exercise that it needs'}\n"
        return f"{type(error).__name__}: {error}\n"
    return f"{value!r}\n"
