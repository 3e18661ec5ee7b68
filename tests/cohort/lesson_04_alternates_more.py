"""Lesson 04, from section 5 on: right in another style."""

ALTERNATES = {
    "MemoryProfiler": {
        "a process kept from the start, rows made at once": """
            from psutil import Process

            class MemoryProfiler:
                def __init__(self):
                    self.rows, self.process = [], Process(os.getpid())

                def snapshot(self, label):
                    if label == "":
                        raise ValueError("no label")
                    rss = self.process.memory_info()[0] / 1024**2
                    delta = rss - self.rows[-1]["rss_mb"] if self.rows else 0.0
                    self.rows.append(dict(label=label, rss_mb=rss, delta_mb=delta))

                def report(self):
                    if len(self.rows) == 0:
                        raise ValueError("nothing")
                    print("label, MB, growth")
                    for row in self.rows:
                        print("%s: %.1f MB (%+.1f)" % tuple(row.values()))
                    print("-" * 40)
                    return [dict(row) for row in self.rows]
        """,
        "a method bound before, numpy's diff, one print": """
            read_memory = psutil.Process().memory_info

            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    if not label:
                        raise ValueError
                    self.snapshots.append({"label": label, "bytes": read_memory().rss})

                def report(self):
                    if not self.snapshots:
                        raise ValueError("nothing")
                    mb = np.array([s["bytes"] for s in self.snapshots]) / MB
                    delta = np.diff(mb, prepend=mb[0])
                    names = [s["label"] for s in self.snapshots]
                    rows = [
                        {"label": n, "rss_mb": m, "delta_mb": d}
                        for n, m, d in zip(names, mb, delta)
                    ]
                    lines = [f"{n:>20} {m:12,.1f} {d:12,.1f}" for n, m, d in zip(names, mb, delta)]
                    print("\\n".join(lines).replace(",", ""))
                    return rows
        """,
        "a headline that says what is compared": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    print("label, MB now, growth over the one before, or after")
                    return super().report()
        """,
        "a process made in __init__": """
            class MemoryProfiler(RightProfiler):
                def __init__(self):
                    super().__init__()
                    self.process = psutil.Process()

                def snapshot(self, label):
                    if not label:
                        raise ValueError("no label")
                    self.snapshots.append((label, self.process.memory_info().rss / MB))
        """,
        "a process of the class": """
            class MemoryProfiler(RightProfiler):
                process = psutil.Process()

                def snapshot(self, label):
                    if not label:
                        raise ValueError("no label")
                    self.snapshots.append((label, self.process.memory_info().rss / MB))
        """,
        "a process made above the class": """
            this_process = psutil.Process()

            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    if not label:
                        raise ValueError("no label")
                    self.snapshots.append((label, this_process.memory_info().rss / MB))
        """,
        "a pid kept above the class": """
            pid = os.getpid()

            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    if not label:
                        raise ValueError("no label")
                    self.snapshots.append((label, psutil.Process(pid).memory_info().rss / MB))
        """,
        "oneshot, and as_dict": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    if not isinstance(label, str) or len(label) < 1:
                        raise ValueError("a label")
                    process = psutil.Process()
                    with process.oneshot():
                        rss = process.as_dict(attrs=["memory_info"])["memory_info"].rss
                    self.snapshots += [(label, rss / MB)]
        """,
    },
    "find_leak": {
        "start and stop, filtered": """
            if steps <= 0:
                raise ValueError("steps")
            fresh = not tracemalloc.is_tracing()
            if fresh:
                tracemalloc.start(25)
            try:
                step()
                first = tracemalloc.take_snapshot()
                begin = tracemalloc.get_traced_memory()[0]
                for _ in range(steps):
                    step()
                grown = tracemalloc.get_traced_memory()[0] - begin
                last = tracemalloc.take_snapshot()
            finally:
                if fresh:
                    tracemalloc.stop()
            if grown / steps < 4096:
                return {"bytes_per_step": grown / steps, "function": None}
            mine = tracemalloc.Filter(False, tracemalloc.__file__)
            rows = last.filter_traces([mine]).compare_to(first.filter_traces([mine]), "traceback")
            names = {}
            for row in rows:
                if row.size_diff:
                    name = own_function(row.traceback)
                    names[name] = names.get(name, 0) + row.size_diff
            return {"bytes_per_step": grown / steps, "function": max(names, key=names.get)}
        """,
        "statistics of both, subtracted": """
            if steps < 1:
                raise ValueError("steps")

            def sizes():
                found = Counter()
                for row in tracemalloc.take_snapshot().statistics("traceback"):
                    found[own_function(row.traceback)] += row.size
                return found

            with MemoryTracker(25) as tracker:
                step()
                before = sizes()
                [step() for _ in range(steps)]
                after = sizes()
            after.subtract(before)
            total = sum(after.values())
            name = after.most_common()[0][0]
            who = name if total >= 4096 * steps else None
            return dict(bytes_per_step=total / steps, function=who)
        """,
    },
    "recomputed_gradients": {
        "backward, with .grad put aside": """
            tensors = [x, *parameters]
            before = [t.grad for t in tensors]
            for t in tensors:
                t.grad = None
            try:
                with proflab.enable_grad():
                    y = run(x)
                if y.requires_grad:
                    y.backward(grad)
                return [t.grad for t in tensors]
            finally:
                for t, g in zip(tensors, before):
                    t.grad = g
        """,
        "a dict by identity": """
            wanted = {id(t): t for t in (x, *parameters) if t.requires_grad}
            if wanted:
                with proflab.set_grad_enabled(True):
                    y = run(x)
                found = autograd.grad([y], list(wanted.values()), [grad])
                wanted = dict(zip(wanted, found))
            return [wanted.get(id(t)) for t in (x, *parameters)]
        """,
    },
    "checkpointed": {
        "functions, a loop inside": """
            if every < 1:
                raise ValueError("every")
            layers = list(layers)
            if not layers:
                raise ValueError("layers")

            def segment(part):
                def piece(x):
                    for layer in part:
                        x = layer(x)
                    return x

                found = {id(p): p for layer in part for p in layer.parameters()}
                return lambda x: Recompute.apply(piece, x, *found.values())

            steps = []
            while layers:
                part, layers = layers[:every], layers[every:]
                steps.append(segment(part))

            def run(x):
                for step in steps:
                    x = step(x)
                return x

            return run
        """,
        "reduce, and a class": """
            import itertools

            class Run:
                def __init__(self, parts):
                    self.parts = parts

                def __call__(self, x):
                    return functools.reduce(
                        lambda y, part: Recompute.apply(part, y, *part.parameters()), self.parts, x)

            if every <= 0 or len(layers) == 0:
                raise ValueError("nothing to run")
            rest, parts = iter(layers), []
            while part := list(itertools.islice(rest, every)):
                parts.append(nn.Sequential(*part))
            return Run(parts)
        """,
        "a backward of its own": """
            several(layers, every)

            class Again(Function):
                @staticmethod
                def forward(ctx, part, x, *parameters):
                    ctx.part, ctx.parameters = part, parameters
                    ctx.save_for_backward(x)
                    return part(x)

                @staticmethod
                def backward(ctx, grad):
                    x = ctx.saved_tensors[0].detach()
                    x.requires_grad = ctx.needs_input_grad[1]
                    leaves = [t for t in (x, *ctx.parameters) if t.requires_grad]
                    with proflab.enable_grad():
                        y = ctx.part(x)
                    found = iter(autograd.grad(y, leaves, grad))
                    return (None, *(next(found) if t.requires_grad else None
                                    for t in (x, *ctx.parameters)))

            def run(x):
                for part in cut(layers, every):
                    x = Again.apply(part, x, *part.parameters())
                return x

            return run
        """,
    },
    "reflect_training_mb": {
        "checks one by one": """
            for number in (parameters, copies, unit, rounded_to):
                if number <= 0:
                    raise ValueError("at least 1")
            if activation_mb < 0:
                raise ValueError("negative")
            below = parameters - parameters % rounded_to
            taken = below + rounded_to if 2 * (parameters - below) >= rounded_to else below
            return taken * 4 * copies / unit + float(activation_mb)
        """,
        "whole numbers": """
            if min(parameters, copies, unit, rounded_to, 1 + (activation_mb >= 0) - 1) < 1:
                raise ValueError
            taken = (parameters + rounded_to // 2) // rounded_to * rounded_to
            return np.float64(4 * copies * taken / unit) + activation_mb
        """,
    },
}
