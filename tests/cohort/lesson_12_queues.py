"""Lesson 12: what students get wrong about who waits for whom on a server."""

from cohort.edits import edited

SIMULATE_SERVING = """
if slots < 1 or (chunk is not None and chunk < 1):
    raise ValueError("requests, slots or chunk")
if any(arrival < 0 or prompt < 1 or new < 1 for arrival, prompt, new in requests):
    raise ValueError("requests")
waiting = sorted(range(len(requests)), key=lambda i: requests[i][0])
running, now = [], 0.0
read = [0] * len(requests)
times = [[] for _ in requests]
while waiting or running:
    if not running:
        now = max(now, requests[waiting[0]][0])
    if continuous or not running:
        while waiting and len(running) < slots and requests[waiting[0]][0] <= now:
            running.append(waiting.pop(0))
    left = chunk
    pairs, parts = [], []
    for i in running:
        prompt = requests[i][1]
        if times[i]:
            pairs.append((prompt + len(times[i]) - 1, 1))
            parts.append((i, 0))
            continue
        part = prompt - read[i]
        if left is not None:
            part = min(part, left)
            left -= part
        if part:
            pairs.append((read[i], part))
            parts.append((i, part))
    now += step_ms(pairs)
    for i, part in parts:
        read[i] += part
        if read[i] == requests[i][1]:
            times[i].append(now)
    running = [i for i in running if len(times[i]) < requests[i][2]]
found = []
for (arrival, prompt, new), ends in zip(requests, times):
    later = (ends[-1] - ends[0]) / (new - 1) if new > 1 else 0.0
    row = {"first_ms": ends[0] - arrival, "per_token_ms": later, "done_ms": ends[-1] - arrival}
    found.append(row)
return found
"""
_ADMIT = """        while waiting and len(running) < slots and requests[waiting[0]][0] <= now:
            running.append(waiting.pop(0))
"""
_LATER = "later = (ends[-1] - ends[0]) / (new - 1) if new > 1 else 0.0"

MUTANTS = {
    "simulate_serving": edited(
        SIMULATE_SERVING,
        {
            "a prompt gives no token": (
                "if read[i] == requests[i][1]:",
                "if read[i] == requests[i][1] and not part:",
                "if times[i]:\n            pairs.append((prompt + len(times[i]) - 1, 1))",
                "if read[i] == prompt:\n            pairs.append((prompt + len(times[i]), 1))",
            ),
            "a written token counts as cached before it is read": (
                "prompt + len(times[i]) - 1, 1",
                "prompt + len(times[i]), 1",
            ),
            "the first token is read at once": (
                "prompt + len(times[i]) - 1, 1",
                "prompt, 1",
            ),
            "from the start of the run": (
                '"first_ms": ends[0] - arrival',
                '"first_ms": ends[0]',
            ),
            "done from the start of the run": (
                '"done_ms": ends[-1] - arrival',
                '"done_ms": ends[-1]',
            ),
            "done from the first token": (
                '"done_ms": ends[-1] - arrival',
                '"done_ms": ends[-1] - ends[0]',
            ),
            "newest first": (
                "key=lambda i: requests[i][0])",
                "key=lambda i: requests[i][0])[::-1]",
                "        now = max(now, requests[waiting[0]][0])",
                "        now = max(now, min(requests[i][0] for i in waiting))",
                "        while waiting and len(running) < slots and requests[waiting[0]][0]"
                " <= now:\n"
                "            running.append(waiting.pop(0))",
                "        for i in [i for i in waiting if requests[i][0] <= now]:\n"
                "            if len(running) < slots:\n"
                "                running.append(i)\n"
                "                waiting.remove(i)",
            ),
            "the shortest prompt first": (
                "key=lambda i: requests[i][0])",
                "key=lambda i: requests[i][:2])",
                "            running.append(waiting.pop(0))",
                "            ready = [i for i in waiting if requests[i][0] <= now]\n"
                "            running.append(min(ready, key=lambda i: requests[i][1]))\n"
                "            waiting.remove(running[-1])",
            ),
            "in the order of the list": (
                "waiting = sorted(range(len(requests)), key=lambda i: requests[i][0])",
                "waiting = list(range(len(requests)))",
            ),
            "per token of all tokens": (
                _LATER,
                "later = (ends[-1] - arrival) / new",
            ),
            "per token of the tokens, first included": (_LATER, _LATER.replace("(new - 1)", "new")),
            "per token from arrival": (
                _LATER,
                _LATER.replace("ends[0]", "arrival"),
            ),
            "one token has its own time": (
                _LATER,
                _LATER.replace("0.0", "ends[0] - arrival"),
            ),
            "the clock does not move on to the next arrival": (
                "        now = max(now, requests[waiting[0]][0])",
                "        pass",
                "requests[waiting[0]][0] <= now:",
                "(requests[waiting[0]][0] <= now or not running):",
            ),
            "the clock jumps to the next arrival": (
                "now = max(now, requests[waiting[0]][0])",
                "now = float(requests[waiting[0]][0])",
            ),
            "who arrives when a step ends waits for the next": (
                "requests[waiting[0]][0] <= now:",
                "(requests[waiting[0]][0] < now or not running):",
            ),
            "who arrives during a step is in it": (
                "requests[waiting[0]][0] <= now:",
                "requests[waiting[0]][0] <= now + 2:",
            ),
            "a slot is given back a step late": (
                "    running = [i for i in running if len(times[i]) < requests[i][2]]\n",
                "",
                "    left = chunk\n",
                "    full = [i for i in running if len(times[i]) >= requests[i][2]]\n"
                "    running = [i for i in running if i not in full]\n"
                "    if not running:\n        continue\n"
                "    left = chunk\n",
            ),
            "a slot more": ("len(running) < slots", "len(running) <= slots"),
            "one at a time": ("len(running) < slots", "len(running) < 1"),
            "no end of slots": ("len(running) < slots and ", ""),
            "always continuous": ("if continuous or not running:", "if True:"),
            "a static batch admits while its prompts are read": (
                "if continuous or not running:",
                "if continuous or not any(len(times[i]) > 1 for i in running):",
            ),
            "a static batch admits until its first token": (
                "if continuous or not running:",
                "if continuous or not any(times[i] for i in running):",
            ),
            "never continuous": ("if continuous or not running:", "if not running:"),
            "ended texts are computed on where the batch is static": (
                "    left = chunk\n",
                "    left = chunk\n    kept = running if not continuous else []\n",
                "    running = [i for i in running if len(times[i]) < requests[i][2]]\n",
                "    short = [i for i in running if len(times[i]) < requests[i][2]]\n"
                "    running = short if continuous or not short else running\n",
                "found = []",
                "times = [ends[: new] for (_, _, new), ends in zip(requests, times)]\nfound = []",
            ),
            "a static batch waits until it is full": (
                "        now = max(now, requests[waiting[0]][0])\n",
                "        last = min(slots, len(waiting)) - 1 if not continuous else 0\n"
                "        now = max(now, requests[waiting[last]][0])\n",
            ),
            "prompts are never cut": ("left = chunk\n", "left = None\n"),
            "a chunk for each request": (
                "            part = min(part, left)\n            left -= part\n",
                "            part = min(part, chunk)\n",
            ),
            "written tokens count": (
                "            parts.append((i, 0))\n",
                "            parts.append((i, 0))\n"
                "            left = None if left is None else max(0, left - 1)\n",
            ),
            "a token for each chunk": (
                "if read[i] == requests[i][1]:",
                "if True:",
                "if times[i]:\n",
                "if read[i] == prompt and times[i]:\n",
                "    running = [i for i in running if len(times[i]) < requests[i][2]]\n",
                "    running = [i for i in running\n"
                "        if len(times[i]) < requests[i][2] or read[i] < requests[i][1]]\n",
            ),
            "the smallest rest gets its chunk first": (
                "for i in running:\n        prompt",
                "for i in sorted(running, key=lambda i: requests[i][1] - read[i]):\n        prompt",
            ),
            "the chunk is shared in equal parts": (
                "            part = min(part, left)\n            left -= part\n",
                "            part = min(part, max(1, chunk // max(1, sum(\n"
                "                not times[j] for j in running))))\n",
            ),
            "a rest of a chunk is not used": (
                "            part = min(part, left)\n            left -= part\n",
                "            part = min(part, left)\n            left = 0\n",
            ),
            "a chunk begins at 0 again": (
                "pairs.append((read[i], part))",
                "pairs.append((0, part))",
            ),
            "a prompt in chunks reads itself again": (
                "pairs.append((read[i], part))",
                "pairs.append((0, read[i] + part))",
            ),
            "one without a part of the chunk is in the step": (
                "        if part:\n",
                "        if True:\n",
            ),
            "totals, not a row for each: raises": (
                "return found",
                "return {key: [row[key] for row in found] for key in found[0]}",
            ),
            "in the order of arrival": (
                "return found",
                "order = sorted(range(len(found)), key=lambda i: requests[i][0])\n"
                "return [found[i] for i in order]",
            ),
        },
    ),
}
