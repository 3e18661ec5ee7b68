"""Every operation, once: its shape rule, its forward, what it keeps, its backward.

One file a kind. Each op is a class registered with dispatch under its name, and beside it stands
the function of torch's name that checks its arguments and applies it. Ops see arrays only, and
nothing here counts anything.
"""

from proflab.ops import (  # noqa: F401  importing a file registers its ops
    activation,
    arithmetic,
    attention,
    concat,
    conv,
    einsum,
    indexing,
    loss,
    matmul,
    norm,
    pointwise,
    pool,
    random,
    reduce,
    sort,
    views,
    where,
)
