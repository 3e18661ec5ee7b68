"""Lesson 03: wrong ways to time a call that is short, and one that is cold or disturbed."""

HELPERS = """
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
"""

MUTANTS = {
    "calibrate": {
        "the cold call counts": """
            long_enough(min_time_ms)
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls *= 2
            return calls
        """,
        "two cold calls": "fn()\nreturn right_calibrate(fn, min_time_ms)",
        "half": "return right_calibrate(fn, min_time_ms) // 2",
        "twice": "return 2 * right_calibrate(fn, min_time_ms)",
        "at least two": "return max(2, right_calibrate(fn, min_time_ms))",
        "the exponent": "return right_calibrate(fn, min_time_ms).bit_length() - 1",
        "seconds": "return right_calibrate(fn, 1000 * min_time_ms)",
        "the time is taken for microseconds": "return right_calibrate(fn, min_time_ms / 1000)",
        "one call says it all": """
            long_enough(min_time_ms)
            fn()
            each, calls = sample_ms(fn, 1), 1
            while calls * each < min_time_ms:
                calls *= 2
                if calls > 10**6:
                    raise RuntimeError
            return calls
        """,
        "one call says it all, rounded up": """
            long_enough(min_time_ms)
            fn()
            return math.ceil(min_time_ms / max(sample_ms(fn, 1), 1e-9))
        """,
        "one more at a time": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls += 1
            return calls
        """,
        "tens": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls *= 10
            return calls
        """,
        "1, 2, 5, 10 as timeit": """
            long_enough(min_time_ms)
            fn()
            for calls in (m * 10**e for e in range(9) for m in (1, 2, 5)):
                if sample_ms(fn, calls) >= min_time_ms:
                    return calls
        """,
        "powers of four": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls *= 4
            return calls
        """,
        "the time of all samples": """
            long_enough(min_time_ms)
            fn()
            calls, spent = 1, 0.0
            while (spent := spent + sample_ms(fn, calls)) < min_time_ms:
                calls *= 2
            return calls
        """,
        "each call must be long enough: raises": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls) / calls < min_time_ms:
                calls *= 2
            return calls
        """,
        "all calls that were made": """
            made = []
            right_calibrate(lambda: made.append(fn()), min_time_ms)
            return len(made)
        """,
        "each call as long as the slowest": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while calls * max(sample_ms(fn, 1) for _ in range(4)) < min_time_ms:
                calls *= 2
            return calls
        """,
        "one call too few": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls - 1) < min_time_ms:
                calls *= 2
            return calls
        """,
        "time.time": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls, "time") < min_time_ms:
                calls *= 2
            return calls
        """,
        "process_time: raises": """
            long_enough(min_time_ms)
            fn()
            calls = 1
            while sample_ms(fn, calls, "process_time") < min_time_ms:
                calls *= 2
            return calls
        """,
        "a float": "return float(right_calibrate(fn, min_time_ms))",
        "a range of calls": "return range(right_calibrate(fn, min_time_ms))",
        "the time, not the calls": "return sample_ms(fn, right_calibrate(fn, min_time_ms))",
        "always 1,024": "long_enough(min_time_ms)\nreturn 1024",
        "always 64": "long_enough(min_time_ms)\nreturn 64",
        "no check": """
            fn()
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls *= 2
            return calls
        """,
        "0 is let through": "return right_calibrate(fn, min_time_ms) if min_time_ms else 1",
        "negative is let through": """
            return right_calibrate(fn, min_time_ms) if min_time_ms >= 0 else 1
        """,
    },
    "measure_latency": {
        "the mean": "return statistics.mean(timed_calls(model, x, warmup, iterations))",
        "all time over all calls": """
            check(warmup, iterations)
            for _ in range(warmup):
                model(x)
            return sample_ms(lambda: model(x), iterations) / iterations
        """,
        "total divided by warm-up and calls": """
            return sum(timed_calls(model, x, warmup, iterations)) / (warmup + iterations)
        """,
        "no warm-up": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, 0, iterations))
        """,
        "the warm-up is timed, too": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, 0, warmup + iterations))
        """,
        "the warm-up is part of the calls": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup, max(1, iterations - warmup)))
        """,
        "one warm-up too few": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, max(0, warmup - 1), iterations))
        """,
        "one warm-up too many": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup + 1, iterations))
        """,
        "at least one warm-up": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, max(1, warmup), iterations))
        """,
        "a warm-up of 0 is the default": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup or 10, iterations))
        """,
        "always ten to warm up": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, 10, iterations))
        """,
        "always a hundred calls": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup, 100))
        """,
        "one call too few": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup, max(1, iterations - 1)))
        """,
        "one call too many": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, x, warmup, iterations + 1))
        """,
        "one call": "check(warmup, iterations)\nreturn timed_calls(model, x, warmup, 1)[0]",
        "only the first call counts": "return timed_calls(model, x, warmup, iterations)[0]",
        "only the last call counts": "return timed_calls(model, x, warmup, iterations)[-1]",
        "seconds": "return statistics.median(timed_calls(model, x, warmup, iterations)) / 1000",
        "microseconds": "return statistics.median(timed_calls(model, x, warmup, iterations)) * 1e3",
        "whole milliseconds": """
            return statistics.median(t // 1 for t in timed_calls(model, x, warmup, iterations))
        """,
        "rounded": "return round(statistics.median(timed_calls(model, x, warmup, iterations)), 1)",
        "the fastest": "return min(timed_calls(model, x, warmup, iterations))",
        "the slowest": "return max(timed_calls(model, x, warmup, iterations))",
        "the sum": "return sum(timed_calls(model, x, warmup, iterations))",
        "the middle of unsorted times": """
            return timed_calls(model, x, warmup, iterations)[iterations // 2]
        """,
        "the lower of two middle ones": """
            return statistics.median_low(timed_calls(model, x, warmup, iterations))
        """,
        "the upper of two middle ones": """
            return sorted(timed_calls(model, x, warmup, iterations))[iterations // 2]
        """,
        "one place beside the middle": """
            times = sorted(timed_calls(model, x, warmup, iterations))
            return times[max(0, iterations // 2 - 1)]
        """,
        "the mean of fastest and slowest": """
            times = timed_calls(model, x, warmup, iterations)
            return (min(times) + max(times)) / 2
        """,
        "the mean without the slowest": """
            times = sorted(timed_calls(model, x, warmup, iterations))
            return statistics.mean(times[:-1] or times)
        """,
        "the mean of the middle half": """
            times = sorted(timed_calls(model, x, warmup, iterations))
            cut = len(times) // 4
            return statistics.mean(times[cut : len(times) - cut])
        """,
        "slow ones are left out": """
            times = timed_calls(model, x, warmup, iterations)
            return statistics.median(t for t in times if t <= 2 * statistics.median(times))
        """,
        "the first timed call is left out": """
            times = timed_calls(model, x, warmup, iterations)
            return statistics.median(times[1:] or times)
        """,
        "a pause within": """
            def paused(x):
                time.sleep(0.001)
                return model(x)
            return statistics.median(timed_calls(paused, x, warmup, iterations))
        """,
        "the time between calls": """
            check(warmup, iterations)
            for _ in range(warmup):
                model(x)
            marks = []
            for _ in range(iterations):
                model(x)
                marks.append(time.perf_counter())
            gaps = [1000 * (b - a) for a, b in zip(marks, marks[1:])]
            return statistics.median(gaps or [0.0])
        """,
        "a warm-up with another input": """
            check(warmup, iterations)
            timed_calls(model, None, 0, warmup) if warmup else None
            return statistics.median(timed_calls(model, x, 0, iterations))
        """,
        "less the time of nothing, measured once a millisecond": """
            return statistics.median(timed_calls(model, x, warmup, iterations)) - 0.001
        """,
        "the same model is measured once": """
            check(warmup, iterations)
            known = vars(measure_latency).setdefault("known", [])
            for other, latency in known:
                if other is model:
                    return latency
            known.append((model, right_latency(model, x, warmup, iterations)))
            return known[-1][1]
        """,
        "the geometric mean": """
            return statistics.geometric_mean(timed_calls(model, x, warmup, iterations))
        """,
        "the median of warm-up and calls": """
            cold = timed_calls(model, x, 0, warmup) if warmup > 0 else []
            return statistics.median(cold + timed_calls(model, x, min(0, warmup), iterations))
        """,
        "rounds of a loop": """
            check(warmup, iterations)
            for _ in range(warmup):
                model(x)
            each = [sample_ms(lambda: model(x), 5) / 5 for _ in range(max(1, iterations // 5))]
            return statistics.median(each)
        """,
        "each call is made two times": """
            check(warmup, iterations)
            def twice(x):
                model.forward(x)
                return model(x)
            return statistics.median(timed_calls(twice, x, warmup, iterations))
        """,
        "a call before each one": """
            check(warmup, iterations)
            times = timed_calls(model, x, warmup, 1)
            for _ in range(iterations - 1):
                times += timed_calls(model, x, 1, 1)
            return statistics.median(times)
        """,
        "the output is looked at by another call": """
            check(warmup, iterations)
            model(x)
            return statistics.median(timed_calls(model, x, warmup, iterations))
        """,
        "one start for all calls": """
            check(warmup, iterations)
            for _ in range(warmup):
                model(x)
            began, times = time.perf_counter(), []
            for _ in range(iterations):
                model(x)
                times.append(1000 * (time.perf_counter() - began))
            return statistics.median(times)
        """,
        "the clock is read before the warm-up": """
            check(warmup, iterations)
            began, times = time.perf_counter(), []
            for call in range(warmup + iterations):
                model(x)
                now = time.perf_counter()
                times.append(1000 * (now - began))
                began = now if call else began
            return statistics.median(times[warmup:] if warmup else times)
        """,
        "another input": """
            check(warmup, iterations)
            return statistics.median(timed_calls(model, None, warmup, iterations))
        """,
        "time.time": "return statistics.median(timed_calls(model, x, warmup, iterations, 'time'))",
        "time.time, its absolute value": """
            return abs(statistics.median(timed_calls(model, x, warmup, iterations, "time")))
        """,
        "process_time": """
            return statistics.median(timed_calls(model, x, warmup, iterations, "process_time"))
        """,
        "thread_time": """
            return statistics.median(timed_calls(model, x, warmup, iterations, "thread_time"))
        """,
        "0.0": "check(warmup, iterations)\nreturn 0.0",
        "0.0, after all calls": "timed_calls(model, x, warmup, iterations)\nreturn 0.0",
        "1.0, after all calls": "timed_calls(model, x, warmup, iterations)\nreturn 1.0",
        "a dict": "return {'ms': statistics.median(timed_calls(model, x, warmup, iterations))}",
        "all times": "return timed_calls(model, x, warmup, iterations)",
        "stops when it is steady": """
            times = timed_calls(model, x, warmup, min(iterations, 3))
            return statistics.median(times)
        """,
        "no check": """
            return statistics.median(timed_calls(model, x, max(0, warmup), max(1, iterations)))
        """,
        "a negative warm-up is let through": """
            return right_latency(model, x, max(0, warmup), iterations)
        """,
        "a warm-up of 0 is refused": """
            if warmup < 1:
                raise ValueError("warmup")
            return right_latency(model, x, warmup, iterations)
        """,
        "checked after the calls": """
            for _ in range(2):
                model(x)
            check(warmup, iterations)
            return right_latency(model, x, max(0, warmup - 2), iterations)
        """,
    },
}
