"""Lesson 09: what students hand in for what is to be made faster, and for the loader's plan.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all.
"""

from cohort.changed import mutants

HELPERS = """
def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def loss_and_gradients(model, y):
    loss = y.square().mean()
    loss.backward()
    return [loss.detach(), *(p.grad for p in model.parameters())]


def run_again(layers, again, x):
    for number, layer in enumerate(layers):
        x = checkpointed([layer], 1)(x) if number in again else layer(x)
    return x


def blocks_again(model, x, memory):
    layers = list(model)
    return next((n for n in range(len(layers)) if held_bytes(model, x, n) <= memory), len(layers))
"""

RECOMPUTE = """
layers = list(model)
again = blocks_again(model, x, memory)
y = run_again(layers, range(again), x)
loss = y.square().mean()
loss.backward()
return [loss.detach(), *(p.grad for p in model.parameters())]
"""

LOADER_PLAN = """
free, taken, owners, now = [0.0] * workers, [], [], 0.0
for batch, ms in enumerate(load_ms):
    worker = free.index(min(free))
    begun = max(free[worker], taken[batch - room] if batch >= room else 0.0)
    free[worker] = begun + ms
    taken.append(max(now, free[worker]))
    now = taken[-1] + step_ms
    owners.append(worker)
return owners
"""

TILES = """
tokens, width = q.shape
size, step = -(-tokens // 3), 8
out = proflab.zeros(tokens, width)
for low in range(0, tokens, size):
    queries = q[low : low + size].clone()
    queries *= width**-0.5
    count = len(queries)
    top, total = proflab.full((count, 1), -math.inf), proflab.zeros(count, 1)
    mixed = proflab.zeros(count, width)
    last = low + count if causal else tokens
    for start in range(0, last, step):
        end = min(start + step, last)
        scores = queries @ k[start:end].clone().T
        rows, columns = proflab.arange(low, low + count)[:, None], proflab.arange(start, end)
        if causal:
            scores.masked_fill_(columns > rows, -math.inf)
        new = proflab.maximum(top, scores.max(-1, keepdim=True)[0])
        top -= new
        shrink = top.exp_()
        total *= shrink
        mixed *= shrink
        scores -= new
        scores.exp_()
        total += scores.sum(-1, keepdim=True)
        parts = (slice(0, width // 2), slice(width // 2, width))
        for part in parts:
            mixed[:, part] += scores @ v[start:end, part].clone()
        top = new
    mixed /= total
    out[low : low + count] = mixed
return out
"""

_TILES = mutants(
    TILES,
    """
tiles of 32
-size, step = -(-tokens // 3), 8
+size, step = 32, 32

32 queries and 8 keys
-size, step = -(-tokens // 3), 8
+size, step = 32, 8

a quarter of the queries
-size, step = -(-tokens // 3), 8
+size, step = -(-tokens // 4), 8

keys are loaded again for the second half
-            mixed[:, part] += scores @ v[start:end, part].clone()
+            k[start:end].clone()
+            mixed[:, part] += scores @ v[start:end, part].clone()
""",
)

STEPS = {
    "attend": {
        "as it is given": (0.0, "return slow_attend(q, k, v)"),
        "in float32": (
            0.28,
            """
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            scores = scores - scores.max(-1, keepdim=True)[0]
            weights = scores.exp()
            return weights / weights.sum(-1, keepdim=True) @ v
            """,
        ),
        "softmax": (0.56, "return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v"),
        "softmax, and q is scaled": (
            0.62,
            "return (q / math.sqrt(q.shape[-1]) @ k.mT).softmax(-1) @ v",
        ),
        "one op in float64": (
            0.48,
            "return fused(*(x.to(np.float64) for x in (q, k, v))).to(np.float32)",
        ),
        "one op for each head": (
            0.71,
            """
            each = range(q.shape[1])
            return proflab.stack([fused(q[:, h], k[:, h], v[:, h]) for h in each], 1)
            """,
        ),
    },
    "recompute": {
        "as it is given": (0.0, "return slow_recompute(model, x)"),
        "one block more than must be": (
            0.88,
            """
            layers = list(model)
            again = min(len(layers), blocks_again(model, x, memory) + 1)
            return loss_and_gradients(model, run_again(layers, range(again), x))
            """,
        ),
        "GELU and second product of each block": (
            0.74,
            """
            for norm, up, act, down in model:
                x = checkpointed([nn.Sequential(act, down)], 1)(up(norm(x)))
            return loss_and_gradients(model, x)
            """,
        ),
        "all but the last": (
            0.21,
            "return loss_and_gradients(model, run_again(model, range(len(list(model)) - 1), x))",
        ),
    },
    "loader_plan": {
        "as it is given": (0.0, "return turn_by_turn(load_ms, workers, room, step_ms)"),
        "one worker does it all": (0.0, "return [0] * len(load_ms)"),
        "four in a row each": (
            0.0,
            "return [batch // room % workers for batch in range(len(load_ms))]",
        ),
        "back and forth": (
            0.76,
            """
            there = [*range(workers), *range(workers)[::-1]]
            return [there[batch % len(there)] for batch in range(len(load_ms))]
            """,
        ),
        "the slow ones to one worker": (
            0.0,
            """
            owners, slow = [], sorted(load_ms)[-len(load_ms) // 5]
            for batch, ms in enumerate(load_ms):
                owners.append(0 if ms >= slow else 1 + batch % (workers - 1))
            return owners
            """,
        ),
    },
    "through_tiles": {
        "as it is given": (0.0, "return slow_tiles(q, k, v, causal)"),
        **{
            sentence: (share, _TILES[sentence])
            for sentence, share in (
                ("tiles of 32", 0.45),
                ("32 queries and 8 keys", 0.45),
                ("a quarter of the queries", 0.86),
                ("keys are loaded again for the second half", 0.62),
            )
        },
    },
}

WRONG = {
    "attend": {
        "not scaled": "return (q @ k.mT).softmax(-1) @ v",
        "scaled by the width": "return (q @ k.mT / q.shape[-1]).softmax(-1) @ v",
        "scaled by the tokens": "return (q @ k.mT / math.sqrt(q.shape[-2])).softmax(-1) @ v",
        "softmax over the queries": "return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-2) @ v",
        "keys for values": "return fused(q, k, k)",
        "queries and keys change places": "return fused(k, q, v)",
        "causal": "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "without softmax": "return q @ k.mT / math.sqrt(q.shape[-1]) @ v",
        "not divided": "return (q @ k.mT / math.sqrt(q.shape[-1])).exp() @ v",
        "the mean of the values": "return v.mean(-2, keepdim=True).expand(*v.shape)",
        "the values alone": "return v.clone()",
        "in half precision": "return fused(q.half(), k.half(), v.half()).float()",
        "half of the keys": "return fused(q, k[:, :, ::2], v[:, :, ::2])",
        "the first head for all": """
            return fused(q[:, :1], k[:, :1], v[:, :1]).expand(*q.shape)
        """,
        "nothing": "return proflab.zeros(*q.shape)",
        "a number is asked for": "return fused(q, k, v) * float(q[0, 0, 0, 0])",
        "q is changed": "q *= 1\nreturn fused(q, k, v)",
    },
    "recompute": mutants(
        RECOMPUTE,
        """
the last blocks
-y = run_again(layers, range(again), x)
+y = run_again(layers, range(len(layers) - again, len(layers)), x)

blocks in the middle
-y = run_again(layers, range(again), x)
+first = (len(layers) - again + 1) // 2
+y = run_again(layers, range(first, first + again), x)

every second block
-y = run_again(layers, range(again), x)
+y = run_again(layers, range(0, len(layers), 2), x)

none again
-y = run_again(layers, range(again), x)
+y = run_again(layers, (), x)

a block less than must be
-again = blocks_again(model, x, memory)
+again = max(0, blocks_again(model, x, memory) - 1)

three, whatever the memory
-again = blocks_again(model, x, memory)
+again = 3

the sum of the squares
-loss = y.square().mean()
+loss = y.square().sum()

the mean, not of the squares
-loss = y.square().mean()
+loss = y.mean()

the root
-loss = y.square().mean()
+loss = y.square().mean().sqrt()

gradients without the loss
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [p.grad for p in model.parameters()]

the loss alone
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [loss.detach()]

the loss comes last
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [*(p.grad for p in model.parameters()), loss.detach()]

gradients in backward's order
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [loss.detach(), *(p.grad for p in list(model.parameters())[::-1])]

the parameters, not their gradients
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [loss.detach(), *(p.detach() for p in model.parameters())]

gradients twice
-loss.backward()
+loss.backward(retain_graph=True)
+loss.backward()

blocks in reverse
-layers = list(model)
+layers = list(model)[::-1]

the last block is left out
-layers = list(model)
+layers = list(model)[:-1]

what runs again is cut off from the graph
-y = run_again(layers, range(again), x)
+with proflab.no_grad():
+    x = run_again(layers[:again], (), x)
+y = run_again(layers[again:], (), x)

a number comes first
-return [loss.detach(), *(p.grad for p in model.parameters())]
+return [loss.item(), *(p.grad for p in model.parameters())]
""",
    ),
    "loader_plan": mutants(
        LOADER_PLAN,
        """
workers are numbered from 1
-return owners
+return [owner + 1 for owner in owners]

numbers that are not whole
-return owners
+return [float(owner) for owner in owners]

names of workers
-return owners
+return [f"worker {owner}" for owner in owners]

the last batch has no worker
-return owners
+return owners[:-1]

a batch too many
-return owners
+return [*owners, 0]

when each batch is taken
-return owners
+return taken

how long the epoch takes
-return owners
+return now

the batches of each worker
-return owners
+return [[at for at, owner in enumerate(owners) if owner == w] for w in range(workers)]

pairs of batch and worker
-return owners
+return list(enumerate(owners))

nothing
-return owners
+return None

the worker that is free last
-    worker = free.index(min(free))
+    worker = free.index(max(free))

never the last worker
-    worker = free.index(min(free))
+    worker = free.index(min(free[:-1] or free))

the worker before it
-    owners.append(worker)
+    owners.append(worker - 1)

as if each load took as long
-    free[worker] = begun + ms
+    free[worker] = begun + 1
""",
    ),
    "through_tiles": mutants(
        TILES,
        """
totals do not shrink
-        total *= shrink
-        mixed *= shrink
+        mixed *= shrink

values do not shrink
-        total *= shrink
-        mixed *= shrink
+        total *= shrink

the highest score of the tile alone
-        new = proflab.maximum(top, scores.max(-1, keepdim=True)[0])
+        new = scores.max(-1, keepdim=True)[0]
+        top.fill_(0) if start else None
+        new *= 1

not divided
-    mixed /= total
+    mixed /= 1

not scaled
-    queries *= width**-0.5
+    queries *= 1

scaled by the width
-    queries *= width**-0.5
+    queries *= 1 / width

scaled twice
-    queries *= width**-0.5
+    queries *= 1 / width
+    queries *= width**-0.5

keys for values
-            mixed[:, part] += scores @ v[start:end, part].clone()
+            mixed[:, part] += scores @ k[start:end, part].clone()

the second half of the columns is left out
-        parts = (slice(0, width // 2), slice(width // 2, width))
+        parts = (slice(0, width // 2),)

all columns at once
-        parts = (slice(0, width // 2), slice(width // 2, width))
+        parts = (slice(0, width),)

half of the queries at once
-size, step = -(-tokens // 3), 8
+size, step = -(-tokens // 2), 8

nothing in place
-        scores -= new
-        scores.exp_()
+        scores = (scores - new).exp()
+        mixed = mixed * 1

many keys
-size, step = -(-tokens // 3), 8
+size, step = -(-tokens // 3), 32

queries are not loaded
-    queries = q[low : low + size].clone()
-    queries *= width**-0.5
+    queries = q[low : low + size] * width**-0.5

keys are not loaded
-        scores = queries @ k[start:end].clone().T
+        scores = queries @ k[start:end].T

what was stored is divided
-    mixed /= total
-    out[low : low + count] = mixed
+    out[low : low + count] = mixed
+    out[low : low + count] /= total

the last short tile of queries is left out
-for low in range(0, tokens, size):
+for low in range(0, tokens - size + 1, size):

causal is ignored
-        if causal:
+        if causal and False:

a row does not see itself
-            scores.masked_fill_(columns > rows, -math.inf)
+            scores.masked_fill_(columns >= rows, -1e9)

masked by the place in the tile
-            scores.masked_fill_(columns > rows, -math.inf)
+            scores.masked_fill_(columns - start > rows - low, -1e9)

the mask is turned round
-            scores.masked_fill_(columns > rows, -math.inf)
+            scores.masked_fill_(columns < rows, -1e9)

masked scores are 0
-            scores.masked_fill_(columns > rows, -math.inf)
+            scores.masked_fill_(columns > rows, 0.0)

masked tiles are loaded
-    last = low + count if causal else tokens
+    last = tokens

keys to the first row of the tile
-    last = low + count if causal else tokens
+    last = low + 1 if causal else tokens

always causal
-        if causal:
+        if True:
""",
    )
    | {
        "one op on the inputs": "return F.scaled_dot_product_attention(q, k, v, is_causal=causal)",
        "all of it in the fast memory": """
            q, k, v = q.clone(), k.clone(), v.clone()
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        """,
        "each tile on its own, without the others": """
            out = proflab.zeros(*q.shape)
            for low in range(0, len(q), 16):
                mine = slice(low, low + 16)
                out[mine] = fused(*(x[mine].clone()[None, None] for x in (q, k, v)))[0, 0]
            return out
        """,
        "numbers are asked for": """
            return proflab.Tensor(q.numpy() * 0)
        """,
    },
}

MUTANTS = {
    name: {
        **{sentence: body for sentence, (_, body) in STEPS[name].items()},
        **WRONG[name],
    }
    for name in STEPS
}

ALTERNATES = {
    "attend": {
        "heads as a batch": """
            b, h, n, d = q.shape
            one = (x.reshape(b * h, n, d) for x in (q, k, v))
            return fused(*one).reshape(b, h, n, d)
        """,
        "by name": "return F.scaled_dot_product_attention(query=q, key=k, value=v)",
    },
    "recompute": {
        "counted from the limit": """
            spare = memory - held_bytes(model, x, 0)
            again = max(0, -(spare // (9 * x.nbytes)))
            for number, layer in enumerate(model):
                x = layer(x) if number >= again else checkpointed([layer], 1)(x)
            return loss_and_gradients(model, x)
        """,
        "gradients by autograd": """
            layers, again = list(model), blocks_again(model, x, memory)
            loss = run_again(layers, range(again), x).square().mean()
            return [loss.detach(), *proflab.autograd.grad(loss, list(model.parameters()))]
        """,
    },
    "loader_plan": {
        "with a heap": """
            import heapq

            free, owners, taken, now = [(0, w) for w in range(workers)], [], [], 0
            for at, ms in enumerate(load_ms):
                when, worker = heapq.heappop(free)
                when = max(when, taken[at - room] if at >= room else 0) + ms
                heapq.heappush(free, (when, worker))
                now = max(now, when) + step_ms
                taken.append(now - step_ms)
                owners.append(worker)
            return owners
        """,
        "an array": """
            free, owners = np.zeros(workers), np.zeros(len(load_ms), int)
            for at, ms in enumerate(load_ms):
                owners[at] = free.argmin()
                free[owners[at]] += ms
            return owners
        """,
        "the best of many small changes": """
            from proflab.lesson.race.plans import _loader

            cost = lambda plan: _loader(plan, load_ms, workers, room, step_ms).cost
            rng, free, best = np.random.default_rng(1), [0.0] * workers, []
            for ms in load_ms:
                best.append(free.index(min(free)))
                free[best[-1]] += ms
            for _ in range(300):
                other = list(best)
                other[rng.integers(len(best))] = int(rng.integers(workers))
                best = min(best, other, key=cost)
            return best
        """,
    },
    "through_tiles": mutants(
        TILES,
        """
values are loaded whole, and multiplied by halves
-        for part in parts:
-            mixed[:, part] += scores @ v[start:end, part].clone()
+        values = v[start:end].clone()
+        for part in parts:
+            mixed[:, part] += scores @ values[:, part]

half of the rows at a time
-        for part in parts:
-            mixed[:, part] += scores @ v[start:end, part].clone()
+        values = v[start:end].clone()
+        for part in (slice(0, count // 2), slice(count // 2, count)):
+            mixed[part] += scores[part] @ values

columns by quarters, seven keys at a time
-size, step = -(-tokens // 3), 8
+size, step = -(-tokens // 3), 7
-        parts = (slice(0, width // 2), slice(width // 2, width))
+        parts = [slice(at * width // 4, (at + 1) * width // 4) for at in range(4)]
""",
    ),
}

# A program that costs less than full marks: what `best` says in the visible case.
BEST = {
    "through_tiles": {
        "to and fro: the last three tiles of keys and values stay for the next queries": """
            tokens, width = q.shape
            size, step = -(-tokens // 3), 8
            out, waiting = proflab.zeros(tokens, width), {}
            for low in range(0, tokens, size):
                queries = q[low : low + size].clone()
                queries *= width**-0.5
                count, kept = len(queries), {}
                top, total = proflab.full((count, 1), -math.inf), proflab.zeros(count, 1)
                mixed = proflab.zeros(count, width)
                starts = list(range(0, tokens, step))
                starts = starts[::-1] if low == size else starts
                for start in starts:
                    tile = slice(start, min(start + step, tokens))
                    stays = low + size < tokens and start in starts[-3:]
                    keys, values = waiting.pop(start, (None, None))
                    keys = k[tile].clone() if keys is None else keys
                    scores = queries @ keys.T
                    new = proflab.maximum(top, scores.max(-1, keepdim=True)[0])
                    top -= new
                    top.exp_()
                    total *= top
                    mixed *= top
                    top = new
                    scores -= new
                    scores.exp_()
                    total += scores.sum(-1, keepdim=True)
                    if stays:
                        values = v[tile].clone() if values is None else values
                        kept[start] = keys, values
                    for at in range(0, width, 4):
                        part = slice(at, at + 4)
                        mine = v[tile, part].clone() if values is None else values[:, part]
                        mixed[:, part] += scores @ mine
                waiting = kept
                mixed /= total
                out[low : low + size] = mixed
            return out
        """,
    },
}
