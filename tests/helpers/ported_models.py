"""Models of data/torch_style_models.py, with proflab in the place of torch."""

from __future__ import annotations

import re
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def ported() -> dict:
    """The module data/torch_style_models.py with proflab in the place of torch."""
    source = (DATA / "torch_style_models.py").read_text()
    source = re.sub(r"^import torch$", "import proflab as torch", source, flags=re.M)
    source = re.sub(r"^(import|from) torch\b", r"\1 proflab", source, flags=re.M)
    names: dict = {"__name__": "ported"}
    exec(compile(source, "torch_style_models.py", "exec"), names)
    return names


EXAMPLES = {cls.__name__: (cls, *rest) for cls, *rest in ported()["EXAMPLES"]}
