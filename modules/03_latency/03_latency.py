# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: nbgrader,tags
#     notebook_metadata_filter: kernelspec,accelerator,colab,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 · How long does it take, and how sure are you?
#
# ![Histogram of LeNet-5's times for one image: a narrow peak and a long tail, with lines at median, mean, p95 and p99.](latencies.png) <!-- with latency_statistics -->
#
# You change one line, and the program is 3 % faster.
# Is the new line better?
# On a busy machine, two runs of the *same* program often differ by more than that.
# If you believe every such number, you keep changes that do nothing and throw away changes that work.
# In this lesson you write the tools that tell a gain from noise, see where even they fail, and draw the picture above for any model. <!-- with latency_statistics -->
# In this lesson you write the tools that tell a gain from noise, and see where even they fail. <!-- with confidence_interval, without latency_statistics -->
# (Other programs were running during this one, hence its long tail.) <!-- with latency_statistics -->
#
# **You will be able to**
#
# - time a call with the right clock, after a warm-up, and often enough;
# - sum up many times without hiding the slow ones, and say how sure you are of the result; <!-- with latency_statistics -->
# - sum up many times, and say how sure you are of the result; <!-- without latency_statistics -->
# - recognise a bad measurement by its own numbers;
# - choose a batch size, and measure the first and each further token of a language model.
#
# **You need** the `with` statement, and an idea of medians and probability.
# Arguments stay as they are.
#
# **You will not build** the clock's resolution, the warnings and the throughput: they are given, in folded cells that you may read.

# %% [markdown]
# ## 1 · A stopwatch
#
# To time a call, read a clock before and after it, and subtract.
# Python has clocks for different questions:
#
# - `time.time` tells the time of day. The system may set it, even backwards, and even between your two readings.
# - `time.process_time` adds up the time that all processors spent on this process. It stands still while the process waits, and runs at double speed while two processors work.
# - `time.perf_counter` and `time.monotonic` only go forward. `perf_counter` is the finer of the two; `perf_counter_ns` returns whole nanoseconds.
#
# **How these tests work.** No test waits for real time.
# The test cells use *doubles*: objects that stand in for real ones and follow a script, like a stunt double in a film.
# `doubles.Clock()` stands in for all of Python's clocks.
# `doubles.Model(clock, ms=[4.0, 5.0])` is a model whose calls take exactly 4 and 5 ms on that clock, and `clock.run(f, x)` calls `f(x)` while the scripted clock replaces the real ones.
# You may use any clock, but each misbehaves as in real life: `time.time` is set back by 1.5 s between two readings, and `process_time` stands still, because the model only waits.
# Run a cell with `doubles.timed??` to read the source of that helper.

# %% nbgrader={"grade": false, "grade_id": "imports", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import statistics
import time

import numpy as np

from proflab import example_input, models, no_grad
from proflab.lesson import doubles, expect, expect_raises, expect_table, guesses, noise, plot
from proflab.lesson.demo import demo_size, rounds


# %% nbgrader={"grade": false, "grade_id": "Timer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Timer:
    """Measure time: `with Timer() as timer: …`, or start and stop by hand; then timer.elapsed_ms.

    A timer can be used again, and then measures anew. The time is right even if the body raises.

    >>> clock, timer = doubles.Clock(), Timer()
    >>> clock.run(lambda: doubles.timed(timer, doubles.Model(clock, ms=[250.0])))
    250.0
    """

    elapsed_ms = 0.0  # the last time measured, in milliseconds
    began = None  # None: not running

    def start(self):
        """Begin to measure, or begin anew if the timer is already running."""
        ### BEGIN SOLUTION
        self.began = time.perf_counter()
        ### END SOLUTION

    def stop(self):
        """Set elapsed_ms to the time since start, a float. Raises RuntimeError if not running."""
        ### BEGIN SOLUTION
        now = time.perf_counter()
        if self.began is None:
            raise RuntimeError("start the timer before you stop it")
        self.elapsed_ms = 1000 * (now - self.began)
        self.began = None
        ### END SOLUTION

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


# %% nbgrader={"grade": true, "grade_id": "test_Timer", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
timer = Timer()
work = doubles.Model(clock, ms=[12.5, 7.25, 30.0])
expect(
    "a call of 12.5 ms",
    clock.run(lambda: doubles.timed(timer, work)),
    12.5,
    rel=1e-6,
    mistakes={
        "time.time can be set back between two readings": -1487.5,
        "process_time stands still while a program waits": 0.0,
    },
)
expect("used again", clock.run(lambda: doubles.timed(timer, work, calls=2)), 42.5, rel=1e-6)
short = doubles.Model(clock, ms=[0.123456, 1.0, 0.000437])
expect("not rounded", clock.run(lambda: doubles.timed(timer, short)), 0.123456, rel=1e-6)
expect("below 1 µs", clock.run(lambda: doubles.timed(timer, short)), 0.000437, rel=1e-3)
### BEGIN HIDDEN TESTS
# vary: 100 in 66..150
clock = doubles.Clock(tick_ns=100, read_ns=0)
# vary: 0.375 in 0.307..0.562, 6000.5 in 4000.0..7350.0, 3.0625 in 2.04..4.59
work = doubles.Model(clock, ms=[0.375, 6000.5, 3.0625])
expect(
    "a time of less than a millisecond is not rounded",
    clock.run(lambda: doubles.timed(timer, work)),
    0.375,
    rel=1e-6,
)
expect(
    "a timer that is used again begins at zero",
    clock.run(lambda: doubles.timed(timer, work)),
    3.0625,
    rel=1e-6,
)
expect(
    "a time of several seconds is given in milliseconds, too",
    clock.run(lambda: doubles.timed(timer, work)),
    6000.5,
    rel=1e-6,
)
# viva: c = doubles.Clock(); c.run(doubles.timed, Timer(), doubles.Model(c, ms=[12.5, 7.0]))
# viva: c = doubles.Clock(); c.run(doubles.nested, Timer, doubles.Model(c, ms=[9.0, 25.0, 4.0]))
# viva: c = doubles.Clock(); m = doubles.Model(c, ms=[5.5, 2.0]); c.run(doubles.by_hand, Timer(),
#     m, 'start', 'stop')
# viva: c = doubles.Clock(); m = doubles.Model(c, ms=[5.5, 2.0]); c.run(doubles.by_hand, Timer(),
#     m, 'start', 'start', 'stop')
# viva: c = doubles.Clock(); t = Timer(); [c.run(doubles.timed, t, doubles.Model(c, ms=[n])) for n
#     in (3.0, 8.0)]
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_Timer_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
stopwatch = Timer()
work = doubles.Model(clock, ms=[9.0, 25.0, 4.0], cold_ms=[6.5])
ended = clock.run(lambda: doubles.time_of_failing(stopwatch, work))
expect("the time of a body that raises", ended, 6.5, rel=1e-6)
expect("one inside another", clock.run(lambda: doubles.nested(Timer, work)), [38.0, 25.0], rel=1e-6)
anew = ["start", "start", "stop"]
expect("started again", clock.run(lambda: doubles.by_hand(stopwatch, work, *anew)), 25.0, rel=1e-6)
clock = doubles.Clock(start_ns=0)
work = doubles.Model(clock, ms=[6.25])
found = clock.run(lambda: doubles.timed(Timer(), work))
expect("started when the clock shows 0", found, 6.25, rel=1e-6)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 5.5 in 4.04..7.97, 2.25 in 1.69..3.38, 70.0 in 46.7..85.8
work = doubles.Model(clock, ms=[5.5, 2.25, 70.0, 11.0, 1.0])
again = ["start", "start", "stop"]
expect(
    "two timers, one inside the other, do not disturb each other",
    clock.run(lambda: doubles.nested(Timer, work)),
    [77.75, 2.25],
    rel=1e-6,
)
expect(
    "a second start begins anew",
    clock.run(lambda: doubles.by_hand(Timer(), work, *again)),
    1.0,
    rel=1e-6,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_Timer_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

clock = doubles.Clock()
work = doubles.Model(clock, ms=[4.0])
expect_table(
    lambda *steps: clock.run(lambda: doubles.by_hand(Timer(), work, *steps)),
    ("never started; stopped twice", [("stop",), ("start", "stop", "stop")], RuntimeError),
)
expect_raises(
    "a body that raises", lambda: clock.run(lambda: doubles.failing(Timer(), work)), KeyError
)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 3.125 in 2.08..4.69, 17.5 in 11.7..26.2
work = doubles.Model(clock, ms=[3.125, 17.5])
twice, late = ["start", "stop", "start", "stop"], ["start", "stop", "stop"]
anew = ["start", "start", "stop"]
expect(
    "a timer that was stopped can be started again",
    clock.run(lambda: doubles.by_hand(Timer(), work, *twice)),
    3.125,
    rel=1e-6,
)
expect(
    "a timer that is running can be started anew",
    clock.run(lambda: doubles.by_hand(Timer(), work, *anew)),
    17.5,
    rel=1e-6,
)
expect_raises(
    "a timer that was stopped is not running, so it cannot be stopped again",
    lambda: doubles.by_hand(Timer(), work, *late),
    RuntimeError,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_clocks", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints 50 ms of sleep by four clocks of Python and by your Timer.
print("50 ms asleep, by      measured   can be set back   smallest step")
for name in ("perf_counter", "monotonic", "time", "process_time"):
    clock, facts = getattr(time, name), time.get_clock_info(name)
    began = clock()
    time.sleep(0.05)
    slept, settable = 1000 * (clock() - began), "yes" if facts.adjustable else "no"
    print(f"{name:<18}{slept:>9.3f} ms{settable:>18}{facts.resolution:>14.0e} s")
with Timer() as timer:
    time.sleep(0.05)
print(f"{'your Timer':<18}{timer.elapsed_ms:>9.3f} ms")

# %% [markdown]
# A sleep takes a little longer than you asked for, because the system does not wake a program at once.
# Now let the machine compute.
# The next cell calls each of three models 40 times, and nothing changes between the calls.
#
# **Predict.** LeNet-5 gets the same image 40 times.
# How many times as long as the fastest call does the slowest take?

# %% tags=["guess"]
guess_slowest_call = None  # your guess: slowest call / fastest call

# %% nbgrader={"grade": false, "grade_id": "demo_runs", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws 40 calls in a row of each of three models.
import demos  # models and pictures: demos.py, beside this notebook

noise.show_load()
series = {}
for name, (model, x) in demos.small_models().items():
    times = series[name] = []
    for _ in range(40):
        with no_grad(), Timer() as timer:
            model(x)
        times.append(timer.elapsed_ms)
    print(f"{name}: the slowest call took {max(times) / min(times):.2f} times the fastest")
times = series["LeNet-5, 1 image"]
guesses.compare("slowest over fastest call", guess_slowest_call, max(times) / min(times))
demos.runs(series, title="The same call, 40 times")

# %% [markdown]
# ## 2 · How fine a clock is
#
# A clock moves in steps and tells you nothing about the time between two steps.
# While it stands still, two readings in a row are equal.
# Once it has moved, they differ by at least one step, or by the duration of a reading, if that is longer.
# The smallest difference above zero, the clock's *resolution*, is the shortest time that you can measure.
# A time that you report should be many times longer.


# %% nbgrader={"grade": false, "grade_id": "timer_resolution_ms", "locked": false, "schema_version": 3, "solution": true, "task": false}
def timer_resolution_ms(samples=100):
    """Return the smallest step by which the clock was seen to move, in ms: a float above 0.

    samples: int, at least 1: how many steps to look at. Two equal readings are no step, so that
    many steps may take many more readings.

    >>> doubles.Clock(tick_ns=50_000, read_ns=1_000).run(timer_resolution_ms)
    0.05
    """
    ### BEGIN SOLUTION
    if samples < 1:
        raise ValueError(f"at least one step must be looked at, not {samples}")
    steps = []
    for _ in range(samples):
        before = now = time.perf_counter_ns()
        while now == before:
            now = time.perf_counter_ns()
        steps.append(now - before)
    return min(steps) / 1e6
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_timer_resolution_ms", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock(tick_ns=1_000_000, read_ns=300_000)
expect(
    "steps of 1 ms",
    clock.run(timer_resolution_ms),
    1.0,
    rel=1e-4,
    mistakes={"two readings that are the same are no step": 0.0},
)
expect("a single step", clock.run(timer_resolution_ms, 1), 1.0, rel=1e-4)
clock = doubles.Clock(tick_ns=130, read_ns=351)
clock.advance(0.000065)
expect("390 ns, then 260 and 390", clock.run(timer_resolution_ms, samples=1), 0.00039, rel=1e-4)
expect(
    "steps of 260 and 390 ns",
    clock.run(timer_resolution_ms, samples=20),
    0.00026,
    rel=1e-4,
    mistakes={"the largest step, or the first": 0.00039},
)
clock = doubles.Clock(tick_ns=1_010, read_ns=2_010)
found = clock.run(timer_resolution_ms, 300)
expect("the short ones of 300 steps", found, 0.00101, rel=1e-4, mistakes={"few of them": 0.00202})
expect_raises("no samples", lambda: timer_resolution_ms(0), ValueError)
expect_raises("a negative number of samples", lambda: timer_resolution_ms(-1), ValueError)
### BEGIN HIDDEN TESTS
even = doubles.Clock(tick_ns=250, read_ns=700)
before = doubles.Model(even, ms=[0.00065])
before(0)
expect(
    "of steps of two sizes the smaller one counts",
    even.run(timer_resolution_ms, 12),
    0.0005,
    rel=1e-4,
)
# vary: 15625000 in 10_416_666..23_437_500
coarse = doubles.Clock(tick_ns=15_625_000, read_ns=2_500_000)
expect(
    "two equal readings are no step, however often they occur",
    coarse.run(timer_resolution_ms, samples=4),
    15.625,
    rel=1e-4,
)
# vary: 41 in 27..61
slow = doubles.Clock(tick_ns=1, read_ns=41)
expect(
    "if a reading takes longer than a step, the reading is what can be seen",
    slow.run(timer_resolution_ms, 5),
    4.1e-5,
    rel=1e-3,
)
expect_raises(
    "the number of samples must be at least one", lambda: timer_resolution_ms(-3), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_ticks", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws a call of 0.4 ms on clocks of four step sizes, and prints this clock's resolution.
import demos

print(f"Here, two readings differ by {1e6 * timer_resolution_ms():,.0f} ns or more.")
ticks = {"1 µs": 1_000, "0.1 ms": 100_000, "1 ms": 1_000_000, "15.6 ms": 15_625_000}
ways = {f"steps of {name}": demos.on_clock(Timer(), tick) for name, tick in ticks.items()}
for name, times in ways.items():
    print(f"{name:<20}from {min(times):.4g} to {max(times):.4g} ms, mean {np.mean(times):.3f} ms")
demos.estimates(ways, truth=0.4, limits=(-0.5, 16.5), title="A call of 0.4 ms on four clocks")

# %% [markdown]
# On a coarse clock each single time is wrong, by up to a whole step.
# Only the mean of many times is right.
#
# ## 3 · Things that are over too soon
#
# Some calls are shorter than the clock's steps, or shorter than the work of the Timer itself.
# Such a call is made many times between two readings, and the time is divided by the number of calls.
# How many calls?
# Try 1, 2, 4, 8 … until such a *sample* lasts long enough.
# Python's `timeit` does much the same.
#
# **Predict.** How many additions of two small arrays fit into a millisecond?

# %% tags=["guess"]
guess_additions = None  # your guess: additions of 16 numbers in 1 ms


# %% nbgrader={"grade": false, "grade_id": "calibrate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def calibrate(fn, min_time_ms):
    """Return how many calls of fn, timed together, make a sample that is long enough: an int.

    It is the first of 1, 2, 4, 8, … for which that many calls in a row took min_time_ms or more.
    fn: a function without arguments. It is called once, untimed, before the first sample, because
    its first call is cold. A min_time_ms of 0 raises ValueError, too.

    >>> clock = doubles.Clock()
    >>> clock.run(calibrate, doubles.Model(clock, ms=[2.0]), 5.0)
    4
    """
    ### BEGIN SOLUTION
    if not min_time_ms > 0:
        raise ValueError(f"min_time_ms must be above 0, not {min_time_ms}")
    fn()
    calls = 1
    while True:
        with Timer() as timer:
            for _ in range(calls):
                fn()
        if timer.elapsed_ms >= min_time_ms:
            return calls
        calls *= 2
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_calibrate", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
work = doubles.Model(clock, ms=[1.0, 3.0], cold_ms=[50.0])
expect(
    "calls of 1 and 3 ms, samples of 10 ms",
    clock.run(calibrate, work, 10.0),
    8,
    mistakes={"the cold call is taken for a sample": 1, "a single call says little": 16},
)
short = doubles.Model(clock, ms=[0.125], cold_ms=[50.0, 2.5])
expect("one call is enough", clock.run(calibrate, short, 1.5), 1)
expect("the same function, warm", clock.run(calibrate, short, 1.5), 16)
expect("samples of 0.3 ms", clock.run(calibrate, short, min_time_ms=0.3), 4)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 0.5 in 0.388..0.75, 0.25 in 0.194..0.362
work = doubles.Model(clock, ms=[0.5, 0.125, 0.25], cold_ms=[30.0])
expect("the cold first call is not part of any sample", clock.run(calibrate, work, 10.0), 64)
expect("a shorter sample needs fewer calls", clock.run(calibrate, work, 0.8), 4)
# vary: 20.0 in 13.3..30.0, 30.0 in 20.0..45.0
long = doubles.Model(clock, ms=[20.0, 30.0], cold_ms=[90.0, 70.0])
# vary: 50.0 in 33.3..69.0
expect("if a single call is long enough, the answer is one", clock.run(calibrate, long, 50.0), 1)
# vary: 490.0 in 327.0..735.0
expect(
    "the calls are doubled until they take long enough together",
    clock.run(calibrate, long, 490.0),
    32,
)
# vary: 6000.0 in 4000.0..9000.0
expect("a sample of seconds needs more of them", clock.run(calibrate, long, 6000.0), 256)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_calibrate_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}

ticks = doubles.Clock(tick_ns=15_625_000)
exact = ticks.run(calibrate, doubles.Model(ticks, ms=[2.0]), 125)
expect("a sample of exactly 125 ms is long enough", exact, 64, mistakes={"it must be longer": 128})
two = ticks.run(calibrate, doubles.Model(ticks, ms=[15.625]), 30.0)
expect("samples of 30 ms", two, 2)
slow = doubles.Clock(read_ns=500_000)
together = slow.run(calibrate, doubles.Model(slow, ms=[1.0]), 10.0)
expect("a clock that takes 0.5 ms to read", together, 16, mistakes={"each call timed alone": 8})
longer = ticks.run(calibrate, doubles.Model(ticks, ms=[2.0]), 126)
expect("a sample of 126 ms", longer, 128, mistakes={"64 calls show 125 ms: too short": 64})
### BEGIN HIDDEN TESTS
coarse = doubles.Clock(tick_ns=15_625_000)
even = doubles.Model(coarse, ms=[2.0])
expect(
    "on a coarse clock the sample must be seen to be long enough",
    coarse.run(calibrate, even, 1000),
    512,
)
expect("half of that needs half of the calls", coarse.run(calibrate, even, 500), 256)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_calibrate_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

clock = doubles.Clock()
even = doubles.Model(clock, ms=[2.0])
expect_table(
    lambda min_time_ms: clock.run(calibrate, even, min_time_ms),
    ("a sample of no time", [(0,), (0.0,)], ValueError),
    ("a negative time", [(-0.5,), (-8.0,)], ValueError),
)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 40.0 in 26.7..60.0
slow = doubles.Model(clock, ms=[40.0])
# vary: 650.0 in 433.0..975.0
expect("samples of many calls", clock.run(calibrate, slow, 650.0), 32)
# vary: 12000.0 in 8000.0..18000.0
expect("samples of seconds", clock.run(calibrate, slow, 12_000.0), 512)
expect_raises(
    "the length of a sample must be above zero", lambda: calibrate(slow, -1.0), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_calibrate", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the time of an addition, by how many are timed together.
import demos

noise.show_load()
x, samples = np.ones(16, np.float32), {}
for calls in [4**power for power in range(demo_size(full=9, small=4))]:
    samples[calls] = demos.ns_a_call(Timer(), lambda: x + x, calls)
enough = calibrate(lambda: x + x, 1.0)  # half as many are too few
enough = noise.Measured(enough, enough / 2, enough, busy=noise.is_busy())
guesses.compare("additions that fill 1 ms", guess_additions, enough)
alone, together = statistics.median(samples[1]), statistics.median(samples[calls])
print(f"One addition: {together:,.0f} ns in samples of {calls:,}, {alone:,.0f} ns timed alone.")
look = {"x": "calls in a sample", "y": "ns a call", "title": "An addition of 16 numbers"}
demos.spans(samples, "25 samples", log="xy", guess=guess_additions, **look)

# %% [markdown]
# Timed alone, an addition also pays for the work of the Timer.
#
# ## 4 · The latency of a model
#
# *Latency* is how long a user waits for an answer.
# Two things distort it:
#
# - **The first calls are slow.** Libraries start their threads, the system hands out memory, and caches are empty. So you make some calls and throw them away: the *warm-up*. (If users meet a cold model, measure that, and say so.)
# - **Some calls are disturbed,** and always in the same direction: much can make a call slower, nothing makes it faster than the machine. (One exception: for the first moment a processor runs faster, at a clock that it cannot hold. Warm-up calls leave that behind, too.) One such call moves the mean as far as it likes. It hardly moves the median.
#
# ![Twelve calls as bars: two tall grey ones to warm up, then ten timed ones, one of them five times as tall. The median lies at the ordinary bars, the mean above them.](warmup.png)
#
# <!-- without section 1 -->
# **How these tests work.** No test waits for real time.
# The test cells use *doubles*: objects that stand in for real ones and follow a script.
# `doubles.Clock()` stands in for all of Python's clocks.
# `doubles.Model(clock, ms=[4.0, 5.0])` is a model whose calls take exactly 4 and 5 ms on that clock, and `clock.run(f, x)` calls `f(x)` while the scripted clock replaces the real ones.
# The right clock for times is `time.perf_counter`, which only goes forward; the `Timer` that is given reads it.


# %% nbgrader={"grade": false, "grade_id": "measure_latency", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measure_latency(model, x, warmup=10, iterations=100):
    """Return the median time in ms of calls model(x), each timed by itself: a float, not rounded.

    model: called with x exactly warmup + iterations times. Its mode (train or eval) stays as it is.
    warmup: how many calls to make first, untimed; at least 0. iterations: how many calls to time;
    at least 1. What is out of range is refused before any call.

    >>> clock = doubles.Clock()
    >>> model = doubles.Model(clock, ms=[125.0, 250.0, 4000.0], cold_ms=[9000.0])
    >>> clock.run(measure_latency, model, "x", warmup=1, iterations=3)
    250.0
    """
    ### BEGIN SOLUTION
    if warmup < 0 or iterations < 1:
        raise ValueError(f"a warm-up of {warmup} and {iterations} timed calls cannot be made")
    for _ in range(warmup):
        model(x)
    samples = []
    for _ in range(iterations):
        with Timer() as timer:
            model(x)
        samples.append(timer.elapsed_ms)
    return statistics.median(samples)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_measure_latency", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
model = doubles.Model(clock, ms=[6.0, 40.0, 4.5, 4.0, 5.0], cold_ms=[90.0, 20.0])
said = clock.run(measure_latency, model, 0, warmup=2, iterations=5)
expect(
    "the median of 5 calls after 2 that warm up",
    said,
    5.0,
    rel=1e-6,
    mistakes={
        "the mean: one slow call moves it": 11.9,
        "the middle of times that are not sorted": 4.5,
        "the fastest call": 4.0,
        "the slowest call": 40.0,
        "the sum of all calls": 59.5,
        "one call only": 90.0,
        "one call only, or the warm-up is timed, too": 6.0,
        "the warm-up is missing": 20.0,
        "the warm-up is missing, and the mean is taken": 32.1,
        "time.time can be set back between two readings": -1495.0,
        "process_time stands still while a program waits": 0.0,
    },
)
model = doubles.Model(clock, ms=[8.0, 2.0, 3.0, 100.0])
expect(
    "four calls",
    clock.run(measure_latency, model, 0, warmup=1, iterations=4),
    5.5,
    rel=1e-6,
    mistakes={"of two middle ones the lower": 3.0, "of two middle ones the upper": 8.0},
)
model = doubles.Model(clock, ms=[3.0, 5.0, 4.0])
expect("with the defaults", clock.run(measure_latency, model, 0), 4.0, rel=1e-6)
cold = doubles.Model(clock, ms=[1.0, 2.0], cold_ms=[30.0])
expect("without a warm-up", clock.run(measure_latency, cold, 0, 0, 3), 2.0, rel=1e-6)
single = doubles.Model(clock, ms=[2.5])
expect("a single call is enough", clock.run(measure_latency, single, 5, 0, 1), 2.5, rel=1e-6)
often = doubles.Model(clock, ms=[1.0] * 14 + [3.0] * 17, cold_ms=[9.0] * 40)
expect("31 calls after 40", clock.run(measure_latency, often, 0, 40, 31), 3.0, rel=1e-6)
fine = doubles.Model(clock, ms=[0.123456])
expect("not rounded", clock.run(measure_latency, fine, 0, 1, 1), 0.123456, rel=1e-6)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 3.5 in 3.39..3.61, 3.25 in 3.19..3.36, 9.5 in 6.91..14.2, 3.125 in 2.56..3.18
# vary: 3.75 in 3.64..5.62
skewed = doubles.Model(clock, ms=[3.5, 3.25, 9.5, 3.125, 31.5, 3.75, 120.5], cold_ms=[400.5])
# vary: 7 in 2..14
said = clock.run(measure_latency, skewed, 0, warmup=1, iterations=7)
expect("the median ignores the slow calls, and the warm-up is not timed", said, 3.75, rel=1e-6)
# vary: 5.25 in 4.8..5.7, 4.25 in 3.8..4.7
falling = doubles.Model(clock, ms=[0.5], cold_ms=[9.25, 8.25, 7.25, 6.25, 5.25, 4.25, 3.25, 2.25])
# vary: 3 in 2..9, 4 in 2..9
expect(
    "each call is timed by itself, right after the warm-up",
    clock.run(measure_latency, falling, 0, 3, 4),
    4.75,
    rel=1e-6,
)
# vary: 1250.5 in 1250.0..1880.0
long = doubles.Model(clock, ms=[1250.5, 1250.0, 7000.0])
# vary: 4 in 2..9, 3 in 2..9
expect(
    "calls of more than a second are given in milliseconds, too",
    clock.run(measure_latency, long, 0, warmup=4, iterations=3),
    1250.5,
    rel=1e-6,
)
# vary: 6.5 in 4.33..9.75, 1.25 in 0.833..1.88, 50.5 in 33.7..75.8
single = doubles.Model(clock, ms=[6.5, 1.25], cold_ms=[50.5])
expect(
    "without a warm-up, a single call is the cold one",
    clock.run(measure_latency, single, 0, 0, 1),
    50.5,
    rel=1e-6,
)
# vary: 2 in 2..9
expect(
    "after a warm-up, a single call is its own median",
    clock.run(measure_latency, single, 0, warmup=2, iterations=1),
    6.5,
    rel=1e-6,
)
# vary: 2.125 in 1.42..3.19, 2.375 in 1.58..3.56
inner = doubles.Model(clock, ms=[2.125, 2.375])
# vary: 7 in 2..14
expect(
    "the median of two calls lies halfway between them",
    clock.run(measure_latency, inner, 7, warmup=1, iterations=2),
    2.25,
    rel=1e-6,
)
# viva: c = doubles.Clock(); c.run(measure_latency, doubles.Model(c, ms=[6.0, 40.0, 4.0]), 0, 1, 3)
# viva: c = doubles.Clock(); c.run(measure_latency, doubles.Model(c, ms=[8.0, 2.0, 3.0, 90.0]), 0,
#     1, 4)
# viva: c = doubles.Clock(); c.run(measure_latency, doubles.Model(c, ms=[3.0, 5.0, 4.0]), 0)
# viva: c = doubles.Clock(); c.run(measure_latency, doubles.Model(c, ms=[2.0], cold_ms=[30.0]), 0,
#     0, 1)
# viva: c = doubles.Clock(); m = doubles.Model(c, ms=[2.0]); c.run(measure_latency, m, 0, 3, 5);
#     m.calls
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_latency_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
model = doubles.Model(clock, ms=[6.0, 40.0, 4.5, 4.0, 5.0], cold_ms=[90.0, 20.0])
clock.run(measure_latency, model, 0, warmup=2, iterations=5)
expect(
    "how often the model was called",
    model.calls,
    7,
    mistakes={"the warm-up is missing, or is counted": 5, "one too many": 8, "one too few": 6},
)
model = doubles.Model(clock, ms=[3.0, 5.0, 4.0])
clock.run(measure_latency, model, 0)
expect("with the defaults, 110 calls", model.calls, 110)
cold = doubles.Model(clock, ms=[1.0, 2.0], cold_ms=[30.0])
clock.run(measure_latency, cold, 0, warmup=0, iterations=3)
expect("without a warm-up, 3 calls", cold.calls, 3, mistakes={"0 is taken for the default": 13})
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
skewed = doubles.Model(clock, ms=[3.5, 3.25, 9.5, 3.125, 31.5, 3.75, 120.5], cold_ms=[400.5])
# vary: 8 in 2..16
clock.run(measure_latency, skewed, 0, warmup=1, iterations=8)
expect("the model is called warmup + iterations times, not once more", skewed.calls, 9)
single = doubles.Model(clock, ms=[6.5, 1.25], cold_ms=[50.5])
clock.run(measure_latency, single, 0, 0, 1)
# vary: 3 in 2..9
clock.run(measure_latency, single, 0, 3, 1)
expect("single calls make no more calls than asked for", single.calls, 5)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measure_latency_3", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
clock = doubles.Clock()
module = doubles.Logged(doubles.Model(clock, ms=[0.123456], cold_ms=[50.5]))
expect("one call, cold", clock.run(measure_latency, module, 7, 0, 1), 50.5, rel=1e-6)
expect("the same, warm", clock.run(measure_latency, module, 7, 0, 1), 0.123456, rel=1e-6)
once = clock.run(measure_latency, module.eval(), 7, warmup=1, iterations=1)
expect("after another call", once, 0.123456, rel=1e-6)
expect("each call gets x", module.seen, [7, 7, 7, 7])
expect("a model in eval stays in eval", module.training, False)
clock.run(measure_latency, module.train(), 7, warmup=0, iterations=1)
expect("a model in training stays in training", module.training, True)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
inner = doubles.Model(clock, ms=[2.125, 2.375])
module = doubles.Logged(inner)
# vary: 9 in 2..18
clock.run(measure_latency, module, 9, warmup=1, iterations=2)
expect("every call gets the input, also those that warm up", module.seen, [9, 9, 9])
modes = [module.training]
clock.run(measure_latency, module.eval(), 9, warmup=1, iterations=2)
expect("a module keeps the mode that it was in", [*modes, module.training], [True, False])
### END HIDDEN TESTS


# %% nbgrader={"grade": true, "grade_id": "test_measure_latency_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def uncalled(x):
    raise RuntimeError("the model was called before the arguments were refused")


expect_table(
    lambda warmup, iterations: measure_latency(uncalled, 5, warmup, iterations),
    ("no calls, calls below 0", [(10, 0), (1, -5)], ValueError),
    ("a warm-up below 0", [(-1, 5)], ValueError),
)
### BEGIN HIDDEN TESTS
clock = doubles.Clock()
# vary: 3.25 in 2.17..4.88, 4.75 in 3.17..7.12
inner = doubles.Model(clock, ms=[3.25, 4.75])
module = doubles.Logged(inner)
# vary: 6.75 in 4.5..10.1
slow = doubles.Model(clock, ms=[6.75])
# vary: 3 in 2..9
after = clock.run(measure_latency, slow, 0, 3, 2)
expect("a warm-up may be longer than what is timed", after, 6.75, rel=1e-6)
pair = clock.run(measure_latency, module, 7, 0, 2)
expect("no warm-up is allowed", pair, 4.0, rel=1e-6)
expect_raises(
    "a warm-up below zero is an error", lambda: measure_latency(module, 7, -1, 5), ValueError
)
expect_raises(
    "fewer than one timed call is an error", lambda: measure_latency(module, 7, 1, -5), ValueError
)
expect("a refused measurement makes no call", module.seen, [7, 7])
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_mistakes", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws five ways to measure one service, each tried twelve times.
import demos

ways = {
    "one call": lambda model: measure_latency(model, 0, warmup=0, iterations=1),
    "one call, time.time": demos.by_wall_clock,
    "mean of ten": lambda model: statistics.mean(demos.ten(measure_latency, model)),
    "fastest of ten": lambda model: min(demos.ten(measure_latency, model)),
    "median of ten after two": lambda model: measure_latency(model, 0, 2, 10),
}
said = {name: demos.on_service(way) for name, way in ways.items()}
for name, times in said.items():
    print(f"{name:<26}{min(times):>10,.1f} to {max(times):>10,.1f} ms")
demos.estimates(said, truth=4.1, limits=(-8, 44), title="Five ways to measure one service")

# %% [markdown]
# This service runs on the scripted clock.
# Its calls take 4.1 ms in the median, one in twelve takes 38 ms, and the first two are cold.
# A single call, or a mean, depends on the calls it happens to catch.
# The fastest of ten is steady, but three users in four wait longer.
# Only your median after a warm-up says, every time, how long an ordinary user waits.
#
# How slow is a cold start on your machine?
# The next cell starts Python several times and makes twenty calls in each new process.

# %% nbgrader={"grade": false, "grade_id": "demo_cold", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the first twenty calls of LeNet-5 in newly started Pythons.
import demos

noise.show_load()
starts = [demos.first_calls(20) for _ in rounds(full=8, small=2, least=2)]
ratios = [times[0] / statistics.median(times[5:]) for times in starts]
print(f"The first call takes {min(ratios):.1f} to {max(ratios):.1f} times as long as a warm one.")
calls, title = dict(enumerate(zip(*starts, strict=True), start=1)), "LeNet-5 in a fresh Python"
demos.spans(calls, f"{len(starts)} starts", x="call", y="ms", log="y", title=title)

# %% [markdown]
# ## 5 · More than one number
#
# The median is what an ordinary user waits.
# But a page that asks a model 20 times waits for the slowest of 20 answers, so the *tail* counts too.
# The p-th *percentile* is the time that p percent of the calls do not exceed: p50 is the median; p95 and p99 describe the tail.
# With n sorted times at positions 0 to n − 1, it stands at position p / 100 · (n − 1), and between two positions you interpolate.
# For the times 10, 20, 30, 40, 50 the 95th percentile is at position 3.8, four fifths of the way from 40 to 50: 48.
# (There are other conventions; this is numpy's.)
# The *standard deviation* says how far the times spread around their mean: divide the sum of the squared deviations by n − 1, and take the root.
# For 1, 2 and 6 that is √((4 + 1 + 9) / 2) ≈ 2.65.
#
# **Predict.** One answer in twenty takes longer than p95.
# What percentage of the pages that ask 20 times get at least one such answer?

# %% tags=["guess"]
guess_slow_pages = None  # your guess: percent of the pages


# %% nbgrader={"grade": false, "grade_id": "latency_statistics", "locked": false, "schema_version": 3, "solution": true, "task": false}
def latency_statistics(times_ms):
    """Return a dict that sums up many times: mean, median, std, min, max, p50, p95, p99.

    times_ms: a list of times in ms, at least one, in any order. The function does not change it.
    All values are floats in ms, not rounded. std divides by n − 1, and is 0.0 for a single time;
    percentiles are interpolated as above, which is how np.percentile does it.

    >>> latency_statistics([30, 10, 50, 20, 40])["p95"]
    48.0
    """
    ### BEGIN SOLUTION
    if len(times_ms) == 0:
        raise ValueError("there are no times to sum up")
    p50, p95, p99 = np.percentile(times_ms, [50, 95, 99]).tolist()
    std = statistics.stdev(times_ms) if len(times_ms) > 1 else 0.0
    found = {"mean": statistics.fmean(times_ms), "median": p50, "std": std}
    return found | {"min": min(times_ms), "max": max(times_ms), "p50": p50, "p95": p95, "p99": p99}
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_latency_statistics", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
times = [3.0, 1.0, 2.0, 10.0]
said = latency_statistics(times)
expect("std", said["std"], math.sqrt(50 / 3), mistakes={"over n, not n − 1": math.sqrt(50 / 4)})
expect("p95", said["p95"], 8.95, mistakes={"between two times it goes in proportion": 10.0})
expect("the list", times, [3.0, 1.0, 2.0, 10.0], mistakes={"it was sorted": [1.0, 2.0, 3.0, 10.0]})
times.append(30.0)
expect("the same list, with a fifth time", latency_statistics(times)["max"], 30.0)
expect("300 times", latency_statistics([1.0] * 299 + [301.0])["mean"], 2.0)
said = latency_statistics([3.0, 1.0, 2.015625, 10.015625])
found = [said[key] for key in ("mean", "median", "p50", "min", "max", "p99")]
expect(
    "mean, median, p50, min, max, p99, not rounded",
    found,
    [4.0078125, 2.5078125, 2.5078125, 1.0, 10.015625, 9.80515625],
)
### BEGIN HIDDEN TESTS
# vary: 401 in 267..601
said = latency_statistics([float(n**3 % 997) for n in range(1, 401)])
found = [said[key] for key in ("min", "median", "p50", "p95", "p99", "max")]
expect(
    "percentiles are interpolated among many times, too",
    found,
    np.percentile(np.arange(1, 401) ** 3 % 997, [0, 50, 50, 95, 99, 100]),
)
expect("the mean is the sum over the count", said["mean"], np.mean(np.arange(1, 401) ** 3 % 997))
expect(
    "the standard deviation divides by n − 1",
    said["std"],
    np.std(np.arange(1, 401) ** 3 % 997, ddof=1),
)
# vary: 70.0 in 65.5..74.5, 90.0 in 85.5..110.0, 80.0 in 75.5..84.5
fifth = latency_statistics([70.0, 50.0, 90.0, 60.0, 80.0])
expect(
    "times may come in any order",
    [fifth[key] for key in ("median", "p95", "p99")],
    [70.0, 88.0, 89.6],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_latency_statistics_2", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
keys = ["mean", "median", "min", "max", "p50", "p95", "p99"]
single = dict.fromkeys(keys, 7.5) | {"std": 0.0}
expect("a single time has no spread", latency_statistics([7.5]) == single, True)
expect_table(latency_statistics, ("no times", [([],), ((),)], ValueError))
### BEGIN HIDDEN TESTS
# vary: 9.0 in 6.0..13.5
pair = latency_statistics([9.0, 1.0])
expect(
    "of two times, percentiles lie between them",
    [pair[key] for key in keys],
    [5.0, 5.0, 1.0, 9.0, 5.0, 8.6, 8.92],
)
expect("the standard deviation of two times divides by one", pair["std"], math.sqrt(32))
# vary: 2.5 in {2.25, 2.5, 2.75, 3.5}
same = latency_statistics([2.5, 2.5, 2.5])
expect("equal times do not spread", [same["std"], same["p99"]], [0.0, 2.5])
expect("the dict has these eight keys and no other", len(pair), 8)
### END HIDDEN TESTS


# %% nbgrader={"grade": false, "grade_id": "latencies", "locked": true, "schema_version": 3, "solution": false, "task": false}
def latencies(model, x, iterations=100, warmup=10):
    """Return the times in ms of single calls, in order, each measured by your own function."""
    first = measure_latency(model, x, warmup, iterations=1)
    return [first] + [measure_latency(model, x, 0, 1) for _ in range(iterations - 1)]


# %% nbgrader={"grade": false, "grade_id": "demo_histogram", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the times of 3,000 calls of LeNet-5, with mean, median and tail.
import demos

noise.show_load()
with no_grad():
    times = latencies(*demos.lenet(), demo_size(full=3000, small=200))
facts = latency_statistics(times)
print(f"The slowest call took {max(times) / facts['median']:.1f} times the median;")
print(f"{np.mean(np.array(times) > facts['mean']):.0%} of the calls took longer than the mean.")
marks = {key: facts[key] for key in ("median", "mean", "p95", "p99")}
demos.histogram(times, marks, title=f"LeNet-5, one image, {len(times):,} calls")

# %% nbgrader={"grade": false, "grade_id": "demo_pages", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints how many pages get a slow answer, by how often they ask.
for asks in (1, 5, 20, 100):
    slow = [1 - share**asks for share in (0.95, 0.99)]
    print(f"asked {asks:>3} times: {slow[0]:.1%} wait longer than p95, {slow[1]:.1%} than p99")
guesses.compare("pages with a slow answer in 20", guess_slow_pages, 100 * (1 - 0.95**20), "%")

# %% [markdown]
# Of n independent answers, at least one is slower than p95 with probability 1 − 0.95ⁿ.
# (If slow answers come in bursts, fewer pages are affected, but each has several.)
#
# **Take a break here.** What follows needs only `Timer`, `timer_resolution_ms`, `measure_latency`, `latencies` and `latency_statistics` from above.
#
# ## 6 · How sure are you?
#
# Measure again, and you get another median.
# How far is yours from the *true* median, the one of infinitely many calls?
# There is an answer that assumes nothing about how the times are distributed.
# Each time falls below the true median with probability ½, like a coin that shows heads.
# Now sort n times.
# The interval from the l-th smallest to the l-th largest time misses the true median in two cases:
#
# | the true median lies | when fewer than l of the n coins show |
# |---|---|
# | below the l-th smallest time | heads |
# | above the l-th largest time | tails |
#
# How probable these are can be counted:
#
# ![Ten sorted times as dots; the interval from the 2nd to the 9th holds the true median. Below, a bar for each number of heads in ten throws; 2 to 8 are dark.](ranks.png)
#
# Ten coins fall in 1,024 ways.
# One of them shows no heads, and ten show exactly one.
# So with l = 2 the interval misses in 2 · (1 + 10) of 1,024 cases: from the 2nd to the 9th of ten times, it holds the true median with a probability of 97.9 %.
# With l = 3 it would be 89.1 %, so for *at least* 95 % you take l = 2.
# From the smallest to the largest of five times it is 93.8 %: five measurements never give a 95 % interval.
# What you compute is a *confidence interval*; 95 % is its *confidence*.
#
# <details><summary>Hint 1: what does it cost to move both ends one place inwards?</summary>
#
# Look at the bars in the picture.
# With l = 1 the interval misses if all coins show the same side.
# With l = 2 it also misses if exactly one coin differs from the rest.
# Which bars are added with l = 3?
#
# </details>
#
# <details><summary>Hint 2: the result is right, but thousands of times take minutes</summary>
#
# The misses of l + 1 are the misses of l and one more binomial coefficient.
# Keep a running sum from one l to the next: at 3,000 times that makes about 1,500 coefficients instead of a million.
# Keep whole numbers until the last division, because 0.5ⁿ is too small for a float from n = 1,075 on.
#
# </details>


# %% nbgrader={"grade": false, "grade_id": "confidence_interval", "locked": false, "schema_version": 3, "solution": true, "task": false}
def confidence_interval(times_ms, confidence=0.95):
    """Return an interval that holds the true median with a probability of at least `confidence`.

    times_ms: a list in any order, perhaps of thousands. The function does not change it.
    confidence: above 0 and below 1.
    Returns (low, high), the l-th smallest and the l-th largest time, for the largest l that
    suffices by the exact binomial distribution. Raises ValueError when no l suffices (fewer than 6
    times at 95 %), when confidence is out of range, and for a time that is NaN.

    >>> confidence_interval([2.5, 2.9, 2.4, 2.6, 9.0, 2.7, 2.8, 2.3])
    (2.3, 9.0)
    """
    ### BEGIN SOLUTION
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, which {confidence} does not")
    if any(math.isnan(ms) for ms in times_ms):
        raise ValueError("NaN is no time: it is neither above nor below the median")
    n, rank, missed = len(times_ms), 0, 1
    while 1 - 2 * missed / 2**n >= confidence:
        rank += 1
        missed += math.comb(n, rank)
    if rank == 0:
        raise ValueError(f"{n} times are too few for a confidence of {confidence}")
    ordered = sorted(times_ms)
    return ordered[rank - 1], ordered[n - rank]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_confidence_interval", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
times = [5.0, 4.0, 90.0, 4.5, 4.2, 6.0, 4.8, 7.0, 4.1, 5.5]
expect(
    "10 times",
    confidence_interval(times),
    (4.1, 7.0),
    mistakes={
        "smallest and largest: wider than it need be": (4.0, 90.0),
        "one rank too far in: 89.1 %": (4.2, 6.0),
        "the times are not sorted": (4.0, 4.1),
    },
)
found = [confidence_interval(times), times[:4]]
expect("the list stays in its order", found[1], [5.0, 4.0, 90.0, 4.5])
six = [3.0, 1 + 2**-25, 8.0, 2.0, 4.0, 9.0625]
expect("6 times, not rounded", confidence_interval(six), (1 + 2**-25, 9.0625))
expect("25 times", confidence_interval([float(n * 7 % 26) for n in range(1, 26)]), (8.0, 18.0))
expect("17 times", confidence_interval([float(n * 5 % 18) for n in range(1, 18)]), (5.0, 13.0))
### BEGIN HIDDEN TESTS
hundred = [float(n * 37 % 101) for n in range(1, 101)]
# vary: 31 in 20..46
thirty = [float(n * 7 % 31) for n in range(1, 31)]
expect(
    "for many times the ranks lie close to the middle", confidence_interval(hundred), (40.0, 61.0)
)
expect(
    "the rank is the largest that still reaches the confidence",
    confidence_interval(thirty),
    (10.0, 21.0),
)
# vary: 1.0 in 0.82..1.0, 7.0 in 6.55..8.57
expect(
    "of few times the smallest and the largest are needed",
    confidence_interval([3.0, 6.0, 1.0, 4.0, 7.0, 2.0, 5.0]),
    (1.0, 7.0),
)
found = [confidence_interval(hundred), hundred[:3]]
expect("the list is not sorted in place", found[1], [37.0, 74.0, 10.0])
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_confidence_interval_2", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}

times = [5.0, 4.0, 90.0, 4.5, 4.2, 6.0, 4.8, 7.0, 4.1, 5.5]
expect("10 times, 50 %", confidence_interval(times, confidence=0.5), (4.5, 5.5))
expect("10 times, 99 %", confidence_interval(times, 0.99), (4.0, 90.0))
expect("3 times, 70 %", confidence_interval([2.0, 3.0, 1.0], 0.7), (1.0, 3.0))
expect("20 times, 99 %", confidence_interval([float(n) for n in range(1, 21)], 0.99), (4.0, 17.0))
expect("just enough", confidence_interval([2.0, 3.0, 1.0, 4.0, 6.0, 5.0], 0.96875), (1.0, 6.0))
### BEGIN HIDDEN TESTS
# vary: 101 in 67..151
hundred = [float(n * 37 % 101) for n in range(1, 101)]
thirty = [float(n * 7 % 31) for n in range(1, 31)]
# vary: 0.8 in 0.533..0.9
expect(
    "a lower confidence gives a narrower interval",
    confidence_interval(hundred, confidence=0.8),
    (44.0, 57.0),
)
# vary: 0.99 in 0.96..0.995
expect("a higher confidence gives a wider interval", confidence_interval(thirty, 0.99), (8.0, 23.0))
# vary: 7.0 in 6.55..10.5, 4.1 in 4.05..4.14
expect(
    "at a lower confidence the rank moves only if the probability allows it",
    confidence_interval([5.0, 4.0, 90.0, 4.5, 4.2, 6.0, 4.8, 7.0, 4.1, 5.5], 0.9),
    (4.1, 7.0),
)
# vary: 5.0 in 3.33..5.45, 7.0 in 6.55..8.57
expect(
    "a low confidence needs only a few times", confidence_interval([5.0, 7.0, 6.0], 0.3), (5.0, 7.0)
)
expect(
    "a confidence that is reached exactly is enough",
    confidence_interval([1.5, 2.5], 0.5),
    (1.5, 2.5),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_confidence_interval_3", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
many = [float(n * 7 % 1201) for n in range(1, 1201)]
expect("1,200 times", confidence_interval(many), (566.0, 635.0))
# The next case takes less than a second. If yours takes longer, open hint 2: the grader allows 5 s.
lots = [float(n * 7 % 3001) for n in range(1, 3001)]
expect("3,000 times", confidence_interval(lots), (1446.0, 1555.0))
### BEGIN HIDDEN TESTS
more = [float(n * 11 % 1501) for n in range(1, 1501)]
expect(
    "the exact distribution is used for thousands of times, too",
    confidence_interval(more),
    (712.0, 789.0),
)
# vary: 23 in 15..34
expect(
    "the ranks are counted from both ends alike",
    confidence_interval([float(n * 5 % 23) for n in range(1, 23)]),
    (6.0, 17.0),
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_confidence_interval_4", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
expect_table(
    confidence_interval,
    ("5 times, no times", [([3.0, 1.0, 9.0, 2.0, 4.0],), ([],)], ValueError),
    ("a single time", [([1.0], 0.5)], ValueError),
    ("NaN is no time", [([math.nan] + [1.0] * 9,), ([3.0, 1.0] * 4 + [math.nan],)], ValueError),
    (
        "a confidence of 1, of 95 for 0.95, of 0, below 0",
        [([1.0] * 60, 1.0), ([1.0] * 20, 95), ([1.0] * 20, 0.0), ([1.0] * 20, -0.5)],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 2.5 in 1.67..3.75, 1.25 in 0.833..1.88
expect("two times reach one half", confidence_interval([2.5, 1.25], 0.5), (1.25, 2.5))
# vary: 1.5 in 1.16..1.95, 9.0 in 6.07..11.0
expect("three times reach three quarters", confidence_interval([2.5, 1.5, 9.0], 0.75), (1.5, 9.0))
expect_raises(
    "if even the smallest and the largest time do not suffice, that is an error",
    lambda: confidence_interval([1.0, 2.0] * 3, 0.97),
    ValueError,
)
expect_raises("certainty is out of range", lambda: confidence_interval([1.0] * 9, 1), ValueError)
expect_raises(
    "a confidence must be above zero", lambda: confidence_interval([1.0] * 9, 0), ValueError
)
expect_raises(
    "a single time gives no interval", lambda: confidence_interval([3.0], 0.1), ValueError
)
expect_raises(
    "NaN has no rank", lambda: confidence_interval([4.0, math.nan, 2.0] * 3, 0.9), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_interval", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the interval of the first 10 to 3,000 calls.
import demos

noise.show_load()
sizes = demo_size(full=[10, 30, 100, 300, 1000, 3000], small=[10, 30, 100])
with no_grad():
    times = latencies(*demos.lenet(), sizes[-1])
points = [(n, statistics.median(times[:n]), *confidence_interval(times[:n])) for n in sizes]
for n, middle, low, high in points:
    print(f"first {n:>5,} calls: {low:.4f} to {high:.4f} ms, {(high - low) / middle:.1%} wide")
rows, title = {"median and 95 % interval": points}, "LeNet-5, one image"
demos.intervals(rows, x="the first n calls", y="ms", log="x", title=title)

# %% [markdown]
# If the calls behave like coins, four times as many calls halve the width of the interval.
#
# Does the interval keep its promise?
# Test it where the true median is known: draw n times from a skewed distribution, check whether the interval holds the median, and repeat.
# The plot also shows the textbook interval for the mean, x̄ ± 1.96 s / √n, tested on the true mean.


# %% nbgrader={"grade": false, "grade_id": "demo_coverage", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws how often each kind of interval keeps its promise of 95 %.
import demos

counted = {10: 0.9785, 30: 0.9572, 100: 0.9648}  # by the binomial distribution
rules = {"ranks": (confidence_interval, "median"), "x̄ ± 1.96 s/√n": (demos.textbook, "mean")}
tries = demo_size(full=3000, small=200)
held = demos.coverage(rules, counted, tries)
for (rule, name), shares in ({("ranks", "counted"): counted} | held).items():
    print(f"{f'{rule}, {name}':<30}", *(f"n = {n}: {share:>6.1%}  " for n, share in shares.items()))
demos.promises(held, counted, tries, title="Intervals that promise 95 %")

# %% [markdown]
# The intervals by ranks keep their promise for any distribution, as long as no time depends on those before it.
# The textbook interval fails when a few slow calls carry the mean.
#
# **How to compare.** Measure a model before and after a change *in turns*, so that whatever disturbs one also disturbs the other.
# Then look at both intervals.
# If they do not overlap, the medians differ.
# If they do overlap, *this rule* cannot tell.
# That does not make the two equal: the rule asks for much more than 95 %.
# Where two 95 % intervals of means just touch, [p ≈ 0.006](https://doi.org/10.1198/000313001317097960): of two equal programs, chance alone separates the intervals in 6 of 1,000 experiments.
# So it rarely gives a false alarm, but misses most small gains.
#
# **Predict.** A change saves 3 %.
# Single calls spread by 6 %, and you measure 30 calls before and 30 after.
# In how many of 100 such experiments do the two intervals not overlap?


# %% nbgrader={"grade": false, "grade_id": "told_apart", "locked": true, "schema_version": 3, "solution": false, "task": false}
def in_turns(cases, rounds):
    """Return the times in ms of cases {name: (model, x)}: each round warms up and times each."""
    times = {name: [] for name in cases}
    for _ in rounds:
        for name, (model, x) in cases.items():
            times[name].append(measure_latency(model, x, warmup=1, iterations=1))
    return times


def told_apart(name, times_ms, other, other_ms):
    """Return a sentence on which of two is faster, if their 95 % intervals do not overlap."""
    (low, high), (other_low, other_high) = map(confidence_interval, (times_ms, other_ms))
    median, others = map(statistics.median, (times_ms, other_ms))
    said = f"{name} {median:.3g} ms, {other} {others:.3g} ms: "
    if low <= other_high and other_low <= high:
        return said + "the intervals overlap, so this rule cannot tell them apart"
    faster, shorter = (name, median) if median < others else (other, others)
    if shorter == 0:
        return said + f"{faster} is faster, by a factor that a time of 0 does not give"
    return said + f"{faster} is {max(median, others) / shorter:.2f} times as fast"


# %% tags=["guess"]
guess_overlap_finds = None  # your guess: experiments of 100 in which the rule sees the gain

# %% nbgrader={"grade": false, "grade_id": "demo_overlap", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints how often the rule sees a gain of 3 %, and one of 0.
rng, tries, seen = np.random.default_rng(3), demo_size(full=3000, small=300), {}
for gain in (0.0, 0.03):
    pairs = rng.normal([[1.0], [1.0 - gain]], 0.06, (tries, 2, 30)).tolist()
    said = [told_apart("before", before, "after", after) for before, after in pairs]
    seen[gain] = 100 * sum("overlap" not in each for each in said) / tries
guesses.compare("gains of 3 % seen by the rule", guess_overlap_finds, seen[0.03], "in 100")
print(f"Of two equal programs, it calls one faster {seen[0.0]:.1f} times in 100.")

# %% [markdown]
# The rule sees about 9 of 100 such gains.
# A *rank test*, which looks only at the order of the times (lesson 08), sees about 45 in the same data, and still gives only 5 false alarms in 100. <!-- with lesson 08 -->
# A *rank test*, which looks only at the order of the times, sees about 45 in the same data, and still gives only 5 false alarms in 100. <!-- without lesson 08 -->
# So if the intervals overlap and the question matters, do not conclude that nothing changed: ask again with pairs (lesson 08). <!-- with lesson 08 -->
# So if the intervals overlap and the question matters, do not conclude that nothing changed: ask again, in turns. <!-- without lesson 08 -->
#
# **What the 95 % do not cover.** The coins must be independent, and calls in a row are not: a busy second makes all its calls slow.
# The file `calls.json` holds 6,000 calls of LeNet-5, recorded in order while other programs ran on the same two cores.
# The next cell cuts them into windows of 30, 100 and 300 calls and counts how many of the windows' intervals hold the median of all calls.
# Then it shuffles the calls, which makes them independent, and counts again.

# %% nbgrader={"grade": false, "grade_id": "demo_order", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints how many windows of recorded calls hold the median of all.
import demos

recorded = demos.recorded()  # calls.json, in ms
middle, mixed = statistics.median(recorded), np.random.default_rng(1).permutation(recorded)
orders = {"in order": recorded, "shuffled": mixed.tolist()}
for name, times in orders.items():
    for n in (30, 100, 300):
        windows = [confidence_interval(times[at : at + n]) for at in range(0, len(times), n)]
        held = sum(low <= middle <= high for low, high in windows) / len(windows)
        print(f"{name}, windows of {n:>3} calls: {held:>4.0%} hold the median of all")

# %% [markdown]
# In order, at best about one interval in five keeps its promise of 95 %, and longer windows do not help.
# So more calls in one run make the interval narrower, but not truer.
# Repeat the *run*: start the program at least six times, preferably at different hours, take the median of each run, and compute the interval of these medians (lesson 08). <!-- with lesson 08 -->
# Repeat the *run*: start the program at least six times, preferably at different hours, take the median of each run, and compute the interval of these medians. <!-- without lesson 08 -->
#
# ## 7 · A measurement that criticises itself
#
# Times carry traces of what went wrong.
# Four simple checks find them; the first two have the limits of [`pyperf`](https://pyperf.readthedocs.io/):
#
# | code | condition | what it may mean |
# |---|---|---|
# | `spread` | std ≥ 10 % of the mean | other programs were running |
# | `outliers` | min or max is 50 % or more off the mean | single calls were disturbed, or there was no warm-up |
# | `drift` | medians of first and last third differ by more than 10 % | the machine gets hot, memory fills up, or the warm-up is not over |
# | `too_short` | median < 100 × the clock's step | calibrate first |


# %% nbgrader={"grade": false, "grade_id": "measurement_warnings", "locked": false, "schema_version": 3, "solution": true, "task": false}
def measurement_warnings(times_ms, resolution_ms):
    """Return the warnings that a measurement earns: codes of the table above, in its order.

    times_ms: a list of times in ms, in the order of measurement. resolution_ms: the clock's step.
    The thirds for `drift` are the first and the last n // 3 of n times; the difference of their
    medians is compared with the median of the first. Fewer than 3 times show no drift.
    Returns a list of str, empty if all is well. A step of 0 raises ValueError, too.

    >>> measurement_warnings([10.0, 10.5, 10.0, 18.0, 10.2, 10.1, 10.4], 0.0001)
    ['spread', 'outliers']
    """
    ### BEGIN SOLUTION
    if not resolution_ms > 0:
        raise ValueError(f"a clock's step is above 0, not {resolution_ms}")
    said, third = latency_statistics(times_ms), max(1, len(times_ms) // 3)
    first, last = statistics.median(times_ms[:third]), statistics.median(times_ms[-third:])
    checks = {
        "spread": said["std"] >= 0.1 * said["mean"],
        "outliers": said["min"] <= 0.5 * said["mean"] or said["max"] >= 1.5 * said["mean"],
        "drift": len(times_ms) >= 3 and abs(last - first) > 0.1 * first,
        "too_short": said["median"] < 100 * resolution_ms,
    }
    return [code for code, holds in checks.items() if holds]
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_measurement_warnings", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
steady = [10.0, 10.2, 9.9, 10.1, 9.8, 10.0, 10.1, 9.9, 10.0]
expect("a good measurement", measurement_warnings(steady, 0.0001), [])
expect("a coarse clock", measurement_warnings(steady, resolution_ms=0.2), ["too_short"])
expect("one slow call", measurement_warnings([*steady] * 20 + [16.0], 0.0001), ["outliers"])
expect("one fast call", measurement_warnings([10.0] * 60 + [4.9], 0.06), ["outliers"])
slower = [10.0, 10.1, 10.0, 10.6, 10.5, 10.7, 11.4, 11.3, 11.5]
expect("slower and slower", measurement_warnings(slower, 0.0001), ["drift"])
expect("faster and faster", measurement_warnings(slower[::-1], 0.001), ["drift"])
found = measurement_warnings([10.0, 10.0, 10.0, 10.0, 30.0, 30.0], 1.0)
expect("all four", found, ["spread", "outliers", "drift", "too_short"])
skewed = [10.0, 12.0, 10.0, 15.2, 10.0, 10.0, 10.0]
expect("off the median, not the mean", measurement_warnings(skewed, 0.105), ["spread", "too_short"])
halves = [10.0, 10.0, 10.9, 10.9, 9.0, 9.0, 12.0, 12.0, 10.9, 10.9, 11.2, 11.2]
expect("thirds, not halves", measurement_warnings(halves, 0.0001), [])
single = [10.0, 8.5, 10.0, 10.0, 10.1, 10.0, 10.0, 11.6, 10.0]
expect("medians of thirds, not means", measurement_warnings(single, 0.0001), [])
pairs = [9.0, 11.0, 10.0, 10.0, 10.2, 11.0]
expect("the median of an even number", measurement_warnings(pairs, 0.096), [])
falling = [11.0, 11.05, 11.1, 10.5, 10.5, 10.5, 10.0, 9.95, 10.0]
expect("9.5 % less than the first third", measurement_warnings(falling, 0.0001), [])
expect("the list", falling, [11.0, 11.05, 11.1, 10.5, 10.5, 10.5, 10.0, 9.95, 10.0])
expect_raises("no times", lambda: measurement_warnings([], 0.001), ValueError)
### BEGIN HIDDEN TESTS
sinking = [23.0, 22.6, 22.8, 21.4, 21.0, 21.2, 20.0, 20.2, 20.0]
expect("drift is a warning in both directions", measurement_warnings(sinking, 0.001), ["drift"])
expect("drift and a coarse clock", measurement_warnings(sinking, 0.5), ["drift", "too_short"])
expect(
    "a single call far below the mean is an outlier",
    measurement_warnings([8.0] * 60 + [3.9], 0.01),
    ["outliers"],
)
uneven = [20.0, 24.0, 20.0, 30.4, 20.0, 20.0, 20.0]
expect(
    "spread and outliers are measured against the mean, not the median",
    measurement_warnings(uneven, 0.21),
    ["spread", "too_short"],
)
expect(
    "a spread just below a tenth of the mean is no warning",
    measurement_warnings([10.0, 12.1, 10.0] * 3, 0.0001),
    [],
)
expect(
    "a wide spread without outliers is one warning",
    measurement_warnings([8.5, 11.5, 8.6, 11.4] * 3, 0.0001),
    ["spread"],
)
parts = [5.0, 5.0, 5.45, 5.45, 4.5, 4.5, 6.0, 6.0, 5.45, 5.45, 5.6, 5.6]
expect("drift compares thirds, not halves", measurement_warnings(parts, 0.0001), [])
late = [10.0, 10.0, 10.0, 10.0, 10.1, 10.9, 11.3, 11.3, 11.3, 10.0]
expect("a third has n // 3 times", measurement_warnings(late, 0.0001), ["drift"])
odd = [20.0, 17.0, 20.0, 20.0, 20.2, 20.0, 20.0, 23.2, 20.0]
expect("drift compares medians, not means", measurement_warnings(odd, 0.0001), [])
# vary: 22.0 in 21.6..22.0
down = [22.0, 22.1, 22.2, 21.0, 21.0, 21.0, 20.0, 19.9, 20.0]
expect("drift is measured against the first third", measurement_warnings(down, 0.0001), [])
expect(
    "the list of times is not changed", down, [22.0, 22.1, 22.2, 21.0, 21.0, 21.0, 20.0, 19.9, 20.0]
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_measurement_warnings_2", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect("exactly 10 %", measurement_warnings([9.0, 10.0, 11.0, 11.0, 9.0], 0.0001), ["spread"])
expect("exactly 50 % above", measurement_warnings([6.0, 12.0, 6.0], 0.01), ["spread", "outliers"])
expect("exactly 50 % below", measurement_warnings([12.5, 5.0, 12.5], 0.01), ["spread", "outliers"])
expect("100 steps are enough", measurement_warnings([6.25] * 4, 0.0625), [])
expect("just below 100 steps", measurement_warnings([6.25] * 4, 0.0626), ["too_short"])
expect("10 % less is no drift", measurement_warnings([10.0] * 3 + [9.5] * 3 + [9.0] * 3, 0.001), [])
expect("three times have thirds", measurement_warnings([10.0, 10.0, 11.5], 0.001), ["drift"])
expect("two times have none", measurement_warnings([5.0, 5.6], 0.0001), [])
expect("a single time", measurement_warnings([5.0], 0.0001), [])
expect("too short and alone", measurement_warnings([5.0], 1.0), ["too_short"])
expect_raises("no step", lambda: measurement_warnings([1.0, 1.0], 0.0), ValueError)
expect_raises("a step below 0", lambda: measurement_warnings([1.0, 1.0], -1.0), ValueError)
### BEGIN HIDDEN TESTS
expect(
    "exactly a hundred steps are enough, a little less is not",
    [measurement_warnings([12.5] * 3, step) for step in (0.125, 0.1251)],
    [[], ["too_short"]],
)
expect(
    "exactly 50 % above, by a coarse clock",
    measurement_warnings([12.0, 24.0, 12.0], 0.25),
    ["spread", "outliers", "too_short"],
)
expect(
    "a call at exactly half of the mean is an outlier",
    measurement_warnings([10.0, 4.0, 8.0, 10.0], 0.001),
    ["spread", "outliers"],
)
expect(
    "a difference of exactly a tenth is no drift",
    measurement_warnings([40.0, 40.0, 38.0, 36.0, 36.0], 0.001),
    [],
)
expect("a single time has no spread and no drift", measurement_warnings([7.5], 0.0001), [])
expect("two times show no drift", measurement_warnings([5.0, 5.4], 0.0001), [])
expect("a single time can be too short", measurement_warnings([2.5], 0.5), ["too_short"])
expect_raises(
    "the step of a clock is above zero", lambda: measurement_warnings([2.0, 3.0], -0.5), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_warnings", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo", "nbval-check-output"]
# Prints the warnings of series that were made up.
import demos

for name, (times, step) in demos.faulty().items():
    print(f"{name:<18} {', '.join(measurement_warnings(times, step)) or 'no warning'}")

# %% nbgrader={"grade": false, "grade_id": "demo_warnings_here", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws calls of four models on this machine, and prints their warnings.
import demos

noise.show_load()
series, cases = {}, demos.small_models() | {"a layer, 2 → 2": demos.tiny_layer()}
for name, (model, x) in cases.items():
    with no_grad():
        times = series[name] = latencies(model, x, demo_size(full=100, small=30))
    codes = ", ".join(measurement_warnings(times, timer_resolution_ms())) or "no warning"
    low, high = confidence_interval(times)
    print(f"{name:<20} 95 % interval {low:.4g} to {high:.4g} ms; {codes}")
demos.runs(series, title="Measured here, in order")

# %% [markdown]
# The first cell's times are made up, to show one code at a time.
# The second cell's come from your machine, and may well earn a code.
# If so, close other programs, and repeat in fresh processes on several days.
#
# ## 8 · Many at once
#
# *Throughput* is the number of samples processed in a second: a batch of 8 that takes 4 ms makes 8 / 0.004 = 2,000 a second.
# Samples that go through a model together, as a *batch*, pay its overhead only once.
# So a larger batch can raise the throughput, but everyone in it waits for the whole batch.


# %% nbgrader={"grade": false, "grade_id": "throughput", "locked": false, "schema_version": 3, "solution": true, "task": false}
def throughput(batch_size, latency_ms):
    """Return the number of samples processed in a second, a float.

    batch_size: int, at least 1. latency_ms: how long the whole batch takes. A latency of 0 raises
    ValueError, too.

    >>> throughput(8, 4.0)
    2000.0
    """
    ### BEGIN SOLUTION
    if batch_size < 1 or not latency_ms > 0:
        raise ValueError(f"{batch_size} samples in {latency_ms} ms is not possible")
    return 1000 * batch_size / latency_ms
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_throughput", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
expect_table(
    throughput,
    ("one in 5 ms", (1, 5.0), 200.0),
    (
        "32 in 35 ms",
        (32, 35.0),
        32_000 / 35,
        {"the batch is left out": 1000 / 35, "ms a sample, the other way round": 35 / 32},
    ),
    ("32 again, in 70 s", (32, 70_000.0), 32 / 70),
    ("700 in a quarter of a ms", (700, 0.25), 2_800_000.0),
    ("no samples, a negative batch", [(0, 5.0), (-8, 2.0)], ValueError),
    ("a latency of 0, below 0", [(8, 0.0), (8, -2.0)], ValueError),
    ("a negative batch and a negative latency", [(-8, -2.0)], ValueError),
)
### BEGIN HIDDEN TESTS
# vary: 128 in 85..192, 16.0 in 10.7..24.0
expect("each sample of a large batch counts", throughput(128, 16.0), 8000.0)
# vary: 64 in 42..96, 65 in 43..97, 3 in 2..9, 4500.0 in 3000.0..6750.0, 9 in 2..18
rates = [throughput(64, 65), throughput(3, 4500.0), throughput(9, 0.125)]
expect(
    "a short and a long latency are both turned into seconds", rates, [64_000 / 65, 2 / 3, 72_000.0]
)
expect_raises("a latency of zero is an error", lambda: throughput(1, 0), ValueError)
expect_raises("a latency below zero is an error", lambda: throughput(3, -0.5), ValueError)
expect_raises(
    "two negative arguments are an error, though their quotient is positive",
    lambda: throughput(-1, -4.0),
    ValueError,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_batch", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws throughput against latency, by batch size.
import demos

noise.show_load()
sizes = demo_size(full=[1, 2, 4, 8, 16, 32, 64, 128], small=[1, 8, 32])
with no_grad():
    times = in_turns({n: demos.lenet(n) for n in sizes}, rounds(full=40, small=8))
rows, look = [], {"interval": confidence_interval, "warn": measurement_warnings}
for n in sizes:
    found = noise.tell(f"a batch of {n}", times[n], "ms", **look)
    ms = float(found), found.low, found.high
    rows.append((str(n), ms, [throughput(n, each) for each in ms]))
few, many = ([ms / n for ms in times[n]] for n in (sizes[0], sizes[-1]))
print("An image " + told_apart("alone", few, f"as one of {sizes[-1]}", many))
demos.trade_off(rows, x="latency in ms", y="images a second", title="LeNet-5, by batch size")

# %% [markdown]
# Do the points jump to the right and down somewhere?
# From a certain size on, numpy computes with several threads.
# They wait for each other, and they wait long if another program holds a core.
# What you see is true of this machine at this hour.
#
# ## 9 · The first token, and the next
#
# A language model has two latencies.
# Before the *first token* it must read the whole prompt, all tokens at once.
# For each *further token* it reads just one more, but attention needs the keys and values of all tokens before it.
# These do not change, so they can be kept in a *KV cache*.
# Without one, the model reads the whole text again for each token.
#
# ![A row of squares for each new token. Without a cache all squares are dark: computed again. With one, only the last of each row is.](cache.png)
#
# **Predict.** A GPT-2 of 4 blocks, 512 wide, reads a prompt of 32 tokens and writes 5 more.
# By what factor does the cache shorten the time of each further token?

# %% tags=["guess"]
guess_kv_cache = None  # your guess: time without a cache / time with one

# %% nbgrader={"grade": false, "grade_id": "demo_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws the times of the first and of each further token, with and without a cache.
import demos

noise.show_load()
size = demo_size(full=(10_000, 1024, 512, 4, 8), small=(500, 64, 64, 2, 2))
first, further, same = demos.token_times(Timer(), size, rounds(full=40, small=6))
print("The 5 tokens with and without a cache are", "the same." if same else "NOT the same.")
for token, times in {"First token:  ": first, "Further token:": further}.items():
    print(token, told_apart("with a cache", times["with a cache"], "without", times["without"]))
ms, look = {}, {"interval": confidence_interval, "warn": measurement_warnings}
for way, times in further.items():
    ms[way] = noise.tell(f"a further token, {way}", times, "ms", **look)
factor = ms["without"] / ms["with a cache"]
guesses.compare("a further token, without a cache over with one", guess_kv_cache, factor)
demos.tokens(first, further, title="GPT-2, a prompt of 32 tokens, a dot for each round")

# %% [markdown]
# The weights are random, and so is the text, but the work is that of a trained model.
# A cache costs memory, for each token of each text; lesson 12 counts it.
#
# ## 10 · Where the time goes, a first look
#
# So far each call was one number.
# Python's own `cProfile` notes when each function starts and ends, and adds up its *own time*, without that of the functions it calls.
# From Python 3.15 on it is also `profiling.tracing`.

# %% nbgrader={"grade": false, "grade_id": "demo_cprofile", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Draws LeNet-5's own time by function, and prints what watching costs.
import cProfile

import demos

noise.show_load()
(model, x), profile = demos.lenet(), cProfile.Profile()
cases = {"plain": (model, x), "under cProfile": (lambda x: profile.runcall(model, x), x)}
with no_grad():
    times = in_turns(cases, rounds(full=300, small=30))
for name, ms in times.items():
    noise.tell(name, ms, "ms", interval=confidence_interval, warn=measurement_warnings)
print(told_apart("plain", times["plain"], "under cProfile", times["under cProfile"]))
title, show = "LeNet-5, one image", "{:.0%}".format
plot.bars(demos.own_time(profile), unit="share of own time", title=title, show=show)

# %% [markdown]
# The first line compares calls with and without the profiler, in turns.
# A profiler that watches each call adds time to it, and so exaggerates short functions that are called often.
# Use its shares to find out where to look, and measure times without it.
# Lesson 05 builds a profiler whose overhead you know.

# %% [markdown]
# ### In torch
#
# ```python
# import torch
# from torch.utils.benchmark import Timer
# model, x = torch.nn.Linear(512, 512), torch.rand(32, 512)
# timer = Timer("model(x)", globals={"model": model, "x": x}, num_threads=1)
# print(timer.blocked_autorange(min_run_time=1))
# ```
#
# [`torch.utils.benchmark`](https://docs.pytorch.org/docs/stable/benchmark_utils.html) warms up, chooses the number of calls in a sample as your `calibrate` does, waits for a GPU to finish, and prints the median and the interquartile range.
# It hides the tail, because each sample is an average over many calls, and it measures one run in one process, so the interquartile range is no confidence interval.

# %% [markdown]
# ## Reflect
#
# Which batch size should a server use?
# That depends on what its users need, so the rule is an argument.
# For the samples a second you may use `throughput` from section 8.


# %% nbgrader={"grade": false, "grade_id": "best_batch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best_batch(sizes, latencies_ms, rule):
    """Return the batch size to choose, one of those that were measured.

    sizes: a list of batch sizes, in any order. latencies_ms: how long each takes.
    rule: "throughput" chooses the most samples a second, "latency" the shortest time, "efficiency"
    the smallest size that reaches 90 % of the best throughput. A tie goes to the smallest size.
    A time of 0 raises ValueError, too. The lists stay as they are.

    >>> best_batch([16, 32], [14, 26], "efficiency")
    16
    """
    ### BEGIN SOLUTION
    if len(sizes) == 0 or len(sizes) != len(latencies_ms):
        raise ValueError(f"{len(sizes)} sizes and {len(latencies_ms)} latencies do not match")
    measured = sorted(zip(sizes, latencies_ms, strict=True))
    rates = {size: throughput(size, latency) for size, latency in measured}
    if rule == "throughput":
        return max(rates, key=rates.get)
    if rule == "latency":
        return min(measured, key=lambda pair: pair[1])[0]
    if rule == "efficiency":
        return next(size for size, rate in rates.items() if rate >= 0.9 * max(rates.values()))
    raise ValueError(f"there is no rule {rule!r}: throughput, latency or efficiency")
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "test_best_batch", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
sizes, times = [1, 8, 32, 64], [5.0, 12.0, 35.0, 65.0]
mixed, taken = [60, 3, 120, 9, 30], [70, 7, 165, 13, 42]
expect_table(
    best_batch,
    ("the most samples a second", (sizes, times, "throughput"), 64),
    ("the shortest time", (sizes, times, "latency"), 1),
    (
        "90 % of the best throughput",
        (sizes, times, "efficiency"),
        32,
        {"the largest batch that reaches it": 64, "90 % of all batches": 8},
    ),
    ("sizes in any order, by throughput", (mixed, taken, "throughput"), 60),
    ("by latency", (mixed, taken, "latency"), 3),
    ("by efficiency", (mixed, taken, "efficiency"), 60),
)
found = [best_batch(mixed, taken, rule="throughput"), mixed]
expect("the sizes stay in their order", found[1], [60, 3, 120, 9, 30])
mixed[2], taken[3] = 30_000, 6
expect("the lists with other numbers", best_batch(mixed, taken, "latency"), 9)
### BEGIN HIDDEN TESTS
# vary: 8 in 8..9
mixed, taken = [64, 2, 128, 8, 32], [75.0, 6.5, 170.0, 11.0, 40.0]
rules = ["throughput", "latency", "efficiency"]
expect(
    "each rule finds its batch, whatever the order of the sizes",
    [best_batch(mixed, taken, rule) for rule in rules],
    [64, 2, 32],
)
chosen = [best_batch(mixed, taken, each) for each in rules]
expect("both lists are left as they were", [mixed, taken[0]], [[64, 2, 128, 8, 32], 75.0])
taken[2] = 130.0
expect(
    "the same lists with another time have another answer",
    [best_batch(mixed, taken, rule) for rule in rules],
    [128, 2, 128],
)
# vary: 3 in 2..9
expect(
    "a single measured batch is the choice of every rule",
    [best_batch([3], [7.0], rule) for rule in rules],
    [3, 3, 3],
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_best_batch_2", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
same = [32, 8, 2], [16.0, 4.0, 8.0]
ties = [best_batch(*same, rule) for rule in ("throughput", "latency", "efficiency")]
expect("a tie goes to the smallest", ties, [8, 8, 8])
expect_table(
    best_batch,
    ("two sizes", ([4, 2], [3.0, 1.0], "throughput"), 2),
    ("300 sizes", ([*range(1, 301)], [9.0] * 300, "throughput"), 300),
    ("two equally fast ones", ([7, 6], [10.0, 10.0], "latency"), 6),
    ("exactly 90 %", ([20, 18, 10], [20.0, 20.0, 18.0], "efficiency"), 18),
    ("just below 90 %", ([20, 16, 10], [20.0, 20.0, 11.2], "efficiency"), 20),
    ("the smallest that reaches 90 %", ([20, 19], [10.0, 10.1], "efficiency"), 19),
    ("slightly better", ([100, 200], [99.0, 197.99999], "throughput"), 200),
)
### BEGIN HIDDEN TESTS
rules = ["throughput", "latency", "efficiency"]
odd, reached = [16, 4, 1], [8.0, 2.0, 4.0]
expect(
    "of batches with the same throughput the smallest is chosen",
    [best_batch(odd, reached, rule) for rule in rules],
    [4, 4, 4],
)
expect(
    "efficiency chooses the smallest batch that reaches the limit",
    best_batch([40, 38], [10.0, 10.1], "efficiency"),
    38,
)
expect(
    "a batch at exactly 90 % of the best reaches it",
    best_batch([10, 9, 5], [10.0, 10.0, 9.0], "efficiency"),
    9,
)
expect(
    "a batch just below 90 % of the best does not reach it",
    best_batch([10, 8, 5], [10.0, 10.0, 5.6], "efficiency"),
    10,
)
# vary: 10 in 10..15
expect(
    "of two batches with the same latency the smaller one is chosen",
    best_batch([10, 9], [10.0, 10.0], "latency"),
    9,
)
### END HIDDEN TESTS

# %% nbgrader={"grade": true, "grade_id": "test_best_batch_3", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}

lists = [1, 2], [1.0, 2.0]
expect_table(
    best_batch,
    (
        "no sizes; three and two, two and three",
        [
            ([], [], "throughput"),
            ([1, 2, 4], [1.0, 2.0], "latency"),
            ([1, 2], [1.0, 2.0, 3.0], "latency"),
        ],
        ValueError,
    ),
    (
        "a time of 0, below 0",
        [([1, 2], [1.0, 0.0], "latency"), ([1, 2], [1.0, -2.0], "throughput")],
        ValueError,
    ),
    (
        "a size of 0, below 0",
        [([0, 2], [1.0, 2.0], "latency"), ([1, -2], [1.0, 2.0], "efficiency")],
        ValueError,
    ),
    (
        "a rule that is none of the three",
        [(*lists, "fastest"), (*lists, "latencies"), (*lists, "Latency"), (*lists, "")],
        ValueError,
    ),
)
### BEGIN HIDDEN TESTS
# vary: 5 in 5..6
expect(
    "of three batches, too, neither the largest nor the fastest",
    best_batch([96, 5, 24], [60.0, 3.0, 11.0], "throughput"),
    24,
)
# vary: 7 in 2..7
expect(
    "a time that is not the shortest may be that of the most samples",
    best_batch([7, 48], [2.0, 12.0], "throughput"),
    48,
)
expect(
    "of two batches the one with more samples a second is chosen",
    best_batch([4, 2], [1.5, 1.0], "throughput"),
    4,
)
expect_raises(
    "sizes and latencies must be of the same number",
    lambda: best_batch([8], [1.0, 2.0], "efficiency"),
    ValueError,
)
expect_raises(
    "a latency of zero is refused", lambda: best_batch([1, 2], [0.0, 1.0], "throughput"), ValueError
)
expect_raises(
    "a batch of zero is refused", lambda: best_batch([1, 0], [1.0, 2.0], "efficiency"), ValueError
)
expect_raises(
    "a negative batch is refused", lambda: best_batch([-4, 2], [1.0, 2.0], "latency"), ValueError
)
expect_raises(
    "a rule is written in lower case", lambda: best_batch([1], [1.0], "EFFICIENCY"), ValueError
)
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "demo_best", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["demo"]
# Prints which batch each rule chooses, in seven measurements.
import demos

noise.show_load()
sizes = demo_size(full=[1, 4, 16, 64], small=[1, 8])
with no_grad():
    times = in_turns({n: demos.lenet(n) for n in sizes}, rounds(full=70, small=14, least=14))
for n, ms in times.items():
    batch = f"a batch of {n}"
    noise.tell(batch, ms, "ms", interval=confidence_interval, warn=measurement_warnings)
for rule in ("throughput", "latency", "efficiency"):
    medians = ([statistics.median(times[n][part::7]) for n in sizes] for part in range(7))
    chosen = [best_batch(sizes, each, rule) for each in medians]
    votes = [f"a batch of {n} in {chosen.count(n)} of 7" for n in sorted(set(chosen))]
    print(f"{rule:<11} chooses {', '.join(votes)} measurements")

# %% [markdown]
# If the seven measurements disagree, the sizes are too close for these times to tell them apart, and something else may decide, such as memory.
#
# **Essay** (10 points, read by a person; 150 to 250 words in the cell below the times; add cells to calculate).
# A report says: "We timed a request with `time.time`, ten times, then made the change, and timed it ten times again.
# In order, in ms, we got `before` and `after`.
# The average went from 49.5 to 50.7 ms: the change made it slower."
#
# 1. What do these times say? Give a median and its 95 % interval for both, computed with your functions, and say what you left out and why.
# 2. Name three mistakes of the report, and say what each may do to the numbers.
# 3. You may measure again. Describe your method so that a colleague who doubts the result can repeat it.

# %% nbgrader={"grade": false, "grade_id": "essay_times", "locked": true, "schema_version": 3, "solution": false, "task": false}
before = [61.0, 48.2, 47.9, 48.5, 48.1, 47.8, 48.4, 49.0, 48.0, 48.3]
after = [59.2, 46.9, 47.2, 47.0, 46.8, 47.1, 47.3, 46.7, 71.5, 47.0]

# %% [markdown] nbgrader={"grade": true, "grade_id": "essay_latency", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Mark scheme.** Ten statements: one that is there as a whole earns its point, a part of it earns 0.
#
# - *1 point:* The first call of each is left out, because it is cold; or it is shown that the intervals overlap with it, 47.9 to 49.0 and 46.8 to 59.2.
# - *1 point:* Before: median 48.2 ms, 47.9 to 48.5 (`confidence_interval(before[1:])`).
# - *1 point:* After: median 47.0 ms, 46.8 to 47.3 (ranks 2 and 8 of 9).
# - *1 point:* These intervals do not overlap: “after” is lower in these data, by 2.5 %.
# - *1 point:* Ten before, *then* ten after: what else changed cannot be told apart from the change.
# - *1 point:* A mistake with its effect: `time.time` can be set; cold calls belong to a warm-up (61.0 and 59.2); 71.5 alone moves the mean from 48.4 to 50.7; no interval; or only ten calls.
# - *1 point:* A second one of these.
# - *1 point:* A third one of these.
# - *1 point:* The method: three of `perf_counter`, warm-up, in turns, median with interval.
# - *1 point:* It can be repeated: machine, versions and load are written down, and at least six fresh runs.
#
# **A good answer (10).** Two intervals from a cell, the order named as the flaw, a plan in five lines.
#
# **A poor answer (2: items 6 and 7).** “71.5 pulls the mean up by more than 2 ms, one should use the median, 48.25 and 47.05, so it is faster. Ten runs are too few to be sure.”
# ### END SOLUTION

# %% tags=["milestone"]
# You can time any model, and say how sure you are of the result.
(
    "One image takes LeNet-5 {:.3f} to {:.3f} ms here, with a confidence of 95 %.".format(
        *confidence_interval(
            latencies(models.LeNet5(), example_input(models.LeNet5(), (1, 1, 32, 32)), 200)
        )
    )
)

# %% [markdown]
# ## Summary
#
# - Use a clock that only goes forward, with steps much smaller than the time. <!-- with section 1 -->
# - Warm up, measure often, and take the median. Show the tail beside it, and say by an interval of ranks how sure you are. <!-- with latency_statistics -->
# - Warm up, measure often, take the median, and say by an interval of ranks how sure you are. <!-- with measure_latency, without latency_statistics -->
# - Compare in turns. Intervals that do not overlap show a difference. Intervals that overlap show nothing. <!-- with confidence_interval -->
# - The 95 % hold for independent calls, and calls in a row are not independent. Repeat whole runs. <!-- with confidence_interval -->
# - A larger batch can raise the throughput, but everyone in it waits longer: measure both. <!-- with section 8 -->
# - With a KV cache, the model need not read the text again for each further token. <!-- with section 9 -->
#
# | symptom | wall | cure |
# |---|---|---|
# | times of 0, or in steps | the clock's resolution | more calls in a sample: `calibrate` | <!-- with calibrate -->
# | the first calls are slow | cold start | warm-up | <!-- with measure_latency -->
# | the mean lies far above the median | a few disturbed calls | report the median, and the tail beside it | <!-- with measure_latency, section 5 -->
# | the mean lies far above the median | a few disturbed calls | report the median | <!-- with measure_latency, without section 5 -->
# | `drift`; two runs disagree | calls that depend on each other | repeat runs, in fresh processes | <!-- with section 7 -->
# | two runs disagree | calls that depend on each other | repeat runs, in fresh processes | <!-- with confidence_interval, without section 7 -->
# | the intervals overlap | too few calls, or a rule that asks too much | more rounds in turns; pairs (lesson 08) | <!-- with confidence_interval, lesson 08 -->
# | the intervals overlap | too few calls, or a rule that asks too much | more rounds, in turns | <!-- with confidence_interval, without lesson 08 -->
#
# **Next.** What does a model keep in memory while it runs? <!-- with lesson 04 -->
# Lesson 04 follows the bytes. <!-- with lesson 04 -->
# **Next.** You can time a whole model. <!-- with lesson 05, without lesson 04 -->
# Lesson 05 times each of its operations. <!-- with lesson 05, without lesson 04 -->
