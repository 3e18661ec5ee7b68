"""Lesson 06: what goes wrong when a roof is measured."""

HELPERS = """
def roof_checked(sizes, repeats):
    if not len(sizes) or min(*sizes, repeats) < 1:
        raise ValueError("at least 1")

def square(n, dtype):
    return np.ones((n, n), dtype), np.ones((n, n), dtype)

def halves(working_set, repeats):
    if working_set < 16 or repeats < 1:
        raise ValueError("too small")
    return np.ones(working_set // 2, np.uint8), np.full(working_set // 2, 2, np.uint8)

def best_copy(copy, destination, source, repeats):
    return min(timed(lambda: copy(destination, source)) for _ in range(repeats))

def timed(work, clock=None):
    clock = clock or time.perf_counter
    start = clock()
    work()
    return clock() - start
"""

_PEAK = """
    roof_checked(sizes, repeats)
    best = 0.0
    for n in sizes:
        a, b = square(n, dtype)
        {warm}
        times = [{each} for _ in range({repeats})]
        {take}
    return best{unit}
"""


def _peak(
    warm="matmul(a, b)",
    each="timed(lambda: matmul(a, b))",
    repeats="repeats",
    take="best = max(best, 2 * n**3 / min(times))",
    unit="",
):
    return _PEAK.format(warm=warm, each=each, repeats=repeats, take=take, unit=unit)


_BANDWIDTH = """
    source, destination = {arrays}
    {warm}
    times = [{each} for _ in range({repeats})]
    return {result}
"""


def _bandwidth(
    arrays="halves(working_set, repeats)",
    warm="copy(destination, source)",
    each="timed(lambda: copy(destination, source))",
    repeats="repeats",
    result="2 * source.nbytes / min(times)",
):
    return _BANDWIDTH.format(arrays=arrays, warm=warm, each=each, repeats=repeats, result=result)


MUTANTS = {
    "measure_peak_flops": {
        "the mean of the speeds": _peak(
            take="best = max(best, sum(2 * n**3 / t for t in times) / len(times))"
        ),
        "the mean of the times": _peak(take="best = max(best, 2 * n**3 * len(times) / sum(times))"),
        "the median": _peak(take="best = max(best, 2 * n**3 / median(times))"),
        "the slowest": _peak(take="best = max(best, 2 * n**3 / max(times))"),
        "the last call": _peak(take="best = max(best, 2 * n**3 / times[-1])"),
        "the first timed call": _peak(take="best = max(best, 2 * n**3 / times[0])"),
        "the first timed call is dropped": _peak(
            take="best = max(best, 2 * n**3 / min(times[1:] or times))"
        ),
        "the second best": _peak(take="best = max(best, 2 * n**3 / sorted(times * 2)[2])"),
        "the smallest size first": _peak().replace("in sizes", "in sorted(sizes)"),
        "multiply-adds": _peak(take="best = max(best, n**3 / min(times))"),
        "k − 1 additions": _peak(take="best = max(best, n * n * (2 * n - 1) / min(times))"),
        "in GFLOP/s": _peak(unit=" / 1e9"),
        "milliseconds": _peak(each="1000 * timed(lambda: matmul(a, b))"),
        "no warm-up": _peak(warm="pass"),
        "the warm-up is one of the repeats": _peak(
            repeats="repeats - 1",
            take="""
        if times:
            best = max(best, 2 * n**3 / min(times))""",
        ),
        "the warm-up is timed": _peak(
            warm="first = timed(lambda: matmul(a, b))",
            take="best = max(best, 2 * n**3 / min([first] + times))",
        ),
        "two warm-ups": _peak(warm="matmul(a, b), matmul(a, b)"),
        "one warm-up for all sizes": _peak(warm="n == sizes[0] and matmul(a, b)"),
        "warmed up with a small product": _peak(warm="matmul(*square(2, dtype))"),
        "one more repeat": _peak(repeats="repeats + 1"),
        "ten repeats always": _peak(repeats="10"),
        "the last size": _peak(take="best = 2 * n**3 / min(times)"),
        "the first size": _peak(take="best = best or 2 * n**3 / min(times)"),
        "the slowest size": _peak(take="best = min(best or math.inf, 2 * n**3 / min(times))"),
        "the mean of the sizes": _peak(take="best += 2 * n**3 / min(times)", unit=" / len(sizes)"),
        "the best time of all, for the last size": """
            roof_checked(sizes, repeats)
            times = []
            for n in sizes:
                a, b = square(n, dtype)
                matmul(a, b)
                times += [timed(lambda: matmul(a, b)) for _ in range(repeats)]
            return 2 * n**3 / min(times)
        """,
        "the largest size alone": """
            roof_checked(sizes, repeats)
            n = max(sizes)
            a, b = square(n, dtype)
            matmul(a, b)
            return max(2 * n**3 / timed(lambda: matmul(a, b)) for _ in range(repeats))
        """,
        "sizes of its own": """
            roof_checked(sizes, repeats)
            best = 0.0
            for n in (128, 256):
                a, b = square(n, dtype)
                matmul(a, b)
                for _ in range(repeats):
                    best = max(best, 2 * n**3 / timed(lambda: matmul(a, b)))
            return best
        """,
        "all work over all time": """
            roof_checked(sizes, repeats)
            work = spent = 0
            for n in sizes:
                a, b = square(n, dtype)
                matmul(a, b)
                for _ in range(repeats):
                    spent += timed(lambda: matmul(a, b))
                    work += 2 * n**3
            return work / spent
        """,
        "one time around all repeats": _peak(
            each="timed(lambda: [matmul(a, b) for _ in range(repeats)]) / repeats", repeats="1"
        ),
        "a result of another dtype": _peak(
            warm="c = np.zeros((n, n)); matmul(a, b, out=c)",
            each="timed(lambda: matmul(a, b, out=c))",
        ),
        "float64 always": _peak().replace("square(n, dtype)", "square(n, np.float64)"),
        "float32 always": _peak().replace("square(n, dtype)", "square(n, np.float32)"),
        "one operand in dtype": _peak().replace(
            "a, b = square(n, dtype)", "a, b = square(n, dtype)[0], square(n, np.float32)[0]"
        ),
        "a matrix times a vector": _peak(
            warm="matmul(a, b[:, :1])", each="timed(lambda: matmul(a, b[:, :1]))"
        ),
        "np.matmul always": _peak(warm="a @ b", each="timed(lambda: a @ b) or 1e-9"),
        "time.time": _peak(each="timed(lambda: matmul(a, b), time.time)"),
        "process_time": _peak(each="timed(lambda: matmul(a, b), time.process_time) or 1e-9"),
        "thread_time": _peak(each="timed(lambda: matmul(a, b), time.thread_time) or 1e-9"),
        "a constant": "roof_checked(sizes, repeats)\nreturn 5e9",
        "nothing is checked": _peak().replace("    roof_checked(sizes, repeats)\n", ""),
        "sizes are not checked": _peak().replace(
            "roof_checked(sizes, repeats)", "roof_checked([1], repeats)"
        ),
        "repeats are not checked": _peak(
            take="best = max([best] + [2 * n**3 / t for t in times])"
        ).replace("roof_checked(sizes, repeats)", "roof_checked(sizes, 1)"),
    },
    "measure_bandwidth": {
        "only what is read": _bandwidth(result="source.nbytes / min(times)"),
        "the mean of the speeds": _bandwidth(
            result="sum(2 * source.nbytes / t for t in times) / len(times)"
        ),
        "the mean of the times": _bandwidth(result="2 * source.nbytes * len(times) / sum(times)"),
        "the median": _bandwidth(result="2 * source.nbytes / median(times)"),
        "the slowest": _bandwidth(result="2 * source.nbytes / max(times)"),
        "the last call": _bandwidth(result="2 * source.nbytes / times[-1]"),
        "the first timed call": _bandwidth(result="2 * source.nbytes / times[0]"),
        "the first timed call is dropped": _bandwidth(
            result="2 * source.nbytes / min(times[1:] or times)"
        ),
        "the second best": _bandwidth(result="2 * source.nbytes / sorted(times * 2)[2]"),
        "write allocate is counted": _bandwidth(result="3 * source.nbytes / min(times)"),
        "in GB/s": _bandwidth(result="2 * source.nbytes / min(times) / 1e9"),
        "in GiB/s": _bandwidth(result="2 * source.nbytes / min(times) / 1024**3"),
        "bits": _bandwidth(result="16 * source.nbytes / min(times)"),
        "numbers, not bytes": """
            halves(working_set, repeats)
            source = np.ones(working_set // 16)
            destination = source.copy()
            copy(destination, source)
            return 2 * source.size / best_copy(copy, destination, source, repeats)
        """,
        "both arrays as large as the working set": _bandwidth(
            arrays="halves(2 * working_set, repeats) if working_set >= 16 else halves(0, 0)"
        ),
        "as large, and counted once": _bandwidth(
            arrays="halves(2 * working_set, repeats) if working_set >= 16 else halves(0, 0)",
            result="source.nbytes / min(times)",
        ),
        "working_set numbers of float64": """
            halves(working_set, repeats)
            source = np.ones(working_set)
            destination = source.copy()
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "working_set / 2 numbers of float32": """
            halves(working_set, repeats)
            source = np.ones(working_set // 2, np.float32)
            destination = source.copy()
            copy(destination, source)
            return working_set / best_copy(copy, destination, source, repeats)
        """,
        "no warm-up": _bandwidth(warm="pass"),
        "two warm-ups": _bandwidth(warm="copy(destination, source), copy(destination, source)"),
        "the warm-up is one of the repeats": _bandwidth(
            repeats="repeats - 1", result="2 * source.nbytes / min(times, default=math.inf)"
        ),
        "the warm-up is timed": _bandwidth(
            warm="first = timed(lambda: copy(destination, source))",
            result="2 * source.nbytes / min(times + [first])",
        ),
        "ten repeats always": _bandwidth(repeats="10"),
        "one time around all repeats": _bandwidth(
            each="timed(lambda: [copy(destination, source) for _ in range(repeats)]) / repeats",
            repeats="1",
        ),
        "a source of zeros": _bandwidth(
            arrays="halves(working_set, repeats)[0] * 0, halves(working_set, repeats)[1]"
        ),
        "a source never written": _bandwidth(
            arrays="np.zeros_like(halves(working_set, repeats)[0]), np.ones(working_set // 2, 'u1')"
        ),
        "onto itself": _bandwidth(arrays="(halves(working_set, repeats)[0],) * 2"),
        "onto a view of itself": _bandwidth(
            arrays="halves(working_set, repeats)[0], None",
            warm="destination = source[:]; copy(destination, source)",
        ),
        "two halves of one array that overlap": """
            halves(working_set, repeats)
            block = np.ones(working_set // 2 + 8, np.uint8)
            source, destination = block[:-8], block[8:]
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "two dimensions": """
            source, destination = (a.reshape(8, -1) for a in halves(working_set, repeats))
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "another dtype at the destination": """
            source, destination = halves(working_set, repeats)
            destination = destination.view(np.int8)
            copy(destination, source)
            return 2 * source.nbytes / best_copy(copy, destination, source, repeats)
        """,
        "a working set of its own": _bandwidth(
            arrays="halves(2**24 if working_set >= 16 else 0, repeats)"
        ),
        "capped at a cache": _bandwidth(arrays="halves(min(working_set, 2**20), repeats)"),
        "np.copyto always": _bandwidth(
            warm="np.copyto(destination, source)",
            each="timed(lambda: np.copyto(destination, source)) or 1e-9",
        ),
        "time.time": _bandwidth(each="timed(lambda: copy(destination, source), time.time)"),
        "process_time": _bandwidth(
            each="timed(lambda: copy(destination, source), time.process_time) or 1e-9"
        ),
        "a constant": "halves(working_set, repeats)\nreturn 32e9",
        "nothing is checked": _bandwidth(
            arrays="np.ones(working_set // 2, np.uint8), np.zeros(working_set // 2, np.uint8)",
            result="2 * source.nbytes / min(times, default=1.0)",
        ),
        "repeats are not checked": _bandwidth(
            arrays="halves(working_set, 1)", result="2 * source.nbytes / min(times, default=1.0)"
        ),
        "the working set is not checked": _bandwidth(
            arrays="halves(max(16, working_set), repeats)"
        ),
        "small sets are refused": _bandwidth(
            arrays="halves(working_set if working_set >= 4096 else 0, repeats)"
        ),
    },
}
