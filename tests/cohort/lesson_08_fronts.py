"""Lesson 08: what students get wrong about small numbers and about fronts."""

MUTANTS = {
    "quantize": {
        "128 steps": """
            w = some_weights(weights)
            scale = scale_of(w, axis, 128)
            return np.clip(np.rint(w / scale), -127, 127).astype(np.int8), scale
        """,
        "floor": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return np.floor(w / scale).astype(np.int8), scale
        """,
        "truncated": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return (w / scale).astype(np.int8), scale
        """,
        "halves away from zero": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return (np.sign(w) * np.floor(np.abs(w / scale) + 0.5)).astype(np.int8), scale
        """,
        "per column for row": """
            w = some_weights(weights)
            scale = scale_of(w, axis if axis is None or w.ndim < 2 else w.ndim - 1 - axis)
            return np.rint(w / scale).astype(np.int8), scale
        """,
        "with a zero point": """
            w = some_weights(weights)
            low, high = (
                w.min(axis=axis, keepdims=axis is not None),
                w.max(axis=axis, keepdims=axis is not None),
            )
            scale = np.where(high == low, 1.0, (high - low) / 254)
            q = np.clip(np.rint((w - low) / scale) - 127, -127, 127).astype(np.int8)
            return q, plain(scale, axis)
        """,
        "zeros have the scale 0": """
            w = some_weights(weights)
            scale = np.abs(w).max(axis=axis, keepdims=axis is not None) / 127
            with np.errstate(invalid="ignore", divide="ignore"):
                q = np.nan_to_num(np.rint(w / scale)).astype(np.int8)
            return q, plain(scale, axis)
        """,
        "the largest, not its magnitude": """
            w = some_weights(weights)
            scale = np.abs(w.max(axis=axis, keepdims=axis is not None)) / 127
            scale = np.where(scale == 0, 1.0, scale)
            return np.clip(np.rint(w / scale), -127, 127).astype(np.int8), plain(scale, axis)
        """,
        "the axis is ignored": """
            w = some_weights(weights)
            scale = scale_of(w, None)
            return np.rint(w / scale).astype(np.int8), scale
        """,
        "the axis is not kept": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return np.rint(w / scale).astype(np.int8), (
                scale if axis is None else scale.squeeze(axis)
            )
        """,
        "32 bits": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return np.rint(w / scale).astype(np.int32), scale
        """,
        "the inverse scale": """
            w = some_weights(weights)
            scale = scale_of(w, axis)
            return np.rint(w / scale).astype(np.int8), 1 / scale
        """,
        "NaN is let through": """
            w = np.asarray(weights, np.float64)
            if not w.size or np.isinf(w).any():
                raise ValueError("weights")
            scale = scale_of(w, axis)
            return np.nan_to_num(np.rint(w / scale)).astype(np.int8), scale
        """,
        "nothing is checked": """
            w = np.asarray(weights, np.float64)
            if not w.size:
                return w.astype(np.int8), 1.0
            scale = scale_of(w, axis)
            return np.nan_to_num(np.rint(w / scale)).astype(np.int8), scale
        """,
    },
    "sparse_bytes": {
        "indices are free": "return nonzeros * itemsize",
        "one place a row": """
            rows, columns = shape
            if min(rows, columns, itemsize) < 1 or not 0 <= nonzeros <= rows * columns:
                raise ValueError("range")
            return nonzeros * (itemsize + 4) + rows * 4
        """,
        "row and column of each": """
            rows, columns = shape
            if min(rows, columns, itemsize) < 1 or not 0 <= nonzeros <= rows * columns:
                raise ValueError("range")
            return nonzeros * (itemsize + 8)
        """,
        "columns for rows": """
            rows, columns = shape
            if min(rows, columns, itemsize) < 1 or not 0 <= nonzeros <= rows * columns:
                raise ValueError("range")
            return nonzeros * (itemsize + 4) + (columns + 1) * 4
        """,
        "nothing is checked": "return nonzeros * (itemsize + 4) + (shape[0] + 1) * 4",
    },
    "pareto": {
        "beaten by equals": """
            some_rows(rows, smaller, larger)
            return front(rows, smaller, larger, lambda o, m: all(x <= y for x, y in zip(o, m)))
        """,
        "beaten only in all": """
            some_rows(rows, smaller, larger)
            return front(rows, smaller, larger, lambda o, m: all(x < y for x, y in zip(o, m)))
        """,
        "beaten in any": """
            some_rows(rows, smaller, larger)
            return front(rows, smaller, larger, lambda o, m: any(x < y for x, y in zip(o, m)))
        """,
        "the first goal only": """
            some_rows(rows, smaller, larger)
            return front(rows, smaller[:1], larger if not smaller else [], lambda o, m: o < m)
        """,
        "lexicographic order": """
            some_rows(rows, smaller, larger)
            return front(rows, smaller, larger, lambda o, m: o < m)
        """,
        "less is always better": """
            some_rows(rows, smaller, larger)
            return front(rows, [*smaller, *larger], [], beats)
        """,
        "larger goals are forgotten": """
            some_rows(rows, smaller, larger)
            if not smaller:
                return [row["name"] for row in rows]
            return front(rows, smaller, [], beats)
        """,
        "those that are beaten": """
            some_rows(rows, smaller, larger)
            kept = front(rows, smaller, larger, beats)
            return [row["name"] for row in rows if row["name"] not in kept]
        """,
        "sorted by name": """
            some_rows(rows, smaller, larger)
            return sorted(front(rows, smaller, larger, beats))
        """,
        "rows, not names": """
            some_rows(rows, smaller, larger)
            kept = front(rows, smaller, larger, beats)
            return [row for row in rows if row["name"] in kept]
        """,
        "one of equals stays": """
            some_rows(rows, smaller, larger)
            kept, seen = [], []
            for row in rows:
                cost = [row[k] for k in smaller] + [-row[k] for k in larger]
                if cost not in seen:
                    kept.append(row)
                seen.append(cost)
            return front(kept, smaller, larger, beats)
        """,
        "a missing key counts as 0": """
            if not rows or not [*smaller, *larger]:
                raise ValueError("rows")
            full = [{**dict.fromkeys([*smaller, *larger], 0), **row} for row in rows]
            return front(full, smaller, larger, beats)
        """,
        "no goals keep all": """
            if not rows:
                raise ValueError("rows")
            if any(key not in row for row in rows for key in [*smaller, *larger]):
                raise ValueError("keys")
            return front(rows, smaller, larger, beats)
        """,
    },
}
