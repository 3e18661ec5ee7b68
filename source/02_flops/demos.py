"""Build, read and mark what the demo cells of lesson 02 show beside your counts.

`counters.json` says with which versions of the seven tools its numbers were recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proflab import meta, models, nn
from proflab.lesson.plot import INK, Picture

# AlexNet (2012), by layer: image, out_channels, kernel, stride, padding, dilation, groups.
CONVOLUTIONS = {
    "conv1": ((1, 3, 227, 227), 96, 11, 4, 0, 1, 1),
    "conv2": ((1, 96, 27, 27), 256, 5, 1, 2, 1, 2),
    "conv3": ((1, 256, 13, 13), 384, 3, 1, 1, 1, 1),
    "conv4": ((1, 384, 13, 13), 384, 3, 1, 1, 1, 2),
    "conv5": ((1, 384, 13, 13), 256, 3, 1, 1, 1, 2),
}
LINEAR = ((9216, 4096), (4096, 4096), (4096, 1000))  # AlexNet's in_features, out_features

# Each model without data, and the shape of one sample.
with meta():
    ZOO = {
        "LeNet-5": (models.LeNet5(), (1, 1, 32, 32)),
        "MobileNetV2": (models.mobilenet_v2(), (1, 3, 224, 224)),
        "ResNet-18": (models.resnet18(), (1, 3, 224, 224)),
        "ViT-Ti/16": (models.vit_tiny16(), (1, 3, 224, 224)),
        "BERT layer": (models.bert_layer(), (1, 128, 768)),
        "GPT-2 small": (models.gpt2("small"), (1, 128)),
        "GPT-2 small, not tied": (models.gpt2("small", tied=False), (1, 128)),
    }

_MULTIPLY_ADDS = ("fvcore", "thop", "ptflops", "torchinfo")  # what these four report


# What the ops with products are called in the picture at the top.
KINDS = {"conv2d": "convolutions", "linear": "linear layers", "matmul": "between tokens"}


def recorded() -> list[dict[str, Any]]:
    """Return what seven tools printed: a dict for each model and input shape."""
    file = Path(__file__).with_name("counters.json")
    return json.loads(file.read_text(encoding="utf-8"))["rows"]


TOOLS = list(recorded()[0]["reported"])


def printed_for(model: str) -> dict[str, int]:
    """Return what each tool printed for one sample of a model, a key of ZOO."""
    return next(row["reported"] for row in recorded() if row["model"] == model)


def frozen_resnet18() -> nn.Module:
    """Return ResNet-18 without data, of which only the last layer is trained."""
    with meta():
        model = models.resnet18()
    for tensor in list(model.parameters())[:-2]:
        tensor.requires_grad_(False)
    return model


def deviations() -> dict[str, list[float]]:
    """Return how far each tool is from torch's count, in FLOPs: 0.01 is 1 % too many.

    The names say model and batch; the values are in the order of TOOLS.
    """
    rows = [row for row in recorded() if "not tied" not in row["model"]]
    return {
        f"{row['model']}, {row['input_shape'][0]}": [
            count * (2 if tool in _MULTIPLY_ADDS else 1) / row["forward"] - 1
            for tool, count in row["reported"].items()
        ]
        for row in rows
    }


def mark_guess(picture: Picture, guess: float | None, axis: str = "x") -> Picture:
    """Return the picture with a guess, a value on the axis "x" or "y", as a dashed line.

    Only a positive number is drawn.
    """
    if isinstance(guess, bool) or not isinstance(guess, (int, float)) or not guess > 0:
        return picture
    axes = picture.figure.axes[0]
    across = axes.axvline if axis == "x" else axes.axhline
    across(guess, color=INK, lw=1.2, ls=(0, (4, 3)), label="your guess")
    axes.legend(frameon=False)
    return Picture(picture.figure, f"{picture.alt}; your guess: {guess:,.4g}")
