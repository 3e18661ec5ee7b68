"""Draw the capstone's program: a small language model, five of eight faults in it, and its sizes.

The model's design is drawn as well, so that one program's answer is wrong for another: where the
norms stand and of which kind they are, whether a block's two parts follow each other, which heads
share keys and values, how scores are scaled. What a class shares (`OF_THE_CLASS`) may change
what the best program costs; what each student has alone does not.

This file stays with the instructor, as do two beside it: draw_solutions.py writes what solves the
drawn program, and draw_floor.py says what none goes below. The build runs them (build/draw.py) and
copies them nowhere. Without a seed the
program is the one that lies beside this file, `program.py`.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

LARGE = ("samples", "attention", "heads")  # most of the cost is theirs
SMALL = ("gelu", "norm", "last", "onehot", "lowrank")  # one of the first two is always there
FAULTS = LARGE + SMALL
CHOSEN = ("samples", "attention", "gelu", "last", "lowrank")  # without a seed
SIZES = {"WORDS": 256, "WIDTH": 64, "HEADS": 4, "BLOCKS": 3}
# Each choice of the design; the first value is the one without a seed.
OF_THE_CLASS = {
    "norm": ("layer", "rms"),
    "share": ("neighbours", "in turn"),
    "memory": (False, True),
}
OF_A_STUDENT = {
    "place": ("before", "after", "inside"),
    "parts": ("in turn", "side by side"),
    "scale": ("root", "width"),
    "tied": (False, True),
    "counted": ("from the start", "from the end"),
    "shrunk": (False, True),
}
DESIGN = {name: values[0] for name, values in {**OF_THE_CLASS, **OF_A_STUDENT}.items()}
# How many keys and values there are. A file for shared ones solves a program where none are shared,
# so all that are drawn share them, and only the one without a seed has as many as heads.
DESIGN["groups"], GROUPS = SIZES["HEADS"], 2
# What the functions of the program may be called; the first name is the one without a seed.
NAMES = {
    "embed": ("embed", "vectors_of", "look_up"),
    "normalized": ("normalized", "scaled_rows", "evened"),
    "gelu": ("gelu", "activated", "bent"),
    "attend": ("attend", "mixed", "look_back"),
    "heads_of": ("heads_of", "found_by_heads", "all_heads"),
    "attention": ("attention", "context", "look_around"),
    "feed_forward": ("feed_forward", "think", "widened"),
    "logits": ("logits", "run", "scores_of"),
}


def drawn(number: Callable, shuffled: Callable, student: str = "") -> dict:
    """Return the files and solutions that are drawn, and by a case's label its shapes and floor.

    number(low, high, *words) and shuffled(items, *words) are decided by the course's secret and the
    words. student: who gets a program of their own; what a class shares is the class's in any case.
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
    design = {name: shuffled(values, name)[0] for name, values in OF_THE_CLASS.items()}
    design |= {name: shuffled(values, name, student)[0] for name, values in OF_A_STUDENT.items()}
    design["groups"] = GROUPS
    if design["parts"] == "side by side" and design["place"] == "after":
        design["place"] = "inside"  # there is one sum, and two norms
    names = {name: shuffled(values, name, student)[0] for name, values in NAMES.items()}
    many = (number(13, 18, "many texts"), number(15, 27, "short"))
    few = (number(2, 4, "few texts"), number(81, 96, "long"))
    return {
        "files": {"program.py": program(faults, sizes, design, names)},
        "solutions": solutions(faults, design, names),
        "shapes": {
            "many short texts": {"tokens": ("int64", many)},
            "a few long texts": {"tokens": ("int64", few)},
        },
        "floors": {
            "8 texts of 64 tokens": floor_ms(sizes, design, 8, 64),
            "many short texts": floor_ms(sizes, design, *many),
            "a few long texts": floor_ms(sizes, design, *few),
        },
    }


def floor_ms(sizes: Mapping[str, int], design: Mapping, texts: int, length: int) -> float:
    """Return the ms on DESK below which no program goes for texts of a length."""
    return _beside("draw_floor.py")["floor_ms"](sizes, design, texts, length)


def program(
    faults: Collection[str],
    sizes: Mapping[str, int],
    design: Mapping = DESIGN,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return the text of program.py, with these faults, sizes, design and names of functions."""
    text = "\n\n".join([_model(design), *filter(None, _parts(faults, design))])
    for name, value in sizes.items():
        text = text.replace(f"{{{name}}}", str(value))
    called = _called(names)
    called["top"] = called["logits"] if "samples" in faults else "slow"
    for name, word in called.items():
        text = text.replace(f"<{name}>", word)
    for line, used in _IMPORTS.items():
        if used not in text:
            text = text.replace(line, "")
    return text


def solutions(
    faults: Collection[str], design: Mapping = DESIGN, names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the bodies of `faster` and `work_log` for the program that `program` writes."""
    beside = _beside("draw_solutions.py")
    log = beside["work_log"](faults, _parts((), design), _called(names))
    return {"faster": beside["faster"](design, SIZES["HEADS"]), "work_log": log}


def _beside(name: str) -> dict:
    return runpy.run_path(str(Path(__file__).with_name(name)))


def _called(names: Mapping[str, str] | None) -> dict[str, str]:
    return {name: name for name in NAMES} | dict(names or {})


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
{projections}
        self.down, self.up = nn.Linear(WIDTH, 8, bias=False), nn.Linear(8, WIDTH, bias=False)
        self.norm1, self.norm2 = {norm}, {norm}
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
{memory}

class Decoder(nn.Module):
    """Hold the weights of a language model."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = {norm}, nn.Linear(WIDTH, WORDS, bias=False)
{tied}

def make_model():
    """Return the model with fresh weights."""
    return Decoder()
'''
_EACH_ITS_OWN = """\
        self.query, self.key, self.value = (
            nn.ModuleList(nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(HEADS))
            for _ in range(3)
        )"""
_SHARED = """\
        self.query, self.key, self.value = (
            nn.ModuleList(nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(heads))
            for heads in (HEADS, {groups}, {groups})
        )"""


def _model(design: Mapping) -> str:
    own = design["groups"] == SIZES["HEADS"]
    parts = {
        "projections": _EACH_ITS_OWN if own else _SHARED.replace("{groups}", str(design["groups"])),
        "norm": {"layer": "nn.LayerNorm(WIDTH)", "rms": "nn.RMSNorm(WIDTH, 1e-5)"}[design["norm"]],
        "memory": _MEMORY if design["memory"] else "",
        "tied": "        self.head.weight = self.words.weight\n" if design["tied"] else "",
    }
    text = _MODEL
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


_MEMORY = "        self.recall = nn.Linear(WIDTH, WIDTH, bias=False)\n"

# Lines that import what only some parts use.
_IMPORTS = {
    "import math\n\n": "math.",
    "import numpy as np\n\n": "np.",
    "from proflab.nn import functional as F\n": "F.",
}


def _parts(faults: Collection[str], design: Mapping) -> list[str]:
    """Return the functions of the program, in order."""
    return [
        _embed("onehot" in faults, design),
        _normalized("norm" in faults, design),
        _GELU["gelu" in faults],
        _attend("attention" in faults, design),
        _heads_of("heads" in faults, design),
        _attention("lowrank" in faults, design),
        _feed_forward(design),
        _logits("last" in faults, design),
        _SAMPLES if "samples" in faults else "",
    ]


_EMBED = '''\
def <embed>(model, tokens):
    """Return a vector for each token and its place, (texts, tokens, WIDTH)."""
{chosen} + model.places.weight[{places}]
'''
_CHOSEN = {
    True: """\
    chosen = (tokens[:, :, None] == proflab.arange(WORDS)).to(np.float32)
    return chosen @ model.words.weight""",
    False: "    return model.words(tokens)",
}


def _embed(faulty: bool, design: Mapping) -> str:
    places = ": tokens.shape[1]" if design["counted"] == "from the start" else "-tokens.shape[1] :"
    return _EMBED.replace("{chosen}", _CHOSEN[faulty]).replace("{places}", places)


_NORMALIZED = {
    "layer": '''\
def <normalized>(x, norm):
    """Return x with mean 0 and variance 1 in each row, scaled and shifted."""
    centered = x - x.mean(-1, keepdim=True)
    variance = (centered**2).mean(-1, keepdim=True)
    return centered / (variance + norm.eps).sqrt() * norm.weight + norm.bias
''',
    "rms": '''\
def <normalized>(x, norm):
    """Return x with a mean square of 1 in each row, scaled."""
    large = x.to(np.float64)
    root = ((large**2).mean(-1, keepdim=True) + norm.eps).sqrt()
    return (large / root).to(np.float32) * norm.weight
''',
}
_GELU = {
    True: '''\
def <gelu>(x):
    """Return GELU of x, by its tanh formula."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + inner.tanh())
''',
    False: '''\
def <gelu>(x):
    """Return GELU of x, by its tanh formula."""
    return F.gelu(x, approximate="tanh")
''',
}
_SAMPLES = '''\
def slow(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    return proflab.cat([<logits>(model, tokens[i : i + 1]) for i in range(tokens.shape[0])])
'''


def _normalized(faulty: bool, design: Mapping) -> str:
    text = _NORMALIZED[design["norm"]]
    described = text.split("\n")[:2]
    return text if faulty else "\n".join([*described, "    return norm(x)\n"])


def _attend(faulty: bool, design: Mapping) -> str:
    by_width = design["scale"] == "width"
    divisor = "query.shape[-1]" if by_width else "math.sqrt(query.shape[-1])"
    if faulty:
        return _ATTEND.replace("{divisor}", divisor)
    more = ", scale=1 / query.shape[-1]" if by_width else ""
    call = f"F.scaled_dot_product_attention(query, key, value, is_causal=True{more})"
    return _ATTEND.split("    query, key")[0] + f"    return {call}\n"


_ATTEND = '''\
def <attend>(query, key, value):
    """Return causal attention, (..., tokens, width of a head)."""
    query, key, value = (each.to(np.float64) for each in (query, key, value))
    later = proflab.ones(query.shape[-2], query.shape[-2], dtype=bool).triu(1)
    scores = query @ key.transpose(-2, -1) / {divisor}
    scores = scores.masked_fill(later, -math.inf)
    shares = (scores - scores.max(-1, keepdim=True)[0]).exp()
    return (shares / shares.sum(-1, keepdim=True) @ value).to(np.float32)
'''


def _heads_of(faulty: bool, design: Mapping) -> str:
    if design["groups"] == SIZES["HEADS"]:
        return _HEADS_OF if faulty else _HEADS_AT_ONCE
    text, in_turn = _HEADS_SHARED if faulty else _GROUPS_AT_ONCE, design["share"] == "in turn"
    for name, (neighbours, turn) in _SHARED_BY.items():
        text = text.replace(f"{{{name}}}", turn if in_turn else neighbours)
    return text


_HEADS_OF = '''\
def <heads_of>(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    found = []
    for query, key, value in zip(block.query, block.key, block.value, strict=True):
        found.append(<attend>(query(x), key(x), value(x)))
    return proflab.cat(found, -1)
'''
_HEADS_SHARED = '''\
def <heads_of>(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    found = []
    for head, query in enumerate(block.query):
        key, value = block.key[head {by}], block.value[head {by}]
        found.append(<attend>(query(x), key(x), value(x)))
    return proflab.cat(found, -1)
'''
_HEADS_AT_ONCE = '''\
def <heads_of>(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
    texts, tokens, _ = x.shape
    found = F.linear(x, proflab.cat(weights)).reshape(texts, tokens, 3, HEADS, WIDTH // HEADS)
    query, key, value = found.permute(2, 0, 3, 1, 4).unbind(0)
    return <attend>(query, key, value).transpose(1, 2).reshape(texts, tokens, WIDTH)
'''
_GROUPS_AT_ONCE = '''\
def <heads_of>(x, block):
    """Return what all heads found, side by side, (texts, tokens, WIDTH)."""
    weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
    texts, tokens, _ = x.shape
    found = F.linear(x, proflab.cat(weights)).reshape(texts, tokens, -1, WIDTH // HEADS)
    found, groups = found.transpose(1, 2), len(block.key)
    query = found[:, :HEADS].reshape(texts, {parts}, tokens, WIDTH // HEADS)
    key, value = found[:, {keys}], found[:, {values}]
    found = <attend>(query, key, value).reshape(texts, HEADS, tokens, WIDTH // HEADS)
    return found.transpose(1, 2).reshape(texts, tokens, WIDTH)
'''


# What the texts above leave open: first where neighbours share, then where heads do in turn.
_SHARED_BY = {
    "by": ("// 2", "% 2"),
    "parts": ("groups, HEADS // groups", "HEADS // groups, groups"),
    "keys": ("HEADS:-groups, None", "None, HEADS:-groups"),
    "values": ("-groups:, None", "None, -groups:"),
}


def _attention(faulty: bool, design: Mapping) -> str:
    before = design["place"] == "before"
    inner = "<normalized>(x, block.norm1)" if before else "x"
    multiplied = "F.linear(found, block.up.weight @ block.down.weight)"
    outer = multiplied if faulty else "block.up(block.down(found))"
    if design["place"] == "inside":
        outer = f"<normalized>({outer}, block.norm1)"
    return _ATTENTION.replace("{inner}", inner).replace("{outer}", outer)


_ATTENTION = '''\
def <attention>(x, block):
    """Return what attention adds to x."""
    found = <heads_of>({inner}, block)
    return {outer}
'''


def _feed_forward(design: Mapping) -> str:
    inner = "<normalized>(x, block.norm2)" if design["place"] == "before" else "x"
    outer = f"block.narrow(<gelu>(block.wide({inner})))"
    if design["place"] == "inside":
        outer = f"<normalized>({outer}, block.norm2)"
    return _FEED_FORWARD.replace("{outer}", outer)


_FEED_FORWARD = '''\
def <feed_forward>(x, block):
    """Return what the feed-forward part adds to x."""
    return {outer}
'''


def _logits(faulty: bool, design: Mapping) -> str:
    """Return the function that goes through the blocks; it cuts x down where that is no fault."""
    in_turn = design["parts"] == "in turn"
    first, second = (
        [f"x = <normalized>(x, block.{norm})"] if design["place"] == "after" else []
        for norm in ("norm1", "norm2")
    )
    if in_turn:
        cut = ["    x = x[:, -1]"]
        lines = ["x = x + <attention>(x, block)", "", *first]
        lines += ["x = x + <feed_forward>(x, block)", *second]
    else:
        cut = ["    x, found = x[:, -1], found[:, -1]"]
        lines = ["found = <attention>(x, block)", "", "x = x + found + <feed_forward>(x, block)"]
    at = lines.index("")
    lines[at : at + 1] = [] if faulty else ["if block is model.blocks[-1]:", *cut]
    if design["memory"]:
        lines.insert(0, "x = x + block.recall(first)")
    text = _LOGITS.replace("{first}", "    first = x\n" if design["memory"] else "")
    text = text.replace("{lines}", "".join(f"        {line}\n" for line in lines))
    text = text.replace("{last}", "[:, -1]" if faulty else "")
    return text.replace("{shrunk}", " / WIDTH**0.5" if design["shrunk"] else "")


_LOGITS = '''\
def <top>(model, tokens):
    """Return the logits of the token after each text, (texts, WORDS)."""
    x = <embed>(model, tokens)
{first}    for block in model.blocks:
{lines}    return model.head(<normalized>(x, model.norm)){last}{shrunk}
'''
