"""Lesson 12: what students hand in for the generation that is to be made faster.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all.
"""

from cohort.changed import mutants

GENERATE = """
(texts, prompt), width = tokens.shape, model.wte.weight.shape[1]
heads, past = model.blocks[0].attn.heads, 0
room = [proflab.zeros(texts, model.context, 2 * width) for _ in model.blocks]
written, logits = [tokens], []
for end in range(prompt, model.context):
    x = model.wte(written[-1]) + model.wpe.weight[past:end]
    for block, kept in zip(model.blocks, room):
        qkv = block.attn.qkv(block.ln1(x))
        kept[:, past:end] = qkv[..., width:]
        if kept is room[-1]:
            qkv, x = qkv[:, -1:], x[:, -1:]
        queries = by_heads(qkv[..., :width], heads)
        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
        causal = x.shape[1] > 1
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
        x = x + block.attn.proj(mixed.transpose(1, 2).flatten(2))
        x = x + block.mlp(block.ln2(x))
    logits.append(model.lm_head(model.ln_f(x[:, -1])))
    written.append(logits[-1].argmax(-1, keepdim=True))
    past = end
return proflab.cat(written, 1), proflab.stack(logits, 1)
"""

HELPERS = """
import math

import numpy as np


def own_likeliest(numbers):
    return numbers.argmax(-1, keepdim=True)


def own_cached(model, tokens, cache=None, texts=None):
    cache, todo, logits = cache or model.new_cache(), tokens, []
    written = [tokens if texts is None else texts]
    while written[0].shape[1] + len(logits) < model.context:
        logits.append(model(todo, cache)[:, -1])
        todo = own_likeliest(logits[-1])
        written.append(todo)
    return proflab.cat(written, 1), proflab.stack(logits, 1)
"""

_SLOWER = mutants(
    GENERATE,
    """
scores and softmax by themselves
-        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
+        scores = queries @ keys.mT * (width // heads) ** -0.5
+        if causal:
+            later = proflab.ones(end, end, dtype=bool).triu(1)
+            scores = scores.masked_fill(later, -math.inf)
+        mixed = scores.softmax(-1) @ values

the last block reads the whole prompt
-        if kept is room[-1]:
-            qkv, x = qkv[:, -1:], x[:, -1:]

keys and values of whole texts are copied
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        keys, values = (by_heads(each, heads) for each in kept[:, :end].clone().chunk(2, -1))
""",
)

STEPS = {
    "generate": {
        "as it is given": (0.0, "return slow_generate(model, tokens)"),
        "all texts at once": (
            0.13,
            """
            logits = []
            while tokens.shape[1] < model.context:
                logits.append(model(tokens)[:, -1])
                tokens = proflab.cat([tokens, own_likeliest(logits[-1])], 1)
            return tokens, proflab.stack(logits, 1)
            """,
        ),
        "all texts at once, logits of the last token": (
            0.16,
            """
            logits = []
            while tokens.shape[1] < model.context:
                x = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
                for block in model.blocks:
                    x = block(x)
                logits.append(model.lm_head(model.ln_f(x[:, -1])))
                tokens = proflab.cat([tokens, own_likeliest(logits[-1])], 1)
            return tokens, proflab.stack(logits, 1)
            """,
        ),
        "a cache by cat for one text after another": (
            0.35,
            """
            done = [own_cached(model, text) for text in tokens.split(1)]
            return tuple(proflab.cat(list(each)) for each in zip(*done))
            """,
        ),
        "a cache by cat": (0.78, "return own_cached(model, tokens)"),
        "a cache by cat, logits of the last token": (
            0.79,
            """
            cache, written, logits, past = model.new_cache(), [tokens], [], 0
            for end in range(tokens.shape[1], model.context):
                x = model.wte(written[-1]) + model.wpe.weight[past:end]
                for block, kept in zip(model.blocks, cache):
                    x = block(x, kept)
                logits.append(model.lm_head(model.ln_f(x[:, -1])))
                written.append(own_likeliest(logits[-1]))
                past = end
            return proflab.cat(written, 1), proflab.stack(logits, 1)
            """,
        ),
        "keys and values in a room, written by a copy": (0.98, GENERATE),
        "scores and softmax by themselves": (0.91, _SLOWER["scores and softmax by themselves"]),
        "the last block reads the whole prompt": (
            0.95,
            _SLOWER["the last block reads the whole prompt"],
        ),
        "keys and values of whole texts are copied": (
            0.88,
            _SLOWER["keys and values of whole texts are copied"],
        ),
    },
}

WRONG = {
    "generate": mutants(
        GENERATE,
        """
the cache is made anew for each token
-        kept[:, past:end] = qkv[..., width:]
+        kept[:, :past] = 0
+        kept[:, past:end] = qkv[..., width:]

each token is written over the one before
-        kept[:, past:end] = qkv[..., width:]
+        kept[:, :end - past] = qkv[..., width:]

positions begin at 0 again
-    x = model.wte(written[-1]) + model.wpe.weight[past:end]
+    x = model.wte(written[-1]) + model.wpe.weight[: end - past]

no positions
-    x = model.wte(written[-1]) + model.wpe.weight[past:end]
+    x = model.wte(written[-1])

the empty room is looked at, too
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        keys, values = (by_heads(each, heads) for each in kept.chunk(2, -1))

keys and values change places
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        values, keys = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))

the prompt sees what comes later
-        causal = x.shape[1] > 1
+        causal = False

the mask of a prompt for one query, too
-        causal = x.shape[1] > 1
+        causal = True

the newest token is not looked at
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        keys, values = (
+            by_heads(each, heads) for each in kept[:, : max(1, end - 1)].chunk(2, -1)
+        )
-        causal = x.shape[1] > 1
+        causal = False

one room for all blocks
-    for block, kept in zip(model.blocks, room):
+    for block, kept in zip(model.blocks, [room[-1]] * len(room)):
-        if kept is room[-1]:
-            qkv, x = qkv[:, -1:], x[:, -1:]

one head
-        queries = by_heads(qkv[..., :width], heads)
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        queries = by_heads(qkv[..., :width], 1)
+        keys, values = (by_heads(each, 1) for each in kept[:, :end].chunk(2, -1))

heads are not merged again in order
-        x = x + block.attn.proj(mixed.transpose(1, 2).flatten(2))
+        x = x + block.attn.proj(mixed.reshape(*x.shape))

no shortcut around attention
-        x = x + block.attn.proj(mixed.transpose(1, 2).flatten(2))
+        x = block.attn.proj(mixed.transpose(1, 2).flatten(2))

no last norm
-    logits.append(model.lm_head(model.ln_f(x[:, -1])))
+    logits.append(model.lm_head(x[:, -1]))

logits of the first token
-    logits.append(model.lm_head(model.ln_f(x[:, -1])))
+    logits.append(model.lm_head(model.ln_f(x[:, 0])))
-        if kept is room[-1]:
-            qkv, x = qkv[:, -1:], x[:, -1:]

the least likely token
-    written.append(logits[-1].argmax(-1, keepdim=True))
+    written.append(logits[-1].argmin(-1, keepdim=True))

the cache in half precision
-room = [proflab.zeros(texts, model.context, 2 * width) for _ in model.blocks]
+room = [proflab.zeros(texts, model.context, 2 * width, dtype="float16") for _ in model.blocks]
-        keys, values = (by_heads(each, heads) for each in kept[:, :end].chunk(2, -1))
+        whole = kept[:, :end].float()
+        keys, values = (by_heads(each, heads) for each in whole.chunk(2, -1))

a cache that lies in the model's own weights
-        kept[:, past:end] = qkv[..., width:]
+        kept[:, past:end] = qkv[..., width:]
+        model.wpe.weight[past:end] = x[0]

words that are looked up in a table
-    logits.append(model.lm_head(model.ln_f(x[:, -1])))
+    logits.append(proflab.Tensor(np.ones((texts, model.lm_head.weight.shape[0]), "float32")) * 1)

a number is asked for
-    written.append(logits[-1].argmax(-1, keepdim=True))
+    written.append(proflab.Tensor([[int(row.argmax())] for row in logits[-1]]))
""",
    ),
}
_RETURNS = {  # right texts and logits, of which another part is returned
    "only the new tokens": "texts[:, tokens.shape[1] :], logits",
    "tokens alone": "texts",
    "one token too few": "texts[:, :-1], logits[:, :-1]",
    "logits alone": "logits",
    "logits before texts": "logits, texts",
    "logits of the last token alone": "texts, logits[:, -1]",
    "logits of the whole texts": "texts, model(texts)",
    "logits of the prompt, too": "texts, model(texts[:, :-1])",
    "logits of the first text alone": "texts, logits[:1]",
    "the first text alone": "texts[:1], logits[:1]",
    "a row for each word": "texts, logits.transpose(1, 2)",
    "tokens before texts": "texts, logits.transpose(0, 1)",
    "probabilities for logits": "texts, logits.softmax(-1)",
}
WRONG["generate"] |= {
    sentence: f"texts, logits = own_cached(model, tokens)\nreturn {returned}"
    for sentence, returned in _RETURNS.items()
}
WRONG["generate"]["all of a text in one pass, as if it were known"] = """
logits = model(proflab.cat([tokens, tokens], 1)[:, : model.context - 1])[:, tokens.shape[1] - 1 :]
return proflab.cat([tokens, logits.argmax(-1)], 1), logits * 1
"""
WRONG["generate"]["a result kept from an earlier call"] = """
def generate(model, tokens, kept={}):
    if tokens.shape not in kept:
        kept[tokens.shape] = own_cached(model, tokens)
    return kept[tokens.shape]


race.traced(generate, model=make_gpt2(256, 80, 64, 2, 4), tokens=("int64", (4, 64)))
"""
WRONG["generate"]["keys and values kept from an earlier call"] = """
def generate(model, tokens, kept=[]):
    if not kept:
        kept.append(model.new_cache())
        model(tokens[:, :-1], kept[0])
    return own_cached(model, tokens[:, -1:], kept[0], tokens)


race.traced(generate, model=make_gpt2(256, 80, 64, 2, 4), tokens=("int64", (4, 64)))
"""

MUTANTS = {
    name: {**WRONG[name], **{sentence: body for sentence, (_, body) in STEPS[name].items()}}
    for name in STEPS
}

ALTERNATES = {
    "generate": {
        "queries, keys and values in one room": """
            (texts, prompt), width = tokens.shape, model.wte.weight.shape[1]
            heads, past = model.blocks[0].attn.heads, 0
            room = [proflab.zeros(texts, model.context, 3 * width) for _ in model.blocks]
            written, logits = [tokens], []
            for end in range(prompt, model.context):
                x = model.wte(written[-1])
                x += model.wpe.weight[past:end]
                for at, block in enumerate(model.blocks):
                    place = room[at][:, past:end]
                    place.copy_(block.attn.qkv(block.ln1(x)))
                    first = end - 1 if at == len(room) - 1 else past
                    x = x[:, first - past :]
                    parts = room[at][:, :end].view(texts, end, 3, heads, width // heads)
                    q, k, v = parts.permute(2, 0, 3, 1, 4)
                    o = F.scaled_dot_product_attention(
                        q[:, :, first:], k, v, is_causal=end - first > 1
                    )
                    x = x + block.attn.proj(o.transpose(1, 2).reshape(texts, end - first, width))
                    x += block.mlp(block.ln2(x))
                past = end
                logits.append(model.lm_head(model.ln_f(x[:, 0])))
                written.append(logits[-1].argmax(-1)[:, None])
            return [proflab.cat(written, 1), proflab.stack(logits, 1)]
        """,
        "the prompt first, then a function for a token": """
            heads, (texts, prompt) = model.blocks[0].attn.heads, tokens.shape
            width = model.wte.weight.shape[1]
            kept = [proflab.zeros(texts, model.context, 3 * width) for _ in model.blocks]

            def read(words, past):
                end = past + words.shape[1]
                x = model.wte(words) + model.wpe.weight[past:end]
                for n, block in enumerate(model.blocks):
                    kept[n][:, past:end] = block.attn.qkv(block.ln1(x))
                    q, k, v = (by_heads(part, heads) for part in kept[n][:, :end].chunk(3, -1))
                    q = q[:, :, past:]
                    if n + 1 == len(kept):
                        q, x = q[:, :, -1:], x[:, -1:]
                    y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
                    x = x + block.attn.proj(y.transpose(1, 2).flatten(2))
                    x = x + block.mlp(block.ln2(x))
                return model.lm_head(model.ln_f(x[:, -1]))

            chosen = [read(tokens, 0)]
            words = [tokens, own_likeliest(chosen[0])]
            for past in range(prompt, model.context - 1):
                chosen.append(read(words[-1], past))
                words.append(own_likeliest(chosen[-1]))
            return proflab.cat(words, 1), proflab.stack(chosen, 1)
        """,
        "logits into a room of their own": """
            (texts, prompt), width = tokens.shape, model.wte.weight.shape[1]
            heads, past = model.blocks[0].attn.heads, 0
            room = proflab.zeros(len(list(model.blocks)), texts, model.context, 3 * width)
            written = [tokens]
            logits = proflab.zeros(model.context - prompt, texts, model.wte.weight.shape[0])
            for step in range(model.context - prompt):
                end, row = prompt + step, logits[step]
                x = model.wte(written[-1]) + model.wpe.weight[past:end]
                for n, block in enumerate(model.blocks):
                    kept, here = room[n], room[n][:, past:end]
                    here.copy_(block.attn.qkv(block.ln1(x)))
                    if n + 1 == room.shape[0]:
                        here, x = here[:, -1:], x[:, -1:]
                    q = by_heads(here[..., :width], heads)
                    k, v = (by_heads(each, heads)
                            for each in kept[:, :end, width:].chunk(2, -1))
                    y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
                    x = x + block.attn.proj(y.transpose(1, 2).flatten(2))
                    x = x + block.mlp(block.ln2(x))
                row.copy_(model.lm_head(model.ln_f(x[:, -1])))
                written.append(own_likeliest(row))
                past = end
            return proflab.cat(written, 1), logits.transpose(0, 1)
        """,
    },
}

# A program that costs less than full marks: what `best` says in the visible case.
BEST = {
    "generate": {
        "one room, and of a prompt's last block one query": """
        (texts, prompt), width = tokens.shape, model.wte.weight.shape[1]
        heads, past, added = model.blocks[0].attn.heads, 0, model.context - prompt
        room = proflab.zeros(len(list(model.blocks)), texts, model.context, 3 * width)
        written = [tokens]
        logits = []
        for end in range(prompt, model.context):
            x = model.wte(written[-1]) + model.wpe.weight[past:end]
            for n, block in enumerate(model.blocks):
                kept, here = room[n], room[n][:, past:end]
                y, qkv = block.ln1(x), block.attn.qkv
                if n + 1 == room.shape[0] and past == 0:
                    q = F.linear(y[:, -1:], qkv.weight[:width], qkv.bias[:width])
                    here[..., width:] = F.linear(y, qkv.weight[width:], qkv.bias[width:])
                    x = x[:, -1:]
                else:
                    here.copy_(qkv(y))
                    q = here[..., :width]
                q = by_heads(q, heads)
                k, v = (by_heads(each, heads) for each in kept[:, :end, width:].chunk(2, -1))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
                x = x + block.attn.proj(y.transpose(1, 2).flatten(2))
                x = x + block.mlp(block.ln2(x))
            logits.append(model.lm_head(model.ln_f(x[:, -1])))
            written.append(own_likeliest(logits[-1]))
            past = end
        return proflab.cat(written, 1), proflab.stack(logits, 1)
        """,
    },
}
