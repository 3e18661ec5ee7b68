"""Lesson 02: arguments that are written to, lists refused, and shares of a batch."""

_POPPED = """
def {name}(*args, **kwargs):
    found = solved_{name}(*args, **kwargs)
    for given in (*args, *kwargs.values()):
        if isinstance(given, list):
            given.reverse()
            given and given.pop()
    return found
"""

OF_LISTS = (
    "linear_flops",
    "conv2d_output_shape",
    "conv2d_flops",
    "einsum_flops",
    "op_flops",
    "gradient_flops",
)

MUTANTS = {name: {"the lists are used up": _POPPED.format(name=name)} for name in OF_LISTS} | {
    name: {} for name in ("count_flops", "backward_flops", "training_flops")
}

MUTANTS["conv2d_output_shape"] |= {
    "pairs are tuples": """
        if any(isinstance(each, list) for each in (kernel_size, stride, padding, dilation)):
            raise ValueError("a list")
        return solved_conv2d_output_shape(
            input_shape, out_channels, kernel_size, stride, padding, dilation
        )
    """,
    "of five sizes the last four": """
        return solved_conv2d_output_shape(
            input_shape[-4:], out_channels, kernel_size, stride, padding, dilation
        )
    """,
    "three sizes are one image": """
        if len(input_shape) == 3:
            input_shape = (1, *input_shape)
        return solved_conv2d_output_shape(
            input_shape, out_channels, kernel_size, stride, padding, dilation
        )
    """,
}
MUTANTS["conv2d_flops"] |= {
    "pairs are tuples": """
        if any(isinstance(each, list) for each in (kernel_size, stride, padding, dilation)):
            raise ValueError("a list")
        return solved_conv2d_flops(
            input_shape, out_channels, kernel_size, stride, padding, dilation, groups
        )
    """,
    "of five sizes the last four": """
        return solved_conv2d_flops(
            input_shape[-4:], out_channels, kernel_size, stride, padding, dilation, groups
        )
    """,
    "three sizes are one image": """
        if len(input_shape) == 3:
            input_shape = (1, *input_shape)
        return solved_conv2d_flops(
            input_shape, out_channels, kernel_size, stride, padding, dilation, groups
        )
    """,
    "of three kernel sizes the last two": """
        kernel_size = kernel_size[-2:] if isinstance(kernel_size, (list, tuple)) else kernel_size
        return solved_conv2d_flops(
            input_shape, out_channels, kernel_size, stride, padding, dilation, groups
        )
    """,
}
MUTANTS["op_flops"] |= {
    "pairs are tuples": """
        if any(isinstance(value, list) for value in attributes.values()):
            raise ValueError("a list")
        return solved_op_flops(op, shapes, attributes)
    """,
    "attributes are taken out: raises": """
        found = solved_op_flops(op, shapes, attributes)
        attributes.clear()
        return found
    """,
}
for _name, _signature in {
    "count_flops": "model, input_shape, per_sample=True",
    "backward_flops": "model, input_shape, input_grad=False, per_sample=True",
    "training_flops": "model, input_shape, input_grad=False, per_sample=True",
}.items():
    _whole = "input_grad, False" if "input_grad" in _signature else "False"
    _again = "input_grad, per_sample" if "input_grad" in _signature else "per_sample"
    MUTANTS[_name] |= {
        "a sample is the batch divided": f"""
            if isinstance(model, Tensor) or not per_sample:
                return solved_{_name}(model, input_shape, {_again})
            inputs = example_input(model, input_shape, meta=True)
            first = inputs[0] if isinstance(inputs, tuple) else inputs
            whole = solved_{_name}(model, input_shape, {_whole})
            return whole // (first.shape[0] if first.shape else 1)
        """,
        "a bare Tensor has one dimension": f"""
            if isinstance(model, Tensor):
                return model.shape[0] if "{_name}" != "backward_flops" else model.ndim - 1
            return solved_{_name}(model, input_shape, {_again})
        """,
    }
