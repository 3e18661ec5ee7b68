"""Lesson 09: what students get wrong about fusion, its bytes, and plans of checkpoints."""

from cohort.changed import mutants

FUSE = """
names = [name for name, _, _ in graph]
if not graph or len(set(names)) < len(names):
    raise ValueError("names")
users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
groups, order = {}, []
for at, (name, inputs, kind) in enumerate(graph):
    if set(inputs) & set(names[at:]):
        raise ValueError("later")
    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
    if kind == "elementwise" and alone:
        groups[name] = groups[alone[0]]
    else:
        groups[name] = []
        order.append(groups[name])
    groups[name].append(name)
return order
"""

GRAPH_BYTES = """
names = [name for name, _, _ in graph]
if sorted(name for group in groups for name in group) != sorted(names):
    raise ValueError("groups")
if {tensor for name, inputs, _ in graph for tensor in [name, *inputs]} - set(sizes):
    raise ValueError("sizes")
total = 0
for group in groups:
    inside = [node for node in graph if node[0] in group]
    others = [node for node in graph if node[0] not in group]
    for tensor in {t for _, inputs, _ in inside for t in inputs}:
        if tensor not in group:
            total += sizes[tensor]
    for name, _, _ in inside:
        outside = any(name in inputs for _, inputs, _ in others)
        last = not any(name in inputs for _, inputs, _ in graph)
        if outside or last:
            total += sizes[name]
return total
"""

CHECKPOINT_PLAN = """
if not kept or len(kept) != len(inputs):
    raise ValueError("layers")
n, best = len(kept), (math.inf, [])
most = [sum(kept[a:b]) - inputs[a] for a in range(n) for b in range(a + 1, n + 1)]
for limit in set(most):
    least = [(0, [])]
    for end in range(1, n + 1):
        ways = [
            (least[a][0] + inputs[a], [*least[a][1], a])
            for a in range(end)
            if sum(kept[a:end]) - inputs[a] <= limit
        ]
        least.append(min(ways, key=lambda way: way[0], default=(math.inf, [])))
    if least[n][0] + limit < best[0]:
        best = least[n][0] + limit, least[n][1]
return {"peak": best[0], "starts": best[1]}
"""

MUTANTS = {
    "fuse": mutants(
        FUSE,
        r"""
across a tensor with two users
-    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
+    alone = [tensor for tensor in inputs if tensor in users]

with at most two users
-    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
+    alone = [tensor for tensor in inputs if 1 <= users.get(tensor, 0) <= 2]

into a reduction
-    if kind == "elementwise" and alone:
+    if alone:

into a product, not into a reduction
-    if kind == "elementwise" and alone:
+    if kind in ("elementwise", "product") and alone:

products and reductions stay alone
-    if kind == "elementwise" and alone:
+    kinds = {n: k for n, _, k in graph}
+    if kind == "elementwise" and alone and kinds[groups[alone[0]][0]] == "elementwise":

reductions stay alone
-    if kind == "elementwise" and alone:
+    kinds = {n: k for n, _, k in graph}
+    if kind == "elementwise" and alone and kinds[alone[0]] != "reduction":

products stay alone
-    if kind == "elementwise" and alone:
+    kinds = {n: k for n, _, k in graph}
+    if kind == "elementwise" and alone and kinds[alone[0]] != "product":

nothing is fused
-    if kind == "elementwise" and alone:
+    if False:

all is fused
-    if kind == "elementwise" and alone:
+    if order and kind == "elementwise":
+        groups[name] = order[-1]
+    elif kind == "elementwise" and alone:

the last input decides
-        groups[name] = groups[alone[0]]
+        groups[name] = groups[alone[-1]]

only the first input is looked at
-    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
+    alone = [tensor for tensor in inputs[:1] if users.get(tensor) == 1]

only the first that a node computed is looked at
-    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
+    alone = [t for t in [t for t in inputs if t in users][:1] if users[t] == 1]

reading twice makes two users
-users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
+users = {name: sum(inputs.count(name) for _, inputs, _ in graph) for name in names}

only elementwise users count
-users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
+some = [inputs for _, inputs, kind in graph if kind == "elementwise"]
+users = {name: sum(name in inputs for inputs in some) for name in names}

tensors from outside join their readers
-users = {name: sum(name in inputs for _, inputs, _ in graph) for name in names}
+every = {tensor for name, inputs, _ in graph for tensor in [name, *inputs]}
+users = {name: sum(name in inputs for _, inputs, _ in graph) for name in every}
-        groups[name] = groups[alone[0]]
+        groups[name] = groups.setdefault(alone[0], groups.get(alone[0], []))
-    groups[name].append(name)
+    groups[name].append(name)
+    if groups[name] not in order:
+        order.append(groups[name])

only with the node just before
-    alone = [tensor for tensor in inputs if users.get(tensor) == 1]
+    alone = [t for t in inputs if users.get(t) == 1 and at and t == names[at - 1]]

only pairs
-    if kind == "elementwise" and alone:
+    if kind == "elementwise" and alone and len(groups[alone[0]]) == 1:

the two groups become one
-        groups[name] = groups[alone[0]]
+        groups[name] = groups[alone[0]]
+        for other in alone[1:]:
+            if groups[other] is not groups[name]:
+                order.remove(groups[other])
+                groups[name] += groups[other]
+                groups[other] = groups[name]

groups in the order of their last nodes
-return order
+return sorted(order, key=lambda group: names.index(group[-1]))

the largest groups first
-return order
+return sorted(order, key=len, reverse=True)

names in alphabetical order
-return order
+return sorted(sorted(group) for group in order)

groups backwards
-return order
+return order[::-1]

newest first in a group
-    groups[name].append(name)
+    groups[name].insert(0, name)

only groups of several
-return order
+return [group for group in order if len(group) > 1]

the list is used up
-for at, (name, inputs, kind) in enumerate(graph):
+for at, (name, inputs, kind) in enumerate([graph.pop(0) for _ in names]):

a name may be there twice
-if not graph or len(set(names)) < len(names):
+if not graph:

no nodes, no groups
-if not graph or len(set(names)) < len(names):
+if len(set(names)) < len(names):

an input may be computed later
-    if set(inputs) & set(names[at:]):
-        raise ValueError("later")
+    inputs = [t for t in inputs if t not in names[at:]]

a node may read itself
-    if set(inputs) & set(names[at:]):
+    if set(inputs) & set(names[at + 1 :]):
""",
    ),
    "graph_bytes": mutants(
        GRAPH_BYTES,
        r"""
what stays inside is written
-        if outside or last:
+        if True:

what stays inside is read
-        if tensor not in group:
+        if True:

an input is read by each node
-    for tensor in {t for _, inputs, _ in inside for t in inputs}:
+    for tensor in [t for _, inputs, _ in inside for t in set(inputs)]:

an input is read as often as it is named
-    for tensor in {t for _, inputs, _ in inside for t in inputs}:
+    for tensor in [t for _, inputs, _ in inside for t in inputs]:

what nobody reads is not written
-        if outside or last:
+        if outside:

only what nobody reads is written
-        if outside or last:
+        if last:

only the graph's last node is written
-        last = not any(name in inputs for _, inputs, _ in graph)
+        last = name == names[-1] and len(groups) == 1

only a group's last node is written
-        if outside or last:
+        if name == inside[-1][0]:

written once for each reader
-            total += sizes[name]
+            total += sizes[name] * max(1, sum(name in inputs for _, inputs, _ in others))

only reads
-            total += sizes[name]
+            pass

only writes
-            total += sizes[tensor]
+            pass

weights cost nothing
-        if tensor not in group:
+        if tensor not in group and tensor in names:

only tensors from outside the graph are read
-        if tensor not in group:
+        if tensor not in names:

what one group has read, no other reads
-total = 0
+total, seen = 0, set()
-        if tensor not in group:
+        if tensor not in group and tensor not in seen:
+            seen.add(tensor)

what another group computed is not read again
-        if tensor not in group:
+        if tensor not in group and not (tensor in names and len(groups) == 2):

tensors, not bytes
-            total += sizes[tensor]
+            total += 1
-            total += sizes[name]
+            total += 1

four bytes for each
-return total
+return 4 * total

node by node
-for group in groups:
+for group in [[name] for name in names]:

all in one
-for group in groups:
+for group in [names]:

read and write are one
-return total
+return total / 2

by group
-return total
+return [total]

a node may be in no group
-if sorted(name for group in groups for name in group) != sorted(names):
+every = [name for group in groups for name in group]
+if len(set(every)) < len(every) or set(every) - set(names):

a node may be in two groups
-if sorted(name for group in groups for name in group) != sorted(names):
+if {name for group in groups for name in group} != set(names):

a group may have other names
-if sorted(name for group in groups for name in group) != sorted(names):
+if sorted(n for group in groups for n in group if n in names) != sorted(names):

what has no size has none
-if {tensor for name, inputs, _ in graph for tensor in [name, *inputs]} - set(sizes):
-    raise ValueError("sizes")
+
-            total += sizes[tensor]
+            total += sizes.get(tensor, 0)
-            total += sizes[name]
+            total += sizes.get(name, 0)
""",
    ),
    "checkpoint_plan": mutants(
        CHECKPOINT_PLAN,
        r"""
each segment keeps its own input twice
-most = [sum(kept[a:b]) - inputs[a] for a in range(n) for b in range(a + 1, n + 1)]
+inputs, zeros = inputs, [0] * n
+most = [sum(kept[a:b]) - zeros[a] for a in range(n) for b in range(a + 1, n + 1)]

only the segments' inputs
-        best = least[n][0] + limit, least[n][1]
+        best = least[n][0], least[n][1]

one segment
-    if least[n][0] + limit < best[0]:
+    if limit == max(most):

a segment for each layer
-        best = least[n][0] + limit, least[n][1]
+        best = least[n][0] + limit, least[n][1]
+best = sum(inputs) + max(k - i for k, i in zip(kept, inputs)), list(range(n))

as many segments as the root of the layers
-        best = least[n][0] + limit, least[n][1]
+        best = least[n][0] + limit, least[n][1]
+step = math.isqrt(n)
+starts = list(range(0, n, step))
+sizes = [sum(kept[a : a + step]) - inputs[a] for a in starts]
+best = sum(inputs[a] for a in starts) + max(sizes), starts

the most segments of all with the least
-        least.append(min(ways, key=lambda way: way[0], default=(math.inf, [])))
+        least.append(min(ways, key=lambda way: (-len(way[1]), way[0]), default=(math.inf, [])))

the ends of the segments
-return {"peak": best[0], "starts": best[1]}
+return {"peak": best[0], "starts": [*best[1][1:], n]}

layers from 1
-return {"peak": best[0], "starts": best[1]}
+return {"peak": best[0], "starts": [a + 1 for a in best[1]]}

the first input is free
-            (least[a][0] + inputs[a], [*least[a][1], a])
+            (least[a][0] + (inputs[a] if a else 0), [*least[a][1], a])

no layers, no peak
-if not kept or len(kept) != len(inputs):
+if not kept:
+    return {'peak': 0, 'starts': []}
+if len(kept) != len(inputs):

inputs may be missing
-if not kept or len(kept) != len(inputs):
+inputs = [*inputs, *inputs[-1:] * len(kept)]
+if not kept:
""",
    ),
}
