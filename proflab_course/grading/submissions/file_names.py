"""Tell from a file's name and content whether it may be a notebook, and which files fit first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from proflab_course.grading.submissions.decode_text import ZIP

_SUFFIXES = (".json", ".txt", ".zip", "")  # endings that browsers and mail programs add
_CACHES = (".ipynb_checkpoints", "__MACOSX", "__pycache__")
_DOCUMENTS = (".docx", ".xlsx", ".pptx")  # which are zip archives, too


def is_notebook_name(path: str) -> bool:
    """Return True if a file has a notebook's name, with or without another ending."""
    return ".ipynb" in PurePosixPath(path).name.lower()


def may_be_notebook(path: str) -> bool:
    """Return True unless a file's name rules out a notebook."""
    return is_notebook_name(path) or PurePosixPath(path).suffix.lower() in _SUFFIXES


def may_hold_notebook(path: str, data: bytes) -> bool:
    """Return True for archives, notebooks by name, and files with a notebook's content."""
    if is_archive(path, data) or is_notebook_name(path):
        return True
    return may_be_notebook(path) and has_cells(data)


def is_archive(path: str, data: bytes) -> bool:
    """Return True for a zip archive that is not a document of an office program."""
    return data.startswith(ZIP) and not path.lower().endswith(_DOCUMENTS)


def has_cells(data: bytes) -> bool:
    """Return True if the content may be a notebook's, in any encoding."""
    return b'"cells"' in data.replace(b"\0", b"")


def is_hidden(path: str) -> bool:
    """Return True for a hidden file, and for what an editor, Python or an archiver keeps."""
    parts = PurePosixPath(path).parts
    return any(part in _CACHES or (part[:1] == "." and part != "..") for part in parts)


def fitting(sizes: Mapping[str, int], most_bytes: int, most_files: int) -> list[str]:
    """Return the paths of the files that fit together: notebooks, archives, then small files.

    sizes: of the files in bytes, by path. The paths come in the order of `sizes`.
    """
    kept: set[str] = set()
    left = most_bytes
    for path in sorted(sizes, key=lambda path: (_rank(path), sizes[path], path)):
        if sizes[path] <= left and len(kept) < most_files:
            left -= sizes[path]
            kept.add(path)
    return [path for path in sizes if path in kept]


def _rank(path: str) -> int:
    return 0 if is_notebook_name(path) else 1 if path.lower().endswith(".zip") else 2
