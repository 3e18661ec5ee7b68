"""Lesson 06: wrong and unusual ways to tell by three rates which stores a copy used."""

_CHECK = "positive(copy, one_in, two_in)\n"
_RATIOS = _CHECK + "one, two = one_in / copy, two_in / copy\n"
_FAR = "abs(one - 2 / 3) + abs(two - 3 / 4)"
_NEAR = "abs(one - 1) + abs(two - 9 / 8)"


def _said(past: str, plain: str) -> str:
    return f'{_RATIOS}return "non-temporal" if {past} < {plain} else "plain"'


MUTANTS = {
    "write_allocate": {
        "the other way round": f'{_RATIOS}return "plain" if {_FAR} < {_NEAR} else "non-temporal"',
        "one_in alone": _said("abs(one - 2 / 3)", "abs(one - 1)"),
        "two_in alone": _said("abs(two - 3 / 4)", "abs(two - 9 / 8)"),
        "both must be nearer": _RATIOS
        + 'return "non-temporal" if one < 5 / 6 and two < 15 / 16 else "plain"',
        "one of them is enough": _RATIOS
        + 'return "non-temporal" if one < 5 / 6 or two < 15 / 16 else "plain"',
        "anything slower than the copy": f'{_RATIOS}return "non-temporal" if one < 1 else "plain"',
        "below nine tenths": f'{_RATIOS}return "non-temporal" if one < 0.9 else "plain"',
        "two_in is compared with one_in": _CHECK
        + 'return "non-temporal" if two_in > 1.1 * one_in else "plain"',
        "ratios turned round": _said(
            "abs(1 / one - 2 / 3) + abs(1 / two - 3 / 4)", "abs(1 / one - 1) + abs(1 / two - 9 / 8)"
        ),
        "2/3 and 3/4 mixed up": _said("abs(one - 3 / 4) + abs(two - 2 / 3)", _NEAR),
        "1/2 and 2/3": _said("abs(one - 1 / 2) + abs(two - 2 / 3)", _NEAR),
        "the larger difference decides": _said(
            "max(abs(one - 2 / 3), abs(two - 3 / 4))", "max(abs(one - 1), abs(two - 9 / 8))"
        ),
        "the smaller difference decides": _said(
            "min(abs(one - 2 / 3), abs(two - 3 / 4))", "min(abs(one - 1), abs(two - 9 / 8))"
        ),
        "differences with their signs": _said("abs(one - 2 / 3 + two - 3 / 4)", "abs(one + two)"),
        "differences in GB/s": _CHECK
        + """
past = abs(one_in - 2 / 3) + abs(two_in - 3 / 4)
return "non-temporal" if past < abs(one_in - 1) + abs(two_in - 9 / 8) else "plain"
""",
        "within a tenth": _RATIOS
        + 'return "non-temporal" if abs(one - 2 / 3) < 0.1 and abs(two - 3 / 4) < 0.1 else "plain"',
        "unclear where neither fits": _RATIOS
        + f"""
if min({_FAR}, {_NEAR}) > 0.1:
    return "unclear"
return "non-temporal" if {_FAR} < {_NEAR} else "plain"
""",
        "temporal": f'{_RATIOS}return "non-temporal" if {_FAR} < {_NEAR} else "temporal"',
        "True and False": f"{_RATIOS}return {_FAR} < {_NEAR}",
        "nothing is checked": _said(_FAR, _NEAR).removeprefix(_CHECK),
        "only 0 is refused": "none_is_zero(copy, one_in, two_in)\n"
        + _said(_FAR, _NEAR).removeprefix(_CHECK),
        "only the copy is checked": "positive(copy)\n" + _said(_FAR, _NEAR).removeprefix(_CHECK),
        "0 is let through": "at_least(0, copy, one_in, two_in)\ncopy = copy or 1\n"
        + _said(_FAR, _NEAR).removeprefix(_CHECK),
        "the visible answers, written in": _CHECK
        + 'return "plain" if copy == 7.2 or one_in in (74, 82) else "non-temporal"',
    }
}
ALTERNATES = {
    "write_allocate": {
        "a dict of pairs": """
            if copy <= 0 or one_in <= 0 or two_in <= 0:
                raise ValueError("rates")
            pairs = {"plain": (1, 9 / 8), "non-temporal": (2 / 3, 3 / 4)}
            def distance(name):
                one, two = pairs[name]
                return math.fabs(one_in / copy - one) + math.fabs(two_in / copy - two)
            return min(pairs, key=distance)
        """,
        "numpy, without dividing": """
            rates = np.array([one_in, two_in], dtype=float)
            if copy <= 0 or (rates <= 0).any():
                raise ValueError("rates")
            plain = np.abs(rates - copy * np.array([1, 1.125])).sum()
            past = np.abs(rates - copy * np.array([2 / 3, 0.75])).sum()
            return ("plain", "non-temporal")[int(past < plain)]
        """,
        "by the bytes on the bus": """
            if not (copy > 0 and one_in > 0 and two_in > 0):
                raise ValueError("a rate must be above 0")
            def off(copied):
                bus = copied / 2 * copy
                return abs(2 / 3 * bus - one_in) + abs(3 / 4 * bus - two_in)
            return "non-temporal" if off(2) < off(3) else "plain"
        """,
    }
}
