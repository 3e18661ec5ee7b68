"""A training loop with switches, and three faults planted in it: what lesson 11 measures.

`train(...)` trains a ResNet-18 on a card, or a tiny ResNet on a processor, on images made up from
their numbers, so that every run sees the same ones. torch is imported when it is called. It needs
nothing but torch and numpy: `python train.py --steps 20 --amp` runs it, and `--faults` plants.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

SWITCHES = ("workers", "pin", "amp", "channels_last", "compile", "checkpoint", "fused_optimizer")
FAULTS = ("item", "transfer", "shape")
MEAN, SPREAD = 127.5, 64.0


class Images:
    """Images that cost some work to read, and their classes; image n is the same in every run."""

    def __init__(self, count: int, size: int, classes: int) -> None:
        self.count, self.size, self.classes = count, size, classes

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        """Return image `number` as float32 of (3, size, size), and its class."""
        random = np.random.default_rng(number)
        label, large = number % self.classes, self.size + self.size // 8
        pixels = random.integers(0, 256, (large, large, 3), np.uint8)  # stands for a JPEG
        top, left = random.integers(0, large - self.size + 1, 2)
        cropped = pixels[top : top + self.size, left : left + self.size]
        if random.random() < 0.5:
            cropped = cropped[:, ::-1]
        image = (cropped.astype(np.float32) - MEAN) / SPREAD
        image[:, :, label % 3] += np.float32(label / self.classes)  # something to learn
        return np.ascontiguousarray(image.transpose(2, 0, 1)), label


def train(
    steps: int = 20,
    batch: int = 32,
    *,
    workers: int = 0,
    pin: bool = False,
    amp: bool = False,
    channels_last: bool = False,
    compile: bool | str = False,
    dynamic: bool | None = False,
    checkpoint: bool = False,
    fused_optimizer: bool = False,
    faults: Iterable[str] = (),
    scaling: bool = True,
    device: str | None = None,
    size: int | None = None,
    seed: int = 0,
    on_step: Callable[[], Any] | None = None,
) -> dict:
    """Train for so many steps; return `losses, step_ms, images, graphs, device`.

    workers, pin: processes that read images, and whether their batches lie in pinned memory.
    amp: mixed precision, float16 with scaled losses on a card, bfloat16 on a processor.
    scaling: False leaves the scaling out, which float16 needs.
    compile: True, a mode ("max-autotune") or a backend of torch.compile ("eager").
    dynamic: as for torch.compile: False compiles each new shape anew; None is torch's default,
        which compiles the second shape for all sizes.
    checkpoint: keep only what enters each block, and compute the block again in backward.
    faults: of FAULTS. "item" reads the loss in every step, "transfer" makes the classes' weights
        on the host in every step, "shape" crops or pads each batch to another size.
    device: "cuda" or "cpu"; a card if there is one. size: pixels a side, 224 or 32.
    on_step: is called after each step, such as the step of a profiler.

    step_ms has one number less than there are steps: from the start of one to that of the next.
    graphs counts what torch.compile compiled. Raises ValueError for a fault that is none.
    """
    import torch

    faults = set(faults)
    if faults - set(FAULTS):
        raise ValueError(f"the faults are {', '.join(FAULTS)}, not {sorted(faults - set(FAULTS))}")
    place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    on_card = place.type == "cuda"
    size = size or (224 if on_card else 32)
    torch.manual_seed(seed)
    network = model(place.type, checkpoint).to(place)
    classes = network.classes
    layout = torch.channels_last if channels_last else torch.contiguous_format
    network = network.to(memory_format=layout)
    optimizer = torch.optim.SGD(network.parameters(), 0.02, momentum=0.9, fused=fused_optimizer)
    run = _compiled(network, compile, dynamic)
    half = torch.float16 if on_card else torch.bfloat16
    precision = torch.autocast(place.type, dtype=half) if amp else nullcontext()
    scaler = torch.amp.GradScaler(place.type, enabled=amp and on_card and scaling)
    weights = None if "transfer" in faults else torch.ones(classes).to(place)
    losses, marks = [], _Marks(on_card)
    for number, (x, y) in enumerate(loader(steps, batch, size, classes, workers, pin)):
        marks.add()
        x = x.to(place, non_blocking=pin, memory_format=layout)
        y = y.to(place, non_blocking=pin)
        if "shape" in faults:
            more = 2 * (number % 11 - 5)  # as many larger as smaller; a negative pad crops
            x = torch.nn.functional.pad(x, (0, more, 0, more))
        with precision:
            given = torch.ones(classes).to(place) if weights is None else weights
            loss = torch.nn.functional.cross_entropy(run(x), y, weight=given)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item() if "item" in faults else loss.detach())
        if on_step:
            on_step()
    return {
        "losses": [float(loss) for loss in losses],
        "step_ms": marks.between(),
        "images": steps * batch,
        "graphs": _graphs() if compile else 0,
        "device": place.type,
    }


def loader(steps: int, batch: int, size: int, classes: int, workers: int, pin: bool) -> Any:
    """Return the batches of a run, tensors of (batch, 3, size, size) and of (batch,)."""
    import torch

    return torch.utils.data.DataLoader(
        Images(steps * batch, size, classes),
        batch_size=batch,
        num_workers=workers,
        pin_memory=pin and torch.cuda.is_available(),
        shuffle=True,
        generator=torch.Generator().manual_seed(1),
    )


def model(device: str, checkpoint: bool = False) -> Any:
    """Return a network for this device: ResNet-18 on a card, a tiny ResNet on a processor."""
    if device == "cuda":
        return resnet((64, 128, 256, 512), 2, 1000, checkpoint)
    return resnet((8, 16), 1, 10, checkpoint)


def resnet(widths: tuple[int, ...], blocks: int, classes: int, checkpoint: bool = False) -> Any:
    """Return a residual network: a stem, stages of these widths, so many blocks each, a head.

    (64, 128, 256, 512) and 2 make ResNet-18 of He et al. (2015), with their names of layers.
    """
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint as compute_again

    block = _block_class()

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.classes, self.stages = classes, []
            self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            inside = widths[0]
            for number, width in enumerate(widths, 1):
                strides = [1 if number == 1 else 2, *[1] * (blocks - 1)]
                sides = [inside, *[width] * (blocks - 1)]
                stage = [block(i, width, s) for i, s in zip(sides, strides, strict=True)]
                setattr(self, f"layer{number}", nn.Sequential(*stage))
                self.stages.append(f"layer{number}")
                inside = width
            self.fc = nn.Linear(inside, classes)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            for name in self.stages:
                for each in getattr(self, name):
                    x = compute_again(each, x, use_reentrant=False) if checkpoint else each(x)
            return self.fc(x.mean((2, 3)))

    return ResNet()


def _block_class() -> type:
    """Return the class of a residual block; torch is imported here."""
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inside, width, 3, stride, 1, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.bn2, self.downsample = nn.BatchNorm2d(width), None
            if stride > 1 or inside != width:
                way = nn.Conv2d(inside, width, 1, stride, bias=False)
                self.downsample = nn.Sequential(way, nn.BatchNorm2d(width))

        def forward(self, x: Any) -> Any:
            past = x if self.downsample is None else self.downsample(x)
            x = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(x)) + past)

    return Block


class _Marks:
    """Notes when each step begins, by the card's clock where there is one: nobody waits for it."""

    def __init__(self, on_card: bool) -> None:
        self.on_card, self.made = on_card, []

    def add(self) -> None:
        """Note that a step begins."""
        if not self.on_card:
            self.made.append(time.perf_counter())
            return
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.made.append(event)

    def between(self) -> list[float]:
        """Return the ms from each mark to the next."""
        if not self.on_card:
            return [1e3 * float(ms) for ms in np.diff(self.made)]
        import torch

        torch.cuda.synchronize()
        pairs = zip(self.made, self.made[1:], strict=False)
        return [first.elapsed_time(second) for first, second in pairs]


def _compiled(network: Any, how: bool | str, dynamic: bool | None) -> Any:
    """Return the network as torch.compile makes it."""
    if not how:
        return network
    import torch

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    given = {}
    if isinstance(how, str):
        modes = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
        given = {"mode" if how in modes else "backend": how}
    return torch.compile(network, dynamic=dynamic, **given)


def _graphs() -> int:
    import torch

    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def main() -> None:
    """Train as the command line says, and print the loss and the median step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--faults", nargs="*", default=(), choices=FAULTS)
    for name in SWITCHES[1:]:
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true")
    found = train(**vars(parser.parse_args()))
    ms = float(np.median(found["step_ms"]))
    print(f"{found['device']}: {ms:.1f} ms a step, loss {found['losses'][-1]:.3f}")


if __name__ == "__main__":
    main()
