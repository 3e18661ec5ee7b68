"""Say below which cost no right program of lesson 13 goes: its floor, in ms on DESK.

What each text's answer needs is multiplied with as few rows, and in as cheap an order, as any
program can; DESK takes these FLOPs at 100 GFLOP/s, and 5 µs for each op that is left in any of
them. The floor rests on what a class shares alone, so that all its students have the same one.
draw.py beside this file runs it.
"""

from __future__ import annotations

from collections.abc import Mapping

PEAK, OP_MS = 100e9, 0.005  # FLOP/s and ms an op, as proflab.lesson.race declares DESK
NARROW = 8  # numbers between `down` and `up`
# Ops: queries, keys and values; attention; a norm; two layers of the feed-forward part and GELU.
OF_A_BLOCK = 6
BESIDES = 3  # the look-up of tokens, the last norm, the head


def floor_ms(sizes: Mapping[str, int], design: Mapping, texts: int, length: int) -> float:
    """Return the ms below which no program goes for texts of a length."""
    blocks = sizes["BLOCKS"]
    flops = 2 * (_products(sizes, design, texts, length) + _pairs(sizes, texts, length))
    return 1e3 * flops / PEAK + OP_MS * (OF_A_BLOCK * blocks + BESIDES)


def _products(sizes: Mapping[str, int], design: Mapping, texts: int, length: int) -> int:
    """Return the multiply-adds of weights with rows.

    The first block's queries, keys and values, and what is recalled, follow from a row for each
    word and each place, where these are fewer than the tokens. Values may be multiplied with `down`
    before they are mixed. Of the last block, one token a text is needed: its query may be
    multiplied with the weights of keys, and what it mixes with those of values, a row a head.
    """
    width, heads, blocks = sizes["WIDTH"], sizes["HEADS"], sizes["BLOCKS"]
    tokens = texts * length
    first = min(tokens, sizes["WORDS"] + length)
    shared = width * width * design["groups"] // heads  # of all keys, or of all values
    seen = width * width + shared + min(shared + NARROW * width, NARROW * heads * width)
    after = NARROW * width + 8 * width * width  # up, wide and narrow
    recalled = width * width if design["memory"] else 0
    whole = first * seen + tokens * (blocks - 2) * seen
    whole += (blocks - 1) * (tokens * after + first * recalled)
    last = 2 * tokens * min(heads * width, shared) + texts * (width * width + after + recalled)
    return whole + last + texts * width * sizes["WORDS"]


def _pairs(sizes: Mapping[str, int], texts: int, length: int) -> int:
    """Return the multiply-adds of the pairs that a mask shows, in all blocks but the last."""
    head = sizes["WIDTH"] // sizes["HEADS"]
    pairs = texts * sizes["HEADS"] * length * (length + 1) // 2
    return (sizes["BLOCKS"] - 1) * pairs * (head + min(head, NARROW))
