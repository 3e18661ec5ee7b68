"""Lesson 10: wrong lines of kernels, and wrong counts of what a kernel did."""

HELPERS = """
def at_least_1(*numbers):
    if min(numbers) < 1:
        raise ValueError("at least 1")
"""

MUTANTS = {
    "fma_lines": {
        "one chain through all accumulators": """
            at_least_1(accumulators)
            first = "a0 = fmaf(a0, x, y); "
            rest = (f"a{n} = fmaf(a{n - 1}, x, y);" for n in range(1, accumulators))
            return first + " ".join(rest)
        """,
        "one accumulator, many times": """
            at_least_1(accumulators)
            return "a0 = fmaf(a0, x, y); " * accumulators
        """,
        "numbered from 1": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(1, accumulators + 1))
        """,
        "one too few": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(max(1, accumulators - 1)))
        """,
        "one too many": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators + 1))
        """,
        "x and y mixed up": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, y, x);" for n in range(accumulators))
        """,
        "the accumulator is added": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(x, y, a{n});" for n in range(accumulators))
        """,
        "constants, which the compiler knows": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, 10.0, 0.5);" for n in range(accumulators))
        """,
        "no semicolons": """
            at_least_1(accumulators)
            return "\\n".join(f"a{n} = fmaf(a{n}, x, y)" for n in range(accumulators))
        """,
        "a multiplication and an addition, no FMA": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = a{n} * x + y;" for n in range(accumulators))
        """,
        "each twice, in a chain": """
            at_least_1(accumulators)
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators)) * 2
        """,
        "one digit only": """
            at_least_1(accumulators)
            return " ".join(f"a{n % 10} = fmaf(a{n % 10}, x, y);" for n in range(accumulators))
        """,
        "three always: raises": """
            at_least_1(accumulators)
            return "a0 = fmaf(a0, x, y); a1 = fmaf(a1, x, y); a2 = fmaf(a2, x, y);"
        """,
        "a list of lines": """
            at_least_1(accumulators)
            return [f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators)]
        """,
        "nothing for no accumulators": """
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators))
        """,
        "only 0 is refused": """
            if accumulators == 0:
                raise ValueError("none")
            return " ".join(f"a{n} = fmaf(a{n}, x, y);" for n in range(accumulators))
        """,
    },
    "fma_flops": {
        "an FMA is one": """
            at_least_1(threads, fmas, accumulators)
            return threads * fmas * accumulators
        """,
        "the accumulators are left out": """
            at_least_1(threads, fmas, accumulators)
            return 2 * threads * fmas
        """,
        "FMAs dealt out to the accumulators": """
            at_least_1(threads, fmas, accumulators)
            return 2 * threads * (fmas // accumulators) * accumulators
        """,
        "by warps": """
            at_least_1(threads, fmas, accumulators)
            return 2 * -(-threads // 32) * 32 * fmas * accumulators
        """,
        "the sum of the accumulators too": """
            at_least_1(threads, fmas, accumulators)
            return threads * (2 * fmas * accumulators + accumulators - 1)
        """,
        "one thread": "at_least_1(threads, fmas, accumulators)\nreturn 2 * fmas * accumulators",
        "added": """
            at_least_1(threads, fmas, accumulators)
            return 2 * threads * (fmas + accumulators)
        """,
        "floating point": """
            at_least_1(threads, fmas, accumulators)
            return int(2.0 * threads * fmas * accumulators)
        """,
        "no check": "return 2 * threads * fmas * accumulators",
        "the product is checked": """
            total = 2 * threads * fmas * accumulators
            at_least_1(total)
            return total
        """,
        "accumulators are not checked": """
            at_least_1(threads, fmas)
            return 2 * threads * fmas * accumulators
        """,
    },
    "stream_line": {
        "scale is a copy": """
            return {"copy": "a = b;", "scale": "a = b;", "triad": "a = b + s * c;"}[kernel]
        """,
        "triad scales the wrong one": """
            lines = {"copy": "a = b;", "scale": "a = s * b;", "triad": "a = s * b + c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "triad subtracts": """
            lines = {"copy": "a = b;", "scale": "a = s * b;", "triad": "a = b - s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "triad for all, with zeros": """
            lines = {"copy": "a = b + 0 * c;", "scale": "a = s * b;", "triad": "a = b + s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "scale by a constant": """
            lines = {"copy": "a = b;", "scale": "a = 4 * b;", "triad": "a = b + s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "scale scales c": """
            lines = {"copy": "a = b;", "scale": "a = s * c;", "triad": "a = b + s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "copied the wrong way": """
            lines = {"copy": "b = a;", "scale": "a = s * b;", "triad": "a = b + s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "no semicolon": """
            lines = {"copy": "a = b", "scale": "a = s * b", "triad": "a = b + s * c"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "in place": """
            lines = {"copy": "a = b;", "scale": "b = s * b; a = b;", "triad": "a = b + s * c;"}
            if kernel not in lines:
                raise ValueError(kernel)
            return lines[kernel]
        """,
        "triad for what is not known": """
            return {"copy": "a = b;", "scale": "a = s * b;"}.get(kernel, "a = b + s * c;")
        """,
        "capitals are small letters": """
            lines = {"copy": "a = b;", "scale": "a = s * b;", "triad": "a = b + s * c;"}
            if kernel.lower() not in lines:
                raise ValueError(kernel)
            return lines[kernel.lower()]
        """,
        "by the first letter": """
            lines = {"c": "a = b;", "s": "a = s * b;", "t": "a = b + s * c;"}
            if kernel[:1] not in lines or kernel == "sort":
                raise ValueError(kernel)
            return lines[kernel[:1]] if kernel != "scale" else "a = b * b;"
        """,
    },
    "stream_bytes": {
        "the writes are left out": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * reads * itemsize
        """,
        "one buffer": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * itemsize
        """,
        "the item's size is left out": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * (reads + writes)
        """,
        "four bytes always": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * (reads + writes) * 4
        """,
        "a float4 for each element": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return 4 * elements * (reads + writes) * itemsize
        """,
        "a write reads first, as on a CPU": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * (reads + 2 * writes) * itemsize
        """,
        "bits": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return 8 * elements * (reads + writes) * itemsize
        """,
        "reads times writes": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * reads * writes * 2 * itemsize
        """,
        "in whole float4": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return -(-elements // 4) * 4 * (reads + writes) * itemsize
        """,
        "one write always": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return elements * (reads + 1) * itemsize
        """,
        "no writes are refused": """
            at_least_1(elements, itemsize, reads, writes)
            return elements * (reads + writes) * itemsize
        """,
        "floating point": """
            at_least_1(elements, itemsize, reads + writes, reads + 1, writes + 1)
            return int(float(elements) * (reads + writes) * itemsize)
        """,
        "no check": "return elements * (reads + writes) * itemsize",
        "the product is checked": """
            total = elements * (reads + writes) * itemsize
            at_least_1(total)
            return total
        """,
        "negative buffers are not refused": """
            at_least_1(elements, itemsize, reads + writes)
            return elements * (reads + writes) * itemsize
        """,
        "nothing moved is 0": """
            at_least_1(elements, itemsize, reads + 1, writes + 1)
            return elements * (reads + writes) * itemsize
        """,
    },
}
