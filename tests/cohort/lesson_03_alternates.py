"""Lesson 03: right ways to measure in unusual style, which must keep every point."""

ALTERNATES = {
    "Timer": {
        "perf_counter_ns": """
            class Timer(RightTimer):
                def start(self):
                    self.began = time.perf_counter_ns()
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms = (time.perf_counter_ns() - self.began) / 1_000_000
                    self.began = None
        """,
        "whole nanoseconds, with care": """
            from time import perf_counter_ns as now

            class Timer(RightTimer):
                def start(self):
                    self.began = now()
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    ms, ns = divmod(now() - self.began, 10**6)
                    self.elapsed_ms = ms + ns / 10**6
                    self.began = None
        """,
        "imported by name": """
            from time import perf_counter

            class Timer(RightTimer):
                def start(self):
                    self.began = perf_counter()
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms, self.began = (perf_counter() - self.began) * 1e3, None
        """,
        "a clock of the class": """
            from time import monotonic

            class Timer(RightTimer):
                clock = monotonic
                def start(self):
                    self.began = self.clock()
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms = 1000 * (self.clock() - self.began)
                    self.began = None
        """,
        "a clock in a default argument": """
            from timeit import default_timer

            class Timer:
                elapsed_ms = 0.0
                def __init__(self, clock=default_timer):
                    self.clock, self.marks = clock, []
                def start(self):
                    self.marks = [self.clock()]
                def stop(self):
                    if not self.marks:
                        raise RuntimeError("not running")
                    self.elapsed_ms = 1000.0 * (self.clock() - self.marks.pop())
                def __enter__(self):
                    self.start()
                    return self
                def __exit__(self, kind, error, trace):
                    self.stop()
                    return False
        """,
        "monotonic_ns in a closure": """
            def make(clock):
                class Timer(RightTimer):
                    def start(self):
                        self.began = clock()
                    def stop(self):
                        if self.began is None:
                            raise RuntimeError("not running")
                        self.elapsed_ms = (clock() - self.began) / 1e6
                        self.began = None
                return Timer
            Timer = make(time.monotonic_ns)
        """,
        "the system's clock": """
            class Timer(RightTimer):
                def start(self):
                    self.began = time.clock_gettime(time.CLOCK_MONOTONIC)
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    now = time.clock_gettime(time.CLOCK_MONOTONIC)
                    self.elapsed_ms = np.float64(1000) * (now - self.began)
                    self.began = None
        """,
        "a running generator": """
            class Timer(RightTimer):
                def watch(self):
                    began = time.perf_counter()
                    yield
                    yield 1000 * (time.perf_counter() - began)
                def start(self):
                    self.began = self.watch()
                    next(self.began)
                def stop(self):
                    if self.began is None:
                        raise RuntimeError("not running")
                    self.elapsed_ms = next(self.began)
                    self.began = None
        """,
        "slots and a property": """
            class Timer:
                __slots__ = ("t0", "t1")
                def __init__(self):
                    self.t0 = self.t1 = None
                def start(self):
                    self.t0, self.t1 = time.perf_counter(), None
                def stop(self):
                    if self.t0 is None or self.t1 is not None:
                        raise RuntimeError("not running")
                    self.t1 = time.perf_counter()
                @property
                def elapsed_ms(self):
                    return (self.t1 - self.t0) / 1e-3
                def __enter__(self):
                    self.start()
                    return self
                def __exit__(self, *_):
                    self.stop()
        """,
    },
    "timer_resolution_ms": {
        "one reading after the other": """
            if samples < 1:
                raise ValueError("samples")
            found, last = [], time.perf_counter_ns()
            while len(found) < samples:
                now = time.perf_counter_ns()
                if now > last:
                    found.append(now - last)
                last = now
            return min(found) / 1e6
        """,
        "seconds, as floats": """
            from time import perf_counter
            if samples < 1:
                raise ValueError("samples")
            smallest = math.inf
            for _ in range(samples):
                began = perf_counter()
                while (now := perf_counter()) == began:
                    pass
                smallest = min(smallest, now - began)
            return smallest * 1000
        """,
        "monotonic": "return min(steps(samples, 'monotonic_ns'))",
        "a generator and timeit's clock": """
            from timeit import default_timer as clock
            if samples <= 0:
                raise ValueError("samples")
            def changes():
                last = clock()
                while True:
                    now = clock()
                    if now != last:
                        yield now - last
                    last = now
            return 1e3 * min(step for step, _ in zip(changes(), range(samples)))
        """,
        "numpy": """
            if samples < 1:
                raise ValueError("samples")
            readings = [time.perf_counter_ns()]
            while len(set(readings)) <= samples:
                readings.append(time.perf_counter_ns())
            gaps = np.diff(readings)
            return gaps[gaps > 0].min() / 1e6
        """,
    },
    "calibrate": {
        "by bits": """
            if min_time_ms <= 0:
                raise ValueError("min_time_ms")
            fn()
            for bit in range(60):
                if sample_ms(fn, 1 << bit) >= min_time_ms:
                    return 1 << bit
        """,
        "recursion": """
            long_enough(min_time_ms)
            fn()
            def enough(calls):
                return calls if sample_ms(fn, calls) >= min_time_ms else enough(calls + calls)
            return enough(1)
        """,
        "timeit": """
            import timeit
            if not min_time_ms > 0:
                raise ValueError("min_time_ms")
            fn()
            calls = 1
            while 1000 * timeit.timeit(fn, number=calls) < min_time_ms:
                calls *= 2
            return calls
        """,
        "timeit's Timer": """
            from timeit import Timer as Stopwatch
            long_enough(min_time_ms)
            fn()
            stopwatch, power = Stopwatch(fn), 0
            while stopwatch.timeit(2**power) * 1e3 < min_time_ms:
                power += 1
            return np.int64(2) ** power
        """,
        "nanoseconds": """
            long_enough(min_time_ms)
            fn()
            calls, took = 1, 0
            while True:
                began = time.perf_counter_ns()
                for _ in range(calls):
                    fn()
                took = time.perf_counter_ns() - began
                if took >= min_time_ms * 10**6:
                    return calls
                calls <<= 1
        """,
    },
    "measure_latency": {
        "forward": """
            check(warmup, iterations)
            for _ in range(warmup):
                model.forward(x)
            times = []
            for _ in range(iterations):
                began = time.perf_counter()
                model.forward(x)
                times.append((time.perf_counter() - began) * 1000)
            return np.median(times)
        """,
        "timeit.repeat": """
            import timeit
            check(warmup, iterations)
            for _ in range(warmup):
                model(x)
            times = timeit.repeat(lambda: model(x), number=1, repeat=iterations)
            return 1000 * statistics.median(times)
        """,
        "timeit's Timer": """
            from timeit import Timer as Stopwatch
            check(warmup, iterations)
            watch = Stopwatch("model(x)", globals={"model": model, "x": x})
            if warmup:
                watch.timeit(warmup)
            return statistics.median(1e3 * watch.timeit(number=1) for _ in range(iterations))
        """,
        "sorted, by hand": """
            check(warmup, iterations)
            times = sorted(timed_calls(model, x, warmup, iterations))
            middle = iterations // 2
            if iterations % 2:
                return times[middle]
            return (times[middle - 1] + times[middle]) / 2
        """,
        "all at once, then the last ones": """
            check(warmup, iterations)
            from time import perf_counter
            times = []
            for _ in range(warmup + iterations):
                began = perf_counter()
                model(x)
                times.append(perf_counter() - began)
            return statistics.median(times[warmup:]) * 1000
        """,
        "whole nanoseconds": """
            check(warmup, iterations)
            times = []
            for _ in range(warmup):
                model(x)
            for _ in range(iterations):
                began = time.perf_counter_ns()
                model(x)
                times.append((time.perf_counter_ns() - began) // 1)
            return statistics.median(times) / 10**6
        """,
        "a helper that yields": """
            def measure_latency(model, x, warmup=10, iterations=100):
                check(warmup, iterations)
                def spent():
                    while True:
                        began = time.monotonic()
                        model(x)
                        yield 1000 * (time.monotonic() - began)
                calls = spent()
                everything = [next(calls) for _ in range(warmup + iterations)]
                return float(np.percentile(everything[warmup:], 50))
        """,
        "a clock in a default argument": """
            from timeit import default_timer

            def one(model, x, clock=default_timer):
                began = clock()
                model(x)
                return clock() - began

            def measure_latency(model, x, warmup=10, iterations=100):
                check(warmup, iterations)
                times = np.array([one(model, x) for _ in range(warmup + iterations)])
                return np.median(times[warmup:]) * 1000.0
        """,
        "the Timer, reused": """
            def measure_latency(model, x, warmup: int = 10, iterations: int = 100) -> float:
                if not (warmup >= 0 and iterations >= 1):
                    raise ValueError("calls")
                timer, times = RightTimer(), []
                while warmup > 0:
                    model(x)
                    warmup -= 1
                while len(times) < iterations:
                    timer.start()
                    model(x)
                    timer.stop()
                    times.append(timer.elapsed_ms)
                times.sort()
                return (times[(iterations - 1) // 2] + times[iterations // 2]) / 2
        """,
        "without gradients, the system's clock": """
            check(warmup, iterations)
            import heapq
            times, now = [], lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            with no_grad():
                [model(x) for _ in range(warmup)]
                for _ in range(iterations):
                    began = now()
                    model(x)
                    heapq.heappush(times, (now() - began) * 1e-6)
            half = heapq.nsmallest(iterations // 2 + 1, times)
            return half[-1] if iterations % 2 else sum(half[-2:]) / 2
        """,
        "calibrated away": """
            check(warmup, iterations)
            empty = statistics.median(timed_calls(lambda _: None, x, 0, 5))
            return statistics.median(timed_calls(model, x, warmup, iterations)) - empty
        """,
    },
}
