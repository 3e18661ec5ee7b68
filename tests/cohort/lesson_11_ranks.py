"""Lesson 11: what students get wrong about rings and what they cost."""

from cohort.edits import edited

RING = """
n = len(arrays)
if n == 0:
    raise ValueError("no ranks")
for array in arrays:
    if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:
        raise ValueError("they differ")
parts = [[part.copy() for part in np.array_split(array, n)] for array in arrays]
sent, steps = [0] * n, 0
for t in range(n - 1):
    out = [parts[r][(r - t) % n].copy() for r in range(n)]
    for r in range(n):
        sent[r] += out[r].nbytes
        to = (r + 1) % n
        parts[to][(r - t) % n] = parts[to][(r - t) % n] + out[r]
    steps += 1
for t in range(n - 1):
    out = [parts[r][(r + 1 - t) % n].copy() for r in range(n)]
    for r in range(n):
        sent[r] += out[r].nbytes
        parts[(r + 1) % n][(r + 1 - t) % n] = out[r]
    steps += 1
return {"results": [np.concatenate(p) for p in parts], "sent": sent, "steps": steps}
"""

COST = """
if size < 0 or ranks < 1 or latency_us < 0 or gb_per_s <= 0:
    raise ValueError("range")
if algorithm == "ring":
    steps, each = 2 * (ranks - 1), size / ranks
elif algorithm == "tree":
    steps, each = 2 * math.ceil(math.log2(ranks)), size
else:
    raise ValueError("algorithm")
return steps * (latency_us / 1e3 + each / gb_per_s / 1e6)
"""

_ADDED = "parts[to][(r - t) % n] = parts[to][(r - t) % n] + out[r]"
_TREE = "2 * math.ceil(math.log2(ranks)), size"
_SUM = """
n = len(arrays)
if n == 0 or any(a.shape != arrays[0].shape or a.dtype != arrays[0].dtype for a in arrays):
    raise ValueError("ranks")
total = arrays[0].copy()
for array in arrays[1:]:
    total = total + array
"""


MUTANTS = {
    "ring_allreduce": {
        "the sum, and the bytes by the formula": _SUM
        + "each = 2 * (n - 1) * arrays[0].nbytes // n\n"
        'return {"results": [total.copy() for _ in arrays], "sent": [each] * n, '
        '"steps": 2 * (n - 1)}',
        "rank 0 gathers and sends all back": _SUM
        + "size = arrays[0].nbytes\nsent = [size * (n - 1)] + [size] * (n - 1)\n"
        'return {"results": [total.copy() for _ in arrays], "sent": sent, "steps": 2 * (n - 1)}',
        "each sends all to all": _SUM + "sent = [arrays[0].nbytes * (n - 1)] * n\n"
        'return {"results": [total.copy() for _ in arrays], "sent": sent, "steps": n - 1}',
    }
    | edited(
        RING,
        {
            "whole arrays are sent": ("sent[r] += out[r].nbytes", "sent[r] += arrays[r].nbytes"),
            "sums twice": (
                "parts[(r + 1) % n][(r + 1 - t) % n] = out[r]",
                "parts[(r + 1) % n][(r + 1 - t) % n] = parts[(r + 1) % n][(r + 1 - t) "
                "% n] + out[r]",
            ),
            "one part is left": (
                "for t in range(n - 1):\n    out = [parts[r][(r + 1 - t)",
                "for t in range(n - 2):\n    out = [parts[r][(r + 1 - t)",
            ),
            "reduce-scatter ends a step early": (
                "for t in range(n - 1):\n    out = [parts[r][(r - t)",
                "for t in range(n - 2):\n    out = [parts[r][(r - t)",
            ),
            "the all-gather begins with the part of one's own number": (
                "[parts[r][(r + 1 - t) % n].copy() for r in range(n)]",
                "[parts[r][(r - t) % n].copy() for r in range(n)]",
                "parts[(r + 1) % n][(r + 1 - t) % n] = out[r]",
                "parts[(r + 1) % n][(r - t) % n] = out[r]",
            ),
            "to the rank before": (
                "(r + 1) % n]",
                "(r - 1) % n]",
                "to = (r + 1) % n",
                "to = (r - 1) % n",
            ),
            "rank r first sends part r + 1": (
                "(r - t) % n",
                "(r + 1 - t) % n",
                "[parts[r][(r + 1 - t) % n].copy() for r in range(n)]\n"
                "    for r in range(n):\n        sent[r] += out[r].nbytes\n"
                "        parts[(r + 1) % n][(r + 1 - t) % n] = out[r]",
                "[parts[r][(r + 2 - t) % n].copy() for r in range(n)]\n"
                "    for r in range(n):\n        sent[r] += out[r].nbytes\n"
                "        parts[(r + 1) % n][(r + 2 - t) % n] = out[r]",
            ),
            "the arrays are changed": (
                "[[part.copy() for part in np.array_split(array, n)] for array in arrays]",
                "[list(np.array_split(array, n)) for array in arrays]",
                _ADDED,
                "parts[to][(r - t) % n] += out[r]",
            ),
            "the mean": (
                '"results": [np.concatenate(p) for p in parts]',
                '"results": [np.concatenate(p) / n for p in parts]',
            ),
            "added in double precision": (
                "np.array_split(array, n)]",
                "np.array_split(array.astype(float), n)]",
                "np.concatenate(p) for p",
                "np.concatenate(p).astype(arrays[0].dtype) for p",
                "sent[r] += out[r].nbytes",
                "sent[r] += out[r].size * arrays[0].itemsize",
            ),
            "the results are float64": (
                "np.array_split(array, n)]",
                "np.array_split(array.astype(float), n)]",
                "sent[r] += out[r].nbytes",
                "sent[r] += out[r].size * arrays[0].itemsize",
            ),
            "numbers, not bytes": ("out[r].nbytes", "out[r].size"),
            "four bytes a number": ("out[r].nbytes", "4 * out[r].size"),
            "what is received": ("sent[r] += out[r].nbytes", "sent[(r + 1) % n] += out[r].nbytes"),
            "all ranks together": ('"sent": sent', '"sent": [sum(sent)] * n'),
            "only the first half is counted": (
                "        sent[r] += out[r].nbytes\n        parts[(r + 1)",
                "        parts[(r + 1)",
            ),
            "half of the steps": ('"steps": steps', '"steps": steps // 2'),
            "steps times ranks": ('"steps": steps', '"steps": steps * n'),
            "the rest goes into the last part": (
                "np.array_split(array, n)]",
                "np.split(array, [len(array) // n * k for k in range(1, n)])]",
            ),
            "all parts are as long as the longest": (
                "np.array_split(array, n)]",
                "np.split(array, [min(-(-len(array) // n) * k, len(array)) for k in range(1, n)])]",
            ),
            "only rank 0 has the sum": (
                "[np.concatenate(p) for p in parts]",
                "[np.concatenate(parts[0])] + [a.copy() for a in arrays[1:]]",
            ),
            "the result of rank 0 alone": (
                "[np.concatenate(p) for p in parts]",
                "np.concatenate(parts[0])",
            ),
            "no ranks are allowed": (
                'if n == 0:\n    raise ValueError("no ranks")',
                'if n == 0:\n    return {"results": [], "sent": [], "steps": 0}',
            ),
            "lengths may differ": ("array.shape != arrays[0].shape or ", ""),
            "dtypes may differ": (" or array.dtype != arrays[0].dtype", ""),
            "nothing is checked": (
                "    if array.shape != arrays[0].shape or array.dtype != arrays[0].dtype:\n"
                '        raise ValueError("they differ")',
                "    pass",
            ),
        },
    ),
    "allreduce_ms": edited(
        COST,
        {
            "bits for bytes": ("each / gb_per_s", "8 * each / gb_per_s"),
            "bandwidth in bits": ("each / gb_per_s", "each / 8 / gb_per_s"),
            "only half of the way": (
                "2 * (ranks - 1), size / ranks",
                "2 * (ranks - 1), size / ranks / 2",
            ),
            "reduce-scatter alone": ("2 * (ranks - 1)", "ranks - 1"),
            "to one rank, and not back": ("2 * math.ceil(", "math.ceil("),
            "n steps": ("2 * (ranks - 1)", "2 * ranks"),
            "a ring of whole arrays": ("size / ranks", "size"),
            "a tree of parts": (_TREE, _TREE + " / ranks"),
            "latency once": (
                "steps * (latency_us / 1e3 + each / gb_per_s / 1e6)",
                "latency_us / 1e3 * min(steps, 1) + steps * each / gb_per_s / 1e6",
            ),
            "no latency": ("latency_us / 1e3 + ", ""),
            "latency in ms": ("latency_us / 1e3", "latency_us"),
            "in seconds": ("return steps", "return 1e-3 * steps"),
            "in µs": ("return steps", "return 1e3 * steps"),
            "1,024³ bytes": ("/ gb_per_s / 1e6", "/ gb_per_s * 1000 / 1024**3"),
            "the logarithm is not rounded": ("math.ceil(math.log2(ranks))", "math.log2(ranks)"),
            "the logarithm is rounded down": (
                "math.ceil(math.log2(ranks))",
                "math.floor(math.log2(ranks))",
            ),
            "the natural logarithm": ("math.log2(ranks)", "math.log(ranks)"),
            "a tree of ranks - 1 steps": ("math.ceil(math.log2(ranks))", "(ranks - 1)"),
            "one more step for the root": (
                "math.ceil(math.log2(ranks))",
                "math.ceil(math.log2(ranks + 1))",
            ),
            "the bandwidth is shared by all ranks": ("each / gb_per_s", "each * ranks / gb_per_s"),
            "always the better of the two": (
                "return steps",
                "if ranks > 1:\n"
                "    other = (2 * math.ceil(math.log2(ranks)), size) if algorithm == "
                '"ring" else '
                "(2 * (ranks - 1), size / ranks)\n"
                "    return min(s * (latency_us / 1e3 + e / gb_per_s / 1e6) for s, e "
                "in ((steps, each), other))\n"
                "return steps",
            ),
            "tree and ring change places": (
                'algorithm == "ring"',
                'algorithm == "TREE"',
                'algorithm == "tree"',
                'algorithm == "ring"',
                '"TREE"',
                '"tree"',
            ),
            "another algorithm is a tree": (
                'elif algorithm == "tree":',
                "else:",
                'else:\n    raise ValueError("algorithm")',
                "",
            ),
            "capitals are taken": ("if size < 0", "algorithm = algorithm.lower()\nif size < 0"),
            "one rank needs no algorithm": (
                'if algorithm == "ring":',
                'if ranks == 1:\n    return 0.0\nif algorithm == "ring":',
            ),
            "ranks are not checked": (
                " or ranks < 1",
                "",
                "math.log2(ranks)",
                "math.log2(max(ranks, 1))",
                "size / ranks",
                "size / (ranks or 1)",
            ),
            "bytes are not checked": ("size < 0 or ", ""),
            "latency is not checked": (" or latency_us < 0", ""),
            "bandwidth is not checked": (
                " or gb_per_s <= 0",
                "",
                "/ gb_per_s / 1e6",
                "/ (gb_per_s or 1) / 1e6",
            ),
            "no bytes are refused": ("size < 0", "size <= 0"),
            "no latency is refused": ("latency_us < 0", "latency_us <= 0"),
        },
    ),
}
