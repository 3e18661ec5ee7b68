"""Draws the pictures of lesson 05 into its folder.

    python docs/pictures/lesson_05.py

The picture at the top is the lesson's own: its cell `demo_timeline` is run with the lesson's
solutions, and the fastest of several passes is drawn, which other programs disturbed least.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import jupytext

from proflab.lesson import plot
from proflab_course.assemble.collect import collect
from proflab_course.assemble.command import read_folder, render

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
MODULES = Path(__file__).parents[2] / "modules"
FOLDER = MODULES / "05_profiler"
PASSES = 12


def timeline():
    """A forward and a backward pass, as the lesson draws it."""
    built, scope = types.ModuleType("built"), {}
    exec(render(collect(read_folder(MODULES, "4")), "built"), vars(built))
    sys.modules["built"] = built
    sys.path.insert(0, str(FOLDER))  # where `import demos` finds the lesson's own
    sys.modules.pop("demos", None)  # it may be that of another lesson
    for cell in jupytext.read(FOLDER / "05_profiler.py").cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade_id") == "demo_timeline":
            code, passes = cell.source, []
            exec(code[: code.index("with OpRecorder")], scope)
            for _ in range(PASSES):
                exec(code[code.index("with OpRecorder") : code.index("largest =")], scope)
                passes.append(scope["recorder"].rows)
            scope["recorder"].rows = min(passes, key=lambda rows: rows[-1]["start_ms"])
            return eval(code[code.rindex("demos.") :], scope)
        graded, demo = nbgrader.get("grade"), "demo" in cell.metadata.get("tags", [])
        if cell.cell_type == "code" and not graded and not demo:
            exec(cell.source, scope)
    raise SystemExit("the lesson has no cell demo_timeline")


def nest():
    """Two times of what runs inside something: with it, and without."""
    spans = [  # depth, begin, end, name, ms, self_ms
        (0, 0, 10, "region: data loading", "ms 10, self_ms 4"),
        (1, 2, 5, "exp", "3, 3"),
        (1, 6, 9, "add", "3, 3"),
        (0, 10.6, 20, "linear", "ms 9.4, self_ms 9.4"),
    ]
    with plot.canvas(6.6, 2.0, "A region, two ops inside it, and an op after it") as (
        picture,
        axes,
    ):
        for depth, begin, end, name, times in spans:
            colour = plot.FAINT if name.startswith("region") else plot.COLOURS[4]
            axes.barh(depth, end - begin, left=begin, height=0.84, color=colour)
            middle = (begin + end) / 2
            axes.text(middle, depth - 0.02, f"{name}\n{times}", ha="center", va="center")
        for begin, end in ((0, 2), (5, 6), (9, 10)):
            axes.barh(1, end - begin, left=begin, height=0.3, color=plot.COLOURS[1])
        axes.text(5, 1.62, "orange: the region's own 4 ms", ha="center", va="center")
        axes.set(xlim=(-0.2, 20.2), ylim=(1.9, -0.5), yticks=[], xlabel="ms")
        axes.spines["left"].set_visible(False)
    return picture


def main() -> None:
    """Write both."""
    for draw in (timeline, nest):
        (FOLDER / f"{draw.__name__}.png").write_bytes(draw().png(dpi=120))


if __name__ == "__main__":
    main()
