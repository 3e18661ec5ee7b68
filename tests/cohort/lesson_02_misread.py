"""Lesson 02: what a student writes who has read a docstring, and passed over one of its rules."""

HELPERS = """
def refitted(input_shape, out_channels, kernel_size, stride, padding, dilation, fits):
    rest, k, s, p, d = windows(
        input_shape, out_channels, kernel_size, stride, padding, dilation, fits=False
    )
    if fits(input_shape, rest, k, p):
        return (input_shape[0], out_channels, *(max(0, r // t + 1) for r, t in zip(rest, s)))
    raise ValueError("does not fit")

def count_back(model, input_shape, input_grad, per_sample, count):
    if isinstance(model, Tensor):
        return 0
    return sum(map(count, walked(model, input_shape, input_grad, per_sample)))
"""

_SHAPE = "input_shape, out_channels, kernel_size, stride, padding, dilation"
_BACK = "model, input_shape, input_grad, per_sample"

MUTANTS = {
    "linear_flops": {
        "no features are no work": """
            if not input_shape or min(out_features, *input_shape[:-1], 1) < 1:
                raise ValueError
            if input_shape[-1] < 0:
                raise ValueError
            return 2 * math.prod(input_shape) * out_features
        """,
    },
    "conv2d_output_shape": {
        "only the height has to fit": f"""
            return refitted({_SHAPE}, lambda shape, rest, k, p: rest[0] >= 0)
        """,
        "a kernel has to fit before it is dilated": f"""
            return refitted(
                {_SHAPE},
                lambda shape, rest, k, p: all(shape[2 + i] + 2 * p[i] >= k[i] for i in (0, 1)),
            )
        """,
        "a kernel may be 0": f"""
            kernel_size = tuple(k or 1 for k in pair(kernel_size))
            return solved_conv2d_output_shape({_SHAPE})
        """,
        "horizontal before vertical": f"""
            kernel_size, stride, padding, dilation = (
                pair(v)[::-1] for v in (kernel_size, stride, padding, dilation)
            )
            return solved_conv2d_output_shape({_SHAPE})
        """,
        "only tuples are pairs": f"""
            for value in (kernel_size, stride, padding, dilation):
                if not isinstance(value, (int, tuple)):
                    raise TypeError("neither a number nor a pair")
            return solved_conv2d_output_shape({_SHAPE})
        """,
    },
    "conv2d_flops": {
        "dilation multiplies the work": f"""
            work = solved_conv2d_flops({_SHAPE}, groups)
            return work * math.prod(pair(dilation))
        """,
        "a window that does not fit is no work": f"""
            try:
                conv2d_output_shape({_SHAPE})
            except ValueError as error:
                if "does not fit" in str(error):
                    return 0
                raise
            return solved_conv2d_flops({_SHAPE}, groups)
        """,
    },
    "attention_flops": {
        "divided by no heads": """
            if d_model % heads or min(batch, seq, d_model, heads) < 1:
                raise ValueError
            return solved_attention_flops(batch, seq, d_model, heads, causal)
        """,
        "no width is no work": """
            return solved_attention_flops(batch, seq, d_model, heads, causal) if d_model else 0
        """,
    },
    "einsum_flops": {
        "a label that both have and the result too is summed": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2 or not set(labels[0]) & set(labels[1]):
                return 0
            return 2 * math.prod(sizes[x] for x in set(labels[0]) & set(labels[1]) | set(out))
        """,
        "a label of one operand is summed": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2 or not set("".join(labels)) - set(out):
                return 0
            return 2 * math.prod(sizes[x] for x in set(labels[0]) & set(labels[1]) | set(out))
        """,
        "one label is summed": """
            labels, out, sizes = parsed(equation, shapes)
            summed = sorted(set(labels[0]) & set(labels[-1]) - set(out)) if len(labels) > 1 else []
            return 2 * math.prod(sizes[x] for x in {*summed[:1], *out}) if summed else 0
        """,
    },
    "op_flops": {
        "a vector on the left is a column": """
            if op == "matmul" and len(shapes[0]) == 1:
                return 2 * shapes[0][0] * shapes[1][-1]
            return right_op_flops(op, shapes, attributes)
        """,
        "two vectors are elementwise work": """
            if op == "matmul" and len(shapes[0]) == len(shapes[1]) == 1:
                return 0
            return right_op_flops(op, shapes, attributes)
        """,
        "a mask is multiplied too": """
            if op.startswith("scaled") and len(shapes) > 3:
                return right_op_flops(op, shapes, attributes) + 2 * math.prod(shapes[3])
            return right_op_flops(op, shapes, attributes)
        """,
    },
    "gradient_flops": {
        "what nobody wants is not looked up": """
            if not any(wanted):
                return 0
            return right_gradient_flops(op, shapes, attributes, wanted)
        """,
        "matmul has its weight second": """
            if op == "matmul":
                return wanted[1] * op_flops(op, shapes, attributes)
            return right_gradient_flops(op, shapes, attributes, wanted)
        """,
    },
    "backward_flops": {
        "all ops there are of the backward pass": f"return count_back({_BACK}, gradients_of)",
        "what is computed again is not counted": f"""
            return count_back({_BACK}, lambda c: c.phase == "backward" and gradients_of(c))
        """,
        "what is computed again counts as a gradient, too": f"""
            return count_back(
                {_BACK}, lambda c: gradients_of(c) + (c.phase == "forward") * flops_of(c)
            )
        """,
        "tokens get a gradient": """
            count = right_backward_flops(model, input_shape, input_grad, per_sample)
            if input_grad and getattr(model, "input_dtype", None):
                return count + count_flops(model, input_shape, per_sample)
            return count
        """,
    },
    "training_flops": {
        "a Tensor is nothing": """
            if isinstance(model, Tensor):
                return 0
            return solved_training_flops(model, input_shape, input_grad, per_sample)
        """,
    },
}
