"""Lesson 02's counter: the reference table beside other tools, and how long counting takes.

    python benchmarks/bench_flops.py table   # ours beside what each tool printed, deviations
    python benchmarks/bench_flops.py time    # seconds, and megabytes, to count; torch beside it
    python benchmarks/bench_flops.py         # both

The rules are the lesson's solutions, taken by `proflab assemble`. The tools' counts were recorded
(tests/data/reference_flops.json, versions inside). Each time is the median of rounds in which ours
and torch's counter take turns; without torch its column is empty.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from record import recording
from solutions import ROOT, assemble, names_of

import proflab
from proflab import models

MODELS = {
    "lenet5": models.LeNet5,
    "resnet18": models.resnet18,
    "vit_tiny16": models.vit_tiny16,
    "bert_base_layer": models.bert_layer,
    "gpt2_small_s128": models.gpt2,
    "gpt2_small_untied_s128": lambda: models.gpt2(tied=False),
}
GPT3 = (50257, 2048, 12288, 96, 96)
# What a tool calls its count, and what makes FLOPs of it.
FACTORS = {"macs_as_flops": 2, "macs": 2, "mult_adds": 2, "flops": 1}


def on_meta(make: Callable):
    with proflab.meta():
        return make()


# ── the table ────────────────────────────────────────────────────────────────────────────────


def print_table(profiler: dict) -> None:
    """Print each row of the reference: ours, its distance from torch's, other tools in percent."""
    data = json.loads((ROOT / "tests" / "data" / "reference_flops.json").read_text())
    tools = list(data["rows"][0]["peers"])
    shown = {tool: data["versions"][tool] for tool in ["torch", *tools] if tool in data["versions"]}
    print("Ours, and its difference from torch's FlopCounterMode; other tools' deviation, in FLOPs")
    print("(2 a multiply-add), of the forward pass.", *(f"{t} {v}" for t, v in shown.items()))
    print(
        f"{'':<26}{'forward':>17}{'diff':>6}{'and backward':>17}{'diff':>6}"
        + "".join(f"{tool:>14}" for tool in tools)
    )
    for row in data["rows"]:
        model, shape = on_meta(MODELS[row["model"]]), tuple(row["input_shape"])
        inside = row["model"] == "bert_base_layer"
        forward = profiler["count_flops"](model, shape, per_sample=False)
        both = profiler["training_flops"](model, shape, inside, per_sample=False)
        off = "".join(_deviation(counts, row["forward"]) for counts in row["peers"].values())
        print(
            f"{row['model']}, {shape[0]}".ljust(26)
            + f"{forward:>17,}{forward - row['forward']:>+6}"
            + f"{both:>17,}{both - row['forward_backward']:>+6}{off}"
        )


def _deviation(counts: dict, exact: int) -> str:
    kind = "flops" if "flops" in counts else next(iter(counts))
    return f"{counts[kind] * FACTORS[kind] / exact - 1:>+14.2%}"


# ── how long ─────────────────────────────────────────────────────────────────────────────────


def seconds(run: Callable) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def torch_counter(name: str, shape: tuple) -> Callable | None:
    """Count the same model by torch on its meta device; None where torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    from torch.utils.flop_counter import FlopCounterMode

    sys.path.insert(0, str(Path(__file__).parent))
    import torch_models

    with torch.device("meta"):
        model = getattr(torch_models, name)()
        x = torch.empty(shape, dtype=torch.long if name == "gpt2" else torch.float32)

    def count() -> int:
        with FlopCounterMode(display=False) as counter:
            model(x)
        return counter.get_total_flops()

    return count


def print_times(profiler: dict, path: Path) -> None:
    """Print what counting a model that exists on meta takes, with torch's counter beside it."""
    count = profiler["count_flops"]
    cases = {
        "resnet18": (models.resnet18, (1, 3, 224, 224), "< 5 ms, < 0.20× torch"),
        "gpt2": (models.gpt2, (1, 128), "< 15 ms, < 0.20× torch"),
    }
    print(f"{'count, model on meta':<34}{'ours':>10}{'torch':>12}{'ratio':>8}   promised")
    for name, (make, shape, promise) in cases.items():
        model, theirs = on_meta(make), torch_counter(name, shape)
        if theirs is not None and theirs() != count(model, shape):
            raise SystemExit(f"{name}: torch counts {theirs()}, we {count(model, shape)}")
        rounds = [
            (seconds(lambda m=model, s=shape: count(m, s)), seconds(theirs) if theirs else None)
            for _ in range(16)
        ][1:]
        ours = median(a for a, _ in rounds)
        other = median(b for _, b in rounds) if theirs else None
        beside = f"{other * 1e3:>9.2f} ms{ours / other:>7.2f}×" if theirs else " " * 20
        print(f"{f'{name} {shape}':<34}{ours * 1e3:>7.2f} ms{beside}   {promise}", flush=True)
    if theirs is None:
        print("torch is not installed: its column is empty")
    model = on_meta(models.gpt2)
    both = median(seconds(lambda: profiler["training_flops"](model, (1, 128))) for _ in range(15))
    print(f"{'gpt2 (1, 128), and backward':<34}{both * 1e3:>7.2f} ms")
    _print_gpt3(path)


def _print_gpt3(path: Path) -> None:
    """GPT-3 in a process of its own: seconds to count, and what the whole process took."""
    code = f"""
import json, runpy, time
names = runpy.run_path({str(path)!r})
import psutil, proflab
with proflab.meta():
    model = proflab.models.GPT2(*{GPT3})
times = []
for _ in range(6):
    start = time.perf_counter()
    flops = names["count_flops"](model, (1, 2048))
    times.append(time.perf_counter() - start)
peak = getattr(psutil.Process().memory_info(), "peak_wset", 0)
try:
    peak = next(int(s.split()[1]) * 1024 for s in open("/proc/self/status") if "VmHWM" in s)
except OSError:
    peak = peak or psutil.Process().memory_info().rss
print(json.dumps([flops, sorted(times[1:])[2], peak]))
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    flops, took, peak = json.loads(answer.stdout)
    print(f"{'GPT-3, 96 layers, 12,288 wide':<34}{took * 1e3:>7.2f} ms{'':>20}   < 100 ms")
    print(f"{'  the process at its largest':<34}{peak / 1024**2:>7.1f} MB{'':>20}   < 100 MB")
    print(f"  forward, 2,048 tokens: {flops:,} FLOPs")


def main(wanted: list[str]) -> None:
    """Print the parts that are named, or both."""
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiler.py"  # a process of its own reads it, too: _print_gpt3
        assemble(path, "--through", "2")
        profiler = names_of(path)
        if not wanted or "table" in wanted:
            print_table(profiler)
            print()
        if not wanted or "time" in wanted:
            print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
            print_times(profiler, path)


if __name__ == "__main__":
    with recording(__file__, "Counting: FLOPs"):
        main(sys.argv[1:])
