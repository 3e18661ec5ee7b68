"""Lesson 02: results of the wrong type, sizes that nobody tried, answers kept from another call."""

from cohort.kinds import remembers

COUNTS = (
    "matmul_flops",
    "linear_flops",
    "conv2d_flops",
    "attention_flops",
    "elementwise_flops",
    "einsum_flops",
    "op_flops",
    "count_flops",
    "gradient_flops",
    "backward_flops",
    "training_flops",
    "reflect_6nd",
)

HELPERS = "KEPT = {}\n" + "".join(
    f"solved_{name} = {name}\n" for name in (*COUNTS, "conv2d_output_shape")
)


def _result(name: str, changed: str) -> str:
    """The right solution, with `found` changed before it is returned."""
    solution = f"found = solved_{name}(*args, **kwargs)"
    return f"def {name}(*args, **kwargs):\n    {solution}\n    return {changed}"


WRAPPED = {
    name: {
        "a float": _result(name, "float(found)"),
        "32-bit overflow": _result(name, "(found + 2**31) % 2**32 - 2**31"),
        "64-bit overflow": _result(name, "(found + 2**63) % 2**64 - 2**63"),
        "rounded to millions": _result(name, "round(found, -6) if found > 10**8 else found"),
    }
    for name in COUNTS
}

OTHERS = {
    "matmul_flops": {
        "0 alone is refused": """
            if 0 in (m, k, n):
                raise ValueError
            return 2 * m * k * n
        """,
    },
    "linear_flops": {
        "an empty batch is no work": """
            if not input_shape or min(input_shape[-1], out_features, *input_shape) < 0:
                raise ValueError
            return 2 * math.prod(input_shape) * out_features
        """,
        "the product is checked": """
            if not input_shape or math.prod(input_shape) * out_features < 1:
                raise ValueError
            return 2 * math.prod(input_shape) * out_features
        """,
        "0 alone is refused": """
            if not input_shape or 0 in (*input_shape, out_features):
                raise ValueError
            return 2 * math.prod(input_shape) * out_features
        """,
        "outputs are not checked": """
            if not input_shape:
                raise ValueError
            positive(*input_shape)
            return 2 * math.prod(input_shape) * out_features
        """,
    },
    "conv2d_output_shape": {
        "floats": """
            n, o, h, w = solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
            return (n, o, h / 1, w / 1)
        """,
        "a text": """
            return str(solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            ))
        """,
        "height and width alone": """
            return solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )[2:]
        """,
        **{
            f"{what} may be 0": f"""
            {name} = {one}
            return ({shown}, *solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )[{first}:])
        """
            for what, name, one, shown, first in (
                (
                    "the batch",
                    "n, input_shape",
                    "input_shape[0], (input_shape[0] or 1, *input_shape[1:])",
                    "n",
                    1,
                ),
                (
                    "channels",
                    "input_shape",
                    "(*input_shape[:1], input_shape[1] or 1, *input_shape[2:])",
                    "input_shape[0]",
                    1,
                ),
                (
                    "outputs",
                    "o, out_channels",
                    "out_channels, out_channels or 1",
                    "input_shape[0], o",
                    2,
                ),
            )
        },
        "a negative stride is turned round": """
            stride = tuple(map(abs, pair(stride)))
            return solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
        """,
        "a negative dilation is turned round": """
            dilation = tuple(map(abs, pair(dilation)))
            return solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
        """,
        "a negative border is none": """
            padding = tuple(max(0, p) for p in pair(padding))
            return solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
        """,
        "of three sizes the first two": """
            kernel_size = pair(kernel_size[:2] if isinstance(kernel_size, tuple) else kernel_size)
            return solved_conv2d_output_shape(
                input_shape, out_channels, kernel_size, stride, padding, dilation
            )
        """,
    },
    "conv2d_flops": {
        "negative groups are turned round": """
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation, abs(groups)
            )
        """,
        "an empty batch is no work": """
            if input_shape[0] == 0:
                return 0
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation, groups
            )
        """,
        "no channels are no work": """
            if 0 in (input_shape[1], out_channels):
                return 0
            return conv2d_flops_right(
                input_shape, out_channels, kernel_size, stride, padding, dilation, groups
            )
        """,
    },
    "attention_flops": {
        "causal pairs with /": """
            attention(batch, seq, d_model, heads)
            pairs = seq * (seq + 1) / 2 if causal else seq * seq
            return 8 * batch * seq * d_model**2 + 4 * batch * pairs * d_model
        """,
        "an empty batch is no work": """
            return solved_attention_flops(batch, seq, d_model, heads, causal) if batch else 0
        """,
        "0 alone is refused": """
            if 0 in (batch, seq, d_model, heads) or d_model % heads:
                raise ValueError
            pairs = seq * (seq + 1) // 2 if causal else seq * seq
            return 8 * batch * seq * d_model**2 + 4 * batch * pairs * d_model
        """,
        "a negative number of heads is turned round": """
            return solved_attention_flops(batch, seq, d_model, abs(heads), causal)
        """,
        "heads are not checked where causal": """
            return solved_attention_flops(batch, seq, d_model, 1 if causal else heads, causal)
        """,
    },
    "elementwise_flops": {
        "0 alone is refused": """
            if op not in ELEMENTWISE or 0 in shape:
                raise ValueError
            return ELEMENTWISE[op] * math.prod(shape)
        """,
        "a size of 0 is no work": """
            if op not in ELEMENTWISE or any(size < 0 for size in shape):
                raise ValueError
            return ELEMENTWISE[op] * math.prod(shape)
        """,
    },
    "count_flops": {
        "models are known by their id": """
            key = id(model), str(input_shape), per_sample
            if key not in KEPT:
                KEPT[key] = model, solved_count_flops(model, input_shape, per_sample)
            return KEPT[key][1]
        """,
        "counted in eval": """
            mode = getattr(model, "training", False)
            if mode:
                model.eval()
            try:
                return solved_count_flops(model, input_shape, per_sample)
            finally:
                if mode:
                    model.train()
        """,
        "counted in training": """
            mode = getattr(model, "training", True)
            if not mode:
                model.train()
            try:
                return solved_count_flops(model, input_shape, per_sample)
            finally:
                if not mode:
                    model.eval()
        """,
        "the model is left in training": """
            count = solved_count_flops(model, input_shape, per_sample)
            if hasattr(model, "train"):
                model.train()
            return count
        """,
        "gradients are thrown away": """
            for p in getattr(model, "parameters", list)():
                p.grad = None
            return solved_count_flops(model, input_shape, per_sample)
        """,
        "only trainable layers": """
            if isinstance(model, Tensor):
                return model.numel()
            calls = watched(model, input_shape, per_sample)[0]
            frozen = lambda call: len(call.inputs) > 1 and not call.inputs[1].requires_grad
            return sum(0 if frozen(call) else flops_of(call) for call in calls)
        """,
    },
    "gradient_flops": {
        "any wanted input is the first": """
            return sum(sorted(wanted, reverse=True)[:2]) * solved_op_flops(op, shapes, attributes)
        """,
    },
    "backward_flops": {
        "models are known by their id": """
            key = id(model), str(input_shape), input_grad, per_sample
            if key not in KEPT:
                KEPT[key] = model, solved_backward_flops(model, input_shape, input_grad, per_sample)
            return KEPT[key][1]
        """,
        "unknown ops are nothing": """
            if isinstance(model, Tensor):
                return 0
            total = 0
            for call in walked(model, input_shape, input_grad, per_sample):
                try:
                    total += gradients_of(call)
                except NotImplementedError:
                    pass
            return total
        """,
        "the model is left in eval": """
            if hasattr(model, "eval"):
                model.eval()
            return solved_backward_flops(model, input_shape, input_grad, per_sample)
        """,
    },
    "training_flops": {
        "models are known by their id": """
            key = id(model), str(input_shape), input_grad, per_sample
            if key not in KEPT:
                KEPT[key] = model, solved_training_flops(model, input_shape, input_grad, per_sample)
            return KEPT[key][1]
        """,
        "the model is left in eval": """
            if hasattr(model, "eval"):
                model.eval()
            return solved_training_flops(model, input_shape, input_grad, per_sample)
        """,
    },
    "reflect_6nd": {
        "0 alone is refused": """
            if 0 in (parameters, tokens):
                raise ValueError
            return 6 * parameters * tokens
        """,
        "parameters are not checked": "positive(tokens)\nreturn 6 * parameters * tokens",
        "three decimals": """
            positive(parameters, tokens)
            return float(f"{6 * parameters * tokens:.3e}")
        """,
    },
}

MUTANTS = {
    name: WRAPPED.get(name, {}) | OTHERS.get(name, {}) for name in (*COUNTS, "conv2d_output_shape")
}
MUTANTS["linear_flops"] |= remembers("linear_flops")
MUTANTS["conv2d_output_shape"] |= remembers("conv2d_output_shape")
