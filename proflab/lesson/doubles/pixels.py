"""Images of random pixels, which count who reads them.

What may not enter: how often an image should be read.
"""

from __future__ import annotations

import zlib

import numpy as np

from proflab.lesson.doubles.double import Double


class PixelsScript:
    """Draws the pixels of an image from its name and a seed, and counts what is read.

    reads: how many were read so far; read_again: those of an image that had been read before.
    """

    ASKED = ("read",)
    LOOKUPS = ("reads", "read_again")

    def __init__(self, seed: int = 0, side: int = 32, darkest: int = 240) -> None:
        self._seed, self._side, self._darkest = seed, side, darkest
        self._names: set[str] = set()
        self.reads = 0

    @property
    def read_again(self) -> int:
        """Return how many reads were of an image that had been read before."""
        return self.reads - len(self._names)

    def read(self, name: str) -> np.ndarray:
        """Return the pixels of an image, uint8 (side, side)."""
        drawn = np.random.default_rng([self._seed, zlib.crc32(name.encode())])
        self._names.add(name)
        self.reads += 1
        return drawn.integers(0, self._darkest, (self._side, self._side), np.uint8, endpoint=True)


class Pixels(Double):
    """Images of random pixels, `Pixels(seed=0)`: uint8 (32, 32), from 0 to 240, by their names.

    >>> pixels = Pixels(seed=1)
    >>> (pixels.read("7/012.png") == pixels.read("7/012.png")).all()
    np.True_
    >>> pixels.read("3/001.png").shape, pixels.reads, pixels.read_again
    ((32, 32), 3, 1)
    """

    Script = PixelsScript

    def read(self, name: str) -> np.ndarray:
        """Return the pixels of an image."""
        return np.asarray(self._script.read(name))

    reads = property(lambda self: self._script.reads)
    read_again = property(lambda self: self._script.read_again)
