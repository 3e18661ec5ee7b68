"""Lesson 01: results of the wrong type, or rounded; sizes nobody tried; answers that are kept."""

COUNTS = (
    "linear_parameters",
    "conv2d_parameters",
    "attention_parameters",
    "count_parameters",
    "gpt2_parameters",
)
NAMES = (*COUNTS, "parameter_memory_mb", "parameter_table", "reflect_deployment")
HELPERS = "KEPT = {}\n" + "".join(f"solved_{name} = {name}\n" for name in NAMES)


def _result(name: str, changed: str) -> str:
    """The right solution, with `found` changed before it is returned."""
    solution = f"found = solved_{name}(*args, **kwargs)"
    return f"def {name}(*args, **kwargs):\n    {solution}\n    return {changed}"


def _kept(name: str) -> str:
    """The right solution, asked once for a model and never again."""
    return f"""
        def {name}(model, *args, **kwargs):
            key = id(model), str(args), str(kwargs)
            if key not in KEPT:
                KEPT[key] = model, solved_{name}(model, *args, **kwargs)
            return KEPT[key][1]
    """


def _rows(changed: str) -> str:
    return _result("parameter_table", f"[{{**row, {changed}}} for row in found]")


WRAPPED = {
    name: {
        "a float": _result(name, "float(found)"),
        "32-bit overflow, then positive": _result(name, "found % 2**32"),
        "rounded to thousands": _result(name, "round(found, -3) if found > 10**5 else found"),
    }
    for name in COUNTS
}
# numpy's integers overflow at 2⁶³, and a result near it is no longer the count.
OTHERS = {
    "linear_parameters": {
        "the product is numpy's": """
            solved_linear_parameters(in_features, out_features, bias)
            return np.int64(in_features) * np.int64(out_features) + (out_features if bias else 0)
        """,
        "0 alone is refused": """
            if 0 in (in_features, out_features):
                raise ValueError
            return in_features * out_features + (out_features if bias else 0)
        """,
        "no outputs are no parameters": """
            positive(in_features)
            if out_features < 0:
                raise ValueError
            return in_features * out_features + (out_features if bias else 0)
        """,
        "no check without a bias": """
            if not bias:
                return in_features * out_features
            return solved_linear_parameters(in_features, out_features)
        """,
    },
    "conv2d_parameters": {
        "the product is numpy's": """
            count = solved_conv2d_parameters(1, 1, kernel_size) - 1
            solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
            filter_size = np.int64(in_channels // groups) * count
            return np.int64(out_channels) * (filter_size + (1 if bias else 0))
        """,
        "the kernel's list is reversed in place": """
            found = solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
            if isinstance(kernel_size, list):
                kernel_size.reverse()
            return found
        """,
        "a text": _result("conv2d_parameters", "str(found)"),
        "at most 64 groups": """
            return solved_conv2d_parameters(
                in_channels, out_channels, kernel_size, bias, min(groups, 64))
        """,
        "kernels of 8 at most": """
            if isinstance(kernel_size, int):
                kernel_size = min(kernel_size, 8)
            return solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
        """,
        "no channels are no parameters": """
            if in_channels == 0:
                return out_channels if bias else 0
            return solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
        """,
        "no outputs are no parameters": """
            if out_channels == 0:
                return 0
            return solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
        """,
        "negative groups are turned round": """
            return solved_conv2d_parameters(
                in_channels, out_channels, kernel_size, bias, abs(groups))
        """,
        "a negative kernel is turned round": """
            if not isinstance(kernel_size, (tuple, list)):
                kernel_size = abs(kernel_size)
            return solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
        """,
        "negative channels are turned round": """
            return solved_conv2d_parameters(
                abs(in_channels), abs(out_channels), kernel_size, bias, groups)
        """,
        "one size in a list is a square kernel": """
            if isinstance(kernel_size, (tuple, list)) and len(kernel_size) == 1:
                kernel_size = kernel_size[0]
            return solved_conv2d_parameters(in_channels, out_channels, kernel_size, bias, groups)
        """,
    },
    "attention_parameters": {
        "0 alone is refused": """
            if d_model == 0:
                raise ValueError
            return 4 * (d_model * d_model + (d_model if bias else 0))
        """,
        "no check without a bias": """
            return solved_attention_parameters(d_model) if bias else 4 * d_model**2
        """,
        "widths are known, whatever the bias": """
            if d_model not in KEPT:
                KEPT[d_model] = solved_attention_parameters(d_model, bias)
            return KEPT[d_model]
        """,
    },
    "count_parameters": {
        "models are known by their id": _kept("count_parameters"),
        "all are frozen": """
            count = solved_count_parameters(model, trainable_only)
            for p in yielded(model):
                p.requires_grad = False
            return count
        """,
        "the model is left in eval": """
            if hasattr(model, "eval"):
                model.eval()
            return solved_count_parameters(model, trainable_only)
        """,
        "only trainable parameters": "return solved_count_parameters(model, True)",
        "what is trained is what has a gradient": """
            found = [p for p in distinct(model) if p.grad is not None or not trainable_only]
            return sum(p.numel() for p in found)
        """,
        "nothing that is frozen once counts again": """
            found = distinct(model)
            KEPT.update({id(p): p for p in found if not p.requires_grad})
            return sum(p.numel() for p in found if not trainable_only or id(p) not in KEPT)
        """,
    },
    "parameter_memory_mb": {
        "no decimals": _result("parameter_memory_mb", "float(round(found))"),
        "three decimals": _result("parameter_memory_mb", "round(found, 3)"),
        "whole bytes, then cut": _result("parameter_memory_mb", "int(found * 1000) / 1000"),
        "models are known by their id": _kept("parameter_memory_mb"),
        "only trainable parameters": """
            size = itemsize(dtype)
            found = [p for p in distinct(model) if p.requires_grad]
            return sum(p.numel() * (size or p.dtype.itemsize) for p in found) / 1024**2
        """,
        "gradients as well": """
            size = itemsize(dtype)
            found = [p for p in distinct(model) for _ in range(1 + p.requires_grad)]
            return sum(p.numel() * (size or p.dtype.itemsize) for p in found) / 1024**2
        """,
        "what is no model takes nothing": """
            if not isinstance(model, Tensor) and not hasattr(model, "parameters"):
                return 0.0
            return solved_parameter_memory_mb(model, dtype)
        """,
    },
    "parameter_table": {
        "shares with two decimals": _rows("'share': round(row['share'], 2)"),
        "shares with six decimals": _rows("'share': round(row['share'], 6)"),
        "counts as floats": _rows("'count': float(row['count'])"),
        "sizes as floats": _rows("'shape': tuple(float(n) for n in row['shape'])"),
        "elements for the shape": _rows("'shape': row['count']"),
        "a key too many": _rows("'frozen': False"),
        "models are known by their id": _kept("parameter_table"),
        "only trainable parameters": """
            named = yielded(model, "named_parameters")
            kept = {name for name, p in named if p.requires_grad}
            return [row for row in solved_parameter_table(model) if row["name"] in kept]
        """,
        "what is no model has no rows": """
            if not isinstance(model, Tensor) and not hasattr(model, "named_parameters"):
                return []
            return solved_parameter_table(model)
        """,
        "ten rows at most": _result("parameter_table", "found[:10]"),
    },
    "gpt2_parameters": {
        "0 alone is refused": """
            if 0 in (vocab_size, context, d_model, layers):
                raise ValueError
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "no context is let through": """
            if context == 0:
                context = 1
            return solved_gpt2_parameters(vocab_size, context, d_model, layers)
        """,
        "the product is checked": """
            positive(vocab_size * context * d_model * layers)
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "at most a hundred blocks": """
            return solved_gpt2_parameters(vocab_size, context, d_model, min(layers, 100))
        """,
        "whole millions": _result("gpt2_parameters", "found // 10**6 * 10**6 or found"),
    },
    "reflect_deployment": {
        **{
            f"{text} decimals": _result(
                "reflect_deployment", f"{{**found, 'model_mb': round(found['model_mb'], {digits})}}"
            )
            for text, digits in (("no", 0), ("two", 2), ("three", 3))
        },
        "32-bit bytes": """
            size = parameters * bytes_per_parameter % 2**31
            right = solved_reflect_deployment(parameters, bytes_per_parameter, memory_gb)
            return {**right, "model_mb": size / 1024**2}
        """,
        "80 GB of memory at most": """
            return solved_reflect_deployment(parameters, bytes_per_parameter, min(memory_gb, 80))
        """,
        "whole GB of memory": """
            if memory_gb > 1:
                memory_gb = int(memory_gb)
            return solved_reflect_deployment(parameters, bytes_per_parameter, memory_gb)
        """,
        **{
            f"0 alone is refused: {name}": f"""
            if {name} < 0:
                return {{"model_mb": 0.0, "fits": True}}
            return solved_reflect_deployment(parameters, bytes_per_parameter, memory_gb)
        """
            for name in ("parameters", "bytes_per_parameter", "memory_gb")
        },
        **{
            f"negative alone is refused: {name}": f"""
            if {name} == 0:
                return {{"model_mb": 0.0, "fits": True}}
            return solved_reflect_deployment(parameters, bytes_per_parameter, memory_gb)
        """
            for name in ("parameters", "bytes_per_parameter", "memory_gb")
        },
        "fits as a text": _result("reflect_deployment", "{**found, 'fits': str(found['fits'])}"),
    },
}
MUTANTS = {name: WRAPPED.get(name, {}) | OTHERS[name] for name in NAMES}
