"""Decode the bytes of a hand-in to text, or name in one sentence the other kind of file."""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass

# The first bytes of files that are handed in by mistake.
_BEGINNINGS = (
    (b"%PDF", "is a PDF: hand in the notebook itself, the .ipynb"),
    (b"Rar!", "is a RAR archive, which is not opened: hand in the notebook itself"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive, which is not opened: hand in the notebook itself"),
    (b"\x1f\x8b", "is a gzip archive, which is not opened: hand in the notebook itself"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", ""),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # before UTF-16, because it begins with that mark
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
ZIP = b"PK\x03\x04"
_WHEREBY = "it was read all the same; save notebooks as UTF-8, as Jupyter does"


@dataclass(frozen=True)
class Text:
    """A file's text and a note on its encoding; without a text, `note` gives the reason."""

    text: str | None
    note: str = ""


def read_text(data: bytes, name: str) -> Text:
    """Return the text in `data`, whatever its encoding."""
    for beginning, sentence in _BEGINNINGS:
        if data.startswith(beginning):
            return Text(None, f"{name} {sentence}")
    for mark, encoding, called in _MARKS:
        if data.startswith(mark):
            return _decoded(data, name, encoding, called)
    if b"\0" in data[:4]:  # JSON begins with ASCII, so zeros reveal UTF-16 or UTF-32 without a mark
        encoding = json.detect_encoding(data)
        return _decoded(data, name, encoding, encoding[:6].upper())
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
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
        return Text(None, f"{name} is not UTF-8 text: save it in Jupyter and hand it in again")
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        pass
    guess = "letters outside ASCII may be wrong"
    return Text(
        text, f"{name} is saved as Latin-1 or Windows text, not UTF-8; {_WHEREBY} ({guess})"
    )
