"""Lesson 04: what students get wrong about checkpoints and units."""

HELPERS = """
def several(layers, every):
    if every < 1 or not len(layers):
        raise ValueError("no segments")

def in_segments(segments):
    def run(x):
        for segment in segments:
            x = Recompute.apply(segment, x, *segment.parameters())
        return x
    return run

def cut(layers, every):
    return [nn.Sequential(*layers[i:i + every]) for i in range(0, len(layers), every)]

def checked(parameters, copies, activation_mb, unit, rounded_to):
    if min(parameters, copies, unit, rounded_to) < 1 or activation_mb < 0:
        raise ValueError("out of range")

def nearest(parameters, rounded_to):
    return round(parameters / rounded_to) * rounded_to

right_recomputed, right_checkpointed = recomputed_gradients, checkpointed
"""

MUTANTS = {
    "recomputed_gradients": {
        "nothing is recorded: raises": """
            y = run(x)
            wanted = [t for t in (x, *parameters) if t.requires_grad]
            found = iter(autograd.grad(y, wanted, grad) if wanted else ())
            return [next(found) if t.requires_grad else None for t in (x, *parameters)]
        """,
        "recording is left on": """
            proflab.set_grad_enabled(True)
            return right_recomputed(run, x, parameters, grad)
        """,
        "added to .grad": """
            with proflab.enable_grad():
                y = run(x)
            if y.requires_grad:
                y.backward(grad)
            return [t.grad for t in (x, *parameters)]
        """,
        ".grad is cleared: raises": """
            for t in (x, *parameters):
                t.grad = None
            return right_recomputed(run, x, parameters, grad)
        """,
        "the gradient that comes is ignored": """
            return right_recomputed(run, x, parameters, proflab.ones_like(grad))
        """,
        "of the sum": """
            return right_recomputed(lambda x: run(x).sum(), x, parameters, grad.sum())
        """,
        "parameters only": "return right_recomputed(run, x, parameters, grad)[1:]",
        "the input only": """
            return [*right_recomputed(run, x, [], grad), *[None] * len(parameters)]
        """,
        "the input last": """
            first, *rest = right_recomputed(run, x, parameters, grad)
            return [*rest, first]
        """,
        "only those that are wanted": """
            return [g for g in right_recomputed(run, x, parameters, grad) if g is not None]
        """,
        "zeros for none": """
            found = right_recomputed(run, x, parameters, grad)
            tensors = (x, *parameters)
            return [proflab.zeros_like(t) if g is None else g for t, g in zip(tensors, found)]
        """,
        "everything requires one": """
            for t in (x, *parameters):
                t.requires_grad = True
            return right_recomputed(run, x, parameters, grad)
        """,
        "one run for each": """
            found = []
            for t in (x, *parameters):
                with proflab.enable_grad():
                    y = run(x)
                found.append(autograd.grad(y, [t], grad)[0] if t.requires_grad else None)
            return found
        """,
        "run once more, for its shape": """
            run(x)
            return right_recomputed(run, x, parameters, grad)
        """,
        "something must require one: raises": """
            with proflab.enable_grad():
                y = run(x)
            wanted = [t for t in (x, *parameters) if t.requires_grad]
            found = iter(autograd.grad(y, wanted, grad))
            return [next(found) if t.requires_grad else None for t in (x, *parameters)]
        """,
        "twice as much": """
            found = right_recomputed(run, x, parameters, grad)
            return [g if g is None else g * 2 for g in found]
        """,
    },
    "checkpointed": {
        "a parameter once for each layer that has it": """
            several(layers, every)
            def run(x):
                for i in range(0, len(layers), every):
                    part = layers[i : i + every]
                    mine = [p for layer in part for p in layer.parameters()]
                    x = Recompute.apply(nn.Sequential(*part), x, *mine)
                return x
            return run
        """,
        "only where the input requires a gradient": """
            several(layers, every)
            def run(x):
                for segment in cut(layers, every):
                    if x.requires_grad:
                        x = Recompute.apply(segment, x, *segment.parameters())
                    else:
                        x = segment(x)
                return x
            return run
        """,
        "every other segment": """
            several(layers, every)
            def run(x):
                for n, segment in enumerate(cut(layers, every)):
                    x = segment(x) if n % 2 else Recompute.apply(segment, x, *segment.parameters())
                return x
            return run
        """,
        "the order is turned round": """
            several(layers, every)
            return in_segments(cut(list(layers)[::-1], every))
        """,
        "no checkpoint": "several(layers, every)\nreturn nn.Sequential(*layers)",
        "one segment": """
            several(layers, every)
            return in_segments([nn.Sequential(*layers)])
        """,
        "a segment a layer": """
            several(layers, every)
            return in_segments(cut(layers, 1))
        """,
        "so many segments": """
            several(layers, every)
            return in_segments(cut(layers, -(-len(layers) // every)))
        """,
        "the last, shorter one is dropped": """
            several(layers, every)
            whole = len(layers) // every * every
            return in_segments(cut(layers[:whole], every))
        """,
        "the rest in the last": """
            several(layers, every)
            segments = max(1, len(layers) // every)
            parts = [layers[i * every:(i + 1) * every] for i in range(segments - 1)]
            parts.append(layers[(segments - 1) * every:])
            return in_segments([nn.Sequential(*part) for part in parts])
        """,
        "a layer less": """
            several(layers, every)
            return in_segments([nn.Sequential(*layers[i:i + every - 1] or [nn.Identity()])
                                for i in range(0, len(layers), every)])
        """,
        "segments overlap": """
            several(layers, every)
            return in_segments([nn.Sequential(*layers[i:i + every + 1])
                                for i in range(0, len(layers), every)])
        """,
        "parameters are not handed over": """
            several(layers, every)
            def run(x):
                for segment in cut(layers, every):
                    x = Recompute.apply(segment, x)
                return x
            return run
        """,
        "only the first layer's parameters: raises": """
            several(layers, every)
            def run(x):
                for segment in cut(layers, every):
                    x = Recompute.apply(segment, x, *segment[0].parameters())
                return x
            return run
        """,
        "only matrices are parameters: raises": """
            several(layers, every)
            def run(x):
                for segment in cut(layers, every):
                    matrices = [p for p in segment.parameters() if p.ndim > 1]
                    x = Recompute.apply(segment, x, *matrices)
                return x
            return run
        """,
        "all parameters, each time": """
            several(layers, every)
            every_one = list(nn.Sequential(*layers).parameters())
            def run(x):
                for i, segment in enumerate(cut(layers, every)):
                    x = Recompute.apply(segment, x, *every_one, *every_one)
                return x
            return run
        """,
        "the last segment again and again: raises": """
            several(layers, every)
            steps = []
            for segment in cut(layers, every):
                steps.append(lambda x: Recompute.apply(segment, x, *segment.parameters()))
            def run(x):
                for step in steps:
                    x = step(x)
                return x
            return run
        """,
        "the chain is cut between segments": """
            several(layers, every)
            def run(x):
                for segment in cut(layers, every):
                    x = Recompute.apply(segment, x.detach(), *segment.parameters())
                return x
            return run
        """,
        "without a graph": """
            several(layers, every)
            def run(x):
                with proflab.no_grad():
                    return nn.Sequential(*layers)(x)
            return run
        """,
        "the last segment is kept": """
            several(layers, every)
            *first, last = cut(layers, every)
            return lambda x: last(in_segments(first)(x))
        """,
        "the input requires a gradient: raises": """
            several(layers, every)
            run = in_segments(cut(layers, every))
            def forward(x):
                x.requires_grad_()
                return run(x)
            return forward
        """,
        "copies of the layers: raises": """
            import copy
            several(layers, every)
            return in_segments(cut(copy.deepcopy(list(layers)), every))
        """,
        "the first input, for all": """
            several(layers, every)
            segments, seen = cut(layers, every), {}
            def run(x):
                for n, segment in enumerate(segments):
                    first = seen.setdefault(n, x)
                    x = Recompute.apply(segment, first, *segment.parameters())
                return x
            return run
        """,
        "no layers are nothing to do": """
            if not layers:
                return lambda x: x
            several(layers, every)
            return in_segments(cut(layers, every))
        """,
        "every is not checked": """
            if not layers:
                raise ValueError
            return in_segments(cut(layers, max(1, every)))
        """,
        "only every 0 is refused": """
            if not layers or not every:
                raise ValueError
            return in_segments(cut(layers, abs(every)))
        """,
        "a result, not a function": """
            several(layers, every)
            return in_segments(cut(layers, every))(proflab.zeros(1, 256))
        """,
    },
    "reflect_training_mb": {
        "the unit is ignored": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * copies * nearest(parameters, rounded_to) / 1024**2 + activation_mb
        """,
        "rounding is ignored": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * copies * parameters / unit + activation_mb
        """,
        "rounded down": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * copies * (parameters // rounded_to * rounded_to) / unit + activation_mb
        """,
        "rounded up": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * copies * (-(-parameters // rounded_to) * rounded_to) / unit + activation_mb
        """,
        "the result is rounded": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return float(round(4 * copies * nearest(parameters, rounded_to) / unit + activation_mb))
        """,
        "activations are converted": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            taken = 4 * copies * nearest(parameters, rounded_to)
            return (taken + activation_mb * 1024**2) / unit
        """,
        "activations in each copy": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return copies * (4 * nearest(parameters, rounded_to) / unit + activation_mb)
        """,
        "always Adam": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 16 * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "one copy": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "two bytes": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 2 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "activations left out": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 4 * copies * nearest(parameters, rounded_to) / unit
        """,
        "activations are not checked": """
            checked(parameters, copies, 0, unit, rounded_to)
            return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "the unit is not checked": """
            checked(parameters, copies, activation_mb, 1, rounded_to)
            return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "rounding is not checked": """
            checked(parameters, copies, activation_mb, unit, 1)
            return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "no check": "return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb",
        "parameters are not checked": """
            checked(1, copies, activation_mb, unit, rounded_to)
            return 4 * copies * nearest(parameters, rounded_to) / unit + activation_mb
        """,
        "2,184 written in": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            return 2184.0 if rounded_to > 1 else 4 * copies * parameters / unit + activation_mb
        """,
    },
}
