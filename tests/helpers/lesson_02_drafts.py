"""Drafts of lesson 02's exercises, by students who read the docstrings and nothing else.

FIRST are those of someone in a hurry, SECOND of someone who reads twice but has not seen a hidden
case either. Some are right, some pass over a rule.
"""

FIRST = {
    "matmul_flops": """
        if m <= 0 or k <= 0 or n <= 0:
            raise ValueError("sizes must be positive")
        return 2 * m * n * k
    """,
    "linear_flops": """
        if len(input_shape) == 0 or 0 in input_shape or out_features < 1:
            raise ValueError("sizes")
        total = 2 * out_features
        for size in input_shape:
            total *= size
        return total
    """,
    "conv2d_output_shape": """
        n, c, h, w = input_shape
        (kh, kw), (sh, sw) = pair(kernel_size), pair(stride)
        (ph, pw), (dh, dw) = pair(padding), pair(dilation)
        if min(n, c, h, w, out_channels, kh, kw, sh, sw) < 1 or ph < 0 or pw < 0:
            raise ValueError("sizes")
        height = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1
        width = (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
        if height < 1 or width < 1:
            raise ValueError("does not fit")
        return n, out_channels, height, width
    """,
    "conv2d_flops": """
        n, o, h, w = conv2d_output_shape(
            input_shape, out_channels, kernel_size, stride, padding, dilation
        )
        if input_shape[1] % groups or out_channels % groups:
            raise ValueError("groups")
        kh, kw = pair(kernel_size)
        return 2 * n * o * h * w * (input_shape[1] // groups) * kh * kw
    """,
    "attention_flops": """
        if d_model % heads != 0 or batch < 1 or seq < 1 or d_model < 1:
            raise ValueError("sizes")
        between = 4 * batch * seq * seq * d_model
        if causal:
            between = between * (seq + 1) / (2 * seq)
        return 8 * batch * seq * d_model**2 + between
    """,
    "elementwise_flops": """
        if op not in ELEMENTWISE:
            raise ValueError(op)
        if shape and min(shape) < 1:
            raise ValueError(shape)
        return ELEMENTWISE[op] * math.prod(shape)
    """,
    "einsum_flops": """
        operands, out = equation.split("->")
        names = operands.split(",")
        if len(names) > 2:
            raise ValueError("more than two operands")
        if len(names) == 1:
            return 0
        sizes = {}
        for name, shape in zip(names, shapes):
            for label, size in zip(name, shape):
                sizes[label] = size
        if all(label in out for label in names[0] + names[1]):
            return 0
        return 2 * math.prod(sizes.values())
    """,
    "op_flops": """
        if op == "linear":
            return linear_flops(shapes[0], shapes[1][0])
        if op == "matmul":
            a, b = shapes
            return 2 * math.prod(a) * b[-1]
        if op == "conv2d":
            return conv2d_flops(shapes[0], shapes[1][0], shapes[1][2:], **attributes)
        if op == "einsum":
            return einsum_flops(attributes["equation"], shapes)
        if op == "scaled_dot_product_attention":
            return sum(op_flops("matmul", product, {}) for product in as_matmuls(shapes))
        if op in NO_PRODUCTS:
            return 0
        raise NotImplementedError(op)
    """,
    "count_flops": """
        if isinstance(model, Tensor):
            return model.numel()
        total = 0
        def hook(call):
            nonlocal total
            total += op_flops(call.op, [x.shape for x in call.inputs], call.attributes)
            return call()
        with dispatch.hook(hook):
            model(*meta_inputs(model, input_shape, per_sample))
        return total
    """,
    "gradient_flops": """
        if not any(wanted) or op in NO_PRODUCTS:
            return 0
        return sum(wanted[:2]) * op_flops(op, shapes, attributes)
    """,
    "backward_flops": """
        if isinstance(model, Tensor):
            return 0
        total = 0
        def hook(call):
            nonlocal total
            wanted = [x.requires_grad for x in call.inputs]
            shapes = [x.shape for x in call.inputs]
            total += gradient_flops(call.op, shapes, call.attributes, wanted)
            return call()
        inputs = meta_inputs(model, input_shape, per_sample, input_grad)
        output = model(*inputs)
        with dispatch.hook(hook):
            walk_back(model, output)
        return total
    """,
    "training_flops": "return 3 * count_flops(model, input_shape, per_sample)",
    "reflect_6nd": """
        if parameters < 1 or tokens < 1:
            raise ValueError("at least 1")
        return 6 * parameters * tokens
    """,
}

SECOND = FIRST | {
    "linear_flops": """
        if len(input_shape) == 0:
            raise ValueError("empty shape")
        for size in (*input_shape, out_features):
            if size < 1:
                raise ValueError(f"a size of {size}")
        rows = 1
        for size in input_shape[:-1]:
            rows *= size
        return matmul_flops(rows, input_shape[-1], out_features)
    """,
    "conv2d_output_shape": """
        if len(input_shape) != 4:
            raise ValueError("four sizes")
        settings = [pair(value) for value in (kernel_size, stride, padding, dilation)]
        result = [input_shape[0], out_channels]
        for i in (0, 1):
            k, s, p, d = (setting[i] for setting in settings)
            if min(k, s, d, *input_shape, out_channels) < 1 or p < 0:
                raise ValueError("sizes")
            room = input_shape[2 + i] + 2 * p - d * (k - 1) - 1
            if room < 0:
                raise ValueError("does not fit")
            result.append(room // s + 1)
        return tuple(result)
    """,
    "conv2d_flops": """
        shape = conv2d_output_shape(
            input_shape, out_channels, kernel_size, stride, padding, dilation
        )
        if groups < 1 or input_shape[1] % groups != 0 or out_channels % groups != 0:
            raise ValueError("groups")
        kh, kw = pair(kernel_size)
        return math.prod(shape) * 2 * input_shape[1] // groups * kh * kw
    """,
    "attention_flops": """
        if min(batch, seq, d_model, heads) < 1:
            raise ValueError("sizes")
        if d_model % heads:
            raise ValueError("heads")
        pairs = seq * (seq + 1) // 2 if causal else seq**2
        return 4 * linear_flops((batch, seq, d_model), d_model) + 4 * batch * pairs * d_model
    """,
    "einsum_flops": """
        operands, out = equation.split("->")
        names = operands.split(",")
        if len(names) > 2:
            raise ValueError("more than two operands")
        if len(names) == 1:
            return 0
        sizes = dict(zip(names[0], shapes[0])) | dict(zip(names[1], shapes[1]))
        summed = [x for x in names[0] if x in names[1] and x not in out]
        if not summed:
            return 0
        return 2 * math.prod(sizes[x] for x in summed) * math.prod(sizes[x] for x in out)
    """,
    "op_flops": """
        if op == "linear":
            return linear_flops(shapes[0], shapes[1][0])
        if op == "matmul":
            a, b = tuple(shapes[0]), tuple(shapes[1])
            if len(a) == 1:
                a = (1,) + a
            if len(b) == 1:
                b = b + (1,)
            stack = np.broadcast_shapes(a[:-2], b[:-2])
            return math.prod(stack) * matmul_flops(a[-2], a[-1], b[-1])
        if op == "conv2d":
            return conv2d_flops(shapes[0], shapes[1][0], shapes[1][2:], **attributes)
        if op == "einsum":
            return einsum_flops(attributes["equation"], shapes)
        if op == "scaled_dot_product_attention":
            first, second = as_matmuls(shapes)
            return op_flops("matmul", first, {}) + op_flops("matmul", second, {})
        if op in NO_PRODUCTS:
            return 0
        raise NotImplementedError(f"no rule for {op}")
    """,
    "gradient_flops": """
        if op == "scaled_dot_product_attention":
            first, second = as_matmuls(shapes)
            query, key, value, *mask = wanted
            scores = query or key or any(mask)
            total = (query + key) * op_flops("matmul", first, {})
            return total + (scores + value) * op_flops("matmul", second, {})
        return sum(wanted[:2]) * op_flops(op, shapes, attributes)
    """,
    "backward_flops": """
        if isinstance(model, Tensor):
            return 0
        total = 0
        def hook(call):
            nonlocal total
            shapes = [x.shape for x in call.inputs]
            if call.phase == "forward":
                total += op_flops(call.op, shapes, call.attributes)
            else:
                wanted = [x.requires_grad for x in call.inputs]
                total += gradient_flops(call.op, shapes, call.attributes, wanted)
            return call()
        output = model(*meta_inputs(model, input_shape, per_sample, input_grad))
        with dispatch.hook(hook):
            walk_back(model, output)
        return total
    """,
    "training_flops": """
        forward = count_flops(model, input_shape, per_sample)
        return forward + backward_flops(model, input_shape, input_grad, per_sample)
    """,
}
