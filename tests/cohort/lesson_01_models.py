"""Lesson 01, whole models: what counts of their parameters get wrong."""

MUTANTS = {
    "count_parameters": {
        "hard-coded 55 and 0": """
            yielded(model)
            return 55 if isinstance(model, nn.Linear) else 0
        """,
        "tied tensors count as often as they are yielded": """
            return sum(p.numel() for p in yielded(model) if p.requires_grad or not trainable_only)
        """,
        "tensors of one shape are taken for one": """
            once = {p.shape: p for p in yielded(model)}.values()
            return sum(p.numel() for p in once if p.requires_grad or not trainable_only)
        """,
        "equal tensors are taken for one": """
            once = {id(p) if p.is_meta else str(p.tolist()): p for p in yielded(model)}.values()
            return sum(p.numel() for p in once if p.requires_grad or not trainable_only)
        """,
        "biases are left out": """
            matrices = [p for p in distinct(model) if len(p.shape) != 1]
            return sum(p.numel() for p in matrices if p.requires_grad or not trainable_only)
        """,
        "a single number has no elements": """
            some = [p for p in distinct(model) if p.shape]
            return sum(p.numel() for p in some if p.requires_grad or not trainable_only)
        """,
        "frozen parameters never count": """
            return sum(p.numel() for p in distinct(model) if p.requires_grad or p.is_meta)
        """,
        "frozen parameters always count": "return sum(p.numel() for p in distinct(model))",
        "the flag the wrong way round": """
            return sum(p.numel() for p in distinct(model) if p.requires_grad or trainable_only)
        """,
        "a formula for each class of layer": """
            if isinstance(model, nn.Linear):
                return linear_parameters(model.in_features, model.out_features)
            if not isinstance(model, nn.Module):
                return sum(p.numel() for p in distinct(model))
            return sum(count_parameters(child, trainable_only) for child in model.children())
        """,
        "only a Module is a model": """
            if not isinstance(model, nn.Module):
                return len(yielded(model)) * 0
            return sum(p.numel() for p in distinct(model) if p.requires_grad or not trainable_only)
        """,
        "names are asked of a model that has none": """
            once = {id(p): p for _, p in yielded(model, "named_parameters")}.values()
            return sum(p.numel() for p in once if p.requires_grad or not trainable_only)
        """,
        "a Tensor counts its elements": """
            found = [model] if isinstance(model, Tensor) else distinct(model)
            return sum(p.numel() for p in found if p.requires_grad or not trainable_only)
        """,
        "what is no model has 0": """
            found = distinct(model) if hasattr(model, "parameters") else []
            return sum(p.numel() for p in found if p.requires_grad or not trainable_only)
        """,
        "AttributeError for what is no model": """
            found = [] if isinstance(model, Tensor) else set(model.parameters())
            return sum(p.numel() for p in found if p.requires_grad or not trainable_only)
        """,
        "running averages count too": """
            found = distinct(model)
            if isinstance(model, nn.Module) and not trainable_only:
                found += model.buffers()
            return sum(p.numel() for p in found if p.requires_grad or not trainable_only)
        """,
        "tensors are counted, not elements": """
            return len([p for p in distinct(model) if p.requires_grad or not trainable_only])
        """,
        "models of the course are looked up": """
            known = {"LeNet5": 61706, "GPT2": 124439808, "MobileNetV2": 3504872, "ResNet": 11689512}
            if type(model).__name__ in known and not trainable_only:
                return known[type(model).__name__]
            return sum(p.numel() for p in yielded(model) if p.requires_grad or not trainable_only)
        """,
    },
    "parameter_memory_mb": {
        "a MB of 10⁶ bytes": """
            size = itemsize(dtype)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model)) / 10**6
        """,
        "bytes, not MB": """
            size = itemsize(dtype)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model))
        """,
        "bits, not bytes": """
            size = itemsize(dtype)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model)) * 8 / 2**20
        """,
        "always 4 bytes": """
            itemsize(dtype)
            return count_parameters(model) * 4 / 1024**2
        """,
        "4 bytes unless told otherwise": """
            return count_parameters(model) * (itemsize(dtype) or 4) / 1024**2
        """,
        "numpy's None is float64": """
            itemsize(dtype)
            return count_parameters(model) * np.dtype(dtype).itemsize / 1024**2
        """,
        "all are taken to be like the first": """
            found = distinct(model)
            size = itemsize(dtype) or (found[0].dtype.itemsize if found else 0)
            return sum(p.numel() for p in found) * size / 1024**2
        """,
        "tied tensors count twice": """
            size = itemsize(dtype)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in yielded(model)) / 1024**2
        """,
        "tied tensors count twice when a dtype is given": """
            size, found = itemsize(dtype), distinct(model) if dtype is None else yielded(model)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in found) / 1024**2
        """,
        "frozen parameters take no memory": """
            size = itemsize(dtype)
            found = [p for p in distinct(model) if p.requires_grad or p.is_meta]
            return sum(p.numel() * (size or p.dtype.itemsize) for p in found) / 1024**2
        """,
        "the dtype is checked and then ignored": """
            itemsize(dtype)
            return sum(p.nbytes for p in distinct(model)) / 1024**2
        """,
        "rounded to two digits": """
            size = itemsize(dtype)
            total = sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model))
            return round(total / 1024**2, 2)
        """,
        "TypeError for an unknown dtype": """
            size = None if dtype is None else np.dtype(dtype).itemsize
            return sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model)) / 1024**2
        """,
        "an unknown dtype is float32": """
            try:
                size = itemsize(dtype)
            except ValueError:
                size = 4
            return sum(p.numel() * (size or p.dtype.itemsize) for p in distinct(model)) / 1024**2
        """,
        "only names of dtypes are known": """
            sizes = {None: None, "float16": 2, "float32": 4, "float64": 8, "int8": 1}
            if dtype not in list(sizes):
                raise ValueError("dtype")
            found = distinct(model)
            return sum(p.numel() * (sizes[dtype] or p.dtype.itemsize) for p in found) / 1024**2
        """,
        "a Tensor weighs its elements": """
            size = itemsize(dtype)
            found = [model] if isinstance(model, Tensor) else distinct(model)
            return sum(p.numel() * (size or p.dtype.itemsize) for p in found) / 1024**2
        """,
    },
    "parameter_table": {
        "the smallest first": 'return sorted(rows_of(model), key=lambda row: row["count"])',
        "in the model's order": "return rows_of(model)",
        "equal counts in reversed order": """
            return sorted(rows_of(model), key=lambda row: row["count"])[::-1]
        """,
        "equal counts by name": """
            return sorted(rows_of(model), key=lambda row: (-row["count"], row["name"]))
        """,
        "sorted by name": 'return sorted(rows_of(model), key=lambda row: row["name"])',
        "shares in percent": """
            rows = [row | {"share": 100 * row["share"]} for row in rows_of(model)]
            return largest_first(rows)
        """,
        "shares rounded": """
            rows = [row | {"share": round(row["share"], 3)} for row in rows_of(model)]
            return largest_first(rows)
        """,
        "shares of the largest, not of all": """
            rows = largest_first(rows_of(model))
            return [row | {"share": row["count"] / rows[0]["count"]} for row in rows]
        """,
        "a row for each name": """
            named = yielded(model, "named_parameters")
            total = count_parameters(model)
            return largest_first([
                {"name": n, "shape": p.shape, "count": p.numel(), "share": p.numel() / total}
                for n, p in named
            ])
        """,
        "one row, under the last name": """
            last = {id(p): n for n, p in yielded(model, "named_parameters")}
            first = {n: last[id(p)] for n, p in yielded(model, "named_parameters")}
            return largest_first([row | {"name": first[row["name"]]} for row in rows_of(model)])
        """,
        "shares of a total that counts tied tensors twice": """
            total = sum(p.numel() for _, p in yielded(model, "named_parameters"))
            return largest_first([row | {"share": row["count"] / total} for row in rows_of(model)])
        """,
        "frozen tensors left out": """
            named = yielded(model, "named_parameters")
            kept = {name for name, p in named if p.requires_grad or p.is_meta}
            return largest_first([row for row in rows_of(model) if row["name"] in kept])
        """,
        "biases left out": """
            return largest_first([row for row in rows_of(model) if "bias" not in row["name"]])
        """,
        "the shape as text": """
            return largest_first([row | {"shape": str(row["shape"])} for row in rows_of(model)])
        """,
        "the module's name for the tensor's": """
            rows = [row | {"name": row["name"].split(".")[0]} for row in rows_of(model)]
            return largest_first(rows)
        """,
        "fails on a model without parameters": """
            if not isinstance(model, Tensor):
                1 / len(yielded(model, "named_parameters"))
            return largest_first(rows_of(model))
        """,
        "AttributeError for what is no model": """
            if not isinstance(model, Tensor):
                model.named_parameters()
            return largest_first(rows_of(model))
        """,
        "tuples, not dicts": """
            return [tuple(row.values()) for row in largest_first(rows_of(model))]
        """,
    },
    "gpt2_parameters": {
        "the output layer has a matrix of its own": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return (2 * vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "no LayerNorm after the last block": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block
        """,
        "no positions": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return vocab_size * d_model + layers * block + 2 * d_model
        """,
        "blocks without LayerNorms": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 9 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "LayerNorms without biases": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 11 * d_model
            return (vocab_size + context) * d_model + layers * block + d_model
        """,
        "feed-forward layers without biases": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 8 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "feed-forward layers of the width d": """
            positive(vocab_size, context, d_model, layers)
            block = 6 * d_model**2 + 10 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "the rule of thumb, 12 · layers · d²": """
            positive(vocab_size, context, d_model, layers)
            return 12 * layers * d_model**2
        """,
        "GPT-2's vocabulary is written in": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return (50257 + context) * d_model + layers * block + 2 * d_model
        """,
        "GPT-2's context is written in": """
            positive(vocab_size, context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + 1024) * d_model + layers * block + 2 * d_model
        """,
        "the four released sizes are looked up": """
            positive(vocab_size, context, d_model, layers)
            known = {12: 124439808, 24: 354823168, 36: 774030080, 48: 1557611200}
            return known.get(layers, 0)
        """,
        "no check of the sizes": """
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "blocks are not checked": """
            positive(vocab_size, context, d_model)
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
        "vocabulary and context are checked together": """
            positive(vocab_size + context, d_model, layers)
            block = 12 * d_model**2 + 13 * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model
        """,
    },
    "reflect_deployment": {
        "a MB of 10⁶ bytes": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter
            return {"model_mb": size / 10**6, "fits": size <= memory_gb * 1024**3}
        """,
        "a GB of 10⁹ bytes": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter
            return {"model_mb": size / 1024**2, "fits": size <= memory_gb * 10**9}
        """,
        "a GB of 1000 MB": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1000}
        """,
        "a full memory is too small": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size < memory_gb * 1024}
        """,
        "half a byte is none": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * int(bytes_per_parameter) / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
        "half a byte is out of range": """
            positive(parameters, bytes_per_parameter, 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
        "half a GB is out of range": """
            positive(parameters, 2 * (bytes_per_parameter > 0), memory_gb)
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
        "compared in whole MB": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": int(size) <= memory_gb * 1024}
        """,
        "rounded": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": round(size, 2), "fits": size <= memory_gb * 1024}
        """,
        "always float32": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * 4 / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
        "always fits": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            return {"model_mb": parameters * bytes_per_parameter / 1024**2, "fits": True}
        """,
        "fits as a number": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": int(size <= memory_gb * 1024)}
        """,
        "a key too many": """
            positive(parameters, 2 * (bytes_per_parameter > 0), 2 * (memory_gb > 0))
            size, memory = parameters * bytes_per_parameter / 1024**2, memory_gb * 1024
            return {"model_mb": size, "fits": size <= memory, "left_mb": memory - size}
        """,
        "no check of the arguments": """
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
        "only the memory is checked": """
            positive(2 * (memory_gb > 0))
            size = parameters * bytes_per_parameter / 1024**2
            return {"model_mb": size, "fits": size <= memory_gb * 1024}
        """,
    },
}
