"""Draw timelines, shares and overheads, and sample a thread, for the demo cells of lesson 05.

No formula stands here, nor anything that an exercise or a test cell needs. All numbers that are
drawn come from the functions that you write in the lesson.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from proflab import Tensor, example_input, models, no_grad
from proflab.lesson import machine, noise, plot
from proflab.lesson.demo import demo_size, rounds
from proflab.lesson.hardware import Hardware, read_hardware
from proflab.lesson.noise import show_load  # noqa: F401  for demo cells
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas

_FRAMES = ("module", "region")
_NARROWEST = 0.001  # of the whole: what is thinner is drawn as wide as this
_FAMILIES = {
    "conv2d": "convolutions",
    "linear": "linear layers",
    "matmul": "matmul",
    "batch_norm": "norms",
    "layer_norm": "norms",
    "relu": "activations",
    "gelu": "activations",
    "softmax": "activations",
}
_VIEWS = {"time, ms": "self_ms", "FLOPs": "matmul_flops", "bytes read": "bytes_read"}


# ── rows, as text ────────────────────────────────────────────────────────────────────────────


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print what is known of one op, a line a key."""
    for key, value in facts.items():
        print(f"{key:<18} {value:,}" if isinstance(value, int) else f"{key:<18} {value}")


def print_rows(rows: Sequence[dict], most: int) -> None:
    """Print the first rows of a recording and the last one, and where each stands in time."""
    print(f"{'op':<11} {'module':<20} {'phase':<9} {'start_ms':>9} {'ms':>8} {'self_ms':>8} depth")
    for row in [*rows[:most], *rows[-1:]]:
        times = f"{row['start_ms']:>9.3f} {row['ms']:>8.3f} {row['self_ms']:>8.3f}"
        print(f"{row['op']:<11} {row['module']:<20} {row['phase']:<9} {times} {row['depth']:>5}")


def print_architectures(table: Sequence[dict]) -> None:
    """Print the rows of compare_architectures below one another."""
    print(f"{'':<12} parameters            FLOPs        ms        MB   GFLOP/s")
    for row in table:
        counted = f"{row['name']:<12}{row['parameters']:>11,}{row['flops']:>17,}"
        measured = f"{row['latency_ms']:>10.2f}{row['peak_memory_mb']:>10.1f}"
        print(f"{counted}{measured}{row['gflops_per_second']:>10.1f}")


# ── what ran when ────────────────────────────────────────────────────────────────────────────


def timeline(rows: Sequence[dict], title: str = "", most: int = 7) -> Picture:
    """Draw a recording: the ops, by kind, below the modules and regions in which they ran.

    The `most` kinds of ops that take most time have a colour each, the same in all lessons. A bar
    has its name where there is room. Raises ValueError where there are no rows.
    """
    if not rows:
        raise ValueError("there are no rows to draw")
    rows = with_modules(rows)
    begin = min(row["start_ms"] for row in rows)
    end = max(row["start_ms"] + row["ms"] for row in rows)
    times = _times(rows)
    colours = plot.colours_of(list(times)[:most])
    lanes = 1 + max(row["depth"] for row in rows)
    said = ", ".join(f"{op} {ms / sum(times.values()):.0%}" for op, ms in times.items())
    alt = f"{title or 'Timeline'}: {len(rows)} bars in {lanes} lanes, {end - begin:.4g} ms. {said}"
    with canvas(9.0, 1.5 + 0.34 * lanes, alt) as (picture, axes):
        paints = [FAINT if row["op"] in _FRAMES else colours.get(row["op"], QUIET) for row in rows]
        _draw(axes, rows, paints, begin, end)
        for row, colour in zip(rows, paints, strict=True):
            _write(axes, row, _bar_name(row), begin, row["ms"] / (end - begin), colour)
        for op, colour in colours.items():
            axes.plot([], [], "s", color=colour, ms=9, label=op)
        if len(times) > most:
            axes.plot([], [], "s", color=QUIET, ms=9, label="others")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), frameon=False)
        axes.set(xlim=(0, end - begin), ylim=(lanes - 0.5, -0.6), yticks=[], xlabel="ms")
        axes.spines["left"].set_visible(False)
        axes.set_title(title)
    return picture


def _draw(axes: Any, rows: Sequence[dict], paints: list[str], begin: float, end: float) -> None:
    """Draw the bars, those that are wide enough with a white edge."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    least = _NARROWEST * (end - begin)
    bars = [
        Rectangle((row["start_ms"] - begin, row["depth"] - 0.42), max(row["ms"], least), 0.84)
        for row in rows
    ]
    edges = [0.6 if row["ms"] > 10 * least else 0.0 for row in rows]
    style = {"facecolors": paints, "edgecolors": "white", "linewidths": edges}
    axes.add_collection(PatchCollection(bars, **style))


def _times(rows: Sequence[dict]) -> dict[str, float]:
    """Return the time of each kind of op, the largest first."""
    times: dict[str, float] = {}
    for row in rows:
        if row["op"] not in _FRAMES:
            times[row["op"]] = times.get(row["op"], 0.0) + row["ms"]
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def _write(axes: Any, row: dict, text: str, begin: float, share: float, colour: str) -> None:
    """Write the bar's name inside it, or what follows its last dot, where there is room.

    The name of a region for which there is no room stands above it.
    """
    room = int(share * 115)
    shown = text if len(text) <= room else text.rpartition(".")[2]
    if len(shown) > room:
        if row["op"] == "region":
            at = row["start_ms"] - begin, row["depth"] - 0.42
            shift = {"xytext": (0, 2), "textcoords": "offset points", "ha": "left", "va": "bottom"}
            axes.annotate(text, at, fontsize=8, color=INK, **shift)
        return
    light = colour in (COLOURS[0], COLOURS[2], COLOURS[5], COLOURS[7], QUIET)
    axes.text(
        row["start_ms"] - begin + row["ms"] / 2,
        row["depth"],
        shown,
        ha="center",
        va="center",
        fontsize=8,
        color="white" if light else INK,
        clip_on=True,
    )


def with_modules(rows: Sequence[dict]) -> list[dict]:
    """Return these rows, deeper, with a row of op "module" around each module's run of ops.

    rows: of a recording, with start_ms, ms, depth, phase and module; a module's row has their keys.
    """
    regions = [row for row in rows if row["op"] == "region"]
    borders = sorted(row["start_ms"] + end for row in regions for end in (0.0, row["ms"]))
    done, running, before = list(regions), [], None
    ops = [row for row in rows if row["op"] != "region"]
    for row in sorted(ops, key=lambda row: row["start_ms"]):
        place = row["phase"], row["depth"], bisect(borders, row["start_ms"])
        paths = _inside(row["module"])
        running = running[: _shared(paths, running)] if place == before else []
        before = place
        for path in paths[len(running) :]:
            running.append(_frame(row, path, len(running)))
            done.append(running[-1])
        for module in running:
            module["ms"] = row["start_ms"] + row["ms"] - module["start_ms"]
        done.append(row | {"depth": row["depth"] + len(running)})
    return done


def _bar_name(row: dict) -> str:
    """Return an op, or what a module is called beside its siblings: "attn", or "blocks.3"."""
    if row["op"] not in _FRAMES:
        return row["op"]
    parts = row["module"].split(".")
    return ".".join(parts[-2:] if parts[-1].isdigit() else parts[-1:])


def _inside(path: str) -> list[str]:
    """Return the modules that lead to one: "blocks.3.attn" is in blocks.3, and itself."""
    parts = path.split(".") if path else []
    follows = [*(part.isdigit() for part in parts[1:]), False]  # a number belongs to its list
    return [".".join(parts[: i + 1]) for i in range(len(parts)) if not follows[i]]


def _shared(paths: Sequence[str], running: Sequence[dict]) -> int:
    """Return how many of the running modules lead to this place, too."""
    same = [path == row["module"] for path, row in zip(paths, running, strict=False)]
    return [*same, False].index(False)


def _frame(row: dict, path: str, depth: int) -> dict:
    """Return the row of a module that begins with this op."""
    nothing = ("matmul_flops", "elementwise_flops", "bytes_read", "bytes_written")
    own = {"op": "module", "module": path, "depth": row["depth"] + depth, "self_ms": 0.0}
    return row | own | dict.fromkeys(nothing, 0)


# ── what is profiled ─────────────────────────────────────────────────────────────────────────


def three_blocks() -> tuple[Any, Tensor]:
    """Return a GPT-2 of three blocks that are as wide as GPT-2 small's, warm, and a text for it."""
    gpt2 = models.GPT2(1024, layers=demo_size(3, 1), d_model=demo_size(full=768, small=48))
    text = example_input(gpt2, (1, demo_size(full=256, small=8)))
    gpt2(text).mean().backward()  # the first pass is cold
    return gpt2, text


def two_passes() -> dict[str, Callable[[], Any]]:
    """Return two passes that have run once: ResNet-18 forward, GPT-2 small forward and backward."""
    side, length = demo_size(full=(224, 128), small=(64, 8))
    resnet, gpt2 = models.resnet18().eval(), models.GPT2(**demo_size({}, {"d_model": 48}))
    image, tokens = example_input(resnet, (1, 3, side, side)), example_input(gpt2, (1, length))
    passes = {
        "ResNet-18": no_grad()(lambda: resnet(image)),
        "GPT-2 small": lambda: gpt2(tokens).mean().backward(),
    }
    for run in passes.values():
        run()
    return passes


def vision_transformer() -> tuple[Any, Tensor]:
    """Return a ViT-Ti/16 and an image for it."""
    vit = models.VisionTransformer(layers=demo_size(12, 1))
    return vit, example_input(vit, (1, 3, 224, 224))


def machines() -> list[Hardware]:
    """Return what machines.json has: two cores of a server, a T4, an A100 and an H100."""
    with open("machines.json", encoding="utf-8") as file:
        return [read_hardware("machines.json", name) for name in json.load(file)]


def answer_request() -> list[int]:
    """Return the most likely token at each place of a text, as somebody's first version does."""
    gpt2, text = _service()
    with no_grad():
        lists = gpt2(text).tolist()[0]
    return [max(range(len(row)), key=row.__getitem__) for row in lists]


@functools.cache
def _service() -> tuple[Any, Tensor]:
    gpt2 = models.GPT2(layers=2, d_model=demo_size(full=768, small=48))
    return gpt2, example_input(gpt2, (1, demo_size(full=64, small=16)))


def programs(calibrate: Callable) -> dict[str, Callable[[], None]]:
    """Return three programs, each a forward pass so often that it takes long enough to time.

    calibrate: lesson 03's, which says how often that is.
    """
    side = demo_size(full=224, small=64)
    made = {
        "30 tiny layers": (models.MLP(*[16] * 31), (1, 16)),
        "2 layers": (models.MLP(784, 1024, 10), (64, 784)),
        "ResNet-18": (models.resnet18().eval(), (1, 3, side, side)),
    }
    found = {}
    for name, (model, shape) in made.items():
        once = no_grad()(functools.partial(model, example_input(model, shape)))
        found[name] = repeated(once, calibrate(once, min_time_ms=demo_size(30.0, 1.0)))
    return found


def three_architectures() -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """Return an MLP, a CNN (ResNet-18) and a Transformer (GPT-2 small), and a shape for each."""
    hidden, side, length = demo_size(full=(4096, 224, 128), small=(64, 64, 8))
    three = {
        "MLP": models.MLP(784, hidden, hidden, 10),
        "CNN": models.resnet18().eval(),
        "Transformer": models.GPT2(**demo_size(full={}, small={"d_model": 48})),
    }
    shapes = [(64, 784), (1, 3, side, side), (1, length)]
    return three, dict(zip(three, shapes, strict=True))


# ── shares of time, FLOPs and bytes ──────────────────────────────────────────────────────────


def three_shares(recorded: Mapping[str, Sequence[dict]], title: str = "") -> Picture:
    """Draw three bars a recording: its time, FLOPs and bytes read, divided among kinds of ops.

    recorded: a name for each recording, and its rows.
    """
    shown = {
        f"{name}: {view}": family_sums(rows, key)
        for name, rows in recorded.items()
        for view, key in _VIEWS.items()
    }
    return plot.shares(shown, unit="that one pass needs", title=title)


def family_sums(rows: Sequence[dict], key: str) -> dict[str, float]:
    """Return sums of the rows' values for a key, by kind of op; without a kind: "others"."""
    sums: dict[str, float] = dict.fromkeys([*_FAMILIES.values(), "others"], 0)
    for row in rows:
        sums[_FAMILIES.get(row["op"], "others")] += row[key]
    return sums


def percent_of(recordings: Iterable[Sequence[dict]], family: str) -> float:
    """Return the percentage of the time that a kind of ops has, from several recordings."""
    parts = []
    for rows in recordings:
        times = family_sums(rows, "self_ms")
        parts.append(100 * times[family] / sum(times.values()))
    return noise.measured(parts)


def attention_shares(
    rows_of: Callable[[Callable[[], Any]], Sequence[dict]],
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the part that attention between tokens has of a block, of its FLOPs and of its time.

    Both by the length of the text in tokens; the block is one of GPT-2 small. rows_of: the
    lesson's. FLOPs are counted on meta tensors, and a time is measured in several passes.
    """
    lengths = demo_size(full=[64, 128, 256, 512, 1024, 2048], small=[64, 128])
    width = demo_size(full=768, small=48)
    block = models.GPT2(vocab_size=16, context=2048, layers=1, d_model=width).eval()
    predicted, measured = {}, {}
    for length in lengths:
        meta, text = (example_input(block, (1, length), meta=on_meta) for on_meta in (True, False))
        run = no_grad()(functools.partial(block, text))
        predicted[length] = between_tokens(rows_of(functools.partial(block, meta)), "matmul_flops")
        parts = [between_tokens(rows_of(run), "self_ms") for _ in rounds(7, 2, 1, 2.0)]
        measured[length] = noise.measured(parts)
    return predicted, measured


def between_tokens(rows: Sequence[dict], key: str, block: str = "blocks.0") -> float:
    """Return the part of a block's sum for `key` that its attention module has itself.

    rows: of a recording of GPT-2; its attention's linear layers are modules of their own.
    """
    inside = [row for row in rows if row["module"].startswith(block)]
    own = [row for row in inside if row["module"] == f"{block}.attn"]
    return sum(row[key] for row in own) / sum(row[key] for row in inside)


def attention_curves(
    predicted: Mapping[int, float], measured: Mapping[int, float], guess: float | None = None
) -> Picture:
    """Draw both parts against the length in tokens; the guess, in percent, at the longest."""
    curves = {"predicted, by FLOPs": predicted, "measured, by time": measured}
    picture = plot.curves(
        {name: list(curve.items()) for name, curve in curves.items()},
        x="tokens",
        y="between tokens, part of a block",
        log="x",
        show="{:.0%}".format,
        title="Attention between tokens, a block of GPT-2 small",
    )
    if isinstance(guess, (int, float)):
        diamond = {"mfc": "white", "mec": INK, "ms": 8, "zorder": 4, "label": "your guess"}
        axes = picture.figure.axes[0]
        axes.plot([max(measured)], [guess / 100], "D", **diamond)
        axes.legend(frameon=False, loc="upper left")
    return picture


# ── what watching costs ──────────────────────────────────────────────────────────────────────


def compare_ways(
    ways: Mapping[str, Callable], calibrate: Callable, profiling_overhead: Callable
) -> dict[tuple[str, str], list[float]]:
    """Return, for each (program, way), five ratios of profiling_overhead, the smallest first.

    ways: functions that run a function of no arguments under a profiler. calibrate,
    profiling_overhead: the lessons'. The sampler is left out where there are no threads.
    """
    if not machine.can("threads"):
        print("A sampler needs threads, which this Python does not have.")
        ways = {name: watch for name, watch in ways.items() if watch is not sampled}
    return {
        (name, way): sorted(
            profiling_overhead(run, functools.partial(watch, run), rounds=2)
            for _ in range(demo_size(5, 2))
        )
        for name, run in programs(calibrate).items()
        for way, watch in ways.items()
    }


def tell_ratios(ratios: Mapping[tuple[str, str], list[float]]) -> dict[tuple[str, str], float]:
    """Print each (program, way) with its ratios' spread; return what was measured."""
    noise.show_load()
    return {
        (name, way): noise.tell(f"{name:<15} {way:<9}", found, "times", ratio=True)
        for (name, way), found in ratios.items()
    }


def samples_of_the_loop() -> float:
    """Print how often a sampler sees a Python loop and matrix products; return the loop's part."""
    noise.show_load()
    counts, seconds = [], demo_size(full=0.4, small=0.1)
    for half in (run_a_loop, multiply_matrices):
        samples = [sampled(functools.partial(half, seconds)).total() for _ in range(3)]
        counts.append(noise.tell(half.__name__, [n / seconds for n in samples], "samples a second"))
    return 100 * counts[0] / (counts[0] + counts[1])


def overheads(
    ratios: Mapping[tuple[str, str], Sequence[float]], guess: tuple[str, str, float | None]
) -> Picture:
    """Draw, for each (program, profiler), the median of its ratios and a line from end to end.

    guess: the program, the profiler, and the ratio that was predicted for them, or None.
    """
    ways = list(dict.fromkeys(way for _, way in ratios))
    said = "; ".join(
        f"{name}, {way} {median(found):.2f} ({min(found):.2f} to {max(found):.2f})"
        for (name, way), found in ratios.items()
    )
    alt = f"What watching costs (times the time without): {said}"
    with canvas(7.5, 0.9 + 0.3 * len(ratios), alt) as (picture, axes):
        for at, ((_, way), found) in enumerate(ratios.items()):
            colour = COLOURS[ways.index(way)]
            axes.plot([min(found), max(found)], [at, at], color=colour, lw=2)
            axes.plot(median(found), at, "o", color=colour, ms=8)
        place = list(ratios).index(guess[:2])
        axes.set_xscale("log")  # a single slow round does not squeeze all others into one place
        if isinstance(guess[2], (int, float)) and guess[2] > 0:
            axes.plot(guess[2], place, "D", mfc="white", mec=INK, ms=8, label="your guess")
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02))
        axes.axvline(1, color=QUIET, lw=1, ls=(0, (4, 3)), zorder=0)
        axes.set_yticks(range(len(ratios)), [f"{name}, {way}" for name, way in ratios])
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="times the time without a profiler", ylim=(len(ratios) - 0.4, -0.6))
        axes.set_title("What watching costs: median, and lowest to highest")
        axes.grid(axis="x")
    return picture


def sampled(function: Callable[[], Any], interval_ms: float = 1.0) -> Counter[str]:
    """Run function() and look every interval which function runs: {"file.py:12(name)": times}.

    A thread looks, at the innermost Python function of the thread that called. Raises what
    function() raises.
    """
    machine.need("threads", "which functions a sampler sees")
    main, seen, done = threading.get_ident(), Counter(), threading.Event()

    def look() -> None:
        while not done.wait(interval_ms / 1000):
            code = sys._current_frames()[main].f_code
            seen[f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}({code.co_name})"] += 1

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return seen


def repeated(function: Callable[[], Any], times: int) -> Callable[[], None]:
    """Return a function that calls function() so many times."""

    def run() -> None:
        for _ in range(times):
            function()

    return run


def run_a_loop(seconds: float) -> None:
    """Run a loop of Python for so long."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def multiply_matrices(seconds: float) -> None:
    """Multiply matrices with numpy for so long."""
    matrix, until = np.ones((768, 768), np.float32), time.perf_counter() + seconds
    while time.perf_counter() < until:
        matrix @ matrix
