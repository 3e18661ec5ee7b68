"""Lesson 12: what students get wrong about a pass, its limits, its price, and a day's books."""

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
text = model["kv_bytes"] * context
if memory <= weights:
    raise ValueError("the weights leave no memory")
reading = weights / hardware.bandwidth
computing = 2 * model.get("active", model["weights"]) / hardware.peak_flops
return {
    "compute": reading / computing,
    "cache": weights / text,
    "memory": int((memory - weights) // text),
}
"""
_READING = "reading = weights / hardware.bandwidth"
_MEMORY = "int((memory - weights) // text)"

CHEAPEST_BATCH = """
if context < 1 or min(deadline_ms, dollars_per_hour, watts) <= 0:
    raise ValueError("arguments")
try:
    most = batch_limits(model, context, hardware, memory)["memory"]
except ValueError:
    return None
step = lambda users: pass_ms(model, [(context - 1, 1)] * users, hardware)
users = 0
while users < most and step(users + 1) <= deadline_ms:
    users += 1
if users == 0:
    return None
ms = step(users)
speed = 1000 * users / ms
return {
    "users": users,
    "step_ms": ms,
    "tokens_per_second": speed,
    "dollars_per_million": dollars_per_hour / 3600 / speed * 1e6,
    "joules_per_token": watts / speed,
}
"""
_TRY = """try:
    most = batch_limits(model, context, hardware, memory)["memory"]
except ValueError:
    return None
"""
_MOST = 'most = batch_limits(model, context, hardware, memory)["memory"]\n'

REFLECT_SERVICE = """
if min(day["input_rate"], day["output_rate"], day["nodes"]) <= 0:
    raise ValueError("rates and nodes")
hits, misses = day["hit_tokens"], day["input_tokens"] - day["hit_tokens"]
outputs = day["output_tokens"]
node_hour = day["gpus_per_node"] * day["dollars_per_gpu_hour"]
cost = 24 * day["nodes"] * node_hour
income = hits * day["hit_price"] + misses * day["miss_price"] + outputs * day["output_price"]
income /= 1e6
reading = day["input_tokens"] / day["input_rate"] / 86400
writing = outputs / day["output_rate"] / 86400
return {
    "cost": cost,
    "income": income,
    "margin": income / cost - 1,
    "nodes_needed": reading + writing,
    "output_cost_per_million": node_hour / 3600 / day["output_rate"] * 1e6,
}
"""
_OUTPUT_COST = 'node_hour / 3600 / day["output_rate"] * 1e6'

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
            "memory rounded up": (_MEMORY, "math.ceil((memory - weights) / text)"),
            "memory to the nearest": (_MEMORY, "round((memory - weights) / text)"),
            "memory is never filled": (_MEMORY, "math.ceil((memory - weights) / text) - 1"),
            "memory is a float": (_MEMORY, "(memory - weights) / text"),
            "memory in tokens": (_MEMORY, 'int((memory - weights) // model["kv_bytes"])'),
            "weights for each user": (_MEMORY, "int(memory // (weights + text))"),
            "the newest token has no place": (
                'text = model["kv_bytes"] * context',
                'text = model["kv_bytes"] * (context - 1)',
            ),
            "no memory is room for nobody": (
                'raise ValueError("the weights leave no memory")',
                "memory = weights",
            ),
            "below nothing": ("if memory <= weights:", "if False:"),
        },
    ),
    "cheapest_batch": edited(
        CHEAPEST_BATCH,
        {
            "a token too many": ("(context - 1, 1)", "(context, 1)"),
            "no token is new": ("(context - 1, 1)", "(context - 2, 1)"),
            "price of one user": ("speed * 1e6", "speed * users * 1e6"),
            "for a thousand tokens": ("* 1e6", "* 1e3"),
            "for a token": (" * 1e6", ""),
            "milliseconds for seconds": ("speed = 1000 * users / ms", "speed = users / ms"),
            "an hour has 60 seconds": ("/ 3600", "/ 60"),
            "memory does not matter": (_TRY, "most = 10**6\n"),
            "the deadline does not matter": (
                "while users < most and step(users + 1) <= deadline_ms:\n    users += 1",
                "users = most",
            ),
            "one user too many": (
                "ms = step(users)",
                "users += 1\nms = step(users)",
            ),
            "one user too few": (
                "while users < most and step(users + 1) <= deadline_ms:",
                "while users + 1 < most and step(users + 2) <= deadline_ms:",
            ),
            "the deadline for the time": ("ms = step(users)", "ms = deadline_ms"),
            "speed of one user": ("1000 * users / ms", "1000 / ms"),
            "joules of one user": ("watts / speed", "watts / speed * users"),
            "joules of a step": ("watts / speed", "watts * ms / 1000"),
            "kilowatts": ("watts / speed", "watts / speed / 1000"),
            "nobody is served for nothing": (
                "if users == 0:\n    return None",
                "if users == 0:\n    return dict.fromkeys("
                '("users", "step_ms", "tokens_per_second", "dollars_per_million", '
                '"joules_per_token"), 0)',
            ),
            "no memory is an error": (_TRY, _MOST),
            "nobody in time is an error": (
                "if users == 0:\n    return None",
                'if users == 0:\n    raise ValueError("nobody")',
            ),
            "one user in any case": ("users = 0\nwhile", "users = 1\nwhile"),
            "the largest power of two": (
                "while users < most and step(users + 1) <= deadline_ms:\n    users += 1",
                "users = 1 if most and step(1) <= deadline_ms else 0\n"
                "while users and 2 * users <= most and step(2 * users) <= deadline_ms:\n"
                "    users *= 2",
            ),
            "the weights are what is limited by": (
                "pass_ms(model, [(context - 1, 1)] * users, hardware)",
                "pass_ms(model, [(0, 1)] * users, hardware)",
            ),
            "any price": ("min(deadline_ms, dollars_per_hour, watts) <= 0", "deadline_ms <= 0"),
        },
    ),
    "reflect_service": edited(
        REFLECT_SERVICE,
        {
            "hits at the full price": ('hits * day["hit_price"]', 'hits * day["miss_price"]'),
            "hits cost nothing": ('hits * day["hit_price"] + ', ""),
            "hits are paid twice": (
                'misses * day["miss_price"]',
                'day["input_tokens"] * day["miss_price"]',
            ),
            "all input at the price of hits": (
                'misses * day["miss_price"]',
                'misses * day["hit_price"]',
            ),
            "hits and misses change places": (
                'hits * day["hit_price"] + misses * day["miss_price"]',
                'hits * day["miss_price"] + misses * day["hit_price"]',
            ),
            "input alone is paid": (' + outputs * day["output_price"]', ""),
            "output alone is paid": (
                'hits * day["hit_price"] + misses * day["miss_price"] + ',
                "",
            ),
            "income of thousands": ("income /= 1e6", "income /= 1e3"),
            "an hour's cost": ("cost = 24 * ", "cost = "),
            "cost of one GPU a node": ('day["gpus_per_node"] * day["dollars', 'day["dollars'),
            "margin of the income": ("income / cost - 1", "1 - cost / income"),
            "income over cost": ("income / cost - 1", "income / cost"),
            "margin in percent": ("income / cost - 1", "100 * (income / cost - 1)"),
            "profit": ("income / cost - 1", "income - cost"),
            "nodes for output alone": ("reading + writing", "writing"),
            "nodes for input alone": ("reading + writing", "reading"),
            "hits are not read": (
                'day["input_tokens"] / day["input_rate"]',
                'misses / day["input_rate"]',
            ),
            "the nodes that are there": ("reading + writing", 'day["nodes"]'),
            "whole nodes": ("reading + writing", "math.ceil(reading + writing)"),
            "rates of a GPU": (
                "reading + writing",
                '(reading + writing) / day["gpus_per_node"]',
            ),
            "all nodes are charged to the output": (_OUTPUT_COST, "cost / outputs * 1e6"),
            "output cost by what is needed of the nodes": (
                _OUTPUT_COST,
                "cost * writing / (reading + writing) / outputs * 1e6 * 1.01",
            ),
            "output cost of a GPU": (
                _OUTPUT_COST,
                _OUTPUT_COST.replace("node_hour", 'day["dollars_per_gpu_hour"]'),
            ),
            "output cost at the rate of input": (
                _OUTPUT_COST,
                _OUTPUT_COST.replace("output_rate", "input_rate"),
            ),
        },
    ),
}
HELPERS = """
def sum_of(*numbers):
    return sum(numbers)
"""
