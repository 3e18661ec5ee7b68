"""Lesson 07: addresses in another order, caches that forget the wrong line, bounds of the wrong."""

HELPERS = '''
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
    """Return the misses of a cache that is a list, the oldest line first."""
    held, misses = [], 0
    for wanted in lines_asked:
        if wanted in held:
            if on_hit == "recent":
                held.remove(wanted)
                held.append(wanted)
            continue
        misses += 1
        if len(held) >= room:
            held.pop(0 if leaves == "oldest" else -1)
        held.append(wanted)
    return misses

def all_positive(n, capacity):
    if n < 1 or capacity < 1:
        raise ValueError("below 1")
'''

MUTANTS = {
    "matmul_addresses": {
        "column-major": """
            tile = product(n, order, tile)
            return walk(n, order, tile, address=lambda i, j, k: [
                k * n + i, n * n + j * n + k, 2 * n * n + j * n + i])
        """,
        "B transposed": """
            tile = product(n, order, tile)
            return walk(n, order, tile, address=lambda i, j, k: [
                i * n + k, n * n + j * n + k, 2 * n * n + i * n + j])
        """,
        "C once for each of its numbers": """
            tile = product(n, order, tile)
            last = [None]
            def address(i, j, k):
                c = 2 * n * n + i * n + j
                more = [] if last[0] == c else [c]
                last[0] = c
                return [i * n + k, n * n + k * n + j, *more]
            return walk(n, order, tile, address=address)
        """,
        "C is read and written": """
            tile = product(n, order, tile)
            return walk(n, order, tile, address=lambda i, j, k: [
                i * n + k, n * n + k * n + j, 2 * n * n + i * n + j, 2 * n * n + i * n + j])
        """,
        "C first": """
            tile = product(n, order, tile)
            return walk(n, order, tile, address=lambda i, j, k: [
                2 * n * n + i * n + j, i * n + k, n * n + k * n + j])
        """,
        "all three begin at 0": """
            tile = product(n, order, tile)
            return walk(n, order, tile, address=lambda i, j, k: [i * n + k, k * n + j, i * n + j])
        """,
        "in bytes": """
            tile = product(n, order, tile)
            return [8 * a for a in walk(n, order, tile)]
        """,
        "the order is ignored": "tile = product(n, order, tile)\nreturn walk(n, 'ijk', tile)",
        "the order from the innermost loop on": """
            tile = product(n, order, tile)
            return walk(n, order[::-1], tile)
        """,
        "only A is walked in order": """
            tile = product(n, order, tile)
            first, second, third = (walk(n, o, tile) for o in (order, "ijk", "ijk"))
            found = list(second)
            found[::3] = first[::3]
            return found
        """,
        "tiles are ignored": "product(n, order, tile)\nreturn walk(n, order, n)",
        "blocks in the order of the loops": """
            tile = product(n, order, tile)
            return walk(n, order, tile, blocks=order)
        """,
        "the blocks of k outermost": """
            tile = product(n, order, tile)
            return walk(n, order, tile, blocks="kij")
        """,
        "inside a block always ijk": """
            whole, tile = tile is None, product(n, order, tile)
            return walk(n, order if whole else "ijk", tile)
        """,
        "short blocks are left out": """
            tile = product(n, order, tile)
            whole = n // tile * tile if tile <= n else n
            inside = lambda i, j, k: [i * n + k, n * n + k * n + j, 2 * n * n + i * n + j] * (
                max(i, j, k) < whole)
            return walk(n, order, tile, address=inside)
        """,
        "the number of tiles": """
            tile = product(n, order, tile)
            return walk(n, order, max(1, -(-n // tile)) if tile < n else n)
        """,
        "tiles that do not divide n are refused": """
            tile = product(n, order, tile)
            if n % min(tile, n):
                raise ValueError("tile")
            return walk(n, order, tile)
        """,
        "tiles larger than n are refused": """
            tile = product(n, order, tile)
            if tile > n:
                raise ValueError("tile")
            return walk(n, order, tile)
        """,
        "triples": """
            tile = product(n, order, tile)
            found = walk(n, order, tile)
            return [tuple(found[i:i + 3]) for i in range(0, len(found), 3)]
        """,
        "any order of these letters": """
            if n < 1 or not set(order) <= set("ijk") or (tile is not None and tile < 1):
                raise ValueError("range")
            missing = [name for name in "ijk" if name not in order]
            return walk(n, list(dict.fromkeys([*order, *missing])), tile or n)
        """,
        "no matrix has no addresses": """
            tile = product(max(n, 1), order, tile)
            return walk(n, order, tile) if n > 0 else []
        """,
        "tiles of nothing are no tiles": """
            tile = product(n, order, tile or None)
            return walk(n, order, tile)
        """,
        "2 × 2 written in": """
            product(n, order, tile)
            return [0, 4, 8, 1, 6, 8, 0, 5, 9, 1, 7, 9, 2, 4, 10, 3, 6, 10, 2, 5, 11, 3, 7, 11]
        """,
    },
    "cache_misses": {
        "first in, first out": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], lines, on_hit="stays")
        """,
        "the newest line goes": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], lines, leaves="newest")
        """,
        "each number is a line": "a_cache(line, lines)\nreturn kept(addresses, lines)",
        "one line too many": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], lines + 1)
        """,
        "one line too few": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], max(1, lines - 1))
        """,
        "the capacity in numbers": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], max(1, lines // line))
        """,
        "as many lines as numbers": """
            a_cache(line, lines)
            return kept([a // line for a in addresses], lines * line)
        """,
        "a cache without end": """
            a_cache(line, lines)
            return len({a // line for a in addresses})
        """,
        "hits": """
            a_cache(line, lines)
            return len(addresses) - kept([a // line for a in addresses], lines)
        """,
        "the first misses are not counted": """
            a_cache(line, lines)
            asked = [a // line for a in addresses]
            return kept(asked, lines) - len(set(asked))
        """,
        "a change of line is a miss": """
            a_cache(line, lines)
            asked = [a // line for a in addresses]
            return sum(a != b for a, b in zip([None, *asked], asked))
        """,
        "lines begin where they are first asked for": """
            a_cache(line, lines)
            held, misses = [], 0
            for a in addresses:
                here = next((s for s in held if s <= a < s + line), None)
                if here is None:
                    misses, here = misses + 1, a
                    held = held[1:] if len(held) >= lines else held
                else:
                    held.remove(here)
                held.append(here)
            return misses
        """,
        "direct mapped": """
            a_cache(line, lines)
            places, misses = {}, 0
            for a in addresses:
                wanted = a // line
                misses += places.get(wanted % lines) != wanted
                places[wanted % lines] = wanted
            return misses
        """,
        "the least often used line goes": """
            a_cache(line, lines)
            held, misses = {}, 0
            for a in addresses:
                if a // line not in held:
                    misses += 1
                    if len(held) == lines:
                        del held[min(held, key=held.get)]
                    held[a // line] = 0
                held[a // line] += 1
            return misses
        """,
        "emptied when it is full": """
            a_cache(line, lines)
            held, misses = set(), 0
            for a in addresses:
                if a // line not in held:
                    misses += 1
                    if len(held) == lines:
                        held = set()
                    held.add(a // line)
            return misses
        """,
        "the lowest line goes": """
            a_cache(line, lines)
            held, misses = set(), 0
            for a in addresses:
                if a // line not in held:
                    misses += 1
                    if len(held) == lines:
                        held.remove(min(held))
                    held.add(a // line)
            return misses
        """,
        "the share of misses": """
            a_cache(line, lines)
            misses = kept([a // line for a in addresses], lines)
            return misses / len(addresses) if addresses else 0
        """,
        "line is not checked": """
            a_cache(lines)
            return kept([a // line for a in addresses], lines)
        """,
        "lines are not checked": """
            a_cache(line)
            return kept([a // line for a in addresses], max(lines, 0) or 1)
        """,
        "no addresses are refused": """
            a_cache(line, lines, len(addresses))
            return kept([a // line for a in addresses], lines)
        """,
        "the example written in": "a_cache(line, lines)\nreturn 2",
    },
    "traffic_bound": {
        "the capacity in bytes": """
            all_positive(n, capacity)
            return max(0.0, 2 * n**3 / math.sqrt(4 * capacity) - 8 * capacity)
        """,
        "bytes moved": """
            all_positive(n, capacity)
            return max(0.0, 4 * (2 * n**3 / math.sqrt(capacity) - 2 * capacity))
        """,
        "FLOPs": "all_positive(n, capacity)\nreturn 2.0 * n**3",
        "what is held is not taken off": """
            all_positive(n, capacity)
            return 2 * n**3 / math.sqrt(capacity)
        """,
        "held once": """
            all_positive(n, capacity)
            return max(0.0, 2 * n**3 / math.sqrt(capacity) - capacity)
        """,
        "multiply-adds": """
            all_positive(n, capacity)
            return max(0.0, n**3 / math.sqrt(capacity) - 2 * capacity)
        """,
        "divided by the capacity": """
            all_positive(n, capacity)
            return max(0.0, 2 * n**3 / capacity - 2 * capacity)
        """,
        "a negative bound": """
            all_positive(n, capacity)
            return 2 * n**3 / math.sqrt(capacity) - 2 * capacity
        """,
        "at least each number once": """
            all_positive(n, capacity)
            return max(3.0 * n * n, 2 * n**3 / math.sqrt(capacity) - 2 * capacity)
        """,
        "whole numbers": """
            all_positive(n, capacity)
            return max(0.0, float(2 * n**3 // math.isqrt(capacity) - 2 * capacity))
        """,
        "32 bits": """
            all_positive(n, capacity)
            with np.errstate(all="ignore"):
                cubed = int(np.int32(n) * np.int32(n) * np.int32(n))
            return max(0.0, 2 * cubed / math.sqrt(capacity) - 2 * capacity)
        """,
        "nothing is checked": "return max(0.0, 2 * n**3 / abs(capacity or 1)**0.5 - 2 * capacity)",
        "3,584 written in": "all_positive(n, capacity)\nreturn 3584.0",
    },
    "set_misses": {
        "fully associative": """
            a_cache(line, sets, ways)
            return kept([a // line for a in addresses], sets * ways)
        """,
        "sets by the number, not by its line": """
            a_cache(line, sets, ways)
            groups = [[a // line for a in addresses if a % sets == s] for s in range(sets)]
            return sum(kept(group, ways) for group in groups)
        """,
        "sets by blocks of lines": """
            a_cache(line, sets, ways)
            groups = {}
            for a in addresses:
                groups.setdefault(a // line // ways % sets, []).append(a // line)
            return sum(kept(group, ways) for group in groups.values())
        """,
        "sets and ways exchanged": """
            a_cache(line, sets, ways)
            groups = [[a // line for a in addresses if a // line % ways == s] for s in range(ways)]
            return sum(kept(group, sets) for group in groups)
        """,
        "first in, first out": """
            a_cache(line, sets, ways)
            groups = [[a // line for a in addresses if a // line % sets == s] for s in range(sets)]
            return sum(kept(group, ways, on_hit="stays") for group in groups)
        """,
        "direct mapped": """
            a_cache(line, sets, ways)
            groups = [[a // line for a in addresses if a // line % sets == s] for s in range(sets)]
            return sum(kept(group, 1) for group in groups)
        """,
        "the worst set alone": """
            a_cache(line, sets, ways)
            groups = [[a // line for a in addresses if a // line % sets == s] for s in range(sets)]
            return max(kept(group, ways) for group in groups)
        """,
        "nothing is checked": """
            groups = {}
            for a in addresses:
                groups.setdefault(a // (line or 1) % (sets or 1), []).append(a // (line or 1))
            return sum(kept(group, ways or 1) for group in groups.values())
        """,
    },
}
