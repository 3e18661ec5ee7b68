"""Lesson 02: wrong formulas for attention, for elementwise ops, for einsum and for 6ND."""

MUTANTS = {
    "attention_flops": {
        "the projections at half": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections // 2 + (rest * (seq + 1) // (2 * seq) if causal else rest)
        """,
        "all at half": """
            projections, rest = attention(batch, seq, d_model, heads)
            return (projections + (rest * (seq + 1) // (2 * seq) if causal else rest)) // 2
        """,
        "no output projection": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections * 3 // 4 + (rest * (seq + 1) // (2 * seq) if causal else rest)
        """,
        "no mix": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections + (rest * (seq + 1) // (2 * seq) if causal else rest) // 2
        """,
        "projections alone": "return attention(batch, seq, d_model, heads)[0]",
        "scores and mix alone": """
            rest = attention(batch, seq, d_model, heads)[1]
            return rest * (seq + 1) // (2 * seq) if causal else rest
        """,
        "one FLOP an element": """
            attention(batch, seq, d_model, heads)
            return batch * seq * d_model
        """,
        "scores for each head at full width": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections + heads * (rest * (seq + 1) // (2 * seq) if causal else rest)
        """,
        "softmax is mixed in": """
            projections, rest = attention(batch, seq, d_model, heads)
            rest = rest * (seq + 1) // (2 * seq) if causal else rest
            return projections + rest + 5 * batch * heads * seq * seq
        """,
        "the batch is left out": """
            projections, rest = attention(batch, seq, d_model, heads)
            rest = rest * (seq + 1) // (2 * seq) if causal else rest
            return (projections + rest) // batch
        """,
        "causal is ignored": "return sum(attention(batch, seq, d_model, heads))",
        "causal is exactly half": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections + (rest // 2 if causal else rest)
        """,
        "causal halves all": """
            total = sum(attention(batch, seq, d_model, heads))
            return total // 2 if causal else total
        """,
        "causal without the diagonal": """
            projections, rest = attention(batch, seq, d_model, heads)
            return projections + (rest * (seq - 1) // (2 * seq) if causal else rest)
        """,
        "heads are not checked": """
            positive(batch, seq, d_model, heads)
            pairs = seq * (seq + 1) // 2 if causal else seq * seq
            return 8 * batch * seq * d_model**2 + 4 * batch * pairs * d_model
        """,
        "sizes are not checked": """
            if heads and d_model % heads:
                raise ValueError
            pairs = seq * (seq + 1) // 2 if causal else seq * seq
            return 8 * batch * seq * d_model**2 + 4 * batch * pairs * d_model
        """,
    },
    "elementwise_flops": {
        "one an element": "return known(op, shape)",
        "per row": "return ELEMENTWISE[op] * known(op, shape) // (shape[-1] if shape else 1)",
        "the batch is left out": """
            return ELEMENTWISE[op] * known(op, shape) // (shape[0] if shape else 1)
        """,
        "two FLOPs each": "return 2 * ELEMENTWISE[op] * known(op, shape)",
        "training as in eval": """
            known(op, shape)
            return ELEMENTWISE[op.removesuffix("_train")] * math.prod(shape)
        """,
        "an unknown op is one an element": """
            if any(n < 1 for n in shape):
                raise ValueError
            return ELEMENTWISE.get(op, 1) * math.prod(shape)
        """,
        "an unknown op is nothing": """
            if any(n < 1 for n in shape):
                raise ValueError
            return ELEMENTWISE.get(op, 0) * math.prod(shape)
        """,
        "KeyError for an unknown op": """
            if any(n < 1 for n in shape):
                raise ValueError
            return ELEMENTWISE[op] * math.prod(shape)
        """,
        "a single number is nothing": """
            known(op, shape)
            return ELEMENTWISE[op] * math.prod(shape) if shape else 0
        """,
        "sizes are not checked": """
            if op not in ELEMENTWISE:
                raise ValueError
            return ELEMENTWISE[op] * math.prod(shape)
        """,
        "the product is checked": """
            if op not in ELEMENTWISE or math.prod(shape) < 1:
                raise ValueError
            return ELEMENTWISE[op] * math.prod(shape)
        """,
    },
    "einsum_flops": {
        "nothing, as some counters": "parsed(equation, shapes)\nreturn 0",
        "all labels, always": """
            labels, out, sizes = parsed(equation, shapes)
            return 2 * math.prod(sizes.values())
        """,
        "all labels, where there are two operands": """
            labels, out, sizes = parsed(equation, shapes)
            return 2 * math.prod(sizes.values()) if len(labels) == 2 else 0
        """,
        "a label of one alone multiplies": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2 or not set(labels[0]) & set(labels[1]) - set(out):
                return 0
            return 2 * math.prod(sizes.values())
        """,
        "the result's elements": """
            labels, out, sizes = parsed(equation, shapes)
            return 2 * math.prod(sizes[x] for x in out) if len(labels) == 2 else 0
        """,
        "multiply-adds": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2 or not set(labels[0]) & set(labels[1]) - set(out):
                return 0
            return math.prod(sizes[x] for x in set(labels[0]) & set(labels[1]) | set(out))
        """,
        "products without a sum count": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2:
                return 0
            return 2 * math.prod(sizes[x] for x in set(labels[0]) & set(labels[1]) | set(out))
        """,
        "only matrix products are known": """
            parsed(equation, shapes)
            if equation in ("ij,jk->ik", "bij,bjk->bik", "bhid,bhjd->bhij"):
                return 2 * math.prod(shapes[0]) * shapes[1][equation.startswith("ij") or 2]
            return 2 * shapes[0][0] if equation == "i,i->" else 0
        """,
        "the last label is the one summed": """
            labels, out, sizes = parsed(equation, shapes)
            if len(labels) < 2 or not set(labels[0]) & set(labels[1]) - set(out):
                return 0
            return 2 * math.prod(sizes[x] for x in out) * shapes[0][-1]
        """,
        "three operands at once": """
            operands, out = equation.split("->")
            labels = operands.split(",")
            sizes = {x: n for names, s in zip(labels, shapes) for x, n in zip(names, s)}
            if len(labels) < 2 or not set(labels[0]) & set(labels[1]) - set(out):
                return 0
            return 2 * math.prod(sizes[x] for x in set(labels[0]) & set(labels[1]) | set(out))
        """,
    },
    "reflect_6nd": {
        "2 · N · D, forward only": "positive(parameters, tokens)\nreturn 2 * parameters * tokens",
        "4 · N · D, backward only": "positive(parameters, tokens)\nreturn 4 * parameters * tokens",
        "3 · N · D, multiply-adds": "positive(parameters, tokens)\nreturn 3 * parameters * tokens",
        "floating point": "positive(parameters, tokens)\nreturn int(6.0 * parameters * tokens)",
        "20 tokens a parameter": "positive(parameters, tokens)\nreturn 120 * parameters**2",
        "the product is checked": """
            if parameters * tokens < 1:
                raise ValueError
            return 6 * parameters * tokens
        """,
        "no check": "return 6 * parameters * tokens",
        "tokens are not checked": "positive(parameters)\nreturn 6 * parameters * tokens",
    },
}
