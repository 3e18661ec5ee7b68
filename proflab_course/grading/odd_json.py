"""Read JSON of strangers, of which any part may be of another type than it should be."""

from __future__ import annotations

from typing import Any

from proflab_course.grading.limits import MAX_JSON


def as_list(value: Any) -> list:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict:
    """Return `value` if it is a dictionary, else an empty one."""
    return value if isinstance(value, dict) else {}


def fit_text(value: Any, most: int = MAX_JSON) -> str:
    """Return `value` cut at `most` characters and without lone surrogates; "" if not a string."""
    if not isinstance(value, str):
        return ""
    value = value[:most]
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def join_text(value: Any, between: str = "") -> str:
    """Return a text that may be a list of lines; empty for anything else."""
    if isinstance(value, list):
        return between.join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def marks_of(cell: Any) -> dict:
    """Return what nbgrader has written into a cell's metadata."""
    return as_dict(as_dict(as_dict(cell).get("metadata")).get("nbgrader"))
