"""Draws the picture of the page that a student's own profiler writes, for docs/teaching.md.

    python docs/pictures/profiler.py

The solved lessons are assembled into one file, which profiles GPT-2 on this machine. The left half
is the top of its page in a light desktop, the right half the page from its roofline on in a dark
one. The picture keeps the page's words, by which tests/build/test_profiler_picture.py sees that it
is of today's page.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bs4 import BeautifulSoup
from PIL import Image, PngImagePlugin
from readme import ROOT, WORDS, photograph

TARGET = ROOT / "docs" / "pictures" / "profiler.png"
WIDTH, HEIGHT = 640, 930  # of a half, in points and in pixels: what comes below is cut off
SECOND = "<h2>Roofline</h2>"  # what the right half begins with


def made(folder: Path) -> Path:
    """Return the page that an assembled profiler writes of GPT-2."""
    file, page = folder / "my_profiler.py", folder / "page.html"
    words = ["-m", "proflab_course.cli", "assemble", ROOT / "modules", "-o", file, "--standalone"]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    subprocess.run([sys.executable, file, "gpt2-small", "-o", page], check=True)
    return page


def words_of(page: str) -> str:
    """Return what a page says of each model: headings, names of figures, captions, no numbers."""
    body = BeautifulSoup(page, "html.parser").body
    told = body.select("h2, .figures td:first-child, figcaption, .wide th")
    text = " | ".join(re.sub(r"\d[\d,.]*", "N", each.get_text()) for each in told)
    return re.sub(r"N rounds: .*?\. A mark", "N rounds. A mark", " ".join(text.split()))


def draw(page: Path, target: Path) -> None:
    """Photograph the page's two parts side by side, light and dark, into a file."""
    text = page.read_text(encoding="utf-8")
    top, rest = text.split(SECOND)
    rest = re.sub(r"<main>.*", "<main>", top, flags=re.S) + SECOND + rest
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "top.html"), Path(folder, "rest.html")
        first.write_text(top, encoding="utf-8")
        second.write_text(rest, encoding="utf-8")
        left = photograph(first, Path(folder, "left.png"), WIDTH, "light")
        right = photograph(second, Path(folder, "right.png"), WIDTH, "dark")
        both = Image.new("RGB", (left.width + right.width, HEIGHT))
        both.paste(left, (0, 0))
        both.paste(right, (left.width, 0))
    kept = PngImagePlugin.PngInfo()
    kept.add_itxt(WORDS, words_of(text))
    both.quantize(96).save(target, optimize=True, pnginfo=kept)


def main() -> None:
    """Profile, and draw the picture."""
    with tempfile.TemporaryDirectory() as folder:
        draw(made(Path(folder)), TARGET)


if __name__ == "__main__":
    main()
