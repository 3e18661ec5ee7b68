"""Run and draw a classifier, its versions and a power sensor for the demo cells of lesson 08.

Nothing here does what an exercise asks for.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from proflab import Tensor, example_input
from proflab import models as zoo
from proflab.lesson import hardware, machine, noise
from proflab.lesson.demo import demo_size
from proflab.lesson.digits import Digits, classify, load_digits
from proflab.lesson.measuring import on_threads
from proflab.lesson.plot import COLOURS, INK, QUIET, Picture, canvas

_RAPL = "/sys/class/powercap/intel-rapl:0/energy_uj"
_EVERY = 0.05  # seconds between two readings of a sensor


def time_calls(function: Callable, *arguments: Any, count: int) -> list[float]:
    """Return the ms of so many calls on one thread, in order, after one that is not counted."""
    found = []
    with on_threads(1):
        function(*arguments)
        for _ in range(count):
            start = time.perf_counter_ns()
            function(*arguments)
            found.append((time.perf_counter_ns() - start) / 1e6)
    return found


def lenet() -> tuple[Any, Any]:
    """Return LeNet-5 and one image for it."""
    model = zoo.LeNet5().eval()
    return model, example_input(model, (1, 1, 32, 32))


def recorded_calls(path: str | Path = "../03_latency/calls.json") -> np.ndarray | None:
    """Return the µs of lesson 03's recorded calls, in order; None where its folder is not there."""
    path = Path(path)
    return np.array(json.loads(path.read_text("utf-8"))) if path.exists() else None


# ── rules on calls of one program ────────────────────────────────────────────────────────────

# What disturbs the call at each place: the ms that it takes more.
DISTURBANCES: dict[str, Callable[[int], float]] = {
    "1 ms more each call": lambda place: 1.0 * place,
    "every 2nd call 5 ms more": lambda place: 5.0 * (place % 2 == 0),
    "every 4th call 5 ms more": lambda place: 5.0 * (place % 4 == 0),
}


def gap(order: Sequence[str], more_ms: Callable[[int], float]) -> float:
    """Return how many ms B seems to take more than A, two equal programs, called in this order."""
    ms: dict[str, list[float]] = {"A": [], "B": []}
    for place, program in enumerate(order):
        ms[program].append(50 + more_ms(place))
    return float(np.mean(ms["B"]) - np.mean(ms["A"]))


def count_alarms(
    series: Sequence[float],
    rounds: int,
    run_order: Callable,
    confidence_interval: Callable,
    rank_test: Callable,
    speedup_interval: Callable,
) -> dict[str, int]:
    """Return how often each rule finds a difference, though all calls are of one program.

    Each experiment takes the next 2 * rounds calls of the series, and gives them two names.
    """
    draw, turns = np.random.default_rng(4), ["A", "B"]
    orders = {"ABAB": np.array(turns * rounds), "mirrored": np.array(run_order(turns, rounds))}
    rules = ["median 2 % smaller", "intervals apart", "rank test"]
    alarms = dict.fromkeys([*rules, "pairs, ABAB", "pairs, mirrored", "pairs, drawn"], 0)
    for start in range(0, len(series), 2 * rounds):
        part = np.array(series[start : start + 2 * rounds])
        one, two = part[:rounds].tolist(), part[rounds:].tolist()
        (low, high), (other_low, other_high) = confidence_interval(one), confidence_interval(two)
        alarms["median 2 % smaller"] += bool(abs(np.median(one) / np.median(two) - 1) > 0.02)
        alarms["intervals apart"] += low > other_high or other_low > high
        alarms["rank test"] += rank_test(one, two)["p"] < 0.05
        orders["drawn"] = np.concatenate([draw.permutation(turns) for _ in range(rounds)])
        for name, order in orders.items():
            paired = speedup_interval(part[order == "A"].tolist(), part[order == "B"].tolist())
            alarms[f"pairs, {name}"] += paired["low"] > 1 or paired["high"] < 1
    return alarms


def verdicts(
    gate: Callable, rng: np.random.Generator, gain: float, rounds: int, comparisons: int
) -> list[str]:
    """Return 1,000 verdicts on programs that differ by `gain`, whose times spread by 3 %."""
    times = np.exp(rng.normal(0, 0.03, (1000, 2, rounds)))
    return [gate((gain * b).tolist(), a.tolist(), 0.05, comparisons) for b, a in times]


def windows_held(
    runs: Mapping[str, np.ndarray], sizes: Sequence[int], interval: Callable
) -> dict[str, noise.Measured]:
    """Return the percentage of windows of so many calls whose interval holds the run's median."""
    return {
        f"{size} calls, {name}".rstrip(", "): _share_held(times, size, interval)
        for size in sizes
        for name, times in runs.items()
    }


def _share_held(times: np.ndarray, size: int, interval: Callable) -> noise.Measured:
    truth, starts = np.median(times), range(0, len(times) - size + 1, size)
    ends = [interval(times[at : at + size].tolist()) for at in starts]
    share = 100 * float(np.mean([low <= truth <= high for low, high in ends]))
    off = 2 * math.sqrt(share * (100 - share) / len(ends))  # of so few windows
    return noise.Measured(share, max(0, share - off), min(100, share + off), noise.is_busy())


# ── results of several days ──────────────────────────────────────────────────────────────────

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_KEPT = Path(".proflab") / "days.jsonl"  # what this reader's machine measured, a result a line
_SHOWN = 6  # of these, in the drawing


def environment(seed: int, threads: int) -> dict[str, Any]:
    """Return what this machine tells of a benchmark's environment; None for what it does not."""
    here, known = hardware.this_machine(), hardware.load_and_processors()
    governor = _GOVERNOR.read_text("utf-8").strip() if _GOVERNOR.exists() else None
    return {
        "machine": here.name and f"{here.name}, {here.processors} processors",
        "threads": threads,
        "seed": seed,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "governor": governor,
        "load": known and round(known[0] / known[1], 3),
    }


def result(seed: int, rounds: int, calls: int = 30) -> dict[str, Any]:
    """Return a result of now: the medians of so many rounds of LeNet-5, and their environment."""
    model, where = zoo.LeNet5().eval(), environment(seed, threads=1)
    image = Tensor(np.random.default_rng(seed).random((1, 1, 32, 32), np.float32))
    times = [float(np.median(time_calls(model, image, count=calls))) for _ in range(rounds)]
    when = datetime.now().astimezone().isoformat(" ", "minutes")
    return {"when": when, "times": [round(ms, 5) for ms in times], "environment": where}


def days(seed: int, rounds: int, kept: Path = _KEPT) -> list[dict[str, Any]]:
    """Return the recorded results, the last kept from earlier runs of this cell, a new one.

    The new one is kept, too, where the folder can be written. Lists of times are as long as the
    shortest, so that rounds can be paired.
    """
    found = json.loads(Path("days.json").read_text("utf-8"))
    if kept.exists():
        found += [json.loads(line) for line in kept.read_text("utf-8").splitlines()[-_SHOWN:]]
    found.append(result(seed, rounds))
    if not demo_size(full=True, small=False):  # a trial, which keeps nothing
        kept = Path(os.devnull)
    with contextlib.suppress(OSError):
        kept.parent.mkdir(exist_ok=True)
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found[-1]) + "\n")
    least = min(len(each["times"]) for each in found)
    return [each | {"times": each["times"][:least]} for each in found]


def told(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return a line on two results, the later one with what was found of both."""
    ms = [float(np.median(each["times"])) for each in (before, after)]
    why = [f"{what}: {', '.join(after[what])}" for what in ("differs", "doubtful") if after[what]]
    line = f"{after['when'][:16]}  {ms[0]:.3f} to {ms[1]:.3f} ms  {after['verdict']}"
    return "\n    ".join([line, *why])


def over_days(results: Sequence[Mapping[str, Any]], title: str) -> Picture:
    """Draw the times of each result in order; a line joins two that were compared.

    A result has the verdict on it and the one before, but for the first.
    """
    middles = [float(np.median(each["times"])) for each in results]
    ends = [(min(each["times"]), max(each["times"])) for each in results]
    verdicts = [each.get("verdict", "first") for each in results]
    said = "; ".join(
        f"{each['when'][:16]} {ms:.3g} ms, {verdict}"
        for each, ms, verdict in zip(results, middles, verdicts, strict=True)
    )
    with canvas(7.5, 3.4, f"{title}. {said}") as (picture, axes):
        for at, (low, high) in enumerate(ends):
            axes.plot([at, at], [low, high], color=COLOURS[0], lw=3)
            axes.plot([at], [middles[at]], "o", color=COLOURS[0], ms=7)
            if at and verdicts[at] != "not compared":
                axes.plot([at - 1, at], middles[at - 1 : at + 1], color=COLOURS[1], lw=1.5)
            above = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
            axes.annotate(verdicts[at].replace(" ", "\n"), (at, high), (0, 5), **above)
        axes.set_xticks(range(len(results)), [r["when"][:16].replace(" ", "\n") for r in results])
        axes.tick_params(axis="x", labelsize=7)
        axes.set_xlim(-0.6, len(results) - 0.4)
        axes.set_ylim(0, max(high for _, high in ends) * 1.25)
        axes.set(ylabel="ms a call", title=title)
        axes.grid(axis="y")
    return picture


# ── the classifier and its versions ──────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Version:
    """A way to name images, and the bytes of its weights and biases, or of what it remembers."""

    classify: Callable[[np.ndarray], np.ndarray]
    bytes: int


def versions(digits: Digits, quantize: Callable) -> dict[str, Version]:
    """Return the classifier in four versions; `quantize` is the student's."""
    biases = sum(bias.nbytes for bias in digits.biases)
    dense = sum(weight.nbytes for weight in digits.weights) + biases
    pruned = [prune(weight, 0.5) for weight in digits.weights]
    cache: dict[bytes, int] = {}
    numbers = digits.images.nbytes + digits.labels.nbytes
    return {
        "baseline": Version(lambda x: classify(x, digits.weights, digits.biases), dense),
        "quantized": quantized(digits, quantize),
        "pruned": Version(lambda x: classify(x, pruned, digits.biases), dense),
        "cached": Version(lambda x: look_up(x, digits, cache), dense + numbers),
    }


def prune(weight: np.ndarray, share: float) -> np.ndarray:
    """Return the weights with the share of smallest magnitude set to zero."""
    return np.where(np.abs(weight) < np.quantile(np.abs(weight), share), 0, weight)


def quantized(digits: Digits, quantize: Callable) -> Version:
    """Return the version whose products are of int8, with sums in int32."""
    layers = [quantize(weight, axis=1) for weight in digits.weights]
    size = sum(q.nbytes + 4 * scale.size for q, scale in layers)

    def run(images: np.ndarray) -> np.ndarray:
        for at, ((q, scale), bias) in enumerate(zip(layers, digits.biases, strict=True)):
            inputs, step = quantize(images)
            sums = inputs.astype(np.int32) @ q.T.astype(np.int32)
            images = sums * (step * scale.T).astype(np.float32) + bias
            images = np.maximum(images, 0) if at + 1 < len(layers) else images
        return images.argmax(axis=1)

    return Version(run, size + sum(bias.nbytes for bias in digits.biases))


def look_up(images: np.ndarray, digits: Digits, cache: dict[bytes, int]) -> np.ndarray:
    """Return the digit of each image, computed only for images that are not in the cache."""
    keys = [image.tobytes() for image in images]
    new = [at for at, key in enumerate(keys) if key not in cache]
    if new:
        found = classify(images[new], digits.weights, digits.biases)
        cache.update({keys[at]: int(digit) for at, digit in zip(new, found, strict=True)})
    return np.array([cache[key] for key in keys])


def time_versions(
    versions: Mapping[str, Version], digits: Digits, order: Callable
) -> dict[str, list[float]]:
    """Return the ms of each version on the test images, and of the cache on images that are new.

    order: returns the order of the calls for the names of all.
    """
    ways = {name: version.classify for name, version in versions.items()}
    ways["new images"] = lambda images: look_up(images, digits, {})  # each time an empty cache
    ms: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way(digits.images)  # once, to warm up, and to fill the cache of "cached"
    for name in order(list(ways)):
        ms[name] += time_calls(ways[name], digits.images, count=1)
    return ms


def times_of_pruned(run_order: Callable, rounds: int) -> tuple[list[float], list[float]]:
    """Return the ms of the classifier and of its pruned version, from so many rounds."""
    digits = load_digits()
    weights = {"all weights": digits.weights}
    weights["pruned"] = [prune(weight, 0.5) for weight in digits.weights]
    ms: dict[str, list[float]] = {name: [] for name in weights}
    for name in run_order(list(weights), rounds):
        ms[name] += time_calls(classify, digits.images, weights[name], digits.biases, count=1)
    return ms["all weights"], ms["pruned"]


def compared(
    versions: Mapping[str, Version],
    digits: Digits,
    ms: Mapping[str, Sequence[float]],
    speedup_interval: Callable,
    gate: Callable,
) -> list[dict[str, Any]]:
    """Return a row for each version: its ms, bytes and accuracy, and its speed-up and verdict."""
    rows, before = [], ms["baseline"]
    for name, version in versions.items():
        right = 100 * float(np.mean(version.classify(digits.images) == digits.labels))
        row = {"name": name, "ms": float(np.median(ms[name])), "bytes": version.bytes}
        row |= {"accuracy": right, "verdict": gate(before, ms[name], 0.05, comparisons=3)}
        rows.append(row | speedup_interval(before, ms[name], 1 - 0.05 / 3))
    return rows


def intervals(
    rows: Sequence[Mapping[str, Any]], front: Sequence[str], title: str, caption: str = ""
) -> Picture:
    """Draw each row's speed-up and its interval on a logarithmic axis, with the gate's verdict.

    rows: name, speedup, low, high, verdict, bytes, accuracy in percent. front: the names of those
    that no other row beats; the others' dots are hollow. caption: stands below the axes, such as
    the machine on which they were measured.
    """
    text = "{name} {speedup:.3g} ({low:.3g} to {high:.3g}), {verdict}"
    said = "; ".join(text.format(**row) for row in rows) + f"; on the front: {', '.join(front)}"
    with canvas(7.5, 0.9 + 0.5 * len(rows), f"{title}. {said}") as (picture, axes):
        for at, row in enumerate(rows):
            axes.plot([row["low"], row["high"]], [at, at], "|-", color=COLOURS[0], lw=2, ms=14)
            inside = COLOURS[0] if row["name"] in front else "white"
            axes.plot([row["speedup"]], [at], "o", color=COLOURS[0], mfc=inside, ms=8)
            said = "{speedup:.3g}× · {verdict}".format(**row)
            offset = {"textcoords": "offset points", "ha": "center", "fontsize": 9}
            offset["bbox"] = {"fc": "white", "ec": "none", "pad": 0.5}
            axes.annotate(said, (row["speedup"], at), (0, 8), **offset)
            beside = "{bytes:,} bytes\n{accuracy:.1f} % right".format(**row)
            right = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9}
            axes.annotate(beside, (1.02, at), **right)
        axes.axvline(1, color=QUIET, lw=1.2, ls=(0, (4, 3)), zorder=0)
        axes.set_xscale("log")
        ends = [value for row in rows for value in (row["low"], row["high"])]
        axes.set_xlim(min(*ends, 1) / 1.6, max(*ends, 1) * 1.6)
        axes.set_ylim(len(rows) - 0.5, -0.7)
        axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.15g}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        key = "dot: median; bar: interval; hollow: another version beats it"
        axes.set_xlabel(f"times as fast as the baseline ({key})")
        axes.set_title(title, color=INK)
        if caption:
            axes.figure.supxlabel(caption, x=0.01, ha="left", fontsize=8, color=QUIET)
            picture.alt += f". {caption}"
    return picture


def power(record: PowerRecord, example: Sequence[tuple[float, float]]) -> Picture:
    """Draw the power of a run, or of an example where no sensor could be read."""
    measured = len(record.samples) > 1
    title = record.source if measured else "An example, made up: no sensor can be read here"
    seconds, watts = zip(*(record.samples if measured else example), strict=True)
    said = ", ".join(f"{at:.3g} s {power:.3g} W" for at, power in zip(seconds, watts, strict=True))
    with canvas(7.5, 3.0, f"{title}. {said}") as (picture, axes):
        axes.plot(seconds, watts, "o-", color=COLOURS[0], ms=5)
        axes.fill_between(seconds, record.idle_watts, watts, color=COLOURS[0], alpha=0.2, lw=0)
        axes.set(xlabel="second", ylabel="W", title=title, ylim=(0, None))
        axes.grid()
    return picture


# ── power ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class PowerRecord:
    """Readings of a sensor during a run: (second, watts) pairs; none where there is no sensor."""

    source: str
    idle_watts: float = 0.0
    calls: int = 0
    samples: list[tuple[float, float]] = field(default_factory=list)


def watch_power(work: Callable[[], Any], seconds: float) -> PowerRecord:
    """Read the machine's power while `work` is called again and again for so many seconds.

    Before it, the idle machine's power is read for a third of the time.
    """
    sensor = find_sensor()
    if sensor is None:
        return PowerRecord(
            "No sensor can be read here (RAPL needs Linux and permission, NVML a GPU of NVIDIA's):"
            " nothing was measured."
        )
    name, read = sensor
    idle = _sample(read, lambda: time.sleep(_EVERY), seconds / 3)[0]
    samples, calls = _sample(read, work, seconds)
    if len(samples) < 2 or not idle:
        return PowerRecord(f"{name} gave too few readings.")
    watts = float(np.median([power for _, power in idle]))
    return PowerRecord(f"Power by {name}", watts, calls, samples)


def find_sensor() -> tuple[str, Callable[[], float]] | None:
    """Return a sensor's name and a function that reads watts; None where nothing can be read."""
    for find in (_find_rapl, _find_nvml):
        try:
            return find()
        except Exception:  # no such file, no permission, no driver: the next one
            continue
    return None


def _find_rapl(path: str = _RAPL) -> tuple[str, Callable[[], float]]:
    counter = Path(path)
    last = [time.perf_counter(), int(counter.read_text())]

    def read() -> float:
        now, joules = time.perf_counter(), int(counter.read_text())
        spent = joules - last[1]
        if spent < 0:  # the counter begins anew
            spent += int(counter.with_name("max_energy_range_uj").read_text())
        watts = spent / 1e6 / max(now - last[0], 1e-9)
        last[:] = [now, joules]
        return watts

    return "RAPL, the processor's own counter", read


def _find_nvml() -> tuple[str, Callable[[], float]]:
    import pynvml

    pynvml.nvmlInit()
    card = pynvml.nvmlDeviceGetHandleByIndex(0)
    instant = getattr(pynvml, "NVML_FI_DEV_POWER_INSTANT", None)

    def read() -> float:
        if instant is not None:
            [value] = pynvml.nvmlDeviceGetFieldValues(card, [instant])
            if value.nvmlReturn == 0:
                return value.value.uiVal / 1000
        return pynvml.nvmlDeviceGetPowerUsage(card) / 1000

    read()
    return "NVML, the GPU's own sensor (this run uses the processor)", read


def _sample(
    read: Callable[[], float], work: Callable[[], Any], seconds: float
) -> tuple[list[tuple[float, float]], int]:
    """Return readings while `work` is repeated, and how often it was called."""
    machine.need("threads", "the energy that a call takes")
    samples: list[tuple[float, float]] = []
    done = threading.Event()
    start = time.perf_counter()

    def watch() -> None:
        while not done.wait(_EVERY):
            samples.append((time.perf_counter() - start, read()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    calls = 0
    try:
        while time.perf_counter() - start < seconds:
            work()
            calls += 1
    finally:
        done.set()
        watcher.join()
    return samples, calls
