"""Draw the capstone's program: a small language model with five of eight faults, and its sizes.

This file stays with the instructor: the build runs it (build/draw.py) and copies it nowhere.
Without a seed the program is the one that lies beside this file, `program.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

LARGE = ("samples", "attention", "heads")  # most of the cost is theirs
SMALL = ("gelu", "norm", "last", "onehot", "lowrank")  # one of the first two is always there
FAULTS = LARGE + SMALL
CHOSEN = ("samples", "attention", "gelu", "last", "lowrank")  # without a seed
SIZES = {"WORDS": 256, "WIDTH": 64, "HEADS": 4, "BLOCKS": 3}


def drawn(number: Callable, shuffled: Callable, student: str = "") -> dict:
    """Return the files that are drawn, and by a hidden case's label the shapes of its inputs.

    number(low, high, *words) and shuffled(items, *words) are decided by the course's seed or secret
    and the words. student: who gets a program of their own; sizes are the class's in any case.
    """
    sizes = {
        "WORDS": 64 * number(3, 5, "words"),
        "WIDTH": 16 * number(3, 5, "width"),
        "HEADS": 4,
        "BLOCKS": number(2, 4, "blocks"),
    }
    first = shuffled(SMALL[:2], "first", student)[0]
    others = shuffled([fault for fault in SMALL if fault != first], "small", student)[:2]
    faults = [*shuffled(LARGE, "large", student)[:2], first, *others]
    many = (number(13, 18, "many texts"), number(15, 27, "short"))
    few = (number(2, 4, "few texts"), number(81, 96, "long"))
    return {
        "files": {"program.py": program(faults, sizes)},
        "shapes": {
            "many short texts": {"tokens": ("int64", many)},
            "a few long texts": {"tokens": ("int64", few)},
        },
    }


_MODEL = '''\
"""A small language model and a program that runs it. The program is right, and it is slow."""

import math

import numpy as np

import proflab
from proflab import nn
from proflab.nn import functional as F

WORDS, WIDTH, HEADS, BLOCKS = {WORDS}, {WIDTH}, {HEADS}, {BLOCKS}
LENGTH = 96  # no text has more tokens


class Block(nn.Module):
    """Hold the weights of attention and of a feed-forward part."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (
            nn.ModuleList(nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(HEADS))
            for _ in range(3)
        )
        self.down, self.up = nn.Linear(WIDTH, 8, bias=False), nn.Linear(8, WIDTH, bias=False)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)


class Decoder(nn.Module):
    """Hold the weights of a language model."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)


def make_model():
    """Return the model with fresh weights."""
    return Decoder()
'''

# Lines that import what only some parts use.
_IMPORTS = {
    "import math\n\n": "math.",
    "import numpy as np\n\n": "np.",
    "from proflab.nn import functional as F\n": "F.",
}

# Each part of the program, with its fault and without.
_PARTS = {
    "onehot": (
        '''\
def embed(model, tokens):
    """Return a vector for each token and its place, (texts, tokens, WIDTH)."""
    chosen = (tokens[:, :, None] == proflab.arange(WORDS)).to(np.float32)
    return chosen @ model.words.weight + model.places.weight[: tokens.shape[1]]
''',
        '''\
def embed(model, tokens):
    """Return a vector for each token and its place, (texts, tokens, WIDTH)."""
    return model.words(tokens) + model.places.weight[: tokens.shape[1]]
''',
    ),
    "norm": (
        '''\
def normalized(x, norm):
    """Return x with mean 0 and variance 1 in each row, scaled and shifted."""
    centered = x - x.mean(-1, keepdim=True)
    variance = (centered**2).mean(-1, keepdim=True)
    return centered / (variance + norm.eps).sqrt() * norm.weight + norm.bias
''',
        '''\
def normalized(x, norm):
    """Return x with mean 0 and variance 1 in each row, scaled and shifted."""
    return norm(x)
''',
    ),
    "gelu": (
        '''\
def gelu(x):
    """Return GELU of x, by its tanh formula."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + inner.tanh())
''',
        '''\
def gelu(x):
    """Return GELU of x, by its tanh formula."""
    return F.gelu(x, approximate="tanh")
''',
    ),
    "attention": (
        '''\
def attend(query, key, value):
    """Return causal attention, (..., tokens, width of a head)."""
    query, key, value = (each.to(np.float64) for each in (query, key, value))
    later = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).triu(1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(later, -math.inf)
    shares = (scores - scores.max(-1, keepdim=True)[0]).exp()
    return (shares / shares.sum(-1, keepdim=True) @ value).to(np.float32)
''',
        '''\
def attend(query, key, value):
    """Return causal attention, (..., tokens, width of a head)."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)
''',
    ),
    "heads": (
        '''\
def heads_of(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    found = []
    for query, key, value in zip(block.query, block.key, block.value, strict=True):
        found.append(attend(query(x), key(x), value(x)))
    return proflab.cat(found, -1)
''',
        '''\
def heads_of(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
    texts, tokens, _ = x.shape
    found = F.linear(x, proflab.cat(weights)).reshape(texts, tokens, 3, HEADS, WIDTH // HEADS)
    query, key, value = found.permute(2, 0, 3, 1, 4).unbind(0)
    return attend(query, key, value).transpose(1, 2).reshape(texts, tokens, WIDTH)
''',
    ),
    "lowrank": (
        '''\
def attention(x, block):
    """Return what attention adds to x."""
    found = heads_of(normalized(x, block.norm1), block)
    return F.linear(found, block.up.weight @ block.down.weight)
''',
        '''\
def attention(x, block):
    """Return what attention adds to x."""
    found = heads_of(normalized(x, block.norm1), block)
    return block.up(block.down(found))
''',
    ),
    "": (
        '''\
def feed_forward(x, block):
    """Return what the feed-forward part adds to x."""
    return block.narrow(gelu(block.wide(normalized(x, block.norm2))))
''',
    )
    * 2,
    "last": (
        '''\
def {logits}(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    x = embed(model, tokens)
    for block in model.blocks:
        x = x + attention(x, block)
        x = x + feed_forward(x, block)
    return model.head(normalized(x, model.norm))[:, -1]
''',
        '''\
def {logits}(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    x = embed(model, tokens)
    for block in model.blocks:
        x = x + attention(x, block)
        if block is model.blocks[-1]:
            x = x[:, -1]
        x = x + feed_forward(x, block)
    return model.head(normalized(x, model.norm))
''',
    ),
    "samples": (
        '''\
def slow(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    return proflab.cat([logits(model, tokens[i : i + 1]) for i in range(tokens.shape[0])])
''',
        "",
    ),
}


def program(faults: Collection[str], sizes: dict[str, int]) -> str:
    """Return the text of program.py, with these faults and sizes."""
    parts = [faulty if name in faults else right for name, (faulty, right) in _PARTS.items()]
    text = "\n\n".join([_MODEL, *filter(None, parts)])
    for name, value in sizes.items():
        text = text.replace(f"{{{name}}}", str(value))
    text = text.replace("{logits}", "logits" if "samples" in faults else "slow")
    for line, used in _IMPORTS.items():
        if used not in text:
            text = text.replace(line, "")
    return text
