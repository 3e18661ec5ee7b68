"""Run a student's kernel for rows by Triton itself: compiled on a card, interpreted without one.

Triton and torch are no part of ProfLab: where they are missing, a sentence says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proflab.lesson.cuda.rows import on_language

_MISSING = (
    "Triton is not installed here, so the kernel ran in NumPy alone."
    " Colab has it; on Linux, `pip install torch triton` gets it."
)
_LARGE = 4096  # rows and columns of what is timed on a card: 64 MiB, more than most caches


def launcher(kernel: Callable, on_card: bool) -> Callable[[Any, int], Any]:
    """Return a function of x and block that launches the kernel by Triton, a program a row.

    That function takes x, a torch tensor of float32, (rows, columns), and returns out, another.
    on_card: compile it; else Triton's interpreter runs it. Raises ImportError without Triton.
    """
    if not on_card:
        os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
    import torch
    import triton
    import triton.language

    compiled = triton.jit(on_language(kernel, triton.language))

    def launch(x: Any, block: int) -> Any:
        out = torch.full_like(x, float("nan"))
        compiled[(x.shape[0],)](out, x, x.shape[1], block)
        return out

    return launch


def compare(kernel: Callable, x: Sequence[Sequence[float]], block: int, out: Any) -> str:
    """Return a sentence on what Triton makes of the kernel, and how far that is from `out`.

    On a card, a second one says how long the kernel takes beside torch's ops one by one.
    """
    try:
        import torch

        card = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
        launch = launcher(kernel, bool(card))
    except ImportError:
        return _MISSING
    there = torch.tensor(np.asarray(x, np.float32), device="cuda" if card else "cpu")
    apart = np.abs(launch(there, block).cpu().numpy() - np.asarray(out)).max()
    how = f"compiled for {card}" if card else "interpreted on the CPU"
    said = f"By Triton, {how}: at most {apart:.1g} from NumPy's result."
    return f"{said} {_timed(launch)}" if card else said


def _timed(launch: Callable[[Any, int], Any]) -> str:
    import torch
    from triton.testing import do_bench

    x = torch.randn(_LARGE, _LARGE, device="cuda")
    fused, apart = do_bench(lambda: launch(x, _LARGE)), do_bench(lambda: _one_by_one(x))
    return f"{_LARGE:,} rows of {_LARGE:,}: {fused:.3f} ms, torch's ops one by one {apart:.3f} ms."


def _one_by_one(x: Any) -> Any:
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)
