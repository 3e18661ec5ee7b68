"""Lesson 10: wrong crossings of two curves."""

HELPERS = """
def curves_checked(sizes, cpu_ms, gpu_ms):
    if not 2 <= len(sizes) == len(cpu_ms) == len(gpu_ms) or min(*sizes, *cpu_ms, *gpu_ms) <= 0:
        raise ValueError("sizes and times")
    if any(b <= a for a, b in zip(sizes, sizes[1:])):
        raise ValueError("order")
    return [math.log(cpu / gpu) for cpu, gpu in zip(cpu_ms, gpu_ms)]

def last_slower(ahead):
    slower = [at for at, lead in enumerate(ahead) if lead < 0]
    return slower[-1] if slower and slower[-1] < len(ahead) - 1 else None

def in_log(sizes, ahead, at):
    share = ahead[at] / (ahead[at] - ahead[at + 1])
    return float(sizes[at] * (sizes[at + 1] / sizes[at]) ** share)
"""

MUTANTS = {
    "crossover": {
        "a straight line through the sizes": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            if at is None:
                return None
            gaps = [cpu - gpu for cpu, gpu in zip(cpu_ms, gpu_ms)]
            share = gaps[at] / (gaps[at] - gaps[at + 1])
            return float(sizes[at] + share * (sizes[at + 1] - sizes[at]))
        """,
        "times in logarithms, sizes not": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            if at is None:
                return None
            share = ahead[at] / (ahead[at] - ahead[at + 1])
            return float(sizes[at] + share * (sizes[at + 1] - sizes[at]))
        """,
        "sizes in logarithms, times not": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            if at is None:
                return None
            gaps = [cpu - gpu for cpu, gpu in zip(cpu_ms, gpu_ms)]
            return in_log(sizes, gaps, at)
        """,
        "the ratio as a straight line": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            if at is None:
                return None
            lead = [cpu / gpu - 1 for cpu, gpu in zip(cpu_ms, gpu_ms)]
            return in_log(sizes, lead, at)
        """,
        "the other ratio as a straight line": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            if at is None:
                return None
            lead = [1 - gpu / cpu for cpu, gpu in zip(cpu_ms, gpu_ms)]
            return in_log(sizes, lead, at)
        """,
        "a line of least squares through all": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if last_slower(ahead) is None:
                return None
            slope, start = np.polyfit(np.log(sizes), ahead, 1)
            return float(np.exp(-start / slope))
        """,
        "where the two are closest": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if last_slower(ahead) is None:
                return None
            return float(sizes[min(range(len(sizes)), key=lambda at: abs(ahead[at]))])
        """,
        "shares counted from the right": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            if at is None:
                return None
            share = ahead[at] / (ahead[at] - ahead[at + 1])
            return float(sizes[at + 1] * (sizes[at] / sizes[at + 1]) ** share)
        """,
        "the middle of the two": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            return None if at is None else (sizes[at] + sizes[at + 1]) / 2
        """,
        "the geometric middle": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            return None if at is None else float((sizes[at] * sizes[at + 1]) ** 0.5)
        """,
        "the first size at which the GPU wins": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            return None if at is None else float(sizes[at + 1])
        """,
        "the last size at which the CPU wins": """
            at = last_slower(curves_checked(sizes, cpu_ms, gpu_ms))
            return None if at is None else float(sizes[at])
        """,
        "the first crossing": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            for at in range(len(ahead) - 1):
                if ahead[at] < 0 <= ahead[at + 1]:
                    return in_log(sizes, ahead, at)
            return None
        """,
        "any change of sign, from the end": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            for at in reversed(range(len(ahead) - 1)):
                if ahead[at] * ahead[at + 1] < 0:
                    return in_log(sizes, ahead, at)
            return None
        """,
        "ahead for a while is enough": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            for at in reversed(range(len(ahead) - 1)):
                if ahead[at] < 0 <= ahead[at + 1]:
                    return in_log(sizes, ahead, at)
            return None
        """,
        "equal is slower": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            slower = [at for at, lead in enumerate(ahead) if lead <= 0]
            if not slower or slower[-1] == len(ahead) - 1:
                return None
            return in_log(sizes, ahead, slower[-1])
        """,
        "CPU and GPU mixed up": """
            ahead = curves_checked(sizes, gpu_ms, cpu_ms)
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "never slower is the smallest size": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if min(ahead) >= 0:
                return float(sizes[0])
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "still slower is infinity": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if ahead[-1] < 0:
                return math.inf
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "still slower is extrapolated": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if ahead[-1] < 0 and ahead[-1] != ahead[-2]:
                return in_log(sizes, ahead, len(ahead) - 2)
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "a line through the ends alone": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            if last_slower(ahead) is None:
                return None
            ends = [ahead[0], ahead[-1]]
            return in_log([sizes[0], sizes[-1]], ends, 0) if ends[0] != ends[1] else None
        """,
        "a whole number": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            return None if at is None else round(in_log(sizes, ahead, at))
        """,
        "0 where there is none": """
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            return 0.0 if at is None else in_log(sizes, ahead, at)
        """,
        "cut to the shortest": """
            n = min(len(sizes), len(cpu_ms), len(gpu_ms))
            ahead = curves_checked(sizes[:n], cpu_ms[:n], gpu_ms[:n])
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "sorted first": """
            order = sorted(range(len(sizes)), key=lambda i: sizes[i])
            if len(cpu_ms) != len(sizes) or len(gpu_ms) != len(sizes):
                raise ValueError("lengths")
            sizes, cpu_ms, gpu_ms = ([each[i] for i in order] for each in (sizes, cpu_ms, gpu_ms))
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "a size twice is let through": """
            if any(b < a for a, b in zip(sizes, sizes[1:])):
                raise ValueError("order")
            ahead = curves_checked(range(1, len(sizes) + 1), cpu_ms, gpu_ms)
            if min(sizes) <= 0:
                raise ValueError("sizes")
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "one size is let through": """
            if len(sizes) == 1:
                return None
            ahead = curves_checked(sizes, cpu_ms, gpu_ms)
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "a size of 0 is let through": """
            ahead = curves_checked([size + 1 for size in sizes], cpu_ms, gpu_ms)
            at = last_slower(ahead)
            if at is not None and sizes[at] == 0:
                return 0.0
            return None if at is None else in_log(sizes, ahead, at)
        """,
        "times are not checked": """
            times = [[abs(ms) or 1e-9 for ms in each] for each in (cpu_ms, gpu_ms)]
            ahead = curves_checked(sizes, *times)
            at = last_slower(ahead)
            return None if at is None else in_log(sizes, ahead, at)
        """,
    },
}
