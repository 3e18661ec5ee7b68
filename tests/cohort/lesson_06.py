"""Lesson 06: what students get wrong about roofs and bytes.

What goes wrong in measuring, under the roof, at the walls, of the whole and of stores stands in
files beside, as do slips of every exercise and the right ones."""

from cohort import lesson_06_kinds as kinds
from cohort import lesson_06_races as races
from cohort import lesson_06_slips as slips
from cohort import lesson_06_stores as stores
from cohort.kinds import remembers
from cohort.lesson_06_alternates import ALTERNATES as OTHERS
from cohort.lesson_06_measured import HELPERS as MEASURED_HELPERS
from cohort.lesson_06_measured import MUTANTS as MEASURED
from cohort.lesson_06_points import HELPERS as POINTS_HELPERS
from cohort.lesson_06_points import MUTANTS as POINTS
from cohort.lesson_06_walls import HELPERS as WALLS_HELPERS
from cohort.lesson_06_walls import MUTANTS as WALLS
from cohort.lesson_06_whole import MUTANTS as WHOLE

HELPERS = (
    """
def at_least(low, *values):
    if min(values) < low:
        raise ValueError(f"at least {low}")

def positive(*values):
    if min(values) <= 0:
        raise ValueError("positive")

def of_shape(shape, inputs, itemsize):
    if any(n < 1 for n in shape) or inputs < 0 or itemsize < 1:
        raise ValueError("out of range")
"""
    + MEASURED_HELPERS
    + POINTS_HELPERS
    + WALLS_HELPERS
    + slips.HELPERS
    + kinds.HELPERS
    + races.HELPERS
)

MUTANTS = {
    "arithmetic_intensity": {
        "bytes for each FLOP": """
            at_least(0, flops)
            positive(bytes_moved)
            return bytes_moved / flops if flops else 0.0
        """,
        "whole numbers": "at_least(0, flops)\npositive(bytes_moved)\nreturn flops // bytes_moved",
        "FLOPs a number": """
            at_least(0, flops)
            positive(bytes_moved)
            return 4 * flops / bytes_moved
        """,
        "rounded": """
            at_least(0, flops)
            positive(bytes_moved)
            return round(flops / bytes_moved, 3)
        """,
        "multiply-adds": """
            at_least(0, flops)
            positive(bytes_moved)
            return flops / 2 / bytes_moved
        """,
        "no bytes are infinite intensity": """
            at_least(0, flops, bytes_moved)
            return flops / bytes_moved if bytes_moved else math.inf
        """,
        "nothing is checked": "return flops / bytes_moved",
        "no FLOPs are refused": "positive(flops, bytes_moved)\nreturn flops / bytes_moved",
        "the quotient is checked": """
            if not bytes_moved or flops / bytes_moved < 0:
                raise ValueError
            return flops / bytes_moved
        """,
        "less than a byte is refused": """
            at_least(0, flops)
            at_least(1, bytes_moved)
            return flops / bytes_moved
        """,
        "an eighth written in": "at_least(0, flops)\npositive(bytes_moved)\nreturn 0.125",
    },
    "ridge_point": {
        "upside down": "positive(peak_flops, bandwidth)\nreturn bandwidth / peak_flops",
        "whole numbers": "positive(peak_flops, bandwidth)\nreturn peak_flops // bandwidth",
        "in whole TFLOP and TB, at least one of each": """
            positive(peak_flops, bandwidth)
            return max(1, round(peak_flops / 1e12)) / max(1, round(bandwidth / 1e12))
        """,
        "as often quoted": "positive(peak_flops, bandwidth)\nreturn 150.0",
        "156 written in": "positive(peak_flops, bandwidth)\nreturn 156.0",
        "in FLOPs a number": "positive(peak_flops, bandwidth)\nreturn 4 * peak_flops / bandwidth",
        "in units of 1024": """
            positive(peak_flops, bandwidth)
            return peak_flops / 1e12 / (bandwidth / 1024**4)
        """,
        "nothing is checked": "return peak_flops / bandwidth",
        "the quotient is checked": """
            if not bandwidth or peak_flops / bandwidth <= 0:
                raise ValueError
            return peak_flops / bandwidth
        """,
        "no peak is let through": """
            at_least(0, peak_flops)
            positive(bandwidth)
            return peak_flops / bandwidth
        """,
    },
    "attainable_flops": {
        "the higher wall": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return max(peak_flops, intensity * bandwidth)
        """,
        "no ceiling": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return intensity * bandwidth
        """,
        "always the peak": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return float(peak_flops)
        """,
        "both walls one after another": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            if intensity in (0, math.inf):
                return 0.0 if intensity == 0 else peak_flops
            return 1 / (1 / peak_flops + 1 / (intensity * bandwidth))
        """,
        "a ridge of 150": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return peak_flops if intensity >= 150 else min(peak_flops, intensity * bandwidth)
        """,
        "a ridge upside down": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            right = intensity >= bandwidth / peak_flops
            return float(peak_flops if right else intensity * bandwidth)
        """,
        "a ridge at one": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return float(peak_flops if intensity >= 1 else intensity * bandwidth)
        """,
        "divided by the bandwidth": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return min(peak_flops, intensity / bandwidth)
        """,
        "the nearest of both": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            return min(peak_flops, bandwidth)
        """,
        "infinite intensity is refused": """
            at_least(0, intensity)
            positive(peak_flops, bandwidth)
            if math.isinf(intensity):
                raise ValueError
            return min(peak_flops, intensity * bandwidth)
        """,
        "an intensity of 0 is refused": """
            positive(intensity, peak_flops, bandwidth)
            return min(peak_flops, intensity * bandwidth)
        """,
        "nothing is checked": "return min(peak_flops, intensity * bandwidth)",
        "roofs are not checked": """
            at_least(0, intensity)
            return min(peak_flops, intensity * bandwidth)
        """,
        "roofs of 0 are let through": """
            at_least(0, intensity, peak_flops, bandwidth)
            return min(peak_flops, intensity * bandwidth)
        """,
    },
    "matmul_bytes": {
        "numbers, not bytes": "at_least(1, m, k, n, itemsize)\nreturn m * k + k * n + m * n",
        "the result is not counted": """
            at_least(1, m, k, n, itemsize)
            return (m * k + k * n) * itemsize
        """,
        "the result is read, too": """
            at_least(1, m, k, n, itemsize)
            return (m * k + k * n + 2 * m * n) * itemsize
        """,
        "bytes touched": """
            at_least(1, m, k, n, itemsize)
            return (2 * m * k * n + m * n) * itemsize
        """,
        "float32 always": "at_least(1, m, k, n, itemsize)\nreturn (m * k + k * n + m * n) * 4",
        "three squares": "at_least(1, m, k, n, itemsize)\nreturn 3 * m * n * itemsize",
        "the second matrix as the first": """
            at_least(1, m, k, n, itemsize)
            return (2 * m * k + m * n) * itemsize
        """,
        "the second matrix is m × n": """
            at_least(1, m, k, n, itemsize)
            return (m * k + 2 * m * n) * itemsize
        """,
        "weights only": "at_least(1, m, k, n, itemsize)\nreturn k * n * itemsize",
        "floating point": """
            at_least(1, m, k, n, itemsize)
            return itemsize * (1.0 * m * k + k * n + m * n + 1e-3)
        """,
        "bits": "at_least(1, m, k, n, itemsize)\nreturn 8 * (m * k + k * n + m * n) * itemsize",
        "nothing is checked": "return (m * k + k * n + m * n) * itemsize",
        "the result is checked": """
            if (m * k + k * n + m * n) * itemsize <= 0 or m * n <= 0:
                raise ValueError
            return (m * k + k * n + m * n) * itemsize
        """,
        "itemsize is not checked": """
            at_least(1, m, k, n)
            return (m * k + k * n + m * n) * itemsize
        """,
    },
    "elementwise_bytes": {
        "read only": """
            of_shape(shape, inputs, itemsize)
            return inputs * math.prod(shape) * itemsize
        """,
        "written only": "of_shape(shape, inputs, itemsize)\nreturn math.prod(shape) * itemsize",
        "one input always": """
            of_shape(shape, inputs, itemsize)
            return 2 * math.prod(shape) * itemsize
        """,
        "the result is written and read": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 2) * math.prod(shape) * itemsize
        """,
        "numbers, not bytes": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 1) * math.prod(shape)
        """,
        "float32 always": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 1) * math.prod(shape) * 4
        """,
        "sizes added": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 1) * sum(shape) * itemsize
        """,
        "the batch is left out": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 1) * math.prod(shape[1:] or shape) * itemsize
        """,
        "two dimensions": """
            of_shape(shape, inputs, itemsize)
            return (inputs + 1) * math.prod(shape[:2]) * itemsize
        """,
        "a single number is refused": """
            of_shape(shape, inputs, itemsize)
            if not len(shape):
                raise ValueError
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
        "no inputs are refused": """
            of_shape(shape, inputs - 1, itemsize)
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
        "numbers of one byte are refused": """
            of_shape(shape, inputs, itemsize - 1)
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
        "nothing is checked": "return (inputs + 1) * math.prod(shape) * itemsize",
        "the product is checked": """
            if (inputs + 1) * math.prod(shape) * itemsize <= 0:
                raise ValueError
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
        "inputs are not checked": """
            of_shape(shape, 1, itemsize)
            return (inputs + 1) * math.prod(shape) * itemsize
        """,
        "32-bit overflow": """
            of_shape(shape, inputs, itemsize)
            with np.errstate(all="ignore"):
                count = np.prod(shape, dtype=np.int32) * np.int32(inputs + 1)
                return int(count * np.int32(itemsize))
        """,
    },
    "attention_bytes": {
        "scores once written, once read": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            scores = 0 if fused else 2 * seq
            return batch * heads * seq * (4 * head_dim + scores) * itemsize
        """,
        "scores written, never read": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            scores = 0 if fused else seq
            return batch * heads * seq * (4 * head_dim + scores) * itemsize
        """,
        "no output": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            scores = 0 if fused else 4 * seq
            return batch * heads * seq * (3 * head_dim + scores) * itemsize
        """,
        "fused is ignored": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            return batch * heads * seq * (4 * head_dim + 4 * seq) * itemsize
        """,
        "always fused": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            return batch * heads * seq * 4 * head_dim * itemsize
        """,
        "the other way round": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            scores = 4 * seq if fused else 0
            return batch * heads * seq * (4 * head_dim + scores) * itemsize
        """,
        "one head's scores": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            scores = 0 if fused else 4 * batch * seq * seq
            return (4 * batch * heads * seq * head_dim + scores) * itemsize
        """,
        "itemsize is ignored": """
            at_least(1, batch, heads, seq, head_dim, itemsize)
            return batch * heads * seq * (4 * head_dim + (0 if fused else 4 * seq)) * 4
        """,
        "nothing is checked": """
            return batch * heads * seq * (4 * head_dim + (0 if fused else 4 * seq)) * itemsize
        """,
        "the result is checked": """
            total = batch * heads * seq * (4 * head_dim + (0 if fused else 4 * seq)) * itemsize
            if total <= 0:
                raise ValueError
            return total
        """,
    },
}
MUTANTS |= MEASURED | POINTS | WALLS | WHOLE | stores.MUTANTS | races.MUTANTS
ALTERNATES = OTHERS | stores.ALTERNATES | races.ALTERNATES
for more in (slips.MUTANTS, kinds.MUTANTS):
    for exercise, codes in more.items():
        MUTANTS[exercise] |= codes
MUTANTS["roofline_points"] |= remembers("roofline_points")
