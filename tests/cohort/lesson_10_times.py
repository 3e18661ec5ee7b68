"""Lesson 10: wrong ways from event pairs, launches and speed-ups to a number."""

HELPERS = """
def lengths_of(events, reduce="best"):
    lengths = [end - start for start, end in events]
    if reduce not in ("best", "median") or len(lengths) < 2 or min(lengths) < 0:
        raise ValueError("events")
    return lengths

def reduced(lengths, reduce):
    return min(lengths) if reduce == "best" else float(np.median(lengths))
"""

MUTANTS = {
    "events_to_ms": {
        "warm-up is counted": "return reduced(lengths_of(events, reduce), reduce)",
        "only the first is dropped": "return reduced(lengths_of(events, reduce)[1:], reduce)",
        "a fifth, rounded down": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[len(lengths) // 5 :], reduce)
        """,
        "a fifth, rounded down, but one": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[max(1, len(lengths) // 5) :], reduce)
        """,
        "a fifth, rounded": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[max(1, round(len(lengths) / 5)) :], reduce)
        """,
        "a tenth": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[math.ceil(len(lengths) / 10) :], reduce)
        """,
        "the last fifth": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[: -math.ceil(len(lengths) / 5)], reduce)
        """,
        "the longest fifth": """
            lengths = sorted(lengths_of(events, reduce))
            return reduced(lengths[: -math.ceil(len(lengths) / 5)], reduce)
        """,
        "what is slow at the start": """
            lengths = lengths_of(events, reduce)
            while len(lengths) > 1 and lengths[0] > 1.2 * np.median(lengths):
                lengths = lengths[1:]
            return reduced(lengths, reduce)
        """,
        "the mean for the median": """
            lengths = lengths_of(events, reduce)
            kept = lengths[math.ceil(len(lengths) / 5) :]
            return min(kept) if reduce == "best" else sum(kept) / len(kept)
        """,
        "the upper of two in the middle": """
            lengths = lengths_of(events, reduce)
            kept = sorted(lengths[math.ceil(len(lengths) / 5) :])
            return kept[0] if reduce == "best" else kept[len(kept) // 2]
        """,
        "the lower of two in the middle": """
            lengths = lengths_of(events, reduce)
            kept = sorted(lengths[math.ceil(len(lengths) / 5) :])
            return kept[0] if reduce == "best" else kept[(len(kept) - 1) // 2]
        """,
        "not sorted": """
            lengths = lengths_of(events, reduce)
            kept = lengths[math.ceil(len(lengths) / 5) :]
            return min(kept) if reduce == "best" else (
                kept[(len(kept) - 1) // 2] + kept[len(kept) // 2]) / 2
        """,
        "what is above the median": """
            lengths = lengths_of(events, reduce)
            kept = [n for n in lengths if n <= np.median(lengths)]
            return reduced(kept, reduce)
        """,
        "two always": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[2:] or lengths[-1:], reduce)
        """,
        "the whole time, divided": """
            lengths = lengths_of(events, reduce)
            kept = lengths[math.ceil(len(lengths) / 5) :]
            return min(kept) if reduce == "best" else (
                events[-1][1] - events[len(events) - len(kept)][0]) / len(kept)
        """,
        "best is the longest": """
            lengths = lengths_of(events, reduce)
            kept = lengths[math.ceil(len(lengths) / 5) :]
            return max(kept) if reduce == "best" else float(np.median(kept))
        """,
        "best and median mixed up": """
            lengths = lengths_of(events, reduce)
            kept = lengths[math.ceil(len(lengths) / 5) :]
            return min(kept) if reduce == "median" else float(np.median(kept))
        """,
        "from start to start": """
            lengths_of(events, reduce)
            starts = [start for start, _ in events]
            gaps = [b - a for a, b in zip(starts, starts[1:])]
            return reduced(gaps[math.ceil(len(gaps) / 5) :] or gaps, reduce)
        """,
        "from the first start": """
            lengths_of(events, reduce)
            kept = events[math.ceil(len(events) / 5) :]
            return (kept[-1][1] - kept[0][0]) / len(kept)
        """,
        "seconds": """
            lengths = lengths_of(events, reduce)
            return reduced(lengths[math.ceil(len(lengths) / 5) :], reduce) / 1000
        """,
        "any other reduce is the median": """
            lengths = lengths_of(events)
            return reduced(lengths[math.ceil(len(lengths) / 5) :], reduce)
        """,
        "warm-up may run backwards": """
            kept = events[math.ceil(len(events) / 5) :]
            return reduced(lengths_of(kept * 2, reduce)[: len(kept)], reduce)
        """,
        "backwards is turned round": """
            if reduce not in ("best", "median") or len(events) < 2:
                raise ValueError("events")
            lengths = [abs(end - start) for start, end in events]
            return reduced(lengths[math.ceil(len(lengths) / 5) :], reduce)
        """,
        "one pair is enough": """
            if reduce not in ("best", "median") or not events:
                raise ValueError("events")
            lengths = [end - start for start, end in events]
            if min(lengths) < 0:
                raise ValueError("backwards")
            kept = lengths[math.ceil(len(lengths) / 5) :] or lengths
            return reduced(kept, reduce)
        """,
        "warm-up is taken out of the list": """
            lengths_of(events, reduce)
            for _ in range(math.ceil(len(events) / 5)):
                events.pop(0)
            return reduced([end - start for start, end in events], reduce)
        """,
    },
    "reflect_launch": {
        "the mean cost": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * sum(total_ms) / sum(counts)
        """,
        "the last, divided": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * total_ms[-1] / counts[-1]
        """,
        "from the first to the last": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * (total_ms[-1] - total_ms[0]) / (counts[-1] - counts[0])
        """,
        "from the smallest to the largest": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            low, high = min(zip(counts, total_ms)), max(zip(counts, total_ms))
            return 1e3 * (high[1] - low[1]) / (high[0] - low[0])
        """,
        "a line through 0": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.dot(counts, total_ms) / np.dot(counts, counts))
        """,
        "ms": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return float(np.polyfit(counts, total_ms, 1)[0])
        """,
        "what it costs once": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.polyfit(counts, total_ms, 1)[1])
        """,
        "counts and times mixed up": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 / float(np.polyfit(total_ms, counts, 1)[0])
        """,
        "a line in the logarithms": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.polyfit(np.log1p(counts), total_ms, 1)[0])
        """,
        "the mean of the slopes": """
            if len(counts) != len(total_ms) or len(set(counts)) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.mean(np.diff(total_ms) / np.diff(counts)))
        """,
        "equal counts are let through": """
            if len(counts) != len(total_ms) or len(counts) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.polyfit(counts, total_ms, 1)[0])
        """,
        "cut to the shortest": """
            pairs = list(zip(counts, total_ms))
            if len({count for count, _ in pairs}) < 2:
                raise ValueError("counts")
            return 1e3 * float(np.polyfit(*zip(*pairs), 1)[0])
        """,
    },
    "reflect_speedup": {
        "not cut off at 1": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return gpu_peak / speedup / cpu_peak
        """,
        "CPU and GPU mixed up": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(1.0, cpu_peak / speedup / gpu_peak)
        """,
        "the ratio of the peaks": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(1.0, gpu_peak / cpu_peak)
        """,
        "one over the speed-up": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(1.0, 1 / speedup)
        """,
        "percent": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(100.0, 100 * gpu_peak / speedup / cpu_peak)
        """,
        "upside down": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(1.0, speedup * cpu_peak / gpu_peak)
        """,
        "what is left": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return 1.0 - min(1.0, gpu_peak / speedup / cpu_peak)
        """,
        "FLOP/s": """
            if min(speedup, gpu_peak, cpu_peak) <= 0:
                raise ValueError("above 0")
            return min(cpu_peak, gpu_peak / speedup)
        """,
        "no check": "return min(1.0, gpu_peak / speedup / cpu_peak)",
        "the product is checked": """
            if speedup * gpu_peak * cpu_peak <= 0:
                raise ValueError("above 0")
            return min(1.0, gpu_peak / speedup / cpu_peak)
        """,
        "a speed-up below 1 is refused": """
            if speedup < 1 or min(gpu_peak, cpu_peak) <= 0:
                raise ValueError("no speed-up")
            return min(1.0, gpu_peak / speedup / cpu_peak)
        """,
        "the CPU is not checked": """
            if min(speedup, gpu_peak) <= 0:
                raise ValueError("above 0")
            return min(1.0, gpu_peak / speedup / (cpu_peak or 1.0))
        """,
    },
}
