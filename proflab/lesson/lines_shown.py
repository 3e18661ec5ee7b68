"""Show the student's own lines of an exception, for `errors.py` and `race/trace.py`."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import FrameType

_MOST_FRAMES = 4  # that are shown


def lines_of(frames: list[tuple[FrameType, int]]) -> Iterator[str]:
    """Yield a line for each frame; of many, as in a recursion, the last ones.

    A comprehension or a lambda on its function's own line says nothing new, and code that `exec`
    runs has no line to show.
    """
    frames = [
        (frame, line)
        for (frame, line), before in zip(frames, [(None, 0), *frames], strict=False)
        if linecache.getline(frame.f_code.co_filename, line)
        and not (frame.f_code.co_name.startswith("<") and line == before[1])
    ]
    if len(frames) > _MOST_FRAMES:
        yield f"    … {len(frames) - _MOST_FRAMES} calls before"
    for frame, line in frames[-_MOST_FRAMES:]:
        code = frame.f_code
        where = "of this cell" if code.co_name == "<module>" else f"in {code.co_name}"
        text = linecache.getline(code.co_filename, line).strip()
        yield f"    line {line} {where}:  {text}"
