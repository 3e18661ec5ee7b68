"""Lesson 10: wrong and unusual kernels in Triton's language.

The right ones are run in Triton's own interpreter, too: tests/lessons/test_lesson_10_triton.py.
"""

HELPERS = ""


def _kernel(
    before: str = "",
    number: str = "tl.program_id(0)",
    inside: str = "column < columns",
    load: str = "tl.load(x + place, mask=inside, other=float('-inf'))",
    powers: str = "tl.exp(row - tl.max(row, axis=0))",
    share: str = "powers / tl.sum(powers, axis=0)",
    store: str = "tl.store(out + place, share, mask=inside)",
    stride: str = "columns",
) -> str:
    """Return the solution with one of its parts changed."""
    lines = (
        before,
        "column = tl.arange(0, block)",
        f"inside = {inside}",
        f"place = {number} * {stride} + column",
        f"row = {load}",
        f"powers = {powers}",
        f"share = {share}",
        store,
    )
    return "\n".join(line for line in lines if line)


MUTANTS = {
    "softmax_row": {
        "the maximum is not subtracted": _kernel(powers="tl.exp(row)"),
        "the maximum is added": _kernel(powers="tl.exp(row + tl.max(row, axis=0))"),
        "the sum is subtracted": _kernel(powers="tl.exp(row - tl.sum(row, axis=0))"),
        "the load has no mask: raises": _kernel(load="tl.load(x + place)"),
        "the load has a mask and no other": _kernel(load="tl.load(x + place, mask=inside)"),
        "zeros beyond the row": _kernel(load="tl.load(x + place, mask=inside, other=0.0)"),
        "zeros beyond the row, out of the sum": _kernel(
            load="tl.load(x + place, mask=inside, other=0.0)",
            powers="tl.where(inside, tl.exp(row - tl.max(row, axis=0)), 0.0)",
        ),
        "infinity beyond the row": _kernel(
            load="tl.load(x + place, mask=inside, other=float('inf'))"
        ),
        "a small number beyond the row": _kernel(
            load="tl.load(x + place, mask=inside, other=-100.0)"
        ),
        "the store has no mask: raises": _kernel(store="tl.store(out + place, share)"),
        "one number too many: raises": _kernel(inside="column <= columns"),
        "one number too few": _kernel(inside="column < columns - 1"),
        "the first number is left out": _kernel(inside="(column < columns) & (column > 0)"),
        "rows as long as a block: raises": _kernel(stride="block"),
        "always the first row": _kernel(number="0"),
        "the number of another axis": _kernel(number="tl.program_id(1)"),
        "in place": _kernel(store="tl.store(x + place, share, mask=inside)"),
        "x is read twice": _kernel(
            powers="tl.exp(row - tl.max(tl.load(x + place, mask=inside, other=-1e30), axis=0))"
        ),
        "out is written twice": _kernel(
            share="powers", store="tl.store(out + place, share, mask=inside)"
        )
        + "\ntl.store(out + place, powers / tl.sum(powers, axis=0), mask=inside)",
        "the powers are kept in out": _kernel(
            share="powers", store="tl.store(out + place, share, mask=inside)"
        )
        + "\nagain = tl.load(out + place, mask=inside, other=0.0)"
        + "\ntl.store(out + place, again / tl.sum(again, axis=0), mask=inside)",
        "the powers, not divided": _kernel(share="powers"),
        "divided by the largest": _kernel(share="powers / tl.max(powers, axis=0)"),
        "the mean of a row is subtracted, and numbers are large": _kernel(
            powers="tl.exp(row - tl.sum(tl.where(inside, row, 0.0), axis=0) / columns)"
        ),
        "nothing is stored": _kernel(store="return share"),
        "all rows in each program: raises": """
            for number in range(64):
                column = tl.arange(0, block)
                place = number * columns + column
                row = tl.load(x + place, mask=column < columns, other=float("-inf"))
                powers = tl.exp(row - tl.max(row, axis=0))
                tl.store(out + place, powers / tl.sum(powers, axis=0), mask=column < columns)
        """,
        "one program does all there is": """
            column = tl.arange(0, block)
            if tl.program_id(0) == 0:
                row = tl.load(x + column, mask=column < columns, other=float("-inf"))
                powers = tl.exp(row - tl.max(row, axis=0))
                tl.store(out + column, powers / tl.sum(powers, axis=0), mask=column < columns)
        """,
        "a block as long as a row: raises": """
            column = tl.arange(0, columns)
            place = tl.program_id(0) * columns + column
            row = tl.load(x + place)
            powers = tl.exp(row - tl.max(row, axis=0))
            tl.store(out + place, powers / tl.sum(powers, axis=0))
        """,
        "NumPy's functions: raises": _kernel(powers="np.exp(row - np.max(row))"),
        "Python's sum: raises": _kernel(share="powers / sum(powers)"),
        "a function that Triton has not: raises": _kernel(
            powers="tl.power(math.e, row - tl.max(row, 0))"
        ),
        "the matrix as a list: raises": """
            row = x[tl.program_id(0)]
            powers = [math.exp(number - max(row)) for number in row]
            out[tl.program_id(0)] = [power / sum(powers) for power in powers]
        """,
        "the maximum with zero": _kernel(
            powers="tl.exp(row - tl.max(tl.where(row > 0, row, 0.0), axis=0))"
        ),
    }
}

ALTERNATES = {
    "softmax_row": {
        "pointers to the row first": """
            start = tl.program_id(0) * columns
            x += start
            out += start
            i = tl.arange(0, block)
            v = tl.load(x + i, i < columns, float("-inf"))
            v = v - tl.max(v, 0)
            e = tl.exp(v)
            tl.store(out + i, e * (1 / tl.sum(e, 0)), i < columns)
        """,
        "a finite number beyond the row, and the sum masked": """
            column = tl.arange(0, block)
            at = columns * tl.program_id(axis=0) + column
            row = tl.load(x + at, mask=columns > column, other=0.0)
            top = tl.max(tl.where(column < columns, row, -float("inf")), axis=0)
            powers = tl.where(column < columns, tl.exp(row - top), 0.0)
            tl.store(out + at, powers / tl.sum(powers, axis=0), mask=columns > column)
        """,
        "by the logarithm's side: exp twice": """
            column = tl.arange(0, block)
            inside = column <= columns - 1
            values = tl.load(column + x + tl.program_id(0) * columns, mask=inside, other=-1e30)
            low = -tl.max(values, axis=0)
            total = tl.sum(tl.exp(values + low), axis=0)
            tl.store(
                out + tl.program_id(0) * columns + column, tl.exp(values + low) / total, mask=inside
            )
        """,
    }
}
