"""Lesson 04: right in another style."""

from cohort import lesson_04_alternates_more

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
        "given functions are called by the names of their arguments": """
            if activation_mb is None:
                counted = saved_activations(model=model, input_shape=input_shape)
                activation_mb = counted / 2**20
            if activation_mb < 0:
                raise ValueError("negative")
            state = optimizer_memory_mb(model=model, optimizer=optimizer)
            return parts(parameter_memory_mb(model=model), trained_mb(model), state, activation_mb)
        """,
        "by parts": """
            kept = activations(model, input_shape, activation_mb)
            state = optimizer_memory_mb(model, optimizer)
            return parts(parameter_memory_mb(model), trained_mb(model), state, kept)
        """,
    },
}
ALTERNATES |= lesson_04_alternates_more.ALTERNATES
