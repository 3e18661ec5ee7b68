"""Read a snapshot of a card's memory, as lesson 11's exercises take it.

`torch.cuda.memory._dump_snapshot` writes it. What may not enter: a peak.
"""

from __future__ import annotations

import io
import json
import pickle
from operator import index  # a whole number, or TypeError
from pathlib import Path
from typing import Any

from proflab.standalone.other_files import refuse_bytes
from proflab.standalone.torch_files import FOREIGN, entry, unpacked, with_before

_FREED = "free_completed"  # requested, a block is not free yet
_DUMP = "give what torch.cuda.memory._dump_snapshot writes"
_LAYERS = "/torch/nn/modules/"


def read_snapshot(path: Path) -> list[dict[str, list[dict]]]:
    """Return history and segments of each card of a snapshot; a history begins with what was there.

    A pickle may hold plain values only: one that would run code is refused. JSON is read, too.
    Raises ValueError with a sentence for what is no such file.
    """
    data = unpacked(path)
    refuse_bytes(path, data, _DUMP)
    try:
        is_text = data.lstrip()[:1] in (b"{", b"[")  # torch's traces begin with a space
        plain = _Plain(io.BytesIO(data))
        snapshot = json.loads(data.decode(errors="replace")) if is_text else plain.load()
        if not (isinstance(snapshot, dict) and {"segments", "device_traces"} <= snapshot.keys()):
            raise ValueError(f"{path} is no snapshot of a card's memory: {_kind(snapshot)}")
        return [
            _card(entries, [s for s in snapshot["segments"] if s.get("device", 0) == card])
            for card, entries in enumerate(snapshot["device_traces"])
        ]
    except (pickle.UnpicklingError, KeyError, TypeError, AttributeError) as error:
        lacks = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is no snapshot of a card's memory: {lacks}; {_DUMP}") from None
    except (json.JSONDecodeError, EOFError, IndexError, MemoryError, RecursionError):
        raise ValueError(f"{path} is cut off or no pickle: {_DUMP}") from None


def _kind(content: Any) -> str:
    """Return what else a file is, as far as that is known, and what to give."""
    if isinstance(content, dict) and "traceEvents" in content:
        return "it is a trace, for which there is the command trace"
    return f'it has no "segments" and "device_traces"; {_DUMP}'


class _Plain(pickle.Unpickler):
    """Reads a pickle of lists, dicts, texts and numbers; what names code is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it would run {module}.{name}")


def _card(entries: list[dict], segments: list[dict]) -> dict[str, list[dict]]:
    history = [_step(e) for e in entries if e["action"] in ("alloc", _FREED)]
    live: set[int] = set()
    for step in history:
        (live.add if step["action"] == "alloc" else live.discard)(step["addr"])
    blocks = _in_use(segments)
    older = {address: size for address, size in blocks.items() if address not in live}
    for segment in segments:
        index(segment["total_size"])
    return {"history": with_before(history, 0, older), "segments": segments}


def _in_use(segments: list[dict]) -> dict[int, int]:
    """Return address → size of the blocks that were in use when the snapshot was taken."""
    found = {}
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                found[block.get("address", address)] = index(block["size"])
            address += block["size"]
    return found


def _step(item: dict) -> dict:
    sign = 1 if item["action"] == "alloc" else -1
    return entry(item["addr"], sign * index(item["size"]), _own_frame(item.get("frames") or []))


def _own_frame(frames: list[dict]) -> str:
    """Return the innermost line of the program and the layer below it; else the innermost frame."""
    layer = ""
    for frame in frames:
        place = frame["filename"].replace("\\", "/")
        if _LAYERS in place and frame["name"] == "forward" and not layer:
            layer = f", in nn/{place.rpartition('/')[2].removesuffix('.py')}"
        if place.endswith(".py") and not any(part in place for part in FOREIGN):
            return f"{frame['name']}, {place.rpartition('/')[2]} line {frame['line']}{layer}"
    return (frames[0]["name"] if frames else "unknown") + layer
