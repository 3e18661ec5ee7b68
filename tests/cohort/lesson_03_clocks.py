"""Lesson 03: wrong stopwatches, and wrong ways to find a clock's step."""

HELPERS = """
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
"""


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
        "a global start: raises": """
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
        "only a KeyError in the body is lost": _timer(
            __exit__="self.stop()\nreturn error[0] is KeyError"
        ),
        "the first use is kept": _stop("self.elapsed_ms or took"),
        "twice when the body raises": _timer(
            __exit__="self.stop()\nif error[0] is not None:\n    self.elapsed_ms *= 2"
        ),
        "with yields nothing: raises": _timer(__enter__="self.start()"),
        "with does not start": _timer(__enter__="return self"),
        "elapsed_ms has to be called": """
            class Timer(RightTimer):
                def stop(self):
                    RightTimer.stop(self)
                    took = self.elapsed_ms
                    self.elapsed_ms = lambda: took
        """,
        "it can be used once: raises": _timer(
            start="if self.elapsed_ms:\n    raise RuntimeError('used')\nRightTimer.start(self)"
        ),
        "a start at 0 is none: raises": _timer(
            stop="if not self.began:\n    raise RuntimeError('start')\nRightTimer.stop(self)"
        ),
        "a start at 0 is none, silently": _timer(
            stop="if self.began is None:\n    raise RuntimeError('start')\n"
            "if self.began:\n    RightTimer.stop(self)"
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
        "process_time: raises": "return min(steps(samples, 'process_time_ns'))",
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
}
