"""Ask the lesson's own solution what drawn cases are worth, in a process without student code.

The solved notebook is executed as a hand-in is. Where a hidden block of it stands, a fork of the
process executes the block with one set of drawn inputs after the other. If the first set then has
other values than before, an object was changed, and each set gets a fork of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from proflab_course.cases.case import Step
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grade_notebook import is_executed, solved_slots
from proflab_course.grading.grader_errors import GraderFailed
from proflab_course.grading.limits import Limits
from proflab_course.grading.plan import Reply, RunBlock, RunCell, Submission
from proflab_course.grading.run.student_files import gather_files
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

Asked = Sequence[Sequence[tuple[str, str]]]  # of a test cell, as Varying.asked returns it
Name = tuple[str, str]  # who, and the test cell
Values = dict[str, Any] | str  # of a cell's cases by label, or why there are none

_FILE = "proflab_drawn.json"
# What a process says that had no room, or nothing, where its end was no fault of the solution.
_ENDED = "its process ended"
_NO_FAULT = (_ENDED, "MemoryError", "OSError: [Errno 28]")
_SECONDS = 3_600.0  # a session may take so long: it is the course's own code
# It is executed in the solved notebook, so its names are such as no lesson has.
_SETUP = f"""
def _proflab_forked(find):
    import os
    from proflab.checks.values import dumps, loads
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            data = dumps(find())
        except BaseException as error:
            data = dumps(f"{{type(error).__name__}}: {{error}}")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return loads(data) if data else {_ENDED!r}

def _proflab_drawn(number):
    import json
    from proflab.checks.values import dumps, to_plain_data
    with open({_FILE!r}, encoding="utf-8") as file:
        each_asked = json.load(file)[number]

    def values(asked):
        scope, found = globals(), {{}}
        before = dict(scope)
        for label, code in asked:
            if label:
                found[label] = to_plain_data(eval(compile(code, label, "eval"), scope))
            else:
                exec(compile(code, "set-up", "exec"), scope)
        scope.clear()
        scope.update(before)
        return found

    def one_after_the_other():
        found = [values(asked) for asked in each_asked]
        if dumps(values(each_asked[0])) != dumps(found[0]):
            raise ValueError("something was changed")
        return found

    if len(each_asked) > 1:
        found = _proflab_forked(one_after_the_other)
        if isinstance(found, list):
            return found
    return [_proflab_forked(lambda: values(asked)) for asked in each_asked]
"""


def solved_values(key: Key, support: Path, asked: Mapping[Name, Asked]) -> dict[Name, Values]:
    """Return the solution's values for what each `who` is asked in each test cell.

    support: the lesson's folder in source/. Raises GraderFailed where the process that was asked
    did not come to its end.
    """
    plan: list[RunCell | RunBlock] = [RunCell(_SETUP, given=True)]
    questions: list[list[list[tuple[str, str]]]] = []
    places: dict[int, list[Name]] = {}
    for cell, slot in zip(key.cells, solved_slots(key), strict=True):
        if not is_executed(slot, full=False):
            continue
        if cell.kind != "test":
            plan.append(RunCell(slot.cell.source, given=True))
            continue
        hidden = 0
        for block in key.tests[cell.grade_id].blocks:
            if not block.hidden:
                plan.append(RunBlock(False, block.steps, block.doubles))
                continue
            names = [name for name in asked if name[1] == cell.grade_id]
            if names and any(label for label, _ in asked[names[0]][hidden]):
                step = Step("value", f"_proflab_drawn({len(questions)})")
                places[len(plan)] = names
                questions.append([list(asked[name][hidden]) for name in names])
                plan.append(RunBlock(False, (step,)))
            hidden += 1
    files = gather_files(Submission("", None, support))
    files[_FILE] = json.dumps(questions).encode()
    timeless = tuple(replace(item, seconds=0.0) for item in plan)
    limits = Limits(statement_seconds=_SECONDS, cell_seconds=_SECONDS, notebook_seconds=_SECONDS)
    result = SubprocessRunner(limits).run(Submission(f"{key.name}, solved", files=files), timeless)
    found: dict[Name, Values] = {}
    for place, names in places.items():
        for name, values in zip(names, _each(result.replies[place][0], len(names)), strict=True):
            earlier = found.get(name, {})
            if isinstance(earlier, dict) and isinstance(values, dict):
                found[name] = earlier | values
            else:
                found[name] = next(each for each in (earlier, values) if isinstance(each, str))
    return found


def _each(reply: Reply, count: int) -> list[Values]:
    """Return the values for each draw; raise GraderFailed where the process did not live to say."""
    if reply.state == "lost":
        raise GraderFailed(f"the solution's values were not worked out: {reply.message}")
    if reply.state == "value":
        if any(isinstance(each, str) and each.startswith(_NO_FAULT) for each in reply.value):
            raise GraderFailed("the solution's values were not worked out: a process ended")
        return reply.value
    why = ": ".join(filter(None, [*reply.raised[:1], reply.message])) or "nothing came back"
    return [why] * count
