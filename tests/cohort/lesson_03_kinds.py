"""Lesson 03: rounded results, borders on the wrong side, arguments that nobody tried."""

NAMES = (
    "timer_resolution_ms",
    "calibrate",
    "measure_latency",
    "latency_statistics",
    "confidence_interval",
    "measurement_warnings",
    "throughput",
    "best_batch",
)
HELPERS = "KEPT = {}\n" + "".join(f"solved_{name} = {name}\n" for name in NAMES)
HELPERS += """
def rounded(value, digits):
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(rounded(each, digits) for each in value)
    return round(value, digits) if isinstance(value, float) else value
"""


def _result(name: str, changed: str) -> str:
    """The right solution, with `found` changed before it is returned."""
    solution = f"found = solved_{name}(*args, **kwargs)"
    return f"def {name}(*args, **kwargs):\n    {solution}\n    return {changed}"


def _rounded(name: str) -> dict[str, str]:
    return {
        f"{text} decimals": _result(name, f"rounded(found, {digits})")
        for text, digits in (("no", 0), ("two", 2), ("three", 3))
    }


def _stopwatch(elapsed: str) -> str:
    return f"""
            class Timer(RightTimer):
                def stop(self):
                    RightTimer.stop(self)
                    took = self.elapsed_ms
                    self.elapsed_ms = {elapsed}
        """


def _part_rounded(keys: str) -> str:
    return _result(
        "latency_statistics",
        f"found | {{key: round(found[key], 2) for key in {keys.split()}}}",
    )


MUTANTS = {
    "Timer": {
        "three decimals": _stopwatch("round(took, 3)"),
        "whole µs": _stopwatch("int(1000 * took) / 1000"),
        "never below a µs": _stopwatch("max(took, 0.001)"),
    },
    "timer_resolution_ms": _rounded("timer_resolution_ms")
    | {
        "whole µs": _result("timer_resolution_ms", "round(1000 * found) / 1000"),
        "four decimals": _result("timer_resolution_ms", "rounded(found, 4)"),
        "at most sixteen steps": "return solved_timer_resolution_ms(min(samples, 16))",
        "kept from the first use": """
            if samples < 1:
                raise ValueError("samples")
            if "step" not in KEPT:
                KEPT["step"] = solved_timer_resolution_ms(samples)
            return KEPT["step"]
        """,
        "ten steps at least": "return min(steps(samples) + steps(10 if samples > 0 else 0))",
        "samples are ignored": """
            if samples < 1:
                raise ValueError("samples")
            return min(steps(2))
        """,
    },
    "calibrate": {
        "min_time_ms is a whole number": """
            return solved_calibrate(fn, math.ceil(min_time_ms))
        """,
        "min_time_ms below 1 is refused": """
            if min_time_ms < 1:
                raise ValueError
            return solved_calibrate(fn, min_time_ms)
        """,
        "functions are known by their id": """
            key = id(fn), min_time_ms
            if key not in KEPT:
                KEPT[key] = solved_calibrate(fn, min_time_ms)
            return KEPT[key]
        """,
        "below 0 is turned round": "return solved_calibrate(fn, abs(min_time_ms))",
    },
    "measure_latency": {
        "at most sixteen calls": """
            return solved_measure_latency(model, x, warmup, min(iterations, 16))
        """,
        "at most sixteen that warm up": """
            return solved_measure_latency(model, x, min(warmup, 16), iterations)
        """,
        "two decimals": _result("measure_latency", "rounded(found, 2)"),
        "three decimals": _result("measure_latency", "rounded(found, 3)"),
        "whole µs": _result("measure_latency", "int(1000 * found) / 1000"),
        "the model is left in eval": """
            if hasattr(model, "eval"):
                model.eval()
            return solved_measure_latency(model, x, warmup, iterations)
        """,
        "the model is left in training": """
            if hasattr(model, "train"):
                model.train()
            return solved_measure_latency(model, x, warmup, iterations)
        """,
        "models are known by their id": """
            key = id(model), id(x), warmup, iterations
            if key not in KEPT:
                KEPT[key] = solved_measure_latency(model, x, warmup, iterations)
            return KEPT[key]
        """,
        "a single call is not enough": """
            if iterations == 1:
                raise ValueError
            return solved_measure_latency(model, x, warmup, iterations)
        """,
        "a negative number of calls is let through": """
            if iterations < 0:
                return 0.0
            return solved_measure_latency(model, x, warmup, iterations)
        """,
    },
    "latency_statistics": _rounded("latency_statistics")
    | {
        f"rounded to two decimals: {keys}": _part_rounded(keys)
        for keys in ("p95 p99", "mean", "min max", "median p50", "std")
    }
    | {
        "at most a hundred times": "return solved_latency_statistics(times_ms[:100])",
        "lists are known by their id": """
            if id(times_ms) not in KEPT:
                KEPT[id(times_ms)] = solved_latency_statistics(times_ms)
            return KEPT[id(times_ms)]
        """,
        "the list is emptied": """
            said = solved_latency_statistics(times_ms)
            times_ms.clear()
            return said
        """,
    },
    "confidence_interval": _rounded("confidence_interval")
    | {
        "six decimals": _result("confidence_interval", "rounded(found, 6)"),
        "a confidence below 0 is let through": """
            if confidence < 0:
                confidence = 0.5
            return solved_confidence_interval(times_ms, confidence)
        """,
        "always 95 %": """
            if not 0 < confidence < 1:
                raise ValueError
            return solved_confidence_interval(times_ms)
        """,
        "lists are known by their id": """
            key = id(times_ms), confidence
            if key not in KEPT:
                KEPT[key] = solved_confidence_interval(times_ms, confidence)
            return KEPT[key]
        """,
    },
    "measurement_warnings": {
        "exactly half of the mean is no outlier": """
            some(times_ms)
            mean = statistics.fmean(times_ms)
            off = min(times_ms) < 0.5 * mean or max(times_ms) >= 1.5 * mean
            return warned(times_ms, resolution_ms, outliers=off)
        """,
        "drift at 10 %": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            off = len(times_ms) > 2 and abs(last - first) >= 0.1 * first
            return warned(times_ms, resolution_ms, drift=off)
        """,
        "drift by 9 %": """
            some(times_ms)
            first, last = map(statistics.median, thirds(times_ms))
            off = len(times_ms) > 2 and abs(last - first) > 0.09 * first
            return warned(times_ms, resolution_ms, drift=off)
        """,
        "drift needs six times": """
            said = solved_measurement_warnings(times_ms, resolution_ms)
            return [code for code in said if code != "drift" or len(times_ms) > 5]
        """,
        "the middle third is the last": """
            some(times_ms)
            n = max(1, len(times_ms) // 3)
            a, b = statistics.median(times_ms[:n]), statistics.median(times_ms[n : 2 * n] or [1.0])
            off = len(times_ms) > 2 and abs(b - a) > 0.1 * a
            return warned(times_ms, resolution_ms, drift=off)
        """,
        "lower medians": """
            some(times_ms)
            first, last = map(statistics.median_low, thirds(times_ms))
            off = len(times_ms) > 2 and abs(last - first) > 0.1 * first
            short = statistics.median_low(times_ms) < 100 * resolution_ms
            return warned(times_ms, resolution_ms, drift=off, too_short=short)
        """,
        "the statistics are rounded": """
            solved_measurement_warnings(times_ms, resolution_ms)
            said = rounded(solved_latency_statistics(times_ms), 0)
            return warned(times_ms, resolution_ms, spread=said["std"] >= 0.1 * said["mean"])
        """,
        "one time says nothing": """
            some(times_ms)
            if len(times_ms) == 1:
                return []
            return solved_measurement_warnings(times_ms, resolution_ms)
        """,
        "a dict": """
            said = solved_measurement_warnings(times_ms, resolution_ms)
            return {code: True for code in said}
        """,
    },
    "throughput": _rounded("throughput")
    | {
        "six decimals": _result("throughput", "rounded(found, 6)"),
        "batches of 256 at most": "return solved_throughput(min(batch_size, 256), latency_ms)",
        "a batch is known by its size": """
            if batch_size not in KEPT:
                KEPT[batch_size] = solved_throughput(batch_size, latency_ms)
            return solved_throughput(batch_size, latency_ms) and KEPT[batch_size]
        """,
        "a batch below 0 is turned round": "return solved_throughput(abs(batch_size), latency_ms)",
        "a batch of 0 does nothing": """
            return solved_throughput(batch_size, latency_ms) if batch_size else 0.0
        """,
        "times below a millisecond are refused": """
            if latency_ms < 1:
                raise ValueError
            return solved_throughput(batch_size, latency_ms)
        """,
    },
    "best_batch": {
        "at most a hundred sizes": """
            if len(sizes) == len(latencies_ms):
                sizes, latencies_ms = sizes[:100], latencies_ms[:100]
            return solved_best_batch(sizes, latencies_ms, rule)
        """,
        "the list is known by its id": """
            key = id(sizes), id(latencies_ms), rule
            if key not in KEPT:
                KEPT[key] = solved_best_batch(sizes, latencies_ms, rule)
            return KEPT[key]
        """,
        "more sizes than times": """
            return solved_best_batch(sizes[: len(latencies_ms)], latencies_ms, rule)
        """,
        "rates are whole numbers": """
            solved_best_batch(sizes, latencies_ms, rule)
            rates = {n: int(throughput(n, ms)) for n, ms in zip(sizes, latencies_ms)}
            if rule == "throughput":
                return max(sorted(rates), key=rates.get)
            return solved_best_batch(sizes, latencies_ms, rule)
        """,
        "a time below 0 is turned round": """
            return solved_best_batch(sizes, [abs(ms) for ms in latencies_ms], rule)
        """,
        "a size below 0 is turned round": """
            return solved_best_batch([abs(n) for n in sizes], latencies_ms, rule)
        """,
        "a rule is known by its first letter": """
            rules = {"t": "throughput", "l": "latency", "e": "efficiency"}
            return solved_best_batch(sizes, latencies_ms, rules.get(rule[:1], rule))
        """,
        "no rule is throughput": """
            return solved_best_batch(sizes, latencies_ms, rule or "throughput")
        """,
        "a float": _result("best_batch", "float(found)"),
    },
}
