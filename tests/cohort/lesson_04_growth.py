"""Lesson 04: what students get wrong about snapshots and leaks."""

HELPERS = """
class RightProfiler(MemoryProfiler):
    pass

def noted(profiler):
    if not profiler.snapshots:
        raise ValueError("nothing")
    return profiler.snapshots

def told(rows):
    for row in rows:
        print(f"{row['label']} {row['rss_mb']:.1f} {row['delta_mb']:.1f}")
    return rows

def rows_of(pairs, before):
    return [{"label": l, "rss_mb": mb, "delta_mb": mb - b} for (l, mb), b in zip(pairs, before)]

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
    return {"bytes_per_step": rate, "function": max(grown, key=grown.get) if rate >= 1024 else None}

right_find_leak = find_leak
"""

MUTANTS = {
    "MemoryProfiler": {
        "over the first snapshot": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    pairs = noted(self)
                    return told(rows_of(pairs, [pairs[0][1]] * len(pairs)))
        """,
        "the first is all growth": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    pairs = noted(self)
                    return told(rows_of(pairs, [0.0] + [mb for _, mb in pairs]))
        """,
        "growth of the next": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    pairs = noted(self)
                    return told(rows_of(pairs, [mb for _, mb in pairs[1:]] + [pairs[-1][1]]))
        """,
        "never less": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    rows = super().report()
                    return [row | {"delta_mb": max(0.0, row["delta_mb"])} for row in rows]
        """,
        "virtual memory": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.Process().memory_info().vms / MB
        """,
        "what is its own": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.Process().memory_full_info().uss / MB
        """,
        "what all processes use": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.virtual_memory().used / MB
        """,
        "the parent's memory": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    parent = psutil.Process(os.getppid())
                    self.snapshots[-1] = label, parent.memory_info().rss / MB
        """,
        "the highest so far, by the system": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    import resource
                    super().snapshot(label)
                    kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                    self.snapshots[-1] = label, kb / 1024
        """,
        "what Python allocated": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, tracemalloc.get_traced_memory()[0] / MB
        """,
        "bytes": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, float(psutil.Process().memory_info().rss)
        """,
        "MB of 10⁶ bytes": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.Process().memory_info().rss / 10**6
        """,
        "whole MB": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.Process().memory_info().rss // MB
        """,
        "read in the report": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    now = psutil.Process().memory_info().rss / MB
                    self.snapshots = [(label, now) for label, _ in noted(self)]
                    return super().report()
        """,
        "a label once": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    self.snapshots = list(dict(noted(self)).items())
                    return super().report()
        """,
        "sorted": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    noted(self).sort(key=lambda pair: pair[1])
                    return super().report()
        """,
        "one list for all profilers": """
            class MemoryProfiler(RightProfiler):
                everybody = []
                def __init__(self):
                    self.snapshots = self.everybody
        """,
        "a report ends it": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    rows = super().report()
                    self.snapshots = []
                    return rows
        """,
        "nothing is printed": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        return super().report()
        """,
        "printed when noted": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    print(label, f"{self.snapshots[-1][1]:.1f} 60.5")
                def report(self):
                    with contextlib.redirect_stdout(None):
                        return super().report()
        """,
        "labels are not printed": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    for row in rows:
                        print(f"{row['rss_mb']:.1f} {row['delta_mb']:.1f}")
                    return rows
        """,
        "growth is not printed": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    for row in rows:
                        print(f"{row['label']} {row['rss_mb']:.1f}")
                    return rows
        """,
        "printed the last first": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    told(rows[::-1])
                    return rows
        """,
        "all on one line": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    print(*rows)
                    return rows
        """,
        "printed without decimals": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    for row in rows:
                        print(f"{row['label']} {row['rss_mb']:.0f} {row['delta_mb']:.0f}")
                    return rows
        """,
        "nothing is returned": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    super().report()
        """,
        "no snapshot, no rows": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    return super().report() if self.snapshots else []
        """,
        "no label is needed": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label or "snapshot")
        """,
        "the last is missing": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    return super().report()[:-1]
        """,
    },
    "find_leak": {
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
            return {"bytes_per_step": rate, "function": found["function"] if rate >= 1024 else None}
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
