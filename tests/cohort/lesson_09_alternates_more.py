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
    "generation_flops": {
        "sums in closed form": """
            if not all(n >= 1 for n in (layers, d, vocab, prompt, new)):
                raise ValueError("sizes")
            lengths = [prompt + n for n in range(new)]
            tokens = [prompt] + [1] * (new - 1) if cached else lengths
            looked = sum(n * t for n, t in zip(tokens, lengths))
            return sum(tokens) * (layers * 24 * d**2 + 2 * d * vocab) + layers * 4 * d * looked
        """,
        "a pass at a time, by parts": """
            for number in (layers, d, vocab, prompt, new):
                if number < 1:
                    raise ValueError("sizes")
            done = products = 0
            for length in range(prompt, prompt + new):
                for token in range(done if cached else 0, length):
                    assert token < length
                    products += layers * 12 * d * d + d * vocab + layers * 2 * length * d
                done = length
            return 2 * products
        """,
        "by recursion": """
            if min((layers, d, vocab, prompt, new)) <= 0:
                raise ValueError("sizes")

            def work(n, t):
                return layers * (24 * n * d**2 + 4 * n * t * d) + 2 * n * d * vocab

            def rest(t, left):
                return work(1 if cached else t, t) + rest(t + 1, left - 1) if left else 0

            return work(prompt, prompt) + rest(prompt + 1, new - 1)
        """,
    },
    "paged_tokens": {
        "in numpy": """
            sizes = np.array(lengths)
            if sizes.size == 0 or sizes.min() <= 0 or page <= 0:
                raise ValueError("pages")
            return int(((sizes + page - 1) // page * page).sum())
        """,
        "by the remainder": """
            if page <= 0 or not len(lengths) or not all(length > 0 for length in lengths):
                raise ValueError("pages")
            total = 0
            for length in lengths:
                whole, rest = divmod(length, page)
                total += (whole + bool(rest)) * page
            return total
        """,
        "page by page": """
            if len(lengths) == 0 or any(n < 1 for n in lengths) or page < 1:
                raise ValueError("pages")
            return sum(len(range(0, n, page)) for n in lengths) * page
        """,
    },
}
