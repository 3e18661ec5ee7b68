"""Lesson 12: what students get wrong about the bytes of keys and values, and about pages."""

from cohort.edits import edited

KV_BYTES = """
if tokens < 0 or bits <= 0:
    raise ValueError("tokens and bits")
if config.get("text_config") is not None:
    config = config["text_config"]
config = {key: value for key, value in config.items() if value is not None}
layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
if "kv_lora_rank" in config:
    numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]
else:
    size = config.get("head_dim", config.get("hidden_size", 0) // heads)
    numbers = 2 * config.get("num_key_value_heads", heads) * size
kept = layers * tokens
if "layer_types" in config:
    window = config.get("sliding_window")
    if set(config["layer_types"]) - {"full_attention", "sliding_attention"}:
        raise ValueError("a kind of layer that is not known")
    if len(config["layer_types"]) != layers:
        raise ValueError("kinds of layers")
    slides = [kind == "sliding_attention" for kind in config["layer_types"]]
    kept = sum(min(tokens, window) if slide else tokens for slide in slides)
return math.ceil(kept * numbers * bits / 8)
"""
_NUMBERS = 'numbers = 2 * config.get("num_key_value_heads", heads) * size'
_LATENT = 'numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]'
_SIZE = 'size = config.get("head_dim", config.get("hidden_size", 0) // heads)'
_KEPT = "kept = sum(min(tokens, window) if slide else tokens for slide in slides)"
_END = "return math.ceil(kept * numbers * bits / 8)"

GENERATION_FLOPS = """
if min(layers, d, vocab, prompt, new) < 1:
    raise ValueError("sizes")
total = 0
for step in range(new):
    seen = prompt + step
    tokens = seen if not cached or step == 0 else 1
    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * d * vocab
return total
"""
_TOKENS = "tokens = seen if not cached or step == 0 else 1"
_PASS = "total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * d * vocab"

SHARED_PAGES = """
if not sequences or min(map(len, sequences)) < 1 or page < 1:
    raise ValueError("sequences and page")
alone = sum(math.ceil(len(text) / page) for text in sequences)
full, own = set(), 0
for text in sequences:
    for end in range(page, len(text) + 1, page):
        full.add(tuple(text[:end]))
    own += len(text) % page > 0
shared = len(full) + own
empty = sum(-len(text) % page for text in sequences)
return {"alone": alone, "shared": shared, "empty": empty}
"""
_ADD = "full.add(tuple(text[:end]))"
_OWN = "own += len(text) % page > 0"

PREFIX_HITS = """
if page < 1 or capacity < 1:
    raise ValueError("page and capacity")
kept, found = [], []
for text in requests:
    keys = [tuple(text[:end]) for end in range(page, len(text) + 1, page)]
    hits = 0
    for key in keys:
        if key not in kept or len(key) == len(text):
            break
        hits += page
    for key in reversed(keys):
        if key in kept:
            kept.remove(key)
        kept.append(key)
    while len(kept) > capacity:
        kept.pop(0)
    found.append(hits)
return found
"""
MUTANTS = {
    "kv_bytes": edited(
        KV_BYTES,
        {
            "all heads have keys and values of their own": (
                'config.get("num_key_value_heads", heads)',
                "heads",
            ),
            "keys alone": (_NUMBERS, _NUMBERS.replace("2 * ", "")),
            "bits for bytes": (_END, "return kept * numbers * bits"),
            "always 16 bits": (_END, "return 2 * kept * numbers"),
            "always 32 bits": (_END, "return 4 * kept * numbers"),
            "the size of a head is worked out although it is given": (
                _SIZE,
                'size = config.get("hidden_size", 128 * heads) // heads',
            ),
            "the hidden size is shared by the heads of keys": (
                _SIZE,
                "\n    ".join(
                    [
                        'few = config.get("num_key_value_heads", heads)',
                        'size = config.get("head_dim", config.get("hidden_size", 0) // few)',
                    ]
                ),
            ),
            "a window that no layer has": (
                "kept = layers * tokens",
                'kept = layers * min(tokens, config.get("sliding_window") or tokens)',
            ),
            "no windows": (_KEPT, "kept = len(slides) * tokens"),
            "all layers have the window where one has": (
                _KEPT,
                "kept = len(slides) * min(tokens, window if any(slides) else tokens)",
            ),
            "every second layer has the window": (
                _KEPT,
                "kept = sum(min(tokens, window) if n % 2 == 0 else tokens "
                "for n in range(len(slides)))",
            ),
            "a window is always full": (
                "min(tokens, window) if slide",
                "window if slide",
            ),
            "the window is what is forgotten": (
                "min(tokens, window) if slide",
                "max(0, tokens - window) if slide",
            ),
            "of each head a latent vector": (_LATENT, f"{_LATENT[:10]}heads * ({_LATENT[10:]})"),
            "the latent vector twice": (_LATENT, f"{_LATENT[:10]}2 * ({_LATENT[10:]})"),
            "no rotary part": (_LATENT, 'numbers = config["kv_lora_rank"]'),
            "the rotary part of each head": (
                _LATENT,
                'numbers = config["kv_lora_rank"] + heads * config["qk_rope_head_dim"]',
            ),
            "latent vectors are not known": ('if "kv_lora_rank" in config:', "if False:"),
            "one layer": ("kept = layers * tokens", "kept = tokens"),
            "cut off": (_END, "return kept * numbers * bits // 8"),
            "the bits of each token are rounded up": (
                _END,
                "return kept * math.ceil(numbers * bits / 8)",
            ),
            "each number in whole bytes": (_END, "return kept * numbers * math.ceil(bits / 8)"),
            "a float": (_END, "return kept * numbers * bits / 8"),
            "a token is always there": ("if tokens < 0", "if tokens < 1"),
            "any length": ("if tokens < 0 or bits <= 0", "if bits <= 0"),
            "nothing is checked": ("if tokens < 0 or bits <= 0", "if False"),
            "null is a value: raises": ("items() if value is not None", "items()"),
            "other kinds of layers store all tokens": (
                'if set(config["layer_types"]) - {"full_attention", "sliding_attention"}:',
                "if False:",
            ),
            "the kinds that are there count": (
                'if len(config["layer_types"]) != layers:',
                "if False:",
            ),
            "a text_config is not known": (
                'if config.get("text_config") is not None:',
                "if False:",
            ),
            "the keys outside of text_config come first": (
                'config = config["text_config"]',
                'config = config["text_config"] | config',
            ),
            "latent layers never forget": (
                "slides = [kind ==",
                'slides = ["kv_lora_rank" not in config and kind ==',
            ),
            "a latent vector for each KV head": (
                _LATENT,
                f"{_LATENT}\n    numbers *= config.get('num_key_value_heads', 1)",
            ),
            "no text is longer than 131,072 tokens": (
                "kept = layers * tokens",
                "tokens = min(tokens, 131_072)\nkept = layers * tokens",
            ),
            "keys and values rounded up apart": (
                _END,
                "return 2 * math.ceil(kept * numbers / 2 * bits / 8)",
            ),
            "each layer rounded up": (
                _END,
                "return layers * math.ceil(kept / layers * numbers * bits / 8)",
            ),
            "the configuration gets what it lacks": (
                "config = {key:",
                'config.setdefault("num_key_value_heads", config["num_attention_heads"])\n'
                "config = {key:",
            ),
        },
    ),
    "generation_flops": edited(
        GENERATION_FLOPS,
        {
            "a cache for nothing": (_TOKENS, "tokens = seen"),
            "a cache always": (_TOKENS, "tokens = seen if step == 0 else 1"),
            "a cache for the prompt, too": (_TOKENS, "tokens = seen if not cached else 1"),
            "one pass more": ("range(new)", "range(new + 1)"),
            "the prompt's pass gives no token": ("prompt + step", "prompt + step + 1"),
            "looks at the newest token alone": ("tokens * seen", "tokens * tokens"),
            "looks at the prompt alone": ("tokens * seen", "tokens * prompt"),
            "logits of all tokens": ("+ 2 * d * vocab", "+ 2 * tokens * d * vocab"),
            "logits once": (
                _PASS,
                "total += layers * (24 * tokens * d * d + 4 * tokens * seen * d)\n"
                "total += 2 * d * vocab",
            ),
            "logits in each block": (
                _PASS,
                "total += layers * (24 * tokens * d * d + 4 * tokens * seen * d + 2 * d * vocab)",
            ),
            "no logits": (" + 2 * d * vocab", ""),
            "half of the pairs": ("4 * tokens * seen", "2 * tokens * (seen + 1)"),
            "multiply-adds": ("return total", "return total // 2"),
            "no feed-forward part": ("24 * tokens", "8 * tokens"),
            "nothing is checked": ("if min(layers, d, vocab, prompt, new) < 1", "if False"),
        },
    ),
    "shared_pages": edited(
        SHARED_PAGES,
        {
            "cut off": ("math.ceil(len(text) / page)", "len(text) // page"),
            "always a page more": ("math.ceil(len(text) / page)", "(len(text) // page + 1)"),
            "a stream of all tokens": (
                "alone = sum(math.ceil(len(text) / page) for text in sequences)",
                "alone = math.ceil(sum(map(len, sequences)) / page)",
            ),
            "equal pages anywhere are one": (_ADD, "full.add(tuple(text[end - page : end]))"),
            "equal pages at one place are one": (
                _ADD,
                "full.add((end, tuple(text[end - page : end])))",
            ),
            "the last page is shared, too": (
                _OWN,
                "full.add(tuple(text))",
            ),
            "no last page": (_OWN, "own += 0"),
            "each text has a last page": (_OWN, "own += 1"),
            "nothing is shared": ("shared = len(full) + own", "shared = alone"),
            "only whole texts are shared": (
                "shared = len(full) + own",
                "shared = sum(math.ceil(len(t) / page) for t in set(map(tuple, sequences)))",
            ),
            "what all texts have and what is their own are cut into pages apart": (
                "shared = len(full) + own",
                "\n".join(
                    [
                        "same = 0",
                        "while same < min(map(len, sequences)) and all(",
                        "    t[same] == sequences[0][same] for t in sequences",
                        "):",
                        "    same += 1",
                        "shared = -(-same // page)",
                        "shared += sum(-(-(len(text) - same) // page) for text in sequences)",
                    ]
                ),
            ),
            "only what all texts have is shared": (
                "shared = len(full) + own",
                "\n".join(
                    [
                        "same = 0",
                        "while same < min(map(len, sequences)) and all(",
                        "    t[same] == sequences[0][same] for t in sequences",
                        "):",
                        "    same += 1",
                        "shared = alone - same // page * (len(sequences) - 1)",
                    ]
                ),
            ),
            "only with the text before": (
                "shared = len(full) + own",
                "\n".join(
                    [
                        "shared = alone",
                        "for a, b in zip(sequences, sequences[1:]):",
                        "    same = 0",
                        "    while same < min(len(a), len(b)) and a[same] == b[same]:",
                        "        same += 1",
                        "    shared -= same // page",
                    ]
                ),
            ),
            "one page is compared": (_ADD, "full.add((end, text[0], text[end - 1]))"),
            "the sum of a beginning, which raises for mixed tokens": (
                _ADD,
                "full.add((end, hash(tuple(sorted(text[:end])))))",
            ),
            "empty places of one text": (
                "empty = sum(-len(text) % page for text in sequences)",
                "empty = -len(sequences[-1]) % page",
            ),
            "empty places of a full page": (
                "-len(text) % page",
                "(page - len(text) % page)",
            ),
            "empty places in pages that are not shared": (
                "empty = sum(-len(text) % page for text in sequences)",
                "empty = shared * page - len({tuple(t[: n + 1]) for t in sequences "
                "for n in range(len(t))})",
            ),
            "empty places as what sharing saves": (
                "empty = sum(-len(text) % page for text in sequences)",
                "empty = alone * page - shared * page",
            ),
            "used places": ("-len(text) % page", "len(text) % page"),
            "tokens written one behind the other": (
                _ADD,
                'full.add("".join(map(str, text[:end])))',
            ),
            "a beginning as a set": (_ADD, "full.add((end, frozenset(text[:end])))"),
            "the sum of hashes": (_ADD, "full.add((end, sum(map(hash, text[:end]))))"),
            "pages as sets": (
                _ADD,
                "full.add(tuple(frozenset(text[n : n + page]) for n in range(0, end, page)))",
            ),
            "a last page that begins another text's page": (
                _OWN,
                "own += len(text) % page > 0 and not any(\n"
                "        other != text and other[: len(text)] == text for other in sequences\n"
                "    )",
            ),
            "no texts need no pages": (
                "not sequences or min(map(len, sequences)) < 1 or page < 1",
                "page < 1",
            ),
        },
    ),
    "prefix_hits": edited(
        PREFIX_HITS,
        {
            "used first to last": ("for key in reversed(keys):", "for key in keys:"),
            "pages, not tokens": ("hits += page", "hits += 1"),
            "a page that is not full counts": (
                "found.append(hits)",
                "found.append(len(text) if hits == len(text) // page * page and hits else hits)",
            ),
            "one too many tokens": ("found.append(hits)", "found.append(min(len(text), hits + 1))"),
            "equal pages anywhere": (
                "keys = [tuple(text[:end])",
                "keys = [tuple(text[end - page : end])",
            ),
            "nothing goes": (
                "while len(kept) > capacity:\n        kept.pop(0)",
                "pass",
            ),
            "the newest goes": ("kept.pop(0)", "kept.pop()"),
            "first in, first out": (
                "if key in kept:\n            kept.remove(key)\n        kept.append(key)",
                "if key not in kept:\n            kept.append(key)",
            ),
            "one place more": ("len(kept) > capacity", "len(kept) > capacity + 1"),
            "one place fewer": ("len(kept) > capacity", "len(kept) >= capacity"),
            "capacity in tokens": ("len(kept) > capacity", "page * len(kept) > capacity"),
            "the cache is emptied when it is full": (
                "while len(kept) > capacity:\n        kept.pop(0)",
                "if len(kept) > capacity:\n        kept.clear()",
            ),
            "looked up after it was used": (
                "hits = 0\n",
                "hits = 0\n    kept += [key for key in keys if key not in kept]\n",
            ),
            "a cache of nothing": ("page < 1 or capacity < 1", "page < 1"),
            "the last token is found, too": (" or len(key) == len(text)", ""),
            "a whole text is found but for a token": (
                "found.append(hits)",
                "found.append(hits if hits < len(text) else len(text) - 1)",
                " or len(key) == len(text)",
                "",
            ),
        },
    ),
}
