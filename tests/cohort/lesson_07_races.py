"""Lesson 07: what students hand in for the programs and the plan whose order is to be changed.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all.
"""

HELPERS = """
def squares(rows):
    return (rows * rows).sum(1, keepdim=True)


def with_columns(*parts):
    return proflab.cat(list(parts), 1)


def tiles(n, rows, columns, depth, loops):
    found = []
    for starts in itertools.product(range(0, n, rows), range(0, n, columns), range(0, n, depth)):
        ends = (rows, columns, depth)
        spans = {
            name: range(start, min(start + size, n))
            for name, start, size in zip("ijk", starts, ends)
        }
        for values in itertools.product(*(spans[name] for name in loops)):
            at = dict(zip(loops, values))
            found.append((at["i"], at["j"], at["k"]))
    return found
"""

STEPS = {
    "order": {
        "as it is given": (0.0, "return slow_order(n, lines, line)"),
        "down the columns": (0.0, "return tiles(n, n, n, n, 'jki')"),
        "the loops ikj": (0.56, "return tiles(n, n, n, n, 'ikj')"),
        "the loops kij": (0.51, "return tiles(n, n, n, n, 'kij')"),
        "tiles of 4": (0.65, "return tiles(n, 4, 4, 4, 'ikj')"),
        "tiles of 8": (0.94, "return tiles(n, 8, 8, 8, 'ijk')"),
        "tiles of 16, which do not fit": (0.55, "return tiles(n, 16, 16, 16, 'ikj')"),
        "tiles as long as a line": (0.94, "return tiles(n, line, line, line, 'kij')"),
        "blocks of C of a line's length": (0.93, "return tiles(n, line, line, n, 'kij')"),
        "the whole width of C": (0.49, "return tiles(n, 8, n, n, 'kij')"),
        "a block that fills the cache with C alone": (
            0.46,
            """
            side = int(math.sqrt(lines * line) // line) * line
            return tiles(n, side, side, n, "kij")
            """,
        ),
    },
    "path": {
        "as it is given": (0.0, "return slow_path(a, b, c, d)"),
        "one einsum, from left to right": (
            0.0,
            "return proflab.einsum('ijk,kl,lm,jn->imn', a, b, c, d)",
        ),
        "one big product": (
            0.27,
            """
            small = proflab.einsum("km,jn->jkmn", b @ c, d)
            j, k, m, n = small.shape
            return (a.reshape(-1, j * k) @ small.reshape(j * k, m * n)).reshape(-1, m, n)
            """,
        ),
        "d earlier": (0.84, "return ((a.mT @ d).mT @ b @ c).mT"),
        "d earlier, in two einsums": (
            0.84,
            """
            shorter = proflab.einsum("ijk,jn->ink", a, d)
            return proflab.einsum("ink,kl,lm->imn", shorter, b, c)
            """,
        ),
        "a slice at a time": (
            0.24,
            """
            bc = b @ c
            return proflab.stack([(a[i] @ bc).T @ d for i in range(a.shape[0])])
            """,
        ),
        "in float64": (
            0.05,
            """
            a, b, c, d = (each.to(np.float64) for each in (a, b, c, d))
            return ((a @ (b @ c)).mT @ d).to(np.float32)
            """,
        ),
    },
    "distances": {
        "as it is given": (0.0, "return slow_distances(x, y)"),
        "a row at a time": (
            0.0,
            "return proflab.stack([((x - each) ** 2).sum(1) for each in y], 1)",
        ),
        "in float64": (
            0.88,
            """
            x, y = x.to(np.float64), y.to(np.float64)
            left = with_columns(-2 * x, squares(x), proflab.ones_like(x[:, :1]))
            right = with_columns(y, proflab.ones_like(y[:, :1]), squares(y))
            return (left @ right.mT).to(np.float32)
            """,
        ),
    },
}

WRONG = {
    "order": {
        "pairs": "return [(i, j) for i in range(n) for j in range(n)]",
        "pairs, each n times": "return [(i, j) for i in range(n) for j in range(n)] * n",
        "counted from 1": "return [(i + 1, j + 1, k + 1) for i, j, k in tiles(n, 8, 8, n, 'kij')]",
        "up to n": "return tiles(n + 1, 8, 8, n + 1, 'kij')",
        "the first of each is left out": """
            return [step for step in tiles(n, 8, 8, n, "kij") if min(step) > 0]
        """,
        "the steps that add something": """
            return [step for step in tiles(n, 8, 8, n, "kij") if step[0] <= step[1]]
        """,
        "one block, again and again": "return tiles(8, 8, 8, 8, 'kij') * (n // 8) ** 3",
        "what a block leaves over is lost": "return tiles(n // 16 * 16 - 1, 16, 16, 16, 'kij')",
        "addresses": """
            return [
                address
                for i, j, k in tiles(n, 8, 8, n, "kij")
                for address in (i * n + k, n * n + k * n + j, 2 * n * n + i * n + j)
            ]
        """,
        "one number for each step": """
            return [(i * n + j) * n + k for i, j, k in tiles(n, 8, 8, n, "kij")]
        """,
        "three rows": "return np.array(tiles(n, 8, 8, n, 'kij')).T",
        "three lists": "return [list(each) for each in zip(*tiles(n, 8, 8, n, 'kij'))]",
        "floats": "return np.array(tiles(n, 8, 8, n, 'kij'), float)",
        "numbers that went through floats": """
            return [(i, j, k / 1) for i, j, k in tiles(n, 8, 8, n, "kij")]
        """,
        "texts": "return [f'{i},{j},{k}' for i, j, k in tiles(n, 8, 8, n, 'kij')]",
        "a generator": "return (step for step in tiles(n, 8, 8, n, 'kij'))",
        "a set": "return set(tiles(n, 8, 8, n, 'kij'))",
        "blocks in a list each": """
            found = tiles(n, 8, 8, n, "kij")
            return [found[at : at + 512] for at in range(0, len(found), 512)]
        """,
        "nothing": "return None",
        "the order's name": "return 'kij'",
        "a block that is done twice at the edge": """
            found = tiles(n, 8, 8, n, "kij")
            return found[:512] + found[:-512]
        """,
    },
    "path": {
        "d meets the last axis": "return a @ d @ (d.mT @ (b @ c))",
        "the result's axes the other way": "return d.mT @ (a @ (b @ c))",
        "a's axes the other way": "return (a.mT @ (b @ c)).mT @ d",
        "b transposed": "return (a @ (b.T @ c)).mT @ d",
        "without b": "return (a @ c).mT @ d",
        "without a": "return ((b @ c).mT @ d)[None]",
        "c in place of d": "return (a @ (b @ c)).mT @ c",
        "c and d change places": "return (a @ (b @ d)).mT @ c",
        "the sum over i": "return ((a @ (b @ c)).mT @ d).sum(0, keepdim=True)",
        "the first slice for all": "return ((a[:1] @ (b @ c)).mT @ d).expand(a.shape[0], -1, -1)",
        "j is summed before it meets d": "return (a.sum(1, keepdim=True) @ b @ c).mT * d.sum(0)",
        "nothing": "return proflab.zeros(a.shape[0], c.shape[1], d.shape[1])",
        "a number is asked for": "return (a @ (b @ c)).mT @ d * float(a[0, 0, 0])",
        "in half precision": """
            a, b, c, d = (each.half() for each in (a, b, c, d))
            return ((a @ (b @ c)).mT @ d).float()
        """,
        "c is changed": "c *= 1\nreturn (a @ (b @ c)).mT @ d",
    },
    "distances": {
        "the product alone": "return -2 * (x @ y.mT)",
        "one product, not two": "return squares(x) + squares(y).mT - x @ y.mT",
        "a plus": "return squares(x) + squares(y).mT + 2 * x @ y.mT",
        "without the squares of y": "return squares(x) - 2 * x @ y.mT",
        "without the squares of x": "return squares(y).mT - 2 * x @ y.mT",
        "the squares without the product": "return squares(x) + squares(y).mT",
        "the distance, not its square": """
            return (squares(x) + squares(y).mT - 2 * x @ y.mT).relu().sqrt()
        """,
        "the mean over columns": """
            return (squares(x) + squares(y).mT - 2 * x @ y.mT) / x.shape[1]
        """,
        "rows and others change places": "return squares(y) + squares(x).mT - 2 * y @ x.mT",
        "the square of the sum": "return (x.sum(1, keepdim=True) - y.sum(1)) ** 2",
        "sums, not squares": """
            return x.sum(1, keepdim=True) + y.sum(1) - 2 * x @ y.mT
        """,
        "the columns on the wrong side": """
            one = proflab.ones_like(x[:, :1])
            other = proflab.ones_like(y[:, :1])
            return with_columns(-2 * x, squares(x), one) @ with_columns(y, squares(y), other).mT
        """,
        "x is doubled in its square, too": """
            x = 2 * x
            return squares(x) + squares(y).mT - x @ y.mT
        """,
        "a number is asked for": """
            return squares(x) + squares(y).mT - 2 * x @ y.mT * float(x[0, 0])
        """,
        "in half precision": """
            left = with_columns(-2 * x, squares(x), proflab.ones_like(x[:, :1])).half()
            right = with_columns(y, proflab.ones_like(y[:, :1]), squares(y)).half()
            return (left @ right.mT).float()
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
    "order": {
        "an array of small numbers, and blocks that go back and forth": """
            def fits(rows, columns):
                return rows + rows * columns // line + 2 * columns // line <= lines

            rows, columns = min(
                ((r, c) for r in range(1, n + 1) for c in range(line, n + 1, line) if fits(r, c)),
                key=lambda b: -(-n // b[0]) - (-n // b[1]),
            )
            parts = []
            for number, (top, left) in enumerate(
                itertools.product(range(0, n, rows), range(0, n, columns))
            ):
                high, wide = min(rows, n - top), min(columns, n - left)
                k, i, j = np.indices((n, high, wide)).reshape(3, -1)
                k = n - 1 - k if number % 2 else k
                parts.append(np.stack([i + top, j + left, k], axis=1))
            return np.concatenate(parts).astype(np.uint8)
        """,
        "a search by one's own misses": """
            def misses(shape):
                steps = tiles(n, *shape, n, "kij")[: n * shape[0] * shape[1]]
                walk = [
                    at for i, j, k in steps
                    for at in (i * n + k, n * n + k * n + j, 2 * n * n + i * n + j)
                ]
                return cache_misses(walk, line, lines) / len(steps)

            shapes = [
                (rows, columns)
                for rows in {-(-n // parts) for parts in range(1, n + 1)}
                for columns in range(line, n + 1, line)
                if rows + rows * columns // line + 2 * columns // line <= lines
            ]
            best = min(shapes, key=lambda s: (-(-n // s[0]) - (-n // s[1]), misses(s)))
            return [list(step) for step in tiles(n, *best, n, "kij")]
        """,
        "tuples of numpy's numbers": """
            def ceil(a, b):
                return (a + b - 1) // b

            best = None
            for rows in range(n, 0, -1):
                room = (lines - rows) // (rows + 2) * line
                columns = min(room, n)
                if columns >= line and (best is None or
                        ceil(n, rows) + ceil(n, columns) < ceil(n, best[0]) + ceil(n, best[1])):
                    best = rows, columns
            return [tuple(row) for row in np.array(tiles(n, *best, n, "kij"))]
        """,
    },
    "path": {
        "two einsums": """
            bc = proflab.einsum("kl,lm->km", b, c)
            return proflab.einsum("ijk,km,jn->imn", a, bc, d)
        """,
        "both sides of a": "return (b @ c).mT @ (a.mT @ d)",
        "an order that numpy finds by the shapes": """
            left, terms = "ijk,kl,lm,jn", [a, b, c, d]
            steps = np.einsum_path(left + "->imn", *[np.empty(t.shape) for t in terms])[0][1:]
            names = left.split(",")
            for pair in steps:
                picked = [(names.pop(at), terms.pop(at)) for at in sorted(pair, reverse=True)]
                inside = "".join(name for name, _ in picked)
                kept = "".join(sorted(set(inside) & set("imn" + "".join(names))))
                if not names:
                    kept = "imn"
                rule = ",".join(name for name, _ in picked) + "->" + kept
                terms.append(proflab.einsum(rule, *[tensor for _, tensor in picked]))
                names.append(kept)
            return terms[0]
        """,
    },
    "distances": {
        "the formula, twice x first": "return squares(x) + squares(y).mT - 2 * x @ y.mT",
        "the formula, in place": """
            found = x @ (-2 * y).mT
            found += squares(x)
            found += squares(y).mT
            return found
        """,
        "one more column": """
            left, ones = with_columns(-2 * x, squares(x)), proflab.ones_like(y[:, :1])
            return left @ with_columns(y, ones).mT + squares(y).mT
        """,
        "two more columns": """
            xx, yy = squares(x), squares(y)
            left = with_columns(-2 * x, xx, proflab.ones_like(xx))
            return left @ with_columns(y, proflab.ones_like(yy), yy).mT
        """,
        "squares and sums in one op": """
            xx = proflab.einsum("nd,nd->n", x, x)[:, None]
            yy = proflab.einsum("nd,nd->n", y, y)[:, None]
            left = with_columns(-2 * x, xx, proflab.ones_like(xx))
            return left @ with_columns(y, proflab.ones_like(yy), yy).mT
        """,
        "the columns written in place": """
            rows, width = x.shape
            left, right = proflab.ones(rows, width + 2), proflab.ones(y.shape[0], width + 2)
            left[:, :width], right[:, :width] = -2 * x, y
            left[:, width:-1], right[:, -1:] = squares(x), squares(y)
            return left @ right.mT
        """,
        "a linear layer with a bias": """
            yy = proflab.einsum("nd,nd->n", y, y)
            left = with_columns(-2 * x, proflab.einsum("nd,nd->n", x, x)[:, None])
            right = with_columns(y, proflab.ones_like(yy)[:, None])
            return proflab.nn.functional.linear(left, right, yy)
        """,
    },
}

# Programs that cost less than full marks: what `best` says in the visible case.
BEST = {
    "order": {
        "to and fro, so that a block begins where the one before it ended": """
            side, width = 9, 16
            found, up = [], True
            for row, top in enumerate(range(0, n, side)):
                lefts = range(0, n, width)
                for left in reversed(lefts) if row % 2 else lefts:
                    block = (range(top, min(top + side, n)), range(left, min(left + width, n)))
                    depth = range(n) if up else reversed(range(n))
                    found += [(i, j, k) for k in depth for i in block[0] for j in block[1]]
                    up = not up
            return found
        """,
    },
    "distances": {
        "a padded column, and a linear layer with a bias": """
            left = with_columns(-2 * x, proflab.einsum("nd,nd->n", x, x)[:, None])
            right = proflab.nn.functional.pad(y, (0, 1), value=1.0)
            return proflab.nn.functional.linear(left, right, proflab.einsum("nd,nd->n", y, y))
        """,
    },
}
