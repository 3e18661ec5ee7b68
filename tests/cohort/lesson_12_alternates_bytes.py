"""Lesson 12: right solutions in unusual style about bytes and pages."""

ALTERNATES = {
    "kv_bytes": {
        "kinds are counted": """
            if tokens < 0 or bits < 1:
                raise ValueError("range")
            if config.get("text_config"):
                config = config["text_config"]
            layers, slide = config["num_hidden_layers"], 0
            kinds = config.get("layer_types")
            if kinds is not None:
                slide = kinds.count("sliding_attention")
                if not slide + kinds.count("full_attention") == len(kinds) == layers:
                    raise ValueError(f"kinds: {kinds}")
            numbers = (layers - slide) * tokens
            if slide:
                numbers += slide * min(tokens, config["sliding_window"])
            if config.get("kv_lora_rank"):
                numbers *= config["kv_lora_rank"] + config["qk_rope_head_dim"]
            else:
                heads = config["num_attention_heads"]
                numbers *= 2 * (config.get("num_key_value_heads") or heads)
                numbers *= config.get("head_dim") or config["hidden_size"] // heads
            return (numbers * bits + 7) >> 3
        """,
        "a layer at a time": """
            if tokens < 0 or bits < 1:
                raise ValueError("range")
            config = config.get("text_config") or config
            heads = config["num_attention_heads"]
            kinds = config.get("layer_types") or ["full_attention"] * config["num_hidden_layers"]
            if len(kinds) != config["num_hidden_layers"]:
                raise ValueError("kinds")
            few = config.get("num_key_value_heads") or heads
            width = config.get("head_dim") or config.get("hidden_size", 0) // heads
            total = 0
            for layer in range(config["num_hidden_layers"]):
                seen = tokens
                if kinds[layer] not in ("sliding_attention", "full_attention"):
                    raise ValueError(kinds[layer])
                if kinds[layer].startswith("sliding"):
                    seen = sorted((tokens, config["sliding_window"]))[0]
                if config.get("kv_lora_rank") is None:
                    total += seen * few * width + few * seen * width
                else:
                    total += seen * (config["qk_rope_head_dim"] + config["kv_lora_rank"])
            return (total * bits + 7) // 8
        """,
        "numpy": """
            if min(tokens, bits - 1) < 0:
                raise ValueError("range")
            whole = config.get("text_config") or config
            config = {key: whole[key] for key in whole if whole[key] is not None}
            full = np.full(config["num_hidden_layers"], tokens, dtype=np.int64)
            if "layer_types" in config:
                kinds = np.array(config["layer_types"])
                slides = kinds == "sliding_attention"
                if not (slides | (kinds == "full_attention")).all() or kinds.size != full.size:
                    raise ValueError("kinds")
                full[slides] = np.minimum(full[slides], config["sliding_window"])
            each = 0
            if "kv_lora_rank" in config:
                each = config["kv_lora_rank"] + config["qk_rope_head_dim"]
            else:
                heads = config["num_attention_heads"]
                width = config.get("head_dim", config.get("hidden_size", 0) // heads)
                each = 2 * width * config.get("num_key_value_heads", heads)
            return np.int64(-(-(full.sum() * each * bits) // 8))
        """,
        "a token at a time": """
            if tokens < 0 or bits <= 0:
                raise ValueError("range")
            if config.get("text_config"):
                return kv_bytes(config["text_config"], tokens, bits)
            config = dict(pair for pair in config.items() if pair[1] is not None)
            layers = config["num_hidden_layers"]
            kinds = config.get("layer_types", ["full_attention"] * layers)
            known = kinds.count("full_attention") + kinds.count("sliding_attention")
            if not known == len(kinds) == layers:
                raise ValueError("kinds")
            window = config.get("sliding_window", tokens)
            kept = [tokens if kind == "full_attention" else min(window, tokens) for kind in kinds]
            match config:
                case {"kv_lora_rank": rank, "qk_rope_head_dim": rotary}:
                    numbers = rank + rotary
                case {"num_attention_heads": heads}:
                    width = config.get("head_dim", config.get("hidden_size", 0) // heads)
                    numbers = width * config.get("num_key_value_heads", heads) * 2
            whole, rest = divmod(math.fsum(kept).__int__() * numbers * bits, 8)
            return whole + bool(rest)
        """,
    },
    "generation_flops": {
        "sums in closed form": """
            if not all(n >= 1 for n in (layers, d, vocab, prompt, new)):
                raise ValueError("sizes")
            lengths = [prompt + n for n in range(new)]
            tokens = [prompt] + [1] * (new - 1) if cached else lengths
            looked = sum(n * t for n, t in zip(tokens, lengths))
            return layers * (24 * d**2 * sum(tokens) + 4 * d * looked) + 2 * d * vocab * new
        """,
        "by recursion": """
            if min((layers, d, vocab, prompt, new)) <= 0:
                raise ValueError("sizes")

            def work(n, t):
                return layers * 4 * n * d * (6 * d + t) + 2 * d * vocab

            def rest(t, left):
                return work(1 if cached else t, t) + rest(t + 1, left - 1) if left else 0

            return work(prompt, prompt) + rest(prompt + 1, new - 1)
        """,
    },
    "shared_pages": {
        "each page knows the page before it": """
            if page < 1 or not sequences or any(not text for text in sequences):
                raise ValueError("nothing")
            numbers, alone, empty, partly = {}, 0, 0, 0
            for text in sequences:
                before = None
                for start in range(0, len(text), page):
                    alone += 1
                    piece = tuple(text[start : start + page])
                    if len(piece) == page:
                        before = numbers.setdefault((before, piece), len(numbers))
                    else:
                        partly += 1
                        empty += page - len(piece)
            return dict(alone=alone, shared=len(numbers) + partly, empty=empty)
        """,
        "a trie": """
            if not sequences or page < 1 or not all(len(text) for text in sequences):
                raise ValueError("nothing")
            root, shared, alone, tokens = {}, 0, 0, 0
            places = 0
            for text in sequences:
                node = root
                for start in range(0, len(text), page):
                    part = tuple(text[start : start + page])
                    alone += 1
                    if len(part) < page:
                        shared += 1
                        places += page - len(part)
                        break
                    if part not in node:
                        node[part] = {}
                        shared += 1
                    node = node[part]
            return {"alone": alone, "shared": shared, "empty": places}
        """,
        "pairs are compared": """
            if len(sequences) < 1 or page <= 0 or min(len(s) for s in sequences) == 0:
                raise ValueError("nothing")
            texts = [list(s) for s in sequences]
            alone = sum((len(s) + page - 1) // page for s in texts)
            saved = 0
            for n, text in enumerate(texts):
                most = 0
                for other in texts[:n]:
                    same = 0
                    for a, b in zip(text, other):
                        if a != b:
                            break
                        same += 1
                    most = max(most, same // page)
                saved += most
            empty = sum((page - len(s) % page) % page for s in texts)
            return {"empty": empty, "alone": alone, "shared": alone - saved}
        """,
    },
    "prefix_hits": {
        "an ordered dict": """
            from collections import OrderedDict
            if page < 1 or capacity < 1:
                raise ValueError("nothing")
            cache, hits = OrderedDict(), []
            for text in requests:
                pages = [tuple(text[: (n + 1) * page]) for n in range(len(text) // page)]
                may = pages if len(text) % page else pages[:-1]
                found = next((n for n, key in enumerate(may) if key not in cache), len(may))
                hits.append(found * page)
                for key in pages[::-1]:
                    cache[key] = True
                    cache.move_to_end(key)
                while len(cache) > capacity:
                    cache.popitem(last=False)
            return hits
        """,
        "the time of last use": """
            if min(page, capacity) < 1:
                raise ValueError("nothing")
            used, clock, hits = {}, 0, []
            for text in requests:
                count, found = len(text) // page, 0
                while page * (found + 1) < len(text) and repr(text[: page * (found + 1)]) in used:
                    found += 1
                hits.append(page * found)
                for n in range(count, 0, -1):
                    clock += 1
                    used[repr(text[: page * n])] = clock
                newest = sorted(used, key=used.get)[-capacity:]
                used = {key: used[key] for key in newest}
            return hits
        """,
    },
}
