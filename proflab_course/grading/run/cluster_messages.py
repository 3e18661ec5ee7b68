"""Define the messages between grader and Dask workers: JSON of a fixed form, never pickle.

A task contains the plan, the hand-in's files and the limits. The plan contains code, and the
scripts of doubles, which never enter the student's process. An answer contains replies as plain
data; it is validated like a message from a student's process.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any

from proflab.checks.values import dumps, loads
from proflab_course.cases.case import Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.grading.limits import Limits
from proflab_course.grading.odd_json import as_list, fit_text
from proflab_course.grading.plan import (
    Isolation,
    Plan,
    Reply,
    Result,
    RunBlock,
    RunCell,
    statements,
)
from proflab_course.grading.run.replies import read_reply

_ABOUT = ("status", "sentence", "hit_wall", "place", "hidden_sent")
# Those of a Result; a worker may be anybody's machine, and answer with any other.
_STATUSES = ("finished", "timed out", "out of memory", "process died", "tampered")


class BadCrossing(ValueError):
    """Malformed message, or one from another version of ProfLab."""


@dataclass(frozen=True)
class Task:
    """A task as it is sent; harness: fingerprint of the package that has to carry it out."""

    plan: Plan
    files: dict[str, bytes]
    limits: Limits
    isolation: Isolation
    harness: str


@dataclass(frozen=True)
class Refusal:
    """The reason why a machine carries out no task; where: its address."""

    where: str
    sentence: str


def pack_task(task: Task) -> bytes:
    """Return the bytes of a task."""
    files = {path: base64.b64encode(data).decode() for path, data in task.files.items()}
    plan = [_pack_item(item) for item in task.plan]
    packed = {"plan": plan, "files": files, "limits": asdict(task.limits)}
    return json.dumps(packed | {"isolation": task.isolation, "harness": task.harness}).encode()


def _pack_item(item: RunCell | RunBlock) -> Any:
    if isinstance(item, RunCell):
        return [item.code, item.seconds, item.given]
    steps = [[step.kind, step.code] for step in item.steps]
    doubles = [
        [place, double.name, double.kind, dumps(double.given).decode(), double.of]
        for place, double in item.doubles
    ]
    about = {
        "hidden": item.hidden, "cell": item.cell, "late": item.late, "seconds": item.seconds
    }  # fmt: skip
    return about | {"steps": steps, "doubles": doubles}


def _unpack_item(item: Any) -> RunCell | RunBlock:
    if isinstance(item, list):
        return RunCell(*item)
    doubles = (
        (place, DoubleSpec(name, kind, loads(given.encode()), of))
        for place, name, kind, given, of in item["doubles"]
    )
    steps = tuple(Step(*step) for step in item["steps"])
    about = item["hidden"], steps, tuple(doubles), item["cell"]
    return RunBlock(*about, late=item["late"], seconds=item["seconds"])


def unpack_task(data: bytes) -> Task:
    """Return the task in `data`, which is trusted: it comes from a grader."""
    packed = json.loads(data)
    plan = map(_unpack_item, packed["plan"])
    files = {path: base64.b64decode(data) for path, data in packed["files"].items()}
    limits = Limits(**packed["limits"])
    return Task(tuple(plan), files, limits, packed["isolation"], packed["harness"])


def pack_refusal(refusal: Refusal) -> bytes:
    """Return the bytes of a refusal."""
    return json.dumps({"where": refusal.where, "refused": refusal.sentence}).encode()


def pack_result(result: Result) -> bytes:
    """Return the bytes of a result."""
    replies = [[_pack_reply(reply) for reply in item] for item in result.replies]
    packed = {name: getattr(result, name) for name in _ABOUT}
    return json.dumps(packed | {"replies": replies}).encode()


def _pack_reply(reply: Reply) -> dict:
    """Return a reply as JSON, with only the fields of its state."""
    packed: dict[str, Any] = {"outputs": reply.outputs, "seconds": reply.seconds}
    match reply.state:
        case "value":
            unread = isinstance(reply.value, bytes)
            packed["value"] = (reply.value if unread else dumps(reply.value)).decode()
        case "raised":
            packed |= {"raised": reply.raised, "message": reply.message}
            packed["traceback"] = reply.traceback
        case "refused" | "lost":
            packed[reply.state] = reply.message
    return packed


def unpack_answer(data: Any, plan: Plan) -> Result | Refusal:
    """Return the result of `plan`, or the refusal, in `data`; raise BadCrossing."""
    try:
        packed = json.loads(data)
        if "refused" in packed:
            return Refusal(fit_text(packed["where"], 200), fit_text(packed["refused"], 2000))
        status, replies, place = packed["status"], packed["replies"], packed["place"]
        if status not in _STATUSES or len(replies) != len(plan):
            raise BadCrossing("a result of another plan came back")
        if place is not None and place not in range(len(plan)):
            raise BadCrossing("a result of another plan came back")
        return Result(
            status,
            fit_text(packed["sentence"], 2000),
            [_unpack_replies(*pair) for pair in zip(replies, plan, strict=True)],
            packed["hit_wall"] is True,
            place=place,
            hidden_sent=packed["hidden_sent"] is True,
        )
    except BadCrossing:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BadCrossing(f"no result came back ({type(error).__name__})") from None


def _unpack_replies(packed: Any, item: RunCell | RunBlock) -> list[Reply]:
    kinds = [kind for kind, _ in statements(item)]
    if len(as_list(packed)) != len(kinds):
        raise BadCrossing("a result of another plan came back")
    return [_unpack_reply(*pair) for pair in zip(packed, kinds, strict=True)]


def _unpack_reply(packed: dict, kind: str) -> Reply:
    """Return a reply to a statement of `kind`, every field checked."""
    if "lost" in packed:
        return Reply("lost", message=fit_text(packed["lost"], 2000))
    return read_reply(packed, fit_text(packed.get("value")).encode(), kind)
