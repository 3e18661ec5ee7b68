# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---


# %% [markdown]
# # 12 · What does a token cost?
#
# A served token costs bytes: the weights, which a batch shares, and the keys and values, which nobody shares.
#
# **You need** what attention computes (lesson 02, section 5), the two roofs of lesson 06, and a pass predicted from them (lesson 07, section 4).
#
# Arguments stay as they are, a tuple does for a list, and no graded value depends on real time.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import bisect
import itertools
import json
import math
from pathlib import Path

from proflab.lesson import expect, expect_table
from proflab.lesson.hardware import Hardware

# %% nbgrader={"grade": false, "grade_id": "configs", "locked": true, "schema_version": 3, "solution": false, "task": false}
CONFIGS = json.loads(Path("served.json").read_text("utf-8"))  # of published models, by name

# %% [markdown]
# ## 1 · What a conversation weighs


# %% nbgrader={"grade": false, "grade_id": "kv_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kv_bytes(config, tokens, bits=16):
    """Return the bytes that the keys and values of one text take up in all layers, an int.

    config: a dict with the keys of a model's config.json; other keys are ignored.
        num_hidden_layers, num_attention_heads, hidden_size.
        num_key_value_heads: heads that keys and values have; without it, num_attention_heads.
        head_dim: numbers of a head; without it, hidden_size // num_attention_heads.
        kv_lora_rank, qk_rope_head_dim: where the first is there, a layer keeps so many numbers of
            both together for a token, once, whatever its heads are (MLA).
        layer_types: for each layer "full_attention", or "sliding_attention", which keeps
            sliding_window tokens at most; without it, all layers keep all tokens.
    tokens: int, at least 0. bits: of a kept number, int, above 0.
    Parts of a byte at the very end count as a byte.

    >>> kv_bytes({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}, 3)
    768
    """
    ### BEGIN SOLUTION
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    if tokens < 0 or bits <= 0:
        raise ValueError(f"{tokens} tokens of {bits} bits take up no memory")
    if "kv_lora_rank" in config:
        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        head = config.get("head_dim", config["hidden_size"] // heads)
        numbers = 2 * config.get("num_key_value_heads", heads) * head
    kept = 0
    for kind in config.get("layer_types", ["full_attention"] * layers):
        forgets = kind == "sliding_attention"
        kept += min(tokens, config["sliding_window"]) if forgets else tokens
    return -(-kept * numbers * bits // 8)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_kv_bytes", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
small = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}
one = {"num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 1}
wide = {"num_hidden_layers": 1, "num_attention_heads": 64, "hidden_size": 2880}
expect_table(
    kv_bytes,
    (
        "Llama-3-8B, one token",
        (CONFIGS["Llama-3-8B"], 1),
        131_072,
        {"all 32 heads": 524_288, "keys alone": 65_536, "bits, not bytes": 1_048_576},
    ),
    (
        "GPT-2 XL, whose heads all have keys, 1,024 tokens, 32 bits",
        (CONFIGS["GPT-2 XL"], 1024, 32),
        629_145_600,
        {"16 bits, or keys alone": 314_572_800},
    ),
    (
        "one KV head, and a window that no layer has",
        (small | {"num_key_value_heads": 1, "sliding_window": 4}, 10, 8),
        320,
        {"all four heads": 1_280, "the window is used": 128},
    ),
    (
        "heads that are wider than the model divides into",
        (wide | {"num_key_value_heads": 8, "head_dim": 64}, 1),
        2_048,
        {"hidden size / heads": 1_440},
    ),
    (
        "DeepSeek-V3, whose layers keep one latent vector",
        (CONFIGS["DeepSeek-V3"], 1),
        70_272,
        {
            "a latent for each head": 8_994_816,
            "keys and values of all heads": 1_748_992,
            "twice the latent": 140_544,
            "no rotary part": 62_464,
        },
    ),
    (
        "gpt-oss-120b, 8,192 tokens; every second layer forgets",
        (CONFIGS["gpt-oss-120b"], 8192),
        306_708_480,
        {"no windows": 603_979_776, "all layers have one": 9_437_184},
    ),
    ("six bits are a byte", (one, 1, 3), 1, {"cut off": 0}),
)
expect("the configuration stays as it is", len(CONFIGS["DeepSeek-V3"]), 6)
### BEGIN HIDDEN TESTS
# vary: 131_072 in 90_000..200_000
found = kv_bytes(CONFIGS["DeepSeek-V3"], 131_072, 8)
expect("a latent vector in 8 bits", found, 4_605_345_792)
expect(
    "a window longer than the text keeps it all", kv_bytes(CONFIGS["gpt-oss-120b"], 100), 7_372_800
)
expect("no tokens take no bytes", kv_bytes(CONFIGS["Llama-3-8B"], 0), 0)
expect("six bits of each number, DeepSeek-V2", kv_bytes(CONFIGS["DeepSeek-V2"], 1, 6), 25_920)
full, slide = "full_attention", "sliding_attention"
mixed = {"num_hidden_layers": 4, "num_attention_heads": 2, "hidden_size": 8, "sliding_window": 3}
# vary: 7 in 5..30
found = kv_bytes(mixed | {"layer_types": [slide, full, full, slide], "vocab_size": 9}, 7)
expect("layers that forget, in no regular order", found, 640)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_kv_bytes_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
small = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}
expect_table(
    kv_bytes,
    ("a negative text", (small, -1), ValueError),
    ("numbers without bits", [(small, 4, 0), (small, 4, -8)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("a text of no tokens is no mistake", kv_bytes(small, 0), 0)
# vary: 3 in 2..9
expect("a number may have one bit", kv_bytes(small, 3, 1), 48)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "generation_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generation_flops(layers, d, vocab, prompt, new, cached):
    """Return the FLOPs of a decoder's matrix products while it generates tokens. (Optional.)

    layers, d, vocab: blocks, width and vocabulary of a GPT-2. prompt: tokens at the start; new:
        tokens to generate.
    The first pass has the prompt's tokens, and gives the first new token; each later pass gives one
    more. cached: True if keys and values are kept, so that each later pass has the newest token
    alone; else it has all tokens so far.
    A pass of n tokens that look at t (themselves included): in each block 24 * n * d**2 for the
    projections and the feed-forward part, 4 * n * t * d for scores and mix; and, for the logits of
    its last token, 2 * d * vocab.
    Raises ValueError for a number below 1.

    >>> generation_flops(layers=1, d=2, vocab=3, prompt=2, new=1, cached=False)
    236
    """
    ### BEGIN SOLUTION
    if min(layers, d, vocab, prompt, new) < 1:
        raise ValueError("sizes and tokens are at least 1")

    def one_pass(tokens, seen):
        return layers * (24 * tokens * d**2 + 4 * tokens * seen * d) + 2 * d * vocab

    lengths = range(prompt + 1, prompt + new)
    later = [one_pass(1 if cached else length, length) for length in lengths]
    return one_pass(prompt, prompt) + sum(later)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_generation_flops", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect_table(
    generation_flops,
    (
        "GPT-2 small, 32 and 32 tokens, no cache",
        (12, 768, 50257, 32, 32, False),
        263_433_732_096,
        {"logits of all tokens": 378_299_523_072},
    ),
    (
        "with a cache",
        (12, 768, 50257, 32, 32, True),
        13_264_601_088,
        {"logits of all tokens": 15_657_638_400},
    ),
    ("128 and 128 tokens, no cache", (12, 768, 50257, 128, 128, False), 4_353_200_947_200),
    ("with a cache, 128 and 128", (12, 768, 50257, 128, 128, True), 54_700_474_368),
    ("one new token needs no cache", (2, 8, 10, 5, 1, True), 17_120),
    ("no prompt, no new token", [(2, 8, 10, 0, 5, True), (2, 8, 10, 5, 0, True)], ValueError),
    (
        "no layers, no width, no vocabulary",
        [(0, 8, 10, 5, 5, True), (2, 0, 10, 5, 5, False), (2, 8, 0, 5, 5, True)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 2 in 2..9
expect(
    "without a cache every pass begins at the first token",
    generation_flops(1, 2, 3, 1, 3, False),
    6 * 96 + 3 * 12 + 8 * (1 + 4 + 9),
)
# vary: 2 in 2..9
expect(
    "with a cache each pass looks at all tokens so far",
    generation_flops(1, 2, 3, 1, 3, True),
    3 * (96 + 12) + 8 * (1 + 2 + 3),
)
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Two kinds of pass

# %% nbgrader={"grade": false, "grade_id": "machines", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A toy, two models and two cards. pair_flops: 4 · layers · heads · head size.
TOY = {"weights": 10**6, "bits": 16, "kv_bytes": 1000, "pair_flops": 2000}
XL = {"weights": 1_557_611_200, "bits": 32, "kv_bytes": 614_400, "pair_flops": 307_200}
LLAMA = {"weights": 7_504_924_672, "bits": 16, "kv_bytes": 131_072, "pair_flops": 524_288}
SLOW = Hardware(peak_flops=2e10, bandwidth=1e9, name="a toy")
T4 = Hardware(peak_flops=8.1e12, bandwidth=320e9, name="T4", source="NVIDIA's data sheet")
H100 = Hardware(peak_flops=989.5e12, bandwidth=3350e9, name="H100", source="NVIDIA's data sheet")


# %% nbgrader={"grade": false, "grade_id": "pass_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pass_ms(model, sequences, hardware, overhead_ms=0.0):
    """Return how many ms a model's pass over a batch of sequences takes at least.

    model: a dict of weights (numbers), bits (of a weight), kv_bytes (of a token in the cache),
        pair_flops (of a new token that looks at one token), and perhaps active: the weights that a
        token is multiplied with; without it, all.
    sequences: (cached, new) pairs, at least one: tokens that are in the cache already, at least 0,
        and tokens that this pass reads, at least 1.
    hardware: has peak_flops, in FLOP/s, and bandwidth, in bytes/s. overhead_ms: once a pass.
    The weights are read once for all sequences, and take 2 FLOPs each (active ones) for each new
    token. Attention reads the cached tokens of each sequence and writes its new ones; a new token
    looks at the cached ones, at those before it and at itself. Each of the two parts takes the
    longer of its FLOPs at the peak and its bytes at the bandwidth; one follows the other.

    >>> pass_ms(TOY, [(499, 1)], SLOW)
    2.5
    """
    ### BEGIN SOLUTION
    if not len(sequences) or overhead_ms < 0:
        raise ValueError(f"{len(sequences)} sequences, {overhead_ms} ms of overhead: no such pass")
    if any(cached < 0 or new < 1 for cached, new in sequences):
        raise ValueError("a sequence has 0 cached tokens or more, and 1 new one or more")
    tokens = sum(new for _, new in sequences)
    pairs = sum(new * cached + new * (new + 1) // 2 for cached, new in sequences)
    kept = sum(cached + new for cached, new in sequences)
    weight_flops = 2 * model.get("active", model["weights"]) * tokens
    weight_bytes = model["weights"] * model["bits"] / 8
    parts = (
        (weight_flops, weight_bytes),
        (pairs * model["pair_flops"], kept * model["kv_bytes"]),
    )
    seconds = sum(max(f / hardware.peak_flops, b / hardware.bandwidth) for f, b in parts)
    return 1000 * seconds + overhead_ms
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_pass_ms", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *arguments, **model: pass_ms(TOY | model, arguments[0], SLOW, *arguments[1:]),
    (
        "one token behind 999",
        ([(999, 1)],),
        3.0,
        {"no cache": 2.1, "its own token left out": 2.999, "in s": 0.003},
    ),
    (
        "four such texts",
        ([(999, 1)] * 4,),
        6.0,
        {"weights for each": 12.0, "one cache for all": 3.0},
    ),
    (
        "a prompt of 100 tokens",
        ([(0, 100)],),
        10.505,
        {"100² pairs": 11.0, "reading and computing added": 12.605},
    ),
    (
        "100 tokens behind 900",
        ([(900, 100)],),
        19.505,
        {"all pairs": 20.0, "cached pairs forgotten": 11.0},
    ),
    (
        "a token and a prompt in one pass",
        ([(999, 1), (0, 50)],),
        6.15,
        {
            "one roof for the whole": 5.3275,
            "a roof for each sequence": 6.2275,
            "two passes": 8.1275,
        },
    ),
    ("overhead, once", ([(999, 1)], 0.25), 3.25, {"for each part": 3.5}),
)
expect(
    "each token is multiplied with a quarter of the weights",
    pass_ms(TOY | {"active": 250_000}, [(0, 50)], SLOW),
    2.1275,
    mistakes={"`active` is ignored": 5.1275},
)
texts = [(999, 1), (0, 50)]
pass_ms(TOY, texts, SLOW)
expect("the sequences stay as they are", texts, [(999, 1), (0, 50)])
### BEGIN HIDDEN TESTS
# vary: 99 in 50..150, 3 in 2..6
found = pass_ms(TOY | {"bits": 4}, [(99, 1)] * 3, SLOW)
expect("weights of 4 bits", found, 0.8)
# vary: 9 in 4..20, 40 in 20..60
found = pass_ms(TOY, [(9, 40), (0, 7)], Hardware(peak_flops=1e8, bandwidth=1e12))
expect("a machine on which all is computing", found, 964.16)
# vary: 400 in 300..600, 0.5 in 0.1..0.9
found = pass_ms(TOY | {"active": 100_000}, [(400, 1), (400, 2), (7, 30)], SLOW, 0.5)
expect("texts that read and texts that write, with an overhead", found, 3.34)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_pass_ms_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_table(
    pass_ms,
    ("GPT-2 XL on a T4, a token behind 1,023", (XL, [(1023, 1)], T4), 21.43622),
    ("32 of them", (XL, [(1023, 1)] * 32, T4), 82.3847),
    ("Llama-3-8B on an H100, behind 8,191", (LLAMA, [(8191, 1)], H100), 4.80107199045),
    ("its prompt of 8,192 tokens", (LLAMA, [(0, 8192)], H100), 142.046507685),
)
### BEGIN HIDDEN TESTS
attention = {"weights": 0, "bits": 16, "kv_bytes": 1, "pair_flops": 307_200}
# vary: 1024 in 700..1_300
found = pass_ms(attention, [(0, 1024)], Hardware(peak_flops=1e9, bandwidth=1e12))
expect("attention's FLOPs of a prompt", found, 161_218.56)
latent = {"weights": 10**9, "bits": 8, "kv_bytes": 70_272, "pair_flops": 16_990_208}
# vary: 4095 in 3_000..6_000, 8 in 4..16
found = pass_ms(latent, [(4095, 1)] * 8, T4)
expect("latent attention computes longer than it reads", found, 71.857732807)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_pass_ms_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    pass_ms,
    ("no sequences", (TOY, [], SLOW), ValueError),
    ("no new token", [(TOY, [(9, 0)], SLOW), (TOY, [(9, 1), (9, -1)], SLOW)], ValueError),
    (
        "a negative cache, a negative overhead",
        [(TOY, [(-1, 1)], SLOW), (TOY, [(9, 1)], SLOW, -1.0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("an empty cache is no mistake", pass_ms(TOY, [(0, 1)], SLOW), 2.001)
# vary: 0.125 in 0.1..0.9
expect("an overhead may be short", pass_ms(TOY, [(0, 1)], SLOW, 0.125), 2.126)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "batch_limits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_limits(model, context, hardware, memory):
    """Return the numbers of users at which decoding meets its three limits, as a dict.

    model, hardware: as for pass_ms. context: tokens of each text, the newest included, at least 1.
    memory: bytes of the card, for weights and caches.
    compute: float, the users at which the weights' FLOPs take as long as reading the weights.
    cache: float, the users whose caches take as long to read as the weights.
    memory: int, the most users whose caches fit beside the weights; they may fill it exactly.
    Raises ValueError where the weights leave no memory.

    >>> batch_limits(TOY, 1000, SLOW, 7_000_000)["memory"]
    5
    """
    ### BEGIN SOLUTION
    held, each = model["weights"] * model["bits"] / 8, context * model["kv_bytes"]
    if context < 1 or memory <= held:
        raise ValueError(f"{memory:,} bytes leave nothing for texts of {context} tokens")
    flops = 2 * model.get("active", model["weights"])
    return {
        "compute": held / hardware.bandwidth * hardware.peak_flops / flops,
        "cache": held / each,
        "memory": int((memory - held) // each),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_batch_limits", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
found = batch_limits(TOY, 500, SLOW, 10_000_000)
expect("compute", found["compute"], 20.0, mistakes={"multiply-adds": 40.0})
expect("cache", found["cache"], 4.0, mistakes={"in tokens": 2000.0, "upside down": 0.25})
expect("memory", found["memory"], 16, mistakes={"the weights are forgotten": 20})
limits = ("compute", "cache", "memory")
expect_table(
    lambda model, *rest: [batch_limits(model, *rest)[limit] for limit in limits],
    (
        "8 bits, texts of 250 tokens, 4 MB",
        (TOY | {"bits": 8}, 250, SLOW, 4_000_000),
        [10.0, 4.0, 12],
        {"the ridge of 16 bits": [20.0, 4.0, 12]},
    ),
    (
        "each token uses a quarter of the weights, 9.9 MB",
        (TOY | {"active": 250_000}, 500, SLOW, 9_900_000),
        [80.0, 4.0, 15],
        {"`active` is ignored": [20.0, 4.0, 15], "rounded up": [80.0, 4.0, 16]},
    ),
    ("GPT-2 XL on a T4", (XL, 1024, T4, 16 * 10**9), [50.625, 9.903025, 15]),
    rel=1e-6,
)
### BEGIN HIDDEN TESTS
limits = ("compute", "cache", "memory")
expect_table(
    lambda model, *rest: [batch_limits(model, *rest)[limit] for limit in limits],
    # vary: 8192 in 6_000..9_000
    ("long texts", (LLAMA, 8192, H100, 80 * 10**9), [295.37313433, 13.97901154, 60]),
    # vary: 1024 in 800..1_500
    (
        "shorter texts move two of the limits",
        (LLAMA, 1024, H100, 80 * 10**9),
        [295.37313433, 111.83209229, 484],
    ),
    # vary: 200 in 100..300
    ("weights of 32 bits", (TOY | {"bits": 32}, 200, SLOW, 6_000_000), [40.0, 20.0, 10]),
    ("room for less than one text", (TOY, 500, SLOW, 2_400_000), [20.0, 4.0, 0]),
)
cards = Hardware(peak_flops=8 * 1979e12, bandwidth=8 * 4800e9)
deepseek = {"weights": 670_099_725_312, "bits": 8, "kv_bytes": 70_272, "pair_flops": 16_990_208}
deepseek["active"] = 36_625_603_584
expect(
    "experts on eight cards",
    [batch_limits(deepseek, 8192, cards, 8 * 141 * 10**9)[limit] for limit in limits],
    [3771.6, 1164.04, 795],
    rel=1e-4,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_batch_limits_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    batch_limits,
    (
        "the weights leave no memory",
        [(TOY, 500, SLOW, 1_000_000), (TOY, 500, SLOW, 2_000_000)],
        ValueError,
    ),
    ("texts without tokens", (TOY, 0, SLOW, 10_000_000), ValueError),
)
### BEGIN HIDDEN TESTS
expect("one user fills the memory exactly", batch_limits(TOY, 500, SLOW, 2_500_000)["memory"], 1)
# vary: 9_000_000 in 5_000_000..9_900_000
expect("one token is a text", batch_limits(TOY, 1, SLOW, 9_000_000)["memory"], 7_000)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Who waits for whom


# %% nbgrader={"grade": false, "grade_id": "simulate_serving", "locked": false, "schema_version": 3, "solution": true, "task": false}
def simulate_serving(requests, slots, step_ms, continuous=True, chunk=None):
    """Return what each request waits for, a list of dicts, in the order of the requests.

    requests: (arrival_ms, prompt, new) in any order: tokens to read and to write, at least 1 each.
    slots: requests that may run at a time. step_ms(sequences): the ms of a step, for (cached, new)
        pairs in order of admission. continuous: admit before each step; else only when none runs.
    chunk: prompt tokens of a step at most, for all requests, given out in that order; None: all.
    A step begins when the last one ends or, if none runs, at the next arrival. Before it, arrived
    requests are admitted in order (of two at one time, the first listed) while slots are free. In
    it each reads its prompt, or its part of the chunk (without one it is left out), or else the
    token it wrote last. A token is written at the end of the step that ends the prompt, and of each
    later one; the last frees the slot.
    first_ms, done_ms: from arrival to first, last token. per_token_ms: between these, for each
    token after the first; 0.0 for none.

    >>> simulate_serving([(0, 4, 2)], 1, lambda sequences: 5.0)[0]["done_ms"]
    10.0
    """
    ### BEGIN SOLUTION
    if not len(requests) or slots < 1 or (chunk is not None and chunk < 1):
        raise ValueError(f"{len(requests)} requests, {slots} slots, chunks of {chunk}: no service")
    if any(arrival < 0 or prompt < 1 or new < 1 for arrival, prompt, new in requests):
        raise ValueError("a request arrives at 0 or later, reads a token and writes one")
    waiting = sorted(range(len(requests)), key=lambda place: requests[place][0])
    read, times = [0] * len(requests), [[] for _ in requests]
    running, now = [], 0.0
    while waiting or running:
        if not running:
            now = max(now, requests[waiting[0]][0])
        if continuous or not running:
            while waiting and len(running) < slots and requests[waiting[0]][0] <= now:
                running.append(waiting.pop(0))
        left = math.inf if chunk is None else chunk
        step = []
        for place in running:
            prompt = requests[place][1]
            if read[place] == prompt:
                step.append((place, prompt + len(times[place]) - 1, 1))
            elif left:
                part = min(left, prompt - read[place])
                step.append((place, read[place], part))
                read[place] += part
                left -= part
        now += step_ms([(cached, new) for _, cached, new in step])
        for place, *_ in step:
            if read[place] == requests[place][1]:
                times[place].append(now)
                if len(times[place]) == requests[place][2]:
                    running.remove(place)
    return [
        {
            "first_ms": wrote[0] - arrival,
            "per_token_ms": (wrote[-1] - wrote[0]) / max(1, new - 1),
            "done_ms": wrote[-1] - arrival,
        }
        for (arrival, _, new), wrote in zip(requests, times, strict=True)
    ]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def step(sequences):
    return 2.0 + sum(new for _, new in sequences)


def waits(key, requests, *rest):
    return [each[key] for each in simulate_serving(requests, *rest)]


texts, steps = [(0, 4, 5), (0, 2, 2), (3, 3, 3), (3, 6, 1)], []
alone = simulate_serving([(0, 4, 3)], 2, step)[0]
expect(
    "one text alone",
    [alone[key] for key in ("first_ms", "per_token_ms", "done_ms")],
    [6.0, 3.0, 12.0],
    mistakes={"the prompt gives no token": [9.0, 3.0, 15.0]},
)
expect_table(
    waits,
    (
        "first tokens of four texts, two slots",
        ("first_ms", texts, 2, step),
        [8.0, 8.0, 15.0, 31.0],
        {
            "from the start, not from the arrival": [8.0, 8.0, 18.0, 34.0],
            "the newest first": [26.0, 16.0, 8.0, 8.0],
            "the prompt gives no token": [12.0, 12.0, 23.0, 39.0],
        },
    ),
    (
        "time for each further token",
        ("per_token_ms", texts, 2, step),
        [4.5, 4.0, 4.0, 0.0],
        {"of all tokens, from the arrival": [5.2, 6.0, 23 / 3, 31.0]},
    ),
    ("last tokens", ("done_ms", texts, 2, step), [26.0, 12.0, 23.0, 31.0]),
    (
        "listed last, arrived first, and nothing in between",
        ("first_ms", [(9, 1, 1), (0, 1, 1)], 1, step),
        [3.0, 3.0],
        {"the clock does not move on": [-3.0, 3.0]},
    ),
)
simulate_serving(texts, 2, lambda sequences: steps.append(list(sequences)) or step(sequences))
expect(
    "what the steps hold",
    steps,
    [[(0, 4), (0, 2)], [(4, 1), (2, 1)], [(5, 1), (0, 3)], [(6, 1), (3, 1)], [(7, 1), (4, 1)]]
    + [[(0, 6)]],
)
expect("the requests stay as they are", texts[1:3], [(0, 2, 2), (3, 3, 3)])
### BEGIN HIDDEN TESTS
# vary: 30 in 28..40
requests = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]


def slow(sequences):
    return max(5, sum(n for _, n in sequences) / 2) + sum(c for c, _ in sequences) / 10


expect(
    "three slots, and a step that depends on the cache",
    waits("first_ms", requests, 3, slow),
    [6.1, 5.0, 6.1, 5.0, 17.6],
)
expect(
    "a request that comes exactly when a step ends is in the next",
    waits("first_ms", [(0, 4, 2), (6, 1, 1)], 2, step),
    [6.0, 4.0],
)
# vary: 3 in 2..6
expect("more slots than requests", waits("done_ms", [(0, 3, 2), (1, 1, 1)], 9, step), [9.0, 8.0])
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def step(sequences):
    return 2.0 + sum(new for _, new in sequences)


texts = [(0, 4, 5), (0, 2, 2), (3, 3, 3), (3, 6, 1)]
expect_table(
    lambda key, requests: [each[key] for each in simulate_serving(requests, 2, step, False)],
    (
        "static: first tokens",
        ("first_ms", texts),
        [8.0, 8.0, 29.0, 29.0],
        {
            "admitted at each step": [8.0, 8.0, 15.0, 31.0],
            "ended texts are computed on": [8.0, 8.0, 32.0, 32.0],
        },
    ),
    ("static: time for each further token", ("per_token_ms", texts), [3.25, 4.0, 3.0, 0.0]),
    (
        "a batch need not be full",
        ("first_ms", [(0, 2, 2), (100, 2, 2)]),
        [4.0, 4.0],
        {"it waits for a full batch": [106.0, 6.0]},
    ),
)
### BEGIN HIDDEN TESTS
requests = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]


def slow(sequences):
    return max(5, sum(n for _, n in sequences) / 2) + sum(c for c, _ in sequences) / 10


found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, continuous=False)]
expect("a static batch of three slots", found, [21.6, 5.0, 21.6, 11.6, 21.6])
# vary: 5 in 4..8
found = [each["done_ms"] for each in simulate_serving([(0, 1, 5), (1, 1, 1)], 4, step, False)]
expect("what comes too late for a batch waits for its end", found, [15.0, 17.0])
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_3", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def step(sequences):
    return 2.0 + sum(new for _, new in sequences)


def waits(key, requests, chunk):
    return [each[key] for each in simulate_serving(requests, 2, step, chunk=chunk)]


texts, steps = [(0, 4, 5), (0, 2, 2), (3, 3, 3), (3, 6, 1)], []
two = [(0, 2, 6), (5, 20, 2)]
expect_table(
    waits,
    (
        "a long prompt, in chunks of 4: first tokens",
        ("first_ms", two, 4),
        [4.0, 36.0],
        {
            "the whole prompt at once": [4.0, 25.0],
            "written tokens count": [4.0, 38.0],
            "a token for each chunk": [4.0, 9.0],
        },
    ),
    (
        "each further token",
        ("per_token_ms", two, 4),
        [6.2, 3.0],
        {"the whole prompt at once": [7.2, 4.0], "written tokens count": [5.4, 3.0]},
    ),
    (
        "two prompts share a chunk",
        ("first_ms", texts, 4),
        [6.0, 11.0, 18.0, 33.0],
        {"a chunk for each request": [8.0, 8.0, 15.0, 33.0]},
    ),
)
simulate_serving(two, 2, lambda s: steps.append(list(s)) or step(s), chunk=4)
expect("the first steps", steps[:4], [[(0, 2)], [(2, 1)], [(3, 1), (0, 4)], [(4, 1), (4, 4)]])
expect("the last steps", steps[4:], [[(5, 1), (8, 4)], [(6, 1), (12, 4)], [(16, 4)], [(20, 1)]])
### BEGIN HIDDEN TESTS
requests = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]


def slow(sequences):
    return max(5, sum(n for _, n in sequences) / 2) + sum(c for c, _ in sequences) / 10


found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, chunk=2)]
expect("chunks of 2 in three slots", found, [17.2, 5.0, 22.8, 12.5, 22.8])
found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, False, 3)]
expect("static, with chunks of 3", found, [26.9, 5.0, 32.5, 22.0, 32.5])
# vary: 5 in 4..9
expect(
    "a chunk larger than any prompt changes nothing",
    waits("first_ms", [(0, 5, 2), (1, 3, 1)], 64),
    [7.0, 12.0],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda requests, slots=2: simulate_serving(requests, slots, lambda sequences: 1.0),
    ("no requests", ([],), ValueError),
    ("a negative arrival", ([(0, 1, 1), (-4, 1, 1)],), ValueError),
)
### BEGIN HIDDEN TESTS
found = simulate_serving([(0, 1, 1)], 1, lambda sequences: 1.5)
expect("the shortest request", found[0]["done_ms"], 1.5)
# vary: 7 in 3..20
expect(
    "one that arrives later",
    simulate_serving([(7, 1, 1)], 1, lambda sequences: 2.5)[0]["first_ms"],
    2.5,
)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · Pages


# %% nbgrader={"grade": false, "grade_id": "shared_pages", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shared_pages(sequences, page):
    """Return how many pages the caches of these texts take up, as a dict of ints.

    sequences: lists of tokens (numbers, or anything that can be compared and hashed), none empty.
    page: tokens of a page, at least 1. A text is cut into pages from its beginning; the last may be
        partly empty.
    alone: pages if each text has its own. shared: pages if texts share where they may: a full page
        is shared by texts that are equal from their beginning to the end of that page; a page that
        is not full belongs to one text. empty: places for tokens that are left empty in `shared`.

    >>> shared_pages([[7, 8, 9], [7, 8]], 2)
    {'alone': 3, 'shared': 2, 'empty': 1}
    """
    ### BEGIN SOLUTION
    if not len(sequences) or not all(map(len, sequences)) or page < 1:
        raise ValueError("there must be texts with tokens, and pages")
    full = {tuple(text[:end]) for text in sequences for end in range(page, len(text) + 1, page)}
    rests = [len(text) % page for text in sequences if len(text) % page]
    return {
        "alone": sum(-(-len(text) // page) for text in sequences),
        "shared": len(full) + len(rests),
        "empty": sum(page - rest for rest in rests),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_shared_pages", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
three, same = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9], [1, 2, 7, 8]], [[1, 2, 3]] * 4
lengths = [13, 250, 1900, 40, 700]
apart = [[(text, place) for place in range(n)] for text, n in enumerate(lengths)]
users = [[*range(1000), *((user, place) for place in range(100))] for user in range(32)]
expect_table(
    lambda *arguments: [shared_pages(*arguments)[key] for key in ("alone", "shared", "empty")],
    ("three texts, pages of 2", (three, 2), [8, 5, 1]),
    ("pages of 4", (three, 4), [5, 4, 5]),
    (
        "equal pages behind unequal ones",
        ([[1, 2, 3, 4], [5, 6, 3, 4]], 2),
        [4, 4, 0],
        {"equal pages anywhere are shared": [4, 3, 0]},
    ),
    (
        "one text four times; its last page is not full",
        (same, 2),
        [8, 5, 4],
        {"the last page is shared, too": [8, 2, 1]},
    ),
    (
        "five texts with nothing in common, pages of 16",
        (apart, 16),
        [183, 183, 25],
        {"cut off": [178, 178, 0]},
    ),
    (
        "32 users, 1,000 tokens in common and 100 of their own",
        (users, 16),
        [2208, 286, 128],
    ),
)
expect("the texts stay as they are", three, [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9], [1, 2, 7, 8]])
### BEGIN HIDDEN TESTS
expect_table(
    lambda *arguments: [shared_pages(*arguments)[key] for key in ("alone", "shared", "empty")],
    ("pages of one token are all full", (three, 1), [15, 9, 0]),
    ("a text that is the beginning of another", ([[1, 2, 3, 4], [1, 2]], 2), [3, 2, 0]),
    ("one page for the longest text that could come", (apart, 2048), [5, 5, 7337]),
    # vary: 9 in 9..11
    ("tokens may be texts", ([["a"] * 9, ["a"] * 4 + ["b"]], 4), [5, 4, 6]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_shared_pages_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    shared_pages,
    ("no texts", ([], 16), ValueError),
    ("a text without tokens", ([[1], []], 16), ValueError),
)
### BEGIN HIDDEN TESTS
expect("one token is a text", shared_pages([[1]], 16), {"alone": 1, "shared": 1, "empty": 15})
# vary: 3 in 2..9
expect("as many pages as texts", shared_pages([[n] for n in range(3)], 1)["shared"], 3)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "prefix_hits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prefix_hits(requests, page, capacity):
    """Return for each request how many tokens at its beginning need no prefill. (Optional.)

    requests: lists of tokens, served in this order. page: tokens of a page, at least 1. capacity:
    full pages that the cache holds, at least 1; it is empty at first, and keeps no page that is not
    full. A page is known by all tokens from the text's beginning to its end.
    A request finds its full pages from the first one on, until one is missing. Then all of its full
    pages are used, found or not, from the last to the first, so that the first is the newest; after
    each use the page that was used longest ago goes if there are more than `capacity`.
    Returns a list of ints, multiples of page.

    >>> prefix_hits([[5, 6, 7], [5, 6]], page=1, capacity=2)
    [0, 2]
    """
    ### BEGIN SOLUTION
    if page < 1 or capacity < 1:
        raise ValueError(f"{capacity} pages of {page} tokens hold nothing")
    held, hits = {}, []
    for text in requests:
        pages = [tuple(text[:end]) for end in range(page, len(text) + 1, page)]
        found = list(itertools.takewhile(held.__contains__, pages))
        hits.append(page * len(found))
        for each in reversed(pages):
            held.pop(each, None)
            held[each] = True  # the newest is the last
            if len(held) > capacity:
                del held[next(iter(held))]
    return hits
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_prefix_hits", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
texts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4]]
expect_table(
    prefix_hits,
    (
        "two pages of 2",
        (texts, 2, 2),
        [0, 4, 0, 2],
        {"used from the first to the last": [0, 4, 0, 0]},
    ),
    ("three pages of 2", (texts, 2, 3), [0, 4, 0, 4]),
    ("a text longer than the cache", ([[1, 2, 3], [1, 2, 3]], 1, 2), [0, 2]),
    ("no pages, or pages of nothing", [(texts, 2, 0), (texts, 0, 2)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("a page behind another one is another page", prefix_hits([[1, 2], [3, 2]], 1, 9), [0, 0])
# vary: 3 in 2..9
expect("a page that is not full is not kept", prefix_hits([[1] * 3] * 2, 4, 9), [0, 0])
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Guess, then check


# %% nbgrader={"grade": false, "grade_id": "best_draft", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_draft(accept, draft_ms, verify_ms, most=16):
    """Return how many tokens to draft before each check, as a dict.

    accept: probability that a drafted token is accepted, 0 to 1, for each, independent of the rest.
    draft_ms: ms for one drafted token, at least 0; they are drafted one after another.
    verify_ms: a function; verify_ms(n) is how many ms the large model takes for a pass over n new
        tokens. verify_ms(1) is a step without drafts; a check of k tokens reads k + 1.
    most: the largest k to consider, at least 1.
    A round drafts k tokens and checks them. It yields those before the first that is rejected, and
    one more, the large model's own, also when all are accepted.
    k: the best number, the smallest of equals, and 0 where no draft is faster than none.
    tokens: expected tokens of a round, a float (1.0 for k = 0). speedup: over no drafts.

    >>> best_draft(0.5, 2.0, lambda n: 8.0, most=1)
    {'k': 1, 'tokens': 1.5, 'speedup': 1.2}
    """
    ### BEGIN SOLUTION
    if not 0 <= accept <= 1 or not 0 <= draft_ms < math.inf or most < 1:
        raise ValueError(f"no draft is accepted with probability {accept} in {draft_ms} ms")
    best, tokens = {"k": 0, "tokens": 1.0, "speedup": 1.0}, 1.0
    step = verify_ms(1)
    for k in range(1, most + 1):
        tokens += accept**k
        speedup = tokens * step / (k * draft_ms + verify_ms(k + 1))
        if speedup > best["speedup"]:
            best = {"k": k, "tokens": tokens, "speedup": speedup}
    return best
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_best_draft", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *arguments: [best_draft(*arguments)[key] for key in ("k", "tokens", "speedup")],
    (
        "half of the drafts are right, a step takes 10 ms, whatever it reads",
        (0.5, 1, lambda n: 10),
        [2, 1.75, 1.75 * 10 / 12],
        {
            "the large model's own token is left out": [2, 0.75, 0.75 * 10 / 12],
            "a rejected draft does not end a round": [2, 2.0, 2 * 10 / 12],
            "one term too few": [2, 1.5, 1.5 * 10 / 12],
        },
    ),
    (
        "eight of ten",
        (0.8, 1, lambda n: 10),
        [6, 3.951424, 2.46964],
        {"the largest k is the best": [16, 4.8874100926, 1.8797731126]},
    ),
    ("at most 4", (0.8, 1, lambda n: 10, 4), [4, 3.3616, 2.4011428571]),
    ("all are right", (1, 1, lambda n: 10, 5), [5, 6.0, 4.0]),
    (
        "a step takes longer from 3 tokens on",
        (0.8, 1, lambda n: max(10, 4 * n)),
        [2, 2.44, 2.44 * 10 / 14],
        {"a check of k drafts reads k tokens": [2, 2.44, 2.44 * 10 / 12]},
    ),
    (
        "a step pays for each token",
        (0.8, 1, lambda n: 10 * n),
        [0, 1.0, 1.0],
        {"never without a draft": [1, 1.8, 18 / 21]},
    ),
    ("one draft, cheap and good", (0.85, 0.28, lambda n: 10, 1), [1, 1.85, 18.5 / 10.28]),
    rel=1e-9,
)
### BEGIN HIDDEN TESTS
keys = ("k", "tokens", "speedup")
expect_table(
    lambda *arguments: [best_draft(*arguments)[key] for key in keys],
    # vary: 0.5 in 0.2..2.0
    ("drafts that are never right are not worth their time", (0, 0.5, lambda n: 10), [0, 1.0, 1.0]),
    # vary: 0.5 in 0.2..0.8
    ("free drafts: as many as there may be", (0.5, 0, lambda n: 7, 3), [3, 1.875, 1.875]),
    ("a check that costs a little for each token", (0.6, 0.5, lambda n: 8 + n, 8), [2, 1.96, 1.47]),
    ("few are right", (0.3, 2, lambda n: 20 + n / 2, 6), [1, 1.3, 1.3 * 20.5 / 23]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_best_draft_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    best_draft,
    ("no probability", [(1.2, 1, lambda n: 10), (-0.1, 1, lambda n: 10)], ValueError),
    ("a negative time", (0.5, -1, lambda n: 10), ValueError),
    ("nothing to consider", (0.5, 1, lambda n: 10, 0), ValueError),
)
### BEGIN HIDDEN TESTS
expect("never accepted is no mistake", best_draft(0, 1, lambda n: 10)["k"], 0)
# vary: 2 in 2..9
expect("always accepted is none, either", best_draft(1, 0, lambda n: 10, 2)["tokens"], 3.0)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "draft_acceptance", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draft_acceptance(target, draft):
    """Return how often a draft is accepted, and what is drawn after a rejection. (Optional.)

    target, draft: probabilities p and q of each token, of the large and of the small model, lists
        of floats at least 0 of one length that sum to 1 (to 1e-6).
    A token that q drew is accepted with probability min(1, p / q); so each is accepted in the share
    min(p, q) of all draws.
    Returns (rate, residual): the sum of these shares, and max(0, p - q), divided by its sum, a list
    of floats, or None where nothing is ever rejected.

    >>> draft_acceptance([0.5, 0.5], [0.25, 0.75])
    (0.75, [1.0, 0.0])
    """
    ### BEGIN SOLUTION
    if len(target) != len(draft) or not len(target) or min(*target, *draft) < 0:
        raise ValueError(f"{len(target)} and {len(draft)} numbers are no probabilities")
    if any(abs(sum(each) - 1) > 1e-6 for each in (target, draft)):
        raise ValueError("probabilities must sum to 1")
    rest = [max(0.0, p - q) for p, q in zip(target, draft, strict=True)]
    rate = sum(min(p, q) for p, q in zip(target, draft, strict=True))
    return rate, [each / sum(rest) for each in rest] if sum(rest) else None
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_draft_acceptance", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
expect_table(
    draft_acceptance,
    (
        "three tokens",
        ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]),
        (0.7, [1.0, 0.0, 0.0]),
        {"what is drawn anew is the target": (0.7, [0.5, 0.3, 0.2])},
    ),
    ("nothing in common", ([1.0, 0.0], [0.0, 1.0]), (0.0, [1.0, 0.0])),
    ("the same", ([0.25, 0.75], [0.25, 0.75]), (1.0, None)),
    ("sums that are not 1", [([0.5, 0.4], [0.5, 0.5]), ([0.5, 0.5], [1.0, 0.5])], ValueError),
    ("unlike lengths", ([1.0], [0.5, 0.5]), ValueError),
)
### BEGIN HIDDEN TESTS
found = draft_acceptance([0.4, 0.4, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4])
expect("the rest is shared in proportion", found, (0.5, [0.6, 0.4, 0.0, 0.0]))
expect("one token", draft_acceptance([1.0], [1.0]), (1.0, None))
found = draft_acceptance([0.1, 0.9], [0.5, 0.5])
expect("the second token was drafted too rarely", found, (0.6, [0.0, 1.0]))
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Experts


# %% nbgrader={"grade": false, "grade_id": "moe_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
def moe_parameters(shared, expert, layers, experts, chosen, tokens):
    """Return a mixture of experts' parameters as a dict: total, active and touched.

    shared: parameters that every token uses. expert: parameters of one expert, at least 1.
    layers: layers that have experts; experts: of each; chosen: for each token and layer, from 1 to
        `experts`, all different. tokens: in the batch, at least 1.
    total: all parameters, an int. active: what one token uses, an int. touched: what a pass over
        the batch reads, a float: its mean if each token draws its experts at random, every expert
        as likely, independent of the other tokens.

    >>> moe_parameters(shared=10, expert=4, layers=1, experts=2, chosen=1, tokens=2)
    {'total': 18, 'active': 14, 'touched': 16.0}
    """
    ### BEGIN SOLUTION
    if shared < 0 or min(expert, layers, tokens) < 1 or not 1 <= chosen <= experts:
        raise ValueError(f"a token cannot choose {chosen} of {experts} experts")
    nobody = (1 - chosen / experts) ** tokens
    return {
        "total": shared + layers * experts * expert,
        "active": shared + layers * chosen * expert,
        "touched": shared + layers * experts * expert * (1 - nobody),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_moe_parameters", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    lambda *arguments: [moe_parameters(*arguments)[key] for key in ("total", "active", "touched")],
    ("one token touches what it uses", (100, 10, 2, 4, 1, 1), [180, 120, 120.0]),
    (
        "two tokens",
        (100, 10, 2, 4, 1, 2),
        [180, 120, 135.0],
        {
            "never the same expert twice": [180, 120, 140.0],
            "the layers are forgotten": [180, 120, 117.5],
        },
    ),
    (
        "three tokens",
        (100, 10, 2, 4, 1, 3),
        [180, 120, 146.25],
        {"no expert twice": [180, 120, 160.0]},
    ),
    (
        "three tokens, two experts each",
        (100, 10, 2, 4, 2, 3),
        [180, 140, 170.0],
        {"a token may draw one expert twice": [180, 140, 165.76171875]},
    ),
    ("all are chosen", (0, 1, 1, 8, 8, 5), [8, 8, 8.0]),
    (
        "DeepSeek-V3, 32 tokens",
        (16_190_954_496, 44_040_192, 58, 256, 8, 32),
        [670_099_725_312, 36_625_603_584, 433_348_596_146.97],
        {"active parameters for each token": [670_099_725_312, 36_625_603_584, 1_172_019_314_688]},
    ),
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda *arguments: [moe_parameters(*arguments)[key] for key in ("total", "active", "touched")],
    # vary: 4 in 2..9
    (
        "Mixtral 8x7B, 4 tokens",
        (1_474_564_096, 176_160_768, 32, 8, 2, 4),
        [46_571_720_704, 12_748_853_248, 32_302_698_496.0],
    ),
    (
        "one token of gpt-oss-120b reads what it uses",
        (1_548_424_512, 24_891_840, 36, 128, 4, 1),
        [116_250_023_232, 5_132_849_472, 5_132_849_472.0],
    ),
    # vary: 50 in 20..80
    ("a large batch reads nearly all", (0, 1, 1, 16, 2, 50), [16, 2, 15.979838509580771]),
    ("more experts chosen than there are", (100, 10, 2, 4, 5, 1), ValueError),
)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Eight bits, four bits


# %% nbgrader={"grade": false, "grade_id": "round_to", "locked": false, "schema_version": 3, "solution": true, "task": false}
def round_to(values, exponent_bits, mantissa_bits, reserved=0):
    """Return the values, each rounded to the nearest number of a small float format.

    values: finite floats. exponent_bits: e, at least 1. mantissa_bits: m, at least 0.
    Without its sign a number has a code c from 0 to 2**(e + m) - 1 - reserved; the codes above are
    infinity and NaN. With c = E * 2**m + M and bias = 2**(e - 1) - 1 it is M * 2**(1 - bias - m)
    if E is 0, else (1 + M / 2**m) * 2**(E - bias).
    Half way between two numbers the one with the even code is taken; beyond the largest, the
    largest. The sign stays (that of a zero does not count). Returns a list of floats.
    E4M3 is (4, 3, 1), E5M2 (5, 2, 4), E2M1 (2, 1), float16 (5, 10, 1024).

    >>> round_to([0.6, -2.4, 9.0], 2, 1)
    [0.5, -2.0, 6.0]
    """
    ### BEGIN SOLUTION
    if not all(map(math.isfinite, values)):
        raise ValueError("NaN and infinity have no nearest number")
    bias, width = 2 ** (exponent_bits - 1) - 1, 2**mantissa_bits
    numbers = []
    for code in range(2**exponent_bits * width - reserved):
        exponent, mantissa = divmod(code, width)
        part = mantissa / width + (exponent > 0)
        numbers.append(part * 2.0 ** (max(exponent, 1) - bias))

    def nearest(size):
        above = min(bisect.bisect_left(numbers, size), len(numbers) - 1)
        below = max(above - 1, 0)
        return numbers[min((above, below), key=lambda c: (abs(numbers[c] - size), c % 2))]

    return [math.copysign(nearest(abs(value)), value) for value in values]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_round_to", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_table(
    round_to,
    (
        "E2M1: numbers half way, and two others",
        ([0.2, 0.25, 0.75, 1.25, 2.5, 5.0], 2, 1),
        [0.0, 0.0, 1.0, 1.0, 2.0, 4.0],
        {
            "halves go away from 0": [0.0, 0.5, 1.0, 1.5, 3.0, 6.0],
            "cut off": [0.0, 0.0, 0.5, 1.0, 2.0, 4.0],
        },
    ),
    (
        "E2M1: beyond the largest, and negative ones",
        ([6.9, -5.1, -100.0], 2, 1),
        [6.0, -6.0, -6.0],
        {"the sign is lost": [6.0, 6.0, 6.0]},
    ),
    (
        "E4M3: ties, and numbers between",
        ([1.0625, 1.1875, 17.0, 19.0, 0.3, -0.07], 4, 3, 1),
        [1.0, 1.25, 16.0, 20.0, 0.3125, -0.0703125],
    ),
    (
        "E4M3: its largest number",
        ([470.0, 1000.0], 4, 3, 1),
        [448.0, 448.0],
        {"the reserved code is used": [480.0, 480.0]},
    ),
    (
        "E4M3: its smallest numbers",
        ([0.0019, 0.00098, 0.0009], 4, 3, 1),
        [0.001953125, 0.001953125, 0.0],
        {"small numbers become 0": [0.0, 0.0, 0.0]},
    ),
    ("E5M2", ([60000.0, 0.3, 1.1875], 5, 2, 4), [57344.0, 0.3125, 1.25]),
    ("float16", ([0.1, 65519.0], 5, 10, 1024), [0.0999755859375, 65504.0]),
)
values = [0.2, -9.0]
round_to(values, 2, 1)
expect("the values stay as they are", values, [0.2, -9.0])
### BEGIN HIDDEN TESTS
expect_table(
    round_to,
    # vary: 0.07 in 0.01..0.4, 3.3 in 2.1..7.4
    (
        "six bits, three of them mantissa",
        ([0.07, -1.0625, 3.3, 7.9], 2, 3),
        [0.125, -1.0, 3.25, 7.5],
    ),
    # vary: 0.07 in 0.01..0.4, 11.0 in 8.1..27.0
    (
        "six bits, three of them exponent",
        ([0.07, 1.125, 11.0, 29.0], 3, 2),
        [0.0625, 1.0, 12.0, 28.0],
    ),
    ("NaN and infinity", [([math.nan], 2, 1), ([1.0, -math.inf], 4, 3, 1)], ValueError),
)
sizes = [m * 2.0**-9 for m in range(8)]
sizes += [(1 + m / 8) * 2.0 ** (e - 7) for e in range(1, 16) for m in range(8)][:-1]
expect("numbers that the format has stay", round_to(sizes, 4, 3, 1) == sizes, True)
found = round_to([3.14159, 1e-7, 2049.0, 2051.0, -6e-8, 1e5], 5, 10, 1024)
expect(
    "float16 as hardware rounds it", found, [3.140625, 2**-23, 2048.0, 2052.0, -(2**-24), 65504.0]
)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "block_scaled", "locked": false, "schema_version": 3, "solution": true, "task": false}
def block_scaled(values, block, format, round_up=False):
    """Return numbers as a block-scaled format stores them, as a dict of scales, values and bits.

    values: finite floats, at least one. block: how many in a row share a scale; the last block may
        be shorter. format: "mxfp8" (E4M3), "mxfp4" (E2M1) or "nvfp4" (E2M1).
    With a the largest magnitude of a block:
        mxfp8, mxfp4: scale = 2**floor(log2 a) / 2**floor(log2 m), where m is the largest number of
            the element format (448 or 6), as in OCP's specification; with round_up, the least
            power of two that is at least a / m.
        nvfp4: t * E4M3(a / 6 / t) with t = (largest magnitude of all) / (6 * 448) for all blocks.
    A block of zeros has the scale 1 (all formats); where a scale is 0, so are its numbers.
    scales: of each block. values: scale * round_to(value / scale), in order.
    bits: stored bits for each value: 8 or 4, 8 for each block's scale, and 32 for t (nvfp4 only).

    >>> block_scaled([6.0, 1.0, 12.0, 2.0], 2, "mxfp4")["scales"]
    [1.0, 2.0]
    """
    ### BEGIN SOLUTION
    elements = {"mxfp8": (4, 3, 1), "mxfp4": (2, 1), "nvfp4": (2, 1)}
    if format not in elements or not len(values) or block < 1:
        raise ValueError(f"{len(values)} numbers cannot be stored as {format!r}")
    element, most = elements[format], 448 if format == "mxfp8" else 6
    blocks = [values[at : at + block] for at in range(0, len(values), block)]
    largest = [max(map(abs, each)) for each in blocks]
    whole = max(largest) / (6 * 448)

    def scale_of(a):
        if not a:
            return 1.0
        if format == "nvfp4":
            return whole * round_to([a / 6 / whole], 4, 3, 1)[0]
        if round_up:
            part, power = math.frexp(a / most)
            return 2.0 ** (power - (part == 0.5))
        return 2.0 ** (math.frexp(a)[1] - math.frexp(most)[1])

    scales, stored = [scale_of(a) for a in largest], []
    for scale, each in zip(scales, blocks, strict=True):
        scaled = [value / scale if scale else 0.0 for value in each]
        stored += [scale * value for value in round_to(scaled, *element)]
    bits = (8 if format == "mxfp8" else 4) + 8 * len(blocks) / len(values)
    bits += 32 / len(values) if format == "nvfp4" else 0
    return {"scales": scales, "values": stored, "bits": bits}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_block_scaled", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
numbers = [12.0, 1.0, -2.0, 0.4, 0.0, 0.0, -0.25, 0.125]
expect_table(
    lambda *arguments: [block_scaled(*arguments)[key] for key in ("scales", "values", "bits")],
    (
        "the floor cuts off the largest",
        ([500.0, 3.0], 2, "mxfp8"),
        [[1.0], [448.0, 3.0], 12.0],
        {"rounded up": [[2.0], [512.0, 3.0], 12.0]},
    ),
    (
        "the same, rounded up",
        ([500.0, 3.0], 2, "mxfp8", True),
        [[2.0], [512.0, 3.0], 12.0],
        {"not rounded up": [[1.0], [448.0, 3.0], 12.0]},
    ),
    (
        "a large number spoils its own block alone",
        (numbers, 4, "mxfp4"),
        [[2.0, 0.0625], [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, -0.25, 0.125], 6.0],
        {
            "one scale for all": [[2.0, 2.0], [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0], 6.0],
            "the largest without its magnitude": [
                [2.0, 0.03125],
                [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, -0.1875, 0.125],
                6.0,
            ],
        },
    ),
    (
        "a block of zeros, and a last block that is shorter",
        ([0.0, 0.0, 7.0], 2, "mxfp4"),
        [[1.0, 1.0], [0.0, 0.0, 6.0], 28 / 3],
        {"a full last block": [[1.0, 1.0], [0.0, 0.0, 6.0], 8.0]},
    ),
)
many = [float(n % 7 - 3) for n in range(1024)]
expect_table(
    lambda block, format: block_scaled(many, block, format)["bits"],
    ("bits of MXFP8", (32, "mxfp8"), 8.25, {"scales are forgotten": 8.0}),
    ("bits of MXFP4", (32, "mxfp4"), 4.25, {"scales are forgotten": 4.0}),
)
expect("the numbers stay as they are", numbers[:4], [12.0, 1.0, -2.0, 0.4])
### BEGIN HIDDEN TESTS
found = block_scaled(numbers, 4, "mxfp8")
expect("scales of MXFP8", found["scales"], [2.0**-5, 2.0**-10])
expect("MXFP8 keeps what FP4 loses", found["values"][3], 0.40625)
expect(
    "a largest number that is a power of two",
    block_scaled([8.0, -1.0], 2, "mxfp4")["scales"],
    [2.0],
)
# vary: 448.0 in {224.0, 448.0, 896.0, 1792.0}
expect(
    "rounded up, a scale that fits exactly stays",
    block_scaled([448.0], 4, "mxfp8", True)["values"],
    [448.0],
)
# vary: 5.5 in 4.1..7.9
expect(
    "MXFP4, rounded up",
    block_scaled([5.5, 13.0, -0.3], 2, "mxfp4", True)["scales"],
    [4.0, 0.0625],
)
expect_table(
    lambda format: block_scaled(numbers, 4, format),
    ("another format", [("mxfp6",), ("MXFP4",)], ValueError),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_block_scaled_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
numbers = [12.0, 1.0, -2.0, 0.4, 0.0, 0.0, -0.25, 0.125]
found = block_scaled(numbers, 4, "nvfp4")
expect("a scale of the whole, and an E4M3 for each block", found["scales"], [2.0, 0.0401785714286])
expect(
    "its numbers",
    found["values"],
    [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, -0.241071428571, 0.120535714286],
    mistakes={"the block's scale is not rounded": [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, -0.25, 0.125]},
)
expect("its bits", found["bits"], 10.0, mistakes={"t is forgotten": 6.0})
found = block_scaled([2688.0, 1.0, 0.0001], 2, "nvfp4")
expect("where a scale is 0, so are its numbers", found["values"], [2688.0, 0.0, 0.0])
expect("the scales", found["scales"], [448.0, 0.0])
many = [float(n % 7 - 3) for n in range(1024)]
found = block_scaled(many, 16, "nvfp4")["bits"]
expect("bits of 1,024 numbers", found, 4.53125, mistakes={"scales are forgotten": 4.0})
found = block_scaled([0.0] * 5, 4, "nvfp4")
expect("nothing but zeros", [found["scales"], found["values"]], [[1.0, 1.0], [0.0] * 5])
### BEGIN HIDDEN TESTS
found = block_scaled([2688.0, 6.0, -3.0, 0.5], 2, "nvfp4")
expect("a block's scale is rounded to E4M3", found["scales"], [448.0, 0.5])
expect("a number beside a large one is lost", found["values"], [2688.0, 0.0, -3.0, 0.5])
found = block_scaled([5.0, 0.0, 0.0, 0.0, 1.0], 2, "nvfp4")
expect("a block of zeros has the scale 1, beside others", found["scales"][1], 1.0)
# vary: 3 in 3..9
expect(
    "a short last block stores its scale, too", block_scaled([1.0] * 3, 2, "nvfp4")["bits"], 20.0
)
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · What it costs


# %% nbgrader={"grade": false, "grade_id": "cheapest_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cheapest_batch(model, context, hardware, memory, deadline_ms, dollars_per_hour, watts):
    """Return the largest batch that decodes in time, and what its tokens cost, as a dict.

    model, context, hardware, memory: as for batch_limits. deadline_ms: the most that a step may
    take, above 0. dollars_per_hour, watts: of the hardware at work, above 0.
    users: the most texts of `context` tokens (the newest included) whose step takes deadline_ms at
    most by pass_ms, and whose caches fit beside the weights. step_ms: of that batch.
    tokens_per_second: of all users. dollars_per_million: tokens. joules_per_token.
    Returns None where not even one user is served.

    >>> cheapest_batch(TOY, 500, SLOW, 10**7, 3.1, 3.6, 100.0)["users"]
    2
    """
    ### BEGIN SOLUTION
    if min(deadline_ms, dollars_per_hour, watts) <= 0 or context < 1:
        raise ValueError("a deadline, a price and a power are above 0")

    def fits(users):
        held = model["weights"] * model["bits"] / 8 + users * context * model["kv_bytes"]
        return held <= memory and step_ms(users) <= deadline_ms

    def step_ms(users):
        return pass_ms(model, [(context - 1, 1)] * users, hardware)

    if not fits(1):
        return None
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    ms = step_ms(low)
    per_second = 1000 * low / ms
    return {
        "users": low,
        "step_ms": ms,
        "tokens_per_second": per_second,
        "dollars_per_million": dollars_per_hour / 3600 / per_second * 1e6,
        "joules_per_token": watts / per_second,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_cheapest_batch", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
names = ("users", "step_ms", "tokens_per_second", "dollars_per_million", "joules_per_token")
usual = {"context": 500, "memory": 10**7, "dollars_per_hour": 3.6, "watts": 100.0}


def prices(deadline_ms, **changed):
    found = cheapest_batch(TOY, hardware=SLOW, deadline_ms=deadline_ms, **usual | changed)
    return found and [found[name] for name in names]


expect(
    "in 4.2 ms",
    prices(4.2),
    [4, 4.0, 1000.0, 1.0, 0.1],
    mistakes={
        "a token too many": [4, 4.004, 999.000999, 1.001, 0.1001],
        "for one user": [4, 4.0, 250.0, 4.0, 0.4],
        "for a thousand": [4, 4.0, 1000.0, 0.001, 0.1],
    },
)
expect("in 100 ms, memory ends it", prices(100.0), [16, 10.0, 1600.0, 0.625, 0.0625])
expect("in 2.4 ms nobody is served", prices(2.4), None)
expect(
    "longer texts, another price and power",
    prices(7.5, context=1000, dollars_per_hour=7.2, watts=50.0),
    [5, 7.0, 5000 / 7, 2.8, 0.07],
    mistakes={"milliseconds as seconds": [5, 7.0, 5 / 7, 2800.0, 70.0]},
)
expect("1 MB has no room for the weights", prices(4.2, memory=10**6), None)
expect_table(prices, ("no time", [(0.0,), (-1.0,)], ValueError))
### BEGIN HIDDEN TESTS
expect_table(
    lambda ms, *rest: list(cheapest_batch(LLAMA, 8192, H100, 8 * 10**10, ms, 2.0, 700.0).values()),
    ("10 ms", (10.0,), [17, 9.9294, 1712.09, 0.324490, 0.408857]),
    ("20 ms", (20.0,), [48, 19.8655, 2416.25, 0.229925, 0.289706]),
    ("50 ms", (50.0,), [60, 23.7118, 2530.39, 0.219553, 0.276637]),
    rel=1e-5,
)
found = cheapest_batch(LLAMA, 8192, H100, 8 * 10**10, 5.0, 2.0, 700.0)
expect(
    "one user alone pays for all",
    [found["users"], found["dollars_per_million"]],
    [1, 2.667262],
    rel=1e-6,
)
### END HIDDEN TESTS

# %% [markdown]
# ## Reflect

# %% nbgrader={"grade": false, "grade_id": "published_day", "locked": true, "schema_version": 3, "solution": false, "task": false}
DEEPSEEK_DAY = {
    "nodes": 226.75,
    "gpus_per_node": 8,
    "dollars_per_gpu_hour": 2.0,
    "input_tokens": 608 * 10**9,
    "hit_tokens": 342 * 10**9,
    "output_tokens": 168 * 10**9,
    "hit_price": 0.14,
    "miss_price": 0.55,
    "output_price": 2.19,
    "input_rate": 73_700,
    "output_rate": 14_800,
}
SMALL_DAY = {
    "nodes": 2,
    "gpus_per_node": 1,
    "dollars_per_gpu_hour": 1.0,
    "input_tokens": 8_640_000_000,
    "hit_tokens": 4_320_000_000,
    "output_tokens": 864_000_000,
    "hit_price": 0.01,
    "miss_price": 0.02,
    "output_price": 0.25,
    "input_rate": 200_000,
    "output_rate": 10_000,
}


# %% nbgrader={"grade": false, "grade_id": "reflect_service", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_service(day):
    """Return what one day of a service's published figures adds up to, as a dict of floats.

    day: a dict of nodes (mean), gpus_per_node, dollars_per_gpu_hour; input_tokens, of which
        hit_tokens were found in a cache; output_tokens; hit_price, miss_price, output_price in
        dollars for a million tokens; input_rate, output_rate: tokens a second of one node that
        reads prompts (hits included) or that decodes.
    cost, income: dollars of the day. margin: income / cost - 1.
    nodes_needed: to read and to write all these tokens at the stated rates within 24 hours.
    output_cost_per_million: dollars that the decoding nodes cost for a million output tokens.

    >>> reflect_service(SMALL_DAY)["cost"]
    48.0
    """
    ### BEGIN SOLUTION
    if min(day.values()) < 0 or min(day["input_rate"], day["output_rate"], day["nodes"]) <= 0:
        raise ValueError("nodes and rates are above 0, and nothing is negative")
    node_hour = day["gpus_per_node"] * day["dollars_per_gpu_hour"]
    cost = day["nodes"] * node_hour * 24.0
    missed = day["input_tokens"] - day["hit_tokens"]
    income = day["hit_tokens"] * day["hit_price"] + missed * day["miss_price"]
    income = (income + day["output_tokens"] * day["output_price"]) / 1e6
    reading = day["input_tokens"] / day["input_rate"]
    writing = day["output_tokens"] / day["output_rate"]
    return {
        "cost": cost,
        "income": income,
        "margin": income / cost - 1,
        "nodes_needed": (reading + writing) / 86_400,
        "output_cost_per_million": node_hour / 3600 / day["output_rate"] * 1e6,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_reflect_service", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
found = reflect_service(DEEPSEEK_DAY)
expect("cost of DeepSeek's day", found["cost"], 87_072.0)
expect(
    "income",
    found["income"],
    562_100.0,
    mistakes={"hits at the full price": 702_320.0},
)
expect("margin", found["margin"], 5.455577, rel=1e-6, mistakes={"of the income": 0.845095})
expect(
    "nodes needed",
    found["nodes_needed"],
    226.863566,
    rel=1e-6,
    mistakes={"for the output alone": 131.381381, "hits are not read": 173.154837},
)
expect(
    "a million output tokens",
    found["output_cost_per_million"],
    0.3003003,
    rel=1e-6,
    mistakes={"all nodes are charged to the output": 0.518286},
)
expect(
    "another day",
    list(reflect_service(SMALL_DAY | {"nodes": 2, "gpus_per_node": 4}).values()),
    [192.0, 345.6, 0.8, 1.5, 1 / 9],
)
expect_table(reflect_service, ("a rate of 0", (SMALL_DAY | {"output_rate": 0},), ValueError))
### BEGIN HIDDEN TESTS
found = reflect_service(SMALL_DAY | {"nodes": 2, "gpus_per_node": 4, "hit_tokens": 0})
expect("without hits", [found["income"], found["margin"]], [388.8, 1.025])
# vary: 3 in 2..9
found = reflect_service(SMALL_DAY | {"gpus_per_node": 3})
expect("the price of a node is that of its cards", found["cost"], 144.0)
### END HIDDEN TESTS

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_service", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** One point for each of ten statements.
# ### END SOLUTION

# %% tags=["milestone"]
# You can say what a token costs, and why.
f"A million tokens of Llama-3-8B on an H100 cost ${cheapest_batch(LLAMA, 8192, H100, 80 * 10**9, 20, 2, 700)['dollars_per_million']:.2f}."

# %% [markdown]
# ## Summary
#
# - Weights are shared, caches are not.
