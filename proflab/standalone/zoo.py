"""The models that a profiler in one file knows by name or by file, and what their inputs are."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from proflab import models, nn

OWN = "FILE.py:FUNCTION"


@dataclass(frozen=True)
class Choice:
    """A model by its name: how it is made, and the shape of one of its inputs.

    kind: what of the shape can be chosen: of "tokens" its first number, of an "image" its last two,
    of a "fixed" one nothing. make gets the size that was chosen.
    """

    title: str
    make: Callable[[int], Any]
    kind: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the size where none is chosen."""
        return self.shape[0] if self.kind == "tokens" else self.shape[-1]

    def input_shape(self, batch: int, size: int) -> tuple[int, ...]:
        """Return the shape of a batch of inputs of this size."""
        if self.kind == "tokens":
            return (batch, size, *self.shape[1:])
        return (batch, self.shape[0], size, size) if self.kind == "image" else (batch, *self.shape)


def _gpt2(size: str) -> Choice:
    return Choice(f"GPT-2 {size}", lambda _: models.gpt2(size), "tokens", (128,))


CHOICES = {
    "mlp": Choice("MLP", lambda _: models.MLP(), "fixed", (784,)),
    "lenet5": Choice("LeNet-5", lambda _: models.LeNet5(), "fixed", (1, 32, 32)),
    "resnet18": Choice("ResNet-18", lambda _: models.resnet18(), "image", (3, 224, 224)),
    "resnet34": Choice("ResNet-34", lambda _: models.resnet34(), "image", (3, 224, 224)),
    "resnet50": Choice("ResNet-50", lambda _: models.resnet50(), "image", (3, 224, 224)),
    "mobilenet-v2": Choice("MobileNetV2", lambda _: models.mobilenet_v2(), "image", (3, 224, 224)),
    "vit-tiny16": Choice(
        "ViT-Ti/16", lambda side: models.VisionTransformer(image=side), "image", (3, 224, 224)
    ),
    "bert-layer": Choice("BERT layer", lambda _: models.bert_layer(), "tokens", (128, 768)),
    **{f"gpt2-{size}": _gpt2(size) for size in ("small", "medium", "large", "xl")},
}


def made_by(file: Path, function: str) -> tuple[Any, Callable[[], Any]]:
    """Return what a function in a file of the student's makes, and the function, to make it again.

    The function takes nothing. Raises ValueError, with a sentence, where it cannot be called.
    """
    place = f"{file}:{function}"
    folder = str(file.resolve().parent)
    sys.path.insert(0, folder)  # what lies beside it can be imported
    try:
        make = runpy.run_path(str(file), run_name=file.stem).get(function)
        if not callable(make):
            raise ValueError(f"{file} defines no function {function!r}")
        return make(), make
    except OSError as error:
        raise ValueError(f"{place} cannot be read: {error.strerror}") from None
    except ValueError:
        raise
    except (Exception, SystemExit) as error:  # a file may end itself as it is read
        raise ValueError(f"{place} raises {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(folder)


def own_model(file: Path, function: str) -> Choice:
    """Return the model that a function in a file of the student's makes.

    The function takes nothing and returns the model and the shape of one input, without the batch.
    Raises ValueError, with a sentence, where it does not.
    """
    place = f"{file}:{function}"
    made, make = made_by(file, function)
    model, shape = made if isinstance(made, tuple) and len(made) == 2 else (None, None)
    if not isinstance(model, nn.Module) or not _is_shape(shape):
        raise ValueError(f"{place} must return a model of ProfLab and an input's shape, a tuple")
    return Choice(place, lambda _: make()[0], "fixed", shape)


def _is_shape(value: Any) -> TypeGuard[tuple[int, ...]]:
    sizes = value if isinstance(value, tuple) else ()
    return bool(sizes) and all(isinstance(n, int) and n > 0 for n in sizes)
