"""Mutants as changes of right code: each differs from it in what its sentence says alone."""

from __future__ import annotations

from itertools import groupby

_GAP = "<lines are gone>\n"


def mutants(right: str, changes: str) -> dict[str, str]:
    """Return mutants by their sentences, from right code and the lines that change.

    After each sentence come lines of the right code with - before them, then with + what stands in
    their place. Raises ValueError where the lines are not in the code exactly once, and where two
    mutants have one sentence.

    >>> mutants("a = 1\\nreturn a\\n", "the sign\\n-return a\\n+return -a")
    {'the sign': 'a = 1\\nreturn -a\\n'}
    """
    found: dict[str, str] = {}
    sentence = ""
    for sign, lines in groupby(filter(str.strip, changes.splitlines()), key=_sign):
        text = "".join(line[len(sign) :] + "\n" for line in lines)
        if sign == "-":
            found[sentence] = _replaced(found[sentence].replace(_GAP, ""), text, _GAP, sentence)
        elif sign == "+":
            found[sentence] = _replaced(found[sentence], _GAP, text, sentence)
        else:
            sentence = text.strip()
            if sentence in found or "\n" in sentence:
                raise ValueError(f"{sentence!r} is no sentence of its own")
            found[sentence] = right
    return {sentence: code.replace(_GAP, "") for sentence, code in found.items()}


def _sign(line: str) -> str:
    return line[0] if line[0] in "+-" else ""


def _replaced(code: str, old: str, new: str, sentence: str) -> str:
    """Return the code with new lines in the place of old ones."""
    around = "\n" + code.removeprefix("\n")
    if around.count("\n" + old) != 1:
        raise ValueError(f"{sentence}: {old!r} is not in the code exactly once")
    return around.replace("\n" + old, "\n" + new)[1:]
