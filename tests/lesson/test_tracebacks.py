"""Who it is that allocated: from a traceback to the function that is the student's own."""

from __future__ import annotations

import linecache
import tracemalloc

from lesson_demos import beside

from proflab.lesson.tracebacks import function_at, own_function

fake = beside("04_memory", "memory_doubles")

TEXT = """import numpy as np
def outer():
    def inner():
        return np.full(10, 1)
    return inner()
value = 3
"""


def test_the_function_of_a_line_is_the_innermost_one():
    file = "<a test of functions>"
    linecache.cache[file] = len(TEXT), None, TEXT.splitlines(keepends=True), file
    names = [function_at(file, line) for line in range(1, 7)]
    assert names == ["<module>", "outer", "inner", "inner", "outer", "<module>"]


def test_the_own_function_is_the_innermost_outside_of_libraries():
    step = fake.LeakyStep(through_numpy={"collect": 1})
    tracemalloc.start(25)
    step()
    largest = tracemalloc.take_snapshot().statistics("traceback")[0]
    tracemalloc.stop()
    assert "numpy" in largest.traceback[-1].filename
    assert own_function(largest.traceback) == "collect"
    inside = [frame for frame in largest.traceback if "numpy" in frame.filename]
    assert own_function(inside) is None
