"""Lesson 04: what students get wrong about the process's memory and its report."""

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
"""

MUTANTS = {
    "MemoryProfiler": {
        "growth without its sign": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    return [row | {"delta_mb": abs(row["delta_mb"])} for row in super().report()]
        """,
        "over the least so far": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    pairs = noted(self)
                    least = [min(mb for _, mb in pairs[:max(1, n)]) for n in range(len(pairs))]
                    return told(rows_of(pairs, least))
        """,
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
        "the first process's memory": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, psutil.Process(1).memory_info().rss / MB
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
        "the first line has no growth": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    with contextlib.redirect_stdout(None):
                        rows = super().report()
                    print(f"{rows[0]['label']} {rows[0]['rss_mb']:.1f} -")
                    told(rows[1:])
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
        "nothing is returned: raises": """
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
}
