"""Lesson 04: what students get wrong about leaks."""

HELPERS = """
from proflab.lesson.tracebacks import function_at

def positive_steps(steps):
    if steps < 1:
        raise ValueError("steps")

def compared(step, steps, frames=25):
    with MemoryTracker(frames=frames):
        step()
        before = tracemalloc.take_snapshot()
        for _ in range(steps):
            step()
        return tracemalloc.take_snapshot().compare_to(before, "traceback")

def by_function(rows, name=own_function):
    grown = Counter()
    for row in rows:
        grown[name(row.traceback)] += row.size_diff
    return grown

def verdict(grown, steps):
    rate = sum(grown.values()) / steps
    return {"bytes_per_step": rate, "function": max(grown, key=grown.get) if rate >= 4096 else None}

right_find_leak = find_leak
"""

MUTANTS = {
    "find_leak": {
        "tracing that is on is begun anew": """
            positive_steps(steps)
            was = tracemalloc.is_tracing()
            tracemalloc.stop()
            tracemalloc.start(25)
            try:
                return right_find_leak(step, steps)
            finally:
                was or tracemalloc.stop()
        """,
        "by the system's memory": """
            found = right_find_leak(step, steps)
            before = psutil.Process().memory_info().rss
            for _ in range(steps):
                step()
            grown = psutil.Process().memory_info().rss - before
            return found | {"bytes_per_step": grown / steps}
        """,
        "a threshold for all steps together": """
            positive_steps(steps)
            grown = by_function(compared(step, steps))
            found = verdict(grown, steps)
            leaks = sum(grown.values()) >= 4096
            return found | {"function": max(grown, key=grown.get) if leaks else None}
        """,
        "the alphabet's first": """
            positive_steps(steps)
            grown = by_function(compared(step, steps))
            found = verdict(grown, steps)
            names = sorted(name for name, size in grown.items() if name and size > 10**5)
            return found | {"function": found["function"] and (names or [found["function"]])[0]}
        """,
        "the last that grew": """
            positive_steps(steps)
            rows = [row for row in compared(step, steps) if row.size_diff > 10**5]
            found = right_find_leak(step, steps)
            last = own_function(rows[-1].traceback) if rows else found["function"]
            return found | {"function": found["function"] and last}
        """,
        "who allocates the most": """
            positive_steps(steps)
            found = right_find_leak(step, steps)
            with MemoryTracker(frames=25):
                peaks = Counter()
                original = np.empty
                def watch(size, *rest, **options):
                    import sys
                    peaks[sys._getframe(1).f_code.co_name] += int(np.prod(size))
                    return original(size, *rest, **options)
                np.empty = watch
                try:
                    step()
                finally:
                    np.empty = original
            return found | {"function": peaks.most_common(1)[0][0] if peaks else None}
        """,
        "who holds the most, also what does not grow": """
            positive_steps(steps)
            with MemoryTracker(frames=25):
                step()
                before = tracemalloc.get_traced_memory()[0]
                for _ in range(steps):
                    step()
                grown = tracemalloc.get_traced_memory()[0] - before
                held = Counter()
                for row in tracemalloc.take_snapshot().statistics("traceback"):
                    held[own_function(row.traceback)] += row.size
            found = verdict(held, steps)
            rate = grown / steps
            return {"bytes_per_step": rate, "function": found["function"] if rate >= 4096 else None}
        """,
        "all steps together": """
            found = right_find_leak(step, steps)
            return found | {"bytes_per_step": found["bytes_per_step"] * steps}
        """,
        "the first step counts": """
            positive_steps(steps)
            with MemoryTracker(frames=25):
                before = tracemalloc.take_snapshot()
                for _ in range(steps + 1):
                    step()
                rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
            return verdict(by_function(rows), steps + 1)
        """,
        "no step first": """
            positive_steps(steps)
            with MemoryTracker(frames=25):
                before = tracemalloc.take_snapshot()
                for _ in range(steps):
                    step()
                rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
            return verdict(by_function(rows), steps)
        """,
        "traced only after the first step": """
            positive_steps(steps)
            step()
            with MemoryTracker(frames=25):
                before = tracemalloc.take_snapshot()
                for _ in range(steps):
                    step()
                rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
            return verdict(by_function(rows), steps)
        """,
        "one step less": """
            positive_steps(steps)
            return verdict(by_function(compared(step, steps - 1)), steps)
        """,
        "the peak of all steps": """
            found = right_find_leak(step, steps)
            with MemoryTracker() as tracker:
                for _ in range(steps):
                    step()
            return found | {"bytes_per_step": tracker.peak_mb * MB / steps}
        """,
        "only the largest": """
            positive_steps(steps)
            grown = by_function(compared(step, steps))
            found = verdict(grown, steps)
            return found | {"bytes_per_step": max(grown.values()) / steps}
        """,
        "by line": """
            positive_steps(steps)
            rows = compared(step, steps)
            found = verdict(by_function(rows), steps)
            worst = max(rows, key=lambda row: row.size_diff)
            return found | {"function": found["function"] and own_function(worst.traceback)}
        """,
        "by number of blocks": """
            positive_steps(steps)
            rows = compared(step, steps)
            blocks = Counter()
            for row in rows:
                blocks[own_function(row.traceback)] += row.count_diff
            found = verdict(by_function(rows), steps)
            return found | {"function": found["function"] and min(blocks, key=blocks.get)}
        """,
        "the innermost function, of a library too": """
            positive_steps(steps)
            name = lambda traceback: function_at(traceback[-1].filename, traceback[-1].lineno)
            return verdict(by_function(compared(step, steps), name), steps)
        """,
        "only one frame": """
            positive_steps(steps)
            return verdict(by_function(compared(step, steps, frames=1)), steps)
        """,
        "what libraries allocate is left out": """
            positive_steps(steps)
            rows = compared(step, steps)
            rows = [row for row in rows if own_function(row.traceback[-1:])]
            return verdict(by_function(rows) or Counter(nobody=0), steps)
        """,
        "the largest in the last snapshot": """
            positive_steps(steps)
            found = right_find_leak(step, steps)
            with MemoryTracker(frames=25):
                for _ in range(steps):
                    step()
                rows = tracemalloc.take_snapshot().statistics("traceback")
            return found | {"function": found["function"] and own_function(rows[0].traceback)}
        """,
        "the step's own name": """
            found = right_find_leak(step, steps)
            name = getattr(step, "__name__", type(step).__name__)
            return found | {"function": found["function"] and name}
        """,
        "a line number": """
            positive_steps(steps)
            name = lambda traceback: f"{traceback[-1].filename}:{traceback[-1].lineno}"
            return verdict(by_function(compared(step, steps), name), steps)
        """,
        "always somebody": """
            positive_steps(steps)
            grown = by_function(compared(step, steps))
            return verdict(grown, steps) | {"function": max(grown, key=grown.get)}
        """,
        "small leaks are none": """
            found = right_find_leak(step, steps)
            return found if found["bytes_per_step"] > 10**5 else found | {"function": None}
        """,
        "MB": """
            found = right_find_leak(step, steps)
            return found | {"bytes_per_step": found["bytes_per_step"] / MB}
        """,
        "what is freed counts as grown": """
            positive_steps(steps)
            with MemoryTracker(frames=25):
                step()
                with MemoryTracker() as tracker:
                    step()
            found = right_find_leak(step, steps)
            return found | {"bytes_per_step": tracker.peak_mb * MB}
        """,
        "an error leaves tracing on": """
            positive_steps(steps)
            tracker = MemoryTracker(frames=25)
            tracker.start()
            step()
            before = tracemalloc.take_snapshot()
            for _ in range(steps):
                step()
            rows = tracemalloc.take_snapshot().compare_to(before, "traceback")
            tracker.stop()
            return verdict(by_function(rows), steps)
        """,
        "errors are swallowed": """
            positive_steps(steps)
            grown = Counter(nobody=0)
            with contextlib.suppress(KeyError):
                grown = by_function(compared(step, steps))
            return verdict(grown, steps)
        """,
        "tracing is ended for all": """
            positive_steps(steps)
            tracemalloc.stop()
            return right_find_leak(step, steps)
        """,
        "steps are not checked": """
            if steps < 1:
                return {"bytes_per_step": 0.0, "function": None}
            return right_find_leak(step, steps)
        """,
        "only 0 is refused": """
            if steps == 0:
                raise ValueError
            return right_find_leak(step, abs(steps))
        """,
        "ten steps always": """
            positive_steps(steps)
            return right_find_leak(step, 10)
        """,
        "the first steps too often": """
            positive_steps(steps)
            step()
            return right_find_leak(step, steps)
        """,
    },
}
