"""Capture a cell's outputs in nbformat's form, up to a limit of bytes.

This file is on the student's side and imports only the standard library; the grader limits again.
"""

from __future__ import annotations

import base64
import json
from typing import Any

_OVERHEAD = 100  # bytes that nbformat adds to an output, about
_CUT_NOTE = "\n… the rest of this cell's output was cut: it was longer than {:,} bytes\n"


class OutputCapture:
    """Collects a cell's outputs in order and in nbformat's form, up to `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.outputs: list[dict] = []
        self.limit = self.left = limit
        self.clear_next = False

    def take(self) -> list[dict]:
        """Return the outputs since the last call."""
        outputs, self.outputs, self.left = self.outputs, [], self.limit
        return outputs

    def text(self, name: str, text: str) -> None:
        """Record text written to stdout or stderr."""
        self._before()
        last = self.outputs[-1] if self.outputs else {}
        if self.left < 0 or not text:
            return
        goes_on = last.get("output_type") == "stream" and last["name"] == name
        self.left -= len(text) + (0 if goes_on else _OVERHEAD)
        if self.left < 0:
            text = text[: self.left] + _CUT_NOTE.format(self.limit)
        if not goes_on:
            last = {"output_type": "stream", "name": name, "parts": []}
            self.outputs.append(last)
        last["parts"].append(text)
        # A million short texts take far more memory than their letters, which are what is limited.
        if len(last["parts"]) > 1000:
            last["parts"] = ["".join(last["parts"])]

    def rich(self, output: dict) -> None:
        """Record a display, a cell's value or an error."""
        self._before()
        if self.left < 0:
            return
        texts = [*map(str, output.get("data", {}).values()), *output.get("traceback", ())]
        self.left -= _OVERHEAD + sum(map(len, texts))
        if self.left < 0:
            note = _CUT_NOTE.format(self.limit)
            self.outputs.append({"output_type": "stream", "name": "stderr", "parts": [note]})
            return
        self.outputs.append(output)

    def _before(self) -> None:
        if self.clear_next:
            self.outputs, self.left, self.clear_next = [], self.limit, False


def join_streams(outputs: list[dict]) -> list[dict]:
    """Return recorded outputs with each stream's parts joined."""
    for output in outputs:
        if "parts" in output:
            output["text"] = "".join(output.pop("parts"))
    return outputs


class Stream:
    """A text stream that writes into an OutputCapture."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, recorder: OutputCapture) -> None:
        self.name, self.recorder = f"<{name}>", recorder
        self._kind = name

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self.recorder.text(self._kind, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("a notebook's output has no file descriptor")

    closed = False


def as_json(data: dict) -> dict:
    """Return a mime bundle as JSON: bytes as base64, other unknown types as text."""
    encode = {bytes: lambda value: base64.b64encode(value).decode()}
    plain = {key: encode.get(type(value), lambda v: v)(value) for key, value in data.items()}
    return json.loads(json.dumps(plain, default=repr))


def error_output(etype: type, evalue: BaseException, lines: list[str]) -> dict:
    """Return an exception in nbformat's form."""
    return {
        "output_type": "error",
        "ename": etype.__name__,
        "evalue": safe_str(evalue),
        "traceback": [str(line) for line in lines],
    }


def safe_str(error: BaseException) -> str:
    """Return at most 2,000 characters of `str(error)`, or a note if that raises."""
    try:
        return str(str(error))[:2000]
    except BaseException:
        return "(its message cannot be read)"
