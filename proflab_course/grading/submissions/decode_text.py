"""Decode the bytes of a hand-in to text, or name in one sentence the other kind of file."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass

_ITSELF = "hand in the notebook itself, the .ipynb"
_PACKED = f"archive, which is not opened: {_ITSELF}, or a zip archive"
# Kinds of files that are handed in by mistake: by their first bytes, and by the ends of names.
_BEGINNINGS = (
    (b"%PDF", f"a PDF: {_ITSELF}"),
    (b"Rar!", f"a RAR {_PACKED}"),
    (b"7z\xbc\xaf\x27\x1c", f"a 7z {_PACKED}"),
    (b"\x1f\x8b", f"a gzip {_PACKED}"),
    (b"\xfd7zXZ\0", f"an xz {_PACKED}"),
    (b"BZh", f"a bzip2 {_PACKED}"),
    (b"\x89PNG", f"a picture: {_ITSELF}"),
    (b"\xff\xd8\xff", f"a picture: {_ITSELF}"),
)
_ENDINGS = (
    ((".py",), f"a Python script: {_ITSELF}"),
    ((".html", ".htm", ".mhtml", ".webarchive"), f"a web page: {_ITSELF}"),
    ((".pdf",), f"a PDF: {_ITSELF}"),
    ((".rar",), f"a RAR {_PACKED}"),
    ((".7z",), f"a 7z {_PACKED}"),
    ((".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst"), f"a tar {_PACKED}"),
    ((".doc", ".docx", ".odt", ".pages", ".rtf", ".md"), f"a document: {_ITSELF}"),
    ((".png", ".jpg", ".jpeg", ".heic", ".gif"), f"a picture: {_ITSELF}"),
    ((".lnk", ".url", ".webloc"), f"a link: {_ITSELF}"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # before UTF-16, because it begins with that mark
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
# What Git leaves where two versions were not merged.
_MERGE_MARK = re.compile(r"^(?:<{7}|>{7}|={7})(?: .*)?$", re.MULTILINE)
_SCRIPT = re.compile(r"\s*(?:#|import |from |def |class |@|%|print\(|[\"']{3})")
_WORD = re.compile(r"[\w.+-]*")  # the beginning of true, of a number …
_LONGEST_WORD = 24
ZIP = b"PK\x03\x04"
_WHEREBY = "it was read all the same; save notebooks as UTF-8, as Jupyter does"


@dataclass(frozen=True)
class Text:
    """A file's text and a note on its encoding; without a text, `note` gives the reason.

    is_other: it is a file of another kind, not a damaged one.
    """

    text: str | None
    note: str = ""
    is_other: bool = False


def other_kind(name: str, data: bytes) -> str:
    """Return what a file is that is no notebook, and what to hand in; "" if it is not known.

    data: the file's beginning.

    >>> other_kind("work.rar", b"Rar!")
    'a RAR archive, which is not opened: hand in the notebook itself, the .ipynb, or a zip archive'
    """
    found = _kind_by_content(data)
    if found or not data:
        return found
    ending = (kind for endings, kind in _ENDINGS if name.lower().endswith(endings))
    return next(ending, "")


def _kind_by_content(data: bytes) -> str:
    return next((kind for start, kind in _BEGINNINGS if data.startswith(start)), "")


def read_text(data: bytes, name: str) -> Text:
    """Return the text in `data`, whatever its encoding."""
    if kind := _kind_by_content(data):
        return Text(None, f"{name} is {kind}", is_other=True)
    for mark, encoding, called in _MARKS:
        if data.startswith(mark):
            return _decoded(data, name, encoding, called)
    if b"\0" in data[:4]:  # JSON begins with ASCII, so zeros reveal UTF-16 or UTF-32 without a mark
        encoding = json.detect_encoding(data)
        return _decoded(data, name, encoding, encoding[:6].upper())
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # cut off inside a letter
            return Text(data[: error.start].decode("utf-8"))
        return _one_byte_a_letter(data, name)


def _decoded(data: bytes, name: str, encoding: str, called: str) -> Text:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return Text(
            None,
            f"{name} is damaged: it begins as {called or 'UTF-8'} and does not continue as such",
        )
    return Text(text, f"{name} is saved as {called}, not UTF-8; {_WHEREBY}" if called else "")


def _one_byte_a_letter(data: bytes, name: str) -> Text:
    """Return the text if it is JSON in Latin-1; letters outside ASCII may then be wrong."""
    text = data.decode("latin-1")
    try:
        json.loads(text)
    except (RecursionError, ValueError):
        return Text(None, f"{name} is not UTF-8 text: hand in a copy that Jupyter opens")
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        pass
    guess = "letters outside ASCII may be wrong"
    return Text(
        text, f"{name} is saved as Latin-1 or Windows text, not UTF-8; {_WHEREBY} ({guess})"
    )


def why_not_json(text: str, error: ValueError) -> str:
    """Return why a text is no notebook, and what to do, as the rest of a sentence about its file.

    error: of json.loads.

    >>> why_not_json("import numpy", ValueError())
    'is a Python script, not a notebook: hand in the notebook itself, the .ipynb'
    """
    line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
    if mark := _MERGE_MARK.search(text):
        place = text.count("\n", 0, mark.start()) + 1
        return (
            f"has the marks of a merge that is not finished (line {place}), so that no program "
            "can open it: keep one of its versions (git checkout --ours or --theirs), see that "
            "Jupyter opens it, and hand it in again"
        )
    if text.lstrip()[:1] == "<":
        return "is a web page, not the notebook: download the file itself"
    if _SCRIPT.match(text):
        return f"is a Python script, not a notebook: {_ITSELF}"
    if isinstance(error, json.JSONDecodeError) and _is_cut_off(text, error):
        return (
            f"is cut off: it ends in the middle{line}; copy or download it again, see that Jupyter "
            "opens it, and hand it in again"
        )
    return f"is not JSON{line}, as a notebook is: hand in a copy that Jupyter opens"


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Return True if the JSON was right up to its last word, which has no end."""
    unfinished = error.msg.startswith("Unterminated string")
    rest = text[error.pos : error.pos + _LONGEST_WORD].strip()
    at_end = error.pos + len(rest) >= len(text.rstrip()) and _WORD.fullmatch(rest)
    return text.lstrip()[:1] == "{" and (unfinished or at_end is not None)
