"""Lesson 09: what students get wrong about the cost of caches, and about pages."""

from cohort.changed import mutants

GENERATION_FLOPS = """
if min(layers, d, vocab, prompt, new) < 1:
    raise ValueError("sizes")
total = 0
for step in range(new):
    seen = prompt + step
    tokens = seen if not cached or step == 0 else 1
    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * tokens * d * vocab
return total
"""

PAGED_TOKENS = """
if not lengths or min(lengths) < 1 or page < 1:
    raise ValueError("pages")
return sum(math.ceil(length / page) * page for length in lengths)
"""

MUTANTS = {
    "generation_flops": mutants(
        GENERATION_FLOPS,
        r"""
a cache for nothing
-    tokens = seen if not cached or step == 0 else 1
+    tokens = seen

a cache always
-    tokens = seen if not cached or step == 0 else 1
+    tokens = seen if step == 0 else 1

a cache for the prompt, too
-    tokens = seen if not cached or step == 0 else 1
+    tokens = seen if not cached else 1

one pass more
-for step in range(new):
+for step in range(new + 1):

the prompt's pass gives no token
-    seen = prompt + step
+    seen = prompt + step + 1

looks at the newest token alone
-    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * tokens * d * vocab
+    total += layers * (24 * tokens * d * d + 4 * tokens * tokens * d) + 2 * tokens * d * vocab

looks at the prompt alone
-    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * tokens * d * vocab
+    total += layers * (24 * tokens * d * d + 4 * tokens * prompt * d) + 2 * tokens * d * vocab

words for the last token alone
-    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * tokens * d * vocab
+    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * d * vocab

words in each block
-    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d) + 2 * tokens * d * vocab
+    total += layers * (24 * tokens * d * d + 4 * tokens * seen * d + 2 * tokens * d * vocab)

multiply-adds
-return total
+return total // 2

no sizes are refused
-if min(layers, d, vocab, prompt, new) < 1:
-    raise ValueError("sizes")
""",
    ),
    "paged_tokens": mutants(
        PAGED_TOKENS,
        r"""
rounded down
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum((length // page) * page for length in lengths)

always one page more
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum((length // page + 1) * page for length in lengths)

pages are shared
-return sum(math.ceil(length / page) * page for length in lengths)
+return math.ceil(sum(lengths) / page) * page

pages, not tokens
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(math.ceil(length / page) for length in lengths)

as much as the longest
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(math.ceil(max(lengths) / page) * page for length in lengths)

what is used
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(length for length in lengths)

no sequences need none
-if not lengths or min(lengths) < 1 or page < 1:
+if lengths and min(lengths) < 1 or page < 1:

sequences without tokens
-if not lengths or min(lengths) < 1 or page < 1:
+if not lengths or min(lengths) < 0 or page < 1:

any page
-if not lengths or min(lengths) < 1 or page < 1:
+if not lengths or min(lengths) < 1:

a page for each token
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(length * page for length in lengths)

the longest alone
-return sum(math.ceil(length / page) * page for length in lengths)
+return math.ceil(max(lengths) / page) * page

what is left over
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(-length % page for length in lengths)

rounded to the nearest page
-return sum(math.ceil(length / page) * page for length in lengths)
+return sum(max(1, round(length / page)) * page for length in lengths)
""",
    ),
}
