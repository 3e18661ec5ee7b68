"""Mutants that do something before or after right code, the same for many exercises."""

from __future__ import annotations

import textwrap

ROUNDED = """
def rounded(value):
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return type(value)(map(rounded, value)) if isinstance(value, (list, tuple)) else value

return rounded(right(CALL))
"""

KEPT = """
kept, key = globals().setdefault("_kept_NAME", {}), repr(FIRST)
if key not in kept:
    kept[key] = right(CALL)
return kept[key]
"""


def around(signature: str, right: str, changes: dict[str, str]) -> dict[str, str]:
    """Return mutants: for each sentence a whole function, in which `right` is the right one.

    signature: "fuse(graph)"; right: the body of a right solution. In a change's code, CALL stands
    for the arguments, FIRST for the first one, NAME for the function's name.

    >>> found = around("twice(x, y=2)", "return x * y", {"one more": "return right(CALL) + 1"})
    >>> print(found["one more"])
    def twice(x, y=2):
        def right(x, y=2):
            return x * y
        return right(x, y) + 1
    """
    name, _, given = signature.removesuffix(")").partition("(")
    call = ", ".join(part.partition("=")[0].strip() for part in given.split(","))
    found = {}
    for sentence, code in changes.items():
        code = code.replace("CALL", call).replace("FIRST", call.split(", ")[0])
        inner = f"def right({given}):\n" + textwrap.indent(
            textwrap.dedent(right).strip("\n"), "    "
        )
        body = inner + "\n" + textwrap.dedent(code).strip("\n").replace("NAME", name)
        found[sentence] = f"def {signature}:\n" + textwrap.indent(body, "    ")
    return found


def rounded(digits: int) -> str:
    """Return the code of a change that rounds each float of a result to so many decimals."""
    return ROUNDED.replace("DIGITS", str(digits))
