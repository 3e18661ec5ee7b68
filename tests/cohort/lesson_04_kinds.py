"""Lesson 04: names completed, objects counted for bytes, zeros for "none", lists written to."""

_COMPLETED = """
    if isinstance(optimizer, str):
        whole = [name for name in COPIES if name.startswith(optimizer)]
        optimizer = whole[0] if whole else optimizer
    return {right}
"""

MUTANTS = {
    "optimizer_memory_mb": {
        "names are completed": _COMPLETED.format(right="right_optimizer(model, optimizer)"),
        "names in capitals": """
            return right_optimizer(model, str(optimizer).lower())
        """,
        "a longer name is cut": """
            known = [name for name in COPIES if str(optimizer).startswith(name)]
            return right_optimizer(model, known[-1] if known else optimizer)
        """,
        "no name is SGD": "return right_optimizer(model, optimizer or 'sgd')",
        "without parameters any optimizer will do": """
            if count_parameters(model) == 0:
                return 0.0
            return right_optimizer(model, optimizer)
        """,
    },
    "training_memory": {
        "names are completed": _COMPLETED.format(
            right="right_training(model, input_shape, optimizer, activation_mb)"
        ),
        "what is frozen is thawed": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            model.requires_grad_(True)
            return found
        """,
    },
    "find_leak": {
        "growth by the number of objects": """
            positive_steps(steps)
            rows, counts = compared(step, steps), Counter()
            for row in rows:
                counts[own_function(row.traceback)] += row.count_diff
            found = verdict(by_function(rows), steps)
            worst = found["function"] and max(counts, key=counts.get)
            return found | {"function": worst}
        """,
    },
    "recomputed_gradients": {
        "the input is put into the list": """
            if isinstance(parameters, list):
                parameters.insert(0, x)
                return right_recomputed(run, x, parameters[1:], grad)
            return right_recomputed(run, x, parameters, grad)
        """,
    },
    "checkpointed": {
        "layers are taken off the list: raises": """
            several(layers, every)
            segments = []
            while len(layers):
                segments.append(nn.Sequential(*layers[:every]))
                del layers[:every]
            return in_segments(segments)
        """,
        "segments of 0 are one segment": """
            return right_checkpointed(layers, every or len(layers) or 1)
        """,
    },
    "reflect_training_mb": {
        "rounded to 0 is not rounded": """
            rounded_to = rounded_to or 1
            return right_reflect(parameters, copies, activation_mb, unit, rounded_to)
        """,
        "a unit of 0 is the default": """
            return right_reflect(parameters, copies, activation_mb, unit or 1024**2, rounded_to)
        """,
        "at least one parameter is left": """
            checked(parameters, copies, activation_mb, unit, rounded_to)
            taken = nearest(parameters, rounded_to) or parameters
            return 4 * copies * taken / unit + activation_mb
        """,
    },
}
