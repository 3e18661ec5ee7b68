"""Lesson 12: what students get wrong about drafts and about experts."""

from cohort.edits import edited

BEST_DRAFT = """
if not 0 <= accept <= 1 or draft_ms < 0 or most < 1:
    raise ValueError("arguments")
best = {"k": 0, "tokens": 1.0, "speedup": 1.0}
for k in range(1, most + 1):
    tokens = float(sum(accept**i for i in range(k + 1)))
    speedup = tokens * verify_ms(1) / (k * draft_ms + verify_ms(k + 1))
    if speedup > best["speedup"]:
        best = {"k": k, "tokens": tokens, "speedup": speedup}
return best
"""
_SUM = "tokens = float(sum(accept**i for i in range(k + 1)))"
_START = 'best = {"k": 0, "tokens": 1.0, "speedup": 1.0}'

DRAFT_ACCEPTANCE = """
if not target or len(target) != len(draft) or min(*target, *draft) < 0:
    raise ValueError("distributions")
if abs(sum(target) - 1) > 1e-9 or abs(sum(draft) - 1) > 1e-9:
    raise ValueError("distributions")
accepted = sum(map(min, target, draft))
left = [max(0.0, p - q) for p, q in zip(target, draft)]
if sum(left) < 1e-12:
    return 1.0, None
return accepted, [each / sum(left) for each in left]
"""
_LEFT = "left = [max(0.0, p - q) for p, q in zip(target, draft)]"

MOE_PARAMETERS = """
if shared < 0 or min(expert, layers, experts, chosen, tokens) < 1 or chosen > experts:
    raise ValueError("sizes")
nobody = (1 - chosen / experts) ** tokens
return {
    "total": shared + layers * experts * expert,
    "active": shared + layers * chosen * expert,
    "touched": shared + layers * expert * experts * (1 - nobody),
}
"""
_NOBODY = "nobody = (1 - chosen / experts) ** tokens"
_TOUCHED = "shared + layers * expert * experts * (1 - nobody)"

MUTANTS = {
    "best_draft": edited(
        BEST_DRAFT,
        {
            "the model's own token is left out": (
                _SUM,
                _SUM.replace("range(k + 1)", "range(1, k + 1)"),
            ),
            "the mean of accepted ones": (_SUM, "tokens = 1.0 + k * accept"),
            "a sum that ends one token early": (_SUM, _SUM.replace("range(k + 1)", "range(k)")),
            "all or nothing": (_SUM, "tokens = 1.0 + k * accept**k"),
            "the formula, which raises at 1": (
                _SUM,
                "tokens = (1 - accept ** (k + 1)) / (1 - accept)",
            ),
            "an endless draft": (_SUM, "tokens = 1 / (1 - accept) if accept < 1 else k + 1.0"),
            "the next after a rejection is drafted, too": (
                _SUM,
                "tokens = float(sum(accept**i for i in range(k + 2)))",
            ),
            "the largest k": ('if speedup > best["speedup"]:', "if True:"),
            "most tokens": ('if speedup > best["speedup"]:', 'if tokens > best["tokens"]:'),
            "the largest of equals": ('speedup > best["speedup"]', 'speedup >= best["speedup"]'),
            "never without a draft": (
                _START,
                'best = {"k": 0, "tokens": 1.0, "speedup": 0.0}',
            ),
            "the check reads k tokens": ("verify_ms(k + 1)", "verify_ms(k)"),
            "a check costs what a step costs": ("verify_ms(k + 1)", "verify_ms(1)"),
            "a check for each token": ("verify_ms(k + 1)", "(k + 1) * verify_ms(1)"),
            "drafts are free": ("k * draft_ms + ", ""),
            "one draft is paid": ("k * draft_ms", "draft_ms"),
            "a draft more than k": ("k * draft_ms", "(k + 1) * draft_ms"),
            "drafts run beside the check": (
                "(k * draft_ms + verify_ms(k + 1))",
                "max(k * draft_ms, verify_ms(k + 1))",
            ),
            "upside down": (
                "tokens * verify_ms(1) / (k * draft_ms + verify_ms(k + 1))",
                "(k * draft_ms + verify_ms(k + 1)) / (tokens * verify_ms(1))",
            ),
            "most is not considered": ("range(1, most + 1)", "range(1, most)"),
            "always 16 at most": ("range(1, most + 1)", "range(1, 17)"),
            "stops at the first that is no better": (
                "range(1, most + 1):",
                "range(1, min(most, 5) + 1):",
            ),
            "no draft yields no token": (_START, _START.replace('"tokens": 1.0', '"tokens": 0.0')),
            "any probability": ("not 0 <= accept <= 1 or ", ""),
            "stops where one more draft is slower": (
                _START,
                f"before = 0.0\n{_START}",
                'if speedup > best["speedup"]:',
                "if speedup < before:\n        break\n    before = speedup\n"
                '    if speedup > best["speedup"]:',
            ),
            "stops after five that are no better": (
                _START,
                f"worse = 0\n{_START}",
                'if speedup > best["speedup"]:',
                'worse = 0 if speedup > best["speedup"] else worse + 1\n'
                '    if worse == 5:\n        break\n    if speedup > best["speedup"]:',
            ),
            "at most 8 drafts": ("range(1, most + 1)", "range(1, min(most, 8) + 1)"),
            "at most 64 drafts": ("range(1, most + 1)", "range(1, min(most, 64) + 1)"),
            "at most 100 drafts": ("range(1, most + 1)", "range(1, min(most, 100) + 1)"),
            "only powers of two": (
                "for k in range(1, most + 1):",
                "for k in [2**n for n in range(most) if 2**n <= most]:",
            ),
            "a check by a line through two": (
                "verify_ms(k + 1))",
                "verify_ms(1) + k * (verify_ms(2) - verify_ms(1)))",
            ),
            "a hundredth is no gain": (
                'speedup > best["speedup"]',
                'speedup > 1.01 * best["speedup"]',
            ),
        },
    ),
    "draft_acceptance": edited(
        DRAFT_ACCEPTANCE,
        {
            "the larger of each": ("map(min, target, draft)", "map(max, target, draft)"),
            "the product": (
                "sum(map(min, target, draft))",
                "sum(p * q for p, q in zip(target, draft))",
            ),
            "the share of the draft's best": (
                "sum(map(min, target, draft))",
                "target[draft.index(max(draft))]",
            ),
            "the distance": (
                "sum(map(min, target, draft))",
                "sum(abs(p - q) for p, q in zip(target, draft))",
            ),
            "half of what is apart": (
                "sum(map(min, target, draft))",
                "sum(abs(p - q) for p, q in zip(target, draft)) / 2",
            ),
            "ratios without a limit": (
                "sum(map(min, target, draft))",
                "sum(p / q for p, q in zip(target, draft) if q) / len(draft)",
            ),
            "the best word's ratio": (
                "sum(map(min, target, draft))",
                "min(1.0, target[0] / draft[0]) if draft[0] else 0.0",
            ),
            "the target after a rejection": (_LEFT, "left = list(target)"),
            "what the draft has too much": (_LEFT, _LEFT.replace("p - q", "q - p")),
            "differences of any sign": (
                _LEFT,
                "left = [abs(p - q) for p, q in zip(target, draft)]",
            ),
            "not normalised": ("[each / sum(left) for each in left]", "left"),
            "divided by the accepted share": (
                "each / sum(left)",
                "each / (accepted or 1.0)",
            ),
            "the residual alone": ("return accepted, [", "return ["),
            "a residual of zeros": ("return 1.0, None", "return 1.0, left"),
            "the target where all is accepted": ("return 1.0, None", "return 1.0, list(target)"),
            "changed about": (
                "return accepted, [each / sum(left) for each in left]",
                "return [each / sum(left) for each in left], accepted",
            ),
        },
    ),
    "moe_parameters": edited(
        MOE_PARAMETERS,
        {
            "never twice the same": (
                _TOUCHED,
                "shared + float(layers * expert * chosen * tokens)",
            ),
            "at most all": (
                _TOUCHED,
                "shared + float(layers * expert * min(experts, chosen * tokens))",
            ),
            "the active ones of each token": (
                _TOUCHED,
                "float(tokens * (shared + layers * expert * chosen))",
            ),
            "a token may draw one expert twice": (
                _NOBODY,
                "nobody = (1 - 1 / experts) ** (chosen * tokens)",
            ),
            "all tokens draw the same": (_TOUCHED, "float(shared + layers * expert * chosen)"),
            "a batch reads all": (_TOUCHED, "float(shared + layers * expert * experts)"),
            "layers are forgotten in what is touched": (
                _TOUCHED,
                "shared + expert * experts * (1 - nobody)",
            ),
            "layers are forgotten": ("layers * ", ""),
            "shared ones in each layer": ("shared + layers", "layers * shared + layers"),
            "shared ones are left out of what is touched": (
                _TOUCHED,
                _TOUCHED.replace("shared + ", ""),
            ),
            "shared ones are left out of the total": (
                '"total": shared + ',
                '"total": ',
            ),
            "shared ones are not active": ('"active": shared + ', '"active": '),
            "shared ones for each token": (
                _TOUCHED,
                _TOUCHED.replace("shared", "tokens * shared"),
            ),
            "one expert is active": ("layers * chosen * expert", "layers * expert"),
            "a share of all is active": (
                "shared + layers * chosen * expert",
                "(shared + layers * experts * expert) * chosen // experts",
            ),
            "with what probability nobody draws": ("(1 - nobody)", "nobody"),
            "the power is the number chosen": (
                _NOBODY,
                "nobody = (1 - tokens / experts) ** chosen if tokens < experts else 0.0",
            ),
            "one token more": ("** tokens", "** (tokens + 1)"),
            "whole experts": (
                "experts * (1 - nobody)",
                "float(round(experts * (1 - nobody)))",
            ),
            "total is a float": ('"total": shared', '"total": 1.0 * shared'),
            "more may be chosen than there are": (" or chosen > experts", ""),
        },
    ),
}
