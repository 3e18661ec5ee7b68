"""Lesson 07: what students hand in for the two programs whose order is to be changed.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all.
"""

HELPERS = """
def squares(rows):
    return (rows * rows).sum(1, keepdim=True)


def with_columns(*parts):
    return proflab.cat(list(parts), 1)
"""

STEPS = {
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
        "the formula": (0.85, "return squares(x) + squares(y).mT - 2 * (x @ y.mT)"),
        "the formula, twice x first": (0.9, "return squares(x) + squares(y).mT - 2 * x @ y.mT"),
        "the formula, in place": (
            0.89,
            """
            found = x @ (-2 * y).mT
            found += squares(x)
            found += squares(y).mT
            return found
            """,
        ),
        "one more column": (
            0.93,
            """
            left, ones = with_columns(-2 * x, squares(x)), proflab.ones_like(y[:, :1])
            return left @ with_columns(y, ones).mT + squares(y).mT
            """,
        ),
        "in float64": (
            0.75,
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
