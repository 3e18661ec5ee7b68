"""Say what peer instruction does after a vote, in one place for the key page and the report.

Source: C. H. Crouch and E. Mazur, Am. J. Phys. 69, 970 (2001).
"""

from __future__ import annotations

LOW, HIGH = 0.3, 0.7
_LOW, _HIGH = f"{100 * LOW:.0f} %", f"{100 * HIGH:.0f} %"
STEPS = (
    "Think: one minute, alone, without a word about the options.",
    "Vote: by letter, all at once. Write the counts down.",
    f"Below {_LOW} right, explain. From {_LOW} to {_HIGH}, let them discuss in pairs for two "
    f"minutes, best with a neighbour of another letter, and vote again. Above {_HIGH}, go on.",
    "Say the reason, also why the other letters are wrong.",
)


def advice(share: float) -> str:
    """Return what to do next if this share of the votes is right."""
    if share < LOW:
        return f"Below {_LOW}: explain, and ask again later."
    if share <= HIGH:
        return f"From {_LOW} to {_HIGH}: discuss in pairs, and vote again."
    return f"Above {_HIGH}: say the reason, and go on."
