"""Lesson 09: what students get wrong about softmax in pieces and tiles."""

from cohort.changed import mutants

MERGE = """
high = np.maximum(one[0], two[0])
base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
first, second = np.exp(one[0] - base), np.exp(two[0] - base)
total = one[1] * first + two[1] * second
values = one[2] * first[:, None] + two[2] * second[:, None]
return high, total, values
"""

TILED_ATTENTION = """
if min(block_q, block_k) < 1:
    raise ValueError("tiles")
seq, scale = memory.seq, 1 / math.sqrt(memory.width)
for low in range(0, seq, block_q):
    high = min(low + block_q, seq)
    q = memory.load("q", low, high)
    top = np.full(len(q), -np.inf, q.dtype)
    total, mixed = np.zeros(len(q), q.dtype), np.zeros_like(q)
    for start in range(0, high if causal else seq, block_k):
        end = min(start + block_k, seq)
        k, v = memory.load("k", start, end), memory.load("v", start, end)
        scores = (q @ k.T * scale).astype(q.dtype)
        if causal:
            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
        new = np.maximum(top, scores.max(axis=1))
        weights, shrink = np.exp(scores - new[:, None]), np.exp(top - new)
        total = total * shrink + weights.sum(axis=1)
        mixed = mixed * shrink[:, None] + weights @ v
        top = new
    memory.store("o", low, mixed / total[:, None])
"""

MUTANTS = {
    "merge": mutants(
        MERGE,
        r"""
the first is not rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.ones_like(high), np.exp(two[0] - base)

the second is not rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0] - base), np.ones_like(high)

neither is rescaled
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.ones_like(high), np.ones_like(high)

the total is not rescaled
-total = one[1] * first + two[1] * second
+total = one[1] + two[1]

the values are not rescaled
-values = one[2] * first[:, None] + two[2] * second[:, None]
+values = one[2] + two[2]

weights that overflow
-base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0]) / np.exp(high), np.exp(two[0]) / np.exp(high)

minus infinity less minus infinity
-base = np.where(np.isneginf(high), 0, high).astype(high.dtype)
+base = high

the lower one's scale
-high = np.maximum(one[0], two[0])
+high = np.minimum(one[0], two[0])

highest scores are added
-return high, total, values
+return one[0] + two[0], total, values

the first's highest score
-return high, total, values
+return one[0], total, values

the second's highest score
-return high, total, values
+return two[0], total, values

one highest score for all rows
-high = np.maximum(one[0], two[0])
+high = np.full_like(one[0], max(one[0].max(), two[0].max()))

shrunk the wrong way
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(base - one[0]), np.exp(base - two[0])

powers of two
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp2(one[0] - base), np.exp2(two[0] - base)

the first by the second's weight
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(two[0] - base), np.exp(one[0] - base)

values are divided already
-return high, total, values
+return high, total, values / np.where(total == 0, 1, total)[:, None]

only the higher block counts
-return high, total, values
+mine = one[0] >= two[0]
+return high, np.where(mine, one[1], two[1]), np.where(mine[:, None], one[2], two[2])

of equal ones the second is lost
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = np.exp(one[0] - base), np.exp(two[0] - base) * (one[0] != two[0])

float64 comes back
-return high, total, values
+return high, total.astype(np.float64), values

float32 comes back
-return high, total, values
+return tuple(item.astype(np.float32) for item in (high, total, values))

highest of no scores is 0
-return high, total, values
+return base, total, values

far apart is cut off
-first, second = np.exp(one[0] - base), np.exp(two[0] - base)
+first, second = (np.exp(np.maximum(x - base, -10)) for x in (one[0], two[0]))

in place
-total = one[1] * first + two[1] * second
+one[1][:] *= first
+total = one[1] + two[1] * second

the mean of the values
-values = one[2] * first[:, None] + two[2] * second[:, None]
+values = (one[2] * first[:, None] + two[2] * second[:, None]) / 2
""",
    ),
    "tiled_attention": mutants(
        TILED_ATTENTION,
        r"""
the highest score of the tile alone
-        new = np.maximum(top, scores.max(axis=1))
+        new = scores.max(axis=1)
+        new[np.isneginf(new)] = 0

totals are not shrunk
-        total = total * shrink + weights.sum(axis=1)
+        total = total + weights.sum(axis=1)

values are not shrunk
-        mixed = mixed * shrink[:, None] + weights @ v
+        mixed = mixed + weights @ v

each tile is divided
-        mixed = mixed * shrink[:, None] + weights @ v
+        mixed = mixed * shrink[:, None] + weights @ v / weights.sum(axis=1)[:, None]

the mean of the tiles
-        mixed = mixed * shrink[:, None] + weights @ v
+        mixed = mixed + (weights @ v) / weights.sum(axis=1)[:, None] / -(-seq // block_k)
+        total[:] = 1

the last tile's result
-        mixed = mixed * shrink[:, None] + weights @ v
+        mixed = weights @ v

not divided
-    memory.store("o", low, mixed / total[:, None])
+    memory.store("o", low, mixed)

no highest score is taken off
-        new = np.maximum(top, scores.max(axis=1))
+        new = np.zeros_like(top)
+        top = np.where(np.isneginf(top), 0, top).astype(q.dtype)

keys and values are loaded once for all
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+held = {}
-        k, v = memory.load("k", start, end), memory.load("v", start, end)
+        if start not in held:
+            held[start] = memory.load("k", start, end), memory.load("v", start, end)
+        k, v = held[start]

queries are loaded with each tile
-        k, v = memory.load("k", start, end), memory.load("v", start, end)
+        k, v = memory.load("k", start, end), memory.load("v", start, end)
+        q = memory.load("q", low, high)

keys are loaded twice
-        end = min(start + block_k, seq)
+        end = min(start + block_k, seq)
+        memory.load("k", start, end)

all queries at once
-for low in range(0, seq, block_q):
-    high = min(low + block_q, seq)
+for low in [0]:
+    high = seq

all keys at once
-    total, mixed = np.zeros(len(q), q.dtype), np.zeros_like(q)
+    total, mixed = np.zeros(len(q), q.dtype), np.zeros_like(q)
+    block_k = seq

blocks are swapped
-    raise ValueError("tiles")
+    raise ValueError("tiles")
+block_q, block_k = block_k, block_q

not scaled
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1

scaled by the width
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1 / memory.width

scaled by the tile
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1 / math.sqrt(block_k)

scaled by the length
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1 / math.sqrt(memory.seq)

keys for values
-        mixed = mixed * shrink[:, None] + weights @ v
+        mixed = mixed * shrink[:, None] + weights @ k

causal is ignored
-        if causal:
+        if False:

a row does not see itself
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(low, high)[:, None] <= np.arange(start, end)] = -np.inf

a row sees the next key
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(low, high)[:, None] < np.arange(start, end) - 1] = -np.inf

masked by the place in the tile
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(high - low)[:, None] < np.arange(end - start)] = -np.inf

masked by the first row of the tile
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[:, np.arange(start, end) > low] = -np.inf

masked by the last row of the tile
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[:, np.arange(start, end) >= high] = -np.inf

the mask is turned round
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(low, high)[:, None] > np.arange(start, end)] = -np.inf

masked scores are 0
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = 0

masked scores are -100
-            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -np.inf
+            scores[np.arange(low, high)[:, None] < np.arange(start, end)] = -100

masked tiles are loaded
-    for start in range(0, high if causal else seq, block_k):
+    for start in range(0, seq, block_k):

a tile too many is loaded
-    for start in range(0, high if causal else seq, block_k):
+    for start in range(0, min(seq, high + 1) if causal else seq, block_k):

tiles on the diagonal are left out
-    for start in range(0, high if causal else seq, block_k):
+    for start in range(0, max(low, 1) if causal else seq, block_k):

keys to the first row of the tile
-    for start in range(0, high if causal else seq, block_k):
+    for start in range(0, low + 1 if causal else seq, block_k):

the last short tile of keys is left out
-    for start in range(0, high if causal else seq, block_k):
+    for start in range(0, high if causal else max(1, seq - block_k + 1), block_k):

the last short tile of queries is left out
-for low in range(0, seq, block_q):
+for low in range(0, max(1, seq - block_q + 1), block_q):

a short tile is loaded as a whole one
-        end = min(start + block_k, seq)
+        end = start + block_k

a short tile begins earlier
-        end = min(start + block_k, seq)
+        end = min(start + block_k, seq)
+        start = max(0, end - block_k)

the result is stored at once
-seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+seq, scale = memory.seq, 1 / math.sqrt(memory.width)
+done = []
-    memory.store("o", low, mixed / total[:, None])
+    done.append(mixed / total[:, None])
+memory.store("o", 0, np.concatenate(done))

stored with each tile
-        top = new
+        top = new
+        memory.store("o", low, mixed / total[:, None])

tiles of 0
-if min(block_q, block_k) < 1:
-    raise ValueError("tiles")
+block_q, block_k = max(1, abs(block_q)), max(1, abs(block_k))

in float16
-        scores = (q @ k.T * scale).astype(q.dtype)
+        scores = (q @ k.T * scale).astype(np.float16).astype(q.dtype)
""",
    ),
}
