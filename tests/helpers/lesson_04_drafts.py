"""Drafts of lesson 04's exercises, by a student who reads docstrings and visible cases alone.

FIRST was written from the docstrings, in a hurry. SECOND is FIRST after one round of repairs of
what did not work; what a draft passes over, it may still pass over.
"""

TRACKER = """
class MemoryTracker:
    running = []

    def __init__(self, frames=1):
        self.frames = frames

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()
"""

FIRST = {
    "MemoryTracker": TRACKER
    + """
    def start(self):
        self.was_off = not tracemalloc.is_tracing()
        if self.was_off:
            tracemalloc.start(self.frames)
        tracemalloc.reset_peak()
        self.before = tracemalloc.get_traced_memory()[0]
        self.running.append(self)

    def stop(self):
        current, peak = tracemalloc.get_traced_memory()
        self.peak_mb = (peak - self.before) / MB
        self.current_mb = (current - self.before) / MB
        self.running.remove(self)
        if self.was_off:
            tracemalloc.stop()
    """,
    "measure_memory": """
        if not isinstance(model, nn.Module):
            raise ValueError("not a model")
        x = example_input(model, input_shape)
        with MemoryTracker() as tracker:
            model(x)
        parameters = parameter_memory_mb(model)
        peak = parameters + tracker.peak_mb
        return {
            "parameter_memory_mb": parameters,
            "activation_memory_mb": tracker.current_mb,
            "peak_memory_mb": peak,
            "memory_efficiency": (parameters + tracker.current_mb) / peak,
        }
    """,
    "saved_activations": """
        if not callable(model):
            raise ValueError("not a model")
        inputs = meta_inputs(model, input_shape, False)
        ignored = {x.storage for x in inputs} | {p.storage for p in model.parameters()}
        kept = {}
        def pack(tensor):
            kept[tensor.storage] = tensor.nbytes
            return tensor
        with proflab.saved_tensors(pack, lambda tensor: tensor):
            model(*inputs)
        return sum(size for storage, size in kept.items() if storage not in ignored)
    """,
    "optimizer_memory_mb": """
        copies = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
        if optimizer not in copies:
            raise ValueError(f"unknown optimizer {optimizer}")
        return copies[optimizer] * parameter_memory_mb(model)
    """,
    "training_memory": """
        if not activation_mb:
            activation_mb = saved_activations(model, input_shape) / MB
        if activation_mb < 0:
            raise ValueError("negative activations")
        parts = {
            "parameter_mb": parameter_memory_mb(model),
            "gradient_mb": parameter_memory_mb(model),
            "optimizer_mb": optimizer_memory_mb(model, optimizer),
            "activation_mb": activation_mb,
        }
        return parts | {"total_mb": sum(parts.values())}
    """,
    "memory_table": """
        rows, last = [], snapshots[0]
        for label, second, rss in snapshots:
            delta, passed = (rss - last[2]) / MB, second - snapshots[0][1]
            row = {"label": label, "seconds": passed, "rss_mb": rss / MB, "delta_mb": delta}
            rows.append(row | {"mb_per_s": delta / passed if passed > 0 else 0.0})
            last = label, second, rss
        return rows
    """,
    "find_leak": """
        if steps < 1:
            raise ValueError("steps must be at least 1")
        step()
        with MemoryTracker(25) as tracker:
            before = tracemalloc.take_snapshot()
            for _ in range(steps):
                step()
            after = tracemalloc.take_snapshot()
        rate = tracker.current_mb * MB / steps
        worst = after.compare_to(before, "traceback")[0]
        function = own_function(worst.traceback) if rate >= 4096 else None
        return {"bytes_per_step": rate, "function": function}
    """,
    "recomputed_gradients": """
        with proflab.enable_grad():
            y = run(x)
        return list(autograd.grad(y, [x, *parameters], grad))
    """,
    "checkpointed": """
        if not layers or every < 1:
            raise ValueError("no layers, or segments of nothing")
        segments = [layers[i : i + every] for i in range(0, len(layers), every)]
        def run(x):
            for segment in segments:
                parameters = [p for layer in segment for p in layer.parameters()]
                x = Recompute.apply(nn.Sequential(*segment), x, *parameters)
            return x
        return run
    """,
    "reflect_training_mb": """
        if parameters < 1 or copies < 1 or activation_mb < 0 or unit < 1:
            raise ValueError("out of range")
        parameters = parameters // rounded_to * rounded_to
        return parameters * copies * 4 / unit + activation_mb
    """,
}

SECOND = FIRST | {
    "MemoryTracker": TRACKER
    + """
    def start(self):
        self.was_off = not tracemalloc.is_tracing()
        if self.was_off:
            tracemalloc.start(self.frames)
        self.before, peak = tracemalloc.get_traced_memory()
        for tracker in self.running:
            tracker.highest = max(tracker.highest, peak)
        tracemalloc.reset_peak()
        self.highest = 0
        self.running.append(self)

    def stop(self):
        current, peak = tracemalloc.get_traced_memory()
        self.peak_mb = (max(self.highest, peak) - self.before) / MB
        self.current_mb = (current - self.before) / MB
        self.running.remove(self)
        if self.was_off:
            tracemalloc.stop()
    """,
    "measure_memory": """
        if not isinstance(model, nn.Module):
            raise ValueError("not a model")
        x = example_input(model, input_shape)
        inputs = x if isinstance(x, tuple) else (x,)
        with MemoryTracker() as tracker:
            output = model(*inputs)
        parameters = parameter_memory_mb(model)
        peak = parameters + tracker.peak_mb
        return {
            "parameter_memory_mb": parameters,
            "activation_memory_mb": tracker.current_mb,
            "peak_memory_mb": peak,
            "memory_efficiency": (parameters + tracker.current_mb) / peak,
        }
    """,
    "saved_activations": """
        if not callable(model):
            raise ValueError("not a model")
        inputs = meta_inputs(model, input_shape, False)
        ignored = {x.storage for x in inputs}
        if isinstance(model, nn.Module):
            ignored |= {t.storage for t in [*model.parameters(), *model.buffers()]}
        kept = {}
        def pack(tensor):
            kept[tensor.storage] = tensor.storage.nbytes
            return tensor
        with proflab.saved_tensors(pack, lambda tensor: tensor):
            model(*inputs)
        return sum(size for storage, size in kept.items() if storage not in ignored)
    """,
    "optimizer_memory_mb": """
        copies = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}
        if optimizer not in copies:
            raise ValueError(f"unknown optimizer {optimizer}")
        count_parameters(model)  # raises for what is not a model
        if isinstance(model, Tensor):
            return 0.0
        trained = {id(p): p for p in model.parameters() if p.requires_grad}
        return copies[optimizer] * sum(p.nbytes for p in trained.values()) / MB
    """,
    "training_memory": """
        if activation_mb is None:
            activation_mb = saved_activations(model, input_shape) / MB
        if activation_mb < 0:
            raise ValueError("negative activations")
        parts = {
            "parameter_mb": parameter_memory_mb(model),
            "gradient_mb": optimizer_memory_mb(model, "momentum"),
            "optimizer_mb": optimizer_memory_mb(model, optimizer),
            "activation_mb": activation_mb,
        }
        return parts | {"total_mb": sum(parts.values())}
    """,
    "memory_table": """
        rows, last = [], snapshots[0]
        for label, second, rss in snapshots:
            delta, passed = (rss - last[2]) / MB, second - last[1]
            row = {"label": label, "seconds": float(second - snapshots[0][1])}
            row |= {"rss_mb": rss / MB, "delta_mb": delta}
            rows.append(row | {"mb_per_s": delta / passed if passed > 0 else 0.0})
            last = label, second, rss
        return rows
    """,
    "find_leak": """
        if steps < 1:
            raise ValueError("steps must be at least 1")
        with MemoryTracker(25):
            step()
            before, start = tracemalloc.take_snapshot(), tracemalloc.get_traced_memory()[0]
            for _ in range(steps):
                step()
            end, after = tracemalloc.get_traced_memory()[0], tracemalloc.take_snapshot()
        grown = {}
        for row in after.compare_to(before, "traceback"):
            name = own_function(row.traceback)
            grown[name] = grown.get(name, 0) + row.size_diff
        function = max(grown, key=grown.get)
        if grown[function] / steps < 4096:
            function = None
        return {"bytes_per_step": (end - start) / steps, "function": function}
    """,
    "recomputed_gradients": """
        tensors = [x, *parameters]
        wanted = [t for t in tensors if t.requires_grad]
        if not wanted:
            return [None] * len(tensors)
        with proflab.enable_grad():
            y = run(x)
        found = iter(autograd.grad(y, wanted, grad))
        return [next(found) if t.requires_grad else None for t in tensors]
    """,
    "checkpointed": """
        if not layers or every < 1:
            raise ValueError("no layers, or segments of nothing")
        segments = [layers[i : i + every] for i in range(0, len(layers), every)]
        segments = [nn.Sequential(*segment) for segment in segments]
        def run(x):
            for segment in segments:
                x = Recompute.apply(segment, x, *segment.parameters())
            return x
        return run
    """,
    "reflect_training_mb": """
        if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
            raise ValueError("out of range")
        parameters = round(parameters / rounded_to) * rounded_to
        return parameters * copies * 4 / unit + activation_mb
    """,
}
