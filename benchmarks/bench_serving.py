"""Tokens a second of a GPT-2 in the course's engine, with and without a KV cache, and in batches.

    python benchmarks/bench_serving.py            # about a minute; the figures of this machine
    python benchmarks/bench_serving.py --record   # on a quiet machine, for the site

A GPT-2 of 4 blocks, 512 wide, with 10,000 words writes 16 tokens after 128, on one thread: the
engine's `generate` without and with a cache, and lesson 12's `generate`. Then a step of 1, 2, 4
and 8 users behind 32, 256 and 984 tokens, with the engine's `cat` and with a preallocated cache.
All take turns in mirrored order (lesson 08's `run_order`); a ratio is the median of paired ones,
with the 95 % interval of `speedup_interval`. Lesson 12's cells `demo_cache` and `demo_batch` show
the same.
"""

from __future__ import annotations

import os
import sys
from statistics import median

from record import FLAG, recording
from solutions import ROOT, assembled

sys.path.insert(0, str(ROOT / "modules" / "12_serving"))

import timed  # noqa: E402

ROUNDS, QUIET = 20, 0.7  # load above which nothing is recorded
RECORDED = FLAG in sys.argv


def shown(found: dict[str, float]) -> str:
    """Return a ratio with its interval."""
    return "{speedup:6.2f} ({low:.2f} to {high:.2f})".format(**found)


def generations(lesson: dict) -> None:
    """Print a line for each way to write 16 tokens."""
    gpt2 = timed.small_gpt2(context=144)
    prompt = timed.prompt(gpt2, tokens=128)
    programs = {
        "without a cache": lambda: gpt2.generate(prompt, 16, use_cache=False),
        "the engine's cache": lambda: gpt2.generate(prompt, 16),
        "lesson 12's generate": lambda: lesson["generate"](gpt2, prompt),
    }
    order = lesson["run_order"](list(programs), ROUNDS)
    ms = timed.in_order(programs, order, lesson["Timer"]())
    print(f"{'16 tokens after 128':<24}{'tokens/s':>10}   times as fast")
    for name, times in ms.items():
        gain = lesson["speedup_interval"](ms["without a cache"], times)
        print(f"{name:<24}{16_000 / median(times):>10.1f}   {shown(gain)}", flush=True)


def batches(lesson: dict) -> None:
    """Print what 2, 4 and 8 users write, over what one writes."""
    gpt2, users = timed.small_gpt2(context=1024), (1, 2, 4, 8)
    print(f"\n{'a step':<24}{'ms, 1 user':>10}   tokens a second of 2, 4, 8 users over one's")
    for context in (32, 256, 984):
        steps = timed.steps(gpt2, context, users)
        ms = timed.in_order(steps, lesson["run_order"](list(steps), ROUNDS), lesson["Timer"]())
        for way, name in (("cat", "with cat"), ("preallocated", "preallocated")):
            each = {n: [took / n for took in ms[way, n]] for n in users}
            gains = [lesson["speedup_interval"](each[1], each[n]) for n in users[1:]]
            told = ", ".join(map(shown, gains))
            print(f"behind {context:>3}, {name:<12}{median(each[1]):>10.1f}   {told}", flush=True)


def main() -> None:
    """Measure both; a busy machine is not recorded."""
    if RECORDED and os.getloadavg()[0] > QUIET:
        sys.exit(f"the machine is busy (load {os.getloadavg()[0]:.1f}): nothing is recorded")
    lesson = assembled(through=12)
    generations(lesson)
    batches(lesson)


if __name__ == "__main__":
    with recording(__file__, "Serving: tokens a second, with and without a KV cache"):
        main()
