"""Lesson 07: ladders with other shares, and lengths of texts with another share."""

HELPERS = """
def some_times(seconds):
    times = list(seconds.values())
    if len(times) < 2 or min(times) <= 0 or times[0] == times[-1]:
        raise ValueError("times")
    return times

def rows_of_steps(seconds, steps, totals, shares):
    keys = ("name", "step", "total", "share")
    return [dict(zip(keys, row)) for row in zip(list(seconds)[1:], steps, totals, shares)]

def a_share(d_model, share):
    if d_model < 1 or not 0 < share < 1:
        raise ValueError("range")
"""

MUTANTS = {
    "speedup_steps": {
        "shares of the seconds": """
            times = some_times(seconds)
            saved = [a - b for a, b in zip(times, times[1:])]
            shares = [s / sum(saved) for s in saved]
            steps = [a / b for a, b in zip(times, times[1:])]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "the step upside down": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [b / a for a, b in zip(times, times[1:])]
            shares = [-math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "the total upside down": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [t / times[0] for t in times[1:]], shares)
        """,
        "each step over the first": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [times[0] / b for b in times[1:]]
            shares = [math.log(a / b) / way for a, b in zip(times, times[1:])]
            return rows_of_steps(seconds, steps, steps, shares)
        """,
        "shares of the sum of the steps": """
            times = some_times(seconds)
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [s / sum(steps) for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "shares of the way so far": """
            times = some_times(seconds)
            steps = [a / b for a, b in zip(times, times[1:])]
            totals = [times[0] / t for t in times[1:]]
            shares = [
                math.log(s) / math.log(t) if t != 1 else 0.0 for s, t in zip(steps, totals)
            ]
            return rows_of_steps(seconds, steps, totals, shares)
        """,
        "logarithms as they are": """
            times = some_times(seconds)
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "the first program has a row": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [1.0] + [a / b for a, b in zip(times, times[1:])]
            totals = [times[0] / t for t in times]
            keys = ("name", "step", "total", "share")
            shares = [math.log(s) / way for s in steps]
            return [dict(zip(keys, row)) for row in zip(seconds, steps, totals, shares)]
        """,
        "names of the programs before": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            totals = [times[0] / t for t in times[1:]]
            rows = rows_of_steps(seconds, steps, totals, [math.log(s) / way for s in steps])
            return [row | {"name": name} for row, name in zip(rows, seconds)]
        """,
        "from the slowest to the fastest": """
            some_times(seconds)
            seconds = dict(sorted(seconds.items(), key=lambda item: -item[1]))
            times = list(seconds.values())
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "in percent": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1]) / 100
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "no share is negative": """
            times = some_times(seconds)
            steps = [a / b for a, b in zip(times, times[1:])]
            logs = [abs(math.log(s)) for s in steps]
            shares = [log / sum(logs) for log in logs]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "slower steps are left out": """
            times = some_times(seconds)
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            totals = [times[0] / t for t in times[1:]]
            rows = rows_of_steps(seconds, steps, totals, [math.log(s) / way for s in steps])
            return [row for row in rows if row["step"] >= 1]
        """,
        "nothing is checked": """
            times = list(seconds.values())
            way = math.log(times[0] / times[-1])
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
        "a way of nothing has shares of 0": """
            times = list(seconds.values())
            if len(times) < 2 or min(times) <= 0:
                raise ValueError("times")
            way = math.log(times[0] / times[-1]) or 1.0
            steps = [a / b for a, b in zip(times, times[1:])]
            shares = [math.log(s) / way for s in steps]
            return rows_of_steps(seconds, steps, [times[0] / t for t in times[1:]], shares)
        """,
    },
    "reflect_crossover_tokens": {
        "where both parts are alike times the share": """
            a_share(d_model, share)
            return 6 * d_model * share / 0.5
        """,
        "a share of the linear part": "a_share(d_model, share)\nreturn 6 * d_model * share",
        "the other part's share": """
            a_share(d_model, share)
            return 6 * d_model * (1 - share) / share
        """,
        "the feed-forward part is forgotten": """
            a_share(d_model, share)
            return 2 * d_model * share / (1 - share)
        """,
        "only the feed-forward part": """
            a_share(d_model, share)
            return 4 * d_model * share / (1 - share)
        """,
        "multiply-adds beside FLOPs": """
            a_share(d_model, share)
            return 12 * d_model * share / (1 - share)
        """,
        "the share is ignored": "a_share(d_model, share)\nreturn 6.0 * d_model",
        "shares of 0 and 1 are let through": """
            if d_model < 1 or not 0 <= share <= 1:
                raise ValueError("range")
            return 6 * d_model * share / (1 - share) if share < 1 else math.inf
        """,
        "the width is not checked": "a_share(1, share)\nreturn 6 * d_model * share / (1 - share)",
        "nothing is checked": "return 6 * d_model * share / (1 - share)",
        "GPT-2 small written in": "a_share(d_model, share)\nreturn 4608.0",
    },
}
