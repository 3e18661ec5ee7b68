"""Lesson 11: what students get wrong about overlap, serial shares and sharding."""

from cohort.edits import edited

OVERLAP = """
if not layers or bucket <= 0:
    raise ValueError("nothing")
if any(ms < 0 or size < 0 for ms, size in layers):
    raise ValueError("negative")
now, held, ready = 0, 0, []
for ms, size in layers[::-1]:
    now += ms
    held += size
    if held >= bucket:
        ready.append((now, held))
        held = 0
if held:
    ready.append((now, held))
buckets, free = [], 0
for at, size in ready:
    start = max(at, free)
    free = start + reduce_ms(size)
    buckets.append({"bytes": size, "start_ms": start, "end_ms": free})
step = max(now, free)
return {"step_ms": step, "exposed_ms": step - now, "buckets": buckets}
"""

SHARE = """
if workers < 2 or speedup <= 0:
    raise ValueError("range")
return (1 / speedup - 1 / workers) / (1 - 1 / workers)
"""

SHARDED = """
if parameters < 1 or ranks < 1 or stage not in (0, 1, 2, 3):
    raise ValueError("range")
weights, gradients, state = 2 * parameters, 2 * parameters, 12 * parameters
if stage >= 1:
    state /= ranks
if stage >= 2:
    gradients /= ranks
if stage >= 3:
    weights /= ranks
return float(weights + gradients + state)
"""

_KARP = "(1 / speedup - 1 / workers) / (1 - 1 / workers)"
_EXPOSED = '"exposed_ms": step - now'

MUTANTS = {
    "overlapped": edited(
        OVERLAP,
        {
            "all after the backward pass": ("start = max(at, free)", "start = max(now, free)"),
            "in the order of the forward pass": ("layers[::-1]", "layers"),
            "several at once": ("start = max(at, free)", "start = at"),
            "the link is never free before its end": (
                "start = max(at, free)",
                "start = free if buckets else at",
            ),
            "a bucket is never more than full": (
                "    held += size\n    if held >= bucket:\n",
                "    if held and held + size > bucket:\n"
                "        ready.append((now - ms, held))\n        held = 0\n"
                "    held += size\n    if held >= bucket:\n",
            ),
            "full is more than the bucket": ("if held >= bucket:", "if held > bucket:"),
            "what is left is not sent": ("if held:\n    ready.append((now, held))\n", ""),
            "an empty bucket is sent": ("if held:\n", "if True:\n"),
            "what is left is sent only if it is full": ("if held:\n", "if held >= bucket:\n"),
            "a bucket leaves before its layer has ended": (
                "    now += ms\n    held += size\n    if held >= bucket:\n"
                "        ready.append((now, held))\n        held = 0\n",
                "    held += size\n    if held >= bucket:\n"
                "        ready.append((now, held))\n        held = 0\n    now += ms\n",
            ),
            "a layer at a time": ("if held >= bucket:", "if held:"),
            "one bucket for all": ("if held >= bucket:", "if False:"),
            "what is over stays for the next": (
                "        ready.append((now, held))\n        held = 0\n",
                "        ready.append((now, bucket))\n        held -= bucket\n",
            ),
            "the backward pass waits": (
                "        ready.append((now, held))\n        held = 0\n",
                "        ready.append((now, held))\n        now += reduce_ms(held)\n"
                "        held = 0\n",
            ),
            "a bucket counts layers": (
                "    held += size\n    if held >= bucket:",
                "    held += size\n    if size and held >= bucket + size:",
            ),
            "the last all-reduce is exposed as a whole": (
                _EXPOSED,
                '"exposed_ms": buckets[-1]["end_ms"] - buckets[-1]["start_ms"] if buckets else 0',
            ),
            "exposed is all of the all-reduces": (
                _EXPOSED,
                '"exposed_ms": sum(b["end_ms"] - b["start_ms"] for b in buckets)',
            ),
            "exposed is what is hidden": (
                _EXPOSED,
                '"exposed_ms": sum(b["end_ms"] - b["start_ms"] for b in buckets) - (step - now)',
            ),
            "exposed may be negative": (_EXPOSED, '"exposed_ms": free - now'),
            "the step ends with the last all-reduce": ("step = max(now, free)", "step = free"),
            "the step is the sum of both": (
                "step = max(now, free)",
                "step = now + sum(reduce_ms(b) for _, b in ready)",
            ),
            "the step ends with the pass": ("step = max(now, free)", "step = now"),
            "times are summed, not buckets' sizes": (
                "free = start + reduce_ms(size)",
                "free = start + reduce_ms(bucket)",
            ),
            "the number of buckets": ('"buckets": buckets', '"buckets": len(buckets)'),
            "lengths, not ends": ('"end_ms": free}', '"end_ms": reduce_ms(size)}'),
            "the last bucket first": ('"buckets": buckets', '"buckets": buckets[::-1]'),
            "buckets in MB": ('{"bytes": size,', '{"bytes": size / 1e6,'),
            "the first bucket is half": (
                "if held >= bucket:",
                "if held >= (bucket if ready else bucket / 2):",
            ),
            "no layers are allowed": ("not layers or ", ""),
            "the bucket is not checked": (" or bucket <= 0", ""),
            "times are not checked": ("ms < 0 or ", ""),
            "sizes are not checked": (" or size < 0", ""),
            "layers without gradients are left out": (
                "for ms, size in layers[::-1]:\n",
                "for ms, size in layers[::-1]:\n    if not size:\n        continue\n",
            ),
        },
    ),
    "serial_share": edited(
        SHARE,
        {
            "what Amdahl's law leaves over": ("/ (1 - 1 / workers)", ""),
            "upside down": (
                "return (1 / speedup - 1 / workers) / (1 - 1 / workers)",
                "return (1 - 1 / workers) / (1 / speedup - 1 / workers)",
            ),
            "the parallel share": ("return (", "return 1 - ("),
            "the efficiency": (
                "return (1 / speedup - 1 / workers) / (1 - 1 / workers)",
                "return speedup / workers",
            ),
            "what the efficiency lacks": (
                "return (1 / speedup - 1 / workers) / (1 - 1 / workers)",
                "return 1 - speedup / workers",
            ),
            "speed-up and workers change places": (
                "(1 / speedup - 1 / workers)",
                "(1 / workers - 1 / speedup)",
            ),
            "workers less 1": ("(1 - 1 / workers)", "(workers - 1)"),
            "Gustafson's": (
                "return (1 / speedup - 1 / workers) / (1 - 1 / workers)",
                "return (workers - speedup) / (workers - 1)",
            ),
            "one worker is allowed": (
                "workers < 2",
                "workers < 1",
                "/ (1 - 1 / workers)",
                "/ ((1 - 1 / workers) or 1)",
            ),
            "the speed-up is not checked": (
                " or speedup <= 0",
                "",
                "1 / speedup",
                "1 / (speedup or 1)",
            ),
            "1 over the speed-up": (_KARP, "1 / speedup"),
            "workers for cores beside the first": ("1 / workers", "1 / (workers - 1 or 1)"),
            "the share of a twofold part": (_KARP, "(2 / speedup - 1 / workers) / 2"),
            "of the speed-up's logarithm": (_KARP, "1 - math.log2(speedup) / math.log2(workers)"),
            "never negative, never exact": (_KARP, f"max({_KARP}, 0.001)"),
            "at most 5 percent": (_KARP, f"min({_KARP}, 0.05)"),
            "the difference to the ideal": (_KARP, "workers - speedup"),
            "a speed-up below 1 is refused, and 1, too": ("speedup <= 0", "speedup <= 1"),
            "in percent": ("return (", "return 100 * ("),
            "rounded": (
                "return (1 / speedup - 1 / workers) / (1 - 1 / workers)",
                "return round((1 / speedup - 1 / workers) / (1 - 1 / workers), 2)",
            ),
        },
    ),
    "sharded_bytes": edited(
        SHARDED,
        {
            "float32 weights": (
                "weights, gradients, state = 2 *",
                "weights, gradients, state = 4 *",
            ),
            "no copy of the weights": ("12 * parameters", "8 * parameters"),
            "stage 1 divides the gradients": (
                "stage >= 1",
                "stage >= 2",
                "if stage >= 2:\n    gradients",
                "if stage >= 1:\n    gradients",
            ),
            "stage 1 divides all": ("stage >= 2", "stage >= 1", "stage >= 3", "stage >= 1"),
            "each stage divides only its own": (
                "stage >= 1",
                "stage == 1",
                "stage >= 2",
                "stage == 2",
                "stage >= 3",
                "stage == 3",
            ),
            "one stage too late": (
                "stage >= 3",
                "stage > 3",
                "stage >= 2",
                "stage >= 3",
                "stage >= 1",
                "stage >= 2",
            ),
            "one stage too early": (
                "stage >= 1",
                "stage >= 0",
                "stage >= 2",
                "stage >= 1",
                "stage >= 3",
                "stage >= 2",
            ),
            "all ranks together": ("return float(", "return ranks * float("),
            "whole bytes of a share": ("state /= ranks", "state = 0"),
            "no moments": ("12 * parameters", "4 * parameters"),
            "one moment": ("12 * parameters", "8 * parameters + 0"),
            "no gradients": ("weights + gradients + state", "weights + state"),
            "gradients in float32": (
                "2 * parameters, 2 * parameters,",
                "2 * parameters, 4 * parameters,",
            ),
            "stage 3 keeps the weights": ("if stage >= 3:\n    weights /= ranks", ""),
            "stage 2 keeps the gradients": ("if stage >= 2:\n    gradients /= ranks", ""),
            "stage 1 keeps the state": ("if stage >= 1:", "if stage >= 2:"),
            "divided by the stage": ("/= ranks", "/= max(stage, 1)"),
            "the stage is not checked": (" or stage not in (0, 1, 2, 3)", ""),
            "ranks are not checked": (" or ranks < 1", "", "/= ranks", "/= ranks or 1"),
            "in GB": ("return float(", "return 1e-9 * float("),
        },
    ),
}
