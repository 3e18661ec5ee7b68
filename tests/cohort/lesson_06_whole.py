"""Lesson 06: what students get wrong of what follows for the whole: shares, speedups, a ReLU."""

MUTANTS = {
    "mfu": {
        "upside down": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return peak_flops * seconds / (flops or 1)
        """,
        "in percent": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return 100 * flops / seconds / peak_flops
        """,
        "the time as a factor": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops * seconds / peak_flops
        """,
        "the time is left out": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops / peak_flops
        """,
        "cut off at 1": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return min(1.0, flops / seconds / peak_flops)
        """,
        "rounded": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return round(flops / seconds / peak_flops, 3)
        """,
        "whole numbers": """
            at_least(0, flops)
            positive(seconds, peak_flops)
            return flops // (seconds * peak_flops)
        """,
        "nothing is checked": "return flops / seconds / peak_flops",
        "no FLOPs are refused": """
            positive(flops, seconds, peak_flops)
            return flops / seconds / peak_flops
        """,
        "the result is checked": """
            if not seconds or not peak_flops or flops / seconds / peak_flops < 0:
                raise ValueError
            return flops / seconds / peak_flops
        """,
    },
    "amdahl": {
        "the time that is left": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 - fraction + fraction / speedup
        """,
        "the average speed": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 - fraction + fraction * speedup
        """,
        "the other part": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            left = fraction + (1 - fraction) / speedup
            return 1 / left if left else math.inf
        """,
        "the part's own speedup": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup
        """,
        "the rest is forgotten": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup / fraction if fraction else 1.0
        """,
        "Gustafson's law": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return speedup - (1 - fraction) * (speedup - 1)
        """,
        "rounded": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return round(1 / left, 2) if left else math.inf
        """,
        "division by zero: raises": """
            if not 0 <= fraction <= 1 or speedup <= 0:
                raise ValueError
            return 1 / (1 - fraction + fraction / speedup)
        """,
        "slower parts are refused": """
            if not 0 <= fraction <= 1 or speedup < 1:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "a fraction in percent is let through": """
            if fraction < 0 or speedup <= 0:
                raise ValueError
            fraction = fraction / 100 if fraction > 1 else fraction
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "all of it is refused": """
            if not 0 <= fraction < 1 or speedup <= 0:
                raise ValueError
            return 1 / (1 - fraction + fraction / speedup)
        """,
        "nothing of it is refused": """
            if not 0 < fraction <= 1 or speedup <= 0:
                raise ValueError
            left = 1 - fraction + fraction / speedup
            return 1 / left if left else math.inf
        """,
        "speed is not checked": """
            if not 0 <= fraction <= 1:
                raise ValueError
            left = 1 - fraction + fraction / (speedup or 1e-9)
            return 1 / left if left else math.inf
        """,
    },
    "reflect_relu": {
        "read only": """
            of_shape((elements,), 1, itemsize)
            seconds = max(elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "seconds": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds, "share": elements / seconds / peak_flops}
        """,
        "in percent": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": 100 * elements / seconds / peak_flops}
        """,
        "memory is the only wall": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = 2 * elements * itemsize / bandwidth
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "both walls one after another": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = 2 * elements * itemsize / bandwidth + elements / peak_flops
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "float32 always": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(8 * elements / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
        "two FLOPs an element": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, 2 * elements / peak_flops)
            return {"ms": seconds * 1000, "share": 2 * elements / seconds / peak_flops}
        """,
        "rounded": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": round(seconds * 1000, 2), "share": elements / seconds / peak_flops}
        """,
        "the share of the time": """
            of_shape((elements,), 1, itemsize)
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops)
            return {"ms": seconds * 1000, "share": seconds * bandwidth / peak_flops}
        """,
        "sizes are not checked": """
            positive(peak_flops, bandwidth)
            seconds = max(2 * elements * itemsize / bandwidth, elements / peak_flops) or 1.0
            return {"ms": seconds * 1000, "share": elements / seconds / peak_flops}
        """,
    },
}
