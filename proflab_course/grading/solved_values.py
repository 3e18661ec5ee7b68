"""Ask the lesson's own solution what drawn cases are worth, in a process without student code.

The solved notebook is executed as a hand-in is. Where a hidden block of it stands, each set of
drawn inputs gets a fork of the process, which executes the block's set-up and returns its values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from proflab_course.course.test_cells import Step
from proflab_course.grading.answer_key import Key
from proflab_course.grading.grade_notebook import is_executed
from proflab_course.grading.limits import Limits
from proflab_course.grading.match_cells import Slot
from proflab_course.grading.plan import Plan, Reply, RunBlock, RunCell, Submission
from proflab_course.grading.run.student_files import gather_files
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

Asked = Sequence[Sequence[tuple[str, str]]]  # of a test cell, as Varying.asked returns it
Name = tuple[str, str]  # who, and the test cell
Values = dict[str, Any] | str  # of a cell's cases by label, or why there are none

_FILE = "proflab_drawn.json"
_SECONDS = 3_600.0  # a session may take so long: it is the course's own code
_SETUP = f"""
def _proflab_drawn(number):
    import json, os
    from proflab.checks.values import dumps, loads, to_plain_data
    with open({_FILE!r}, encoding="utf-8") as file:
        asked = json.load(file)[number]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            scope, found = globals(), {{}}
            for label, code in asked:
                if label:
                    found[label] = to_plain_data(eval(compile(code, label, "eval"), scope))
                else:
                    exec(compile(code, "set-up", "exec"), scope)
            data = dumps(found)
        except BaseException as error:
            data = dumps(f"{{type(error).__name__}}: {{error}}")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(data)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return loads(data) if data else "its process ended"
"""


def solved_values(key: Key, support: Path, asked: Mapping[Name, Asked]) -> dict[Name, Values]:
    """Return the solution's values for what each `who` is asked in each test cell.

    support: the lesson's folder in source/.
    """
    plan: list[RunCell | RunBlock] = [RunCell(_SETUP, given=True)]
    questions: list[list[tuple[str, str]]] = []
    places: dict[int, Name] = {}
    for cell, text in zip(key.cells, key.solved, strict=True):
        slot = Slot(NotebookNode(cell.master, source=text), cell if cell.grade_id else None)
        if not is_executed(slot, full=False):
            continue
        if cell.kind != "test":
            plan.append(RunCell(text, given=True))
            continue
        hidden = 0
        for block in key.tests[cell.grade_id].blocks:
            if not block.hidden:
                plan.append(RunBlock(False, block.steps, block.doubles))
                continue
            for name, blocks in asked.items():
                if name[1] == cell.grade_id and any(label for label, _ in blocks[hidden]):
                    step = Step("value", f"_proflab_drawn({len(questions)})")
                    places[len(plan)] = name
                    questions.append(list(blocks[hidden]))
                    plan.append(RunBlock(False, (step,)))
            hidden += 1
    files = gather_files(Submission("", None, support))
    files[_FILE] = json.dumps(questions).encode()
    result = _runner().run(Submission(f"{key.name}, solved", files=files), _timeless(plan))
    found: dict[Name, Values] = {}
    for place, name in places.items():
        values = _value(result.replies[place][0])
        earlier = found.get(name, {})
        both = isinstance(earlier, dict) and isinstance(values, dict)
        found[name] = earlier | values if both else values if isinstance(values, str) else earlier
    return found


def _value(reply: Reply) -> Values:
    if reply.state == "value":
        return reply.value
    return ": ".join(filter(None, [*reply.raised[:1], reply.message])) or "nothing came back"


def _timeless(plan: list[RunCell | RunBlock]) -> Plan:
    return tuple(replace(item, seconds=0.0) for item in plan)


def _runner() -> SubprocessRunner:
    limits = Limits()
    return SubprocessRunner(
        replace(limits, statement_seconds=limits.cell_seconds, notebook_seconds=_SECONDS)
    )
