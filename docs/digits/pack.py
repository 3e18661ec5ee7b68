"""Writes the images that lesson 09's slow script trains on: one PNG file for each, in an archive.

    python docs/digits/pack.py        # writes modules/09_optimization/digits.zip

They are the 360 test images of proflab/lesson/digits.npz, enlarged: each pixel of a digit becomes
4 × 4 pixels, its values 0 to 16 become 0 to 240. Pillow is needed for this script alone.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from proflab.lesson.digits import DATA

MODULES = Path(__file__).parents[2] / "modules"
TARGET = MODULES / "09_optimization" / "digits.zip"
TIMES, STEP = 4, 15


def content(image: np.ndarray) -> bytes:
    """Return the PNG file of an image, uint8 (8, 8)."""
    pixels = (image * STEP).repeat(TIMES, axis=0).repeat(TIMES, axis=1)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png", optimize=True)
    return file.getvalue()


def main(target: Path = TARGET) -> None:
    """Write the archive: names such as 7/012.png, the folder being the digit."""
    with np.load(DATA) as data:
        images, labels = data["images"].reshape(-1, 8, 8).astype(np.uint8), data["labels"]
    with zipfile.ZipFile(target, "w") as archive:
        for at, (image, label) in enumerate(zip(images, labels, strict=True)):
            archive.writestr(zipfile.ZipInfo(f"{label}/{at:03d}.png"), content(image))
    print(f"{len(images)} images, {target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
