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
# ![The price of a token against its speed: long texts cost seven times as much as short ones, in fewer bits three times, and the fastest tokens most.](frontier.png) <!-- with section 8 -->
#
# One provider asks two dollars for a million tokens, another one twenty cents.
# You can work out without a GPU what such a token costs.
# It costs *bytes*: the weights, which all users of a batch share, and the keys and values, which they do not share (until section 4). <!-- with shared_pages -->
# It costs *bytes*: the weights, which all users of a batch share, and the keys and values, which they do not share. <!-- without shared_pages -->
# Grouped heads, batches, pages, drafts, experts and numbers of 4 bits each change one of the two. <!-- with shared_pages -->
# Grouped heads and batches each change one of the two. <!-- without shared_pages -->
#
# **You will be able to**
#
# - say how many bytes a conversation holds in memory, from a model's configuration file;
# - predict the time of any pass, and say when a larger batch stops being free;
# - simulate a server, and tell its throughput from its users' waiting times; <!-- with simulate_serving -->
# - audit a published cost, and round to FP8 and FP4 bit by bit. <!-- with round_to -->
# - audit a published cost. <!-- without round_to -->
#
# **You need** what attention computes (lesson 02, section 5), the two roofs of lesson 06 and a time predicted from them (lesson 07, section 5).
#
# Arguments stay as they are; where a list is expected, a tuple will do.
# A GB is 10⁹ bytes and a GiB 2³⁰.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import bisect
import math

import demos
import machines
import timed
from built import Timer, run_order, speedup_interval

from proflab.lesson import expect, expect_table, guesses, noise, plot
from proflab.lesson.hardware import Hardware

# %% nbgrader={"grade": false, "grade_id": "configs", "locked": true, "schema_version": 3, "solution": false, "task": false}
CONFIGS = machines.CONFIGS  # what models' configuration files say, by name: served.json

# %% [markdown]
# ## 1 · What a conversation weighs
#
# To write the next token, attention needs the key and the value of every token before it, in every layer.
# A server stores them in the *KV cache*.
# With 2 layers, 4 heads of 8 numbers and 16 bits, a token adds 2 · 2 · 32 · 2 = 256 bytes: a key and a value, 2 layers, 32 numbers, 2 bytes.
#
# Models changed to make it smaller.
# *Multi-query* attention ([*MQA*](https://arxiv.org/abs/1911.02150)) has one key and one value for all heads, *grouped-query* attention ([*GQA*](https://arxiv.org/abs/2305.13245)) one of each for a group of heads.
# *Latent* attention (*MLA*) stores one small vector, from which the keys and values of all heads are computed, and a *rotary* part, which carries the position.
# Layers with a *sliding window* store only the last tokens.
#
# **Predict.** [DeepSeek-V2](https://arxiv.org/abs/2405.04434) "reduces the KV cache by 93.3 %" against DeepSeek 67B.
# By how many percent does latent attention alone reduce it?
#
# **Predict.** How long must *one* text of Llama-3.1-8B be for its cache to outweigh the weights?

# %% tags=["guess"]
guess_latent_percent = None  # your guess, in percent
guess_cache_tokens = None  # your guess, in tokens; section 2 has the answer

# %% [markdown]
# <details><summary>Hint 1: one token</summary>
#
# How many numbers does *one* layer store for *one* token?
#
# </details>
#
# <details><summary>Hint 2: all of them</summary>
#
# Add up the tokens that each layer stores; everything else is a product.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "kv_bytes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def kv_bytes(config, tokens, bits=16):
    """Return the bytes that the keys and values of one text take up in all layers, an int.

    config: a dict like a model's config.json; None counts as absent. If text_config is there, its
        keys count instead.
        num_hidden_layers, num_attention_heads, hidden_size.
        num_key_value_heads: if absent, num_attention_heads.
        head_dim: numbers of a head; if absent, hidden_size // num_attention_heads.
        kv_lora_rank, qk_rope_head_dim: with the first (MLA), a layer stores kv_lora_rank +
            qk_rope_head_dim numbers a token, whatever its heads.
        layer_types: of each layer, "full_attention", or "sliding_attention", which stores the last
            sliding_window tokens at most; if absent, all are full.
    tokens: int, at least 0. bits: of a number, at least 1.
    Part of a byte at the very end counts as a byte.
    Raises ValueError for another kind of layer, naming it, or another number of kinds.

    >>> kv_bytes({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}, 3)
    768
    """
    ### BEGIN SOLUTION
    if tokens < 0 or bits < 1:
        raise ValueError(f"{tokens} tokens of {bits} bits take up no memory")
    config = config.get("text_config") or config
    config = {key: value for key, value in config.items() if value is not None}
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    if "kv_lora_rank" in config:
        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        head = config.get("head_dim", config["hidden_size"] // heads)
        numbers = 2 * config.get("num_key_value_heads", heads) * head
    kinds = config.get("layer_types", ["full_attention"] * layers)
    if len(kinds) != layers:
        raise ValueError(f"layer_types has {len(kinds)} kinds for {layers} layers")
    stored = 0
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise ValueError(f"the cache of a layer of the kind {kind!r} is not known")
        slides = kind == "sliding_attention"
        stored += min(tokens, config["sliding_window"]) if slides else tokens
    return -(-stored * numbers * bits // 8)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_kv_bytes", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
llama, xl = CONFIGS["Llama-3-8B"], CONFIGS["GPT-2 XL"]
v3, oss = CONFIGS["DeepSeek-V3"], CONFIGS["gpt-oss-120b"]
small = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}
one_pair = small | {"num_key_value_heads": 1, "sliding_window": 4}
wide = small | {"num_key_value_heads": 2, "head_dim": 64}
two = {"num_hidden_layers": 2, "num_attention_heads": 1, "hidden_size": 1}
latent = {"num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 2}
latent |= {"hidden_size": 8, "kv_lora_rank": 6, "qk_rope_head_dim": 2, "sliding_window": 3}
latent["layer_types"] = [*["sliding_attention"] * 3, "full_attention"]
expect_table(
    kv_bytes,
    ("Llama-3-8B, a token", (llama, 1), 131_072, {"all heads": 524_288, "keys alone": 65_536}),
    ("GPT-2 XL, 1,024 tokens, 32 bits", (xl, 1024, 32), 629_145_600, {"keys alone": 314_572_800}),
    ("one KV head; no layer has the window", (one_pair, 10, 8), 320, {"the window is used": 128}),
    ("heads wider than the model has room for", (wide, 1), 1_024, {"hidden size / heads": 128}),
    ("DeepSeek-V3, 200,000 tokens", (v3, 200_000), 14_054_400_000, {"keys alone": 12_492_800_000}),
    ("gpt-oss-120b, 8,192 tokens", (oss, 8192), 306_708_480, {"no layer forgets": 603_979_776}),
    (
        "three of four latent layers have a window",
        (latent, 7),
        256,
        {"latent layers never forget": 448, "of each KV head": 512},
    ),
    (
        "of a hundred bits only the last byte is rounded up",
        (two, 5, 5),
        13,
        {"cut off": 12, "each layer rounded up": 14, "each token rounded up": 20},
    ),
)
### BEGIN HIDDEN TESTS
# vary: 131_072 in 90_000..200_000
found = kv_bytes(CONFIGS["DeepSeek-V3"], 131_072, 8)
expect("a latent vector in 8 bits", found, 4_605_345_792)
published = {"num_hidden_layers": 1, "num_attention_heads": 64, "hidden_size": 2880}
published |= {"num_key_value_heads": 8}
# vary: 72 in 50..128
expect(
    "heads wider than their share of the model", kv_bytes(published | {"head_dim": 72}, 1), 2_304
)
expect(
    "a window longer than the text stores it all", kv_bytes(CONFIGS["gpt-oss-120b"], 100), 7_372_800
)
expect("no tokens take no bytes", kv_bytes(CONFIGS["Llama-3-8B"], 0), 0)
expect("six bits of each number, DeepSeek-V2", kv_bytes(CONFIGS["DeepSeek-V2"], 1, 6), 25_920)
full, slide = "full_attention", "sliding_attention"
mixed = {"num_hidden_layers": 4, "num_attention_heads": 2, "hidden_size": 8, "sliding_window": 3}
# vary: 7 in 5..30
found = kv_bytes(mixed | {"layer_types": [slide, slide, full, slide], "vocab_size": 9}, 7)
expect("layers that forget, in no regular order", found, 512)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_kv_bytes_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
small = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32}
nulls = small | dict.fromkeys(["num_key_value_heads", "head_dim", "kv_lora_rank", "layer_types"])
windows = small | {"sliding_window": 9, "layer_types": ["sliding_attention"] * 2}
sees = {"num_hidden_layers": 3, "num_attention_heads": 1, "hidden_size": 7, "head_dim": 5}
sees |= {"num_key_value_heads": 1}
expect_table(
    kv_bytes,
    ("null is absent, as in many a config.json", (nulls | {"text_config": None}, 10, 12), 1_920),
    (
        "a model that also sees: its text_config counts",
        (sees | {"text_config": small | {"head_dim": 16}}, 10),
        5_120,
        {"the keys beside text_config": 600, "what it lacks, from beside it": 1_280},
    ),
    ("a text shorter than its window; a bit a number", (windows, 3, 1), 48),
    ("no tokens", (small, 0), 0),
    (
        "kinds of layers that nobody explained; whatever else is refused",
        [
            (windows | {"layer_types": ["linear_attention", "full_attention"]}, 4),
            (windows | {"layer_types": ["full_attention"]}, 4),
            (small, -1),
            (small, 4, 0),
        ],
        ValueError,
    ),
)
given = {"num_hidden_layers": 1, "num_attention_heads": 4, "hidden_size": 32, "head_dim": None}
given |= {"layer_types": ["full_attention"], "sliding_window": 4}
kv_bytes(given, 8)
expect(
    "the configuration stays as it is",
    given,
    {
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "hidden_size": 32,
        "head_dim": None,
        "layer_types": ["full_attention"],
        "sliding_window": 4,
    },
)
### BEGIN HIDDEN TESTS
# vary: 5 in 2..30
expect("a number may have three bits", kv_bytes(small, 5, 3), 240)
# vary: 9 in 2..30
expect("null is absent, with a window", kv_bytes(nulls | {"sliding_window": 4}, 9), 2_304)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "demo_bytes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the bytes that a token of nine models adds to the cache, and compares your guess.
kb = {name: kv_bytes(config, 1) / 1000 for name, config in CONFIGS.items()}
v2, dense = CONFIGS["DeepSeek-V2"], CONFIGS["DeepSeek 67B"]
latent, both = (100 * (1 - kv_bytes(v2, 1, n) / kv_bytes(dense, 1)) for n in (16, 6))
guesses.compare("what latent attention alone saves", guess_latent_percent, round(latent, 1), "%")
print(f"with 6 bits a number in place of 16: {both:.1f} %")
title = "Keys and values of one token, 16 bits a number"
plot.bars(kb, unit="KB", title=title, show="{:.3f}".format)

# %% [markdown]
# [Insights into DeepSeek-V3](https://arxiv.org/abs/2505.09343) publishes three of these bars: 70.272, 327.680 (a model shaped like Llama-3-70B) and 516.096 KB.
# Its table prints the factor 7.28×; its own numbers, 516.096 / 70.272, give 7.34.
# The 93.3 % of DeepSeek-V2 compare 6 bits a number with 16.
# [PagedAttention](https://arxiv.org/abs/2309.06180) gives OPT-13B "800 KB" a token and "1.6 GB" for 2,048 tokens: these are 800 KiB, and 1.68 GB or 1.56 GiB.

# %% [markdown]
# **A race.** The program below extends one text after another to the end of the model's context, and reads the whole text again for each token.
# Write one that returns the same and costs less on `DESK`, counted as in lesson 06.
# A program that may not look at its tokens needs 16 passes; each reads the weights, 0.47 MB in 47 µs, and needs 15 ops.
# The first multiplies 256 tokens, in 0.29 ms: the floor is 0.29 + 15 × 0.047 + 16 × 15 × 0.005 = 2.2 ms.
#
# <details><summary>Hint 1: what is computed again?</summary>
#
# Which results of the first pass are still right for the second token?
# Which of the prompt's logits are needed?
# What can four texts share?
#
# </details>
#
# <details><summary>Hint 2: the shape of the answer</summary>
#
# Write a loop over the new tokens and, inside it, one over the blocks.
# For each block, allocate one tensor for the queries, keys and values of whole texts; each pass writes its part: `cache[:, past:end] = …`.
# The last block computes only the last token.
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "generation_programs", "locked": true, "schema_version": 3, "solution": false, "task": false}

from built import op_facts

import proflab
from proflab import models
from proflab.lesson import expect_faster, race
from proflab.nn import functional as F

race.count_with(op_facts)


def make_gpt2(words, context, width, blocks, heads):
    """Return a function that makes a GPT-2 of these sizes."""
    return lambda: models.GPT2(words, context, width, blocks, heads)


def split_heads(x, heads):
    """Return (texts, tokens, width) as (texts, heads, tokens, width / heads), a view."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


by_heads = split_heads  # its name in earlier releases


def slow_generate(model, tokens):
    """Fill texts with the likeliest tokens up to model.context; return tokens and logits."""
    texts, logits = [], []
    for text in tokens.split(1):
        chosen = []
        while text.shape[1] < model.context:
            chosen.append(model(text)[:, -1])
            text = proflab.cat([text, chosen[-1].argmax(-1, keepdim=True)], 1)
        texts.append(text)
        logits.append(proflab.stack(chosen, 1))
    return proflab.cat(texts), proflab.cat(logits)


# %% nbgrader={"grade": false, "grade_id": "generate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generate(model, tokens):
    """Return what slow_generate does, at the least cost on DESK.

    >>> [x.shape for x in generate(make_gpt2(9, 6, 8, 1, 2)(), proflab.zeros(1, 4, dtype="int64"))]
    [(1, 6), (1, 2, 9)]

    model: a GPT2. With cache = model.new_cache(), model(tokens, cache) appends keys and values to
        the cache by cat. Its parts may be called one by one: wte(tokens) + wpe.weight[positions];
        in each of its blocks x + attn.proj(mixed), where attn.qkv(ln1(x)) holds queries, keys and
        values, a third each, of attn.heads heads, and then x + mlp(ln2(x)); at the end
        lm_head(ln_f(x)).
    tokens: int64, (texts, prompt), shorter than model.context.
    Returns two tensors: the texts, each with its likeliest next tokens up to model.context in all,
    and the logits that these were chosen by, (texts, added, words).
    """
    ### BEGIN SOLUTION
    (texts, prompt), width = tokens.shape, model.wte.weight.shape[1]
    heads, past, written = model.blocks[0].attn.heads, 0, [tokens]
    caches = [proflab.zeros(texts, model.context, 3 * width) for _ in model.blocks]
    logits = proflab.zeros(texts, model.context - prompt, model.wte.weight.shape[0])
    for end in range(prompt, model.context):
        x = model.wte(written[-1]) + model.wpe.weight[past:end]
        for block, cache in zip(model.blocks, caches, strict=True):
            cache[:, past:end] = block.attn.qkv(block.ln1(x))
            if cache is caches[-1]:  # only the last token is asked for
                past, x = end - 1, x[:, -1:]
            queries, keys, values = (
                split_heads(each, heads) for each in cache[:, :end].chunk(3, -1)
            )
            queries, causal = queries[:, :, past:], end - past > 1
            mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
            x = x + block.attn.proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln2(x))
        logits[:, end - prompt] = model.lm_head(model.ln_f(x[:, -1]))
        written.append(logits[:, end - prompt].argmax(-1, keepdim=True))
        past = end
    return proflab.cat(written, 1), logits
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_generate", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
expect_faster(
    "four texts of 64 tokens, 16 more",
    race.traced(generate, model=make_gpt2(256, 80, 64, 2, 4), tokens=("int64", (4, 64))),
    like=slow_generate,
    machine="DESK",
    full=3.989,
    best=3.898,
    floor=2.2,
    draws={"tokens": 256, "weight": "fan-in"},
)
### BEGIN HIDDEN TESTS
# about: what is computed once need not be computed again, however long the prompt is
expect_faster(
    "three short texts, three blocks",
    race.traced(generate, model=make_gpt2(150, 32, 48, 3, 2), tokens=("int64", (3, 20))),
    like=slow_generate,
    machine="DESK",
    full=2.956,
    draws={"tokens": 150, "weight": "fan-in"},
)
expect_faster(
    "five longer texts, one block",
    race.traced(generate, model=make_gpt2(300, 96, 32, 1, 2), tokens=("int64", (5, 90))),
    like=slow_generate,
    machine="DESK",
    full=0.7126,
    draws={"tokens": 300, "weight": "fan-in"},
)
# viva: generate(make_gpt2(9, 6, 8, 1, 2)(), proflab.zeros(3, 4, dtype="int64"))[0].shape
# viva: generate(make_gpt2(7, 8, 8, 2, 2)(), proflab.zeros(2, 5, dtype="int64"))[1].shape
# viva: generate(make_gpt2(5, 12, 4, 1, 1)(), proflab.ones(1, 9, dtype="int64"))[0].shape
# viva: generate(make_gpt2(5, 12, 4, 1, 1)(), proflab.zeros(2, 3, dtype="int64"))[1].shape
# viva: generate(make_gpt2(1, 6, 4, 2, 1)(), proflab.zeros(1, 4, dtype="int64"))[0].tolist()
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_generate", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what each line costs, of the given program and of yours, and draws where yours stands.
four = {"model": make_gpt2(256, 80, 64, 2, 4), "tokens": ("int64", (4, 64))}
print(race.table(slow_generate, generate, "DESK", **four))
race.picture(slow_generate, generate, "DESK", 3.989, best=3.898, floor=2.2, **four)

# %% [markdown]
# **Optional.** How many FLOPs does a cache save?
# With the logits of each pass's last token only, as engines compute them, the factor is 19.9 at 32 + 32 tokens; with all logits it would be 24.2.


# %% nbgrader={"grade": false, "grade_id": "generation_flops", "locked": false, "schema_version": 3, "solution": true, "task": false}
def generation_flops(layers, d, vocab, prompt, new, cached):
    """Return the FLOPs of a decoder's matrix products while it generates tokens. (Optional.)

    layers, d, vocab: blocks, width and vocabulary of a GPT-2. prompt, new: tokens at the start, and
        to generate.
    The first pass has the prompt's tokens, and gives the first new token; each later pass gives one
    more. cached: True if keys and values are kept, so that each later pass has the newest token
    alone; else it has all tokens so far.
    A pass of n tokens that look at t (themselves included; all pairs count): in each block
    24 * n * d**2 for the projections and the feed-forward part, 4 * n * t * d for scores and mix;
    and, for the logits of its last token, 2 * d * vocab.

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
small = (12, 768, 50257)
expect_table(
    generation_flops,
    ("32 + 32 tokens", (*small, 32, 32, False), 263_433_732_096, {"all logits": 378_299_523_072}),
    ("with a cache", (*small, 32, 32, True), 13_264_601_088, {"all logits": 15_657_638_400}),
    ("128 + 128 tokens", (*small, 128, 128, False), 4_353_200_947_200),
    ("with a cache, 128 + 128", (*small, 128, 128, True), 54_700_474_368),
    ("one new token needs no cache", (2, 8, 10, 5, 1, True), 17_120),
    (
        "no prompt, no new token; no layers, no width; no vocabulary",
        [
            (2, 8, 10, 0, 5, True),
            (2, 8, 10, 5, 0, True),
            (0, 8, 10, 5, 5, True),
            (2, 0, 10, 5, 5, False),
            (2, 8, 0, 5, 5, True),
        ],
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

# %% nbgrader={"grade": false, "grade_id": "demo_cache", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times 16 tokens after 128 here, without a cache, with the engine's and with yours.
from built import confidence_interval

noise.show_load()
gpt2 = timed.small_gpt2(context=144)
prompt = timed.prompt(gpt2, tokens=128)
programs = {"without a cache": lambda: gpt2.generate(prompt, 16, use_cache=False)}
programs["the engine's cache"] = lambda: gpt2.generate(prompt, 16)
programs["yours"] = lambda: generate(gpt2, prompt)
ms = timed.in_order(programs, run_order(list(programs), 8), Timer())
for name, times in ms.items():
    rates = [16_000 / each for each in times]
    noise.tell(name, rates, "tokens a second", interval=confidence_interval)
    gain = speedup_interval(ms["without a cache"], times)
    if name in ("the engine's cache", "yours"):
        print("    {speedup:.1f} times as fast ({low:.1f} to {high:.1f})".format(**gain))

# %% [markdown]
# A cache saves more FLOPs than time, because each weight that is read is now used only once: count bytes, too.

# %% [markdown]
# ## 2 · Two kinds of pass
#
# *Prefill* reads a prompt: many new tokens, one reading of the weights.
# *Decode* adds one token to each text of the batch.
# One sum holds for both, and for a mixture: lesson 07's `predict_ms` over two rows, the weights and the attention.
# A toy has 10⁶ weights of 16 bits and stores 1,000 bytes a token; its machine reads 10⁹ bytes a second.
# One token behind 999 others takes 2 ms for the weights and 1 ms for the cache.
#
# **Predict.** GPT-2 XL in float32 adds a token for each of 32 users on a T4.
# With empty caches, 32 users cost 1.05 times one (lesson 07).
# What is the factor if each user has 1,024 tokens?

# %% tags=["guess"]
guess_batch_factor = None  # your guess: how many times what one text costs?

# %% [markdown]
# <details><summary>Hint 1: what is shared?</summary>
#
# Which bytes does a second user add, and which are shared?
#
# </details>
#
# <details><summary>Hint 2: pairs</summary>
#
# The pairs of one sequence are new · cached + 1 + 2 + … + new.
# (Lessons 02 and 05 count all pairs, as a plain product computes them; here, as in fused attention, only pairs that are seen count.)
#
# </details>

# %% nbgrader={"grade": false, "grade_id": "machines", "locked": true, "schema_version": 3, "solution": false, "task": false}
# A toy, two models and two cards. pair_flops: 4 · layers · heads · head size. Llama's
# embedding table takes up memory, but a pass reads only a row of it for each token.
TOY = {"weights": 10**6, "bits": 16, "kv_bytes": 1000, "pair_flops": 2000}
XL = {"weights": 1_557_611_200, "bits": 32, "kv_bytes": 614_400, "pair_flops": 307_200}
LLAMA = {"weights": 7_504_924_672, "bits": 16, "kv_bytes": 131_072, "pair_flops": 524_288}
LLAMA["held_bytes"] = 2 * 8_030_261_248
SLOW = Hardware(peak_flops=2e10, bandwidth=1e9, name="a toy")
T4 = Hardware(peak_flops=8.1e12, bandwidth=320e9, name="T4", source="NVIDIA's data sheet")
H100 = Hardware(peak_flops=989.5e12, bandwidth=3350e9, name="H100", source="NVIDIA's data sheet")


# %% nbgrader={"grade": false, "grade_id": "pass_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def pass_ms(model, sequences, hardware, overhead_ms=0.0):
    """Return the ms of a model's pass over a batch of sequences, one part after the other.

    model: a dict of weights (numbers), bits (of each), kv_bytes (of a cached token), pair_flops (of
        a new token that sees one), perhaps active: weights that a token uses.
    sequences: at least one (cached, new): tokens in the cache (0 or more), to read (1 or more).
    hardware: has peak_flops (FLOP/s), bandwidth (bytes/s). overhead_ms: once a pass, 0 or more.
    Weights are read once; active ones take 2 FLOPs for each new token. Attention moves the bytes of
    cached and new tokens; a new token sees the cached ones, the new ones before it and itself. Each
    part takes the longer of its FLOPs at the peak and its bytes at the bandwidth.

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


# %% nbgrader={"grade": true, "grade_id": "test_pass_ms", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
sparse, one = TOY | {"active": 250_000}, [(999, 1)]
both = [(999, 1), (0, 50)]
expect_table(
    pass_ms,
    ("one token behind 999", (TOY, one, SLOW), 3.0, {"no cache": 2.1, "itself left out": 2.999}),
    ("four such texts", (TOY, one * 4, SLOW), 6.0, {"weights for each": 12.0, "one cache": 3.0}),
    (
        "two prompts of 100 tokens",
        (TOY, [(0, 100)] * 2, SLOW),
        21.01,
        {"100² pairs": 22.0, "they see each other": 22.01},
    ),
    ("100 tokens behind 900", (TOY, [(900, 100)], SLOW), 19.505, {"all pairs": 20.0}),
    (
        "a token and a prompt",
        (TOY, both, SLOW),
        6.15,
        {"all at once": 5.3275, "two passes": 8.1275},
    ),
    ("a quarter is active", (sparse, [(0, 50)], SLOW), 2.1275, {"`active` is ignored": 5.1275}),
    ("an overhead, once", (TOY, one * 4, SLOW, 0.25), 6.25, {"for each text": 7.0}),
    ("weights of 12 bits", (TOY | {"bits": 12}, one, SLOW), 2.5, {"of whole bytes": 2.0}),
)
### BEGIN HIDDEN TESTS
# vary: 99 in 50..150, 3 in 2..6
found = pass_ms(TOY | {"bits": 4}, [(99, 1)] * 3, SLOW)
expect("weights of 4 bits", found, 0.8)
texts = [(999, 1), (0, 50)]
pass_ms(TOY, texts, SLOW)
expect("the sequences stay as they are", texts, [(999, 1), (0, 50)])
# vary: 9 in 4..20, 40 in 20..60
found = pass_ms(TOY, [(9, 40), (0, 7)], Hardware(peak_flops=1e8, bandwidth=1e12))
expect("a machine on which all is computing", found, 964.16)
# vary: 400 in 300..600, 0.5 in 0.1..0.9
found = pass_ms(TOY | {"active": 100_000}, [(400, 1), (400, 2), (7, 30)], SLOW, 0.5)
expect("texts that read and texts that write, with an overhead", found, 3.34)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_pass_ms_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "test_pass_ms_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    pass_ms,
    (
        "no sequences, no new token; a negative cache or time",
        [
            (TOY, [], SLOW),
            (TOY, [(9, 1), (9, 0)], SLOW),
            (TOY, [(-1, 1)], SLOW),
            (TOY, [(9, 1)], SLOW, -1.0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("an empty cache is no mistake", pass_ms(TOY, [(0, 1)], SLOW), 2.001)
# vary: 0.125 in 0.1..0.9
expect("an overhead may be short", pass_ms(TOY, [(0, 1)], SLOW, 0.125), 2.126)
### END HIDDEN TESTS

# %% [markdown]
# `pass_ms` is the time of an engine that runs one part after the other.
# It is no bound: in [NanoFlow](https://arxiv.org/abs/2408.12757), one micro-batch computes while another one reads.
# No order of the work beats `bound_ms`, the longer of all FLOPs at the peak and all bytes at the bandwidth.

# %% nbgrader={"grade": false, "grade_id": "bound_ms", "locked": true, "schema_version": 3, "solution": false, "task": false}
from dataclasses import replace


def bound_ms(model, sequences, hardware):
    """Return the ms that no order of a pass's work can beat.

    On a machine that reads in no time all FLOPs are left, and on one that computes in no time all
    bytes.
    """
    endless = (replace(hardware, bandwidth=1e300), replace(hardware, peak_flops=1e300))
    return max(pass_ms(model, sequences, each) for each in endless)


# %% nbgrader={"grade": false, "grade_id": "demo_passes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the ms of a pass against its new tokens, and prints where the two parts could overlap.
lines, many = {}, [2**k for k in range(11)]
for name, model, card in (("T4", XL, T4), ("H100", LLAMA, H100)):
    lines[f"{name}: a prompt"] = [(n, pass_ms(model, [(0, n)], card)) for n in many]
    lines[f"{name}: users"] = [(n, pass_ms(model, [(1023, 1)] * n, card)) for n in many[:8]]
for n in (1, 51, 1024):
    print(f"GPT-2 XL on a T4 reads a prompt of {n:,} in {pass_ms(XL, [(0, n)], T4):.1f} ms")
mixed = [(1023, 1)] * 200 + [(0, 512)]
both = pass_ms(LLAMA, mixed, H100), bound_ms(LLAMA, mixed, H100)
print("200 users and 512 tokens of a prompt: {:.1f} ms, bound {:.1f}".format(*both))
weights, token = 2 * LLAMA["weights"], kv_bytes(CONFIGS["Llama-3-8B"], 1)
longer = math.ceil(weights / token)
guesses.compare("the cache outweighs the weights from", guess_cache_tokens, longer, "tokens")
title = "GPT-2 XL on a T4, Llama-3-8B on an H100; users have 1,024 tokens each"
plot.curves(lines, x="new tokens in the pass", y="ms", log="xy", title=title)

# %% nbgrader={"grade": false, "grade_id": "demo_ops", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Counts a step of GPT-2 XL op by op, as lesson 05 does, beside your sum of two parts.
from built import op_facts, predict_ms

for users in (1, 32):
    rows = timed.counted(op_facts, 1023, users)
    kept = [row for row in rows if row["op"] != "cat"]
    ms = [predict_ms(kept, T4, 0.0), predict_ms(kept, T4, 0.005), predict_ms(rows, T4, 0.005)]
    print(
        f"{users:>2} users: {pass_ms(XL, [(1023, 1)] * users, T4):.2f} ms by pass_ms; op by op"
        f" {ms[0]:.2f}, with 5 µs an op {ms[1]:.2f}, with the engine's `cat` {ms[2]:.2f}"
    )

# %% [markdown]
# A prompt of 51 tokens costs a T4 as much as one token, since both passes read the weights once.
# With 200 users and 512 tokens of a prompt, a pass would take 18.8 ms one part after the other; the bound is 12.5 ms.
# Both leave out overheads (3.1 of the 24.69 ms), elementwise operations, and scores that are written to memory; with these, lesson 07 counts 552 ms for the prompt of 1,024.
# If a server takes twice as long as `pass_ms`, count its ops: here `cat` copies the caches for every token.
#
# A batch is free up to one of three limits: the weights' FLOPs take as long as reading the weights, the caches take as long to read as the weights, or memory is full.
# Memory holds more than a pass reads: of Llama-3-8B's embedding table, 1.05 GB, a token needs one row.
# In 10 MB, the toy has memory for 16 texts of 500 tokens beside its weights.
#
# <details><summary>Hint: two times</summary>
#
# Set the two times equal; the third limit compares bytes.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "batch_limits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def batch_limits(model, context, hardware, memory):
    """Return the numbers of users at which decoding meets its three limits, as a dict.

    model, hardware: as for pass_ms. In the model held_bytes may say how much memory the weights
        take up; without it, they take up the bytes that a pass reads.
    context: tokens of each text, the newest included, at least 1. memory: bytes of the card.
    compute: float, the users at which the weights' FLOPs take as long as reading the weights.
    cache: float, the users whose caches take as long to read as the weights.
    memory: int, the most users whose caches fit beside the weights; they may fill it exactly.
    Raises ValueError where the weights leave no memory.

    >>> batch_limits(TOY, 1000, SLOW, 7_000_000)["memory"]
    5
    """
    ### BEGIN SOLUTION
    read, each = model["weights"] * model["bits"] / 8, context * model["kv_bytes"]
    held = model.get("held_bytes", read)
    if context < 1 or memory <= held:
        raise ValueError(f"{memory:,} bytes leave nothing for texts of {context} tokens")
    flops = 2 * model.get("active", model["weights"])
    return {
        "compute": read / hardware.bandwidth * hardware.peak_flops / flops,
        "cache": read / each,
        "memory": int((memory - held) // each),
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_batch_limits", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
found = batch_limits(TOY, 500, SLOW, 10_000_000)
expect("compute", found["compute"], 20.0, mistakes={"multiply-adds": 40.0})
expect("cache", found["cache"], 4.0, mistakes={"in tokens": 2000.0, "upside down": 0.25})
expect("memory", found["memory"], 16, mistakes={"the weights are forgotten": 20})
limits, quarter = ("compute", "cache", "memory"), TOY | {"active": 250_000}
expect_table(
    lambda *arguments: [batch_limits(*arguments)[limit] for limit in limits],
    (
        "4.25 bits a weight, 1,000 tokens",
        (TOY | {"bits": 4.25}, 1000, SLOW, 4_000_000),
        [5.3125, 0.53125, 3],
    ),
    ("a quarter is active, 9.9 MB", (quarter, 500, SLOW, 9_900_000), [80.0, 4.0, 15]),
    ("GPT-2 XL on a T4", (XL, 1024, T4, 16 * 10**9), [50.625, 9.903025, 15]),
    (
        "Llama-3-8B holds more than a pass reads",
        (LLAMA, 8192, H100, 80 * 10**9),
        [295.37313433, 13.97901154, 59],
        {"only what a pass reads": [295.37313433, 13.97901154, 60]},
    ),
    (
        "one and a half bytes a token",
        (TOY | {"kv_bytes": 1.5}, 501, SLOW, 2_003_005),
        [20.0, 2e6 / 751.5, 3],
    ),
    rel=1e-6,
)
### BEGIN HIDDEN TESTS
limits = ("compute", "cache", "memory")
held = TOY | {"held_bytes": 3_000_000}
expect_table(
    lambda model, *rest: [batch_limits(model, *rest)[limit] for limit in limits],
    # vary: 8192 in 6_000..9_000
    ("long texts", (LLAMA, 8192, H100, 60 * 10**9), [295.37313433, 13.97901154, 40]),
    # vary: 1024 in 800..1_500
    (
        "shorter texts move two of the limits",
        (LLAMA, 1024, H100, 80 * 10**9),
        [295.37313433, 111.83209229, 476],
    ),
    # vary: 200 in 100..300
    ("weights of 32 bits", (TOY | {"bits": 32}, 200, SLOW, 6_000_000), [40.0, 20.0, 10]),
    # vary: 500 in 300..900
    ("tables that are held, not read", (held, 500, SLOW, 10**7), [20.0, 4.0, 14]),
)
together = Hardware(peak_flops=8 * 1979e12, bandwidth=8 * 4800e9)
deepseek = {"weights": 670_099_725_312, "bits": 8, "kv_bytes": 70_272, "pair_flops": 16_990_208}
deepseek["active"] = 36_625_603_584
expect(
    "experts on eight cards",
    [batch_limits(deepseek, 8192, together, 8 * 141 * 10**9)[limit] for limit in limits],
    [3771.6, 1164.04, 795],
    rel=1e-4,
)
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_batch_limits_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def users_that_fit(*arguments):
    return batch_limits(TOY, *arguments)["memory"]


expect_table(
    users_that_fit,
    (
        "the weights do not fit; the weights leave no memory; texts without tokens",
        [(500, SLOW, 1_000_000), (500, SLOW, 2_000_000), (0, SLOW, 10_000_000)],
        ValueError,
    ),
    ("one token is a text", (1, SLOW, 72_000_000), 70_000),
    ("one user fills the memory exactly", (500, SLOW, 2_500_000), 1),
    ("room for less than one text is no mistake", (500, SLOW, 2_400_000), 0),
)
users_that_fit(500, SLOW, 2_500_000)
expect(
    "the model stays as it is",
    TOY,
    {"weights": 1_000_000, "bits": 16, "kv_bytes": 1000, "pair_flops": 2000},
)
### BEGIN HIDDEN TESTS
# vary: 9_000_000 in 5_000_000..9_900_000
expect("four tokens are a text", batch_limits(TOY, 4, SLOW, 9_000_000)["memory"], 1_750)
held = TOY | {"held_bytes": 3_000_000}
# vary: 3_230_000 in 3_210_000..3_290_000
expect("beside what is held", batch_limits(held, 100, SLOW, 3_230_000)["memory"], 2)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_limits", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the three limits of models on cards, and compares your guess of a factor.
from built import batch_cost

factor = pass_ms(XL, [(1023, 1)] * 32, T4) / pass_ms(XL, [(1023, 1)], T4)
guesses.compare("32 texts of 1,024 tokens, times one", guess_batch_factor, round(factor, 2))
print(f"{'':<14}{'':<11}{'tokens':>7}{'compute':>9}{'cache':>8}{'memory':>8}")
for name, bits, *card in machines.PLACES:
    hardware, memory = machines.cards(*card, bits)
    for context in (128, 1024, 8192):
        model = machines.served(name, bits, kv_bytes, max(bits, 16), context)
        found = batch_limits(model, context, hardware, memory).values()
        label = f"{name:<14}{hardware.name}" if context == 128 else ""
        print("{:<25}{:>7,}{:>9,.0f}{:>8,.0f}{:>8,}".format(label, context, *found))
fitted = batch_cost([1, 2, 4], [pass_ms(LLAMA, [(8191, 1)] * n, H100) for n in (1, 2, 4)])
half = fitted["half_batch"]  # by the fit of lesson 07
print(f"Llama-3-8B at 8,192 tokens reaches half of its best rate with {half:.6f} users")

# %% [markdown]
# Compute is the first limit up to 388 tokens a text for Llama-3-8B on an H100, 2,058 for the 70B and 1,724 for DeepSeek-V3.
# So "batch until you are compute-bound" is advice for shorter texts; for longer ones caches or memory come first.
# On the T4 only 15 of the 32 long texts fit.
# A batch does not raise the FLOPs for each byte of *attention*, since each text has its own cache: 4 for Llama-3-8B, 8 for the 70B, and 242 with MLA, just below the H100's ridge of 295.

# %% nbgrader={"grade": false, "grade_id": "demo_batch", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Times a step of 1, 2, 4 and 8 users here, with the engine's `cat` and with a preallocated cache.
noise.show_load()
gpt2, users = timed.small_gpt2(context=1024), (1, 2, 4, 8)
for context in demos.CONTEXTS:
    steps = timed.steps(gpt2, context, users)
    ms = timed.in_order(steps, run_order(list(steps), 10), Timer())
    for way in ("cat", "preallocated"):
        each = {n: [took / n for took in ms[way, n]] for n in users}  # ms a token
        gains = [speedup_interval(each[1], each[n]) for n in users[1:]]
        told = ["{speedup:.2f} ({low:.2f} to {high:.2f})".format(**gain) for gain in gains]
        print(
            f"{context:>3} tokens, {way:<12}: 2, 4, 8 users write {', '.join(told)} times as fast"
        )

# %% nbgrader={"grade": false, "grade_id": "demo_batch_ops", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints in which ops such a step spends its time, and the least time that is possible here.
from built import OpRecorder, measure_bandwidth, measure_peak_flops

noise.show_load()
gpt2, here = timed.small_gpt2(1024), timed.this_hardware(measure_peak_flops, measure_bandwidth)
served = timed.as_served(gpt2, kv_bytes)
for context, users in ((32, 1), (32, 2), (32, 4), (984, 8)):
    steps = timed.steps(gpt2, context, [users])
    ops = timed.recorded(OpRecorder, steps["cat", users])
    shown = ", ".join(f"{op} {ms / sum(ops.values()):.0%}" for op, ms in [*ops.items()][:3])
    bound = bound_ms(served, [(context, 1)] * users, here)
    print(
        f"{users} users behind {context:>3}: at least {bound:.1f} ms, took {sum(ops.values()):.1f}"
    )
    print(f"    {shown}; linear {ops['linear']:.1f} ms")

# %% [markdown]
# With `cat`, which copies every cache, eight users of long texts gain less than with a preallocated cache.
# No roofline predicts that two users take more than twice as long as one: from two rows on, numpy's library first packs the matrix of `linear`.
#
# ## 3 · Who waits for whom
#
# A server works in *steps*; in each one, every running text gets a token.
# *Static batching* fills its slots, and admits again when the last of these texts has ended.
# [*Continuous batching*](https://www.usenix.org/conference/osdi22/presentation/yu), or iteration-level scheduling, admits before every step.
#
# ![Three requests on two slots. Static: the third waits for both others. Continuous: it takes the first free slot, and holds up the other text.](steps.png)
#
# A user waits for the *time to first token* (TTFT), and then for the *time per output token* (TPOT).
# Everybody waits while a long prompt is read, so it may be read in chunks: [*chunked prefill*](https://arxiv.org/abs/2403.02310).
# Let a step take 2 ms, and 1 ms more for each new token: a prompt of 4 tokens takes 6 ms, then the first token is there, and two more take 3 ms each.
#
# **Predict.** Suppose that 12.5 requests a second arrive at 32 slots.
# By what factor does the 95th percentile of the time per output token change if prompts are cut into chunks of 512?

# %% tags=["guess"]
guess_chunk_factor = None  # your guess: with chunks / without

# %% nbgrader={"grade": false, "grade_id": "four_requests", "locked": true, "schema_version": 3, "solution": false, "task": false}
FOUR = [(0, 4, 5), (0, 2, 2), (3, 3, 3), (3, 6, 1)]  # arrival in ms, tokens to read and to write


def toy_ms(step):
    """Return the ms of a step: 2, and 1 for each new token."""
    return 2.0 + sum(new for _, new in step)


# %% [markdown]
# <details><summary>Hint 1: a picture</summary>
#
# Draw the four requests as rows, with a column for each step.
# Which requests may share a column?
#
# </details>
#
# <details><summary>Hint 2: what to keep</summary>
#
# Keep two counts for each request: tokens read and tokens written.
# Write one loop: admit requests, collect pairs, advance the clock, hand out tokens.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "simulate_serving", "locked": false, "schema_version": 3, "solution": true, "task": false}
def simulate_serving(requests, slots, step_ms, continuous=True, chunk=None):
    """Return each request's waiting times, as dicts.

    requests: (arrival_ms, prompt, new): tokens to read, to write. slots: the most that run.
    step_ms(pairs): a step's ms by its (cached, new) pairs, in order of admission. chunk: the most
    prompt tokens a step, in that order (None: all). Arrivals are at least 0, other numbers 1.
    Before a step (not continuous: only if none runs) arrived requests take free slots, by arrival,
    then as listed; if none runs, time moves to the next arrival. Each reads its prompt, or its part
    of the chunk, or else its newest token; it writes one when its prompt ends and in later steps.
    The last frees the slot.
    first_ms, done_ms: from arrival to first, last token. per_token_ms: between them, for each later
    token, or 0.0.

    >>> simulate_serving([(0, 4, 2)], 1, lambda sequences: 5.0)[0]["done_ms"]
    10.0
    """
    ### BEGIN SOLUTION
    if slots < 1 or (chunk is not None and chunk < 1):
        raise ValueError(f"{slots} slots, chunks of {chunk}: no service")
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
def waits(key, requests, slots=2, step_ms=toy_ms):
    return [each[key] for each in simulate_serving(requests, slots, step_ms)]


steps, later = [], [(9, 2, 1), (0, 1, 1)]
expect_table(
    waits,
    ("one text alone", ("done_ms", [(0, 4, 3)]), [12.0], {"the prompt gives no token": [15.0]}),
    (
        "first tokens of the four requests",
        ("first_ms", FOUR),
        [8.0, 8.0, 15.0, 31.0],
        {
            "from the start, not from the arrival": [8.0, 8.0, 18.0, 34.0],
            "the newest first": [26.0, 16.0, 8.0, 8.0],
        },
    ),
    (
        "time for each further token",
        ("per_token_ms", FOUR),
        [4.5, 4.0, 4.0, 0.0],
        {"of all tokens, from the arrival": [5.2, 6.0, 23 / 3, 31.0]},
    ),
    ("last tokens", ("done_ms", FOUR), [26.0, 12.0, 23.0, 31.0]),
    ("an idle server", ("first_ms", later, 1), [4.0, 3.0], {"no time passes": [-2.0, 3.0]}),
)
simulate_serving(FOUR, 2, lambda step: steps.append(list(step)) or toy_ms(step))
expect("the first steps", steps[:3], [[(0, 4), (0, 2)], [(4, 1), (2, 1)], [(5, 1), (0, 3)]])
expect("the last steps", steps[3:], [[(6, 1), (3, 1)], [(7, 1), (4, 1)], [(0, 6)]])
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
    waits("first_ms", [(0, 4, 2), (6, 1, 1)], 2),
    [6.0, 4.0],
)
# vary: 3 in 2..6
expect("more slots than requests", waits("done_ms", [(0, 3, 2), (1, 1, 1)], 9), [9.0, 8.0])
expect("the requests stay as they are", FOUR[1:3], [(0, 2, 2), (3, 3, 3)])
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_2", "locked": true, "points": 5.5, "schema_version": 3, "solution": false, "task": false}
def static_waits(requests, chunk=None):
    return simulate_serving(requests, 2, toy_ms, False, chunk)


far, close = [(0, 2, 2), (100, 2, 2)], [(0, 4, 2), (3, 1, 1)]
expect_table(
    lambda key, *rest: [each[key] for each in static_waits(*rest)],
    (
        "static: first tokens",
        ("first_ms", FOUR),
        [8.0, 8.0, 29.0, 29.0],
        {
            "admitted at each step": [8.0, 8.0, 15.0, 31.0],
            "ended texts are computed on": [8.0, 8.0, 32.0, 32.0],
        },
    ),
    ("static: time for each further token", ("per_token_ms", FOUR), [3.25, 4.0, 3.0, 0.0]),
    ("a batch of one", ("first_ms", far), [4.0, 4.0], {"waits until full": [106.0, 6.0]}),
    (
        "who comes while a batch reads its prompts waits for its end",
        ("first_ms", close),
        [6.0, 9.0],
        {"admitted behind the first step": [6.0, 7.0]},
    ),
    (
        "also while it reads them in chunks",
        ("first_ms", close, 2),
        [8.0, 11.0],
        {"admitted before the first token": [8.0, 9.0]},
    ),
)
### BEGIN HIDDEN TESTS
requests = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]


def slow(sequences):
    return max(5, sum(n for _, n in sequences) / 2) + sum(c for c, _ in sequences) / 10


found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, continuous=False)]
expect("a static batch of three slots", found, [21.6, 5.0, 21.6, 11.6, 21.6])
# vary: 5 in 4..8
found = [each["done_ms"] for each in simulate_serving([(0, 1, 5), (1, 1, 1)], 4, toy_ms, False)]
expect("what comes too late for a batch waits for its end", found, [15.0, 17.0])
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_3", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
def chunked(key, requests, chunk):
    return [each[key] for each in simulate_serving(requests, 2, toy_ms, chunk=chunk)]


two, steps = [(0, 2, 6), (5, 20, 2)], []
expect_table(
    chunked,
    (
        "a long prompt, in chunks of 4: first tokens",
        ("first_ms", two, 4),
        [4.0, 36.0],
        {"written tokens count": [4.0, 38.0], "a token for each chunk": [4.0, 9.0]},
    ),
    ("each further token", ("per_token_ms", two, 4), [6.2, 3.0], {"no chunks": [7.2, 4.0]}),
    (
        "two prompts share a chunk",
        ("first_ms", FOUR, 5),
        [7.0, 11.0, 18.0, 33.0],
        {
            "a chunk for each request": [8.0, 8.0, 15.0, 33.0],
            "the rest of a chunk is lost": [6.0, 11.0, 18.0, 33.0],
        },
    ),
)
simulate_serving(two, 2, lambda step: steps.append(list(step)) or toy_ms(step), chunk=4)
expect("the first steps", steps[:4], [[(0, 2)], [(2, 1)], [(3, 1), (0, 4)], [(4, 1), (4, 4)]])
expect("the last steps", steps[4:], [[(5, 1), (8, 4)], [(6, 1), (12, 4)], [(16, 4)], [(20, 1)]])
steps.clear()
simulate_serving(FOUR, 2, lambda step: steps.append(list(step)) or toy_ms(step), chunk=4)
expect("who gets no part of a chunk is left out", steps[:2], [[(0, 4)], [(4, 1), (0, 2)]])
steps.clear()
simulate_serving([(3, 4, 1), (0, 6, 1)], 2, lambda each: steps.append(list(each)) or 6.0, chunk=4)
expect("who came first reads first", steps, [[(0, 4)], [(4, 2), (0, 2)], [(2, 2)]])
### BEGIN HIDDEN TESTS
requests = [(4, 5, 2), (0, 1, 4), (4, 2, 3), (30, 3, 1), (4, 1, 1)]


def slow(sequences):
    return max(5, sum(n for _, n in sequences) / 2) + sum(c for c, _ in sequences) / 10


found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, chunk=2)]
expect("chunks of 2 in three slots", found, [17.2, 5.0, 22.8, 12.5, 22.8])
found = [each["first_ms"] for each in simulate_serving(requests, 3, slow, False, 3)]
expect("static, with chunks of 3", found, [26.9, 5.0, 32.5, 22.0, 32.5])
# vary: 3 in 2..6
expect("chunks of one token", chunked("first_ms", [(0, 3, 1), (1, 2, 1)], 1), [9.0, 14.0])
# vary: 5 in 4..9
expect(
    "a chunk larger than any prompt changes nothing",
    chunked("first_ms", [(0, 5, 2), (1, 3, 1)], 64),
    [7.0, 12.0],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_simulate_serving_4", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    simulate_serving,
    ("a negative arrival", ([(0, 1, 1), (-4, 1, 1)], 2, toy_ms), ValueError),
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

# %% nbgrader={"grade": false, "grade_id": "demo_goodput", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws which share of requests is served in time, by the load; prints waits at 12.5 a second.
lines, late, slow = {}, {}, lambda step: pass_ms(LLAMA, step, H100, 0.5)
for name, policy in demos.POLICIES.items():
    for rate in (2.5, 5, 10, 12.5, 15):
        waits = demos.waits(simulate_serving, rate, slow, policy)
        lines.setdefault(name, []).append((rate, demos.goodput(waits)))
        if rate == 12.5:
            late[name], first = (demos.p95(waits, key) for key in ("per_token_ms", "first_ms"))
            print(f"{name:<14} p95: {late[name]:5.1f} ms a token, {first:6,.0f} ms to the first")
factor = round(late["chunks of 512"] / late["continuous"], 2)
guesses.compare("ms a token, chunks / whole prompts", guess_chunk_factor, factor)
title = "Served in time: first token in 500 ms, 10 ms a token"
plot.curves(lines, x="requests a second", y="% of requests", title=title)

# %% nbgrader={"grade": false, "grade_id": "demo_steps", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the four requests on two slots, as your function runs them.
runs = {}
for name, policy in {"static": (False,), "continuous": (), "chunks of 4": (True, 4)}.items():
    runs[name] = []
    noted = demos.noting(toy_ms, runs[name])
    simulate_serving(FOUR, 2, noted, *policy)
demos.gantt(runs, FOUR, toy_ms)

# %% [markdown]
# The loads are made up: prompts of 200, 500, 1,000 or 4,000 tokens, answers of 20 to 600, and exponential gaps.
# The share that is served in time is called [*goodput*](https://arxiv.org/abs/2401.09670).
# Static batching has the best time per output token, a number that is often printed alone, and serves hardly anybody in time.
# At 12.5 requests a second, chunks raise the p95 of the first token from 108 to 123 ms; at 15, where whole prompts queue, they lower it from 592 to 168 ms.
# With *disaggregation*, different machines prefill and decode, and caches travel between them.
# Waiting times count from a request's *scheduled* arrival: otherwise coordinated omission (lesson 08) would hide the queue.
#
# **Take a break here.** In the first sitting you worked out how long a pass takes, and who waits for it; the second one makes passes cheaper.
# What follows needs only `kv_bytes`, `pass_ms`, `batch_limits` and the cells that define models and cards.
#
# ## 4 · Pages
#
# A cache that reserves memory for the longest possible text wastes most of it: [20.4 to 38.2 %](https://arxiv.org/abs/2309.06180) was used before vLLM.
# *Pages* of 16 tokens waste half a page for each text, on average.
# A full page can be shared by texts that are equal up to its end, since a key depends on all tokens before it.
# [1, 2, 3] and [1, 2, 9] in pages of 2 take 2 + 2 pages, or 3 if they share the first.
#
# ![Three texts in pages of four letters: all share the first page, two of them the second.](pages.png)
#
# **Predict.** 32 users have the same 1,000 tokens of instructions and 100 of their own, in pages of 16.
# What share of the pages does sharing save?

# %% tags=["guess"]
guess_saved_share = None  # your guess: a share from 0 to 1

# %% [markdown]
# <details><summary>Hint: what is a page's name?</summary>
#
# When may two texts share their n-th page?
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "shared_pages", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shared_pages(sequences, page):
    """Return how many pages the caches of these texts take up, as a dict of ints.

    sequences: lists of tokens (numbers, or anything that can be compared and hashed); at least one
        list, none empty.
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


# %% nbgrader={"grade": true, "grade_id": "test_shared_pages", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
three, same = [[1, 2, 3, 4, 5, 6], [1, 2, 7, 8], [1, 2, 3, 4, 9]], [[1, 2, 3]] * 4
behind = [[1, 2, 3, 4, 5, 6], [1, 6, 3, 4, 5, 6], [1, 6, 3, 4]]
lengths = [13, 250, 1900, 40, 700]
apart = [[(text, place) for place in range(n)] for text, n in enumerate(lengths)]
users = [[*range(1000), *((user, place) for place in range(100))] for user in range(32)]
expect_table(
    lambda *arguments: [shared_pages(*arguments)[key] for key in ("alone", "shared", "empty")],
    ("three texts, pages of 2", (three, 2), [8, 5, 1]),
    ("pages of 4", (three, 4), [5, 4, 5]),
    ("pages of one token are all full", (three, 1), [15, 9, 0]),
    (
        "equal pages behind others, and a third text that begins like the second",
        (behind, 2),
        [8, 6, 0],
        {"equal pages anywhere": [8, 4, 0], "the page before decides": [8, 5, 0]},
    ),
    ("one text four times", (same, 2), [8, 5, 4], {"the last page is shared, too": [8, 2, 1]}),
    ("nothing in common, pages of 16", (apart, 16), [183, 183, 25], {"cut off": [178, 178, 0]}),
    (
        "the same tokens in another order, the same digits in others",
        ([[1, 2, 3, 12], [2, 1, 3, 12], [1, 23, 1, 2], [12, 3, 1], [1, 2, 3]], 2),
        [10, 9, 2],
        {"as sets, or as joined digits": [10, 7, 2]},
    ),
    ("32 users with the same 1,000 tokens", (users, 16), [2208, 286, 128]),
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda *arguments: [shared_pages(*arguments)[key] for key in ("alone", "shared", "empty")],
    ("a text that is the beginning of another", ([[1, 2, 3, 4], [1, 2]], 2), [3, 2, 0]),
    # vary: 2048 in 1_901..4_000
    ("one page for the longest text that could come", (apart, 2048), [5, 5, 7337]),
    # vary: 9 in 9..11
    ("tokens may be texts", ([["a"] * 9, ["a"] * 4 + ["b"]], 4), [5, 4, 6]),
)
found = shared_pages(three, 3)["shared"]
expect("the texts stay as they are", [found, three[1:]], [5, [[1, 2, 7, 8], [1, 2, 3, 4, 9]]])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_shared_pages_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    shared_pages,
    ("no texts; a text without tokens", [([], 16), ([[1], []], 16)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("one token is a text", shared_pages([[1]], 16), {"alone": 1, "shared": 1, "empty": 15})
# vary: 3 in 2..9
expect("as many pages as texts", shared_pages([[n] for n in range(3)], 1)["shared"], 3)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_pages", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what 32 users of Llama-3-8B take by page size, compares your guess, and draws three texts.
users = [[*range(1000), *((user, place) for place in range(100))] for user in range(32)]
for page in (1, 16, 64, 256, 2048):
    found = shared_pages(users, page)
    alone, shared = (found[key] * page * LLAMA["kv_bytes"] / 1e9 for key in ("alone", "shared"))
    print(f"pages of {page:>5,}: {alone:5.2f} GB alone, {shared:5.2f} GB shared")
found = shared_pages(users, 16)
saved = round(1 - found["shared"] / found["alone"], 2)
guesses.compare("the share of pages that is saved", guess_saved_share, saved)
demos.pages([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9], [1, 2, 7, 8]], 2)

# %% [markdown]
# Large pages waste more *and* share less.
# In a prompt, put first what all requests share.
#
# **Optional.** Pages of requests that have ended may stay until others need the memory (*prefix caching*): lesson 07's LRU in a new place.


# %% nbgrader={"grade": false, "grade_id": "prefix_hits", "locked": false, "schema_version": 3, "solution": true, "task": false}
def prefix_hits(requests, page, capacity):
    """Return for each request how many tokens at its beginning need no prefill. (Optional.)

    requests: lists of tokens, served in this order. page: tokens of a page, at least 1. capacity:
    full pages that the cache holds, at least 1; it is empty at first. A page is known by all tokens
    from the text's beginning to its end.
    A request finds its full pages from the first on, until one is missing or holds its last token,
    which is read in any case. Then all its full pages are used, found or not, from the last to the
    first, so that the first is the newest; after each use the page that was used longest ago goes
    if there are more than `capacity`.
    Returns ints, multiples of page.

    >>> prefix_hits([[5, 6, 7], [5, 6]], page=1, capacity=2)
    [0, 1]
    """
    ### BEGIN SOLUTION
    if page < 1 or capacity < 1:
        raise ValueError(f"{capacity} pages of {page} tokens hold nothing")
    held, hits = {}, []
    for text in requests:
        pages = [tuple(text[:end]) for end in range(page, len(text) + 1, page)]
        before_last = pages[: max(0, len(text) - 1) // page]
        missing = (at for at, each in enumerate(before_last) if each not in held)
        hits.append(page * next(missing, len(before_last)))
        for each in reversed(pages):
            held.pop(each, None)
            held[each] = True  # the newest is the last
            if len(held) > capacity:
                del held[next(iter(held))]
    return hits
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_prefix_hits", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
texts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 9], [7, 7], [1, 2, 3, 4, 8]]
again = [[1, 2, 0], [3, 4, 0], [1, 2, 0], [5, 6, 0], [1, 2, 0]]
behind = [[1, 2, 3, 4, 0], [3, 4, 1, 2, 0]]
expect_table(
    prefix_hits,
    ("two pages of 2", (texts, 2, 2), [0, 4, 0, 2], {"used first to last": [0, 4, 0, 0]}),
    ("three pages of 2", (texts, 2, 3), [0, 4, 0, 4]),
    ("a text longer than the cache", ([[1, 2, 3], [1, 2, 3]], 1, 1), [0, 1]),
    (
        "used again is newer",
        (again, 2, 2),
        [0, 0, 2, 0, 2],
        {"first in, first out": [0, 0, 2, 0, 0]},
    ),
    ("equal pages behind others", (behind, 2, 4), [0, 0], {"equal pages anywhere": [0, 4]}),
    (
        "the last token is read in any case",
        ([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2]], 2, 9),
        [0, 2, 0],
        {"all tokens are found": [0, 4, 2]},
    ),
    ("no pages, or pages of nothing", [(texts, 2, 0), (texts, 0, 2)], ValueError),
)
### BEGIN HIDDEN TESTS
expect("a page behind another one is another page", prefix_hits([[1, 2], [3, 2]], 1, 9), [0, 0])
# vary: 3 in 2..9
expect("a page that is not full is not stored", prefix_hits([[1] * 3] * 2, 4, 9), [0, 0])
# vary: 3 in 3..9
expect("a page that is full is stored", prefix_hits([[1] * 3, [1] * 4], 3, 9), [0, 3])
found = prefix_hits([[1, 2, 0], [1, 3, 0], [1, 2, 4], [1, 3, 0]], 1, 3)
expect("a beginning stays, its ends go", found, [0, 1, 1, 1])
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Guess, then check
#
# In *speculative decoding* a small *draft* model writes k tokens, one after another.
# The large model reads them all in one pass, accepts those before the first that it [rejects](https://arxiv.org/abs/2211.17192), and adds one of [its own](https://arxiv.org/abs/2302.01318).
# As long as reading the weights takes longest, a pass over 5 tokens costs hardly more than a pass over one.
# If half of the drafts are right and k is 2, a round yields 1 + 0.5 + 0.25 = 1.75 tokens.
#
# **Predict.** Each drafted token is right with probability 0.8 and costs a tenth of a step of GPT-2 XL in float32 on a T4.
# How many drafts are best for one user, with a text of 64 tokens?
#
# **Predict.** How many such drafts are best for each of 64 users?

# %% tags=["guess"]
guess_best_k = None  # your guess: tokens to draft for one user
guess_best_k_64 = None  # your guess: tokens to draft for each of 64 users

# %% [markdown]
# <details><summary>Hint 1: the third token</summary>
#
# With what probability is the *third* drafted token accepted?
#
# </details>
#
# <details><summary>Hint 2: an expected number</summary>
#
# It is the sum of the probabilities that token 1, 2, … appears.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "best_draft", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_draft(accept, draft_ms, verify_ms, most=16):
    """Return how many tokens to draft before each check, as a dict.

    accept: probability that a drafted token is accepted, for each, independent of the rest.
    draft_ms: ms for one drafted token; they are drafted one after another.
    verify_ms(n): ms of the large model's pass over n new tokens: 1 in a step without drafts, k + 1
        in a check of k tokens.
    most: the largest k to consider, at least 1.
    A round drafts k tokens, and yields those before the first that is rejected, and one more, the
    large model's own, also when all are accepted.
    k: the best of 0 to most, the smallest of equals; 0 is no draft. tokens: expected in a round, a
    float (1.0 for k = 0). speedup: over no drafts.

    >>> best_draft(0.5, 2.0, lambda n: 8.0, most=1)
    {'k': 1, 'tokens': 1.5, 'speedup': 1.2}
    """
    ### BEGIN SOLUTION
    if not 0 <= accept <= 1 or draft_ms < 0 or most < 1:
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
def always(n):
    return 10


keys = ("k", "tokens", "speedup")
expect_table(
    lambda *arguments: [best_draft(*arguments)[key] for key in keys],
    (
        "half of the drafts are right, a step takes 10 ms, whatever it reads",
        (0.5, 1, always),
        [2, 1.75, 17.5 / 12],
        {"the large model's own is left out": [2, 0.75, 7.5 / 12], "1 + k/2": [2, 2.0, 20 / 12]},
    ),
    ("eight of ten", (0.8, 1, always), [6, 3.951424, 2.46964]),
    ("all are right", (1, 1, always, 5), [5, 6.0, 4.0]),
    ("none is right", (0, 1, always), [0, 1.0, 1.0]),
    (
        "a step takes longer from 3 tokens on",
        (0.8, 1, lambda n: max(10, 4 * n)),
        [2, 2.44, 2.44 * 10 / 14],
        {"a check of k drafts reads k tokens": [2, 2.44, 2.44 * 10 / 12]},
    ),
    ("a step pays for each token", (0.8, 1, lambda n: 10 * n), [0, 1.0, 1.0]),
    (
        "a step grows by 10 ms with each 64 tokens that it reads",
        (1, 0.01, lambda n: 10 + 10 * math.ceil(n / 64), 150),
        [127, 128.0, 2560 / 31.27],
        {"ended where one more was slower": [63, 64.0, 1280 / 20.63]},
    ),
    ("one free draft that is no faster", (1, 0, lambda n: 10 * n, 1), [0, 1.0, 1.0]),
    rel=1e-9,
)
### BEGIN HIDDEN TESTS
expect_table(
    lambda *arguments: [best_draft(*arguments)[key] for key in keys],
    # vary: 0.5 in 0.2..2.0
    ("drafts that are never right are not worth their time", (0, 0.5, lambda n: 10), [0, 1.0, 1.0]),
    # vary: 0.5 in 0.2..0.8
    ("free drafts: as many as there may be", (0.5, 0, lambda n: 7, 3), [3, 1.875, 1.875]),
    # vary: 0.6 in 0.4..0.8
    ("a check that costs a little for each token", (0.6, 0.5, lambda n: 8 + n, 8), [2, 1.96, 1.47]),
    # vary: 0.3 in 0.2..0.4
    ("few are right", (0.3, 2, lambda n: 20 + n / 2, 6), [1, 1.3, 1.3 * 20.5 / 23]),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_best_draft_2", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    best_draft,
    (
        "no probability; a negative time; nothing to consider",
        [
            (1.2, 1, lambda n: 10),
            (-0.1, 1, lambda n: 10),
            (0.5, -1, lambda n: 10),
            (0.5, 1, lambda n: 10, 0),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
expect("often accepted and free", best_draft(0.75, 0, lambda n: 4, 2)["tokens"], 2.3125)
# vary: 2 in 2..9
expect("always accepted is none, either", best_draft(1, 0, lambda n: 10, 2)["tokens"], 3.0)
expect("at most 4 drafts", best_draft(0.8, 1, lambda n: 10, 4)["k"], 4)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_draft", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the speed-up by drafts against the number of users, and compares your guesses.
lines, best = {}, {}
for name, model, card, context in demos.drafting(XL, T4, LLAMA, H100):
    for users in (1, 8, 32, 64, 128):
        verify = demos.checking(pass_ms, model, card, context, users)
        best[name, users] = best_draft(0.8, verify(1) / 10, verify)
        lines.setdefault(name, []).append((users, best[name, users]["speedup"]))
    print(f"{name}: k = " + ", ".join(str(best[name, n]["k"]) for n in (1, 8, 32, 64, 128)))
guesses.compare("best k, one user", guess_best_k, best["XL, 64 tokens", 1]["k"])
guesses.compare("best k, 64 users", guess_best_k_64, best["XL, 64 tokens", 64]["k"])
title = "Drafts that are right 8 times in 10"
plot.curves(lines, x="users", y="times as fast", log="x", title=title)

# %% [markdown]
# Draft for few users, or for long texts, whose caches make bytes the limit again: then [checks cost little](https://arxiv.org/abs/2408.11049).
# An audit: [DeepSeek-V3](https://arxiv.org/abs/2412.19437) reports that 85 to 90 % of its second tokens are accepted, and 1.8 times the tokens a second.
# By `best_draft` with most=1 this holds if the extra head, one layer of 61 and a vocabulary, costs 2.8 to 5.6 % of a step.
#
# **Optional.** Drafts do not change the distribution of the text: a token that the draft proposes too rarely is drawn after a rejection.


# %% nbgrader={"grade": false, "grade_id": "draft_acceptance", "locked": false, "schema_version": 3, "solution": true, "task": false}
def draft_acceptance(target, draft):
    """Return how often a draft is accepted, and the distribution after a rejection. (Optional.)

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
    if not all(math.isclose(sum(each), 1, abs_tol=1e-6) for each in (target, draft)):
        raise ValueError("probabilities must sum to 1")
    rest = [max(0.0, p - q) for p, q in zip(target, draft, strict=True)]
    rate = sum(min(p, q) for p, q in zip(target, draft, strict=True))
    return rate, [each / sum(rest) for each in rest] if sum(rest) else None
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_draft_acceptance", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
first, third = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
expect_table(
    draft_acceptance,
    (
        "three tokens",
        (first, third),
        (0.7, [1.0, 0.0, 0.0]),
        {"the target": (0.7, [0.5, 0.3, 0.2])},
    ),
    ("nothing in common", ([1.0, 0.0], [0.0, 1.0]), (0.0, [1.0, 0.0])),
    ("the same", ([0.25, 0.75], [0.25, 0.75]), (1.0, None)),
    (
        "sums that are not 1; unlike lengths, and no numbers; below 0",
        [
            ([0.5, 0.4], [0.5, 0.5]),
            ([0.5, 0.5], [1.0, 0.5]),
            ([1.0], first),
            ([], []),
            ([1.5, -0.5], [0.5, 0.5]),
            ([0.5, 0.5], [1.5, -0.5]),
        ],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
found = draft_acceptance([0.4, 0.4, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4])
expect("the rest is shared in proportion", found, (0.5, [0.6, 0.4, 0.0, 0.0]))
expect("one token", draft_acceptance([1.0], [1.0]), (1.0, None))
found = draft_acceptance([0.1, 0.9], [0.5, 0.5])
expect("the second token was drafted too rarely", found, (0.6, [0.0, 1.0]))
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_draws", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws 20,000 tokens by drafting, and prints their shares beside the large model's.
target, draft = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
shares, accepted = demos.drawn(target, draft, draft_acceptance(target, draft)[1], 20_000)
print("  large model   draft   20,000 draws")
for p, q, share in zip(target, draft, shares, strict=True):
    print(f"{p:13.3f} {q:7.3f} {share:14.3f}")
print(
    f"{accepted:.1%} were accepted at once, by your rate {draft_acceptance(target, draft)[0]:.1%}"
)

# %% [markdown]
# ## 6 · Experts
#
# A *mixture of experts* has E feed-forward parts in a layer and sends each token to k of them.
# It stores all of them and computes with k for each token.
# A pass *reads* those to which some token of the batch was sent.
# With 4 experts and one for each of two tokens, the second token draws a new expert three times in four: 1.75 are read on average.
#
# **Predict.** DeepSeek-V3 (256 experts, 8 a token) decodes for one user, then for eight.
# By what factor does a step read more weights?

# %% tags=["guess"]
guess_moe_factor = None  # your guess: eight users / one

# %% [markdown]
# <details><summary>Hint: the other way round</summary>
#
# With what probability does *nobody* draw a given expert?
#
# </details>


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


# %% nbgrader={"grade": true, "grade_id": "test_moe_parameters", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
toy, v3 = (100, 10, 2, 4), (16_190_954_496, 44_040_192, 58, 256)
found = moe_parameters(*v3, 8, 32)
counts = [found["total"], found["active"]]
expect("parameters of DeepSeek-V3, in all and active", counts, [670_099_725_312, 36_625_603_584])
expect_table(
    lambda *arguments: moe_parameters(*arguments)["touched"],
    ("one token touches what it uses", (*toy, 1, 1), 120.0),
    ("two tokens", (*toy, 1, 2), 135.0, {"no expert twice": 140.0, "one layer": 117.5}),
    ("two experts each", (*toy, 2, 3), 170.0, {"a token may draw one twice": 165.76171875}),
    ("DeepSeek-V3, 32 tokens", (*v3, 8, 32), 433_348_596_146.97, {"active": 1_172_019_314_688}),
    ("all chosen, of one layer", (0, 1, 1, 8, 8, 1), 8.0),
    (
        "too many experts chosen, or none; nothing to count",
        [
            (*toy, 5, 1),
            (*toy, 0, 1),
            (9, 9, 2, 0, 0, 1),
            (-1, 9, 2, 4, 1, 1),
            (9, 0, 2, 4, 1, 1),
            (9, 9, 0, 4, 1, 1),
        ],
        ValueError,
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
    ("three tokens", (100, 10, 2, 4, 1, 3), [180, 120, 146.25], {"min(E, b·k)": [180, 120, 160.0]}),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_experts", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints what a step of DeepSeek-V3 reads and takes by its batch, in 8 bits on eight H200.
(eight, _), model = machines.cards("H200", 8, 8), machines.served("DeepSeek-V3", 8, kv_bytes)
dense, read = model | {"weights": model["active"]}, {}
for users in (1, 8, 32, 128, 512):
    touched = moe_parameters(16_190_954_496, 44_040_192, 58, 256, 8, users)["touched"]
    read[users], texts = touched, [(4988, 1)] * users
    experts = (touched - 16_190_954_496) / (58 * 44_040_192)
    ms = [pass_ms(each, texts, eight) for each in (model | {"weights": touched}, dense)]
    said = (
        f"{users:>3} users: {experts:3.0f} experts a layer, {8 * users / experts:4.1f} tokens each"
    )
    print(f"{said}, {touched / 1e9:5.1f} GB; {ms[0]:5.2f} ms, a dense model {ms[1]:.2f}")
guesses.compare("weights read, eight users / one", guess_moe_factor, round(read[8] / read[1], 2))

# %% [markdown]
# Here a batch *raises* the bytes: eight users read 4.4 times as many as one, and each expert gets 1.1 tokens.
# `batch_limits` puts the compute limit at 3,772 users, 18 times that of a dense model of the active size: hence DeepSeek's [large batches](https://github.com/deepseek-ai/open-infra-index).
#
# ## 7 · Eight bits, four bits
#
# Cards now compute with floats of 8 and 4 bits.
# A format is a list of numbers: code c has the exponent c // 2ᵐ and the mantissa c % 2ᵐ.
# E2M1, with 2 bits of exponent and 1 of mantissa, is 0, ½, 1, 1½, 2, 3, 4, 6.
# E4M3 has 0 and 126 magnitudes from 2⁻⁹ to 448; 17 lies half way between 16 and 18 and becomes 16, whose code is even.
#
# The range is small, so numbers share a *scale*: all of them one, or a few in a row a *block scale*.
# [MXFP8 and MXFP4](https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf) have a power of two for 32 numbers, NVFP4 an E4M3 number for 16.
#
# **Predict.** One number in 256 is 60 times as large as the others.
# By what factor does the error of FP8 fall if each 32 numbers get their own scale (MXFP8), instead of one scale for all?
#
# **Predict.** By what factor does the error of FP4 fall with the same blocks?

# %% tags=["guess"]
guess_fp8_factor = None  # your guess: error with one scale / with blocks
guess_fp4_factor = None  # your guess: error with one scale / with blocks

# %% [markdown]
# <details><summary>Hint 1: a short list</summary>
#
# Write down the eight numbers of E2M1 by the formula.
#
# </details>
#
# <details><summary>Hint 2: neighbours</summary>
#
# Make the list once.
# Of the two neighbours of |x| take the nearer one, and half way the one with the even code.
# For `block_scaled`, `math.frexp` gives floor(log2 a) exactly, where `math.log2` rounds.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "round_to", "locked": false, "schema_version": 3, "solution": true, "task": false}
def round_to(values, exponent_bits, mantissa_bits, reserved=0):
    """Return the values, each rounded to the nearest number of a small float format.

    values: finite floats. exponent_bits: e, at least 1. mantissa_bits: m, at least 0.
    Without its sign a number has a code c from 0 to 2**(e+m) - 1 - reserved; the codes above are
    infinity and NaN. With c = E * 2**m + M and bias = 2**(e-1) - 1 it is M * 2**(1-bias-m) if E is
    0, else (1 + M/2**m) * 2**(E-bias).
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


# %% nbgrader={"grade": true, "grade_id": "test_round_to", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
half_way, outside = [0.2, 0.25, 0.75, 1.25, 2.5, 5.0], [6.9, -5.1, -100.0]
between, tiny = [1.0625, 1.1875, 17.0, 17.0001, 0.3, -0.07], [0.0019, 0.00098, 0.0009]
powers = [0.7, 3.1, 6.5, 0.2, 0.1, 1.5]
expect_table(
    round_to,
    (
        "E2M1: 0.2, and numbers half way",
        (half_way, 2, 1),
        [0.0, 0.0, 1.0, 1.0, 2.0, 4.0],
        {"halves go up": [0.0, 0.5, 1.0, 1.5, 3.0, 6.0], "cut off": [0.0, 0.0, 0.5, 1.0, 2.0, 4.0]},
    ),
    ("E2M1: outside", (outside, 2, 1), [6.0, -6.0, -6.0], {"no sign": [6.0, 6.0, 6.0]}),
    (
        "E4M3: between",
        (between, 4, 3, 1),
        [1.0, 1.25, 16.0, 18.0, 0.3125, -0.0703125],
        {"rounded to float16 first": [1.0, 1.25, 16.0, 16.0, 0.3125, -0.0703125]},
    ),
    (
        "E4M3: its largest",
        ([470.0, 1e3], 4, 3, 1),
        [448.0, 448.0],
        {"the code of NaN": [480.0] * 2},
    ),
    ("E4M3: its smallest", (tiny, 4, 3, 1), [2**-9, 2**-9, 0.0], {"no small ones": [0.0] * 3}),
    ("E5M2", ([60000.0, 0.3, 1.1875], 5, 2, 4), [57344.0, 0.3125, 1.25]),
    ("no mantissa: powers of two", (powers, 3, 0), [0.5, 4.0, 8.0, 0.25, 0.0, 2.0]),
    ("NaN and infinity", [([math.nan], 2, 1), ([1.0, -math.inf], 4, 3, 1)], ValueError),
)
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
    """Return numbers as a block-scaled format stores them: a dict of scales, values, bits.

    values: finite floats. block: how many in a row share a scale, from 1 on; the last may be
        shorter.
    format: "mxfp8" (E4M3), "mxfp4" or "nvfp4" (E2M1). With a the largest magnitude of a block:
        mx…: scale = 2**floor(log2 a)/2**floor(log2 m), m the element format's largest number (448,
            6); with round_up, the least power of two that is at least a/m.
        nvfp4: scale = t*E4M3(a/6/t), where t = (largest magnitude of all values)/(6*448).
    A block of zeros has the scale 1; where a scale is 0, so are its numbers.
    scales: of each block. values: scale * round_to(value/scale). bits: stored for each value: 8 or
    4, 8 for each block's scale, and 32 for t (nvfp4).

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


# %% nbgrader={"grade": true, "grade_id": "test_block_scaled", "locked": true, "points": 7.5, "schema_version": 3, "solution": false, "task": false}
numbers = [12.0, 1.0, -2.0, 0.4, 0.0, 0.0, -0.25, 0.125]
expect_table(
    lambda *arguments: [block_scaled(*arguments)[key] for key in ("scales", "values", "bits")],
    ("the floor cuts off the largest", ([500.0, 3.0], 2, "mxfp8"), [[1.0], [448.0, 3.0], 12.0]),
    (
        "rounded up: 460 is above the largest number, 448 is not",
        ([460.0, 3.0, 448.0, 1.0], 2, "mxfp8", True),
        [[2.0, 1.0], [448.0, 3.0, 448.0, 1.0], 12.0],
    ),
    (
        "a hair below 8 the floor of log2 is 2",
        ([math.nextafter(8.0, 0.0), 1.0], 2, "mxfp4"),
        [[1.0], [6.0, 1.0], 8.0],
        {"a rounded log2": [[2.0], [8.0, 1.0], 8.0]},
    ),
    (
        "a large number spoils its own block alone",
        (numbers, 4, "mxfp4"),
        [[2.0, 0.0625], [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, -0.25, 0.125], 6.0],
        {"one scale for all": [[2.0, 2.0], [12.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0], 6.0]},
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
    ("a scale for each number", (1, "mxfp4"), 12.0),
)
### BEGIN HIDDEN TESTS
found = block_scaled(numbers, 4, "mxfp8")
expect("scales of MXFP8", found["scales"], [2.0**-5, 2.0**-10])
expect("the numbers stay as they are", numbers[:4], [12.0, 1.0, -2.0, 0.4])
expect("MXFP8 keeps what FP4 loses", found["values"][3], 0.40625)
expect(
    "a largest number that is a power of two",
    block_scaled([8.0, -1.0], 2, "mxfp4")["scales"],
    [2.0],
)
# vary: 448.0 in {224.0, 448.0, 896.0, 1792.0}
expect(
    "rounded up, a scale that fits exactly stays",
    block_scaled([448.0], 4, "mxfp8", True)["scales"],
    [1.0],
)
# vary: 5.5 in 4.1..7.9
expect(
    "MXFP4, rounded up",
    block_scaled([5.5, 13.0, -0.3], 2, "mxfp4", True)["scales"],
    [4.0, 0.0625],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_block_scaled_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
eight = [-12.0, 1.0, -2.0, 0.4, 0.0515, 0.0, -0.25, 0.125]
found = block_scaled(eight, 4, "nvfp4")
expect("a scale of the whole, and an E4M3 for each block", found["scales"], [2.0, 0.0401785714286])
expect("the first block", found["values"][:4], [-12.0, 1.0, -2.0, 0.0])
expect(
    "the second block",
    found["values"][4:],
    [0.0602678571429, 0.0, -0.241071428571, 0.120535714286],
    mistakes={"the block's scale is not rounded": [0.0416666666667, 0.0, -0.25, 0.125]},
)
expect("its bits", found["bits"], 10.0, mistakes={"t is forgotten": 6.0})
found = block_scaled(eight, 4, "nvfp4", round_up=True)
expect("round_up is for mx… alone", found["scales"], [2.0, 0.0401785714286])
found = block_scaled([0.0001, 0.0, 2688.0], 2, "nvfp4")
found = [found["scales"], found["values"]]
expect("a scale of 0, and its numbers", found, [[0.0, 448.0], [0.0, 0.0, 2688.0]])
many = block_scaled([float(n % 7 - 3) for n in range(1024)], 16, "nvfp4")
expect("bits of 1,024 numbers", many["bits"], 4.53125, mistakes={"scales are forgotten": 4.0})
found = block_scaled([0.0] * 5, 4, "nvfp4")
expect("nothing but zeros", [found["scales"], found["values"]], [[1.0, 1.0], [0.0] * 5])
### BEGIN HIDDEN TESTS
found = block_scaled([2688.0, 6.0, -3.0, 0.5], 2, "nvfp4")
expect("a block's scale is rounded to E4M3", found["scales"], [448.0, 0.5])
expect("a number beside a large one is lost", found["values"], [2688.0, 0.0, -3.0, 0.5])
found = block_scaled([0.5, -3.0, 6.0, 2688.0], 2, "nvfp4")
expect("the largest of all may come last", found["scales"], [0.5, 448.0])
found = block_scaled([5.0, 0.0, 0.0, 0.0, 1.0], 2, "nvfp4")
expect("a block of zeros has the scale 1, beside others", found["scales"][1], 1.0)
# vary: 3 in 3..9
expect(
    "a short last block stores its scale, too", block_scaled([1.0] * 3, 2, "nvfp4")["bits"], 20.0
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_block_scaled_3", "locked": true, "points": 0.5, "schema_version": 3, "solution": false, "task": false}
expect_table(
    block_scaled,
    (
        "another format; no numbers, blocks of none",
        [([1.0], 2, "mxfp6"), ([1.0], 2, "MXFP4"), ([], 2, "mxfp8"), ([1.0], 0, "mxfp8")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 3.0 in {2.0, 3.0, 4.0, 6.0}
expect("one number is a block", block_scaled([3.0], 1, "mxfp4")["values"], [3.0])
expect("a block longer than the numbers", block_scaled([1.0, 2.0], 8, "mxfp8")["bits"], 12.0)
expect("a block of two numbers", block_scaled([9.0, -9.0], 2, "mxfp4")["scales"], [2.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_formats", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the errors of six ways to store numbers, the median of some draws, and your guesses.
import stored

errors = {}
print(f"{'one number in 256 is':<20}{'60 times as large':>20}{'like the rest':>16}")
for name, way in stored.FORMATS.items():
    errors[name] = [stored.errors(block_scaled, factor, *way) for factor in (60, 1)]
    print(f"{name:<20}{errors[name][0]:20.3f}{errors[name][1]:16.3f}")
fell = [round(errors[f"FP{n}, one scale"][0] / errors[f"MXFP{n}"][0], 2) for n in (8, 4)]
guesses.compare("the error of FP8 falls by a factor of", guess_fp8_factor, fell[0])
guesses.compare("the error of FP4 falls by a factor of", guess_fp4_factor, fell[1])
for name in ("FP8, one scale", "MXFP8"):
    off = stored.errors(block_scaled, 1e5, *stored.FORMATS[name], ordinary=True)
    print(f"beside numbers 100,000 times as large, {name}: the rest is off by {off:.3f}")

# %% nbgrader={"grade": false, "grade_id": "demo_digits", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Stores lesson 08's classifier of digits in five formats: images named right, bytes of its weights.
import stored
from built import quantize

for name, right, size in stored.digits_stored(block_scaled, quantize):
    print(f"{name:<8}{right:6.1%} of 360 images right, {size:>7,.0f} bytes of weights")
bits = block_scaled([1.0] * 32, 32, "mxfp4")["bits"]
gib = machines.weight_bytes("gpt-oss-120b", bits) / 2**30
print(f"gpt-oss-120b, experts in MXFP4 and the rest in 16 bits: {gib:.2f} GiB")

# %% [markdown]
# For FP8 the error does not fall at all: E4M3 spans 18 powers of two and needs no help with a factor of 60 (with 100,000 it does).
# The floor of OCP's rule cuts up to 12.5 % off the largest number of a block and ["can lead to divergence"](https://arxiv.org/abs/2506.08027v1) in training; rounding the scale up avoids that.
# (OCP's scales, E8M0, end at 2⁻¹²⁷ and 2¹²⁷; those of `block_scaled` do not.)
# For four bits, blocks halve the error, since with one scale nearly every ordinary number becomes 0.
# Without outliers only NVFP4's finer scale helps: blocks add range, a scale with a mantissa adds accuracy.
# So look for outliers, and test the model itself: eight bits cost the digits nothing, four bits a point or two.
# An audit that holds: [gpt-oss-120b](https://arxiv.org/abs/2508.10925) is published as 60.8 GiB.
#
# ## 8 · What it costs
#
# A price needs a deadline: the larger the batch, the cheaper a token, and the longer each user waits for it.
# With 4 users in 4 ms the toy writes 1,000 tokens a second; at \$3.60 an hour, a million tokens cost \$1.
#
# **Predict.** DeepSeek sold a million output tokens at $2.19, and [published its bookkeeping](https://github.com/deepseek-ai/open-infra-index/blob/main/202502OpenSourceWeek/day_6_one_more_thing_deepseekV3R1_inference_system_overview.md). By these figures, what did the decoding machines cost for a million tokens?

# %% tags=["guess"]
guess_output_cost = None  # your guess, in dollars; Reflect has the answer

# %% [markdown]
# <details><summary>Hint: a search</summary>
#
# A step takes longer with every user: add users one by one, or halve an interval.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "cheapest_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def cheapest_batch(model, context, hardware, memory, deadline_ms, dollars_per_hour, watts):
    """Return the largest batch that decodes in time, and what its tokens cost, as a dict.

    model, context, hardware, memory: as for batch_limits. deadline_ms: the most that a step may
    take, above 0. dollars_per_hour, watts: of the hardware at work, above 0.
    users: the most texts of `context` tokens (the newest included) whose step takes at most
    deadline_ms by pass_ms, and whose caches fit beside the weights. step_ms: of that batch.
    tokens_per_second: of all users. dollars_per_million: of tokens. joules_per_token.
    Returns None where not even one user is served, also where the weights do not fit.

    >>> cheapest_batch(TOY, 500, SLOW, 10**7, 3.1, 3.6, 100.0)["users"]
    2
    """
    ### BEGIN SOLUTION
    if not all(each > 0 for each in (deadline_ms, dollars_per_hour, watts)) or context < 1:
        raise ValueError("a deadline, a price and a power are above 0")

    def step_ms(users):
        return pass_ms(model, [(context - 1, 1)] * users, hardware)

    free = memory - model.get("held_bytes", model["weights"] * model["bits"] / 8)
    most = max(0, int(free // (context * model["kv_bytes"])))
    users = bisect.bisect_right(range(1, most + 1), deadline_ms, key=step_ms)
    if not users:
        return None
    per_second = 1000 * users / step_ms(users)
    return {
        "users": users,
        "step_ms": step_ms(users),
        "tokens_per_second": per_second,
        "dollars_per_million": dollars_per_hour / 3600 / per_second * 1e6,
        "joules_per_token": watts / per_second,
    }
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_cheapest_batch", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
names = ("users", "step_ms", "tokens_per_second", "dollars_per_million", "joules_per_token")


def prices(deadline_ms, context=500, dollars=3.6, watts=100.0, memory=10**7, model=TOY):
    found = cheapest_batch(model, context, SLOW, memory, deadline_ms, dollars, watts)
    return found and [found[name] for name in names]


tables, quarter = TOY | {"held_bytes": 3_000_000}, TOY | {"bits": 4.25}
expect_table(
    prices,
    ("in 4.2 ms", (4.2,), [4, 4.0, 1e3, 1.0, 0.1], {"for one user": [4, 4.0, 250.0, 4.0, 0.4]}),
    ("in 100 ms, memory ends it", (100.0,), [16, 10.0, 1600.0, 0.625, 0.0625]),
    ("in 2.4 ms nobody is served", (2.4,), None),
    ("longer texts, another price", (7.5, 1000, 7.2, 50.0), [5, 7.0, 5000 / 7, 2.8, 0.07]),
    ("1 MB has no room for the weights", (4.2, 500, 3.6, 100.0, 10**6), None),
    (
        "2,100 texts of one token, limited by FLOPs",
        (212.15, 1, 3.6, 100.0, 4_200_000),
        [2100, 212.1, 1e6 / 101, 0.101, 0.0101],
    ),
    (
        "tables that are held, not read",
        (4.2, 500, 3.6, 100.0, 4_600_000, tables),
        [3, 3.5, 6000 / 7, 7 / 6, 7 / 60],
        {"only what a pass reads": [4, 4.0, 1e3, 1.0, 0.1]},
    ),
    (
        "4.25 bits a weight, memory ends it",
        (4.2, 500, 3.6, 100.0, 2_531_250, quarter),
        [4, 2.53125, 4000 / 2.53125, 2.53125 / 4, 0.06328125],
    ),
)
### BEGIN HIDDEN TESTS
expect("ten texts of one token", prices(2.0105, 1, memory=3 * 10**6)[:2], [10, 2.01])


def long_texts(deadline_ms):
    found = cheapest_batch(LLAMA, 8192, H100, 8 * 10**10, deadline_ms, 2.0, 700.0)
    return [found[name] for name in names]


expect_table(
    long_texts,
    ("10 ms", (10.0,), [17, 9.9294, 1712.09, 0.324490, 0.408857]),
    ("20 ms", (20.0,), [48, 19.8655, 2416.25, 0.229925, 0.289706]),
    ("50 ms", (50.0,), [59, 23.3912, 2522.31, 0.220256, 0.277523]),
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

# %% nbgrader={"grade": true, "grade_id": "test_cheapest_batch_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Powers of two, so that times are exact: 4 users take 2⁻⁸ s.
even = {"weights": 2**20, "bits": 16, "kv_bytes": 1024, "pair_flops": 2048}
plain = Hardware(peak_flops=2.0**40, bandwidth=2.0**30)


def users_in_time(deadline_ms, context=512, dollars=3.6, watts=100.0):
    found = cheapest_batch(even, context, plain, 2**23, deadline_ms, dollars, watts)
    return found and found["users"]


expect_table(
    users_in_time,
    ("a step may take exactly the deadline", (3.90625,), 4),
    ("one user in exactly the deadline", (2.44140625,), 1),
    ("a hair less serves nobody", (2.44140624,), None),
    (
        "no time, no text; no price, no power",
        [(0.0,), (9.0, 0), (9.0, 9, 0.0), (9.0, 9, 3.6, 0.0)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 4.5 in 4.45..4.85
expect("a step may take a little less", users_in_time(4.5), 5)
# vary: 3.5 in 3.45..3.85
expect("a user who would be late waits", users_in_time(3.5), 3)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_frontier", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the opening picture from your pass_ms: an H100 at $2 an hour, steps of 5 to 50 ms.
small_bits = machines.served("Llama-3-8B", 4.5, kv_bytes, 8)
kinds = {"1,024 tokens": (LLAMA, 1024), "8,192 tokens": (LLAMA, 8192)}
kinds |= {"8,192 in fewer bits": (small_bits, 8192)}
lines = {}
for name, (model, context) in kinds.items():
    batches = [
        cheapest_batch(model, context, H100, 8 * 10**10, ms, 2.0, 700) for ms in demos.DEADLINES
    ]
    lines[name] = [batch for batch in batches if batch]
joules = lines["8,192 tokens"][-1]["joules_per_token"]
print(f"{joules:.2f} J a token at full power; 864 J are {864 / joules:,.0f} such tokens")
demos.frontier(lines, title="Llama-3-8B on an H100: what a token costs, and how fast it comes")

# %% [markdown]
# From steps of 5 to steps of 10 ms the price of long texts falls by a factor of 8; then memory ends the curve (the ring), and a smaller cache does more than a longer step.
# Google's [median prompt](https://arxiv.org/abs/2508.15734) takes 0.24 Wh, 864 J: measured, with host, idle machines and cooling, for prompts of unknown length.
# The 0.28 J a token leave these out and assume full power.
#
# ### What to do about it
#
# | symptom | wall | cure |
# |---|---|---|
# | few users, short texts, slow tokens | reading weights | larger batch; fewer bits; speculative decoding |
# | many users, long texts, slow tokens | reading caches | fewer KV heads, latent vectors, windows, 8-bit cache; no larger batch |
# | out of memory at half the users | reserved memory | pages, prefix caching |
# | answers stutter when others arrive | prefill in the same step | chunked prefill; disaggregation |
# | a batch of eight costs four times one | reading experts | very large batches, experts spread over cards |
# | accuracy falls at 4 bits | one scale for outliers and all others | block scales |
#
# ### In torch
#
# ```python
# import torch
# q, kv = torch.randn(1, 32, 1, 128), torch.randn(1, 8, 1024, 128)
# torch.nn.functional.scaled_dot_product_attention(q, kv, kv, enable_gqa=True)
# torch.tensor([17.0, 0.3, 470.0]).to(torch.float8_e4m3fn).float()  # section 7's E4M3
# ```
#
# Torch has grouped heads and formats; pages and batches are in servers such as vLLM, whose [`vllm bench serve`](https://docs.vllm.ai/en/latest/cli/bench/serve.html) prints TTFT, TPOT and goodput.
# It hides two things: without a `--request-rate` all requests arrive at once, and random tokens share no prefix.
#
# ## Reflect
#
# Do the published figures of a day add up?

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


# %% nbgrader={"grade": false, "grade_id": "reflect_service", "locked": false, "schema_version": 3, "solution": true, "task": false}
def reflect_service(day):
    """Return the sums of one day of a service's published figures, as a dict of floats.

    day: a dict of nodes (mean), gpus_per_node, dollars_per_gpu_hour; input_tokens, of which
        hit_tokens were found in a cache; output_tokens; hit_price, miss_price, output_price in
        dollars for a million tokens; input_rate, output_rate: tokens a second of one node that
        reads prompts (hits included) or that decodes. Nodes and rates are above 0.
    cost, income: dollars of the day. margin: income / cost - 1.
    nodes_needed: to read and to write all these tokens at the stated rates within 24 hours.
    output_cost_per_million: dollars that the decoding nodes cost for a million output tokens.

    >>> reflect_service(DEEPSEEK_DAY | {"nodes": 1})["cost"]
    384.0
    """
    ### BEGIN SOLUTION
    if min(day["input_rate"], day["output_rate"], day["nodes"]) <= 0:
        raise ValueError("nodes and rates are above 0")
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
expect("income", found["income"], 562_100.0, mistakes={"hits at the full price": 702_320.0})
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
small = {"nodes": 2, "gpus_per_node": 4, "dollars_per_gpu_hour": 1.0, "output_tokens": 864 * 10**6}
small |= {"input_tokens": 8_640_000_000, "hit_tokens": 4_320_000_000, "output_price": 0.25}
small |= {"hit_price": 0.01, "miss_price": 0.02, "input_rate": 200_000, "output_rate": 10_000}
keys = ("cost", "income", "margin", "nodes_needed", "output_cost_per_million")
found = reflect_service(small)
expect("another day", [found[key] for key in keys], [192.0, 345.6, 0.8, 1.5, 1 / 9])
expect_table(
    lambda name: reflect_service(DEEPSEEK_DAY | {name: 0}),
    ("a rate of 0, no nodes", [("input_rate",), ("output_rate",), ("nodes",)], ValueError),
)
### BEGIN HIDDEN TESTS
found = reflect_service(small | {"hit_tokens": 0})
expect("without hits", [found["income"], found["margin"]], [388.8, 1.025])
# vary: 3 in 2..9
found = reflect_service(small | {"gpus_per_node": 3})
expect("the price of a node is that of its cards", found["cost"], 144.0)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_service", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints the sums of DeepSeek's day, and compares your guess.
found = reflect_service(DEEPSEEK_DAY)
print("; ".join(f"{name}: {value:,.2f}" for name, value in found.items()))
cost = found["output_cost_per_million"]
guesses.compare("a million output tokens cost", guess_output_cost, round(cost, 2), "dollars")

# %% [markdown]
# DeepSeek claims \$87,072, \$562,027, a margin of 545 % and 226.75 nodes, and all four hold within the rounding of the token counts.
# A million tokens cost \$0.30 to write, on 131 nodes, and \$0.06 to read, on 95.
# (This shows consistency: the rates may come from the same counts.)
#
# Are these rates possible?
# At 21 tokens a second a step takes 47.6 ms, and 88 users share a card; their caches (4,989 tokens each), 30.9 GB, take 9.2 ms to read.
# On that page a card holds two experts of each layer and the shared parts: 21.3 GB in FP8, 6.4 ms, once for each of two micro-batches that overlap.
# (An *expert* is one of many feed-forward layers, of which each token uses a few; FP8 is a number of 8 bits.) <!-- without moe_parameters -->
# So memory is busy for 33 to 46 % of a step.
# Attention needs 157 TFLOP/s in bfloat16, of 989, and the weights 135 in FP8, of 1,979 (an H800 computes like an H100): together 23 % of the time.
# Both are below their roofs, and so is their sum: possible, and no miracle.
# Left out are real income, which the page itself calls far lower, owning instead of renting, and training.
#
# **Essay** (10 points, read by a person; 200 to 300 words in the next cell; add cells to calculate).
# Audit one published figure of serving: tokens a second, dollars a million tokens, joules a prompt, or a factor ("up to 30 times").
#
# 1. The link, the figure, and what is said of model, bits, lengths, batch and machine.
# 2. The bound for the same case (`bound_ms` or `batch_limits`) and the time one part after the other (`pass_ms`), printed by a cell.
# 3. Which wall sets it? What would the figure be at twice the length, or with a tenth of the users?
# 4. What is missing to repeat it, and which measurement could refute it?

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_service", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
# A figure from memory, or a bound for another model, loses the points that rest on it and no others.
#
# - *1 point:* The figure stands on the page behind the link.
# - *1 point:* Model, bits, lengths and batch are each given, or said to be untold.
# - *1 point:* A cell prints the bound for the same case, by `bound_ms` or `batch_limits`.
# - *1 point:* A cell prints `pass_ms` for the same case.
# - *1 point:* Claim over bound is given as a number.
# - *1 point:* The verdict (possible, impossible or undecided) follows from that number.
# - *1 point:* The wall that is named is the longer of two printed times.
# - *1 point:* The prediction for twice the length, or for a tenth of the users, is printed.
# - *1 point:* One thing left out is said to raise or to lower the figure, rightly.
# - *1 point:* One measurement is named, and the result of it that would refute the figure.
#
# **A good answer (10).** A vendor's 2,400 tokens a second of Llama-3-8B on one H100 (link), in 16 bits, with 8,192 tokens and a batch that is not told.
# A cell prints that 59 users fit and that a step takes 23.4 ms by `bound_ms` and by `pass_ms` (caches 18.9, weights 4.5), so reading caches is the wall.
# This is 2,522 a second at most, and the claim is 0.95 of it: possible.
# The cell prints 1,257 for twice the length.
# The time between steps is left out, which can only lower the figure.
# `vllm bench serve` with 59 requests at a time would refute the claim if each of five runs stayed below 2,400.
#
# **A poor answer (2: items 1 and 2).** “NVIDIA says that its card is up to 30 times as fast with FP4 (link); the page does not say the lengths and the batch, but the model, 1.8 T parameters, and 4 bits. Numbers of 4 bits are a quarter of 16 bits, so at most 4 times is possible and the rest is marketing.”
# ### END SOLUTION

# %% tags=["milestone"]
# You can say what a served token costs, and which bytes it pays for.
(
    f"{batch_limits(LLAMA, 8192, H100, 80 * 10**9)['memory']} users of Llama-3-8B with 8,192 tokens"
    f" each fit on an H100: {pass_ms(LLAMA, [(8191, 1)] * 59, H100):.1f} ms a token, of which the"
    f" weights take {2000 * LLAMA['weights'] / H100.bandwidth:.1f}."
)

# %% [markdown]
# ## Summary
#
# - Users share weights, and caches only where their texts begin alike. <!-- with shared_pages -->
# - Users share weights, not caches. <!-- with kv_bytes, without shared_pages -->
# - A batch is free up to three limits; count them. <!-- with section 2 -->
# - Throughput, TTFT, TPOT: a policy can win one of the three and lose its users. <!-- with simulate_serving -->
# - Drafts, experts and block scales each move bytes; count them, then believe the factor. <!-- with best_draft, moe_parameters, block_scaled -->
