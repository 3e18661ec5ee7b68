"""A classifier of handwritten digits, to be stored in fewer bits: lessons 08 and 12.

`docs/digits/train.py` trained it on scikit-learn's digits and wrote digits.npz: three linear
layers, and 360 images that they have not seen. What may not enter: how a number is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).with_name("digits.npz")


@dataclass(frozen=True)
class Digits:
    """A classifier's weights and biases, and images that it has not seen, with their labels."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    images: np.ndarray
    labels: np.ndarray


def load_digits() -> Digits:
    """Return the classifier and its test images, 64 pixels from 0 to 1 each.

    >>> sum(weight.size for weight in load_digits().weights)
    17024
    """
    with np.load(DATA) as file:
        weights, biases = ([file[f"{kind}{layer}"] for layer in (1, 2, 3)] for kind in "wb")
        images = file["images"].astype(np.float32) / 16  # scikit-learn's pixels are 0 to 16
        return Digits(weights, biases, images, file["labels"])


def classify(
    images: np.ndarray, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the digit that three linear layers see in each image."""
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        images = np.maximum(images @ weight.T + bias, 0)
    return (images @ weights[-1].T + biases[-1]).argmax(axis=1)


def accuracy(digits: Digits, weights: Sequence[np.ndarray]) -> float:
    """Return the share of test images that the classifier names right with these weights."""
    return float((classify(digits.images, weights, digits.biases) == digits.labels).mean())
