"""A slow training script: a small transformer learns to read digits.

    python slow_training.py        # trains for twelve epochs and prints the loss after each

The loss is right, and three lines of thought make it slow; each is common in real projects. The
images lie in digits.zip, one PNG file for each, in a folder for each digit. The model reads an
image as 64 tokens, one for each block of 4 × 4 pixels.
"""

from __future__ import annotations

import math
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from proflab import Tensor, manual_seed, nn, stack
from proflab.lesson.recording import region
from proflab.nn import functional as F
from proflab.optim import Adam

ARCHIVE = Path(__file__).with_name("digits.zip")
SIDE, TILE = 8, 4  # an image is 8 × 8 tokens, each of them the mean of 4 × 4 pixels
DARKEST, MEAN, SPREAD = 240, 0.305, 0.376  # of the pixels; mean and spread from 0 to 1

# ── the data ─────────────────────────────────────────────────────────────────────────────────


class Images:
    """The images of an archive, by their names in it, such as "7/012.png".

    names: all of them. reads: for each call of `read`, the name and threading.get_ident().
    """

    def __init__(self, archive: str | Path = ARCHIVE) -> None:
        self._zip = zipfile.ZipFile(archive)
        self.names = self._zip.namelist()
        self.reads: list[tuple[str, int]] = []

    def read(self, name: str) -> np.ndarray:
        """Read a file, decode it, and return its pixels, uint8 (32, 32), from 0 to DARKEST."""
        self.reads.append((name, threading.get_ident()))
        return decode(self._zip.read(name))

    def label(self, name: str) -> int:
        """Return the digit that an image shows: the folder that it lies in."""
        return int(name.partition("/")[0])

    def tokens(self, pixels: Tensor) -> Tensor:
        """Return (…, 32, 32) pixels as (…, 64, 1) tokens in float32, of mean 0 and spread 1."""
        shares = pixels.to(np.float32) / DARKEST
        means = shares.reshape(*pixels.shape[:-2], SIDE, TILE, SIDE, TILE).mean((-3, -1))
        return ((means - MEAN) / SPREAD).reshape(*pixels.shape[:-2], SIDE * SIDE, 1)


def decode(content: bytes) -> np.ndarray:
    """Return the pixels of a PNG file in shades of grey, uint8 (height, width)."""
    at, packed = 8, b""
    while at < len(content):  # a chunk: the length of its data, its kind, the data, a checksum
        length, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
        data = content[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
        packed += data if kind == b"IDAT" else b""
        at += 12 + length
    lines, row, rows = zlib.decompress(packed), [0] * width, []
    for start in range(0, height * (width + 1), width + 1):
        row = _unfiltered(lines[start], lines[start + 1 : start + 1 + width], row)
        rows.append(row)
    return np.array(rows, np.uint8)


def _unfiltered(kind: int, line: bytes, above: list[int]) -> list[int]:
    """Return a row of pixels. The file has of each its difference from what the filter guesses."""
    row, left, corner = [], 0, 0
    for value, up in zip(line, above, strict=True):
        if kind == 4:
            guess = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        left, corner = (value + guess) % 256, up
        row.append(left)
    return row


def load(images: Images, names: list[str]) -> Tensor:
    """Return the images of a batch as tokens (batch, 64, 1)."""
    return stack([images.tokens(Tensor(images.read(name))) for name in names])


def batches(names: list[str], size: int, seed: int) -> Iterator[list[str]]:
    """Yield the names in batches, in random order; what does not fill a batch is left out."""
    order = np.random.default_rng(seed).permutation(len(names))
    for start in range(0, len(names) - size + 1, size):
        yield [names[place] for place in order[start : start + size]]


# ── the model ────────────────────────────────────────────────────────────────────────────────


class Reader(nn.Module):
    """Reads digits: images (batch, 64, 1) to scores (batch, 10), through one transformer block.

    attend: the attention that it uses: attend(q, k, v), each (batch, heads, tokens, head width).
    """

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        self.heads = heads
        self.embed = nn.Linear(1, width)
        self.place = nn.Embedding(SIDE * SIDE, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.head = nn.Linear(SIDE * SIDE * width, 10)

    def forward(self, images: Tensor, attend: Callable) -> Tensor:
        x = self.embed(images) + self.place.weight
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, tokens, 3, self.heads, width // self.heads)
        mixed = attend(*qkv.permute(2, 0, 3, 1, 4).unbind(0))
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return self.head(x.flatten(1))


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return softmax(q @ k.T / √width) @ v, computed in float64 so that it is exact."""
    q, k, v = q.to(np.float64), k.to(np.float64), v.to(np.float64)
    scores = q @ k.transpose(-2, -1)
    scores = scores / math.sqrt(q.shape[-1])
    scores = scores - scores.max(-1, keepdim=True)[0]
    weights = scores.exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return (weights @ v).to(np.float32)


# ── the training ─────────────────────────────────────────────────────────────────────────────


def slow_step(model: Reader, batch: list[str], state: dict[str, Any]) -> float:
    """Train on one batch, and return its loss before the step.

    batch: names of images.
    state: images (Images), optimizer, and losses, a list to which the loss is added.
    """
    with region("data loading"):
        images = load(state["images"], batch)
        labels = Tensor([state["images"].label(name) for name in batch])
    state["optimizer"].zero_grad()
    loss = F.cross_entropy(model(images, attend), labels)
    loss.backward(retain_graph=True)
    state["optimizer"].step()
    state["losses"].append(loss)
    return float(loss)


def begin(seed: int = 9, width: int = 16, heads: int = 4) -> tuple[Reader, dict[str, Any]]:
    """Return a new model, and the state of its training."""
    manual_seed(seed)
    model = Reader(width, heads)
    optimizer = Adam(model.parameters(), lr=0.001)
    return model, {"images": Images(), "optimizer": optimizer, "losses": []}


def train(step: Callable = slow_step, epochs: int = 5, size: int = 32) -> list[float]:
    """Train a new model, and return the mean loss of each epoch."""
    model, state = begin()
    means = []
    for epoch in range(epochs):
        losses = [step(model, b, state) for b in batches(state["images"].names, size, seed=epoch)]
        means.append(sum(losses) / len(losses))
    return means


if __name__ == "__main__":
    for epoch, loss in enumerate(train(epochs=12), start=1):
        print(f"epoch {epoch}: loss {loss:.3f}")
