"""A profiler that samples: it looks from time to time, and leaves the program alone."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any


def sampled(function: Callable[[], Any], interval_ms: float = 1.0) -> Counter[str]:
    """Run function() while a thread looks every interval what runs: {"file.py:12(name)": times}.

    It looks at this thread's innermost Python function. Raises what function() raises.
    """
    main, seen, done = threading.get_ident(), Counter(), threading.Event()

    def look() -> None:
        while not done.wait(interval_ms / 1000):
            code = sys._current_frames()[main].f_code
            seen[f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}({code.co_name})"] += 1

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return seen


def repeated(function: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return a function that calls function() so many times."""

    def run() -> None:
        for _ in range(times):
            function()

    return run
