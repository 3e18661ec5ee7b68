"""Serve the known solutions beside; executed after the solved lesson."""

import functools
import sys


# Times are given, and not taken: what a log does with them is tried here.
@functools.cache
def ms_of(program):
    return counting.counted_ms(program, make_model)


def times(old, new, methods):
    before = [ms_of(old) * (1 + n / 200) for n in range(12)]
    return before, [ms_of(new) * (1 + 5 * n % 12 / 200) for n in range(12)]


kept_times = sys.modules["proflab.lesson.race.log"]
kept_times.calling = lambda program, *draws, **made: program
kept_times.timed_pairs = times
# Of each one's own: entries are judged one after the other, and a log keeps what was noted.
log = race.WorkLog(log.slow, log.machine, floor=log._floor, **log._options, **log._made)
drawing = {"__name__": "draw"}
exec(TEXT_OF("draw.py"), drawing)


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


def run(
    model,
    tokens,
    act=gelu,
    embed=embed,
    attend=attend,
    join=side_by_side,
    out=projected,
    cut=cut,
    norms=("norm1", "norm2"),
    order=(0, 1, 2),
    end=lambda model, x: model.norm(x),
):
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
    paid = counting.counted_ms(faster, make_model)
    return {"times": paid / log.floor, "ms": paid - log.floor}


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
