"""Parse messages from a student's process and validate every field: size, depth, type, range.

For any bytes, the functions raise only the errors that they name and stay within `limits.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from proflab.checks.values import MAX_BYTES, NotPlainData, loads
from proflab_course.grading.limits import MAX_DEPTH, MAX_ITEMS, MAX_TEXT, MAX_VALUE, MB
from proflab_course.grading.odd_json import as_list, fit_text
from proflab_course.grading.plan import Reply

_JSON_MIME = re.compile(r"application/(.*\+)?json")
_encode, _decode = json.JSONEncoder(ensure_ascii=False).encode, json.JSONDecoder().decode
_CUT_NOTE = "\n… the rest of the output was cut: it was longer than {:,} bytes\n"


class BadReply(ValueError):
    """A malformed message; no worker of this version sends it."""


def parse_message(body: bytes) -> dict:
    """Return the JSON object in `body`; raise BadReply for anything else."""
    if _too_many_items(body):
        raise BadReply("a reply held too many items")
    try:
        message = _decode(body.decode())
    except (ValueError, RecursionError, MemoryError):
        raise BadReply("a reply was not in the reply format") from None
    if not isinstance(message, dict):
        raise BadReply("a reply was not in the reply format")
    return message


def parse_value(blob: bytes) -> Any:
    """Return the plain data in `blob`; raise NotPlainData if it is malformed or too large."""
    return loads(_of_a_size(blob))


def unread(blob: bytes) -> bytes:
    """Return `blob`, which may be read by `loads` elsewhere; raise NotPlainData if it may not."""
    if not blob.isascii():
        raise NotPlainData("the reply is not in the reply format")
    return _of_a_size(blob)


def _of_a_size(blob: bytes) -> bytes:
    if len(blob) > MAX_VALUE or _too_many_items(blob):
        raise NotPlainData(f"the value is larger than {MAX_BYTES // MB} MB")
    return blob


def _too_many_items(body: bytes) -> bool:
    """Return True if the items in `body` would take far more memory than its bytes."""
    if len(body) <= MAX_ITEMS:
        return False
    return body.count(b"[") + body.count(b"{") + body.count(b",") > MAX_ITEMS


def read_reply(message: dict, blob: bytes, kind: str) -> Reply:
    """Return a worker's reply to a request of `kind`, every field checked."""
    seconds = _seconds(message.get("seconds"))
    outputs = [o for o in map(read_output, as_list(message.get("outputs"))) if o]
    if "raised" in message:
        names = [fit_text(name, 200) for name in as_list(message["raised"])[:20]] or ["Exception"]
        lines = [fit_text(line, 4000) for line in as_list(message.get("traceback"))[:40]]
        reason = fit_text(message.get("message", ""), MAX_TEXT)
        return Reply(
            "raised", outputs, raised=names, message=reason, traceback=lines, seconds=seconds
        )
    if kind in ("cell", "setup"):
        return Reply("done", outputs, seconds=seconds)
    if "refused" in message:
        reason = fit_text(message["refused"], MAX_TEXT)
        return Reply("refused", outputs, message=reason, seconds=seconds)
    try:
        value = unread(blob) if kind == "tape" else parse_value(blob)
        return Reply("value", outputs, value=value, seconds=seconds)
    except NotPlainData as error:
        return Reply("refused", outputs, message=str(error), seconds=seconds)


def _seconds(value: Any) -> float:
    """Return a number of seconds from 0 to a day; 0 for anything else."""
    return float(value) if type(value) in (int, float) and 0 <= value <= 86_400 else 0.0


def read_output(output: Any) -> dict | None:
    """Return one output, rebuilt from the fields that nbformat knows; None for anything else."""
    if not isinstance(output, dict):
        return None
    kind = output.get("output_type")
    if kind == "stream" and output.get("name") in ("stdout", "stderr"):
        return {"output_type": kind, "name": output["name"], "text": fit_text(output.get("text"))}
    if kind == "error":
        lines = [fit_text(line) for line in as_list(output.get("traceback"))]
        names = {key: fit_text(output.get(key), MAX_TEXT) for key in ("ename", "evalue")}
        return {"output_type": kind, **names, "traceback": lines}
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), dict):
        values = {fit_text(mime, 100): value for mime, value in output["data"].items()}
        data = {
            mime: _without_surrogates(value)
            for mime, value in values.items()
            if _storable(mime, value)
        }
        rebuilt = {"output_type": kind, "data": data, "metadata": {}}
        if kind == "execute_result":
            count = output.get("execution_count")
            fine = type(count) is int and 0 <= count < 2**31
            rebuilt["execution_count"] = count if fine else None
        return rebuilt
    return None


def _storable(mime: str, value: Any) -> bool:
    """Return True if nbformat accepts a mime value: a string, or JSON for a JSON type.

    JSON that is too deep to be written again is not accepted.
    """
    if not _JSON_MIME.fullmatch(mime):
        return isinstance(value, str)
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
        if not below:
            return True
        level = below
    return False


def _without_surrogates(value: Any) -> Any:
    """Return a mime value without lone surrogates, which no file can hold."""
    if isinstance(value, str):
        return fit_text(value)
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def output_size(output: Any) -> int:
    """Return the size of an output, or a part of one, in a notebook's file, in bytes."""
    return len(_encode(output).encode("utf-8", "replace")) + 2


def cut_outputs(outputs: list[dict], most: int) -> list[dict]:
    """Return the outputs that fit into `most` bytes, with a note if others were left out."""
    kept, left = [], most
    for output in outputs:
        size = output_size(output)
        if size > left:
            note = _CUT_NOTE.format(most)
            if output["output_type"] == "stream":
                kept.append(output | {"text": start_of(output["text"], left) + note})
            else:
                kept.append({"output_type": "stream", "name": "stderr", "text": note})
            break
        left -= size
        kept.append(output)
    return kept


def start_of(string: str, most: int) -> str:
    """Return the longest tried beginning of a text that takes at most `most` bytes in a file."""
    string = string[: max(0, most)]
    while string and (size := output_size(string)) > most:
        string = string[: len(string) * most // size]  # shorter each time: most < size
    return string
