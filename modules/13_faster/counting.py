"""Count what a program of lesson 13 costs at 8 texts of 64 tokens, and try it on other shapes."""

from __future__ import annotations

from collections.abc import Callable

import proflab
from proflab.lesson import race

TEXTS = {"tokens": ("int64", (8, 64))}
OTHERS = ((1, 1), (5, 93))  # texts and tokens; the race that students see has but one shape


def table_of(program: Callable, model: Callable, machine: str = "DESK") -> str:
    """Return, as text, what each line of one program costs at 8 texts of 64 tokens."""
    both = race.table(program, program, machine, model=model, **TEXTS)
    return both.partition("\nyours: ")[0].removeprefix("given: ")


def counted_ms(program: Callable, model: Callable, machine: str = "DESK") -> float:
    """Return what a program costs at 8 texts of 64 tokens, in ms."""
    return race.counted(race.traced(program, model=model, **TEXTS), machine).ms


def on_other_shapes(program: Callable, like: Callable, model: Callable) -> str:
    """Return, as text, whether a program returns what another does for other texts and tokens."""
    made, told = model(), []
    for texts, length in OTHERS:
        tokens = (proflab.arange(texts * length) * 37 % 192).reshape(texts, length)
        told.append(f"{texts} × {length} tokens: {_beside(program, like, made, tokens)}")
    return "\n".join(told)


def _beside(program: Callable, like: Callable, made: object, tokens: proflab.Tensor) -> str:
    want = like(made, tokens)
    try:
        got = program(made, tokens)
    except Exception as error:  # a student's own
        return f"❌ {type(error).__name__}: {error}"
    if not isinstance(got, proflab.Tensor) or got.shape != want.shape:
        found = tuple(got.shape) if isinstance(got, proflab.Tensor) else type(got).__name__
        return f"❌ got {found}, expected a Tensor of shape {tuple(want.shape)}"
    off = (got - want).abs().max().item() / want.abs().max().item()
    return "same results" if off <= 2e-5 else f"❌ off by {off:.2g} where 0.00002 is allowed"
