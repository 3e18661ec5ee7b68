"""Lesson 09: what students get wrong about workers that load, and about batches in pieces."""

from cohort.changed import mutants

SIMULATE_LOADER = """
if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
    raise ValueError("out of range")
if workers == 0:
    return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}
free, taken, now, wait = [0] * workers, [], 0, 0
for at, ms in enumerate(load_ms):
    ahead = at - workers * prefetch
    asked = taken[ahead] if ahead >= 0 else 0
    worker = at % workers
    free[worker] = max(free[worker], asked) + ms
    begin = max(now, free[worker])
    taken.append(begin)
    wait += begin - now
    now = begin + step_ms
return {"total_ms": now, "wait_ms": wait}
"""

ACCUMULATE = """
sizes = [len(x) for x, _ in batches]
if not sizes or min(sizes) < 1:
    raise ValueError("batches")
model.zero_grad()
mean = 0.0
for (x, y), size in zip(batches, sizes):
    part = loss(model(x), y) * (size / sum(sizes))
    part.backward()
    mean += part.item()
return mean
"""

MUTANTS = {
    "simulate_loader": mutants(
        SIMULATE_LOADER,
        r"""
prefetch is of all workers together
-    ahead = at - workers * prefetch
+    ahead = at - max(prefetch, workers)

prefetch without workers
-    ahead = at - workers * prefetch
+    ahead = at - prefetch

one batch more is asked for
-    ahead = at - workers * prefetch
+    ahead = at - workers * prefetch - 1

one batch less is asked for
-    ahead = at - workers * prefetch
+    ahead = at - max(1, workers * prefetch - 1)

prefetch comes on top
-    ahead = at - workers * prefetch
+    ahead = at - workers * (prefetch + 1)

prefetch is always 2
-    ahead = at - workers * prefetch
+    ahead = at - workers * 2

all is asked for at the start
-    asked = taken[ahead] if ahead >= 0 else 0
+    asked = 0

asked for when the step ends
-    asked = taken[ahead] if ahead >= 0 else 0
+    asked = taken[ahead] + step_ms if ahead >= 0 else 0

whichever worker is free
-    worker = at % workers
+    worker = free.index(min(free))

each worker has a run of batches
-    worker = at % workers
+    worker = at * workers // len(load_ms)

one worker does it all
-    worker = at % workers
+    worker = 0

workers share each batch
-    free[worker] = max(free[worker], asked) + ms
+    free = [max(free[0], asked) + ms / workers] * workers

a worker begins when its batch was taken
-    free[worker] = max(free[worker], asked) + ms
+    free[worker] = max(free[worker], taken[at - workers] if at >= workers else 0) + ms

a worker waits for the step before
-    free[worker] = max(free[worker], asked) + ms
+    free[worker] = max(free[worker], asked, now) + ms

workers never run out of work, nor of time
-    free[worker] = max(free[worker], asked) + ms
+    free[worker] = asked + ms

only the first wait counts
-    wait += begin - now
+    wait += begin - now if at == 0 else 0

the first wait does not count
-    wait += begin - now
+    wait += begin - now if at else 0

the wait counts all loading
-    wait += begin - now
+    wait += ms

the wait is until the batch is there
-    wait += begin - now
+    wait += begin

the wait is the longest
-    wait += begin - now
+    wait = max(wait, begin - now)

load and step, always
-return {"total_ms": now, "wait_ms": wait}
+return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}

the slower of both
-return {"total_ms": now, "wait_ms": wait}
+total = max(sum(load_ms) / workers, len(load_ms) * step_ms)
+return {"total_ms": total, "wait_ms": total - len(load_ms) * step_ms}

without the last step
-return {"total_ms": now, "wait_ms": wait}
+return {"total_ms": now - step_ms, "wait_ms": wait}

seconds
-return {"total_ms": now, "wait_ms": wait}
+return {"total_ms": now / 1000, "wait_ms": wait / 1000}

whole ms
-return {"total_ms": now, "wait_ms": wait}
+return {"total_ms": round(now), "wait_ms": round(wait)}

no workers are one worker
-if workers == 0:
+if workers == 0 and (workers := 1) == 0:

without workers nothing waits
-    return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}
+    return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": 0}

without workers only loading
-    return {"total_ms": sum(load_ms) + len(load_ms) * step_ms, "wait_ms": sum(load_ms)}
+    return {"total_ms": sum(load_ms), "wait_ms": sum(load_ms)}

the list is used up
-for at, ms in enumerate(load_ms):
+for at, ms in enumerate([load_ms.pop(0) for _ in list(load_ms)]):

no batches take no time
-if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
+if not len(load_ms):
+    return {'total_ms': 0, 'wait_ms': 0}
+if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:

a batch may take no time
-if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
+if not len(load_ms) or min(load_ms) < 0 or step_ms <= 0 or workers < 0 or prefetch < 1:

a step may take no time
-if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
+if not len(load_ms) or min(load_ms) <= 0 or step_ms < 0 or workers < 0 or prefetch < 1:

no prefetch
-if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 1:
+if not len(load_ms) or min(*load_ms, step_ms) <= 0 or workers < 0 or prefetch < 0:
""",
    ),
    "accumulate": mutants(
        ACCUMULATE,
        r"""
the mean of the means
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y) * (1 / len(batches))

the sum of the means
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y)

the sum over the samples
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y) * size

by the largest batch
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y) * (size / max(sizes))

by the first batch
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y) * (size / sizes[0] / len(sizes))

the wrong batch's weight
-for (x, y), size in zip(batches, sizes):
+for (x, y), size in zip(batches, sizes[::-1]):

labels are counted
-sizes = [len(x) for x, _ in batches]
+sizes = [len(y) for _, y in batches]

old gradients count
-model.zero_grad()

each batch forgets the last
-for (x, y), size in zip(batches, sizes):
+for (x, y), size in zip(batches, sizes):
+    model.zero_grad()

nothing is left: raises
-    mean += part.item()
+    mean += part.item()
+model.zero_grad()

one backward pass at the end
-    part = loss(model(x), y) * (size / sum(sizes))
-    part.backward()
-    mean += part.item()
+    mean = mean + loss(model(x), y) * (size / sum(sizes))
+mean.backward()
+mean = mean.item()

one graph for all batches, backward by backward
-    part = loss(model(x), y) * (size / sum(sizes))
+    parts = [loss(model(a), b) * (n / sum(sizes)) for (a, b), n in zip(batches, sizes)]
+for part in parts:
-    mean += part.item()
-return mean
+return sum(part.item() for part in parts)

the loss is the mean of the means
-    mean += part.item()
+    mean += part.item() * sum(sizes) / size / len(sizes)

the loss is the last
-    mean += part.item()
+    mean = part.item() * sum(sizes) / size

the loss is the last part
-    mean += part.item()
+    mean = part.item()

the loss is the sum of the means
-    mean += part.item()
+    mean += part.item() * sum(sizes) / size

the loss counts twice
-    mean += part.item()
+    mean += part.item() * (size / sum(sizes))

gradients are scaled again with each batch
-    part = loss(model(x), y) * (size / sum(sizes))
+    part = loss(model(x), y)
-    mean += part.item()
+    for p in model.parameters():
+        p.grad = p.grad * (size / sum(sizes))
+    mean += part.item() * (size / sum(sizes))

scaled by the number of batches at the end
-    mean += part.item()
+    mean += part.item()
+for p in model.parameters():
+    p.grad = p.grad / len(sizes)

only the loss is weighed
-    part.backward()
+    (part * (sum(sizes) / size)).backward()

the model is called twice
-for (x, y), size in zip(batches, sizes):
+for (x, y), size in zip(batches, sizes):
+    model(x)

the last batch is left out
-for (x, y), size in zip(batches, sizes):
+for (x, y), size in zip(batches[: max(1, len(batches) - 1)], sizes):

no batches, no loss
-if not sizes or min(sizes) < 1:
+if not sizes:
+    return 0.0
+if min(sizes) < 1:

empty batches are left out
-sizes = [len(x) for x, _ in batches]
+batches = [b for b in batches if len(b[0])]
+sizes = [len(x) for x, _ in batches]
""",
    ),
}
