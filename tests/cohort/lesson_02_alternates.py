"""Lesson 02: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "matmul_flops": {
        "a sum over rows": """
            if m < 1 or k < 1 or n < 1:
                raise ValueError("size")
            return sum(2 * k * n for _ in range(m)) if m < 10**5 else m * 2 * k * n
        """,
        "math.prod": """
            sizes = [m, k, n]
            if any(size <= 0 for size in sizes):
                raise ValueError(sizes)
            return math.prod([2, *sizes])
        """,
        "a lambda": """
            matmul_flops = lambda m, k, n: (m * n * (k + k)) if min(m, k, n) > 0 else int("size")
        """,
    },
    "linear_flops": {
        "recursion": """
            def linear_flops(input_shape, out_features):
                if not input_shape or out_features < 1 or input_shape[0] < 1:
                    raise ValueError("size")
                first, *rest = input_shape
                if not rest:
                    return 2 * first * out_features
                return first * linear_flops(rest, out_features)
        """,
        "numpy": """
            shape = np.array(input_shape, dtype=np.int64)
            if shape.size == 0 or (shape < 1).any() or out_features < 1:
                raise ValueError("size")
            return math.prod(shape.tolist()) * 2 * out_features
        """,
        "a loop": """
            if len(input_shape) == 0:
                raise ValueError("empty")
            total = matmul_flops(1, input_shape[-1], out_features)
            for size in input_shape[:-1]:
                if size < 1:
                    raise ValueError("size")
                total *= size
            return total
        """,
    },
    "conv2d_output_shape": {
        "the windows are counted": """
            if len(input_shape) != 4 or min(input_shape) < 1 or out_channels < 1:
                raise ValueError("shape")
            def places(size, k, s, p, d):
                if k < 1 or s < 1 or d < 1 or p < 0:
                    raise ValueError("setting")
                starts = range(0, size + 2 * p - d * (k - 1), s)
                if len(starts) == 0:
                    raise ValueError("fit")
                return len(starts)
            settings = zip(*map(pair, (kernel_size, stride, padding, dilation)))
            sides = [places(size, *each) for size, each in zip(input_shape[2:], settings)]
            return [input_shape[0], out_channels, *sides]
        """,
        "by the engine": """
            (kh, kw), s = pair(kernel_size), pair(stride)
            p, d = pair(padding), pair(dilation)
            if len(input_shape) != 4 or min(*input_shape, out_channels, kh, kw, *s, *d) < 1:
                raise ValueError("size")
            if min(p) < 0:
                raise ValueError("padding")
            weight = Tensor.meta((out_channels, input_shape[1], kh, kw))
            return F.conv2d(Tensor.meta(input_shape), weight, None, s, p, d).shape
        """,
        "an array": """
            if len(input_shape) != 4:
                raise ValueError("shape")
            image = np.array(input_shape[2:])
            k, s, p, d = (np.array(pair(v)) for v in (kernel_size, stride, padding, dilation))
            sizes = np.concatenate([input_shape, [out_channels], k, s, d, p + 1])
            room = image + 2 * p - d * (k - 1) - 1
            if sizes.min() < 1 or room.min() < 0:
                raise ValueError("size")
            return np.array([input_shape[0], out_channels, *(room // s + 1)])
        """,
        "torch's formula, in floats": """
            k, s, p, d = (pair(v) for v in (kernel_size, stride, padding, dilation))
            n, c, *image = input_shape
            if len(image) != 2 or min(n, c, *image, out_channels, *k, *s, *d) < 1 or min(p) < 0:
                raise ValueError("size")
            h, w = (
                math.floor((image[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1) for i in (0, 1)
            )
            if h < 1 or w < 1:
                raise ValueError("fit")
            return n, out_channels, h, w
        """,
    },
    "conv2d_flops": {
        "a matrix product over columns": """
            n, o, h, w = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            if groups <= 0 or input_shape[1] % groups or o % groups:
                raise ValueError("groups")
            kh, kw = pair(kernel_size)
            column = input_shape[1] // groups * kh * kw
            return groups * matmul_flops(o // groups, column, n * h * w)
        """,
        "image by image, group by group": """
            shape = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            if groups < 1 or any(c % groups for c in (input_shape[1], out_channels)):
                raise ValueError("groups")
            total = 0
            for _ in range(shape[0]):
                for _ in range(groups):
                    filters = out_channels // groups
                    each = input_shape[1] // groups * np.prod(pair(kernel_size))
                    total += 2 * filters * int(each) * shape[2] * shape[3]
            return total
        """,
        "a linear layer at each place": """
            output = conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            per_group = divmod(input_shape[1], groups) if groups > 0 else (0, 1)
            if per_group[1] or out_channels % groups:
                raise ValueError("groups")
            inputs = per_group[0] * math.prod(pair(kernel_size))
            return linear_flops((output[0], output[2], output[3], inputs), out_channels)
        """,
    },
    "attention_flops": {
        "the formula": """
            if min(batch, seq, d_model, heads) < 1 or d_model % heads != 0:
                raise ValueError("sizes")
            within = 2 * seq * (seq + 1) if causal else 4 * seq**2
            return batch * d_model * (8 * seq * d_model + within)
        """,
        "head by head": """
            for size in (batch, seq, d_model, heads):
                if size < 1:
                    raise ValueError(size)
            width, rest = divmod(d_model, heads)
            if rest:
                raise ValueError(heads)
            total = 3 * linear_flops([batch, seq, d_model], d_model)
            for _ in range(heads):
                if causal:
                    total += 2 * 2 * batch * (seq * seq + seq) // 2 * width
                else:
                    total += 2 * batch * matmul_flops(seq, width, seq)
            return total + linear_flops([batch, seq, d_model], d_model)
        """,
        "token by token": """
            if any(size < 1 for size in (batch, seq, d_model, heads)) or d_model % heads:
                raise ValueError("sizes")
            seen = np.arange(1, seq + 1) if causal else np.full(seq, seq)
            return 8 * batch * seq * d_model**2 + 4 * batch * d_model * int(seen.sum())
        """,
    },
    "elementwise_flops": {
        "the exception is passed on": """
            try:
                each = ELEMENTWISE[op]
            except KeyError:
                raise ValueError(op) from None
            for size in shape:
                if size < 1:
                    raise ValueError(shape)
                each *= size
            return each
        """,
        "numpy": """
            if ELEMENTWISE.get(op) is None or np.any(np.array(shape, int) < 1):
                raise ValueError("unknown")
            return ELEMENTWISE[op] * np.prod(np.array(shape, dtype=object), initial=1)
        """,
    },
    "einsum_flops": {
        "as a matrix product": """
            operands, out = equation.split("->")
            labels = operands.split(",")
            if len(labels) == 1:
                return 0
            a, b = labels
            size = dict(zip(a, shapes[0])) | dict(zip(b, shapes[1]))
            batch = [size[x] for x in out if x in a and x in b]
            left = [size[x] for x in out if x in a and x not in b]
            right = [size[x] for x in out if x in b and x not in a]
            summed = [size[x] for x in a if x in b and x not in out]
            if not summed:
                return 0
            return math.prod(batch) * matmul_flops(*map(math.prod, (left, summed, right)))
        """,
        "label by label": """
            before, after = equation.split("->")
            names = before.split(",")
            if len(names) > 2:
                raise ValueError("operands")
            total, sums = 2, False
            for label in sorted(set(before) - {","}):
                within = [label in name for name in names]
                if all(within) and len(names) == 2 and label not in after:
                    sums = True
                if label in after or (all(within) and len(names) == 2):
                    which = within.index(True)
                    total *= shapes[which][names[which].index(label)]
            return total if sums else 0
        """,
    },
    "op_flops": {
        "a table of rules": """
            def product(a, b):
                a = a if len(a) > 1 else (1, a[0])
                b = b if len(b) > 1 else (b[0], 1)
                stack = np.empty(a[:-2] + (0,)), np.empty(b[:-2] + (0,))
                stack = np.broadcast(*stack).shape[:-1]
                return int(np.prod(stack, dtype=np.int64)) * matmul_flops(a[-2], a[-1], b[-1])
            def conv(x, w, *bias):
                return conv2d_flops(x, w[0], w[2:], **attributes)
            def fused(q, k, v, *mask):
                first, second = as_matmuls([q, k, v])
                return product(*first) + product(*second)
            rules = {
                "matmul": product,
                "linear": lambda x, w, *bias: linear_flops(x, w[0]),
                "conv2d": conv,
                "einsum": lambda *operands: einsum_flops(attributes["equation"], operands),
                "scaled_dot_product_attention": fused,
            }
            if op in rules:
                return rules[op](*shapes)
            if op not in NO_PRODUCTS:
                raise NotImplementedError("no rule for the op " + repr(op))
            return 0
        """,
        "a match statement": """
            match op:
                case "linear":
                    x, w = shapes[:2]
                    return linear_flops(x, w[0])
                case "conv2d":
                    filters = shapes[1]
                    return conv2d_flops(shapes[0], filters[0], list(filters[2:]), **attributes)
                case "einsum":
                    return einsum_flops(shapes=shapes, equation=attributes["equation"])
                case "matmul":
                    left, right = (Tensor.meta(s) for s in shapes)
                    return 2 * (left @ right).numel() * shapes[0][-1]
                case "scaled_dot_product_attention":
                    return sum(op_flops("matmul", list(pair), {}) for pair in as_matmuls(shapes))
                case _ if op in NO_PRODUCTS:
                    return 0
            raise NotImplementedError(f"{op!r}, with inputs {shapes}")
        """,
    },
    "count_flops": {
        "calls are listed first": """
            if isinstance(model, Tensor):
                return math.prod(model.shape)
            calls = []
            def note(call):
                calls.append(call)
                result = call()
                return result
            with dispatch.hook(note):
                model(*meta_inputs(model, input_shape, per_sample))
            return sum(op_flops(c.op, [t.shape for t in c.inputs], c.attributes) for c in calls)
        """,
        "an object for a hook": """
            class Counter:
                total = 0
                def __call__(self, call):
                    result = call()
                    shapes = tuple(tensor.shape for tensor in call.inputs)
                    self.total += op_flops(call.op, shapes, call.attributes)
                    return result
            if isinstance(model, Tensor):
                return sum(1 for _ in range(model.numel()))
            counter = Counter()
            inputs = meta_inputs(model, input_shape, per_sample=per_sample)
            with autograd.no_grad(), dispatch.hook(counter):
                model(*inputs)
            return counter.total
        """,
        "a dict by module": """
            from collections import Counter
            if isinstance(model, Tensor):
                return model.numel()
            by_module = Counter()
            def hook(call):
                shapes = [list(t.shape) for t in call.inputs]
                flops = op_flops(call.op, [tuple(s) for s in shapes], call.attributes)
                by_module[call.module_path, call.op] += flops
                return call()
            with dispatch.hook(hook):
                model(*meta_inputs(model, input_shape, per_sample))
            return by_module.total()
        """,
    },
    "gradient_flops": {
        "operand by operand": """
            if op != "scaled_dot_product_attention":
                total = op_flops(op, shapes, attributes) * 0
                for want in wanted[:2]:
                    total += op_flops(op, shapes, attributes) if want else 0
                return total
            q, k, v, *mask = wanted
            scores, mix = (op_flops("matmul", p, {}) for p in as_matmuls(shapes))
            total = scores if q else 0
            total += scores if k else 0
            total += mix if v else 0
            return total + (mix if q or k or any(mask) else 0)
        """,
        "products with what they want": """
            products = [(op, shapes, wanted[:2])]
            if op.startswith("scaled_dot"):
                first, second = as_matmuls(shapes)
                into_scores = bool(wanted[0] or wanted[1] or (len(wanted) > 3 and wanted[3]))
                products = [("matmul", first, wanted[:2])]
                products.append(("matmul", second, [into_scores, wanted[2]]))
            return sum(op_flops(o, s, attributes) * w.count(True) for o, s, w in products)
        """,
    },
    "backward_flops": {
        "calls are listed first": """
            calls = []
            def note(call):
                calls.append((call, [t.requires_grad for t in call.inputs]))
                return call()
            if not isinstance(model, Tensor):
                inputs = meta_inputs(model, input_shape, per_sample, input_grad)
                result = model(*inputs)
                with dispatch.hook(note):
                    walk_back(model, result)
            def cost(c, wanted):
                seen = c.op, [t.shape for t in c.inputs], c.attributes
                return gradient_flops(*seen, wanted) if c.phase == "backward" else op_flops(*seen)
            return sum(cost(c, wanted) for c, wanted in calls)
        """,
        "hooked all the way": """
            if isinstance(model, Tensor):
                return 0
            counts = {"there": 0, "back": 0}
            way = "there"
            def hook(call):
                shapes = [t.shape for t in call.inputs]
                wanted = [bool(t.requires_grad) for t in call.inputs]
                if call.phase == "backward":
                    flops = gradient_flops(call.op, shapes, call.attributes, wanted)
                else:
                    flops = op_flops(call.op, shapes, call.attributes)
                counts[way] += flops
                return call()
            with dispatch.hook(hook):
                output = model(*meta_inputs(model, input_shape, per_sample, input_grad))
                way = "back"
                walk_back(model, output)
            return counts["back"]
        """,
    },
    "training_flops": {
        "a sum of a list": """
            arguments = {"per_sample": per_sample}
            counts = [count_flops(model, input_shape, **arguments)]
            counts.append(backward_flops(model, input_shape, input_grad, **arguments))
            return sum(counts)
        """,
        "in one expression": """
            return backward_flops(
                input_grad=input_grad, model=model, input_shape=input_shape, per_sample=per_sample
            ) + count_flops(model, input_shape, per_sample)
        """,
    },
    "reflect_6nd": {
        "forward and twice that": """
            if parameters <= 0 or tokens <= 0:
                raise ValueError("at least 1")
            forward = 2 * parameters * tokens
            return forward + 2 * forward
        """,
        "as a matrix product": """
            return 3 * matmul_flops(tokens, parameters, 1)
        """,
    },
}
