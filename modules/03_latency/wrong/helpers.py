"""Serve the known solutions beside; executed after the solved lesson."""

RightTimer = Timer


def steps(samples, clock="perf_counter_ns"):
    if samples < 1:
        raise ValueError("samples")
    found = []
    for _ in range(samples):
        before = now = getattr(time, clock)()
        while now == before:
            now = getattr(time, clock)()
        found.append((now - before) / 1e6)
    return found


right_calibrate, right_latency = calibrate, measure_latency


def check(warmup, iterations):
    if warmup < 0 or iterations < 1:
        raise ValueError("calls")


def timed_calls(model, x, warmup, iterations, clock="perf_counter"):
    check(warmup, iterations)
    for _ in range(warmup):
        model(x)
    times = []
    for _ in range(iterations):
        began = getattr(time, clock)()
        model(x)
        times.append(1000 * (getattr(time, clock)() - began))
    return times


def sample_ms(fn, calls, clock="perf_counter"):
    began = getattr(time, clock)()
    for _ in range(calls):
        fn()
    return 1000 * (getattr(time, clock)() - began)


def long_enough(min_time_ms):
    if not min_time_ms > 0:
        raise ValueError("min_time_ms")


right_statistics, right_interval = latency_statistics, confidence_interval


def some(times_ms):
    if len(times_ms) == 0:
        raise ValueError("no times")


def with_percentile(times_ms, percentile):
    some(times_ms)
    found = {f"p{p}": float(percentile(sorted(times_ms), p)) for p in (50, 95, 99)}
    return right_statistics(times_ms) | found


def at_ranks(times_ms, confidence, rank):
    low, high = right_interval(times_ms, confidence)
    rank = max(1, rank)
    ordered = sorted(times_ms)
    return ordered[rank - 1], ordered[len(ordered) - rank]


def rank_of(times_ms, confidence):
    return (
        list(range(1, len(times_ms) + 1)).index(
            right_interval(list(range(1, len(times_ms) + 1)), confidence)[0]
        )
        + 1
    )


def normal_quantile(confidence):
    return statistics.NormalDist().inv_cdf((1 + confidence) / 2)


right_warnings = measurement_warnings


def warned(times_ms, resolution_ms, **other):
    right = right_warnings(times_ms, resolution_ms)
    checks = {code: code in right for code in ("spread", "outliers", "drift", "too_short")}
    return [code for code, holds in (checks | other).items() if holds]


def thirds(times_ms):
    n = max(1, len(times_ms) // 3)
    return times_ms[:n], times_ms[-n:]


right_best = best_batch


def matched(sizes, latencies_ms):
    if len(sizes) == 0 or len(sizes) != len(latencies_ms):
        raise ValueError("lengths")
    if min(sizes) < 1 or min(latencies_ms) <= 0:
        raise ValueError("range")


def ruled(sizes, latencies_ms, rule, **rules):
    best = right_best(sizes, latencies_ms, rule)
    return rules[rule]() if rule in rules else best


def reaching(share, sizes, latencies_ms):
    top = best_rate(sizes, latencies_ms)
    return [n for n, ms in zip(sizes, latencies_ms) if throughput(n, ms) >= share * top]


def pairs_of(sizes, latencies_ms, choose, key):
    return choose(zip(sizes, latencies_ms), key=key)[0]


def best_rate(sizes, latencies_ms):
    return max(throughput(n, ms) for n, ms in zip(sizes, latencies_ms))


KEPT = {}
solved_timer_resolution_ms = timer_resolution_ms
solved_calibrate = calibrate
solved_measure_latency = measure_latency
solved_latency_statistics = latency_statistics
solved_confidence_interval = confidence_interval
solved_measurement_warnings = measurement_warnings
solved_throughput = throughput
solved_best_batch = best_batch


def rounded(value, digits):
    if isinstance(value, dict):
        return {key: rounded(each, digits) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(rounded(each, digits) for each in value)
    return round(value, digits) if isinstance(value, float) else value
