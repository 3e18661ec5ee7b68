"""Records what line_profiler prints of GPT-2's attention, for lesson 05 to show.

    pip install line_profiler && python docs/record_line_profiler.py

It is no dependency: the lesson shows the recorded text, which says with what it was made.
"""

from __future__ import annotations

import io
import os
import platform
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # so that other work disturbs less

from proflab import example_input, models, no_grad  # noqa: E402
from proflab.models.transformers import SelfAttention  # noqa: E402

TARGET = Path(__file__).parents[1] / "modules" / "05_profiler" / "line_profiler.txt"
TOKENS, PASSES = 512, 20


def main() -> None:
    """Profile the lines of SelfAttention.forward, and write what was printed."""
    from line_profiler import LineProfiler

    model = models.GPT2(layers=1)
    tokens = example_input(model, (1, TOKENS))
    profiler = LineProfiler(SelfAttention.forward)
    with no_grad():
        model(tokens)
        with profiler:
            for _ in range(PASSES):
                model(tokens)
    printed = io.StringIO()
    profiler.print_stats(printed, output_unit=1e-3, stripzeros=True)
    lines = printed.getvalue().rstrip().splitlines()
    kept = [line.rstrip() for line in lines]
    kept = [line for line in kept if not line.startswith("File:")]  # a path of this computer
    head = (
        f"Recorded: line_profiler {version('line_profiler')}, Python {platform.python_version()}, "
        f"{PASSES} passes of {TOKENS} tokens through a block of GPT-2 small."
    )
    TARGET.write_text("\n".join([head, "", *kept]).replace("\n\n\n", "\n\n") + "\n", "utf-8")


if __name__ == "__main__":
    main()
