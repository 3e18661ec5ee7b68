"""Lesson 11: what students get wrong about allocations and holes."""

from cohort.edits import edited

PEAK = """
live, order, total = {}, [], 0
peak, at_peak = 0, {}
for event in history:
    if event["action"] == "alloc":
        if event["size"] < 1:
            raise ValueError("size")
        size = -(-event["size"] // 512) * 512
        live[event["addr"]] = (event["frame"], size)
        total += size
        if total > peak:
            peak, at_peak = total, dict(live)
    elif event["addr"] in live:
        total -= live.pop(event["addr"])[1]
if peak == 0:
    raise ValueError("nothing")
by_frame = {}
for frame, size in at_peak.values():
    by_frame[frame] = by_frame.get(frame, 0) + size
return {"peak": peak, "by_frame": by_frame, "left": total}
"""

HOLE = """
if not segments:
    raise ValueError("none")
reserved, free = 0, []
for segment in segments:
    reserved += segment["total_size"]
    free += [b["size"] for b in segment["blocks"] if b["state"] == "inactive"]
return {"reserved": reserved, "free": sum(free), "largest": max(free, default=0)}
"""

_ROUND = '-(-event["size"] // 512) * 512'

MUTANTS = {
    "memory_peak": edited(
        PEAK,
        {
            "the end, not the peak": ('"peak": peak, "by', '"peak": total, "by'),
            "all bytes that were ever allocated": (
                '    elif event["addr"] in live:\n        total -= live.pop(event["addr"])[1]\n',
                '    elif event["addr"] in live:\n        live.pop(event["addr"])\n',
            ),
            "frees are not seen": (
                '    elif event["addr"] in live:\n        total -= live.pop(event["addr"])[1]\n',
                "",
            ),
            "the largest block": (
                "        if total > peak:\n            peak, at_peak = total",
                "        if size > peak:\n            peak, at_peak = size",
            ),
            "nothing is rounded": (_ROUND, 'event["size"]'),
            "rounded down": (_ROUND, 'event["size"] // 512 * 512'),
            "a block more than is needed": (
                _ROUND,
                '(event["size"] // 512 + 1) * 512',
            ),
            "rounded to the nearest": (
                _ROUND,
                'round(event["size"] / 512) * 512',
            ),
            "in blocks, not bytes": (_ROUND, '-(-event["size"] // 512)'),
            "multiples of 500": (
                _ROUND,
                '-(-event["size"] // 500) * 500',
            ),
            "multiples of 1,024": (
                _ROUND,
                '-(-event["size"] // 1024) * 1024',
            ),
            "only the sum is rounded": (
                _ROUND,
                'event["size"]',
                '{"peak": peak,',
                '{"peak": -(-peak // 512) * 512,',
                '"left": total',
                '"left": -(-total // 512) * 512',
            ),
            "by frame at the end": (
                "for frame, size in at_peak.values():",
                "for frame, size in live.values():",
            ),
            "by frame, the last one of a frame alone": (
                "by_frame[frame] = by_frame.get(frame, 0) + size",
                "by_frame[frame] = size",
            ),
            "by frame, all that it ever allocated": (
                "        total += size\n",
                "        total += size\n        order.append((event['frame'], size))\n",
                "for frame, size in at_peak.values():",
                "for frame, size in order:",
            ),
            "frames without a byte are listed": (
                "by_frame = {}\n",
                'by_frame = {e["frame"]: 0 for e in history if "frame" in e}\n',
            ),
            "the last of two equal peaks": ("if total > peak:", "if total >= peak:"),
            "the peak's blocks change on": (
                "peak, at_peak = total, dict(live)",
                "peak, at_peak = total, live",
            ),
            "the size of a free is believed": (
                '        total -= live.pop(event["addr"])[1]\n',
                '        live.pop(event["addr"])\n        total -= event["size"]\n',
            ),
            "a free of an unknown address raises KeyError": ('    elif event["addr"] in live:\n', "    else:\n"),
            "a free of an unknown address takes the last block": (
                '    elif event["addr"] in live:\n        total -= live.pop(event["addr"])[1]\n',
                "    elif live:\n"
                '        key = event["addr"] if event["addr"] in live else list(live)[-1]\n'
                "        total -= live.pop(key)[1]\n",
            ),
            "an address stands for its first block": (
                'live[event["addr"]] = (event["frame"], size)',
                'live.setdefault(event["addr"], (event["frame"], size))',
                'live.pop(event["addr"])[1]',
                'live[event["addr"]][1]',
            ),
            "left is what was given back": ('"left": total', '"left": peak - total'),
            "left counts blocks": ('"left": total', '"left": len(live)'),
            "in MB": ('"peak": peak, "by', '"peak": peak / 2**20, "by'),
            "nothing allocated has the peak 0": ('    raise ValueError("nothing")', "    pass"),
            "a size of 0 is allowed": ('if event["size"] < 1:', 'if event["size"] < 0:'),
            "a size is not checked": ('if event["size"] < 1:', "if False:"),
        },
    ),
    "largest_hole": edited(
        HOLE,
        {
            "all that is not active": ('== "inactive"', '!= "active_allocated"'),
            "the largest segment": (
                "max(free, default=0)",
                'max(s["total_size"] for s in segments)',
            ),
            "the largest block": (
                "max(free, default=0)",
                'max(b["size"] for s in segments for b in s["blocks"])',
            ),
            "free is what is largest": ('"free": sum(free)', '"free": max(free, default=0)'),
            "the free blocks of a segment are one": (
                'free += [b["size"] for b in segment["blocks"] if b["state"] == "inactive"]',
                'free.append(sum(b["size"] for b in segment["blocks"] if b["state"] == '
                '"inactive"))',
            ),
            "only the last segment": ("    free += [", "    free = ["),
            "reserved is what is used": (
                '"reserved": reserved',
                '"reserved": reserved - sum(free)',
            ),
            "no free block": ("max(free, default=0)", "max(free)"),
            "the first free block": ("max(free, default=0)", "free[0] if free else 0"),
            "the mean free block": ("max(free, default=0)", "sum(free) / max(len(free), 1)"),
            "reserved is the number of segments": ('segment["total_size"]', "1"),
            "free is what is reserved": ('"free": sum(free)', '"free": reserved'),
            "free and largest change places": (
                '"free": sum(free), "largest": max(free, default=0)',
                '"free": max(free, default=0), "largest": sum(free)',
            ),
            "one free block is left out": ('"free": sum(free)', '"free": sum(free[1:])'),
            "in MB": ('"reserved": reserved', '"reserved": reserved / 2**20'),
            "largest is what one may ask for at most, less 1": (
                "max(free, default=0)",
                "max(max(free, default=0) - 1, 0)",
            ),
            "the smallest": ("max(free, default=0)", "min(free, default=0)"),
            "the number of free blocks": ('"free": sum(free)', '"free": len(free)'),
            "no segments are allowed": ('    raise ValueError("none")', "    pass"),
            "used blocks are free": ('== "inactive"', '== "active_allocated"'),
        },
    ),
}
