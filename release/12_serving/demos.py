"""Loads of requests, draws of drafted tokens, and what lesson 12's demo cells draw."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proflab.lesson.demo import demo_size
from proflab.lesson.hardware import Hardware
from proflab.lesson.plot import COLOURS, FAINT, INK, QUIET, Picture, canvas

CONTEXTS = demo_size((32, 256, 984), (32,))  # tokens behind which a step is measured
GOOD_FIRST_MS, GOOD_TOKEN_MS = 500, 10
POLICIES = {  # of a server: continuous, chunk
    "static": (False, None),
    "continuous": (True, None),
    "chunks of 512": (True, 512),
}
DEADLINES = (5, 5.5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50)


# ── requests ───────────────────────────────────────────────────────────────


def load(seed: int, per_second: float, count: int = 160) -> list[tuple[float, int, int]]:
    """Return made-up requests: prompts of 200 to 4,000 tokens, answers of 20 to 600.

    Each of four lengths is as likely, and the gaps between arrivals are exponential.
    """
    rng, now, found = random.Random(seed), 0.0, []
    for _ in range(count):
        now += rng.expovariate(per_second / 1000)
        prompt, answer = rng.choice((200, 500, 1000, 4000)), rng.choice((20, 60, 200, 600))
        found.append((now, prompt, answer))
    return found


def waits(simulate: Callable, rate: float, step_ms: Callable, policy: tuple) -> list[dict]:
    """Return what the requests of some loads wait for on 32 slots."""
    loads = (load(seed, rate) for seed in demo_size((1, 2, 3), (1,)))
    return [each for requests in loads for each in simulate(requests, 32, step_ms, *policy)]


def noting(step_ms: Callable, steps: list) -> Callable:
    """Return a step_ms that also appends what each step holds to a list."""

    def noted(step: Sequence[tuple[int, int]]) -> float:
        steps.append(list(step))
        return step_ms(step)

    return noted


def p95(waits: Sequence[Mapping[str, float]], key: str) -> float:
    """Return the 95th percentile, by rank, of what `simulate_serving` says of each request."""
    values = sorted(each[key] for each in waits)
    return values[math.ceil(0.95 * len(values)) - 1]


def goodput(waits: Sequence[Mapping[str, float]]) -> float:
    """Return the percentage of requests whose first and further tokens came in time."""
    good = [
        each["first_ms"] <= GOOD_FIRST_MS and each["per_token_ms"] <= GOOD_TOKEN_MS
        for each in waits
    ]
    return 100 * sum(good) / len(good)


def drafting(xl: dict, t4: Hardware, llama: dict, h100: Hardware) -> list[tuple]:
    """Return what section 5 compares: name, model, card, tokens of each text."""
    return [("XL, 64 tokens", xl, t4, 64), ("8B, 2,048 tokens", llama, h100, 2048)]


def checking(pass_ms: Callable, model: dict, card: Hardware, context: int, users: int) -> Callable:
    """Return a function of n: the ms of a pass over n new tokens of each user."""
    return lambda n: pass_ms(model, [(context - 1, n)] * users, card)


def drawn(
    target: Sequence[float], draft: Sequence[float], residual: Sequence[float], count: int
) -> tuple[list[float], float]:
    """Return each token's share of so many that were drafted and checked, and of those accepted.

    A token that the draft drew is accepted with probability min(1, p / q); else one is drawn from
    the residual, the student's.
    """
    rng, tokens = random.Random(12), range(len(target))
    words = rng.choices(tokens, draft, k=count)
    kept = [rng.random() < target[word] / draft[word] for word in words]
    again = rng.choices(tokens, residual, k=count)
    last = [word if keep else other for word, keep, other in zip(words, kept, again, strict=True)]
    return [last.count(word) / count for word in tokens], sum(kept) / count


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def rows_of(
    steps: Sequence[Sequence[tuple[int, int]]], requests: Sequence[tuple[float, int, int]]
) -> Iterator[list[int]]:
    """Yield for each step the number of each pair's request, in order of admission.

    A pair goes on where one before it ended; one with nothing cached is the next that came in.
    """
    ahead: dict[int, int] = {}  # request → tokens that are cached next, of those not done
    known = 0
    for step in steps:
        seen: list[int] = []
        for cached, new in step:
            if cached == 0:
                seen.append(known)
                known += 1
            else:
                seen.append(next(n for n, at in ahead.items() if at == cached and n not in seen))
            ahead[seen[-1]] = cached + new
        for request in seen:
            if ahead[request] == sum(requests[request][1:]) - 1:
                del ahead[request]
        yield seen


def gantt(
    runs: Mapping[str, Sequence[Sequence[tuple[int, int]]]],
    requests: Sequence[tuple[float, int, int]],
    step_ms: Callable,
) -> Picture:
    """Draw the steps of some runs on an axis of ms, a row for each request.

    requests: (arrival_ms, prompt, new), in order of arrival.
    """
    said = "; ".join(f"{name}: {len(steps)} steps" for name, steps in runs.items())
    apart = len(requests) + 0.9
    alt = f"{len(requests)} requests on a server, a row for each. {said}"
    with canvas(8.2, 1.0 + 0.36 * apart * len(runs), alt) as (picture, axes):
        ticks: dict[float, str] = {}
        for number, (name, steps) in enumerate(runs.items()):
            top = number * apart
            axes.text(0, top - 0.62, name, size=10, weight="bold", va="center")
            for row, (arrival, _, _) in enumerate(requests):
                ticks[top + row] = "abcdefgh"[row]
                axes.plot([arrival] * 2, [top + row - 0.4, top + row + 0.4], color=INK, lw=2)
            _run(axes, top, steps, requests, step_ms)
        for label, paint in {"reads its prompt": COLOURS[1], "writes a token": COLOURS[0]}.items():
            axes.barh([0], [0], color=paint, label=label)
        axes.plot([], [], color=INK, lw=2, label="arrives")
        axes.set_yticks(list(ticks), list(ticks.values()))
        axes.set(xlabel="ms", ylim=(len(runs) * apart - 1.2, -1.2))
        axes.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.0))
    return picture


def _run(
    axes: Any,
    top: float,
    steps: Sequence[Sequence[tuple[int, int]]],
    requests: Sequence[tuple[float, int, int]],
    step_ms: Callable,
) -> None:
    now = 0.0
    for step, rows in zip(steps, rows_of(steps, requests), strict=True):
        ms = step_ms(step)
        for (cached, new), row in zip(step, rows, strict=True):
            reads = cached < requests[row][1]
            paint = COLOURS[1] if reads else COLOURS[0]
            axes.barh(top + row, ms, left=now, height=0.8, color=paint, edgecolor="white")
            label = f"reads {new}" if reads and ms > 4 else str(new) if reads else ""
            axes.text(now + ms / 2, top + row, label, ha="center", va="center", size=8)
        now += ms


def pages(sequences: Sequence[Sequence], page: int) -> Picture:
    """Draw texts cut into pages: one that is shared has one colour wherever it stands."""
    from matplotlib.ticker import MultipleLocator

    known: dict[tuple, int] = {}
    for text in sequences:
        for end in range(page, len(text) + 1, page):
            known[tuple(text[:end])] = known.get(tuple(text[:end]), 0) + 1
    shared = [key for key, texts in known.items() if texts > 1]
    alt = f"{len(sequences)} texts in pages of {page}; {len(shared)} pages are shared"
    with canvas(7.5, 0.8 + 0.42 * len(sequences), alt) as (picture, axes):
        for row, text in enumerate(sequences):
            for start in range(0, len(text), page):
                key = tuple(text[: start + page])
                paint = COLOURS[shared.index(key) % len(COLOURS)] if key in shared else FAINT
                filled = min(page, len(text) - start)
                axes.barh(row, filled, left=start, height=0.8, color=paint, alpha=0.6)
                axes.barh(row, page, left=start, height=0.8, fill=False, edgecolor=INK, lw=0.8)
            for place, token in enumerate(text):
                axes.text(place + 0.5, row, str(token), ha="center", va="center", size=9)
        axes.xaxis.set_major_locator(MultipleLocator(page))
        axes.set(yticks=[], xlabel="place in the text", ylim=(len(sequences) - 0.4, -0.6))
        axes.set_title(f"Pages of {page}: those of one colour are kept once, grey ones are alone")
    return picture


def frontier(lines: Mapping[str, Sequence[Mapping[str, float]]], title: str = "") -> Picture:
    """Draw dollars a million tokens against tokens a second for one user, a line for each text.

    lines: what `cheapest_batch` returned at several deadlines; the last of each, a ring, is full.
    """
    said = "; ".join(
        f"{name}: from ${points[0]['dollars_per_million']:.2f} with {points[0]['users']} users to "
        f"${points[-1]['dollars_per_million']:.2f} with {points[-1]['users']:,}"
        for name, points in lines.items()
    )
    alt = f"{title or 'The price of a token'}: dollars against tokens a second a user. {said}"
    with canvas(7.5, 3.9, alt) as (picture, axes):
        for (name, points), paint in zip(lines.items(), COLOURS, strict=False):
            speeds = [1000 / each["step_ms"] for each in points]
            prices = [each["dollars_per_million"] for each in points]
            axes.plot(speeds, prices, color=paint, marker="o", ms=3.5)
            axes.plot(speeds[-1], prices[-1], "o", ms=9, mfc="none", color=paint)
            beside = {"textcoords": "offset points", "color": paint}
            axes.annotate(name, (speeds[0], prices[0]), (6, 0), **beside)
            full = f"{points[-1]['users']} users"
            axes.annotate(full, (speeds[-1], prices[-1]), (-4, 9), ha="right", size=9, **beside)
        axes.set(xscale="log", yscale="log", xlabel="tokens a second for one user")
        axes.set_ylabel("a million tokens")
        axes.set_xticks([40, 60, 80, 100, 150, 200], ["40", "60", "80", "100", "150", "200"])
        axes.set_xticks([], minor=True)
        axes.set_yticks([0.03, 0.1, 0.3, 1, 3], ["$0.03", "$0.10", "$0.30", "$1", "$3"])
        axes.set_yticks([], minor=True)
        axes.set_xlim(27, 400)
        axes.set_title(title)
        axes.grid(color=QUIET, alpha=0.3)
    return picture
