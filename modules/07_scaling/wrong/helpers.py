"""Serve the known solutions beside; executed after the solved lesson."""

from collections import OrderedDict


def rising(sizes, values):
    if len(sizes) < 2 or len(sizes) != len(values) or min(*sizes, *values) <= 0:
        raise ValueError("sizes and values")
    if any(b <= a for a, b in zip(sizes, sizes[1:])):
        raise ValueError("they do not rise")


def some_rows(rows, overhead_ms):
    if not rows or overhead_ms < 0:
        raise ValueError("rows")


def work_of(row):
    return row["matmul_flops"] + row["elementwise_flops"], row["bytes_read"] + row["bytes_written"]


def measured(sizes, times_ms, powers):
    if not len(powers) or len(sizes) < len(powers) or len(sizes) != len(times_ms):
        raise ValueError("lengths")
    if len(set(sizes)) < len(sizes) or len(set(powers)) < len(powers):
        raise ValueError("twice")
    if min(*sizes, *times_ms) <= 0:
        raise ValueError("above 0")


def solve(columns, right):
    units = np.abs(columns).max(axis=0)
    return (np.linalg.lstsq(columns / units, right, rcond=None)[0] / units).tolist()


def relative(sizes, times_ms, powers):
    n, t = np.array(sizes, float), np.array(times_ms, float)
    return solve(np.stack([n**p / t for p in powers], axis=1), np.ones(len(n)))


def absolute(sizes, times_ms, powers):
    n, t = np.array(sizes, float), np.array(times_ms, float)
    return solve(np.stack([n**p for p in powers], axis=1), t)


def split_largest(sizes, times_ms, powers):
    if len(sizes) != len(times_ms) or len(sizes) <= len(powers) or min(times_ms) <= 0:
        raise ValueError("too few")
    if len(set(sizes)) < len(sizes):
        raise ValueError("twice")
    at = max(range(len(sizes)), key=lambda i: sizes[i])
    kept = [i for i in range(len(sizes)) if i != at]
    return [sizes[i] for i in kept], [times_ms[i] for i in kept], sizes[at], times_ms[at]


def value_at(prices, size, powers):
    return sum(c * size**p for c, p in zip(prices, powers))


def cost_figures(overhead, price):
    if price <= 1e-9:
        raise ValueError("no price")
    return {
        "overhead_ms": overhead,
        "per_sample_ms": price,
        "most_per_second": 1000 / price,
        "half_batch": overhead / price,
    }


def product(n, order, tile):
    if n < 1 or sorted(order) != list("ijk") or (tile is not None and tile < 1):
        raise ValueError("range")
    return n if tile is None else tile


def walk(n, order, tile, blocks="ijk", address=None):
    """Return the addresses in blocks whose loops have an order of their own."""
    address = address or (lambda i, j, k: [i * n + k, n * n + k * n + j, 2 * n * n + i * n + j])
    found = []
    for starts in itertools.product(range(0, n, tile), repeat=3):
        start = dict(zip(blocks, starts))
        ranges = [range(start[name], min(start[name] + tile, n)) for name in order]
        for values in itertools.product(*ranges):
            found += address(**dict(zip(order, values)))
    return found


def a_cache(*sizes):
    if min(sizes) < 1:
        raise ValueError("a cache of nothing")


def kept(lines_asked, room, on_hit="recent", leaves="oldest"):
    """Return the misses of a cache whose lines are in order, the oldest first."""
    held, misses = OrderedDict(), 0
    for wanted in lines_asked:
        if wanted in held:
            if on_hit == "recent":
                held.move_to_end(wanted)
            continue
        misses += 1
        if len(held) >= room:
            held.popitem(last=leaves != "oldest")
        held[wanted] = True
    return misses


def all_positive(n, capacity):
    if n < 1 or capacity < 1:
        raise ValueError("below 1")


def some_times(seconds):
    times = list(seconds.values())
    if len(times) < 2 or min(times) <= 0 or times[0] == times[-1]:
        raise ValueError("times")
    return times


def rows_of_steps(seconds, steps, totals, shares):
    keys = ("name", "step", "total", "share")
    return [dict(zip(keys, row)) for row in zip(list(seconds)[1:], steps, totals, shares)]


def a_share(d_model, share):
    if d_model < 1 or not 0 < share < 1:
        raise ValueError("range")


import copy as _copy


def each_number(value, change):
    """Return the value with each of its floats changed."""
    if isinstance(value, dict):
        return {key: each_number(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(each_number(item, change) for item in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.vectorize(change)(value)
    return change(float(value)) if isinstance(value, float) else value


def spoil(argument):
    """Change an argument as careless code does."""
    if isinstance(argument, list):
        argument.append(argument.pop(0)) if len(set(map(repr, argument))) > 1 else argument.clear()
    elif isinstance(argument, dict):
        argument.popitem()
    elif isinstance(argument, np.ndarray):
        argument[...] = 0


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
