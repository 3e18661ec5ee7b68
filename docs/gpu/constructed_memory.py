"""Construct what torch's caching allocator does in a training step, for a card that is not there.

The tensors are those of the course's ResNet-18, counted without data; the allocator is a small
model of torch's: sizes in 512s, segments of 2 and 20 MiB or as large as asked for, best fit.
"""

from __future__ import annotations

import math

from solved import TRACES as events

from proflab import Tensor, dispatch, meta, models

_SMALL, _LARGE = 2 * 1024**2, 20 * 1024**2


class Allocator:
    """Segments of blocks [address, size, used]; notes each allocation and each free."""

    def __init__(self) -> None:
        self.segments: list[list[list]] = []
        self.history: list[dict] = []
        self.next, self.held = 0x7F00_0000_0000, {}

    def alloc(self, size: int, frame: str) -> int:
        """Return the address of a block of `size` bytes."""
        rounded = 512 * math.ceil(size / 512)
        block = self._find(rounded)
        if block[1] > rounded:
            segment = next(s for s in self.segments if block in s)
            rest = [block[0] + rounded, block[1] - rounded, False]
            segment.insert(segment.index(block) + 1, rest)
            block[1] = rounded
        block[2] = True
        self.held[block[0]] = size
        self.history.append(events.alloc(block[0], size, frame))
        return block[0]

    def free(self, address: int) -> None:
        """Give a block back; neighbours that are free become one."""
        self.history.append(events.free(address, self.held.pop(address)))
        segment = next(s for s in self.segments if any(b[0] == address for b in s))
        next(b for b in segment if b[0] == address)[2] = False
        merged: list[list] = []
        for block in segment:
            if merged and not merged[-1][2] and not block[2]:
                merged[-1][1] += block[1]
            else:
                merged.append(block)
        segment[:] = merged

    def listed(self) -> list[dict]:
        """Return the segments as a snapshot lists them."""
        states = {True: "active_allocated", False: "inactive"}
        return [events.segment(*((b[1], states[b[2]]) for b in s)) for s in self.segments]

    def _find(self, size: int) -> list:
        small = size <= 1024**2
        fits = [b for s in self._pool(small) for b in s if not b[2] and b[1] >= size]
        if fits:
            return min(fits, key=lambda block: block[1])
        total = _SMALL if small else _LARGE if size < 10 * 1024**2 else _SMALL * -(-size // _SMALL)
        block = [self.next, total, False]
        self.next += total
        self.segments.append([block])
        return block

    def _pool(self, small: bool) -> list[list[list]]:
        return [s for s in self.segments if (sum(b[1] for b in s) == _SMALL) == small]


def ops_of_resnet18(batch: int) -> list[tuple[str, str, int]]:
    """Return (module path, op, bytes of its result) of a forward pass of ResNet-18.

    Without the ReLUs: those of train.py work in place, so that they allocate nothing.
    """
    found = []

    def seen(call):
        result = call()
        if not dispatch.OPS[call.op].view and call.op != "relu":
            found.append((call.module_path or "model", call.op, result.nbytes))
        return result

    with meta():
        model = models.resnet18()
    with dispatch.hook(seen):
        model(Tensor.meta((batch, 3, 224, 224)))
    return found


def parameters_of_resnet18() -> list[tuple[str, int]]:
    """Return (name, bytes) of ResNet-18's parameters."""
    with meta():
        model = models.resnet18()
    return [(name, tensor.nbytes) for name, tensor in model.named_parameters()]


def training_step(batch: int, checkpoint: bool, amp: bool = False) -> Allocator:
    """Return the allocator after a step: weights and momentum stay, the rest has come and gone.

    checkpoint: keep what enters each block, and compute the block again before its backward.
    amp: activations and their gradients are in float16; weights and what belongs to them, and the
    images of the batch, stay in float32.
    """
    allocator, kept = Allocator(), []
    for name, size in parameters_of_resnet18():
        allocator.alloc(size, name)
    batch_address = allocator.alloc(4 * batch * 3 * 224**2, "batch")
    share = 2 if amp else 1
    for block, ops in _blocks(ops_of_resnet18(batch)):
        ops = [(frame, op, size // share) for frame, op, size in ops]
        made = [(frame, size, allocator.alloc(size, frame)) for frame, _, size in ops]
        if checkpoint and block:
            for _, _, address in made[:-1]:
                allocator.free(address)
            made = [(f, s, None) for f, s, _ in made[:-1]] + made[-1:]
        kept.append(made)
    gradients = _backward(allocator, kept)
    for name, size in parameters_of_resnet18():
        gradients.append(allocator.alloc(size, f"{name}.grad"))
    for name, size in parameters_of_resnet18():
        allocator.alloc(size, f"{name}.momentum")
    for address in [*gradients, batch_address]:
        allocator.free(address)
    return allocator


def _backward(allocator: Allocator, kept: list) -> list[int]:
    """Free what the forward kept, from the last block to the first; return what is still held."""
    gradient = allocator.alloc(4, "loss.grad")
    for made in reversed(kept):
        made = [
            (frame, size, allocator.alloc(size, f"{frame}, again") if at is None else at)
            for frame, size, at in made
        ]
        for frame, size, address in reversed(made):
            after = allocator.alloc(size, f"{frame}.grad")
            allocator.free(gradient)
            allocator.free(address)
            gradient = after
    return [gradient]


def _blocks(ops: list[tuple[str, str, int]]) -> list[tuple[str, list]]:
    """Return the ops in order, grouped by residual block; "" for what is in none."""
    groups: list[tuple[str, list]] = []
    for op in ops:
        parts = op[0].split(".")
        block = ".".join(parts[:2]) if parts[0].startswith("layer") else ""
        if not groups or groups[-1][0] != block:
            groups.append((block, []))
        groups[-1][1].append(op)
    return groups
