"""Lesson 09: what students get wrong about diagnoses.

What goes wrong with the other exercises stands in files beside; so do right solutions.
"""

from cohort import lesson_09_races as races
from cohort.changed import mutants
from cohort.lesson_09_alternates import ALTERNATES as MANY
from cohort.lesson_09_alternates_graphs import ALTERNATES as GRAPHS_TOO
from cohort.lesson_09_alternates_more import ALTERNATES as MORE
from cohort.lesson_09_graphs import MUTANTS as GRAPHS
from cohort.lesson_09_halves import MUTANTS as HALVES
from cohort.lesson_09_kinds import DIAGNOSE
from cohort.lesson_09_kinds import MUTANTS as KINDS
from cohort.lesson_09_loader import MUTANTS as LOADER
from cohort.lesson_09_tiles import MUTANTS as TILES

HELPERS = (
    """
import itertools

from proflab.nn import functional as F
"""
    + races.HELPERS
)

OWN = {
    "diagnose": mutants(
        DIAGNOSE,
        r"""
the largest share first
-return sorted(found, key=lambda row: -row["best"])
+return sorted(found, key=lambda row: -row["share"])

as they come
-return sorted(found, key=lambda row: -row["best"])
+return found

the smallest best first
-return sorted(found, key=lambda row: -row["best"])
+return sorted(found, key=lambda row: row["best"])

by name
-return sorted(found, key=lambda row: -row["best"])
+return sorted(found, key=lambda row: row["name"])

equal ones by name
-return sorted(found, key=lambda row: -row["best"])
+return sorted(found, key=lambda row: (-row["best"], row["name"]))

equal ones the other way round
-return sorted(found, key=lambda row: -row["best"])
+return sorted(found, key=lambda row: row["best"])[::-1]

bytes are ignored
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = 1000 * flops / hardware.peak_flops

FLOPs are ignored
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = 1000 * moved / hardware.bandwidth

the two times are added
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = 1000 * (flops / hardware.peak_flops + moved / hardware.bandwidth)

the smaller of the two times
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = 1000 * min(flops / hardware.peak_flops, moved / hardware.bandwidth)

a roof in seconds
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = max(flops / hardware.peak_flops, moved / hardware.bandwidth)

a roof in microseconds
-    roof = 1000 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)
+    roof = 1e6 * max(flops / hardware.peak_flops, moved / hardware.bandwidth)

as if the name took no time
-    best = total / rest if rest > 0 else math.inf
+    best = 1 / (1 - spent[name] / total) if spent[name] < total else math.inf

the share that is saved
-    best = total / rest if rest > 0 else math.inf
+    best = 1 - rest / total

upside down
-    best = total / rest if rest > 0 else math.inf
+    best = rest / total

the speed-up of the name alone
-    best = total / rest if rest > 0 else math.inf
+    best = spent[name] / left[name] if left[name] else math.inf

ms with what is inside
-total = sum(row["self_ms"] for row in rows)
+total = sum(row["ms"] for row in rows)
-    spent[name] = spent.get(name, 0.0) + row["self_ms"]
+    spent[name] = spent.get(name, 0.0) + row["ms"]

the whole by ms
-total = sum(row["self_ms"] for row in rows)
+total = sum(row["ms"] for row in rows)

a row may be slower at its roof
-    left[name] = left.get(name, 0.0) + min(row["self_ms"], roof)
+    left[name] = left.get(name, 0.0) + roof

shares in percent
-    found.append({"name": name, "share": spent[name] / total, "best": best})
+    found.append({"name": name, "share": 100 * spent[name] / total, "best": best})

ops, not names
-    name = row_name(row)
+    name = row["op"]

modules, not names
-    name = row_name(row)
+    name = row["module"]

only FLOPs of products
-    flops, moved = work_and_traffic([row])
+    flops, moved = row["matmul_flops"], work_and_traffic([row])[1]

only what is read
-    flops, moved = work_and_traffic([row])
+    flops, moved = work_and_traffic([row])[0], row["bytes_read"]

only the forward pass
-for row in rows:
+for row in [r for r in rows if r["phase"] != "backward"]:

a name's last row
-    spent[name] = spent.get(name, 0.0) + row["self_ms"]
+    spent[name] = row["self_ms"]

infinity is 0
-    best = total / rest if rest > 0 else math.inf
+    best = total / rest if rest > 0 else 0.0

no rows, no findings
-    raise ValueError("no time")
+    return []
""",
    ),
    **HALVES,
    **LOADER,
    **GRAPHS,
    **TILES,
}
MUTANTS = {name: entries | KINDS.get(name, {}) for name, entries in OWN.items()} | races.MUTANTS
ALTERNATES = MANY | GRAPHS_TOO | MORE | races.ALTERNATES
