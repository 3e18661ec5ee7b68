"""Lesson 04: what students get wrong when they count bytes."""

HELPERS = """
def known_to(model, inputs, kinds=("parameters", "buffers")):
    known = {tensor.storage for tensor in inputs}
    for kind in kinds:
        known |= {tensor.storage for tensor in getattr(model, kind, list)()}
    return known

def watched(model, inputs, pack):
    with proflab.saved_tensors(lambda t: (pack(t), t)[1], lambda t: t):
        return model(*inputs)

def whole(model, shape):
    return meta_inputs(model, shape, per_sample=False)

COPIES = {"sgd": 0, "momentum": 1, "adam": 2, "adamw": 2}

def copies_of(optimizer):
    if optimizer not in COPIES:
        raise ValueError(optimizer)
    return COPIES[optimizer]

def trained_mb(model):
    if count_parameters(model, trainable_only=True) == 0:
        return 0.0
    return sum({id(p): p.nbytes for p in model.parameters() if p.requires_grad}.values()) / MB

def activations(model, shape, given):
    found = saved_activations(model, shape) / MB if given is None else given
    if found < 0:
        raise ValueError(found)
    return found

def parts(parameter, gradient, optimizer, activation):
    names = "parameter_mb", "gradient_mb", "optimizer_mb", "activation_mb"
    result = dict(zip(names, (parameter, gradient, optimizer, activation)))
    return result | {"total_mb": sum(result.values())}

right_saved, right_training = saved_activations, training_memory
"""

MUTANTS = {
    "saved_activations": {
        "all that is known is subtracted, kept or not": """
            inputs, kept = whole(model, input_shape), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept) - sum(s.nbytes for s in known_to(model, inputs))
        """,
        "what has a parameter's shape is one": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)
            shapes = {p.shape for p in getattr(model, "parameters", list)()}
            watched(model, inputs, lambda t: kept.setdefault(t.storage, t.shape))
            mine = {s for s, shape in kept.items() if shape not in shapes} - known
            return sum(s.nbytes for s in mine)
        """,
        "counted once for each that keeps it": """
            inputs, kept = whole(model, input_shape), []
            known = known_to(model, inputs)
            watched(model, inputs, lambda t: kept.append(t) if t.storage not in known else None)
            return sum(t.storage.nbytes for t in kept)
        """,
        "counted once for each model": """
            remembered = saved_activations.__dict__
            key = id(model)
            if key not in remembered:
                remembered[key] = model, right_saved(model, input_shape)
            return remembered[key][1]
        """,
        "once a tensor": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)
            watched(model, inputs, lambda t: kept.setdefault(id(t), t))
            return sum(t.storage.nbytes for t in kept.values() if t.storage not in known)
        """,
        "by an identity that comes again": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)

            def pack(t):
                if t.storage not in known:
                    kept[id(t.storage)] = t.storage.nbytes

            watched(model, inputs, pack)
            return sum(kept.values())
        """,
        "once a shape": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)

            def pack(t):
                if t.storage not in known:
                    kept[t.shape, t.dtype] = t.storage.nbytes

            watched(model, inputs, pack)
            return sum(kept.values())
        """,
        "parts count as what is looked at": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)
            watched(model, inputs, lambda t: kept.setdefault(t.storage, t.nbytes))
            return sum(size for storage, size in kept.items() if storage not in known)
        """,
        "inputs count": """
            inputs, kept = whole(model, input_shape), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, ()))
        """,
        "only the first input is left out": """
            inputs, kept = whole(model, input_shape), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs[:1]))
        """,
        "parameters count": """
            inputs, kept = whole(model, input_shape), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs, ("buffers",)))
        """,
        "buffers count": """
            inputs, kept = whole(model, input_shape), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs, ("parameters",)))
        """,
        "a Module is needed: raises": """
            inputs, kept = whole(model, input_shape), set()
            list(model.parameters())
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
        "only floating-point numbers": """
            inputs, kept = whole(model, input_shape), set()
            known = known_to(model, inputs)
            floating = lambda t: t.dtype.kind == "f" and t.storage not in known
            watched(model, inputs, lambda t: kept.add(t.storage) if floating(t) else None)
            return sum(s.nbytes for s in kept)
        """,
        "four bytes each": """
            inputs, kept = whole(model, input_shape), {}
            known = known_to(model, inputs)
            watched(model, inputs, lambda t: kept.setdefault(t.storage, t))
            return sum(4 * (s.nbytes // t.itemsize) for s, t in kept.items() if s not in known)
        """,
        "numbers, not bytes": "return right_saved(model, input_shape) // 4",
        "one sample": """
            inputs, kept = meta_inputs(model, input_shape, per_sample=True), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
        "one sample, times the batch": """
            inputs, kept = meta_inputs(model, input_shape, per_sample=True), set()
            watched(model, inputs, lambda t: kept.add(t.storage))
            batch = input_shape[0] if isinstance(input_shape[0], int) else 7
            return batch * sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
        "the output counts": """
            inputs, kept = whole(model, input_shape), set()
            kept.add(watched(model, inputs, lambda t: kept.add(t.storage)).storage)
            return sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
        "what is computed, not what is kept": """
            inputs, made = whole(model, input_shape), set()

            def watch(call):
                result = call()
                made.update(t.storage for t in (result if isinstance(result, tuple) else [result]))
                return result

            with dispatch.hook(watch):
                model(*inputs)
            return sum(s.nbytes for s in made)
        """,
        "in training always": """
            was = getattr(model, "training", True)
            if isinstance(model, nn.Module):
                model.train()
            found = right_saved(model, input_shape)
            if isinstance(model, nn.Module):
                model.train(was)
            return found
        """,
        "in eval always": """
            was = getattr(model, "training", True)
            if isinstance(model, nn.Module):
                model.eval()
            found = right_saved(model, input_shape)
            if isinstance(model, nn.Module):
                model.train(was)
            return found
        """,
        "left in eval": """
            found = right_saved(model, input_shape)
            if isinstance(model, nn.Module):
                model.eval()
            return found
        """,
        "with data": """
            if not callable(model):
                raise ValueError("no model")
            inputs, kept = real_inputs(model, input_shape), set()
            if any(p.is_meta for p in getattr(model, "parameters", list)()):
                inputs = whole(model, input_shape)
            watched(model, inputs, lambda t: kept.add(t.storage))
            return sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
        "frozen layers are thawed": """
            parameters = list(getattr(model, "parameters", list)())
            before = [p.requires_grad for p in parameters]
            for p in parameters:
                p.requires_grad = True
            found = right_saved(model, input_shape)
            for p, was in zip(parameters, before):
                p.requires_grad = was
            return found
        """,
        "under no_grad": """
            with proflab.no_grad():
                return right_saved(model, input_shape)
        """,
        "an error leaves the hook": """
            inputs, kept = whole(model, input_shape), set()
            pair = (lambda t: kept.add(t.storage) or t, lambda t: t)
            autograd.packers.append(pair)
            model(*inputs)
            autograd.packers.remove(pair)
            return sum(s.nbytes for s in kept - known_to(model, inputs))
        """,
    },
    "optimizer_memory_mb": {
        "Adam once": """
            return min(1, copies_of(optimizer)) * trained_mb(model)
        """,
        "the gradient is in it": "return (1 + copies_of(optimizer)) * trained_mb(model)",
        "momentum is nothing": """
            return (0 if optimizer == "momentum" else copies_of(optimizer)) * trained_mb(model)
        """,
        "SGD once": "return max(1, copies_of(optimizer)) * trained_mb(model)",
        "AdamW three times": """
            return (3 if optimizer == "adamw" else copies_of(optimizer)) * trained_mb(model)
        """,
        "AdamW is unknown": """
            if optimizer == "adamw":
                raise ValueError(optimizer)
            return copies_of(optimizer) * trained_mb(model)
        """,
        "frozen parameters have a state": """
            return copies_of(optimizer) * parameter_memory_mb(model)
        """,
        "shared parameters twice": """
            copies = copies_of(optimizer)
            if count_parameters(model, trainable_only=True) == 0:
                return 0.0
            return copies * sum(p.nbytes for p in model.parameters() if p.requires_grad) / MB
        """,
        "always float32": """
            return copies_of(optimizer) * count_parameters(model, trainable_only=True) * 4 / MB
        """,
        "at least float32": """
            copies = copies_of(optimizer)
            if trained_mb(model) == 0:
                return 0.0
            trained = {id(p): p for p in model.parameters() if p.requires_grad}.values()
            return copies * sum(max(p.nbytes, 4 * p.numel()) for p in trained) / MB
        """,
        "an unknown one is nothing": "return COPIES.get(optimizer, 0) * trained_mb(model)",
        "KeyError": "return COPIES[optimizer] * trained_mb(model)",
        "anything that begins with adam": """
            if str(optimizer).startswith("adam"):
                return 2 * trained_mb(model)
            return copies_of(optimizer) * trained_mb(model)
        """,
        "bytes": "return copies_of(optimizer) * trained_mb(model) * MB",
        "MB of 10⁶ bytes": "return copies_of(optimizer) * trained_mb(model) * MB / 10**6",
        "SGD of anything": """
            return 0.0 if optimizer == "sgd" else copies_of(optimizer) * trained_mb(model)
        """,
        "whatever lacks .parameters() is refused": """
            copies = copies_of(optimizer)
            if not hasattr(model, "parameters"):
                raise ValueError(model)
            found = {id(p): p.nbytes for p in model.parameters() if p.requires_grad}
            return copies * sum(found.values()) / MB
        """,
        "a Tensor is a model": """
            if isinstance(model, Tensor):
                return copies_of(optimizer) * model.nbytes / MB
            return copies_of(optimizer) * trained_mb(model)
        """,
    },
    "training_memory": {
        "in eval": """
            if activation_mb is None and isinstance(model, nn.Module):
                was = model.training
                kept = saved_activations(model.eval(), input_shape) / MB
                model.train(was)
                return right_training(model, input_shape, optimizer, kept)
            return right_training(model, input_shape, optimizer, activation_mb)
        """,
        "put into training, and left so": """
            if isinstance(model, nn.Module):
                model.train()
            return right_training(model, input_shape, optimizer, activation_mb)
        """,
        "counted in the model's mode, and left in training": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            if isinstance(model, nn.Module):
                model.train()
            return found
        """,
        "gradients are missing": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            return parts(found["parameter_mb"], 0.0, found["optimizer_mb"], found["activation_mb"])
        """,
        "frozen parameters have gradients": """
            state, kept = optimizer_memory_mb(model, optimizer), activations(
                model, input_shape, activation_mb)
            weights = parameter_memory_mb(model)
            return parts(weights, weights, state, kept)
        """,
        "only what is trained is stored": """
            state, kept = optimizer_memory_mb(model, optimizer), activations(
                model, input_shape, activation_mb)
            return parts(trained_mb(model), trained_mb(model), state, kept)
        """,
        "gradients are in the state, too": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            state = found["optimizer_mb"] + found["gradient_mb"]
            return parts(found["parameter_mb"], found["gradient_mb"], state, found["activation_mb"])
        """,
        "no activations means: count them": """
            if activation_mb is not None and activation_mb < 0:
                raise ValueError
            return right_training(model, input_shape, optimizer, activation_mb or None)
        """,
        "what is given is ignored": """
            if activation_mb is not None and activation_mb < 0:
                raise ValueError
            return right_training(model, input_shape, optimizer)
        """,
        "counted all the same: raises": """
            counted = saved_activations(model, input_shape) / MB
            kept = counted if activation_mb is None else activations(model, None, activation_mb)
            return right_training(model, input_shape, optimizer, kept)
        """,
        "negative ones count as none": """
            kept = None if activation_mb is None else max(0.0, activation_mb)
            return right_training(model, input_shape, optimizer, kept)
        """,
        "negative ones pass": """
            kept = activation_mb
            if kept is None:
                kept = saved_activations(model, input_shape) / MB
            weights, state = parameter_memory_mb(model), optimizer_memory_mb(model, optimizer)
            return parts(weights, trained_mb(model), state, kept)
        """,
        "activations in bytes": """
            kept = saved_activations(model, input_shape) if activation_mb is None else activation_mb
            return right_training(model, input_shape, optimizer, kept)
        """,
        "one sample": """
            if activation_mb is None:
                input_shape = (min(1, input_shape[0]), *input_shape[1:])
            return right_training(model, input_shape, optimizer, activation_mb)
        """,
        "the sum lacks the activations": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            return found | {"total_mb": found["total_mb"] - found["activation_mb"]}
        """,
        "the sum lacks the state": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            return found | {"total_mb": found["total_mb"] - found["optimizer_mb"]}
        """,
        "four copies, whatever the optimizer": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            weights = found["parameter_mb"]
            return found | {"total_mb": 4 * weights + found["activation_mb"]}
        """,
        "any optimizer is Adam": """
            known = optimizer if optimizer in COPIES else "adam"
            return right_training(model, input_shape, known, activation_mb)
        """,
        "MB of 10⁶ bytes": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            return parts(*(n * MB / 10**6 for n in list(found.values())[:4]))
        """,
        "activations twice": """
            kept = activations(model, input_shape, activation_mb)
            return right_training(model, input_shape, optimizer, 2 * kept)
        """,
        "measured, not counted": """
            if activation_mb is None:
                if any(p.is_meta for p in model.parameters()):
                    activation_mb = saved_activations(model, input_shape) / MB
                else:
                    activation_mb = measure_memory(model, input_shape)["activation_memory_mb"]
            return right_training(model, input_shape, optimizer, activation_mb)
        """,
        "rounded": """
            found = right_training(model, input_shape, optimizer, activation_mb)
            return {name: round(mb) for name, mb in found.items()}
        """,
    },
}
