"""Lesson 10: wrong counts of what a card's hardware makes of a warp and of a block."""

HELPERS = """
def checked_warp(addresses, itemsize):
    if itemsize not in (1, 2, 4, 8, 16) or not 1 <= len(addresses) <= 32:
        raise ValueError("no such warp")
    if any(address < 0 or address % itemsize for address in addresses):
        raise ValueError("no such address")

def checked_words(words):
    if not 1 <= len(words) <= 32 or min(words) < 0:
        raise ValueError("no such words")

def checked_block(threads, registers, shared):
    if min(threads, registers) < 1 or shared < 0:
        raise ValueError("no such block")

def up(number, step):
    return -(-number // step) * step

def share(card, places, **needs):
    return min([card["blocks"]] + [card[k] // n for k, n in needs.items() if n]) \\
        * places / card["threads"]
"""

_WARP = "checked_warp(addresses, itemsize)\n"
_WORDS = "checked_words(words)\n"
_BLOCK = "checked_block(threads, registers, shared)\n"


def _each(check: str, bodies: dict[str, str]) -> dict[str, str]:
    """Entries that refuse what is wrong, and then have their own mistake."""
    return {sentence: check + body for sentence, body in bodies.items()}


MUTANTS = {
    "warp_sectors": _each(
        _WARP,
        {
            "bytes over 32": "return -(-len(addresses) * itemsize // 32)",
            "the span over 32": "return (max(addresses) + itemsize - min(addresses) + 31) // 32",
            "all sectors between the first and the last": """
return max(addresses) // 32 - min(addresses) // 32 + 1""",
            "lines of 128 bytes": "return len({address // 128 for address in addresses})",
            "sectors of 64 bytes": "return len({address // 64 for address in addresses})",
            "sectors of 16 bytes": "return len({address // 16 for address in addresses})",
            "all sectors of each line": "return 4 * len({a // 128 for a in addresses})",
            "a sector for each thread": "return len(addresses)",
            "a sector for each different address": "return len(set(addresses))",
            "addresses are numbered by item": """
return len({address * itemsize // 32 for address in addresses})""",
            "addresses are taken for item numbers": """
return len({address // itemsize // 32 for address in addresses})""",
            "sectors begin at the first address": """
return len({(address - min(addresses)) // 32 for address in addresses})""",
            "sectors begin at the first thread's address": """
return len({(address - addresses[0]) // 32 for address in addresses})""",
            "changes of sector from thread to thread": """
pairs = zip(addresses, addresses[1:])
return 1 + sum(a // 32 != b // 32 for a, b in pairs)""",
            "half a warp at a time": """
return sum(len({a // 32 for a in addresses[n:n + 16]}) for n in (0, 16))""",
            "bytes, not sectors": "return 32 * len({address // 32 for address in addresses})",
            "the end of an item that fills its sector counts too": """
return len({b // 32 for a in addresses for b in (a, a + itemsize)})""",
            "a float": "return float(len({address // 32 for address in addresses}))",
            "the last thread is left out": "return len({a // 32 for a in addresses[:-1]} or {0})",
            "a float4 takes one sector for each of its floats": """
return len({a // 32 for a in addresses}) * max(1, itemsize // 4)""",
        },
    )
    | {
        "any size is taken": """
            if not 1 <= len(addresses) <= 32 or min(addresses) < 0:
                raise ValueError
            if itemsize < 1 or any(a % itemsize for a in addresses):
                raise ValueError
            return len({address // 32 for address in addresses})
        """,
        "where an item begins is not looked at": """
            if itemsize not in (1, 2, 4, 8, 16) or not 1 <= len(addresses) <= 32:
                raise ValueError
            if min(addresses) < 0:
                raise ValueError
            return len({address // 32 for address in addresses})
        """,
        "no addresses are no sectors": """
            if addresses:
                checked_warp(addresses, itemsize)
            return len({address // 32 for address in addresses})
        """,
        "a warp of any length": """
            for address in addresses or [-1]:
                checked_warp([address], itemsize)
            return len({address // 32 for address in addresses})
        """,
        "addresses below 0": """
            checked_warp([abs(address) for address in addresses], itemsize)
            return len({address // 32 for address in addresses})
        """,
        "the visible answers, written in": """
            checked_warp(addresses, itemsize)
            known = {32: 4, 31: 2}
            return known.get(len(addresses), len(addresses) // 2 or 1)
        """,
    },
    "bank_conflicts": _each(
        _WORDS,
        {
            "a word counts each time": """
banks = [word % 32 for word in words]
return max(map(banks.count, banks))""",
            "16 banks": """
banks = [word % 16 for word in set(words)]
return max(map(banks.count, banks))""",
            "64 banks": """
banks = [word % 64 for word in set(words)]
return max(map(banks.count, banks))""",
            "words are bytes": """
banks = [word // 4 % 32 for word in set(words)]
return max(map(banks.count, banks))""",
            "words are numbered in bytes": """
banks = [word * 4 % 32 for word in set(words)]
return max(map(banks.count, banks))""",
            "a bank is a row": """
banks = [word // 32 for word in set(words)]
return max(map(banks.count, banks))""",
            "how many banks are used": "return len({word % 32 for word in words})",
            "how many more than one": """
banks = [word % 32 for word in set(words)]
return max(map(banks.count, banks)) - 1""",
            "threads that wait": """
return 1 + len(set(words)) - len({word % 32 for word in words})""",
            "threads over banks": "return -(-len(words) // len({word % 32 for word in words}))",
            "words over banks": "return -(-len(set(words)) // len({w % 32 for w in words}))",
            "the emptiest bank": """
banks = [word % 32 for word in set(words)]
return min(map(banks.count, banks))""",
            "the first thread's bank": """
return len({word for word in words if word % 32 == words[0] % 32})""",
            "neighbouring threads only": """
worst = step = 1
for a, b in zip(words, words[1:]):
    step = step + 1 if a != b and a % 32 == b % 32 else 1
    worst = max(worst, step)
return worst""",
            "how many banks have a conflict": """
banks = [word % 32 for word in set(words)]
return max(1, sum(banks.count(bank) > 1 for bank in set(banks)))""",
            "any two that share make all wait": """
banks = [word % 32 for word in set(words)]
return 1 if len(banks) == len(set(banks)) else 32""",
            "the stride of the first two": """
stride = abs(words[1] - words[0]) if len(words) > 1 else 1
return math.gcd(stride, 32) if stride else 1""",
            "a float": """
banks = [word % 32 for word in set(words)]
return float(max(map(banks.count, banks)))""",
            "one word for all is one step, else words count each time": """
banks = [word % 32 for word in words]
return 1 if len(set(words)) == 1 else max(map(banks.count, banks))""",
        },
    )
    | {
        "no words are no steps": """
            if words:
                checked_words(words)
            banks = [word % 32 for word in set(words)]
            return max(map(banks.count, banks), default=0)
        """,
        "words below 0": """
            checked_words([abs(word) for word in words])
            banks = [word % 32 for word in set(words)]
            return max(map(banks.count, banks))
        """,
        "as many words as one likes": """
            checked_words(sorted(words)[:32])
            banks = [word % 32 for word in set(words)]
            return max(map(banks.count, banks))
        """,
    },
    "occupancy": _each(
        _BLOCK,
        {
            "registers as they are": """
places = up(threads, 32)
return share(card, places, threads=places, registers=places * registers, shared=shared)""",
            "registers rounded up to 4": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 4), "shared": shared}
return share(card, places, **needs)""",
            "registers rounded up to 16": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 16), "shared": shared}
return share(card, places, **needs)""",
            "registers rounded up to a power of two": """
places = up(threads, 32)
whole = 1 << (registers - 1).bit_length()
return share(card, places, threads=places, registers=places * whole, shared=shared)""",
            "registers rounded down": """
places = up(threads, 32)
whole = registers // 8 * 8
return share(card, places, threads=places, registers=places * whole, shared=shared)""",
            "always 8 more": """
places = up(threads, 32)
whole = registers // 8 * 8 + 8
return share(card, places, threads=places, registers=places * whole, shared=shared)""",
            "a block's threads as they are": """
needs = {"threads": threads, "registers": threads * up(registers, 8), "shared": shared}
return share(card, threads, **needs)""",
            "threads that work, not warps": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(card, threads, **needs)""",
            "threads rounded up to 64": """
places = up(threads, 64)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(card, places, **needs)""",
            "registers of a block": """
places = up(threads, 32)
return share(card, places, threads=places, registers=up(registers, 8), shared=shared)""",
            "registers of a warp": """
places = up(threads, 32)
needs = {"threads": places, "registers": places // 32 * up(registers, 8), "shared": shared}
return share(card, places, **needs)""",
            "registers have four bytes": """
places = up(threads, 32)
needs = {"threads": places, "registers": 4 * places * up(registers, 8), "shared": shared}
return share(card, places, **needs)""",
            "shared memory of a thread": """
places = up(threads, 32)
need = places * shared
return share(card, places, threads=places, registers=places * up(registers, 8), shared=need)""",
            "shared memory is left out": """
places = up(threads, 32)
return share(card, places, threads=places, registers=places * up(registers, 8))""",
            "blocks without a limit": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(card | {"blocks": 10**9}, places, **needs)""",
            "registers are left out": """
places = up(threads, 32)
return share(card, places, threads=places, shared=shared)""",
            "threads are left out": """
places = up(threads, 32)
return share(card, places, registers=places * up(registers, 8), shared=shared)""",
            "parts of blocks": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
blocks = min([card["blocks"]] + [card[k] / n for k, n in needs.items() if n])
return blocks * places / card["threads"]""",
            "how many blocks": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(card, places, **needs) * card["threads"] / places""",
            "the share of the blocks": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(card, places, **needs) * card["threads"] / places / card["blocks"]""",
            "percent": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return 100 * share(card, places, **needs)""",
            "a T4 always": """
places = up(threads, 32)
t4 = {"threads": 1024, "registers": 65_536, "shared": 65_536, "blocks": 16}
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return share(t4, places, **needs)""",
            "one block is always there": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
return max(places / card["threads"], share(card, places, **needs))""",
            "where no block fits, an error": """
places = up(threads, 32)
needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
found = share(card, places, **needs)
if not found:
    raise ValueError("no block fits")
return found""",
        },
    )
    | {
        "no shared memory is refused": """
            checked_block(threads, registers, shared - 1)
            places = up(threads, 32)
            needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
            return share(card, places, **needs)
        """,
        "divided by no shared memory: raises": """
            checked_block(threads, registers, shared)
            places = up(threads, 32)
            needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
            blocks = min([card["blocks"]] + [card[k] // n for k, n in needs.items()])
            return blocks * places / card["threads"]
        """,
        "no check": """
            places = up(threads, 32)
            needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
            return share(card, places, **needs)
        """,
        "0 threads are let through": """
            checked_block(max(threads, 1), registers, shared)
            places = up(threads, 32)
            needs = {"threads": places, "registers": places * up(registers, 8), "shared": shared}
            return share(card, places, **needs)
        """,
        "shared memory below 0 is let through": """
            checked_block(threads, registers, 0)
            places = up(threads, 32)
            needs = {"threads": places, "registers": places * up(registers, 8)}
            return share(card, places, shared=max(shared, 0), **needs)
        """,
    },
}
ALTERNATES = {
    "warp_sectors": {
        "marked in a picture of the memory": """
            if itemsize not in {2**k for k in range(5)} or len(addresses) not in range(1, 33):
                raise ValueError("no")
            touched = set()
            for address in addresses:
                if address < 0 or address % itemsize != 0:
                    raise ValueError("no")
                for byte in range(address, address + itemsize):
                    touched.add(byte - byte % 32)
            return len(touched)
        """,
        "numpy": """
            starts = np.asarray(addresses, dtype=np.int64)
            if starts.size < 1 or starts.size > 32 or itemsize not in [1, 2, 4, 8, 16]:
                raise ValueError
            if (starts < 0).any() or (starts % itemsize).any():
                raise ValueError
            return int(np.unique(starts >> 5).size)
        """,
        "sorted, then steps": """
            if not addresses or len(addresses) > 32 or itemsize not in (16, 8, 4, 2, 1):
                raise ValueError("a warp")
            if any(a % itemsize for a in addresses) or min(addresses) < 0:
                raise ValueError("an address")
            sectors = sorted(a // 32 for a in addresses)
            return 1 + sum(before != after for before, after in zip(sectors, sectors[1:]))
        """,
    },
    "bank_conflicts": {
        "a dict of sets": """
            if len(words) == 0 or len(words) > 32:
                raise ValueError("words")
            banks = {}
            for word in words:
                if word < 0:
                    raise ValueError("below 0")
                banks.setdefault(word % 32, set()).add(word)
            return max(len(different) for different in banks.values())
        """,
        "numpy": """
            different = np.unique(np.array(words, dtype=np.int64))
            if not 0 < len(words) < 33 or different[0] < 0:
                raise ValueError
            return int(np.bincount(different & 31, minlength=32).max())
        """,
        "step by step": """
            if not 1 <= len(words) <= 32 or any(word < 0 for word in words):
                raise ValueError
            waiting, steps = set(words), 0
            while waiting:
                handed_out = {}
                for word in waiting:
                    handed_out.setdefault(word % 32, word)
                waiting -= set(handed_out.values())
                steps += 1
            return steps
        """,
    },
    "occupancy": {
        "in warps": """
            if threads < 1 or registers < 1 or shared < 0:
                raise ValueError("no block")
            warps = (threads + 31) // 32
            room = [card["blocks"], card["threads"] // 32 // warps]
            room.append(card["registers"] // (warps * 32 * ((registers + 7) // 8 * 8)))
            if shared > 0:
                room.append(card["shared"] // shared)
            return min(room) * warps / (card["threads"] / 32)
        """,
        "blocks one by one": """
            if threads <= 0 or registers <= 0 or shared < 0:
                raise ValueError("no block")
            places = math.ceil(threads / 32) * 32
            each = math.ceil(registers / 8) * 8 * places
            blocks = 0
            while (
                blocks < card["blocks"]
                and (blocks + 1) * places <= card["threads"]
                and (blocks + 1) * each <= card["registers"]
                and (blocks + 1) * shared <= card["shared"]
            ):
                blocks += 1
            return blocks * places / card["threads"]
        """,
        "256 registers at a time for a warp": """
            if threads < 1 or registers < 1 or shared < 0:
                raise ValueError
            warps = -(-threads // 32)
            pieces = -(-registers * 32 // 256)
            fits = {
                "threads": card["threads"] // (warps * 32),
                "registers": card["registers"] // 256 // (warps * pieces),
                "shared": card["shared"] // shared if shared else math.inf,
                "blocks": card["blocks"],
            }
            return min(fits.values()) * warps * 32 / card["threads"]
        """,
    },
}
