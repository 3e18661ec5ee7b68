"""Lesson 02, from single ops to whole models: what counters get wrong there.

`watched` is a pass as its calls; each mutant below sums them in one wrong way.
"""

HELPERS = """
right_gradient_flops = gradient_flops

def watched(model, input_shape, per_sample=True, input_grad=False, inputs=None):
    seen = []
    def note(call):
        seen.append(call)
        return call()
    made = meta_inputs(model, input_shape, per_sample, input_grad) if inputs is None else inputs
    with dispatch.hook(note):
        output = model(*made)
    return seen, made, output

def shapes_of(call):
    return [t.shape for t in call.inputs]

def flops_of(call):
    return right_op_flops(call.op, shapes_of(call), call.attributes)

def walked(model, input_shape, input_grad=False, per_sample=True):
    made = meta_inputs(model, input_shape, per_sample, input_grad)
    output = model(*made)
    seen = []
    def note(call):
        seen.append(call)
        return call()
    with dispatch.hook(note):
        walk_back(model, output)
    return seen

def gradients_of(call, wanted=None):
    wanted = [t.requires_grad for t in call.inputs] if wanted is None else wanted
    return right_gradient_flops(call.op, shapes_of(call), call.attributes, wanted)
"""

MUTANTS = {
    "op_flops": {
        "unknown ops are nothing": """
            try:
                return right_op_flops(op, shapes, attributes)
            except NotImplementedError:
                return 0
        """,
        "unknown ops are one an element": """
            try:
                return right_op_flops(op, shapes, attributes)
            except NotImplementedError:
                return math.prod(shapes[0])
        """,
        "the error does not name the op": """
            try:
                return right_op_flops(op, shapes, attributes)
            except NotImplementedError:
                raise NotImplementedError("there is no rule for this op") from None
        """,
        "KeyError for an unknown op": """
            try:
                return right_op_flops(op, shapes, attributes)
            except NotImplementedError:
                raise KeyError(op) from None
        """,
        "names are matched in part": """
            for name in ("linear", "matmul", "conv2d", "einsum"):
                if name in op.lower():
                    return right_op_flops(name, shapes, attributes)
            return right_op_flops(op, shapes, attributes)
        """,
        "fused attention is nothing": """
            return 0 if op.startswith("scaled") else right_op_flops(op, shapes, attributes)
        """,
        "fused attention is its scores": """
            if op.startswith("scaled"):
                return right_op_flops("matmul", as_matmuls(shapes)[0], {})
            return right_op_flops(op, shapes, attributes)
        """,
        "fused attention takes keys as long as queries": """
            if op.startswith("scaled"):
                return 4 * math.prod(shapes[0]) * shapes[0][-2]
            return right_op_flops(op, shapes, attributes)
        """,
        "fused attention halves what is causal": """
            half = op.startswith("scaled") and attributes["is_causal"]
            return right_op_flops(op, shapes, attributes) // (2 if half else 1)
        """,
        "matrix-vector products are nothing": """
            if op == "matmul" and min(map(len, shapes)) < 2:
                return 0
            return right_op_flops(op, shapes, attributes)
        """,
        "matmul does not broadcast": """
            if op == "matmul":
                a, b = shapes
                return 2 * math.prod(a) * (b[-1] if len(b) > 1 else 1)
            return right_op_flops(op, shapes, attributes)
        """,
        "matmul is of two dimensions": """
            if op == "matmul" and min(map(len, shapes)) > 1:
                return 2 * shapes[0][-2] * shapes[0][-1] * shapes[1][-1]
            return right_op_flops(op, shapes, attributes)
        """,
        "linear ignores leading dimensions": """
            if op == "linear":
                return 2 * math.prod(shapes[1])
            return right_op_flops(op, shapes, attributes)
        """,
        "linear ignores positions": """
            if op == "linear":
                return 2 * math.prod(shapes[1]) * (shapes[0][0] if len(shapes[0]) > 1 else 1)
            return right_op_flops(op, shapes, attributes)
        """,
        "weights the other way round": """
            if op == "linear":
                return 2 * math.prod(shapes[0]) * shapes[1][1]
            return right_op_flops(op, shapes, attributes)
        """,
        "biases are mixed in": """
            bias = op in ("linear", "conv2d") and len(shapes) > 2
            return right_op_flops(op, shapes, attributes) + (shapes[2][0] if bias else 0)
        """,
        "groups are ignored": """
            if op == "conv2d":
                return right_op_flops(op, shapes, attributes) * attributes["groups"]
            return right_op_flops(op, shapes, attributes)
        """,
        "settings of a convolution are ignored": """
            if op == "conv2d":
                attributes = attributes | {"stride": (1, 1), "padding": (0, 0)}
            return right_op_flops(op, shapes, attributes)
        """,
        "einsum is nothing": """
            return 0 if op == "einsum" else right_op_flops(op, shapes, attributes)
        """,
        "multiply-adds": "return right_op_flops(op, shapes, attributes) // 2",
        "elementwise work is mixed in": """
            return right_op_flops(op, shapes, attributes) or math.prod(shapes[0])
        """,
    },
    "count_flops": {
        "16384 written in": "return model.numel() if isinstance(model, Tensor) else 16384",
        "two FLOPs a parameter": """
            if isinstance(model, Tensor):
                return model.numel()
            meta_inputs(model, input_shape, per_sample)
            return 2 * sum(math.prod(p.shape) for p in getattr(model, "parameters", list)())
        """,
        "multiply-adds": """
            count = right_count_flops(model, input_shape, per_sample)
            return count if isinstance(model, Tensor) else count // 2
        """,
        "the batch always counts": "return right_count_flops(model, input_shape, False)",
        "always per sample": "return right_count_flops(model, input_shape)",
        "only the first input is cut to one sample": """
            if isinstance(model, Tensor):
                return model.numel()
            made = list(meta_inputs(model, input_shape, False))
            made[:1] = meta_inputs(model, input_shape, per_sample)[:1]
            doubled = len(made) if per_sample and len(made) > 1 else 1
            return doubled * sum(map(flops_of, watched(model, None, inputs=tuple(made))[0]))
        """,
        "the batch is not looked at": """
            if per_sample and isinstance(input_shape, tuple) and isinstance(input_shape[0], int):
                input_shape = (1, *input_shape[1:])
            return right_count_flops(model, input_shape, per_sample)
        """,
        "layers are known by their class's name": """
            if isinstance(model, Tensor):
                return model.numel()
            total = 0
            def add(module, inputs, result):
                nonlocal total
                if type(module).__name__ == "Linear":
                    total += linear_flops(inputs[0].shape, module.weight.shape[0])
                elif type(module).__name__ == "Conv2d":
                    total += conv2d_flops(inputs[0].shape, *module.weight.shape[::2][:1],
                        module.weight.shape[2:], module.stride, module.padding,
                        module.dilation, module.groups)
            modules = list(model.modules()) if hasattr(model, "modules") else []
            handles = [module.register_forward_hook(add) for module in modules]
            model(*meta_inputs(model, input_shape, per_sample))
            for handle in handles:
                handle.remove()
            return total
        """,
        "layers are known by their class": """
            if isinstance(model, Tensor):
                return model.numel()
            total = 0
            def add(module, inputs, result):
                nonlocal total
                if isinstance(module, nn.Linear):
                    total += linear_flops(inputs[0].shape, module.weight.shape[0])
                elif isinstance(module, nn.Conv2d):
                    settings = module.stride, module.padding, module.dilation, module.groups
                    o, _, *kernel = module.weight.shape
                    total += conv2d_flops(inputs[0].shape, o, kernel, *settings)
            modules = list(model.modules()) if hasattr(model, "modules") else []
            handles = [module.register_forward_hook(add) for module in modules]
            model(*meta_inputs(model, input_shape, per_sample))
            for handle in handles:
                handle.remove()
            return total
        """,
        "reused layers count once": """
            if isinstance(model, Tensor):
                return model.numel()
            once = {}
            for number, call in enumerate(watched(model, input_shape, per_sample)[0]):
                key = id(call.inputs[1]) if call.op in ("linear", "conv2d") else number
                once[key] = flops_of(call)
            return sum(once.values())
        """,
        "only the first layer counts": """
            if isinstance(model, Tensor):
                return model.numel()
            counts = list(map(flops_of, watched(model, input_shape, per_sample)[0]))
            return next((n for n in counts if n), 0)
        """,
        "every layer gets the model's input": """
            if isinstance(model, Tensor):
                return model.numel()
            calls, made, _ = watched(model, input_shape, per_sample)
            return sum(
                2 * math.prod(made[0].shape) * call.inputs[1].shape[0]
                if call.op == "linear" else flops_of(call)
                for call in calls
            )
        """,
        "unknown ops are nothing": """
            if isinstance(model, Tensor):
                return model.numel()
            total = 0
            for call in watched(model, input_shape, per_sample)[0]:
                try:
                    total += flops_of(call)
                except NotImplementedError:
                    pass
            return total
        """,
        "a model with an unknown op is nothing": """
            try:
                return right_count_flops(model, input_shape, per_sample)
            except NotImplementedError:
                return 0
        """,
        "unknown ops are one an element": """
            if isinstance(model, Tensor):
                return model.numel()
            total = 0
            for call in watched(model, input_shape, per_sample)[0]:
                try:
                    total += flops_of(call)
                except NotImplementedError:
                    total += math.prod(call.inputs[0].shape)
            return total
        """,
        "fused attention is nothing": """
            if isinstance(model, Tensor):
                return model.numel()
            calls = watched(model, input_shape, per_sample)[0]
            return sum(flops_of(call) for call in calls if not call.op.startswith("scaled"))
        """,
        "ops outside modules are not seen": """
            if isinstance(model, Tensor):
                return model.numel()
            calls = watched(model, input_shape, per_sample)[0]
            return sum(flops_of(c) for c in calls if c.module_path or isinstance(model, nn.Linear))
        """,
        "elementwise work is mixed in": """
            if isinstance(model, Tensor):
                return model.numel()
            calls = watched(model, input_shape, per_sample)[0]
            return sum(flops_of(c) or math.prod(c.inputs[0].shape) for c in calls)
        """,
        "a Tensor is nothing": """
            if isinstance(model, Tensor):
                return 0
            return right_count_flops(model, input_shape, per_sample)
        """,
        "a Tensor is counted per sample": """
            if isinstance(model, Tensor):
                return model.numel() // model.shape[0]
            return right_count_flops(model, input_shape, per_sample)
        """,
        "a Tensor is as large as the shape": """
            if isinstance(model, Tensor):
                return math.prod(input_shape)
            return right_count_flops(model, input_shape, per_sample)
        """,
        "the model is left in eval": """
            if hasattr(model, "eval"):
                model.eval()
            return right_count_flops(model, input_shape, per_sample)
        """,
        "the model really runs": """
            if hasattr(model, "buffers") and not any(p.is_meta for p in model.parameters()):
                model(*(Tensor(np.zeros(x.shape, x.dtype))
                        for x in meta_inputs(model, input_shape, per_sample)))
            return right_count_flops(model, input_shape, per_sample)
        """,
        "gradients are left behind": """
            count = right_count_flops(model, input_shape, per_sample)
            for p in getattr(model, "parameters", list)():
                p.grad = p
            return count
        """,
        "what is no model is nothing": """
            if not callable(model) and not isinstance(model, Tensor):
                return 0
            return right_count_flops(model, input_shape, per_sample)
        """,
    },
}
