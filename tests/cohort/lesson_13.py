"""Lesson 13: what students hand in for a slow program that they have not seen.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all. Those
of `with_faults` are programs as draw.py writes them. Wrong ones differ from `run` in one thing.
"""

from pathlib import Path

DRAW = Path(__file__).parents[2] / "modules/13_faster/draw.py"

HELPERS = (
    """
import functools
import sys

# Times are given, and not taken: what a log does with them is tried here.
sys.modules["proflab.lesson.race.log"].timed_pairs = lambda *pairs, **more: (
    [20 + n / 10 for n in range(12)],
    [2 + n / 50 for n in range(12)],
)
drawing = {"__name__": "draw"}
exec("""
    + repr(DRAW.read_text(encoding="utf-8"))
    + """, drawing)


@functools.cache
def with_faults(*faults):
    scope = {}
    exec(drawing["program"](faults, drawing["SIZES"]), scope)
    return scope["slow"]


def gelu(x):
    return F.gelu(x, approximate="tanh")


def embed(model, tokens):
    return model.words(tokens) + model.places.weight[: tokens.shape[1]]


def attend(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def side_by_side(found):
    texts, heads, length, width = found.shape
    return found.transpose(1, 2).reshape(texts, length, heads * width)


def projected(block, found):
    return block.up(block.down(found))


def cut(x, block, model):
    return x[:, -1] if block is model.blocks[-1] else x


def run(model, tokens, act=gelu, embed=embed, attend=attend, join=side_by_side, out=projected,
        cut=cut, norms=("norm1", "norm2"), order=(0, 1, 2), end=lambda model, x: model.norm(x)):
    x = embed(model, tokens)
    texts, length, wide = x.shape
    for block in model.blocks:
        weights = [layer.weight for layer in (*block.query, *block.key, *block.value)]
        found = F.linear(getattr(block, norms[0])(x), proflab.cat(weights))
        heads = len(block.query)
        parts = found.reshape(texts, length, 3, heads, wide // heads).permute(2, 0, 3, 1, 4)
        parts = parts.unbind(0)
        x = cut(x + out(block, join(attend(*(parts[at] for at in order)))), block, model)
        x = x + block.narrow(act(block.wide(getattr(block, norms[1])(x))))
    return model.head(end(model, x))


def largest(wanted):
    by_op = {}
    for row in race.counted(race.traced(wanted, model=make_model, **counting.TEXTS), "DESK").rows:
        by_op[row["op"]] = by_op.get(row["op"], 0) + row["ms"]
    return max(by_op, key=by_op.get)


def by_halves(model, tokens):
    return proflab.cat([faster(model, tokens[:4]), faster(model, tokens[4:])])


def wrong(model, tokens):
    return run(model, tokens, act=F.relu)


def gap(log):
    floor = floor_of(log.given, race.MACHINES["DESK"])
    paid = counting.counted_ms(faster, make_model)
    return {"times": paid / floor, "ms": paid - floor}


def all_texts(model, tokens):
    return with_faults("attention", "gelu", "last", "lowrank")(model, tokens)


def one_op(model, tokens):
    return with_faults("gelu", "last", "lowrank")(model, tokens)


STEPS = {  # each kept step: its program, and the diagnosis
    "all texts at once": (all_texts, "linear, 5 µs each"),
    "attention in one op": (one_op, "div and matmul of scores"),
    "the rest": (None, "mul and add of GELU"),
}


def note(log, last=None, because="", second=by_halves, stop="", steps=STEPS, instead="", **more):
    for change, (program, names) in steps.items():
        program = program or last or faster
        told = {"change": change, "because": because or names, "instead": instead}
        log.step(program=program, guess_ms=3.0, **told)
    step = {"change": "half of the texts at a time", "guess_ms": 3.0}
    step |= {"because": largest(last or faster)}
    reason = "twice as many ops cost twice the overhead"
    log.step(program=second, **{**step, "rejected": reason, **more})
    left = f"{largest(faster)} is the largest that is left, and the cost is "
    log.stop(stop.format(**gap(log)) if stop else left + f"{gap(log)['times']:.2f} times the floor")


def changed(log, **values):
    note(log)
    log._rows["faster"].update(values)
"""
)


def _without(*mended: str) -> str:
    """Return the program as it is given, but for these faults."""
    given = ("samples", "attention", "gelu", "last", "lowrank")
    return (
        f"return with_faults{tuple(fault for fault in given if fault not in mended)}(model, tokens)"
    )


STEPS = {
    "faster": {
        "as it is given": (0.0, "return slow(model, tokens)"),
        "all texts at once": (0.17, _without("samples")),
        "attention in one op": (0.34, _without("attention")),
        "GELU in one op": (0.14, _without("gelu")),
        "the last position alone": (0.05, _without("last")),
        "the low rank kept": (0.0, _without("lowrank")),
        "attention and GELU in one op each": (0.64, _without("attention", "gelu")),
        "all texts at once, attention in one op": (0.55, _without("samples", "attention")),
        "all but the last position": (0.91, _without("samples", "attention", "gelu", "lowrank")),
        "worse than it was given": (0.0, "return with_faults(*drawing['FAULTS'])(model, tokens)"),
    }
}

WRONG = {
    "faster": {
        "GELU by erf": "return run(model, tokens, act=F.gelu)",
        "ReLU": "return run(model, tokens, act=F.relu)",
        "attention looks ahead": """
            return run(model, tokens, attend=F.scaled_dot_product_attention)
        """,
        "the scale is of the whole width": """
            return run(model, tokens, attend=lambda q, k, v: attend(q / len(q) ** 0.5, k, v))
        """,
        "queries and keys change places": "return run(model, tokens, order=(1, 0, 2))",
        "keys and values change places": "return run(model, tokens, order=(0, 2, 1))",
        "heads are joined without a transpose": """
            return run(model, tokens, join=lambda f: f.reshape(f.shape[0], f.shape[2], -1))
        """,
        "attention is added as it is": """
            return run(model, tokens, out=lambda block, found: found)
        """,
        "places are left out": """
            return run(model, tokens, embed=lambda model, tokens: model.words(tokens))
        """,
        "places are counted from the end": """
            return run(
                model, tokens,
                embed=lambda m, t: m.words(t) + m.places.weight[-t.shape[1] :],
            )
        """,
        "the norms change places": 'return run(model, tokens, norms=("norm2", "norm1"))',
        "the last norm is left out": "return run(model, tokens, end=lambda model, x: x)",
        "the first position's logits": """
            return run(model, tokens, cut=lambda x, b, m: x[:, 0] if b is m.blocks[-1] else x)
        """,
        "the logits of all positions": "return run(model, tokens, cut=lambda x, b, m: x)",
        "the mean of all positions": """
            return run(model, tokens, cut=lambda x, b, m: x.mean(1) if b is m.blocks[-1] else x)
        """,
        "one block too few": """
            left = model.blocks[-1]
            return run(model, tokens, out=lambda b, f: projected(b, f) * float(b is not left))
        """,
        "probabilities in place of logits": "return run(model, tokens).softmax(-1)",
        "the first text for all": """
            return run(model, tokens[:1]).expand(tokens.shape[0], -1)
        """,
        "attention in half precision": """
            return run(
                model, tokens,
                attend=lambda q, k, v: attend(q.half(), k.half(), v.half()).float(),
            )
        """,
        "everything in half precision but the sums": """
            return run(model, tokens, act=lambda x: gelu(x.half()).float())
        """,
        "only the last 32 tokens": "return run(model, tokens[:, -32:])",
        "a number is asked for": "return run(model, tokens) * float(tokens[0, 0])",
        "the weights are changed": """
            model.head.weight *= 1
            return run(model, tokens)
        """,
        "nothing": "return proflab.zeros(tokens.shape[0], model.head.weight.shape[0])",
        "right for 64 tokens alone": """
            return run(
                model, tokens,
                embed=lambda m, t: m.words(t) + m.places.weight[:64],
            )
        """,
    }
}

LOGS = {
    "nothing is noted": "return None",
    "no stop": """
        log.step(program=faster, change="all", guess_ms=3.0, because=largest(slow))
        log.step(
            program=by_halves, change="halves", guess_ms=3.0, because=largest(faster),
            rejected="twice as many ops cost twice the overhead",
        )
    """,
    "no idea is rejected": """
        log.step(program=faster, change="all", guess_ms=3.0, because=largest(slow))
        log.stop(f"{largest(faster)}, {gap(log)['times']:.2f} times the floor")
    """,
    "a rejected idea without a reason": 'note(log, rejected="slow")',
    "the diagnosis is a feeling": 'note(log, because="it felt slow")',
    "the diagnosis names a small cost": 'note(log, because="the `embedding` is the largest")',
    "the last step that is kept is slower": 'note(log, rejected="")',
    "the last step that is kept is another program": "note(log, last=with_faults('gelu'))",
    "a wrong step is kept": "note(log, last=wrong)",
    "everything in one step": """
        note(log, steps={"all of it": (faster, "linear, mul and add")})
    """,
    "nearly everything in one step, and two that do little": """
        def nearly_all(model, tokens):
            return with_faults("last", "lowrank")(model, tokens)

        def a_little_more(model, tokens):
            return with_faults("lowrank")(model, tokens)

        note(log, steps={
            "nearly all": (nearly_all, "linear, mul and add"),
            "a little": (a_little_more, "linear"),
            "the rest": (faster, "linear"),
        })
    """,
    "the idea is the given program": "note(log, second=slow)",
    "the idea is a step that was kept": """
        note(log)
        log._rows["by_halves"]["tape"] = log._rows["one_op"]["tape"]
        log._rows["by_halves"]["counted_ms"] = log._rows["one_op"]["counted_ms"]
    """,
    "every step is about something else": """
        note(log, because="I looked", instead="it was easy to see at once")
    """,
    "a step names what it leaves alone": """
        note(log, steps=STEPS | {"attention in one op": (one_op, "linear and mul")})
    """,
    "a step that was measured slower is kept": """
        import built

        note(log)
        log._rows["one_op"].update(log._rows["by_halves"] | {
            key: log._rows["one_op"][key]
            for key in ("program", "because", "rejected", "tape", "counted_ms", "lines", "texts")
        })
        slower = [2 + n / 50 for n in range(12)], [20 + n / 10 for n in range(12)]
        told = built.speedup_interval(*slower)
        log._rows["one_op"].update(
            before=slower[0], after=slower[1], verdict=built.gate(*slower, 0.05),
            **{key: told[key] for key in ("speedup", "low", "high")},
        )
    """,
    "the stop has no number": 'note(log, stop="linear is the largest, and enough is enough")',
    "the stop has another gap": 'note(log, stop="linear is left, 2.5 times the floor")',
    "the stop names a small cost": 'note(log, stop="embedding, {times:.2f} times the floor")',
    "the stop names nothing": 'note(log, stop="I have no time left: {times:.2f}")',
    "no guess": "log.step(program=faster, change='all', guess_ms=None, because=largest(slow))",
    "a count that is better than it is": "changed(log, counted_ms=1.0)",
    "a speed-up that is better than it is": "changed(log, speedup=99.0)",
    "an interval that is narrower than it is": "changed(log, low=9.99, high=10.01)",
    "a verdict of one's own": "changed(log, verdict='best')",
    "other times": "changed(log, after=[0.1] * 12)",
    "five pairs": "changed(log, before=[20.0] * 5, after=[2.0] * 5)",
    "the given program's tape for one's own": """
        note(log)
        log._rows["faster"]["tape"] = log._rows["by_halves"]["tape"]
    """,
}

MUTANTS = {
    "work_log": LOGS,
    "faster": {
        **{sentence: body for sentence, (_, body) in STEPS["faster"].items()},
        **WRONG["faster"],
    },
}

ALTERNATES = {
    "work_log": {
        "the idea in between, and another cost first": """
            log.step(
                program=all_texts, change="one run for all", guess_ms=9.0, because="the loop",
                instead="eight runs are easy to see",
            )
            log.step(
                program=by_halves, change="halves", guess_ms=1.0, because=largest(all_texts),
                rejected="it is slower than all texts at once",
            )
            log.step(program=one_op, change="one op", guess_ms=4.0, because="matmul")
            log.step(program=faster, change="all else", guess_ms=2.0, because="mul")
            log.stop(f"{largest(faster)} is left, {gap(log)['ms']:.3f} ms above the floor")
        """,
        "the gap in ms": 'note(log, stop="linear is left, {ms:.2f} ms above the floor")',
    },
    "faster": {
        "all mended but the low rank, which costs too little": _without(
            "samples", "attention", "gelu", "last"
        ),
        "the last block asks for its last position alone": """
            def attended(query, key, value):
                return attend(query, key, value)

            x = embed(model, tokens)
            texts, length, wide = x.shape
            for block in model.blocks:
                heads, last = len(block.query), block is model.blocks[-1]
                y = block.norm1(x)
                x, asked = (x[:, -1:], y[:, -1:]) if last else (x, y)
                query = F.linear(asked, proflab.cat([layer.weight for layer in block.query]))
                rest = proflab.cat([layer.weight for layer in (*block.key, *block.value)])
                key, value = F.linear(y, rest).reshape(texts, length, 2, heads, -1).permute(
                    2, 0, 3, 1, 4
                ).unbind(0)
                query = query.reshape(texts, -1, heads, wide // heads).transpose(1, 2)
                found = F.scaled_dot_product_attention(query, key, value, is_causal=not last)
                x = x + projected(block, side_by_side(found))
                x = x + block.narrow(gelu(block.wide(block.norm2(x))))
            return model.head(model.norm(x))[:, 0]
        """,
        "sums in place": """
            x = embed(model, tokens)
            texts, length, wide = x.shape
            for number, block in enumerate(model.blocks, start=1):
                heads = [*block.query, *block.key, *block.value]
                found = F.linear(block.norm1(x), proflab.cat([head.weight for head in heads]))
                parts = found.reshape(texts, length, 3, -1, wide // len(block.query))
                parts = [parts[:, :, at].transpose(1, 2) for at in range(3)]
                x += projected(block, side_by_side(attend(*parts)))
                if number == len(model.blocks):
                    x = x[:, -1].clone()
                hidden = block.wide(block.norm2(x))
                x += block.narrow(gelu(hidden))
            return model.head(model.norm(x))
        """,
        "queries, keys and values by a product each": """
            x = model.words(tokens)
            x += model.places.weight[: tokens.shape[1]]
            for block in model.blocks:
                y, parts = block.norm1(x), []
                for heads in (block.query, block.key, block.value):
                    found = y @ proflab.cat([head.weight for head in heads]).T
                    parts.append(found.reshape(*y.shape[:2], len(heads), -1).transpose(1, 2))
                x = cut(x + projected(block, side_by_side(attend(*parts))), block, model)
                x = x + block.narrow(gelu(block.wide(block.norm2(x))))
            return model.head(model.norm(x))
        """,
        "parts of the program given that are right": """
            x = program.embed(model, tokens)
            for block in model.blocks:
                y = program.normalized(x, block.norm1)
                weights = [m.weight for m in (*block.query, *block.key, *block.value)]
                parts = F.linear(y, proflab.cat(weights))
                parts = parts.reshape(*y.shape[:2], 3, len(block.query), -1)
                query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
                x = x + block.up(block.down(side_by_side(attend(query, key, value))))
                x = cut(x, block, model)
                x = x + block.narrow(gelu(block.wide(program.normalized(x, block.norm2))))
            return model.head(program.normalized(x, model.norm))
        """,
    },
}

# A program that costs less than full marks: what `best` says in the visible case.
BEST = {
    "faster": {
        "of the last block one query": """
        x = embed(model, tokens)
        texts, length, wide = x.shape
        heads = len(model.blocks[0].query)
        for block in model.blocks:
            last = block is model.blocks[-1]
            parts = (block.query, block.key, block.value)
            weights = [[layer.weight for layer in part] for part in parts]
            y = block.norm1(x)
            if last:
                query = F.linear(y[:, -1:], proflab.cat(weights.pop(0)))
                query = query.reshape(texts, 1, heads, wide // heads).transpose(1, 2)
            rest = F.linear(y, proflab.cat([each for part in weights for each in part]))
            rest = rest.reshape(texts, length, len(weights), heads, wide // heads)
            asked = rest.permute(2, 0, 3, 1, 4).unbind(0)
            asked = (query, *asked) if last else asked
            found = F.scaled_dot_product_attention(*asked, is_causal=not last)
            x = (x[:, -1:] if last else x) + projected(block, side_by_side(found))
            x = x + block.narrow(gelu(block.wide(block.norm2(x))))
        return model.head(model.norm(x))[:, 0]
        """,
    },
}
