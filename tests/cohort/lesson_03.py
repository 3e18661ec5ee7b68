"""Lesson 03: wrong ways to measure. Right ones, and those of the other exercises, stand beside."""

from cohort.lesson_03_alternates import ALTERNATES as CLOCK_ALTERNATES
from cohort.lesson_03_choices import HELPERS as CHOICES_HELPERS
from cohort.lesson_03_choices import MUTANTS as CHOICES_MUTANTS
from cohort.lesson_03_statistics import HELPERS as STATISTICS_HELPERS
from cohort.lesson_03_statistics import MUTANTS as STATISTICS_MUTANTS
from cohort.lesson_03_unusual import ALTERNATES as OTHER_ALTERNATES

ALTERNATES = CLOCK_ALTERNATES | OTHER_ALTERNATES

HELPERS = (
    """
RightTimer, right_calibrate, right_latency = Timer, calibrate, measure_latency

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

def sample_ms(fn, calls, clock="perf_counter"):
    began = getattr(time, clock)()
    for _ in range(calls):
        fn()
    return 1000 * (getattr(time, clock)() - began)

def long_enough(min_time_ms):
    if not min_time_ms > 0:
        raise ValueError("min_time_ms")
"""
    + STATISTICS_HELPERS
    + CHOICES_HELPERS
)


def _timer(**methods: str) -> str:
    """A right Timer but for these methods, each given as its body."""
    lines = ["class Timer(RightTimer):"]
    for name, body in methods.items():
        arguments = "self, *error" if name == "__exit__" else "self"
        lines += [f"    def {name}({arguments}):"]
        lines += [f"        {line}" for line in body.strip().splitlines()]
    return "\n".join(lines)


def _other_clock(clock: str, scale: str = "1000 *") -> str:
    return _timer(
        start=f"self.began = time.{clock}()",
        stop=f"self.elapsed_ms = {scale} (time.{clock}() - self.began)\nself.began = None",
    )


def _stop(elapsed: str) -> str:
    guard = "if self.began is None:\n    raise RuntimeError('not running')\n"
    took = "took = 1000 * (time.perf_counter() - self.began)\n"
    return _timer(stop=f"{guard}{took}self.elapsed_ms = {elapsed}\nself.began = None")


MUTANTS = {
    "Timer": {
        "seconds": _other_clock("perf_counter", "1 *"),
        "microseconds": _other_clock("perf_counter", "1e6 *"),
        "time.time": _other_clock("time"),
        "time.time_ns": _other_clock("time_ns", "1e-6 *"),
        "process_time": _other_clock("process_time"),
        "process_time_ns": _other_clock("process_time_ns", "1e-6 *"),
        "thread_time": _other_clock("thread_time"),
        "the wrong way round": _other_clock("perf_counter", "-1000 *"),
        "no clock": _timer(start="pass", stop="self.elapsed_ms = 12.5"),
        "datetime": _timer(
            start="import datetime\nself.began = datetime.datetime.now()",
            stop="import datetime\nif self.began is None:\n    raise RuntimeError('start')\n"
            "took = datetime.datetime.now() - self.began\n"
            "self.elapsed_ms, self.began = 1000 * took.total_seconds(), None",
        ),
        "whole milliseconds": _stop("took // 1"),
        "less what it takes to read a clock": _stop("took - 0.0001"),
        "rounded": _stop("round(took, 2)"),
        "text": _stop("f'{took:.4f}'"),
        "times of all uses are added": _stop("self.elapsed_ms + took"),
        "the longest of all uses": _stop("max(self.elapsed_ms, took)"),
        "the mean of all uses": """
            class Timer(RightTimer):
                def __init__(self):
                    self.all = []
                def stop(self):
                    RightTimer.stop(self)
                    self.all.append(self.elapsed_ms)
                    self.elapsed_ms = sum(self.all) / len(self.all)
        """,
        "from when it was made": """
            class Timer(RightTimer):
                def __init__(self):
                    self.made = time.perf_counter()
                def stop(self):
                    RightTimer.stop(self)
                    self.elapsed_ms = 1000 * (time.perf_counter() - self.made)
        """,
        "from the first start on": _timer(
            start="if self.began is None:\n    self.began = time.perf_counter()",
        ),
        "one start for all timers": """
            class Timer(RightTimer):
                def start(self):
                    Timer.began = time.perf_counter()
                def stop(self):
                    if Timer.began is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms = 1000 * (time.perf_counter() - Timer.began)
        """,
        "a global start": """
            STARTED = None
            class Timer(RightTimer):
                def start(self):
                    global STARTED
                    STARTED = time.perf_counter()
                def stop(self):
                    global STARTED
                    if STARTED is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms = 1000 * (time.perf_counter() - STARTED)
                    STARTED = None
        """,
        "goes on after the stop": """
            class Timer(RightTimer):
                def stop(self):
                    RightTimer.stop(self)
                    self.last = self.elapsed_ms, time.perf_counter()
                def __getattribute__(self, name):
                    get = super().__getattribute__
                    if name == "elapsed_ms" and "last" in get("__dict__"):
                        took, at = get("last")
                        return took + 1000 * (time.perf_counter() - at)
                    return get(name)
        """,
        "the body's error is lost": _timer(__exit__="self.stop()\nreturn True"),
        "not stopped when the body raises": _timer(
            __exit__="if error[0] is None:\n    self.stop()"
        ),
        "0 when the body raises": _timer(
            __exit__="self.stop()\nif error[0] is not None:\n    self.elapsed_ms = 0.0"
        ),
        "with yields nothing": _timer(__enter__="self.start()"),
        "with does not start": _timer(__enter__="return self"),
        "elapsed_ms has to be called": """
            class Timer(RightTimer):
                def stop(self):
                    RightTimer.stop(self)
                    took = self.elapsed_ms
                    self.elapsed_ms = lambda: took
        """,
        "it can be used once": _timer(
            start="if self.elapsed_ms:\n    raise RuntimeError('used')\nRightTimer.start(self)"
        ),
        "stopped without a start, silently": _timer(
            stop="if self.began is not None:\n    RightTimer.stop(self)"
        ),
        "stopped without a start, TypeError": _timer(
            stop="self.elapsed_ms = 1000 * (time.perf_counter() - self.began)\nself.began = None"
        ),
        "stopped without a start, ValueError": _timer(
            stop="if self.began is None:\n    raise ValueError('start')\nRightTimer.stop(self)"
        ),
        "stopped two times": _timer(
            stop="if self.began is None:\n    raise RuntimeError('start')\n"
            "self.elapsed_ms = 1000 * (time.perf_counter() - self.began)"
        ),
    },
    "timer_resolution_ms": {
        "seconds": "return min(steps(samples)) / 1000",
        "nanoseconds": "return min(steps(samples)) * 1e6",
        "the largest": "return max(steps(samples))",
        "the mean": "return statistics.mean(steps(samples))",
        "the median": "return statistics.median(steps(samples))",
        "the first": "return steps(samples)[0]",
        "the last": "return steps(samples)[-1]",
        "how far they spread": "return max(steps(samples)) - min(steps(samples))",
        "what all steps are multiples of": """
            return math.gcd(*(round(1e6 * step) for step in steps(samples))) / 1e6
        """,
        "the second smallest": "return sorted(steps(samples + 1))[-2]",
        "one only": "return steps(min(samples, 1))[0]",
        "steps of 0 count": """
            if samples < 1:
                raise ValueError("samples")
            readings = [time.perf_counter_ns() for _ in range(samples + 1)]
            return min(b - a for a, b in zip(readings, readings[1:])) / 1e6
        """,
        "as many readings as samples": """
            if samples < 1:
                raise ValueError("samples")
            readings = [time.perf_counter_ns() for _ in range(samples)]
            return min(b - a for a, b in zip(readings, readings[1:]) if b > a) / 1e6
        """,
        "from the first reading on": """
            steps(samples)
            first = time.perf_counter_ns()
            later = [time.perf_counter_ns() for _ in range(8 * samples)]
            return max(later[-1] - first, 1) / 1e6
        """,
        "all time over all samples": """
            began = time.perf_counter()
            steps(samples)
            return 1000 * (time.perf_counter() - began) / samples
        """,
        "time.time": "return min(map(abs, steps(samples, 'time_ns')))",
        "time.time, with its sign": "return min(steps(samples, 'time_ns'))",
        "process_time": "return min(steps(samples, 'process_time_ns'))",
        "what Python says of the clock": """
            if samples < 1:
                raise ValueError("samples")
            return 1000 * time.get_clock_info("perf_counter").resolution
        """,
        "always a millisecond": "if samples < 1:\n    raise ValueError\nreturn 1.0",
        "always a nanosecond": "if samples < 1:\n    raise ValueError\nreturn 1e-6",
        "a sleep is timed": """
            if samples < 1:
                raise ValueError("samples")
            began = time.perf_counter()
            time.sleep(0.001)
            return 1000 * (time.perf_counter() - began)
        """,
        "no check": "return min(steps(max(samples, 1)))",
        "0 is let through": "return min(steps(samples)) if samples else 0.0",
        "a negative number is let through": "return min(steps(abs(samples)))",
    },
    "calibrate": {
        "the cold call counts": """
            long_enough(min_time_ms)
            calls = 1
            while sample_ms(fn, calls) < min_time_ms:
                calls *= 2
            return calls
        """,
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
        "each call must be long enough": """
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
        "process_time": """
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
MUTANTS |= STATISTICS_MUTANTS | CHOICES_MUTANTS
