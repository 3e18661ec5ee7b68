"""Writes a lesson's picture as a card: white, with round corners that are transparent.

A picture in a lesson's text cannot bring a style along. Where nothing takes its white away (in the
dark: JupyterLab before the first figure is drawn, GitHub) it looks like a card, not like a hole.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageDraw

from proflab.lesson.plot import Picture

_RADIUS = 14  # pixels
_FINER = 8  # a corner is drawn so many times larger, so that its edge is smooth


def write_card(picture: Picture, target: Path, dpi: float) -> None:
    """Write a picture, drawn at so many dots an inch, to a PNG file."""
    with Image.open(io.BytesIO(picture.png(dpi=dpi))) as drawn:
        rounded(drawn).save(target, optimize=True)


def rounded(picture: Image.Image) -> Image.Image:
    """Return a picture without its corners; their colour stays, for what has no transparency."""
    width, height = (_FINER * length for length in picture.size)
    mask = Image.new("L", (width, height))
    corners = (0, 0, width - 1, height - 1)
    ImageDraw.Draw(mask).rounded_rectangle(corners, _FINER * _RADIUS, fill=255)
    card = picture.convert("RGB").convert("RGBA")
    card.putalpha(mask.reduce(_FINER))
    return card
