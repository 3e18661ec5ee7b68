"""The page that a profiler writes: one HTML file, which loads nothing from anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from proflab.standalone import svg
from proflab.standalone.measure import Report
from proflab.standalone.svg import digits, rate

STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #555; --line: #ddd; --page: #fff; }
body { margin: 0 auto; padding: 1rem; max-width: 46rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0.5rem 0; } p { margin: 0.4rem 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
.quiet { color: var(--soft); font-size: 0.875rem; white-space: pre-line; }
figure { margin: 0.5rem 0; break-inside: avoid; }
figure svg { display: block; width: 100%; max-width: 38rem; height: auto; }
figcaption { color: var(--soft); font-size: 0.875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem 0.25rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
.figures td { white-space: normal; } tr { break-inside: avoid; }
@media (max-width: 30rem) { .wide table { font-size: 0.75rem; }
  .wide th, .wide td:first-child { white-space: normal; }
  .wide th, .wide td { padding-right: 0.25rem; } }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #a3b1be; --line: #3a4753; --page: #10181f; }
  figure svg { filter: invert(1) hue-rotate(180deg); } }
@media print { body { max-width: none; font-size: 11pt; } h2 { break-after: avoid; } }
"""


def page(report: Report, when: str) -> str:
    """Return the whole page; `when` says when it was measured."""
    kinds = svg.colours(report.rows)  # one operation has one colour in both drawings
    sections = [
        f"<h1>{escape(report.title)}</h1>",
        f'<p class="quiet">{escape(f"{when}, on {report.threads}")}\n{escape(report.machine)}</p>',
        f'<div class="figures">{_table(("", ""), figures(report))}</div>',
        "<h2>Roofline</h2>",
        _figure(
            svg.draw_roofline(report.points, report.roof, report.ridge, kinds),
            "Each mark is an operation, or several that are alike; its area is their share of the "
            f"time. The roof was measured on {report.threads}, float32, the best of "
            f"{len(report.roof_rounds)} rounds: {_rounds(report)}. A mark above the slope got its "
            "data from a cache. Elementwise operations run on one thread, whatever the roof.",
        ),
        "<h2>Timeline</h2>",
        _figure(
            svg.draw_timeline(report.rows, kinds),
            "One pass: parts of the model above, operations below, each as long as it took.",
        ),
        "<h2>Memory</h2>",
        _figure(svg.draw_bars(report.memory, "MB", "Memory of a forward pass"), _MEMORY_SAID),
        _figure(
            svg.draw_bars(_training(report), "MB", "Memory of training with Adam"),
            "Training with Adam: what a step needs at least, counted.",
        ),
        "<h2>Top operations</h2>",
        _wide("Top operations", HEAD, operations(report, 15)),
        '<p class="quiet">Times are medians of the recorded passes, without what ran inside. FLOPs '
        "are those of products and of elementwise work. The wall is where the two roofs explain at "
        "least a quarter of the time; “overhead” is where they do not.</p>",
        *_other_sizes(report),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def figures(report: Report) -> list[tuple[str, str]]:
    """Return what there is to know in single numbers: (name, value)."""
    passes = f"{digits(min(report.passes_ms))} to {digits(max(report.passes_ms))} ms"
    best = report.targets[0] if report.targets else None
    target = [("best target", "{name}: {best:.2f}× at its roof".format(**best))] if best else []
    return [
        ("parameters", f"{report.parameters:,}"),
        ("FLOPs of its products", f"{report.flops:,}"),
        ("time, median", f"{report.latency_ms:,.2f} ms"),
        ("in operations, recorded", passes),
        ("CPU time, recorded", f"{report.cpu_ms:,.2f} ms"),
        ("speed", rate(report.mfu * report.roof.peak_flops, "FLOP/s")),
        ("share of the peak", f"{report.mfu:.1%}"),
        ("peak, measured", rate(report.roof.peak_flops, "FLOP/s")),
        ("bandwidth, measured", rate(report.roof.bandwidth, "B/s")),
        ("ridge", f"{report.ridge:.3g} FLOPs a byte"),
        *target,
        ("memory of a forward pass", f"{sum(report.memory.values()):,.1f} MB"),
        ("memory of training, Adam", f"{report.training['total_mb']:,.1f} MB"),
    ]


_MEMORY_SAID = (
    "A forward pass: its parameters, and what was allocated on top at the peak, measured. "
    "MB of 1024² bytes."
)
HEAD = ("operation", "calls", "ms", "share", "FLOP/s", "FLOPs/byte", "wall")


def operations(report: Report, most: int) -> list[tuple[str, ...]]:
    """Return the operations of most time as rows of text, and a last row for the others."""
    rows: list[tuple[str, ...]] = []
    for entry in report.top[:most]:
        speed = rate(entry["speed"], "") if entry["speed"] else "–"
        intensity = f"{entry['intensity']:.2f}" if entry["intensity"] else "–"
        rows.append(
            (entry["name"], str(entry["calls"]), f"{entry['ms']:,.2f}", f"{entry['share']:.1%}",
             speed.strip(), intensity, entry["wall"])
        )  # fmt: skip
    rest = report.top[most:]
    if rest:
        ms, share = sum(e["ms"] for e in rest), sum(e["share"] for e in rest)
        calls = sum(e["calls"] for e in rest)
        rows.append((f"{len(rest)} others", str(calls), f"{ms:,.2f}", f"{share:.1%}", "", "", ""))
    return rows


def predictions(report: Report) -> list[tuple[str, ...]]:
    """Return predicted sizes as rows of text, below a head."""
    rows: list[tuple[str, ...]] = [
        (report.predictions[0]["unit"], "FLOPs", "at least, ms", "predicted, ms", "measured, ms")
    ]
    for row in report.predictions:
        times = (row[key] for key in ("bound_ms", "predicted_ms", "measured_ms"))
        shown = ("" if ms is None else f"{ms:,.2f}" for ms in times)
        rows.append((f"{row['size']:,}", f"{row['flops']:,}", *shown))
    return rows


def _other_sizes(report: Report) -> list[str]:
    """Return the section on predicted sizes, if any were asked for."""
    if not report.predictions:
        return []
    head, *rows = predictions(report)
    return [
        "<h2>At other sizes</h2>",
        _wide("At other sizes", head, rows),
        '<p class="quiet">“At least” is what the two roofs and an overhead for each operation '
        "demand. “Predicted” is that times the factor by which each kind of operation stayed above "
        "it in the pass that was recorded here.</p>",
    ]


def _rounds(report: Report) -> str:
    """Return what the rounds found for the two roofs, from the lowest to the highest."""
    peaks, widths = zip(*report.roof_rounds, strict=True)
    return (
        f"{rate(min(peaks), 'FLOP/s')} to {rate(max(peaks), 'FLOP/s')}, "
        f"{rate(min(widths), 'B/s')} to {rate(max(widths), 'B/s')}"
    )


def _training(report: Report) -> dict[str, float]:
    """Return the parts of training's memory under names for people."""
    names = {
        "parameters": "parameter_mb",
        "gradients": "gradient_mb",
        "optimizer (Adam)": "optimizer_mb",
        "activations kept for backward": "activation_mb",
    }
    return {name: report.training[key] for name, key in names.items()}


def _figure(drawing: str, caption: str) -> str:
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def _wide(name: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table that, where it is wider than the screen, is moved, by keys, too."""
    region = f'<div class="wide" tabindex="0" role="region" aria-label="{name}">'
    return f"{region}{_table(head, rows)}</div>"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table; on a narrow screen a name may go on below, after a stroke in it."""
    cells = "".join(f'<th scope="col">{_breakable(name)}</th>' for name in head)
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    body = "".join(
        "<tr>" + "".join(f"<td>{_breakable(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _breakable(text: str) -> str:
    return re.sub(r"[/_](?=\w\w)", r"\g<0><wbr>", escape(text))  # "FLOP/s" stays whole
