"""Lesson 11: what students get wrong about reports of steps and utilization."""

from cohort.edits import edited

REPORT = """
if len(rows) < 2 or any(row["batch"] <= 0 or row["ms"] <= 0 for row in rows):
    raise ValueError("rows")
rates = [1000 * row["batch"] / row["ms"] for row in rows]
if rates[-1] == rates[0]:
    raise ValueError("no way")
report = []
for n, row in enumerate(rows):
    step = rates[n] / rates[n - 1] if n else 1.0
    total = rates[n] / rates[0]
    share = math.log(step) / math.log(rates[-1] / rates[0])
    report.append({"name": row["name"], "images_per_s": rates[n],
                   "step": step, "total": total, "share": share})
return report
"""

INTERACTION = """
if base <= 0 or a <= 0 or b <= 0 or both <= 0:
    raise ValueError("times")
return (base / both) / ((base / a) * (base / b))
"""

MFU = """
if step_ms <= 0 or peak_flops <= 0:
    raise ValueError("time or peak")
needed = training_flops(model, shape, per_sample=False)
again = count_flops(model, shape, per_sample=False) if recompute else 0
most = peak_flops * step_ms / 1000
return {"mfu": needed / most, "hfu": (needed + again) / most}
"""

_SHARE_OF = "math.log(step) / math.log(rates[-1] / rates[0])"
_RATIO = "(base / both) / ((base / a) * (base / b))"
_NEEDED = "needed = training_flops(model, shape, per_sample=False)"
_AGAIN = "count_flops(model, shape, per_sample=False) if recompute"
_STEP = "rates[n] / rates[n - 1] if n else 1.0"

MUTANTS = {
    "step_report": edited(
        REPORT,
        {
            "by the ms": ('1000 * row["batch"] / row["ms"]', '1000 / row["ms"]'),
            "arithmetic shares": (
                _SHARE_OF,
                '(rows[n - 1]["ms"] - row["ms"]) / (rows[0]["ms"] - rows[-1]["ms"]) if n else 0.0',
            ),
            "shares of the images a second": (
                _SHARE_OF,
                "(rates[n] - rates[n - 1]) / (rates[-1] - rates[0]) if n else 0.0",
            ),
            "shares of the sum of speed-ups": (
                _SHARE_OF,
                "(step - 1) / (rates[-1] / rates[0] - 1)",
            ),
            "shares of the total so far": (
                _SHARE_OF,
                "math.log(total) / math.log(rates[-1] / rates[0])",
            ),
            "shares are not divided": (
                _SHARE_OF,
                "math.log(step)",
            ),
            "shares in percent": ("share = math.log(step)", "share = 100 * math.log(step)"),
            "log2 over ln": ("share = math.log(step)", "share = math.log2(step)"),
            "shares of the sum of sizes": (
                _SHARE_OF,
                "math.log(step) / sum(abs(math.log(b / a)) for a, b in zip(rates, rates[1:]))",
            ),
            "a slower one has no share": (
                "share = math.log(step) / math.log(rates[-1] / rates[0])",
                "share = max(math.log(step) / math.log(rates[-1] / rates[0]), 0.0)",
            ),
            "the first step is against the last": (
                _STEP,
                "rates[n] / rates[n - 1]",
            ),
            "steps over the first": (
                _STEP,
                "rates[n] / rates[0]",
            ),
            "steps upside down": (
                _STEP,
                "rates[n - 1] / rates[n] if n else 1.0",
            ),
            "the gain, not the ratio": (
                "step = rates[n] / rates[n - 1] if n else 1.0",
                "step = rates[n] / rates[n - 1] if n else 1.0",
                '"step": step',
                '"step": step - 1',
            ),
            "the total is of steps added": (
                "total = rates[n] / rates[0]",
                "total = 1 + sum(b / a - 1 for a, b in zip(rates[:n], rates[1:n + 1]))",
            ),
            "the total of the row before": (
                "total = rates[n] / rates[0]",
                "total = rates[max(n - 1, 0)] / rates[0]",
            ),
            "images a ms": ('1000 * row["batch"] / row["ms"]', 'row["batch"] / row["ms"]'),
            "rounded": ('"images_per_s": rates[n]', '"images_per_s": round(rates[n])'),
            "the first row is left out": ("return report", "return report[1:]"),
            "sorted by speed": (
                "for n, row in enumerate(rows):",
                "rows = sorted(rows, key=lambda r: -r['ms'])\n"
                "rates = sorted(rates)\nfor n, row in enumerate(rows):",
            ),
            "one row is enough": (
                "if len(rows) < 2 or",
                "if len(rows) == 1 or",
                "len(rows) == 1 or",
                "not rows or",
                "if rates[-1] == rates[0]:",
                "if len(rows) > 1 and rates[-1] == rates[0]:",
                "share = math.log(step) /",
                "share = 0.0 if not n else math.log(step) /",
            ),
            "times are not checked": ('row["batch"] <= 0 or row["ms"] <= 0', 'row["batch"] <= 0'),
            "batches are not checked": ('row["batch"] <= 0 or row["ms"] <= 0', 'row["ms"] <= 0'),
            "no way has the shares 0": (
                '    raise ValueError("no way")',
                '    return [{"name": r["name"], "images_per_s": v, "step": 1.0, '
                '"total": 1.0, "share": 0.0}'
                " for r, v in zip(rows, rates)]",
            ),
            "a slower series is refused": (
                "if rates[-1] == rates[0]:",
                "if rates[-1] <= rates[0]:",
            ),
        },
    ),
    "interaction": edited(
        INTERACTION,
        {
            "upside down": (
                "return (base / both) / ((base / a) * (base / b))",
                "return (base / a) * (base / b) / (base / both)",
            ),
            "milliseconds are added": (
                _RATIO,
                "(base - both) / ((base - a) + (base - b))",
            ),
            "speed-ups are added": ("((base / a) * (base / b))", "((base / a) + (base / b))"),
            "gains are added": ("((base / a) * (base / b))", "(base / a + base / b - 1)"),
            "the difference": (
                _RATIO,
                "base / both - (base / a) * (base / b)",
            ),
            "the speed-up of both": (_RATIO, "base / both"),
            "the product": (_RATIO, "(base / a) * (base / b)"),
            "a is left out": ("((base / a) * (base / b))", "(base / b)"),
            "b is left out": ("((base / a) * (base / b))", "(base / a)"),
            "base is left out": (_RATIO, "both / (a * b)"),
            "logarithms": (
                _RATIO,
                "math.log(base / both) / (math.log(base / a) + math.log(base / b))",
            ),
            "the root": (
                _RATIO,
                "((base / both) / ((base / a) * (base / b))) ** 0.5",
            ),
            "against the better one": ("((base / a) * (base / b))", "max(base / a, base / b)"),
            "less 1": (
                _RATIO,
                "(base / both) / ((base / a) * (base / b)) - 1",
            ),
            "b over a": ("((base / a) * (base / b))", "((base / a) * (a / b))"),
            "the times of both are expected to add": (
                _RATIO,
                "(a + b - base) / both",
            ),
            "never less than 1": (
                _RATIO,
                "max((base / both) / ((base / a) * (base / b)), 1.0)",
            ),
            "in percent": ("(base / both)", "100 * (base / both)"),
            "only base is checked": (
                "if base <= 0 or a <= 0 or b <= 0 or both <= 0:",
                "if base <= 0:\n    raise ValueError('base')\nif not a:",
            ),
            "both is not checked": (" or both <= 0", ""),
            "a and b are not checked": (" or a <= 0 or b <= 0", ""),
            "0 is allowed": (
                "if base <= 0 or a <= 0 or b <= 0 or both <= 0:",
                "if min(base, a, b, both) < 0:",
            ),
        },
    ),
    "training_mfu": edited(
        MFU,
        {
            "3 × forward": (
                _NEEDED,
                "needed = 3 * count_flops(model, shape, per_sample=False)",
            ),
            "one image": (", per_sample=False", ""),
            "the batch is counted twice": (
                _NEEDED,
                "needed = training_flops(model, shape, per_sample=False) * shape[0]",
            ),
            "hfu is mfu": ("(needed + again) / most", "needed / most"),
            "mfu is hfu": ('"mfu": needed / most', '"mfu": (needed + again) / most'),
            "the forward pass alone": ("needed = training_flops(", "needed = count_flops("),
            "recomputing is a third of the whole": (
                _AGAIN,
                "needed / 3 if recompute",
            ),
            "recomputing costs a training step": (
                _AGAIN,
                "needed if recompute",
            ),
            "recomputing costs it for one image": (
                "again = count_flops(model, shape, per_sample=False)",
                "again = count_flops(model, shape)",
            ),
            "recomputing always": (" if recompute else 0", ""),
            "recomputing is ignored": (" if recompute else 0", " * 0"),
            "recomputing takes off": ("(needed + again)", "(needed - again)"),
            "the time is in seconds": ("step_ms / 1000", "step_ms"),
            "the time is in µs": ("step_ms / 1000", "step_ms / 1e6"),
            "in percent": ('"mfu": needed', '"mfu": 100 * needed'),
            "upside down": ('"mfu": needed / most', '"mfu": most / needed'),
            "the peak counts multiply-adds": ("most = peak_flops", "most = 2 * peak_flops"),
            "multiply-adds": ('"mfu": needed / most', '"mfu": needed / 2 / most'),
            "a FLOP/s, not a share": ('"mfu": needed / most', '"mfu": 1e3 * needed / step_ms'),
            "never above 1, rounded": ('"mfu": needed / most', '"mfu": round(needed / most, 2)'),
            "the time is not checked": (
                "if step_ms <= 0 or peak_flops <= 0:",
                "if peak_flops <= 0:",
            ),
            "the peak is not checked": ("if step_ms <= 0 or peak_flops <= 0:", "if step_ms <= 0:"),
            "only the product is checked": (
                "if step_ms <= 0 or peak_flops <= 0:",
                "if step_ms * peak_flops <= 0:",
            ),
            "only mfu": (
                'return {"mfu": needed / most, "hfu": (needed + again) / most}',
                'return {"mfu": needed / most}',
            ),
        },
    ),
}
