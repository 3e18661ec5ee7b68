"""Count what a program of lesson 13 costs at 8 texts of 64 tokens, in all and by line."""

from __future__ import annotations

from collections.abc import Callable

from proflab.lesson import race

TEXTS = {"tokens": ("int64", (8, 64))}


def table_of(program: Callable, model: Callable, machine: str = "DESK") -> str:
    """Return, as text, what each line of one program costs at 8 texts of 64 tokens."""
    both = race.table(program, program, machine, model=model, **TEXTS)
    return both.partition("\nyours: ")[0].removeprefix("given: ")


def counted_ms(program: Callable, model: Callable, machine: str = "DESK") -> float:
    """Return what a program costs at 8 texts of 64 tokens, in ms."""
    return race.counted(race.traced(program, model=model, **TEXTS), machine).ms
