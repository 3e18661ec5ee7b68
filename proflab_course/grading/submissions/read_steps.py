"""Read the times of a work log in the outputs of a handed-in notebook, without trusting them.

`log.step` (`proflab/lesson/race/log.py`) measures two programs once and keeps the pairs in its
cell's output. They go along with the hand-in as the file that `log.step` looks for, so that grading
shows the student's own times and does not measure again. Only digests and numbers are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from proflab.lesson.kernel_record import output_data
from proflab.lesson.race.log import MIME
from proflab.lesson.race.steps import MOST_STEPS, PAIRS

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_OUTPUTS, _LARGEST = 200, 1e12


def read_steps(cells: Iterable[Any]) -> bytes:
    """Return the file's lines, of the steps in a notebook's outputs (as JSON); no more than fit.

    Anything else is left out, and no content of the cells raises an exception.
    """
    found: dict[str, str] = {}
    for record in output_data(cells, MIME, _MOST_OUTPUTS):
        digest, times = record.get("digest"), [record.get("before"), record.get("after")]
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            continue
        if all(map(_are_times, times)) and len(found) < 2 * MOST_STEPS:
            line = {"digest": digest, "before": times[0], "after": times[1]}
            found[digest] = json.dumps(line)
    return "".join(f"{line}\n" for line in found.values()).encode()


def _are_times(value: Any) -> bool:
    pairs = isinstance(value, list) and len(value) == PAIRS
    return pairs and all(type(ms) is float and 0 < ms < _LARGEST for ms in value)
