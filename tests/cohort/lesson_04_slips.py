"""Lesson 04: slips that look right on round numbers, first uses and small models."""

HELPERS = """
def rounded(found, digits):
    return {name: round(mb, digits) for name, mb in found.items()}

right_optimizer, right_reflect = optimizer_memory_mb, reflect_training_mb
"""

MUTANTS = {
    "MemoryTracker": {
        "two decimals": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb = round(self.peak_mb, 2)
                    self.current_mb = round(self.current_mb, 2)
        """,
        "three decimals": """
            class MemoryTracker(Right):
                def stop(self):
                    super().stop()
                    self.peak_mb = round(self.peak_mb, 3)
                    self.current_mb = round(self.current_mb, 3)
        """,
        "the peak of an earlier use": """
            class MemoryTracker(Right):
                def stop(self):
                    before = getattr(self, "peak_mb", 0.0)
                    super().stop()
                    self.peak_mb = max(self.peak_mb, before)
        """,
        "the first start counts for all uses": """
            class MemoryTracker(Right):
                def start(self):
                    super().start()
                    self.before = self.first = getattr(self, "first", self.before)
        """,
        "the peak is not reset where tracing is on": """
            class MemoryTracker(Right):
                def start(self):
                    peak = tracemalloc.get_traced_memory()[1]
                    super().start()
                    self.peak = max(self.peak, peak)
        """,
    },
    "measure_memory": {
        "two decimals": "return rounded(right_measure(model, input_shape), 2)",
        "four decimals": "return rounded(right_measure(model, input_shape), 4)",
        "six decimals": "return rounded(right_measure(model, input_shape), 6)",
        "models are known by their id": """
            known = measure_memory.__dict__
            if id(model) not in known:
                known[id(model)] = model, right_measure(model, input_shape)
            return known[id(model)][1]
        """,
        "efficiency with three decimals": """
            found = right_measure(model, input_shape)
            return found | {"memory_efficiency": round(found["memory_efficiency"], 3)}
        """,
        "put into eval, and left so": """
            if isinstance(model, nn.Module):
                model.eval()
            return right_measure(model, input_shape)
        """,
        "in eval, and put back": """
            was = getattr(model, "training", None)
            if was:
                model.eval()
            found = right_measure(model, input_shape)
            if was:
                model.train()
            return found
        """,
        "put into training": """
            if isinstance(model, nn.Module):
                model.train()
            return right_measure(model, input_shape)
        """,
        "trainable parameters only": """
            found = right_measure(model, input_shape)
            weights = trained_mb(model)
            peak = found["peak_memory_mb"] - found["parameter_memory_mb"] + weights
            return row(weights, found["activation_memory_mb"], peak)
        """,
        "a batch of 0 is nothing": """
            if input_shape and 0 in input_shape:
                return row(parameter_memory_mb(model), 0.0, parameter_memory_mb(model))
            return right_measure(model, input_shape)
        """,
        "the peak of what came before": """
            parameters, inputs = parameter_memory_mb(model), real_inputs(model, input_shape)
            started = not tracemalloc.is_tracing()
            if started:
                tracemalloc.start()
            before = tracemalloc.get_traced_memory()[0]
            output = model(*inputs)
            current, peak = ((n - before) / MB for n in tracemalloc.get_traced_memory())
            if started:
                tracemalloc.stop()
            return row(parameters, current, parameters + peak)
        """,
    },
    "saved_activations": {
        "32-bit sum": """
            found = right_saved(model, input_shape)
            return int(np.array(found).astype(np.int32))
        """,
        "a batch of 0 keeps nothing": """
            if 0 in input_shape:
                return 0
            return right_saved(model, input_shape)
        """,
        "remembered by shape": """
            known = saved_activations.__dict__
            key = str(input_shape), type(model).__name__
            if key not in known:
                known[key] = right_saved(model, input_shape)
            return known[key]
        """,
        "remembered by the model's id": """
            known = saved_activations.__dict__
            key = str((id(model), input_shape))
            if key not in known:
                known[key] = model, right_saved(model, input_shape)
            return known[key][1]
        """,
        "trainable parameters alone are left out": """
            inputs, kept = whole(model, input_shape), set()
            known = {t.storage for t in inputs}
            known |= {p.storage for p in getattr(model, "parameters", list)() if p.requires_grad}
            known |= {b.storage for b in getattr(model, "buffers", list)()}
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known)
        """,
    },
    "optimizer_memory_mb": {
        "two decimals": "return round(right_optimizer(model, optimizer), 2)",
        "three decimals": "return round(right_optimizer(model, optimizer), 3)",
        "32-bit sum": """
            found = round(right_optimizer(model, optimizer) * MB)
            return float(np.array(found).astype(np.int32)) / MB
        """,
    },
    "training_memory": {
        "two decimals": """
            return rounded(right_training(model, input_shape, optimizer, activation_mb), 2)
        """,
        "three decimals": """
            return rounded(right_training(model, input_shape, optimizer, activation_mb), 3)
        """,
        "a batch of 0 keeps nothing": """
            if activation_mb is None and 0 in input_shape:
                activation_mb = 0.0
            return right_training(model, input_shape, optimizer, activation_mb)
        """,
        "less than one is no memory": """
            if activation_mb is not None and int(activation_mb) < 0:
                raise ValueError
            kept = None if activation_mb is None else max(0.0, activation_mb)
            return right_training(model, input_shape, optimizer, kept)
        """,
    },
    "MemoryProfiler": {
        "two decimals": """
            class MemoryProfiler(RightProfiler):
                def snapshot(self, label):
                    super().snapshot(label)
                    self.snapshots[-1] = label, round(self.snapshots[-1][1], 2)
        """,
        "growth with three decimals": """
            class MemoryProfiler(RightProfiler):
                def report(self):
                    return [r | {"delta_mb": round(r["delta_mb"], 3)} for r in super().report()]
        """,
    },
    "find_leak": {
        "only numpy's memory": """
            positive_steps(steps)
            numpys = [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
            with MemoryTracker(frames=25):
                step()
                before = tracemalloc.take_snapshot().filter_traces(numpys)
                for _ in range(steps):
                    step()
                after = tracemalloc.take_snapshot().filter_traces(numpys)
            grown = by_function(after.compare_to(before, "traceback"))
            return verdict(grown or Counter(nobody=0), steps)
        """,
        "the ten largest rows": """
            positive_steps(steps)
            rows = compared(step, steps)
            found = verdict(by_function(rows), steps)
            worst = verdict(by_function(rows[:10]), 1)["function"]
            return found | {"function": found["function"] and worst}
        """,
        "rows of less than a page are left out": """
            positive_steps(steps)
            rows = [row for row in compared(step, steps) if row.size_diff / steps >= 4096]
            return verdict(by_function(rows) or Counter(nobody=0), steps)
        """,
        "blocks of less than a page are left out": """
            positive_steps(steps)
            rows = compared(step, steps)
            large = [r for r in rows if r.count and r.size / r.count >= 4096 or r.size_diff < 0]
            found = verdict(by_function(rows), steps)
            worst = by_function(large) or Counter({None: 0})
            return found | {"function": found["function"] and max(worst, key=worst.get)}
        """,
        "whole MB": """
            found = right_find_leak(step, steps)
            return found | {"bytes_per_step": float(found["bytes_per_step"] // MB * MB)}
        """,
    },
    "reflect_training_mb": {
        "two decimals": """
            return round(right_reflect(parameters, copies, activation_mb, unit, rounded_to), 2)
        """,
        "three decimals": """
            return round(right_reflect(parameters, copies, activation_mb, unit, rounded_to), 3)
        """,
        "only 0 is refused": """
            if 0 in (parameters, copies, unit, rounded_to) or activation_mb < 0:
                raise ValueError("0")
            return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "32-bit product": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            taken = np.int64(4 * copies * nearest(parameters, rounded_to)).astype(np.int32)
            return float(taken) / unit + activation_mb
        """,
    },
}
