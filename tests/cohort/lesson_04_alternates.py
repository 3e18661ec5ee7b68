"""Lesson 04: right in another style."""

ALTERNATES = {
    "MemoryTracker": {
        "each passes its peak on to the one outside": """
            class MemoryTracker(Right):
                def start(self):
                    self.mine = not tracemalloc.is_tracing()
                    if self.mine:
                        tracemalloc.start(self.frames)
                    if self.running:
                        self.running[-1].high = max(
                            self.running[-1].high, tracemalloc.get_traced_memory()[1])
                    tracemalloc.reset_peak()
                    self.low, self.high = tracemalloc.get_traced_memory()
                    self.running += [self]

                def stop(self):
                    now, peak = tracemalloc.get_traced_memory()
                    self.high = max(self.high, peak)
                    self.running.pop()
                    if self.running:
                        self.running[-1].high = max(self.running[-1].high, self.high)
                    if self.mine:
                        tracemalloc.stop()
                    self.peak_mb = (self.high - self.low) / 2**20
                    self.current_mb = (now - self.low) / 2**20
        """,
        "the peak is raised again, by a block that nobody touches": """
            class MemoryTracker(Right):
                def start(self):
                    self.mine = not tracemalloc.is_tracing()
                    if self.mine:
                        tracemalloc.start(self.frames)
                    self.first, self.former = tracemalloc.get_traced_memory()
                    tracemalloc.reset_peak()

                def stop(self):
                    last, peak = tracemalloc.get_traced_memory()
                    self.peak_mb = np.float64(peak - self.first) / MB
                    self.current_mb = np.float64(last - self.first) / MB
                    if self.mine:
                        tracemalloc.stop()
                    else:
                        np.empty(max(0, self.former - last), np.uint8)
        """,
        "a list of peaks outside the class": """
            PEAKS = []

            class MemoryTracker(Right):
                def start(self):
                    self.mine = not tracemalloc.is_tracing()
                    if self.mine:
                        tracemalloc.start(self.frames)
                    here = tracemalloc.get_traced_memory()
                    PEAKS[:] = [max(peak, here[1]) for peak in PEAKS] + [here[0]]
                    tracemalloc.reset_peak()
                    self.start_bytes = here[0]

                def stop(self):
                    here = tracemalloc.get_traced_memory()
                    PEAKS[:] = [max(peak, here[1]) for peak in PEAKS]
                    self.peak_mb = (PEAKS.pop() - self.start_bytes) / MB
                    self.current_mb = (here[0] - self.start_bytes) / MB
                    if self.mine:
                        tracemalloc.stop()
        """,
    },
    "measure_memory": {
        "start and stop": """
            inputs = real_inputs(model, input_shape)
            result = {"parameter_memory_mb": parameter_memory_mb(model)}
            tracker = MemoryTracker()
            tracker.start()
            try:
                held = [model(*inputs)]
            finally:
                tracker.stop()
            result["activation_memory_mb"] = np.float64(tracker.current_mb)
            result["peak_memory_mb"] = result["parameter_memory_mb"] + tracker.peak_mb
            used = result["parameter_memory_mb"] + result["activation_memory_mb"]
            result["memory_efficiency"] = used / result["peak_memory_mb"]
            return result
        """,
        "by tracemalloc itself": """
            weights = parameter_memory_mb(model)
            inputs = example_input(model, input_shape)
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            fresh = not tracemalloc.is_tracing()
            if fresh:
                tracemalloc.start()
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            output = model(*inputs)
            after, peak = tracemalloc.get_traced_memory()
            if fresh:
                tracemalloc.stop()
            return row(weights, (after - before) / MB, weights + (peak - before) / MB)
        """,
    },
    "saved_activations": {
        "a dict of sizes, in a loop": """
            inputs = meta_inputs(model, input_shape, False)
            sizes = {}

            def pack(tensor):
                sizes[tensor.storage] = tensor.storage.nbytes
                return tensor

            def unpack(tensor):
                return tensor

            with proflab.saved_tensors(pack, unpack):
                _ = model(*inputs)
            there = list(inputs)
            if isinstance(model, nn.Module):
                there.extend(model.parameters())
                there.extend(model.buffers())
            for tensor in there:
                sizes.pop(tensor.storage, None)
            return int(np.sum(list(sizes.values()), dtype=np.int64))
        """,
        "tensors that are held, by their roots": """
            inputs = meta_inputs(model, input_shape, per_sample=False)
            held = []
            with proflab.saved_tensors(lambda t: held.append(t) or t, lambda t: t):
                model(*inputs)
            state = [getattr(model, k)() for k in ("parameters", "buffers") if hasattr(model, k)]
            skip = {id(t.storage.root) for group in (inputs, *state) for t in group}
            roots = {id(t.storage.root): t.storage.root for t in held}
            return sum(root.nbytes for key, root in roots.items() if key not in skip)
        """,
        "inputs by example_input": """
            if not callable(model):
                raise ValueError("no model")
            inputs = example_input(model, input_shape, meta=True)
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            with contextlib.ExitStack() as stack:
                seen = known_to(model, inputs)
                total = [0]

                def pack(tensor):
                    if tensor.storage not in seen:
                        seen.add(tensor.storage)
                        total[0] += tensor.storage.nbytes
                    return tensor

                stack.enter_context(proflab.saved_tensors(pack, lambda tensor: tensor))
                model(*inputs)
            return total[0]
        """,
    },
    "optimizer_memory_mb": {
        "if and elif": """
            if optimizer == "sgd":
                times = 0
            elif optimizer == "momentum":
                times = 1
            elif optimizer in ("adam", "adamw"):
                times = 2
            else:
                raise ValueError(f"no {optimizer}")
            if isinstance(model, Tensor):
                return 0.0
            if not hasattr(model, "parameters"):
                raise ValueError("no model")
            seen, total = [], 0
            for p in model.parameters():
                if p.requires_grad and not any(p is other for other in seen):
                    seen.append(p)
                    total += p.numel() * p.itemsize
            return times * total / 1024 / 1024
        """,
        "match, and numpy": """
            match optimizer:
                case "sgd":
                    copies = 0
                case "momentum":
                    copies = 1
                case "adam" | "adamw":
                    copies = 2
                case _:
                    raise ValueError("unknown")
            return np.float64(copies) * trained_mb(model)
        """,
    },
    "training_memory": {
        "step by step": """
            if activation_mb is None:
                activation_mb = saved_activations(model, input_shape) / 2**20
            elif activation_mb < 0:
                raise ValueError("negative")
            result = dict(parameter_mb=parameter_memory_mb(model))
            result["gradient_mb"] = optimizer_memory_mb(model, "adam") / 2
            result["optimizer_mb"] = optimizer_memory_mb(model, optimizer)
            result["activation_mb"] = activation_mb * 1.0
            result["total_mb"] = np.sum(list(result.values()))
            return result
        """,
        "by parts": """
            kept = activations(model, input_shape, activation_mb)
            state = optimizer_memory_mb(model, optimizer)
            return parts(parameter_memory_mb(model), trained_mb(model), state, kept)
        """,
    },
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
                        {"label": n, "rss_mb": m, "delta_mb": d} for n, m, d in zip(names, mb, delta)
                    ]
                    lines = [f"{n:>20} {m:12,.1f} {d:12,.1f}" for n, m, d in zip(names, mb, delta)]
                    print("\\n".join(lines).replace(",", ""))
                    return rows
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
            if grown / steps < 1024:
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
            return dict(bytes_per_step=total / steps, function=name if total >= 1024 * steps else None)
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
