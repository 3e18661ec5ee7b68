"""Lesson 06: what students hand in for the three programs that are to be made faster.

`STEPS` are ideas on the way, each with its share at the visible size: right, and not yet all.
"""

HELPERS = """
import math

from proflab import nn
from proflab.nn import functional as F


def rows_normed(x, gain, bias, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), gain, bias, eps)
"""

STEPS = {
    "chain": {
        "as it is given": (0.0, "return slow_chain(a, b, c, d, x)"),
        "distributed, but still from the left": (0.01, "return a @ b @ x + c @ d @ x"),
        "one product from the right alone": (0.26, "return a @ (b @ x) + c @ d @ x"),
        "column by column": (
            0.19,
            """
            columns = [x[:, j : j + 1] for j in range(x.shape[1])]
            return proflab.cat([a @ (b @ each) + c @ (d @ each) for each in columns], 1)
            """,
        ),
        "in float64": (
            0.39,
            """
            a, b, c, d, x = (each.to(np.float64) for each in (a, b, c, d, x))
            return (a @ (b @ x) + c @ (d @ x)).to(np.float32)
            """,
        ),
    },
    "experts": {
        "as it is given": (0.0, "return slow_experts(x, w, b)"),
        "bias and ReLU after the loop": (
            0.29,
            """
            parts = [x[e] @ w[e] for e in range(x.shape[0])]
            return F.relu(proflab.stack(parts) + b[:, None])
            """,
        ),
        "ReLU after the loop": (
            0.11,
            "return F.relu(proflab.stack([x[e] @ w[e] + b[e] for e in range(x.shape[0])]))",
        ),
        "eight experts at a time": (
            0.55,
            """
            parts = []
            for e in range(0, x.shape[0], 8):
                parts.append(F.relu(x[e : e + 8] @ w[e : e + 8] + b[e : e + 8, None]))
            return proflab.cat(parts)
            """,
        ),
    },
    "fewer_passes": {
        "as it is given": (0.0, "return slow_passes(x, gain, bias)"),
        "float32": (
            0.27,
            """
            mean = x.mean(-1, keepdim=True)
            var = ((x - mean) ** 2).mean(-1, keepdim=True)
            y = (x - mean) / (var + 1e-5).sqrt() * gain + bias
            inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
            return 0.5 * y * (1 + inner.tanh())
            """,
        ),
        "layer_norm alone": (
            0.44,
            """
            y = rows_normed(x, gain, bias)
            inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
            return 0.5 * y * (1 + inner.tanh())
            """,
        ),
        "both fused, in float64": (
            0.57,
            """
            y = rows_normed(x.to(np.float64), gain.to(np.float64), bias.to(np.float64))
            return F.gelu(y, approximate="tanh").to(np.float32)
            """,
        ),
        "the gain and the bias by themselves": (
            0.76,
            """
            y = F.layer_norm(x, (x.shape[-1],)) * gain + bias
            return F.gelu(y, approximate="tanh")
            """,
        ),
    },
}

WRONG = {
    "chain": {
        "one half of the sum": "return a @ (b @ x)",
        "the matrices change places": "return b @ (a @ x) + d @ (c @ x)",
        "the sums first": "return (a + c) @ ((b + d) @ x)",
        "a difference": "return a @ (b @ x) - c @ (d @ x)",
        "one product twice": "return a @ (b @ x) + a @ (b @ x)",
        "transposed": "return a.T @ (b.T @ x) + c.T @ (d.T @ x)",
        "nothing": "return x * 0",
        "only the inner products": "return b @ x + d @ x",
        "a number is asked for": "return a @ (b @ x) + c @ (d @ x) * float(x[0, 0])",
        "in half precision": """
            a, b, c, d, x = (each.half() for each in (a, b, c, d, x))
            return (a @ (b @ x) + c @ (d @ x)).float()
        """,
        "x is changed": "x *= 1\nreturn a @ (b @ x) + c @ (d @ x)",
    },
    "experts": {
        "without the bias": "return F.relu(x @ w)",
        "without the ReLU": "return x @ w + b[:, None]",
        "the bias after the ReLU": "return F.relu(x @ w) + b[:, None]",
        "the first expert for all": "return F.relu(x @ w[0] + b[:, None])",
        "the first bias for all": "return F.relu(x @ w + b[0])",
        "the bias twice": "return F.relu(x @ w + 2 * b[:, None])",
        "GELU": "return F.gelu(x @ w + b[:, None])",
        "the positive part of a size": "return (x @ w + b[:, None]).abs()",
        "weights the other way": "return F.relu(x @ w.mT + b[:, None])",
        "the sum of all experts": "return F.relu((x @ w + b[:, None]).sum(0, keepdim=True))",
        "in half precision": "return F.relu(x.half() @ w.half() + b.half()[:, None]).float()",
    },
    "fewer_passes": {
        "GELU by erf": "return F.gelu(rows_normed(x, gain, bias))",
        "GELU first": "return rows_normed(F.gelu(x, approximate='tanh'), gain, bias)",
        "no gain": "return F.gelu(F.layer_norm(x, (x.shape[-1],)) + bias, approximate='tanh')",
        "no bias": "return F.gelu(F.layer_norm(x, (x.shape[-1],), gain), approximate='tanh')",
        "another epsilon": "return F.gelu(rows_normed(x, gain, bias, 1e-3), approximate='tanh')",
        "no GELU": "return rows_normed(x, gain, bias)",
        "no norm": "return F.gelu(x * gain + bias, approximate='tanh')",
        "ReLU": "return F.relu(rows_normed(x, gain, bias))",
        "SiLU": "return F.silu(rows_normed(x, gain, bias))",
        "in half precision": """
            y = rows_normed(x.half(), gain.half(), bias.half())
            return F.gelu(y, approximate="tanh").float()
        """,
        "gain for bias": "return F.gelu(rows_normed(x, bias, gain), approximate='tanh')",
    },
}

MUTANTS = {
    name: {
        **{sentence: body for sentence, (_, body) in STEPS[name].items()},
        **WRONG[name],
    }
    for name in STEPS
}

ALTERNATES = {
    "chain": {
        "in place": "y = a @ (b @ x)\ny += c @ (d @ x)\nreturn y",
        "by functions": "f = proflab.matmul\nreturn proflab.add(f(a, f(b, x)), f(c, f(d, x)))",
        "a loop": """
            total = None
            for left, right in ((c, d), (a, b)):
                part = left @ (right @ x)
                total = part if total is None else total + part
            return total
        """,
    },
    "experts": {
        "in place": "y = x @ w\ny += b[:, None]\nreturn y.relu_()",
        "einsum": "return F.relu(proflab.einsum('eri,eio->ero', x, w) + b.unsqueeze(1))",
    },
    "fewer_passes": {
        "a module": "return nn.GELU('tanh')(rows_normed(x, gain, bias))",
        "a batch of one": """
            y = F.layer_norm(x[None], (x.shape[1],), gain, bias)[0]
            return F.gelu(y, approximate="tanh")
        """,
    },
}
