"""Write what solves a drawn program of lesson 13: the bodies of `faster` and `work_log`.

draw.py beside this file says what is drawn, and runs this one. What a program looks like does not
belong here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

# The function that mends a fault in another one's place, in the order of a work log.
MENDED = {
    "attention": "attend",
    "heads": "heads_of",
    "gelu": "gelu",
    "norm": "normalized",
    "onehot": "embed",
}


def faster(design: Mapping, heads: int) -> str:
    """Return the body of `faster` for a design; heads: how many the program has."""
    places = ":length" if design["counted"] == "from the start" else "-length:"
    shrunk = " / model.words.weight.shape[1] ** 0.5" if design["shrunk"] else ""
    lines = [
        "texts, length = tokens.shape",
        f"x = model.words(tokens) + model.places.weight[{places}]",
        *(["first = x"] if design["memory"] else []),
        "for block in model.blocks:",
        *(f"    {line}" for line in _block(design, heads)),
        f"return model.head(model.norm(x)){shrunk}",
    ]
    return "\n".join(lines)


def _block(design: Mapping, heads: int) -> list[str]:
    """Return the lines of a block; the last one goes on with the last token alone."""
    place, in_turn = design["place"], design["parts"] == "in turn"
    x1, x2 = (f"block.norm{n}(x)" if place == "before" else "x" for n in (1, 2))
    context = "block.up(block.down(found))"
    widened = f'block.narrow(F.gelu(block.wide({x2}), approximate="tanh"))'
    if place == "inside":
        context, widened = f"block.norm1({context})", f"block.norm2({widened})"
    if in_turn:
        after = place == "after"
        end = [f"x = x + {context}", "if block is model.blocks[-1]:", "    x = x[:, -1]"]
        end += ["x = block.norm1(x)"] if after else []
        end += [f"x = x + {widened}", *(["x = block.norm2(x)"] if after else [])]
    else:
        end = [f"found = {context}", "if block is model.blocks[-1]:"]
        end += ["    x, found = x[:, -1], found[:, -1]", f"x = x + found + {widened}"]
    return [
        *(["x = x + block.recall(first)"] if design["memory"] else []),
        "heads = len(block.query)",
        "width = x.shape[-1] // heads",
        "weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]",
        f"found = F.linear({x1}, proflab.cat(weights))",
        *_all_heads(design, heads),
        *end,
    ]


def _all_heads(design: Mapping, heads: int) -> list[str]:
    more = "" if design["scale"] == "root" else ", scale=1 / width"
    if design["groups"] == heads:
        return [
            "parts = found.reshape(texts, length, 3, heads, width).permute(2, 0, 3, 1, 4)",
            f"found = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True{more})",
            "found = found.transpose(1, 2).reshape(texts, length, heads * width)",
        ]
    shared = ("groups, heads // groups", "heads:-groups, None", "-groups:, None")
    if design["share"] == "in turn":
        shared = ("heads // groups, groups", "None, heads:-groups", "None, -groups:")
    return [
        "groups = len(block.key)",
        "parts = found.reshape(texts, length, heads + 2 * groups, width).transpose(1, 2)",
        f"query = parts[:, :heads].reshape(texts, {shared[0]}, length, width)",
        f"key, value = parts[:, {shared[1]}], parts[:, {shared[2]}]",
        f"found = F.scaled_dot_product_attention(query, key, value, is_causal=True{more})",
        "found = found.reshape(texts, heads, length, width).transpose(1, 2)",
        "found = found.reshape(texts, length, heads * width)",
    ]


def work_log(faults: Collection[str], parts: Iterable[str], called: Mapping[str, str]) -> str:
    """Return the body of `work_log`: one fault mended after the other, and `faster` at the end.

    parts: the functions of the program without faults. called: what each is called.
    What `faster` mends is the last fault that a function in another one's place can mend, and all
    that none can.
    """
    by_name = {_name(part): part for part in parts if part}
    mended = [name for fault, name in MENDED.items() if fault in faults][:-1]
    steps = ['with_parts("all_texts")'] if "samples" in faults else []
    for count, name in enumerate(mended, start=1):
        given = ", ".join(f"{called[n]}={called[n]}" for n in mended[:count])
        steps.append(f'with_parts("with_{called[name]}", {given})')
    first = f"program.{called['logits']}" if "samples" in faults else "slow"
    text = _WORK_LOG.replace("{first}", first)
    own = "".join(f"{_inside(by_name[name], called)}\n" for name in mended)
    text = text.replace("{parts}", own)
    return text.replace("{steps}", "".join(f"    {step},\n" for step in steps)).rstrip("\n")


def _name(part: str) -> str:
    """Return the name of a function of the program, as draw.py writes it between brackets."""
    return part[part.index("<") + 1 : part.index(">")]


def _inside(part: str, called: Mapping[str, str]) -> str:
    """Return a function of program.py as the notebook writes it: without its docstring."""
    part = re.sub(r'    """.*?"""\n', "", part, flags=re.DOTALL)
    part = re.sub(r"\b(HEADS|WIDTH|WORDS)\b", r"program.\1", part)
    part = re.sub(r"(?<!def )<(\w+)>", lambda found: f"program.{called[found[1]]}", part)
    return re.sub(r"<(\w+)>", lambda found: called[found[1]], part)


_WORK_LOG = """\
def with_parts(name, **parts):
    def mended(model, tokens):
        own = {part: vars(program)[part] for part in parts}
        vars(program).update(parts)
        try:
            return {first}(model, tokens)
        finally:
            vars(program).update(own)

    mended.__name__ = name
    return mended

def by_op(each):
    found = {}
    for row in race.counted(race.traced(each, model=make_model, **counting.TEXTS), "DESK").rows:
        found[row["op"]] = found.get(row["op"], 0) + row["ms"]
    return found

def by_halves(model, tokens):
    return proflab.cat([faster(model, tokens[:4]), faster(model, tokens[4:])])

{parts}before = by_op(slow)
for step in (
{steps}    faster,
):
    after = by_op(step)
    largest = sorted(before, key=before.get, reverse=True)[:5]
    costs = " and ".join(op for op in largest if after.get(op, 0) < 0.9 * before[op])
    log.step(
        program=step,
        change=f"a cheaper {costs}",
        guess_ms=sum(before.values()) / 2,
        because=f"{costs}: among the five largest costs of the table",
        instead="" if costs else "what it lowers is small, and nothing larger can fall",
    )
    before = after
largest = max(before, key=before.get)
log.step(
    program=by_halves,
    change="half of the texts at a time",
    guess_ms=2.0,
    because=f"smaller operands of {largest} might stay in a cache",
    rejected="DESK has no cache, and twice as many ops cost twice the overhead",
)
times = sum(before.values()) / log.floor
log.stop(f"{largest} is the largest; the cost is {times:.2f} times the floor")
"""
