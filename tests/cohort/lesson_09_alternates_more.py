"""Lesson 09: more right solutions in unusual style: tiles, caches, the fixed step."""

ALTERNATES = {
    "merge": {
        "by the difference": """
            (a, s, u), (b, t, v) = one, two
            with np.errstate(invalid="ignore"):
                apart = np.where(a == b, 0, a - b).astype(a.dtype)
            left, right = np.exp(np.minimum(apart, 0)), np.exp(np.minimum(-apart, 0))
            return np.maximum(a, b), s * left + t * right, u * left[:, None] + v * right[:, None]
        """,
        "row by row": """
            found = [x.copy() for x in one]
            for row in range(len(one[0])):
                h, g = float(one[0][row]), float(two[0][row])
                top = max(h, g)
                if top == -math.inf:
                    continue
                p = 0.0 if h == -math.inf else math.exp(h - top)
                r = 0.0 if g == -math.inf else math.exp(g - top)
                found[0][row] = top
                found[1][row] = one[1][row] * p + two[1][row] * r
                found[2][row] = one[2][row] * p + two[2][row] * r
            return tuple(found)
        """,
        "stacked": """
            tops, totals, values = (np.stack(parts) for parts in zip(one, two))
            high = tops.max(axis=0)
            with np.errstate(invalid="ignore"):
                shrink = np.nan_to_num(np.exp(tops - high), nan=0.0)
            return high, (totals * shrink).sum(axis=0), (values * shrink[..., None]).sum(axis=0)
        """,
    },
}
