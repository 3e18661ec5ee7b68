"""The command line of a profiler in one file: `python my_profiler.py gpt2-small`.

It asks the student's own functions for everything that is counted or measured, prints a table, and
writes a page; in the place of a model it takes `compare` and `gate`, for two commands, `lines`, for
one program, `trace` and `memory`, for what torch writes, and `table`, for a model of torch. It may
travel inside the file (see `assemble/bundle.py`), so what may enter: Python, numpy, the engine, and
what of `lesson/` needs no more. What may not enter: a formula.
"""

from proflab.standalone.cli import main

__all__ = ["main"]
