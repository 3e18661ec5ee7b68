"""Lesson 12: what students get wrong about small floats and about blocks that share a scale."""

from cohort.edits import edited

ROUND_TO = """
if not all(map(math.isfinite, values)) or exponent_bits < 1 or mantissa_bits < 0:
    raise ValueError("values")
numbers, bias = [], 2 ** (exponent_bits - 1) - 1
for code in range(2 ** (exponent_bits + mantissa_bits) - reserved):
    power, part = divmod(code, 2**mantissa_bits)
    if power == 0:
        numbers.append(part * 2.0 ** (1 - bias - mantissa_bits))
    else:
        numbers.append((1 + part / 2**mantissa_bits) * 2.0 ** (power - bias))
found = []
for value in values:
    code = min(range(len(numbers)), key=lambda c: (abs(numbers[c] - abs(value)), c % 2))
    found.append(math.copysign(numbers[code], value))
return found
"""
_NEAREST = "code = min(range(len(numbers)), key=lambda c: (abs(numbers[c] - abs(value)), c % 2))"
_ZERO = "numbers.append(part * 2.0 ** (1 - bias - mantissa_bits))"
_OTHER = "numbers.append((1 + part / 2**mantissa_bits) * 2.0 ** (power - bias))"

BLOCK_SCALED = """
elements = {"mxfp8": (4, 3, 1), "mxfp4": (2, 1, 0), "nvfp4": (2, 1, 0)}
if format not in elements or not values or block < 1 or not all(map(math.isfinite, values)):
    raise ValueError("format, values or block")
most = 448.0 if format == "mxfp8" else 6.0
t = max(map(abs, values)) / (6 * 448)
scales, found = [], []
for start in range(0, len(values), block):
    part = values[start : start + block]
    a = max(map(abs, part))
    if a == 0:
        scale = 1.0
    elif format == "nvfp4":
        scale = t * own_round([a / 6 / t], 4, 3, 1)[0]
    elif round_up:
        scale = 2.0 ** math.ceil(math.log2(a / most))
    else:
        scale = 2.0 ** (own_power(a) - own_power(most))
    scales.append(scale)
    if scale == 0:
        found += [0.0] * len(part)
    else:
        rounded = own_round([x / scale for x in part], *elements[format])
        found += [scale * x for x in rounded]
bits = (8 if format == "mxfp8" else 4) + 8 * len(scales) / len(values)
if format == "nvfp4":
    bits += 32 / len(values)
return {"scales": scales, "values": found, "bits": bits}
"""
_UP = "scale = 2.0 ** math.ceil(math.log2(a / most))"
_DOWN = "scale = 2.0 ** (own_power(a) - own_power(most))"
_NV = "scale = t * own_round([a / 6 / t], 4, 3, 1)[0]"
_BITS = '(8 if format == "mxfp8" else 4) + 8 * len(scales) / len(values)'

HELPERS = f"""
def own_round(values, exponent_bits, mantissa_bits, reserved=0):
{chr(10).join("    " + line for line in ROUND_TO.strip().splitlines())}


def own_power(x):
    return math.frexp(x)[1] - 1
"""

MUTANTS = {
    "round_to": edited(
        ROUND_TO,
        {
            "halves away from zero": (_NEAREST, _NEAREST.replace("c % 2", "-c")),
            "halves to zero": (_NEAREST, _NEAREST.replace("c % 2", "c")),
            "halves to the odd code": (_NEAREST, _NEAREST.replace("c % 2", "-(c % 2)")),
            "cut off": (
                _NEAREST,
                "code = max(c for c in range(len(numbers)) if numbers[c] <= abs(value))",
            ),
            "rounded up": (
                _NEAREST,
                "code = min((c for c in range(len(numbers)) if numbers[c] >= abs(value)), "
                "default=len(numbers) - 1)",
            ),
            "the sign is lost": ("math.copysign(numbers[code], value)", "numbers[code]"),
            "numbers below zero are zero": (
                "math.copysign(numbers[code], value)",
                "numbers[code] if value > 0 else 0.0",
            ),
            "rounded to float16 first": (
                _NEAREST,
                f"value = float(np.float16(value))\n    {_NEAREST}",
            ),
            "a mantissa has a bit at least": (
                "numbers, bias = [],",
                "mantissa_bits = max(1, mantissa_bits)\nnumbers, bias = [],",
            ),
            "reserved codes are used": (" - reserved", ""),
            "one code too many is reserved": (" - reserved", " - reserved - 1"),
            "small numbers are zero": (_ZERO, "numbers.append(0.0)"),
            "small numbers are as the others": (_ZERO, _OTHER),
            "small numbers half as far apart": (_ZERO, _ZERO.replace("1 - bias", "-bias")),
            "small numbers of all formats are those of E2M1": (_ZERO, "numbers.append(part * 0.5)"),
            "the bias is one more": (
                "2 ** (exponent_bits - 1) - 1",
                "2 ** (exponent_bits - 1)",
            ),
            "no bias": ("bias = [], 2 ** (exponent_bits - 1) - 1", "bias = [], 0"),
            "the mantissa has no one before": (
                "(1 + part / 2**mantissa_bits)",
                "(part / 2**mantissa_bits)",
            ),
            "mantissa and exponent change places": (
                "power, part = divmod(code, 2**mantissa_bits)",
                "part, power = divmod(code, 2**exponent_bits)",
            ),
            "beyond the largest is infinity": (
                "found.append(math.copysign(numbers[code], value))",
                "found.append(math.copysign(numbers[code] if abs(value) <= numbers[-1] "
                "else math.inf, value))",
            ),
            "beyond the largest is none": (
                "found.append(math.copysign(numbers[code], value))",
                "found.append(math.copysign(numbers[code] if abs(value) <= numbers[-1] "
                "else abs(value), value))",
            ),
            "python's round of the mantissa, with no small numbers": (
                _NEAREST,
                "m, e = math.frexp(abs(value))\n"
                "    s = 2 ** (mantissa_bits + 1)\n"
                "    near = min(numbers[-1], round(m * s) / s * 2.0**e)\n"
                "    code = min(range(len(numbers)), key=lambda c: abs(numbers[c] - near))\n"
                "    numbers = [*numbers] if near in numbers else [*numbers, near]\n"
                "    code = numbers.index(near)",
            ),
            "float32 first": (
                "for value in values:\n",
                "for value in map(np.float32, values):\n    value = float(value) * (1 + 1e-6)\n",
            ),
            "NaN becomes zero": (
                "not all(map(math.isfinite, values)) or ",
                "",
                "for value in values:\n",
                "for value in values:\n    value = value if value == value else 0.0\n",
            ),
            "one number": ("return found", "return found[0]"),
            "the codes": ("math.copysign(numbers[code], value)", "math.copysign(code, value)"),
        },
    ),
    "block_scaled": edited(
        BLOCK_SCALED,
        {
            "the floor of a rounded log2": (
                _DOWN,
                "scale = 2.0 ** (math.floor(math.log2(a)) - math.floor(math.log2(most)))",
            ),
            "the largest number is the code of NaN": ("448.0 if", "480.0 if"),
            "the largest number is a power of two": ("448.0 if", "256.0 if"),
            "always rounded up": ("elif round_up:", "elif True:"),
            "never rounded up": ("elif round_up:", "elif False:"),
            "rounded up where it is a power of two already": (
                _UP,
                "scale = 2.0 ** (math.floor(math.log2(a / most)) + 1)",
            ),
            "to the nearest power of two": (
                _DOWN,
                "scale = 2.0 ** round(math.log2(a / most))",
            ),
            "the largest number's power is left out": (_DOWN, "scale = 2.0 ** own_power(a)"),
            "the floor of the quotient": (_DOWN, "scale = 2.0 ** math.floor(math.log2(a / most))"),
            "a scale that is no power of two": (_DOWN, "scale = a / most"),
            "one scale for all": ("part))\n", "part))\n    a = max(map(abs, values))\n"),
            "the largest without its size": (
                "a = max(map(abs, part))",
                "a = abs(max(part)) or max(map(abs, part))",
            ),
            "the mean for the largest": (
                "a = max(map(abs, part))",
                "a = sum(map(abs, part)) / len(part)",
            ),
            "the first of a block": ("a = max(map(abs, part))", "a = abs(part[0])"),
            "NVFP4's scale is not rounded": (_NV, "scale = a / 6"),
            "NVFP4's scale without the float32": (_NV, "scale = own_round([a / 6], 4, 3, 1)[0]"),
            "NVFP4's scale is a power of two": ('elif format == "nvfp4":', "elif False:"),
            "the float32 of the first block": (
                "t = max(map(abs, values)) / (6 * 448)",
                "t = max(map(abs, values[:block])) / (6 * 448)",
            ),
            "the float32 is the largest by 6": (
                "t = max(map(abs, values)) / (6 * 448)",
                "t = max(map(abs, values)) / 6",
            ),
            "E4M3 up to 480": ('"mxfp8": (4, 3, 1)', '"mxfp8": (4, 3, 0)'),
            "FP8 is E5M2": ('"mxfp8": (4, 3, 1)', '"mxfp8": (5, 2, 4)'),
            "FP4 is E3M0": ('"mxfp4": (2, 1, 0)', '"mxfp4": (3, 0, 0)'),
            "values before they are scaled back": (
                "found += [scale * x for x in rounded]",
                "found += rounded",
            ),
            "values are not rounded": (
                "found += [scale * x for x in rounded]",
                "found += part",
            ),
            "scales for each value": ("scales.append(scale)", "scales += [scale] * len(part)"),
            "zeros have no scale": ("scale = 1.0", "scale = 0.0"),
            "a scale of 0 keeps its numbers": (
                "found += [0.0] * len(part)",
                "found += part",
            ),
            "scales are forgotten in the bits": (_BITS, '(8 if format == "mxfp8" else 4)'),
            "a full last block is assumed": (
                _BITS,
                '(8 if format == "mxfp8" else 4) + 8 / block',
            ),
            "the float32 is forgotten in the bits": ("bits += 32 / len(values)", "pass"),
            "a float32 for each block": (
                "bits += 32 / len(values)",
                "bits += 32 * len(scales) / len(values)",
            ),
            "scales of 16 bits": ("8 * len(scales)", "16 * len(scales)"),
            "bits of all": ('"bits": bits', '"bits": bits * len(values)'),
            "another format is FP4": (
                "format not in elements or ",
                "",
                "elements[format]",
                "elements.get(format, (2, 1, 0))",
            ),
            "the last block is left out where it is short": (
                "range(0, len(values), block)",
                "range(0, max(1, len(values) - block + 1), block)",
            ),
        },
    ),
}
