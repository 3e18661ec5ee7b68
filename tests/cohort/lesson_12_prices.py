"""Lesson 12: what students get wrong about the price of a token, and a day's books."""

from cohort.edits import edited

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
            "a step in less than the deadline": ("<= deadline_ms", "< deadline_ms"),
            "a tenth of a percent over": ("<= deadline_ms", "<= 1.001 * deadline_ms"),
            "at most 16 users": ("users = 0\nwhile", "most = min(most, 16)\nusers = 0\nwhile"),
            "at most 1,024 users": (
                "users = 0\nwhile",
                "most = min(most, 1024)\nusers = 0\nwhile",
            ),
            "a multiple of eight": (
                "if users == 0:",
                "users = users // 8 * 8 if users > 8 else users\nif users == 0:",
            ),
            "the room beside what a pass reads": (
                _TRY,
                'most = memory - model["weights"] * model["bits"] / 8\n'
                'most = max(0, int(most // (context * model["kv_bytes"])))\n',
            ),
            "the room beside whole bytes a weight": (
                _TRY,
                'most = memory - model["weights"] * round(model["bits"] / 8)\n'
                'most = max(0, int(most // (context * model["kv_bytes"])))\n',
            ),
            "users by the bytes alone": (
                "while users < most and step(users + 1) <= deadline_ms:\n    users += 1",
                "left = deadline_ms / 1000 * hardware.bandwidth\n"
                'left -= model["weights"] * model["bits"] / 8\n'
                'users = max(0, int(min(most, left // (context * model["kv_bytes"]))))',
            ),
            "a line through one user and two": (
                "while users < most and step(users + 1) <= deadline_ms:\n    users += 1",
                "one, each = step(1), step(2) - step(1)\n"
                "users = int(min(most, 1 + (deadline_ms - one) / each))\n"
                "users = users if one <= deadline_ms else 0",
            ),
            "no more users than the compute limit": (
                "while users < most",
                'limit = batch_limits(model, context, hardware, memory)["compute"]\n'
                "while users < min(most, limit)",
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
