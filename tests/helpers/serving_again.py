"""Lesson 12's functions once more, by other algorithms: token by token, by chance trees, by tries.

Slow and plain on purpose, and without the refusals; the lesson's numbers have to come out of both.
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from itertools import pairwise, product
from types import SimpleNamespace

# What the lesson's tables say of published models: numbers, not functions.
GPT2_XL = {
    "weights": 1_557_611_200, "bits": 32, "kv_bytes": 614_400, "pair_flops": 4 * 48 * 25 * 64,
}  # fmt: skip
LLAMA_8B = {
    "weights": 7_504_924_672, "bits": 16, "kv_bytes": 131_072, "pair_flops": 4 * 32 * 32 * 128,
    "held_bytes": 2 * (7_504_924_672 + 128_256 * 4096),
}  # fmt: skip
LLAMA_70B = {
    "weights": 69_503_033_344, "bits": 16, "kv_bytes": 327_680, "pair_flops": 4 * 80 * 64 * 128,
    "held_bytes": 2 * (69_503_033_344 + 128_256 * 8192),
}  # fmt: skip
DEEPSEEK_V3 = {
    "weights": 670_099_725_312, "active": 36_625_603_584, "bits": 8, "kv_bytes": 70_272,
    "pair_flops": 2 * 61 * 128 * (512 + 64 + 512),
}  # fmt: skip


def kv_bytes(config, tokens, bits=16):
    """Return the bytes of a text's keys and values, added up layer by layer and head by head."""
    config = config.get("text_config") or config
    heads, total = config["num_attention_heads"], 0
    for layer in range(config["num_hidden_layers"]):
        kinds = config.get("layer_types")
        kind = kinds[layer] if kinds else "full_attention"
        first = 0
        if kind == "sliding_attention":
            first = max(0, tokens - config["sliding_window"])
        each = 0
        if config.get("kv_lora_rank"):
            each = config["kv_lora_rank"] + config["qk_rope_head_dim"]
        else:
            for _ in range(config.get("num_key_value_heads") or heads):
                each += 2 * (config.get("head_dim") or config["hidden_size"] // heads)
        total += len(range(first, tokens)) * each
    return math.ceil(Fraction(total * bits, 8))


def generation_flops(layers, d, vocab, prompt, new, cached):
    """Return a generation's FLOPs, added up by token: one product for each of its matrices."""
    total, known = 0, 0
    for written in range(new):
        length = prompt + written
        for token in range(known, length):
            seen = length if not cached or token >= prompt else prompt
            for inner, outer in ((d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)):
                total += layers * 2 * inner * outer
            total += layers * 2 * (2 * d * seen)
        total += 2 * d * vocab
        known = length if cached else 0
    return total


def pass_ms(model, sequences, hardware, overhead_ms=0.0):
    """Return a pass's ms, each pair of tokens and each kept token counted one by one."""
    pairs = kept = new_tokens = 0
    for cached, new in sequences:
        kept += cached
        for _ in range(new):
            kept += 1
            cached += 1
            pairs += cached
            new_tokens += 1
    parts = [
        (2 * model.get("active", model["weights"]) * new_tokens,
         Fraction(model["weights"]) * Fraction(model["bits"]) / 8),
        (model["pair_flops"] * pairs, model["kv_bytes"] * kept),
    ]  # fmt: skip
    seconds = 0
    for flops, moved in parts:
        computing, moving = (
            Fraction(flops) / Fraction(hardware.peak_flops),
            Fraction(moved) / Fraction(hardware.bandwidth),
        )
        seconds += computing if computing > moving else moving
    return float(1000 * seconds) + overhead_ms


def bound_ms(model, sequences, hardware):
    """Return the ms of all FLOPs or of all bytes, added up token by token."""
    flops = bytes_moved = 0
    for cached, new in sequences:
        for token in range(new):
            flops += 2 * model.get("active", model["weights"])
            flops += model["pair_flops"] * (cached + token + 1)
        bytes_moved += model["kv_bytes"] * (cached + new)
    bytes_moved += Fraction(model["weights"]) * Fraction(model["bits"]) / 8
    computing = Fraction(flops) / Fraction(hardware.peak_flops)
    return 1000 * float(max(computing, bytes_moved / Fraction(hardware.bandwidth)))


def batch_limits(model, context, hardware, memory):
    """Return the three limits: two from passes that lack a part each, one by counting users up."""
    weights = Fraction(model["weights"]) * Fraction(model["bits"]) / 8
    silent = dict(model, kv_bytes=0, pair_flops=0)
    computes = SimpleNamespace(peak_flops=hardware.peak_flops, bandwidth=1e300)
    reads = SimpleNamespace(peak_flops=1e300, bandwidth=hardware.bandwidth)
    flops_ms, read_ms = (pass_ms(silent, [(0, 1)], each) for each in (computes, reads))
    bare = dict(model, weights=0, active=0, pair_flops=0)
    cache_ms = pass_ms(bare, [(context - 1, 1)], reads)
    users, left = 0, memory - model.get("held_bytes", weights)
    text = context * model["kv_bytes"]
    step = 1 << 40
    while step:
        if (users + step) * text <= left:
            users += step
        step //= 2
    return {"compute": read_ms / flops_ms, "cache": read_ms / cache_ms, "memory": users}


def simulate_serving(requests, slots, step_ms, continuous=True, chunk=None):
    """Return what each request waits for, from a diary of who held which tokens in which step."""
    queue = [(arrival, at) for at, (arrival, _, _) in enumerate(requests)]
    heapq.heapify(queue)
    seats, diary, clock = [], {at: [] for at in range(len(requests))}, 0.0
    todo = {at: ["p"] * prompt + ["t"] * (new - 1) for at, (_, prompt, new) in enumerate(requests)}
    done = dict.fromkeys(todo, 0)
    while queue or seats:
        if not seats:
            clock = max(clock, queue[0][0])
            door = True
        else:
            door = continuous
        while door and queue and queue[0][0] <= clock and len(seats) < slots:
            seats.append(heapq.heappop(queue)[1])
        room = math.inf if chunk is None else chunk
        held = {}
        for at in seats:
            kind, count = todo[at][done[at]], 0
            while done[at] + count < len(todo[at]) and todo[at][done[at] + count] == kind:
                if kind == "t" and count == 1 or kind == "p" and room <= 0:
                    break
                room -= kind == "p"
                count += 1
            if count:
                held[at] = count
        clock += step_ms([(done[at], held[at]) for at in seats if at in held])
        for at, count in held.items():
            done[at] += count
            if done[at] >= requests[at][1]:
                diary[at].append(clock)
        seats = [at for at in seats if done[at] < len(todo[at])]
    rows = []
    for at, (arrival, _, _) in enumerate(requests):
        gaps = [b - a for a, b in pairwise(diary[at])]
        rows.append(
            {
                "first_ms": diary[at][0] - arrival,
                "per_token_ms": sum(gaps) / len(gaps) if gaps else 0.0,
                "done_ms": diary[at][-1] - arrival,
            }
        )
    return rows


def shared_pages(sequences, page):
    """Return the pages of texts, from a tree of pages."""
    tree, found = {}, {"alone": 0, "shared": 0, "empty": 0}
    for text in sequences:
        at, rest = tree, list(text)
        while rest:
            head, rest = tuple(rest[:page]), rest[page:]
            found["alone"] += 1
            if len(head) < page:
                found["shared"] += 1
                found["empty"] += page - len(head)
            elif head in at:
                at = at[head]
            else:
                found["shared"] += 1
                at = at.setdefault(head, {})
    return found


def prefix_hits(requests, page, capacity):
    """Return the tokens found, with a list of pages from the newest to the oldest."""
    kept, hits = [], []
    for text in requests:
        pages = [repr(list(text[:end])) for end in range(page, len(text) + 1, page)]
        missing = [at for at, key in enumerate(pages) if key not in kept]
        found = missing[0] if missing else len(pages)
        while found and page * found > len(text) - 1:  # the last token is read
            found -= 1
        hits.append(page * found)
        kept = (pages + [key for key in kept if key not in pages])[:capacity]
    return hits


def best_draft(accept, draft_ms, verify_ms, most=16):
    """Return the best draft by the exact distribution of what a round yields."""
    best = (Fraction(1), 0, Fraction(1))
    accept = Fraction(accept)
    for k in range(1, most + 1):
        chances, alive = [], Fraction(1)
        for _ in range(k):
            chances.append(alive * (1 - accept))
            alive *= accept
        mean = sum((n + 1) * chance for n, chance in enumerate([*chances, alive]))
        took = k * Fraction(draft_ms) + Fraction(verify_ms(k + 1))
        speedup = mean * Fraction(verify_ms(1)) / took
        if speedup > best[0]:
            best = (speedup, k, mean)
    return {"k": best[1], "tokens": float(best[2]), "speedup": float(best[0])}


def draft_acceptance(target, draft):
    """Return the acceptance and the residual, by each word that may be drafted."""
    accepted, rejected = 0.0, [0.0] * len(target)
    for word, chance in enumerate(draft):
        if chance:
            accepted += chance * min(1.0, target[word] / chance)
    for word, chance in enumerate(target):
        rejected[word] = chance - min(chance, draft[word])
    if not sum(rejected):
        return 1.0, None
    return accepted, [each / sum(rejected) for each in rejected]


def moe_parameters(shared, expert, layers, experts, chosen, tokens):
    """Return a mixture's parameters; touched by the exact distribution of the number touched."""
    chances = {0: 1.0}
    ways = math.comb(experts, chosen)
    for _ in range(tokens):
        after: dict[int, float] = {}
        for touched, chance in chances.items():
            for fresh in range(chosen + 1):
                if fresh > experts - touched or chosen - fresh > touched:
                    continue
                share = math.comb(experts - touched, fresh) * math.comb(touched, chosen - fresh)
                key = touched + fresh
                after[key] = after.get(key, 0.0) + chance * (share / ways)
        chances = after
    mean = math.fsum(touched * chance for touched, chance in chances.items())
    return {
        "total": sum(expert for _ in range(layers) for _ in range(experts)) + shared,
        "active": sum(expert for _ in range(layers) for _ in range(chosen)) + shared,
        "touched": shared + layers * expert * mean,
    }


def round_to(values, exponent_bits, mantissa_bits, reserved=0):
    """Return the values rounded by the arithmetic of exponents, without a table of codes."""
    bias = 2 ** (exponent_bits - 1) - 1
    power, part = divmod(2 ** (exponent_bits + mantissa_bits) - 1 - reserved, 2**mantissa_bits)
    largest = math.ldexp(2**mantissa_bits + part, power - bias - mantissa_bits)
    found = []
    for value in values:
        exponent = max(math.frexp(value)[1] - 1, 1 - bias) if value else 1 - bias
        step = math.ldexp(1.0, exponent - mantissa_bits)
        found.append(math.copysign(min(round(abs(value) / step) * step, largest), value))
    return found


def block_scaled(values, block, format, round_up=False):
    """Return blocks as stored; the power of two of a scale is found by trying powers."""
    eight = format == "mxfp8"
    largest = 448.0 if eight else 6.0
    whole = max(abs(value) for value in values) / (6 * 448)
    out = {"scales": [], "values": []}
    for start in range(0, len(values), block):
        part = values[start : start + block]
        top = max(abs(value) for value in part)
        powers = [2.0**n for n in range(-200, 200)]
        if not top:
            scale = 1.0
        elif format == "nvfp4":
            scale = whole * round_to([top / 6 / whole], 4, 3, 1)[0]
        elif round_up:
            scale = next(power for power in powers if power * largest >= top)
        else:
            scale = max(p for p in powers if p <= top) / max(p for p in powers if p <= largest)
        out["scales"].append(scale)
        element = (4, 3, 1) if eight else (2, 1)
        for value in part:
            out["values"].append(scale * round_to([value / scale], *element)[0] if scale else 0.0)
    stored = (8 if eight else 4) * len(values) + 8 * len(out["scales"])
    return out | {"bits": (stored + 32 * (format == "nvfp4")) / len(values)}


def cheapest_batch(model, context, hardware, memory, deadline_ms, dollars_per_hour, watts):
    """Return the largest batch in time, users added one by one until one too many."""
    users, weights = 0, Fraction(model["weights"]) * Fraction(model["bits"]) / 8
    held, ms = model.get("held_bytes", weights), 0.0
    while held + (users + 1) * context * model["kv_bytes"] <= memory:
        longer = pass_ms(model, [(context - 1, 1)] * (users + 1), hardware)
        if longer > deadline_ms:
            break
        users, ms = users + 1, longer
    if not users:
        return None
    seconds_each = ms / 1000 / users
    return {
        "users": users, "step_ms": ms, "tokens_per_second": 1 / seconds_each,
        "dollars_per_million": dollars_per_hour * 1e6 * seconds_each / 3600,
        "joules_per_token": watts * seconds_each,
    }  # fmt: skip


def reflect_service(day):
    """Return what a day adds up to, in node-seconds."""
    node_second = day["gpus_per_node"] * day["dollars_per_gpu_hour"] / 3600
    cost = node_second * 86_400 * day["nodes"]
    missed = day["input_tokens"] - day["hit_tokens"]
    sold = ((day["hit_tokens"], "hit"), (missed, "miss"), (day["output_tokens"], "output"))
    income = sum(tokens / 1e6 * day[f"{name}_price"] for tokens, name in sold)
    seconds = day["input_tokens"] / day["input_rate"] + day["output_tokens"] / day["output_rate"]
    return {
        "cost": cost, "income": income, "margin": (income - cost) / cost,
        "nodes_needed": seconds / 86_400,
        "output_cost_per_million": 1e6 / day["output_rate"] * node_second,
    }  # fmt: skip


def drawn_twice(experts, chosen, tokens):
    """Return the mean number of experts touched over all ways to draw; few experts only."""
    ways = [
        {at for at in range(experts) if code >> at & 1}
        for code in range(2**experts)
        if code.bit_count() == chosen
    ]
    unions = [len(set().union(*each)) for each in product(ways, repeat=tokens)]
    return sum(unions) / len(unions)
