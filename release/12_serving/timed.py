"""Times a small GPT-2 that writes tokens, and counts a large one op by op, for lesson 12's demos.

Rules that students write, and those of earlier lessons, come in as arguments.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import proflab
from proflab import Tensor, meta, models, no_grad
from proflab.lesson import measuring
from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware, this_machine
from proflab.lesson.tensor_memory import each_op

_WORDS, _WIDTH, _BLOCKS, _HEADS = 10_000, 512, 4, 8


def small_gpt2(context: int) -> models.GPT2:
    """Return a GPT-2 of 4 blocks, 512 wide; where demos are small, of 1 block, 64 wide."""
    words, width, blocks, heads = demo_size((_WORDS, _WIDTH, _BLOCKS, _HEADS), (100, 64, 1, 2))
    return models.GPT2(words, context, width, blocks, heads)


def prompt(model: models.GPT2, tokens: int) -> Tensor:
    """Return one text of so many words, drawn at random."""
    return proflab.randint(0, model.vocab_size, (1, tokens))


def in_order(
    programs: Mapping[Any, Callable[[], object]],
    order: Iterable[Any],
    timer: Any,
) -> dict[Any, list[float]]:
    """Return each program's ms, run in this order on one thread after a first call.

    order: names, each as often as it is to run. timer: lesson 03's.
    """
    ms: dict[Any, list[float]] = defaultdict(list)
    with no_grad(), measuring.on_threads(1):
        for program in programs.values():
            program()
        for name in order:
            with timer:
                programs[name]()
            ms[name].append(timer.elapsed_ms)
    return dict(ms)


# ── a step of several users ──────────────────────────────────────────────────────────────────


def steps(
    model: models.GPT2, context: int, users: Iterable[int]
) -> dict[tuple[str, int], Callable[[], Tensor]]:
    """Return {(way, users): a step}: a token for each user, behind `context` others.

    way: "cat", as the engine stores keys and values, or "preallocated".
    """
    found: dict[tuple[str, int], Callable[[], Tensor]] = {}
    for count in users:
        cache = filled_cache(model, context, count)
        places, tokens = preallocated(cache), proflab.randint(0, model.vocab_size, (count, 1))
        found["cat", count] = partial(by_cat, model, tokens, cache)
        found["preallocated", count] = partial(in_place, model, tokens, places)
    return found


def filled_cache(model: models.GPT2, context: int, users: int) -> list[dict[str, Tensor]]:
    """Return a cache with keys and values of `context` tokens, drawn at random."""
    attention = model.blocks[0].attn
    shape = users, attention.heads, context, attention.head_dim
    return [{name: proflab.randn(*shape) for name in "kv"} for _ in model.blocks]


def preallocated(cache: list[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
    """Return the same keys and values in tensors that have a place for one more token."""
    found = []
    for block in cache:
        users, heads, context, size = block["k"].shape
        places = {name: proflab.zeros(users, heads, context + 1, size) for name in "kv"}
        for name in "kv":
            places[name][:, :, :context] = block[name]
        found.append(places)
    return found


def by_cat(model: models.GPT2, tokens: Tensor, cache: list[dict[str, Tensor]]) -> Tensor:
    """Return the logits of one more token; `cat` makes the cache of the next step anew."""
    return model(tokens, [dict(block) for block in cache])


def in_place(model: models.GPT2, tokens: Tensor, cache: list[dict[str, Tensor]]) -> Tensor:
    """Return the same logits, to the last bit; the new keys and values are written in place."""
    past = cache[0]["k"].shape[2] - 1
    x = model.wte(tokens) + model.wpe(proflab.arange(past, past + 1))
    for block, stored in zip(model.blocks, cache, strict=True):
        users, size = tokens.shape[0], block.attn.head_dim
        parts = block.attn.qkv(block.ln1(x)).chunk(3, -1)
        queries, *new = (part.view(users, 1, -1, size).transpose(1, 2) for part in parts)
        stored["k"][:, :, past:], stored["v"][:, :, past:] = new
        scores = queries @ stored["k"].transpose(-2, -1) * (1 / math.sqrt(size))
        mixed = (scores.softmax(-1) @ stored["v"]).transpose(1, 2).reshape(users, 1, -1)
        x = x + block.attn.proj(mixed)
        x = x + block.mlp(block.ln2(x))
    return model.lm_head(model.ln_f(x))


def recorded(recorder: type, step: Callable[[], Tensor]) -> dict[str, float]:
    """Return a step's ms by op, as lesson 05's recorder sees them, the longest first."""
    found: dict[str, float] = defaultdict(float)
    with no_grad(), measuring.on_threads(1), recorder() as recording:
        step()
    for row in recording.rows:
        found[row["op"]] += row["ms"]
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def this_hardware(peak_flops: Callable, bandwidth: Callable) -> Hardware:
    """Return this machine's two roofs on one thread, as lesson 06's functions measure them."""
    size = measuring.beyond_caches(this_machine().caches, demo_size(2**28, 2**26))
    with measuring.on_threads(1):
        return Hardware(peak_flops(repeats=3), bandwidth(size, repeats=3), "this machine")


def as_served(model: models.GPT2, kv_bytes: Callable) -> dict[str, int]:
    """Return a GPT-2 in float32 as `pass_ms` takes it; `kv_bytes` is the student's."""
    layers, heads = len(list(model.blocks)), model.blocks[0].attn.heads
    width = model.wte.weight.shape[1]
    config = {"num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width}
    read = sum(p.numel() for p in model.parameters()) - model.wpe.weight.numel()
    pairs = 4 * layers * width
    return {"weights": read, "bits": 32, "kv_bytes": kv_bytes(config, 1, 32), "pair_flops": pairs}


# ── op by op, without data ───────────────────────────────────────────────────────────────────


def counted(op_facts: Callable, context: int, users: int) -> list[dict]:
    """Return op_facts of each op of a step of GPT-2 XL: a token for each user behind `context`."""
    with meta(), no_grad():
        model = models.gpt2("xl")
        cache, tokens = filled_cache(model, context, users), proflab.zeros(users, 1, dtype="int64")
        return each_op(op_facts, lambda: model(tokens, cache))
