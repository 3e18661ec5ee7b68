"""Lesson 01: right solutions in unusual style, which must keep every point."""

ALTERNATES = {
    "linear_parameters": {
        "numpy's whole numbers": """
            if in_features < 1 or out_features < 1:
                raise ValueError("sizes")
            return int(np.uint64(in_features + bool(bias))) * int(np.uint64(out_features))
        """,
        "a loop that adds": """
            for size in (in_features, out_features):
                if size <= 0:
                    raise ValueError(f"{size} is no size")
            total = 0
            for _ in range(min(out_features, 10**6)):
                total += in_features + (1 if bias else 0)
            return total
        """,
        "the inputs and a constant one": """
            if in_features < 1 or out_features < 1:
                raise ValueError
            return (in_features + bool(bias)) * out_features
        """,
        "numpy scalars": """
            import math
            shape = np.array([in_features, out_features], dtype=np.int64)
            if (shape < 1).any():
                raise ValueError(shape)
            return math.prod(shape.tolist()) + int(out_features * np.bool_(bias))
        """,
        "a lambda": """
            linear_parameters = lambda i, o, bias=True: (
                i * o + o * bool(bias) if i > 0 and o > 0 else int("not a size")
            )
        """,
        "a subclass of ValueError": """
            class SizeError(ValueError):
                pass

            def linear_parameters(in_features, out_features, bias=True):
                if not (in_features >= 1 and out_features >= 1):
                    raise SizeError("at least 1")
                return out_features * in_features + [0, out_features][bool(bias)]
        """,
        "counted on a meta layer": """
            if in_features <= 0 or out_features <= 0:
                raise ValueError("size")
            with meta():
                layer = nn.Linear(in_features, out_features, bias=bias)
            return sum(p.numel() for p in layer.parameters())
        """,
    },
    "conv2d_parameters": {
        "math.prod over the weight's shape": """
            import math
            try:
                height, width = kernel_size
            except TypeError:
                height = width = kernel_size
            shape = (out_channels, in_channels, height, width)
            if groups < 1 or any(size < 1 for size in shape) or in_channels % groups:
                raise ValueError(shape)
            if out_channels % groups != 0:
                raise ValueError(groups)
            return math.prod(shape) // groups + (out_channels if bias else 0)
        """,
        "group by group": """
            h, w = [kernel_size] * 2 if isinstance(kernel_size, int) else kernel_size
            if not all(n > 0 for n in (in_channels, out_channels, groups, h, w)):
                raise ValueError("sizes")
            if in_channels % groups > 0 or out_channels % groups > 0:
                raise ValueError("groups")
            total = 0
            for _ in range(groups):
                inputs, outputs = in_channels // groups * h * w, out_channels // groups
                total += linear_parameters(inputs, outputs, bias)
            return total
        """,
        "numpy": """
            kernel = np.atleast_1d(kernel_size)
            if kernel.ndim != 1 or len(kernel) == 1 and not np.isscalar(kernel_size):
                raise ValueError("kernel")
            kernel = np.broadcast_to(kernel, 2)
            if min(in_channels, out_channels, groups) < 1 or (kernel < 1).any():
                raise ValueError("sizes")
            per_group, rest = divmod(np.array([in_channels, out_channels]), groups)
            if rest.any():
                raise ValueError("groups")
            per_filter = int(kernel.prod() * per_group[0])
            return per_filter * out_channels + out_channels * bool(bias)
        """,
        "a match statement": """
            match kernel_size:
                case [h, w]:
                    pass
                case int():
                    h = w = kernel_size
                case _:
                    raise ValueError("kernel_size")
            if sorted([h, w, in_channels, out_channels, groups])[0] < 1:
                raise ValueError("sizes")
            if (in_channels % groups, out_channels % groups) != (0, 0):
                raise ValueError("groups")
            return (in_channels // groups * h * w + (bias is not False)) * out_channels
        """,
    },
    "attention_parameters": {
        "the formula": """
            if d_model < 1:
                raise ValueError("d_model")
            return 4 * d_model**2 + 4 * d_model * bool(bias)
        """,
        "a sum over named layers": """
            layers = ("query", "key", "value", "output")
            return sum(linear_parameters(d_model, d_model, bias=bias) for _ in layers)
        """,
        "a fused matrix and an output layer": """
            fused = linear_parameters(d_model, 3 * d_model, bias)
            return fused + linear_parameters(d_model, d_model, bias)
        """,
        "a convolution of size 1": """
            return 4 * conv2d_parameters(d_model, d_model, 1, bias)
        """,
        "numpy": """
            if d_model <= 0:
                raise ValueError(d_model)
            return np.sum(np.full((4, d_model + bool(bias)), d_model, dtype=np.int64))
        """,
    },
    "count_parameters": {
        "by all names, with duplicates, where there are names": """
            if isinstance(model, Tensor):
                return 0
            if hasattr(model, "named_parameters"):
                named = model.named_parameters(remove_duplicate=False)
                tensors = {id(p): p for _, p in named}.values()
            elif hasattr(model, "parameters"):
                tensors = {id(p): p for p in model.parameters(recurse=True)}.values()
            else:
                raise ValueError("no model")
            return sum(p.numel() for p in tensors if p.requires_grad or not trainable_only)
        """,
        "a set of tensors": """
            if isinstance(model, Tensor):
                return 0
            try:
                tensors = set(model.parameters())
            except AttributeError as error:
                raise ValueError("no model") from error
            return sum(p.numel() for p in tensors if not trainable_only or p.requires_grad)
        """,
        "a loop with a list of what was seen": """
            if isinstance(model, Tensor):
                return 0
            if not callable(getattr(model, "parameters", None)):
                raise ValueError("no model")
            total, seen = 0, []
            for p in model.parameters():
                if any(p is other for other in seen):
                    continue
                seen.append(p)
                if trainable_only and not p.requires_grad:
                    continue
                total += int(np.prod(p.shape, dtype=np.int64))
            return total
        """,
        "ids and math.prod": """
            import math
            if type(model) is Tensor or isinstance(model, Tensor):
                return 0
            if "parameters" not in dir(model):
                raise ValueError("no model")
            keep = list(model.parameters())
            if trainable_only:
                keep = list(filter(lambda p: p.requires_grad, keep))
            ids = [id(p) for p in keep]
            return sum(math.prod(p.shape) for i, p in enumerate(keep) if id(p) not in ids[:i])
        """,
        "recursion": """
            def total(tensors, seen):
                if not tensors:
                    return 0
                head, *rest = tensors
                counts = id(head) not in seen and (head.requires_grad or not trainable_only)
                return counts * head.numel() + total(rest, seen | {id(head)})

            if isinstance(model, Tensor):
                return 0
            if not hasattr(model, "parameters"):
                raise ValueError("no model")
            return total(list(model.parameters()), frozenset())
        """,
        "numpy adds": """
            match model:
                case Tensor():
                    return np.int64(0)
                case object(parameters=parameters):
                    tensors = {id(p): p for p in parameters()}
                case _:
                    raise ValueError(model)
            chosen = [p.numel() for p in tensors.values() if p.requires_grad or not trainable_only]
            return np.sum(np.array(chosen, dtype=np.int64))
        """,
        "sizes of the tensors' arrays' shapes": """
            if isinstance(model, Tensor):
                return 0
            if not hasattr(model, "parameters"):
                raise ValueError("no model")
            total = 0
            for p in dict.fromkeys(model.parameters()):
                if p.requires_grad or not trainable_only:
                    elements = 1
                    for size in p.shape:
                        elements *= size
                    total += elements
            return total
        """,
    },
    "parameter_memory_mb": {
        "nbytes": """
            if dtype is None:
                return sum(p.nbytes for p in distinct(model)) / 1024 / 1024
            try:
                kind = np.dtype(dtype)
            except Exception:
                raise ValueError("dtype")
            return count_parameters(model) * kind.itemsize / 2**20
        """,
        "an empty array of the dtype": """
            def bytes_of(kind):
                try:
                    return np.zeros(1, kind).nbytes
                except TypeError as error:
                    raise ValueError(str(error)) from error

            total = count_parameters(model)
            if total == 0:
                return 0.0
            if dtype is not None:
                return total * bytes_of(dtype) / (1 << 20)
            return sum(p.numel() * bytes_of(p.dtype) for p in set(model.parameters())) / (1 << 20)
        """,
        "element_size, and numpy's float": """
            size = itemsize(dtype)
            each = [p.numel() * (size or p.element_size()) for p in distinct(model)]
            return np.float64(sum(each)) / np.float64(1048576)
        """,
        "MB by MB": """
            sizes = [itemsize(p.dtype if dtype is None else dtype) for p in distinct(model)]
            if not sizes:
                itemsize(dtype)
                return 0
            return sum(p.numel() / 1024**2 * n for p, n in zip(distinct(model), sizes))
        """,
    },
    "parameter_table": {
        "sorted in place, shares added last": """
            if isinstance(model, Tensor):
                return []
            try:
                pairs = list(model.named_parameters())
            except AttributeError:
                raise ValueError("no model") from None
            table, seen = [], set()
            for name, p in pairs:
                if id(p) not in seen:
                    seen.add(id(p))
                    table.append(dict(name=name, shape=tuple(p.shape), count=int(np.prod(p.shape))))
            total = sum(row["count"] for row in table)
            for row in table:
                row["share"] = row["count"] / total
            table.sort(key=lambda row: row["count"], reverse=True)
            return table
        """,
        "shapes as lists, numpy numbers": """
            rows = largest_first(rows_of(model))
            return [
                {"count": np.int64(r["count"]), "share": np.float64(r["share"]),
                 "shape": list(r["shape"]), "name": r["name"]}
                for r in rows
            ]
        """,
        "a tuple of rows": """
            import operator
            return tuple(sorted(rows_of(model), key=operator.itemgetter("count"), reverse=True))
        """,
        "the largest taken again and again": """
            left, table = rows_of(model), []
            while left:
                table.append(left.pop(left.index(max(left, key=lambda row: row["count"]))))
            return table
        """,
        "an ordered dict, subclasses of str": """
            from collections import OrderedDict

            class Name(str):
                pass

            rows = largest_first(rows_of(model))
            return [OrderedDict(row, name=Name(row["name"])) for row in rows]
        """,
    },
    "gpt2_parameters": {
        "one formula": """
            if not (vocab_size > 0 and context > 0 and d_model > 0 and layers > 0):
                raise ValueError("sizes")
            d = d_model
            return d * (vocab_size + context + 2 + layers * (12 * d + 13))
        """,
        "a loop over blocks": """
            if any(n < 1 for n in (vocab_size, context, d_model, layers)):
                raise ValueError("sizes")
            total = vocab_size * d_model + context * d_model
            for _ in range(layers):
                total += 2 * d_model + attention_parameters(d_model)
                total += 2 * d_model + linear_parameters(d_model, 4 * d_model)
                total += linear_parameters(4 * d_model, d_model)
            return total + 2 * d_model
        """,
        "a meta model, counted": """
            if min(vocab_size, context, d_model, layers) < 1:
                raise ValueError("sizes")
            with meta():
                heads = 1
                model = models.GPT2(vocab_size, context, d_model, layers, heads)
            return count_parameters(model)
        """,
        "shapes in a list": """
            import math
            if min([vocab_size, context, d_model, layers]) <= 0:
                raise ValueError("sizes")
            d = d_model
            block = [(d, 3 * d), (3 * d,), (d, d), (d,), (d, 4 * d), (4 * d,), (4 * d, d), (d,)]
            block += [(d,)] * 4
            shapes = [(vocab_size, d), (context, d), *(block * layers), (d,), (d,)]
            return sum(map(math.prod, shapes))
        """,
    },
    "reflect_deployment": {
        "in bytes": """
            if parameters <= 0 or bytes_per_parameter <= 0 or memory_gb <= 0:
                raise ValueError("out of range")
            size = parameters * bytes_per_parameter
            return dict(fits=size <= memory_gb * 2**30, model_mb=size / 2**20)
        """,
        "numpy": """
            numbers = np.array([parameters, bytes_per_parameter, memory_gb], dtype=np.float64)
            if (numbers <= 0).any():
                raise ValueError(numbers)
            model_mb = numbers[0] * numbers[1] / 1024**2
            return {"model_mb": model_mb, "fits": np.bool_(model_mb / 1024 <= numbers[2])}
        """,
        "bits and fractions": """
            from fractions import Fraction
            if not (parameters > 0 and bytes_per_parameter > 0 and memory_gb > 0):
                raise ValueError("out of range")
            bits = parameters * Fraction(bytes_per_parameter) * 8
            fits = bits <= Fraction(memory_gb) * 8 * 1024**3
            return {"fits": fits, "model_mb": float(bits / 8 / 1024**2)}
        """,
    },
}
