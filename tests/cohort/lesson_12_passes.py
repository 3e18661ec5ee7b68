"""Lesson 12: what students get wrong about a pass and its limits."""

from cohort.edits import edited

PASS_MS = """
if not sequences or overhead_ms < 0:
    raise ValueError("nothing")
if any(cached < 0 or new < 1 for cached, new in sequences):
    raise ValueError("sequences")
active = model.get("active", model["weights"])
new_tokens = sum(new for cached, new in sequences)
pairs = sum(new * cached + new * (new + 1) // 2 for cached, new in sequences)
kept = sum(cached + new for cached, new in sequences)
weights_s = max(
    2 * active * new_tokens / hardware.peak_flops,
    model["weights"] * model["bits"] / 8 / hardware.bandwidth,
)
attention_s = max(
    model["pair_flops"] * pairs / hardware.peak_flops,
    model["kv_bytes"] * kept / hardware.bandwidth,
)
return 1000 * (weights_s + attention_s) + overhead_ms
"""
_RETURN = "return 1000 * (weights_s + attention_s) + overhead_ms"
_KEPT = "kept = sum(cached + new for cached, new in sequences)"
_PAIRS = "new * cached + new * (new + 1) // 2"

BATCH_LIMITS = """
if context < 1 or memory < 1:
    raise ValueError("context and memory")
weights = model["weights"] * model["bits"] / 8
held = model.get("held_bytes", weights)
text = model["kv_bytes"] * context
if memory <= held:
    raise ValueError("the weights leave no memory")
reading = weights / hardware.bandwidth
computing = 2 * model.get("active", model["weights"]) / hardware.peak_flops
return {
    "compute": reading / computing,
    "cache": weights / text,
    "memory": int((memory - held) // text),
}
"""
_READING = "reading = weights / hardware.bandwidth"
_MEMORY = "int((memory - held) // text)"

MUTANTS = {
    "pass_ms": edited(
        PASS_MS,
        {
            "no cache": (_RETURN, "return 1000 * weights_s + overhead_ms"),
            "no weights": (_RETURN, "return 1000 * attention_s + overhead_ms"),
            "the new tokens' own keys are not read": (
                _KEPT,
                _KEPT.replace("cached + new", "cached"),
            ),
            "in seconds": (_RETURN, "return weights_s + attention_s + overhead_ms"),
            "all in seconds": (_RETURN, "return weights_s + attention_s + overhead_ms / 1000"),
            "weights are read for each text": (
                'model["weights"] * model["bits"] / 8 / hardware.bandwidth',
                'len(sequences) * model["weights"] * model["bits"] / 8 / hardware.bandwidth',
            ),
            "weights are read for each token": (
                'model["weights"] * model["bits"] / 8 / hardware.bandwidth',
                'new_tokens * model["weights"] * model["bits"] / 8 / hardware.bandwidth',
            ),
            "one cache for all texts": (
                _KEPT,
                "kept = max(cached + new for cached, new in sequences)",
            ),
            "all tokens look at all": (_PAIRS, "new * (cached + new)"),
            "cached tokens are not looked at": (_PAIRS, "new * (new + 1) // 2"),
            "a token does not look at itself": (_PAIRS, "new * cached + new * (new - 1) // 2"),
            "a token looks at the cache and itself": (_PAIRS, "new * (cached + 1)"),
            "reading and computing one after another": ("max(\n", "sum_of(\n"),
            "the shorter of the two": ("max(\n", "min(\n"),
            "one roof for the whole": (
                _RETURN,
                "\n".join(
                    [
                        'flops = 2 * active * new_tokens + model["pair_flops"] * pairs',
                        'moved = model["weights"] * model["bits"] / 8 + model["kv_bytes"] * kept',
                        "longest = max(flops / hardware.peak_flops, moved / hardware.bandwidth)",
                        "return 1000 * longest + overhead_ms",
                    ]
                ),
            ),
            "attention hides behind the weights": (
                _RETURN,
                "return 1000 * max(weights_s, attention_s) + overhead_ms",
            ),
            "a roof for each text": (
                _RETURN,
                "\n".join(
                    [
                        "attention_s = sum(",
                        "    max(",
                        '        model["pair_flops"] * (n * c + n * (n + 1) / 2)',
                        "        / hardware.peak_flops,",
                        '        model["kv_bytes"] * (c + n) / hardware.bandwidth,',
                        "    )",
                        "    for c, n in sequences",
                        ")",
                        _RETURN,
                    ]
                ),
            ),
            "prompts and answers in two passes": (
                "active = model",
                "\n".join(
                    [
                        "prompts = [pair for pair in sequences if pair[1] > 1]",
                        "if 0 < len(prompts) < len(sequences):",
                        "    answers = [pair for pair in sequences if pair[1] == 1]",
                        "    one = pass_ms(model, prompts, hardware, overhead_ms)",
                        "    return one + pass_ms(model, answers, hardware, overhead_ms)",
                        "active = model",
                    ]
                ),
            ),
            "active weights are not known": (
                'active = model.get("active", model["weights"])',
                'active = model["weights"]',
            ),
            "only active weights are read": (
                'model["weights"] * model["bits"] / 8',
                'active * model["bits"] / 8',
            ),
            "multiply-adds": ("2 * active", "active"),
            "the bits are not used": ('model["bits"] / 8', "2"),
            "the FLOPs of one token": ("2 * active * new_tokens", "2 * active"),
            "the FLOPs of a token for each text": (
                "2 * active * new_tokens",
                "2 * active * len(sequences)",
            ),
            "cached tokens are computed again": (
                "2 * active * new_tokens",
                "2 * active * kept",
            ),
            "an overhead for each part": ("+ overhead_ms", "+ 2 * overhead_ms"),
            "an overhead for each text": ("+ overhead_ms", "+ len(sequences) * overhead_ms"),
            "no overhead": (" + overhead_ms", ""),
            "nothing takes the overhead": (
                "if not sequences or overhead_ms < 0:",
                "if not sequences:\n    return overhead_ms\nif overhead_ms < 0:",
            ),
        },
    ),
    "batch_limits": edited(
        BATCH_LIMITS,
        {
            "multiply-adds": ("computing = 2 * ", "computing = "),
            "compute upside down": ("reading / computing", "computing / reading"),
            "always 16 bits": (_READING, 'reading = 2 * model["weights"] / hardware.bandwidth'),
            "the ridge in FLOPs a byte": (
                "reading / computing",
                "hardware.peak_flops / hardware.bandwidth * 2",
            ),
            "compute in whole users": ("reading / computing", "int(reading / computing)"),
            "compute of all weights": (
                'model.get("active", model["weights"])',
                'model["weights"]',
            ),
            "compute with only active weights read": (
                _READING,
                'reading = model.get("active", model["weights"]) * model["bits"] / 8'
                " / hardware.bandwidth",
            ),
            "cache in tokens": ("weights / text", 'weights / model["kv_bytes"]'),
            "cache upside down": ("weights / text", "text / weights"),
            "cache in whole users": ("weights / text", "weights // text"),
            "cache of active weights": (
                '"cache": weights / text',
                '"cache": model.get("active", model["weights"]) * model["bits"] / 8 / text',
            ),
            "cache with the number of weights": (
                '"cache": weights / text',
                '"cache": model["weights"] / text',
            ),
            "memory without weights": (_MEMORY, "int(memory // text)"),
            "memory rounded up": (_MEMORY, "math.ceil((memory - held) / text)"),
            "memory to the nearest": (_MEMORY, "round((memory - held) / text)"),
            "memory is never filled": (_MEMORY, "math.ceil((memory - held) / text) - 1"),
            "memory is a float": (_MEMORY, "(memory - held) / text"),
            "memory in tokens": (_MEMORY, 'int((memory - weights) // model["kv_bytes"])'),
            "weights for each user": (_MEMORY, "int(memory // (weights + text))"),
            "the newest token has no place": (
                'text = model["kv_bytes"] * context',
                'text = model["kv_bytes"] * (context - 1)',
            ),
            "no memory is room for nobody": (
                'raise ValueError("the weights leave no memory")',
                "memory = held",
            ),
            "below nothing": ("if memory <= held:", "if False:"),
            "what a pass reads is all that is held": (
                'held = model.get("held_bytes", weights)',
                "held = weights",
            ),
            "all that is held is read": (
                'held = model.get("held_bytes", weights)',
                'held = weights = model.get("held_bytes", weights)',
            ),
            "whole bytes a weight": ('model["bits"] / 8', 'round(model["bits"] / 8)'),
            "whole bits a weight": ('model["bits"] / 8', 'int(model["bits"]) / 8'),
            "whole bytes a token": (
                'text = model["kv_bytes"] * context',
                'text = round(model["kv_bytes"]) * context',
            ),
            "at most 10,000 users": (_MEMORY, f"min(10_000, {_MEMORY})"),
            "one user in any case": (_MEMORY, f"max(1, {_MEMORY})"),
            "less than one text is an error": (
                "if memory <= held:",
                "if memory < held + text:",
            ),
            "the model is changed": (
                "reading = weights",
                'model.setdefault("active", model["weights"])\nreading = weights',
            ),
        },
    ),
}
HELPERS = """
def sum_of(*numbers):
    return sum(numbers)
"""
