"""Read what a page says: its text without tags, blanks alike."""

from __future__ import annotations

import html
import re


def text_of(page: str) -> str:
    """Return a page's text in one line."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))
